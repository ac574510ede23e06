// Builds a CodeObject from the bytes of an ELF file. Every count, offset and size of the file is checked
// before use.
#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Error.h"
#include "loader/code_object.h"
#include "text/hex.h"
#include "text/visible.h"

namespace lockstep::loader {
namespace {

namespace elf = llvm::ELF;
using ElfType = llvm::object::ELF64LE;
using ElfFile = llvm::object::ELFFile<ElfType>;

constexpr uint64_t kPage = 4096;
// No card of the family has more memory than 48 GB; a file that asks for more than this is damaged.
constexpr uint64_t kMaxImageBytes = uint64_t{16} << 30;
// Real code objects have three to five.
constexpr size_t kMostSegments = 1024;

std::string take(llvm::Error error) {
  return visible(llvm::toString(std::move(error)));
}

FeatureSetting setting(unsigned two_bits) {
  return static_cast<FeatureSetting>(two_bits & 3);
}

}  // namespace

class CodeObjectReader {
 public:
  CodeObjectReader(std::span<const std::byte> bytes, std::string_view name) {
    constexpr size_t kMostName = 2048;
    object_.name_ = name.empty() ? "code object" : visible(name, kMostName);
    object_.bytes_ = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    // Symbols may share names, for string tables merge tails, but hardly so much.
    names_left_ = 4 * uint64_t{bytes.size()} + 65536;
  }

  Result<CodeObject> read() {
    if (Result<void> r = check_header(); !r) return r.error();
    auto file = ElfFile::create(
        llvm::StringRef(reinterpret_cast<const char*>(object_.bytes().data()), object_.bytes().size()));
    if (!file) return fail(take(file.takeError()), "ELF header");
    file_ = &*file;
    for (auto step :
         {&CodeObjectReader::read_segments, &CodeObjectReader::read_sections, &CodeObjectReader::read_dynamic,
          &CodeObjectReader::read_metadata, &CodeObjectReader::read_kernels})
      if (Result<void> r = (this->*step)(); !r) return r.error();
    return std::move(object_);
  }

 private:
  Error fail(std::string what, const std::string& where, const char* mend = kDamaged) const {
    return Error{std::move(what), object_.name_ + ", " + where, mend};
  }

  Result<void> check_header() {
    const std::span<const std::byte> b = object_.bytes();
    auto at = [&b](size_t i) { return std::to_integer<unsigned>(b[i]); };
    if (b.size() < 4 || at(0) != 0x7f || at(1) != 'E' || at(2) != 'L' || at(3) != 'F')
      return fail("is not an ELF file", "offset 0",
                  "give a code object, an offload bundle, or a HIP executable");
    if (b.size() < sizeof(ElfType::Ehdr))
      return fail("the ELF header is cut off after " + std::to_string(b.size()) + " bytes", "offset 0");
    if (at(elf::EI_CLASS) != elf::ELFCLASS64 || at(elf::EI_DATA) != elf::ELFDATA2LSB)
      return fail("is not a 64-bit little-endian ELF file", "ELF identification",
                  "AMDGPU code objects are; compile for amdgcn-amd-amdhsa");
    unsigned machine = at(18) | at(19) << 8;
    if (machine != elf::EM_AMDGPU)
      return fail("is for machine " + std::to_string(machine) + ", not for AMDGPU (224)", "ELF header",
                  "give a code object for gfx1100, or a host program that contains one");
    if (at(elf::EI_OSABI) != elf::ELFOSABI_AMDGPU_HSA)
      return fail("has the ELF OS ABI " + std::to_string(at(elf::EI_OSABI)) + ", not AMDGPU HSA (64)",
                  "ELF identification", "compile for the triple amdgcn-amd-amdhsa");
    unsigned abi = at(elf::EI_ABIVERSION);
    if (abi < elf::ELFABIVERSION_AMDGPU_HSA_V4 || abi > elf::ELFABIVERSION_AMDGPU_HSA_V6)
      return fail("has the code object ABI version " + std::to_string(abi) +
                      ", not 2, 3 or 4 (code object v4, v5 or v6)",
                  "ELF identification", "compile with -mcode-object-version=5");
    object_.version_ = abi + 2;
    unsigned type = at(16) | at(17) << 8;
    if (type != elf::ET_DYN)
      return fail(type == elf::ET_REL ? "is a relocatable object, not a linked code object"
                                      : "has the ELF type " + std::to_string(type) + ", not a shared object",
                  "ELF header", "link it: ld.lld -shared in.o -o out.co");
    uint32_t flags = at(48) | at(49) << 8 | at(50) << 16 | at(51) << 24;
    Target& t = object_.target_;
    t.machine = flags & elf::EF_AMDGPU_MACH;
    t.processor = processor_of_machine(t.machine);
    if (t.processor.empty())
      return fail("names the unknown processor number " + hex(t.machine), "ELF header, e_flags",
                  "compile with -mcpu=gfx1100");
    t.xnack = setting((flags & elf::EF_AMDGPU_FEATURE_XNACK_V4) >> 8);
    t.sramecc = setting((flags & elf::EF_AMDGPU_FEATURE_SRAMECC_V4) >> 10);
    if (object_.version_ >= 6) t.generic_version = flags >> elf::EF_AMDGPU_GENERIC_VERSION_OFFSET;
    return {};
  }

  // The loader's cost and memory follow from the size of the file, so no part of it may be used many times:
  // segments that load, and notes, take no more bytes together than there are.
  Result<void> read_segments() {
    auto headers = file_->program_headers();
    if (!headers) return fail(take(headers.takeError()), "program headers");
    const uint64_t size = object_.bytes().size();
    uint64_t loaded = 0;
    for (size_t i = 0; i < headers->size(); ++i) {
      const auto& h = (*headers)[i];
      if (h.p_type == elf::PT_DYNAMIC) dynamic_ = &h;
      if (h.p_type != elf::PT_LOAD) continue;
      const std::string where = "program header " + std::to_string(i);
      if (h.p_offset > size || h.p_filesz > size - h.p_offset)
        return fail("the segment [" + hex(h.p_offset) + ", +" + hex(h.p_filesz) +
                        ") reaches past the end of the file (" + hex(size) + " bytes)",
                    where);
      if (h.p_filesz > h.p_memsz) return fail("the segment has more bytes in the file than in memory", where);
      if (h.p_vaddr + h.p_memsz < h.p_vaddr || h.p_vaddr + h.p_memsz > UINT64_MAX - kPage)
        return fail("the segment wraps round the end of the address space", where);
      if (h.p_memsz == 0) continue;
      loaded += h.p_filesz;
      if (loaded > size) return fail("the segments up to here load more bytes than the file has", where);
      if (object_.segments_.size() == kMostSegments)
        return fail("there are more than " + std::to_string(kMostSegments) + " segments to load", where);
      object_.segments_.push_back({h.p_vaddr, h.p_offset, h.p_filesz, h.p_memsz, (h.p_flags & elf::PF_R) != 0,
                                   (h.p_flags & elf::PF_W) != 0, (h.p_flags & elf::PF_X) != 0});
    }
    return check_segments();
  }

  Result<void> check_segments() {
    auto& segments = object_.segments_;
    if (segments.empty())
      return fail("has no segment to load", "program headers",
                  "link it again: ld.lld -shared in.o -o out.co");
    std::sort(segments.begin(), segments.end(),
              [](const Segment& a, const Segment& b) { return a.address < b.address; });
    for (size_t i = 1; i < segments.size(); ++i)
      if (segments[i].address - segments[i - 1].address < segments[i - 1].memory_size)
        return fail("the segments at " + hex(segments[i - 1].address) + " and " + hex(segments[i].address) +
                        " overlap in memory",
                    "program headers");
    const uint64_t last = segments.back().address + segments.back().memory_size;
    object_.image_start_ = segments.front().address & ~(kPage - 1);
    object_.image_size_ = ((last + kPage - 1) & ~(kPage - 1)) - object_.image_start_;
    if (object_.image_size_ > kMaxImageBytes)
      return fail("the segments span " + hex(object_.image_size_) + " bytes of memory, more than 16 GiB",
                  "program headers");
    return {};
  }

  static SymbolKind kind_of(const ElfType::Sym& s, std::string_view name) {
    if (s.getType() == elf::STT_FUNC) return SymbolKind::function;
    if (s.getType() == elf::STT_OBJECT)
      return name.ends_with(".kd") && s.st_size == kKernelDescriptorBytes ? SymbolKind::kernel_descriptor
                                                                          : SymbolKind::object;
    // Assembly without .type directives.
    if (s.getType() == elf::STT_AMDGPU_HSA_KERNEL) return SymbolKind::function;
    return SymbolKind::other;
  }

  void add_symbol(const ElfType::Sym& s, std::string_view name) {
    if (name.empty() || s.st_shndx == elf::SHN_UNDEF || s.st_shndx == elf::SHN_ABS) return;
    unsigned type = s.getType();
    if (type == elf::STT_FILE || type == elf::STT_SECTION || type == elf::STT_TLS) return;
    object_.symbols_.push_back(Symbol{visible(name, std::string::npos), s.st_value, s.st_size,
                                      kind_of(s, name), s.getBinding() != elf::STB_LOCAL});
  }

  // Whether the names read so far, with this one, are still in proportion to the file.
  bool may_take_name(size_t bytes) {
    if (bytes > names_left_) return false;
    names_left_ -= bytes;
    return true;
  }
  Error fail_names(const std::string& where) const {
    return fail("the names of the symbols up to here are longer together than four times the file", where);
  }

  Result<void> read_sections() {
    // A stripped section table is no fault: the dynamic segment tells the rest.
    if (file_->getHeader().e_shoff == 0) return {};
    auto sections = file_->sections();
    if (!sections) return fail(take(sections.takeError()), "section headers");
    bool known[2] = {};
    for (size_t i = 0; i < sections->size(); ++i) {
      const auto& s = (*sections)[i];
      if (s.sh_type != elf::SHT_SYMTAB && s.sh_type != elf::SHT_DYNSYM) continue;
      const std::string where = "section " + std::to_string(i);
      // One of each kind, says the ELF specification.
      if (std::exchange(known[s.sh_type == elf::SHT_DYNSYM], true))
        return fail("is a second symbol table of its kind", where);
      if (Result<void> r = read_symbols(s, *sections, where); !r) return r;
    }
    return {};
  }

  Result<void> read_symbols(const ElfType::Shdr& section, llvm::ArrayRef<ElfType::Shdr> sections,
                            const std::string& where) {
    auto symbols = file_->symbols(&section);
    if (!symbols) return fail(take(symbols.takeError()), where);
    auto strings = file_->getStringTableForSymtab(section, sections);
    if (!strings) return fail(take(strings.takeError()), where);
    for (size_t n = 0; n < symbols->size(); ++n) {
      const auto& symbol = (*symbols)[n];
      const auto place = [&] { return where + ", symbol " + std::to_string(n); };
      auto name = symbol.getName(*strings);
      if (!name) return fail(take(name.takeError()), place());
      if (!may_take_name(name->size())) return fail_names(place());
      add_symbol(symbol, std::string_view(name->data(), name->size()));
    }
    return {};
  }

  template <class T>
  bool read_at(uint64_t address, T& out) const {
    std::span<const std::byte> bytes = object_.file_bytes(address, sizeof(T));
    if (bytes.empty()) return false;
    std::memcpy(&out, bytes.data(), sizeof(T));
    return true;
  }

  // The NUL-terminated string at `offset` of the dynamic string table.
  Result<std::string_view> dynamic_string(uint64_t offset, const std::string& where) {
    if (offset >= strings_size_)
      return fail("the name at " + hex(offset) + " lies outside the string table", where);
    const std::span<const std::byte> rest = object_.file_bytes(strings_ + offset, strings_size_ - offset);
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    const size_t end = text.find('\0');
    if (end == std::string_view::npos) return fail("the name at " + hex(offset) + " has no end", where);
    if (!may_take_name(end)) return fail_names(where);
    return text.substr(0, end);
  }

  Result<void> read_dynamic() {
    if (!dynamic_) return {};
    uint64_t count = dynamic_->p_filesz / sizeof(ElfType::Dyn);
    uint64_t rela = 0, rela_size = 0, rela_entry = sizeof(ElfType::Rela), jump = 0, jump_size = 0;
    uint64_t hash = 0, gnu_hash = 0;
    for (uint64_t i = 0; i < count; ++i) {
      ElfType::Dyn d;
      if (!read_at(dynamic_->p_vaddr + i * sizeof d, d))
        return fail("entry " + std::to_string(i) + " lies outside the loaded segments", "dynamic segment");
      if (d.getTag() == elf::DT_NULL) break;
      uint64_t value = d.getVal();
      switch (d.getTag()) {
        case elf::DT_RELA:
          rela = value;
          break;
        case elf::DT_RELASZ:
          rela_size = value;
          break;
        case elf::DT_RELAENT:
          rela_entry = value;
          break;
        case elf::DT_JMPREL:
          jump = value;
          break;
        case elf::DT_PLTRELSZ:
          jump_size = value;
          break;
        case elf::DT_SYMTAB:
          symbols_ = value;
          break;
        case elf::DT_STRTAB:
          strings_ = value;
          break;
        case elf::DT_STRSZ:
          strings_size_ = value;
          break;
        case elf::DT_HASH:
          hash = value;
          break;
        case elf::DT_GNU_HASH:
          gnu_hash = value;
          break;
        case elf::DT_REL:
        case elf::DT_RELR:
        case elf::DT_ANDROID_RELA:
          return fail("has packed or implicit-addend relocations (dynamic tag " + hex(d.getTag()) + ")",
                      "dynamic segment", "link without --pack-dyn-relocs");
      }
    }
    if (strings_size_ && object_.file_bytes(strings_, strings_size_).empty())
      return fail("the string table lies outside the loaded segments", "dynamic segment");
    if (rela_entry != sizeof(ElfType::Rela))
      return fail("relocation entries have " + std::to_string(rela_entry) + " bytes, not 24",
                  "dynamic segment");
    if (Result<void> r = read_relocations(rela, rela_size); !r) return r;
    if (Result<void> r = read_relocations(jump, jump_size); !r) return r;
    if (object_.symbols_.empty() && symbols_) return read_dynamic_symbols(hash, gnu_hash);
    return {};
  }

  Result<void> read_relocations(uint64_t table, uint64_t size) {
    if (size == 0) return {};
    if (object_.file_bytes(table, size).empty())
      return fail("the relocations at " + hex(table) + " lie outside the loaded segments", "dynamic segment");
    for (uint64_t i = 0; i < size / sizeof(ElfType::Rela); ++i) {
      ElfType::Rela entry;
      if (!read_at(table + i * sizeof entry, entry)) break;
      Relocation r;
      r.address = entry.r_offset;
      r.type = entry.getType(false);
      r.addend = entry.r_addend;
      if (const uint32_t index = entry.getSymbol(false)) {
        Result<const Relocation*> target = relocation_target(index, i);
        if (!target) return target.error();
        r.symbol = (*target)->symbol;
        r.symbol_address = (*target)->symbol_address;
        r.symbol_defined = (*target)->symbol_defined;
        r.symbol_absolute = (*target)->symbol_absolute;
        r.symbol_weak = (*target)->symbol_weak;
      }
      object_.relocations_.push_back(r);
    }
    return {};
  }

  // What relocations against that dynamic symbol have in common; read once, however many there are.
  Result<const Relocation*> relocation_target(uint32_t index, uint64_t relocation) {
    const auto [found, fresh] = targets_.try_emplace(index);
    if (!fresh) return &found->second;
    const std::string where = "dynamic relocation " + std::to_string(relocation);
    ElfType::Sym s;
    if (!read_at(symbols_ + uint64_t{index} * sizeof s, s))
      return fail("refers to symbol " + std::to_string(index) + ", which does not exist", where);
    Result<std::string_view> name = dynamic_string(s.st_name, where);
    if (!name) return name.error();
    Relocation& r = found->second;
    r.symbol = *name;
    r.symbol_address = s.st_value;
    r.symbol_defined = s.st_shndx != elf::SHN_UNDEF;
    r.symbol_absolute = s.st_shndx == elf::SHN_ABS;
    r.symbol_weak = s.getBinding() == elf::STB_WEAK;
    return &r;
  }

  // Number of dynamic symbols, which only the hash tables tell.
  uint64_t dynamic_symbol_count(uint64_t hash, uint64_t gnu_hash) const {
    uint32_t words[4];
    if (hash && read_at(hash, words)) return words[1];
    if (!gnu_hash || !read_at(gnu_hash, words)) return 0;
    auto [buckets, first, bloom, shift] = words;
    uint64_t bucket_table = gnu_hash + 16 + uint64_t{bloom} * 8;
    uint64_t chains = bucket_table + uint64_t{buckets} * 4;
    uint32_t last = 0;
    for (uint64_t i = 0; i < buckets; ++i) {
      uint32_t head = 0;
      if (!read_at(bucket_table + i * 4, head)) return 0;
      last = std::max(last, head);
    }
    if (last < first) return first;
    for (uint32_t link = 0;; ++last) {
      if (!read_at(chains + uint64_t{last - first} * 4, link)) return 0;
      if (link & 1) return uint64_t{last} + 1;
    }
  }

  Result<void> read_dynamic_symbols(uint64_t hash, uint64_t gnu_hash) {
    uint64_t count = dynamic_symbol_count(hash, gnu_hash);
    for (uint64_t i = 1; i < count; ++i) {
      std::string where = "dynamic symbol " + std::to_string(i);
      ElfType::Sym s;
      if (!read_at(symbols_ + i * sizeof s, s)) return fail("lies outside the loaded segments", where);
      Result<std::string_view> name = dynamic_string(s.st_name, where);
      if (!name) return name.error();
      add_symbol(s, *name);
    }
    return {};
  }

  Result<void> read_metadata() {
    auto headers = file_->program_headers();
    if (!headers) return fail(take(headers.takeError()), "program headers");
    const uint64_t size = object_.bytes().size();
    uint64_t noted = 0;
    for (size_t i = 0; i < headers->size(); ++i) {
      const auto& h = (*headers)[i];
      if (h.p_type != elf::PT_NOTE || h.p_filesz == 0) continue;
      const std::string where = "note segment (program header " + std::to_string(i) + ")";
      if (h.p_offset > size || h.p_filesz > size - h.p_offset)
        return fail("reaches past the end of the file", where);
      noted += h.p_filesz;
      if (noted > size) return fail("the notes up to here have more bytes than the file", where);
      const auto notes = object_.bytes().subspan(h.p_offset, h.p_filesz);
      if (Result<void> r = read_notes(notes, h.p_align == 8 ? 8 : 4, where); !r) return r;
    }
    return {};
  }

  Result<void> read_notes(std::span<const std::byte> notes, uint64_t align, const std::string& where) {
    auto padded = [align](uint64_t n) { return (n + align - 1) & ~(align - 1); };
    while (notes.size() >= sizeof(ElfType::Nhdr)) {
      ElfType::Nhdr header;
      std::memcpy(&header, notes.data(), sizeof header);
      uint64_t name = sizeof header, description = padded(name + header.n_namesz);
      if (description + header.n_descsz > notes.size())
        return fail("the note of " + std::to_string(header.n_descsz) + " bytes does not fit", where);
      std::string_view owner(reinterpret_cast<const char*>(notes.data() + name), header.n_namesz);
      if (owner == std::string_view("AMDGPU", 7) && header.n_type == elf::NT_AMDGPU_METADATA) {
        Result<Metadata> m = parse_metadata(notes.subspan(description, header.n_descsz), object_.name_);
        if (!m) return m.error();
        object_.metadata_ = std::make_shared<const Metadata>(std::move(*m));
      }
      notes = notes.subspan(std::min<uint64_t>(padded(description + header.n_descsz), notes.size()));
    }
    return {};
  }

  Result<void> read_kernels() {
    auto& symbols = object_.symbols_;
    auto key = [](const Symbol& s) { return std::tie(s.address, s.name, s.kind); };
    std::sort(symbols.begin(), symbols.end(),
              [&](const Symbol& a, const Symbol& b) { return key(a) < key(b); });
    // .symtab repeats what .dynsym has.
    symbols.erase(std::unique(symbols.begin(), symbols.end(),
                              [&](const Symbol& a, const Symbol& b) { return key(a) == key(b); }),
                  symbols.end());

    for (uint32_t i = 0; i < symbols.size(); ++i)
      if (symbols[i].kind == SymbolKind::function) object_.functions_.push_back(i);

    std::unordered_map<std::string_view, const KernelMetadata*> described;
    if (object_.metadata_)
      for (const KernelMetadata& k : object_.metadata_->kernels) described.emplace(k.symbol, &k);
    std::unordered_map<std::string_view, const Symbol*> functions;
    for (const Symbol& s : symbols)
      if (s.kind != SymbolKind::kernel_descriptor) functions.emplace(s.name, &s);

    std::unordered_set<std::string> names;
    for (Symbol& s : symbols) {
      if (s.kind != SymbolKind::kernel_descriptor) {
        if (s.kind != SymbolKind::other || !described.contains(s.name)) continue;
        // Hand-written assembly need not give type and size; the metadata names it as a descriptor.
        s.kind = SymbolKind::kernel_descriptor;
      }
      const auto where = [&s] { return "kernel descriptor '" + visible(s.name) + "' at " + hex(s.address); };
      std::span<const std::byte> bytes = object_.file_bytes(s.address, kKernelDescriptorBytes);
      if (bytes.empty()) return fail("lies outside the loaded segments", where());
      Kernel k;
      k.name = s.name.ends_with(".kd") ? s.name.substr(0, s.name.size() - 3) : s.name;
      k.descriptor_address = s.address;
      k.descriptor = decode_kernel_descriptor(bytes.first<kKernelDescriptorBytes>());
      k.entry_address = s.address + static_cast<uint64_t>(k.descriptor.entry_byte_offset);
      const Segment* segment = object_.segment_at(k.entry_address);
      if (!segment || !segment->executable || k.entry_address - segment->address >= segment->file_size)
        return fail("its entry " + hex(k.entry_address) + " lies in no executable segment", where());
      if (k.entry_address % 4)
        return fail("its entry " + hex(k.entry_address) + " is not aligned to an instruction", where());
      if (auto f = functions.find(k.name); f != functions.end() && f->second->address == k.entry_address)
        k.code_size = f->second->size;
      if (auto d = described.find(s.name); d != described.end())
        k.metadata = std::shared_ptr<const KernelMetadata>(object_.metadata_, d->second);
      if (!names.insert(k.name).second) return fail("is the second kernel of that name", where());
      object_.kernels_.push_back(std::move(k));
    }
    if (object_.metadata_)
      for (const KernelMetadata& d : object_.metadata_->kernels) {
        const bool has_suffix = d.symbol.ends_with(".kd");
        if (!names.contains(d.symbol) &&
            !(has_suffix && names.contains(d.symbol.substr(0, d.symbol.size() - 3))))
          return fail("the metadata describes kernel '" + visible(d.name) + "', but there is no symbol '" +
                          visible(d.symbol) + "'",
                      "symbol table");
      }
    return {};
  }

  CodeObject object_;
  const ElfFile* file_ = nullptr;
  const ElfType::Phdr* dynamic_ = nullptr;
  uint64_t symbols_ = 0, strings_ = 0, strings_size_ = 0;
  uint64_t names_left_ = 0;                           // bytes of names that may still be read
  std::unordered_map<uint32_t, Relocation> targets_;  // of relocations, by dynamic symbol
};

Result<CodeObject> CodeObject::parse(std::span<const std::byte> bytes, std::string_view name) {
  return CodeObjectReader(bytes, name).read();
}

}  // namespace lockstep::loader

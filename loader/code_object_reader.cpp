// Builds a CodeObject from the bytes of an ELF file. Every count, offset and size of the file is checked
// before use.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Error.h"
#include "loader/code_object.h"

namespace lockstep::loader {
namespace {

namespace elf = llvm::ELF;
using ElfType = llvm::object::ELF64LE;
using ElfFile = llvm::object::ELFFile<ElfType>;

constexpr uint64_t kPage = 4096;
// No card of the family has more memory than 48 GB; a file that asks for more than this is damaged.
constexpr uint64_t kMaxImageBytes = uint64_t{16} << 30;
constexpr const char* kDamaged = "the file is damaged or truncated; copy or compile it again";

std::string hex(uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string take(llvm::Error error) {
  return llvm::toString(std::move(error));
}

FeatureSetting setting(unsigned two_bits) {
  return static_cast<FeatureSetting>(two_bits & 3);
}

}  // namespace

class CodeObjectReader {
 public:
  CodeObjectReader(std::span<const std::byte> bytes, std::string_view name) {
    object_.name_ = name.empty() ? "code object" : std::string(name);
    object_.bytes_.assign(bytes.begin(), bytes.end());
  }

  Result<CodeObject> read() {
    if (Result<void> r = check_header(); !r) return r.error();
    auto file = ElfFile::create(
        llvm::StringRef(reinterpret_cast<const char*>(object_.bytes_.data()), object_.bytes_.size()));
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
    const auto& b = object_.bytes_;
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

  Result<void> read_segments() {
    auto headers = file_->program_headers();
    if (!headers) return fail(take(headers.takeError()), "program headers");
    uint64_t first = std::numeric_limits<uint64_t>::max(), last = 0;
    for (size_t i = 0; i < headers->size(); ++i) {
      const auto& h = (*headers)[i];
      std::string where = "program header " + std::to_string(i);
      uint64_t size = object_.bytes_.size();
      if (h.p_type != elf::PT_LOAD) {
        if (h.p_type == elf::PT_DYNAMIC) dynamic_ = &h;
        continue;
      }
      if (h.p_offset > size || h.p_filesz > size - h.p_offset)
        return fail("the segment [" + hex(h.p_offset) + ", +" + hex(h.p_filesz) +
                        ") reaches past the end of the file (" + hex(size) + " bytes)",
                    where);
      if (h.p_filesz > h.p_memsz) return fail("the segment has more bytes in the file than in memory", where);
      if (h.p_vaddr + h.p_memsz < h.p_vaddr || h.p_vaddr + h.p_memsz > UINT64_MAX - kPage)
        return fail("the segment wraps round the end of the address space", where);
      if (h.p_memsz == 0) continue;
      Segment s{h.p_vaddr,
                h.p_offset,
                h.p_filesz,
                h.p_memsz,
                (h.p_flags & elf::PF_R) != 0,
                (h.p_flags & elf::PF_W) != 0,
                (h.p_flags & elf::PF_X) != 0};
      first = std::min(first, s.address);
      last = std::max(last, s.address + s.memory_size);
      object_.segments_.push_back(s);
    }
    if (object_.segments_.empty())
      return fail("has no segment to load", "program headers",
                  "link it again: ld.lld -shared in.o -o out.co");
    object_.image_start_ = first & ~(kPage - 1);
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
    object_.symbols_.push_back(
        Symbol{std::string(name), s.st_value, s.st_size, kind_of(s, name), s.getBinding() != elf::STB_LOCAL});
  }

  Result<void> read_sections() {
    // A stripped section table is no fault: the dynamic segment tells the rest.
    if (file_->getHeader().e_shoff == 0) return {};
    auto sections = file_->sections();
    if (!sections) return fail(take(sections.takeError()), "section headers");
    for (size_t i = 0; i < sections->size(); ++i) {
      const auto& s = (*sections)[i];
      if (s.sh_type != elf::SHT_SYMTAB && s.sh_type != elf::SHT_DYNSYM) continue;
      std::string where = "section " + std::to_string(i);
      auto symbols = file_->symbols(&s);
      if (!symbols) return fail(take(symbols.takeError()), where);
      auto strings = file_->getStringTableForSymtab(s, *sections);
      if (!strings) return fail(take(strings.takeError()), where);
      for (size_t n = 0; n < symbols->size(); ++n) {
        auto name = (*symbols)[n].getName(*strings);
        if (!name) return fail(take(name.takeError()), where + ", symbol " + std::to_string(n));
        add_symbol((*symbols)[n], std::string_view(name->data(), name->size()));
      }
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
  Result<std::string> dynamic_string(uint64_t offset, const std::string& where) const {
    if (offset >= strings_size_)
      return fail("the name at " + hex(offset) + " lies outside the string table", where);
    std::span<const std::byte> rest = object_.file_bytes(strings_ + offset, strings_size_ - offset);
    auto end = std::find(rest.begin(), rest.end(), std::byte{0});
    if (end == rest.end()) return fail("the name at " + hex(offset) + " has no end", where);
    return std::string(reinterpret_cast<const char*>(rest.data()), end - rest.begin());
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
      if (uint32_t index = entry.getSymbol(false)) {
        std::string where = "dynamic relocation " + std::to_string(i);
        ElfType::Sym s;
        if (!read_at(symbols_ + uint64_t{index} * sizeof s, s))
          return fail("refers to symbol " + std::to_string(index) + ", which does not exist", where);
        Result<std::string> name = dynamic_string(s.st_name, where);
        if (!name) return name.error();
        r.symbol = *name;
        r.symbol_address = s.st_value;
        r.symbol_defined = s.st_shndx != elf::SHN_UNDEF;
        r.symbol_absolute = s.st_shndx == elf::SHN_ABS;
        r.symbol_weak = s.getBinding() == elf::STB_WEAK;
      }
      object_.relocations_.push_back(std::move(r));
    }
    return {};
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
      Result<std::string> name = dynamic_string(s.st_name, where);
      if (!name) return name.error();
      add_symbol(s, *name);
    }
    return {};
  }

  Result<void> read_metadata() {
    auto headers = file_->program_headers();
    if (!headers) return fail(take(headers.takeError()), "program headers");
    for (size_t i = 0; i < headers->size(); ++i) {
      const auto& h = (*headers)[i];
      if (h.p_type != elf::PT_NOTE || h.p_filesz == 0) continue;
      std::string where = "note segment (program header " + std::to_string(i) + ")";
      uint64_t size = object_.bytes_.size();
      if (h.p_offset > size || h.p_filesz > size - h.p_offset)
        return fail("reaches past the end of the file", where);
      auto notes = std::span<const std::byte>(object_.bytes_).subspan(h.p_offset, h.p_filesz);
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
        object_.metadata_ = std::move(*m);
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

    std::unordered_map<std::string_view, const KernelMetadata*> described;
    if (object_.metadata_)
      for (const KernelMetadata& k : object_.metadata_->kernels) described.emplace(k.symbol, &k);
    std::unordered_map<std::string_view, const Symbol*> functions;
    for (const Symbol& s : symbols)
      if (s.kind != SymbolKind::kernel_descriptor) functions.emplace(s.name, &s);

    for (Symbol& s : symbols) {
      if (s.kind != SymbolKind::kernel_descriptor) {
        if (s.kind != SymbolKind::other || !described.contains(s.name)) continue;
        // Hand-written assembly need not give type and size; the metadata names it as a descriptor.
        s.kind = SymbolKind::kernel_descriptor;
      }
      std::string where = "kernel descriptor '" + s.name + "' at " + hex(s.address);
      std::span<const std::byte> bytes = object_.file_bytes(s.address, kKernelDescriptorBytes);
      if (bytes.empty()) return fail("lies outside the loaded segments", where);
      Kernel k;
      k.name = s.name.ends_with(".kd") ? s.name.substr(0, s.name.size() - 3) : s.name;
      k.descriptor_address = s.address;
      k.descriptor = decode_kernel_descriptor(bytes.first<kKernelDescriptorBytes>());
      k.entry_address = s.address + static_cast<uint64_t>(k.descriptor.entry_byte_offset);
      bool executable =
          std::any_of(object_.segments_.begin(), object_.segments_.end(), [&k](const Segment& g) {
            return g.executable && k.entry_address >= g.address && k.entry_address - g.address < g.file_size;
          });
      if (!executable)
        return fail("its entry " + hex(k.entry_address) + " lies in no executable segment", where);
      if (k.entry_address % 4)
        return fail("its entry " + hex(k.entry_address) + " is not aligned to an instruction", where);
      if (auto f = functions.find(k.name); f != functions.end() && f->second->address == k.entry_address)
        k.code_size = f->second->size;
      if (auto d = described.find(s.name); d != described.end()) k.metadata = *d->second;
      object_.kernels_.push_back(std::move(k));
    }
    if (object_.metadata_)
      for (const KernelMetadata& d : object_.metadata_->kernels)
        if (std::none_of(object_.kernels_.begin(), object_.kernels_.end(),
                         [&d](const Kernel& k) { return k.name + ".kd" == d.symbol || k.name == d.symbol; }))
          return fail(
              "the metadata describes kernel '" + d.name + "', but there is no symbol '" + d.symbol + "'",
              "symbol table");
    return {};
  }

  CodeObject object_;
  const ElfFile* file_ = nullptr;
  const ElfType::Phdr* dynamic_ = nullptr;
  uint64_t symbols_ = 0, strings_ = 0, strings_size_ = 0;
};

Result<CodeObject> CodeObject::parse(std::span<const std::byte> bytes, std::string_view name) {
  return CodeObjectReader(bytes, name).read();
}

}  // namespace lockstep::loader

#include "loader/source_lines.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "loader/decompress.h"
#include "text/visible.h"

namespace lockstep::loader {
namespace {

namespace dwarf = llvm::dwarf;
using ElfType = llvm::object::ELF64LE;
using Unpacked = std::vector<std::byte>;

// Debug sections that a compiler packed come to three to six times their packed size.
constexpr uint64_t kAlwaysUnpackedSection = 1 << 20, kMostTimesPacked = 64;
// A path that is longer is none that a file could have (PATH_MAX).
constexpr size_t kMostPath = 4096;

// The contents of a section with SHF_COMPRESSED; empty if damaged.
Unpacked unpacked(std::span<const std::byte> bytes) {
  ElfType::Chdr header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  Compression method;
  if (header.ch_type == llvm::ELF::ELFCOMPRESS_ZLIB)
    method = Compression::zlib;
  else if (header.ch_type == llvm::ELF::ELFCOMPRESS_ZSTD)
    method = Compression::zstd;
  else
    return {};
  const uint64_t most = std::max(kAlwaysUnpackedSection, bytes.size() * kMostTimesPacked);
  Result<Decompressed> out =
      decompress(method, bytes.subspan(sizeof header), header.ch_size, most, "debug section");
  return out ? std::move(out->bytes) : Unpacked();
}

template <class T>
std::optional<T> value_or_ignore(llvm::Expected<T> expected) {
  if (expected) return *expected;
  llvm::consumeError(expected.takeError());
  return std::nullopt;
}

// Of the zero-terminated texts of .comment the first that is not the linker's: linked bitcode's compilers
// follow.
std::string first_compiler(std::span<const std::byte> comment) {
  constexpr size_t kMost = 200;
  std::string_view rest(reinterpret_cast<const char*>(comment.data()), comment.size());
  while (!rest.empty()) {
    const std::string_view text = rest.substr(0, rest.find('\0'));
    if (!text.empty() && !text.starts_with("Linker: ")) return visible(text.substr(0, kMost));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
  }
  return {};
}

}  // namespace

// Parts of the file, or what they were unpacked to; views of their bytes stay good as long as this lives.
struct SourceLines::Sections {
  std::shared_ptr<const Unpacked> file;
  struct Section {
    Unpacked unpacked;
    std::span<const std::byte> bytes;
    bool known = false;
  };
  Section line, line_strings, strings, comment;

  explicit Sections(std::shared_ptr<const Unpacked> file_bytes) : file(std::move(file_bytes)) {
    const std::span<const std::byte> bytes = *file;
    auto elf = value_or_ignore(llvm::object::ELFFile<ElfType>::create(
        llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
    if (!elf) return;
    const auto headers = value_or_ignore(elf->sections());
    if (!headers) return;
    const auto names = value_or_ignore(elf->getSectionStringTable(*headers));
    if (!names) return;
    for (const auto& s : *headers) {
      if (s.sh_type == llvm::ELF::SHT_NOBITS || s.sh_offset > bytes.size() ||
          s.sh_size > bytes.size() - s.sh_offset)
        continue;
      const auto is_named = [&](std::string_view name) {  // with its zero
        return names->drop_front(std::min<size_t>(s.sh_name, names->size())).starts_with(name);
      };
      using namespace std::string_view_literals;
      Section* into = is_named(".debug_line\0"sv)       ? &line
                      : is_named(".debug_line_str\0"sv) ? &line_strings
                      : is_named(".debug_str\0"sv)      ? &strings
                      : is_named(".comment\0"sv)        ? &comment
                                                        : nullptr;
      // The first of each name; linkers make no second one.
      if (!into || std::exchange(into->known, true)) continue;
      into->bytes = bytes.subspan(s.sh_offset, s.sh_size);
      if (!(s.sh_flags & llvm::ELF::SHF_COMPRESSED)) continue;
      into->unpacked = unpacked(into->bytes);
      into->bytes = into->unpacked;
    }
  }
};

namespace {

// Reads numbers from bytes; once past the end it stays failed and gives zeros.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  size_t left() const { return bytes_.size(); }

  std::span<const std::byte> take(uint64_t count) {
    if (count > bytes_.size()) {
      good_ = false;
      bytes_ = {};
      return {};
    }
    auto out = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return out;
  }

  uint64_t fixed(unsigned size) {
    auto part = take(size);
    uint64_t value = 0;
    if (!part.empty()) std::memcpy(&value, part.data(), std::min<size_t>(size, 8));
    return value;
  }

  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      uint64_t byte = fixed(1);
      if (shift < 64) value |= (byte & 0x7f) << shift;
      if (!(byte & 0x80) || !good_) return value;
    }
  }

  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
      uint64_t byte = fixed(1);
      if (shift < 64) value |= (byte & 0x7f) << shift;
      shift += 7;
      if (byte & 0x80 && good_) continue;
      if (byte & 0x40 && shift < 64) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
  }

  std::string_view string() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) {
      good_ = false;
      bytes_ = {};
      return {};
    }
    bytes_ = bytes_.subspan(end + 1);
    return rest.substr(0, end);
  }

 private:
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

// Empty if there is no such string, or none that ends in time: entries may share one, which must not be
// measured to its end for each of them.
std::string_view string_at(std::span<const std::byte> section, uint64_t offset) {
  if (offset >= section.size()) return {};
  const auto rest = section.subspan(offset);
  return Cursor(rest.first(std::min(rest.size(), kMostPath))).string();
}

std::string join(std::string directory, std::string_view name) {
  if (directory.empty() || name.starts_with('/')) return std::string(name);
  if (!name.empty()) directory.append("/").append(name);
  return directory;
}

}  // namespace

std::string SourceLines::File::path() const {
  return visible(join(join(std::string(root), directory), name), std::string::npos);
}

// One .debug_line section; DWARF 5 chapter 6.2.
class LineTableReader {
 public:
  LineTableReader(const SourceLines::Sections& sections, SourceLines::Tables& out, size_t most_rows)
      : sections_(sections), out_(out), most_rows_(most_rows) {}

  void read() {
    Cursor all{sections_.line.bytes};
    while (all.good() && all.left() > 4 && !full_) {
      uint64_t length = all.fixed(4);
      offset_size_ = length == 0xffffffff ? 8 : 4;
      if (offset_size_ == 8) length = all.fixed(8);
      read_unit(Cursor(all.take(length)));
    }
    using Row = SourceLines::Row;
    std::sort(out_.rows.begin(), out_.rows.end(), [](const Row& a, const Row& b) {
      if (a.address != b.address) return a.address < b.address;
      return a.end != b.end ? a.end : a.order < b.order;
    });
  }

 private:
  struct Format {
    uint64_t content, form;
  };
  struct Entry {
    std::string_view path;
    uint64_t directory = 0;
  };

  void read_unit(Cursor unit) {
    version_ = unit.fixed(2);
    if (version_ < 2 || version_ > 5) return;
    if (version_ == 5) unit.take(2);  // address size, segment selector size
    Cursor header(unit.take(unit.fixed(offset_size_)));
    minimum_length_ = header.fixed(1);
    if (version_ >= 4) header.fixed(1);  // operations an instruction: 1 on this target
    header.fixed(1);                     // default_is_stmt
    line_base_ = static_cast<int8_t>(header.fixed(1));
    line_range_ = std::max<uint64_t>(header.fixed(1), 1);
    opcode_base_ = header.fixed(1);
    operand_counts_.clear();
    for (unsigned i = 1; i < opcode_base_; ++i) operand_counts_.push_back(header.fixed(1));
    first_file_ = out_.files.size();
    if (version_ == 5)
      read_names_v5(header);
    else
      read_names_v2(header);
    if (header.good()) run(unit);
  }

  void read_names_v2(Cursor& header) {
    // Directory 0 is that of the compilation, which only .debug_info names.
    std::vector<std::string_view> directories{""};
    for (std::string_view d = header.string(); !d.empty(); d = header.string()) directories.push_back(d);
    out_.files.emplace_back();  // files count from 1
    for (std::string_view name = header.string(); !name.empty(); name = header.string()) {
      const uint64_t directory = header.uleb();
      header.uleb();
      header.uleb();
      out_.files.push_back({"", directory < directories.size() ? directories[directory] : "", name});
    }
  }

  void read_names_v5(Cursor& header) {
    const std::vector<Entry> directories = read_entries(header);
    for (const Entry& f : read_entries(header)) {
      SourceLines::File& file = out_.files.emplace_back();
      file.name = f.path;
      if (f.directory >= directories.size()) continue;
      file.directory = directories[f.directory].path;
      if (f.directory != 0) file.root = directories[0].path;
    }
  }

  std::vector<Entry> read_entries(Cursor& header) {
    std::vector<Format> formats(header.fixed(1));
    for (Format& f : formats) {
      f.content = header.uleb();
      f.form = header.uleb();
    }
    uint64_t count = header.uleb();
    std::vector<Entry> out;
    // Without a format an entry takes no bytes, and the count could be anything.
    if (formats.empty()) return out;
    for (uint64_t i = 0; i < count && header.good() && header.left(); ++i) {
      Entry e;
      for (const Format& f : formats) read_field(header, f, e);
      out.push_back(std::move(e));
    }
    return out;
  }

  void read_field(Cursor& c, const Format& f, Entry& e) {
    std::string_view text;
    uint64_t number = 0;
    switch (f.form) {
      case dwarf::DW_FORM_string:
        text = c.string();
        break;
      case dwarf::DW_FORM_line_strp:
        text = string_at(sections_.line_strings.bytes, c.fixed(offset_size_));
        break;
      case dwarf::DW_FORM_strp:
        text = string_at(sections_.strings.bytes, c.fixed(offset_size_));
        break;
      case dwarf::DW_FORM_udata:
        number = c.uleb();
        break;
      case dwarf::DW_FORM_data1:
        number = c.fixed(1);
        break;
      case dwarf::DW_FORM_data2:
        number = c.fixed(2);
        break;
      case dwarf::DW_FORM_data4:
        number = c.fixed(4);
        break;
      case dwarf::DW_FORM_data8:
        number = c.fixed(8);
        break;
      case dwarf::DW_FORM_data16:
        c.take(16);
        break;
      case dwarf::DW_FORM_block:
        c.take(c.uleb());
        break;
      default:
        c.take(UINT64_MAX);  // of unknown length: nothing behind it can be read
    }
    if (f.content == dwarf::DW_LNCT_path) e.path = text;
    if (f.content == dwarf::DW_LNCT_directory_index) e.directory = number;
  }

  struct Machine {
    uint64_t address = 0, file = 1, line = 1, column = 0;
  };

  void emit(const Machine& m, bool end) {
    if (out_.rows.size() >= most_rows_) {
      full_ = true;
      return;
    }
    // A file number that the header does not list is damage; one empty name stands for all such.
    uint64_t file = first_file_ + m.file;
    if (file >= out_.files.size() || m.file > out_.files.size()) file = UINT32_MAX;
    out_.rows.push_back({m.address, static_cast<uint32_t>(out_.rows.size()), static_cast<uint32_t>(file),
                         static_cast<uint32_t>(m.line), static_cast<uint32_t>(m.column), end});
  }

  void run(Cursor& program) {
    Machine m;
    size_t sequence = out_.rows.size();
    while (program.good() && program.left() && !full_) {
      uint64_t opcode = program.fixed(1);
      if (opcode >= opcode_base_) {
        uint64_t adjusted = opcode - opcode_base_;
        m.address += adjusted / line_range_ * minimum_length_;
        m.line += line_base_ + static_cast<int64_t>(adjusted % line_range_);
        emit(m, false);
        continue;
      }
      switch (opcode) {
        case 0: {
          Cursor extended(program.take(program.uleb()));
          switch (extended.fixed(1)) {
            case dwarf::DW_LNE_end_sequence:
              emit(m, true);
              if (!full_) sequence = out_.rows.size();
              m = Machine();
              break;
            case dwarf::DW_LNE_set_address:
              m.address = extended.fixed(extended.left());
              break;
          }
          break;
        }
        case dwarf::DW_LNS_copy:
          emit(m, false);
          break;
        case dwarf::DW_LNS_advance_pc:
          m.address += program.uleb() * minimum_length_;
          break;
        case dwarf::DW_LNS_advance_line:
          m.line += program.sleb();
          break;
        case dwarf::DW_LNS_set_file:
          m.file = program.uleb();
          break;
        case dwarf::DW_LNS_set_column:
          m.column = program.uleb();
          break;
        case dwarf::DW_LNS_const_add_pc:
          m.address += (255 - opcode_base_) / line_range_ * minimum_length_;
          break;
        case dwarf::DW_LNS_fixed_advance_pc:
          m.address += program.fixed(2);
          break;
        default:
          for (unsigned i = 0; i < operand_counts_[opcode - 1]; ++i) program.uleb();
      }
    }
    // A sequence without end would claim every address behind it.
    out_.rows.resize(sequence);
  }

  const SourceLines::Sections& sections_;
  SourceLines::Tables& out_;
  const size_t most_rows_;
  bool full_ = false;
  unsigned version_ = 0, offset_size_ = 4;
  uint64_t minimum_length_ = 1, line_range_ = 1, opcode_base_ = 1;
  int64_t line_base_ = 0;
  std::vector<uint8_t> operand_counts_;
  size_t first_file_ = 0;
};

// Compilers write a row or two for an instruction, which has four bytes at least.
constexpr uint64_t kRowsOfAnyCode = 1 << 16;

SourceLines::SourceLines(const CodeObject& object)
    : sections_(std::make_shared<const Sections>(object.shared_bytes())),
      tables_(std::make_shared<Tables>()),
      most_rows_(kRowsOfAnyCode),
      compiler_(first_compiler(sections_->comment.bytes)) {
  for (const Segment& s : object.segments())
    if (s.executable) most_rows_ += s.file_size;
  for (const Symbol& s : object.symbols())
    if (s.kind == SymbolKind::function) functions_.push_back({s.address, s.size, s.name});
}

const SourceLines::Tables& SourceLines::tables() const {
  std::call_once(tables_->are_read, [this] { LineTableReader(*sections_, *tables_, most_rows_).read(); });
  return *tables_;
}

std::optional<SourceLocation> SourceLines::find(uint64_t address) const {
  const auto& [rows, files, are_read] = tables();
  auto after = std::upper_bound(rows.begin(), rows.end(), address,
                                [](uint64_t a, const Row& r) { return a < r.address; });
  if (after == rows.begin() || std::prev(after)->end) return std::nullopt;
  const Row& row = *std::prev(after);
  SourceLocation out;
  out.line = row.line;
  out.column = row.column;
  if (row.file < files.size()) out.file = files[row.file].path();
  auto next = std::upper_bound(functions_.begin(), functions_.end(), address,
                               [](uint64_t a, const Function& f) { return a < f.address; });
  if (next != functions_.begin() && address - std::prev(next)->address < std::prev(next)->size)
    out.function = std::prev(next)->name;
  return out;
}

}  // namespace lockstep::loader

// What a hostile file can cost: time and memory in proportion to its size. Each file is so large that the
// cost squared would be hours or hundreds of gigabytes.
#include <gtest/gtest.h>

#include "loader/bundle.h"
#include "loader/code_object.h"
#include "loader/source_lines.h"
#include "tests/loader/elf_file.h"
#include "tests/loader/fixtures.h"
#include "tests/sweep.h"

namespace lockstep::loader {
namespace {

namespace elf = llvm::ELF;

const std::string kGfx1100 = "hipv4-amdgcn-amd-amdhsa--gfx1100";
constexpr uint32_t kCodeFlags = elf::PF_R | elf::PF_X;
constexpr uint32_t kEnd = 0xbfb00000;  // s_endpgm
// How the cost grows is for the product's own build to show.
constexpr uint32_t kPart = test::kIsSanitized ? 10 : 1;

FileBytes header_of_bundle(uint64_t entries) {
  FileBytes out;
  append(out, "__CLANG_OFFLOAD_BUNDLE__");
  append_number(out, entries);
  return out;
}

void append_entry(FileBytes& out, uint64_t offset, uint64_t size, std::string_view id) {
  append_number(out, offset);
  append_number(out, size);
  append_number<uint64_t>(out, id.size());
  append(out, id);
}

// Bundles without an entry, as many as fit.
FileBytes empty_bundles(size_t bytes) {
  const FileBytes one = header_of_bundle(0);
  FileBytes out;
  out.reserve(bytes);
  while (out.size() + one.size() <= bytes) out.insert(out.end(), one.begin(), one.end());
  return out;
}

std::string problem_of(const FileBytes& file) {
  const Result<std::vector<Image>> images = list_images(file, "hostile");
  return images ? "" : images.error().message();
}

TEST(BundleCost, EmptyBundlesInARow) {
  const FileBytes file = empty_bundles((64 << 20) / kPart);
  const Result<std::vector<Image>> images = list_images(file, "empty");
  ASSERT_TRUE(images) << images.error().message();
  EXPECT_TRUE(images->empty());
}

TEST(BundleCost, NestedBundlesAreReadOncePerLevel) {
  FileBytes file = empty_bundles(16 << 20);
  for (int level = 0; level < 3; ++level) file = make_bundle({{kGfx1100, file}}, 8);
  const Result<std::vector<Image>> images = list_images(file, "nested");
  ASSERT_TRUE(images) << images.error().message();
  EXPECT_TRUE(images->empty());
}

TEST(BundleCost, EntriesThatShareACompressedBundle) {
  FileBytes large = header_of_bundle(0);
  large.resize(64 << 20);
  const FileBytes packed = compress_bundle(large, 3, Method::zstd);
  constexpr size_t kEntries = 500;
  FileBytes file = header_of_bundle(kEntries);
  const size_t at = file.size() + kEntries * (24 + kGfx1100.size());
  for (size_t i = 0; i < kEntries; ++i) append_entry(file, at, packed.size(), kGfx1100);
  file.insert(file.end(), packed.begin(), packed.end());
  EXPECT_NE(problem_of(file).find("entry 1: the entry overlaps entry 0"), std::string::npos)
      << problem_of(file);
  // The header is no entry's either.
  file = header_of_bundle(1);
  append_entry(file, 0, 32, kGfx1100);
  EXPECT_NE(problem_of(file).find("overlaps the bundle's header"), std::string::npos);
}

TEST(BundleCost, CompressedBundlesTogetherHaveABound) {
  FileBytes large = header_of_bundle(0);
  large.resize(60 << 20);
  const FileBytes packed = compress_bundle(large, 3, Method::zstd);
  EXPECT_EQ(problem_of(packed), "");
  FileBytes file;
  for (int i = 0; i < 1000; ++i) file.insert(file.end(), packed.begin(), packed.end());
  EXPECT_NE(problem_of(file).find("are left to a file of this size"), std::string::npos);
}

TEST(BundleCost, HostSectionsThatOverlap) {
  ElfFile host;
  const uint64_t at = host.add(empty_bundles(1 << 20));
  for (int i = 0; i < 60000; ++i) host.section(".hip_fatbin", elf::SHT_PROGBITS, at, 1 << 20);
  FileBytes file = host.finish();
  put<uint16_t>(file, 18, elf::EM_X86_64);
  EXPECT_NE(problem_of(file).find("sections 1 and 2 (.hip_fatbin) overlap"), std::string::npos)
      << problem_of(file);
}

TEST(BundleCost, GivesUpWhenAsked) {
  const FileBytes file = empty_bundles(1 << 20);
  int asked = 0;
  const auto images = list_images(file, "empty", [&] { return ++asked == 100; });
  ASSERT_FALSE(images);
  EXPECT_NE(images.error().what.find("given up"), std::string::npos);
  EXPECT_EQ(asked, 100);
}

// A code object with `count` kernels, k0 and so on, each with its descriptor and, if wanted, its metadata.
// They share an instruction.
FileBytes many_kernels(uint32_t count, bool described) {
  constexpr uint64_t kCode = 0x1000, kData = 0x10000;
  ElfFile file;
  FileBytes code, data, symbols(24), strings(1), note;
  append_number(code, kEnd);
  auto word = [&](std::string_view text) {
    append_number(note, static_cast<uint8_t>(0xa0 | text.size()));
    append(note, text);
  };
  append_number<uint8_t>(note, 0x81);
  word("amdhsa.kernels");
  append_number<uint8_t>(note, 0xdd);
  for (const unsigned shift : {24, 16, 8, 0}) append_number(note, static_cast<uint8_t>(count >> shift));
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = "k" + std::to_string(i);
    const uint64_t address = kData + data.size();
    FileBytes descriptor(kKernelDescriptorBytes);
    put<int64_t>(descriptor, 16, static_cast<int64_t>(kCode - address));
    data.insert(data.end(), descriptor.begin(), descriptor.end());
    append_symbol(symbols, strings.size(), address, kKernelDescriptorBytes, elf::STT_OBJECT);
    append(strings, name + ".kd" + std::string(1, '\0'));
    append_number<uint8_t>(note, 0x81);
    word(".name");
    word(name);
  }
  const uint64_t code_at = file.add(code), data_at = file.add(data);
  file.segment(elf::PT_LOAD, kCodeFlags, code_at, kCode, code.size(), code.size());
  file.segment(elf::PT_LOAD, elf::PF_R, data_at, kData, data.size(), data.size());
  if (described) {
    FileBytes notes;
    append_number<uint32_t>(notes, 7);
    append_number<uint32_t>(notes, note.size());
    append_number<uint32_t>(notes, elf::NT_AMDGPU_METADATA);
    append(notes, std::string_view("AMDGPU\0\0", 8));
    notes.insert(notes.end(), note.begin(), note.end());
    notes.resize((notes.size() + 3) / 4 * 4);
    const uint64_t notes_at = file.add(notes);
    file.segment(elf::PT_NOTE, elf::PF_R, notes_at, 0, notes.size(), notes.size());
  }
  const uint64_t symbols_at = file.add(symbols), strings_at = file.add(strings);
  const uint32_t table = file.section(".strtab", elf::SHT_STRTAB, strings_at, strings.size());
  file.section(".symtab", elf::SHT_SYMTAB, symbols_at, symbols.size(), table, 24);
  return file.finish();
}

TEST(CodeObjectCost, ManyKernels) {
  constexpr uint32_t kCount = 300'000 / kPart;
  const Result<CodeObject> object = CodeObject::parse(many_kernels(kCount, true), "kernels");
  ASSERT_TRUE(object) << object.error().message();
  ASSERT_EQ(object->kernels().size(), kCount);
  ASSERT_TRUE(object->kernels().back().metadata);
  EXPECT_EQ(object->kernels().back().metadata->name, object->kernels().back().name);
}

std::string parse_problem(const FileBytes& file) {
  const Result<CodeObject> object = CodeObject::parse(file, "hostile");
  return object ? "" : object.error().message();
}

// A file with one executable segment and `more` symbols behind the first, which is null.
FileBytes with_symbols(const std::string& strings, const FileBytes& symbols, unsigned tables = 1) {
  ElfFile file;
  FileBytes code;
  append_number(code, kEnd);
  const uint64_t code_at = file.add(code);
  file.segment(elf::PT_LOAD, kCodeFlags, code_at, 0x1000, 4, 4);
  const uint64_t symbols_at = file.add(symbols), strings_at = file.add(strings);
  const uint32_t table = file.section(".strtab", elf::SHT_STRTAB, strings_at, strings.size());
  for (unsigned i = 0; i < tables; ++i)
    file.section(".symtab", elf::SHT_SYMTAB, symbols_at, symbols.size(), table, 24);
  return file.finish();
}

TEST(CodeObjectCost, SymbolsThatShareALongName) {
  const std::string strings = std::string(1, '\0') + std::string(1 << 20, 'n') + std::string(1, '\0');
  FileBytes symbols(24);
  for (int i = 0; i < 40000; ++i) append_symbol(symbols, 1, 0x1000, 4, elf::STT_FUNC);
  EXPECT_NE(parse_problem(with_symbols(strings, symbols)).find("longer together than four times the file"),
            std::string::npos);
}

TEST(CodeObjectCost, SymbolTablesThatAreTheSame) {
  FileBytes symbols(24);
  for (int i = 0; i < 100'000; ++i) append_symbol(symbols, 1, 0x1000, 4, elf::STT_FUNC);
  const std::string strings("\0f\0", 3);
  EXPECT_EQ(parse_problem(with_symbols(strings, symbols)), "");
  EXPECT_NE(parse_problem(with_symbols(strings, symbols, 60000)).find("second symbol table"),
            std::string::npos);
}

TEST(CodeObjectCost, KernelsOfOneName) {
  FileBytes file = many_kernels(3, false);
  const char* name = "k2.kd";
  const auto found = std::search(file.begin(), file.end(), reinterpret_cast<const std::byte*>(name),
                                 reinterpret_cast<const std::byte*>(name) + 5);
  ASSERT_NE(found, file.end());
  EXPECT_EQ(parse_problem(file), "");
  found[1] = std::byte{'1'};
  EXPECT_NE(parse_problem(file).find("'k1.kd' at 0x10080: is the second kernel of that name"),
            std::string::npos)
      << parse_problem(file);
}

FileBytes with_segments(uint32_t count, uint64_t distance, bool shared) {
  ElfFile file;
  const FileBytes contents(shared ? 1 << 20 : count * 16);
  const uint64_t at = file.add(contents);
  for (uint32_t i = 0; i < count; ++i)
    file.segment(elf::PT_LOAD, kCodeFlags, shared ? at : at + i * 16, 0x1000 + i * distance,
                 shared ? contents.size() : 16, shared ? contents.size() : 16);
  return file.finish();
}

TEST(CodeObjectCost, ManySegments) {
  EXPECT_EQ(parse_problem(with_segments(1000, 4096, false)), "");
  EXPECT_NE(parse_problem(with_segments(20000, 4096, false)).find("more than 1024 segments"),
            std::string::npos);
}

TEST(CodeObjectCost, SegmentsThatShareBytesOrAddresses) {
  EXPECT_NE(parse_problem(with_segments(1000, 1 << 20, true)).find("more bytes than the file has"),
            std::string::npos);
  EXPECT_NE(parse_problem(with_segments(2, 8, false)).find("overlap in memory"), std::string::npos);
}

TEST(CodeObjectCost, NotesThatShareBytes) {
  ElfFile file;
  FileBytes code;
  append_number(code, kEnd);
  const uint64_t code_at = file.add(code);
  file.segment(elf::PT_LOAD, kCodeFlags, code_at, 0x1000, 4, 4);
  const FileBytes notes(16 << 20);  // of 12 bytes each, all zero
  const uint64_t at = file.add(notes);
  for (int i = 0; i < 60000; ++i) file.segment(elf::PT_NOTE, elf::PF_R, at, 0, notes.size(), notes.size());
  EXPECT_NE(parse_problem(file.finish()).find("the notes up to here have more bytes than the file"),
            std::string::npos);
}

TEST(CodeObjectCost, RelocationsThatShareALongName) {
  constexpr uint64_t kName = 1 << 20, kCount = 400'000, kBase = 0x10000;
  ElfFile file;
  FileBytes code, data;
  append_number(code, kEnd);
  const uint64_t code_at = file.add(code);
  file.segment(elf::PT_LOAD, kCodeFlags, code_at, 0x1000, 4, 4);
  append(data, std::string(1, '\0') + std::string(kName, 'n') + std::string(1, '\0'));
  const uint64_t strings_size = data.size();
  data.resize((data.size() + 15) / 16 * 16 + 24);
  const uint64_t symbols = kBase + data.size() - 24;
  append_number<uint32_t>(data, 1);                   // name
  append_number<uint32_t>(data, elf::STB_WEAK << 4);  // type, section 0: undefined
  append(data, std::string(16, '\0'));                // value and size
  const uint64_t relocations = kBase + data.size();
  for (uint64_t i = 0; i < kCount; ++i) {
    append_number<uint64_t>(data, kBase);
    append_number<uint64_t>(data, uint64_t{1} << 32 | elf::R_AMDGPU_ABS64);
    append_number<uint64_t>(data, 0);
  }
  const uint64_t dynamic = data.size();
  const uint64_t tags[][2] = {{elf::DT_STRTAB, kBase},       {elf::DT_STRSZ, strings_size},
                              {elf::DT_SYMTAB, symbols},     {elf::DT_RELA, relocations},
                              {elf::DT_RELASZ, kCount * 24}, {elf::DT_NULL, 0}};
  for (const auto& [tag, value] : tags) {
    append_number(data, tag);
    append_number(data, value);
  }
  const uint64_t at = file.add(data);
  file.segment(elf::PT_LOAD, elf::PF_R | elf::PF_W, at, kBase, data.size(), data.size());
  file.segment(elf::PT_DYNAMIC, elf::PF_R, at + dynamic, kBase + dynamic, sizeof tags, sizeof tags);
  const Result<CodeObject> object = CodeObject::parse(file.finish(), "relocations");
  ASSERT_TRUE(object) << object.error().message();
  ASSERT_EQ(object->relocations().size(), kCount);
  EXPECT_EQ(object->relocations().back().symbol.size(), kName);
  EXPECT_EQ(object->relocations().back().symbol.data(), object->relocations().front().symbol.data());
}

TEST(MetadataCost, ManyArgumentsOfAKernelWithALongName) {
  constexpr uint32_t kName = 4 << 20, kCount = 300'000 / kPart;
  FileBytes note;
  auto word = [&](std::string_view text) {
    append_number(note, static_cast<uint8_t>(0xa0 | text.size()));
    append(note, text);
  };
  auto large = [&](uint8_t kind, uint32_t size) {
    append_number(note, kind);
    for (const unsigned shift : {24, 16, 8, 0}) append_number(note, static_cast<uint8_t>(size >> shift));
  };
  append_number<uint8_t>(note, 0x81);
  word("amdhsa.kernels");
  append_number<uint8_t>(note, 0x91);
  append_number<uint8_t>(note, 0x82);
  word(".name");
  large(0xdb, kName);
  append(note, std::string(kName, 'n'));
  word(".args");
  large(0xdd, kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    append_number<uint8_t>(note, 0x82);
    word(".size");
    append_number<uint8_t>(note, 4);
    word(".offset");
    append_number<uint8_t>(note, 0);
  }
  const Result<Metadata> metadata = parse_metadata(note, "arguments");
  ASSERT_TRUE(metadata) << metadata.error().message();
  EXPECT_EQ(metadata->kernels.at(0).arguments.size(), kCount);
}

// A line table of version 2 whose program is given. Its header names `files` files.
FileBytes line_table(std::string_view program, std::string_view directory, unsigned files) {
  FileBytes header;
  append(header, std::string_view("\x01\x01\x00\x01\x0a", 5));  // lengths, line base and range, first special
  append(header, std::string_view("\x00\x01\x01\x01\x01\x00\x00\x00\x01", 9));
  append(header, directory);
  append(header, std::string_view("\0\0", 2));
  for (unsigned i = 0; i < files; ++i) append(header, std::string_view("f\0\1\0\0", 5));
  append(header, std::string_view("\0", 1));
  FileBytes unit;
  append_number<uint16_t>(unit, 2);
  append_number<uint32_t>(unit, header.size());
  unit.insert(unit.end(), header.begin(), header.end());
  append(unit, program);
  FileBytes out;
  append_number<uint32_t>(out, unit.size());
  out.insert(out.end(), unit.begin(), unit.end());
  return out;
}

FileBytes with_lines(const FileBytes& lines, unsigned sections = 1) {
  ElfFile file;
  FileBytes code;
  append_number(code, kEnd);
  const uint64_t code_at = file.add(code), lines_at = file.add(lines);
  file.segment(elf::PT_LOAD, kCodeFlags, code_at, 0x1000, 4, 4);
  for (unsigned i = 0; i < sections; ++i)
    file.section(".debug_line", elf::SHT_PROGBITS, lines_at, lines.size());
  return file.finish();
}

std::string set_address(uint64_t address) {
  std::string out("\x00\x09\x02", 3);
  out.append(reinterpret_cast<const char*>(&address), sizeof address);
  return out;
}

const std::string kEndSequence("\x00\x01\x01", 3);

TEST(SourceLinesCost, SectionsThatAreTheSame) {
  const std::string program = set_address(0x1000) + "\x0a\x0a" + std::string("\x02\x04", 2) + kEndSequence;
  FileBytes lines = line_table(program, "dir", 1);
  lines.resize(16 << 20);
  const Result<CodeObject> object = CodeObject::parse(with_lines(lines, 60000), "lines");
  ASSERT_TRUE(object) << object.error().message();
  const auto found = SourceLines(*object).find(0x1000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->file, "dir/f");
}

// Each file's path is a megabyte; all of them would be a terabyte.
TEST(SourceLinesCost, FilesThatShareADirectory) {
  const std::string program = set_address(0x1000) + std::string("\x04\xc0\x84\x3d", 4) /* file 1,000,000 */ +
                              "\x0a" + std::string("\x02\x04", 2) + kEndSequence;
  const std::string directory(1 << 20, 'd');
  const Result<CodeObject> object =
      CodeObject::parse(with_lines(line_table(program, directory, 1'000'000)), "files");
  ASSERT_TRUE(object) << object.error().message();
  const auto found = SourceLines(*object).find(0x1000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->file, directory + "/f");
}

TEST(SourceLinesCost, MoreRowsThanCode) {
  const std::string good = set_address(0x1000) + "\x0a" + std::string("\x02\x04", 2) + kEndSequence;
  const std::string many = set_address(0x1000) + std::string(64 << 20, '\x0a') + kEndSequence;
  const Result<CodeObject> object = CodeObject::parse(with_lines(line_table(good + many, "dir", 1)), "rows");
  ASSERT_TRUE(object) << object.error().message();
  const SourceLines lines(*object);
  EXPECT_LE(lines.row_count(), 70000u);
  EXPECT_TRUE(lines.find(0x1000));
}

}  // namespace
}  // namespace lockstep::loader

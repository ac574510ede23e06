// Code objects as no compiler makes them, through the C interface.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "api/lockstep.hpp"
#include "tests/loader/elf_file.h"

namespace {

namespace elf = llvm::ELF;
using lockstep::CodeObject;
using lockstep::loader::append;
using lockstep::loader::append_number;
using lockstep::loader::append_symbol;
using lockstep::loader::ElfFile;
using lockstep::loader::FileBytes;

CodeObject open(const FileBytes& file) {
  return CodeObject::from_memory(file, "hostile\x1b[2J.co");
}

// One kernel descriptor and a code of `dwords` instructions with `functions` symbols, of which each claims
// all.
FileBytes file_of(const std::string& kernel, const FileBytes& descriptor, uint32_t dwords,
                  uint32_t functions) {
  constexpr uint64_t kCode = 0x1000;
  const uint64_t data = kCode + ((dwords * 4 + 4095) & ~4095u);
  ElfFile file;
  FileBytes code, placed = descriptor, symbols(24);
  for (uint32_t i = 0; i < dwords; ++i) append_number<uint32_t>(code, 0xbfb00000);  // s_endpgm
  lockstep::loader::put<int64_t>(placed, 16, static_cast<int64_t>(kCode - data));
  const uint64_t code_at = file.add(code), data_at = file.add(placed);
  file.segment(elf::PT_LOAD, elf::PF_R | elf::PF_X, code_at, kCode, code.size(), code.size());
  file.segment(elf::PT_LOAD, elf::PF_R, data_at, data, placed.size(), placed.size());
  append_symbol(symbols, 1, data, placed.size(), elf::STT_OBJECT);
  const std::string name = kernel + ".kd";
  for (uint32_t i = 0; i < functions; ++i)
    append_symbol(symbols, 1, kCode + i * 4, code.size() - i * 4, elf::STT_FUNC);
  const std::string strings = std::string(1, '\0') + name + std::string(1, '\0');
  const uint64_t symbols_at = file.add(symbols), strings_at = file.add(strings);
  const uint32_t table = file.section(".strtab", elf::SHT_STRTAB, strings_at, strings.size());
  file.section(".symtab", elf::SHT_SYMTAB, symbols_at, symbols.size(), table, 24);
  return file.finish();
}

TEST(HostileObjects, NamesAreShownNotObeyed) {
  const CodeObject object = open(file_of("k\x1b]0;title\a\nerror: no", FileBytes(64), 1, 0));
  ASSERT_EQ(object.kernels().size(), 1u);
  EXPECT_STREQ(object.kernels()[0].info().name, "k\\x1b]0;title\\x07\\x0aerror: no");
  EXPECT_EQ(std::string(object.images()[0].name), "hostile\\x1b[2J.co");
  // And in messages, whatever they quote.
  lockstep_code_object* out = nullptr;
  EXPECT_EQ(lockstep_code_object_open("/no\x1b[31m/such file", nullptr, &out), LOCKSTEP_NOT_FOUND);
  EXPECT_EQ(std::string(lockstep_last_error()).find('\x1b'), std::string::npos) << lockstep_last_error();
}

// Each of the 40,000 functions claims all of the code behind its beginning.
TEST(HostileObjects, OverlappingFunctionsAreListedOnce) {
  constexpr uint32_t kDwords = 40000;
  const CodeObject object = open(file_of("k", FileBytes(64), kDwords, kDwords));
  uint32_t lines = 0;
  lockstep::check(lockstep_code_object_disassemble(
      object.get(), nullptr,
      [](void* user, const lockstep_listing_line*) {
        ++*static_cast<uint32_t*>(user);
        return 0;
      },
      &lines));
  EXPECT_EQ(lines, kDwords);
}

TEST(HostileObjects, SizesThatWrapAreRefused) {
  FileBytes descriptor(64);
  lockstep::loader::put<uint32_t>(descriptor, 4, 0xfffff000);  // scratch
  lockstep::loader::put<uint16_t>(descriptor, 56, 1 << 11);    // and a dynamic stack
  const CodeObject object = open(file_of("k", descriptor, 1, 0));
  lockstep::Device device;
  lockstep_dispatch_options options;
  lockstep_dispatch_options_init(&options);
  EXPECT_NE(lockstep_dispatch(device.get(), object.kernels()[0].get(), nullptr, &options, nullptr),
            LOCKSTEP_OK);
  EXPECT_NE(std::string(lockstep_last_error()).find("4294979584 bytes of scratch"), std::string::npos)
      << lockstep_last_error();
}

int count_and_stop(void* user) {
  ++*static_cast<int*>(user);
  return 1;
}

TEST(Cancellation, OfReadingAndCompiling) {
  int asked = 0;
  lockstep_compile_options options;
  lockstep_compile_options_init(&options);
  options.cancelled = count_and_stop;
  options.cancelled_user = &asked;
  lockstep_code_object* out = nullptr;
  const auto is_cancelled = [&](lockstep_status status) {
    EXPECT_EQ(status, LOCKSTEP_CANCELLED) << lockstep_last_error();
    EXPECT_NE(std::string(lockstep_last_error()).find("cancelled"), std::string::npos);
    EXPECT_EQ(std::exchange(asked, 0), 1);  // the answer holds
  };
  const FileBytes file = file_of("k", FileBytes(64), 1, 0);
  is_cancelled(lockstep_code_object_from_memory(file.data(), file.size(), "k.co", &options, &out));
  is_cancelled(lockstep_code_object_open("/proc/self/exe", &options, &out));
  is_cancelled(lockstep_code_object_compile(LOCKSTEP_OPENCL, "__kernel void k() {}", "k.cl", &options, &out));
  is_cancelled(lockstep_code_object_compile(LOCKSTEP_ASSEMBLY, "s_endpgm", "k.s", &options, &out));
  EXPECT_EQ(out, nullptr);
}

}  // namespace

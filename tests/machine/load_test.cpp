// What a code object may ask for when it is loaded and launched.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "machine/kernel.h"
#include "tests/loader/elf_file.h"

namespace lockstep::machine {
namespace {

namespace elf = llvm::ELF;

constexpr uint64_t kCode = 0x1000;

// A kernel `k` of one instruction, whose executable segment has `memory_bytes`.
loader::FileBytes kernel_file(const loader::FileBytes& descriptor, uint64_t memory_bytes) {
  loader::ElfFile file;
  loader::FileBytes code, symbols(24);
  loader::append_number<uint32_t>(code, 0xbfb00000);  // s_endpgm
  const uint64_t data = kCode + ((memory_bytes + 4095) & ~4095ull);
  loader::FileBytes placed = descriptor;
  loader::put<int64_t>(placed, 16, static_cast<int64_t>(kCode - data));
  const uint64_t code_at = file.add(code), data_at = file.add(placed);
  file.segment(elf::PT_LOAD, elf::PF_R | elf::PF_X, code_at, kCode, code.size(), memory_bytes);
  file.segment(elf::PT_LOAD, elf::PF_R, data_at, data, placed.size(), placed.size());
  loader::append_symbol(symbols, 1, data, placed.size(), elf::STT_OBJECT);
  const std::string strings("\0k.kd\0", 6);
  const uint64_t symbols_at = file.add(symbols), strings_at = file.add(strings);
  const uint32_t table = file.section(".strtab", elf::SHT_STRTAB, strings_at, strings.size());
  file.section(".symtab", elf::SHT_SYMTAB, symbols_at, symbols.size(), table, 24);
  return file.finish();
}

std::unique_ptr<LoadedCode> load(const loader::FileBytes& file, AddressSpace& memory) {
  auto object = loader::CodeObject::parse(file, "k.co");
  if (!object) {
    ADD_FAILURE() << object.error().message();
    return nullptr;
  }
  auto loaded = LoadedCode::load(std::move(*object), memory);
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message();
    return nullptr;
  }
  return std::move(*loaded);
}

TEST(LoadedCode, MemoryBehindTheFileIsNotLookedThrough) {
  constexpr uint64_t kBytes = uint64_t{15} << 30;
  AddressSpace memory;
  const auto loaded = load(kernel_file(loader::FileBytes(64), kBytes), memory);
  ASSERT_TRUE(loaded);
  const uint64_t begin = loaded->loaded_address(kCode);
  std::vector<unsigned char> resident(kBytes / 4096);
  ASSERT_EQ(mincore(reinterpret_cast<void*>(begin), kBytes, resident.data()), 0);
  const auto touched = std::count_if(resident.begin(), resident.end(), [](unsigned char c) { return c & 1; });
  // A host that gives large pages gives up to 512 of these at once.
  EXPECT_LE(touched, 1024);
  // It is memory, and no code.
  ASSERT_EQ(loaded->code().size(), 1u);
  EXPECT_EQ(loaded->code()[0].begin, begin);
  EXPECT_EQ(loaded->code()[0].end, begin + 4096);
  const auto ranges = memory.snapshot();
  EXPECT_TRUE(ranges->find(begin + 4096, kBytes - 4096, kRead));
  EXPECT_FALSE(ranges->find(begin + 4096, 4, kExecute));
}

std::string launch_problem(uint32_t lds, uint32_t scratch, uint16_t properties, uint32_t dynamic_lds,
                           uint32_t extra_scratch) {
  loader::FileBytes descriptor(64);
  loader::put(descriptor, 0, lds);
  loader::put(descriptor, 4, scratch);
  loader::put(descriptor, 56, properties);
  AddressSpace memory;
  const auto loaded = load(kernel_file(descriptor, 4), memory);
  if (!loaded) return "not loaded";
  KernelDispatch dispatch;
  dispatch.kernel = loaded->object().find_kernel("k");
  dispatch.dynamic_lds_bytes = dynamic_lds;
  dispatch.extra_scratch_bytes = extra_scratch;
  const auto launch = make_launch(*loaded, dispatch);
  return launch ? "" : launch.error().message();
}

TEST(MakeLaunch, SizesDoNotWrap) {
  constexpr uint16_t kDynamicStack = 1 << 11;
  EXPECT_EQ(launch_problem(1024, 1024, kDynamicStack, 1024, 0), "");
  EXPECT_EQ(launch_problem(0, 0xffffffff, 0, 0, 0), "");
  EXPECT_EQ(launch_problem(0, 0xfffff000, kDynamicStack, 0, 0),
            "k: 4294979584 bytes of scratch a work-item (no device has as much; compile it again, or ask for "
            "less)");
  EXPECT_NE(launch_problem(0, 1, 0, 0, 0xffffffff), "");
  EXPECT_EQ(launch_problem(0xffffff00, 0, 0, 0x200, 0),
            "k: 4294967552 bytes of LDS a work-group (no device has as much; compile it again, or ask for "
            "less)");
}

}  // namespace
}  // namespace lockstep::machine

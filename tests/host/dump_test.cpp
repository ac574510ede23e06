#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "dump/file.h"
#include "dump/memory.h"
#include "dump/writer.h"

namespace lockstep::dump {
namespace {

constexpr uint64_t kAddress = 0x1234'5600'0000;

std::byte* map(uint64_t address, uint64_t pages, int file = -1) {
  void* const memory =
      mmap(reinterpret_cast<void*>(address), pages * kPageBytes, PROT_READ | PROT_WRITE,
           (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_FIXED_NOREPLACE, file, 0);
  EXPECT_EQ(memory, reinterpret_cast<void*>(address));
  return static_cast<std::byte*>(memory);
}

class DumpTest : public testing::Test {
 protected:
  DumpTest() {
    dispatch.device = "navi31";
    dispatch.kernel = "k\xff";  // names need not be text
    dispatch.launch.entry = kAddress;
    dispatch.launch.grid = {64, 1, 1};
    dispatch.launch.group = {32, 1, 1};
    dispatch.launch.user_data = {1, 2, 0xffffffff};
    dispatch.launch.code = {{kAddress, kAddress + 4 * kPageBytes, 7}};
    dispatch.ranges = {
        {kAddress, kAddress + 4 * kPageBytes, kReadWrite | kExecute, "code", true},
        {kAddress + 5 * kPageBytes + 16, kAddress + 6 * kPageBytes, kReadWrite, "a part", true},
        {kAddress + 8 * kPageBytes, kAddress + 9 * kPageBytes, kReadWrite, "scratch", false}};
  }
  ~DumpTest() override { unlink(path.c_str()); }

  // A program's memory, which a dispatch changes here and there.
  void write() {
    std::byte* const memory = map(kAddress, 9);
    memory[1] = memory[5 * kPageBytes + 100] = std::byte{1};
    Writer writer(path, dispatch, {}, -1);
    EXPECT_TRUE(File::recognizes(path)) << "if the dispatch never ends";
    memory[2] = std::byte{2};                    // beside what was there
    memory[3 * kPageBytes] = std::byte{3};       // in a page of zeros
    memory[5 * kPageBytes + 100] = std::byte{};  // a page of zeros afterwards
    memory[8 * kPageBytes] = std::byte{8};       // whose doing it is depends on the order of waves
    writer.ended({3, 1000, false, "a fault"});
    munmap(memory, 9 * kPageBytes);
  }

  Dispatch dispatch;
  const std::string path = testing::TempDir() + "lockstep-dump-" + std::to_string(getpid());
  AddressSpace space;
};

TEST_F(DumpTest, BringsTheMemoryBackAndTellsWhatDiffers) {
  write();
  const auto file = File::open(path);
  ASSERT_TRUE(file) << file.error().message();
  const Dispatch& read = (*file)->dispatch();
  EXPECT_EQ(read.launch.entry, kAddress);
  EXPECT_EQ(read.launch.grid, dispatch.launch.grid);
  EXPECT_EQ(read.launch.user_data, dispatch.launch.user_data);
  ASSERT_EQ(read.ranges.size(), 3u);
  EXPECT_EQ(read.ranges[1].begin, dispatch.ranges[1].begin);
  EXPECT_EQ((*file)->end()->wave_instructions, 1000u);
  EXPECT_EQ((*file)->end()->fault, "a fault");

  const auto mapped = Memory::map(**file, space);
  ASSERT_TRUE(mapped.memory) << mapped.problem;
  auto* const memory = reinterpret_cast<std::byte*>(kAddress);
  EXPECT_EQ(memory[1], std::byte{1});
  EXPECT_EQ(memory[2], std::byte{}) << "as it was before";
  EXPECT_EQ(memory[5 * kPageBytes + 100], std::byte{1});
  EXPECT_TRUE(space.snapshot()->find(kAddress + 8 * kPageBytes, kPageBytes, kReadWrite));
  EXPECT_FALSE(space.snapshot()->find(kAddress + 5 * kPageBytes, 1, kRead)) << "ranges are exact";
  auto comparison = mapped.memory->compare(**file);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->different, 0u);
  EXPECT_EQ(comparison->left_alone, 3u) << "nothing has run";
  ASSERT_EQ(comparison->others.size(), 3u);
  EXPECT_EQ(comparison->others[0].address, kAddress + 2);
  EXPECT_EQ(comparison->others[2].range, "a part");

  memory[2] = std::byte{2};
  memory[3 * kPageBytes] = std::byte{4};
  memory[5 * kPageBytes + 100] = std::byte{};
  memory[2 * kPageBytes + 5] = memory[2 * kPageBytes + 6] = std::byte{9};
  comparison = mapped.memory->compare(**file);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->left_alone, 0u);
  EXPECT_EQ(comparison->different, 3u);
  ASSERT_EQ(comparison->differences.size(), 2u);
  EXPECT_EQ(comparison->differences[0].address, kAddress + 2 * kPageBytes + 5);
  EXPECT_EQ(comparison->differences[0].bytes, 2u);
  EXPECT_EQ(comparison->differences[1].wanted[0], std::byte{3});
  EXPECT_EQ(comparison->differences[1].found[0], std::byte{4});

  const std::span<const std::byte> apart[] = {{memory + 2 * kPageBytes + 6, 1}, {memory + 3 * kPageBytes, 1}};
  comparison = mapped.memory->compare(**file, apart);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->different, 1u) << "one byte less at each end";

  const auto again = Memory::map(**file, space);
  EXPECT_FALSE(again.memory);
  EXPECT_TRUE(again.is_taken) << again.problem;
}

TEST_F(DumpTest, MemoryThatIsNotThereIsNoneOfTheDispatchs) {
  std::byte* const memory = map(kAddress, 9);
  munmap(memory + 2 * kPageBytes, kPageBytes);
  Writer(path, dispatch, {}, -1);
  munmap(memory, 9 * kPageBytes);
  const auto file = File::open(path);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_FALSE((*file)->end());
  ASSERT_EQ((*file)->dispatch().ranges.size(), 4u);
  EXPECT_EQ((*file)->dispatch().ranges[0].end, kAddress + 2 * kPageBytes);
  EXPECT_EQ((*file)->dispatch().ranges[1].begin, kAddress + 3 * kPageBytes);
  EXPECT_EQ((*file)->dispatch().launch.code.size(), 2u);
}

// Reading a hole would fill it with memory: devices have more than hosts.
TEST_F(DumpTest, HolesStayHoles) {
  const int sparse = memfd_create("sparse", MFD_CLOEXEC);
  constexpr uint64_t kPages = 1 << 16;
  ASSERT_EQ(ftruncate(sparse, kPages * kPageBytes), 0);
  std::byte* const memory = map(kAddress, kPages, sparse);
  memory[77 * kPageBytes + 1] = memory[(kPages - 1) * kPageBytes] = std::byte{5};
  dispatch.ranges = {
      {kAddress, kAddress + kPages * kPageBytes, kReadWrite | kExecute, "device memory", true}};
  Writer writer(path, dispatch, {}, sparse);
  struct stat status = {};
  ASSERT_EQ(fstat(sparse, &status), 0);
  EXPECT_EQ(status.st_blocks, 2 * 8);
  munmap(memory, kPages * kPageBytes);
  close(sparse);
  const auto file = File::open(path);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ((*file)->memory_bytes(), 2 * kPageBytes);
}

// Nobody's file makes this process crash, or take memory that the file does not have.
TEST_F(DumpTest, DamagedFilesAreRefusedOrHarmless) {
  write();
  std::ifstream in(path, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  const auto attempt = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    const auto file = File::open(path);
    if (!file) return false;
    (void)(*file)->code_object();
    const auto mapped = Memory::map(**file, space);
    if (mapped.memory) (void)mapped.memory->compare(**file);
    return mapped.memory != nullptr;
  };
  EXPECT_TRUE(attempt(good));
  for (size_t size = 0; size < good.size(); size += 7) EXPECT_FALSE(attempt(good.substr(0, size))) << size;
  std::mt19937 random(1);
  for (unsigned i = 0; i < 1000; ++i) {
    std::string bytes = good;
    for (unsigned n = random() % 3 + 1; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)attempt(bytes);
  }
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    const size_t at = bytes.find(from);
    EXPECT_NE(at, bytes.npos) << from;
    EXPECT_EQ(from.size(), to.size());
    return bytes.replace(at, from.size(), to);
  };
  EXPECT_FALSE(attempt(replaced("\"end\": \"0x123456004000\"", "\"end\": \"0x123456009999\"")))
      << "code leaves";
  EXPECT_FALSE(attempt(replaced("0x123456006000", "0x723456006000"))) << "more memory than there is";
  EXPECT_FALSE(attempt(replaced("\"rwx\"", "\"rw-\""))) << "code that is not executable";
  EXPECT_FALSE(attempt(replaced("\"wave_size\": 32", "\"wave_size\": -2")));
  EXPECT_FALSE(attempt(replaced("\"grid\": [", "\"grid\": {")));
}

}  // namespace
}  // namespace lockstep::dump

// What of memory and LDS a kernel may reach: bounds as compilers and the card see them.
#include <sys/mman.h>

#include <algorithm>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

// Memory of the host in whose first page the guest has some ranges; everything else of it holds kForeign, and
// behind the page there is nothing.
struct Page {
  static constexpr uint32_t kForeign = 0xeeeeeeee;

  Page()
      : memory(static_cast<uint32_t*>(
            mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    munmap(memory + 1024, 4096);
    std::fill_n(memory, 1024, kForeign);
  }
  ~Page() { munmap(memory, 4096); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory); }

  uint32_t* const memory;
};

// Reads through s[4:5], the page's address, and stores s[8:11] to the buffer. One lane.
struct Reading : Dispatch {
  Reading(const std::string& read, const Page& page, std::vector<Range> ranges)
      : Dispatch(
            "s_mov_b32 s8, -1\ns_mov_b32 s9, -1\ns_mov_b32 s10, -1\ns_mov_b32 s11, -1\n"
            "v_mov_b32 v8, -1\nv_mov_b32 v9, -1\nv_mov_b32 v10, -1\nv_mov_b32 v11, -1\n" +
                read + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n" +
                (read.starts_with("s_") ? "v_mov_b32 v8, s8\nv_mov_b32 v9, s9\nv_mov_b32 v10, s10\n"
                                          "v_mov_b32 v11, s11\n"
                                        : "") +
                "global_store_b128 v1, v[8:11], s[0:1]",
            1, 1, 32, 64) {
    launch.user_data.resize(6);
    launch.user_data[4] = static_cast<uint32_t>(page.address());
    launch.user_data[5] = static_cast<uint32_t>(page.address() >> 32);
    ranges.push_back({address(), address() + 4 * buffer.size(), kReadWrite, "buffer 'out'"});
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    launch.memory = std::make_shared<const RangeSet>(std::move(ranges));
  }
};

// LLVM reads 16 bytes where 12 are, and whole dwords where one byte is: what fills up the aligned block of 16
// behind a range reads as zero, or as what the neighbour has there, never as what the host has.
TEST(GuestMemory, BlocksAreFilledUpForReads) {
  Page page;
  for (uint32_t i = 0; i < 7; ++i) page.memory[i] = 100 + i;
  const Range whole{page.address(), page.address() + 28, kReadWrite, "data"};
  const struct {
    const char* read;
    std::vector<uint32_t> expected;
  } cases[] = {{"s_load_b128 s[8:11], s[4:5], 0x10", {104, 105, 106, 0}},
               {"global_load_b128 v[8:11], v1, s[4:5] offset:16", {104, 105, 106, 0}},
               {"global_load_b64 v[8:9], v1, s[4:5] offset:24", {106, 0}},
               {"global_load_b32 v8, v1, s[4:5] offset:26", {0}},
               {"global_load_u16 v8, v1, s[4:5] offset:30", {0}},
               {"s_load_b32 s8, s[4:5], 0x1c", {0}}};
  for (const auto& test : cases) {
    Reading d(test.read, page, {whole});
    const Outcome outcome = d.run();
    ASSERT_FALSE(outcome.fault) << test.read << ": " << outcome.fault->fault.message;
    for (size_t i = 0; i < test.expected.size(); ++i) EXPECT_EQ(d.buffer[i], test.expected[i]) << test.read;
  }
}

TEST(GuestMemory, TheNeighbourIsWhatFillsABlock) {
  Page page;
  for (uint32_t i = 0; i < 8; ++i) page.memory[i] = 100 + i;
  const uint64_t begin = page.address();
  // A neighbour that may be read, and one that may not, in the block of the first range's end.
  for (const uint8_t access : {kRead, kWrite}) {
    Reading d("s_load_b128 s[8:11], s[4:5], 0x0", page,
              {{begin, begin + 4, kRead, "data"}, {begin + 8, begin + 12, access, "neighbour"}});
    EXPECT_FALSE(d.run().fault);
    EXPECT_EQ(std::vector(d.buffer.begin(), d.buffer.begin() + 4),
              (std::vector<uint32_t>{100, 0, access == kRead ? 102u : 0u, 0}));
  }
}

// The block in which a range ends, and no more: byte-exact bounds beyond it, before it, and for what writes.
TEST(GuestMemory, NothingElseIsFilledUp) {
  Page page;
  const uint64_t begin = page.address();
  const std::vector<Range> odd{{begin + 32, begin + 60, kReadWrite, "data"}},
      even{{begin + 32, begin + 64, kReadWrite, "data"}}, at_end{{begin, begin + 4095, kReadWrite, "data"}},
      writable{{begin + 32, begin + 60, kWrite, "data"}};
  const struct {
    const char* access;
    const std::vector<Range>& ranges;
  } cases[] = {{"s_load_b32 s8, s[4:5], 0x40", odd},
               {"s_load_b256 s[8:15], s[4:5], 0x24", odd},
               {"global_load_b32 v8, v1, s[4:5] offset:61", odd},
               {"s_load_b32 s8, s[4:5], 0x1c", odd},
               {"global_load_b32 v8, v1, s[4:5] offset:30", odd},
               {"s_load_b32 s8, s[4:5], 0x40", even},
               {"s_load_b128 s[8:11], s[4:5], 0x34", even},
               {"global_load_b32 v8, v1, s[4:5] offset:4093", at_end},
               {"s_load_b128 s[8:11], s[4:5], 0x30", writable},
               {"global_store_b128 v1, v[8:11], s[4:5] offset:48", odd},
               {"global_store_b32 v1, v8, s[4:5] offset:60", odd},
               {"global_atomic_add_u32 v1, v8, s[4:5] offset:60", odd},
               {"global_atomic_add_u32 v8, v1, v8, s[4:5] offset:60 glc", odd}};
  for (const auto& test : cases) {
    Reading d(test.access, page, test.ranges);
    const Outcome outcome = d.run();
    ASSERT_TRUE(outcome.fault) << test.access;
    EXPECT_EQ(outcome.fault->fault.kind, FaultKind::memory_violation) << test.access;
  }
  EXPECT_TRUE(std::all_of(page.memory, page.memory + 1024, [](uint32_t w) { return w == Page::kForeign; }));
}

// All sixteen lanes side by side, and every engine: the translator leaves such an access to the interpreter.
TEST(GuestMemory, FilledUpBlocksOfWholeWaves) {
  Page page;
  for (uint32_t i = 0; i < 125; ++i) page.memory[i] = 1000 + i;
  for (const EngineKind engine : {EngineKind::interpreter, EngineKind::translator}) {
    Dispatch d(
        "v_lshlrev_b32 v1, 4, v0\nglobal_load_b128 v[4:7], v1, s[4:5]\ns_waitcnt vmcnt(0)\n"
        "global_store_b128 v1, v[4:7], s[0:1]",
        1, 32);
    d.launch.user_data.resize(6);
    d.launch.user_data[4] = static_cast<uint32_t>(page.address());
    d.launch.user_data[5] = static_cast<uint32_t>(page.address() >> 32);
    std::vector<Range> ranges = d.launch.memory->ranges();
    ranges.push_back({page.address(), page.address() + 500, kRead, "data"});
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    d.launch.memory = std::make_shared<const RangeSet>(std::move(ranges));
    d.options.engine = engine;
    const Outcome outcome = d.run();
    ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
    for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(d.buffer[i], i < 125 ? 1000 + i : 0) << i;
  }
}

// Guide 3.3.4: LDS comes in blocks of 1024 bytes, and what a wave may reach is the allocation.
TEST(GuestMemory, LdsEndsWithItsLastBlock) {
  for (const EngineKind engine : {EngineKind::interpreter, EngineKind::translator}) {
    for (const uint32_t bytes : {0u, 1u, 1000u, 1024u, 1025u, 65536u}) {
      SCOPED_TRACE(bytes);
      const uint32_t end = (bytes + 1023) / 1024 * 1024;
      Dispatch d(
          "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, s4\nv_mov_b32 v3, 77\n"
          "ds_store_b32 v2, v3 offset:8\nds_load_b32 v4, v2 offset:8\nds_load_b32 v5, v2 offset:12\n"
          "ds_store_b32 v2, v3 offset:16\nds_load_b32 v6, v2 offset:16\ns_waitcnt lgkmcnt(0)\n"
          "v_add_nc_u32 v4, v4, v6\nv_lshl_or_b32 v4, v5, 16, v4\nglobal_store_b32 v1, v4, s[0:1]",
          2, 32);
      d.options.engine = engine;
      d.options.threads = 1;
      d.launch.lds_bytes = bytes;
      d.launch.user_data.resize(5);
      d.launch.user_data[4] = end - 16;  // the last 16 bytes of the allocation
      d.launch.rsrc2 = 0;
      EXPECT_FALSE(d.run().fault);
      for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(d.buffer[lane], bytes == 0 ? 0u : 77u) << lane;
    }
  }
}

// What a group leaves behind the bytes that it asked for is not the next one's.
TEST(GuestMemory, AllOfTheLastLdsBlockIsCleared) {
  Dispatch d(
      "v_lshlrev_b32 v1, 2, v0\nds_load_b32 v4, v1 offset:512\ns_waitcnt lgkmcnt(0)\n"
      "global_atomic_add_u32 v1, v4, s[0:1]\nv_mov_b32 v5, 99\nds_store_b32 v1, v5 offset:512",
      8, 32);
  d.options.threads = 1;
  d.launch.lds_bytes = 4;
  EXPECT_FALSE(d.run().fault);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(d.buffer[lane], 0u);
}

}  // namespace
}  // namespace lockstep::machine

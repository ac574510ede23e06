// Scratch memory of waves that queues launch: a ring in guest memory (guide 3.4.7, 11.2; LLVM, flat scratch).
#include <algorithm>
#include <cstring>
#include <set>

#include "command/pm4.h"
#include "memory/mapped_pages.h"
#include "tests/command/machine_under_test.h"

namespace lockstep::command {
namespace {

// Each lane stores its number plus 100 to dword 1 of its scratch, then reads that through the private
// aperture and from FLAT_SCRATCH's memory, where dword 1 of all lanes lies behind dword 0 of all lanes. Lane
// 0 stores FLAT_SCRATCH and both sums over the wave to row `work-group` of the buffer at s[8:9]; the group's
// number is in s10.
const std::string kUseScratch =
    "v_add_nc_u32 v1, 100, v0\n"
    "scratch_store_b32 off, v1, off offset:4\n"
    "s_waitcnt_vscnt null, 0x0\n"
    "s_mov_b64 s[4:5], src_private_base\n"
    "v_mov_b32 v2, 4\nv_mov_b32 v3, s5\n"
    "flat_load_b32 v4, v[2:3]\n"
    "s_getreg_b32 s6, hwreg(HW_REG_FLAT_SCR_LO)\n"
    "s_getreg_b32 s7, hwreg(HW_REG_FLAT_SCR_HI)\n"
    "v_lshlrev_b32 v5, 2, v0\n"
    "global_load_b32 v6, v5, s[6:7] offset:128\n"
    "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    "v_cmp_eq_u32 vcc_lo, v1, v4\ns_bcnt1_i32_b32 s12, vcc_lo\n"
    "v_cmp_eq_u32 vcc_lo, v1, v6\ns_bcnt1_i32_b32 s13, vcc_lo\n"
    "v_mov_b32 v7, s6\nv_mov_b32 v8, s7\nv_mov_b32 v9, s12\nv_mov_b32 v10, s13\n"
    "s_lshl_b32 s11, s10, 4\nv_mov_b32 v11, s11\ns_mov_b32 exec_lo, 1\n"
    "global_store_b128 v11, v[7:10], s[8:9]";

uint64_t base_of(const uint32_t* row) {
  return row[0] | uint64_t{row[1]} << 32;
}

struct ScratchTest : testing::Test {
  MachineUnderTest m;
  uint32_t* const out = m.buffer(1024);
  uint32_t* const arguments = m.buffer(16);

  ScratchTest() {
    const auto address = reinterpret_cast<uint64_t>(out);
    std::memcpy(arguments, &address, 8);
  }
  uint64_t load(const std::string& name, uint32_t bytes) {
    return m.load(
        {.name = name,
         .body = "s_mov_b32 s10, s2\ns_load_b64 s[8:9], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n" + kUseScratch,
         .directives = ".amdhsa_private_segment_fixed_size " + std::to_string(bytes) +
                       "\n.amdhsa_enable_private_segment 1\n"});
  }
  void run(AqlQueue& queue, uint64_t kernel, uint32_t bytes, uint32_t groups) {
    const uint64_t done = m.processor->signals().create(1);
    AqlPacket packet = dispatch_packet(kernel, arguments, groups, 32, done);
    packet.dispatch.private_segment_size = bytes;
    submit(queue, packet);
    ASSERT_TRUE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(20)));
  }
};

TEST_F(ScratchTest, AKernelHasWhatItsDescriptorSaysIfThePacketSaysLess) {
  const auto queue = m.queue();
  run(*queue, load("use", 4096), 16, 1);
  const auto* memory = reinterpret_cast<const QueueMemory*>(queue->address());
  EXPECT_EQ(memory->compute_tmpring_size >> 12, 4096u * 32 / 256);
}

TEST_F(ScratchTest, AqlQueuesHaveARingThatGrows) {
  const auto queue = m.queue();
  const auto* memory = reinterpret_cast<const QueueMemory*>(queue->address());
  EXPECT_EQ(memory->compute_tmpring_size, 0u);
  for (const uint32_t bytes : {16u, 4096u, 8u}) {
    SCOPED_TRACE(bytes);
    run(*queue, load("use" + std::to_string(bytes), bytes), bytes, 60);
    // 512 wave slots in each of the 6 shader engines of Navi 31; the ring never shrinks.
    const uint32_t units = (bytes == 16 ? 16u : 4096u) * 32 / 256;
    EXPECT_EQ(memory->compute_tmpring_size, 512 | units << 12);
    const uint64_t base = memory->scratch_backing_memory_location,
                   size = memory->scratch_backing_memory_byte_size;
    EXPECT_EQ(size, uint64_t{512} * 6 * units * 256);
    EXPECT_EQ(memory->scratch_wave64_lane_byte_size, units * 4);
    EXPECT_TRUE(m.memory.snapshot()->find(base, size, kReadWrite));
    for (unsigned group = 0; group < 60; ++group) {
      const uint32_t* row = out + group * 4;
      EXPECT_GE(base_of(row), base);
      EXPECT_LT(base_of(row), base + size);
      EXPECT_EQ((base_of(row) - base) % (units * 256), 0u);
      EXPECT_EQ(row[2], 32u) << "through the private aperture";
      EXPECT_EQ(row[3], 32u) << "as global memory";
      // Slots are used again: no wave of 60 is far from the ring's begin.
      EXPECT_LT(base_of(row), base + uint64_t{60} * 6 * units * 256);
    }
  }
}

TEST_F(ScratchTest, WavesThatAreResidentTogetherHaveDifferentEntries) {
  // Every group waits until all have stored their FLAT_SCRATCH.
  const uint64_t kernel = m.load(
      {.name = "meet",
       .body =
           "s_mov_b32 s10, s2\ns_load_b64 s[8:9], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n" + kUseScratch +
           "\nv_mov_b32 v1, 0\nv_mov_b32 v2, 1\nglobal_atomic_add_u32 v1, v2, s[8:9] offset:4000\nagain:\n"
           "global_load_b32 v3, v1, s[8:9] offset:4000 glc\ns_waitcnt vmcnt(0)\n"
           "v_readfirstlane_b32 s14, v3\ns_cmp_lg_u32 s14, 40\ns_cbranch_scc1 again",
       .directives = ".amdhsa_private_segment_fixed_size 16\n.amdhsa_enable_private_segment 1\n"});
  const auto queue = m.queue();
  run(*queue, kernel, 16, 40);
  std::set<uint64_t> bases;
  for (unsigned group = 0; group < 40; ++group) bases.insert(base_of(out + group * 4));
  EXPECT_EQ(bases.size(), 40u);
}

struct Pm4ScratchTest : RingQueueTest<Pm4Queue> {
  uint32_t* const ring = m.buffer(64 * 1024);

  static Words packet(uint32_t opcode, Words payload) {
    return Words{pm4::header(opcode, static_cast<uint32_t>(payload.size()))} + payload;
  }
  static Words set(uint32_t number, Words values) {
    return packet(pm4::kSetShReg, Words{number - pm4::kShBase} + values);
  }
  // A dispatch of `groups` groups, with a ring of `waves` entries of `units` * 256 bytes on each shader
  // engine. The program finds `memory` at s[8:9] and the group's number in s10.
  Words start(const std::string& program, uint32_t groups, uint32_t waves, uint32_t units, const void* base) {
    const uint64_t descriptor =
        m.load({.name = "scratch", .body = "s_mov_b64 s[8:9], s[2:3]\ns_mov_b32 s10, s4\n" + program});
    int64_t offset;
    std::memcpy(&offset, reinterpret_cast<const void*>(descriptor + 16), 8);
    const uint64_t entry = descriptor + static_cast<uint64_t>(offset);
    const auto address = reinterpret_cast<uint64_t>(base);
    return set(pm4::kPgmLo, {static_cast<uint32_t>(entry >> 8), static_cast<uint32_t>(entry >> 40)}) +
           set(pm4::kPgmRsrc1, {1 | 0xf0u << 12, 1 | 4u << 1 | 1u << 7}) + set(pm4::kNumThreadX, {32, 1, 1}) +
           set(pm4::kScratchBaseLo,
               {static_cast<uint32_t>(address >> 8), static_cast<uint32_t>(address >> 40)}) +
           set(pm4::kTmpringSize, {waves | units << 12}) +
           set(pm4::kUserData0, {0, 0, low(memory), high(memory)}) +
           packet(pm4::kDispatchDirect,
                  {groups, 1, 1, pm4::kComputeShaderEnable | pm4::kStartAtZero | pm4::kWave32});
  }
  // Word 4000 of the memory tells of its end.
  Words dispatch(const std::string& program, uint32_t groups, uint32_t waves, uint32_t units,
                 const void* base) {
    return start(program, groups, waves, units, base) +
           packet(pm4::kReleaseMem, {pm4::kBottomOfPipeTs | 5 << 8, 1u << 29, low(memory + 4000),
                                     high(memory + 4000), 1, 0, 0});
  }
  Words dispatch(uint32_t groups, uint32_t waves, uint32_t units, const void* base) {
    return dispatch(kUseScratch, groups, waves, units, base);
  }
};

// COMPUTE_DISPATCH_SCRATCH_BASE and COMPUTE_TMPRING_SIZE: entry n of the ring is n times WAVESIZE behind its
// base, and no more waves run than there are entries.
TEST_F(Pm4ScratchTest, TheRingIsTheOneThatTheRegistersName) {
  submit(dispatch(100, 2, 3, ring));
  ASSERT_TRUE(becomes(memory + 4000, 1));
  for (unsigned group = 0; group < 100; ++group) {
    const uint32_t* row = memory + group * 4;
    const uint64_t offset = base_of(row) - reinterpret_cast<uint64_t>(ring);
    EXPECT_EQ(offset % (3 * 256), 0u);
    EXPECT_LT(offset, 2u * 6 * 3 * 256);
    EXPECT_EQ(row[2], 32u);
    EXPECT_EQ(row[3], 32u);
  }
  // What the waves left there: lane 5's dword 1.
  EXPECT_EQ(ring[32 + 5], 105u);
}

// A card has no limit of a wave's scratch (guide 11.2): a load beyond it reads what is there, in entries of
// other waves. A wave has one entry of 256 bytes here, two dwords a lane.
TEST_F(Pm4ScratchTest, LoadsBeyondAWavesEntryReadWhatTheRingHasThere) {
  constexpr uint32_t kWords = 64 * 1024, kFirst = 0x1000'0000;
  for (uint32_t i = 0; i < kWords; ++i) ring[i] = kFirst + i;
  submit(
      dispatch("v_add_nc_u32 v1, 100, v0\n"
               "scratch_store_b32 off, v1, off offset:4\n"
               "s_waitcnt_vscnt null, 0x0\n"
               "s_mov_b64 s[4:5], src_private_base\n"
               "v_lshlrev_b32 v2, 3, v0\n"
               "v_mov_b32 v3, s5\n"
               "scratch_load_b64 v[4:5], off, off offset:4\n"  // its own dword 1, and what is behind it
               "scratch_load_b32 v6, v2, off offset:12\n"      // other dwords for other lanes
               "scratch_load_u8 v7, v2, off offset:17\n"
               "v_add_nc_u32 v2, 16, v2\n"
               "flat_load_b32 v8, v[2:3]\n"
               "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
               "s_getreg_b32 s6, hwreg(HW_REG_FLAT_SCR_LO)\n"
               "v_mov_b32 v9, s6\n"
               "v_mul_u32_u24 v10, 24, v0\n"
               "global_store_b128 v10, v[4:7], s[8:9]\n"
               "global_store_b64 v10, v[8:9], s[8:9] offset:16",
               1, 1, 1, ring));
  ASSERT_TRUE(becomes(memory + 4000, 1));
  for (unsigned lane = 0; lane < 32; ++lane) {
    SCOPED_TRACE(lane);
    const uint32_t* row = memory + lane * 6;
    const uint32_t base = (row[5] - low(ring)) / 4;
    ASSERT_LT(base, 6u * 64);
    const auto word = [&](uint32_t offset) { return kFirst + base + offset / 4 * 32 + lane; };
    EXPECT_EQ(row[0], 100 + lane);
    EXPECT_EQ(row[1], word(8));
    EXPECT_EQ(row[2], word(8 * lane + 12));
    EXPECT_EQ(row[3], word(8 * lane + 16) >> 8 & 0xff);
    EXPECT_EQ(row[4], word(8 * lane + 16));
  }
}

// What would spoil others' scratch faults, as does what is mapped nowhere; nothing of it is stored.
TEST_F(Pm4ScratchTest, StoresBeyondAWavesEntryAndLoadsOfNothingFault) {
  for (const char* access :
       {"scratch_store_b32 off, v0, off offset:8", "scratch_store_b64 off, v[0:1], off offset:4",
        "flat_store_b32 v[2:3], v0", "flat_atomic_add_u32 v[2:3], v0",
        "v_mov_b32 v2, 0x70000000\nscratch_load_b32 v1, v2, off",
        "v_mov_b32 v2, 0x70000000\nflat_load_b32 v1, v[2:3]"}) {
    SCOPED_TRACE(access);
    for (uint32_t i = 0; i < 64 * 1024; ++i) ring[i] = 0;
    const QueueError error =
        failure(dispatch("s_mov_b64 s[4:5], src_private_base\nv_mov_b32 v2, 8\nv_mov_b32 v3, s5\n"
                         "v_add_nc_u32 v0, 1, v0\n" +
                             std::string(access),
                         1, 1, 1, ring));
    EXPECT_EQ(error.kind, QueueError::Kind::kernel_fault);
    EXPECT_NE(error.message.find("the work-item has 8 bytes of scratch"), std::string::npos) << error.message;
    EXPECT_TRUE(std::all_of(ring, ring + 64 * 1024, [](uint32_t word) { return word == 0; }));
  }
}

// The ring's memory is given back while a dispatch uses it: that one keeps its pages, the next is refused.
TEST_F(Pm4ScratchTest, ARingWhoseMemoryIsGoneIsNotTakenAgain) {
  auto pages = std::make_unique<MappedPages>(m.memory, 64 * 1024, kReadWrite, "ring");
  const std::string until_the_end =
      "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\nagain:\nscratch_store_b32 off, v2, off offset:4\n"
      "global_store_b32 v1, v2, s[8:9]\ns_branch again\n";
  const Words one = start(until_the_end, 1, 2, 3, pages->data());
  submit(one);
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(queue->state(), QueueState::active);
  pages.reset();
  submit(one);
  const auto error = m.error(*queue);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, QueueError::Kind::memory_violation);
  EXPECT_EQ(error->field, "COMPUTE_DISPATCH_SCRATCH_BASE_LO");
}

TEST_F(Pm4ScratchTest, RingsThatCannotServeAreRefused) {
  const struct {
    const char* field;
    Words words;
  } cases[] = {{"COMPUTE_TMPRING_SIZE", dispatch(1, 0, 1, ring)},
               {"COMPUTE_TMPRING_SIZE", dispatch(1, 1, 0, ring)},
               {"COMPUTE_DISPATCH_SCRATCH_BASE_LO", dispatch(1, 1, 1, nullptr)},
               {"COMPUTE_DISPATCH_SCRATCH_BASE_LO", dispatch(1, 64, 1024, ring)}};
  for (const auto& test : cases) EXPECT_EQ(failure(test.words).field, test.field);
}

}  // namespace
}  // namespace lockstep::command

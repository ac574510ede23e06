// Dispatches through machine::run: faults, threads, progress of groups that wait for each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "engine/translator/translator.h"
#include "machine/launch.h"
#include "machine/reuse.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

using interpreter::assembled;

WaveFault fault_of(Dispatch& dispatch) {
  const Outcome outcome = dispatch.run();
  if (outcome.fault) return *outcome.fault;
  ADD_FAILURE() << "no fault";
  return {};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Sets MXCSR while it lives, as programs do for themselves.
class ProgramsFloatControl {
 public:
  explicit ProgramsFloatControl(uint32_t value) { __builtin_ia32_ldmxcsr(value); }
  ~ProgramsFloatControl() { __builtin_ia32_ldmxcsr(saved_); }

 private:
  const uint32_t saved_ = __builtin_ia32_stmxcsr();
};

TEST(HostFloatControl, IsNotThePrograms) {
  // A product that is denormal, a sum that rounds, and a division by zero, which would trap.
  const std::string_view text =
      "v_mul_f32 v1, 0.5, s4\nv_add_f32 v2, 1.0, s5\nv_rcp_f32 v3, 0\nv_mov_b32 v4, 0\n"
      "global_store_b96 v4, v[1:3], s[0:1]";
  const std::string setup = "s_mov_b32 s4, 0x00a00000\ns_mov_b32 s5, 0x322bcc77\n";  // 1e-38 and more, 1e-8
  constexpr uint32_t kFlushes = 0x8040, kUp = 2u << 13, kMasks = 0x1f80;
  for (const auto engine : {EngineKind::interpreter, EngineKind::translator}) {
    for (const uint32_t control : {kMasks | kFlushes, kMasks | kUp, 0u}) {
      for (const unsigned threads : {1u, 2u}) {
        Dispatch d(setup + std::string(text), 2, 32);
        d.options.engine = engine;
        d.options.threads = threads;
        uint32_t behind = 0;
        {
          const ProgramsFloatControl programs(control);
          EXPECT_FALSE(d.run().fault);
          behind = __builtin_ia32_stmxcsr();
        }
        EXPECT_EQ(d.buffer[0], 0x00500000u) << std::hex << control;
        EXPECT_EQ(d.buffer[1], 0x3f800000u) << std::hex << control;
        EXPECT_EQ(d.buffer[2], 0x7f800000u) << std::hex << control;
        EXPECT_EQ(behind, control);
      }
    }
  }
}

TEST(Faults, LoadBehindABuffer) {
  // Lane 7 of wave 1 of group 2 reads 12 bytes behind the end.
  Dispatch d(
      "v_mov_b32 v1, 0\ns_cmp_eq_u32 s2, 2\ns_cselect_b32 s3, 39, -1\nv_cmp_eq_u32 vcc_lo, s3, v0\n"
      "v_mov_b32 v2, 0x400c\nv_cndmask_b32 v1, v1, v2, vcc_lo\nglobal_load_b32 v3, v1, s[0:1]",
      5, 64);
  const WaveFault fault = fault_of(d);
  EXPECT_EQ(fault.fault.kind, FaultKind::memory_violation);
  EXPECT_EQ(fault.group[0], 2u);
  EXPECT_EQ(fault.wave, 1u);
  EXPECT_EQ(fault.fault.lane, 7);
  EXPECT_EQ(fault.fault.address, d.address() + 0x400c);
  EXPECT_EQ(fault.fault.bytes, 4u);
  EXPECT_EQ(fault.instruction, "global_load_b32 v3, v1, s[0:1]");
  EXPECT_TRUE(contains(fault.fault.message, "0xc bytes behind the end of buffer 'out'"))
      << fault.fault.message;
  EXPECT_TRUE(contains(fault.fault.message, "read of 4 bytes")) << fault.fault.message;
}

TEST(Faults, EveryKindOfAccess) {
  const struct {
    const char* text;
    FaultKind kind;
    int lane;
    const char* message;
  } cases[] = {
      {"v_mov_b32 v1, 0x3ffe\nglobal_store_b32 v1, v0, s[0:1]", FaultKind::memory_violation, 0,
       "past the end of buffer 'out'"},
      {"v_mov_b32 v1, 0x4000\nglobal_atomic_add_u32 v1, v0, s[0:1]", FaultKind::memory_violation, 0,
       "right behind the end of buffer 'out'"},
      {"s_sub_u32 s0, s0, 8\ns_subb_u32 s1, s1, 0\nv_mov_b32 v1, 0\nglobal_load_b32 v2, v1, s[0:1]",
       FaultKind::memory_violation, 0, "0x8 bytes in front of buffer 'out'"},
      {"s_mov_b32 s0, 0\ns_mov_b32 s1, 0x7000\nv_mov_b32 v1, 0\nglobal_load_b32 v2, v1, s[0:1]",
       FaultKind::memory_violation, 0, "far from all memory that is mapped: the closest below is "},
      {"v_mov_b32 v1, 6\nglobal_atomic_add_u32 v1, v0, s[0:1]", FaultKind::misaligned, 0,
       "not a multiple of 4"},
      {"v_mov_b32 v1, 4\nglobal_atomic_add_u64 v1, v[2:3], s[0:1]", FaultKind::misaligned, 0,
       "not a multiple of 8"},
      {"v_mov_b32 v1, 2\nds_add_u32 v1, v0", FaultKind::misaligned, 0, "not a multiple of 4"},
      {"s_load_b32 s4, s[0:1], 0x4000", FaultKind::memory_violation, -1, "read of 4 bytes"},
      {"s_load_b64 s[4:5], s[0:1], 0x3ffc", FaultKind::memory_violation, -1, "past the end of buffer 'out'"},
      {"s_mov_b64 s[4:5], 0\ns_load_b32 s4, s[4:5], 0x0", FaultKind::memory_violation, -1, "read of 4 bytes"},
      {"s_mov_b64 exec, 4\nv_mov_b32 v1, 0\nv_mov_b32 v2, 0\nflat_load_b32 v3, v[1:2]",
       FaultKind::memory_violation, 2, "read of 4 bytes"},
      {"v_mov_b32 v1, 0\nscratch_load_b32 v3, v1, off", FaultKind::memory_violation, 0, "scratch"},
      {"s_trap 2", FaultKind::trap, -1, "s_trap 2"},
      {"image_load v0, v1, s[4:11] dmask:0x1 dim:SQ_RSRC_IMG_1D", FaultKind::unsupported, -1, "image"},
      {"exp mrt0 v0, v0, v0, v0", FaultKind::unsupported, -1, "graphics"},
      {"v_mov_b32 v1, 2\nds_add_u32 v1, v0 gds", FaultKind::misaligned, 0, "not a multiple of 4"},
      {"ds_load_addtid_b32 v1 gds", FaultKind::illegal_instruction, -1, "LDS only"},
      {"s_branch 4000", FaultKind::bad_pc, -1, "outside the code"},
      {"s_mov_b64 s[4:5], 16\ns_setpc_b64 s[4:5]", FaultKind::bad_pc, -1, "outside the code"},
      {"s_code_end", FaultKind::illegal_instruction, -1, "past the end"},
      {".long 0xffffffff", FaultKind::illegal_instruction, -1, "unknown opcode"},
      {".long 0", FaultKind::illegal_instruction, -1, ""},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.text);
    Dispatch d(test.text, 1, 32);
    const WaveFault fault = fault_of(d);
    EXPECT_EQ(fault.fault.kind, test.kind) << fault.fault.message;
    EXPECT_EQ(fault.fault.lane, test.lane);
    EXPECT_TRUE(contains(fault.fault.message, test.message)) << fault.fault.message;
    EXPECT_FALSE(fault.instruction.empty());
    EXPECT_EQ(fault.fault.pc % 4, 0u);
  }
}

// Bytes that are no instruction, too: which operand, what is wrong with it, and what stands there.
TEST(Faults, NameTheOperandAndShowTheInstruction) {
  const struct {
    const char *text, *instruction, *message;
  } cases[] = {
      {".long 0x7e0402d2", ".long 0x7e0402d2 (v_mov_b32)", "SRC0 of v_mov_b32 is 210, which is reserved"},
      {".long 0x7e080404", ".long 0x7e080404 (v_readfirstlane_b32)", "is 4 (s4), which must be a VGPR"},
      {".long 0xbfb40001", ".long 0xbfb40001 (s_wakeup)", "SIMM16 of s_wakeup is 1, which must be zero"},
      {".long 0x7e0202fa, 0xff01ff02", "v_mov_b32_dpp", "DPP_CTRL of v_mov_b32 is 511, which is reserved"},
      {".long 0xffffffff", ".long 0xffffffff", "unknown opcode"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.text);
    Dispatch d(test.text, 1, 32);
    const WaveFault fault = fault_of(d);
    EXPECT_EQ(fault.fault.kind, FaultKind::illegal_instruction);
    EXPECT_TRUE(contains(fault.instruction, test.instruction)) << fault.instruction;
    EXPECT_TRUE(contains(fault.fault.message, test.message)) << fault.fault.message;
  }
}

TEST(Faults, RunningOffTheEnd) {
  for (std::vector<uint32_t> code : {std::vector<uint32_t>{0xbf800000},  // s_nop
                                     std::vector<uint32_t>{0xbf830001},  // s_sleep
                                     std::vector<uint32_t>{0xbfbd0000},  // s_barrier
                                     std::vector<uint32_t>(257, 0xbf800000)}) {
    const size_t length = code.size();
    Dispatch d(std::move(code), 1, 64);
    const WaveFault fault = fault_of(d);
    EXPECT_EQ(fault.fault.kind, FaultKind::bad_pc);
    EXPECT_EQ(fault.fault.pc, d.pc(length));
    EXPECT_TRUE(contains(fault.fault.message, "s_endpgm"));
  }
}

TEST(Faults, TruncatedInstruction) {
  Dispatch d(std::vector<uint32_t>{0x7e0002ff}, 1, 32);  // v_mov_b32 v0, literal that is not there
  const WaveFault fault = fault_of(d);
  EXPECT_EQ(fault.fault.kind, FaultKind::illegal_instruction);
  EXPECT_EQ(fault.fault.pc, d.pc(0));
}

TEST(Faults, EntryOutsideTheCode) {
  Dispatch d("s_nop 0", 3, 32);
  d.launch.entry -= 8;
  EXPECT_EQ(fault_of(d).fault.kind, FaultKind::bad_pc);
}

// Groups 20 and 41 fault; 20 takes longer to get there.
TEST(Faults, FirstGroupInDispatchOrderWins) {
  for (unsigned threads : {1u, 2u, 4u}) {
    Dispatch d(
        "s_cmp_eq_u32 s2, 41\ns_cbranch_scc1 fault\ns_cmp_eq_u32 s2, 20\ns_cbranch_scc0 done\n"
        "s_movk_i32 s4, 0x7000\nloop:\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 loop\n"
        "fault:\ns_trap 2\ndone:\nv_lshl_add_u32 v1, s2, 5, v0\nv_lshlrev_b32 v2, 2, v1\n"
        "global_store_b32 v2, v1, s[0:1]",
        100, 32);
    d.options.threads = threads;
    const WaveFault fault = fault_of(d);
    EXPECT_EQ(fault.group[0], 20u) << threads;
    // All groups before it ran to their end, it wrote nothing.
    for (uint32_t i = 0; i < 20 * 32; ++i) EXPECT_EQ(d.buffer[i], i);
    for (uint32_t i = 20 * 32; i < 21 * 32; ++i) EXPECT_EQ(d.buffer[i], 0u);
  }
}

// A wave that runs for long is looked at whether it spins: it may fault while that is done.
TEST(Faults, WhileAWaveIsWatchedForSpinning) {
  for (unsigned rounds = 16660; rounds < 16675; ++rounds) {
    Dispatch d("s_mov_b32 s5, " + std::to_string(rounds) +
                   "\nloop: s_sub_u32 s5, s5, 1\ns_cmp_lg_u32 s5, 0\ns_cbranch_scc1 loop\n.long 0",
               1, 32);
    const Outcome outcome = d.run();
    ASSERT_TRUE(outcome.fault) << rounds;
    EXPECT_EQ(outcome.fault->fault.kind, FaultKind::illegal_instruction);
  }
}

// Group 0 waits for what the last one would have done. Of several threads, one may hold group 1 and not get a
// processor until group 2 has faulted and group 0 has come back in vain many times.
TEST(Faults, OfAGroupThatOthersSpinOn) {
  for (const char* in_loop : {"", "s_sleep 1\n"})
    for (unsigned threads : {1u, 2u, 5u}) {
      Dispatch d("v_mov_b32 v1, 0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 spin\ns_sleep 100\n.long 0\nspin: " +
                     std::string(in_loop) +
                     "global_load_b32 v2, v1, s[0:1] glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s5, v2\n"
                     "s_cmp_eq_u32 s5, 0\ns_cbranch_scc1 spin",
                 4, 32);
      d.options.threads = threads;
      const Outcome outcome = d.run();
      ASSERT_TRUE(outcome.fault);
      EXPECT_EQ(outcome.fault->group[0], 1u);
    }
}

TEST(Dispatches, SameMemoryWithAnyNumberOfThreads) {
  for (unsigned wave_size : {32u, 64u}) {
    std::vector<uint32_t> first;
    for (unsigned threads : {1u, 2u, 4u}) {
      Dispatch d(
          "v_mul_u32_u24 v1, 0x64, v0\nv_mad_u32_u24 v1, s2, 0x100, v0\nv_lshlrev_b32 v2, 2, v1\n"
          "v_mul_lo_u32 v3, v1, 0x9e3779b9\nglobal_store_b32 v2, v3, s[0:1]",
          16, 256, wave_size);
      d.options.threads = threads;
      const Outcome outcome = d.run();
      EXPECT_FALSE(outcome.fault);
      EXPECT_EQ(outcome.totals.groups_done, 16u);
      EXPECT_EQ(outcome.totals.waves, 16u * 256 / wave_size);
      if (first.empty()) first = d.buffer;
      EXPECT_EQ(d.buffer, first);
    }
    for (uint32_t i = 0; i < 4096; ++i) ASSERT_EQ(first[i], i * 0x9e3779b9u);
  }
}

TEST(Dispatches, PartialGroups) {
  for (unsigned wave_size : {32u, 64u}) {
    Dispatch d(
        "v_lshl_add_u32 v1, s2, 7, v0\nv_lshlrev_b32 v2, 2, v1\nv_add_nc_u32 v3, 1, v1\n"
        "global_store_b32 v2, v3, s[0:1]",
        1, 128, wave_size, 1024);
    d.launch.grid[0] = 301;  // two whole groups and one of 45
    EXPECT_FALSE(d.run().fault);
    for (uint32_t i = 0; i < 1024; ++i) EXPECT_EQ(d.buffer[i], i < 301 ? i + 1 : 0) << i;
  }
}

// A wave that spins on a flag in LDS or memory that another wave of its group sets later.
TEST(Progress, WavesOfAGroup) {
  Dispatch d(
      "v_readfirstlane_b32 s4, v0\nv_mov_b32 v1, 0\nv_mov_b32 v2, 1\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc0 set\n"
      "wait:\nglobal_load_b32 v3, v1, s[0:1]\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s5, v3\n"
      "s_cmp_eq_u32 s5, 0\ns_cbranch_scc1 wait\nglobal_store_b32 v1, v2, s[0:1] offset:4\ns_endpgm\n"
      "set:\nglobal_store_b32 v1, v2, s[0:1]",
      1, 64);
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(d.buffer[0], 1u);
  EXPECT_EQ(d.buffer[1], 1u);
}

// Every group waits until all have arrived: none may starve while they fit the hardware.
TEST(Progress, GroupsThatWaitForEachOther) {
  for (unsigned threads : {1u, 3u}) {
    Dispatch d(
        "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\ns_mov_b32 exec_lo, 1\nglobal_atomic_add_u32 v1, v2, s[0:1]\n"
        "wait:\nglobal_load_b32 v3, v1, s[0:1] glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s5, v3\n"
        "s_cmp_lg_u32 s5, 12\ns_cbranch_scc1 wait\nglobal_atomic_add_u32 v1, v2, s[0:1] offset:4",
        12, 32);
    d.options.threads = threads;
    d.options.resident_groups = 12;
    EXPECT_FALSE(d.run().fault);
    EXPECT_EQ(d.buffer[1], 12u);
  }
}

// With room for few groups, those that wait for an earlier one still get their turn.
TEST(Progress, FewResidentGroups) {
  Dispatch d(
      "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\ns_mov_b32 exec_lo, 1\n"
      "wait:\nglobal_load_b32 v3, v1, s[0:1] glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s5, v3\n"
      "s_cmp_lg_u32 s5, s2\ns_cbranch_scc1 wait\nglobal_atomic_add_u32 v1, v2, s[0:1]",
      40, 32);
  d.options.threads = 3;
  d.options.resident_groups = 2;
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(d.buffer[0], 40u);
}

// Waves that have ended count as arrived (guide 5.5).
TEST(Progress, BarrierWithEndedWaves) {
  for (unsigned wave_size : {32u, 64u}) {
    Dispatch d(
        "v_readfirstlane_b32 s4, v0\ns_bitcmp1_b32 s4, 6\ns_cbranch_scc1 done\nv_lshlrev_b32 v1, 2, v0\n"
        "v_add_nc_u32 v2, 5, v0\nds_store_b32 v1, v2\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
        "v_xor_b32 v3, 0x80, v0\nv_lshlrev_b32 v3, 2, v3\nds_load_b32 v4, v3\ns_waitcnt lgkmcnt(0)\n"
        "global_store_b32 v1, v4, s[0:1]\ndone:",
        1, 256, wave_size);
    EXPECT_FALSE(d.run().fault);
    for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(d.buffer[i], i & 64 ? 0 : (i ^ 128) + 5) << i;
  }
}

TEST(Options, CancellationEndsAnEndlessKernel) {
  Dispatch d("loop:\ns_branch loop", 4, 64);
  std::atomic<bool> cancel{false};
  d.options.cancel = &cancel;
  unsigned calls = 0;
  d.options.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.groups_total, 4u);
    EXPECT_EQ(progress.groups_done, 0u);
    if (++calls == 2) cancel = true;
  };
  const Outcome outcome = d.run();
  EXPECT_TRUE(outcome.cancelled);
  EXPECT_FALSE(outcome.fault);
  EXPECT_EQ(outcome.totals.groups_done, 0u);
  EXPECT_GT(outcome.totals.instructions, 0u);
}

// Before a wave runs: progress is told, and whoever has had enough is heard.
TEST(Options, CancellationEndsATranslation) {
  Dispatch d("v_add_nc_u32 v1, 4321, v0", 4, 64);
  d.options.engine = EngineKind::translator;
  std::atomic<bool> cancel{false};
  d.options.cancel = &cancel;
  d.options.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.groups_total, 4u);
    EXPECT_EQ(progress.instructions, 0u);
    cancel = true;
  };
  Outcome outcome = d.run();
  EXPECT_TRUE(outcome.cancelled);
  EXPECT_EQ(outcome.totals.groups_total, 4u);
  EXPECT_EQ(outcome.translation.instructions, 0u);
  d.options.progress = {};
  cancel = false;
  outcome = d.run();
  EXPECT_FALSE(outcome.cancelled);
  EXPECT_EQ(outcome.translation.instructions, 2u);
  EXPECT_FALSE(outcome.translation.reused);
}

// Code for groups of one wave goes through barriers, which waves of others have to wait at.
TEST(Options, BarriersOfOneWaveAreNotThoseOfTwo) {
  Dispatch d(R"(
  v_lshlrev_b32 v1, 2, v0
  v_add_nc_u32 v2, 1, v0
  ds_store_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32 v3, 0x80, v1
  ds_load_b32 v4, v3
  s_waitcnt lgkmcnt(0)
  global_store_b32 v1, v4, s[0:1])",
             1, 64);
  Reuse reuse;
  d.options.reuse = &reuse;
  for (const EngineKind engine : {EngineKind::translator, EngineKind::automatic})
    for (const uint32_t items : {32u, 64u, 32u, 64u}) {
      d.options.engine = engine;
      d.launch.group[0] = d.launch.grid[0] = items;
      std::ranges::fill(d.buffer, 99);
      EXPECT_FALSE(d.run().fault);
      for (uint32_t i = 0; i < items; ++i) EXPECT_EQ(d.buffer[i], items == 32 ? 0 : (i ^ 32) + 1) << items;
    }
}

// A null wave (guide 3.5.1) that gives itself a lane is waited for as others are.
TEST(Options, BarriersOfOneWaveAndANullWave) {
  Dispatch d(R"(
  s_cbranch_execnz items
  s_mov_b32 exec_lo, 1
  v_mov_b32 v1, 0x80
  v_mov_b32 v2, 7
  ds_store_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_endpgm
items:
  s_barrier
  v_mov_b32 v3, 0x80
  ds_load_b32 v4, v3
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32 v1, 2, v0
  global_store_b32 v1, v4, s[0:1])",
             1, 32);
  d.launch.null_waves = 1;
  for (const EngineKind engine : {EngineKind::interpreter, EngineKind::translator}) {
    d.options.engine = engine;
    std::ranges::fill(d.buffer, 99);
    EXPECT_FALSE(d.run().fault);
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d.buffer[i], 7u);
  }
}

// Whoever adds up what translations took must not count one twice.
TEST(Options, ATranslationIsPaidForOnce) {
  Dispatch d("v_add_nc_u32 v1, 8765, v0", 4, 64);
  d.options.engine = EngineKind::translator;
  Reuse reuse;
  d.options.reuse = &reuse;
  EXPECT_FALSE(d.run().translation.reused);
  EXPECT_TRUE(d.run().translation.reused);
  EXPECT_TRUE(d.run().translation.reused);
}

// Long enough for the translator to come in, or not: the results are the same, and told once.
TEST(Options, TheAutomaticEngineComputesWhatTheOthersDo) {
  const std::string text =
      "s_mov_b32 s10, 20000\nv_mov_b32 v1, v0\nloop:\nv_mad_u32_u24 v1, v1, 5, v0\nv_xor_b32 v1, s10, v1\n"
      "s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\ns_cbranch_scc1 loop\n"
      "v_lshlrev_b32 v2, 2, v0\nglobal_store_b32 v2, v1, s[0:1]\ns_endpgm";
  std::vector<std::vector<uint32_t>> buffers;
  std::vector<uint64_t> instructions;
  Reuse reuse;
  for (const EngineKind kind : {EngineKind::interpreter, EngineKind::translator, EngineKind::automatic,
                                EngineKind::automatic, EngineKind::automatic}) {
    Dispatch d(text, 32, 64);
    d.options.engine = kind;
    d.options.reuse = &reuse;
    instructions.push_back(d.run().totals.instructions);
    buffers.push_back(d.buffer);
  }
  for (size_t i = 1; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers[i], buffers[0]);
    EXPECT_EQ(instructions[i], instructions[0]);
  }
}

// Code for groups of half a wave knows no other lanes: larger groups have code of their own.
TEST(Options, GroupsOfEachSizeHaveCodeForTheirLanes) {
  const std::string text =
      "v_cmp_gt_u32 vcc_lo, 40, v0\ns_and_saveexec_b32 s10, vcc_lo\nv_mul_u32_u24 v1, 3, v0\n"
      "v_lshlrev_b32 v2, 2, v0\nglobal_store_b32 v2, v1, s[0:1]\ns_endpgm";
  Reuse reuse;
  for (const uint32_t items : {16u, 64u, 9u, 64u}) {
    Dispatch d(text, 1, items);
    d.options.engine = EngineKind::interpreter;
    d.run();
    const std::vector<uint32_t> expected = d.buffer;
    std::ranges::fill(d.buffer, 0u);
    d.options.engine = EngineKind::translator;
    d.options.reuse = &reuse;
    EXPECT_EQ(d.run().translation.interpreted, 0u);
    EXPECT_EQ(d.buffer, expected) << items;
  }
}

// The storage is that of the kernel before, which has left something in every register.
TEST(Options, TheNextKernelFindsRegistersZero) {
  std::string fills;
  for (unsigned number = 0; number < 24; ++number)
    fills +=
        "v_mov_b32 v" + std::to_string(number) + ", -1\ns_mov_b32 s" + std::to_string(number + 16) + ", -1\n";
  // Read before anything is written: at once, on one way of two, in some lanes after others were written;
  // then also a register that only M0 names.
  const std::string reads =
      "v_mov_b32 v1, v20\nv_cmp_gt_u32 vcc_lo, 7, v0\ns_and_saveexec_b32 s10, vcc_lo\nv_mov_b32 v21, v22\n"
      "s_mov_b32 exec_lo, s10\nv_or_b32 v1, v1, v21\ns_cmp_eq_u32 s2, 1\ns_cbranch_scc1 store\n"
      "v_or_b32 v1, v1, v19\nv_or_b32 v1, v1, s30\nstore: v_lshlrev_b32 v2, 2, v0\n";
  const std::string end = "v_add_nc_u32 v1, v1, 5\nglobal_store_b32 v2, v1, s[0:1]\ns_endpgm";
  const std::string any = "s_mov_b32 m0, 7\nv_movrels_b32 v3, v11\nv_or_b32 v1, v1, v3\n";
  for (const EngineKind kind : {EngineKind::interpreter, EngineKind::translator, EngineKind::automatic}) {
    Reuse reuse;
    for (unsigned round = 0; round < 3; ++round)
      for (const std::string& text :
           {fills + "s_endpgm", reads + end, fills + "s_endpgm", reads + any + end}) {
        const bool is_reading = text.starts_with(reads);
        Dispatch d(text, 2, 64);
        // Translated code would leave nothing behind that nobody reads.
        d.options.engine = is_reading ? kind : EngineKind::interpreter;
        d.options.reuse = &reuse;
        d.options.threads = 1;
        d.launch.vgpr_count = 24;
        ASSERT_FALSE(d.run().fault);
        if (is_reading) {
          for (unsigned item = 0; item < 64; ++item) ASSERT_EQ(d.buffer[item], 5u) << item;
        }
      }
  }
}

// A driver has another memory after each allocation: a kernel becomes hot nevertheless.
TEST(Options, WhatAKernelExecutedCountsInOtherMemory) {
  Dispatch d(
      "s_mov_b32 s10, 1000\nloop:\ns_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\ns_cbranch_scc1 loop\ns_endpgm",
      1, 32);
  d.options.engine = EngineKind::automatic;
  Reuse reuse;
  d.options.reuse = &reuse;
  const Outcome outcome = d.run();
  d.launch.memory = std::make_shared<const RangeSet>(d.launch.memory->ranges());
  PreparedEngine prepared = reuse.engine(d.launch, EngineKind::automatic, Math::exact);
  prepared.begin_report();
  EXPECT_EQ(prepared.translator->interpreted(), outcome.totals.instructions);
  // What the dispatch itself does counts from here.
  Outcome nothing;
  prepared.report(nothing);
  EXPECT_EQ(nothing.translation.interpreted, 0u);
}

// Fast math is the interpreter's: no part of the work may have other results.
TEST(Options, FastMathStaysInTheInterpreter) {
  Dispatch d("v_rcp_f32 v1, v0", 1, 32);
  d.options.engine = EngineKind::automatic;
  d.options.math = Math::fast;
  Reuse reuse;
  EXPECT_EQ(reuse.engine(d.launch, EngineKind::automatic, Math::fast).translator, nullptr);
  EXPECT_NE(reuse.engine(d.launch, EngineKind::automatic, Math::exact).translator, nullptr);
  EXPECT_EQ(d.run().note, "");
}

TEST(Options, WhatNoHardwareWouldTake) {
  const auto refused = [](const std::function<void(Dispatch&)>& change) {
    Dispatch d("s_nop 0", 1, 32);
    change(d);
    EXPECT_THROW(d.run(), std::invalid_argument);
  };
  refused([](Dispatch& d) { d.launch.grid[1] = 0; });
  refused([](Dispatch& d) { d.launch.group[2] = 0; });
  refused([](Dispatch& d) { d.launch.group = {1025, 1, 1}; });
  refused([](Dispatch& d) {  // not for its 17 waves
    d.launch.wave_size = 64;
    d.launch.group = {1088, 1, 1};
  });
  refused([](Dispatch& d) { d.launch.group = {0x10000, 0x10000, 0x10000}; });
  refused([](Dispatch& d) { d.launch.group = {0x80000000, 0x80000000, 4}; });
  refused([](Dispatch& d) {
    d.launch.group = {1, 1, 1};
    d.launch.grid = {~0u, ~0u, ~0u};
  });
  refused([](Dispatch& d) { d.launch.lds_bytes = 65537; });
  refused([](Dispatch& d) { d.launch.wave_size = 16; });
  refused([](Dispatch& d) { d.launch.user_data.resize(33); });
  refused([](Dispatch& d) { d.launch.rsrc3 = 1; });  // shared VGPRs
}

// A wave whose turn is over leaves translated code with the registers that it has overwritten, goes on in the
// next turn and ends, as the last one of its group: the group behind it, in the same storage, has its own
// again.
TEST(Dispatches, GroupsBehindAWaveOfTwoTurnsHaveTheirRegisters) {
  constexpr uint32_t kGroups = 32;
  for (const uint32_t items : {32u, 128u}) {
    // The last wave of group 5 executes 75,000 instructions, or 30,000 beside others, whose turns are
    // shorter.
    Dispatch d("s_mov_b64 s[6:7], s[0:1]\nv_readfirstlane_b32 s4, v0\ns_cmp_eq_u32 s4, " +
                   std::to_string(items - 32) + "\ns_cselect_b32 s0, " + (items == 32 ? "25000" : "10000") +
                   ", 1\ns_cmp_eq_u32 s2, 5\ns_cselect_b32 s0, s0, 1\n"
                   "again:\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 again\n"
                   "v_lshlrev_b32 v1, 2, v0\ns_mul_i32 s8, s2, " +
                   std::to_string(4 * items) +
                   "\nv_add_nc_u32 v1, s8, v1\nv_mov_b32 v2, 1\nglobal_atomic_add_u32 v1, v2, s[6:7]",
               kGroups, items);
    d.launch.lds_bytes = 0;  // groups run in rows
    d.options.threads = 1;
    for (const auto engine : {EngineKind::interpreter, EngineKind::translator}) {
      std::ranges::fill(d.buffer, 0u);
      d.options.engine = engine;
      const Outcome outcome = d.run();
      ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
      EXPECT_EQ(std::ranges::count(d.buffer, 1u), kGroups * items);
    }
  }
}

}  // namespace
}  // namespace lockstep::machine

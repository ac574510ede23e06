// The dependency counters as state (guide 5.6), and results that land as late as they allow.
#include <gtest/gtest.h>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

using precise::Results;
using precise::Rules;

// One group of one wave32 unless said otherwise; the buffer holds its own dword numbers + 1000.
struct Late : Dispatch {
  explicit Late(std::string_view text, uint32_t groups = 1, uint32_t items = 32, unsigned wave_size = 32)
      : Late(interpreter::assembled(text, wave_size), groups, items, wave_size) {}
  explicit Late(std::vector<uint32_t> words, uint32_t groups = 1, uint32_t items = 32,
                unsigned wave_size = 32)
      : Dispatch(std::move(words), groups, items, wave_size) {
    for (uint32_t i = 0; i < buffer.size(); ++i) buffer[i] = 1000 + i;
    options.precise.results = Results::late;
    options.threads = 1;
  }
  uint32_t operator[](size_t dword) const { return buffer[dword]; }
  void run() {
    const Outcome outcome = Dispatch::run();
    ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
  }
};

// v0 holds the byte offset of the lane's dword; what is in v2 goes to dword 64 + lane, v3 to 128 + lane.
constexpr char kBegin[] = "v_lshlrev_b32 v0, 2, v0\n";
constexpr char kEnd[] =
    "\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_b32 v0, v2, s[0:1] offset:256\n"
    "global_store_b32 v0, v3, s[0:1] offset:512";
std::string listing(const std::string& text) {
  return kBegin + text + kEnd;
}

TEST(LateResults, ForgottenWaitGivesTheOldValue) {
  Late d(
      listing("v_mov_b32 v1, 7\nglobal_load_b32 v1, v0, s[0:1]\nv_mov_b32 v2, v1\ns_waitcnt "
              "vmcnt(0)\nv_mov_b32 v3, v1"));
  d.run();
  EXPECT_EQ(d[64 + 5], 7u);
  EXPECT_EQ(d[128 + 5], 1005u);
}

// 5.6: what is no wait and ends nothing makes nothing land.
TEST(LateResults, OnlyWaitsWait) {
  for (const char* text : {"s_setkill 0", "s_wait_event 0", "s_nop 15", "s_sleep 127", "s_icache_inv",
                           "s_waitcnt lgkmcnt(0) expcnt(0)", "s_waitcnt vmcnt(1)", "s_barrier"}) {
    Late d(listing("v_mov_b32 v1, 7\nglobal_load_b32 v1, v0, s[0:1]\n" + std::string(text) +
                   "\nv_mov_b32 v2, v1"));
    d.run();
    EXPECT_EQ(d[64 + 5], 7u) << text;
  }
}

TEST(LateResults, NowHasThemAtOnce) {
  Late d(
      listing("v_mov_b32 v1, 7\nglobal_load_b32 v1, v0, s[0:1]\nv_mov_b32 v2, v1\ns_waitcnt "
              "vmcnt(0)\nv_mov_b32 v3, v1"));
  d.options.precise.results = Results::now;
  d.run();
  EXPECT_EQ(d[64 + 5], 1005u);
}

TEST(LateResults, LoadsReturnInOrder) {
  Late d(
      listing("v_mov_b32 v2, 7\nv_mov_b32 v3, 8\nglobal_load_b32 v4, v0, s[0:1]\nglobal_load_b32 v5, v0, "
              "s[0:1] offset:4\n"
              "s_waitcnt vmcnt(1)\nv_mov_b32 v2, v4\nv_mov_b32 v3, v5"));
  d.run();
  EXPECT_EQ(d[64 + 5], 1005u);
  EXPECT_EQ(d[128 + 5], 0u);
}

TEST(LateResults, ExplicitWaitAddsRegisterAndImmediate) {
  // 60 + 5 wraps to 1 at six bits (guide 16.2). LLVM writes the instruction with NULL only.
  std::vector<uint32_t> words = interpreter::assembled(
      listing("s_movk_i32 s8, 60\nglobal_load_b32 v4, v0, s[0:1]\nglobal_load_b32 v5, v0, s[0:1] offset:4\n"
              "s_waitcnt_vmcnt null, 0x5\nv_mov_b32 v2, v4\nv_mov_b32 v3, v5"),
      32);
  for (uint32_t& word : words)
    if (word == 0xbcfc0005) word = 0xbc880005;
  Late d(words);
  d.run();
  EXPECT_EQ(d[64 + 5], 1005u);
  EXPECT_EQ(d[128 + 5], 0u);
}

TEST(LateResults, RegistersAreThoseOfTheIssue) {
  // Address, data, SGPR base, EXEC and M0 change before anything lands.
  Late d(
      "v_lshlrev_b32 v0, 2, v0\nv_mov_b32 v1, v0\nv_mov_b32 v2, 55\ns_mov_b64 s[4:5], s[0:1]\n"
      "global_load_b32 v3, v1, s[4:5]\nglobal_store_b32 v1, v2, s[4:5] offset:256\n"
      "s_mov_b32 exec_lo, 0xf\ns_mov_b64 s[4:5], 0\nv_mov_b32 v1, 0\nv_mov_b32 v2, 66\nv_mov_b32 v3, 77\n"
      "s_mov_b32 exec_lo, -1\ns_waitcnt vmcnt(0)\nglobal_store_b32 v0, v3, s[0:1] offset:512");
  d.run();
  for (unsigned lane : {0u, 3u, 4u, 31u}) {
    EXPECT_EQ(d[64 + lane], 55u);
    EXPECT_EQ(d[128 + lane], 1000 + lane);  // the load lands on what the move wrote
  }
}

TEST(LateResults, OnlyTheLanesOfTheIssue) {
  Late d(
      listing("v_mov_b32 v2, 7\ns_mov_b32 exec_lo, 0xff\nglobal_load_b32 v2, v0, s[0:1]\ns_mov_b32 exec_lo, "
              "-1\nv_mov_b32 v2, 8"));
  d.run();
  EXPECT_EQ(d[64 + 7], 1007u);
  EXPECT_EQ(d[64 + 8], 8u);
}

TEST(LateResults, HalvesOfARegister) {
  Late d(
      listing("v_mov_b32 v2, 0x11112222\nv_mov_b32 v3, 0x11112222\nglobal_load_d16_b16 v2, v0, s[0:1]\n"
              "global_load_d16_hi_b16 v3, v0, s[0:1]\nv_mov_b32 v2, 0x33334444\nv_mov_b32 v3, 0x33334444"));
  d.run();
  EXPECT_EQ(d[64 + 5], 0x33330000u + 1005);
  EXPECT_EQ(d[128 + 5], (1005u << 16) + 0x4444);
}

TEST(LateResults, ScalarLoadsLandOutOfOrder) {
  // Two counts for two dwords, one for one: IB_STS shows them at bits 9:4 (guide 8.2). Three of them: two go
  // with a part of the pair and the newer load, which overtakes the older one.
  Late d(listing(
      "s_mov_b32 s8, 7\ns_mov_b32 s10, 8\ns_load_b32 s8, s[0:1], 0x4\ns_load_b64 s[10:11], s[0:1], 0x8\n"
      "s_getreg_b32 s12, hwreg(HW_REG_IB_STS, 4, 6)\nv_mov_b32 v2, s12\n"
      "s_waitcnt lgkmcnt(1)\nv_mov_b32 v4, s8\nv_mov_b32 v5, s10\ns_waitcnt lgkmcnt(0)\n"
      "s_sub_u32 s8, s8, 1000\nv_mov_b32 v3, s8\nv_lshl_or_b32 v3, v4, 8, v3\nv_lshl_or_b32 v3, v5, 16, v3"));
  d.run();
  EXPECT_EQ(d[64], 3u);
  EXPECT_EQ(d[128], (1002u << 16 | 7u << 8 | 1u));  // the newer one landed first
}

TEST(LateResults, EveryCounterInIbSts) {
  Late d(
      "v_lshlrev_b32 v0, 2, v0\ns_mov_b32 m0, 0x20000\nglobal_load_b32 v1, v0, s[0:1]\nglobal_store_b32 v0, "
      "v0, s[0:1] offset:512\n"
      "global_store_b32 v0, v0, s[0:1] offset:512\nds_load_b32 v4, v0\nds_load_b32 v5, v0\nds_load_b32 v6, "
      "v0\n"
      "lds_direct_load v7\ns_getreg_b32 s8, hwreg(HW_REG_IB_STS)\ns_wait_idle\ns_waitcnt_vscnt null, 0x0\n"
      "s_getreg_b32 s9, hwreg(HW_REG_IB_STS)\nv_mov_b32 v1, s8\nv_mov_b32 v2, s9\nglobal_store_b64 v0, "
      "v[1:2], s[0:1] offset:1024",
      1, 1);
  d.run();
  EXPECT_EQ(d[256], 2u << 26 | 1u << 10 | 3u << 4 | 1u);
  EXPECT_EQ(d[257], 0u);
}

TEST(LateResults, SameAddressKeepsItsOrder) {
  // The load must see the store before it, though nothing waits for the store; and the last store wins.
  Late d(listing(
      "v_mov_b32 v4, 1\nv_mov_b32 v5, 2\nglobal_store_b32 v0, v4, s[0:1]\nglobal_store_b32 v0, v5, s[0:1]\n"
      "global_load_b32 v2, v0, s[0:1]\nglobal_store_b32 v0, v4, s[0:1]\ns_waitcnt vmcnt(0)\nv_mov_b32 v3, "
      "v2"));
  d.run();
  EXPECT_EQ(d[64 + 5], 2u);
  EXPECT_EQ(d[128 + 5], 2u);
  EXPECT_EQ(d[5], 1u);
}

TEST(LateResults, LdsIsWrittenLate) {
  // Wave 1 passes the barrier with its LDS store under way (guide 5.5: barriers wait for no counter); wave 0
  // goes on first and sees the old value.
  const auto program = [](const char* wait) {
    return std::string(
               "v_cmp_gt_u32 vcc_lo, 32, v0\ns_mov_b32 s4, vcc_lo\nv_and_b32 v4, 31, v0\nv_lshlrev_b32 v4, "
               "2, v4\nv_mov_b32 v1, 9\n"
               "s_cmp_lg_u32 s4, 0\ns_cbranch_scc1 other\nds_store_b32 v4, v1\n") +
           wait +
           "\ns_barrier\ns_endpgm\nother: s_barrier\nds_load_b32 v2, v4\ns_waitcnt lgkmcnt(0)\n"
           "global_store_b32 v4, v2, s[0:1] offset:256";
  };
  Late without(program("s_nop 0"), 1, 64);
  without.run();
  EXPECT_EQ(without[64 + 5], 0u);
  Late with(program("s_waitcnt lgkmcnt(0)"), 1, 64);
  with.run();
  EXPECT_EQ(with[64 + 5], 9u);
}

TEST(LateResults, StoresToDifferentAddressesLandNewestFirst) {
  // Wave 0 stores to x, then to y; wave 1 spins until y is there and reads x.
  const auto program = [](const char* wait) {
    return std::string(
               "v_cmp_gt_u32 vcc_lo, 32, v0\ns_mov_b32 s4, vcc_lo\nv_mov_b32 v1, 1\nv_mov_b32 v4, "
               "0\ns_mov_b32 exec_lo, 1\n"
               "s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 other\nglobal_store_b32 v4, v1, s[0:1] offset:1024\n") +
           wait +
           "\nglobal_store_b32 v4, v1, s[0:1] offset:2048\ns_endpgm\n"
           "other: global_load_b32 v2, v4, s[0:1] offset:2048 glc\ns_waitcnt vmcnt(0)\nv_cmp_ne_u32 vcc_lo, "
           "1, v2\ns_cbranch_vccnz other\n"
           "global_load_b32 v2, v4, s[0:1] offset:1024 glc\ns_waitcnt vmcnt(0)\nglobal_store_b32 v4, v2, "
           "s[0:1]";
  };
  Late without(program("s_nop 0"), 1, 64);
  without.run();
  EXPECT_EQ(without[0], 1256u);
  Late with(program("s_waitcnt_vscnt null, 0x0"), 1, 64);
  with.run();
  EXPECT_EQ(with[0], 1u);
}

TEST(LateResults, FullCountersStallTheIssue) {
  // 63 is VMcnt's greatest value: the 64th load waits for the first, the 65th for the second.
  std::string text =
      "v_mov_b32 v10, 7\nv_mov_b32 v11, 7\nglobal_load_b32 v10, v0, s[0:1]\nglobal_load_b32 v11, v0, "
      "s[0:1]\n";
  for (int i = 0; i < 62; ++i) text += "global_load_b32 v12, v0, s[0:1]\n";
  text +=
      "v_mov_b32 v2, v10\nv_mov_b32 v3, v11\ns_getreg_b32 s4, hwreg(HW_REG_IB_STS, 10, 6)\nv_add_nc_u32 v3, "
      "s4, v3";
  Late d(listing(text));
  d.run();
  EXPECT_EQ(d[64 + 5], 1005u);
  EXPECT_EQ(d[128 + 5], 7u + 63);
}

// 5.6: six bits of VScnt and LGKMcnt, three of EXPcnt: none of them is seen beyond its greatest value.
TEST(LateResults, EveryCounterHasItsWidth) {
  const struct {
    const char* instruction;
    unsigned count, field, bits;
  } cases[] = {{"global_store_b32 v0, v4, s[0:1] offset:1024\n", 70, 26, 6},
               {"global_load_b32 v4, v0, s[0:1]\n", 70, 10, 6},
               {"ds_load_b32 v4, v0\n", 70, 4, 6},
               {"lds_direct_load v4\n", 10, 0, 3}};
  for (const auto& c : cases) {
    std::string text = "s_mov_b32 m0, 0x20000\n";
    for (unsigned i = 0; i < c.count; ++i) text += c.instruction;
    Late d(listing(text + "s_getreg_b32 s4, hwreg(HW_REG_IB_STS)\nv_mov_b32 v2, s4"));
    d.run();
    EXPECT_EQ(d[64], ((1u << c.bits) - 1) << c.field) << c.instruction;
  }
}

TEST(LateResults, FlatHasTwoCounters) {
  // Even lanes go to LDS, odd ones to memory: each part lands with its own counter (guide 11.1.1).
  const std::string begin =
      "v_lshlrev_b32 v0, 2, v0\nv_mov_b32 v6, 42\nds_store_b32 v0, v6\ns_waitcnt lgkmcnt(0)\ns_mov_b64 "
      "s[4:5], src_shared_base\n"
      "v_mov_b32 v5, s1\nv_add_co_u32 v4, vcc_lo, s0, v0\nv_add_co_ci_u32 v5, vcc_lo, 0, v5, vcc_lo\n"
      "s_mov_b32 exec_lo, 0x55555555\nv_mov_b32 v4, v0\nv_mov_b32 v5, s5\ns_mov_b32 exec_lo, -1\n"
      "v_mov_b32 v1, 7\nflat_load_b32 v1, v[4:5]\n";
  const std::string end =
      "v_mov_b32 v2, v1\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v3, v1\n"
      "global_store_b32 v0, v2, s[0:1] offset:256\nglobal_store_b32 v0, v3, s[0:1] offset:512";
  const struct {
    const char* wait;
    uint32_t even, odd;
  } cases[] = {{"s_nop 0\n", 7, 7},
               {"s_waitcnt vmcnt(0)\n", 7, 1005},
               {"s_waitcnt lgkmcnt(0)\n", 42, 7},
               {"s_waitcnt vmcnt(0) lgkmcnt(0)\n", 42, 1005}};
  for (const auto& c : cases) {
    Late d(begin + c.wait + end);
    d.run();
    EXPECT_EQ(d[64 + 4], c.even) << c.wait;
    EXPECT_EQ(d[64 + 5], c.odd) << c.wait;
    EXPECT_EQ(d[128 + 4], 42u);
    EXPECT_EQ(d[128 + 5], 1005u);
  }
}

TEST(LateResults, BuffersScratchAtomicsAndWave64) {
  // A buffer load, an atomic that returns and one that does not, and the store behind them to the same place.
  Late d(
      "v_lshlrev_b32 v0, 2, v0\ns_mov_b64 s[4:5], s[0:1]\ns_mov_b32 s6, 0x4000\ns_mov_b32 s7, 0x31016000\n"
      "v_mov_b32 v1, 1\nv_mov_b32 v2, 7\nv_mov_b32 v3, 8\nbuffer_load_b32 v2, v0, s[4:7], 0 offen\n"
      "global_atomic_add_u32 v0, v1, s[0:1]\nglobal_atomic_add_u32 v3, v0, v1, s[0:1] glc\nv_add_nc_u32 v4, "
      "v2, v3\n"
      "s_waitcnt vmcnt(0)\nv_add_nc_u32 v5, v2, v3\nglobal_store_b32 v0, v4, s[0:1] offset:512\n"
      "global_store_b32 v0, v5, s[0:1] offset:1024",
      1, 64, 64);
  d.run();
  for (unsigned lane : {0u, 31u, 32u, 63u}) {
    EXPECT_EQ(d[128 + lane], 15u);
    EXPECT_EQ(d[256 + lane], 2 * (1000 + lane) + 1);
    EXPECT_EQ(d[lane], 1002 + lane);
  }
}

TEST(LateResults, DirectLoadsCountInExpcnt) {
  Late d(listing(
      "v_mov_b32 v4, 42\nds_store_b32 v0, v4\ns_waitcnt lgkmcnt(0)\ns_mov_b32 m0, 0x20004\nv_mov_b32 v5, 7\n"
      "lds_direct_load v5\ns_mov_b32 m0, 0\nv_mov_b32 v2, v5\ns_waitcnt expcnt(0)\nv_mov_b32 v3, v5"));
  d.run();
  EXPECT_EQ(d[64 + 5], 7u);
  EXPECT_EQ(d[128 + 5], 42u);
}

// 16.2: each counter has a wait of its own, which waits for that one alone.
TEST(LateResults, EachCounterHasAWait) {
  const std::string issue =
      "s_mov_b32 m0, 0x20000\nglobal_load_b32 v4, v0, s[0:1]\nglobal_store_b32 v0, v0, s[0:1] offset:1024\n"
      "ds_load_b32 v5, v0\nlds_direct_load v6\n";
  const struct {
    const char* wait;
    uint32_t left;
  } cases[] = {{"s_nop 0\n", 1u << 26 | 1u << 10 | 1u << 4 | 1u},
               {"s_waitcnt_vmcnt null, 0x0\n", 1u << 26 | 1u << 4 | 1u},
               {"s_waitcnt_vscnt null, 0x0\n", 1u << 10 | 1u << 4 | 1u},
               {"s_waitcnt_lgkmcnt null, 0x0\n", 1u << 26 | 1u << 10 | 1u},
               {"s_waitcnt_expcnt null, 0x0\n", 1u << 26 | 1u << 10 | 1u << 4},
               {"s_waitcnt vmcnt(0)\n", 1u << 26 | 1u << 4 | 1u},
               {"s_waitcnt lgkmcnt(0)\n", 1u << 26 | 1u << 10 | 1u},
               {"s_waitcnt expcnt(0)\n", 1u << 26 | 1u << 10 | 1u << 4}};
  for (const auto& c : cases) {
    Late d(listing(issue + c.wait + "s_getreg_b32 s4, hwreg(HW_REG_IB_STS)\nv_mov_b32 v2, s4"));
    d.run();
    EXPECT_EQ(d[64], c.left) << c.wait;
  }
}

TEST(LateResults, AnswersToMessagesAreLate) {
  Late d(
      listing("s_mov_b32 s8, 7\ns_mov_b32 s9, 7\ns_sendmsg_rtn_b64 s[8:9], sendmsg(MSG_RTN_GET_REALTIME)\n"
              "s_getreg_b32 s10, hwreg(HW_REG_IB_STS, 4, 6)\nv_mov_b32 v2, s9\nv_add_nc_u32 v2, s10, "
              "v2\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v3, s9"));
  d.run();
  EXPECT_EQ(d[64], 7u + 2);  // raised by two (guide 5.3)
  EXPECT_EQ(d[128], 0u);
}

// 5.3: LGKMcnt is lowered when the message goes out and again when the answer is there: a wait for one alone
// makes sure of nothing. 8.2: likewise with the two parts of a scalar load.
TEST(LateResults, WhatCountsTwiceIsLoweredTwice) {
  for (const char* load :
       {"s_sendmsg_rtn_b32 s8, sendmsg(MSG_RTN_GET_DDID)\n", "s_load_b64 s[8:9], s[0:1], 0x0\n"}) {
    Late d(listing("s_mov_b32 s8, 7\n" + std::string(load) +
                   "s_waitcnt lgkmcnt(1)\ns_getreg_b32 s10, hwreg(HW_REG_IB_STS, 4, 6)\ns_lshl_b32 s10, s10, "
                   "8\nv_or_b32 v2, s8, s10\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v3, s8"));
    d.launch.dispatch_id = 1000;
    d.run();
    EXPECT_EQ(d[64], 1u << 8 | 7) << load;
    EXPECT_EQ(d[128], 1000u) << load;
  }
}

// 5.3: s_sendmsg counts until the message is out.
TEST(LateResults, MessagesCount) {
  Late d(listing(
      "s_mov_b32 m0, 0\ns_sendmsg sendmsg(MSG_INTERRUPT)\ns_getreg_b32 s10, hwreg(HW_REG_IB_STS, 4, 6)\n"
      "v_mov_b32 v2, s10\ns_waitcnt lgkmcnt(0)\ns_getreg_b32 s10, hwreg(HW_REG_IB_STS, 4, 6)\n"
      "v_mov_b32 v3, s10"));
  d.run();
  EXPECT_EQ(d[64], 1u);
  EXPECT_EQ(d[128], 0u);
}

// 5.6: LDS takes the accesses of a wave in their order, though nothing waits in between.
TEST(LateResults, LdsKeepsTheOrderOfAWave) {
  for (Results results : {Results::late, Results::random})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Late d(listing(
          "v_mov_b32 v4, 1\nv_mov_b32 v5, 2\nds_store_b32 v0, v4\nds_load_b32 v3, v0\nds_store_b32 v0, "
          "v5\nds_load_b32 v2, v0"));
      d.options.precise.results = results;
      d.options.precise.seed = seed;
      d.run();
      ASSERT_EQ(d[64 + 5], 2u);
      ASSERT_EQ(d[128 + 5], 1u);
    }
}

TEST(LateResults, SkippedWithoutLanes) {
  Late d(
      listing("s_mov_b32 exec_lo, 0\nglobal_load_b32 v2, v0, s[0:1]\ns_getreg_b32 s4, "
              "hwreg(HW_REG_IB_STS)\ns_mov_b32 exec_lo, -1\nv_mov_b32 v3, s4"));
  d.run();
  EXPECT_EQ(d[128], 0u);
}

// 3.2.3: without lanes too they count while their counter is not zero, so that a limit that makes sure of an
// older one does so whatever EXEC is.
TEST(LateResults, CountsWithoutLanes) {
  for (const char* text :
       {"global_load_b32 v2, v0, s[0:1]\ns_mov_b32 exec_lo, 0\nglobal_load_b32 v3, v0, s[0:1] "
        "offset:4\ns_mov_b32 exec_lo, -1\ns_waitcnt vmcnt(1)",
        "ds_store_b32 v0, v4\nds_load_b32 v2, v0\ns_mov_b32 exec_lo, 0\nds_load_b32 v3, v0\ns_mov_b32 "
        "exec_lo, -1\ns_waitcnt lgkmcnt(1)",
        "s_mov_b32 m0, 0x20014\nds_store_b32 v0, v4\nlds_direct_load v2\ns_mov_b32 exec_lo, "
        "0\nlds_direct_load v3\ns_mov_b32 exec_lo, -1\ns_waitcnt expcnt(1)",
        "global_load_b32 v2, v0, s[0:1]\ns_mov_b32 exec_lo, 0\nflat_load_b32 v3, v[0:1]\ns_mov_b32 "
        "exec_lo, -1\ns_waitcnt vmcnt(1)"}) {
    Late d("v_lshlrev_b32 v0, 2, v0\nv_add_nc_u32 v4, 0x3e8, v0\nv_mov_b32 v2, 7\nv_mov_b32 v3, 8\n" +
           std::string(text) +
           "\nv_mov_b32 v5, v2\ns_wait_idle\nglobal_store_b32 v0, v5, s[0:1] offset:256\n"
           "global_store_b32 v0, v3, s[0:1] offset:512");
    d.run();
    EXPECT_NE(d[64 + 5], 7u) << text;
    EXPECT_EQ(d[128 + 5], 8u) << text;
  }
}

// 12.1.3: what lands in the fourth lane of a quad is zero, as the interpreter has it (found by engines_fuzz).
TEST(LateResults, AParameterLoadHasAFourthLane) {
  Late d(
      "v_lshlrev_b32 v0, 2, v0\nv_mov_b32 v2, 7\ns_mov_b32 m0, 0\nlds_param_load v2, attr0.x\n"
      "s_waitcnt expcnt(0)\nglobal_store_b32 v0, v2, s[0:1] offset:256");
  d.run();
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(d[64 + lane], 0u) << lane;
}

// 3.3.3: a load whose destination is out of range is issued as if EXEC were zero: no register of it lands.
TEST(LateResults, NothingLandsOfALostDestination) {
  for (const char* load :
       {"global_load_b64 v[23:24], v0, s[0:1]", "ds_load_b128 v[23:26], v0",
        "buffer_load_b32 v[23:24], off, s[4:7], 0 tfe", "flat_load_b64 v[23:24], v[30:31]"}) {
    Late d("s_mov_b64 s[4:5], s[0:1]\ns_mov_b32 s6, 256\ns_mov_b32 s7, 0x30020000\n" +
           listing("v_mov_b32 v23, 7\n" + std::string(load) +
                   "\nv_mov_b32 v23, 9\ns_wait_idle\nv_mov_b32 v2, v23"));
    d.launch.vgpr_count = 24;
    d.run();
    EXPECT_EQ(d[64 + 5], 9u) << load;
  }
}

// 5.3: a message does what it does when it is issued; only its count is lowered later.
TEST(LateResults, MessagesChangeTheWaveAtOnce) {
  for (Results results : {Results::now, Results::late, Results::random}) {
    Late d("v_mov_b32 v1, 0\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_nop 0\nv_mov_b32 v1, 1");
    d.options.precise.results = results;
    d.options.precise.exceptions = true;  // so that it is the precise engine that runs it
    const Outcome outcome = static_cast<Dispatch&>(d).run();
    ASSERT_TRUE(outcome.fault);
    EXPECT_EQ(outcome.fault->fault.kind, FaultKind::illegal_instruction);
    EXPECT_EQ(outcome.fault->fault.pc, d.pc(3));
  }
}

TEST(LateResults, FaultsNameTheInstructionThatWasPutOff) {
  Late memory("v_mov_b32 v1, 0x8000\ns_nop 0\nglobal_load_b32 v3, v1, s[0:1]\ns_nop 0\ns_waitcnt vmcnt(0)");
  const Outcome outcome = memory.Dispatch::run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::memory_violation);
  EXPECT_EQ(outcome.fault->instruction, "global_load_b32 v3, v1, s[0:1]");
  Late lds("v_mov_b32 v1, 2\nds_add_u32 v1, v0\ns_nop 0\ns_nop 0\ns_waitcnt lgkmcnt(0)");
  const Outcome outcome2 = lds.Dispatch::run();
  ASSERT_TRUE(outcome2.fault);
  EXPECT_EQ(outcome2.fault->fault.kind, FaultKind::misaligned);
  EXPECT_EQ(outcome2.fault->instruction, "ds_add_u32 v1, v0");
}

TEST(LateResults, WavesThatWaitForEachOtherGetOn) {
  // Wave 0 stores without waiting, and stands at the barrier; wave 1 spins for the store before its barrier.
  // And the other way round: wave 1 stores and spins itself, waiting for its loads only.
  Late d(
      "v_cmp_gt_u32 vcc_lo, 32, v0\ns_mov_b32 s4, vcc_lo\nv_mov_b32 v1, 1\nv_mov_b32 v4, 0\ns_mov_b32 "
      "exec_lo, 1\n"
      "s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 other\nglobal_store_b32 v4, v1, s[0:1] offset:1024\ns_barrier\n"
      "again: global_load_b32 v2, v4, s[0:1] offset:2048 glc\ns_waitcnt vmcnt(0)\nv_cmp_ne_u32 vcc_lo, 1, "
      "v2\ns_cbranch_vccnz again\ns_endpgm\n"
      "other: global_load_b32 v2, v4, s[0:1] offset:1024 glc\ns_waitcnt vmcnt(0)\nv_cmp_ne_u32 vcc_lo, 1, "
      "v2\ns_cbranch_vccnz other\ns_barrier\n"
      "global_store_b32 v4, v1, s[0:1] offset:2048\nlast: global_load_b32 v2, v4, s[0:1] offset:2048 "
      "glc\ns_waitcnt vmcnt(0)\nv_cmp_ne_u32 vcc_lo, 1, v2\ns_cbranch_vccnz last",
      1, 64);
  d.run();
}

// ---- random

TEST(RandomResults, TheSeedDecides) {
  const auto run = [](uint64_t seed) {
    std::string text;
    for (int i = 4; i < 20; ++i) text += "global_load_b32 v" + std::to_string(i) + ", v0, s[0:1]\n";
    for (int i = 4; i < 20; ++i) text += "v_add_nc_u32 v2, v2, v" + std::to_string(i) + "\n";
    Late d(listing(text));
    d.options.precise.results = Results::random;
    d.options.precise.seed = seed;
    d.run();
    return d.buffer[64 + 5];
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_EQ(run(2), run(2));
  bool differ = false;
  for (uint64_t seed = 2; seed < 10; ++seed) differ |= run(seed) != run(1);
  EXPECT_TRUE(differ);
}

// ---- the checker

std::vector<Finding> findings_of(const std::string& text, Results results = Results::now) {
  Late d(text);
  d.options.precise.rules = Rules::warn;
  d.options.precise.results = results;
  const Outcome outcome = static_cast<Dispatch&>(d).run();
  EXPECT_FALSE(outcome.fault);
  return outcome.findings;
}

TEST(MissingWaits, AreFound) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"global_load_b32 v1, v0, s[0:1]\nv_mov_b32 v2, v1",
       "v_mov_b32 reads v1 before global_load_b32 (0x8 bytes before"},
      {"global_load_b128 v[4:7], v0, s[0:1]\nv_mov_b32 v6, 0", "v_mov_b32 overwrites v6"},
      {"s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(2)\ns_mov_b32 s8, s5", "s_mov_b32 reads s5"},
      {"s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\ns_mov_b32 s8, s5", "s_mov_b32 reads s5"},
      {"s_sendmsg_rtn_b32 s4, sendmsg(MSG_RTN_GET_DDID)\ns_waitcnt lgkmcnt(1)\ns_mov_b32 s8, s4",
       "s_mov_b32 reads s4"},
      {"s_load_b32 vcc_lo, s[0:1], 0x0\ns_cbranch_vccz 0", "reads vcc_lo"},
      {"ds_load_b32 v1, v0\ns_load_b32 s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v2, v1",
       "lgkmcnt(0)"},
      {"global_load_b32 v1, v0, s[0:1]\nglobal_load_b32 v2, v0, s[0:1]\nglobal_load_b32 v3, v0, "
       "s[0:1]\nv_mov_b32 v4, v1",
       "vmcnt(2)"},
      {"s_mov_b32 m0, 0x20000\nlds_direct_load v1\nv_mov_b32 v2, v1", "expcnt(0)"},
      {"global_load_b32 v1, v0, s[0:1]\nglobal_load_b32 v2, v1, s[0:1]", "global_load_b32 reads v1"},
      {"s_waitcnt_depctr 0xff9f", "waits for nothing"},
      // Registers that M0 chooses.
      {"s_mov_b32 m0, 3\nglobal_load_b32 v7, v0, s[0:1]\nv_movrels_b32 v2, v4", "v_movrels_b32 reads v7"},
      {"s_mov_b32 m0, 3\nglobal_load_b32 v7, v0, s[0:1]\nv_movreld_b32 v4, v1",
       "v_movreld_b32 overwrites v7"},
      {"s_mov_b32 m0, 0x50003\nglobal_load_b32 v7, v0, s[0:1]\nv_movrelsd_2_b32 v2, v1",
       "v_movrelsd_2_b32 overwrites v7"},
      {"s_mov_b32 m0, 3\ns_load_b64 s[8:9], s[0:1], 0x0\ns_movrels_b64 s[10:11], s[6:7]",
       "s_movrels_b64 reads s8"},
      {"s_mov_b32 m0, 3\ns_load_b32 s8, s[0:1], 0x0\ns_movreld_b32 s5, s4", "s_movreld_b32 overwrites s8"},
  };
  for (const auto& c : cases)
    for (Results results : {Results::now, Results::late}) {
      const auto findings = findings_of("v_mov_b32 v0, 0\n" + std::string(c.text), results);
      ASSERT_EQ(findings.size(), 1u) << c.text;
      EXPECT_NE(findings[0].rule.find(c.says), std::string::npos) << findings[0].rule;
      EXPECT_EQ(findings[0].count, 1u);
    }
}

TEST(MissingWaits, GoodPrograms) {
  for (const char* text : {
           "global_load_b32 v1, v0, s[0:1]\nglobal_load_b32 v2, v0, s[0:1]\ns_waitcnt vmcnt(1)\nv_mov_b32 "
           "v3, v1\ns_waitcnt vmcnt(0)\nv_mov_b32 v3, v2",
           "global_load_b32 v1, v0, s[0:1]\nglobal_load_b32 v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\nv_mov_b32 "
           "v3, v1",
           "global_load_d16_b16 v1, v0, s[0:1]\nglobal_load_d16_hi_b16 v1, v0, s[0:1]\ns_waitcnt "
           "vmcnt(0)\nv_mov_b32 v3, v1",
           "s_load_b32 s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s5, s4",
           "global_store_b32 v0, v1, s[0:1]\nv_mov_b32 v1, 0",
           "s_waitcnt_depctr depctr_va_vdst(0)",
           "s_mov_b32 m0, 3\nglobal_load_b32 v4, v0, s[0:1]\nv_movrels_b32 v2, v4\nv_movreld_b32 v4, v5",
           // 3.2.3: what has no lanes counts while something is under way, and of FLAT both counters do.
           "global_load_b32 v1, v0, s[0:1]\ns_mov_b32 exec_lo, 0\nglobal_load_b32 v2, v0, "
           "s[0:1]\ns_mov_b32 exec_lo, -1\ns_waitcnt vmcnt(1)\nv_mov_b32 v3, v1",
           "v_mov_b32 v4, s0\nv_mov_b32 v5, s1\nds_load_b32 v1, v0\nflat_load_b32 v2, "
           "v[4:5]\nglobal_load_b32 v6, v0, s[0:1]\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v3, v1",
       })
    EXPECT_TRUE(findings_of("v_mov_b32 v0, 0\n" + std::string(text)).empty()) << text;
}

TEST(MissingWaits, FaultWhenAsked) {
  Late d("v_mov_b32 v0, 0\nglobal_load_b32 v1, v0, s[0:1]\nv_mov_b32 v2, v1");
  d.options.precise.rules = Rules::fault;
  const Outcome outcome = static_cast<Dispatch&>(d).run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::broken_rule);
  EXPECT_EQ(outcome.fault->instruction, "v_mov_b32_e32 v2, v1");
}

}  // namespace
}  // namespace lockstep::machine

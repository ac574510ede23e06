// Races, values that were never written, barriers: what the checkers find in short programs, and what they
// must not.
#include <gtest/gtest.h>

#include "engine/listeners.h"
#include "observe/barriers/barrier_checker.h"
#include "observe/cost/cost_checker.h"
#include "observe/cost/traffic.h"
#include "observe/races/race_checker.h"
#include "observe/uninitialised/uninitialised_checker.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::observe {
namespace {

template <class Checker>
struct Checked {
  Findings findings;
  Checker checker{findings};
  machine::Dispatch dispatch;
  machine::Outcome outcome;
  std::vector<Finding> all;

  explicit Checked(std::string_view text, uint32_t groups = 1, uint32_t items = 64, unsigned wave_size = 32)
      : dispatch(text, groups, items, wave_size) {
    dispatch.launch.scratch_bytes = 64;
    dispatch.options.precise.listener = &checker;
    outcome = dispatch.run();
    EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
    all = findings.all();
  }
  std::string rules() const {
    std::string text;
    for (const Finding& finding : all) text += finding.rule + " [" + finding.detail.text + "]\n";
    return text;
  }
};

using Races = Checked<RaceChecker>;
using Unwritten = Checked<UninitialisedChecker>;
using Barriers = Checked<BarrierChecker>;
using Costs = Checked<CostChecker>;

// The second wave has items 32 and more.
constexpr std::string_view kIsFirst = "v_readfirstlane_b32 s4, v0\ns_cmp_eq_u32 s4, 0\n";

// v0 is the item. Each work-item writes its dword of LDS and reads the one of the other wave.
std::string exchange(std::string_view between) {
  return "v_lshlrev_b32 v1, 2, v0\nv_xor_b32 v2, 0x80, v1\nds_store_b32 v1, v0\n" + std::string(between) +
         "ds_load_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n";
}

TEST(RaceChecker, LdsBetweenWavesNeedsABarrier) {
  Races missing(exchange(""));
  // The store that comes after the other wave's load, and the load that comes after its store.
  ASSERT_EQ(missing.all.size(), 2u) << missing.rules();
  const Finding& finding = missing.all[1];
  EXPECT_STREQ(finding.checker, "races");
  EXPECT_EQ(finding.rule,
            "ds_load_b32 reads LDS that another wave of the work-group writes, and nothing orders the two");
  EXPECT_EQ(finding.detail.text, "work-group (0, 0, 0), wave 0 writes it by ds_store_b32: LDS offset 0x0");
  EXPECT_EQ(finding.detail.other_pc, missing.dispatch.pc(3));
  EXPECT_EQ(Races(exchange("s_waitcnt lgkmcnt(0)\ns_barrier\n")).rules(), "");
}

// A wave that comes to the barrier with its store under way has not handed it over.
TEST(RaceChecker, StoresMustBeCompleteBeforeTheBarrier) {
  EXPECT_EQ(Races(exchange("s_barrier\n")).all.size(), 1u);
  EXPECT_EQ(Races(exchange("s_waitcnt lgkmcnt(1)\ns_barrier\n")).all.size(), 1u);
}

struct Waits {
  Findings findings;
  RaceChecker checker{findings, {.races = false, .waits = true}};
  explicit Waits(std::string_view text) {
    machine::Dispatch dispatch(text, 1, 64);
    dispatch.options.precise.listener = &checker;
    EXPECT_FALSE(dispatch.run().fault);
  }
};

TEST(RaceChecker, TellsOfWaitsWhereTheseAreAskedFor) {
  const std::vector<Finding> found = Waits(exchange("s_barrier\n")).findings.all();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].checker, "waits");
  EXPECT_EQ(found[0].rule,
            "missing wait: ds_load_b32 reads LDS that another wave of the work-group writes, and the barrier "
            "between them does not wait for the store");
  EXPECT_EQ(found[0].detail.remedy,
            "put s_waitcnt lgkmcnt(0) between ds_store_b32 and the barrier behind it");
  // Without a barrier it is a race, which is not asked for.
  EXPECT_TRUE(Waits(exchange("")).findings.all().empty());
}

// A load that came before a barrier is over, though a store of the same wave is under way.
TEST(RaceChecker, ReadsBeforeABarrierAreOver) {
  EXPECT_EQ(
      Races("v_lshlrev_b32 v1, 2, v0\nv_xor_b32 v2, 0x80, v1\nds_load_b32 v3, v1\ns_waitcnt lgkmcnt(0)\n"
            "ds_store_b32 v1, v0 offset:256\ns_barrier\nds_store_b32 v2, v0\n")
          .rules(),
      "");
}

TEST(RaceChecker, WritesBehindAReadNeedABarrier) {
  // Each wave reads the other's dword, behind a barrier, and then its own is overwritten.
  const std::string text = exchange("s_waitcnt lgkmcnt(0)\ns_barrier\n");
  Races missing(text + "ds_store_b32 v1, v3\n");
  ASSERT_EQ(missing.all.size(), 1u) << missing.rules();
  // Told of at whichever of the two the machine came to last.
  EXPECT_EQ(missing.all[0].pc + missing.all[0].detail.other_pc,
            missing.dispatch.pc(7) + missing.dispatch.pc(10))
      << missing.rules();
  EXPECT_EQ(Races(text + "s_barrier\nds_store_b32 v1, v3\n").rules(), "");
}

// What another wave has read counts, whatever the one that writes has read since.
TEST(RaceChecker, WhoWritesMayHaveReadItself) {
  Races races("v_mov_b32 v1, 0\nds_load_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n" + std::string(kIsFirst) +
              "s_cbranch_scc1 next\ns_mov_b32 exec_lo, 1\nds_store_b32 v1, v0\nnext:\n");
  ASSERT_EQ(races.all.size(), 1u) << races.rules();
  EXPECT_NE(races.all[0].rule.find("overwrites LDS that another wave of the work-group reads"),
            std::string::npos);
}

// Reads of LDS to which nobody writes are noted, so many at a time, and matter when somebody does: by whole
// rows, by two addresses, by all lanes at one place.
TEST(RaceChecker, ReadsAreKnownWhenSomebodyWrites) {
  const std::string reads =
      "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 0x200\ns_movk_i32 s5, 600\nloop: ds_load_b32 v3, v1\n"
      "ds_load_2addr_b32 v[4:5], v1 offset0:64 offset1:70\nds_load_b64 v[6:7], v2\ns_sub_u32 s5, s5, 1\n"
      "s_cmp_lg_u32 s5, 0\ns_cbranch_scc1 loop\ns_waitcnt lgkmcnt(0)\n";
  const auto store = [&](unsigned offset, std::string_view between) {
    return Races(reads + std::string(between) + std::string(kIsFirst) +
                 "s_cbranch_scc1 done\ns_mov_b32 exec_lo, 1\nv_mov_b32 v8, " + std::to_string(offset) +
                 "\nds_store_b32 v8, v0\ndone:\n")
        .rules();
  };
  const std::string found = "overwrites LDS that another wave of the work-group reads";
  for (const unsigned offset : {0u, 0x7cu, 0x100u, 0x118u, 0x194u, 0x204u}) {
    EXPECT_NE(store(offset, "").find(found), std::string::npos) << offset;
    EXPECT_EQ(store(offset, "s_barrier\n"), "") << offset;
  }
  EXPECT_EQ(store(0x208, ""), "");
}

// One wave stores where all count. Its own atomic stands between the store and those of the others.
TEST(RaceChecker, AtomicsDoNotOrderTheStoreBeforeThem) {
  const auto text = [](std::string_view between) {
    return "v_mov_b32 v1, 0\nv_mov_b32 v2, 5\n" + std::string(kIsFirst) +
           "s_cbranch_scc0 next\ns_mov_b32 exec_lo, 1\nds_store_b32 v1, v2\ns_mov_b32 exec_lo, -1\nnext:\n" +
           std::string(between) + "ds_add_u32 v1, v2\n";
  };
  Races races(text(""));
  ASSERT_EQ(races.all.size(), 1u) << races.rules();
  EXPECT_NE(races.all[0].rule.find("ds_add_u32 changes LDS that another wave of the work-group writes"),
            std::string::npos);
  // Nor does it where the store was complete: the other wave may have come before both.
  EXPECT_EQ(Races(text("s_waitcnt lgkmcnt(0)\n")).all.size(), 1u);
  EXPECT_EQ(Races(text("s_waitcnt lgkmcnt(0)\ns_barrier\n")).rules(), "");
}

// A flag in LDS: the second wave waits until the first one has stored it, behind the data.
std::string flag_in_lds(std::string_view load, std::string_view loop) {
  return "v_mov_b32 v1, 0\nv_mov_b32 v2, 5\n" + std::string(kIsFirst) +
         "s_cbranch_scc0 second\ns_mov_b32 exec_lo, 1\nds_store_b32 v1, v2 offset:4\n"
         "ds_store_b32 v1, v2\ns_endpgm\nsecond:\ns_mov_b32 exec_lo, 1\nagain:\n" +
         std::string(load) + "s_waitcnt lgkmcnt(0)\n" + std::string(loop) +
         "ds_load_b32 v4, v1 offset:4\ns_waitcnt lgkmcnt(0)\n";
}

TEST(RaceChecker, FlagsInLds) {
  const std::string_view load = "ds_load_b32 v3, v1\n";
  const std::string_view loop = "v_cmp_eq_u32 vcc_lo, 0, v3\ns_cbranch_vccnz again\n";
  EXPECT_EQ(Races(flag_in_lds(load, loop)).rules(), "");
  EXPECT_EQ(Races(flag_in_lds("s_nop 0\nds_load_b32 v3, v1\n", loop)).rules(), "");
  // It looks once, or elsewhere each time, or does something else in the loop.
  EXPECT_EQ(Races(flag_in_lds(load, "")).all.size(), 2u);
  EXPECT_EQ(Races(flag_in_lds("v_mov_b32 v1, 0\nds_load_b32 v3, v1\n", loop)).all.size(), 2u);
  EXPECT_EQ(Races(flag_in_lds("ds_load_b32 v5, v1 offset:8\nds_load_b32 v3, v1\n", loop)).all.size(), 2u);
}

// What a flag was before a barrier it is behind it: both waves store there, as atomics of the source do.
TEST(RaceChecker, FlagsStayFlagsBehindABarrier) {
  const auto text = [](std::string_view again) {
    return "v_mov_b32 v1, 0\nv_mov_b32 v3, 0\nagain: ds_load_b32 v3, v1\ns_waitcnt lgkmcnt(0)\n"
           "v_cmp_ne_u32 vcc_lo, 0, v3\n" +
           std::string(again) +
           "s_barrier\nv_readfirstlane_b32 s4, v0\nv_mov_b32 v2, s4\nds_store_b32 v1, v2\n";
  };
  EXPECT_EQ(Races(text("s_cbranch_vccnz again\n")).rules(), "");
  EXPECT_EQ(Races(text("")).all.size(), 1u);
}

// LDS works in a wave's order: the store of an unlock comes behind those before it without a wait.
TEST(RaceChecker, LocksInLds) {
  const auto text = [](std::string_view unlock) {
    return "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\ns_mov_b32 exec_lo, 1\nagain:\n"
           "ds_cmpstore_rtn_b32 v3, v1, v2, v1\ns_waitcnt lgkmcnt(0)\nv_cmp_ne_u32 vcc_lo, 0, v3\n"
           "s_cbranch_vccnz again\nds_load_b32 v4, v1 offset:4\ns_waitcnt lgkmcnt(0)\n"
           "v_add_nc_u32 v4, v4, v2\n" +
           std::string(unlock);
  };
  EXPECT_EQ(Races(text("ds_store_b32 v1, v4 offset:4\nds_store_b32 v1, v1\n")).rules(), "");
  EXPECT_FALSE(Races(text("ds_store_b32 v1, v1\nds_store_b32 v1, v4 offset:4\n")).all.empty());
}

TEST(RaceChecker, TheSameValueTwiceIsNone) {
  const std::string_view text = "v_mov_b32 v1, 0\nv_mov_b32 v2, 7\nds_store_b32 v1, v2\n";
  EXPECT_EQ(Races(text).rules(), "");
}

TEST(RaceChecker, LanesThatStoreDifferentValuesToOnePlace) {
  Races races("v_mov_b32 v1, 0\nds_store_b32 v1, v0\n", 1, 32);
  ASSERT_EQ(races.all.size(), 1u);
  EXPECT_EQ(races.all[0].detail.text, "lanes 0 and 1 store different values at LDS offset 0x0");
  EXPECT_EQ(Races("v_mov_b32 v1, 0\nds_add_u32 v1, v0\n").rules(), "");
}

TEST(RaceChecker, BytesOfADwordAreApart) {
  EXPECT_EQ(Races("ds_store_b8 v0, v0\n").rules(), "");
  EXPECT_EQ(Races("global_store_b8 v0, v0, s[0:1]\n").rules(), "");
}

// Groups hand over by an atomic: the last one to come reads what all have stored (the buffer is zero).
std::string last_group(std::string_view release, std::string_view acquire, std::string_view add) {
  return "s_lshl_b32 s4, s2, 2\nv_mov_b32 v1, s4\nv_mov_b32 v2, 5\ns_mov_b32 exec_lo, 1\n"
         "global_store_b32 v1, v2, s[0:1] offset:64\n" +
         std::string(release) + "v_mov_b32 v3, 0\nv_mov_b32 v4, 1\n" + std::string(add) +
         "s_waitcnt vmcnt(0)\nv_cmp_eq_u32 vcc_lo, 1, v5\ns_and_b32 exec_lo, exec_lo, vcc_lo\n" +
         std::string(acquire) + "global_load_b64 v[6:7], v3, s[0:1] offset:64\ns_waitcnt vmcnt(0)\n";
}
constexpr std::string_view kAdd = "global_atomic_add_u32 v5, v3, v4, s[0:1] glc\n";
constexpr std::string_view kRelease = "s_waitcnt_vscnt null, 0x0\n";
constexpr std::string_view kAcquire = "buffer_gl0_inv\nbuffer_gl1_inv\n";

TEST(RaceChecker, GroupsHandOverByReleaseAndAcquire) {
  EXPECT_EQ(Races(last_group(kRelease, kAcquire, kAdd), 2, 32).rules(), "");
}

TEST(RaceChecker, GroupsHandOverWithoutReleaseOrAcquire) {
  for (const std::string& text : {last_group("", kAcquire, kAdd), last_group(kRelease, "", kAdd),
                                  last_group(kRelease, "buffer_gl0_inv\n", kAdd)}) {
    Races races(text, 2, 32);
    ASSERT_EQ(races.all.size(), 1u) << races.rules();
    EXPECT_NE(races.all[0].rule.find("global_load_b64 reads memory that a wave of another work-group writes"),
              std::string::npos);
    EXPECT_NE(races.all[0].detail.text.find("64 bytes into buffer 'out'"), std::string::npos);
  }
}

// As HIP's grid.sync(): groups invalidate their caches, come, and wait for the others without doing it again.
std::string grid_barrier(std::string_view before_it_comes, std::string_view release = kRelease) {
  return "s_lshl_b32 s4, s2, 2\nv_mov_b32 v1, s4\nv_mov_b32 v2, 5\ns_mov_b32 exec_lo, 1\n"
         "global_store_b32 v1, v2, s[0:1] offset:256\n" +
         std::string(release) + std::string(before_it_comes) +
         "v_mov_b32 v3, 0\nv_mov_b32 v4, 1\nglobal_atomic_add_u32 v3, v4, s[0:1]\nagain:\n"
         "global_load_b32 v5, v3, s[0:1] glc\ns_waitcnt vmcnt(0)\nv_cmp_ne_u32 vcc_lo, 2, v5\n"
         "s_cbranch_vccnz again\nglobal_load_b64 v[6:7], v3, s[0:1] offset:256\ns_waitcnt vmcnt(0)\n";
}

TEST(RaceChecker, GroupsMeetWithoutAnythingOldInTheirCaches) {
  const std::string acquire(kAcquire), load_of = "v_mov_b32 v8, 0\nglobal_load_b32 v9, v8, s[0:1]";
  EXPECT_EQ(Races(grid_barrier(acquire), 2, 32).rules(), "");
  // Beside the place where they meet stands what belongs to it, such as how many are to come.
  EXPECT_EQ(Races(grid_barrier(acquire + load_of + " offset:4\n"), 2, 32).rules(), "");
  for (const std::string& text :
       {grid_barrier(""), grid_barrier("buffer_gl0_inv\n"), grid_barrier(acquire, ""),
        grid_barrier(acquire + load_of + " offset:1024\n"), grid_barrier(load_of + " offset:1024\n"),
        grid_barrier(acquire + load_of + " offset:1024\n" + load_of + " offset:4\n")}) {
    Races races(text, 2, 32);
    ASSERT_EQ(races.all.size(), 1u) << races.rules();
    EXPECT_NE(races.all[0].rule.find("global_load_b64 reads memory that a wave of another work-group writes"),
              std::string::npos);
  }
}

// Both groups take the same memory, one after the other has given it back by an atomic that orders nothing.
// The allocator has the wave's number, too, in a place that it stores to as it likes.
std::string rules_with_allocator(bool is_known, std::string_view stored_to) {
  machine::Dispatch dispatch(
      "v_mov_b32 v0, 8\nv_mov_b32 v1, 0\nv_mov_b32 v2, s2\nv_mov_b32 v3, 0\ns_mov_b32 exec_lo, 1\n"
      "s_call_b64 s[30:31], allocate\nglobal_store_b32 v[0:1], v2, off" +
          std::string(stored_to) +
          "\ns_endpgm\nallocate:\ns_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\nglobal_store_b32 v3, v2, s[0:1]\n"
          "s_add_u32 s4, s0, 64\ns_addc_u32 s5, s1, 0\nv_mov_b32 v0, s4\nv_mov_b32 v1, s5\n"
          "s_setpc_b64 s[30:31]\n",
      2, 32);
  const uint32_t first = interpreter::assembled("s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\n", 32)[0];
  const auto begin = std::find(dispatch.code.begin(), dispatch.code.end(), first) - dispatch.code.begin();
  const FindFunction find = [&](uint64_t pc, std::string_view name) -> CodeSpan {
    if (!is_known || pc != dispatch.launch.entry || name != "__ockl_dm_alloc") return {};
    return {dispatch.pc(static_cast<size_t>(begin)), dispatch.launch.code[0].end};
  };
  Findings findings;
  RaceChecker checker(findings, {}, find);
  dispatch.options.precise.listener = &checker;
  EXPECT_FALSE(dispatch.run().fault);
  std::string text;
  for (const Finding& finding : findings.all()) text += finding.detail.text + "\n";
  return text;
}

TEST(RaceChecker, MemoryThatAnAllocatorHandsOutIsNew) {
  EXPECT_EQ(rules_with_allocator(true, ""), "");
  EXPECT_EQ(rules_with_allocator(true, " offset:4"), "");
  // Not so what lies behind it, and where nobody knows the allocator.
  const std::string behind = rules_with_allocator(true, " offset:8");
  EXPECT_NE(behind.find("72 bytes into buffer 'out'"), std::string::npos) << behind;
  const std::string unknown = rules_with_allocator(false, "");
  EXPECT_NE(unknown.find(" 0 bytes into buffer 'out'"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("64 bytes into buffer 'out'"), std::string::npos) << unknown;
}

TEST(RaceChecker, AnAtomicMadePlain) {
  Races races(
      "v_mov_b32 v3, 0\ns_mov_b32 exec_lo, 1\nglobal_load_b32 v5, v3, s[0:1]\ns_waitcnt vmcnt(0)\n"
      "v_add_nc_u32 v5, 1, v5\nglobal_store_b32 v3, v5, s[0:1]\n",
      2, 32);
  EXPECT_FALSE(races.all.empty());
  EXPECT_EQ(Races("v_mov_b32 v3, 0\nv_mov_b32 v5, 1\nglobal_atomic_add_u32 v3, v5, s[0:1]\n", 2).rules(), "");
}

// By group: one adds, the other stores.
std::string add_or_store(std::string_view add, std::string_view behind_store = "") {
  return "v_mov_b32 v3, 0\nv_mov_b32 v5, 7\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 next\n" + std::string(add) +
         "s_endpgm\nnext: global_store_b32 v3, v5, s[0:1]\n" + std::string(behind_store);
}

// What an atomic gives back may be how groups speak to each other, with stores that are atomic in the source.
TEST(RaceChecker, APlainStoreIntoASumOfOtherGroups) {
  constexpr std::string_view kSilent = "global_atomic_add_u32 v3, v5, s[0:1]\n";
  Races races(add_or_store(kSilent), 2, 32);
  ASSERT_EQ(races.all.size(), 1u) << races.rules();
  EXPECT_NE(races.all[0].rule.find("global_atomic_add_u32 changes memory that a wave of another work-group"),
            std::string::npos);
  EXPECT_EQ(Races(add_or_store("global_atomic_add_u32 v4, v3, v5, s[0:1] glc\n"), 2, 32).rules(), "");
  EXPECT_EQ(Races(add_or_store(kSilent, "global_load_b32 v4, v3, s[0:1] glc\n"), 2, 32).rules(), "");
}

// ---- Values that were never written

TEST(Uninitialised, WhatTheLaunchGivesHasAValue) {
  EXPECT_EQ(Unwritten("v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, s2\nglobal_store_b32 v1, v2, s[0:1]\n").rules(),
            "");
}

TEST(Uninitialised, ARegisterThatIsStored) {
  Unwritten found("v_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v7, s[0:1]\n", 1, 32);
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all[0].rule, "an uninitialised value is stored to memory");
  EXPECT_EQ(found.all[0].detail.text, "v7 was never written: 0 bytes into buffer 'out' of 16384 bytes");
  EXPECT_EQ(found.all[0].detail.lanes, 0xffffffffu);
}

TEST(Uninitialised, ASumThatWasNotBegun) {
  Unwritten found("v_lshlrev_b32 v1, 2, v0\nv_add_nc_u32 v3, v3, v0\nglobal_store_b32 v1, v3, s[0:1]\n");
  ASSERT_EQ(found.all.size(), 1u) << found.rules();
  EXPECT_NE(found.all[0].detail.text.find("v3 was never written, and this was computed with it"),
            std::string::npos);
}

// v5 was copied, and VCC computed.
TEST(Uninitialised, AChoiceByAComparison) {
  Unwritten found(
      "v_lshlrev_b32 v1, 2, v0\nv_and_b32 v5, 1, v9\nv_cmp_lt_u32 vcc_lo, v9, v0\n"
      "v_cndmask_b32 v3, v5, v0, vcc_lo\nglobal_store_b32 v1, v3, s[0:1]\n",
      1, 32);
  ASSERT_EQ(found.all.size(), 1u) << found.rules();
  EXPECT_EQ(found.all[0].rule, "an uninitialised value is stored to memory");
}

TEST(Uninitialised, Addresses) {
  EXPECT_EQ(Unwritten("v_and_b32 v3, 0, v3\nglobal_load_b32 v4, v3, s[0:1]\n").rules(), "");
  Unwritten found("v_and_b32 v3, 15, v3\nglobal_load_b32 v4, v3, s[0:1]\n");
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all[0].rule, "an uninitialised value is part of an address");
}

// Bits are followed, not registers.
TEST(Uninitialised, BitsThatDoNotMatter) {
  for (const char* text :
       {"v_and_b32 v3, 0, v5", "v_or_b32 v3, -1, v5", "v_lshlrev_b32 v3, 16, v5\nv_and_b32 v3, 0xffff, v3",
        "v_xor_b32 v3, v5, v5", "v_mul_u32_u24 v3, 0, v5", "v_mov_b32 v3, 1\nv_bfi_b32 v3, 0, v5, v3",
        "v_mov_b16 v3.l, 1\nv_and_b32 v3, 0xffff, v3"})
    EXPECT_EQ(Unwritten(std::string("v_lshlrev_b32 v1, 2, v0\n") + text +
                        "\nv_add_nc_u32 v3, 1, v3\nglobal_store_b32 v1, v3, s[0:1]\n")
                  .rules(),
              "")
        << text;
}

TEST(Uninitialised, LanesThatWereOff) {
  // Half of the lanes write v3: the other half has no value.
  const std::string text = "v_lshlrev_b32 v1, 2, v0\ns_mov_b32 exec_lo, 0xffff\nv_mov_b32 v3, 1\n";
  EXPECT_EQ(Unwritten(text + "global_store_b32 v1, v3, s[0:1]\n", 1, 32).rules(), "");
  Unwritten found(text + "s_mov_b32 exec_lo, -1\nglobal_store_b32 v1, v3, s[0:1]\n", 1, 32);
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all[0].detail.lanes, 0xffff0000u);
}

// A bit of the exponent: whatever the rest of the sum is, some number changes it, in each lane. A NaN stays
// what it is, whatever is added to it.
TEST(Uninitialised, EachBitOfASumDependsOnWhatIsAdded) {
  const auto rules_of = [](const std::string& sum, uint64_t& lanes) {
    Unwritten found(
        "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v6, 0.5\nv_mov_b32 v7, 0x7fc00000\nv_mov_b32 v8, 1.0\n" + sum +
            "\nv_bfe_u32 v5, v4, 27, 1\nglobal_store_b32 v1, v5, s[0:1]\n",
        1, 32);
    lanes = found.all.empty() ? 0 : found.all[0].detail.lanes;
    return found.rules();
  };
  uint64_t lanes = 0;
  for (const char* sum : {"v_add_f32 v4, 0.5, v4", "v_add_f32 v4, v4, v6", "v_sub_f32 v4, v6, v4",
                          "v_fmac_f32 v4, v6, v8", "v_fma_f32 v4, v6, 1.0, -v4"}) {
    EXPECT_NE(rules_of(sum, lanes), "") << sum;
    EXPECT_EQ(lanes, 0xffffffffu) << sum;
  }
  for (const char* sum : {"v_add_f32 v4, v7, v4", "v_fmac_f32 v4, v7, v6"})
    EXPECT_EQ(rules_of(sum, lanes), "") << sum;
}

// 16-bit matrices are in one half of their registers, and the other one stays.
TEST(Uninitialised, HalvesThatMatricesKeep) {
  std::string text = "v_lshlrev_b32 v1, 2, v0\n";
  for (unsigned number = 8; number < 24; ++number) text += "v_mov_b32 v" + std::to_string(number) + ", 0\n";
  for (const char* const format : {"f16", "bf16"}) {
    const std::string product = text + "v_wmma_" + format + "_16x16x16_" + format +
                                " v[24:31], v[8:15], v[16:23], 1.0\n",
                      store = "global_store_b32 v1, v24, s[0:1]\n";
    EXPECT_EQ(Unwritten(product + "v_and_b32 v24, 0xffff, v24\n" + store, 1, 32).rules(), "") << format;
    EXPECT_NE(Unwritten(product + store, 1, 32).rules(), "") << format;
    EXPECT_NE(Unwritten(product + "v_lshrrev_b32 v24, 16, v24\n" + store, 1, 32).rules(), "") << format;
  }
}

TEST(Uninitialised, SpilledLanesKeepWhatTheyLack) {
  Unwritten found(
      "v_lshlrev_b32 v1, 2, v0\ns_mov_b32 exec_lo, 0xffff\nv_mov_b32 v3, 1\ns_mov_b32 exec_lo, -1\n"
      "v_mov_b32 v4, 2\nscratch_store_b64 off, v[3:4], off offset:8\n"
      "scratch_load_b64 v[7:8], off, off offset:8\ns_waitcnt vmcnt(0)\n"
      "global_store_b32 v1, v8, s[0:1]\nglobal_store_b32 v1, v7, s[0:1]\n",
      1, 32);
  ASSERT_EQ(found.all.size(), 1u) << found.rules();
  EXPECT_EQ(found.all[0].detail.lanes, 0xffff0000u);
  EXPECT_NE(found.all[0].detail.text.find("v3 was never written"), std::string::npos) << found.rules();
}

TEST(Uninitialised, BranchesAndExec) {
  Unwritten branch("s_cmp_eq_u32 s9, 7\ns_cbranch_scc1 next\nnext:\n", 1, 32);
  ASSERT_EQ(branch.all.size(), 1u) << branch.rules();
  EXPECT_EQ(branch.all[0].rule, "an uninitialised value decides a branch");
  EXPECT_NE(branch.all[0].detail.text.find("s9 was never written"), std::string::npos);
  Unwritten exec("v_cmp_lt_f32 vcc_lo, 1.0, v9\ns_and_saveexec_b32 s4, vcc_lo\n", 1, 32);
  ASSERT_EQ(exec.all.size(), 1u) << exec.rules();
  EXPECT_EQ(exec.all[0].rule, "an uninitialised value decides which lanes are on (EXEC)");
  // Bits of VCC without a value do not matter where another one is set.
  EXPECT_EQ(Unwritten("s_or_b32 vcc_lo, s9, 1\ns_cbranch_vccnz next\nnext:\n", 1, 32).rules(), "");
}

TEST(Uninitialised, LdsAndScratch) {
  const std::string begin = "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 1\n";
  const std::string end = "s_waitcnt lgkmcnt(0)\ns_waitcnt vmcnt(0)\nglobal_store_b32 v1, v3, s[0:1]\n";
  EXPECT_EQ(Unwritten(begin + "ds_store_b32 v1, v2\nds_load_b32 v3, v1\n" + end).rules(), "");
  Unwritten lds(begin + "ds_load_b32 v3, v1\n" + end, 1, 32);
  ASSERT_EQ(lds.all.size(), 1u) << lds.rules();
  EXPECT_EQ(lds.all[0].detail.text,
            "LDS offset 0x7c was never written: 0 bytes into buffer 'out' of 16384 bytes");
  EXPECT_EQ(
      Unwritten(begin + "scratch_store_b32 off, v2, off offset:4\nscratch_load_b32 v3, off, off offset:4\n" +
                end)
          .rules(),
      "");
  Unwritten scratch(begin + "scratch_load_b32 v3, off, off offset:4\n" + end);
  ASSERT_EQ(scratch.all.size(), 1u) << scratch.rules();
  EXPECT_NE(scratch.all[0].detail.text.find("scratch offset 0x4 was never written"), std::string::npos);
}

// Compilers spill registers that hold nothing, and structures have padding.
TEST(Uninitialised, CopiesAreNoFinding) {
  const std::string begin = "v_lshlrev_b32 v1, 4, v0\nv_mov_b32 v4, 1\n";
  EXPECT_EQ(Unwritten(begin + "scratch_store_b32 off, v9, off\nscratch_load_b32 v9, off, off\n").rules(), "");
  EXPECT_EQ(Unwritten(begin + "global_store_b128 v1, v[2:5], s[0:1]\n").rules(), "");
}

// A VGPR of which one lane holds a scalar, and scalars that are moved.
TEST(Uninitialised, ScalarsInLanes) {
  const std::string begin = "v_lshlrev_b32 v1, 2, v0\ns_mov_b32 s6, 3\ns_mov_b32 s7, 2\n";
  const std::string end = "v_mov_b32 v3, s4\nglobal_store_b32 v1, v3, s[0:1]\n";
  for (const char* good : {"v_writelane_b32 v9, s6, 2\nv_readlane_b32 s4, v9, 2\n",
                           "v_writelane_b32 v9, s6, s7\nv_readlane_b32 s4, v9, 2\n",
                           "v_writelane_b32 v9, 5, 34\nv_readlane_b32 s4, v9, 2\n",
                           "v_writelane_b32 v9, 5, 0\nv_readfirstlane_b32 s4, v9\n",
                           "s_mov_b64 s[4:5], s[6:7]\n", "s_mov_b64 s[4:5], 1\n", "s_mov_b32 s4, s6\n"})
    EXPECT_EQ(Unwritten(begin + good + end, 1, 32).rules(), "") << good;
  for (const char* bad :
       {"v_writelane_b32 v9, s6, 2\nv_readlane_b32 s4, v9, 3\n",
        "v_writelane_b32 v9, s10, 2\nv_readlane_b32 s4, v9, 2\n",
        "v_writelane_b32 v9, 5, 1\nv_readfirstlane_b32 s4, v9\n", "s_mov_b64 s[4:5], s[8:9]\n",
        "s_mov_b64 s[6:7], s[4:5]\ns_mov_b32 s4, s6\n", "s_mov_b32 s4, s10\n"}) {
    Unwritten found(begin + bad + end, 1, 32);
    ASSERT_EQ(found.all.size(), 1u) << bad << found.rules();
    EXPECT_EQ(found.all[0].rule, "an uninitialised value is stored to memory") << bad;
  }
}

// What one wave has shown of instructions that go straight on is no more than what they read and write.
TEST(Uninitialised, EveryWaveIsLookedAt) {
  const std::string text =
      "v_readfirstlane_b32 s4, v0\n"
      "s_cmp_ge_u32 s4, 64\ns_cbranch_scc1 use\nv_mov_b32 v1, 1\ns_branch use\n"
      "use: v_lshlrev_b32 v2, 2, v0\nv_add_nc_u32 v3, v1, v0\n"
      "global_store_b32 v2, v3, s[0:1]\n";
  EXPECT_EQ(Unwritten(text, 1, 64).rules(), "");
  const Unwritten third(text, 1, 128);
  ASSERT_EQ(third.all.size(), 1u) << third.rules();
  EXPECT_EQ(third.all[0].count, 2u);
  EXPECT_EQ(third.all[0].wave, 2u);
}

// Lanes that are off keep what they have, whoever has come there before with all lanes on.
TEST(Uninitialised, EveryWaveHasItsOwnLanes) {
  const std::string text =
      "v_readfirstlane_b32 s4, v0\ns_cmp_ge_u32 s4, 64\ns_cselect_b32 s4, 1, -1\n"
      "s_mov_b32 exec_lo, s4\n"
      "v_mov_b32 v1, 1\nv_readlane_b32 s5, v1, 5\ns_cmp_eq_u32 s5, 1\n"
      "s_cbranch_scc1 end\nend: s_nop 0\n";
  EXPECT_EQ(Unwritten(text, 1, 64).rules(), "");
  const Unwritten third(text, 1, 96);
  ASSERT_EQ(third.all.size(), 1u) << third.rules();
  EXPECT_EQ(third.all[0].wave, 2u);
}

// What was never written of LDS and scratch has no value in the next group either.
TEST(Uninitialised, MemoryOfEachGroup) {
  const std::string load =
      "v_mov_b32 v1, 0\nscratch_load_b64 v[2:3], off, off offset:8\nds_load_b32 v4, v1\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_b32 v1, v2, s[0:1]\n"
      "global_store_b32 v1, v3, s[0:1] offset:4\nglobal_store_b32 v1, v4, s[0:1] offset:8\n";
  const std::string store = "scratch_store_b32 off, v0, off offset:12\n";
  const Unwritten groups("s_mov_b32 exec_lo, 2\n" + store + load, 3, 32);
  ASSERT_EQ(groups.all.size(), 2u) << groups.rules();
  EXPECT_EQ(groups.all[0].count, 3u);
  EXPECT_EQ(groups.all[1].count, 3u);
}

TEST(Uninitialised, Wave64) {
  EXPECT_EQ(Unwritten("v_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v7, s[0:1]\n", 1, 64, 64).all.size(),
            1u);
  EXPECT_EQ(Unwritten("v_cmp_eq_u32 vcc, 0, v0\ns_and_saveexec_b64 s[4:5], vcc\n", 1, 64, 64).rules(), "");
}

// ---- Barriers

TEST(BarrierChecker, AllWorkItemsComeToIt) {
  EXPECT_EQ(Barriers("s_barrier\n").rules(), "");
  EXPECT_EQ(Barriers("s_barrier\ns_barrier\n", 2, 40).rules(), "");
}

TEST(BarrierChecker, LanesThatAreOff) {
  Barriers found("s_mov_b32 exec_lo, 0xff\ns_barrier\n");
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all[0].count, 2u);
  EXPECT_EQ(found.all[0].detail.lanes, 0xffffff00u);
}

TEST(BarrierChecker, AWaveThatHasEnded) {
  Barriers found(std::string(kIsFirst) + "s_cbranch_scc1 next\ns_endpgm\nnext: s_barrier\n");
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all[0].detail.text, "work-group (0, 0, 0), wave 1 has ended");
}

TEST(BarrierChecker, DifferentBarriers) {
  Barriers found(std::string(kIsFirst) + "s_cbranch_scc1 next\ns_barrier\ns_endpgm\nnext: s_barrier\n");
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_NE(found.all[0].rule.find("wait at different barriers"), std::string::npos);
  EXPECT_NE(found.all[0].detail.other_pc, 0u);
}

// One barrier, in a function that is called from two places.
TEST(BarrierChecker, OneBarrierOnTwoWays) {
  const auto text = [](std::string_view second) {
    return "s_getpc_b64 s[6:7]\nhere: s_add_u32 s6, s6, meet-here\ns_addc_u32 s7, s7, 0\n" +
           std::string(kIsFirst) +
           "s_cbranch_scc1 next\ns_swappc_b64 s[30:31], s[6:7]\ns_endpgm\n"
           "next: " +
           std::string(second) + "s_endpgm\nmeet: s_barrier\ns_setpc_b64 s[30:31]\n";
  };
  Barriers found(text("s_swappc_b64 s[30:31], s[6:7]\n"));
  ASSERT_EQ(found.all.size(), 1u) << found.rules();
  EXPECT_NE(found.all[0].rule.find("wait at different barriers"), std::string::npos);
  EXPECT_NE(found.all[0].pc, found.all[0].detail.other_pc);
  EXPECT_EQ(Barriers("s_getpc_b64 s[6:7]\nhere: s_add_u32 s6, s6, meet-here\ns_addc_u32 s7, s7, 0\n"
                     "s_swappc_b64 s[30:31], s[6:7]\ns_swappc_b64 s[30:31], s[6:7]\ns_endpgm\n"
                     "meet: s_barrier\ns_setpc_b64 s[30:31]\n")
                .rules(),
            "");
}

// ---- What costs time

// Each lane's dwords at `stride` bytes from the lane before.
std::vector<MemoryAccess> strided(MemorySpace space, unsigned stride, unsigned bytes, int lanes = 32) {
  std::vector<MemoryAccess> accesses;
  for (int lane = 0; lane < lanes; ++lane)
    accesses.push_back({.address = 0x1000 + uint64_t{stride} * static_cast<unsigned>(lane),
                        .bytes = bytes,
                        .lane = static_cast<int16_t>(lane),
                        .space = space,
                        .reads = true});
  return accesses;
}

TEST(Traffic, LanesMeetInBanks) {
  const auto clocks = [](unsigned stride, unsigned bytes, int lanes = 32) {
    const Traffic traffic = bank_clocks(strided(MemorySpace::lds, stride, bytes, lanes));
    return std::pair(traffic.taken, traffic.needed);
  };
  EXPECT_EQ(clocks(4, 4), std::pair(1ul, 1ul));
  EXPECT_EQ(clocks(4, 4, 64), std::pair(2ul, 2ul));
  EXPECT_EQ(clocks(0, 4), std::pair(1ul, 1ul));  // one dword for all
  EXPECT_EQ(clocks(1, 1), std::pair(1ul, 1ul));  // four lanes a dword
  EXPECT_EQ(clocks(8, 4), std::pair(2ul, 1ul));
  EXPECT_EQ(clocks(128, 4), std::pair(32ul, 1ul));
  EXPECT_EQ(clocks(132, 4), std::pair(1ul, 1ul));  // rows of 33 dwords
  EXPECT_EQ(clocks(8, 8), std::pair(2ul, 2ul));    // half a wave at a time
  EXPECT_EQ(clocks(16, 16), std::pair(4ul, 4ul));
  EXPECT_EQ(clocks(256, 8), std::pair(32ul, 2ul));
  EXPECT_EQ(bank_clocks(strided(MemorySpace::global, 128, 4)).needed, 0u);
}

TEST(Traffic, LanesTouchCacheLines) {
  const auto lines = [](unsigned stride, unsigned bytes) {
    const Traffic traffic = cache_lines(strided(MemorySpace::global, stride, bytes));
    return std::pair(traffic.taken, traffic.needed);
  };
  EXPECT_EQ(lines(4, 4), std::pair(1ul, 1ul));
  EXPECT_EQ(lines(0, 4), std::pair(1ul, 1ul));
  EXPECT_EQ(lines(16, 16), std::pair(4ul, 4ul));
  EXPECT_EQ(lines(128, 4), std::pair(32ul, 1ul));
  EXPECT_EQ(lines(64, 8), std::pair(16ul, 2ul));
  std::vector<MemoryAccess> dropped = strided(MemorySpace::global, 128, 4);
  for (MemoryAccess& access : dropped) access.reach = Reach::dropped;
  EXPECT_EQ(cache_lines(dropped).taken, 0u);
}

TEST(Cost, BankConflictsOfLds) {
  Costs found("v_lshlrev_b32 v1, 3, v0\nds_load_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n", 3, 32);
  ASSERT_EQ(found.all.size(), 1u) << found.rules();
  EXPECT_STREQ(found.all[0].checker, "cost");
  EXPECT_EQ(found.all[0].count, 3u);
  EXPECT_EQ(found.all[0].pc, found.dispatch.pc(1));
  EXPECT_EQ(found.all[0].detail.severity, Severity::note);
  EXPECT_EQ(found.all[0].detail.text, "2.0 clocks a wave, 1.0 without conflicts");
  EXPECT_EQ(Costs("v_lshlrev_b32 v1, 2, v0\nds_load_b32 v2, v1\n").rules(), "");
}

TEST(Cost, CacheLinesOfMemory) {
  Costs found("v_lshlrev_b32 v1, 5, v0\nglobal_load_b32 v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\n", 1, 32);
  ASSERT_EQ(found.all.size(), 1u) << found.rules();
  // Eight, and one more where the buffer begins in the middle of one.
  EXPECT_NE(found.all[0].detail.text.find(" lines of 128 bytes a wave, for bytes that fit into 1.0"),
            std::string::npos)
      << found.all[0].detail.text;
  EXPECT_EQ(Costs("v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1]\n").rules(), "");
}

TEST(Cost, PrivateMemory) {
  Costs found("scratch_store_b32 off, v0, off\nscratch_load_b32 v1, off, off\n");
  ASSERT_EQ(found.all.size(), 1u) << found.rules();
  EXPECT_EQ(found.all[0].count, 4u);
  EXPECT_EQ(found.all[0].detail.text.substr(0, 25), "2 instructions, 100.0 % o");
}

TEST(Cost, LanesThatAreOff) {
  Costs found(
      "v_mov_b32 v1, 0\ns_mov_b32 exec_lo, 3\nv_add_nc_u32 v1, v1, v0\nv_add_nc_u32 v1, v1, v0\n"
      "s_mov_b32 exec_lo, -1\nv_mov_b32 v2, 0\n",
      1, 32);
  ASSERT_EQ(found.all.size(), 1u) << found.rules();
  EXPECT_EQ(found.all[0].pc, found.dispatch.pc(2));
  EXPECT_EQ(found.all[0].detail.other_pc, found.dispatch.pc(3));
  EXPECT_EQ(found.all[0].detail.text,
            "2 vector instructions with 6.2 % of the lanes on: 46.9 % of the lanes' time in this kernel");
}

}  // namespace
}  // namespace lockstep::observe

// What a listener is told: each instruction once, with the accesses that it makes, on every engine, and
// nothing that changes a result.
#include "engine/listener.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/interpreter/interpreter.h"
#include "engine/listeners.h"
#include "machine/device.h"
#include "machine/wave_control.h"
#include "observe/fidelity/fidelity.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::observe {
namespace {

// Writes down what it is told, in a line each.
struct Recorder : Listener {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::vector<MemoryAccess> accesses;  // of all instructions
  uint64_t instructions = 0, finished = 0, faults = 0;
  Order its_order = Order::serial;

  Order order() const override { return its_order; }
  void say(std::string line) {
    std::lock_guard lock(mutex);
    lines.push_back(std::move(line));
  }
  void before(const Event& event) override {
    std::lock_guard lock(mutex);
    ++instructions;
    accesses.insert(accesses.end(), event.accesses.begin(), event.accesses.end());
  }
  void after(const Event&) override {
    std::lock_guard lock(mutex);
    ++finished;
  }
  void faulted(const Event&) override { ++faults; }
  void dispatch_begins(const DispatchEvent&) override { say("dispatch begins"); }
  void dispatch_ends(const DispatchEvent&) override { say("dispatch ends"); }
  void group_begins(const WorkGroup& group) override {
    say("group " + std::to_string(group.number) + " begins");
  }
  void group_ends(const WorkGroup& group) override { say("group " + std::to_string(group.number) + " ends"); }
  void wave_begins(const Wave& wave) override {
    say("wave " + std::to_string(wave.index_in_group) + " begins");
  }
  void wave_ends(const Wave& wave) override { say("wave " + std::to_string(wave.index_in_group) + " ends"); }
  void barrier_passed(const WorkGroup&) override { say("barrier"); }
};

struct Listened : Recorder {
  machine::Dispatch dispatch;
  machine::Outcome outcome;

  explicit Listened(std::string_view text, uint32_t groups = 1, uint32_t items = 32, bool precisely = false,
                    unsigned wave_size = 32)
      : dispatch(text, groups, items, wave_size) {
    dispatch.launch.scratch_bytes = 64;
    dispatch.options.precise.listener = this;
    if (precisely) dispatch.options.precise.exceptions = true;
    outcome = dispatch.run();
  }
};

constexpr std::string_view kStore = "v_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v0, s[0:1]\n";

TEST(Listener, IsToldOfEachInstructionOnce) {
  for (const bool precisely : {false, true}) {
    Listened l(
        "s_mov_b32 s4, 3\nloop: s_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 loop\ns_barrier\n", 2,
        64, precisely);
    EXPECT_EQ(l.instructions, l.outcome.totals.instructions);
    EXPECT_EQ(l.finished, l.instructions);
    EXPECT_EQ(l.instructions, 4u * (1 + 3 * 3 + 1 + 1));
  }
}

// Of three dwords that go straight on it passes over the second one.
struct LooksAhead : Listener {
  uint64_t until = 0;
  std::vector<uint64_t> told;

  bool wants_after(const isa::Instruction&) const override { return false; }
  bool looks_ahead() const override { return true; }
  uint64_t passes_until(const Wave&) const override { return until; }
  void before(const Event& event) override {
    told.push_back(event.pc);
    until = event.goes_straight_on ? event.pc + 8 : 0;
  }
};

TEST(Listener, IsNotToldOfWhatItPassesOver) {
  const char* const text =
      "s_mov_b32 s4, 2\nloop: s_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 loop\ns_mov_b32 s5, "
      "0\n";
  LooksAhead ahead;
  Recorder other;
  Listeners both;
  both.add(ahead);
  both.add(other);
  const auto run = [&](Listener& listener, bool precisely) {
    machine::Dispatch dispatch(text, 1, 32);
    dispatch.options.precise.listener = &listener;
    dispatch.options.precise.exceptions = precisely;
    ahead.told.clear();
    EXPECT_FALSE(dispatch.run().fault);
    for (uint64_t& pc : ahead.told) pc = (pc - dispatch.pc(0)) / 4;
    return ahead.told;
  };
  // Where the branch leads, and behind it, it is told again, however far it had passed.
  EXPECT_EQ(run(ahead, false), (std::vector<uint64_t>{0, 2, 3, 1, 3, 4, 5}));
  // Others are told of all; and where something may come between two instructions nothing is passed over.
  const std::vector<uint64_t> all{0, 1, 2, 3, 1, 2, 3, 4, 5};
  EXPECT_EQ(run(both, false), all);
  EXPECT_EQ(other.instructions, all.size());
  EXPECT_EQ(run(ahead, true), all);
}

TEST(Listener, IsToldOfGroupsWavesAndBarriers) {
  Listened l("s_barrier\n", 1, 64);
  EXPECT_EQ(l.lines, (std::vector<std::string>{"dispatch begins", "group 0 begins", "wave 0 begins",
                                               "wave 1 begins", "barrier", "wave 0 ends", "wave 1 ends",
                                               "group 0 ends", "dispatch ends"}));
}

TEST(Listener, SeesTheLanesOfAStore) {
  for (const bool precisely : {false, true}) {
    Listened l(kStore, 1, 32, precisely);
    ASSERT_EQ(l.accesses.size(), 32u);
    for (int lane = 0; lane < 32; ++lane) {
      const MemoryAccess& access = l.accesses[static_cast<size_t>(lane)];
      EXPECT_EQ(access.lane, lane);
      EXPECT_EQ(access.address, l.dispatch.address() + 4 * static_cast<unsigned>(lane));
      EXPECT_EQ(access.bytes, 4u);
      EXPECT_TRUE(access.writes && !access.reads && access.reach == Reach::inside &&
                  access.space == MemorySpace::global);
    }
  }
}

// Of one active lane, from the instruction that `text` ends with.
MemoryAccess only_access(const std::string& text) {
  Listened l("s_mov_b32 exec_lo, 1\n" + text + "\n");
  EXPECT_FALSE(l.outcome.fault) << text << ": " << l.outcome.fault->fault.message;
  EXPECT_EQ(l.accesses.size(), 1u) << text;
  return l.accesses.empty() ? MemoryAccess{} : l.accesses[0];
}

TEST(Listener, SeesEverySpace) {
  MemoryAccess a = only_access("v_mov_b32 v1, 8\nds_store_b64 v1, v[2:3] offset:16");
  EXPECT_TRUE(a.space == MemorySpace::lds && a.address == 24 && a.bytes == 8 && a.writes && !a.reads);
  a = only_access("s_mov_b32 m0, 12\nds_load_addtid_b32 v1 offset:4");
  EXPECT_TRUE(a.space == MemorySpace::lds && a.address == 16 && a.bytes == 4 && a.reads);
  a = only_access("v_mov_b32 v1, 8\nds_add_u32 v1, v2");
  EXPECT_TRUE(a.reads && a.writes && a.address == 8);
  a = only_access("v_mov_b32 v1, 4\nscratch_store_b32 v1, v2, off offset:8");
  EXPECT_TRUE(a.space == MemorySpace::scratch && a.address == 12 && a.writes);
  a = only_access("s_load_b128 s[4:7], s[0:1], 0x10");
  EXPECT_TRUE(a.space == MemorySpace::scalar && a.bytes == 16 && a.lane == -1 && a.reads);
  a = only_access("v_mov_b32 v1, 0xfffc\nds_load_b32 v2, v1");
  EXPECT_EQ(a.reach, Reach::dropped);
  // Flat addresses fall into all of them.
  a = only_access(
      "s_mov_b64 s[4:5], src_shared_base\nv_mov_b32 v2, 4\nv_mov_b32 v3, s5\nflat_load_b32 v4, v[2:3]");
  EXPECT_TRUE(a.space == MemorySpace::lds && a.address == 4);
}

// The last description of lanes that do alike, and their accesses one by one.
struct SeesAlike : Listener {
  std::optional<AlikeAccesses> alike;
  std::vector<MemoryAccess> accesses;
  void before(const Event& event) override {
    if (event.accesses.empty()) return;
    alike = event.accesses.alike() ? std::optional(*event.accesses.alike()) : std::nullopt;
    accesses.assign(event.accesses.begin(), event.accesses.end());
  }
  explicit SeesAlike(const std::string& text) {
    machine::Dispatch dispatch(text, 1, 32);
    dispatch.launch.scratch_bytes = 64;
    dispatch.options.precise.listener = this;
    EXPECT_FALSE(dispatch.run().fault) << text;
  }
};

TEST(Listener, DescribesLanesThatDoAlike) {
  const SeesAlike two(
      "v_lshlrev_b32 v1, 3, v0\ns_mov_b32 exec_lo, 0xff0e\n"
      "ds_load_2addr_b32 v[2:3], v1 offset0:1 offset1:8\n");
  ASSERT_TRUE(two.alike);
  EXPECT_TRUE(two.alike->space == MemorySpace::lds && two.alike->reads && !two.alike->writes);
  EXPECT_EQ(two.alike->lanes, 0xff0eu);
  EXPECT_EQ(two.alike->first, 8u + 4);
  EXPECT_EQ(two.alike->end, 15u * 8 + 32 + 4);
  EXPECT_FALSE(two.alike->is_uniform || two.alike->are_lanes_in_a_row());
  // Lanes that are off repeat the first one that is on.
  for (const unsigned lane : {0u, 4u, 31u, 63u}) EXPECT_EQ(two.alike->address(lane), 12u) << lane;
  ASSERT_EQ(two.accesses.size(), 2 * 11u);
  for (size_t i = 0, lane = 1; i < two.accesses.size(); ++i) {
    const MemoryAccess& access = two.accesses[i];
    EXPECT_EQ(access.lane, static_cast<int>(lane));
    EXPECT_EQ(access.address, lane * 8 + (i % 2 == 0 ? 4 : 32));
    EXPECT_TRUE(access.bytes == 4 && access.reads && !access.writes && access.reach == Reach::inside);
    if (i % 2 == 1) lane = lane == 3 ? 8 : lane + 1;
  }
  const SeesAlike row("v_lshlrev_b32 v1, 4, v0\nds_store_b128 v1, v[4:7]\n");
  ASSERT_TRUE(row.alike);
  EXPECT_TRUE(row.alike->is_consecutive() && row.alike->writes && !row.alike->is_uniform);
  const SeesAlike one("v_mov_b32 v1, 24\nds_load_b32 v2, v1\n");
  ASSERT_TRUE(one.alike);
  EXPECT_TRUE(one.alike->is_uniform && !one.alike->is_consecutive());
  const SeesAlike scratch("s_mov_b32 s4, 8\nscratch_store_b32 off, v2, s4 offset:4\n");
  ASSERT_TRUE(scratch.alike);
  EXPECT_TRUE(scratch.alike->is_uniform && scratch.alike->first == 12 &&
              scratch.alike->space == MemorySpace::scratch);
  // A negative offset comes around.
  const SeesAlike around("v_mov_b32 v1, 16\nscratch_store_b32 v1, v2, off offset:-8\n");
  ASSERT_EQ(around.accesses.size(), 32u);
  EXPECT_EQ(around.accesses[31].address, 8u);
  // One lane behind the end, or at an address that an atomic may not have.
  const SeesAlike outside(
      "v_lshlrev_b32 v1, 2, v0\nv_cmp_eq_u32 vcc_lo, 31, v0\nv_cndmask_b32 v1, v1, -4, vcc_lo\n"
      "ds_load_b32 v2, v1\n");
  EXPECT_FALSE(outside.alike);
  ASSERT_EQ(outside.accesses.size(), 32u);
  EXPECT_TRUE(outside.accesses[30].reach == Reach::inside && outside.accesses[31].reach == Reach::dropped);
}

TEST(Listener, DescribesAddressesOfTwoRegisters) {
  const SeesAlike near(
      "v_lshlrev_b32 v2, 2, v0\nv_add_co_u32 v2, vcc_lo, v2, s0\n"
      "v_add_co_ci_u32 v3, vcc_lo, s1, 0, vcc_lo\nglobal_load_b32 v4, v[2:3], off offset:4\n");
  ASSERT_TRUE(near.alike);
  EXPECT_TRUE(near.alike->is_consecutive());
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(near.accesses[lane].address, near.alike->first + 4 * lane);
    EXPECT_EQ(near.alike->address(lane), near.accesses[lane].address);
  }
}

TEST(Listener, SeesWhatABufferResourceDrops) {
  Listened l(
      "s_mov_b32 s2, 64\ns_mov_b32 s3, 0x31016000\nv_lshlrev_b32 v1, 2, v0\n"
      "buffer_store_b32 v1, v1, s[0:3], 0 offen\n");
  ASSERT_EQ(l.accesses.size(), 32u);
  EXPECT_EQ(l.accesses[15].reach, Reach::inside);
  EXPECT_EQ(l.accesses[16].reach, Reach::dropped);
  EXPECT_EQ(l.dispatch.buffer[15], 60u);
  EXPECT_EQ(l.dispatch.buffer[16], 0u);
}

TEST(Listener, IsToldOfAFaultInsteadOfItsEnd) {
  for (const bool precisely : {false, true}) {
    Listened l("v_mov_b32 v1, 0x7ffffffc\nglobal_store_b32 v1, v0, s[0:1]\n", 1, 32, precisely);
    ASSERT_TRUE(l.outcome.fault);
    EXPECT_EQ(l.faults, 1u);
    EXPECT_EQ(l.finished, l.instructions - 1);
    EXPECT_EQ(l.accesses[0].reach, Reach::refused);
  }
}

// One that wants memory instructions alone is told of no others, and of those at once.
TEST(Listener, ChoosesItsInstructions) {
  struct : Recorder {
    bool wants(const isa::Instruction& instruction) const override {
      return instruction.row->encoding == isa::Encoding::global;
    }
    void after(const Event& event) override { value = event.wave.scalar[4]; }
    uint32_t value = 0;
  } recorder;
  machine::Dispatch d(
      "s_mov_b32 s4, 1\nv_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v0, s[0:1]\ns_mov_b32 s4, 2\n", 1, 32);
  d.options.precise.listener = &recorder;
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(recorder.instructions, 1u);
  EXPECT_EQ(recorder.value, 1u);
}

// One that does not want to know what lies behind an instruction is not told that it faulted when another one
// has, of which it is told nothing.
TEST(Listener, IsToldOfItsOwnFaultsAlone) {
  struct : Recorder {
    isa::Encoding wanted = isa::Encoding::global;
    bool wants(const isa::Instruction& instruction) const override {
      return instruction.row->encoding == wanted;
    }
    bool wants_after(const isa::Instruction&) const override { return false; }
  } recorder;
  machine::Dispatch d(
      "v_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v0, s[0:1]\ns_mov_b64 s[4:5], 0\n"
      "s_load_b32 s6, s[4:5], 0\n",
      1, 32);
  d.options.precise.listener = &recorder;
  EXPECT_TRUE(d.run().fault);
  EXPECT_EQ(recorder.instructions, 1u);
  EXPECT_EQ(recorder.faults, 0u);
  recorder.wanted = isa::Encoding::smem;
  EXPECT_TRUE(d.run().fault);
  EXPECT_EQ(recorder.instructions, 2u);
  EXPECT_EQ(recorder.faults, 1u);
}

TEST(Listener, UsesAllThreadsIfItMay) {
  struct : Recorder {
    std::mutex ids_mutex;
    std::vector<std::thread::id> ids;
    void group_begins(const WorkGroup&) override {
      {
        std::lock_guard lock(ids_mutex);
        ids.push_back(std::this_thread::get_id());
      }
      // The other thread gets its group meanwhile.
      while (ids_of().size() < 2) std::this_thread::yield();
    }
    std::vector<std::thread::id> ids_of() {
      std::lock_guard lock(ids_mutex);
      return ids;
    }
  } recorder;
  recorder.its_order = Listener::Order::groups;
  machine::Dispatch d(kStore, 2, 32);
  d.options.threads = 2;
  d.options.precise.listener = &recorder;
  EXPECT_FALSE(d.run().fault);
  ASSERT_EQ(recorder.ids.size(), 2u);
  EXPECT_NE(recorder.ids[0], recorder.ids[1]);
}

// As queues launch them: side by side, with what a serial listener is told never overlapping.
TEST(Listener, FollowsTheDispatchesOfADevice) {
  struct : Recorder {
    std::atomic<int> inside = 0;
    void before(const Event& event) override {
      EXPECT_EQ(inside.fetch_add(1), 0);
      Recorder::before(event);
      --inside;
    }
  } recorder;
  machine::Dispatch d(kStore, 16, 64);
  machine::Device::Options options;
  options.hardware = hardware::models().front();
  options.threads = 4;
  machine::Device::Precise precise;
  precise.settings.listener = &recorder;
  std::atomic<bool> is_done = false;
  machine::Outcome outcome;
  {
    machine::Device device(std::move(options));
    device.start(
        d.launch, 0,
        [&](machine::Outcome&& given) {
          outcome = std::move(given);
          is_done = true;
          is_done.notify_all();
        },
        &precise);
    is_done.wait(false);
  }
  EXPECT_FALSE(outcome.fault);
  EXPECT_EQ(recorder.instructions, outcome.totals.instructions);
  EXPECT_EQ(recorder.accesses.size(), 16u * 64);
  EXPECT_EQ(recorder.lines.front(), "dispatch begins");
  EXPECT_EQ(recorder.lines.back(), "dispatch ends");
}

// ---- The disagreements of the accounts that there were before

// A kernel that reads TRAPSTS sees the same with and without a listener: 4, division by zero.
constexpr std::string_view kReadsExceptions =
    "v_rcp_f32 v2, 0\ns_getreg_b32 s4, hwreg(HW_REG_TRAPSTS, 0, 7)\nv_mov_b32 v3, s4\n"
    "v_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v3, s[0:1]\n";

uint32_t exceptions_seen(Listener* listener) {
  machine::Dispatch d(kReadsExceptions, 1, 32);
  d.launch.rsrc1 &= ~(1u << 21);  // DX10_CLAMP silences exceptions
  d.launch.uses_exceptions = true;
  d.options.precise.listener = listener;
  EXPECT_FALSE(d.run().fault);
  return d.buffer[0];
}

TEST(Listener, DoesNotChangeWhatAProgramSeesOfItsExceptions) {
  FidelityListener fidelity;
  EXPECT_EQ(exceptions_seen(nullptr), 4u);
  EXPECT_EQ(exceptions_seen(&fidelity), 4u);
}

TEST(Listener, RunsBesideRulesResultsThatLandLateAndACommander) {
  Recorder recorder;
  FidelityListener fidelity;
  Listeners both;
  both.add(recorder);
  both.add(fidelity);
  machine::Dispatch d(
      "v_sin_f32 v2, v0\nv_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v2, s[0:1]\n"
      "s_clause 0x3f\n",
      1, 32);
  d.options.precise.rules = precise::Rules::warn;
  d.options.precise.results = precise::Results::late;
  d.options.precise.listener = &both;
  machine::WaveControl control;
  d.options.control = &control;
  const machine::Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault);
  EXPECT_EQ(outcome.findings.size(), 1u);  // of the clause
  ASSERT_EQ(fidelity.findings().size(), 1u);
  EXPECT_EQ(fidelity.findings()[0].uses[static_cast<size_t>(Sink::memory)], 1u);
  EXPECT_EQ(recorder.instructions, outcome.totals.instructions);
  EXPECT_EQ(recorder.accesses.size(), 32u);
}

}  // namespace
}  // namespace lockstep::observe

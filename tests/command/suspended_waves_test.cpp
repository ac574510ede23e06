// Queues that are taken off the device while their waves run: these stand still, others have the room, and
// they go on with all that they had.
#include <algorithm>
#include <thread>
#include <vector>

#include "tests/command/machine_under_test.h"

namespace lockstep::command {
namespace {

// Counts in an SGPR, a VGPR, LDS and scratch, and tells its group's dword of the second buffer how far it is,
// until that of the first buffer is not 0; then the four counts go to the third one, with where the wave was
// at its begin and its end (HW_ID1). Half of a work-group processor's LDS is each group's.
const TestKernel kCountEverywhere = {
    .name = "count_everywhere",
    .body =
        "s_load_b128 s[4:7], s[0:1], 0x0\ns_load_b64 s[8:9], s[0:1], 0x10\ns_mov_b32 s10, 0\n"
        "s_getreg_b32 s14, hwreg(HW_REG_HW_ID1)\nv_mov_b32 v1, 0\nv_mov_b32 v5, 0\nv_lshlrev_b32 v6, 2, "
        "v0\ns_lshl_b32 s11, s2, 2\n"
        "v_mov_b32 v7, s11\nds_store_b32 v6, v1\nscratch_store_b32 off, v1, off\ns_waitcnt lgkmcnt(0)\n"
        "s_waitcnt_vscnt null, 0x0\n"
        "again:\ns_add_u32 s10, s10, 1\nv_add_nc_u32 v5, v5, 1\nds_load_b32 v8, v6\n"
        "scratch_load_b32 v9, off, off\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_add_nc_u32 v8, v8, 1\n"
        "v_add_nc_u32 v9, v9, 1\nds_store_b32 v6, v8\nscratch_store_b32 off, v9, off\n"
        "v_mov_b32 v3, s10\nglobal_store_b32 v7, v3, s[6:7]\n"
        "global_load_b32 v2, v7, s[4:5] glc dlc\ns_waitcnt vmcnt(0)\ns_waitcnt_vscnt null, 0x0\n"
        "v_readfirstlane_b32 s12, v2\ns_cmp_eq_u32 s12, 0\ns_cbranch_scc1 again\n"
        "s_lshl_b32 s11, s2, 5\nv_mov_b32 v4, s11\ns_mov_b32 exec_lo, 0x80000000\n"
        "s_getreg_b32 s15, hwreg(HW_REG_HW_ID1)\nv_mov_b32 v10, s14\nv_mov_b32 v11, s15\n"
        "global_store_b32 v4, v3, s[8:9]\nglobal_store_b32 v4, v5, s[8:9] offset:4\n"
        "global_store_b32 v4, v8, s[8:9] offset:8\nglobal_store_b32 v4, v9, s[8:9] offset:12\n"
        "global_store_b64 v4, v[10:11], s[8:9] offset:16",
    .directives =
        ".amdhsa_group_segment_fixed_size 65536\n.amdhsa_private_segment_fixed_size 16\n"
        ".amdhsa_enable_private_segment 1"};

struct SuspendedWavesTest : testing::TestWithParam<machine::EngineKind> {
  static constexpr uint32_t kAllRoom = 96;  // groups of kCountEverywhere that the device holds
  MachineUnderTest m{2, "navi31", AddressSpace::Changes::seen_by_next_dispatch, GetParam()};
  const uint64_t kernel = m.load(kCountEverywhere);

  // A dispatch of it.
  struct Counting {
    uint32_t groups;
    uint32_t *flags, *counts, *results;
    uint64_t* arguments;
    uint64_t signal;
  };
  Counting counting(uint32_t groups) {
    Counting c{groups, m.buffer(groups), m.buffer(groups), m.buffer(8 * size_t{groups}), nullptr, 0};
    c.arguments = reinterpret_cast<uint64_t*>(m.buffer(6));
    c.arguments[0] = reinterpret_cast<uint64_t>(c.flags);
    c.arguments[1] = reinterpret_cast<uint64_t>(c.counts);
    c.arguments[2] = reinterpret_cast<uint64_t>(c.results);
    c.signal = m.processor->signals().create(1);
    return c;
  }
  void start(AqlQueue& queue, const Counting& c) {
    AqlPacket packet = dispatch_packet(kernel, c.arguments, c.groups, 32, c.signal);
    packet.dispatch.group_segment_size = 65536;
    packet.dispatch.private_segment_size = 16;
    submit(queue, packet);
  }
  static std::vector<uint32_t> counts_of(const Counting& c) {
    std::vector<uint32_t> counts;
    for (uint32_t i = 0; i < c.groups; ++i) counts.push_back(load_shared<uint32_t>(c.counts + i));
    return counts;
  }
  // All groups count on from there.
  static bool run_on(const Counting& c, const std::vector<uint32_t>& from) {
    const auto end = in_seconds(60);
    for (uint32_t i = 0; i < c.groups; ++i)
      while (load_shared<uint32_t>(c.counts + i) == from[i]) {
        if (Waiters::Clock::now() > end) return false;
        std::this_thread::yield();
      }
    return true;
  }
  static bool start_all(const Counting& c) { return run_on(c, std::vector<uint32_t>(c.groups)); }
  bool ends(const Counting& c) {
    return m.processor->waiters().wait([&] { return m.processor->signals().load(c.signal) == 0; },
                                       in_seconds(60));
  }
  static bool stand_still(const Counting& c) {
    const auto before = counts_of(c);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return counts_of(c) == before;
  }
  static void expect_results(const Counting& c) {
    for (uint32_t i = 0; i < c.groups; ++i)
      for (int k = 0; k < 4; ++k) EXPECT_EQ(c.results[8 * i + k], c.counts[i]) << "group " << i << ", " << k;
  }
  static bool has_moved(const Counting& c, uint32_t group) {
    return c.results[8 * group + 4] != c.results[8 * group + 5];
  }
  void let_end(const Counting& c) {
    for (uint32_t i = 0; i < c.groups; ++i) store_shared<uint32_t>(c.flags + i, 1);
    ASSERT_TRUE(ends(c));
    expect_results(c);
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, SuspendedWavesTest,
                         testing::Values(machine::EngineKind::interpreter, machine::EngineKind::translator),
                         [](const auto& info) {
                           return info.param == machine::EngineKind::interpreter ? "Interpreter"
                                                                                 : "Translator";
                         });

TEST_P(SuspendedWavesTest, StandStillAndGoOnWithWhatTheyHad) {
  const auto queue = m.queue();
  const Counting first = counting(3), second = counting(5);
  start(*queue, first);
  start(*queue, second);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(run_on(first, counts_of(first)) && run_on(second, counts_of(second)));
    m.processor->evict(*queue);
    EXPECT_TRUE(stand_still(first) && stand_still(second));
    EXPECT_EQ(m.processor->signals().load(first.signal), 1);
    m.processor->evict(*queue);  // once more changes nothing
    EXPECT_TRUE(stand_still(first));
    const auto before = counts_of(first);
    m.processor->resume(queue);
    EXPECT_TRUE(run_on(first, before));
  }
  let_end(first);
  let_end(second);
}

TEST_P(SuspendedWavesTest, PacketsAloneMayWait) {
  const auto queue = m.queue();
  const Counting runs = counting(2);
  start(*queue, runs);
  ASSERT_TRUE(start_all(runs));
  m.processor->suspend(*queue);
  EXPECT_TRUE(run_on(runs, counts_of(runs)));
  m.processor->resume(queue);
  let_end(runs);
}

TEST_P(SuspendedWavesTest, OthersHaveTheirRoom) {
  const auto queue = m.queue(), other = m.queue();
  const Counting full = counting(kAllRoom + 10), small = counting(kAllRoom), later = counting(kAllRoom);
  start(*queue, full);
  const auto is_full = [&] { return std::ranges::count(counts_of(full), 0u) == 10; };
  for (const auto end = in_seconds(60); !is_full() && Waiters::Clock::now() < end;) std::this_thread::yield();
  ASSERT_TRUE(is_full());
  start(*other, small);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(counts_of(small), std::vector<uint32_t>(kAllRoom)) << "there is no room for them";
  m.processor->evict(*queue);
  EXPECT_TRUE(start_all(small));
  EXPECT_TRUE(stand_still(full) && is_full());
  let_end(small);
  // The room is taken again when they come back: they wait for it, and new groups wait behind them.
  start(*other, later);
  ASSERT_TRUE(start_all(later));
  m.processor->resume(queue);
  EXPECT_TRUE(stand_still(full));
  const auto before = counts_of(full);
  let_end(later);
  for (uint32_t i = 0; i < full.groups; ++i)
    if (before[i] != 0)
      for (const auto end = in_seconds(60); load_shared<uint32_t>(full.counts + i) == before[i];)
        ASSERT_LT(Waiters::Clock::now(), end);
  EXPECT_TRUE(is_full());
  let_end(full);
}

// Places that groups leave are for those who had one before, and only then for groups that have not begun.
TEST_P(SuspendedWavesTest, ComeBackAsFarAsThereIsRoom) {
  constexpr uint32_t kFree = 6;
  const auto queue = m.queue(), other = m.queue();
  const Counting full = counting(kAllRoom + 10), most = counting(kAllRoom - kFree);
  start(*queue, full);
  const auto are_running = [&](uint32_t wanted, const std::vector<uint32_t>& before) {
    std::vector<uint32_t> found;
    for (const auto end = in_seconds(60); found.size() != wanted && Waiters::Clock::now() < end;) {
      found.clear();
      const auto now = counts_of(full);
      for (uint32_t i = 0; i < full.groups; ++i)
        if (now[i] != before[i]) found.push_back(i);
    }
    return found;
  };
  ASSERT_EQ(are_running(kAllRoom, std::vector<uint32_t>(full.groups)).size(), kAllRoom);
  m.processor->evict(*queue);
  start(*other, most);
  ASSERT_TRUE(start_all(most));
  const auto before = counts_of(full);
  m.processor->resume(queue);
  const auto first = are_running(kFree, before);
  ASSERT_EQ(first.size(), kFree);
  for (const uint32_t group : first) store_shared<uint32_t>(full.flags + group, 1);
  for (const uint32_t group : are_running(2 * kFree, before)) EXPECT_NE(before[group], 0u) << "a new one";
  let_end(full);
  let_end(most);
}

TEST_P(SuspendedWavesTest, OthersHaveTheRoomOfGroupsThatHaveEnded) {
  const uint64_t nothing = m.load({.name = "nothing", .body = "s_nop 0"});
  const auto queue = m.queue(), other = m.queue();
  const uint64_t signal = m.processor->signals().create(1);
  AqlPacket packet = dispatch_packet(nothing, m.buffer(2), 3'000'000, 32, signal);
  packet.dispatch.group_segment_size = 65536;
  submit(*queue, packet);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    m.processor->evict(*queue);
    const Counting all = counting(kAllRoom);
    start(*other, all);
    EXPECT_TRUE(start_all(all));
    let_end(all);
    m.processor->resume(queue);
  }
  EXPECT_EQ(m.processor->signals().load(signal), 1) << "it should not end before";
}

TEST_P(SuspendedWavesTest, MayBeEnded) {
  auto queue = m.queue();
  const Counting runs = counting(7);
  start(*queue, runs);
  ASSERT_TRUE(start_all(runs));
  m.processor->evict(*queue);
  m.processor->destroy(queue);
  queue.reset();  // waits for its dispatches
  EXPECT_TRUE(stand_still(runs));
  EXPECT_EQ(m.processor->signals().load(runs.signal), 1);
  const auto other = m.queue();
  const Counting next = counting(kAllRoom);
  start(*other, next);
  EXPECT_TRUE(start_all(next)) << "its room is free";
  let_end(next);
}

TEST_P(SuspendedWavesTest, AreThoseOfThatQueueAlone) {
  const auto queue = m.queue(), other = m.queue();
  const Counting still = counting(2), runs = counting(2);
  start(*queue, still);
  start(*other, runs);
  ASSERT_TRUE(start_all(still) && start_all(runs));
  m.processor->evict(*queue);
  EXPECT_TRUE(run_on(runs, counts_of(runs)));
  EXPECT_TRUE(stand_still(still));
  let_end(runs);
  EXPECT_FALSE(has_moved(runs, 0) || has_moved(runs, 1));
  m.processor->resume(queue);
  let_end(still);
  EXPECT_TRUE(has_moved(still, 0) && has_moved(still, 1)) << "places are given in turn";
}

// Who only spins gets short turns, and nobody is told of them.
TEST_P(SuspendedWavesTest, MaySpin) {
  const uint64_t spin = m.load({.name = "spin",
                                .body = "s_load_b128 s[4:7], s[0:1], 0x0\nv_mov_b32 v1, 0\nv_mov_b32 v0, 1\n"
                                        "s_waitcnt lgkmcnt(0)\nglobal_store_b32 v1, v0, s[6:7]\n"
                                        "again:\nglobal_load_b32 v2, v1, s[4:5] glc dlc\ns_waitcnt vmcnt(0)\n"
                                        "v_readfirstlane_b32 s8, v2\ns_cmp_eq_u32 s8, 0\n"
                                        "s_cbranch_scc1 again\nv_mov_b32 v0, 2\n"
                                        "global_store_b32 v1, v0, s[6:7]"});
  const auto queue = m.queue();
  const Counting spins = counting(1);
  submit(*queue, dispatch_packet(spin, spins.arguments, 1, 32, spins.signal));
  ASSERT_TRUE(start_all(spins));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  m.processor->evict(*queue);
  store_shared<uint32_t>(spins.flags, 1);
  EXPECT_TRUE(stand_still(spins));
  m.processor->resume(queue);
  EXPECT_TRUE(ends(spins));
  EXPECT_EQ(spins.counts[0], 2u);
}

}  // namespace
}  // namespace lockstep::command

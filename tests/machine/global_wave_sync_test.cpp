// Global wave sync through whole dispatches (guide 13.4): waves of several work-groups wait for each other.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

constexpr auto kInterpreterAndTranslator = {EngineKind::interpreter, EngineKind::translator};

std::shared_ptr<DeviceState> device_with(unsigned resource, uint32_t count) {
  auto device = std::make_shared<DeviceState>();
  DeviceState::Access access(*device);
  access.gws().init(resource, count, access.released());
  return device;
}

const GlobalWaveSync::Resource resource_of(DeviceState& device, unsigned id) {
  return DeviceState::Access(device).gws().resource(id);
}

std::string message_of(const Outcome& outcome) {
  return outcome.fault ? outcome.fault->fault.message : "";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Every wave counts in memory, meets the others, and looks whether all of this round and at most all of the
// next have counted. v1 is the number of waves minus one, s3 that number.
constexpr char kMeetings[] = R"(
  v_mov_b32 v1, 63
  v_mov_b32 v2, 0
  v_mov_b32 v3, 1
  s_mov_b32 exec_lo, 1
  s_mov_b32 m0, 0
  s_mov_b32 s4, 0
  s_mov_b32 s5, 0
loop:
  global_atomic_add_u32 v2, v3, s[0:1]
  s_waitcnt_vscnt null, 0x0
  ds_gws_barrier v1 offset:5 gds
  s_waitcnt lgkmcnt(0)
  global_load_b32 v4, v2, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v4
  s_add_u32 s5, s5, 64
  s_cmp_lt_u32 s6, s5
  s_cbranch_scc1 wrong
  s_add_u32 s7, s5, 64
  s_cmp_gt_u32 s6, s7
  s_cbranch_scc1 wrong
  s_add_u32 s4, s4, 1
  s_cmp_lt_u32 s4, 1000
  s_cbranch_scc1 loop
  s_endpgm
wrong:
  s_trap 2
)";

// 13.4.4, ds_gws_barrier: all waves wait until the number that was given has arrived, again and again. The
// count is set in a dispatch of its own: the resources outlive it (ds_gws_init).
TEST(GlobalWaveSync, SixtyFourGroupsMeetAThousandTimes) {
  for (EngineKind engine : kInterpreterAndTranslator)
    for (unsigned threads : {1u, 2u, 4u}) {
      SCOPED_TRACE(threads);
      auto device = std::make_shared<DeviceState>();
      Dispatch init(
          "v_mov_b32 v1, 64\ns_mov_b32 m0, 0\nds_gws_init v1 offset:5 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0", 1,
          32);
      init.launch.device = device;
      EXPECT_EQ(message_of(init.run()), "");
      EXPECT_EQ(resource_of(*device, 5).counter, 64u);
      Dispatch d(kMeetings, 64, 32);
      d.launch.device = device;
      d.options.threads = threads;
      d.options.engine = engine;
      const Outcome outcome = d.run();
      EXPECT_EQ(message_of(outcome), "");
      EXPECT_EQ(outcome.totals.groups_done, 64u);
      EXPECT_EQ(d.buffer[0], 64'000u);
    }
}

// Table 63: waves queue at a semaphore and are released in the order of their arrival. One wave at a time
// gets in; each stores how many were there before it. Resource 2 lets the next one arrive only when the one
// before has queued.
TEST(GlobalWaveSync, SemaphoreIsFirstComeFirstServed) {
  for (unsigned threads : {1u, 4u}) {
    Dispatch d(R"(
  s_mov_b32 m0, 0
  s_mov_b32 exec_lo, 1
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  v_mov_b32 v3, s2
  v_lshlrev_b32 v3, 2, v3
turn:
  global_load_b32 v4, v1, s[0:1] offset:1024 glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s4, v4
  s_cmp_lg_u32 s4, s2
  s_cbranch_scc1 turn
  s_cmp_eq_u32 s2, 15
  s_cbranch_scc1 last
  global_atomic_add_u32 v1, v2, s[0:1] offset:1024
  ds_gws_sema_p offset:1 gds
  s_waitcnt lgkmcnt(0)
  global_atomic_add_u32 v5, v1, v2, s[0:1] offset:2048 glc
  s_waitcnt vmcnt(0)
  global_store_b32 v3, v5, s[0:1]
  ds_gws_sema_v offset:1 gds
  s_waitcnt lgkmcnt(0)
  s_endpgm
last:
  ds_gws_sema_v offset:1 gds
  s_waitcnt lgkmcnt(0)
  s_nop 0
)",
               16, 32);
    d.options.threads = threads;
    const Outcome outcome = d.run();
    EXPECT_EQ(message_of(outcome), "");
    if (threads == 1)
      for (uint32_t i = 0; i < 15; ++i) EXPECT_EQ(d.buffer[i], i);
    EXPECT_EQ(d.buffer[512], 15u);
  }
}

// Table 63: bulk release lets as many waves go as it says, release_all those that wait.
TEST(GlobalWaveSync, BulkRelease) {
  const char* text = R"(
  s_mov_b32 m0, 0
  s_mov_b32 exec_lo, 1
  v_mov_b32 v1, 7
  s_cmp_eq_u32 s2, 7
  s_cbranch_scc1 release
  ds_gws_sema_p offset:1 gds
  s_waitcnt lgkmcnt(0)
  s_endpgm
release:
  ds_gws_sema_br v1 offset:1 gds
  s_waitcnt lgkmcnt(0)
  s_nop 0
)";
  Dispatch enough(text, 8, 32);
  EXPECT_EQ(message_of(enough.run()), "");
  Dispatch too_few(text, 9, 32);
  EXPECT_TRUE(contains(message_of(too_few.run()), "ds_gws_sema_v"));
  // Eight wait already when seven are released.
  std::string late = text;
  late.replace(late.find("s2, 7"), 5, "s2, 8");
  Dispatch too_late(late, 9, 32);
  too_late.options.threads = 1;
  EXPECT_TRUE(contains(message_of(too_late.run()), "ds_gws_sema_v"));
}

// 13.4.4: a wave that got a NACK stands at the instruction and can be resumed; then it repeats it.
TEST(GlobalWaveSync, NackedWaveIsResumed) {
  auto device = device_with(10, 2);
  DeviceState::Access(*device).vmid(3) = {.gws_base = 8, .gws_size = 2};
  Dispatch d(
      "v_mov_b32 v1, 1\ns_mov_b32 m0, 0\nds_gws_barrier v1 offset:2 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0", 2,
      32);
  d.launch.device = device;
  d.launch.vmid = 3;
  const Outcome refused = d.run();
  ASSERT_TRUE(refused.fault);
  EXPECT_EQ(refused.fault->fault.kind, FaultKind::refused);
  EXPECT_EQ(refused.fault->instruction, "ds_gws_barrier v1 offset:2 gds");
  EXPECT_TRUE(contains(message_of(refused), "NACK"));
  std::atomic<int> halts = 0;
  d.options.halted = [&](const WaveFault& fault) {
    ++halts;
    EXPECT_EQ(fault.fault.kind, FaultKind::refused);
    DeviceState::Access(*device).vmid(3).gws_size = 4;
    return true;
  };
  const Outcome resumed = d.run();
  EXPECT_EQ(message_of(resumed), "");
  EXPECT_GE(halts, 1);
  EXPECT_EQ(resumed.totals.groups_done, 2u);
}

// Waves that nobody is left to release are a fault that names instruction, resource and wave.
TEST(GlobalWaveSync, DeadlockIsTold) {
  for (unsigned threads : {1u, 4u}) {
    Dispatch d(
        "v_mov_b32 v1, 7\ns_mov_b32 m0, 0\nds_gws_barrier v1 offset:5 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0", 7,
        32);
    d.launch.device = device_with(5, 8);
    d.options.threads = threads;
    const Outcome outcome = d.run();
    ASSERT_TRUE(outcome.fault);
    EXPECT_EQ(outcome.fault->fault.kind, FaultKind::deadlock);
    EXPECT_EQ(outcome.fault->group[0], 0u);
    EXPECT_EQ(outcome.fault->fault.pc, d.pc(2));
    EXPECT_EQ(outcome.fault->instruction, "ds_gws_barrier v1 offset:5 gds");
    EXPECT_TRUE(contains(message_of(outcome), "resource 5")) << message_of(outcome);
    EXPECT_TRUE(contains(message_of(outcome), "1 more must arrive")) << message_of(outcome);
    // The killed waves are no longer in the queue.
    EXPECT_TRUE(resource_of(*d.launch.device, 5).queue.empty());
  }
}

TEST(GlobalWaveSync, DeadlockForLackOfRoom) {
  Dispatch d(
      "v_mov_b32 v1, 7\ns_mov_b32 m0, 0\nds_gws_barrier v1 offset:5 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0", 8,
      32);
  d.launch.device = device_with(5, 8);
  d.options.resident_groups = 4;
  EXPECT_TRUE(contains(message_of(d.run()), "4 work-groups have not started"));
}

// A fault is told rather than the waiting that it causes.
TEST(GlobalWaveSync, FaultBeforeDeadlock) {
  Dispatch d(
      "v_mov_b32 v1, 7\ns_mov_b32 m0, 0\ns_cmp_eq_u32 s2, 3\ns_cbranch_scc0 meet\ns_trap 2\nmeet:\n"
      "ds_gws_barrier v1 offset:5 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0",
      8, 32);
  d.launch.device = device_with(5, 8);
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::trap);
  EXPECT_EQ(outcome.fault->group[0], 3u);
}

constexpr char kAcquire[] = "s_mov_b32 m0, 0\nds_gws_sema_p offset:1 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0";

TEST(GlobalWaveSync, WaitingWavesAreCancelled) {
  auto device = std::make_shared<DeviceState>();
  DeviceState::Agent host(device);  // who might release them, and does not
  Dispatch d(kAcquire, 4, 32);
  d.launch.device = device;
  std::atomic<bool> cancel = false;
  d.options.cancel = &cancel;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel = true;
  });
  const Outcome outcome = d.run();
  stopper.join();
  EXPECT_TRUE(outcome.cancelled);
  EXPECT_TRUE(resource_of(*device, 1).queue.empty());
}

// Table 63: resources may be used from outside, too ("via the GRBM"): the dispatch waits for it.
TEST(GlobalWaveSync, HostReleases) {
  auto device = std::make_shared<DeviceState>();
  Dispatch d(kAcquire, 4, 32);
  d.launch.device = device;
  std::thread host([&, agent = std::make_unique<DeviceState::Agent>(device)] {
    while (resource_of(*device, 1).queue.size() < 4)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    DeviceState::Access access(*device);
    access.gws().semaphore_release_all(1, access.released());
  });
  const Outcome outcome = d.run();
  host.join();
  EXPECT_EQ(message_of(outcome), "");
  EXPECT_EQ(outcome.totals.groups_done, 4u);
}

// 13.4: waves of different dispatches meet.
TEST(GlobalWaveSync, DispatchesReleaseEachOther) {
  auto device = std::make_shared<DeviceState>();
  DeviceState::Agent host(device);
  Dispatch waiting(kAcquire, 4, 32);
  waiting.launch.device = device;
  Outcome outcome;
  std::thread other([&] { outcome = waiting.run(); });
  Dispatch releasing(
      "s_mov_b32 m0, 0\nv_mov_b32 v1, 4\nds_gws_sema_br v1 offset:1 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0", 1,
      32);
  releasing.launch.device = device;
  EXPECT_EQ(message_of(releasing.run()), "");
  other.join();
  EXPECT_EQ(message_of(outcome), "");
  EXPECT_EQ(outcome.totals.groups_done, 4u);
}

}  // namespace
}  // namespace lockstep::machine

// Global wave sync through whole dispatches (guide 13.4): waves of several work-groups wait for each other.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

constexpr auto kInterpreterAndTranslator = {EngineKind::interpreter, EngineKind::translator};

[[maybe_unused]] std::shared_ptr<DeviceState> device_with(unsigned resource, uint32_t count) {
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

[[maybe_unused]] bool contains(const std::string& text, std::string_view part) {
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
      EXPECT_LT(outcome.seconds, 30);
    }
}

}  // namespace
}  // namespace lockstep::machine

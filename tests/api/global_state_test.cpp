// Global data share, global wave sync and stream-out registers belong to the device and outlive dispatches.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/lockstep.hpp"
#include "tests/api/dispatch_packet.h"

namespace {

using lockstep::Arguments;
using lockstep::Buffer;
using lockstep::CodeObject;
using lockstep::Device;
using lockstep::Kernel;

CodeObject assembled(const std::string& text) {
  lockstep_compile_options options;
  lockstep_compile_options_init(&options);
  options.wave_size = 32;
  return CodeObject::compile(LOCKSTEP_ASSEMBLY, text.c_str(), "global_state.s", &options);
}

// Adds one to a dword of GDS and to a stream-out register, and tells what was there before.
const char* const kCount =
    "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b64 exec, 1\n"
    "v_mov_b32 v1, 1\nv_mov_b32 v2, 64\ns_mov_b32 m0, 0x1000\n"
    "ds_add_rtn_u32 v3, v2, v1 gds\nds_add_gs_reg_rtn v[4:5], v1 offset:0 gds\n"
    "s_waitcnt lgkmcnt(0)\nv_mov_b32 v0, 0\nglobal_store_b64 v0, v[3:4], s[4:5]\n";

struct Counts {
  uint32_t gds, register_0;
  bool operator==(const Counts&) const = default;
};

Counts count(Device& device, const CodeObject& code) {
  auto out = device.allocate<Counts>(1, "out");
  const Kernel kernel = code.kernels()[0];
  Arguments arguments(kernel);
  const uint64_t address = out.address();
  lockstep::check(lockstep_arguments_set_raw(arguments.get(), &address, sizeof address));
  device.run(kernel, arguments, {32}, {32});
  return out.data()[0];
}

Counts count_through_queue(Device& device, const CodeObject& code) {
  auto out = device.allocate<Counts>(1, "out");
  run_through_queue(device, code, out.address());
  return out.data()[0];
}

TEST(GlobalState, OutlivesDispatchesAndIsTheDevicesOwn) {
  const CodeObject code = assembled(kCount);
  Device device, other;
  EXPECT_EQ(count(device, code), (Counts{0, 0}));
  EXPECT_EQ(count(device, code), (Counts{1, 1}));
  EXPECT_EQ(count(other, code), (Counts{0, 0}));
  device.reset_global_state();
  EXPECT_EQ(count(device, code), (Counts{0, 0}));
  EXPECT_EQ(lockstep_device_reset_global_state(nullptr), LOCKSTEP_INVALID_ARGUMENT);
}

TEST(GlobalState, IsTheSameForQueues) {
  const CodeObject code = assembled(kCount);
  Device device;
  EXPECT_EQ(count(device, code), (Counts{0, 0}));
  EXPECT_EQ(count_through_queue(device, code), (Counts{1, 1}));
  EXPECT_EQ(count(device, code), (Counts{2, 2}));
}

// A semaphore's count is kept, too: what one dispatch released, the next one acquires.
TEST(GlobalState, SemaphoresKeepTheirCounts) {
  Device device;
  const std::string wait = "s_waitcnt lgkmcnt(0)\ns_nop 0\n";
  const CodeObject release = assembled("s_mov_b32 m0, 0\nds_gws_sema_v offset:3 gds\n" + wait),
                   acquire = assembled("s_mov_b32 m0, 0\nds_gws_sema_p offset:3 gds\n" + wait);
  const auto run = [&](const CodeObject& code) {
    const Kernel kernel = code.kernels()[0];
    device.run(kernel, Arguments(kernel), {32}, {32});
  };
  run(release);
  run(acquire);
  EXPECT_THROW(run(acquire), lockstep::Error);  // nobody is left to release it
  ASSERT_NE(device.fault(), nullptr);
  EXPECT_EQ(device.fault()->kind, LOCKSTEP_FAULT_DEADLOCK);
  run(release);
  run(acquire);
}

}  // namespace

#include "machine/device.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

// From here on the process dies of them.
bool forbid_questions_to_the_system() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getaffinity, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Programs launch hundreds of thousands of empty kernels a second. Reading how many processors there are took
// more than half of each.
TEST(Device, AsksTheSystemNothingForEachDispatch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // other tests have left threads
  EXPECT_EXIT(
      {
        Dispatch d("s_nop 0", 1, 32);
        Device::Options options;
        options.hardware = hardware::models().front();
        Device device(std::move(options));
        int ended = 0;
        const auto done = [&](Outcome&& outcome) { ended += !outcome.fault && !outcome.cancelled; };
        device.start(d.launch, 0, done);
        if (!forbid_questions_to_the_system()) _exit(2);
        for (int i = 0; i < 10; ++i) device.start(d.launch, 0, done);
        _exit(ended == 11 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// HW_ID1 (guide 3.4.8) of waves that store it: groups go from work-group processor to work-group processor.
TEST(Device, RehearsalsAreSeenByNoWave) {
  Dispatch d(
      "s_getreg_b32 s6, hwreg(HW_REG_HW_ID1)\nv_mov_b32 v1, s6\nv_mov_b32 v2, 1\n"
      "global_atomic_add_u32 v0, v2, s[0:1]\nglobal_store_b32 v0, v1, s[0:1] offset:4",
      1, 1);
  const auto places = [&](bool rehearses) {
    Device::Options options;
    options.hardware = hardware::models().front();
    Device device(std::move(options));
    std::vector<uint32_t> found;
    uint64_t waves = 0;
    for (int i = 0; i < 4; ++i) {
      device.start(d.launch, 0, [&](Outcome&& outcome) { waves += outcome.totals.waves; });
      found.push_back(d.buffer[1]);
      if (!rehearses) continue;
      for (int k = 0; k < 3; ++k) EXPECT_TRUE(device.rehearse(d.launch));
    }
    EXPECT_EQ(waves, 4u);
    return found;
  };
  const std::vector<uint32_t> without = places(false);
  EXPECT_NE(without[0], without[1]);
  d.buffer[0] = 0;
  EXPECT_EQ(places(true), without);
  EXPECT_EQ(d.buffer[0], 4u) << "the kernel ran four times";
}

// Who would have to be told of a dispatch is not told of one that is none.
TEST(Device, RehearsesNothingBesideWhoListens) {
  struct Counts : DispatchListener {
    int begun = 0;
    std::unique_ptr<DispatchRecord> begins(const Launch&) override {
      ++begun;
      return nullptr;
    }
  } listener;
  Dispatch d("s_nop 0", 1, 32);
  Device::Options options;
  options.hardware = hardware::models().front();
  options.listener = &listener;
  Device device(std::move(options));
  device.start(d.launch, 0, [](Outcome&&) {});
  EXPECT_FALSE(device.rehearse(d.launch));
  EXPECT_EQ(listener.begun, 1);
}

}  // namespace
}  // namespace lockstep::machine

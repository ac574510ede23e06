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

}  // namespace
}  // namespace lockstep::machine

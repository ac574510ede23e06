// Events of system management, by the descriptor that programs get.
#include "host/smi_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "host/own_descriptors.h"

namespace lockstep::host {
namespace {

constexpr uint32_t kGpu = 77;

int open_smi(SmiEvents& events, uint32_t gpu = kGpu) {
  kfd_ioctl_smi_events_args args = {};
  args.gpuid = gpu;
  EXPECT_EQ(events.open(args), 0);
  return static_cast<int>(args.anon_fd);
}
void want(int file, uint64_t mask) {
  EXPECT_EQ(write(file, &mask, sizeof mask), 8);
}
std::string unread(int file) {
  char text[256];
  const ssize_t got = read(file, text, sizeof text);
  if (got < 0) EXPECT_EQ(errno, EAGAIN);
  return got < 0 ? "" : std::string(text, static_cast<size_t>(got));
}
constexpr uint64_t kFaults = KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_VMFAULT),
                   kBefore = KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_GPU_PRE_RESET),
                   kAfter = KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_GPU_POST_RESET);

TEST(SmiEvents, OnlyWhatIsWantedIsTold) {
  SmiEvents events;
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  const int file = open_smi(events), other = open_smi(events, kGpu + 1);
  EXPECT_FALSE(is_own_descriptor(file)) << "it is the program's";
  want(other, ~uint64_t{0});
  events.memory_fault(kGpu);
  EXPECT_EQ(unread(file), "") << "nothing is wanted at first";
  want(file, kFaults | kAfter);
  pollfd poll_for = {file, POLLIN, 0};
  EXPECT_EQ(poll(&poll_for, 1, 0), 0);
  events.memory_fault(kGpu);
  EXPECT_EQ(poll(&poll_for, 1, 0), 1);
  EXPECT_EQ(unread(file), fmt::format("1 {:x}:{}\n", getpid(), name));
  events.reset(kGpu);
  EXPECT_EQ(unread(file), "4 1\n");
  want(file, kFaults);
  want(file, kBefore | kAfter);
  events.memory_fault(kGpu);
  events.reset(kGpu);
  EXPECT_EQ(unread(file), "3 2\n4 2\n") << "the last mask, in order";
  EXPECT_EQ(unread(other), "") << "of another device";
  close(file);
  close(other);
}

// A mask may come in parts; a program that closes its end is forgotten, one that never reads holds nobody up.
TEST(SmiEvents, ProgramsThatWriteCloseOrSleepAsTheyLike) {
  SmiEvents events;
  const int file = open_smi(events), gone = open_smi(events), asleep = open_smi(events);
  const uint64_t mask = kAfter;
  EXPECT_EQ(write(file, &mask, 3), 3);
  events.reset(kGpu);
  EXPECT_EQ(unread(file), "");
  EXPECT_EQ(write(file, reinterpret_cast<const char*>(&mask) + 3, 5), 5);
  events.reset(kGpu);
  EXPECT_EQ(unread(file), "4 2\n");
  want(gone, mask);
  want(asleep, mask);
  close(gone);
  for (int i = 0; i < 100'000; ++i) events.reset(kGpu);
  EXPECT_EQ(unread(asleep).substr(0, 8), "4 3\n4 4\n");
  close(file);
  close(asleep);
}

}  // namespace
}  // namespace lockstep::host

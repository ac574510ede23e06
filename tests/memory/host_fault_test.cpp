#include "memory/host_fault.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "memory/host_pages.h"

namespace lockstep {
namespace {

constexpr uint64_t kPage = 4096;

TEST(HostFaultTest, GuardedWorkEndsWhereMemoryIsMissing) {
  catch_host_faults();
  auto pages = HostPages::make(2 * kPage);
  ASSERT_TRUE(pages);
  volatile std::byte* const bytes = pages->data();
  EXPECT_FALSE(guarded([&] { bytes[kPage] = std::byte{1}; }));
  ASSERT_EQ(mprotect(pages->data() + kPage, kPage, PROT_NONE), 0);
  bool behind = false;
  const auto lost = guarded([&] {
    bytes[kPage + 5] = std::byte{1};
    behind = true;
  });
  ASSERT_TRUE(lost);
  EXPECT_EQ(*lost, pages->address() + kPage + 5);
  EXPECT_FALSE(behind);
  // Guards nest, and the outer one goes on.
  EXPECT_FALSE(guarded([&] {
    EXPECT_TRUE(guarded([&] { bytes[kPage] = std::byte{1}; }));
    bytes[0] = std::byte{1};
  }));
}

TEST(HostFaultTest, PagesAreLookedAtOneByOne) {
  catch_host_faults();
  auto pages = HostPages::make(3 * kPage);
  ASSERT_TRUE(pages);
  const uint64_t begin = pages->address();
  EXPECT_TRUE(host_has(begin, 3 * kPage, true));
  ASSERT_EQ(mprotect(pages->data() + kPage, kPage, PROT_READ), 0);
  EXPECT_TRUE(host_has(begin, 3 * kPage, false));
  EXPECT_FALSE(host_has(begin, 3 * kPage, true));
  EXPECT_TRUE(host_has(begin + 2 * kPage, kPage, true));
  ASSERT_EQ(mprotect(pages->data() + kPage, kPage, PROT_NONE), 0);
  EXPECT_FALSE(host_has(begin + kPage - 1, 2, false));
  EXPECT_TRUE(host_has(begin + kPage - 1, 1, false));
  EXPECT_TRUE(host_has(begin + kPage, 0, false)) << "of nothing there is enough";
  EXPECT_FALSE(host_has(0, 1, false));
  EXPECT_FALSE(host_has(uint64_t{1} << 47, 1, false));
  EXPECT_FALSE(host_has(begin, ~uint64_t{0}, false));
}

// Of large ranges the host is asked for what nobody has used yet, part by part.
TEST(HostFaultTest, LargeRangesAreLookedAtWholly) {
  catch_host_faults();
  constexpr uint64_t kPages = 3 * 512;
  for (const bool write : {false, true}) {
    const auto missing_at = [&](uint64_t page) {
      auto pages = HostPages::make(kPages * kPage);
      EXPECT_EQ(mprotect(pages->data() + page * kPage, kPage, PROT_NONE), 0);
      return !host_has(pages->address() + 5, kPages * kPage - 5, write);
    };
    for (const uint64_t page : {0u, 7u, 100u, 511u, 512u, 527u, 528u, 1030u, 1535u})
      EXPECT_TRUE(missing_at(page)) << page;
    auto pages = HostPages::make(kPages * kPage);
    EXPECT_TRUE(host_has(pages->address() + 5, kPages * kPage - 5, write));
    if (!write) continue;  // of anonymous memory that was only read there is one page of zeros
    std::vector<unsigned char> there(kPages);
    ASSERT_EQ(mincore(pages->data(), kPages * kPage, there.data()), 0);
    EXPECT_EQ(std::ranges::count_if(there, [](unsigned char page) { return (page & 1) != 0; }),
              static_cast<long>(kPages));
  }
}

TEST(HostFaultTest, CopiesEndWhereMemoryIsMissing) {
  catch_host_faults();
  auto pages = HostPages::make(2 * kPage);
  ASSERT_TRUE(pages);
  pages->data()[kPage - 1] = std::byte{7};
  ASSERT_EQ(mprotect(pages->data() + kPage, kPage, PROT_NONE), 0);
  const uint64_t end = pages->address() + kPage;
  std::byte copy[2] = {};
  EXPECT_TRUE(copy_from_process(copy, end - 1, 1));
  EXPECT_EQ(copy[0], std::byte{7});
  EXPECT_TRUE(copy_to_process(end - 2, copy, 2));
  EXPECT_EQ(pages->data()[kPage - 2], std::byte{7});
  copy[1] = std::byte{9};
  EXPECT_FALSE(copy_from_process(copy, end - 1, 2));
  EXPECT_FALSE(copy_to_process(end - 1, copy, 2));
  EXPECT_EQ(pages->data()[kPage - 1], std::byte{0}) << "all or nothing, where nobody changes it meanwhile";
  EXPECT_TRUE(copy_from_process(nullptr, 0, 0));
  EXPECT_TRUE(copy_to_process(0, nullptr, 0));
  EXPECT_FALSE(copy_from_process(copy, 0, 1));
}

// A program's handler sees the faults that are its own.
TEST(HostFaultTest, HandlersOfTheProgramStandBehind) {
  catch_host_faults();
  static volatile sig_atomic_t seen = 0;
  static sigjmp_buf back;
  struct sigaction action = {}, old = {};
  action.sa_handler = [](int) {
    seen = seen + 1;
    siglongjmp(back, 1);
  };
  set_next_handler(SIGSEGV, &action, &old);
  auto pages = HostPages::make(kPage);
  ASSERT_EQ(mprotect(pages->data(), kPage, PROT_NONE), 0);
  if (sigsetjmp(back, 1) == 0) *static_cast<volatile std::byte*>(pages->data()) = std::byte{1};
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(guarded([&] { *static_cast<volatile std::byte*>(pages->data()) = std::byte{1}; }));
  EXPECT_EQ(seen, 1) << "the guard's own fault is not the program's";
  set_next_handler(SIGSEGV, &old, nullptr);
}

// What happens to a process in which nobody else has a handler, or one that is for one time.
void end_by_handlers(int number, int flags, void (*act)(int)) {
  catch_host_faults();
  struct sigaction action = {};
  action.sa_handler = flags == 0 ? SIG_DFL : [](int) {};
  action.sa_flags = flags;
  set_next_handler(number, &action, nullptr);
  act(number);
  _exit(1);
}

TEST(HostFaultTest, WithoutAnotherHandlerTheSignalEndsTheProcess) {
  const auto fault = [](int) { *reinterpret_cast<volatile char*>(8) = 1; };
  const auto send = [](int number) { raise(number); };
  EXPECT_EXIT(end_by_handlers(SIGSEGV, 0, fault), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(end_by_handlers(SIGSEGV, 0, send), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(end_by_handlers(SIGBUS, 0, send), testing::KilledBySignal(SIGBUS), "");
  // A handler that comes back without having mended anything is called once.
  EXPECT_EXIT(end_by_handlers(SIGSEGV, static_cast<int>(SA_RESETHAND), fault),
              testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace lockstep

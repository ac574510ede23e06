#include "host/events.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "host/store.h"
#include "memory/host_fault.h"

namespace lockstep::host {
namespace {

struct EventsTest : testing::Test {
  Events events;
  EventsTest() { catch_host_faults(); }
  uint32_t make(uint32_t type, bool auto_reset) {
    kfd_ioctl_create_event_args args = {};
    args.event_type = type;
    args.auto_reset = auto_reset;
    EXPECT_EQ(events.create(args), 0);
    return args.event_id;
  }
  // The result of waiting for them; `data` tells more.
  uint32_t wait(std::vector<kfd_event_data>& data, bool all, uint32_t milliseconds) {
    kfd_ioctl_wait_events_args args = {};
    args.events_ptr = reinterpret_cast<uint64_t>(data.data());
    args.num_events = static_cast<uint32_t>(data.size());
    args.wait_for_all = all;
    args.timeout = milliseconds;
    EXPECT_EQ(events.wait(args), 0);
    return args.wait_result;
  }
  static kfd_event_data of(uint32_t id) {
    kfd_event_data data = {};
    data.event_id = id;
    return data;
  }
};

constexpr uint32_t kForever = 0xffffffff;

TEST_F(EventsTest, RaisedEventsWakeAndResetThemselves) {
  const uint32_t first = make(KFD_IOC_EVENT_SIGNAL, true), second = make(KFD_IOC_EVENT_SIGNAL, false);
  EXPECT_NE(first, second);
  std::vector<kfd_event_data> both = {of(first), of(second)};
  EXPECT_EQ(wait(both, false, 0), uint32_t{KFD_IOC_WAIT_RESULT_TIMEOUT});
  std::thread raiser([&] { events.raise(first); });
  EXPECT_EQ(wait(both, false, kForever), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  raiser.join();
  EXPECT_EQ(wait(both, false, 0), uint32_t{KFD_IOC_WAIT_RESULT_TIMEOUT}) << "it has reset itself";
  events.raise(second);
  EXPECT_EQ(wait(both, false, 0), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  EXPECT_EQ(wait(both, false, 0), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE}) << "this one stays raised";
  EXPECT_EQ(wait(both, true, 0), uint32_t{KFD_IOC_WAIT_RESULT_TIMEOUT});
  std::thread other([&] { events.raise(first); });
  EXPECT_EQ(wait(both, true, kForever), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  other.join();
  kfd_ioctl_reset_event_args reset = {};
  reset.event_id = second;
  EXPECT_EQ(events.reset(reset), 0);
  EXPECT_EQ(wait(both, false, 0), uint32_t{KFD_IOC_WAIT_RESULT_TIMEOUT});
}

// Since version 1.14: a program that has seen an older age does not miss what came between.
TEST_F(EventsTest, AgesTellWhatWasMissed) {
  const uint32_t id = make(KFD_IOC_EVENT_SIGNAL, true);
  std::vector<kfd_event_data> data = {of(id)};
  auto& age = reinterpret_cast<uint64_t&>(data[0]);
  age = 1;
  events.raise(id);
  EXPECT_EQ(wait(data, false, 0), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  EXPECT_EQ(age, 2u);
  EXPECT_EQ(wait(data, false, 0), uint32_t{KFD_IOC_WAIT_RESULT_TIMEOUT});
  age = 1;
  EXPECT_EQ(wait(data, false, 0), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
}

TEST_F(EventsTest, MemoryFaultsTellTheAddress) {
  const uint32_t id = make(KFD_IOC_EVENT_MEMORY, false);
  kfd_hsa_memory_exception_data fault = {};
  fault.va = 0x1234000;
  fault.gpu_id = 5;
  fault.failure.NotPresent = 1;
  events.raise_memory_fault(fault);
  std::vector<kfd_event_data> data = {of(id)};
  EXPECT_EQ(wait(data, false, kForever), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  EXPECT_EQ(data[0].memory_exception_data.va, 0x1234000u);
  EXPECT_EQ(data[0].memory_exception_data.failure.NotPresent, 1u);
}

TEST_F(EventsTest, DestroyedEventsEndWaits) {
  const uint32_t id = make(KFD_IOC_EVENT_SIGNAL, true);
  std::vector<kfd_event_data> data = {of(id)};
  int error = 0;
  std::thread waiter([&] {
    kfd_ioctl_wait_events_args args = {};
    args.events_ptr = reinterpret_cast<uint64_t>(data.data());
    args.num_events = 1;
    args.timeout = kForever;
    error = events.wait(args);
  });
  kfd_ioctl_destroy_event_args destroy = {};
  destroy.event_id = id;
  EXPECT_EQ(events.destroy(destroy), 0);
  waiter.join();
  EXPECT_TRUE(error == EIO || error == EINVAL) << "it ended before the wait or in it";
  EXPECT_EQ(events.destroy(destroy), EINVAL);
}

// A thread that did not run in between would wait for the one that has its number now.
TEST_F(EventsTest, WaitsForADestroyedEventEndThoughItsNumberIsTakenAgain) {
  const uint32_t id = make(KFD_IOC_EVENT_SIGNAL, true);
  int error = 0;
  std::atomic<bool> begins = false;
  std::thread waiter([&] {
    std::vector<kfd_event_data> one = {of(id)};
    kfd_ioctl_wait_events_args args = {};
    args.events_ptr = reinterpret_cast<uint64_t>(one.data());
    args.num_events = 1;
    args.timeout = kForever;
    begins = true;
    error = events.wait(args);
  });
  while (!begins) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kfd_ioctl_destroy_event_args destroy = {};
  destroy.event_id = id;
  EXPECT_EQ(events.destroy(destroy), 0);
  ASSERT_EQ(make(KFD_IOC_EVENT_SIGNAL, true), id);
  waiter.join();
  EXPECT_EQ(error, EIO);
}

TEST_F(EventsTest, AllWakeWhoWaitForAnEvent) {
  const uint32_t id = make(KFD_IOC_EVENT_SIGNAL, false), other = make(KFD_IOC_EVENT_SIGNAL, false);
  std::atomic<unsigned> woken = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      std::vector<kfd_event_data> both = {of(other), of(id)};
      if (wait(both, false, kForever) == KFD_IOC_WAIT_RESULT_COMPLETE) ++woken;
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  events.raise(id);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(woken, 4u);
}

// A runtime's thread that sleeps for other events is not woken by each kernel's end.
TEST_F(EventsTest, NobodyWakesForEventsOfOthers) {
  const uint32_t mine = make(KFD_IOC_EVENT_SIGNAL, true), others = make(KFD_IOC_EVENT_SIGNAL, true);
  constexpr int kTimes = 300;
  long switches = 0;
  std::thread sleeper([&] {
    rusage before = {}, after = {};
    getrusage(RUSAGE_THREAD, &before);
    std::vector<kfd_event_data> one = {of(mine)};
    wait(one, false, kForever);
    getrusage(RUSAGE_THREAD, &after);
    switches = after.ru_nvcsw - before.ru_nvcsw;
  });
  for (int i = 0; i < kTimes; ++i) {
    events.raise(others);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  events.raise(mine);
  sleeper.join();
  EXPECT_LT(switches, kTimes / 3);
}

// Another thread of the program takes it away while this one waits.
TEST_F(EventsTest, ArraysThatGoAwayAreFaultsOfTheCall) {
  constexpr size_t kPage = 4096;
  void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* const data = static_cast<kfd_event_data*>(page);
  const uint32_t plain = make(KFD_IOC_EVENT_SIGNAL, false), tells = make(KFD_IOC_EVENT_MEMORY, false);
  data[0] = of(plain);
  data[1] = of(tells);
  int error = 0;
  kfd_ioctl_wait_events_args args = {};
  args.events_ptr = reinterpret_cast<uint64_t>(data);
  args.num_events = 2;
  args.wait_for_all = 1;
  args.timeout = kForever;
  std::thread waiter([&] { error = events.wait(args); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  events.raise(plain);
  munmap(page, kPage);
  events.raise_memory_fault({});
  waiter.join();
  EXPECT_EQ(error, EFAULT);
}

TEST_F(EventsTest, BadArraysAndTooManyEventsAreRefused) {
  kfd_ioctl_wait_events_args args = {};
  args.events_ptr = 0x1000;
  args.num_events = 4;
  EXPECT_EQ(events.wait(args), EFAULT);
  args.num_events = 0xffffffff;
  EXPECT_EQ(events.wait(args), EINVAL);
  kfd_ioctl_create_event_args create = {};
  for (unsigned i = 1; i < KFD_SIGNAL_EVENT_LIMIT; ++i) ASSERT_EQ(events.create(create), 0) << i;
  EXPECT_EQ(events.create(create), ENOSPC);
  // What is given back is taken again, the lowest first.
  for (const uint32_t id : {700u, 30u}) {
    kfd_ioctl_destroy_event_args destroy = {};
    destroy.event_id = id;
    ASSERT_EQ(events.destroy(destroy), 0);
  }
  for (const uint32_t id : {30u, 700u}) {
    ASSERT_EQ(events.create(create), 0);
    EXPECT_EQ(create.event_id, id);
  }
  EXPECT_EQ(events.create(create), ENOSPC);
}

// Whoever interrupts may have stored to the event's slot, and then need not name it.
TEST_F(EventsTest, SlotsTellWhichEventIsMeant) {
  auto* const slots = static_cast<uint64_t*>(
      mmap(nullptr, Store::kEventBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(slots), MAP_FAILED);
  constexpr uint64_t kNothing = ~uint64_t{0};
  EXPECT_FALSE(events.has_slots());
  events.set_slots(slots);
  EXPECT_TRUE(events.has_slots());
  const uint32_t first = make(KFD_IOC_EVENT_SIGNAL, true), second = make(KFD_IOC_EVENT_SIGNAL, true),
                 third = make(KFD_IOC_EVENT_SIGNAL, true);
  EXPECT_EQ(slots[first], kNothing);
  const auto raised = [&](uint32_t id) {
    std::vector<kfd_event_data> one = {of(id)};
    return wait(one, false, 0) == KFD_IOC_WAIT_RESULT_COMPLETE;
  };
  slots[second] = 1;
  events.raise(0xffffff);
  EXPECT_TRUE(raised(second));
  EXPECT_FALSE(raised(first));
  EXPECT_EQ(slots[second], kNothing);
  events.raise(0xffffff);
  EXPECT_FALSE(raised(second)) << "nothing was stored since";
  // Where one is named no slot is looked at, nor changed.
  slots[first] = slots[second] = 5;
  events.raise(third);
  EXPECT_TRUE(raised(third));
  events.raise(first);
  EXPECT_TRUE(raised(first));
  EXPECT_FALSE(raised(second));
  EXPECT_EQ(slots[first], 5u);
  events.raise(0);
  EXPECT_TRUE(raised(first));
  EXPECT_TRUE(raised(second));
  // Numbers of other events have no slots.
  const uint32_t memory = make(KFD_IOC_EVENT_MEMORY, true);
  events.raise(memory);
  EXPECT_FALSE(raised(memory));
}

}  // namespace
}  // namespace lockstep::host

// Threads that wait for packets and threads that ring, beside the one that looks at doorbells.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "command/aql_queue.h"
#include "command/guest_memory.h"
#include "tests/host/driver_fixture.h"

namespace lockstep::host {
namespace {

constexpr uint16_t kBarrierPacket = 3 | 1u << 8;

// A queue over the test's memory; its packets do nothing but count a signal down.
struct DoorbellsTest : DriverTest {
  DoorbellsTest() : DriverTest(machine::EngineKind::interpreter, 1) {
    const auto buffer = allocate(16 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
    EXPECT_EQ(map(buffer.handle, {id}), 0);
    auto* const memory = reinterpret_cast<std::byte*>(buffer.va_addr);
    queue = reinterpret_cast<command::QueueMemory*>(memory);
    ring = reinterpret_cast<command::AqlPacket*>(memory + kPage);
    signal = reinterpret_cast<command::SignalMemory*>(memory + 10 * kPage);
    for (unsigned i = 0; i < 64; ++i) ring[i].header = 1;  // invalid
    kfd_ioctl_create_queue_args create = {};
    create_queue(create, ring, *queue);
    map_doorbells(create, doorbells);
    doorbell = doorbells + create.doorbell_offset % Store::kDoorbellBytes;
  }
  ~DoorbellsTest() override { munmap(doorbells, Store::kDoorbellBytes); }

  // All but its header, for which there are zeros.
  uint64_t write(uint64_t dependence = 0) {
    const uint64_t index = queue->write_dispatch_id;
    *signal = {};
    signal->kind = 1;
    signal->value = 1;
    command::AqlPacket packet = {};
    packet.barrier.dep_signal[0] = dependence;
    packet.barrier.completion_signal = reinterpret_cast<uint64_t>(signal);
    std::memcpy(&ring[index % 64], &packet, sizeof packet);
    command::store_shared<uint64_t>(&queue->write_dispatch_id, index + 1);
    return index;
  }
  void publish(uint64_t dependence = 0) {
    command::store_shared<uint16_t>(&ring[write(dependence) % 64].header, kBarrierPacket);
  }
  int64_t value() const { return command::load_shared<int64_t>(&signal->value); }
  template <class Condition>
  static bool comes(Condition condition) {
    for (unsigned i = 0; i < 5000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  // Whether a store to the doorbells would wait for userfaultfd (Documentation/admin-guide/mm/pagemap.rst of
  // Linux).
  bool are_protected() const {
    const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry = 0;
    const auto at = static_cast<off_t>(reinterpret_cast<uint64_t>(doorbells) / kPage * sizeof entry);
    EXPECT_EQ(pread(map, &entry, sizeof entry, at), static_cast<ssize_t>(sizeof entry));
    close(map);
    return entry >> 57 & 1;
  }

  command::QueueMemory* queue = nullptr;
  command::AqlPacket* ring = nullptr;
  command::SignalMemory* signal = nullptr;
  std::byte *doorbells = nullptr, *doorbell = nullptr;
};

// No other thread knows of the packet: nobody has rung.
TEST_F(DoorbellsTest, WhoWaitsProcessesWhatIsPublished) {
  // The queue is looked at once when it is made.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (unsigned i = 0; i < 3; ++i) {
    publish();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(value(), 1);
    while (driver.serve()) {
    }
    ASSERT_EQ(value(), 0);
  }
}

// Who has what he waited for before everything is processed: a completion behind which nobody looked at the
// queues was one that nobody heard of, until the next doorbell.
TEST_F(DoorbellsTest, WhoWaitsNoLongerLeavesBehindWhatIsLeft) {
  command::SignalMemory* const dependence = signal + 1;
  unsigned left = 0;
  for (unsigned i = 0; i < 50 && left < 3; ++i) {
    // The thread of the queues rests again, but on busy machines.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    publish();
    *dependence = {};
    dependence->kind = 1;
    dependence->value = 1;
    publish(reinterpret_cast<uint64_t>(dependence));
    if (driver.serve()) {
      ++left;
      driver.stop_serving();
    }
    command::store_shared<int64_t>(&dependence->value, 0);
    ASSERT_TRUE(comes([&] { return command::load_shared<uint64_t>(&queue->read_dispatch_id) == 2 * i + 2; }))
        << i;
  }
  EXPECT_EQ(left, 3);
}

// Nobody hears of packets but by who serves: where somebody rehearsed, he took that for somebody who
// processes them.
TEST_F(DoorbellsTest, WhoServesBesideARehearsalIsHeard) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::atomic<bool> is_over = false;
  std::jthread rehearses([&] {
    while (!is_over) driver.gpus().front()->processor->rehearse();
  });
  for (uint64_t i = 0; i < 20'000 && !HasFailure(); ++i) {
    publish();
    while (driver.serve()) {
    }
    EXPECT_TRUE(comes([&] { return command::load_shared<uint64_t>(&queue->read_dispatch_id) == i + 1; }))
        << i;
  }
  is_over = true;
}

// A header of zero is a vendor's packet, but not one that is there before the doorbell is rung: a queue that
// was looked at between a program's stores was given up.
TEST_F(DoorbellsTest, APacketWithoutItsHeaderIsNotTakenYet) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (unsigned i = 0; i < 3; ++i) {
    const uint64_t index = write();
    while (driver.serve()) {
    }
    ASSERT_EQ(value(), 1);
    command::store_shared<uint16_t>(&ring[index % 64].header, kBarrierPacket);
    command::store_shared<uint64_t>(doorbell, index);
    ASSERT_TRUE(comes([&] { return value() == 0; }));
  }
}

TEST_F(DoorbellsTest, WhoIsAboutToRingNeedNotWait) {
  for (unsigned i = 0; i < 3; ++i) {
    if (!comes([&] { return are_protected(); })) GTEST_SKIP() << "no userfaultfd of shared memory here";
    publish();
    // What was published is processed, whether or not the doorbell is rung in time. The pages are protected
    // just before the thread says that it sleeps: who looks in between is told nothing, and finds the pages
    // when he rings.
    EXPECT_TRUE(comes([&] {
      driver.about_to_ring();
      return value() == 0;
    }));
    command::store_shared<uint64_t>(doorbell, queue->write_dispatch_id - 1);
  }
  // On a busy machine the thread may have been there again before this one looks.
  EXPECT_TRUE(comes([&] {
    driver.about_to_ring();
    return !are_protected();
  }));
}

// A program that rings after a rest: no other thread wakes up, unless the packet takes longer than a moment.
TEST_F(DoorbellsTest, WhoRingsProcessesWhatIsPublished) {
  for (unsigned i = 0; i < 3; ++i) {
    if (!comes([&] { return are_protected(); })) GTEST_SKIP() << "no userfaultfd of shared memory here";
    // Longer than rings are expected for.
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    publish();
    const uint64_t index = queue->write_dispatch_id - 1;
    std::chrono::steady_clock::time_point begin;
    // The pages are protected just before the thread says that it sleeps.
    ASSERT_TRUE(comes([&] {
      begin = std::chrono::steady_clock::now();
      return driver.ring(doorbell, index);
    }));
    const bool is_through = std::chrono::steady_clock::now() - begin < std::chrono::microseconds(50);
    EXPECT_TRUE(!is_through || (value() == 0 && are_protected()));
    EXPECT_EQ(command::load_shared<uint64_t>(doorbell), index);
    EXPECT_TRUE(comes([&] { return value() == 0; }));
  }
}

TEST_F(DoorbellsTest, WhatIsNoDoorbellIsNotRung) {
  if (!comes([&] { return are_protected(); })) GTEST_SKIP() << "no userfaultfd of shared memory here";
  publish();
  EXPECT_FALSE(driver.ring(doorbells + Store::kDoorbellBytes, 0));
  EXPECT_FALSE(driver.ring(doorbells - 8, 0));
  EXPECT_FALSE(driver.ring(nullptr, 0));
  EXPECT_EQ(value(), 1);
}

// Those that come fast are another thread's, beside which this one goes on.
TEST_F(DoorbellsTest, WhoRingsFastLeavesItToTheThread) {
  if (!comes([&] { return are_protected(); })) GTEST_SKIP() << "no userfaultfd of shared memory here";
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  publish();
  ASSERT_TRUE(comes([&] { return driver.ring(doorbell, queue->write_dispatch_id - 1); }));
  unsigned taken = 1;
  bool all = true;
  for (unsigned i = 0; i < 40 && all; ++i) {
    publish();
    all = driver.ring(doorbell, queue->write_dispatch_id - 1);
    taken += all;
  }
  EXPECT_FALSE(all);
  EXPECT_LT(taken, 20u);
  driver.about_to_ring();
  command::store_shared<uint64_t>(doorbell, queue->write_dispatch_id - 1);
  EXPECT_TRUE(comes([&] { return value() == 0; }));
}

// Whether or not the thread is there, as it may be for some milliseconds.
TEST_F(DoorbellsTest, RingsInARhythmAreHeard) {
  for (unsigned i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 9));
    publish();
    const uint64_t index = queue->write_dispatch_id - 1;
    if (!driver.ring(doorbell, index)) {
      driver.about_to_ring();
      command::store_shared<uint64_t>(doorbell, index);
    }
    ASSERT_TRUE(comes([&] { return value() == 0; })) << i;
  }
}

// What cannot be done at once is done by others later.
TEST_F(DoorbellsTest, WhoRingsLeavesBehindWhatWaits) {
  if (!comes([&] { return are_protected(); })) GTEST_SKIP() << "no userfaultfd of shared memory here";
  command::SignalMemory* const dependence = signal + 1;
  *dependence = {};
  dependence->kind = 1;
  dependence->value = 1;
  publish(reinterpret_cast<uint64_t>(dependence));
  ASSERT_TRUE(comes([&] { return driver.ring(doorbell, queue->write_dispatch_id - 1); }));
  EXPECT_EQ(value(), 1);
  command::store_shared<int64_t>(&dependence->value, 0);
  EXPECT_TRUE(comes([&] { return value() == 0; }));
}

}  // namespace
}  // namespace lockstep::host

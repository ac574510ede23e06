// AQL queues end to end: packets in memory, doorbells, signals, faults.
#include <malloc.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <thread>

#include "command/pm4.h"
#include "memory/mapped_pages.h"
#include "tests/command/machine_under_test.h"
#include "tests/sweep.h"

namespace lockstep::command {
namespace {

// Kernel arguments: the address of a buffer.
struct Arguments {
  uint32_t* memory;
  Arguments(MachineUnderTest& machine, uint32_t* buffer) : memory(machine.buffer(16)) {
    const auto address = reinterpret_cast<uint64_t>(buffer);
    std::memcpy(memory, &address, 8);
  }
};

// Adds 1 to the first dword of the buffer, once a wave.
const char* const kCount =
    "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 exec_lo, 1\nv_mov_b32 v1, 0\n"
    "v_mov_b32 v2, 1\nglobal_atomic_add_u32 v1, v2, s[4:5]\ns_waitcnt_vscnt null, 0x0";
// Spins until the first dword of the buffer is not 0.
const char* const kSpin =
    "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, 0\nagain:\n"
    "global_load_b32 v2, v1, s[4:5] glc dlc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s6, v2\n"
    "s_cmp_eq_u32 s6, 0\ns_cbranch_scc1 again";
// Stores 0 to the value of a signal, as device code does, without a word to anybody.
const char* const kOpen =
    "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v0, 0\nv_mov_b32 v1, 0\n"
    "global_store_b64 v0, v[0:1], s[4:5] offset:8";

TEST(Aql, KernelDispatchToItsCompletionSignal) {
  MachineUnderTest m;
  const uint64_t kernel = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  const auto queue = m.queue();
  Signals& signals = m.processor->signals();
  const uint64_t signal = signals.create(1);
  submit(*queue, dispatch_packet(kernel, arguments.memory, 100, 64, signal));
  EXPECT_EQ(signals.wait(signal, Condition::equal, 0, in_seconds(20)), 0);
  EXPECT_EQ(*counter, 200u);
  EXPECT_TRUE(m.processor->waiters().wait([&] { return queue->read_index() == 1; }, in_seconds(20)));
  const auto* memory = reinterpret_cast<const SignalMemory*>(signal);
  EXPECT_GT(memory->start_ts, 0u);
  EXPECT_GE(memory->end_ts, memory->start_ts);
  // The slot is the producer's again.
  EXPECT_EQ(queue->ring()[0].header & 0xff, static_cast<int>(PacketType::invalid));
}

// A segment of a code object may be that small.
TEST(Aql, ExecutableMemoryThatHoldsNoWholeInstruction) {
  MachineUnderTest m;
  const auto pages = HostPages::make(4096);
  ASSERT_TRUE(m.memory.map(pages->address() + 1, 1, kRead | kExecute, "a byte of code", pages));
  const uint64_t kernel = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  const auto queue = m.queue();
  const uint64_t signal = m.processor->signals().create(1);
  submit(*queue, dispatch_packet(kernel, arguments.memory, 1, 32, signal));
  EXPECT_EQ(m.processor->signals().wait(signal, Condition::equal, 0, in_seconds(20)), 0);
  EXPECT_EQ(*counter, 1u);
}

TEST(Aql, WrapAroundOfASmallQueue) {
  MachineUnderTest m;
  const uint64_t kernel = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  const auto queue = m.queue(4);
  const uint64_t signal = m.processor->signals().create(1000);
  for (int i = 0; i < 1000; ++i) submit(*queue, dispatch_packet(kernel, arguments.memory, 1, 32, signal));
  EXPECT_TRUE(m.processor->signals().wait(signal, Condition::equal, 0, in_seconds(20)));
  EXPECT_EQ(*counter, 1000u);
}

TEST(Aql, ManyProducersFillAQueue) {
  MachineUnderTest m;
  const uint64_t kernel = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  const auto queue = m.queue(8);
  const uint64_t signal = m.processor->signals().create(4 * 500);
  std::vector<std::thread> producers;
  for (int t = 0; t < 4; ++t)
    producers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) submit(*queue, dispatch_packet(kernel, arguments.memory, 1, 32, signal));
    });
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE(m.processor->signals().wait(signal, Condition::equal, 0, in_seconds(20)));
  EXPECT_EQ(*counter, 2000u);
}

TEST(Aql, AFullQueueTakesNoMoreUntilAPacketIsDone) {
  MachineUnderTest m;
  const uint64_t spin = m.load({"spin", kSpin});
  uint32_t* flag = m.buffer(16);
  const Arguments arguments(m, flag);
  const auto queue = m.queue(4);
  for (int i = 0; i < 4; ++i) submit(*queue, dispatch_packet(spin, arguments.memory));
  const uint64_t fifth = queue->reserve();
  EXPECT_EQ(fifth, 4u);
  EXPECT_FALSE(queue->wait_for_slot(fifth, in_seconds(0.05)));
  store_shared<uint32_t>(flag, 1);
  EXPECT_TRUE(queue->wait_for_slot(fifth, in_seconds(20)));
}

TEST(Aql, APacketIsTakenWhenItsHeaderIsPublishedNotWhenItsIndexIsReserved) {
  MachineUnderTest m;
  const uint64_t kernel = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  const auto queue = m.queue();
  const uint64_t signal = m.processor->signals().create(2);
  const uint64_t first = queue->reserve(2);
  // The second one is ready first: the queue waits for the first one.
  queue->publish(first + 1, dispatch_packet(kernel, arguments.memory, 1, 32, signal));
  queue->ring_doorbell(first + 1);
  EXPECT_FALSE(m.processor->signals().wait(signal, Condition::less, 2, in_seconds(0.05)));
  queue->publish(first, dispatch_packet(kernel, arguments.memory, 1, 32, signal));
  queue->ring_doorbell(first);
  EXPECT_TRUE(m.processor->signals().wait(signal, Condition::equal, 0, in_seconds(20)));
}

TEST(Aql, BarrierBitWaitsForAllPacketsBefore) {
  MachineUnderTest m;
  const uint64_t spin = m.load({"spin", kSpin});
  const uint64_t count = m.load({"count", kCount});
  uint32_t* flag = m.buffer(16);
  uint32_t* counter = m.buffer(16);
  const Arguments spin_arguments(m, flag), count_arguments(m, counter);
  Signals& signals = m.processor->signals();
  const auto queue = m.queue();
  const uint64_t free_running = signals.create(1), behind = signals.create(1);
  submit(*queue, dispatch_packet(spin, spin_arguments.memory));
  submit(*queue, dispatch_packet(count, count_arguments.memory, 1, 32, free_running));
  submit(*queue, dispatch_packet(count, count_arguments.memory, 1, 32, behind, true));
  // Without the bit packets overlap.
  EXPECT_TRUE(signals.wait(free_running, Condition::equal, 0, in_seconds(20)));
  EXPECT_FALSE(signals.wait(behind, Condition::equal, 0, in_seconds(0.05)));
  EXPECT_EQ(*counter, 1u);
  store_shared<uint32_t>(flag, 1);
  EXPECT_TRUE(signals.wait(behind, Condition::equal, 0, in_seconds(20)));
}

TEST(Aql, BarrierAndWaitsForAllSignalsBarrierOrForOne) {
  MachineUnderTest m;
  Signals& signals = m.processor->signals();
  for (const bool all : {true, false}) {
    const auto queue = m.queue();
    const uint64_t a = signals.create(1), b = signals.create(2), done = signals.create(1);
    submit(*queue, barrier_packet(all ? PacketType::barrier_and : PacketType::barrier_or, {a, 0, b}, done));
    EXPECT_FALSE(signals.wait(done, Condition::equal, 0, in_seconds(0.02)));
    signals.change(b, SignalOperation::subtract, 1);
    EXPECT_FALSE(signals.wait(done, Condition::equal, 0, in_seconds(0.02)));
    signals.change(b, SignalOperation::subtract, 1);
    EXPECT_EQ(signals.wait(done, Condition::equal, 0, in_seconds(all ? 0.02 : 20)).has_value(), !all);
    signals.change(a, SignalOperation::store, 0);
    EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(20)));
  }
}

// HSA, barrier-AND: its signals need not be at 0 at the same time.
TEST(Aql, BarrierAndTakesSignalsThatHaveBeenAtZero) {
  MachineUnderTest m;
  Signals& signals = m.processor->signals();
  const auto queue = m.queue();
  const uint64_t a = signals.create(1), b = signals.create(1), done = signals.create(1);
  submit(*queue, barrier_packet(PacketType::barrier_and, {a, b}, done));
  const auto late = in_seconds(5);
  bool complete = false;
  for (uint64_t one = a; !complete && Waiters::Clock::now() < late; one = one == a ? b : a) {
    signals.change(one, SignalOperation::store, 0);
    complete = signals.wait(done, Condition::equal, 0, in_seconds(0.002)).has_value();
    signals.change(one, SignalOperation::store, 1);
  }
  EXPECT_TRUE(complete);
  // The next packet begins anew.
  submit(*queue, barrier_packet(PacketType::barrier_and, {a, b}, done));
  EXPECT_FALSE(signals.wait(done, Condition::less, 0, in_seconds(0.02)));
}

TEST(Aql, BarrierWithoutSignalsCompletes) {
  MachineUnderTest m;
  Signals& signals = m.processor->signals();
  const auto queue = m.queue();
  const uint64_t done = signals.create(2);
  submit(*queue, barrier_packet(PacketType::barrier_and, {}, done));
  submit(*queue, barrier_packet(PacketType::barrier_or, {}, done));
  EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(20)));
}

TEST(Aql, ABarrierOnWhatHasFailedIsRefused) {
  MachineUnderTest m;
  Signals& signals = m.processor->signals();
  for (const PacketType type : {PacketType::barrier_and, PacketType::barrier_or}) {
    const auto queue = m.queue();
    submit(*queue, barrier_packet(type, {0, signals.create(-1)}));
    const auto error = m.error(*queue);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->field, "dep_signal[1]");
    EXPECT_NE(error->message.find("has failed"), std::string::npos) << error->message;
  }
}

TEST(Aql, BarrierValueComparesUnderAMask) {
  MachineUnderTest m;
  Signals& signals = m.processor->signals();
  const auto queue = m.queue();
  const uint64_t watched = signals.create(0x100), done = signals.create(1);
  AqlPacket packet{};
  packet.barrier_value.header = header_of(PacketType::vendor_specific);
  packet.barrier_value.format = static_cast<uint8_t>(VendorFormat::barrier_value);
  packet.barrier_value.signal = watched;
  packet.barrier_value.value = 7;
  packet.barrier_value.mask = 0xff;
  packet.barrier_value.condition = static_cast<uint32_t>(Condition::greater_or_equal);
  packet.barrier_value.completion_signal = done;
  submit(*queue, packet);
  signals.change(watched, SignalOperation::store, 0x106);
  EXPECT_FALSE(signals.wait(done, Condition::equal, 0, in_seconds(0.02)));
  signals.change(watched, SignalOperation::store, 0x207);
  EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(20)));
}

TEST(Aql, AKernelOpensABarrierOfAnotherQueue) {
  MachineUnderTest m;
  const uint64_t kernel = m.load({"open", kOpen});
  Signals& signals = m.processor->signals();
  const uint64_t gate = signals.create(1), done = signals.create(1);
  const Arguments arguments(m, reinterpret_cast<uint32_t*>(gate));
  const auto waiting = m.queue(), working = m.queue();
  submit(*waiting, barrier_packet(PacketType::barrier_and, {gate}, done));
  EXPECT_FALSE(signals.wait(done, Condition::equal, 0, in_seconds(0.02)));
  submit(*working, dispatch_packet(kernel, arguments.memory));
  EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(20)));
}

// A kernel is a producer like any other: it publishes a packet, stores to the doorbell that the queue's
// memory names, and waits for what it has launched, so that its own end tells nobody.
TEST(Aql, AKernelLaunchesAnother) {
  MachineUnderTest m;
  const uint64_t count = m.load({"count", kCount});
  const uint64_t launch =
      m.load({"launch",
              "s_load_b256 s[4:11], s[0:1], 0x0\ns_load_b64 s[12:13], s[0:1], 0x20\nv_mov_b32 v0, 0\n"
              "v_mov_b32 v1, 1\nv_mov_b32 v2, 0\ns_mov_b32 exec_lo, 1\ns_waitcnt lgkmcnt(0)\n"
              "before: global_load_b32 v3, v0, s[10:11] offset:4 glc dlc\ns_waitcnt vmcnt(0)\n"
              "v_readfirstlane_b32 s14, v3\ns_cmp_eq_u32 s14, 0\ns_cbranch_scc1 before\n"
              "global_atomic_add_u64 v[4:5], v0, v[1:2], s[4:5] offset:56 glc\n"  // reserves the next packet
              "v_mov_b32 v3, s12\nglobal_store_b32 v0, v3, s[6:7]\n"              // publishes it
              "s_waitcnt vmcnt(0)\ns_waitcnt_vscnt null, 0x0\n"
              "global_store_b64 v0, v[4:5], s[8:9]\nagain:\n"  // rings
              "global_load_b32 v2, v0, s[10:11] glc dlc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s14, v2\n"
              "s_cmp_eq_u32 s14, 0\ns_cbranch_scc1 again"});
  const auto queue = m.queue();
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  const AqlPacket second = dispatch_packet(count, arguments.memory);
  std::memcpy(reinterpret_cast<std::byte*>(&queue->ring()[1]) + 4,
              reinterpret_cast<const std::byte*>(&second) + 4, sizeof second - 4);
  const auto* memory = reinterpret_cast<const QueueMemory*>(queue->address());
  const auto* doorbell = reinterpret_cast<const SignalMemory*>(memory->doorbell_signal);
  const uint64_t given[] = {queue->address(), reinterpret_cast<uint64_t>(&queue->ring()[1]),
                            static_cast<uint64_t>(doorbell->value), reinterpret_cast<uint64_t>(counter),
                            second.dispatch.header | uint64_t{second.dispatch.setup} << 16};
  uint32_t* words = m.buffer(16);
  std::memcpy(words, given, sizeof given);
  const uint64_t done = m.processor->signals().create(1);
  submit(*queue, dispatch_packet(launch, words, 1, 32, done));
  // By then the command processor sleeps.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  store_shared<uint32_t>(counter + 1, 1);
  EXPECT_TRUE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(5)));
  EXPECT_EQ(*counter, 1u);
}

TEST(Aql, KernelsOfTwoQueuesThatWaitForEachOther) {
  for (unsigned threads : {1u, 2u}) {
    MachineUnderTest m(threads);
    const uint64_t spin = m.load({"spin", kSpin});
    const uint64_t count = m.load({"count", kCount});
    uint32_t* flag = m.buffer(16);
    const Arguments arguments(m, flag);
    Signals& signals = m.processor->signals();
    const uint64_t done = signals.create(2);
    // The spinning one has the higher priority and more groups than there are threads.
    const auto first = m.queue(64, 1), second = m.queue(64, 0);
    submit(*first, dispatch_packet(spin, arguments.memory, 8, 32, done));
    submit(*second, dispatch_packet(count, arguments.memory, 8, 32, done));
    EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(20)));
  }
}

TEST(Aql, DispatchesOfTwoQueuesMeetAtAGlobalBarrier) {
  // Guide 13.4.4: the resource is the device's, not the dispatch's.
  MachineUnderTest m;
  const uint64_t init = m.load({"init",
                                "s_mov_b32 m0, 0\nv_mov_b32 v0, 2\nds_gws_init v0 offset:5 gds\n"
                                "s_waitcnt lgkmcnt(0)"});
  const uint64_t meet = m.load({"meet",
                                "s_mov_b32 m0, 0\nv_mov_b32 v0, 1\nds_gws_barrier v0 offset:5 gds\n"
                                "s_waitcnt lgkmcnt(0)"});
  Signals& signals = m.processor->signals();
  const uint64_t ready = signals.create(1), first = signals.create(1), second = signals.create(1);
  const auto a = m.queue(), b = m.queue();
  submit(*a, dispatch_packet(init, nullptr, 1, 32, ready));
  ASSERT_TRUE(signals.wait(ready, Condition::equal, 0, in_seconds(20)));
  submit(*a, dispatch_packet(meet, nullptr, 1, 32, first));
  EXPECT_FALSE(signals.wait(first, Condition::equal, 0, in_seconds(0.05)));
  submit(*b, dispatch_packet(meet, nullptr, 1, 32, second));
  EXPECT_TRUE(signals.wait(first, Condition::equal, 0, in_seconds(20)));
  EXPECT_TRUE(signals.wait(second, Condition::equal, 0, in_seconds(20)));
}

// Takes a ticket from the first dword and stores it where the second argument points.
const char* const kTicket =
    "s_load_b128 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 exec_lo, 1\nv_mov_b32 v1, 0\n"
    "v_mov_b32 v2, 1\nglobal_atomic_add_u32 v3, v1, v2, s[4:5] glc\ns_waitcnt vmcnt(0)\n"
    "global_store_b32 v1, v3, s[6:7]";

// The last ticket that each of two queues of these priorities gets, of `count` dispatches one behind the
// other.
std::array<uint32_t, 2> last_tickets(const std::string& kernel, std::array<int, 2> priorities,
                                     unsigned count) {
  MachineUnderTest m(1);
  const uint64_t ticket = m.load({"ticket", kernel});
  Signals& signals = m.processor->signals();
  uint32_t* counter = m.buffer(16);
  uint32_t* out = m.buffer(16);
  const uint64_t gate = signals.create(1), done = signals.create(2 * count);
  std::vector<std::shared_ptr<AqlQueue>> queues;
  for (unsigned i = 0; i < 2; ++i) {
    const auto queue = m.queue(64, priorities[i]);
    queues.push_back(queue);
    uint32_t* arguments = m.buffer(16);
    const uint64_t addresses[] = {reinterpret_cast<uint64_t>(counter), reinterpret_cast<uint64_t>(out + i)};
    std::memcpy(arguments, addresses, sizeof addresses);
    submit(*queue, barrier_packet(PacketType::barrier_and, {gate}));
    for (unsigned n = 0; n < count; ++n)
      submit(*queue, dispatch_packet(ticket, arguments, 1, 32, done, true));
  }
  // The gate is opened by a third queue, and so between two rounds of the command processor: in the middle of
  // one the queue of lower priority might be the first to see it.
  const uint64_t open = m.load({"open", kOpen});
  submit(*m.queue(64, 2), dispatch_packet(open, Arguments(m, reinterpret_cast<uint32_t*>(gate)).memory));
  EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(20)));
  return {out[0], out[1]};
}

TEST(Aql, HigherPriorityIsProcessedFirst) {
  const auto last = last_tickets(kTicket, {0, 1}, 10);
  EXPECT_EQ(last[1], 9u);  // the last of the first ten
  EXPECT_EQ(last[0], 19u);
}

// HIP 6.4 leaves out barriers between branches of graphs: what was rung first should not come last because
// the other queue's kernels take long.
TEST(Aql, QueuesOfOnePriorityTakeTurns) {
  const std::string kernel =
      std::string("s_mov_b32 s8, 5000\nagain:\nv_mul_f32 v4, v4, v5\ns_sub_u32 s8, s8, 1\n") +
      "s_cmp_lg_u32 s8, 0\ns_cbranch_scc1 again\n" + kTicket;
  const auto last = last_tickets(kernel, {0, 0}, 40);
  EXPECT_GT(std::min(last[0], last[1]), 60u) << "one of them was nearly done when the other one began";
}

TEST(Aql, KillEndsADispatchThatNeverEnds) {
  MachineUnderTest m;
  const uint64_t forever = m.load({"forever", "again:\ns_branch again"});
  const uint64_t count = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  Signals& signals = m.processor->signals();
  const auto queue = m.queue();
  const uint64_t never = signals.create(1), done = signals.create(1);
  const uint64_t index = submit(*queue, dispatch_packet(forever, arguments.memory, 100, 64, never));
  submit(*queue, dispatch_packet(count, arguments.memory, 1, 32, done, true));
  EXPECT_FALSE(signals.wait(done, Condition::equal, 0, in_seconds(0.1)));
  EXPECT_TRUE(queue->kill(index));
  // The queue goes on behind it, and the device is as good as before.
  EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(20)));
  EXPECT_EQ(signals.load(never), 1);
  EXPECT_FALSE(queue->kill(index));
  EXPECT_EQ(queue->state(), QueueState::active);
}

// A barrier that waits, a PM4 buffer that runs or waits, and a packet that is still to come.
TEST(Aql, KillEndsPacketsOfAllKinds) {
  MachineUnderTest m;
  const uint64_t forever = m.load({"forever", "again:\ns_branch again"});
  const uint64_t count = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  uint32_t* words = m.buffer(1024);
  const Arguments arguments(m, counter);
  Signals& signals = m.processor->signals();
  const uint64_t never = signals.create(1);
  AqlPacket value{};
  value.barrier_value.header = header_of(PacketType::vendor_specific);
  value.barrier_value.format = static_cast<uint8_t>(VendorFormat::barrier_value);
  value.barrier_value.signal = never;
  value.barrier_value.mask = -1;
  value.barrier_value.completion_signal = never;
  const auto buffer = [&](const Words& content) {
    std::copy(content.begin(), content.end(), words);
    AqlPacket packet{};
    packet.pm4_ib.header = header_of(PacketType::vendor_specific);
    packet.pm4_ib.format = static_cast<uint8_t>(VendorFormat::pm4_ib);
    const uint32_t jump[] = {pm4::header(pm4::kIndirectBuffer, 3), low(words), high(words),
                             static_cast<uint32_t>(content.size())};
    std::copy(jump, jump + 4, packet.pm4_ib.jump);
    packet.pm4_ib.completion_signal = never;
    return packet;
  };
  int64_t offset;
  std::memcpy(&offset, reinterpret_cast<const void*>(forever + 16), sizeof offset);
  const uint64_t entry = forever + static_cast<uint64_t>(offset);
  const Words runs = {pm4::header(pm4::kSetShReg, 3),
                      pm4::kPgmLo - pm4::kShBase,
                      static_cast<uint32_t>(entry >> 8),
                      static_cast<uint32_t>(entry >> 40),
                      pm4::header(pm4::kSetShReg, 4),
                      pm4::kNumThreadX - pm4::kShBase,
                      32,
                      1,
                      1,
                      pm4::header(pm4::kDispatchDirect, 4),
                      2,
                      1,
                      1,
                      pm4::kComputeShaderEnable | pm4::kWave32};
  const Words waits = {
      pm4::header(pm4::kWaitRegMem, 6), 3 | 1 << 4, low(words + 512), high(words + 512), 1, ~0u, 4};
  const auto queue = m.queue();
  for (const AqlPacket& packet :
       {barrier_packet(PacketType::barrier_and, {never}, never),
        barrier_packet(PacketType::barrier_or, {never}, never), value, buffer(runs), buffer(waits)}) {
    SCOPED_TRACE(packet.header & 0xff);
    if (packet.pm4_ib.format == static_cast<uint8_t>(VendorFormat::pm4_ib))
      std::copy(packet.pm4_ib.jump[3] == runs.size() ? runs.begin() : waits.begin(),
                packet.pm4_ib.jump[3] == runs.size() ? runs.end() : waits.end(), words);
    const uint64_t done = signals.create(1);
    const uint64_t index = submit(*queue, packet);
    // Behind a packet that is waited for, so still to come.
    const uint64_t next = submit(*queue, dispatch_packet(count, arguments.memory, 1, 32, never, true));
    submit(*queue, dispatch_packet(count, arguments.memory, 1, 32, done, true));
    EXPECT_FALSE(signals.wait(done, Condition::equal, 0, in_seconds(0.02)));
    EXPECT_TRUE(queue->kill(next));
    EXPECT_TRUE(queue->kill(index));
    EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(5)));
    EXPECT_EQ(signals.load(never), 1);
  }
  EXPECT_EQ(*counter, 5u);
  EXPECT_EQ(queue->state(), QueueState::active);
  const uint64_t reserved = queue->reserve();
  EXPECT_FALSE(queue->kill(reserved)) << "never published";
  EXPECT_FALSE(queue->kill(reserved + 1000));
}

TEST(Aql, DestroyingAQueueEndsWhatItRuns) {
  MachineUnderTest m;
  const uint64_t forever = m.load({"forever", "again:\ns_branch again"});
  const uint64_t count = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  for (int i = 0; i < 3; ++i) {
    auto queue = m.queue();
    submit(*queue, dispatch_packet(forever, arguments.memory, 10));
    m.processor->destroy(queue);
  }
  const uint64_t done = m.processor->signals().create(1);
  submit(*m.queue(), dispatch_packet(count, arguments.memory, 1, 32, done));
  EXPECT_TRUE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(20)));
}

// Waves keep what was mapped when they were launched: memory that is unmapped meanwhile, of a buffer and of a
// queue, is not the host's again before they have ended.
TEST(Aql, MemoryOfRunningWavesStays) {
  MachineUnderTest m;
  // Adds 1 to the words at +0 and +8's target for ever: the first is the buffer's, the second the queue's.
  const uint64_t touch = m.load(
      {"touch",
       "s_load_b128 s[4:7], s[0:1], 0x0\nv_mov_b32 v0, 0\nv_mov_b32 v1, 1\ns_waitcnt lgkmcnt(0)\nagain:\n"
       "global_atomic_add_u32 v0, v1, s[4:5]\nglobal_load_b32 v2, v0, s[6:7] glc dlc\ns_waitcnt vmcnt(0)\n"
       "s_branch again"});
  auto buffer = std::make_unique<MappedPages>(m.memory, 1 << 20, kReadWrite, "buffer");
  auto other = m.queue();
  const auto queue = m.queue();
  uint32_t* arguments = m.buffer(16);
  const uint64_t addresses[] = {buffer->address(), other->address()};
  std::memcpy(arguments, addresses, sizeof addresses);
  const auto* word = reinterpret_cast<const uint32_t*>(buffer->data());
  const uint64_t index = submit(*queue, dispatch_packet(touch, arguments));
  const auto late = in_seconds(20);
  while (load_shared<uint32_t>(word) == 0 && Waiters::Clock::now() < late) std::this_thread::yield();
  ASSERT_NE(load_shared<uint32_t>(word), 0u);
  buffer.reset();
  m.processor->destroy(other);
  other.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(queue->state(), QueueState::active);
  // New waves do not have it.
  EXPECT_TRUE(queue->kill(index));
  submit(*queue, dispatch_packet(touch, arguments, 1, 32, 0, true));
  const auto error = m.error(*queue);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, QueueError::Kind::kernel_fault);
}

TEST(Aql, AFaultNamesPacketWaveAndInstructionAndEndsTheQueue) {
  MachineUnderTest m;
  const uint64_t bad = m.load({"bad", "v_mov_b32 v0, 0\nv_mov_b32 v1, 0\nglobal_load_b32 v2, v[0:1], off"});
  Signals& signals = m.processor->signals();
  const auto queue = m.queue();
  const uint64_t done = signals.create(1);
  submit(*queue, dispatch_packet(bad, nullptr, 1, 32, done));
  const auto error = m.error(*queue);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, QueueError::Kind::kernel_fault);
  EXPECT_EQ(error->position, 0u);
  ASSERT_TRUE(error->fault);
  EXPECT_EQ(error->fault->fault.kind, FaultKind::memory_violation);
  EXPECT_NE(error->message.find("global_load_b32"), std::string::npos) << error->message;
  EXPECT_EQ(signals.load(done), 1);
  // Later packets are ignored, though nobody hinders a producer.
  const uint64_t later = queue->reserve();
  queue->publish(later, barrier_packet(PacketType::barrier_and, {}, done));
  queue->ring_doorbell(later);
  EXPECT_FALSE(signals.wait(done, Condition::equal, 0, in_seconds(0.02)));
}

// As the HSA runtime has it: a queue whose kernel failed is inactive for good, and the packet's signal keeps
// its value; what else the queue ran is ended, and other queues go on.
TEST(Aql, AFaultEndsItsQueueAndNoOther) {
  MachineUnderTest m;
  const uint64_t bad = m.load({"bad", "s_trap 2"});
  const uint64_t forever = m.load({"forever", "again:\ns_branch again"});
  const uint64_t count = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  Signals& signals = m.processor->signals();
  const auto failing = m.queue(), other = m.queue();
  const uint64_t running = signals.create(1), faulting = signals.create(1), behind = signals.create(1),
                 elsewhere = signals.create(2);
  submit(*other, dispatch_packet(count, arguments.memory, 1, 32, elsewhere));
  submit(*failing, dispatch_packet(forever, arguments.memory, 100, 64, running));
  submit(*failing, dispatch_packet(bad, nullptr, 1, 32, faulting));
  submit(*failing, dispatch_packet(count, arguments.memory, 1, 32, behind, true));
  const auto error = m.error(*failing);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, QueueError::Kind::kernel_fault);
  EXPECT_EQ(error->position, 1u);
  EXPECT_EQ(failing->state(), QueueState::inactive);
  // amd_queue_t's queue_inactive_signal tells those who look at memory only.
  const auto* memory = reinterpret_cast<const QueueMemory*>(failing->address());
  EXPECT_TRUE(signals.wait(memory->queue_inactive_signal, Condition::not_equal, 0, in_seconds(20)));
  EXPECT_TRUE(m.processor->waiters().wait([&] { return !failing->busy(); }, in_seconds(20)));
  submit(*other, dispatch_packet(count, arguments.memory, 1, 32, elsewhere));
  EXPECT_TRUE(signals.wait(elsewhere, Condition::equal, 0, in_seconds(20)));
  EXPECT_EQ(*counter, 2u);
  for (const uint64_t signal : {running, faulting, behind}) EXPECT_EQ(signals.load(signal), 1);
}

// Guide 13.4.3: wave 0 ends without passing its turn on, so that wave 1 waits for ever.
// HSA runtime 2.9: the callback of a queue is called once, however many of its packets fail at a time.
TEST(Aql, AQueueTellsOneError) {
  MachineUnderTest m(4);
  const uint64_t bad = m.load({"bad", "s_mov_b64 s[4:5], 64\ns_load_b32 s6, s[4:5], 0x0"});
  for (int i = 0; i < 400; ++i) {
    std::atomic<int> told = 0;
    AqlQueueOptions options;
    options.size = 16;
    auto owned = std::make_shared<int>();
    const std::weak_ptr<int> gone = owned;  // with the queue, whose end waits for its dispatches
    options.on_error = [&told, owned = std::move(owned)](const QueueError&) { ++told; };
    auto queue = m.processor->create_aql_queue(std::move(options));
    const uint64_t first = queue->reserve(16);
    // More work-groups than the command processor runs by itself.
    for (int n = 0; n < 16; ++n) queue->publish(first + n, dispatch_packet(bad, nullptr, 64));
    queue->ring_doorbell(first + 15);
    EXPECT_FALSE(queue->wait_for_slot(first + 64, in_seconds(20)));
    m.processor->destroy(queue);
    queue.reset();
    while (!gone.expired()) std::this_thread::yield();
    ASSERT_EQ(told, 1);
  }
}

// The guest can write to its amd_queue_t and to its signals: that misleads itself alone.
TEST(Aql, TheHostDoesNotGoWhereTheGuestSays) {
  MachineUnderTest m;
  Signals& signals = m.processor->signals();
  const auto queue = m.queue();
  const auto* memory = reinterpret_cast<const QueueMemory*>(queue->address());
  reinterpret_cast<SignalMemory*>(memory->doorbell_signal)->value = 64;
  const uint64_t done = signals.create(1);
  submit(*queue, barrier_packet(PacketType::barrier_and, {}, done));
  EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(20)));
  auto* signal = reinterpret_cast<SignalMemory*>(done);
  signal->kind = static_cast<int64_t>(SignalKind::invalid);
  EXPECT_TRUE(signals.exists(done));
  EXPECT_TRUE(signals.destroy(done));
  signal->kind = static_cast<int64_t>(SignalKind::user);
  EXPECT_FALSE(signals.exists(done));
  EXPECT_FALSE(signals.destroy(done));
}

// Guide 5.3, table 16: the doorbell of the wave's queue, and the number of the dispatch.
TEST(Aql, WavesAskForTheirDoorbellAndDispatch) {
  MachineUnderTest m;
  const uint64_t ask =
      m.load({"ask",
              "s_load_b64 s[4:5], s[0:1], 0x0\ns_sendmsg_rtn_b32 s6, sendmsg(MSG_RTN_GET_DOORBELL)\n"
              "s_sendmsg_rtn_b32 s7, sendmsg(MSG_RTN_GET_DDID)\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v0, 0\n"
              "v_mov_b32 v1, s6\nv_mov_b32 v2, s7\nglobal_store_b64 v0, v[1:2], s[4:5]"});
  uint32_t* out = m.buffer(16);
  const Arguments arguments(m, out);
  const auto first = m.queue(), queue = m.queue();
  const uint64_t done = m.processor->signals().create(3);
  for (int i = 0; i < 3; ++i) submit(*queue, dispatch_packet(ask, arguments.memory, 1, 32, done, true));
  ASSERT_TRUE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(20)));
  EXPECT_EQ(out[0], queue->id());
  EXPECT_EQ(out[1], 2u);
}

TEST(Aql, WavesThatWaitForEverAreAKernelFault) {
  for (const uint32_t groups : {2u, 200u}) {
    MachineUnderTest m;
    const uint64_t kernel = m.load({"stuck",
                                    "s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 done\ns_mov_b32 m0, 0\n"
                                    "v_mov_b32 v1, 1\nds_ordered_count v2, v1 offset:0x300 gds\n"
                                    "s_waitcnt lgkmcnt(0)\ndone:"});
    const auto queue = m.queue();
    const uint64_t done = m.processor->signals().create(1);
    submit(*queue, dispatch_packet(kernel, nullptr, groups, 32, done));
    const auto error = m.error(*queue);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, QueueError::Kind::kernel_fault);
    ASSERT_TRUE(error->fault);
    EXPECT_EQ(error->fault->fault.kind, FaultKind::deadlock);
    EXPECT_EQ(error->fault->group[0], 1u);
    EXPECT_NE(error->message.find("the turn of wave 0"), std::string::npos) << error->message;
    EXPECT_EQ(m.processor->signals().load(done), 1);
    EXPECT_EQ(queue->state(), QueueState::inactive);
  }
}

// LLVM, initial kernel execution state of gfx11: dispatch pointer, queue pointer, kernel arguments, dispatch
// id, private segment size, then the work-group ids.
TEST(Aql, TheUserSgprsThatTheDescriptorEnables) {
  MachineUnderTest m;
  const uint64_t kernel = m.load(
      {"sgprs",
       "s_load_b64 s[12:13], s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 exec_lo, 1\nv_mov_b32 v1, 0\n"
       "v_mov_b32 v2, s0\nv_mov_b32 v3, s1\nv_mov_b32 v4, s2\nv_mov_b32 v5, s3\n"
       "global_store_b128 v1, v[2:5], s[12:13]\n"
       "v_mov_b32 v2, s6\nv_mov_b32 v3, s7\nv_mov_b32 v4, s8\nv_mov_b32 v5, s9\n"
       "global_store_b128 v1, v[2:5], s[12:13] offset:16\ns_waitcnt_vscnt null, 0x0",
       ".amdhsa_user_sgpr_dispatch_ptr 1\n.amdhsa_user_sgpr_queue_ptr 1\n"
       ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_user_sgpr_dispatch_id 1\n"
       ".amdhsa_user_sgpr_private_segment_size 1\n"});
  uint32_t* out = m.buffer(16);
  const Arguments arguments(m, out);
  const auto queue = m.queue();
  const uint64_t done = m.processor->signals().create(1);
  submit(*queue, barrier_packet(PacketType::barrier_and, {}));
  AqlPacket packet = dispatch_packet(kernel, arguments.memory, 1, 32, done);
  packet.dispatch.private_segment_size = 48;
  const uint64_t index = submit(*queue, packet);
  ASSERT_EQ(index, 1u);
  ASSERT_TRUE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(20)));
  const auto pointer = [&](unsigned at) { return out[at] | uint64_t{out[at + 1]} << 32; };
  EXPECT_EQ(pointer(0), reinterpret_cast<uint64_t>(&queue->ring()[1]));
  EXPECT_EQ(pointer(2), queue->address());
  EXPECT_EQ(pointer(4), 1u);
  EXPECT_EQ(out[6], 48u);
  EXPECT_EQ(out[7], 0u) << "work-group id x";
}

TEST(Aql, MalformedPacketsAreRefusedByField) {
  MachineUnderTest m;
  const uint64_t kernel = m.load({"count", kCount,
                                  ".amdhsa_group_segment_fixed_size 512\n"
                                  ".amdhsa_private_segment_fixed_size 16"});
  uint32_t* data = m.buffer(16);
  auto good = [&] {
    AqlPacket packet = dispatch_packet(kernel, data);
    packet.dispatch.group_segment_size = 512;
    packet.dispatch.private_segment_size = 16;
    return packet;
  };
  struct Case {
    const char* field;
    std::function<void(AqlPacket&)> spoil;
  };
  const Case cases[] = {
      {"header", [](AqlPacket& p) { p.header = 6; }},
      {"header", [](AqlPacket& p) { p.header = 0xff; }},
      {"header", [](AqlPacket& p) { p.header |= 1 << 13; }},
      {"header", [](AqlPacket& p) { p.header |= 3 << kHeaderAcquireShift; }},
      {"header", [](AqlPacket& p) { p.header = header_of(PacketType::agent_dispatch); }},
      {"setup", [](AqlPacket& p) { p.dispatch.setup = 0; }},
      {"setup", [](AqlPacket& p) { p.dispatch.setup = 5; }},
      {"reserved0", [](AqlPacket& p) { p.dispatch.reserved0 = 1; }},
      {"workgroup_size_x", [](AqlPacket& p) { p.dispatch.workgroup_size[0] = 0; }},
      {"workgroup_size_x", [](AqlPacket& p) { p.dispatch.workgroup_size[0] = 1025; }},
      {"workgroup_size_y", [](AqlPacket& p) { p.dispatch.workgroup_size[1] = 2; }},
      {"grid_size_x", [](AqlPacket& p) { p.dispatch.grid_size[0] = 0; }},
      {"grid_size_z", [](AqlPacket& p) { p.dispatch.grid_size[2] = 3; }},
      {"kernel_object", [](AqlPacket& p) { p.dispatch.kernel_object = 0; }},
      {"kernel_object", [](AqlPacket& p) { p.dispatch.kernel_object += 4; }},
      {"kernel_object", [&](AqlPacket& p) { p.dispatch.kernel_object = reinterpret_cast<uint64_t>(data); }},
      {"group_segment_size", [](AqlPacket& p) { p.dispatch.group_segment_size = 511; }},
      {"group_segment_size", [](AqlPacket& p) { p.dispatch.group_segment_size = 65537; }},
      {"private_segment_size", [](AqlPacket& p) { p.dispatch.private_segment_size = 1u << 31; }},
      {"completion_signal", [](AqlPacket& p) { p.dispatch.completion_signal = 64; }},
      {"format",
       [](AqlPacket& p) {
         p.header = header_of(PacketType::vendor_specific);
         p.barrier_value.format = 9;
       }},
      {"dep_signal[1]", [](AqlPacket& p) { p = barrier_packet(PacketType::barrier_and, {0, 8}); }},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.field);
    const auto queue = m.queue();
    AqlPacket packet = good();
    test.spoil(packet);
    submit(*queue, barrier_packet(PacketType::barrier_and, {}));
    submit(*queue, packet);
    const auto error = m.error(*queue);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->field, test.field) << error->message;
    EXPECT_EQ(error->queue, queue->id());
    EXPECT_EQ(error->position, 1u);
    EXPECT_NE(error->message.find("queue " + std::to_string(queue->id()) + ", packet 1: "),
              std::string::npos);
    EXPECT_NE(error->message.find('('), std::string::npos) << "no advice: " << error->message;
    m.processor->destroy(queue);
  }
  // And the one that was spoiled is fine by itself.
  const auto queue = m.queue();
  const uint64_t done = m.processor->signals().create(1);
  AqlPacket packet = good();
  const Arguments arguments(m, data);
  packet.dispatch.kernarg_address = reinterpret_cast<uint64_t>(arguments.memory);
  packet.dispatch.completion_signal = done;
  submit(*queue, packet);
  EXPECT_TRUE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(20)));
}

TEST(Aql, KernelDescriptorsAreAligned) {
  MachineUnderTest m;
  const uint64_t kernel = m.load({"empty", ""});
  // A descriptor as good as the first, but for its address.
  auto* copy = reinterpret_cast<std::byte*>(m.buffer(64) + 1);
  std::memcpy(copy, reinterpret_cast<const void*>(kernel), 64);
  int64_t offset;
  std::memcpy(&offset, copy + 16, sizeof offset);
  offset += static_cast<int64_t>(kernel - reinterpret_cast<uint64_t>(copy));
  std::memcpy(copy + 16, &offset, sizeof offset);
  const auto queue = m.queue();
  submit(*queue, dispatch_packet(reinterpret_cast<uint64_t>(copy), nullptr));
  const auto error = m.error(*queue);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("aligned to 64 bytes"), std::string::npos) << error->message;
}

TEST(Aql, CooperativeGridsMustFit) {
  MachineUnderTest m;
  const uint64_t kernel = m.load({"count", kCount});
  uint32_t* counter = m.buffer(16);
  const Arguments arguments(m, counter);
  // Navi 31: 48 work-group processors of 4 SIMDs with 16 waves each.
  const auto fits = m.queue(64, 0, kQueueTypeCooperative);
  const uint64_t done = m.processor->signals().create(1);
  submit(*fits, dispatch_packet(kernel, arguments.memory, 48 * 64 / 32, 1024, done));
  EXPECT_TRUE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(20)));
  submit(*fits, dispatch_packet(kernel, arguments.memory, 48 * 64 / 32 + 1, 1024));
  const auto error = m.error(*fits);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, QueueError::Kind::not_resident);
  EXPECT_NE(error->message.find("97 work-groups"), std::string::npos) << error->message;
}

TEST(Aql, AMessageOfAWaveReachesTheHost) {
  MachineUnderTest m;
  // Guide 5.4, message 1: interrupt, with its payload in M0.
  const uint64_t kernel = m.load({"interrupt", "s_mov_b32 m0, 0x123\ns_sendmsg sendmsg(MSG_INTERRUPT)"});
  std::atomic<uint32_t> called = 0;
  m.processor->interrupts().set_callback([&](const Interrupt& interrupt) { called = interrupt.data; });
  const auto queue = m.queue();
  submit(*queue, dispatch_packet(kernel, nullptr));
  const auto interrupt = m.processor->interrupts().wait(in_seconds(20));
  ASSERT_TRUE(interrupt);
  EXPECT_EQ(interrupt->source, Interrupt::Source::wave);
  EXPECT_EQ(interrupt->data, 0x123u);
  EXPECT_EQ(interrupt->queue, queue->id());
  EXPECT_EQ(called, 0x123u);
}

TEST(Aql, ASignalWithAnEventRaisesAnInterruptAtTheEndOfThePipe) {
  MachineUnderTest m;
  const auto queue = m.queue();
  const uint64_t signal = m.processor->signals().create(1, 77);
  submit(*queue, barrier_packet(PacketType::barrier_and, {}, signal));
  const auto interrupt = m.processor->interrupts().wait(in_seconds(20));
  ASSERT_TRUE(interrupt);
  EXPECT_EQ(interrupt->source, Interrupt::Source::end_of_pipe);
  EXPECT_EQ(interrupt->data, 77u);
  const auto* memory = reinterpret_cast<const SignalMemory*>(signal);
  EXPECT_EQ(*reinterpret_cast<const uint64_t*>(memory->event_mailbox_ptr), 77u);
}

uint64_t cpu_nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

TEST(Aql, WhoWaitsUsesNoProcessorTime) {
  MachineUnderTest m;
  Signals& signals = m.processor->signals();
  const auto queue = m.queue();
  const uint64_t gate = signals.create(1), done = signals.create(1);
  submit(*queue, barrier_packet(PacketType::barrier_and, {gate}, done));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // Nobody in the process has anything to do: neither the host's thread that waits nor the command
  // processor with its blocked barrier.
  const uint64_t before = cpu_nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  EXPECT_FALSE(signals.wait(done, Condition::equal, 0, in_seconds(0.5)));
  EXPECT_LT(cpu_nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - before, 50'000'000u);
  std::thread opener([&] { signals.change(gate, SignalOperation::store, 0); });
  EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(20)));
  opener.join();
}

// Bytes of the process: resident, and given out by malloc.
struct MemoryInUse {
  int64_t resident = 0, allocated = 0;
  MemoryInUse() {
    std::ifstream statm("/proc/self/statm");
    int64_t all = 0;
    statm >> all >> resident;
    resident *= sysconf(_SC_PAGESIZE);
    allocated = static_cast<int64_t>(mallinfo2().uordblks);
  }
};

TEST(Aql, AMillionEmptyDispatchesLeaveNothingBehind) {
  MachineUnderTest m;
  const uint64_t kernel = m.load({"empty", ""});
  const auto queue = m.queue(1024);
  Signals& signals = m.processor->signals();
  const int kRounds = test::kIsSanitized ? 10 : test::of_sweep(500, 100);
  const auto run = [&](int rounds) {
    const uint64_t done = signals.create(rounds * 1000);
    const AqlPacket packet = dispatch_packet(kernel, nullptr, 1, 32, done);
    for (int i = 0; i < rounds; ++i) {
      const uint64_t first = queue->reserve(1000);
      ASSERT_TRUE(queue->wait_for_slot(first + 999, in_seconds(60)));
      for (uint64_t k = 0; k < 1000; ++k) queue->publish(first + k, packet);
      queue->ring_doorbell(first + 999);
    }
    EXPECT_TRUE(signals.wait(done, Condition::equal, 0, in_seconds(60)));
    EXPECT_TRUE(m.processor->waiters().wait([&] { return !queue->busy(); }, in_seconds(60)));
    EXPECT_TRUE(signals.destroy(done));
  };
  run(kRounds);
  const MemoryInUse half;
  run(kRounds);
  const MemoryInUse whole;
  if (test::kIsSanitized) return;  // who counts every allocation and keeps freed ones
  // The smallest block for each dispatch of the second half would be a million and more.
  EXPECT_LT(whole.allocated - half.allocated, 100'000);
  EXPECT_LT(whole.resident - half.resident, 400'000);
}

}  // namespace
}  // namespace lockstep::command

// What a driver of programs asks of command processors: queues over memory of the caller's, and mappings that
// change while kernels run.
#include <sys/mman.h>

#include <cstring>

#include "command/pm4.h"
#include "command/sdma.h"
#include "memory/host_fault.h"
#include "state/real_time.h"
#include "tests/command/machine_under_test.h"

namespace lockstep::command {
namespace {

constexpr uint64_t kPage = 4096;

// Pages of the test's own, which no address space owns.
struct Pages {
  std::shared_ptr<HostPages> pages;
  explicit Pages(uint64_t bytes) : pages(HostPages::make(bytes)) {}
  template <class T>
  T* as(uint64_t offset = 0) const {
    return reinterpret_cast<T*>(pages->data() + offset);
  }
};

struct CallersMemoryTest : testing::TestWithParam<machine::EngineKind> {
  uint64_t doorbell = AqlQueue::kNeverRung;
  Pages memory{64 * kPage};  // outlives the queues
  MachineUnderTest m{2, "navi31", AddressSpace::Changes::seen_at_once, GetParam(), true};
  QueueMemory* const queue_memory = memory.as<QueueMemory>();
  AqlPacket* const ring = memory.as<AqlPacket>(kPage);
  uint64_t* const arguments = memory.as<uint64_t>(2 * kPage);
  uint32_t* const data = memory.as<uint32_t>(3 * kPage);
  static constexpr uint32_t kPackets = 16;

  CallersMemoryTest() {
    catch_host_faults();
    EXPECT_TRUE(m.memory.map(memory.pages->address(), 4 * kPage, kReadWrite, "the caller's"));
    for (uint32_t i = 0; i < kPackets; ++i) ring[i].header = static_cast<uint16_t>(PacketType::invalid);
  }
  std::shared_ptr<AqlQueue> make() {
    AqlQueueOptions options;
    options.size = kPackets;
    options.on_error = m.keep_errors();
    options.memory = {queue_memory, ring, &doorbell};
    return m.processor->create_aql_queue(std::move(options));
  }
  // As a runtime does it: nobody calls the queue.
  void publish(const AqlPacket& packet) {
    const uint64_t index = queue_memory->write_dispatch_id;
    store_shared<uint64_t>(&queue_memory->write_dispatch_id, index + 1);
    AqlPacket& slot = ring[index % kPackets];
    std::memcpy(reinterpret_cast<std::byte*>(&slot) + 2, reinterpret_cast<const std::byte*>(&packet) + 2, 62);
    store_shared<uint16_t>(&slot.header, packet.header);
    store_shared<uint64_t>(&doorbell, index);
    while (m.processor->serve_doorbells()) {
    }
  }
  bool reaches(const AqlQueue& queue, uint64_t index) {
    return m.processor->waiters().wait([&] { return queue.read_index() >= index; }, in_seconds(20));
  }
  bool becomes(const uint32_t* word, uint32_t value) {
    for (int i = 0; i < 20000 && load_shared<uint32_t>(word) != value; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return load_shared<uint32_t>(word) == value;
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, CallersMemoryTest,
                         testing::Values(machine::EngineKind::interpreter, machine::EngineKind::translator),
                         [](const auto& info) {
                           return info.param == machine::EngineKind::interpreter ? "Interpreter"
                                                                                 : "Translator";
                         });

// Stores 7 to the address in its arguments.
const TestKernel kStore = {.name = "store",
                           .body =
                               "s_load_b64 s[4:5], s[0:1], 0x0\nv_mov_b32 v0, 7\nv_mov_b32 v1, 0\n"
                               "s_waitcnt lgkmcnt(0)\nglobal_store_b32 v1, v0, s[4:5]"};
// Stores 1 to the first address, waits until it holds 2, then stores 7 to the second.
const TestKernel kWaitThenStore = {
    .name = "wait_then_store",
    .body =
        "s_load_b128 s[4:7], s[0:1], 0x0\nv_mov_b32 v0, 1\nv_mov_b32 v1, 0\ns_waitcnt lgkmcnt(0)\n"
        "global_store_b32 v1, v0, s[4:5]\n"
        "again:\nglobal_load_b32 v2, v1, s[4:5] glc dlc\ns_waitcnt vmcnt(0)\n"
        "v_readfirstlane_b32 s8, v2\ns_cmp_lg_u32 s8, 2\ns_cbranch_scc1 again\n"
        "v_mov_b32 v0, 7\nglobal_store_b32 v1, v0, s[6:7]"};

// The same, having stored 1 to the second address by the same instruction before anything else. It counts
// while it waits: who only spins gets short turns.
const TestKernel kStoreWaitThenStore = {
    .name = "store_wait_then_store",
    .body =
        "s_load_b128 s[4:7], s[0:1], 0x0\nv_mov_b32 v0, 1\nv_mov_b32 v1, 0\ns_mov_b32 s9, 0\n"
        "s_waitcnt lgkmcnt(0)\nstore:\nglobal_store_b32 v1, v0, s[6:7]\ns_waitcnt_vscnt null, 0x0\n"
        "s_cmp_lg_u32 s9, 0\ns_cbranch_scc1 done\nglobal_store_b32 v1, v0, s[4:5]\n"
        "again:\nglobal_load_b32 v2, v1, s[4:5] glc dlc\ns_waitcnt vmcnt(0)\n"
        "v_readfirstlane_b32 s8, v2\ns_add_u32 s10, s10, 1\ns_cmp_lg_u32 s8, 2\ns_cbranch_scc1 again\n"
        "v_mov_b32 v0, 7\ns_mov_b32 s9, 1\ns_branch store\ndone:\ns_nop 0"};

// Where kernels are translated before they run nothing is rehearsed.
TEST_P(CallersMemoryTest, RehearsalsChangeNothing) {
  const uint64_t kernel = m.load({.name = "count",
                                  .body = "s_load_b64 s[4:5], s[0:1], 0x0\ns_mov_b32 exec_lo, 1\n"
                                          "v_mov_b32 v0, 1\nv_mov_b32 v1, 0\ns_waitcnt lgkmcnt(0)\n"
                                          "global_atomic_add_u32 v1, v0, s[4:5]"});
  const auto queue = make();
  const bool rehearses = GetParam() == machine::EngineKind::interpreter;
  EXPECT_FALSE(m.processor->rehearse()) << "nothing has come yet";
  // Unless the processor's own thread is at it just now.
  const auto comes_to_it = [&] {
    for (const auto end = in_seconds(20); std::chrono::steady_clock::now() < end; std::this_thread::yield())
      if (m.processor->rehearse()) return true;
    return false;
  };
  const uint64_t signal = m.processor->signals().create(10);
  arguments[0] = reinterpret_cast<uint64_t>(data);
  for (uint64_t i = 1; i <= 3; ++i) {
    publish(dispatch_packet(kernel, arguments, 1, 32, signal));
    ASSERT_TRUE(reaches(*queue, i));
    EXPECT_EQ(data[0], i);
    const std::vector<std::byte> before(memory.pages->data(), memory.pages->data() + 4 * kPage);
    for (int k = 0; k < 3; ++k)
      if (rehearses)
        EXPECT_TRUE(comes_to_it());
      else
        EXPECT_FALSE(m.processor->rehearse());
    EXPECT_EQ(std::memcmp(before.data(), memory.pages->data(), before.size()), 0);
    EXPECT_EQ(m.processor->signals().load(signal), 10 - static_cast<int64_t>(i));
  }
  m.processor->suspend(*queue);
  EXPECT_FALSE(m.processor->rehearse());
  m.processor->resume(queue);
  m.memory.unmap(memory.pages->address(), 4 * kPage);
  EXPECT_FALSE(m.processor->rehearse()) << "its memory is gone";
}

TEST_P(CallersMemoryTest, AqlQueueRunsPackets) {
  const uint64_t kernel = m.load(kStore);
  const auto queue = make();
  queue_memory->queue_inactive_signal = 0x1234;  // not the queue's to touch
  for (uint64_t i = 1; i <= 3 * kPackets; ++i) {
    data[0] = 0;
    arguments[0] = reinterpret_cast<uint64_t>(data);
    publish(dispatch_packet(kernel, arguments));
    ASSERT_TRUE(reaches(*queue, i));
    EXPECT_EQ(data[0], 7u);
  }
  EXPECT_EQ(queue_memory->read_dispatch_id, 3 * kPackets);
  EXPECT_EQ(queue_memory->compute_tmpring_size, 0u);
  publish(AqlPacket{.header = 0xe000});
  const auto error = m.error(*queue);
  ASSERT_TRUE(error);
  EXPECT_EQ(queue_memory->queue_inactive_signal, 0x1234u);
}

TEST_P(CallersMemoryTest, TheWriteIndexMayFollowTheDoorbell) {
  const uint64_t kernel = m.load(kStore);
  const auto queue = make();
  arguments[0] = reinterpret_cast<uint64_t>(data);
  for (uint64_t i = 0; i < 8; ++i) {
    data[0] = 0;
    AqlPacket& slot = ring[i];
    const AqlPacket packet = dispatch_packet(kernel, arguments);
    std::memcpy(reinterpret_cast<std::byte*>(&slot) + 2, reinterpret_cast<const std::byte*>(&packet) + 2, 62);
    store_shared<uint16_t>(&slot.header, packet.header);
    store_shared<uint64_t>(&doorbell, i);
    while (m.processor->serve_doorbells()) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(data[0], 0u) << "it is not published yet";
    store_shared<uint64_t>(&queue_memory->write_dispatch_id, i + 1);
    ASSERT_TRUE(reaches(*queue, i + 1)) << "nobody rings again";
    EXPECT_EQ(data[0], 7u);
  }
}

// Translated code loads for all lanes where that does no harm. A runtime leaves mappings of memory that its
// program has given back; one beside a buffer is none of the buffer.
TEST_P(CallersMemoryTest, LanesThatAreOffReachNothingBesideTheirBuffer) {
  const uint64_t buffer = memory.pages->address() + 8 * kPage;
  ASSERT_TRUE(m.memory.map(buffer, kPage, kReadWrite, "buffer"));
  ASSERT_TRUE(m.memory.map(buffer + kPage, kPage, kReadWrite, "given back"));
  ASSERT_EQ(mprotect(memory.as<std::byte>(9 * kPage), kPage, PROT_NONE), 0);
  const auto queue = make();
  // The last lanes that are on are the last of a chunk of 16, or in the middle of one.
  uint64_t packets = 0;
  for (const uint32_t lanes : {16u, 8u}) {
    const std::string number = std::to_string(lanes);
    const uint64_t kernel = m.load(
        {.name = "copy_" + number,
         .body = "s_load_b128 s[4:7], s[0:1], 0x0\nv_and_b32 v0, 0x3ff, v0\nv_cmp_gt_u32 vcc_lo, " + number +
                 ", v0\ns_and_saveexec_b32 s8, vcc_lo\ns_cbranch_execz done\nv_lshlrev_b32 v1, 2, v0\n"
                 "s_waitcnt lgkmcnt(0)\nglobal_load_b32 v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n"
                 "global_store_b32 v1, v2, s[6:7]\ndone:\ns_nop 0"});
    const uint64_t begin = 9 * kPage - 4 * lanes;
    arguments[0] = memory.pages->address() + begin;
    arguments[1] = reinterpret_cast<uint64_t>(data);
    for (uint32_t i = 0; i < lanes; ++i) memory.as<uint32_t>(begin)[i] = 100 * lanes + i;
    publish(dispatch_packet(kernel, arguments, 32, 32));
    EXPECT_TRUE(reaches(*queue, ++packets));
    for (uint32_t i = 0; i < lanes; ++i) EXPECT_EQ(data[i], 100 * lanes + i);
  }
  ASSERT_EQ(mprotect(memory.as<std::byte>(9 * kPage), kPage, PROT_READ | PROT_WRITE), 0);
}

TEST_P(CallersMemoryTest, QueuesNeedMemoryThatTheDeviceHas) {
  AqlQueueOptions options;
  options.size = 4096;  // more than is mapped
  options.memory = {queue_memory, ring, &doorbell};
  EXPECT_THROW(m.processor->create_aql_queue(options), std::invalid_argument);
  options.size = kPackets;
  options.memory = {memory.as<QueueMemory>(40 * kPage), ring, &doorbell};
  EXPECT_THROW(m.processor->create_aql_queue(options), std::invalid_argument);
  RingQueueOptions ring_options;
  ring_options.dwords = 1u << 20;
  ring_options.memory = {data, arguments, arguments + 1, &doorbell};
  EXPECT_THROW(m.processor->create_sdma_queue(ring_options), std::invalid_argument);
}

TEST_P(CallersMemoryTest, MemoryOfTheQueueThatGoesEndsIt) {
  const auto queue = make();
  m.memory.unmap(memory.pages->address(), kPage);
  store_shared<uint64_t>(&doorbell, 0);
  while (m.processor->serve_doorbells()) {
  }
  const auto error = m.error(*queue);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, QueueError::Kind::memory_violation);
  EXPECT_EQ(error->address, reinterpret_cast<uint64_t>(queue_memory));
}

// Device malloc() asks the host for memory while the kernel runs.
TEST_P(CallersMemoryTest, RunningKernelsSeeWhatIsMapped) {
  const uint64_t kernel = m.load(kWaitThenStore);
  const auto queue = make();
  uint32_t* const late = memory.as<uint32_t>(8 * kPage);
  arguments[0] = reinterpret_cast<uint64_t>(data);
  arguments[1] = reinterpret_cast<uint64_t>(late);
  publish(dispatch_packet(kernel, arguments, 1, 1));
  ASSERT_TRUE(becomes(data, 1));
  ASSERT_TRUE(m.memory.map(reinterpret_cast<uint64_t>(late), kPage, kReadWrite, "late"));
  store_shared<uint32_t>(data, 2);
  ASSERT_TRUE(reaches(*queue, 1));
  EXPECT_EQ(*late, 7u);
}

// A wave has at hand where its instructions last found memory, and is in the middle of a turn.
TEST_P(CallersMemoryTest, RunningKernelsSeeWhatIsUnmapped) {
  const uint64_t kernel = m.load(kStoreWaitThenStore);
  uint32_t* const early = memory.as<uint32_t>(8 * kPage);
  arguments[0] = reinterpret_cast<uint64_t>(data);
  arguments[1] = reinterpret_cast<uint64_t>(early);
  for (int round = 0; round < 4; ++round) {
    *queue_memory = {};
    *data = *early = 0;
    doorbell = AqlQueue::kNeverRung;
    const auto queue = make();
    ASSERT_TRUE(m.memory.map(reinterpret_cast<uint64_t>(early), kPage, kReadWrite, "early"));
    publish(dispatch_packet(kernel, arguments, 1, 1));
    ASSERT_TRUE(becomes(data, 1));
    ASSERT_TRUE(m.memory.unmap(reinterpret_cast<uint64_t>(early)));
    store_shared<uint32_t>(data, 2);
    const auto error = m.error(*queue);
    ASSERT_TRUE(error);
    ASSERT_TRUE(error->fault);
    EXPECT_EQ(error->fault->fault.kind, FaultKind::memory_violation);
    EXPECT_EQ(error->fault->fault.address, reinterpret_cast<uint64_t>(early));
    EXPECT_EQ(*early, 1u);
    m.processor->destroy(queue);  // the next one has its memory
  }
}

// free() unmaps memory without a word.
TEST_P(CallersMemoryTest, MemoryThatTheProcessHasLostIsAFaultOfTheWave) {
  const uint64_t kernel = m.load(kStore);
  const auto queue = make();
  std::byte* const lost = memory.pages->data() + 8 * kPage;
  ASSERT_TRUE(m.memory.map(reinterpret_cast<uint64_t>(lost), kPage, kReadWrite, "freed"));
  ASSERT_EQ(mprotect(lost, kPage, PROT_NONE), 0);
  arguments[0] = reinterpret_cast<uint64_t>(lost);
  publish(dispatch_packet(kernel, arguments, 1, 1));
  const auto error = m.error(*queue);
  ASSERT_TRUE(error);
  ASSERT_TRUE(error->fault);
  EXPECT_EQ(error->fault->fault.kind, FaultKind::memory_violation);
  EXPECT_EQ(error->fault->fault.address, reinterpret_cast<uint64_t>(lost));
  EXPECT_NE(error->message.find("no memory of the host any more"), std::string::npos) << error->message;
}

// ---- Code of other mappings: function pointers into modules that were loaded later

// Calls the function whose address is the first argument, and stores what it leaves in v0 to the second; then
// waits until there is 0 and does it again, twice in all.
TestKernel calls_twice(bool precisely) {
  std::string body =
      "s_load_b128 s[4:7], s[0:1], 0x0\nv_mov_b32 v1, 0\ns_mov_b32 s9, 2\ns_waitcnt lgkmcnt(0)\n";
  // Who looks at its exceptions runs in the precise engine.
  if (precisely) body += "s_getreg_b32 s10, hwreg(HW_REG_TRAPSTS)\n";
  body +=
      "again:\ns_swappc_b64 s[30:31], s[4:5]\n"
      "global_store_b32 v1, v0, s[6:7]\ns_sub_u32 s9, s9, 1\ns_cmp_eq_u32 s9, 0\ns_cbranch_scc1 done\n"
      "wait:\nglobal_load_b32 v2, v1, s[6:7] glc dlc\ns_waitcnt vmcnt(0)\n"
      "v_readfirstlane_b32 s8, v2\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 wait\ns_branch again\ndone:";
  return {.name = precisely ? "calls_precisely" : "calls", .body = body};
}

struct OtherCodeTest : CallersMemoryTest {
  static constexpr uint64_t kFunctionBytes = 256;
  std::byte* place = memory.pages->data() + 8 * kPage;
  uint64_t callee() const { return reinterpret_cast<uint64_t>(place); }

  // The code of a function that returns `value`, by a branch and a change of the float mode and back.
  void write_function(uint32_t value) {
    const uint64_t kernel =
        m.load({.name = "returns" + std::to_string(value),
                .body = "s_branch on\ns_code_end\non:\ns_round_mode 1\nv_mov_b32 v0, " +
                        std::to_string(value) + "\ns_round_mode 0\ns_setpc_b64 s[30:31]"});
    int64_t entry = 0;
    std::memcpy(&entry, reinterpret_cast<const std::byte*>(kernel) + 16, sizeof entry);
    std::memcpy(place, reinterpret_cast<const std::byte*>(kernel + static_cast<uint64_t>(entry)),
                kFunctionBytes / 4);
  }
  void map_function(uint32_t value) {
    write_function(value);
    ASSERT_TRUE(m.memory.map_over(callee(), kFunctionBytes, kReadWrite | kExecute, "a module"));
  }
  // For another queue in the same memory.
  void start_again() {
    *queue_memory = {};
    doorbell = AqlQueue::kNeverRung;
    for (uint32_t i = 0; i < kPackets; ++i) ring[i].header = static_cast<uint16_t>(PacketType::invalid);
  }
  void call(uint64_t kernel) {
    arguments[0] = callee();
    arguments[1] = reinterpret_cast<uint64_t>(data);
    publish(dispatch_packet(kernel, arguments, 1, 32));
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, OtherCodeTest,
                         testing::Values(machine::EngineKind::interpreter, machine::EngineKind::translator),
                         [](const auto& info) {
                           return info.param == machine::EngineKind::interpreter ? "Interpreter"
                                                                                 : "Translator";
                         });

TEST_P(OtherCodeTest, IsCalledAsItIsMappedThen) {
  for (const bool precisely : {false, true}) {
    const uint64_t kernel = m.load(calls_twice(precisely));
    start_again();
    const auto queue = make();
    uint32_t value = 100;
    // Later dispatches reuse what was decoded for earlier ones.
    for (uint64_t i = 1; i <= 3; ++i) {
      map_function(++value);
      call(kernel);
      ASSERT_TRUE(becomes(data, value)) << m.error(*queue)->message;
      map_function(++value);
      store_shared<uint32_t>(data, 0);
      ASSERT_TRUE(reaches(*queue, i));
      EXPECT_EQ(data[0], value);
    }
  }
}

TEST_P(OtherCodeTest, IsAFaultOfTheBranchWhereThereIsNone) {
  for (const uint8_t access : {uint8_t{0}, uint8_t{kReadWrite}}) {
    const uint64_t kernel = m.load(calls_twice(false));
    start_again();
    const auto queue = make();
    write_function(1);
    if (access) {
      ASSERT_TRUE(m.memory.map_over(callee(), kFunctionBytes, access, "data"));
    }
    call(kernel);
    const auto error = m.error(*queue);
    ASSERT_TRUE(error);
    ASSERT_TRUE(error->fault);
    EXPECT_EQ(error->fault->fault.kind, FaultKind::bad_pc);
    EXPECT_EQ(error->fault->instruction, "s_swappc_b64 s[30:31], s[4:5]");
    EXPECT_NE(error->message.find("outside the code"), std::string::npos) << error->message;
  }
}

// A fault in the function has its own PC and text.
TEST_P(OtherCodeTest, NamesFaultsOfItsOwn) {
  const uint64_t kernel = m.load(calls_twice(false));
  const auto queue = make();
  write_function(1);
  const uint32_t trap = 0xbf900002;  // s_trap 2
  std::memcpy(place + 8, &trap, sizeof trap);
  ASSERT_TRUE(m.memory.map(callee(), kFunctionBytes, kReadWrite | kExecute, "a module"));
  call(kernel);
  const auto error = m.error(*queue);
  ASSERT_TRUE(error);
  ASSERT_TRUE(error->fault);
  EXPECT_EQ(error->fault->fault.kind, FaultKind::trap);
  EXPECT_EQ(error->fault->fault.pc, callee() + 8);
  EXPECT_EQ(error->fault->instruction, "s_trap 2");
}

// A module is freed while a wave is on its way to it.
TEST_P(OtherCodeTest, IsALostMemoryWhereTheHostTookIt) {
  const uint64_t kernel = m.load(calls_twice(false));
  map_function(5);
  ASSERT_EQ(mprotect(place, kPage, PROT_NONE), 0);
  const auto queue = make();
  call(kernel);
  const auto error = m.error(*queue);
  ASSERT_EQ(mprotect(place, kPage, PROT_READ | PROT_WRITE), 0);
  ASSERT_TRUE(error);
  ASSERT_TRUE(error->fault);
  EXPECT_EQ(error->fault->fault.kind, FaultKind::memory_violation);
  EXPECT_EQ(error->fault->fault.address & ~(kPage - 1), callee());
  EXPECT_NE(error->fault->instruction, "");
  // No lock was left behind.
  start_again();
  const auto other = make();
  call(kernel);
  ASSERT_TRUE(becomes(data, 5));
  store_shared<uint32_t>(data, 0);
  EXPECT_TRUE(reaches(*other, 1));
}

// A mapping may be as large as the card's memory.
TEST_P(OtherCodeTest, MayBeFarInALargeMapping) {
  const uint64_t kernel = m.load(calls_twice(false));
  constexpr uint64_t kBytes = uint64_t{16} << 30;
  void* const large =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(large, MAP_FAILED);
  // Across the border between two parts of the mapping that are looked up apart.
  place = static_cast<std::byte*>(large) + (uint64_t{11} << 30) - 12;
  write_function(6);
  ASSERT_TRUE(m.memory.map(reinterpret_cast<uint64_t>(large), kBytes, kReadWrite | kExecute, "the card's"));
  {
    const auto queue = make();
    call(kernel);
    ASSERT_TRUE(becomes(data, 6));
    store_shared<uint32_t>(data, 0);
    EXPECT_TRUE(reaches(*queue, 1));
  }
  ASSERT_TRUE(m.memory.unmap(reinterpret_cast<uint64_t>(large)));
  munmap(large, kBytes);
}

// Nobody says that a program has stored to its own signal.
TEST_P(CallersMemoryTest, BarriersSeeStoresOfTheHost) {
  const auto queue = make();
  auto* const signal = memory.as<SignalMemory>(3 * kPage + 64);
  signal->kind = static_cast<int64_t>(SignalKind::user);
  signal->value = 1;
  publish(barrier_packet(PacketType::barrier_and, {reinterpret_cast<uint64_t>(signal)}));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(queue->read_index(), 0u);
  store_shared<int64_t>(&signal->value, 0);
  EXPECT_TRUE(reaches(*queue, 1));
}

// All of a driver's memory may be executed; what does not belong to the kernel is not even looked at.
TEST_P(CallersMemoryTest, OtherExecutableMemoryMayGo) {
  const uint64_t kernel = m.load(kStore);
  const auto queue = make();
  // Below all others, where the dispatcher once looked for uses of exceptions.
  void* const low = mmap(reinterpret_cast<void*>(0x20000), kPage, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (low == MAP_FAILED) GTEST_SKIP() << "the address is taken";
  ASSERT_TRUE(m.memory.map(0x20000, kPage, kReadWrite | kExecute, "freed"));
  arguments[0] = reinterpret_cast<uint64_t>(data);
  publish(dispatch_packet(kernel, arguments));
  EXPECT_TRUE(reaches(*queue, 1));
  EXPECT_EQ(data[0], 7u);
  munmap(low, kPage);
}

// s_memrealtime and time stamps are one clock, the host's.
TEST_P(CallersMemoryTest, TimesAreTheHostsInTicksOfTheCard) {
  const uint64_t kernel = m.load(
      {.name = "clock",
       .body = "s_load_b64 s[4:5], s[0:1], 0x0\ns_sendmsg_rtn_b64 s[6:7], sendmsg(MSG_RTN_GET_REALTIME)\n"
               "s_waitcnt lgkmcnt(0)\nv_mov_b32 v0, s6\nv_mov_b32 v1, s7\nv_mov_b32 v2, 0\n"
               "global_store_b64 v2, v[0:1], s[4:5]"});
  const auto queue = make();
  auto* const signal = memory.as<SignalMemory>(3 * kPage + 64);
  signal->kind = static_cast<int64_t>(SignalKind::user);
  signal->value = 1;
  arguments[0] = reinterpret_cast<uint64_t>(data);
  const uint64_t before = host_real_time();
  publish(dispatch_packet(kernel, arguments, 1, 1, reinterpret_cast<uint64_t>(signal)));
  ASSERT_TRUE(reaches(*queue, 1));
  const uint64_t after = host_real_time();
  uint64_t seen = 0;
  std::memcpy(&seen, data, 8);
  EXPECT_LE(before, signal->start_ts);
  EXPECT_LE(signal->start_ts, seen);
  EXPECT_LE(seen, signal->end_ts);
  EXPECT_LE(signal->end_ts, after);
}

// SHADER_CYCLES goes as fast as the device's clock, of which programs make clocks to wait for.
TEST_P(CallersMemoryTest, ShaderCyclesAreOfTheDevicesClock) {
  constexpr uint32_t kTicks = 2000;  // of 100 MHz: 20 us, and SHADER_CYCLES begins again after 419
  const uint64_t kernel = m.load(
      {.name = "cycles",
       .body = "s_load_b64 s[4:5], s[0:1], 0x0\ns_sendmsg_rtn_b64 s[6:7], sendmsg(MSG_RTN_GET_REALTIME)\n"
               "s_waitcnt lgkmcnt(0)\ns_getreg_b32 s8, hwreg(HW_REG_SHADER_CYCLES)\n"
               "s_sendmsg_rtn_b64 s[10:11], sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)\n"
               "waits:\ns_sendmsg_rtn_b64 s[12:13], sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)\n"
               "s_sub_u32 s14, s12, s10\ns_cmp_lt_u32 s14, 2000\ns_cbranch_scc1 waits\n"
               "s_getreg_b32 s9, hwreg(HW_REG_SHADER_CYCLES)\n"
               "s_sendmsg_rtn_b64 s[14:15], sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)\n"
               "s_sub_u32 s12, s12, s10\ns_sub_u32 s13, s14, s6\ns_sub_u32 s14, s9, s8\n"
               "s_and_b32 s14, s14, 0xfffff\nv_mov_b32 v0, s12\nv_mov_b32 v1, s13\nv_mov_b32 v2, s14\n"
               "v_mov_b32 v3, 0\nglobal_store_b96 v3, v[0:2], s[4:5]"});
  const auto queue = make();
  arguments[0] = reinterpret_cast<uint64_t>(data);
  const uint64_t rate = hardware::models().front().clock_mhz / 100;  // navi31
  // Another one may have the processor in between.
  for (uint64_t attempt = 1; attempt <= 100; ++attempt) {
    publish(dispatch_packet(kernel, arguments, 1));
    ASSERT_TRUE(reaches(*queue, attempt));
    const uint64_t within = data[0], around = data[1], clocks = data[2];
    EXPECT_GE(within, kTicks);
    if ((around + 1) * rate > 0xfffff) continue;
    EXPECT_GE(clocks, (within - 1) * rate);
    EXPECT_LE(clocks, (around + 1) * rate);
    return;
  }
  FAIL() << "no run took as long as it asked for";
}

// ---- Rings of the copy engine and PM4

struct CallersRingTest : testing::Test {
  uint64_t doorbell = ~uint64_t{0};
  Pages memory{8 * kPage};  // outlives the queues
  MachineUnderTest m{2, "navi31", AddressSpace::Changes::seen_at_once};
  uint32_t* const ring = memory.as<uint32_t>();
  uint64_t* const read = memory.as<uint64_t>(kPage);
  uint64_t* const write = memory.as<uint64_t>(kPage + 64);
  uint32_t* const data = memory.as<uint32_t>(2 * kPage);

  CallersRingTest() {
    EXPECT_TRUE(m.memory.map(memory.pages->address(), 4 * kPage, kReadWrite, "the caller's"));
    EXPECT_TRUE(m.memory.map(memory.pages->address() + 4 * kPage, 4 * kPage, kReadWrite, "its neighbour"));
  }
  RingQueueOptions options(uint32_t unit) {
    RingQueueOptions options;
    options.dwords = 1024;
    options.on_error = m.keep_errors();
    options.memory = {ring, read, write, &doorbell, unit};
    return options;
  }
  // Whether the queue gets behind these packets; positions count `unit` bytes.
  bool run(const Words& words, uint32_t unit) {
    uint64_t at = *write * unit / 4;
    for (uint32_t word : words) ring[at++ % 1024] = word;
    store_shared<uint64_t>(write, at * 4 / unit);
    store_shared<uint64_t>(&doorbell, at * 4 / unit);
    while (m.processor->serve_doorbells()) {
    }
    return m.processor->waiters().wait([&] { return load_shared<uint64_t>(read) == at * 4 / unit; },
                                       in_seconds(20));
  }
};

TEST_F(CallersRingTest, CopyEngineCountsBytes) {
  const auto queue = m.processor->create_sdma_queue(options(1));
  data[0] = 5;
  EXPECT_TRUE(run({sdma::kCopy, 3, 0, low(data), high(data), low(data + 1), high(data + 1)}, 1));
  EXPECT_EQ(data[1], 5u);
  EXPECT_EQ(*read, 28u);
}

// A program sees its copy done while the thread that made it looks once more, and publishes the next one.
TEST_F(CallersRingTest, CopiesThatArePublishedWhileTheThreadGoesToSleepAreMade) {
  const auto queue = m.processor->create_sdma_queue(options(1));
  for (uint64_t i = 1; i <= 20000; ++i) {
    ring[(i - 1) % 1024] = sdma::kNop;
    store_shared<uint64_t>(write, i * 4);
    store_shared<uint64_t>(&doorbell, i * 4);
    m.processor->look_at_doorbells();
    const auto end = in_seconds(20);
    while (load_shared<uint64_t>(read) != i * 4)
      ASSERT_LT(Waiters::Clock::now(), end) << "packet " << i << " was never looked at";
  }
}

TEST_F(CallersRingTest, CopiesCrossAdjoiningMappings) {
  const auto queue = m.processor->create_sdma_queue(options(1));
  auto* const across = memory.as<uint32_t>(4 * kPage - 8);
  data[0] = 1, data[1] = 2, data[2] = 3, data[3] = 4;
  EXPECT_TRUE(run({sdma::kCopy, 15, 0, low(data), high(data), low(across), high(across)}, 1));
  EXPECT_EQ(across[3], 4u);
}

TEST_F(CallersRingTest, RectanglesAreCopied) {
  const auto queue = m.processor->create_sdma_queue(options(1));
  auto* const source = memory.as<uint16_t>(2 * kPage);
  auto* const target = memory.as<uint16_t>(3 * kPage);
  for (unsigned i = 0; i < 512; ++i) source[i] = static_cast<uint16_t>(i);
  // 3 x 2 x 2 elements of 2 bytes, from (1, 2, 0) of rows of 10 and slices of 60 to (4, 1, 1) of 8 and 40.
  const Words packet = {sdma::kCopy | sdma::kCopyLinearRectangle << 8 | 1u << 29,
                        low(source),
                        high(source),
                        1 | 2u << 16,
                        0 | 9u << 13,
                        59,
                        low(target),
                        high(target),
                        4 | 1u << 16,
                        1 | 7u << 13,
                        39,
                        2 | 1u << 16,
                        1};
  EXPECT_TRUE(run(packet, 1));
  for (unsigned z = 0; z < 4; ++z)
    for (unsigned y = 0; y < 5; ++y)
      for (unsigned x = 0; x < 8; ++x) {
        const bool inside = x >= 4 && x < 7 && y >= 1 && y < 3 && z >= 1 && z < 3;
        const unsigned expected = inside ? (x - 4 + 1) + (y - 1 + 2) * 10 + (z - 1) * 60 : 0;
        EXPECT_EQ(target[x + y * 8 + z * 40], expected) << x << ' ' << y << ' ' << z;
      }
}

TEST_F(CallersRingTest, HostDataPathFlushesOfTheRuntimePass) {
  const auto queue = m.processor->create_sdma_queue(options(1));
  EXPECT_TRUE(run({sdma::kPollRegisterOrMemory, 0, sdma::kHostDataPathFlush, 0, 0, 0}, 1));
}

TEST_F(CallersRingTest, CopyErrorsNameTheAddress) {
  const auto queue = m.processor->create_sdma_queue(options(1));
  const auto nowhere = memory.pages->address() + 8 * kPage;
  const auto* pointer = reinterpret_cast<const void*>(nowhere);
  EXPECT_EQ(m.memory.snapshot()->find(nowhere, 1, kRead), nullptr);
  uint64_t at = 0;
  for (uint32_t word : Words{sdma::kCopy, 3, 0, low(data), high(data), low(pointer), high(pointer)})
    ring[at++] = word;
  store_shared<uint64_t>(write, at * 4);
  store_shared<uint64_t>(&doorbell, at * 4);
  while (m.processor->serve_doorbells()) {
  }
  const auto error = m.error(*queue);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, QueueError::Kind::memory_violation);
  EXPECT_EQ(error->address, nowhere);
}

TEST_F(CallersRingTest, Pm4CountsDwordsAndFlushesTheHostDataPath) {
  const auto queue = m.processor->create_pm4_queue(options(4));
  // Writes a register of the bus interface, then waits for another one.
  const uint32_t write_then_wait = 3 | 1u << 6;
  EXPECT_TRUE(run({pm4::header(pm4::kWaitRegMem, 6), write_then_wait, 0x106, 0x107, 1, 1, 0x20}, 4));
  EXPECT_EQ(*read, 7u);
}

// The write position goes on beyond the ring, the read position is told within it, and in 32 bits.
TEST_F(CallersRingTest, Pm4TellsWhereItReadsWithinTheRing) {
  RingQueueOptions wrapping = options(4);
  wrapping.memory->wraps = true;
  *read = 0xabcd'0000'0017;  // what stands there is nobody's
  *write = 0;
  const auto queue = m.processor->create_pm4_queue(wrapping);
  const uint64_t dwords = queue->size();
  const auto tells = [&](uint64_t position) {
    return m.processor->waiters().wait(
        [&] { return load_shared<uint64_t>(read) == (0xabcd'0000'0000 | position); }, in_seconds(20));
  };
  for (uint64_t at = 0; at < dwords; ++at) ring[at] = 2u << 30;
  for (uint64_t at = 100; at < 3 * dwords; at += dwords / 2 + 3) {
    store_shared<uint64_t>(write, at);
    store_shared<uint64_t>(&doorbell, at);
    while (m.processor->serve_doorbells()) {
    }
    EXPECT_TRUE(tells(at % dwords)) << at;
  }
}

TEST_F(CallersRingTest, SuspendedQueuesWait) {
  const auto queue = m.processor->create_sdma_queue(options(1));
  m.processor->suspend(*queue);
  ring[0] = sdma::kNop;
  store_shared<uint64_t>(write, 4);
  store_shared<uint64_t>(&doorbell, 4);
  while (m.processor->serve_doorbells()) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(*read, 0u);
  queue->set_priority(3);
  m.processor->resume(queue);
  EXPECT_TRUE(m.processor->waiters().wait([&] { return load_shared<uint64_t>(read) == 4; }, in_seconds(20)));
}

TEST_F(CallersRingTest, QueuesThatAreTakenAwayWithoutPauseHaveTheirTurns) {
  const auto queue = m.processor->create_sdma_queue(options(1));
  for (uint64_t i = 0; i < 300; ++i) {
    m.processor->suspend(*queue);
    ASSERT_EQ(*read, 4 * i);
    ring[i] = sdma::kNop;
    store_shared<uint64_t>(write, 4 * (i + 1));
    m.processor->resume(queue);
  }
}

}  // namespace
}  // namespace lockstep::command

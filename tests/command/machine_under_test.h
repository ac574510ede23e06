// A device with a command processor, kernels from assembly, and packets to send.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "command/command_processor.h"
#include "machine/kernel.h"
#include "memory/mapped_pages.h"
#include "tests/machine/engine_under_test.h"

namespace lockstep::command {

// What a test kernel asks for; more `.amdhsa_` lines in `directives`.
struct TestKernel {
  std::string name = {};
  std::string body = {};  // s_endpgm is added
  std::string directives = {};
  unsigned wave_size = 32;
  unsigned vgprs = 16;
  unsigned user_sgprs = 2;  // of the kernarg pointer alone, if `directives` says nothing else
};

class MachineUnderTest {
 public:
  explicit MachineUnderTest(unsigned threads = 2, const char* model = "navi31",
                            AddressSpace::Changes changes = AddressSpace::Changes::seen_by_next_dispatch,
                            machine::EngineKind engine = machine::engine_under_test(),
                            bool host_real_time = false);
  ~MachineUnderTest();

  // The guest address of the kernel's descriptor.
  uint64_t load(const TestKernel& kernel);
  // `dwords` zeroed dwords that the guest may read and write.
  uint32_t* buffer(size_t dwords);

  std::shared_ptr<AqlQueue> queue(uint32_t size = 64, int priority = 0, uint32_t type = kQueueTypeMulti);
  // A queue's error callback that keeps what it is told for error().
  Queue::ErrorCallback keep_errors();
  // Of a queue with that callback; waits for it, nothing if it does not come.
  std::optional<QueueError> error(const Queue& queue) const;

  AddressSpace memory;
  std::unique_ptr<CommandProcessor> processor;

 private:
  std::vector<std::unique_ptr<machine::LoadedCode>> loaded_;
  std::vector<std::unique_ptr<MappedPages>> buffers_;
  mutable std::mutex mutex_;
  mutable std::condition_variable told_;
  std::map<uint64_t, QueueError> errors_;
};

inline constexpr uint16_t header_of(PacketType type, bool barrier = false, unsigned acquire = kFenceSystem,
                                    unsigned release = kFenceSystem) {
  return static_cast<uint16_t>(static_cast<unsigned>(type) | (barrier ? kHeaderBarrier : 0) |
                               acquire << kHeaderAcquireShift | release << kHeaderReleaseShift);
}

AqlPacket dispatch_packet(uint64_t kernel, const void* arguments, uint32_t groups = 1, uint32_t items = 32,
                          uint64_t signal = 0, bool barrier = false);
AqlPacket barrier_packet(PacketType type, std::vector<uint64_t> signals, uint64_t completion = 0);

// Reserves, waits for room, publishes, rings. Returns the packet's index.
uint64_t submit(AqlQueue& queue, const AqlPacket& packet);

inline Waiters::Clock::time_point in_seconds(double seconds) {
  return Waiters::Clock::now() + std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

// Dwords of a ring.
using Words = std::vector<uint32_t>;

inline uint32_t low(const void* address) {
  return static_cast<uint32_t>(reinterpret_cast<uint64_t>(address));
}
inline uint32_t high(const void* address) {
  return static_cast<uint32_t>(reinterpret_cast<uint64_t>(address) >> 32);
}
inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A machine with 4096 dwords of memory and a ring of packets.
template <class Kind>
struct RingQueueTest : testing::Test {
  MachineUnderTest m;
  uint32_t* const memory;
  std::shared_ptr<Kind> queue;

  RingQueueTest() : memory(m.buffer(4096)), queue(make()) {}
  ~RingQueueTest() override {
    if (HasFailure() && queue->state() == QueueState::inactive)
      if (const auto error = m.error(*queue)) ADD_FAILURE() << error->message;
  }
  std::shared_ptr<Kind> make(uint32_t dwords = 1024) {
    RingQueueOptions options;
    options.dwords = dwords;
    options.on_error = m.keep_errors();
    if constexpr (std::is_same_v<Kind, Pm4Queue>)
      return m.processor->create_pm4_queue(std::move(options));
    else
      return m.processor->create_sdma_queue(std::move(options));
  }
  void submit(const Words& words) { ASSERT_TRUE(queue->submit(words, in_seconds(20))); }
  bool becomes(const uint32_t* word, uint32_t value, double seconds = 20) {
    return m.processor->waiters().wait([&] { return load_shared<uint32_t>(word) == value; },
                                       in_seconds(seconds));
  }
  // What a queue of its own says to these packets.
  QueueError failure(const Words& words) {
    queue = make();
    EXPECT_TRUE(queue->submit(words, in_seconds(20)));
    const auto error = m.error(*queue);
    EXPECT_TRUE(error);
    return error.value_or(QueueError{});
  }
};

}  // namespace lockstep::command

// A device with a command processor, kernels from assembly, and packets to send.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "command/command_processor.h"
#include "machine/kernel.h"

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
  explicit MachineUnderTest(unsigned threads = 2, const char* model = "navi31");
  ~MachineUnderTest();

  // The guest address of the kernel's descriptor.
  uint64_t load(const TestKernel& kernel);
  // `dwords` zeroed dwords that the guest may read and write.
  uint32_t* buffer(size_t dwords);

  std::shared_ptr<AqlQueue> queue(uint32_t size = 64, int priority = 0, uint32_t type = kQueueTypeMulti);
  // Of the queue; nothing if there was none.
  std::optional<QueueError> error(const std::shared_ptr<AqlQueue>& queue) const;

  AddressSpace memory;
  std::unique_ptr<CommandProcessor> processor;

 private:
  std::vector<std::unique_ptr<machine::LoadedCode>> loaded_;
  std::vector<std::unique_ptr<MappedPages>> buffers_;
  mutable std::mutex mutex_;
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

}  // namespace lockstep::command

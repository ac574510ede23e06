// A queue of the copy engine.
#pragma once

#include "command/ring_queue.h"

namespace lockstep::command {

class SdmaQueue final : public RingQueue {
 public:
  SdmaQueue(uint64_t id, RingQueueOptions options, Services services)
      : RingQueue(id, "SDMA", std::move(options), services) {}

  bool busy() const override { return false; }

 private:
  uint32_t length(uint64_t address, std::span<const uint32_t> words) override;
  Progress execute(uint64_t address, std::span<const uint32_t> packet) override;
  Failure failure() const override { return failure_; }
  std::optional<Waiters::Clock::time_point> look_again() const override { return look_again_; }
  void cancel() override {}

  Progress execute(std::span<const uint32_t> packet);
  Progress indirect(std::span<const uint32_t> packet);
  Progress refuse(QueueError::Kind kind, std::string field, std::string text);
  Progress refuse_lost(uint64_t address);
  std::byte* at(uint64_t address, uint64_t bytes, uint8_t access, unsigned alignment, const char* field);
  Progress copy(std::span<const uint32_t> packet);
  Progress copy_rectangle(std::span<const uint32_t> packet);
  Progress write(std::span<const uint32_t> packet);
  Progress fill(std::span<const uint32_t> packet);
  Progress fence(std::span<const uint32_t> packet);
  Progress poll(std::span<const uint32_t> packet);
  Progress semaphore(std::span<const uint32_t> packet);
  Progress conditional_execution(std::span<const uint32_t> packet);
  // The packet waits, and is looked at again when memory changes or in a while.
  Progress look_later(uint32_t interval);
  Progress atomic(std::span<const uint32_t> packet);
  Progress time_stamp(std::span<const uint32_t> packet);

  std::shared_ptr<const RangeSet> ranges_;
  Failure failure_;
  std::optional<Waiters::Clock::time_point> look_again_;
  uint32_t skip_ = 0;   // dwords that a condition has left out
  uint32_t polls_ = 0;  // of the packet that waits
  // Of the indirect buffer in the ring: dwords that are done, and a copy of the packet there.
  uint64_t in_buffer_ = 0;
  std::vector<uint32_t> buffered_;
};

}  // namespace lockstep::command

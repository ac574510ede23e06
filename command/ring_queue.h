// A queue of dwords: PM4 packets or those of the copy engine. One producer writes packets, moves the write
// position and rings the doorbell; positions count dwords and never go back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "command/guest_memory.h"
#include "command/queue.h"
#include "command/services.h"

namespace lockstep::command {

struct RingQueueOptions {
  uint32_t dwords = 16384;  // a power of two
  int priority = 0;
  Queue::ErrorCallback on_error;
  precise::Settings precise;  // of its dispatches
};

class RingQueue : public Queue {
 public:
  // Throws std::invalid_argument for a size that is none.
  RingQueue(uint64_t id, const char* kind, RingQueueOptions options, Services services);

  uint64_t ring_address() const { return reinterpret_cast<uint64_t>(ring_); }
  uint32_t size() const { return dwords_; }
  uint64_t read_position() const { return load_shared<uint64_t>(&memory_->read); }
  uint64_t write_position() const { return load_shared<uint64_t>(&memory_->write); }
  // The producer's part in one call: waits for room, copies, rings the doorbell. False after the deadline, if
  // the queue is inactive, or if it is smaller than that.
  bool submit(std::span<const uint32_t> packets, std::optional<Waiters::Clock::time_point> deadline);
  // For producers that write the ring themselves: `position` is where the next packet will begin.
  void ring_doorbell(uint64_t position);

  Advance advance() override;
  void inactivate() override;

 protected:
  enum class Progress : uint8_t {
    done,
    more,  // call again, other queues first
    waits_memory,
    waits_dispatch,
    failed
  };
  struct Failure {
    QueueError::Kind kind = QueueError::Kind::invalid_packet;
    std::string field, text;
  };
  // Length in dwords of the packet that begins with these words (all that have been published); 0 fails.
  virtual uint32_t length(uint64_t address, std::span<const uint32_t> words) = 0;
  // Executes a packet. Called again with the same one while it waits.
  virtual Progress execute(uint64_t address, std::span<const uint32_t> packet) = 0;
  // Does what earlier packets have left to be done; false fails.
  virtual bool settle() { return true; }
  // Of the call before.
  virtual Failure failure() const = 0;
  virtual std::optional<Waiters::Clock::time_point> look_again() const = 0;
  // Ends what runs.
  virtual void cancel() = 0;

  void fail(QueueError error);
  const Services& services() const { return services_; }

 private:
  struct Memory {
    uint64_t read, write, doorbell;
  };
  static constexpr size_t kControlBytes = 4096;

  QueueError error_of(const Failure& failure) const;
  void end();  // what follows become_inactive()

  const Services services_;
  const char* const kind_;
  const uint32_t dwords_;
  MappedPages pages_;
  Memory* memory_;
  uint32_t* ring_;
  std::vector<uint32_t> packet_;  // a copy without the ring's end in it
};

}  // namespace lockstep::command

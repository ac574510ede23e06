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
#include "memory/mapped_pages.h"

namespace lockstep::command {

// Of the caller: the positions count `unit` bytes, the doorbell is stored to with the position where the next
// packet will begin, and is the one that counts: the card reads the other one only where it has lost that.
// Callers may go on beyond the ring's end or begin anew there. The device must have the memory mapped as long
// as the queue exists.
struct RingQueueMemory {
  uint32_t* ring = nullptr;
  uint64_t *read = nullptr, *write = nullptr;
  uint64_t* doorbell = nullptr;  // not of the device
  uint32_t unit = 4;
  // The read position is reported in 32 bits that wrap at the ring's size, as the card's compute queues do
  // (AMD's kfdtest, PM4Queue.cpp), and begins at 0 whatever stands there.
  bool wraps = false;
};

struct RingQueueOptions {
  uint32_t dwords = 16384;  // a power of two
  int priority = 0;
  Queue::ErrorCallback on_error;
  precise::Settings precise;  // of its dispatches
  std::optional<RingQueueMemory> memory =
      std::nullopt;  // where the ring is; the queue makes its own if that is nowhere
};

class RingQueue : public Queue {
 public:
  // Throws std::invalid_argument for a size that is none.
  RingQueue(uint64_t id, const char* kind, RingQueueOptions options, Services services);

  uint64_t ring_address() const { return reinterpret_cast<uint64_t>(memory_.ring); }
  uint32_t size() const { return dwords_; }
  uint64_t read_position() const { return load_shared<uint64_t>(memory_.read) * memory_.unit / 4; }
  uint64_t write_position() const { return load_shared<uint64_t>(memory_.write) * memory_.unit / 4; }
  // The producer's part in one call: waits for room, copies, rings the doorbell. False after the deadline, if
  // the queue is inactive, or if it is smaller than that.
  bool submit(std::span<const uint32_t> packets, std::optional<Waiters::Clock::time_point> deadline);
  // For producers that write the ring themselves: `position` is where the next packet will begin.
  void ring_doorbell(uint64_t position);

  Advance advance() override;
  bool rung() const override { return load_shared<uint64_t>(memory_.doorbell) != heard_; }
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
    uint64_t address = 0;  // that could not be accessed
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
  static constexpr size_t kControlBytes = 4096;

  // Whether the ring and its positions are still memory of the device.
  bool has_memory() const;
  QueueError error_of(const Failure& failure) const;
  void end();  // what follows become_inactive()
  // Where the last of the published packets ends, in dwords that never go back.
  uint64_t published_end() const;
  void report_read() const;
  // Memory of the queue that was there when it was made.
  void fail_lost(uint64_t address);

  const Services services_;
  const char* const kind_;
  const uint32_t dwords_;
  std::optional<MappedPages> pages_;  // where the caller has none
  RingQueueMemory memory_;
  uint64_t read_;                 // the processor's thread alone
  std::atomic<uint64_t> heard_;   // the doorbell as of the last look
  std::vector<uint32_t> packet_;  // a copy without the ring's end in it
};

}  // namespace lockstep::command

// A user-mode queue of AQL packets.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "command/dispatch_host.h"
#include "command/dispatcher.h"
#include "command/guest_memory.h"
#include "command/hsa_layout.h"
#include "command/pm4_executor.h"
#include "command/queue.h"
#include "command/services.h"
#include "machine/scratch_ring.h"
#include "memory/mapped_pages.h"

namespace lockstep::command {

// Of the caller, who has filled the amd_queue_t. The device must have the first two mapped as long as the
// queue exists; the doorbell is stored to with the index of a packet.
struct AqlQueueMemory {
  QueueMemory* queue = nullptr;
  AqlPacket* ring = nullptr;
  uint64_t* doorbell = nullptr;  // not of the device; holds kNeverRung before the first packet
  uint64_t* write = nullptr;     // the write index, if it is not that of `queue`
};

struct AqlQueueOptions {
  uint32_t size = 4096;  // packets: a power of two
  int priority = 0;      // higher is first
  uint32_t type = kQueueTypeMulti;
  Queue::ErrorCallback on_error;
  precise::Settings precise;  // of its dispatches
  // Where the queue is; it makes its own memory if that is nowhere. In the caller's, its
  // queue_inactive_signal is left alone: the error callback tells.
  std::optional<AqlQueueMemory> memory = std::nullopt;
  DispatchHostMaker host = {};  // may be none
};

// Packets are published as HSA says: reserve an index, fill the slot, store the header with release order,
// ring the doorbell. A slot may be used again when the read index has passed it.
class AqlQueue final : public Queue, private MessageSink {
 public:
  // Throws std::invalid_argument for a size that is none.
  AqlQueue(uint64_t id, AqlQueueOptions options, Services services);
  ~AqlQueue() override;

  static constexpr uint64_t kNeverRung = ~uint64_t{0};  // in a doorbell

  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }  // of the amd_queue_t
  uint32_t size() const { return size_; }
  AqlPacket* ring() const { return ring_; }

  uint64_t read_index() const { return load_shared<uint64_t>(&memory_->read_dispatch_id); }
  uint64_t write_index() const { return load_shared<uint64_t>(write_); }
  // Reserves `count` packets; returns the index of the first. They may be written once the read index is
  // less than `size` behind.
  uint64_t reserve(uint64_t count = 1);
  // Waits until the packet's slot is free; false after the deadline or if the queue became inactive.
  bool wait_for_slot(uint64_t index, std::optional<Waiters::Clock::time_point> deadline);
  // Fills a reserved and free slot and publishes it; the header is that of `packet`.
  void publish(uint64_t index, const AqlPacket& packet);
  // The value is the index of a packet that was published.
  void ring_doorbell(uint64_t index);
  // Ends a packet: its dispatches, or its wait, and one that is still to come is passed over. The queue goes
  // on behind it, its completion signal stays as it is. False if that packet is done already or was never
  // published.
  bool kill(uint64_t index);

  Advance advance() override;
  bool rehearse() override;
  bool rung() const override { return load_shared<uint64_t>(doorbell_) != heard_; }
  void inactivate() override;
  bool busy() const override;
  void suspend_waves() override;
  void resume_waves() override;

 private:
  enum class Outcome : uint8_t { launched, blocked, failed };
  class HostedMessages;

  void on_interrupt(const Wave& wave, uint32_t payload) override;
  bool is_published(uint16_t header) const;
  void look_for_index(Advance& result) const;
  Outcome process(uint64_t index, uint16_t header, Advance& result);
  Outcome dispatch(uint64_t index, const KernelDispatchPacket& packet);
  // Gives the launch its scratch, in a larger ring than so far if it needs that.
  void provide_scratch(machine::Launch& launch);
  void tell_scratch();
  Outcome barrier(uint64_t index, const BarrierPacket& packet, bool all);
  Outcome vendor(uint64_t index, const AqlPacket& packet, Advance& result);
  Outcome buffer(uint64_t index, const Pm4IbPacket& packet, Advance& result);
  Outcome buffer_failed(uint64_t index);
  Outcome refuse(uint64_t index, QueueError::Kind kind, std::string field, const std::string& text,
                 uint64_t unmapped = 0);
  // Memory of the queue that was there when it was made.
  Outcome refuse_lost(uint64_t address);
  Outcome refuse_signal(uint64_t index, std::string field, uint64_t signal);
  void make_memory(uint32_t type);
  // Whether its memory is still the device's.
  bool has_memory();
  void end();  // what follows become_inactive()
  std::vector<std::shared_ptr<machine::ActiveDispatch>> running() const;
  bool killed(uint64_t index);
  // Passes over a packet that was killed; false if it still runs.
  bool abandon(uint64_t index);
  void fail(QueueError error);
  QueueError kernel_fault(uint64_t index, machine::Outcome&& outcome) const;
  // `host` may be null.
  void dispatch_done(uint64_t index, uint64_t signal, uint64_t start, HostedMessages* host,
                     machine::Outcome&& outcome);
  // Completes what has no waves.
  Outcome complete(uint64_t index, uint64_t signal, uint64_t start);
  bool signal_completion(uint64_t index, uint64_t signal, uint64_t start);
  void retire(uint64_t index);
  AqlPacket& slot(uint64_t index) const { return ring_[index & (size_ - 1)]; }

  Services services_;

  const uint32_t size_;
  const bool cooperative_;
  const DispatchHostMaker host_;
  std::optional<MappedPages> pages_;  // amd_queue_t, its doorbell signal and doorbell, the ring
  QueueMemory* memory_ = nullptr;
  uint64_t* write_ = nullptr;
  uint64_t* doorbell_ = nullptr;
  AqlPacket* ring_ = nullptr;
  std::atomic<uint64_t> heard_ = kNeverRung;  // the doorbell as of the last look
  Waiters::Clock::time_point rung_{};         // when it was first seen to be so; the processor's thread alone
  Dispatcher dispatcher_;
  std::shared_ptr<machine::ScratchRing> scratch_;  // what the kernels so far needed; null: none
  uint64_t inactive_signal_ = 0;                   // 0: the memory is the caller's
  uint64_t mapped_in_ = 0;                         // version of the mappings that had it; 0: none
  uint64_t next_ = 0;                              // to be launched; the processor's thread alone
  uint64_t active_since_ = 0;                      // when the packet at next_ was first looked at; 0: not yet
  uint64_t blocked_since_ = 0;                     // likewise; in nanoseconds
  std::optional<KernelDispatchPacket> last_dispatch_;  // that was launched; the processor's thread alone
  unsigned reached_ = 0;  // dependent signals of that packet that have been at 0, a bit for each

  std::unique_ptr<Pm4Executor> executor_;  // of PM4 buffers; made when the first one comes
  std::atomic<Pm4Executor*> shared_executor_ = nullptr;
  bool in_buffer_ = false;
  uint64_t buffer_index_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<bool> done_;  // by slot
  std::atomic<uint64_t> in_flight_ = 0;
  std::atomic<uint64_t> retired_ = 0;  // packets
  std::atomic<bool> stalled_ = false;  // a packet waits for the end of earlier ones
  std::map<uint64_t, std::shared_ptr<machine::ActiveDispatch>> running_;
  std::set<uint64_t> to_kill_;
  std::atomic<bool> kills_ = false;  // whether there are some of these
};

}  // namespace lockstep::command

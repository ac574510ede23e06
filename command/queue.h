// What all queues have in common: identity, priority, state, errors.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command/waiters.h"
#include "machine/compute_units.h"
#include "machine/device.h"

namespace lockstep::command {

// Why a queue became inactive.
struct QueueError {
  enum class Kind : uint8_t {
    invalid_packet,    // a packet that no hardware would take
    memory_violation,  // the command processor was sent to memory that is not mapped
    kernel_fault,      // a wave faulted
    not_resident,      // a cooperative grid that does not fit the device
    unsupported,       // a packet that this machine does not execute
  };
  Kind kind = Kind::invalid_packet;
  uint64_t queue = 0;     // id
  uint64_t position = 0;  // AQL: packet index; PM4: dword index in the ring; SDMA: byte index
  std::string field;      // of the packet; empty if it is about all of it
  std::string message;    // queue, packet, what is wrong and how to mend it
  uint64_t address = 0;   // of the guest, that could not be accessed; 0: none, or in `fault`
  std::optional<machine::WaveFault> fault;
};

// Packets of a queue before others get their turn, and the time that they may take: kernels run on the thread
// that processes packets, and on the card queues go on beside each other.
constexpr unsigned kBatch = 64;
constexpr auto kLongestBatch = std::chrono::microseconds(20);

enum class QueueState : uint8_t { active, inactive };

class Queue {
 public:
  // Called once, from any thread, when the queue becomes inactive by an error. May not destroy the queue.
  using ErrorCallback = std::function<void(const QueueError&)>;

  Queue(uint64_t id, int priority, ErrorCallback on_error, precise::Settings settings = {})
      : id_(id), priority_(priority), on_error_(std::move(on_error)), precise_{std::move(settings), {}} {}
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  uint64_t id() const { return id_; }
  int priority() const { return priority_.load(std::memory_order_relaxed); }
  // Of what is processed later; while the queue is suspended.
  void set_priority(int priority) { priority_.store(priority, std::memory_order_relaxed); }
  // That waves of what is processed later may have; while the queue is suspended.
  virtual void set_compute_units(const machine::ComputeUnits& units) {
    compute_units_ = std::make_shared<const machine::ComputeUnits>(units);
  }
  // What its waves get from s_sendmsg_rtn (guide 5.3, table 16). Drivers number doorbells in 10 bits (open).
  uint32_t doorbell_id() const { return static_cast<uint32_t>(id_ & 0x3ff); }
  QueueState state() const { return state_.load(std::memory_order_acquire); }

  // Exceptions of its dispatches so far, where its settings ask for them.
  std::vector<Finding> exceptions() const {
    return precise_.settings.exceptions ? precise_.findings.exceptions() : std::vector<Finding>();
  }
  // Rules that they broke, where its settings ask for those.
  std::vector<Finding> findings() const { return precise_.findings.all(); }

  struct Advance {
    bool progressed = false;        // processed something; call again
    bool waits_for_memory = false;  // goes on when memory has changed
    // Memory is looked at again at this time although nobody says that it has changed: what WAIT_REG_MEM and
    // POLL_REGMEM do by definition.
    std::optional<Waiters::Clock::time_point> look_again;
  };
  // Processes packets for a moment. Called by one thread, never waits.
  virtual Advance advance() = 0;
  // Does what is needed for another packet like the last one, of which nobody sees anything
  // (machine::Device::rehearse); whether there was something to do. Called like advance().
  virtual bool rehearse() { return false; }

  // Whether somebody has stored to its doorbell since the last advance().
  virtual bool rung() const { return false; }

  // Ends what runs, and no packet is processed any more. Completion signals of what was ended stay as they
  // are. Safe from any thread; what runs may end a little later.
  virtual void inactivate() = 0;
  // Whether a dispatch of this queue still runs.
  virtual bool busy() const = 0;

  // Of a queue whose packets nobody processes: when this returns its waves stand still, until they are let go
  // on, or ended by inactivate(). Safe from any thread.
  virtual void suspend_waves() {}
  virtual void resume_waves() {}

 protected:
  // True for the first caller.
  bool become_inactive() {
    return state_.exchange(QueueState::inactive, std::memory_order_acq_rel) == QueueState::active;
  }
  void tell(const QueueError& error) {
    if (on_error_) on_error_(error);
  }
  const std::shared_ptr<const machine::ComputeUnits>& compute_units() const { return compute_units_; }
  // For machine::Device::start.
  machine::Device::Precise* precise() { return precise_.settings.is_default() ? nullptr : &precise_; }

 private:
  const uint64_t id_;
  std::atomic<int> priority_;
  std::atomic<QueueState> state_ = QueueState::active;
  const ErrorCallback on_error_;
  std::shared_ptr<const machine::ComputeUnits> compute_units_;  // null: all
  machine::Device::Precise precise_;
};

}  // namespace lockstep::command

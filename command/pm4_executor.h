// Executes PM4 packets of a ring or of indirect buffers: registers, dispatches, memory.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "command/dispatcher.h"
#include "command/guest_memory.h"
#include "command/queue.h"
#include "command/services.h"
#include "machine/compute_units.h"
#include "machine/scratch_ring.h"

namespace lockstep::command {

// What is wrong with a packet, and where it stands.
struct Pm4Fault {
  QueueError::Kind kind = QueueError::Kind::invalid_packet;
  uint64_t address = 0;  // of the packet's header in memory
  std::string field, text;
  uint64_t unmapped = 0;  // what a packet names and could not be accessed
};

class Pm4Executor {
 public:
  enum class Status : uint8_t {
    executed,        // a packet; go on
    waits_memory,    // a WAIT_REG_MEM that does not hold yet
    waits_dispatch,  // a dispatch before must end first
    nothing,         // all frames are at their end
    failed,          // see fault()
  };

  // `doorbell_id`, `priority` and `precise` (see machine::Device::start) are of its dispatches; `messages`
  // takes interrupts of their waves; `on_end` is called when one ends, from any thread, with its outcome.
  using OnEnd = std::function<void(machine::Outcome&&)>;
  Pm4Executor(const Services& services, uint64_t queue, uint32_t doorbell_id, int priority,
              machine::Device::Precise* precise, MessageSink* messages, OnEnd on_end);
  ~Pm4Executor();

  // Executes these dwords of guest memory before anything else. False if they are not mapped.
  bool call(uint64_t address, uint32_t dwords);
  // Executes a packet that is no part of an indirect buffer: `address` is where it stands, `words` begin with
  // the header and are `count` (at least one).
  Status execute(uint64_t address, const uint32_t* words, uint32_t count);
  bool in_buffer() const { return !frames_.empty(); }
  // What a dword begins: the number of dwords of the packet, or 0 and the fault is set.
  uint32_t packet_dwords(uint64_t address, uint32_t header);
  // Whether a packet of the ring has said that its next dword is none to execute; it is then over.
  bool skip_dword();
  bool skips() const { return skip_ != 0; }
  // Executes the next packet of the indirect buffers.
  Status step();
  // Does what RELEASE_MEM packets have asked for whose time has come; to be called when dispatches have
  // ended. False if one fails.
  bool settle();
  const Pm4Fault& fault() const { return fault_; }
  // When a wait is to be looked at again.
  Waiters::Clock::time_point look_again() const { return look_again_; }
  bool busy() const { return state_->in_flight != 0; }
  // Ends all dispatches, and those that come.
  void cancel();
  // The waves of all dispatches so far, as Queue has it.
  void suspend();
  void resume();
  // Ends the indirect buffers that are being executed, and all dispatches so far.
  void abandon();
  // As packets that write the registers of them would.
  void set_compute_units(const machine::ComputeUnits& units);
  // Until none of them runs.
  void wait_idle();

 private:
  // What dispatches that are running share with this.
  struct State {
    std::mutex mutex;
    std::condition_variable idle;
    std::atomic<uint64_t> in_flight = 0;
    bool cancelled = false;
    std::set<uint64_t> numbers;  // of the dispatches in flight
    std::set<std::shared_ptr<machine::ActiveDispatch>> running;
  };
  struct Frame {
    uint64_t address, end;
  };
  struct Release {
    uint64_t behind;  // the dispatches with smaller numbers
    uint64_t packet_address;
    std::array<uint32_t, 7> words;
  };
  struct ReleaseWords;
  struct Packet {
    uint64_t address;
    const uint32_t* words;  // behind the header
    uint32_t count;
  };

  void end_running(bool for_good);
  std::set<std::shared_ptr<machine::ActiveDispatch>> running() const;
  Status refuse(QueueError::Kind kind, std::string field, std::string text);
  Status bad_length(const Packet& packet, const char* name, const char* expected);
  // The host's address of what a packet names, or null with the fault set.
  std::byte* at(uint64_t address, uint64_t bytes, uint8_t access, const char* field, unsigned alignment = 4);
  // The same in the mappings as they were when they were looked at last.
  std::byte* held(uint64_t address, uint64_t bytes, uint8_t access, const char* field,
                  unsigned alignment = 4);
  // The packet waits, and is looked at again when memory changes or in a while.
  Status look_later(uint32_t interval);
  Status bad_function();

  Status execute(uint32_t opcode, const Packet& packet);
  Status set_registers(const Packet& packet, bool has_index);
  Status load_registers(const Packet& packet);
  Status set_register_pairs(const Packet& packet);
  Status set_packed_pairs(const Packet& packet);
  Status set_user_config(const Packet& packet, bool has_index);
  bool set_compute_register(uint32_t offset, uint32_t value);
  Status dispatch_direct(const Packet& packet);
  Status dispatch_indirect(const Packet& packet);
  // The ring that the registers name; null with the fault set.
  std::shared_ptr<machine::ScratchRing> scratch_ring();
  Status dispatch(const uint32_t dimensions[3], uint32_t initiator);
  Status acquire_memory(const Packet& packet);
  Status release_memory(const Packet& packet);
  bool release(const Release& release);
  Status time_stamp(const Packet& packet);
  Status wait_memory(const Packet& packet, bool wide);
  Status write_data(const Packet& packet);
  Status copy_data(const Packet& packet);
  Status conditional_write(const Packet& packet);
  Status atomic_memory(const Packet& packet);
  Status dma_data(const Packet& packet);
  Status indirect_buffer(const Packet& packet);
  Status conditional_buffer(const Packet& packet);
  // The three dwords of an indirect buffer.
  Status enter(const uint32_t* buffer, bool chained);
  Status conditional_execution(const Packet& packet);
  Status rewind(const Packet& packet);
  Status event_write(const Packet& packet);
  std::optional<uint32_t> read_register(uint32_t number, const char* field);
  // Those that the registers leave; null: all.
  std::shared_ptr<const machine::ComputeUnits> compute_units() const;
  bool write_register(uint32_t number, uint32_t value, const char* field);

  const Services services_;
  const uint64_t queue_;
  const uint32_t doorbell_id_;
  const int priority_;
  machine::Device::Precise* const precise_;
  MessageSink* const messages_;
  const OnEnd on_end_;
  Dispatcher dispatcher_;
  uint64_t started_ = 0;  // dispatches so far
  std::deque<Release> releases_;
  std::vector<Frame> frames_;
  machine::ComputeUnits queues_units_ = machine::ComputeUnits::all();  // that the driver leaves the queue
  std::vector<uint32_t> registers_;                                    // from kShBase
  uint32_t sh_mem_config_;                                             // of the dispatches that come
  std::vector<std::weak_ptr<machine::ScratchRing>> rings_;             // of dispatches that may run
  uint32_t skip_ = 0;                                                  // dwords of the ring
  uint64_t returned_ = 0;  // by the last atomic that returns what was in memory
  uint64_t packet_address_ = 0;
  Pm4Fault fault_;
  Waiters::Clock::time_point look_again_;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep::command

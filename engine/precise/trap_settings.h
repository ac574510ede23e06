// What a dispatch says of its trap handler, and how the host interrupts waves.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/engine.h"
#include "state/fault.h"
#include "state/wake_list.h"

namespace lockstep::precise {

// An "address of interest" (guide 3.4.9): vector and scalar memory accesses that touch it are noted in
// TRAPSTS.
struct AddressWatch {
  uint64_t begin = 0, end = 0;  // empty: not in use
  bool reads = true, writes = true;

  bool in_use() const { return begin < end; }
  bool sees(uint64_t address, uint64_t bytes, bool is_read, bool is_write) const {
    return address < end && begin < address + bytes && ((reads && is_read) || (writes && is_write));
  }
};

// A request of the host: a host trap, or that the waves save their contexts.
struct HostRequest {
  uint8_t trap_id = 0;
  bool save_context = false;
};

// Requests that the host makes while waves run; each reaches all waves that are resident then. Safe from
// several threads.
class HostTraps {
 public:
  void request(HostRequest request) {
    std::lock_guard lock(mutex_);
    requests_.push_back(request);
    count_.store(requests_.size(), std::memory_order_release);
    for (WakeList* list : lists_) {
      {
        std::lock_guard list_lock(list->mutex);
        list->all_woken = true;
      }
      list->changed.notify_all();
      if (list->tell) list->tell();
    }
  }
  // Whose groups are woken by requests, until it leaves.
  void join(WakeList& list) {
    std::lock_guard lock(mutex_);
    lists_.push_back(&list);
  }
  void leave(WakeList& list) {
    std::lock_guard lock(mutex_);
    std::erase(lists_, &list);
  }
  size_t count() const { return count_.load(std::memory_order_acquire); }
  HostRequest at(size_t index) const {
    std::lock_guard lock(mutex_);
    return requests_[index];
  }

 private:
  mutable std::mutex mutex_;
  std::vector<HostRequest> requests_;
  std::vector<WakeList*> lists_;
  std::atomic<size_t> count_ = 0;
};

// A request that reaches each wave when it has executed so many instructions, those of the handler included:
// the same in every run.
struct ScheduledRequest {
  uint64_t instructions = 0;
  HostRequest request;
};

// Who is told of the waves of a dispatch that enter their trap handler. Called by the threads that run them;
// must not throw.
class TrapListener {
 public:
  // The wave stands at the handler's first instruction. `cause` is the fault that brought it there; for an
  // s_trap one that says so; FaultKind::none for all else.
  virtual void enters_handler(const Wave& wave, Fault&& cause) = 0;

 protected:
  ~TrapListener() = default;
};

// Where a dispatch brings no handler. ROCm's runtime always installs one, for which the machine can stand in.
enum class TrapWithoutHandler : uint8_t {
  report,  // STATUS.TRAP_EN is 1: s_trap with ids other than 0 and 3 ends the dispatch, as ROCm's handler
           // does
  skip,    // STATUS.TRAP_EN is 0: s_trap is no operation (guide 3.4.9)
};

struct TrapSettings {
  uint64_t handler = 0;    // TBA: guest address of the handler's first instruction; 0: there is none
  CodeRange code;          // where the handler's instructions are
  unsigned wave_size = 0;  // that it is compiled for; 0: any
  uint64_t memory = 0;     // TMA: whatever the handler needs, usually an address
  bool enabled = true;     // STATUS.TRAP_EN, if there is a handler
  TrapWithoutHandler without_handler = TrapWithoutHandler::report;
  bool on_start = false;           // before a wave's first instruction
  bool on_end = false;             // at its s_endpgm: MODE bit 21
  bool after_instruction = false;  // MODE.TRAP_AFTER_INST from the start
  uint32_t exception_enable = 0;   // bits of MODE.EXCP_EN set from the start
  std::array<AddressWatch, 4> watches;
  std::vector<ScheduledRequest> scheduled;
  HostTraps* host = nullptr;  // outlives the dispatch
  // The handler is one that a program gave Linux's driver, whose own the hardware enters first: it goes on to
  // the program's with STATUS in TTMP12, TMA in TTMP14 and 15, the wave's number in its work-group in
  // TTMP11[5:0], and TTMP11[23] (a debugger is attached) clear. `memory` is that TMA.
  bool is_second_level = false;
  // A wave that halts stays so until its dispatch is cancelled, as on a card without a debugger; else it is
  // the wave's fault.
  bool halts_for_good = false;
  TrapListener* listener = nullptr;  // outlives the dispatch

  // Whether waves enter the handler.
  bool takes_traps() const { return handler != 0 && enabled; }
  // STATUS.TRAP_EN of all waves; where it is 0, s_trap does nothing.
  bool sets_trap_enable() const {
    return handler != 0 ? enabled : without_handler == TrapWithoutHandler::report;
  }
  bool watches_addresses() const {
    for (const AddressWatch& watch : watches)
      if (watch.in_use()) return true;
    return false;
  }
};

}  // namespace lockstep::precise

// Who follows what waves do, and changes nothing by it: checkers, reports, tracers. docs/observers.md says
// who calls it, and what it costs.
#pragma once

#include <array>
#include <cstdint>

#include "engine/accesses.h"
#include "isa/instruction.h"
#include "state/wave.h"
#include "state/work_group.h"

namespace lockstep {

struct DispatchState;
struct Range;
class RangeSet;

// An instruction that a wave comes to, in the order of its program. Results that land late are no matter
// here.
struct Event {
  const Wave& wave;
  const isa::Instruction& instruction;  // stays where it is for as long as the engine lives
  uint64_t pc;
  const Accesses& accesses;  // valid during the call
  // goes_straight_on(), and nothing comes between it and those behind it.
  bool goes_straight_on = false;
};

// Several may run at the same time.
struct DispatchEvent {
  const DispatchState* id = nullptr;        // what its work-groups point at, too
  std::array<uint32_t, 3> grid{}, group{};  // in work-items
  uint64_t entry = 0;
  unsigned wave_size = 32;
  uint32_t lds_bytes = 0;            // of a work-group, as asked for; what it gets is in whole blocks
  const RangeSet* memory = nullptr;  // null: all of the process's
  bool processor_mode = true;        // the waves of a group are on a work-group processor; else on one CU
  unsigned initial_sgprs = 0;        // that waves find filled: user data, work-group ids and info
};

class Listener {
 public:
  // From which threads it may be called. Calls about one work-group never overlap.
  enum class Order : uint8_t {
    serial,  // one call at a time, groups in the same order on every run: the dispatch runs on one thread
    groups,  // calls about different groups at the same time
  };
  virtual ~Listener() = default;
  virtual Order order() const { return Order::groups; }
  // Asked once for each place in the code, before an instruction there is executed.
  virtual bool wants(const isa::Instruction&) const { return true; }

  // Of instructions of interest. Before: with the registers that it will read, and the accesses that it will
  // make. After: unless it faulted; what it changed is in the wave. An instruction that has to wait for other
  // waves is told of once. None of these may throw.
  virtual void before(const Event&) {}
  virtual void after(const Event&) {}
  // Asked like wants(): of instructions that nobody wants to be told of behind them, after() may come late,
  // or not at all.
  virtual bool wants_after(const isa::Instruction&) const { return true; }
  // Whether it may know, at one instruction, that it need not be told of those behind it, as far as the wave
  // goes straight on. It wants all that do not, and is asked behind before() where Event::goes_straight_on:
  // up to which address. It may be told of them nevertheless, for the sake of others.
  virtual bool looks_ahead() const { return false; }
  virtual uint64_t passes_until(const Wave&) const { return 0; }
  // Whether all who want it look ahead.
  virtual bool may_pass(const isa::Instruction&) const { return looks_ahead(); }
  // Instead of after(): Wave::fault says why.
  virtual void faulted(const Event&) {}

  virtual void dispatch_begins(const DispatchEvent&) {}
  virtual void dispatch_ends(const DispatchEvent&) {}
  // Its waves have their registers.
  virtual void group_begins(const WorkGroup&) {}
  virtual void group_ends(const WorkGroup&) {}
  virtual void wave_begins(const Wave&) {}
  virtual void wave_ends(const Wave&) {}
  // All waves of the group that have not ended have come to a barrier and go on behind it.
  virtual void barrier_passed(const WorkGroup&) {}
  // The host has taken memory back; dispatches that run may be of a time when it was there. From any thread.
  virtual void memory_unmapped(const Range&) {}
};

}  // namespace lockstep

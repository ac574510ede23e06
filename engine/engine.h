// What the machine asks of an execution engine: run one wave for a while.
#pragma once

#include <cstdint>

#include "state/wave.h"

namespace lockstep {

// Where instructions may be fetched from: guest addresses, multiples of 4.
struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t serial = 0;  // of the mapping: other code at the same place has another one
  friend bool operator==(const CodeRange&, const CodeRange&) = default;
};

// What the F32 transcendental instructions give: the card's bits, or what is quicker and within one unit in
// the last place of the truth.
enum class Math : uint8_t { exact, fast };

class LaunchAdviser;

class Engine {
 public:
  virtual ~Engine() = default;
  // Points a freshly launched wave at its first instruction; false if there is no code at `pc`.
  virtual bool enter(Wave& wave, uint64_t pc) = 0;
  // Runs a ready wave until it ends, waits, faults, or has used up its budget; returns the number of
  // wave-instructions executed. The wave's registers are all in `wave` before and after.
  virtual int64_t run(Wave& wave, int64_t budget) = 0;
  // Whether results of the wave are still to come, without anybody else's doing.
  virtual bool has_pending_results(const Wave&) const { return false; }
  // The host has made requests (precise::HostTraps): a wave that waits or is held may be ready after this.
  virtual void interrupt(Wave&) {}
  // Itself, if it knows its code; null: it does not.
  virtual LaunchAdviser* adviser() { return nullptr; }
};

}  // namespace lockstep

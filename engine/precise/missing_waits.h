// Finds instructions that use a register before the program has made sure that its value is there
// (guide 5.6).
#pragma once

#include <bitset>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/precise/deferred.h"

namespace lockstep::precise {

// A register that an instruction reads, or else overwrites.
struct EarlyUse {
  uint16_t code;
  bool reads;
};
// The first one of `effects`, those of an instruction with `shares`, that may not be used while results of
// another one, of that kind, are on their way to `destinations`.
std::optional<EarlyUse> find_early_use(const isa::RegisterEffects& effects, const Shares& shares, Kind kind,
                                       std::span<const isa::RegisterRange> destinations);
// `issued` at `issued_pc` has that result, and the limit would make sure of it.
std::string explain_missing_wait(const Step& step, const EarlyUse& use, const isa::Instruction& issued,
                                 uint64_t issued_pc, CounterName counter, unsigned limit);
// Whether an instruction must have come to its end once the counters are down to the limits, if so many of
// its kind were issued behind it.
bool is_certain(const Share& share, unsigned newer, const Counts& limits);

// Registers whose values may not have landed.
class BusyRegisters {
 public:
  void clear() { bits_.reset(); }
  void add(const isa::RegisterRange& range);
  // Whether the instruction may use one: it does not where this says no.
  bool may_be_used_by(const Step& step) const;

 private:
  std::bitset<2 * isa::code::kVgpr0> bits_;  // by operand code
};
// Those that instructions which are not certain write.
BusyRegisters busy_registers(const std::vector<std::unique_ptr<Deferred>>& issued);

// What is wrong with the instruction while those of `issued` that are not certain may still be under way;
// null if nothing.
std::optional<std::string> find_missing_wait(const Step& step, const Shares& shares,
                                             const std::vector<std::unique_ptr<Deferred>>& issued);

// Marks as certain what must have landed once the counters have come down to the limits.
void mark_certain(const std::vector<std::unique_ptr<Deferred>>& issued, const Counts& limits);

// s_waitcnt_depctr waits for hazards that this machine does not have; it can still be written wrongly.
std::optional<std::string> find_depctr_mistake(const isa::Instruction& instruction);

}  // namespace lockstep::precise

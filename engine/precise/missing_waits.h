// Finds instructions that use a register before the program has made sure that its value is there
// (guide 5.6).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "engine/precise/counters.h"
#include "engine/precise/unit.h"
#include "isa/effects.h"

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
  void clear() { bits_ = {}; }
  void add(const isa::RegisterRange& range) {
    for (unsigned code = range.first; code < range.end() && code < kCodes; ++code)
      bits_[code / 64] |= uint64_t{1} << code % 64;
  }
  // Whether the instruction may use one: it does not where this says no.
  bool may_be_used_by(const Step& step) const;
  bool operator==(const BusyRegisters&) const = default;

 private:
  static constexpr unsigned kCodes = 2 * isa::code::kVgpr0;
  bool contains(unsigned code) const { return bits_[code / 64] >> code % 64 & 1; }

  std::array<uint64_t, kCodes / 64> bits_{};  // by operand code
};

}  // namespace lockstep::precise

// What an instruction may not be given although its encoding has room for it (guide 3.4, 5.1, 6.2, 7.2, 7.6):
// rules that the instruction, the size of the wave and M0 decide.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "engine/precise/rule_book.h"

namespace lockstep::precise {

// Instructions that keep all rules but those about M0, whichever wave comes to them: so that each is looked
// at about once in a dispatch. Safe from several threads.
class GoodInstructions {
 public:
  bool contains(const Step& step) const {
    return place_of(step).load(std::memory_order_relaxed) == &step.instruction;
  }
  void add(const Step& step) { place_of(step).store(&step.instruction, std::memory_order_relaxed); }

 private:
  // What another one takes the place of is looked at again.
  static constexpr size_t kPlaces = 1024;
  using Place = std::atomic<const isa::Instruction*>;
  Place& place_of(const Step& step) { return places_[step.pc / 4 % kPlaces]; }
  const Place& place_of(const Step& step) const { return places_[step.pc / 4 % kPlaces]; }

  std::array<Place, kPlaces> places_{};
};

class OperandRules final : public Unit {
 public:
  // `good`: of waves of one size, of which instructions stay where they are for as long.
  OperandRules(RuleBook rules, std::shared_ptr<GoodInstructions> good)
      : rules_(rules), good_(std::move(good)) {}
  Verdict before(const Step& step) override;
  // Then before() does nothing, but for instructions with rules about M0.
  bool is_known_as_good(const Step& step) const { return good_->contains(step); }

 private:
  RuleBook rules_;
  const std::shared_ptr<GoodInstructions> good_;
};

// The rule on the number of an s_trap, if it is broken. That of one that a trap handler takes the units of
// traps look at, since no other sees it.
std::string broken_trap_rule(const Step& step);

}  // namespace lockstep::precise

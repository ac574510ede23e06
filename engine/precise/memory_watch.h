// What memory instructions leave in TRAPSTS: address watches 0 to 3, and buffer accesses out of bounds (guide
// 3.4.9).
#pragma once

#include <array>

#include "engine/findings.h"
#include "engine/precise/traps.h"

namespace lockstep::precise {

class MemoryWatch final : public Unit {
 public:
  // All must outlive the unit.
  MemoryWatch(const std::array<AddressWatch, 4>& watches, Traps& traps, Findings& findings,
              Executor& executor)
      : watches_(watches), traps_(traps), findings_(findings), executor_(executor) {}

  Verdict before(const Step& step) override;
  void after(const Step& step) override;

 private:
  const std::array<AddressWatch, 4>& watches_;
  Traps& traps_;
  Findings& findings_;
  Executor& executor_;
  uint32_t noticed_ = 0;  // TRAPSTS bits of the instruction in flight
};

}  // namespace lockstep::precise

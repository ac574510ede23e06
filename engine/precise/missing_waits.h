// Finds instructions that use a register before the program has made sure that its value is there
// (guide 5.6).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/precise/deferred.h"

namespace lockstep::precise {

// What is wrong with the instruction while those of `issued` that are not certain may still be under way;
// null if nothing.
std::optional<std::string> find_missing_wait(const Step& step, const Shares& shares,
                                             const std::vector<std::unique_ptr<Deferred>>& issued);

// Marks as certain what must have landed once the counters have come down to the limits.
void mark_certain(const std::vector<std::unique_ptr<Deferred>>& issued, const Counts& limits);

// s_waitcnt_depctr waits for hazards that this machine does not have; it can still be written wrongly.
std::optional<std::string> find_depctr_mistake(const isa::Instruction& instruction);

}  // namespace lockstep::precise

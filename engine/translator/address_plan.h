// Which accesses of a block have addresses that are likely linear in the lanes, and what must be known and
// computed for that.
#pragma once

#include <map>
#include <vector>

#include "engine/translator/linear.h"
#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Follows what is linear through a block.
class LinearState {
 public:
  LinearState(const Routine& routine, const Strides& at_entry);

  struct Step {
    std::vector<unsigned> reads, writes;              // linear VGPRs
    std::vector<unsigned> reads_carry, writes_carry;  // registers with carries of sums of them
  };
  // `merged`: lanes that are off keep what these registers hold, which leaves no pattern.
  Step step(const Node& node, const RegisterSet& merged);
  // Of a VGPR; null if nothing is known of it.
  const Linear* find(unsigned number) const;
  Strides strides() const;

 private:
  const Routine& routine_;
  std::map<unsigned, Linear> linear_;
  std::map<unsigned, LowSum> carries_;
  LinearMath math_{nullptr, 16};
};

// From one lane's element to the next one's, where these are put together by shuffles: further apart, gathers
// are less work, and there is no regular store.
inline constexpr unsigned kMostDwordsApart = 8, kMostBytesApart = 4;
// Elements that begin at places which are no multiples of their size are put together of bytes or shorts.
inline constexpr unsigned kMostBytesOfParts = 8;

struct AddressPlan {
  Strides roots;                    // must be as guessed when the block begins
  std::vector<unsigned> known;      // of them, those that the block before keeps
  std::vector<unsigned> kept;       // linear at the end, and roots of blocks that only this one goes to
  bool roots_in_all_lanes = false;  // lanes that are off then may be on later
  // By node, counted from the block's first:
  std::vector<bool> is_computed;  // as scalars
  std::vector<bool> is_regular;   // accesses
  std::vector<bool> is_cut;       // it changes memory, and what comes behind it may still turn out irregular
  bool is_empty() const { return is_regular.empty(); }
};

// By block. `keeps`: what one block finds out counts in the next one, if that has no other before it; then
// blocks without accesses have a plan, too.
std::vector<AddressPlan> plan_addresses(const Routine& routine, const Facts& facts, bool keeps);

}  // namespace lockstep::translator

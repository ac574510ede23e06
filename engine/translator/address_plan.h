// Which accesses of a block have addresses that are likely linear in the lanes, and what must be known and
// computed for that.
#pragma once

#include <set>
#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Follows the strides through a block.
class LinearState {
 public:
  LinearState(unsigned wave_size, unsigned vgpr_count) : wave_size_(wave_size), vgpr_count_(vgpr_count) {}

  struct Step {
    std::vector<unsigned> reads, writes;              // linear VGPRs
    std::vector<unsigned> reads_carry, writes_carry;  // mask registers with one bit for all lanes
  };
  // `merged`: lanes that are off keep what these registers hold, which leaves no pattern.
  Step step(const Node& node, const RegisterSet& merged);

  Strides strides;

 private:
  const unsigned wave_size_, vgpr_count_;
  std::set<unsigned> carries_;
};

struct AddressPlan {
  Strides roots;                    // must be as guessed when the block begins
  bool roots_in_all_lanes = false;  // lanes that are off then may be on later
  // By node, counted from the block's first:
  std::vector<bool> is_computed;  // as scalars
  std::vector<bool> is_regular;   // accesses
  std::vector<bool> is_cut;       // it changes memory, and what comes behind it may still turn out irregular
  bool is_empty() const { return is_regular.empty(); }
};

AddressPlan plan_addresses(const Routine& routine, const Facts& facts, unsigned block, bool has_masked_bytes);

}  // namespace lockstep::translator

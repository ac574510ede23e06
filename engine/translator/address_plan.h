// Which accesses of a block have addresses that are likely linear in the lanes, and what must be known and
// computed for that.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "engine/translator/linear.h"
#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

// Follows what is linear through a block.
class LinearState {
 public:
  LinearState(const Routine& routine, const Strides& at_entry);

  struct Step {
    std::vector<unsigned> reads, writes;              // linear VGPRs
    std::vector<unsigned> reads_carry, writes_carry;  // registers with carries of sums of them
    // Whose mask of lanes that are alike is read, which only registers that are written here are made of.
    const Node* reads_mask = nullptr;
  };
  // `merged`: lanes that are off keep what these registers hold, so that the pattern ends when others come
  // on. `loads_same`: all lanes have what one access loads.
  Step step(const Node& node, const RegisterSet& merged, bool loads_same);
  // Whether it loads what one address has, in all lanes that are on.
  bool loads_one_place(const Node& node) const;
  // Of a VGPR, in lanes that are on; null if nothing is known of it.
  const Linear* find(unsigned number) const;
  bool is_in_all_lanes(unsigned number) const { return !partial_[number]; }
  Strides strides() const;

 private:
  const Routine& routine_;
  std::map<unsigned, Linear> linear_;
  RegisterSet partial_;  // of these, those with other lanes that are off
  std::map<unsigned, LowSum> carries_;
  // With all lanes that are on or none of them: who has written them.
  std::map<unsigned, const Node*> masks_;
  LinearMath math_{nullptr, 16};
};

// From one lane's element to the next one's, where these are put together by shuffles: further apart, gathers
// and stores of single lanes are less work.
inline constexpr unsigned kMostDwordsApart = 8, kMostBytesApart = 4;
inline constexpr unsigned kMostBytesBetween = 256;
// Elements that begin at places which are no multiples of their size are put together of bytes or shorts, if
// they are near each other.
inline constexpr unsigned kMostBytesOfParts = 8;
bool are_parts(const isa::AccessShape& shape, uint32_t stride);

struct AddressPlan {
  Strides roots;  // must be as guessed when the block begins
  // Of them, those that all blocks before it keep, by the one that has found them to be so.
  std::map<unsigned, unsigned> known;
  std::vector<unsigned> kept;       // linear at the end, and roots of blocks behind it
  std::vector<unsigned> found;      // of these, those that are not just known
  bool roots_in_all_lanes = false;  // lanes that are off then may be on later
  bool is_round = false;            // of a loop, which leaves the roots as linear as they were
  // By node, counted from the block's first:
  std::vector<bool> is_computed;  // as scalars
  // VGPRs that one that is computed, or a load of one place, leaves linear.
  std::vector<std::vector<unsigned>> linear_writes;
  // Of one that is computed: who wrote the mask that it chooses by, all lanes alike, if it does.
  std::vector<std::optional<unsigned>> chooses_by;
  std::vector<bool> is_regular;  // accesses
  std::vector<bool> is_cut;      // it changes memory, and what comes behind it may still turn out otherwise
  bool is_empty() const { return is_regular.empty(); }
  // Also of a block without a plan.
  bool has_regular(unsigned node) const { return !is_empty() && is_regular[node]; }
};

// By block. `keeps`: what blocks find out counts in the one behind them, if all that it comes from is before
// it; then blocks without accesses have a plan, too.
std::vector<AddressPlan> plan_addresses(const Routine& routine, const Facts& facts, bool keeps);

}  // namespace lockstep::translator

// Parts of the code in which no other lanes are on than where they begin: what lanes that are off there read
// when they are on again, these parts only have to leave alone.
#pragma once

#include <vector>

#include "engine/translator/effects.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// A region begins behind an instruction that turns lanes off, or with the wave's launch, and ends before an
// instruction that any other lane than those of its begin may come to.
struct InRegion {
  unsigned region = 0;
  bool all_on = false;  // EXEC is what it was at the region's begin
};

class LaneRegions {
 public:
  LaneRegions(const Routine& routine, const std::vector<const Effects*>& effects);

  // That an instruction is in, in the order in which they begin.
  const std::vector<InRegion>& at(unsigned node) const { return at_[node]; }
  bool is_in(unsigned node, unsigned region) const;

 private:
  std::vector<std::vector<InRegion>> at_;
};

}  // namespace lockstep::translator

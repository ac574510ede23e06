// Loops of one block around a compare-and-swap, as programs write them for sums of floats: each lane makes a
// new value of what it has found in memory, and goes on until nobody has changed that meanwhile.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Of lanes at one place the wave's round lets the lowest one exchange, and those behind it up to the first
// that changes what is there: so all lanes, one after the other, and the round in which each of them leaves
// the loop is known.
struct ExchangeLoop {
  RegisterSet touched, written;
  unsigned atomic = 0;             // node
  std::vector<unsigned> computed;  // the vector instructions, but the comparison
  // The first register that has what a lane has found, from round to round. None: each round loads it.
  std::optional<unsigned> found;
  std::optional<unsigned> loaded;  // the first register of that load
  std::optional<unsigned> left;    // the mask of the lanes that have left
  bool invalidates_caches = false;
};

// By the block that the loop is.
std::map<unsigned, ExchangeLoop> find_exchange_loops(const Routine& routine, const Facts& facts);

}  // namespace lockstep::translator

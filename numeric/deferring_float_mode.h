// Float modes except that what would be recomputed on the spot (recompute_now in format.h) is only noted: for
// those who have a better place for it than the middle of their fast path.
#pragma once

#include "numeric/float_mode.h"
#include "numeric/lanes.h"

namespace lockstep {

template <class Mode>
struct Deferring : Mode {
  I32* doubt;  // lanes whose result may be wrong are ORed into it
  LOCKSTEP_INLINE void defer(I32 lanes) const { *doubt |= lanes; }
};

using DeferringFloatMode = Deferring<DefaultFloatMode>;
using DeferringRuntimeFloatMode = Deferring<RuntimeFloatMode>;

}  // namespace lockstep

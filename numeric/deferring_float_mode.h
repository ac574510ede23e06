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

// Where many results are NaNs: which one it is, is found at once for all lanes; other doubt is noted.
template <class Mode>
struct SelectingNans : Deferring<Mode> {
  static constexpr bool kSelectsNans = true;
};

using DeferringFloatMode = Deferring<DefaultFloatMode>;
using DeferringRuntimeFloatMode = Deferring<RuntimeFloatMode>;
using NanFloatMode = SelectingNans<DefaultFloatMode>;
using NanRuntimeFloatMode = SelectingNans<RuntimeFloatMode>;

}  // namespace lockstep

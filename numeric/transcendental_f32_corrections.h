// Where sums of transcendental_f32.h are next to a rounding border and miss the captured results.
#pragma once

#include <cstdint>

#include "numeric/lanes.h"

namespace lockstep::numeric {

// Adds what the lists say to the significands of the lanes that are set in `lanes`. A key is the significand
// without its first bit, behind the lowest bit of the exponent for V_RSQ_F32.
void correct_rcp(const U32& keys, uint32_t lanes, I32& significands);
void correct_rsq(const U32& keys, uint32_t lanes, I32& significands);

}  // namespace lockstep::numeric

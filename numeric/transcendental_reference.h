// The transcendental functions of gfx11 on one binary32 bit pattern, by the rules captured from cards. These
// are the oracle of the vector forms and serve their rare lanes. NaNs come back as they are: quieting is the
// caller's.
#pragma once

#include <cstdint>

namespace lockstep::numeric::reference {

uint32_t rcp(uint32_t x);
uint32_t rsq(uint32_t x);
uint32_t sqrt(uint32_t x);
uint32_t exp2(uint32_t x);
// Rounded to odd instead of nearest: what V_EXP_F16 rounds to half.
uint32_t exp2_to_odd(uint32_t x);
uint32_t log2(uint32_t x);
uint32_t sin_or_cos(uint32_t x, bool cosine, bool keeps_input_denormals, bool keeps_output_denormals);

}  // namespace lockstep::numeric::reference

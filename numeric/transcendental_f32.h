// The F32 transcendental functions on chunks, without regard to MODE: NaNs come back as they are.
#pragma once

#include "numeric/exact.h"
#include "numeric/lanes.h"

namespace lockstep::numeric {

LOCKSTEP_INLINE F32 rcp_f32(F32 x) {
  return exact_rcp_f32(x, 0);
}
LOCKSTEP_INLINE F32 rsq_f32(F32 x) {
  return exact_rsq_f32(x, 0);
}
LOCKSTEP_INLINE F32 sqrt_f32(F32 x) {
  return exact_sqrt_f32(x, 0);
}
LOCKSTEP_INLINE F32 exp2_f32(F32 x) {
  return exact_exp2_f32(x, 0);
}
LOCKSTEP_INLINE F32 exp2_to_odd_f32(F32 x) {
  return exact_exp2_to_odd_f32(x, 0);
}
LOCKSTEP_INLINE F32 log2_f32(F32 x) {
  return exact_log2_f32(x, 0);
}

// `mode` of the sine and cosine: bit 4 keeps denormal inputs, bit 5 denormal results, as in MODE.
LOCKSTEP_INLINE F32 sin_f32(F32 x, bool keeps_input_denormals, bool keeps_output_denormals) {
  return exact_sin_f32(x, (keeps_input_denormals ? 0x10u : 0) | (keeps_output_denormals ? 0x20u : 0));
}
LOCKSTEP_INLINE F32 cos_f32(F32 x, bool keeps_input_denormals, bool keeps_output_denormals) {
  return exact_cos_f32(x, (keeps_input_denormals ? 0x10u : 0) | (keeps_output_denormals ? 0x20u : 0));
}

}  // namespace lockstep::numeric

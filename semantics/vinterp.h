// VINTERP: interpolation of parameters that lds_param_load left in the lanes of each quad: P0, P10, P20 in
// lanes 0 to 2 (guide 16.13, 12.8). Quads never cross a chunk, so lane selection is a shuffle within it,
// whatever EXEC says.
#pragma once

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "semantics/body.h"

namespace lockstep::semantics {

namespace interpolation {
// Every lane of a quad gets the value of its lane `from`.
template <unsigned from, class Vector>
LOCKSTEP_INLINE Vector of_quad_lane(Vector v) {
  return __builtin_shufflevector(v, v, from, from, from, from, from + 4, from + 4, from + 4, from + 4,
                                 from + 8, from + 8, from + 8, from + 8, from + 12, from + 12, from + 12,
                                 from + 12);
}
// The _rtz forms round toward zero whatever MODE says.
template <class Mode>
LOCKSTEP_INLINE RuntimeFloatMode toward_zero(Mode mode) {
  return RuntimeFloatMode{numeric::mode_bits(mode) | 0xfu};
}
template <class Mode>
LOCKSTEP_INLINE F32 first_pass(F16 p10, F32 i, F16 p0, Mode mode) {
  return numeric::fma(numeric::f16_to_f32(of_quad_lane<1>(p10), mode), i,
                      numeric::f16_to_f32(of_quad_lane<0>(p0), mode), mode);
}
// Rounded to single and then to half, as the guide writes it (open: hardware might round once).
template <class Mode>
LOCKSTEP_INLINE F16 second_pass(F16 p20, F32 j, F32 sum, Mode mode) {
  return numeric::f32_to_f16(numeric::fma(numeric::f16_to_f32(of_quad_lane<2>(p20), mode), j, sum, mode),
                             mode);
}
}  // namespace interpolation

struct v_interp_p10_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F32 p10, F32 i, F32 p0, Mode mode) {
    return numeric::fma(interpolation::of_quad_lane<1>(p10), i, interpolation::of_quad_lane<0>(p0), mode);
  }
};
struct v_interp_p2_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F32 p20, F32 j, F32 sum, Mode mode) {
    return numeric::fma(interpolation::of_quad_lane<2>(p20), j, sum, mode);
  }
};
struct v_interp_p10_f16_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F16 p10, F32 i, F16 p0, Mode mode) {
    return interpolation::first_pass(p10, i, p0, mode);
  }
};
struct v_interp_p2_f16_f32 {
  template <class Mode>
  LOCKSTEP_BODY F16 eval(F16 p20, F32 j, F32 sum, Mode mode) {
    return interpolation::second_pass(p20, j, sum, mode);
  }
};
struct v_interp_p10_rtz_f16_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F16 p10, F32 i, F16 p0, Mode mode) {
    return interpolation::first_pass(p10, i, p0, interpolation::toward_zero(mode));
  }
};
struct v_interp_p2_rtz_f16_f32 {
  template <class Mode>
  LOCKSTEP_BODY F16 eval(F16 p20, F32 j, F32 sum, Mode mode) {
    return interpolation::second_pass(p20, j, sum, interpolation::toward_zero(mode));
  }
};

}  // namespace lockstep::semantics

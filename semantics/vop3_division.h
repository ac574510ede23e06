// The steps of an IEEE division: scaling, the last fused multiply-add, fixing up special cases; and the
// multiplier table of large-argument trigonometry (guide 16.12).
#pragma once

#include "numeric/division.h"
#include "semantics/float_body.h"

namespace lockstep::semantics {

// a is the value to scale, b the denominator, c the numerator; the mask asks v_div_fmas to scale back.
struct v_div_scale_f32 {
  template <class Mode>
  LOCKSTEP_BODY WithMask<F32> eval(F32 a, F32 b, F32 c, Mode mode) {
    const auto scaled = numeric::div_scale(a, b, c, mode);
    return {scaled.value, scaled.needs_scaling};
  }
};
struct v_div_scale_f64 {
  template <class Mode>
  LOCKSTEP_BODY WithMask<F64> eval(F64 a, F64 b, F64 c, Mode mode) {
    const auto scaled = numeric::div_scale(a, b, c, mode);
    return {scaled.value, scaled.needs_scaling};
  }
};
struct v_div_fmas_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F32 a, F32 b, F32 c, Mask vcc, Mode mode) {
    return numeric::div_fmas(a, b, c, vcc, mode);
  }
};
struct v_div_fmas_f64 {
  template <class Mode>
  LOCKSTEP_BODY F64 eval(F64 a, F64 b, F64 c, Mask vcc, Mode mode) {
    return numeric::div_fmas(a, b, c, vcc, mode);
  }
};
// a is the quotient, b the denominator, c the numerator.
// clang-format off
LOCKSTEP_FLOAT_BODY_3(v_div_fixup_f16, F16, F16, F16, F16, numeric::div_fixup(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_div_fixup_f32, F32, F32, F32, F32, numeric::div_fixup(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_div_fixup_f64, F64, F64, F64, F64, numeric::div_fixup(a, b, c, mode))
LOCKSTEP_MODELESS_BODY_2(v_trig_preop_f64, F64, F64, U32, numeric::trig_preop_f64(a, b))
// clang-format on

}  // namespace lockstep::semantics

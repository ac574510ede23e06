// Float dot products of two elements: VOP3P, VOP3, VOP2 and VOPD (guide 7.5.1, 16.10, 16.12). One sum of
// three addends, not a chain of roundings: numeric/dot.h has the rule. CLAMP and OMOD are ignored
// (guide 7.2.3.1).
#pragma once

#include "numeric/dot.h"
#include "semantics/body.h"

namespace lockstep::semantics {

struct v_dot2_f32_f16 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(PairF16 a, PairF16 b, F32 c, Mode mode) {
    return numeric::dot2_f32_f16(a.low, a.high, b.low, b.high, c, mode);
  }
};
struct v_dot2_f32_bf16 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(PairU16 a, PairU16 b, F32 c, Mode mode) {
    return numeric::dot2_f32_bf16(a.low, a.high, b.low, b.high, c, mode);
  }
};
// The addend is the old destination.
struct v_dot2acc_f32_f16 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(PairF16 a, PairF16 b, F32 old, Mode mode) {
    return v_dot2_f32_f16::eval(a, b, old, mode);
  }
};
// Only VOPD has this one.
struct v_dual_dot2acc_f32_bf16 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(PairU16 a, PairU16 b, F32 old, Mode mode) {
    return v_dot2_f32_bf16::eval(a, b, old, mode);
  }
};
struct v_dot2_f16_f16 {
  template <class Mode>
  LOCKSTEP_BODY F16 eval(PairF16 a, PairF16 b, F16 c, Mode mode) {
    return numeric::dot2_f16_f16(a.low, a.high, b.low, b.high, c, mode);
  }
};
struct v_dot2_bf16_bf16 {
  template <class Mode>
  LOCKSTEP_BODY U16 eval(PairU16 a, PairU16 b, U16 c, Mode mode) {
    return numeric::dot2_bf16_bf16(a.low, a.high, b.low, b.high, c, mode);
  }
};

}  // namespace lockstep::semantics

// Packed F16 math and the mixed-precision multiply-add (VOP3P, guide 7.5 and 16.10). v_pk_fmac_f16 is VOP2.
#pragma once

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "semantics/body.h"

namespace lockstep::semantics {

struct v_pk_fma_f16 {
  template <class Mode>
  LOCKSTEP_BODY PairF16 eval(PairF16 a, PairF16 b, PairF16 c, Mode mode) {
    return {numeric::fma(a.low, b.low, c.low, mode), numeric::fma(a.high, b.high, c.high, mode)};
  }
};
// The addend is the old destination.
struct v_pk_fmac_f16 {
  template <class Mode>
  LOCKSTEP_BODY PairF16 eval(PairF16 a, PairF16 b, PairF16 old, Mode mode) {
    return v_pk_fma_f16::eval(a, b, old, mode);
  }
};
struct v_pk_add_f16 {
  template <class Mode>
  LOCKSTEP_BODY PairF16 eval(PairF16 a, PairF16 b, Mode mode) {
    return {numeric::add(a.low, b.low, mode), numeric::add(a.high, b.high, mode)};
  }
};
struct v_pk_mul_f16 {
  template <class Mode>
  LOCKSTEP_BODY PairF16 eval(PairF16 a, PairF16 b, Mode mode) {
    return {numeric::mul(a.low, b.low, mode), numeric::mul(a.high, b.high, mode)};
  }
};
struct v_pk_min_f16 {
  template <class Mode>
  LOCKSTEP_BODY PairF16 eval(PairF16 a, PairF16 b, Mode mode) {
    return {numeric::min(a.low, b.low, mode), numeric::min(a.high, b.high, mode)};
  }
};
struct v_pk_max_f16 {
  template <class Mode>
  LOCKSTEP_BODY PairF16 eval(PairF16 a, PairF16 b, Mode mode) {
    return {numeric::max(a.low, b.low, mode), numeric::max(a.high, b.high, mode)};
  }
};

// Widens the half that a source of v_fma_mix* names; for the engine's operand fetch (guide 7.5, OPSEL for
// MIX).
template <class Mode>
LOCKSTEP_BODY Mix widen_mix(F16 half, Mode mode) {
  return {numeric::f16_to_f32(half, mode)};
}

struct v_fma_mix_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(Mix a, Mix b, Mix c, Mode mode) {
    return numeric::fma(a.value, b.value, c.value, mode);
  }
};
// Rounded twice, to F32 and then to F16 (guide 16.10). The result goes to the low half, with mixhi to the
// high one; the other half is kept.
struct v_fma_mixlo_f16 {
  template <class Mode>
  LOCKSTEP_BODY F16 eval(Mix a, Mix b, Mix c, Mode mode) {
    return numeric::f32_to_f16(numeric::fma(a.value, b.value, c.value, mode), mode);
  }
};
struct v_fma_mixhi_f16 {
  template <class Mode>
  LOCKSTEP_BODY F16 eval(Mix a, Mix b, Mix c, Mode mode) {
    return v_fma_mixlo_f16::eval(a, b, c, mode);
  }
};

}  // namespace lockstep::semantics

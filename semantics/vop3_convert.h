// Conversions that pack their results (VOP2 and VOP3, guide 16.7, 16.12). Those of integers: vop3_integer.h.
#pragma once

#include "numeric/convert.h"
#include "semantics/float_body.h"

namespace lockstep::semantics {

struct v_cvt_pk_rtz_f16_f32 {
  template <class Mode>
  LOCKSTEP_BODY PairF16 eval(F32 a, F32 b, Mode mode) {
    return {numeric::f32_to_f16_rtz(a, mode), numeric::f32_to_f16_rtz(b, mode)};
  }
};

// clang-format off
LOCKSTEP_MODELESS_BODY_2(v_cvt_pk_i16_f32, U32, F32, F32, numeric::cvt_pk_i16_f32(a, b))
LOCKSTEP_MODELESS_BODY_2(v_cvt_pk_u16_f32, U32, F32, F32, numeric::cvt_pk_u16_f32(a, b))
LOCKSTEP_MODELESS_BODY_2(v_cvt_pk_norm_i16_f32, U32, F32, F32, numeric::cvt_pk_norm_i16_f32(a, b))
LOCKSTEP_MODELESS_BODY_2(v_cvt_pk_norm_u16_f32, U32, F32, F32, numeric::cvt_pk_norm_u16_f32(a, b))
LOCKSTEP_MODELESS_BODY_2(v_cvt_pk_norm_i16_f16, U32, F16, F16, numeric::cvt_pk_norm_i16_f16(a, b))
LOCKSTEP_MODELESS_BODY_2(v_cvt_pk_norm_u16_f16, U32, F16, F16, numeric::cvt_pk_norm_u16_f16(a, b))
// clang-format on

struct v_cvt_pk_u8_f32 {
  LOCKSTEP_BODY U32 eval(F32 a, U32 byte, U32 rest) { return numeric::cvt_pk_u8_f32(a, byte, rest); }
};

}  // namespace lockstep::semantics

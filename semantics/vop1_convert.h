// VOP1 conversions between float formats and integers (guide 16.8). CLAMP of the float-to-integer ones only
// enables the inexact exception: they saturate anyway.
#pragma once

#include "numeric/convert.h"
#include "semantics/float_body.h"

namespace lockstep::semantics {

// clang-format off
LOCKSTEP_FLOAT_BODY_1(v_cvt_f16_f32, F16, F32, numeric::f32_to_f16(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cvt_f32_f16, F32, F16, numeric::f16_to_f32(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cvt_f32_f64, F32, F64, numeric::f64_to_f32(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cvt_f64_f32, F64, F32, numeric::f32_to_f64(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cvt_f32_i32, F32, I32, numeric::i32_to_f32(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cvt_f32_u32, F32, U32, numeric::u32_to_f32(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cvt_f16_i16, F16, I16, numeric::i16_to_f16(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cvt_f16_u16, F16, U16, numeric::u16_to_f16(a, mode))
// Rounds down whatever MODE.round says; a negative denormal that MODE flushes is no longer below zero.
LOCKSTEP_FLOAT_BODY_1(v_cvt_floor_i32_f32, I32, F32, numeric::f32_to_i32_floor(a, mode))

// Exact or fixed in their rounding: no mode. Denormals give what a zero gives.
LOCKSTEP_MODELESS_BODY_1(v_cvt_f64_i32, F64, I32, numeric::i32_to_f64(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_f64_u32, F64, U32, numeric::u32_to_f64(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_f32_ubyte0, F32, U32, numeric::ubyte_to_f32(a, 0))
LOCKSTEP_MODELESS_BODY_1(v_cvt_f32_ubyte1, F32, U32, numeric::ubyte_to_f32(a, 1))
LOCKSTEP_MODELESS_BODY_1(v_cvt_f32_ubyte2, F32, U32, numeric::ubyte_to_f32(a, 2))
LOCKSTEP_MODELESS_BODY_1(v_cvt_f32_ubyte3, F32, U32, numeric::ubyte_to_f32(a, 3))
LOCKSTEP_MODELESS_BODY_1(v_cvt_off_f32_i4, F32, U32, numeric::off_i4_to_f32(a))

LOCKSTEP_MODELESS_BODY_1(v_cvt_i32_f32, I32, F32, numeric::f32_to_i32(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_u32_f32, U32, F32, numeric::f32_to_u32(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_i32_f64, I32, F64, numeric::f64_to_i32(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_u32_f64, U32, F64, numeric::f64_to_u32(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_i16_f16, I16, F16, numeric::f16_to_i16(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_u16_f16, U16, F16, numeric::f16_to_u16(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_nearest_i32_f32, I32, F32, numeric::f32_to_i32_nearest(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_norm_i16_f16, I16, F16, numeric::f16_to_snorm16(a))
LOCKSTEP_MODELESS_BODY_1(v_cvt_norm_u16_f16, U16, F16, numeric::f16_to_unorm16(a))
// clang-format on

}  // namespace lockstep::semantics

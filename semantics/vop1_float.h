// VOP1 instructions on floats: rounding to integers, fractions, exponents (guide 16.8). Also vop1_convert.h,
// vop1_transcendental.h.
#pragma once

#include "numeric/arithmetic.h"
#include "semantics/float_body.h"

namespace lockstep::semantics {

// clang-format off
LOCKSTEP_FLOAT_BODY_1(v_fract_f16, F16, F16, numeric::fract(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_fract_f32, F32, F32, numeric::fract(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_fract_f64, F64, F64, numeric::fract(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_trunc_f16, F16, F16, numeric::trunc(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_trunc_f32, F32, F32, numeric::trunc(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_trunc_f64, F64, F64, numeric::trunc(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_ceil_f16,  F16, F16, numeric::ceil(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_ceil_f32,  F32, F32, numeric::ceil(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_ceil_f64,  F64, F64, numeric::ceil(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rndne_f16, F16, F16, numeric::rndne(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rndne_f32, F32, F32, numeric::rndne(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rndne_f64, F64, F64, numeric::rndne(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_floor_f16, F16, F16, numeric::floor(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_floor_f32, F32, F32, numeric::floor(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_floor_f64, F64, F64, numeric::floor(a, mode))

LOCKSTEP_FLOAT_BODY_1(v_frexp_mant_f16,    F16, F16, numeric::frexp_mant(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_frexp_mant_f32,    F32, F32, numeric::frexp_mant(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_frexp_mant_f64,    F64, F64, numeric::frexp_mant(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_frexp_exp_i16_f16, I16, F16, convert<I16>(numeric::frexp_exp(a, mode)))
LOCKSTEP_FLOAT_BODY_1(v_frexp_exp_i32_f32, I32, F32, numeric::frexp_exp(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_frexp_exp_i32_f64, I32, F64, numeric::frexp_exp(a, mode))
// clang-format on

}  // namespace lockstep::semantics

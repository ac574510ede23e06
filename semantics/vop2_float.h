// VOP2 instructions on floats (guide 16.7).
#pragma once

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "semantics/float_body.h"

namespace lockstep::semantics {

// clang-format off
LOCKSTEP_FLOAT_BODY_2(v_add_f32,    F32, F32, F32, numeric::add(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_sub_f32,    F32, F32, F32, numeric::sub(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_subrev_f32, F32, F32, F32, numeric::subrev(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_mul_f32,    F32, F32, F32, numeric::mul(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_min_f32,    F32, F32, F32, numeric::min(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_max_f32,    F32, F32, F32, numeric::max(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_mul_dx9_zero_f32, F32, F32, F32, numeric::mul_dx9_zero(a, b, mode))

LOCKSTEP_FLOAT_BODY_2(v_add_f16,    F16, F16, F16, numeric::add(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_sub_f16,    F16, F16, F16, numeric::sub(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_subrev_f16, F16, F16, F16, numeric::subrev(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_mul_f16,    F16, F16, F16, numeric::mul(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_min_f16,    F16, F16, F16, numeric::min(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_max_f16,    F16, F16, F16, numeric::max(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_ldexp_f16,  F16, F16, I16, numeric::ldexp(a, b, mode))

// c is the old destination.
LOCKSTEP_FLOAT_BODY_3(v_fmac_f32, F32, F32, F32, F32, numeric::fma(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_fmac_f16, F16, F16, F16, F16, numeric::fma(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_fmac_dx9_zero_f32, F32, F32, F32, F32, numeric::fma_dx9_zero(a, b, c, mode))
// The constant is the second operand of fmamk, the third of fmaak.
LOCKSTEP_FLOAT_BODY_3(v_fmamk_f32, F32, F32, F32, F32, numeric::fma(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_fmaak_f32, F32, F32, F32, F32, numeric::fma(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_fmamk_f16, F16, F16, F16, F16, numeric::fma(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_fmaak_f16, F16, F16, F16, F16, numeric::fma(a, b, c, mode))
// clang-format on
template <>
inline constexpr bool flushes_always<v_mul_dx9_zero_f32> = true;
template <>
inline constexpr bool flushes_always<v_fmac_dx9_zero_f32> = true;

}  // namespace lockstep::semantics

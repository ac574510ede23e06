// Exponential, logarithm, reciprocal, roots, sine and cosine (VOP1, guide 16.8). Sine and cosine count in
// turns.
#pragma once

#include "numeric/transcendental.h"
#include "semantics/float_body.h"

namespace lockstep::semantics {

// clang-format off
LOCKSTEP_FLOAT_BODY_1(v_exp_f16,  F16, F16, numeric::exp2(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_exp_f32,  F32, F32, numeric::exp2(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_log_f16,  F16, F16, numeric::log2(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_log_f32,  F32, F32, numeric::log2(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rcp_f16,  F16, F16, numeric::rcp(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rcp_f32,  F32, F32, numeric::rcp(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rcp_f64,  F64, F64, numeric::rcp(a, mode))
// Differs from v_rcp_f32 in the exceptions that it raises, not in the value (measured on gfx1100).
LOCKSTEP_FLOAT_BODY_1(v_rcp_iflag_f32, F32, F32, numeric::rcp_iflag(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rsq_f16,  F16, F16, numeric::rsq(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rsq_f32,  F32, F32, numeric::rsq(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rsq_f64,  F64, F64, numeric::rsq(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_sqrt_f16, F16, F16, numeric::sqrt(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_sqrt_f32, F32, F32, numeric::sqrt(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_sqrt_f64, F64, F64, numeric::sqrt(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_sin_f16,  F16, F16, numeric::sin(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_sin_f32,  F32, F32, numeric::sin(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cos_f16,  F16, F16, numeric::cos(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cos_f32,  F32, F32, numeric::cos(a, mode))
// clang-format on

}  // namespace lockstep::semantics

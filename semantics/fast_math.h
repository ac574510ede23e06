// The bodies of `--math fast`, which take the place of those in vop1_transcendental.h, and how far they can
// be trusted.
#pragma once

#include "numeric/fast_transcendental.h"
#include "semantics/fidelity.h"
#include "semantics/float_body.h"

namespace lockstep::semantics::fast {

// clang-format off
LOCKSTEP_FLOAT_BODY_1(v_exp_f32,       F32, F32, numeric::fast::exp2(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_log_f32,       F32, F32, numeric::fast::log2(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rcp_f32,       F32, F32, numeric::fast::rcp(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rcp_iflag_f32, F32, F32, numeric::fast::rcp(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_rsq_f32,       F32, F32, numeric::fast::rsq(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_sqrt_f32,      F32, F32, numeric::fast::sqrt(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_sin_f32,       F32, F32, numeric::fast::sin(a, mode))
LOCKSTEP_FLOAT_BODY_1(v_cos_f32,       F32, F32, numeric::fast::cos(a, mode))
// clang-format on

#define LOCKSTEP_FAST_BODIES(X) \
  X(v_exp_f32)                  \
  X(v_log_f32) X(v_rcp_f32) X(v_rcp_iflag_f32) X(v_rsq_f32) X(v_sqrt_f32) X(v_sin_f32) X(v_cos_f32)

// As semantics::doubt_of, with these bodies.
constexpr Doubt doubt_of(const isa::Row& row) {
  switch (row.base) {
    case isa::Opcode::v_rcp_f32:
    case isa::Opcode::v_rcp_iflag_f32:
    case isa::Opcode::v_sqrt_f32:
      return fidelity::bounded(0.5, "fast math: correctly rounded, which is not what the card gives");
    case isa::Opcode::v_exp_f32:
    case isa::Opcode::v_log_f32:
    case isa::Opcode::v_rsq_f32:
    case isa::Opcode::v_sin_f32:
    case isa::Opcode::v_cos_f32:
      return fidelity::bounded(1, "fast math: near the true value, which is not what the card gives");
    default:
      return semantics::doubt_of(row);
  }
}

}  // namespace lockstep::semantics::fast

// VOP2 instructions on integers and bits (guide 16.7). Float ones: vop2_float.h.
#pragma once

#include "semantics/integer.h"

namespace lockstep::semantics {

struct v_cndmask_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, Mask condition) { return select(condition, b, a); }
};

struct v_mul_u32_u24 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return (a & 0xffffffu) * (b & 0xffffffu); }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b) {
    return saturate_u32(multiply_wide(a & 0xffffffu, b & 0xffffffu));
  }
};
struct v_mul_hi_u32_u24 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return high_half(multiply_wide(a & 0xffffffu, b & 0xffffffu)); }
};
struct v_mul_i32_i24 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return sign_extend_24(a) * sign_extend_24(b); }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b) { return bits_as<U32>(saturate_i32(multiply_i24(a, b))); }
};
struct v_mul_hi_i32_i24 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return high_half(bits_as<U64>(multiply_i24(a, b))); }
};

struct v_min_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b) { return __builtin_elementwise_min(a, b); }
};
struct v_max_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b) { return __builtin_elementwise_max(a, b); }
};
struct v_min_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return __builtin_elementwise_min(a, b); }
};
struct v_max_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return __builtin_elementwise_max(a, b); }
};

struct v_lshlrev_b32 {
  LOCKSTEP_BODY U32 eval(U32 count, U32 value) { return value << (count & 31u); }
};
struct v_lshrrev_b32 {
  LOCKSTEP_BODY U32 eval(U32 count, U32 value) { return value >> (count & 31u); }
};
struct v_ashrrev_i32 {
  LOCKSTEP_BODY I32 eval(U32 count, I32 value) { return value >> bits_as<I32>(count & 31u); }
};

struct v_and_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return a & b; }
};
struct v_or_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return a | b; }
};
struct v_xor_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return a ^ b; }
};
struct v_xnor_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return ~(a ^ b); }
};

// Carry chains. The mask is the carry of the wrapped sum also where CLAMP saturates the value.
struct v_add_co_ci_u32 {
  LOCKSTEP_BODY WithMask<U32> eval(U32 a, U32 b, Mask carry) {
    const U32 partial = a + b;
    const U32 sum = partial + select(carry, U32(1), U32(0));
    return {sum, mask_of((partial < a) | (sum < partial))};
  }
  LOCKSTEP_BODY WithMask<U32> saturated(U32 a, U32 b, Mask carry) {
    const WithMask<U32> wrapped = eval(a, b, carry);
    return {select(wrapped.mask, U32(UINT32_MAX), wrapped.value), wrapped.mask};
  }
};
struct v_sub_co_ci_u32 {
  LOCKSTEP_BODY WithMask<U32> eval(U32 a, U32 b, Mask borrow) {
    const U32 partial = a - b;
    const U32 difference = partial - select(borrow, U32(1), U32(0));
    return {difference, mask_of((a < b) | (difference > partial))};
  }
  LOCKSTEP_BODY WithMask<U32> saturated(U32 a, U32 b, Mask borrow) {
    const WithMask<U32> wrapped = eval(a, b, borrow);
    return {select(wrapped.mask, U32(0), wrapped.value), wrapped.mask};
  }
};
// The guide's borrow formula for this one repeats that of v_sub_co_ci_u32; taken as v_subrev_co_u32 has it.
struct v_subrev_co_ci_u32 {
  LOCKSTEP_BODY WithMask<U32> eval(U32 a, U32 b, Mask borrow) { return v_sub_co_ci_u32::eval(b, a, borrow); }
  LOCKSTEP_BODY WithMask<U32> saturated(U32 a, U32 b, Mask borrow) {
    return v_sub_co_ci_u32::saturated(b, a, borrow);
  }
};

struct v_add_nc_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return a + b; }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b) { return __builtin_elementwise_add_sat(a, b); }
};
struct v_sub_nc_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return a - b; }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b) { return __builtin_elementwise_sub_sat(a, b); }
};
struct v_subrev_nc_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return b - a; }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b) { return __builtin_elementwise_sub_sat(b, a); }
};

}  // namespace lockstep::semantics

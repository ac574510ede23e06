// 32-bit and 64-bit integer arithmetic that exists only as VOP3 or VOP3SD (guide 16.12).
#pragma once

#include "semantics/integer.h"

namespace lockstep::semantics {

struct v_mul_lo_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return a * b; }
};
struct v_mul_hi_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return high_half(multiply_wide(a, b)); }
};
struct v_mul_hi_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b) { return bits_as<I32>(high_half(bits_as<U64>(multiply_wide(a, b)))); }
};

struct v_mad_u32_u24 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return (a & 0xffffffu) * (b & 0xffffffu) + c; }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b, U32 c) {
    return saturate_u32(multiply_wide(a & 0xffffffu, b & 0xffffffu) + convert<U64>(c));
  }
};
struct v_mad_i32_i24 {
  LOCKSTEP_BODY I32 eval(U32 a, U32 b, I32 c) {
    return bits_as<I32>(sign_extend_24(a) * sign_extend_24(b) + bits_as<U32>(c));
  }
  LOCKSTEP_BODY I32 saturated(U32 a, U32 b, I32 c) {
    return saturate_i32(multiply_i24(a, b) + convert<I64>(c));
  }
};
struct v_mad_u32_u16 {
  LOCKSTEP_BODY U32 eval(U16 a, U16 b, U32 c) { return convert<U32>(a) * convert<U32>(b) + c; }
  LOCKSTEP_BODY U32 saturated(U16 a, U16 b, U32 c) {
    return __builtin_elementwise_add_sat(convert<U32>(a) * convert<U32>(b), c);
  }
};
struct v_mad_i32_i16 {
  LOCKSTEP_BODY I32 eval(I16 a, I16 b, I32 c) { return wrapping_add(convert<I32>(a) * convert<I32>(b), c); }
  LOCKSTEP_BODY I32 saturated(I16 a, I16 b, I32 c) {
    return __builtin_elementwise_add_sat(convert<I32>(a) * convert<I32>(b), c);
  }
};

// The mask is bit 64 of the exact 65-bit sum: the carry of the unsigned one, the sign of the signed one.
struct v_mad_u64_u32 {
  LOCKSTEP_BODY WithMask<U64> eval(U32 a, U32 b, U64 c) {
    const U64 sum = multiply_wide(a, b) + c;
    return {sum, mask_of(sum < c)};
  }
  LOCKSTEP_BODY WithMask<U64> saturated(U32 a, U32 b, U64 c) {
    const WithMask<U64> wrapped = eval(a, b, c);
    return {select(wrapped.mask, U64(UINT64_MAX), wrapped.value), wrapped.mask};
  }
};
struct v_mad_i64_i32 {
  LOCKSTEP_BODY WithMask<I64> eval(I32 a, I32 b, I64 c) {
    const I64 product = multiply_wide(a, b);
    const I64 sum = bits_as<I64>(bits_as<U64>(product) + bits_as<U64>(c));
    return {sum, mask_of((sum ^ overflowed(product, c, sum)) < 0)};
  }
  LOCKSTEP_BODY WithMask<I64> saturated(I32 a, I32 b, I64 c) {
    const WithMask<I64> wrapped = eval(a, b, c);
    const I64 product = multiply_wide(a, b);
    return {__builtin_elementwise_add_sat(product, c), wrapped.mask};
  }

 private:
  // Negative where the sum left the 64-bit range, that is where its sign differs from that of both addends.
  LOCKSTEP_BODY I64 overflowed(I64 a, I64 b, I64 sum) { return (sum ^ a) & (sum ^ b); }
};

struct v_add_co_u32 {
  LOCKSTEP_BODY WithMask<U32> eval(U32 a, U32 b) {
    const U32 sum = a + b;
    return {sum, mask_of(sum < a)};
  }
  LOCKSTEP_BODY WithMask<U32> saturated(U32 a, U32 b) {
    return {__builtin_elementwise_add_sat(a, b), eval(a, b).mask};
  }
};
struct v_sub_co_u32 {
  LOCKSTEP_BODY WithMask<U32> eval(U32 a, U32 b) { return {a - b, mask_of(b > a)}; }
  LOCKSTEP_BODY WithMask<U32> saturated(U32 a, U32 b) {
    return {__builtin_elementwise_sub_sat(a, b), mask_of(b > a)};
  }
};
struct v_subrev_co_u32 {
  LOCKSTEP_BODY WithMask<U32> eval(U32 a, U32 b) { return v_sub_co_u32::eval(b, a); }
  LOCKSTEP_BODY WithMask<U32> saturated(U32 a, U32 b) { return v_sub_co_u32::saturated(b, a); }
};

struct v_add_nc_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b) { return wrapping_add(a, b); }
  LOCKSTEP_BODY I32 saturated(I32 a, I32 b) { return __builtin_elementwise_add_sat(a, b); }
};
struct v_sub_nc_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b) { return wrapping_sub(a, b); }
  LOCKSTEP_BODY I32 saturated(I32 a, I32 b) { return __builtin_elementwise_sub_sat(a, b); }
};

struct v_add3_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return a + b + c; }
};
struct v_xad_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return (a ^ b) + c; }
};
struct v_lshl_add_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 count, U32 c) { return (a << (count & 31u)) + c; }
};
struct v_add_lshl_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 count) { return (a + b) << (count & 31u); }
};

struct v_min3_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b, I32 c) {
    return __builtin_elementwise_min(__builtin_elementwise_min(a, b), c);
  }
};
struct v_min3_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_min(__builtin_elementwise_min(a, b), c);
  }
};
struct v_max3_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b, I32 c) {
    return __builtin_elementwise_max(__builtin_elementwise_max(a, b), c);
  }
};
struct v_max3_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_max(__builtin_elementwise_max(a, b), c);
  }
};
struct v_med3_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b, I32 c) {
    return __builtin_elementwise_max(__builtin_elementwise_min(a, b),
                                     __builtin_elementwise_min(__builtin_elementwise_max(a, b), c));
  }
};
struct v_med3_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_max(__builtin_elementwise_min(a, b),
                                     __builtin_elementwise_min(__builtin_elementwise_max(a, b), c));
  }
};
struct v_maxmin_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b, I32 c) {
    return __builtin_elementwise_min(__builtin_elementwise_max(a, b), c);
  }
};
struct v_maxmin_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_min(__builtin_elementwise_max(a, b), c);
  }
};
struct v_minmax_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, I32 b, I32 c) {
    return __builtin_elementwise_max(__builtin_elementwise_min(a, b), c);
  }
};
struct v_minmax_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_max(__builtin_elementwise_min(a, b), c);
  }
};

struct v_cvt_pk_u16_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return pack_halves(saturate_u16(a), saturate_u16(b)); }
};
struct v_cvt_pk_i16_i32 {
  LOCKSTEP_BODY U32 eval(I32 a, I32 b) {
    return pack_halves(bits_as<U16>(saturate_i16(a)), bits_as<U16>(saturate_i16(b)));
  }
};

}  // namespace lockstep::semantics

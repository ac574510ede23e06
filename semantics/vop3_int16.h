// 16-bit integer arithmetic (VOP3, guide 16.12).
#pragma once

#include "semantics/integer.h"

namespace lockstep::semantics {

struct v_add_nc_u16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b) { return a + b; }
  LOCKSTEP_BODY U16 saturated(U16 a, U16 b) { return __builtin_elementwise_add_sat(a, b); }
};
struct v_sub_nc_u16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b) { return a - b; }
  LOCKSTEP_BODY U16 saturated(U16 a, U16 b) { return __builtin_elementwise_sub_sat(a, b); }
};
struct v_add_nc_i16 {
  LOCKSTEP_BODY I16 eval(I16 a, I16 b) { return wrapping_add(a, b); }
  LOCKSTEP_BODY I16 saturated(I16 a, I16 b) { return __builtin_elementwise_add_sat(a, b); }
};
struct v_sub_nc_i16 {
  LOCKSTEP_BODY I16 eval(I16 a, I16 b) { return wrapping_sub(a, b); }
  LOCKSTEP_BODY I16 saturated(I16 a, I16 b) { return __builtin_elementwise_sub_sat(a, b); }
};

struct v_mul_lo_u16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b) { return a * b; }
  LOCKSTEP_BODY U16 saturated(U16 a, U16 b) { return saturate_u16(convert<U32>(a) * convert<U32>(b)); }
};
struct v_mad_u16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b, U16 c) { return a * b + c; }
  // The exact result is below 2^32.
  LOCKSTEP_BODY U16 saturated(U16 a, U16 b, U16 c) {
    return saturate_u16(convert<U32>(a) * convert<U32>(b) + convert<U32>(c));
  }
};
struct v_mad_i16 {
  LOCKSTEP_BODY I16 eval(I16 a, I16 b, I16 c) {
    return bits_as<I16>(bits_as<U16>(a) * bits_as<U16>(b) + bits_as<U16>(c));
  }
  LOCKSTEP_BODY I16 saturated(I16 a, I16 b, I16 c) {
    return saturate_i16(convert<I32>(a) * convert<I32>(b) + convert<I32>(c));
  }
};

struct v_min_u16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b) { return __builtin_elementwise_min(a, b); }
};
struct v_max_u16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b) { return __builtin_elementwise_max(a, b); }
};
struct v_min_i16 {
  LOCKSTEP_BODY I16 eval(I16 a, I16 b) { return __builtin_elementwise_min(a, b); }
};
struct v_max_i16 {
  LOCKSTEP_BODY I16 eval(I16 a, I16 b) { return __builtin_elementwise_max(a, b); }
};
struct v_min3_u16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b, U16 c) { return v_min_u16::eval(v_min_u16::eval(a, b), c); }
};
struct v_max3_u16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b, U16 c) { return v_max_u16::eval(v_max_u16::eval(a, b), c); }
};
struct v_med3_u16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b, U16 c) {
    return v_max_u16::eval(v_min_u16::eval(a, b), v_min_u16::eval(v_max_u16::eval(a, b), c));
  }
};
struct v_min3_i16 {
  LOCKSTEP_BODY I16 eval(I16 a, I16 b, I16 c) { return v_min_i16::eval(v_min_i16::eval(a, b), c); }
};
struct v_max3_i16 {
  LOCKSTEP_BODY I16 eval(I16 a, I16 b, I16 c) { return v_max_i16::eval(v_max_i16::eval(a, b), c); }
};
struct v_med3_i16 {
  LOCKSTEP_BODY I16 eval(I16 a, I16 b, I16 c) {
    return v_max_i16::eval(v_min_i16::eval(a, b), v_min_i16::eval(v_max_i16::eval(a, b), c));
  }
};

}  // namespace lockstep::semantics

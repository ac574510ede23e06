// VOP1 instructions that move or count bits (guide 16.8). Float ones: vop1_float.h, vop1_convert.h.
#pragma once

#include "semantics/integer.h"

namespace lockstep::semantics {

// Bit moves: float modifiers, where the row allows them, act on the sign bit only, so the parameters are
// plain bits.
struct v_mov_b32 {
  LOCKSTEP_BODY U32 eval(U32 a) { return a; }
};
struct v_mov_b16 {
  LOCKSTEP_BODY U16 eval(U16 a) { return a; }
};
struct v_not_b32 {
  LOCKSTEP_BODY U32 eval(U32 a) { return ~a; }
};
struct v_not_b16 {
  LOCKSTEP_BODY U16 eval(U16 a) { return ~a; }
};

struct v_bfrev_b32 {
  LOCKSTEP_BODY U32 eval(U32 a) { return __builtin_elementwise_bitreverse(a); }
};
struct v_clz_i32_u32 {
  LOCKSTEP_BODY I32 eval(U32 a) { return leading_zeros(a); }
};
struct v_ctz_i32_b32 {
  LOCKSTEP_BODY I32 eval(U32 a) { return trailing_zeros(a); }
};
// Bits equal to the sign bit, sign included; -1 if all are.
struct v_cls_i32 {
  LOCKSTEP_BODY I32 eval(I32 a) { return leading_zeros(bits_as<U32>(a ^ a >> 31)); }
};

struct v_cvt_i32_i16 {
  LOCKSTEP_BODY I32 eval(I16 a) { return convert<I32>(a); }
};
struct v_cvt_u32_u16 {
  LOCKSTEP_BODY U32 eval(U16 a) { return convert<U32>(a); }
};

// Two signed halves, each clamped to an unsigned byte.
struct v_sat_pk_u8_i16 {
  LOCKSTEP_BODY U16 eval(U32 a) {
    const I32 low = bits_as<I32>(a << 16) >> 16, high = bits_as<I32>(a) >> 16;
    return convert<U16>(byte(low) | byte(high) << 8);
  }

 private:
  LOCKSTEP_BODY U32 byte(I32 half) {
    const I32 least = 0, greatest = 255;
    return bits_as<U32>(__builtin_elementwise_min(__builtin_elementwise_max(half, least), greatest));
  }
};

}  // namespace lockstep::semantics

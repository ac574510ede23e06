// Packed 16-bit integer math and integer dot products (VOP3P, guide 7.5 and 16.10).
// A packed instruction is its 16-bit namesake on both halves.
#pragma once

#include "numeric/dot.h"
#include "semantics/integer.h"
#include "semantics/vop3_int16.h"

namespace lockstep::semantics {

namespace packed {

template <class Body, class T, class... Sources>
LOCKSTEP_BODY Pair<T> halves(Pair<T> a, Sources... sources) {
  return {Body::eval(a.low, sources.low...), Body::eval(a.high, sources.high...)};
}
template <class Body, class T, class... Sources>
LOCKSTEP_BODY Pair<T> saturated_halves(Pair<T> a, Sources... sources) {
  return {Body::saturated(a.low, sources.low...), Body::saturated(a.high, sources.high...)};
}

}  // namespace packed

struct v_pk_mad_i16 {
  LOCKSTEP_BODY PairI16 eval(PairI16 a, PairI16 b, PairI16 c) { return packed::halves<v_mad_i16>(a, b, c); }
  LOCKSTEP_BODY PairI16 saturated(PairI16 a, PairI16 b, PairI16 c) {
    return packed::saturated_halves<v_mad_i16>(a, b, c);
  }
};
struct v_pk_mad_u16 {
  LOCKSTEP_BODY PairU16 eval(PairU16 a, PairU16 b, PairU16 c) { return packed::halves<v_mad_u16>(a, b, c); }
  LOCKSTEP_BODY PairU16 saturated(PairU16 a, PairU16 b, PairU16 c) {
    return packed::saturated_halves<v_mad_u16>(a, b, c);
  }
};
struct v_pk_mul_lo_u16 {
  LOCKSTEP_BODY PairU16 eval(PairU16 a, PairU16 b) { return packed::halves<v_mul_lo_u16>(a, b); }
  LOCKSTEP_BODY PairU16 saturated(PairU16 a, PairU16 b) {
    return packed::saturated_halves<v_mul_lo_u16>(a, b);
  }
};
struct v_pk_add_i16 {
  LOCKSTEP_BODY PairI16 eval(PairI16 a, PairI16 b) { return packed::halves<v_add_nc_i16>(a, b); }
  LOCKSTEP_BODY PairI16 saturated(PairI16 a, PairI16 b) {
    return packed::saturated_halves<v_add_nc_i16>(a, b);
  }
};
struct v_pk_sub_i16 {
  LOCKSTEP_BODY PairI16 eval(PairI16 a, PairI16 b) { return packed::halves<v_sub_nc_i16>(a, b); }
  LOCKSTEP_BODY PairI16 saturated(PairI16 a, PairI16 b) {
    return packed::saturated_halves<v_sub_nc_i16>(a, b);
  }
};
struct v_pk_add_u16 {
  LOCKSTEP_BODY PairU16 eval(PairU16 a, PairU16 b) { return packed::halves<v_add_nc_u16>(a, b); }
  LOCKSTEP_BODY PairU16 saturated(PairU16 a, PairU16 b) {
    return packed::saturated_halves<v_add_nc_u16>(a, b);
  }
};
struct v_pk_sub_u16 {
  LOCKSTEP_BODY PairU16 eval(PairU16 a, PairU16 b) { return packed::halves<v_sub_nc_u16>(a, b); }
  LOCKSTEP_BODY PairU16 saturated(PairU16 a, PairU16 b) {
    return packed::saturated_halves<v_sub_nc_u16>(a, b);
  }
};
struct v_pk_max_i16 {
  LOCKSTEP_BODY PairI16 eval(PairI16 a, PairI16 b) { return packed::halves<v_max_i16>(a, b); }
};
struct v_pk_min_i16 {
  LOCKSTEP_BODY PairI16 eval(PairI16 a, PairI16 b) { return packed::halves<v_min_i16>(a, b); }
};
struct v_pk_max_u16 {
  LOCKSTEP_BODY PairU16 eval(PairU16 a, PairU16 b) { return packed::halves<v_max_u16>(a, b); }
};
struct v_pk_min_u16 {
  LOCKSTEP_BODY PairU16 eval(PairU16 a, PairU16 b) { return packed::halves<v_min_u16>(a, b); }
};

// The count comes first; its low four bits count.
struct v_pk_lshlrev_b16 {
  LOCKSTEP_BODY PairU16 eval(PairU16 count, PairU16 a) {
    return {a.low << (count.low & 15), a.high << (count.high & 15)};
  }
};
struct v_pk_lshrrev_b16 {
  LOCKSTEP_BODY PairU16 eval(PairU16 count, PairU16 a) {
    return {a.low >> (count.low & 15), a.high >> (count.high & 15)};
  }
};
struct v_pk_ashrrev_i16 {
  LOCKSTEP_BODY PairI16 eval(PairU16 count, PairI16 a) {
    return {a.low >> bits_as<I16>(count.low & 15), a.high >> bits_as<I16>(count.high & 15)};
  }
};

struct v_dot4_i32_iu8 {
  LOCKSTEP_BODY I32 eval(U32 a, U32 b, I32 c, SignBits is_signed) {
    return numeric::dot4_i32_iu8(a, b, c, is_signed.src0, is_signed.src1, false);
  }
  LOCKSTEP_BODY I32 saturated(U32 a, U32 b, I32 c, SignBits is_signed) {
    return numeric::dot4_i32_iu8(a, b, c, is_signed.src0, is_signed.src1, true);
  }
};
struct v_dot8_i32_iu4 {
  LOCKSTEP_BODY I32 eval(U32 a, U32 b, I32 c, SignBits is_signed) {
    return numeric::dot8_i32_iu4(a, b, c, is_signed.src0, is_signed.src1, false);
  }
  LOCKSTEP_BODY I32 saturated(U32 a, U32 b, I32 c, SignBits is_signed) {
    return numeric::dot8_i32_iu4(a, b, c, is_signed.src0, is_signed.src1, true);
  }
};
struct v_dot4_u32_u8 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return numeric::dot4_u32_u8(a, b, c, false); }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b, U32 c) { return numeric::dot4_u32_u8(a, b, c, true); }
};
struct v_dot8_u32_u4 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return numeric::dot8_u32_u4(a, b, c, false); }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b, U32 c) { return numeric::dot8_u32_u4(a, b, c, true); }
};

}  // namespace lockstep::semantics

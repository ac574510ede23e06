// Float instructions that exist only as VOP3 or VOP3SD: three operands, selection, cube maps (guide 16.12).
// The steps of a division: vop3_division.h.
#pragma once

#include "numeric/arithmetic.h"
#include "semantics/float_body.h"

namespace lockstep::semantics {

// clang-format off
LOCKSTEP_FLOAT_BODY_2(v_add_f64,   F64, F64, F64, numeric::add(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_mul_f64,   F64, F64, F64, numeric::mul(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_min_f64,   F64, F64, F64, numeric::min(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_max_f64,   F64, F64, F64, numeric::max(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_ldexp_f32, F32, F32, I32, numeric::ldexp(a, b, mode))
LOCKSTEP_FLOAT_BODY_2(v_ldexp_f64, F64, F64, I32, numeric::ldexp(a, b, mode))

LOCKSTEP_FLOAT_BODY_3(v_fma_f16, F16, F16, F16, F16, numeric::fma(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_fma_f32, F32, F32, F32, F32, numeric::fma(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_fma_f64, F64, F64, F64, F64, numeric::fma(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_fma_dx9_zero_f32, F32, F32, F32, F32, numeric::fma_dx9_zero(a, b, c, mode))

LOCKSTEP_FLOAT_BODY_3(v_min3_f16, F16, F16, F16, F16, numeric::min3(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_min3_f32, F32, F32, F32, F32, numeric::min3(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_max3_f16, F16, F16, F16, F16, numeric::max3(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_max3_f32, F32, F32, F32, F32, numeric::max3(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_med3_f16, F16, F16, F16, F16, numeric::med3(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_med3_f32, F32, F32, F32, F32, numeric::med3(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_maxmin_f16, F16, F16, F16, F16, numeric::maxmin(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_maxmin_f32, F32, F32, F32, F32, numeric::maxmin(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_minmax_f16, F16, F16, F16, F16, numeric::minmax(a, b, c, mode))
LOCKSTEP_FLOAT_BODY_3(v_minmax_f32, F32, F32, F32, F32, numeric::minmax(a, b, c, mode))
// clang-format on
template <>
inline constexpr bool flushes_always<v_fma_dx9_zero_f32> = true;

// Lighting: where the specular factors in b and c say "dark", the most negative number. 0 * x is 0, as the
// guide's text has it; its formula leaves that out.
struct v_mullit_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F32 a, F32 b, F32 c, Mode mode) {
    const F32 darkest = -__FLT_MAX__, zero = 0;
    // The negated compares are true for NaNs.
    const uint16_t dark =
        bits_from_mask(numeric::ngt(b, darkest, mode)) | bits_from_mask(numeric::ngt(c, zero, mode));
    return select(mask_from_bits(dark), darkest, numeric::mul_dx9_zero(a, b, mode));
  }
};
template <>
inline constexpr bool flushes_always<v_mullit_f32> = true;

// Cube maps: the axis of largest magnitude names the face; z wins a tie, then y.
namespace cube {
struct Face {
  Mask z_major, y_major;  // x is the major axis where neither is set
  Mask negative;          // sign of the major axis, by value: -0 is not negative
};
template <class Mode>
LOCKSTEP_INLINE Face face(F32 x, F32 y, F32 z, Mode mode) {
  const F32 width = numeric::abs(x), height = numeric::abs(y), depth = numeric::abs(z), zero = 0;
  const uint16_t z_major =
      bits_from_mask(numeric::ge(depth, width, mode)) & bits_from_mask(numeric::ge(depth, height, mode));
  const uint16_t y_major = bits_from_mask(numeric::ge(height, width, mode)) & ~z_major;
  Face result{mask_from_bits(z_major), mask_from_bits(y_major), {}};
  result.negative = numeric::lt(select(result.z_major, z, select(result.y_major, y, x)), zero, mode);
  return result;
}
LOCKSTEP_INLINE F32 negate(F32 value) {
  return bits_as<F32>(bits_as<U32>(value) ^ 0x80000000u);
}
}  // namespace cube

struct v_cubeid_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F32 x, F32 y, F32 z, Mode mode) {
    const cube::Face face = cube::face(x, y, z, mode);
    const F32 axis = select(face.z_major, F32(4), select(face.y_major, F32(2), F32(0)));
    return axis + select(face.negative, F32(1), F32(0));
  }
};
struct v_cubesc_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F32 x, F32 y, F32 z, Mode mode) {
    const cube::Face face = cube::face(x, y, z, mode);
    const F32 of_x = select(face.negative, z, cube::negate(z));
    const F32 of_z = select(face.negative, cube::negate(x), x);
    return select(face.z_major, of_z, select(face.y_major, x, of_x));
  }
};
struct v_cubetc_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F32 x, F32 y, F32 z, Mode mode) {
    const cube::Face face = cube::face(x, y, z, mode);
    const F32 of_y = select(face.negative, cube::negate(z), z);
    return select(face.y_major, of_y, cube::negate(y));
  }
};
// Twice the major axis.
struct v_cubema_f32 {
  template <class Mode>
  LOCKSTEP_BODY F32 eval(F32 x, F32 y, F32 z, Mode mode) {
    const cube::Face face = cube::face(x, y, z, mode);
    return numeric::mul(select(face.z_major, z, select(face.y_major, y, x)), F32(2), mode);
  }
};

}  // namespace lockstep::semantics

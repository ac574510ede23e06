// VOPC: compares (guide 16.9). v_cmpx has the same meaning; where the mask goes is the row's affair.
#pragma once

#include "numeric/compare.h"
#include "semantics/body.h"

namespace lockstep::semantics {

#define LOCKSTEP_INTEGER_COMPARE(name, type, expression) \
  struct v_cmp_##name {                                  \
    LOCKSTEP_BODY Mask eval(type a, type b) {            \
      return mask_of(expression);                        \
    }                                                    \
  };                                                     \
  struct v_cmpx_##name : v_cmp_##name {};

#define LOCKSTEP_INTEGER_COMPARES(suffix, type)       \
  LOCKSTEP_INTEGER_COMPARE(lt_##suffix, type, a < b)  \
  LOCKSTEP_INTEGER_COMPARE(eq_##suffix, type, a == b) \
  LOCKSTEP_INTEGER_COMPARE(le_##suffix, type, a <= b) \
  LOCKSTEP_INTEGER_COMPARE(gt_##suffix, type, a > b)  \
  LOCKSTEP_INTEGER_COMPARE(ne_##suffix, type, a != b) \
  LOCKSTEP_INTEGER_COMPARE(ge_##suffix, type, a >= b)

// The parameters are there because the row has the operands.
#define LOCKSTEP_CONSTANT_COMPARE(name, type, bits) \
  struct v_cmp_##name {                             \
    LOCKSTEP_BODY Mask eval(type, type) {           \
      return mask_from_bits(bits);                  \
    }                                               \
  };                                                \
  struct v_cmpx_##name : v_cmp_##name {};

#define LOCKSTEP_CONSTANT_COMPARES(suffix, type) \
  LOCKSTEP_CONSTANT_COMPARE(f_##suffix, type, 0) \
  LOCKSTEP_CONSTANT_COMPARE(t_##suffix, type, 0xffff)

#define LOCKSTEP_FLOAT_COMPARE(predicate, suffix, type)  \
  struct v_cmp_##predicate##_##suffix {                  \
    template <class Mode>                                \
    LOCKSTEP_BODY Mask eval(type a, type b, Mode mode) { \
      return numeric::predicate(a, b, mode);             \
    }                                                    \
  };                                                     \
  struct v_cmpx_##predicate##_##suffix : v_cmp_##predicate##_##suffix {};

#define LOCKSTEP_FLOAT_COMPARES(suffix, type) \
  LOCKSTEP_FLOAT_COMPARE(lt, suffix, type)    \
  LOCKSTEP_FLOAT_COMPARE(eq, suffix, type)    \
  LOCKSTEP_FLOAT_COMPARE(le, suffix, type)    \
  LOCKSTEP_FLOAT_COMPARE(gt, suffix, type)    \
  LOCKSTEP_FLOAT_COMPARE(lg, suffix, type)    \
  LOCKSTEP_FLOAT_COMPARE(ge, suffix, type)    \
  LOCKSTEP_FLOAT_COMPARE(o, suffix, type)     \
  LOCKSTEP_FLOAT_COMPARE(u, suffix, type)     \
  LOCKSTEP_FLOAT_COMPARE(nge, suffix, type)   \
  LOCKSTEP_FLOAT_COMPARE(nlg, suffix, type)   \
  LOCKSTEP_FLOAT_COMPARE(ngt, suffix, type)   \
  LOCKSTEP_FLOAT_COMPARE(nle, suffix, type)   \
  LOCKSTEP_FLOAT_COMPARE(neq, suffix, type)   \
  LOCKSTEP_FLOAT_COMPARE(nlt, suffix, type)   \
  LOCKSTEP_CONSTANT_COMPARES(suffix, type)

LOCKSTEP_INTEGER_COMPARES(i16, I16)
LOCKSTEP_INTEGER_COMPARES(u16, U16)
LOCKSTEP_INTEGER_COMPARES(i32, I32)
LOCKSTEP_CONSTANT_COMPARES(i32, I32)
LOCKSTEP_INTEGER_COMPARES(u32, U32)
LOCKSTEP_CONSTANT_COMPARES(u32, U32)
LOCKSTEP_INTEGER_COMPARES(i64, I64)
LOCKSTEP_CONSTANT_COMPARES(i64, I64)
LOCKSTEP_INTEGER_COMPARES(u64, U64)
LOCKSTEP_CONSTANT_COMPARES(u64, U64)
LOCKSTEP_FLOAT_COMPARES(f16, F16)
LOCKSTEP_FLOAT_COMPARES(f32, F32)
LOCKSTEP_FLOAT_COMPARES(f64, F64)

#undef LOCKSTEP_INTEGER_COMPARE
#undef LOCKSTEP_INTEGER_COMPARES
#undef LOCKSTEP_CONSTANT_COMPARE
#undef LOCKSTEP_CONSTANT_COMPARES
#undef LOCKSTEP_FLOAT_COMPARE
#undef LOCKSTEP_FLOAT_COMPARES

// Input denormals are not flushed: the class is that of the encoded value.
#define LOCKSTEP_CLASS(suffix, type, mask_type)             \
  struct v_cmp_class_##suffix {                             \
    LOCKSTEP_BODY Mask eval(type a, mask_type classes) {    \
      return numeric::class_test(a, convert<U32>(classes)); \
    }                                                       \
  };                                                        \
  struct v_cmpx_class_##suffix : v_cmp_class_##suffix {};

LOCKSTEP_CLASS(f16, F16, U16)
LOCKSTEP_CLASS(f32, F32, U32)
LOCKSTEP_CLASS(f64, F64, U32)

#undef LOCKSTEP_CLASS

}  // namespace lockstep::semantics

// The sixteen float compares of VOPC. Denormal inputs are flushed first if MODE says so.
#pragma once

#include "numeric/format.h"

namespace lockstep::numeric {

namespace detail {

LOCKSTEP_INLINE F32 comparable(F32 x) {
  return x;
}
LOCKSTEP_INLINE F64 comparable(F64 x) {
  return x;
}
LOCKSTEP_INLINE F32 comparable(F16 x) {
  return widen(x);
}

}  // namespace detail

#define LOCKSTEP_COMPARE(name, expression)                        \
  template <class Float, class Mode>                              \
  LOCKSTEP_INLINE Mask name(Float left, Float right, Mode mode) { \
    const auto a = detail::comparable(flush_input(left, mode));   \
    const auto b = detail::comparable(flush_input(right, mode));  \
    return mask_of(expression);                                   \
  }

LOCKSTEP_COMPARE(lt, a < b)
LOCKSTEP_COMPARE(eq, a == b)
LOCKSTEP_COMPARE(le, a <= b)
LOCKSTEP_COMPARE(gt, a > b)
LOCKSTEP_COMPARE(lg, (a < b) | (a > b))
LOCKSTEP_COMPARE(ge, a >= b)
LOCKSTEP_COMPARE(o, (a == a) & (b == b))
LOCKSTEP_COMPARE(u, (a != a) | (b != b))
LOCKSTEP_COMPARE(nge, ~(a >= b))
LOCKSTEP_COMPARE(nlg, ~((a < b) | (a > b)))
LOCKSTEP_COMPARE(ngt, ~(a > b))
LOCKSTEP_COMPARE(nle, ~(a <= b))
LOCKSTEP_COMPARE(neq, a != b)
LOCKSTEP_COMPARE(nlt, ~(a < b))
#undef LOCKSTEP_COMPARE

template <class Float, class Mode>
LOCKSTEP_INLINE Mask f(Float, Float, Mode) {
  return mask_from_bits(0);
}
template <class Float, class Mode>
LOCKSTEP_INLINE Mask t(Float, Float, Mode) {
  return mask_from_bits(0xffff);
}

}  // namespace lockstep::numeric

// The machine's rounding directions as MPFR has them, for the oracles.
#pragma once

#include <mpfr.h>

#include "numeric/float_mode.h"

inline mpfr_rnd_t mpfr_rounding(lockstep::Round round) {
  switch (round) {
    case lockstep::Round::nearest_even:
      return MPFR_RNDN;
    case lockstep::Round::plus_infinity:
      return MPFR_RNDU;
    case lockstep::Round::minus_infinity:
      return MPFR_RNDD;
    case lockstep::Round::to_zero:
      return MPFR_RNDZ;
  }
  __builtin_unreachable();
}

// Shorthand for bodies that are one expression of their operands a, b, c and the float mode.
#pragma once

#include "semantics/body.h"

#define LOCKSTEP_FLOAT_BODY_1(name, Result, A, expression) \
  struct name {                                            \
    template <class Mode>                                  \
    LOCKSTEP_BODY Result eval(A a, Mode mode) {            \
      return expression;                                   \
    }                                                      \
  };
#define LOCKSTEP_FLOAT_BODY_2(name, Result, A, B, expression) \
  struct name {                                               \
    template <class Mode>                                     \
    LOCKSTEP_BODY Result eval(A a, B b, Mode mode) {          \
      return expression;                                      \
    }                                                         \
  };
#define LOCKSTEP_FLOAT_BODY_3(name, Result, A, B, C, expression) \
  struct name {                                                  \
    template <class Mode>                                        \
    LOCKSTEP_BODY Result eval(A a, B b, C c, Mode mode) {        \
      return expression;                                         \
    }                                                            \
  };

// Without a mode.
#define LOCKSTEP_MODELESS_BODY_1(name, Result, A, expression) \
  struct name {                                               \
    LOCKSTEP_BODY Result eval(A a) {                          \
      return expression;                                      \
    }                                                         \
  };
#define LOCKSTEP_MODELESS_BODY_2(name, Result, A, B, expression) \
  struct name {                                                  \
    LOCKSTEP_BODY Result eval(A a, B b) {                        \
      return expression;                                         \
    }                                                            \
  };

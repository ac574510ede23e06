// Runs float bodies in the default mode known at compile time and in many modes known at run time.
#pragma once

#include "float_oracle.h"
#include "valu_driver.h"

namespace lockstep::semantics::testing {

using FloatOracle = std::function<Expected(Operands, RuntimeFloatMode)>;

// Bits of MODE: round F32 [1:0], round F16 and F64 [3:2], denormals [7:4], DX10_CLAMP [8], IEEE [9],
// FP16_OVFL [23].
inline constexpr uint32_t kEveryMode[] = {
    0x3f0,    0x1f0,    0x300, 0x100,  // the default; IEEE off; no denormals
    0x350,    0x3a0,    0x1a0,         // denormals only in, only out
    0x3f5,    0x3fa,    0x3ff,         // toward plus infinity, minus infinity, zero
    0x3c9,    0x136,    0x30f,         // mixtures
    0x8003f0, 0x8001af,                // FP16_OVFL
};

template <class Result, class... A, class... B>
void verify_in(std::initializer_list<uint32_t> modes, const char* name, Result (*by_default)(A...),
               Result (*by_mode)(B...), const FloatOracle& oracle) {
  for (uint32_t bits : modes) {
    const RuntimeFloatMode mode{bits};
    mode_values() = {bits};
    const Oracle in_this_mode = [&](Operands s) { return oracle(s, mode); };
    char text[80];
    snprintf(text, sizeof text, "%s, MODE 0x%x ", name, bits);
    if (bits == kDefaultFloatMode) verify(name, by_default, in_this_mode);
    verify(text, by_mode, in_this_mode);
  }
}
template <class Result, class... A, class... B>
void verify_all_modes(const char* name, Result (*by_default)(A...), Result (*by_mode)(B...),
                      const FloatOracle& oracle) {
  for (uint32_t bits : kEveryMode) verify_in({bits}, name, by_default, by_mode, oracle);
}

}  // namespace lockstep::semantics::testing

// `expression` speaks of the operands s[0], s[1], ... and of the mode m.
#define LOCKSTEP_FLOAT_ORACLE(expression)                                                       \
  []([[maybe_unused]] lockstep::semantics::testing::Operands s,                                 \
     [[maybe_unused]] lockstep::RuntimeFloatMode m) -> lockstep::semantics::testing::Expected { \
    return expression;                                                                          \
  }
#define EVERY_MODE(name, expression)                                                             \
  lockstep::semantics::testing::verify_all_modes(#name, &name::eval<lockstep::DefaultFloatMode>, \
                                                 &name::eval<lockstep::RuntimeFloatMode>,        \
                                                 LOCKSTEP_FLOAT_ORACLE(expression))
#define SOME_MODES(name, expression)                                         \
  lockstep::semantics::testing::verify_in(                                   \
      {0x3f0, 0x100, 0x3ff}, #name, &name::eval<lockstep::DefaultFloatMode>, \
      &name::eval<lockstep::RuntimeFloatMode>, LOCKSTEP_FLOAT_ORACLE(expression))
#define DEFAULT_MODE(name, expression)                                               \
  lockstep::semantics::testing::verify_in(                                           \
      {lockstep::kDefaultFloatMode}, #name, &name::eval<lockstep::DefaultFloatMode>, \
      &name::eval<lockstep::RuntimeFloatMode>, LOCKSTEP_FLOAT_ORACLE(expression))
#define NO_MODE(name, expression)                                                                    \
  lockstep::semantics::testing::verify(#name, &name::eval,                                           \
                                       []([[maybe_unused]] lockstep::semantics::testing::Operands s) \
                                           -> lockstep::semantics::testing::Expected { return expression; })

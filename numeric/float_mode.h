// The float mode of a wave: MODE.round, MODE.denorm, IEEE, DX10_CLAMP, FP16_OVFL (guide 3.4.2).
#pragma once

#include <cstdint>

namespace lockstep {

enum class Round : uint8_t { nearest_even = 0, plus_infinity = 1, minus_infinity = 2, to_zero = 3 };

// The mode as clang sets it for compute kernels, known at compile time: everything folds away.
struct DefaultFloatMode {
  static constexpr bool is_default = true;
  static constexpr Round round_f32() { return Round::nearest_even; }
  static constexpr Round round_f16_f64() { return Round::nearest_even; }
  static constexpr bool denorm_in_f32() { return true; }
  static constexpr bool denorm_out_f32() { return true; }
  static constexpr bool denorm_in_f16_f64() { return true; }
  static constexpr bool denorm_out_f16_f64() { return true; }
  static constexpr bool dx10_clamp() { return true; }
  static constexpr bool ieee() { return true; }
  static constexpr bool fp16_overflow_clamps() { return false; }
};

// Any mode: the bits of the MODE register.
struct RuntimeFloatMode {
  static constexpr bool is_default = false;
  uint32_t mode;

  constexpr Round round_f32() const { return static_cast<Round>(mode & 3); }
  constexpr Round round_f16_f64() const { return static_cast<Round>(mode >> 2 & 3); }
  constexpr bool denorm_in_f32() const { return mode >> 4 & 1; }
  constexpr bool denorm_out_f32() const { return mode >> 5 & 1; }
  constexpr bool denorm_in_f16_f64() const { return mode >> 6 & 1; }
  constexpr bool denorm_out_f16_f64() const { return mode >> 7 & 1; }
  constexpr bool dx10_clamp() const { return mode >> 8 & 1; }
  constexpr bool ieee() const { return mode >> 9 & 1; }
  constexpr bool fp16_overflow_clamps() const { return mode >> 23 & 1; }
};

// MODE bits [9:0] and [23] for which DefaultFloatMode is the same thing.
inline constexpr uint32_t kFloatModeMask = 0x8003ffu;
inline constexpr uint32_t kDefaultFloatMode = 0x3f0u;

}  // namespace lockstep

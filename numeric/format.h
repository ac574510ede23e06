// The three binary formats of the vector ALU as integer layouts, and what needs no arithmetic: classes,
// quieting, flushing.
#pragma once

#include <cstdint>

#include "numeric/float_mode.h"
#include "numeric/lanes.h"

// One rounding an operation, in whatever includes this: a contracted a * b + c would differ between host
// targets.
#pragma clang fp contract(off)

namespace lockstep::numeric {

// A binary interchange format of IEEE 754 with so many fraction bits, in lanes of Bits.
template <class BitsType, class IntType, class WordType, class ScalarType, int fraction>
struct BinaryFormat {
  using Bits = BitsType;
  using Int = IntType;
  using Word = WordType;
  using Scalar = ScalarType;
  static constexpr int kWidth = 8 * sizeof(Word);
  static constexpr int kFraction = fraction;
  static constexpr int kBias = (1 << (kWidth - 2 - fraction)) - 1;
  static constexpr Word kSign = Word(Word{1} << (kWidth - 1));
  static constexpr Word kMagnitude = Word(kSign - 1);
  static constexpr Word kMinNormal = Word(Word{1} << fraction);
  static constexpr Word kInfinity = Word(kSign - kMinNormal);
  static constexpr Word kMaxFinite = Word(kInfinity - 1);
  static constexpr Word kQuiet = Word(kMinNormal >> 1);
  static constexpr Word kOne = Word(Word{kBias} << fraction);
  // What an invalid operation gives (measured: negative, quiet, no payload).
  static constexpr Word kDefaultNan = Word(kSign | kInfinity | kQuiet);
};

// Which fields of MODE rule a format (guide 7.2.4): f16 and f64 share theirs.
struct SingleMode {
  template <class Mode>
  static constexpr Round round(Mode mode) {
    return mode.round_f32();
  }
  template <class Mode>
  static constexpr bool keeps_input_denormals(Mode mode) {
    return mode.denorm_in_f32();
  }
  template <class Mode>
  static constexpr bool keeps_output_denormals(Mode mode) {
    return mode.denorm_out_f32();
  }
};
struct HalfAndDoubleMode {
  template <class Mode>
  static constexpr Round round(Mode mode) {
    return mode.round_f16_f64();
  }
  template <class Mode>
  static constexpr bool keeps_input_denormals(Mode mode) {
    return mode.denorm_in_f16_f64();
  }
  template <class Mode>
  static constexpr bool keeps_output_denormals(Mode mode) {
    return mode.denorm_out_f16_f64();
  }
};

template <class Float>
struct Layout;
template <>
struct Layout<F16> : BinaryFormat<U16, I16, uint16_t, _Float16, 10>, HalfAndDoubleMode {};
template <>
struct Layout<F32> : BinaryFormat<U32, I32, uint32_t, float, 23>, SingleMode {};
template <>
struct Layout<F64> : BinaryFormat<U64, I64, uint64_t, double, 52>, HalfAndDoubleMode {};

template <class Float>
using BitsOf = typename Layout<Float>::Bits;
template <class Float>
using IntOf = typename Layout<Float>::Int;

template <class Float>
LOCKSTEP_INLINE BitsOf<Float> to_bits(Float x) {
  return bits_as<BitsOf<Float>>(x);
}
template <class Float>
LOCKSTEP_INLINE Float splat_bits(typename Layout<Float>::Word word) {
  return bits_as<Float>(BitsOf<Float>(word));
}

// Magnitudes are non-negative as signed integers, which AVX2 compares faster than unsigned ones.
template <class Float>
LOCKSTEP_INLINE IntOf<Float> magnitude(Float x) {
  return bits_as<IntOf<Float>>(to_bits(x) & Layout<Float>::kMagnitude);
}

template <class Float>
LOCKSTEP_INLINE Float abs(Float x) {
  return bits_as<Float>(to_bits(x) & Layout<Float>::kMagnitude);
}
template <class Float>
LOCKSTEP_INLINE Float negate(Float x) {
  return bits_as<Float>(to_bits(x) ^ Layout<Float>::kSign);
}
template <class Float>
LOCKSTEP_INLINE Float copy_sign(Float size, Float sign) {
  return bits_as<Float>((to_bits(size) & Layout<Float>::kMagnitude) | (to_bits(sign) & Layout<Float>::kSign));
}

// Half to single for what compares or rounds the value. LLVM would narrow these operations back to halves,
// which hosts without half arithmetic do lane by lane; masking bits that are zero anyway hides the conversion
// from it.
LOCKSTEP_INLINE F32 widen(F16 x) {
  return bits_as<F32>(bits_as<U32>(convert<F32>(x)) & 0xffffe000u);
}

// Lane-wide classes: 0 or -1 a lane, for use in ?: and & |.
template <class Float>
LOCKSTEP_INLINE IntOf<Float> nan_lanes(Float x) {
  return magnitude(x) > IntOf<Float>(Layout<Float>::kInfinity);
}
template <class Float>
LOCKSTEP_INLINE IntOf<Float> signalling_lanes(Float x) {
  return nan_lanes(x) & ((to_bits(x) & Layout<Float>::kQuiet) == 0);
}
template <class Float>
LOCKSTEP_INLINE IntOf<Float> infinite_lanes(Float x) {
  return magnitude(x) == IntOf<Float>(Layout<Float>::kInfinity);
}
template <class Float>
LOCKSTEP_INLINE IntOf<Float> zero_lanes(Float x) {
  return magnitude(x) == 0;
}
template <class Float>
LOCKSTEP_INLINE IntOf<Float> subnormal_or_zero_lanes(Float x) {
  return magnitude(x) < IntOf<Float>(Layout<Float>::kMinNormal);
}
template <class Float>
LOCKSTEP_INLINE IntOf<Float> negative_lanes(Float x) {
  return bits_as<IntOf<Float>>(x) < 0;
}

template <class Float>
LOCKSTEP_INLINE Mask is_nan(Float x) {
  return mask_of(nan_lanes(x));
}
template <class Float>
LOCKSTEP_INLINE Mask is_snan(Float x) {
  return mask_of(signalling_lanes(x));
}

// Sets the quiet bit of NaN lanes if MODE.IEEE is set; gfx11 leaves signalling NaNs alone otherwise
// (measured).
template <class Float, class Mode>
LOCKSTEP_INLINE Float quiet(Float x, Mode mode) {
  if (!mode.ieee()) return x;
  return bits_as<Float>(nan_lanes(x) ? to_bits(x) | Layout<Float>::kQuiet : to_bits(x));
}

// Denormals to zero of the same sign.
template <class Float>
LOCKSTEP_INLINE Float flush(Float x) {
  return bits_as<Float>(subnormal_or_zero_lanes(x) ? to_bits(x) & Layout<Float>::kSign : to_bits(x));
}
template <class Float, class Mode>
LOCKSTEP_INLINE Float flush_input(Float x, Mode mode) {
  return Layout<Float>::keeps_input_denormals(mode) ? x : flush(x);
}
// Only for results that are exact or cannot have been rounded up to the smallest normal: flushing is decided
// on the value rounded with unbounded exponent (measured).
template <class Float, class Mode>
LOCKSTEP_INLINE Float flush_output(Float x, Mode mode) {
  return Layout<Float>::keeps_output_denormals(mode) ? x : flush(x);
}

// The first NaN in operand order, quieted by mode; lanes without a NaN operand give the default NaN.
template <class Float, class Mode>
LOCKSTEP_INLINE Float first_nan(Float a, Mode mode) {
  return nan_lanes(a) ? quiet(a, mode) : splat_bits<Float>(Layout<Float>::kDefaultNan);
}
template <class Float, class Mode>
LOCKSTEP_INLINE Float first_nan(Float a, Float b, Mode mode) {
  return nan_lanes(a) ? quiet(a, mode) : first_nan(b, mode);
}
template <class Float, class Mode>
LOCKSTEP_INLINE Float first_nan(Float a, Float b, Float c, Mode mode) {
  return nan_lanes(a) ? quiet(a, mode) : first_nan(b, c, mode);
}

// The host quiets a signalling NaN that it narrows; without IEEE it stays as it is (assumed from the
// arithmetic). One whose payload lies in the dropped bits alone would turn into an infinity: it becomes
// quiet.
template <class Wide, class Narrow, class Mode>
LOCKSTEP_INLINE Narrow unquiet_narrowed(Wide source, Narrow narrowed, Mode mode) {
  using L = Layout<Narrow>;
  if (mode.ieee()) return narrowed;
  const BitsOf<Narrow> unquiet = to_bits(narrowed) & ~BitsOf<Narrow>(L::kQuiet);
  const IntOf<Narrow> signalling = convert<IntOf<Narrow>>(signalling_lanes(source));
  const IntOf<Narrow> keeps_payload = (unquiet & (L::kMinNormal - 1)) != 0;
  return bits_as<Narrow>(signalling & keeps_payload ? unquiet : to_bits(narrowed));
}

// The MODE bits that a mode object stands for, to hand to out-of-line functions.
LOCKSTEP_INLINE uint32_t mode_bits(DefaultFloatMode) {
  return kDefaultFloatMode;
}
LOCKSTEP_INLINE uint32_t mode_bits(RuntimeFloatMode mode) {
  return mode.mode;
}

// Whether bodies select the right NaN themselves, without a look whether there is one
// (deferring_float_mode.h).
template <class Mode>
constexpr bool selects_nans = requires { Mode::kSelectsNans; };

// A mode type with defer() (DeferringFloatMode) collects the lanes whose result its user recomputes later;
// with all others, true means: recompute now.
template <class Lanes, class Mode>
LOCKSTEP_INLINE bool recompute_now(Lanes doubtful, Mode mode) {
  if constexpr (requires { mode.defer(I32()); }) {
    mode.defer(convert<I32>(doubtful));
    return false;
  } else {
    return __builtin_expect(any(mask_of(doubtful)), false);
  }
}

// v_cmp_class: bit of the test mask for each class, 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4
// -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +inf. Looks at the encoding: MODE does not matter.
template <class Float>
LOCKSTEP_INLINE Mask class_test(Float x, U32 classes) {
  using L = Layout<Float>;
  using Int = IntOf<Float>;
  const Int size = magnitude(x);
  // Distance from the middle of the list: 0 zero, 1 denormal, 2 normal, 3 infinity.
  Int rank = size >= Int(L::kInfinity)    ? Int(3)
             : size >= Int(L::kMinNormal) ? Int(2)
             : size != 0                  ? Int(1)
                                          : Int(0);
  Int index = negative_lanes(x) ? 5 - rank : 6 + rank;
  index = nan_lanes(x) ? ((to_bits(x) & L::kQuiet) != 0 ? Int(1) : Int(0)) : index;
  const U32 bit = convert<U32>(index);
  return mask_of(((classes >> bit) & 1) != 0);
}

}  // namespace lockstep::numeric

// V_SIN_F32 and V_COS_F32 on chunks (arguments count turns), without regard to MODE but for denormals. They
// give the bits of transcendental_reference.h, whose terms are named there.
#pragma once

#include "numeric/format.h"
#include "numeric/rows.h"
#include "numeric/transcendental_tables.h"

namespace lockstep::numeric {

namespace detail {

// Sixteen rows of the sine, then sixteen of the cosine, over an eighth of a turn. The inner term q + k * f is
// taken from whichever end of a row makes k * distance positive; `k` keeps its sign to tell which.
constexpr Rows<32> sine_cosine_rows() {
  Rows<32> rows{};
  for (unsigned i = 0; i < 32; ++i) {
    const Coefficients& from = i < 16 ? kSineRows[i] : kCosineRows[i - 16];
    rows.set(i, {from.c, static_cast<float>(from.l) * 0x1p-21f,
                 static_cast<float>(-(from.q + (from.k > 0 ? from.k : 0))) * 0x1p7f,
                 static_cast<float>(from.k) * 0x1p-17f});
  }
  return rows;
}
inline constexpr Rows<32> kSineCosineScaled = sine_cosine_rows();

// Positive integers below 2^31 to floats, rounded down.
LOCKSTEP_INLINE F32 float_rounded_down(I32 x) {
  const F32 nearest = convert<F32>(x);
  const I32 above = convert<I32>(nearest) > x;
  return bits_as<F32>(bits_as<I32>(nearest) + above);
}

// The first two rows of the sine, where the result nears zero and keeps more bits the smaller it is.
// `position` counts 2^-31 turns from zero, less one if reflected.
LOCKSTEP_INLINE F32 sine_near_zero(RowChunk row, I32 position, I32 reflected, F32 inner) {
  const I32 v = position & 0xffffff;
  const I32 f = v - reflected;
  const I32 first_row = position < 0x1000000;
  const I32 width = (bits_as<I32>(convert<F32>(f)) >> Layout<F32>::kFraction) - (Layout<F32>::kBias - 1);
  const I32 zero = I32(0);
  const I32 n = first_row ? __builtin_elementwise_max((24 - width) & ~3, zero) : zero;
  const I32 o = first_row ? __builtin_elementwise_max((25 - width) & ~3, zero) : zero;
  const I32 limit = (((v >> 22) + 1) << 20) - 1;
  const I32 second_argument = __builtin_elementwise_min((v + 2) >> 2, limit) << 2;
  const F32 y = convert<F32>(first_row ? f << o : second_argument);
  // The argument is one less where it is reflected and ends with zeros: 25 bits, so that its share of the
  // product is taken off what that lacks as a float.
  const I32 drops_one = first_row & reflected & (((f << n) & 0xfffff) == 0);
  const F32 scaled = row.l * (first_row ? (o == n ? F32(0x1p3f) : F32(0x1p-1f)) : F32(0x1p1f));
  const I32 linear = product_to_whole(scaled, y, drops_one ? scaled : F32(0))
                     << (first_row ? I32(2) : I32(4));
  // Where n is 12 or more the quadratic term is less than half a unit.
  const F32 u = convert<F32>(v >> 7);
  const F32 square = product_rounded_down(u * bits_as<F32>((n + (127 - 10)) << 23), u);
  const I32 quadratic = convert<I32>(product_to_integer(inner * 0x1p-23f, square));
  const I32 sum = (first_row ? zero : row.c << 8) + linear - quadratic;
  return bits_as<F32>(bits_as<I32>(float_rounded_down(sum)) - ((34 + n) << 23));
}

LOCKSTEP_INLINE F32 sine_or_cosine(F32 x, bool cosine, bool keeps_input_denormals,
                                   bool keeps_output_denormals) {
  using L = Layout<F32>;
  const I32 size = magnitude(x);
  constexpr int32_t kNoFraction = 0x4b000000;
  const F32 safe = bits_as<F32>(__builtin_elementwise_min(size, I32(kNoFraction)));
  const I32 phase = convert<I32>((safe - __builtin_elementwise_trunc(safe)) * 0x1p31f);
  const I32 quadrant = phase >> 29;
  const I32 octant_phase = phase & 0x1fffffff;
  const I32 reflected = octant_phase >= 0x10000000;
  // The reflected phase less one, which is what picks the row.
  const I32 position = octant_phase ^ (reflected & 0x1fffffff);
  const I32 odd_quadrant = -(quadrant & 1);
  const I32 cosine_rows = (cosine ? I32(-1) : I32(0)) ^ odd_quadrant ^ reflected;
  const RowChunk row = load_rows(kSineCosineScaled, bits_as<U32>((position >> 24) + (cosine_rows & 16)));

  const I32 v = position & 0xffffff;
  const I32 from_end = row.k > 0.0f;
  const F32 distance = convert<F32>((v ^ (from_end & 0xffffff)) & ~63);
  const F32 inner = row.q + product_to_integer(abs(row.k), distance);
  const F32 y = convert<F32>(__builtin_elementwise_min((v + 8) >> 4, I32(0xfffff)) << 4);
  const I32 linear_size = convert<I32>(product_on_grid(abs(row.l), y, 0x1p23f));
  const I32 linear = row.l < 0.0f ? -linear_size : linear_size;
  const F32 square = square_rounded_down(convert<F32>(v >> 7), 0x1p-10f);
  // (inner * square - bias) / 2^29 rounded up, at least 0, where the bias is half a unit of the product's 24
  // bits. The product needs more bits than a float has: a last look at the exact rest tells whether it was
  // rounded down to an integer.
  const F32 scaled_inner = inner * 0x1p-29f;
  const F32 beyond = __builtin_elementwise_fma(scaled_inner, square, F32(-0x1p18f));
  const F32 bias = beyond >= 0.0f ? F32(0x1p-6f) : F32(0x1p-7f);
  const F32 curve = __builtin_elementwise_ceil(__builtin_elementwise_fma(scaled_inner, square, -bias));
  const I32 missed = __builtin_elementwise_fma(scaled_inner, square, -curve) > bias;
  const I32 quadratic = __builtin_elementwise_max(convert<I32>(curve) - missed, I32(0));
  F32 result = float_rounded_down(row.c * 8 + linear - 2 * quadratic) * 0x1p-29f;

  const I32 near_zero = ~cosine_rows & (position < 0x2000000);
  if (any(mask_of(near_zero))) result = near_zero ? sine_near_zero(row, position, reflected, inner) : result;
  const I32 one = cosine_rows & (position < 46592);
  result = one ? F32(1.0f) : result;
  const I32 exact_zero = ~cosine_rows & (position == 0) & ~reflected;
  result = exact_zero ? F32(0.0f) : result;

  I32 negative = -(quadrant >> 1);
  negative ^= cosine ? odd_quadrant : negative_lanes(x);
  U32 bits = to_bits(result) ^ bits_as<U32>(negative & ~exact_zero & int32_t(L::kSign));

  const int32_t least = cosine ? int32_t{L::kMinNormal} : 0x39c00000;
  const I32 special = bits_as<U32>(size - least) >= static_cast<uint32_t>(kNoFraction - least);
  if (__builtin_expect(any(mask_of(special)), false)) {
    if (cosine) {
      bits = special ? U32(L::kOne) : bits;
    } else {
      // Two pi times the argument; a denormal one by mode.
      const F32 argument = keeps_input_denormals ? x : flush(x);
      const F32 product = argument * 0x1.921faap2f;
      bits = size < least ? to_bits(keeps_output_denormals ? product : flush(product)) : bits;
      bits = size >= kNoFraction ? U32(0) : bits;
    }
    bits = size == int32_t{L::kInfinity} ? U32(L::kDefaultNan) : bits;
    bits = size > int32_t{L::kInfinity} ? to_bits(x) : bits;
  }
  return bits_as<F32>(bits);
}

}  // namespace detail

LOCKSTEP_INLINE F32 sin_f32(F32 x, bool keeps_input_denormals, bool keeps_output_denormals) {
  return detail::sine_or_cosine(x, false, keeps_input_denormals, keeps_output_denormals);
}
LOCKSTEP_INLINE F32 cos_f32(F32 x, bool keeps_input_denormals, bool keeps_output_denormals) {
  return detail::sine_or_cosine(x, true, keeps_input_denormals, keeps_output_denormals);
}

}  // namespace lockstep::numeric

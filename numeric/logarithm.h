// V_LOG_F32 on chunks, without regard to MODE: NaNs come back as they are. It gives the bits of
// transcendental_reference.h, whose terms are named there.
#pragma once

#include "numeric/format.h"
#include "numeric/rows.h"
#include "numeric/transcendental_tables.h"

namespace lockstep::numeric {

namespace detail {

inline constexpr Rows<33> kLogScaled = scaled_rows(kLogRows, 1, 1.0f, 1.0f, 0x1p-22f);
// Arguments between these have rows of their own, with more bits the nearer they are to 1.
inline constexpr int32_t kLogNearOne = 0x3f7c0000, kLogBehindOne = 0x3f840000;

// Of the five rows next to 1, by the lane's side of it and its distance from there. `k` has the sign with
// which it goes into the inner term.
LOCKSTEP_INLINE RowChunk log_rows_near_one(I32 below, I32 distance) {
  const I32 first = distance < 0x10000, second = distance < 0x20000;
  const auto choose = [&](const auto& above, const auto& under) __attribute__((always_inline)) {
    return below ? (second ? under[0] : under[1]) : (first ? above[0] : second ? above[1] : above[2]);
  };
  I32 cs[3], under_cs[2];
  F32 ls[3], qs[3], ks[3], under_ls[2], under_qs[2], under_ks[2];
  for (unsigned i = 0; i < 3; ++i) {
    const Coefficients& row = kLogAboveOneRows[i];
    cs[i] = I32(row.c);
    ls[i] = F32(static_cast<float>(row.l));
    qs[i] = F32(static_cast<float>(row.q));
    ks[i] = F32(static_cast<float>(-row.k) * 0x1p-22f);
  }
  for (unsigned i = 0; i < 2; ++i) {
    const Coefficients& row = kLogBelowOneRows[i];
    under_cs[i] = I32(row.c);
    under_ls[i] = F32(static_cast<float>(row.l));
    under_qs[i] = F32(static_cast<float>(row.q));
    under_ks[i] = F32(static_cast<float>(row.k) * 0x1p-22f);
  }
  return {choose(cs, under_cs), choose(ls, under_ls), choose(qs, under_qs), choose(ks, under_ks)};
}

// Lanes that are not near 1 get anything. In units of 2^-(35 + shift), below 1 of twice that.
LOCKSTEP_INLINE F32 log2_near_one(F32 x) {
  using L = Layout<F32>;
  const I32 offset = bits_as<I32>(x) - int32_t{L::kOne};
  const I32 below = offset < 0;
  const I32 has_row = (offset >= kLogNearOne - int32_t{L::kOne}) &
                      (offset < kLogBehindOne - int32_t{L::kOne}) & (offset != 0);
  const I32 distance = has_row ? (below ? -offset : offset) : I32(1);
  const RowChunk row = log_rows_near_one(below, distance);
  const F32 t = convert<F32>(distance);
  const I32 width = (bits_as<I32>(t) >> L::kFraction) - (L::kBias - 1);
  const I32 shift = __builtin_elementwise_max(18 - width, I32(0)) & ~3;
  const I32 shifted = distance << shift;
  const I32 linear = product_to_whole(row.l, convert<F32>(shifted) * 0x1p-13f);
  const F32 square = product_rounded_down(convert<F32>(shifted) * 0x1p-12f, t);
  const F32 inner = row.q + product_to_integer(row.k, below ? t - 1.0f : t * 2.0f + 1.0f);
  const I32 above_quadratic = convert<I32>(product_on_grid(inner * 0x1p-23f, square, 0x1p23f));
  // Rounded up; a rest is left where the float was rounded down to an integer.
  const F32 scaled_inner = inner * 0x1p-26f;
  const F32 curve = __builtin_elementwise_ceil(scaled_inner * square);
  const I32 missed = __builtin_elementwise_fma(scaled_inner, square, -curve) > 0.0f;
  const I32 below_sum = linear + (convert<I32>(curve) - missed) - row.c;
  const I32 sum = below ? below_sum : row.c + 4 * linear - above_quadratic;
  // Below 1 rounded away from zero; above it rounded down, and one unit more.
  const F32 nearest = convert<F32>(sum);
  const I32 whole = convert<I32>(nearest);
  const I32 raised = below ? whole < sum : whole <= sum;
  const I32 scale = (35 + below + shift) << L::kFraction;
  const I32 result = bits_as<I32>(nearest) - raised - scale;
  return bits_as<F32>(offset == 0 ? I32(0) : result | (below & int32_t(L::kSign)));
}

}  // namespace detail

LOCKSTEP_INLINE F32 log2_f32(F32 x) {
  using L = Layout<F32>;
  const I32 bits = bits_as<I32>(x);
  const U32 d = to_bits(x) & 0x3ffff;
  const U32 interval = (to_bits(x) >> 18) & 31;
  const I32 has_own_row = (interval == 1) & (d >= 0x20000);
  const U32 index = has_own_row ? U32(32) : interval;
  const detail::RowChunk row = detail::load_rows(detail::kLogScaled, index);
  const F32 distance = detail::to_float(d);
  const I32 linear = detail::product_to_whole(row.l, distance * 0x1p-16f);
  const F32 inner = row.q - detail::product_to_integer(row.k, distance * 2.0f + 1.0f);
  const F32 square = detail::square_rounded_down(distance, 0x1p-12f);
  const F32 quadratic = detail::product_on_grid(inner * 0x1p-23f, square, 0x1p23f);
  // The exponent and the upper bits of the fraction are a float, so are the lower ones without the quadratic
  // term: what the sum lacks tells whether it is above the exact one, which is rounded toward minus infinity.
  constexpr int32_t kUpper = ~0x3fff;
  const I32 fraction = row.c + linear;
  const F32 exponent = convert<F32>((magnitude(x) >> L::kFraction) - L::kBias);
  const F32 upper = exponent + convert<F32>(fraction & kUpper) * 0x1p-30f;
  const F32 lower = convert<F32>(fraction & ~kUpper) * 0x1p-30f - quadratic * 0x1p-35f;
  const F32 nearest = upper + lower;
  const I32 above = lower < nearest - upper;
  const I32 downward = bits_as<I32>(nearest) + (above & (bits_as<I32>(nearest) < 0 ? I32(1) : I32(-1)));
  F32 result = bits_as<F32>(downward);
  const I32 is_near_one = (bits >= detail::kLogNearOne) & (bits < detail::kLogBehindOne);
  if (any(mask_of(is_near_one))) result = is_near_one ? detail::log2_near_one(x) : result;
  const I32 special = to_bits(x) - L::kMinNormal >= L::kInfinity - L::kMinNormal;
  if (__builtin_expect(any(mask_of(special)), false)) {
    const I32 size = magnitude(x);
    U32 other = bits < 0 ? U32(L::kDefaultNan) : U32(L::kInfinity);
    other = size < int32_t{L::kMinNormal} ? U32(L::kSign | L::kInfinity) : other;
    other = size > int32_t{L::kInfinity} ? to_bits(x) : other;
    result = special ? bits_as<F32>(other) : result;
  }
  return result;
}

}  // namespace lockstep::numeric

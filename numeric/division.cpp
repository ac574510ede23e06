#include "numeric/division.h"

#include <bit>
#include <cmath>
#include <utility>

namespace lockstep::numeric {
namespace {

using Wide = unsigned __int128;

int bit_length(Wide x) {
  const auto high = static_cast<uint64_t>(x >> 64);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<uint64_t>(x));
}

// x / 2^n; what is lost sets the lowest bit.
Wide shift_right_sticky(Wide x, int n) {
  if (n <= 0) return x;
  if (n >= 128) return x != 0;
  return (x >> n) | ((x & ((Wide{1} << n) - 1)) != 0);
}

// value = significand * 2^exponent
struct Number {
  bool negative;
  Wide significand;
  int exponent;
};

template <class L>
Number decode(typename L::Word word) {
  const int field = static_cast<int>((word & L::kMagnitude) >> L::kFraction);
  const Wide fraction = word & (L::kMinNormal - 1);
  return {(word & L::kSign) != 0, field != 0 ? fraction | L::kMinNormal : fraction,
          (field != 0 ? field : 1) - L::kBias - L::kFraction};
}

// The top bit at bit 124, so that a sum does not overflow and a sticky bit stays far below the last kept one.
void normalize(Number& x) {
  const int shift = 125 - bit_length(x.significand);
  x.significand <<= shift;
  x.exponent -= shift;
}

// a * b + c for finite operands with a non-zero sum.
template <class L>
Number fused_sum(typename L::Word a, typename L::Word b, typename L::Word c) {
  const Number x = decode<L>(a);
  const Number y = decode<L>(b);
  Number product{x.negative != y.negative, x.significand * y.significand, x.exponent + y.exponent};
  Number addend = decode<L>(c);
  if (product.significand == 0) return addend;
  if (addend.significand == 0) return product;
  normalize(product);
  normalize(addend);
  if (product.exponent < addend.exponent) std::swap(product, addend);
  addend.significand = shift_right_sticky(addend.significand, product.exponent - addend.exponent);
  if (product.negative == addend.negative) {
    product.significand += addend.significand;
  } else if (product.significand >= addend.significand) {
    product.significand -= addend.significand;
  } else {
    product.significand = addend.significand - product.significand;
    product.negative = addend.negative;
  }
  return product;
}

// `significand` / 2^drop, rounded.
Wide round_off(Wide significand, int drop, bool negative, Round round) {
  if (drop <= 0) return significand << -drop;
  // Two bits below the last kept one tell all: the half and the sticky bit.
  const Wide quarters = drop >= 2 ? shift_right_sticky(significand, drop - 2) : significand << 1;
  const Wide whole = quarters >> 2;
  const auto rest = static_cast<unsigned>(quarters & 3);
  switch (round) {
    case Round::nearest_even:
      return whole + (rest > 2 || (rest == 2 && (whole & 1)));
    case Round::plus_infinity:
      return whole + (rest != 0 && !negative);
    case Round::minus_infinity:
      return whole + (rest != 0 && negative);
    case Round::to_zero:
      return whole;
  }
  __builtin_unreachable();
}

template <class L>
typename L::Word encode(const Number& x, Round round, bool keeps_denormals) {
  using Word = typename L::Word;
  const Word sign = x.negative ? L::kSign : 0;
  constexpr int kLeastExponent = 1 - L::kBias;
  const int exponent = bit_length(x.significand) - 1 + x.exponent;
  const int drop = bit_length(x.significand) - 1 - L::kFraction;
  Wide rounded = round_off(x.significand, drop, x.negative, round);
  const bool carries = (rounded >> (L::kFraction + 1)) != 0;
  if (exponent + carries < kLeastExponent && !keeps_denormals) return sign;
  Wide word;
  if (exponent < kLeastExponent) {
    word = round_off(x.significand, drop + kLeastExponent - exponent, x.negative, round);
  } else {
    word = (static_cast<Wide>(exponent + L::kBias - 1) << L::kFraction) + rounded;
  }
  if (exponent > 2 * L::kBias || word >= L::kInfinity) {
    const bool to_infinity = round == Round::nearest_even || (round == Round::plus_infinity && !x.negative) ||
                             (round == Round::minus_infinity && x.negative);
    return sign | (to_infinity ? L::kInfinity : L::kMaxFinite);
  }
  return sign | static_cast<Word>(word);
}

template <class Float>
Float div_fmas_of(Float a, Float b, Float c, uint32_t scaled_lanes, uint32_t mode) {
  using L = Layout<Float>;
  using Word = typename L::Word;
  const RuntimeFloatMode m{mode | 0x50u};
  // Right where nothing is scaled, and for NaN, infinity and an exact zero also where it is.
  const Float plain = exact_fma(a, b, c, m.mode);
  auto result = to_bits(plain);
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
    const Word word_a = to_bits(a)[lane];
    const Word word_b = to_bits(b)[lane];
    const Word word_c = to_bits(c)[lane];
    const auto finite = [](Word word) { return (word & L::kMagnitude) < L::kInfinity; };
    if ((scaled_lanes >> lane & 1) == 0 || !finite(word_a) || !finite(word_b) || !finite(word_c)) continue;
    Number sum = fused_sum<L>(word_a, word_b, word_c);
    if (sum.significand == 0) continue;
    constexpr Word kTwo = L::kOne + L::kMinNormal;
    constexpr int kScale = detail::DivisionLimits<Float>::kScale;
    sum.exponent += (word_c & L::kMagnitude) >= kTwo ? kScale : -kScale;
    result[lane] = encode<L>(sum, L::round(m), L::keeps_output_denormals(m));
  }
  return bits_as<Float>(result);
}

// The first 1201 bits of 2/pi after the binary point, most significant first.
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000};
constexpr int kTwoOverPiBits = 1201;

double trig_preop(double x, uint32_t segment) {
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7ff);
  int shift = static_cast<int>(segment & 31) * 53;
  if (exponent > 1077) shift += exponent - 1077;
  uint64_t bits = 0;
  for (int i = shift; i < shift + 53; ++i) {
    const bool bit = i < kTwoOverPiBits && (kTwoOverPi[i / 64] >> (63 - i % 64) & 1);
    bits = bits << 1 | bit;
  }
  const int scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
  // Below the normal numbers the result is truncated.
  const int dropped = -1074 - scale;
  if (dropped >= 53) return 0.0;
  if (dropped > 0) bits = bits >> dropped << dropped;
  return std::ldexp(static_cast<double>(bits), scale);
}

}  // namespace
}  // namespace lockstep::numeric

extern "C" {

void lockstep_exact_div_fmas_f32(const lockstep::F32* a, const lockstep::F32* b, const lockstep::F32* c,
                                 uint32_t scaled_lanes, uint32_t mode, lockstep::F32* result) {
  *result = lockstep::numeric::div_fmas_of(*a, *b, *c, scaled_lanes, mode);
}

void lockstep_exact_div_fmas_f64(const lockstep::F64* a, const lockstep::F64* b, const lockstep::F64* c,
                                 uint32_t scaled_lanes, uint32_t mode, lockstep::F64* result) {
  *result = lockstep::numeric::div_fmas_of(*a, *b, *c, scaled_lanes, mode);
}

void lockstep_exact_trig_preop_f64(const lockstep::F64* x, const lockstep::U32* segment,
                                   lockstep::F64* result) {
  for (unsigned lane = 0; lane < lockstep::kLanesPerChunk; ++lane) {
    (*result)[lane] = lockstep::numeric::trig_preop((*x)[lane], (*segment)[lane]);
  }
}

}  // extern "C"

// Dot products whose operands are used many times, as in the product of matrices: operands are taken apart
// once, and sums of several steps stay taken apart between them. The same bits as chains of dot2_f32_f16 and
// dot2_f32_bf16 of dot.h in the default float mode.
#pragma once

#include "numeric/dot.h"

namespace lockstep::numeric {

namespace detail {

// For both sides of the products: how far significands are shifted to the left, together one more than
// products have to be for the grid.
template <class Operand>
inline constexpr unsigned kLeftShift = __is_same(Operand, F16) ? 2 : 5;
template <class Operand>
inline constexpr unsigned kRightShift = __is_same(Operand, F16) ? 3 : 6;

// Exponents of operands, without bias, of which no product and no sum leaves F32's normal numbers. Halves
// have no others.
inline constexpr int kFactorExponents = 38;
// Of accumulators, as fields: what is below is in no sum but with zeros, and what is above is far from the
// largest.
inline constexpr int kLeastField = 127 - 2 * kFactorExponents - 24, kMostField = 220;

// Exponents of step k are so much larger: it makes up for what the exponent of a sum is counted from.
inline constexpr int kStepBias = 24 + 127;

// Signed halves: low * low + high * high.
LOCKSTEP_INLINE I32 multiply_halves(U32 a, U32 b) {
#if defined(__AVX512BW__)
  using Halves = short __attribute__((vector_size(64)));
  return bits_as<I32>(__builtin_ia32_pmaddwd512(bits_as<Halves>(a), bits_as<Halves>(b)));
#elif defined(__AVX2__)
  using Halves = short __attribute__((vector_size(32)));
  using Half = int32_t __attribute__((ext_vector_type(8)));
  const Half low = bits_as<Half>(__builtin_ia32_pmaddwd256(bits_as<Halves>(a.lo), bits_as<Halves>(b.lo)));
  const Half high = bits_as<Half>(__builtin_ia32_pmaddwd256(bits_as<Halves>(a.hi), bits_as<Halves>(b.hi)));
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  const I32 x = bits_as<I32>(a), y = bits_as<I32>(b);
  return (x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16);
#endif
}

// By any count: hosts do so.
LOCKSTEP_INLINE I32 shift_down(I32 x, I32 drop) {
#if defined(__AVX512F__)
  using Native = int __attribute__((vector_size(64)));
  return bits_as<I32>(__builtin_ia32_psrav16si(bits_as<Native>(x), bits_as<Native>(drop)));
#else
  return x >> bits_as<I32>(__builtin_elementwise_min(bits_as<U32>(drop), U32(31)));
#endif
}
LOCKSTEP_INLINE U32 shift_down(U32 x, I32 drop) {
#if defined(__AVX512F__)
  using Native = int __attribute__((vector_size(64)));
  return bits_as<U32>(__builtin_ia32_psrlv16si(bits_as<Native>(x), bits_as<Native>(drop)));
#else
  return bits_as<U32>(drop) < 32u ? x >> bits_as<U32>(drop) : U32(0);
#endif
}

}  // namespace detail

// Operands of 16 lanes. The low halves are the significand with its sign, the high halves the sign alone, or
// 0 of a zero. So the product of both halves is twice the product in grid units with its sign added, and
// what an arithmetic shift drops of it takes one unit from negative products, as the adder does.
struct DotFactors {
  U32 halves;
  I32 exponent;  // far below all others of a zero
};

enum class DotSide : uint8_t { left, right };

// Both operands of a register.
struct DotFactorPair {
  DotFactors low, high;
};

// Operands are halves (F16) or brain floats (U16), for step `step` of a chain; the left side has the bias of
// F32's exponents. Sets lanes of `special` that have no factors: infinities, NaNs, what is far from 1.
template <class Operand>
LOCKSTEP_INLINE DotFactorPair dot_factors(U32 words, DotSide side, int step, I32& special) {
  using Halves = uint16_t __attribute__((ext_vector_type(32)));
  using SignedHalves = int16_t __attribute__((ext_vector_type(32)));
  constexpr bool kIsHalf = __is_same(Operand, F16);
  constexpr int kFraction = kIsHalf ? 10 : 7, kBias = kIsHalf ? 15 : 127;
  const auto bits = bits_as<Halves>(words);
  const Halves size = bits & 0x7fff, fraction = size & ((1 << kFraction) - 1);
  const auto field = bits_as<SignedHalves>(size >> kFraction);
  const SignedHalves normal = field != 0;
  SignedHalves significand = bits_as<SignedHalves>(fraction) | (normal & (1 << kFraction)), exponent, rare;
  if constexpr (kIsHalf) {
    exponent = __builtin_elementwise_max(field, SignedHalves(1));  // denormals have the least one
    rare = field == 31;
  } else {
    significand &= normal;  // denormals are zeros
    exponent = field;
    rare = normal & (bits_as<Halves>(field - (127 - detail::kFactorExponents)) >
                     uint16_t{2 * detail::kFactorExponents});
  }
  special |= bits_as<I32>(rare);
  const SignedHalves something = significand != 0, negative = bits_as<SignedHalves>(bits) >> 15;
  const int shift = side == DotSide::left ? detail::kLeftShift<Operand> : detail::kRightShift<Operand>;
  const auto factor = bits_as<U32>(((significand << shift) ^ negative) - negative);
  const auto sign = bits_as<U32>((negative | 1) & something);
  const int bias = side == DotSide::left ? 127 - kBias : step * detail::kStepBias - kBias;
  const auto exponents = bits_as<I32>(something ? exponent + static_cast<int16_t>(bias)
                                                : SignedHalves(static_cast<int16_t>(detail::kNoExponent)));
  return {{(factor & 0xffffu) | sign << 16, exponents << 16 >> 16},
          {factor >> 16 | (sign & 0xffff0000u), exponents >> 16}};
}

// Lane `lane` in all lanes. Loads of dwords: for an element of a vector by number compilers store all of it
// first.
LOCKSTEP_INLINE DotFactorPair in_all_lanes(const DotFactorPair& x, unsigned lane) {
  const auto at = [lane](const auto& chunk) __attribute__((always_inline)) {
    return reinterpret_cast<const __attribute__((may_alias)) uint32_t*>(&chunk)[lane];
  };
  return {{U32(at(x.low.halves)), bits_as<I32>(U32(at(x.low.exponent)))},
          {U32(at(x.high.halves)), bits_as<I32>(U32(at(x.high.exponent)))}};
}

// A sum on its way through a chain: a float of which only the exponent is counted from elsewhere.
struct DotChain {
  F32 units;  // the accumulator at the begin, then the last sum in grid units
  I32 sum;    // likewise, before it is rounded
  I32 largest;
  I32 frame;  // the sign bit is the sum's

  // Accumulators that take no part. -0 is one, so that all sums of zero are +0.
  static LOCKSTEP_INLINE I32 is_rare(F32 c) {
    return (to_bits(c) != 0) & ((to_bits(c) << 1 >> 24) - detail::kLeastField >
                                uint32_t{detail::kMostField - detail::kLeastField});
  }
  static LOCKSTEP_INLINE DotChain from(F32 c) {
    return {c, bits_as<I32>(to_bits(c) << 1), I32(0), bits_as<I32>(to_bits(c))};
  }

  // The next two products.
  LOCKSTEP_INLINE void add(const DotFactorPair& a, const DotFactorPair& b) {
    const I32 p = detail::multiply_halves(a.low.halves, b.low.halves),
              q = detail::multiply_halves(a.high.halves, b.high.halves);
    const I32 p_exponent = a.low.exponent + b.low.exponent, q_exponent = a.high.exponent + b.high.exponent;
    const U32 bits = to_bits(units) << 1;
    const I32 exponent = sum == 0 ? I32(4 * detail::kNoExponent) : bits_as<I32>(bits >> 24) + largest;
    const U32 significand = (bits & 0xfffffeu) | 0x1000000u;
    largest = __builtin_elementwise_max(__builtin_elementwise_max(p_exponent, q_exponent), exponent);
    const I32 behind = largest + 1;
    sum = detail::shift_down(frame < 0 ? -p : p, behind - p_exponent) +
          detail::shift_down(frame < 0 ? -q : q, behind - q_exponent) +
          bits_as<I32>(detail::shift_down(significand, largest - exponent));
    frame = sum == 0 ? I32(0) : frame ^ sum;
    units = convert<F32>(sum);
  }
  // Of a chain of `steps`.
  LOCKSTEP_INLINE F32 result(int steps) const {
    const I32 scale = (largest - (24 + (steps - 1) * detail::kStepBias)) << 23;
    const U32 size = to_bits(units * bits_as<F32>(scale)) & ~Layout<F32>::kSign;
    const U32 bits = size | (bits_as<U32>(frame) & Layout<F32>::kSign);
    return bits_as<F32>(sum == 0 ? U32(0) : bits);
  }
};

}  // namespace lockstep::numeric

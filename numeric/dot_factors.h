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

// Lanes of a register of the host: chains of whole chunks would go through memory where that is half of one.
#if defined(__AVX512BW__)
inline constexpr unsigned kChainLanes = 16;
#else
inline constexpr unsigned kChainLanes = 8;
#endif
using ChainI32 = int32_t __attribute__((ext_vector_type(kChainLanes)));
using ChainU32 = uint32_t __attribute__((ext_vector_type(kChainLanes)));
using ChainF32 = float __attribute__((ext_vector_type(kChainLanes)));

// Signed halves: low * low + high * high.
LOCKSTEP_INLINE ChainI32 multiply_halves(ChainU32 a, ChainU32 b) {
  using Halves = short __attribute__((vector_size(sizeof(ChainU32))));
#if defined(__AVX512BW__)
  return bits_as<ChainI32>(__builtin_ia32_pmaddwd512(bits_as<Halves>(a), bits_as<Halves>(b)));
#elif defined(__AVX2__)
  return bits_as<ChainI32>(__builtin_ia32_pmaddwd256(bits_as<Halves>(a), bits_as<Halves>(b)));
#else
  const auto x = bits_as<ChainI32>(a), y = bits_as<ChainI32>(b);
  return (x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16);
#endif
}

// By any count: hosts do so.
LOCKSTEP_INLINE ChainI32 shift_down(ChainI32 x, ChainI32 drop) {
  using Native = int __attribute__((vector_size(sizeof(ChainI32))));
#if defined(__AVX512BW__)
  return bits_as<ChainI32>(__builtin_ia32_psrav16si(bits_as<Native>(x), bits_as<Native>(drop)));
#elif defined(__AVX2__)
  return bits_as<ChainI32>(__builtin_ia32_psrav8si(bits_as<Native>(x), bits_as<Native>(drop)));
#else
  return x >> bits_as<ChainI32>(__builtin_elementwise_min(bits_as<ChainU32>(drop), ChainU32(31)));
#endif
}
LOCKSTEP_INLINE ChainU32 shift_down(ChainU32 x, ChainI32 drop) {
  using Native = int __attribute__((vector_size(sizeof(ChainI32))));
#if defined(__AVX512BW__)
  return bits_as<ChainU32>(__builtin_ia32_psrlv16si(bits_as<Native>(x), bits_as<Native>(drop)));
#elif defined(__AVX2__)
  return bits_as<ChainU32>(__builtin_ia32_psrlv8si(bits_as<Native>(x), bits_as<Native>(drop)));
#else
  return bits_as<ChainU32>(drop) < 32u ? x >> bits_as<ChainU32>(drop) : ChainU32(0);
#endif
}

// -x where `sign` is negative.
LOCKSTEP_INLINE ChainI32 negated_by(ChainI32 x, ChainI32 sign) {
#if defined(__AVX2__) && !defined(__AVX512BW__)
  using Native = int __attribute__((vector_size(sizeof(ChainI32))));
  // The instruction makes zeros for zeros.
  return bits_as<ChainI32>(__builtin_ia32_psignd256(bits_as<Native>(x), bits_as<Native>(sign | 1)));
#else
  return sign < 0 ? -x : x;
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

// Both operands of a register, of the lanes of a chain.
struct DotChainFactors {
  detail::ChainU32 low, high;
  detail::ChainI32 low_exponent, high_exponent;
};
inline constexpr unsigned kChainsInChunk = kLanesPerChunk / detail::kChainLanes;

// Lanes of the chunk's part `part`.
template <class Part, class Chunk>
LOCKSTEP_INLINE Part part_of(const Chunk& chunk, unsigned part) {
  return reinterpret_cast<const __attribute__((may_alias)) Part*>(&chunk)[part];
}
LOCKSTEP_INLINE DotChainFactors part_of(const DotFactorPair& x, unsigned part) {
  using detail::ChainI32, detail::ChainU32;
  return {part_of<ChainU32>(x.low.halves, part), part_of<ChainU32>(x.high.halves, part),
          part_of<ChainI32>(x.low.exponent, part), part_of<ChainI32>(x.high.exponent, part)};
}
// Lane `lane` in all lanes. Loads of dwords: for an element of a vector by number compilers store all of it
// first.
LOCKSTEP_INLINE DotChainFactors in_all_lanes(const DotFactorPair& x, unsigned lane) {
  using detail::ChainI32, detail::ChainU32;
  return {ChainU32(part_of<uint32_t>(x.low.halves, lane)), ChainU32(part_of<uint32_t>(x.high.halves, lane)),
          ChainI32(part_of<int32_t>(x.low.exponent, lane)),
          ChainI32(part_of<int32_t>(x.high.exponent, lane))};
}

// A sum on its way through a chain: a float of which only the exponent is counted from elsewhere.
class DotChain {
  using I = detail::ChainI32;

 public:
  using F = detail::ChainF32;
  using U = detail::ChainU32;

  explicit LOCKSTEP_INLINE DotChain(F c) : units_(c), largest_(0), signed_sum_(bits_as<I>(c)) {}

  // Accumulators that take no part. -0 is one, so that all sums of zero are +0.
  static LOCKSTEP_INLINE I32 is_rare(F32 c) {
    return (to_bits(c) != 0) & ((to_bits(c) << 1 >> 24) - detail::kLeastField >
                                uint32_t{detail::kMostField - detail::kLeastField});
  }

  // The next two products.
  LOCKSTEP_INLINE void add(const DotChainFactors& a, const DotChainFactors& b) {
    const I p = detail::multiply_halves(a.low, b.low), q = detail::multiply_halves(a.high, b.high);
    const I p_exponent = a.low_exponent + b.low_exponent, q_exponent = a.high_exponent + b.high_exponent;
    const U bits = bits_as<U>(units_) << 1;
    const I exponent = bits == 0 ? I(4 * detail::kNoExponent) : bits_as<I>(bits >> 24) + largest_;
    const U significand = (bits & 0xfffffeu) | 0x1000000u;
    largest_ = __builtin_elementwise_max(__builtin_elementwise_max(p_exponent, q_exponent), exponent);
    const I behind = largest_ + 1;
    const I sum = detail::shift_down(detail::negated_by(p, signed_sum_), behind - p_exponent) +
                  detail::shift_down(detail::negated_by(q, signed_sum_), behind - q_exponent) +
                  bits_as<I>(detail::shift_down(significand, largest_ - exponent));
    signed_sum_ = detail::negated_by(sum, signed_sum_);
    units_ = convert<F>(sum);
  }
  // Of a chain of `steps`.
  LOCKSTEP_INLINE F result(int steps) const {
    const I scale = (largest_ - (24 + (steps - 1) * detail::kStepBias)) << 23;
    const U size = bits_as<U>(units_ * bits_as<F>(scale)) & ~Layout<F32>::kSign;
    const U bits = size | (bits_as<U>(signed_sum_) & Layout<F32>::kSign);
    return bits_as<F>(units_ == 0.0f ? U(0) : bits);
  }

 private:
  F units_;  // the accumulator at the begin, then the last sum in grid units, of either sign
  I largest_;
  I signed_sum_;  // the last sum before it was rounded, of which the sign counts
};

}  // namespace lockstep::numeric

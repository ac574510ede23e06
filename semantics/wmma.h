// Wave matrix multiply-accumulate (guide 7.9, 16.10): D = A * B + C for matrices of 16 by 16.
//
// Whole-wave bodies: eval(wave, a, b, c, result, ...), each pointer to the chunks of an operand's registers,
// register by register: chunk n of register r at [r * wave.chunks + n]. All lanes take part and are written,
// whatever EXEC says. `c` and `result` may be the same array.
//
// Layout. A: lane l holds row l % 16, B: column l % 16, both with k running through the registers from the
// low bits up (two halves, four bytes or eight nibbles a register). C and D: lane l holds column l % 16, and
// register r the row r * wave.chunks + l / 16, so that a chunk is a row and all 16 of them stand in order in
// the array, in wave32 and in wave64. 16-bit C and D stand in one half of their registers, which OPSEL[2]
// names; the other half of D is kept. The lanes from 16 up hold copies of A and B; each chunk reads its own
// (open what the hardware does if they differ).
//
// Accumulation: D starts as C and takes one two-element dot product of numeric/dot.h for k = 0, 2, ... 14,
// rounded to the format of D each time (assumed). Integers are summed exactly.
#pragma once

#include <cstring>

#include "numeric/dot.h"
#include "numeric/dot_factors.h"
#include "semantics/cross_lane.h"

namespace lockstep::semantics {

// NEG and NEG_HI: bit 0 and 1 negate the low and high elements of src0 and src1. Bit 2 of NEG negates src2,
// after bit 2 of NEG_HI has taken its absolute value.
struct WmmaModifiers {
  uint8_t neg = 0;
  uint8_t neg_hi = 0;
  bool high = false;  // OPSEL[2]: 16-bit C and D in the high halves
};

namespace wmma {

inline constexpr unsigned kSize = 16;
inline constexpr unsigned kPairs = kSize / 2;  // of elements along k, of which a register holds one

// Sign bits that NEG and NEG_HI flip in a register of packed 16-bit elements of a source.
LOCKSTEP_BODY uint32_t sign_flips(WmmaModifiers modifiers, unsigned source) {
  return (modifiers.neg >> source & 1 ? 0x8000u : 0) | (modifiers.neg_hi >> source & 1 ? 0x80000000u : 0);
}

template <class Bits>
LOCKSTEP_BODY Bits modified_addend(Bits c, uint32_t sign, WmmaModifiers modifiers) {
  if (modifiers.neg_hi >> 2 & 1) c &= ~sign;
  return modifiers.neg >> 2 & 1 ? c ^ sign : c;
}

// One row of D: sum = dot(a low, a high, b low, b high, sum) along k. Operand is F16, or U16 for brain
// floats.
template <class Operand, class Sum, class Dot>
LOCKSTEP_BODY Sum row(WaveView wave, unsigned number, const U32* a, const U32* b, Sum sum,
                      WmmaModifiers modifiers, Dot dot) {
  const uint32_t a_flips = sign_flips(modifiers, 0), b_flips = sign_flips(modifiers, 1);
  for (unsigned pair = 0; pair < kSize / 2; ++pair) {
    const unsigned at = pair * wave.chunks + number % wave.chunks;
    const uint32_t a_word = a[at][number] ^ a_flips;
    const U32 b_words = b[at] ^ b_flips;
    sum = dot(bits_as<Operand>(U16(static_cast<uint16_t>(a_word))),
              bits_as<Operand>(U16(static_cast<uint16_t>(a_word >> 16))),
              bits_as<Operand>(convert<U16>(b_words)), bits_as<Operand>(convert<U16>(b_words >> 16)), sum);
  }
  return sum;
}

// Lane l from chunk l % chunks: the row of A that D's row l is made of.
LOCKSTEP_BODY U32 rows_of_a(WaveView wave, const U32* a) {
  const U32 chunk = lane_numbers() & (wave.chunks - 1);
  U32 rows = a[0];
  for (unsigned i = 1; i < wave.chunks; ++i) rows = chunk == i ? a[i] : rows;
  return rows;
}

// Rows of C, one bit each, with numbers that sums by factors do not take.
LOCKSTEP_BODY uint32_t rare_rows(const U32* c, WmmaModifiers modifiers) {
  uint32_t rows = 0;
  for (unsigned row = 0; row < kSize; ++row) {
    const auto addend = bits_as<F32>(modified_addend(c[row], 0x80000000u, modifiers));
    rows |= uint32_t{any(mask_of(numeric::DotChain::is_rare(addend)))} << row;
  }
  return rows;
}

// The rows from `first` on, each `distance`th, but for those of `rare`, which keep what is there.
LOCKSTEP_BODY void sum_by_factors(const numeric::DotFactorPair* left, const numeric::DotFactorPair* right,
                                  const U32* c, U32* result, WmmaModifiers modifiers, unsigned first,
                                  unsigned distance, uint32_t rare) {
  using Part = numeric::DotChain::F;
  // Several rows at a time: a sum has to wait for the one before. `sums` has so many.
  constexpr unsigned kAtOnce = 4;
  for (unsigned part = 0; part < numeric::kChainsInChunk; ++part) {
    for (unsigned row = first; row < kSize; row += kAtOnce * distance) {
      const auto addend = [=](unsigned i) __attribute__((always_inline)) {
        const auto bits = numeric::part_of<numeric::DotChain::U>(c[row + i * distance], part);
        return numeric::DotChain(bits_as<Part>(modified_addend(bits, 0x80000000u, modifiers)));
      };
      numeric::DotChain sums[kAtOnce] = {addend(0), addend(1), addend(2), addend(3)};
#pragma clang loop unroll(disable)
      for (unsigned pair = 0; pair < kPairs; ++pair) {
        const numeric::DotChainFactors columns = numeric::part_of(right[pair], part);
#pragma clang loop unroll(full)
        for (unsigned i = 0; i < kAtOnce; ++i)
          sums[i].add(numeric::in_all_lanes(left[pair], row + i * distance), columns);
      }
      for (unsigned i = 0; i < kAtOnce; ++i) {
        const unsigned number = row + i * distance;
        if (rare >> number & 1) continue;
        const Part sum = sums[i].result(kPairs);
        std::memcpy(reinterpret_cast<Part*>(result + number) + part, &sum, sizeof(sum));
      }
    }
  }
}

// D in F32, default float mode: operands are taken apart once for all rows. Returns the rows, one bit each,
// that are not done, for a NaN or another rare number in them.
template <class Operand>
LOCKSTEP_BODY uint32_t rows_by_factors(WaveView wave, const U32* a, const U32* b, const U32* c, U32* result,
                                       WmmaModifiers modifiers) {
  const uint32_t a_flips = sign_flips(modifiers, 0), b_flips = sign_flips(modifiers, 1);
  numeric::DotFactorPair left[kPairs], right[kPairs];
  I32 special{};
  U32 differ{};
  for (unsigned pair = 0; pair < kPairs; ++pair) {
    const U32 *as = a + pair * wave.chunks, *bs = b + pair * wave.chunks;
    for (unsigned chunk = 1; chunk < wave.chunks; ++chunk) differ |= bs[0] ^ bs[chunk];
    left[pair] = numeric::dot_factors<Operand>(rows_of_a(wave, as) ^ a_flips, numeric::DotSide::left,
                                               static_cast<int>(pair), special);
  }
  const uint32_t rare = rare_rows(c, modifiers);
  // Rows that read the same copy of B: mostly all, for mostly copies are what they are meant to be.
  const unsigned copies = any(mask_of(bits_as<I32>(differ != 0))) ? wave.chunks : 1;
  uint32_t left_over = 0xffff;
  for (unsigned copy = 0; copy < copies; ++copy) {
    for (unsigned pair = 0; pair < kPairs; ++pair)
      right[pair] = numeric::dot_factors<Operand>(b[pair * wave.chunks + copy] ^ b_flips,
                                                  numeric::DotSide::right, static_cast<int>(pair), special);
    if (any(mask_of(bits_as<I32>(special) != 0))) return left_over | rare;
    sum_by_factors(left, right, c, result, modifiers, copy, copies, rare);
    for (unsigned row = copy; row < kSize; row += copies) left_over &= ~(1u << row);
  }
  return left_over | rare;
}

LOCKSTEP_BODY U16 half_of(U32 word, bool high) {
  return convert<U16>(high ? word >> 16 : word);
}
LOCKSTEP_BODY U32 with_half(U32 word, U16 half, bool high) {
  return high ? (word & 0xffffu) | convert<U32>(half) << 16 : (word & 0xffff0000u) | convert<U32>(half);
}

// The sums of products of a row of integers, exact. Dot is numeric::dot4_i32_iu8 or dot8_i32_iu4.
template <unsigned registers, class Dot>
LOCKSTEP_BODY I32 integer_row(WaveView wave, unsigned number, const U32* a, const U32* b, SignBits is_signed,
                              Dot dot) {
  I32 sum{};
  for (unsigned r = 0; r < registers; ++r) {
    const unsigned at = r * wave.chunks + number % wave.chunks;
    sum = dot(U32(a[at][number]), b[at], sum, is_signed.src0, is_signed.src1, false);
  }
  return sum;
}

}  // namespace wmma

struct v_wmma_f32_16x16x16_f16 {
  template <class Mode>
  LOCKSTEP_BODY void eval(WaveView wave, const U32* a, const U32* b, const U32* c, U32* result,
                          WmmaModifiers modifiers, Mode mode) {
    uint32_t rows = 0xffff;
    if constexpr (Mode::is_default) rows = wmma::rows_by_factors<F16>(wave, a, b, c, result, modifiers);
    for (unsigned row = 0; row < wmma::kSize; ++row) {
      if (!(rows >> row & 1)) continue;
      const F32 addend = bits_as<F32>(wmma::modified_addend(c[row], 0x80000000u, modifiers));
      result[row] = bits_as<U32>(
          wmma::row<F16>(wave, row, a, b, addend, modifiers, [mode](F16 a0, F16 a1, F16 b0, F16 b1, F32 sum) {
            return numeric::dot2_f32_f16(a0, a1, b0, b1, sum, mode);
          }));
    }
  }
};

struct v_wmma_f32_16x16x16_bf16 {
  template <class Mode>
  LOCKSTEP_BODY void eval(WaveView wave, const U32* a, const U32* b, const U32* c, U32* result,
                          WmmaModifiers modifiers, Mode mode) {
    uint32_t rows = 0xffff;
    if constexpr (Mode::is_default) rows = wmma::rows_by_factors<U16>(wave, a, b, c, result, modifiers);
    for (unsigned row = 0; row < wmma::kSize; ++row) {
      if (!(rows >> row & 1)) continue;
      const F32 addend = bits_as<F32>(wmma::modified_addend(c[row], 0x80000000u, modifiers));
      result[row] = bits_as<U32>(
          wmma::row<U16>(wave, row, a, b, addend, modifiers, [mode](U16 a0, U16 a1, U16 b0, U16 b1, F32 sum) {
            return numeric::dot2_f32_bf16(a0, a1, b0, b1, sum, mode);
          }));
    }
  }
};

// `result` comes in with the old destination.
struct v_wmma_f16_16x16x16_f16 {
  template <class Mode>
  LOCKSTEP_BODY void eval(WaveView wave, const U32* a, const U32* b, const U32* c, U32* result,
                          WmmaModifiers modifiers, Mode mode) {
    for (unsigned row = 0; row < wmma::kSize; ++row) {
      const U16 half = wmma::half_of(c[row], modifiers.high);
      const F16 addend = bits_as<F16>(wmma::modified_addend(half, 0x8000u, modifiers));
      const F16 sum =
          wmma::row<F16>(wave, row, a, b, addend, modifiers, [mode](F16 a0, F16 a1, F16 b0, F16 b1, F16 s) {
            return numeric::dot2_f16_f16(a0, a1, b0, b1, s, mode);
          });
      result[row] = wmma::with_half(result[row], bits_as<U16>(sum), modifiers.high);
    }
  }
};

// `result` comes in with the old destination.
struct v_wmma_bf16_16x16x16_bf16 {
  template <class Mode>
  LOCKSTEP_BODY void eval(WaveView wave, const U32* a, const U32* b, const U32* c, U32* result,
                          WmmaModifiers modifiers, Mode mode) {
    for (unsigned row = 0; row < wmma::kSize; ++row) {
      const U16 addend = wmma::modified_addend(wmma::half_of(c[row], modifiers.high), 0x8000u, modifiers);
      const U16 sum =
          wmma::row<U16>(wave, row, a, b, addend, modifiers, [mode](U16 a0, U16 a1, U16 b0, U16 b1, U16 s) {
            return numeric::dot2_bf16_bf16(a0, a1, b0, b1, s, mode);
          });
      result[row] = wmma::with_half(result[row], sum, modifiers.high);
    }
  }
};

struct v_wmma_i32_16x16x16_iu8 {
  LOCKSTEP_BODY void eval(WaveView wave, const U32* a, const U32* b, const U32* c, U32* result,
                          SignBits is_signed) {
    for (unsigned row = 0; row < wmma::kSize; ++row)
      result[row] = bits_as<U32>(products(wave, row, a, b, is_signed)) + c[row];
  }
  LOCKSTEP_BODY void saturated(WaveView wave, const U32* a, const U32* b, const U32* c, U32* result,
                               SignBits is_signed) {
    for (unsigned row = 0; row < wmma::kSize; ++row)
      result[row] = bits_as<U32>(
          __builtin_elementwise_add_sat(products(wave, row, a, b, is_signed), bits_as<I32>(c[row])));
  }
  LOCKSTEP_BODY I32 products(WaveView wave, unsigned row, const U32* a, const U32* b, SignBits is_signed) {
    return wmma::integer_row<4>(wave, row, a, b, is_signed, numeric::dot4_i32_iu8);
  }
};

struct v_wmma_i32_16x16x16_iu4 {
  LOCKSTEP_BODY void eval(WaveView wave, const U32* a, const U32* b, const U32* c, U32* result,
                          SignBits is_signed) {
    for (unsigned row = 0; row < wmma::kSize; ++row)
      result[row] = bits_as<U32>(products(wave, row, a, b, is_signed)) + c[row];
  }
  LOCKSTEP_BODY void saturated(WaveView wave, const U32* a, const U32* b, const U32* c, U32* result,
                               SignBits is_signed) {
    for (unsigned row = 0; row < wmma::kSize; ++row)
      result[row] = bits_as<U32>(
          __builtin_elementwise_add_sat(products(wave, row, a, b, is_signed), bits_as<I32>(c[row])));
  }
  LOCKSTEP_BODY I32 products(WaveView wave, unsigned row, const U32* a, const U32* b, SignBits is_signed) {
    return wmma::integer_row<2>(wave, row, a, b, is_signed, numeric::dot8_i32_iu4);
  }
};

}  // namespace lockstep::semantics

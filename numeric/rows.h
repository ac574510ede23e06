// Piecewise quadratics in vector code: rows of coefficients, and fixed-point arithmetic carried by floats.
//
// The captured rules work in 64-bit integers. Here their 24-bit products live in floats: a product rounded to
// 24 bits is a float multiplication, one rounded on a fixed grid is a fused multiply-add that adds and then
// takes off a power of two.
#pragma once

#include "numeric/format.h"
#include "numeric/host_masks.h"
#include "numeric/transcendental_tables.h"

namespace lockstep::numeric::detail {

// A row with its coefficients scaled as the vector code wants them; 16 bytes, so that a lane loads it at
// once.
struct alignas(16) Row {
  int32_t c;
  float l;
  float q;
  float k;
};
// Twice: by row, and by coefficient for hosts that look sixteen numbers up at once in 32.
inline constexpr unsigned kRowsAtOnce = 32;
template <unsigned count>
struct Rows {
  Row row[count];
  static constexpr unsigned kBlocks = count / kRowsAtOnce;
  struct Block {
    alignas(64) int32_t c[kRowsAtOnce];
    float l[kRowsAtOnce];
    float q[kRowsAtOnce];
    float k[kRowsAtOnce];
  };
  Block block[kBlocks];

  constexpr void set(unsigned i, Row value) {
    row[i] = value;
    if (i / kRowsAtOnce >= kBlocks) return;
    Block& in = block[i / kRowsAtOnce];
    in.c[i % kRowsAtOnce] = value.c;
    in.l[i % kRowsAtOnce] = value.l;
    in.q[i % kRowsAtOnce] = value.q;
    in.k[i % kRowsAtOnce] = value.k;
  }
};
// What is always added to a coefficient may be in the rows: to `c` when it is scaled, to `k` before.
struct AddedToRows {
  uint32_t c = 0;
  float k = 0;
};
// `c` is taken modulo 2^32. `turn`: which bits of an index are inverted where rows are looked up.
template <unsigned count>
constexpr Rows<count> scaled_rows(const Coefficients (&from)[count], uint32_t c, float l, float q, float k,
                                  AddedToRows added = {}, unsigned turn = 0) {
  Rows<count> rows{};
  for (unsigned i = 0; i < count; ++i)
    rows.set(i ^ turn, {static_cast<int32_t>(static_cast<uint32_t>(from[i].c) * c + added.c),
                        static_cast<float>(from[i].l) * l, static_cast<float>(from[i].q) * q,
                        (static_cast<float>(from[i].k) + added.k) * k});
  return rows;
}

struct RowChunk {
  I32 c;
  F32 l;
  F32 q;
  F32 k;
};

using I32x4 = int32_t __attribute__((ext_vector_type(4)));
using U64x8 = uint64_t __attribute__((ext_vector_type(8)));
using I32x8 = int32_t __attribute__((ext_vector_type(8)));

// Four by four transposition in both halves of eight lanes.
struct RowsOfEight {
  I32x8 c, l, q, k;
};
LOCKSTEP_INLINE RowsOfEight transpose_rows(I32x4 r0, I32x4 r1, I32x4 r2, I32x4 r3, I32x4 r4, I32x4 r5,
                                           I32x4 r6, I32x4 r7) {
  const I32x8 a = __builtin_shufflevector(r0, r4, 0, 1, 2, 3, 4, 5, 6, 7);
  const I32x8 b = __builtin_shufflevector(r1, r5, 0, 1, 2, 3, 4, 5, 6, 7);
  const I32x8 c = __builtin_shufflevector(r2, r6, 0, 1, 2, 3, 4, 5, 6, 7);
  const I32x8 d = __builtin_shufflevector(r3, r7, 0, 1, 2, 3, 4, 5, 6, 7);
  const I32x8 ab_low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
  const I32x8 ab_high = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  const I32x8 cd_low = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
  const I32x8 cd_high = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
  return {__builtin_shufflevector(ab_low, cd_low, 0, 1, 8, 9, 4, 5, 12, 13),
          __builtin_shufflevector(ab_low, cd_low, 2, 3, 10, 11, 6, 7, 14, 15),
          __builtin_shufflevector(ab_high, cd_high, 0, 1, 8, 9, 4, 5, 12, 13),
          __builtin_shufflevector(ab_high, cd_high, 2, 3, 10, 11, 6, 7, 14, 15)};
}
LOCKSTEP_INLINE I32 join_eights(I32x8 low, I32x8 high) {
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// `offset`: in bytes.
template <unsigned count>
LOCKSTEP_INLINE RowChunk rows_at(const Rows<count>& table, U32 offset) {
  const char* const start = reinterpret_cast<const char*>(&table.row);
  const auto at = [&](unsigned lane) __attribute__((always_inline)) {
    I32x4 four;
    const uint64_t pair = bits_as<U64x8>(offset)[lane / 2];
    __builtin_memcpy(&four, start + (lane % 2 ? pair >> 32 : pair & 0xffffffff), sizeof(four));
    return four;
  };
  const RowsOfEight low = transpose_rows(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
  const RowsOfEight high = transpose_rows(at(8), at(9), at(10), at(11), at(12), at(13), at(14), at(15));
  return {join_eights(low.c, high.c), bits_as<F32>(join_eights(low.l, high.l)),
          bits_as<F32>(join_eights(low.q, high.q)), bits_as<F32>(join_eights(low.k, high.k))};
}
template <unsigned count>
LOCKSTEP_INLINE RowChunk rows_by_loads(const Rows<count>& table, U32 index) {
  return rows_at(table, index * unsigned{sizeof(Row)});
}

#ifdef __AVX512F__
// The host's permutation of two registers, which takes the five low bits of each index.
template <class Column>
LOCKSTEP_INLINE I32 looked_up(const Column& column, U32 index) {
  using Host = int __attribute__((vector_size(64)));
  Host low, high;
  __builtin_memcpy(&low, &column[0], sizeof low);
  __builtin_memcpy(&high, &column[kRowsAtOnce / 2], sizeof high);
  return bits_as<I32>(__builtin_ia32_vpermi2vard512(low, bits_as<Host>(index), high));
}

template <unsigned count>
LOCKSTEP_INLINE RowChunk rows_by_permutes(const Rows<count>& table, U32 index) {
  const auto in_block = [&](unsigned i) __attribute__((always_inline)) -> RowChunk {
    const auto& block = table.block[i];
    return {looked_up(block.c, index), bits_as<F32>(looked_up(block.l, index)),
            bits_as<F32>(looked_up(block.q, index)), bits_as<F32>(looked_up(block.k, index))};
  };
  RowChunk rows = in_block(0);
  const auto choose = [&](I32 lanes, const RowChunk& other) __attribute__((always_inline)) {
    rows = {lanes ? other.c : rows.c, lanes ? other.l : rows.l, lanes ? other.q : rows.q,
            lanes ? other.k : rows.k};
  };
  for (unsigned i = 1; i < Rows<count>::kBlocks; ++i) choose(index >= i * kRowsAtOnce, in_block(i));
  for (unsigned i = Rows<count>::kBlocks * kRowsAtOnce; i < count; ++i) {
    const Row& row = table.row[i];
    choose(index == i, {I32(row.c), F32(row.l), F32(row.q), F32(row.k)});
  }
  return rows;
}
#else
// Never called, but code that is not optimised names it.
template <unsigned count>
LOCKSTEP_INLINE RowChunk rows_by_permutes(const Rows<count>& table, U32 index) {
  return rows_by_loads(table, index);
}
#endif

template <unsigned count>
LOCKSTEP_INLINE RowChunk load_rows(const Rows<count>& table, U32 index) {
  return host_has_masks() ? rows_by_permutes(table, index) : rows_by_loads(table, index);
}
// By the bits of a number from this one on, as many as the table has rows.
template <unsigned first_bit, unsigned count>
LOCKSTEP_INLINE RowChunk load_rows_by_bits(const Rows<count>& table, U32 bits) {
  static_assert((count & (count - 1)) == 0);
  // Permutations look at no more bits of an index than they have numbers.
  if (host_has_masks())
    return rows_by_permutes(table,
                            count == kRowsAtOnce ? bits >> first_bit : (bits >> first_bit) & (count - 1));
  constexpr unsigned kSizeBits = 4;
  static_assert(sizeof(Row) == 1 << kSizeBits);
  return rows_at(table, (bits >> (first_bit - kSizeBits)) & ((count - 1) << kSizeBits));
}

LOCKSTEP_INLINE F32 to_float(U32 x) {
  return convert<F32>(bits_as<I32>(x));
}

// a * b to 24 significant bits, but to no finer grid than that of `grid`, a power of two with the unit as its
// last bit. Of products that are not negative; the other one of those that are not positive.
LOCKSTEP_INLINE F32 product_on_grid(F32 a, F32 b, float grid) {
  const F32 product = a * b;
  return product < grid ? __builtin_elementwise_fma(a, b, F32(grid)) - grid : product;
}
LOCKSTEP_INLINE F32 negative_product_on_grid(F32 a, F32 b, float grid) {
  const F32 product = a * b;
  return product > -grid ? __builtin_elementwise_fma(a, b, F32(-grid)) + grid : product;
}
// a * b to the nearest integer, for products below 2^22.
LOCKSTEP_INLINE F32 product_to_integer(F32 a, F32 b) {
  return __builtin_elementwise_fma(a, b, F32(0x1.8p23f)) - 0x1.8p23f;
}
// a * b rounded down to an integer below 2^24.
LOCKSTEP_INLINE F32 product_rounded_down(F32 a, F32 b) {
  const F32 whole = __builtin_elementwise_trunc(a * b);
  const F32 rest = __builtin_elementwise_fma(a, b, -whole);
  return rest < 0.0f ? whole - 1.0f : whole;
}
// a * b - less likewise, below 2^30, where it has more bits than a float.
LOCKSTEP_INLINE I32 product_to_whole(F32 a, F32 b, F32 less = F32(0.0f)) {
  const F32 most = __builtin_elementwise_trunc(a * b);
  const F32 lacks = __builtin_elementwise_floor(__builtin_elementwise_fma(a, b, -most) - less);
  return convert<I32>(most) + convert<I32>(lacks);
}
// a * a * scale rounded down; scale is a power of two.
LOCKSTEP_INLINE F32 square_rounded_down(F32 a, float scale) {
  return product_rounded_down(a * scale, a);
}

}  // namespace lockstep::numeric::detail

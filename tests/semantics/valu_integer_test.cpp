// Integer and bit bodies of VOP1, VOP2, VOP3 and VOP3SD against scalar formulas in 128-bit integers and bit
// loops.
#include <algorithm>

#include "semantics/vop1_integer.h"
#include "semantics/vop2_integer.h"
#include "semantics/vop3_bits.h"
#include "semantics/vop3_int16.h"
#include "semantics/vop3_integer.h"
#include "semantics/vop3_sad.h"
#include "valu_driver.h"

namespace lockstep::semantics {
namespace {

using testing::Expected;
using testing::Operands;
using testing::verify;
using Wide = __int128;

Wide i16(uint64_t v) {
  return static_cast<int16_t>(v);
}
Wide i24(uint64_t v) {
  return (v & 0x800000) ? Wide(v & 0xffffff) - 0x1000000 : Wide(v & 0xffffff);
}
Wide u24(uint64_t v) {
  return v & 0xffffff;
}
Wide i32(uint64_t v) {
  return static_cast<int32_t>(v);
}
Wide i64(uint64_t v) {
  return static_cast<int64_t>(v);
}
Wide clamp_signed(Wide v, unsigned bits) {
  const Wide limit = Wide(1) << (bits - 1);
  return std::clamp(v, -limit, limit - 1);
}
Wide clamp_unsigned(Wide v, unsigned bits) {
  return std::clamp(v, Wide(0), (Wide(1) << bits) - 1);
}
unsigned byte(uint64_t v, unsigned index) {
  return v >> (8 * index) & 0xff;
}

#define EVAL(name, expression) verify(#name, &name::eval, [](Operands s) -> Expected { return expression; })
#define CLAMPED(name, expression) \
  verify(#name " clamp", &name::saturated, [](Operands s) -> Expected { return expression; })

uint64_t reversed(uint64_t v) {
  uint64_t result = 0;
  for (int i = 0; i < 32; ++i) result |= (v >> i & 1) << (31 - i);
  return result;
}
int first_one_from_top(uint64_t v) {
  for (int i = 0; i < 32; ++i)
    if (v >> (31 - i) & 1) return i;
  return -1;
}
int first_one_from_bottom(uint64_t v) {
  for (int i = 0; i < 32; ++i)
    if (v >> i & 1) return i;
  return -1;
}
int first_unlike_sign(uint64_t v) {
  for (int i = 1; i < 32; ++i)
    if ((v >> (31 - i) & 1) != (v >> 31 & 1)) return i;
  return -1;
}

TEST(ValuInteger, Vop1) {
  EVAL(v_mov_b32, s[0]);
  EVAL(v_mov_b16, s[0]);
  EVAL(v_not_b32, ~s[0]);
  EVAL(v_not_b16, ~s[0]);
  EVAL(v_bfrev_b32, reversed(s[0]));
  EVAL(v_clz_i32_u32, first_one_from_top(s[0]));
  EVAL(v_ctz_i32_b32, first_one_from_bottom(s[0]));
  EVAL(v_cls_i32, first_unlike_sign(s[0]));
  EVAL(v_cvt_i32_i16, i16(s[0]));
  EVAL(v_cvt_u32_u16, s[0]);
  EVAL(v_sat_pk_u8_i16, clamp_unsigned(i16(s[0]), 8) | clamp_unsigned(i16(s[0] >> 16), 8) << 8);
}

TEST(ValuInteger, CountsOfEverySingleBitAndNeighbours) {
  for (unsigned bit = 0; bit < 32; ++bit)
    for (uint32_t value : {1u << bit, (1u << bit) - 1, (1u << bit) + 1, ~(1u << bit), 3u << bit}) {
      EXPECT_EQ(v_clz_i32_u32::eval(U32(value))[3], first_one_from_top(value)) << value;
      EXPECT_EQ(v_ctz_i32_b32::eval(U32(value))[3], first_one_from_bottom(value)) << value;
      EXPECT_EQ(v_cls_i32::eval(bits_as<I32>(U32(value)))[3], first_unlike_sign(value)) << value;
      EXPECT_EQ(v_bcnt_u32_b32::eval(U32(value), U32(0))[3], unsigned(__builtin_popcount(value))) << value;
    }
}

TEST(ValuInteger, Vop2) {
  EVAL(v_cndmask_b32, s[2] ? s[1] : s[0]);
  EVAL(v_mul_u32_u24, u24(s[0]) * u24(s[1]));
  EVAL(v_mul_i32_i24, i24(s[0]) * i24(s[1]));
  EVAL(v_mul_hi_u32_u24, u24(s[0]) * u24(s[1]) >> 32);
  EVAL(v_mul_hi_i32_i24, i24(s[0]) * i24(s[1]) >> 32);
  CLAMPED(v_mul_u32_u24, clamp_unsigned(u24(s[0]) * u24(s[1]), 32));
  CLAMPED(v_mul_i32_i24, clamp_signed(i24(s[0]) * i24(s[1]), 32));
  EVAL(v_min_i32, std::min(i32(s[0]), i32(s[1])));
  EVAL(v_max_i32, std::max(i32(s[0]), i32(s[1])));
  EVAL(v_min_u32, std::min(s[0], s[1]));
  EVAL(v_max_u32, std::max(s[0], s[1]));
  EVAL(v_lshlrev_b32, s[1] << s[0] % 32);
  EVAL(v_lshrrev_b32, s[1] >> s[0] % 32);
  EVAL(v_ashrrev_i32, i32(s[1]) >> s[0] % 32);
  EVAL(v_and_b32, s[0] & s[1]);
  EVAL(v_or_b32, s[0] | s[1]);
  EVAL(v_xor_b32, s[0] ^ s[1]);
  EVAL(v_xnor_b32, ~(s[0] ^ s[1]));
  EVAL(v_add_nc_u32, s[0] + s[1]);
  EVAL(v_sub_nc_u32, s[0] - s[1]);
  EVAL(v_subrev_nc_u32, s[1] - s[0]);
  CLAMPED(v_add_nc_u32, clamp_unsigned(Wide(s[0]) + s[1], 32));
  CLAMPED(v_sub_nc_u32, clamp_unsigned(Wide(s[0]) - s[1], 32));
  CLAMPED(v_subrev_nc_u32, clamp_unsigned(Wide(s[1]) - s[0], 32));
}

Expected carry_of(Wide exact, bool clamp) {
  return {clamp ? clamp_unsigned(exact, 32) : exact, exact < 0 || exact >> 32 != 0};
}

TEST(ValuInteger, Carries) {
  EVAL(v_add_co_ci_u32, carry_of(Wide(s[0]) + s[1] + s[2], false));
  EVAL(v_sub_co_ci_u32, carry_of(Wide(s[0]) - s[1] - s[2], false));
  EVAL(v_subrev_co_ci_u32, carry_of(Wide(s[1]) - s[0] - s[2], false));
  CLAMPED(v_add_co_ci_u32, carry_of(Wide(s[0]) + s[1] + s[2], true));
  CLAMPED(v_sub_co_ci_u32, carry_of(Wide(s[0]) - s[1] - s[2], true));
  CLAMPED(v_subrev_co_ci_u32, carry_of(Wide(s[1]) - s[0] - s[2], true));
  EVAL(v_add_co_u32, carry_of(Wide(s[0]) + s[1], false));
  EVAL(v_sub_co_u32, carry_of(Wide(s[0]) - s[1], false));
  EVAL(v_subrev_co_u32, carry_of(Wide(s[1]) - s[0], false));
  CLAMPED(v_add_co_u32, carry_of(Wide(s[0]) + s[1], true));
  CLAMPED(v_sub_co_u32, carry_of(Wide(s[0]) - s[1], true));
  CLAMPED(v_subrev_co_u32, carry_of(Wide(s[1]) - s[0], true));
}

TEST(ValuInteger, WideMultiplyAdd) {
  EVAL(v_mad_u64_u32, Expected(Wide(s[0]) * s[1] + s[2], (Wide(s[0]) * s[1] + s[2]) >> 64 & 1));
  EVAL(v_mad_i64_i32,
       Expected(i32(s[0]) * i32(s[1]) + i64(s[2]), (i32(s[0]) * i32(s[1]) + i64(s[2])) >> 64 & 1));
  CLAMPED(v_mad_u64_u32,
          Expected(clamp_unsigned(Wide(s[0]) * s[1] + s[2], 64), (Wide(s[0]) * s[1] + s[2]) >> 64 & 1));
  CLAMPED(v_mad_i64_i32, Expected(clamp_signed(i32(s[0]) * i32(s[1]) + i64(s[2]), 64),
                                  (i32(s[0]) * i32(s[1]) + i64(s[2])) >> 64 & 1));
}

TEST(ValuInteger, Vop3) {
  EVAL(v_mul_lo_u32, s[0] * s[1]);
  EVAL(v_mul_hi_u32, s[0] * s[1] >> 32);
  EVAL(v_mul_hi_i32, i32(s[0]) * i32(s[1]) >> 32);
  EVAL(v_mad_u32_u24, u24(s[0]) * u24(s[1]) + s[2]);
  EVAL(v_mad_i32_i24, i24(s[0]) * i24(s[1]) + i32(s[2]));
  EVAL(v_mad_u32_u16, s[0] * s[1] + s[2]);
  EVAL(v_mad_i32_i16, i16(s[0]) * i16(s[1]) + i32(s[2]));
  CLAMPED(v_mad_u32_u24, clamp_unsigned(u24(s[0]) * u24(s[1]) + s[2], 32));
  CLAMPED(v_mad_i32_i24, clamp_signed(i24(s[0]) * i24(s[1]) + i32(s[2]), 32));
  CLAMPED(v_mad_u32_u16, clamp_unsigned(Wide(s[0]) * s[1] + s[2], 32));
  CLAMPED(v_mad_i32_i16, clamp_signed(i16(s[0]) * i16(s[1]) + i32(s[2]), 32));
  EVAL(v_add_nc_i32, s[0] + s[1]);
  EVAL(v_sub_nc_i32, s[0] - s[1]);
  CLAMPED(v_add_nc_i32, clamp_signed(i32(s[0]) + i32(s[1]), 32));
  CLAMPED(v_sub_nc_i32, clamp_signed(i32(s[0]) - i32(s[1]), 32));
  EVAL(v_add3_u32, s[0] + s[1] + s[2]);
  EVAL(v_xad_u32, (s[0] ^ s[1]) + s[2]);
  EVAL(v_lshl_add_u32, (s[0] << s[1] % 32) + s[2]);
  EVAL(v_add_lshl_u32, (s[0] + s[1]) << s[2] % 32);
  EVAL(v_cvt_pk_u16_u32, std::min<uint64_t>(s[0], 0xffff) | std::min<uint64_t>(s[1], 0xffff) << 16);
  EVAL(v_cvt_pk_i16_i32, (clamp_signed(i32(s[0]), 16) & 0xffff) | (clamp_signed(i32(s[1]), 16) & 0xffff)
                                                                      << 16);
}

Wide median(Wide a, Wide b, Wide c) {
  Wide sorted[] = {a, b, c};
  std::sort(sorted, sorted + 3);
  return sorted[1];
}

TEST(ValuInteger, SelectionOfThree) {
  EVAL(v_min3_i32, std::min({i32(s[0]), i32(s[1]), i32(s[2])}));
  EVAL(v_max3_i32, std::max({i32(s[0]), i32(s[1]), i32(s[2])}));
  EVAL(v_med3_i32, median(i32(s[0]), i32(s[1]), i32(s[2])));
  EVAL(v_min3_u32, std::min({s[0], s[1], s[2]}));
  EVAL(v_max3_u32, std::max({s[0], s[1], s[2]}));
  EVAL(v_med3_u32, median(s[0], s[1], s[2]));
  EVAL(v_maxmin_i32, std::min(std::max(i32(s[0]), i32(s[1])), i32(s[2])));
  EVAL(v_minmax_i32, std::max(std::min(i32(s[0]), i32(s[1])), i32(s[2])));
  EVAL(v_maxmin_u32, std::min(std::max(s[0], s[1]), s[2]));
  EVAL(v_minmax_u32, std::max(std::min(s[0], s[1]), s[2]));
  EVAL(v_min3_i16, std::min({i16(s[0]), i16(s[1]), i16(s[2])}));
  EVAL(v_max3_i16, std::max({i16(s[0]), i16(s[1]), i16(s[2])}));
  EVAL(v_med3_i16, median(i16(s[0]), i16(s[1]), i16(s[2])));
  EVAL(v_min3_u16, std::min({s[0], s[1], s[2]}));
  EVAL(v_max3_u16, std::max({s[0], s[1], s[2]}));
  EVAL(v_med3_u16, median(s[0], s[1], s[2]));
}

TEST(ValuInteger, SixteenBit) {
  EVAL(v_add_nc_u16, s[0] + s[1]);
  EVAL(v_sub_nc_u16, s[0] - s[1]);
  EVAL(v_add_nc_i16, s[0] + s[1]);
  EVAL(v_sub_nc_i16, s[0] - s[1]);
  EVAL(v_mul_lo_u16, s[0] * s[1]);
  EVAL(v_mad_u16, s[0] * s[1] + s[2]);
  EVAL(v_mad_i16, i16(s[0]) * i16(s[1]) + i16(s[2]));
  CLAMPED(v_add_nc_u16, clamp_unsigned(Wide(s[0]) + s[1], 16));
  CLAMPED(v_sub_nc_u16, clamp_unsigned(Wide(s[0]) - s[1], 16));
  CLAMPED(v_add_nc_i16, clamp_signed(i16(s[0]) + i16(s[1]), 16));
  CLAMPED(v_sub_nc_i16, clamp_signed(i16(s[0]) - i16(s[1]), 16));
  CLAMPED(v_mul_lo_u16, clamp_unsigned(Wide(s[0]) * s[1], 16));
  CLAMPED(v_mad_u16, clamp_unsigned(Wide(s[0]) * s[1] + s[2], 16));
  CLAMPED(v_mad_i16, clamp_signed(i16(s[0]) * i16(s[1]) + i16(s[2]), 16));
  EVAL(v_min_u16, std::min(s[0], s[1]));
  EVAL(v_max_u16, std::max(s[0], s[1]));
  EVAL(v_min_i16, std::min(i16(s[0]), i16(s[1])));
  EVAL(v_max_i16, std::max(i16(s[0]), i16(s[1])));
  EVAL(v_lshlrev_b16, s[1] << s[0] % 16);
  EVAL(v_lshrrev_b16, s[1] >> s[0] % 16);
  EVAL(v_ashrrev_i16, i16(s[1]) >> s[0] % 16);
  EVAL(v_and_b16, s[0] & s[1]);
  EVAL(v_or_b16, s[0] | s[1]);
  EVAL(v_xor_b16, s[0] ^ s[1]);
  EVAL(v_cndmask_b16, s[2] ? s[1] : s[0]);
}

uint64_t field(uint64_t v, uint64_t offset, uint64_t width, bool is_signed) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 32; ++i) {
    // Beyond the field: zero, or its highest bit. Beyond the word: zero, or the sign.
    unsigned bit = i;
    if (bit >= width % 32) {
      if (!is_signed || width % 32 == 0) continue;
      bit = width % 32 - 1;
    }
    bit += offset % 32;
    if (bit > 31) {
      if (!is_signed) continue;
      bit = 31;
    }
    result |= (v >> bit & 1) << i;
  }
  return result;
}
uint64_t permuted(uint64_t high, uint64_t low, uint64_t selectors) {
  const uint64_t data = high << 32 | low;
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned selector = byte(selectors, i);
    unsigned picked = 0xff;
    if (selector < 8)
      picked = byte(data, selector);
    else if (selector < 12)
      picked = byte(data, (selector - 8) * 2 + 1) & 0x80 ? 0xff : 0;
    else if (selector == 12)
      picked = 0;
    result |= uint64_t(picked) << (8 * i);
  }
  return result;
}

TEST(ValuInteger, Bits) {
  EVAL(v_lshlrev_b64, s[1] << s[0] % 64);
  EVAL(v_lshrrev_b64, s[1] >> s[0] % 64);
  EVAL(v_ashrrev_i64, i64(s[1]) >> s[0] % 64);
  EVAL(v_xor3_b32, s[0] ^ s[1] ^ s[2]);
  EVAL(v_or3_b32, s[0] | s[1] | s[2]);
  EVAL(v_and_or_b32, (s[0] & s[1]) | s[2]);
  EVAL(v_lshl_or_b32, s[0] << s[1] % 32 | s[2]);
  EVAL(v_bfe_u32, field(s[0], s[1], s[2], false));
  EVAL(v_bfe_i32, field(s[0], s[1], s[2], true));
  EVAL(v_bfi_b32, (s[0] & s[1]) | (~s[0] & s[2]));
  EVAL(v_bfm_b32, ((1ull << s[0] % 32) - 1) << s[1] % 32);
  EVAL(v_alignbit_b32, (s[0] << 32 | s[1]) >> s[2] % 32);
  EVAL(v_alignbyte_b32, (s[0] << 32 | s[1]) >> 8 * (s[2] % 4));
  EVAL(v_perm_b32, permuted(s[0], s[1], s[2]));
  EVAL(v_bcnt_u32_b32, __builtin_popcountll(s[0]) + s[1]);
}

TEST(ValuInteger, PermuteSelectorsInEveryByte) {
  const uint32_t high = 0x80a1b2c3, low = 0x7fe45566;
  for (unsigned selector = 0; selector < 256; ++selector)
    for (unsigned position = 0; position < 4; ++position) {
      const uint32_t selectors = selector << (8 * position) | (position == 0 ? 0x03020100 & ~0xff : 0);
      EXPECT_EQ(v_perm_b32::eval(U32(high), U32(low), U32(selectors))[7], permuted(high, low, selectors))
          << selectors;
    }
}

TEST(ValuInteger, MaskedBitCountOfEveryLane) {
  for (uint32_t mask : {0u, 1u, 0xffffffffu, 0x80000000u, 0xdeadbeefu, 0x13579bdfu})
    for (unsigned base = 0; base < 64; base += kLanesPerChunk) {
      U32 index;
      for (unsigned i = 0; i < kLanesPerChunk; ++i) index[i] = base + i;
      const U32 low = v_mbcnt_lo_u32_b32::eval(U32(mask), U32(5), Lanes{index});
      const U32 high = v_mbcnt_hi_u32_b32::eval(U32(mask), U32(5), Lanes{index});
      for (unsigned i = 0; i < kLanesPerChunk; ++i) {
        unsigned below_low = 5, below_high = 5;
        for (unsigned bit = 0; bit < 64 && bit < base + i; ++bit)
          (bit < 32 ? below_low : below_high) += mask >> bit % 32 & 1;
        EXPECT_EQ(low[i], below_low) << base + i;
        EXPECT_EQ(high[i], below_high) << base + i;
      }
    }
}

Wide sad(uint64_t a, uint64_t b, bool masked) {
  Wide sum = 0;
  for (unsigned i = 0; i < 4; ++i)
    if (!masked || byte(b, i)) sum += std::abs(int(byte(a, i)) - int(byte(b, i)));
  return sum;
}
Wide sad16(uint64_t a, uint64_t b) {
  return std::abs(int(a & 0xffff) - int(b & 0xffff)) + std::abs(int(a >> 16) - int(b >> 16));
}
uint64_t quad_sad(uint64_t a, uint64_t b, uint64_t c, bool masked, bool clamp) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    Wide sum = sad(a >> (8 * i), b, masked) + (c >> (16 * i) & 0xffff);
    if (clamp) sum = clamp_unsigned(sum, 16);
    result |= uint64_t(sum & 0xffff) << (16 * i);
  }
  return result;
}
uint64_t lerp(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= uint64_t((byte(a, i) + byte(b, i) + (byte(c, i) & 1)) / 2) << (8 * i);
  return result;
}

TEST(ValuInteger, SumsOfAbsoluteDifferences) {
  EVAL(v_lerp_u8, lerp(s[0], s[1], s[2]));
  EVAL(v_sad_u8, sad(s[0], s[1], false) + s[2]);
  EVAL(v_sad_hi_u8, (sad(s[0], s[1], false) << 16) + s[2]);
  EVAL(v_sad_u16, sad16(s[0], s[1]) + s[2]);
  EVAL(v_sad_u32, std::max(s[0], s[1]) - std::min(s[0], s[1]) + s[2]);
  EVAL(v_msad_u8, sad(s[0], s[1], true) + s[2]);
  CLAMPED(v_sad_u8, clamp_unsigned(sad(s[0], s[1], false) + s[2], 32));
  CLAMPED(v_sad_hi_u8, clamp_unsigned((sad(s[0], s[1], false) << 16) + s[2], 32));
  CLAMPED(v_sad_u16, clamp_unsigned(sad16(s[0], s[1]) + s[2], 32));
  CLAMPED(v_sad_u32, clamp_unsigned(Wide(std::max(s[0], s[1]) - std::min(s[0], s[1])) + s[2], 32));
  CLAMPED(v_msad_u8, clamp_unsigned(sad(s[0], s[1], true) + s[2], 32));
  EVAL(v_qsad_pk_u16_u8, quad_sad(s[0], s[1], s[2], false, false));
  EVAL(v_mqsad_pk_u16_u8, quad_sad(s[0], s[1], s[2], true, false));
  CLAMPED(v_qsad_pk_u16_u8, quad_sad(s[0], s[1], s[2], false, true));
  CLAMPED(v_mqsad_pk_u16_u8, quad_sad(s[0], s[1], s[2], true, true));
}

TEST(ValuInteger, QuadSumIntoFourWords) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    U64 a;
    U32 b;
    Words<4> c;
    for (unsigned i = 0; i < kLanesPerChunk; ++i) {
      a[i] = random(), b[i] = random() & (random() % 4 ? ~0u : 0xff00ffu);
      for (U32& word : c.word) word[i] = round % 2 ? 0xffffff00u + random() % 256 : random();
    }
    const Words<4> wrapped = v_mqsad_u32_u8::eval(a, b, c), clamped = v_mqsad_u32_u8::saturated(a, b, c);
    for (unsigned i = 0; i < kLanesPerChunk; ++i)
      for (unsigned word = 0; word < 4; ++word) {
        const Wide exact = sad(a[i] >> (8 * word), b[i], true) + c.word[word][i];
        ASSERT_EQ(wrapped.word[word][i], uint32_t(exact));
        ASSERT_EQ(clamped.word[word][i], uint32_t(clamp_unsigned(exact, 32)));
      }
  }
}

}  // namespace
}  // namespace lockstep::semantics

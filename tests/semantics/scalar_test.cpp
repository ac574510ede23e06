// The scalar bodies against slow oracles: bit loops and 128-bit integers, over edge values and random ones.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "semantics/sop1.h"
#include "semantics/sop2.h"
#include "semantics/sopc.h"
#include "semantics/sopk.h"

namespace lockstep::semantics {
namespace {

using Wide = __int128;

const std::vector<uint64_t>& values() {
  static const std::vector<uint64_t> list = [] {
    std::vector<uint64_t> v = {0,
                               1,
                               2,
                               3,
                               0xf,
                               0x10,
                               0x7f,
                               0x80,
                               0xff,
                               0x7fff,
                               0x8000,
                               0xffff,
                               0x10000,
                               0x7fffffff,
                               0x80000000,
                               0x80000001,
                               0xfffffffe,
                               0xffffffff,
                               0xaaaaaaaa,
                               0x55555555,
                               0xcccc,
                               0xffff3333,
                               0x00200004,
                               0x001f0000,
                               0x00400010,
                               0x007f0003,
                               0x100000000,
                               0x7fffffffffffffff,
                               0x8000000000000000,
                               0x8000000000000001,
                               0xffffffffffffffff,
                               0xfffffffffffffffe,
                               0x1234000000005678};
    std::mt19937_64 random(7);
    for (int i = 0; i < 40; ++i) v.push_back(random());
    for (int i = 0; i < 10; ++i) v.push_back(random() & random() & random() & random());
    return v;
  }();
  return list;
}

template <class Check>
void for_each_pair(Check check) {
  for (uint64_t a : values())
    for (uint64_t b : values()) check(a, b);
}

bool bit(uint64_t value, unsigned index) {
  return index < 64 && (value >> index & 1);
}

template <class Result>
void expect(Result result, uint64_t value, bool scc, uint64_t a, uint64_t b = 0) {
  using T = decltype(result.value);
  EXPECT_EQ(result.value, static_cast<T>(value)) << std::hex << a << ' ' << b;
  EXPECT_EQ(result.scc, scc) << std::hex << a << ' ' << b;
}

Wide u32(uint64_t v) {
  return static_cast<uint32_t>(v);
}
Wide i32(uint64_t v) {
  return static_cast<int32_t>(v);
}
bool fits_i32(Wide v) {
  return v >= INT32_MIN && v <= INT32_MAX;
}

TEST(Scalar, Arithmetic) {
  for_each_pair([](uint64_t a, uint64_t b) {
    const Wide ua = u32(a), ub = u32(b), ia = i32(a), ib = i32(b);
    expect(s_add_u32::eval(a, b), ua + ub, ua + ub > UINT32_MAX, a, b);
    expect(s_sub_u32::eval(a, b), ua - ub, ua < ub, a, b);
    expect(s_add_i32::eval(a, b), ia + ib, !fits_i32(ia + ib), a, b);
    expect(s_sub_i32::eval(a, b), ia - ib, !fits_i32(ia - ib), a, b);
    for (bool scc : {false, true}) {
      expect(s_addc_u32::eval(a, b, scc), ua + ub + scc, ua + ub + scc > UINT32_MAX, a, b);
      expect(s_subb_u32::eval(a, b, scc), ua - ub - scc, ua - ub - scc < 0, a, b);
      EXPECT_EQ(s_cselect_b32::eval(a, b, scc), static_cast<uint32_t>(scc ? a : b));
      EXPECT_EQ(s_cselect_b64::eval(a, b, scc), scc ? a : b);
      EXPECT_EQ(s_cmov_b32::eval(a, b, scc), static_cast<uint32_t>(scc ? a : b));
      EXPECT_EQ(s_cmov_b64::eval(a, b, scc), scc ? a : b);
      EXPECT_EQ(s_cmovk_i32::eval(a, b, scc), static_cast<int32_t>(scc ? a : b));
    }
    expect(s_lshl1_add_u32::eval(a, b), ua * 2 + ub, ua * 2 + ub > UINT32_MAX, a, b);
    expect(s_lshl2_add_u32::eval(a, b), ua * 4 + ub, ua * 4 + ub > UINT32_MAX, a, b);
    expect(s_lshl3_add_u32::eval(a, b), ua * 8 + ub, ua * 8 + ub > UINT32_MAX, a, b);
    expect(s_lshl4_add_u32::eval(a, b), ua * 16 + ub, ua * 16 + ub > UINT32_MAX, a, b);
    expect(s_min_i32::eval(a, b), ia < ib ? ia : ib, ia < ib, a, b);
    expect(s_max_i32::eval(a, b), ia > ib ? ia : ib, ia > ib, a, b);
    expect(s_min_u32::eval(a, b), ua < ub ? ua : ub, ua < ub, a, b);
    expect(s_max_u32::eval(a, b), ua > ub ? ua : ub, ua > ub, a, b);
    EXPECT_EQ(s_mul_i32::eval(a, b), static_cast<uint32_t>(ia * ib));
    EXPECT_EQ(s_mul_hi_u32::eval(a, b), static_cast<uint32_t>(ua * ub >> 32));
    EXPECT_EQ(s_mul_hi_i32::eval(a, b), static_cast<int32_t>(ia * ib >> 32));
    const int32_t immediate = static_cast<int16_t>(b);
    expect(s_addk_i32::eval(immediate, a), ia + immediate, !fits_i32(ia + immediate), a, b);
    EXPECT_EQ(s_mulk_i32::eval(immediate, a), static_cast<uint32_t>(ia * immediate));
    EXPECT_EQ(s_movk_i32::eval(immediate), immediate);
  });
}

TEST(Scalar, AbsoluteDifferenceWraps) {
  const uint32_t cases[][3] = {{2, 5, 3},
                               {0xffffffff, 0, 1},
                               {0x80000000, 0, 0x80000000},
                               {0x80000000, 1, 0x7fffffff},
                               {0x80000000, 0xffffffff, 0x7fffffff},
                               {0x80000000, 0xfffffffe, 0x7ffffffe},
                               {7, 7, 0}};
  for (const auto& c : cases) expect(s_absdiff_i32::eval(c[0], c[1]), c[2], c[2] != 0, c[0], c[1]);
  expect(s_abs_i32::eval(0x80000000), 0x80000000, true, 0);
  expect(s_abs_i32::eval(0x80000001), 0x7fffffff, true, 0);
  expect(s_abs_i32::eval(0), 0, false, 0);
}

// Bit i of the result from bit i of both sources.
template <class Function>
uint64_t bitwise(uint64_t a, uint64_t b, Function function) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 64; ++i) result |= uint64_t{function(bit(a, i), bit(b, i))} << i;
  return result;
}

template <class Body32, class Body64, class Function>
void check_logic(Function function) {
  for_each_pair([&](uint64_t a, uint64_t b) {
    const uint64_t wide = bitwise(a, b, function);
    const uint32_t narrow = static_cast<uint32_t>(wide);
    expect(Body32::eval(a, b), narrow, narrow != 0, a, b);
    expect(Body64::eval(a, b), wide, wide != 0, a, b);
  });
}

TEST(Scalar, Logic) {
  check_logic<s_and_b32, s_and_b64>([](bool a, bool b) { return a && b; });
  check_logic<s_or_b32, s_or_b64>([](bool a, bool b) { return a || b; });
  check_logic<s_xor_b32, s_xor_b64>([](bool a, bool b) { return a != b; });
  check_logic<s_nand_b32, s_nand_b64>([](bool a, bool b) { return !(a && b); });
  check_logic<s_nor_b32, s_nor_b64>([](bool a, bool b) { return !(a || b); });
  check_logic<s_xnor_b32, s_xnor_b64>([](bool a, bool b) { return a == b; });
  check_logic<s_and_not1_b32, s_and_not1_b64>([](bool a, bool b) { return a && !b; });
  check_logic<s_or_not1_b32, s_or_not1_b64>([](bool a, bool b) { return a || !b; });
}

template <class Body32, class Body64, class Function>
void check_exec(bool writes_old, Function function) {
  for_each_pair([&](uint64_t a, uint64_t exec) {
    const uint64_t wide = bitwise(a, exec, function);
    const uint32_t narrow = static_cast<uint32_t>(wide);
    const auto result32 = Body32::eval(a, exec);
    EXPECT_EQ(result32.exec, narrow);
    EXPECT_EQ(result32.value, writes_old ? static_cast<uint32_t>(exec) : narrow);
    EXPECT_EQ(result32.scc, narrow != 0);
    const auto result64 = Body64::eval(a, exec);
    EXPECT_EQ(result64.exec, wide);
    EXPECT_EQ(result64.value, writes_old ? exec : wide);
    EXPECT_EQ(result64.scc, wide != 0);
  });
}

TEST(Scalar, SaveExecAndWriteExec) {
  check_exec<s_and_saveexec_b32, s_and_saveexec_b64>(true, [](bool a, bool e) { return a && e; });
  check_exec<s_or_saveexec_b32, s_or_saveexec_b64>(true, [](bool a, bool e) { return a || e; });
  check_exec<s_xor_saveexec_b32, s_xor_saveexec_b64>(true, [](bool a, bool e) { return a != e; });
  check_exec<s_nand_saveexec_b32, s_nand_saveexec_b64>(true, [](bool a, bool e) { return !(a && e); });
  check_exec<s_nor_saveexec_b32, s_nor_saveexec_b64>(true, [](bool a, bool e) { return !(a || e); });
  check_exec<s_xnor_saveexec_b32, s_xnor_saveexec_b64>(true, [](bool a, bool e) { return a == e; });
  check_exec<s_and_not0_saveexec_b32, s_and_not0_saveexec_b64>(true, [](bool a, bool e) { return !a && e; });
  check_exec<s_or_not0_saveexec_b32, s_or_not0_saveexec_b64>(true, [](bool a, bool e) { return !a || e; });
  check_exec<s_and_not1_saveexec_b32, s_and_not1_saveexec_b64>(true, [](bool a, bool e) { return a && !e; });
  check_exec<s_or_not1_saveexec_b32, s_or_not1_saveexec_b64>(true, [](bool a, bool e) { return a || !e; });
  check_exec<s_and_not0_wrexec_b32, s_and_not0_wrexec_b64>(false, [](bool a, bool e) { return !a && e; });
  check_exec<s_and_not1_wrexec_b32, s_and_not1_wrexec_b64>(false, [](bool a, bool e) { return a && !e; });
}

TEST(Scalar, Shifts) {
  for_each_pair([](uint64_t a, uint64_t count) {
    const unsigned n = count % 32, m = count % 64;
    uint64_t left = 0, right = 0, arithmetic = 0, left64 = 0, right64 = 0, arithmetic64 = 0;
    for (unsigned i = 0; i < 32; ++i) {
      left |= uint64_t{i >= n && bit(a, i - n)} << i;
      right |= uint64_t{i + n < 32 && bit(a, i + n)} << i;
      arithmetic |= uint64_t{bit(a, i + n < 32 ? i + n : 31)} << i;
    }
    for (unsigned i = 0; i < 64; ++i) {
      left64 |= uint64_t{i >= m && bit(a, i - m)} << i;
      right64 |= uint64_t{i + m < 64 && bit(a, i + m)} << i;
      arithmetic64 |= uint64_t{bit(a, i + m < 64 ? i + m : 63)} << i;
    }
    expect(s_lshl_b32::eval(a, count), left, left != 0, a, count);
    expect(s_lshr_b32::eval(a, count), right, right != 0, a, count);
    expect(s_ashr_i32::eval(a, count), arithmetic, arithmetic != 0, a, count);
    expect(s_lshl_b64::eval(a, count), left64, left64 != 0, a, count);
    expect(s_lshr_b64::eval(a, count), right64, right64 != 0, a, count);
    expect(s_ashr_i64::eval(a, count), arithmetic64, arithmetic64 != 0, a, count);
  });
}

// Field extraction one bit at a time: above the register there are zeros or copies of the sign.
uint64_t extract(uint64_t value, unsigned bits, unsigned offset, unsigned width, bool is_signed) {
  uint64_t result = 0;
  for (unsigned i = 0; i < bits; ++i) {
    unsigned from = i;
    if (i >= width) {
      if (!is_signed || width == 0) continue;
      from = width - 1;
    }
    const unsigned at = from + offset;
    const bool set = at < bits ? bit(value, at) : is_signed && bit(value, bits - 1);
    result |= uint64_t{set} << i;
  }
  return result;
}

TEST(Scalar, BitFields) {
  for (uint64_t a : values())
    for (unsigned width : {0u, 1u, 2u, 7u, 16u, 31u, 32u, 33u, 63u, 64u, 65u, 127u})
      for (unsigned offset = 0; offset < 64; ++offset) {
        const uint32_t field = width << 16 | offset | 0xff80ffc0u;
        const uint64_t u = extract(static_cast<uint32_t>(a), 32, offset % 32, width, false);
        const uint64_t i = extract(static_cast<uint32_t>(a), 32, offset % 32, width, true);
        expect(s_bfe_u32::eval(a, field), u, u != 0, a, field);
        expect(s_bfe_i32::eval(a, field), i, static_cast<uint32_t>(i) != 0, a, field);
        const uint64_t u64 = extract(a, 64, offset, width, false), i64 = extract(a, 64, offset, width, true);
        expect(s_bfe_u64::eval(a, field), u64, u64 != 0, a, field);
        expect(s_bfe_i64::eval(a, field), i64, i64 != 0, a, field);
      }
  for (unsigned width = 0; width < 64; ++width)
    for (unsigned offset = 0; offset < 64; ++offset) {
      uint64_t mask32 = 0, mask64 = 0;
      for (unsigned i = 0; i < width % 32; ++i)
        if (i + offset % 32 < 32) mask32 |= uint64_t{1} << (i + offset % 32);
      for (unsigned i = 0; i < width; ++i)
        if (i + offset < 64) mask64 |= uint64_t{1} << (i + offset);
      EXPECT_EQ(s_bfm_b32::eval(width, offset), mask32);
      EXPECT_EQ(s_bfm_b64::eval(width, offset), mask64);
    }
}

TEST(Scalar, Packs) {
  EXPECT_EQ(s_pack_ll_b32_b16::eval(0x11112222, 0x33334444), 0x44442222u);
  EXPECT_EQ(s_pack_lh_b32_b16::eval(0x11112222, 0x33334444), 0x33332222u);
  EXPECT_EQ(s_pack_hh_b32_b16::eval(0x11112222, 0x33334444), 0x33331111u);
  EXPECT_EQ(s_pack_hl_b32_b16::eval(0x11112222, 0x33334444), 0x44441111u);
}

int first_bit(uint64_t value, unsigned bits, bool from_top, bool wanted) {
  for (unsigned i = 0; i < bits; ++i)
    if (bit(value, from_top ? bits - 1 - i : i) == wanted) return static_cast<int>(i);
  return -1;
}

TEST(Scalar, BitCountsAndSearches) {
  for (uint64_t a : values()) {
    EXPECT_EQ(s_ctz_i32_b32::eval(a), first_bit(a, 32, false, true));
    EXPECT_EQ(s_ctz_i32_b64::eval(a), first_bit(a, 64, false, true));
    EXPECT_EQ(s_clz_i32_u32::eval(a), first_bit(a, 32, true, true));
    EXPECT_EQ(s_clz_i32_u64::eval(a), first_bit(a, 64, true, true));
    EXPECT_EQ(s_cls_i32::eval(a), first_bit(a, 32, true, !bit(a, 31)));
    EXPECT_EQ(s_cls_i32_i64::eval(a), first_bit(a, 64, true, !bit(a, 63)));
    uint32_t ones32 = 0, ones64 = 0, reversed32 = 0, quads32 = 0, whole32 = 0;
    uint64_t reversed64 = 0, replicated = 0, quads64 = 0, whole64 = 0;
    for (unsigned i = 0; i < 64; ++i) {
      const bool quad = bit(a, i & ~3u) || bit(a, (i & ~3u) + 1) || bit(a, (i & ~3u) + 2) || bit(a, i | 3);
      ones64 += bit(a, i);
      reversed64 |= uint64_t{bit(a, 63 - i)} << i;
      replicated |= uint64_t{bit(a, i / 2)} << i;
      quads64 |= uint64_t{quad} << i / 4;
      whole64 |= uint64_t{quad} << i;
      if (i >= 32) continue;
      ones32 += bit(a, i);
      reversed32 |= uint32_t{bit(a, 31 - i)} << i;
      quads32 |= uint32_t{quad} << i / 4;
      whole32 |= uint32_t{quad} << i;
    }
    expect(s_bcnt1_i32_b32::eval(a), ones32, ones32 != 0, a);
    expect(s_bcnt1_i32_b64::eval(a), ones64, ones64 != 0, a);
    expect(s_bcnt0_i32_b32::eval(a), 32 - ones32, ones32 != 32, a);
    expect(s_bcnt0_i32_b64::eval(a), 64 - ones64, ones64 != 64, a);
    expect(s_quadmask_b32::eval(a), quads32, quads32 != 0, a);
    expect(s_quadmask_b64::eval(a), quads64, quads64 != 0, a);
    expect(s_wqm_b32::eval(a), whole32, whole32 != 0, a);
    expect(s_wqm_b64::eval(a), whole64, whole64 != 0, a);
    EXPECT_EQ(s_brev_b32::eval(a), reversed32);
    EXPECT_EQ(s_brev_b64::eval(a), reversed64);
    EXPECT_EQ(s_bitreplicate_b64_b32::eval(a), replicated);
    expect(s_not_b32::eval(a), ~a, static_cast<uint32_t>(~a) != 0, a);
    expect(s_not_b64::eval(a), ~a, ~a != 0, a);
    EXPECT_EQ(s_mov_b32::eval(a), static_cast<uint32_t>(a));
    EXPECT_EQ(s_mov_b64::eval(a), a);
    EXPECT_EQ(s_sext_i32_i8::eval(a), static_cast<int>((a & 0x7f)) - static_cast<int>(a & 0x80));
    EXPECT_EQ(s_sext_i32_i16::eval(a), static_cast<int>((a & 0x7fff)) - static_cast<int>(a & 0x8000));
  }
}

TEST(Scalar, SingleBits) {
  for_each_pair([](uint64_t a, uint64_t index) {
    const unsigned n = index % 32, m = index % 64;
    EXPECT_EQ(s_bitset0_b32::eval(index, a),
              bitwise(a, uint64_t{1} << n, [](bool x, bool y) { return x && !y; }) & 0xffffffff);
    EXPECT_EQ(s_bitset1_b32::eval(index, a),
              bitwise(a, uint64_t{1} << n, [](bool x, bool y) { return x || y; }) & 0xffffffff);
    EXPECT_EQ(s_bitset0_b64::eval(index, a),
              bitwise(a, uint64_t{1} << m, [](bool x, bool y) { return x && !y; }));
    EXPECT_EQ(s_bitset1_b64::eval(index, a),
              bitwise(a, uint64_t{1} << m, [](bool x, bool y) { return x || y; }));
    EXPECT_EQ(s_bitcmp0_b32::eval(a, index).scc, !bit(a, n));
    EXPECT_EQ(s_bitcmp1_b32::eval(a, index).scc, bit(a, n));
    EXPECT_EQ(s_bitcmp0_b64::eval(a, index).scc, !bit(a, m));
    EXPECT_EQ(s_bitcmp1_b64::eval(a, index).scc, bit(a, m));
  });
}

TEST(Scalar, Compares) {
  for_each_pair([](uint64_t a, uint64_t b) {
    const Wide i = i32(a) - i32(b), u = u32(a) - u32(b);
    EXPECT_EQ(s_cmp_eq_i32::eval(a, b).scc, i == 0);
    EXPECT_EQ(s_cmp_lg_i32::eval(a, b).scc, i != 0);
    EXPECT_EQ(s_cmp_gt_i32::eval(a, b).scc, i > 0);
    EXPECT_EQ(s_cmp_ge_i32::eval(a, b).scc, i >= 0);
    EXPECT_EQ(s_cmp_lt_i32::eval(a, b).scc, i < 0);
    EXPECT_EQ(s_cmp_le_i32::eval(a, b).scc, i <= 0);
    EXPECT_EQ(s_cmp_eq_u32::eval(a, b).scc, u == 0);
    EXPECT_EQ(s_cmp_lg_u32::eval(a, b).scc, u != 0);
    EXPECT_EQ(s_cmp_gt_u32::eval(a, b).scc, u > 0);
    EXPECT_EQ(s_cmp_ge_u32::eval(a, b).scc, u >= 0);
    EXPECT_EQ(s_cmp_lt_u32::eval(a, b).scc, u < 0);
    EXPECT_EQ(s_cmp_le_u32::eval(a, b).scc, u <= 0);
    EXPECT_EQ(s_cmp_eq_u64::eval(a, b).scc, (a ^ b) == 0);
    EXPECT_EQ(s_cmp_lg_u64::eval(a, b).scc, (a ^ b) != 0);
    const int32_t k = static_cast<int16_t>(b);
    const uint32_t l = static_cast<uint16_t>(b);
    const Wide ik = i32(a) - k, ul = u32(a) - l;
    EXPECT_EQ(s_cmpk_eq_i32::eval(a, k).scc, ik == 0);
    EXPECT_EQ(s_cmpk_lg_i32::eval(a, k).scc, ik != 0);
    EXPECT_EQ(s_cmpk_gt_i32::eval(a, k).scc, ik > 0);
    EXPECT_EQ(s_cmpk_ge_i32::eval(a, k).scc, ik >= 0);
    EXPECT_EQ(s_cmpk_lt_i32::eval(a, k).scc, ik < 0);
    EXPECT_EQ(s_cmpk_le_i32::eval(a, k).scc, ik <= 0);
    EXPECT_EQ(s_cmpk_eq_u32::eval(a, l).scc, ul == 0);
    EXPECT_EQ(s_cmpk_lg_u32::eval(a, l).scc, ul != 0);
    EXPECT_EQ(s_cmpk_gt_u32::eval(a, l).scc, ul > 0);
    EXPECT_EQ(s_cmpk_ge_u32::eval(a, l).scc, ul >= 0);
    EXPECT_EQ(s_cmpk_lt_u32::eval(a, l).scc, ul < 0);
    EXPECT_EQ(s_cmpk_le_u32::eval(a, l).scc, ul <= 0);
  });
}

}  // namespace
}  // namespace lockstep::semantics

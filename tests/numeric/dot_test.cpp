#include "numeric/dot.h"

#include <gtest/gtest.h>

#include <cmath>

#include "numeric/wmma.h"
#include "tests/numeric/oracle.h"
#include "tests/sweep.h"

namespace lockstep::numeric {
namespace {

using oracle::Format;
using oracle::kF16;
using oracle::kF32;

const Format kBf16{"bf16", 7, 127, 16};
constexpr DefaultFloatMode kDefault;

struct Inputs {
  uint64_t a0, a1, b0, b1, c;
};

int operand_exponent(const Format& f, uint64_t x) {
  const int field = static_cast<int>((x & f.magnitude()) >> f.fraction);
  return (field == 0 ? 1 : field) - f.bias;
}

// The adder in doubles: every step of it is exact there.
double sum_of(const Format& f, const Format& c_format, const Inputs& in) {
  const auto operand = [&](uint64_t x) { return f.width == 16 && f.fraction == 7 ? f.flush(x) : x; };
  struct Addend {
    double size;
    int exponent;
    bool negative;
  };
  const auto product = [&](uint64_t a, uint64_t b) {
    return Addend{std::fabs(f.value(operand(a)) * f.value(operand(b))),
                  operand_exponent(f, a) + operand_exponent(f, b), f.is_negative(a) != f.is_negative(b)};
  };
  const Addend addends[] = {
      product(in.a0, in.b0), product(in.a1, in.b1),
      Addend{std::fabs(c_format.value(in.c)), std::max(operand_exponent(c_format, in.c), -126),
             c_format.is_negative(in.c)}};
  int largest = -300;
  for (const auto& addend : addends) {
    if (addend.size != 0) largest = std::max(largest, addend.exponent);
  }
  const bool frame = addends[2].negative;
  int64_t units = 0;
  for (const auto& addend : addends) {
    const auto n = static_cast<int64_t>(std::floor(std::ldexp(addend.size, 24 - largest)));
    if (addend.negative == frame) {
      units += n;
    } else if (addend.size != 0) {
      units -= n + 1;
    }
  }
  if (units == 0) return frame && addends[0].negative && addends[1].negative ? -0.0 : 0.0;
  return std::ldexp(static_cast<double>(frame ? -units : units), largest - 24);
}

uint64_t special_of(const Format& f, const Format& c_format, const Inputs& in, bool ieee) {
  const auto widen = [&](const Format& from, uint64_t x) -> uint64_t {
    if (from.width == 32) return x;
    if (from.fraction == 7) return (&from == &kBf16 && &from == &f ? from.flush(x) : x) << 16;
    if (!from.is_nan(x)) return __builtin_bit_cast(uint32_t, static_cast<float>(from.value(x)));
    return (from.is_negative(x) ? kF32.sign() : 0) | kF32.infinity() | kF32.quiet() | (x & 0x3ff) << 13;
  };
  const uint64_t operands[] = {widen(f, in.a0), widen(f, in.a1), widen(f, in.b0), widen(f, in.b1),
                               widen(c_format, in.c)};
  for (const uint64_t x : operands) {
    if (kF32.is_nan(x)) return oracle::first_nan(kF32, operands, ieee);
  }
  double values[5];
  for (int i = 0; i < 5; ++i) values[i] = __builtin_bit_cast(float, static_cast<uint32_t>(operands[i]));
  const double sum = values[0] * values[2] + values[1] * values[3] + values[4];
  if (std::isnan(sum)) return kF32.default_nan();
  return __builtin_bit_cast(uint32_t, static_cast<float>(sum));
}

uint64_t dot_oracle(const Format& f, const Format& result, const Inputs& in, Round round) {
  const bool finite = f.is_finite(in.a0) && f.is_finite(in.a1) && f.is_finite(in.b0) && f.is_finite(in.b1) &&
                      result.is_finite(in.c);
  if (!finite) {
    const uint64_t wide = special_of(f, result, in, true);
    if (result.width == 32) return wide;
    if (result.fraction == 7) return wide >> 16;
    if (kF32.is_nan(wide)) {
      return (kF32.is_negative(wide) ? result.sign() : 0) | result.infinity() | (wide >> 13 & 0x3ff) |
             result.quiet();
    }
    return (kF32.is_negative(wide) ? result.sign() : 0) | result.infinity();
  }
  oracle::Real exact(64);
  mpfr_set_d(exact, sum_of(f, result, in), MPFR_RNDN);
  return oracle::round_exact(result, exact, round, true);
}

std::vector<Inputs> inputs(const Format& f, const Format& c_format, int count) {
  std::mt19937_64 random(23);
  std::vector<Inputs> list;
  const auto edges = oracle::few_edges(f);
  const auto c_edges = oracle::few_edges(c_format);
  for (size_t i = 0; i < edges.size() * edges.size(); ++i) {
    for (const uint64_t c : c_edges) {
      list.push_back({edges[i % edges.size()], edges[random() % edges.size()], edges[i / edges.size()],
                      edges[random() % edges.size()], c});
    }
  }
  for (int i = 0; i < count; ++i) {
    Inputs in{oracle::random_input(f, random), oracle::random_input(f, random),
              oracle::random_input(f, random), oracle::random_input(f, random),
              oracle::random_input(c_format, random)};
    // Addends of like size.
    if (i % 2 == 0 && f.is_finite(in.a0) && f.is_finite(in.b0)) {
      oracle::Real near(64);
      mpfr_set_d(near, f.value(in.a0) * f.value(in.b0) * (i % 4 == 0 ? -1.0 : 1.7), MPFR_RNDN);
      in.c = oracle::round_exact(c_format, near, Round::nearest_even, true);
    }
    list.push_back(in);
  }
  while (list.size() % kLanesPerChunk != 0) list.push_back({});
  return list;
}

template <class Operand, class Accumulator, class Chunk>
void check(const char* name, const Format& f, const Format& result_format, Round round, Chunk chunk) {
  const auto list = inputs(f, result_format, test::of_sweep(200000, 25000));
  int failures = 0;
  for (size_t start = 0; start < list.size(); start += kLanesPerChunk) {
    std::vector<uint64_t> lanes[5];
    for (unsigned i = 0; i < kLanesPerChunk; ++i) {
      const Inputs& in = list[start + i];
      const uint64_t values[] = {in.a0, in.a1, in.b0, in.b1, in.c};
      for (int operand = 0; operand < 5; ++operand) lanes[operand].push_back(values[operand]);
    }
    const auto result = chunk(oracle::vector_of<Operand>(lanes[0]), oracle::vector_of<Operand>(lanes[1]),
                              oracle::vector_of<Operand>(lanes[2]), oracle::vector_of<Operand>(lanes[3]),
                              oracle::vector_of<Accumulator>(lanes[4]));
    for (unsigned i = 0; i < kLanesPerChunk; ++i) {
      const Inputs& in = list[start + i];
      const uint64_t expected = dot_oracle(f, result_format, in, round);
      if (oracle::lane_of(result, i) == expected) continue;
      ADD_FAILURE() << name << std::hex << "(" << in.a0 << ", " << in.a1 << "; " << in.b0 << ", " << in.b1
                    << "; " << in.c << ") = " << oracle::lane_of(result, i) << ", expected " << expected;
      if (++failures == 5) return;
    }
  }
}

TEST(Dot2, AgainstTheAdderModel) {
  check<F16, F32>("dot2_f32_f16", kF16, kF32, Round::nearest_even,
                  [](F16 a, F16 b, F16 c, F16 d, F32 e) { return dot2_f32_f16(a, b, c, d, e, kDefault); });
  check<U16, F32>("dot2_f32_bf16", kBf16, kF32, Round::nearest_even,
                  [](U16 a, U16 b, U16 c, U16 d, F32 e) { return dot2_f32_bf16(a, b, c, d, e, kDefault); });
  check<F16, F16>("dot2_f16_f16", kF16, kF16, Round::nearest_even,
                  [](F16 a, F16 b, F16 c, F16 d, F16 e) { return dot2_f16_f16(a, b, c, d, e, kDefault); });
  check<U16, U16>("dot2_bf16_bf16", kBf16, kBf16, Round::to_zero,
                  [](U16 a, U16 b, U16 c, U16 d, U16 e) { return dot2_bf16_bf16(a, b, c, d, e, kDefault); });
}

// Witnesses measured on gfx1151.
TEST(Dot2, Witnesses) {
  const auto half = [](float x) { return convert<F16>(F32(x)); };
  EXPECT_EQ(to_bits(dot2_f32_f16(half(3), half(8), half(8), half(4), F32(1.0f), kDefault))[0], 0x42640000u);
  EXPECT_EQ(dot2_f32_f16(half(3), half(8), half(8), half(4), F32(-1.0f), kDefault)[0], 55.0f + 0x1p-18f);
  // Brain floats: a denormal operand is flushed, a denormal product is not.
  EXPECT_EQ(to_bits(dot2_f32_bf16(U16(0x0001), U16(0), U16(0x4980), U16(0), F32(0.0f), kDefault))[0], 0u);
  EXPECT_EQ(to_bits(dot2_f32_bf16(U16(0x0700), U16(0), U16(0x3f80), U16(0), F32(0.0f), kDefault))[0],
            0x07000000u);
}

TEST(IntegerDots, AgainstScalarSums) {
  std::mt19937_64 random(29);
  for (int round = 0; round < 20000; ++round) {
    const auto a = static_cast<uint32_t>(random());
    const auto b = static_cast<uint32_t>(random());
    auto c = static_cast<uint32_t>(random());
    if (round % 4 == 0) c = 0x7fffffffu - (c & 0xffff);
    if (round % 4 == 1) c = 0x80000000u + (c & 0xffff);
    if (round % 4 == 2) c = 0xffffffffu - (c & 0xffff);
    for (const unsigned width : {8u, 4u}) {
      for (unsigned signs = 0; signs < 4; ++signs) {
        int64_t sum = 0;
        for (unsigned i = 0; i < 32; i += width) {
          const auto field = [&](uint32_t x, bool is_signed) {
            const int64_t value = x >> i & ((1u << width) - 1);
            return is_signed && (value >> (width - 1)) != 0 ? value - (1 << width) : value;
          };
          sum += field(a, signs & 1) * field(b, signs >> 1);
        }
        const bool s0 = signs & 1;
        const bool s1 = signs >> 1;
        const int64_t exact = sum + static_cast<int32_t>(c);
        const auto saturated = static_cast<int32_t>(std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX));
        const I32 addend = I32(static_cast<int32_t>(c));
        const auto dot = [&](bool clamp) {
          return width == 8 ? dot4_i32_iu8(U32(a), U32(b), addend, s0, s1, clamp)[0]
                            : dot8_i32_iu4(U32(a), U32(b), addend, s0, s1, clamp)[0];
        };
        ASSERT_EQ(dot(false), static_cast<int32_t>(exact));
        ASSERT_EQ(dot(true), saturated);
        if (signs != 0) continue;
        const int64_t unsigned_exact = sum + c;
        const auto unsigned_dot = [&](bool clamp) {
          return width == 8 ? dot4_u32_u8(U32(a), U32(b), U32(c), clamp)[0]
                            : dot8_u32_u4(U32(a), U32(b), U32(c), clamp)[0];
        };
        ASSERT_EQ(unsigned_dot(false), static_cast<uint32_t>(unsigned_exact));
        ASSERT_EQ(unsigned_dot(true), static_cast<uint32_t>(std::min<int64_t>(unsigned_exact, UINT32_MAX)));
      }
    }
  }
}

TEST(Wmma, IsAChainOfDots) {
  std::mt19937_64 random(31);
  Matrix<uint16_t> a, b, c16, d16;
  Matrix<float> c, d;
  for (unsigned i = 0; i < 256; ++i) {
    a[i / 16][i % 16] = static_cast<uint16_t>(0x3800 + (random() & 0x87ff));
    b[i / 16][i % 16] = static_cast<uint16_t>(0x3800 + (random() & 0x87ff));
    c[i / 16][i % 16] = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 16.0f;
    c16[i / 16][i % 16] = static_cast<uint16_t>(0x3800 + (random() & 0x87ff));
  }
  const auto chain = [&](const Format& f, const Format& result, unsigned row, unsigned column, uint64_t sum,
                         Round round) {
    for (unsigned k = 0; k < 16; k += 2) {
      sum = dot_oracle(f, result, {a[row][k], a[row][k + 1], b[k][column], b[k + 1][column], sum}, round);
    }
    return sum;
  };
  const auto nearest = Round::nearest_even;
  wmma_f32_f16(a, b, c, kDefaultFloatMode, d);
  for (unsigned i = 0; i < 256; ++i) {
    const auto start = __builtin_bit_cast(uint32_t, c[i / 16][i % 16]);
    ASSERT_EQ(__builtin_bit_cast(uint32_t, d[i / 16][i % 16]),
              chain(kF16, kF32, i / 16, i % 16, start, nearest));
  }
  wmma_f32_bf16(a, b, c, kDefaultFloatMode, d);
  for (unsigned i = 0; i < 256; ++i) {
    const auto start = __builtin_bit_cast(uint32_t, c[i / 16][i % 16]);
    ASSERT_EQ(__builtin_bit_cast(uint32_t, d[i / 16][i % 16]),
              chain(kBf16, kF32, i / 16, i % 16, start, nearest));
  }
  wmma_f16_f16(a, b, c16, kDefaultFloatMode, d16);
  for (unsigned i = 0; i < 256; ++i) {
    ASSERT_EQ(d16[i / 16][i % 16], chain(kF16, kF16, i / 16, i % 16, c16[i / 16][i % 16], nearest));
  }
  wmma_bf16_bf16(a, b, c16, kDefaultFloatMode, d16);
  for (unsigned i = 0; i < 256; ++i) {
    ASSERT_EQ(d16[i / 16][i % 16], chain(kBf16, kBf16, i / 16, i % 16, c16[i / 16][i % 16], Round::to_zero));
  }
}

TEST(Wmma, Integers) {
  std::mt19937_64 random(37);
  for (const int width : {8, 4}) {
    Matrix<uint8_t> a, b;
    Matrix<int32_t> c, d;
    for (unsigned i = 0; i < 256; ++i) {
      a[i / 16][i % 16] = static_cast<uint8_t>(random() & ((1 << width) - 1));
      b[i / 16][i % 16] = static_cast<uint8_t>(random() & ((1 << width) - 1));
      c[i / 16][i % 16] = i % 2 ? INT32_MAX - static_cast<int>(random() % 1000) : static_cast<int>(random());
    }
    for (unsigned options = 0; options < 8; ++options) {
      const bool a_signed = options & 1;
      const bool b_signed = options >> 1 & 1;
      const bool clamp = options >> 2;
      (width == 8 ? wmma_i32_iu8 : wmma_i32_iu4)(a, b, c, a_signed, b_signed, clamp, d);
      const auto extend = [&](uint8_t x, bool is_signed) -> int64_t {
        return is_signed && x >> (width - 1) ? x - (1 << width) : x;
      };
      for (unsigned i = 0; i < 256; ++i) {
        int64_t sum = c[i / 16][i % 16];
        for (unsigned k = 0; k < 16; ++k)
          sum += extend(a[i / 16][k], a_signed) * extend(b[k][i % 16], b_signed);
        const int64_t expected =
            clamp ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : static_cast<int32_t>(sum);
        ASSERT_EQ(d[i / 16][i % 16], expected);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::numeric

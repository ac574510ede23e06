// Matrix multiply-accumulate: the layout of guide 7.9 mapped element by element here, the products by integer
// arithmetic where they are exact, and by numeric/wmma.h on whole matrices where rounding matters.
#include "semantics/wmma.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include "numeric/wmma.h"

namespace lockstep::semantics {
namespace {

constexpr unsigned kN = 16;

std::mt19937_64& random() {
  static std::mt19937_64 engine(9);
  return engine;
}

// The registers of an operand, by register and lane.
struct Registers {
  explicit Registers(unsigned count, unsigned wave_lanes)
      : lanes(wave_lanes), chunks(count * wave_lanes / 16) {}
  uint32_t& at(unsigned r, unsigned lane) {
    return reinterpret_cast<uint32_t*>(chunks.data())[r * lanes + lane];
  }
  unsigned lanes;
  std::vector<U32> chunks;
};

// A 16x16 matrix of elements of `bits` bits, and its place in registers.
struct Source {
  std::vector<uint32_t> value = std::vector<uint32_t>(kN * kN);
  uint32_t& at(unsigned row, unsigned column) { return value[row * kN + column]; }
};

Source random_source(unsigned bits) {
  Source source;
  for (uint32_t& v : source.value) v = static_cast<uint32_t>(random()()) & ((1u << bits) - 1);
  return source;
}

// `is_a`: a lane holds a row; else a column.
Registers in_registers(Source& source, unsigned bits, unsigned lanes, bool is_a) {
  const unsigned per_register = 32 / bits;
  Registers registers(kN / per_register, lanes);
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned k = 0; k < kN; ++k) {
      const uint32_t element = is_a ? source.at(lane % 16, k) : source.at(k, lane % 16);
      registers.at(k / per_register, lane) |= element << k % per_register * bits;
    }
  return registers;
}

// Register and lane of an element of C or D.
struct Place {
  unsigned r, lane;
};
Place place(unsigned row, unsigned column, unsigned lanes) {
  const unsigned rows_of_a_register = lanes / 16;
  return {row / rows_of_a_register, row % rows_of_a_register * 16 + column};
}

int64_t extended(uint32_t value, unsigned bits, bool is_signed) {
  return is_signed && value >> (bits - 1) ? int64_t{value} - (int64_t{1} << bits) : value;
}

template <class Body>
void check_integers(unsigned bits) {
  for (unsigned lanes : {32u, 64u})
    for (unsigned round = 0; round < 16; ++round) {
      const SignBits sign{(round & 1) != 0, (round & 2) != 0};
      Source a = random_source(bits), b = random_source(bits);
      if (round >= 12) std::fill(a.value.begin(), a.value.end(), (1u << (bits - 1)));
      Registers ra = in_registers(a, bits, lanes, true), rb = in_registers(b, bits, lanes, false);
      Registers c(512 / lanes / 2, lanes), d = c, clamped = c;
      for (unsigned row = 0; row < kN; ++row)
        for (unsigned column = 0; column < kN; ++column) {
          const Place p = place(row, column, lanes);
          const uint32_t edges[] = {0x7fffffff, 0x80000000, 0x7fffff00, static_cast<uint32_t>(random()())};
          c.at(p.r, p.lane) = edges[random()() % 4];
        }
      const WaveView wave{lanes / 16, 0};  // EXEC does not count
      Body::eval(wave, ra.chunks.data(), rb.chunks.data(), c.chunks.data(), d.chunks.data(), sign);
      Body::saturated(wave, ra.chunks.data(), rb.chunks.data(), c.chunks.data(), clamped.chunks.data(), sign);
      for (unsigned row = 0; row < kN; ++row)
        for (unsigned column = 0; column < kN; ++column) {
          const Place p = place(row, column, lanes);
          int64_t sum = static_cast<int32_t>(c.at(p.r, p.lane));
          for (unsigned k = 0; k < kN; ++k)
            sum += extended(a.at(row, k), bits, sign.src0) * extended(b.at(k, column), bits, sign.src1);
          ASSERT_EQ(static_cast<int32_t>(d.at(p.r, p.lane)), static_cast<int32_t>(sum))
              << row << ' ' << column;
          ASSERT_EQ(static_cast<int32_t>(clamped.at(p.r, p.lane)),
                    std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
        }
    }
}

TEST(Wmma, Iu8) {
  check_integers<v_wmma_i32_16x16x16_iu8>(8);
}
TEST(Wmma, Iu4) {
  check_integers<v_wmma_i32_16x16x16_iu4>(4);
}

uint16_t half_bits(float value) {
  return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
}
uint16_t brain_bits(float value) {
  return static_cast<uint16_t>(__builtin_bit_cast(uint32_t, value) >> 16);
}

Source small_integers(uint16_t (*encode)(float)) {
  Source source;
  for (uint32_t& v : source.value) v = encode(static_cast<float>(static_cast<int>(random()() % 17) - 8));
  return source;
}

// Random floats of about 1, in the whole range of signs and mantissas.
Source random_floats(bool brain) {
  Source source;
  for (uint32_t& v : source.value) {
    const float value =
        std::ldexp(static_cast<float>(random()() % 4096) - 2048, static_cast<int>(random()() % 6) - 12);
    v = brain ? brain_bits(value) : half_bits(value);
  }
  return source;
}

// All numbers that are finite: zeros, denormals, exponents far apart; and a few that are not.
Source any_floats(bool brain, bool finite) {
  const uint32_t exponent = brain ? 0x7f80 : 0x7c00;
  Source source;
  for (uint32_t& v : source.value) {
    v = static_cast<uint32_t>(random()()) & 0xffff;
    if (random()() % 4 == 0) v &= 0x8000;
    if (random()() % 4 == 0) v &= ~exponent;
    if ((v & exponent) == exponent && (finite || random()() % 8 != 0)) v ^= 0x4000;
  }
  return source;
}
// Of the accumulator.
uint32_t any_float() {
  constexpr uint32_t kEdges[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000,
                                 0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001};
  const uint32_t bits = static_cast<uint32_t>(random()());
  switch (random()() % 8) {
    case 0:
      return kEdges[bits % std::size(kEdges)];
    case 1:
      return bits;
    default:  // as large as what is added
      return (bits & 0x83ffffff) | 0x3c000000;
  }
}

// `words` elements of C and D in a wave, of 32 or 16 bits.
struct FloatCase {
  unsigned lanes;
  WmmaModifiers modifiers;
  bool brain;
  bool wide;          // 32-bit C and D
  bool rare = false;  // C is any number
};

uint32_t sign_of(const FloatCase& test) {
  return test.wide ? 0x80000000u : 0x8000u;
}

template <class Body>
void check_floats(const FloatCase& test, Source& a, Source& b) {
  const DefaultFloatMode mode;
  Registers ra = in_registers(a, 16, test.lanes, true), rb = in_registers(b, 16, test.lanes, false);
  Registers c(256 / test.lanes, test.lanes), d = c;
  Source addend;
  for (unsigned row = 0; row < kN; ++row)
    for (unsigned column = 0; column < kN; ++column) {
      const float value = std::ldexp(static_cast<float>(random()() % 2048) - 1024, -6);
      const uint32_t bits = test.rare    ? any_float()
                            : test.wide  ? __builtin_bit_cast(uint32_t, value)
                            : test.brain ? brain_bits(value)
                                         : half_bits(value);
      const Place p = place(row, column, test.lanes);
      const uint32_t other = 0xa5a5;
      c.at(p.r, p.lane) = test.wide ? bits : test.modifiers.high ? bits << 16 | other : other << 16 | bits;
      d.at(p.r, p.lane) = 0x12345678;
      addend.at(row, column) = bits;
    }
  Body::eval({test.lanes / 16, 0}, ra.chunks.data(), rb.chunks.data(), c.chunks.data(), d.chunks.data(),
             test.modifiers, mode);

  // The same on whole matrices, modifiers applied by hand.
  numeric::Matrix<uint16_t> ma, mb, mc16, md16;
  numeric::Matrix<float> mc, md;
  for (unsigned i = 0; i < kN; ++i)
    for (unsigned j = 0; j < kN; ++j) {
      const bool negate_a = (j % 2 ? test.modifiers.neg_hi : test.modifiers.neg) & 1;
      const bool negate_b = (i % 2 ? test.modifiers.neg_hi : test.modifiers.neg) & 2;
      ma[i][j] = static_cast<uint16_t>(a.at(i, j) ^ (negate_a ? 0x8000 : 0));
      mb[i][j] = static_cast<uint16_t>(b.at(i, j) ^ (negate_b ? 0x8000 : 0));
      uint32_t bits = addend.at(i, j);
      if (test.modifiers.neg_hi & 4) bits &= ~sign_of(test);
      if (test.modifiers.neg & 4) bits ^= sign_of(test);
      mc16[i][j] = static_cast<uint16_t>(bits);
      mc[i][j] = __builtin_bit_cast(float, bits);
    }
  if (test.wide)
    (test.brain ? numeric::wmma_f32_bf16 : numeric::wmma_f32_f16)(ma, mb, mc, kDefaultFloatMode, md);
  else
    (test.brain ? numeric::wmma_bf16_bf16 : numeric::wmma_f16_f16)(ma, mb, mc16, kDefaultFloatMode, md16);
  for (unsigned row = 0; row < kN; ++row)
    for (unsigned column = 0; column < kN; ++column) {
      const Place p = place(row, column, test.lanes);
      const uint32_t wanted = test.wide             ? __builtin_bit_cast(uint32_t, md[row][column])
                              : test.modifiers.high ? uint32_t{md16[row][column]} << 16 | 0x5678
                                                    : 0x12340000u | md16[row][column];
      ASSERT_EQ(d.at(p.r, p.lane), wanted) << row << ' ' << column;
    }
}

template <class Body>
void check_all(bool brain, bool wide) {
  for (unsigned lanes : {32u, 64u})
    for (unsigned bits = 0; bits < 128; bits += wide ? 2 : 1) {
      const WmmaModifiers modifiers{static_cast<uint8_t>(bits >> 1 & 7), static_cast<uint8_t>(bits >> 4),
                                    (bits & 1) != 0};
      Source a = random_floats(brain), b = random_floats(brain);
      check_floats<Body>({lanes, modifiers, brain, wide}, a, b);
    }
}

TEST(Wmma, F32F16) {
  check_all<v_wmma_f32_16x16x16_f16>(false, true);
}
TEST(Wmma, F32Bf16) {
  check_all<v_wmma_f32_16x16x16_bf16>(true, true);
}
TEST(Wmma, RareNumbers) {
  for (unsigned lanes : {32u, 64u})
    for (unsigned i = 0; i < 200; ++i)
      for (const bool brain : {false, true}) {
        Source a = any_floats(brain, i % 4 != 0), b = any_floats(brain, i % 4 != 0);
        const FloatCase test{lanes, {}, brain, true, true};
        if (brain)
          check_floats<v_wmma_f32_16x16x16_bf16>(test, a, b);
        else
          check_floats<v_wmma_f32_16x16x16_f16>(test, a, b);
      }
}
TEST(Wmma, F16F16) {
  check_all<v_wmma_f16_16x16x16_f16>(false, false);
}
TEST(Wmma, Bf16Bf16) {
  check_all<v_wmma_bf16_16x16x16_bf16>(true, false);
}

// The way that takes operands apart once against the sums one by one, which another mode's body makes: lanes
// from 16 up that hold other operands, D in the place of C, numbers of all sizes.
template <class Body>
void check_ways(bool brain) {
  std::mt19937_64& any = random();
  const uint32_t exponent = brain ? 0x7f80 : 0x7c00;
  const unsigned fraction = brain ? 7 : 10, one = brain ? 127 : 15;
  for (unsigned i = 0; i < 400; ++i) {
    const unsigned lanes = i % 2 ? 32 : 64, kind = i / 2 % 5;
    const auto operand = [&]() -> uint32_t {
      uint32_t bits = static_cast<uint32_t>(any()) & 0xffff;
      if (kind == 0 && any() % 2) return bits & 0x8000;  // zeros
      if (kind == 1 && any() % 2) return bits & ~exponent;
      if (kind == 2) return brain ? brain_bits(float(any() % 5) - 2) : half_bits(float(any() % 5) - 2);
      // Near and far from 1; at the bounds of what brain floats have factors of.
      constexpr unsigned kNear[] = {0, 1, 13, 14};
      constexpr unsigned kFar[] = {0, 13, 38, 39};
      const unsigned distance = (brain && kind == 3 ? kFar : kNear)[any() % 4];
      return (bits & ~exponent) | (any() % 2 ? one + distance : one - distance) << fraction;
    };
    Registers a(8, lanes), b(8, lanes), c(256 / lanes, lanes), wanted = c;
    const bool copies_differ = i / 10 % 2;
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned lane = 0; lane < lanes; ++lane) {
        const bool is_new = lane < 16 || copies_differ;
        a.at(r, lane) = is_new ? operand() | operand() << 16 : a.at(r, lane % 16);
        b.at(r, lane) = is_new ? operand() | operand() << 16 : b.at(r, lane % 16);
      }
    // In one of the copies only.
    if (i % 16 == 15) b.at(3, 16 + any() % 16) = exponent;
    for (unsigned r = 0; r < 256 / lanes; ++r)
      for (unsigned lane = 0; lane < lanes; ++lane)
        c.at(r, lane) = i / 20 % 4 == 0 ? 0
                        : i / 20 % 4 == 1
                            ? static_cast<uint32_t>(any() & 0x80000000u) | (100 + any() % 60) << 23
                        : i / 20 % 4 == 2 ? static_cast<uint32_t>(any() & 0x807fffffu) | (any() % 255) << 23
                                          : any_float();
    const WmmaModifiers modifiers{static_cast<uint8_t>(any() % 8), static_cast<uint8_t>(any() % 8), false};
    Body::eval({lanes / 16, 0}, a.chunks.data(), b.chunks.data(), c.chunks.data(), wanted.chunks.data(),
               modifiers, RuntimeFloatMode{kDefaultFloatMode});
    Body::eval({lanes / 16, 0}, a.chunks.data(), b.chunks.data(), c.chunks.data(), c.chunks.data(), modifiers,
               DefaultFloatMode{});
    for (unsigned r = 0; r < 256 / lanes; ++r)
      for (unsigned lane = 0; lane < lanes; ++lane)
        ASSERT_EQ(c.at(r, lane), wanted.at(r, lane)) << i << ' ' << r << ' ' << lane;
  }
}
TEST(Wmma, FactorsGiveTheSameSums) {
  check_ways<v_wmma_f32_16x16x16_f16>(false);
  check_ways<v_wmma_f32_16x16x16_bf16>(true);
}

// Nothing rounds here, so the matrix product itself is the oracle, but for the adder: an addend whose sign
// opposes the accumulator's weighs one grid unit more (measured), far below the integers.
TEST(Wmma, SmallIntegersMultiplyAsMatrices) {
  const DefaultFloatMode mode;
  for (unsigned lanes : {32u, 64u}) {
    Source a = small_integers(half_bits), b = small_integers(half_bits);
    Registers ra = in_registers(a, 16, lanes, true), rb = in_registers(b, 16, lanes, false);
    Registers c(256 / lanes, lanes), d = c;
    v_wmma_f32_16x16x16_f16::eval({lanes / 16, 0}, ra.chunks.data(), rb.chunks.data(), c.chunks.data(),
                                  d.chunks.data(), {}, mode);
    for (unsigned row = 0; row < kN; ++row)
      for (unsigned column = 0; column < kN; ++column) {
        float wanted = 0;
        for (unsigned k = 0; k < kN; ++k) {
          const auto number = [](uint32_t bits) {
            return static_cast<float>(__builtin_bit_cast(_Float16, static_cast<uint16_t>(bits)));
          };
          wanted += number(a.at(row, k)) * number(b.at(k, column));
        }
        const Place p = place(row, column, lanes);
        ASSERT_NEAR(__builtin_bit_cast(float, d.at(p.r, p.lane)), wanted, 1e-3);
      }
  }
}

}  // namespace
}  // namespace lockstep::semantics

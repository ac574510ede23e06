// The captured rules in 64-bit and 128-bit integers, one lane at a time.
#include "numeric/transcendental_reference.h"

#include <bit>
#include <optional>

#include "numeric/transcendental_corrections.h"
#include "numeric/transcendental_tables.h"

namespace lockstep::numeric::reference {
namespace {

constexpr uint32_t kInfinity = 0x7f800000u;
constexpr uint32_t kInvalid = 0xffc00000u;
constexpr uint32_t kOne = 0x3f800000u;

// x / 2^n rounded to nearest even.
int64_t round_shift(int64_t x, int n) {
  const int64_t whole = x >> n;
  const int64_t rest = x & ((int64_t{1} << n) - 1);
  const int64_t half = int64_t{1} << (n - 1);
  return whole + (rest > half || (rest == half && (whole & 1)));
}

// The 24 upper bits of a product of two 24-bit numbers, in units of 2^23 (of 2^24 from 2^47 on), nearest
// even.
int64_t round_product(int64_t product) {
  return product >= int64_t{1} << 47 ? 2 * round_shift(product, 24) : round_shift(product, 23);
}

int bit_length(uint64_t x) {
  return 64 - std::countl_zero(x);
}

int correction(const uint16_t* offsets, const uint16_t* entries, uint32_t x) {
  const uint32_t bucket = x >> 15;
  for (unsigned i = offsets[bucket]; i < offsets[bucket + 1]; ++i) {
    if ((entries[i] & 0x7fffu) == (x & 0x7fffu)) return entries[i] & 0x8000u ? 1 : -1;
  }
  return 0;
}

// Linear and quadratic term shared by RCP and RSQ; `shift` is the scale of the linear one.
struct Terms {
  int64_t linear;
  int64_t quadratic;
};
Terms reciprocal_terms(const Coefficients& row, int64_t f, int shift) {
  const int64_t g = f & ~int64_t{1};
  const int64_t product = row.l * f;
  Terms terms;
  terms.linear = product >= int64_t{1} << (24 + shift) ? 2 * round_shift(product, shift + 1)
                                                       : round_shift(product, shift);
  const int64_t inner = (int64_t{row.q} << 18) - row.k * f;
  terms.quadratic = static_cast<int64_t>(static_cast<__int128>(inner) * g * g >> 51);
  return terms;
}

// A positive fixed-point number rounded to 24 significant bits. `up` rounds away from zero.
uint32_t fixed_to_float(uint64_t x, int fraction_bits, bool up) {
  const int length = bit_length(x);
  const int drop = length - 24;
  uint64_t significand;
  if (drop > 0) {
    significand = x >> drop;
    if (up && (x & ((uint64_t{1} << drop) - 1)) != 0) ++significand;
  } else {
    significand = x << -drop;
  }
  // The carry of a significand that rounded up to 2^24 goes into the exponent.
  return static_cast<uint32_t>(((length - 1 - fraction_bits + 126) << 23) + significand);
}

uint32_t log_ordinary(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 23) - 127;
  const int64_t d = bits & 0x3ffff;
  unsigned row = bits >> 18 & 31;
  if (row == 1 && d >= 0x20000) row = 32;
  const auto& r = kLogRows[row];
  const int64_t linear = (r.l * d) >> 16;
  const int64_t inner = round_shift((int64_t{r.q} << 22) - r.k * (2 * d + 1), 22);
  const int64_t quadratic = round_product(inner * (d * d >> 12));
  const int64_t sum = (int64_t{exponent} << 35) + ((r.c + linear) * 32 - quadratic);
  if (sum < 0) return 0x80000000u | fixed_to_float(-sum, 35, true);
  return fixed_to_float(sum, 35, false);
}

uint32_t log_below_one(uint32_t bits) {
  const int64_t k1 = kOne - bits;
  const auto& r = kLogBelowOneRows[k1 >= 0x20000];
  const int width = bit_length(k1);
  const int n = width < 18 ? (18 - width) / 4 * 4 : 0;
  const int clear_linear = n < 14 ? 14 - n : 0;
  const int clear_square = n < 12 ? 12 - n : 0;
  const int64_t linear = (2 * r.l * k1) >> clear_linear << clear_linear;
  const int64_t square = (k1 * k1) >> clear_square << clear_square;
  const int64_t inner = round_shift((int64_t{r.q} << 22) + r.k * (k1 - 1), 22);
  const int drop = 38 - n;
  const int64_t quadratic = (inner * square + (int64_t{1} << drop) - 1) >> drop;
  const int64_t sum = 4 * linear + (quadratic << (16 - n)) - int64_t{r.c} * 65536;
  return 0x80000000u | fixed_to_float(sum, 50, true);
}

uint32_t log_above_one(uint32_t bits) {
  const int64_t i = bits - kOne;
  const unsigned row = i < 0x10000 ? 0 : i < 0x20000 ? 1 : 2;
  const auto& r = kLogAboveOneRows[row];
  const int n = row == 0 ? (18 - bit_length(i)) / 4 * 4 : 0;
  const int64_t j = i << n;
  const int64_t linear = 4 * ((r.l * j) >> 13);
  const int64_t square = (j * i) >> 12;
  const int64_t inner = round_shift((int64_t{r.q} << 22) - r.k * (2 * i + 1), 22);
  const int64_t sum = r.c + linear - round_product(inner * square);
  return fixed_to_float(sum, 35 + n, false) + 1;
}

// 2^x before its last rounding: value * 2^(n - 36).
struct Power {
  int64_t value;
  int n;
};
Power power_of(uint32_t bits) {
  const int shift = static_cast<int>(bits >> 23 & 0xff) - 127 + 6;
  const int64_t significand = (bits & 0x7fffff) | 0x800000;
  const int64_t size = shift >= 0 ? significand << shift : significand >> -shift;
  const int64_t z = bits >> 31 ? -size - 1 : size;
  const int64_t f = z & 0xffffff;
  const auto& r = kExpRows[z >> 24 & 31];
  const int64_t product = r.l * f;
  const int64_t linear =
      product >= int64_t{1} << 47 ? round_shift(product, 24) : round_shift(product, 23) >> 1;
  const int64_t a = f >> 6;
  const int64_t inner = round_shift((int64_t{r.q} << 7) + r.k * a, 7);
  const int64_t quadratic = round_product(inner * (a * a >> 12));
  return {(r.c + linear) * 256 + quadratic, static_cast<int>(z >> 29)};
}

// NaNs, arguments whose result is 1, and those whose result leaves the normal numbers.
std::optional<uint32_t> exp2_of_special(uint32_t x) {
  const uint32_t m = x & 0x7fffffffu;
  if (m > kInfinity) return x;
  if (m < 0x33800000u) return kOne;
  if (x < 0x80000000u && x >= 0x43000000u) return kInfinity;
  if (x > 0xc2fc0000u) return 0;
  return std::nullopt;
}

}  // namespace

uint32_t rcp(uint32_t x) {
  const uint32_t sign = x & 0x80000000u;
  const uint32_t m = x & 0x7fffffffu;
  if (m > kInfinity) return x;
  if (m == kInfinity) return sign;
  if (m < 0x00800000u) return sign | kInfinity;
  const uint32_t fraction = m & 0x7fffff;
  const auto& row = kRcpRows[fraction >> 18];
  const Terms terms = reciprocal_terms(row, fraction & 0x3ffff, 14);
  const int64_t sum = (16 * int64_t{row.c} - terms.linear + 2 * terms.quadratic + 32) >> 6;
  const auto n =
      static_cast<uint32_t>(0x3e800000 + sum + correction(kRcpCorrectionOffsets, kRcpCorrections, fraction));
  const int exponent = static_cast<int>(n >> 23) + 127 - static_cast<int>(m >> 23);
  return exponent <= 0 ? sign : sign | static_cast<uint32_t>(exponent) << 23 | (n & 0x7fffff);
}

uint32_t rsq(uint32_t x) {
  const uint32_t m = x & 0x7fffffffu;
  if (m > kInfinity) return x;
  if (m < 0x00800000u) return (x & 0x80000000u) | kInfinity;
  if (x >> 31) return kInvalid;
  if (m == kInfinity) return 0;
  const int e = static_cast<int>(m >> 23) - 127;
  const int odd = e & 1;
  const uint32_t key = static_cast<uint32_t>(odd) << 23 | (m & 0x7fffff);
  const auto& row = kRsqRows[key >> 18];
  const Terms terms = reciprocal_terms(row, key & 0x3ffff, 13);
  const int64_t sum = (32 * int64_t{row.c} - terms.linear + 4 * terms.quadratic + 64) >> 7;
  const auto n =
      static_cast<uint32_t>(0x3e800000 + sum + correction(kRsqCorrectionOffsets, kRsqCorrections, key));
  const int exponent = static_cast<int>(n >> 23) - (e - odd) / 2;
  return static_cast<uint32_t>(exponent) << 23 | (n & 0x7fffff);
}

uint32_t sqrt(uint32_t x) {
  const uint32_t m = x & 0x7fffffffu;
  if (m > kInfinity) return x;
  if (m < 0x00800000u) return x & 0x80000000u;
  if (x >> 31) return kInvalid;
  if (m == kInfinity) return x;
  const int e = static_cast<int>(m >> 23) - 127;
  const int odd = e & 1;
  const uint32_t key = static_cast<uint32_t>(odd) << 23 | (m & 0x7fffff);
  const auto& r = kSqrtRows[key >> 19];
  const int64_t t = key & 0x7ffff;
  const int64_t product = r.l * t;
  const int64_t linear = (product + (product >= int64_t{1} << 40 ? 1 << 16 : 1 << 15)) >> 17;
  const int64_t inner = ((int64_t{r.q} << 19) - r.k * (2 * t + 1) + 1024) >> 11;
  const int64_t square = (t >> 2) * (t >> 2) >> 10;
  const int64_t curve = inner * square;
  const int64_t quadratic =
      curve >= int64_t{1} << 47 ? 2 * ((curve + (1 << 23)) >> 24) : round_shift(curve, 23);
  const auto significand =
      static_cast<uint32_t>(round_shift((int64_t{r.c} << 10) + (linear << 7) - quadratic, 12));
  return static_cast<uint32_t>((e - odd) / 2 + 127) << 23 | (significand & 0x7fffff);
}

uint32_t exp2(uint32_t x) {
  if (const auto special = exp2_of_special(x)) return *special;
  const Power power = power_of(x);
  return static_cast<uint32_t>(((power.n + 126) << 23) + round_shift(power.value, 13));
}

uint32_t exp2_to_odd(uint32_t x) {
  if (const auto special = exp2_of_special(x)) return *special;
  const Power power = power_of(x);
  const int64_t sticky = (power.value & 0x1fff) != 0;
  return static_cast<uint32_t>(((power.n + 126) << 23) + ((power.value >> 13) | sticky));
}

uint32_t log2(uint32_t x) {
  const uint32_t m = x & 0x7fffffffu;
  if (m > kInfinity) return x;
  if (m < 0x00800000u) return 0xff800000u;
  if (x >> 31) return kInvalid;
  if (m == kInfinity) return x;
  if (x == kOne) return 0;
  if (x >= 0x3f7c0000u && x < kOne) return log_below_one(x);
  if (x > kOne && x < 0x3f840000u) return log_above_one(x);
  return log_ordinary(x);
}

uint32_t sin_or_cos(uint32_t x, bool cosine, bool keeps_input_denormals, bool keeps_output_denormals) {
  const uint32_t sign = x & 0x80000000u;
  const uint32_t m = x & 0x7fffffffu;
  if (m > kInfinity) return x;
  if (m == kInfinity) return kInvalid;
  if (m == 0 || (m < 0x00800000u && !keeps_input_denormals)) return cosine ? kOne : sign;
  if (m >= 0x4b000000u) return cosine ? kOne : 0;
  const int biased = static_cast<int>(m >> 23);
  const int64_t significand = biased != 0 ? (m & 0x7fffff) | 0x800000 : m;
  const int exponent = biased != 0 ? biased - 127 : -126;
  if (!cosine && m < 0x39c00000u) {
    // significand * 2^(exponent - 23) times 0xc90fd5 * 2^-21, rounded to 24 bits or to the grid of denormals.
    const int64_t product = significand * 0xc90fd5;
    int length = bit_length(product);
    int drop = length - 24;
    const int scale = exponent - 44;
    if (drop + scale < -149) drop = -149 - scale;
    int64_t rounded = drop > 62 ? 0 : drop > 0 ? round_shift(product, drop) : product << -drop;
    int field = drop + scale + 150;
    if (rounded >> 24) {
      rounded >>= 1;
      ++field;
    }
    const uint32_t result = rounded >> 23 ? static_cast<uint32_t>(field) << 23 | (rounded & 0x7fffff)
                                          : static_cast<uint32_t>(rounded);
    return sign | (result < 0x00800000u && !keeps_output_denormals ? 0 : result);
  }
  const int shift = exponent + 8;
  const int64_t phase = (shift >= 0    ? significand << shift
                         : shift > -32 ? significand >> -shift
                                       : 0) &
                        0x7fffffff;
  const unsigned quadrant = static_cast<unsigned>(phase >> 29);
  const int64_t r0 = phase & 0x1fffffff;
  const bool reflected = r0 >= 1 << 28;
  const int64_t reflection = reflected;
  const int64_t r = reflected ? (1 << 29) - r0 : r0;
  const bool cosine_rows = cosine ^ static_cast<bool>(quadrant & 1) ^ reflected;
  const bool negative = (quadrant >> 1 & 1) ^ (cosine && (quadrant & 1)) ^ (!cosine && sign != 0);
  const int64_t row = (r - reflection) >> 24;
  const int64_t f = r - (row << 24);
  uint32_t size;
  if (cosine_rows && r - reflection < 46592) {
    size = kOne;
  } else if (!cosine_rows && r == 0) {
    return 0;
  } else {
    const auto& c = (cosine_rows ? kCosineRows : kSineRows)[row];
    const int64_t v = f - reflection;
    const int64_t u = v >> 7;
    int64_t inner;
    if (c.k <= 0) {
      inner = -(int64_t{c.q} << 24) - c.k * (v & ~int64_t{63});
    } else {
      inner = -((int64_t{c.q} + c.k) << 24) + c.k * (((1 << 24) - f + reflection - 1) & ~int64_t{63});
    }
    const int64_t j = round_shift(inner, 17);
    const auto linear_argument = [&](int drop) {
      const int64_t rounded = (v + (int64_t{1} << (drop - 1))) >> drop;
      const int64_t limit = (((v >> (20 + drop)) + 1) << 20) - 1;
      return (rounded < limit ? rounded : limit) << drop;
    };
    if (!cosine_rows && row < 2) {
      const int width = bit_length(f);
      const int n = row == 0 && width < 24 ? (24 - width) / 4 * 4 : 0;
      const int o = row == 0 && width < 25 ? (25 - width) / 4 * 4 : 0;
      int64_t y = row == 0 ? f << o : linear_argument(2);
      if (row == 0 && reflected && ((f << n) & 0xfffff) == 0) y -= 1;
      const int linear_bits = row == 0 ? 32 + n : 30;
      const int bits = 34 + n;
      const int square_bits = 24 + n < 34 ? 24 + n : 34;
      const int64_t linear = (c.l * y) >> (50 + o - linear_bits);
      const int64_t square = (u * u) >> (34 - square_bits);
      const int64_t quadratic = round_shift(j * square, 33 + square_bits - bits);
      const int64_t sum = (int64_t{c.c} << (bits - 26)) + (linear << (bits - linear_bits)) - quadratic;
      if (sum == 0) return 0;
      size = fixed_to_float(sum, bits, false);
    } else {
      const int64_t product = c.l * linear_argument(4);
      const int64_t linear_size = product < 0 ? -product : product;
      const int64_t rounded =
          linear_size >= int64_t{1} << 45 ? 2 * round_shift(linear_size, 22) : round_shift(linear_size, 21);
      const int64_t curve = j * ((u * u) >> 10);
      const int64_t bias = curve >= int64_t{1} << 47 ? 1 << 23 : 1 << 22;
      const int64_t quadratic = curve <= bias ? 0 : (curve - bias + (1 << 29) - 1) >> 29;
      const int64_t sum = 8 * int64_t{c.c} + (product < 0 ? -rounded : rounded) - 2 * quadratic;
      if (sum == 0) return 0;
      size = fixed_to_float(sum, 29, false);
    }
  }
  return (negative ? 0x80000000u : 0) | size;
}

}  // namespace lockstep::numeric::reference

// Floats of one lane as exact numbers, and what their rounding raises. Part of exceptions.h.
#pragma once

#include <cstdint>

#include "numeric/float_mode.h"

namespace lockstep::semantics::exceptions {

struct Format {
  unsigned bits, fraction;
  int bias;

  constexpr uint64_t sign() const { return uint64_t{1} << (bits - 1); }
  constexpr uint64_t least_normal() const { return uint64_t{1} << fraction; }
  constexpr uint64_t infinity() const { return sign() - least_normal(); }
  constexpr uint64_t magnitude(uint64_t x) const { return x & (sign() - 1); }
  constexpr bool is_negative(uint64_t x) const { return (x & sign()) != 0; }
  constexpr bool is_zero(uint64_t x) const { return magnitude(x) == 0; }
  constexpr bool is_denormal(uint64_t x) const { return !is_zero(x) && magnitude(x) < least_normal(); }
  constexpr bool is_infinite(uint64_t x) const { return magnitude(x) == infinity(); }
  constexpr bool is_nan(uint64_t x) const { return magnitude(x) > infinity(); }
  constexpr bool is_signalling(uint64_t x) const { return is_nan(x) && !(x >> (fraction - 1) & 1); }
  constexpr uint64_t flushed(uint64_t x) const { return is_denormal(x) ? x & sign() : x; }

  // F32 has its own rounding and denormal fields, F16 and F64 share theirs (guide 3.4.2). Brain floats are
  // F32 cut short.
  constexpr bool uses_single_mode() const { return bias == 127; }
  constexpr Round round(RuntimeFloatMode mode) const {
    return uses_single_mode() ? mode.round_f32() : mode.round_f16_f64();
  }
  constexpr bool keeps_input_denormals(RuntimeFloatMode mode) const {
    return uses_single_mode() ? mode.denorm_in_f32() : mode.denorm_in_f16_f64();
  }
  constexpr bool keeps_output_denormals(RuntimeFloatMode mode) const {
    return uses_single_mode() ? mode.denorm_out_f32() : mode.denorm_out_f16_f64();
  }
};
inline constexpr Format kHalf{16, 10, 15}, kBrain{16, 7, 127}, kSingle{32, 23, 127}, kDouble{64, 52, 1023};

// (negative ? -1 : 1) * significand * 2^exponent. A sum whose parts lie too far apart keeps what it cannot
// hold as a one in its lowest bit, far below any result's last place.
struct Exact {
  bool negative = false;
  unsigned __int128 significand = 0;
  int exponent = 0;

  bool is_zero() const { return significand == 0; }
};

// Of a finite encoding.
Exact exact(const Format& format, uint64_t bits);
Exact exact(int64_t integer);
Exact negated(Exact x);
Exact scaled(Exact x, int64_t power_of_two);
// Of significands up to 53 bits.
Exact product(Exact a, Exact b);
// Of significands up to 106 bits.
Exact sum(Exact a, Exact b);
// Rounded to an integer; of numbers below 2^62 or those that are integers.
Exact truncated(Exact x);
Exact rounded_down(Exact x);
bool are_equal(Exact a, Exact b);
// Not for zero: 2^k <= |x| < 2^(k + 1).
int leading_exponent(Exact x);
bool is_power_of_two(Exact x);

struct Rounded {
  uint32_t exceptions = 0;
  bool infinite = false;
  Exact value;  // denormals kept
};

// What rounding to the format raises: overflow, underflow, inexact (guide 3.4.9).
// Underflow: the guide asks for a result, "exact or rounded", below the smallest normal. So an exact denormal
// underflows without being inexact, and smallness is decided on the result rounded with unbounded exponent,
// as gfx11 decides on flushing (measured; open for the flag). Inexact: also an overflow, and what is flushed
// (open).
Rounded rounded(Exact x, const Format& format, Round round, bool keeps_denormals);

}  // namespace lockstep::semantics::exceptions

#include "semantics/exceptions_exact.h"

#include <algorithm>

#include "semantics/exceptions.h"

namespace lockstep::semantics::exceptions {
namespace {

using Wide = unsigned __int128;

int bit_length(Wide x) {
  const uint64_t high = static_cast<uint64_t>(x >> 64), low = static_cast<uint64_t>(x);
  return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

Wide low_bits(Wide x, int count) {
  return count <= 0 ? 0 : count >= 128 ? x : x & ((Wide{1} << count) - 1);
}

// What falls out stays as a one in the lowest bit.
Wide shift_right_sticky(Wide x, int count) {
  if (count >= 128) return x != 0;
  return (x >> count) | (low_bits(x, count) != 0);
}

// Whether dropping the `count` lowest bits rounds away from zero.
bool rounds_away(Exact x, int count, Round round) {
  const Wide rest = low_bits(x.significand, count);
  if (rest == 0) return false;
  switch (round) {
    case Round::nearest_even: {
      if (count > 128) return false;
      const Wide half = Wide{1} << (count - 1);
      const bool odd = count < 128 && (x.significand >> count & 1);
      return rest > half || (rest == half && odd);
    }
    case Round::plus_infinity:
      return !x.negative;
    case Round::minus_infinity:
      return x.negative;
    case Round::to_zero:
      return false;
  }
  return false;
}

Wide rounded_significand(Exact x, int drop, Round round) {
  const Wide kept = drop >= 128 ? 0 : x.significand >> drop;
  return kept + rounds_away(x, drop, round);
}

}  // namespace

Exact exact(const Format& format, uint64_t bits) {
  const uint64_t magnitude = format.magnitude(bits);
  const int field = static_cast<int>(magnitude >> format.fraction);
  const uint64_t fraction = magnitude & (format.least_normal() - 1);
  return {format.is_negative(bits), field ? fraction | format.least_normal() : fraction,
          std::max(field, 1) - format.bias - static_cast<int>(format.fraction)};
}

Exact exact(int64_t integer) {
  return {integer < 0, integer < 0 ? -static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer), 0};
}

Exact negated(Exact x) {
  x.negative = !x.negative;
  return x;
}

Exact scaled(Exact x, int64_t power_of_two) {
  // Beyond this every format has long overflowed or underflowed.
  x.exponent += static_cast<int>(std::clamp<int64_t>(power_of_two, -8192, 8192));
  return x;
}

Exact product(Exact a, Exact b) {
  return {a.negative != b.negative, a.significand * b.significand, a.exponent + b.exponent};
}

Exact sum(Exact a, Exact b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  // Both get their leading one at the same place, with room for a carry; at least 20 zeros follow.
  constexpr int kLength = 126;
  for (Exact* x : {&a, &b}) {
    const int shift = kLength - bit_length(x->significand);
    x->significand <<= shift;
    x->exponent -= shift;
  }
  if (a.exponent < b.exponent) std::swap(a, b);
  b.significand = shift_right_sticky(b.significand, a.exponent - b.exponent);
  if (a.negative == b.negative) return {a.negative, a.significand + b.significand, a.exponent};
  if (a.significand < b.significand) return {b.negative, b.significand - a.significand, a.exponent};
  return {a.negative, a.significand - b.significand, a.exponent};
}

Exact truncated(Exact x) {
  if (x.exponent >= 0) return x;
  return {x.negative, x.exponent <= -128 ? 0 : x.significand >> -x.exponent, 0};
}

Exact rounded_down(Exact x) {
  Exact whole = truncated(x);
  if (x.negative && x.exponent < 0 && low_bits(x.significand, -x.exponent) != 0) ++whole.significand;
  return whole;
}

bool are_equal(Exact a, Exact b) {
  return sum(a, negated(b)).is_zero();
}

int leading_exponent(Exact x) {
  return bit_length(x.significand) - 1 + x.exponent;
}

bool is_power_of_two(Exact x) {
  return !x.is_zero() && (x.significand & (x.significand - 1)) == 0;
}

Rounded rounded(Exact x, const Format& format, Round round, bool keeps_denormals) {
  if (x.is_zero()) return {0, false, x};
  const int fraction = static_cast<int>(format.fraction);
  const int least = 1 - format.bias;
  const int leading = leading_exponent(x);

  const int drop = leading - fraction - x.exponent;
  const bool carries = drop > 0 && bit_length(rounded_significand(x, drop, round)) > fraction + 1;
  const int unbounded = leading + carries;

  Rounded result;
  result.value = x;
  if (unbounded > format.bias) {
    const Round away = x.negative ? Round::minus_infinity : Round::plus_infinity;
    result.exceptions = kOverflow | kInexact;
    result.infinite = round == Round::nearest_even || round == away;
    result.value = {x.negative, (Wide{1} << (fraction + 1)) - 1, format.bias - fraction};
    return result;
  }
  const bool tiny = unbounded < least;
  const int lost = std::max(leading, least) - fraction - x.exponent;
  if (lost > 0) {
    if (low_bits(x.significand, lost) != 0) result.exceptions |= kInexact;
    result.value = {x.negative, rounded_significand(x, lost, round), x.exponent + lost};
  }
  if (tiny) result.exceptions |= kUnderflow | (keeps_denormals ? 0 : kInexact);
  return result;
}

}  // namespace lockstep::semantics::exceptions

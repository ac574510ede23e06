// Exceptions of what is not rounded correctly: functions of one operand and dot products. The returned result
// decides, as the definitions of guide 3.4.9 speak of it: it is inexact if it is not the true value, which is
// told apart without computing that; it underflows if it is no normal number and the true value is not zero
// (open: the guide says nothing of these instructions).
#include <array>
#include <cmath>
#include <utility>

#include "numeric/dot.h"
#include "numeric/transcendental.h"
#include "semantics/exceptions.h"
#include "semantics/exceptions_rules.h"

namespace lockstep::semantics::exceptions {
namespace {

// The bodies work on chunks: the lane's operand in all of them.
template <class Float>
Float splat(uint64_t bits) {
  return numeric::splat_bits<Float>(static_cast<typename numeric::Layout<Float>::Word>(bits));
}
template <class Vector>
uint64_t first_lane(Vector result) {
  if constexpr (__is_same(Vector, U16)) {
    return result[0];
  } else {
    return numeric::to_bits(result)[0];
  }
}

// An overflow must show as an infinity.
RuntimeFloatMode without_fp16_overflow(RuntimeFloatMode mode) {
  return {mode.mode & ~(1u << 23)};
}

template <class Float>
uint64_t result_of(Kind kind, uint64_t bits, RuntimeFloatMode mode) {
  const Float x = splat<Float>(bits);
  switch (kind) {
    case Kind::reciprocal:
      return first_lane(numeric::rcp(x, mode));
    case Kind::square_root:
      return first_lane(numeric::sqrt(x, mode));
    case Kind::reciprocal_square_root:
      return first_lane(numeric::rsq(x, mode));
    default:
      break;
  }
  if constexpr (!__is_same(Float, F64)) {
    switch (kind) {
      case Kind::exponential:
        return first_lane(numeric::exp2(x, mode));
      case Kind::logarithm:
        return first_lane(numeric::log2(x, mode));
      case Kind::sine:
        return first_lane(numeric::sin(x, mode));
      case Kind::cosine:
        return first_lane(numeric::cos(x, mode));
      default:
        break;
    }
  }
  return 0;
}

uint64_t result_of(Kind kind, const Format& format, uint64_t x, RuntimeFloatMode mode) {
  switch (format.bits) {
    case 16:
      return result_of<F16>(kind, x, mode);
    case 32:
      return result_of<F32>(kind, x, mode);
    default:
      return result_of<F64>(kind, x, mode);
  }
}

bool is_integer(Exact x) {
  return are_equal(truncated(x), x);
}

// Of finite operands for which the function is defined.
bool is_true_value(Kind kind, Exact x, Exact result) {
  switch (kind) {
    case Kind::reciprocal:
      return is_power_of_two(x) && is_power_of_two(result) &&
             leading_exponent(x) + leading_exponent(result) == 0;
    case Kind::square_root:
      return are_equal(product(result, result), x);
    case Kind::reciprocal_square_root:
      return is_power_of_two(x) && is_power_of_two(result) &&
             leading_exponent(x) + 2 * leading_exponent(result) == 0;
    case Kind::exponential:  // irrational unless x is an integer
      return is_power_of_two(result) && are_equal(exact(int64_t{leading_exponent(result)}), x);
    case Kind::logarithm:  // irrational unless x is a power of two
      return is_power_of_two(x) && are_equal(exact(int64_t{leading_exponent(x)}), result);
    default:  // Turns: of the numbers with finite binary fractions, only quarters have rational results.
      return is_integer(scaled(x, 2));
  }
}

bool has_zero_as_true_value(Kind kind, Exact x) {
  switch (kind) {
    case Kind::logarithm:
      return are_equal(x, exact(int64_t{1}));
    case Kind::sine:
      return is_integer(scaled(x, 1));
    case Kind::cosine:
      return is_integer(scaled(x, 2)) && !is_integer(scaled(x, 1));
    default:
      return false;
  }
}

// The F32 functions flush whatever MODE says, but for sine and cosine (guide 16.8).
bool keeps_input_denormals(Kind kind, const Format& format, RuntimeFloatMode mode) {
  const bool always_flushes = format.bits == 32 && kind != Kind::sine && kind != Kind::cosine;
  return !always_flushes && format.keeps_input_denormals(mode);
}

uint32_t exceptions_of_zero(Kind kind) {
  switch (kind) {
    case Kind::reciprocal:
    case Kind::reciprocal_square_root:
    case Kind::logarithm:  // as IEEE 754-2008 9.2 has it
      return kDivideByZero;
    default:
      return 0;
  }
}

bool is_defined_for_negatives(Kind kind) {
  return kind != Kind::square_root && kind != Kind::reciprocal_square_root && kind != Kind::logarithm;
}

}  // namespace

uint32_t exceptions_of_function(Kind kind, const Format& format, uint64_t x, RuntimeFloatMode mode) {
  uint32_t exceptions = exceptions_of_operand(format, x);
  if (!keeps_input_denormals(kind, format, mode)) x = format.flushed(x);
  if (kind == Kind::reciprocal_for_integers) return format.is_zero(x) ? kIntegerDivideByZero : 0;
  if (format.is_nan(x)) return exceptions;
  if (format.is_zero(x)) return exceptions | exceptions_of_zero(kind);
  if (format.is_negative(x) && !is_defined_for_negatives(kind)) return exceptions | kInvalid;
  if (format.is_infinite(x)) return exceptions | (kind == Kind::sine || kind == Kind::cosine ? kInvalid : 0);

  const uint64_t result = result_of(kind, format, x, without_fp16_overflow(mode));
  if (format.is_infinite(result)) return exceptions | kOverflow | kInexact;
  const Exact operand = exact(format, x);
  if (!is_true_value(kind, operand, exact(format, result))) exceptions |= kInexact;
  if (format.magnitude(result) < format.least_normal() && !has_zero_as_true_value(kind, operand))
    exceptions |= kUnderflow;
  return exceptions;
}

namespace {

// Exact in F64: no product of two halves or brain floats needs more than 22 bits or 9 of exponent.
double value_of(const Format& format, uint64_t bits) {
  const Exact x = exact(format, bits);
  const double size = std::ldexp(static_cast<double>(static_cast<uint64_t>(x.significand)), x.exponent);
  return x.negative ? -size : size;
}

// The sum without error, as parts that do not overlap, the largest last (Shewchuk's expansions).
template <size_t count>
std::array<double, count> exact_sum(std::array<double, count> parts) {
  for (size_t added = 1; added < count; ++added) {
    double carried = parts[added];
    for (size_t i = 0; i < added; ++i) {
      const double total = carried + parts[i];
      const double of_part = total - carried;
      parts[i] = (carried - (total - of_part)) + (parts[i] - of_part);
      carried = total;
    }
    parts[added] = carried;
  }
  return parts;
}

template <size_t count>
double leading_part(const std::array<double, count>& sum) {
  for (size_t i = count; i-- > 0;)
    if (sum[i] != 0) return sum[i];
  return 0;
}

uint64_t dot_result(const Format& elements, const Format& result, const DotOperands& x,
                    RuntimeFloatMode mode) {
  const auto half = [](uint64_t bits) { return splat<F16>(bits); };
  const auto brain = [](uint64_t bits) { return U16(static_cast<uint16_t>(bits)); };
  const bool halves = elements.fraction == kHalf.fraction;
  if (result.bits == 32) {
    const F32 c = splat<F32>(x.c);
    return first_lane(
        halves ? numeric::dot2_f32_f16(half(x.a_low), half(x.a_high), half(x.b_low), half(x.b_high), c, mode)
               : numeric::dot2_f32_bf16(brain(x.a_low), brain(x.a_high), brain(x.b_low), brain(x.b_high), c,
                                        mode));
  }
  if (halves)
    return first_lane(
        numeric::dot2_f16_f16(half(x.a_low), half(x.a_high), half(x.b_low), half(x.b_high), half(x.c), mode));
  return first_lane(numeric::dot2_bf16_bf16(brain(x.a_low), brain(x.a_high), brain(x.b_low), brain(x.b_high),
                                            brain(x.c), mode));
}

}  // namespace

uint32_t exceptions_of_dot(const Format& elements, const Format& result, const DotOperands& x,
                           RuntimeFloatMode mode) {
  uint32_t exceptions = exceptions_of_operand(result, x.c);
  for (uint64_t element : {x.a_low, x.a_high, x.b_low, x.b_high})
    exceptions |= exceptions_of_operand(elements, element);

  // Halves keep their denormals, brain floats never do; the addend obeys MODE (as numeric/dot.h does it).
  const auto number = [&](uint64_t bits) {
    return elements.fraction == kBrain.fraction ? elements.flushed(bits) : bits;
  };
  const uint64_t c = result.keeps_input_denormals(mode) ? x.c : result.flushed(x.c);
  bool nan = result.is_nan(c), positive_infinity = false, negative_infinity = false;
  const auto note_infinity = [&](bool negative) {
    (negative ? negative_infinity : positive_infinity) = true;
  };
  if (result.is_infinite(c)) note_infinity(result.is_negative(c));
  for (const auto& [a, b] : {std::pair{x.a_low, x.b_low}, std::pair{x.a_high, x.b_high}}) {
    const uint64_t left = number(a), right = number(b);
    if (elements.is_nan(left) || elements.is_nan(right)) {
      nan = true;
    } else if (elements.is_infinite(left) || elements.is_infinite(right)) {
      if (elements.is_zero(left) || elements.is_zero(right)) return exceptions | kInvalid;
      note_infinity(elements.is_negative(left) != elements.is_negative(right));
    }
  }
  if (nan) return exceptions;
  if (positive_infinity && negative_infinity) return exceptions | kInvalid;
  if (positive_infinity || negative_infinity) return exceptions;

  const uint64_t rounded = dot_result(elements, result, x, without_fp16_overflow(mode));
  const double p = value_of(elements, number(x.a_low)) * value_of(elements, number(x.b_low));
  const double q = value_of(elements, number(x.a_high)) * value_of(elements, number(x.b_high));
  const double addend = value_of(result, c);
  const double leading = leading_part(exact_sum<3>({p, q, addend}));
  // The sign of |p + q + addend| - limit.
  const auto compared_with = [&](double limit) {
    const double difference = leading_part(exact_sum<4>({p, q, addend, leading < 0 ? limit : -limit}));
    return leading < 0 ? -difference : difference;
  };
  // Brain floats are cut short and stop at the largest one.
  if (result.is_infinite(rounded) || compared_with(std::ldexp(1.0, result.bias + 1)) >= 0)
    return exceptions | kOverflow | kInexact;
  if (leading_part(exact_sum<4>({p, q, addend, -value_of(result, rounded)})) != 0) exceptions |= kInexact;
  const bool tiny = result.is_denormal(rounded) ||
                    (result.is_zero(rounded) && compared_with(std::ldexp(1.0, 1 - result.bias)) < 0);
  if (tiny && leading != 0) exceptions |= kUnderflow;
  return exceptions;
}

}  // namespace lockstep::semantics::exceptions

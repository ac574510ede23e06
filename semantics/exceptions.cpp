#include "semantics/exceptions.h"

#include <algorithm>

#include "isa/operand_rules.h"
#include "semantics/exceptions_rules.h"

namespace lockstep::semantics {
namespace {

using namespace exceptions;
using isa::Operand;
using isa::Role;
using isa::Type;

// The operands of the instruction, or of one half of a VOPD pair, in the order of body.h: explicit sources as
// the row has them, then the old destination if it is read.
class Operands {
 public:
  Operands(const isa::Instruction& instruction, bool y_half, const LaneSources& lane)
      : instruction_(instruction), row_(y_half ? *instruction.row_y : *instruction.row), lane_(lane) {
    const unsigned first = y_half ? instruction.first_y_operand : 0;
    const unsigned end =
        instruction.row_y && !y_half ? instruction.first_y_operand : instruction.operand_count;
    for (bool destinations : {false, true})
      for (unsigned i = first; i < end; ++i) {
        const Operand& operand = instruction.operands[i];
        if (operand.read && operand.written == destinations && count_ < std::size(operands_))
          operands_[count_++] = &operand;
      }
  }

  unsigned count() const { return count_; }

  // A float as the encoding gives it, modifiers applied; of a packed operand the half for the low or the high
  // result.
  uint64_t number(unsigned i, bool high_result = false) const {
    const Operand& operand = *operands_[i];
    const uint64_t bits = raw(operand);
    switch (operand.type) {
      case Type::f64:
        return modified(bits, 64, is_absolute(operand), operand.neg);
      case Type::f16:
      case Type::bf16:
        return modified(half(bits, takes_high(operand)), 16, is_absolute(operand), operand.neg);
      case Type::pk_f16:
      case Type::pk_bf16:
        if (high_result)
          return modified(half(bits, takes_high_for_high(operand)), 16, is_absolute(operand),
                          isa::high_element_is_negated(operand, row_));
        return modified(half(bits, takes_high(operand)), 16, is_absolute(operand), operand.neg);
      default:
        return modified(bits & 0xffffffffu, 32, is_absolute(operand), operand.neg);
    }
  }

  // A source of v_fma_mix: OPSEL_HI says that it is a half, OPSEL which one; NEG_HI stands for ABS
  // (guide 7.5).
  struct Mixed {
    Format format;
    uint64_t bits;
  };
  Mixed mixed(unsigned i) const {
    const Operand& operand = *operands_[i];
    const Format format = operand.high_hi ? kHalf : kSingle;
    const uint64_t bits = operand.high_hi ? half(raw(operand), operand.high) : raw(operand) & 0xffffffffu;
    return {format, modified(bits, format.bits, operand.neg_hi, operand.neg)};
  }

  int64_t integer(unsigned i, unsigned bits, bool is_signed) const {
    const Operand& operand = *operands_[i];
    const uint64_t value = bits == 16 ? half(raw(operand), operand.high) : raw(operand) & 0xffffffffu;
    if (!is_signed) return static_cast<int64_t>(value);
    return bits == 16 ? int64_t{static_cast<int16_t>(value)} : int64_t{static_cast<int32_t>(value)};
  }

 private:
  uint64_t raw(const Operand& operand) const {
    switch (operand.role) {
      case Role::src0:
        return lane_.source[0];
      case Role::src1:
        return lane_.source[1];
      case Role::src2:
        return lane_.source[2];
      case Role::simm:
        return instruction_.literal;
      default:
        return lane_.old_destination;
    }
  }

  static uint64_t half(uint64_t bits, bool high) { return (high ? bits >> 16 : bits) & 0xffff; }
  static uint64_t modified(uint64_t bits, unsigned size, bool absolute, bool negated) {
    const uint64_t sign = uint64_t{1} << (size - 1);
    if (absolute) bits &= ~sign;
    return negated ? bits ^ sign : bits;
  }
  bool is_absolute(const Operand& operand) const { return operand.abs && row_.flags & isa::kCanAbs; }

  // A brain float's inline constant is the upper half of the F32 one, in both elements (guide 7.5.1).
  static bool is_brain_constant(const Operand& operand) {
    return (operand.type == Type::bf16 || operand.type == Type::pk_bf16) &&
           operand.code >= isa::code::kFloatHalf && operand.code <= isa::code::kInverseTwoPi;
  }
  static bool takes_high(const Operand& operand) { return operand.high || is_brain_constant(operand); }
  bool takes_high_for_high(const Operand& operand) const {
    return isa::high_element_is_high_half(operand, row_) || is_brain_constant(operand);
  }

  const isa::Instruction& instruction_;
  const isa::Row& row_;
  const LaneSources& lane_;
  const Operand* operands_[4] = {};
  unsigned count_ = 0;
};

// A float operand after flushing.
struct Number {
  bool nan = false, infinite = false;
  Exact value;  // of infinities the sign

  bool is_zero() const { return !nan && !infinite && value.is_zero(); }
};

// How an operation treats denormals and rounds.
struct Manner {
  Format format;
  Round round;
  bool keeps_input_denormals, keeps_output_denormals;

  Manner(const Format& format, RuntimeFloatMode mode)
      : format(format),
        round(format.round(mode)),
        keeps_input_denormals(format.keeps_input_denormals(mode)),
        keeps_output_denormals(format.keeps_output_denormals(mode)) {}
};

Number number(const Format& format, uint64_t bits, bool keeps_denormals) {
  if (!keeps_denormals) bits = format.flushed(bits);
  Number result{format.is_nan(bits), format.is_infinite(bits), {}};
  if (!result.nan && !result.infinite) result.value = exact(format, bits);
  result.value.negative = format.is_negative(bits);
  return result;
}
Number negated(Number x) {
  x.value = exceptions::negated(x.value);
  return x;
}

uint32_t rounding(Exact x, const Manner& manner) {
  return rounded(x, manner.format, manner.round, manner.keeps_output_denormals).exceptions;
}

// What precedes the rounding: a sum or product to be rounded, or none and what that raises.
struct Unrounded {
  uint32_t exceptions = 0;
  bool finite = false;
  Exact value;
};

Unrounded add(const Number& a, const Number& b) {
  if (a.nan || b.nan) return {};
  if (a.infinite && b.infinite)
    return {a.value.negative != b.value.negative ? uint32_t{kInvalid} : 0, false, {}};
  if (a.infinite || b.infinite) return {};
  return {0, true, sum(a.value, b.value)};
}
Unrounded multiply(const Number& a, const Number& b) {
  if (a.nan || b.nan) return {};
  if ((a.infinite && b.is_zero()) || (a.is_zero() && b.infinite)) return {kInvalid, false, {}};
  if (a.infinite || b.infinite) return {};
  return {0, true, product(a.value, b.value)};
}
// An invalid product is one whatever the addend is: with a NaN for an addend too, as gfx11 gives the default
// NaN then (measured for F16; open for the exception).
Unrounded multiply_add(const Number& a, const Number& b, const Number& c) {
  const Unrounded ab = multiply(a, b);
  if (ab.exceptions) return ab;
  if (ab.finite) return add({false, false, ab.value}, c);
  return add({a.nan || b.nan, true, {a.value.negative != b.value.negative}}, c);
}

uint32_t finish(const Unrounded& x, const Manner& manner) {
  return x.exceptions | (x.finite ? rounding(x.value, manner) : 0);
}

// MODE.F32 denormals off: the DX9 multiplies flush whatever it says, and zero times anything is zero.
Manner dx9_manner(const Format& format, RuntimeFloatMode mode) {
  Manner manner(format, mode);
  manner.keeps_input_denormals = manner.keeps_output_denormals = false;
  return manner;
}
Unrounded multiply_dx9(const Number& a, const Number& b) {
  if (a.is_zero() || b.is_zero()) return {0, true, {}};
  return multiply(a, b);
}

uint32_t division_fixup(const Format& format, uint64_t denominator, uint64_t numerator,
                        RuntimeFloatMode mode) {
  // The guide lists invalid, denormal and divide by zero; the quotient that is fixed up raises nothing.
  const uint32_t exceptions =
      exceptions_of_operand(format, denominator) | exceptions_of_operand(format, numerator);
  const bool keeps = format.keeps_input_denormals(mode);
  const Number d = number(format, denominator, keeps), n = number(format, numerator, keeps);
  if (d.nan || n.nan) return exceptions;
  if ((d.is_zero() && n.is_zero()) || (d.infinite && n.infinite)) return exceptions | kInvalid;
  return exceptions | (d.is_zero() && !n.infinite ? kDivideByZero : 0);
}

// IEEE 754-2008 5.8: what has no integer in the range is invalid, and not inexact then (open: the guide only
// says that it saturates).
uint32_t to_integer(const Rule& rule, uint64_t x, bool signals_inexact, RuntimeFloatMode mode) {
  const uint32_t exceptions = exceptions_of_operand(rule.from, x);
  const Number operand = number(rule.from, x, rule.from.keeps_input_denormals(mode));
  if (operand.nan || operand.infinite) return exceptions | kInvalid;
  if (operand.value.is_zero()) return exceptions;
  if (leading_exponent(operand.value) > 40) return exceptions | kInvalid;
  const Exact whole = truncated(operand.value);
  const unsigned bits = rule.integer_bits;
  const int64_t above = int64_t{1} << (rule.integer_signed ? bits - 1 : bits);
  const int64_t least = rule.integer_signed ? -above : 0;
  const int64_t size = static_cast<int64_t>(whole.significand << std::max(whole.exponent, 0));
  const int64_t integer = whole.negative ? -size : size;
  if (integer < least || integer >= above) return exceptions | kInvalid;
  const bool inexact = !are_equal(whole, operand.value);
  return exceptions | (inexact && signals_inexact ? kInexact : 0);
}

uint32_t fraction(const Manner& manner, const Number& x) {
  if (x.nan) return 0;
  if (x.infinite) return kInvalid;
  // What rounds to one is cut to the number below: inexact either way.
  return rounding(sum(x.value, exceptions::negated(rounded_down(x.value))), manner);
}

// v_mullit_f32: a product unless b or c says that it is dark; NaNs do.
uint32_t light(const Operands& operands, RuntimeFloatMode mode) {
  const Manner manner(kSingle, mode);
  const auto is_greater = [](const Number& x, const Exact& limit) {
    if (x.nan) return false;
    if (x.infinite) return !x.value.negative;
    const Exact difference = sum(x.value, exceptions::negated(limit));
    return !difference.is_zero() && !difference.negative;
  };
  const Number b = number(kSingle, operands.number(1), manner.keeps_input_denormals);
  const Number c = number(kSingle, operands.number(2), manner.keeps_input_denormals);
  const Exact darkest = exact(kSingle, kSingle.sign() | (kSingle.infinity() - 1));
  if (!is_greater(b, darkest) || !is_greater(c, Exact{})) return 0;
  return finish(
      multiply_dx9(number(kSingle, operands.number(0), false), number(kSingle, operands.number(1), false)),
      dx9_manner(kSingle, mode));
}

uint32_t mix(const Rule& rule, const Operands& operands, RuntimeFloatMode mode) {
  uint32_t exceptions = 0;
  Number numbers[3];
  for (unsigned i = 0; i < 3; ++i) {
    const Operands::Mixed x = operands.mixed(i);
    exceptions |= exceptions_of_operand(x.format, x.bits);
    numbers[i] = number(x.format, x.bits, x.format.keeps_input_denormals(mode));
  }
  const Unrounded exact_result = multiply_add(numbers[0], numbers[1], numbers[2]);
  exceptions |= exact_result.exceptions;
  if (!exact_result.finite) return exceptions;
  const Manner single(kSingle, mode), half(kHalf, mode);
  const Rounded first = rounded(exact_result.value, kSingle, single.round, single.keeps_output_denormals);
  exceptions |= first.exceptions;
  // Two roundings (guide 16.10), both of which tell.
  if (rule.to.bits == 16 && !first.infinite) exceptions |= rounding(first.value, half);
  return exceptions;
}

uint32_t exceptions_of_operands(const Format& format, const Operands& operands, bool high) {
  uint32_t exceptions = 0;
  for (unsigned i = 0; i < operands.count(); ++i)
    exceptions |= exceptions_of_operand(format, operands.number(i, high));
  return exceptions;
}

bool has_nan(const Format& format, const Operands& operands) {
  return format.is_nan(operands.number(0)) || format.is_nan(operands.number(1));
}

// Arithmetic on the low or the high halves, or on what is not packed.
uint32_t arithmetic(const Rule& rule, const Operands& operands, bool high, RuntimeFloatMode mode) {
  Manner manner(rule.from, mode);
  if (rule.kind == Kind::multiply_dx9 || rule.kind == Kind::multiply_add_dx9)
    manner = dx9_manner(rule.from, mode);
  const auto x = [&](unsigned i) {
    return number(rule.from, operands.number(i, high), manner.keeps_input_denormals);
  };
  const uint32_t exceptions = exceptions_of_operands(rule.from, operands, high);
  switch (rule.kind) {
    case Kind::add:
      return exceptions | finish(add(x(0), x(1)), manner);
    case Kind::subtract:
      return exceptions | finish(add(x(0), negated(x(1))), manner);
    case Kind::subtract_reversed:
      return exceptions | finish(add(x(1), negated(x(0))), manner);
    case Kind::multiply:
      return exceptions | finish(multiply(x(0), x(1)), manner);
    case Kind::multiply_dx9:
      return exceptions | finish(multiply_dx9(x(0), x(1)), manner);
    case Kind::multiply_add:
      return exceptions | finish(multiply_add(x(0), x(1), x(2)), manner);
    case Kind::multiply_add_dx9: {
      const Number a = x(0), b = x(1);
      const bool zero = a.is_zero() || b.is_zero();
      return exceptions | finish(zero ? add({}, x(2)) : multiply_add(a, b, x(2)), manner);
    }
    default:
      return exceptions;
  }
}

// v_div_fmas never flushes its operands (guide 16.12). With VCC set the result is scaled before its one
// rounding, up if the addend is at least 2, else down (measured).
uint32_t division_multiply_add(const Format& format, const Operands& operands, bool vcc,
                               RuntimeFloatMode mode) {
  const auto x = [&](unsigned i) { return number(format, operands.number(i), true); };
  Unrounded result = multiply_add(x(0), x(1), x(2));
  if (vcc && result.finite) {
    const int scale = format.bits == 32 ? 64 : 128;
    const Number addend = x(2);
    const bool up = !addend.is_zero() && leading_exponent(addend.value) >= 1;
    result.value = scaled(result.value, up ? scale : -scale);
  }
  return exceptions_of_operands(format, operands, false) | finish(result, Manner(format, mode));
}

uint32_t narrow(const Format& from, uint64_t bits, Manner manner, RuntimeFloatMode mode) {
  const Number x = number(from, bits, from.keeps_input_denormals(mode));
  return exceptions_of_operand(from, bits) | (x.nan || x.infinite ? 0 : rounding(x.value, manner));
}

bool has_integer_result(const isa::Row& row) {
  const Type type = row.operands.front().type;
  return type == Type::i32 || type == Type::u32 || type == Type::i16 || type == Type::u16;
}

}  // namespace

uint32_t exceptions::exceptions_of_operand(const Format& format, uint64_t x) {
  if (format.is_signalling(x)) return kInvalid;
  return format.is_denormal(x) ? kInputDenormal : 0;
}

bool raises_exceptions(const isa::Row& row) {
  return rule_of(row.base).kind != Kind::none;
}

uint32_t exceptions_of(const isa::Instruction& instruction, bool y_half, const LaneSources& lane,
                       uint32_t mode_bits) {
  const isa::Row& row = y_half ? *instruction.row_y : *instruction.row;
  const Rule rule = rule_of(row.base);
  const RuntimeFloatMode mode{mode_bits};
  if (rule.kind == Kind::none || mode.dx10_clamp()) return 0;
  // OMOD has no other use on an integer result: LLVM 19 says that it clears the exceptions (open).
  if (instruction.omod != 0 && has_integer_result(row)) return 0;

  const Operands operands(instruction, y_half, lane);
  switch (rule.kind) {
    case Kind::compare:
      // Guide 16.9.1: CLAMP makes every NaN signal.
      return exceptions_of_operands(rule.from, operands, false) |
             (instruction.clamp && has_nan(rule.from, operands) ? kInvalid : 0);
    case Kind::light:
      return exceptions_of_operands(rule.from, operands, false) | light(operands, mode);
    case Kind::fraction: {
      const Manner manner(rule.from, mode);
      const uint64_t x = operands.number(0);
      return exceptions_of_operand(rule.from, x) |
             fraction(manner, number(rule.from, x, manner.keeps_input_denormals));
    }
    case Kind::scale: {
      const Manner manner(rule.from, mode);
      const Number x = number(rule.from, operands.number(0), manner.keeps_input_denormals);
      const uint32_t exceptions = exceptions_of_operand(rule.from, operands.number(0));
      if (x.nan || x.infinite) return exceptions;
      const unsigned exponent_bits = rule.from.bits == 16 ? 16 : 32;
      return exceptions | rounding(scaled(x.value, operands.integer(1, exponent_bits, true)), manner);
    }
    case Kind::mix:
      return mix(rule, operands, mode);
    case Kind::division_multiply_add:
      return division_multiply_add(rule.from, operands, lane.vcc, mode);
    case Kind::division_fixup:
      return division_fixup(rule.from, operands.number(1), operands.number(2), mode);
    case Kind::convert:
      return narrow(rule.from, operands.number(0), Manner(rule.to, mode), mode);
    case Kind::convert_toward_zero: {
      Manner manner(rule.to, mode);
      manner.round = Round::to_zero;
      return narrow(rule.from, operands.number(0), manner, mode) |
             narrow(rule.from, operands.number(1), manner, mode);
    }
    case Kind::to_integer: {
      // Guide 16.8: CLAMP lets them signal inexact.
      uint32_t exceptions = to_integer(rule, operands.number(0), instruction.clamp, mode);
      const bool pair =
          row.base == isa::Opcode::v_cvt_pk_i16_f32 || row.base == isa::Opcode::v_cvt_pk_u16_f32;
      if (pair) exceptions |= to_integer(rule, operands.number(1), instruction.clamp, mode);
      return exceptions;
    }
    case Kind::from_integer:
      return rounding(exact(operands.integer(0, rule.integer_bits, rule.integer_signed)),
                      Manner(rule.to, mode));
    case Kind::dot:
      return exceptions_of_dot(rule.from, rule.to,
                               {operands.number(0), operands.number(0, true), operands.number(1),
                                operands.number(1, true), operands.number(2)},
                               mode);
    case Kind::reciprocal:
    case Kind::reciprocal_for_integers:
    case Kind::square_root:
    case Kind::reciprocal_square_root:
    case Kind::exponential:
    case Kind::logarithm:
    case Kind::sine:
    case Kind::cosine:
      return exceptions_of_function(rule.kind, rule.from, operands.number(0), mode);
    default:
      return arithmetic(rule, operands, false, mode) |
             (rule.packed ? arithmetic(rule, operands, true, mode) : 0);
  }
}

}  // namespace lockstep::semantics

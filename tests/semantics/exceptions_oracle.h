// What an instruction should raise, by MPFR's flags and ternary values: an oracle of semantics/exceptions.h
// that shares no code with it. Rules: guide 3.4.9.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "float_oracle.h"
#include "semantics/exceptions.h"

namespace lockstep::semantics::testing {

inline constexpr Format kBrain{16, 7, 127};

// Any signalling NaN is invalid, any subnormal an input denormal.
uint32_t of_operand(const Format& f, uint64_t x);
uint32_t of_operands(const Format& f, std::initializer_list<uint64_t> operands);

// Rounding by MODE's fields for a format, or as told.
struct Rounding {
  mpfr_rnd_t direction;
  bool keeps_denormals;
};
Rounding rounding_for(const Format& to, RuntimeFloatMode mode);

// What a computation raises that MPFR does on numbers.
uint32_t of_computation(const Format& to, Rounding rounding, Number* operands, const Compute& compute);

// Operands in `from` flushed by mode, a NaN among them ends it, result rounded to `to`.
uint32_t of_calculation(const Format& from, const Format& to, RuntimeFloatMode mode,
                        std::initializer_list<uint64_t> operands, const Compute& compute);

uint32_t of_sum(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b);
uint32_t of_product(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b);
uint32_t of_fma(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c);
uint32_t of_fma_dx9(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c);
uint32_t of_ldexp(const Format& f, RuntimeFloatMode mode, uint64_t x, int64_t exponent);
uint32_t of_fraction(const Format& f, RuntimeFloatMode mode, uint64_t x);
uint32_t of_conversion(const Format& from, const Format& to, RuntimeFloatMode mode, uint64_t x);
uint32_t of_conversion_rtz(const Format& from, const Format& to, RuntimeFloatMode mode, uint64_t x);
uint32_t of_integer(const Format& to, RuntimeFloatMode mode, int64_t value);
uint32_t to_integer(const Format& from, RuntimeFloatMode mode, uint64_t x, int64_t least, int64_t greatest,
                    bool clamp);
uint32_t of_div_fixup(const Format& f, RuntimeFloatMode mode, uint64_t denominator, uint64_t numerator);
uint32_t of_div_fmas(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c, bool vcc);
// x[i] is of format f[i].
uint32_t of_mix(const Format* f, RuntimeFloatMode mode, const uint64_t* x, bool to_half);

// `result` is what the instruction returned; `function` gives the true value to the precision of its
// argument.
uint32_t of_function(const Format& f, bool keeps_denormals, uint64_t x, uint64_t result,
                     const Compute& function);
uint32_t of_dot(const Format& elements, const Format& to, RuntimeFloatMode mode, const uint64_t* x,
                uint64_t result);

}  // namespace lockstep::semantics::testing

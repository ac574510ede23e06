// What a float instruction should give, by MPFR and by plain rules on encodings: rounding, denormals and NaNs
// in every MODE. Slow, scalar, and written without a look at numeric/.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <functional>
#include <initializer_list>

#include "numeric/float_mode.h"

namespace lockstep::semantics::testing {

struct Format {
  unsigned bits, fraction;
  int bias;

  constexpr uint64_t sign() const { return 1ull << (bits - 1); }
  constexpr uint64_t infinity() const { return sign() - (1ull << fraction); }
  constexpr uint64_t quiet() const { return 1ull << (fraction - 1); }
  constexpr uint64_t default_nan() const { return sign() | infinity() | quiet(); }
  constexpr uint64_t least_normal() const { return 1ull << fraction; }
  constexpr uint64_t magnitude(uint64_t x) const { return x & (sign() - 1); }
  constexpr bool is_nan(uint64_t x) const { return magnitude(x) > infinity(); }
  constexpr bool is_signalling(uint64_t x) const { return is_nan(x) && !(x & quiet()); }
  constexpr bool is_negative(uint64_t x) const { return x & sign(); }
  constexpr bool is_denormal(uint64_t x) const { return magnitude(x) && magnitude(x) < least_normal(); }

  constexpr Round round(RuntimeFloatMode mode) const {
    return bits == 32 ? mode.round_f32() : mode.round_f16_f64();
  }
  constexpr bool keeps_in(RuntimeFloatMode mode) const {
    return bits == 32 ? mode.denorm_in_f32() : mode.denorm_in_f16_f64();
  }
  constexpr bool keeps_out(RuntimeFloatMode mode) const {
    return bits == 32 ? mode.denorm_out_f32() : mode.denorm_out_f16_f64();
  }
  constexpr uint64_t flush_in(uint64_t x, RuntimeFloatMode mode) const {
    return is_denormal(x) && !keeps_in(mode) ? x & sign() : x;
  }
  constexpr uint64_t quieted(uint64_t x, RuntimeFloatMode mode) const {
    return is_nan(x) && mode.ieee() ? x | quiet() : x;
  }
};
inline constexpr Format kHalf{16, 10, 15}, kSingle{32, 23, 127}, kDouble{64, 52, 1023};

class Number {
 public:
  Number() { mpfr_init2(value_, 256); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  operator mpfr_ptr() { return value_; }

 private:
  mpfr_t value_;
};

void decode(const Format& format, uint64_t bits, mpfr_ptr out);
double to_double(const Format& format, uint64_t bits);
// The encoding of a value that fits exactly.
uint64_t encode(const Format& format, mpfr_ptr value);

// Sets its first argument from the others with the given rounding; returns MPFR's ternary value.
using Compute = std::function<int(mpfr_ptr result, Number* operands, mpfr_rnd_t rounding)>;

// Flushes operands, lets the first NaN win, computes with one rounding, flushes the result. `from` is the
// format of the operands, `to` that of the result.
uint64_t calculate(const Format& from, const Format& to, RuntimeFloatMode mode,
                   std::initializer_list<uint64_t> operands, const Compute& compute);
inline uint64_t calculate(const Format& format, RuntimeFloatMode mode,
                          std::initializer_list<uint64_t> operands, const Compute& compute) {
  return calculate(format, format, mode, operands, compute);
}
uint64_t round_integer(const Format& to, RuntimeFloatMode mode, int64_t value);

uint64_t add(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b);
uint64_t mul(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b);
uint64_t fma(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c);
uint64_t least(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b);
uint64_t greatest(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b);
uint64_t median(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c);

}  // namespace lockstep::semantics::testing

// What a float operation should give, computed by MPFR one lane at a time, and the inputs worth trying.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "numeric/float_mode.h"
#include "numeric/format.h"
#include "numeric/lanes.h"

namespace lockstep::numeric::oracle {

// A binary format as MPFR sees it; values travel as bit patterns in uint64_t.
struct Format {
  const char* name;
  int fraction;  // stored bits
  int bias;
  int width;

  uint64_t sign() const { return uint64_t{1} << (width - 1); }
  uint64_t magnitude() const { return sign() - 1; }
  uint64_t infinity() const { return magnitude() & ~((uint64_t{1} << fraction) - 1); }
  uint64_t quiet() const { return uint64_t{1} << (fraction - 1); }
  uint64_t min_normal() const { return uint64_t{1} << fraction; }
  uint64_t default_nan() const { return sign() | infinity() | quiet(); }
  uint64_t one() const { return static_cast<uint64_t>(bias) << fraction; }

  bool is_nan(uint64_t x) const { return (x & magnitude()) > infinity(); }
  bool is_signalling(uint64_t x) const { return is_nan(x) && (x & quiet()) == 0; }
  bool is_infinite(uint64_t x) const { return (x & magnitude()) == infinity(); }
  bool is_finite(uint64_t x) const { return (x & magnitude()) < infinity(); }
  bool is_zero(uint64_t x) const { return (x & magnitude()) == 0; }
  bool is_tiny(uint64_t x) const { return (x & magnitude()) < min_normal(); }
  bool is_negative(uint64_t x) const { return (x & sign()) != 0; }
  uint64_t flush(uint64_t x) const { return is_tiny(x) ? x & sign() : x; }
  double value(uint64_t x) const;
};

extern const Format kF16;
extern const Format kF32;
extern const Format kF64;

template <class Float>
const Format& format_of() {
  if constexpr (sizeof(Float) == sizeof(F16)) return kF16;
  if constexpr (sizeof(Float) == sizeof(F32)) return kF32;
  if constexpr (sizeof(Float) == sizeof(F64)) return kF64;
}

// The part of MODE that concerns one format.
struct LaneMode {
  Round round;
  bool denorm_in;
  bool denorm_out;
  bool ieee;
  bool dx10_clamp;
  bool fp16_overflow_clamps;
};
LaneMode lane_mode(const Format& format, uint32_t mode);

// An MPFR number that frees itself.
class Real {
 public:
  explicit Real(int precision) { mpfr_init2(value_, precision); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  operator mpfr_ptr() { return value_; }

 private:
  mpfr_t value_;
};
void set_exact(mpfr_ptr to, const Format& format, uint64_t x);

// `value` was rounded to the format's precision with unbounded exponent, `ternary` is MPFR's. Gives the
// encoding: flushed, denormal, overflowed as the mode says.
uint64_t encode(const Format& format, mpfr_ptr value, int ternary, Round round, bool keeps_denormals,
                bool overflow_clamps);

// Rounds any exact number.
uint64_t round_exact(const Format& format, mpfr_ptr exact, Round round, bool keeps_denormals,
                     bool overflow_clamps = false);

uint64_t first_nan(const Format& format, std::span<const uint64_t> operands, bool ieee);

uint64_t add(const Format& format, uint64_t a, uint64_t b, uint32_t mode);
uint64_t sub(const Format& format, uint64_t a, uint64_t b, uint32_t mode);
uint64_t mul(const Format& format, uint64_t a, uint64_t b, uint32_t mode);
uint64_t fma(const Format& format, uint64_t a, uint64_t b, uint64_t c, uint32_t mode);
uint64_t ldexp(const Format& format, uint64_t a, int32_t exponent, uint32_t mode);
uint64_t fract(const Format& format, uint64_t a, uint32_t mode);

// ---- Inputs ----

// Zeros, denormals, powers of two around rounding points, extremes, infinities, quiet and signalling NaNs
// with payloads.
std::vector<uint64_t> edges(const Format& format);
// A shorter list, for three operands.
std::vector<uint64_t> few_edges(const Format& format);
// Random encodings with a bias to close exponents, few significant bits and the ends of the range.
uint64_t random_input(const Format& format, std::mt19937_64& random);

// Every combination of rounding, denormals, IEEE (bits 3:0, 7:4, 9), with DX10_CLAMP set and FP16_OVFL clear.
std::vector<uint32_t> all_modes();

std::string mode_text(uint32_t mode);

// ---- Chunks ----

template <class Vector>
Vector vector_of(std::span<const uint64_t> lanes) {
  Vector result;
  constexpr size_t size = sizeof(Vector) / kLanesPerChunk;
  for (unsigned i = 0; i < kLanesPerChunk; ++i) {
    const uint64_t lane = i < lanes.size() ? lanes[i] : 0;
    std::memcpy(reinterpret_cast<char*>(&result) + i * size, &lane, size);
  }
  return result;
}
template <class Vector>
uint64_t lane_of(const Vector& vector, unsigned i) {
  constexpr size_t size = sizeof(Vector) / kLanesPerChunk;
  uint64_t lane = 0;
  std::memcpy(&lane, reinterpret_cast<const char*>(&vector) + i * size, size);
  return lane;
}

}  // namespace lockstep::numeric::oracle

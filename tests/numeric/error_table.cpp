// lockstep-numeric-errors: prints docs/arithmetic.md, the errors of the transcendental instructions against
// correctly rounded results: F32 over all 2^32 inputs, F16 over all 2^16, F64 over a sample.
//
// The truth of an F32 or F16 result is computed in F64, with a relative error below 2^-50. That tells the
// correctly rounded result unless the truth lies within 2^-24 units in the last place of the middle between
// two floats; MPFR decides there.
#include <mpfr.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "numeric/fast_transcendental.h"
#include "numeric/transcendental.h"

namespace lockstep::numeric {
namespace {

constexpr DefaultFloatMode kMode;

// A binary format whose numbers are doubles too.
struct Format {
  const char* name;
  int precision, least_exponent, most_exponent;  // of normal numbers
  unsigned bits;
};
constexpr Format kSingle{"F32", 24, -126, 127, 32}, kHalf{"F16", 11, -14, 15, 16};

using Truth = double (*)(double);
using Exact = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

// The sine of x turns: all but the last product and the sine are exact.
double sine_of_turns(double x, int quarters) {
  const double turn = x - std::rint(x);
  const double quarter = std::rint(4 * turn);
  const double angle = (turn - quarter / 4) * 6.283185307179586476925;
  switch ((static_cast<int>(quarter) + quarters) & 3) {
    case 0:
      return std::sin(angle);
    case 1:
      return std::cos(angle);
    case 2:
      return -std::sin(angle);
    default:
      return -std::cos(angle);
  }
}

struct Function {
  const char* name;
  Truth truth;
  Exact exact;
  bool keeps_denormals;  // of F32, by MODE
  F32 (*single)(F32);
  F16 (*half)(F16);
  F32 (*quick)(F32);
};

#define LOCKSTEP_FORMS(function)                                                                        \
  [](F32 x) { return numeric::function(x, kMode); }, [](F16 x) { return numeric::function(x, kMode); }, \
      [](F32 x) { return numeric::fast::function(x, kMode); }
const Function kFunctions[] = {
    {"v_rcp", [](double x) { return 1 / x; },
     [](mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t round) { return mpfr_ui_div(r, 1, x, round); }, false,
     LOCKSTEP_FORMS(rcp)},
    {"v_rsq", [](double x) { return 1 / std::sqrt(x); }, mpfr_rec_sqrt, false, LOCKSTEP_FORMS(rsq)},
    {"v_sqrt", [](double x) { return std::sqrt(x); }, mpfr_sqrt, false, LOCKSTEP_FORMS(sqrt)},
    {"v_exp", [](double x) { return std::exp2(x); }, mpfr_exp2, false, LOCKSTEP_FORMS(exp2)},
    {"v_log", [](double x) { return std::log2(x); }, mpfr_log2, false, LOCKSTEP_FORMS(log2)},
    {"v_sin", [](double x) { return sine_of_turns(x, 0); },
     [](mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t round) { return mpfr_sinu(r, x, 1, round); }, true,
     LOCKSTEP_FORMS(sin)},
    {"v_cos", [](double x) { return sine_of_turns(x, 1); },
     [](mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t round) { return mpfr_cosu(r, x, 1, round); }, true,
     LOCKSTEP_FORMS(cos)},
};
#undef LOCKSTEP_FORMS

struct Number {
  mpfr_t value;
  explicit Number(int precision) { mpfr_init2(value, precision); }
  ~Number() { mpfr_clear(value); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
};

struct Errors {
  uint64_t compared = 0;     // finite results that are no zeros
  uint64_t wrong = 0;        // of them, not the correctly rounded one
  uint64_t ambiguous = 0;    // asked MPFR
  uint64_t bad_special = 0;  // zeros, infinities, NaNs, flushed results that should be something else
  double worst = -1, worst_absolute = 0;
  uint32_t worst_input = 0, worst_result = 0;
  double worst_rounded = 0;

  void add(const Errors& other) {
    compared += other.compared;
    wrong += other.wrong;
    ambiguous += other.ambiguous;
    bad_special += other.bad_special;
    worst_absolute = std::max(worst_absolute, other.worst_absolute);
    if (other.worst > worst) {
      worst = other.worst;
      worst_input = other.worst_input;
      worst_result = other.worst_result;
      worst_rounded = other.worst_rounded;
    }
  }
};

// Rounds the exact result to units of 2^exponent.
double rounded_exactly(const Function& function, double x, int exponent) {
  Number source(53), result(400);
  mpfr_set_d(source.value, x, MPFR_RNDN);
  function.exact(result.value, source.value, MPFR_RNDN);
  mpfr_mul_2si(result.value, result.value, -exponent, MPFR_RNDN);
  mpfr_rint(result.value, result.value, MPFR_RNDN);
  return mpfr_get_d(result.value, MPFR_RNDN);
}

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// `x` is what the instruction sees, `result` what it gave.
void judge(const Function& function, const Format& format, bool flushes, double x, uint32_t input,
           uint32_t result_bits, double result, Errors& errors) {
  const double truth = function.truth(x);
  if (std::isnan(truth) || truth == 0 || std::isinf(truth)) {
    errors.bad_special += std::isnan(truth) ? !std::isnan(result) : !(result == truth);
    return;
  }
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(truth) >> 52 & 0x7ff) - 1023;
  const int unit = std::max(exponent, format.least_exponent) - (format.precision - 1);
  const double position = truth * power_of_two(-unit);
  double rounded = std::rint(position);
  if (std::fabs(std::fabs(position - std::trunc(position)) - 0.5) < 0x1p-24) {
    ++errors.ambiguous;
    rounded = rounded_exactly(function, x, unit);
  }
  const double value = rounded * power_of_two(unit);
  if (std::fabs(value) >= power_of_two(format.most_exponent) * 2) {
    errors.bad_special += !(std::isinf(result) && std::signbit(result) == std::signbit(value));
    return;
  }
  if (flushes && std::fabs(value) < power_of_two(format.least_exponent)) {
    errors.bad_special += result != 0;
    return;
  }
  if (!std::isfinite(result)) {
    ++errors.bad_special;
    return;
  }
  ++errors.compared;
  errors.wrong += result != value;
  const double error = std::fabs(result * power_of_two(-unit) - position);
  errors.worst_absolute = std::max(errors.worst_absolute, std::fabs(result - truth));
  if (error > errors.worst) {
    errors.worst = error;
    errors.worst_input = input;
    errors.worst_result = result_bits;
    errors.worst_rounded = value;
  }
}

// FNV-1a's constants over whole words, as in the digests of the captures.
struct Digest {
  uint64_t value = 14695981039346656037u;
  void add(uint32_t word) { value = (value ^ word) * 1099511628211u; }
};

constexpr unsigned kBlockBits = 24;

Errors block_of_singles(const Function& function, bool quick, uint32_t block, uint64_t& digest_out) {
  Errors errors;
  Digest digest;
  const U32 lanes = lane_numbers();
  for (uint32_t i = 0; i < 1u << kBlockBits; i += kLanesPerChunk) {
    const U32 input = lanes + ((block << kBlockBits) + i);
    const F32 source = bits_as<F32>(input), result = quick ? function.quick(source) : function.single(source);
    const U32 bits = bits_as<U32>(result);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      digest.add(bits[lane]);
      double x = source[lane];
      if (std::isnan(x)) continue;
      if (!function.keeps_denormals && std::fabs(x) < 0x1p-126) x = std::copysign(0.0, x);
      judge(function, kSingle, !function.keeps_denormals, x, input[lane], bits[lane], result[lane], errors);
    }
  }
  digest_out = digest.value;
  return errors;
}

Errors all_singles(const Function& function, bool quick, unsigned jobs, uint64_t& digest_out) {
  constexpr unsigned kBlocks = 1u << (32 - kBlockBits);
  Errors errors;
  std::vector<uint64_t> digests(kBlocks);
  std::atomic<uint32_t> next = 0;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (unsigned job = 0; job < jobs; ++job)
    threads.emplace_back([&] {
      for (uint32_t block; (block = next++) < kBlocks;) {
        const Errors found = block_of_singles(function, quick, block, digests[block]);
        const std::lock_guard lock(mutex);
        errors.add(found);
      }
      mpfr_free_cache();
    });
  for (std::thread& thread : threads) thread.join();
  Digest all;
  for (const uint64_t digest : digests) {
    all.add(static_cast<uint32_t>(digest));
    all.add(static_cast<uint32_t>(digest >> 32));
  }
  digest_out = all.value;
  return errors;
}

Errors all_halves(const Function& function) {
  Errors errors;
  for (uint32_t first = 0; first < 65536; first += kLanesPerChunk) {
    U16 input;
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) input[lane] = static_cast<uint16_t>(first + lane);
    const F16 source = bits_as<F16>(input), result = function.half(source);
    const U16 bits = bits_as<U16>(result);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      const auto x = static_cast<double>(source[lane]);
      if (std::isnan(x)) continue;
      judge(function, kHalf, false, x, input[lane], bits[lane], static_cast<double>(result[lane]), errors);
    }
  }
  return errors;
}

// The claim that the truths are good to 2^-50, on a sample.
void check_truths() {
  std::mt19937_64 random(5);
  for (const Function& function : kFunctions) {
    for (int i = 0; i < 100000; ++i) {
      const auto x = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(random())));
      const double truth = function.truth(x);
      if (!std::isnormal(truth)) continue;
      Number source(53), exact(200);
      mpfr_set_d(source.value, x, MPFR_RNDN);
      function.exact(exact.value, source.value, MPFR_RNDN);
      mpfr_d_sub(exact.value, truth, exact.value, MPFR_RNDN);
      mpfr_div_d(exact.value, exact.value, truth, MPFR_RNDN);
      if (std::fabs(mpfr_get_d(exact.value, MPFR_RNDN)) < 0x1p-50) continue;
      fprintf(stderr,
              "lockstep-numeric-errors: %s of %a: this host's mathematical library errs by more than 2^-50\n",
              function.name, x);
      exit(1);
    }
  }
}

void print_errors(const Function& function, const Format& format, const Errors& e) {
  const int digits = static_cast<int>(format.bits / 4);
  const double rounded = e.worst_rounded;
  const uint32_t expected = format.bits == 32 ? std::bit_cast<uint32_t>(static_cast<float>(rounded))
                                              : std::bit_cast<uint16_t>(static_cast<_Float16>(rounded));
  printf("| %s_%s | %llu | %llu (%.2f %%) | %.4f | `%0*x` | `%0*x` | `%0*x` | %.3g |", function.name,
         format.bits == 32 ? "f32" : "f16", static_cast<unsigned long long>(e.compared),
         static_cast<unsigned long long>(e.wrong),
         100.0 * static_cast<double>(e.wrong) / static_cast<double>(e.compared), e.worst, digits,
         e.worst_input, digits, e.worst_result, digits, expected, e.worst_absolute);
  if (e.bad_special) {
    fprintf(stderr, "%s_%s: %llu zeros, infinities or NaNs are wrong\n", function.name, format.name,
            static_cast<unsigned long long>(e.bad_special));
    exit(1);
  }
}

void print_doubles() {
  struct Form {
    const char* name;
    F64 (*chunk)(F64);
    Exact exact;
    bool keeps_sign;
  };
  const Form forms[] = {
      {"v_rcp_f64", [](F64 x) { return rcp(x, kMode); }, kFunctions[0].exact, true},
      {"v_rsq_f64", [](F64 x) { return rsq(x, kMode); }, kFunctions[1].exact, false},
      {"v_sqrt_f64", [](F64 x) { return numeric::sqrt(x, kMode); }, kFunctions[2].exact, false},
  };
  constexpr unsigned kSample = 1u << 22;
  for (const Form& form : forms) {
    std::mt19937_64 random(64);
    double worst = 0;
    uint64_t wrong = 0, worst_input = 0, compared = 0;
    for (unsigned i = 0; i < kSample; i += kLanesPerChunk) {
      F64 x;
      for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
        // A half of the numbers over all exponents, a half over two binades, where nothing overflows.
        uint64_t bits = random();
        if (lane & 1) bits = (bits & 0x801fffffffffffffu) + 0x3fe0000000000000u;
        if (!form.keeps_sign) bits &= ~(uint64_t{1} << 63);
        x[lane] = std::bit_cast<double>(bits);
      }
      const F64 result = form.chunk(x);
      for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
        const double source = x[lane];
        if (!std::isnormal(source) || !std::isnormal(result[lane])) continue;
        Number input(53), truth(200);
        mpfr_set_d(input.value, source, MPFR_RNDN);
        form.exact(truth.value, input.value, MPFR_RNDN);
        ++compared;
        wrong += mpfr_get_d(truth.value, MPFR_RNDN) != result[lane];
        const mpfr_exp_t unit = mpfr_get_exp(truth.value) - 53;
        mpfr_sub_d(truth.value, truth.value, result[lane], MPFR_RNDN);
        mpfr_mul_2si(truth.value, truth.value, -unit, MPFR_RNDN);
        const double error = std::fabs(mpfr_get_d(truth.value, MPFR_RNDN));
        if (error <= worst) continue;
        worst = error;
        worst_input = std::bit_cast<uint64_t>(source);
      }
    }
    printf("| %s | %llu | %llu (%.4f %%) | %.6f | `%016llx` |\n", form.name,
           static_cast<unsigned long long>(compared), static_cast<unsigned long long>(wrong),
           100.0 * static_cast<double>(wrong) / static_cast<double>(compared), worst,
           static_cast<unsigned long long>(worst_input));
  }
}

void print_singles(bool quick, unsigned jobs) {
  printf(R"(
| instruction | compared | not correctly rounded | largest error, ulp | at | result | rounded | largest absolute error | digest of all results |
|---|---|---|---|---|---|---|---|---|
)");
  fflush(stdout);
  for (const Function& function : kFunctions) {
    uint64_t digest = 0;
    const Errors errors = all_singles(function, quick, jobs, digest);
    print_errors(function, kSingle, errors);
    printf(" `%016llx` |\n", static_cast<unsigned long long>(digest));
    fflush(stdout);
    if (quick && errors.worst > 1) {
      fprintf(stderr, "%s_f32 of --math fast errs by more than one unit\n", function.name);
      exit(1);
    }
  }
}

void print_page(unsigned jobs) {
  printf(R"(# Errors of the transcendental instructions

Generated by `make arithmetic` (`lockstep-numeric-errors`, `tests/numeric/error_table.cpp`). It compares what Lockstep
gives with the correctly rounded result of the mathematical function. An error here is no bug: Lockstep gives the card's
bits (`LOCKSTEP_EXHAUSTIVE=1` makes `test_numeric` compare all 2^32 inputs with the captured rules), and the card does
not round correctly. How sure each one is stands in [isa.md](isa.md).

Errors are in units in the last place (ulp) of the result's binade. Not compared are NaNs, zeros, infinities and results
that are flushed; those are checked to be what IEEE 754 says of the argument, where denormal arguments count as zeros and
denormal results become zeros, except for V_SIN and V_COS, whose arguments count turns.

## F32, all 2^32 arguments, default MODE
)");
  print_singles(false, jobs);
  printf(R"(
The digest is FNV-1a's, `h = (h ^ word) * 1099511628211` from 14695981039346656037, over the result bits in the order of
the arguments' bits: one for each block of 2^24 arguments, then over the 256 of them, low word first. NaNs are quieted.

V_SIN and V_COS compute from the argument's fraction, truncated to 2^-31 turns, and round toward zero: where the value is
small the error is several ulp, and tiny in absolute terms.

## F16, all 2^16 arguments, default MODE (denormals kept)

| instruction | compared | not correctly rounded | largest error, ulp | at | result | rounded | largest absolute error |
|---|---|---|---|---|---|---|---|
)");
  for (const Function& function : kFunctions) {
    print_errors(function, kHalf, all_halves(function));
    printf("\n");
  }
  printf(R"(
## F32 with `--math fast`, all 2^32 arguments, default MODE

What `lockstep run --math fast` puts in the place of the card's bits, a few times quicker and at most one ulp off.
The forms of F16 and F64 stay as they are.
)");
  print_singles(true, jobs);
  printf(R"(
## F64, a sample of 2^22 arguments, half of them over all exponents

The bits of the card are not captured; the guide promises an error below 2^29 ulp. Lockstep's bounds are 0.5 ulp for
V_RCP_F64 and V_SQRT_F64, which round correctly, and 0.51 ulp for V_RSQ_F64.

| instruction | compared | not correctly rounded | largest error, ulp | at |
|---|---|---|---|---|
)");
  print_doubles();
}

}  // namespace
}  // namespace lockstep::numeric

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? atoi(argv[1]) : 1;
  if (jobs < 1 || jobs > 256) {
    fprintf(stderr, "usage: lockstep-numeric-errors [THREADS] > docs/arithmetic.md\n");
    return 2;
  }
  lockstep::numeric::check_truths();
  lockstep::numeric::print_page(static_cast<unsigned>(jobs));
  return 0;
}

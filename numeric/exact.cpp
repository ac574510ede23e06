// MXCSR is set around calls to the workers of host_float.h, so that the host rounds, flushes and detects
// tininess as the GPU does: both decide on the value rounded with unbounded exponent. Halves are computed in
// F32 and narrowed here.
#include "numeric/exact.h"

#include <iterator>

#include "numeric/arithmetic.h"
#include "numeric/host_float.h"
#include "numeric/quotient.h"
#include "numeric/ratio.h"
#include "numeric/square_root.h"

namespace lockstep::numeric {
namespace {

// Sets rounding, flush-to-zero and denormals-are-zero of the host while it lives.
class HostFloatControl {
 public:
  HostFloatControl(Round round, bool keeps_input_denormals, bool keeps_output_denormals)
      : saved_(__builtin_ia32_stmxcsr()) {
    constexpr uint32_t kAllMasked = 0x1f80;
    constexpr uint32_t kDenormalsAreZero = 1u << 6;
    constexpr uint32_t kFlushToZero = 1u << 15;
    // Host codes: 0 nearest, 1 down, 2 up, 3 zero.
    constexpr uint32_t kHostRound[4] = {0, 2, 1, 3};
    __builtin_ia32_ldmxcsr(kAllMasked | kHostRound[static_cast<unsigned>(round)] << 13 |
                           (keeps_input_denormals ? 0 : kDenormalsAreZero) |
                           (keeps_output_denormals ? 0 : kFlushToZero));
  }
  ~HostFloatControl() { __builtin_ia32_ldmxcsr(saved_); }
  HostFloatControl(const HostFloatControl&) = delete;
  HostFloatControl& operator=(const HostFloatControl&) = delete;

 private:
  uint32_t saved_;
};

template <class Float>
HostFloatControl control_for(RuntimeFloatMode mode) {
  using L = Layout<Float>;
  return HostFloatControl(L::round(mode), L::keeps_input_denormals(mode), L::keeps_output_denormals(mode));
}

// Rounds to half by MODE. `wide` must be exact, or rounded by the same directed rounding, or rounded to odd.
// `finite_source` says in which lanes an infinite result is an overflow.
F16 narrow(F32 wide, I16 finite_source, RuntimeFloatMode mode) {
  using L = Layout<F16>;
  F16 result;
  F16 unbounded;
  // Scaled by 2^20, a tiny value rounds as it would with unbounded exponent.
  const I32 maybe_tiny = magnitude(wide) < 0x39000000;
  const F32 scaled = maybe_tiny ? wide * 0x1p20f : F32(1.0f);
  {
    const HostFloatControl control(mode.round_f16_f64(), true, true);
    host::narrow(&wide, &result);
    host::narrow(&scaled, &unbounded);
  }
  if (!mode.denorm_out_f16_f64()) {
    constexpr int16_t kScaledMinNormal = (L::kBias + 20 - 14) << L::kFraction;
    const I16 tiny = convert<I16>(maybe_tiny) & (magnitude(unbounded) < I16(kScaledMinNormal));
    result = bits_as<F16>(tiny ? to_bits(result) & L::kSign : to_bits(result));
  }
  if (mode.fp16_overflow_clamps()) {
    const I16 overflow = infinite_lanes(result) & finite_source;
    result = bits_as<F16>(overflow ? to_bits(result) - 1 : to_bits(result));
  }
  return result;
}

I16 finite(F16 x) {
  return magnitude(x) < I16(Layout<F16>::kInfinity);
}

using Binary32 = void (*)(const F32*, const F32*, F32*);
using Binary64 = void (*)(const F64*, const F64*, F64*);

template <class Float, class Worker>
Float binary(Float a, Float b, Worker worker, RuntimeFloatMode mode) {
  Float result;
  const auto control = control_for<Float>(mode);
  worker(&a, &b, &result);
  return result;
}
F16 binary(F16 a, F16 b, Binary32 worker, RuntimeFloatMode mode) {
  const I16 finite_source = finite(a) & finite(b);
  const F32 wide_a = convert<F32>(flush_input(a, mode));
  const F32 wide_b = convert<F32>(flush_input(b, mode));
  F32 wide;
  {
    const HostFloatControl control(mode.round_f16_f64(), true, true);
    worker(&wide_a, &wide_b, &wide);
  }
  return narrow(wide, finite_source, mode);
}

template <class Float>
Float binary_or_nan(Float a, Float b, Float result, RuntimeFloatMode mode) {
  return nan_lanes(result) ? first_nan(a, b, mode) : result;
}

template <class Float>
Float exact_fma_of(Float a, Float b, Float c, RuntimeFloatMode mode) {
  a = flush_input(a, mode);
  b = flush_input(b, mode);
  c = flush_input(c, mode);
  Float result;
  if constexpr (sizeof(Float) == sizeof(F16)) {
    F32 wide;
    if (mode.round_f16_f64() == Round::nearest_even) {
      wide = detail::half_fma_rounded_to_odd(a, b, c);
    } else {
      const F32 wide_a = convert<F32>(a);
      const F32 wide_b = convert<F32>(b);
      const F32 wide_c = convert<F32>(c);
      const HostFloatControl control(mode.round_f16_f64(), true, true);
      host::fma(&wide_a, &wide_b, &wide_c, &wide);
    }
    result = narrow(wide, finite(a) & finite(b) & finite(c), mode);
  } else {
    const auto control = control_for<Float>(mode);
    host::fma(&a, &b, &c, &result);
  }
  const Float invalid = first_nan(a, b, mode);
  const Float nan =
      nan_lanes(a) | nan_lanes(b) | detail::invalid_product(a, b) ? invalid : first_nan(c, mode);
  return nan_lanes(result) ? nan : result;
}

template <class Float>
Float exact_ldexp_of(Float x, I32 exponent, RuntimeFloatMode mode) {
  x = flush_input(x, mode);
  Float result;
  if constexpr (sizeof(Float) == sizeof(F16)) {
    result = narrow(detail::wide_ldexp(x, exponent), finite(x), mode);
  } else {
    // Inputs were flushed, and normalizing a denormal needs the host to read it.
    const HostFloatControl control(Layout<Float>::round(mode), true,
                                   Layout<Float>::keeps_output_denormals(mode));
    host::scale(&x, &exponent, &result);
  }
  return nan_lanes(x) ? quiet(x, mode) : result;
}

template <class Float>
Float exact_fract_of(Float x, RuntimeFloatMode mode) {
  using L = Layout<Float>;
  x = flush_input(x, mode);
  const Float whole = detail::round_with(
      x, [](auto y) __attribute__((always_inline)) { return __builtin_elementwise_floor(y); });
  Float fraction;
  if constexpr (sizeof(Float) == sizeof(F16)) {
    fraction = binary(x, whole, static_cast<Binary32>(host::sub), mode);
  } else {
    fraction = binary(x, whole, static_cast<void (*)(const Float*, const Float*, Float*)>(host::sub), mode);
  }
  // A difference of 0 is +0 whatever the rounding: fract is the non-negative residue.
  const IntOf<Float> bits = bits_as<IntOf<Float>>(zero_lanes(fraction) ? Float(0) : fraction);
  const IntOf<Float> below_one = IntOf<Float>(L::kOne - 1);
  const Float clamped = bits_as<Float>(bits > below_one ? below_one : bits);
  return magnitude(x) >= IntOf<Float>(L::kInfinity) ? first_nan(x, mode) : clamped;
}

}  // namespace
}  // namespace lockstep::numeric

using lockstep::F16;
using lockstep::F32;
using lockstep::F64;
using lockstep::I16;
using lockstep::I32;
using lockstep::RuntimeFloatMode;
using lockstep::U16;
using lockstep::U32;
namespace numeric = lockstep::numeric;

extern "C" {

#define LOCKSTEP_DEFINE(type, Type, wide)                                                                    \
  void lockstep_exact_add_##type(const Type* a, const Type* b, uint32_t mode, Type* result) {                \
    const RuntimeFloatMode m{mode};                                                                          \
    *result = numeric::binary_or_nan(*a, *b,                                                                 \
                                     numeric::binary(*a, *b, static_cast<wide>(numeric::host::add), m), m);  \
  }                                                                                                          \
  void lockstep_exact_sub_##type(const Type* a, const Type* b, uint32_t mode, Type* result) {                \
    const RuntimeFloatMode m{mode};                                                                          \
    *result = numeric::binary_or_nan(*a, *b,                                                                 \
                                     numeric::binary(*a, *b, static_cast<wide>(numeric::host::sub), m), m);  \
  }                                                                                                          \
  void lockstep_exact_subrev_##type(const Type* a, const Type* b, uint32_t mode, Type* result) {             \
    const RuntimeFloatMode m{mode};                                                                          \
    *result = numeric::binary_or_nan(*a, *b,                                                                 \
                                     numeric::binary(*b, *a, static_cast<wide>(numeric::host::sub), m), m);  \
  }                                                                                                          \
  void lockstep_exact_mul_##type(const Type* a, const Type* b, uint32_t mode, Type* result) {                \
    const RuntimeFloatMode m{mode};                                                                          \
    *result = numeric::binary_or_nan(*a, *b,                                                                 \
                                     numeric::binary(*a, *b, static_cast<wide>(numeric::host::mul), m), m);  \
  }                                                                                                          \
  void lockstep_exact_fma_##type(const Type* a, const Type* b, const Type* c, uint32_t mode, Type* result) { \
    *result = numeric::exact_fma_of(*a, *b, *c, RuntimeFloatMode{mode});                                     \
  }                                                                                                          \
  void lockstep_exact_ldexp_##type(const Type* a, const I32* exponent, uint32_t mode, Type* result) {        \
    *result = numeric::exact_ldexp_of(*a, *exponent, RuntimeFloatMode{mode});                                \
  }                                                                                                          \
  void lockstep_exact_fract_##type(const Type* a, uint32_t mode, Type* result) {                             \
    *result = numeric::exact_fract_of(*a, RuntimeFloatMode{mode});                                           \
  }

LOCKSTEP_DEFINE(f32, F32, numeric::Binary32)
LOCKSTEP_DEFINE(f64, F64, numeric::Binary64)
LOCKSTEP_DEFINE(f16, F16, numeric::Binary32)

void lockstep_exact_cvt_f16_f32(const F32* a, uint32_t mode, F16* result) {
  const RuntimeFloatMode m{mode};
  const F32 x = numeric::flush_input(*a, m);
  const I32 finite_source = numeric::magnitude(x) < I32(numeric::Layout<F32>::kInfinity);
  *result = numeric::unquiet_narrowed(x, numeric::narrow(x, lockstep::convert<I16>(finite_source), m), m);
}

void lockstep_exact_cvt_f32_f64(const F64* a, uint32_t mode, F32* result) {
  const RuntimeFloatMode m{mode};
  {
    const numeric::HostFloatControl control(m.round_f32(), m.denorm_in_f16_f64(), m.denorm_out_f32());
    numeric::host::convert(a, result);
  }
  *result = numeric::unquiet_narrowed(*a, *result, m);
}

void lockstep_exact_cvt_f32_i32(const I32* a, uint32_t mode, F32* result) {
  const numeric::HostFloatControl control(RuntimeFloatMode{mode}.round_f32(), true, true);
  numeric::host::convert(a, result);
}

void lockstep_exact_cvt_f32_u32(const U32* a, uint32_t mode, F32* result) {
  const numeric::HostFloatControl control(RuntimeFloatMode{mode}.round_f32(), true, true);
  numeric::host::convert(a, result);
  // Without AVX-512 the compiler adds two parts, and 0 - 0 is -0 when rounding down.
  *result = *a == 0 ? F32(0) : *result;
}

// 16-bit integers are exact in F32, and at most 65535 rounds to an infinite half.
void lockstep_exact_cvt_f16_i16(const I16* a, uint32_t mode, F16* result) {
  *result =
      numeric::narrow(lockstep::convert<F32>(lockstep::convert<I32>(*a)), I16(-1), RuntimeFloatMode{mode});
}

void lockstep_exact_cvt_f16_u16(const U16* a, uint32_t mode, F16* result) {
  *result =
      numeric::narrow(lockstep::convert<F32>(lockstep::convert<I32>(*a)), I16(-1), RuntimeFloatMode{mode});
}

}  // extern "C"

namespace lockstep::numeric {

std::span<const ExactSymbol> exact_symbols() {
#define LOCKSTEP_SYMBOL(name) {#name, reinterpret_cast<void*>(&name)},
#define LOCKSTEP_TYPED_SYMBOL(name, type, Type) LOCKSTEP_SYMBOL(lockstep_exact_##name##_##type)
#define LOCKSTEP_CONVERSION_SYMBOL(name, From, To) LOCKSTEP_SYMBOL(lockstep_exact_##name)
#define LOCKSTEP_SETTLE_SYMBOL(name) LOCKSTEP_SYMBOL(lockstep_settle_##name)
#define LOCKSTEP_SYMBOLS_OF(type, Type)                    \
  LOCKSTEP_EXACT_UNARY(LOCKSTEP_TYPED_SYMBOL, type, Type)  \
  LOCKSTEP_EXACT_BINARY(LOCKSTEP_TYPED_SYMBOL, type, Type) \
  LOCKSTEP_SYMBOL(lockstep_exact_fma_##type)               \
  LOCKSTEP_SYMBOL(lockstep_exact_ldexp_##type)
  static const ExactSymbol kSymbols[] = {
      LOCKSTEP_SYMBOLS_OF(f32, F32) LOCKSTEP_SYMBOLS_OF(f64, F64) LOCKSTEP_SYMBOLS_OF(f16, F16)
          LOCKSTEP_EXACT_CONVERSIONS(LOCKSTEP_CONVERSION_SYMBOL) LOCKSTEP_EXACT_OTHERS(LOCKSTEP_SYMBOL)
              LOCKSTEP_SETTLED(LOCKSTEP_SETTLE_SYMBOL) LOCKSTEP_SYMBOL(lockstep_exact_quotient_f32)
                  LOCKSTEP_SYMBOL(lockstep_exact_quotient_f64) LOCKSTEP_SYMBOL(lockstep_exact_square_root_f32)
                      LOCKSTEP_SYMBOL(lockstep_exact_square_root_f64)
                          LOCKSTEP_SYMBOL(lockstep_exact_ratio_f32)
                              LOCKSTEP_SYMBOL(lockstep_exact_ratio_of_constant_f32)};
  return kSymbols;
}

}  // namespace lockstep::numeric

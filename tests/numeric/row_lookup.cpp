// Compiled for AVX-512, and called on hosts that have it: nothing of this file may be shared with others.
#include "tests/numeric/row_lookup.h"

#include <limits>

#include "numeric/convert.h"
#include "numeric/transcendental.h"
#include "numeric/transcendental_reference.h"

namespace lockstep::numeric {
namespace {

LOCKSTEP_INLINE int32_t different_lanes(I32 a, I32 b) {
  int32_t count = 0;
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) count += a[lane] != b[lane];
  return count;
}

template <unsigned count>
LOCKSTEP_INLINE int32_t differences(const detail::Rows<count>& table) {
  int32_t found = 0;
  // Neighbours differ in each of the lanes.
  for (uint32_t first = 0; first < count; ++first) {
    U32 index;
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) index[lane] = (first + lane * 5) % count;
    const detail::RowChunk a = detail::rows_by_loads(table, index),
                           b = detail::rows_by_permutes(table, index);
    found += different_lanes(a.c, b.c) + different_lanes(bits_as<I32>(a.l), bits_as<I32>(b.l)) +
             different_lanes(bits_as<I32>(a.q), bits_as<I32>(b.q)) +
             different_lanes(bits_as<I32>(a.k), bits_as<I32>(b.k));
  }
  return found;
}

// All significands, with exponents of both kinds, and numbers of all sizes.
template <class Function>
LOCKSTEP_INLINE int32_t wrong_results(Function function, uint32_t (*reference)(uint32_t)) {
  int32_t found = 0;
  const auto check = [&](uint32_t first, uint32_t step) __attribute__((always_inline)) {
    const U32 bits = first + step * lane_numbers();
    const U32 result = to_bits(function(bits_as<F32>(bits)));
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) found += result[lane] != reference(bits[lane]);
  };
  for (uint32_t first = 0x3f800000; first < 0x40800000; first += kLanesPerChunk) check(first, 1);
  constexpr uint32_t kStep = 0x4001;
  for (uint32_t i = 0; i < (1u << 31) / kStep * 2; i += kLanesPerChunk) check(i * kStep, kStep);
  return found;
}

template <class Integer>
F32 bits_as_float(Integer x) {
  return bits_as<F32>(x);
}
template <class Integer>
uint32_t saturated(uint32_t bits) {
  const double x = __builtin_bit_cast(float, bits);
  constexpr auto kLeast = std::numeric_limits<Integer>::min(), kMost = std::numeric_limits<Integer>::max();
  if (x != x) return 0;
  return static_cast<uint32_t>(x <= kLeast ? kLeast : x >= kMost ? kMost : static_cast<Integer>(x));
}

// Numbers of all kinds, by powers up to those that make the least one infinite, and the greatest zero.
template <class Float>
LOCKSTEP_INLINE int32_t wrong_scaled(Float (*exact)(Float, I32, uint32_t)) {
  using Bits = decltype(to_bits(Float{}));
  constexpr unsigned kStep = sizeof(Float) == sizeof(F32) ? 0x1003001 : 0x1003;
  int32_t found = 0;
  Bits bits = convert<Bits>(lane_numbers());
  const auto check = [&](I32 exponent) __attribute__((always_inline)) {
    const Float x = bits_as<Float>(bits);
    const Bits a = to_bits(detail::host_ldexp(x, exponent)),
               b = to_bits(exact(x, exponent, kDefaultFloatMode));
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) found += a[lane] != b[lane];
  };
  for (int exponent = -2200; exponent <= 2200; ++exponent, bits = bits * 0x9e3779b1 + kStep)
    check(I32(exponent));
  for (const int exponent : {INT32_MIN, INT32_MAX, 1 << 24, (1 << 24) + 1, -(1 << 24) - 1})
    check(I32(exponent));
  return found;
}

}  // namespace
}  // namespace lockstep::numeric

int32_t lockstep_test_row_lookups() {
  using namespace lockstep::numeric;
  return differences(detail::kRcpScaled) + differences(detail::kRsqScaled) +
         differences(detail::kSqrtScaled) + differences(detail::kExpScaled) +
         differences(detail::kLogScaled) + differences(detail::kSineCosineScaled);
}

int32_t lockstep_test_functions_by_masks() {
  using namespace lockstep::numeric;
  return wrong_results([](lockstep::F32 x) { return bits_as_float(f32_to_i32(x)); }, saturated<int32_t>) +
         wrong_results([](lockstep::F32 x) { return bits_as_float(f32_to_u32(x)); }, saturated<uint32_t>) +
         wrong_scaled<lockstep::F32>(exact_ldexp) + wrong_scaled<lockstep::F64>(exact_ldexp) +
         wrong_results([](lockstep::F32 x) { return rcp_f32(x, 0); }, reference::rcp) +
         wrong_results([](lockstep::F32 x) { return rsq_f32(x, 0); }, reference::rsq) +
         wrong_results([](lockstep::F32 x) { return sqrt_f32(x, 0); }, reference::sqrt) +
         wrong_results([](lockstep::F32 x) { return exp2_f32(x); }, reference::exp2);
}

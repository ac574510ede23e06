// What the inlined functions leave to others: sums next to a rounding border, and arguments that are no
// ordinary numbers.
#include "numeric/transcendental_f32.h"

#include <bit>

#include "numeric/transcendental_f32_corrections.h"
#include "numeric/transcendental_reference.h"

namespace lockstep::numeric {
namespace {

using L = Layout<F32>;

// Of RCP and RSQ, above the least significand, with the lists of results that the sums miss.
template <class Correct>
LOCKSTEP_INLINE U32 settled(U32 sum, U32 key, Correct correct) {
  I32 result = bits_as<I32>((sum - 1) >> 9);
  correct(key, bits_from_mask(mask_of((sum & 510) == 0)), result);
  return bits_as<U32>(result);
}

void by_rule(uint32_t (*rule)(uint32_t), F32 x, I32 lanes, U32& result) {
  for (uint32_t left = bits_from_mask(mask_of(lanes)); left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    result[lane] = rule(to_bits(x)[lane]);
  }
}

// Sums are next to a border where their lowest byte is zero.
LOCKSTEP_INLINE U32 power(uint32_t (*rule)(uint32_t), F32 x, U32 sum, U32 result) {
  const I32 size = magnitude(x), is_negative = negative_lanes(x);
  by_rule(rule, x, (sum & 255) == 0, result);
  const I32 least_extreme = is_negative ? I32(detail::kPowerUnderflow + 1) : I32(detail::kPowerOverflow);
  result = size >= least_extreme ? (is_negative ? U32(0) : U32(L::kInfinity)) : result;
  result = size < detail::kPowerTiny ? U32(L::kOne) : result;
  return nan_lanes(x) ? to_bits(x) : result;
}

}  // namespace
}  // namespace lockstep::numeric

using lockstep::F32;
using lockstep::I32;
using lockstep::U32;

void lockstep_complete_rcp(const F32* x, const U32* sum, uint32_t quiet, U32* result) {
  using namespace lockstep::numeric;
  const U32 bits = to_bits(*x), size = bits & L::kMagnitude, sign = bits & L::kSign;
  U32 completed = detail::rcp_bits(*x, settled(*sum, size & 0x7fffff, correct_rcp));
  completed = size > detail::kGreatestOfRcp ? sign : completed;
  completed = size < L::kMinNormal ? sign | L::kInfinity : completed;
  *result = size > L::kInfinity ? bits | quiet : completed;
}

void lockstep_complete_rsq(const F32* x, const U32* sum, uint32_t quiet, U32* result) {
  using namespace lockstep::numeric;
  const U32 bits = to_bits(*x), size = bits & L::kMagnitude, key = (size & 0xffffff) ^ 0x800000;
  const U32 above_least = key >= detail::kFirstKeyOfLast ? U32(0x800000 - detail::kLeastSignificand)
                                                         : settled(*sum, key, correct_rsq);
  U32 completed = detail::rsq_bits(*x, above_least);
  completed = negative_lanes(*x) ? U32(L::kDefaultNan) : completed;
  completed = bits == L::kInfinity ? U32(0) : completed;
  completed = size < L::kMinNormal ? (bits & L::kSign) | L::kInfinity : completed;
  *result = size > L::kInfinity ? bits | quiet : completed;
}

void lockstep_complete_sqrt(const F32* x, const U32* sum, uint32_t quiet, U32* result) {
  using namespace lockstep::numeric;
  const U32 bits = to_bits(*x), size = bits & L::kMagnitude;
  U32 completed = *result;
  by_rule(reference::sqrt, *x, (*sum & 511) == 0, completed);
  completed = negative_lanes(*x) ? U32(L::kDefaultNan) : completed;
  completed = size < L::kMinNormal ? bits & L::kSign : completed;
  completed = bits == L::kInfinity ? U32(L::kInfinity) : completed;
  *result = size > L::kInfinity ? bits | quiet : completed;
}

void lockstep_complete_exp2(const F32* x, const U32* sum, uint32_t /*quiet*/, U32* result) {
  using namespace lockstep::numeric;
  *result = power(reference::exp2, *x, *sum, *result);
}
void lockstep_complete_exp2_to_odd(const F32* x, const U32* sum, uint32_t /*quiet*/, U32* result) {
  using namespace lockstep::numeric;
  *result = power(reference::exp2_to_odd, *x, *sum, *result);
}

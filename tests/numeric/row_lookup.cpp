// Compiled for AVX-512, and called on hosts that have it: nothing of this file may be shared with others.
#include "tests/numeric/row_lookup.h"

#include "numeric/transcendental.h"

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

}  // namespace
}  // namespace lockstep::numeric

int32_t lockstep_test_row_lookups() {
  using namespace lockstep::numeric;
  return differences(detail::kRcpScaled) + differences(detail::kRsqScaled) +
         differences(detail::kSqrtScaled) + differences(detail::kExpScaled) +
         differences(detail::kLogScaled) + differences(detail::kSineCosineScaled);
}

// The few lanes that the inlined functions leave to others, one by one, by the rules.
#include "numeric/settle.h"

#include <bit>

#include "numeric/transcendental_reference.h"

namespace lockstep::numeric {
namespace {

template <class Rule>
void settle(Rule rule, const uint32_t* x, uint32_t lanes, uint32_t* result) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    result[lane] = rule(x[lane]);
  }
}

}  // namespace
}  // namespace lockstep::numeric

#define LOCKSTEP_DEFINE_SETTLE(name)                                                 \
  void lockstep_settle_##name(const uint32_t* x, uint32_t lanes, uint32_t* result) { \
    lockstep::numeric::settle(lockstep::numeric::reference::name, x, lanes, result); \
  }
LOCKSTEP_SETTLED(LOCKSTEP_DEFINE_SETTLE)
#undef LOCKSTEP_DEFINE_SETTLE

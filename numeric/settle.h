// Results of V_RCP_F32 and others in `lanes` of a chunk whose sums are next to a rounding border (see
// transcendental_f32.h). `x` and `result` have a word for each lane, `lanes` a bit. The functions use none of
// the host's vector registers, so that who calls them has nothing to store.
#pragma once

#include <cstdint>

// A call through a library's table of symbols could have the loader look the function up first, which does
// not keep all registers. Generated code has addresses.
#ifdef LOCKSTEP_HOST_IS_OPEN
#define LOCKSTEP_SETTLE_VISIBILITY "default"
#else
#define LOCKSTEP_SETTLE_VISIBILITY "hidden"
#endif
#define LOCKSTEP_SETTLE \
  __attribute__((noinline, cold, visibility(LOCKSTEP_SETTLE_VISIBILITY), no_caller_saved_registers))

#define LOCKSTEP_SETTLED(X) X(rcp) X(rsq) X(sqrt) X(exp2) X(exp2_to_odd)
#define LOCKSTEP_DECLARE_SETTLE(name) \
  extern "C" LOCKSTEP_SETTLE void lockstep_settle_##name(const uint32_t* x, uint32_t lanes, uint32_t* result);
LOCKSTEP_SETTLED(LOCKSTEP_DECLARE_SETTLE)
#undef LOCKSTEP_DECLARE_SETTLE

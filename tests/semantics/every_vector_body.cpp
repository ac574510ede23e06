// Every vector ALU body as a function of its own, for both kinds of mode, to look at the code that comes out:
// a test checks that it calls nothing but our own functions.
#include <utility>

#include "semantics/missing.h"
#include "semantics/vector_alu.h"

namespace lockstep::semantics {
namespace {

template <class Body, class Mode>
concept TakesMode = requires { &Body::template eval<Mode>; };
template <class Body>
concept Plain = requires { &Body::eval; };
template <class Body>
concept Saturates = requires { &Body::saturated; };

template <class Result, class... Parameters, size_t... i>
LOCKSTEP_INLINE void call(Result (*body)(Parameters...), void* result, void** operands,
                          std::index_sequence<i...>) {
  *static_cast<Result*>(result) = body(*static_cast<Parameters*>(operands[i])...);
}
template <class Result, class... Parameters>
LOCKSTEP_INLINE void call(Result (*body)(Parameters...), void* result, void** operands) {
  call(body, result, operands, std::index_sequence_for<Parameters...>{});
}

template <class Body, class Mode>
LOCKSTEP_INLINE void run([[maybe_unused]] void* result, [[maybe_unused]] void** operands) {
  if constexpr (TakesMode<Body, Mode>)
    call(&Body::template eval<Mode>, result, operands);
  else if constexpr (Plain<Body>)
    call(&Body::eval, result, operands);
}
template <class Body>
LOCKSTEP_INLINE void run_saturated([[maybe_unused]] void* result, [[maybe_unused]] void** operands) {
  if constexpr (Saturates<Body>) call(&Body::saturated, result, operands);
}

}  // namespace
}  // namespace lockstep::semantics

#define LOCKSTEP_ROW(name)                                                                             \
  extern "C" void default_##name(void* result, void** operands) {                                      \
    lockstep::semantics::run<lockstep::semantics::name, lockstep::DefaultFloatMode>(result, operands); \
  }                                                                                                    \
  extern "C" void any_##name(void* result, void** operands) {                                          \
    lockstep::semantics::run<lockstep::semantics::name, lockstep::RuntimeFloatMode>(result, operands); \
  }                                                                                                    \
  extern "C" void saturated_##name(void* result, void** operands) {                                    \
    lockstep::semantics::run_saturated<lockstep::semantics::name>(result, operands);                   \
  }
#define VOP1(name, ...) LOCKSTEP_ROW(name)
#define VOP1_ONLY(name, ...)  // swaps and lane reads: whole-wave bodies
#define VOP2(name, ...) LOCKSTEP_ROW(name)
#define VOP2_CARRY(name, ...) LOCKSTEP_ROW(name)
#define VOP2_ONLY(name, ...) LOCKSTEP_ROW(name)
#define VOPC(name, ...) LOCKSTEP_ROW(name)
#define VOP3(name, ...) LOCKSTEP_ROW(name)
#define VOP3SD(name, ...) LOCKSTEP_ROW(name)
#define VINTERP(name, ...) LOCKSTEP_ROW(name)
#include "isa/rows/vinterp.inc"
#include "isa/rows/vop1.inc"
#include "isa/rows/vop2.inc"
#include "isa/rows/vop3.inc"
#include "isa/rows/vopc.inc"

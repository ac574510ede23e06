// Operations exact in every MODE, out of line: rounding, denormals, NaNs, FP16_OVFL. The inlined paths of the
// other headers fall back to these; `mode` holds the bits of the MODE register. Code that is generated at run
// time resolves the C names through exact_symbols().
#pragma once

#include <cstdint>
#include <span>

#include "numeric/lanes.h"
#include "numeric/settle.h"

#define LOCKSTEP_EXACT_UNARY(X, type, Type) X(fract, type, Type)
#define LOCKSTEP_EXACT_BINARY(X, type, Type) \
  X(add, type, Type) X(sub, type, Type) X(subrev, type, Type) X(mul, type, Type)

#define LOCKSTEP_COLD __attribute__((noinline, cold, visibility("default")))

#define LOCKSTEP_DECLARE_UNARY(name, type, Type)                                                       \
  extern "C" LOCKSTEP_COLD void lockstep_exact_##name##_##type(const lockstep::Type* a, uint32_t mode, \
                                                               lockstep::Type* result);                \
  namespace lockstep::numeric {                                                                        \
  LOCKSTEP_INLINE Type exact_##name(Type a, uint32_t mode) {                                           \
    Type result;                                                                                       \
    lockstep_exact_##name##_##type(&a, mode, &result);                                                 \
    return result;                                                                                     \
  }                                                                                                    \
  }
#define LOCKSTEP_DECLARE_BINARY(name, type, Type)                                               \
  extern "C" LOCKSTEP_COLD void lockstep_exact_##name##_##type(                                 \
      const lockstep::Type* a, const lockstep::Type* b, uint32_t mode, lockstep::Type* result); \
  namespace lockstep::numeric {                                                                 \
  LOCKSTEP_INLINE Type exact_##name(Type a, Type b, uint32_t mode) {                            \
    Type result;                                                                                \
    lockstep_exact_##name##_##type(&a, &b, mode, &result);                                      \
    return result;                                                                              \
  }                                                                                             \
  }
#define LOCKSTEP_DECLARE_OTHER(type, Type)                                                                  \
  extern "C" LOCKSTEP_COLD void lockstep_exact_fma_##type(const lockstep::Type* a, const lockstep::Type* b, \
                                                          const lockstep::Type* c, uint32_t mode,           \
                                                          lockstep::Type* result);                          \
  extern "C" LOCKSTEP_COLD void lockstep_exact_ldexp_##type(                                                \
      const lockstep::Type* a, const lockstep::I32* exponent, uint32_t mode, lockstep::Type* result);       \
  namespace lockstep::numeric {                                                                             \
  LOCKSTEP_INLINE Type exact_fma(Type a, Type b, Type c, uint32_t mode) {                                   \
    Type result;                                                                                            \
    lockstep_exact_fma_##type(&a, &b, &c, mode, &result);                                                   \
    return result;                                                                                          \
  }                                                                                                         \
  LOCKSTEP_INLINE Type exact_ldexp(Type a, I32 exponent, uint32_t mode) {                                   \
    Type result;                                                                                            \
    lockstep_exact_ldexp_##type(&a, &exponent, mode, &result);                                              \
    return result;                                                                                          \
  }                                                                                                         \
  }
#define LOCKSTEP_DECLARE_CONVERSION(name, From, To)                                           \
  extern "C" LOCKSTEP_COLD void lockstep_exact_##name(const lockstep::From* a, uint32_t mode, \
                                                      lockstep::To* result);                  \
  namespace lockstep::numeric {                                                               \
  LOCKSTEP_INLINE To exact_##name(From a, uint32_t mode) {                                    \
    To result;                                                                                \
    lockstep_exact_##name(&a, mode, &result);                                                 \
    return result;                                                                            \
  }                                                                                           \
  }

#define LOCKSTEP_EXACT_CONVERSIONS(X) \
  X(cvt_f16_f32, F32, F16)            \
  X(cvt_f32_f64, F64, F32)            \
  X(cvt_f32_i32, I32, F32) X(cvt_f32_u32, U32, F32) X(cvt_f16_i16, I16, F16) X(cvt_f16_u16, U16, F16)

LOCKSTEP_EXACT_UNARY(LOCKSTEP_DECLARE_UNARY, f32, F32)
LOCKSTEP_EXACT_UNARY(LOCKSTEP_DECLARE_UNARY, f64, F64)
LOCKSTEP_EXACT_UNARY(LOCKSTEP_DECLARE_UNARY, f16, F16)
LOCKSTEP_EXACT_BINARY(LOCKSTEP_DECLARE_BINARY, f32, F32)
LOCKSTEP_EXACT_BINARY(LOCKSTEP_DECLARE_BINARY, f64, F64)
LOCKSTEP_EXACT_BINARY(LOCKSTEP_DECLARE_BINARY, f16, F16)
LOCKSTEP_DECLARE_OTHER(f32, F32)
LOCKSTEP_DECLARE_OTHER(f64, F64)
LOCKSTEP_DECLARE_OTHER(f16, F16)
LOCKSTEP_EXACT_CONVERSIONS(LOCKSTEP_DECLARE_CONVERSION)

extern "C" LOCKSTEP_COLD void lockstep_exact_div_fmas_f32(const lockstep::F32* a, const lockstep::F32* b,
                                                          const lockstep::F32* c, uint32_t scaled_lanes,
                                                          uint32_t mode, lockstep::F32* result);
extern "C" LOCKSTEP_COLD void lockstep_exact_div_fmas_f64(const lockstep::F64* a, const lockstep::F64* b,
                                                          const lockstep::F64* c, uint32_t scaled_lanes,
                                                          uint32_t mode, lockstep::F64* result);
extern "C" LOCKSTEP_COLD void lockstep_exact_trig_preop_f64(const lockstep::F64* x,
                                                            const lockstep::U32* segment,
                                                            lockstep::F64* result);
#define LOCKSTEP_EXACT_OTHERS(X) \
  X(lockstep_exact_div_fmas_f32) X(lockstep_exact_div_fmas_f64) X(lockstep_exact_trig_preop_f64)

namespace lockstep::numeric {

struct ExactSymbol {
  const char* name;
  void* address;
};
// Every out-of-line function that inlined code of this folder may call.
std::span<const ExactSymbol> exact_symbols();

}  // namespace lockstep::numeric

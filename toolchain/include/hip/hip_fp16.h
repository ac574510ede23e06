// Half precision where no ROCm is installed: _Float16 has the operators, these are HIP's names for the rest.
#pragma once
#include "hip/hip_runtime.h"

#define LOCKSTEP_HALF static __host__ __device__ inline __attribute__((always_inline, unused))

typedef _Float16 __half;
typedef _Float16 half;
struct __half_raw {
  unsigned short x;
};

struct alignas(4) __half2 {
  typedef _Float16 Pair __attribute__((ext_vector_type(2)));
  __half x, y;

  __half2() = default;
  constexpr __host__ __device__ __half2(__half both) : x(both), y(both) {}
  constexpr __host__ __device__ __half2(__half low, __half high) : x(low), y(high) {}
  // In braces too, where a conversion to _Float16 would be one that narrows.
  template <class T, class U,
            typename lockstep_hip::EnableIf<lockstep_hip::is_convertible<__half, T> &&
                                            lockstep_hip::is_convertible<__half, U>>::Type = 0>
  constexpr __host__ __device__ __half2(T low, U high) : x((__half)low), y((__half)high) {}
  // clang makes packed instructions of the pair.
  __host__ __device__ __half2(Pair pair) : x(pair.x), y(pair.y) {}
  __host__ __device__ operator Pair() const { return Pair{x, y}; }
};
typedef __half2 half2;
struct __half2_raw {
  unsigned short x, y;
};

#define LOCKSTEP_HALF2_OPERATOR(op, name)                         \
  LOCKSTEP_HALF __half2 operator op(__half2 a, __half2 b) {       \
    return __half2(__half2::Pair(a) op __half2::Pair(b));         \
  }                                                               \
  LOCKSTEP_HALF __half2& operator op##=(__half2 & a, __half2 b) { \
    return a = a op b;                                            \
  }                                                               \
  LOCKSTEP_HALF __half name(__half a, __half b) {                 \
    return a op b;                                                \
  }                                                               \
  LOCKSTEP_HALF __half2 name##2(__half2 a, __half2 b) {           \
    return a op b;                                                \
  }
LOCKSTEP_HALF2_OPERATOR(+, __hadd)
LOCKSTEP_HALF2_OPERATOR(-, __hsub)
LOCKSTEP_HALF2_OPERATOR(*, __hmul)
LOCKSTEP_HALF2_OPERATOR(/, __hdiv)
#undef LOCKSTEP_HALF2_OPERATOR
LOCKSTEP_HALF __half2 operator-(__half2 a) {
  return __half2(-__half2::Pair(a));
}
LOCKSTEP_HALF __half2 __h2div(__half2 a, __half2 b) {
  return a / b;
}

// Comparisons: of one; of two, each giving 1 or 0; of two, and both are; unordered ones are true of a NaN.
#define LOCKSTEP_HALF_COMPARISON(name, op)                      \
  LOCKSTEP_HALF bool __h##name(__half a, __half b) {            \
    return a op b;                                              \
  }                                                             \
  LOCKSTEP_HALF bool __h##name##u(__half a, __half b) {         \
    return __builtin_isunordered((float)a, (float)b) || a op b; \
  }                                                             \
  LOCKSTEP_HALF __half2 __h##name##2(__half2 a, __half2 b) {    \
    return __half2((__half)(a.x op b.x), (__half)(a.y op b.y)); \
  }                                                             \
  LOCKSTEP_HALF bool __hb##name##2(__half2 a, __half2 b) {      \
    return a.x op b.x && a.y op b.y;                            \
  }
LOCKSTEP_HALF_COMPARISON(eq, ==)
LOCKSTEP_HALF_COMPARISON(ne, !=)
LOCKSTEP_HALF_COMPARISON(lt, <)
LOCKSTEP_HALF_COMPARISON(le, <=)
LOCKSTEP_HALF_COMPARISON(gt, >)
LOCKSTEP_HALF_COMPARISON(ge, >=)
#undef LOCKSTEP_HALF_COMPARISON
LOCKSTEP_HALF bool __hisnan(__half x) {
  return x != x;
}
LOCKSTEP_HALF int __hisinf(__half x) {
  return __builtin_isinf((float)x) ? (x < (__half)0 ? -1 : 1) : 0;
}

// Conversions.
LOCKSTEP_HALF __half __float2half(float x) {
  return (__half)x;
}
LOCKSTEP_HALF __half __float2half_rn(float x) {
  return (__half)x;
}
static __device__ inline __half __float2half_rz(float x) {
  return __ocml_cvtrtz_f16_f32(x);
}
static __device__ inline __half __float2half_rd(float x) {
  return __ocml_cvtrtn_f16_f32(x);
}
static __device__ inline __half __float2half_ru(float x) {
  return __ocml_cvtrtp_f16_f32(x);
}
LOCKSTEP_HALF __half __double2half(double x) {
  return (__half)x;
}
LOCKSTEP_HALF float __half2float(__half x) {
  return (float)x;
}
#define LOCKSTEP_HALF_INTEGER(name, Type)           \
  LOCKSTEP_HALF __half __##name##2half_rn(Type x) { \
    return (__half)x;                               \
  }                                                 \
  LOCKSTEP_HALF Type __half2##name##_rn(__half x) { \
    return (Type)__builtin_roundevenf((float)x);    \
  }                                                 \
  LOCKSTEP_HALF Type __half2##name##_rz(__half x) { \
    return (Type)x;                                 \
  }
LOCKSTEP_HALF_INTEGER(int, int)
LOCKSTEP_HALF_INTEGER(uint, unsigned)
LOCKSTEP_HALF_INTEGER(short, short)
LOCKSTEP_HALF_INTEGER(ushort, unsigned short)
LOCKSTEP_HALF_INTEGER(ll, long long)
LOCKSTEP_HALF_INTEGER(ull, unsigned long long)
#undef LOCKSTEP_HALF_INTEGER
LOCKSTEP_HALF unsigned short __half_as_ushort(__half x) {
  return __builtin_bit_cast(unsigned short, x);
}
LOCKSTEP_HALF short __half_as_short(__half x) {
  return __builtin_bit_cast(short, x);
}
LOCKSTEP_HALF __half __ushort_as_half(unsigned short x) {
  return __builtin_bit_cast(__half, x);
}
LOCKSTEP_HALF __half __short_as_half(short x) {
  return __builtin_bit_cast(__half, x);
}

// Pairs.
LOCKSTEP_HALF __half2 make_half2(__half x, __half y) {
  return __half2(x, y);
}
LOCKSTEP_HALF __half2 __halves2half2(__half x, __half y) {
  return __half2(x, y);
}
LOCKSTEP_HALF __half2 __half2half2(__half x) {
  return __half2(x);
}
LOCKSTEP_HALF __half2 __float2half2_rn(float x) {
  return __half2((__half)x);
}
LOCKSTEP_HALF __half2 __floats2half2_rn(float x, float y) {
  return __half2((__half)x, (__half)y);
}
LOCKSTEP_HALF __half2 __float22half2_rn(float2 x) {
  return __half2((__half)x.x, (__half)x.y);
}
LOCKSTEP_HALF float2 __half22float2(__half2 x) {
  return float2((float)x.x, (float)x.y);
}
LOCKSTEP_HALF __half __low2half(__half2 x) {
  return x.x;
}
LOCKSTEP_HALF __half __high2half(__half2 x) {
  return x.y;
}
LOCKSTEP_HALF float __low2float(__half2 x) {
  return (float)x.x;
}
LOCKSTEP_HALF float __high2float(__half2 x) {
  return (float)x.y;
}
LOCKSTEP_HALF __half2 __low2half2(__half2 x) {
  return __half2(x.x);
}
LOCKSTEP_HALF __half2 __high2half2(__half2 x) {
  return __half2(x.y);
}
LOCKSTEP_HALF __half2 __lows2half2(__half2 x, __half2 y) {
  return __half2(x.x, y.x);
}
LOCKSTEP_HALF __half2 __highs2half2(__half2 x, __half2 y) {
  return __half2(x.y, y.y);
}
LOCKSTEP_HALF __half2 __lowhigh2highlow(__half2 x) {
  return __half2(x.y, x.x);
}

// Mathematics.
static __device__ inline __half __hfma(__half x, __half y, __half z) {
  return __builtin_fmaf16(x, y, z);
}
static __device__ inline __half2 __hfma2(__half2 x, __half2 y, __half2 z) {
  return __half2(__builtin_elementwise_fma(__half2::Pair(x), __half2::Pair(y), __half2::Pair(z)));
}
LOCKSTEP_HALF __half __hneg(__half x) {
  return -x;
}
LOCKSTEP_HALF __half2 __hneg2(__half2 x) {
  return -x;
}
static __device__ inline __half __habs(__half x) {
  return __ocml_fabs_f16(x);
}
static __device__ inline __half2 __habs2(__half2 x) {
  return __half2(__habs(x.x), __habs(x.y));
}
static __device__ inline __half __hmax(__half x, __half y) {
  return __ocml_fmax_f16(x, y);
}
static __device__ inline __half __hmin(__half x, __half y) {
  return __ocml_fmin_f16(x, y);
}
static __device__ inline __half2 __hmax2(__half2 x, __half2 y) {
  return __half2(__hmax(x.x, y.x), __hmax(x.y, y.y));
}
static __device__ inline __half2 __hmin2(__half2 x, __half2 y) {
  return __half2(__hmin(x.x, y.x), __hmin(x.y, y.y));
}
#define LOCKSTEP_HALF_MATH(name)                         \
  static __device__ inline __half h##name(__half x) {    \
    return __ocml_##name##_f16(x);                       \
  }                                                      \
  static __device__ inline __half2 h2##name(__half2 x) { \
    return __half2(h##name(x.x), h##name(x.y));          \
  }
LOCKSTEP_HALF_MATH(sin)
LOCKSTEP_HALF_MATH(cos)
LOCKSTEP_HALF_MATH(exp)
LOCKSTEP_HALF_MATH(exp2)
LOCKSTEP_HALF_MATH(exp10)
LOCKSTEP_HALF_MATH(log)
LOCKSTEP_HALF_MATH(log2)
LOCKSTEP_HALF_MATH(log10)
LOCKSTEP_HALF_MATH(sqrt)
LOCKSTEP_HALF_MATH(rsqrt)
LOCKSTEP_HALF_MATH(floor)
LOCKSTEP_HALF_MATH(ceil)
LOCKSTEP_HALF_MATH(trunc)
LOCKSTEP_HALF_MATH(rint)
#undef LOCKSTEP_HALF_MATH
static __device__ inline __half hrcp(__half x) {
  return (__half)1 / x;
}
static __device__ inline __half2 h2rcp(__half2 x) {
  return __half2(hrcp(x.x), hrcp(x.y));
}

static __device__ inline __half2 atomicAdd(__half2* address, __half2 value) {
  return lockstep_atomic_add_pair(address, value);
}
static __device__ inline __half2 unsafeAtomicAdd(__half2* address, __half2 value) {
  return atomicAdd(address, value);
}
#undef LOCKSTEP_HALF

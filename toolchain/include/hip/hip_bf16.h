// bfloat16 where no ROCm is installed: the upper half of a float, rounded to nearest even; computed with as
// float.
#pragma once
#include "hip/hip_runtime.h"

#define LOCKSTEP_BF16 static __host__ __device__ inline __attribute__((always_inline, unused))

struct __hip_bfloat16_raw {
  unsigned short x;
};

struct alignas(2) __hip_bfloat16 {
  unsigned short data;

  __hip_bfloat16() = default;
  constexpr __host__ __device__ __hip_bfloat16(__hip_bfloat16_raw raw) : data(raw.x) {}
  template <class T, typename lockstep_hip::EnableIf<lockstep_hip::is_convertible<float, T>>::Type = 0>
  constexpr __host__ __device__ __hip_bfloat16(T value) : data(rounded((float)value)) {}
  constexpr __host__ __device__ operator float() const {
    return __builtin_bit_cast(float, (unsigned)data << 16);
  }
  constexpr __host__ __device__ operator __hip_bfloat16_raw() const { return {data}; }

 private:
  static constexpr __host__ __device__ unsigned short rounded(float value) {
    const unsigned bits = __builtin_bit_cast(unsigned, value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (unsigned short)(bits >> 16 | 0x40);  // a NaN stays one
    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};
typedef __hip_bfloat16 __nv_bfloat16;

struct alignas(4) __hip_bfloat162 {
  __hip_bfloat16 x, y;
  __hip_bfloat162() = default;
  constexpr __host__ __device__ __hip_bfloat162(__hip_bfloat16 low, __hip_bfloat16 high) : x(low), y(high) {}
};

// Each operation rounds once. Between bfloat16s the result is one; with anything else it is float's.
#define LOCKSTEP_BF16_OPERATOR(op, name)                                               \
  LOCKSTEP_BF16 __hip_bfloat16 operator op(__hip_bfloat16 a, __hip_bfloat16 b) {       \
    return __hip_bfloat16((float)a op(float) b);                                       \
  }                                                                                    \
  LOCKSTEP_BF16 __hip_bfloat16& operator op##=(__hip_bfloat16 & a, __hip_bfloat16 b) { \
    return a = a op b;                                                                 \
  }                                                                                    \
  LOCKSTEP_BF16 __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) {              \
    return a op b;                                                                     \
  }                                                                                    \
  LOCKSTEP_BF16 __hip_bfloat162 operator op(__hip_bfloat162 a, __hip_bfloat162 b) {    \
    return {a.x op b.x, a.y op b.y};                                                   \
  }                                                                                    \
  LOCKSTEP_BF16 __hip_bfloat162 name##2(__hip_bfloat162 a, __hip_bfloat162 b) {        \
    return a op b;                                                                     \
  }
LOCKSTEP_BF16_OPERATOR(+, __hadd)
LOCKSTEP_BF16_OPERATOR(-, __hsub)
LOCKSTEP_BF16_OPERATOR(*, __hmul)
LOCKSTEP_BF16_OPERATOR(/, __hdiv)
#undef LOCKSTEP_BF16_OPERATOR
#define LOCKSTEP_BF16_COMPARISON(name, op)                                 \
  LOCKSTEP_BF16 bool operator op(__hip_bfloat16 a, __hip_bfloat16 b) {     \
    return (float)a op(float) b;                                           \
  }                                                                        \
  LOCKSTEP_BF16 bool __h##name(__hip_bfloat16 a, __hip_bfloat16 b) {       \
    return a op b;                                                         \
  }                                                                        \
  LOCKSTEP_BF16 bool __hb##name##2(__hip_bfloat162 a, __hip_bfloat162 b) { \
    return a.x op b.x && a.y op b.y;                                       \
  }
LOCKSTEP_BF16_COMPARISON(eq, ==)
LOCKSTEP_BF16_COMPARISON(ne, !=)
LOCKSTEP_BF16_COMPARISON(lt, <)
LOCKSTEP_BF16_COMPARISON(le, <=)
LOCKSTEP_BF16_COMPARISON(gt, >)
LOCKSTEP_BF16_COMPARISON(ge, >=)
#undef LOCKSTEP_BF16_COMPARISON
LOCKSTEP_BF16 __hip_bfloat16 operator-(__hip_bfloat16 x) {
  return __hip_bfloat16_raw{(unsigned short)(x.data ^ 0x8000)};
}
LOCKSTEP_BF16 __hip_bfloat16 __hneg(__hip_bfloat16 x) {
  return -x;
}
LOCKSTEP_BF16 __hip_bfloat16 __habs(__hip_bfloat16 x) {
  return __hip_bfloat16_raw{(unsigned short)(x.data & 0x7fff)};
}
LOCKSTEP_BF16 bool __hisnan(__hip_bfloat16 x) {
  return (x.data & 0x7fff) > 0x7f80;
}
LOCKSTEP_BF16 __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __builtin_fmaxf(a, b);
}
LOCKSTEP_BF16 __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __builtin_fminf(a, b);
}
static __device__ inline __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __builtin_fmaf(a, b, c);
}
static __device__ inline __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

LOCKSTEP_BF16 __hip_bfloat16 __float2bfloat16(float x) {
  return x;
}
LOCKSTEP_BF16 __hip_bfloat16 __float2bfloat16_rn(float x) {
  return x;
}
LOCKSTEP_BF16 __hip_bfloat16 __double2bfloat16(double x) {
  return (float)x;
}
LOCKSTEP_BF16 __hip_bfloat16 __int2bfloat16_rn(int x) {
  return (float)x;
}
LOCKSTEP_BF16 float __bfloat162float(__hip_bfloat16 x) {
  return x;
}
LOCKSTEP_BF16 unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) {
  return x.data;
}
LOCKSTEP_BF16 __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  return __hip_bfloat16_raw{x};
}
LOCKSTEP_BF16 __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return {x, y};
}
LOCKSTEP_BF16 __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) {
  return {x, x};
}
// A template, as older headers had none, and programs bring their own.
template <class T>
LOCKSTEP_BF16 __hip_bfloat162 __float2bfloat162_rn(T x) {
  return {x, x};
}
LOCKSTEP_BF16 __hip_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {x, y};
}
LOCKSTEP_BF16 __hip_bfloat162 __float22bfloat162_rn(float2 x) {
  return {x.x, x.y};
}
LOCKSTEP_BF16 float2 __bfloat1622float2(__hip_bfloat162 x) {
  return float2((float)x.x, (float)x.y);
}
LOCKSTEP_BF16 __hip_bfloat16 __low2bfloat16(__hip_bfloat162 x) {
  return x.x;
}
LOCKSTEP_BF16 __hip_bfloat16 __high2bfloat16(__hip_bfloat162 x) {
  return x.y;
}
LOCKSTEP_BF16 float __low2float(__hip_bfloat162 x) {
  return x.x;
}
LOCKSTEP_BF16 float __high2float(__hip_bfloat162 x) {
  return x.y;
}
#define LOCKSTEP_BF16_MATH(name)                                      \
  static __device__ inline __hip_bfloat16 h##name(__hip_bfloat16 x) { \
    return ::name##f((float)x);                                       \
  }
LOCKSTEP_BF16_MATH(sin)
LOCKSTEP_BF16_MATH(cos)
LOCKSTEP_BF16_MATH(exp)
LOCKSTEP_BF16_MATH(exp2)
LOCKSTEP_BF16_MATH(log)
LOCKSTEP_BF16_MATH(log2)
LOCKSTEP_BF16_MATH(log10)
LOCKSTEP_BF16_MATH(sqrt)
LOCKSTEP_BF16_MATH(rsqrt)
LOCKSTEP_BF16_MATH(floor)
LOCKSTEP_BF16_MATH(ceil)
LOCKSTEP_BF16_MATH(trunc)
LOCKSTEP_BF16_MATH(rint)
#undef LOCKSTEP_BF16_MATH
static __device__ inline __hip_bfloat16 hrcp(__hip_bfloat16 x) {
  return 1.0f / (float)x;
}
static __device__ inline __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162* address, __hip_bfloat162 value) {
  return lockstep_atomic_add_pair(address, value);
}
#undef LOCKSTEP_BF16

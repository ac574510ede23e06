// Floats of 8 bits where no ROCm is installed, as HIP's page "FP8 Numbers" describes them: storage with
// conversions, which round to nearest even. OCP formats (OFP8, revision 1.0) and FNUZ ones, which have
// neither infinities nor a -0.
#pragma once
#include "hip/hip_bf16.h"
#include "hip/hip_fp16.h"

#define LOCKSTEP_FP8 static __host__ __device__ inline __attribute__((always_inline, unused))

#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 1

typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned int __hip_fp8x4_storage_t;

enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };
enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };

namespace lockstep_hip {

struct Float8 {
  int mantissa, bias;
  unsigned largest;        // finite code
  unsigned overflow, nan;  // codes; the sign is added to those of OCP formats
  bool fnuz;

  constexpr __host__ __device__ unsigned exponent_bits() const { return 7 - mantissa; }
};

constexpr __host__ __device__ Float8 float8(__hip_fp8_interpretation_t kind) {
  return kind == __HIP_E4M3        ? Float8{3, 7, 0x7e, 0x7f, 0x7f, false}
         : kind == __HIP_E5M2      ? Float8{2, 15, 0x7b, 0x7c, 0x7f, false}
         : kind == __HIP_E4M3_FNUZ ? Float8{3, 8, 0x7f, 0x80, 0x80, true}
                                   : Float8{2, 16, 0x7f, 0x80, 0x80, true};
}

constexpr __host__ __device__ unsigned round_to_even(unsigned value, int shift) {
  return (value + (1u << (shift - 1)) - 1 + (value >> shift & 1)) >> shift;
}

constexpr __host__ __device__ unsigned char to_float8(float value, __hip_saturation_t saturation,
                                                      __hip_fp8_interpretation_t kind) {
  const Float8 f = float8(kind);
  const unsigned bits = __builtin_bit_cast(unsigned, value), sign = bits >> 24 & 0x80,
                 magnitude = bits & 0x7fffffff;
  const unsigned kept_sign = f.fnuz ? 0 : sign;
  if (magnitude > 0x7f800000) return (unsigned char)(f.nan | kept_sign);
  const int exponent = (int)(magnitude >> 23) - 127, shift = 23 - f.mantissa;
  unsigned code = 0;
  if (exponent >= 1 - f.bias)
    code = round_to_even(magnitude - ((unsigned)(127 - f.bias) << 23), shift);
  else if (exponent >= -f.bias - f.mantissa)  // at least half of the smallest
    code = round_to_even((magnitude & 0x7fffff) | 0x800000, shift + 1 - f.bias - exponent);
  if (code > f.largest) {
    if (saturation == __HIP_NOSAT) return (unsigned char)(f.overflow | kept_sign);
    code = f.largest;
  }
  return (unsigned char)(f.fnuz && code == 0 ? 0 : code | sign);
}

// By way of a float that is rounded to odd, so that it is rounded once.
constexpr __host__ __device__ unsigned char to_float8(double value, __hip_saturation_t saturation,
                                                      __hip_fp8_interpretation_t kind) {
  const float nearest = (float)value;
  unsigned bits = __builtin_bit_cast(unsigned, nearest);
  if ((double)nearest != value && value == value) {
    const double magnitude = value < 0 ? -value : value,
                 rounded = nearest < 0 ? -(double)nearest : (double)nearest;
    if (rounded > magnitude) --bits;
    bits |= 1;
  }
  return to_float8(__builtin_bit_cast(float, bits), saturation, kind);
}

constexpr __host__ __device__ float from_float8(unsigned char x, __hip_fp8_interpretation_t kind) {
  const Float8 f = float8(kind);
  const unsigned code = x & 0x7f, sign = (unsigned)(x & 0x80) << 24;
  if (f.fnuz ? x == 0x80 : code > f.largest && code != (f.overflow == f.nan ? 0u : f.overflow))
    return __builtin_bit_cast(float, 0x7fc00000u | (f.fnuz ? 0 : sign));
  if (!f.fnuz && code > f.largest) return __builtin_bit_cast(float, 0x7f800000u | sign);
  if (code >> f.mantissa != 0)
    return __builtin_bit_cast(float, ((code << (23 - f.mantissa)) + ((unsigned)(127 - f.bias) << 23)) | sign);
  const float smallest = __builtin_bit_cast(float, (unsigned)(128 - f.bias - f.mantissa) << 23);
  return x & 0x80 ? -(float)code * smallest : (float)code * smallest;
}

template <__hip_fp8_interpretation_t kind>
struct Fp8 {
  __hip_fp8_storage_t __x;
  static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;
  static constexpr __hip_fp8_interpretation_t __default_interpret = kind;
  static constexpr unsigned __we = float8(kind).exponent_bits(), __wm = float8(kind).mantissa;

  Fp8() = default;
  template <class T, typename EnableIf<is_convertible<float, T>>::Type = 0>
  constexpr __host__ __device__ Fp8(T value) : __x(to_float8((float)value, __default_saturation, kind)) {}
  constexpr __host__ __device__ Fp8(double value) : __x(to_float8(value, __default_saturation, kind)) {}
  constexpr __host__ __device__ operator float() const { return from_float8(__x, kind); }
};

template <__hip_fp8_interpretation_t kind>
struct Fp8x2 {
  __hip_fp8x2_storage_t __x;
  static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;
  static constexpr __hip_fp8_interpretation_t __default_interpret = kind;

  Fp8x2() = default;
  __host__ __device__ Fp8x2(float2 v) : __x(pack(v.x, v.y)) {}
  __host__ __device__ Fp8x2(double2 v) : __x(pack(v.x, v.y)) {}
  __host__ __device__ Fp8x2(__half2 v) : __x(pack((float)v.x, (float)v.y)) {}
  __host__ __device__ Fp8x2(__hip_bfloat162 v) : __x(pack((float)v.x, (float)v.y)) {}
  __host__ __device__ operator float2() const {
    return float2(from_float8((unsigned char)__x, kind), from_float8((unsigned char)(__x >> 8), kind));
  }

 private:
  template <class T>
  static constexpr __host__ __device__ __hip_fp8x2_storage_t pack(T x, T y) {
    return (__hip_fp8x2_storage_t)(to_float8(x, __default_saturation, kind) |
                                   to_float8(y, __default_saturation, kind) << 8);
  }
};

template <__hip_fp8_interpretation_t kind>
struct Fp8x4 {
  __hip_fp8x4_storage_t __x;
  static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;
  static constexpr __hip_fp8_interpretation_t __default_interpret = kind;

  Fp8x4() = default;
  __host__ __device__ Fp8x4(float4 v) : __x(join(float2(v.x, v.y), float2(v.z, v.w))) {}
  __host__ __device__ Fp8x4(double4 v) : __x(join(double2(v.x, v.y), double2(v.z, v.w))) {}
  __host__ __device__ Fp8x4(__half2 low, __half2 high) : __x(join(low, high)) {}
  __host__ __device__ Fp8x4(__hip_bfloat162 low, __hip_bfloat162 high) : __x(join(low, high)) {}
  __host__ __device__ operator float4() const {
    return float4(from_float8((unsigned char)__x, kind), from_float8((unsigned char)(__x >> 8), kind),
                  from_float8((unsigned char)(__x >> 16), kind),
                  from_float8((unsigned char)(__x >> 24), kind));
  }

 private:
  static __host__ __device__ __hip_fp8x4_storage_t join(Fp8x2<kind> low, Fp8x2<kind> high) {
    return low.__x | (__hip_fp8x4_storage_t)high.__x << 16;
  }
};

}  // namespace lockstep_hip

#define LOCKSTEP_FP8_TYPES(name, kind)                  \
  typedef lockstep_hip::Fp8<kind> __hip_fp8_##name;     \
  typedef lockstep_hip::Fp8x2<kind> __hip_fp8x2_##name; \
  typedef lockstep_hip::Fp8x4<kind> __hip_fp8x4_##name;
LOCKSTEP_FP8_TYPES(e4m3, __HIP_E4M3)
LOCKSTEP_FP8_TYPES(e5m2, __HIP_E5M2)
LOCKSTEP_FP8_TYPES(e4m3_fnuz, __HIP_E4M3_FNUZ)
LOCKSTEP_FP8_TYPES(e5m2_fnuz, __HIP_E5M2_FNUZ)
#undef LOCKSTEP_FP8_TYPES

LOCKSTEP_FP8 __hip_fp8_storage_t __hip_cvt_float_to_fp8(float x, __hip_saturation_t saturation,
                                                        __hip_fp8_interpretation_t kind) {
  return lockstep_hip::to_float8(x, saturation, kind);
}
LOCKSTEP_FP8 __hip_fp8_storage_t __hip_cvt_double_to_fp8(double x, __hip_saturation_t saturation,
                                                         __hip_fp8_interpretation_t kind) {
  return lockstep_hip::to_float8(x, saturation, kind);
}
LOCKSTEP_FP8 __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw x, __hip_saturation_t saturation,
                                                          __hip_fp8_interpretation_t kind) {
  return lockstep_hip::to_float8((float)__builtin_bit_cast(_Float16, x.x), saturation, kind);
}
LOCKSTEP_FP8 __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw x,
                                                              __hip_saturation_t saturation,
                                                              __hip_fp8_interpretation_t kind) {
  return lockstep_hip::to_float8((float)__hip_bfloat16(x), saturation, kind);
}
LOCKSTEP_FP8 __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 x, __hip_saturation_t saturation,
                                                             __hip_fp8_interpretation_t kind) {
  return (__hip_fp8x2_storage_t)(__hip_cvt_float_to_fp8(x.x, saturation, kind) |
                                 __hip_cvt_float_to_fp8(x.y, saturation, kind) << 8);
}
LOCKSTEP_FP8 __hip_fp8x2_storage_t __hip_cvt_double2_to_fp8x2(double2 x, __hip_saturation_t saturation,
                                                              __hip_fp8_interpretation_t kind) {
  return (__hip_fp8x2_storage_t)(__hip_cvt_double_to_fp8(x.x, saturation, kind) |
                                 __hip_cvt_double_to_fp8(x.y, saturation, kind) << 8);
}
LOCKSTEP_FP8 __hip_fp8x2_storage_t __hip_cvt_halfraw2_to_fp8x2(__half2_raw x, __hip_saturation_t saturation,
                                                               __hip_fp8_interpretation_t kind) {
  return (__hip_fp8x2_storage_t)(__hip_cvt_halfraw_to_fp8(__half_raw{x.x}, saturation, kind) |
                                 __hip_cvt_halfraw_to_fp8(__half_raw{x.y}, saturation, kind) << 8);
}
LOCKSTEP_FP8 __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x, __hip_fp8_interpretation_t kind) {
  return {__builtin_bit_cast(unsigned short, (_Float16)lockstep_hip::from_float8(x, kind))};
}
LOCKSTEP_FP8 __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t x,
                                                     __hip_fp8_interpretation_t kind) {
  return {__hip_cvt_fp8_to_halfraw((unsigned char)x, kind).x,
          __hip_cvt_fp8_to_halfraw((unsigned char)(x >> 8), kind).x};
}
#undef LOCKSTEP_FP8

// The part of the HIP language that device code needs, for clang's -x hip without a ROCm package: qualifiers,
// built-in variables, barriers, fences, atomics, lane exchange, mathematics (through the device libraries,
// ocml.bc). Host functions (hipMalloc, kernel launch) are not here: Lockstep runs the kernels itself.
#pragma once

#if !defined(__HIP__)
#error "lockstep/hip_device.h is for HIP device code: compile with clang -x hip --cuda-device-only"
#endif

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds_select__(_1, _2, name, ...) name
#define __launch_bounds_1__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __launch_bounds_2__(threads, waves) \
  __launch_bounds_1__(threads) __attribute__((amdgpu_waves_per_eu(waves)))
#define __launch_bounds__(...) \
  __launch_bounds_select__(__VA_ARGS__, __launch_bounds_2__, __launch_bounds_1__, )(__VA_ARGS__)
#define HIP_DYNAMIC_SHARED(type, variable) extern __shared__ type variable[];
#define LOCKSTEP_DEVICE static __device__ inline __attribute__((always_inline, unused))

// HIP's short names, and the fixed-width types that kernels take for granted.
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#if __has_include(<stdint.h>)
#include <stddef.h>
#include <stdint.h>
#endif
typedef _Float16 half;
typedef _Float16 __half;

#define LOCKSTEP_VECTORS(type, name)                                       \
  typedef type name##2 __attribute__((ext_vector_type(2)));                \
  typedef type name##3 __attribute__((ext_vector_type(3)));                \
  typedef type name##4 __attribute__((ext_vector_type(4)));                \
  LOCKSTEP_DEVICE name##2 make_##name##2(type x, type y) {                 \
    return name##2 {x, y};                                                 \
  }                                                                        \
  LOCKSTEP_DEVICE name##3 make_##name##3(type x, type y, type z) {         \
    return name##3 {x, y, z};                                              \
  }                                                                        \
  LOCKSTEP_DEVICE name##4 make_##name##4(type x, type y, type z, type w) { \
    return name##4 {x, y, z, w};                                           \
  }
LOCKSTEP_VECTORS(signed char, char)
LOCKSTEP_VECTORS(unsigned char, uchar)
LOCKSTEP_VECTORS(short, short)
LOCKSTEP_VECTORS(unsigned short, ushort)
LOCKSTEP_VECTORS(int, int)
LOCKSTEP_VECTORS(unsigned int, uint)
LOCKSTEP_VECTORS(long, long)
LOCKSTEP_VECTORS(unsigned long, ulong)
LOCKSTEP_VECTORS(long long, longlong)
LOCKSTEP_VECTORS(unsigned long long, ulonglong)
LOCKSTEP_VECTORS(float, float)
LOCKSTEP_VECTORS(double, double)
LOCKSTEP_VECTORS(_Float16, half)
#undef LOCKSTEP_VECTORS
typedef half2 __half2;

struct dim3 {
  uint x, y, z;
  constexpr __host__ __device__ dim3(uint x_ = 1, uint y_ = 1, uint z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Built-in variables. The block count is an implicit kernel argument from code object version 5 on; before,
// it follows from the dispatch packet.
#ifndef LOCKSTEP_CODE_OBJECT_VERSION
#define LOCKSTEP_CODE_OBJECT_VERSION 5
#endif
namespace lockstep_hip {
LOCKSTEP_DEVICE uint block_count(int axis) {
#if LOCKSTEP_CODE_OBJECT_VERSION >= 5
  return ((const __attribute__((address_space(4))) uint*)__builtin_amdgcn_implicitarg_ptr())[axis];
#else
  const uint items = axis == 0   ? __builtin_amdgcn_grid_size_x()
                     : axis == 1 ? __builtin_amdgcn_grid_size_y()
                                 : __builtin_amdgcn_grid_size_z();
  const uint size = axis == 0   ? __builtin_amdgcn_workgroup_size_x()
                    : axis == 1 ? __builtin_amdgcn_workgroup_size_y()
                                : __builtin_amdgcn_workgroup_size_z();
  return (items + size - 1) / size;
#endif
}
#define LOCKSTEP_MEMBER __device__ inline __attribute__((always_inline))
// Properties: an axis is a number wherever it stands, in printf's arguments, too.
#define LOCKSTEP_AXIS(axis, value)           \
  static LOCKSTEP_MEMBER uint get_##axis() { \
    return value;                            \
  }                                          \
  __declspec(property(get = get_##axis)) uint axis
#define LOCKSTEP_BUILTIN_VARIABLE(Name, x_value, y_value, z_value) \
  struct Name {                                                    \
    LOCKSTEP_AXIS(x, x_value);                                     \
    LOCKSTEP_AXIS(y, y_value);                                     \
    LOCKSTEP_AXIS(z, z_value);                                     \
    LOCKSTEP_MEMBER operator dim3() const {                        \
      return dim3(x, y, z);                                        \
    }                                                              \
  }
LOCKSTEP_BUILTIN_VARIABLE(ThreadIndex, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                          __builtin_amdgcn_workitem_id_z());
LOCKSTEP_BUILTIN_VARIABLE(BlockIndex, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                          __builtin_amdgcn_workgroup_id_z());
LOCKSTEP_BUILTIN_VARIABLE(BlockSize, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                          __builtin_amdgcn_workgroup_size_z());
LOCKSTEP_BUILTIN_VARIABLE(GridSize, block_count(0), block_count(1), block_count(2));
#undef LOCKSTEP_BUILTIN_VARIABLE
#undef LOCKSTEP_AXIS
}  // namespace lockstep_hip
static constexpr __device__ lockstep_hip::ThreadIndex threadIdx{};
static constexpr __device__ lockstep_hip::BlockIndex blockIdx{};
static constexpr __device__ lockstep_hip::BlockSize blockDim{};
static constexpr __device__ lockstep_hip::GridSize gridDim{};
#define warpSize __builtin_amdgcn_wavefrontsize()

// Barriers and fences.
LOCKSTEP_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
LOCKSTEP_DEVICE void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
LOCKSTEP_DEVICE void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
LOCKSTEP_DEVICE void __threadfence_system() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}

// Atomics of device scope, relaxed, returning the old value.
#define LOCKSTEP_ATOMIC(name, builtin)                                             \
  template <class T>                                                               \
  LOCKSTEP_DEVICE T name(T* address, decltype(T{} + T{}) value) {                  \
    return builtin(address, (T)value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
  }
LOCKSTEP_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
LOCKSTEP_ATOMIC(atomicSub, __hip_atomic_fetch_sub)
LOCKSTEP_ATOMIC(atomicMin, __hip_atomic_fetch_min)
LOCKSTEP_ATOMIC(atomicMax, __hip_atomic_fetch_max)
LOCKSTEP_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
LOCKSTEP_ATOMIC(atomicOr, __hip_atomic_fetch_or)
LOCKSTEP_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
LOCKSTEP_ATOMIC(atomicExch, __hip_atomic_exchange)
#undef LOCKSTEP_ATOMIC
template <class T>
LOCKSTEP_DEVICE T atomicCAS(T* address, decltype(T{} + T{}) compare, decltype(T{} + T{}) value) {
  T expected = (T)compare;
  __hip_atomic_compare_exchange_strong(address, &expected, (T)value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}
LOCKSTEP_DEVICE uint atomicInc(uint* address, uint limit) {
  return __builtin_amdgcn_atomic_inc32(address, limit, __ATOMIC_RELAXED, "agent");
}
LOCKSTEP_DEVICE uint atomicDec(uint* address, uint limit) {
  return __builtin_amdgcn_atomic_dec32(address, limit, __ATOMIC_RELAXED, "agent");
}

// Lane exchange inside a wave (or inside segments of `width` lanes, a power of two), for types of 1 to 8
// bytes.
LOCKSTEP_DEVICE uint __lane_id() {
  return __builtin_amdgcn_wavefrontsize() == 64
             ? __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0))
             : __builtin_amdgcn_mbcnt_lo(~0u, 0);
}
namespace lockstep_hip {
// ds_bpermute reaches only the 32 lanes of the reader's half (guide 12.5.2): in waves of 64 the other half is
// brought over first.
LOCKSTEP_DEVICE int read_word(int word, int lane) {
  const int same_half = __builtin_amdgcn_ds_bpermute(lane << 2, word);
  if (__builtin_amdgcn_wavefrontsize() == 32) return same_half;
  const int other_half = __builtin_amdgcn_ds_bpermute(lane << 2, __builtin_amdgcn_permlane64(word));
  return ((lane ^ (int)__lane_id()) & 32) ? other_half : same_half;
}
template <class T>
LOCKSTEP_DEVICE T read_lane(T value, int lane) {
  static_assert(sizeof(T) <= 8, "lane exchange takes values of up to 8 bytes");
  int words[2] = {0, 0};
  __builtin_memcpy(words, &value, sizeof(T));
  words[0] = read_word(words[0], lane);
  if constexpr (sizeof(T) > 4) words[1] = read_word(words[1], lane);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
}  // namespace lockstep_hip
template <class T>
LOCKSTEP_DEVICE T __shfl(T value, int lane, int width = warpSize) {
  const int own = __lane_id();
  return lockstep_hip::read_lane(value, (own & ~(width - 1)) | (lane & (width - 1)));
}
template <class T>
LOCKSTEP_DEVICE T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const int own = __lane_id(), from = own - (int)delta;
  return lockstep_hip::read_lane(value, from < (own & ~(width - 1)) ? own : from);
}
template <class T>
LOCKSTEP_DEVICE T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const int own = __lane_id(), from = own + (int)delta;
  return lockstep_hip::read_lane(value, (own & (width - 1)) + (int)delta >= width ? own : from);
}
template <class T>
LOCKSTEP_DEVICE T __shfl_xor(T value, int mask, int width = warpSize) {
  const int own = __lane_id(), from = own ^ mask;
  return lockstep_hip::read_lane(value, from >= ((own + width) & ~(width - 1)) ? own : from);
}
LOCKSTEP_DEVICE unsigned long long __ballot(int predicate) {
  if (__builtin_amdgcn_wavefrontsize() == 64) return __builtin_amdgcn_ballot_w64(predicate != 0);
  return (unsigned)__builtin_amdgcn_ballot_w64(predicate != 0);
}
LOCKSTEP_DEVICE int __any(int predicate) {
  return __ballot(predicate) != 0;
}
LOCKSTEP_DEVICE int __all(int predicate) {
  return __ballot(predicate == 0) == 0;
}
LOCKSTEP_DEVICE unsigned long long __activemask() {
  return __ballot(1);
}

// Integers and bits.
LOCKSTEP_DEVICE int __popc(unsigned x) {
  return __builtin_popcount(x);
}
LOCKSTEP_DEVICE int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
LOCKSTEP_DEVICE int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
LOCKSTEP_DEVICE int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
LOCKSTEP_DEVICE int __ffs(int x) {
  return __builtin_ffs(x);
}
LOCKSTEP_DEVICE int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
LOCKSTEP_DEVICE unsigned __brev(unsigned x) {
  return __builtin_bitreverse32(x);
}
LOCKSTEP_DEVICE unsigned long long __brevll(unsigned long long x) {
  return __builtin_bitreverse64(x);
}
LOCKSTEP_DEVICE int __mulhi(int a, int b) {
  return (int)(((long long)a * b) >> 32);
}
LOCKSTEP_DEVICE unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)(((unsigned long long)a * b) >> 32);
}
LOCKSTEP_DEVICE int __mul24(int a, int b) {
  return (a << 8 >> 8) * (b << 8 >> 8);
}
LOCKSTEP_DEVICE unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
LOCKSTEP_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
LOCKSTEP_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
LOCKSTEP_DEVICE unsigned __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned, x);
}
LOCKSTEP_DEVICE int __float_as_int(float x) {
  return __builtin_bit_cast(int, x);
}
LOCKSTEP_DEVICE float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
LOCKSTEP_DEVICE float __int_as_float(int x) {
  return __builtin_bit_cast(float, x);
}
LOCKSTEP_DEVICE long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
LOCKSTEP_DEVICE double __longlong_as_double(long long x) {
  return __builtin_bit_cast(double, x);
}
template <class A, class B>
LOCKSTEP_DEVICE auto min(A a, B b) -> decltype(a + b) {
  return b < a ? b : a;
}
template <class A, class B>
LOCKSTEP_DEVICE auto max(A a, B b) -> decltype(a + b) {
  return a < b ? b : a;
}
LOCKSTEP_DEVICE int abs(int x) {
  return x < 0 ? -x : x;
}

// Clocks.
LOCKSTEP_DEVICE long long clock64() {
  return (long long)__builtin_readcyclecounter();
}
// gfx11 has no s_memrealtime: the real time is the answer to a message.
LOCKSTEP_DEVICE long long wall_clock64() {
  return (long long)__builtin_amdgcn_s_sendmsg_rtnl(/*MSG_RTN_GET_REALTIME*/ 0x83);
}
// <assert.h> of the host's C library calls it, too.
extern "C" __device__ void __assert_fail(const char* expression, const char* file, unsigned line,
                                         const char* function);
#ifndef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
  ((condition) ? (void)0 : __assert_fail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#endif
#endif

// Mathematics: one line a function, f32 and f64 (and f16 under HIP's h-names), from the device library ocml.
#define LOCKSTEP_MATH_1(name)                               \
  extern "C" __device__ float __ocml_##name##_f32(float);   \
  extern "C" __device__ double __ocml_##name##_f64(double); \
  LOCKSTEP_DEVICE float name##f(float x) {                  \
    return __ocml_##name##_f32(x);                          \
  }                                                         \
  LOCKSTEP_DEVICE float name(float x) {                     \
    return __ocml_##name##_f32(x);                          \
  }                                                         \
  LOCKSTEP_DEVICE double name(double x) {                   \
    return __ocml_##name##_f64(x);                          \
  }
#define LOCKSTEP_MATH_2(name)                                       \
  extern "C" __device__ float __ocml_##name##_f32(float, float);    \
  extern "C" __device__ double __ocml_##name##_f64(double, double); \
  LOCKSTEP_DEVICE float name##f(float x, float y) {                 \
    return __ocml_##name##_f32(x, y);                               \
  }                                                                 \
  LOCKSTEP_DEVICE float name(float x, float y) {                    \
    return __ocml_##name##_f32(x, y);                               \
  }                                                                 \
  LOCKSTEP_DEVICE double name(double x, double y) {                 \
    return __ocml_##name##_f64(x, y);                               \
  }
// clang-format off
LOCKSTEP_MATH_1(sin) LOCKSTEP_MATH_1(cos) LOCKSTEP_MATH_1(tan) LOCKSTEP_MATH_1(sinpi) LOCKSTEP_MATH_1(cospi)
LOCKSTEP_MATH_1(asin) LOCKSTEP_MATH_1(acos) LOCKSTEP_MATH_1(atan) LOCKSTEP_MATH_1(sinh)
LOCKSTEP_MATH_1(cosh) LOCKSTEP_MATH_1(tanh) LOCKSTEP_MATH_1(asinh) LOCKSTEP_MATH_1(acosh)
LOCKSTEP_MATH_1(atanh) LOCKSTEP_MATH_1(exp) LOCKSTEP_MATH_1(exp2) LOCKSTEP_MATH_1(exp10)
LOCKSTEP_MATH_1(expm1) LOCKSTEP_MATH_1(log) LOCKSTEP_MATH_1(log2) LOCKSTEP_MATH_1(log10)
LOCKSTEP_MATH_1(log1p) LOCKSTEP_MATH_1(sqrt) LOCKSTEP_MATH_1(rsqrt) LOCKSTEP_MATH_1(cbrt)
LOCKSTEP_MATH_1(floor) LOCKSTEP_MATH_1(ceil) LOCKSTEP_MATH_1(trunc) LOCKSTEP_MATH_1(round)
LOCKSTEP_MATH_1(rint) LOCKSTEP_MATH_1(nearbyint) LOCKSTEP_MATH_1(fabs) LOCKSTEP_MATH_1(erf)
LOCKSTEP_MATH_1(erfc) LOCKSTEP_MATH_1(tgamma) LOCKSTEP_MATH_1(lgamma) LOCKSTEP_MATH_2(pow)
LOCKSTEP_MATH_2(atan2) LOCKSTEP_MATH_2(fmod) LOCKSTEP_MATH_2(remainder) LOCKSTEP_MATH_2(hypot)
LOCKSTEP_MATH_2(fmin) LOCKSTEP_MATH_2(fmax) LOCKSTEP_MATH_2(fdim) LOCKSTEP_MATH_2(copysign)
// clang-format on
#undef LOCKSTEP_MATH_1
#undef LOCKSTEP_MATH_2
                                                    LOCKSTEP_DEVICE float fmaf(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
LOCKSTEP_DEVICE float fma(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
LOCKSTEP_DEVICE double fma(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
LOCKSTEP_DEVICE float abs(float x) {
  return __builtin_fabsf(x);
}
LOCKSTEP_DEVICE double abs(double x) {
  return __builtin_fabs(x);
}
LOCKSTEP_DEVICE bool isnan(float x) {
  return __builtin_isnan(x);
}
LOCKSTEP_DEVICE bool isnan(double x) {
  return __builtin_isnan(x);
}
LOCKSTEP_DEVICE bool isinf(float x) {
  return __builtin_isinf(x);
}
LOCKSTEP_DEVICE bool isinf(double x) {
  return __builtin_isinf(x);
}
LOCKSTEP_DEVICE bool isfinite(float x) {
  return __builtin_isfinite(x);
}
LOCKSTEP_DEVICE bool isfinite(double x) {
  return __builtin_isfinite(x);
}
extern "C" __device__ float __ocml_native_sin_f32(float);
extern "C" __device__ float __ocml_native_cos_f32(float);
extern "C" __device__ float __ocml_native_exp_f32(float);
extern "C" __device__ float __ocml_native_log_f32(float);
LOCKSTEP_DEVICE float __sinf(float x) {
  return __ocml_native_sin_f32(x);
}
LOCKSTEP_DEVICE float __cosf(float x) {
  return __ocml_native_cos_f32(x);
}
LOCKSTEP_DEVICE float __expf(float x) {
  return __ocml_native_exp_f32(x);
}
LOCKSTEP_DEVICE float __logf(float x) {
  return __ocml_native_log_f32(x);
}
LOCKSTEP_DEVICE float __frcp_rn(float x) {
  return 1.0f / x;
}
LOCKSTEP_DEVICE float __fsqrt_rn(float x) {
  return __ocml_sqrt_f32(x);
}
LOCKSTEP_DEVICE float __fmaf_rn(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
LOCKSTEP_DEVICE void sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
// Half precision: _Float16 has the operators; these are HIP's names for the rest.
LOCKSTEP_DEVICE half __float2half(float x) {
  return (half)x;
}
LOCKSTEP_DEVICE float __half2float(half x) {
  return (float)x;
}
LOCKSTEP_DEVICE half __hadd(half x, half y) {
  return x + y;
}
LOCKSTEP_DEVICE half __hsub(half x, half y) {
  return x - y;
}
LOCKSTEP_DEVICE half __hmul(half x, half y) {
  return x * y;
}
LOCKSTEP_DEVICE half __hfma(half x, half y, half z) {
  return __builtin_fmaf16(x, y, z);
}
LOCKSTEP_DEVICE half2 __floats2half2_rn(float x, float y) {
  return half2{(half)x, (half)y};
}
LOCKSTEP_DEVICE half2 __hadd2(half2 x, half2 y) {
  return x + y;
}
LOCKSTEP_DEVICE half2 __hmul2(half2 x, half2 y) {
  return x * y;
}
LOCKSTEP_DEVICE half2 __hfma2(half2 x, half2 y, half2 z) {
  return __builtin_elementwise_fma(x, y, z);
}
LOCKSTEP_DEVICE half __low2half(half2 x) {
  return x.x;
}
LOCKSTEP_DEVICE half __high2half(half2 x) {
  return x.y;
}

// What a kernel asks of the host: clang makes printf calls of the device library.
extern "C" __device__ int printf(const char* format, ...);
extern "C" __device__ inline __attribute__((weak)) void abort() {
  __builtin_trap();
}
extern "C" __device__ inline __attribute__((noinline, weak)) void __assert_fail(const char* expression,
                                                                                const char* file,
                                                                                unsigned line,
                                                                                const char* function) {
  printf("%s:%u: %s: assertion '%s' failed\n", file, line, function, expression);
  __builtin_trap();
}

#undef LOCKSTEP_MEMBER
#undef LOCKSTEP_DEVICE

// The part of the HIP language that device code needs where no ROCm is installed: built-in variables,
// barriers, fences, atomics, lane exchange, integer functions and conversions. Qualifiers, mathematics and
// what of C++'s library kernels may use are clang's own (__clang_hip_runtime_wrapper.h). Host functions are
// declared in hip_host.h.
#pragma once

#if !defined(__HIP__)
#error "lockstep/hip_device.h is for HIP device code: compile with clang -x hip --cuda-device-only"
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds_select__(_1, _2, name, ...) name
#define __launch_bounds_1__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __launch_bounds_2__(threads, waves) \
  __launch_bounds_1__(threads) __attribute__((amdgpu_waves_per_eu(waves)))
#define __launch_bounds__(...) \
  __launch_bounds_select__(__VA_ARGS__, __launch_bounds_2__, __launch_bounds_1__, )(__VA_ARGS__)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define HIP_DYNAMIC_SHARED(type, variable) extern __shared__ type variable[];
#define LOCKSTEP_DEVICE static __device__ inline __attribute__((always_inline, unused))

// HIP's short names, and the fixed-width types that kernels take for granted.
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#include "lockstep/hip_vector_types.h"

struct dim3 {
  uint x, y, z;
  constexpr __host__ __device__ dim3(uint x_ = 1, uint y_ = 1, uint z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr __host__ __device__ dim3(uint3 size) : x(size.x), y(size.y), z(size.z) {}
  constexpr __host__ __device__ operator uint3() const { return uint3(x, y, z); }
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
    LOCKSTEP_MEMBER operator uint3() const {                       \
      return uint3(x, y, z);                                       \
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
// Not a macro: hipDeviceProp_t has a member of that name.
static constexpr __device__ int warpSize = __AMDGCN_WAVEFRONT_SIZE;

// Barriers and fences.
LOCKSTEP_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
LOCKSTEP_DEVICE void __syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
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

// Atomics, relaxed, returning the old value: of device scope, and with a suffix of the group's or the
// system's.
#define LOCKSTEP_ATOMIC_SCOPE(name, builtin, scope)               \
  template <class T>                                              \
  LOCKSTEP_DEVICE T name(T* address, decltype(T{} + T{}) value) { \
    return builtin(address, (T)value, __ATOMIC_RELAXED, scope);   \
  }
#define LOCKSTEP_ATOMIC(name, builtin)                                       \
  LOCKSTEP_ATOMIC_SCOPE(name, builtin, __HIP_MEMORY_SCOPE_AGENT)             \
  LOCKSTEP_ATOMIC_SCOPE(name##_block, builtin, __HIP_MEMORY_SCOPE_WORKGROUP) \
  LOCKSTEP_ATOMIC_SCOPE(name##_system, builtin, __HIP_MEMORY_SCOPE_SYSTEM)
LOCKSTEP_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
LOCKSTEP_ATOMIC(atomicSub, __hip_atomic_fetch_sub)
LOCKSTEP_ATOMIC(atomicMin, __hip_atomic_fetch_min)
LOCKSTEP_ATOMIC(atomicMax, __hip_atomic_fetch_max)
LOCKSTEP_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
LOCKSTEP_ATOMIC(atomicOr, __hip_atomic_fetch_or)
LOCKSTEP_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
LOCKSTEP_ATOMIC(atomicExch, __hip_atomic_exchange)
LOCKSTEP_ATOMIC_SCOPE(unsafeAtomicAdd, __hip_atomic_fetch_add, __HIP_MEMORY_SCOPE_AGENT)
LOCKSTEP_ATOMIC_SCOPE(safeAtomicAdd, __hip_atomic_fetch_add, __HIP_MEMORY_SCOPE_AGENT)
#undef LOCKSTEP_ATOMIC
#undef LOCKSTEP_ATOMIC_SCOPE
#define LOCKSTEP_ATOMIC_CAS(name, scope)                                                                   \
  template <class T>                                                                                       \
  LOCKSTEP_DEVICE T name(T* address, decltype(T{} + T{}) compare, decltype(T{} + T{}) value) {             \
    T expected = (T)compare;                                                                               \
    __hip_atomic_compare_exchange_strong(address, &expected, (T)value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, \
                                         scope);                                                           \
    return expected;                                                                                       \
  }
LOCKSTEP_ATOMIC_CAS(atomicCAS, __HIP_MEMORY_SCOPE_AGENT)
LOCKSTEP_ATOMIC_CAS(atomicCAS_block, __HIP_MEMORY_SCOPE_WORKGROUP)
LOCKSTEP_ATOMIC_CAS(atomicCAS_system, __HIP_MEMORY_SCOPE_SYSTEM)
#undef LOCKSTEP_ATOMIC_CAS
// A pair of 16-bit numbers is exchanged with another memory word's in one piece.
template <class Pair>
LOCKSTEP_DEVICE Pair lockstep_atomic_add_pair(Pair* address, Pair value) {
  static_assert(sizeof(Pair) == sizeof(unsigned));
  unsigned* const word = reinterpret_cast<unsigned*>(address);
  for (unsigned old = *word;;) {
    const unsigned sum = __builtin_bit_cast(unsigned, __builtin_bit_cast(Pair, old) + value);
    const unsigned seen = atomicCAS(word, old, sum);
    if (seen == old) return __builtin_bit_cast(Pair, old);
    old = seen;
  }
}
template <class T>
LOCKSTEP_DEVICE void atomicAddNoRet(T* address, T value) {
  atomicAdd(address, value);
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
// Widths of any type: one of a file's own for float4, with an unsigned width, is no better than these.
template <class T, class Width = int>
LOCKSTEP_DEVICE T __shfl(T value, int lane, Width given_width = warpSize) {
  const int width = (int)given_width;
  const int own = __lane_id();
  return lockstep_hip::read_lane(value, (own & ~(width - 1)) | (lane & (width - 1)));
}
template <class T, class Width = int>
LOCKSTEP_DEVICE T __shfl_up(T value, unsigned delta, Width given_width = warpSize) {
  const int width = (int)given_width;
  const int own = __lane_id(), from = own - (int)delta;
  return lockstep_hip::read_lane(value, from < (own & ~(width - 1)) ? own : from);
}
template <class T, class Width = int>
LOCKSTEP_DEVICE T __shfl_down(T value, unsigned delta, Width given_width = warpSize) {
  const int width = (int)given_width;
  const int own = __lane_id(), from = own + (int)delta;
  return lockstep_hip::read_lane(value, (own & (width - 1)) + (int)delta >= width ? own : from);
}
template <class T, class Width = int>
LOCKSTEP_DEVICE T __shfl_xor(T value, int mask, Width given_width = warpSize) {
  const int width = (int)given_width;
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

// The forms with a mask: the lanes that it names take part, all of them active, as HIP demands; more do no
// harm.
template <class Mask, class T>
LOCKSTEP_DEVICE T __shfl_sync(Mask, T value, int lane, int width = warpSize) {
  return __shfl(value, lane, width);
}
template <class Mask, class T>
LOCKSTEP_DEVICE T __shfl_up_sync(Mask, T value, unsigned delta, int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <class Mask, class T>
LOCKSTEP_DEVICE T __shfl_down_sync(Mask, T value, unsigned delta, int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <class Mask, class T>
LOCKSTEP_DEVICE T __shfl_xor_sync(Mask, T value, int mask, int width = warpSize) {
  return __shfl_xor(value, mask, width);
}
LOCKSTEP_DEVICE unsigned long long __ballot_sync(unsigned long long mask, int predicate) {
  return __ballot(predicate) & mask;
}
LOCKSTEP_DEVICE int __any_sync(unsigned long long mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
LOCKSTEP_DEVICE int __all_sync(unsigned long long mask, int predicate) {
  return __ballot_sync(mask, predicate == 0) == 0;
}
namespace lockstep_hip {
template <class T>
LOCKSTEP_DEVICE unsigned long long bits_of(T value) {
  static_assert(sizeof(T) <= 8, "matching takes values of up to 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
}  // namespace lockstep_hip
// The lanes with the same value: each round answers those that have the first one's that is left.
template <class Mask, class T>
LOCKSTEP_DEVICE unsigned long long __match_any_sync(Mask mask, T value) {
  const unsigned long long bits = lockstep_hip::bits_of(value);
  unsigned long long mine = 0;
  const unsigned long long own = 1ull << __lane_id();
  for (unsigned long long rest = (unsigned long long)mask & __activemask(); rest != 0;) {
    const unsigned long long same = __ballot(bits == __shfl(bits, __builtin_ctzll(rest))) & rest;
    if (same & own) mine = same;
    rest &= ~same;
  }
  return mine;
}
template <class T>
LOCKSTEP_DEVICE unsigned long long __match_any(T value) {
  return __match_any_sync(__activemask(), value);
}
template <class Mask, class T>
LOCKSTEP_DEVICE unsigned long long __match_all_sync(Mask mask, T value, int* predicate) {
  const unsigned long long lanes = (unsigned long long)mask & __activemask();
  const unsigned long long bits = lockstep_hip::bits_of(value);
  *predicate = (__ballot(bits != __shfl(bits, __builtin_ctzll(lanes))) & lanes) == 0;
  return *predicate ? lanes : 0;
}
template <class T>
LOCKSTEP_DEVICE unsigned long long __match_all(T value, int* predicate) {
  return __match_all_sync(__activemask(), value, predicate);
}
namespace lockstep_hip {
// One counter for all calls of a group: the barriers keep one call's count from the next one's.
LOCKSTEP_DEVICE int count_in_group(int predicate) {
  static __shared__ int count;
  __syncthreads();
  if (__builtin_amdgcn_workitem_id_x() == 0 && __builtin_amdgcn_workitem_id_y() == 0 &&
      __builtin_amdgcn_workitem_id_z() == 0)
    count = 0;
  __syncthreads();
  if (predicate) atomicAdd_block(&count, 1);
  __syncthreads();
  return count;
}
}  // namespace lockstep_hip
LOCKSTEP_DEVICE int __syncthreads_count(int predicate) {
  return lockstep_hip::count_in_group(predicate);
}
LOCKSTEP_DEVICE int __syncthreads_or(int predicate) {
  return lockstep_hip::count_in_group(predicate) != 0;
}
LOCKSTEP_DEVICE int __syncthreads_and(int predicate) {
  return lockstep_hip::count_in_group(predicate == 0) == 0;
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
LOCKSTEP_DEVICE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)((((unsigned long long)high << 32 | low) << (shift < 32 ? shift : 32)) >> 32);
}
LOCKSTEP_DEVICE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (shift < 32 ? shift : 32));
}
LOCKSTEP_DEVICE int __ffs(unsigned x) {
  return __builtin_ffs((int)x);
}
LOCKSTEP_DEVICE int __ffsll(long x) {
  return __builtin_ffsll(x);
}
LOCKSTEP_DEVICE int __ffsll(unsigned long x) {
  return __builtin_ffsll((long long)x);
}
LOCKSTEP_DEVICE int __ffsll(unsigned long long x) {
  return __builtin_ffsll((long long)x);
}
LOCKSTEP_DEVICE long long __mul64hi(long long a, long long b) {
  return (long long)(((__int128)a * b) >> 64);
}
LOCKSTEP_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
LOCKSTEP_DEVICE int __hadd(int a, int b) {
  return (int)(((long long)a + b) >> 1);
}
LOCKSTEP_DEVICE int __rhadd(int a, int b) {
  return (int)(((long long)a + b + 1) >> 1);
}
LOCKSTEP_DEVICE unsigned __uhadd(unsigned a, unsigned b) {
  return (unsigned)(((unsigned long long)a + b) >> 1);
}
LOCKSTEP_DEVICE unsigned __urhadd(unsigned a, unsigned b) {
  return (unsigned)(((unsigned long long)a + b + 1) >> 1);
}
LOCKSTEP_DEVICE unsigned __sad(int a, int b, unsigned sum) {
  return sum + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a);
}
LOCKSTEP_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned sum) {
  return sum + (a > b ? a - b : b - a);
}
// Four bytes of the eight of b:a, each by three bits of a digit of the selector.
LOCKSTEP_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = (unsigned long long)b << 32 | a;
  unsigned out = 0;
  for (unsigned i = 0; i < 4; ++i) out |= (unsigned)(bytes >> ((selector >> 4 * i & 7) * 8) & 0xff) << 8 * i;
  return out;
}
LOCKSTEP_DEVICE unsigned __bitextract_u32(unsigned x, unsigned offset, unsigned width) {
  return __builtin_amdgcn_ubfe(x, offset, width);
}
LOCKSTEP_DEVICE unsigned __bitinsert_u32(unsigned x, unsigned from, unsigned offset, unsigned width) {
  const unsigned mask = ((1u << (width & 31)) - 1) << (offset & 31);
  return (x & ~mask) | (from << (offset & 31) & mask);
}
template <class T>
LOCKSTEP_DEVICE T __ldg(const T* address) {
  return *address;
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

// Conversions. The suffix names the rounding of what does not fit; to integers, of the fraction.
#define LOCKSTEP_ROUNDINGS(name, To, From)         \
  LOCKSTEP_DEVICE To name##_rn(From x) {           \
    return (To)__builtin_elementwise_roundeven(x); \
  }                                                \
  LOCKSTEP_DEVICE To name##_rz(From x) {           \
    return (To)x;                                  \
  }                                                \
  LOCKSTEP_DEVICE To name##_rd(From x) {           \
    return (To)__builtin_elementwise_floor(x);     \
  }                                                \
  LOCKSTEP_DEVICE To name##_ru(From x) {           \
    return (To)__builtin_elementwise_ceil(x);      \
  }
LOCKSTEP_ROUNDINGS(__float2int, int, float)
LOCKSTEP_ROUNDINGS(__float2uint, unsigned, float)
LOCKSTEP_ROUNDINGS(__float2ll, long long, float)
LOCKSTEP_ROUNDINGS(__float2ull, unsigned long long, float)
LOCKSTEP_ROUNDINGS(__double2int, int, double)
LOCKSTEP_ROUNDINGS(__double2uint, unsigned, double)
LOCKSTEP_ROUNDINGS(__double2ll, long long, double)
LOCKSTEP_ROUNDINGS(__double2ull, unsigned long long, double)
#undef LOCKSTEP_ROUNDINGS
// An integer of which a float has no more than `digits` bits: cut off, or one unit of the last of them more.
template <class Float>
LOCKSTEP_DEVICE Float lockstep_float_of(unsigned long long magnitude, int digits, bool away) {
  const int excess = 64 - __builtin_clzll(magnitude | 1) - digits;
  const unsigned long long unit = excess > 0 ? 1ull << excess : 1, kept = magnitude & ~(unit - 1);
  return (Float)kept + (away && kept != magnitude ? (Float)unit : (Float)0);
}
#define LOCKSTEP_ROUNDINGS(name, To, digits, From)                                                   \
  LOCKSTEP_DEVICE To name##_rn(From x) {                                                             \
    return (To)x;                                                                                    \
  }                                                                                                  \
  LOCKSTEP_DEVICE To name##_rz(From x) {                                                             \
    const bool negative = x < (From)0;                                                               \
    const To y = lockstep_float_of<To>(negative ? 0 - (unsigned long long)x : x, digits, false);     \
    return negative ? -y : y;                                                                        \
  }                                                                                                  \
  LOCKSTEP_DEVICE To name##_rd(From x) {                                                             \
    const bool negative = x < (From)0;                                                               \
    const To y = lockstep_float_of<To>(negative ? 0 - (unsigned long long)x : x, digits, negative);  \
    return negative ? -y : y;                                                                        \
  }                                                                                                  \
  LOCKSTEP_DEVICE To name##_ru(From x) {                                                             \
    const bool negative = x < (From)0;                                                               \
    const To y = lockstep_float_of<To>(negative ? 0 - (unsigned long long)x : x, digits, !negative); \
    return negative ? -y : y;                                                                        \
  }
LOCKSTEP_ROUNDINGS(__int2float, float, 24, int)
LOCKSTEP_ROUNDINGS(__uint2float, float, 24, unsigned)
LOCKSTEP_ROUNDINGS(__ll2float, float, 24, long long)
LOCKSTEP_ROUNDINGS(__ull2float, float, 24, unsigned long long)
LOCKSTEP_ROUNDINGS(__ll2double, double, 53, long long)
LOCKSTEP_ROUNDINGS(__ull2double, double, 53, unsigned long long)
#undef LOCKSTEP_ROUNDINGS
LOCKSTEP_DEVICE float __double2float_rn(double x) {
  return (float)x;
}
LOCKSTEP_DEVICE float __double2float_rd(double x) {
  const float y = (float)x;
  return (double)y > x ? nextafterf(y, -__builtin_inff()) : y;
}
LOCKSTEP_DEVICE float __double2float_ru(double x) {
  const float y = (float)x;
  return (double)y < x ? nextafterf(y, __builtin_inff()) : y;
}
LOCKSTEP_DEVICE float __double2float_rz(double x) {
  return x < 0 ? __double2float_ru(x) : __double2float_rd(x);
}
LOCKSTEP_DEVICE double __int2double_rn(int x) {
  return x;
}
LOCKSTEP_DEVICE double __uint2double_rn(unsigned x) {
  return x;
}
LOCKSTEP_DEVICE int __double2hiint(double x) {
  return (int)(__builtin_bit_cast(long long, x) >> 32);
}
LOCKSTEP_DEVICE int __double2loint(double x) {
  return (int)__builtin_bit_cast(long long, x);
}
LOCKSTEP_DEVICE double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(double, (long long)high << 32 | (unsigned)low);
}

// Clocks.
LOCKSTEP_DEVICE long long clock64() {
  return (long long)__builtin_readcyclecounter();
}
LOCKSTEP_DEVICE long long __clock64() {
  return clock64();
}
LOCKSTEP_DEVICE long long clock() {
  return clock64();
}
LOCKSTEP_DEVICE long long __clock() {
  return clock64();
}
// gfx11 has no s_memrealtime: the real time is the answer to a message.
LOCKSTEP_DEVICE long long wall_clock64() {
  return (long long)__builtin_amdgcn_s_sendmsg_rtnl(/*MSG_RTN_GET_REALTIME*/ 0x83);
}
// clang makes loops of them.
static __device__ inline void* memcpy(void* to, const void* from, size_t bytes) {
  return __builtin_memcpy(to, from, bytes);
}
static __device__ inline void* memset(void* to, int value, size_t bytes) {
  return __builtin_memset(to, value, bytes);
}
static __device__ inline __attribute__((always_inline, nodebug, unused)) void __trap() {
  __builtin_trap();
}
// Sleeping is no promise of a duration on a card either.
LOCKSTEP_DEVICE void __nanosleep(unsigned) {
  __builtin_amdgcn_s_sleep(1);
}
// malloc, free, new and delete (clang's headers make them of these two): the host is asked for each piece.
// Reading the heap's hidden argument is what tells the host that it will be asked.
extern "C" __device__ unsigned long long __ockl_devmem_request(unsigned long long address,
                                                               unsigned long long bytes);
extern "C" __device__ inline __attribute__((noinline)) unsigned long long __ockl_dm_alloc(
    unsigned long long bytes) {
  constexpr int kHeap = 96 / 8;
  if (((const
        __attribute__((address_space(4))) unsigned long long*)__builtin_amdgcn_implicitarg_ptr())[kHeap] == 0)
    return 0;
  return bytes == 0 ? 0 : __ockl_devmem_request(0, bytes);
}
extern "C" __device__ inline __attribute__((noinline)) void __ockl_dm_dealloc(unsigned long long address) {
  if (address != 0) __ockl_devmem_request(address, 0);
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

// What a kernel asks of the host: clang makes printf calls of the device library.
extern "C" __device__ int printf(const char* format, ...);
// What ends a kernel belongs to the line that asked for it: without lines of its own, a fault tells the
// caller's.
#define LOCKSTEP_CALLERS_LINE inline __attribute__((always_inline, nodebug))
extern "C" __device__ LOCKSTEP_CALLERS_LINE void abort() {
  __builtin_trap();
}
// Pieces of a text for the host's standard error (ROCm's device libraries, ockl).
extern "C" __device__ unsigned long long __ockl_fprintf_stderr_begin();
extern "C" __device__ unsigned long long __ockl_fprintf_append_string_n(unsigned long long message,
                                                                        const char* text,
                                                                        unsigned long long bytes,
                                                                        unsigned is_last);
extern "C" __device__ unsigned long long __ockl_fprintf_append_args(
    unsigned long long message, unsigned count, unsigned long long, unsigned long long, unsigned long long,
    unsigned long long, unsigned long long, unsigned long long, unsigned long long, unsigned is_last);
namespace lockstep_hip {
__device__ inline __attribute__((noinline, cold)) void tell_failed_assertion(const char* expression,
                                                                             const char* file, unsigned line,
                                                                             const char* function) {
  const auto add = [](unsigned long long message, const char* text, bool is_last) {
    unsigned long long bytes = 1;  // with its zero
    for (const char* c = text; *c; ++c) ++bytes;
    return __ockl_fprintf_append_string_n(message, text, bytes, is_last);
  };
  unsigned long long message = __ockl_fprintf_stderr_begin();
  message = add(message, "%s:%u: %s: Device-side assertion `%s' failed.\n", false);
  message = add(message, file, false);
  message = __ockl_fprintf_append_args(message, 1, line, 0, 0, 0, 0, 0, 0, false);
  message = add(message, function, false);
  add(message, expression, true);
}
}  // namespace lockstep_hip
extern "C" __device__ LOCKSTEP_CALLERS_LINE void __assert_fail(const char* expression, const char* file,
                                                               unsigned line, const char* function) {
  lockstep_hip::tell_failed_assertion(expression, file, line, function);
  __builtin_trap();
}

#undef LOCKSTEP_CALLERS_LINE
#undef LOCKSTEP_MEMBER
#undef LOCKSTEP_DEVICE

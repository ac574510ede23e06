#include "fuzz/kernels/operations.h"

#include <cstring>

namespace lockstep::kernel_fuzz {

namespace {

constexpr unsigned bit(Base base) {
  return 1u << unsigned(base);
}
constexpr unsigned kIntegers = 0xff, kSigned = 0x55, kUnsigned = 0xaa;
constexpr unsigned kShort = 0x0f, k32 = 0x30, k64 = 0xc0;
constexpr unsigned kF16 = bit(Base::f16), kF32 = bit(Base::f32), kF64 = bit(Base::f64);
constexpr unsigned kFloats = kF16 | kF32 | kF64;
constexpr auto kScalar = Operation::scalar, kVector = Operation::vector, kEach = Operation::each;

// What the device does with one instruction, and the host's plain meaning of it.
#define DEVICE_AND_HOST(name, signature, weight, device, host) \
  {name, signature, 0, kScalar, device, kScalar, host, weight}
#define BOTH(name, signature, bases, shape, weight, text) \
  {name, signature, bases, shape, text, shape, nullptr, weight}

// clang-format off
constexpr Operation kOperations[] = {
  // integers
  BOTH("add", "T:TT", kIntegers, kVector, 8, "return $r($u(a) + $u(b));"),
  BOTH("sub", "T:TT", kIntegers, kVector, 6, "return $r($u(a) - $u(b));"),
  // Not of 8 bits: LLVM 19 makes v_dot4_u32_u8 of x * y + (z * w ^ c) as if the last were a sum (performAddCombine).
  BOTH("mul", "T:TT", kIntegers & ~3u, kVector, 5, "return $r($u(a) * $u(b));"),
  BOTH("mad", "T:TTT", kIntegers & ~3u, kVector, 3, "return $r($u(a) * $u(b) + $u(c));"),
  BOTH("and", "T:TT", kIntegers, kVector, 4, "return $r($u(a) & $u(b));"),
  BOTH("or", "T:TT", kIntegers, kVector, 4, "return $r($u(a) | $u(b));"),
  BOTH("xor", "T:TT", kIntegers, kVector, 4, "return $r($u(a) ^ $u(b));"),
  BOTH("xnor", "T:TT", kIntegers, kVector, 1, "return $r(~($u(a) ^ $u(b)));"),
  BOTH("andn", "T:TT", kIntegers, kVector, 1, "return $r($u(a) & ~$u(b));"),
  BOTH("not", "T:T", kIntegers, kVector, 2, "return $r(~$u(a));"),
  BOTH("neg", "T:T", kIntegers, kVector, 2, "return $r(-$u(a));"),
  BOTH("shl", "T:TT", kIntegers, kVector, 4, "return $r($u(a) << $u(b & $M));"),
  BOTH("shr", "T:TT", kIntegers, kVector, 4, "return ($T)(a >> (b & $M));"),
  BOTH("shladd", "T:TTT", kIntegers, kVector, 1, "return $r(($u(a) << $u(b & $M)) + $u(c));"),
  BOTH("bitselect", "T:TTT", kIntegers, kVector, 2, "return $r(($u(a) & ~$u(c)) | ($u(b) & $u(c)));"),
  BOTH("min", "T:TT", kIntegers, kVector, 3, "return ($T)__builtin_elementwise_min(a, b);"),
  BOTH("max", "T:TT", kIntegers, kVector, 3, "return ($T)__builtin_elementwise_max(a, b);"),
  BOTH("med3", "T:TTT", kIntegers, kVector, 2, "return ($T)__builtin_elementwise_max(__builtin_elementwise_min(a, b), __builtin_elementwise_min(__builtin_elementwise_max(a, b), c));"),
  BOTH("add_sat", "T:TT", kIntegers, kVector, 2, "return ($T)__builtin_elementwise_add_sat(a, b);"),
  BOTH("sub_sat", "T:TT", kIntegers, kVector, 2, "return ($T)__builtin_elementwise_sub_sat(a, b);"),
  BOTH("abs", "T:T", kSigned, kEach, 2, "return $r(a < 0 ? -$u(a) : $u(a));"),
  BOTH("absdiff", "T:TT", kUnsigned, kEach, 2, "return ($T)(a > b ? a - b : b - a);"),
  BOTH("sad", "T:TTT", kUnsigned, kEach, 2, "return $r((a > b ? $u(a) - $u(b) : $u(b) - $u(a)) + $u(c));"),
  BOTH("div", "T:TT", kUnsigned & kShort, kEach, 1, "return b == 0 ? a : ($T)(a / b);"),
  BOTH("rem", "T:TT", kUnsigned & kShort, kEach, 1, "return b == 0 ? a : ($T)(a % b);"),
  // LLVM 19 takes 0xffffffff for a number of few bits and divides with 24 of them (getDivNumBits).
  BOTH("div", "T:TT", kUnsigned & ~kShort, kEach, 1, "HIDE(a) return b == 0 ? a : ($T)(a / b);"),
  BOTH("rem", "T:TT", kUnsigned & ~kShort, kEach, 1, "HIDE(a) return b == 0 ? a : ($T)(a % b);"),
  BOTH("div", "T:TT", kSigned, kEach, 1, "return b == 0 ? a : b == -1 ? $r(-$u(a)) : ($T)(a / b);"),
  BOTH("rem", "T:TT", kSigned, kEach, 1, "return b == 0 ? a : b == -1 ? ($T)0 : ($T)(a % b);"),
  BOTH("popcount", "T:T", kIntegers & ~k64, kEach, 2, "return ($T)__builtin_popcountl((u64)($U)a);"),
  // LLVM 19 forgets the upper half of ~popcount(x) | y in 64 bits.
  BOTH("popcount", "T:T", k64, kEach, 2, "u64 count = (u64)__builtin_popcountl((u64)a); HIDE(count) return ($T)count;"),
  BOTH("clz", "T:T", kIntegers, kEach, 2, "return a == 0 ? ($T)$N : ($T)(__builtin_clzl((u64)($U)a) - (64 - $N));"),
  BOTH("ctz", "T:T", kIntegers, kEach, 2, "return a == 0 ? ($T)$N : ($T)__builtin_ctzl((u64)($U)a);"),
  BOTH("bitreverse", "T:T", kIntegers, kEach, 2, "return ($T)__builtin_bitreverse$N(($U)a);"),
  BOTH("bswap", "T:T", kIntegers & ~3u, kEach, 1, "return ($T)__builtin_bswap$N(($U)a);"),
  BOTH("rotl", "T:TT", kIntegers, kEach, 2, "return ($T)__builtin_rotateleft$N(($U)a, ($U)b);"),
  BOTH("mul_hi", "T:TT", kShort & kSigned, kEach, 1, "return ($T)((i32)a * (i32)b >> $N);"),
  BOTH("mul_hi", "T:TT", kShort & kUnsigned, kEach, 1, "return ($T)((u32)a * (u32)b >> $N);"),
  BOTH("mul_hi", "T:TT", k32 & kSigned, kEach, 2, "return (i32)((i64)a * (i64)b >> 32);"),
  BOTH("mul_hi", "T:TT", k32 & kUnsigned, kEach, 2, "return (u32)((u64)a * (u64)b >> 32);"),
  BOTH("mul_hi", "T:TT", k64 & kUnsigned, kEach, 1,
    "u64 low = (a & 0xffffffff) * (b & 0xffffffff), one = (a >> 32) * (b & 0xffffffff) + (low >> 32), "
    "two = (a & 0xffffffff) * (b >> 32) + (one & 0xffffffff); return (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32);"),
  BOTH("mul_wide", "d:ww", 0, kScalar, 2, "return (u64)a * b;"),
  BOTH("mul_wide_signed", "l:ii", 0, kScalar, 2, "return (i64)a * b;"),
  BOTH("mad_wide", "d:wwd", 0, kScalar, 2, "return (u64)a * b + c;"),
  BOTH("mul24", "w:ww", 0, kScalar, 2, "return (a & 0xffffff) * (b & 0xffffff);"),
  BOTH("mad24", "w:www", 0, kScalar, 2, "return (a & 0xffffff) * (b & 0xffffff) + c;"),
  BOTH("mul24_signed", "i:ii", 0, kScalar, 2, "return (i32)((u32)((i32)((u32)a << 8) >> 8) * (u32)((i32)((u32)b << 8) >> 8));"),
  BOTH("mul24_hi", "w:ww", 0, kScalar, 1, "return (u32)((u64)(a & 0xffffff) * (u64)(b & 0xffffff) >> 32);"),
  BOTH("add_carry", "w:www", 0, kScalar, 1, "u32 sum = a + b; return sum + (sum < a) + c;"),
  BOTH("bit_test", "w:ww", 0, kScalar, 1, "return (a >> (b & 31)) & 1;"),
  BOTH("eq", "C:TT", kIntegers | kFloats, kVector, 2, "return $C(a == b);"),
  BOTH("ne", "C:TT", kIntegers | kFloats, kVector, 2, "return $C(a != b);"),
  BOTH("lt", "C:TT", kIntegers | kFloats, kVector, 3, "return $C(a < b);"),
  BOTH("le", "C:TT", kIntegers | kFloats, kVector, 2, "return $C(a <= b);"),
  BOTH("gt", "C:TT", kIntegers | kFloats, kVector, 2, "return $C(a > b);"),
  BOTH("ge", "C:TT", kIntegers | kFloats, kVector, 2, "return $C(a >= b);"),
  BOTH("select", "T:CTT", kIntegers | kFloats, kVector, 6, "return a != ($A)(0) ? b : c;"),
  // instructions of their own
  DEVICE_AND_HOST("ubfe", "w:www", 2, "return __builtin_amdgcn_ubfe(a, b, c);",
    "u32 from = b & 31, count = c & 31; return (a >> from) & ((1u << count) - 1);"),
  DEVICE_AND_HOST("sbfe", "i:iww", 2, "return __builtin_amdgcn_sbfe(a, b, c);",
    "u32 from = b & 31, count = c & 31; if (count == 0) return 0; if (from + count >= 32) return a >> from; "
    "return (i32)((u32)a << (32 - from - count)) >> (32 - count);"),
  DEVICE_AND_HOST("perm", "w:www", 3, "return __builtin_amdgcn_perm(a, b, c);",
    "u64 both = (u64)a << 32 | b; u32 result = 0; for (int i = 0; i < 4; ++i) { u32 s = c >> (8 * i) & 255; "
    "u32 byte = s < 8 ? (u32)(both >> (8 * s)) & 255 : s < 12 ? ((both >> (16 * (s - 8) + 15)) & 1 ? 255u : 0u) : s == 12 ? 0u : 255u; "
    "result |= byte << (8 * i); } return result;"),
  DEVICE_AND_HOST("alignbit", "w:www", 2, "return __builtin_amdgcn_alignbit(a, b, c);",
    "return (u32)(((u64)a << 32 | b) >> (c & 31));"),
  DEVICE_AND_HOST("alignbyte", "w:www", 2, "return __builtin_amdgcn_alignbyte(a, b, c);",
    "return (u32)(((u64)a << 32 | b) >> (8 * (c & 3)));"),
  DEVICE_AND_HOST("lerp", "w:www", 1, "return __builtin_amdgcn_lerp(a, b, c);",
    "u32 result = 0; for (int i = 0; i < 32; i += 8) result |= (((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1) << i; return result;"),
  DEVICE_AND_HOST("sad_u8", "w:www", 2, "return __builtin_amdgcn_sad_u8(a, b, c);",
    "for (int i = 0; i < 32; i += 8) { u32 x = a >> i & 255, y = b >> i & 255; c += x > y ? x - y : y - x; } return c;"),
  DEVICE_AND_HOST("sad_hi_u8", "w:www", 2, "return __builtin_amdgcn_sad_hi_u8(a, b, c);",
    "for (int i = 0; i < 32; i += 8) { u32 x = a >> i & 255, y = b >> i & 255; c += (x > y ? x - y : y - x) << 16; } return c;"),
  DEVICE_AND_HOST("sad_u16", "w:www", 2, "return __builtin_amdgcn_sad_u16(a, b, c);",
    "for (int i = 0; i < 32; i += 16) { u32 x = a >> i & 65535, y = b >> i & 65535; c += x > y ? x - y : y - x; } return c;"),
  DEVICE_AND_HOST("msad_u8", "w:www", 2, "return __builtin_amdgcn_msad_u8(a, b, c);",
    "for (int i = 0; i < 32; i += 8) { u32 x = a >> i & 255, y = b >> i & 255; if (y) c += x > y ? x - y : y - x; } return c;"),
  DEVICE_AND_HOST("udot4", "w:www", 2, "return __builtin_amdgcn_udot4(a, b, c, 0);",
    "for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255); return c;"),
  DEVICE_AND_HOST("udot4_sat", "w:www", 1, "return __builtin_amdgcn_udot4(a, b, c, 1);",
    "u64 sum = c; for (int i = 0; i < 32; i += 8) sum += (a >> i & 255) * (b >> i & 255); return sum >> 32 ? 0xffffffffu : (u32)sum;"),
  DEVICE_AND_HOST("udot8", "w:www", 2, "return __builtin_amdgcn_udot8(a, b, c, 0);",
    "for (int i = 0; i < 32; i += 4) c += (a >> i & 15) * (b >> i & 15); return c;"),
  DEVICE_AND_HOST("sudot4", "i:iii", 2, "return __builtin_amdgcn_sudot4(1, a, 0, b, c, 0);",
    "u32 sum = (u32)c; for (int i = 0; i < 32; i += 8) sum += (u32)((i32)(i8)(a >> i) * (i32)(u8)(b >> i)); return (i32)sum;"),
  DEVICE_AND_HOST("sdot4_sat", "i:iii", 1, "return __builtin_amdgcn_sudot4(1, a, 1, b, c, 1);",
    "i64 sum = c; for (int i = 0; i < 32; i += 8) sum += (i32)(i8)(a >> i) * (i32)(i8)(b >> i); "
    "return sum > 2147483647 ? 2147483647 : sum < -2147483647 - 1 ? -2147483647 - 1 : (i32)sum;"),
  DEVICE_AND_HOST("sudot8", "i:iii", 2, "return __builtin_amdgcn_sudot8(0, a, 1, b, c, 0);",
    "u32 sum = (u32)c; for (int i = 0; i < 32; i += 4) sum += (u32)((i32)(a >> i & 15) * ((i32)((u32)b << (28 - i)) >> 28)); return (i32)sum;"),
  DEVICE_AND_HOST("qsad", "d:dwd", 1, "return __builtin_amdgcn_qsad_pk_u16_u8(a, b, c);",
    "u64 result = 0; for (int k = 0; k < 4; ++k) { u32 sum = (u32)(c >> (16 * k)) & 65535; for (int i = 0; i < 32; i += 8) { "
    "u32 x = (u32)(a >> (8 * k + i)) & 255, y = b >> i & 255; sum += x > y ? x - y : y - x; } "
    "result |= (u64)(sum & 65535) << (16 * k); } return result;"),
  DEVICE_AND_HOST("mqsad", "d:dwd", 1, "return __builtin_amdgcn_mqsad_pk_u16_u8(a, b, c);",
    "u64 result = 0; for (int k = 0; k < 4; ++k) { u32 sum = (u32)(c >> (16 * k)) & 65535; for (int i = 0; i < 32; i += 8) { "
    "u32 x = (u32)(a >> (8 * k + i)) & 255, y = b >> i & 255; if (y) sum += x > y ? x - y : y - x; } "
    "result |= (u64)(sum & 65535) << (16 * k); } return result;"),
  // floats: every result is the correctly rounded one, NaNs carry nothing
  BOTH("add", "T:TT", kFloats, kVector, 8, "return a + b;"),
  BOTH("sub", "T:TT", kFloats, kVector, 6, "return a - b;"),
  BOTH("mul", "T:TT", kFloats, kVector, 8, "return a * b;"),
  BOTH("fma", "T:TTT", kF32 | kF64, kVector, 6, "return __builtin_elementwise_fma(a, b, c);"),
  // In f64 the product is exact and a sum that is not lies nowhere near the middle between two numbers of f16.
  {"fma", "T:TTT", kF16, kVector, "return __builtin_elementwise_fma(a, b, c);", kEach,
   "return (f16)__builtin_fma((f64)a, (f64)b, (f64)c);", 6},
  BOTH("neg", "T:T", kFloats, kVector, 3, "return -a;"),
  BOTH("abs", "T:T", kF32 | kF64, kVector, 3, "return __builtin_elementwise_abs(a);"),
  {"abs", "T:T", kF16, kVector, "return __builtin_elementwise_abs(a);", kEach,
   "return __builtin_bit_cast(f16, (u16)(__builtin_bit_cast(u16, a) & 0x7fff));", 3},
  BOTH("mul_neg", "T:TT", kFloats, kVector, 1, "return -a * b;"),
  BOTH("clamp", "T:T", kFloats, kVector, 2, "return $z(a != a ? ($T)(0) : a < ($T)(0) ? ($T)(0) : a > ($T)(1) ? ($T)(1) : a);"),
  BOTH("twice", "T:T", kFloats, kVector, 1, "return (a + a) * ($T)(2);"),
  // Which zero comes out is open, so both become +0.
  BOTH("min", "T:TT", kF32 | kF64, kVector, 3, "return $z(__builtin_elementwise_min(a, b));"),
  BOTH("max", "T:TT", kF32 | kF64, kVector, 3, "return $z(__builtin_elementwise_max(a, b));"),
  {"min", "T:TT", kF16, kVector, "return $z(__builtin_elementwise_min(a, b));", kEach,
   "return $z(a != a ? b : b != b ? a : a < b ? a : b);", 3},
  {"max", "T:TT", kF16, kVector, "return $z(__builtin_elementwise_max(a, b));", kEach,
   "return $z(a != a ? b : b != b ? a : a > b ? a : b);", 3},
  {"med3", "T:TTT", kF32, kEach, "return a != a || b != b || c != c ? a : $z(__builtin_amdgcn_fmed3f(a, b, c));", kEach,
   "if (a != a || b != b || c != c) return a; f32 low = a < b ? a : b, high = a < b ? b : a; "
   "f32 mid = c < high ? c : high; return $z(low > mid ? low : mid);", 2},
  {"med3", "T:TTT", kF16, kEach, "return a != a || b != b || c != c ? a : $z(__builtin_amdgcn_fmed3h(a, b, c));", kEach,
   "if (a != a || b != b || c != c) return a; f16 low = a < b ? a : b, high = a < b ? b : a; "
   "f16 mid = c < high ? c : high; return $z(low > mid ? low : mid);", 2},
  BOTH("floor", "T:T", kF32 | kF64, kVector, 2, "return __builtin_elementwise_floor(a);"),
  BOTH("ceil", "T:T", kF32 | kF64, kVector, 2, "return __builtin_elementwise_ceil(a);"),
  BOTH("trunc", "T:T", kF32 | kF64, kVector, 2, "return __builtin_elementwise_trunc(a);"),
  BOTH("rint", "T:T", kF32 | kF64, kVector, 2, "return __builtin_elementwise_roundeven(a);"),
  {"floor", "T:T", kF16, kVector, "return __builtin_elementwise_floor(a);", kEach, "return (f16)__builtin_floorf((f32)a);", 2},
  {"ceil", "T:T", kF16, kVector, "return __builtin_elementwise_ceil(a);", kEach, "return (f16)__builtin_ceilf((f32)a);", 2},
  {"trunc", "T:T", kF16, kVector, "return __builtin_elementwise_trunc(a);", kEach, "return (f16)__builtin_truncf((f32)a);", 2},
  {"rint", "T:T", kF16, kVector, "return __builtin_elementwise_roundeven(a);", kEach, "return (f16)__builtin_rintf((f32)a);", 2},
  // The sign of a NaN is open.
  BOTH("copysign", "T:TT", kF32 | kF64, kVector, 2, "return __builtin_elementwise_copysign(a, $c(b));"),
  BOTH("div", "T:TT", kF32 | kF64, kEach, 1, "return a / b;"),
  BOTH("ldexp", "T:Ti", kF32 | kF64, kScalar, 2, "return __builtin_ldexp$f(a, b);"),
  {"ldexp", "T:Ti", kF16, kScalar, "return __builtin_amdgcn_ldexph(a, (short)(b % 60));", kScalar,
   "return (f16)__builtin_ldexp((f64)a, b % 60);", 2},
  {"frexp_mantissa", "T:T", kF32 | kF64, kScalar, "return __builtin_amdgcn_frexp_mant$f(a);", kScalar,
   "i32 e; return a - a != 0 ? a : __builtin_frexp$f(a, &e);", 2},
  {"frexp_exponent", "i:T", kF32 | kF64, kScalar, "return a - a != 0 ? 0 : __builtin_amdgcn_frexp_exp$f(a);", kScalar,
   "i32 e = 0; if (a - a != 0) return 0; __builtin_frexp$f(a, &e); return e;", 2},
  BOTH("is_nan", "C:T", kFloats, kScalar, 1, "return (u32)__builtin_isfpclass(a, 0x3);"),
  BOTH("is_infinite", "C:T", kFloats, kScalar, 1, "return (u32)__builtin_isfpclass(a, 0x204);"),
  BOTH("is_subnormal", "C:T", kFloats, kScalar, 1, "return (u32)__builtin_isfpclass(a, 0x90);"),
  BOTH("is_zero_or_normal", "C:T", kFloats, kScalar, 1, "return (u32)__builtin_isfpclass(a, 0x168);"),
  {"dot2", "f:hhhhf", 0, kScalar, "return __builtin_fmaf((f32)a, (f32)c, __builtin_fmaf((f32)b, (f32)d, e));", kScalar, nullptr, 1},
  BOTH("mix", "f:hhf", 0, kScalar, 2, "return __builtin_fmaf((f32)a, -(f32)b, c);"),
  BOTH("mixlo", "h:hff", 0, kScalar, 2, "return (f16)__builtin_fmaf((f32)a, b, c);"),
};
// clang-format on

bool floats(Type type) {
  return is_float(type.base);
}

std::string bits_text(uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "0x%llxul", static_cast<unsigned long long>(value));
  return text;
}

std::string not_a_number(Type type) {
  const char* text = type.base == Base::f16   ? "0x7e00"
                     : type.base == Base::f32 ? "0x7fc00000"
                                              : "0x7ff8000000000000";
  const Type scalar{type.base, 1}, number{unsigned_of(bits(type.base)), 1};
  const std::string one = "AS(" + name(scalar) + ", (" + name(number) + ")" + text + ")";
  return type.lanes == 1 ? one : "(" + name(type) + ")(" + one + ")";
}

constexpr const char* kLanes = "01234567";

}  // namespace

std::span<const Operation> operations() {
  return kOperations;
}

Type signature_type(const Operation& operation, unsigned position, Type main) {
  switch (operation.signature[position == 0 ? 0 : position + 1]) {
    case 'C':
      return condition_of(main);
    case 'w':
      return {Base::u32, 1};
    case 'i':
      return {Base::i32, 1};
    case 'd':
      return {Base::u64, 1};
    case 'l':
      return {Base::i64, 1};
    case 'f':
      return {Base::f32, 1};
    case 'h':
      return {Base::f16, 1};
  }
  return main;
}

unsigned operand_count(const Operation& operation) {
  return unsigned(strlen(operation.signature)) - 2;
}

bool Helpers::first(const std::string& name) {
  if (known_.find("\n" + name + "\n") != std::string::npos) return false;
  known_ += name + "\n";
  return true;
}

void Helpers::define(const std::string& result, const std::string& name, const std::string& parameters,
                     const std::string& body) {
  text_ += "HELPER " + result + " " + name + "(" + parameters + ") { " + body + " }\n";
}

std::string Helpers::canonical(Type type) {
  const std::string function = "canonical_" + name(type);
  if (first(function))
    define(name(type), function, name(type) + " a", "return a != a ? " + not_a_number(type) + " : a;");
  return function;
}

std::string Helpers::hidden(Type type) {
  const std::string function = "hidden_" + name(type);
  if (first(function)) define(name(type), function, name(type) + " a", "HIDE(a) return a;");
  return function;
}

std::string Helpers::expand(const char* text, Type main) {
  const unsigned width = bits(main.base);
  const Type unsigned_type{unsigned_of(width), main.lanes};
  // C computes with no less than 32 bits, and not unsigned then, unless told so.
  const std::string wide = name(Type{unsigned_of(std::max(width, 32u)), 1});
  std::string result;
  for (const char* at = text; *at; ++at) {
    if (*at != '$') {
      result += *at;
      continue;
    }
    const char letter = *++at;
    // A vector's bits are taken by a macro, whose parenthesis is the one in the text.
    if (main.lanes > 1 && strchr("urC", letter)) ++at;
    switch (letter) {
      case 'T':
        result += name(main);
        break;
      case 'U':
        result += name(unsigned_type);
        break;
      case 'A':
        result += name(condition_of(main));
        break;
      case 'N':
        result += std::to_string(width);
        break;
      case 'M':
        result += "(" + name(main) + ")(" + std::to_string(width - 1) + ")";
        break;
      case 'f':
        result += main.base == Base::f32 ? "f" : main.base == Base::f16 ? "h" : "";
        break;
      case 'u':
        result += main.lanes == 1 ? "(" + wide + ")" : "AS(" + name(unsigned_type) + ", ";
        break;
      case 'r':
        result += main.lanes == 1 ? "(" + name(main) + ")" : "AS(" + name(main) + ", ";
        break;
      case 'C':
        result += main.lanes == 1 ? "(u32)" : "AS(" + name(condition_of(main)) + ", ";
        break;
      case 'c':
        result += canonical(main);
        break;
      case 'z':
        result += "(" + name(main) + ")(0) + ";
        break;
    }
  }
  return result;
}

std::string Helpers::call(const Operation& operation, Type main) {
  const bool generic = operation.bases != 0;
  const std::string function = operation.name + (generic ? "_" + name(main) : std::string());
  if (!first(function)) return function;
  const bool own_host = operation.host && !device_;
  const auto shape = own_host ? operation.host_shape : operation.device_shape;
  const char* text = own_host ? operation.host : operation.device;
  std::string parameters;
  for (unsigned i = 0; i < operand_count(operation); ++i) {
    if (i) parameters += ", ";
    parameters += name(signature_type(operation, i + 1, main)) + " " + char('a' + i);
  }
  const std::string result = name(signature_type(operation, 0, main));
  if (shape == Operation::each && main.lanes > 1) {
    const std::string one = call(operation, {main.base, 1});
    std::string body = "return (" + result + "){";
    for (unsigned lane = 0; lane < main.lanes; ++lane) {
      body += (lane ? ", " : "") + one + "(";
      for (unsigned i = 0; i < operand_count(operation); ++i)
        body += std::string(i ? ", " : "") + char('a' + i) + ".s" + kLanes[lane];
      body += ")";
    }
    define(result, function, parameters, body + "};");
    return function;
  }
  const std::string body = expand(text, main);
  define(result, function, parameters, body);
  return function;
}

std::string Helpers::convert(Type from, Type to) {
  const std::string function = "to_" + name(to) + "_from_" + name(from);
  if (!first(function)) return function;
  const std::string parameters = name(from) + " a";
  // The device rounds wide integers twice on their way to f16, so that way is told in full.
  const bool by_f32 = to.base == Base::f16 && !floats(from) && bits(from.base) > 16;
  if (floats(from) && !floats(to)) {
    if (to.lanes > 1) {
      const std::string one = convert({from.base, 1}, {to.base, 1});
      std::string body = "return (" + name(to) + "){";
      for (unsigned lane = 0; lane < to.lanes; ++lane)
        body += (lane ? ", " : "") + one + "(a.s" + kLanes[lane] + ")";
      define(name(to), function, parameters, body + "};");
      return function;
    }
    const unsigned width = bits(to.base);
    const bool sign = is_signed(to.base);
    const uint64_t most = ~0ull >> (64 - width + sign), least = sign ? ~most : 0;
    // The first number too large is a power of two, so exact, but not in f16.
    const std::string wide = from.base == Base::f16 ? "f32" : name(from);
    const std::string limit = "(" + wide + ")0x1p" + std::to_string(width - sign);
    const std::string back = "return (" + name(to) + ")";
    std::string body = "if (a != a) return 0; ";
    body += "if ((" + wide + ")a >= " + limit + ") " + back + bits_text(most) + "; ";
    body += "if ((" + wide + ")a <= " + (sign ? "-" + limit : std::string("0")) + ") " + back +
            bits_text(least) + "; ";
    body += back + "a;";
    define(name(to), function, parameters, body);
    return function;
  }
  std::string value = "a";
  if (by_f32) value = convert(from, {Base::f32, from.lanes}) + "(a)";
  define(name(to), function, parameters,
         to.lanes == 1 ? "return (" + name(to) + ")" + value + ";"
                       : "return __builtin_convertvector(" + value + ", " + name(to) + ");");
  return function;
}

}  // namespace lockstep::kernel_fuzz

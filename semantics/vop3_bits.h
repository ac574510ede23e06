// Shifts, bit fields and byte selection that exist only as VOP3 (guide 16.12).
#pragma once

#include <utility>

#include "semantics/integer.h"

namespace lockstep::semantics {

struct v_lshlrev_b64 {
  LOCKSTEP_BODY U64 eval(U32 count, U64 value) { return value << convert<U64>(count & 63u); }
};
struct v_lshrrev_b64 {
  LOCKSTEP_BODY U64 eval(U32 count, U64 value) { return value >> convert<U64>(count & 63u); }
};
struct v_ashrrev_i64 {
  LOCKSTEP_BODY I64 eval(U32 count, I64 value) { return value >> convert<I64>(count & 63u); }
};
struct v_lshlrev_b16 {
  LOCKSTEP_BODY U16 eval(U16 count, U16 value) { return value << (count & uint16_t{15}); }
};
struct v_lshrrev_b16 {
  LOCKSTEP_BODY U16 eval(U16 count, U16 value) { return value >> (count & uint16_t{15}); }
};
struct v_ashrrev_i16 {
  LOCKSTEP_BODY I16 eval(U16 count, I16 value) { return value >> bits_as<I16>(count & uint16_t{15}); }
};

struct v_and_b16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b) { return a & b; }
};
struct v_or_b16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b) { return a | b; }
};
struct v_xor_b16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b) { return a ^ b; }
};
struct v_cndmask_b16 {
  LOCKSTEP_BODY U16 eval(U16 a, U16 b, Mask condition) { return select(condition, b, a); }
};

struct v_xor3_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return a ^ b ^ c; }
};
struct v_or3_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return a | b | c; }
};
struct v_and_or_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return (a & b) | c; }
};
struct v_lshl_or_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 count, U32 c) { return (a << (count & 31u)) | c; }
};

struct v_bfe_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 offset, U32 width) {
    const U32 one = 1;
    return a >> (offset & 31u) & ((one << (width & 31u)) - 1u);
  }
};
// A field that reaches beyond bit 31 continues with copies of the sign.
struct v_bfe_i32 {
  LOCKSTEP_BODY I32 eval(I32 a, U32 offset, U32 width) {
    const U32 field = bits_as<U32>(a >> bits_as<I32>(offset & 31u));
    const U32 unused = (32u - width) & 31u;
    const I32 extended = bits_as<I32>(field << unused) >> bits_as<I32>(unused);
    const I32 zero = 0;
    return (width & 31u) == 0 ? zero : extended;
  }
};
struct v_bfi_b32 {
  LOCKSTEP_BODY U32 eval(U32 mask, U32 on, U32 off) { return (mask & on) | (~mask & off); }
};
struct v_bfm_b32 {
  LOCKSTEP_BODY U32 eval(U32 width, U32 offset) {
    const U32 one = 1;
    return ((one << (width & 31u)) - 1u) << (offset & 31u);
  }
};

// Low half of the pair high:low shifted right.
struct v_alignbit_b32 {
  LOCKSTEP_BODY U32 eval(U32 high, U32 low, U32 count) {
    const U32 right = count & 31u;
    return high << 1 << (31u - right) | low >> right;
  }
};
struct v_alignbyte_b32 {
  LOCKSTEP_BODY U32 eval(U32 high, U32 low, U32 count) {
    return v_alignbit_b32::eval(high, low, (count & 3u) << 3);
  }
};

// Each selector byte picks a byte of high:low (0 to 7), the sign of byte 1, 3, 5 or 7 (8 to 11), 0 (12) or
// 0xff.
struct v_perm_b32 {
  LOCKSTEP_BODY U32 eval(U32 high, U32 low, U32 selectors) {
    const U8x64 selector = bits_as<U8x64>(selectors), zero = 0, ones = 0xff;
    const auto odd = (selector & 1) != 0, two = (selector & 2) != 0;
    const U8x64 low_1 = spread<1>(low), low_3 = spread<3>(low);
    const U8x64 high_1 = spread<1>(high), high_3 = spread<3>(high);
    const U8x64 of_low = two ? (odd ? low_3 : spread<2>(low)) : (odd ? low_1 : spread<0>(low));
    const U8x64 of_high = two ? (odd ? high_3 : spread<2>(high)) : (odd ? high_1 : spread<0>(high));
    const U8x64 byte = (selector & 4) != 0 ? of_high : of_low;
    const U8x64 signed_byte = two ? (odd ? high_3 : high_1) : (odd ? low_3 : low_1);
    const U8x64 sign = signed_byte >= 0x80 ? ones : zero;
    const U8x64 constant = selector == 12 ? zero : ones;
    return bits_as<U32>(selector < 8 ? byte : selector < 12 ? sign : constant);
  }

 private:
  // One byte of each lane in all four bytes of the lane.
  template <unsigned byte>
  LOCKSTEP_BODY U8x64 spread(U32 value) {
    return spread<byte>(bits_as<U8x64>(value), std::make_index_sequence<sizeof(U8x64)>{});
  }
  template <unsigned byte, size_t... i>
  LOCKSTEP_BODY U8x64 spread(U8x64 value, std::index_sequence<i...>) {
    return __builtin_shufflevector(value, value, (i / 4 * 4 + byte)...);
  }
};

struct v_bcnt_u32_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return population_count(a) + b; }
};
// Ones of a below the lane's own position in the wave. The lane's bit is in this word, above it or below it.
struct v_mbcnt_lo_u32_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, Lanes lanes) {
    const U32 one = 1, all = UINT32_MAX;
    const U32 below = lanes.index >= 32u ? all : (one << (lanes.index & 31u)) - 1u;
    return population_count(a & below) + b;
  }
};
struct v_mbcnt_hi_u32_b32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, Lanes lanes) {
    const U32 one = 1, none = 0;
    const U32 below = lanes.index < 32u ? none : (one << (lanes.index & 31u)) - 1u;
    return population_count(a & below) + b;
  }
};

struct v_pack_b32_f16 {
  LOCKSTEP_BODY PairF16 eval(F16 a, F16 b) { return {a, b}; }
};

}  // namespace lockstep::semantics

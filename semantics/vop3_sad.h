// Packed bytes: averages and sums of absolute differences (VOP3, guide 16.12).
#pragma once

#include "semantics/integer.h"

namespace lockstep::semantics {

// |a - b| of each byte.
LOCKSTEP_INLINE U32 byte_differences(U32 a, U32 b) {
  const U8x64 x = bits_as<U8x64>(a), y = bits_as<U8x64>(b);
  return bits_as<U32>(__builtin_elementwise_max(x, y) - __builtin_elementwise_min(x, y));
}
// The same, but 0 where the byte of the reference is 0.
LOCKSTEP_INLINE U32 masked_byte_differences(U32 a, U32 reference) {
  const U8x64 zero = 0, mask = bits_as<U8x64>(reference),
              differences = bits_as<U8x64>(byte_differences(a, reference));
  return bits_as<U32>(mask == 0 ? zero : differences);
}
LOCKSTEP_INLINE U32 sum_of_bytes(U32 a) {
  const U32 pairs = (a & 0xff00ffu) + (a >> 8 & 0xff00ffu);
  return (pairs & 0xffffu) + (pairs >> 16);
}
LOCKSTEP_INLINE U32 sum_of_halves(U32 a) {
  return (a & 0xffffu) + (a >> 16);
}

// Average of each byte; bit 0 of each byte of `rounding` says whether a half rounds up.
struct v_lerp_u8 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 rounding) {
    const U32 different = a ^ b;
    return (a & b) + (different >> 1 & 0x7f7f7f7fu) + (different & rounding & 0x01010101u);
  }
};

struct v_sad_u8 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return sum_of_bytes(byte_differences(a, b)) + c; }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_add_sat(sum_of_bytes(byte_differences(a, b)), c);
  }
};
struct v_sad_hi_u8 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return (sum_of_bytes(byte_differences(a, b)) << 16) + c; }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_add_sat(sum_of_bytes(byte_differences(a, b)) << 16, c);
  }
};
struct v_sad_u16 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return differences(a, b) + c; }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_add_sat(differences(a, b), c);
  }

 private:
  LOCKSTEP_BODY U32 differences(U32 a, U32 b) {
    using U16x32 = uint16_t __attribute__((ext_vector_type(32)));
    const U16x32 x = bits_as<U16x32>(a), y = bits_as<U16x32>(b);
    return sum_of_halves(bits_as<U32>(__builtin_elementwise_max(x, y) - __builtin_elementwise_min(x, y)));
  }
};
struct v_sad_u32 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return difference(a, b) + c; }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_add_sat(difference(a, b), c);
  }

 private:
  LOCKSTEP_BODY U32 difference(U32 a, U32 b) {
    return __builtin_elementwise_max(a, b) - __builtin_elementwise_min(a, b);
  }
};
struct v_msad_u8 {
  LOCKSTEP_BODY U32 eval(U32 a, U32 b, U32 c) { return sum_of_bytes(masked_byte_differences(a, b)) + c; }
  LOCKSTEP_BODY U32 saturated(U32 a, U32 b, U32 c) {
    return __builtin_elementwise_add_sat(sum_of_bytes(masked_byte_differences(a, b)), c);
  }
};

// Four windows of four bytes, one byte apart, of the 64-bit source.
LOCKSTEP_INLINE U32 byte_window(U64 bytes, unsigned first) {
  return convert<U32>(bytes >> (8 * first));
}

template <bool masked, bool clamp>
LOCKSTEP_INLINE U64 quad_sum_of_differences(U64 bytes, U32 reference, U64 addends) {
  U32 total[4];
  for (unsigned i = 0; i < 4; ++i) {
    const U32 window = byte_window(bytes, i);
    const U32 differences =
        masked ? masked_byte_differences(window, reference) : byte_differences(window, reference);
    const U32 exact = sum_of_bytes(differences) + (convert<U32>(addends >> (16 * i)) & 0xffffu);
    total[i] = clamp ? convert<U32>(saturate_u16(exact)) : exact & 0xffffu;
  }
  return join(total[0] | total[1] << 16, total[2] | total[3] << 16);
}

struct v_qsad_pk_u16_u8 {
  LOCKSTEP_BODY U64 eval(U64 a, U32 b, U64 c) { return quad_sum_of_differences<false, false>(a, b, c); }
  LOCKSTEP_BODY U64 saturated(U64 a, U32 b, U64 c) { return quad_sum_of_differences<false, true>(a, b, c); }
};
struct v_mqsad_pk_u16_u8 {
  LOCKSTEP_BODY U64 eval(U64 a, U32 b, U64 c) { return quad_sum_of_differences<true, false>(a, b, c); }
  LOCKSTEP_BODY U64 saturated(U64 a, U32 b, U64 c) { return quad_sum_of_differences<true, true>(a, b, c); }
};
struct v_mqsad_u32_u8 {
  LOCKSTEP_BODY Words<4> eval(U64 a, U32 b, Words<4> c) {
    Words<4> result;
    for (unsigned i = 0; i < 4; ++i) result.word[i] = v_msad_u8::eval(byte_window(a, i), b, c.word[i]);
    return result;
  }
  LOCKSTEP_BODY Words<4> saturated(U64 a, U32 b, Words<4> c) {
    Words<4> result;
    for (unsigned i = 0; i < 4; ++i) result.word[i] = v_msad_u8::saturated(byte_window(a, i), b, c.word[i]);
    return result;
  }
};

}  // namespace lockstep::semantics

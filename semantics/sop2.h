// SOP2: scalar instructions with two sources (guide 6.4 to 6.7, 16.1).
// SCC is "result is not zero" for bit operations, carry or signed overflow for arithmetic, and untouched
// where the result type has no scc.
#pragma once

#include "semantics/body.h"

namespace lockstep::semantics {

namespace scalar {

// The bit field [offset, offset + width) of a value, width 0 to 127: a width past the register means "all
// that is left".
LOCKSTEP_BODY uint32_t bit_field_u32(uint32_t value, unsigned offset, unsigned width) {
  const uint32_t shifted = value >> offset;
  return width >= 32 ? shifted : shifted & ((1u << width) - 1);
}
LOCKSTEP_BODY uint64_t bit_field_u64(uint64_t value, unsigned offset, unsigned width) {
  const uint64_t shifted = value >> offset;
  return width >= 64 ? shifted : shifted & ((uint64_t{1} << width) - 1);
}
// As above with the top bit of the field copied upwards. An empty field is 0.
LOCKSTEP_BODY int32_t bit_field_i32(int32_t value, unsigned offset, unsigned width) {
  const int32_t shifted = value >> offset;
  if (width == 0) return 0;
  if (width >= 32) return shifted;
  return static_cast<int32_t>(static_cast<uint32_t>(shifted) << (32 - width)) >> (32 - width);
}
LOCKSTEP_BODY int64_t bit_field_i64(int64_t value, unsigned offset, unsigned width) {
  const int64_t shifted = value >> offset;
  if (width == 0) return 0;
  if (width >= 64) return shifted;
  return static_cast<int64_t>(static_cast<uint64_t>(shifted) << (64 - width)) >> (64 - width);
}

LOCKSTEP_BODY WithScc<uint32_t> carry_of(uint64_t sum) {
  return {static_cast<uint32_t>(sum), sum >> 32 != 0};
}
template <class T>
LOCKSTEP_BODY WithScc<T> not_zero(T value) {
  return {value, value != 0};
}

}  // namespace scalar

struct s_add_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return scalar::carry_of(uint64_t{a} + b); }
};

struct s_sub_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return {a - b, b > a}; }
};

struct s_add_i32 {
  LOCKSTEP_BODY WithScc<int32_t> eval(int32_t a, int32_t b) {
    int32_t sum;
    const bool overflow = __builtin_add_overflow(a, b, &sum);
    return {sum, overflow};
  }
};

struct s_sub_i32 {
  LOCKSTEP_BODY WithScc<int32_t> eval(int32_t a, int32_t b) {
    int32_t difference;
    const bool overflow = __builtin_sub_overflow(a, b, &difference);
    return {difference, overflow};
  }
};

struct s_addc_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b, bool scc) {
    return scalar::carry_of(uint64_t{a} + b + scc);
  }
};

struct s_subb_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b, bool scc) {
    return {a - b - scc, uint64_t{b} + scc > a};
  }
};

// The difference wraps before its sign is looked at: |0x80000000 - 0| stays 0x80000000 (guide 16.1).
struct s_absdiff_i32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) {
    const uint32_t difference = a - b;
    return scalar::not_zero(difference >> 31 ? -difference : difference);
  }
};

struct s_lshl_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t shift) {
    return scalar::not_zero(a << (shift & 31));
  }
};

struct s_lshl_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint32_t shift) {
    return scalar::not_zero(a << (shift & 63));
  }
};

struct s_lshr_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t shift) {
    return scalar::not_zero(a >> (shift & 31));
  }
};

struct s_lshr_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint32_t shift) {
    return scalar::not_zero(a >> (shift & 63));
  }
};

struct s_ashr_i32 {
  LOCKSTEP_BODY WithScc<int32_t> eval(int32_t a, uint32_t shift) {
    return scalar::not_zero(a >> (shift & 31));
  }
};

struct s_ashr_i64 {
  LOCKSTEP_BODY WithScc<int64_t> eval(int64_t a, uint32_t shift) {
    return scalar::not_zero(a >> (shift & 63));
  }
};

struct s_lshl1_add_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) {
    return scalar::carry_of((uint64_t{a} << 1) + b);
  }
};

struct s_lshl2_add_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) {
    return scalar::carry_of((uint64_t{a} << 2) + b);
  }
};

struct s_lshl3_add_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) {
    return scalar::carry_of((uint64_t{a} << 3) + b);
  }
};

struct s_lshl4_add_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) {
    return scalar::carry_of((uint64_t{a} << 4) + b);
  }
};

// SCC: the first source was taken (not when both are equal).
struct s_min_i32 {
  LOCKSTEP_BODY WithScc<int32_t> eval(int32_t a, int32_t b) { return {a < b ? a : b, a < b}; }
};

struct s_min_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return {a < b ? a : b, a < b}; }
};

struct s_max_i32 {
  LOCKSTEP_BODY WithScc<int32_t> eval(int32_t a, int32_t b) { return {a > b ? a : b, a > b}; }
};

struct s_max_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return {a > b ? a : b, a > b}; }
};

struct s_and_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return scalar::not_zero(a & b); }
};

struct s_and_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint64_t b) { return scalar::not_zero(a & b); }
};

struct s_or_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return scalar::not_zero(a | b); }
};

struct s_or_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint64_t b) { return scalar::not_zero(a | b); }
};

struct s_xor_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return scalar::not_zero(a ^ b); }
};

struct s_xor_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint64_t b) { return scalar::not_zero(a ^ b); }
};

struct s_nand_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return scalar::not_zero(~(a & b)); }
};

struct s_nand_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint64_t b) { return scalar::not_zero(~(a & b)); }
};

struct s_nor_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return scalar::not_zero(~(a | b)); }
};

struct s_nor_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint64_t b) { return scalar::not_zero(~(a | b)); }
};

struct s_xnor_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return scalar::not_zero(~(a ^ b)); }
};

struct s_xnor_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint64_t b) { return scalar::not_zero(~(a ^ b)); }
};

struct s_and_not1_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return scalar::not_zero(a & ~b); }
};

struct s_and_not1_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint64_t b) { return scalar::not_zero(a & ~b); }
};

struct s_or_not1_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t b) { return scalar::not_zero(a | ~b); }
};

struct s_or_not1_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint64_t b) { return scalar::not_zero(a | ~b); }
};

// Bit field: offset in the low bits of the second source, width in its bits [22:16].
struct s_bfe_u32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a, uint32_t field) {
    return scalar::not_zero(scalar::bit_field_u32(a, field & 31, field >> 16 & 0x7f));
  }
};

struct s_bfe_i32 {
  LOCKSTEP_BODY WithScc<int32_t> eval(int32_t a, uint32_t field) {
    return scalar::not_zero(scalar::bit_field_i32(a, field & 31, field >> 16 & 0x7f));
  }
};

struct s_bfe_u64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a, uint32_t field) {
    return scalar::not_zero(scalar::bit_field_u64(a, field & 63, field >> 16 & 0x7f));
  }
};

struct s_bfe_i64 {
  LOCKSTEP_BODY WithScc<int64_t> eval(int64_t a, uint32_t field) {
    return scalar::not_zero(scalar::bit_field_i64(a, field & 63, field >> 16 & 0x7f));
  }
};

struct s_bfm_b32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t width, uint32_t offset) {
    return ((1u << (width & 31)) - 1) << (offset & 31);
  }
};

struct s_bfm_b64 {
  LOCKSTEP_BODY uint64_t eval(uint32_t width, uint32_t offset) {
    return ((uint64_t{1} << (width & 63)) - 1) << (offset & 63);
  }
};

struct s_mul_i32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a, uint32_t b) { return a * b; }
};

struct s_mul_hi_u32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
};

struct s_mul_hi_i32 {
  LOCKSTEP_BODY int32_t eval(int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{a} * b >> 32); }
};

struct s_cselect_b32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a, uint32_t b, bool scc) { return scc ? a : b; }
};

struct s_cselect_b64 {
  LOCKSTEP_BODY uint64_t eval(uint64_t a, uint64_t b, bool scc) { return scc ? a : b; }
};

struct s_pack_ll_b32_b16 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }
};

struct s_pack_lh_b32_b16 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a, uint32_t b) { return (a & 0xffff) | (b & 0xffff0000); }
};

struct s_pack_hh_b32_b16 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000); }
};

struct s_pack_hl_b32_b16 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a, uint32_t b) { return a >> 16 | b << 16; }
};

}  // namespace lockstep::semantics

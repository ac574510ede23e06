// SOP1: scalar instructions with one source (guide 6.5 to 6.7, 16.3).
// Moves through M0 (s_movrel*), jumps and s_sendmsg_rtn are the engine's: engine_handled.h.
#pragma once

#include "semantics/body.h"

namespace lockstep::semantics {

struct s_mov_b32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a) { return a; }
};

struct s_mov_b64 {
  LOCKSTEP_BODY uint64_t eval(uint64_t a) { return a; }
};

// Without SCC the destination keeps its value: parameters are the source, the old destination, SCC.
struct s_cmov_b32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a, uint32_t old, bool scc) { return scc ? a : old; }
};

struct s_cmov_b64 {
  LOCKSTEP_BODY uint64_t eval(uint64_t a, uint64_t old, bool scc) { return scc ? a : old; }
};

struct s_brev_b32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t a) { return __builtin_bitreverse32(a); }
};

struct s_brev_b64 {
  LOCKSTEP_BODY uint64_t eval(uint64_t a) { return __builtin_bitreverse64(a); }
};

// Position of the first bit found, -1 if there is none.
struct s_ctz_i32_b32 {
  LOCKSTEP_BODY int32_t eval(uint32_t a) { return a == 0 ? -1 : __builtin_ctz(a); }
};

struct s_ctz_i32_b64 {
  LOCKSTEP_BODY int32_t eval(uint64_t a) { return a == 0 ? -1 : __builtin_ctzll(a); }
};

struct s_clz_i32_u32 {
  LOCKSTEP_BODY int32_t eval(uint32_t a) { return a == 0 ? -1 : __builtin_clz(a); }
};

struct s_clz_i32_u64 {
  LOCKSTEP_BODY int32_t eval(uint64_t a) { return a == 0 ? -1 : __builtin_clzll(a); }
};

// Leading bits equal to the sign bit, itself included; -1 if all are.
struct s_cls_i32 {
  LOCKSTEP_BODY int32_t eval(uint32_t a) {
    const uint32_t changes = a ^ (a >> 31 ? ~0u : 0u);
    return changes == 0 ? -1 : __builtin_clz(changes);
  }
};

struct s_cls_i32_i64 {
  LOCKSTEP_BODY int32_t eval(uint64_t a) {
    const uint64_t changes = a ^ (a >> 63 ? ~uint64_t{0} : 0);
    return changes == 0 ? -1 : __builtin_clzll(changes);
  }
};

struct s_sext_i32_i8 {
  LOCKSTEP_BODY int32_t eval(uint32_t a) { return static_cast<int8_t>(a); }
};

struct s_sext_i32_i16 {
  LOCKSTEP_BODY int32_t eval(uint32_t a) { return static_cast<int16_t>(a); }
};

// One bit of the old destination changes; the 64-bit forms too have a 32-bit source.
struct s_bitset0_b32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t bit, uint32_t old) { return old & ~(1u << (bit & 31)); }
};

struct s_bitset1_b32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t bit, uint32_t old) { return old | 1u << (bit & 31); }
};

struct s_bitset0_b64 {
  LOCKSTEP_BODY uint64_t eval(uint32_t bit, uint64_t old) { return old & ~(uint64_t{1} << (bit & 63)); }
};

struct s_bitset1_b64 {
  LOCKSTEP_BODY uint64_t eval(uint32_t bit, uint64_t old) { return old | uint64_t{1} << (bit & 63); }
};

struct s_bitreplicate_b64_b32 {
  // Spreads the bits to the even positions by halving distances, then doubles each.
  LOCKSTEP_BODY uint64_t eval(uint32_t a) {
    uint64_t spread = a;
    spread = (spread | spread << 16) & 0x0000ffff0000ffff;
    spread = (spread | spread << 8) & 0x00ff00ff00ff00ff;
    spread = (spread | spread << 4) & 0x0f0f0f0f0f0f0f0f;
    spread = (spread | spread << 2) & 0x3333333333333333;
    spread = (spread | spread << 1) & 0x5555555555555555;
    return spread | spread << 1;
  }
};

struct s_abs_i32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a) {
    const uint32_t magnitude = a >> 31 ? -a : a;
    return {magnitude, magnitude != 0};
  }
};

struct s_bcnt0_i32_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a) {
    const uint32_t bits = __builtin_popcount(~a);
    return {bits, bits != 0};
  }
};

struct s_bcnt1_i32_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a) {
    const uint32_t bits = __builtin_popcount(a);
    return {bits, bits != 0};
  }
};

struct s_bcnt0_i32_b64 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint64_t a) {
    const uint32_t bits = __builtin_popcountll(~a);
    return {bits, bits != 0};
  }
};

struct s_bcnt1_i32_b64 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint64_t a) {
    const uint32_t bits = __builtin_popcountll(a);
    return {bits, bits != 0};
  }
};

namespace scalar {

// Bit 4n is set if any of the bits [4n, 4n + 3] is.
LOCKSTEP_BODY uint64_t any_of_quad(uint64_t mask) {
  mask |= mask >> 1;
  return (mask | mask >> 2) & 0x1111111111111111;
}
// Moves the bits 4n to n.
LOCKSTEP_BODY uint64_t gather_quads(uint64_t quads) {
  quads = (quads | quads >> 3) & 0x0303030303030303;
  quads = (quads | quads >> 6) & 0x000f000f000f000f;
  quads = (quads | quads >> 12) & 0x000000ff000000ff;
  return (quads | quads >> 24) & 0xffff;
}

}  // namespace scalar

struct s_quadmask_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a) {
    const uint32_t quads = static_cast<uint32_t>(scalar::gather_quads(scalar::any_of_quad(a)));
    return {quads, quads != 0};
  }
};

struct s_quadmask_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a) {
    const uint64_t quads = static_cast<uint64_t>(scalar::gather_quads(scalar::any_of_quad(a)));
    return {quads, quads != 0};
  }
};

struct s_wqm_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a) {
    const uint32_t lanes = static_cast<uint32_t>(scalar::any_of_quad(a) * 15);
    return {lanes, lanes != 0};
  }
};

struct s_wqm_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a) {
    const uint64_t lanes = static_cast<uint64_t>(scalar::any_of_quad(a) * 15);
    return {lanes, lanes != 0};
  }
};

struct s_not_b32 {
  LOCKSTEP_BODY WithScc<uint32_t> eval(uint32_t a) { return {~a, ~a != 0}; }
};

struct s_not_b64 {
  LOCKSTEP_BODY WithScc<uint64_t> eval(uint64_t a) { return {~a, ~a != 0}; }
};

// The destination gets the EXEC of before. not0 inverts the source, not1 inverts EXEC.
struct s_and_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = a & exec;
    return {exec, result, result != 0};
  }
};

struct s_and_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = a & exec;
    return {exec, result, result != 0};
  }
};

struct s_or_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = a | exec;
    return {exec, result, result != 0};
  }
};

struct s_or_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = a | exec;
    return {exec, result, result != 0};
  }
};

struct s_xor_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = a ^ exec;
    return {exec, result, result != 0};
  }
};

struct s_xor_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = a ^ exec;
    return {exec, result, result != 0};
  }
};

struct s_nand_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = ~(a & exec);
    return {exec, result, result != 0};
  }
};

struct s_nand_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = ~(a & exec);
    return {exec, result, result != 0};
  }
};

struct s_nor_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = ~(a | exec);
    return {exec, result, result != 0};
  }
};

struct s_nor_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = ~(a | exec);
    return {exec, result, result != 0};
  }
};

struct s_xnor_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = ~(a ^ exec);
    return {exec, result, result != 0};
  }
};

struct s_xnor_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = ~(a ^ exec);
    return {exec, result, result != 0};
  }
};

struct s_and_not0_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = ~a & exec;
    return {exec, result, result != 0};
  }
};

struct s_and_not0_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = ~a & exec;
    return {exec, result, result != 0};
  }
};

struct s_or_not0_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = ~a | exec;
    return {exec, result, result != 0};
  }
};

struct s_or_not0_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = ~a | exec;
    return {exec, result, result != 0};
  }
};

struct s_and_not1_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = a & ~exec;
    return {exec, result, result != 0};
  }
};

struct s_and_not1_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = a & ~exec;
    return {exec, result, result != 0};
  }
};

struct s_or_not1_saveexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = a | ~exec;
    return {exec, result, result != 0};
  }
};

struct s_or_not1_saveexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = a | ~exec;
    return {exec, result, result != 0};
  }
};

// The destination gets the new EXEC.
struct s_and_not0_wrexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = ~a & exec;
    return {result, result, result != 0};
  }
};

struct s_and_not0_wrexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = ~a & exec;
    return {result, result, result != 0};
  }
};

struct s_and_not1_wrexec_b32 {
  LOCKSTEP_BODY WithExec<uint32_t> eval(uint32_t a, uint32_t exec) {
    const uint32_t result = a & ~exec;
    return {result, result, result != 0};
  }
};

struct s_and_not1_wrexec_b64 {
  LOCKSTEP_BODY WithExec<uint64_t> eval(uint64_t a, uint64_t exec) {
    const uint64_t result = a & ~exec;
    return {result, result, result != 0};
  }
};

}  // namespace lockstep::semantics

// SOPC: scalar compares, whose only result is SCC (guide 6.6, 16.4).
#pragma once

#include "semantics/body.h"

namespace lockstep::semantics {

struct s_cmp_eq_i32 {
  LOCKSTEP_BODY Scc eval(int32_t a, int32_t b) { return {a == b}; }
};

struct s_cmp_lg_i32 {
  LOCKSTEP_BODY Scc eval(int32_t a, int32_t b) { return {a != b}; }
};

struct s_cmp_gt_i32 {
  LOCKSTEP_BODY Scc eval(int32_t a, int32_t b) { return {a > b}; }
};

struct s_cmp_ge_i32 {
  LOCKSTEP_BODY Scc eval(int32_t a, int32_t b) { return {a >= b}; }
};

struct s_cmp_lt_i32 {
  LOCKSTEP_BODY Scc eval(int32_t a, int32_t b) { return {a < b}; }
};

struct s_cmp_le_i32 {
  LOCKSTEP_BODY Scc eval(int32_t a, int32_t b) { return {a <= b}; }
};

struct s_cmp_eq_u32 {
  LOCKSTEP_BODY Scc eval(uint32_t a, uint32_t b) { return {a == b}; }
};

struct s_cmp_lg_u32 {
  LOCKSTEP_BODY Scc eval(uint32_t a, uint32_t b) { return {a != b}; }
};

struct s_cmp_gt_u32 {
  LOCKSTEP_BODY Scc eval(uint32_t a, uint32_t b) { return {a > b}; }
};

struct s_cmp_ge_u32 {
  LOCKSTEP_BODY Scc eval(uint32_t a, uint32_t b) { return {a >= b}; }
};

struct s_cmp_lt_u32 {
  LOCKSTEP_BODY Scc eval(uint32_t a, uint32_t b) { return {a < b}; }
};

struct s_cmp_le_u32 {
  LOCKSTEP_BODY Scc eval(uint32_t a, uint32_t b) { return {a <= b}; }
};

struct s_bitcmp0_b32 {
  LOCKSTEP_BODY Scc eval(uint32_t a, uint32_t bit) { return {(a >> (bit & 31) & 1) == 0}; }
};

struct s_bitcmp1_b32 {
  LOCKSTEP_BODY Scc eval(uint32_t a, uint32_t bit) { return {(a >> (bit & 31) & 1) != 0}; }
};

struct s_bitcmp0_b64 {
  LOCKSTEP_BODY Scc eval(uint64_t a, uint32_t bit) { return {(a >> (bit & 63) & 1) == 0}; }
};

struct s_bitcmp1_b64 {
  LOCKSTEP_BODY Scc eval(uint64_t a, uint32_t bit) { return {(a >> (bit & 63) & 1) != 0}; }
};

struct s_cmp_eq_u64 {
  LOCKSTEP_BODY Scc eval(uint64_t a, uint64_t b) { return {a == b}; }
};

struct s_cmp_lg_u64 {
  LOCKSTEP_BODY Scc eval(uint64_t a, uint64_t b) { return {a != b}; }
};

}  // namespace lockstep::semantics

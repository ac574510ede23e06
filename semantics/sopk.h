// SOPK: scalar instructions with a 16-bit immediate (guide 16.2). The immediate comes extended to 32 bits: by
// its sign, except for the unsigned compares. Compares take (register, immediate) and are SOPC's;
// the instructions that change their destination take (immediate, old destination).
#pragma once

#include "semantics/body.h"
#include "semantics/sopc.h"

namespace lockstep::semantics {

struct s_movk_i32 {
  LOCKSTEP_BODY int32_t eval(int32_t immediate) { return immediate; }
};

struct s_cmovk_i32 {
  LOCKSTEP_BODY int32_t eval(int32_t immediate, int32_t old, bool scc) { return scc ? immediate : old; }
};

struct s_cmpk_eq_i32 : s_cmp_eq_i32 {};
struct s_cmpk_lg_i32 : s_cmp_lg_i32 {};
struct s_cmpk_gt_i32 : s_cmp_gt_i32 {};
struct s_cmpk_ge_i32 : s_cmp_ge_i32 {};
struct s_cmpk_lt_i32 : s_cmp_lt_i32 {};
struct s_cmpk_le_i32 : s_cmp_le_i32 {};
struct s_cmpk_eq_u32 : s_cmp_eq_u32 {};
struct s_cmpk_lg_u32 : s_cmp_lg_u32 {};
struct s_cmpk_gt_u32 : s_cmp_gt_u32 {};
struct s_cmpk_ge_u32 : s_cmp_ge_u32 {};
struct s_cmpk_lt_u32 : s_cmp_lt_u32 {};
struct s_cmpk_le_u32 : s_cmp_le_u32 {};

struct s_addk_i32 {
  LOCKSTEP_BODY WithScc<int32_t> eval(int32_t immediate, int32_t old) {
    int32_t sum;
    const bool overflow = __builtin_add_overflow(old, immediate, &sum);
    return {sum, overflow};
  }
};

struct s_mulk_i32 {
  LOCKSTEP_BODY uint32_t eval(uint32_t immediate, uint32_t old) { return old * immediate; }
};

}  // namespace lockstep::semantics

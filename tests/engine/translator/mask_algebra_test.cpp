// Masks that scalar instructions combine between vector instructions stay lanes; what is off, what SCC says
// and what other instructions make of the masks is as the interpreter has it.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

constexpr std::string_view kBegin =
    "v_cmp_lt_u32 s4, v1, v2\n"
    "v_cmp_gt_i32 s5, v3, v4\n";
constexpr std::string_view kEnd =
    "v_cndmask_b32 v16, v5, v6, s6\n"
    "s_mov_b32 s7, 0\n"
    "s_cmp_eq_u32 s7, 1\n";

std::string program(std::string_view algebra) {
  return std::string(kBegin) + std::string(algebra) + "\n" + std::string(kEnd);
}

TEST(MaskAlgebra, OfEachKind) {
  for (const std::string_view algebra :
       {"s_mov_b32 s6, s4", "s_not_b32 s6, s4", "s_and_b32 s6, s4, s5", "s_or_b32 s6, s5, s4",
        "s_xor_b32 s6, s4, s5", "s_and_not1_b32 s6, s4, s5", "s_or_not1_b32 s6, s4, s5",
        "s_and_b32 s6, s4, s4", "s_nand_b32 s6, s4, s5", "s_xnor_b32 s6, s4, s5"})
    expect_same_runs(program(algebra));
}

TEST(MaskAlgebra, WithExecAndConstants) {
  for (const std::string_view algebra :
       {"s_and_b32 s6, exec_lo, s4", "s_and_not1_b32 s6, exec_lo, s4", "s_and_not1_b32 s6, s4, exec_lo",
        "s_xor_b32 s6, s4, exec_lo", "s_xor_b32 s6, s4, -1", "s_and_b32 s6, 0, s4", "s_or_b32 s6, -1, s4",
        "s_or_not1_b32 s6, exec_lo, s4", "s_xor_b32 s6, s4, 0xffff", "s_and_b32 s6, s4, 0x7fffffff"})
    expect_same_runs(program(algebra));
}

TEST(MaskAlgebra, WithOtherNumbers) {
  for (const std::string_view algebra :
       {"s_and_b32 s6, s4, s9", "s_or_b32 s6, s9, s5", "s_and_b32 s6, s4, vcc_lo",
        "s_add_i32 s9, s9, 5\ns_and_b32 s6, s4, s9", "s_add_i32 s4, s4, 1\ns_and_b32 s6, s4, s5",
        "s_and_b32 s6, s4, s5\ns_add_i32 s6, s6, 1", "s_and_b32 s4, s4, s5\ns_or_b32 s6, s4, s9",
        "s_and_b32 s6, s4, s5\nv_add_nc_u32 v7, s6, v7"})
    expect_same_runs(program(algebra));
}

TEST(MaskAlgebra, OfWhatWasCombined) {
  for (const std::string_view algebra :
       {"s_and_b32 s4, s4, s5\ns_not_b32 s6, s4", "s_not_b32 s4, s4\ns_and_b32 s6, s4, s5",
        "s_not_b32 s4, s4\ns_or_b32 s6, s4, s5\nv_cndmask_b32 v17, v7, v8, s4",
        "s_xor_b32 s6, s4, s5\nv_cmp_eq_u32 s5, v1, v3\ns_or_not1_b32 s6, s6, s5",
        "s_mov_b32 s6, s4\ns_mov_b32 s4, s5\ns_xor_b32 s6, s6, s4"})
    expect_same_runs(program(algebra));
}

// Of lanes that are off a combined mask has what the algebra says, and not what was compared there.
TEST(MaskAlgebra, WhereExecHasShrunk) {
  for (const std::string_view algebra :
       {"v_cmpx_lt_u32 v7, v8\ns_and_b32 s6, s4, s5", "s_not_b32 s6, s4\nv_cmpx_lt_u32 v7, v8",
        "v_cmpx_lt_u32 v7, v8\ns_xor_b32 s6, s4, exec_lo",
        "v_cmpx_lt_u32 v7, v8\ns_and_not1_b32 s6, s4, exec_lo",
        "v_cmpx_lt_u32 v7, v8\nv_cmp_lt_u32 s5, v1, v3\ns_or_b32 s6, s4, s5"})
    expect_same_runs(program(algebra));
}

TEST(MaskAlgebra, WhereSccIsRead) {
  for (const std::string_view algebra :
       {"s_and_b32 s6, s4, s5\ns_cselect_b32 s8, 1, 2", "s_xor_b32 s6, s4, s4\ns_cselect_b32 s8, 1, 2",
        "s_and_b32 s6, s4, s5\nv_mov_b32 v17, 1\ns_addc_u32 s8, s9, s9"})
    expect_same_runs(program(algebra));
  // At the end all of it is looked at.
  expect_same_runs(std::string(kBegin) + "s_and_b32 s6, s4, s5\nv_cndmask_b32 v16, v5, v6, s6\n");
}

TEST(MaskAlgebra, InWavesOf64) {
  for (const std::string_view algebra :
       {"s_and_b64 s[8:9], s[4:5], s[6:7]", "s_not_b64 s[8:9], s[4:5]", "s_xor_b64 s[8:9], s[4:5], exec",
        "s_or_b64 s[8:9], s[4:5], -1", "s_xor_b64 s[8:9], s[4:5], 0xffffffff",
        "s_and_not1_b64 s[8:9], exec, s[6:7]", "s_and_b32 s8, s4, s6\ns_or_b32 s9, s5, s7"})
    expect_same_runs("v_cmp_lt_u32 s[4:5], v1, v2\nv_cmp_gt_i32 s[6:7], v3, v4\n" + std::string(algebra) +
                         "\nv_cndmask_b32 v16, v5, v6, s[8:9]\ns_mov_b32 s10, 0\ns_cmp_eq_u32 s10, 1\n",
                     64);
}

}  // namespace
}  // namespace lockstep::translator

// Instructions that follow too closely upon others (guide 7.2.8, 7.9, 12.2.1.2).
#include "tests/engine/precise/broken_rules.h"

namespace lockstep::machine {
namespace {

std::string moves(unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += "v_mov_b32 v20, v21\n";
  return text;
}

TEST(HazardRules, PermlaneBehindCompare) {  // 7.2.8
  const std::string compare = "v_cmpx_eq_u32 v1, v1\n";
  for (const std::string permlane :
       {"v_permlane16_b32 v2, v3, s4, s5", "v_permlanex16_b32 v2, v3, s4, s5", "v_permlane64_b32 v2, v3"}) {
    expect_good(permlane);
    expect_broken(compare + permlane, "behind v_cmpx", "7.2.8");
    expect_broken("v_cmpx_eq_u32_e64 v1, v1\n" + permlane, "behind v_cmpx", "7.2.8");
    // Another vector instruction helps, a scalar one does not.
    expect_good(compare + "v_nop\n" + permlane);
    expect_broken(compare + "s_nop 3\n" + permlane, "behind v_cmpx", "7.2.8");
    expect_good("v_cmp_eq_u32 vcc_lo, v1, v1\n" + permlane);
  }
}

TEST(HazardRules, DependentMatrices) {  // 7.9: D of the first is A or B of the second
  const auto wmma = [](const std::string& d, const std::string& a, const std::string& b) {
    return "v_wmma_f32_16x16x16_f16 " + d + ", " + a + ", " + b + ", " + d + "\n";
  };
  const std::string first = wmma("v[8:15]", "v[16:23]", "v[24:31]");
  expect_broken(first + wmma("v[32:39]", "v[8:15]", "v[24:31]"), "reads v[8:15] as matrix A", "7.9");
  expect_broken(first + wmma("v[32:39]", "v[24:31]", "v[8:15]"), "reads v[8:15] as matrix B", "7.9");
  expect_broken(first + wmma("v[32:39]", "v[15:22]", "v[24:31]"), "reads v[15:22] as matrix A", "7.9");
  // The accumulator goes on at once.
  expect_good(first + first);
  expect_good(first + wmma("v[32:39]", "v[16:23]", "v[24:31]"));
  const std::string second = wmma("v[32:39]", "v[8:15]", "v[24:31]");
  expect_good(first + "v_nop\n" + second);
  expect_broken(first + "s_nop 0\n" + second, "as matrix A", "7.9");
  // In wave64 D has four registers.
  const std::string half = "v_wmma_f32_16x16x16_f16 v[8:11], v[16:23], v[24:31], v[8:11]\n";
  expect_good(half + "v_wmma_f32_16x16x16_f16 v[32:35], v[12:19], v[24:31], v[32:35]", 64);
  expect_broken(half + "v_wmma_f32_16x16x16_f16 v[32:35], v[11:18], v[24:31], v[32:35]", "as matrix A", "7.9",
                64);
}

// LLVM, VALUPartialForwardingHazard.
TEST(HazardRules, ResultsAroundAChangeOfExec) {
  const std::string before = "v_mov_b32 v2, v9\n", behind = "v_mov_b32 v3, v9\n",
                    use = "v_add_f32 v4, v2, v3\n";
  const std::string change = "s_mov_b64 exec, -1\n";
  const char* const text = "reads v2 and v3, which vector instructions before and behind a change of EXEC";
  const auto broken = [&](const std::string& program) { expect_broken(program, text, "16.5", 64); };
  broken(before + change + behind + use);
  broken(before + "s_and_saveexec_b64 s[4:5], exec\n" + behind + use);
  // Two others around the change, and four behind.
  broken(before + moves(2) + change + behind + moves(4) + use);
  broken(before + moves(1) + change + moves(1) + behind + use);
  expect_good(before + moves(3) + change + behind + use, 64);
  expect_good(before + moves(1) + change + moves(2) + behind + use, 64);
  expect_good(before + change + behind + moves(5) + use, 64);
  // Both on one side, one register, another wave size, and a wait.
  expect_good(change + before + behind + use, 64);
  expect_good(before + behind + change + use, 64);
  expect_good(before + change + behind + "v_add_f32 v4, v3, v3\n", 64);
  expect_good(before + "s_mov_b32 exec_lo, -1\n" + behind + use, 32);
  expect_good(before + change + behind + "s_waitcnt_depctr 0xfff\n" + use, 64);
  // The hardware sees what the vector ALU itself does to EXEC.
  expect_good(before + "v_cmpx_eq_u32 v9, v9\n" + behind + use, 64);
}

// LLVM, VALUMaskWriteHazard.
TEST(HazardRules, MasksThatTheScalarAluReplaces) {
  const std::string select = "v_cndmask_b32 v1, v2, v3, s[4:5]\n", write = "s_mov_b64 s[4:5], 0\n",
                    read = "s_and_b32 s8, s4, s4\n";
  const auto broken = [&](const std::string& program, const char* name) {
    expect_broken(program, std::string("reads ") + name + ", which a scalar instruction wrote while", "16.5",
                  64);
  };
  broken(select + write + read, "s4");
  broken(select + "s_mov_b32 s5, 0\ns_mov_b32 s8, s5\n", "s5");
  broken("v_add_co_ci_u32 v1, vcc, v2, v3, vcc\ns_mov_b64 vcc, 0\ns_mov_b32 s8, vcc_lo\n", "vcc_lo");
  broken(select + moves(3) + write + "s_nop 7\n" + read, "s4");
  expect_good(select + write + "s_waitcnt_depctr 0xfffe\n" + read, 64);
  expect_good(select + "v_mov_b32 v9, s9\n" + write + read, 64);
  expect_good(select + read + write, 64);
  expect_good(write + read + select, 64);
  expect_good(select + "s_mov_b64 s[6:7], 0\ns_mov_b32 s8, s6\n", 64);
  expect_good("v_cndmask_b32 v1, v2, v3, s4\ns_mov_b32 s4, 0\ns_mov_b32 s8, s4\n", 32);
}

// LLVM, VALUTransUseHazard.
TEST(HazardRules, UseOfATranscendentalResult) {
  const std::string made = "v_rcp_f32 v2, v3\n", used = "v_mul_f32 v4, v2, v5\n";
  const char* const text = "reads v2, which v_rcp_f32 writes";
  for (const unsigned between : {0u, 1u, 5u}) expect_broken(made + moves(between) + used, text, "16.5");
  expect_good(made + moves(6) + used);
  // One more transcendental instruction between them is no help, two are.
  expect_broken(made + "v_exp_f32 v9, v8\n" + used, text, "16.5");
  expect_good(made + "v_exp_f32 v9, v8\nv_exp_f32 v10, v8\n" + used);
  // What goes by the same path, or waits for all of it.
  expect_good(made + "s_waitcnt_depctr 0xfff\n" + used);
  expect_good(made + "s_wait_idle\n" + used);
  expect_good(made + "ds_bpermute_b32 v9, v8, v7\ns_waitcnt lgkmcnt(0)\n" + used);
  expect_broken(made + "s_nop 3\n" + used, text, "16.5");
  expect_good(made + "v_mov_b32 v2, v5\n");
  expect_broken("v_rcp_f64 v[2:3], v[4:5]\nv_mov_b32 v9, v3\n", "reads v3, which v_rcp_f64 writes", "16.5");
}

std::string direct_load(unsigned wait) {
  return "lds_direct_load v2 wait_vdst:" + std::to_string(wait) + "\ns_waitcnt expcnt(0)\n";
}
const std::string kM0 = "s_mov_b32 m0, 0x20000\n";

// 12.2.1.2: wait_vdst is the number of vector instructions that may be under way when the load is issued.
TEST(HazardRules, DirectLoadOverARegisterInUse) {
  for (const std::string use :
       {"v_mov_b32 v9, v2\n", "v_mov_b32 v2, v9\n", "v_lshlrev_b64 v[8:9], 1, v[1:2]\n"})
    for (const unsigned between : {0u, 1u, 5u, 14u}) {
      const std::string text = kM0 + use + moves(between);
      expect_good(text + direct_load(between));
      expect_good(text + direct_load(0));
      expect_broken(text + direct_load(between + 1), "give it wait_vdst:" + std::to_string(between),
                    "12.2.1.2");
    }
  // The sixteenth before has completed whatever the field says.
  expect_good(kM0 + "v_mov_b32 v9, v2\n" + moves(15) + direct_load(15));
  expect_broken(kM0 + "v_mov_b32 v9, v2\n" + moves(14) + direct_load(15), "give it wait_vdst:14", "12.2.1.2");
  expect_good(kM0 + "v_mov_b32 v9, v3\n" + direct_load(15));
  expect_broken(kM0 + "v_mov_b32 v9, v2\nlds_param_load v2, attr0.x wait_vdst:1\n",
                "lds_param_load writes v2", "12.2.1.2");
}

TEST(HazardRules, WhatWaitsForVectorInstructions) {
  const std::string use = kM0 + "v_mov_b32 v9, v2\n";
  expect_good(use + "s_waitcnt_depctr 0xfff\n" + direct_load(15));  // VA_VDST 0
  expect_broken(use + "s_waitcnt_depctr 0x1fff\n" + direct_load(15), "wait_vdst:0", "12.2.1.2");
  expect_good(use + "s_wait_idle\n" + direct_load(15));
  expect_broken(use + "s_nop 7\n" + direct_load(15), "wait_vdst:0", "12.2.1.2");
  // A load that waits has waited for the next one, too.
  expect_good(use + "lds_direct_load v3 wait_vdst:0\n" + direct_load(15));
  // Transcendental ones run beside the others, so that no count but zero is enough (LLVM).
  expect_broken(kM0 + "v_mov_b32 v9, v2\nv_exp_f32 v20, v21\n" + direct_load(1), "wait_vdst:0", "12.2.1.2");
  expect_good(kM0 + "v_mov_b32 v9, v2\nv_exp_f32 v20, v21\n" + direct_load(0));
}

// 12.2.1.2: a memory instruction may read its registers later than it is issued.
TEST(HazardRules, DirectLoadOverWhatMemoryReads) {
  const std::string store = kM0 + "v_mov_b32 v9, 0\nglobal_store_b32 v9, v2, s[0:1]\n";
  const char* const words = "global_store_b32 may not have read yet";
  expect_broken(store + direct_load(0), words, "12.2.1.2");
  expect_good(store + "v_nop\n" + direct_load(0));
  expect_good(store + "s_waitcnt_vscnt null, 0x0\n" + direct_load(0));
  expect_broken(store + "s_waitcnt vmcnt(0)\n" + direct_load(0), words, "12.2.1.2");
  expect_good(store + "s_waitcnt_depctr 0xffe3\n" + direct_load(0));  // VM_VSRC 0
  expect_broken(store + "s_waitcnt_depctr 0xffe7\n" + direct_load(0), words, "12.2.1.2");
  expect_broken(kM0 + "v_mov_b32 v2, 0\nds_load_b32 v9, v2\n" + direct_load(0),
                "ds_load_b32 may not have read", "12.2.1.2");
  expect_good(kM0 + "v_mov_b32 v9, 0\nds_load_b32 v2, v9\ns_waitcnt lgkmcnt(0)\n" + direct_load(0));
}

// A branch goes on where it leads; what a trap or the host does in between ends everything.
TEST(HazardRules, AcrossABranch) {
  expect_broken("v_cmpx_eq_u32 v1, v1\ns_branch on\nv_nop\non: v_permlane64_b32 v2, v3", "behind v_cmpx",
                "7.2.8");
}

}  // namespace
}  // namespace lockstep::machine

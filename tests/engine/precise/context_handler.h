// A trap handler that saves and restores contexts, and a program that would show it if it did not.
#pragma once

#include <array>
#include <string>

namespace lockstep {

constexpr unsigned kContextLdsBytes = 1024;

// Repeats a line with \i from 0 to count - 1.
inline std::string repeated(unsigned count, const std::string& line) {
  return ".set i, 0\n.rept " + std::to_string(count) + "\n" + line + "\n.set i, i + 1\n.endr\n";
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Saves a wave's whole context to memory from TMA on, destroys it, brings it back and returns. What it saves:
// all VGPRs; all SGPRs and VCC, one after the other in the lanes of v0 and up; M0, EXEC, MODE, TRAPSTS,
// STATUS; LDS.
inline std::string context_handler(unsigned wave_size) {
  const unsigned row = 4 * wave_size;
  const std::string advance =
      "s_add_u32 ttmp4, ttmp4, " + std::to_string(row) + "\ns_addc_u32 ttmp5, ttmp5, 0\n";
  const std::string rewind = "s_mov_b64 ttmp[4:5], ttmp[8:9]\n";
  const unsigned scalar_rows = (108 + wave_size - 1) / wave_size;
  const std::string last = "v" + std::to_string(scalar_rows);  // of M0 and the rest
  std::string text =
      "s_getreg_b32 ttmp2, hwreg(HW_REG_STATUS)\n"
      "s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)\n"
      "s_sendmsg_rtn_b64 ttmp[4:5], sendmsg(MSG_RTN_GET_TMA)\n"
      "s_mov_b64 ttmp[6:7], exec\n"
      "s_mov_b64 exec, -1\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
      "s_mov_b64 ttmp[8:9], ttmp[4:5]\n";
  // ---- Save
  text += repeated(256, "global_store_addtid_b32 v[i], ttmp[4:5]\n" + advance);
  text += repeated(106, "v_writelane_b32 v[i / WAVE], s[i], i % WAVE");
  text +=
      "v_writelane_b32 v[106 / WAVE], vcc_lo, 106 % WAVE\nv_writelane_b32 v[107 / WAVE], vcc_hi, 107 % "
      "WAVE\n";
  text +=
      "v_writelane_b32 LAST, m0, 0\nv_writelane_b32 LAST, ttmp6, 1\nv_writelane_b32 LAST, ttmp7, 2\n"
      "s_getreg_b32 ttmp10, hwreg(HW_REG_MODE)\nv_writelane_b32 LAST, ttmp10, 3\n"
      "v_writelane_b32 LAST, ttmp3, 4\nv_writelane_b32 LAST, ttmp2, 5\n";
  text += repeated(scalar_rows + 1, "global_store_addtid_b32 v[i], ttmp[4:5]\n" + advance);
  text += repeated(kContextLdsBytes / row,
                   "s_mov_b32 m0, i * WAVE * 4\nds_load_addtid_b32 v0\ns_waitcnt lgkmcnt(0)\n"
                   "global_store_addtid_b32 v0, ttmp[4:5]\n" +
                       advance);
  // ---- Destroy
  text += repeated(256, "v_mov_b32 v[i], 0xdeadbeef");
  text += repeated(kContextLdsBytes / row, "s_mov_b32 m0, i * WAVE * 4\nds_store_addtid_b32 v0");
  text += repeated(106, "s_mov_b32 s[i], 0x5a5a5a5a");
  text +=
      "s_mov_b64 vcc, 0x33\ns_mov_b32 m0, -1\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5\n"
      "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0x1ff\ns_mov_b32 ttmp2, 0\ns_mov_b32 ttmp3, 0\n"
      "s_mov_b64 ttmp[6:7], 0\ns_waitcnt lgkmcnt(0)\ns_waitcnt_vscnt null, 0\n";
  // ---- Bring back, the VGPRs last
  text += rewind + "s_add_u32 ttmp4, ttmp4, 256 * 4 * WAVE\ns_addc_u32 ttmp5, ttmp5, 0\n";
  text += repeated(scalar_rows + 1, "global_load_addtid_b32 v[i], ttmp[4:5]\n" + advance);
  text += "s_waitcnt vmcnt(0)\n";
  text += repeated(106, "v_readlane_b32 s[i], v[i / WAVE], i % WAVE");
  text +=
      "v_readlane_b32 vcc_lo, v[106 / WAVE], 106 % WAVE\nv_readlane_b32 vcc_hi, v[107 / WAVE], 107 % WAVE\n";
  text +=
      "v_readlane_b32 ttmp11, LAST, 0\nv_readlane_b32 ttmp6, LAST, 1\nv_readlane_b32 ttmp7, LAST, 2\n"
      "v_readlane_b32 ttmp10, LAST, 3\nv_readlane_b32 ttmp3, LAST, 4\nv_readlane_b32 ttmp2, LAST, 5\n"
      "s_setreg_b32 hwreg(HW_REG_MODE), ttmp10\n"
      "s_and_b32 ttmp3, ttmp3, 0xfffffbff\ns_setreg_b32 hwreg(HW_REG_TRAPSTS), ttmp3\n";
  text += repeated(kContextLdsBytes / row,
                   "global_load_addtid_b32 v0, ttmp[4:5]\ns_waitcnt vmcnt(0)\n"
                   "s_mov_b32 m0, i * WAVE * 4\nds_store_addtid_b32 v0\n" +
                       advance);
  text += "s_waitcnt lgkmcnt(0)\ns_mov_b32 m0, ttmp11\n" + rewind;
  text += repeated(256, "global_load_addtid_b32 v[i], ttmp[4:5]\n" + advance);
  text +=
      "s_waitcnt vmcnt(0)\ns_mov_b64 exec, ttmp[6:7]\n"
      "s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp2\ns_rfe_b64 ttmp[0:1]\n";
  return replaced(replaced(text, "WAVE", std::to_string(wave_size)), "LAST,", last + ",");
}

// Uses a bit of everything that a context holds, and stores it in the end to the 2 kB at s[0:1].
inline std::string context_program(unsigned wave_size) {
  const std::string vcc = wave_size == 32 ? "vcc_lo" : "vcc";
  std::string text =
      "v_lshlrev_b32 v1, 2, v0\ns_mov_b32 s4, 2\ns_mov_b32 s5, 0\ns_mov_b32 s20, 0x12345\n"
      "v_cvt_f32_u32 v2, v0\nv_mov_b32 v200, v0\nds_store_b32 v1, v0\ns_round_mode 3\n"
      "loop:\n"
      "v_add_f32 v2, 0x3dcccccd, v2\nv_mul_f32 v3, v2, v2\n"
      "s_mov_b64 s[30:31], exec\nv_cmpx_gt_u32 20, v0\nv_add_nc_u32 v200, v200, v1\ns_mov_b64 exec, "
      "s[30:31]\n"
      "s_mul_i32 s20, s20, 0x41c64e6d\ns_add_u32 s20, s20, 0x7fffffff\ns_addc_u32 s5, s5, 1\n"
      "s_mov_b32 m0, s4\ns_movrels_b32 s21, s4\ns_xor_b32 s5, s5, s21\n"
      "v_cmp_gt_f32 VCC, 0x42c80000, v3\nv_cndmask_b32 v4, v3, v2, VCC\n"
      "ds_add_u32 v1, v200\n"
      "s_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 loop\n"
      "ds_load_b32 v5, v1\ns_waitcnt lgkmcnt(0)\n"
      "s_getreg_b32 s6, hwreg(HW_REG_MODE)\ns_getreg_b32 s7, hwreg(HW_REG_TRAPSTS)\n"
      "v_mov_b32 v6, s5\nv_mov_b32 v7, s6\nv_mov_b32 v8, s7\nv_mov_b32 v9, s20\n";
  for (unsigned i = 0; i < 8; ++i)
    text += "global_store_b32 v1, v" + std::to_string(i < 3 ? std::array{2u, 4u, 200u}[i] : i + 2) +
            ", s[0:1] offset:" + std::to_string(256 * i) + "\n";
  return replaced(text, "VCC", vcc);
}

}  // namespace lockstep

// What a compute wave begins with (guide 3.5.3.4, table 11), and registers that follow from others (3.4).
#include <gtest/gtest.h>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

// `number` of a wave's lanes store s4 to s[4 + count - 1], from the buffer's dword 0 on.
std::string store_scalars(unsigned count) {
  std::string text = "v_mov_b32 v1, 0\n";
  for (unsigned i = 0; i < count; ++i)
    text += "v_mov_b32 v2, s" + std::to_string(4 + i) +
            "\nglobal_store_b32 v1, v2, s[0:1] offset:" + std::to_string(4 * i) + "\n";
  return text;
}

std::vector<uint32_t> scalars_after(const std::string& text, unsigned count, unsigned wave_size = 32) {
  Dispatch d(text + "\ns_mov_b64 exec, 1\n" + store_scalars(count), 1, 32, wave_size);
  EXPECT_FALSE(d.run().fault) << text;
  d.buffer.resize(count);
  return d.buffer;
}

using Words = std::vector<uint32_t>;

// 3.5.3.4: user data, then the work-group ids that are enabled, then the work-group info: bit 31 in the first
// wave, the wave's number in 24:20, the number of waves in 5:0.
TEST(WaveState, ScalarRegistersAtTheStart) {
  // Each wave stores s2 to s5 at 16 bytes * (its number in the group + 2 * the group's number).
  Dispatch d(
      "s_bfe_u32 s6, s5, 0x50014\ns_mul_i32 s7, s4, 3\ns_add_u32 s7, s7, s3\ns_lshl_b32 s7, s7, 1\n"
      "s_add_u32 s7, s7, s2\ns_lshl_b32 s7, s7, 1\ns_add_u32 s7, s7, s6\ns_lshl_b32 s7, s7, 4\n"
      "s_mov_b32 exec_lo, 1\nv_mov_b32 v1, s7\nv_mov_b32 v2, s2\nv_mov_b32 v3, s3\nv_mov_b32 v4, s4\n"
      "v_mov_b32 v5, s5\nglobal_store_b128 v1, v[2:5], s[0:1]",
      1, 64);
  d.launch.grid = {128, 3, 2};
  d.launch.rsrc2 = 0xfu << 7;
  EXPECT_FALSE(d.run().fault);
  unsigned at = 0;
  for (uint32_t z = 0; z < 2; ++z)
    for (uint32_t y = 0; y < 3; ++y)
      for (uint32_t x = 0; x < 2; ++x)
        for (uint32_t wave = 0; wave < 2; ++wave, at += 4) {
          EXPECT_EQ(d.buffer[at], x);
          EXPECT_EQ(d.buffer[at + 1], y);
          EXPECT_EQ(d.buffer[at + 2], z);
          EXPECT_EQ(d.buffer[at + 3], (wave == 0 ? 1u << 31 : 0) | wave << 20 | 2);
        }
  // Ids that are not enabled take no register.
  Dispatch only_y("v_mov_b32 v1, 0\nv_mov_b32 v2, s2\nglobal_store_b32 v1, v2, s[0:1]", 1, 32);
  only_y.launch.grid = {32, 3, 1};
  only_y.launch.first_group = {7, 5, 0};
  only_y.launch.grid[1] = 1;
  only_y.launch.rsrc2 = 1u << 8;
  EXPECT_FALSE(only_y.run().fault);
  EXPECT_EQ(only_y.buffer[0], 5u);
}

// LLVM AMDGPU usage, initial kernel state: the item's ids are in VGPR 0, ten bits each, as many of them as
// TIDIG_COMP_CNT asks for.
TEST(WaveState, ItemIds) {
  for (uint32_t components : {0u, 1u, 2u}) {
    Dispatch d("v_mbcnt_lo_u32_b32 v1, -1, 0\nv_lshlrev_b32 v1, 2, v1\nglobal_store_b32 v1, v0, s[0:1]", 1,
               32);
    d.launch.grid = d.launch.group = {4, 3, 2};
    d.launch.rsrc2 = components << 11;
    d.buffer[24] = 99;
    EXPECT_FALSE(d.run().fault);
    for (uint32_t i = 0; i < 24; ++i) {
      const uint32_t x = i % 4, y = i / 4 % 3, z = i / 12;
      EXPECT_EQ(d.buffer[i], x | (components > 0 ? y << 10 : 0) | (components > 1 ? z << 20 : 0));
    }
    EXPECT_EQ(d.buffer[24], 99u) << "3.5: EXEC has the items that exist";
  }
}

// 3.4.2: FLOAT_MODE, DX10_CLAMP, IEEE, FP16_OVFL and EXCP_EN come from the descriptor.
TEST(WaveState, ModeAtTheStart) {
  const struct {
    uint32_t rsrc1, rsrc2, mode;
  } cases[] = {{0, 0, 0},
               {0xa5u << 12, 0, 0xa5},
               {1u << 21, 0, 1u << 8},
               {1u << 23, 0, 1u << 9},
               {1u << 26, 0, 1u << 23},
               {0, 0x55u << 24, 0x55u << 12}};
  for (const auto& c : cases) {
    Dispatch d("s_getreg_b32 s4, hwreg(HW_REG_MODE)\n" + store_scalars(1), 1, 32);
    d.launch.rsrc1 = c.rsrc1;
    d.launch.rsrc2 = c.rsrc2;
    EXPECT_FALSE(d.run().fault);
    EXPECT_EQ(d.buffer[0], c.mode);
  }
}

// 3.4.8: HW_ID2[27:24] is the VMID.
TEST(WaveState, HardwareIdHasTheVmid) {
  Dispatch d("s_getreg_b32 s4, hwreg(HW_REG_HW_ID2, 24, 4)\n" + store_scalars(1), 1, 32);
  d.launch.vmid = 5;
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(d.buffer[0], 5u);
}

// 3.4: SH_MEM_BASES has the upper 16 bits of both apertures, private below shared, as the aperture operands
// have them.
TEST(WaveState, ApertureBases) {
  EXPECT_EQ(scalars_after("s_mov_b64 s[6:7], src_private_base\ns_mov_b64 s[8:9], src_shared_base\n"
                          "s_getreg_b32 s4, hwreg(HW_REG_SH_MEM_BASES, 0, 16)\n"
                          "s_getreg_b32 s5, hwreg(HW_REG_SH_MEM_BASES, 16, 16)\ns_lshr_b32 s7, s7, 16\n"
                          "s_lshr_b32 s9, s9, 16\ns_sub_u32 s4, s4, s7\ns_sub_u32 s5, s5, s9\n"
                          "s_cmp_eq_u32 s7, s9\ns_cselect_b32 s6, 1, 0",
                          3),
            (Words{0, 0, 0}));
}

// 3.4: SHADER_CYCLES counts on, in 20 bits.
TEST(WaveState, ShaderCyclesGoOn) {
  EXPECT_EQ(scalars_after("s_getreg_b32 s4, hwreg(HW_REG_SHADER_CYCLES)\ns_sleep 1\ns_nop 0\n"
                          "s_getreg_b32 s5, hwreg(HW_REG_SHADER_CYCLES)\ns_lshr_b32 s6, s5, 20\n"
                          "s_sub_u32 s5, s5, s4\ns_and_b32 s5, s5, 0xfffff\ns_cmp_lg_u32 s5, 0\n"
                          "s_cselect_b32 s4, 1, 0\ns_mov_b32 s5, s6",
                          2),
            (Words{1, 0}));
}

// 3.4.1: EXECZ and VCCZ of STATUS follow EXEC and VCC, of a wave32 their lower halves.
TEST(WaveState, StatusFollowsTheMasks) {
  for (unsigned wave_size : {32u, 64u})
    EXPECT_EQ(scalars_after("s_mov_b64 vcc, 0\ns_getreg_b32 s4, hwreg(HW_REG_STATUS, 9, 2)\n"
                            "s_mov_b64 vcc, 1\ns_getreg_b32 s5, hwreg(HW_REG_STATUS, 9, 2)\n"
                            "s_mov_b64 exec, 0\ns_getreg_b32 s6, hwreg(HW_REG_STATUS, 9, 2)\n"
                            "s_mov_b32 vcc_lo, 0\ns_mov_b32 vcc_hi, 1\ns_mov_b64 exec, 1\n"
                            "s_getreg_b32 s7, hwreg(HW_REG_STATUS, 9, 2)",
                            4, wave_size),
              (Words{2, 0, 1, wave_size == 32 ? 2u : 0u}));
}

// 16.1, s_setreg, and 16.5: a write to a field leaves the other bits of MODE.
TEST(WaveState, FieldsOfMode) {
  EXPECT_EQ(
      scalars_after("s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x1003a5\n"
                    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 3\ns_getreg_b32 s4, hwreg(HW_REG_MODE)\n"
                    "s_round_mode 0xf\ns_getreg_b32 s5, hwreg(HW_REG_MODE)\ns_denorm_mode 0xc\n"
                    "s_getreg_b32 s6, hwreg(HW_REG_MODE)\ns_getreg_b32 s7, hwreg(HW_REG_MODE, 4, 4)",
                    4),
      (Words{0x100335, 0x10033f, 0x1003cf, 0xc}));
}

// Waves that come after others find nothing of them in registers and LDS.
TEST(WaveState, NothingIsLeftOfOtherWaves) {
  std::string spoil, look;
  for (unsigned i = 1; i < 24; ++i) {
    spoil += "v_mov_b32 v" + std::to_string(i) + ", -1\n";
    look += "v_or_b32 v1, v1, v" + std::to_string(i) + "\n";
  }
  for (unsigned i = 3; i < 108; ++i) {
    const std::string name = i < 106 ? "s" + std::to_string(i) : i == 106 ? "vcc_lo" : "vcc_hi";
    spoil += "s_mov_b32 " + name + ", -1\n";
    if (i > 3) look += "s_or_b32 s3, s3, " + name + "\n";
  }
  Dispatch d("s_or_b32 s3, s3, m0\ns_getreg_b32 s4, hwreg(HW_REG_TRAPSTS)\n" + look +
                 "v_or_b32 v1, s3, v1\nv_lshlrev_b32 v0, 2, v0\nds_load_b32 v2, v0\ns_waitcnt lgkmcnt(0)\n"
                 "v_or_b32 v1, v1, v2\nv_mov_b32 v3, -1\nds_store_b32 v0, v3\nv_lshl_add_u32 v0, s2, 7, v0\n"
                 "global_store_b32 v0, v1, s[0:1]\ns_mov_b32 m0, -1\ns_setreg_imm32_b32 "
                 "hwreg(HW_REG_TRAPSTS, 0, 9), "
                 "0x1ff\ns_mov_b32 s2, 0\n" +
                 spoil,
             16, 32);
  d.launch.vgpr_count = 24;
  d.options.threads = 1;
  EXPECT_FALSE(d.run().fault);
  for (uint32_t i = 0; i < 16 * 32; ++i) ASSERT_EQ(d.buffer[i], 0u) << i;
}

}  // namespace
}  // namespace lockstep::machine

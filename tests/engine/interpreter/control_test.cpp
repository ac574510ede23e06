// Branches, calls, EXEC and MODE (guide chapters 3, 5 and 6).
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

TEST(Control, ConditionalBranches) {
  for_each_wave([](TestWave& w) {
    const struct {
      const char* branch;
      uint64_t vcc, exec;
      uint32_t scc;
      bool taken;
    } cases[] = {{"s_cbranch_scc0", 0, 1, 0, true},      {"s_cbranch_scc0", 0, 1, 1, false},
                 {"s_cbranch_scc1", 0, 1, 1, true},      {"s_cbranch_scc1", 0, 1, 0, false},
                 {"s_cbranch_vccz", 0, 1, 0, true},      {"s_cbranch_vccz", 8, 1, 0, false},
                 {"s_cbranch_vccnz", 8, 1, 0, true},     {"s_cbranch_vccnz", 0, 1, 0, false},
                 {"s_cbranch_execz", 0, 0, 0, true},     {"s_cbranch_execz", 0, 2, 0, false},
                 {"s_cbranch_execnz", 0, 2, 0, true},    {"s_cbranch_execnz", 0, 0, 0, false},
                 {"s_cbranch_cdbguser", 0, 1, 0, false}, {"s_branch", 0, 0, 0, true}};
    for (const auto& test : cases) {
      w.set_s64(106, test.vcc);
      w.set_exec(test.exec);
      w.s(253) = test.scc;
      w.run(std::string("s_mov_b32 s4, 1\n") + test.branch + " over\ns_mov_b32 s4, 0\nover:");
      EXPECT_EQ(w.s(4), test.taken ? 1u : 0u) << test.branch;
    }
    // Only the upper half is set: wave32 does not look at it (guide 3.2.2).
    w.s(106) = 0, w.s(107) = 1;
    w.s(126) = 0, w.s(127) = 1;
    w.run(
        "s_mov_b32 s4, 0\ns_cbranch_vccz vz\ns_or_b32 s4, s4, 1\nvz:\ns_cbranch_execz ez\ns_or_b32 s4, s4, "
        "2\nez:");
    EXPECT_EQ(w.s(4), w.is_wave64() ? 3u : 0u);
  });
}

// Guide 5.4, table 17: COND_DBG_USER and COND_DBG_SYS are bits 20 and 21 of STATUS (3.4.1).
TEST(Control, DebugBranches) {
  for_each_wave([](TestWave& w) {
    for (uint32_t bits = 0; bits < 4; ++bits) {
      const bool user = bits & 1, sys = bits & 2;
      const struct {
        const char* branch;
        bool taken;
      } cases[] = {{"s_cbranch_cdbguser", user},
                   {"s_cbranch_cdbgsys", sys},
                   {"s_cbranch_cdbgsys_or_user", sys || user},
                   {"s_cbranch_cdbgsys_and_user", sys && user}};
      for (const auto& test : cases) {
        w.wave().status = bits << 20;
        w.run(std::string("s_mov_b32 s4, 1\n") + test.branch + " over\ns_mov_b32 s4, 0\nover:");
        EXPECT_EQ(w.s(4), test.taken ? 1u : 0u) << test.branch << " " << bits;
        // A program cannot set the bits itself: they are read-only outside of the trap handler.
        w.run("s_getreg_b32 s5, hwreg(HW_REG_STATUS, 20, 2)");
        EXPECT_EQ(w.s(5), bits);
      }
    }
    w.wave().status = 0;
  });
}

// Guide 5.4: SIMM16 is a signed count of dwords from the next instruction; 0 goes to the next instruction.
TEST(Control, BranchOffsets) {
  static constexpr uint32_t kEnd = 0xbfb00000, kBranch = 0xbfa00000,
                            kSet = 0xbe840080;  // s_mov_b32 s4, 0 + n
  static constexpr size_t kFarthest = 32767;
  for_each_wave([](TestWave& w) {
    // As far forward as there is, as far back as there is.
    std::vector<uint32_t> code(kFarthest + 40, kEnd);
    code[0] = kBranch | 3;  // to 4
    code[1] = kSet + 7;
    code[4] = kBranch | 0;
    code[5] = kBranch | kFarthest;           // to 32773
    code[6 + kFarthest] = kBranch | 0x8000;  // -32768 dwords: to 6
    code[6] = kBranch | 0xfffa;              // -6: to 1
    w.s(4) = 0;
    w.execute(code, 1000);
    ASSERT_EQ(w.wave().state, WaveState::ended) << w.wave().fault.message;
    EXPECT_EQ(w.s(4), 7u);
    // Outside of the code there is nothing.
    for (uint32_t offset : {0x8000u, 0xfff0u, 0x7fffu}) {
      w.execute({kBranch | offset, kEnd}, 10);
      EXPECT_EQ(w.wave().state, WaveState::faulted);
      EXPECT_EQ(w.wave().fault.kind, FaultKind::bad_pc);
    }
  });
}

TEST(Control, CallsAndReturns) {
  for_each_wave([](TestWave& w) {
    w.run(
        "s_getpc_b64 s[4:5]\nhere:\ns_add_u32 s6, s4, function-here\ns_addc_u32 s7, s5, 0\ns_mov_b32 s10, 0\n"
        "s_swappc_b64 s[8:9], s[6:7]\ns_add_u32 s10, s10, 16\ns_call_b64 s[8:9], function\n"
        "s_add_u32 s10, s10, 256\ns_endpgm\nfunction:\ns_add_u32 s10, s10, 1\ns_setpc_b64 s[8:9]");
    EXPECT_EQ(w.s(10), 1u + 16 + 1 + 256);
    // Guide 3.1: the two low bits of a PC are zero, whatever the pair says; 5.4: s_swappc may swap in place.
    w.run(
        "s_getpc_b64 s[6:7]\nhere:\ns_add_u32 s6, s6, function-here+3\ns_addc_u32 s7, s7, 0\n"
        "s_mov_b64 s[8:9], s[6:7]\ns_mov_b32 s10, 0\ns_swappc_b64 s[6:7], s[6:7]\ns_add_u32 s10, s10, 16\n"
        "s_cmp_eq_u32 s10, 17\ns_cselect_b32 s6, s8, s6\ns_cselect_b32 s7, s9, s7\ns_cbranch_scc0 done\n"
        "s_add_u32 s8, s8, done-function\ns_mov_b64 s[6:7], s[8:9]\ns_setpc_b64 s[6:7]\nfunction:\n"
        "s_add_u32 s10, s10, 1\ns_setpc_b64 s[6:7]\ndone:");
    EXPECT_EQ(w.s(10), 17u);
    // Table 4: the PC has 48 bits; what a pair has above them does not count.
    w.run(
        "s_getpc_b64 s[6:7]\nhere:\ns_add_u32 s6, s6, function-here\ns_addc_u32 s7, s7, 0x7fed0000\n"
        "s_mov_b32 s10, 0\ns_swappc_b64 s[8:9], s[6:7]\ns_add_u32 s10, s10, 16\ns_endpgm\n"
        "function:\ns_or_b32 s9, s9, 0x80010000\ns_add_u32 s10, s10, 1\ns_setpc_b64 s[8:9]");
    EXPECT_EQ(w.s(10), 17u);
  });
}

// Guide 5.5: in a work-group of one wave s_barrier is s_nop: the wave does not even lose its turn.
TEST(Control, BarrierOfALoneWave) {
  for_each_wave([](TestWave& w) {
    w.run("s_barrier\ns_mov_b32 s4, 7\ns_barrier");
    EXPECT_EQ(w.s(4), 7u);
  });
}

TEST(Control, SaveExec) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0xff00'ff00'0f0f'3355);
    const uint64_t old = w.exec();
    w.set_s64(4, 0x00ff'f0f0'ffff'1111);
    const uint64_t mask = w.is_wave64() ? w.s64(4) : w.s(4);
    const std::string size = w.is_wave64() ? "_b64 s[6:7], s[4:5]" : "_b32 s6, s4";
    auto saved = [&] { return w.is_wave64() ? w.s64(6) : w.s(6); };
    const uint64_t all = w.is_wave64() ? ~uint64_t{0} : 0xffff'ffff;
    const struct {
      const char* name;
      uint64_t expected;
    } cases[] = {{"s_and_saveexec", mask & old},          {"s_or_saveexec", mask | old},
                 {"s_xor_saveexec", mask ^ old},          {"s_nand_saveexec", ~(mask & old) & all},
                 {"s_nor_saveexec", ~(mask | old) & all}, {"s_xnor_saveexec", ~(mask ^ old) & all},
                 {"s_and_not0_saveexec", ~mask & old},    {"s_or_not0_saveexec", (~mask | old) & all},
                 {"s_and_not1_saveexec", mask & ~old},    {"s_or_not1_saveexec", (mask | ~old) & all}};
    for (const auto& test : cases) {
      w.set_exec(old);
      w.run(test.name + size);
      EXPECT_EQ(w.exec(), test.expected) << test.name;
      EXPECT_EQ(saved(), old) << test.name;
      EXPECT_EQ(w.s(253), test.expected != 0) << test.name;
    }
  });
}

// Guide 3.4.10: the counter is free-running, so it counts on while the wave sleeps.
TEST(Control, TimeGoesOnInSleep) {
  for_each_wave([](TestWave& w) {
    w.execute(
        assembled("s_getreg_b32 s4, hwreg(HW_REG_SHADER_CYCLES)\ns_sleep 10\n"
                  "s_getreg_b32 s5, hwreg(HW_REG_SHADER_CYCLES)",
                  w.size()));
    EXPECT_GE(w.s(5) - w.s(4), 640u);
    EXPECT_LT(w.s(5) - w.s(4), 660u);
  });
}

TEST(Control, CompareWritesMasksAndExec) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0x0ff0'5a5a'0ff0'5a5a);
    w.fill(1, [](unsigned lane) { return lane; });
    uint64_t expected = 0;
    for (unsigned lane = 0; lane < w.size(); ++lane)
      if (w.active(lane) && lane % 32 >= 6) expected |= uint64_t{1} << lane;
    w.s(20) = w.s(21) = ~0u;
    w.fill(2, [](unsigned lane) { return lane % 32; });
    w.run(w.is_wave64() ? "v_cmp_le_u32 vcc, 6, v2\nv_cmp_le_u32 s[20:21], 6, v2"
                        : "v_cmp_le_u32 vcc_lo, 6, v2\nv_cmp_le_u32 s20, 6, v2");
    EXPECT_EQ(w.vcc(), expected);
    EXPECT_EQ(w.is_wave64() ? w.s64(20) : w.s(20), expected);
    if (!w.is_wave64()) {
      EXPECT_EQ(w.s(21), ~0u);
    }
    w.run("v_cmpx_le_u32 6, v2");
    EXPECT_EQ(w.exec(), expected);
  });
}

TEST(Control, CarryChains) {
  for_each_wave([](TestWave& w) {
    w.fill64(2, [](unsigned lane) { return 0x0123'4567'ffff'fff0 + lane; });
    w.fill64(4, [](unsigned lane) { return 0x1000'0000'0000'0008 + lane; });
    const std::string vcc = w.is_wave64() ? "vcc" : "vcc_lo", mask = w.is_wave64() ? "s[10:11]" : "s10";
    w.run("v_add_co_u32 v6, " + mask + ", v2, v4\nv_add_co_ci_u32_e64 v7, null, v3, v5, " + mask +
          "\nv_sub_co_u32 v8, " + vcc + ", v2, v4\nv_sub_co_ci_u32 v9, " + vcc + ", v3, v5, " + vcc);
    w.expect_v64(6, [](unsigned lane) { return 0x1123'4567'ffff'fff8 + 2 * uint64_t{lane}; });
    w.expect_v64(8, [](unsigned) { return 0x0123'4567'ffff'fff0 - 0x1000'0000'0000'0008; });
    EXPECT_EQ(w.vcc(), w.is_wave64() ? ~uint64_t{0} : 0xffff'ffff);
  });
}

// A change of MODE in mid-program changes what follows (guide 3.4.2, 6.8, 7.2.4).
TEST(Mode, RoundingAndDenormals) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned) { return f32(1.0f); });
    w.fill(2, [](unsigned) { return f32(0x1p-24f * 0.75f); });
    w.fill(3, [](unsigned) { return 0x0000'0100u; });  // denormal
    const char* sum = ", v1, v2\n";
    w.run(std::string("v_add_f32 v10") + sum + "s_round_mode 0x1\nv_add_f32 v11" + sum + "v_sub_f32 v12" +
          sum + "s_round_mode 0x2\nv_add_f32 v13" + sum + "v_sub_f32 v14" + sum +
          "s_round_mode 0x3\nv_sub_f32 v15" + sum + "s_round_mode 0x0\nv_add_f32 v16" + sum +
          "v_mul_f32 v17, v3, v1\ns_denorm_mode 0x0\nv_mul_f32 v18, v3, v1\n"
          "s_denorm_mode 0xf\nv_mul_f32 v19, v3, v1\ns_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 8)\n"
          "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\nv_add_f32 v20" +
          sum + "s_mov_b32 s5, 0\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s5\nv_add_f32 v21" + sum);
    const uint32_t one = f32(1.0f), above = one + 1, below = one - 1;
    const uint32_t expected[] = {one, above, one, one, below, below, one};
    for (unsigned i = 0; i < 7; ++i) w.expect_v(10 + i, [&](unsigned) { return expected[i]; });
    w.expect_v(17, [](unsigned) { return 0x100u; });
    w.expect_v(18, [](unsigned) { return 0u; });
    w.expect_v(19, [](unsigned) { return 0x100u; });
    w.expect_v(20, [&](unsigned) { return above; });
    w.expect_v(21, [&](unsigned) { return one; });
    EXPECT_EQ(w.s(4), 0xf0u);
  });
}

TEST(Mode, ScalarRelativeRegisters) {
  for_each_wave([](TestWave& w) {
    w.s(125) = 3;
    w.run("s_movrels_b32 s20, s5\ns_movreld_b32 s30, s6\ns_movrels_b64 s[40:41], s[4:5]");
    EXPECT_EQ(w.s(20), w.s(8));
    EXPECT_EQ(w.s(33), w.s(6));
    EXPECT_EQ(w.s64(40), w.s64(6));  // the index loses its low bit (guide 3.3.1.3)
    // A literal is its own, not that of the instruction before (found by random programs).
    w.run("s_movk_i32 s20, 0x3f89\ns_movreld_b32 s30, 0x9d0a4799");
    EXPECT_EQ(w.s(33), 0x9d0a4799u);
    w.run("s_movk_i32 s20, 0x3f89\ns_movreld_b64 s[30:31], 0x456789");
    EXPECT_EQ(w.s64(32), 0x456789u);
    const uint32_t s0 = w.s(0);
    w.s(125) = 200;
    const TestWave::State before = w.save();
    w.run("s_movreld_b32 s30, s6");
    EXPECT_TRUE(std::equal(before.scalar.begin(), before.scalar.begin() + 128, w.wave().scalar));
    w.run("s_movrels_b32 s20, s5");
    EXPECT_EQ(w.s(20), s0);
  });
}

}  // namespace
}  // namespace lockstep::interpreter

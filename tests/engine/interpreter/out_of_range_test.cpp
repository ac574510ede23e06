// Registers that a wave does not have (guide 3.3.1.4, 3.3.2.2).
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

// Navi 31 allocates blocks of 24 in wave32 and of 12 in wave64 (3.3.2.1).
TEST(OutOfRange, AllocationIsRoundedUp) {
  EXPECT_EQ(allocated_vgprs(1, 32, 24), 24u);
  EXPECT_EQ(allocated_vgprs(24, 32, 24), 24u);
  EXPECT_EQ(allocated_vgprs(25, 32, 24), 48u);
  EXPECT_EQ(allocated_vgprs(1, 64, 24), 12u);
  EXPECT_EQ(allocated_vgprs(13, 64, 24), 24u);
  EXPECT_EQ(allocated_vgprs(256, 32, 24), 256u);
  EXPECT_EQ(allocated_vgprs(256, 64, 24), 256u);
}

TEST(OutOfRange, VectorAlu) {
  for_each_wave([](TestWave& w) {
    w.allocate_vgprs(24);
    w.fill(0, [](unsigned lane) { return 100 + lane; });
    w.run("v_mov_b32 v1, v24\nv_add_nc_u32 v2, v23, v200\nv_add_f64 v[4:5], v[23:24], 0\nv_mov_b32 v3, v23");
    w.expect_v(1, [](unsigned lane) { return 100 + lane; });
    w.expect_v(2, [&](unsigned lane) { return w.v(23, lane) + 100 + lane; });
    w.expect_v(3, [&](unsigned lane) { return w.v(23, lane); });
    const uint32_t vcc = w.s(106) = 0x1357;
    for (const char* text :
         {"v_mov_b32 v24, 0", "v_lshlrev_b64 v[23:24], 1, v[0:1]", "v_add_co_u32 v100, vcc_lo, v0, v0",
          "v_swap_b32 v1, v30", "v_swap_b32 v30, v1"}) {
      if (w.is_wave64() && std::string_view(text).find("vcc_lo") != std::string_view::npos) continue;
      const TestWave::State before = w.save();
      w.run(text);
      EXPECT_EQ(w.save().vgprs, before.vgprs) << text;
      EXPECT_EQ(w.s(106), vcc) << text;
    }
  });
}

// "If any destination is out of range, no results are written": TTMPs are, outside of the trap handler
// (3.3.1.4); NULL is not.
TEST(OutOfRange, OneOfSeveralDestinations) {
  for_each_wave([](TestWave& w) {
    const std::string ttmp = w.is_wave64() ? "ttmp[2:3]" : "ttmp2";
    w.fill(2, [](unsigned lane) { return 3 * lane; });
    for (const std::string& text :
         {"v_add_co_u32 v1, " + ttmp + ", v2, v2", "v_div_scale_f32 v1, " + ttmp + ", v2, v2, v3",
          "v_mad_u64_u32 v[4:5], " + ttmp + ", v2, v2, v[6:7]", "v_cmp_ge_u32 " + ttmp + ", v2, v2"}) {
      const TestWave::State before = w.save();
      w.run(text);
      EXPECT_EQ(w.save().vgprs, before.vgprs) << text;
      EXPECT_EQ(w.s(110), 0u);
    }
    w.run("v_add_co_u32 v1, null, v2, v2");
    w.expect_v(1, [](unsigned lane) { return 6 * lane; });
  });
}

// 3.3.3: the check includes the register that TFE adds, and no other.
TEST(OutOfRange, TheStatusWordIsADestination) {
  for_each_wave([](TestWave& w) {
    w.allocate_vgprs(24);
    w.set_s64(4, w.memory_address());
    w.s(6) = TestWave::kMemoryBytes;
    w.s(7) = 0x3002'0000;
    w.word(0) = 99;
    w.fill(23, [](unsigned) { return 5; });
    TestWave::State before = w.save();
    w.run("buffer_load_b32 v[23:24], off, s[4:7], 0 tfe\nbuffer_load_b64 v[22:24], off, s[4:7], 0 tfe");
    EXPECT_EQ(w.save().vgprs, before.vgprs);
    w.run("buffer_load_b32 v[22:23], off, s[4:7], 0 tfe");
    w.expect_v(22, [](unsigned) { return 99; });
    w.expect_v(23, [](unsigned) { return 0; });
  });
}

TEST(OutOfRange, DualIssueTakesTheNumberModulo4) {
  TestWave w(configurations()[0]);
  w.allocate_vgprs(24);
  w.fill(1, [](unsigned lane) { return lane; });
  w.fill(2, [](unsigned lane) { return 1000 + lane; });
  w.run("v_dual_mov_b32 v10, v25 :: v_dual_mov_b32 v11, v30");
  w.expect_v(10, [](unsigned lane) { return lane; });
  w.expect_v(11, [](unsigned lane) { return 1000 + lane; });
  // The register that is read instead is read before the other half writes it (guide 7.6).
  w.run("v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v10, v25");
  w.expect_v(10, [](unsigned lane) { return lane; });
  w.expect_v(1, [](unsigned lane) { return 1000 + lane; });
}

TEST(OutOfRange, Memory) {
  for_each_wave([](TestWave& w) {
    w.allocate_vgprs(24);
    w.set_s64(2, w.memory_address());
    for (unsigned i = 0; i < 2048; ++i) w.word(i) = 7 * i;
    w.fill(0, [](unsigned lane) { return 16 * lane; });
    w.fill(1, [](unsigned lane) { return 16 * lane; });
    // A destination that does not fit nullifies the load.
    const TestWave::State before = w.save();
    w.run(
        "global_load_b64 v[23:24], v0, s[2:3]\nglobal_load_b32 v40, v0, s[2:3]\nds_load_b128 v[22:25], v0\n"
        "global_atomic_add_u32 v24, v1, v0, s[2:3] glc");
    EXPECT_EQ(w.save().vgprs, before.vgprs);
    EXPECT_EQ(w.save().memory, before.memory);
    // An address or data register that is not there is VGPR 0; of a group, only the missing ones.
    w.run("global_load_b32 v2, v24, s[2:3]");
    w.expect_v(2, [](unsigned lane) { return 7 * 4 * lane; });
    w.run("global_store_b64 v1, v[23:24], s[2:3]\nds_store_b32 v30, v1 offset:4");
    for (unsigned lane = 0; lane < w.size(); ++lane) {
      EXPECT_EQ(w.word(4 * lane), w.v(23, lane));
      EXPECT_EQ(w.word(4 * lane + 1), w.v(0, lane));
      EXPECT_EQ(w.lds_word(4 * lane + 1), w.v(1, lane));
    }
  });
}

TEST(OutOfRange, RelativeRegisters) {
  for_each_wave([](TestWave& w) {
    w.allocate_vgprs(24);
    w.s(125) = 20;
    TestWave::State before = w.save();
    w.run("v_movreld_b32 v5, v1");  // v25
    EXPECT_EQ(w.save().vgprs, before.vgprs);
    w.run("v_movrels_b32 v2, v4");  // v24: VGPR 0 instead
    w.expect_v(2, [&](unsigned lane) { return w.v(0, lane); });
    // Nor is there v30, to whose number M0 adds.
    w.s(125) = 3;
    w.run("v_movrels_b32 v8, v30\nv_movrelsd_b32 v9, v30");
    w.expect_v(8, [&](unsigned lane) { return w.v(0, lane); });
    w.expect_v(12, [&](unsigned lane) { return w.v(0, lane); });
    w.s(125) = 20 << 16 | 3;
    before = w.save();
    w.run("v_swaprel_b32 v5, v1");
    EXPECT_EQ(w.save().vgprs, before.vgprs);
    w.s(125) = 3 << 16 | 20;
    w.run("v_swaprel_b32 v1, v5");
    EXPECT_EQ(w.save().vgprs, before.vgprs);
    w.s(125) = ~0u;
    w.run("v_movreld_b32 v5, v1\nv_movrelsd_b32 v5, v1");
    EXPECT_EQ(w.save().vgprs, before.vgprs);
  });
}

TEST(OutOfRange, GroupsBehindTheLastVectorRegister) {
  for_each_wave([](TestWave& w) {
    w.set_s64(2, w.memory_address());
    w.fill(0, [](unsigned lane) { return 16 * lane; });
    // global_load_b128 v[255:258], v0, s[2:3] and ds_load_b96 v[255:257], v0: no assembler writes these.
    for (const std::vector<uint32_t>& code :
         {std::vector<uint32_t>{0xdc5e0000, 0xff020000, 0xbfb00000}, {0xdbfc0000, 0xff000000, 0xbfb00000}}) {
      const TestWave::State before = w.save();
      w.execute(code);
      EXPECT_NE(w.wave().state, WaveState::ready);
      EXPECT_EQ(w.save().vgprs, before.vgprs);
    }
  });
}

// Index > 255 is out of range (3.3.2.2): a source is v0, with a destination nothing happens.
TEST(OutOfRange, VectorAluBehindTheLastRegister) {
  for_each_wave([](TestWave& w) {
    w.fill(0, [](unsigned lane) { return 7 + lane; });
    w.fill(255, [](unsigned lane) { return 1000 + lane; });
    // v_lshlrev_b64 v[2:3], 0, v[255:256]
    w.run(std::vector<uint32_t>{0xd73c0002, 0x0003fe80, 0xbfb00000});
    w.expect_v(2, [](unsigned lane) { return 7 + lane; });
    // v_lshlrev_b64 v[255:256], 0, v[0:1] and v_cvt_f64_f32 v[255:256], v0
    for (const std::vector<uint32_t>& code :
         {std::vector<uint32_t>{0xd73c00ff, 0x00020080, 0xbfb00000}, {0x7ffe2100, 0xbfb00000}}) {
      const TestWave::State before = w.save();
      w.run(code);
      EXPECT_EQ(w.save().vgprs, before.vgprs);
    }
  });
}

// What crosses a region of scalar registers is written nowhere; misaligned groups begin where they should.
TEST(OutOfRange, ScalarGroups) {
  for_each_wave([](TestWave& w) {
    w.set_s64(2, w.memory_address());
    for (unsigned i = 0; i < 64; ++i) w.word(i) = 0x100 + i;
    const TestWave::State before = w.save();
    // s_load_b512 to s100, s_load_b256 to s104, s_load_b64 to m0, s_mov_b64 to m0: cross out of their region.
    for (const std::vector<uint32_t>& code : {std::vector<uint32_t>{0xf4101901, 0xf8000000},
                                              {0xf40c1a01, 0xf8000000},
                                              {0xf4041f41, 0xf8000000},
                                              {0xbefd0102}}) {
      std::vector<uint32_t> program = code;
      program.push_back(0xbfb00000);
      w.execute(program);
      EXPECT_TRUE(std::equal(before.scalar.begin(), before.scalar.begin() + 128, w.wave().scalar));
      if (w.wave().state == WaveState::faulted) {
        EXPECT_EQ(w.wave().fault.kind, FaultKind::illegal_instruction);
      }
    }
    // s_mov_b64 s[9:10], s[3:4] as encoded: the low bits do not count.
    w.run(std::vector<uint32_t>{0xbe890103, 0xbfb00000});
    EXPECT_EQ(w.s64(8), w.s64(2));
    // s_load_b128 to s104: VCC belongs to the region of the SGPRs.
    w.run(std::vector<uint32_t>{0xf4081a01, 0xf8000000, 0xbfb00000});
    EXPECT_EQ(w.s(104), 0x100u);
    EXPECT_EQ(w.s(107), 0x103u);
    // s_load_b128 with s9 as destination begins at s8.
    w.run(std::vector<uint32_t>{0xf4080241, 0xf8000000, 0xbfb00000});
    EXPECT_EQ(w.s(8), 0x100u);
    EXPECT_EQ(w.s(11), 0x103u);
  });
}

TEST(OutOfRange, TrapTemporariesReadZeroAndStayZero) {
  for_each_wave([](TestWave& w) {
    w.set_s64(2, w.memory_address());
    w.s(125) = 0;
    w.run(
        "s_mov_b32 ttmp0, 5\ns_mov_b64 ttmp[2:3], -1\ns_load_b128 ttmp[4:7], s[2:3], 0x0\ns_mov_b32 s5, "
        "ttmp0\n"
        "v_readfirstlane_b32 ttmp9, v0\ns_movreld_b32 ttmp1, s2");
    for (unsigned i = 108; i < 124; ++i) EXPECT_EQ(w.s(i), 0u);
    EXPECT_EQ(w.s(5), 0u);
  });
}

}  // namespace
}  // namespace lockstep::interpreter

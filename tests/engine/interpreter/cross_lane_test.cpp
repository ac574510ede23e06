// DPP, lanes read and written, relative VGPRs, dual issue, matrices (guide 7.6 to 7.9).
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

TEST(Dpp, Dpp16Controls) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned lane) { return 100 + lane; });
    const struct {
      const char* control;
      std::function<int(int)> source;  // of a lane within its row; outside 0..15: none
    } cases[] = {{"quad_perm:[3,0,1,1]", [](int i) { return (i & ~3) + (const int[]){3, 0, 1, 1}[i & 3]; }},
                 {"row_shl:3", [](int i) { return i + 3; }},
                 {"row_shr:5", [](int i) { return i - 5; }},
                 {"row_ror:4", [](int i) { return (i + 12) % 16; }},
                 {"row_mirror", [](int i) { return 15 - i; }},
                 {"row_half_mirror", [](int i) { return (i & 8) + 7 - (i & 7); }},
                 {"row_share:9", [](int) { return 9; }},
                 {"row_xmask:6", [](int i) { return i ^ 6; }}};
    for (const auto& test : cases) {
      for (uint64_t exec : {~uint64_t{0}, uint64_t{0xfff0'1234'aaaa'c3c3}}) {
        for (unsigned flags = 0; flags < 4; ++flags) {
          const bool bound = flags & 1, inactive = flags & 2;
          w.set_exec(exec);
          exec = w.exec();
          w.fill(0, [](unsigned lane) { return lane; });
          std::string text =
              std::string("v_mov_b32_dpp v0, v1 ") + test.control + " row_mask:0x5 bank_mask:0xb";
          if (bound) text += " bound_ctrl:1";
          if (inactive) text += " fi:1";
          w.run(text);
          w.expect_v(
              0,
              [&](unsigned lane) -> uint32_t {
                const unsigned row = lane / 16, place = lane % 16;
                if (!(0x5 >> row & 1) || !(0xb >> (place / 4) & 1)) return lane;
                const int source = test.source(static_cast<int>(place));
                const bool valid = source >= 0 && source < 16;
                const unsigned from = row * 16 + static_cast<unsigned>(source & 15);
                if (valid && (inactive || exec >> from & 1)) return 100 + from;
                return bound ? 0 : lane;
              },
              text);
        }
      }
    }
  });
}

TEST(Dpp, Dpp8AndOtherEncodings) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0xffff'ffff'ffff'fffd);
    w.fill(1, [](unsigned lane) { return 100 + lane; });
    w.fill(2, [](unsigned lane) { return 1000 * lane; });
    w.run(
        "v_mov_b32_dpp v0, v1 dpp8:[1,2,3,4,5,6,7,0]\nv_add_nc_u32_dpp v3, v1, v2 dpp8:[1,1,1,1,0,0,0,0] "
        "fi:1\n"
        "v_add3_u32_e64_dpp v4, v1, v2, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf fi:1");
    w.expect_v(0, [](unsigned lane) { return lane == 0 ? 0 : 100 + (lane & ~7u) + (lane + 1) % 8; });
    w.expect_v(3, [](unsigned lane) { return 100 + (lane & ~7u) + (lane % 8 < 4 ? 1 : 0) + 1000 * lane; });
    w.expect_v(4, [](unsigned lane) { return 100 + (lane ^ 1) + 2000 * lane; });
  });
}

TEST(Lanes, ReadAndWrite) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0x100);
    w.fill(1, [](unsigned lane) { return 500 + lane; });
    w.s(125) = 5;
    w.s(6) = 64 + 7;  // the number counts modulo the wave size
    w.run(
        "v_readlane_b32 s10, v1, 31\nv_readlane_b32 s11, v1, m0\nv_readlane_b32 s12, v1, s6\n"
        "v_readfirstlane_b32 s13, v1\nv_writelane_b32 v2, s6, 3\nv_writelane_b32 v2, 17, m0");
    EXPECT_EQ(w.s(10), 531u);
    EXPECT_EQ(w.s(11), 505u);
    EXPECT_EQ(w.s(12), 507u);
    EXPECT_EQ(w.s(13), 508u);
    EXPECT_EQ(w.v(2, 3), 71u);
    EXPECT_EQ(w.v(2, 5), 17u);
    w.set_exec(0);
    w.run("v_readfirstlane_b32 s13, v1");
    EXPECT_EQ(w.s(13), 500u);  // lane 0 if none is active
  });
}

TEST(Lanes, Permutations) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned lane) { return 500 + lane; });
    w.s(4) = 0x7654'3210;
    w.s(5) = 0xfedc'ba98;
    w.run("v_permlane16_b32 v2, v1, s5, s4\nv_permlanex16_b32 v3, v1, s4, s5");
    w.expect_v(2, [](unsigned lane) { return 500 + (lane & ~15u) + (lane + 8) % 16; });
    w.expect_v(3, [](unsigned lane) { return 500 + ((lane & ~15u) ^ 16) + lane % 16; });
    if (w.is_wave64()) {
      w.run("v_permlane64_b32 v4, v1");
      w.expect_v(4, [](unsigned lane) { return 500 + (lane ^ 32); });
    }
    w.fill(5, [](unsigned lane) { return 4 * ((lane * 7 + 3) % 32); });
    w.run("ds_bpermute_b32 v6, v5, v1");
    w.expect_v(6, [](unsigned lane) { return 500 + (lane & 32) + (lane * 7 + 3) % 32; });
    w.run("ds_swizzle_b32 v7, v1 offset:swizzle(SWAP,8)");
    w.expect_v(7, [](unsigned lane) { return 500 + (lane ^ 8); });
  });
}

TEST(Registers, RelativeToM0) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0x0f0f'0f0f'0f0f'0f0f);
    w.s(125) = 10;
    w.run("v_movreld_b32 v5, v1\nv_movrels_b32 v6, v1\nv_movrelsd_b32 v7, v2");
    w.expect_v(15, [&](unsigned lane) { return w.v(1, lane); });
    w.expect_v(6, [&](unsigned lane) { return w.v(11, lane); });
    w.expect_v(17, [&](unsigned lane) { return w.v(12, lane); });
    w.s(125) = 20 << 16 | 30;
    w.run("v_movrelsd_2_b32 v8, v1");
    w.expect_v(28, [&](unsigned lane) { return w.v(31, lane); });
    w.run("v_swaprel_b32 v40, v41");
    w.expect_v(60, [](unsigned lane) { return 0x7000'0000u + 71 * 0x1000 + lane; });
    w.expect_v(71, [](unsigned lane) { return 0x7000'0000u + 60 * 0x1000 + lane; });
  });
}

// Guide 7.4: each operand of a 16-bit swap is the half that bit 7 of its number names.
TEST(Registers, SwapOfHalves) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0x00ff'0ff0'ff00'0f0f);
    for (const bool high_a : {false, true})
      for (const bool high_b : {false, true}) {
        w.fill(5, [](unsigned lane) { return 0x1111'2200u + lane; });
        w.fill(6, [](unsigned lane) { return 0x3300'4444u + (lane << 16); });
        const auto half = [](uint32_t word, bool high) { return high ? word >> 16 : word & 0xffff; };
        const auto with = [](uint32_t word, bool high, uint32_t value) {
          return high ? (word & 0xffff) | value << 16 : (word & 0xffff'0000) | value;
        };
        // v_swap_b16 v5.l or .h, v6.l or .h
        w.run(std::vector<uint32_t>{0x7e00'cd06u | uint32_t{high_a} << 24 | 5u << 17 | uint32_t{high_b} << 7,
                                    0xbfb0'0000u});
        const auto a = [](unsigned lane) { return 0x1111'2200u + lane; };
        const auto b = [](unsigned lane) { return 0x3300'4444u + (lane << 16); };
        w.expect_v(5, [&](unsigned lane) { return with(a(lane), high_a, half(b(lane), high_b)); });
        w.expect_v(6, [&](unsigned lane) { return with(b(lane), high_b, half(a(lane), high_a)); });
      }
  });
}

// Guide 7.1, 3.4.3, 7.2.5: vector instructions cannot write M0 or EXEC, so as destinations these are out of
// range and nothing is written.
TEST(Registers, VectorInstructionsWriteNeitherM0NorExec) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0x0ff0'0ff0'0ff0'0ff0);
    w.s(125) = 77;
    const std::string exec = w.is_wave64() ? "exec" : "exec_lo";
    for (const std::string& text :
         {std::string("v_readfirstlane_b32 m0, v1"), std::string("v_readlane_b32 exec_lo, v1, 3"),
          "v_cmp_eq_u32_e64 " + exec + ", v1, v1", "v_add_co_u32 v7, " + exec + ", v1, v1"}) {
      const TestWave::State before = w.save();
      w.run(text);
      EXPECT_EQ(w.s(125), 77u) << text;
      EXPECT_EQ(w.exec(), w.wave().lane_mask & 0x0ff0'0ff0'0ff0'0ff0) << text;
      EXPECT_EQ(w.save().vgprs, before.vgprs) << text;
    }
    // V_CMPX implies EXEC.
    w.run("v_cmpx_ne_u32 v1, v1");
    EXPECT_EQ(w.exec(), 0u);
  });
}

// 7.7 names no exception: M0 chooses the register (7.8), DPP the lanes of it.
TEST(Registers, RelativeToM0WithDpp) {
  for_each_wave([](TestWave& w) {
    w.set_exec(~uint64_t{0});
    w.s(125) = 10;
    const std::string dpp = " quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0x5\n";
    w.run("v_movreld_b32_dpp v5, v1" + dpp + "v_movrels_b32_dpp v6, v1" + dpp + "v_movrelsd_b32_dpp v7, v2" +
          dpp + "v_movrels_b32_dpp v8, v1 dpp8:[1,0,3,2,5,4,7,6]");
    auto expected = [&](unsigned from, unsigned to) {
      return [from, to](unsigned lane) {
        return 0x7000'0000u + (lane / 4 % 2 == 0 ? from * 0x1000 + (lane ^ 3) : to * 0x1000 + lane);
      };
    };
    w.expect_v(15, expected(1, 15));
    w.expect_v(6, expected(11, 6));
    w.expect_v(17, expected(12, 17));
    w.expect_v(8, [](unsigned lane) { return 0x7000'0000u + 11 * 0x1000 + (lane ^ 1); });
    w.s(125) = 20 << 16 | 30;
    w.run("v_movrelsd_2_b32_dpp v9, v1" + dpp);
    w.expect_v(29, expected(31, 29));
  });
}

// Both halves read before either writes (guide 7.6).
TEST(DualIssue, ReadsComeFirst) {
  TestWave w(configurations()[0]);
  w.set_exec(0xf0f0'ff0f);
  auto old = [](unsigned number) {
    return [number](unsigned lane) { return 0x7000'0000u + number * 0x1000 + lane; };
  };
  w.run("v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2");
  w.expect_v(2, old(3));
  w.expect_v(3, old(2));
  w.run("v_dual_mov_b32 v4, v5 :: v_dual_add_nc_u32 v7, v4, v6");
  w.expect_v(4, old(5));
  w.expect_v(7, [&](unsigned lane) { return old(4)(lane) + old(6)(lane); });
  w.run("v_dual_mov_b32 v8, v10 :: v_dual_lshlrev_b32 v9, 1, v8");
  w.expect_v(9, [&](unsigned lane) { return old(8)(lane) << 1; });
  w.expect_v(8, old(10));
  w.s(106) = 0x3333'3333;
  w.s(20) = 5;
  w.run("v_dual_cndmask_b32 v12, s20, v13 :: v_dual_mov_b32 v15, v16");
  w.expect_v(12, [&](unsigned lane) { return lane % 4 < 2 ? old(13)(lane) : 5; });
  w.expect_v(15, old(16));
  w.run("v_dual_mul_f32 v12, 0x40400000, v13 :: v_dual_mov_b32 v15, 0x40400000");
  w.expect_v(15, [](unsigned) { return f32(3.0f); });
}

TEST(DualIssue, Wave64SkipsIt) {
  TestWave w(configurations()[1]);
  const TestWave::State before = w.save();
  // v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2
  std::vector<uint32_t> code = assembled("v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2", 32);
  w.execute(code);
  EXPECT_EQ(w.wave().state, WaveState::ended);
  EXPECT_EQ(w.save().vgprs, before.vgprs);
}

// D = A * B + C with A the identity, whatever EXEC says (guide 7.9).
TEST(Matrix, IdentityTimesB) {
  for_each_wave([](TestWave& w) {
    const unsigned rows = w.size() == 32 ? 8 : 4, lanes_per_row = w.size() / 16;
    auto b = [](unsigned k, unsigned column) {
      return static_cast<float>(k) + static_cast<float>(column) / 4;
    };
    for (unsigned lane = 0; lane < w.size(); ++lane) {
      for (unsigned r = 0; r < 8; ++r) {
        const unsigned k = 2 * r, at = lane % 16;
        w.v(r, lane) = (k == at ? 0x3c00u : 0) | (k + 1 == at ? 0x3c00'0000u : 0);
        const auto half = [](float value) {
          return uint32_t{std::bit_cast<uint16_t>(static_cast<_Float16>(value))};
        };
        w.v(8 + r, lane) = half(b(k, at)) | half(b(k + 1, at)) << 16;
        w.v(16 + r, lane) = f32(1.0f);
      }
    }
    w.set_exec(1);
    const std::string c = w.is_wave64() ? "v[16:19]" : "v[16:23]",
                      d = w.is_wave64() ? "v[24:27]" : "v[24:31]",
                      e = w.is_wave64() ? "v[32:35]" : "v[32:39]";
    w.run("v_wmma_f32_16x16x16_f16 " + d + ", v[0:7], v[8:15], " + c + "\nv_wmma_f32_16x16x16_f16 " + e +
          ", v[0:7], v[8:15], 2.0");
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned lane = 0; lane < w.size(); ++lane) {
        const float product = b(r * lanes_per_row + lane / 16, lane % 16);
        EXPECT_EQ(as_f32(w.v(24 + r, lane)), product + 1);
        EXPECT_EQ(as_f32(w.v(32 + r, lane)), product + 2);
      }
  });
}

// D in registers of A, of B, or in some of C's: all operands are read before.
TEST(Matrix, DestinationsAmongTheOperands) {
  for_each_wave([](TestWave& w) {
    const auto registers = [&](unsigned first) {
      const unsigned last = first + (w.is_wave64() ? 3 : 7);
      return "v[" + std::to_string(first) + ":" + std::to_string(last) + "]";
    };
    const unsigned rows = w.is_wave64() ? 4 : 8;
    const auto run = [&](unsigned d) {
      for (unsigned r = 0; r < 40; ++r)
        w.fill(r, [&](unsigned lane) {
          const unsigned number = 7 * r + 3 * (lane % 16);
          return r < 16 ? 0x3c003c00u | number % 512 | (number + 5) % 512 << 16 : 0x3f800000u + number * 4096;
        });
      w.run("v_wmma_f32_16x16x16_f16 " + registers(d) + ", v[0:7], v[8:15], " + registers(16));
      std::vector<uint32_t> result;
      for (unsigned r = 0; r < rows; ++r)
        for (unsigned lane = 0; lane < w.size(); ++lane) result.push_back(w.v(d + r, lane));
      return result;
    };
    const std::vector<uint32_t> wanted = run(32);
    for (const unsigned d : {0u, 3u, 7u, 8u, 15u, 16u, 17u}) EXPECT_EQ(run(d), wanted) << d;
  });
}

// A constant as C is the same in both halves; a brain float's is the upper half of the f32 one.
TEST(Matrix, ConstantAddends) {
  for_each_wave([](TestWave& w) {
    for (unsigned number = 0; number < 16; ++number) w.fill(number, [](unsigned) { return 0u; });
    const std::string d = w.is_wave64() ? "v[24:27]" : "v[24:31]";
    struct Case {
      const char *constant, *format;
      uint32_t bits;
    };
    for (const char* op_sel : {"", " op_sel:[0,0,1]"})
      for (const Case& each : {Case{"2.0", "bf16", 0x4000}, Case{"2.0", "f16", 0x4000},
                               Case{"1.0", "f16", 0x3c00}, Case{"1.0", "bf16", 0x3f80}, Case{"9", "f16", 9},
                               Case{"9", "bf16", 9}, Case{"-2", "f16", 0xfffe}, Case{"-2", "bf16", 0xfffe}}) {
        const std::string format = each.format;
        w.run("v_wmma_" + format + "_16x16x16_" + format + " " + d + ", v[0:7], v[8:15], " + each.constant +
              op_sel);
        EXPECT_EQ(w.v(24, 3) >> (*op_sel ? 16 : 0) & 0xffff, each.bits) << format << each.constant << op_sel;
      }
  });
}

// LLVM's assembler has no literal there, the encoding has. That of the instruction before it is another one.
TEST(Matrix, LiteralAddends) {
  for_each_wave([](TestWave& w) {
    for (unsigned number = 0; number < 16; ++number) w.fill(number, [](unsigned) { return 0u; });
    const std::string d = w.is_wave64() ? "v[24:27]" : "v[24:31]";
    std::vector<uint32_t> code = assembled(
        "v_add_nc_u32 v32, 0x12345678, v33\nv_wmma_f32_16x16x16_f16 " + d + ", v[0:7], v[8:15], 1.0",
        w.is_wave64() ? 64 : 32);
    constexpr uint32_t kAddend = 0x1ffu << 18, kLiteral = 0xffu << 18;
    code[3] = (code[3] & ~kAddend) | kLiteral;
    code.insert(code.begin() + 4, 0x40490fdb);
    w.run(code);
    EXPECT_EQ(w.v(24, 3), 0x40490fdbu);
  });
}

}  // namespace
}  // namespace lockstep::interpreter

// Operand kinds and modifiers of vector instructions (guide 7.2 and 7.4).
#include <algorithm>
#include <random>
#include <span>

#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

// Patterns of active lanes: none, one, the lower or upper half, every other, scattered, all.
constexpr uint64_t kExecPatterns[] = {0,
                                      1,
                                      0x8000'0000'8000'0000,
                                      0x0000'ffff'0000'ffff,
                                      0xffff'0000'ffff'0000,
                                      0x5555'5555'5555'5555,
                                      0x9e37'79b9'7f4a'7c15,
                                      ~uint64_t{0}};

TEST(Operands, ExecDecidesWhichLanesChange) {
  for_each_wave([](TestWave& w) {
    for (uint64_t exec : kExecPatterns) {
      w.set_exec(exec);
      w.fill(1, [](unsigned lane) { return lane * 3; });
      w.fill(2, [](unsigned lane) { return ~lane; });
      w.run("v_add_nc_u32 v0, v1, v2\nv_xor_b32 v3, v1, v2\nv_mul_f32 v4, v1, v2");
      w.expect_v(0, [](unsigned lane) { return lane * 3 + ~lane; });
      w.expect_v(3, [](unsigned lane) { return (lane * 3) ^ ~lane; });
    }
  });
}

TEST(Operands, ScalarRegistersAndConstantsAsSources) {
  for_each_wave([](TestWave& w) {
    w.s(5) = 0x1234'5678;
    w.s(105) = 0x0bad'cafe;
    w.s(106) = 0x1111'1111;
    w.s(107) = 0x2222'2222;
    w.s(125) = 0x3333'3333;
    w.s(126) = 0xffff'ffff;
    w.s(253) = 1;
    const struct {
      const char* operand;
      uint32_t value;
    } cases[] = {{"s5", 0x1234'5678},
                 {"s105", 0x0bad'cafe},
                 {"vcc_lo", 0x1111'1111},
                 {"vcc_hi", 0x2222'2222},
                 {"m0", 0x3333'3333},
                 {"exec_lo", 0xffff'ffff},
                 {"null", 0},
                 {"src_scc", 1},
                 {"0", 0},
                 {"64", 64},
                 {"-1", ~0u},
                 {"-16", static_cast<uint32_t>(-16)},
                 {"0.5", f32(0.5f)},
                 {"-0.5", f32(-0.5f)},
                 {"1.0", f32(1.0f)},
                 {"-1.0", f32(-1.0f)},
                 {"2.0", f32(2.0f)},
                 {"-2.0", f32(-2.0f)},
                 {"4.0", f32(4.0f)},
                 {"-4.0", f32(-4.0f)},
                 {"0.15915494309189532", 0x3e22f983},
                 {"0x89abcdef", 0x89abcdef},
                 {"src_shared_base", 0},
                 {"src_shared_limit", ~0u},
                 {"src_private_base", 0},
                 {"src_private_limit", ~0u}};
    for (const auto& test : cases) {
      const std::string operand(test.operand);
      w.run("v_mov_b32 v0, " + operand + "\nv_or_b32_e64 v1, v2, " + operand + "\nv_or_b32 v3, " + operand +
            ", v2");
      w.expect_v(0, [&](unsigned) { return test.value; }, operand);
      w.expect_v(1, [&](unsigned lane) { return test.value | w.v(2, lane); }, operand);
      w.expect_v(3, [&](unsigned lane) { return test.value | w.v(2, lane); }, operand);
    }
  });
}

// VOP3 and VOP3P words of the row: source i is v[16 + 2i], or s[4 + 2i] if bit i of `scalars` is set, and a
// mask s[20:21]. Empty if there is no such instruction.
std::vector<uint32_t> with_sources(const isa::Row& row, unsigned wave_size, unsigned scalars) {
  const bool packed = row.encoding == isa::Encoding::vop3p;
  std::vector<uint32_t> code{(packed ? 0xcc00'4000u : 0xd400'0000u) | uint32_t{row.number} << 16,
                             packed ? 0x1800'0000u : 0u, 0xbfb0'0000u};
  if (row.encoding == isa::Encoding::vop3sd) code[0] |= 40 << 8;
  const isa::Role roles[] = {isa::Role::src0, isa::Role::src1, isa::Role::src2};
  for (unsigned i = 0; i < 3; ++i)
    for (const isa::OperandSpec& operand : row.operands)
      if (operand.role == roles[i]) {
        const bool is_mask = operand.type == isa::Type::mask;
        if (is_mask && scalars >> i & 1) return {};
        code[1] |= (is_mask ? 20 : scalars >> i & 1 ? 4 + 2 * i : 272 + 2 * i) << (9 * i);
      }
  isa::Instruction instruction;
  if (isa::decode(std::as_bytes(std::span(code)), wave_size, instruction) != isa::DecodeError::none ||
      instruction.row != &row)
    return {};
  return code;
}

// Whichever sources are scalars, at most two of them (guide 7.2.1): handlers differ by that.
TEST(Operands, ScalarsDoAsVgprsThatHoldThem) {
  for_each_wave([](TestWave& w) {
    std::mt19937_64 random(7);
    for (unsigned i = 4; i < 24; ++i) w.s(i) = static_cast<uint32_t>(random());
    for (unsigned i = 0; i < 6; ++i) w.fill(16 + i, [&](unsigned) { return w.s(4 + i); });
    w.set_exec(random() | 1);
    const TestWave::State begin = w.save();
    size_t compared = 0;
    for (const isa::Row& row : isa::rows()) {
      if (row.encoding != isa::Encoding::vop3 && row.encoding != isa::Encoding::vop3sd &&
          row.encoding != isa::Encoding::vop3p)
        continue;
      const std::vector<uint32_t> vgprs = with_sources(row, w.size(), 0);
      if (vgprs.empty()) continue;
      w.execute(vgprs);
      const TestWave::State expected = w.save();
      w.restore(begin);
      for (unsigned scalars = 1; scalars < 8; ++scalars) {
        if (scalars == 7 || (scalars & ~unsigned{row.sources})) continue;
        const std::vector<uint32_t> code = with_sources(row, w.size(), scalars);
        if (code.empty()) continue;
        w.execute(code);
        const TestWave::State got = w.save();
        EXPECT_TRUE(std::equal(got.scalar.begin(), got.scalar.begin() + 128, expected.scalar.begin()) &&
                    got.vgprs == expected.vgprs)
            << row.name << ": scalar sources " << scalars;
        ++compared;
        w.restore(begin);
      }
    }
    EXPECT_GT(compared, 1000u);
  });
}

TEST(Operands, VcczAndExeczFollowTheMasks) {
  // v_mov_b32 v0, 251 and 252: LLVM's names for the summaries.
  const std::vector<uint32_t> code{0x7e0002fb, 0x7e0202fc, 0xbfb00000};
  for_each_wave([&](TestWave& w) {
    for (uint64_t vcc : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
      w.set_s64(106, vcc);
      w.run(code);
      const uint64_t seen = w.is_wave64() ? vcc : static_cast<uint32_t>(vcc);
      w.expect_v(0, [&](unsigned) { return seen == 0; });
      w.expect_v(1, [&](unsigned) { return 0u; });
    }
  });
}

TEST(Operands, ScalarPairsAndWideConstants) {
  for_each_wave([](TestWave& w) {
    w.set_s64(4, 0x0123'4567'89ab'cdef);
    w.set_s64(106, 0xfedc'ba98'7654'3210);
    w.s(125) = 0x7777'7777;
    w.s(253) = 1;
    const struct {
      const char* operand;
      uint64_t integer;  // as the source of a 64-bit integer operation
    } cases[] = {{"s[4:5]", 0x0123'4567'89ab'cdef},
                 {"vcc", 0xfedc'ba98'7654'3210},
                 {"null", 0},
                 {"src_scc", 1},
                 {"7", 7},
                 {"-7", static_cast<uint64_t>(-7)},
                 {"src_shared_base", kSharedApertureBase},
                 {"src_shared_limit", kSharedApertureBase + kApertureSize - 1},
                 {"src_private_base", kPrivateApertureBase},
                 {"src_private_limit", kPrivateApertureBase + kApertureSize - 1}};
    for (const auto& test : cases) {
      const std::string operand(test.operand);
      w.run("v_lshrrev_b64 v[0:1], 0, " + operand + "\ns_mov_b64 s[10:11], " + operand);
      w.expect_v64(0, [&](unsigned) { return test.integer; }, operand);
      EXPECT_EQ(w.s64(10), test.integer) << operand;
    }
  });
}

// Guide 7.2.2.2: how a 32-bit literal fills 64 bits.
TEST(Operands, LiteralsWiden) {
  for_each_wave([](TestWave& w) {
    w.fill64(2, [](unsigned) { return f64(0.0); });
    w.s(20) = w.s(21) = 0;
    w.run(
        "v_add_f64 v[0:1], v[2:3], 0x40100000\nv_lshrrev_b64 v[4:5], 0, 0x80000001\n"
        "v_ashrrev_i64 v[6:7], 0, 0x80000001\ns_mov_b64 s[10:11], 0x80000001\n"
        "s_ashr_i64 s[12:13], 0x80000001, 4\nv_mad_u64_u32 v[8:9], null, 0, 0, 0x80000001\n"
        "v_mad_i64_i32 v[10:11], null, 0, 0, 0x80000001");
    w.expect_v64(0, [](unsigned) { return f64(4.0); });
    w.expect_v64(4, [](unsigned) { return 0x8000'0001u; }, "b64");
    w.expect_v64(6, [](unsigned) { return 0xffff'ffff'8000'0001u; }, "i64");
    w.expect_v64(8, [](unsigned) { return 0x8000'0001u; }, "u64");
    w.expect_v64(10, [](unsigned) { return 0xffff'ffff'8000'0001u; }, "i64 addend");
    EXPECT_EQ(w.s64(10), 0x8000'0001u);
    EXPECT_EQ(w.s64(12), 0xffff'ffff'f800'0000u);
  });
}

TEST(Operands, DoubleConstants) {
  for_each_wave([](TestWave& w) {
    const struct {
      const char* text;
      uint64_t value;
    } cases[] = {{"0.5", f64(0.5)},
                 {"-4.0", f64(-4.0)},
                 {"1.0", f64(1.0)},
                 {"0.15915494309189532", 0x3fc45f306dc9c882},
                 {"0x40100000", f64(4.0)}};
    for (const auto& test : cases) {
      w.fill64(2, [](unsigned) { return f64(-0.0); });
      w.run(std::string("v_add_f64 v[0:1], v[2:3], ") + test.text);
      w.expect_v64(0, [&](unsigned) { return test.value; }, test.text);
    }
  });
}

TEST(Operands, HalfConstants) {
  for_each_wave([](TestWave& w) {
    const struct {
      const char* text;
      uint32_t value;
    } cases[] = {{"0.5", 0x3800}, {"-4.0", 0xc400}, {"1.0", 0x3c00}, {"0.15915494309189532", 0x3118}};
    for (const auto& test : cases) {
      w.fill(2, [](unsigned) { return 0x8000'8000u; });  // two negative zeros
      w.fill(0, [](unsigned) { return 0xabcd'0123u; });
      w.run(std::string("v_add_f16 v0, ") + test.text + ", v2\nv_pk_add_f16 v1, v2, " + test.text +
            " op_sel_hi:[1,0]\nv_pk_add_f16 v3, v2, " + test.text);
      w.expect_v(0, [&](unsigned) { return 0xabcd'0000u | test.value; }, test.text);
      w.expect_v(1, [&](unsigned) { return test.value << 16 | test.value; }, test.text);
      // Guide 7.5.1: without op_sel the upper half of an inline constant is zero: -0 + 0 is +0.
      w.expect_v(3, [&](unsigned) { return test.value; }, test.text);
    }
  });
}

// Guide 7.2.1 and 7.5.1: dot products outside VOP3P read an inline constant in both halves.
TEST(Operands, ConstantsOfDotProductsAreReplicated) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned) { return 0x4200'4000u; });  // 3 | 2
    w.fill(2, [](unsigned) { return 0x4040'4000u; });  // brain floats 3 | 2
    w.fill(3, [](unsigned) { return 0u; });
    w.fill(4, [](unsigned) { return 0u; });
    w.fill(5, [](unsigned) { return f32(1.0f); });
    w.run("v_dot2_f16_f16 v3, 2.0, v1, 0\nv_dot2_bf16_bf16 v4, v2, 4.0, 0\nv_dot2acc_f32_f16 v5, 0.5, v1");
    w.expect_v(3, [](unsigned) { return 0x4900u; });  // 10
    w.expect_v(4, [](unsigned) { return 0x41a0u; });  // 20
    w.expect_v(5, [](unsigned) { return f32(3.5f); });
  });
}

// 49 is the half 49 * 2^-24.
TEST(Operands, IntegersOfDotProductsAreReplicated) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned) { return 0x3c00'3c00u; });
    for (const unsigned destination : {3u, 4u}) w.fill(destination, [](unsigned) { return 0u; });
    w.run("v_dot2acc_f32_f16 v3, 49, v1\nv_dot2_f16_f16 v4, 49, v1, 0");
    w.expect_v(3, [](unsigned) { return f32(98 * 0x1p-24f); });
    w.expect_v(4, [](unsigned) { return 98u; });
  });
}

// In both halves of a dual-issue instruction, whatever the other half is: a move.
TEST(Operands, ConstantsOfDualDotProductsAreReplicated) {
  constexpr uint32_t kDual = 0xc800'0000, kEnd = 0xbfb0'0000, kMove = 8, k1 = 129;
  const struct {
    const char* name;
    uint32_t opcode, constant, factor;
    float expected;
  } dots[] = {{"v_dual_dot2acc_f32_f16", 12, 177, 1, 98 * 0x1p-24f},   // 49
              {"v_dual_dot2acc_f32_bf16", 13, 246, 2, 8 * 0x1p100f}};  // 4.0
  for (const Configuration& configuration : configurations()) {
    if (configuration.wave_size == 64) continue;
    TestWave w(configuration);
    w.fill(1, [](unsigned) { return 0x3c00'3c00u; });
    w.fill(2, [](unsigned) { return 0x7180'7180u; });
    for (const auto& dot : dots)
      for (const bool is_y : {false, true}) {
        w.fill(4, [](unsigned) { return 0u; });
        const uint32_t y_opcode = is_y ? dot.opcode : kMove, x_opcode = is_y ? kMove : dot.opcode;
        const uint32_t product = dot.constant | dot.factor << 9, x = is_y ? k1 : product,
                       y = is_y ? product : k1;
        const uint32_t destinations = is_y ? 4u / 2 << 17 | 5u << 24 : 5u / 2 << 17 | 4u << 24;
        w.run(std::vector<uint32_t>{kDual | x_opcode << 22 | y_opcode << 17 | x, y | destinations, kEnd});
        w.expect_v(4, [&](unsigned) { return f32(dot.expected); }, dot.name);
        w.expect_v(5, [](unsigned) { return 1u; }, dot.name);
      }
  }
}

// LLVM's reading of the guide's "the value remains a float": integers of 16 bits read the single's bits.
TEST(Operands, FloatConstantsInIntegersOf16Bits) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned) { return 0u; });
    w.fill(2, [](unsigned) { return 0x7000'7000u; });
    // v_add_nc_u16 v2, v1, 1/(2 pi); v_pk_add_u16 v3, v1, 1/(2 pi): 0x3e22f983.
    w.run(std::vector<uint32_t>{0xd703'0002u, 0x0001'f101u, 0xcc0a'4003u, 0x1801'f101u, 0xbfb0'0000u});
    w.expect_v(2, [](unsigned) { return 0x7000'f983u; });
    w.expect_v(3, [](unsigned) { return 0x3e22'f983u; });
  });
}

// Measured, and guide table 96: VINTERP takes scalar registers, inline constants and a literal.
TEST(Operands, InterpolationTakesScalars) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned lane) { return f32(static_cast<float>(lane)); });
    w.s(20) = f32(3.0f);
    // v_interp_p10_f32 v2, s20, v1, 2.0; v_interp_p2_f32 v3, s20, 0x40a00000 (5), v1
    w.run(std::vector<uint32_t>{0xcd00'0702u, 20 | 257u << 9 | 244u << 18, 0xcd01'0703u,
                                20 | 255u << 9 | 257u << 18, 0x40a0'0000u, 0xbfb0'0000u});
    w.expect_v(2, [](unsigned lane) { return f32(3.0f * static_cast<float>(lane) + 2.0f); });
    w.expect_v(3, [](unsigned lane) { return f32(15.0f + static_cast<float>(lane)); });
  });
}

// Reserved in the guide; LLVM names 251 and 252 and has 239 only before gfx11.
TEST(Operands, ReservedCodes) {
  for_each_wave([](TestWave& w) {
    w.run(std::vector<uint32_t>{0x7e00'02efu, 0xbfb0'0000u});  // v_mov_b32 v0, 239
    w.expect_v(0, [](unsigned) { return 0u; });
  });
}

TEST(Operands, NullAsDestinationOfACarryOrMask) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned) { return ~0u; });
    const uint32_t m0 = w.s(125) = 0x1234;
    w.run("v_add_co_u32 v0, null, v1, 1\nv_cmp_eq_u32 null, v1, v1");
    w.expect_v(0, [](unsigned) { return 0u; });
    EXPECT_EQ(w.s(124), 0u);
    EXPECT_EQ(w.s(125), m0);
  });
}

float abs_f32(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0x7fffffffu);
}

// Guide 7.2.2.1.
TEST(Modifiers, AbsAndNegOfFloatSources) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0x5a5a'1234'8765'a5a5);
    w.fill(1, [](unsigned lane) { return f32(lane % 2 ? -1.5f - static_cast<float>(lane) : 2.0f); });
    w.fill(2, [](unsigned lane) { return f32(static_cast<float>(lane) - 8.0f); });
    w.s(7) = f32(-3.0f);
    w.set_s64(106, 0x3333'3333'3333'3333);
    auto a = [&](unsigned lane) { return as_f32(w.v(1, lane)); };
    auto b = [&](unsigned lane) { return as_f32(w.v(2, lane)); };
    w.run(std::string("v_add_f32 v10, |v1|, v2\nv_add_f32 v11, v1, -|v2|\nv_add_f32_e64 v12, -v1, -v2\n"
                      "v_fma_f32 v13, -v1, |v2|, -|s7|\n"
                      "v_cndmask_b32_e64 v15, -v1, |v2|, ") +
          (w.is_wave64() ? "vcc" : "vcc_lo"));
    w.expect_v(10, [&](unsigned lane) { return f32(abs_f32(a(lane)) + b(lane)); });
    w.expect_v(11, [&](unsigned lane) { return f32(a(lane) - abs_f32(b(lane))); });
    w.expect_v(12, [&](unsigned lane) { return f32(-a(lane) - b(lane)); });
    w.expect_v(13, [&](unsigned lane) { return f32(-a(lane) * abs_f32(b(lane)) - 3.0f); });
    w.expect_v(15, [&](unsigned lane) { return lane % 4 < 2 ? f32(abs_f32(b(lane))) : f32(-a(lane)); });
    // LLVM's assembler knows no such v_mov_b32: v14 = -v1.
    w.run(std::vector<uint32_t>{0xd581000e, 0x20000101, 0xbfb00000});
    w.expect_v(14, [&](unsigned lane) { return f32(-a(lane)); });
  });
}

TEST(Modifiers, AbsAndNegOfDoublesAndHalves) {
  for_each_wave([](TestWave& w) {
    w.fill64(2, [](unsigned lane) { return f64(lane % 2 ? -2.5 : 2.5); });
    w.fill64(4, [](unsigned lane) { return f64(lane % 3 - 1.0); });
    w.fill(6, [](unsigned lane) { return lane % 2 ? 0xc100'3c00u : 0x4100'bc00u; });  // -2.5|1, 2.5|-1
    w.run(
        "v_add_f64 v[10:11], |v[2:3]|, -v[4:5]\nv_mul_f64 v[12:13], -|v[2:3]|, v[4:5]\n"
        "v_add_f16_e64 v14, |v6|, |v6|\nv_max_f16_e64 v15, -v6, -v6");
    w.expect_v64(10, [](unsigned lane) { return f64(2.5 - (lane % 3 - 1.0)); });
    w.expect_v64(12, [](unsigned lane) { return f64(-2.5 * (lane % 3 - 1.0)); });
    w.expect_v(14, [&](unsigned lane) { return (0x7000'e000u + lane) >> 16 << 16 | 0x4000u; });
    w.expect_v(15, [&](unsigned lane) { return 0x7000'0000u | (lane % 2 ? 0xbc00u : 0x3c00u); });
  });
}

// Guide 7.2.3.1: OMOD applies when output denormals are flushed and IEEE is off.
TEST(Modifiers, OmodScalesFloatResults) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned lane) { return f32(static_cast<float>(lane)); });
    const char* listing =
        "v_add_f32_e64 v0, v1, 1.0 mul:2\nv_add_f32_e64 v2, v1, 1.0 mul:4\nv_add_f32_e64 v3, v1, 1.0 div:2";
    w.wave().mode = 0;  // flush denormals, IEEE off
    w.run(listing);
    w.expect_v(0, [](unsigned lane) { return f32(static_cast<float>(lane + 1) * 2); });
    w.expect_v(2, [](unsigned lane) { return f32(static_cast<float>(lane + 1) * 4); });
    w.expect_v(3, [](unsigned lane) { return f32(static_cast<float>(lane + 1) / 2); });
    w.wave().mode = 0xf0;  // denormals allowed: OMOD is ignored
    w.run(listing);
    w.expect_v(0, [](unsigned lane) { return f32(static_cast<float>(lane + 1)); });
    w.expect_v(3, [](unsigned lane) { return f32(static_cast<float>(lane + 1)); });
  });
}

TEST(Modifiers, ClampByTypeOfResult) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned lane) { return f32(static_cast<float>(lane) - 4.0f); });
    w.fill(2, [](unsigned lane) { return lane % 2 ? 0x7fff'fff0u : 0x8000'0010u; });
    w.fill(3, [](unsigned lane) { return lane % 2 ? 0x20u : 0xffff'ffd0u; });
    w.run(
        "v_add_f32_e64 v0, v1, 0 clamp\nv_add_nc_i32 v4, v2, v3 clamp\nv_add_nc_u32_e64 v5, v2, v3 clamp\n"
        "v_sub_nc_u32_e64 v6, v3, v2 clamp\nv_pk_add_i16 v7, v2, v2 clamp\nv_mul_f32_e64 v8, 0.5, v1 clamp");
    w.expect_v(0, [](unsigned lane) { return f32(lane < 4 ? 0.0f : 1.0f) * (lane != 4); });
    w.expect_v(4, [](unsigned lane) { return lane % 2 ? 0x7fff'ffffu : 0x8000'0000u; });
    w.expect_v(5, [](unsigned lane) { return lane % 2 ? 0x8000'0010u : ~0u; });
    w.expect_v(6, [](unsigned lane) { return lane % 2 ? 0u : 0x7fff'ffc0u; });
    w.expect_v(7, [](unsigned lane) { return lane % 2 ? 0x7fff'ffe0u : 0x8000'0020u; });
    w.expect_v(8, [](unsigned lane) {
      return lane <= 4 ? 0u : f32(std::min(1.0f, (static_cast<float>(lane) - 4) / 2));
    });
  });
}

// Guide 7.4: halves of VGPRs.
TEST(Modifiers, HalvesOfRegisters) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0xf0f0'f0f0'f0f0'f0f0);
    w.fill(1, [](unsigned lane) { return 0x0011'0000u + lane * 0x0001'0002u; });
    w.fill(2, [](unsigned lane) { return 0x1000'0100u + lane; });
    auto low = [&](unsigned number, unsigned lane) { return w.v(number, lane) & 0xffff; };
    auto high = [&](unsigned number, unsigned lane) { return w.v(number, lane) >> 16; };
    // v_add_nc_u16 with op_sel [src0, src1, dst].
    w.run(
        "v_add_nc_u16 v10, v1, v2\nv_add_nc_u16 v11, v1, v2 op_sel:[1,0,0]\n"
        "v_add_nc_u16 v12, v1, v2 op_sel:[0,1,0]\nv_add_nc_u16 v13, v1, v2 op_sel:[1,1,1]");
    w.expect_v(10, [&](unsigned lane) { return 0x7000'0000u | ((low(1, lane) + low(2, lane)) & 0xffff); });
    w.expect_v(11, [&](unsigned lane) { return 0x7000'0000u | ((high(1, lane) + low(2, lane)) & 0xffff); });
    w.expect_v(12, [&](unsigned lane) { return 0x7000'0000u | ((low(1, lane) + high(2, lane)) & 0xffff); });
    w.expect_v(13, [&](unsigned lane) {
      return (0xd000u + lane) | ((high(1, lane) + high(2, lane)) & 0xffff) << 16;
    });
    // VOP1 and VOP2: bit 7 of the VGPR number. v_mov_b16 v20.h, v1.l; v20.l, v1.h; v_add_f16 v21.h, v1.h,
    // v2.h.
    w.run(std::vector<uint32_t>{0x7e003900 | (128 + 20) << 17 | 1, 0x7e003900 | 21 << 17 | (128 + 1),
                                0xbfb00000});
    w.expect_v(20, [&](unsigned lane) { return (0x4000u + lane) | low(1, lane) << 16; });
    w.expect_v(21, [&](unsigned lane) { return 0x7001'0000u | high(1, lane); });
  });
}

// Guide 7.5: which halves feed which result, and their signs.
TEST(Modifiers, PackedHalvesAndSigns) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned lane) { return 0x0100'0010u + lane; });
    w.fill(2, [](unsigned lane) { return 0x0003'0002u + (lane << 16); });
    w.s(3) = 0x0005'0004;
    w.run(
        "v_pk_add_u16 v10, v1, v2\nv_pk_add_u16 v11, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]\n"
        "v_pk_add_u16 v12, v1, s3 op_sel:[0,1] op_sel_hi:[1,0]\nv_pk_add_u16 v13, v1, 0x00070006");
    auto pair = [](uint32_t high, uint32_t low) { return high << 16 | (low & 0xffff); };
    w.expect_v(10, [&](unsigned lane) { return pair(0x103 + lane, 0x12 + lane); });
    w.expect_v(11, [&](unsigned lane) { return pair(0x10 + lane + 3 + lane, 0x102); });
    w.expect_v(12, [&](unsigned lane) { return pair(0x104, 0x15 + lane); });
    w.expect_v(13, [&](unsigned lane) { return pair(0x107, 0x16 + lane); });
    w.fill(4, [](unsigned) { return 0x4000'3c00u; });  // 2 | 1
    w.fill(5, [](unsigned) { return 0x4200'4400u; });  // 3 | 4
    w.run(
        "v_pk_add_f16 v14, v4, v5 neg_lo:[1,0] neg_hi:[0,1]\nv_pk_mul_f16 v15, v4, v5 neg_lo:[1,1] "
        "neg_hi:[1,0]\n"
        "v_pk_fma_f16 v16, v4, v5, v5 neg_lo:[0,0,1] neg_hi:[0,0,1]");
    w.expect_v(14, [](unsigned) { return 0xbc00'4200u; });  // 2 - 3 | 4 - 1
    w.expect_v(15, [](unsigned) { return 0xc600'4400u; });  // -6 | 4
    w.expect_v(16, [](unsigned) { return 0x4200'0000u; });  // 3 | 0
  });
}

// Guide 7.5: MIX takes f32 or either half of f16, with its own signs.
TEST(Modifiers, MixedPrecision) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0x0ff0'0ff0'0ff0'0ff0);
    w.fill(1, [](unsigned) { return 0xc000'3c00u; });  // -2 | 1
    w.fill(2, [](unsigned) { return f32(3.0f); });
    w.fill(3, [](unsigned) { return f32(-0.5f); });
    w.run(
        "v_fma_mix_f32 v10, v2, v2, v3\nv_fma_mix_f32 v11, v1, v2, v3 op_sel_hi:[1,0,0]\n"
        "v_fma_mix_f32 v12, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]\n"
        "v_fma_mix_f32 v13, |v1|, -v2, -|v3| op_sel:[1,0,0] op_sel_hi:[1,0,0]\n"
        "v_fma_mixlo_f16 v14, v1, v2, v3 op_sel_hi:[1,0,0]\nv_fma_mixhi_f16 v15, v1, v2, v3 "
        "op_sel_hi:[1,0,0]\n"
        "v_fma_mixlo_f16 v16, v2, v2, v3 clamp");
    w.expect_v(10, [](unsigned) { return f32(8.5f); });
    w.expect_v(11, [](unsigned) { return f32(2.5f); });
    w.expect_v(12, [](unsigned) { return f32(-6.5f); });
    w.expect_v(13, [](unsigned) { return f32(-6.5f); });
    w.expect_v(14, [](unsigned) { return 0x7000'4100u; });
    w.expect_v(15, [](unsigned lane) { return 0x4100'f000u + lane; });
    w.expect_v(16, [](unsigned) { return 0x7001'3c00u; });
  });
}

}  // namespace
}  // namespace lockstep::interpreter

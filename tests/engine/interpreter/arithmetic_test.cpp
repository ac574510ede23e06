// A sample of each family of arithmetic through the engine; tests/semantics takes the bodies one by one.
#include <algorithm>
#include <cmath>

#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

TEST(Arithmetic, DotProducts) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0xdead'beef'1234'5678);
    w.fill(1, [](unsigned) { return 0x80ff'7f02u; });  // -128, -1, 127, 2 as signed bytes
    w.fill(2, [](unsigned) { return 0x0201'0304u; });
    w.fill(3, [](unsigned lane) { return lane; });
    w.fill(4, [](unsigned) { return 0x4000'3c00u; });  // 2 | 1
    w.fill(5, [](unsigned) { return f32(0.5f); });
    w.run(
        "v_dot4_i32_iu8 v10, v1, v2, v3 neg_lo:[1,1,0]\nv_dot4_i32_iu8 v11, v1, v2, v3\nv_dot4_u32_u8 v12, "
        "v1, v2, v3\n"
        "v_dot8_u32_u4 v13, v1, v2, v3\nv_dot2_f32_f16 v14, v4, v4, v5\nv_dot2acc_f32_f16 v5, v4, v4\n"
        "v_sad_u8 v15, v1, v2, v3\nv_mad_u64_u32 v[16:17], null, v1, v2, v[3:4]");
    w.expect_v(10,
               [](unsigned lane) { return static_cast<uint32_t>(-128 * 2 - 1 + 127 * 3 + 2 * 4) + lane; });
    w.expect_v(11, [](unsigned lane) { return 128u * 2 + 255 + 127 * 3 + 2 * 4 + lane; });
    w.expect_v(12, [](unsigned lane) { return 128u * 2 + 255 + 127 * 3 + 2 * 4 + lane; });
    w.expect_v(13, [](unsigned lane) { return 0u * 2 + 15 * 1 + 15 * 3 + 2 * 4 + lane; });
    w.expect_v(14, [](unsigned) { return f32(5.5f); });
    w.expect_v(5, [](unsigned) { return f32(5.5f); });
    w.expect_v(15, [](unsigned lane) { return 126u + 254 + 124 + 2 + lane; });
    w.expect_v64(16, [](unsigned lane) {
      return uint64_t{0x80ff'7f02u} * 0x0201'0304u + (lane | uint64_t{0x4000'3c00u} << 32);
    });
  });
}

// By scalars, which have handlers of their own, and by VGPRs; over their own operand, too.
TEST(Arithmetic, ShiftsOf64Bits) {
  for_each_wave([](TestWave& w) {
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xdead'beef'1234'5678}})
      for (unsigned count = 0; count < 66; ++count) {
        const auto value = [](unsigned lane) {
          return (0x8123'4567'89ab'cdefu + lane * 0x1357'0000'9876u) ^ (lane % 2 ? ~uint64_t{0} : 0);
        };
        w.set_exec(exec);
        w.s(5) = count;
        w.fill(1, [&](unsigned) { return count; });
        for (unsigned number : {2, 20, 30, 40}) w.fill64(number, value);
        w.run(
            "v_lshlrev_b64 v[4:5], s5, v[2:3]\nv_lshrrev_b64 v[6:7], s5, v[2:3]\nv_ashrrev_i64 v[8:9], s5, "
            "v[2:3]\n"
            "v_lshlrev_b64 v[10:11], v1, v[2:3]\nv_lshrrev_b64 v[12:13], v1, v[2:3]\n"
            "v_ashrrev_i64 v[14:15], v1, v[2:3]\n"
            "v_lshlrev_b64 v[21:22], s5, v[20:21]\nv_lshrrev_b64 v[29:30], s5, v[30:31]\n"
            "v_ashrrev_i64 v[40:41], s5, v[40:41]");
        const unsigned by = count & 63;
        const auto left = [&](unsigned lane) { return value(lane) << by; };
        const auto right = [&](unsigned lane) { return value(lane) >> by; };
        const auto arithmetic = [&](unsigned lane) {
          return static_cast<uint64_t>(static_cast<int64_t>(value(lane)) >> by);
        };
        for (unsigned number : {4, 10, 21}) w.expect_v64(number, left);
        for (unsigned number : {6, 12, 29}) w.expect_v64(number, right);
        for (unsigned number : {8, 14, 40}) w.expect_v64(number, arithmetic);
      }
  });
}

TEST(Arithmetic, Transcendentals) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned lane) { return f32(0.25f + static_cast<float>(lane) / 8); });
    w.run(
        "v_rcp_f32 v10, v1\nv_rsq_f32 v11, v1\nv_sqrt_f32 v12, v1\nv_exp_f32 v13, v1\nv_log_f32 v14, v1\n"
        "v_sin_f32 v15, v1\nv_cos_f32 v16, v1\nv_fract_f32 v17, v1\nv_ldexp_f32 v18, v1, 3");
    const std::function<double(double)> expected[] = {[](double x) { return 1 / x; },
                                                      [](double x) { return 1 / std::sqrt(x); },
                                                      [](double x) { return std::sqrt(x); },
                                                      [](double x) { return std::exp2(x); },
                                                      [](double x) { return std::log2(x); },
                                                      [](double x) { return std::sin(x * 2 * M_PI); },
                                                      [](double x) { return std::cos(x * 2 * M_PI); },
                                                      [](double x) { return x - std::floor(x); },
                                                      [](double x) { return x * 8; }};
    for (unsigned i = 0; i < std::size(expected); ++i)
      for (unsigned lane = 0; lane < w.size(); ++lane) {
        const double value = expected[i](as_f32(w.v(1, lane)));
        EXPECT_NEAR(as_f32(w.v(10 + i, lane)), value, 1e-6 * std::max(1.0, std::fabs(value)))
            << i << " " << lane;
      }
  });
}

// The division of compilers: scale, refine, fix up, with VCC between them.
TEST(Arithmetic, Division) {
  for_each_wave([](TestWave& w) {
    const std::string vcc = w.is_wave64() ? "vcc" : "vcc_lo";
    w.fill(1, [](unsigned lane) {
      return f32(std::ldexp(1.0f + static_cast<float>(lane), static_cast<int>(lane) * 4 - 120));
    });
    w.fill(2, [](unsigned lane) { return f32(3.0f + static_cast<float>(lane)); });
    w.run("v_div_scale_f32 v3, null, v2, v2, v1\nv_div_scale_f32 v4, " + vcc +
          ", v1, v2, v1\nv_rcp_f32 v5, v3\nv_fma_f32 v6, -v3, v5, 1.0\nv_fma_f32 v5, v6, v5, v5\nv_mul_f32 "
          "v6, v4, v5\n"
          "v_fma_f32 v7, -v3, v6, v4\nv_fma_f32 v6, v7, v5, v6\nv_fma_f32 v7, -v3, v6, v4\nv_div_fmas_f32 "
          "v8, v7, v5, v6\n"
          "v_div_fixup_f32 v9, v8, v2, v1");
    w.expect_v(9, [&](unsigned lane) { return f32(as_f32(w.v(1, lane)) / as_f32(w.v(2, lane))); });
  });
}

// A NaN in one chunk of lanes makes the exact handler take over there: chunks before it are done and must not
// be done again, though the instruction overwrites its own source.
TEST(Arithmetic, NanInALaterChunk) {
  constexpr uint32_t kSignalling = 0x7f80'1234, kQuieted = 0x7fc0'1234;
  for_each_wave([](TestWave& w) {
    for (unsigned special = 0; special < w.size(); special += 7) {
      const auto is_special = [&](unsigned lane) { return lane == special; };
      w.set_exec(0xffff'ffff'ffff'ff7f);
      w.fill(1,
             [&](unsigned lane) { return is_special(lane) ? kSignalling : f32(static_cast<float>(lane)); });
      w.fill(2, [](unsigned) { return f32(3.0f); });
      w.fill64(4, [&](unsigned lane) {
        return is_special(lane) ? 0x7ff0'0000'0000'1234 : f64(static_cast<double>(lane));
      });
      w.fill(6, [](unsigned) { return f32(0.5f); });
      w.s(9) = f32(1.0f);
      w.run(
          "v_add_f32 v1, v1, v2\nv_mul_f32 v1, v2, v1\nv_fma_f32 v1, v1, v6, s9\nv_max_f32 v1, 4.0, v1\n"
          "v_add_f64 v[4:5], v[4:5], 1.0");
      w.expect_v(1, [&](unsigned lane) {
        const float sum = (static_cast<float>(lane) + 3.0f) * 3.0f * 0.5f + 1.0f;
        // The maximum of a number and a quiet NaN is the number (guide 7.2, IEEE mode).
        return is_special(lane) ? f32(4.0f) : f32(std::max(4.0f, sum));
      });
      w.expect_v64(4, [&](unsigned lane) {
        return is_special(lane) ? 0x7ff8'0000'0000'1234 : f64(static_cast<double>(lane) + 1.0);
      });
      w.fill(1,
             [&](unsigned lane) { return is_special(lane) ? kSignalling : f32(static_cast<float>(lane)); });
      w.run("v_sub_f32 v1, v1, v2");
      w.expect_v(1, [&](unsigned lane) {
        return is_special(lane) ? kQuieted : f32(static_cast<float>(lane) - 3.0f);
      });
    }
  });
}

// D.h = S0.h * S1.h + D.h for both halves (guide 16.8): found by the translator's differential test.
TEST(Arithmetic, PackedFmacAddsBothHalvesOfTheDestination) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned) { return 0x4200'4000; });  // 2 and 3
    w.fill(2, [](unsigned) { return 0x3c00'3c00; });  // 1 and 1
    w.fill(3, [](unsigned) { return 0x4000'3c00; });  // 1 and 2
    w.run("v_pk_fmac_f16 v3, v1, v2");
    w.expect_v(3, [](unsigned) { return 0x4500'4200; });  // 3 and 5
  });
}

// What goes to a register that the program may not write is gone: the loop's end finds zero there, and
// leaves.
TEST(Control, SubvectorLoopWithoutARegister) {
  for_each_wave([](TestWave& w) {
    for (const std::string saved : {"ttmp13", "null"}) {
      w.set_exec(0xff);
      w.run("again: s_or_saveexec_b32 " + saved + ", exec_lo\ns_subvector_loop_end " + saved + ", again");
      EXPECT_EQ(w.exec(), 0xffu);
    }
  });
}

// Wave64 code that runs its halves one after the other.
TEST(Control, SubvectorLoop) {
  const char* listing =
      "s_mov_b32 s10, 0\nbegin:\ns_subvector_loop_begin s8, end\nbody:\nv_add_nc_u32 v1, 1, v1\ns_add_u32 "
      "s10, s10, 1\n"
      "end:\ns_subvector_loop_end s8, body\nafter:";
  for (const Configuration& configuration : configurations()) {
    if (configuration.wave_size != 64) continue;
    for (uint64_t exec :
         {~uint64_t{0}, uint64_t{0xff}, uint64_t{0xff} << 40, uint64_t{0x8000'0000'0000'0001}}) {
      TestWave w(configuration);
      w.set_exec(exec);
      w.run(listing);
      EXPECT_EQ(w.exec(), exec);
      EXPECT_EQ(w.s(10), (static_cast<uint32_t>(exec) != 0) + (exec >> 32 != 0));
      w.expect_v(1, [](unsigned lane) { return 0x7000'1001u + lane; });
    }
    // Without lanes the loop is not entered.
    TestWave w(configuration);
    w.set_exec(0);
    w.run(
        "s_mov_b32 s10, 0\ns_subvector_loop_begin s8, after\nbody:\ns_add_u32 s10, s10, 1\n"
        "s_subvector_loop_end s8, body\nafter:");
    EXPECT_EQ(w.s(10), 0u);
  }
}

}  // namespace
}  // namespace lockstep::interpreter

// Results that are NaNs: which one, what hosts do not agree on, and the version of the code for kernels that
// have many of them.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::assembled;
using interpreter::TestWave;

// NaNs of all kinds, infinities, zeros and numbers in each place of the operands: v[8:9], v[10:11], v[12:13];
// of 16 bits in v8 to v10.
constexpr std::array<uint32_t, 9> kHigh{0x7fc0'0001, 0xffc0'0002, 0x7f80'0003, 0x7ff0'0004, 0x7f80'0000,
                                        0xfff0'0000, 0,           0x3ff0'0000, 0x4049'0fdb};
void prepare(TestWave& wave) {
  for (unsigned number = 8; number < 14; ++number)
    wave.fill(number, [&](unsigned lane) {
      const unsigned turn = number / 2 % 3;
      const uint32_t bits = kHigh[(turn == 0   ? lane
                                   : turn == 1 ? lane / 3
                                               : lane / 7 + number) %
                                  kHigh.size()];
      return number % 2 ? bits : bits ^ (lane & 1) * 0x7e00;
    });
}

const std::string kArithmetic =
    "v_add_f32 v20, v8, v10\nv_sub_f32 v21, v8, v10\nv_subrev_f32 v22, v8, v10\nv_mul_f32 v23, v9, v11\n"
    "v_fma_f32 v24, v9, v11, v13\nv_fma_f32 v25, v9, -v10, |v12|\nv_min_f32 v26, v9, v11\n"
    "v_max_f32 v27, v8, v10\nv_med3_f32 v28, v9, v11, v13\nv_add_f64 v[30:31], v[8:9], v[10:11]\n"
    "v_mul_f64 v[32:33], v[8:9], v[10:11]\nv_fma_f64 v[34:35], v[8:9], v[10:11], v[12:13]\n"
    "v_max_f64 v[36:37], v[8:9], v[10:11]\nv_add_f16 v38, v8, v9\nv_fma_f16 v39, v8, v9, v10\n"
    "v_pk_fma_f16 v40, v8, v9, v11\nv_pk_min_f16 v41, v8, v9\nv_maxmin_f32 v42, v9, v11, v13\n"
    "v_add_f32 v43, v9, v11 clamp\nv_mul_f32 v44, v9, v11 mul:2\nv_fma_mix_f32 v45, v8, v9, v11 "
    "op_sel_hi:[1,1,0]\n"
    "v_fmac_f32 v20, v21, v9\nv_add_f32 v46, v20, v45\n"
    "v_med3_f16 v49, v8, v9, v10\nv_ldexp_f32 v50, v9, v10\nv_fract_f32 v51, v9\n";

// Of wave32 alone.
const std::string kPair = "v_dual_mul_f32 v47, v9, v11 :: v_dual_add_f32 v48, v10, v12\n";

std::vector<uint32_t> code_of(const std::string& text, unsigned wave_size) {
  std::vector<uint32_t> code = assembled(text, wave_size);
  code.pop_back();
  return code;
}

// In the default mode no NaN sends the wave away; in others little else does.
TEST(Nans, AreSelectedInTranslatedCode) {
  for (const unsigned wave_size : {32u, 64u}) {
    const std::vector<uint32_t> code =
        code_of(wave_size == 32 ? kArithmetic + kPair : kArithmetic, wave_size);
    for (const uint32_t mode : {kDefaultFloatMode, 0x1f0u, 0x3c0u, 0x8003f0u}) {
      EnginePair first({.wave_size = wave_size, .mode = mode}),
          second({.wave_size = wave_size, .mode = mode, .selects_nans = true});
      EXPECT_EQ(first.run(code, prepare), "") << mode;
      EXPECT_EQ(second.run(code, prepare), "") << mode;
      if (mode != kDefaultFloatMode) continue;
      EXPECT_GT(first.exits(Leave::doubt), 0u);
      EXPECT_EQ(second.exits(Leave::doubt), 0u);
    }
  }
}

// Waves that leave for NaNs again and again change over by themselves.
TEST(Nans, AKernelWithManyGetsASecondVersion) {
  const std::vector<uint32_t>& code = assembled(
      "s_mov_b32 s40, 77\nloop:\nv_add_f32 v20, v9, v11\nv_mul_f32 v21, v20, v8\ns_branch loop", 32);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  TestWave wave({32, interpreter::best_host_target()});
  wave.allocate_vgprs(kMaxVgprs);
  prepare(wave);
  Translator engine(ranges, 32, wave.ranges(), entry, kMaxVgprs);
  engine.enter(wave.wave(), entry);
  const auto doubts_of_a_turn = [&] {
    const std::vector<uint64_t> before = engine.exit_counts();
    engine.run(wave.wave(), 3'000);
    uint64_t doubts = 0;
    for (const Exit& exit : engine.exits_since(before)) doubts += exit.how == Leave::doubt ? exit.times : 0;
    return doubts;
  };
  EXPECT_GT(doubts_of_a_turn(), 500u);
  while (doubts_of_a_turn() != 0) std::this_thread::yield();
  EXPECT_EQ(doubts_of_a_turn(), 0u);
}

}  // namespace
}  // namespace lockstep::translator

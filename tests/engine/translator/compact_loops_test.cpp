// Loops in which waves go on with the lanes that are left, side by side.
#include "engine/translator/compact_loops.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

// Lanes go on for v5 rounds. Where v4 is odd `inside` is executed, then `tail`. In the texts {62} is
// a mask of lanes, exec and vcc are all of these, and bX is b32 or b64.
std::string loop(const std::string& inside, const std::string& tail = "", const std::string& behind = "",
                 const std::string& begin = "") {
  return "v_mov_b32 v6, 1\nv_mov_b32 v7, 0\nv_mov_b32 v9, 7\nv_mov_b32 v10, v0\ns_mov_b32 s58, 5\n"
         "s_mov_b32 s59, 9\ns_mov_bX {60}, 0\ns_mov_bX {62}, 0\ns_mov_bX {64}, {70}\n" +
         begin +
         "\nagain:\nv_and_b32 v13, 1, v4\nv_add_nc_u32 v8, v4, v6\nv_add_nc_u32 v7, 1, v7\ns_mov_bX {66}, "
         "exec\n"
         "v_cmpx_eq_u32 1, v13\ns_cbranch_execz even\n" +
         inside +
         "\neven:\ns_or_bX exec, exec, {66}\nv_mad_u32_u24 v4, v4, 5, v8\nv_lshrrev_b32 v4, 1, v4\n"
         "s_add_i32 s58, s58, 3\n" +
         tail +
         "\nv_cmp_ge_u32 vcc, v7, v5\ns_or_bX {60}, vcc, {60}\ns_and_not1_bX exec, exec, {60}\n"
         "s_cbranch_execnz again\nout:\ns_mov_bX exec, -1\n" +
         behind + "\nv_add_nc_u32 v10, v6, v7\nv_cndmask_b32 v11, v8, v9, {60}\ns_mov_bX {66}, 0";
}

std::string of_wave(std::string text, unsigned wave_size) {
  const bool is_wide = wave_size == 64;
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
  };
  replace("_bX", is_wide ? "_b64" : "_b32");
  for (const char* name : {" exec,", " vcc,"})
    if (!is_wide) replace(name, std::string(name, std::string(name).size() - 1) + "_lo,");
  for (const char* name : {" exec\n", " vcc\n"})
    if (!is_wide) replace(name, std::string(name, std::string(name).size() - 1) + "_lo\n");
  for (unsigned s = 60; s < 80; s += 2)
    replace("{" + std::to_string(s) + "}",
            is_wide ? "s[" + std::to_string(s) + ":" + std::to_string(s + 1) + "]" : "s" + std::to_string(s));
  return text;
}

size_t loops_in(const std::string& text, unsigned wave_size = 32) {
  const Routine routine = routine_of(of_wave(text, wave_size), wave_size);
  return find_compact_loops(routine, analyse(routine), 0).size();
}

// Rounds of lanes: most leave soon, and a few go on.
std::function<void(interpreter::TestWave&)> lanes_leave(unsigned few, uint32_t longest) {
  return [=](interpreter::TestWave& wave) {
    wave.fill(4, [](unsigned lane) { return lane * 0x9E3779B9u; });
    wave.fill(5, [&](unsigned lane) {
      const uint32_t hash = (lane + 7) * 2654435761u >> 8;
      return lane * 7 % 32 < few ? hash % longest + longest / 2 : hash % 3;
    });
  };
}

// Everything that such a loop may have.
const std::string kTexts[] = {
    loop("v_mul_lo_u32 v9, v9, v8"),
    // Registers that are read behind the loop, and only there.
    loop("v_add_nc_u32 v14, v8, v6", "v_xor_b32 v15, v4, v9", "v_add_nc_u32 v16, v14, v15"),
    // Masks of lanes that go from round to round, and are seen behind the loop.
    loop("s_or_bX {62}, {62}, exec", "v_cndmask_b32 v9, v9, v8, {62}"),
    loop("s_and_not1_bX {64}, {64}, exec", "v_cndmask_b32 v9, v9, v8, {64}"),
    loop("s_xor_bX {62}, {64}, exec\ns_or_bX {64}, {62}, exec", "v_cndmask_b32 v9, v9, v8, {64}"),
    // Which lanes that are off have as zeros or ones in the end.
    loop("v_mov_b32 v9, v8", "v_cmp_lt_u32 {62}, v4, v8\ns_not_bX {64}, {62}"),
    loop("v_mov_b32 v9, v8", "v_cmp_lt_u32 {62}, v4, v8\ns_or_not1_bX {64}, {62}, exec"),
    loop("v_mov_b32 v9, v8",
         "v_cmp_lt_u32 {68}, v4, v8\ns_and_not1_bX {62}, {62}, exec\n"
         "s_and_bX {68}, {68}, exec\ns_or_bX {62}, {62}, {68}"),
    // What is the same for all lanes: numbers, masks of all or none, branches.
    loop("v_add_nc_u32 v9, s58, v9",
         "s_cmp_lt_u32 s58, 70\ns_cselect_bX {62}, -1, 0\n"
         "v_cndmask_b32 v9, v9, v8, {62}"),
    loop("v_add_nc_u32 v9, s58, v9",
         "s_cmp_lt_u32 s58, 70\ns_cselect_bX {62}, {64}, 0\nv_cndmask_b32 v9, v9, v8, {62}"),
    loop("s_add_i32 s59, s59, 3", "s_cmp_gt_u32 s58, 40\ns_cbranch_scc1 late\nv_add_nc_u32 v9, 5, v9\nlate:"),
    loop("v_mov_b32 v9, v8", "s_cmp_gt_u32 s58, 100\ns_cbranch_scc1 out"),
    // Whether any lane is so.
    loop("v_mov_b32 v9, v8",
         "v_cmp_lt_u32 vcc, v4, v8\ns_and_bX vcc, vcc, exec\ns_cbranch_vccz none\nv_add_nc_u32 v9, 1, "
         "v9\nnone:"),
    loop("v_mov_b32 v9, v8",
         "v_cmp_lt_u32 {62}, v4, v8\ns_and_bX {62}, {62}, exec\ns_cbranch_scc0 none\nv_add_nc_u32 v9, 1, v9\n"
         "none:"),
    // One arm and the other, and a branch in a branch.
    loop("s_mov_bX {68}, exec\nv_cmpx_gt_u32 40, v8\ns_cbranch_execz inner\nv_add_nc_u32 v9, 5, v9\ninner:\n"
         "s_or_bX exec, exec, {68}"),
    loop("v_mov_b32 v9, v6",
         "v_cmp_gt_u32 vcc, 60, v8\ns_and_saveexec_bX {68}, vcc\ns_xor_bX {68}, exec, {68}\n"
         "s_cbranch_execz other\nv_add_nc_u32 v9, 5, v9\nother:\ns_and_not1_saveexec_bX {68}, {68}\n"
         "s_cbranch_execz both\nv_mul_u32_u24 v9, 3, v9\nboth:\ns_or_bX exec, exec, {68}"),
    // Floats, and NaNs that send the wave to the interpreter.
    loop("v_cvt_f32_u32 v14, v8\nv_fmac_f32 v9, v14, v14", "v_cvt_u32_f32 v6, v14"),
    loop("v_mov_b32 v14, v8", "v_mul_lo_u32 v14, v8, 0x9E3779B1\nv_mul_f32 v9, v14, v14"),
    loop("v_mov_b32 v14, v8", "v_sqrt_f32 v9, v4\nv_add_f32 v6, v9, v6"),
    // Loads, by themselves and two dwords at once.
    loop("v_and_b32 v14, 0xfc, v8\nglobal_load_b32 v14, v14, s[0:1]\ns_waitcnt vmcnt(0)\nv_xor_b32 v9, v14, "
         "v9"),
    loop("v_mov_b32 v9, v8",
         "v_and_b32 v14, 0xfc, v8\nglobal_load_b64 v[14:15], v14, s[0:1]\ns_waitcnt vmcnt(0)\n"
         "v_mad_u32_u24 v9, v14, v15, v9"),
    loop("v_mov_b32 v9, v8",
         "v_and_b32 v14, 0xff, v8\nglobal_load_d16_hi_u8 v9, v14, s[0:1] offset:3\ns_waitcnt vmcnt(0)"),
    // What is the same for all lanes from memory.
    loop("s_load_b32 s59, s[0:1], 0x8\ns_waitcnt lgkmcnt(0)\nv_add_nc_u32 v9, s59, v9"),
    // Stores and atomics, of lanes that are at the same place, too: the last one's number remains, and what
    // comes back says in which order they were there. Doubt before and behind them.
    loop("v_and_b32 v14, 0x7c, v8\nglobal_store_b32 v14, v9, s[0:1]\nv_mad_u32_u24 v9, v9, 3, v8",
         "global_load_b32 v15, v14, s[0:1]\ns_waitcnt vmcnt(0)\nv_xor_b32 v9, v15, v9", "",
         "v_mov_b32 v14, 0\nv_mov_b32 v15, 0"),
    loop("v_mov_b32 v9, v8",
         "v_and_b32 v14, 0x7c, v8\nglobal_atomic_add_u32 v15, v14, v4, s[0:1] glc\ns_waitcnt vmcnt(0)\n"
         "v_xor_b32 v9, v15, v9\ns_waitcnt_vscnt null, 0x0"),
    loop("v_and_b32 v14, 0xf8, v8\nglobal_atomic_cmpswap_b64 v14, v[6:9], s[0:1]\nv_add_nc_u32 v9, v9, v8"),
    loop("v_mov_b32 v9, v8",
         "v_mul_lo_u32 v14, v8, 0x9E3779B1\nv_mul_f32 v9, v14, v14\nv_and_b32 v15, 0xff, v4\n"
         "global_store_d16_hi_b8 v15, v9, s[0:1]\ns_add_i32 s59, s59, 7\nv_cmp_lt_u32 {62}, v4, v8\n"
         "v_mul_lo_u32 v14, v8, 0x85EBCA77\nv_add_f32 v6, v14, v14\nv_and_b32 v15, 0xfc, v6\n"
         "v_cndmask_b32 v9, v9, v8, {62}\nglobal_atomic_add_u32 v15, v6, s[0:1]\n"
         "v_mul_lo_u32 v14, v8, 0xC2B2AE3D\nv_mul_f32 v14, v14, v6\nv_add_nc_u32 v9, s59, v14"),
    loop("v_and_b32 v14, 0x7c, v8\nglobal_atomic_add_u32 v14, v9, s[0:1]\nv_add_nc_u32 v9, v9, v8\n"
         "v_mul_lo_u32 v15, v8, 0xC2B2AE3D\nv_mul_f32 v14, v15, v15\nv_xor_b32 v9, v9, v14"),
    loop("v_and_b32 v14, 0xf0, v8\nglobal_load_b96 v[16:18], v14, s[0:1]\ns_waitcnt vmcnt(0)\n"
         "v_xor_b32 v9, v18, v9\nv_add_nc_u32 v17, v17, v16\nglobal_store_b96 v14, v[16:18], s[0:1] offset:8",
         "v_and_b32 v15, 0xff, v4\nglobal_load_b128 v[16:19], v15, s[0:1]\ns_waitcnt vmcnt(0)\n"
         "v_xor_b32 v9, v19, v9\nv_mul_lo_u32 v18, v18, v17\nglobal_store_b128 v14, v[16:19], s[0:1]\n"
         "global_load_i8 v16, v15, s[0:1]\ns_waitcnt vmcnt(0)\nv_add_nc_u32 v9, v9, v16\n"
         "global_store_b64 v14, v[8:9], s[0:1]\nglobal_store_b16 v15, v9, s[0:1]\n" +
             repeated("v_xor_b32 v18, v18, v9\nv_add_nc_u32 v9, 1, v9\n", 10),
         "", "v_mov_b32 v14, 0"),
    // Sums of 64 bits.
    loop("v_mov_b32 v14, v8",
         "v_add_co_u32 v14, vcc, v4, v8\nv_add_co_ci_u32_e64 v15, vcc, v9, v6, vcc\n"
         "v_xor_b32 v9, v14, v15"),
};
const std::string kPairs = loop("v_dual_mov_b32 v14, v8 :: v_dual_add_nc_u32 v9, v9, v6");  // of wave32

class CompactLoops : public testing::TestWithParam<unsigned> {};

TEST_P(CompactLoops, LanesEndWhereTheInterpretersDo) {
  const unsigned wave_size = GetParam();
  EnginePair all({.wave_size = wave_size, .seed = 31}),
      some({.wave_size = wave_size, .exec = 0x7fff'0f40'70ff'1f02, .seed = 32});
  std::vector<std::string> texts(std::begin(kTexts), std::end(kTexts));
  if (wave_size == 32) texts.push_back(kPairs);
  for (const std::string& each : texts) {
    const std::string text = of_wave(each, wave_size);
    EXPECT_EQ(loops_in(each, wave_size), 1u) << text;
    std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
    code.pop_back();  // the end, behind which no register matters
    for (const unsigned few : {0u, 1u, 5u, 8u, 9u, 13u, 32u})
      for (const uint32_t longest : {6u, 40u})
        for (EnginePair* pair : {&all, &some})
          EXPECT_EQ(pair->run(code, lanes_leave(few, longest)), "") << text << few << " " << longest;
  }
}

INSTANTIATE_TEST_SUITE_P(Wave, CompactLoops, testing::Values(32u, 64u),
                         [](const auto& info) { return std::to_string(info.param); });

// Where lanes mostly load and store, each for itself, it is no gain to have them side by side.
TEST(CompactLoops, LoopsOfAccessesAreTheWaves) {
  const std::string access =
                        "global_load_b32 v14, v14, s[0:1]\ns_waitcnt vmcnt(0)\nv_and_b32 v14, 0xfc, v14\n",
                    begin = "v_and_b32 v14, 0xfc, v8\n";
  EXPECT_EQ(loops_in(loop(begin + repeated(access, 2))), 1u);
  EXPECT_EQ(loops_in(loop(begin + repeated(access, 6))), 0u);
  EXPECT_EQ(loops_in(loop(begin + repeated(access, 6) + repeated("v_xor_b32 v9, v9, v14\n", 12))), 1u);
  EXPECT_EQ(loops_in(loop(begin + repeated(access, 6) + "v_rcp_f32 v9, v9\n")), 1u);
}

TEST(CompactLoops, OthersAreTheWaves) {
  ASSERT_EQ(loops_in(loop("v_mov_b32 v9, v8")), 1u);
  // Lanes that were off when the loop began come on.
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", "s_or_bX exec, exec, {64}")), 0u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", "s_mov_bX exec, -1")), 0u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8",
                          "s_mov_bX {68}, exec\ns_mov_bX exec, -1\nv_mov_b32 v9, v8\n"
                          "s_mov_bX exec, {68}")),
            0u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", "s_not_bX {62}, exec\ns_mov_bX exec, {62}")), 0u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", "s_add_i32 exec_lo, exec_lo, 1")), 0u);
  // What they have in a mask depends on the way here, or on how many rounds there were.
  EXPECT_EQ(loops_in(loop("v_cmp_lt_u32 {64}, v4, v8", "", "v_cndmask_b32 v9, v9, v8, {64}")), 0u);
  EXPECT_EQ(loops_in(loop("v_cmp_lt_u32 {64}, v4, v8")), 1u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", "s_or_bX {64}, {64}, exec\ns_not_bX {64}, {64}",
                          "v_cndmask_b32 v9, v9, v8, {64}")),
            0u);
  // SCC and VCC that say something of them, too.
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8",
                          "s_or_bX {62}, {64}, exec\ns_cbranch_scc1 late\nv_mov_b32 v9, 1\nlate:")),
            0u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8",
                          "s_or_bX vcc, {64}, exec\ns_cbranch_vccz late\nv_mov_b32 v9, 1\nlate:")),
            0u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8",
                          "s_or_bX {62}, {64}, exec\ns_cselect_b32 s59, s58, 0\n"
                          "v_mov_b32 v9, s59")),
            0u);
  // Masks as numbers, numbers as masks, constants that name lanes.
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, s60")), 0u);
  EXPECT_EQ(loops_in(loop("s_bcnt1_i32_b32 s59, exec_lo\nv_mov_b32 v9, s59")), 0u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", "s_add_i32 s59, s59, 1\nv_cndmask_b32 v9, v9, v8, s59")), 0u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", "s_and_bX {62}, exec, 5\nv_cndmask_b32 v9, v9, v8, {62}")), 0u);
  // Half of a mask.
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", "s_mov_b32 s62, vcc_lo\nv_cndmask_b32 v9, v9, v8, {62}"), 64),
            0u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8",
                          "v_cmp_lt_u32 {62}, v4, v8\ns_mov_b32 s63, 0\n"
                          "s_and_bX {62}, {62}, exec\nv_cndmask_b32 v9, v9, v8, {62}"),
                     64),
            0u);
  // Other lanes, memory, another mode.
  for (const char* body :
       {"v_readfirstlane_b32 s59, v8", "v_mbcnt_lo_u32_b32 v9, v8, 0",
        "v_mov_b32_dpp v9, v8 row_shr:1 row_mask:0xf bank_mask:0xf", "global_load_b32 v9, v12, s[0:1] glc",
        "global_load_b32 v9, v12, s[60:61]", "global_store_b32 v12, v9, s[60:61]",
        "global_atomic_add_u32 v12, v9, s[60:61]", "s_load_b32 s59, s[60:61], 0x0", "ds_load_b32 v9, v12",
        "ds_add_u32 v12, v9", "flat_store_b32 v[12:13], v9", "flat_atomic_add_u32 v[12:13], v9",
        "scratch_store_b32 v12, v8, off", "s_denorm_mode 0", "s_barrier"})
    EXPECT_EQ(loops_in(loop(body)), 0u) << body;
  // What a wave needs that leaves behind a store.
  const std::string negated = "s_not_bX {62}, {64}\n", uses = "v_cndmask_b32 v9, v9, v8, {62}",
                    store = "global_store_b32 v12, v9, s[0:1]\n";
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", store + negated + uses)), 1u);
  EXPECT_EQ(loops_in(loop("v_mov_b32 v9, v8", negated + store + uses)), 0u);
  // Loops that all lanes leave at once, if it is known that all are on.
  const std::string together =
      "s_mov_b32 s58, 0\nagain:\nv_add_nc_u32 v9, v9, v8\ns_add_i32 s58, s58, 1\n"
      "s_cmp_lt_u32 s58, 20\ns_cbranch_scc1 again\nv_mov_b32 v10, v9";
  EXPECT_EQ(loops_in(together), 0u);
  EXPECT_EQ(loops_in("v_cmpx_eq_u32 1, v13\ns_cbranch_execz none\n" + together + "\nnone:"), 1u);
}

// Turns of waves that end in such loops, and all that lanes do in kernels.
TEST(CompactLoops, Kernels) {
  const Bytes code = compile(R"(
__kernel void primes(__global uint* out, uint first) {
  uint n = first + 2 * get_global_id(0) + 1, d = 3;
  while (d * d <= n && n % d != 0) d += 2;
  out[get_global_id(0)] = d * d > n ? 1 : d;
}
__kernel void collatz(__global uint* out, uint first) {
  ulong n = first + get_global_id(0);
  uint count = 0;
  while (n != 1 && count < 9000) {
    n = n & 1 ? 3 * n + 1 : n >> 1;
    ++count;
  }
  out[get_global_id(0)] = count;
}
__kernel void escape(__global uint* out, uint limit) {
  float x = get_global_id(0) * 0.021f - 2.0f, y = 0.013f, a = 0, b = 0;
  uint i = 0;
  for (; i < limit && a * a + b * b < 4.0f; ++i) {
    float t = a * a - b * b + x;
    b = 2 * a * b + y;
    a = t;
  }
  out[get_global_id(0)] = i + as_uint(a);
}
__kernel void lines(__global uint* out, uint most) {
  uint x = get_global_id(0);
  if ((x * 2654435761u >> 24) % 23 > 1 + 22 * (most & 1)) return;
  for (uint t = 0; t < most; ++t) {
    float r = x * 0.7f + t * 1.3f - 20.0f;
    uint before = atomic_inc(&out[((uint)(int)(r * 3.0f) + t) % 150]);
    float of = as_float(x * 0x01000193u + t * 2654435761u);
    out[150 + (x ^ 5)] = as_uint(of * (before >> 31));
  }
}
__kernel void some(__global uint* out, uint most) {
  uint item = get_global_id(0), sum = item;
  if (item % 5 == 2)
    for (uint i = 0; i < most * (item % 7); ++i) sum = sum * 3 + (sum >> 9);
  out[item] = sum;
}
)");
  constexpr uint32_t kItems = 150;
  for (const auto& [kernel, argument] :
       {std::pair("primes", 1000000u), std::pair("primes", 3u), std::pair("collatz", 1u),
        std::pair("collatz", 77031u), std::pair("escape", 40u), std::pair("escape", 30000u),
        std::pair("some", 3u), std::pair("some", 9000u), std::pair("lines", 2u), std::pair("lines", 20u),
        std::pair("lines", 21u), std::pair("lines", 6000u)})
    expect_same(code, {{kernel, {kItems, 1, 1}, {64, 1, 1}, {buffer(0), value(argument)}}},
                {Bytes(3 * kItems * 4)});
}

// Lists that a few lanes follow for long, to places that are not there.
TEST(CompactLoops, Lists) {
  const Bytes code = compile(R"(
__kernel void follow(__global const uint* next, __global uint* out) {
  uint at = 19000 + get_global_id(0), n = 0;
  while (at >= 8) {
    at = next[at];
    n += at ^ 5;
  }
  out[get_global_id(0)] = n;
}
)");
  constexpr uint32_t kItems = 128;
  std::mt19937 random(9);
  std::vector<uint32_t> next(20000);
  for (uint32_t i = 8; i < next.size(); ++i) {
    const uint32_t before = i - 8 - static_cast<uint32_t>(random()) % 100;
    next[i] = i < 19000 ? (before < i ? before : 0) : i % 8 == 3 ? before - kItems : 0;
  }
  Bytes lists(next.size() * 4);
  const TestDispatch dispatch{"follow", {kItems, 1, 1}, {32, 1, 1}, {buffer(0), buffer(1)}};
  for (const bool has_hole : {false, true}) {
    if (has_hole)
      for (uint32_t i = 9000; i < 9100; ++i) next[i] = 0x2000'0000;
    std::memcpy(lists.data(), next.data(), lists.size());
    const std::vector<Bytes> buffers = {lists, Bytes(kItems * 4)};
    if (!has_hole) {
      expect_same(code, {dispatch}, buffers);
      continue;
    }
    const TestResult expected = run(code, {dispatch}, buffers, machine::EngineKind::interpreter),
                     result = run(code, {dispatch}, buffers, machine::EngineKind::translator);
    ASSERT_TRUE(expected.outcome.fault && result.outcome.fault);
    EXPECT_EQ(expected.outcome.fault->fault.lane, result.outcome.fault->fault.lane);
    EXPECT_EQ(expected.outcome.fault->fault.pc - expected.code_base,
              result.outcome.fault->fault.pc - result.code_base);
    EXPECT_EQ(expected.outcome.totals.instructions, result.outcome.totals.instructions);
  }
}

// Rows of lists, of which a part is loaded ahead when the wave becomes compact. It is itself again in the
// middle of a list where there is a NaN, and where the list ends too late.
TEST(CompactLoops, WalksGoOnWhereTheLanesAre) {
  constexpr uint32_t kItems = 64;
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(R"(
__kernel void sums(__global const int* first, __global const float* in, __global float* out) {
  int item = get_global_id(0);
  float sum = 0;
  for (int i = first[item]; i < first[item + 1]; ++i) sum = sum * 0.5f + in[i];
  out[item] = sum;
}
)",
                               wave_size, 3, {"-fno-unroll-loops"});
    const TestDispatch dispatch{"sums", {kItems, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), buffer(2)}};
    for (const unsigned seed : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
      std::mt19937 random(seed);
      std::vector<uint32_t> first = {0}, in;
      for (unsigned item = 0; item < kItems; ++item)
        first.push_back(first.back() +
                        static_cast<uint32_t>(item % 8 == 7 ? 30 + random() % 70 : random() % 9));
      for (uint32_t i = 0; i < first.back(); ++i)
        in.push_back(std::bit_cast<uint32_t>(static_cast<float>(random() % 100)));
      Bytes lists(4 * first.size());
      std::memcpy(lists.data(), first.data(), lists.size());
      for (const bool has_nans : {true, false}) {
        for (uint32_t& element : in)
          if (has_nans && random() % 40 == 0) element = 0x7fc00000 + static_cast<uint32_t>(random() % 1000);
        Bytes elements(4 * in.size());
        std::memcpy(elements.data(), in.data(), elements.size());
        expect_same(code, {dispatch}, {lists, elements, Bytes(kItems * 4)});
        // What fills up a range's last block of 16 bytes may be read, and the next buffer may begin there.
        elements.resize((elements.size() - 4 * (3 + seed)) / 16 * 16);
        const std::vector<Bytes> too_few = {lists, elements, Bytes(kItems * 4)};
        const TestResult expected = run(code, {dispatch}, too_few, machine::EngineKind::interpreter),
                         result = run(code, {dispatch}, too_few, machine::EngineKind::translator);
        ASSERT_TRUE(expected.outcome.fault);
        ASSERT_TRUE(result.outcome.fault);
        EXPECT_EQ(expected.outcome.fault->fault.lane, result.outcome.fault->fault.lane);
        EXPECT_EQ(expected.outcome.totals.instructions, result.outcome.totals.instructions);
      }
    }
  }
}

// Waves look at their turn in each round.
TEST(CompactLoops, WithoutEnd) {
  const Bytes code = compile(R"(
__kernel void forever(__global uint* out) {
  uint n = get_global_id(0);
  while (n) n = n & 1 ? n * 3 : 0;
  out[get_global_id(0)] = n;
}
)");
  const TestDispatch dispatch{"forever", {64, 1, 1}, {32, 1, 1}, {buffer(0)}};
  EXPECT_TRUE(run(code, {dispatch}, {Bytes(256)}, machine::EngineKind::translator, 1, 3'000'000)
                  .outcome.limit_exceeded);
}

}  // namespace
}  // namespace lockstep::translator

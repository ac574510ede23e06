// Loops whose addresses count on from round to round: what has been found out of them before the first one
// holds in all, until it does not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/translator/address_plan.h"
#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

unsigned rounds_in(const std::string& text, unsigned wave_size = 32) {
  const Routine routine = routine_of(text, wave_size);
  unsigned count = 0;
  for (const AddressPlan& plan : plan_addresses(routine, analyse(routine), false)) count += plan.is_round;
  return count;
}

TEST(Rounds, RootsThatCountOnAreOfAllRounds) {
  const auto loop = [](const std::string& more, const std::string& step) {
    return "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v4, 0\ns_mov_b32 s4, 9\nagain:\nglobal_load_b32 v3, v1, "
           "s[0:1]\n"
           "s_waitcnt vmcnt(0)\nv_add_nc_u32 v4, v4, v3\n" +
           more + step +
           "s_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 again\nglobal_store_b32 v1, v4, s[2:3]";
  };
  EXPECT_EQ(rounds_in(loop("", "v_add_nc_u32 v1, 64, v1\n")), 1u);
  EXPECT_EQ(rounds_in(loop("", "v_add_nc_u32 v1, s5, v1\n")), 1u);
  EXPECT_EQ(rounds_in(loop("", "v_add_nc_u32 v1, v1, v3\n")), 0u);
  EXPECT_EQ(rounds_in(loop("", "v_lshlrev_b32 v1, 1, v1\n")), 0u);
  EXPECT_EQ(rounds_in(loop("s_not_b32 exec_lo, exec_lo\n", "v_add_nc_u32 v1, 64, v1\n")), 0u);
}

const char* const kLoops = R"(
GROUP void product(__global const float* a, __global const float* b, __global float* c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= n || y >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
  c[y * n + x] = sum;
}
GROUP void columns(__global const uint* a, __global const uint* b, __global uint* c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  uint sum = 0;
  for (int turn = 0; turn < 3; ++turn)
    for (int k = turn; k < n; ++k) sum = sum * 3 + a[k * n + x] + b[(n - 1 - k) * n + y];
  c[y * n + x] = sum;
}
GROUP void totals(__global uint* a, __global const uint* b, __global uint* c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  if ((x ^ y) & 4) return;
  for (int k = 0; k < n; ++k) {
    a[y * n + x] += b[k * n + x];
    c[y * n + x] ^= a[y * n + x] + k;
  }
}
GROUP void until(__global const uint* a, __global const uint* b, __global uint* c, int n) {
  int x = get_global_id(0), y = get_global_id(1), k = 0;
  uint sum = 0;
  while (k < n && (a[k * n + x] & 15) != 3) sum += b[k++ * n + x];
  c[y * n + x] = sum + k;
}
GROUP void rows(__global const uint* a, __global const uint* b, __global uint* c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  uint sum = 0;
  for (int k = y * 40 + (a[y] & 7) + x; k < y * 40 + 40 + (b[y] & 63); k += 32) sum = sum * 3 + a[k] * b[a[k] & 1023];
  c[y * n + x] = sum;
}
GROUP void around(__global const uint* a, __global const uint* b, __global uint* c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  uint sum = 0, at = x;
  for (int k = 0; k < n; ++k) {
    sum += a[at] * b[(x + k * 5) & 63];
    at += n;
    if (at >= n * n) at -= n * n - 1;
  }
  c[y * n + x] = sum;
}
)";

TEST(Rounds, LoopsOfKernels) {
  constexpr uint32_t kSize = 64;
  struct Shape {
    uint32_t x, y;
  };
  for (const unsigned wave_size : {32u, 64u})
    for (const Shape shape : {Shape{64, 1}, {16, 16}, {32, 2}, {8, 8}, {48, 1}}) {
      const std::string group = "-DGROUP=__kernel __attribute__((reqd_work_group_size(" +
                                std::to_string(shape.x) + "," + std::to_string(shape.y) + ",1)))";
      const Bytes code = compile(kLoops, wave_size, 3, {group});
      const uint32_t width = kSize / shape.x * shape.x;
      for (const char* kernel : {"product", "columns", "totals", "until", "rows", "around"})
        for (const int n : {static_cast<int>(kSize), 1}) {
          SCOPED_TRACE(kernel + group + std::to_string(n));
          expect_same(code,
                      {{kernel,
                        {n == 1 ? shape.x : width, n == 1 ? shape.y : kSize, 1},
                        {shape.x, shape.y, 1},
                        {buffer(0), buffer(1), buffer(2), value(n)}}},
                      {random_words(kSize * kSize + 64, 1), random_words(kSize * kSize + 64, 2),
                       random_words(kSize * kSize + 64, 3)});
        }
    }
}

// An index of 64 bits whose high half changes in the middle of a wave, in one round among many: what the
// round has stored is not stored again. Longer loops than a wave's turn.
TEST(Rounds, HighHalvesThatChange) {
  const std::string source = R"(
    __kernel __attribute__((reqd_work_group_size(64, 1, 1)))
    void far(__global uint* sums, __global const uint* in, ulong first, ulong back, uint rounds) {
      ulong i = first + get_global_id(0);
      __asm__ volatile("" : "+v"(i));
      for (uint k = 0; k < rounds; ++k) {
        sums[i + back] += in[(i + back) & 1023] + (uint)(i >> 32);
        i += 24;
      }
    })";
  const uint64_t first = (uint64_t{1} << 32) - 500;
  for (const unsigned wave_size : {32u, 64u})
    for (const uint32_t rounds : {1u, 30u, 3000u})
      expect_same(compile(source, wave_size),
                  {{"far",
                    {128, 1, 1},
                    {64, 1, 1},
                    {buffer(0), buffer(1), value(first), value(-first), value(rounds)}}},
                  {Bytes((rounds * 24 + 128) * 4), random_words(1024, 47)});
}

// The same of instructions: an index that passes 2^32 in the middle of a wave, whose high half is read.
TEST(Rounds, PairsThatPassAWord) {
  for (const unsigned wave_size : {32u, 64u}) {
    const std::string vcc = wave_size == 32 ? "vcc_lo" : "vcc";
    // It is known that all lanes are on.
    const std::string text =
        (wave_size == 32 ? "s_mov_b32 exec_lo, -1\n" : "s_mov_b64 exec, -1\n") +
        std::string(
            "s_mov_b32 s56, s0\ns_sub_u32 s57, s1, 4\ns_add_u32 s56, s56, 512\ns_addc_u32 s57, s57, 0\n"
            "v_sub_nc_u32 v1, v0, 70\nv_mov_b32 v2, 0\nv_mov_b32 v4, 0\ns_mov_b32 s4, 30\nagain:\n"
            "v_lshlrev_b64 v[10:11], 2, v[1:2]\nv_add_co_u32 v10, ") +
        vcc + ", s56, v10\nv_add_co_ci_u32_e64 v11, " + vcc + ", s57, v11, " + vcc +
        "\nglobal_load_b32 v3, v[10:11], off\ns_waitcnt vmcnt(0)\nv_mad_u32_u24 v4, v4, 3, v3\n"
        "v_mad_u32_u24 v4, v2, 7, v4\nglobal_store_b32 v[10:11], v4, off offset:1024\nv_add_co_u32 v1, " +
        vcc + ", 4, v1\nv_add_co_ci_u32_e64 v2, " + vcc + ", 0, v2, " + vcc +
        "\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 again\nv_add_nc_u32 v12, v2, v4\n"
        "v_add_nc_u32 v13, v1, v10\n"
        "v_lshlrev_b32 v20, 2, v0\nglobal_store_b32 v20, v12, s[0:1]\nglobal_store_b32 v20, v13, s[0:1] "
        "offset:256";
    EXPECT_EQ(rounds_in(text, wave_size), 1u);
    EXPECT_EQ(EnginePair({.wave_size = wave_size, .seed = 5})
                  .run(interpreter::assembled(text, wave_size),
                       [](interpreter::TestWave& wave) { wave.fill(0, [](unsigned lane) { return lane; }); }),
              "");
  }
}

// Steps that are the same in all lanes, or are not, and another exec mask in each run.
TEST(Rounds, LoopsOfInstructions) {
  for (const unsigned wave_size : {32u, 64u}) {
    const std::string vcc = wave_size == 32 ? "vcc_lo" : "vcc", exec = wave_size == 32 ? "exec_lo" : "exec",
                      size = wave_size == 32 ? "b32" : "b64";
    for (const std::string step :
         {"v_add_nc_u32 v1, 4, v1\n", "v_add_nc_u32 v1, s40, v1\n", "v_sub_nc_u32 v1, v1, v5\n",
          "v_xor_b32 v1, 64, v1\n", "v_mov_b32 v1, v6\n", "v_add_nc_u32 v1, 4, v1\nv_and_b32 v1, 0xfc, v1\n"})
      for (const std::string end :
           {"", "v_cmp_lt_u32 VCC, v7, v8\ns_and_SIZE EXEC, EXEC, VCC\nv_add_nc_u32 v7, 1, v7\n"}) {
        std::string text =
            "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v4, 0\nv_mov_b32 v7, 0\nv_mov_b32 v15, 0\nv_and_b32 v8, 7, "
            "v8\n"
            "v_lshlrev_b32 v6, 2, v0\nv_mov_b32 v5, 4\ns_mov_b32 s40, 8\ns_mov_b32 s4, 6\nagain:\n"
            "global_load_b32 v3, v1, s[0:1] offset:256\nv_add_co_u32 v10, VCC, s0, v1\n"
            "v_add_co_ci_u32_e64 v11, VCC, s1, 0, VCC\nglobal_load_b32 v12, v[10:11], off offset:512\n"
            "s_waitcnt vmcnt(0)\nv_mad_u32_u24 v4, v4, 3, v3\nv_xor_b32 v4, v4, v12\n"
            "global_store_b32 v1, v4, s[0:1] offset:768\n" +
            step + end +
            "s_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 again\nv_add_nc_u32 v13, v1, v4\n"
            "v_xor_b32 v14, v6, v13\ns_cmp_eq_u32 s41, s42\ns_cbranch_scc1 other\nv_add_nc_u32 v15, v1, "
            "v13\nother:\n"
            "v_add_nc_u32 v16, v1, v14\nv_xor_b32 v16, v16, v15\nv_lshlrev_b32 v20, 2, v0\n"
            "global_store_b32 v20, v16, s[0:1]";
        const auto put = [&](const std::string& name, const std::string& what) {
          for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), what);
        };
        put("VCC", vcc);
        put("EXEC", exec);
        put("SIZE", size);
        SCOPED_TRACE(text);
        // That all lanes are on is known, or may be so, or is not.
        const std::string all_on = "s_mov_" + size + " " + exec + ", -1\n";
        for (const uint64_t on :
             {uint64_t{1}, ~uint64_t{0}, uint64_t{0xffff'fffe}, uint64_t{0x0ff0'f00f'0ff0'f0f0}}) {
          const std::vector<uint32_t>& code =
              interpreter::assembled(on == 1 ? all_on + text : text, wave_size);
          EXPECT_EQ(EnginePair({.wave_size = wave_size, .exec = on, .seed = on})
                        .run(code,
                             [](interpreter::TestWave& wave) {
                               wave.fill(0, [](unsigned lane) { return lane; });
                               wave.fill(8, [](unsigned lane) { return lane * 2654435761u >> 7; });
                             }),
                    "");
        }
      }
  }
}

}  // namespace
}  // namespace lockstep::translator

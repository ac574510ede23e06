// Loops around a compare-and-swap, in which a lane comes behind those before it at its place.
#include "engine/translator/exchange_loops.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
}

std::string with_masks(std::string text, unsigned wave_size) {
  const bool is_wide = wave_size == 64;
  const std::pair<std::string, std::string> names[] = {{"EXEC", is_wide ? "exec" : "exec_lo"},
                                                       {"VCC", is_wide ? "vcc" : "vcc_lo"},
                                                       {"LEFT", is_wide ? "s[60:61]" : "s60"},
                                                       {"_bM", is_wide ? "_b64" : "_b32"}};
  for (const auto& [from, to] : names) text = replaced(std::move(text), from, to);
  return text;
}

struct Loop {
  bool in_lds = false, loads_in_loop = false, is_wide = false, has_mask = true, has_base = false,
       is_flat = false;
  bool is_stale = false;                       // some lanes expect first what was never there
  std::string value = "v_add_f32 v8, v6, v4";  // new: v8, found: v4, of the lane: v6
};

// Lane n exchanges at byte v1. What is needed behind the loop is written there, but v4, v8 and v10.
std::string text_of(const Loop& loop, unsigned wave_size) {
  const std::string size = loop.is_wide ? "b64" : "b32", found = loop.is_wide ? "v[4:5]" : "v4",
                    old = loop.is_wide ? "v[10:11]" : "v10";
  const std::string address = loop.has_base ? "v1" : "v[2:3]", base = loop.has_base ? "s[0:1]" : "off";
  const std::string load =
      loop.in_lds ? "ds_load_" + size + " " + found + ", v1 offset:16\n"
                  : "global_load_" + size + " " + found + ", " + address + ", " + base + " offset:16 glc\n";
  const std::string swap =
      loop.in_lds
          ? "ds_cmpstore_rtn_" + size + " " + old + ", v1, " + (loop.is_wide ? "v[8:9]" : "v8") + ", " +
                found + " offset:16\n"
          : std::string(loop.is_wide
                            ? "v_mov_b32 v12, v8\nv_mov_b32 v13, v9\nv_mov_b32 v14, v4\nv_mov_b32 v15, v5\n"
                            : "v_mov_b32 v12, v8\nv_mov_b32 v13, v4\n") +
                "global_atomic_cmpswap_" + size + " " + old + ", " + address + ", " +
                (loop.is_wide ? "v[12:15]" : "v[12:13]") + ", " + base + " offset:16 glc\n";
  const std::string wait = "s_waitcnt vmcnt(0) lgkmcnt(0)\n";
  std::string value = loop.value;
  if (const size_t at = value.find(" :: v_dual"); wave_size == 64 && at != std::string::npos)
    value.replace(at, 10, "\nv");
  if (const size_t at = value.find("v_dual_mov"); wave_size == 64 && at != std::string::npos)
    value.replace(at, 10, "v_mov");
  return with_masks(
      "v_add_co_u32 v2, VCC, s0, v1\nv_add_co_ci_u32_e64 v3, VCC, s1, 0, VCC\ns_mov_bM s[58:59], EXEC\n"
      "s_mov_bM LEFT, 0\n" +
          (loop.loads_in_loop ? "" : load) +
          (loop.is_stale ? "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_xor_b32 v4, v4, v16\n" : "") + "again:\n" +
          (loop.loads_in_loop ? load : "") + wait + value + "\n" + swap + wait + "v_cmp_eq_u" +
          (loop.is_wide ? "64 VCC, " : "32 VCC, ") + old + ", " + found + "\n" +
          (loop.loads_in_loop ? ""
           : loop.is_wide     ? "v_mov_b32 v4, v10\nv_mov_b32 v5, v11\n"
                              : "v_mov_b32 v4, v10\n") +
          (loop.has_mask ? "s_or_bM LEFT, VCC, LEFT\ns_and_not1_bM EXEC, EXEC, LEFT\n"
                         : "s_and_not1_bM EXEC, EXEC, VCC\n") +
          "s_cbranch_execnz again\ns_mov_bM EXEC, s[58:59]\ns_mov_bM VCC, 0\ns_cmp_eq_u32 s0, 0",
      wave_size);
}

std::string text_for(const Loop& loop, unsigned wave_size) {
  std::string text = text_of(loop, wave_size);
  text = replaced(std::move(text), "s_mov_b32 s[58:59]", "s_mov_b32 s58");
  text = replaced(std::move(text), "exec_lo, s[58:59]", "exec_lo, s58");
  if (!loop.is_flat) return text;
  text = replaced(std::move(text), "global_", "flat_");
  return replaced(std::move(text), ", off offset", " offset");
}

std::map<unsigned, ExchangeLoop> loops_in(const std::string& text, unsigned wave_size) {
  const Routine routine = routine_of(text, wave_size);
  return find_exchange_loops(routine, analyse(routine));
}

void expect_lanes_in_order(const Loop& loop) {
  for (const unsigned wave_size : {32u, 64u}) {
    const std::string text = text_for(loop, wave_size);
    EXPECT_EQ(loops_in(text, wave_size).size(), 1u) << text;
    std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
    code.pop_back();
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x7fff'0ff0'f0ff'1f06}, uint64_t{0}})
      // One place, few, one for each lane; or with NaNs, at few.
      for (const unsigned places : {1u, 5u, 64u, 3u}) {
        EnginePair engines({.wave_size = wave_size, .exec = exec, .seed = places});
        const auto prepare = [&](interpreter::TestWave& wave) {
          wave.fill(1, [&](unsigned lane) { return lane * 2654435761u % places * 8; });
          wave.fill(16, [&](unsigned lane) { return lane % 4 == 0 ? 1u : 0u; });
          // Some change nothing.
          wave.fill(6, [&](unsigned lane) {
            if (places == 3 && lane % 7 == 3) return 0x7f80'0001 + lane;
            return lane % 5 == 2 ? 0u : std::bit_cast<uint32_t>(static_cast<float>(lane) * 0.37f + 1);
          });
          wave.fill(7, [](unsigned lane) { return lane % 5 == 2 ? 0u : 0x3ff0'0000u + lane; });
        };
        EXPECT_EQ(engines.run(code, prepare), "") << text << exec << " " << places;
      }
  }
}

TEST(ExchangeLoops, LanesExchangeInTheirOrder) {
  for (const bool in_lds : {false, true})
    for (const bool loads_in_loop : {false, true}) {
      Loop loop{.in_lds = in_lds, .loads_in_loop = loads_in_loop};
      expect_lanes_in_order(loop);
      loop.is_stale = !loads_in_loop;
      loop.value = "v_max_u32 v8, v6, v4";
      expect_lanes_in_order(loop);
      loop.is_stale = false;
      loop.is_flat = !in_lds;
      loop.value = "v_add_nc_u32 v8, v6, v4";
      expect_lanes_in_order(loop);
      loop.is_flat = false;
      loop.has_base = !in_lds;
      loop.value = "v_mul_f32 v8, s59, v6\nv_fma_f32 v8, v4, v8, v6";
      expect_lanes_in_order(loop);
      loop.has_mask = false;
      loop.value = "v_subrev_f32 v9, v4, v6\nv_dual_mov_b32 v8, v9 :: v_dual_mov_b32 v5, v6";
      expect_lanes_in_order(loop);
      loop.value = "v_max_f32 v8, v6, v4\nv_min_f32 v8, s59, v8";
      expect_lanes_in_order(loop);
      loop.is_wide = true;
      loop.value = "v_add_f64 v[8:9], v[6:7], v[4:5]";
      expect_lanes_in_order(loop);
      loop.value = "v_fma_f64 v[8:9], v[6:7], v[4:5], v[4:5]\nv_max_f64 v[8:9], v[6:7], v[8:9]";
      expect_lanes_in_order(loop);
    }
}

// Sums of floats as programs have them. Rounds are counted as the interpreter's, by place: some numbers are
// 0, so that several lanes leave in one round.
TEST(ExchangeLoops, SumsOfFloats) {
  const std::string source = R"(
    void add_local(volatile __local float* sum, float x) {
      uint now = as_uint(*sum), expected;
      do {
        expected = now;
        now = atomic_cmpxchg((volatile __local uint*)sum, expected, as_uint(as_float(expected) + x));
      } while (now != expected);
    }
    void add_global(volatile __global float* sum, float x) {
      float expected;
      do expected = *sum;
      while (atomic_cmpxchg((volatile __global uint*)sum, as_uint(expected), as_uint(expected + x)) !=
             as_uint(expected));
    }
    __kernel __attribute__((reqd_work_group_size(64, 1, 1)))
    void sums(__global float* sums, __global const uint* numbers, __global float* of_groups, uint places) {
      __local float tile[64];
      const uint i = get_global_id(0), l = get_local_id(0);
      tile[l] = 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint number = numbers[i];
      const float x = number & 3 ? (number >> 8) * 0x1p-20f : 0.0f;
      add_local(&tile[number % places], x);
      if (number & 16) add_global(sums + (number >> 5) % places, x);
      barrier(CLK_LOCAL_MEM_FENCE);
      of_groups[i] = tile[l];
    })";
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes object = compile(source, wave_size);
    for (const uint32_t places : {1u, 3u, 12u, 64u})
      expect_same(object,
                  {{"sums", {512, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), buffer(2), value(places)}, 0}},
                  {Bytes(256), random_words(512, places), Bytes(2048)});
  }
}

// Of several threads the sums are the same in any order.
TEST(ExchangeLoops, SeveralThreadsExchange) {
  const std::string source = R"(
    __kernel void add(volatile __global uint* sums) {
      volatile __global uint* sum = sums + get_local_id(0) % 3;
      uint now = *sum, expected;
      do {
        expected = now;
        now = atomic_cmpxchg(sum, expected, as_uint(as_float(expected) + 1.0f));
      } while (now != expected);
    })";
  const TestResult result = run(compile(source), {{"add", {96 * 400, 1, 1}, {96, 1, 1}, {buffer(0)}, 0}},
                                {Bytes(12)}, machine::EngineKind::translator, 4);
  ASSERT_EQ(result.buffers[0].size(), 12u);
  std::array<float, 3> sums;
  std::memcpy(sums.data(), result.buffers[0].data(), sizeof sums);
  for (const float sum : sums) EXPECT_EQ(sum, 32 * 400);
}

// Others are the wave's: who exchanges with what, which lanes leave, and where, must be as in these.
TEST(ExchangeLoops, OthersAreTheWaves) {
  const std::string text = text_for({.in_lds = true}, 32);
  ASSERT_EQ(loops_in(text, 32).size(), 1u);
  const std::pair<std::string, std::string> changes[] = {
      {"v_add_f32 v8, v6, v4", "v_add_f32 v8, v6, v4\nv_add_f32 v6, v6, v6"},  // goes on from round to round
      {"v_add_f32 v8, v6, v4", "v_rcp_f32 v8, v4"},                            // may be in doubt
      {"v_add_f32 v8, v6, v4", "v_add_f32_dpp v8, v6, v4 row_shr:1 row_mask:0xf bank_mask:0xf"},
      {"v_add_f32 v8, v6, v4", "v_add_f32 v8, v6, v4\nds_store_b32 v1, v8 offset:64"},
      {"v_add_f32 v8, v6, v4", "v_cndmask_b32 v8, v6, v4, vcc_lo"},
      {"v1, v8, v4 offset:16", "v1, v8, v6 offset:16"},         // expects something else
      {"v_cmp_eq_u32 vcc_lo, v10", "v_cmp_eq_u32 vcc_lo, v8"},  // and so does the comparison
      {"v_cmp_eq_u32 vcc_lo", "v_cmp_le_u32 vcc_lo"},
      {"v_mov_b32 v4, v10", "v_mov_b32 v4, v8"},
      {"s_or_b32 s60, vcc_lo, s60", "s_and_b32 s60, vcc_lo, s60"},
      {"exec_lo, exec_lo, s60", "exec_lo, exec_lo, s61"},
      {"v_mov_b32 v4, v10", "v_mov_b32 v4, v10\nv_mov_b32 v1, v10"},  // the place changes
      {"s_mov_b32 vcc_lo, 0", "s_mov_b32 s62, vcc_lo"},               // the last comparison is needed
      {"s_cbranch_execnz", "s_cbranch_scc1"},
  };
  for (const auto& [from, to] : changes) {
    std::string other = text;
    const size_t at = other.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    other.replace(at, from.size(), to);
    EXPECT_TRUE(loops_in(other, 32).empty()) << other;
  }
}

}  // namespace
}  // namespace lockstep::translator

// Which registers somebody reads later.
#include "engine/translator/liveness.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

bool is_live_at_entry(const std::string& text, unsigned vgpr) {
  const Routine routine = routine_of(text);
  return analyse(routine).blocks[routine.entry_block].live_in.all()[vgpr];
}

void expect_same_state(const std::string& text) {
  for (const uint64_t exec : {uint64_t{0xffff'ffff}, uint64_t{0x33ff'0ff0}, uint64_t{1}})
    for (uint64_t seed = 1; seed <= 4; ++seed)
      EXPECT_EQ(compare(text, {.wave_size = 32, .exec = exec, .seed = seed}), "") << text;
}

// Lanes leave a loop one by one, and what is behind it goes on without any until others come on again.
const std::string kLoop =
    "s_mov_b32 s20, exec_lo\nv_and_b32 v6, 3, v6\nagain:\nv_add_nc_u32 v5, v1, v6\nv_add_nc_u32 v10, v10, "
    "v5\n"
    "v_cmpx_lt_u32 v6, v3\nv_min_u32 v3, 2, v3\nv_add_nc_u32 v6, 1, v6\ns_cbranch_execnz again\n"
    "v_mov_b32 v11, v7\ns_mov_b32 exec_lo, s20\nv_mov_b32 v12, v8\n";

TEST(Liveness, NobodyReadsWhereNoLaneIsOn) {
  EXPECT_FALSE(is_live_at_entry(kLoop, 7));
  EXPECT_TRUE(is_live_at_entry(kLoop, 8));
  expect_same_state(kLoop);
  const std::string skipped =
      "s_mov_b32 s20, exec_lo\nv_cmpx_lt_u32 v6, v3\ns_cbranch_execz none\nv_mov_b32 v7, v1\nv_mov_b32 v8, "
      "v2\n"
      "s_mov_b32 exec_lo, 0\nnone:\nv_mov_b32 v11, v7\ns_mov_b32 exec_lo, s20\nv_mov_b32 v12, v8\n";
  EXPECT_FALSE(is_live_at_entry(replaced(skipped, "s_mov_b32 exec_lo, 0\n", ""), 7));
  EXPECT_TRUE(is_live_at_entry(skipped, 8));
  expect_same_state(skipped);
}

TEST(Liveness, OthersReadLanesThatAreOff) {
  for (const std::string& text : {replaced(kLoop, "v_mov_b32 v11, v7\n", "v_readlane_b32 s30, v7, 3\n"),
                                  replaced(kLoop, "v_mov_b32 v11, v7\n", "v_readfirstlane_b32 s30, v7\n"),
                                  replaced(kLoop, "v_mov_b32 v11, v7\ns_mov_b32 exec_lo, s20\n",
                                           "s_mov_b32 exec_lo, s20\nv_mov_b32 v11, v7\n")}) {
    EXPECT_TRUE(is_live_at_entry(text, 7)) << text;
    expect_same_state(text);
  }
  EXPECT_TRUE(is_live_at_entry(replaced(kLoop, "s_cbranch_execnz", "s_cbranch_scc1"), 7));
}

// The steps of a quotient write registers that both ways of a branch in the loop behind it write again:
// nobody reads the steps, and it is one division, which zeros do not send to the interpreter.
TEST(Liveness, QuotientsOfZerosBeforeALoop) {
  const Bytes code = compile(R"(
    __kernel void turns(__global float* out, int n) {
      float angle = -2 * 3.141592653589793 * (get_local_id(0) % n) / (n * 2);
      for (int r = 0; r < 2; ++r) out[get_global_id(0) * 2 + r] = sin(r * angle);
    })");
  const TestResult result =
      expect_same(code, {{"turns", {512, 1, 1}, {128, 1, 1}, {buffer(0), value(16)}}}, {Bytes(512 * 2 * 4)});
  EXPECT_EQ(result.outcome.translation.interpreted, 0u);
}

}  // namespace
}  // namespace lockstep::translator

// Loops through which waves go lane by lane: lists of lengths that differ, whose elements say where to look.
#include "engine/translator/lane_loops.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

// Without the end, so that all registers are compared. Masks and SCC must be written before.
std::vector<uint32_t> without_end(const std::string& text, unsigned wave_size) {
  std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
  code.pop_back();
  return code;
}
size_t lane_loops_in(const std::vector<uint32_t>& code, unsigned wave_size) {
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  const Routine routine = find_routine(ranges, entry, wave_size, kMaxVgprs, kDefaultFloatMode, {});
  return find_lane_loops(routine, analyse(routine)).size();
}

// Lane n begins at element n and goes on for v5 rounds. `body` is what it does with what it has found (v8).
std::string list(const std::string& body, unsigned wave_size, const std::string& exit) {
  const bool is_wide = wave_size == 64;
  const std::string exec = is_wide ? "exec" : "exec_lo", vcc = is_wide ? "vcc" : "vcc_lo",
                    done = is_wide ? "s[60:61]" : "s60", size = is_wide ? "b64" : "b32";
  return "v_lshlrev_b32 v1, 2, v0\nv_add_co_u32 v2, " + vcc + ", s0, v1\nv_add_co_ci_u32_e64 v3, " + vcc +
         ", s1, 0, " + vcc + "\nv_mov_b32 v4, 0\nv_mov_b32 v6, 0\nv_mov_b32 v9, 7\ns_mov_b32 s58, 5\ns_mov_" +
         size + " " + done +
         ", 0\ns_mov_b32 s56, s0\ns_sub_u32 s57, s1, 4\nv_mov_b32 v15, 1\nagain:\nglobal_load_b32 v7, "
         "v[2:3], "
         "off\ns_waitcnt vmcnt(0)\nv_and_b32 v7, 0xfc, v7\nglobal_load_b32 v8, v7, s[0:1]\ns_waitcnt "
         "vmcnt(0)\n" +
         body + "\nv_add_co_u32 v2, " + vcc + ", v2, 4\nv_add_co_ci_u32_e64 v3, " + vcc + ", 0, v3, " + vcc +
         "\nv_add_nc_u32 v4, 1, v4\ns_add_i32 s58, s58, 3\nv_cmp_ge_u32 " + vcc + ", v4, v5\n" +
         (exit == "or" ? "s_or_" + size + " " + done + ", " + vcc + ", " + done + "\ns_and_not1_" + size +
                             " " + exec + ", " + exec + ", " + done + "\n"
                       : "s_and_not1_" + size + " " + exec + ", " + exec + ", " + vcc + "\n") +
         "s_cbranch_execnz again\ns_mov_" + size + " " + exec +
         ", -1\nv_add_nc_u32 v10, v6, v4\nv_add_nc_u32 v11, v9, s58\ns_mov_" + size + " " + vcc +
         ", 0\ns_mov_" + size + " " + done + ", 0\ns_mov_b64 s[62:63], 0\ns_cmp_eq_u32 s58, 0";
}

TEST(LaneLoops, LanesEndWhereTheInterpretersDo) {
  const std::string bodies[] = {
      "v_mad_u32_u24 v6, v6, 5, v8",
      "v_xor_b32 v6, v8, v6\nv_mul_lo_u32 v9, v9, v8",
      "v_cmp_lt_u32 s[62:63], v8, v6\nv_cndmask_b32 v6, v8, v6, s[62:63]",
      "v_cvt_f32_u32 v8, v8\nv_fmac_f32 v6, v8, v8",
      "v_fmac_f32 v6, v8, v8",  // NaNs among them
      "v_and_b32 v12, 0x3fff3fff, v8\nv_and_b32 v13, 0x3bff3bff, v6\nv_pk_fma_f16 v9, v12, v13, v12\n"
      "v_fma_f16 v6, v9, v13, v12",
      // Hosts make another NaN of infinity and zero: in the sum for good, or in a round before the last.
      "v_and_b32 v12, 1, v8\nv_cvt_f32_u32 v12, v12\nv_fmac_f32 v6, s59, v12",
      "v_sub_nc_u32 v12, v5, v4\nv_cmp_ne_u32 s[62:63], 3, v12\nv_cndmask_b32 v12, 0, 1.0, "
      "s[62:63]\nv_mul_f32 v12, s59, v12\n"
      "v_alignbit_b32 v6, v6, v6, 5\nv_xor_b32 v6, v6, v12",
      "global_load_u16 v9, v7, s[0:1] offset:2\ns_waitcnt vmcnt(0)\nv_add_nc_u32 v6, v6, v9",
      "global_load_b64 v[12:13], v7, s[0:1]\ns_waitcnt vmcnt(0)\nv_xor_b32 v6, v12, v6\nv_add_nc_u32 v9, v9, "
      "v13",
      "v_lshlrev_b64 v[12:13], v4, v[8:9]\nv_xor_b32 v6, v12, v6",
      // NaNs of which hosts take another one.
      "v_sub_nc_u32 v12, v5, v4\nv_cmp_ne_u32 s[62:63], 3, v12\nv_cndmask_b32 v12, v20, 1.0, s[62:63]\n"
      "v_cndmask_b32 v13, v21, 1.0, s[62:63]\nv_fma_f32 v12, v13, v12, v13\n"
      "v_alignbit_b32 v6, v6, v6, 5\nv_xor_b32 v6, v6, v12",
      // An index of 64 bits whose high half is the same in all rounds, and not 0.
      "v_lshrrev_b32 v14, 2, v7\nv_lshlrev_b64 v[12:13], 2, v[14:15]\nv_add_co_u32 v12, VCC, s56, v12\n"
      "v_add_co_ci_u32_e64 v13, VCC, s57, v13, VCC\nglobal_load_b32 v16, v[12:13], off\ns_waitcnt vmcnt(0)\n"
      "v_mad_u32_u24 v6, v6, 5, v16",
  };
  for (const unsigned wave_size : {32u, 64u}) {
    EnginePair engines({.wave_size = wave_size, .seed = 11}),
        partial({.wave_size = wave_size, .exec = 0x7fff'0ff0'f0ff'1f01, .seed = 12});
    for (std::string body : bodies) {
      for (size_t at; (at = body.find("VCC")) != std::string::npos;)
        body.replace(at, 3, wave_size == 32 ? "vcc_lo" : "vcc");
      if (wave_size == 32)
        for (size_t at; (at = body.find("s[62:63]")) != std::string::npos;) body.replace(at, 8, "s62");
      for (const char* exit : {"or", "and"}) {
        const std::string text = list(body, wave_size, exit);
        const std::vector<uint32_t> code = without_end(text, wave_size);
        EXPECT_EQ(lane_loops_in(code, wave_size), 1u) << text;
        for (const unsigned longest : {1u, 2u, 9u, 30u})
          for (EnginePair* each : {&engines, &partial})
            EXPECT_EQ(each->run(code,
                                [&](interpreter::TestWave& wave) {
                                  wave.s(59) = 0x7f80'0000;
                                  wave.fill(20, [](unsigned lane) { return 0x7fc0'0001 + lane; });
                                  wave.fill(21, [](unsigned lane) { return 0xffe0'0001 + lane; });
                                  wave.fill(0, [](unsigned lane) { return lane; });
                                  wave.fill(5, [&](unsigned lane) { return lane * 2654435761u % longest; });
                                }),
                      "")
                << text << longest;
      }
    }
  }
}

// What a round leaves in a mask of a lane that has left the loop is seen behind it; and what a lane waits for
// that goes from load to load is found sooner by all at once.
TEST(LaneLoops, OthersAreTheWaves) {
  for (const std::string body : {"s_not_b32 s62, vcc_lo", "v_mov_b32 v6, s60", "s_cselect_b32 s62, s58, 0",
                                 "global_store_b32 v7, v8, s[0:1]", "v_readfirstlane_b32 s62, v8",
                                 "v_mov_b32_dpp v6, v8 row_shr:1 row_mask:0xf bank_mask:0xf",
                                 "v_add_nc_u32 v2, v2, v8", "v_mbcnt_lo_u32_b32 v6, v8, 0"}) {
    const Routine routine = routine_of(list(body, 32, "or") + "\nv_mov_b32 v12, s62", 32);
    EXPECT_TRUE(find_lane_loops(routine, analyse(routine)).empty()) << body;
  }
}

// A string for each lane, which begins where a table says: waves that walk load many of its bytes at once.
TEST(LaneLoops, StringsAreWalksOfTheWave) {
  const std::string text =
      "v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v4, v1, s[0:1]\nv_mov_b32 v6, 0\ns_waitcnt vmcnt(0)\n"
      "v_and_b32 v4, 0x3ff, v4\nagain:\nglobal_load_u8 v7, v4, s[0:1]\nv_add_nc_u32 v4, 1, v4\n"
      "s_waitcnt vmcnt(0)\nv_mad_u32_u24 v6, v6, 31, v7\nv_add_nc_u32 v9, 1, v9\n"
      "v_cmp_ge_u32 vcc_lo, v9, v5\ns_and_not1_b32 exec_lo, exec_lo, vcc_lo\ns_cbranch_execnz again\n"
      "s_mov_b32 exec_lo, -1\nv_add_nc_u32 v10, v6, v4\ns_mov_b32 vcc_lo, 0\ns_cmp_eq_u32 s59, 0";
  EXPECT_EQ(lane_loops_in(without_end(text, 32), 32), 0u);
  // As far as one can tell.
  const std::string jumps = replaced(text, "v_add_nc_u32 v4, 1, v4", "v_add_nc_u32 v4, v4, v5");
  EXPECT_EQ(lane_loops_in(without_end(jumps, 32), 32), 0u);
  // What a table of a lane's own says next is no walk.
  const std::string table = replaced(text, "s_waitcnt vmcnt(0)\nv_mad",
                                     "s_waitcnt vmcnt(0)\n"
                                     "global_load_u8 v7, v7, s[2:3]\ns_waitcnt vmcnt(0)\nv_mad");
  EXPECT_EQ(lane_loops_in(without_end(table, 32), 32), 1u);
  for (const std::string& code : {text, jumps, table})
    for (const uint64_t exec : {0xffff'ffffu, 0x0ff0'f0f3u, 1u, 0u})
      EXPECT_EQ(EnginePair({.wave_size = 32, .exec = exec, .seed = exec + 17})
                    .run(without_end(code, 32),
                         [&](interpreter::TestWave& wave) {
                           wave.fill(0, [](unsigned lane) { return lane; });
                           wave.fill(5, [&](unsigned lane) { return 3 + lane % 40; });
                           wave.fill(9, [](unsigned) { return 0; });
                         }),
                "")
          << code << exec;
}

// Lanes that share a row, an element each, or have rows that lie apart: which it is shows when the code runs.
TEST(LaneLoops, LanesOfOneRow) {
  const std::string text =
      "v_mul_lo_u32 v1, v0, s59\nv_add_co_u32 v2, vcc_lo, s0, v1\n"
      "v_add_co_ci_u32_e64 v3, vcc_lo, s1, 0, vcc_lo\nv_mov_b32 v4, v0\nv_mov_b32 v6, 0\nagain:\n"
      "global_load_b32 v7, v[2:3], off\ns_waitcnt vmcnt(0)\nv_and_b32 v7, 0xfc, v7\n"
      "global_load_b32 v8, v7, s[0:1]\nv_add_nc_u32 v4, 32, v4\ns_waitcnt vmcnt(0)\n"
      "v_mad_u32_u24 v6, v6, 5, v8\nv_add_co_u32 v2, vcc_lo, 0x80, v2\n"
      "v_add_co_ci_u32_e64 v3, vcc_lo, 0, v3, vcc_lo\nv_cmp_ge_u32 vcc_lo, v4, v5\n"
      "s_and_not1_b32 exec_lo, exec_lo, vcc_lo\ns_cbranch_execnz again\ns_mov_b32 exec_lo, -1\n"
      "v_add_nc_u32 v10, v6, v4\ns_mov_b32 vcc_lo, 0\ns_cmp_eq_u32 s59, 0";
  const Routine routine = routine_of(text, 32);
  const auto loops = find_lane_loops(routine, analyse(routine));
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops.begin()->second.strides.size(), 1u);
  const Routine of_lists = routine_of(list("v_add_nc_u32 v6, v6, v8", 32, "and"), 32);
  EXPECT_TRUE(find_lane_loops(of_lists, analyse(of_lists)).begin()->second.strides.empty());

  const std::vector<uint32_t> code = without_end(text, 32);
  EXPECT_EQ(lane_loops_in(code, 32), 1u);
  for (const uint64_t exec : {0xffff'ffffu, 0xffff'fffcu, 0x0ff0'f0f3u, 1u, 0u})
    for (const uint32_t apart : {0u, 4u, 8u, 12u})
      for (const uint32_t length : {0u, 20u, 48u, 65u})
        EXPECT_EQ(EnginePair({.wave_size = 32, .exec = exec, .seed = exec + 13})
                      .run(code,
                           [&](interpreter::TestWave& wave) {
                             wave.s(59) = apart;
                             wave.fill(0, [](unsigned lane) { return lane; });
                             wave.fill(5, [&](unsigned) { return length; });
                           }),
                  "")
            << exec << " " << apart << " " << length;
}

// Rows so long that a wave's turn ends in them, numbers of all kinds, and places that are not there.
TEST(LaneLoops, RowsOfAMatrix) {
  const Bytes code = compile(R"(
__kernel void product(__global const uint* rows, __global const uint* columns, __global const float* values,
                      __global const float* x, __global float* y) {
  uint row = get_global_id(0);
  float sum = 0.0f;
  for (uint i = rows[row]; i < rows[row + 1]; ++i) sum += values[i] * x[columns[i]];
  y[row] = sum;
}
)");
  constexpr uint32_t kRows = 200;
  for (const uint32_t longest : {1u, 40u, 4000u}) {
    for (const bool has_nans : {false, true}) {
      std::mt19937 random(longest);
      std::vector<uint32_t> rows = {0};
      for (uint32_t i = 0; i < kRows; ++i)
        rows.push_back(rows.back() + static_cast<uint32_t>(random()) % longest);
      std::vector<uint32_t> columns(rows.back() + 1), values(columns.size()), x(1000);
      for (uint32_t& column : columns) column = static_cast<uint32_t>(random() % x.size());
      const auto number = [&] {
        const auto bits = static_cast<uint32_t>(random());
        return has_nans ? bits : (bits & 0x807f'ffff) | 0x3f00'0000;
      };
      for (uint32_t& value : values) value = number();
      for (uint32_t& value : x) value = number();
      const auto bytes = [](const std::vector<uint32_t>& words) {
        Bytes result(words.size() * 4);
        std::memcpy(result.data(), words.data(), result.size());
        return result;
      };
      const TestDispatch dispatch{
          "product", {kRows, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), buffer(2), buffer(3), buffer(4)}, 0};
      expect_same(code, {dispatch}, {bytes(rows), bytes(columns), bytes(values), bytes(x), Bytes(kRows * 4)});
      columns[columns.size() * 2 / 3] = 0x2000'0000;
      const std::vector<Bytes> with_hole = {bytes(rows), bytes(columns), bytes(values), bytes(x),
                                            Bytes(kRows * 4)};
      const TestResult expected = run(code, {dispatch}, with_hole, machine::EngineKind::interpreter),
                       result = run(code, {dispatch}, with_hole, machine::EngineKind::translator);
      ASSERT_EQ(expected.outcome.fault.has_value(), result.outcome.fault.has_value());
      if (!expected.outcome.fault) continue;
      EXPECT_EQ(expected.outcome.fault->fault.kind, result.outcome.fault->fault.kind);
      EXPECT_EQ(expected.outcome.fault->fault.lane, result.outcome.fault->fault.lane);
      EXPECT_EQ(expected.outcome.fault->fault.pc - expected.code_base,
                result.outcome.fault->fault.pc - result.code_base);
    }
  }
}

}  // namespace
}  // namespace lockstep::translator

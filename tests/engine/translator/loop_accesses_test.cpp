// What addresses in loops come from.
#include "engine/translator/loop_accesses.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// Of the last access in a loop: whether it moves, and whether its address or its base comes from what the
// loop has loaded.
std::tuple<bool, bool, bool> last_access(const std::string& text) {
  const std::vector<LoopAccess> accesses = find_loop_accesses(routine_of(text), 0);
  if (accesses.empty()) return {};
  return {accesses.back().moves, accesses.back().is_loaded, accesses.back().base_is_loaded};
}

const std::string kEnd = "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\ns_endpgm\n";
const std::string kLoad = "global_load_b32 v4, v1, s[4:5]\ns_waitcnt vmcnt(0)\n";

std::string loop(const std::string& body, const std::string& before = "") {
  return before + "again:\n" + body + kEnd;
}

TEST(LoopAccesses, MoveByWhatTheLoopDoes) {
  EXPECT_EQ(last_access(loop(kLoad)), std::tuple(false, false, false));
  EXPECT_EQ(last_access(loop(kLoad + "v_add_nc_u32 v1, 4, v1\n")), std::tuple(true, false, false));
  EXPECT_EQ(last_access(loop(kLoad + "s_add_u32 s4, s4, 64\n")), std::tuple(true, false, false));
}

TEST(LoopAccesses, ComeFromWhatTheLoopHasLoaded) {
  const std::string row = "s_load_b32 s6, s[8:9], 0x0\ns_waitcnt lgkmcnt(0)\n";
  const std::string place = "v_add_nc_u32 v1, s6, v0\n";
  EXPECT_EQ(last_access(loop(row + place + kLoad)), std::tuple(true, true, false));
  // In the round before, and by way of what is added up.
  EXPECT_EQ(last_access(loop(kLoad + row + place)), std::tuple(true, true, false));
  EXPECT_EQ(last_access(loop(kLoad + row + "v_add_nc_u32 v1, s6, v1\n")), std::tuple(true, true, false));
  EXPECT_EQ(last_access(loop("global_load_b32 v1, v2, s[4:5]\ns_waitcnt vmcnt(0)\n" + kLoad)),
            std::tuple(true, true, false));
  EXPECT_EQ(last_access(loop("s_load_b64 s[4:5], s[8:9], 0x0\ns_waitcnt lgkmcnt(0)\n" + kLoad)),
            std::tuple(true, false, true));
  EXPECT_EQ(last_access(loop(row + "v_add_nc_u32 v3, s6, v0\nv_mov_b32 v1, v0\n"
                                   "global_load_b32 v4, v[2:3], off\ns_waitcnt vmcnt(0)\n")),
            std::tuple(false, true, false));
}

TEST(LoopAccesses, ComeFromWhatWasLoadedBefore) {
  const std::string row = "s_load_b32 s6, s[8:9], 0x0\ns_waitcnt lgkmcnt(0)\nv_add_nc_u32 v1, s6, v0\n";
  EXPECT_EQ(last_access(loop(kLoad + "v_add_nc_u32 v1, 4, v1\n", row)), std::tuple(true, false, false));
  // What was loaded is gone.
  EXPECT_EQ(last_access(loop(row + "v_lshlrev_b32 v1, 2, v0\n" + kLoad)), std::tuple(true, false, false));
  // By the loop around this one.
  EXPECT_EQ(last_access("around:\n" + row + "again:\n" + kLoad +
                        "v_add_nc_u32 v1, 4, v1\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\n"
                        "s_cbranch_scc1 again\ns_sub_u32 s21, s21, 1\ns_cmp_lg_u32 s21, 0\n"
                        "s_cbranch_scc1 around\ns_endpgm\n"),
            std::tuple(true, false, false));
}

// How many accesses a loop, in a loop that counts by s21 and ends with `behind`, makes again in each round.
size_t accesses_again(const std::string& before, const std::string& behind = "") {
  const Routine routine = routine_of(
      "around:\n" + before + "again:\n" + kLoad +
      "v_add_nc_u32 v1, 4, v1\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n" + behind +
      "s_sub_u32 s21, s21, 1\ns_cmp_lg_u32 s21, 0\ns_cbranch_scc1 around\ns_endpgm\n");
  return find_accesses_again(routine, analyse(routine), 0).size();
}

TEST(LoopAccesses, BeginAnewInEachRound) {
  const std::string count = "s_mov_b32 s20, 8\n";
  EXPECT_EQ(accesses_again(count + "v_lshlrev_b32 v1, 2, v0\n"), 1u);
  EXPECT_EQ(accesses_again(count + "v_add_nc_u32 v1, s6, v0\n"), 1u);
  // It goes on from where it was; another row; another array.
  EXPECT_EQ(accesses_again(count), 0u);
  EXPECT_EQ(accesses_again(count + "v_add_nc_u32 v1, s21, v0\n"), 0u);
  EXPECT_EQ(accesses_again(count + "s_lshl_b32 s7, s21, 2\nv_add_nc_u32 v1, s7, v0\n"), 0u);
  EXPECT_EQ(accesses_again(count + "v_mov_b32 v1, v0\n", "s_add_u32 s4, s4, 64\n"), 0u);
  // What all rounds load from one place, and what each loads from another; what LDS holds.
  const std::string row = "s_load_b32 s6, s[8:9], 0x0\ns_waitcnt lgkmcnt(0)\nv_add_nc_u32 v1, s6, v0\n";
  EXPECT_EQ(accesses_again(count + row), 1u);
  EXPECT_EQ(accesses_again(count + row, "s_add_u32 s8, s8, 4\n"), 0u);
  EXPECT_EQ(accesses_again(count + "ds_load_b32 v1, v0\ns_waitcnt lgkmcnt(0)\n"), 0u);
  // No loop around it.
  const Routine routine = routine_of(loop(kLoad + "v_add_nc_u32 v1, 4, v1\n"));
  EXPECT_TRUE(find_accesses_again(routine, analyse(routine), 0).empty());
}

}  // namespace
}  // namespace lockstep::translator

// What blocks know of addresses at their begin, since all those before them have found it to be so.
#include "engine/translator/address_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/translator/linear.h"
#include "engine/translator/operands.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// By block: which of these VGPRs are known there, and the block that has found out.
std::vector<std::map<unsigned, unsigned>> known_in(const std::string& text) {
  const Routine routine = routine_of(text, 32);
  std::vector<std::map<unsigned, unsigned>> result;
  for (const AddressPlan& plan : plan_addresses(routine, analyse(routine), true)) {
    result.emplace_back();
    for (const auto& [number, block] : plan.known) result.back()[number] = block;
  }
  return result;
}

using Known = std::map<unsigned, unsigned>;

// Where each item loads and stores its own dword.
const std::string kLoad = "v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\n";
const std::string kStore = "global_store_b32 v1, v2, s[0:1]\n";

std::string branch(const std::string& inside, const std::string& behind) {
  return kLoad + "v_cmp_lt_u32 vcc_lo, 5, v2\ns_and_saveexec_b32 s60, vcc_lo\ns_cbranch_execz behind\n" +
         inside + "behind:\ns_or_b32 exec_lo, exec_lo, s60\n" + behind;
}

TEST(AddressPlan, KnowsBehindABranchWhatWasFoundBeforeIt) {
  const auto known = known_in(branch("v_add_nc_u32 v2, 3, v2\n", kStore));
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known[1], (Known{{1, 0}}));
  EXPECT_EQ(known[2], (Known{{1, 0}}));
}

// Nor does anybody keep it for those.
TEST(AddressPlan, KnowsNothingThatABranchHasChanged) {
  const std::string changes = "v_add_nc_u32 v1, 4, v1\n";
  for (const std::string& text :
       {branch(changes, kStore),
        kLoad + "s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 behind\n" + changes + "behind:\n" + kStore}) {
    const auto known = known_in(text);
    ASSERT_EQ(known.size(), 3u);
    EXPECT_EQ(known[1], Known());
    EXPECT_EQ(known[2], Known());
  }
}

TEST(AddressPlan, KnowsNothingOfLanesThatComeOn) {
  const auto plan_of = [](const std::string& lanes_come_on) {
    // In the second block lanes that are off hold something else there.
    return known_in(kLoad +
                    "s_and_saveexec_b32 s60, s4\nv_add_nc_u32 v1, 4, v1\ns_cmp_eq_u32 s5, 0\n"
                    "s_cbranch_scc1 end\nglobal_load_b32 v3, v1, s[0:1]\ns_cmp_eq_u32 s6, 0\n"
                    "s_cbranch_scc1 behind\nv_mov_b32 v2, 7\nbehind:\n" +
                    lanes_come_on + kStore + "end:\ns_mov_b32 exec_lo, s60\ns_waitcnt vmcnt(0)\n" + kStore);
  };
  const auto on = plan_of("s_mov_b32 exec_lo, s60\n"), off = plan_of("");
  ASSERT_EQ(on.size(), 5u);
  ASSERT_EQ(off.size(), 5u);
  EXPECT_EQ(off[3], (Known{{1, 1}}));
  EXPECT_EQ(on[3], Known());
}

// Each round would have to keep it.
TEST(AddressPlan, LoopsKeepNothingForWhatIsBehindABranch) {
  const auto known = known_in(branch(
      "again:\nv_add_nc_u32 v2, 3, v2\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 again\n",
      kStore));
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known[1], Known());
  EXPECT_EQ(known[2], Known());
}

std::string loop_behind(const std::string& before, const std::string& inside) {
  return "v_lshlrev_b32 v1, 2, v0\n" + before +
         "again:\nglobal_load_b32 v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\n" + inside +
         "v_add_nc_u32 v1, 64, v1\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 again\n" + kStore;
}

// The first round need not look at it.
TEST(AddressPlan, LoopsKnowWhatWasFoundBeforeThem) {
  auto known = known_in(loop_behind("", ""));
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known[1], (Known{{1, 0}}));
  // It knows all or nothing: v3 is expected to be the same in all lanes, but not made so.
  known = known_in(loop_behind("v_bfe_u32 v3, v0, 10, 10\nv_mul_hi_u32 v3, s4, v3\n",
                               "v_add_nc_u32 v5, v1, v3\nglobal_store_b32 v5, v2, s[0:1]\n"));
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known[1], Known());
  // Nor where another one comes to it.
  known = known_in("s_cmp_eq_u32 s5, 0\ns_cbranch_scc1 other\n" +
                   loop_behind("s_branch again\nother:\nv_mul_lo_u32 v1, s4, v0\n", ""));
  ASSERT_EQ(known.size(), 5u);
  EXPECT_EQ(known[3], Known());
}

// What is behind the loop has it from there: its first round may have looked by itself.
TEST(AddressPlan, KnowsBehindALoopWhatItsRoundsFound) {
  const auto known = known_in(
      "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v3, v1\nagain:\nglobal_load_b32 v2, v1, s[0:1]\ns_waitcnt "
      "vmcnt(0)\n"
      "v_add_nc_u32 v1, 64, v1\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 again\n"
      "global_store_b32 v3, v2, s[0:1]\n");
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known[1], (Known{{1, 0}, {3, 0}}));
  EXPECT_EQ(known[2], (Known{{3, 1}}));
}

// As compilers choose by what all lanes have alike.
TEST(AddressPlan, KnowsWhatAllLanesChoose) {
  const auto known = [](const std::string& mask) {
    const auto all =
        known_in("v_bfe_u32 v3, v0, 10, 10\nv_and_b32 v0, 0x3ff, v0\n" + mask +
                 "v_cndmask_b32 v4, 0, v3, vcc_lo\nv_mul_lo_u32 v4, v4, s4\nv_add_nc_u32 v1, v4, v0\n"
                 "v_lshlrev_b32 v1, 2, v1\ns_cbranch_scc0 end\nglobal_load_b32 v2, v1, s[0:1]\n" +
                 "s_waitcnt vmcnt(0)\n" + kStore + "end:\n");
    return all.size() == 3 && all[1] == Known{{1, 0}};
  };
  EXPECT_TRUE(known("s_cmp_eq_u32 s5, s6\ns_cselect_b32 vcc_lo, -1, 0\n"));
  EXPECT_TRUE(known("s_cmp_eq_u32 s5, s6\ns_cselect_b32 vcc_lo, 0, -1\n"));
  EXPECT_TRUE(known("v_cmp_lt_u32 vcc_lo, v3, s7\n"));
  EXPECT_FALSE(known("s_cmp_eq_u32 s5, s6\ns_cselect_b32 vcc_lo, 1, 0\n"));
  EXPECT_FALSE(known("s_cmp_eq_u32 s5, s6\ns_cselect_b32 vcc_lo, s5, 0\n"));
  EXPECT_FALSE(known("s_cmp_eq_u32 s5, s6\ns_cselect_b32 vcc_lo, -1, 0\ns_mov_b32 vcc_lo, s5\n"));
  EXPECT_FALSE(known("v_cmp_lt_u32 vcc_lo, v0, s7\n"));
  // Lanes that come on are in no mask.
  EXPECT_FALSE(known("v_cmp_lt_u32 vcc_lo, v3, s7\ns_mov_b32 exec_lo, -1\n"));
}

// Accesses with one base are looked up together. Of a sum of an SGPR and a VGPR either one may be the buffer:
// a pointer of each, or a loop's offset that is added to several.
TEST(AddressPlan, BasesAreOfBothSummands) {
  const auto made_of = [](const char* text, int root) {
    const isa::Instruction instruction = routine_of(text).nodes[0].instruction;
    const auto sources = [&](const isa::Operand& operand, unsigned) {
      Linear linear;
      if (operand.is_vgpr())
        linear.root = root;
      else if (const auto source = source_of(operand, instruction); source->is_constant)
        linear.constant = static_cast<uint32_t>(source->value);
      else
        linear.base = 4;
      return std::optional(linear);
    };
    return *LinearMath(nullptr, 16)
                .result_of(instruction, halves_of(instruction).front(), sources, {}, {})
                .words[0];
  };
  EXPECT_EQ(made_of("v_mov_b32 v1, v2", 2).root, 2);
  EXPECT_EQ(made_of("v_and_b32 v1, 15, v2", 2).root, -1);
  const auto base_of = [&](int root) { return made_of("v_add_co_u32 v1, vcc_lo, s4, v2", root).base; };
  EXPECT_EQ(base_of(-1), 4);
  EXPECT_EQ(base_of(2), base_of(2));
  EXPECT_NE(base_of(2), base_of(3));
  EXPECT_NE(base_of(2), base_of(-1));
}

}  // namespace
}  // namespace lockstep::translator

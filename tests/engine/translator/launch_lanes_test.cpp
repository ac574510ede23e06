// Where EXEC is known to be what the wave was launched with: there writes do not keep the lanes that are off.
#include "engine/translator/launch_lanes.h"

#include <gtest/gtest.h>

#include "engine/translator/liveness.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

const std::string kMark = "v_mov_b32 v9, v9\n";

bool is_mark(const Node& node) {
  return node.kind == NodeKind::vector_alu && node.instruction.row->base == isa::Opcode::v_mov_b32 &&
         node.instruction.find(isa::Role::dst)->vgpr() == 9;
}

// For each mark whether all lanes are on there.
std::string marks(const std::string& text, unsigned wave_size = 32) {
  const Routine routine = routine_of(text, wave_size);
  const LaunchLanes lanes = find_launch_lanes(routine);
  if (lanes.all_on.empty()) return "unknown";
  std::string result;
  for (size_t n = 0; n < routine.nodes.size(); ++n)
    if (is_mark(routine.nodes[n])) result += lanes.all_on[n] ? '1' : '0';
  return result;
}

// What compilers make of branches and loops. A branch that some lanes take:
const std::string kBranch =
    "v_cmp_lt_u32 vcc_lo, 7, v1\ns_and_saveexec_b32 s0, vcc_lo\n" + kMark +
    "s_cbranch_execz behind\nv_add_nc_u32 v2, 3, v2\nbehind:\ns_or_b32 exec_lo, exec_lo, s0\n" + kMark;
// Two ways:
const std::string kElse =
    "v_cmp_lt_u32 vcc_lo, 7, v1\ns_and_saveexec_b32 s0, vcc_lo\ns_xor_b32 s0, exec_lo, s0\n"
    "v_add_nc_u32 v2, 3, v2\ns_or_saveexec_b32 s0, s0\n" +
    kMark + "s_xor_b32 exec_lo, exec_lo, s0\n" + kMark +
    "v_add_nc_u32 v3, 5, v2\ns_or_b32 exec_lo, exec_lo, s0\n" + kMark;
// A loop that lanes leave one by one:
const std::string kLoop =
    "v_and_b32 v4, 15, v1\ns_mov_b32 s2, 0\nloop:\n" + kMark +
    "v_add_nc_u32 v2, v2, v4\nv_add_nc_u32 v4, -1, v4\nv_cmp_gt_i32 vcc_lo, 1, v4\n"
    "s_or_b32 s2, vcc_lo, s2\ns_and_not1_b32 exec_lo, exec_lo, s2\ns_cbranch_execnz loop\n" +
    kMark + "s_or_b32 exec_lo, exec_lo, s2\n" + kMark;
const std::string kWide = "v_cmp_lt_u32 vcc, 7, v1\ns_and_saveexec_b64 s[0:1], vcc\n" + kMark +
                          "v_add_nc_u32 v2, 3, v2\ns_or_b64 exec, exec, s[0:1]\n" + kMark;

TEST(LaunchLanes, AreKnown) {
  EXPECT_EQ(marks(kMark), "1");
  EXPECT_EQ(marks(kBranch), "01");
  EXPECT_EQ(marks(kElse), "101");
  EXPECT_EQ(marks(kLoop), "001");
  EXPECT_EQ(marks(kWide, 64), "01");
  EXPECT_EQ(marks("s_mov_b32 s3, exec_lo\nv_cmpx_lt_u32 7, v1\n" + kMark + "s_mov_b32 exec_lo, s3\n" + kMark),
            "01");
}

TEST(LaunchLanes, AreNotGuessed) {
  // What is saved is not all: lanes are out since before.
  EXPECT_EQ(
      marks("v_cmpx_lt_u32 7, v1\ns_and_saveexec_b32 s0, vcc_lo\ns_or_b32 exec_lo, exec_lo, s0\n" + kMark),
      "0");
  // What covered the rest is written in between, or EXEC is.
  const std::string half = "v_cmp_lt_u32 vcc_lo, 7, v1\ns_and_not1_b32 exec_lo, exec_lo, vcc_lo\n",
                    whole = "s_or_b32 exec_lo, exec_lo, vcc_lo\n" + kMark;
  EXPECT_EQ(marks(half + whole), "1");
  EXPECT_EQ(marks(half + "s_and_b32 vcc_lo, vcc_lo, s5\n" + whole), "0");
  EXPECT_EQ(marks(half + "v_cmpx_lt_u32 3, v1\n" + whole), "0");
  EXPECT_EQ(marks(half + "v_cmp_lt_u32 vcc_lo, 3, v1\n" + whole), "0");
  // Lanes that may never have been on.
  for (const std::string mask : {"-1", "s5", "vcc_lo"}) {
    EXPECT_EQ(marks("s_or_b32 exec_lo, exec_lo, " + mask + "\n" + kMark), "unknown");
    EXPECT_EQ(marks("s_mov_b32 exec_lo, " + mask + "\n" + kMark), "unknown");
  }
  EXPECT_EQ(marks("s_not_b32 exec_lo, exec_lo\n" + kMark), "unknown");
  EXPECT_EQ(marks("s_or_b32 exec_hi, exec_hi, s0\n" + kMark, 64), "unknown");
  // The halves of EXEC are not each other's.
  EXPECT_EQ(marks("s_mov_b32 s0, exec_lo\ns_mov_b32 exec_hi, s0\n" + kMark, 64), "unknown");
  // The interpreter goes where nothing is known; the routine may be a loop of a longer one.
  EXPECT_EQ(marks(kMark + "s_setpc_b64 s[0:1]\n"), "unknown");
  EXPECT_EQ(marks("again:\n" + kMark + "s_cbranch_scc1 again\n"), "unknown");
}

TEST(LaunchLanes, WritesKeepWhatIsReadInOtherLanes) {
  const auto is_kept = [](const std::string& text) {
    const Routine routine = routine_of(text);
    const Facts facts = analyse(routine);
    for (size_t n = 0; n < routine.nodes.size(); ++n)
      if (is_mark(routine.nodes[n])) return facts.nodes[n].merged[9];
    return false;
  };
  const std::string use = "global_store_b32 v0, v9, s[4:5]\n";
  EXPECT_FALSE(is_kept(kMark + kBranch.substr(0, kBranch.find("v_mov")) + "s_mov_b32 exec_lo, s0\n" + use));
  EXPECT_TRUE(is_kept("v_cmp_lt_u32 vcc_lo, 7, v1\ns_and_saveexec_b32 s0, vcc_lo\n" + kMark +
                      "s_mov_b32 exec_lo, s0\n" + use));
  // A lane that is read by its number may not be one of the wave's.
  EXPECT_TRUE(is_kept(kMark + "v_readlane_b32 s0, v9, 30\n"));
}

// All registers go to LDS, where both engines are compared, and one that is read from a lane that may be off.
TEST(LaunchLanes, ResultsAreTheInterpreters) {
  const std::string store =
      "v_readlane_b32 s8, v2, 30\nv_mov_b32 v20, s8\nv_lshlrev_b32 v21, 4, v0\nds_store_b96 v21, v[2:4]\n"
      "ds_store_b32 v21, v20 offset:12\n";
  const auto put_ids = [](interpreter::TestWave& wave) {
    wave.fill(0, [](unsigned lane) { return lane; });
    wave.fill(1, [](unsigned lane) { return lane * 5 % 23; });
  };
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0fff'ffff'0fff'ffff}, uint64_t{0xffff}}) {
    EnginePair engines({.exec = exec, .seed = 11}), wide({.wave_size = 64, .exec = exec, .seed = 12});
    for (const std::string& body : {kBranch, kElse, kLoop, "v_add_nc_u32 v2, v2, v3\n" + kLoop})
      EXPECT_EQ(engines.run(interpreter::assembled("v_mul_lo_u32 v3, v1, v1\n" + body + store, 32), put_ids),
                "")
          << body;
    EXPECT_EQ(wide.run(interpreter::assembled("v_mul_lo_u32 v3, v1, v1\n" + kWide + store, 64), put_ids), "");
  }
}

}  // namespace
}  // namespace lockstep::translator

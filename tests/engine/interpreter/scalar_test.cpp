// Scalar instructions through the engine: destinations, SCC, EXEC, MODE (guide chapters 3 and 6).
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

TEST(Scalar, SccFollowsTheResult) {
  for_each_wave([](TestWave& w) {
    w.s(0) = ~0u;
    w.s(1) = 1;
    w.run("s_add_u32 s2, s0, s1");
    EXPECT_EQ(w.s(2), 0u);
    EXPECT_EQ(w.s(253), 1u);
    w.run("s_addc_u32 s2, s1, s1");
    EXPECT_EQ(w.s(2), 3u);
    EXPECT_EQ(w.s(253), 0u);
  });
}

// Measured, and guide 3.4.4: with NULL as destination an instruction executes and SCC is written.
TEST(Scalar, NullAsDestinationWritesScc) {
  for_each_wave([](TestWave& w) {
    w.s(0) = ~0u;
    w.s(1) = 1;
    w.s(125) = 77;
    for (uint32_t scc : {0u, 1u}) {
      w.s(253) = scc;
      w.run("s_add_u32 null, s0, s1");
      EXPECT_EQ(w.s(253), 1u);
      w.run("s_and_b32 null, s0, 0");
      EXPECT_EQ(w.s(253), 0u);
      w.run("s_not_b64 null, s[0:1]");
      EXPECT_EQ(w.s(253), 1u);
      w.run("s_addk_i32 null, 0x1");
      EXPECT_EQ(w.s(253), 0u);
      w.s(253) = scc;
      w.run("s_mov_b32 null, s0");
      EXPECT_EQ(w.s(253), scc);
    }
    w.set_exec(~uint64_t{0});
    w.run(w.is_wave64() ? "s_and_saveexec_b64 null, 0xf0" : "s_and_saveexec_b32 null, 0xf0");
    EXPECT_EQ(w.exec(), 0xf0u);
    EXPECT_EQ(w.s(253), 1u);
    EXPECT_EQ(w.s(124), 0u);
    EXPECT_EQ(w.s(125), 77u);
  });
}

// Guide 3.3.1.4: who may not write the trap temporary that it names does not write SCC either. EXEC is
// written all the same.
TEST(Scalar, TrapTemporariesAsDestinationLeaveScc) {
  for_each_wave([](TestWave& w) {
    w.s(0) = ~0u;
    w.s(1) = 1;
    for (uint32_t scc : {0u, 1u}) {
      w.s(253) = scc;
      w.run("s_add_u32 ttmp3, s0, s1\ns_and_b32 ttmp3, s0, 0\ns_not_b64 ttmp[2:3], s[0:1]");
      EXPECT_EQ(w.s(253), scc);
      EXPECT_EQ(w.s(111), 0u);
      for (const char* name : {"s_and_saveexec", "s_or_saveexec", "s_xor_saveexec", "s_nand_saveexec",
                               "s_and_not1_wrexec", "s_and_not0_wrexec"}) {
        w.set_exec(0xff);
        w.s(253) = scc;
        w.run(std::string(name) + (w.is_wave64() ? "_b64 ttmp[2:3], 0x1f0" : "_b32 ttmp2, 0x1f0"));
        EXPECT_NE(w.exec(), 0xffu) << name;
        EXPECT_EQ(w.s(253), scc) << name;
        EXPECT_EQ(w.s(110), 0u) << name;
      }
    }
  });
}

}  // namespace
}  // namespace lockstep::interpreter

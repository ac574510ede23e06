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

// Guide 6.2: with NULL as destination nothing is written, SCC neither; 3.3.1.4 says the same of trap
// temporaries.
TEST(Scalar, NullAndTrapTemporariesAsDestinationLeaveScc) {
  for_each_wave([](TestWave& w) {
    w.s(0) = ~0u;
    w.s(1) = 1;
    for (const char* destination : {"null", "ttmp3"}) {
      for (uint32_t scc : {0u, 1u}) {
        w.s(253) = scc;
        w.s(125) = 77;
        w.run(std::string("s_add_u32 ") + destination + ", s0, s1\ns_and_b32 " + destination + ", s0, 0");
        EXPECT_EQ(w.s(253), scc);
        EXPECT_EQ(w.s(111), 0u);
        EXPECT_EQ(w.s(125), 77u);
      }
    }
    w.s(253) = 0;
    w.run("s_not_b64 null, s[0:1]\ns_not_b64 ttmp[2:3], s[0:1]\ns_addk_i32 null, 0x1");
    EXPECT_EQ(w.s(253), 0u);
    // EXEC is written all the same (guide 3.3.1.4).
    w.set_exec(~uint64_t{0});
    w.run(w.is_wave64() ? "s_and_saveexec_b64 null, 0xf0" : "s_and_saveexec_b32 null, 0xf0");
    EXPECT_EQ(w.exec(), 0xf0u);
  });
}

}  // namespace
}  // namespace lockstep::interpreter

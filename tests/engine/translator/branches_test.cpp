// Accesses to memory in branches, whose lanes that are on lie side by side while those that are off have
// addresses of another time.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// The lanes of `mask` go to element [v0] of memory, three times: the first time a range is looked for. EXEC
// grows behind it, so v1 keeps what other lanes had.
std::string branch(const std::string& accesses, unsigned wave_size, uint64_t mask) {
  const bool is_wide = wave_size == 64;
  const std::string exec = is_wide ? "exec" : "exec_lo", saved = is_wide ? "s[60:61]" : "s60",
                    size = is_wide ? "b64" : "b32", wanted = is_wide ? "s[62:63]" : "s62";
  return "s_mov_b32 s59, 3\nagain:\ns_mov_b32 s62, " + std::to_string(static_cast<uint32_t>(mask)) +
         "\ns_mov_b32 s63, " + std::to_string(mask >> 32) + "\ns_mov_" + size + " " + saved + ", " + exec +
         "\ns_and_" + size + " " + exec + ", " + exec + ", " + wanted + "\nv_lshlrev_b32 v1, 2, v0\n" +
         accesses + "\ns_mov_" + size + " " + exec + ", " + saved +
         "\ns_waitcnt vmcnt(0)\nv_add_nc_u32 v20, v4, v1\ns_sub_u32 s59, s59, 1\ns_cmp_lg_u32 s59, "
         "0\ns_cbranch_scc1 again";
}

TEST(Branches, LanesSideBySideAreTheInterpreters) {
  const std::string pair = "v_add_co_u32 v2, vcc_lo, s0, v1\nv_add_co_ci_u32_e64 v3, vcc_lo, s1, 0, vcc_lo\n";
  const std::string accesses[] = {
      "global_load_b32 v4, v1, s[0:1]",
      "global_load_b32 v4, v1, s[0:1] offset:64\nglobal_store_b32 v1, v5, s[0:1] offset:4",
      "global_store_b32 v1, v5, s[0:1]",
      pair + "global_load_b32 v4, v[2:3], off",
      pair + "global_store_b32 v[2:3], v5, off offset:12\nglobal_load_b32 v4, v[2:3], off",
  };
  const uint64_t masks[] = {~uint64_t{31},
                            0xffff'fffe,
                            0x8000'0000,
                            0x00f0'ff00,
                            0xffff'ffff'ffff'0000,
                            0x5555'5555,
                            0x0001'8000,
                            0,
                            1};
  for (const unsigned wave_size : {32u, 64u}) {
    EnginePair engines({.wave_size = wave_size, .seed = 7}),
        partial({.wave_size = wave_size, .exec = 0xfff0'ffff'7fff'ffff, .seed = 8});
    for (const std::string& access : accesses) {
      if (wave_size == 64 && access.starts_with("v_add_co")) continue;
      for (const uint64_t mask : masks) {
        std::vector<uint32_t> code = interpreter::assembled(branch(access, wave_size, mask), wave_size);
        code.pop_back();  // the end, behind which no register matters
        // From the begin of memory on, where lane 0 would be before it, or inside; and not side by side.
        const unsigned first_on = mask == 0 ? 0 : static_cast<unsigned>(std::countr_zero(mask)) % wave_size;
        for (const unsigned first : {0u, 40u})
          for (const unsigned odd_lane : {99u, 15u, 31u})
            for (EnginePair* each : {&engines, &partial})
              EXPECT_EQ(each->run(code,
                                  [&](interpreter::TestWave& wave) {
                                    wave.fill(0, [&](unsigned lane) {
                                      return first + lane - first_on + 3 * (lane == odd_lane);
                                    });
                                  }),
                        "")
                  << access << " " << mask;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::translator

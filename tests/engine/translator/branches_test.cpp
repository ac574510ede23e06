// Accesses to memory in branches, whose lanes that are on lie side by side while those that are off have
// addresses of another time.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <utility>

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

// v4 is written one way and read the other way, where it still is what it was.
std::string both_ways(const std::string& size, const std::string& exec, const std::string& wanted,
                      const std::string& saved, const std::string& left, const std::string& turn) {
  return "s_and_saveexec_" + size + " " + saved + ", " + wanted + "\ns_cbranch_execz other\n" +
         "v_add_nc_u32 v4, v4, v1\nv_mul_lo_u32 v5, v4, v4\nother:\n" + turn + " " + left + ", " + saved +
         "\ns_cbranch_execz done\nv_sub_nc_u32 v5, v4, v2\ndone:\ns_or_" + size + " " + exec + ", " + exec +
         ", " + left + "\nv_mov_b32 v4, 0";
}

// Whether lanes that are on before the first instruction of this opcode may read v4 behind it.
bool reads_v4_before(const std::string& text, unsigned wave_size, isa::Opcode opcode) {
  const Routine routine = routine_of(text, wave_size);
  const Facts facts = analyse(routine);
  for (unsigned n = 0; n < routine.nodes.size(); ++n)
    if (routine.nodes[n].instruction.row->base == opcode) return facts.nodes[n].live.on[4];
  ADD_FAILURE() << text;
  return false;
}

TEST(Branches, TheOtherWayIsOfOtherLanes) {
  using isa::Opcode;
  const std::string narrow = both_ways("b32", "exec_lo", "s62", "s60", "s58", "s_and_not1_saveexec_b32"),
                    wide = both_ways("b64", "exec", "s[62:63]", "s[60:61]", "s[58:59]",
                                     "s_and_not1_saveexec_b64");
  EXPECT_FALSE(reads_v4_before(narrow, 32, Opcode::s_and_not1_saveexec_b32));
  EXPECT_FALSE(reads_v4_before(wide, 64, Opcode::s_and_not1_saveexec_b64));
  // Lanes 32 to 63 stay on, or EXEC is what it was.
  EXPECT_TRUE(reads_v4_before(narrow, 64, Opcode::s_and_not1_saveexec_b32));
  const std::string onto_itself =
      replaced(narrow, "s_and_not1_saveexec_b32 s58", "s_and_not1_saveexec_b32 exec_lo");
  EXPECT_TRUE(reads_v4_before(onto_itself, 32, Opcode::s_and_not1_saveexec_b32));
  const std::string or_not = replaced(narrow, "s_and_not1_saveexec_b32", "s_or_not1_saveexec_b32");
  EXPECT_TRUE(reads_v4_before(or_not, 32, Opcode::s_or_not1_saveexec_b32));
  for (const auto& [text, wave_size] :
       {std::pair{narrow, 32u}, {wide, 64u}, {narrow, 64u}, {onto_itself, 32u}, {or_not, 32u}}) {
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0f0f'ff00'33ff'0ff0}}) {
      EnginePair engines({.wave_size = wave_size, .exec = exec, .seed = 5});
      for (const uint64_t mask : {uint64_t{0}, ~uint64_t{0}, uint64_t{0xffff'0000'1234'ff00}}) {
        std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
        code.pop_back();
        EXPECT_EQ(engines.run(code,
                              [&](interpreter::TestWave& wave) {
                                wave.s(62) = static_cast<uint32_t>(mask);
                                wave.s(63) = static_cast<uint32_t>(mask >> 32);
                              }),
                  "");
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::translator

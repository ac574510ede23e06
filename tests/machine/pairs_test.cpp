// Two dwords of memory that waves on different threads load and store: each sees both of one store or of
// another.
#include <gtest/gtest.h>

#include <string>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

struct Places {
  const char* name;
  const char* offsets;  // makes v5 of the lane's number
};
// How lanes lie decides which code loads them: scattered, all at one place, far apart, side by side.
constexpr Places kPlaces[] = {
    {"scattered", "v_xor_b32 v5, 5, v0\nv_lshlrev_b32 v5, 4, v5\n"},
    {"at one place", "v_mov_b32 v5, 0\n"},
    {"far apart", "v_lshlrev_b32 v5, 8, v0\n"},
    {"side by side", "v_lshlrev_b32 v5, 3, v0\n"},
};

// The first work-group stores the number of each round twice, as soon as the second has begun, which looks
// until it sees the last one.
std::string program(const Places& places, const char* elements) {
  constexpr const char* kLast = "0x4000";
  return std::string(places.offsets) +
         "v_mov_b32 v9, 0\nv_mov_b32 v6, 0\ns_mov_b32 s8, 0\ns_cmp_lg_u32 s2, 0\ns_cbranch_scc1 reads\n"
         "begins:\nglobal_load_b32 v7, v6, s[0:1] offset:4000 glc\ns_waitcnt vmcnt(0)\n"
         "v_readfirstlane_b32 s4, v7\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 begins\n"
         "s_mov_b32 s4, 0\n"
         "stores:\ns_add_u32 s4, s4, 1\nv_mov_b32 v1, s4\nv_mov_b32 v2, s4\nv_mov_b32 v3, s4\nv_mov_b32 v4, "
         "s4\n"
         "global_store_b" +
         elements + " v5, v[1:" + (elements[0] == '6' ? "2" : "4") +
         "], s[0:1]\n"
         "s_cmp_lt_u32 s4, " +
         kLast +
         "\ns_cbranch_scc1 stores\ns_endpgm\n"
         "reads:\nv_mov_b32 v7, 1\nglobal_store_b32 v6, v7, s[0:1] offset:4000\n"
         "looks:\nglobal_load_b" +
         elements + " v[1:" + (elements[0] == '6' ? "2" : "4") +
         "], v5, s[0:1] glc\n"
         "s_waitcnt vmcnt(0)\nv_cmp_ne_u32 vcc_lo, v1, v2\ns_or_b32 s8, s8, vcc_lo\n"
         "v_readfirstlane_b32 s4, v1\ns_cmp_lt_u32 s4, " +
         kLast +
         "\ns_cbranch_scc1 looks\n"
         "v_mov_b32 v7, s8\nglobal_store_b32 v6, v7, s[0:1] offset:4004\n";
}

TEST(Pairs, AreOfOneStore) {
  for (const auto engine : {EngineKind::interpreter, EngineKind::translator}) {
    for (const Places& places : kPlaces) {
      for (const char* elements : {"64", "128"}) {
        Dispatch d(program(places, elements), 2, 32);
        d.options.engine = engine;
        const Outcome outcome = d.run();
        ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
        EXPECT_EQ(d.buffer[1001], 0u)
            << places.name << ", " << elements << " bits, engine " << static_cast<int>(engine);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::machine

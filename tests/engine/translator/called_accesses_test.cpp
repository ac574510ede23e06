// Accesses that are one call each, in long code outside of loops: what they find and leave in the Wave, at
// places of all kinds, under all kinds of EXEC, beside accesses that are not calls, and at faults.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/translator/liveness.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::TestWave;

// Goes through the text twice, so that ranges are known in the second round. The short loop in it keeps both
// rounds from being a loop of one piece, in which accesses are inline.
std::string two_rounds_of(const std::string& text) {
  return "s_movk_i32 s40, 2\nround:\ns_movk_i32 s41, 1\nshort:\ns_add_i32 s41, s41, -1\n"
         "s_cmp_lg_u32 s41, 0\ns_cbranch_scc1 short\n" +
         text + "s_add_i32 s40, s40, -1\ns_cmp_lg_u32 s40, 0\ns_cbranch_scc1 round\n";
}

std::vector<uint32_t> code_of(const std::string& text, unsigned wave_size) {
  std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
  code.pop_back();
  return code;
}

// By how they are made: never calls, where their addresses are irregular, always.
std::array<size_t, 3> count_accesses(const std::string& text, unsigned wave_size) {
  const Routine routine = routine_of(text, wave_size);
  const Facts facts = analyse(routine);
  std::array<size_t, 3> counts{};
  for (size_t n = 0; n < routine.nodes.size(); ++n)
    if (routine.nodes[n].kind == NodeKind::global) ++counts[static_cast<size_t>(facts.nodes[n].access_call)];
  return counts;
}

// s[2:3] and v2, or v[12:13].
std::string access(const std::string& kind, const std::string& form, unsigned data, unsigned offset) {
  const unsigned count = form == "b64" ? 2 : form == "b96" ? 3 : form == "b128" ? 4 : 1;
  const std::string first = std::to_string(data),
                    registers = count == 1 ? "v" + first
                                           : "v[" + first + ":" + std::to_string(data + count - 1) + "]";
  const bool is_load = kind.ends_with("load"), is_flat = kind.starts_with("flat");
  const std::string address = is_flat || kind.starts_with("wide") ? "v[12:13]" : "v2";
  const std::string name = is_flat ? kind : "global_" + kind.substr(kind.find('_') + 1);
  const std::string base = is_flat ? "" : address == "v2" ? ", s[2:3]" : ", off";
  return name + "_" + form + " " + (is_load ? registers + ", " + address : address + ", " + registers) +
         base + " offset:" + std::to_string(offset) + "\n";
}

// Every form, with writes under other EXECs and reads of what was loaded between them.
std::string every_form(const std::string& kind, unsigned wave_size) {
  const std::string exec = wave_size == 32 ? "exec_lo" : "exec", saved = wave_size == 32 ? "s44" : "s[44:45]",
                    some = wave_size == 32 ? "s46" : "s[46:47]", type = wave_size == 32 ? "b32" : "b64";
  std::string text;
  unsigned next = 16;
  for (const char* form : {"u8", "i8", "u16", "i16", "b32", "b64", "b96", "b128", "d16_u8", "d16_i8",
                           "d16_hi_i8", "d16_b16", "d16_hi_b16"}) {
    text += access(kind + "_load", form, next, 16);
    text += "v_xor_b32 v" + std::to_string(next + 40) + ", v7, v" + std::to_string(next) + "\n";
    next += 3;  // what was loaded before is overwritten in part
  }
  text += "s_mov_" + type + " " + saved + ", " + exec + "\ns_and_" + type + " " + exec + ", " + exec + ", " +
          some + "\nv_add_nc_u32 v16, v16, v8\nv_add_nc_u32 v57, v20, v9\n";
  for (const char* form : {"b8", "b16", "b32", "b64", "b96", "b128", "d16_hi_b8", "d16_hi_b16"})
    text += access(kind + "_store", form, 20, 48);
  text += access(kind + "_load", "b64", 16, 64) + "v_add_nc_u32 v17, v17, v17\ns_mov_" + type + " " + exec +
          ", " + saved + "\nv_add_nc_u32 v60, v16, v17\nv_add_nc_u32 v61, v57, v57\n";
  return text;
}

class CalledAccesses : public testing::TestWithParam<unsigned> {
 protected:
  using Addresses = std::function<uint64_t(const TestWave& wave, unsigned lane)>;

  // Both engines alike; so many exits.
  void expect_same(const std::vector<uint32_t>& code, uint64_t base, const Addresses& addresses,
                   uint64_t exits = 0) {
    for (const uint64_t exec :
         {~uint64_t{0}, uint64_t{0xff0f'3c01'00ff'8f35}, uint64_t{0x8000}, uint64_t{0}}) {
      EnginePair pair({.wave_size = GetParam(), .exec = exec, .seed = exec + base});
      EXPECT_EQ(
          pair.run(code,
                   [&](TestWave& wave) {
                     wave.set_s64(2, wave.memory_address() + base);
                     wave.fill(0, [](unsigned lane) { return lane; });
                     wave.fill(2, [&](unsigned lane) {
                       return static_cast<uint32_t>(addresses(wave, lane) - wave.memory_address() - base);
                     });
                     wave.fill64(12, [&](unsigned lane) { return addresses(wave, lane); });
                     auto* scratch = reinterpret_cast<uint32_t*>(wave.wave().scratch_base);
                     for (unsigned i = 0; i < TestWave::kScratchBytes / 4 * wave.size(); ++i)
                       scratch[i] = i * 0x9e37'79b9;
                   }),
          "")
          << base << " " << exec;
      const bool is_faulty = exits != 0 && (exec >> 5 & 1) != 0;
      EXPECT_EQ(pair.exits(Leave::access), is_faulty ? exits : 0) << base << " " << exec;
      EXPECT_EQ(pair.exits(Leave::call), 0u);
    }
  }
};

uint64_t scattered(const TestWave& wave, unsigned lane) {
  return wave.memory_address() + lane * 29 % 64 * 44 + lane % 5;
}
uint64_t side_by_side(const TestWave& wave, unsigned lane) {
  return wave.memory_address() + 64 + 4 * lane;
}
uint64_t in_scratch(const TestWave&, unsigned lane) {
  return kPrivateApertureBase + lane % 7 * 5;
}
uint64_t at_one_place_of_scratch(const TestWave&, unsigned) {
  return kPrivateApertureBase + 32;
}
// In memory, scratch and the LDS.
uint64_t anywhere(const TestWave& wave, unsigned lane) {
  if (lane % 3 == 0) return kPrivateApertureBase + lane * 12 % 128;
  return lane % 3 == 1 ? kSharedApertureBase + 24 * lane : wave.memory_address() + 40 * lane;
}

TEST_P(CalledAccesses, InLongCodeOutsideOfLoopsOnly) {
  const std::string pair = "global_load_b32 v16, v2, s[2:3]\nv_add_nc_u32 v2, v16, v2\n";
  EXPECT_EQ(count_accesses(repeated(pair, 250), GetParam()), (std::array<size_t, 3>{250, 0, 0}));
  const auto counts = count_accesses(repeated(pair, 600), GetParam());
  EXPECT_EQ(counts[1], 0u);
  EXPECT_GT(counts[2], 500u);
  const std::string padding = repeated("v_add_nc_u32 v4, v5, v4\n", 20);
  EXPECT_EQ(count_accesses(repeated(padding + pair, 40), GetParam()), (std::array<size_t, 3>{40, 0, 0}));
  // A loop of one piece, and one of several.
  const std::string long_loop = "s_movk_i32 s40, 2\nround:\n" + repeated(pair, 100) +
                                "s_add_i32 s40, s40, -1\ns_cmp_lg_u32 s40, 0\ns_cbranch_scc1 round\n";
  EXPECT_EQ(count_accesses(repeated(padding, 40) + long_loop, GetParam()),
            (std::array<size_t, 3>{100, 0, 0}));
  EXPECT_GT(count_accesses(two_rounds_of(repeated(pair, 600)), GetParam())[2], 500u);
}

TEST_P(CalledAccesses, EveryForm) {
  for (const std::string kind : {"narrow", "wide"}) {
    const std::string text = two_rounds_of(repeated(every_form(kind, GetParam()), 14));
    ASSERT_GT(count_accesses(text, GetParam())[2], 250u);
    const auto code = code_of(text, GetParam());
    expect_same(code, 0, scattered);
    expect_same(code, 0, side_by_side);
    expect_same(code, 4096, [](const TestWave& wave, unsigned lane) { return scattered(wave, lane) + 4096; });
  }
  // Their base is behind them.
  const auto wide = code_of(two_rounds_of(repeated(every_form("wide", GetParam()), 14)), GetParam());
  expect_same(wide, 8000, scattered);
}

TEST_P(CalledAccesses, Flat) {
  const std::string text = two_rounds_of(repeated(every_form("flat", GetParam()), 14));
  ASSERT_GT(count_accesses(text, GetParam())[2], 250u);
  const auto code = code_of(text, GetParam());
  for (const auto places : {scattered, side_by_side, in_scratch, at_one_place_of_scratch, anywhere})
    expect_same(code, 0, places);
}

// The wave leaves where it may not go on, with all that it has computed; nothing of the access is done.
TEST_P(CalledAccesses, Faults) {
  for (const std::string kind : {"narrow", "wide", "flat"}) {
    // v5 is added to the addresses in the middle of the second round.
    const std::string form = every_form(kind, GetParam());
    const std::string moved =
        kind == "narrow" ? "v_add_nc_u32 v2, v2, v10\n" : "v_add_nc_u32 v12, v12, v10\n";
    for (const unsigned at : {2u, 12u}) {
      const auto code = code_of(two_rounds_of(repeated(form, at) +
                                              "v_mul_u32_u24 v10, v11, s40\n"
                                              "v_sub_nc_u32 v10, v15, v10\n" +
                                              moved + repeated(form, 14 - at)),
                                GetParam());
      for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff0f'3c01'00ff'8f35}}) {
        EnginePair pair({.wave_size = GetParam(), .exec = exec, .seed = exec + at});
        EXPECT_EQ(pair.run(code,
                           [&](TestWave& wave) {
                             wave.set_s64(2, wave.memory_address());
                             wave.fill(2, [&](unsigned lane) { return lane * 29 % 64 * 44; });
                             wave.fill64(12, [&](unsigned lane) {
                               return wave.memory_address() + lane * 29 % 64 * 44;
                             });
                             // 2 * v11 - 2 * v11 = 0 in the first round, then v11.
                             wave.fill(11, [](unsigned lane) { return lane == 5 ? 1u << 22 : 0; });
                             wave.fill(15, [](unsigned lane) { return lane == 5 ? 1u << 23 : 0; });
                           }),
                  "")
            << kind << " " << at << " " << exec;
        EXPECT_EQ(pair.exits(Leave::access), 1u) << kind << " " << at << " " << exec;
      }
    }
  }
}

// Blocks whose accesses are mostly regular have two versions; only the second one calls for these. It takes
// over at the block's begin, or behind what has changed memory or the Wave.
TEST_P(CalledAccesses, BesideRegularOnes) {
  const std::string block =
      "v_lshlrev_b32 v3, 2, v0\nglobal_load_b32 v16, v3, s[2:3]\n"
      "global_load_b32 v17, v3, s[2:3] offset:512\nv_add_nc_u32 v18, v16, v17\n"
      "v_add_nc_u32 v24, v24, v16\nglobal_load_b32 v19, v2, s[2:3] offset:4\n"
      "global_load_b32 v26, v3, s[6:7] offset:1024\nv_add_nc_u32 v18, v18, v19\n"
      "v_add_nc_u32 v20, v20, v18\nglobal_store_b32 v2, v18, s[2:3]\nv_add_nc_u32 v23, v20, v23\n"
      "global_store_b32 v3, v20, s[2:3] offset:1024\nv_add_nc_u32 v25, v25, v23\n"
      "global_load_b32 v21, v3, s[4:5] offset:1024\nv_xor_b32 v22, v21, v20\n"
      "s_cbranch_vccz next\nnext:\n";
  std::string text;
  for (unsigned i = 0; i < 55; ++i) {
    std::string each = block;
    for (size_t at = 0; (at = each.find("next", at)) != std::string::npos; at += 4)
      each.replace(at, 4, "n" + std::to_string(100 + i));
    text += each;
  }
  text = two_rounds_of(text);
  // Code that is followed to its end is known to begin with the ids. So what it computes has to be stored, of
  // lanes that were off, too.
  text += GetParam() == 32 ? "s_mov_b32 exec_lo, -1\n" : "s_mov_b64 exec, -1\n";
  for (unsigned number = 16; number <= 26; ++number)
    text += "v_mad_u32_u24 v30, v0, 4, " + std::to_string(256 * (number - 16)) + "\nglobal_store_b32 v30, v" +
            std::to_string(number) + ", s[2:3] offset:3840\n";
  const auto counts = count_accesses(text, GetParam());
  EXPECT_GT(counts[1], 100u);
  EXPECT_GT(counts[2], 80u);
  const std::vector<uint32_t>& code = interpreter::assembled(text, GetParam());
  struct State {
    uint64_t base = 0, later_base = 0;
    unsigned wrong_lane = 64;  // whose v0 is no work-item id
  };
  // From there on there is room for 16 lanes.
  constexpr uint64_t kNearEnd = TestWave::kMemoryBytes - 1024 - 64;
  for (const State& state : {State{}, {0, 0, 6}, {0, 0, 9}, {kNearEnd}, {0, kNearEnd}, {kNearEnd, 0, 9}}) {
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff0f'3c01'00ff'8f35}, uint64_t{0x8f35}}) {
      for (const auto places : {scattered, side_by_side}) {
        EnginePair pair({.wave_size = GetParam(), .exec = exec, .seed = exec});
        EXPECT_EQ(pair.run(code,
                           [&](TestWave& wave) {
                             wave.set_s64(2, wave.memory_address());
                             wave.set_s64(4, wave.memory_address() + state.later_base);
                             wave.set_s64(6, wave.memory_address() + state.base);
                             wave.fill(0, [&](unsigned lane) { return lane == state.wrong_lane ? 3 : lane; });
                             wave.fill(2, [&](unsigned lane) {
                               return static_cast<uint32_t>(places(wave, lane) - wave.memory_address());
                             });
                           }),
                  "")
            << state.base << " " << state.later_base << " " << state.wrong_lane << " " << exec;
        const bool faults = state.base + state.later_base != 0 && exec >> 16 != 0;
        EXPECT_EQ(pair.exits(Leave::access), faults ? 1 : 0)
            << state.base << " " << state.later_base << " " << exec;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Wave, CalledAccesses, testing::Values(32u, 64u), testing::PrintToStringParamName());

}  // namespace
}  // namespace lockstep::translator

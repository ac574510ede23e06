// Accesses of LDS whose lanes are moved together: strides that are guessed from the code, and what becomes of
// guesses that do not hold.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/translator/liveness.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// Without its end, behind which no register matters.
std::vector<uint32_t> open_ended(const std::string& text, unsigned wave_size = 32) {
  std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
  code.pop_back();
  return code;
}

// The guess for the only instruction of LDS.
std::optional<uint32_t> guess(const std::string& text) {
  const Routine routine = routine_of(text);
  const Facts facts = analyse(routine);
  for (size_t n = 0; n < routine.nodes.size(); ++n)
    if (routine.nodes[n].kind == NodeKind::lds) return facts.nodes[n].lds_stride;
  ADD_FAILURE() << "no access of LDS: " << text;
  return std::nullopt;
}

TEST(Lds, StridesAreGuessed) {
  const std::string x = "v_and_b32 v1, 0x3ff, v0\n", y = "v_bfe_u32 v1, v0, 10, 10\n";
  EXPECT_EQ(guess(x + "v_lshlrev_b32 v1, 2, v1\nds_load_b32 v2, v1"), 4u);
  EXPECT_EQ(guess(x + "v_lshlrev_b32 v1, 4, v1\nds_load_2addr_b32 v[2:3], v1 offset1:1"), 16u);
  EXPECT_EQ(guess(x + "v_mul_u32_u24 v1, 24, v1\nds_load_b64 v[2:3], v1"), 24u);
  EXPECT_EQ(guess(y + "v_lshlrev_b32 v1, 4, v1\nds_load_b128 v[4:7], v1"), 0u);
  EXPECT_EQ(guess(x + "v_lshlrev_b32 v1, 4, v1\nds_store_b64 v1, v[2:3]"), 16u);
  EXPECT_EQ(guess(x + "ds_load_u8 v2, v1"), 1u);
  EXPECT_EQ(guess(x + "ds_load_i16 v2, v1"), 1u);
  EXPECT_EQ(guess(x + "v_mul_u32_u24 v1, 3, v1\nds_load_i8 v2, v1"), 3u);
  // Too far apart, in the way of one another, parts of registers, from memory.
  EXPECT_EQ(guess(x + "v_lshlrev_b32 v1, 8, v1\nds_load_b32 v2, v1"), std::nullopt);
  EXPECT_EQ(guess(x + "v_lshlrev_b32 v1, 2, v1\nds_store_b64 v1, v[2:3]"), std::nullopt);
  EXPECT_EQ(guess(y + "ds_store_b32 v1, v2"), std::nullopt);
  EXPECT_EQ(guess(x + "v_lshlrev_b32 v1, 3, v1\nds_load_u8 v2, v1"), std::nullopt);
  EXPECT_EQ(guess(x + "ds_load_u8_d16 v2, v1"), std::nullopt);
  EXPECT_EQ(guess(x + "ds_load_u16_d16_hi v2, v1"), std::nullopt);
  EXPECT_EQ(guess(x + "ds_store_b8 v1, v2"), std::nullopt);
  EXPECT_EQ(guess(x + "global_load_b32 v1, v1, s[2:3]\ns_waitcnt vmcnt(0)\nds_load_b32 v2, v1"),
            std::nullopt);
}

TEST(Lds, AccessesAreTheInterpreters) {
  const std::string accesses[] = {
      "ds_load_b32 v4, v1 offset:8",
      "ds_load_b64 v[4:5], v1 offset:4",
      "ds_load_b96 v[4:6], v1",
      "ds_load_b128 v[4:7], v1",
      "ds_load_2addr_b32 v[4:5], v1 offset1:1",
      "ds_load_2addr_b32 v[4:5], v1 offset0:1",
      "ds_load_2addr_b64 v[4:7], v1 offset0:2 offset1:3",
      "ds_load_2addr_stride64_b32 v[4:5], v1 offset0:1 offset1:2",
      "ds_store_b32 v1, v2 offset:4",
      "ds_store_b64 v1, v[2:3]",
      "ds_store_b96 v1, v[2:4]",
      "ds_store_2addr_b32 v1, v2, v3 offset0:1 offset1:2",
      "ds_load_u16 v5, v1\nds_load_b32 v6, v1",
      "ds_load_u8 v4, v1 offset:3\nds_load_i8 v5, v1",
      "ds_load_i16 v4, v1 offset:1\nds_load_u16 v5, v1 offset:2",
      "ds_store_b8 v1, v2 offset:1\nds_load_i8 v5, v1",
  };
  EnginePair engines({.seed = 1}), partial({.exec = 0xf0f7'7fff, .seed = 2});
  // Where EXEC has been written, stores may be of some lanes.
  for (const std::string narrowed : {"", "s_and_b32 exec_lo, exec_lo, 0xfff7ffff\n"})
    for (const std::string& access : accesses) {
      for (const unsigned stride : {0u, 1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 20u, 32u, 36u}) {
        const std::string code = "v_mul_u32_u24 v1, " + std::to_string(stride) + ", v0\n" + narrowed +
                                 access + "\ns_waitcnt lgkmcnt(0)\nv_add_nc_u32 v10, v4, v5";
        // From the begin on; where the last lanes are out of range; and where one lane is not as guessed.
        const uint32_t near_end = interpreter::TestWave::kLdsBytes / std::max(stride, 1u) - 20;
        for (const auto& [first, odd_lane] : {std::pair{0u, 99u}, {near_end, 99u}, {3u, 21u}})
          for (EnginePair* each : {&engines, &partial})
            EXPECT_EQ(each->run(open_ended(code),
                                [&](interpreter::TestWave& wave) {
                                  wave.fill(0,
                                            [&](unsigned lane) { return first + lane + (lane == odd_lane); });
                                }),
                      "")
                << code;
      }
    }
}

// Dwords side by side of some lanes: none of a chunk, all, and in between. What is at the others' places
// stays.
TEST(Lds, StoresOfSomeLanesLeaveTheOthers) {
  const std::string body =
      "v_lshlrev_b32 v1, 2, v0\ns_and_b64 exec, exec, s[6:7]\n"
      "ds_store_b32 v1, v2 offset:4\ns_waitcnt lgkmcnt(0)\nds_load_b32 v4, v1 offset:8\n"
      "s_waitcnt lgkmcnt(0)\nv_add_nc_u32 v10, v4, v2";
  for (const unsigned wave_size : {32u, 64u})
    for (const uint64_t lanes : {uint64_t{0}, ~uint64_t{0}, uint64_t{0xffff'0000'ffff'0000},
                                 uint64_t{0x8001'0000'7ffe'ffff}, uint64_t{0x1234'fedc'0001'8000}}) {
      std::string code = body;
      if (wave_size == 32)
        code.replace(code.find("s_and_b64 exec, exec, s[6:7]"), 28, "s_and_b32 exec_lo, exec_lo, s6");
      EnginePair pair({.wave_size = wave_size, .seed = lanes});
      EXPECT_EQ(pair.run(open_ended(code, wave_size),
                         [&](interpreter::TestWave& wave) {
                           wave.fill(0, [](unsigned lane) { return lane + 3; });
                           wave.wave().scalar[6] = static_cast<uint32_t>(lanes);
                           wave.wave().scalar[7] = static_cast<uint32_t>(lanes >> 32);
                         }),
                "")
          << wave_size << " " << std::hex << lanes;
      EXPECT_EQ(pair.exits(Leave::access), 0u);
    }
}

// Lanes that are off before the first row of a tile or behind its last one; and lanes that are on there.
TEST(Lds, LanesThatAreOffMayBeOutside) {
  constexpr uint32_t kEnd = interpreter::TestWave::kLdsBytes;
  const std::string accesses[] = {
      "ds_load_b32 v4, v1",
      "ds_load_b64 v[4:5], v1",
      "ds_load_2addr_b32 v[4:5], v1 offset0:2 offset1:17",
      "ds_load_b32 v4, v1 offset:64\nds_load_b32 v5, v1 offset:4",
      "ds_store_b32 v1, v2",
      "ds_store_b32 v1, v2 offset:64\ns_waitcnt lgkmcnt(0)\nds_load_b32 v4, v1",
      "ds_store_2addr_b32 v1, v2, v3 offset0:1 offset1:16",
  };
  for (const unsigned wave_size : {32u, 64u})
    for (const std::string& access : accesses)
      // Far before the LDS, too, and where addresses wrap.
      for (const uint32_t first : {0u - 4, 0u - 64, 0u - 128, 0u - 8192, kEnd - 4, kEnd - 64, kEnd - 120,
                                   kEnd + 64, 0x8000'0000u - 64})
        for (const uint64_t lanes :
             {uint64_t{0x7ffe'7ffe'7ffe'7ffe}, uint64_t{0xffff'ffff'ffff'0000}, uint64_t{0xffff},
              uint64_t{0xffff'ffff}, uint64_t{1}, uint64_t{0xffff'ffff'ffff'fffe}, uint64_t{0}}) {
          const std::string code =
              "v_lshl_add_u32 v1, v0, 2, s8\ns_and_b64 exec, exec, s[6:7]\ns_nop 0\n"
              "s_branch behind\nbehind:\n" +
              access + "\ns_waitcnt lgkmcnt(0)\nv_add_nc_u32 v10, v4, v5";
          EnginePair pair({.wave_size = wave_size, .seed = lanes});
          EXPECT_EQ(pair.run(open_ended(code, wave_size),
                             [&](interpreter::TestWave& wave) {
                               wave.fill(0, [](unsigned lane) { return lane; });
                               wave.wave().scalar[6] = static_cast<uint32_t>(lanes);
                               wave.wave().scalar[7] = static_cast<uint32_t>(lanes >> 32);
                               wave.wave().scalar[8] = first;
                             }),
                    "")
              << wave_size << " " << std::hex << first << " " << lanes << "\n"
              << code;
        }
}

// One number for all lanes, the same in all but one, or another in each; one place for all, some, or each its
// own; all lanes, or not all.
TEST(Lds, AtomicsAreTheInterpreters) {
  const std::string places[] = {"v_mov_b32 v1, 0x44\n", "v_and_b32 v1, 0x3c, v0\n",
                                "v_lshlrev_b32 v1, 2, v0\n",
                                "v_mul_u32_u24 v1, 0xfff4, v0\nv_and_b32 v1, 0x1fc, v1\n"};
  const std::string numbers[] = {"v_mov_b32 v2, 1\n", "v_mov_b32 v2, s9\n",
                                 "v_cmp_eq_u32 vcc_lo, 29, v0\n"
                                 "v_cndmask_b32 v2, s9, v3, vcc_lo\n",
                                 "v_mov_b32 v2, v3\n"};
  for (const unsigned wave_size : {32u, 64u})
    for (const std::string operation :
         {"add", "sub", "min_i32", "max_i32", "min_u32", "max_u32", "and", "or", "xor"})
      for (const std::string& place : places)
        for (std::string number : numbers) {
          if (wave_size == 64)
            for (size_t at; (at = number.find("vcc_lo")) != std::string::npos;) number.replace(at, 6, "vcc");
          const bool has_type = operation.find('_') != std::string::npos;
          const bool is_sum = operation == "add" || operation == "sub";
          const std::string name = operation + (has_type ? "" : is_sum ? "_u32" : "_b32");
          const std::string code = place + number + "ds_" + name + " v1, v2 offset:8\ns_waitcnt lgkmcnt(0)";
          for (const uint64_t exec :
               {~uint64_t{0}, uint64_t{0x7fff'ffff'ffff'ffff}, uint64_t{0xffff'fffe'ffff'fffe}}) {
            EnginePair pair({.wave_size = wave_size, .exec = exec, .seed = 11});
            for (const uint32_t first : {0u, 5u, interpreter::TestWave::kLdsBytes / 4 - 16})
              EXPECT_EQ(pair.run(open_ended(code, wave_size),
                                 [&](interpreter::TestWave& wave) {
                                   wave.fill(0, [&](unsigned lane) { return first + lane; });
                                 }),
                        "")
                  << code << " from " << first;
          }
        }
}

// An index of few bits, of which all, some or none is in LDS, and where it is, aligned.
TEST(Lds, AtomicsWhoseIndexHasFewBitsAreTheInterpreters) {
  constexpr unsigned kBytes = interpreter::TestWave::kLdsBytes;
  for (const unsigned wave_size : {32u, 64u})
    for (const std::string operation : {"ds_add_u32 v1, v3", "ds_add_rtn_u32 v4, v1, v3", "ds_max_i32 v1, v5",
                                        "ds_add_u64 v1, v[6:7]", "ds_cmpstore_b32 v1, v5, v6"})
      for (const auto& [mask, most] : {std::pair<std::string, unsigned>{"0x1f8", 0x1f8}, {"0x1fc", 0x1fc}}) {
        const unsigned size = operation.ends_with("v[6:7]") ? 8 : 4;
        for (const unsigned offset : {0u, 2u, 4u, kBytes - most - size, kBytes - most - size + 4,
                                      kBytes - most - size + 8, kBytes - size, kBytes, 0xfff8u}) {
          const std::string code = "v_and_b32 v1, " + mask + ", v2\n" + operation +
                                   " offset:" + std::to_string(offset) + "\ns_waitcnt lgkmcnt(0)";
          SCOPED_TRACE(code);
          for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x7fff'0fff'f00f'ffff}})
            EXPECT_EQ(compare(code, {.wave_size = wave_size, .exec = exec, .seed = 12}), "");
        }
      }
}

// The offsets that are guessed for the only instruction of LDS.
std::optional<OffsetsOfLanes> guessed_offsets(const std::string& text) {
  const Routine routine = routine_of(text);
  const Facts facts = analyse(routine);
  for (size_t n = 0; n < routine.nodes.size(); ++n)
    if (routine.nodes[n].kind == NodeKind::lds) return facts.nodes[n].lds_offsets;
  ADD_FAILURE() << "no access of LDS: " << text;
  return std::nullopt;
}

template <class Offset>
OffsetsOfLanes offsets_of(const Offset& offset) {
  OffsetsOfLanes offsets;
  for (unsigned lane = 0; lane < offsets.size(); ++lane) offsets[lane] = offset(lane);
  return offsets;
}

TEST(Lds, OffsetsOfLanesAreGuessed) {
  // Two butterflies: a work-item id with its lowest bits moved up, and with one of them turned.
  const std::string butterfly =
      "v_and_b32 v1, 3, v0\nv_lshlrev_b32 v2, 1, v0\nv_sub_nc_u32 v1, v2, v1\nv_lshlrev_b32 v1, 2, v1\n";
  EXPECT_EQ(guessed_offsets(butterfly + "ds_load_b32 v2, v1"),
            offsets_of([](unsigned lane) { return 4 * (2 * lane - (lane & 3)); }));
  EXPECT_EQ(guessed_offsets("v_xor_b32 v1, 5, v0\nv_lshl_or_b32 v1, v1, 3, 4\nds_store_b64 v1, v[2:3]"),
            offsets_of([](unsigned lane) { return 8 * (lane ^ 5); }));
  EXPECT_EQ(guessed_offsets("v_sub_nc_u32 v1, s2, v0\nv_lshlrev_b32 v1, 2, v1\nds_load_b32 v2, v1"),
            offsets_of([](unsigned lane) { return 4 * (15 - lane); }));
  EXPECT_EQ(guessed_offsets("v_and_b32 v1, 0x3ff, v0\nv_bfe_u32 v2, v0, 10, 10\n"
                            "v_mul_u32_u24 v3, 0x44, v1\nv_lshl_add_u32 v1, v2, 2, v3\nds_load_b32 v2, v1"),
            offsets_of([](unsigned lane) { return 68 * lane; }));
  // Two lanes' stores at one place; no dwords apart; bits that a number meets which nobody knows; from
  // memory.
  EXPECT_EQ(guessed_offsets("v_and_b32 v1, 3, v0\nv_lshlrev_b32 v1, 2, v1\nds_store_b32 v1, v2"),
            std::nullopt);
  EXPECT_EQ(guessed_offsets("v_xor_b32 v1, 5, v0\nds_load_b32 v2, v1"), std::nullopt);
  EXPECT_EQ(guessed_offsets("v_xor_b32 v1, s2, v0\nv_lshlrev_b32 v1, 2, v1\nds_load_b32 v2, v1"),
            std::nullopt);
  EXPECT_EQ(guessed_offsets("global_load_b32 v1, v0, s[2:3]\ns_waitcnt vmcnt(0)\nds_load_b32 v2, v1"),
            std::nullopt);
}

TEST(Lds, AccessesAtOffsetsOfLanesAreTheInterpreters) {
  const std::string addresses[] = {
      "v_and_b32 v1, 1, v0\nv_lshlrev_b32 v8, 1, v0\nv_sub_nc_u32 v1, v8, v1\nv_lshlrev_b32 v1, 2, v1\n",
      "v_and_b32 v1, 7, v0\nv_lshlrev_b32 v8, 1, v0\nv_sub_nc_u32 v1, v8, v1\nv_lshlrev_b32 v1, 3, v1\n",
      "v_xor_b32 v1, 5, v0\nv_lshlrev_b32 v1, 4, v1\n",
      "v_sub_nc_u32 v1, 0x5f, v0\nv_lshlrev_b32 v1, 2, v1\n",
      "v_mul_u32_u24 v1, 68, v0\n",
  };
  const std::string accesses[] = {
      "ds_load_b32 v4, v1 offset:8",
      "ds_load_b64 v[4:5], v1",
      "ds_load_b96 v[4:6], v1",
      "ds_load_2addr_b32 v[4:5], v1 offset1:2",
      "ds_load_2addr_b32 v[4:5], v1 offset0:3 offset1:1",
      "ds_load_2addr_b64 v[4:7], v1 offset1:4",
      "ds_store_b32 v1, v2 offset:2",
      "ds_store_b64 v1, v[2:3]",
      "ds_store_b128 v1, v[4:7]",
      "ds_store_2addr_b32 v1, v2, v3 offset1:2",
      "ds_store_2addr_b64 v1, v[2:3], v[4:5] offset1:8",
  };
  EnginePair engines({.seed = 6}), partial({.exec = 0x7054'7ffe, .seed = 7}),
      wide({.wave_size = 64, .exec = 0xf0f7'7fff'8000'fff3, .seed = 8});
  for (const std::string narrowed : {"", "s_and_b32 exec_lo, exec_lo, 0xbff7ff5f\n"})
    for (const std::string& address : addresses)
      for (const std::string& access : accesses) {
        const std::string code =
            address + narrowed + access + "\ns_waitcnt lgkmcnt(0)\nv_add_nc_u32 v10, v4, v5";
        // From the begin on; not at a multiple of 16; where lanes are out of range; one lane elsewhere.
        for (const auto& [first, odd_lane] : {std::pair{0u, 99u}, {3u, 99u}, {100u, 99u}, {0u, 21u}})
          for (EnginePair* each : {&engines, &partial, &wide})
            EXPECT_EQ(each->run(open_ended(code, each == &wide ? 64 : 32),
                                [&](interpreter::TestWave& wave) {
                                  wave.fill(0,
                                            [&](unsigned lane) { return first + lane + (lane == odd_lane); });
                                }),
                      "")
                << code << " from " << first;
      }
}

// Bytes of an index say that all lanes are in one kilobyte: host code permutes its words.
TEST(Lds, TablesAreTheInterpreters) {
  const std::string lookups[] = {
      "ds_load_b32 v4, v1",
      "ds_load_b32 v4, v1 offset:2",
      "ds_load_u8 v4, v1",
      "ds_load_i8 v4, v1 offset:12",
      "ds_load_u16 v4, v1 offset:4",
      "ds_load_i16 v4, v1",
      "ds_load_u8_d16_hi v4, v1",
      "ds_load_i8_d16 v4, v1",
      "ds_load_u16_d16_hi v4, v1 offset:8",
      "ds_load_2addr_b32 v[4:5], v1 offset0:3 offset1:17",
      "ds_load_b64 v[4:5], v1",
      // Of what has been written in between, too.
      "ds_load_b32 v4, v1\nds_store_b32 v8, v7 offset:64\nds_load_b32 v5, v1",
  };
  EnginePair engines({.seed = 3}), partial({.exec = 0x70f7'7ffe, .seed = 4}),
      wide({.wave_size = 64, .exec = 0xf0f7'7fff'8000'fff3, .seed = 5});
  for (const std::string& lookup : lookups)
    for (const std::string mask : {"0x3fc", "0x3ff", "0x2fe", "0xbc", "0x7c", "0x3f", "0x7fc"})
      // At the begin and where the last of the table is out of range.
      for (const unsigned first : {0u, interpreter::TestWave::kLdsBytes - 100}) {
        const std::string code = "v_and_b32 v1, " + mask +
                                 ", v2\nv_and_b32 v8, 0x1fc, v5\nv_add_nc_u32 v1, " + std::to_string(first) +
                                 ", v1\n" + lookup + "\ns_waitcnt lgkmcnt(0)\nv_add_nc_u32 v10, v4, v5";
        for (EnginePair* each : {first == 0 ? &engines : &wide, &partial})
          EXPECT_EQ(each->run(open_ended(code, each == &wide ? 64 : 32)), "") << code;
      }
}

}  // namespace
}  // namespace lockstep::translator

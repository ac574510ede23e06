// Loads whose index is known to have few bits pick what they load from rows of a table.
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "engine/translator/index_bits.h"
#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

constexpr uint32_t kAnyBits = ~0u;

// Of the offset of the text's last load, which is in its first block.
uint32_t bits(const std::string& text) {
  const Routine routine = routine_of(text + "s_nop 0\n");
  unsigned last = 0;
  for (unsigned n = 0; n < routine.nodes.size(); ++n)
    if (routine.nodes[n].kind == NodeKind::global || routine.nodes[n].kind == NodeKind::atomic) last = n;
  return possible_offset_bits(routine, analyse(routine), 0, last);
}

const std::string kLoad = "global_load_u8 v9, v1, s[4:5]\n", kByte = "global_load_u8 v2, v0, s[2:3]\n";

TEST(IndexBits, AreThoseOfTheOperationsBefore) {
  EXPECT_EQ(bits(kLoad), kAnyBits);
  EXPECT_EQ(bits("v_and_b32 v1, 63, v2\n" + kLoad), 63u);
  EXPECT_EQ(bits("v_and_b32 v1, s6, v2\n" + kLoad), kAnyBits);
  EXPECT_EQ(bits("v_mov_b32 v1, 20\n" + kLoad), 20u);
  EXPECT_EQ(bits("global_load_u8 v1, v0, s[2:3]\n" + kLoad), 0xffu);
  EXPECT_EQ(bits("global_load_u16 v1, v0, s[2:3]\n" + kLoad), 0xffffu);
  EXPECT_EQ(bits("global_load_i8 v1, v0, s[2:3]\n" + kLoad), kAnyBits);
  EXPECT_EQ(bits("global_load_d16_u8 v1, v0, s[2:3]\n" + kLoad), kAnyBits);
  EXPECT_EQ(bits("global_load_b32 v1, v0, s[2:3]\n" + kLoad), kAnyBits);
  EXPECT_EQ(bits(kByte + "v_lshrrev_b32 v1, 2, v2\n" + kLoad), 0x3fu);
  EXPECT_EQ(bits(kByte + "v_lshlrev_b32 v1, 2, v2\n" + kLoad), 0x3fcu);
  EXPECT_EQ(bits(kByte + "v_lshlrev_b32 v1, v3, v2\n" + kLoad), kAnyBits);
  EXPECT_EQ(bits(kByte + "v_lshlrev_b32 v2, 4, v2\nv_and_or_b32 v1, v2, 48, 5\n" + kLoad), 0x35u);
  EXPECT_EQ(bits(kByte + "v_lshl_or_b32 v1, v2, 1, 1\n" + kLoad), 0x1ffu);
  EXPECT_EQ(bits(kByte + "v_lshl_add_u32 v1, v2, 1, v2\n" + kLoad), 0x3ffu);
  EXPECT_EQ(bits(kByte + "v_and_b32 v3, 12, v2\nv_add_nc_u32 v1, v3, v3\n" + kLoad), 0x1cu);
  EXPECT_EQ(bits("v_add_nc_u32 v1, v2, v3\n" + kLoad), kAnyBits);
  EXPECT_EQ(bits(kByte + "v_xor_b32 v1, 0x100, v2\n" + kLoad), 0x1ffu);
  EXPECT_EQ(bits(kByte + "v_or3_b32 v1, 0x100, v2, 1\n" + kLoad), 0x1ffu);
  EXPECT_EQ(bits("v_bfe_u32 v1, v2, 8, 6\n" + kLoad), 0x3fu);
  EXPECT_EQ(bits("v_bfe_u32 v1, v2, 28, 6\n" + kLoad), 0xfu);
  EXPECT_EQ(bits("v_dual_mov_b32 v4, 5 :: v_dual_and_b32 v1, 15, v2\n" + kLoad), 15u);
  EXPECT_EQ(bits("v_dual_mov_b32 v4, 5 :: v_dual_lshlrev_b32 v1, 30, v3\n" + kLoad), 0xc0000000u);
}

TEST(IndexBits, AreNotThoseOfOtherLanes) {
  const std::string mask = "v_and_b32 v1, 63, v2\n";
  EXPECT_EQ(bits(mask + "s_and_b32 exec_lo, exec_lo, s0\n" + kLoad), 63u);
  EXPECT_EQ(bits(mask + "s_or_b32 exec_lo, exec_lo, s0\n" + kLoad), kAnyBits);
  EXPECT_EQ(bits("v_and_b32_dpp v1, v2, v3 row_shl:1\n" + kLoad), kAnyBits);
  EXPECT_EQ(bits(mask + "v_mov_b32_dpp v1, v1 row_shl:1\n" + kLoad), kAnyBits);
}

TEST(IndexBits, OfSumsWithABase) {
  const std::string low = "v_add_co_u32 v4, s0, s6, v1\n", load = "global_load_u8 v9, v[4:5], off\n",
                    high = "v_add_co_ci_u32_e64 v5, null, s7, 0, s0\n";
  EXPECT_EQ(bits("v_and_b32 v1, 63, v2\n" + low + high + load), 63u);
  EXPECT_EQ(bits("v_and_b32 v4, 63, v2\n" + replaced(low, "s6, v1", "s6, v4") + high + load), 63u);
  EXPECT_EQ(bits("v_and_b32 v1, 63, v2\n" + replaced(low, "s6, v1", "v6, v1") + high + load), kAnyBits);
  EXPECT_EQ(bits("v_and_b32 v1, 63, v2\n" + replaced(low, "s6, v1", "64, v1") + high + load), kAnyBits);
  EXPECT_EQ(bits("v_and_b32 v4, 63, v2\n" + load), kAnyBits);
}

TEST(IndexBits, OfLds) {
  EXPECT_EQ(bits("v_and_b32 v1, 0x3fc, v2\nds_add_u32 v1, v3 offset:64\n"), 0x3fcu);
  EXPECT_EQ(bits("v_and_b32 v3, 0x3fc, v2\nds_add_u32 v1, v3\n"), kAnyBits);
}

Bytes bytes_below(size_t count, unsigned below) {
  std::mt19937 random(11);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % below);
  return bytes;
}

// Tables of all sizes, of which each index is in the buffer: whole rows are there, or not.
TEST(Tables, AreTheInterpreters) {
  const std::string kernels = R"(
#define KERNEL(type) \
  __kernel void pick_##type(__global uint* out, __constant uchar* in, uint n, __global const type* table) { \
    uint i = get_global_id(0); \
    if (i >= n) return; \
    uint at = in[i] & MASK; \
    out[i] = (uint)table[at] * 3 + (uint)table[in[i ^ 1] >> SHIFT] + i; \
  } \
  __kernel void behind_##type(__global uint* out, __constant uchar* in, uint n, __constant type* table) { \
    uint i = get_global_id(0); \
    if (in[i] % 5 != 0) out[i] = (uint)(table + 5)[in[i] & MASK]; \
  }
KERNEL(uchar) KERNEL(char) KERNEL(ushort) KERNEL(short) KERNEL(uint)
)";
  constexpr std::pair<const char*, unsigned> kTypes[] = {
      {"uchar", 1}, {"char", 1}, {"ushort", 2}, {"short", 2}, {"uint", 4}};
  unsigned wave_size = 32;
  for (const unsigned bits : {2u, 4u, 6u, 7u, 8u}) {
    wave_size = 96 - wave_size;
    const std::string mask = "#define MASK " + std::to_string((1u << bits) - 1) + "\n#define SHIFT " +
                             std::to_string(8 - bits) + "\n";
    const Bytes code = compile(mask + kernels, wave_size);
    for (const auto& [type, size] : kTypes)
      for (const char* kernel : {"pick_", "behind_"})
        for (const uint32_t n : {128u, 99u}) {
          const size_t whole = ((size_t{1} << bits) + 5) * size;
          for (const size_t more : {size_t{0}, size_t{64}})
            expect_same(code,
                        {{std::string(kernel) + type,
                          {128, 1, 1},
                          {64, 1, 1},
                          {buffer(0), buffer(1), value(n), buffer(2)}}},
                        {Bytes(128 * 4), bytes_below(128, 256), bytes_below(whole + more, 256)});
        }
  }
}

// Of parts of registers, and under masks.
TEST(Tables, OfAllForms) {
  const std::string loads[] = {
      "global_load_u8 v4, v1, s[4:5]",         "global_load_i8 v4, v1, s[4:5] offset:3",
      "global_load_d16_hi_u8 v4, v1, s[4:5]",  "global_load_d16_i8 v4, v1, s[4:5]",
      "global_load_u16 v4, v1, s[4:5]",        "global_load_i16 v4, v1, s[4:5]",
      "global_load_d16_hi_b16 v4, v1, s[4:5]", "global_load_b32 v4, v1, s[4:5]",
      "global_load_b64 v[4:5], v1, s[4:5]",
  };
  const Start starts[] = {{.seed = 3},
                          {.exec = 0x70f7'7ffe, .seed = 4},
                          {.wave_size = 64, .exec = 0xf0f7'7fff'8000'fff3, .seed = 5}};
  for (const std::string& load : loads)
    for (const std::string mask : {"0x3fc", "0x3ff", "0x2fe", "0xbc", "0x7c", "0x3f", "0x7fc"})
      for (const Start& start : starts) {
        // The first round finds the range.
        const std::string code =
            "s_mov_b32 s8, 3\nagain:\nv_and_b32 v1, " + mask + ", v2\n" + load +
            "\ns_waitcnt vmcnt(0)\nv_add3_u32 v10, v4, v5, v10\nv_lshrrev_b32 v2, 5, v2\n"
            "s_sub_u32 s8, s8, 1\ns_cbranch_scc0 again";
        EXPECT_EQ(compare(code, start), "") << code;
      }
}

// Behind guest memory is nothing that the host may touch: of a table that may be larger than what is there
// the rows are not loaded.
TEST(Tables, ThatEndWithTheMemory) {
  std::vector<uint32_t> code = interpreter::assembled(
      "s_mov_b32 s8, 3\nagain:\nv_and_b32 v1, 0xff, v2\nglobal_load_u8 v4, v1, s[4:5]\ns_waitcnt vmcnt(0)\n"
      "v_add_nc_u32 v10, v4, v10\nv_lshrrev_b32 v2, 1, v2\ns_sub_u32 s8, s8, 1\ns_cbranch_scc0 again",
      32);
  code.pop_back();
  for (const unsigned bytes : {1u, 63u, 64u, 255u, 256u, 257u})
    EXPECT_EQ(EnginePair({.seed = 6})
                  .run(code,
                       [&](interpreter::TestWave& wave) {
                         const uint64_t end = wave.memory_address() + interpreter::TestWave::kMemoryBytes;
                         wave.wave().set_scalar64(4, end - bytes);
                         wave.fill(2, [&](unsigned lane) { return lane * 8 % bytes; });
                       }),
              "")
        << bytes;
}

// Of a pair of SGPRs and an index of 32 bits, whose high half is 0; other numbers there count.
TEST(Tables, OfSums) {
  const std::string text =
      "s_sub_u32 s10, s5, 1\ns_mov_b32 s8, 3\nagain:\nv_and_b32 v1, MASK, v2\nv_add_co_u32 v6, s0, s4, v1\n"
      "v_add_co_ci_u32_e64 v7, null, HIGH, s0\nglobal_load_u8 v9, v[6:7], off\ns_waitcnt vmcnt(0)\n"
      "v_add_nc_u32 v10, v9, v10\nv_lshrrev_b32 v2, 5, v2\ns_sub_u32 s8, s8, 1\ns_cbranch_scc0 again";
  for (const char* mask : {"0xff", "0x7ff"})
    for (const char* high : {"s5, 0", "0, s5", "s10, 1", "1, s10"})
      for (const Start& start : {Start{.seed = 3}, Start{.exec = 0x70f7'7ffe, .seed = 4}}) {
        const std::string code = replaced(replaced(text, "MASK", mask), "HIGH", high);
        std::vector<uint32_t> open_ended = interpreter::assembled(code, start.wave_size);
        open_ended.pop_back();
        EnginePair engines(start);
        EXPECT_EQ(engines.run(open_ended), "") << code;
        // Nor does the interpreter put right what was looked for elsewhere.
        EXPECT_EQ(engines.exits(Leave::access), 0u) << code;
      }
}

}  // namespace
}  // namespace lockstep::translator

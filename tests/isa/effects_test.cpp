// Which registers instructions read and write. What is expected is written out by hand from the guide.
#include "isa/effects.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>

#include "isa/row_facts.h"
#include "tests/isa/llvm_oracle.h"

namespace lockstep::isa {
namespace {

// "s4 vcc"; behind a register ~ says that it is written in part, * that M0 chooses it.
std::string text_of(const RegisterUses& uses) {
  std::string text;
  for (const RegisterUse& use : uses) {
    if (!text.empty()) text += ' ';
    text += name(use);
    if (use.is_partial) text += '~';
    if (use.is_indexed) text += '*';
  }
  return text;
}

struct Effects {
  std::string reads, writes;
  friend bool operator==(const Effects&, const Effects&) = default;
};
void PrintTo(const Effects& effects, std::ostream* out) {
  *out << "reads " << effects.reads << ", writes " << effects.writes;
}

Effects effects_of(std::span<const std::byte> code, const Bearer& bearer) {
  Instruction instruction;
  if (decode(code, bearer.wave_size, instruction) != DecodeError::none) {
    ADD_FAILURE() << "not decoded";
    return {};
  }
  const RegisterEffects effects = register_effects(instruction, bearer);
  return {text_of(effects.reads), text_of(effects.writes)};
}
Effects effects_of(const std::string& line, const Bearer& bearer = {}) {
  SCOPED_TRACE(line);
  test::LlvmOracle oracle(bearer.wave_size);
  std::string error;
  const auto bytes = oracle.assemble(line, error);
  EXPECT_TRUE(bytes) << error;
  return bytes ? effects_of(*bytes, bearer) : Effects{};
}
// Of what assemblers do not take.
Effects effects_of(uint32_t word, const Bearer& bearer = {}) {
  return effects_of(std::as_bytes(std::span(&word, 1)), bearer);
}

Bearer with_m0(uint32_t m0) {
  Bearer bearer;
  bearer.m0 = m0;
  return bearer;
}

using E = Effects;

TEST(RegisterEffects, OperandsAndWhatIsImplied) {
  EXPECT_EQ(effects_of("v_add_f32 v1, s2, v3"), (E{"s2 v3 exec_lo", "v1"}));
  EXPECT_EQ(effects_of("v_fma_f64 v[0:1], v[2:3], s[4:5], v[6:7]"),
            (E{"v[2:3] s[4:5] v[6:7] exec_lo", "v[0:1]"}));
  EXPECT_EQ(effects_of("s_add_u32 s0, s1, 0x12345"), (E{"s1", "s0 scc"}));
  EXPECT_EQ(effects_of("s_addc_u32 s0, s1, null"), (E{"s1 scc", "s0 scc"}));
  EXPECT_EQ(effects_of("s_cbranch_vccz 0"), (E{"vcc_lo", ""}));
  EXPECT_EQ(effects_of("v_div_fmas_f32 v0, v1, v2, v3"), (E{"v1 v2 v3 exec_lo vcc_lo", "v0"}));
  EXPECT_EQ(effects_of("s_load_b128 s[4:7], s[0:1], s2"), (E{"s[0:1] s2", "s[4:7]"}));
  EXPECT_EQ(effects_of("v_swap_b32 v1, v2"), (E{"v1 v2 exec_lo", "v1 v2"}));
}

TEST(RegisterEffects, TheWaveSizeDecidesOnMasks) {
  Bearer wide;
  wide.wave_size = 64;
  EXPECT_EQ(effects_of("v_cmp_lt_f32 s4, v1, v2"), (E{"v1 v2 exec_lo", "s4"}));
  EXPECT_EQ(effects_of("v_cmp_lt_f32 s[4:5], v1, v2", wide), (E{"v1 v2 exec", "s[4:5]"}));
  EXPECT_EQ(effects_of("s_cbranch_vccz 0", wide), (E{"vcc", ""}));
  // The width that a scalar instruction names is its own.
  EXPECT_EQ(effects_of("s_and_saveexec_b32 s0, s1", wide), (E{"s1 exec_lo", "s0 exec_lo scc"}));
  EXPECT_EQ(effects_of("s_and_saveexec_b64 s[0:1], s[2:3]"), (E{"s[2:3] exec", "s[0:1] exec scc"}));
  // Wave64 skips dual issue (guide 7.6).
  EXPECT_EQ(effects_of("v_dual_mov_b32 v0, v3 :: v_dual_mov_b32 v1, v2"), (E{"v3 v2 exec_lo", "v0 v1"}));
}

TEST(RegisterEffects, HalvesAndLanesThatStay) {
  EXPECT_EQ(effects_of("ds_load_u16_d16_hi v1, v2"), (E{"v1 v2 exec_lo", "v1~"}));
  EXPECT_EQ(effects_of("ds_load_u16 v1, v2"), (E{"v2 exec_lo", "v1"}));
  EXPECT_EQ(effects_of("v_writelane_b32 v1, s2, s3"), (E{"v1 s2 s3", "v1~"}));
  EXPECT_EQ(effects_of("v_wmma_f16_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[16:23]"),
            (E{"v[0:7] v[8:15] v[16:23] exec_lo", "v[24:31]~"}));
  EXPECT_EQ(effects_of("v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[16:23]"),
            (E{"v[0:7] v[8:15] v[16:23] exec_lo", "v[24:31]"}));
  EXPECT_EQ(effects_of("v_mov_b32_dpp v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf"),
            (E{"v2 exec_lo", "v1~"}));
}

TEST(RegisterEffects, MemoryChoosesByItsFields) {
  EXPECT_EQ(effects_of("global_atomic_add_u32 v1, v2, s[4:5]"), (E{"v1 v2 s[4:5] exec_lo", ""}));
  EXPECT_EQ(effects_of("global_atomic_add_u32 v0, v1, v2, s[4:5] glc"), (E{"v1 v2 s[4:5] exec_lo", "v0"}));
  EXPECT_EQ(effects_of("ds_load_b32 v1, v2 gds"), (E{"v2 exec_lo m0", "v1"}));
}

TEST(RegisterEffects, M0ChoosesRegisters) {
  EXPECT_EQ(effects_of("s_movrels_b32 s0, s4"), (E{"s4* m0", "s0"}));
  EXPECT_EQ(effects_of("s_movrels_b32 s0, s4", with_m0(3)), (E{"s7 m0", "s0"}));
  // The index of a pair loses its low bit (3.3.1.3).
  EXPECT_EQ(effects_of("s_movrels_b64 s[0:1], s[4:5]", with_m0(3)), (E{"s[6:7] m0", "s[0:1]"}));
  EXPECT_EQ(effects_of("s_movreld_b64 s[0:1], s[4:5]", with_m0(3)), (E{"s[4:5] m0", "s[2:3]"}));
  EXPECT_EQ(effects_of("s_movrelsd_2_b32 s0, s4", with_m0(2 << 16 | 1)), (E{"s5 m0", "s2"}));
  EXPECT_EQ(effects_of("v_movreld_b32 v0, v4", with_m0(2)), (E{"v4 exec_lo m0", "v2"}));
  // Out of range: reads take the first register, writes are dropped (3.3.1.4).
  EXPECT_EQ(effects_of("s_movrels_b32 s1, s4", with_m0(200)), (E{"s0 m0", "s1"}));
  EXPECT_EQ(effects_of("s_movreld_b32 s1, s4", with_m0(200)), (E{"s4 m0", ""}));
  // What is no SGPR, too: s_movrels_b32 s4 and s_movrels_b64 s[4:5] of SCC and VCCZ.
  EXPECT_EQ(effects_of(0xbe8440fd, with_m0(0)), (E{"s0 m0", "s4"}));
  EXPECT_EQ(effects_of(0xbe8441fd, with_m0(2)), (E{"s[0:1] m0", "s[4:5]"}));
  EXPECT_EQ(effects_of(0xbe8440fb, with_m0(1)), (E{"s0 m0", "s4"}));
  EXPECT_EQ(effects_of(0xbe8440fd), (E{"scc* m0", "s4"}));
}

TEST(RegisterEffects, RegistersThatTheWaveHasNot) {
  Bearer few;
  few.vgpr_count = 8;
  EXPECT_EQ(effects_of("v_mov_b32 v1, v9", few), (E{"v0 exec_lo", "v1"}));
  EXPECT_EQ(effects_of("v_mov_b32 v9, v1", few), (E{"", ""}));
  EXPECT_EQ(effects_of("v_dual_mov_b32 v0, v9 :: v_dual_mov_b32 v1, v2", few), (E{"v1 v2 exec_lo", "v0 v1"}));
  // Memory checks register by register.
  EXPECT_EQ(effects_of("global_store_b64 v1, v[7:8], s[0:1]", few), (E{"v1 v7 v0 s[0:1] exec_lo", ""}));
  // Outside of a trap handler a TTMP is no destination, and SCC stays.
  EXPECT_EQ(effects_of("s_add_u32 ttmp0, s1, s2"), (E{"", ""}));
  Bearer handler;
  handler.is_privileged = true;
  EXPECT_EQ(effects_of("s_add_u32 ttmp0, s1, s2", handler), (E{"s1 s2", "ttmp0 scc"}));
  EXPECT_EQ(effects_of("s_and_saveexec_b32 ttmp0, s1"), (E{"s1 exec_lo", "exec_lo"}));
}

// Not what computes, and not the loads and stores that have the bit for something else.
TEST(RegisterEffects, RowsSayWhatOnlyMovesBits) {
  for (const char* name :
       {"v_mov_b32", "v_cndmask_b32", "v_dual_cndmask_b32", "v_permlanex16_b32", "s_cselect_b64",
        "s_and_saveexec_b32", "v_lshlrev_b64", "v_pack_b32_f16", "ds_bpermute_b32"})
    EXPECT_TRUE(find_row(name)->flags & kMovesBits) << name;
  for (const char* name : {"v_add_f32", "v_dual_add_nc_u32", "v_lshl_add_u32", "v_cvt_f32_i32", "s_add_i32",
                           "v_cmp_eq_u32", "ds_load_2addr_stride64_b32", "ds_and_b32", "global_load_b32"})
    EXPECT_FALSE(find_row(name)->flags & kMovesBits) << name;
}

// Clauses and hints are looked up by flag: each row of a mnemonic says the same.
TEST(RegisterEffects, FactsOfRowsAreThoseOfTheInstruction) {
  constexpr Flags kFacts = kFormat | kStride64 | kHint | kWait | kIgnoresOutputModifiers | kMovesBits;
  for (const Row& row : rows()) {
    EXPECT_EQ(row.flags & kFacts, find_row(row.opcode)->flags & kFacts) << row.name;
    EXPECT_EQ((row.flags & kFormat) != 0,
              row.name.find("buffer_") != row.name.npos && row.name.find("_format_") != row.name.npos)
        << row.name;
    if (row.flags & kHint)
      EXPECT_EQ(row.implicit_writes | (row.flags & (kBranch | kEndsWave)), 0u) << row.name;
  }
}

}  // namespace
}  // namespace lockstep::isa

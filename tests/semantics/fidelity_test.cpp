// What is said of instructions is consistent, and what must stay visible is.
#include "semantics/fidelity.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::semantics {
namespace {

TEST(FidelityTable, EveryDoubtSaysWhat) {
  for (const isa::Row& row : isa::rows()) {
    const Doubt doubt = doubt_of(row);
    EXPECT_EQ(doubt.fidelity == Fidelity::exact, doubt.note.empty()) << row.name;
    EXPECT_EQ(doubt.fidelity == Fidelity::bounded, doubt.ulp > 0) << row.name;
    EXPECT_EQ(doubt.fidelity == Fidelity::unsupported, find_unsupported(row) != nullptr) << row.name;
    // The notes become cells of a table.
    EXPECT_EQ(doubt.note.find_first_of("|\n"), std::string_view::npos) << row.name;
  }
}

// No card of this family was measured completely: the captures say so, and so must the report.
TEST(FidelityTable, DotAndMatrixProductsStayOpen) {
  for (const isa::Row& row : isa::rows()) {
    const std::string name(row.name);
    const bool dot = name.find("dot2") != std::string::npos;
    const bool matrix = name.find("v_wmma") == 0 && name.find("_i32_") == std::string::npos;
    if (dot || matrix) {
      EXPECT_EQ(doubt_of(row).fidelity, Fidelity::open) << name;
      EXPECT_EQ(doubt_of(row).concern, Concern::results) << name;
    }
  }
}

TEST(FidelityTable, FloatAtomicsAreNotClaimedExact) {
  for (const isa::Row& row : isa::rows()) {
    if (!(row.flags & isa::kAtomic)) continue;
    const std::string name(row.name);
    const bool is_float = name.ends_with("_f32") || name.ends_with("_f64");
    if (row.opcode == isa::Opcode::ds_ordered_count) continue;
    EXPECT_EQ(doubt_of(row).fidelity == Fidelity::open, is_float) << name;
  }
}

TEST(FidelityTable, CapturedTranscendentalsAreExact) {
  using enum isa::Opcode;
  for (const isa::Opcode opcode : {v_rcp_f32, v_rsq_f32, v_sqrt_f32, v_exp_f32, v_log_f32, v_rcp_f16,
                                   v_exp_f16, v_log_f16, v_sin_f16, v_cos_f16})
    EXPECT_EQ(doubt_of(opcode).fidelity, Fidelity::exact) << isa::name(opcode);
  for (const isa::Opcode opcode : {v_sin_f32, v_cos_f32, v_rsq_f16, v_sqrt_f16})
    EXPECT_EQ(doubt_of(opcode).fidelity, Fidelity::open) << isa::name(opcode);
}

TEST(FidelityTable, HalvesOfVopdAreAsTheirBase) {
  for (const isa::Row& row : isa::rows())
    if (row.base != row.opcode) {
      EXPECT_EQ(doubt_of(row).note, doubt_of(row.base).note) << row.name;
    }
}

}  // namespace
}  // namespace lockstep::semantics

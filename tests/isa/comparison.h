// Compares our decoder and disassembler with LLVM's on one instruction, and knows where they are meant to
// differ.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "isa/instruction.h"
#include "tests/isa/llvm_oracle.h"

namespace lockstep::test {

// Where the two may differ; docs/isa-differences.md gives the reasons at length, and a test holds the two
// lists equal.
enum class Difference {
  none,
  // We decode, LLVM 19 does not.
  high_half,
  vopd_in_wave64,
  vopd_unused_source,
  guide_only_opcode,
  move_modifiers,
  beyond_v255,
  ignored_clamp,
  guide_dpp,
  interpolation_sources,
  load_out_of_range,
  group_with_vcc,
  memory,
  // LLVM 19 decodes, we do not.
  constant_destination,
  special_register_as_vgpr,
  constant_as_mask,
  integer_modifiers,
  literal_with_dpp,
  // LLVM 19 decodes and remarks that an operand is invalid; we may refuse or decode.
  remark,
  count,
};

struct DifferenceText {
  std::string_view name;
  std::string_view reason;
};
const DifferenceText& describe(Difference difference);

struct Outcome {
  bool agreed = true;
  bool both_valid = false;
  Difference difference = Difference::none;
  std::string ours;
  LlvmText llvm;
  isa::Instruction instruction;
  isa::DecodeError error = isa::DecodeError::none;
};

// Words that LLVM 19 crashes on.
bool crashes_llvm(std::span<const std::byte> bytes);

// Decodes `bytes` both ways. The result says whether they agree, or differ in a known way.
void compare(LlvmOracle& oracle, std::span<const std::byte> bytes, unsigned wave_size, Outcome& outcome);

std::string hex(std::span<const std::byte> bytes);
std::string report(const Outcome& outcome, std::span<const std::byte> bytes, unsigned wave_size);

}  // namespace lockstep::test

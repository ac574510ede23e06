#include "tests/isa/comparison.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/isa/memory_variants.h"

namespace lockstep::test {
namespace {

using isa::DecodeError;
using isa::Encoding;
using isa::Instruction;
using isa::Opcode;

constexpr std::array<DifferenceText, static_cast<size_t>(Difference::count)> kTexts = {{
    {"none", ""},
    {"high_half", "VOP1, VOP2 and VOPC name the high half of v0 to v127 as VGPR 128 to 255 (guide 7.4)"},
    {"vopd_in_wave64", "the hardware skips VOPD in wave64, which is not the same as an illegal instruction"},
    {"vopd_unused_source", "v_dual_mov_b32 does not read VSRC1, so its value does not matter"},
    {"guide_only_opcode", "the guide has the instruction in this encoding and LLVM does not"},
    {"move_modifiers", "moves take ABS and NEG (guide 7.2.2.1)"},
    {"beyond_v255", "a register group that ends beyond v255 is out of range, not illegal (guide 3.3.2.2)"},
    {"ignored_clamp", "CLAMP is there and ignored (guide 7.2.3.1)"},
    {"guide_dpp", "the guide lets the instruction take DPP (table 30)"},
    {"interpolation_sources", "VINTERP takes scalar registers and constants (measured; guide table 96)"},
    {"load_out_of_range", "a load to a group that leaves the SGPRs writes nothing (guide 8.4.1)"},
    {"group_with_vcc", "VCC ends the region of the SGPRs, so a group may reach into it (guide 3.3.1.4)"},
    {"memory",
     "fields that a memory instruction does not use, and registers beyond v255 (memory_variants.cpp)"},
    {"constant_destination", "LLVM takes numbers of constants as scalar destinations"},
    {"special_register_as_vgpr", "LLVM takes NULL and constants in fields that may only name VGPRs"},
    {"constant_as_mask", "LLVM takes apertures and status bits as lane masks"},
    {"integer_modifiers",
     "ABS and NEG are undefined for integer sources (guide 7.2.2.1); LLVM prints sext()"},
    {"literal_with_dpp",
     "a literal and DPP exclude each other (guide 7.2.2.3); LLVM reads one dword as both"},
    {"remark", "LLVM remarks that an operand is invalid"},
}};

bool is_short(Encoding encoding) {
  return encoding == Encoding::vop1 || encoding == Encoding::vop2 || encoding == Encoding::vopc;
}

bool is_move(Opcode opcode) {
  switch (opcode) {
    case Opcode::v_mov_b32:
    case Opcode::v_movreld_b32:
    case Opcode::v_movrels_b32:
    case Opcode::v_movrelsd_b32:
    case Opcode::v_movrelsd_2_b32:
      return true;
    default:
      return false;
  }
}

bool is_guide_only(const Instruction& instruction) {
  const Encoding encoding = instruction.row->encoding;
  switch (instruction.row->opcode) {
    case Opcode::s_endpgm_ordered_ps_done:
    case Opcode::v_swap_b16:
      return true;
    case Opcode::v_readfirstlane_b32:
    case Opcode::v_mov_b16:
      return encoding == Encoding::vop3;
    default:
      break;
  }
  const auto is_bf16 = [](const isa::Row* row) {
    return row && row->opcode == Opcode::v_dual_dot2acc_f32_bf16;
  };
  return is_bf16(instruction.row) || is_bf16(instruction.row_y);
}

// The list of guide 7.2.3.1, of which VOP3 and VOP3P have these. LLVM knows CLAMP of float dot products in
// VOP3P alone.
bool has_ignored_clamp(const Instruction& instruction) {
  const std::string_view name = instruction.row->name;
  static constexpr std::string_view kPrefixes[] = {
      "v_permlane", "v_perm_b32", "v_dot2_f16_f16", "v_dot2_bf16_bf16", "v_wmma_", "v_add3_u32",
      "v_add_lshl_u32", "v_alignbit_b32", "v_alignbyte_b32", "v_cmp", "v_readlane_b32", "v_readfirstlane_b32",
      "v_writelane_b32",
      // Bitwise operations.
      "v_and_b", "v_or_b", "v_xor_b", "v_xnor_b", "v_not_b", "v_bfi_b32", "v_and_or_b32", "v_or3_b32",
      "v_xor3_b32", "v_lshl_or_b32"};
  return instruction.clamp &&
         std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool has_guide_dpp(const Instruction& instruction) {
  if (instruction.dpp == isa::Dpp::none) return false;
  switch (instruction.row->opcode) {
    case Opcode::v_fmac_dx9_zero_f32:
    case Opcode::v_fma_dx9_zero_f32:
    case Opcode::v_div_scale_f32:
    case Opcode::v_div_fmas_f32:
    case Opcode::v_div_fixup_f32:
    case Opcode::v_dot2_f32_bf16:
      return true;
    default:
      return false;
  }
}

bool has_scalar_source(const Instruction& instruction) {
  for (unsigned i = 0; i < instruction.operand_count; ++i)
    if (!instruction.operands[i].is_vgpr()) return true;
  return false;
}

Difference explain_ours_only(const Instruction& instruction, uint32_t low, uint32_t high,
                             unsigned wave_size) {
  const Encoding encoding = instruction.row->encoding;
  if (is_guide_only(instruction)) return Difference::guide_only_opcode;
  if (has_ignored_clamp(instruction)) return Difference::ignored_clamp;
  if (has_guide_dpp(instruction)) return Difference::guide_dpp;
  if (encoding == Encoding::vinterp && has_scalar_source(instruction))
    return Difference::interpolation_sources;
  if (encoding == Encoding::smem && instruction.operand_count && instruction.operands[0].words > 4 &&
      instruction.operands[0].code == isa::code::kNull)
    return Difference::load_out_of_range;
  if (encoding == Encoding::vopd) {
    if (wave_size == 64) return Difference::vopd_in_wave64;
    const bool x = instruction.row->opcode == Opcode::v_dual_mov_b32 && ((low >> 9) & 0xff);
    const bool y = instruction.row_y->opcode == Opcode::v_dual_mov_b32 && ((high >> 9) & 0xff);
    if (x || y) return Difference::vopd_unused_source;
  }
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (is_short(encoding) && operand.high) return Difference::high_half;
    if (operand.is_vgpr() && operand.vgpr() + operand.words > 256) return Difference::beyond_v255;
    if (operand.words > 2 && operand.code + operand.words == isa::code::kTtmp0)
      return Difference::group_with_vcc;
    if (is_move(instruction.row->opcode) && (operand.neg || operand.abs)) return Difference::move_modifiers;
  }
  return Difference::none;
}

// The row that the bytes name, whatever the rest of them holds.
const isa::Row* vector_row(uint32_t low) {
  if (low >> 26 == 0x35) {
    const unsigned number = (low >> 16) & 0x3ff;
    const isa::Row* row = isa::find_row(Encoding::vop3, number);
    return row ? row : isa::find_row(Encoding::vop3sd, number);
  }
  if (low >> 24 == 0xcc) return isa::find_row(Encoding::vop3p, (low >> 16) & 0x7f);
  if (low >> 24 == 0xcd) return isa::find_row(Encoding::vinterp, (low >> 16) & 0x7f);
  if (low >> 25 == 0x3f) return isa::find_row(Encoding::vop1, (low >> 9) & 0xff);
  if (low >> 25 == 0x3e) return isa::find_row(Encoding::vopc, (low >> 17) & 0xff);
  if (low >> 31 == 0) return isa::find_row(Encoding::vop2, low >> 25);
  return nullptr;
}

Difference explain_llvm_only(DecodeError error, uint32_t low, uint32_t high) {
  const isa::Row* row = vector_row(low);
  if (!row) return Difference::none;
  const bool wide = !is_short(row->encoding);
  const unsigned sources[3] = {wide ? high & 0x1ff : low & 0x1ff, wide ? (high >> 9) & 0x1ff : 0,
                               wide ? (high >> 18) & 0x1ff : 0};
  if (error == DecodeError::reserved_field) {
    const bool modified = wide && ((high >> 29) || ((low >> 8) & 7));
    const bool modified_dpp = !wide && sources[0] == 250;
    return modified || modified_dpp ? Difference::integer_modifiers : Difference::none;
  }
  if (error != DecodeError::illegal_operand) return Difference::none;
  const bool is_dpp = sources[0] == 233 || sources[0] == 234 || sources[0] == 250;
  if (wide && is_dpp && (sources[1] == 255 || sources[2] == 255)) return Difference::literal_with_dpp;
  // The mixed-precision instructions take only VGPRs as SRC1 with DPP.
  if (is_dpp && row->encoding == Encoding::vop3p && sources[1] < 256)
    return Difference::special_register_as_vgpr;
  for (const isa::OperandSpec& spec : row->operands) {
    const bool is_destination = spec.role == isa::Role::dst || spec.role == isa::Role::dst2;
    if (spec.field == isa::Field::sdst7 && is_destination) {
      const unsigned vdst = wide ? low & 0xff : (low >> 17) & 0xff;
      if (vdst >= 128) return Difference::constant_destination;
    }
    const unsigned index = spec.role == isa::Role::src1 ? 1 : spec.role == isa::Role::src2 ? 2 : 0;
    const bool is_matrix_c = (row->flags & isa::kMatrix) && index == 2;
    if ((spec.field == isa::Field::vgpr || is_matrix_c) && !is_destination && sources[index] < 256)
      return Difference::special_register_as_vgpr;
    if (spec.type == isa::Type::mask && spec.role == isa::Role::src2 && wide && sources[2] >= 128)
      return Difference::constant_as_mask;
  }
  return Difference::none;
}

std::vector<uint32_t> as_words(std::span<const std::byte> bytes) {
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), 4 * words.size());
  return words;
}

}  // namespace

bool crashes_llvm(std::span<const std::byte> bytes) {
  return crashes_llvm(std::span<const uint32_t>(as_words(bytes)));
}

const DifferenceText& describe(Difference difference) {
  return kTexts[static_cast<size_t>(difference)];
}

void compare(LlvmOracle& oracle, std::span<const std::byte> bytes, unsigned wave_size, Outcome& outcome) {
  const bool llvm_valid = oracle.disassemble(bytes, outcome.llvm);
  outcome.error = isa::decode(bytes, wave_size, outcome.instruction);
  const bool valid = outcome.error == DecodeError::none;
  outcome.ours.clear();
  if (valid) {
    char text[isa::kMaxText];
    outcome.ours.assign(text, isa::disassemble(outcome.instruction, wave_size, text, sizeof text));
  }
  outcome.both_valid = valid && llvm_valid;
  outcome.difference = Difference::none;
  outcome.agreed = valid == llvm_valid;
  if (outcome.both_valid)
    outcome.agreed = outcome.ours == outcome.llvm.text && outcome.instruction.size == outcome.llvm.size;
  if (outcome.agreed) return;
  uint32_t words[2] = {};
  std::memcpy(words, bytes.data(), std::min(bytes.size(), sizeof words));
  if (llvm_valid && outcome.llvm.has_remark) {
    outcome.difference = Difference::remark;
  } else if (valid && !llvm_valid) {
    if (is_memory_family(outcome.instruction.row->encoding)) {
      if (!why_llvm_refuses(as_words(bytes), outcome.instruction).empty())
        outcome.difference = Difference::memory;
    } else {
      outcome.difference = explain_ours_only(outcome.instruction, words[0], words[1], wave_size);
    }
  } else if (!valid) {
    outcome.difference = explain_llvm_only(outcome.error, words[0], words[1]);
  }
  outcome.agreed = outcome.difference != Difference::none;
}

std::string hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::byte byte : bytes) {
    if (!text.empty()) text += ',';
    text += "0x";
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

std::string report(const Outcome& outcome, std::span<const std::byte> bytes, unsigned wave_size) {
  std::string text = "wave" + std::to_string(wave_size) + " " + hex(bytes) + "\n  ours: ";
  if (outcome.error == DecodeError::none) {
    text += outcome.ours + " (" + std::to_string(outcome.instruction.size) + " bytes)";
  } else {
    text += "refused: " + std::string(isa::describe(outcome.error));
  }
  text += "\n  LLVM: ";
  text += outcome.llvm.text.empty()
              ? "refused"
              : outcome.llvm.text + " (" + std::to_string(outcome.llvm.size) + " bytes)";
  return text;
}

}  // namespace lockstep::test

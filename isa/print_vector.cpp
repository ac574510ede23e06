// VOP1, VOP2, VOPC, VOP3, VOP3SD, VOP3P, VOPD, VINTERP.
#include "isa/detail.h"
#include "isa/shape.h"

namespace lockstep::isa::detail {
namespace {

void put_suffix(Writer& writer, const Instruction& instruction) {
  const Row& row = *instruction.row;
  const bool is_dpp = instruction.dpp != Dpp::none;
  switch (row.encoding) {
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vopc:
      if (is_dpp) {
        if (row.encoding != Encoding::vopc) writer.put("_dpp");
      } else if ((row.flags & kTwoForms) && row.opcode != Opcode::v_readfirstlane_b32 &&
                 !row.operands.empty()) {
        writer.put("_e32");
      }
      break;
    case Encoding::vop3:
    case Encoding::vop3sd:
      if (is_dpp) {
        writer.put("_e64_dpp");
      } else if ((row.flags & kTwoForms) && !row.operands.empty()) {
        writer.put("_e64");
      }
      break;
    case Encoding::vop3p:
      if (is_dpp) writer.put("_e64_dpp");
      break;
    default:
      break;
  }
}

// LLVM 19 names halves of a VGPR only in v_mov_b16. Elsewhere it has no text for a high half, and we write
// ".h".
void put_half_source(Writer& writer, const Instruction& instruction, const Operand& operand) {
  put_source(writer, instruction, operand);
  if (!operand.is_vgpr() || !is_16_bit(operand.type)) return;
  const Encoding encoding = instruction.row->encoding;
  if (instruction.row->opcode == Opcode::v_mov_b16) {
    writer.put(operand.high ? ".h" : ".l");
  } else if (operand.high && encoding <= Encoding::vopc) {
    writer.put(".h");
  }
}

// "-1" could be the inline constant, so LLVM writes neg(1) for a negated 1.
void put_modified_source(Writer& writer, const Instruction& instruction, const Operand& operand, bool neg,
                         bool abs) {
  if (neg && !abs && is_immediate_code(operand.code)) {
    writer.put("neg(");
    put_source(writer, instruction, operand);
    return writer.put(')');
  }
  if (neg) writer.put('-');
  if (abs) writer.put('|');
  put_half_source(writer, instruction, operand);
  if (abs) writer.put('|');
}

bool is_mix(Opcode opcode) {
  return opcode == Opcode::v_fma_mix_f32 || opcode == Opcode::v_fma_mixlo_f16 ||
         opcode == Opcode::v_fma_mixhi_f16;
}

void put_bit_list(Writer& writer, std::string_view name, unsigned value, unsigned count) {
  writer.put(name);
  for (unsigned i = 0; i < count; ++i) {
    if (i) writer.put(',');
    writer.put(static_cast<char>('0' + ((value >> i) & 1)));
  }
  writer.put(']');
}

unsigned source_count(const Row& row) {
  unsigned count = 0;
  for (const OperandSpec& spec : row.operands)
    if (spec.role == Role::src0 || spec.role == Role::src1 || spec.role == Role::src2) ++count;
  return count;
}

void put_dpp_control(Writer& writer, unsigned control) {
  struct Range {
    unsigned first, last;
    std::string_view name;
  };
  static constexpr Range kRanges[] = {{0x101, 0x10f, "row_shl:"},
                                      {0x111, 0x11f, "row_shr:"},
                                      {0x121, 0x12f, "row_ror:"},
                                      {0x150, 0x15f, "row_share:"},
                                      {0x160, 0x16f, "row_xmask:"}};
  if (control <= 0xff) {
    writer.put(" quad_perm:[");
    for (unsigned i = 0; i < 4; ++i) {
      if (i) writer.put(',');
      writer.put(static_cast<char>('0' + bits(control, 2 * i, 2)));
    }
    return writer.put(']');
  }
  if (control == 0x140) return writer.put(" row_mirror");
  if (control == 0x141) return writer.put(" row_half_mirror");
  for (const Range& range : kRanges) {
    if (control < range.first || control > range.last) continue;
    writer.put(' ');
    writer.put(range.name);
    return writer.decimal(control & 15);
  }
  switch (control) {
    case 0x130:
      return writer.put(" /* wave_shl is not supported starting from GFX10 */");
    case 0x134:
      return writer.put(" /* wave_rol is not supported starting from GFX10 */");
    case 0x138:
      return writer.put(" /* wave_shr is not supported starting from GFX10 */");
    case 0x13c:
      return writer.put(" /* wave_ror is not supported starting from GFX10 */");
    case 0x142:
    case 0x143:
      return writer.put(" /* row_bcast is not supported starting from GFX10 */");
    default:
      return writer.put(" /* Invalid dpp_ctrl value */");
  }
}

void put_dpp(Writer& writer, const Instruction& instruction) {
  if (instruction.dpp == Dpp::dpp8) {
    writer.put(" dpp8:[");
    for (unsigned i = 0; i < 8; ++i) {
      if (i) writer.put(',');
      writer.put(static_cast<char>('0' + bits(instruction.dpp8_selectors, 3 * i, 3)));
    }
    writer.put(']');
  } else {
    put_dpp_control(writer, instruction.dpp_control);
    writer.put(" row_mask:");
    writer.hex(instruction.row_mask);
    writer.put(" bank_mask:");
    writer.hex(instruction.bank_mask);
    if (instruction.bound_control) writer.put(" bound_ctrl:1");
  }
  if (instruction.fetch_inactive) writer.put(" fi:1");
}

void put_vop3p_modifiers(Writer& writer, const Instruction& instruction) {
  const Row& row = *instruction.row;
  const unsigned count = source_count(row);
  const unsigned mask = (1u << count) - 1;
  unsigned neg = 0, neg_hi = 0;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    const unsigned index = operand.role == Role::src1 ? 1 : operand.role == Role::src2 ? 2 : 0;
    neg |= unsigned{operand.neg} << index;
    neg_hi |= unsigned{operand.neg_hi} << index;
  }
  const bool mix = is_mix(row.opcode);
  if (row.flags & kOpselInText) {
    if (instruction.op_sel) put_bit_list(writer, " op_sel:[", instruction.op_sel, count);
    const unsigned op_sel_hi = instruction.op_sel_hi & mask;
    if (op_sel_hi != (mix ? 0 : mask)) put_bit_list(writer, " op_sel_hi:[", op_sel_hi, count);
  }
  if (mix) return;
  if (neg) put_bit_list(writer, " neg_lo:[", neg, count);
  if (neg_hi) put_bit_list(writer, " neg_hi:[", neg_hi, count);
}

// VOP3: the bits of the sources and then the destination's.
void put_op_sel(Writer& writer, const Instruction& instruction) {
  const Opcode opcode = instruction.row->opcode;
  unsigned op_sel = instruction.op_sel;
  if (opcode == Opcode::v_dot2_f16_f16 || opcode == Opcode::v_dot2_bf16_bf16)
    op_sel &= 0xc;  // guide 7.1: src2 only
  const bool is_permlane = opcode == Opcode::v_permlane16_b32 || opcode == Opcode::v_permlanex16_b32;
  if (is_permlane) op_sel &= 3;
  if (!op_sel) return;
  const unsigned count = is_permlane ? 1 : opcode == Opcode::v_fmac_f16 ? 3 : source_count(*instruction.row);
  const unsigned sources = op_sel & ((1u << count) - 1);
  const unsigned last = is_permlane ? op_sel >> 1 : op_sel >> 3;
  put_bit_list(writer, " op_sel:[", sources | last << count, count + 1);
}

// The type that LLVM prints constants in, where it is not the operand's.
Type printed_type(Opcode opcode, const Operand& operand) {
  if (operand.role != Role::src1) return operand.type;
  switch (opcode) {
    case Opcode::v_cmp_class_f16:
    case Opcode::v_cmpx_class_f16:
      return Type::b32;
    case Opcode::v_ldexp_f16:
      return Type::f16;
    default:
      return operand.type;
  }
}

void put_operands(Writer& writer, const Instruction& instruction, const Row& row, unsigned first,
                  unsigned last) {
  // VOP3P lists its modifiers at the end, except the mixed-precision ones, where NEG_HI means ABS.
  const bool packed = row.encoding == Encoding::vop3p;
  const bool mix = packed && is_mix(row.opcode);
  bool is_first = true;
  for (unsigned i = first; i < last; ++i) {
    const Operand& given = instruction.operands[i];
    const Field field = row.operands[i - first].field;
    if (field == Field::exec || field == Field::hidden_vcc) continue;
    // Most operands are registers as they are.
    const bool is_register = given.code < code::kInt0 || given.is_vgpr();
    if (is_register && !(given.neg | given.neg_hi | given.abs) && !is_16_bit(given.type)) {
      put_register_operand(writer, is_first, given.code, given.words);
      is_first = false;
      continue;
    }
    if (is_first) {
      writer.put(' ');
    } else {
      writer.put(", ");
    }
    is_first = false;
    Operand operand = given;
    operand.type = mix ? Type::f16 : printed_type(row.opcode, operand);
    if (row.opcode == Opcode::v_mov_b16 && operand.neg) {
      // LLVM takes it for an integer move and NEG for a sign extension.
      writer.put("sext(");
      put_half_source(writer, instruction, operand);
      writer.put(')');
      continue;
    }
    const bool neg = operand.neg && (!packed || mix);
    const bool abs = mix ? operand.neg_hi : operand.abs && row.opcode != Opcode::v_mov_b16;
    if (neg || abs) {
      put_modified_source(writer, instruction, operand, neg, abs);
    } else {
      put_half_source(writer, instruction, operand);
    }
  }
}

}  // namespace

void put_full_mnemonic(Writer& writer, const Instruction& instruction) {
  put_mnemonic(writer, *instruction.row);
  put_suffix(writer, instruction);
}

void print_vector(Writer& writer, const Instruction& instruction, unsigned) {
  const Row& row = *instruction.row;
  put_full_mnemonic(writer, instruction);
  put_operands(writer, instruction, row, 0, instruction.operand_count);
  if (row.encoding == Encoding::vop3p) {
    put_vop3p_modifiers(writer, instruction);
  } else if (row.encoding == Encoding::vop3 && (row.flags & kOpselInText)) {
    put_op_sel(writer, instruction);
  }
  if (instruction.clamp) writer.put(" clamp");
  switch (instruction.omod) {
    case 1:
      writer.put(" mul:2");
      break;
    case 2:
      writer.put(" mul:4");
      break;
    case 3:
      writer.put(" div:2");
      break;
    default:
      break;
  }
  if (row.encoding == Encoding::vinterp) {
    if (instruction.op_sel) put_bit_list(writer, " op_sel:[", instruction.op_sel, 4);
    writer.put(" wait_exp:");
    writer.decimal(instruction.wait_exp);
  }
  if (instruction.dpp != Dpp::none) put_dpp(writer, instruction);
}

void print_vopd(Writer& writer, const Instruction& instruction, unsigned) {
  put_mnemonic(writer, *instruction.row);
  put_operands(writer, instruction, *instruction.row, 0, instruction.first_y_operand);
  writer.put(" :: ");
  put_mnemonic(writer, *instruction.row_y);
  put_operands(writer, instruction, *instruction.row_y, instruction.first_y_operand,
               instruction.operand_count);
}

}  // namespace lockstep::isa::detail

// VOP1, VOP2, VOPC, VOP3, VOP3SD, VOP3P, VOPD, VINTERP.
#include "isa/detail.h"
#include "isa/operand_text.h"
#include "isa/row_text.h"
#include "isa/shape.h"

namespace lockstep::isa::detail {
namespace {

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

void put_output_modifiers(Writer& writer, const Instruction& instruction) {
  static constexpr std::string_view kOutputFactors[] = {"", " mul:2", " mul:4", " div:2"};
  if (instruction.clamp) writer.put(" clamp");
  writer.put(kOutputFactors[instruction.omod]);
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

void put_operands(Writer& writer, const Instruction& instruction, const Row& row) {
  // VOP3P lists its modifiers at the end, except the mixed-precision ones, where NEG_HI means ABS.
  const bool packed = row.encoding == Encoding::vop3p;
  const bool mix = packed && is_mix(row.opcode);
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const Operand& given = instruction.operands[i];
    const Field field = row.operands[i].field;
    if (field == Field::exec || field == Field::hidden_vcc) continue;
    Operand operand = given;
    operand.type = mix ? Type::f16 : printed_type(row.opcode, operand);
    if (row.opcode == Opcode::v_mov_b16 && operand.neg) {
      // LLVM takes it for an integer move and NEG for a sign extension.
      writer.put("sext(");
      put_half_source(writer, instruction, operand);
      writer.put("), ");
      continue;
    }
    const bool neg = operand.neg && (!packed || mix);
    const bool abs = mix ? operand.neg_hi : operand.abs && row.opcode != Opcode::v_mov_b16;
    if (neg || abs) {
      put_modified_source(writer, instruction, operand, neg, abs);
    } else {
      put_half_source(writer, instruction, operand);
    }
    put_separator(writer);
  }
}

// Rows whose text is not plain.
[[gnu::noinline]] Writer print_special_vector(Writer writer, const Instruction& instruction) {
  const Row& row = *instruction.row;
  put_operands(writer, instruction, row);
  end_list(writer);
  if (row.encoding == Encoding::vop3p) {
    put_vop3p_modifiers(writer, instruction);
  } else if (row.encoding == Encoding::vop3 && (row.flags & kOpselInText)) {
    put_op_sel(writer, instruction);
  }
  put_output_modifiers(writer, instruction);
  if (row.encoding == Encoding::vinterp) {
    if (instruction.op_sel) put_bit_list(writer, " op_sel:[", instruction.op_sel, 4);
    writer.put(" wait_exp:");
    writer.decimal(instruction.wait_exp);
  }
  if (instruction.dpp != Dpp::none) put_dpp(writer, instruction);
  return writer;
}

[[gnu::noinline]] Writer put_modifiers(Writer writer, const Instruction& instruction) {
  put_output_modifiers(writer, instruction);
  if (instruction.dpp != Dpp::none) put_dpp(writer, instruction);
  return writer;
}

[[gnu::noinline, clang::preserve_most]] Writer put_modified_operand(Writer writer,
                                                                    const Instruction& instruction,
                                                                    const Operand& operand) {
  put_modified_source(writer, instruction, operand, operand.neg, operand.abs);
  put_separator(writer);
  return writer;
}

// The operands of rows whose text is plain, from one up to another one.
inline Writer put_plain_operands(Writer writer, const Instruction& instruction, const RowText& text,
                                 unsigned first, unsigned last) {
  const Operand* const end = instruction.operands.data() + last - text.hidden_last;
  for (const Operand* operand = instruction.operands.data() + first + text.first; operand != end; ++operand) {
    const ShortText& known = kOperandTexts[operand->words][operand->code];
    if (operand->neg | operand->abs) {
      writer = put_modified_operand(writer, instruction, *operand);
    } else if (known.size()) {
      writer.put_from(known.text, known.size());
    } else {
      writer = put_other_operand(writer, instruction, *operand);
    }
  }
  end_list(writer);
  return writer;
}

}  // namespace

Writer print_vector(Writer writer, const Instruction& instruction, const RowText& text) {
  if (!instruction.operand_count) return writer;
  if (!text.plain) return print_special_vector(writer, instruction);
  writer = put_plain_operands(writer, instruction, text, 0, instruction.operand_count);
  const bool is_modified = instruction.clamp | instruction.omod | (instruction.dpp != Dpp::none);
  return is_modified ? put_modifiers(writer, instruction) : writer;
}

Writer print_vopd(Writer writer, const Instruction& instruction, const RowText& text) {
  const unsigned first_y = instruction.first_y_operand;
  writer = put_plain_operands(writer, instruction, text, 0, first_y);
  writer.put(" :: ");
  const RowText& text_y = row_text(*instruction.row_y, false);
  writer.put_from(text_y.text, text_y.size);
  writer = put_plain_operands(writer, instruction, text_y, first_y, instruction.operand_count);
  return writer;
}

}  // namespace lockstep::isa::detail

// VOP1, VOP2, VOPC, VOP3, VOP3SD, VOP3P, VOPD, VINTERP.
#include "isa/detail.h"
#include "isa/shape.h"

namespace lockstep::isa::detail {
namespace {

bool has_short_form(const Row& row) {
  const Row* first = find_row(row.opcode);
  return first && first->encoding >= Encoding::vop1 && first->encoding <= Encoding::vopc;
}

// Whether the instruction also exists in VOP3: those that do not have no suffix in their short form.
bool has_long_form(const Row& row) {
  const unsigned number = row.encoding == Encoding::vop1   ? 0x180u + row.number
                          : row.encoding == Encoding::vop2 ? 0x100u + row.number
                                                           : row.number;
  return find_row(Encoding::vop3, number) || find_row(Encoding::vop3sd, number);
}

void put_suffix(Writer& writer, const Instruction& instruction) {
  const Row& row = *instruction.row;
  const bool is_dpp = instruction.dpp != Dpp::none;
  switch (row.encoding) {
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vopc:
      if (is_dpp) {
        writer.put("_dpp");
      } else if (has_long_form(row) && row.opcode != Opcode::v_readfirstlane_b32 && !row.operands.empty()) {
        writer.put("_e32");
      }
      break;
    case Encoding::vop3:
    case Encoding::vop3sd:
      if (is_dpp) {
        writer.put("_e64_dpp");
      } else if (has_short_form(row)) {
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

void put_modified_source(Writer& writer, const Instruction& instruction, const Operand& operand) {
  if (operand.neg) writer.put('-');
  if (operand.abs) writer.put('|');
  put_source(writer, instruction, operand);
  if (operand.abs) writer.put('|');
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
  writer.put(" /* Invalid dpp_ctrl value */");
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
  const bool is_mix = row.opcode == Opcode::v_fma_mix_f32 || row.opcode == Opcode::v_fma_mixlo_f16 ||
                      row.opcode == Opcode::v_fma_mixhi_f16;
  if (row.flags & kOpselInText) {
    if (instruction.op_sel) put_bit_list(writer, " op_sel:[", instruction.op_sel, count);
    const unsigned op_sel_hi = instruction.op_sel_hi & mask;
    if (op_sel_hi != (is_mix ? 0 : mask)) put_bit_list(writer, " op_sel_hi:[", op_sel_hi, count);
  }
  if (is_mix) return;
  if (neg) put_bit_list(writer, " neg_lo:[", neg, count);
  if (neg_hi) put_bit_list(writer, " neg_hi:[", neg_hi, count);
}

void put_operands(Writer& writer, const Instruction& instruction, const Row& row, unsigned first,
                  unsigned last) {
  bool is_first = true;
  for (unsigned i = first; i < last; ++i) {
    const Operand& operand = instruction.operands[i];
    const Field field = row.operands[i - first].field;
    if (field == Field::exec || field == Field::hidden_vcc) continue;
    if (is_first) {
      writer.put(' ');
    } else {
      writer.put(", ");
    }
    is_first = false;
    if (operand.neg | operand.abs) {
      put_modified_source(writer, instruction, operand);
    } else {
      put_source(writer, instruction, operand);
    }
  }
}

}  // namespace

void print_vector(Writer& writer, const Instruction& instruction, unsigned) {
  const Row& row = *instruction.row;
  writer.put(row.name);
  put_suffix(writer, instruction);
  if (row.encoding == Encoding::vop3p) {
    Instruction const& plain = instruction;
    bool is_first = true;
    const bool is_mix = row.opcode == Opcode::v_fma_mix_f32 || row.opcode == Opcode::v_fma_mixlo_f16 ||
                        row.opcode == Opcode::v_fma_mixhi_f16;
    for (unsigned i = 0; i < plain.operand_count; ++i) {
      Operand operand = plain.operands[i];
      writer.put(is_first ? std::string_view(" ") : std::string_view(", "));
      is_first = false;
      operand.abs = is_mix && operand.neg_hi;
      operand.neg = is_mix && operand.neg;
      put_modified_source(writer, instruction, operand);
    }
    put_vop3p_modifiers(writer, instruction);
  } else {
    put_operands(writer, instruction, row, 0, instruction.operand_count);
    if ((row.flags & kOpselInText) && instruction.op_sel) {
      const unsigned count = source_count(row);
      put_bit_list(writer, " op_sel:[",
                   (instruction.op_sel & ((1u << count) - 1)) | (instruction.op_sel >> 3 << count),
                   count + 1);
    }
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
    writer.put(" wait_exp:");
    writer.decimal(instruction.wait_exp);
  }
  if (instruction.dpp != Dpp::none) put_dpp(writer, instruction);
}

void print_vopd(Writer& writer, const Instruction& instruction, unsigned) {
  writer.put(instruction.row->name);
  put_operands(writer, instruction, *instruction.row, 0, instruction.first_y_operand);
  writer.put(" :: ");
  writer.put(instruction.row_y->name);
  put_operands(writer, instruction, *instruction.row_y, instruction.first_y_operand,
               instruction.operand_count);
}

}  // namespace lockstep::isa::detail

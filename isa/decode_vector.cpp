// VOP1, VOP2, VOPC, VOP3, VOP3SD, VOP3P, VOPD, VINTERP, with DPP8 and DPP16 (guide 15.3, 15.4).
#include "isa/detail.h"
#include "isa/operand_rules.h"
#include "isa/shape.h"

namespace lockstep::isa::detail {
namespace {

constexpr unsigned kDpp8 = 233, kDpp8FetchInactive = 234, kDpp16 = 250;

// The fields of a vector instruction, wherever its encoding keeps them.
struct Fields {
  unsigned dwords;  // without literal and DPP dword
  PlacedCodes codes = kNoCodes;
  unsigned abs = 0, neg = 0;    // a bit a source
  bool halves_in_vgpr = false;  // bit 7 of a VGPR number chooses the half of a 16-bit operand (guide 7.4)

  unsigned vdst() const { return codes[static_cast<size_t>(Place::scalar_dst)]; }
  unsigned source(unsigned index) const { return codes[index]; }
  void set(Place place, unsigned code) { at(codes, place) = static_cast<uint16_t>(code); }
  // Its number is all of a VGPR's or a scalar register's, as the operand has it.
  void set_vdst(unsigned number) {
    set(Place::scalar_dst, number);
    set(Place::vgpr_dst, code::kVgpr0 + number);
  }
};

constexpr unsigned source_index(Role role) {
  return role == Role::src1 ? 1 : role == Role::src2 ? 2 : 0;
}

DecodeError append_vgpr(DecodeContext& context, const OperandSpec& spec, const Fields& fields,
                        unsigned number) {
  bool high = false;
  if (fields.halves_in_vgpr && is_16_bit(spec.type)) {
    high = number & 0x80;
    number &= 0x7f;
  }
  append(context, spec, code::kVgpr0 + number).high = high;
  return DecodeError::none;
}

DecodeError append_constant(DecodeContext& context, const OperandSpec& spec, const Fields& fields,
                            unsigned code) {
  if (!is_source_code(code)) return refuse_source(context, spec, code);
  if (code == code::kLdsDirect && spec.words > 1) return refuse_source(context, spec, code);
  if (code == code::kLiteral) {
    // A literal and a DPP dword exclude each other (guide 7.2.2.3).
    if (context.out.dpp != Dpp::none)
      return refuse_operand(context, spec, code, "may not be a literal beside DPP (guide 7.2.2.3)");
    if (!take_literal(context, fields.dwords)) return DecodeError::truncated;
  }
  append(context, spec, code).value = code == code::kLiteral ? context.out.literal : 0;
  return DecodeError::none;
}

DecodeError append_source(DecodeContext& context, const OperandSpec& spec, const Fields& fields,
                          unsigned code) {
  switch (spec.field) {
    case Field::vcc:
    case Field::hidden_vcc:
      append(context, spec, code::kVccLo);
      return DecodeError::none;
    case Field::vgpr:
      if (code < code::kVgpr0) return refuse_operand(context, spec, code, "must be a VGPR");
      return append_vgpr(context, spec, fields, code - code::kVgpr0);
    case Field::sdst7:
      if (code >= code::kInt0) return refuse_operand(context, spec, code, "must be a scalar register");
      return append_scalar(context, spec, code);
    case Field::ssrc8:
      if (code >= code::kVgpr0)
        return refuse_operand(context, spec, code, "must be a scalar register or a constant");
      break;
    default:
      break;
  }
  if (code >= code::kVgpr0) return append_vgpr(context, spec, fields, code - code::kVgpr0);
  if (code < code::kInt0) return append_scalar(context, spec, code);
  return append_constant(context, spec, fields, code);
}

DecodeError append_destination(DecodeContext& context, const OperandSpec& spec, const Fields& fields) {
  switch (spec.field) {
    case Field::vcc:
      append(context, spec, code::kVccLo);
      return DecodeError::none;
    case Field::exec:
      append(context, spec, code::kExecLo);
      return DecodeError::none;
    case Field::sdst7: {
      const unsigned code = fields.codes[static_cast<size_t>(spec.place)];
      if (code >= code::kInt0) return refuse_operand(context, spec, code, "must be a scalar register");
      return append_scalar(context, spec, code);
    }
    default:
      return append_vgpr(context, spec, fields, fields.vdst());
  }
}

// An operand that is not taken as it is. Few are, and so this stays out of the loop and keeps its registers.
[[gnu::noinline, clang::preserve_most]] DecodeError append_operand(DecodeContext& context,
                                                                   const OperandSpec& spec,
                                                                   const Fields& fields) {
  switch (spec.role) {
    case Role::dst:
    case Role::dst2:
      return append_destination(context, spec, fields);
    case Role::simm:
      return append_constant(context, spec, fields, code::kLiteral);
    default:
      return append_source(context, spec, fields, fields.source(source_index(spec.role)));
  }
}

[[gnu::noinline, clang::preserve_most]] void apply_modifiers(Instruction& out, const Row& row,
                                                             const Fields& fields) {
  for (unsigned i = 0; i < out.operand_count; ++i) {
    if (!row.operands[i].modifiers) continue;
    Operand& operand = out.operands[i];
    operand.abs = (fields.abs >> source_index(operand.role)) & 1;
    operand.neg = (fields.neg >> source_index(operand.role)) & 1;
  }
}

[[gnu::always_inline]] inline DecodeError append_operands(DecodeContext& context, const Row& row,
                                                          const Fields& fields) {
  const DecodeError error = append_all(context, row, fields.codes, [&](const OperandSpec& spec) {
    return append_operand(context, spec, fields);
  });
  if (error == DecodeError::none && (fields.abs | fields.neg)) apply_modifiers(context.out, row, fields);
  return error;
}

// Codes of SRC0 that ask for a DPP dword.
bool is_dpp(unsigned code) {
  return code == kDpp16 || code == kDpp8 || code == kDpp8FetchInactive;
}

DecodeError refuse_modifiers(DecodeContext& context, unsigned sources) {
  return refuse(context, "NEG or ABS", sources,
                "has bits for sources that are no floats, or that the instruction has not (guide 7.2.2.1)");
}

// Reads the DPP dword, and puts the real SRC0 in its place (guide 15.3.8, 15.3.9).
[[gnu::noinline, clang::preserve_most]] DecodeError take_dpp(DecodeContext& context, const Row& row,
                                                             Fields& fields) {
  const unsigned source0 = fields.source(0);
  Instruction& out = context.out;
  if (!(row.flags & (source0 == kDpp16 ? kCanDpp16 : kCanDpp8))) {
    refuse(context, "SRC0", source0, "asks for DPP, and the instruction takes none (guide 7.7)");
    return DecodeError::illegal_operand;
  }
  if (!take_dword(context, fields.dwords)) return DecodeError::truncated;
  const uint32_t word = context.words[fields.dwords];
  fields.set(Place::src0, code::kVgpr0 + bits(word, 0, 8));
  if (source0 != kDpp16) {
    out.dpp = Dpp::dpp8;
    out.dpp8_selectors = word >> 8;
    out.fetch_inactive = source0 == kDpp8FetchInactive;
    return DecodeError::none;
  }
  out.dpp = Dpp::dpp16;
  out.dpp_control = static_cast<uint16_t>(bits(word, 8, 9));
  out.fetch_inactive = bits(word, 18, 1);
  out.bound_control = bits(word, 19, 1);
  out.bank_mask = static_cast<uint8_t>(bits(word, 24, 4));
  out.row_mask = static_cast<uint8_t>(bits(word, 28, 4));
  if (fields.dwords > 1) return DecodeError::none;  // VOP3 has its own NEG and ABS
  fields.neg = bits(word, 20, 1) | bits(word, 22, 1) << 1;
  fields.abs = bits(word, 21, 1) | bits(word, 23, 1) << 1;
  if (const unsigned rest = (fields.neg | fields.abs) & ~unsigned{row.modified_sources})
    return refuse_modifiers(context, rest);
  return DecodeError::none;
}

// Fields of sources that the row does not have must be zero.
bool has_unused_source(uint32_t high, unsigned sources) {
  static constexpr uint32_t kSource0 = 0x1ff, kSource1 = 0x1ff << 9, kSource2 = 0x1ff << 18;
  static constexpr uint32_t kUnused[] = {kSource0 | kSource1 | kSource2,
                                         kSource1 | kSource2,
                                         kSource0 | kSource2,
                                         kSource2,
                                         kSource0 | kSource1,
                                         kSource1,
                                         kSource0,
                                         0};
  return high & kUnused[sources];
}

DecodeError refuse_unused_source(DecodeContext& context, uint32_t high, unsigned sources) {
  static constexpr const char* kNames[] = {"SRC0", "SRC1", "SRC2"};
  unsigned index = 0;
  while (sources >> index & 1 || bits(high, 9 * index, 9) == 0) ++index;
  return refuse(context, kNames[index], bits(high, 9 * index, 9),
                "must be zero: the instruction has no such source");
}

DecodeError refuse_op_sel(DecodeContext& context) {
  return refuse(
      context, "OPSEL", context.out.op_sel,
      "has bits for operands that are not of 16 bits, or that the instruction has not (guide 7.2.2.4)");
}

// 16-bit operands of VOP3 and VINTERP take their half from OPSEL: sources from bits 0 to 2, destination from
// bit 3.
void apply_op_sel(Instruction& out) {
  for (unsigned i = 0; i < out.operand_count; ++i) {
    Operand& operand = out.operands[i];
    const bool is_half_shift = operand.role == Role::src2 && has_half_shift(out.row->opcode);
    if (!is_16_bit(operand.type) && !is_half_shift) continue;
    const unsigned bit = operand.role == Role::dst ? 3 : source_index(operand.role);
    operand.high = (out.op_sel >> bit) & 1;
  }
}

Fields long_fields(uint32_t low, uint32_t high) {
  Fields fields{.dwords = 2};
  fields.set_vdst(bits(low, 0, 8));
  fields.set(Place::src0, bits(high, 0, 9));
  fields.set(Place::src1, bits(high, 9, 9));
  fields.set(Place::src2, bits(high, 18, 9));
  fields.neg = bits(high, 29, 3);
  return fields;
}

// WMMA: the result and C take 8 registers a lane in wave32 and 4 in wave64 (guide 7.9).
DecodeError append_matrix_operands(DecodeContext& context, const Row& row, const Fields& fields) {
  // C may be VGPRs or a constant.
  const unsigned c = fields.source(2);
  if (c < code::kInt0)
    return refuse_operand(context, row.operands[3], c, "must be VGPRs or a constant (guide 7.9)");
  for (OperandSpec spec : row.operands) {
    if (context.mask_words == 2 && (spec.role == Role::dst || spec.role == Role::src2)) spec.words /= 2;
    const DecodeError error = append_operand(context, spec, fields);
    if (error != DecodeError::none) return error;
  }
  return DecodeError::none;
}

}  // namespace

DecodeError decode_short(DecodeContext& context, const Row& row) {
  const uint32_t word = context.words[0];
  const unsigned vdst = bits(word, 17, 8);
  if (row.operands.empty()) {
    // v_illegal is the dword zero; v_nop ignores SRC0.
    if (row.opcode == Opcode::v_illegal) return word ? DecodeError::unknown_opcode : DecodeError::none;
    return vdst ? refuse(context, "VDST", vdst, kMustBeZero) : DecodeError::none;
  }
  Fields fields{.dwords = 1, .halves_in_vgpr = true};
  fields.set_vdst(vdst);
  fields.set(Place::src0, bits(word, 0, 9));
  fields.set(Place::src1, code::kVgpr0 + bits(word, 9, 8));
  if (is_dpp(fields.source(0))) {
    const DecodeError error = take_dpp(context, row, fields);
    if (error != DecodeError::none) return error;
  }
  return append_operands(context, row, fields);
}

DecodeError decode_vop3(DecodeContext& context, const Row& row) {
  const uint32_t low = context.words[0];
  const uint32_t high = context.words[1];
  Instruction& out = context.out;
  Fields fields = long_fields(low, high);
  uint32_t modifiers =
      bits(high, 27, 2) << 16 | (low & 0x8000);  // OMOD, CLAMP, OPSEL; few instructions have any
  if (row.encoding == Encoding::vop3sd) {
    fields.set(Place::scalar_dst2, bits(low, 8, 7));
  } else {
    fields.abs = bits(low, 8, 3);
    modifiers |= low & 0x7800;
  }
  if (modifiers) {
    out.clamp = bits(modifiers, 15, 1);
    out.omod = static_cast<uint8_t>(modifiers >> 16);
    out.op_sel = static_cast<uint8_t>(bits(modifiers, 11, 4));
    if (out.clamp && !(row.flags & kCanClamp)) return refuse(context, "CLAMP", 1, kMustBeZero);
    if (out.omod && !(row.flags & kCanOmod)) return refuse(context, "OMOD", out.omod, kMustBeZero);
  }
  const unsigned sources = row.sources;
  if (has_unused_source(high, sources)) return refuse_unused_source(context, high, sources);
  if (is_dpp(fields.source(0))) {
    const DecodeError error = take_dpp(context, row, fields);
    if (error != DecodeError::none) return error;
  }
  if (fields.abs | fields.neg) {
    // Where OPSEL applies, NEG and ABS of integer sources are ignored; elsewhere they are reserved.
    const bool ignores_modifiers = (row.flags & kOpselInText) && out.dpp == Dpp::none;
    const unsigned allowed = row.modified_sources | (ignores_modifiers ? sources : 0);
    if (const unsigned rest = (fields.abs | fields.neg) & ~allowed) return refuse_modifiers(context, rest);
  }
  if (row.operands.empty())
    return fields.vdst() ? refuse(context, "VDST", fields.vdst(), kMustBeZero) : DecodeError::none;
  if (!modifiers) return append_operands(context, row, fields);

  if ((row.flags & kOpselInText) && (out.op_sel & 7 & ~sources)) return refuse_op_sel(context);
  const DecodeError error = append_operands(context, row, fields);
  if (error == DecodeError::none && out.op_sel && (row.flags & kCanOpsel)) apply_op_sel(out);
  return error;
}

DecodeError decode_vop3p(DecodeContext& context, const Row& row) {
  const uint32_t low = context.words[0];
  const uint32_t high = context.words[1];
  Instruction& out = context.out;
  Fields fields = long_fields(low, high);
  const unsigned neg_hi = bits(low, 8, 3);
  out.clamp = bits(low, 15, 1);
  out.op_sel = static_cast<uint8_t>(bits(low, 11, 3));
  out.op_sel_hi = static_cast<uint8_t>(bits(high, 27, 2) | bits(low, 14, 1) << 2);
  if (out.clamp && !(row.flags & kCanClamp)) return refuse(context, "CLAMP", 1, kMustBeZero);
  const unsigned sources = row.sources;
  if (const unsigned rest = (fields.neg | neg_hi) & ~sources) return refuse_modifiers(context, rest);
  if (out.op_sel & ~(row.flags & kCanOpsel ? sources : 0)) return refuse_op_sel(context);
  if (has_unused_source(high, sources)) return refuse_unused_source(context, high, sources);
  if (is_dpp(fields.source(0))) {
    const DecodeError error = take_dpp(context, row, fields);
    if (error != DecodeError::none) return error;
  }
  // The mixed-precision instructions take no SGPR as SRC1 with DPP.
  const bool vgpr_source1 = out.dpp != Dpp::none && row.operands[1].type == Type::f32;
  if (vgpr_source1 && fields.source(1) < code::kVgpr0)
    return refuse_operand(context, row.operands[2], fields.source(1), "must be a VGPR beside DPP");
  const DecodeError error = row.flags & kMatrix ? append_matrix_operands(context, row, fields)
                                                : append_operands(context, row, fields);
  if (error != DecodeError::none) return error;
  for (unsigned i = 0; i < out.operand_count; ++i) {
    Operand& operand = out.operands[i];
    if (!operand.read || operand.role == Role::dst) continue;
    const unsigned index = source_index(operand.role);
    operand.neg = (fields.neg >> index) & 1;
    operand.neg_hi = (neg_hi >> index) & 1;
    operand.high = (out.op_sel >> index) & 1;
    operand.high_hi = (out.op_sel_hi >> index) & 1;
  }
  return DecodeError::none;
}

DecodeError decode_vopd(DecodeContext& context, const Row& x) {
  const uint32_t low = context.words[0];
  const Row* y = row_of_number(Encoding::vopd, bits(low, 17, 5));
  if (!y) return DecodeError::unknown_opcode;
  const uint32_t high = context.words[1];
  Instruction& out = context.out;
  out.row_y = y;
  Fields fields{.dwords = 2};
  const unsigned vdst = bits(high, 24, 8);
  fields.set_vdst(vdst);
  fields.set(Place::src0, bits(low, 0, 9));
  fields.set(Place::src1, code::kVgpr0 + bits(low, 9, 8));
  const DecodeError error = append_operands(context, x, fields);
  if (error != DecodeError::none) return error;
  out.first_y_operand = out.operand_count;
  // The lowest bit of the Y destination is not stored: it is the opposite of X's.
  fields.set_vdst(bits(high, 17, 7) << 1 | (~vdst & 1));
  fields.set(Place::src0, bits(high, 0, 9));
  fields.set(Place::src1, code::kVgpr0 + bits(high, 9, 8));
  return append_operands(context, *y, fields);
}

DecodeError decode_vinterp(DecodeContext& context, const Row& row) {
  const uint32_t low = context.words[0];
  Instruction& out = context.out;
  const Fields fields = long_fields(low, context.words[1]);
  out.wait_exp = static_cast<uint8_t>(bits(low, 8, 3));
  out.op_sel = static_cast<uint8_t>(bits(low, 11, 4));
  out.clamp = bits(low, 15, 1);
  if (out.op_sel && !(row.flags & kCanOpsel)) return refuse_op_sel(context);
  const DecodeError error = append_operands(context, row, fields);
  if (error != DecodeError::none) return error;
  if (out.op_sel) apply_op_sel(out);
  return DecodeError::none;
}

}  // namespace lockstep::isa::detail

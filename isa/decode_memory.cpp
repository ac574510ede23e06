// LDSDIR, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, EXP (guide 15.5 to 15.7, 15.9, 15.10).
#include "isa/detail.h"

namespace lockstep::isa::detail {
namespace {

constexpr unsigned kSaddrOff = 0x7f;  // like NULL it says that SADDR is absent (guide 15.9.1)

Operand& append_vgpr(DecodeContext& context, const OperandSpec& spec, unsigned number) {
  return append(context, spec, code::kVgpr0 + number);
}

// SLC, DLC and GLC where buffer and image instructions have them.
void take_cache_bits(Instruction& out, uint32_t word) {
  out.slc = bits(word, 12, 1);
  out.dlc = bits(word, 13, 1);
  out.glc = bits(word, 14, 1);
}

// The operands of MUBUF and MTBUF.
DecodeError decode_buffer(DecodeContext& context, const Row& row) {
  Instruction& out = context.out;
  const uint32_t fields = context.words[1];
  out.offset = static_cast<int32_t>(bits(context.words[0], 0, 12));
  out.tfe = bits(fields, 21, 1);
  out.offen = bits(fields, 22, 1);
  out.idxen = bits(fields, 23, 1);
  out.lds = row.flags & kToLds;
  const bool high = row.flags & kHighHalf;
  for (const OperandSpec& spec : row.operands) {
    switch (spec.role) {
      case Role::dst:
        if ((row.flags & kAtomic) && !out.glc) break;
        {
          Operand& operand = append_vgpr(context, spec, bits(fields, 8, 8));
          operand.words = static_cast<uint8_t>(operand.words + out.tfe);
          operand.high = high;
        }
        break;
      case Role::data:
        append_vgpr(context, spec, bits(fields, 8, 8)).high = high;
        break;
      case Role::addr:
        if (out.offen || out.idxen)
          append_vgpr(context, spec, bits(fields, 0, 8)).words = static_cast<uint8_t>(out.offen + out.idxen);
        break;
      case Role::resource:
        append(context, spec, 4 * bits(fields, 16, 5));
        break;
      default:
        // The guide (table 37) names no literal here; LLVM takes one.
        if (!is_source_code(fields >> 24)) return refuse_source(context, spec, fields >> 24);
        if (fields >> 24 == code::kLiteral && !take_literal(context, 2)) return DecodeError::truncated;
        append(context, spec, fields >> 24).value = out.literal;
        break;
    }
  }
  return DecodeError::none;
}

}  // namespace

DecodeError decode_ldsdir(DecodeContext& context, const Row& row) {
  const uint32_t word = context.words[0];
  if (const unsigned rest = bits(word, 22, 2)) return refuse(context, "bits 23:22", rest, kMustBeZero);
  Instruction& out = context.out;
  out.attribute_channel = static_cast<uint8_t>(bits(word, 8, 2));
  out.attribute = static_cast<uint8_t>(bits(word, 10, 6));
  out.wait_exp = static_cast<uint8_t>(bits(word, 16, 4));
  append_vgpr(context, row.operands[0], bits(word, 0, 8));
  return DecodeError::none;
}

DecodeError decode_ds(DecodeContext& context, const Row& row) {
  const uint32_t word = context.words[0];
  Instruction& out = context.out;
  out.gds = bits(word, 17, 1);
  if (row.flags & (out.gds ? kLdsOnly : kGdsOnly))
    return refuse(context, "GDS", out.gds,
                  out.gds ? "must be 0: the instruction works on LDS only (guide 12.5)"
                          : "must be 1: the instruction works on GDS only (guide 12.5)");
  out.offset0 = static_cast<uint8_t>(word);
  out.offset1 = static_cast<uint8_t>(word >> 8);
  if (!(row.flags & kTwoAddresses)) out.offset = static_cast<int32_t>(bits(word, 0, 16));
  const bool high = row.flags & kHighHalf;
  const uint32_t fields = context.words[1];
  for (const OperandSpec& spec : row.operands) {
    unsigned low = 0;
    switch (spec.role) {
      case Role::dst:
        low = 24;
        break;
      case Role::data:
        low = spec.field == Field::vgpr_addr ? 0 : 8;
        break;
      case Role::data2:
        low = 16;
        break;
      default:
        break;
    }
    Operand& operand = append_vgpr(context, spec, bits(fields, low, 8));
    operand.high = high && spec.role != Role::addr;
    // The stream-out registers below 8 have 32 bits (guide table 61).
    if (spec.type == Type::u64 && (row.flags & kGdsOnly) && out.offset0 < 0x20) {
      operand.words = 1;
      operand.type = Type::u32;
    }
  }
  return DecodeError::none;
}

DecodeError decode_flat(DecodeContext& context, const Row& row) {
  const uint32_t word = context.words[0];
  const Encoding encoding = row.encoding;
  Instruction& out = context.out;
  out.dlc = bits(word, 13, 1);
  out.glc = bits(word, 14, 1);
  out.slc = bits(word, 15, 1);
  out.offset_field = static_cast<uint16_t>(bits(word, 0, 13));
  // FLAT ignores the top bit of the offset (guide 15.9.1).
  out.offset = encoding == Encoding::flat ? static_cast<int32_t>(bits(word, 0, 12)) : sign_extend(word, 13);
  const uint32_t fields = context.words[1];
  const unsigned saddr = bits(fields, 16, 7);
  const bool saddr_off = saddr == code::kNull || saddr == kSaddrOff;
  out.saddr_field = static_cast<uint8_t>(saddr);
  const bool vgpr_enabled = bits(fields, 23, 1);
  const bool high = row.flags & kHighHalf;
  for (const OperandSpec& spec : row.operands) {
    switch (spec.role) {
      case Role::dst:
        if (!(row.flags & kAtomic) || out.glc) append_vgpr(context, spec, fields >> 24).high = high;
        break;
      case Role::data:
        append_vgpr(context, spec, bits(fields, 8, 8)).high = high;
        break;
      case Role::addr: {
        if (encoding == Encoding::scratch && !vgpr_enabled) break;
        Operand& operand = append_vgpr(context, spec, bits(fields, 0, 8));
        if (encoding == Encoding::global && !saddr_off) {
          operand.type = Type::u32;
          operand.words = 1;
        }
        break;
      }
      default:
        if (saddr_off) break;
        if (encoding == Encoding::scratch) {
          append(context, spec, saddr);
          break;
        }
        if (saddr == code::kM0) return refuse_operand(context, spec, saddr, "may not be an address");
        if (saddr & 1) note_misaligned(context, saddr, saddr & ~1u, 2);
        append(context, spec, saddr & ~1u);  // hardware aligns pairs (guide 3.3.1.3)
        break;
    }
  }
  return DecodeError::none;
}

DecodeError decode_mubuf(DecodeContext& context, const Row& row) {
  const uint32_t word = context.words[0];
  if (row.operands.empty()) return DecodeError::none;  // the cache invalidates use no field
  take_cache_bits(context.out, word);
  return decode_buffer(context, row);
}

DecodeError decode_mtbuf(DecodeContext& context, const Row& row) {
  const uint32_t word = context.words[0];
  take_cache_bits(context.out, word);
  context.out.format = static_cast<uint8_t>(bits(word, 19, 7));
  return decode_buffer(context, row);
}

DecodeError decode_exp(DecodeContext& context, const Row& row) {
  const uint32_t word = context.words[0];
  Instruction& out = context.out;
  out.export_enable = static_cast<uint8_t>(bits(word, 0, 4));
  out.export_target = static_cast<uint8_t>(bits(word, 4, 6));
  out.export_done = bits(word, 11, 1);
  out.export_row = bits(word, 13, 1);
  for (unsigned component = 0; component < 4; ++component)
    if (bits(word, component, 1))
      append_vgpr(context, row.operands[component], bits(context.words[1], 8 * component, 8));
  return DecodeError::none;
}

}  // namespace lockstep::isa::detail

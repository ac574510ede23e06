// LDSDIR, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, EXP in LLVM's spelling.
#include <array>
#include <bit>

#include "isa/detail.h"
#include "isa/operand_text.h"

namespace lockstep::isa::detail {
namespace {

void put_offset(Writer& writer, std::string_view key, int64_t value) {
  if (!value) return;
  writer.put(key);
  writer.decimal(value);
}

// The fields of the offset of ds_swizzle_b32 (guide 16.15, DS_SWIZZLE_B32): quad mode has bit 15 set;
// bit-mask mode has and-, or- and xor-mask of five bits each, which LLVM names by what they do together.
void put_swizzle(Writer& writer, uint32_t offset) {
  if (!offset) return;
  writer.put(std::string_view(" offset:"));
  if (offset >> 15) {
    if ((offset & 0xff00) != 0x8000) {
      writer.decimal(offset);
      return;
    }
    writer.put(std::string_view("swizzle(QUAD_PERM"));
    for (unsigned lane = 0; lane < 4; ++lane) {
      writer.put(',');
      writer.decimal(bits(offset, 2 * lane, 2));
    }
    writer.put(')');
    return;
  }
  const uint32_t and_mask = bits(offset, 0, 5), or_mask = bits(offset, 5, 5), xor_mask = bits(offset, 10, 5);
  const uint32_t group = 32 - and_mask;
  if (and_mask == 31 && or_mask == 0 && std::has_single_bit(xor_mask)) {
    writer.put(std::string_view("swizzle(SWAP,"));
    writer.decimal(xor_mask);
  } else if (and_mask == 31 && or_mask == 0 && xor_mask && std::has_single_bit(xor_mask + 1)) {
    writer.put(std::string_view("swizzle(REVERSE,"));
    writer.decimal(xor_mask + 1);
  } else if (group > 1 && std::has_single_bit(group) && or_mask < group && xor_mask == 0) {
    writer.put(std::string_view("swizzle(BROADCAST,"));
    writer.decimal(group);
    writer.put(',');
    writer.decimal(or_mask);
  } else {
    writer.put(std::string_view("swizzle(BITMASK_PERM,\""));
    const uint32_t of_zero = or_mask ^ xor_mask, of_one = (and_mask | or_mask) ^ xor_mask;
    for (int bit = 4; bit >= 0; --bit) {
      const unsigned to = 2 * bits(of_zero, bit, 1) + bits(of_one, bit, 1);
      writer.put("0pi1"[to]);
    }
    writer.put('"');
  }
  writer.put(')');
}

constexpr std::array<std::string_view, 64> kBufferFormats = {"INVALID",
                                                             "8_UNORM",
                                                             "8_SNORM",
                                                             "8_USCALED",
                                                             "8_SSCALED",
                                                             "8_UINT",
                                                             "8_SINT",
                                                             "16_UNORM",
                                                             "16_SNORM",
                                                             "16_USCALED",
                                                             "16_SSCALED",
                                                             "16_UINT",
                                                             "16_SINT",
                                                             "16_FLOAT",
                                                             "8_8_UNORM",
                                                             "8_8_SNORM",
                                                             "8_8_USCALED",
                                                             "8_8_SSCALED",
                                                             "8_8_UINT",
                                                             "8_8_SINT",
                                                             "32_UINT",
                                                             "32_SINT",
                                                             "32_FLOAT",
                                                             "16_16_UNORM",
                                                             "16_16_SNORM",
                                                             "16_16_USCALED",
                                                             "16_16_SSCALED",
                                                             "16_16_UINT",
                                                             "16_16_SINT",
                                                             "16_16_FLOAT",
                                                             "10_11_11_FLOAT",
                                                             "11_11_10_FLOAT",
                                                             "10_10_10_2_UNORM",
                                                             "10_10_10_2_SNORM",
                                                             "10_10_10_2_UINT",
                                                             "10_10_10_2_SINT",
                                                             "2_10_10_10_UNORM",
                                                             "2_10_10_10_SNORM",
                                                             "2_10_10_10_USCALED",
                                                             "2_10_10_10_SSCALED",
                                                             "2_10_10_10_UINT",
                                                             "2_10_10_10_SINT",
                                                             "8_8_8_8_UNORM",
                                                             "8_8_8_8_SNORM",
                                                             "8_8_8_8_USCALED",
                                                             "8_8_8_8_SSCALED",
                                                             "8_8_8_8_UINT",
                                                             "8_8_8_8_SINT",
                                                             "32_32_UINT",
                                                             "32_32_SINT",
                                                             "32_32_FLOAT",
                                                             "16_16_16_16_UNORM",
                                                             "16_16_16_16_SNORM",
                                                             "16_16_16_16_USCALED",
                                                             "16_16_16_16_SSCALED",
                                                             "16_16_16_16_UINT",
                                                             "16_16_16_16_SINT",
                                                             "16_16_16_16_FLOAT",
                                                             "32_32_32_UINT",
                                                             "32_32_32_SINT",
                                                             "32_32_32_FLOAT",
                                                             "32_32_32_32_UINT",
                                                             "32_32_32_32_SINT",
                                                             "32_32_32_32_FLOAT"};
constexpr unsigned kDefaultBufferFormat = 1;  // what LLVM does not print

void put_format(Writer& writer, unsigned format) {
  if (format == kDefaultBufferFormat) return;
  writer.put(std::string_view(" format:"));
  if (format >= kBufferFormats.size()) {
    writer.decimal(format);
    return;
  }
  writer.put(std::string_view("[BUF_FMT_"));
  writer.put(kBufferFormats[format]);
  writer.put(']');
}

constexpr WordSet<2> kAddressWords({" idxen", " offen"});

Writer put_buffer(Writer writer, const Instruction& instruction) {
  const Row& row = *instruction.row;
  if (row.operands.empty()) return writer;
  const Operand* operand = instruction.operands.data();
  // A returning atomic has its VGPRs twice, as dst and as data; they are printed once.
  if ((row.flags & kAtomic) && operand->role == Role::dst) ++operand;
  if (operand->role == Role::dst || operand->role == Role::data) {
    const bool status_word = instruction.tfe && (row.flags & kStore);  // LLVM's; dst has its own already
    put_register_operand(writer, operand->code, operand->words + status_word);
    ++operand;
  }
  if (operand->role == Role::addr) {
    put_register_operand(writer, operand->code, operand->words);
    ++operand;
  } else {
    writer.put(std::string_view("off, "));
  }
  put_register_operand(writer, operand->code, operand->words);
  ++operand;
  put_source(writer, instruction, *operand);
  if (operand->code == code::kLdsDirect)
    writer.put(std::string_view("/*Invalid register, operand has 'SReg_32' register class*/"));
  if (row.encoding == Encoding::mtbuf) put_format(writer, instruction.format);
  kAddressWords.put(writer, instruction.idxen + 2u * instruction.offen);
  put_offset(writer, " offset:", instruction.offset);
  put_cache_bits(writer, instruction);
  if (instruction.tfe) writer.put(std::string_view(" tfe"));
  return writer;
}

void put_export_target(Writer& writer, unsigned target) {
  const auto numbered = [&](std::string_view name, unsigned number) {
    writer.put(name);
    writer.decimal(number);
  };
  if (target <= 7) return numbered("mrt", target);
  if (target == 8) return writer.put(std::string_view("mrtz"));
  if (target >= 12 && target <= 16) return numbered("pos", target - 12);
  if (target == 20) return writer.put(std::string_view("prim"));
  if (target == 21 || target == 22) return numbered("dual_src_blend", target - 21);
  numbered("invalid_target_", target);
}

}  // namespace

Writer print_ldsdir(Writer writer, const Instruction& instruction, const RowText&) {
  put_register(writer, instruction.operands[0].code, 1);
  if (instruction.row->opcode == Opcode::lds_param_load) {
    writer.put(std::string_view(", attr"));
    writer.decimal(instruction.attribute);
    writer.put('.');
    writer.put("xyzw"[instruction.attribute_channel]);
  }
  writer.put(std::string_view(" wait_vdst:"));
  writer.decimal(instruction.wait_exp);
  return writer;
}

Writer print_ds(Writer writer, const Instruction& instruction, const RowText&) {
  const Row& row = *instruction.row;
  for (unsigned i = 0; i < instruction.operand_count; ++i)
    put_register_operand(writer, instruction.operands[i].code, row.operands[i].words);
  if (instruction.operand_count) end_list(writer);
  if (row.flags & kTwoAddresses) {
    put_offset(writer, " offset0:", instruction.offset0);
    put_offset(writer, " offset1:", instruction.offset1);
  } else if (row.opcode == Opcode::ds_swizzle_b32) {
    put_swizzle(writer, static_cast<uint32_t>(instruction.offset));
  } else {
    put_offset(writer, " offset:", instruction.offset);
  }
  if (instruction.gds) writer.put(std::string_view(" gds"));
  return writer;
}

Writer print_flat(Writer writer, const Instruction& instruction, const RowText&) {
  const Row& row = *instruction.row;
  const Operand* operand = instruction.operands.data();
  const Operand* end = operand + instruction.operand_count;
  for (const OperandSpec& spec : row.operands) {
    if (operand != end && operand->role == spec.role) {
      put_register_operand(writer, operand->code, operand->words);
      ++operand;
    } else if (spec.role != Role::dst) {
      // LLVM does not know this way to say that there is no SADDR.
      if (spec.role == Role::saddr && row.encoding == Encoding::scratch &&
          instruction.saddr_field == code::kExecHi)
        writer.put(
            std::string_view("exec_hi/*Invalid register, operand has 'SReg_32_XEXEC_HI' register class*/, "));
      else
        writer.put(std::string_view("off, "));
    }
  }
  end_list(writer);
  put_offset(
      writer, " offset:",
      row.encoding == Encoding::flat ? int64_t{instruction.offset_field} : int64_t{instruction.offset});
  put_cache_bits(writer, instruction);
  return writer;
}

Writer print_mubuf(Writer writer, const Instruction& instruction, const RowText&) {
  return put_buffer(writer, instruction);
}
Writer print_mtbuf(Writer writer, const Instruction& instruction, const RowText&) {
  return put_buffer(writer, instruction);
}

Writer print_exp(Writer writer, const Instruction& instruction, const RowText&) {
  put_export_target(writer, instruction.export_target);
  writer.put(' ');
  const Operand* operand = instruction.operands.data();
  for (unsigned component = 0; component < 4; ++component) {
    if (bits(instruction.export_enable, component, 1)) {
      put_register_operand(writer, operand->code, 1);
      ++operand;
    } else {
      writer.put(std::string_view("off, "));
    }
  }
  end_list(writer);
  if (instruction.export_done) writer.put(std::string_view(" done"));
  if (instruction.export_row) writer.put(std::string_view(" row_en"));
  return writer;
}

}  // namespace lockstep::isa::detail

// SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.
#include <array>

#include "isa/detail.h"
#include "isa/hardware_registers.h"
#include "isa/operand_text.h"

namespace lockstep::isa::detail {
namespace {

// Hardware register ids (guide 3.4, table 5; names as LLVM spells them).
constexpr std::string_view kHardwareRegisters[64] = {{},
                                                     "HW_REG_MODE",
                                                     "HW_REG_STATUS",
                                                     "HW_REG_TRAPSTS",
                                                     {},
                                                     "HW_REG_GPR_ALLOC",
                                                     "HW_REG_LDS_ALLOC",
                                                     "HW_REG_IB_STS",
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     "HW_REG_SH_MEM_BASES",
                                                     {},
                                                     {},
                                                     "HW_REG_PERF_SNAPSHOT_PC_LO",
                                                     "HW_REG_PERF_SNAPSHOT_PC_HI",
                                                     "HW_REG_FLAT_SCR_LO",
                                                     "HW_REG_FLAT_SCR_HI",
                                                     {},
                                                     "HW_REG_HW_ID1",
                                                     "HW_REG_HW_ID2",
                                                     {},
                                                     {},
                                                     "HW_REG_PERF_SNAPSHOT_DATA",
                                                     {},
                                                     "HW_REG_SHADER_CYCLES"};

void put_hardware_register(Writer& writer, unsigned simm16) {
  const auto [id, offset, size] = hardware_field(simm16);
  writer.put("hwreg(");
  if (kHardwareRegisters[id].empty()) {
    writer.decimal(id);
  } else {
    writer.put(kHardwareRegisters[id]);
  }
  if (offset != 0 || size != 32) {
    writer.put(", ");
    writer.decimal(offset);
    writer.put(", ");
    writer.decimal(size);
  }
  writer.put(')');
}

std::string_view message_name(unsigned id) {
  switch (id) {
    case 1:
      return "MSG_INTERRUPT";
    case 2:
      return "MSG_HS_TESSFACTOR";
    case 3:
      return "MSG_DEALLOC_VGPRS";
    case 5:
      return "MSG_STALL_WAVE_GEN";
    case 6:
      return "MSG_HALT_WAVES";
    case 9:
      return "MSG_GS_ALLOC_REQ";
    case 128:
      return "MSG_RTN_GET_DOORBELL";
    case 129:
      return "MSG_RTN_GET_DDID";
    case 130:
      return "MSG_RTN_GET_TMA";
    case 131:
      return "MSG_RTN_GET_REALTIME";
    case 132:
      return "MSG_RTN_SAVE_WAVE";
    case 133:
      return "MSG_RTN_GET_TBA";
    case 134:
      return "MSG_RTN_GET_TBA_TO_PC";
    default:
      return {};
  }
}

void put_message(Writer& writer, unsigned simm16) {
  const unsigned id = simm16 & 0xff;
  const std::string_view name = message_name(id);
  if (name.empty() && simm16 != id) return writer.decimal(simm16);
  writer.put("sendmsg(");
  if (name.empty()) {
    writer.decimal(id);
    writer.put(", 0, 0");
  } else {
    writer.put(name);
  }
  writer.put(')');
}

struct PackedField {
  std::string_view name;
  uint8_t shift;
  uint8_t width;
};

// Fields that stand at their largest value say nothing and are left out, unless all do.
[[gnu::noinline]] Writer put_packed_fields(Writer writer, unsigned simm16,
                                           std::span<const PackedField> fields) {
  bool all_at_default = true;
  for (const PackedField& field : fields)
    all_at_default &= bits(simm16, field.shift, field.width) == (1u << field.width) - 1;
  bool first = true;
  for (const PackedField& field : fields) {
    const unsigned value = bits(simm16, field.shift, field.width);
    if (!all_at_default && value == (1u << field.width) - 1) continue;
    if (!first) writer.put(' ');
    first = false;
    writer.put(field.name);
    writer.put('(');
    writer.decimal(value);
    writer.put(')');
  }
  return writer;
}

constexpr PackedField kWaitFields[] = {{"vmcnt", 10, 6}, {"expcnt", 0, 3}, {"lgkmcnt", 4, 6}};

// The texts of one of them with a blank behind, by value; none at its largest value.
template <size_t kIndex>
constexpr auto kWaitTexts = [] {
  constexpr PackedField kField = kWaitFields[kIndex];
  std::array<ShortText, 1u << kField.width> texts{};
  for (unsigned value = 0; value + 1 < texts.size(); ++value) {
    texts[value].put(kField.name);
    texts[value].put('(');
    texts[value].put(value);
    texts[value].put(") ");
  }
  return texts;
}();

template <size_t kIndex>
void put_wait_field(Writer& writer, unsigned simm16) {
  const ShortText& text =
      kWaitTexts<kIndex>[bits(simm16, kWaitFields[kIndex].shift, kWaitFields[kIndex].width)];
  writer.put_from(text.text, text.size());
}

Writer put_wait(Writer writer, unsigned simm16) {
  constexpr unsigned kAllLargest = 0xfff7;
  if ((simm16 & kAllLargest) == kAllLargest) return put_packed_fields(writer, simm16, kWaitFields);
  put_wait_field<0>(writer, simm16);
  put_wait_field<1>(writer, simm16);
  put_wait_field<2>(writer, simm16);
  writer.drop(1);
  return writer;
}

constexpr PackedField kDependencyFields[] = {
    {"depctr_hold_cnt", 7, 1}, {"depctr_sa_sdst", 0, 1}, {"depctr_va_vdst", 12, 4}, {"depctr_va_sdst", 9, 3},
    {"depctr_va_ssrc", 8, 1},  {"depctr_va_vcc", 1, 1},  {"depctr_vm_vsrc", 2, 3}};
constexpr unsigned kDependencyUnused = 0x60;

constexpr std::string_view kDelayInstructions[] = {
    "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
    "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
constexpr std::string_view kDelaySkips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};

// One field's text with the separator behind it, by value; none for 0.
struct alignas(64) DelayText {
  char text[48] = {};
  uint8_t size = 0;
};
template <size_t kCount>
constexpr std::array<DelayText, kCount> delay_texts(std::string_view field,
                                                    std::span<const std::string_view> values,
                                                    std::string_view invalid) {
  std::array<DelayText, kCount> texts{};
  for (size_t value = 1; value < kCount; ++value) {
    DelayText& text = texts[value];
    for (const std::string_view part :
         {field, std::string_view("("), value < values.size() ? values[value] : invalid,
          std::string_view(") | ")})
      for (char character : part) text.text[text.size++] = character;
  }
  return texts;
}
constexpr auto kDelayId0 = delay_texts<16>("instid0", kDelayInstructions, "/* invalid instid value */");
constexpr auto kDelaySkip = delay_texts<8>("instskip", kDelaySkips, "/* invalid instskip value */");
constexpr auto kDelayId1 = delay_texts<16>("instid1", kDelayInstructions, "/* invalid instid value */");

void put_delay_field(Writer& writer, const DelayText& text) {
  writer.put_from(text.text, text.size);
}

Writer put_delay(Writer writer, unsigned simm16) {
  if (!bits(simm16, 0, 11)) {
    writer.put('0');
    return writer;
  }
  put_delay_field(writer, kDelayId0[bits(simm16, 0, 4)]);
  put_delay_field(writer, kDelaySkip[bits(simm16, 4, 3)]);
  put_delay_field(writer, kDelayId1[bits(simm16, 7, 4)]);
  writer.drop(3);
  return writer;
}

struct VersionFlag {
  unsigned bit;
  std::string_view name;
};
constexpr VersionFlag kVersionFlags[] = {
    {0x2000, "UC_VERSION_W64_BIT"}, {0x4000, "UC_VERSION_W32_BIT"}, {0x8000, "UC_VERSION_MDP_BIT"}};

std::string_view version_name(unsigned number) {
  switch (number) {
    case 0:
      return "UC_VERSION_GFX7";
    case 4:
      return "UC_VERSION_GFX10";
    case 6:
      return "UC_VERSION_GFX11";
    case 9:
      return "UC_VERSION_GFX12";
    default:
      return {};
  }
}

void put_version(Writer& writer, unsigned simm16) {
  const std::string_view version = version_name(simm16 & 0xff);
  if (simm16 & 0x1f00) return put_immediate32(writer, simm16);
  unsigned flags = 0;
  for (const VersionFlag& flag : kVersionFlags) flags += (simm16 & flag.bit) != 0;
  for (unsigned i = 1; i < flags; ++i) writer.put('(');
  if (version.empty()) {
    writer.decimal(simm16 & 0xff);
  } else {
    writer.put(version);
  }
  bool first = true;
  for (const VersionFlag& flag : kVersionFlags) {
    if (!(simm16 & flag.bit)) continue;
    if (!first) writer.put(')');
    first = false;
    writer.put('|');
    writer.put(flag.name);
  }
}

[[gnu::noinline]] Writer put_other_simm(Writer writer, const Instruction& instruction, unsigned simm16) {
  switch (instruction.row->opcode) {
    case Opcode::s_getreg_b32:
    case Opcode::s_setreg_b32:
    case Opcode::s_setreg_imm32_b32:
      put_hardware_register(writer, simm16);
      break;
    case Opcode::s_sendmsg:
    case Opcode::s_sendmsghalt:
    case Opcode::s_sendmsg_rtn_b32:
    case Opcode::s_sendmsg_rtn_b64:
      put_message(writer, simm16);
      break;
    case Opcode::s_waitcnt_depctr:
      if (simm16 & kDependencyUnused) {
        writer.hex(simm16);
      } else {
        writer = put_packed_fields(writer, simm16, kDependencyFields);
      }
      break;
    case Opcode::s_version:
      put_version(writer, simm16);
      break;
    case Opcode::s_endpgm:
      writer.decimal(simm16);
      break;
    case Opcode::s_nop:
    case Opcode::s_setkill:
    case Opcode::s_sethalt:
    case Opcode::s_sleep:
    case Opcode::s_trap:
    case Opcode::s_denorm_mode:
    case Opcode::s_setprio:
    case Opcode::s_incperflevel:
    case Opcode::s_decperflevel:
    case Opcode::s_atc_probe:
    case Opcode::s_atc_probe_buffer:
      put_immediate32(writer, simm16);
      break;
    default:
      writer.hex(simm16);
      break;
  }
  return writer;
}

Writer put_simm(Writer writer, const Instruction& instruction, const Operand& operand) {
  const uint32_t simm16 = static_cast<uint16_t>(operand.value);
  if (operand.type == Type::label) {
    writer.decimal(simm16);
    return writer;
  }
  switch (instruction.row->opcode) {
    case Opcode::s_waitcnt:
      return put_wait(writer, simm16);
    case Opcode::s_delay_alu:
      return put_delay(writer, simm16);
    default:
      return put_other_simm(writer, instruction, simm16);
  }
}

}  // namespace

Writer print_scalar(Writer writer, const Instruction& instruction, const RowText&) {
  if (!instruction.operand_count) return writer;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    if (operand.role == Role::simm) {
      writer = put_simm(writer, instruction, operand);
      put_separator(writer);
    } else {
      put_operand(writer, instruction, operand);
    }
  }
  end_list(writer);
  return writer;
}

Writer print_sopp(Writer writer, const Instruction& instruction, const RowText&) {
  if (!instruction.operand_count) return writer;
  const Operand& simm = instruction.operands[0];
  // LLVM leaves a zero of s_endpgm out.
  if (instruction.row->opcode == Opcode::s_endpgm && simm.value == 0) {
    writer.drop(1);
    return writer;
  }
  return put_simm(writer, instruction, simm);
}

Writer print_smem(Writer writer, const Instruction& instruction, const RowText&) {
  if (!instruction.operand_count) return writer;
  for (unsigned i = 0; i + 1 < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    if (operand.role == Role::simm) {
      writer = put_simm(writer, instruction, operand);
      put_separator(writer);
    } else {
      put_register_operand(writer, operand.code, operand.words);
    }
  }
  const auto put_offset = [&] {
    if (instruction.offset < 0) writer.put('-');
    writer.hex(static_cast<uint32_t>(instruction.offset < 0 ? -instruction.offset : instruction.offset));
  };
  const Operand& soffset = instruction.operands[instruction.operand_count - 1];
  if (soffset.code == code::kNull && instruction.offset) {
    put_offset();
  } else {
    put_register(writer, soffset.code, 1);
    if (instruction.offset) {
      writer.put(" offset:");
      put_offset();
    }
  }
  if (instruction.glc) writer.put(" glc");
  if (instruction.dlc) writer.put(" dlc");
  return writer;
}

}  // namespace lockstep::isa::detail

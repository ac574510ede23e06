// SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.
#include "isa/detail.h"

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
  const unsigned id = bits(simm16, 0, 6), offset = bits(simm16, 6, 5), size = bits(simm16, 11, 5) + 1;
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
void put_packed_fields(Writer& writer, unsigned simm16, std::span<const PackedField> fields) {
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
}

constexpr PackedField kWaitFields[] = {{"vmcnt", 10, 6}, {"expcnt", 0, 3}, {"lgkmcnt", 4, 6}};

constexpr PackedField kDependencyFields[] = {
    {"depctr_hold_cnt", 7, 1}, {"depctr_sa_sdst", 0, 1}, {"depctr_va_vdst", 12, 4}, {"depctr_va_sdst", 9, 3},
    {"depctr_va_ssrc", 8, 1},  {"depctr_va_vcc", 1, 1},  {"depctr_vm_vsrc", 2, 3}};
constexpr unsigned kDependencyUnused = 0x60;

constexpr std::string_view kDelayInstructions[] = {
    "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
    "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
constexpr std::string_view kDelaySkips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};

void put_delay(Writer& writer, unsigned simm16) {
  const unsigned id0 = bits(simm16, 0, 4), skip = bits(simm16, 4, 3), id1 = bits(simm16, 7, 4);
  if (!id0 && !skip && !id1) return writer.put('0');
  bool first = true;
  const auto put_field = [&](std::string_view name, unsigned value, std::span<const std::string_view> values,
                             std::string_view invalid) {
    if (!value) return;
    if (!first) writer.put(" | ");
    first = false;
    writer.put(name);
    writer.put('(');
    writer.put(value < values.size() ? values[value] : invalid);
    writer.put(')');
  };
  put_field("instid0", id0, kDelayInstructions, "/* invalid instid value */");
  put_field("instskip", skip, kDelaySkips, "/* invalid instskip value */");
  put_field("instid1", id1, kDelayInstructions, "/* invalid instid value */");
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

void put_simm(Writer& writer, const Instruction& instruction, const Operand& operand) {
  const uint32_t simm16 = static_cast<uint16_t>(operand.value);
  switch (operand.type) {
    case Type::label:
      return writer.decimal(simm16);
    case Type::hwreg:
      return put_hardware_register(writer, simm16);
    default:
      break;
  }
  switch (instruction.row->opcode) {
    case Opcode::s_sendmsg:
    case Opcode::s_sendmsghalt:
    case Opcode::s_sendmsg_rtn_b32:
    case Opcode::s_sendmsg_rtn_b64:
      return put_message(writer, simm16);
    case Opcode::s_waitcnt:
      return put_packed_fields(writer, simm16, kWaitFields);
    case Opcode::s_waitcnt_depctr:
      if (simm16 & kDependencyUnused) return writer.hex(simm16);
      return put_packed_fields(writer, simm16, kDependencyFields);
    case Opcode::s_delay_alu:
      return put_delay(writer, simm16);
    case Opcode::s_version:
      return put_version(writer, simm16);
    case Opcode::s_endpgm:
      return writer.decimal(simm16);
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
      return put_immediate32(writer, simm16);
    default:
      return writer.hex(simm16);
  }
}

}  // namespace

void print_scalar(Writer& writer, const Instruction& instruction, unsigned) {
  put_mnemonic(writer, *instruction.row);
  if (instruction.row->opcode == Opcode::s_endpgm && instruction.operands[0].value == 0) return;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    if (operand.role != Role::simm && operand.code < code::kInt0) {
      put_register_operand(writer, i == 0, operand.code, operand.words);
      continue;
    }
    if (i) {
      writer.put(", ");
    } else {
      writer.put(' ');
    }
    if (operand.role == Role::simm) {
      put_simm(writer, instruction, operand);
    } else {
      put_source(writer, instruction, operand);
    }
  }
}

void print_smem(Writer& writer, const Instruction& instruction, unsigned) {
  put_mnemonic(writer, *instruction.row);
  if (!instruction.operand_count) return;
  writer.put(' ');
  for (unsigned i = 0; i + 1 < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    if (operand.role == Role::simm) {
      put_simm(writer, instruction, operand);
    } else {
      put_register(writer, operand.code, operand.words);
    }
    writer.put(", ");
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
}

}  // namespace lockstep::isa::detail

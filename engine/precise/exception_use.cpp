#include "engine/precise/exception_use.h"

#include <algorithm>
#include <cstring>

#include "isa/hardware_registers.h"
#include "isa/instruction.h"
#include "state/trap_status.h"

namespace lockstep::precise {

namespace {

using isa::Opcode;

// Opcodes 17 to 19 of SOPK: s_getreg, s_setreg, s_setreg_imm32 (guide 15.3.2).
bool may_access_register(uint32_t word) {
  const uint32_t operation = word >> 23;
  return operation >= 0x171 && operation <= 0x173;
}

bool uses_exceptions(const isa::Instruction& instruction) {
  const Opcode opcode = instruction.row->opcode;
  const bool reads = opcode == Opcode::s_getreg_b32, sets_constant = opcode == Opcode::s_setreg_imm32_b32;
  if (!reads && !sets_constant && opcode != Opcode::s_setreg_b32) return false;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.type != isa::Type::hwreg) continue;
    const isa::HardwareField field = isa::hardware_field(static_cast<uint32_t>(operand.value));
    const uint32_t bits = field.mask() << field.offset;
    if (field.number == isa::hardware_register::kTrapsts) return reads && bits & trapsts_bit::kArithmetic;
    const uint32_t value = sets_constant ? instruction.literal << field.offset : ~0u;
    return field.number == isa::hardware_register::kMode && !reads &&
           bits & value & trapsts_bit::kArithmetic << mode_bit::kExceptionEnableShift;
  }
  return false;
}

// Goes from instruction to instruction; `stop_at_end`: up to the first thing that is none.
bool walk(CodeRange code, unsigned wave_size, bool stop_at_end) {
  isa::Instruction instruction;
  for (uint64_t pc = code.begin; pc + 4 <= code.end;) {
    const size_t available = std::min<uint64_t>(code.end - pc, isa::kMaxInstructionBytes);
    const bool good = isa::decode({reinterpret_cast<const std::byte*>(pc), available}, wave_size,
                                  instruction) == isa::DecodeError::none;
    if (stop_at_end && (!good || instruction.row->opcode == Opcode::s_code_end)) return false;
    if (good && uses_exceptions(instruction)) return true;
    pc += good ? instruction.size : 4;
  }
  return false;
}

}  // namespace

bool uses_exceptions(std::span<const CodeRange> code, unsigned wave_size) {
  // Most code has no word that could be such an instruction, which is quickly seen.
  return std::any_of(code.begin(), code.end(), [&](const CodeRange& range) {
    for (uint64_t pc = range.begin; pc + 4 <= range.end; pc += 4) {
      uint32_t word;
      std::memcpy(&word, reinterpret_cast<const void*>(pc), sizeof word);
      if (may_access_register(word)) return walk(range, wave_size, false);
    }
    return false;
  });
}

bool uses_exceptions_until_end(CodeRange code, unsigned wave_size) {
  constexpr uint32_t kCodeEnd = 0xbf9f0000;  // s_code_end
  for (uint64_t pc = code.begin; pc + 4 <= code.end; pc += 4) {
    uint32_t word;
    std::memcpy(&word, reinterpret_cast<const void*>(pc), sizeof word);
    if (word == kCodeEnd) return false;
    if (may_access_register(word)) return walk(code, wave_size, true);
  }
  return false;
}

}  // namespace lockstep::precise

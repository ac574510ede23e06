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

constexpr uint32_t kCodeEnd = 0xbf9f0000;  // s_code_end

// Goes from word to word, and from instruction to instruction only behind a word that would be one of those
// in question: libraries have hundreds of megabytes of kernels in one piece, and ask about each of them.
bool scan(CodeRange code, unsigned wave_size, bool stop_at_end) {
  constexpr uint64_t kBlock = 16;  // words, looked at together
  isa::Instruction instruction;
  uint32_t last = 0;
  for (uint64_t pc = code.begin; pc + 4 <= code.end;) {
    uint32_t words[kBlock] = {};
    const uint64_t count = std::min<uint64_t>(kBlock, (code.end - pc) / 4);
    std::memcpy(words, reinterpret_cast<const void*>(pc), 4 * count);
    bool interesting = false;
    for (const uint32_t word : words) interesting |= may_access_register(word) | (word == kCodeEnd);
    for (uint64_t i = 0; interesting && i < count; ++i) {
      // One alone may be a constant, and what is behind it still code.
      if (stop_at_end && words[i] == kCodeEnd && last == kCodeEnd) return false;
      last = words[i];
      if (!may_access_register(words[i])) continue;
      const uint64_t at = pc + 4 * i;
      const size_t available = std::min<uint64_t>(code.end - at, isa::kMaxInstructionBytes);
      if (isa::decode({reinterpret_cast<const std::byte*>(at), available}, wave_size, instruction) ==
              isa::DecodeError::none &&
          uses_exceptions(instruction))
        return walk(code, wave_size, stop_at_end);
    }
    if (!interesting) last = 0;
    pc += 4 * count;
  }
  return false;
}

}  // namespace

bool uses_exceptions(std::span<const CodeRange> code, unsigned wave_size) {
  return std::any_of(code.begin(), code.end(),
                     [&](const CodeRange& range) { return scan(range, wave_size, false); });
}

bool uses_exceptions_until_end(CodeRange code, unsigned wave_size) {
  return scan(code, wave_size, true);
}

}  // namespace lockstep::precise

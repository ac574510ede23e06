#include "observe/races/spin_loop.h"

#include <algorithm>
#include <optional>

#include "isa/branch.h"
#include "isa/effects.h"

namespace lockstep::observe {

namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr unsigned kMostInstructions = 24;  // of such a loop

// What stands there, of its page: more may not be mapped.
std::optional<isa::Instruction> decode_at(uint64_t pc, unsigned wave_size) {
  const size_t bytes = std::min<uint64_t>(kPageBytes - pc % kPageBytes, isa::kMaxInstructionBytes);
  isa::Instruction instruction;
  if (isa::decode({reinterpret_cast<const std::byte*>(pc), bytes}, wave_size, instruction) !=
      isa::DecodeError::none)
    return std::nullopt;
  return instruction;
}

bool writes_address_of(const isa::Instruction& load, const isa::Instruction& other, unsigned wave_size) {
  const isa::RegisterEffects effects = isa::register_effects(other, {.wave_size = wave_size, .m0 = {}});
  return std::any_of(effects.writes.begin(), effects.writes.end(), [&](const isa::RegisterUse& written) {
    return std::any_of(
        load.operands.begin(), load.operands.begin() + load.operand_count,
        [&](const isa::Operand& operand) { return operand.read && range_of(operand).overlaps(written); });
  });
}

}  // namespace

bool is_in_spin_loop(const isa::Instruction& load, uint64_t pc, unsigned wave_size) {
  uint64_t at = pc + load.size;
  uint64_t begin = 0;
  for (unsigned i = 0; begin == 0; ++i) {
    const auto instruction = i < kMostInstructions ? decode_at(at, wave_size) : std::nullopt;
    if (!instruction || isa::is_memory(instruction->row->encoding) ||
        instruction->row->flags & isa::kEndsWave || instruction->row->opcode == isa::Opcode::s_barrier)
      return false;
    at += instruction->size;
    if (!(instruction->row->flags & isa::kBranch)) {
      if (writes_address_of(load, *instruction, wave_size)) return false;
      continue;
    }
    const auto target = isa::label_target(*instruction, at);
    if (!target || instruction->row->opcode == isa::Opcode::s_branch) return false;
    // Out of a loop with several ends.
    if (*target > pc) continue;
    begin = *target;
  }
  for (unsigned i = 0; begin < pc; ++i) {
    const auto instruction = i < kMostInstructions ? decode_at(begin, wave_size) : std::nullopt;
    if (!instruction || isa::is_memory(instruction->row->encoding) ||
        instruction->row->flags & (isa::kBranch | isa::kEndsWave) ||
        instruction->row->opcode == isa::Opcode::s_barrier ||
        writes_address_of(load, *instruction, wave_size))
      return false;
    begin += instruction->size;
  }
  return begin == pc;
}

}  // namespace lockstep::observe

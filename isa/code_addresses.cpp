#include "isa/code_addresses.h"

#include <algorithm>

#include "isa/effects.h"

namespace lockstep::isa {
namespace {

std::optional<uint32_t> constant_of(const Instruction& instruction, Role role) {
  const Operand* const operand = instruction.find(role);
  if (!operand) return std::nullopt;
  if (operand->is_literal()) return instruction.literal;
  if (operand->code >= code::kInt0 && operand->code <= code::kIntPositiveLast)
    return operand->code - code::kInt0;
  if (operand->code > code::kIntPositiveLast && operand->code <= code::kIntNegativeLast)
    return static_cast<uint32_t>(code::kIntPositiveLast - operand->code);
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> CodeAddresses::find(uint16_t pair) const {
  for (const Known& known : list_)
    if (known.pair == pair && !known.low) return known.address;
  return std::nullopt;
}

std::optional<uint64_t> CodeAddresses::note(const Instruction& instruction, uint64_t next,
                                            unsigned wave_size) {
  const Opcode opcode = instruction.row->opcode;
  // Others make addresses of known ones.
  if (list_.empty() && opcode != Opcode::s_getpc_b64) return std::nullopt;
  const Operand* const destination = instruction.find(Role::dst);
  const Operand* const source = instruction.find(Role::src0);
  std::optional<Known> made;
  std::optional<uint64_t> completed;
  if (opcode == Opcode::s_getpc_b64) {
    made = Known{destination->code, next, {}, {}};
  } else if (opcode == Opcode::s_mov_b64) {
    if (const auto address = find(source->code)) made = Known{destination->code, *address, {}, {}};
  } else if (opcode == Opcode::s_add_u32) {
    const auto address = find(source->code);
    const auto low = constant_of(instruction, Role::src1);
    const auto high = static_cast<uint16_t>(source->code + 1);
    if (address && low) made = Known{destination->code, *address, low, high};
  } else if (opcode == Opcode::s_addc_u32) {
    const auto high = constant_of(instruction, Role::src1);
    for (const Known& known : list_)
      if (high && known.low && known.pair + 1 == destination->code && known.high == source->code)
        made = Known{known.pair, known.address + (uint64_t{*high} << 32 | *known.low), {}, {}};
    if (made) completed = made->address;
  }
  const RegisterEffects effects = register_effects(instruction, {.wave_size = wave_size, .m0 = std::nullopt});
  std::erase_if(list_, [&](const Known& known) {
    return std::any_of(effects.writes.begin(), effects.writes.end(), [&](const RegisterUse& use) {
      return use.is_indexed || use.overlaps({known.pair, 2}) ||
             // What is needed between the two sums, the carry, too.
             (known.low && (use.overlaps({known.high, 1}) || use.first == code::kScc));
    });
  });
  if (made) list_.push_back(*made);
  return completed;
}

}  // namespace lockstep::isa

#include "observe/fidelity/taint.h"

#include <algorithm>

#include "engine/register_effects.h"
#include "isa/memory_shape.h"

namespace lockstep::observe {

namespace {

namespace code = isa::code;
using isa::Instruction;
using isa::RegisterUse;

constexpr uint64_t kLine = 64;

bool is_partly_on(const Wave& wave) {
  return wave.exec() != wave.lane_mask;
}

}  // namespace

Sources Taint::Lines::read(uint64_t address, uint64_t bytes) const {
  if (all == 0) return 0;
  Sources sources = 0;
  for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line)
    if (const auto found = lines.find(line); found != lines.end()) sources |= found->second;
  return sources;
}

void Taint::Lines::write(uint64_t address, uint64_t bytes, Sources sources) {
  if (sources == 0) return;
  for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line) lines[line] |= sources;
  all |= sources;
}

Sources* Taint::Registers::at(unsigned number) {
  if (number >= code::kVgpr0) return &vgpr[number - code::kVgpr0];
  if (number == code::kScc) return &scc;
  return number < kScalars ? &scalar[number] : nullptr;
}

Sources Taint::Registers::read(const RegisterUse& use) {
  Sources sources = 0;
  for (unsigned number = use.first; number < use.end(); ++number)
    if (const Sources* held = at(number)) sources |= *held;
  return sources;
}

void Taint::Registers::write(const RegisterUse& use, bool partly, Sources sources) {
  for (unsigned number = use.first; number < use.end(); ++number)
    if (Sources* held = at(number))
      *held = (use.is_vgpr() && (partly || use.is_partial) ? *held : 0) | sources;
}

Taint::Use Taint::follow(const Event& event, Sources own, Sources own_y) {
  Registers& registers = registers_[&event.wave];
  if (isa::is_memory(event.instruction.row->encoding)) return follow_memory(event, registers, own);
  return follow_computation(event, registers, own, own_y);
}

Taint::Use Taint::follow_computation(const Event& event, Registers& registers, Sources own, Sources own_y) {
  const Instruction& instruction = event.instruction;
  const isa::RegisterEffects effects = register_effects(event.wave, instruction);
  // What is implied belongs to both halves of VOPD.
  const auto is_of_half = [&](const RegisterUse& use, unsigned half) {
    if (!instruction.row_y) return half == 0;
    return use.operand == RegisterUse::kImplied ||
           (use.operand >= instruction.first_y_operand) == (half == 1);
  };
  // EXEC is data for the scalar unit; for the vector unit it is control.
  const bool exec_is_data = isa::is_scalar_alu(instruction.row->encoding);
  Sources results[2] = {own, own_y};
  // Both halves of VOPD read before either writes.
  for (const RegisterUse& use : effects.reads) {
    if (use.operand == RegisterUse::kImplied && use.has_exec() && !exec_is_data) continue;
    const Sources read = registers.read(use);
    for (const unsigned half : {0u, 1u})
      if (is_of_half(use, half)) results[half] |= read;
  }
  Use taken;
  const bool partly = is_partly_on(event.wave);
  for (const RegisterUse& use : effects.writes)
    for (const unsigned half : {0u, 1u}) {
      if (!is_of_half(use, half)) continue;
      registers.write(use, partly, results[half]);
      if (use.has_exec()) taken.branch |= results[half];
    }
  if (instruction.row->flags & isa::kBranch) taken.branch |= results[0];
  return taken;
}

Sources Taint::read(const Event& event, Registers& registers, const MemoryAccess& access) {
  if (!access.reads || access.reach == Reach::dropped) return 0;
  switch (access.space) {
    case MemorySpace::global:
    case MemorySpace::scalar:
      return memory_.read(access.address, access.bytes);
    case MemorySpace::scratch:
      return registers.scratch;
    case MemorySpace::lds:
      return lds_[event.wave.group].read(access.address, access.bytes);
    case MemorySpace::gds:
      return gds_.read(access.address, access.bytes);
  }
  return 0;
}

void Taint::write(const Event& event, Registers& registers, const MemoryAccess& access, Sources sources) {
  if (!access.writes || access.reach == Reach::dropped) return;
  switch (access.space) {
    case MemorySpace::global:
    case MemorySpace::scalar:
      return memory_.write(access.address, access.bytes, sources);
    case MemorySpace::scratch:
      registers.scratch |= sources;
      return;
    case MemorySpace::lds:
      return lds_[event.wave.group].write(access.address, access.bytes, sources);
    case MemorySpace::gds:
      return gds_.write(access.address, access.bytes, sources);
  }
}

Taint::Use Taint::follow_memory(const Event& event, Registers& registers, Sources own) {
  const Instruction& instruction = event.instruction;
  const isa::Row& row = *instruction.row;
  const isa::RegisterEffects effects = register_effects(event.wave, instruction);
  // Lane exchanges through the LDS hardware touch no LDS.
  const bool is_exchange =
      row.encoding == isa::Encoding::ds && row.flags & isa::kCrossLane && !(row.flags & isa::kAtomic);
  Use taken;
  Sources data = 0;
  for (const RegisterUse& use : effects.reads) {
    const bool is_implied = use.operand == RegisterUse::kImplied;
    if (is_implied && use.has_exec()) continue;
    (is_implied || is_address(instruction.operands[use.operand].role) ? taken.address : data) |=
        registers.read(use);
  }
  // A permutation's lane selection is data as much as an address.
  Sources result = own | data | taken.address;
  if (is_exchange) taken.address = 0;
  for (const MemoryAccess& access : event.accesses) result |= read(event, registers, access);
  for (const MemoryAccess& access : event.accesses) {
    if (!access.writes) continue;
    // What an atomic leaves in memory depends on what was there; loads to LDS leave what they loaded.
    const bool moves = access.reads || row.flags & isa::kToLds;
    const Sources stored = own | data | (moves ? result : 0);
    write(event, registers, access, stored);
    if (access.space == MemorySpace::global && access.reach != Reach::dropped) taken.memory |= stored;
  }
  const bool partly = is_partly_on(event.wave) || row.encoding == isa::Encoding::ldsdir;
  for (const RegisterUse& use : effects.writes) registers.write(use, partly, result);
  return taken;
}

}  // namespace lockstep::observe

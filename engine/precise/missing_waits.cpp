#include "engine/precise/missing_waits.h"

#include <algorithm>

#include "text/hex.h"

namespace lockstep::precise {

using isa::RegisterRange;

std::string explain_missing_wait(const Step& step, const EarlyUse& use, const isa::Instruction& issued,
                                 uint64_t issued_pc, CounterName counter, unsigned limit) {
  const bool earlier = issued_pc <= step.pc;
  const std::string distance = hex(earlier ? step.pc - issued_pc : issued_pc - step.pc);
  return std::string(step.instruction.row->name) + (use.reads ? " reads " : " overwrites ") +
         name(RegisterRange{use.code, 1}) + " before " + std::string(issued.row->name) + " (" + distance +
         " bytes " + (earlier ? "before" : "behind") +
         " it in the code) is known to have written it (guide 5.6): put s_waitcnt " + name(counter) + "(" +
         std::to_string(limit) + ") between them";
}

std::optional<EarlyUse> find_early_use(const isa::RegisterEffects& effects, const Shares& shares, Kind kind,
                                       std::span<const RegisterRange> destinations) {
  // Two of one kind write a register in the order of their issue, even if each writes a half of it.
  const bool ordered =
      completes_in_order(kind) &&
      std::any_of(shares.begin(), shares.end(), [&](const Share& share) { return share.kind == kind; });
  for (const RegisterRange& pending : destinations) {
    for (const isa::RegisterUse& range : effects.reads) {
      const bool merges = ordered && std::any_of(effects.writes.begin(), effects.writes.end(),
                                                 [&](const isa::RegisterUse& written) {
                                                   return written.first == range.first;
                                                 });
      if (range.overlaps(pending) && !merges) return EarlyUse{std::max(range.first, pending.first), true};
    }
    for (const isa::RegisterUse& range : effects.writes)
      if (range.overlaps(pending) && !ordered) return EarlyUse{std::max(range.first, pending.first), false};
  }
  return {};
}

bool BusyRegisters::may_be_used_by(const Step& step) const {
  const isa::Instruction& instruction = step.instruction;
  if (isa::has_index(instruction.row->opcode)) return true;
  // VCC, M0, EXEC and SCC may be used without being named.
  for (const unsigned code : {isa::code::kVccLo, isa::code::kVccHi, isa::code::kM0, isa::code::kExecLo,
                              isa::code::kExecHi, isa::code::kScc})
    if (contains(code)) return true;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    // Others are used in the place of registers that the wave does not have.
    if (operand.is_vgpr() && operand.vgpr() + operand.words > step.wave.vgpr_count) return true;
    const unsigned first =
        operand.is_vgpr() ? operand.code : isa::scalar_source_code(operand, step.wave.wave_size);
    for (unsigned code = first; code < operand.code + operand.words && code < kCodes; ++code)
      if (contains(code)) return true;
  }
  return false;
}

bool is_certain(const Share& share, unsigned newer, const Counts& limits) {
  // If it were not: at least one, since what counts twice may have lowered its counter once; and while one of
  // a kind that completes in order is under way, so are those of the kind behind it.
  const unsigned under_way = 1 + (completes_in_order(share.kind) ? newer : 0);
  return under_way > limits[share.counter];
}

}  // namespace lockstep::precise

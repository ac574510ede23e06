#include "engine/precise/missing_waits.h"

#include <algorithm>

#include "engine/register_effects.h"
#include "text/hex.h"

namespace lockstep::precise {

namespace {

using Issued = std::vector<std::unique_ptr<Deferred>>;

// The limit that makes sure of `deferred`, now.
unsigned sufficient_limit(const Deferred& deferred, const Issued& issued) {
  if (!completes_in_order(deferred.share().kind)) return 0;
  unsigned newer = 0;
  bool behind = false;
  for (const auto& other : issued) {
    if (other.get() == &deferred) {
      behind = true;
    } else if (!other->certain && other->share().counter == deferred.share().counter) {
      if (other->share().kind != deferred.share().kind) return 0;
      if (behind) ++newer;
    }
  }
  return newer;
}

}  // namespace

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

void BusyRegisters::add(const isa::RegisterRange& range) {
  for (unsigned code = range.first; code < range.end() && code < bits_.size(); ++code) bits_.set(code);
}

bool BusyRegisters::may_be_used_by(const Step& step) const {
  if (bits_.none()) return false;
  const isa::Instruction& instruction = step.instruction;
  if (isa::has_index(instruction.row->opcode)) return true;
  // VCC, M0, EXEC and SCC may be used without being named.
  for (const unsigned code : {isa::code::kVccLo, isa::code::kVccHi, isa::code::kM0, isa::code::kExecLo,
                              isa::code::kExecHi, isa::code::kScc})
    if (bits_[code]) return true;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    // Others are used in the place of registers that the wave does not have.
    if (operand.is_vgpr() && operand.vgpr() + operand.words > step.wave.vgpr_count) return true;
    // Pairs of scalars begin at even registers whatever is named.
    const unsigned first = operand.is_vgpr() ? operand.code : operand.code & ~1u;
    for (unsigned code = first; code < operand.code + operand.words && code < bits_.size(); ++code)
      if (bits_[code]) return true;
  }
  return false;
}

BusyRegisters busy_registers(const Issued& issued) {
  BusyRegisters busy;
  for (const auto& deferred : issued)
    if (!deferred->certain)
      for (const RegisterRange& range : deferred->destinations()) busy.add(range);
  return busy;
}

std::optional<std::string> find_missing_wait(const Step& step, const Shares& shares, const Issued& issued) {
  const isa::RegisterEffects effects = register_effects(step.wave, step.instruction);
  for (const auto& deferred : issued) {
    if (deferred->certain) continue;
    if (const auto use = find_early_use(effects, shares, deferred->share().kind, deferred->destinations()))
      return explain_missing_wait(step, *use, deferred->instruction(), deferred->pc(),
                                  deferred->share().counter, sufficient_limit(*deferred, issued));
  }
  return {};
}

bool is_certain(const Share& share, unsigned newer, const Counts& limits) {
  // If it were not: at least one, since what counts twice may have lowered its counter once; and while one of
  // a kind that completes in order is under way, so are those of the kind behind it.
  const unsigned under_way = 1 + (completes_in_order(share.kind) ? newer : 0);
  return under_way > limits[share.counter];
}

void mark_certain(const Issued& issued, const Counts& limits) {
  for (auto at = issued.rbegin(); at != issued.rend(); ++at) {
    Deferred& deferred = **at;
    if (deferred.certain) continue;
    unsigned newer = 0;
    for (auto behind = issued.rbegin(); behind != at; ++behind)
      if ((*behind)->share().kind == deferred.share().kind &&
          (*behind)->share().counter == deferred.share().counter)
        ++newer;
    if (is_certain(deferred.share(), newer, limits)) deferred.certain = true;
  }
}

std::optional<std::string> find_depctr_mistake(const isa::Instruction& instruction) {
  if (instruction.row->opcode != isa::Opcode::s_waitcnt_depctr) return {};
  // The fields are LLVM's: SA_SDST, VA_VCC, VM_VSRC, HOLD_CNT, VA_SSRC, VA_SDST, VA_VDST; bits 5 and 6 are
  // none's.
  constexpr uint32_t kFields = 0xff9f;
  if ((static_cast<uint32_t>(instruction.operands[0].value) & kFields) == kFields)
    return "s_waitcnt_depctr that waits for nothing: every field has its greatest value (LLVM AMDGPU, "
           "depctr fields); name the hazard, such as depctr_va_vdst(0)";
  return {};
}

}  // namespace lockstep::precise

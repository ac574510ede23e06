#include "engine/precise/wave64_hazards.h"

#include <algorithm>
#include <bit>

#include "engine/precise/counters.h"
#include "engine/precise/scalar_values.h"
#include "engine/register_effects.h"

namespace lockstep::precise {

namespace {

using isa::Opcode;
using isa::RegisterRange;

// Those that LLVM names.
bool reads_lane_mask(const isa::Instruction& instruction) {
  switch (instruction.row->base) {
    case Opcode::v_add_co_ci_u32:
    case Opcode::v_sub_co_ci_u32:
    case Opcode::v_subrev_co_ci_u32:
    case Opcode::v_cndmask_b32:
    case Opcode::v_cndmask_b16:
    case Opcode::v_div_fmas_f32:
    case Opcode::v_div_fmas_f64:
      return true;
    default:
      return false;
  }
}

// The compiler does not look past them.
bool is_call(const isa::Instruction& instruction) {
  switch (instruction.row->opcode) {
    case Opcode::s_setpc_b64:
    case Opcode::s_swappc_b64:
    case Opcode::s_call_b64:
    case Opcode::s_rfe_b64:
      return true;
    default:
      return false;
  }
}

bool waits_for_vector_alu(const isa::Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  return isa::is_vector_memory(row.encoding) || row.encoding == isa::Encoding::exp ||
         row.opcode == Opcode::s_wait_idle ||
         (row.opcode == Opcode::s_waitcnt_depctr && depctr_va_vdst(instruction) == 0);
}

bool waits_for_scalar_alu(const isa::Instruction& instruction) {
  return instruction.row->opcode == Opcode::s_waitcnt_depctr && depctr_sa_sdst(instruction) == 0;
}

bool writes_exec(const isa::Instruction& instruction) {
  if (instruction.row->implicit_writes & isa::kExec) return true;
  return std::any_of(instruction.operands.begin(), instruction.operands.begin() + instruction.operand_count,
                     [](const isa::Operand& operand) {
                       return operand.written && range_of(operand).overlaps({isa::code::kExecLo, 2});
                     });
}

}  // namespace

size_t Wave64Hazards::made_before(const isa::Operand& operand) const {
  for (size_t ago = 0; ago < kMostMade && made_[ago]; ++ago) {
    const isa::Instruction& made = *made_[ago];
    for (unsigned i = 0; i < made.operand_count; ++i)
      if (made.operands[i].written && made.operands[i].is_vgpr() &&
          range_of(made.operands[i]).overlaps(range_of(operand)))
        return ago;
  }
  return kMostMade;
}

// Of the results that the instruction reads the newest must have been made behind a change of EXEC, and
// another one before it.
std::string Wave64Hazards::partial_forwarding(const Step& step) const {
  // With EXEC as it is for long, there is nothing to look for.
  if (exec_writes_ == 0) return {};
  const isa::Instruction& instruction = step.instruction;
  struct Made {
    size_t ago;
    RegisterRange range;
  };
  std::array<Made, isa::kMaxOperands> made;
  size_t count = 0, newest = 0;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!operand.read || !operand.is_vgpr()) continue;
    const size_t ago = made_before(operand);
    if (ago == kMostMade) continue;
    made[count] = {ago, range_of(operand)};
    if (ago < made[newest].ago) newest = count;
    ++count;
  }
  if (count < 2 || made[newest].ago > kMostBehind) return {};
  // The last change of EXEC before the newest of them.
  const uint32_t changes = exec_writes_ >> (made[newest].ago + 1);
  if (changes == 0) return {};
  const size_t change = made[newest].ago + 1 + static_cast<size_t>(std::countr_zero(changes));
  const Made* before = nullptr;
  for (size_t i = 0; i < count; ++i)
    if (made[i].ago >= change && (!before || made[i].ago < before->ago)) before = &made[i];
  if (!before || before->ago - made[newest].ago - 1 > kMostAroundExec) return {};
  return std::string(instruction.row->name) + " reads " + name(before->range) + " and " +
         name(made[newest].range) +
         ", which vector instructions before and behind a change of EXEC have just written in a wave of 64 "
         "(LLVM: VALUPartialForwardingHazard): put s_waitcnt_depctr 0xfff (guide 16.5) before it";
}

std::string Wave64Hazards::replaced_mask(const Step& step) const {
  const isa::Instruction& instruction = step.instruction;
  if (replaced_.none() || !isa::is_scalar_alu(instruction.row->encoding)) return {};
  for (const isa::RegisterUse& use : register_effects(step.wave, instruction).reads)
    for (unsigned code = use.first; code < use.end() && code < kScalars; ++code)
      if (replaced_[code])
        return std::string(instruction.row->name) + " reads " +
               name(RegisterRange{static_cast<uint16_t>(code), 1}) +
               ", which a scalar instruction wrote while a vector instruction might still be reading it as a "
               "lane mask in a wave of 64 (LLVM: VALUMaskWriteHazard): put s_waitcnt_depctr 0xfffe (guide "
               "16.5) behind that write";
  return {};
}

Verdict Wave64Hazards::before(const Step& step) {
  std::string rule;
  if (isa::is_vector_alu(step.instruction.row->encoding))
    rule = partial_forwarding(step);
  else
    rule = replaced_mask(step);
  return rule.empty() ? Verdict::execute : rules_.broken(step, std::move(rule));
}

void Wave64Hazards::complete() {
  made_ = {};
  exec_writes_ = 0;
}

void Wave64Hazards::forget() {
  complete();
  masks_.reset();
  replaced_.reset();
}

void Wave64Hazards::note_vector_alu(const isa::Instruction& instruction) {
  std::move_backward(made_.begin(), made_.end() - 1, made_.end());
  made_[0] = &instruction;
  exec_writes_ = exec_writes_ << 1 & ((1u << kMostMade) - 1);
  const bool reads_mask = reads_lane_mask(instruction);
  // Another scalar that is read shows that the masks before it have been.
  if (masks_.any() && scalar_values(instruction, 0, instruction.operand_count, 64).count() != 0)
    masks_.reset();
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.is_vgpr()) continue;
    for (unsigned code = operand.code; code < operand.code + operand.words && code < kScalars; ++code) {
      if (operand.written) replaced_.reset(code);
      if (operand.read && reads_mask && operand.type == isa::Type::mask) masks_.set(code);
    }
  }
  if (reads_mask && instruction.row->implicit_reads & isa::kVcc) {
    masks_.set(isa::code::kVccLo);
    masks_.set(isa::code::kVccHi);
  }
}

void Wave64Hazards::note_scalar_alu(const isa::Instruction& instruction) {
  // With nothing before it that may not have landed it is no change between two results.
  if (made_[0] && writes_exec(instruction)) exec_writes_ |= 1;
  if (masks_.none()) return;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!operand.written || operand.code >= isa::code::kTtmp0) continue;
    for (unsigned code = operand.code; code < operand.code + operand.words && code < kScalars; ++code)
      if (masks_[code]) replaced_.set(code);
  }
}

void Wave64Hazards::after(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  if (is_call(instruction)) return forget();
  if (waits_for_vector_alu(instruction)) complete();
  if (waits_for_scalar_alu(instruction)) {
    masks_.reset();
    replaced_.reset();
  }
  if (isa::is_vector_alu(instruction.row->encoding))
    note_vector_alu(instruction);
  else if (isa::is_scalar_alu(instruction.row->encoding))
    note_scalar_alu(instruction);
}

}  // namespace lockstep::precise

#include "engine/precise/wave64_hazards.h"

#include <algorithm>

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

// Of the results that the instruction reads the newest must have been made behind a change of EXEC, and
// another one before it.
std::string Wave64Hazards::partial_forwarding(const Step& step) const {
  // With EXEC as it is for long, there is nothing to look for.
  if (last_exec_write_ == kNever || vector_alus_ - last_exec_write_ > kMostBehind + kMostAroundExec + 1)
    return {};
  const isa::Instruction& instruction = step.instruction;
  std::array<std::pair<uint64_t, RegisterRange>, isa::kMaxOperands> made;
  size_t count = 0;
  uint64_t newest = kNever;
  RegisterRange newest_range;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!operand.read || !operand.is_vgpr()) continue;
    uint64_t by = kNever;
    for (unsigned vgpr = operand.vgpr(); vgpr < operand.vgpr() + operand.words && vgpr < kMaxVgprs; ++vgpr)
      by = std::max(by, written_by_[vgpr]);
    if (by <= complete_) continue;
    made[count++] = {by, range_of(operand)};
    if (by > newest) newest = by, newest_range = range_of(operand);
  }
  if (count < 2 || vector_alus_ - newest > kMostBehind) return {};
  // The last change of EXEC before the newest of them.
  uint64_t change = kNever;
  for (const uint64_t at : exec_writes_)
    if (at < newest) change = std::max(change, at);
  if (change == kNever) return {};
  uint64_t before = kNever;
  RegisterRange before_range;
  for (size_t i = 0; i < count; ++i)
    if (made[i].first <= change && made[i].first > before)
      before = made[i].first, before_range = made[i].second;
  if (before == kNever || newest - before - 1 > kMostAroundExec) return {};
  return std::string(instruction.row->name) + " reads " + name(before_range) + " and " + name(newest_range) +
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

void Wave64Hazards::forget() {
  complete_ = vector_alus_;
  masks_.reset();
  replaced_.reset();
}

void Wave64Hazards::note_vector_alu(const isa::Instruction& instruction) {
  ++vector_alus_;
  const bool reads_mask = reads_lane_mask(instruction);
  // Another scalar that is read shows that the masks before it have been.
  if (masks_.any() && scalar_values(instruction, 0, instruction.operand_count, 64).count() != 0)
    masks_.reset();
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.written && operand.is_vgpr())
      for (unsigned vgpr = operand.vgpr(); vgpr < operand.vgpr() + operand.words && vgpr < kMaxVgprs; ++vgpr)
        written_by_[vgpr] = vector_alus_;
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
  if (writes_exec(instruction)) exec_writes_[exec_write_++ % kExecWrites] = last_exec_write_ = vector_alus_;
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
  if (waits_for_vector_alu(instruction)) complete_ = vector_alus_;
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

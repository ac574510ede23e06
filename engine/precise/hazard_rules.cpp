#include "engine/precise/hazard_rules.h"

#include <algorithm>

namespace lockstep::precise {

namespace {

using isa::Encoding;
using isa::Opcode;
using isa::Role;

bool is_direct_load(const isa::Instruction& instruction) {
  return instruction.row->encoding == Encoding::ldsdir;
}

bool has_vgpr_in(const isa::RegisterUses& list, const RegisterRange& range) {
  return std::any_of(list.begin(), list.end(),
                     [&](const isa::RegisterUse& use) { return use.is_vgpr() && use.overlaps(range); });
}

}  // namespace

HazardRules::Executed HazardRules::executed(const Step& step) {
  return {&step.instruction, isa::has_index(step.instruction.row->opcode) ? step.wave.scalar[kScalarM0] : 0,
          (step.wave.status & status_bit::kPrivileged) != 0};
}

isa::RegisterEffects HazardRules::effects_of(const Executed& executed, const Wave& wave) {
  return isa::register_effects(*executed.instruction, {.wave_size = wave.wave_size,
                                                       .vgpr_count = wave.vgpr_count,
                                                       .is_privileged = executed.is_privileged,
                                                       .m0 = executed.m0});
}

// Scalar instructions between the two do not help: the guide wants another VALU instruction, and so does
// LLVM.
std::string HazardRules::permlane_behind_compare(const Step& step) const {
  if (!behind_compare_) return {};
  switch (step.instruction.row->opcode) {
    case Opcode::v_permlane16_b32:
    case Opcode::v_permlanex16_b32:
    case Opcode::v_permlane64_b32:
      return std::string(step.instruction.row->name) +
             " behind v_cmpx without a vector ALU instruction between them (guide 7.2.8): put a v_nop there";
    default:
      return {};
  }
}

std::string HazardRules::matrix_behind_matrix(const Step& step) const {
  const isa::Instruction& instruction = step.instruction;
  if (!matrix_ || !(instruction.row->flags & isa::kMatrix)) return {};
  const RegisterRange result = range_of(*matrix_->find(Role::dst));
  for (const Role role : {Role::src0, Role::src1}) {
    const RegisterRange source = range_of(*instruction.find(role));
    if (source.overlaps(result))
      return std::string(instruction.row->name) + " reads " + name(source) + " as matrix " +
             (role == Role::src0 ? "A" : "B") + " right behind the WMMA that writes " + name(result) +
             " (guide 7.9): put a v_nop or an independent vector ALU instruction between them";
  }
  return {};
}

std::string HazardRules::use_of_transcendental(const Step& step) const {
  const isa::Instruction& instruction = step.instruction;
  if (!isa::is_vector_alu(instruction.row->encoding)) return {};
  for (const Transcendental& made : transcendental_) {
    if (!made.instruction || made.behind > kMostBehindTranscendental) continue;
    const RegisterRange result = range_of(*made.instruction->find(Role::dst));
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      if (!operand.is_vgpr() || !operand.read || !range_of(operand).overlaps(result)) continue;
      return std::string(instruction.row->name) + " reads " + name(range_of(operand)) + ", which " +
             std::string(made.instruction->row->name) + " writes, " + std::to_string(made.behind + 1) +
             " vector ALU instructions before (LLVM: VALUTransUseHazard): put s_waitcnt_depctr 0xfff "
             "(guide 16.5), or more than five of these, between them";
    }
  }
  return {};
}

// Those behind the newest one that still uses the register may be under way when the load is issued. In LLVM
// the count tells nothing once a transcendental instruction is among them, since these run beside the others.
std::string HazardRules::load_over_vector_alu(const Step& step) const {
  if (!is_direct_load(step.instruction)) return {};
  const RegisterRange destination = range_of(step.instruction.operands[0]);
  bool has_transcendental = false;
  for (size_t newer = 0; newer < unfinished_count_; ++newer) {
    const isa::Row& used = *unfinished_[newer].instruction->row;
    has_transcendental |= (used.flags & isa::kTrans) != 0;
    const isa::RegisterEffects effects = effects_of(unfinished_[newer], step.wave);
    if (!has_vgpr_in(effects.reads, destination) && !has_vgpr_in(effects.writes, destination)) continue;
    const size_t sufficient = has_transcendental ? 0 : newer;
    if (step.instruction.wait_exp <= sufficient) return {};
    return std::string(step.instruction.row->name) + " writes " + name(destination) + ", which " +
           std::string(used.name) + ", " + std::to_string(newer + 1) +
           " vector ALU instructions before, may still be using (guide 12.2.1.2): give it wait_vdst:" +
           std::to_string(sufficient);
  }
  return {};
}

std::string HazardRules::load_over_memory(const Step& step) const {
  if (!is_direct_load(step.instruction)) return {};
  const RegisterRange destination = range_of(step.instruction.operands[0]);
  for (const Executed& unread : unread_)
    if (has_vgpr_in(effects_of(unread, step.wave).reads, destination))
      return std::string(step.instruction.row->name) + " writes " + name(destination) + ", which " +
             std::string(unread.instruction->row->name) +
             " may not have read yet (guide 12.2.1.2): put a vector ALU instruction or a wait for it between "
             "them";
  return {};
}

std::string HazardRules::broken_by(const Step& step) const {
  if (std::string text = permlane_behind_compare(step); !text.empty()) return text;
  if (std::string text = matrix_behind_matrix(step); !text.empty()) return text;
  if (std::string text = use_of_transcendental(step); !text.empty()) return text;
  if (std::string text = load_over_vector_alu(step); !text.empty()) return text;
  return load_over_memory(step);
}

Verdict HazardRules::before(const Step& step) {
  // A trap waits for all that is under way (guide 5.1).
  if (is_interrupted_) {
    const uint32_t privileged = step.wave.status & status_bit::kPrivileged;
    if ((next_pc_ != kAnywhere && step.pc != next_pc_) || privileged != privileged_) forget();
    privileged_ = privileged;
  }
  // Nearly always.
  if (!behind_compare_ && !matrix_ && !transcendental_[0].instruction && !is_direct_load(step.instruction))
    return Verdict::execute;
  std::string rule = broken_by(step);
  return rule.empty() ? Verdict::execute : rules_.broken(step, std::move(rule));
}

void HazardRules::forget() {
  behind_compare_ = false;
  matrix_ = nullptr;
  complete(0);
  unread_.clear();
}

void HazardRules::complete(size_t left) {
  for (; unfinished_count_ > left; --unfinished_count_) unfinished_[unfinished_count_ - 1] = {};
  if (left == 0) transcendental_ = {};
}

void HazardRules::note_vector_alu(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  behind_compare_ = instruction.row->flags & isa::kWritesExec;
  matrix_ = instruction.row->flags & isa::kMatrix ? &instruction : nullptr;
  if (!unread_.empty()) unread_.clear();
  for (Transcendental& made : transcendental_)
    if (made.instruction) ++made.behind;
  if (transcendental_[0].behind > kMostBehindTranscendental) transcendental_ = {};
  if (instruction.row->flags & isa::kTrans) {
    transcendental_[1] = transcendental_[0];
    transcendental_[0] = {&instruction, 0};
  }
  std::move_backward(unfinished_.begin(), unfinished_.end() - 1, unfinished_.end());
  unfinished_[0] = executed(step);
  unfinished_count_ = std::min(unfinished_count_ + 1, kMostUnfinished);
}

// LLVM: what goes to memory is issued when all vector ALU instructions before it have completed.
void HazardRules::note_memory(const Step& step) {
  complete(0);
  unread_.push_back(executed(step));
  if (unread_.size() > kMostUnread) unread_.erase(unread_.begin());
}

void HazardRules::note_waits(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  if (instruction.row->opcode == Opcode::s_waitcnt_depctr) {
    complete(depctr_va_vdst(instruction));
    if (depctr_vm_vsrc(instruction) == 0) unread_.clear();
  }
  if (instruction.row->opcode == Opcode::s_wait_idle) complete(0);
  // What has come to its end has read its registers.
  if (const auto limits = limits_of(instruction, step.wave))
    std::erase_if(unread_, [&](const Executed& unread) {
      const Shares shares = shares_of(*unread.instruction);
      return std::any_of(shares.begin(), shares.end(),
                         [&](const Share& share) { return (*limits)[share.counter] == 0; });
    });
}

void HazardRules::after(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  if (isa::is_vector_alu(instruction.row->encoding))
    note_vector_alu(step);
  else if (isa::is_vector_memory(instruction.row->encoding))
    note_memory(step);
  else if (is_direct_load(instruction))
    complete(instruction.wait_exp);
  else if (instruction.row->encoding == Encoding::exp)
    transcendental_ = {}, unread_.clear();
  else
    note_waits(step);
  if (is_interrupted_) next_pc_ = instruction.row->flags & isa::kBranch ? kAnywhere : step.next_pc();
}

}  // namespace lockstep::precise

#include "engine/precise/hazard_rules.h"

#include <algorithm>

namespace lockstep::precise {

namespace {

using isa::Encoding;
using isa::Opcode;
using isa::Role;

// wait_vdst lets at most so many be under way; those before them have completed whatever it says.
constexpr size_t kMostUnfinished = 16;
// Of these the oldest has come to its end: no counter goes beyond 63.
constexpr size_t kMostUnread = kCounters * 64;

bool is_direct_load(const isa::Instruction& instruction) {
  return instruction.row->encoding == Encoding::ldsdir;
}

bool is_memory(const isa::Instruction& instruction) {
  switch (instruction.row->encoding) {
    case Encoding::ds:
    case Encoding::flat:
    case Encoding::global:
    case Encoding::scratch:
    case Encoding::mubuf:
    case Encoding::mtbuf:
    case Encoding::mimg:
      return true;
    default:
      return false;
  }
}

bool overlap(const std::vector<RegisterRange>& list, const RegisterRange& range) {
  return std::any_of(list.begin(), list.end(), [&](const RegisterRange& r) { return r.overlaps(range); });
}

std::vector<RegisterRange> vgprs_of(const isa::RegisterUses& list) {
  std::vector<RegisterRange> vgprs;
  std::copy_if(list.begin(), list.end(), std::back_inserter(vgprs),
               [](const RegisterRange& range) { return range.is_vgpr(); });
  return vgprs;
}

RegisterRange range_of(const isa::Operand& operand) {
  return {operand.code, operand.words};
}

// s_waitcnt_depctr, whose fields are LLVM's: VA_VDST in 15:12, VM_VSRC in 4:2.
unsigned depctr_va_vdst(const isa::Instruction& instruction) {
  return static_cast<uint32_t>(instruction.operands[0].value) >> 12 & 15;
}
unsigned depctr_vm_vsrc(const isa::Instruction& instruction) {
  return static_cast<uint32_t>(instruction.operands[0].value) >> 2 & 7;
}

}  // namespace

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
  if (matrix_.count == 0 || !(instruction.row->flags & isa::kMatrix)) return {};
  for (const Role role : {Role::src0, Role::src1}) {
    const RegisterRange source = range_of(*instruction.find(role));
    if (source.overlaps(matrix_))
      return std::string(instruction.row->name) + " reads " + name(source) + " as matrix " +
             (role == Role::src0 ? "A" : "B") + " right behind the WMMA that writes " + name(matrix_) +
             " (guide 7.9): put a v_nop or an independent vector ALU instruction between them";
  }
  return {};
}

// Those behind the newest one that still uses the register may be under way when the load is issued. In LLVM
// the count tells nothing once a transcendental instruction is among them, since these run beside the others.
std::string HazardRules::load_over_vector_alu(const Step& step) const {
  if (!is_direct_load(step.instruction)) return {};
  const RegisterRange destination = range_of(step.instruction.operands[0]);
  bool has_transcendental = false;
  for (size_t newer = 0; newer < unfinished_.size(); ++newer) {
    const Unfinished& used = unfinished_[newer];
    has_transcendental |= (used.row->flags & isa::kTrans) != 0;
    if (!overlap(used.vgprs, destination)) continue;
    const size_t sufficient = has_transcendental ? 0 : newer;
    if (step.instruction.wait_exp <= sufficient) return {};
    return std::string(step.instruction.row->name) + " writes " + name(destination) + ", which " +
           std::string(used.row->name) + ", " + std::to_string(newer + 1) +
           " vector ALU instructions before, may still be using (guide 12.2.1.2): give it wait_vdst:" +
           std::to_string(sufficient);
  }
  return {};
}

std::string HazardRules::load_over_memory(const Step& step) const {
  if (!is_direct_load(step.instruction)) return {};
  const RegisterRange destination = range_of(step.instruction.operands[0]);
  for (const Unread& unread : unread_)
    if (overlap(unread.vgprs, destination))
      return std::string(step.instruction.row->name) + " writes " + name(destination) + ", which " +
             std::string(unread.row->name) +
             " may not have read yet (guide 12.2.1.2): put a vector ALU instruction or a wait for it between "
             "them";
  return {};
}

std::string HazardRules::broken_by(const Step& step) const {
  if (std::string text = permlane_behind_compare(step); !text.empty()) return text;
  if (std::string text = matrix_behind_matrix(step); !text.empty()) return text;
  if (std::string text = load_over_vector_alu(step); !text.empty()) return text;
  return load_over_memory(step);
}

Verdict HazardRules::before(const Step& step) {
  // A trap waits for all that is under way (guide 5.1).
  if (step.pc != next_pc_) forget();
  std::string rule = broken_by(step);
  return rule.empty() ? Verdict::execute : rules_.broken(step, std::move(rule));
}

void HazardRules::forget() {
  behind_compare_ = false;
  matrix_ = {};
  unfinished_.clear();
  unread_.clear();
}

void HazardRules::complete(size_t left) {
  if (unfinished_.size() > left) unfinished_.resize(left);
}

void HazardRules::note_vector_alu(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  behind_compare_ = instruction.row->flags & isa::kWritesExec;
  matrix_ = instruction.row->flags & isa::kMatrix ? range_of(*instruction.find(Role::dst)) : RegisterRange{};
  unread_.clear();
  const isa::RegisterEffects effects = register_effects(step.wave, instruction);
  std::vector<RegisterRange> vgprs = vgprs_of(effects.reads);
  const std::vector<RegisterRange> written = vgprs_of(effects.writes);
  vgprs.insert(vgprs.end(), written.begin(), written.end());
  unfinished_.push_front({instruction.row, std::move(vgprs)});
  complete(kMostUnfinished);
}

// LLVM: what goes to memory is issued when all vector ALU instructions before it have completed.
void HazardRules::note_memory(const Step& step) {
  complete(0);
  unread_.push_back({step.instruction.row, shares_of(step.instruction),
                     vgprs_of(register_effects(step.wave, step.instruction).reads)});
  if (unread_.size() > kMostUnread) unread_.pop_front();
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
    std::erase_if(unread_, [&](const Unread& unread) {
      return std::any_of(unread.shares.begin(), unread.shares.end(),
                         [&](const Share& share) { return (*limits)[share.counter] == 0; });
    });
}

void HazardRules::after(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  if (isa::is_vector_alu(instruction.row->encoding))
    note_vector_alu(step);
  else if (is_memory(instruction))
    note_memory(step);
  else if (is_direct_load(instruction))
    complete(instruction.wait_exp);
  else if (instruction.row->encoding == Encoding::exp)
    unread_.clear();
  else
    note_waits(step);
  next_pc_ = step.wave.pc;
}

}  // namespace lockstep::precise

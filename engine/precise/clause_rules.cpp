#include "engine/precise/clause_rules.h"

#include <algorithm>
#include <string_view>

#include "isa/row_facts.h"

namespace lockstep::precise {

namespace {

using isa::Clause;
using isa::Encoding;
using isa::Opcode;

const char* name_of(Clause type) {
  switch (type) {
    case Clause::none:
      break;
    case Clause::valu:
      return "VALU";
    case Clause::smem:
      return "SMEM";
    case Clause::lds:
      return "LDS";
    case Clause::flat_load:
      return "flat load";
    case Clause::flat_store:
      return "flat store";
    case Clause::flat_atomic:
      return "flat atomic";
    case Clause::vmem_load:
      return "buffer, global or scratch load";
    case Clause::vmem_store:
      return "buffer, global or scratch store";
    case Clause::vmem_atomic:
      return "buffer, global or scratch atomic";
    case Clause::image_load:
      return "image load";
    case Clause::image_store:
      return "image store";
    case Clause::image_atomic:
      return "image atomic";
    case Clause::image_sample:
      return "image sample";
    case Clause::bvh:
      return "image BVH";
  }
  return "none";
}

// The clause type that the instruction has; none: it may not stand in a clause. GDS and VINTERP are on the
// list of 16.5, whatever type their neighbours in the encoding have.
Clause type_of(const isa::Instruction& instruction) {
  if (instruction.gds || instruction.row->encoding == Encoding::vinterp) return Clause::none;
  return instruction.row->clause;
}

// "Clause internal instructions". The guide contradicts itself on two: s_waitcnt is internal in 16.5 and
// forbidden in 5.2, which LLVM follows too; s_delay_alu is forbidden in 16.5 and but pointless in 5.2,
// outside of VALU clauses. Chapter 5 is taken.
bool is_internal(Opcode opcode, Clause type) {
  return opcode == Opcode::s_nop || opcode == Opcode::s_sleep ||
         (opcode == Opcode::s_delay_alu && type != Clause::valu);
}

std::string article(Clause type) {
  const std::string name = name_of(type);
  return (std::string_view("aeioLS").find(name[0]) != std::string_view::npos ? "an " : "a ") + name;
}

}  // namespace

// s_clause itself.
std::string ClauseRules::fault_of_announcement(const Step& step) const {
  const auto field = static_cast<uint32_t>(step.instruction.operands[0].value);
  const unsigned length = (field & 63) + 1, span = field >> 8 & 15;
  if (length < 2 || length > 63)
    return "s_clause of " + std::to_string(length) +
           " instructions (guide 5.2): 2 to 63 are possible, SIMM16[5:0] is their number less one";
  if (span == 1)
    return "s_clause that breaks after every instruction (guide 5.2): each group between two breaks needs at "
           "least two instructions of the clause's type";
  if (span != 0 && length % span == 1)
    return "s_clause of " + std::to_string(length) + " instructions with a break after every " +
           std::to_string(span) +
           " leaves a last group of one (guide 5.2): each group needs at least two instructions of the "
           "clause's type";
  return {};
}

std::string ClauseRules::fault_of(const Step& step) const {
  const Opcode opcode = step.instruction.row->opcode;
  const Clause type = type_of(step.instruction);
  if (stage_ == Stage::announced) {
    if (opcode == Opcode::s_clause) return "s_clause directly behind s_clause (guide 5.2): remove one";
    if (opcode == Opcode::s_delay_alu)
      return "s_delay_alu directly behind s_clause (guide 5.2): the instruction behind s_clause gives the "
             "clause its type, so s_delay_alu must stand before the s_clause";
    if (is_internal(opcode, Clause::none) || step.instruction.row->flags & isa::kWait)
      return "a clause that begins with " + std::string(step.instruction.row->name) +
             " (guide 5.2): the first instruction gives the clause its type and must be of it";
    if (type == Clause::none)
      return std::string(step.instruction.row->name) +
             " as the first instruction of a clause (guide 5.2): there is no clause of its type";
    return {};
  }
  if (opcode == Opcode::s_clause && stage_ == Stage::inside)
    return "s_clause inside a clause (guide 5.2): it began before the previous one's " +
           std::to_string(length_) + " instructions were over";
  if (opcode == Opcode::s_clause) return fault_of_announcement(step);
  if (stage_ == Stage::outside) return {};

  const bool begins_group = span_ != 0 && position_ % span_ == 0;
  if (is_internal(opcode, type_)) {
    if (begins_group)
      return std::string(step.instruction.row->name) +
             " as the first instruction behind a clause break (guide 5.2): each group must begin with an "
             "instruction of the clause's type";
  } else if (opcode == Opcode::s_delay_alu) {
    return "s_delay_alu inside a VALU clause (guide 5.2): put it before the s_clause";
  } else if (step.instruction.row->flags & isa::kWait) {
    return std::string(step.instruction.row->name) +
           " inside a clause (guide 5.2): wait before the s_clause or behind the clause";
  } else if (type != type_) {
    return std::string(step.instruction.row->name) + " inside " + article(type_) + " clause of " +
           std::to_string(length_) + " instructions, at place " + std::to_string(position_ + 1) +
           " (guide 5.2): only instructions of that type, s_nop and s_sleep may stand there";
  }
  const bool ends_group = position_ + 1 == length_ || (span_ != 0 && (position_ + 1) % span_ == 0);
  // Groups of one instruction were told of at the s_clause.
  if (ends_group && !begins_group && of_type_ + (type == type_) < 2)
    return "a group of a clause with fewer than two instructions of its type (guide 5.2) ends here";
  return {};
}

Verdict ClauseRules::before(const Step& step) {
  if (!is_inside() && !concerns(step.instruction)) return Verdict::execute;
  // A trap, or the host, took the wave elsewhere: that broke the clause (guide 5.2.1).
  if (stage_ != Stage::outside && step.pc != next_pc_) stage_ = Stage::outside;
  if (stage_ == Stage::announced) begin(step);
  const std::string fault = fault_of(step);
  if (fault.empty() || told_pc_ == step.pc) return Verdict::execute;
  told_pc_ = step.pc;
  return rules_.broken(step, fault);
}

// The first instruction behind s_clause: whether there will be a clause at all (guide 5.2). A VALU clause is
// ignored if EXEC is zero; a memory instruction is then skipped if its counter is zero, and what is skipped
// starts no clause.
void ClauseRules::begin(const Step& step) {
  const bool is_ignored =
      type_of(step.instruction) == Clause::valu ? step.wave.exec() == 0 : waits_ && waits_->is_skipped(step);
  if (is_ignored) stage_ = Stage::outside;
}

void ClauseRules::announce(const Step& step) {
  const auto field = static_cast<uint32_t>(step.instruction.operands[0].value);
  length_ = (field & 63) + 1;
  span_ = field >> 8 & 15;
  type_ = Clause::none;
  position_ = of_type_ = 0;
  stage_ = length_ < 2 || length_ > 63 ? Stage::outside : Stage::announced;
}

void ClauseRules::after(const Step& step) {
  told_pc_ = ~uint64_t{0};
  const Opcode opcode = step.instruction.row->opcode;
  if (!is_inside() && !concerns(step.instruction)) return;
  const Clause type = type_of(step.instruction);
  next_pc_ = step.next_pc();
  if (opcode == Opcode::s_clause) return announce(step);
  if (stage_ == Stage::announced) {
    type_ = type;
    stage_ = type == Clause::none ? Stage::outside : Stage::inside;
  }
  if (stage_ != Stage::inside) return;
  // What does not belong into it has ended it.
  if (type != type_ && !is_internal(opcode, type_)) {
    stage_ = Stage::outside;
    return;
  }
  of_type_ += type == type_;
  ++position_;
  if (span_ != 0 && position_ % span_ == 0) of_type_ = 0;
  if (position_ == length_) stage_ = Stage::outside;
}

}  // namespace lockstep::precise

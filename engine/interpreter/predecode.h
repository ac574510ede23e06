// Turns one guest instruction into the operations that the interpreter runs for it.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "engine/interpreter/program.h"

namespace lockstep::interpreter {

// Of one of an instruction's operations: the registers that the engine has to itself are filled for those
// behind it.
void prepare_sources(const Operation* op, Wave* wave);
// What a destination out of range makes of an instruction.
bool does_nothing(const Operation* op);

// Those of an instruction: one for each of its operands, itself, what it needs to know first, and two calls
// of an observer.
class OperationList {
 public:
  OperationList() = default;
  OperationList(std::initializer_list<Operation> list) {
    for (const Operation& each : list) push_back(each);
  }
  OperationList(const OperationList& other) { *this = other; }
  OperationList& operator=(const OperationList& other) {
    count_ = other.count_;
    std::copy_n(other.list_.begin(), count_, list_.begin());
    return *this;
  }
  void push_back(const Operation& each) { list_[count_++] = each; }
  void push_front(const Operation& each) {
    std::copy_backward(list_.begin(), list_.begin() + count_, list_.begin() + count_ + 1);
    list_[0] = each;
    ++count_;
  }
  size_t size() const { return count_; }
  const Operation& operator[](size_t i) const { return list_[i]; }
  const Operation& back() const { return list_[count_ - 1]; }

 private:
  static constexpr size_t kMost = isa::kMaxOperands + 4;
  std::array<Operation, kMost> list_;  // of which only those that there are have a value
  size_t count_ = 0;
};

class Predecoder {
 public:
  // `bytes` are the code from `pc` on.
  Predecoder(Program& program, uint64_t pc, std::span<const std::byte> bytes);
  // Decodes into `instruction` (which the operations keep pointing to). Never fails: what
  // cannot run becomes an operation that faults when it is executed. The first operation stands for the
  // instruction, the others follow it.
  OperationList predecode(isa::Instruction& instruction);
  // An operation that faults with this reason (a string literal).
  Operation refuse(const isa::Instruction& instruction, FaultKind kind, const char* reason);
  // Whether what came out last is such an operation.
  bool is_refused() const { return refused_; }

 private:
  // An operation that does nothing.
  Operation nullify(const isa::Instruction& instruction) const;
  Operation blank(const isa::Instruction& instruction) const;
  // Of the instruction's half that the row is of.
  void set_source(Operation& op, unsigned i, const isa::Operand& operand, const isa::Instruction& instruction,
                  const isa::Row& row);
  uint32_t scalar_source(const isa::Operand& operand, const isa::Instruction& instruction, Operation& op);
  uint32_t scalar_destination(const isa::Operand& operand) const;
  uint32_t vgpr_offset(unsigned index) const;
  // Whether not all of the operand's registers are the wave's.
  bool is_out_of_range(const isa::Operand& operand) const;
  bool has_destination_out_of_range(const isa::Instruction& instruction) const;
  uint32_t vector_source(const isa::Operand& operand, bool dual_issue) const;
  // Where a memory instruction finds a source: its registers, or engine registers that an operation put into
  // `preparations` fills.
  uint32_t memory_source(const isa::Instruction& instruction, const isa::Operand& operand,
                         OperationList& preparations);

  OperationList vector_alu(const isa::Instruction& instruction);
  Operation refuse_dpp_control(const isa::Instruction& instruction);
  // The lanes that DPP chooses, as the handlers take them: Operation::literal.
  uint64_t dpp_selection(const isa::Instruction& instruction);
  OperationList dual_issue(const isa::Instruction& instruction);
  Operation vector_half(const isa::Instruction& instruction, const isa::Row& row, unsigned first,
                        unsigned last);
  OperationList other(const isa::Instruction& instruction);
  void fill_branch(Operation& op, const isa::Instruction& instruction);

  Program& program_;
  uint64_t pc_;
  std::span<const std::byte> bytes_;
  unsigned register_bytes_;
  bool uses_literal_ = false;  // the operation made last reads Wave::scalar[kScalarLiteral]
  bool refused_ = false;
  bool reads_conditions_ = false;  // VCCZ or EXECZ as operands
  unsigned engine_registers_ = 0;  // taken for sources out of range
};

}  // namespace lockstep::interpreter

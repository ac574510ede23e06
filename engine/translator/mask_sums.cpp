#include "engine/translator/mask_sums.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <optional>
#include <utility>
#include <vector>

namespace lockstep::translator {
namespace {

using llvm::Value;
using namespace llvm::PatternMatch;

// Whose lanes are 1 or -1 in the value. Null: it is something else.
Value* mask_of(const Value* value) {
  Value* mask = nullptr;
  const bool is_mask = match(value, m_ZExtOrSExt(m_Value(mask))) && mask->getType()->isVectorTy() &&
                       mask->getType()->isIntOrIntVectorTy(1);
  return is_mask ? mask : nullptr;
}

// The operand that is a mask: either one of a sum, the second one of a difference.
std::optional<unsigned> mask_operand(const llvm::Instruction& sum) {
  const bool is_sum = sum.getOpcode() == llvm::Instruction::Add;
  if (!is_sum && sum.getOpcode() != llvm::Instruction::Sub) return std::nullopt;
  if (mask_of(sum.getOperand(1))) return 1;
  if (is_sum && mask_of(sum.getOperand(0))) return 0;
  return std::nullopt;
}

Value* as_choice(llvm::Instruction& sum, unsigned operand) {
  const bool grows =
      llvm::isa<llvm::ZExtInst>(sum.getOperand(operand)) == (sum.getOpcode() == llvm::Instruction::Add);
  llvm::IRBuilder<> ir(&sum);
  Value* const other = sum.getOperand(1 - operand);
  Value* const next = ir.CreateAdd(other, llvm::ConstantInt::getSigned(sum.getType(), grows ? 1 : -1));
  return ir.CreateSelect(mask_of(sum.getOperand(operand)), next, other);
}

}  // namespace

void choose_mask_sums(llvm::Function& function) {
  std::vector<std::pair<llvm::Instruction*, unsigned>> sums;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (const auto operand = mask_operand(instruction)) sums.emplace_back(&instruction, *operand);
  for (const auto& [sum, operand] : sums) sum->replaceAllUsesWith(as_choice(*sum, operand));
  for (const auto& [sum, operand] : sums) llvm::RecursivelyDeleteTriviallyDeadInstructions(sum);
}

}  // namespace lockstep::translator

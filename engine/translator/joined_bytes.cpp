#include "engine/translator/joined_bytes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

namespace lockstep::translator {
namespace {

namespace match = llvm::PatternMatch;
using llvm::APInt;
using llvm::Value;

// Without parts of a disjunction that have none of the wanted bits.
Value* part_with(Value* joined, const APInt& wanted, const llvm::DataLayout& layout) {
  constexpr unsigned kMostParts = 4;
  for (unsigned i = 0; i < kMostParts; ++i) {
    Value *first = nullptr, *second = nullptr;
    if (!match::match(joined, match::m_Or(match::m_Value(first), match::m_Value(second)))) break;
    const auto has_none = [&](Value* part) {
      return wanted.isSubsetOf(llvm::computeKnownBits(part, layout).Zero);
    };
    if (has_none(first))
      joined = second;
    else if (has_none(second))
      joined = first;
    else
      break;
  }
  return joined;
}

// Of `joined >> distance & mask` what is left without the parts that it does not read; null if that is all.
Value* split(llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  Value *joined = nullptr, *masked = nullptr;
  const APInt *mask = nullptr, *shift = nullptr;
  const bool has_mask =
      match::match(&instruction, match::m_And(match::m_Value(masked), match::m_APInt(mask)));
  Value* const shifted = has_mask ? masked : &instruction;
  const bool has_shift = match::match(shifted, match::m_LShr(match::m_Value(joined), match::m_APInt(shift)));
  if (!has_mask && !has_shift) return nullptr;
  if (!has_shift) joined = masked;
  const unsigned bits = instruction.getType()->getScalarSizeInBits();
  if (has_shift && shift->uge(bits)) return nullptr;
  const auto distance = has_shift ? static_cast<unsigned>(shift->getZExtValue()) : 0;
  const APInt read = has_mask ? *mask : APInt::getAllOnes(bits);
  Value* part = part_with(joined, read.shl(distance), layout);
  if (part == joined) return nullptr;
  llvm::IRBuilder<> builder(&instruction);
  Value* before = nullptr;
  if (has_shift) {
    const bool is_shifted_back =
        match::match(part, match::m_Shl(match::m_Value(before), match::m_SpecificInt(*shift))) &&
        llvm::computeKnownBits(before, layout).countMinLeadingZeros() >= distance;
    part =
        is_shifted_back ? before : builder.CreateLShr(part, llvm::ConstantInt::get(part->getType(), *shift));
  }
  if ((~read).isSubsetOf(llvm::computeKnownBits(part, layout).Zero)) return part;
  return has_mask ? builder.CreateAnd(part, instruction.getOperand(1)) : part;
}

}  // namespace

void split_joined_bytes(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      Value* const part = split(instruction, layout);
      if (!part) continue;
      instruction.replaceAllUsesWith(part);
      llvm::RecursivelyDeleteTriviallyDeadInstructions(&instruction);
    }
}

}  // namespace lockstep::translator

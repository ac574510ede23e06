#include "engine/translator/range_offsets.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/Transforms/Utils/Local.h>

#include <vector>

namespace lockstep::translator {
namespace {

using llvm::Value;

llvm::BinaryOperator* operation(Value* value, unsigned opcode) {
  auto* found = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return found && found->getOpcode() == opcode ? found : nullptr;
}

class Round {
 public:
  Round(llvm::Loop& loop, llvm::BasicBlock& before) : loop_(loop), ir_(before.getTerminator()) {}

  // (own + same) - begin, of which the latter two are the same in all rounds, as own + (same - begin).
  void count_from_begin(llvm::BinaryOperator& difference) {
    auto* address = operation(difference.getOperand(0), llvm::Instruction::Add);
    Value* begin = difference.getOperand(1);
    if (!address || !loop_.contains(address) || !is_same(begin)) return;
    for (unsigned i : {0u, 1u}) {
      Value *same = address->getOperand(i), *own = address->getOperand(1 - i);
      if (!is_same(same) || is_same(own)) continue;
      Value* from = ir_.CreateSub(same, begin);
      llvm::IRBuilder<> in_round(&difference);
      difference.replaceAllUsesWith(in_round.CreateAdd(own_part(own, from, in_round), from));
      llvm::RecursivelyDeleteTriviallyDeadInstructions(&difference);
      return;
    }
  }

 private:
  // Puts it before the loop, if that is so.
  bool is_same(Value* value) {
    bool has_moved = false;
    return loop_.makeLoopInvariant(value, has_moved, &*ir_.GetInsertPoint());
  }
  // Of an index of 64 bits, shifted, whose high half is the same in all rounds: adds that to `from`.
  Value* own_part(Value* own, Value*& from, llvm::IRBuilder<>& in_round) {
    auto* shifted = operation(own, llvm::Instruction::Shl);
    auto* halves = operation(shifted ? shifted->getOperand(0) : own, llvm::Instruction::Or);
    if (!halves || !llvm::cast<llvm::PossiblyDisjointInst>(halves)->isDisjoint()) return own;
    if (shifted && !llvm::isa<llvm::Constant>(shifted->getOperand(1))) return own;
    for (unsigned i : {0u, 1u}) {
      Value* same = halves->getOperand(i);
      if (!is_same(same)) continue;
      Value* rest = halves->getOperand(1 - i);
      if (shifted) {
        same = ir_.CreateShl(same, shifted->getOperand(1));
        rest = in_round.CreateShl(rest, shifted->getOperand(1));
      }
      from = ir_.CreateAdd(from, same);
      return rest;
    }
    return own;
  }

  llvm::Loop& loop_;
  llvm::IRBuilder<> ir_;  // before it
};

}  // namespace

void count_from_begins(llvm::Function& function) {
  llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::BasicBlock* before = loop->getLoopPreheader();
    if (!before || !loop->isInnermost()) continue;
    Round round(*loop, *before);
    std::vector<llvm::BinaryOperator*> differences;
    for (llvm::BasicBlock* block : loop->blocks())
      for (llvm::Instruction& each : *block)
        if (auto* difference = operation(&each, llvm::Instruction::Sub)) differences.push_back(difference);
    for (llvm::BinaryOperator* difference : differences)
      if (difference->getType()->isIntegerTy(64)) round.count_from_begin(*difference);
  }
}

}  // namespace lockstep::translator

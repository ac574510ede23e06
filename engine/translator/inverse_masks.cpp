#include "engine/translator/inverse_masks.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/translator/joined_masks.h"

namespace lockstep::translator {
namespace {

using llvm::Value;
using namespace llvm::PatternMatch;

// A comparison of 16 lanes under their part of EXEC.
struct Chunk {
  llvm::CmpInst* comparison;
  Value* lanes_on;

  bool is_opposite_of(const Chunk& other) const {
    return lanes_on == other.lanes_on &&
           comparison->getPredicate() == other.comparison->getInversePredicate() &&
           comparison->getOperand(0) == other.comparison->getOperand(0) &&
           comparison->getOperand(1) == other.comparison->getOperand(1);
  }
};

// 32 lanes of a mask register.
struct Mask {
  llvm::Instruction* whole;
  std::array<Chunk, 2> chunks;

  bool is_opposite_of(const Mask& other) const {
    return chunks[0].is_opposite_of(other.chunks[0]) && chunks[1].is_opposite_of(other.chunks[1]);
  }
  // The register of which both chunks have their part; null if there is none.
  Value* lanes_on() const {
    Value* exec = nullptr;
    const bool is_one = match(chunks[0].lanes_on, m_Trunc(m_Value(exec))) &&
                        match(chunks[1].lanes_on, m_Trunc(m_LShr(m_Specific(exec), m_SpecificInt(16))));
    return is_one && exec->getType() == whole->getType() ? exec : nullptr;
  }
};

bool match_chunk(Value* bits, Chunk& chunk) {
  Value* comparison;
  if (!match(bits, m_c_And(m_BitCast(m_Value(comparison)), m_Value(chunk.lanes_on)))) return false;
  chunk.comparison = llvm::dyn_cast<llvm::CmpInst>(comparison);
  return chunk.comparison != nullptr;
}

bool match_mask(llvm::Instruction& instruction, Mask& mask) {
  std::array<Value*, 2> halves;
  mask.whole = &instruction;
  return match_joined(&instruction, halves) && match_chunk(halves[0], mask.chunks[0]) &&
         match_chunk(halves[1], mask.chunks[1]);
}

}  // namespace

void derive_inverse_masks(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    std::vector<Mask> masks;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      Mask mask;
      if (!match_mask(instruction, mask)) continue;
      Value* exec = mask.lanes_on();
      if (!exec) continue;
      const auto opposite =
          std::ranges::find_if(masks, [&](const Mask& earlier) { return mask.is_opposite_of(earlier); });
      if (opposite == masks.end()) {
        masks.push_back(mask);
        continue;
      }
      llvm::IRBuilder<> ir(&instruction);
      instruction.replaceAllUsesWith(ir.CreateXor(exec, opposite->whole));
      llvm::RecursivelyDeleteTriviallyDeadInstructions(&instruction);
    }
  }
}

}  // namespace lockstep::translator

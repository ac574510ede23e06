#include "engine/translator/mask_halves.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <array>
#include <vector>

#include "engine/translator/joined_masks.h"

namespace lockstep::translator {
namespace {

using llvm::Value;
using namespace llvm::PatternMatch;

constexpr unsigned kMostSteps = 8;

// The 16 bits of a scalar mask that are a chunk's.
struct Half {
  Value* whole;
  bool is_high;
};

bool match_half(Value* bits, Half& half) {
  half.is_high = match(bits, m_Trunc(m_LShr(m_Value(half.whole), m_SpecificInt(16))));
  return (half.is_high || match(bits, m_Trunc(m_Value(half.whole)))) &&
         half.whole->getType()->isIntegerTy(32);
}

llvm::BinaryOperator* as_algebra(Value* bits) {
  auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(bits);
  return operation && operation->isBitwiseLogicOp() ? operation : nullptr;
}

// Hosts have seven registers for masks. In a loop with many comparisons masks wait as scalars better than in
// memory.
class SmallLoops {
 public:
  explicit SmallLoops(const llvm::LoopInfo& loops) : loops_(loops) {}

  bool has(const llvm::BasicBlock& block) {
    const llvm::Loop* loop = loops_.getLoopFor(&block);
    if (!loop) return false;
    const auto [known, is_new] = comparisons_.try_emplace(loop, 0);
    if (is_new)
      for (const llvm::BasicBlock* part : loop->blocks()) known->second += comparisons_in(*part);
    return known->second <= kMostComparisons;
  }

 private:
  static constexpr unsigned kMostComparisons = 64;

  static unsigned comparisons_in(const llvm::BasicBlock& block) {
    return static_cast<unsigned>(llvm::count_if(block, [](const llvm::Instruction& instruction) {
      return llvm::isa<llvm::CmpInst>(instruction) && instruction.getType()->isVectorTy();
    }));
  }

  const llvm::LoopInfo& loops_;
  llvm::DenseMap<const llvm::Loop*, unsigned> comparisons_;
};

// Masks as lanes.
class Lanes {
 public:
  // `takes_scalars`: a comparison's lanes under what is a scalar count, too, as they are under EXEC.
  Lanes(llvm::Function& function, bool takes_scalars)
      : function_(function),
        takes_scalars_(takes_scalars),
        type_(llvm::FixedVectorType::get(llvm::Type::getInt1Ty(function.getContext()), 16)) {}

  llvm::Type* type() const { return type_; }

  // Whether the bits, of a chunk or of two, are there as lanes, or come of such alone. Of what else comes in
  // from other blocks it is enough if some does: loops are entered once.
  bool has(Value* bits) {
    asked_.clear();
    return has(bits, kMostSteps);
  }

  // Of a chunk's bits, or of half of two chunks' bits.
  Value* of(Value* bits, bool is_high) {
    if (Value* known = known_[is_high].lookup(bits)) return known;
    Value* made = make(bits, is_high);
    return known_[is_high][bits] = made;
  }

 private:
  bool has(Value* bits, unsigned steps) {
    if (llvm::isa<llvm::ConstantInt, llvm::UndefValue>(bits)) return true;
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(bits)) return cast->getOperand(0)->getType() == type_;
    if (steps == 0) return false;
    std::array<Value*, 2> halves;
    if (match_joined(bits, halves)) return has(halves[0], steps - 1) && has(halves[1], steps - 1);
    if (Half half; match_half(bits, half)) return has(half.whole, steps - 1);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(bits)) {
      if (!asked_.insert(phi).second) return true;
      return llvm::any_of(phi->incoming_values(), [&](Value* incoming) {
        return !llvm::isa<llvm::Constant>(incoming) && incoming != phi && has(incoming, steps - 1);
      });
    }
    const llvm::BinaryOperator* algebra = as_algebra(bits);
    if (!algebra) return false;
    const bool first = has(algebra->getOperand(0), steps - 1),
               second = has(algebra->getOperand(1), steps - 1);
    return takes_scalars_ && bits->getType()->isIntegerTy(16) ? first || second : first && second;
  }

  Value* make(Value* bits, bool is_high) {
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(bits); cast && cast->getOperand(0)->getType() == type_)
      return cast->getOperand(0);
    std::array<Value*, 2> halves;
    if (match_joined(bits, halves)) return of(halves[is_high], false);
    if (Half half; match_half(bits, half)) return of(half.whole, half.is_high);
    if (!has(bits)) return taken_out(bits, is_high);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(bits)) {
      llvm::IRBuilder<> ir(phi);
      llvm::PHINode* made = ir.CreatePHI(type_, phi->getNumIncomingValues());
      known_[is_high][bits] = made;
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        made->addIncoming(of(phi->getIncomingValue(i), is_high), phi->getIncomingBlock(i));
      return made;
    }
    if (llvm::BinaryOperator* algebra = as_algebra(bits)) {
      Value* a = of(algebra->getOperand(0), is_high);
      Value* b = of(algebra->getOperand(1), is_high);
      llvm::IRBuilder<> ir(algebra);
      return ir.CreateBinOp(algebra->getOpcode(), a, b);
    }
    return taken_out(bits, is_high);
  }

  Value* taken_out(Value* bits, bool is_high) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(bits)) {
      std::array<llvm::Constant*, 16> lanes;
      for (unsigned lane = 0; lane < 16; ++lane)
        lanes[lane] =
            llvm::ConstantInt::getBool(type_->getContext(), constant->getValue()[16 * is_high + lane]);
      return llvm::ConstantVector::get(lanes);
    }
    if (llvm::isa<llvm::UndefValue>(bits)) return llvm::UndefValue::get(type_);
    llvm::BasicBlock::iterator place = function_.getEntryBlock().getFirstInsertionPt();
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(bits))
      place = *instruction->getInsertionPointAfterDef();
    llvm::IRBuilder<> ir(place->getParent(), place);
    if (bits->getType()->isIntegerTy(32))
      bits = ir.CreateTrunc(is_high ? ir.CreateLShr(bits, 16) : bits, ir.getInt16Ty());
    return ir.CreateBitCast(bits, type_);
  }

  llvm::Function& function_;
  bool takes_scalars_;
  llvm::FixedVectorType* type_;
  std::array<llvm::DenseMap<Value*, Value*>, 2> known_;
  llvm::SmallPtrSet<llvm::PHINode*, 8> asked_;
};

}  // namespace

void combine_masks_by_halves(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  SmallLoops small_loops(loops);
  Lanes of_lanes_alone(function, false), of_some_lanes(function, true);
  std::vector<std::pair<llvm::Instruction*, Lanes*>> uses;
  for (llvm::BasicBlock& block : function) {
    Lanes& lanes = small_loops.has(block) ? of_some_lanes : of_lanes_alone;
    for (llvm::Instruction& instruction : block)
      if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(&instruction);
          cast && cast->getType() == lanes.type() && lanes.has(cast->getOperand(0)))
        uses.emplace_back(cast, &lanes);
  }
  for (const auto& [use, lanes] : uses) use->replaceAllUsesWith(lanes->of(use->getOperand(0), false));
  for (const auto& [use, lanes] : uses) llvm::RecursivelyDeleteTriviallyDeadInstructions(use);
}

}  // namespace lockstep::translator

#include "engine/translator/doubt_checks.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace lockstep::translator {
namespace {

using llvm::Value;

// The value that `select (fcmp uno value, ...), -1, others` checks, or null.
Value* checked_value(const llvm::SelectInst& select) {
  const auto* all_ones = llvm::dyn_cast<llvm::Constant>(select.getTrueValue());
  const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(select.getCondition());
  if (!all_ones || !all_ones->isAllOnesValue() || !compare) return nullptr;
  if (compare->getPredicate() != llvm::CmpInst::FCMP_UNO) return nullptr;
  Value *left = compare->getOperand(0), *right = compare->getOperand(1);
  const auto* constant = llvm::dyn_cast<llvm::Constant>(right);
  return left == right || (constant && constant->isNullValue()) ? left : nullptr;
}

// Gives a NaN if any operand is one.
bool passes_nans(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
      return true;
    default:
      break;
  }
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::fma;
}

// Whether the user still holds the value in the lanes where it counts: other views of the bits, sign changes,
// and the choice between new and old lanes (the old ones are off).
bool keeps_nan(const llvm::Instruction& user, const Value& value) {
  switch (user.getOpcode()) {
    case llvm::Instruction::BitCast:
    case llvm::Instruction::FNeg:
      return true;
    case llvm::Instruction::And:
    case llvm::Instruction::Xor: {
      const llvm::APInt* mask = nullptr;
      if (!match(user.getOperand(1), llvm::PatternMatch::m_APInt(mask)) || mask->getBitWidth() < 32)
        return false;
      return user.getOpcode() == llvm::Instruction::And ? mask->isMaxSignedValue() : mask->isMinSignedValue();
    }
    case llvm::Instruction::Select:
      return llvm::cast<llvm::SelectInst>(user).getTrueValue() == &value;
    default:
      return false;
  }
}

// The checks of a run, or of a lane's rounds, by what they check.
class Checks {
 public:
  // `is_behind_rounds`: where it is settled, all rounds are over, of which each made checks of its own.
  Checks(Value& doubt, const llvm::Instruction& settlement, bool is_behind_rounds,
         const llvm::DominatorTree& dominators)
      : settlement_(settlement), is_behind_rounds_(is_behind_rounds), dominators_(dominators) {
    std::vector<Value*> pending{&doubt};
    std::set<Value*> seen;
    while (!pending.empty()) {
      Value* value = pending.back();
      pending.pop_back();
      if (!seen.insert(value).second) continue;
      if (auto* either = llvm::dyn_cast<llvm::BinaryOperator>(value);
          either && either->getOpcode() == llvm::Instruction::Or) {
        pending.push_back(either->getOperand(0));
        pending.push_back(either->getOperand(1));
      } else if (auto* merged = llvm::dyn_cast<llvm::PHINode>(value)) {
        // Behind a body with branches.
        pending.insert(pending.end(), merged->incoming_values().begin(), merged->incoming_values().end());
      } else if (auto* select = llvm::dyn_cast<llvm::SelectInst>(value)) {
        if (Value* checked = checked_value(*select)) {
          checks_[checked] = select;
          pending.push_back(select->getFalseValue());
        }
      }
    }
  }

  void drop_implied() {
    std::vector<llvm::SelectInst*> implied;
    for (const auto& [value, select] : checks_)
      if (is_implied(*value, *select)) implied.push_back(select);
    for (llvm::SelectInst* select : implied) {
      select->replaceAllUsesWith(select->getFalseValue());
      select->eraseFromParent();
    }
  }

 private:
  // Whether it is made whenever `other` is: on all ways to the end of the run, or on the same one.
  bool is_made_with(const llvm::SelectInst& check, const llvm::SelectInst& other) const {
    return check.getParent() == other.getParent() ||
           (!is_behind_rounds_ && dominators_.dominates(&check, &settlement_));
  }
  bool is_implied(Value& value, const llvm::SelectInst& check, unsigned depth = 0) const {
    constexpr unsigned kMaxDepth = 4;
    for (llvm::User* each : value.users()) {
      auto* user = llvm::dyn_cast<llvm::Instruction>(each);
      if (!user) continue;
      if (passes_nans(*user)) {
        const auto later = checks_.find(user);
        if (later != checks_.end() && is_made_with(*later->second, check)) return true;
      } else if (depth < kMaxDepth && keeps_nan(*user, value) && is_implied(*user, check, depth + 1)) {
        return true;
      }
    }
    return false;
  }

  const llvm::Instruction& settlement_;
  const bool is_behind_rounds_;
  const llvm::DominatorTree& dominators_;
  std::map<Value*, llvm::SelectInst*> checks_;
};

constexpr const char* kOfRounds = "lockstep.doubt_of_rounds";

}  // namespace

void mark_doubt_of_rounds(llvm::Instruction& settlement) {
  settlement.setMetadata(kOfRounds, llvm::MDNode::get(settlement.getContext(), {}));
}

void drop_implied_checks(llvm::Function& function) {
  std::vector<llvm::Instruction*> settlements;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      const bool is_of_run = call && call->getIntrinsicID() == llvm::Intrinsic::vector_reduce_or;
      if (is_of_run || instruction.hasMetadata(kOfRounds)) settlements.push_back(&instruction);
    }
  }
  const llvm::DominatorTree dominators(function);
  for (llvm::Instruction* each : settlements)
    Checks(*each->getOperand(0), *each, each->hasMetadata(kOfRounds), dominators).drop_implied();
}

namespace {

// Whether a NaN in `from`, of the round before where `header` merges it, is one in `value`, too.
bool is_nan_with(Value* value, const Value* from, const llvm::BasicBlock& header, unsigned depth = 0) {
  constexpr unsigned kMaxDepth = 8;
  if (value == from) return true;
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || depth == kMaxDepth || llvm::isa<llvm::PHINode>(instruction)) return false;
  return std::ranges::any_of(instruction->operands(), [&](llvm::Use& operand) {
    return (passes_nans(*instruction) || keeps_nan(*instruction, *operand)) &&
           is_nan_with(operand, from, header, depth + 1);
  });
}

// Of a round of the loop with this header: whether what is a NaN there makes it one in the next.
bool stays_nan(Value* value, const llvm::BasicBlock& header, const llvm::BasicBlock& latch) {
  return std::ranges::any_of(header.phis(), [&](const llvm::PHINode& merged) {
    return is_nan_with(merged.getIncomingValueForBlock(&latch), value, header) &&
           is_nan_with(value, &merged, header);
  });
}

}  // namespace

void check_last_rounds(llvm::Function& function) {
  for (llvm::BasicBlock& header : function) {
    for (llvm::PHINode& doubt : header.phis()) {
      if (!doubt.getType()->isIntOrIntVectorTy(32) || doubt.getNumIncomingValues() != 2) continue;
      const auto is_none = [](const Value* value) {
        const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
        return constant && constant->isNullValue();
      };
      const unsigned last = is_none(doubt.getIncomingValue(0)) ? 1 : 0;
      if (!is_none(doubt.getIncomingValue(1 - last))) continue;
      llvm::BasicBlock& latch = *doubt.getIncomingBlock(last);
      // Of the round: a sum of checks that ends in what was there before.
      Value* sum = doubt.getIncomingValue(last);
      bool stays = true;
      while (auto* select = llvm::dyn_cast<llvm::SelectInst>(sum)) {
        Value* checked = checked_value(*select);
        stays = stays && checked && stays_nan(checked, header, latch);
        sum = select->getFalseValue();
      }
      if (stays && sum == &doubt) doubt.setIncomingValue(last, llvm::Constant::getNullValue(doubt.getType()));
    }
  }
}

namespace {

// A comparison of lanes, or of what they are together, with zero; null if it is none.
Value* compared_with_zero(const llvm::ICmpInst& compare) {
  const auto* zero = llvm::dyn_cast<llvm::Constant>(compare.getOperand(1));
  const bool is_one = compare.getPredicate() == llvm::CmpInst::ICMP_NE && zero && zero->isNullValue();
  return is_one ? compare.getOperand(0) : nullptr;
}

bool is_lanes(const Value& value) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value.getType());
  return type && type->getElementType()->isIntegerTy(32);
}

// Which lanes are not zero, as a mask, made where the lanes are. Null: no masks are in them.
class Masks {
 public:
  Value* of(Value* lanes) {
    const bool is_new = masks_.try_emplace(lanes, nullptr).second;
    if (is_new) masks_[lanes] = made(lanes);
    return masks_[lanes];
  }
  // Null, too, if nobody has asked for it yet.
  Value* known(Value* lanes) const {
    const auto found = masks_.find(lanes);
    return found == masks_.end() ? nullptr : found->second;
  }

 private:
  Value* made(Value* lanes) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(lanes);
    if (!instruction) return nullptr;
    if (auto* merged = llvm::dyn_cast<llvm::PHINode>(instruction)) return merged_mask(*merged);
    const auto any_of = [&](Value* part) -> Value* {
      if (Value* mask = of(part)) return mask;
      llvm::IRBuilder<> ir(instruction);
      return ir.CreateICmpNE(part, llvm::Constant::getNullValue(part->getType()));
    };
    const auto either = [&](Value* a, Value* b) { return llvm::IRBuilder<>(instruction).CreateOr(a, b); };
    if (auto* widened = llvm::dyn_cast<llvm::SExtInst>(instruction))
      return widened->getOperand(0)->getType()->isIntOrIntVectorTy(1) ? widened->getOperand(0) : nullptr;
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(instruction)) {
      const auto* ones = llvm::dyn_cast<llvm::Constant>(select->getTrueValue());
      if (!ones || !ones->isAllOnesValue()) return nullptr;
      if (!select->getCondition()->getType()->isVectorTy()) return nullptr;
      const auto* others = llvm::dyn_cast<llvm::Constant>(select->getFalseValue());
      if (others && others->isNullValue()) return select->getCondition();
      return either(select->getCondition(), any_of(select->getFalseValue()));
    }
    if (instruction->getOpcode() != llvm::Instruction::Or) return nullptr;
    Value *a = instruction->getOperand(0), *b = instruction->getOperand(1);
    return of(a) || of(b) ? either(any_of(a), any_of(b)) : nullptr;
  }

  // Behind a body with branches.
  Value* merged_mask(llvm::PHINode& merged) {
    if (std::ranges::none_of(merged.incoming_values(), [&](Value* lanes) { return of(lanes); }))
      return nullptr;
    auto* type = llvm::CmpInst::makeCmpResultType(merged.getType());
    auto* mask = llvm::PHINode::Create(type, merged.getNumIncomingValues(), "", merged.getIterator());
    for (unsigned i = 0; i < merged.getNumIncomingValues(); ++i) {
      Value* lanes = merged.getIncomingValue(i);
      Value* incoming = of(lanes);
      if (!incoming)
        incoming = llvm::IRBuilder<>(merged.getIncomingBlock(i)->getTerminator())
                       .CreateICmpNE(lanes, llvm::Constant::getNullValue(lanes->getType()));
      mask->addIncoming(incoming, merged.getIncomingBlock(i));
    }
    return mask;
  }

  std::map<Value*, Value*> masks_;
};

// What else is in a sum of checks beside one that a comparison of its own makes; the comparison goes with it.
struct LoneCheck {
  llvm::FCmpInst* compare = nullptr;  // null: there is none
  Value* others = nullptr;
};
llvm::FCmpInst* lone_check(Value* mask, const llvm::BasicBlock* block) {
  auto* compare = llvm::dyn_cast<llvm::FCmpInst>(mask);
  if (!compare || compare->getPredicate() != llvm::CmpInst::FCMP_UNO) return nullptr;
  const auto* constant = llvm::dyn_cast<llvm::Constant>(compare->getOperand(1));
  const bool is_lone =
      compare->getOperand(0) == compare->getOperand(1) || (constant && constant->isNullValue());
  return is_lone && compare->hasOneUse() && compare->getParent() == block ? compare : nullptr;
}
LoneCheck lone_check_in(const llvm::Instruction& either) {
  for (unsigned i : {0u, 1u}) {
    if (auto* found = lone_check(either.getOperand(i), either.getParent()))
      return {found, either.getOperand(1 - i)};
  }
  return {};
}

// Two numbers are compared at once: either is a NaN if they are unordered.
void check_in_pairs(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& each : llvm::make_early_inc_range(block)) {
      if (each.getOpcode() != llvm::Instruction::Or || !each.getType()->isIntOrIntVectorTy(1)) continue;
      const LoneCheck last = lone_check_in(each);
      if (!last.compare) continue;
      Value* others = nullptr;
      llvm::FCmpInst* first = lone_check(last.others, &block);
      if (!first) {
        auto* before = llvm::dyn_cast<llvm::BinaryOperator>(last.others);
        if (!before || before->getOpcode() != llvm::Instruction::Or || !before->hasOneUse() ||
            before->getParent() != &block)
          continue;
        const LoneCheck found = lone_check_in(*before);
        first = found.compare;
        others = found.others;
      }
      if (!first || first == last.compare) continue;
      Value *a = first->getOperand(0), *b = last.compare->getOperand(0);
      if (a->getType() != b->getType()) continue;
      llvm::IRBuilder<> ir(&each);
      Value* both = ir.CreateFCmpUNO(a, b);
      each.replaceAllUsesWith(others ? ir.CreateOr(others, both) : both);
      llvm::RecursivelyDeleteTriviallyDeadInstructions(&each);
    }
  }
}

}  // namespace

void check_lanes_in_pairs(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& each : llvm::make_early_inc_range(block)) {
      auto* last = llvm::dyn_cast<llvm::SelectInst>(&each);
      if (!last || !checked_value(*last)) continue;
      auto* first = llvm::dyn_cast<llvm::SelectInst>(last->getFalseValue());
      if (!first || !first->hasOneUse() || !checked_value(*first)) continue;
      const llvm::FCmpInst *a = lone_check(first->getCondition(), &block),
                           *b = lone_check(last->getCondition(), &block);
      if (!a || !b || a->getOperand(0)->getType() != b->getOperand(0)->getType()) continue;
      llvm::IRBuilder<> ir(last);
      Value* both = ir.CreateFCmpUNO(a->getOperand(0), b->getOperand(0));
      last->replaceAllUsesWith(ir.CreateSelect(both, last->getTrueValue(), first->getFalseValue()));
      llvm::RecursivelyDeleteTriviallyDeadInstructions(last);
    }
  }
}

void keep_doubt_as_masks(llvm::Function& function) {
  std::vector<std::pair<llvm::ICmpInst*, llvm::IntrinsicInst*>> together;
  std::vector<llvm::ICmpInst*> of_chunks;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
      Value* compared = compare ? compared_with_zero(*compare) : nullptr;
      if (!compared) continue;
      auto* reduction = llvm::dyn_cast<llvm::IntrinsicInst>(compared);
      if (is_lanes(*compared))
        of_chunks.push_back(compare);
      else if (reduction && reduction->getIntrinsicID() == llvm::Intrinsic::vector_reduce_or &&
               is_lanes(*reduction->getArgOperand(0)))
        together.emplace_back(compare, reduction);
    }
  }
  Masks masks;
  std::vector<llvm::WeakTrackingVH> unused;
  const auto answer = [&](llvm::ICmpInst* compare, Value* with) {
    unused.emplace_back(compare->getOperand(0));
    compare->replaceAllUsesWith(with);
    compare->eraseFromParent();
  };
  for (const auto& [compare, reduction] : together) {
    Value* mask = masks.of(reduction->getArgOperand(0));
    if (!mask) continue;
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
    llvm::IRBuilder<> ir(compare);
    answer(compare, ir.CreateICmpNE(ir.CreateBitCast(mask, ir.getIntNTy(lanes)), ir.getIntN(lanes, 0)));
  }
  for (llvm::ICmpInst* compare : of_chunks)
    if (Value* mask = masks.known(compare->getOperand(0))) answer(compare, mask);
  for (llvm::WeakTrackingVH& value : unused)
    if (value) llvm::RecursivelyDeleteTriviallyDeadInstructions(value);
  check_in_pairs(function);
}

}  // namespace lockstep::translator

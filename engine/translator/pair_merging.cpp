#include "engine/translator/pair_merging.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/translator/pair_folding.h"

namespace lockstep::translator {
namespace {

using llvm::PHINode;
using llvm::Value;

// The low word's and the high word's, of one block.
using Merge = std::pair<PHINode*, PHINode*>;

class Merging {
 public:
  explicit Merging(llvm::Function& function) : dominators_(function) {}
  // Not before, since they tell merges apart.
  ~Merging() {
    for (PHINode* word : unused_) word->eraseFromParent();
  }
  Merging(const Merging&) = delete;
  Merging& operator=(const Merging&) = delete;

  void merge(Value* low, Value* high) {
    const Merge merge = merge_of(low, high);
    if (!merge.first || numbers_.contains(merge)) return;
    found_.clear();
    has_number_ = false;
    if (!collect(merge) || !has_number_) return;
    for (const Merge& each : found_) {
      llvm::IRBuilder<> ir(each.first);
      auto* type = each.first->getType()->getWithNewBitWidth(64);
      numbers_[each] = ir.CreatePHI(type, each.first->getNumIncomingValues());
    }
    for (const Merge& each : found_) fill(each);
    for (const Merge& each : found_) take_apart(each);
  }

 private:
  static Merge merge_of(Value* low, Value* high) {
    auto *low_merge = llvm::dyn_cast<PHINode>(low), *high_merge = llvm::dyn_cast<PHINode>(high);
    if (!low_merge || !high_merge || low_merge == high_merge) return {};
    return low_merge->getParent() == high_merge->getParent() ? Merge{low_merge, high_merge} : Merge{};
  }

  // Into found_, with all that it needs. Before a loop numbers may be joined, in it they may not.
  bool collect(const Merge& merge) {
    if (numbers_.contains(merge) || !found_.insert(merge).second) return true;
    const llvm::BasicBlock* block = merge.first->getParent();
    const auto comes_back = [&](const llvm::BasicBlock* from) { return dominators_.dominates(block, from); };
    const bool is_header = std::ranges::any_of(merge.first->blocks(), comes_back);
    for (unsigned i = 0; i < merge.first->getNumIncomingValues(); ++i) {
      const llvm::BasicBlock* from = merge.first->getIncomingBlock(i);
      if (is_header && !comes_back(from)) continue;
      if (!is_whole(merge.first->getIncomingValue(i), merge.second->getIncomingValueForBlock(from)))
        return false;
    }
    return true;
  }

  bool is_whole(Value* low, Value* high) {
    if (number_of_words(low, high)) {
      has_number_ = true;
      return true;
    }
    if (llvm::isa<llvm::Constant>(low) && llvm::isa<llvm::Constant>(high)) return true;
    if (const Merge merge = merge_of(low, high); merge.first) return collect(merge);
    const auto [low_choice, high_choice] = choices(low, high);
    return low_choice && is_whole(low_choice->getTrueValue(), high_choice->getTrueValue()) &&
           is_whole(low_choice->getFalseValue(), high_choice->getFalseValue());
  }

  // Between new and old lanes.
  static std::pair<llvm::SelectInst*, llvm::SelectInst*> choices(Value* low, Value* high) {
    auto *a = llvm::dyn_cast<llvm::SelectInst>(low), *b = llvm::dyn_cast<llvm::SelectInst>(high);
    return a && b && a->getCondition() == b->getCondition() ? std::pair{a, b} : std::pair{nullptr, nullptr};
  }

  void fill(const Merge& merge) {
    PHINode* number = numbers_.at(merge);
    for (unsigned i = 0; i < merge.first->getNumIncomingValues(); ++i) {
      llvm::BasicBlock* from = merge.first->getIncomingBlock(i);
      // One value for each block, however many ways lead from there.
      const int known = number->getBasicBlockIndex(from);
      llvm::IRBuilder<> ir(from->getTerminator());
      number->addIncoming(known >= 0 ? number->getIncomingValue(static_cast<unsigned>(known))
                                     : whole(merge.first->getIncomingValue(i),
                                             merge.second->getIncomingValueForBlock(from), ir),
                          from);
    }
  }

  Value* whole(Value* low, Value* high, llvm::IRBuilder<>& ir) {
    if (Value* number = number_of_words(low, high)) return number;
    if (const auto found = numbers_.find(merge_of(low, high)); found != numbers_.end()) return found->second;
    if (const auto [low_choice, high_choice] = choices(low, high); low_choice)
      return ir.CreateSelect(low_choice->getCondition(),
                             whole(low_choice->getTrueValue(), high_choice->getTrueValue(), ir),
                             whole(low_choice->getFalseValue(), high_choice->getFalseValue(), ir));
    return join_words(ir, low, high);
  }

  // Words that somebody reads for themselves are taken out of the number there: mostly where waves leave.
  void take_apart(const Merge& merge) {
    PHINode* number = numbers_.at(merge);
    for (PHINode* word : {merge.first, merge.second}) {
      std::map<llvm::BasicBlock*, Value*> words;
      const auto word_in = [&](llvm::BasicBlock* block) {
        Value*& taken = words[block];
        if (taken) return taken;
        llvm::IRBuilder<> ir(&*block->getFirstInsertionPt());
        return taken =
                   ir.CreateTrunc(word == merge.first ? number : ir.CreateLShr(number, 32), word->getType());
      };
      for (llvm::Use& use : llvm::make_early_inc_range(word->uses())) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        auto* at = llvm::dyn_cast<PHINode>(user);
        use.set(word_in(at ? at->getIncomingBlock(use) : user->getParent()));
      }
      unused_.push_back(word);
    }
  }

  const llvm::DominatorTree dominators_;
  std::map<Merge, PHINode*> numbers_;
  std::set<Merge> found_;
  bool has_number_ = false;
  std::vector<PHINode*> unused_;
};

}  // namespace

void merge_pairs(llvm::Function& function, bool has_scalars) {
  std::vector<llvm::WeakTrackingVH> joins;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& each : block)
      if ((has_scalars || each.getType()->isVectorTy()) && joined_words(each)) joins.emplace_back(&each);
  Merging merging(function);
  for (const llvm::WeakTrackingVH& join : joins)
    if (const auto words = joined_words(*llvm::cast<llvm::Instruction>(join)))
      merging.merge(words->first, words->second);
}

}  // namespace lockstep::translator

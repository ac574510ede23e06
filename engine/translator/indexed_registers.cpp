#include "engine/translator/indexed_registers.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/LoopIterator.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace lockstep::translator {
namespace {

namespace match = llvm::PatternMatch;
using llvm::BasicBlock;
using llvm::Instruction;
using llvm::PHINode;
using llvm::SelectInst;
using llvm::Value;

// What fewer elements cost is not worth the memory.
constexpr size_t kFewestElements = 4, kMostElements = 64;

// A comparison of the index with a constant.
struct IndexIs {
  Value* index = nullptr;
  int64_t number = 0;
};

std::optional<IndexIs> index_is(Value* condition) {
  Value* inner = nullptr;
  // Bits of masks go through numbers.
  while (
      match::match(condition, match::m_Trunc(match::m_ZExt(match::m_Value(inner)))) ||
      match::match(condition,
                   match::m_SpecificICmp(llvm::ICmpInst::ICMP_NE,
                                         match::m_And(match::m_ZExt(match::m_Value(inner)), match::m_One()),
                                         match::m_Zero())) ||
      match::match(condition, match::m_SpecificICmp(llvm::ICmpInst::ICMP_NE,
                                                    match::m_ZExt(match::m_Value(inner)), match::m_Zero()))) {
    if (!inner->getType()->isIntegerTy(1)) return std::nullopt;
    condition = inner;
  }
  const llvm::APInt* number = nullptr;
  if (match::match(condition, match::m_SpecificICmp(llvm::ICmpInst::ICMP_EQ, match::m_Value(inner),
                                                    match::m_APInt(number))) ||
      match::match(condition, match::m_SpecificICmp(llvm::ICmpInst::ICMP_EQ, match::m_APInt(number),
                                                    match::m_Value(inner))))
    if (inner->getType()->isIntegerTy(32)) return IndexIs{inner, number->getSExtValue()};
  return std::nullopt;
}

// One store into an array: selects of a block with the same index and value, by number.
struct Store {
  Value *index = nullptr, *value = nullptr;
  std::map<int64_t, SelectInst*> selects;
  int64_t shift = 0;             // from its numbers to elements
  Instruction* place = nullptr;  // before which memory changes
};

// Values that the elements have at a block's begin and end, by the header's phi.
using Versions = std::map<PHINode*, Value*>;

class LoopArrays {
 public:
  LoopArrays(llvm::Loop& loop, llvm::LoopInfo& loops) : loop_(loop), header_(*loop.getHeader()) {
    llvm::LoopBlocksRPO order(&loop);
    order.perform(&loops);
    blocks_.assign(order.begin(), order.end());
  }

  bool run() {
    find_stores();
    if (stores_.empty() || !loop_.getLoopLatch()) return false;
    follow_versions();
    bool any = false;
    for (const std::set<PHINode*>& phis : arrays()) any |= put_into_memory(phis);
    return any;
  }

 private:
  void find_stores() {
    std::map<std::tuple<BasicBlock*, Value*, Value*>, Store> found;
    std::vector<std::tuple<BasicBlock*, Value*, Value*>> order;
    for (BasicBlock* block : blocks_)
      for (Instruction& instruction : *block) {
        auto* select = llvm::dyn_cast<SelectInst>(&instruction);
        if (!select || !select->getType()->isIntegerTy(32)) continue;
        const auto is = index_is(select->getCondition());
        if (!is) continue;
        const std::tuple key(block, is->index, select->getTrueValue());
        if (!found.contains(key)) order.push_back(key);
        Store& store = found[key];
        store.index = is->index;
        store.value = select->getTrueValue();
        store.selects.emplace(is->number, select);
      }
    for (const auto& key : order) {
      const Store& store = found.at(key);
      if (store.selects.size() < kFewestElements || store.selects.size() > kMostElements) continue;
      const int64_t first = store.selects.begin()->first, last = store.selects.rbegin()->first;
      if (static_cast<size_t>(last - first + 1) != store.selects.size()) continue;
      for (const auto& [number, select] : store.selects) store_of_[select] = stores_.size();
      stores_.push_back(store);
    }
  }

  // What each phi of the header that stores change has become, from block to block.
  void follow_versions() {
    for (PHINode& phi : header_.phis())
      if (phi.getType()->isIntegerTy(32)) at_begin_[&header_][&phi] = &phi;
    for (BasicBlock* block : blocks_) {
      if (block != &header_) merge(*block);
      Versions versions = at_begin_[block];
      std::map<Value*, PHINode*> phi_of;
      for (const auto& [phi, value] : versions) phi_of.emplace(value, phi);
      for (Instruction& instruction : *block) {
        auto* select = llvm::dyn_cast<SelectInst>(&instruction);
        if (!select || !store_of_.contains(select)) continue;
        const auto found = phi_of.find(select->getFalseValue());
        if (found == phi_of.end()) continue;
        PHINode* phi = found->second;
        versions[phi] = select;
        phi_of.emplace(select, phi);
        element_of_[select] = phi;
      }
      at_end_[block] = std::move(versions);
    }
    const Versions& last = at_end_[loop_.getLoopLatch()];
    for (PHINode& phi : header_.phis()) {
      const auto found = last.find(&phi);
      if (found != last.end() && found->second == phi.getIncomingValueForBlock(loop_.getLoopLatch()))
        elements_.insert(&phi);
    }
  }

  void merge(BasicBlock& block) {
    const std::vector<BasicBlock*> from(llvm::pred_begin(&block), llvm::pred_end(&block));
    Versions versions;
    for (const auto& [phi, value] : at_end_[from[0]]) {
      Versions ways;
      const auto value_from = [&, phi = phi](BasicBlock* way) -> Value* {
        const auto all = at_end_.find(way);
        if (all == at_end_.end()) return nullptr;
        const auto found = all->second.find(phi);
        return found == all->second.end() ? nullptr : found->second;
      };
      if (std::ranges::all_of(from, [&](BasicBlock* way) { return value_from(way) == value; })) {
        versions[phi] = value;
        continue;
      }
      for (PHINode& join : block.phis())
        if (std::ranges::all_of(from, [&](BasicBlock* way) {
              return value_from(way) && value_from(way) == join.getIncomingValueForBlock(way);
            })) {
          versions[phi] = &join;
          joins_.insert({&join, phi});
          break;
        }
    }
    at_begin_[&block] = std::move(versions);
  }

  // Phis that stores change together.
  std::vector<std::set<PHINode*>> arrays() {
    std::vector<std::set<PHINode*>> found;
    for (const Store& store : stores_) {
      std::set<PHINode*> phis;
      for (const auto& [number, select] : store.selects) {
        const auto element = element_of_.find(select);
        if (element == element_of_.end() || !elements_.contains(element->second)) {
          phis.clear();
          break;
        }
        phis.insert(element->second);
      }
      if (phis.size() != store.selects.size()) continue;
      for (auto other = found.begin(); other != found.end();) {
        if (std::ranges::none_of(*other, [&](PHINode* phi) { return phis.contains(phi); })) {
          ++other;
          continue;
        }
        phis.insert(other->begin(), other->end());
        other = found.erase(other);
      }
      found.push_back(std::move(phis));
    }
    return found;
  }

  struct Array {
    std::map<PHINode*, int64_t> elements;
    std::vector<Store*> stores;  // in the order of blocks and instructions
    int64_t first = 0;
    size_t count = 0;
    llvm::AllocaInst* memory = nullptr;
  };

  // The same element is the same number to all stores, but for what they add to it.
  bool number_elements(Array& array, const std::set<PHINode*>& phis) {
    for (bool is_first = true; Store & store : stores_) {
      const bool is_of_array = std::ranges::any_of(store.selects, [&](const auto& each) {
        const auto element = element_of_.find(each.second);
        return element != element_of_.end() && phis.contains(element->second);
      });
      if (!is_of_array) continue;
      std::optional<int64_t> shift;
      if (std::exchange(is_first, false)) shift = 0;
      for (const auto& [number, select] : store.selects) {
        const auto element = element_of_.find(select);
        if (element == element_of_.end() || !phis.contains(element->second)) return false;
        const auto known = array.elements.find(element->second);
        if (known == array.elements.end()) continue;
        if (shift && *shift != known->second - number) return false;
        shift = known->second - number;
      }
      if (!shift) return false;
      store.shift = *shift;
      for (const auto& [number, select] : store.selects) {
        const int64_t element = number + *shift;
        const auto [known, is_new] = array.elements.emplace(element_of_.at(select), element);
        if (!is_new && known->second != element) return false;
      }
      array.stores.push_back(&store);
    }
    std::set<int64_t> numbers;
    for (const auto& [phi, number] : array.elements) numbers.insert(number);
    if (numbers.size() != array.elements.size() || array.elements.size() != phis.size()) return false;
    array.first = *numbers.begin();
    array.count = numbers.size();
    return *numbers.rbegin() - array.first + 1 == static_cast<int64_t>(array.count);
  }

  bool is_of(const Array& array, const Value* value) const {
    if (const auto* select = llvm::dyn_cast<SelectInst>(value)) {
      const auto element = element_of_.find(select);
      return element != element_of_.end() && array.elements.contains(element->second);
    }
    const auto* phi = llvm::dyn_cast<PHINode>(value);
    if (!phi) return false;
    if (array.elements.contains(const_cast<PHINode*>(phi))) return true;
    return std::ranges::any_of(
        joins_, [&](const auto& join) { return join.first == phi && array.elements.contains(join.second); });
  }

  // Memory changes as late as it can: before the first instruction that reads what the store has made.
  void find_places(Array& array) const {
    for (Store* store : array.stores) {
      BasicBlock* block = store->selects.begin()->second->getParent();
      Instruction* place = block->getTerminator();
      for (const auto& [number, select] : store->selects)
        for (llvm::User* user : select->users()) {
          auto* reader = llvm::cast<Instruction>(user);
          if (reader->getParent() != block || llvm::isa<PHINode>(reader) ||
              is_store_into(array, *reader, *select))
            continue;
          if (reader->comesBefore(place)) place = reader;
        }
      store->place = place;
    }
    for (size_t i = array.stores.size(); i-- > 1;) {
      Store &earlier = *array.stores[i - 1], &later = *array.stores[i];
      if (earlier.place->getParent() == later.place->getParent() && later.place->comesBefore(earlier.place))
        earlier.place = later.place;
    }
  }

  bool is_store_into(const Array& array, const Instruction& user, const Value& old) const {
    const auto* select = llvm::dyn_cast<SelectInst>(&user);
    return select && is_of(array, select) && select->getFalseValue() == &old &&
           select->getTrueValue() != &old;
  }

  // In its block.
  static bool is_before(const Store& store, const Instruction& at) {
    return store.place->getParent() == at.getParent() &&
           (store.place == &at || store.place->comesBefore(&at));
  }

  // What memory has at an instruction of the loop, by element; of phis at the end of the way that they are
  // for. `before`: in front of the stores at that place.
  Versions versions_at(const Array& array, const Instruction& at, bool before = false) {
    Versions versions = at_begin_[const_cast<BasicBlock*>(at.getParent())];
    for (const Store* store : array.stores)
      if (is_before(*store, at) && !(before && store->place == &at))
        for (const auto& [number, select] : store->selects) versions[element_of_.at(select)] = select;
    return versions;
  }

  struct Read {
    llvm::Use* use = nullptr;
    Instruction* place = nullptr;
    int64_t element = 0;
    bool before = false;  // the stores there
  };

  std::optional<int64_t> element_at(const Array& array, const Versions& versions, const Value* value) const {
    for (const auto& [phi, number] : array.elements) {
      const auto found = versions.find(phi);
      if (found != versions.end() && found->second == value) return number;
    }
    return std::nullopt;
  }

  // A load at an index, which ends with `last`.
  struct Load {
    SelectInst* last = nullptr;
    Value *index = nullptr, *otherwise = nullptr;
    std::optional<int64_t> other_element;  // what `otherwise` is
    int64_t first = 0, count = 0, shift = 0;
    std::vector<SelectInst*> selects;
  };

  std::optional<Load> load_at(const Array& array, SelectInst& last) {
    const auto is = index_is(last.getCondition());
    if (!is) return std::nullopt;
    const Versions versions = versions_at(array, last);
    Load load;
    load.last = &last;
    load.index = is->index;
    std::set<int64_t> numbers;
    std::optional<int64_t> shift;
    Value* next = &last;
    for (auto* select = &last; select; select = llvm::dyn_cast<SelectInst>(next)) {
      const auto link = index_is(select->getCondition());
      if (is_of(array, select) || !link || link->index != load.index ||
          select->getParent() != last.getParent())
        break;
      const auto element = element_at(array, versions, select->getTrueValue());
      if (!element || (shift && *element - link->number != *shift) || !numbers.insert(link->number).second)
        break;
      shift = *element - link->number;
      load.selects.push_back(select);
      next = select->getFalseValue();
    }
    if (numbers.size() < kFewestElements) return std::nullopt;
    load.otherwise = next;
    load.other_element = element_at(array, versions, next);
    load.shift = *shift;
    load.first = *numbers.begin();
    load.count = *numbers.rbegin() - load.first + 1;
    if (load.count != static_cast<int64_t>(numbers.size())) return std::nullopt;
    return load;
  }

  bool put_into_memory(const std::set<PHINode*>& phis) {
    Array array;
    if (!number_elements(array, phis)) return false;
    find_places(array);
    std::vector<Load> loads;
    std::set<const Instruction*> replaced;
    for (BasicBlock* block : blocks_)
      for (Instruction& instruction : llvm::reverse(*block)) {
        auto* select = llvm::dyn_cast<SelectInst>(&instruction);
        if (!select || replaced.contains(select) || is_of(array, select)) continue;
        const auto load = load_at(array, *select);
        if (!load) continue;
        loads.push_back(*load);
        // What others read stays, with reads of its own.
        for (size_t i = 0; i < load->selects.size(); ++i) {
          if (i > 0 && !load->selects[i]->hasOneUse()) break;
          replaced.insert(load->selects[i]);
        }
      }
    std::vector<Read> reads;
    if (!find_reads(array, replaced, reads)) return false;
    emit(array, loads, reads);
    return true;
  }

  // All that reads elements finds in memory what it reads in a value now.
  bool find_reads(const Array& array, const std::set<const Instruction*>& replaced,
                  std::vector<Read>& reads) {
    for (BasicBlock* block : blocks_)
      for (Instruction& value : *block) {
        if (!is_of(array, &value)) continue;
        for (llvm::Use& use : value.uses()) {
          auto* user = llvm::cast<Instruction>(use.getUser());
          if (is_store_into(array, *user, value) || replaced.contains(user)) continue;
          auto* phi = llvm::dyn_cast<PHINode>(user);
          if (phi && loop_.contains(phi) && is_of(array, phi)) continue;
          Instruction* place = phi ? phi->getIncomingBlock(use)->getTerminator() : user;
          if (!loop_.contains(place)) return false;
          if (const auto element = element_at(array, versions_at(array, *place), &value))
            reads.push_back({&use, place, *element});
          else if (const auto old = old_read(array, use, value, *place))
            reads.push_back(*old);
          else
            return false;
        }
      }
    return true;
  }

  // What an element was before a store of the block, read behind that.
  std::optional<Read> old_read(const Array& array, llvm::Use& use, const Value& value,
                               const Instruction& at) {
    for (const Store* store : array.stores) {
      if (!is_before(*store, at)) continue;
      if (const auto element = element_at(array, versions_at(array, *store->place, true), &value))
        return Read{&use, store->place, *element, true};
    }
    return std::nullopt;
  }

  void emit(Array& array, const std::vector<Load>& loads, const std::vector<Read>& reads) {
    BasicBlock& entry = header_.getParent()->getEntryBlock();
    llvm::IRBuilder<> ir(&entry, entry.begin());
    // The last one is where stores go that are to none of them.
    auto* type = llvm::ArrayType::get(ir.getInt32Ty(), array.count + 1);
    array.memory = ir.CreateAlloca(type);
    const auto place_of = [&](Value* element) {
      return ir.CreateInBoundsGEP(type, array.memory,
                                  {ir.getInt64(0), ir.CreateZExt(element, ir.getInt64Ty())});
    };
    const auto number = [&](int64_t value) { return ir.getInt32(static_cast<uint32_t>(value)); };
    const auto element_of = [&](Value* index, int64_t first, int64_t count, int64_t shift,
                                int64_t otherwise) {
      Value* inside = ir.CreateICmpULT(ir.CreateSub(index, number(first)), number(count));
      Value* element = ir.CreateAdd(index, number(shift - array.first));
      return std::pair(ir.CreateSelect(inside, element, number(otherwise)), inside);
    };
    const auto emit_read = [&](const Read& read) {
      ir.SetInsertPoint(read.place);
      read.use->set(ir.CreateLoad(ir.getInt32Ty(), place_of(number(read.element - array.first))));
    };
    for (const Read& read : reads)
      if (read.before) emit_read(read);
    // At one place memory changes first, since all else that is there reads what it has then.
    for (Store* store : array.stores) {
      ir.SetInsertPoint(store->place);
      const auto count = static_cast<int64_t>(store->selects.size());
      Value* element = element_of(store->index, store->selects.begin()->first, count, store->shift,
                                  static_cast<int64_t>(array.count))
                           .first;
      ir.CreateStore(store->value, place_of(element));
    }
    for (const Load& load : loads) {
      ir.SetInsertPoint(load.last);
      const int64_t other = load.other_element.value_or(array.first) - array.first;
      const auto [element, inside] = element_of(load.index, load.first, load.count, load.shift, other);
      Value* loaded = ir.CreateLoad(ir.getInt32Ty(), place_of(element));
      if (!load.other_element) loaded = ir.CreateSelect(inside, loaded, load.otherwise);
      load.last->replaceAllUsesWith(loaded);
    }
    for (const Read& read : reads)
      if (!read.before) emit_read(read);
    for (BasicBlock* from : llvm::predecessors(&header_)) {
      if (loop_.contains(from)) continue;
      ir.SetInsertPoint(from->getTerminator());
      for (const auto& [phi, element] : array.elements)
        ir.CreateStore(phi->getIncomingValueForBlock(from), place_of(number(element - array.first)));
    }
  }

  llvm::Loop& loop_;
  BasicBlock& header_;
  std::vector<BasicBlock*> blocks_;
  std::vector<Store> stores_;
  std::map<const SelectInst*, size_t> store_of_;
  std::map<BasicBlock*, Versions> at_begin_, at_end_;
  std::map<const SelectInst*, PHINode*> element_of_;
  std::set<std::pair<const PHINode*, PHINode*>> joins_;
  std::set<PHINode*> elements_;  // which are at the loop's end what their phis say
};

// Long blocks come in parts (routine.cpp), and all of an array's selects are looked for in one.
void join_blocks(llvm::Loop& loop, llvm::LoopInfo& loops) {
  const std::vector<BasicBlock*> blocks(loop.block_begin(), loop.block_end());
  for (BasicBlock* block : blocks)
    if (block != loop.getHeader()) llvm::MergeBlockIntoPredecessor(block, nullptr, &loops);
}

}  // namespace

bool index_registers(llvm::Function& function) {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  bool any = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder())
    if (loop->isInnermost()) {
      join_blocks(*loop, loops);
      any |= LoopArrays(*loop, loops).run();
    }
  return any;
}

}  // namespace lockstep::translator

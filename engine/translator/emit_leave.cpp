// How waves leave translated code, and what they take along: registers that are not in the Wave yet.
#include <algorithm>
#include <cstddef>

#include "engine/translator/emitter.h"
#include "state/wave.h"

namespace lockstep::translator {

using llvm::BasicBlock;

// One way out for all that leave. `counted_from`: what a turn has where budgets count down from 0; may be
// null.
void Emitter::begin_leave(Value* counted_from) {
  const auto field = [&](size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), wave(), offset);
  };
  leave_ = new_block("leave");
  ir_.SetInsertPoint(leave_);
  leave_offset_ = ir_.CreatePHI(i64_, 8);
  leave_budget_ = ir_.CreatePHI(i64_, 8);
  leave_state_ = ir_.CreatePHI(ir_.getInt8Ty(), 8);
  leave_how_ = ir_.CreatePHI(i32_, 8);
  store_all_kept_rows();
  ir_.CreateStore(ir_.CreateAdd(entry_address(), leave_offset_), field(offsetof(Wave, pc)));
  Value* budget = counted_from ? ir_.CreateAdd(leave_budget_, counted_from) : leave_budget_;
  ir_.CreateStore(budget, field(offsetof(Wave, budget)));
  ir_.CreateStore(leave_state_, field(offsetof(Wave, state)));
}

// What store_to_wave() would store.
std::vector<Emitter::Unstored> Emitter::unstored(const Locals& locals, RegisterSet which) const {
  which &= locals.dirty & locals.held;
  std::vector<Unstored> result;
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!which[r]) continue;
    for (unsigned chunk = 0; chunk < (is_vgpr(r) ? chunks_ : 1); ++chunk) {
      Unstored each{r, chunk};
      each.value = is_vgpr(r) ? locals.vgpr[r][chunk] : locals.scalar[r - kFirstScalar];
      if (is_vgpr(r)) {
        if (const auto found = locals.linear.find(r);
            !each.value && found != locals.linear.end() && found->second[chunk]) {
          const Linear& linear = *found->second[chunk];
          each.value = linear.is_high ? linear.first_of_pair : linear.first;
          each.linear = found->second[chunk];
        }
        each.off_lanes = locals.off_lanes[r][chunk];
        if (each.off_lanes) each.exec = locals.scalar[kExec + chunk / 2 - kFirstScalar];
      }
      result.push_back(each);
    }
  }
  return result;
}

void Emitter::store_to_wave(const Unstored& unstored) {
  const auto& [r, chunk, known, off_lanes, known_exec, linear] = unstored;
  Value* value = linear ? lanes_of(*linear) : known;
  if (!value) value = ir_.CreateLoad(slot(r, chunk)->getAllocatedType(), slot(r, chunk));
  if (off_lanes) {
    // A merge that waited; EXEC is what it was when the value was written.
    Value* exec = known_exec ? known_exec : ir_.CreateLoad(i32_, slot(kExec + chunk / 2));
    value = ir_.CreateSelect(ir_.CreateBitCast(half_bits(exec, chunk), lane_mask_), value, off_lanes);
  }
  ir_.CreateAlignedStore(value, wave_address(r, chunk), llvm::Align(4));
}

void Emitter::store_to_wave(const Locals& locals, const RegisterSet& which) {
  for (const Unstored& each : unstored(locals, which)) store_to_wave(each);
}

void Emitter::leave(Value* offset, Value* budget, WaveState state, Value* how) {
  BasicBlock* from = ir_.GetInsertBlock();
  leave_offset_->addIncoming(offset, from);
  leave_budget_->addIncoming(budget, from);
  leave_state_->addIncoming(ir_.getInt8(static_cast<uint8_t>(state)), from);
  leave_how_->addIncoming(how, from);
  ir_.CreateBr(leave_);
}

void Emitter::leave(Value* offset, Value* budget, WaveState state, Leave how) {
  leave(offset, budget, state, ir_.getInt32(static_cast<uint32_t>(how)));
}

BasicBlock* Emitter::leave_to_interpreter(const Snapshot& at, Leave how) {
  if (compact_) return leave_compact(how);
  leaves_.push_back(
      {new_block("interpret"), how, at.node, unstored(at.locals, facts_.nodes[at.node].live.all())});
  return leaves_.back().block;
}

// Most registers are the same at many places one behind the other where the wave may leave. So these places
// are the leaves of a tree: each stores what is its own and goes on to its parent, which stores what is the
// same at all places below it. When each place had all stores, these were a third of the code.
void Emitter::emit_leaves() {
  if (leaves_.empty()) return;
  llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  std::vector<UnstoredSpan> spans;
  std::map<std::pair<unsigned, unsigned>, size_t> latest;  // by register and chunk
  for (size_t i = 0; i < leaves_.size(); ++i) {
    for (const Unstored& each : leaves_[i].unstored) {
      const auto [found, is_new] = latest.try_emplace({each.number, each.chunk}, spans.size());
      if (!is_new && spans[found->second].last == i && spans[found->second].unstored == each) {
        ++spans[found->second].last;
      } else {
        found->second = spans.size();
        spans.push_back({i, i + 1, each});
      }
    }
  }
  BasicBlock* root = new_block("interpreter");
  emit_leaves(0, leaves_.size(), spans, root);
  ir_.SetInsertPoint(root);
  leave(ir_.CreateLoad(i64_, leave_place_),
        ir_.CreateSub(ir_.CreateLoad(i64_, budget_), ir_.CreateLoad(i64_, leave_executed_)), WaveState::ready,
        ir_.CreateLoad(i32_, leave_why_));
  leaves_.clear();
}

void Emitter::emit_leaves(size_t first, size_t last, const std::vector<UnstoredSpan>& spans,
                          BasicBlock* parent) {
  const auto is_whole = [&](const UnstoredSpan& span) { return span.first <= first && span.last >= last; };
  const bool is_leaf = last - first == 1;
  if (is_leaf || std::ranges::any_of(spans, is_whole)) {
    BasicBlock* block = is_leaf ? leaves_[first].block : new_block("interpret_some");
    ir_.SetInsertPoint(block);
    for (const UnstoredSpan& span : spans)
      if (is_whole(span)) store_to_wave(span.unstored);
    if (is_leaf) {
      const PendingLeave& leaf = leaves_[first];
      ir_.CreateStore(ir_.getInt64(static_cast<uint64_t>(routine_.nodes[leaf.node].offset)), leave_place_);
      ir_.CreateStore(ir_.getInt64(leaf.node - block_first_), leave_executed_);
      ir_.CreateStore(ir_.getInt32(static_cast<uint32_t>(leaf.how)), leave_why_);
    }
    ir_.CreateBr(parent);
    parent = block;
  }
  if (is_leaf) return;
  const size_t middle = first + (last - first) / 2;
  for (const auto& [begin, end] : {std::pair(first, middle), std::pair(middle, last)}) {
    std::vector<UnstoredSpan> inside;
    for (const UnstoredSpan& span : spans)
      if (!is_whole(span) && span.first < end && span.last > begin) inside.push_back(span);
    emit_leaves(begin, end, inside, parent);
  }
}

// The Wave has others.
void Emitter::forget(const RegisterSet& registers) {
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!registers[r]) continue;
    if (is_vgpr(r)) {
      locals_.vgpr[r] = {};
      locals_.linear.erase(r);
      locals_.off_lanes[r] = {};
    } else {
      locals_.scalar[r - kFirstScalar] = nullptr;
    }
    locals_.held.reset(r);
    locals_.dirty.reset(r);
  }
}

// The Wave has all registers. What is known of them stays known, but of those that change.
void Emitter::let_go_of_all(const RegisterSet& changed) {
  forget(changed);
  locals_.vgpr = {};
  locals_.off_lanes = {};
  locals_.linear_in_lanes_on.set();
  locals_.scalar = {};
  locals_.held.reset();
  locals_.dirty.reset();
}

// The interpreter finds in the Wave what it reads, and leaves there what it writes.
void Emitter::emit_call(unsigned index) {
  const Effects& effects = facts_.nodes[index].effects;
  store_to_wave(locals_, effects.reads);
  auto function = runtime("lockstep_translator_call", i1_, {pointer_, pointer_, i64_, i32_});
  auto* callee = llvm::cast<llvm::Function>(function.getCallee());
  callee->addRetAttr(llvm::Attribute::ZExt);
  callee->removeFnAttr(llvm::Attribute::Cold);
  const Node& node = routine_.nodes[index];
  Value* went_on = ir_.CreateCall(
      function,
      {wave(), dispatch_, ir_.getInt64(static_cast<uint64_t>(node.offset)), ir_.getInt32(node.interpreted)});
  forget(effects.reloaded);
  BasicBlock *stopped = new_block("stopped"), *behind = new_block("behind_call");
  branch_unlikely(ir_.CreateNot(went_on), stopped, behind);
  ir_.SetInsertPoint(stopped);
  store_to_wave(locals_, RegisterSet().set());
  Value* budget = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), wave(), offsetof(Wave, budget));
  Value* executed = ir_.CreateAdd(ir_.CreateLoad(i64_, budget), ir_.getInt64(index - block_first_));
  ir_.CreateStore(ir_.CreateSub(ir_.CreateLoad(i64_, budget_), executed), budget);
  ir_.CreateRet(ir_.getInt32(static_cast<uint32_t>(Leave::stopped)));
  ir_.SetInsertPoint(behind);
  for (unsigned r = 0; r < kRegisters; ++r)
    if (effects.reloaded[r]) hold(r);
}

}  // namespace lockstep::translator

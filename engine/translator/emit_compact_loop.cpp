// Loops that go on with the lanes that are on, side by side in one chunk (compact_loops.h). The wave takes
// the same branches for as many rounds, with a part of the work. It is its old self again behind the loop,
// when its budget is used up, and at the begin of a block that cannot be done so: where it may fault or is in
// doubt. Nothing but registers has changed until then, and a block's begin can be gone to again. Behind what
// has changed memory in that block it is the interpreter that goes on from there.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "engine/translator/effects.h"
#include "engine/translator/emitter.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr unsigned kMostLanes = 16, kHalf = 8;
// So many rounds with few lanes pay for making the wave compact and what it was, where a round is small.
// Where as many have been, more are likely, and if not that has cost no more than they did.
constexpr uint32_t kRoundsBefore = 6;
// Half a chunk is less of a gain, and the wave becomes what it was in between.
constexpr uint32_t kRoundsBeforeHalf = 4;
// What a round costs, in vector instructions: accesses, and so many that one round pays.
constexpr unsigned kAccess = 8, kWholeChange = 100;

}  // namespace

unsigned Emitter::first_of_mask(unsigned number) const {
  return number == kScc ? number : number - (number - kFirstScalar) % mask_words();
}

Value* Emitter::compressed(Value* mask, Value* on) {
  const auto bits =
      routine_.wave_size == 32 ? llvm::Intrinsic::x86_bmi_pext_32 : llvm::Intrinsic::x86_bmi_pext_64;
  return ir_.CreateIntrinsic(bits, {}, {mask, on});
}

Value* Emitter::spread(Value* mask, Value* on) {
  const auto bits =
      routine_.wave_size == 32 ? llvm::Intrinsic::x86_bmi_pdep_32 : llvm::Intrinsic::x86_bmi_pdep_64;
  return ir_.CreateIntrinsic(bits, {}, {mask, on});
}

void Emitter::set_whole_mask(unsigned number, Value* mask) {
  set_scalar(number, ir_.CreateTrunc(mask, i32_));
  if (mask_words() == 2) set_scalar(number + 1, ir_.CreateTrunc(ir_.CreateLShr(mask, 32), i32_));
}

// `body` is given the lane, and the number of those before it.
void Emitter::for_each_lane(Value* on, const std::function<void(Value* lane, Value* place)>& body) {
  BasicBlock *from = ir_.GetInsertBlock(), *each = new_block("each_lane"),
             *done = new_block("each_lane_done");
  ir_.CreateBr(each);
  ir_.SetInsertPoint(each);
  llvm::PHINode *left = ir_.CreatePHI(on->getType(), 2), *place = ir_.CreatePHI(i64_, 2);
  left->addIncoming(on, from);
  place->addIncoming(ir_.getInt64(0), from);
  body(ir_.CreateZExt(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, ir_.getTrue()), i64_), place);
  Value* others = ir_.CreateAnd(left, ir_.CreateSub(left, llvm::ConstantInt::get(on->getType(), 1)));
  left->addIncoming(others, each);
  place->addIncoming(ir_.CreateAdd(place, ir_.getInt64(1)), each);
  ir_.CreateCondBr(ir_.CreateICmpNE(others, llvm::Constant::getNullValue(on->getType())), each, done);
  ir_.SetInsertPoint(done);
}

void Emitter::begin_at(unsigned index) {
  block_ = index;
  block_first_ = routine_.blocks[index].first;
  block_last_ = routine_.blocks[index].last;
  plan_ = {};
  is_regular_version_ = false;
  forget_values();
}

uint32_t Emitter::rounds_before_compact(const CompactLoop& loop) const {
  // Who comes with few lanes has few in all rounds.
  if (!loop.do_lanes_leave) return 1;
  const unsigned cost = loop.operations + loop.pairs + kAccess * loop.accesses;
  return std::clamp((kWholeChange + cost) / std::max(cost, 1u), 1u, kRoundsBefore);
}

void Emitter::emit_compact_loop(unsigned header) {
  const LaneEntry& entry = lane_entries_.at(header);
  BasicBlock *few = new_block("few_lanes"), *begin = new_block("compact_begin");
  begin_at(header);
  ir_.SetInsertPoint(entry.block);
  locals_.held = facts_.blocks[header].held;
  locals_.dirty = facts_.blocks[header].dirty;
  Value* exec = whole_mask(kExec);
  Value* lanes = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, exec);
  const auto number_of = [&](uint64_t value) { return llvm::ConstantInt::get(exec->getType(), value); };
  // Counted without a branch, which hosts would not foresee where lanes leave.
  Value* is_few = ir_.CreateICmpULE(lanes, number_of(kMostLanes));
  Value* rounds = ir_.CreateSub(ir_.CreateLoad(i32_, entry.rounds_left), ir_.CreateZExt(is_few, i32_));
  ir_.CreateStore(rounds, entry.rounds_left);
  branch_unlikely(ir_.CreateICmpEQ(rounds, ir_.getInt32(0)), few, blocks_[header]);
  ir_.SetInsertPoint(few);
  is_few = ir_.CreateICmpULT(ir_.CreateSub(lanes, number_of(1)), number_of(kMostLanes));
  BasicBlock *whole = new_block("compact_begin"), *half = new_block("compact_half");
  ir_.CreateCondBr(is_few, begin, blocks_[header]);
  ir_.SetInsertPoint(begin);
  const bool has_half = has_half_version();
  if (has_half)
    ir_.CreateCondBr(ir_.CreateICmpULE(lanes, number_of(kHalf)), half, whole);
  else
    ir_.CreateBr(whole);
  emit_compact_version(header, whole, exec, kMostLanes);
  if (has_half)
    emit_compact_version(header, half, exec, kHalf);
  else
    half->eraseFromParent();
}

// Hosts whose registers have eight lanes.
bool Emitter::has_half_version() const {
  return !has_masked_gathers_;
}

void Emitter::emit_compact_version(unsigned header, BasicBlock* begin, Value* exec, unsigned most_lanes) {
  const CompactLoop& loop = compact_loops_.at(header);
  CompactWave compact{.loop = &loop, .header = header, .on = exec, .most_lanes = most_lanes};
  if (most_lanes != kHalf && has_half_version() && loop.do_lanes_leave) {
    compact.way_to_half = new_block("way_to_half");
    compact.rounds_left = alloca_of(i32_);
  }
  for (unsigned b : loop.blocks) compact.blocks[b] = new_block("compact");
  begin_at(header);
  ir_.SetInsertPoint(begin);
  locals_.held = facts_.blocks[header].held;
  locals_.dirty = facts_.blocks[header].dirty;
  if (compact.way_to_half)
    ir_.CreateStore(ir_.getInt32(kRoundsBeforeHalf * rounds_before_compact(loop)), compact.rounds_left);
  make_compact(compact);
  compact_ = &compact;
  const unsigned chunks = std::exchange(chunks_, 1);
  std::swap(compact.slots, slots_);
  for (unsigned b : loop.blocks) emit_compact_block(b);
  std::swap(compact.slots, slots_);
  chunks_ = chunks;
  compact_ = nullptr;
  for (const auto& [way, block] : compact.ways_back) {
    ir_.SetInsertPoint(block);
    emit_way_back(compact, way.first, way.second, kRoundsBefore);
  }
  for (const auto& [way, block] : compact.ways_out) {
    ir_.SetInsertPoint(block);
    emit_way_out(compact, way.first, way.second);
  }
  if (!compact.way_to_half) return;
  ir_.SetInsertPoint(compact.way_to_half);
  emit_way_back(compact, header, true, 1);
}

// At the end of a round. Where so few lanes are left for some rounds the wave is made compact anew.
BasicBlock* Emitter::look_for_half() {
  llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  BasicBlock* look = new_block("look_for_half");
  ir_.SetInsertPoint(look);
  Value* lanes = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, ir_.CreateLoad(i32_, slot(kExec)));
  Value* is_few = ir_.CreateICmpULE(lanes, ir_.getInt32(kHalf));
  Value* rounds = ir_.CreateSub(ir_.CreateLoad(i32_, compact_->rounds_left), ir_.CreateZExt(is_few, i32_));
  ir_.CreateStore(rounds, compact_->rounds_left);
  branch_unlikely(ir_.CreateICmpEQ(rounds, ir_.getInt32(0)), compact_->way_to_half,
                  compact_->blocks.at(compact_->header));
  return look;
}

// Of 16 lanes.
Value* Emitter::lower_half(Value* lanes) {
  return ir_.CreateShuffleVector(lanes, {0, 1, 2, 3, 4, 5, 6, 7});
}

// As a chunk whose other lanes are the same: what computes them computes nothing new, in a block, and what
// they were before nobody reads.
Value* Emitter::only_half(Value* lanes) {
  return ir_.CreateShuffleVector(lanes, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
}

// i16.
Value* Emitter::bits_of_lanes(Value* mask) {
  if (!is_half()) return ir_.CreateBitCast(mask, i16_);
  const auto* type = llvm::cast<llvm::FixedVectorType>(mask->getType());
  if (type->getNumElements() == 16) mask = lower_half(mask);
  return ir_.CreateZExt(ir_.CreateBitCast(mask, ir_.getInt8Ty()), i16_);
}

// Behind the loop, and in it.
RegisterSet Emitter::changed_at(const CompactLoop& loop, unsigned block) const {
  return loop.written & facts_.blocks[block].live_in.all();
}

void Emitter::make_compact(CompactWave& compact) {
  const CompactLoop& loop = *compact.loop;
  const RegisterSet live = facts_.blocks[compact.header].live_in.all();
  RegisterSet kept = loop.touched & live;
  for (const auto& [block, masks] : loop.masks_at) kept |= changed_at(loop, block);
  for (const auto& [node, masks] : loop.masks_behind) kept |= loop.written & facts_.nodes[node].live.all();
  std::vector<unsigned> registers;
  for (unsigned r = 0; r < kVgprs; ++r)
    if (kept[r]) registers.push_back(r);
  compact.rows = rows_of(registers);
  compact.lanes = compact.rows;
  compact.lanes.chunks = 1;
  compact.lanes.memory = alloca_of(llvm::ArrayType::get(lanes_, std::max<size_t>(1, registers.size())));
  Value* first =
      ir_.CreateZExt(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, compact.on, ir_.getTrue()), i64_);
  for (unsigned r : registers) {
    // Lanes that are not there have numbers that one of the others has, too.
    Value* number = ir_.CreateLoad(i32_, lane_in_row(compact.rows, r, first));
    ir_.CreateStore(ir_.CreateVectorSplat(16, number), row(compact.lanes, r, 0));
  }
  if (!registers.empty())
    for_each_lane(compact.on, [&](Value* lane, Value* place) {
      for (unsigned r : registers)
        ir_.CreateStore(ir_.CreateLoad(i32_, lane_in_row(compact.rows, r, lane)),
                        lane_in_row(compact.lanes, r, place));
    });
  std::map<unsigned, Value*> scalars;
  for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
    if (!loop.touched[r]) continue;
    scalars[r] = ir_.getInt32(0);
    if (!loop.masks[first_of_mask(r)] && live[r])
      scalars[r] = scalar(r);
    else if (loop.masks[r])
      scalars[r] = ir_.CreateTrunc(compressed(whole_mask(r), compact.on), i32_);
  }
  std::swap(compact.slots, slots_);
  for (unsigned r = 0; r < kVgprs; ++r) {
    if (!loop.touched[r]) continue;
    Value* value = llvm::Constant::getNullValue(lanes_);
    if (live[r]) value = ir_.CreateLoad(lanes_, row(compact.lanes, r, 0));
    ir_.CreateStore(value, slot(r));
  }
  for (const auto& [r, value] : scalars) ir_.CreateStore(value, slot(r));
  std::swap(compact.slots, slots_);
  ir_.CreateBr(compact.blocks.at(compact.header));
}

BasicBlock* Emitter::way_back(unsigned block, bool is_backward) {
  BasicBlock*& way = compact_->ways_back[{block, is_backward}];
  if (!way) way = new_block("way_back");
  return way;
}

BasicBlock* Emitter::leave_compact(Leave how) {
  if (compact_->restart == block_first_) return way_back(block_, false);
  BasicBlock*& way = compact_->ways_out[{compact_->restart, how}];
  if (!way) way = new_block("way_out");
  return way;
}

void Emitter::emit_compact_block(unsigned index) {
  const Block& block = routine_.blocks[index];
  const Node& last = routine_.nodes[block.last - 1];
  begin_at(index);
  ir_.SetInsertPoint(compact_->blocks.at(index));
  locals_.held = compact_->loop->touched;
  compact_->restart = block.first;
  for (unsigned n = block.first; n < block.last; ++n) {
    emit_node(n);
    if (!changes_memory(routine_.nodes[n])) continue;
    merge_waiting(0);
    flush_locals(locals_);
    compact_->restart = n + 1;
  }
  end_run();
  merge_waiting(0);
  Value* budget = ir_.CreateSub(ir_.CreateLoad(i64_, budget_), ir_.getInt64(block.last - block.first));
  ir_.CreateStore(budget, budget_);
  Value* condition = last.kind == NodeKind::branch ? branch_condition(last) : nullptr;
  flush_locals(locals_);
  const auto go_to = [&](int to, bool is_taken) {
    const auto target = static_cast<unsigned>(to);
    const bool is_backward = is_taken && routine_.blocks[target].offset <= last.offset;
    const auto inside = compact_->blocks.find(target);
    if (inside == compact_->blocks.end())
      return static_cast<void>(ir_.CreateBr(way_back(target, is_backward)));
    BasicBlock* there = inside->second;
    if (target == compact_->header && compact_->way_to_half) there = look_for_half();
    if (!is_backward) return static_cast<void>(ir_.CreateBr(there));
    branch_unlikely(ir_.CreateICmpSLE(budget, ir_.getInt64(0)), way_back(target, true), there);
  };
  if (!condition) return go_to(block.taken < 0 ? block.next : block.taken, block.taken >= 0);
  BasicBlock *taken = new_block("compact_taken"), *next = new_block("compact_next");
  ir_.CreateCondBr(condition, taken, next);
  ir_.SetInsertPoint(taken);
  go_to(block.taken, true);
  ir_.SetInsertPoint(next);
  go_to(block.next, false);
}

// The wave as it was, with what has changed.
void Emitter::make_whole(const CompactWave& compact, const RegisterSet& changed,
                         const std::map<unsigned, BitsOfOthers>& changed_masks) {
  const auto compact_value = [&](unsigned r) {
    llvm::AllocaInst* place = compact.slots.at({r, 0});
    return ir_.CreateLoad(place->getAllocatedType(), place);
  };
  begin_at(compact.header);
  locals_.held = facts_.blocks[compact.header].held;
  locals_.dirty = facts_.blocks[compact.header].dirty;
  std::vector<unsigned> registers;
  for (unsigned r = 0; r < kVgprs; ++r) {
    if (!changed[r]) continue;
    registers.push_back(r);
    Value* value = compact_value(r);
    if (compact.most_lanes == kHalf) value = lower_half(value);
    ir_.CreateStore(value, row(compact.lanes, r, 0));
  }
  if (!registers.empty())
    for_each_lane(compact.on, [&](Value* lane, Value* place) {
      for (unsigned r : registers)
        ir_.CreateStore(ir_.CreateLoad(i32_, lane_in_row(compact.lanes, r, place)),
                        lane_in_row(compact.rows, r, lane));
    });
  for (unsigned r : registers)
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      set_vgpr(r, chunk, ir_.CreateLoad(lanes_, row(compact.rows, r, chunk)));

  std::map<unsigned, Value*> masks;
  Value* others = ir_.CreateNot(compact.on);
  for (const auto& [number, bits] : changed_masks) {
    Value* mask = spread(ir_.CreateZExt(compact_value(number), compact.on->getType()), compact.on);
    if (bits.kind == BitsOfOthers::Kind::ones) mask = ir_.CreateOr(mask, others);
    if (bits.kind == BitsOfOthers::Kind::begin)
      mask = ir_.CreateOr(mask, ir_.CreateAnd(whole_mask(bits.number), others));
    masks[number] = mask;
  }
  for (unsigned r = kFirstScalar; r < kRegisters; ++r)
    if (changed[r] && !masks.contains(first_of_mask(r))) set_scalar(r, compact_value(r));
  for (const auto& [number, mask] : masks) set_whole_mask(number, mask);
}

// The wave goes on as before, at the begin of the block.
void Emitter::emit_way_back(const CompactWave& compact, unsigned to, bool is_backward, uint32_t rounds_left) {
  make_whole(compact, changed_at(*compact.loop, to), compact.loop->masks_at.at(to));
  ir_.CreateStore(ir_.getInt32(rounds_left), lane_entries_.at(compact.header).rounds_left);
  forget_kept(to);
  // What the wave has loaded ahead is of the rounds that it has not been in.
  forget_certain_walks(to);
  if (routine_.blocks[to].piece == piece_) hold_all(facts_.blocks[to].held);
  flush_locals(locals_);
  go_to(static_cast<int>(to), ir_.CreateLoad(i64_, budget_), is_backward);
}

// To the interpreter, in the middle of a block.
void Emitter::emit_way_out(const CompactWave& compact, unsigned node, Leave how) {
  const RegisterSet live = facts_.nodes[node].live.all();
  make_whole(compact, compact.loop->written & live, compact.loop->masks_behind.at(node));
  store_to_wave(locals_, live);
  const auto inside = std::ranges::find_if(compact.loop->blocks, [&](unsigned b) {
    return routine_.blocks[b].first <= node && node < routine_.blocks[b].last;
  });
  Value* executed = ir_.getInt64(node - routine_.blocks[*inside].first);
  leave(ir_.getInt64(static_cast<uint64_t>(routine_.nodes[node].offset)),
        ir_.CreateSub(ir_.CreateLoad(i64_, budget_), executed), WaveState::ready, how);
}

}  // namespace lockstep::translator

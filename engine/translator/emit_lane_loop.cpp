// Loops of one block through which a wave goes lane by lane (lane_loops.h), and the ways to all such loops.
#include <algorithm>

#include "engine/translator/lane_by_lane.h"
#include "engine/translator/operands.h"
#include "engine/translator/pair_folding.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// So often lanes may be given up before their end. Then the loop is the wave's, until it leaves.
constexpr uint32_t kMostFailures = 2;
// And so often they may begin again, since a load is from another range than the last time.
constexpr uint32_t kMostLookUps = 16;

}  // namespace

llvm::BasicBlock* Emitter::way_into(unsigned block) {
  if (exchange_loops_.contains(block)) return lane_entry(block).block;
  if (round_ && block == block_) return round_;
  if (const auto compact = compact_loops_.find(block); compact != compact_loops_.end()) {
    const bool is_inside = std::ranges::count(compact->second.blocks, block_) != 0;
    if (is_inside && !compact->second.do_lanes_leave) return blocks_[block];
    const LaneEntry& entry = lane_entry(block);
    if (!is_inside) ir_.CreateStore(ir_.getInt32(rounds_before_compact(compact->second)), entry.rounds_left);
    return entry.block;
  }
  const auto divergent = divergent_loops_.find(block);
  if (divergent != divergent_loops_.end()) {
    if (std::ranges::count(divergent->second.blocks, block_) != 0) return blocks_[block];
  } else if (!lane_loops_.contains(block) || block == block_) {
    return blocks_[block];
  }
  return lane_entry(block).block;
}

Emitter::LaneEntry& Emitter::lane_entry(unsigned block) {
  LaneEntry& entry = lane_entries_[block];
  if (!entry.block) {
    entry.block = new_block("lane_loop");
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    entry.failures = at_entry.CreateAlloca(i32_);
    entry.look_ups = at_entry.CreateAlloca(i32_);
    for (llvm::AllocaInst* count : {entry.failures, entry.look_ups})
      at_entry.CreateStore(at_entry.getInt32(0), count);
    entry.rounds_left = at_entry.CreateAlloca(i32_);
    const auto compact = compact_loops_.find(block);
    if (compact != compact_loops_.end())
      at_entry.CreateStore(at_entry.getInt32(rounds_before_compact(compact->second)), entry.rounds_left);
  }
  return entry;
}

void Emitter::forget_values() {
  locals_ = Locals{};
  half_masks_.clear();
  expanded_masks_.clear();
  address_facts_.clear();
  low_halves_.clear();
  address_sums_.clear();
  scalar_loads_ = {};
  scratch_is_tested_ = false;
}

llvm::AllocaInst* Emitter::alloca_of(llvm::Type* type) {
  return llvm::IRBuilder<>(entry_, entry_->begin()).CreateAlloca(type);
}

Emitter::LaneRows Emitter::rows_of(const std::vector<unsigned>& registers) {
  LaneRows rows;
  rows.chunks = chunks_;
  for (unsigned number : registers) rows.places.emplace(number, static_cast<unsigned>(rows.places.size()));
  rows.type = llvm::ArrayType::get(lanes_, std::max<size_t>(1, rows.places.size()) * chunks_);
  rows.memory = alloca_of(rows.type);
  for (unsigned number : registers)
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      ir_.CreateStore(vgpr(number, chunk), row(rows, number, chunk));
  return rows;
}

Value* Emitter::row(const LaneRows& rows, unsigned number, unsigned chunk) {
  return place_in(rows.memory, rows.places.at(number) * rows.chunks + chunk);
}

Value* Emitter::lane_in_row(const LaneRows& rows, unsigned number, Value* lane) {
  return ir_.CreateGEP(i32_, row(rows, number, 0), lane);
}

// Behind one of these the wave may come to another one, which is then among them, too.
void Emitter::emit_lane_loops() {
  std::set<unsigned> emitted;
  for (auto each = lane_entries_.begin(); each != lane_entries_.end();) {
    const unsigned block = each->first;
    if (!emitted.insert(block).second) {
      ++each;
      continue;
    }
    if (compact_loops_.contains(block))
      emit_compact_loop(block);
    else if (divergent_loops_.contains(block))
      emit_divergent_loop(block);
    else if (exchange_loops_.contains(block))
      emit_exchange_loop(block);
    else
      emit_lane_loop(block);
    each = lane_entries_.begin();
  }
}

// Up to the round behind which the wave's budget is used up.
class Emitter::LaneLoopCode final : public LaneByLane {
 public:
  LaneLoopCode(Emitter& emitter, unsigned header)
      : LaneByLane(emitter, header, emitter.lane_loops_.at(header).touched),
        loop_(e_.lane_loops_.at(header)),
        block_(e_.routine_.blocks[header]) {}

 private:
  void emit_test() override;
  void emit_begin() override;
  void emit_lane() override;
  void emit_ended() override;
  void emit_found(const LaneRange& range, unsigned load, BasicBlock* allowed) override;

  // The register with the low half of a load's address.
  unsigned address_of(unsigned load) const {
    return global_operands(e_.routine_.nodes[load].instruction).address.vgpr();
  }
  Value* are_lanes_side_by_side();
  Value* rounds_of_budget();
  void choose_registers();
  void choose_pairs();
  void begin_lane();
  void test_walks();
  bool emit_nodes();
  void end_lane(Value* rounds, bool has_left);

  const LaneLoop& loop_;
  const Block& block_;
  RegisterSet written_;
  std::vector<unsigned> numbers_;  // scalar registers that are no masks
  // Addresses that stay whole from round to round, by the low half.
  std::map<unsigned, llvm::AllocaInst*> pairs_;
  // Masks, of lanes that are off as they are, and numbers as the lane that goes on for longest leaves them.
  std::map<unsigned, Value*> masks_before_, numbers_before_;
  std::map<unsigned, llvm::AllocaInst*> masks_behind_, numbers_behind_;
  llvm::AllocaInst *rounds_left_ = nullptr, *longest_ = nullptr;
  Value *size_ = nullptr, *budget_ = nullptr, *most_rounds_ = nullptr;
  Value* lane_rounds_ = nullptr;  // most_rounds_, or what the lane at hand may load
};

void Emitter::emit_lane_loop(unsigned header) {
  LaneLoopCode(*this, header).emit();
}

// Lanes that share a row take an element each: a load of the wave is all of theirs. The first two tell.
Value* Emitter::LaneLoopCode::are_lanes_side_by_side() {
  Value* are = ir_.CreateICmpEQ(ir_.CreateAnd(exec_, number_of(3)), number_of(3));
  for (unsigned n : loop_.strides) {
    const GlobalOperands operands = global_operands(e_.routine_.nodes[n].instruction);
    Value* addresses = e_.vgpr(operands.address.vgpr(), 0);
    Value* apart = ir_.CreateSub(ir_.CreateExtractElement(addresses, uint64_t{1}),
                                 ir_.CreateExtractElement(addresses, uint64_t{0}));
    are = ir_.CreateAnd(are, ir_.CreateICmpEQ(apart, ir_.getInt32(operands.shape.bytes)));
  }
  return are;
}

void Emitter::LaneLoopCode::emit_test() {
  const LaneEntry& entry = e_.lane_entries_.at(header_);
  Value* failures = ir_.CreateLoad(e_.i32_, entry.failures);
  Value* is_possible = ir_.CreateAnd(ir_.CreateICmpULT(failures, ir_.getInt32(kMostFailures)),
                                     ir_.CreateICmpNE(exec_, number_of(0)));
  for (unsigned number : loop_.zero_while_on) {
    Value* of_lanes_on = ir_.CreateAnd(e_.whole_mask(number), exec_);
    is_possible = ir_.CreateAnd(is_possible, ir_.CreateICmpEQ(of_lanes_on, number_of(0)));
  }
  if (!loop_.strides.empty())
    is_possible = ir_.CreateAnd(is_possible, ir_.CreateNot(are_lanes_side_by_side()));
  ir_.CreateCondBr(is_possible, begin_, e_.blocks_[header_]);

  ir_.SetInsertPoint(failed_);
  ir_.CreateStore(ir_.CreateAdd(ir_.CreateLoad(e_.i32_, entry.failures), ir_.getInt32(1)), entry.failures);
  ir_.CreateBr(e_.blocks_[header_]);
}

// At least one: the loop's budget is looked at behind a round.
Value* Emitter::LaneLoopCode::rounds_of_budget() {
  size_ = ir_.getInt64(block_.last - block_.first);
  budget_ = ir_.CreateLoad(e_.i64_, e_.budget_);
  return ir_.CreateBinaryIntrinsic(
      llvm::Intrinsic::umax, ir_.getInt64(1),
      ir_.CreateUDiv(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir_.getInt64(0),
                                               ir_.CreateAdd(budget_, ir_.CreateSub(size_, ir_.getInt64(1)))),
                     size_));
}

void Emitter::LaneLoopCode::choose_registers() {
  const RegisterSet needed = live_out(block_, e_.facts_).all();
  std::vector<unsigned> registers;
  for (unsigned n = block_.first; n < block_.last; ++n) written_ |= e_.facts_.nodes[n].effects.writes;
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!loop_.touched[r]) continue;
    if (!is_vgpr(r)) {
      if (!loop_.mask_registers[r]) numbers_.push_back(r);
    } else if (facts_.live_in.all()[r] || needed[r]) {
      registers.push_back(r);
    }
  }
  rows_ = e_.rows_of(registers);
}

void Emitter::LaneLoopCode::choose_pairs() {
  for (unsigned n : loop_.loads) {
    const unsigned low = address_of(n);
    if (global_operands(e_.routine_.nodes[n].instruction).base || !rows_.contains(low) ||
        !rows_.contains(low + 1))
      continue;
    if (pairs_.contains(low) || pairs_.contains(low - 1) || pairs_.contains(low + 1)) continue;
    pairs_[low] = e_.alloca_of(e_.i64_);
  }
}

void Emitter::LaneLoopCode::emit_begin() {
  most_rounds_ = rounds_of_budget();
  choose_registers();
  choose_pairs();
  for (unsigned number : loop_.masks) {
    masks_before_[number] = e_.whole_mask(number);
    masks_behind_[number] = e_.alloca_of(mask_type_);
    ir_.CreateStore(ir_.CreateAnd(masks_before_[number], ir_.CreateNot(exec_)), masks_behind_[number]);
  }
  for (unsigned number : numbers_) {
    numbers_before_[number] = e_.scalar(number);
    numbers_behind_[number] = e_.alloca_of(e_.i32_);
    ir_.CreateStore(numbers_before_[number], numbers_behind_[number]);
  }
  rounds_left_ = e_.alloca_of(e_.i64_);
  longest_ = e_.alloca_of(e_.i64_);
  ir_.CreateStore(ir_.getInt64(0), longest_);
  ranges_ = lane_ranges(loop_.loads);
}

// Its registers at the header.
void Emitter::LaneLoopCode::begin_lane() {
  for (unsigned r = 0; r < kVgprs; ++r) {
    if (!loop_.touched[r]) continue;
    Value* value = llvm::Constant::getNullValue(e_.lanes_);
    if (rows_.contains(r)) value = lane_of_element(word_of(r));
    ir_.CreateStore(value, e_.slot(r));
  }
  for (const auto& [low, pair] : pairs_) {
    Value* low_word = word_of(low);
    ir_.CreateStore(join_words(ir_, low_word, word_of(low + 1)), pair);
  }
  for (unsigned number : loop_.masks) {
    Value* bit = ir_.CreateAnd(ir_.CreateLShr(masks_before_[number], lane_), number_of(1));
    ir_.CreateStore(ir_.CreateTrunc(bit, e_.i32_), e_.slot(number));
    if (e_.mask_words() == 2) ir_.CreateStore(ir_.getInt32(0), e_.slot(number + 1));
  }
  for (unsigned number : numbers_) ir_.CreateStore(numbers_before_[number], e_.slot(number));
}

// Loads that go on by one element in each round are tested for all of them.
void Emitter::LaneLoopCode::test_walks() {
  lane_rounds_ = most_rounds_;
  for (unsigned n : loop_.walks) {
    const auto pair = pairs_.find(address_of(n));
    if (pair == pairs_.end()) continue;
    Value* address = ir_.CreateLoad(e_.i64_, pair->second);
    lane_rounds_ = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lane_rounds_,
                                             rounds_of_walk(n, address, ranges_.at(n)));
  }
}

// Whether the lane may be in doubt.
bool Emitter::LaneLoopCode::emit_nodes() {
  begin_nodes(header_);
  e_.set_scalar(kExec, ir_.getInt32(1));
  for (unsigned number : loop_.zero_while_on) e_.set_scalar(number, ir_.getInt32(0));
  for (const auto& [low, pair] : pairs_) set_pair(low, ir_.CreateLoad(e_.i64_, pair));
  bool casts_doubt = false;
  for (unsigned n = block_.first; n < block_.last; ++n) {
    const bool is_load = e_.routine_.nodes[n].kind == NodeKind::global;
    const bool is_tested =
        is_load && std::ranges::count(loop_.walks, n) != 0 && pairs_.contains(address_of(n));
    casts_doubt |= emit_node(n, is_load && !is_tested ? &ranges_.at(n) : nullptr);
  }
  e_.merge_waiting(0);
  return casts_doubt;
}

// All lanes begin again with it, so that ranges are the same in all rounds.
void Emitter::LaneLoopCode::emit_found(const LaneRange&, unsigned, BasicBlock*) {
  const LaneEntry& entry = e_.lane_entries_.at(header_);
  Value* count = ir_.CreateAdd(ir_.CreateLoad(e_.i32_, entry.look_ups), ir_.getInt32(1));
  ir_.CreateStore(count, entry.look_ups);
  BasicBlock* const again = e_.new_block("lanes_begin_again");
  ir_.CreateCondBr(ir_.CreateICmpULT(count, ir_.getInt32(kMostLookUps)), again, failed_);
  ir_.SetInsertPoint(again);
  empty_vector_registers();
  ir_.CreateBr(begin_);
}

void Emitter::LaneLoopCode::emit_lane() {
  begin_lane();
  test_walks();
  ir_.CreateStore(lane_rounds_, rounds_left_);
  // It is the sum of all rounds: nothing has changed until the lane is at its end.
  ir_.CreateStore(llvm::Constant::getNullValue(e_.lanes_), e_.doubt_[0]);
  BasicBlock* const round = e_.new_block("lane_round");
  ir_.CreateBr(round);
  ir_.SetInsertPoint(round);
  const bool casts_doubt = emit_nodes();
  Value* goes_on = bit_of_lane(e_.scalar(kExec));
  for (const auto& [low, pair] : pairs_) {
    Value* low_word = element_of_lane(e_.vgpr(low, 0));
    ir_.CreateStore(join_words(ir_, low_word, element_of_lane(e_.vgpr(low + 1, 0))), pair);
  }
  e_.flush_locals(e_.locals_);
  Value* left_before = ir_.CreateLoad(e_.i64_, rounds_left_);
  BasicBlock *on = e_.new_block("lane_goes_on"), *off = e_.new_block("lane_off"),
             *cut = e_.new_block("lane_cut"), *used_up = e_.new_block("lane_used_up");
  ir_.CreateCondBr(goes_on, on, off);
  ir_.SetInsertPoint(on);
  Value* still_left = ir_.CreateSub(left_before, ir_.getInt64(1));
  ir_.CreateStore(still_left, rounds_left_);
  ir_.CreateCondBr(ir_.CreateICmpNE(still_left, ir_.getInt64(0)), round, cut);
  ir_.SetInsertPoint(cut);
  ir_.CreateCondBr(ir_.CreateICmpEQ(lane_rounds_, most_rounds_), used_up, failed_);
  ir_.SetInsertPoint(used_up);
  if (casts_doubt) check_lane();
  end_lane(lane_rounds_, false);
  ir_.SetInsertPoint(off);
  if (casts_doubt) check_lane();
  end_lane(ir_.CreateAdd(ir_.CreateSub(lane_rounds_, left_before), ir_.getInt64(1)), true);
}

// A lane that is off is read as one that has left the loop; the others are in it.
void Emitter::LaneLoopCode::end_lane(Value* rounds, bool has_left) {
  const RegisterSet read_of_left =
      e_.facts_.blocks[static_cast<unsigned>(block_.next)].live_in.all() | facts_.live_in.off;
  begin_nodes(header_);
  for (const auto& [low, pair] : pairs_) set_pair(low, ir_.CreateLoad(e_.i64_, pair));
  for (const auto& [number, place] : rows_.places)
    if (written_[number] && (!has_left || read_of_left[number])) set_word(number);
  for (unsigned number : loop_.masks) {
    if (has_left && number == kExec) continue;
    Value* all = ir_.CreateLoad(mask_type_, masks_behind_[number]);
    const auto known = loop_.bits_when_left.find(number);
    Value* bit = has_left && known != loop_.bits_when_left.end()
                     ? number_of(known->second)
                     : ir_.CreateZExt(bit_of_lane(ir_.CreateLoad(e_.i32_, e_.slot(number))), mask_type_);
    ir_.CreateStore(ir_.CreateOr(all, ir_.CreateShl(bit, lane_)), masks_behind_[number]);
  }
  Value* count_before = ir_.CreateLoad(e_.i64_, longest_);
  Value* is_longer = ir_.CreateICmpUGT(rounds, count_before);
  ir_.CreateStore(ir_.CreateSelect(is_longer, rounds, count_before), longest_);
  for (unsigned number : numbers_) {
    if (!written_[number]) continue;
    Value* now = ir_.CreateLoad(e_.i32_, e_.slot(number));
    Value* before = ir_.CreateLoad(e_.i32_, numbers_behind_[number]);
    ir_.CreateStore(ir_.CreateSelect(is_longer, now, before), numbers_behind_[number]);
  }
  ir_.CreateBr(lane_ended_);
}

void Emitter::LaneLoopCode::emit_ended() {
  for (const auto& [number, place] : rows_.places)
    if (written_[number]) set_lanes_of_wave(number);
  for (unsigned number : loop_.masks) {
    Value* mask = ir_.CreateLoad(mask_type_, masks_behind_[number]);
    e_.set_scalar(number, ir_.CreateTrunc(mask, e_.i32_));
    if (e_.mask_words() == 2) e_.set_scalar(number + 1, ir_.CreateTrunc(ir_.CreateLShr(mask, 32), e_.i32_));
  }
  for (unsigned number : numbers_)
    if (written_[number]) e_.set_scalar(number, ir_.CreateLoad(e_.i32_, numbers_behind_[number]));
  Value* budget_left = ir_.CreateSub(budget_, ir_.CreateMul(ir_.CreateLoad(e_.i64_, longest_), size_));
  ir_.CreateStore(budget_left, e_.budget_);
  Value* any_on = e_.branch_condition(e_.routine_.nodes[block_.last - 1]);
  for (int successor : {block_.taken, block_.next})
    if (e_.routine_.blocks[static_cast<unsigned>(successor)].piece == e_.piece_)
      e_.hold_all(e_.facts_.blocks[static_cast<unsigned>(successor)].held);
  e_.flush_locals(e_.locals_);
  BasicBlock *again = e_.new_block("lanes_again"), *out = e_.new_block("lanes_out");
  ir_.CreateCondBr(any_on, again, out);
  ir_.SetInsertPoint(again);
  e_.go_to(block_.taken, budget_left, true);
  ir_.SetInsertPoint(out);
  e_.forget_kept(static_cast<unsigned>(block_.next));
  e_.go_to(block_.next, budget_left, false);
}

}  // namespace lockstep::translator

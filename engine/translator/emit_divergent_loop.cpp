// Loops of several blocks through which a wave goes lane by lane (divergent_loops.h).
#include <cstddef>
#include <map>
#include <utility>

#include "engine/translator/context.h"
#include "engine/translator/lane_by_lane.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// What a lane costs beside its rounds, counted as DivergentLoop::lane_cost is: its registers, and that the
// host does not expect its end.
constexpr unsigned kLaneCost = 40;
// So many times a loop is left to waves when that would have been less work, or when lanes were given up.
constexpr uint32_t kRests = 500;
// So much scratch is copied for each lane.
constexpr uint32_t kMostScratchBytes = 512, kLongestAccess = 16;

}  // namespace

class Emitter::DivergentLoopCode final : public LaneByLane {
 public:
  DivergentLoopCode(Emitter& emitter, unsigned header)
      : LaneByLane(emitter, header, emitter.divergent_loops_.at(header).touched),
        loop_(e_.divergent_loops_.at(header)),
        needed_(e_.facts_.blocks[loop_.exit].live_in.all()) {
    for (unsigned b : loop_.blocks) blocks_[b] = e_.new_block("lane_block");
  }

 private:
  void emit_test() override;
  void emit_begin() override;
  void emit_lane() override;
  void emit_ended() override;

  void set_rests(Value* times);
  void begin_lane();
  void load_scratch();
  void copy_scratch(Value* scratch);
  void emit_rounds();
  Value* note_path();
  void emit_block(size_t place);
  void emit_nodes(unsigned block);
  void set_known(const std::map<std::pair<unsigned, unsigned>, bool>& bits, unsigned place);
  BasicBlock* way_to(int block);
  void leave();
  void rest_without_gain(Value* wave_rounds);
  Value* instructions_of(Value* wave_rounds);

  const DivergentLoop& loop_;
  const RegisterSet needed_;  // behind the loop
  BasicBlock *first_round_ = e_.new_block("lane_begins"), *next_round_ = e_.new_block("lane_round"),
             *exit_ = e_.new_block("lane_leaves");
  std::map<unsigned, BasicBlock*> blocks_;
  // Of scalar registers: what they are at the header, and what the lanes leave.
  std::map<unsigned, Value*> before_;
  std::map<unsigned, llvm::AllocaInst*> behind_;
  llvm::AllocaInst *longest_ = nullptr, *rounds_ = nullptr;
  Value *rests_ = nullptr, *paths_ = nullptr;
  // Of the lane at hand: how many rounds it has behind it, and the blocks that it was in since.
  llvm::AllocaInst *round_ = nullptr, *path_ = nullptr;
};

void Emitter::emit_divergent_loop(unsigned header) {
  DivergentLoopCode(*this, header).emit();
}

void Emitter::DivergentLoopCode::set_rests(Value* times) {
  ir_.CreateAlignedStore(times, rests_, llvm::Align(4))->setAtomic(llvm::AtomicOrdering::Monotonic);
}

void Emitter::DivergentLoopCode::emit_test() {
  const unsigned own_slot = e_.next_slot_++;
  Value* list = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), e_.dispatch_, offsetof(Context, rests));
  rests_ = ir_.CreateGEP(e_.i32_, ir_.CreateLoad(e_.pointer_, list), ir_.getInt64(own_slot));
  llvm::LoadInst* times = ir_.CreateAlignedLoad(e_.i32_, rests_, llvm::Align(4));
  times->setAtomic(llvm::AtomicOrdering::Monotonic);
  Value* is_possible = ir_.CreateICmpNE(exec_, ir_.getInt32(0));
  if (!loop_.scratch.empty()) {
    Value* is_there = ir_.CreateICmpUGE(e_.scratch_bytes_, ir_.getInt32(*loop_.scratch.rbegin() + 4));
    is_possible = ir_.CreateAnd(is_possible, is_there);
  }
  if (loop_.has_scratch_array) {
    // As much as an access has at least, and whole dwords.
    Value* is_some = ir_.CreateICmpUGE(e_.scratch_bytes_, ir_.getInt32(kLongestAccess));
    Value* is_little = ir_.CreateICmpULE(e_.scratch_bytes_, ir_.getInt32(kMostScratchBytes));
    is_possible = ir_.CreateAnd(is_possible, ir_.CreateAnd(is_some, is_little));
  }
  BasicBlock *rest = e_.new_block("lanes_rest"), *any_on = e_.new_block("lanes");
  ir_.CreateCondBr(ir_.CreateICmpNE(times, ir_.getInt32(0)), rest, any_on);
  ir_.SetInsertPoint(rest);
  set_rests(ir_.CreateSub(times, ir_.getInt32(1)));
  ir_.CreateBr(e_.blocks_[header_]);
  ir_.SetInsertPoint(failed_);
  set_rests(ir_.getInt32(kRests));
  ir_.CreateCall(e_.runtime("lockstep_translator_forget_paths", ir_.getVoidTy(), {}));
  ir_.CreateBr(e_.blocks_[header_]);
  ir_.SetInsertPoint(any_on);
  ir_.CreateCondBr(is_possible, begin_, e_.blocks_[header_]);
}

void Emitter::DivergentLoopCode::emit_begin() {
  paths_ = ir_.CreateCall(e_.runtime("lockstep_translator_paths", e_.pointer_, {}));
  std::vector<unsigned> registers;
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!loop_.touched[r]) continue;
    const bool is_read = facts_.live_in.all()[r];
    if (is_vgpr(r)) {
      if (is_read || (loop_.written[r] && needed_[r])) registers.push_back(r);
    } else if (is_read || loop_.masks_at_end[r]) {
      before_[r] = e_.scalar(r);
    }
  }
  rows_ = e_.rows_of(registers);
  for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
    if (!loop_.masks_at_end[r] && !loop_.numbers_at_end[r]) continue;
    behind_[r] = e_.alloca_of(e_.i32_);
    Value* first =
        loop_.masks_at_end[r] ? ir_.CreateAnd(before_.at(r), ir_.CreateNot(exec_)) : ir_.getInt32(0);
    ir_.CreateStore(first, behind_[r]);
  }
  round_ = e_.alloca_of(e_.i64_);
  path_ = e_.alloca_of(ir_.getInt16Ty());
  longest_ = e_.alloca_of(e_.i64_);
  rounds_ = e_.alloca_of(e_.i64_);
  ir_.CreateStore(ir_.getInt64(0), longest_);
  ir_.CreateStore(ir_.getInt64(0), rounds_);
  ranges_ = lane_ranges(loop_.loads);
}

// Its registers at the header.
void Emitter::DivergentLoopCode::begin_lane() {
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!loop_.touched[r]) continue;
    if (is_vgpr(r)) {
      Value* value = llvm::Constant::getNullValue(e_.lanes_);
      if (rows_.contains(r) && facts_.live_in.all()[r]) value = lane_of_element(word_of(r));
      ir_.CreateStore(value, e_.slot(r));
    } else {
      Value* value = before_.contains(r) ? before_.at(r) : ir_.getInt32(0);
      if (r == kExec) value = ir_.getInt32(1);
      if (loop_.masks_at_begin[r]) value = ir_.CreateAnd(ir_.CreateLShr(value, lane_), ir_.getInt32(1));
      ir_.CreateStore(value, e_.slot(r));
    }
  }
}

void Emitter::DivergentLoopCode::load_scratch() {
  Value* scratch = ir_.CreateIntToPtr(e_.scratch_base_, e_.pointer_);
  if (loop_.has_scratch_array) return copy_scratch(scratch);
  for (uint32_t offset : loop_.scratch) {
    llvm::AllocaInst* const place = scratch_[offset] = e_.alloca_of(e_.i32_);
    Value* row_of_lanes =
        ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), scratch, uint64_t{offset} * e_.routine_.wave_size);
    Value* word =
        ir_.CreateAlignedLoad(e_.i32_, ir_.CreateGEP(e_.i32_, row_of_lanes, wide_lane_), llvm::Align(4));
    ir_.CreateStore(word, place);
  }
}

// What is not a whole dword at the end nobody accesses here.
void Emitter::DivergentLoopCode::copy_scratch(Value* scratch) {
  if (!scratch_array_) scratch_array_ = e_.alloca_of(llvm::ArrayType::get(e_.i32_, kMostScratchBytes / 4));
  Value* count = ir_.CreateZExt(ir_.CreateLShr(e_.scratch_bytes_, 2), e_.i64_);
  BasicBlock *from = ir_.GetInsertBlock(), *each = e_.new_block("copy_scratch"),
             *done = e_.new_block("scratch_copied");
  ir_.CreateBr(each);
  ir_.SetInsertPoint(each);
  llvm::PHINode* number = ir_.CreatePHI(e_.i64_, 2);
  number->addIncoming(ir_.getInt64(0), from);
  Value* place = ir_.CreateAdd(ir_.CreateMul(number, ir_.getInt64(e_.routine_.wave_size)), wide_lane_);
  Value* word = ir_.CreateAlignedLoad(e_.i32_, ir_.CreateGEP(e_.i32_, scratch, place), llvm::Align(4));
  ir_.CreateStore(word, ir_.CreateGEP(e_.i32_, scratch_array_, number));
  Value* next = ir_.CreateAdd(number, ir_.getInt64(1));
  number->addIncoming(next, each);
  ir_.CreateCondBr(ir_.CreateICmpULT(next, count), each, done);
  ir_.SetInsertPoint(done);
}

// Which blocks the wave would have been through in this round: those of all its lanes. Gives the number of
// rounds with it.
Value* Emitter::DivergentLoopCode::note_path() {
  Value* round = ir_.CreateLoad(e_.i64_, round_);
  Value* place = ir_.CreateGEP(e_.i16_, paths_, round);
  Value* path = ir_.CreateLoad(e_.i16_, path_);
  ir_.CreateStore(ir_.CreateOr(path, ir_.CreateLoad(e_.i16_, place)), place);
  Value* next = ir_.CreateAdd(round, ir_.getInt64(1));
  ir_.CreateStore(next, round_);
  return next;
}

void Emitter::DivergentLoopCode::emit_lane() {
  begin_lane();
  load_scratch();
  ir_.CreateStore(ir_.getInt64(0), round_);
  ir_.CreateBr(first_round_);
  emit_rounds();
  for (size_t i = 0; i < loop_.blocks.size(); ++i) emit_block(i);
  leave();
}

void Emitter::DivergentLoopCode::emit_rounds() {
  ir_.SetInsertPoint(first_round_);
  ir_.CreateStore(ir_.getInt16(0), path_);
  ir_.CreateBr(blocks_.at(header_));
  ir_.SetInsertPoint(next_round_);
  Value* next = note_path();
  e_.branch_unlikely(ir_.CreateICmpUGE(next, ir_.getInt64(kMostLaneRounds)), failed_, first_round_);
}

BasicBlock* Emitter::DivergentLoopCode::way_to(int block) {
  if (block == static_cast<int>(header_)) return next_round_;
  if (block == static_cast<int>(loop_.exit)) return exit_;
  return blocks_.at(static_cast<unsigned>(block));
}

void Emitter::DivergentLoopCode::emit_block(size_t place) {
  const unsigned index = loop_.blocks[place];
  const Block& block = e_.routine_.blocks[index];
  ir_.SetInsertPoint(blocks_.at(index));
  Value* here = ir_.getInt16(static_cast<uint16_t>(1u << place));
  if (loop_.without_branch.contains(index)) {
    Value* is_on = bit_of_lane(ir_.CreateLoad(e_.i32_, e_.slot(kExec)));
    here = ir_.CreateSelect(is_on, here, ir_.getInt16(0));
  }
  ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(e_.i16_, path_), here), path_);
  emit_nodes(index);
  const Node& last = e_.routine_.nodes[block.last - 1];
  Value* condition = last.kind == NodeKind::branch ? e_.branch_condition(last) : nullptr;
  const auto is_on_exec = [&](isa::Opcode opcode) { return last.instruction.row->opcode == opcode; };
  if (condition && is_on_exec(isa::Opcode::s_cbranch_execnz)) condition = bit_of_lane(e_.scalar(kExec));
  if (condition && is_on_exec(isa::Opcode::s_cbranch_execz))
    condition = ir_.CreateNot(bit_of_lane(e_.scalar(kExec)));
  if (block.next >= 0 && loop_.without_branch.contains(static_cast<unsigned>(block.next)))
    ir_.CreateBr(way_to(block.next));
  else if (condition)
    ir_.CreateCondBr(condition, way_to(block.taken), way_to(block.next));
  else
    ir_.CreateBr(way_to(block.taken >= 0 ? block.taken : block.next));
}

void Emitter::DivergentLoopCode::set_known(const std::map<std::pair<unsigned, unsigned>, bool>& bits,
                                           unsigned place) {
  for (auto each = bits.lower_bound({place, 0}); each != bits.end() && each->first.first == place; ++each)
    e_.set_scalar(each->first.second, ir_.getInt32(each->second));
}

void Emitter::DivergentLoopCode::emit_nodes(unsigned index) {
  const Block& block = e_.routine_.blocks[index];
  begin_nodes(index);
  set_known(loop_.bits_at_begin, index);
  ir_.CreateStore(llvm::Constant::getNullValue(e_.lanes_), e_.doubt_[0]);
  bool casts_doubt = false;
  for (unsigned n = block.first; n < block.last; ++n) {
    const auto range = ranges_.find(n);
    casts_doubt |= emit_node(n, range == ranges_.end() ? nullptr : &range->second);
    set_known(loop_.bits_behind, n);
  }
  e_.merge_waiting(0);
  e_.flush_locals(e_.locals_);
  if (casts_doubt) check_lane();
}

// The lane has left the loop.
void Emitter::DivergentLoopCode::leave() {
  ir_.SetInsertPoint(exit_);
  begin_nodes(header_);
  Value* count = note_path();
  Value* longest = ir_.CreateLoad(e_.i64_, longest_);
  ir_.CreateStore(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, count, longest), longest_);
  ir_.CreateStore(ir_.CreateAdd(count, ir_.CreateLoad(e_.i64_, rounds_)), rounds_);
  for (const auto& [number, place] : rows_.places)
    if (loop_.written[number] && needed_[number]) set_word(number);
  for (const auto& [number, place] : behind_) {
    Value* value = ir_.CreateLoad(e_.i32_, e_.slot(number));
    if (loop_.masks_at_end[number]) {
      Value* bit = ir_.CreateZExt(bit_of_lane(value), e_.i32_);
      value = ir_.CreateOr(ir_.CreateLoad(e_.i32_, place), ir_.CreateShl(bit, lane_));
    }
    ir_.CreateStore(value, place);
  }
  ir_.CreateBr(lane_ended_);
}

// Where the wave would have had less work than its lanes had.
void Emitter::DivergentLoopCode::rest_without_gain(Value* wave_rounds) {
  Value* lanes = ir_.CreateZExt(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, exec_), e_.i64_);
  Value* of_rounds = ir_.CreateMul(ir_.CreateLoad(e_.i64_, rounds_), ir_.getInt64(loop_.lane_cost));
  Value* by_lane = ir_.CreateAdd(of_rounds, ir_.CreateMul(lanes, ir_.getInt64(kLaneCost)));
  // AVX-512 has half as many instructions for a wave, but where lanes move one by one.
  const unsigned of_vectors = e_.has_masked_gathers_ ? loop_.wave_cost / 2 : loop_.wave_cost;
  Value* by_wave = ir_.CreateMul(wave_rounds, ir_.getInt64(of_vectors + loop_.wave_moves));
  BasicBlock *no_gain = e_.new_block("lanes_without_gain"), *behind_lanes = e_.new_block("behind_lanes");
  ir_.CreateCondBr(ir_.CreateICmpUGT(by_lane, by_wave), no_gain, behind_lanes);
  ir_.SetInsertPoint(no_gain);
  set_rests(ir_.getInt32(kRests));
  ir_.CreateBr(behind_lanes);
  ir_.SetInsertPoint(behind_lanes);
}

void Emitter::DivergentLoopCode::emit_ended() {
  Value* wave_rounds = ir_.CreateLoad(e_.i64_, longest_);
  rest_without_gain(wave_rounds);
  Value* executed = instructions_of(wave_rounds);
  for (const auto& [number, place] : rows_.places)
    if (loop_.written[number] && needed_[number]) set_lanes_of_wave(number);
  for (const auto& [number, place] : behind_) e_.set_scalar(number, ir_.CreateLoad(e_.i32_, place));
  Value* budget = ir_.CreateSub(ir_.CreateLoad(e_.i64_, e_.budget_), executed);
  ir_.CreateStore(budget, e_.budget_);
  const Block& target = e_.routine_.blocks[loop_.exit];
  if (target.piece == e_.piece_) e_.hold_all(e_.facts_.blocks[loop_.exit].held);
  e_.flush_locals(e_.locals_);
  e_.forget_kept(loop_.exit);
  e_.go_to(static_cast<int>(loop_.exit), budget,
           target.is_entry && target.offset <= e_.routine_.blocks[header_].offset);
}

// How many instructions the wave would have executed in these rounds. The paths are forgotten.
Value* Emitter::DivergentLoopCode::instructions_of(Value* wave_rounds) {
  BasicBlock *from = ir_.GetInsertBlock(), *round = e_.new_block("count_round"),
             *done = e_.new_block("counted");
  ir_.CreateBr(round);
  ir_.SetInsertPoint(round);
  llvm::PHINode *at = ir_.CreatePHI(e_.i64_, 2), *sum = ir_.CreatePHI(e_.i64_, 2);
  at->addIncoming(ir_.getInt64(0), from);
  sum->addIncoming(ir_.getInt64(0), from);
  Value* place = ir_.CreateGEP(e_.i16_, paths_, at);
  Value* path = ir_.CreateZExt(ir_.CreateLoad(e_.i16_, place), e_.i64_);
  ir_.CreateStore(ir_.getInt16(0), place);
  Value* with_round = sum;
  for (size_t i = 0; i < loop_.blocks.size(); ++i) {
    const Block& block = e_.routine_.blocks[loop_.blocks[i]];
    Value* bit = ir_.CreateAnd(ir_.CreateLShr(path, uint64_t{i}), uint64_t{1});
    with_round = ir_.CreateAdd(with_round, ir_.CreateMul(bit, ir_.getInt64(block.last - block.first)));
  }
  Value* next = ir_.CreateAdd(at, ir_.getInt64(1));
  at->addIncoming(next, round);
  sum->addIncoming(with_round, round);
  ir_.CreateCondBr(ir_.CreateICmpULT(next, wave_rounds), round, done);
  ir_.SetInsertPoint(done);
  return with_round;
}

}  // namespace lockstep::translator

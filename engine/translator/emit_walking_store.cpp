// Stores whose lanes each walk through memory, as the rows of a matrix are written by one work-item each.
// Where lanes go on by an element in each round, 32 bytes of each lane are kept as rows of lanes, then 64,
// and stored at once. Whatever leaves the loop, or may read what is kept, stores it before.
#include "engine/translator/emitter.h"
#include "engine/translator/lane_values.h"
#include "engine/translator/walk_plan.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::Value;

// Behind plan_walks().
void Emitter::plan_store_walks() {
  for (const auto& [node, block] : find_walking_stores(routine_, piece_)) {
    // Lanes side by side are a move.
    if (!plans_[block].is_empty()) continue;
    bool all_walk = true;
    for (unsigned n = routine_.blocks[block].first; n < routine_.blocks[block].last; ++n)
      all_walk &= routine_.nodes[n].kind != NodeKind::global || n == node || walks_.contains(n);
    if (!all_walk) continue;
    StoreWalk walk;
    walk.block = block;
    walk.dwords = isa::access_shape(routine_.nodes[node].instruction.row->opcode).registers();
    walk.rows = ir_.CreateAlloca(llvm::ArrayType::get(lanes_, kLineWords * chunks_));
    walk.rounds = ir_.CreateAlloca(i32_);
    walk.is_long = ir_.CreateAlloca(ir_.getInt1Ty());
    walk.offsets = ir_.CreateAlloca(llvm::ArrayType::get(lanes_, chunks_));
    walk.begin = ir_.CreateAlloca(i64_);
    store_walks_.emplace(node, walk);
    // Of the wave as it is.
    compact_loops_.erase(block);
  }
}

// No lane's bytes, so many of each, are another one's, too: each lane's are behind those of the lane before
// it. Offsets are below 2^31.
Value* Emitter::are_rows_apart(const ChunkValues& offsets, Value* bytes) {
  Value* wrong_lanes = nullptr;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    const bool is_last = chunk + 1 == chunks_;
    std::vector<int> next;
    for (int lane = 0; lane < 16; ++lane) next.push_back(lane + 1);
    if (is_last) next.back() = 15;
    Value* following = ir_.CreateShuffleVector(offsets[chunk], offsets[is_last ? chunk : chunk + 1], next);
    Value* is_close = ir_.CreateICmpSLT(ir_.CreateSub(following, offsets[chunk]),
                                        ir_.CreateVectorSplat(16, ir_.CreateTrunc(bytes, i32_)));
    Value* wrong = ir_.CreateBitCast(is_close, i16_);
    if (is_last) wrong = ir_.CreateAnd(wrong, ir_.getInt16(0x7fff));
    wrong_lanes = wrong_lanes ? ir_.CreateOr(wrong_lanes, wrong) : wrong;
  }
  return ir_.CreateICmpEQ(wrong_lanes, ir_.getInt16(0));
}

// So many words of each lane: load_rows() the other way round.
void Emitter::store_rows(Value* pointer, const ChunkValues& offsets, const StoreWalk& walk, unsigned count) {
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    const auto word = [&](unsigned number) -> Value* {
      return ir_.CreateLoad(lanes_, place_in(walk.rows, number * chunks_ + chunk));
    };
    std::vector<std::array<Value*, 4>> fours(count / 4);
    for (unsigned four = 0; four < fours.size(); ++four) {
      std::array<Value*, 4> words{};
      for (unsigned i = 0; i < 4; ++i) words[i] = word(4 * four + i);
      fours[four] = lanes_in_quarters(ir_, words);
    }
    for (unsigned lane = 0; lane < 16; ++lane) {
      std::vector<int> quarters;
      const int first = static_cast<int>(lane) / 4 * 4;
      for (const int from : {first, 16 + first})
        for (int i = 0; i < 4; ++i) quarters.push_back(from + i);
      std::vector<Value*> halves;
      for (unsigned four = 0; four < fours.size(); four += 2)
        halves.push_back(ir_.CreateShuffleVector(fours[four][lane % 4], fours[four + 1][lane % 4], quarters));
      Value* words = halves[0];
      if (halves.size() == 2) words = shuffled(ir_, halves[0], halves[1], [](int at) { return at; });
      Value* offset = ir_.CreateZExt(ir_.CreateExtractElement(offsets[chunk], uint64_t{lane}), i64_);
      ir_.CreateAlignedStore(words, ir_.CreateGEP(ir_.getInt8Ty(), pointer, offset), llvm::Align(1));
    }
  }
}

BasicBlock* Emitter::emit_store_walk(unsigned index, const MemoryAccess& access,
                                     const std::array<std::vector<Value*>, kMaxChunks>& words) {
  const StoreWalk& walk = store_walks_.at(index);
  BasicBlock *in_step = new_block("store_in_step"), *look = new_block("first_row"),
             *begins = new_block("rows_begin"), *keep = new_block("keep_row"), *all = new_block("store_rows"),
             *many = new_block("store_many"), *few = new_block("store_few"),
             *stored = new_block("rows_stored"), *less = new_block("less_kept"),
             *shorter = new_block("shorter"), *elsewhere = new_block("no_store_walk"),
             *done = new_block("kept");
  // All lanes: others would be where they were left.
  ir_.CreateCondBr(are_all(access.lanes), in_step, elsewhere);
  ir_.SetInsertPoint(in_step);
  Value* kept = ir_.CreateLoad(i32_, walk.rounds);
  Value* is_long = ir_.CreateLoad(ir_.getInt1Ty(), walk.is_long);
  Value* bytes = ir_.CreateSelect(is_long, ir_.getInt64(kLineWords * 4), ir_.getInt64(kFewWords * 4));
  ir_.CreateCondBr(ir_.CreateICmpEQ(kept, ir_.getInt32(0)), look, keep);

  ir_.SetInsertPoint(look);
  Value* zeros = llvm::Constant::getNullValue(lanes_);
  const auto [begin, end] = last_range(access.slot);
  Value* last_place = ir_.CreateSub(ir_.CreateSub(end, begin), bytes);
  // Of a range that is too small it is negative.
  Value* outside = ir_.CreateICmpUGT(last_place, ir_.getInt64(INT32_MAX));
  Value* from = ir_.CreateSub(access.base, begin);
  if (access.has_base) outside = ir_.CreateOr(outside, ir_.CreateICmpUGT(from, last_place));
  Value* from_low = ir_.CreateVectorSplat(16, ir_.CreateTrunc(from, i32_));
  Value* from_high = ir_.CreateVectorSplat(16, ir_.CreateTrunc(ir_.CreateLShr(from, 32), i32_));
  const auto is_behind = [&](Value* number, Value* last) {
    return ir_.CreateICmpUGT(number, ir_.CreateVectorSplat(16, ir_.CreateTrunc(last, i32_)));
  };
  ChunkValues offsets{};
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value *low = access.low[chunk], *high = access.high[chunk], *wrong = nullptr;
    offsets[chunk] = ir_.CreateAdd(low, from_low);
    if (access.has_base) {
      wrong = is_behind(low, ir_.CreateSub(last_place, from));
      if (high) wrong = ir_.CreateOr(wrong, ir_.CreateICmpNE(high, zeros));
    } else {
      Value* carry = ir_.CreateZExt(ir_.CreateICmpULT(offsets[chunk], low), lanes_);
      Value* above = ir_.CreateAdd(ir_.CreateAdd(high, from_high), carry);
      wrong = ir_.CreateOr(ir_.CreateICmpNE(above, zeros), is_behind(offsets[chunk], last_place));
    }
    outside = ir_.CreateOr(outside, ir_.CreateICmpNE(ir_.CreateBitCast(wrong, i16_), ir_.getInt16(0)));
  }
  outside = ir_.CreateOr(outside, ir_.CreateNot(are_rows_apart(offsets, bytes)));
  // What the loop has loaded ahead, and will load from there, is elsewhere. Where it looks for another range
  // it stores first what is kept.
  for (const auto& [load, other] : walks_) {
    if (other.block != walk.block) continue;
    Value* is_apart = ir_.CreateOr(ir_.CreateICmpULE(end, ir_.CreateLoad(i64_, other.begin)),
                                   ir_.CreateICmpULE(ir_.CreateLoad(i64_, other.end), begin));
    outside = ir_.CreateOr(outside, ir_.CreateNot(is_apart));
  }
  ir_.CreateCondBr(outside, less, begins);

  ir_.SetInsertPoint(less);
  ir_.CreateCondBr(is_long, shorter, elsewhere);
  ir_.SetInsertPoint(shorter);
  ir_.CreateStore(ir_.getFalse(), walk.is_long);
  ir_.CreateBr(in_step);

  ir_.SetInsertPoint(begins);
  note_write({begin, end});
  ir_.CreateStore(begin, walk.begin);
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    ir_.CreateStore(offsets[chunk], place_in(walk.offsets, chunk));
  BasicBlock* begun = ir_.GetInsertBlock();
  ir_.CreateBr(keep);

  ir_.SetInsertPoint(keep);
  llvm::PHINode* round = ir_.CreatePHI(i32_, 2);
  round->addIncoming(kept, in_step);
  round->addIncoming(ir_.getInt32(0), begun);
  Value* first_row = ir_.CreateMul(round, ir_.getInt32(walk.dwords * chunks_));
  for (unsigned word = 0; word < walk.dwords; ++word)
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      ir_.CreateStore(
          words[chunk][word],
          ir_.CreateGEP(lanes_, walk.rows, ir_.CreateAdd(first_row, ir_.getInt32(word * chunks_ + chunk))));
  Value* rounds = ir_.CreateAdd(round, ir_.getInt32(1));
  ir_.CreateStore(rounds, walk.rounds);
  Value* most_rounds = ir_.CreateUDiv(ir_.CreateTrunc(bytes, i32_), ir_.getInt32(4 * walk.dwords));
  ir_.CreateCondBr(ir_.CreateICmpEQ(rounds, most_rounds), all, done);

  ir_.SetInsertPoint(all);
  ir_.CreateCondBr(is_long, many, few);
  for (const bool is_few : {false, true}) {
    ir_.SetInsertPoint(is_few ? few : many);
    ChunkValues places{};
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      places[chunk] = ir_.CreateLoad(lanes_, place_in(walk.offsets, chunk));
    store_rows(ir_.CreateIntToPtr(ir_.CreateLoad(i64_, walk.begin), pointer_), places, walk,
               is_few ? kFewWords : kLineWords);
    ir_.CreateBr(stored);
  }
  ir_.SetInsertPoint(stored);
  ir_.CreateStore(ir_.getTrue(), walk.is_long);
  ir_.CreateStore(ir_.getInt32(0), walk.rounds);
  ir_.CreateBr(done);

  ir_.SetInsertPoint(elsewhere);
  store_kept_rows(walk);
  return done;
}

void Emitter::begin_walk_anew(const StoreWalk& walk) {
  ir_.CreateStore(ir_.getInt32(0), walk.rounds);
  ir_.CreateStore(ir_.getFalse(), walk.is_long);
}

void Emitter::store_kept_rows(unsigned block) {
  for (const auto& [node, walk] : store_walks_)
    if (walk.block == block) store_kept_rows(walk);
}

void Emitter::store_all_kept_rows() {
  for (const auto& [node, walk] : store_walks_) store_kept_rows(walk);
}

void Emitter::store_kept_rows(const StoreWalk& walk) {
  BasicBlock *some = new_block("rows_kept"), *none = new_block("no_rows_kept");
  Value* rounds = ir_.CreateLoad(i32_, walk.rounds);
  branch_unlikely(ir_.CreateICmpNE(rounds, ir_.getInt32(0)), some, none);
  ir_.SetInsertPoint(some);
  auto function = runtime("lockstep_translator_store_rows", ir_.getVoidTy(),
                          {i64_, pointer_, pointer_, i32_, i32_, i32_});
  // Of the lanes that there is code for: waves that are half empty keep half as many.
  ir_.CreateCall(function, {ir_.CreateLoad(i64_, walk.begin), walk.offsets, walk.rows, rounds,
                            ir_.getInt32(kLanesPerChunk * chunks_), ir_.getInt32(walk.dwords)});
  begin_walk_anew(walk);
  ir_.CreateBr(none);
  ir_.SetInsertPoint(none);
}

}  // namespace lockstep::translator

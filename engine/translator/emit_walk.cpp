// Loads whose lanes each walk through memory, as the rows of a matrix are read by one work-item each. Where
// such a load goes on in all lanes from where it was the last time, 32 bytes of each lane are loaded at once,
// then 64, and laid out as rows of lanes; the next rounds take one row each, or a byte or short of each word
// of one.
// That is what the caches of a card do: what others write meanwhile may be seen late, until the wave
// invalidates them. What it writes itself is seen.
#include "engine/translator/emitter.h"
#include "engine/translator/lane_values.h"
#include "engine/translator/walk_plan.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// How far a base that the wave itself counts up may have come, so that no sum of it and an offset below 2^31
// is that of another address.
constexpr uint64_t kMostDistance = 64;
// So often rows may be forgotten before they are used up. Then there is no use in them for this wave.
constexpr uint32_t kMostWasted = 4;

// Elements of a lane that are in one word of its row.
unsigned elements_of_word(const AccessShape& shape) {
  return shape.bytes < 4 ? 4 / shape.bytes : 1;
}

// Which of them is an i32.
Value* element_of_words(llvm::IRBuilder<>& ir, const AccessShape& shape, Value* words, Value* which) {
  const unsigned bits = 8 * shape.bytes;
  const auto in_all_lanes = [&](Value* number) { return ir.CreateVectorSplat(16, number); };
  Value* above = ir.CreateSub(ir.getInt32(32 - bits), ir.CreateMul(which, ir.getInt32(bits)));
  Value *at_top = ir.CreateShl(words, in_all_lanes(above)), *down = in_all_lanes(ir.getInt32(32 - bits));
  return shape.sign_extend ? ir.CreateAShr(at_top, down) : ir.CreateLShr(at_top, down);
}

}  // namespace

void Emitter::plan_walks(std::span<const LoopAccess> accesses) {
  for (const auto& [node, block, is_certain] : find_walks(routine_, accesses)) {
    if (plans_[block].has_regular(node - routine_.blocks[block].first)) continue;
    // Where the wave hardly ever comes. With sixteen registers, what such a load needs takes those of the
    // lanes.
    if (!has_masked_gathers_ && lane_loops_.contains(block)) continue;
    Walk walk;
    walk.is_certain = is_certain;
    walk.block = block;
    walk.rows = ir_.CreateAlloca(llvm::ArrayType::get(lanes_, kLineWords * chunks_));
    walk.rows_left = ir_.CreateAlloca(i32_);
    walk.is_long = ir_.CreateAlloca(ir_.getInt1Ty());
    if (!is_certain) {
      for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
        walk.low[chunk] = ir_.CreateAlloca(lanes_);
        walk.high[chunk] = ir_.CreateAlloca(lanes_);
      }
      walk.wasted = ir_.CreateAlloca(i32_);
      walk.lanes = ir_.CreateAlloca(routine_.wave_size == 32 ? i32_ : i64_);
      for (llvm::AllocaInst** field : {&walk.base, &walk.begin, &walk.end}) *field = ir_.CreateAlloca(i64_);
    }
    walks_.emplace(node, walk);
  }
  plan_store_walks();
}

// Of a wave that begins: nothing was loaded ahead.
void Emitter::begin_walks() {
  for (auto& [node, walk] : walks_) {
    if (walk.is_certain) continue;
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      ir_.CreateStore(llvm::Constant::getNullValue(lanes_), walk.low[chunk]);
      ir_.CreateStore(llvm::Constant::getNullValue(lanes_), walk.high[chunk]);
    }
    for (llvm::AllocaInst* field : {walk.wasted, walk.lanes, walk.base, walk.begin, walk.end})
      ir_.CreateStore(llvm::Constant::getNullValue(field->getAllocatedType()), field);
  }
  forget_walks();
  for (auto& [node, walk] : store_walks_) begin_walk_anew(walk);
}

void Emitter::begin_walk_anew(const Walk& walk) {
  ir_.CreateStore(ir_.getInt32(0), walk.rows_left);
  ir_.CreateStore(ir_.getFalse(), walk.is_long);
}

void Emitter::forget_walks() {
  for (auto& [node, walk] : walks_) begin_walk_anew(walk);
}

// The loop that is this block begins, or a part of a round is done again.
void Emitter::forget_certain_walks(unsigned block) {
  for (auto& [node, walk] : walks_)
    if (walk.is_certain && walk.block == block) begin_walk_anew(walk);
}

// Something in this range is about to be written by the wave. Loops with walks that are certain write
// nothing.
void Emitter::forget_walks_in(std::pair<Value*, Value*> range) {
  for (auto& [node, walk] : walks_) {
    if (walk.is_certain) continue;
    Value* left = ir_.CreateLoad(i32_, walk.rows_left);
    Value* apart = ir_.CreateOr(ir_.CreateICmpULE(range.second, ir_.CreateLoad(i64_, walk.begin)),
                                ir_.CreateICmpULE(ir_.CreateLoad(i64_, walk.end), range.first));
    Value* is_wasted = ir_.CreateAnd(ir_.CreateNot(apart), ir_.CreateICmpNE(left, ir_.getInt32(0)));
    ir_.CreateStore(ir_.CreateAdd(ir_.CreateLoad(i32_, walk.wasted), ir_.CreateZExt(is_wasted, i32_)),
                    walk.wasted);
    ir_.CreateStore(ir_.CreateSelect(apart, left, ir_.getInt32(0)), walk.rows_left);
  }
}

// So many words for each lane, from the pointer and its offset on: word n of all lanes is the n-th result.
std::vector<Value*> Emitter::load_rows(Value* pointer, Value* offsets, unsigned count) {
  auto* part = llvm::FixedVectorType::get(i32_, count);
  const auto load = [&](unsigned lane) {
    Value* offset = ir_.CreateZExt(ir_.CreateExtractElement(offsets, uint64_t{lane}), i64_);
    return ir_.CreateAlignedLoad(part, ir_.CreateGEP(ir_.getInt8Ty(), pointer, offset), llvm::Align(1));
  };
  std::vector<std::vector<Value*>> parts(count / kFewWords);
  for (unsigned lane = 0; lane < 8; ++lane) {
    // Both parts of a lane are loaded at once: their cache line may have to give way to those of other lanes.
    Value *low = load(lane), *high = load(lane + 8);
    for (unsigned i = 0; i < parts.size(); ++i) {
      const int first = static_cast<int>(i * kFewWords), of_high = static_cast<int>(count);
      parts[i].push_back(shuffled(ir_, low, high, [=](int at) { return first + at % 8 + at / 8 * of_high; }));
    }
  }
  std::vector<Value*> words;
  for (const std::vector<Value*>& lanes : parts) {
    // In halves of a register lanes n and n + 8. Then pairs of dwords, pairs of these, and pairs of quarters
    // change places between registers, always inside a half.
    std::vector<Value*> pairs(8), fours(8);
    for (const int high : {0, 1})
      for (unsigned i = 0; i < 8; i += 2)
        pairs[i + static_cast<unsigned>(high)] = shuffled(ir_, lanes[i], lanes[i + 1], [high](int at) {
          return at / 4 * 4 + at % 4 / 2 + 2 * high + at % 2 * 16;
        });
    for (const int high : {0, 1})
      for (unsigned i = 0; i < 8; i += 4)
        for (unsigned word = 0; word < 2; ++word)
          fours[i + 2 * word + static_cast<unsigned>(high)] =
              shuffled(ir_, pairs[i + word], pairs[i + 2 + word],
                       [high](int at) { return at / 4 * 4 + at % 2 + 2 * high + at % 4 / 2 * 16; });
    for (const int high : {0, 1})
      for (unsigned word = 0; word < 4; ++word)
        words.push_back(shuffled(ir_, fours[word], fours[word + 4], [high](int at) {
          return at / 8 * 8 + at % 4 + 4 * high + at % 8 / 4 * 16;
        }));
  }
  return words;
}

// Goes on where the lanes do not walk, or the bytes ahead are not theirs to read. `base` is for all lanes;
// without `high` offsets are of 32 bits. `has_base`: it is an address, else a constant.
Emitter::Moved Emitter::emit_walk(unsigned index, const AccessShape& shape, unsigned slot_number, Value* base,
                                  const ChunkValues& low, const ChunkValues& high, bool has_base) {
  Walk& walk = walks_.at(index);
  const unsigned dwords = shape.registers(), rows = 4 * kLineWords / shape.bytes;
  Value* step = ir_.CreateVectorSplat(16, ir_.getInt32(shape.bytes));
  Value* zeros = llvm::Constant::getNullValue(lanes_);
  Value* exec = whole_mask(kExec);
  BasicBlock *walking = new_block("walking"), *fetch = new_block("fetch_rows"), *fetched = new_block("rows"),
             *many = new_block("many_rows"), *few = new_block("few_rows"), *less = new_block("less_ahead"),
             *shorter = new_block("shorter"), *take = new_block("take_row"),
             *elsewhere = new_block("no_walk"), *done = new_block("walked");
  const auto [begin, end] = last_range(slot_number);
  ChunkValues keys{}, on{};
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) on[chunk] = half_bits(scalar(kExec + chunk / 2), chunk);
  if (walk.is_certain) {
    ir_.CreateBr(walking);
  } else {
    // Whether each lane is where it was expected.
    Value* wrong_lanes = nullptr;
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      keys[chunk] = low[chunk];
      if (has_base)
        keys[chunk] = ir_.CreateAdd(low[chunk], ir_.CreateVectorSplat(16, ir_.CreateTrunc(base, i32_)));
      Value* differs = ir_.CreateXor(keys[chunk], ir_.CreateLoad(lanes_, walk.low[chunk]));
      if (high[chunk])
        differs = ir_.CreateOr(differs, ir_.CreateXor(high[chunk], ir_.CreateLoad(lanes_, walk.high[chunk])));
      if (has_base)
        differs = ir_.CreateOr(
            differs, ir_.CreateAnd(low[chunk], ir_.CreateVectorSplat(16, ir_.getInt32(uint32_t{1} << 31))));
      Value* wrong = ir_.CreateAnd(ir_.CreateBitCast(ir_.CreateICmpNE(differs, zeros), i16_), on[chunk]);
      wrong_lanes = wrong_lanes ? ir_.CreateOr(wrong_lanes, wrong) : wrong;
    }
    ir_.CreateCondBr(ir_.CreateICmpEQ(wrong_lanes, ir_.getInt16(0)), walking, elsewhere);
  }

  ir_.SetInsertPoint(walking);
  Value* left = ir_.CreateLoad(i32_, walk.rows_left);
  Value* is_here = ir_.CreateICmpNE(left, ir_.getInt32(0));
  if (!walk.is_certain) {
    const auto require = [&](Value* condition) { is_here = ir_.CreateAnd(is_here, condition); };
    Value* lanes = ir_.CreateLoad(walk.lanes->getAllocatedType(), walk.lanes);
    require(ir_.CreateICmpEQ(ir_.CreateAnd(exec, ir_.CreateNot(lanes)),
                             llvm::Constant::getNullValue(exec->getType())));
    require(
        ir_.CreateICmpULE(ir_.CreateSub(base, ir_.CreateLoad(i64_, walk.base)), ir_.getInt64(kMostDistance)));
    // What was unmapped meanwhile is a range no more.
    require(ir_.CreateICmpEQ(begin, ir_.CreateLoad(i64_, walk.begin)));
    require(ir_.CreateICmpEQ(end, ir_.CreateLoad(i64_, walk.end)));
  }
  ir_.CreateCondBr(is_here, take, fetch);

  ir_.SetInsertPoint(fetch);
  store_kept_rows(walk.block);
  Value* is_long = ir_.CreateLoad(ir_.getInt1Ty(), walk.is_long);
  Value* bytes = ir_.CreateSelect(is_long, ir_.getInt64(kLineWords * 4), ir_.getInt64(kFewWords * 4));
  Value* last_place = ir_.CreateSub(ir_.CreateSub(end, begin), bytes);
  // Of a range that is too small it is negative. The range of a whole process has holes.
  Value* outside = ir_.CreateICmpUGT(last_place, ir_.getInt64(INT32_MAX));
  if (!walk.is_certain)
    outside = ir_.CreateOr(outside,
                           ir_.CreateICmpUGE(ir_.CreateLoad(i32_, walk.wasted), ir_.getInt32(kMostWasted)));
  Value* from = ir_.CreateSub(base, begin);
  if (has_base) outside = ir_.CreateOr(outside, ir_.CreateICmpUGT(from, last_place));
  ChunkValues offsets{};
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    const auto is_behind = [&](Value* number, Value* last) {
      return ir_.CreateICmpUGT(number, ir_.CreateVectorSplat(16, ir_.CreateTrunc(last, i32_)));
    };
    Value* from_low = ir_.CreateVectorSplat(16, ir_.CreateTrunc(from, i32_));
    offsets[chunk] = ir_.CreateAdd(low[chunk], from_low);
    Value* wrong = nullptr;
    if (has_base) {
      wrong = is_behind(low[chunk], ir_.CreateSub(last_place, from));
      if (high[chunk]) wrong = ir_.CreateOr(wrong, ir_.CreateICmpNE(high[chunk], zeros));
    } else {
      Value* from_high = ir_.CreateVectorSplat(16, ir_.CreateTrunc(ir_.CreateLShr(from, 32), i32_));
      Value* carry = ir_.CreateZExt(ir_.CreateICmpULT(offsets[chunk], low[chunk]), lanes_);
      Value* above = ir_.CreateAdd(ir_.CreateAdd(high[chunk], from_high), carry);
      wrong = ir_.CreateOr(ir_.CreateICmpNE(above, zeros), is_behind(offsets[chunk], last_place));
      // The expected low half must not come around.
      if (!walk.is_certain)
        wrong = ir_.CreateOr(wrong, is_behind(low[chunk], ir_.getInt64(~0u - kLineWords * 4)));
    }
    wrong = ir_.CreateAnd(ir_.CreateBitCast(wrong, i16_), on[chunk]);
    outside = ir_.CreateOr(outside, ir_.CreateICmpNE(wrong, ir_.getInt16(0)));
    // Lanes that are off look at the range's begin.
    offsets[chunk] = ir_.CreateSelect(ir_.CreateBitCast(on[chunk], lane_mask_), offsets[chunk], zeros);
  }
  branch_unlikely(outside, less, fetched);

  ir_.SetInsertPoint(less);
  ir_.CreateCondBr(is_long, shorter, elsewhere);
  ir_.SetInsertPoint(shorter);
  ir_.CreateStore(ir_.getFalse(), walk.is_long);
  ir_.CreateBr(fetch);

  const auto row = [&](Value* number, unsigned word, unsigned chunk) {
    Value* first = ir_.CreateMul(number, ir_.getInt32(dwords * chunks_));
    return ir_.CreateGEP(lanes_, walk.rows, ir_.CreateAdd(first, ir_.getInt32(word * chunks_ + chunk)));
  };
  // The last rows are those that are left.
  const auto load_and_lay_out = [&](unsigned count) {
    Value* pointer = ir_.CreateIntToPtr(begin, pointer_);
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      const std::vector<Value*> words = load_rows(pointer, offsets[chunk], count);
      for (unsigned i = 0; i < count; ++i) {
        const unsigned word = kLineWords - count + i;
        ir_.CreateStore(words[i], row(ir_.getInt32(word / dwords), word % dwords, chunk));
      }
    }
    ir_.CreateBr(take);
  };
  ir_.SetInsertPoint(fetched);
  if (!walk.is_certain) {
    ir_.CreateStore(exec, walk.lanes);
    ir_.CreateStore(base, walk.base);
    ir_.CreateStore(begin, walk.begin);
    ir_.CreateStore(end, walk.end);
  }
  ir_.CreateStore(ir_.getTrue(), walk.is_long);
  ir_.CreateCondBr(is_long, many, few);
  ir_.SetInsertPoint(many);
  load_and_lay_out(kLineWords);
  ir_.SetInsertPoint(few);
  load_and_lay_out(kFewWords);

  ir_.SetInsertPoint(take);
  llvm::PHINode* count = ir_.CreatePHI(i32_, 3);
  count->addIncoming(left, walking);
  count->addIncoming(ir_.getInt32(rows), many);
  count->addIncoming(ir_.getInt32(rows * kFewWords / kLineWords), few);
  Moved result;
  Value* number = ir_.CreateSub(ir_.getInt32(rows), count);
  Value *which = nullptr, *which_row = number;
  if (const unsigned elements = elements_of_word(shape); elements > 1) {
    which = ir_.CreateURem(number, ir_.getInt32(elements));
    which_row = ir_.CreateUDiv(number, ir_.getInt32(elements));
  }
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    for (unsigned word = 0; word < dwords; ++word) {
      Value* words = ir_.CreateLoad(lanes_, row(which_row, word, chunk));
      result.words[chunk].push_back(which ? element_of_words(ir_, shape, words, which) : words);
    }
    // Lanes that are off count, too: what is next in the rows is of one round.
    if (!walk.is_certain)
      ir_.CreateStore(ir_.CreateAdd(ir_.CreateLoad(lanes_, walk.low[chunk]), step), walk.low[chunk]);
  }
  ir_.CreateStore(ir_.CreateSub(count, ir_.getInt32(1)), walk.rows_left);
  ir_.CreateBr(done);

  ir_.SetInsertPoint(elsewhere);
  store_kept_rows(walk.block);
  for (unsigned chunk = 0; !walk.is_certain && chunk < chunks_; ++chunk) {
    ir_.CreateStore(ir_.CreateAdd(keys[chunk], step), walk.low[chunk]);
    if (high[chunk]) ir_.CreateStore(high[chunk], walk.high[chunk]);
  }
  begin_walk_anew(walk);
  result.end = done;
  return result;
}

}  // namespace lockstep::translator

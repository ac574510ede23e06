// Loads and stores of all lanes, each at a place of its own: plain moves where these are consecutive, else
// gathers and scatters, else lane by lane through runtime.h.
#include <array>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "engine/translator/emitter.h"
#include "engine/translator/index_bits.h"
#include "engine/translator/pair_folding.h"
#include "engine/translator/runtime.h"
#include "engine/translator/table_lookups.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using llvm::BasicBlock;
using llvm::Value;

// Every way of it is a try: where it finds that it is none, the next one begins.
class Emitter::MemoryAccessCode {
 public:
  MemoryAccessCode(Emitter& emitter, unsigned index, const MemoryAccess& access)
      : e_(emitter),
        index_(index),
        access_(access),
        facts_(e_.facts_.nodes[index]),
        shape_(access.shape),
        is_load_(shape_.kind == AccessShape::Kind::load),
        dwords_(shape_.registers()) {
    for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk)
      for (unsigned word = 0; word < dwords_; ++word)
        if (!is_load_ || shape_.part != isa::RegisterPart::whole)
          words_[chunk].push_back(e_.vgpr(access_.data + word, chunk));
  }

  void emit();

 private:
  bool may_be_consecutive() const;
  void emit_consecutive();
  void emit_gathered();
  void emit_gather(bool is_small, BasicBlock* otherwise);
  Value* last_offset();
  Value* find_outside(bool is_small);
  Value* is_wrong(bool is_small, unsigned chunk);
  std::vector<Moved> emit_rows(bool is_small, Value* pointer);
  unsigned rows_of_table() const;
  Moved emit_table(unsigned rows, Value* pointer);
  ChunkWords emit_elements(bool is_small, Value* pointer);
  ChunkWords emit_each(Value* pointer);
  void move_lane(Value* at, const std::function<Value*(unsigned row)>& row);
  Value* held_in_range(bool is_small, unsigned chunk);
  void emit_by_lanes();
  void emit_result();
  // Elements smaller than a dword, where hosts gather.
  bool loads_four() const { return is_load_ && shape_.bytes < 4 && e_.has_masked_gathers_; }
  Value* base_in_range() { return ir_.CreateSub(access_.base, range_.first); }
  Value* in_all_lanes(Value* number) { return ir_.CreateVectorSplat(16, number); }

  Emitter& e_;
  llvm::IRBuilder<>& ir_ = e_.ir_;
  const unsigned index_;
  const MemoryAccess& access_;
  const NodeFacts& facts_;
  const AccessShape& shape_;
  const bool is_load_;
  const unsigned dwords_;
  ChunkWords words_;  // stores: data; loads: what the registers hold before
  const Snapshot before_ = e_.snapshot(index_);
  BasicBlock *lanes_ = e_.new_block("lanes"), *done_ = e_.new_block("accessed");
  BasicBlock* slow_ = e_.is_gathered(shape_) ? e_.new_block("anywhere") : lanes_;
  std::vector<Moved> ways_;  // that have been emitted

  // Of gathers: the range of the last time, and by its size where an element may begin last.
  std::pair<Value*, Value*> range_;
  Value *size_ = nullptr, *last_place_ = nullptr;
  ChunkValues offsets_{}, on_{};
};

void Emitter::emit_memory_access(unsigned index, const MemoryAccess& access) {
  MemoryAccessCode(*this, index, access).emit();
}

void Emitter::MemoryAccessCode::emit() {
  if (access_.is_unusual) {
    BasicBlock* usual = e_.new_block("usual");
    e_.branch_unlikely(access_.is_unusual, slow_, usual);
    ir_.SetInsertPoint(usual);
  }
  const auto facts_of_addresses = e_.address_facts_;
  if (!e_.compact_ && e_.walks_.contains(index_))
    ways_.push_back(e_.emit_walk(index_, shape_, access_.slot, access_.base, access_.low, access_.high,
                                 access_.has_base));
  if (e_.store_walks_.contains(index_))
    if (BasicBlock* const kept = e_.emit_store_walk(index_, access_, words_)) ways_.push_back({kept, {}});
  const bool is_certain = ways_.empty() && !access_.is_unusual;
  if (may_be_consecutive())
    emit_consecutive();
  else
    ir_.CreateBr(lanes_);
  if (e_.is_gathered(shape_)) emit_gathered();
  emit_by_lanes();
  // What was found out about them where lanes do not walk, or are usual, is not known behind that.
  if (!is_certain) e_.address_facts_ = facts_of_addresses;
  emit_result();
}

// What was computed from what each lane has loaded hardly counts on from lane to lane.
bool Emitter::MemoryAccessCode::may_be_consecutive() const {
  // Nor are all lanes on where few are left.
  return !e_.compact_ && shape_.bytes >= 4 &&
         !(e_.is_gathered(shape_) && (facts_.address_is_loaded || e_.has_short_rows(index_, shape_)));
}

void Emitter::MemoryAccessCode::emit_consecutive() {
  // No carry out of the low half inside the chunk, one high half for all lanes.
  Value* plain = e_.are_all(access_.lanes);
  ChunkValues first{};
  const auto range = e_.last_range(access_.slot);
  std::optional<std::map<Value*, AddressFacts>> facts_of_all_ways;
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk) {
    plain = ir_.CreateAnd(plain, e_.has_stride(access_.low[chunk], 4 * dwords_));
    if (chunk == 0 && dwords_ == 4) {
      // Structures of 16 bytes are mostly elsewhere if these are not, and what is behind is long.
      BasicBlock* maybe = e_.new_block("maybe_consecutive");
      e_.branch_unlikely(ir_.CreateNot(plain), lanes_, maybe);
      ir_.SetInsertPoint(maybe);
      plain = ir_.getTrue();
      facts_of_all_ways = e_.address_facts_;
    }
    Value* start = e_.address_facts(access_.low[chunk]).first;
    plain = ir_.CreateAnd(plain, ir_.CreateICmpULE(start, ir_.getInt32(~0u - 16 * shape_.bytes)));
    Value* at = ir_.CreateAdd(access_.base, ir_.CreateZExt(start, e_.i64_));
    if (access_.wide) {
      plain = ir_.CreateAnd(plain, e_.has_stride(access_.high[chunk], 0));
      Value* high = ir_.CreateZExt(e_.address_facts(access_.high[chunk]).first, e_.i64_);
      at = ir_.CreateAdd(at, ir_.CreateShl(high, 32));
    }
    plain = ir_.CreateAnd(plain, e_.in_range(range, at, 16 * shape_.bytes));
    first[chunk] = at;
  }
  BasicBlock* fast = e_.new_block("consecutive");
  e_.branch_unlikely(ir_.CreateNot(plain), lanes_, fast);
  ir_.SetInsertPoint(fast);
  if (!is_load_) e_.note_write(range);
  Moved& way = ways_.emplace_back();
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk) {
    Value* pointer = ir_.CreateIntToPtr(first[chunk], e_.pointer_);
    if (is_load_)
      way.words[chunk] = e_.load_consecutive(pointer, dwords_);
    else
      e_.store_consecutive(pointer, words_[chunk]);
  }
  way.end = fast;
  if (facts_of_all_ways) e_.address_facts_ = std::move(*facts_of_all_ways);
}

// All lanes that are on in the range of the last time: each on its own, in generated code. In ranges of up to
// 2 GB the places are counted in 32 bits, which is half as much work: from the range's begin, or from the
// base that is the same for all lanes, if it is in there.
void Emitter::MemoryAccessCode::emit_gathered() {
  ir_.SetInsertPoint(lanes_);
  range_ = e_.last_range(access_.slot);
  size_ = ir_.CreateSub(range_.second, range_.first);
  last_place_ = last_offset();
  BasicBlock *in_small = e_.new_block("in_small_range"), *in_large = e_.new_block("in_large_range");
  // Of a range that is too small it is negative.
  Value* is_large = ir_.CreateICmpUGT(last_place_, ir_.getInt64(INT32_MAX));
  if (access_.has_base) is_large = ir_.CreateOr(is_large, ir_.CreateICmpUGT(base_in_range(), last_place_));
  e_.branch_unlikely(is_large, in_large, in_small);
  ir_.SetInsertPoint(in_small);
  // Below the base there may be places of the range, too.
  emit_gather(true, access_.has_base ? in_large : slow_);
  ir_.SetInsertPoint(in_large);
  if (e_.is_half()) {
    ir_.CreateBr(slow_);
    return;
  }
  emit_gather(false, slow_);
}

Value* Emitter::MemoryAccessCode::last_offset() {
  Value* last = ir_.CreateSub(size_, ir_.getInt64(shape_.bytes));
  if (!loads_four()) return last;
  return ir_.CreateSelect(ir_.CreateICmpUGE(size_, ir_.getInt64(4)), last, ir_.getInt64(-1));
}

void Emitter::MemoryAccessCode::emit_gather(bool is_small, BasicBlock* otherwise) {
  Value* outside = find_outside(is_small);
  Value* pointer =
      ir_.CreateIntToPtr(is_small && access_.has_base ? access_.base : range_.first, e_.pointer_);
  BasicBlock* inside = e_.new_block("gather");
  e_.branch_unlikely(outside, otherwise, inside);
  ir_.SetInsertPoint(inside);
  if (!is_load_) e_.note_write(range_);
  const unsigned table = is_small ? rows_of_table() : 0;
  const std::vector<Moved> moved =
      table > 0 ? std::vector{emit_table(table, pointer)} : emit_rows(is_small, pointer);
  const bool was_seldom = std::exchange(e_.is_seldom_, e_.is_seldom_ || !is_small || table > 0);
  ChunkWords words = e_.is_half() ? emit_each(pointer) : emit_elements(is_small, pointer);
  e_.is_seldom_ = was_seldom;
  ways_.insert(ways_.end(), moved.begin(), moved.end());
  ways_.push_back({ir_.GetInsertBlock(), std::move(words)});
}

// Sets offsets_, and on_.
Value* Emitter::MemoryAccessCode::find_outside(bool is_small) {
  Value* outside = is_small ? ir_.getFalse() : ir_.CreateICmpSLT(last_place_, ir_.getInt64(0));
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk) {
    on_[chunk] = ir_.CreateBitCast(access_.lane_bits[chunk], e_.lane_mask_);
    Value* wrong = is_wrong(is_small, chunk);
    outside = ir_.CreateOr(outside, ir_.CreateICmpNE(e_.bits_of(wrong, on_[chunk]), ir_.getInt16(0)));
  }
  return outside;
}

Value* Emitter::MemoryAccessCode::is_wrong(bool is_small, unsigned chunk) {
  Value *low = access_.low[chunk], *high = access_.high[chunk], *&offsets = offsets_[chunk];
  const auto is_behind = [&](Value* last) {
    return ir_.CreateICmpUGT(offsets, in_all_lanes(ir_.CreateTrunc(last, e_.i32_)));
  };
  if (is_small && access_.has_base) {
    offsets = low;
    Value* wrong = is_behind(ir_.CreateSub(last_place_, base_in_range()));
    if (!access_.wide) return wrong;
    return ir_.CreateOr(wrong, ir_.CreateICmpNE(high, llvm::Constant::getNullValue(e_.lanes_)));
  }
  if (is_small) {
    Value* from = ir_.CreateSub(range_.first, access_.base);
    Value* from_low = in_all_lanes(ir_.CreateTrunc(from, e_.i32_));
    Value* from_high = in_all_lanes(ir_.CreateTrunc(ir_.CreateLShr(from, 32), e_.i32_));
    Value* borrow = ir_.CreateZExt(ir_.CreateICmpULT(low, from_low), e_.lanes_);
    offsets = ir_.CreateSub(low, from_low);
    Value* is_elsewhere = ir_.CreateICmpNE(ir_.CreateSub(high, from_high), borrow);
    return ir_.CreateOr(is_elsewhere, is_behind(last_place_));
  }
  auto* wide_lanes = llvm::FixedVectorType::get(e_.i64_, 16);
  Value* address = ir_.CreateZExt(low, wide_lanes);
  if (access_.wide) {
    address = ir_.CreateOr(address, ir_.CreateShl(ir_.CreateZExt(high, wide_lanes), 32));
    keep_joined(address);
  }
  offsets = ir_.CreateAdd(address, in_all_lanes(base_in_range()));
  return ir_.CreateICmpUGT(offsets, in_all_lanes(last_place_));
}

// Where lanes are side by side, if not all of them.
std::vector<Emitter::Moved> Emitter::MemoryAccessCode::emit_rows(bool is_small, Value* pointer) {
  if (!is_small || e_.is_half()) return {};
  if (e_.has_short_rows(index_, shape_))
    return e_.emit_short_rows(is_load_, access_.lanes, pointer, offsets_, on_, words_, dwords_);
  if (shape_.bytes != 4 || shape_.part != isa::RegisterPart::whole || facts_.address_is_loaded) return {};
  ChunkValues words{};
  for (unsigned chunk = 0; !is_load_ && chunk < e_.chunks_; ++chunk) words[chunk] = words_[chunk][0];
  Moved way;
  way.end = e_.emit_side_by_side(is_load_, access_.lanes, pointer, offsets_, on_, words);
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk) way.words[chunk] = {words[chunk]};
  return {way};
}

// Of what an index of few bits is in; 0: of none.
unsigned Emitter::MemoryAccessCode::rows_of_table() const {
  const bool is_global = e_.routine_.nodes[index_].kind == NodeKind::global;
  if (!is_load_ || !is_global || !access_.has_base || dwords_ != 1 || !e_.has_masked_gathers_ ||
      e_.compact_ || e_.is_half())
    return 0;
  const uint32_t bits = possible_offset_bits(e_.routine_, e_.facts_, e_.block_first_, index_);
  // Elements are whole in a dword that counts from the base.
  if (bits >= kMostBytesOfTable || shape_.bytes > 1u << std::countr_zero(bits | 4)) return 0;
  return bits / kBytesOfTableRow + 1;
}

// If all of the table is in the range.
Emitter::Moved Emitter::MemoryAccessCode::emit_table(unsigned rows, Value* pointer) {
  BasicBlock *inside = e_.new_block("table"), *apart = e_.new_block("apart");
  Value* room = ir_.CreateSub(size_, base_in_range());
  e_.branch_unlikely(ir_.CreateICmpULT(room, ir_.getInt64(rows * kBytesOfTableRow)), apart, inside);
  ir_.SetInsertPoint(inside);
  std::vector<Value*> loaded;
  for (unsigned row = 0; row < rows; ++row) {
    Value* place = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), pointer, row * kBytesOfTableRow);
    loaded.push_back(ir_.CreateAlignedLoad(e_.lanes_, place, llvm::Align(1)));
  }
  Moved way;
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk) {
    Value* word = pick_dwords(ir_, loaded, offsets_[chunk]);
    if (shape_.bytes < 4) {
      Value* in_dword = ir_.CreateAnd(offsets_[chunk], in_all_lanes(ir_.getInt32(3)));
      word = ir_.CreateLShr(word, ir_.CreateShl(in_dword, 3));
      word = e_.with_part(shape_, word, words_[chunk].empty() ? nullptr : words_[chunk][0]);
    }
    way.words[chunk] = {word};
  }
  way.end = inside;
  ir_.SetInsertPoint(apart);
  return way;
}

// Of bytes and shorts at a range's end the four are loaded that end with it: keeps the element's offset
// there, and gives by how much it was behind that.
Value* Emitter::MemoryAccessCode::held_in_range(bool is_small, unsigned chunk) {
  Value* last = ir_.CreateSub(size_, ir_.getInt64(4));
  if (is_small && access_.has_base) last = ir_.CreateSub(last, base_in_range());
  Value* const element = offsets_[chunk];
  llvm::Type* const type = element->getType()->getScalarType();
  offsets_[chunk] =
      ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, element, in_all_lanes(ir_.CreateTrunc(last, type)));
  return ir_.CreateTrunc(ir_.CreateSub(element, offsets_[chunk]), e_.lanes_);
}

// Gathers or scatters. Gives what is loaded.
Emitter::ChunkWords Emitter::MemoryAccessCode::emit_elements(bool is_small, Value* pointer) {
  ChunkWords loaded;
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk) {
    Value* const behind = loads_four() ? held_in_range(is_small, chunk) : nullptr;
    Value* places = ir_.CreateGEP(ir_.getInt8Ty(), pointer, offsets_[chunk]);
    Value* const before = words_[chunk].empty() ? nullptr : words_[chunk][0];
    if (is_load_)
      loaded[chunk] = e_.gather(shape_, places, on_[chunk], before, behind);
    else
      e_.scatter(shape_, words_[chunk], places, on_[chunk]);
  }
  return loaded;
}

// Of a few lanes, those that are on one after the other, through the rows of the buffer.
Emitter::ChunkWords Emitter::MemoryAccessCode::emit_each(Value* pointer) {
  ir_.CreateStore(offsets_[0], e_.buffer_row(0, 0));
  for (unsigned word = 0; word < dwords_; ++word) {
    Value* words = is_load_ ? llvm::Constant::getNullValue(e_.lanes_) : words_[0][word];
    ir_.CreateStore(words, e_.buffer_row(2 + word, 0));
  }
  BasicBlock *any = e_.new_block("any_lane"), *behind = e_.new_block("behind_lanes");
  Value* none = llvm::Constant::getNullValue(access_.lanes->getType());
  ir_.CreateCondBr(ir_.CreateICmpNE(access_.lanes, none), any, behind);
  ir_.SetInsertPoint(any);
  e_.for_each_lane(access_.lanes, [&](Value* lane, Value*) {
    const auto place = [&](unsigned row) { return ir_.CreateGEP(e_.i32_, e_.buffer_row(row, 0), lane); };
    Value* offset = ir_.CreateZExt(ir_.CreateLoad(e_.i32_, place(0)), e_.i64_);
    move_lane(ir_.CreateGEP(ir_.getInt8Ty(), pointer, offset), place);
  });
  ir_.CreateBr(behind);
  ir_.SetInsertPoint(behind);
  ChunkWords loaded;
  for (unsigned word = 0; is_load_ && word < dwords_; ++word)
    loaded[0].push_back(e_.only_half(ir_.CreateLoad(e_.lanes_, e_.buffer_row(2 + word, 0))));
  if (is_load_ && shape_.bytes < 4)
    loaded[0][0] = e_.with_part(shape_, loaded[0][0], words_[0].empty() ? nullptr : words_[0][0]);
  return loaded;
}

// `row`: where a data word of the lane is in the buffer.
void Emitter::MemoryAccessCode::move_lane(Value* at, const std::function<Value*(unsigned row)>& row) {
  const llvm::Align anywhere(1);
  if (shape_.bytes < 4) {
    llvm::Type* part = ir_.getIntNTy(8 * shape_.bytes);
    if (is_load_) {
      ir_.CreateStore(ir_.CreateZExt(ir_.CreateAlignedLoad(part, at, anywhere), e_.i32_), row(2));
      return;
    }
    Value* word = ir_.CreateLoad(e_.i32_, row(2));
    if (shape_.part == isa::RegisterPart::high_half) word = ir_.CreateLShr(word, 16);
    ir_.CreateAlignedStore(ir_.CreateTrunc(word, part), at, anywhere);
    return;
  }
  // Two or four dwords at once: waves on other threads may write them, and programs read a value with its
  // flag so. LLVM takes vectors apart that are not volatile.
  if (dwords_ == 4) {
    auto* four = llvm::FixedVectorType::get(e_.i32_, 4);
    Value* all = llvm::PoisonValue::get(four);
    if (is_load_) all = ir_.CreateAlignedLoad(four, at, anywhere, true);
    for (unsigned word = 0; word < 4; ++word) {
      if (is_load_)
        ir_.CreateStore(ir_.CreateExtractElement(all, word), row(2 + word));
      else
        all = ir_.CreateInsertElement(all, ir_.CreateLoad(e_.i32_, row(2 + word)), word);
    }
    if (!is_load_) ir_.CreateAlignedStore(all, at, anywhere, true);
    return;
  }
  for (unsigned word = 0; word < dwords_; word += 2) {
    Value* there = ir_.CreateConstInBoundsGEP1_64(e_.i32_, at, word);
    if (word + 1 == dwords_) {
      Value *from = is_load_ ? there : row(2 + word), *to = is_load_ ? row(2 + word) : there;
      ir_.CreateAlignedStore(ir_.CreateAlignedLoad(e_.i32_, from, anywhere), to, anywhere);
    } else if (is_load_) {
      Value* both = ir_.CreateAlignedLoad(e_.i64_, there, anywhere);
      ir_.CreateStore(ir_.CreateTrunc(both, e_.i32_), row(2 + word));
      ir_.CreateStore(ir_.CreateTrunc(ir_.CreateLShr(both, 32), e_.i32_), row(3 + word));
    } else {
      Value *low = ir_.CreateZExt(ir_.CreateLoad(e_.i32_, row(2 + word)), e_.i64_),
            *high = ir_.CreateZExt(ir_.CreateLoad(e_.i32_, row(3 + word)), e_.i64_);
      ir_.CreateAlignedStore(ir_.CreateOr(low, ir_.CreateShl(high, 32)), there, anywhere);
    }
  }
}

// Layout of the buffer: low addresses, what second_row has, then each data word; of all lanes.
void Emitter::MemoryAccessCode::emit_by_lanes() {
  ir_.SetInsertPoint(slow_);
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk) {
    ir_.CreateStore(access_.low[chunk], e_.buffer_row(0, chunk));
    if (access_.second_row[chunk]) ir_.CreateStore(access_.second_row[chunk], e_.buffer_row(1, chunk));
    for (unsigned word = 0; word < words_[chunk].size(); ++word)
      ir_.CreateStore(words_[chunk][word], e_.buffer_row(2 + word, chunk));
  }
  Value* fine = access_.by_lanes();
  BasicBlock* accessed = e_.new_block("lanes_accessed");
  e_.branch_unlikely(ir_.CreateNot(fine), e_.leave_to_interpreter(before_), accessed);
  ir_.SetInsertPoint(accessed);
  if (!is_load_) e_.note_writes();
  Moved& way = ways_.emplace_back();
  way.end = accessed;
  for (unsigned chunk = 0; is_load_ && chunk < e_.chunks_; ++chunk)
    for (unsigned word = 0; word < dwords_; ++word)
      way.words[chunk].push_back(ir_.CreateLoad(e_.lanes_, e_.buffer_row(2 + word, chunk)));
}

void Emitter::MemoryAccessCode::emit_result() {
  for (const Moved& way : ways_) {
    ir_.SetInsertPoint(way.end);
    ir_.CreateBr(done_);
  }
  ir_.SetInsertPoint(done_);
  if (!is_load_) return;
  ChunkWords results;
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk) {
    for (unsigned word = 0; word < dwords_; ++word) {
      llvm::PHINode* value = ir_.CreatePHI(e_.lanes_, static_cast<unsigned>(ways_.size()));
      for (const Moved& way : ways_) value->addIncoming(way.words[chunk][word], way.end);
      results[chunk].push_back(value);
    }
  }
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk)
    for (unsigned word = 0; word < dwords_; ++word)
      e_.write_lanes(facts_, access_.data + word, chunk, results[chunk][word]);
}

}  // namespace lockstep::translator

// GLOBAL and FLAT loads and stores, and all others whose lanes have a place in memory each: plain moves where
// these are consecutive, else gathers and scatters, else lane by lane through runtime.h.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <utility>

#include "engine/translator/context.h"
#include "engine/translator/emitter.h"
#include "engine/translator/lane_moves.h"
#include "engine/translator/operands.h"
#include "engine/translator/pair_folding.h"
#include "engine/translator/runtime.h"
#include "engine/translator/table_lookups.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using isa::Role;
using llvm::BasicBlock;
using llvm::Value;

// Where hosts gather, elements smaller than a dword are loaded as one of four bytes. Of elements that lanes
// store on top of each other those of the highest lane remain, whole: hosts scatter up to 64 bits in that
// order. Without such instructions each lane is a move of its own (lane_moves.h), of any size; but what loops
// of rows hardly ever come to is a call, which leaves them the registers (a plain matrix product ran a tenth
// slower without).
bool Emitter::is_gathered(const AccessShape& shape) const {
  if (!has_masked_gathers_) return !(is_seldom_ && row_ && is_in_loop_);
  return shape.kind == AccessShape::Kind::load || shape.bytes == 4 || shape.bytes == 8;
}

// Behind places that one pointer and an offset for each lane give, likewise.
Value* Emitter::next_word(Value* places, unsigned word) {
  auto* address = llvm::cast<llvm::GetElementPtrInst>(places);
  Value* pointer = ir_.CreateConstInBoundsGEP1_64(i32_, address->getPointerOperand(), word);
  return ir_.CreateGEP(ir_.getInt8Ty(), pointer, address->getOperand(1));
}

// Four dwords of each lane, so many bytes behind the pointer: a load for each and a transposition.
std::vector<Value*> Emitter::load_fours(Value* pointer, Value* offsets) {
  auto* four = llvm::FixedVectorType::get(i32_, 4);
  std::vector<Value*> lanes;
  for (unsigned lane = 0; lane < 16; ++lane) {
    Value* offset = ir_.CreateSExt(ir_.CreateExtractElement(offsets, uint64_t{lane}), i64_);
    lanes.push_back(
        ir_.CreateAlignedLoad(four, ir_.CreateGEP(ir_.getInt8Ty(), pointer, offset), llvm::Align(1)));
  }
  const auto shuffle = [&](Value* a, Value* b, llvm::ArrayRef<int> indices) {
    return ir_.CreateShuffleVector(a, b, indices);
  };
  // Of eight lanes, n and n + 4 in the halves of a register; then as a table of four by four in each half.
  std::array<std::array<Value*, 2>, 4> halves{};  // by word
  for (unsigned half = 0; half < 2; ++half) {
    std::array<Value*, 4> rows{};
    for (unsigned i = 0; i < 4; ++i)
      rows[i] = shuffle(lanes[8 * half + i], lanes[8 * half + i + 4], {0, 1, 2, 3, 4, 5, 6, 7});
    const auto low = [&](Value* a, Value* b) { return shuffle(a, b, {0, 8, 1, 9, 4, 12, 5, 13}); };
    const auto high = [&](Value* a, Value* b) { return shuffle(a, b, {2, 10, 3, 11, 6, 14, 7, 15}); };
    Value *low_01 = low(rows[0], rows[1]), *low_23 = low(rows[2], rows[3]);
    Value *high_01 = high(rows[0], rows[1]), *high_23 = high(rows[2], rows[3]);
    halves[0][half] = shuffle(low_01, low_23, {0, 1, 8, 9, 4, 5, 12, 13});
    halves[1][half] = shuffle(low_01, low_23, {2, 3, 10, 11, 6, 7, 14, 15});
    halves[2][half] = shuffle(high_01, high_23, {0, 1, 8, 9, 4, 5, 12, 13});
    halves[3][half] = shuffle(high_01, high_23, {2, 3, 10, 11, 6, 7, 14, 15});
  }
  std::vector<Value*> words;
  for (const auto& [low, high] : halves)
    words.push_back(shuffle(low, high, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  return words;
}

std::vector<Value*> Emitter::gather(const AccessShape& shape, Value* places, Value* on, Value* before,
                                    Value* behind) {
  if (auto* each = llvm::dyn_cast<llvm::GetElementPtrInst>(places);
      each && !has_masked_gathers_ && !is_seldom_ && shape.registers() == 4) {
    // Lanes that are off read what is at the pointer. Of LDS those out of bounds are among them, which get
    // zeros.
    Value* offsets = each->getOperand(1);
    std::vector<Value*> fours =
        load_fours(each->getPointerOperand(),
                   ir_.CreateSelect(on, offsets, llvm::Constant::getNullValue(offsets->getType())));
    for (Value*& word : fours) word = ir_.CreateSelect(on, word, llvm::Constant::getNullValue(lanes_));
    return fours;
  }
  if (shape.bytes < 4 && !has_masked_gathers_) {
    auto* type = elements_of(shape);
    Value* elements =
        ir_.CreateMaskedGather(type, places, llvm::Align(1), on, llvm::Constant::getNullValue(type));
    return {with_part(shape, ir_.CreateZExt(elements, lanes_), before)};
  }
  std::vector<Value*> words;
  for (unsigned word = 0; word < shape.registers();) {
    // Two dwords at once: waves on other threads may write both, and programs read a value with its flag so.
    const bool is_pair = word + 1 < shape.registers();
    auto* element = is_pair ? llvm::FixedVectorType::get(i64_, 16) : lanes_;
    Value* at = word == 0 ? places : next_word(places, word);
    llvm::CallInst* loaded =
        ir_.CreateMaskedGather(element, at, llvm::Align(1), on, llvm::Constant::getNullValue(element));
    if (is_seldom_) mark_seldom(*loaded);
    words.push_back(is_pair ? ir_.CreateTrunc(loaded, lanes_) : loaded);
    const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(at);
    if (address && address->getPointerOperand() == lds_) mark_lds_gather(*loaded);
    if (is_pair) words.push_back(ir_.CreateTrunc(ir_.CreateLShr(loaded, 32), lanes_));
    word += is_pair ? 2 : 1;
  }
  if (behind) words[0] = ir_.CreateLShr(words[0], ir_.CreateAnd(ir_.CreateShl(behind, 3), 31));
  if (shape.bytes < 4) words[0] = with_part(shape, words[0], before);
  return words;
}

// The register that a load of less than a dword leaves: what it has read is lowest in `word`.
Value* Emitter::with_part(const AccessShape& shape, Value* word, Value* before) {
  const auto splat = [&](uint32_t value) { return ir_.CreateVectorSplat(16, ir_.getInt32(value)); };
  const unsigned unused = 32 - 8 * shape.bytes;
  word = ir_.CreateShl(word, unused);
  word = shape.sign_extend ? ir_.CreateAShr(word, unused) : ir_.CreateLShr(word, unused);
  if (shape.part == isa::RegisterPart::low_half)
    word = ir_.CreateOr(ir_.CreateAnd(before, splat(0xffff0000)), ir_.CreateAnd(word, splat(0xffff)));
  else if (shape.part == isa::RegisterPart::high_half)
    word = ir_.CreateOr(ir_.CreateAnd(before, splat(0xffff)), ir_.CreateShl(word, 16));
  return word;
}

// Of the lowest lane that is on; any number if none is.
Value* Emitter::first_of(Value* lanes, Value* on) {
  if (has_masked_gathers_) {
    Value* of_lanes_on = ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {lanes_},
                                             {lanes, llvm::Constant::getNullValue(lanes_), on});
    return ir_.CreateExtractElement(of_lanes_on, uint64_t{0});
  }
  Value* bits = ir_.CreateZExt(ir_.CreateBitCast(on, i16_), i32_);
  Value* lane = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, ir_.getFalse());
  ir_.CreateStore(lanes, buffer_row(0, 0));
  return ir_.CreateLoad(i32_, ir_.CreateGEP(i32_, buffer_row(0, 0), ir_.CreateAnd(lane, 15)));
}

// Those of two masks together, as i16: LLVM takes vectors of i1 apart that are combined with a number's bits.
Value* Emitter::bits_of(Value* a, Value* b) {
  if (has_masked_gathers_) return ir_.CreateBitCast(ir_.CreateAnd(a, b), i16_);
  return ir_.CreateAnd(ir_.CreateBitCast(a, i16_), ir_.CreateBitCast(b, i16_));
}

BasicBlock* Emitter::emit_side_by_side(bool is_load, Value* lanes, Value* pointer, const ChunkValues& offsets,
                                       const ChunkValues& on, ChunkValues& words) {
  BasicBlock *partial = new_block("partial"), *moved = new_block("side_by_side"), *apart = new_block("apart");
  // With all lanes on that has been looked at before.
  ir_.CreateCondBr(are_all(lanes), apart, partial);
  ir_.SetInsertPoint(partial);
  Value* zeros = llvm::Constant::getNullValue(lanes_);
  ChunkValues first{};  // where lane 0 would be
  Value* wrong_lanes = nullptr;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* starts = ir_.CreateSub(offsets[chunk], lane_multiples(4));
    first[chunk] = first_of(starts, on[chunk]);
    Value* differs = ir_.CreateICmpNE(starts, ir_.CreateVectorSplat(16, first[chunk]));
    Value* wrong = bits_of(differs, on[chunk]);
    wrong_lanes = wrong_lanes ? ir_.CreateOr(wrong_lanes, wrong) : wrong;
  }
  ir_.CreateCondBr(ir_.CreateICmpEQ(wrong_lanes, ir_.getInt16(0)), moved, apart);
  ir_.SetInsertPoint(moved);
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    // It may be before the pointer, where only lanes are that are off.
    Value* place = ir_.CreateGEP(ir_.getInt8Ty(), pointer, ir_.CreateSExt(first[chunk], i64_));
    if (is_load)
      words[chunk] = ir_.CreateMaskedLoad(lanes_, place, llvm::Align(1), on[chunk], zeros);
    else
      ir_.CreateMaskedStore(words[chunk], place, llvm::Align(1), on[chunk]);
  }
  ir_.SetInsertPoint(apart);
  return moved;
}

void Emitter::scatter(const AccessShape& shape, const std::vector<Value*>& words, Value* places, Value* on) {
  const auto store = [&](llvm::CallInst* stored) {
    if (is_seldom_) mark_seldom(*stored);
  };
  if (words.size() > 2) return store(store_elements(ir_, words, places, on));
  Value* elements = words[0];
  if (shape.bytes < 4) {
    if (shape.part == isa::RegisterPart::high_half) elements = ir_.CreateLShr(elements, 16);
    elements = ir_.CreateTrunc(elements, elements_of(shape));
  }
  if (words.size() == 2) {
    auto* wide = llvm::FixedVectorType::get(i64_, 16);
    elements =
        ir_.CreateOr(ir_.CreateZExt(words[0], wide), ir_.CreateShl(ir_.CreateZExt(words[1], wide), 32));
  }
  store(ir_.CreateMaskedScatter(elements, places, llvm::Align(1), on));
}

// Addresses that were made as sums of one base and an offset for each lane become these.
bool Emitter::replace_by_addends(Value*& base, ChunkValues& low, ChunkValues& high) {
  std::array<const AddressSum*, kMaxChunks> sums{};
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    const auto found = address_sums_.find({low[chunk], high[chunk]});
    if (found == address_sums_.end() || (chunk != 0 && found->second.base != sums[0]->base)) return false;
    sums[chunk] = &found->second;
  }
  const auto [base_low, base_high] = sums[0]->base;
  base = ir_.CreateAdd(
      base, ir_.CreateOr(ir_.CreateZExt(base_low, i64_), ir_.CreateShl(ir_.CreateZExt(base_high, i64_), 32)));
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    low[chunk] = sums[chunk]->offset[0];
    high[chunk] = sums[chunk]->offset[1];
  }
  return true;
}

void Emitter::emit_global(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const GlobalOperands operands = global_operands(instruction);
  MemoryAccess access;
  access.shape = operands.shape;
  access.data = operands.data;
  access.slot = next_slot_++;
  access.wide = !operands.base;
  access.base = ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset}));
  if (operands.base) access.base = ir_.CreateAdd(access.base, scalar_source(*operands.base, instruction, 64));
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    access.low[chunk] = vgpr(operands.address.vgpr(), chunk);
    if (access.wide) access.high[chunk] = vgpr(operands.address.vgpr() + 1, chunk);
    access.lane_bits[chunk] = half_bits(scalar(kExec + chunk / 2), chunk);
  }
  access.has_base = !access.wide || replace_by_addends(access.base, access.low, access.high);
  if (access.wide) access.second_row = access.high;
  access.lanes = whole_mask(kExec);
  access.by_lanes = [&]() -> Value* {
    if (instruction.row->encoding == isa::Encoding::flat) {
      auto function = runtime("lockstep_translator_flat", i1_,
                              {pointer_, pointer_, i32_, i32_, i64_, i64_, pointer_, pointer_, pointer_});
      auto* callee = llvm::cast<llvm::Function>(function.getCallee());
      callee->addRetAttr(llvm::Attribute::ZExt);
      callee->removeFnAttr(llvm::Attribute::Cold);
      return ir_.CreateCall(function, {wave_, dispatch_, ir_.getInt32(access.slot),
                                       ir_.getInt32(memory_form(instruction.row->opcode)), access.base,
                                       ir_.CreateZExt(access.lanes, i64_), buffer_row(0, 0), buffer_row(1, 0),
                                       buffer_row(2, 0)});
    }
    auto function = runtime("lockstep_translator_global", i1_,
                            {pointer_, i32_, i32_, i32_, i64_, i64_, pointer_, pointer_, pointer_});
    llvm::cast<llvm::Function>(function.getCallee())->addRetAttr(llvm::Attribute::ZExt);
    Value* null = llvm::ConstantPointerNull::get(pointer_);
    return ir_.CreateCall(
        function, {dispatch_, ir_.getInt32(access.slot), ir_.getInt32(memory_form(instruction.row->opcode)),
                   ir_.getInt32(routine_.wave_size), access.base, ir_.CreateZExt(access.lanes, i64_),
                   buffer_row(0, 0), access.wide ? buffer_row(1, 0) : null, buffer_row(2, 0)});
  };
  emit_memory_access(index, access);
}

// Of all lanes, each at a place of its own.
void Emitter::emit_memory_access(unsigned index, const MemoryAccess& access) {
  const NodeFacts& facts = facts_.nodes[index];
  const AccessShape& shape = access.shape;
  const bool is_load = shape.kind == AccessShape::Kind::load, wide = access.wide;
  const unsigned dwords = shape.registers(), data = access.data, slot_number = access.slot;
  const ChunkValues &low = access.low, &high = access.high;
  Value* base = access.base;
  std::array<std::vector<Value*>, kMaxChunks> words;  // stores: data; loads: what the registers hold before
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      if (!is_load || shape.part != isa::RegisterPart::whole)
        words[chunk].push_back(vgpr(data + word, chunk));
  const Snapshot before = snapshot(index);
  BasicBlock *lanes = new_block("lanes"), *done = new_block("accessed"), *fast = nullptr;
  BasicBlock* slow = is_gathered(shape) ? new_block("anywhere") : lanes;
  if (access.is_unusual) {
    BasicBlock* usual = new_block("usual");
    branch_unlikely(access.is_unusual, slow, usual);
    ir_.SetInsertPoint(usual);
  }
  std::array<std::vector<Value*>, kMaxChunks> loaded;
  const auto facts_of_addresses = address_facts_;
  std::optional<Walked> walked;
  BasicBlock* kept = nullptr;
  if (!compact_ && walks_.contains(index))
    walked = emit_walk(index, shape, slot_number, base, low, high, access.has_base);
  if (store_walks_.contains(index)) kept = emit_store_walk(index, access, words);

  // What was computed from memory's contents hardly counts on from lane to lane.
  if (shape.bytes >= 4 &&
      !(is_gathered(shape) && (facts.address_is_loaded || has_short_rows(index, shape)))) {
    // No carry out of the low half inside the chunk, one high half for all lanes.
    Value* plain = are_all(access.lanes);
    ChunkValues first{};
    const auto range = last_range(slot_number);
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      plain = ir_.CreateAnd(plain, has_stride(low[chunk], 4 * dwords));
      Value* start = address_facts(low[chunk]).first;
      plain = ir_.CreateAnd(plain, ir_.CreateICmpULE(start, ir_.getInt32(~0u - 16 * shape.bytes)));
      Value* at = ir_.CreateAdd(base, ir_.CreateZExt(start, i64_));
      if (wide) {
        plain = ir_.CreateAnd(plain, has_stride(high[chunk], 0));
        at = ir_.CreateAdd(at, ir_.CreateShl(ir_.CreateZExt(address_facts(high[chunk]).first, i64_), 32));
      }
      plain = ir_.CreateAnd(plain, in_range(range, at, 16 * shape.bytes));
      first[chunk] = at;
    }
    fast = new_block("consecutive");
    branch_unlikely(ir_.CreateNot(plain), lanes, fast);
    ir_.SetInsertPoint(fast);
    if (!is_load) note_write(range);
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      Value* pointer = ir_.CreateIntToPtr(first[chunk], pointer_);
      if (is_load)
        loaded[chunk] = load_consecutive(pointer, dwords);
      else
        store_consecutive(pointer, words[chunk]);
    }
    ir_.CreateBr(done);
  } else {
    ir_.CreateBr(lanes);
  }

  std::array<std::array<std::vector<Value*>, kMaxChunks>, 2> single;  // in a large range, in a small one
  std::array<BasicBlock*, 2> gathered_ends{};
  if (is_gathered(shape)) {
    // All lanes that are on in the range of the last time: each on its own, in generated code. In ranges of
    // up to 2 GB the places are counted in 32 bits, which is half as much work: from the range's begin, or
    // from the base that is the same for all lanes, if it is in there.
    ir_.SetInsertPoint(lanes);
    const bool has_base = access.has_base;
    auto* wide_lanes = llvm::FixedVectorType::get(i64_, 16);
    const auto [begin, end] = last_range(slot_number);
    Value* size = ir_.CreateSub(end, begin);
    Value* last_place = ir_.CreateSub(size, ir_.getInt64(shape.bytes));
    // Of bytes and shorts at a range's end the four are loaded that end with it.
    const bool loads_four = is_load && shape.bytes < 4 && has_masked_gathers_;
    if (loads_four)
      last_place = ir_.CreateSelect(ir_.CreateICmpUGE(size, ir_.getInt64(4)), last_place, ir_.getInt64(-1));
    BasicBlock *in_small = new_block("in_small_range"), *in_large = new_block("in_large_range");
    // Of a range that is too small it is negative.
    Value* is_large = ir_.CreateICmpUGT(last_place, ir_.getInt64(INT32_MAX));
    if (has_base)
      is_large = ir_.CreateOr(is_large, ir_.CreateICmpUGT(ir_.CreateSub(base, begin), last_place));
    branch_unlikely(is_large, in_large, in_small);
    for (const bool is_small : {true, false}) {
      ir_.SetInsertPoint(is_small ? in_small : in_large);
      Value* outside = is_small ? ir_.getFalse() : ir_.CreateICmpSLT(last_place, ir_.getInt64(0));
      Value* pointer = ir_.CreateIntToPtr(is_small && has_base ? base : begin, pointer_);
      ChunkValues offsets{}, on{};
      for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
        on[chunk] = ir_.CreateBitCast(access.lane_bits[chunk], lane_mask_);
        const auto is_behind = [&](Value* last) {
          return ir_.CreateICmpUGT(offsets[chunk], ir_.CreateVectorSplat(16, ir_.CreateTrunc(last, i32_)));
        };
        Value* wrong = nullptr;
        if (is_small && has_base) {
          offsets[chunk] = low[chunk];
          wrong = is_behind(ir_.CreateSub(last_place, ir_.CreateSub(base, begin)));
          if (wide)
            wrong = ir_.CreateOr(wrong, ir_.CreateICmpNE(high[chunk], llvm::Constant::getNullValue(lanes_)));
        } else if (is_small) {
          Value* from = ir_.CreateSub(begin, base);
          Value* from_low = ir_.CreateVectorSplat(16, ir_.CreateTrunc(from, i32_));
          Value* from_high = ir_.CreateVectorSplat(16, ir_.CreateTrunc(ir_.CreateLShr(from, 32), i32_));
          Value* borrow = ir_.CreateZExt(ir_.CreateICmpULT(low[chunk], from_low), lanes_);
          offsets[chunk] = ir_.CreateSub(low[chunk], from_low);
          wrong = ir_.CreateOr(ir_.CreateICmpNE(ir_.CreateSub(high[chunk], from_high), borrow),
                               is_behind(last_place));
        } else {
          Value* address = ir_.CreateZExt(low[chunk], wide_lanes);
          if (wide) {
            address = ir_.CreateOr(address, ir_.CreateShl(ir_.CreateZExt(high[chunk], wide_lanes), 32));
            keep_joined(address);
          }
          offsets[chunk] = ir_.CreateAdd(address, ir_.CreateVectorSplat(16, ir_.CreateSub(base, begin)));
          wrong = ir_.CreateICmpUGT(offsets[chunk], ir_.CreateVectorSplat(16, last_place));
        }
        outside = ir_.CreateOr(outside, ir_.CreateICmpNE(bits_of(wrong, on[chunk]), ir_.getInt16(0)));
      }
      BasicBlock* inside = new_block("gather");
      // Below the base there may be places of the range, too.
      branch_unlikely(outside, is_small && has_base ? in_large : slow, inside);
      ir_.SetInsertPoint(inside);
      if (!is_load) note_write({begin, end});
      std::vector<Moved> moved;
      if (is_small && has_short_rows(index, shape)) {
        moved = emit_short_rows(is_load, access.lanes, pointer, offsets, on, words, dwords);
      } else if (is_small && shape.bytes == 4 && shape.part == isa::RegisterPart::whole &&
                 !facts.address_is_loaded) {
        ChunkValues moved_words{};
        for (unsigned chunk = 0; !is_load && chunk < chunks_; ++chunk) moved_words[chunk] = words[chunk][0];
        Moved& way = moved.emplace_back();
        way.end = emit_side_by_side(is_load, access.lanes, pointer, offsets, on, moved_words);
        for (unsigned chunk = 0; chunk < chunks_; ++chunk) way.words[chunk] = {moved_words[chunk]};
      }
      inside = ir_.GetInsertBlock();
      const bool was_seldom = is_seldom_;
      is_seldom_ |= !is_small;
      for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
        Value* behind = nullptr;
        if (loads_four) {
          Value* last = ir_.CreateSub(size, ir_.getInt64(4));
          if (is_small && has_base) last = ir_.CreateSub(last, ir_.CreateSub(base, begin));
          Value* element = offsets[chunk];
          llvm::Type* type = element->getType();
          offsets[chunk] = ir_.CreateBinaryIntrinsic(
              llvm::Intrinsic::smin, element,
              ir_.CreateVectorSplat(16, ir_.CreateTrunc(last, type->getScalarType())));
          behind = ir_.CreateTrunc(ir_.CreateSub(element, offsets[chunk]), lanes_);
        }
        Value* places = ir_.CreateGEP(ir_.getInt8Ty(), pointer, offsets[chunk]);
        if (is_load)
          single[is_small][chunk] =
              gather(shape, places, on[chunk], words[chunk].empty() ? nullptr : words[chunk][0], behind);
        else
          scatter(shape, words[chunk], places, on[chunk]);
      }
      is_seldom_ = was_seldom;
      if (!moved.empty()) {
        BasicBlock* small_done = new_block("small_done");
        ir_.CreateBr(small_done);
        for (const Moved& way : moved) {
          ir_.SetInsertPoint(way.end);
          ir_.CreateBr(small_done);
        }
        ir_.SetInsertPoint(small_done);
        for (unsigned chunk = 0; is_load && chunk < chunks_; ++chunk)
          for (unsigned word = 0; word < dwords; ++word) {
            llvm::PHINode* either = ir_.CreatePHI(lanes_, 1 + static_cast<unsigned>(moved.size()));
            either->addIncoming(single[is_small][chunk][word], inside);
            for (const Moved& way : moved) either->addIncoming(way.words[chunk][word], way.end);
            single[is_small][chunk][word] = either;
          }
        inside = small_done;
      }
      gathered_ends[is_small] = inside;
      ir_.CreateBr(done);
    }
  }

  // Layout of the buffer: low addresses, what second_row has, then each data word; of all lanes.
  ir_.SetInsertPoint(slow);
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    ir_.CreateStore(low[chunk], buffer_row(0, chunk));
    if (access.second_row[chunk]) ir_.CreateStore(access.second_row[chunk], buffer_row(1, chunk));
    for (unsigned word = 0; word < words[chunk].size(); ++word)
      ir_.CreateStore(words[chunk][word], buffer_row(2 + word, chunk));
  }
  Value* fine = access.by_lanes();
  BasicBlock* accessed = new_block("lanes_accessed");
  branch_unlikely(ir_.CreateNot(fine), leave_to_interpreter(before), accessed);
  ir_.SetInsertPoint(accessed);
  if (!is_load) note_writes();
  std::array<std::vector<Value*>, kMaxChunks> gathered;
  for (unsigned chunk = 0; is_load && chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      gathered[chunk].push_back(ir_.CreateLoad(lanes_, buffer_row(2 + word, chunk)));
  ir_.CreateBr(done);
  for (BasicBlock* end : {walked ? walked->end : nullptr, kept}) {
    if (!end) continue;
    ir_.SetInsertPoint(end);
    ir_.CreateBr(done);
  }
  // What was found out about them where lanes do not walk, or are usual, is not known behind that.
  if (walked || kept || access.is_unusual) address_facts_ = facts_of_addresses;

  ir_.SetInsertPoint(done);
  if (!is_load) return;
  std::array<std::vector<Value*>, kMaxChunks> results;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    for (unsigned word = 0; word < dwords; ++word) {
      llvm::PHINode* value = ir_.CreatePHI(lanes_, 5);
      if (walked) value->addIncoming(walked->words[chunk][word], walked->end);
      for (const bool is_small : {false, true})
        if (gathered_ends[is_small])
          value->addIncoming(single[is_small][chunk][word], gathered_ends[is_small]);
      if (fast) value->addIncoming(loaded[chunk][word], fast);
      value->addIncoming(gathered[chunk][word], accessed);
      results[chunk].push_back(value);
    }
  }
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      write_lanes(facts, data + word, chunk, results[chunk][word]);
}

}  // namespace lockstep::translator

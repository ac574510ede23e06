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
// store on top of each other those of the highest lane remain, whole: hosts scatter 32 and 64 bits in that
// order. Without such an instruction each lane is a move of its own (lane_moves.h), of any size; but what
// loops of rows hardly ever come to is a call, which leaves them the registers (a plain matrix product ran a
// tenth slower without).
bool Emitter::is_gathered(const AccessShape& shape) const {
  const bool is_load = shape.kind == AccessShape::Kind::load;
  if (has_masked_gathers_ && (is_load || shape.bytes == 4 || shape.bytes == 8)) return true;
  return !(is_seldom_ && row_ && is_in_loop_);
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
    Value* offset = ir_.CreateExtractElement(offsets, uint64_t{lane});
    offset = llvm::isa<llvm::Constant>(offset) ? ir_.CreateSExt(offset, i64_) : ir_.CreateZExt(offset, i64_);
    lanes.push_back(load_once(four, ir_.CreateGEP(ir_.getInt8Ty(), pointer, offset), true));
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
      each && shape.registers() == 4 &&
      (has_masked_gathers_ ? is_shared(each->getPointerOperand()) : !is_seldom_)) {
    // All four at once: waves on other threads may write them, and programs read a value with its flag so.
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
  if (words.size() == 2) elements = join_words(ir_, words[0], words[1]);
  store(ir_.CreateMaskedScatter(elements, places, llvm::Align(1), on));
}

// Of elements that do not meet: those of more than two dwords are parts to hosts that scatter.
void Emitter::scatter_apart(const AccessShape& shape, const std::vector<Value*>& words, Value* places,
                            Value* on) {
  if (!has_masked_gathers_) return scatter(shape, words, places, on);
  const auto dwords = static_cast<unsigned>(words.size());
  for (unsigned word = 0; word < dwords; word += 2)
    scatter(shape, {words.begin() + word, words.begin() + std::min(word + 2, dwords)},
            word == 0 ? places : next_word(places, word), on);
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
  base = ir_.CreateAdd(base, join_words(ir_, base_low, base_high));
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
      return ir_.CreateCall(function, {wave(), dispatch_, ir_.getInt32(access.slot),
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

}  // namespace lockstep::translator

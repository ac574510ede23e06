// Loads and stores of groups whose rows of work-items are shorter than a chunk, as those of 8x8 and 4x4x4:
// lanes of a row are side by side, and each row is moved at once.
#include <numeric>

#include "engine/translator/emitter.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr unsigned kFewestLanes = 4;

}  // namespace

// Four dwords of a lane are a move anyway, where hosts do not gather.
bool Emitter::has_short_rows(unsigned node, const AccessShape& shape) const {
  return routine_.launch.has_short_rows() && routine_.launch.counting_lanes >= kFewestLanes &&
         shape.bytes >= 4 && shape.part == isa::RegisterPart::whole &&
         !facts_.nodes[node].address_is_loaded && !is_seldom_ &&
         (has_masked_gathers_ || shape.registers() < 4);
}

std::vector<Emitter::Moved> Emitter::emit_short_rows(bool is_load, Value* lanes, Value* pointer,
                                                     const ChunkValues& offsets, const ChunkValues& on,
                                                     const ChunkWords& words, unsigned dwords) {
  const unsigned row = routine_.launch.counting_lanes;
  const bool has_partial = is_load && dwords == 1;
  BasicBlock *full = new_block("full"), *apart = new_block("apart"),
             *partial = has_partial ? new_block("partial") : apart;
  ir_.CreateCondBr(are_all(lanes), full, partial);
  std::vector<Moved> moved;
  for (const bool is_full : {true, false}) {
    if (!is_full && !has_partial) continue;
    ir_.SetInsertPoint(is_full ? full : partial);
    // Where each lane's row would begin, by the lane; in a row it must be the same for all lanes that are on.
    ChunkValues begins{};
    Value* wrong_lanes = nullptr;
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      Value* by_lane = ir_.CreateSub(offsets[chunk], multiples_in_rows(4 * dwords));
      begins[chunk] = is_full ? first_in_rows(by_lane) : greatest_in_rows(by_lane, on[chunk]);
      Value* differs = ir_.CreateICmpNE(by_lane, begins[chunk]);
      Value* wrong = is_full ? ir_.CreateBitCast(differs, i16_) : bits_of(differs, on[chunk]);
      wrong_lanes = wrong_lanes ? ir_.CreateOr(wrong_lanes, wrong) : wrong;
    }
    BasicBlock* together = new_block("rows");
    ir_.CreateCondBr(ir_.CreateICmpEQ(wrong_lanes, ir_.getInt16(0)), together, apart);
    ir_.SetInsertPoint(together);
    Moved& way = moved.emplace_back();
    auto* part = llvm::FixedVectorType::get(i32_, row * dwords);
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      Value* all = is_load ? nullptr : put_together(words[chunk]);
      std::vector<Value*> parts;
      for (unsigned first = 0; first < kLanesPerChunk; first += row) {
        std::vector<int> in_row(row * dwords), lanes_of_row(row);
        std::iota(in_row.begin(), in_row.end(), static_cast<int>(first * dwords));
        std::iota(lanes_of_row.begin(), lanes_of_row.end(), static_cast<int>(first));
        // Where only lanes are on that are not the first, it may begin before the pointer.
        Value* begin = ir_.CreateSExt(ir_.CreateExtractElement(begins[chunk], uint64_t{first}), i64_);
        Value* place = ir_.CreateGEP(ir_.getInt8Ty(), pointer, begin);
        if (!is_load)
          ir_.CreateAlignedStore(ir_.CreateShuffleVector(all, in_row), place, llvm::Align(1));
        else if (is_full)
          parts.push_back(load_once(part, place, dwords > 1));
        else
          parts.push_back(ir_.CreateMaskedLoad(part, place, llvm::Align(1),
                                               ir_.CreateShuffleVector(on[chunk], lanes_of_row),
                                               llvm::Constant::getNullValue(part)));
      }
      if (is_load) way.words[chunk] = taken_apart(joined_parts(parts), dwords);
    }
    way.end = ir_.GetInsertBlock();
  }
  ir_.SetInsertPoint(apart);
  return moved;
}

llvm::Constant* Emitter::multiples_in_rows(unsigned bytes) {
  std::vector<llvm::Constant*> values;
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane)
    values.push_back(ir_.getInt32(lane % routine_.launch.counting_lanes * bytes));
  return llvm::ConstantVector::get(values);
}

Value* Emitter::first_in_rows(Value* lanes) {
  std::vector<int> first(kLanesPerChunk);
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane)
    first[lane] = static_cast<int>(lane - lane % routine_.launch.counting_lanes);
  return ir_.CreateShuffleVector(lanes, first);
}

// Of lanes that are on; 0 in rows of which none is.
Value* Emitter::greatest_in_rows(Value* lanes, Value* on) {
  Value* greatest = ir_.CreateSelect(on, lanes, llvm::Constant::getNullValue(lanes_));
  for (unsigned apart = 1; apart < routine_.launch.counting_lanes; apart *= 2) {
    std::vector<int> others(kLanesPerChunk);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) others[lane] = static_cast<int>(lane ^ apart);
    greatest =
        ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, greatest, ir_.CreateShuffleVector(greatest, others));
  }
  return greatest;
}

// Vectors of one length, one behind the other; a power of two of them.
Value* Emitter::joined_parts(std::vector<Value*> parts) {
  while (parts.size() > 1) {
    std::vector<Value*> longer;
    const unsigned length = llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements();
    std::vector<int> all(2 * size_t{length});
    std::iota(all.begin(), all.end(), 0);
    for (size_t i = 0; i < parts.size(); i += 2)
      longer.push_back(ir_.CreateShuffleVector(parts[i], parts[i + 1], all));
    parts = std::move(longer);
  }
  return parts[0];
}

}  // namespace lockstep::translator

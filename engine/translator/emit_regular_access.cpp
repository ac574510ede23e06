// Accesses at linear addresses, in the first version of blocks: what they may reach is tested for all lanes
// together, and lanes are moved as a whole.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "engine/translator/context.h"
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using llvm::BasicBlock;
using llvm::Value;

void Emitter::emit_regular_global(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const NodeFacts& facts = facts_.nodes[index];
  const GlobalOperands operands = global_operands(instruction);
  const AccessShape& shape = operands.shape;
  const isa::Operand& address = operands.address;
  const isa::Operand* scalar_base = operands.base;
  const bool is_load = operands.is_load(), wide = !scalar_base;
  const unsigned dwords = shape.registers(), data = operands.data;

  // What counts down is moved the other way round, from the last lane on.
  const int32_t step = linear(address.vgpr(), 0).stride;
  const auto stride = static_cast<uint32_t>(std::abs(step));
  const auto in_order = [&](Value* lanes) { return step < 0 ? ir_.CreateVectorReverse(lanes) : lanes; };
  Value* base = ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset}));
  if (!wide) base = ir_.CreateAdd(base, scalar_source(*scalar_base, instruction, 64));
  ChunkValues places{};
  std::array<std::vector<Value*>, kMaxChunks> words;
  // Of the chunks that are looked at, or of the wave in one.
  const unsigned looks = linear_parts();
  // Bytes and shorts that are gathered are loaded with what is behind them.
  const uint64_t last =
      is_load && !are_parts(shape, stride) ? std::max<uint64_t>(shape.bytes, 4) : shape.bytes;
  const uint64_t bytes = uint64_t{chunks_ / looks * 16 - 1} * stride + last;
  int base_register = wide ? linear(address.vgpr(), 0).base : scalar_base->code;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    for (unsigned word = 0; !is_load && word < dwords; ++word)
      words[chunk].push_back(in_order(vgpr(data + word, chunk)));
    if (chunk >= looks) continue;
    Value* offset;
    if (wide) {
      offset = linear_math_.whole_of(linear(address.vgpr(), chunk), linear(address.vgpr() + 1, chunk))
                   ->first_of_pair;
    } else {
      Linear& low = *locals_.linear.at(address.vgpr())[chunk];
      linear_math_.require_no_wrap(low);
      offset = ir_.CreateZExt(low.first, i64_);
    }
    places[chunk] = ir_.CreateAdd(base, offset);
    const int64_t last_lane = chunks_ / looks * 16 - 1;
    if (step < 0)
      places[chunk] =
          ir_.CreateAdd(places[chunk], ir_.getInt64(static_cast<uint64_t>(last_lane * int64_t{step})));
  }
  settle();

  // Accesses with one base are likely in one range. Without a base that is known each has its own.
  if (base_register < 0) base_register = -1 - static_cast<int>(index);
  const uint64_t bytes_of_slot = row_ ? bytes : 0;
  const auto [slot_entry, is_new_slot] =
      base_slots_.try_emplace({base_register, is_load, bytes_of_slot}, next_slot_);
  next_slot_ += is_new_slot;
  const unsigned slot_number = slot_entry->second;
  BasicBlock *look_up = new_block("look_up"), *access = new_block("access");
  if (row_) {
    test_row_range(slot_number, is_load, places, looks, bytes, look_up, access);
  } else {
    test_range(slot_number, is_load, places, looks, bytes, look_up, access);
  }
  for (unsigned chunk = looks; chunk < chunks_; ++chunk)
    places[chunk] = ir_.CreateAdd(places[0], ir_.getInt64(uint64_t{chunk} * 16 * stride));
  if (step < 0 && looks < chunks_) std::reverse(places.begin(), places.begin() + chunks_);
  if (!is_load) {
    if (Value* distance = distance_to_next_group(places[0]))
      for (unsigned chunk = 0; chunk < chunks_; ++chunk)
        prefetch(ir_.CreateIntToPtr(places[chunk], pointer_), distance, true);
    return store_regular(shape, step, places, words);
  }
  Value* ahead = nullptr;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* pointer = ir_.CreateIntToPtr(places[chunk], pointer_);
    // One place is read once, so that all lanes have the same.
    if (stride == 0) {
      words[chunk] = chunk < looks ? load_uniform(shape, pointer) : words[0];
      continue;
    }
    if (chunk == 0) ahead = distance_ahead(index, places[0]);
    if (ahead) prefetch(pointer, ahead);
    words[chunk] =
        stride == shape.bytes ? load_side_by_side(shape, pointer) : load_strided(shape, stride, pointer);
  }
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      write_lanes(facts, data + word, chunk, in_order(words[chunk][word]));
  for (const unsigned number : plan_.linear_writes[index - block_first_]) {
    locals_.linear_in_lanes_on[number] = facts.merged[number];
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      Linear same;
      same.first = ir_.CreateExtractElement(words[chunk][number - data], uint64_t{0});
      locals_.linear[number][chunk] = same;
    }
  }
}

// All chunks must be in one mapping: lanes that are off may reach no other than those that are on. (Another
// thread may have replaced what the look has left in the slot.)
void Emitter::test_range(unsigned slot_number, bool is_load, const ChunkValues& places, unsigned looks,
                         uint64_t bytes, BasicBlock* look_up, BasicBlock* access) {
  auto& range = known_ranges_[slot_number];
  if (!range.first) range = last_range(slot_number);
  // Addresses of memory are positive, and so are those that begin so far before a range's end.
  Value* last = ir_.CreateSub(range.second, ir_.getInt64(bytes));
  const auto require = [&](Value* condition, BasicBlock* then) {
    branch_unlikely(ir_.CreateNot(condition), look_up, then);
    ir_.SetInsertPoint(then);
  };
  for (unsigned chunk = 0; chunk < looks; ++chunk) {
    require(ir_.CreateICmpSGE(places[chunk], range.first), new_block("behind_begin"));
    require(ir_.CreateICmpSLE(places[chunk], last), chunk + 1 < looks ? new_block("inside") : access);
  }
  ir_.SetInsertPoint(look_up);
  if (!is_load) note_writes();
  Value* fine = look_range_up(slot_number, places[0], bytes, is_load ? kRead : kWrite);
  const auto found = last_range(slot_number);
  for (unsigned chunk = 0; chunk < looks; ++chunk)
    fine = ir_.CreateAnd(fine, in_range(found, places[chunk], bytes));
  ir_.CreateCondBr(fine, access, irregular());
  ir_.SetInsertPoint(access);
  if (!is_load) note_write(range);
}

// What the rows' waves find of memory holds until the row is left, so that ranges stay in host registers.
Emitter::RowRange& Emitter::row_range(unsigned slot_number, bool is_load, uint64_t bytes) {
  RowRange& range = row_ranges_[slot_number];
  if (range.begin) return range;
  llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(entry_, entry_->begin());
  range.begin = ir_.CreateAlloca(i64_);
  range.places = ir_.CreateAlloca(i64_);
  ir_.SetInsertPoint(entry_->getTerminator());
  set_row_range(range, last_range(slot_number), bytes);
  if (is_load || !arguments_loaded_) return range;
  // Stores into the range of the kernel's arguments change them, perhaps.
  ir_.SetInsertPoint(arguments_loaded_);
  note_write_of_arguments(ir_.CreateLoad(i64_, range.begin));
  return range;
}

void Emitter::set_row_range(const RowRange& range, std::pair<Value*, Value*> found, uint64_t bytes) {
  const auto [begin, end] = found;
  Value* size = ir_.CreateSub(end, begin);
  Value* places = ir_.CreateSub(size, ir_.getInt64(bytes - 1));
  ir_.CreateStore(begin, range.begin);
  ir_.CreateStore(ir_.CreateSelect(ir_.CreateICmpUGE(size, ir_.getInt64(bytes)), places, ir_.getInt64(0)),
                  range.places);
}

void Emitter::test_row_range(unsigned slot_number, bool is_load, const ChunkValues& places, unsigned looks,
                             uint64_t bytes, BasicBlock* look_up, BasicBlock* access) {
  const RowRange range = row_range(slot_number, is_load, bytes);
  for (unsigned chunk = 0; chunk < looks; ++chunk) {
    BasicBlock* const next = chunk + 1 < looks ? new_block("inside") : access;
    Value* offset = ir_.CreateSub(places[chunk], ir_.CreateLoad(i64_, range.begin));
    branch_unlikely(ir_.CreateICmpUGE(offset, ir_.CreateLoad(i64_, range.places)), look_up, next);
    ir_.SetInsertPoint(next);
  }
  ir_.SetInsertPoint(look_up);
  if (!is_load) note_writes();
  Value* fine = look_range_up(slot_number, places[0], bytes, is_load ? kRead : kWrite);
  const auto found = last_range(slot_number);
  set_row_range(range, found, bytes);
  for (unsigned chunk = 0; chunk < looks; ++chunk)
    fine = ir_.CreateAnd(fine, in_range(found, places[chunk], bytes));
  ir_.CreateCondBr(fine, access, irregular());
  ir_.SetInsertPoint(access);
  if (is_load) return;
  Value* begin = ir_.CreateLoad(i64_, range.begin);
  Value* behind = ir_.CreateAdd(ir_.CreateLoad(i64_, range.places), ir_.getInt64(bytes - 1));
  forget_walks_in({begin, ir_.CreateAdd(begin, behind)});
}

// Bytes from what a load reads now to what it is likely to read when memory has answered. In a loop it goes
// on as it came here; else the next waves mostly go on where this one stops. There is too much code between
// their loads for the host to see it in time. Null: nothing that it would not fetch by itself.
Value* Emitter::distance_ahead(unsigned index, Value* place) {
  // Between groups that run one by one lies more, and those of two dimensions do not go on in the same page.
  constexpr unsigned kInRow = 4096, kInGroup = 512, kRoundsAhead = 8;
  if (!is_in_loop_ && is_linear_in_wave() && host_sees_streams_) return nullptr;
  if (!is_in_loop_) return ir_.getInt64(is_linear_in_wave() ? kInRow : kInGroup);
  // The host's caches have it from the first round of the loop around this one.
  if (accesses_again_.contains(index)) return nullptr;
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  llvm::AllocaInst* last = at_entry.CreateAlloca(i64_);
  at_entry.CreateStore(at_entry.getInt64(0), last);
  Value* step = ir_.CreateSub(place, ir_.CreateLoad(i64_, last));
  ir_.CreateStore(place, last);
  // Where each step is from what the loop has loaded, as from one diagonal of a sparse matrix to the next,
  // nobody knows so far ahead; the next round is near to what other waves read soon.
  return uneven_steps_.contains(index) ? step : ir_.CreateMul(step, ir_.getInt64(kRoundsAhead));
}

// Bytes from what this wave stores to what the one in its place will store in the next group: as many as from
// the group before. What groups exchange in the LDS waits behind their stores, and these until memory has
// what they write to; rows of a matrix that is transposed lie where the host does not see the next one. Null:
// groups run side by side, or store in loops.
Value* Emitter::distance_to_next_group(Value* place) {
  if (row_ || is_in_loop_ || !has_barriers_ || foreseen_stores_ == kForeseenStores) return nullptr;
  Value* field = ir_.CreateConstInBoundsGEP1_64(
      ir_.getInt8Ty(), wave(), offsetof(Wave, last_writes) + sizeof(uint64_t) * foreseen_stores_++);
  Value* last = ir_.CreateLoad(i64_, field);
  ir_.CreateStore(place, field);
  return ir_.CreateSub(place, last);
}

// Among them the host loses sight of those that go on: permutations take 1.9 times as long or not, as code is
// placed.
bool Emitter::has_irregular_loads() const {
  const Piece& piece = routine_.pieces[piece_];
  for (unsigned b = piece.first; b < piece.last; ++b)
    for (unsigned n = routine_.blocks[b].first; n < routine_.blocks[b].last; ++n) {
      if (routine_.nodes[n].kind != NodeKind::global) continue;
      const bool is_regular = plans_[b].has_regular(n - routine_.blocks[b].first);
      if (!is_regular && global_operands(routine_.nodes[n].instruction).is_load()) return true;
    }
  return false;
}

// It may be an address of nothing: that is no fault.
void Emitter::prefetch(Value* pointer, Value* distance, bool for_write) {
  Value* ahead = ir_.CreateGEP(ir_.getInt8Ty(), pointer, distance);
  constexpr unsigned kToAllCaches = 3, kIsData = 1;
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer_},
                      {ahead, ir_.getInt32(for_write), ir_.getInt32(kToAllCaches), ir_.getInt32(kIsData)});
}

// Words and places in the order of their addresses. Under a mask it is slower where memory is far.
void Emitter::store_regular(const AccessShape& shape, int32_t step, const ChunkValues& places,
                            const std::array<std::vector<Value*>, kMaxChunks>& words) {
  const auto stride = static_cast<uint32_t>(std::abs(step));
  const bool is_side_by_side = stride == shape.bytes;
  const auto store_all = [&] {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      Value* pointer = ir_.CreateIntToPtr(places[chunk], pointer_);
      if (!is_side_by_side)
        store_strided(shape, words[chunk], stride, pointer);
      else if (shape.bytes > 4)
        store_consecutive(pointer, words[chunk]);
      else
        ir_.CreateAlignedStore(element_lanes(shape, words[chunk][0]), pointer, llvm::Align(1));
    }
  };
  const auto store_some = [&] {
    const bool was_seldom = std::exchange(is_seldom_, true);
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      Value* pointer = ir_.CreateIntToPtr(places[chunk], pointer_);
      Value* on = ir_.CreateBitCast(half_bits(scalar(kExec + chunk / 2), chunk), lane_mask_);
      if (step < 0) on = ir_.CreateVectorReverse(on);
      // Only AVX-512 has moves of less than a dword under a mask. Four dwords are stored at once: waves on
      // other threads may read them.
      if (is_side_by_side && shape.bytes <= 4 && (shape.bytes == 4 || has_masked_gathers_))
        ir_.CreateMaskedStore(element_lanes(shape, words[chunk][0]), pointer, llvm::Align(1), on);
      else
        scatter(shape, words[chunk],
                ir_.CreateGEP(ir_.getInt8Ty(), pointer, lane_multiples(static_cast<int32_t>(stride))), on);
    }
    is_seldom_ = was_seldom;
  };
  Value* is_full = are_all(whole_mask(kExec));
  if (is_full == ir_.getTrue()) return store_all();
  BasicBlock *full = new_block("full"), *partial = new_block("partial"), *stored = new_block("stored");
  branch_unlikely(ir_.CreateNot(is_full), partial, full);
  ir_.SetInsertPoint(full);
  store_all();
  ir_.CreateBr(stored);
  ir_.SetInsertPoint(partial);
  store_some();
  ir_.CreateBr(stored);
  ir_.SetInsertPoint(stored);
}

Value* Emitter::element_lanes(const AccessShape& shape, Value* word) {
  return shape.bytes < 4 ? ir_.CreateTrunc(word, elements_of(shape)) : word;
}

llvm::FixedVectorType* Emitter::elements_of(const AccessShape& shape) {
  return llvm::FixedVectorType::get(ir_.getIntNTy(8 * shape.bytes), 16);
}

std::vector<Value*> Emitter::load_side_by_side(const AccessShape& shape, Value* pointer) {
  if (shape.bytes >= 4) return load_consecutive(pointer, shape.registers());
  Value* elements = ir_.CreateAlignedLoad(elements_of(shape), pointer, llvm::Align(1));
  return {shape.sign_extend ? ir_.CreateSExt(elements, lanes_) : ir_.CreateZExt(elements, lanes_)};
}

// So many elements from the pointer on, 16 in each part, and no other one: the last part begins early enough
// to end with the last element.
Emitter::LoadedParts Emitter::load_parts(llvm::Type* element, unsigned count, Value* pointer,
                                         bool has_pairs) {
  auto* part = llvm::FixedVectorType::get(element, 16);
  LoadedParts result;
  result.last_begin = count - 16;
  for (unsigned width = 0; width < count; width += 16) {
    const unsigned begin = std::min(width, result.last_begin);
    Value* loaded = load_once(part, ir_.CreateConstInBoundsGEP1_64(element, pointer, begin), has_pairs);
    if (width == 0) {
      result.all = loaded;
      continue;
    }
    std::vector<int> widened(width, -1), both(width + 16);
    for (unsigned i = 0; i < 16; ++i) widened[i] = static_cast<int>(i);
    for (unsigned i = 0; i < width + 16; ++i) both[i] = static_cast<int>(i);
    Value* next = width == 16 ? loaded : ir_.CreateShuffleVector(loaded, widened);
    result.all = ir_.CreateShuffleVector(result.all, next, both);
  }
  return result;
}

// Of those, number `first` and each `step`-th behind it.
Value* Emitter::each_of(const LoadedParts& parts, unsigned first, unsigned step) {
  std::vector<int> indices;
  for (unsigned lane = 0; lane < 16; ++lane) {
    const unsigned place = first + lane * step, begin = place / 16 * 16;
    indices.push_back(static_cast<int>(place + begin - std::min(begin, parts.last_begin)));
  }
  return ir_.CreateShuffleVector(parts.all, indices);
}

std::vector<Value*> Emitter::load_strided(const AccessShape& shape, uint32_t stride, Value* pointer) {
  const unsigned size = std::min<unsigned>(shape.bytes, 4), step = stride / size, count = shape.registers();
  std::vector<Value*> words;
  // A load of each lane is less than the shuffles of registers of eight dwords, whose halves are apart.
  const bool loads_fours = !has_masked_gathers_ && count == 4 && step > 4;
  const bool is_made_of_parts = size < 4 || stride % size != 0;
  if (is_made_of_parts ? !are_parts(shape, stride) : step > kMostDwordsApart || loads_fours) {
    auto* all_on = llvm::Constant::getAllOnesValue(lane_mask_);
    return gather(shape,
                  ir_.CreateGEP(ir_.getInt8Ty(), pointer, lane_multiples(static_cast<int32_t>(stride))),
                  all_on, nullptr);
  }
  if (is_made_of_parts) {
    // A compiler loads neighbours of a byte or short as one element: that of the next lane overlaps it.
    const unsigned unit = std::gcd(stride, size), units_apart = stride / unit;
    for (unsigned word = 0; word < count; ++word) {
      Value* whole = nullptr;
      for (unsigned at = 0; at < size; at += unit) {
        Value* place = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), pointer, 4 * word + at);
        Value* part =
            each_of(load_parts(ir_.getIntNTy(8 * unit), 15 * units_apart + 1, place, false), 0, units_apart);
        const bool is_last = at + unit == size;
        part = shape.sign_extend && is_last ? ir_.CreateSExt(part, lanes_) : ir_.CreateZExt(part, lanes_);
        part = ir_.CreateShl(part, 8 * at);
        whole = whole ? ir_.CreateOr(whole, part) : part;
      }
      words.push_back(whole);
    }
  } else if (step == 1) {
    for (unsigned word = 0; word < count; ++word)
      words.push_back(
          ir_.CreateAlignedLoad(lanes_, ir_.CreateConstInBoundsGEP1_64(i32_, pointer, word), llvm::Align(1)));
  } else if (step == 2 && count == 4) {
    // Neighbours among pairs, as doubles of a row.
    for (unsigned word = 0; word < count; word += 2)
      for (Value* half : load_consecutive(ir_.CreateConstInBoundsGEP1_64(i32_, pointer, word), 2))
        words.push_back(half);
  } else {
    const LoadedParts parts = load_parts(i32_, 15 * step + count, pointer, count > 1);
    for (unsigned word = 0; word < count; ++word) words.push_back(each_of(parts, word, step));
  }
  return words;
}

// What is between the elements is not touched.
void Emitter::store_strided(const AccessShape& shape, const std::vector<Value*>& words, uint32_t stride,
                            Value* pointer) {
  const auto step = stride / 4, dwords = static_cast<unsigned>(words.size());
  // Hosts scatter no less than a dword.
  if (shape.bytes < 4) {
    Value* elements = ir_.CreateTrunc(words[0], elements_of(shape));
    for (unsigned lane = 0; lane < 16; ++lane) {
      Value* place = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), pointer, uint64_t{lane} * stride);
      ir_.CreateAlignedStore(ir_.CreateExtractElement(elements, lane), place, llvm::Align(1));
    }
    return;
  }
  // Where moves under a mask are some twenty operations of the host, each lane is moved by itself.
  Value* places = ir_.CreateGEP(ir_.getInt8Ty(), pointer, lane_multiples(static_cast<int32_t>(stride)));
  auto* all_on = llvm::Constant::getAllOnesValue(lane_mask_);
  if (!has_masked_gathers_) return scatter(shape, words, places, all_on);
  if (stride % 4 != 0 || step > kMostDwordsApart) {
    if (dwords == 4) return store_fours(pointer, words, stride);
    return scatter_apart(shape, words, places, all_on);
  }
  for (unsigned first = 0; first < 15 * step + dwords; first += 16) {
    Value* part = llvm::PoisonValue::get(lanes_);
    uint16_t written = 0;
    for (unsigned word = 0; word < dwords; ++word) {
      std::vector<int> indices(16);
      for (unsigned i = 0; i < 16; ++i) {
        const unsigned lane = (first + i) / step;
        const bool is_here = (first + i) % step == word && lane < 16;
        indices[i] = static_cast<int>(is_here ? 16 + lane : i);
        written |= static_cast<uint16_t>(is_here << i);
      }
      part = ir_.CreateShuffleVector(part, words[word], indices);
    }
    Value* at = ir_.CreateConstInBoundsGEP1_64(i32_, pointer, first);
    ir_.CreateMaskedStore(part, at, llvm::Align(1), ir_.CreateBitCast(ir_.getInt16(written), lane_mask_));
  }
}

std::vector<Value*> Emitter::load_uniform(const AccessShape& shape, Value* pointer) {
  std::vector<Value*> words;
  if (shape.registers() == 4) {
    Value* four = load_once(llvm::FixedVectorType::get(i32_, 4), pointer, true);
    for (unsigned word = 0; word < 4; ++word)
      words.push_back(ir_.CreateVectorSplat(16, ir_.CreateExtractElement(four, word)));
    return words;
  }
  for (unsigned word = 0; word < shape.registers();) {
    // Two dwords at once, as gather() has them: volatile, else LLVM may make two loads of it.
    const bool is_pair = word + 1 < shape.registers();
    Value* at = ir_.CreateConstInBoundsGEP1_64(i32_, pointer, word);
    auto* element = is_pair ? i64_ : ir_.getIntNTy(8 * std::min<unsigned>(shape.bytes, 4));
    Value* value = ir_.CreateAlignedLoad(element, at, llvm::Align(1), is_pair);
    Value* low = is_pair             ? ir_.CreateTrunc(value, i32_)
                 : shape.sign_extend ? ir_.CreateSExt(value, i32_)
                                     : ir_.CreateZExt(value, i32_);
    words.push_back(ir_.CreateVectorSplat(16, low));
    if (is_pair) words.push_back(ir_.CreateVectorSplat(16, ir_.CreateTrunc(ir_.CreateLShr(value, 32), i32_)));
    word += is_pair ? 2 : 1;
  }
  return words;
}

}  // namespace lockstep::translator

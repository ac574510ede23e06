// GLOBAL and LDS loads and stores. Sixteen lanes that address elements one behind the other take plain vector
// moves; that is tested at run time. Everything else goes lane by lane through runtime.h.
#include <algorithm>
#include <utility>

#include "engine/translator/context.h"
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"
#include "isa/memory_shape.h"
#include "semantics/memory_shape.h"
#include "state/wave.h"

namespace lockstep::translator {

using isa::AccessShape;
using isa::Role;
using llvm::BasicBlock;
using llvm::Value;

llvm::Constant* Emitter::lane_multiples(unsigned factor) {
  std::vector<llvm::Constant*> values;
  for (unsigned lane = 0; lane < 16; ++lane) values.push_back(ir_.getInt32(lane * factor));
  return llvm::ConstantVector::get(values);
}

Emitter::AddressFacts& Emitter::address_facts(Value* addresses) {
  AddressFacts& facts = address_facts_[addresses];
  if (!facts.first) facts.first = ir_.CreateExtractElement(addresses, uint64_t{0});
  return facts;
}

Value* Emitter::is_consecutive(Value* addresses, unsigned dwords) {
  AddressFacts& facts = address_facts(addresses);
  if (Value*& known = facts.consecutive[dwords]; known) return known;
  Value* expected = ir_.CreateAdd(ir_.CreateVectorSplat(16, facts.first), lane_multiples(4 * dwords));
  Value* wrong = ir_.CreateBitCast(ir_.CreateICmpNE(addresses, expected), i16_);
  return facts.consecutive[dwords] = ir_.CreateICmpEQ(wrong, ir_.getInt16(0));
}

Value* Emitter::is_uniform(Value* addresses) {
  AddressFacts& facts = address_facts(addresses);
  if (facts.uniform) return facts.uniform;
  Value* wrong = ir_.CreateBitCast(ir_.CreateICmpNE(addresses, ir_.CreateVectorSplat(16, facts.first)), i16_);
  return facts.uniform = ir_.CreateICmpEQ(wrong, ir_.getInt16(0));
}

std::pair<Value*, Value*> Emitter::last_range(unsigned slot_number) {
  const auto field = [&](Value* base, size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, offset);
  };
  auto* range = ir_.CreateLoad(pointer_, field(slots_of_ranges_, slot_number * sizeof(void*)));
  range->setAtomic(llvm::AtomicOrdering::Monotonic);
  Value* begin = ir_.CreateLoad(i64_, field(range, offsetof(Range, begin)));
  return {begin, ir_.CreateLoad(i64_, field(range, offsetof(Range, end)))};
}

Value* Emitter::look_range_up(unsigned slot_number, Value* address, uint64_t bytes, uint8_t access) {
  auto allowed = runtime("lockstep_translator_allowed", i1_, {pointer_, i32_, i64_, i64_, i32_});
  llvm::cast<llvm::Function>(allowed.getCallee())->addRetAttr(llvm::Attribute::ZExt);
  return ir_.CreateCall(
      allowed, {dispatch_, ir_.getInt32(slot_number), address, ir_.getInt64(bytes), ir_.getInt32(access)});
}

Value* Emitter::in_range(std::pair<Value*, Value*> range, Value* address, uint64_t bytes) {
  const auto [begin, end] = range;
  Value* offset = ir_.CreateSub(address, begin);
  Value* size = ir_.CreateSub(end, begin);
  Value* begins_inside = ir_.CreateICmpULT(offset, size);
  Value* has_room = ir_.CreateICmpUGE(ir_.CreateSub(size, offset), ir_.getInt64(bytes));
  return ir_.CreateAnd(begins_inside, has_room);
}

// One element of `dwords` dwords for each of 16 lanes, one behind the other.
std::vector<Value*> Emitter::load_consecutive(Value* pointer, unsigned dwords) {
  auto* wide = llvm::FixedVectorType::get(i32_, 16 * dwords);
  Value* all = ir_.CreateAlignedLoad(wide, pointer, llvm::Align(1));
  if (dwords == 1) return {all};
  std::vector<Value*> words;
  for (unsigned word = 0; word < dwords; ++word) {
    std::vector<int> indices;
    for (unsigned lane = 0; lane < 16; ++lane) indices.push_back(static_cast<int>(lane * dwords + word));
    words.push_back(ir_.CreateShuffleVector(all, indices));
  }
  return words;
}

void Emitter::store_consecutive(Value* pointer, const std::vector<Value*>& words) {
  const unsigned dwords = static_cast<unsigned>(words.size());
  Value* all = words[0];
  if (dwords > 1) {
    auto* wide = llvm::FixedVectorType::get(i32_, 16 * dwords);
    all = llvm::PoisonValue::get(wide);
    for (unsigned word = 0; word < dwords; ++word) {
      // Spread the word's lanes to their places, then blend.
      std::vector<int> spread(16 * dwords, -1), blend;
      for (unsigned lane = 0; lane < 16; ++lane) spread[lane * dwords + word] = static_cast<int>(lane);
      Value* placed = ir_.CreateShuffleVector(words[word], spread);
      for (unsigned i = 0; i < 16 * dwords; ++i)
        blend.push_back(static_cast<int>(i % dwords == word ? i + 16 * dwords : i));
      all = word == 0 ? placed : ir_.CreateShuffleVector(all, placed, blend);
    }
  }
  ir_.CreateAlignedStore(all, pointer, llvm::Align(1));
}

// Elements smaller than a dword are loaded as one of four bytes. Of elements that lanes store on top of each
// other those of the highest lane remain, whole: hosts scatter up to 64 bits in that order.
bool Emitter::is_gathered(const AccessShape& shape) const {
  if (!has_masked_gathers_) return false;
  return shape.kind == AccessShape::Kind::load || shape.bytes == 4 || shape.bytes == 8;
}

// Behind places that one pointer and an offset for each lane give, likewise.
Value* Emitter::next_word(Value* places, unsigned word) {
  auto* address = llvm::cast<llvm::GetElementPtrInst>(places);
  Value* pointer = ir_.CreateConstInBoundsGEP1_64(i32_, address->getPointerOperand(), word);
  return ir_.CreateGEP(ir_.getInt8Ty(), pointer, address->getOperand(1));
}

std::vector<Value*> Emitter::gather(const AccessShape& shape, Value* places, Value* on, Value* before) {
  std::vector<Value*> words;
  Value* zeros = llvm::Constant::getNullValue(lanes_);
  const auto splat = [&](uint32_t value) { return ir_.CreateVectorSplat(16, ir_.getInt32(value)); };
  for (unsigned word = 0; word < shape.registers(); ++word) {
    Value* at = word == 0 ? places : next_word(places, word);
    words.push_back(ir_.CreateMaskedGather(lanes_, at, llvm::Align(1), on, zeros));
  }
  if (shape.bytes >= 4) return words;
  Value*& word = words[0];
  const unsigned unused = 32 - 8 * shape.bytes;
  word = ir_.CreateShl(word, unused);
  word = shape.sign_extend ? ir_.CreateAShr(word, unused) : ir_.CreateLShr(word, unused);
  if (shape.part == isa::RegisterPart::low_half)
    word = ir_.CreateOr(ir_.CreateAnd(before, splat(0xffff0000)), ir_.CreateAnd(word, splat(0xffff)));
  else if (shape.part == isa::RegisterPart::high_half)
    word = ir_.CreateOr(ir_.CreateAnd(before, splat(0xffff)), ir_.CreateShl(word, 16));
  return words;
}

void Emitter::scatter(const std::vector<Value*>& words, Value* places, Value* on) {
  Value* elements = words[0];
  if (words.size() == 2) {
    auto* wide = llvm::FixedVectorType::get(i64_, 16);
    elements =
        ir_.CreateOr(ir_.CreateZExt(words[0], wide), ir_.CreateShl(ir_.CreateZExt(words[1], wide), 32));
  }
  ir_.CreateMaskedScatter(elements, places, llvm::Align(1), on);
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
  const NodeFacts& facts = facts_.nodes[index];
  const GlobalOperands operands = global_operands(instruction);
  const AccessShape& shape = operands.shape;
  const isa::Operand& address = operands.address;
  const isa::Operand* scalar_base = operands.base;
  const bool is_load = operands.is_load(), wide = !scalar_base;
  const unsigned dwords = shape.registers(), data = operands.data;
  const unsigned slot_number = next_slot_++;

  Value* base = ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset}));
  if (!wide) base = ir_.CreateAdd(base, scalar_source(*scalar_base, instruction, 64));
  ChunkValues low{}, high{};
  std::array<std::vector<Value*>, kMaxChunks> words;  // stores: data; loads: what the registers hold before
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    low[chunk] = vgpr(address.vgpr(), chunk);
    if (wide) high[chunk] = vgpr(address.vgpr() + 1, chunk);
    for (unsigned word = 0; word < dwords; ++word)
      if (!is_load || shape.part != isa::RegisterPart::whole)
        words[chunk].push_back(vgpr(data + word, chunk));
  }
  const bool is_sum = wide && replace_by_addends(base, low, high);
  Value* exec = whole_mask(kExec);
  const Snapshot before = snapshot(index);
  BasicBlock *slow = new_block("lanes"), *done = new_block("accessed"), *fast = nullptr;
  std::array<std::vector<Value*>, kMaxChunks> loaded;
  const auto facts_of_addresses = address_facts_;
  std::optional<Walked> walked;
  if (walks_.contains(index)) walked = emit_walk(index, shape, slot_number, base, low, high, !wide || is_sum);

  // What was computed from memory's contents hardly counts on from lane to lane.
  if (shape.bytes >= 4 && !(facts.address_is_loaded && is_gathered(shape))) {
    // No carry out of the low half inside the chunk, one high half for all lanes.
    Value* plain = ir_.CreateICmpEQ(exec, llvm::Constant::getAllOnesValue(exec->getType()));
    ChunkValues first{};
    const auto range = last_range(slot_number);
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      plain = ir_.CreateAnd(plain, is_consecutive(low[chunk], dwords));
      Value* start = address_facts(low[chunk]).first;
      plain = ir_.CreateAnd(plain, ir_.CreateICmpULE(start, ir_.getInt32(~0u - 16 * shape.bytes)));
      Value* at = ir_.CreateAdd(base, ir_.CreateZExt(start, i64_));
      if (wide) {
        plain = ir_.CreateAnd(plain, is_uniform(high[chunk]));
        at = ir_.CreateAdd(at, ir_.CreateShl(ir_.CreateZExt(address_facts(high[chunk]).first, i64_), 32));
      }
      plain = ir_.CreateAnd(plain, in_range(range, at, 16 * shape.bytes));
      first[chunk] = at;
    }
    fast = new_block("consecutive");
    branch_unlikely(ir_.CreateNot(plain), slow, fast);
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
    ir_.CreateBr(slow);
  }

  std::array<std::array<std::vector<Value*>, kMaxChunks>, 2> single;  // in a large range, in a small one
  std::array<BasicBlock*, 2> gathered_ends{};
  if (is_gathered(shape)) {
    // All lanes that are on in the range of the last time: each on its own, in generated code. In ranges of
    // up to 2 GB the places are counted in 32 bits, which is half as much work: from the range's begin, or
    // from the base that is the same for all lanes, if it is in there.
    ir_.SetInsertPoint(slow);
    slow = new_block("anywhere");
    const bool has_base = !wide || is_sum;
    const uint64_t bytes = std::max<uint64_t>(shape.bytes, 4);
    auto* wide_lanes = llvm::FixedVectorType::get(i64_, 16);
    const auto [begin, end] = last_range(slot_number);
    Value* last_place = ir_.CreateSub(ir_.CreateSub(end, begin), ir_.getInt64(bytes));
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
        on[chunk] = ir_.CreateBitCast(half_bits(scalar(kExec + chunk / 2), chunk), lane_mask_);
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
          if (wide)
            address = ir_.CreateOr(address, ir_.CreateShl(ir_.CreateZExt(high[chunk], wide_lanes), 32));
          offsets[chunk] = ir_.CreateAdd(address, ir_.CreateVectorSplat(16, ir_.CreateSub(base, begin)));
          wrong = ir_.CreateICmpUGT(offsets[chunk], ir_.CreateVectorSplat(16, last_place));
        }
        wrong = ir_.CreateBitCast(ir_.CreateAnd(wrong, on[chunk]), i16_);
        outside = ir_.CreateOr(outside, ir_.CreateICmpNE(wrong, ir_.getInt16(0)));
      }
      BasicBlock* inside = new_block("gather");
      // Below the base there may be places of the range, too.
      branch_unlikely(outside, is_small && has_base ? in_large : slow, inside);
      ir_.SetInsertPoint(inside);
      if (!is_load) note_write({begin, end});
      for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
        Value* places = ir_.CreateGEP(ir_.getInt8Ty(), pointer, offsets[chunk]);
        if (is_load)
          single[is_small][chunk] =
              gather(shape, places, on[chunk], words[chunk].empty() ? nullptr : words[chunk][0]);
        else
          scatter(words[chunk], places, on[chunk]);
      }
      gathered_ends[is_small] = inside;
      ir_.CreateBr(done);
    }
  }

  // Layout of the buffer: low addresses, high addresses, then each data word; of all 32 lanes.
  ir_.SetInsertPoint(slow);
  const auto place = [&](unsigned row, unsigned chunk) {
    return ir_.CreateConstInBoundsGEP2_32(buffer_->getAllocatedType(), buffer_, 0, row * chunks_ + chunk);
  };
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    ir_.CreateStore(low[chunk], place(0, chunk));
    if (wide) ir_.CreateStore(high[chunk], place(1, chunk));
    for (unsigned word = 0; word < words[chunk].size(); ++word)
      ir_.CreateStore(words[chunk][word], place(2 + word, chunk));
  }
  auto function = runtime("lockstep_translator_global", i1_,
                          {pointer_, i32_, i32_, i32_, i64_, i64_, pointer_, pointer_, pointer_});
  llvm::cast<llvm::Function>(function.getCallee())->addRetAttr(llvm::Attribute::ZExt);
  Value* null = llvm::ConstantPointerNull::get(pointer_);
  Value* fine = ir_.CreateCall(
      function, {dispatch_, ir_.getInt32(slot_number), ir_.getInt32(memory_form(instruction.row->opcode)),
                 ir_.getInt32(routine_.wave_size), base, ir_.CreateZExt(exec, i64_), place(0, 0),
                 wide ? place(1, 0) : null, place(2, 0)});
  BasicBlock* accessed = new_block("lanes_accessed");
  branch_unlikely(ir_.CreateNot(fine), leave_to_interpreter(before), accessed);
  ir_.SetInsertPoint(accessed);
  if (!is_load) note_writes();
  std::array<std::vector<Value*>, kMaxChunks> gathered;
  for (unsigned chunk = 0; is_load && chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      gathered[chunk].push_back(ir_.CreateLoad(lanes_, place(2 + word, chunk)));
  ir_.CreateBr(done);
  if (walked) {
    ir_.SetInsertPoint(walked->end);
    ir_.CreateBr(done);
    // What was found out about them where lanes do not walk is not known behind that.
    address_facts_ = facts_of_addresses;
  }

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

namespace {

// Of an access to scratch whose address is a constant, as spilled registers are: the first byte behind it.
std::optional<uint32_t> constant_scratch_end(const Node& node) {
  if (node.kind != NodeKind::scratch) return std::nullopt;
  const auto offset = constant_scratch_offset(node.instruction);
  if (!offset) return std::nullopt;
  return *offset + isa::access_shape(node.instruction.row->opcode).bytes;
}

}  // namespace

// Dword n of all lanes of a wave lie side by side in scratch. What is not aligned or out of range is the
// interpreter's. The first access of a block at a constant address tests for all of them.
void Emitter::emit_scratch(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const unsigned dwords = shape.registers(), row_bytes = routine_.wave_size * 4;
  const isa::Operand* address = instruction.find(Role::addr);
  const isa::Operand* scalar_offset = instruction.find(Role::saddr);
  const unsigned data = instruction.find(is_load ? Role::dst : Role::data)->vgpr();
  const bool has_address = address && address->is_vgpr();
  const auto is_unused = [&](unsigned word) { return facts_.nodes[index].unused_words >> word & 1; };

  Value* uniform = ir_.getInt32(static_cast<uint32_t>(instruction.offset));
  if (scalar_offset && scalar_offset->code != isa::code::kNull)
    uniform = ir_.CreateAdd(uniform, ir_.CreateTrunc(scalar_source(*scalar_offset, instruction, 32), i32_));
  Value* last = ir_.CreateSub(scratch_bytes_, ir_.getInt32(shape.bytes));
  Value* outside = ir_.CreateICmpULT(scratch_bytes_, ir_.getInt32(shape.bytes));
  ChunkValues offsets{}, on{};
  std::array<std::vector<Value*>, kMaxChunks> words;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    on[chunk] = ir_.CreateBitCast(half_bits(scalar(kExec + chunk / 2), chunk), lane_mask_);
    for (unsigned word = 0; !is_load && word < dwords; ++word)
      words[chunk].push_back(is_unused(word) ? nullptr : vgpr(data + word, chunk));
    if (!has_address) continue;
    offsets[chunk] = ir_.CreateAdd(vgpr(address->vgpr(), chunk), ir_.CreateVectorSplat(16, uniform));
    Value* unaligned = ir_.CreateAnd(offsets[chunk], ir_.CreateVectorSplat(16, ir_.getInt32(3)));
    Value* wrong = ir_.CreateOr(ir_.CreateICmpNE(unaligned, llvm::Constant::getNullValue(lanes_)),
                                ir_.CreateICmpUGT(offsets[chunk], ir_.CreateVectorSplat(16, last)));
    wrong = ir_.CreateBitCast(ir_.CreateAnd(wrong, on[chunk]), i16_);
    outside = ir_.CreateOr(outside, ir_.CreateICmpNE(wrong, ir_.getInt16(0)));
  }
  const auto test = [&](Value* is_outside) {
    BasicBlock* inside = new_block("scratch");
    branch_unlikely(is_outside, leave_to_interpreter(snapshot(index)), inside);
    ir_.SetInsertPoint(inside);
  };
  const std::optional<uint32_t> end = constant_scratch_end(routine_.nodes[index]);
  if (end) {
    uint32_t furthest = *end;
    for (unsigned n = index; n < block_last_; ++n)
      furthest = std::max(furthest, constant_scratch_end(routine_.nodes[n]).value_or(0));
    outside = ir_.CreateICmpULT(scratch_bytes_, ir_.getInt32(furthest));
    if (!std::exchange(scratch_is_tested_, true)) test(outside);
  } else {
    if (!has_address) {
      outside = ir_.CreateOr(outside, ir_.CreateICmpUGT(uniform, last));
      outside = ir_.CreateOr(outside, ir_.CreateICmpNE(ir_.CreateAnd(uniform, 3), ir_.getInt32(0)));
    }
    test(outside);
  }
  Value* base = ir_.CreateIntToPtr(scratch_base_, pointer_);
  if (!has_address) {
    Value* rows = ir_.CreateMul(ir_.CreateZExt(uniform, i64_), ir_.getInt64(routine_.wave_size));
    base = ir_.CreateGEP(ir_.getInt8Ty(), base, rows);
  }
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* lanes = nullptr;
    if (has_address) {
      Value* rows =
          ir_.CreateMul(offsets[chunk], ir_.CreateVectorSplat(16, ir_.getInt32(routine_.wave_size)));
      lanes = ir_.CreateAdd(rows, lane_multiples(4));
    }
    for (unsigned word = 0; word < dwords; ++word) {
      if (is_unused(word)) continue;
      Value* row = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, word * row_bytes + chunk * 64);
      if (has_address) {
        Value* places = ir_.CreateGEP(ir_.getInt8Ty(), row, lanes);
        if (!is_load)
          ir_.CreateMaskedScatter(words[chunk][word], places, llvm::Align(4), on[chunk]);
        else
          words[chunk].push_back(ir_.CreateMaskedGather(lanes_, places, llvm::Align(4), on[chunk],
                                                        llvm::Constant::getNullValue(lanes_)));
      } else {
        Value* memory = ir_.CreateAlignedLoad(lanes_, row, llvm::Align(4));
        if (!is_load)
          ir_.CreateAlignedStore(ir_.CreateSelect(on[chunk], words[chunk][word], memory), row,
                                 llvm::Align(4));
        else
          words[chunk].push_back(memory);
      }
    }
  }
  for (unsigned chunk = 0; is_load && chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      write_lanes(facts_.nodes[index], data + word, chunk, words[chunk][word]);
}

std::vector<Emitter::LdsAccess> Emitter::lds_accesses(const Node& node) const {
  const isa::Instruction& instruction = node.instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const unsigned data = instruction.find(is_load ? Role::dst : Role::data)->vgpr();
  if (shape.addresses == 1) return {{static_cast<uint32_t>(instruction.offset), data, false}};
  const unsigned second = is_load ? data + shape.registers() : instruction.find(Role::data2)->vgpr();
  return {{instruction.offset0 * uint32_t{shape.offset_unit}, data, false},
          {instruction.offset1 * uint32_t{shape.offset_unit}, second, true}};
}

Value* Emitter::lds_is_regular() {
  struct Need {
    uint64_t bytes = 0;  // behind the first lane's address
    bool uniform = false, all_on = false;
    std::set<unsigned> consecutive;  // dwords an element
  };
  std::map<unsigned, Need> needs;  // by address register
  for (unsigned n : run_.nodes) {
    const Node& node = routine_.nodes[n];
    if (node.kind != NodeKind::lds) continue;
    const AccessShape shape = isa::access_shape(node.instruction.row->opcode);
    if (shape.bytes < 4) return ir_.getFalse();
    const bool is_load = shape.kind == AccessShape::Kind::load,
               uniform = is_load && facts_.nodes[n].lds_uniform;
    Need& need = needs[node.instruction.find(Role::addr)->vgpr()];
    for (const LdsAccess& access : lds_accesses(node))
      need.bytes = std::max<uint64_t>(need.bytes, access.offset + shape.bytes * (uniform ? 1u : 16u));
    if (uniform)
      need.uniform = true;
    else
      need.consecutive.insert(shape.registers());
    need.all_on |= !is_load;
  }
  Value* regular = ir_.getTrue();
  for (const auto& [address, need] : needs) {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      Value* addresses = vgpr(address, chunk);
      if (need.uniform) regular = ir_.CreateAnd(regular, is_uniform(addresses));
      for (unsigned dwords : need.consecutive)
        regular = ir_.CreateAnd(regular, is_consecutive(addresses, dwords));
      Value* first = ir_.CreateZExt(address_facts(addresses).first, i64_);
      regular = ir_.CreateAnd(regular,
                              ir_.CreateICmpSLE(first, ir_.CreateSub(lds_bytes_, ir_.getInt64(need.bytes))));
    }
    if (need.all_on) {
      Value* exec = whole_mask(kExec);
      regular =
          ir_.CreateAnd(regular, ir_.CreateICmpEQ(exec, llvm::Constant::getAllOnesValue(exec->getType())));
    }
  }
  return regular;
}

void Emitter::emit_regular_lds(unsigned index, unsigned chunk) {
  const Node& node = routine_.nodes[index];
  const AccessShape shape = isa::access_shape(node.instruction.row->opcode);
  if (shape.bytes < 4) return emit_lds_by_lanes(index, chunk);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const unsigned dwords = shape.registers();
  Value* addresses = vgpr(node.instruction.find(Role::addr)->vgpr(), chunk);
  Value* first = ir_.CreateZExt(address_facts(addresses).first, i64_);
  std::vector<std::pair<unsigned, Value*>> writes;
  for (const LdsAccess& access : lds_accesses(node)) {
    Value* pointer = ir_.CreateGEP(ir_.getInt8Ty(), lds_, ir_.CreateAdd(first, ir_.getInt64(access.offset)));
    if (!is_load) {
      std::vector<Value*> words;
      for (unsigned word = 0; word < dwords; ++word) words.push_back(vgpr(access.data + word, chunk));
      store_in_order(access.is_second, [=, this] { store_consecutive(pointer, words); });
    } else if (facts_.nodes[index].lds_uniform) {
      for (unsigned word = 0; word < dwords; ++word) {
        Value* value =
            ir_.CreateAlignedLoad(i32_, ir_.CreateConstInBoundsGEP1_64(i32_, pointer, word), llvm::Align(1));
        writes.emplace_back(access.data + word, ir_.CreateVectorSplat(16, value));
      }
    } else {
      const std::vector<Value*> words = load_consecutive(pointer, dwords);
      for (unsigned word = 0; word < dwords; ++word) writes.emplace_back(access.data + word, words[word]);
    }
  }
  for (const auto& [number, value] : writes) write_lanes(facts_.nodes[index], number, chunk, value);
}

// All lanes store to the first address of an instruction before any stores to the second one.
void Emitter::store_in_order(bool is_second, std::function<void()> store) {
  if (is_second)
    run_.second_stores.push_back(std::move(store));
  else
    store();
}

// Lanes whose `bytes` at these places are in the LDS.
Value* Emitter::lanes_inside(Value* at, unsigned bytes) {
  Value* size = ir_.CreateTrunc(lds_bytes_, i32_);
  Value* last = ir_.CreateVectorSplat(16, ir_.CreateSub(size, ir_.getInt32(bytes)));
  Value* fits = ir_.CreateVectorSplat(16, ir_.CreateICmpUGE(size, ir_.getInt32(bytes)));
  return ir_.CreateAnd(ir_.CreateICmpULE(at, last), fits);
}

// Out of range: loads give zero, stores are dropped (guide 3.3.4.1). A load does so too if its instruction's
// other address is out of range. Behind the LDS there is room for the dword that a byte is loaded with.
void Emitter::emit_gathered_lds(unsigned index, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  Value* addresses = vgpr(instruction.find(Role::addr)->vgpr(), chunk);
  Value* exec = lanes_from_bits(bits_of_register(kExec, chunk));
  const std::vector<LdsAccess> accesses = lds_accesses(routine_.nodes[index]);
  std::vector<Value*> at, inside;
  for (const LdsAccess& access : accesses) {
    at.push_back(ir_.CreateAdd(addresses, ir_.CreateVectorSplat(16, ir_.getInt32(access.offset))));
    inside.push_back(lanes_inside(at.back(), shape.bytes));
  }
  Value* on = exec;
  for (Value* lanes : inside)
    if (is_load) on = ir_.CreateAnd(on, lanes);
  std::vector<std::pair<unsigned, Value*>> writes;
  for (size_t i = 0; i < accesses.size(); ++i) {
    Value* places = ir_.CreateGEP(ir_.getInt8Ty(), lds_, at[i]);
    if (is_load) {
      const unsigned data = accesses[i].data;
      Value* before = shape.part == isa::RegisterPart::whole ? nullptr : vgpr(data, chunk);
      const std::vector<Value*> loaded = gather(shape, places, on, before);
      for (unsigned word = 0; word < loaded.size(); ++word) writes.emplace_back(data + word, loaded[word]);
    } else {
      std::vector<Value*> words;
      for (unsigned word = 0; word < shape.registers(); ++word)
        words.push_back(vgpr(accesses[i].data + word, chunk));
      Value* written = ir_.CreateAnd(exec, inside[i]);
      store_in_order(accesses[i].is_second, [=, this] { scatter(words, places, written); });
    }
  }
  for (const auto& [number, value] : writes) write_lanes(facts_.nodes[index], number, chunk, value);
}

void Emitter::emit_lds_by_lanes(unsigned index, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  if (is_gathered(shape)) return emit_gathered_lds(index, chunk);
  const bool is_load = shape.kind == AccessShape::Kind::load,
             is_part = shape.part != isa::RegisterPart::whole;
  const unsigned dwords = shape.registers();
  const auto place = [&](unsigned row) {
    return ir_.CreateConstInBoundsGEP2_32(buffer_->getAllocatedType(), buffer_, 0, row);
  };
  auto function = runtime("lockstep_translator_lds", ir_.getVoidTy(),
                          {pointer_, i32_, i32_, pointer_, i32_, i32_, pointer_});
  Value* exec = ir_.CreateZExt(bits_of_register(kExec, chunk), i32_);
  Value* addresses = vgpr(instruction.find(Role::addr)->vgpr(), chunk);
  Value* form = ir_.getInt32(memory_form(instruction.row->opcode));
  std::vector<std::pair<unsigned, Value*>> writes;
  const std::vector<LdsAccess> accesses = lds_accesses(routine_.nodes[index]);
  for (const LdsAccess& access : accesses) {
    const LdsAccess& other = &access == &accesses.front() ? accesses.back() : accesses.front();
    std::vector<Value*> words;
    if (!is_load || is_part)
      for (unsigned word = 0; word < dwords; ++word) words.push_back(vgpr(access.data + word, chunk));
    Value *offset = ir_.getInt32(access.offset), *other_offset = ir_.getInt32(other.offset);
    store_in_order(!is_load && access.is_second, [=, this] {
      ir_.CreateStore(addresses, place(0));
      for (unsigned word = 0; word < words.size(); ++word) ir_.CreateStore(words[word], place(2 + word));
      ir_.CreateCall(function, {wave_, form, exec, place(0), offset, other_offset, place(2)});
    });
    for (unsigned word = 0; is_load && word < dwords; ++word)
      writes.emplace_back(access.data + word, ir_.CreateLoad(lanes_, place(2 + word)));
  }
  for (const auto& [number, value] : writes) write_lanes(facts_.nodes[index], number, chunk, value);
}

}  // namespace lockstep::translator

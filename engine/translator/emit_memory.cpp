// What loads and stores have in common, and those of LDS and scratch. Sixteen lanes that address elements one
// behind the other take plain vector moves; that is tested at run time. Everything else goes lane by lane
// through runtime.h.
#include <llvm/Analysis/ValueTracking.h>

#include <algorithm>
#include <utility>

#include "engine/translator/context.h"
#include "engine/translator/emitter.h"
#include "engine/translator/lane_moves.h"
#include "engine/translator/lane_values.h"
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

llvm::Constant* Emitter::lane_multiples(int32_t factor) {
  std::vector<llvm::Constant*> values;
  for (int32_t lane = 0; lane < 16; ++lane)
    values.push_back(ir_.getInt32(static_cast<uint32_t>(lane * factor)));
  return llvm::ConstantVector::get(values);
}

Emitter::AddressFacts& Emitter::address_facts(Value* addresses) {
  AddressFacts& facts = address_facts_[addresses];
  if (!facts.first) facts.first = ir_.CreateExtractElement(addresses, uint64_t{0});
  return facts;
}

Value* Emitter::has_stride(Value* addresses, uint32_t bytes) {
  AddressFacts& facts = address_facts(addresses);
  if (Value*& known = facts.has_stride[bytes]; known) return known;
  Value* expected = ir_.CreateVectorSplat(16, facts.first);
  if (bytes != 0) expected = ir_.CreateAdd(expected, lane_multiples(static_cast<int32_t>(bytes)));
  Value* wrong = ir_.CreateBitCast(ir_.CreateICmpNE(addresses, expected), i16_);
  return facts.has_stride[bytes] = ir_.CreateICmpEQ(wrong, ir_.getInt16(0));
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
  if (!has_masked_gathers_ && dwords == 4) return load_fours(pointer, lane_multiples(16));
  return taken_apart(load_once(llvm::FixedVectorType::get(i32_, 16 * dwords), pointer, dwords > 1), dwords);
}

// Waves on other threads may store, and programs read a value with its flag: what is taken apart by shuffles
// is volatile, since LLVM would load parts of it again for some of these. Not so of LDS, which is one
// thread's.
Value* Emitter::load_once(llvm::Type* type, Value* pointer, bool has_pairs) {
  return ir_.CreateAlignedLoad(type, pointer, llvm::Align(1), has_pairs && is_shared(pointer));
}

bool Emitter::is_shared(Value* pointer) const {
  return llvm::getUnderlyingObject(pointer) != llvm::getUnderlyingObject(lds_);
}

std::vector<Value*> Emitter::taken_apart(Value* all, unsigned dwords) {
  if (dwords == 1) return {all};
  std::vector<Value*> words;
  for (unsigned word = 0; word < dwords; ++word) {
    std::vector<int> indices;
    for (unsigned lane = 0; lane < 16; ++lane) indices.push_back(static_cast<int>(lane * dwords + word));
    words.push_back(ir_.CreateShuffleVector(all, indices));
  }
  return words;
}

void Emitter::store_fours(Value* pointer, const std::vector<Value*>& words, uint64_t stride) {
  const auto lanes = lanes_in_quarters(ir_, {words[0], words[1], words[2], words[3]});
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
    Value* place = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), pointer, stride * lane);
    ir_.CreateAlignedStore(four_of_lane(ir_, lanes, lane), place, llvm::Align(1));
  }
}

void Emitter::store_consecutive(Value* pointer, const std::vector<Value*>& words) {
  // With registers of eight lanes interleaving costs more shuffles than stores.
  if (!has_masked_gathers_ && words.size() == 4) return store_fours(pointer, words, 16);
  ir_.CreateAlignedStore(put_together(words), pointer, llvm::Align(1));
}

Value* Emitter::put_together(const std::vector<Value*>& words) {
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
  return all;
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
  if (shape.bytes < 4) return emit_scratch_part(index);
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
    outside = ir_.CreateOr(outside, ir_.CreateICmpNE(bits_of(wrong, on[chunk]), ir_.getInt16(0)));
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

// Bytes and shorts lie in one dword of their lane, which a store puts back with them; else, or out of range,
// they are the interpreter's.
void Emitter::emit_scratch_part(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const isa::Operand* address = instruction.find(Role::addr);
  const isa::Operand* scalar_offset = instruction.find(Role::saddr);
  const unsigned data = instruction.find(is_load ? Role::dst : Role::data)->vgpr();
  const auto splat = [&](Value* value) { return ir_.CreateVectorSplat(16, value); };
  const auto splat_number = [&](uint32_t value) { return splat(ir_.getInt32(value)); };

  Value* uniform = ir_.getInt32(static_cast<uint32_t>(instruction.offset));
  if (scalar_offset && scalar_offset->code != isa::code::kNull)
    uniform = ir_.CreateAdd(uniform, ir_.CreateTrunc(scalar_source(*scalar_offset, instruction, 32), i32_));
  Value* last = splat(ir_.CreateSub(scratch_bytes_, ir_.getInt32(shape.bytes)));
  Value* outside = ir_.CreateICmpULT(scratch_bytes_, ir_.getInt32(shape.bytes));
  ChunkValues offsets{}, on{}, registers{};
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    on[chunk] = ir_.CreateBitCast(half_bits(scalar(kExec + chunk / 2), chunk), lane_mask_);
    offsets[chunk] = splat(uniform);
    if (address && address->is_vgpr())
      offsets[chunk] = ir_.CreateAdd(offsets[chunk], vgpr(address->vgpr(), chunk));
    if (!is_load || shape.part != isa::RegisterPart::whole) registers[chunk] = vgpr(data, chunk);
    Value* in_dword = ir_.CreateAnd(offsets[chunk], splat_number(3));
    Value* wrong = ir_.CreateOr(ir_.CreateICmpUGT(in_dword, splat_number(4u - shape.bytes)),
                                ir_.CreateICmpUGT(offsets[chunk], last));
    outside = ir_.CreateOr(outside, ir_.CreateICmpNE(bits_of(wrong, on[chunk]), ir_.getInt16(0)));
  }
  BasicBlock* inside = new_block("scratch");
  branch_unlikely(outside, leave_to_interpreter(snapshot(index)), inside);
  ir_.SetInsertPoint(inside);
  Value* base = ir_.CreateIntToPtr(scratch_base_, pointer_);
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* rows =
        ir_.CreateMul(ir_.CreateAnd(offsets[chunk], splat_number(~3u)), splat_number(routine_.wave_size));
    Value* first = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, chunk * 64);
    Value* places = ir_.CreateGEP(ir_.getInt8Ty(), first, ir_.CreateAdd(rows, lane_multiples(4)));
    Value* shift = ir_.CreateShl(ir_.CreateAnd(offsets[chunk], splat_number(3)), splat_number(3));
    Value* dword = ir_.CreateMaskedGather(lanes_, places, llvm::Align(4), on[chunk],
                                          llvm::Constant::getNullValue(lanes_));
    if (is_load) {
      registers[chunk] = with_part(shape, ir_.CreateLShr(dword, shift), registers[chunk]);
      continue;
    }
    Value* part = registers[chunk];
    if (shape.part == isa::RegisterPart::high_half) part = ir_.CreateLShr(part, splat_number(16));
    Value* mask = ir_.CreateShl(splat_number((1u << 8 * shape.bytes) - 1), shift);
    Value* together = ir_.CreateOr(ir_.CreateAnd(dword, ir_.CreateNot(mask)),
                                   ir_.CreateAnd(ir_.CreateShl(part, shift), mask));
    ir_.CreateMaskedScatter(together, places, llvm::Align(4), on[chunk]);
  }
  for (unsigned chunk = 0; is_load && chunk < chunks_; ++chunk)
    write_lanes(facts_.nodes[index], data, chunk, registers[chunk]);
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
    bool all_on = false;
    std::set<uint32_t> strides;
  };
  std::map<unsigned, Need> needs;  // by address register
  Value* regular = nullptr;
  for (unsigned n : run_.nodes) {
    const Node& node = routine_.nodes[n];
    if (node.kind == NodeKind::lds && has_lds_offsets(n)) {
      regular = ir_.CreateAnd(regular ? regular : ir_.getTrue(), lds_is_at_offsets(n));
      continue;
    }
    const std::optional<uint32_t> stride = facts_.nodes[n].lds_stride;
    if (node.kind != NodeKind::lds || !stride) continue;
    const AccessShape shape = isa::access_shape(node.instruction.row->opcode);
    Need& need = needs[node.instruction.find(Role::addr)->vgpr()];
    for (const LdsAccess& access : lds_accesses(node))
      need.bytes = std::max<uint64_t>(need.bytes, access.offset + 15 * uint64_t{*stride} + shape.bytes);
    need.strides.insert(*stride);
    // Single dwords side by side may be stored under EXEC.
    need.all_on |=
        shape.kind == AccessShape::Kind::store && (shape.bytes > 4 || *stride > 4 || has_launch_exec(n));
  }
  if (needs.empty()) return regular;
  if (!regular) regular = ir_.getTrue();
  for (const auto& [address, need] : needs) {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      Value* addresses = vgpr(address, chunk);
      for (const uint32_t stride : need.strides)
        regular = ir_.CreateAnd(regular, has_stride(addresses, stride));
      Value* first = ir_.CreateZExt(address_facts(addresses).first, i64_);
      regular = ir_.CreateAnd(regular,
                              ir_.CreateICmpSLE(first, ir_.CreateSub(lds_bytes_, ir_.getInt64(need.bytes))));
    }
    if (need.all_on) regular = ir_.CreateAnd(regular, are_all(whole_mask(kExec)));
  }
  return regular;
}

void Emitter::emit_regular_lds(unsigned index, unsigned chunk) {
  const Node& node = routine_.nodes[index];
  if (has_lds_offsets(index)) return emit_lds_at_offsets(index, chunk);
  if (!facts_.nodes[index].lds_stride) return emit_lds_by_lanes(index, chunk);
  const uint32_t stride = *facts_.nodes[index].lds_stride;
  AccessShape shape = isa::access_shape(node.instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  Value* addresses = vgpr(node.instruction.find(Role::addr)->vgpr(), chunk);
  Value* first = ir_.CreateZExt(address_facts(addresses).first, i64_);
  std::vector<LdsAccess> accesses = lds_accesses(node);
  // Two elements side by side, in registers side by side, are one.
  if (is_load && accesses.size() == 2 && accesses[1].offset == accesses[0].offset + shape.bytes) {
    shape.bytes *= 2;
    accesses.pop_back();
  }
  const unsigned dwords = shape.registers();
  const bool is_consecutive = stride == shape.bytes && shape.bytes >= 4;
  std::vector<std::pair<unsigned, Value*>> writes;
  for (const LdsAccess& access : accesses) {
    Value* pointer = ir_.CreateGEP(ir_.getInt8Ty(), lds_, ir_.CreateAdd(first, ir_.getInt64(access.offset)));
    if (is_load) {
      const std::vector<Value*> words = stride == 0      ? load_uniform(shape, pointer)
                                        : is_consecutive ? load_consecutive(pointer, dwords)
                                                         : load_strided(shape, stride, pointer);
      for (unsigned word = 0; word < dwords; ++word) writes.emplace_back(access.data + word, words[word]);
      continue;
    }
    std::vector<Value*> words;
    for (unsigned word = 0; word < dwords; ++word) words.push_back(vgpr(access.data + word, chunk));
    Value* exec = bits_of_register(kExec, chunk);
    store_in_order(access.is_second, [=, this] {
      if (is_consecutive && dwords == 1 && !has_launch_exec(index))
        store_under(exec, words[0], pointer);
      else if (is_consecutive)
        store_consecutive(pointer, words);
      else
        store_strided(shape, words, stride, pointer);
    });
  }
  for (const auto& [number, value] : writes) write_lanes(facts_.nodes[index], number, chunk, value);
}

// Whether EXEC is as the wave began, which mostly has all lanes: then a test of that is enough, and what
// stores needs no branches (a transposition ran a seventh slower with them).
bool Emitter::has_launch_exec(unsigned index) const {
  if (block_first_ != routine_.blocks[routine_.entry_block].first) return false;
  for (unsigned n = block_first_; n < index; ++n)
    if (writes_exec(facts_.nodes[n].effects, routine_.wave_size)) return false;
  return true;
}

// Dwords side by side in the LDS, all in bounds. A mask is not for nothing: hosts do not always give what was
// stored under one to a load that comes soon. Where it is some forty operations of the host, the lanes that
// are off get back what they have, which is nobody else's: a work-group's LDS is one host thread's.
void Emitter::store_under(Value* exec, Value* word, Value* pointer) {
  Value* is_full = ir_.CreateICmpEQ(exec, ir_.getInt16(0xffff));
  BasicBlock *full = new_block("full"), *partial = new_block("partial"), *stored = new_block("stored");
  branch_unlikely(ir_.CreateNot(is_full), partial, full);
  ir_.SetInsertPoint(full);
  ir_.CreateAlignedStore(word, pointer, llvm::Align(1));
  ir_.CreateBr(stored);
  ir_.SetInsertPoint(partial);
  if (has_masked_gathers_) {
    ir_.CreateMaskedStore(word, pointer, llvm::Align(1), ir_.CreateBitCast(exec, lane_mask_));
  } else {
    Value* before = ir_.CreateAlignedLoad(lanes_, pointer, llvm::Align(1));
    Value* on = ir_.CreateIsNeg(lanes_as_words(ir_, exec));
    ir_.CreateAlignedStore(ir_.CreateSelect(on, word, before), pointer, llvm::Align(1));
  }
  ir_.CreateBr(stored);
  ir_.SetInsertPoint(stored);
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

// Out of range: loads give zero, stores are dropped (guide 3.3.4.1). Behind the LDS there is room for the
// dword that a byte is loaded with.
void Emitter::emit_gathered_lds(unsigned index, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  Value* addresses = vgpr(instruction.find(Role::addr)->vgpr(), chunk);
  Value* exec = lanes_from_bits(bits_of_register(kExec, chunk));
  const std::vector<LdsAccess> accesses = lds_accesses(routine_.nodes[index]);
  std::vector<std::pair<unsigned, Value*>> writes;
  for (const LdsAccess& access : accesses) {
    Value* at = ir_.CreateAdd(addresses, ir_.CreateVectorSplat(16, ir_.getInt32(access.offset)));
    Value* on = ir_.CreateAnd(exec, lanes_inside(at, shape.bytes));
    Value* places = ir_.CreateGEP(ir_.getInt8Ty(), lds_, at);
    if (is_load) {
      const unsigned data = access.data;
      Value* before = shape.part == isa::RegisterPart::whole ? nullptr : vgpr(data, chunk);
      const std::vector<Value*> loaded = gather(shape, places, on, before);
      for (unsigned word = 0; word < loaded.size(); ++word) writes.emplace_back(data + word, loaded[word]);
    } else {
      std::vector<Value*> words;
      for (unsigned word = 0; word < shape.registers(); ++word)
        words.push_back(vgpr(access.data + word, chunk));
      store_in_order(access.is_second, [=, this] { scatter(shape, words, places, on); });
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
  auto function =
      runtime("lockstep_translator_lds", ir_.getVoidTy(), {pointer_, i32_, i32_, pointer_, i32_, pointer_});
  Value* exec = ir_.CreateZExt(bits_of_register(kExec, chunk), i32_);
  Value* addresses = vgpr(instruction.find(Role::addr)->vgpr(), chunk);
  Value* form = ir_.getInt32(memory_form(instruction.row->opcode));
  std::vector<std::pair<unsigned, Value*>> writes;
  const std::vector<LdsAccess> accesses = lds_accesses(routine_.nodes[index]);
  for (const LdsAccess& access : accesses) {
    std::vector<Value*> words;
    if (!is_load || is_part)
      for (unsigned word = 0; word < dwords; ++word) words.push_back(vgpr(access.data + word, chunk));
    Value* offset = ir_.getInt32(access.offset);
    store_in_order(!is_load && access.is_second, [=, this] {
      ir_.CreateStore(addresses, place(0));
      for (unsigned word = 0; word < words.size(); ++word) ir_.CreateStore(words[word], place(2 + word));
      ir_.CreateCall(function, {wave(), form, exec, place(0), offset, place(2)});
    });
    for (unsigned word = 0; is_load && word < dwords; ++word)
      writes.emplace_back(access.data + word, ir_.CreateLoad(lanes_, place(2 + word)));
  }
  for (const auto& [number, value] : writes) write_lanes(facts_.nodes[index], number, chunk, value);
}

}  // namespace lockstep::translator

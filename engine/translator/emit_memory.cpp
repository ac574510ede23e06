// GLOBAL and LDS loads and stores. Sixteen lanes that address elements one behind the other take plain vector
// moves; that is tested at run time. Everything else goes lane by lane through runtime.h.
#include "engine/translator/context.h"
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using isa::Role;
using llvm::BasicBlock;
using llvm::Value;

namespace {

llvm::Constant* lane_multiples(llvm::IRBuilder<>& ir, unsigned factor) {
  std::vector<llvm::Constant*> values;
  for (unsigned lane = 0; lane < 16; ++lane) values.push_back(ir.getInt32(lane * factor));
  return llvm::ConstantVector::get(values);
}

}  // namespace

Emitter::AddressFacts& Emitter::address_facts(Value* addresses) {
  AddressFacts& facts = address_facts_[addresses];
  if (!facts.first) facts.first = ir_.CreateExtractElement(addresses, uint64_t{0});
  return facts;
}

Value* Emitter::is_consecutive(Value* addresses, unsigned dwords) {
  AddressFacts& facts = address_facts(addresses);
  if (Value*& known = facts.consecutive[dwords]; known) return known;
  Value* expected = ir_.CreateAdd(ir_.CreateVectorSplat(16, facts.first), lane_multiples(ir_, 4 * dwords));
  Value* wrong = ir_.CreateBitCast(ir_.CreateICmpNE(addresses, expected), i16_);
  return facts.consecutive[dwords] = ir_.CreateICmpEQ(wrong, ir_.getInt16(0));
}

Value* Emitter::is_uniform(Value* addresses) {
  AddressFacts& facts = address_facts(addresses);
  if (facts.uniform) return facts.uniform;
  Value* wrong = ir_.CreateBitCast(ir_.CreateICmpNE(addresses, ir_.CreateVectorSplat(16, facts.first)), i16_);
  return facts.uniform = ir_.CreateICmpEQ(wrong, ir_.getInt16(0));
}

// Whether [address, address + bytes) lies in the range that this instruction hit last.
Value* Emitter::in_last_range(unsigned slot_number, Value* address, uint64_t bytes) {
  const auto field = [&](Value* base, size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, offset);
  };
  Value* slots = ir_.CreateLoad(pointer_, field(dispatch_, offsetof(Context, last_range)));
  auto* range = ir_.CreateLoad(pointer_, field(slots, slot_number * sizeof(void*)));
  range->setAtomic(llvm::AtomicOrdering::Monotonic);
  Value* begin = ir_.CreateLoad(i64_, field(range, offsetof(Range, begin)));
  Value* end = ir_.CreateLoad(i64_, field(range, offsetof(Range, end)));
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

void Emitter::emit_global(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const NodeFacts& facts = facts_.nodes[index];
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const unsigned dwords = shape.registers();
  const isa::Operand& address = *instruction.find(Role::addr);
  const isa::Operand* scalar_base = instruction.find(Role::saddr);
  const bool wide = !scalar_base || scalar_base->code == isa::code::kNull;
  const unsigned data = instruction.find(is_load ? Role::dst : Role::data)->vgpr();
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
  Value* exec = whole_mask(kExec);
  const Snapshot before = snapshot(index);
  BasicBlock *slow = new_block("lanes"), *done = new_block("accessed"), *fast = nullptr;
  std::array<std::vector<Value*>, kMaxChunks> loaded;

  if (shape.bytes >= 4) {
    // No carry out of the low half inside the chunk, one high half for all lanes.
    Value* plain = ir_.CreateICmpEQ(exec, llvm::Constant::getAllOnesValue(exec->getType()));
    ChunkValues first{};
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      plain = ir_.CreateAnd(plain, is_consecutive(low[chunk], dwords));
      Value* start = address_facts(low[chunk]).first;
      plain = ir_.CreateAnd(plain, ir_.CreateICmpULE(start, ir_.getInt32(~0u - 16 * shape.bytes)));
      Value* at = ir_.CreateAdd(base, ir_.CreateZExt(start, i64_));
      if (wide) {
        plain = ir_.CreateAnd(plain, is_uniform(high[chunk]));
        at = ir_.CreateAdd(at, ir_.CreateShl(ir_.CreateZExt(address_facts(high[chunk]).first, i64_), 32));
      }
      plain = ir_.CreateAnd(plain, in_last_range(slot_number, at, 16 * shape.bytes));
      first[chunk] = at;
    }
    fast = new_block("consecutive");
    branch_unlikely(ir_.CreateNot(plain), slow, fast);
    ir_.SetInsertPoint(fast);
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
  std::array<std::vector<Value*>, kMaxChunks> gathered;
  for (unsigned chunk = 0; is_load && chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      gathered[chunk].push_back(ir_.CreateLoad(lanes_, place(2 + word, chunk)));
  ir_.CreateBr(done);

  ir_.SetInsertPoint(done);
  if (!is_load) return;
  std::array<std::vector<Value*>, kMaxChunks> results;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    for (unsigned word = 0; word < dwords; ++word) {
      llvm::PHINode* value = ir_.CreatePHI(lanes_, 2);
      if (fast) value->addIncoming(loaded[chunk][word], fast);
      value->addIncoming(gathered[chunk][word], accessed);
      results[chunk].push_back(value);
    }
  }
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      write_lanes(facts, data + word, chunk, results[chunk][word]);
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

void Emitter::emit_lds_by_lanes(unsigned index, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
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

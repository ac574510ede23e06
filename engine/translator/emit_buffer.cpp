// Loads, stores and atomics through a buffer resource.
#include <array>

#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/pair_folding.h"
#include "engine/translator/runtime.h"
#include "isa/memory_shape.h"
#include "semantics/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using isa::Role;
using llvm::BasicBlock;
using llvm::Value;

Emitter::BufferOperands Emitter::buffer_operands(const isa::Instruction& instruction) {
  BufferOperands operands;
  const unsigned first = source_of(*instruction.find(Role::resource), instruction)->first;
  for (unsigned word = 0; word < 4; ++word) operands.resource[word] = scalar(first + word);
  operands.low = join_words(ir_, operands.resource[0], operands.resource[1]);
  operands.high = join_words(ir_, operands.resource[2], operands.resource[3]);
  operands.sgpr_offset = scalar_source(*instruction.find(Role::soffset), instruction, 32);
  operands.both_offsets = ir_.CreateOr(ir_.getInt64(static_cast<uint32_t>(instruction.offset)),
                                       ir_.CreateShl(operands.sgpr_offset, 32));
  return operands;
}

// The lanes' offsets and indices to the rows that functions of the runtime have them in; which there are: 1
// and 2.
Value* Emitter::store_buffer_address(const isa::Instruction& instruction) {
  const BufferAddress address = buffer_address(instruction);
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    if (address.offset) ir_.CreateStore(vgpr(*address.offset, chunk), buffer_row(0, chunk));
    if (address.index) ir_.CreateStore(vgpr(*address.index, chunk), buffer_row(1, chunk));
  }
  return ir_.getInt32(address.offset.has_value() + 2 * address.index.has_value());
}

// Buffers of bytes, as compilers make them of pointers: base + offset, and one bound (guide 9.4.1). All
// others, and lanes whose dwords are in bounds in part, are the runtime function's.
void Emitter::emit_buffer(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  if (shape.format_components != 0) return emit_buffer_format(index);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const BufferAddress address = buffer_address(instruction);
  MemoryAccess access;
  access.shape = shape;
  access.data = instruction.find(is_load ? Role::dst : Role::data)->vgpr();
  access.slot = next_slot_++;
  const BufferOperands operands = buffer_operands(instruction);
  const std::array<Value*, 4>& resource = operands.resource;
  Value* displacement =
      ir_.CreateAdd(operands.sgpr_offset, ir_.getInt64(static_cast<uint32_t>(instruction.offset)));
  access.base = ir_.CreateAdd(ir_.CreateAnd(operands.low, 0xffff'ffff'ffff), displacement);

  const auto has_bits = [&](Value* word, uint32_t mask, uint32_t bits) {
    return ir_.CreateICmpEQ(ir_.CreateAnd(word, mask), ir_.getInt32(bits));
  };
  // No swizzling, no stride that an index would count, raw bounds, no lane numbers added, a format.
  Value* usual = has_bits(resource[1], address.index ? 0xffff'0000u : 0xc000'0000u, 0);
  usual = ir_.CreateAnd(usual, has_bits(resource[3], 0xf080'0000u, 0x3000'0000u));
  usual = ir_.CreateAnd(usual, ir_.CreateNot(has_bits(resource[3], 0x3f000u, 0)));

  // The last offset whose element is in bounds, and the last whose first dword is; negative: there is none.
  Value* records = ir_.CreateZExt(resource[2], i64_);
  const auto last_with = [&](unsigned bytes) {
    return ir_.CreateSub(records, ir_.CreateAdd(displacement, ir_.getInt64(bytes)));
  };
  const auto are_up_to = [&](Value* last, Value* offsets) {
    Value* exists = ir_.CreateVectorSplat(16, ir_.CreateICmpSGE(last, ir_.getInt64(0)));
    Value* lasts = ir_.CreateVectorSplat(16, ir_.CreateTrunc(last, i32_));
    return ir_.CreateBitCast(ir_.CreateAnd(ir_.CreateICmpULE(offsets, lasts), exists), i16_);
  };
  Value* last = last_with(shape.bytes);
  access.is_unusual = ir_.CreateNot(usual);
  ChunkValues indices{};
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    access.low[chunk] = address.offset ? vgpr(*address.offset, chunk) : llvm::Constant::getNullValue(lanes_);
    if (address.index) indices[chunk] = vgpr(*address.index, chunk);
    Value* on = half_bits(scalar(kExec + chunk / 2), chunk);
    Value* inside = ir_.CreateAnd(on, are_up_to(last, access.low[chunk]));
    access.lane_bits[chunk] = inside;
    if (shape.bytes > 4) {
      Value* begin_inside = ir_.CreateAnd(on, are_up_to(last_with(4), access.low[chunk]));
      access.is_unusual = ir_.CreateOr(access.is_unusual, ir_.CreateICmpNE(inside, begin_inside));
    }
    Value* lanes = ir_.CreateShl(ir_.CreateZExt(inside, routine_.wave_size == 32 ? i32_ : i64_), 16 * chunk);
    access.lanes = chunk == 0 ? lanes : ir_.CreateOr(access.lanes, lanes);
  }
  if (address.index) access.second_row = indices;
  // Here, for all ways of the access: of waves that are half as long the others have no need of its upper
  // word.
  Value* exec = ir_.CreateZExt(whole_mask(kExec), i64_);
  access.by_lanes = [&, exec] {
    auto function =
        runtime("lockstep_translator_buffer", i1_,
                {pointer_, i32_, i32_, i32_, i64_, i64_, i64_, i64_, pointer_, pointer_, pointer_});
    llvm::cast<llvm::Function>(function.getCallee())->addRetAttr(llvm::Attribute::ZExt);
    Value* null = llvm::ConstantPointerNull::get(pointer_);
    return ir_.CreateCall(
        function, {dispatch_, ir_.getInt32(access.slot), ir_.getInt32(memory_form(instruction.row->opcode)),
                   ir_.getInt32(routine_.wave_size), operands.low, operands.high, operands.both_offsets, exec,
                   address.offset ? buffer_row(0, 0) : null, address.index ? buffer_row(1, 0) : null,
                   buffer_row(2, 0)});
  };
  emit_memory_access(index, access);
}

// Elements are taken apart and put together in the runtime function.
void Emitter::emit_buffer_format(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load,
             is_typed = instruction.row->encoding == isa::Encoding::mtbuf;
  const unsigned data = instruction.find(is_load ? Role::dst : Role::data)->vgpr();
  const Snapshot before = snapshot(index);
  const BufferOperands operands = buffer_operands(instruction);
  const BufferAddress address = buffer_address(instruction);
  store_buffer_address(instruction);
  // Loads of 16 bits leave the other half of a register alone.
  for (unsigned word = 0; (!is_load || shape.d16) && word < shape.registers(); ++word)
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      ir_.CreateStore(vgpr(data + word, chunk), buffer_row(2 + word, chunk));
  auto function =
      runtime("lockstep_translator_buffer_format", i1_,
              {pointer_, i32_, i32_, i32_, i32_, i64_, i64_, i64_, i64_, pointer_, pointer_, pointer_});
  auto* callee = llvm::cast<llvm::Function>(function.getCallee());
  callee->addRetAttr(llvm::Attribute::ZExt);
  callee->removeFnAttr(llvm::Attribute::Cold);
  Value* null = llvm::ConstantPointerNull::get(pointer_);
  Value* fine = ir_.CreateCall(
      function,
      {dispatch_, ir_.getInt32(next_slot_++), ir_.getInt32(memory_form(instruction.row->opcode)),
       ir_.getInt32(is_typed ? kTypedFormat | instruction.format : 0), ir_.getInt32(routine_.wave_size),
       operands.low, operands.high, operands.both_offsets, ir_.CreateZExt(whole_mask(kExec), i64_),
       address.offset ? buffer_row(0, 0) : null, address.index ? buffer_row(1, 0) : null, buffer_row(2, 0)});
  BasicBlock* done = new_block("converted");
  branch_unlikely(ir_.CreateNot(fine), leave_to_interpreter(before), done);
  ir_.SetInsertPoint(done);
  if (!is_load) return note_writes();
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < shape.registers(); ++word)
      write_lanes(facts_.nodes[index], data + word, chunk,
                  ir_.CreateLoad(lanes_, buffer_row(2 + word, chunk)));
}

void Emitter::emit_buffer_atomic(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const semantics::AtomicShape& shape = semantics::atomic_shape(instruction.row->opcode);
  const unsigned dwords = shape.bytes / 4, data = instruction.find(Role::data)->vgpr();
  const unsigned stored = dwords * (semantics::has_second_operand(shape.operation) ? 2 : 1);
  const Snapshot before = snapshot(index);
  const BufferOperands operands = buffer_operands(instruction);
  Value* places = store_buffer_address(instruction);
  // The second operand has rows of its own.
  const auto row_of = [&](unsigned word) { return word < dwords ? 2 + word : 4 + word - dwords; };
  for (unsigned word = 0; word < stored; ++word)
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      ir_.CreateStore(vgpr(data + word, chunk), buffer_row(row_of(word), chunk));
  note_writes();
  auto function = runtime("lockstep_translator_buffer_atomic", i1_,
                          {pointer_, pointer_, i32_, i32_, i64_, i64_, i64_, i64_, i32_, pointer_});
  auto* callee = llvm::cast<llvm::Function>(function.getCallee());
  callee->addRetAttr(llvm::Attribute::ZExt);
  callee->removeFnAttr(llvm::Attribute::Cold);
  Value* fine = ir_.CreateCall(
      function, {wave(), dispatch_, ir_.getInt32(next_slot_++),
                 ir_.getInt32(memory_form(instruction.row->opcode)), operands.low, operands.high,
                 operands.both_offsets, ir_.CreateZExt(whole_mask(kExec), i64_), places, buffer_row(0, 0)});
  BasicBlock* done = new_block("exchanged");
  branch_unlikely(ir_.CreateNot(fine), leave_to_interpreter(before), done);
  ir_.SetInsertPoint(done);
  if (!instruction.glc) return;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      write_lanes(facts_.nodes[index], data + word, chunk,
                  ir_.CreateLoad(lanes_, buffer_row(2 + word, chunk)));
}

// Dwords behind the end of the buffer are zeros, which is rare: then the runtime function looks at each.
void Emitter::emit_scalar_buffer_load(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const unsigned dwords = isa::access_shape(instruction.row->opcode).bytes / 4;
  const Snapshot before = snapshot(index);
  const unsigned resource = source_of(*instruction.find(Role::resource), instruction)->first;
  const auto wide = [&](unsigned word) { return ir_.CreateZExt(scalar(resource + word), i64_); };
  // Of each component of the address the two low bits count as zero (guide 8.1.1).
  Value* base = ir_.CreateAnd(ir_.CreateOr(wide(0), ir_.CreateShl(wide(1), 32)), 0xffff'ffff'fffc);
  Value* stride = ir_.CreateAnd(ir_.CreateLShr(wide(1), 16), 0x3fff);
  stride = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, stride, ir_.getInt64(1));
  Value* size = ir_.CreateMul(stride, wide(2));
  Value* offset = ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset}));
  if (const isa::Operand* soffset = instruction.find(Role::soffset); soffset && !soffset->is_literal())
    offset = ir_.CreateAdd(offset, scalar_source(*soffset, instruction, 32));
  offset = ir_.CreateAnd(offset, ~uint64_t{3});
  const unsigned slot_number = next_slot_++;
  Value* address = ir_.CreateAdd(base, offset);
  Value* is_inside = ir_.CreateICmpULT(ir_.CreateAdd(offset, ir_.getInt64(4 * (dwords - 1))), size);
  is_inside = ir_.CreateAnd(is_inside, in_range(last_range(slot_number), address, 4 * dwords));
  BasicBlock *load = new_block("load"), *look = new_block("look"), *loaded = new_block("loaded"),
             *looked = new_block("looked");
  branch_unlikely(ir_.CreateNot(is_inside), look, load);
  std::vector<Value*> words, single;
  const auto load_words = [&](Value* pointer) {
    std::vector<Value*> result;
    for (unsigned i = 0; i < dwords; ++i)
      result.push_back(
          ir_.CreateAlignedLoad(i32_, ir_.CreateConstInBoundsGEP1_64(i32_, pointer, i), llvm::Align(1)));
    return result;
  };
  ir_.SetInsertPoint(load);
  words = load_words(ir_.CreateIntToPtr(address, pointer_));
  ir_.CreateBr(loaded);
  ir_.SetInsertPoint(look);
  auto function =
      runtime("lockstep_translator_scalar_buffer", i1_, {pointer_, i32_, i64_, i64_, i64_, i32_, pointer_});
  llvm::cast<llvm::Function>(function.getCallee())->addRetAttr(llvm::Attribute::ZExt);
  Value* fine = ir_.CreateCall(
      function, {dispatch_, ir_.getInt32(slot_number), base, size, offset, ir_.getInt32(dwords), buffer_});
  branch_unlikely(ir_.CreateNot(fine), leave_to_interpreter(before), looked);
  ir_.SetInsertPoint(looked);
  single = load_words(buffer_);
  ir_.CreateBr(loaded);
  ir_.SetInsertPoint(loaded);
  const auto first = scalar_destination(*instruction.find(Role::dst));
  std::vector<Value*> joined;
  for (unsigned i = 0; i < dwords; ++i) {
    llvm::PHINode* word = ir_.CreatePHI(i32_, 2);
    word->addIncoming(words[i], load);
    word->addIncoming(single[i], looked);
    joined.push_back(word);
  }
  for (unsigned i = 0; first && i < dwords; ++i) set_scalar(*first + i, joined[i]);
}

}  // namespace lockstep::translator

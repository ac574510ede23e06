// Loads and stores through a buffer resource.
#include <array>

#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using isa::Role;
using llvm::Value;

// Buffers of bytes, as compilers make them of pointers: base + offset, and one bound (guide 9.4.1). All
// others, and lanes whose dwords are in bounds in part, are the runtime function's.
void Emitter::emit_buffer(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const BufferAddress address = buffer_address(instruction);
  MemoryAccess access;
  access.shape = shape;
  access.data = instruction.find(is_load ? Role::dst : Role::data)->vgpr();
  access.slot = next_slot_++;
  const unsigned first = source_of(*instruction.find(Role::resource), instruction)->first;
  std::array<Value*, 4> resource{};
  for (unsigned word = 0; word < 4; ++word) resource[word] = scalar(first + word);
  const auto wide = [&](Value* low, Value* high) {
    return ir_.CreateOr(ir_.CreateZExt(low, i64_), ir_.CreateShl(ir_.CreateZExt(high, i64_), 32));
  };
  Value* sgpr_offset = scalar_source(*instruction.find(Role::soffset), instruction, 32);
  Value* displacement = ir_.CreateAdd(sgpr_offset, ir_.getInt64(static_cast<uint32_t>(instruction.offset)));
  access.base = ir_.CreateAdd(wide(resource[0], ir_.CreateAnd(resource[1], 0xffff)), displacement);

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
    Value* lanes = ir_.CreateShl(ir_.CreateZExt(inside, chunks_ == 2 ? i32_ : i64_), 16 * chunk);
    access.lanes = chunk == 0 ? lanes : ir_.CreateOr(access.lanes, lanes);
  }
  if (address.index) access.second_row = indices;
  access.by_lanes = [&] {
    auto function =
        runtime("lockstep_translator_buffer", i1_,
                {pointer_, i32_, i32_, i32_, i64_, i64_, i64_, i64_, pointer_, pointer_, pointer_});
    llvm::cast<llvm::Function>(function.getCallee())->addRetAttr(llvm::Attribute::ZExt);
    Value* null = llvm::ConstantPointerNull::get(pointer_);
    Value* both =
        ir_.CreateOr(ir_.getInt64(static_cast<uint32_t>(instruction.offset)), ir_.CreateShl(sgpr_offset, 32));
    return ir_.CreateCall(
        function,
        {dispatch_, ir_.getInt32(access.slot), ir_.getInt32(memory_form(instruction.row->opcode)),
         ir_.getInt32(routine_.wave_size), wide(resource[0], resource[1]), wide(resource[2], resource[3]),
         both, ir_.CreateZExt(whole_mask(kExec), i64_), address.offset ? buffer_row(0, 0) : null,
         address.index ? buffer_row(1, 0) : null, buffer_row(2, 0)});
  };
  emit_memory_access(index, access);
}

}  // namespace lockstep::translator

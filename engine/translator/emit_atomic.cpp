// Atomics on memory and LDS. Lanes may be at the same place, so they come one after the other: those that are
// where the instruction was the last time in generated code, all others in a runtime function.
#include <algorithm>
#include <optional>

#include "engine/translator/emitter.h"
#include "engine/translator/index_bits.h"
#include "engine/translator/lane_moves.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"
#include "engine/translator/table_lookups.h"
#include "semantics/memory_shape.h"

namespace lockstep::translator {

using isa::Role;
using llvm::BasicBlock;
using llvm::Value;
using semantics::AtomicOperation;

namespace {

using Exchange = llvm::AtomicRMWInst::BinOp;

// What hosts have as an instruction, or LLVM as a loop around one. The others are bodies of the runtime.
std::optional<Exchange> host_exchange(AtomicOperation operation) {
  switch (operation) {
    case AtomicOperation::swap:
      return llvm::AtomicRMWInst::Xchg;
    case AtomicOperation::add:
      return llvm::AtomicRMWInst::Add;
    case AtomicOperation::sub:
      return llvm::AtomicRMWInst::Sub;
    case AtomicOperation::smin:
      return llvm::AtomicRMWInst::Min;
    case AtomicOperation::umin:
      return llvm::AtomicRMWInst::UMin;
    case AtomicOperation::smax:
      return llvm::AtomicRMWInst::Max;
    case AtomicOperation::umax:
      return llvm::AtomicRMWInst::UMax;
    case AtomicOperation::and_:
      return llvm::AtomicRMWInst::And;
    case AtomicOperation::or_:
      return llvm::AtomicRMWInst::Or;
    case AtomicOperation::xor_:
      return llvm::AtomicRMWInst::Xor;
    default:
      return std::nullopt;
  }
}

// What hosts do to a number in memory by one instruction.
bool is_one_instruction(AtomicOperation operation) {
  switch (operation) {
    case AtomicOperation::add:
    case AtomicOperation::sub:
    case AtomicOperation::and_:
    case AtomicOperation::or_:
    case AtomicOperation::xor_:
      return true;
    default:
      return false;
  }
}

Value* exchanged(llvm::IRBuilder<>& ir, Exchange exchange, Value* old, Value* data) {
  const auto lesser = [&](llvm::CmpInst::Predicate predicate) {
    return ir.CreateSelect(ir.CreateICmp(predicate, old, data), old, data);
  };
  switch (exchange) {
    case llvm::AtomicRMWInst::Add:
      return ir.CreateAdd(old, data);
    case llvm::AtomicRMWInst::Sub:
      return ir.CreateSub(old, data);
    case llvm::AtomicRMWInst::Min:
      return lesser(llvm::CmpInst::ICMP_SLE);
    case llvm::AtomicRMWInst::UMin:
      return lesser(llvm::CmpInst::ICMP_ULE);
    case llvm::AtomicRMWInst::Max:
      return lesser(llvm::CmpInst::ICMP_SGE);
    case llvm::AtomicRMWInst::UMax:
      return lesser(llvm::CmpInst::ICMP_UGE);
    case llvm::AtomicRMWInst::And:
      return ir.CreateAnd(old, data);
    case llvm::AtomicRMWInst::Or:
      return ir.CreateOr(old, data);
    case llvm::AtomicRMWInst::Xor:
      return ir.CreateXor(old, data);
    default:
      return data;
  }
}

}  // namespace

// Where all lanes that are on may be reached by 32 bits from one pointer, aligned: goes on there; else goes
// to `elsewhere`.
Emitter::AtomicPlaces Emitter::atomic_places(const AtomicAccess& access, BasicBlock* elsewhere) {
  Value *outside = nullptr, *pointer = nullptr, *last = nullptr, *begin = nullptr;
  std::pair<Value*, Value*> range;
  if (access.in_lds) {
    // Out of range: no write, and 0 comes back. That is the runtime function's.
    pointer = lds_;
    last = ir_.CreateSub(lds_bytes_, ir_.getInt64(access.bytes));
    outside = ir_.CreateICmpSLT(last, ir_.getInt64(0));
  } else {
    range = last_range(access.slot);
    Value* end = range.second;
    begin = range.first;
    last = ir_.CreateSub(ir_.CreateSub(end, begin), ir_.getInt64(access.bytes));
    // Of a range that is too small it is negative.
    outside = ir_.CreateICmpUGT(last, ir_.getInt64(INT32_MAX));
    pointer = begin;
    if (access.has_base) {
      Value* behind = ir_.CreateSub(access.base, begin);
      outside = ir_.CreateOr(outside, ir_.CreateICmpUGT(behind, last));
      last = ir_.CreateSub(last, behind);
      pointer = access.base;
    }
    pointer = ir_.CreateIntToPtr(pointer, pointer_);
  }
  Value* first_byte = ir_.CreateTrunc(ir_.CreatePtrToInt(pointer, i64_), i32_);
  Value* zeros = llvm::Constant::getNullValue(lanes_);
  BasicBlock* here = new_block("all_in_reach");
  ChunkValues offsets{};
  for (unsigned chunk = 0; access.in_lds && chunk < chunks_; ++chunk)
    offsets[chunk] =
        ir_.CreateAdd(access.low[chunk], ir_.CreateVectorSplat(16, ir_.CreateTrunc(access.base, i32_)));
  const bool is_small = access.low_bits < kReadableLdsBytes && (access.low_bits & (access.bytes - 1)) == 0;
  if (access.in_lds && is_small) {
    // All that an index of few bits can be is in LDS, mostly.
    Value* most = ir_.CreateAdd(access.base, ir_.getInt64(access.low_bits));
    Value* first_place = ir_.CreateAdd(first_byte, ir_.CreateTrunc(access.base, i32_));
    Value* apart = ir_.CreateAnd(first_place, ir_.getInt32(access.bytes - 1));
    Value* is_all = ir_.CreateAnd(ir_.CreateICmpSLE(most, last), ir_.CreateICmpEQ(apart, ir_.getInt32(0)));
    BasicBlock* checked = new_block("some_in_reach");
    branch_unlikely(ir_.CreateNot(is_all), checked, here);
    ir_.SetInsertPoint(checked);
  }
  Value* wrong_lanes = nullptr;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* wrong = nullptr;
    if (!access.in_lds && access.has_base) {
      offsets[chunk] = access.low[chunk];
      if (access.high[chunk]) wrong = ir_.CreateICmpNE(access.high[chunk], zeros);
    } else if (!access.in_lds) {
      Value* from = ir_.CreateSub(begin, access.base);
      Value* from_low = ir_.CreateVectorSplat(16, ir_.CreateTrunc(from, i32_));
      Value* from_high = ir_.CreateVectorSplat(16, ir_.CreateTrunc(ir_.CreateLShr(from, 32), i32_));
      Value* borrow = ir_.CreateZExt(ir_.CreateICmpULT(access.low[chunk], from_low), lanes_);
      offsets[chunk] = ir_.CreateSub(access.low[chunk], from_low);
      wrong = ir_.CreateICmpNE(ir_.CreateSub(access.high[chunk], from_high), borrow);
    }
    Value* behind = ir_.CreateICmpUGT(offsets[chunk], ir_.CreateVectorSplat(16, ir_.CreateTrunc(last, i32_)));
    wrong = wrong ? ir_.CreateOr(wrong, behind) : behind;
    Value* low_bits = ir_.CreateAnd(ir_.CreateAdd(offsets[chunk], ir_.CreateVectorSplat(16, first_byte)),
                                    ir_.CreateVectorSplat(16, ir_.getInt32(access.bytes - 1)));
    wrong = ir_.CreateOr(wrong, ir_.CreateICmpNE(low_bits, zeros));
    wrong = ir_.CreateAnd(ir_.CreateBitCast(wrong, i16_), half_bits(scalar(kExec + chunk / 2), chunk));
    wrong_lanes = wrong_lanes ? ir_.CreateOr(wrong_lanes, wrong) : wrong;
  }
  outside = ir_.CreateOr(outside, ir_.CreateICmpNE(wrong_lanes, ir_.getInt16(0)));
  branch_unlikely(outside, elsewhere, here);
  ir_.SetInsertPoint(here);
  if (!access.in_lds) note_write(range);
  return {pointer, offsets};
}

void Emitter::store_row(unsigned row, const ChunkValues& lanes) {
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) ir_.CreateStore(lanes[chunk], buffer_row(row, chunk));
}

// A work-group runs on one thread. Gives what was there.
Value* Emitter::exchange_in_lds(const AtomicAccess& access, AtomicOperation operation, Value* at,
                                const AtomicNumbers& numbers) {
  const llvm::Align align(access.bytes);
  Value* old = ir_.CreateAlignedLoad(numbers.data->getType(), at, align);
  Value* result = nullptr;
  if (const auto exchange = host_exchange(operation))
    result = exchanged(ir_, *exchange, old, numbers.data);
  else
    result = ir_.CreateSelect(ir_.CreateICmpEQ(old, numbers.compared), numbers.data, old);
  ir_.CreateAlignedStore(result, at, align);
  return old;
}

// Where all lanes are on and have one number, and none wants what was there: from the host's registers, and
// done. With a loop over the lanes, which reads both where all had been stored, histograms took 1.1 to 1.2 of
// the time.
void Emitter::exchange_one_number(const AtomicAccess& access, AtomicOperation operation,
                                  const AtomicPlaces& places, Value* exec, const ChunkValues& data,
                                  BasicBlock* done) {
  BasicBlock *all_on = new_block("all_lanes"), *alike = new_block("one_number"), *others = new_block("lanes");
  ir_.CreateCondBr(ir_.CreateICmpEQ(exec, llvm::Constant::getAllOnesValue(exec->getType())), all_on, others);
  ir_.SetInsertPoint(all_on);
  Value* const number = ir_.CreateExtractElement(data[0], uint64_t{0});
  Value *const splat = ir_.CreateVectorSplat(16, number), *different = nullptr;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* bits = ir_.CreateXor(data[chunk], splat);
    different = different ? ir_.CreateOr(different, bits) : bits;
  }
  Value* is_different = ir_.CreateICmpNE(different, llvm::Constant::getNullValue(lanes_));
  ir_.CreateCondBr(ir_.CreateICmpEQ(ir_.CreateBitCast(is_different, i16_), ir_.getInt16(0)), alike, others);
  ir_.SetInsertPoint(alike);
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    for (Value* offset : offsets_of_lanes(ir_, places.offsets[chunk]))
      exchange_in_lds(access, operation,
                      ir_.CreateGEP(ir_.getInt8Ty(), places.pointer, ir_.CreateZExt(offset, i64_)), {number});
  ir_.CreateBr(done);
  ir_.SetInsertPoint(others);
}

// The lowest lane first. Data and results are in the rows of the buffer that the runtime function has them
// in.
void Emitter::exchange_lanes(const AtomicAccess& access, AtomicOperation operation, Value* pointer,
                             Value* exec, bool is_returned) {
  const bool is_wide = access.bytes == 8;
  BasicBlock *before = ir_.GetInsertBlock(), *loop = new_block("lane"), *behind = new_block("behind_lanes");
  Value* none = llvm::Constant::getNullValue(exec->getType());
  ir_.CreateCondBr(ir_.CreateICmpEQ(exec, none), behind, loop);
  ir_.SetInsertPoint(loop);
  llvm::PHINode* lanes = ir_.CreatePHI(exec->getType(), 2);
  Value* lane =
      ir_.CreateZExtOrTrunc(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes, ir_.getTrue()), i64_);
  const auto place = [&](unsigned row) { return ir_.CreateGEP(i32_, buffer_row(row, 0), lane); };
  const auto word = [&](unsigned row) -> Value* { return ir_.CreateLoad(i32_, place(row)); };
  const auto number = [&](unsigned row) -> Value* {
    if (!is_wide) return word(row);
    return ir_.CreateOr(ir_.CreateZExt(word(row), i64_),
                        ir_.CreateShl(ir_.CreateZExt(word(row + 1), i64_), 32));
  };
  Value* at = ir_.CreateGEP(ir_.getInt8Ty(), pointer, ir_.CreateZExt(word(0), i64_));
  Value *data = number(2), *old = nullptr;
  const llvm::Align align(access.bytes);
  const auto order = llvm::AtomicOrdering::SequentiallyConsistent;
  const auto exchange = host_exchange(operation);
  if (access.in_lds) {
    old = exchange_in_lds(access, operation, at, {data, exchange ? nullptr : number(4)});
  } else if (exchange) {
    old = ir_.CreateAtomicRMW(*exchange, at, data, align, order);
  } else {
    Value* pair = ir_.CreateAtomicCmpXchg(at, number(4), data, align, order, order);
    old = ir_.CreateExtractValue(pair, 0);
  }
  if (is_returned) {
    ir_.CreateStore(is_wide ? ir_.CreateTrunc(old, i32_) : old, place(2));
    if (is_wide) ir_.CreateStore(ir_.CreateTrunc(ir_.CreateLShr(old, 32), i32_), place(3));
  }
  Value* rest = ir_.CreateAnd(lanes, ir_.CreateSub(lanes, llvm::ConstantInt::get(exec->getType(), 1)));
  lanes->addIncoming(exec, before);
  lanes->addIncoming(rest, ir_.GetInsertBlock());
  ir_.CreateCondBr(ir_.CreateICmpEQ(rest, none), behind, loop);
  ir_.SetInsertPoint(behind);
}

Emitter::AtomicAccess Emitter::atomic_access(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const isa::Operand& address = *instruction.find(Role::addr);
  const isa::Operand* scalar_base = instruction.find(Role::saddr);
  AtomicAccess access;
  access.bytes = semantics::atomic_shape(instruction.row->opcode).bytes;
  access.in_lds = instruction.row->encoding == isa::Encoding::ds;
  access.is_wide = !access.in_lds && (!scalar_base || scalar_base->code == isa::code::kNull);
  access.base = ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset}));
  if (!access.in_lds && !access.is_wide)
    access.base = ir_.CreateAdd(access.base, scalar_source(*scalar_base, instruction, 64));
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    access.low[chunk] = vgpr(address.vgpr(), chunk);
    if (access.is_wide) access.high[chunk] = vgpr(address.vgpr() + 1, chunk);
  }
  access.has_base = !access.is_wide || replace_by_addends(access.base, access.low, access.high);
  return access;
}

void Emitter::emit_atomic(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  if (instruction.row->encoding == isa::Encoding::mubuf) return emit_buffer_atomic(index);
  const NodeFacts& facts = facts_.nodes[index];
  const semantics::AtomicShape& shape = semantics::atomic_shape(instruction.row->opcode);
  const unsigned dwords = shape.bytes / 4;
  const isa::Operand* result = instruction.find(Role::dst);
  const bool is_returned = result && result->written;
  const unsigned data = instruction.find(Role::data)->vgpr();
  // Of memory both operands of a compare-and-swap are in one group of registers.
  const bool has_second = semantics::has_second_operand(shape.operation);
  const isa::Operand* second = instruction.find(Role::data2);
  const unsigned second_register = second ? second->vgpr() : data + dwords;

  AtomicAccess access = atomic_access(index);
  if (access.in_lds) access.low_bits = possible_offset_bits(routine_, facts_, block_first_, index);
  const bool is_flat = instruction.row->encoding == isa::Encoding::flat;
  Value* exec = whole_mask(kExec);
  std::array<ChunkValues, 2> words{}, second_words{};
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word) {
      words[word][chunk] = vgpr(data + word, chunk);
      if (has_second) second_words[word][chunk] = vgpr(second_register + word, chunk);
    }
  // Where lanes come one after the other.
  const auto fill_buffer = [&](const ChunkValues& low) {
    store_row(0, low);
    for (unsigned word = 0; word < dwords; ++word) {
      store_row(2 + word, words[word]);
      if (has_second) store_row(4 + word, second_words[word]);
    }
  };
  access.slot = access.in_lds ? 0 : next_slot_++;
  atomic_slots_.try_emplace(index, access.slot);
  const Snapshot before = snapshot(index);
  BasicBlock *elsewhere = new_block("anywhere"), *done = new_block("exchanged");
  const bool is_generated = host_exchange(shape.operation) || shape.operation == AtomicOperation::cmpswap;
  if (is_generated) {
    const AtomicPlaces places = atomic_places(access, elsewhere);
    if (access.in_lds && dwords == 1 && !is_returned && is_one_instruction(shape.operation) && !compact_)
      exchange_one_number(access, shape.operation, places, exec, words[0], done);
    fill_buffer(places.offsets);
    exchange_lanes(access, shape.operation, places.pointer, exec, is_returned);
    ir_.CreateBr(done);
  } else {
    ir_.CreateBr(elsewhere);
  }
  ir_.SetInsertPoint(elsewhere);
  fill_buffer(access.low);
  if (access.is_wide) store_row(1, access.high);
  if (!access.in_lds) note_writes();
  auto function = runtime("lockstep_translator_atomic", i1_,
                          {pointer_, pointer_, i32_, i32_, i32_, i64_, i64_, pointer_});
  auto* callee = llvm::cast<llvm::Function>(function.getCallee());
  callee->addRetAttr(llvm::Attribute::ZExt);
  callee->removeFnAttr(llvm::Attribute::Cold);
  Value* fine = ir_.CreateCall(function, {wave(), dispatch_, ir_.getInt32(access.slot),
                                          ir_.getInt32(memory_form(instruction.row->opcode)),
                                          ir_.getInt32(access.in_lds + 2 * access.is_wide + 4 * is_flat),
                                          access.base, ir_.CreateZExt(exec, i64_), buffer_row(0, 0)});
  branch_unlikely(ir_.CreateNot(fine), leave_to_interpreter(before), done);
  ir_.SetInsertPoint(done);
  if (!is_returned) return;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    for (unsigned word = 0; word < dwords; ++word)
      write_lanes(facts, result->vgpr() + word, chunk, ir_.CreateLoad(lanes_, buffer_row(2 + word, chunk)));
}

}  // namespace lockstep::translator

// Instructions of a lane that goes through a loop alone (emit_lane_loop.cpp, emit_divergent_loop.cpp). Its
// registers are element 0 of a chunk and bit 0 of masks; scalar_lanes.h makes plain numbers of them.
#include "engine/translator/lane_by_lane.h"

#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/translator/doubt_checks.h"
#include "engine/translator/operands.h"
#include "engine/translator/pair_folding.h"
#include "engine/translator/runtime.h"
#include "engine/translator/scalar_lanes.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::Value;

Emitter::LaneByLane::LaneByLane(Emitter& emitter, unsigned header, const RegisterSet& touched)
    : e_(emitter),
      header_(header),
      facts_(e_.facts_.blocks[header]),
      touched_(touched),
      mask_type_(e_.routine_.wave_size == 32 ? e_.i32_ : e_.i64_),
      begin_(e_.new_block("lanes_begin")),
      next_lane_(e_.new_block("next_lane")),
      lane_ended_(e_.new_block("lane_ended")),
      ended_(e_.new_block("lanes_ended")),
      failed_(e_.new_block("lanes_failed")) {}

void Emitter::LaneByLane::emit() {
  // Nor are they loaded again before it is known where the wave goes on, for each lane.
  ir_.SetInsertPoint(failed_);
  empty_vector_registers();
  e_.begin_at(header_);
  ir_.SetInsertPoint(e_.lane_entries_.at(header_).block);
  e_.locals_.held = facts_.held;
  e_.locals_.dirty = facts_.dirty;
  exec_ = e_.whole_mask(kExec);
  emit_test();
  ir_.SetInsertPoint(begin_);
  emit_begin();
  llvm::AllocaInst* const left = e_.alloca_of(mask_type_);
  ir_.CreateStore(exec_, left);
  empty_vector_registers();
  ir_.CreateBr(next_lane_);

  const Locals at_header = e_.locals_;
  const unsigned chunks = std::exchange(e_.chunks_, 1);
  std::map<std::pair<unsigned, unsigned>, llvm::AllocaInst*> slots;
  std::swap(slots, e_.slots_);
  emit_next_lane(left);
  e_.chunks_ = chunks;
  std::swap(slots, e_.slots_);
  ir_.SetInsertPoint(ended_);
  empty_vector_registers();
  e_.forget_values();
  e_.locals_ = at_header;
  emit_ended();
}

// The wave's values, which are in memory then until no lane is left: what a lane has in each round went
// through memory where other values took all of the host's registers (half of a sum's time in spmv).
void Emitter::LaneByLane::empty_vector_registers() {
  const unsigned host_registers = e_.has_masked_gathers_ ? 32 : 16;
  std::string clobbered;
  for (unsigned i = 0; i < host_registers; ++i)
    clobbered += (i == 0 ? "~{xmm" : ",~{xmm") + std::to_string(i) + "}";
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), false);
  ir_.CreateCall(llvm::InlineAsm::get(type, "", clobbered, true), {});
}

// `left`: the lanes that are not done.
void Emitter::LaneByLane::emit_next_lane(llvm::AllocaInst* left) {
  ir_.SetInsertPoint(next_lane_);
  Value* lanes_left = ir_.CreateLoad(mask_type_, left);
  lane_ = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes_left, ir_.getTrue());
  wide_lane_ = ir_.CreateZExt(lane_, e_.i64_);
  emit_lane();
  ir_.SetInsertPoint(lane_ended_);
  Value* others_than = lanes_done_ ? ir_.CreateNot(lanes_done_) : ir_.CreateSub(lanes_left, number_of(1));
  Value* others = ir_.CreateAnd(lanes_left, others_than);
  ir_.CreateStore(others, left);
  ir_.CreateCondBr(ir_.CreateICmpNE(others, number_of(0)), next_lane_, ended_);
}

Value* Emitter::LaneByLane::word_of(unsigned number) {
  return ir_.CreateLoad(e_.i32_, e_.lane_in_row(rows_, number, wide_lane_));
}

void Emitter::LaneByLane::set_word(unsigned number) {
  Value* value = element_of_lane(e_.vgpr(number, 0));
  ir_.CreateStore(value, e_.lane_in_row(rows_, number, wide_lane_));
}

void Emitter::LaneByLane::set_lanes_of_wave(unsigned number) {
  for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk)
    e_.set_vgpr(number, chunk, ir_.CreateLoad(e_.lanes_, e_.row(rows_, number, chunk)));
}

void Emitter::LaneByLane::begin_nodes(unsigned block) {
  e_.begin_at(block);
  e_.locals_.held = touched_;
  sums_.clear();
}

Value* Emitter::LaneByLane::element_of_lane(Value* lanes) {
  Value* element = ir_.CreateExtractElement(lanes, uint64_t{0});
  mark_scalar_lane(element);
  return element;
}

Value* Emitter::LaneByLane::bit_of_lane(Value* mask) {
  Value* bit = ir_.CreateTrunc(mask, e_.i1_);
  mark_scalar_lane(bit);
  return bit;
}

Value* Emitter::LaneByLane::lane_of_element(Value* element) {
  return ir_.CreateInsertElement(llvm::Constant::getNullValue(e_.lanes_), element, uint64_t{0});
}

bool Emitter::LaneByLane::emit_node(unsigned index, const LaneRange* range) {
  const Node& node = e_.routine_.nodes[index];
  const Effects& effects = e_.facts_.nodes[index].effects;
  if (node.kind == NodeKind::nothing || node.kind == NodeKind::branch) return false;
  if (writes_exec(effects, e_.routine_.wave_size)) e_.merge_waiting(0);
  switch (node.kind) {
    case NodeKind::scalar_alu:
      e_.emit_scalar(index);
      for (unsigned r = kFirstScalar; r < kRegisters; ++r)
        if (effects.writes[r]) sums_.erase(r);
      // A carry of a lane that was off is 0, whatever its addends are.
      if (effects.writes[kExec]) sums_.clear();
      return false;
    case NodeKind::global:
      emit_load(index, range);
      return false;
    case NodeKind::scratch:
      emit_scratch(index);
      return false;
    default:
      emit_vector(index);
      return std::ranges::any_of(halves_of(node.instruction), [](const Half& half) {
        return vector_signature(half.row->base).takes_mode;
      });
  }
}

// Where the lane is in doubt.
void Emitter::LaneByLane::check_lane() {
  BasicBlock* certain = e_.new_block("lane_certain");
  Value* doubt = element_of_lane(ir_.CreateLoad(e_.lanes_, e_.doubt_[0]));
  Value* is_doubted = ir_.CreateICmpNE(doubt, ir_.getInt32(0));
  if (auto* comparison = llvm::dyn_cast<llvm::Instruction>(is_doubted)) mark_doubt_of_rounds(*comparison);
  e_.branch_unlikely(is_doubted, failed_, certain);
  ir_.SetInsertPoint(certain);
}

void Emitter::LaneByLane::set_pair(unsigned low, Value* number) {
  e_.set_vgpr(low, 0, lane_of_element(ir_.CreateTrunc(number, e_.i32_)));
  e_.set_vgpr(low + 1, 0, lane_of_element(ir_.CreateTrunc(ir_.CreateLShr(number, 32), e_.i32_)));
}

void Emitter::LaneByLane::emit_vector(unsigned index) {
  const isa::Instruction& instruction = e_.routine_.nodes[index].instruction;
  const isa::Opcode opcode = instruction.row->base;
  const bool is_low = opcode == isa::Opcode::v_add_co_u32, is_high = opcode == isa::Opcode::v_add_co_ci_u32;
  std::array<Value*, 2> addends{};
  std::optional<LaneSum> low;
  if ((is_low || is_high) && !instruction.clamp && !instruction.row_y) {
    const isa::Role roles[] = {isa::Role::src0, isa::Role::src1};
    for (unsigned i = 0; i < 2; ++i)
      addends[i] = element_of_lane(e_.source_word(*instruction.find(roles[i]), instruction, 0, 0));
    if (const isa::Operand* carry = instruction.find(isa::Role::src2); is_high && carry)
      if (const auto source = source_of(*carry, instruction); source && !source->is_constant)
        if (const auto found = sums_.find(source->first); found != sums_.end()) low = found->second;
  }
  e_.run_ = Run{};
  e_.run_.nodes = {index};
  e_.emit_vector(index, 0);
  const auto masks = e_.run_.masks;
  e_.run_ = Run{};
  for (const auto& [number, chunks] : masks) {
    e_.set_scalar(number, ir_.CreateZExt(chunks[0].bits, e_.i32_));
    if (e_.mask_words() == 2) e_.set_scalar(number + 1, ir_.getInt32(0));
    sums_.erase(number);
  }
  if (masks.contains(kExec)) sums_.clear();
  if (!addends[0]) return;
  const unsigned result = instruction.find(isa::Role::dst)->vgpr();
  if (is_low) {
    if (const auto carry = scalar_destination(*instruction.find(isa::Role::dst2)))
      sums_[*carry] = {addends, result, e_.vgpr(result, 0)};
  } else if (low) {
    // Both halves are of one sum, whose addends may change places in one of them.
    if (llvm::isa<llvm::Constant>(low->addends[0]) != llvm::isa<llvm::Constant>(addends[0]))
      std::swap(addends[0], addends[1]);
    Value* sum = ir_.CreateAdd(join_words(ir_, low->addends[0], addends[0]),
                               join_words(ir_, low->addends[1], addends[1]));
    if (low->result != result && e_.vgpr(low->result, 0) == low->sum)
      e_.set_vgpr(low->result, 0, lane_of_element(ir_.CreateTrunc(sum, e_.i32_)));
    e_.set_vgpr(result, 0, lane_of_element(ir_.CreateTrunc(ir_.CreateLShr(sum, 32), e_.i32_)));
  }
}

// Offsets from its begin below `span` may be loaded from.
void Emitter::LaneByLane::set_range(const LaneRange& range, unsigned load) {
  const uint64_t bytes = isa::access_shape(e_.routine_.nodes[load].instruction.row->opcode).bytes;
  const auto [begin, end] = e_.last_range(range.slot);
  Value* size = ir_.CreateSub(end, begin);
  Value* span = ir_.CreateSelect(ir_.CreateICmpUGE(size, ir_.getInt64(bytes)),
                                 ir_.CreateSub(size, ir_.getInt64(bytes - 1)), ir_.getInt64(0));
  ir_.CreateStore(begin, range.begin);
  ir_.CreateStore(span, range.span);
}

// How many rounds may load, the first one from the pair's address.
Value* Emitter::LaneByLane::rounds_of_walk(unsigned load, Value* pair, const LaneRange& range) {
  const isa::Instruction& instruction = e_.routine_.nodes[load].instruction;
  const uint64_t bytes = isa::access_shape(instruction.row->opcode).bytes;
  Value* address = ir_.CreateAdd(pair, ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset})));
  test_range(load, address, range);
  Value* last = ir_.CreateSub(ir_.CreateLoad(e_.i64_, range.span), ir_.getInt64(1));
  Value* behind = ir_.CreateSub(last, ir_.CreateSub(address, ir_.CreateLoad(e_.i64_, range.begin)));
  return ir_.CreateAdd(ir_.CreateUDiv(behind, ir_.getInt64(bytes)), ir_.getInt64(1));
}

// Goes on where the load is allowed. Gives where it is, counted from the range's begin.
Value* Emitter::LaneByLane::test_range(unsigned load, Value* address, const LaneRange& range) {
  BasicBlock *look_up = e_.new_block("look_up"), *found = e_.new_block("found"),
             *allowed = e_.new_block("allowed");
  Value* begin = ir_.CreateLoad(e_.i64_, range.begin);
  Value* at = ir_.CreateSub(address, begin);
  e_.branch_unlikely(ir_.CreateICmpUGE(at, ir_.CreateLoad(e_.i64_, range.span)), look_up, allowed);
  ir_.SetInsertPoint(look_up);
  const uint64_t bytes = isa::access_shape(e_.routine_.nodes[load].instruction.row->opcode).bytes;
  Value* place = ir_.CreateAdd(begin, at);
  ir_.CreateCondBr(e_.look_range_up(range.slot, place, bytes, kRead), found, failed_);
  ir_.SetInsertPoint(found);
  emit_found(range, load, allowed);
  ir_.SetInsertPoint(allowed);
  return ir_.CreateGEP(ir_.getInt8Ty(), ir_.CreateIntToPtr(begin, e_.pointer_), at);
}

void Emitter::LaneByLane::emit_found(const LaneRange& range, unsigned load, BasicBlock* allowed) {
  set_range(range, load);
  ir_.CreateBr(allowed);
}

Value* Emitter::LaneByLane::address_of(const isa::Instruction& instruction) {
  const GlobalOperands operands = global_operands(instruction);
  Value* address = ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset}));
  const auto word_of_address = [&](unsigned word) {
    return ir_.CreateZExt(element_of_lane(e_.vgpr(operands.address.vgpr() + word, 0)), e_.i64_);
  };
  Value* offset = word_of_address(0);
  if (operands.base)
    address = ir_.CreateAdd(address, e_.scalar_source(*operands.base, instruction, 64));
  else
    offset = ir_.CreateOr(offset, ir_.CreateShl(word_of_address(1), 32));
  return ir_.CreateAdd(address, offset);
}

std::vector<Value*> Emitter::LaneByLane::load_words(const isa::AccessShape& shape, Value* pointer) {
  std::vector<Value*> words;
  if (shape.bytes < 4) {
    llvm::Type* part = ir_.getIntNTy(8 * shape.bytes);
    words.push_back(ir_.CreateZExt(ir_.CreateAlignedLoad(part, pointer, llvm::Align(1)), e_.i32_));
  }
  // Two dwords at once: waves on other threads may write both, and programs read a value with its flag so.
  for (unsigned word = 0; shape.bytes >= 4 && word < shape.registers();) {
    const bool is_pair = word + 1 < shape.registers();
    Value* all = ir_.CreateAlignedLoad(
        is_pair ? e_.i64_ : e_.i32_, ir_.CreateConstInBoundsGEP1_64(e_.i32_, pointer, word), llvm::Align(1));
    words.push_back(is_pair ? ir_.CreateTrunc(all, e_.i32_) : all);
    if (is_pair) words.push_back(ir_.CreateTrunc(ir_.CreateLShr(all, 32), e_.i32_));
    word += is_pair ? 2 : 1;
  }
  return words;
}

// `range`: null where it has been tested.
void Emitter::LaneByLane::emit_load(unsigned index, const LaneRange* range) {
  const isa::Instruction& instruction = e_.routine_.nodes[index].instruction;
  const GlobalOperands operands = global_operands(instruction);
  const isa::AccessShape& shape = operands.shape;
  Value* address = address_of(instruction);
  std::vector<Value*> before;
  for (unsigned word = 0; word < shape.registers(); ++word)
    before.push_back(shape.part == isa::RegisterPart::whole ? nullptr : e_.vgpr(operands.data + word, 0));
  BasicBlock *test = e_.new_block("lane_load"), *loaded = e_.new_block("loaded");
  Value* is_on = bit_of_lane(e_.scalar(kExec));
  BasicBlock* from = ir_.GetInsertBlock();
  ir_.CreateCondBr(is_on, test, loaded);
  ir_.SetInsertPoint(test);
  Value* pointer = range ? test_range(index, address, *range) : ir_.CreateIntToPtr(address, e_.pointer_);
  BasicBlock* load = ir_.GetInsertBlock();
  std::vector<Value*> words = load_words(shape, pointer);
  ir_.CreateBr(loaded);
  ir_.SetInsertPoint(loaded);
  for (Value*& word : words) {
    llvm::PHINode* value = ir_.CreatePHI(e_.i32_, 2);
    value->addIncoming(ir_.getInt32(0), from);
    value->addIncoming(word, load);
    word = value;
  }
  for (unsigned word = 0; word < words.size(); ++word) {
    Value* lanes = lane_of_element(words[word]);
    if (shape.bytes < 4) lanes = e_.with_part(shape, lanes, before[word]);
    e_.write_lanes(e_.facts_.nodes[index], operands.data + word, 0, lanes);
  }
}

std::map<unsigned, Emitter::LaneByLane::LaneRange> Emitter::LaneByLane::lane_ranges(
    const std::vector<unsigned>& loads) {
  std::map<unsigned, LaneRange> ranges;
  for (unsigned n : loads) {
    const LaneRange range{e_.next_slot_++, e_.alloca_of(e_.i64_), e_.alloca_of(e_.i64_)};
    set_range(range, n);
    ranges.emplace(n, range);
  }
  return ranges;
}

// Where the lane's own scratch has what it accesses, which has room for any access. Of a lane that is off
// anywhere.
Value* Emitter::LaneByLane::place_in_array(unsigned index, Value* is_on) {
  const isa::Instruction& instruction = e_.routine_.nodes[index].instruction;
  const uint32_t bytes = isa::access_shape(instruction.row->opcode).bytes;
  const isa::Operand* address = instruction.find(isa::Role::addr);
  Value* offset = ir_.getInt32(static_cast<uint32_t>(instruction.offset));
  if (address && address->is_vgpr())
    offset = ir_.CreateAdd(offset, element_of_lane(e_.vgpr(address->vgpr(), 0)));
  Value* is_unaligned = ir_.CreateICmpNE(ir_.CreateAnd(offset, 3), ir_.getInt32(0));
  Value* last = ir_.CreateSub(e_.scratch_bytes_, ir_.getInt32(bytes));
  Value* is_outside = ir_.CreateICmpUGT(offset, last);
  BasicBlock* inside = e_.new_block("lane_scratch");
  e_.branch_unlikely(ir_.CreateAnd(is_on, ir_.CreateOr(is_unaligned, is_outside)), failed_, inside);
  ir_.SetInsertPoint(inside);
  Value* place = ir_.CreateSelect(is_on, offset, ir_.getInt32(0));
  return ir_.CreateGEP(ir_.getInt8Ty(), scratch_array_, ir_.CreateZExt(place, e_.i64_));
}

void Emitter::LaneByLane::emit_scratch(unsigned index) {
  const isa::Instruction& instruction = e_.routine_.nodes[index].instruction;
  const isa::AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == isa::AccessShape::Kind::load;
  const unsigned data = instruction.find(is_load ? isa::Role::dst : isa::Role::data)->vgpr();
  Value* is_on = bit_of_lane(e_.scalar(kExec));
  Value* in_array = scratch_array_ ? place_in_array(index, is_on) : nullptr;
  for (unsigned word = 0; word < shape.registers(); ++word) {
    if (e_.facts_.nodes[index].unused_words >> word & 1) continue;
    Value* place = in_array ? ir_.CreateConstInBoundsGEP1_64(e_.i32_, in_array, word)
                            : scratch_.at(*constant_scratch_offset(instruction) + 4 * word);
    Value* memory = ir_.CreateLoad(e_.i32_, place);
    if (is_load) {
      e_.write_lanes(e_.facts_.nodes[index], data + word, 0, lane_of_element(memory));
    } else {
      Value* stored = element_of_lane(e_.vgpr(data + word, 0));
      ir_.CreateStore(ir_.CreateSelect(is_on, stored, memory), place);
    }
  }
}

}  // namespace lockstep::translator

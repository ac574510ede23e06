// Loops through which a wave goes lane by lane (lane_loops.h). A lane's registers are element 0 of a chunk
// and bit 0 of masks; scalar_lanes.h makes plain numbers of them.
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"
#include "engine/translator/scalar_lanes.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// So often lanes may be given up before their end. Then the loop is the wave's, until it leaves.
constexpr uint32_t kMostFailures = 2;

}  // namespace

llvm::BasicBlock* Emitter::way_into(unsigned block) {
  if (const auto compact = compact_loops_.find(block); compact != compact_loops_.end()) {
    const LaneEntry& entry = lane_entry(block);
    if (std::ranges::count(compact->second.blocks, block_) == 0)
      ir_.CreateStore(ir_.getInt32(kRoundsBefore), entry.rounds_left);
    return entry.block;
  }
  const auto divergent = divergent_loops_.find(block);
  if (divergent != divergent_loops_.end()) {
    if (std::ranges::count(divergent->second.blocks, block_) != 0) return blocks_[block];
  } else if (!lane_loops_.contains(block) || block == block_) {
    return blocks_[block];
  }
  return lane_entry(block).block;
}

Emitter::LaneEntry& Emitter::lane_entry(unsigned block) {
  LaneEntry& entry = lane_entries_[block];
  if (!entry.block) {
    entry.block = new_block("lane_loop");
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    entry.failures = at_entry.CreateAlloca(i32_);
    at_entry.CreateStore(at_entry.getInt32(0), entry.failures);
    entry.rounds_left = at_entry.CreateAlloca(i32_);
    at_entry.CreateStore(at_entry.getInt32(kRoundsBefore), entry.rounds_left);
  }
  return entry;
}

Value* Emitter::element_of_lane(Value* lanes) {
  Value* element = ir_.CreateExtractElement(lanes, uint64_t{0});
  mark_scalar_lane(element);
  return element;
}

Value* Emitter::bit_of_lane(Value* mask) {
  Value* bit = ir_.CreateTrunc(mask, i1_);
  mark_scalar_lane(bit);
  return bit;
}

Value* Emitter::lane_of_element(Value* element) {
  return ir_.CreateInsertElement(llvm::Constant::getNullValue(lanes_), element, uint64_t{0});
}

void Emitter::forget_values() {
  locals_ = Locals{};
  half_masks_.clear();
  expanded_masks_.clear();
  address_facts_.clear();
  low_halves_.clear();
  address_sums_.clear();
  scalar_loads_ = {};
  scratch_is_tested_ = false;
}

llvm::AllocaInst* Emitter::alloca_of(llvm::Type* type) {
  return llvm::IRBuilder<>(entry_, entry_->begin()).CreateAlloca(type);
}

Emitter::LaneRows Emitter::rows_of(const std::vector<unsigned>& registers) {
  LaneRows rows;
  rows.chunks = chunks_;
  for (unsigned number : registers) rows.places.emplace(number, static_cast<unsigned>(rows.places.size()));
  rows.type = llvm::ArrayType::get(lanes_, std::max<size_t>(1, rows.places.size()) * chunks_);
  rows.memory = alloca_of(rows.type);
  for (unsigned number : registers)
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      ir_.CreateStore(vgpr(number, chunk), row(rows, number, chunk));
  return rows;
}

Value* Emitter::row(const LaneRows& rows, unsigned number, unsigned chunk) {
  return place_in(rows.memory, rows.places.at(number) * rows.chunks + chunk);
}

Value* Emitter::lane_in_row(const LaneRows& rows, unsigned number, Value* lane) {
  return ir_.CreateGEP(i32_, row(rows, number, 0), lane);
}

std::map<unsigned, Emitter::LaneRange> Emitter::lane_ranges(const std::vector<unsigned>& loads) {
  std::map<unsigned, LaneRange> ranges;
  for (unsigned n : loads) {
    const LaneRange range{next_slot_++, alloca_of(i64_), alloca_of(i64_)};
    set_lane_range(range, n);
    ranges.emplace(n, range);
  }
  return ranges;
}

bool Emitter::emit_lane_node(unsigned index, const LaneRange* range, BasicBlock* failed) {
  const Node& node = routine_.nodes[index];
  const Effects& effects = facts_.nodes[index].effects;
  if (node.kind == NodeKind::nothing || node.kind == NodeKind::branch) return false;
  if (writes_exec(effects, routine_.wave_size)) merge_waiting(0);
  switch (node.kind) {
    case NodeKind::scalar_alu:
      emit_scalar(index);
      for (unsigned r = kFirstScalar; r < kRegisters; ++r)
        if (effects.writes[r]) lane_sums_.erase(r);
      // A carry of a lane that was off is 0, whatever its addends are.
      if (effects.writes[kExec]) lane_sums_.clear();
      return false;
    case NodeKind::global:
      emit_lane_load(index, range, failed);
      return false;
    case NodeKind::scratch:
      emit_lane_scratch(index);
      return false;
    default:
      emit_lane_vector(index);
      return std::ranges::any_of(halves_of(node.instruction), [](const Half& half) {
        return vector_signature(half.row->base).takes_mode;
      });
  }
}

// Where the lane is in doubt.
void Emitter::check_lane(BasicBlock* failed) {
  BasicBlock* certain = new_block("lane_certain");
  Value* doubt = element_of_lane(ir_.CreateLoad(lanes_, doubt_[0]));
  branch_unlikely(ir_.CreateICmpNE(doubt, ir_.getInt32(0)), failed, certain);
  ir_.SetInsertPoint(certain);
}

// Behind one of these the wave may come to another one, which is then among them, too.
void Emitter::emit_lane_loops() {
  std::set<unsigned> emitted;
  for (auto each = lane_entries_.begin(); each != lane_entries_.end();) {
    const unsigned block = each->first;
    if (!emitted.insert(block).second) {
      ++each;
      continue;
    }
    if (compact_loops_.contains(block))
      emit_compact_loop(block);
    else if (divergent_loops_.contains(block))
      emit_divergent_loop(block);
    else
      emit_lane_loop(block);
    each = lane_entries_.begin();
  }
}

// All lanes that are on at the loop's header, one after the other, up to the round behind which the wave's
// budget is used up. Nothing of the wave changes before the last one is done, so that where a lane may fault
// or is in doubt all of this is forgotten and the wave goes through the loop as any other.
void Emitter::emit_lane_loop(unsigned index) {
  const LaneLoop& loop = lane_loops_.at(index);
  const Block& block = routine_.blocks[index];
  const BlockFacts& facts = facts_.blocks[index];
  const RegisterSet needed = live_out(block, facts_).all();
  llvm::Type* mask_type = routine_.wave_size == 32 ? i32_ : i64_;
  const auto number_of = [&](uint64_t value) { return llvm::ConstantInt::get(mask_type, value); };
  const LaneEntry& entry = lane_entries_.at(index);
  BasicBlock *begin = new_block("lanes_begin"), *next_lane = new_block("next_lane"),
             *round = new_block("lane_round"), *lane_ended = new_block("lane_ended"),
             *ended = new_block("lanes_ended"), *failed = new_block("lanes_failed");
  block_ = index;
  block_first_ = block.first;
  block_last_ = block.last;
  plan_ = {};
  is_regular_version_ = false;
  ir_.SetInsertPoint(entry.block);
  forget_values();
  locals_.held = facts.held;
  locals_.dirty = facts.dirty;
  Value* exec = whole_mask(kExec);
  Value* failures = ir_.CreateLoad(i32_, entry.failures);
  Value* is_possible = ir_.CreateAnd(ir_.CreateICmpULT(failures, ir_.getInt32(kMostFailures)),
                                     ir_.CreateICmpNE(exec, number_of(0)));
  for (unsigned number : loop.zero_while_on) {
    Value* of_lanes_on = ir_.CreateAnd(whole_mask(number), exec);
    is_possible = ir_.CreateAnd(is_possible, ir_.CreateICmpEQ(of_lanes_on, number_of(0)));
  }
  if (!loop.strides.empty()) {
    // Lanes that share a row take an element each: a load of the wave is all of theirs. The first two tell.
    Value* are_on = ir_.CreateICmpEQ(ir_.CreateAnd(exec, number_of(3)), number_of(3));
    Value* is_shared = are_on;
    for (unsigned n : loop.strides) {
      const GlobalOperands operands = global_operands(routine_.nodes[n].instruction);
      Value* addresses = vgpr(operands.address.vgpr(), 0);
      Value* apart = ir_.CreateSub(ir_.CreateExtractElement(addresses, uint64_t{1}),
                                   ir_.CreateExtractElement(addresses, uint64_t{0}));
      is_shared = ir_.CreateAnd(is_shared, ir_.CreateICmpEQ(apart, ir_.getInt32(operands.shape.bytes)));
    }
    is_possible = ir_.CreateAnd(is_possible, ir_.CreateNot(is_shared));
  }
  ir_.CreateCondBr(is_possible, begin, blocks_[index]);

  ir_.SetInsertPoint(failed);
  ir_.CreateStore(ir_.CreateAdd(ir_.CreateLoad(i32_, entry.failures), ir_.getInt32(1)), entry.failures);
  ir_.CreateBr(blocks_[index]);

  ir_.SetInsertPoint(begin);
  Value* size = ir_.getInt64(block.last - block.first);
  Value* budget = ir_.CreateLoad(i64_, budget_);
  Value* most_rounds = ir_.CreateBinaryIntrinsic(
      llvm::Intrinsic::umax, ir_.getInt64(1),
      ir_.CreateUDiv(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir_.getInt64(0),
                                               ir_.CreateAdd(budget, ir_.CreateSub(size, ir_.getInt64(1)))),
                     size));
  std::vector<unsigned> registers, numbers;
  RegisterSet written;
  for (unsigned n = block.first; n < block.last; ++n) written |= facts_.nodes[n].effects.writes;
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!loop.touched[r]) continue;
    if (!is_vgpr(r)) {
      if (!loop.mask_registers[r]) numbers.push_back(r);
    } else if (facts.live_in.all()[r] || needed[r]) {
      registers.push_back(r);
    }
  }
  const LaneRows rows = rows_of(registers);
  // Addresses stay whole from round to round.
  std::map<unsigned, llvm::AllocaInst*> pairs;  // by the low half
  for (unsigned n : loop.loads) {
    const GlobalOperands operands = global_operands(routine_.nodes[n].instruction);
    const unsigned low = operands.address.vgpr();
    if (operands.base || !rows.contains(low) || !rows.contains(low + 1)) continue;
    if (pairs.contains(low) || pairs.contains(low - 1) || pairs.contains(low + 1)) continue;
    pairs[low] = alloca_of(i64_);
  }
  // Masks, of lanes that are off as they are, and numbers as the lane that goes on for longest leaves them.
  std::map<unsigned, Value*> masks_before;
  std::map<unsigned, llvm::AllocaInst*> masks_behind, numbers_behind;
  for (unsigned number : loop.masks) {
    masks_before[number] = whole_mask(number);
    masks_behind[number] = alloca_of(mask_type);
    ir_.CreateStore(ir_.CreateAnd(masks_before[number], ir_.CreateNot(exec)), masks_behind[number]);
  }
  std::map<unsigned, Value*> numbers_before;
  for (unsigned number : numbers) {
    numbers_before[number] = scalar(number);
    numbers_behind[number] = alloca_of(i32_);
    ir_.CreateStore(numbers_before[number], numbers_behind[number]);
  }
  llvm::AllocaInst *rounds_left = alloca_of(i64_), *longest = alloca_of(i64_), *left = alloca_of(mask_type);
  ir_.CreateStore(ir_.getInt64(0), longest);
  ir_.CreateStore(exec, left);
  const std::map<unsigned, LaneRange> ranges = lane_ranges(loop.loads);
  ir_.CreateBr(next_lane);

  const Locals at_header = locals_;
  const unsigned chunks = std::exchange(chunks_, 1);
  std::map<std::pair<unsigned, unsigned>, llvm::AllocaInst*> slots;
  std::swap(slots, slots_);

  ir_.SetInsertPoint(next_lane);
  Value* lanes_left = ir_.CreateLoad(mask_type, left);
  Value* lane = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes_left, ir_.getTrue());
  Value* wide_lane = ir_.CreateZExt(lane, i64_);
  const auto place_in_row = [&](unsigned number) { return lane_in_row(rows, number, wide_lane); };
  for (unsigned r = 0; r < kVgprs; ++r) {
    if (!loop.touched[r]) continue;
    Value* value = llvm::Constant::getNullValue(lanes_);
    if (rows.contains(r)) value = lane_of_element(ir_.CreateLoad(i32_, place_in_row(r)));
    ir_.CreateStore(value, slot(r));
  }
  for (const auto& [low, pair] : pairs)
    ir_.CreateStore(
        joined(ir_.CreateLoad(i32_, place_in_row(low)), ir_.CreateLoad(i32_, place_in_row(low + 1))), pair);
  for (unsigned number : loop.masks) {
    Value* bit = ir_.CreateAnd(ir_.CreateLShr(masks_before[number], lane), number_of(1));
    ir_.CreateStore(ir_.CreateTrunc(bit, i32_), slot(number));
    if (mask_words() == 2) ir_.CreateStore(ir_.getInt32(0), slot(number + 1));
  }
  for (unsigned number : numbers) ir_.CreateStore(numbers_before[number], slot(number));
  // Loads that go on by one element in each round are tested for all of them.
  Value* lane_rounds = most_rounds;
  for (unsigned n : loop.walks) {
    const unsigned low = global_operands(routine_.nodes[n].instruction).address.vgpr();
    if (pairs.contains(low))
      lane_rounds = ir_.CreateBinaryIntrinsic(
          llvm::Intrinsic::umin, lane_rounds,
          rounds_of_walk(n, ir_.CreateLoad(i64_, pairs.at(low)), ranges.at(n), failed));
  }
  ir_.CreateStore(lane_rounds, rounds_left);
  ir_.CreateBr(round);

  ir_.SetInsertPoint(round);
  forget_values();
  locals_.held = loop.touched;
  set_scalar(kExec, ir_.getInt32(1));
  for (unsigned number : loop.zero_while_on) set_scalar(number, ir_.getInt32(0));
  lane_sums_.clear();
  for (const auto& [low, pair] : pairs) set_pair(low, ir_.CreateLoad(i64_, pair));
  ir_.CreateStore(llvm::Constant::getNullValue(lanes_), doubt_[0]);
  bool casts_doubt = false;
  for (unsigned n = block.first; n < block.last; ++n) {
    const Node& node = routine_.nodes[n];
    const LaneRange* range = nullptr;
    if (node.kind == NodeKind::global) {
      const bool is_tested = std::ranges::count(loop.walks, n) != 0 &&
                             pairs.contains(global_operands(node.instruction).address.vgpr());
      if (!is_tested) range = &ranges.at(n);
    }
    casts_doubt |= emit_lane_node(n, range, failed);
  }
  merge_waiting(0);
  Value* goes_on = bit_of_lane(scalar(kExec));
  for (const auto& [low, pair] : pairs)
    ir_.CreateStore(joined(element_of_lane(vgpr(low, 0)), element_of_lane(vgpr(low + 1, 0))), pair);
  flush_locals(locals_);
  Value* still_left = ir_.CreateSub(ir_.CreateLoad(i64_, rounds_left), ir_.getInt64(1));
  ir_.CreateStore(still_left, rounds_left);
  BasicBlock *on = new_block("lane_goes_on"), *off = new_block("lane_off"), *cut = new_block("lane_cut");
  ir_.CreateCondBr(goes_on, on, off);
  ir_.SetInsertPoint(on);
  if (casts_doubt) check_lane(failed);
  ir_.CreateCondBr(ir_.CreateICmpNE(still_left, ir_.getInt64(0)), round, cut);
  // A lane that is off is read as one that has left the loop; the others are in it.
  const RegisterSet read_of_left =
      facts_.blocks[static_cast<unsigned>(block.next)].live_in.all() | facts.live_in.off;
  const auto end_lane = [&](bool has_left) {
    forget_values();
    locals_.held = loop.touched;
    for (const auto& [low, pair] : pairs) set_pair(low, ir_.CreateLoad(i64_, pair));
    for (const auto& [number, place] : rows.places)
      if (written[number] && (!has_left || read_of_left[number]))
        ir_.CreateStore(element_of_lane(vgpr(number, 0)), place_in_row(number));
    for (unsigned number : loop.masks) {
      if (has_left && number == kExec) continue;
      Value* all = ir_.CreateLoad(mask_type, masks_behind[number]);
      const auto known = loop.bits_when_left.find(number);
      Value* bit = has_left && known != loop.bits_when_left.end()
                       ? number_of(known->second)
                       : ir_.CreateZExt(bit_of_lane(ir_.CreateLoad(i32_, slot(number))), mask_type);
      ir_.CreateStore(ir_.CreateOr(all, ir_.CreateShl(bit, lane)), masks_behind[number]);
    }
    Value* count = ir_.CreateSub(lane_rounds, ir_.CreateLoad(i64_, rounds_left));
    Value* count_before = ir_.CreateLoad(i64_, longest);
    Value* is_longer = ir_.CreateICmpUGT(count, count_before);
    ir_.CreateStore(ir_.CreateSelect(is_longer, count, count_before), longest);
    for (unsigned number : numbers)
      if (written[number])
        ir_.CreateStore(ir_.CreateSelect(is_longer, ir_.CreateLoad(i32_, slot(number)),
                                         ir_.CreateLoad(i32_, numbers_behind[number])),
                        numbers_behind[number]);
    ir_.CreateBr(lane_ended);
  };
  BasicBlock* used_up = new_block("lane_used_up");
  ir_.SetInsertPoint(cut);
  ir_.CreateCondBr(ir_.CreateICmpEQ(lane_rounds, most_rounds), used_up, failed);
  ir_.SetInsertPoint(used_up);
  end_lane(false);
  ir_.SetInsertPoint(off);
  if (casts_doubt) check_lane(failed);
  end_lane(true);

  ir_.SetInsertPoint(lane_ended);
  Value* others = ir_.CreateAnd(lanes_left, ir_.CreateSub(lanes_left, number_of(1)));
  ir_.CreateStore(others, left);
  ir_.CreateCondBr(ir_.CreateICmpNE(others, number_of(0)), next_lane, ended);

  chunks_ = chunks;
  std::swap(slots, slots_);
  ir_.SetInsertPoint(ended);
  forget_values();
  locals_ = at_header;
  for (const auto& [number, place] : rows.places)
    for (unsigned chunk = 0; written[number] && chunk < chunks_; ++chunk)
      set_vgpr(number, chunk, ir_.CreateLoad(lanes_, row(rows, number, chunk)));
  for (unsigned number : loop.masks) {
    Value* mask = ir_.CreateLoad(mask_type, masks_behind[number]);
    set_scalar(number, ir_.CreateTrunc(mask, i32_));
    if (mask_words() == 2) set_scalar(number + 1, ir_.CreateTrunc(ir_.CreateLShr(mask, 32), i32_));
  }
  for (unsigned number : numbers)
    if (written[number]) set_scalar(number, ir_.CreateLoad(i32_, numbers_behind[number]));
  Value* budget_left = ir_.CreateSub(budget, ir_.CreateMul(ir_.CreateLoad(i64_, longest), size));
  ir_.CreateStore(budget_left, budget_);
  Value* any_on = branch_condition(routine_.nodes[block.last - 1]);
  for (int successor : {block.taken, block.next})
    if (routine_.blocks[static_cast<unsigned>(successor)].piece == piece_)
      hold_all(facts_.blocks[static_cast<unsigned>(successor)].held);
  flush_locals(locals_);
  BasicBlock *again = new_block("lanes_again"), *out = new_block("lanes_out");
  ir_.CreateCondBr(any_on, again, out);
  ir_.SetInsertPoint(again);
  go_to(block.taken, budget_left, true);
  ir_.SetInsertPoint(out);
  go_to(block.next, budget_left, false);
}

Value* Emitter::joined(Value* low, Value* high) {
  return ir_.CreateOr(ir_.CreateZExt(low, i64_), ir_.CreateShl(ir_.CreateZExt(high, i64_), 32));
}

void Emitter::set_pair(unsigned low, Value* number) {
  set_vgpr(low, 0, lane_of_element(ir_.CreateTrunc(number, i32_)));
  set_vgpr(low + 1, 0, lane_of_element(ir_.CreateTrunc(ir_.CreateLShr(number, 32), i32_)));
}

void Emitter::emit_lane_vector(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const isa::Opcode opcode = instruction.row->base;
  const bool is_low = opcode == isa::Opcode::v_add_co_u32, is_high = opcode == isa::Opcode::v_add_co_ci_u32;
  std::array<Value*, 2> addends{};
  std::optional<LaneSum> low;
  if ((is_low || is_high) && !instruction.clamp && !instruction.row_y) {
    const isa::Role roles[] = {isa::Role::src0, isa::Role::src1};
    for (unsigned i = 0; i < 2; ++i)
      addends[i] = element_of_lane(source_word(*instruction.find(roles[i]), instruction, 0, 0));
    if (const isa::Operand* carry = instruction.find(isa::Role::src2); is_high && carry)
      if (const auto source = source_of(*carry, instruction); source && !source->is_constant)
        if (const auto found = lane_sums_.find(source->first); found != lane_sums_.end()) low = found->second;
  }
  run_ = Run{};
  run_.nodes = {index};
  emit_vector(index, 0);
  const auto masks = run_.masks;
  run_ = Run{};
  for (const auto& [number, chunks] : masks) {
    set_scalar(number, ir_.CreateZExt(chunks[0].bits, i32_));
    if (mask_words() == 2) set_scalar(number + 1, ir_.getInt32(0));
    lane_sums_.erase(number);
  }
  if (masks.contains(kExec)) lane_sums_.clear();
  if (!addends[0]) return;
  const unsigned result = instruction.find(isa::Role::dst)->vgpr();
  if (is_low) {
    if (const auto carry = scalar_destination(*instruction.find(isa::Role::dst2)))
      lane_sums_[*carry] = {addends, result, vgpr(result, 0)};
  } else if (low) {
    // Both halves are of one sum, whose addends may change places in one of them.
    if (llvm::isa<llvm::Constant>(low->addends[0]) != llvm::isa<llvm::Constant>(addends[0]))
      std::swap(addends[0], addends[1]);
    Value* sum = ir_.CreateAdd(joined(low->addends[0], addends[0]), joined(low->addends[1], addends[1]));
    if (low->result != result && vgpr(low->result, 0) == low->sum)
      set_vgpr(low->result, 0, lane_of_element(ir_.CreateTrunc(sum, i32_)));
    set_vgpr(result, 0, lane_of_element(ir_.CreateTrunc(ir_.CreateLShr(sum, 32), i32_)));
  }
}

// Offsets from its begin below `span` may be loaded from.
void Emitter::set_lane_range(const LaneRange& range, unsigned load) {
  const uint64_t bytes = isa::access_shape(routine_.nodes[load].instruction.row->opcode).bytes;
  const auto [begin, end] = last_range(range.slot);
  Value* size = ir_.CreateSub(end, begin);
  Value* span = ir_.CreateSelect(ir_.CreateICmpUGE(size, ir_.getInt64(bytes)),
                                 ir_.CreateSub(size, ir_.getInt64(bytes - 1)), ir_.getInt64(0));
  ir_.CreateStore(begin, range.begin);
  ir_.CreateStore(span, range.span);
}

// How many rounds may load, the first one from the pair's address.
Value* Emitter::rounds_of_walk(unsigned load, Value* pair, const LaneRange& range, BasicBlock* failed) {
  const isa::Instruction& instruction = routine_.nodes[load].instruction;
  const uint64_t bytes = isa::access_shape(instruction.row->opcode).bytes;
  Value* address = ir_.CreateAdd(pair, ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset})));
  test_lane_range(load, address, range, failed);
  Value* last = ir_.CreateSub(ir_.CreateLoad(i64_, range.span), ir_.getInt64(1));
  Value* behind = ir_.CreateSub(last, ir_.CreateSub(address, ir_.CreateLoad(i64_, range.begin)));
  return ir_.CreateAdd(ir_.CreateUDiv(behind, ir_.getInt64(bytes)), ir_.getInt64(1));
}

// Goes on where the load is allowed.
void Emitter::test_lane_range(unsigned load, Value* address, const LaneRange& range, BasicBlock* failed) {
  BasicBlock *look_up = new_block("look_up"), *found = new_block("found"), *allowed = new_block("allowed");
  Value* at = ir_.CreateSub(address, ir_.CreateLoad(i64_, range.begin));
  branch_unlikely(ir_.CreateICmpUGE(at, ir_.CreateLoad(i64_, range.span)), look_up, allowed);
  ir_.SetInsertPoint(look_up);
  const uint64_t bytes = isa::access_shape(routine_.nodes[load].instruction.row->opcode).bytes;
  ir_.CreateCondBr(look_range_up(range.slot, address, bytes, kRead), found, failed);
  ir_.SetInsertPoint(found);
  set_lane_range(range, load);
  ir_.CreateBr(allowed);
  ir_.SetInsertPoint(allowed);
}

// `range`: null where it has been tested.
void Emitter::emit_lane_load(unsigned index, const LaneRange* range, BasicBlock* failed) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const GlobalOperands operands = global_operands(instruction);
  const isa::AccessShape& shape = operands.shape;
  Value* address = ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset}));
  const auto word_of_address = [&](unsigned word) {
    return ir_.CreateZExt(element_of_lane(vgpr(operands.address.vgpr() + word, 0)), i64_);
  };
  Value* offset = word_of_address(0);
  if (operands.base)
    address = ir_.CreateAdd(address, scalar_source(*operands.base, instruction, 64));
  else
    offset = ir_.CreateOr(offset, ir_.CreateShl(word_of_address(1), 32));
  address = ir_.CreateAdd(address, offset);
  std::vector<Value*> before;
  for (unsigned word = 0; word < shape.registers(); ++word)
    before.push_back(shape.part == isa::RegisterPart::whole ? nullptr : vgpr(operands.data + word, 0));
  BasicBlock *test = new_block("lane_load"), *loaded = new_block("loaded");
  Value* is_on = bit_of_lane(scalar(kExec));
  BasicBlock* from = ir_.GetInsertBlock();
  ir_.CreateCondBr(is_on, test, loaded);
  ir_.SetInsertPoint(test);
  if (range) test_lane_range(index, address, *range, failed);
  BasicBlock* load = ir_.GetInsertBlock();
  Value* pointer = ir_.CreateIntToPtr(address, pointer_);
  std::vector<Value*> words;
  if (shape.bytes < 4) {
    llvm::Type* part = ir_.getIntNTy(8 * shape.bytes);
    words.push_back(ir_.CreateZExt(ir_.CreateAlignedLoad(part, pointer, llvm::Align(1)), i32_));
  }
  // Two dwords at once: waves on other threads may write both, and programs read a value with its flag so.
  for (unsigned word = 0; shape.bytes >= 4 && word < shape.registers();) {
    const bool is_pair = word + 1 < shape.registers();
    Value* all = ir_.CreateAlignedLoad(is_pair ? i64_ : i32_,
                                       ir_.CreateConstInBoundsGEP1_64(i32_, pointer, word), llvm::Align(1));
    words.push_back(is_pair ? ir_.CreateTrunc(all, i32_) : all);
    if (is_pair) words.push_back(ir_.CreateTrunc(ir_.CreateLShr(all, 32), i32_));
    word += is_pair ? 2 : 1;
  }
  ir_.CreateBr(loaded);
  ir_.SetInsertPoint(loaded);
  for (unsigned word = 0; word < words.size(); ++word) {
    llvm::PHINode* value = ir_.CreatePHI(i32_, 2);
    value->addIncoming(ir_.getInt32(0), from);
    value->addIncoming(words[word], load);
    words[word] = value;
  }
  for (unsigned word = 0; word < words.size(); ++word) {
    Value* lanes = lane_of_element(words[word]);
    if (shape.bytes < 4) lanes = with_part(shape, lanes, before[word]);
    write_lanes(facts_.nodes[index], operands.data + word, 0, lanes);
  }
}

}  // namespace lockstep::translator

// Loops of several blocks through which a wave goes lane by lane (divergent_loops.h). As in a loop of one
// block (emit_lane_loop.cpp) a lane's registers are element 0 of a chunk and bit 0 of masks.
#include <cstddef>
#include <map>
#include <utility>

#include "engine/translator/context.h"
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// What a lane costs beside its rounds, counted as DivergentLoop::lane_cost is: its registers, and that the
// host does not expect its end.
constexpr unsigned kLaneCost = 40;
// So many times a loop is left to waves when that would have been less work, or when lanes were given up.
constexpr uint32_t kRests = 500;

}  // namespace

// All lanes that are on at the header, one after the other. Nothing of the wave changes before the last one
// is done: where a lane may fault, is in doubt or goes on for too long, the wave goes through the loop as any
// other.
void Emitter::emit_divergent_loop(unsigned header) {
  const DivergentLoop& loop = divergent_loops_.at(header);
  const BlockFacts& facts = facts_.blocks[header];
  const RegisterSet needed = facts_.blocks[loop.exit].live_in.all();
  const auto if_used_up = [&](Value* condition, BasicBlock* out, const char* name) {
    BasicBlock* on = new_block(name);
    branch_unlikely(condition, out, on);
    ir_.SetInsertPoint(on);
  };
  BasicBlock *rest = new_block("lanes_rest"), *begin = new_block("lanes_begin"),
             *next_lane = new_block("next_lane"), *lane_ended = new_block("lane_ended"),
             *ended = new_block("lanes_ended"), *failed = new_block("lanes_failed");
  block_ = header;
  block_first_ = routine_.blocks[header].first;
  block_last_ = routine_.blocks[header].last;
  plan_ = {};
  is_regular_version_ = false;
  ir_.SetInsertPoint(lane_entries_.at(header).block);
  forget_values();
  locals_.held = facts.held;
  locals_.dirty = facts.dirty;
  const unsigned own_slot = next_slot_++;
  Value* rests = ir_.CreateGEP(
      i32_,
      ir_.CreateLoad(pointer_,
                     ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), dispatch_, offsetof(Context, rests))),
      ir_.getInt64(own_slot));
  const auto set_rests = [&](Value* times) {
    ir_.CreateAlignedStore(times, rests, llvm::Align(4))->setAtomic(llvm::AtomicOrdering::Monotonic);
  };
  llvm::LoadInst* times = ir_.CreateAlignedLoad(i32_, rests, llvm::Align(4));
  times->setAtomic(llvm::AtomicOrdering::Monotonic);
  Value* exec = scalar(kExec);
  BasicBlock* any_on = new_block("lanes");
  Value* is_possible = ir_.CreateICmpNE(exec, ir_.getInt32(0));
  if (!loop.scratch.empty())
    is_possible = ir_.CreateAnd(is_possible,
                                ir_.CreateICmpUGE(scratch_bytes_, ir_.getInt32(*loop.scratch.rbegin() + 4)));
  ir_.CreateCondBr(ir_.CreateICmpNE(times, ir_.getInt32(0)), rest, any_on);
  ir_.SetInsertPoint(rest);
  set_rests(ir_.CreateSub(times, ir_.getInt32(1)));
  ir_.CreateBr(blocks_[header]);
  ir_.SetInsertPoint(failed);
  set_rests(ir_.getInt32(kRests));
  ir_.CreateCall(runtime("lockstep_translator_forget_paths", ir_.getVoidTy(), {}));
  ir_.CreateBr(blocks_[header]);
  ir_.SetInsertPoint(any_on);
  ir_.CreateCondBr(is_possible, begin, blocks_[header]);

  ir_.SetInsertPoint(begin);
  Value* paths = ir_.CreateCall(runtime("lockstep_translator_paths", pointer_, {}));
  std::vector<unsigned> registers;
  std::map<unsigned, Value*> before;  // of scalar registers
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!loop.touched[r]) continue;
    const bool is_read = facts.live_in.all()[r];
    if (is_vgpr(r)) {
      if (is_read || (loop.written[r] && needed[r])) registers.push_back(r);
    } else if (is_read || loop.masks_at_end[r]) {
      before[r] = scalar(r);
    }
  }
  const LaneRows rows = rows_of(registers);
  std::map<unsigned, llvm::AllocaInst*> behind;  // of scalar registers
  for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
    if (!loop.masks_at_end[r] && !loop.numbers_at_end[r]) continue;
    behind[r] = alloca_of(i32_);
    Value* first = loop.masks_at_end[r] ? ir_.CreateAnd(before.at(r), ir_.CreateNot(exec)) : ir_.getInt32(0);
    ir_.CreateStore(first, behind[r]);
  }
  lane_round_ = alloca_of(i64_);
  lane_path_ = alloca_of(ir_.getInt16Ty());
  llvm::AllocaInst *longest = alloca_of(i64_), *rounds = alloca_of(i64_), *left = alloca_of(i32_);
  ir_.CreateStore(ir_.getInt64(0), longest);
  ir_.CreateStore(ir_.getInt64(0), rounds);
  ir_.CreateStore(exec, left);
  const std::map<unsigned, LaneRange> ranges = lane_ranges(loop.loads);
  ir_.CreateBr(next_lane);

  const Locals at_header = locals_;
  const unsigned chunks = std::exchange(chunks_, 1);
  std::map<std::pair<unsigned, unsigned>, llvm::AllocaInst*> slots;
  std::swap(slots, slots_);
  std::map<unsigned, BasicBlock*> lane_blocks;
  for (unsigned b : loop.blocks) lane_blocks[b] = new_block("lane_block");
  BasicBlock *first_round = new_block("lane_begins"), *next_round = new_block("lane_round"),
             *exit = new_block("lane_leaves");

  ir_.SetInsertPoint(next_lane);
  Value* lanes_left = ir_.CreateLoad(i32_, left);
  Value* lane = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes_left, ir_.getTrue());
  Value* wide_lane = ir_.CreateZExt(lane, i64_);
  const auto place_in_row = [&](unsigned number) { return lane_in_row(rows, number, wide_lane); };
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!loop.touched[r]) continue;
    if (is_vgpr(r)) {
      Value* value = llvm::Constant::getNullValue(lanes_);
      if (rows.contains(r) && facts.live_in.all()[r])
        value = lane_of_element(ir_.CreateLoad(i32_, place_in_row(r)));
      ir_.CreateStore(value, slot(r));
    } else {
      Value* value = before.contains(r) ? before.at(r) : ir_.getInt32(0);
      if (r == kExec) value = ir_.getInt32(1);
      if (loop.masks_at_begin[r]) value = ir_.CreateAnd(ir_.CreateLShr(value, lane), ir_.getInt32(1));
      ir_.CreateStore(value, slot(r));
    }
  }
  Value* scratch = ir_.CreateIntToPtr(scratch_base_, pointer_);
  lane_scratch_.clear();
  for (uint32_t offset : loop.scratch) {
    lane_scratch_[offset] = alloca_of(i32_);
    Value* row_of_lanes =
        ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), scratch, uint64_t{offset} * routine_.wave_size);
    Value* word = ir_.CreateAlignedLoad(i32_, ir_.CreateGEP(i32_, row_of_lanes, wide_lane), llvm::Align(4));
    ir_.CreateStore(word, lane_scratch_[offset]);
  }
  ir_.CreateStore(ir_.getInt64(0), lane_round_);
  ir_.CreateBr(first_round);
  ir_.SetInsertPoint(first_round);
  ir_.CreateStore(ir_.getInt16(0), lane_path_);
  ir_.CreateBr(lane_blocks.at(header));

  // Which blocks the wave would have been through in this round: those of all its lanes.
  const auto note_path = [&] {
    Value* round = ir_.CreateLoad(i64_, lane_round_);
    Value* place = ir_.CreateGEP(i16_, paths, round);
    ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(i16_, lane_path_), ir_.CreateLoad(i16_, place)), place);
    Value* next = ir_.CreateAdd(round, ir_.getInt64(1));
    ir_.CreateStore(next, lane_round_);
    return next;
  };
  ir_.SetInsertPoint(next_round);
  Value* next = note_path();
  if_used_up(ir_.CreateICmpUGE(next, ir_.getInt64(kMostLaneRounds)), failed, "lane_goes_on");
  ir_.CreateBr(first_round);

  const auto way_to = [&](int to) {
    if (to == static_cast<int>(header)) return next_round;
    if (to == static_cast<int>(loop.exit)) return exit;
    return lane_blocks.at(static_cast<unsigned>(to));
  };
  for (size_t i = 0; i < loop.blocks.size(); ++i) {
    const unsigned b = loop.blocks[i];
    ir_.SetInsertPoint(lane_blocks.at(b));
    Value* here = ir_.getInt16(static_cast<uint16_t>(1u << i));
    if (loop.without_branch.contains(b))
      here = ir_.CreateSelect(bit_of_lane(ir_.CreateLoad(i32_, slot(kExec))), here, ir_.getInt16(0));
    ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(i16_, lane_path_), here), lane_path_);
    emit_lane_block(loop, b, ranges, failed);
    const Block& block = routine_.blocks[b];
    const Node& last = routine_.nodes[block.last - 1];
    Value* condition = last.kind == NodeKind::branch ? branch_condition(last) : nullptr;
    const auto is_on_exec = [&](isa::Opcode opcode) { return last.instruction.row->opcode == opcode; };
    if (condition && is_on_exec(isa::Opcode::s_cbranch_execnz)) condition = bit_of_lane(scalar(kExec));
    if (condition && is_on_exec(isa::Opcode::s_cbranch_execz))
      condition = ir_.CreateNot(bit_of_lane(scalar(kExec)));
    if (block.next >= 0 && loop.without_branch.contains(static_cast<unsigned>(block.next)))
      ir_.CreateBr(way_to(block.next));
    else if (condition)
      ir_.CreateCondBr(condition, way_to(block.taken), way_to(block.next));
    else
      ir_.CreateBr(way_to(block.taken >= 0 ? block.taken : block.next));
  }

  ir_.SetInsertPoint(exit);
  block_ = header;
  block_first_ = routine_.blocks[header].first;
  block_last_ = routine_.blocks[header].last;
  forget_values();
  locals_.held = loop.touched;
  Value* count = note_path();
  ir_.CreateStore(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, count, ir_.CreateLoad(i64_, longest)),
                  longest);
  ir_.CreateStore(ir_.CreateAdd(count, ir_.CreateLoad(i64_, rounds)), rounds);
  for (const auto& [number, place] : rows.places)
    if (loop.written[number] && needed[number])
      ir_.CreateStore(element_of_lane(vgpr(number, 0)), place_in_row(number));
  for (const auto& [number, place] : behind) {
    Value* value = ir_.CreateLoad(i32_, slot(number));
    if (loop.masks_at_end[number]) {
      Value* bit = ir_.CreateZExt(bit_of_lane(value), i32_);
      value = ir_.CreateOr(ir_.CreateLoad(i32_, place), ir_.CreateShl(bit, lane));
    }
    ir_.CreateStore(value, place);
  }
  ir_.CreateBr(lane_ended);

  ir_.SetInsertPoint(lane_ended);
  Value* others = ir_.CreateAnd(lanes_left, ir_.CreateSub(lanes_left, ir_.getInt32(1)));
  ir_.CreateStore(others, left);
  ir_.CreateCondBr(ir_.CreateICmpNE(others, ir_.getInt32(0)), next_lane, ended);

  chunks_ = chunks;
  std::swap(slots, slots_);
  ir_.SetInsertPoint(ended);
  forget_values();
  locals_ = at_header;
  Value* wave_rounds = ir_.CreateLoad(i64_, longest);
  Value* lanes = ir_.CreateZExt(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, exec), i64_);
  Value* by_lane = ir_.CreateAdd(ir_.CreateMul(ir_.CreateLoad(i64_, rounds), ir_.getInt64(loop.lane_cost)),
                                 ir_.CreateMul(lanes, ir_.getInt64(kLaneCost)));
  // AVX-512 has half as many instructions for a wave.
  const unsigned wave_cost = has_masked_gathers_ ? loop.wave_cost / 2 : loop.wave_cost;
  Value* by_wave = ir_.CreateMul(wave_rounds, ir_.getInt64(wave_cost));
  BasicBlock *no_gain = new_block("lanes_without_gain"), *behind_lanes = new_block("behind_lanes");
  ir_.CreateCondBr(ir_.CreateICmpUGT(by_lane, by_wave), no_gain, behind_lanes);
  ir_.SetInsertPoint(no_gain);
  set_rests(ir_.getInt32(kRests));
  ir_.CreateBr(behind_lanes);
  ir_.SetInsertPoint(behind_lanes);
  Value* executed = rounds_instructions(loop, paths, wave_rounds);
  for (const auto& [number, place] : rows.places)
    for (unsigned chunk = 0; loop.written[number] && needed[number] && chunk < chunks_; ++chunk)
      set_vgpr(number, chunk, ir_.CreateLoad(lanes_, row(rows, number, chunk)));
  for (const auto& [number, place] : behind) set_scalar(number, ir_.CreateLoad(i32_, place));
  Value* budget = ir_.CreateSub(ir_.CreateLoad(i64_, budget_), executed);
  ir_.CreateStore(budget, budget_);
  const Block& target = routine_.blocks[loop.exit];
  if (target.piece == piece_) hold_all(facts_.blocks[loop.exit].held);
  flush_locals(locals_);
  go_to(static_cast<int>(loop.exit), budget,
        target.is_entry && target.offset <= routine_.blocks[header].offset);
}

// How many instructions the wave would have executed in these rounds. The paths are forgotten.
Value* Emitter::rounds_instructions(const DivergentLoop& loop, Value* paths, Value* rounds) {
  BasicBlock *from = ir_.GetInsertBlock(), *round = new_block("count_round"), *done = new_block("counted");
  ir_.CreateBr(round);
  ir_.SetInsertPoint(round);
  llvm::PHINode *at = ir_.CreatePHI(i64_, 2), *sum = ir_.CreatePHI(i64_, 2);
  at->addIncoming(ir_.getInt64(0), from);
  sum->addIncoming(ir_.getInt64(0), from);
  Value* place = ir_.CreateGEP(i16_, paths, at);
  Value* path = ir_.CreateZExt(ir_.CreateLoad(i16_, place), i64_);
  ir_.CreateStore(ir_.getInt16(0), place);
  Value* with_round = sum;
  for (size_t i = 0; i < loop.blocks.size(); ++i) {
    const Block& block = routine_.blocks[loop.blocks[i]];
    Value* bit = ir_.CreateAnd(ir_.CreateLShr(path, uint64_t{i}), uint64_t{1});
    with_round = ir_.CreateAdd(with_round, ir_.CreateMul(bit, ir_.getInt64(block.last - block.first)));
  }
  Value* next = ir_.CreateAdd(at, ir_.getInt64(1));
  at->addIncoming(next, round);
  sum->addIncoming(with_round, round);
  ir_.CreateCondBr(ir_.CreateICmpULT(next, rounds), round, done);
  ir_.SetInsertPoint(done);
  return with_round;
}

void Emitter::emit_lane_scratch(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const isa::AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool is_load = shape.kind == isa::AccessShape::Kind::load;
  const unsigned data = instruction.find(is_load ? isa::Role::dst : isa::Role::data)->vgpr();
  const uint32_t first = *constant_scratch_offset(instruction);
  for (unsigned word = 0; word < shape.registers(); ++word) {
    if (facts_.nodes[index].unused_words >> word & 1) continue;
    llvm::AllocaInst* place = lane_scratch_.at(first + 4 * word);
    Value* memory = ir_.CreateLoad(i32_, place);
    if (is_load) {
      write_lanes(facts_.nodes[index], data + word, 0, lane_of_element(memory));
    } else {
      Value* stored = element_of_lane(vgpr(data + word, 0));
      ir_.CreateStore(ir_.CreateSelect(bit_of_lane(scalar(kExec)), stored, memory), place);
    }
  }
}

void Emitter::emit_lane_block(const DivergentLoop& loop, unsigned index,
                              const std::map<unsigned, LaneRange>& ranges, BasicBlock* failed) {
  const Block& block = routine_.blocks[index];
  block_ = index;
  block_first_ = block.first;
  block_last_ = block.last;
  forget_values();
  locals_.held = loop.touched;
  lane_sums_.clear();
  const auto set_known = [&](const std::map<std::pair<unsigned, unsigned>, bool>& bits, unsigned place) {
    for (auto each = bits.lower_bound({place, 0}); each != bits.end() && each->first.first == place; ++each)
      set_scalar(each->first.second, ir_.getInt32(each->second));
  };
  set_known(loop.bits_at_begin, index);
  ir_.CreateStore(llvm::Constant::getNullValue(lanes_), doubt_[0]);
  bool casts_doubt = false;
  for (unsigned n = block.first; n < block.last; ++n) {
    const auto range = ranges.find(n);
    casts_doubt |= emit_lane_node(n, range == ranges.end() ? nullptr : &range->second, failed);
    set_known(loop.bits_behind, n);
  }
  merge_waiting(0);
  flush_locals(locals_);
  if (casts_doubt) check_lane(failed);
}

}  // namespace lockstep::translator

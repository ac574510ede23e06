// Scalar ALU, scalar loads, and what ends a block.
#include <algorithm>

#include "engine/translator/context.h"
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"
#include "isa/branch.h"
#include "isa/effects.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::Opcode;
using isa::Role;
using llvm::BasicBlock;
using llvm::Value;

Value* Emitter::scalar_source(const isa::Operand& operand, const isa::Instruction& instruction,
                              unsigned bits) {
  const Source source = *source_of(operand, instruction);
  if (source.is_constant)
    return ir_.getInt64(bits == 64 ? source.value : static_cast<uint32_t>(source.value));
  Value* value = ir_.CreateZExt(scalar(source.first), i64_);
  if (bits == 64)
    value = ir_.CreateOr(value, ir_.CreateShl(ir_.CreateZExt(scalar(source.first + 1), i64_), 32));
  return value;
}

void Emitter::emit_scalar(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const ScalarSignature& signature = scalar_signature(instruction.row->opcode);
  using Parameter = ScalarSignature::Parameter;
  std::vector<const isa::Operand*> sources;
  const isa::Operand* destination = nullptr;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.role == Role::dst)
      destination = &operand;
    else
      sources.push_back(&operand);
  }
  if (destination && destination->read) sources.push_back(destination);
  const auto exec_value = [&](bool is_pair) {
    Value* exec = ir_.CreateZExt(scalar(kExec), i64_);
    if (!is_pair) return exec;
    return ir_.CreateOr(exec, ir_.CreateShl(ir_.CreateZExt(scalar(kExec + 1), i64_), 32));
  };
  unsigned next = 0;
  for (unsigned i = 0; i < signature.count; ++i) {
    Value* value;
    if (signature.parameters[i] == Parameter::scc)
      value = ir_.CreateZExt(scalar(kScc), i64_);
    else if (signature.writes_exec && i == 1)
      value = exec_value(signature.exec_is_pair);
    else
      value =
          scalar_source(*sources[next++], instruction, signature.parameters[i] == Parameter::pair ? 64 : 32);
    ir_.CreateStore(value, ir_.CreateConstInBoundsGEP2_32(arguments_->getAllocatedType(), arguments_, 0, i));
  }
  call("lockstep_scalar_" + std::string(isa::name(instruction.row->opcode)), {arguments_, scalar_result_});
  const auto result = [&](unsigned i) {
    return ir_.CreateLoad(
        i64_, ir_.CreateConstInBoundsGEP2_32(scalar_result_->getAllocatedType(), scalar_result_, 0, i));
  };
  if (destination && signature.result != Parameter::none) {
    if (const auto number = scalar_destination(*destination)) {
      Value* value = result(0);
      set_scalar(*number, ir_.CreateTrunc(value, i32_));
      if (signature.result == Parameter::pair)
        set_scalar(*number + 1, ir_.CreateTrunc(ir_.CreateLShr(value, 32), i32_));
    }
  }
  if (signature.writes_exec) {
    Value* exec = result(1);
    set_scalar(kExec, ir_.CreateTrunc(exec, i32_));
    if (signature.exec_is_pair) set_scalar(kExec + 1, ir_.CreateTrunc(ir_.CreateLShr(exec, 32), i32_));
  }
  if (signature.writes_scc && !isa::keeps_scc(instruction, false))
    set_scalar(kScc, ir_.CreateTrunc(result(2), i32_));
}

namespace {

// Of a load whose address is a pair of SGPRs and a constant: its first byte behind the pair.
std::optional<int64_t> constant_offset(const Node& node) {
  if (node.kind != NodeKind::scalar_load) return std::nullopt;
  const isa::Operand* base = node.instruction.find(Role::saddr);
  if (!base || base->code >= isa::code::kVccLo) return std::nullopt;
  const isa::Operand* soffset = node.instruction.find(Role::soffset);
  if (soffset && !soffset->is_literal() && soffset->code != isa::code::kNull) return std::nullopt;
  return node.instruction.offset & ~int64_t{3};
}

}  // namespace

// All loads from the base of this one, up to the end of the block or a change of the base.
Emitter::ScalarLoads Emitter::scalar_loads_from(unsigned index) {
  const unsigned base = scalar_register(routine_.nodes[index].instruction.find(Role::saddr)->code);
  ScalarLoads loads;
  loads.base = {scalar(base), scalar(base + 1)};
  loads.begin = INT64_MAX;
  for (unsigned n = index; n < block_last_; ++n) {
    const Node& node = routine_.nodes[n];
    const auto begin = constant_offset(node);
    if (begin && scalar_register(node.instruction.find(Role::saddr)->code) == base) {
      loads.begin = std::min(loads.begin, *begin);
      loads.end = std::max(loads.end, *begin + isa::access_shape(node.instruction.row->opcode).bytes);
    }
    const RegisterSet written = facts_.nodes[n].effects.writes | facts_.nodes[n].effects.reloaded;
    if (written[base] || written[base + 1]) break;
  }
  return loads;
}

bool Emitter::is_as_launched(unsigned number, unsigned index) const {
  for (unsigned n = 0; n < routine_.nodes.size(); ++n) {
    const Effects& effects = facts_.nodes[n].effects;
    if (!effects.writes[number] && !effects.reloaded[number]) continue;
    if (n < index) return false;
    const auto is_common_loop = [&](const Block& last) {
      if (last.taken < 0) return false;
      const unsigned first = routine_.blocks[static_cast<unsigned>(last.taken)].first;
      return first <= index && n < last.last;
    };
    if (std::ranges::any_of(routine_.blocks, is_common_loop)) return false;
  }
  return true;
}

void Emitter::plan_arguments() {
  constexpr int64_t kMostBytes = 4096;
  const auto invalidates_scalar_cache = [](const Node& node) {
    return node.kind == NodeKind::nothing && node.instruction.row->encoding == isa::Encoding::smem;
  };
  if (std::ranges::any_of(routine_.nodes, invalidates_scalar_cache)) return;
  for (unsigned n = 0; n < routine_.nodes.size(); ++n) {
    const auto offset = constant_offset(routine_.nodes[n]);
    if (!offset || *offset < 0 || *offset >= kMostBytes) continue;
    const unsigned base = scalar_register(routine_.nodes[n].instruction.find(Role::saddr)->code);
    if (is_as_launched(base, n) && is_as_launched(base + 1, n)) kernel_arguments_[base].nodes.push_back(n);
  }
  for (auto& [base, arguments] : kernel_arguments_) arguments.slot = next_slot_++;
}

Value* Emitter::load_arguments(Value* x_offset) {
  Value* all_fine = ir_.getTrue();
  for (auto& [base, arguments] : kernel_arguments_) {
    int64_t first = INT64_MAX, end = 0;
    for (unsigned n : arguments.nodes) {
      const Node& node = routine_.nodes[n];
      first = std::min(first, *constant_offset(node));
      end = std::max(end, *constant_offset(node) + isa::access_shape(node.instruction.row->opcode).bytes);
    }
    const size_t place = offsetof(Wave, scalar) + (base - kFirstScalar) * sizeof(uint32_t);
    Value* pair = ir_.CreateAlignedLoad(i64_, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), wave(), place),
                                        llvm::Align(4));
    Value* address =
        ir_.CreateAdd(ir_.CreateAnd(pair, ~uint64_t{3}), ir_.getInt64(static_cast<uint64_t>(first)));
    const auto known = last_range(arguments.slot);
    BasicBlock *before = ir_.GetInsertBlock(), *look_up = new_block("look_up"),
               *looked = new_block("looked_up"), *load = new_block("load_arguments"),
               *loaded = new_block("loaded_arguments");
    branch_unlikely(ir_.CreateNot(in_range(known, address, static_cast<uint64_t>(end - first))), look_up,
                    looked);
    ir_.SetInsertPoint(look_up);
    look_range_up(arguments.slot, address, static_cast<uint64_t>(end - first), kRead);
    const auto found = last_range(arguments.slot);
    ir_.CreateBr(looked);
    ir_.SetInsertPoint(looked);
    const auto join = [&](Value* a, Value* b) {
      llvm::PHINode* phi = ir_.CreatePHI(i64_, 2);
      phi->addIncoming(a, before);
      phi->addIncoming(b, look_up);
      return phi;
    };
    const std::pair<Value*, Value*> range = {join(known.first, found.first),
                                             join(known.second, found.second)};
    arguments.range_begin = range.first;
    // Behind what is the same for all waves of a dispatch are the ids of the group.
    Value* is_id = ir_.CreateICmpULT(x_offset, ir_.getInt64(place + 8));
    Value* fine =
        ir_.CreateAnd(in_range(range, address, static_cast<uint64_t>(end - first)), ir_.CreateNot(is_id));
    branch_unlikely(ir_.CreateNot(fine), loaded, load);
    ir_.SetInsertPoint(load);
    Value* pointer = ir_.CreateIntToPtr(address, pointer_);
    std::vector<std::pair<unsigned, Value*>> words;
    for (unsigned n : arguments.nodes) {
      const isa::Instruction& instruction = routine_.nodes[n].instruction;
      const auto offset = static_cast<uint64_t>(*constant_offset(routine_.nodes[n]) - first);
      for (unsigned i = 0; i < isa::access_shape(instruction.row->opcode).bytes / 4; ++i)
        words.emplace_back(
            n, ir_.CreateAlignedLoad(i32_,
                                     ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), pointer, offset + 4 * i),
                                     llvm::Align(4)));
    }
    ir_.CreateBr(loaded);
    ir_.SetInsertPoint(loaded);
    for (const auto& [n, value] : words) {
      llvm::PHINode* phi = ir_.CreatePHI(i32_, 2);
      phi->addIncoming(ir_.getInt32(0), looked);
      phi->addIncoming(value, load);
      argument_words_[n].push_back(phi);
    }
    all_fine = ir_.CreateAnd(all_fine, fine);
  }
  return all_fine;
}

void Emitter::note_write(std::pair<Value*, Value*> range) {
  forget_walks_in(range);
  note_write_of_arguments(range.first);
}

void Emitter::note_write_of_arguments(Value* range_begin) {
  for (const auto& [base, arguments] : kernel_arguments_) {
    Value* is_there = ir_.CreateICmpEQ(range_begin, arguments.range_begin);
    ir_.CreateStore(ir_.CreateSelect(is_there, ir_.getInt64(0), ir_.CreateLoad(i64_, most_executed_)),
                    most_executed_);
  }
}

void Emitter::note_writes() {
  forget_walks();
  if (most_executed_) ir_.CreateStore(ir_.getInt64(0), most_executed_);
}

void Emitter::emit_scalar_load(unsigned index) {
  const Node& node = routine_.nodes[index];
  const isa::Instruction& instruction = node.instruction;
  if (const auto loaded = argument_words_.find(index); loaded != argument_words_.end()) {
    const auto first = scalar_destination(*instruction.find(Role::dst));
    for (unsigned i = 0; first && i < loaded->second.size(); ++i) set_scalar(*first + i, loaded->second[i]);
    return;
  }
  if (instruction.find(Role::resource)) return emit_scalar_buffer_load(index);
  const unsigned bytes = isa::access_shape(instruction.row->opcode).bytes;
  const Snapshot before = snapshot(index);
  // The two low bits of every component count as zero, before they are added (guide 8.1.1).
  const auto aligned = [&](Value* component) { return ir_.CreateAnd(component, ~uint64_t{3}); };
  Value* base = aligned(scalar_source(*instruction.find(Role::saddr), instruction, 64));
  Value* address =
      ir_.CreateAdd(base, aligned(ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset}))));
  if (const isa::Operand* soffset = instruction.find(Role::soffset); soffset && !soffset->is_literal())
    address = ir_.CreateAdd(address, aligned(scalar_source(*soffset, instruction, 32)));

  const unsigned slot_number = next_slot_++;
  const auto is_allowed = [&](Value* begin, int64_t count) {
    return look_range_up(slot_number, begin, static_cast<uint64_t>(count), kRead);
  };
  BasicBlock *look_up = new_block("look_up"), *load = new_block("load");
  const auto offset = constant_offset(node);
  const unsigned base_register = scalar_register(instruction.find(Role::saddr)->code);
  const bool is_known = offset && scalar_loads_.are_allowed && *offset >= scalar_loads_.begin &&
                        *offset + bytes <= scalar_loads_.end &&
                        scalar_loads_.base == std::array{scalar(base_register), scalar(base_register + 1)};
  llvm::PHINode* all_allowed = nullptr;
  if (is_known) {
    branch_unlikely(ir_.CreateNot(scalar_loads_.are_allowed), look_up, load);
  } else if (offset) {
    scalar_loads_ = scalar_loads_from(index);
    Value* first = ir_.CreateAdd(base, ir_.getInt64(static_cast<uint64_t>(scalar_loads_.begin)));
    const int64_t count = scalar_loads_.end - scalar_loads_.begin;
    all_allowed = llvm::PHINode::Create(i1_, 3, "all_allowed", load);
    BasicBlock* look_all_up = new_block("look_all_up");
    all_allowed->addIncoming(ir_.getTrue(), ir_.GetInsertBlock());
    branch_unlikely(ir_.CreateNot(in_range(last_range(slot_number), first, static_cast<uint64_t>(count))),
                    look_all_up, load);
    ir_.SetInsertPoint(look_all_up);
    all_allowed->addIncoming(ir_.getTrue(), look_all_up);
    ir_.CreateCondBr(is_allowed(first, count), load, look_up);
    scalar_loads_.are_allowed = all_allowed;
  } else {
    ir_.CreateCondBr(in_range(last_range(slot_number), address, bytes), load, look_up);
  }
  ir_.SetInsertPoint(look_up);
  if (all_allowed) all_allowed->addIncoming(ir_.getFalse(), look_up);
  ir_.CreateCondBr(is_allowed(address, bytes), load, leave_to_interpreter(before));
  ir_.SetInsertPoint(load);
  Value* pointer = ir_.CreateIntToPtr(address, pointer_);
  const auto first = scalar_destination(*instruction.find(Role::dst));
  if (!first) return;
  for (unsigned i = 0; i < bytes / 4; ++i)
    set_scalar(*first + i,
               ir_.CreateAlignedLoad(i32_, ir_.CreateConstInBoundsGEP1_64(i32_, pointer, i), llvm::Align(1)));
}

void Emitter::emit_mode_write(unsigned index) {
  const ModeWrite write = *constant_mode_write(routine_.nodes[index].instruction);
  Value* mode = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), wave(), offsetof(Wave, mode));
  Value* kept = ir_.CreateAnd(ir_.CreateLoad(i32_, mode), ~write.mask);
  ir_.CreateStore(ir_.CreateOr(kept, write.bits), mode);
}

Value* Emitter::entry_address() {
  return ir_.CreateLoad(i64_,
                        ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), dispatch_, offsetof(Context, entry)));
}

void Emitter::emit_get_pc(unsigned index) {
  const Node& node = routine_.nodes[index];
  Value* pc = ir_.CreateAdd(entry_address(),
                            ir_.getInt64(static_cast<uint64_t>(node.offset + node.instruction.size)));
  const auto first = scalar_destination(*node.instruction.find(Role::dst));
  if (!first) return;
  set_scalar(*first, ir_.CreateTrunc(pc, i32_));
  set_scalar(*first + 1, ir_.CreateTrunc(ir_.CreateLShr(pc, 32), i32_));
}

Value* Emitter::branch_condition(const Node& node) {
  const auto is_zero = [&](Value* value) {
    return ir_.CreateICmpEQ(value, llvm::Constant::getNullValue(value->getType()));
  };
  switch (node.instruction.row->opcode) {
    case Opcode::s_cbranch_scc0:
      return is_zero(scalar(kScc));
    case Opcode::s_cbranch_scc1:
      return ir_.CreateNot(is_zero(scalar(kScc)));
    case Opcode::s_cbranch_vccz:
      return is_zero(whole_mask(kVcc));
    case Opcode::s_cbranch_vccnz:
      return ir_.CreateNot(is_zero(whole_mask(kVcc)));
    case Opcode::s_cbranch_execz:
      return is_zero(whole_mask(kExec));
    case Opcode::s_cbranch_execnz:
      return ir_.CreateNot(is_zero(whole_mask(kExec)));
    default:
      return nullptr;
  }
}

// Ends the current LLVM block with the way to another guest block. Registers that block expects in the Wave
// go there, all of them for a block of another piece; a wave that has used up its budget leaves at backward
// branches.
void Emitter::go_to(int to, Value* budget, bool backward) {
  const Block& target = routine_.blocks[static_cast<unsigned>(to)];
  const BlockFacts& facts = facts_.blocks[static_cast<unsigned>(to)];
  const auto leave_there = [&](Leave how) {
    store_to_wave(locals_, facts.live_in.all());
    leave(ir_.getInt64(static_cast<uint64_t>(target.offset)), budget, WaveState::ready, how);
  };
  // Where there is no code the interpreter branches: if it has none either, the fault is the branch's.
  const Node& last = routine_.nodes[block_last_ - 1];
  if (last.kind == NodeKind::branch && to == routine_.blocks[block_].taken &&
      routine_.nodes[target.first].kind == NodeKind::outside) {
    store_to_wave(locals_, facts.live_in.all());
    return leave(ir_.getInt64(static_cast<uint64_t>(last.offset)), ir_.CreateAdd(budget, ir_.getInt64(1)),
                 WaveState::ready, Leave::outside);
  }
  if (target.piece != piece_) return leave_there(Leave::piece);
  if (backward) {
    BasicBlock *out = new_block("budget_used_up"), *go_on = new_block("again");
    branch_unlikely(ir_.CreateICmpSLE(budget, ir_.getInt64(0)), out, go_on);
    ir_.SetInsertPoint(out);
    leave_there(Leave::budget);
    ir_.SetInsertPoint(go_on);
  }
  store_to_wave(locals_, facts.live_in.all() & ~facts.held);
  if (to != static_cast<int>(block_)) {
    forget_certain_walks(static_cast<unsigned>(to));
    store_kept_rows(block_);
  }
  ir_.CreateBr(way_into(static_cast<unsigned>(to)));
}

void Emitter::hold_all(const RegisterSet& registers) {
  const RegisterSet missing = registers & ~locals_.held;
  for (unsigned r = 0; r < kRegisters; ++r)
    if (missing[r]) hold(r);
}

// To one of the likely targets, or to another entry. Elsewhere the interpreter jumps: there may be nothing to
// execute.
void Emitter::emit_jump(unsigned index, Value* budget) {
  const Block& block = routine_.blocks[index];
  const Node& node = routine_.nodes[block.last - 1];
  const isa::Instruction& instruction = node.instruction;
  const auto end = static_cast<uint64_t>(node.offset + node.instruction.size);
  Value* entry = entry_address();
  Value* offset = nullptr;
  if (const auto target = isa::label_target(instruction, end))
    offset = ir_.getInt64(*target);
  else
    offset = ir_.CreateSub(
        ir_.CreateAnd(scalar_source(*instruction.find(Role::src0), instruction, 64), isa::kPcBits), entry);
  const isa::Operand* const link = instruction.find(Role::dst);
  const unsigned first = link ? scalar_register(link->code) : 0;
  if (link) {
    hold(first);
    hold(first + 1);
  }
  const Locals before = locals_;
  if (link) {
    Value* behind = ir_.CreateAdd(entry, ir_.getInt64(end));
    set_scalar(first, ir_.CreateTrunc(behind, i32_));
    set_scalar(first + 1, ir_.CreateTrunc(ir_.CreateLShr(behind, 32), i32_));
  }
  for (unsigned target : block.jumps)
    if (routine_.blocks[target].piece == piece_) hold_all(facts_.blocks[target].held);
  flush_locals(locals_);
  BasicBlock* elsewhere = new_block("elsewhere");
  auto* choice = ir_.CreateSwitch(offset, elsewhere, static_cast<unsigned>(block.jumps.size()));
  for (unsigned target : block.jumps) {
    BasicBlock* there = new_block("jump");
    const int64_t to = routine_.blocks[target].offset;
    choice->addCase(ir_.getInt64(static_cast<uint64_t>(to)), there);
    ir_.SetInsertPoint(there);
    go_to(static_cast<int>(target), budget, to <= node.offset);
  }
  ir_.SetInsertPoint(elsewhere);
  store_to_wave(before, RegisterSet().set());
  // To any other entry through the Wave.
  const auto of_context = [&](llvm::Type* type, size_t at) {
    return ir_.CreateLoad(type, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), dispatch_, at));
  };
  BasicBlock *look = new_block("look_for_entry"), *known = new_block("entry"),
             *unknown = new_block("no_entry");
  Value* dword =
      ir_.CreateLShr(ir_.CreateSub(offset, of_context(i64_, offsetof(Context, first_offset))), uint64_t{2});
  ir_.CreateCondBr(ir_.CreateICmpULT(dword, of_context(i64_, offsetof(Context, code_dwords))), look, unknown);
  ir_.SetInsertPoint(look);
  Value* number = ir_.CreateLoad(
      i32_, ir_.CreateGEP(i32_, of_context(pointer_, offsetof(Context, entry_numbers)), dword));
  ir_.CreateCondBr(ir_.CreateICmpNE(number, ir_.getInt32(0)), known, unknown);
  ir_.SetInsertPoint(known);
  if (link) {
    Value* behind = ir_.CreateAdd(entry, ir_.getInt64(end));
    ir_.CreateAlignedStore(behind, wave_address(first), llvm::Align(4));
  }
  leave(offset, budget, WaveState::ready, Leave::piece);
  ir_.SetInsertPoint(unknown);
  leave(ir_.getInt64(static_cast<uint64_t>(node.offset)), ir_.CreateAdd(budget, ir_.getInt64(1)),
        WaveState::ready, Leave::jump);
}

void Emitter::emit_end(unsigned index) {
  const Block& block = routine_.blocks[index];
  const Node& last = routine_.nodes[block.last - 1];
  settle();
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) merge_waiting(chunk);
  const bool is_executed = last.kind != NodeKind::step && last.kind != NodeKind::outside;
  Value* budget = ir_.CreateSub(ir_.CreateLoad(i64_, budget_),
                                ir_.getInt64(block.last - block.first - (is_executed ? 0 : 1)));
  ir_.CreateStore(budget, budget_);
  const auto stop = [&](const RegisterSet& live, int64_t offset, WaveState state, Leave how) {
    store_to_wave(locals_, live);
    leave(ir_.getInt64(static_cast<uint64_t>(offset)), budget, state, how);
  };
  switch (last.kind) {
    case NodeKind::end:
      if (ended_) {
        ir_.CreateBr(ended_);
        return;
      }
      return stop({}, last.offset, WaveState::ended, Leave::ended);
    case NodeKind::barrier:
      return stop(facts_.blocks[static_cast<unsigned>(block.next)].live_in.all(),
                  last.offset + last.instruction.size, WaveState::at_barrier, Leave::barrier);
    case NodeKind::step:
      return stop(facts_.nodes[block.last - 1].live.all(), last.offset, WaveState::ready, Leave::step);
    case NodeKind::jump:
      return emit_jump(index, budget);
    case NodeKind::outside:
      return stop(facts_.nodes[block.last - 1].live.all(), last.offset, WaveState::ready, Leave::outside);
    default:
      break;
  }
  Value* condition = last.kind == NodeKind::branch ? branch_condition(last) : nullptr;
  for (int successor : {block.taken, block.next}) {
    if (successor < 0 || routine_.blocks[static_cast<unsigned>(successor)].piece != piece_) continue;
    hold_all(facts_.blocks[static_cast<unsigned>(successor)].held);
  }
  flush_locals(locals_, without_slot_ | without_slot_in_rounds_);
  const auto is_backward = [&](int to) {
    return routine_.blocks[static_cast<unsigned>(to)].offset <= last.offset;
  };
  if (block.taken < 0) return go_to(block.next, budget, false);
  if (!condition) return go_to(block.taken, budget, is_backward(block.taken));
  BasicBlock *taken = new_block("taken"), *next = new_block("next");
  ir_.CreateCondBr(condition, taken, next);
  ir_.SetInsertPoint(taken);
  go_to(block.taken, budget, is_backward(block.taken));
  ir_.SetInsertPoint(next);
  flush_locals(locals_, without_slot_ | ~without_slot_in_rounds_);
  go_to(block.next, budget, false);
}

}  // namespace lockstep::translator

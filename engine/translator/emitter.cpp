#include "engine/translator/emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstddef>

#include "engine/translator/context.h"
#include "engine/translator/emit_rolled_run.h"
#include "engine/translator/runtime.h"
#include "state/wave.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::PHINode;

std::vector<unsigned> entry_blocks(const Routine& routine, unsigned piece) {
  std::vector<unsigned> result;
  for (unsigned i = routine.pieces[piece].first; i < routine.pieces[piece].last; ++i)
    if (routine.blocks[i].is_entry) result.push_back(i);
  return result;
}

Emitter::Emitter(llvm::Module& module, const Routine& routine, const Facts& facts, unsigned piece,
                 unsigned first_slot, const Host& host, Shape shape)
    : module_(module),
      context_(module.getContext()),
      routine_(routine),
      facts_(facts),
      piece_(piece),
      chunks_(routine.lanes / kLanesPerChunk),
      has_masked_gathers_(host.has_masked_gathers),
      host_sees_streams_(host.sees_streams),
      has_barriers_(routine.has_barriers()),
      ir_(context_),
      next_slot_(first_slot),
      selects_nans_(routine.selects_nans),
      shape_(shape),
      linear_math_(&ir_, is_linear_in_wave() ? routine.wave_size : 16),
      plans_(plan_addresses(routine, facts, shape == Shape::row)),
      lane_loops_(find_lane_loops(routine, facts)),
      divergent_loops_(find_divergent_loops(routine, facts)),
      exchange_loops_(find_exchange_loops(routine, facts)),
      compact_loops_(find_compact_loops(routine, facts, piece)) {
  host_sees_streams_ &= !has_irregular_loads();
  // Of one chunk nothing is left out.
  if (chunks_ == 1) compact_loops_.clear();
  std::erase_if(compact_loops_, [&](const auto& loop) {
    return exchange_loops_.contains(loop.first) || lane_loops_.contains(loop.first) ||
           divergent_loops_.contains(loop.first) || std::ranges::any_of(loop.second.blocks, [&](unsigned b) {
             return std::ranges::count(plans_[b].is_regular, true) != 0;
           });
  });
  i1_ = ir_.getInt1Ty();
  i16_ = ir_.getInt16Ty();
  i32_ = ir_.getInt32Ty();
  i64_ = ir_.getInt64Ty();
  pointer_ = ir_.getPtrTy();
  lanes_ = llvm::FixedVectorType::get(i32_, 16);
  lane_mask_ = llvm::FixedVectorType::get(i1_, 16);
}

void Emitter::emit(const std::string& name) {
  if (shape_ == Shape::row)
    emit_row(name);
  else
    emit_wave(name);
}

void Emitter::emit_wave(const std::string& name) {
  make_function(name, i32_, {pointer_, pointer_, i32_, i64_});
  wave_ = function_->getArg(0);
  load_wave_fields();
  begin_walks();
  ir_.CreateStore(function_->getArg(3), budget_);
  begin_leave(nullptr);
  ir_.CreateRet(leave_how_);
  const Piece& piece = routine_.pieces[piece_];
  for (unsigned i = piece.first; i < piece.last; ++i) emit_block(i);
  emit_entries();
  emit_lane_loops();
}

void Emitter::emit_row(const std::string& name) {
  make_function(name, i32_, {pointer_, pointer_});
  row_ = function_->getArg(0);
  BasicBlock* const wave_begins = make_row_loop();
  for (unsigned i = 0; i < routine_.blocks.size(); ++i) emit_block(i);
  emit_lane_loops();
  // What slots hold then is the last wave's: LLVM would make it, and keep it, for code that reads none of it.
  ir_.SetInsertPoint(wave_begins, wave_begins->begin());
  for (const auto& [place, home] : slots_)
    ir_.CreateStore(llvm::PoisonValue::get(home->getAllocatedType()), home);
}

// Waves of a group one after the other, then those of the next group. Between them nothing is loaded or
// stored but what tells one from the other. Where each group has one wave to run, the loop over groups is the
// inner one, in which only the x of their ids changes: what does not come from that is computed once. Where
// waves begin.
BasicBlock* Emitter::make_row_loop() {
  const auto field = [&](size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), row_, offset);
  };
  waves_ = ir_.CreateLoad(pointer_, field(offsetof(GroupRow, waves)));
  Value* first_wave = ir_.CreateLoad(i32_, field(offsetof(GroupRow, first_wave)));
  Value* last_wave = ir_.CreateLoad(i32_, field(offsetof(GroupRow, last_wave)));
  Value* x_offset = ir_.CreateZExt(ir_.CreateLoad(i32_, field(offsetof(GroupRow, x_offset))), i64_);
  Value* end = ir_.CreateLoad(i32_, field(offsetof(GroupRow, end)));
  Value* turn = ir_.CreateLoad(i64_, field(offsetof(GroupRow, turn)));
  Value* most = ir_.CreateLoad(i64_, field(offsetof(GroupRow, most)));
  Value* is_one_wave = ir_.CreateICmpEQ(ir_.CreateSub(last_wave, first_wave), ir_.getInt32(1));
  BasicBlock *wave_begins = new_block("wave"), *item = new_block("group"),
             *wave_ended = new_block("wave_ended"), *more = new_block("more"), *done = new_block("done");
  ended_ = new_block("ended");
  // What counts on from wave to wave stays in host registers until the row is left.
  struct Count {
    llvm::AllocaInst* place;
    size_t offset;
  };
  const auto count = [&](llvm::Type* type, size_t offset) {
    llvm::AllocaInst* place = ir_.CreateAlloca(type);
    ir_.CreateStore(ir_.CreateLoad(type, field(offset)), place);
    return Count{place, offset};
  };
  const Count wave_number = count(i32_, offsetof(GroupRow, wave)), group = count(i32_, offsetof(GroupRow, x)),
              executed_before = count(i64_, offsetof(GroupRow, executed));
  wave_number_ = wave_number.place;
  group_x_ = group.place;
  // Where nothing is executed twice nobody looks how much of a turn is left: counted from 0, it is known at
  // each wave's end but for the way there.
  const bool has_loops = std::ranges::any_of(loop_ends(routine_), [](unsigned last) { return last != 0; });
  Value* turn_at_begin = has_loops ? turn : ir_.getInt64(0);
  const auto store_counts = [&, wave_number, group, executed_before] {
    for (const Count& each : {wave_number, group, executed_before})
      ir_.CreateStore(ir_.CreateLoad(each.place->getAllocatedType(), each.place), field(each.offset));
  };
  plan_arguments();
  BasicBlock *not_allowed = nullptr, *arguments = nullptr;
  Value* may_read = nullptr;
  if (!kernel_arguments_.empty()) {
    not_allowed = new_block("not_allowed");
    arguments = new_block("arguments");
    most_executed_ = ir_.CreateAlloca(i64_);
    ir_.CreateBr(arguments);
    ir_.SetInsertPoint(arguments);
    // A wave has executed something, so that 0 may say that one has changed arguments.
    ir_.CreateStore(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, most, ir_.getInt64(1)), most_executed_);
    may_read = load_arguments(x_offset);
  }
  if (may_read) {
    branch_unlikely(ir_.CreateNot(may_read), not_allowed, wave_begins);
    arguments_loaded_ = ir_.GetInsertBlock()->getTerminator();
  } else {
    ir_.CreateBr(wave_begins);
  }

  ir_.SetInsertPoint(wave_begins);
  Value* number = ir_.CreateLoad(i32_, wave_number.place);
  wave_ = ir_.CreateLoad(pointer_, ir_.CreateGEP(pointer_, waves_, ir_.CreateZExt(number, i64_)));
  load_wave_fields();
  load_launched(number);
  // What is the same for all of a wave number: nothing is, where the ids come from that.
  const bool stays_with_wave = !routine_.launch.is_one_row;
  Value* wave_end = nullptr;
  if (stays_with_wave)
    wave_end =
        ir_.CreateSelect(is_one_wave, end, ir_.CreateAdd(ir_.CreateLoad(i32_, group.place), ir_.getInt32(1)));
  ir_.CreateBr(item);

  ir_.SetInsertPoint(item);
  Value* x = ir_.CreateLoad(i32_, group.place);
  launched_[scalar_register(routine_.launch.group_id_register)] = x;
  ir_.CreateStore(turn_at_begin, budget_);
  begin_walks();
  ir_.CreateBr(blocks_[routine_.entry_block]);

  ir_.SetInsertPoint(ended_);
  Value* executed = ir_.CreateAdd(ir_.CreateLoad(i64_, executed_before.place),
                                  ir_.CreateSub(turn_at_begin, ir_.CreateLoad(i64_, budget_)));
  ir_.CreateStore(executed, executed_before.place);
  if (stays_with_wave) {
    BasicBlock* stay = new_block("stay");
    Value* next_x = ir_.CreateAdd(x, ir_.getInt32(1));
    ir_.CreateCondBr(ir_.CreateICmpULT(next_x, wave_end), stay, wave_ended);
    ir_.SetInsertPoint(stay);
    ir_.CreateStore(next_x, group.place);
    BasicBlock* enough = may_read ? new_block("enough") : done;
    Value* limit = may_read ? ir_.CreateLoad(i64_, most_executed_) : most;
    branch_unlikely(ir_.CreateICmpUGE(executed, limit), enough, item);
    if (may_read) {
      ir_.SetInsertPoint(enough);
      ir_.CreateCondBr(ir_.CreateICmpULT(executed, most), arguments, done);
    }
  } else {
    ir_.CreateBr(wave_ended);
  }

  // Without a branch: hosts would not foresee which wave is a group's last.
  ir_.SetInsertPoint(wave_ended);
  Value* next = ir_.CreateAdd(number, ir_.getInt32(1));
  Value* is_last = ir_.CreateICmpEQ(next, last_wave);
  Value* last_mask = ir_.CreateSExt(is_last, i32_);
  ir_.CreateStore(ir_.CreateSub(next, ir_.CreateAnd(last_mask, ir_.CreateSub(last_wave, first_wave))),
                  wave_number.place);
  Value* x_behind = ir_.CreateSub(x, last_mask);
  ir_.CreateStore(x_behind, group.place);
  ir_.CreateCondBr(ir_.CreateICmpULT(x_behind, end), more, done);
  ir_.SetInsertPoint(more);
  // Groups are not left in between.
  Value* most_here = ir_.CreateOr(most, ir_.CreateNot(ir_.CreateSExt(is_last, i64_)));
  if (may_read) {
    BasicBlock* unchanged = new_block("unchanged");
    Value* changed = ir_.CreateICmpEQ(ir_.CreateLoad(i64_, most_executed_), ir_.getInt64(0));
    BasicBlock* reload = new_block("reload");
    branch_unlikely(changed, reload, unchanged);
    ir_.SetInsertPoint(reload);
    ir_.CreateCondBr(ir_.CreateICmpULT(executed, most_here), arguments, done);
    ir_.SetInsertPoint(unchanged);
  }
  ir_.CreateCondBr(ir_.CreateICmpULT(executed, most_here), wave_begins, done);
  ir_.SetInsertPoint(done);
  store_counts();
  ir_.CreateRet(ir_.getInt32(static_cast<uint32_t>(Leave::ended)));
  begin_leave(has_loops ? nullptr : turn);
  // What is dead is not stored where waves leave, but may be shown: the x is stored here, if nobody writes
  // it.
  const unsigned x_register = scalar_register(routine_.launch.group_id_register);
  const bool is_written = std::ranges::any_of(facts_.nodes, [&](const NodeFacts& node) {
    return node.effects.writes[x_register] || node.effects.reloaded[x_register];
  });
  if (!is_written) store_launched_x();
  store_counts();
  ir_.CreateRet(leave_how_);
  if (!may_read) return item;
  // Each wave finds out by itself, or the interpreter.
  ir_.SetInsertPoint(not_allowed);
  store_launched_x();
  leave(ir_.getInt64(static_cast<uint64_t>(routine_.blocks[routine_.entry_block].offset)), turn_at_begin,
        WaveState::ready, Leave::access);
  return item;
}

void Emitter::store_launched_x() {
  ir_.CreateStore(ir_.CreateLoad(i32_, group_x_),
                  wave_address(scalar_register(routine_.launch.group_id_register)));
}

// What the code may read of the launch, but for the x of the work-group id: what nobody needs is dropped
// again.
void Emitter::load_launched(Value* number) {
  const auto load = [&](Value* base, size_t offset) {
    return ir_.CreateAlignedLoad(i32_, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, offset),
                                 llvm::Align(4));
  };
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    first_items_[chunk] =
        routine_.launch.is_one_row
            ? ir_.CreateAdd(ir_.CreateShl(number, std::countr_zero(routine_.wave_size)),
                            ir_.getInt32(chunk * kLanesPerChunk))
            : load(vgprs_, (kIdRegister * chunks_of_wave() + chunk) * kLanesPerChunk * sizeof(uint32_t));
  const RegisterSet read = facts_.blocks[routine_.entry_block].live_in.all();
  for (unsigned r = kFirstScalar; r < kVcc; ++r)
    if (read[r]) launched_[r] = load(wave_, offsetof(Wave, scalar) + (r - kFirstScalar) * sizeof(uint32_t));
}

void Emitter::load_wave_fields() {
  const auto field = [&](size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), wave_, offset);
  };
  vgprs_ = ir_.CreateLoad(pointer_, field(offsetof(Wave, vgprs)), "vgprs");
  lds_ = ir_.CreateLoad(pointer_, field(offsetof(Wave, lds)), "lds");
  lds_bytes_ = ir_.CreateZExt(ir_.CreateLoad(i32_, field(offsetof(Wave, lds_bytes))), i64_, "lds_bytes");
  scratch_base_ = ir_.CreateLoad(i64_, field(offsetof(Wave, scratch_base)), "scratch_base");
  // Places in scratch are counted in 32 bits. No card has so much that they would not do; what is behind them
  // would be the interpreter's.
  const uint32_t most = (uint32_t{1} << 31) / routine_.wave_size - 4;
  scratch_bytes_ = ir_.CreateBinaryIntrinsic(
      llvm::Intrinsic::umin, ir_.CreateLoad(i32_, field(offsetof(Wave, scratch_bytes))), ir_.getInt32(most));
}

void Emitter::make_function(const std::string& name, llvm::Type* result,
                            std::vector<llvm::Type*> parameters) {
  auto* type = llvm::FunctionType::get(result, parameters, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setDoesNotThrow();
  dispatch_ = function_->getArg(1);
  function_->addParamAttr(0, llvm::Attribute::NoAlias);
  entry_ = new_block("entry");
  for (unsigned i = routine_.pieces[piece_].first; i < routine_.pieces[piece_].last; ++i)
    blocks_[i] = new_block("block");
  ir_.SetInsertPoint(entry_);
  slots_of_ranges_ = ir_.CreateLoad(
      pointer_, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), dispatch_, offsetof(Context, last_range)));
  budget_ = ir_.CreateAlloca(i64_);
  words_ = ir_.CreateAlloca(llvm::ArrayType::get(lanes_, 16));
  masks_ = ir_.CreateAlloca(llvm::ArrayType::get(i16_, 4));
  result_words_ = ir_.CreateAlloca(llvm::ArrayType::get(lanes_, 8));
  result_mask_ = ir_.CreateAlloca(lane_mask_);
  arguments_ = ir_.CreateAlloca(llvm::ArrayType::get(i64_, 4));
  scalar_result_ = ir_.CreateAlloca(llvm::ArrayType::get(i64_, 3));
  leave_place_ = ir_.CreateAlloca(i64_);
  leave_executed_ = ir_.CreateAlloca(i64_);
  leave_why_ = ir_.CreateAlloca(i32_);
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) doubt_[chunk] = ir_.CreateAlloca(lanes_);
  doubt_in_all_lanes_ = ir_.CreateAlloca(lanes_);
  // For the runtime functions, which take lanes in memory: two address registers and four of data.
  buffer_ = ir_.CreateAlloca(llvm::ArrayType::get(lanes_, 6 * chunks_of_wave()));
  const std::vector<LoopAccess> accesses = find_loop_accesses(routine_, piece_);
  plan_walks(accesses);
  for (const LoopAccess& access : accesses)
    if (access.is_loaded || access.base_is_loaded) uneven_steps_.insert(access.node);
  for (unsigned node : find_accesses_again(routine_, facts_, piece_)) accesses_again_.insert(node);
}

// A switch over the entry numbers. A loop header with other predecessors is entered through a stub that loads
// what the loop holds in host registers.
void Emitter::emit_entries() {
  const auto entries = entry_blocks(routine_, piece_);
  std::vector<BasicBlock*> targets;
  for (unsigned index : entries) {
    if (routine_.blocks[index].predecessors.empty()) {
      targets.push_back(blocks_[index]);
      continue;
    }
    BasicBlock* stub = new_block("enter");
    ir_.SetInsertPoint(stub);
    const RegisterSet held = facts_.blocks[index].held;
    for (unsigned r = 0; r < kRegisters; ++r) {
      if (!held[r]) continue;
      for (unsigned chunk = 0; chunk < (is_vgpr(r) ? chunks_ : 1); ++chunk) {
        llvm::AllocaInst* home = slot(r, chunk);
        ir_.CreateStore(
            ir_.CreateAlignedLoad(home->getAllocatedType(), wave_address(r, chunk), llvm::Align(4)), home);
      }
    }
    // Rounds of a loop through which waves go lane by lane may be the rest of them.
    ir_.CreateBr(divergent_loops_.contains(index) ? lane_entry(index).block : blocks_[index]);
    targets.push_back(stub);
  }
  BasicBlock* bad = new_block("no_entry");
  llvm::IRBuilder<>(bad).CreateUnreachable();
  ir_.SetInsertPoint(entry_);
  auto* choice = ir_.CreateSwitch(function_->getArg(2), bad, static_cast<unsigned>(targets.size()));
  for (unsigned i = 0; i < targets.size(); ++i) choice->addCase(ir_.getInt32(i), targets[i]);
}

void Emitter::emit_block(unsigned index) {
  const Block& block = routine_.blocks[index];
  const BlockFacts& facts = facts_.blocks[index];
  ir_.SetInsertPoint(blocks_[index]);
  forget_values();
  locals_.held = facts.held;
  locals_.dirty = facts.dirty;
  // All waves of rows are full.
  if (row_ && (index == routine_.entry_block || facts_.nodes[block.first].all_on))
    for (unsigned word = 0; word < mask_words(); ++word) {
      locals_.scalar[kExec + word - kFirstScalar] = ir_.getInt32(~0u);
      locals_.held.set(kExec + word);
    }
  if (row_ && index == routine_.entry_block)
    for (const auto& [number, value] : launched_) {
      locals_.scalar[number - kFirstScalar] = value;
      locals_.held.set(number);
    }
  // The Wave has that of the group it was launched for.
  if (const unsigned x = scalar_register(routine_.launch.group_id_register); row_ && locals_.held[x])
    locals_.dirty.set(x);
  block_ = index;
  block_first_ = block.first;
  block_last_ = block.last;
  plan_ = plans_[index];
  is_in_loop_ = std::any_of(routine_.blocks.begin() + index, routine_.blocks.end(), [&](const Block& later) {
    return later.taken >= 0 && later.taken <= static_cast<int>(index);
  });
  sections_.clear();
  if (plan_.is_empty()) return emit_nodes(index);
  begin_regular(index);
  emit_nodes(index);
  is_regular_version_ = false;

  // The other version keeps all registers in their slots between sections, for it may begin with each.
  RegisterSet held = facts.held, dirty = facts.dirty;
  size_t section = 0;
  const auto begin_second = [&] {
    ir_.SetInsertPoint(sections_[section].second);
    forget_values();
    locals_.held = held & sections_[section].locals.held;
    locals_.dirty = (dirty | sections_[section].locals.dirty) & locals_.held;
  };
  begin_second();
  is_seldom_ = true;
  for (unsigned n = block.first; n < block.last; ++n) {
    emit_node(n);
    if (!plan_.is_cut[n - block.first]) continue;
    end_run();
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) merge_waiting(chunk);
    // It may have let go of what the first version still holds there.
    hold_all(sections_[++section].locals.held);
    flush_locals(locals_);
    held = locals_.held;
    dirty = locals_.dirty;
    ir_.CreateBr(sections_[section].second);
    begin_second();
  }
  end_run();
  is_seldom_ = false;
  keep_nothing(index);
  emit_end(index);
  emit_leaves();
}

void Emitter::emit_nodes(unsigned index) {
  const Block& block = routine_.blocks[index];
  for (unsigned n = block.first; n < block.last; ++n) {
    emit_node(n);
    if (is_regular_version_ && plan_.is_cut[n - block.first]) begin_section();
  }
  end_run();
  if (is_regular_version_) {
    end_round(index);
    keep_linear(index);
  }
  emit_end(index);
  round_ = nullptr;
  emit_leaves();
  without_slot_.reset();
  without_slot_in_rounds_.reset();
}

void Emitter::emit_node(unsigned n) {
  const Node& node = routine_.nodes[n];
  if (joins_run(n)) return add_to_run(n);
  // Among the hints is what invalidates caches (guide 10.5).
  if (node.kind == NodeKind::nothing && node.instruction.row->encoding == isa::Encoding::mubuf)
    forget_walks();
  switch (node.kind) {
    case NodeKind::nothing:
    case NodeKind::branch:
    case NodeKind::jump:
    case NodeKind::barrier:
    case NodeKind::end:
    case NodeKind::step:
    case NodeKind::outside:
      return;
    default:
      break;
  }
  end_run();
  if (joins_run(n)) return add_to_run(n);
  if (is_regular_version_ && plan_.is_regular[n - block_first_]) return emit_regular_global(n);
  // EXEC as it was at the writes decides what they keep.
  if (writes_exec(facts_.nodes[n].effects, routine_.wave_size))
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) merge_waiting(chunk);
  // Others may leave translated code, or change what cannot be changed again.
  if (node.kind != NodeKind::scalar_alu) settle();
  if (node.kind == NodeKind::scalar_alu) {
    emit_scalar(n);
  } else if (node.kind == NodeKind::store_wait) {
    // A fence, which LLVM makes a locked instruction of, not the MFENCE that takes four times as long.
    ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, wave(), ir_.getInt32(0), llvm::Align(4),
                        llvm::AtomicOrdering::SequentiallyConsistent);
    forget_walks();
  } else if (node.kind == NodeKind::scalar_load) {
    emit_scalar_load(n);
  } else if (node.kind == NodeKind::lane_access) {
    emit_lane_access(n);
  } else if (node.kind == NodeKind::permute) {
    if (node.instruction.row->encoding == isa::Encoding::ds)
      emit_half_permute(n);
    else
      emit_row_permute(n);
  } else if (node.kind == NodeKind::indexed) {
    emit_indexed(n);
  } else if (node.kind == NodeKind::get_pc) {
    emit_get_pc(n);
  } else if (node.kind == NodeKind::mode_write) {
    emit_mode_write(n);
  } else if (node.kind == NodeKind::call) {
    note_writes();
    emit_call(n);
  } else if (node.kind == NodeKind::matrix) {
    emit_matrix(n);
  } else if (node.kind == NodeKind::scratch) {
    emit_scratch(n);
  } else if (node.kind == NodeKind::buffer) {
    emit_buffer(n);
  } else if (node.kind == NodeKind::atomic) {
    emit_atomic(n);
  } else if (facts_.nodes[n].access_call != AccessCall::never) {
    emit_called_access(n);
  } else {
    emit_global(n);
  }
}

// ---- Registers
// ----------------------------------------------------------------------------------------------------

llvm::AllocaInst* Emitter::slot(unsigned number, unsigned chunk) {
  llvm::AllocaInst*& home = slots_[{number, chunk}];
  if (!home) {
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    home = at_entry.CreateAlloca(is_vgpr(number) ? static_cast<llvm::Type*>(lanes_) : i32_);
  }
  return home;
}

// Of rows these are loaded where they are wanted: most waves stay in host registers.
llvm::Value* Emitter::wave() {
  if (!row_) return wave_;
  Value* number = ir_.CreateZExt(ir_.CreateLoad(i32_, wave_number_), i64_);
  return ir_.CreateLoad(pointer_, ir_.CreateGEP(pointer_, waves_, number));
}

llvm::Value* Emitter::vgprs() {
  if (!row_) return vgprs_;
  return ir_.CreateLoad(pointer_,
                        ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), wave(), offsetof(Wave, vgprs)));
}

llvm::Value* Emitter::wave_address(unsigned number, unsigned chunk) {
  if (is_vgpr(number))
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), vgprs(), (number * chunks_of_wave() + chunk) * 64);
  const unsigned code = number == kScc ? isa::code::kScc : number - kFirstScalar;
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), wave(), offsetof(Wave, scalar) + code * 4);
}

// Makes sure that the register's value is among the locals.
void Emitter::hold(unsigned number) {
  if (rolled_ && is_vgpr(number)) {
    Value*& local = locals_.vgpr[number][0];
    if (!local) local = rolled_->load(number);
    return;
  }
  const bool in_host = locals_.held[number];
  for (unsigned chunk = 0; chunk < (is_vgpr(number) ? chunks_ : 1); ++chunk) {
    Value*& local = is_vgpr(number) ? locals_.vgpr[number][chunk] : locals_.scalar[number - kFirstScalar];
    if (local) continue;
    if (is_vgpr(number) && (local = unfolded(locals_, number, chunk))) continue;
    llvm::AllocaInst* home = slot(number, chunk);
    local = in_host ? static_cast<Value*>(ir_.CreateLoad(home->getAllocatedType(), home))
                    : ir_.CreateAlignedLoad(home->getAllocatedType(), wave_address(number, chunk),
                                            llvm::Align(4));
    if (is_vgpr(number) && is_half()) local = only_half(local);
  }
  locals_.held.set(number);
}

llvm::Value* Emitter::vgpr(unsigned number, unsigned chunk) {
  hold(number);
  return locals_.vgpr[number][chunk];
}

void Emitter::set_vgpr(unsigned number, unsigned chunk, Value* value) {
  locals_.vgpr[number][chunk] = value;
  if (const auto found = locals_.linear.find(number); found != locals_.linear.end())
    found->second[chunk] = std::nullopt;
  locals_.dirty.set(number);
  // The other chunks still have to be read from where the register was.
  if (chunk == chunks_ - 1) locals_.held.set(number);
}

llvm::Value* Emitter::scalar(unsigned number) {
  hold(number);
  return locals_.scalar[number - kFirstScalar];
}

void Emitter::set_scalar(unsigned number, Value* value) {
  locals_.scalar[number - kFirstScalar] = value;
  locals_.dirty.set(number);
  locals_.held.set(number);
}

void Emitter::flush_locals(const Locals& locals, const RegisterSet& but) {
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (but[r]) continue;
    for (unsigned chunk = 0; chunk < (is_vgpr(r) ? chunks_ : 1); ++chunk) {
      Value* local = is_vgpr(r) ? locals.vgpr[r][chunk] : locals.scalar[r - kFirstScalar];
      if (!local && is_vgpr(r)) local = unfolded(locals, r, chunk);
      if (local) ir_.CreateStore(local, slot(r, chunk));
    }
  }
}

// ---- Small things
// -------------------------------------------------------------------------------------------------

BasicBlock* Emitter::new_block(const char* name) {
  return BasicBlock::Create(context_, name, function_);
}

llvm::Value* Emitter::half_bits(Value* word, unsigned chunk) {
  return ir_.CreateTrunc(chunk % 2 == 0 ? word : ir_.CreateLShr(word, 16), i16_);
}

llvm::Value* Emitter::whole_mask(unsigned number) {
  if (routine_.wave_size == 32) return scalar(number);
  return ir_.CreateOr(ir_.CreateZExt(scalar(number), i64_),
                      ir_.CreateShl(ir_.CreateZExt(scalar(number + 1), i64_), 32));
}

llvm::Value* Emitter::are_all(Value* mask) {
  const unsigned bits = mask->getType()->getIntegerBitWidth();
  const auto all = llvm::APInt::getLowBitsSet(bits, kLanesPerChunk * chunks_);
  return ir_.CreateICmpEQ(mask, llvm::ConstantInt::get(mask->getType(), all));
}

void Emitter::branch_unlikely(Value* condition, BasicBlock* unlikely, BasicBlock* likely) {
  ir_.CreateCondBr(condition, unlikely, likely, llvm::MDBuilder(context_).createBranchWeights(1, 2000));
}

llvm::FunctionCallee Emitter::runtime(const char* name, llvm::Type* result,
                                      std::vector<llvm::Type*> parameters) {
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::Cold);
  if (keeps_registers(name)) function->addFnAttr("no_caller_saved_registers");
  return callee;
}

}  // namespace lockstep::translator

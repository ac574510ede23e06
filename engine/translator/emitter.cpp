#include "engine/translator/emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <cstddef>

#include "engine/translator/context.h"
#include "state/wave.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::PHINode;

std::vector<unsigned> entry_blocks(const Routine& routine) {
  std::vector<unsigned> result;
  for (unsigned i = 0; i < routine.blocks.size(); ++i)
    if (routine.blocks[i].is_entry) result.push_back(i);
  return result;
}

Emitter::Emitter(llvm::Module& module, const Routine& routine, const Facts& facts)
    : module_(module), context_(module.getContext()), routine_(routine), facts_(facts), ir_(context_) {
  i1_ = ir_.getInt1Ty();
  i16_ = ir_.getInt16Ty();
  i32_ = ir_.getInt32Ty();
  i64_ = ir_.getInt64Ty();
  pointer_ = ir_.getPtrTy();
  lanes_ = llvm::FixedVectorType::get(i32_, 16);
  lane_mask_ = llvm::FixedVectorType::get(i1_, 16);
}

llvm::Function* Emitter::emit(const std::string& name) {
  make_function(name);
  for (unsigned i = 0; i < routine_.blocks.size(); ++i) emit_block(i);
  emit_entries();
  return function_;
}

void Emitter::make_function(const std::string& name) {
  auto* type = llvm::FunctionType::get(i32_, {pointer_, pointer_, i32_, i64_}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setDoesNotThrow();
  wave_ = function_->getArg(0);
  dispatch_ = function_->getArg(1);
  function_->addParamAttr(0, llvm::Attribute::NoAlias);
  entry_ = new_block("entry");
  for (const Block& block : routine_.blocks) {
    (void)block;
    blocks_.push_back(new_block("block"));
  }
  ir_.SetInsertPoint(entry_);
  const auto field = [&](size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), wave_, offset);
  };
  vgprs_ = ir_.CreateLoad(pointer_, field(offsetof(Wave, vgprs)), "vgprs");
  lds_ = ir_.CreateLoad(pointer_, field(offsetof(Wave, lds)), "lds");
  lds_bytes_ = ir_.CreateZExt(ir_.CreateLoad(i32_, field(offsetof(Wave, lds_bytes))), i64_, "lds_bytes");
  budget_ = ir_.CreateAlloca(i64_);
  ir_.CreateStore(function_->getArg(3), budget_);
  words_ = ir_.CreateAlloca(llvm::ArrayType::get(lanes_, 16));
  masks_ = ir_.CreateAlloca(llvm::ArrayType::get(i16_, 4));
  result_words_ = ir_.CreateAlloca(llvm::ArrayType::get(lanes_, 8));
  result_mask_ = ir_.CreateAlloca(lane_mask_);
  arguments_ = ir_.CreateAlloca(llvm::ArrayType::get(i64_, 4));
  scalar_result_ = ir_.CreateAlloca(llvm::ArrayType::get(i64_, 3));
  for (auto& doubt : doubt_) doubt = ir_.CreateAlloca(lanes_);
  // For the runtime functions, which take lanes in memory: two address registers and four of data.
  buffer_ = ir_.CreateAlloca(llvm::ArrayType::get(lanes_, 6 * kHalves));

  // One way out for all that leave.
  leave_ = new_block("leave");
  ir_.SetInsertPoint(leave_);
  leave_offset_ = ir_.CreatePHI(i64_, 8);
  leave_budget_ = ir_.CreatePHI(i64_, 8);
  leave_state_ = ir_.CreatePHI(ir_.getInt8Ty(), 8);
  leave_how_ = ir_.CreatePHI(i32_, 8);
  Value* entry_pc = ir_.CreateLoad(
      i64_, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), dispatch_, offsetof(Context, entry)));
  ir_.CreateStore(ir_.CreateAdd(entry_pc, leave_offset_), field(offsetof(Wave, pc)));
  ir_.CreateStore(leave_budget_, field(offsetof(Wave, budget)));
  ir_.CreateStore(leave_state_, field(offsetof(Wave, state)));
  ir_.CreateRet(leave_how_);
}

// A switch over the entry numbers. A loop header with other predecessors is entered through a stub that loads
// what the loop holds in host registers.
void Emitter::emit_entries() {
  const auto entries = entry_blocks(routine_);
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
      for (unsigned half = 0; half < (is_vgpr(r) ? kHalves : 1); ++half) {
        llvm::AllocaInst* home = slot(r, half);
        ir_.CreateStore(
            ir_.CreateAlignedLoad(home->getAllocatedType(), wave_address(r, half), llvm::Align(4)), home);
      }
    }
    ir_.CreateBr(blocks_[index]);
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
  locals_ = Locals{};
  locals_.held = facts.held;
  locals_.dirty = facts.dirty;
  half_masks_.clear();
  expanded_masks_.clear();
  address_facts_.clear();
  block_first_ = block.first;
  for (unsigned n = block.first; n < block.last; ++n) {
    const Node& node = routine_.nodes[n];
    if (joins_run(n)) {
      add_to_run(n);
      continue;
    }
    switch (node.kind) {
      case NodeKind::nothing:
        continue;
      case NodeKind::branch:
      case NodeKind::barrier:
      case NodeKind::sleep:
      case NodeKind::end:
        continue;
      default:
        break;
    }
    end_run();
    if (joins_run(n)) {
      add_to_run(n);
    } else if (node.kind == NodeKind::scalar_alu) {
      emit_scalar(n);
    } else if (node.kind == NodeKind::store_wait) {
      ir_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
    } else if (node.kind == NodeKind::scalar_load) {
      emit_scalar_load(n);
    } else {
      emit_global(n);
    }
  }
  end_run();
  emit_end(index);
}

// ---- Registers
// ----------------------------------------------------------------------------------------------------

llvm::AllocaInst* Emitter::slot(unsigned number, unsigned half) {
  llvm::AllocaInst*& home = slots_[{number, half}];
  if (!home) {
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    home = at_entry.CreateAlloca(is_vgpr(number) ? static_cast<llvm::Type*>(lanes_) : i32_);
  }
  return home;
}

llvm::Value* Emitter::wave_address(unsigned number, unsigned half) {
  if (is_vgpr(number))
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), vgprs_, number * 128 + half * 64);
  const unsigned code = number == kScc ? isa::code::kScc : number - kFirstScalar;
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), wave_, offsetof(Wave, scalar) + code * 4);
}

// Makes sure that the register's value is among the locals.
void Emitter::hold(unsigned number) {
  const bool in_host = locals_.held[number];
  for (unsigned half = 0; half < (is_vgpr(number) ? kHalves : 1); ++half) {
    Value*& local = is_vgpr(number) ? locals_.vgpr[number][half] : locals_.scalar[number - kFirstScalar];
    if (local) continue;
    llvm::AllocaInst* home = slot(number, half);
    local = in_host
                ? static_cast<Value*>(ir_.CreateLoad(home->getAllocatedType(), home))
                : ir_.CreateAlignedLoad(home->getAllocatedType(), wave_address(number, half), llvm::Align(4));
  }
  locals_.held.set(number);
}

llvm::Value* Emitter::vgpr(unsigned number, unsigned half) {
  hold(number);
  return locals_.vgpr[number][half];
}

void Emitter::set_vgpr(unsigned number, unsigned half, Value* value) {
  locals_.vgpr[number][half] = value;
  locals_.dirty.set(number);
  // The other half still has to be read from where the register was.
  if (half == kHalves - 1) locals_.held.set(number);
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

void Emitter::flush_locals() {
  for (unsigned r = 0; r < kRegisters; ++r) {
    for (unsigned half = 0; half < (is_vgpr(r) ? kHalves : 1); ++half) {
      Value* local = is_vgpr(r) ? locals_.vgpr[r][half] : locals_.scalar[r - kFirstScalar];
      if (local) ir_.CreateStore(local, slot(r, half));
    }
  }
}

void Emitter::store_to_wave(const Locals& locals, RegisterSet which) {
  which &= locals.dirty & locals.held;
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!which[r]) continue;
    for (unsigned half = 0; half < (is_vgpr(r) ? kHalves : 1); ++half) {
      Value* value = is_vgpr(r) ? locals.vgpr[r][half] : locals.scalar[r - kFirstScalar];
      if (!value) value = ir_.CreateLoad(slot(r, half)->getAllocatedType(), slot(r, half));
      if (is_vgpr(r) && locals.off_lanes[r][half]) {
        // A merge that waited; EXEC is what it was when the value was written.
        Value* exec = locals.scalar[kExec - kFirstScalar];
        if (!exec) exec = ir_.CreateLoad(i32_, slot(kExec));
        Value* on = ir_.CreateBitCast(half_bits(exec, half), lane_mask_);
        value = ir_.CreateSelect(on, value, locals.off_lanes[r][half]);
      }
      ir_.CreateAlignedStore(value, wave_address(r, half), llvm::Align(4));
    }
  }
}

// ---- Leaving
// ------------------------------------------------------------------------------------------------------

void Emitter::leave(Value* offset, Value* budget, unsigned state, unsigned how) {
  BasicBlock* from = ir_.GetInsertBlock();
  leave_offset_->addIncoming(offset, from);
  leave_budget_->addIncoming(budget, from);
  leave_state_->addIncoming(ir_.getInt8(static_cast<uint8_t>(state)), from);
  leave_how_->addIncoming(ir_.getInt32(how), from);
  ir_.CreateBr(leave_);
}

BasicBlock* Emitter::leave_to_interpreter(const Snapshot& at) {
  llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  BasicBlock* block = new_block("interpret");
  ir_.SetInsertPoint(block);
  store_to_wave(at.locals, facts_.nodes[at.node].live.all());
  Value* executed = ir_.getInt64(at.node - block_first_);
  leave(ir_.getInt64(static_cast<uint64_t>(routine_.nodes[at.node].offset)),
        ir_.CreateSub(ir_.CreateLoad(i64_, budget_), executed), static_cast<unsigned>(WaveState::ready),
        static_cast<unsigned>(Leave::interpret));
  return block;
}

// ---- Small things
// -------------------------------------------------------------------------------------------------

BasicBlock* Emitter::new_block(const char* name) {
  return BasicBlock::Create(context_, name, function_);
}

llvm::Value* Emitter::half_bits(Value* word, unsigned half) {
  return ir_.CreateTrunc(half == 0 ? word : ir_.CreateLShr(word, 16), i16_);
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
  return callee;
}

}  // namespace lockstep::translator

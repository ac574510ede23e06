// Runs of vector instructions: emitted for one half of the lanes and then for the other, so that few host
// registers are in use at a time. Doubt about float results is settled once at the end of the run.
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "semantics/memory_shape.h"

namespace lockstep::translator {

namespace {

constexpr size_t kMaxRun = 32;

// Scalar registers that an instruction reads as a number, not as one bit a lane.
RegisterSet scalar_number_reads(const Node& node) {
  RegisterSet reads;
  const isa::Instruction& instruction = node.instruction;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.is_vgpr() || operand.type == isa::Type::mask || operand.type == isa::Type::label) continue;
    if ((operand.role == isa::Role::dst || operand.role == isa::Role::dst2) && !operand.read) continue;
    const auto source = source_of(operand, instruction);
    if (!source || source->is_constant) continue;
    for (unsigned word = 0; word < operand.words; ++word) reads.set(source->first + word);
  }
  return reads;
}

}  // namespace

bool Emitter::joins_run(unsigned index) const {
  const Node& node = routine_.nodes[index];
  if (run_.nodes.size() >= kMaxRun) return false;
  const Effects& effects = facts_.nodes[index].effects;
  const auto touches_mask = [&](const RegisterSet& set) {
    for (const auto& [number, halves] : run_.masks)
      if (set[number]) return true;
    return false;
  };
  switch (node.kind) {
    case NodeKind::vector_alu:
    case NodeKind::dual:
      return !touches_mask(scalar_number_reads(node));
    case NodeKind::lds: {
      // All lanes of an instruction come before those of the next one: order matters around stores.
      // Regular addresses are recognised before the run.
      if (run_.writes[node.instruction.find(isa::Role::addr)->vgpr()]) return false;
      const bool is_store =
          semantics::access_shape(node.instruction.row->opcode).kind == semantics::AccessShape::Kind::store;
      if (is_store) return !run_.loads_lds && !run_.stores_lds && !run_.masks.contains(kExec);
      return !run_.stores_lds;
    }
    case NodeKind::scalar_alu:
      if (run_.nodes.empty() || effects.writes[kExec]) return false;
      return !touches_mask(effects.reads) && !touches_mask(effects.writes);
    default:
      return false;
  }
}

void Emitter::add_to_run(unsigned index) {
  const Node& node = routine_.nodes[index];
  run_.nodes.push_back(index);
  run_.writes |= facts_.nodes[index].effects.writes;
  if (node.kind == NodeKind::lds) {
    const bool is_store =
        semantics::access_shape(node.instruction.row->opcode).kind == semantics::AccessShape::Kind::store;
    (is_store ? run_.stores_lds : run_.loads_lds) = true;
  }
  if (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual) {
    for (const Half& half : halves_of(node.instruction))
      run_.casts_doubt |= vector_signature(half.row->base).takes_mode;
    const RegisterSet& writes = facts_.nodes[index].effects.writes;
    for (unsigned r = kFirstScalar; r < kRegisters; ++r)
      if (writes[r]) run_.masks.try_emplace(r);
  }
}

void Emitter::end_run() {
  if (run_.nodes.empty()) return;
  const Snapshot start = snapshot(run_.nodes.front());
  // EXEC only shrinks inside a run: the lanes that are on now are all that can be in doubt.
  HalfValues exec_at_start{};
  if (run_.casts_doubt) {
    for (unsigned half = 0; half < kHalves; ++half) {
      exec_at_start[half] = half_bits(scalar(kExec), half);
      ir_.CreateStore(llvm::Constant::getNullValue(lanes_), doubt_[half]);
    }
  }
  if (run_.loads_lds || run_.stores_lds) {
    Value* regular = lds_is_regular();
    llvm::BasicBlock *fast = new_block("regular"), *slow = new_block("by_lanes"),
                     *joined = new_block("joined");
    branch_unlikely(ir_.CreateNot(regular), slow, fast);
    // What is remembered of values inside one way is no good in the other or behind it.
    const auto half_masks = half_masks_;
    const auto expanded_masks = expanded_masks_;
    const auto address_facts = address_facts_;
    const Locals before = locals_;
    const Run run = run_;
    Locals ends[2];
    llvm::BasicBlock* end_blocks[2];
    for (const bool is_regular : {true, false}) {
      ir_.SetInsertPoint(is_regular ? fast : slow);
      locals_ = before;
      run_ = run;
      half_masks_ = half_masks;
      expanded_masks_ = expanded_masks;
      address_facts_ = address_facts;
      emit_run(is_regular);
      ends[!is_regular] = locals_;
      end_blocks[!is_regular] = ir_.GetInsertBlock();
      ir_.CreateBr(joined);
    }
    half_masks_ = half_masks;
    expanded_masks_ = expanded_masks;
    address_facts_ = address_facts;
    ir_.SetInsertPoint(joined);
    join_locals(before, ends[0], end_blocks[0], ends[1], end_blocks[1]);
  } else {
    emit_run(true);
  }
  if (run_.casts_doubt) check_doubt(start, exec_at_start);
  run_ = Run{};
}

void Emitter::emit_run(bool regular_lds) {
  for (pass_ = 0; pass_ < kHalves; ++pass_) {
    for (unsigned n : run_.nodes) {
      switch (routine_.nodes[n].kind) {
        case NodeKind::scalar_alu:
          if (pass_ == 0) emit_scalar(n);
          break;
        case NodeKind::lds:
          if (regular_lds)
            emit_regular_lds(n, pass_);
          else
            emit_lds_by_lanes(n, pass_);
          break;
        default:
          emit_vector(n, pass_);
      }
    }
  }
  pass_ = 0;
  for (const auto& [number, halves] : run_.masks) {
    Value* low = ir_.CreateZExt(halves[0].bits, i32_);
    Value* high = ir_.CreateZExt(halves[1].bits, i32_);
    Value* whole = ir_.CreateOr(low, ir_.CreateShl(high, 16));
    set_scalar(number, whole);
    for (unsigned half = 0; half < kHalves; ++half) half_masks_[{whole, half}] = halves[half].bits;
  }
}

void Emitter::join_locals(const Locals& before, const Locals& first, llvm::BasicBlock* first_end,
                          const Locals& second, llvm::BasicBlock* second_end) {
  locals_ = before;
  const auto join = [&](Value* a, Value* b) -> Value* {
    if (a == b || !a || !b) return a == b ? a : nullptr;
    llvm::PHINode* phi = ir_.CreatePHI(a->getType(), 2);
    phi->addIncoming(a, first_end);
    phi->addIncoming(b, second_end);
    return phi;
  };
  for (unsigned r = 0; r < kRegisters; ++r) {
    bool known = true;
    for (unsigned half = 0; half < (is_vgpr(r) ? kHalves : 1); ++half) {
      if (is_vgpr(r)) {
        locals_.off_lanes[r][half] = join(first.off_lanes[r][half], second.off_lanes[r][half]);
        locals_.vgpr[r][half] = join(first.vgpr[r][half], second.vgpr[r][half]);
        known &= locals_.vgpr[r][half] != nullptr;
      } else {
        Value*& local = locals_.scalar[r - kFirstScalar];
        local = join(first.scalar[r - kFirstScalar], second.scalar[r - kFirstScalar]);
        known &= local != nullptr;
      }
    }
    // Only read, and only on one way: it stays where it was.
    if (known) locals_.held.set(r);
    if (first.dirty[r]) locals_.dirty.set(r);
  }
}

// Doubt in a lane that was on: the interpreter does the run again, from its start.
void Emitter::check_doubt(const Snapshot& start, const HalfValues& exec_at_start) {
  Value* lanes[kHalves];
  for (unsigned half = 0; half < kHalves; ++half) lanes[half] = ir_.CreateLoad(lanes_, doubt_[half]);
  Value* any = ir_.CreateICmpNE(ir_.CreateOrReduce(ir_.CreateOr(lanes[0], lanes[1])), ir_.getInt32(0));
  llvm::BasicBlock *look = new_block("doubt"), *go_on = new_block("certain");
  branch_unlikely(any, look, go_on);
  ir_.SetInsertPoint(look);
  Value* in_doubt = nullptr;
  for (unsigned half = 0; half < kHalves; ++half) {
    Value* bits =
        ir_.CreateBitCast(ir_.CreateICmpNE(lanes[half], llvm::Constant::getNullValue(lanes_)), i16_);
    bits = ir_.CreateAnd(bits, exec_at_start[half]);
    in_doubt = in_doubt ? ir_.CreateOr(in_doubt, bits) : bits;
  }
  ir_.CreateCondBr(ir_.CreateICmpNE(in_doubt, ir_.getInt16(0)), leave_to_interpreter(start), go_on);
  ir_.SetInsertPoint(go_on);
}

llvm::Value* Emitter::bits_of_register(unsigned number, unsigned half) {
  const auto found = run_.masks.find(number);
  if (found != run_.masks.end() && found->second[half].bits) return found->second[half].bits;
  Value* word = run_scalar(number);
  Value*& bits = half_masks_[{word, half}];
  if (!bits) bits = half_bits(word, half);
  return bits;
}

llvm::Value* Emitter::lanes_from_bits(Value* bits) {
  Value*& expanded = expanded_masks_[bits];
  if (!expanded) expanded = ir_.CreateBitCast(bits, lane_mask_);
  return expanded;
}

llvm::Value* Emitter::mask_of_register(unsigned number, unsigned half) {
  const auto found = run_.masks.find(number);
  if (found != run_.masks.end() && found->second[half].raw) return found->second[half].raw;
  return lanes_from_bits(bits_of_register(number, half));
}

// A scalar instruction of the run may have changed the register since: the second pass reads what the first
// did.
llvm::Value* Emitter::run_scalar(unsigned number) {
  if (run_.nodes.empty()) return scalar(number);
  if (pass_ == 0) {
    run_.scalar_reads.push_back(scalar(number));
    return run_.scalar_reads.back();
  }
  return run_.scalar_reads[run_.next_read++];
}

// A write that must keep the lanes that are off only notes what they hold: other instructions under the same
// EXEC do not look at them.
void Emitter::write_lanes(const NodeFacts& facts, unsigned number, unsigned half, Value* value) {
  if (facts.merged[number]) {
    Value* old = vgpr(number, half);
    Value*& off = locals_.off_lanes[number][half];
    if (!off) off = old;
    hold(kExec);
  }
  set_vgpr(number, half, value);
}

void Emitter::merge_waiting(unsigned half) {
  for (unsigned r = 0; r < kVgprs; ++r) {
    Value*& off = locals_.off_lanes[r][half];
    if (!off) continue;
    locals_.vgpr[r][half] = ir_.CreateSelect(exec_mask(half), locals_.vgpr[r][half], off);
    off = nullptr;
  }
}

}  // namespace lockstep::translator

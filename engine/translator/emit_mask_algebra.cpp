// Scalar instructions that combine masks of lanes within a run of vector instructions, as compilers make of
// conditions of several parts: they are computed by chunks, so that comparisons go on to selections as lanes.
#include <algorithm>

#include "engine/translator/emitter.h"
#include "engine/translator/mask_algebra.h"
#include "engine/translator/operands.h"

namespace lockstep::translator {

namespace {

bool is_binary(MaskOperation operation) {
  return operation != MaskOperation::move && operation != MaskOperation::invert;
}

// Whether lanes that are off in both masks are off in the result.
bool keeps_zeros(MaskOperation operation) {
  return !result_of(operation, false, false);
}

// 0 or -1 in all bits of a wave.
bool is_same_in_all_bits(uint64_t value, unsigned wave_size) {
  const uint64_t bits = wave_size == 64 ? value : value << 32;
  return bits == 0 || bits == (wave_size == 64 ? ~uint64_t{0} : ~uint64_t{0} << 32);
}

}  // namespace

// Whether a vector instruction soon reads the mask, or what is made of it.
bool Emitter::is_read_by_lanes(unsigned index, unsigned mask) const {
  constexpr unsigned kSoon = 16;
  RegisterSet made;
  made.set(mask);
  for (unsigned n = index + 1; n < std::min(block_last_, index + kSoon) && made.any(); ++n) {
    const Node& node = routine_.nodes[n];
    const Effects& effects = facts_.nodes[n].effects;
    const bool reads = (effects.reads & made).any();
    if (reads && (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual)) return true;
    made &= ~effects.writes;
    if (!reads || node.kind != NodeKind::scalar_alu) continue;
    const auto algebra = mask_instruction(node.instruction.row->base, routine_.wave_size);
    if (!algebra || algebra->saves_exec) continue;
    if (const auto result = scalar_destination(*node.instruction.find(isa::Role::dst))) made.set(*result);
  }
  return false;
}

// Whether it combines masks that are known by chunks for the sake of vector instructions, and nobody asks
// whether all lanes of the result are off, which SCC says. Others are one number for the whole wave sooner.
bool Emitter::computes_run_mask(unsigned index) const {
  const Node& node = routine_.nodes[index];
  if (node.kind != NodeKind::scalar_alu) return false;
  const isa::Instruction& instruction = node.instruction;
  const auto algebra = mask_instruction(instruction.row->base, routine_.wave_size);
  if (!algebra || algebra->saves_exec) return false;
  if (facts_.nodes[index].effects.writes[kScc] && live_behind(index).all()[kScc]) return false;
  const auto is_mask = [&](unsigned number) {
    return number >= kFirstScalar && number <= kVcc && number % mask_words() == 0;
  };
  const auto destination = scalar_destination(*instruction.find(isa::Role::dst));
  if (!destination || !is_mask(*destination)) return false;
  bool has_run_mask = false;
  for (const isa::Role role : {isa::Role::src0, isa::Role::src1}) {
    if (role == isa::Role::src1 && !is_binary(algebra->operation)) break;
    const auto source = source_of(*instruction.find(role), instruction);
    if (!source) return false;
    if (source->is_constant) {
      if (!is_same_in_all_bits(source->value, routine_.wave_size)) return false;
      continue;
    }
    if (source->first == kExec) continue;
    if (!is_mask(source->first) || !run_.masks.contains(source->first)) return false;
    has_run_mask = true;
  }
  // A quotient's scaling is moved to VCC long before it is read.
  return has_run_mask && (algebra->operation == MaskOperation::move || is_read_by_lanes(index, *destination));
}

// In the chunk in work. Lanes that are off may be anything in what is `raw`.
Emitter::LaneMask Emitter::mask_operand(const isa::Operand& operand, const isa::Instruction& instruction) {
  const Source source = *source_of(operand, instruction);
  LaneMask mask;
  if (source.is_constant) {
    mask.bits = ir_.getInt16(static_cast<uint16_t>(source.value));
    mask.raw = source.value == 0 ? llvm::Constant::getNullValue(lane_mask_)
                                 : llvm::Constant::getAllOnesValue(lane_mask_);
    return mask;
  }
  if (const auto found = run_.masks.find(source.first);
      source.first != kExec && found != run_.masks.end() && found->second[pass_].bits)
    return found->second[pass_];
  mask.bits = bits_of_register(source.first, pass_, &mask.exec);
  if (source.first == kExec) mask.raw = mask.compared = llvm::Constant::getAllOnesValue(lane_mask_);
  return mask;
}

// Of lanes or of bits. Hosts without registers for masks have lanes as signs of numbers.
llvm::Value* Emitter::combined(MaskOperation operation, Value* a, Value* b) {
  const bool as_numbers = a->getType() == lane_mask_ && !has_masked_gathers_;
  if (as_numbers) {
    a = ir_.CreateSExt(a, lanes_);
    if (b) b = ir_.CreateSExt(b, lanes_);
  }
  const auto result = [&]() -> Value* {
    switch (operation) {
      case MaskOperation::move:
        return a;
      case MaskOperation::invert:
        return ir_.CreateNot(a);
      case MaskOperation::both:
        return ir_.CreateAnd(a, b);
      case MaskOperation::either:
        return ir_.CreateOr(a, b);
      case MaskOperation::one:
        return ir_.CreateXor(a, b);
      case MaskOperation::first_only:
        return ir_.CreateAnd(a, ir_.CreateNot(b));
      case MaskOperation::first_or_not:
        return ir_.CreateOr(a, ir_.CreateNot(b));
    }
    return nullptr;
  }();
  return as_numbers ? ir_.CreateICmpSLT(result, llvm::Constant::getNullValue(lanes_)) : result;
}

void Emitter::emit_mask_algebra(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const MaskOperation operation = mask_instruction(instruction.row->base, routine_.wave_size)->operation;
  const LaneMask a = mask_operand(*instruction.find(isa::Role::src0), instruction);
  const LaneMask b = is_binary(operation) ? mask_operand(*instruction.find(isa::Role::src1), instruction) : a;
  LaneMask& result = run_.masks[*scalar_destination(*instruction.find(isa::Role::dst))][pass_];
  LaneMask made;
  if (a.raw && b.raw) made.raw = combined(operation, a.raw, b.raw);
  if (a.compared && b.compared && a.exec && a.exec == b.exec && keeps_zeros(operation)) {
    made.compared =
        a.compared == a.raw && b.compared == b.raw ? made.raw : combined(operation, a.compared, b.compared);
    made.exec = a.exec;
  }
  made.bits = combined(operation, a.bits, b.bits);
  result = made;
}

}  // namespace lockstep::translator

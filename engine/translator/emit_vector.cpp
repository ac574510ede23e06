// Vector ALU instructions: operands, modifiers, the body of semantics/, results.
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"

namespace lockstep::translator {

using llvm::Value;

namespace {

using isa::Role;

Value* splat(llvm::IRBuilder<>& ir, Value* word) {
  return ir.CreateVectorSplat(16, word);
}
Value* splat(llvm::IRBuilder<>& ir, uint32_t word) {
  return ir.CreateVectorSplat(16, ir.getInt32(word));
}

// abs and neg on the sign at `bit`.
Value* with_sign(llvm::IRBuilder<>& ir, Value* value, bool abs, bool neg, unsigned bit) {
  if (abs) value = ir.CreateAnd(value, splat(ir, (1u << bit) - 1));
  if (neg) value = ir.CreateXor(value, splat(ir, 1u << bit));
  return value;
}

Value* half_word(llvm::IRBuilder<>& ir, Value* value, bool high) {
  return high ? ir.CreateLShr(value, splat(ir, 16)) : ir.CreateAnd(value, splat(ir, 0xffff));
}

const char* output_function(const Operand& result) {
  switch (result.kind) {
    case Operand::Kind::half:
      return "lockstep_output_f16";
    case Operand::Kind::pair:
      return "lockstep_output_f64";
    default:
      return "lockstep_output_f32";
  }
}

}  // namespace

Value* Emitter::source_word(const isa::Operand& operand, const isa::Instruction& instruction, unsigned word,
                            unsigned chunk) {
  const Source source = *source_of(operand, instruction);
  if (source.is_constant) return splat(ir_, static_cast<uint32_t>(source.value >> (32 * word)));
  if (is_vgpr(source.first)) return vgpr(source.first + word, chunk);
  return splat(ir_, run_scalar(source.first + word));
}

llvm::Function* Emitter::body_function(const std::string& name, bool scalar) {
  if (llvm::Function* known = module_.getFunction(name)) return known;
  std::vector<llvm::Type*> parameters(scalar ? 2 : 5, pointer_);
  return llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), parameters, false),
                                llvm::Function::ExternalLinkage, name, module_);
}

void Emitter::call(const std::string& function, std::vector<Value*> arguments) {
  ir_.CreateCall(body_function(function, arguments.size() == 2), arguments);
}

void Emitter::emit_vector(unsigned index, unsigned chunk) {
  const Node& node = routine_.nodes[index];
  // Both halves of a VOPD pair read before either writes.
  PendingWrites writes;
  for (const Half& part : halves_of(node.instruction))
    emit_vector_half(node.instruction, part, chunk, writes);
  for (const auto& [number, value] : writes.registers) write_lanes(facts_.nodes[index], number, chunk, value);
  for (const auto& [number, mask] : writes.masks) {
    if (number == kExec) merge_waiting(chunk);
    run_.masks[number][chunk] = mask;
  }
}

void Emitter::emit_vector_half(const isa::Instruction& instruction, const Half& part, unsigned chunk,
                               PendingWrites& writes) {
  const VectorSignature& signature = vector_signature(part.row->base);
  std::vector<const isa::Operand*> sources;
  const isa::Operand *destination = nullptr, *mask_destination = nullptr;
  for (unsigned i = part.first; i < part.last; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.role == Role::dst)
      destination = &operand;
    else if (operand.role == Role::dst2)
      mask_destination = &operand;
    else
      sources.push_back(&operand);
  }
  // The old destination comes after the sources.
  if (destination && destination->read) sources.push_back(destination);
  if (signature.result.kind == Operand::Kind::none) std::swap(destination, mask_destination);

  // Arguments in memory (body_abi.h).
  bool neg_is_sign = false;
  for (unsigned i = 0; i < signature.count; ++i)
    neg_is_sign |= signature.parameters[i].kind == Operand::Kind::sign_bits;
  unsigned next_word = 0, next_mask = 0, next_source = 0;
  const auto pass_word = [&](Value* value) {
    ir_.CreateStore(value,
                    ir_.CreateConstInBoundsGEP2_32(words_->getAllocatedType(), words_, 0, next_word++));
  };
  const auto pass_mask = [&](Value* value) {
    ir_.CreateStore(value,
                    ir_.CreateConstInBoundsGEP2_32(masks_->getAllocatedType(), masks_, 0, next_mask++));
  };
  for (unsigned i = 0; i < signature.count; ++i) {
    const Operand& parameter = signature.parameters[i];
    switch (parameter.kind) {
      case Operand::Kind::mode:
        continue;
      case Operand::Kind::lane_numbers: {
        std::vector<llvm::Constant*> numbers;
        for (unsigned lane = 0; lane < 16; ++lane) numbers.push_back(ir_.getInt32(lane + 16 * chunk));
        pass_word(llvm::ConstantVector::get(numbers));
        continue;
      }
      case Operand::Kind::sign_bits:
        pass_mask(ir_.getInt16(sources[0]->neg | sources[1]->neg << 1));
        continue;
      case Operand::Kind::mask: {
        const bool implied = next_source >= sources.size();
        if (implied) {
          pass_mask(mask_of_register(kVcc, chunk));
          continue;
        }
        const Source source = *source_of(*sources[next_source++], instruction);
        pass_mask(source.is_constant
                      ? static_cast<Value*>(ir_.getInt16(static_cast<uint16_t>(source.value >> (16 * chunk))))
                      : mask_of_register(source.first, chunk));
        continue;
      }
      default:
        break;
    }
    const isa::Operand& operand = *sources[next_source++];
    const bool abs = operand.abs && (part.row->flags & isa::kCanAbs), neg = operand.neg && !neg_is_sign;
    if (parameter.kind == Operand::Kind::half) {
      Value* value = half_word(ir_, source_word(operand, instruction, 0, chunk), operand.high);
      pass_word(with_sign(ir_, value, abs, neg, 15));
    } else {
      for (unsigned word = 0; word < parameter.words; ++word) {
        const bool has_sign = word + 1 == parameter.words;
        pass_word(with_sign(ir_, source_word(operand, instruction, word, chunk), has_sign && abs,
                            has_sign && neg, 31));
      }
    }
  }

  const bool saturate = instruction.clamp && signature.saturates;
  const std::string name(isa::name(part.row->base));
  call((saturate ? "lockstep_saturated_" : "lockstep_body_") + name,
       {words_, masks_, result_words_, result_mask_, doubt_[chunk]});
  if (!saturate && signature.result.is_float && (instruction.omod || instruction.clamp)) {
    const unsigned words = signature.result.kind == Operand::Kind::pair ? 2 : 1;
    next_word = next_mask = 0;
    for (unsigned word = 0; word < words; ++word)
      pass_word(ir_.CreateLoad(
          lanes_, ir_.CreateConstInBoundsGEP2_32(result_words_->getAllocatedType(), result_words_, 0, word)));
    pass_mask(ir_.getInt16(static_cast<uint16_t>(instruction.omod | instruction.clamp << 2)));
    call(output_function(signature.result), {words_, masks_, result_words_, result_mask_, doubt_[chunk]});
  }

  if (destination && signature.result.kind != Operand::Kind::none) {
    const auto result_word = [&](unsigned word) {
      return ir_.CreateLoad(
          lanes_, ir_.CreateConstInBoundsGEP2_32(result_words_->getAllocatedType(), result_words_, 0, word));
    };
    if (signature.result.kind == Operand::Kind::half) {
      Value* old = vgpr(destination->vgpr(), chunk);
      Value* value = result_word(0);
      value = destination->high
                  ? ir_.CreateOr(ir_.CreateAnd(old, splat(ir_, 0xffff)), ir_.CreateShl(value, splat(ir_, 16)))
                  : ir_.CreateOr(ir_.CreateAnd(old, splat(ir_, 0xffff0000u)), value);
      writes.registers.emplace_back(destination->vgpr(), value);
    } else {
      for (unsigned word = 0; word < signature.result.words; ++word)
        writes.registers.emplace_back(destination->vgpr() + word, result_word(word));
    }
  }
  if (signature.has_mask && mask_destination) {
    if (const auto number = scalar_destination(*mask_destination)) {
      // Lanes that are off read as 0 in a compare or carry mask (guide 7.2.5).
      Value* raw = ir_.CreateLoad(lane_mask_, result_mask_);
      Value* bits = ir_.CreateAnd(ir_.CreateBitCast(raw, i16_), bits_of_register(kExec, chunk));
      writes.masks.push_back({*number, LaneMask{*number == kExec ? nullptr : raw, bits}});
    }
  }
}

}  // namespace lockstep::translator

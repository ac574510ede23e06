// WMMA: a function of the host computes on the registers, which are in the Wave.
#include "engine/scalar_operand.h"
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"

namespace lockstep::translator {

namespace {

MatrixCall matrix_call(const isa::Instruction& instruction) {
  MatrixCall call;
  call.registers = instruction.find(isa::Role::dst)->vgpr();
  if (instruction.op_sel >> 2 & 1) call.modifiers |= kHighHalves;
  if (instruction.clamp) call.modifiers |= kClamped;
  unsigned source = 0;
  for (const isa::Role role : {isa::Role::src0, isa::Role::src1, isa::Role::src2}) {
    const isa::Operand& operand = *instruction.find(role);
    call.modifiers |= uint32_t{operand.neg} << (MatrixCall::kNeg + source);
    call.modifiers |= uint32_t{operand.neg_hi} << (MatrixCall::kNegHigh + source);
    ++source;
    if (operand.is_vgpr()) {
      call.registers |= operand.vgpr() << (8 * source);
    } else {
      call.modifiers |= kConstantAddend | (is_float_constant(operand.code) ? kFloatAddend : 0);
      call.constant = static_cast<uint32_t>(source_of(operand, instruction)->value);
    }
  }
  return call;
}

}  // namespace

// All lanes, whatever EXEC says.
void Emitter::emit_matrix(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const Effects& effects = facts_.nodes[index].effects;
  store_to_wave(locals_, effects.reads);
  const MatrixCall call = matrix_call(instruction);
  auto function = runtime("lockstep_translator_matrix", ir_.getVoidTy(), {pointer_, i32_, i32_, i32_, i32_});
  llvm::cast<llvm::Function>(function.getCallee())->removeFnAttr(llvm::Attribute::Cold);
  ir_.CreateCall(function,
                 {wave(), ir_.getInt32(static_cast<uint32_t>(instruction.row->opcode)),
                  ir_.getInt32(call.registers), ir_.getInt32(call.modifiers), ir_.getInt32(call.constant)});
  forget(effects.reloaded);
  for (unsigned r = 0; r < kRegisters; ++r)
    if (effects.reloaded[r]) hold(r);
}

}  // namespace lockstep::translator

// GLOBAL and FLAT loads and stores that are one call, where there are too many of them (called_accesses.h).
// They find their registers in the Wave and leave there what they load, and so do waves that leave: nothing
// has to be in a host register from one of them to the next.
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/runtime.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

void Emitter::emit_called_access(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const GlobalOperands operands = global_operands(instruction);
  Value* base = ir_.getInt64(static_cast<uint64_t>(int64_t{instruction.offset}));
  if (operands.base) base = ir_.CreateAdd(base, scalar_source(*operands.base, instruction, 64));
  store_to_wave(locals_, facts_.nodes[index].live.all());
  let_go_of_all(facts_.nodes[index].effects.writes);
  const WaveAccess access{.address = static_cast<uint8_t>(operands.address.vgpr()),
                          .data = static_cast<uint8_t>(operands.data),
                          .wide = !operands.base,
                          .is_flat = instruction.row->encoding == isa::Encoding::flat};
  auto function =
      runtime("lockstep_translator_wave_access", i1_, {pointer_, pointer_, i32_, i32_, i32_, i64_});
  auto* callee = llvm::cast<llvm::Function>(function.getCallee());
  callee->addRetAttr(llvm::Attribute::ZExt);
  callee->removeFnAttr(llvm::Attribute::Cold);
  Value* fine = ir_.CreateCall(
      function, {wave(), dispatch_, ir_.getInt32(next_slot_++),
                 ir_.getInt32(memory_form(instruction.row->opcode)), ir_.getInt32(access.packed()), base});
  llvm::BasicBlock* accessed = new_block("accessed");
  branch_unlikely(ir_.CreateNot(fine), leave_to_interpreter(snapshot(index)), accessed);
  ir_.SetInsertPoint(accessed);
  if (!operands.is_load()) note_writes();
}

}  // namespace lockstep::translator

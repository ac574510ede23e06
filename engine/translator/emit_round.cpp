// Rounds of loops of one block, in its first version (emit_regular.cpp): what its addresses come from is
// looked at before the first one only.
#include <map>
#include <utility>

#include "engine/translator/emitter.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::Value;

// The first round, if the blocks before have found out what it would look for.
void Emitter::take_over_round(unsigned block) {
  if (plan_.known.empty()) return;
  llvm::AllocaInst* flag = is_kept(flag_of(block));
  Value* holds = ir_.CreateICmpNE(ir_.CreateLoad(i32_, flag), ir_.getInt32(0));
  // Waves may come here from the second version, too.
  ir_.CreateStore(ir_.getInt32(0), flag);
  BasicBlock *known = new_block("known"), *look = new_block("look");
  branch_unlikely(ir_.CreateNot(holds), look, known);
  ir_.SetInsertPoint(known);
  for (const auto& [number, origin] : plan_.known)
    for (unsigned chunk = 0; chunk < linear_parts(); ++chunk)
      ir_.CreateStore(ir_.CreateLoad(i32_, kept_first(origin, number, chunk)),
                      kept_first(block, number, chunk));
  round_ = new_block("round");
  ir_.CreateBr(round_);
  ir_.SetInsertPoint(look);
}

// What has been found out holds in all rounds: they begin behind that, with the roots as the last one left
// them. Lanes are made of these where somebody else wants them.
void Emitter::begin_round(unsigned block, Value* wrong) {
  Section& section = sections_.back();
  BasicBlock *other = new_block("not_linear"), *as_expected = new_block("linear");
  branch_unlikely(ir_.CreateICmpNE(wrong, ir_.getInt16(0)), other, as_expected);
  ir_.SetInsertPoint(other);
  forget_certain_walks(block);
  ir_.CreateBr(section.second);
  ir_.SetInsertPoint(as_expected);
  const auto parts = [&](const auto& visit) {
    for (const auto& [number, stride] : plan_.roots)
      for (unsigned chunk = 0; chunk < linear_parts(); ++chunk) visit(number, chunk, stride);
  };
  parts([&](unsigned number, unsigned chunk, int32_t) {
    ir_.CreateStore(linear(number, chunk).first, kept_first(block, number, chunk));
  });
  // What lanes that are off hold is nobody's business where nobody reads it.
  const RegisterSet in_lanes_on = locals_.linear_in_lanes_on & facts_.blocks[block].live_in.off;
  if (!round_) round_ = new_block("round");
  ir_.CreateBr(round_);
  ir_.SetInsertPoint(round_);
  forget_values();
  locals_ = section.locals;
  locals_.linear_in_lanes_on = in_lanes_on;
  parts([&](unsigned number, unsigned chunk, int32_t stride) {
    Linear root;
    root.stride = stride;
    root.root = static_cast<int>(number);
    root.first = ir_.CreateLoad(i32_, kept_first(block, number, chunk));
    set_linear(number, chunk, root);
  });
  section.locals = locals_;
}

// Of a chunk, or of all where addresses are linear in the wave.
void Emitter::set_linear(unsigned number, unsigned chunk, const Linear& value) {
  locals_.linear[number][chunk] = value;
  for (unsigned other = 1; is_linear_in_wave() && other < chunks_; ++other)
    locals_.linear[number][other] = linear_math_.from_lane(value, 16 * other);
}

void Emitter::end_round(unsigned block) {
  if (!round_) return;
  settle();
  std::map<std::pair<unsigned, unsigned>, Value*> firsts;
  const RegisterSet& in_lanes_on = sections_.front().locals.linear_in_lanes_on;
  for (const auto& [number, stride] : plan_.roots) {
    // Those that were linear in all lanes must be so again.
    if (locals_.linear_in_lanes_on[number] && !in_lanes_on[number]) {
      round_ = nullptr;
      return;
    }
    for (unsigned chunk = 0; chunk < linear_parts(); ++chunk) {
      const Ends ends = ends_of(linear(number, chunk));
      firsts[{number, chunk}] = ends.first;
      if (ends.last) linear_math_.add_doubt(ir_.CreateXor(ends.first, ends.last));
    }
  }
  settle();
  for (const auto& [root, first] : firsts) {
    const auto [number, chunk] = root;
    ir_.CreateStore(first, kept_first(block, number, chunk));
    if (linear(number, chunk).is_high) {
      Linear same;
      same.first = first;
      set_linear(number, chunk, same);
    }
    // Of the others the next round does not know whether all lanes are.
    if (!in_lanes_on[number]) without_slot_in_rounds_.set(number);
  }
}

}  // namespace lockstep::translator

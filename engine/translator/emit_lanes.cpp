// Lanes that read and write others: single ones, and permutations of rows and half-waves. Registers that M0
// chooses.
#include <llvm/IR/IntrinsicsX86.h>

#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "semantics/cross_lane.h"

namespace lockstep::translator {

using isa::Opcode;
using isa::Role;
using llvm::Value;

Value* Emitter::buffer_row(unsigned row, unsigned chunk) {
  return ir_.CreateConstInBoundsGEP2_32(buffer_->getAllocatedType(), buffer_, 0,
                                        row * chunks_of_wave() + chunk);
}

// An operand that is one number for the wave: of a VGPR lane 0.
Value* Emitter::uniform_source(const isa::Operand& operand, const isa::Instruction& instruction) {
  if (operand.is_vgpr()) return ir_.CreateExtractElement(all_lanes(operand.vgpr(), 0), uint64_t{0});
  return ir_.CreateTrunc(scalar_source(operand, instruction, 32), i32_);
}

// Guide 7.2.8; a lane is chosen at run time, so it goes through memory.
void Emitter::emit_lane_access(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const isa::Operand &destination = *instruction.find(Role::dst), &source = *instruction.find(Role::src0);
  const auto store_lanes = [&](unsigned number) {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      ir_.CreateStore(all_lanes(number, chunk), buffer_row(0, chunk));
  };
  const auto chosen = [&](Value* lane) {
    return ir_.CreateGEP(i32_, buffer_, ir_.CreateAnd(lane, ir_.getInt32(routine_.wave_size - 1)));
  };
  if (instruction.row->opcode == Opcode::v_writelane_b32) {
    Value *value = uniform_source(source, instruction),
          *lane = uniform_source(*instruction.find(Role::src1), instruction);
    store_lanes(destination.vgpr());
    ir_.CreateStore(value, chosen(lane));
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      set_vgpr(destination.vgpr(), chunk, ir_.CreateLoad(lanes_, buffer_row(0, chunk)));
    return;
  }
  Value* result;
  if (!source.is_vgpr()) {
    result = uniform_source(source, instruction);
  } else {
    Value* lane;
    if (instruction.row->opcode == Opcode::v_readlane_b32) {
      lane = uniform_source(*instruction.find(Role::src1), instruction);
    } else {
      // The lowest lane that is on; lane 0 if none is.
      Value* exec = whole_mask(kExec);
      Value* first = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, exec, ir_.getFalse());
      lane = ir_.CreateZExtOrTrunc(first, i32_);
    }
    store_lanes(source.vgpr());
    result = ir_.CreateLoad(i32_, chosen(lane));
  }
  if (const auto number = scalar_destination(destination)) set_scalar(*number, result);
}

// Lane i of a chunk gets lane indices[i] of some chunks that follow each other: 16 or 32 lanes.
Value* Emitter::permuted(std::span<Value* const> from, Value* indices) {
  if (has_masked_gathers_) {
    const bool is_one = from.size() == 1;
    const auto permutation =
        is_one ? llvm::Intrinsic::x86_avx512_permvar_si_512 : llvm::Intrinsic::x86_avx512_vpermi2var_d_512;
    if (is_one) return ir_.CreateIntrinsic(permutation, {}, {from[0], indices});
    return ir_.CreateIntrinsic(permutation, {}, {from[0], indices, from[1]});
  }
  for (unsigned chunk = 0; chunk < from.size(); ++chunk) ir_.CreateStore(from[chunk], buffer_row(0, chunk));
  return ir_.CreateMaskedGather(lanes_, ir_.CreateGEP(i32_, buffer_, indices), llvm::Align(4),
                                llvm::Constant::getAllOnesValue(lane_mask_));
}

// VGPRs that M0 chooses (guide 7.8): all that it may be are in the Wave. Outside of the wave's registers v0
// is read, and nothing is written (guide 3.3.2.2).
void Emitter::emit_indexed(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const Effects& effects = facts_.nodes[index].effects;
  const isa::Operand &destination = *instruction.find(Role::dst), &source = *instruction.find(Role::src0);
  const bool is_load = instruction.row->base == Opcode::v_movrels_b32;
  const auto moved = [&](Value* value) {
    if (source.abs) value = ir_.CreateAnd(value, ir_.CreateVectorSplat(16, ir_.getInt32(0x7fff'ffff)));
    if (source.neg) value = ir_.CreateXor(value, ir_.CreateVectorSplat(16, ir_.getInt32(0x8000'0000)));
    return value;
  };
  ChunkValues values{};
  for (unsigned chunk = 0; !is_load && chunk < chunks_; ++chunk) {
    Value* on = exec_mask(chunk);
    values[chunk] = moved(source.is_vgpr() ? vgpr(source.vgpr(), chunk)
                                           : ir_.CreateVectorSplat(16, uniform_source(source, instruction)));
    values[chunk] = ir_.CreateSelect(on, values[chunk], llvm::Constant::getNullValue(lanes_));
  }
  const RegisterSet chosen_from = vgprs_chosen_from(effects);
  const unsigned first = (is_load ? source : destination).vgpr();
  Value* number =
      ir_.CreateAdd(ir_.CreateZExt(scalar(scalar_register(isa::code::kM0)), i64_), ir_.getInt64(first));
  // The Wave has them from then on. What is read for the last time here, if at all, is seldom meant: most are
  // temporaries behind an array.
  const RegisterSet live = index + 1 < block_last_ ? facts_.nodes[index + 1].live.all()
                                                   : live_out(routine_.blocks[block_], facts_).all();
  RegisterSet seldom = chosen_from & locals_.dirty & locals_.held & ~live;
  for (unsigned r = 0; r < first; ++r) seldom.reset(r);
  store_to_wave(locals_, chosen_from & ~seldom);
  locals_.dirty &= ~(chosen_from & ~seldom);
  if (is_load && seldom.any()) {
    unsigned least = first;
    while (!seldom[least]) ++least;
    llvm::BasicBlock *store = new_block("store_seldom"), *stored = new_block("stored_seldom");
    branch_unlikely(ir_.CreateICmpUGE(number, ir_.getInt64(least)), store, stored);
    ir_.SetInsertPoint(store);
    store_to_wave(locals_, seldom);
    ir_.CreateBr(stored);
    ir_.SetInsertPoint(stored);
  }
  Value* exists = ir_.CreateICmpULT(number, ir_.getInt64(routine_.vgpr_count));
  Value* offset =
      ir_.CreateMul(ir_.CreateSelect(exists, number, ir_.getInt64(0)), ir_.getInt64(chunks_of_wave() * 64));
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* place = ir_.CreateGEP(ir_.getInt8Ty(), wave_address(0, chunk), offset);
    if (is_load) {
      values[chunk] = moved(ir_.CreateAlignedLoad(lanes_, place, llvm::Align(4)));
      continue;
    }
    place = ir_.CreateSelect(exists, place, buffer_row(0, chunk));
    Value* before = ir_.CreateAlignedLoad(lanes_, place, llvm::Align(4));
    ir_.CreateAlignedStore(ir_.CreateSelect(exec_mask(chunk), values[chunk], before), place, llvm::Align(4));
  }
  if (is_load) {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk)
      write_lanes(facts_.nodes[index], destination.vgpr(), chunk, values[chunk]);
    return;
  }
  forget(effects.reloaded);
}

// A lane reads another one of its half-wave of 32, and 0 if that is off (guide 12.5.2).
void Emitter::emit_half_permute(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  if (instruction.row->opcode == Opcode::ds_permute_b32) return emit_push(index);
  const bool is_swizzle = instruction.row->opcode == Opcode::ds_swizzle_b32;
  // ds_swizzle has its data where others have the address.
  const isa::Operand& data = *instruction.find(is_swizzle ? Role::addr : Role::data);
  ChunkValues indices{}, lanes_on{}, results{};
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    std::vector<llvm::Constant*> lanes;
    for (unsigned lane = 0; lane < 16; ++lane)
      lanes.push_back(
          ir_.getInt32(semantics::swizzle_source(static_cast<unsigned>(instruction.offset) & 0xffff,
                                                 lane + chunk % 2 * 16) &
                       31));
    if (is_swizzle) {
      indices[chunk] = llvm::ConstantVector::get(lanes);
    } else {
      Value* address =
          ir_.CreateAdd(vgpr(instruction.find(Role::addr)->vgpr(), chunk),
                        ir_.CreateVectorSplat(16, ir_.getInt32(static_cast<uint32_t>(instruction.offset))));
      indices[chunk] = ir_.CreateAnd(ir_.CreateLShr(address, ir_.CreateVectorSplat(16, ir_.getInt32(2))),
                                     ir_.CreateVectorSplat(16, ir_.getInt32(31)));
    }
    lanes_on[chunk] =
        ir_.CreateSelect(exec_mask(chunk), vgpr(data.vgpr(), chunk), llvm::Constant::getNullValue(lanes_));
  }
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    results[chunk] = permuted(std::span(lanes_on).subspan(chunk & 2, 2), indices[chunk]);
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    write_lanes(facts_.nodes[index], instruction.find(Role::dst)->vgpr(), chunk, results[chunk]);
}

// Lanes that are on write to another one of their half-wave, the highest one last; where none does is 0.
void Emitter::emit_push(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    ir_.CreateStore(llvm::Constant::getNullValue(lanes_), buffer_row(0, chunk));
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* address =
        ir_.CreateAdd(vgpr(instruction.find(Role::addr)->vgpr(), chunk),
                      ir_.CreateVectorSplat(16, ir_.getInt32(static_cast<uint32_t>(instruction.offset))));
    Value* lane = ir_.CreateAnd(ir_.CreateLShr(address, ir_.CreateVectorSplat(16, ir_.getInt32(2))),
                                ir_.CreateVectorSplat(16, ir_.getInt32(31)));
    Value* places = ir_.CreateGEP(i32_, buffer_row(0, chunk & 2), lane);
    ir_.CreateMaskedScatter(vgpr(instruction.find(Role::data)->vgpr(), chunk), places, llvm::Align(4),
                            exec_mask(chunk));
  }
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    write_lanes(facts_.nodes[index], instruction.find(Role::dst)->vgpr(), chunk,
                ir_.CreateLoad(lanes_, buffer_row(0, chunk)));
}

// Rows of 16 lanes, whose sources two scalars name with 4 bits a lane; halves of a wave64 (guide 7.7).
void Emitter::emit_row_permute(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const unsigned source = instruction.find(Role::src0)->vgpr(), to = instruction.find(Role::dst)->vgpr();
  ChunkValues results{};
  if (instruction.row->opcode == Opcode::v_permlane64_b32) {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) results[chunk] = all_lanes(source, chunk ^ 2);
  } else {
    const unsigned flip = instruction.row->opcode == Opcode::v_permlanex16_b32;
    const SourceOff off = source_off(instruction);
    const auto splat = [&](Value* value) { return ir_.CreateVectorSplat(16, value); };
    std::vector<llvm::Constant*> shifts, is_low;
    for (unsigned lane = 0; lane < 16; ++lane) {
      shifts.push_back(ir_.getInt32(lane % 8 * 4));
      is_low.push_back(ir_.getInt1(lane < 8));
    }
    Value* selectors = ir_.CreateSelect(llvm::ConstantVector::get(is_low),
                                        splat(uniform_source(*instruction.find(Role::src1), instruction)),
                                        splat(uniform_source(*instruction.find(Role::src2), instruction)));
    Value* indices =
        ir_.CreateAnd(ir_.CreateLShr(selectors, llvm::ConstantVector::get(shifts)), splat(ir_.getInt32(15)));
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      const unsigned from = chunk ^ flip;
      Value* row = off == SourceOff::is_read ? all_lanes(source, from) : vgpr(source, from);
      results[chunk] = permuted({&row, 1}, indices);
      if (off == SourceOff::is_read) continue;
      Value* exec = ir_.CreateZExt(half_bits(scalar(kExec + from / 2), from), i32_);
      Value* is_on = ir_.CreateTrunc(ir_.CreateLShr(splat(exec), indices), lane_mask_);
      Value* otherwise =
          off == SourceOff::keeps_lane ? vgpr(to, chunk) : llvm::Constant::getNullValue(lanes_);
      results[chunk] = ir_.CreateSelect(is_on, results[chunk], otherwise);
    }
  }
  for (unsigned chunk = 0; chunk < chunks_; ++chunk)
    write_lanes(facts_.nodes[index], to, chunk, results[chunk]);
}

}  // namespace lockstep::translator

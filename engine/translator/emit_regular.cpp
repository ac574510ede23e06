// The first version of blocks with linear addresses.
#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <map>

#include "engine/translator/emitter.h"
#include "engine/translator/integer_comparisons.h"
#include "engine/translator/operands.h"

namespace lockstep::translator {

using isa::Role;
using llvm::BasicBlock;
using llvm::Value;

// Whether all blocks behind that one that need the register make it from what is kept of it.
bool Emitter::is_only_kept(unsigned block, unsigned number) const {
  return std::ranges::all_of(
      std::array{routine_.blocks[block].taken, routine_.blocks[block].next}, [&](int to) {
        if (to < 0) return true;
        const auto next = static_cast<unsigned>(to);
        if (!facts_.blocks[next].held[number]) return true;
        // Rounds may have it in lanes that are on only, and lanes that are off from its slot.
        const bool wants_slot = plans_[next].is_round && !facts_.nodes[routine_.blocks[next].first].all_on &&
                                facts_.blocks[next].live_in.off[number];
        return plans_[next].known.contains(number) && !wants_slot;
      });
}

Emitter::Ends Emitter::ends_of(const Linear& value) {
  if (!value.is_high) return {value.first, nullptr};
  const auto high_half = [&](Value* pair) { return ir_.CreateTrunc(ir_.CreateLShr(pair, 32), i32_); };
  const int64_t distance = int64_t{routine_.wave_size / linear_parts() - 1} * value.stride;
  Value* last = ir_.CreateAdd(value.first_of_pair, ir_.getInt64(static_cast<uint64_t>(distance)));
  return {high_half(value.first_of_pair), high_half(last)};
}

// Whether the first version of a block came to its end. Of a block with several before it, whether that of
// the last one did.
void Emitter::set_kept(unsigned block, bool holds) {
  Value* flag = ir_.getInt32(holds ? 1 : 0);
  ir_.CreateStore(flag, is_kept(block));
  for (const int to : {routine_.blocks[block].taken, routine_.blocks[block].next})
    if (to >= 0 && to != static_cast<int>(block) && !plans_[static_cast<unsigned>(to)].known.empty())
      ir_.CreateStore(flag, is_kept(flag_of(static_cast<unsigned>(to))));
}

// Number of the flag that says whether what a block knows holds.
unsigned Emitter::flag_of(unsigned block) const {
  const std::vector<unsigned>& before = routine_.blocks[block].predecessors;
  return before.size() == 1 ? before[0] : static_cast<unsigned>(routine_.blocks.size()) + block;
}

// Of waves in rows.
void Emitter::keep_linear(unsigned block) {
  if (plan_.kept.empty()) return;
  settle();
  Value* holds = nullptr;
  for (unsigned number : plan_.found) {
    for (unsigned chunk = 0; chunk < linear_parts(); ++chunk) {
      const Ends ends = ends_of(linear(number, chunk));
      if (ends.last) {
        Value* is_same = ir_.CreateICmpEQ(ends.first, ends.last);
        holds = holds ? ir_.CreateAnd(holds, is_same) : is_same;
      }
      ir_.CreateStore(ends.first, kept_first(block, number, chunk));
    }
    if (locals_.linear_in_lanes_on[number]) kept_in_lanes_on_[block].set(number);
  }
  for (unsigned number : plan_.kept)
    if (!locals_.linear_in_lanes_on[number] && is_only_kept(block, number)) without_slot_.set(number);
  set_kept(block, true);
  if (!holds) return;
  BasicBlock *not_kept = new_block("not_kept"), *kept = new_block("kept");
  branch_unlikely(ir_.CreateNot(holds), not_kept, kept);
  ir_.SetInsertPoint(not_kept);
  // LLVM would make the lanes on both ways else.
  auto* nothing = llvm::FunctionType::get(ir_.getVoidTy(), false);
  ir_.CreateCall(llvm::InlineAsm::get(nothing, "", "", true), {});
  set_kept(block, false);
  flush_locals(locals_);
  ir_.CreateBr(kept);
  ir_.SetInsertPoint(kept);
}

// Behind the second version. What the first one put there for another wave is of no use, which LLVM should
// know.
void Emitter::keep_nothing(unsigned block) {
  if (plan_.kept.empty()) return;
  set_kept(block, false);
  for (unsigned number : plan_.found)
    for (unsigned chunk = 0; chunk < linear_parts(); ++chunk)
      ir_.CreateStore(llvm::PoisonValue::get(i32_), kept_first(block, number, chunk));
}

llvm::AllocaInst* Emitter::is_kept(unsigned number) {
  llvm::AllocaInst*& flag = kept_flags_[number];
  if (!flag) flag = llvm::IRBuilder<>(entry_, entry_->begin()).CreateAlloca(i32_);
  return flag;
}

// What the last block found out about addresses was at another time, or never.
void Emitter::forget_kept(unsigned block) {
  if (!plans_[block].known.empty()) ir_.CreateStore(ir_.getInt32(0), is_kept(flag_of(block)));
}

llvm::AllocaInst* Emitter::kept_first(unsigned block, unsigned number, unsigned chunk) {
  llvm::AllocaInst*& first = kept_values_[{block, number, chunk}];
  if (!first) first = llvm::IRBuilder<>(entry_, entry_->begin()).CreateAlloca(i32_);
  return first;
}

void Emitter::begin_regular(unsigned block) {
  is_regular_version_ = true;
  low_sums_.clear();
  alike_masks_.clear();
  bounded_lanes_.clear();
  computed_.clear();
  base_slots_.clear();
  begin_section();
  if (plan_.is_round) take_over_round(block);
  // What a round knows is behind that; here it looks.
  const std::map<unsigned, unsigned> known_before =
      plan_.is_round ? std::map<unsigned, unsigned>() : plan_.known;
  if (!known_before.empty()) {
    BasicBlock* known = new_block("known");
    Value* holds = ir_.CreateICmpNE(ir_.CreateLoad(i32_, is_kept(flag_of(block))), ir_.getInt32(0));
    branch_unlikely(ir_.CreateNot(holds), sections_.back().second, known);
    ir_.SetInsertPoint(known);
  }
  std::array<std::map<unsigned, Value*>, kMaxChunks> firsts;
  if (!plan_.roots_in_all_lanes && known_before.empty() && roots_may_be_merged(block))
    for (unsigned part = 0; part < linear_parts(); ++part) firsts[part] = firsts_of_lanes_on(part);
  ChunkValues differences{};
  const bool may_be_in_lanes_on =
      !plan_.roots_in_all_lanes && !facts_.nodes[routine_.blocks[block].first].all_on;
  for (const auto& [number, stride] : plan_.roots) {
    // Of the work-item ids of a row it is known, but for chunks of several short ones.
    const auto known = known_before.find(number);
    const bool is_kept_from_before = known != known_before.end();
    const bool is_item_id = row_ && block == routine_.entry_block && number == kIdRegister && stride == 1 &&
                            !routine_.launch.has_short_rows();
    const bool is_known = is_kept_from_before || is_item_id;
    if (is_kept_from_before ? kept_in_lanes_on_[known->second][number] : may_be_in_lanes_on && !is_item_id) {
      locals_.linear_in_lanes_on.set(number);
      sections_.back().locals.linear_in_lanes_on.set(number);
    }
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      // Its slot may have been left as it was.
      Value* value = is_known ? nullptr : vgpr(number, chunk);
      Linear root;
      root.stride = stride;
      root.root = static_cast<int>(number);
      if (chunk >= linear_parts())
        root = linear_math_.from_lane(linear(number, 0), 16 * chunk);
      else if (is_kept_from_before)
        root.first = ir_.CreateLoad(i32_, kept_first(known->second, number, chunk));
      else if (is_item_id)
        root = first_item(root, chunk);
      else if (!firsts[chunk].empty())
        root.first = firsts[chunk].at(number);
      else
        root.first = ir_.CreateExtractElement(value, uint64_t{0});
      locals_.linear[number][chunk] = root;
      if (is_kept_from_before) sections_.back().locals.linear[number][chunk] = root;
      if (is_known) continue;
      Value* difference = ir_.CreateXor(value, lanes_of(root));
      Value*& all = differences[chunk];
      all = all ? ir_.CreateOr(all, difference) : difference;
    }
  }
  if (!differences[0]) return;
  Value* wrong = nullptr;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* lanes =
        ir_.CreateBitCast(ir_.CreateICmpNE(differences[chunk], llvm::Constant::getNullValue(lanes_)), i16_);
    if (!plan_.roots_in_all_lanes) lanes = ir_.CreateAnd(lanes, half_bits(scalar(kExec + chunk / 2), chunk));
    wrong = wrong ? ir_.CreateOr(wrong, lanes) : lanes;
  }
  if (plan_.is_round) return begin_round(block, wrong);
  linear_math_.add_doubt(ir_.CreateZExt(wrong, i32_));
}

// Lanes that count up are in as many as there are of them.
Linear Emitter::first_item(Linear id, unsigned chunk) {
  id.first = first_items_[chunk];
  id.zero_bits = static_cast<unsigned>(std::countr_zero(routine_.wave_size / linear_parts()));
  return id;
}

// Whether lanes that are off, as those that have left a loop, may hold roots of another time.
bool Emitter::roots_may_be_merged(unsigned block) const {
  if (facts_.nodes[routine_.blocks[block].first].all_on) return false;
  return std::ranges::any_of(plan_.roots, [&](const auto& root) { return facts_.merged[root.first]; });
}

// What lane 0 of the part would hold, going by the lowest lane that is on: by root.
std::map<unsigned, Value*> Emitter::firsts_of_lanes_on(unsigned part) {
  Value* on = is_linear_in_wave() ? whole_mask(kExec) : half_bits(scalar(kExec + part / 2), part);
  BasicBlock *off = new_block("lane_0_off"), *joined = new_block("roots");
  std::map<unsigned, ChunkValues> lanes;
  std::map<unsigned, Value*> firsts;
  const unsigned chunks = chunks_ / linear_parts();
  for (const auto& [number, stride] : plan_.roots) {
    for (unsigned i = 0; i < chunks; ++i) lanes[number][i] = vgpr(number, part + i);
    firsts[number] = ir_.CreateExtractElement(lanes[number][0], uint64_t{0});
  }
  BasicBlock* from = ir_.GetInsertBlock();
  ir_.CreateCondBr(ir_.CreateTrunc(on, i1_), joined, off);
  ir_.SetInsertPoint(off);
  Value* lane = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, on, ir_.getFalse());
  lane = ir_.CreateAnd(ir_.CreateZExtOrTrunc(lane, i32_), ir_.getInt32(16 * chunks - 1));
  std::map<unsigned, Value*> extrapolated;
  for (const auto& [number, stride] : plan_.roots) {
    for (unsigned i = 0; i < chunks; ++i) ir_.CreateStore(lanes.at(number)[i], buffer_row(0, i));
    Value* value = ir_.CreateLoad(i32_, ir_.CreateGEP(i32_, buffer_row(0, 0), lane));
    extrapolated[number] =
        ir_.CreateSub(value, ir_.CreateMul(lane, ir_.getInt32(static_cast<uint32_t>(stride))));
  }
  ir_.CreateBr(joined);
  ir_.SetInsertPoint(joined);
  for (auto& [number, first] : firsts) {
    llvm::PHINode* either = ir_.CreatePHI(i32_, 2);
    either->addIncoming(first, from);
    either->addIncoming(extrapolated.at(number), off);
    first = either;
  }
  return firsts;
}

void Emitter::begin_section() {
  end_run();
  settle();
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) merge_waiting(chunk);
  sections_.push_back({new_block("second"), nullptr, locals_});
  known_ranges_.clear();
}

BasicBlock* Emitter::irregular() {
  Section& section = sections_.back();
  if (section.irregular) return section.irregular;
  llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  section.irregular = new_block("irregular");
  ir_.SetInsertPoint(section.irregular);
  flush_locals(section.locals);
  // Second versions begin with what is in the Wave.
  if (row_ && block_ == routine_.entry_block) store_launched_x();
  forget_certain_walks(block_);
  ir_.CreateBr(section.second);
  return section.irregular;
}

void Emitter::settle() {
  Value* doubt = linear_math_.take_doubt();
  if (!doubt) return;
  BasicBlock* regular = new_block("regular");
  branch_unlikely(ir_.CreateICmpNE(doubt, ir_.getInt32(0)), irregular(), regular);
  ir_.SetInsertPoint(regular);
}

Value* Emitter::lanes_of(const Linear& linear) {
  if (linear.is_high) {
    auto* wide = llvm::FixedVectorType::get(i64_, 16);
    Value* pairs = ir_.CreateAdd(ir_.CreateVectorSplat(16, linear.first_of_pair),
                                 ir_.CreateSExt(lane_multiples(linear.stride), wide));
    return ir_.CreateTrunc(ir_.CreateLShr(pairs, 32), lanes_);
  }
  Value* first = ir_.CreateVectorSplat(16, linear.first);
  return linear.stride == 0 ? first : ir_.CreateAdd(first, lane_multiples(linear.stride));
}

Value* Emitter::unfolded(const Locals& locals, unsigned number, unsigned chunk) {
  const auto found = locals.linear.find(number);
  if (found == locals.linear.end() || !found->second[chunk]) return nullptr;
  // Where the others have been merged, or were so from the begin, they are in the slot or the Wave.
  if (locals.linear_in_lanes_on[number] && !locals.off_lanes[number][chunk]) return nullptr;
  return lanes_of(*found->second[chunk]);
}

void Emitter::emit_computed(unsigned index, unsigned chunk) {
  ComputedRegisters result;
  if (chunk == 0 || !is_linear_in_wave()) {
    const size_t before = run_.scalar_reads.size();
    result = compute(index, chunk);
    result.scalar_reads = run_.scalar_reads.size() - before;
    if (is_linear_in_wave()) computed_[index] = result;
  } else {
    result = computed_.at(index);
    run_.next_read += result.scalar_reads;
    for (auto& [number, value] : result.registers) value = linear_math_.from_lane(value, 16 * chunk);
  }
  const auto mask = alike_masks_.find({index, is_linear_in_wave() ? 0 : chunk});
  if (mask != alike_masks_.end()) {
    const auto number = scalar_destination(*routine_.nodes[index].instruction.find(Role::dst));
    if (is_mask_read(index, *number)) run_.masks[*number][chunk] = alike_mask(mask->second, chunk);
    return;
  }
  // Of this nothing is left but what somebody uses.
  if (!result.is_all) emit_vector(index, chunk);
  for (const auto& [number, value] : result.registers) {
    write_lanes(facts_.nodes[index], number, chunk, nullptr);
    locals_.linear_in_lanes_on[number] = facts_.nodes[index].merged[number];
    locals_.linear[number][chunk] = value;
  }
}

Emitter::LaneMask Emitter::alike_mask(Value* has_lanes, unsigned chunk) {
  Value* on = bits_of_register(kExec, chunk);
  return {.bits = ir_.CreateSelect(has_lanes, on, ir_.getInt16(0))};
}

// What a source is in all lanes, if that is known; i32.
Value* Emitter::number_in_all_lanes(const isa::Operand& operand, const isa::Instruction& instruction,
                                    unsigned chunk) {
  const Source source = *source_of(operand, instruction);
  if (source.is_constant) return ir_.getInt32(static_cast<uint32_t>(source.value));
  if (!is_vgpr(source.first)) return run_scalar(source.first);
  const auto found = locals_.linear.find(source.first);
  if (found == locals_.linear.end() || !found->second[chunk] || found->second[chunk]->stride != 0)
    return nullptr;
  return found->second[chunk]->first;
}

// Whether vector instructions of the block want the mask that the comparison writes, perhaps put together
// with others, as lanes.
bool Emitter::are_lanes_wanted(unsigned comparison) const {
  RegisterSet masks = facts_.nodes[comparison].effects.writes;
  for (unsigned n = comparison + 1; n < block_last_; ++n) {
    const Effects& effects = facts_.nodes[n].effects;
    const NodeKind kind = routine_.nodes[n].kind;
    if (kind == NodeKind::vector_alu || kind == NodeKind::dual) {
      if (masks[kExec] || (effects.reads & masks).any()) return true;
    } else if (kind == NodeKind::scalar_alu && (effects.reads & masks).any()) {
      masks |= effects.writes;
      masks.reset(kScc);
    }
  }
  return false;
}

// Where what counts up from lane to lane is compared with what all lanes have, as where a kernel guards its
// work: the lanes before a bound, or those from it on, i16. Null where it is anything else, or where vector
// instructions behind it want the lanes.
Value* Emitter::lanes_up_to_bound(const Node& node, const Half& part,
                                  const std::vector<const isa::Operand*>& sources, unsigned chunk) {
  const std::optional<llvm::CmpInst::Predicate> order = order_of_words(part.row->base);
  if (!order || !row_ || !is_regular_version_) return nullptr;
  // Both ways of LDS accesses go on with the same values.
  if (rolled_ || run_.loads_lds || run_.stores_lds) return nullptr;
  if (node.instruction.dpp != isa::Dpp::none) return nullptr;
  const auto index = static_cast<unsigned>(&node - routine_.nodes.data());
  if (are_lanes_wanted(index)) return nullptr;
  const unsigned from = is_linear_in_wave() ? 0 : chunk;
  const auto counts = [&](const isa::Operand& operand) {
    if (!operand.is_vgpr()) return false;
    const auto found = locals_.linear.find(operand.vgpr());
    return found != locals_.linear.end() && found->second[from] && found->second[from]->stride == 1 &&
           !found->second[from]->is_high;
  };
  const bool is_first = counts(*sources[0]);
  if (is_first == counts(*sources[1])) return nullptr;
  Value* bound = number_in_all_lanes(*sources[is_first ? 1 : 0], node.instruction, from);
  if (!bound) return nullptr;
  Value*& mask = bounded_lanes_[{index, from}];
  if (!mask) {
    Linear& linear = *locals_.linear.at(sources[is_first ? 0 : 1]->vgpr())[from];
    linear_math_.require_no_wrap(linear);
    const auto predicate = is_first ? *order : llvm::CmpInst::getSwappedPredicate(*order);
    // Those from the bound on are the others than those before it.
    const bool is_below = predicate == llvm::CmpInst::ICMP_ULT || predicate == llvm::CmpInst::ICMP_ULE ||
                          predicate == llvm::CmpInst::ICMP_SLT || predicate == llvm::CmpInst::ICMP_SLE;
    const auto below = is_below ? predicate : llvm::CmpInst::getInversePredicate(predicate);
    const bool with_bound = llvm::CmpInst::isNonStrictPredicate(below);
    const unsigned lanes = routine_.wave_size / linear_parts();
    Value* count = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, ir_.CreateSub(bound, linear.first),
                                             ir_.getInt32(with_bound ? lanes - 1 : lanes));
    if (with_bound) count = ir_.CreateAdd(count, ir_.getInt32(1));
    count = ir_.CreateSelect(ir_.CreateICmp(below, linear.first, bound), count, ir_.getInt32(0));
    count = ir_.CreateZExt(count, i64_);
    if (lanes < 64) {
      mask = ir_.CreateNot(ir_.CreateShl(ir_.getInt64(~0ull), count));
    } else {
      Value* some =
          ir_.CreateLShr(ir_.getInt64(~0ull), ir_.CreateAnd(ir_.CreateNeg(count), ir_.getInt64(63)));
      mask = ir_.CreateSelect(ir_.CreateICmpEQ(count, ir_.getInt64(0)), ir_.getInt64(0), some);
    }
    if (!is_below) mask = ir_.CreateNot(mask);
  }
  return ir_.CreateTrunc(ir_.CreateLShr(mask, is_linear_in_wave() ? 16 * chunk : 0), i16_);
}

Emitter::ComputedRegisters Emitter::compute(unsigned index, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const auto sources = [&](const isa::Operand& operand, unsigned word) -> std::optional<Linear> {
    const Source source = *source_of(operand, instruction);
    Linear linear;
    if (source.is_constant) {
      linear.constant = static_cast<uint32_t>(source.value >> (32 * word));
      linear.first = ir_.getInt32(*linear.constant);
    } else if (is_vgpr(source.first)) {
      const auto found = locals_.linear.find(source.first + word);
      return found == locals_.linear.end() ? std::nullopt : found->second[chunk];
    } else {
      linear.base = static_cast<int>(source.first + word);
      linear.first = run_scalar(source.first + word);
    }
    return linear;
  };
  const auto carries = [&](const isa::Operand& operand) -> std::optional<LowSum> {
    const auto source = source_of(operand, instruction);
    const auto found = low_sums_.find({source->first, chunk});
    if (source->is_constant || found == low_sums_.end()) return std::nullopt;
    return found->second;
  };
  const auto masks = [&](const isa::Operand&) -> std::optional<AlikeMask> {
    const std::optional<unsigned> from = plan_.chooses_by[index - block_first_];
    if (!from) return std::nullopt;
    if (const auto found = alike_masks_.find({*from, chunk}); found != alike_masks_.end())
      return AlikeMask{found->second};
    const auto number = scalar_destination(*routine_.nodes[*from].instruction.find(Role::dst));
    return AlikeMask{ir_.CreateTrunc(bits_of_register(*number, chunk), i1_)};
  };
  // What is linear in lanes that are on has been so under another EXEC, perhaps: the plan knows.
  const std::vector<unsigned>& linear_writes = plan_.linear_writes[index - block_first_];
  // Both halves of a VOPD pair read before either writes.
  ComputedRegisters computed;
  for (const Half& half : halves_of(instruction)) {
    const LinearResult result = linear_math_.result_of(instruction, half, sources, carries, masks);
    if (result.mask) alike_masks_[{index, chunk}] = result.mask->has_lanes;
    for (unsigned i = half.first; i < half.last; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      if (operand.role == Role::dst && !operand.is_vgpr()) {
        computed.is_all = false;
      } else if (operand.role == Role::dst) {
        for (unsigned word = 0; word < std::min<unsigned>(operand.words, 2); ++word) {
          const unsigned number = operand.vgpr() + word;
          if (result.words[word] && std::ranges::count(linear_writes, number) != 0)
            computed.registers.emplace_back(number, *result.words[word]);
          else
            computed.is_all = false;
        }
      } else if (operand.role == Role::dst2) {
        const auto number = scalar_destination(operand);
        if (number && result.low_sum) low_sums_[{*number, chunk}] = *result.low_sum;
        computed.is_all &= !number;
      }
    }
  }
  return computed;
}

}  // namespace lockstep::translator

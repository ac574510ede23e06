// Runs of vector instructions: emitted for one chunk of the lanes after the other, so that few host registers
// are in use at a time. Doubt about float results is settled once at the end of the run.
#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/translator/emit_rolled_run.h"
#include "engine/translator/emitter.h"
#include "engine/translator/operands.h"
#include "engine/translator/other_ways.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

namespace {

// Longer ones let a quotient come to its end, which then is one division.
constexpr size_t kMaxRun = 32, kMaxRunWithQuotient = 192;
// And those that are a loop have less to load and to store.
constexpr size_t kMaxRolledRun = 128;
// What may lie between the begin of a quotient of integers, or of a ratio, and its end, with what compilers
// put in between.
constexpr size_t kQuotient = 40, kWideQuotient = 140;

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
  const size_t longest = run_.open_quotients > 0 ? kMaxRunWithQuotient : std::max(kMaxRun, run_.may_reach);
  if (run_.nodes.size() >= longest && !(run_.nodes.size() < kMaxRolledRun && run_.may_be_rolled &&
                                        may_be_rolled(index) && !computes_run_mask(index)))
    return false;
  const Effects& effects = facts_.nodes[index].effects;
  const auto touches_mask = [&](const RegisterSet& set) {
    for (const auto& [number, chunks] : run_.masks)
      for (unsigned word = 0; word < mask_words(); ++word)
        if (set[number + word]) return true;
    return false;
  };
  switch (node.kind) {
    case NodeKind::vector_alu:
    case NodeKind::dual:
      // Both versions of a run with LDS accesses go on with the same values.
      if (is_computed(index) && (run_.loads_lds || run_.stores_lds)) return false;
      return !touches_mask(scalar_number_reads(node));
    case NodeKind::lds: {
      // All lanes of an instruction come before those of the next one: order matters around stores.
      // Regular addresses are recognised before the run.
      const unsigned address = node.instruction.find(isa::Role::addr)->vgpr();
      if (run_.writes[address]) return false;
      // Nor may lanes that are off come in between, which the test before the run has not seen.
      const auto merges = [&](unsigned n) {
        const Effects& each = facts_.nodes[n].effects;
        return each.reads_all_lanes && each.reads[address];
      };
      if (run_.masks.contains(kExec) || std::ranges::any_of(run_.nodes, merges)) return false;
      if (std::ranges::any_of(run_.nodes, [this](unsigned n) { return is_computed(n); })) return false;
      const bool is_store =
          isa::access_shape(node.instruction.row->opcode).kind == isa::AccessShape::Kind::store;
      if (is_store) return !run_.loads_lds && !run_.stores_lds;
      return !run_.stores_lds;
    }
    case NodeKind::scalar_alu:
      if (run_.nodes.empty() || writes_exec(effects, routine_.wave_size)) return false;
      if (computes_run_mask(index)) return true;
      return !touches_mask(effects.reads) && !touches_mask(effects.writes);
    default:
      return false;
  }
}

void Emitter::add_to_run(unsigned index) {
  const Node& node = routine_.nodes[index];
  if (computes_run_mask(index)) {
    run_.mask_algebra.insert(index);
    run_.masks.try_emplace(*scalar_destination(*node.instruction.find(isa::Role::dst)));
  }
  run_.open_quotients += quotient_steps_open(node);
  run_.may_be_rolled = run_.may_be_rolled && may_be_rolled(index);
  run_.nodes.push_back(index);
  const size_t rest = begins_wide_quotient(node) ? kWideQuotient : begins_quotient(node) ? kQuotient : 0;
  if (rest > 0)
    run_.may_reach = std::max(run_.may_reach, std::min(run_.nodes.size() + rest, kMaxRunWithQuotient));
  run_.writes |= facts_.nodes[index].effects.writes;
  if (node.kind == NodeKind::lds) {
    const bool is_store =
        isa::access_shape(node.instruction.row->opcode).kind == isa::AccessShape::Kind::store;
    (is_store ? run_.stores_lds : run_.loads_lds) = true;
  }
  if (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual) {
    for (const Half& part : halves_of(node.instruction))
      run_.casts_doubt |= vector_signature(part.row->base).takes_mode;
    const RegisterSet& writes = facts_.nodes[index].effects.writes;
    // Masks begin at multiples of their size.
    for (unsigned r = kFirstScalar; r < kRegisters; r += mask_words())
      if (writes[r] && is_mask_read(index, r)) run_.masks.try_emplace(r);
  }
}

void Emitter::end_run() {
  if (run_.nodes.empty()) return;
  if (run_.loads_lds || run_.stores_lds) settle();
  find_run_quotients();
  const Snapshot start = snapshot(run_.nodes.front());
  check_opposites(start);
  if (is_run_rolled()) {
    emit_rolled_run(start);
    run_ = Run{};
    return;
  }
  // What waves go through once is to be short.
  const bool was_seldom = std::exchange(is_seldom_, is_seldom_ || is_in_long_straight_code());
  // EXEC only shrinks inside a run: the lanes that are on now are all that can be in doubt.
  ChunkValues exec_at_start{};
  if (run_.casts_doubt) {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      exec_at_start[chunk] = half_bits(scalar(kExec + chunk / 2), chunk);
      ir_.CreateStore(llvm::Constant::getNullValue(lanes_), doubt_[chunk]);
    }
  }
  if (Value* regular = lds_is_regular()) {
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
      const bool is_no_guess = std::exchange(is_seldom_, is_seldom_ || !is_regular);
      emit_run(is_regular);
      is_seldom_ = is_no_guess;
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
    emit_run(false);
  }
  is_seldom_ = was_seldom;
  if (run_.casts_doubt) {
    settle();
    check_doubt(start, exec_at_start);
  }
  run_ = Run{};
}

// As a whole.
bool Emitter::is_quotient_step(unsigned index) const {
  const auto& steps = run_.quotients.steps;
  return steps.contains({index, 0}) &&
         (routine_.nodes[index].kind != NodeKind::dual || steps.contains({index, 1}));
}

LiveSets Emitter::live_behind(unsigned index) const {
  return index + 1 < block_last_ ? facts_.nodes[index + 1].live : live_out(routine_.blocks[block_], facts_);
}

bool Emitter::is_mask_read(unsigned index, unsigned number) const {
  const RegisterSet live = live_behind(index).all();
  return number == kExec || live[number] || live[number + mask_words() - 1];
}

void Emitter::find_run_quotients() {
  const LiveSets live = live_behind(run_.nodes.back());
  run_.quotients =
      find_quotients(routine_, facts_, run_.nodes, read_behind(routine_, facts_, run_.nodes.back(), live.on));
  if (run_.quotients.steps.empty()) return;
  run_.casts_doubt |= !run_.quotients.expected_words.empty() || !run_.quotients.wide_divisions.empty();
  // Blocks behind expect registers that this one writes in their slots, if only for the lanes that are off.
  for (const auto& [n, half] : run_.quotients.steps) {
    const RegisterSet kept = facts_.nodes[n].effects.writes & live.off;
    for (unsigned r = 0; r < kVgprs; ++r)
      if (kept[r]) hold(r);
  }
  // Masks that only these steps write stay what they were, or become the number that a scalar instruction has
  // put there before.
  const auto writes_mask = [this](unsigned n, unsigned mask) {
    return facts_.nodes[n].effects.writes[mask] && !is_quotient_step(n) &&
           (routine_.nodes[n].kind != NodeKind::scalar_alu || run_.mask_algebra.contains(n));
  };
  std::erase_if(run_.masks, [&](const auto& mask) {
    return std::ranges::none_of(run_.nodes, [&](unsigned n) { return writes_mask(n, mask.first); });
  });
}

// Where a quotient was found that is none the interpreter executes the run.
void Emitter::check_opposites(const Snapshot& start) {
  Value* sums = nullptr;
  const auto add_sum = [&](Value* sum) { sums = sums ? ir_.CreateOr(sums, sum) : sum; };
  for (const auto& [divisor, opposite] : run_.quotients.opposites) {
    Value* sum = ir_.CreateAdd(scalar(divisor), scalar(opposite));
    add_sum(ir_.CreateZExt(sum, i64_));
  }
  const auto number = [&](const Source& low, const Source& high) {
    const auto word = [&](const Source& source) -> Value* {
      return ir_.CreateZExt(
          source.is_constant ? ir_.getInt32(static_cast<uint32_t>(source.value)) : scalar(source.first),
          i64_);
    };
    return ir_.CreateOr(word(low), ir_.CreateShl(word(high), 32));
  };
  for (const auto& [index, division] : run_.quotients.wide_divisions) {
    if (!division.opposite) continue;
    const auto& [low, high] = *division.opposite;
    add_sum(
        ir_.CreateAdd(number(division.words[2], division.words[3]), number({.first = low}, {.first = high})));
  }
  if (!sums) return;
  settle();
  llvm::BasicBlock* opposites = new_block("opposites");
  branch_unlikely(ir_.CreateICmpNE(sums, ir_.getInt64(0)), leave_to_interpreter(start, Leave::doubt),
                  opposites);
  ir_.SetInsertPoint(opposites);
}

// The chunk in work.
void Emitter::emit_pass(bool regular_lds) {
  run_.next_read = 0;
  take_wide_estimates(pass_);
  for (unsigned n : run_.nodes) {
    if (const auto words = run_.quotients.expected_words.find(n);
        words != run_.quotients.expected_words.end())
      for (const ExpectedWord& word : words->second) check_expected(word, pass_);
    if (const auto division = run_.quotients.integer_divisions.find(n);
        division != run_.quotients.integer_divisions.end())
      emit_integer_division(n, division->second, pass_);
    if (const auto division = run_.quotients.wide_divisions.find(n);
        division != run_.quotients.wide_divisions.end())
      emit_wide_division(n, division->second, pass_);
    if (const auto fraction = run_.quotients.fractions.find(n); fraction != run_.quotients.fractions.end())
      take_ratio_operand(n, fraction->second, pass_);
    if (run_.quotients.float_roots.contains(n) || run_.quotients.whole_roots.contains(n))
      emit_earlier_root(n, pass_);
    if (run_.quotients.taken_words.contains(n)) take_word(n, pass_);
    if (run_.quotients.words_of_numbers.contains(n)) emit_words_of_number(n, pass_);
    if (is_quotient_step(n)) continue;
    switch (routine_.nodes[n].kind) {
      case NodeKind::scalar_alu:
        if (run_.mask_algebra.contains(n))
          emit_mask_algebra(n);
        else if (pass_ == 0)
          emit_scalar(n);
        break;
      case NodeKind::lds:
        if (regular_lds)
          emit_regular_lds(n, pass_);
        else
          emit_lds_by_lanes(n, pass_);
        break;
      default:
        if (is_computed(n))
          emit_computed(n, pass_);
        else if (run_.quotients.divisions.contains(n))
          emit_quotient(n, pass_);
        else if (run_.quotients.roots.contains(n))
          emit_root(n, pass_);
        else if (run_.quotients.ratios.contains(n))
          emit_ratio(n, pass_);
        else if (run_.quotients.numbers_of_words.contains(n))
          emit_number_of_words(n, pass_);
        else
          emit_noting_sums(n, pass_);
    }
  }
}

void Emitter::emit_run(bool regular_lds) {
  for (pass_ = 0; pass_ < chunks_; ++pass_) emit_pass(regular_lds);
  pass_ = 0;
  for (const auto& store : run_.second_stores) store();
  for (const auto& [number, chunks] : run_.masks) {
    if (chunks_ == 1) {
      set_whole_mask(number, ir_.CreateZExt(chunks[0].bits, routine_.wave_size == 32 ? i32_ : i64_));
      half_masks_[{scalar(number), 0}] = chunks[0].bits;
      continue;
    }
    for (unsigned word = 0; word < mask_words(); ++word) {
      if (2 * word >= chunks_) {
        set_scalar(number + word, ir_.getInt32(0));
        continue;
      }
      const LaneMask &low = chunks[2 * word], &high = chunks[2 * word + 1];
      if (Value* together = word_of_masks(low, high)) {
        set_scalar(number + word, together);
        continue;
      }
      Value* whole =
          ir_.CreateOr(ir_.CreateZExt(low.bits, i32_), ir_.CreateShl(ir_.CreateZExt(high.bits, i32_), 16));
      set_scalar(number + word, whole);
      half_masks_[{whole, 0}] = low.bits;
      half_masks_[{whole, 1}] = high.bits;
    }
  }
}

// Hosts without registers for masks pack the lanes of both chunks in as many instructions as those of one.
// Null where they have such registers, or the masks are no comparisons under the same EXEC.
llvm::Value* Emitter::word_of_masks(const LaneMask& low, const LaneMask& high) {
  if (has_masked_gathers_ || !low.compared || !high.compared || !low.exec || low.exec != high.exec)
    return nullptr;
  std::vector<int> all(32);
  std::iota(all.begin(), all.end(), 0);
  Value* both = ir_.CreateShuffleVector(low.compared, high.compared, all);
  return ir_.CreateAnd(ir_.CreateBitCast(both, i32_), low.exec);
}

void Emitter::join_locals(const Locals& before, const Locals& first, llvm::BasicBlock* first_end,
                          const Locals& second, llvm::BasicBlock* second_end) {
  locals_ = before;
  // What both ways have overwritten is known no more.
  locals_.linear = first.linear;
  const auto join = [&](Value* a, Value* b) -> Value* {
    if (a == b || !a || !b) return a == b ? a : nullptr;
    llvm::PHINode* phi = ir_.CreatePHI(a->getType(), 2);
    phi->addIncoming(a, first_end);
    phi->addIncoming(b, second_end);
    return phi;
  };
  for (unsigned r = 0; r < kRegisters; ++r) {
    bool known = true;
    for (unsigned chunk = 0; chunk < (is_vgpr(r) ? chunks_ : 1); ++chunk) {
      if (is_vgpr(r)) {
        locals_.off_lanes[r][chunk] = join(first.off_lanes[r][chunk], second.off_lanes[r][chunk]);
        locals_.vgpr[r][chunk] = join(first.vgpr[r][chunk], second.vgpr[r][chunk]);
        known &= locals_.vgpr[r][chunk] != nullptr;
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
void Emitter::check_doubt(const Snapshot& start, const ChunkValues& exec_at_start) {
  ChunkValues lanes{};
  Value* together = nullptr;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    lanes[chunk] = ir_.CreateLoad(lanes_, doubt_[chunk]);
    together = together ? ir_.CreateOr(together, lanes[chunk]) : lanes[chunk];
  }
  Value* any = ir_.CreateICmpNE(ir_.CreateOrReduce(together), ir_.getInt32(0));
  llvm::BasicBlock *look = new_block("doubt"), *go_on = new_block("certain");
  branch_unlikely(any, look, go_on);
  ir_.SetInsertPoint(look);
  Value* in_doubt = nullptr;
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* bits =
        ir_.CreateBitCast(ir_.CreateICmpNE(lanes[chunk], llvm::Constant::getNullValue(lanes_)), i16_);
    bits = ir_.CreateAnd(bits, exec_at_start[chunk]);
    in_doubt = in_doubt ? ir_.CreateOr(in_doubt, bits) : bits;
  }
  ir_.CreateCondBr(ir_.CreateICmpNE(in_doubt, ir_.getInt16(0)), leave_to_interpreter(start, Leave::doubt),
                   go_on);
  ir_.SetInsertPoint(go_on);
}

llvm::Value* Emitter::bits_of_register(unsigned number, unsigned chunk, Value** word_of_bits) {
  const auto found = run_.masks.find(number);
  if (found != run_.masks.end() && found->second[chunk].bits) return found->second[chunk].bits;
  // All passes read the same registers.
  std::array<Value*, kMaxChunks / 2> words{};
  for (unsigned i = 0; i < mask_words(); ++i) words[i] = run_scalar(number + i);
  if (rolled_) {
    Value*& bits = half_masks_[{words[0], 0}];
    if (!bits) bits = rolled_->bits_of({words.data(), mask_words()});
    return bits;
  }
  Value* word = words[chunk / 2];
  if (word_of_bits) *word_of_bits = word;
  Value*& bits = half_masks_[{word, chunk % 2}];
  if (!bits) bits = half_bits(word, chunk);
  return bits;
}

llvm::Value* Emitter::lanes_from_bits(Value* bits) {
  Value*& expanded = expanded_masks_[bits];
  if (!expanded) expanded = ir_.CreateBitCast(bits, lane_mask_);
  return expanded;
}

llvm::Value* Emitter::mask_of_register(unsigned number, unsigned chunk) {
  const auto found = run_.masks.find(number);
  if (found != run_.masks.end() && found->second[chunk].raw) return found->second[chunk].raw;
  return lanes_from_bits(bits_of_register(number, chunk));
}

// A scalar instruction of the run may have changed the register since: the other passes read what the first
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
void Emitter::write_lanes(const NodeFacts& facts, unsigned number, unsigned chunk, Value* value) {
  if (facts.merged[number]) {
    Value* old = vgpr(number, chunk);
    Value*& off = locals_.off_lanes[number][chunk];
    if (!off) off = old;
    for (unsigned word = 0; word < mask_words(); ++word) hold(kExec + word);
  }
  set_vgpr(number, chunk, value);
}

void Emitter::merge_waiting(unsigned chunk) {
  for (unsigned r = 0; r < kVgprs; ++r)
    if (locals_.off_lanes[r][chunk]) all_lanes(r, chunk);
}

llvm::Value* Emitter::all_lanes(unsigned number, unsigned chunk) {
  vgpr(number, chunk);
  Value*& off = locals_.off_lanes[number][chunk];
  if (off) locals_.vgpr[number][chunk] = ir_.CreateSelect(exec_mask(chunk), locals_.vgpr[number][chunk], off);
  off = nullptr;
  return locals_.vgpr[number][chunk];
}

}  // namespace lockstep::translator

// Vector ALU instructions: operands, modifiers, the body of semantics/, results.
#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>

#include "engine/translator/body_library.h"
#include "engine/translator/emitter.h"
#include "engine/translator/integer_comparisons.h"
#include "engine/translator/lane_values.h"
#include "engine/translator/operands.h"
#include "engine/translator/pair_folding.h"
#include "isa/operand_rules.h"
#include "isa/row_facts.h"
#include "numeric/float_mode.h"
#include "semantics/cross_lane.h"

namespace lockstep::translator {

using llvm::Value;

namespace {

using isa::Role;

Value* half_word(llvm::IRBuilder<>& ir, Value* value, bool high) {
  return high ? ir.CreateLShr(value, splat(ir, 16)) : ir.CreateAnd(value, splat(ir, 0xffff));
}

const char* output_function(const Operand& result) {
  switch (result.kind) {
    case Operand::Kind::half:
      return "output_f16";
    case Operand::Kind::pair:
      return "output_f64";
    case Operand::Kind::two_halves:
      return "output_pk_f16";
    default:
      return "output_f32";
  }
}

}  // namespace

Value* Emitter::source_word(const isa::Operand& operand, const isa::Instruction& instruction, unsigned word,
                            unsigned chunk) {
  return source_word(*source_of(operand, instruction), word, chunk);
}

Value* Emitter::source_word(const Source& source, unsigned word, unsigned chunk) {
  if (source.is_constant) return splat(ir_, static_cast<uint32_t>(source.value >> (32 * word)));
  if (is_vgpr(source.first)) return vgpr(source.first + word, chunk);
  return splat(ir_, run_scalar(source.first + word));
}

Value* Emitter::place_in(llvm::AllocaInst* array, unsigned index) {
  return ir_.CreateConstInBoundsGEP2_32(array->getAllocatedType(), array, 0, index);
}

void Emitter::call(const std::string& function, const std::vector<Value*>& arguments) {
  llvm::Function* body = module_.getFunction(function);
  if (!body) {
    std::vector<llvm::Type*> parameters;
    for (const Value* argument : arguments) parameters.push_back(argument->getType());
    body = llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), parameters, false),
                                  llvm::Function::ExternalLinkage, function, module_);
  }
  ir_.CreateCall(body, arguments);
}

void Emitter::call_body(const std::string& name, Value* doubt, uint32_t float_mode, bool takes_mode) {
  std::vector<Value*> arguments = {words_, masks_, result_words_, result_mask_, doubt};
  const bool nan = selects_nans_ && takes_mode;
  if (float_mode == kDefaultFloatMode)
    return call((nan ? "lockstep_nan_" : "lockstep_body_") + name, arguments);
  arguments.push_back(ir_.getInt32(float_mode));
  call((nan ? "lockstep_moded_nan_" : "lockstep_moded_") + name, arguments);
}

void Emitter::emit_vector(unsigned index, unsigned chunk) {
  const Node& node = routine_.nodes[index];
  // Both halves of a VOPD pair read before either writes.
  PendingWrites writes;
  unsigned half = 0;
  for (const Half& part : halves_of(node.instruction)) {
    const std::pair<unsigned, unsigned> place = {index, half++};
    if (run_.quotients.steps.contains(place)) continue;
    const auto earlier = run_.quotients.earlier_results.find(place);
    if (earlier == run_.quotients.earlier_results.end()) {
      emit_vector_half(node, part, chunk, writes);
      continue;
    }
    const auto is_result = [&](const isa::Operand& operand) { return operand.role == Role::dst; };
    const auto& operands = node.instruction.operands;
    const isa::Operand& result =
        *std::find_if(operands.begin() + part.first, operands.begin() + part.last, is_result);
    const auto& [begin, number] = earlier->second;
    writes.registers.emplace_back(result.vgpr(), run_.earlier_results.at(begin)[number]);
  }
  for (const auto& [number, value] : writes.registers) write_lanes(facts_.nodes[index], number, chunk, value);
  for (const auto& [number, mask] : writes.masks) {
    if (number == kExec) merge_waiting(chunk);
    if (is_mask_read(index, number)) run_.masks[number][chunk] = mask;
  }
}

void Emitter::emit_root(unsigned index, unsigned chunk) {
  const unsigned operand = run_.quotients.roots.at(index),
                 result = routine_.nodes[index].instruction.find(Role::dst)->vgpr();
  for (unsigned word = 0; word < 2; ++word)
    ir_.CreateStore(vgpr(operand + word, chunk), place_in(words_, word));
  call_body("square_root_f64", doubt_[chunk], kDefaultFloatMode, false);
  std::array<Value*, 2> words;
  for (unsigned word = 0; word < 2; ++word)
    words[word] = ir_.CreateLoad(lanes_, place_in(result_words_, word));
  for (unsigned word = 0; word < 2; ++word)
    write_lanes(facts_.nodes[index], result + word, chunk, words[word]);
}

namespace {

// An addition of 32 bits of which one addend is an SGPR, the other one a VGPR, or 0 where an index of 32 bits
// is added to a pair, and the carry goes to or comes from a register.
struct HalfAddition {
  const isa::Operand* lanes = nullptr;  // null: 0 in all of them
  bool is_high = false;
  unsigned carry = 0, result = 0;
};

std::optional<HalfAddition> half_addition(const isa::Instruction& instruction) {
  const isa::Opcode opcode = instruction.row->base;
  if (opcode != isa::Opcode::v_add_co_u32 && opcode != isa::Opcode::v_add_co_ci_u32) return std::nullopt;
  if (instruction.dpp != isa::Dpp::none || instruction.clamp) return std::nullopt;
  HalfAddition half;
  half.is_high = opcode == isa::Opcode::v_add_co_ci_u32;
  unsigned scalars = 0, zeros = 0;
  for (const Role role : {Role::src0, Role::src1}) {
    const isa::Operand& addend = *instruction.find(role);
    const auto source = source_of(addend, instruction);
    if (!source || (source->is_constant && (!half.is_high || source->value != 0))) return std::nullopt;
    if (source->is_constant)
      ++zeros;
    else if (is_vgpr(source->first))
      half.lanes = &addend;
    else
      ++scalars;
  }
  const isa::Operand* carry = instruction.find(half.is_high ? Role::src2 : Role::dst2);
  if (!carry || scalars != 1 || (!half.lanes && zeros != 1)) return std::nullopt;
  const auto number = scalar_destination(*carry);
  if (!number || carry->code >= isa::code::kInt0) return std::nullopt;
  half.carry = *number;
  half.result = instruction.find(Role::dst)->vgpr();
  return half;
}

}  // namespace

void Emitter::emit_noting_sums(unsigned index, unsigned chunk) {
  const auto half = half_addition(routine_.nodes[index].instruction);
  if (!half) return emit_vector(index, chunk);
  const auto carry_now = [&]() -> Value* {
    const auto found = run_.masks.find(half->carry);
    return found == run_.masks.end() ? nullptr : found->second[chunk].bits;
  };
  LowHalf low;
  if (half->is_high) {
    if (const auto found = low_halves_.find({half->carry, chunk}); found != low_halves_.end())
      low = found->second;
    if (low.carry != carry_now()) low = {};
  }
  Value* lanes = half->lanes ? vgpr(half->lanes->vgpr(), chunk) : llvm::Constant::getNullValue(lanes_);
  // The SGPR is the first scalar that the instruction reads.
  const size_t read = chunk == 0 ? run_.scalar_reads.size() : run_.next_read;
  emit_vector(index, chunk);
  Value *base = run_.scalar_reads[read], *sum = vgpr(half->result, chunk);
  if (!half->is_high)
    low_halves_[{half->carry, chunk}] = {carry_now(), base, lanes, sum};
  else if (low.carry)
    address_sums_[{low.sum, sum}] = {{low.base, base}, {low.offset, lanes}};
}

bool Emitter::adds_half_of_base(const isa::Instruction& instruction) {
  return half_addition(instruction).has_value();
}

// Guide 7.7, as in semantics/cross_lane.h: a row is a chunk, so this is one constant shuffle.
Emitter::DppSource Emitter::dpp_source(const isa::Instruction& instruction, unsigned number, unsigned chunk) {
  const bool is_dpp8 = instruction.dpp == isa::Dpp::dpp8;
  const semantics::RowShuffle shuffle = is_dpp8 ? semantics::dpp8_row_shuffle(instruction.dpp8_selectors)
                                                : semantics::dpp16_row_shuffle(instruction.dpp_control);
  const std::vector<int> indices(std::begin(shuffle.source), std::end(shuffle.source));
  Value* source = vgpr(number, chunk);
  Value* exec = bits_of_register(kExec, chunk);
  Value* valid = ir_.getInt16(shuffle.in_row);
  if (!instruction.fetch_inactive) {
    Value* active = ir_.CreateShuffleVector(lanes_from_bits(exec), indices);
    valid = ir_.CreateAnd(ir_.CreateBitCast(active, i16_), valid);
  }
  DppSource result;
  result.value = ir_.CreateSelect(lanes_from_bits(valid), ir_.CreateShuffleVector(source, indices),
                                  llvm::Constant::getNullValue(lanes_));
  result.written = exec;
  if (is_dpp8) return result;
  const bool is_row_written = instruction.row_mask >> chunk & 1;
  result.written = ir_.CreateAnd(
      exec, ir_.getInt16(is_row_written ? semantics::bank_lanes(instruction.bank_mask) : uint16_t{0}));
  if (!instruction.bound_control) result.written = ir_.CreateAnd(result.written, valid);
  return result;
}

Value* Emitter::widened_half(Value* half, unsigned chunk, uint32_t float_mode) {
  ir_.CreateStore(half, place_in(words_, 0));
  call_body("v_cvt_f32_f16", doubt_[chunk], float_mode, true);
  return ir_.CreateLoad(lanes_, place_in(result_words_, 0));
}

namespace {

// One lane's work and its copies pay where a lane's work is long, or goes on with what was made so. Compilers
// convert what all lanes have, and take it apart, for reciprocals.
bool begins_work_for_one_lane(const isa::Row& row) {
  switch (row.base) {
    case isa::Opcode::v_cvt_f32_i32:
    case isa::Opcode::v_cvt_f32_u32:
    case isa::Opcode::v_frexp_mant_f32:
    case isa::Opcode::v_frexp_exp_i32_f32:
    case isa::Opcode::v_mul_hi_u32:
      return true;
    default:
      return row.flags & isa::kTrans;
  }
}

}  // namespace

// Where all lanes have the same sources one lane is computed, for all chunks of the wave. `key` is the
// instruction's own.
const std::vector<Value*>& Emitter::in_all_lanes(const isa::Operand& key, const std::vector<Value*>& sources,
                                                 const std::vector<Value*>& arguments, unsigned words,
                                                 unsigned chunk, bool takes_mode, const BodyCalls& compute) {
  SameInAllLanes& same = run_.same_in_all_lanes[&key];
  const auto first_of = [&](Value* lanes) { return ir_.CreateExtractElement(lanes, uint64_t{0}); };
  if (same.results.empty() || same.sources != sources) {
    same = {sources, {}, nullptr};
    std::vector<Value*> numbers;
    Value* doubt = nullptr;
    if (row_) {
      llvm::Function* apart = function_of_one_lane(static_cast<unsigned>(arguments.size()), words, compute);
      std::vector<Value*> first_lane;
      for (Value* argument : arguments) first_lane.push_back(first_of(argument));
      Value* results = ir_.CreateCall(apart, first_lane);
      for (unsigned word = 0; word < words; ++word) numbers.push_back(ir_.CreateExtractValue(results, word));
      doubt = ir_.CreateExtractValue(results, words);
    } else {
      for (unsigned i = 0; i < arguments.size(); ++i) ir_.CreateStore(arguments[i], place_in(words_, i));
      ir_.CreateStore(llvm::Constant::getNullValue(lanes_), doubt_in_all_lanes_);
      compute(doubt_in_all_lanes_, kOfOneLane);
      for (unsigned word = 0; word < words; ++word)
        numbers.push_back(first_of(ir_.CreateLoad(lanes_, place_in(result_words_, word))));
      if (takes_mode) doubt = first_of(ir_.CreateLoad(lanes_, doubt_in_all_lanes_));
    }
    for (Value* number : numbers) {
      run_.numbers.insert(number);
      same.results.push_back(splat(ir_, number));
    }
    if (takes_mode) same.doubt = ir_.CreateSExt(splat(ir_, ir_.CreateICmpNE(doubt, ir_.getInt32(0))), lanes_);
  }
  if (same.doubt)
    ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(lanes_, doubt_[chunk]), same.doubt), doubt_[chunk]);
  return same.results;
}

// LLVM does not move branches out of loops, which bodies are full of, but calls of what does nothing else:
// what is the same for all waves of a row is computed before these.
llvm::Function* Emitter::function_of_one_lane(unsigned arguments, unsigned words, const BodyCalls& compute) {
  auto* result = llvm::StructType::get(context_, std::vector<llvm::Type*>(words + 1, i32_));
  auto* type = llvm::FunctionType::get(result, std::vector<llvm::Type*>(arguments, i32_), false);
  auto* apart = llvm::Function::Create(type, llvm::Function::InternalLinkage, "one_lane", module_);
  apart->setMemoryEffects(llvm::MemoryEffects::none());
  apart->setDoesNotThrow();
  apart->setWillReturn();
  apart->setSpeculatable();
  apart->addFnAttr(llvm::Attribute::AlwaysInline);
  llvm::IRBuilderBase::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(context_, "", apart));
  // Arguments and results are in memory of its own, which takes the place of this function's meanwhile.
  llvm::AllocaInst** const memory[] = {&words_, &masks_, &result_words_, &result_mask_};
  std::vector<llvm::AllocaInst*> other;
  for (llvm::AllocaInst** each : memory) other.push_back(ir_.CreateAlloca((*each)->getAllocatedType()));
  const auto exchange = [&] {
    for (size_t i = 0; i < other.size(); ++i) std::swap(*memory[i], other[i]);
  };
  exchange();
  for (unsigned i = 0; i < arguments; ++i) ir_.CreateStore(splat(ir_, apart->getArg(i)), place_in(words_, i));
  llvm::AllocaInst* doubt = ir_.CreateAlloca(lanes_);
  ir_.CreateStore(llvm::Constant::getNullValue(lanes_), doubt);
  compute(doubt, kOfOneLane);
  Value* all = llvm::PoisonValue::get(result);
  for (unsigned word = 0; word <= words; ++word) {
    Value* lanes = ir_.CreateLoad(lanes_, word < words ? place_in(result_words_, word) : doubt);
    all = ir_.CreateInsertValue(all, ir_.CreateExtractElement(lanes, uint64_t{0}), word);
  }
  ir_.CreateRet(all);
  exchange();
  return apart;
}

void Emitter::emit_vector_half(const Node& node, const Half& part, unsigned chunk, PendingWrites& writes) {
  const isa::Instruction& instruction = node.instruction;
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

  if (Value* bits = lanes_up_to_bound(node, part, sources, chunk)) {
    if (const auto result = scalar_destination(*mask_destination))
      writes.masks.push_back({*result, {.bits = ir_.CreateAnd(bits, bits_of_register(kExec, chunk))}});
    return;
  }
  if (reads_lanes_that_are_off(instruction))
    for (const isa::Operand* source : sources)
      if (source->is_vgpr()) all_lanes(source->vgpr(), chunk);
  DppSource dpp;
  if (instruction.dpp != isa::Dpp::none) dpp = dpp_source(instruction, sources[0]->vgpr(), chunk);
  // What each word of the sources is in all lanes; null where they may differ.
  std::vector<Value*> numbers;
  const auto word_of = [&](const isa::Operand& operand, unsigned word) {
    Value* lanes =
        dpp.value && &operand == sources[0] ? dpp.value : source_word(operand, instruction, word, chunk);
    numbers.push_back(llvm::getSplatValue(lanes));
    return lanes;
  };

  // Arguments, which then go through memory (body_abi.h).
  bool neg_is_sign = false;
  for (unsigned i = 0; i < signature.count; ++i)
    neg_is_sign |= signature.parameters[i].kind == Operand::Kind::sign_bits;
  unsigned next_source = 0;
  std::vector<Value*> words, masks;
  const auto pass_word = [&](Value* value) { words.push_back(value); };
  const auto pass_mask = [&](Value* value) { masks.push_back(value); };
  const auto store_arguments = [&] {
    for (unsigned i = 0; i < words.size(); ++i) ir_.CreateStore(words[i], place_in(words_, i));
    for (unsigned i = 0; i < masks.size(); ++i) ir_.CreateStore(masks[i], place_in(masks_, i));
    words.clear();
    masks.clear();
  };
  for (unsigned i = 0; i < signature.count; ++i) {
    const Operand& parameter = signature.parameters[i];
    switch (parameter.kind) {
      case Operand::Kind::mode:
        continue;
      case Operand::Kind::lane_numbers: {
        std::vector<llvm::Constant*> lanes;
        for (unsigned lane = 0; lane < 16; ++lane) lanes.push_back(ir_.getInt32(lane + 16 * chunk));
        pass_word(llvm::ConstantVector::get(lanes));
        numbers.push_back(nullptr);
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
      pass_word(with_sign(ir_, half_word(ir_, word_of(operand, 0), operand.high), abs, neg, 15));
    } else if (parameter.kind == Operand::Kind::two_halves) {
      const bool high_hi = isa::high_element_is_high_half(operand, *part.row);
      const bool neg_hi = isa::high_element_is_negated(operand, *part.row);
      Value* value = word_of(operand, 0);
      pass_word(with_sign(ir_, half_word(ir_, value, operand.high), abs, operand.neg, 15));
      pass_word(with_sign(ir_, half_word(ir_, value, high_hi), abs, neg_hi, 15));
    } else if (parameter.kind == Operand::Kind::mix) {
      // OP_SEL_HI says f16 instead of f32, OP_SEL which half; NEG_HI stands for ABS (guide 7.5, MIX).
      Value* value = word_of(operand, 0);
      if (operand.high_hi) value = widened_half(half_word(ir_, value, operand.high), chunk, node.float_mode);
      numbers.back() = nullptr;
      pass_word(with_sign(ir_, value, operand.neg_hi, operand.neg, 31));
    } else {
      for (unsigned word = 0; word < parameter.words; ++word) {
        const bool has_sign = word + 1 == parameter.words;
        pass_word(with_sign(ir_, word_of(operand, word), has_sign && abs, has_sign && neg, 31));
      }
    }
  }
  const bool is_same_in_all_lanes =
      !numbers.empty() && std::ranges::find(numbers, nullptr) == numbers.end() && !run_.nodes.empty();
  if (const IntegerComparison* comparison = integer_comparison(part.row->base);
      comparison && is_same_in_all_lanes) {
    const auto number = [&](unsigned i) {
      return comparison->words == 1 ? numbers[i] : join_words(ir_, numbers[2 * i], numbers[2 * i + 1]);
    };
    Value* has_lanes = ir_.CreateICmp(comparison->predicate, number(0), number(1));
    if (const auto result = scalar_destination(*mask_destination))
      writes.masks.emplace_back(*result, alike_mask(has_lanes, chunk));
    return;
  }

  // The body finds the carry by comparing the sum with its first addend, and hosts without comparisons of
  // unsigned numbers are quicker with a constant there.
  if (part.row->base == isa::Opcode::v_add_co_u32 && llvm::isa<llvm::Constant>(words[1]))
    std::swap(words[0], words[1]);

  const bool saturate = instruction.clamp && signature.saturates;
  const bool is_modified =
      (instruction.omod || instruction.clamp) && !(part.row->flags & isa::kIgnoresOutputModifiers);
  const std::string name(isa::name(part.row->base));
  const auto compute = [&](Value* doubt, const std::string& suffix) {
    if (saturate)
      call("lockstep_saturated_" + name + suffix, {words_, masks_, result_words_, result_mask_, doubt});
    else
      call_body(name + suffix, doubt, signature.takes_mode ? node.float_mode : kDefaultFloatMode,
                signature.takes_mode);
    if (saturate || !signature.result.is_float || !is_modified) return;
    const unsigned count = signature.result.kind == Operand::Kind::pair ? 2 : 1;
    for (unsigned word = 0; word < count; ++word)
      pass_word(ir_.CreateLoad(lanes_, place_in(result_words_, word)));
    pass_mask(ir_.getInt16(
        static_cast<uint16_t>(instruction.omod | instruction.clamp << 2 | signature.flushes_always << 3)));
    store_arguments();
    call_body(output_function(signature.result) + suffix, doubt, node.float_mode, true);
  };
  const bool is_same = is_same_in_all_lanes && masks.empty() && !signature.has_mask &&
                       (begins_work_for_one_lane(*part.row) ||
                        std::ranges::any_of(numbers, [&](Value* v) { return run_.numbers.contains(v); }));
  const std::vector<Value*>* same = nullptr;
  if (is_same) {
    const std::vector<Value*> arguments = std::exchange(words, {});
    same = &in_all_lanes(instruction.operands[part.first], numbers, arguments, signature.result.words, chunk,
                         signature.takes_mode, compute);
  } else {
    store_arguments();
    compute(doubt_[chunk], "");
  }

  if (destination && signature.result.kind != Operand::Kind::none) {
    const auto result_word = [&](unsigned word) {
      return same ? (*same)[word] : ir_.CreateLoad(lanes_, place_in(result_words_, word));
    };
    if (signature.result.kind == Operand::Kind::half) {
      Value* old = vgpr(destination->vgpr(), chunk);
      Value* value = result_word(0);
      const bool high = destination->high || part.row->opcode == isa::Opcode::v_fma_mixhi_f16;
      value = high
                  ? ir_.CreateOr(ir_.CreateAnd(old, splat(ir_, 0xffff)), ir_.CreateShl(value, splat(ir_, 16)))
                  : ir_.CreateOr(ir_.CreateAnd(old, splat(ir_, 0xffff0000u)), value);
      writes.registers.emplace_back(destination->vgpr(), value);
    } else {
      for (unsigned word = 0; word < signature.result.words; ++word)
        writes.registers.emplace_back(destination->vgpr() + word, result_word(word));
    }
  }
  // Other lanes of EXEC keep what they have.
  if (dpp.written)
    for (auto& [number, value] : writes.registers)
      value = ir_.CreateSelect(lanes_from_bits(dpp.written), value, vgpr(number, chunk));
  if (signature.has_mask && mask_destination) {
    if (const auto number = scalar_destination(*mask_destination)) {
      // Lanes that are off read as 0 in a compare or carry mask (guide 7.2.5).
      Value* raw = ir_.CreateLoad(lane_mask_, result_mask_);
      Value* exec = nullptr;
      Value* bits = ir_.CreateAnd(bits_of_lanes(raw),
                                  dpp.written ? dpp.written : bits_of_register(kExec, chunk, &exec));
      writes.masks.push_back(
          {*number, LaneMask{*number == kExec || dpp.written ? nullptr : raw, bits, raw, exec}});
    }
  }
}

}  // namespace lockstep::translator

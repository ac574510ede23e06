// What quotients and roots are as a whole (quotients.h).
#include <llvm/Analysis/VectorUtils.h>

#include <array>
#include <string>

#include "engine/translator/emitter.h"
#include "engine/translator/lane_values.h"
#include "engine/translator/operands.h"
#include "engine/translator/pair_folding.h"
#include "numeric/float_mode.h"
#include "numeric/wide_quotient.h"

namespace lockstep::translator {

using isa::Role;
using llvm::Value;

namespace {

constexpr uint32_t kOne = 0x3f800000;  // as a float

}  // namespace

// The last instruction of a quotient, without those before it.
void Emitter::emit_quotient(unsigned index, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const isa::Operand& result = *instruction.find(Role::dst);
  unsigned next = 0;
  for (const Role role : {Role::src1, Role::src2}) {
    const isa::Operand& operand = *instruction.find(role);
    for (unsigned word = 0; word < result.words; ++word) {
      const bool neg = operand.neg && word + 1 == result.words;
      Value* value = with_sign(ir_, source_word(operand, instruction, word, chunk), false, neg, 31);
      ir_.CreateStore(value, place_in(words_, next++));
    }
  }
  call_body(result.words == 2 ? "quotient_f64" : "quotient_f32", doubt_[chunk], kDefaultFloatMode, false);
  for (unsigned word = 0; word < result.words; ++word)
    write_lanes(facts_.nodes[index], result.vgpr() + word, chunk,
                ir_.CreateLoad(lanes_, place_in(result_words_, word)));
}

// Of the body that was called last, until the end of the steps whose results they are.
void Emitter::keep_results(unsigned index, unsigned words) {
  auto& results = run_.earlier_results[index];
  for (unsigned word = 0; word < words; ++word)
    results[word] = ir_.CreateLoad(lanes_, place_in(result_words_, word));
}

// All of a quotient of integers and of its rest, where its steps first read the dividend.
void Emitter::emit_integer_division(unsigned index, const IntegerDivision& division, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  ir_.CreateStore(source_word(*instruction.find(division.dividend), instruction, 0, chunk),
                  place_in(words_, 0));
  ir_.CreateStore(source_word({.first = division.divisor}, 0, chunk), place_in(words_, 1));
  call_body("quotient_u32", doubt_[chunk], kDefaultFloatMode, false);
  keep_results(index, 2);
}

// By a constant, by a number that all lanes have, or by one of each lane.
void Emitter::emit_wide_division(unsigned index, const WideDivision& division, unsigned chunk) {
  const auto& [n_low, n_high, d_low, d_high] = division.words;
  const auto is_in_all_lanes = [](const Source& word) { return word.is_constant || !is_vgpr(word.first); };
  const uint64_t constant =
      uint64_t{static_cast<uint32_t>(d_high.value)} << 32 | static_cast<uint32_t>(d_low.value);
  unsigned next = 0;
  const auto pass = [&](Value* word) { ir_.CreateStore(word, place_in(words_, next++)); };
  std::array<Value*, 4> words;
  for (unsigned word = 0; word < 4; ++word) pass(words[word] = source_word(division.words[word], 0, chunk));
  if (d_low.is_constant && d_high.is_constant && numeric::greatest_wide_reciprocal(constant) != 0) {
    const numeric::WideFactor factor = numeric::wide_factor(constant);
    const uint32_t is_long = factor.is_long ? ~uint32_t{0} : 0;
    for (const uint32_t word :
         {static_cast<uint32_t>(factor.factor), static_cast<uint32_t>(factor.factor >> 32),
          uint32_t{factor.before}, uint32_t{factor.after}, is_long, is_long})
      pass(splat(ir_, word));
    call_body("quotient_u64_by", doubt_[chunk], kDefaultFloatMode, false);
  } else if (is_in_all_lanes(d_low) && is_in_all_lanes(d_high)) {
    Value* const reciprocal = wide_reciprocal(index, {words[2], words[3]}, chunk);
    pass(splat(ir_, ir_.CreateTrunc(reciprocal, i32_)));
    pass(splat(ir_, ir_.CreateTrunc(ir_.CreateLShr(reciprocal, 32), i32_)));
    call_body("quotient_u64_with", doubt_[chunk], kDefaultFloatMode, false);
  } else {
    call_body("quotient_u64", doubt_[chunk], kDefaultFloatMode, false);
  }
  keep_results(index, 4);
}

// Of a divisor that all lanes have: (2^64 - 1) / d. Where it is 0, or lanes that are on have an estimate of
// it that compilers do not make, the interpreter executes the run.
Value* Emitter::wide_reciprocal(unsigned index, const std::array<Value*, 2>& divisor_words, unsigned chunk) {
  const auto doubt_lanes = [&](Value* lanes) {
    Value* const doubted = ir_.CreateSExt(lanes, lanes_);
    ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(lanes_, doubt_[chunk]), doubted), doubt_[chunk]);
  };
  const auto estimate_words = run_.wide_estimates.find(index);
  const bool has_estimate = estimate_words != run_.wide_estimates.end();
  WideReciprocal& known = run_.wide_reciprocals[index];
  if (chunk == 0 || !known.value) {
    const auto number = [&](Value* lanes) {
      return ir_.CreateZExt(ir_.CreateExtractElement(lanes, uint64_t{0}), i64_);
    };
    const auto& [low, high] = divisor_words;
    Value* const divisor = ir_.CreateOr(number(low), ir_.CreateShl(number(high), 32));
    known.is_zero = ir_.CreateICmpEQ(divisor, ir_.getInt64(0));
    Value* const other = ir_.CreateSelect(known.is_zero, ir_.getInt64(1), divisor);
    known.value = ir_.CreateUDiv(ir_.getInt64(~uint64_t{0}), other);
    if (has_estimate)
      known.error =
          ir_.CreateAdd(ir_.CreateUDiv(ir_.getInt64(numeric::kWideEstimateError), other), ir_.getInt64(1));
  }
  doubt_lanes(ir_.CreateVectorSplat(kLanesPerChunk, known.is_zero));
  if (has_estimate) {
    const auto& [low, high] = estimate_words->second;
    Value* const estimate = join_words(ir_, low, high);
    Value* const less = ir_.CreateSub(ir_.CreateVectorSplat(kLanesPerChunk, known.value), estimate);
    doubt_lanes(ir_.CreateICmpUGT(less, ir_.CreateVectorSplat(kLanesPerChunk, known.error)));
  }
  return known.value;
}

// Registers of the estimate may have been written since by where the quotient is computed.
void Emitter::take_wide_estimates(unsigned chunk) {
  for (const auto& [index, division] : run_.quotients.wide_divisions)
    if (division.estimate)
      for (unsigned word = 0; word < 2; ++word)
        run_.wide_estimates[index][word] = source_word({.first = (*division.estimate)[word]}, 0, chunk);
}

// Of the lanes that are on another number leaves the run to the interpreter.
void Emitter::check_expected(const ExpectedWord& expected, unsigned chunk) {
  Value* const word = source_word({.first = expected.number}, 0, chunk);
  Value* const value = splat(ir_, expected.value);
  Value* const differs = expected.may_be_one_less
                             ? ir_.CreateAnd(ir_.CreateSub(value, word), splat(ir_, ~uint32_t{1}))
                             : ir_.CreateXor(value, word);
  ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(lanes_, doubt_[chunk]), differs), doubt_[chunk]);
}

// Of the operand of the node there: one that is a float of V_SQRT_F32, a double of V_LDEXP_F64.
void Emitter::emit_earlier_root(unsigned index, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const isa::Operand& operand = *instruction.find(Role::src0);
  for (unsigned word = 0; word < operand.words; ++word)
    ir_.CreateStore(source_word(operand, instruction, word, chunk), place_in(words_, word));
  call_body(operand.words == 1 ? "square_root_f32" : "whole_square_root_f64", doubt_[chunk],
            kDefaultFloatMode, false);
  keep_results(index, operand.words);
}

// Where the first of a ratio's steps reads it. Lanes that are off may hold anything, and get what needs no
// look.
void Emitter::take_ratio_operand(unsigned index, bool is_denominator, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const isa::Operand& operand = *instruction.find(Role::src0);
  Value* value = with_sign(ir_, source_word(operand, instruction, 0, chunk), false, operand.neg, 31);
  Value* number = llvm::getSplatValue(value);
  if (!number && !has_launch_exec(index))
    value = ir_.CreateSelect(mask_of_register(kExec, chunk), value, splat(ir_, kOne));
  run_.ratio_operands[index] = value;
  if (!is_denominator) return;
  const auto compute = [&](Value* doubt, const std::string& suffix) {
    call_body("v_rcp_f32" + suffix, doubt, kDefaultFloatMode, true);
  };
  if (number) {
    run_.reciprocals[index] = in_all_lanes(operand, {number}, {value}, 1, chunk, true, compute)[0];
  } else {
    ir_.CreateStore(value, place_in(words_, 0));
    compute(doubt_[chunk], "");
    run_.reciprocals[index] = ir_.CreateLoad(lanes_, place_in(result_words_, 0));
  }
}

void Emitter::emit_ratio(unsigned index, unsigned chunk) {
  const Ratio& ratio = run_.quotients.ratios.at(index);
  Value* numerator = ratio.numerator ? run_.ratio_operands.at(*ratio.numerator) : splat(ir_, ratio.constant);
  ir_.CreateStore(with_sign(ir_, numerator, false, ratio.numerator_is_negated, 31), place_in(words_, 0));
  if (!ratio.denominator) {
    ir_.CreateStore(splat(ir_, ratio.constant), place_in(words_, 1));
    call_body("ratio_of_constant_f32", doubt_[chunk], kDefaultFloatMode, false);
  } else {
    ir_.CreateStore(run_.ratio_operands.at(*ratio.denominator), place_in(words_, 1));
    ir_.CreateStore(run_.reciprocals.at(*ratio.denominator), place_in(words_, 2));
    call_body(ratio.reciprocal_first ? "ratio_of_reciprocal_f32" : "ratio_f32", doubt_[chunk],
              kDefaultFloatMode, false);
  }
  Value* result = ir_.CreateLoad(lanes_, place_in(result_words_, 0));
  write_lanes(facts_.nodes[index], routine_.nodes[index].instruction.find(Role::dst)->vgpr(), chunk,
              with_sign(ir_, result, false, ratio.is_negated, 31));
}

// Where the node converts it: the register may be written before the double is there.
void Emitter::take_word(unsigned index, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  run_.taken_words[index] = source_word(*instruction.find(Role::src0), instruction, 0, chunk);
}

void Emitter::emit_number_of_words(unsigned index, unsigned chunk) {
  const NumberOfWords& number = run_.quotients.numbers_of_words.at(index);
  ir_.CreateStore(run_.taken_words.at(number.low), place_in(words_, 0));
  ir_.CreateStore(run_.taken_words.at(number.high), place_in(words_, 1));
  call_body(number.is_signed ? "f64_of_i64" : "f64_of_u64", doubt_[chunk], kDefaultFloatMode, false);
  const unsigned result = routine_.nodes[index].instruction.find(Role::dst)->vgpr();
  for (unsigned word = 0; word < 2; ++word)
    write_lanes(facts_.nodes[index], result + word, chunk,
                ir_.CreateLoad(lanes_, place_in(result_words_, word)));
}

// Of the double that the node scales.
void Emitter::emit_words_of_number(unsigned index, unsigned chunk) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  for (unsigned word = 0; word < 2; ++word)
    ir_.CreateStore(source_word(*instruction.find(Role::src0), instruction, word, chunk),
                    place_in(words_, word));
  call_body("words_of_f64", doubt_[chunk], kDefaultFloatMode, false);
  keep_results(index, 3);
}

}  // namespace lockstep::translator

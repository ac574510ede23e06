// What quotients and roots are as a whole (quotients.h).
#include <llvm/Analysis/VectorUtils.h>

#include <string>

#include "engine/translator/emitter.h"
#include "engine/translator/lane_values.h"
#include "engine/translator/operands.h"
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

void Emitter::emit_wide_division(unsigned index, const WideDivision& division, unsigned chunk) {
  unsigned next = 0;
  for (const Source& word : division.words)
    ir_.CreateStore(source_word(word, 0, chunk), place_in(words_, next++));
  const auto number = [&](const Source& low, const Source& high) {
    return uint64_t{static_cast<uint32_t>(high.value)} << 32 | static_cast<uint32_t>(low.value);
  };
  const auto& [n_low, n_high, d_low, d_high] = division.words;
  const uint64_t divisor = d_low.is_constant && d_high.is_constant ? number(d_low, d_high) : 0;
  if (numeric::greatest_wide_reciprocal(divisor) == 0) {
    call_body("quotient_u64", doubt_[chunk], kDefaultFloatMode, false);
  } else {
    const numeric::WideFactor factor = numeric::wide_factor(divisor);
    const uint32_t is_long = factor.is_long ? ~uint32_t{0} : 0;
    for (const uint32_t word :
         {static_cast<uint32_t>(factor.factor), static_cast<uint32_t>(factor.factor >> 32),
          uint32_t{factor.before}, uint32_t{factor.after}, is_long, is_long})
      ir_.CreateStore(splat(ir_, word), place_in(words_, next++));
    call_body("quotient_u64_by", doubt_[chunk], kDefaultFloatMode, false);
  }
  keep_results(index, 4);
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
    ir_.CreateStore(value, place_in(words_, 0));
    call_body("v_rcp_f32" + suffix, doubt, kDefaultFloatMode, true);
  };
  if (number) {
    run_.reciprocals[index] = in_all_lanes(operand, {number}, 1, chunk, true, compute)[0];
  } else {
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

}  // namespace lockstep::translator

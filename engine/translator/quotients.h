// Quotients and square roots among vector instructions: compilers make eight to eleven instructions of one,
// of which the last one's result is all that anybody reads.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/operands.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

class RunGraph;

// What stands for the last step of a quotient of unsigned integers, of its rest (which comes behind it), or
// of a root, by word: it is computed where one of the steps reads what it is made of.
struct EarlierResult {
  unsigned begin = 0;  // node
  unsigned number = 0;
};
// What the node there divides (numeric/integer_quotient.h): its own operand of that role, by that register.
struct IntegerDivision {
  isa::Role dividend{};
  unsigned divisor = 0;
};
// Both words of the dividend, then of the divisor, as they are before a node (numeric/wide_quotient.h).
struct WideDivision {
  std::array<Source, 4> words;
  // Registers that have the first integer that compilers take for the reciprocal of the divisor, which is in
  // SGPRs, and those that have its opposite, at the run's begin, if they are from before it.
  std::optional<std::array<unsigned, 2>> estimate, opposite;
};
// A register that must hold this where a node reads it, or the number before: the reciprocal of a constant.
struct ExpectedWord {
  unsigned number = 0;
  uint32_t value = 0;
  bool may_be_one_less = false;
  auto operator<=>(const ExpectedWord&) const = default;
};

// A quotient of floats that need not be exact (numeric/ratio.h). Its operands are read where V_FREXP_MANT_F32
// reads them. One of them may be a constant: the numerator, or the denominator, whose reciprocal it is.
struct Ratio {
  std::optional<unsigned> numerator, denominator;  // nodes
  uint32_t constant = 0;
  bool numerator_is_negated = false, is_negated = false, reciprocal_first = false;
};

// high * 2^32 + low as a double: the nodes that convert the words.
struct NumberOfWords {
  unsigned low = 0, high = 0;
  bool is_signed = false;
};

struct Quotients {
  // The v_div_fixup_* whose result is src2 / src1, rounded once (numeric/quotient.h).
  std::set<unsigned> divisions;
  // Nodes whose result is the root of a double that VGPRs hold from there on (numeric/square_root.h).
  std::map<unsigned, unsigned> roots;
  // By node, and by node and half.
  std::map<unsigned, IntegerDivision> integer_divisions;
  std::map<unsigned, WideDivision> wide_divisions;
  std::map<unsigned, std::set<ExpectedWord>> expected_words;
  std::map<std::pair<unsigned, unsigned>, EarlierResult> earlier_results;
  // The v_sqrt_f32 of roots that are rounded as the host's, and of roots of doubles with the steps around
  // them, the v_ldexp_f64 that reads what they are of (numeric/square_root.h).
  std::set<unsigned> float_roots, whole_roots;
  // By the v_ldexp_f32 that ends it.
  std::map<unsigned, Ratio> ratios;
  // The v_frexp_mant_f32 of these, and whether its operand is a denominator.
  std::map<unsigned, bool> fractions;
  // Scalar registers that are taken for the divisor and its opposite: their sum must be 0 at the run's begin.
  std::set<std::pair<unsigned, unsigned>> opposites;
  // Doubles of integers of 64 bits, by the v_add_f64 that ends each; nodes whose first source they are of.
  // And v_ldexp_f64 that read doubles of which words are (numeric/wide_conversion.h).
  std::map<unsigned, NumberOfWords> numbers_of_words;
  std::set<unsigned> taken_words, words_of_numbers;
  // What computes nothing but steps of these: nodes, and of VOPD pairs which half (else 0).
  std::set<std::pair<unsigned, unsigned>> steps;
};

// Among nodes that are executed one after the other. `live`: what is read behind them, in lanes that are on.
Quotients find_quotients(const Routine& routine, const Facts& facts, const std::vector<unsigned>& nodes,
                         const RegisterSet& live);

// Those of integers alone, of 32 and of 64 bits, ratios alone, conversions of 64 bits, and roots of floats,
// which are added to the result.
void find_integer_quotients(const RunGraph& run, const RegisterSet& live, Quotients& result);
void find_wide_quotients(const RunGraph& run, const RegisterSet& live, Quotients& result);
void find_ratios(const RunGraph& run, const RegisterSet& live, Quotients& result);
void find_wide_conversions(const RunGraph& run, const RegisterSet& live, Quotients& result);
void find_float_roots(const RunGraph& run, const RegisterSet& live, Quotients& result);

// A quotient that has begun ends as many instructions later. v_div_scale_*: 1; v_div_fixup_*: -2, else 0.
int quotient_steps_open(const Node& node);
// The reciprocal of an integer, a float that is taken apart, or a root that may be rounded: what is left is
// some twenty instructions.
bool begins_quotient(const Node& node);
// By this float, 2^64 less four units, compilers multiply the reciprocal of an integer of 64 bits.
inline constexpr uint64_t kScaleOfWideQuotient = 0x5f7ffffc;
bool begins_wide_quotient(const Node& node);

}  // namespace lockstep::translator

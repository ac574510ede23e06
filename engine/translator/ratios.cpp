// Quotients of floats that need not be exact: what compilers make of them is taken apart and put together
// again, which a product with the reciprocal of the whole denominator does not need (numeric/ratio.h).
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/translator/quotients.h"
#include "engine/translator/run_graph.h"
#include "numeric/format.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using numeric::Layout;

// value * 2^exponent for values whose exponent is near that of 1, as those of fractions and of the constants
// that compilers leave of them are.
std::optional<uint32_t> scaled(uint32_t value, int32_t exponent) {
  using L = Layout<F32>;
  const uint32_t size = value & L::kMagnitude;
  if (size < L::kOne - L::kMinNormal || size >= L::kOne + L::kMinNormal) return std::nullopt;
  constexpr int32_t kMostExponent = 100;  // far from what is no normal number
  if (exponent < -kMostExponent || exponent > kMostExponent) return std::nullopt;
  return value + (static_cast<uint32_t>(exponent) << L::kFraction);
}

class Finder {
 public:
  explicit Finder(const RunGraph& run) : run_(run) {}

  void find(const RegisterSet& live, Quotients& result) {
    std::vector<Found> found;
    for (int i = 0; i < run_.size(); ++i)
      if (auto ratio = ratio_of(i)) found.push_back(std::move(*ratio));
    drop_needed_patterns(run_, live, found);
    for (const Found& each : found) {
      result.ratios.emplace(run_.operation(each.end).node, each.ratio);
      if (each.ratio.denominator) result.fractions[*each.ratio.denominator] = true;
      if (each.ratio.numerator) result.fractions.try_emplace(*each.ratio.numerator, false);
      add_steps(run_, each, result.steps);
    }
  }

 private:
  struct Found : Pattern {
    Ratio ratio;
  };
  // The operand of which the fraction is, if the other term is its exponent.
  struct Parts {
    unsigned node = 0;
    Term operand;
  };
  std::optional<Parts> parts(const Term& fraction, const Term& exponent, std::set<int>& steps) const {
    const Operation* first = run_.made_by(fraction, {Opcode::v_frexp_mant_f32}, steps);
    const Operation* second = run_.made_by(exponent, {Opcode::v_frexp_exp_i32_f32}, steps);
    if (!first || !second || !first->sources[0].same_but_sign(second->sources[0])) return std::nullopt;
    return Parts{first->node, first->sources[0]};
  }

  std::optional<Found> ratio_of(int number) const {
    const Operation& last = run_.operation(number);
    if (!last.is_plain || last.opcode != Opcode::v_ldexp_f32 || last.sources[1].neg) return std::nullopt;
    Term product = last.sources[0];
    std::set<int> steps;
    if (auto of_constant = ratio_of_constant(number)) return of_constant;
    const Operation* difference =
        run_.made_by(last.sources[1], {Opcode::v_sub_nc_u32, Opcode::v_subrev_nc_u32}, steps);
    if (!difference) return std::nullopt;
    const unsigned minuend = difference->opcode == Opcode::v_sub_nc_u32 ? 0 : 1;
    const Term &exponent = difference->sources[minuend], &exponent_below = difference->sources[1 - minuend];
    Found found;
    found.end = number;
    found.ratio.is_negated = std::exchange(product.neg, false);
    std::set<int> tried = steps;
    if (const Operation* made = run_.made_by(product, {Opcode::v_mul_f32}, tried)) {
      for (const unsigned of_reciprocal : {0u, 1u}) {
        found.steps = tried;
        found.ratio.reciprocal_first = of_reciprocal == 0;
        if (has_denominator(found, made->sources[of_reciprocal], exponent_below) &&
            has_numerator(found, made->sources[1 - of_reciprocal], exponent))
          return checked(std::move(found));
      }
      return std::nullopt;
    }
    found.steps = steps;
    const Term one{.is_constant = true, .value = Layout<F32>::kOne};
    if (!has_denominator(found, product, exponent_below) || !has_numerator(found, one, exponent))
      return std::nullopt;
    return checked(std::move(found));
  }

  // The sum of the exponent and a constant, and the product with a constant.
  std::optional<Found> ratio_of_constant(int number) const {
    const Operation& last = run_.operation(number);
    Found found;
    found.end = number;
    Term product = last.sources[0];
    found.ratio.is_negated = std::exchange(product.neg, false);
    const Operation* sum = run_.made_by(last.sources[1], {Opcode::v_add_nc_u32}, found.steps);
    const Operation* made = sum ? run_.made_by(product, {Opcode::v_mul_f32}, found.steps) : nullptr;
    if (!made) return std::nullopt;
    const auto constant_of = [](const Operation& operation) {
      return operation.sources[0].is_constant ? 0u : 1u;
    };
    const unsigned addend = constant_of(*sum), factor = constant_of(*made);
    const Term &exponent = sum->sources[addend], &reciprocal = made->sources[factor];
    Term fraction = made->sources[1 - factor];
    found.ratio.numerator_is_negated = std::exchange(fraction.neg, false);
    if (!exponent.is_constant || !reciprocal.is_constant) return std::nullopt;
    const auto value = scaled(static_cast<uint32_t>(reciprocal.value), static_cast<int32_t>(exponent.value));
    const auto of = value ? parts(fraction, sum->sources[1 - addend], found.steps) : std::nullopt;
    if (!of) return std::nullopt;
    found.ratio.constant = reciprocal.neg ? *value ^ Layout<F32>::kSign : *value;
    found.ratio.numerator = of->node;
    found.operands = {of->operand};
    return checked(std::move(found));
  }

  bool has_denominator(Found& found, const Term& reciprocal, const Term& exponent) const {
    const Operation* made = run_.made_by(reciprocal, {Opcode::v_rcp_f32}, found.steps);
    const auto of = made ? parts(made->sources[0], exponent, found.steps) : std::nullopt;
    if (!of) return false;
    found.ratio.denominator = of->node;
    found.operands = {of->operand};
    return true;
  }

  bool has_numerator(Found& found, Term fraction, const Term& exponent) const {
    found.ratio.numerator_is_negated = std::exchange(fraction.neg, false);
    if (fraction.is_constant) {
      if (!exponent.is_constant) return false;
      const auto value = scaled(static_cast<uint32_t>(fraction.value), static_cast<int32_t>(exponent.value));
      if (!value) return false;
      found.ratio.numerator.reset();
      found.ratio.constant = *value;
      return true;
    }
    const auto of = parts(fraction, exponent, found.steps);
    if (!of) return false;
    found.ratio.numerator = of->node;
    found.operands.push_back(of->operand);
    return true;
  }

  std::optional<Found> checked(Found found) const {
    if (run_.changes_lanes(*found.steps.begin(), found.end)) return std::nullopt;
    return found;
  }

  const RunGraph& run_;
};

}  // namespace

void find_ratios(const RunGraph& run, const RegisterSet& live, Quotients& result) {
  Finder(run).find(live, result);
}

}  // namespace lockstep::translator

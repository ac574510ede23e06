// Quotients of unsigned 64-bit integers: compilers make some ninety instructions of one, which begin with the
// reciprocal of the divisor as a float. As these always compute the same numbers one after the other, though
// with other instructions and in another order, they are looked up from the divisor on.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/translator/quotients.h"
#include "engine/translator/run_graph.h"
#include "engine/translator/wide_steps.h"
#include "numeric/wide_quotient.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using numeric::greatest_wide_reciprocal;

constexpr uint64_t kTwoTo32 = 0x4f800000, kMinusTwoTo32 = 0xcf800000, kTwoToMinus32 = 0x2f800000;

class Finder {
 public:
  explicit Finder(const RunGraph& run) : run_(run) {}

  void find(const RegisterSet& live, Quotients& result) {
    for (int i = 0; i < run_.size(); ++i) {
      if (is_scale(run_.operation(i)))
        find_with_scale(i);
      else if (run_.operation(i).is_plain && run_.operation(i).opcode == Opcode::v_mul_hi_u32)
        find_with_product(i);
    }
    drop_needed_patterns(run_, live, found_);
    for (const Found& each : found_) {
      const unsigned begin = run_.operation(each.begin).node;
      const Operation& end = run_.operation(each.end);
      for (const auto& [operation, word] : each.expected)
        result.expected_words[run_.operation(operation).node].insert(word);
      WideDivision& division = result.wide_divisions[begin];
      for (unsigned word = 0; word < 4; ++word) {
        const Term& term = each.operands[word];
        division.words[word] = {term.is_constant, term.value, term.first};
      }
      if (each.estimate) division.estimate = {each.estimate->low.first, each.estimate->high.first};
      if (each.opposite) division.opposite = {each.opposite->low.first, each.opposite->high.first};
      result.earlier_results[{end.node, end.half}] = {begin, each.word};
      add_steps(run_, each, result.steps);
    }
  }

 private:
  // One word of the quotient or the rest. The operands are both words of the dividend and of the divisor, and
  // of the reciprocal if the divisor is a constant.
  struct Found : Pattern {
    int begin = 0;
    unsigned word = 0;
    std::vector<std::pair<int, ExpectedWord>> expected;  // by the operation that reads it
    std::optional<WideTerm> estimate, opposite;          // from before the run
  };

  static bool is_scale(const Operation& operation) {
    if (!operation.is_plain || operation.opcode != Opcode::v_mul_f32) return false;
    return std::ranges::any_of(operation.sources,
                               [](const Term& each) { return each.is_number(kScaleOfWideQuotient); });
  }

  void find_with_scale(int scale) {
    std::set<int> begin = {scale};
    const auto divisor = divisor_of(scale, begin);
    if (!divisor) return;
    WideSteps steps(run_);
    const Term scaled{.first = run_.operation(scale).result, .written_by = {scale, Term::kBefore}};
    const Term high = steps.unary(Opcode::v_trunc_f32,
                                  steps.of_both({Opcode::v_mul_f32}, scaled, constant_term(kTwoToMinus32)));
    const Term low = steps.fused(high, constant_term(kMinusTwoTo32), scaled);
    const WideTerm estimate = {steps.unary(Opcode::v_cvt_u32_f32, low),
                               steps.unary(Opcode::v_cvt_u32_f32, high)};
    const WideSteps::Sum negated = steps.difference(kZeroTerm, divisor->low);
    const WideTerm opposite = {negated.value, steps.difference(kZeroTerm, divisor->high, negated).value};
    const WideTerm reciprocal = steps.newton_step(steps.newton_step(estimate, opposite), opposite);
    if (steps.have_failed()) return;
    // Whatever is multiplied by its low word may be a word of a dividend.
    std::vector<Term> factors;
    for (int i = 0; i < run_.size(); ++i) {
      const Operation& each = run_.operation(i);
      if (!each.is_plain || (each.opcode != Opcode::v_mul_hi_u32 && each.opcode != Opcode::v_mad_u64_u32))
        continue;
      for (const unsigned word : {0u, 1u})
        if (each.sources[word] == reciprocal.low) factors.push_back(each.sources[1 - word]);
    }
    for (const Term& low_word : factors)
      for (const Term& high_word : factors)
        if (!(low_word == high_word))
          find_corrections({low_word, high_word}, *divisor, reciprocal, steps, begin);
  }

  // The reciprocal of a constant is mostly made before the run, and often by scalar instructions. What it
  // must be is known, so that this is looked at where it is used. Of a divisor in SGPRs loops leave its first
  // estimate before them. `high` is the high half of the product of the low words of the dividend and the
  // reciprocal.
  void find_with_product(int high) {
    const Operation& lowest = run_.operation(high);
    for (const unsigned of_dividend : {0u, 1u}) {
      const Term &n = lowest.sources[of_dividend], &r = lowest.sources[1 - of_dividend];
      // What is expected is expected of registers; and constants have many factors, in generators of numbers.
      if (n.is_constant || r.is_constant) continue;
      for (const auto& [r_high, r_reader] : other_factors(n))
        for (const auto& [n_high, n_reader] : other_factors(r)) {
          if (r_high.is_constant) continue;
          WideSteps steps(run_);
          const WideTerm dividend{n, n_high}, reciprocal{r, r_high};
          const WideTerm estimate = steps.high_product(dividend, reciprocal);
          if (steps.have_failed()) continue;
          for (const WideTerm& divisor : numbers_times(estimate, is_whole_number)) {
            const auto number = uint64_t{static_cast<uint32_t>(divisor.high.value)} << 32 |
                                static_cast<uint32_t>(divisor.low.value);
            const uint64_t most = greatest_wide_reciprocal(number);
            if (most == 0) continue;
            const auto low = static_cast<uint32_t>(most), of_high = static_cast<uint32_t>(most >> 32);
            expected_ = {{high, {r.first, low, low > 0}}, {r_reader, {r_high.first, of_high, false}}};
            find_corrections(dividend, divisor, reciprocal, steps, {});
            expected_.clear();
          }
          for (const WideTerm& divisor : numbers_times(estimate, is_scalar_from_before))
            find_with_estimate(dividend, divisor, reciprocal, steps);
        }
    }
  }
  void find_with_estimate(const WideTerm& dividend, const WideTerm& divisor, const WideTerm& reciprocal,
                          const WideSteps& steps) {
    for (const WideTerm& better : sums_to(reciprocal))
      for (const WideTerm& estimate : sums_to(better)) {
        if (!is_from_before(estimate.low) || !is_from_before(estimate.high)) continue;
        for (const auto& [opposite, is_made] : opposites_of(divisor, estimate)) {
          WideSteps all = steps;
          const WideTerm last = all.newton_step(all.newton_step(estimate, opposite), opposite);
          if (all.have_failed() || !(last.low == reciprocal.low) || !(last.high == reciprocal.high)) continue;
          estimate_ = estimate;
          if (!is_made) opposite_ = opposite;
          find_corrections(dividend, divisor, reciprocal, all, {});
          estimate_.reset();
          opposite_.reset();
        }
      }
  }
  static bool is_from_before(const Term& term) {
    return !term.is_constant && !term.neg && term.written_by[0] == Term::kBefore;
  }
  static bool is_whole_number(const Term& term) { return term.is_constant && !term.neg; }
  static bool is_scalar_from_before(const Term& term) { return is_from_before(term) && !is_vgpr(term.first); }
  // Numbers that others were added to, which gave this one.
  std::vector<WideTerm> sums_to(const WideTerm& sum) const {
    std::set<int> ignored;
    const Operation *low = run_.made_by(sum.low, {Opcode::v_add_co_u32}, ignored),
                    *high = run_.made_by(sum.high, {Opcode::v_add_co_ci_u32}, ignored);
    std::vector<WideTerm> numbers;
    if (!low || !high) return numbers;
    for (const unsigned of_low : {0u, 1u})
      for (const unsigned of_high : {0u, 1u})
        numbers.push_back({low->sources[of_low], high->sources[of_high]});
    return numbers;
  }
  // What the estimate is multiplied by whose words are such.
  template <class Is>
  std::vector<WideTerm> numbers_times(const WideTerm& estimate, Is is) const {
    std::vector<WideTerm> divisors;
    const auto factors = other_factors(estimate.low);
    for (const auto& [low, reader] : factors) {
      if (!is(low)) continue;
      divisors.push_back({low, kZeroTerm});
      for (const auto& [high, other_reader] : factors)
        if (is(high) && !(high == low)) divisors.push_back({low, high});
    }
    return divisors;
  }
  // What the estimate is multiplied by that may be the opposite of the divisor, and whether operations of the
  // run have made it.
  std::vector<std::pair<WideTerm, bool>> opposites_of(const WideTerm& divisor,
                                                      const WideTerm& estimate) const {
    std::vector<std::pair<WideTerm, bool>> opposites;
    WideSteps steps(run_);
    const WideSteps::Sum low = steps.difference(kZeroTerm, divisor.low);
    const WideTerm made = {low.value, steps.difference(kZeroTerm, divisor.high, low).value};
    if (!steps.have_failed()) return {{made, true}};
    const auto factors = other_factors(estimate.low);
    for (const auto& [first, reader] : factors)
      for (const auto& [second, other_reader] : factors)
        if (is_scalar_from_before(first) && is_scalar_from_before(second) && !(first == second))
          opposites.push_back({{first, second}, false});
    return opposites;
  }
  // Of products of two words, with the operation that reads them.
  std::vector<std::pair<Term, int>> other_factors(const Term& factor) const {
    std::vector<std::pair<Term, int>> factors;
    for (int i = 0; i < run_.size(); ++i) {
      const Operation& each = run_.operation(i);
      if (!each.is_plain || (each.opcode != Opcode::v_mad_u64_u32 && each.opcode != Opcode::v_mul_hi_u32 &&
                             each.opcode != Opcode::v_mul_lo_u32))
        continue;
      for (const unsigned side : {0u, 1u})
        if (each.sources[side] == factor) factors.emplace_back(each.sources[1 - side], i);
    }
    return factors;
  }

  // What the float is the scaled reciprocal of.
  std::optional<WideTerm> divisor_of(int scale, std::set<int>& steps) const {
    const Operation& scaled = run_.operation(scale);
    const Term& inverse = scaled.sources[scaled.sources[0].is_constant ? 1 : 0];
    const Operation* made = run_.made_by(inverse, {Opcode::v_rcp_f32}, steps);
    const Operation* sum =
        made ? run_.made_by(made->sources[0], {Opcode::v_fma_f32, Opcode::v_fmac_f32, Opcode::v_fmamk_f32},
                            steps)
             : nullptr;
    if (!sum) return std::nullopt;
    const unsigned factor = sum->sources[0].is_number(kTwoTo32) ? 1 : 0;
    if (!sum->sources[1 - factor].is_number(kTwoTo32)) return std::nullopt;
    const Operation* low = run_.made_by(sum->sources[2], {Opcode::v_cvt_f32_u32}, steps);
    if (!low) return std::nullopt;
    if (sum->sources[factor].is_number(0)) return WideTerm{low->sources[0], kZeroTerm};
    const Operation* high = run_.made_by(sum->sources[factor], {Opcode::v_cvt_f32_u32}, steps);
    return high ? std::optional(WideTerm{low->sources[0], high->sources[0]}) : std::nullopt;
  }

  // `steps` and `begin` have made the reciprocal.
  void find_corrections(const WideTerm& n, const WideTerm& d, const WideTerm& reciprocal, WideSteps steps,
                        const std::set<int>& begin) {
    const bool is_short = d.high.is_number(0);
    const WideTerm estimate = steps.high_product(n, reciprocal), product = steps.low_product(d, estimate);
    if (steps.have_failed()) return;
    const WideSteps::Sum first_low = steps.difference(n.low, product.low),
                         first_high = steps.difference(n.high, product.high, first_low);
    // The high word without the borrow of the low ones, which is taken off with it.
    const WideSteps::Sum middle = is_short ? first_high : steps.plain_difference(n.high, product.high);
    const auto without_divisor = [&](WideSteps& of, const Term& high, const WideSteps::Sum& borrow) {
      return is_short ? high : of.difference(high, d.high, borrow).value;
    };
    const Term second_middle = without_divisor(steps, middle.value, first_low);
    const WideSteps::Sum second_low = steps.difference(first_low.value, d.low),
                         second_high = steps.difference(second_middle, kZeroTerm, second_low);
    const WideTerm first = {first_low.value, first_high.value},
                   second = {second_low.value, second_high.value};
    const Term corrects = steps.is_not_less(first, d), corrects_twice = steps.is_not_less(second, d);
    if (steps.have_failed()) return;

    const int from = std::min({first_low.operation, first_high.operation, middle.operation});
    const auto add_word = [&](unsigned word, const Term& none, const auto& once, const auto& twice) {
      WideSteps all = steps;
      const Term by_one = once(all), by_two = twice(all);
      const Term last = all.chosen_by(corrects, none, all.chosen_by(corrects_twice, by_one, by_two));
      if (all.have_failed()) return;
      Found found;
      found.begin = from;
      found.end = last.written_by[0];
      found.word = word;
      found.steps = all.all();
      found.steps.insert(begin.begin(), begin.end());
      found.steps.erase(found.end);
      found.operands = {n.low, n.high, d.low, d.high};
      if (!expected_.empty()) found.operands.insert(found.operands.end(), {reciprocal.low, reciprocal.high});
      found.expected = expected_;
      found.estimate = estimate_;
      found.opposite = opposite_;
      const bool is_negated = std::ranges::any_of(found.operands, [](const Term& each) { return each.neg; });
      if (!is_negated && !run_.changes_lanes(*found.steps.begin(), found.end))
        found_.push_back(std::move(found));
    };
    const auto low_of_more = [&](uint32_t number) {
      return [&, number](WideSteps& of) { return of.sum(estimate.low, constant_term(number)).value; };
    };
    const auto high_of_more = [&](uint32_t number) {
      return [&, number](WideSteps& of) {
        return of.sum(estimate.high, kZeroTerm, of.sum(estimate.low, constant_term(number))).value;
      };
    };
    const auto third_low = [&](WideSteps& of) { return of.difference(second.low, d.low); };
    add_word(0, estimate.low, low_of_more(1), low_of_more(2));
    add_word(1, estimate.high, high_of_more(1), high_of_more(2));
    add_word(
        2, first.low, [&](WideSteps&) { return second.low; },
        [&](WideSteps& of) { return third_low(of).value; });
    add_word(
        3, first.high, [&](WideSteps&) { return second.high; },
        [&](WideSteps& of) {
          const Term high = is_short ? second.high : without_divisor(of, second_middle, second_low);
          return of.difference(high, kZeroTerm, third_low(of)).value;
        });
  }

  const RunGraph& run_;
  std::vector<Found> found_;
  // Of the reciprocal in work.
  std::vector<std::pair<int, ExpectedWord>> expected_;
  std::optional<WideTerm> estimate_, opposite_;
};

}  // namespace

void find_wide_quotients(const RunGraph& run, const RegisterSet& live, Quotients& result) {
  Finder(run).find(live, result);
}

}  // namespace lockstep::translator

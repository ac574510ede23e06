// Quotients of unsigned 64-bit integers: compilers make some ninety instructions of one, which begin with the
// reciprocal of the divisor as a float. As these always compute the same numbers one after the other, though
// with other instructions and in another order, they are looked up from the divisor on.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/translator/quotients.h"
#include "engine/translator/run_graph.h"
#include "numeric/wide_quotient.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using numeric::greatest_wide_reciprocal;

constexpr uint64_t kTwoTo32 = 0x4f800000, kMinusTwoTo32 = 0xcf800000, kTwoToMinus32 = 0x2f800000;

constexpr Term kZero{.is_constant = true};

bool is_constant(const Term& term, uint64_t value) {
  return term.is_constant && !term.neg && term.value == value;
}
Term constant(uint64_t value) {
  return {.is_constant = true, .value = value};
}

struct Wide {
  Term low, high;
};

// Looks up the operations that compute a number of others, and notes them as steps. Where there is none it
// has failed, and gives a term that nothing is computed of.
class Steps {
 public:
  explicit Steps(const RunGraph& run) : run_(run) {}

  bool have_failed() const { return have_failed_; }
  const std::set<int>& all() const { return steps_; }

  // A number whose carry or borrow others read.
  struct Sum {
    Term value;
    int operation;
  };

  Term unary(Opcode opcode, const Term& a) {
    return noted(find({opcode}, [&](const Operation& each) { return each.sources[0] == a; }));
  }
  Term of_both(std::initializer_list<Opcode> opcodes, const Term& a, const Term& b) {
    return noted(find(opcodes, [&](const Operation& each) { return is_of_both(each, a, b); }));
  }
  // a * b + c of floats.
  Term fused(const Term& a, const Term& b, const Term& c) {
    return noted(find({Opcode::v_fma_f32, Opcode::v_fmac_f32, Opcode::v_fmamk_f32},
                      [&](const Operation& each) { return is_of_both(each, a, b) && each.sources[2] == c; }));
  }

  Sum sum(const Term& a, const Term& b) {
    return summed(
        find({Opcode::v_add_co_u32}, [&](const Operation& each) { return is_of_both(each, a, b); }));
  }
  Sum sum(const Term& a, const Term& b, const Sum& carry) {
    return summed(find({Opcode::v_add_co_ci_u32}, [&](const Operation& each) {
      return is_of_both(each, a, b) && reads_mask(each, carry.operation);
    }));
  }
  Sum difference(const Term& a, const Term& b) {
    return summed(find({Opcode::v_sub_co_u32, Opcode::v_subrev_co_u32, Opcode::s_sub_u32},
                       [&](const Operation& each) { return is_difference(each, a, b); }));
  }
  Sum difference(const Term& a, const Term& b, const Sum& borrow) {
    return summed(find({Opcode::v_sub_co_ci_u32, Opcode::v_subrev_co_ci_u32, Opcode::s_subb_u32},
                       [&](const Operation& each) {
                         return is_difference(each, a, b) && reads_mask(each, borrow.operation);
                       }));
  }
  Sum plain_difference(const Term& a, const Term& b) {
    return summed(find({Opcode::v_sub_nc_u32, Opcode::v_subrev_nc_u32},
                       [&](const Operation& each) { return is_difference(each, a, b); }));
  }
  Wide sum(const Wide& a, const Wide& b) {
    const Sum low = sum(a.low, b.low);
    return {low.value, sum(a.high, b.high, low).value};
  }

  // The low halves of the products of whole numbers.
  Wide low_product(const Wide& a, const Wide& b) {
    const Wide first = product(a.low, b.low);
    if (!is_constant(a.high, 0)) {
      const Term second = product(a.low, b.high).low, third = product(a.high, b.low).low;
      return {first.low, sum_of_three(first.high, second, third)};
    }
    const int fused = find({Opcode::v_mad_u64_u32}, [&](const Operation& each) {
      const Term& addend = each.sources[2];
      return is_of_both(each, a.low, b.high) && addend.first == first.high.first && !addend.is_constant &&
             addend.written_by[0] == first.high.written_by[0];
    });
    if (fused != kNone) return {first.low, noted(fused)};
    return {first.low, of_both({Opcode::v_add_nc_u32}, first.high, product(a.low, b.high).low)};
  }
  // The high halves.
  Wide high_product(const Wide& a, const Wide& b) {
    const Term lowest = product(a.low, b.low, true).high;
    const Wide low_high = product(a.low, b.high), high_low = product(a.high, b.low),
               highest = product(a.high, b.high);
    const bool in_order = find({Opcode::v_add_co_u32}, [&](const Operation& each) {
                            return is_of_both(each, lowest, low_high.low);
                          }) != kNone;
    const Wide &first = in_order ? low_high : high_low, &second = in_order ? high_low : low_high;
    const Sum low = sum(lowest, first.low), middle = sum(kZero, first.high, low);
    const Sum with_second = sum(low.value, second.low), high = sum(middle.value, second.high, with_second),
              carry = sum(kZero, highest.high, high);
    return sum({high.value, carry.value}, {highest.low, kZero});
  }

  // Zero where a < b, else -1. What is known of b.high is known of that, too.
  Term is_not_less(const Wide& a, const Wide& b) {
    const Term low = flag(a.low, b.low),
               high = is_constant(b.high, 0) ? constant(~uint32_t{0}) : flag(a.high, b.high);
    const int equal =
        find({Opcode::v_cmp_eq_u32}, [&](const Operation& each) { return is_of_both(each, a.high, b.high); });
    return chosen(high, low, note(equal));
  }
  // b where the flag is not zero.
  Term chosen_by(const Term& flag, const Term& a, const Term& b) {
    return chosen(a, b, note(find({Opcode::v_cmp_ne_u32}, [&](const Operation& each) {
                    return is_of_both(each, flag, kZero);
                  })));
  }

 private:
  static constexpr int kNone = -2;

  static bool is_of_both(const Operation& each, const Term& a, const Term& b) {
    const auto& sources = each.sources;
    return (sources[0] == a && sources[1] == b) || (sources[0] == b && sources[1] == a);
  }
  static bool is_reversed(Opcode opcode) {
    return opcode == Opcode::v_subrev_co_u32 || opcode == Opcode::v_subrev_co_ci_u32 ||
           opcode == Opcode::v_subrev_nc_u32 || opcode == Opcode::v_cmp_le_u32;
  }
  static bool is_difference(const Operation& each, const Term& a, const Term& b) {
    const unsigned first = is_reversed(each.opcode) ? 1 : 0;
    return each.sources[first] == a && each.sources[1 - first] == b;
  }
  bool reads_mask(const Operation& reader, int of) const {
    const Term& mask = reader.mask_source;
    if (of < 0 || run_.operation(of).mask != mask.first || mask.written_by[0] != of) return false;
    const bool is_scalar = is_difference_of_scalars(reader.opcode);
    return is_scalar || run_.routine().wave_size == 32 || mask.written_by[1] == of;
  }

  template <class Is>
  int find(std::initializer_list<Opcode> opcodes, Is is) const {
    for (int i = 0; i < run_.size(); ++i) {
      const Operation& each = run_.operation(i);
      if (each.is_plain && std::ranges::find(opcodes, each.opcode) != opcodes.end() && is(each)) return i;
    }
    return kNone;
  }
  // Others may need what a scalar instruction computes.
  int note(int operation) {
    have_failed_ |= operation == kNone;
    if (operation != kNone && !is_difference_of_scalars(run_.operation(operation).opcode))
      steps_.insert(operation);
    return operation;
  }
  Term word(int operation, unsigned number) const {
    const unsigned result = operation == kNone ? 0 : run_.operation(operation).result + number;
    return {.first = result, .written_by = {operation, Term::kBefore}};
  }
  Term noted(int operation) { return word(note(operation), 0); }
  Sum summed(int operation) { return {noted(operation), operation}; }

  // Of two words: one instruction's, or one for each half.
  Wide product(const Term& a, const Term& b, bool high_alone = false) {
    const auto is_it = [&](const Operation& each) { return is_of_both(each, a, b); };
    const int whole = find({Opcode::v_mad_u64_u32}, [&](const Operation& each) {
      return is_it(each) && is_constant(each.sources[2], 0);
    });
    const int high = find({Opcode::v_mul_hi_u32}, is_it), low = find({Opcode::v_mul_lo_u32}, is_it);
    if (whole != kNone && !(high_alone && high != kNone)) {
      note(whole);
      return {word(whole, 0), word(whole, 1)};
    }
    if (high != kNone) note(high);
    if (low != kNone) note(low);
    return {word(low, 0), word(high, 0)};
  }
  Term sum_of_three(const Term& a, const Term& b, const Term& c) {
    const std::array<Term, 3> terms = {a, b, c};
    const int whole = find({Opcode::v_add3_u32}, [&](const Operation& each) {
      return std::ranges::is_permutation(each.sources, terms);
    });
    if (whole != kNone) return noted(whole);
    for (unsigned last = 0; last < 3; ++last) {
      const Term &x = terms[(last + 1) % 3], &y = terms[(last + 2) % 3];
      const int first =
          find({Opcode::v_add_nc_u32}, [&](const Operation& each) { return is_of_both(each, x, y); });
      if (first == kNone) continue;
      return of_both({Opcode::v_add_nc_u32}, noted(first), terms[last]);
    }
    return noted(kNone);
  }

  Term flag(const Term& a, const Term& b) {
    int compared = find({Opcode::v_cmp_ge_u32, Opcode::v_cmp_le_u32},
                        [&](const Operation& each) { return is_difference(each, a, b); });
    // Of a constant compilers write that the number is above the one before it.
    if (compared == kNone && b.is_constant && static_cast<uint32_t>(b.value) != 0)
      compared = find({Opcode::v_cmp_gt_u32, Opcode::v_cmp_lt_u32}, [&](const Operation& each) {
        const unsigned first = each.opcode == Opcode::v_cmp_lt_u32 ? 1 : 0;
        return each.sources[first] == a &&
               each.sources[1 - first].is_integer(static_cast<int32_t>(b.value - 1));
      });
    return chosen(kZero, constant(~uint32_t{0}), note(compared));
  }
  Term chosen(const Term& off, const Term& on, int mask) {
    return noted(find({Opcode::v_cndmask_b32}, [&](const Operation& each) {
      const auto is = [](const Term& source, const Term& wanted) {
        return source == wanted ||
               (wanted.is_constant && source.is_integer(static_cast<int32_t>(wanted.value)));
      };
      return is(each.sources[0], off) && is(each.sources[1], on) && reads_mask(each, mask);
    }));
  }

  const RunGraph& run_;
  std::set<int> steps_;
  bool have_failed_ = false;
};

class Finder {
 public:
  explicit Finder(const RunGraph& run) : run_(run) {}

  void find(const RegisterSet& live, Quotients& result) {
    for (int i = 0; i < run_.size(); ++i) {
      if (is_scale(run_.operation(i)))
        find_with_scale(i);
      else if (run_.operation(i).is_plain && run_.operation(i).opcode == Opcode::v_mul_hi_u32)
        find_by_constant(i);
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
      result.earlier_results[{end.node, end.half}] = {begin, each.word};
      for (int step : each.steps) result.steps.insert({run_.operation(step).node, run_.operation(step).half});
    }
  }

 private:
  // One word of the quotient or the rest. The operands are both words of the dividend and of the divisor, and
  // of the reciprocal if the divisor is a constant.
  struct Found : Pattern {
    int begin = 0;
    unsigned word = 0;
    std::vector<std::pair<int, ExpectedWord>> expected;  // by the operation that reads it
  };

  static bool is_scale(const Operation& operation) {
    if (!operation.is_plain || operation.opcode != Opcode::v_mul_f32) return false;
    return std::ranges::any_of(operation.sources,
                               [](const Term& each) { return is_constant(each, kScaleOfWideQuotient); });
  }

  void find_with_scale(int scale) {
    std::set<int> begin = {scale};
    const auto divisor = divisor_of(scale, begin);
    if (!divisor) return;
    Steps steps(run_);
    const Term scaled{.first = run_.operation(scale).result, .written_by = {scale, Term::kBefore}};
    const Term high =
        steps.unary(Opcode::v_trunc_f32, steps.of_both({Opcode::v_mul_f32}, scaled, constant(kTwoToMinus32)));
    const Term low = steps.fused(high, constant(kMinusTwoTo32), scaled);
    const Wide estimate = {steps.unary(Opcode::v_cvt_u32_f32, low), steps.unary(Opcode::v_cvt_u32_f32, high)};
    const Steps::Sum negated = steps.difference(kZero, divisor->low);
    const Wide opposite = {negated.value, steps.difference(kZero, divisor->high, negated).value};
    const auto better = [&](const Wide& reciprocal) {
      return steps.sum(reciprocal, steps.high_product(reciprocal, steps.low_product(opposite, reciprocal)));
    };
    const Wide reciprocal = better(better(estimate));
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
  // must be is known, so that this is looked at where it is used. `high` is the high half of the product of
  // the low words of the dividend and the reciprocal.
  void find_by_constant(int high) {
    const Operation& lowest = run_.operation(high);
    for (const unsigned of_dividend : {0u, 1u}) {
      const Term &n = lowest.sources[of_dividend], &r = lowest.sources[1 - of_dividend];
      for (const auto& [r_high, r_reader] : other_factors(n))
        for (const auto& [n_high, n_reader] : other_factors(r)) {
          Steps steps(run_);
          const Wide dividend{n, n_high}, reciprocal{r, r_high};
          const Wide estimate = steps.high_product(dividend, reciprocal);
          if (steps.have_failed()) continue;
          for (const Wide& divisor : constants_times(estimate)) {
            const auto number = uint64_t{static_cast<uint32_t>(divisor.high.value)} << 32 |
                                static_cast<uint32_t>(divisor.low.value);
            const uint64_t most = greatest_wide_reciprocal(number);
            if (most == 0) continue;
            const auto low = static_cast<uint32_t>(most), of_high = static_cast<uint32_t>(most >> 32);
            expected_ = {{high, {r.first, low, low > 0}}, {r_reader, {r_high.first, of_high, false}}};
            find_corrections(dividend, divisor, reciprocal, steps, {});
            expected_.clear();
          }
        }
    }
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
  std::vector<Wide> constants_times(const Wide& estimate) const {
    std::vector<Wide> divisors;
    const auto factors = other_factors(estimate.low);
    const auto is_number = [](const Term& term) { return term.is_constant && !term.neg; };
    for (const auto& [low, reader] : factors) {
      if (!is_number(low)) continue;
      divisors.push_back({low, kZero});
      for (const auto& [high, other_reader] : factors)
        if (is_number(high) && !(high == low)) divisors.push_back({low, high});
    }
    return divisors;
  }

  // What the float is the scaled reciprocal of.
  std::optional<Wide> divisor_of(int scale, std::set<int>& steps) const {
    const Operation& scaled = run_.operation(scale);
    const Term& inverse = scaled.sources[scaled.sources[0].is_constant ? 1 : 0];
    const Operation* made = run_.made_by(inverse, {Opcode::v_rcp_f32}, steps);
    const Operation* sum =
        made ? run_.made_by(made->sources[0], {Opcode::v_fma_f32, Opcode::v_fmac_f32, Opcode::v_fmamk_f32},
                            steps)
             : nullptr;
    if (!sum) return std::nullopt;
    const unsigned factor = is_constant(sum->sources[0], kTwoTo32) ? 1 : 0;
    if (!is_constant(sum->sources[1 - factor], kTwoTo32)) return std::nullopt;
    const Operation* low = run_.made_by(sum->sources[2], {Opcode::v_cvt_f32_u32}, steps);
    if (!low) return std::nullopt;
    if (is_constant(sum->sources[factor], 0)) return Wide{low->sources[0], kZero};
    const Operation* high = run_.made_by(sum->sources[factor], {Opcode::v_cvt_f32_u32}, steps);
    return high ? std::optional(Wide{low->sources[0], high->sources[0]}) : std::nullopt;
  }

  // `steps` and `begin` have made the reciprocal.
  void find_corrections(const Wide& n, const Wide& d, const Wide& reciprocal, Steps steps,
                        const std::set<int>& begin) {
    const bool is_short = is_constant(d.high, 0);
    const Wide estimate = steps.high_product(n, reciprocal), product = steps.low_product(d, estimate);
    if (steps.have_failed()) return;
    const Steps::Sum first_low = steps.difference(n.low, product.low),
                     first_high = steps.difference(n.high, product.high, first_low);
    // The high word without the borrow of the low ones, which is taken off with it.
    const Steps::Sum middle = is_short ? first_high : steps.plain_difference(n.high, product.high);
    const auto without_divisor = [&](Steps& of, const Term& high, const Steps::Sum& borrow) {
      return is_short ? high : of.difference(high, d.high, borrow).value;
    };
    const Term second_middle = without_divisor(steps, middle.value, first_low);
    const Steps::Sum second_low = steps.difference(first_low.value, d.low),
                     second_high = steps.difference(second_middle, kZero, second_low);
    const Wide first = {first_low.value, first_high.value}, second = {second_low.value, second_high.value};
    const Term corrects = steps.is_not_less(first, d), corrects_twice = steps.is_not_less(second, d);
    if (steps.have_failed()) return;

    const int from = std::min({first_low.operation, first_high.operation, middle.operation});
    const auto add_word = [&](unsigned word, const Term& none, const auto& once, const auto& twice) {
      Steps all = steps;
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
      const bool is_negated = std::ranges::any_of(found.operands, [](const Term& each) { return each.neg; });
      if (!is_negated && !run_.changes_lanes(*found.steps.begin(), found.end))
        found_.push_back(std::move(found));
    };
    const auto low_of_more = [&](uint32_t number) {
      return [&, number](Steps& of) { return of.sum(estimate.low, constant(number)).value; };
    };
    const auto high_of_more = [&](uint32_t number) {
      return [&, number](Steps& of) {
        return of.sum(estimate.high, kZero, of.sum(estimate.low, constant(number))).value;
      };
    };
    const auto third_low = [&](Steps& of) { return of.difference(second.low, d.low); };
    add_word(0, estimate.low, low_of_more(1), low_of_more(2));
    add_word(1, estimate.high, high_of_more(1), high_of_more(2));
    add_word(
        2, first.low, [&](Steps&) { return second.low; }, [&](Steps& of) { return third_low(of).value; });
    add_word(
        3, first.high, [&](Steps&) { return second.high; },
        [&](Steps& of) {
          const Term high = is_short ? second.high : without_divisor(of, second_middle, second_low);
          return of.difference(high, kZero, third_low(of)).value;
        });
  }

  const RunGraph& run_;
  std::vector<Found> found_;
  std::vector<std::pair<int, ExpectedWord>> expected_;  // of the reciprocal in work
};

}  // namespace

void find_wide_quotients(const RunGraph& run, const RegisterSet& live, Quotients& result) {
  Finder(run).find(live, result);
}

}  // namespace lockstep::translator

// Quotients of unsigned integers: gfx11 has no instruction that divides them. Compilers take the reciprocal
// of the divisor as a float, make it better once, and put the quotient and the rest right twice.
#include <optional>

#include "engine/translator/quotients.h"
#include "engine/translator/run_graph.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

constexpr uint64_t kScale = 0x4f7ffffe;  // the float below 2^32 by which the reciprocal is multiplied

// One of the operation's two sources is that; gives the other one.
template <class Is>
std::optional<Term> other_source(const Operation& operation, Is is) {
  if (is(operation.sources[0])) return operation.sources[1];
  if (is(operation.sources[1])) return operation.sources[0];
  return std::nullopt;
}

class Finder {
 public:
  explicit Finder(const RunGraph& run) : run_(run) {}

  void find(const RegisterSet& live, Quotients& result) {
    std::vector<Found> found;
    for (int i = 0; i < run_.size(); ++i) {
      if (auto rest = rest_of(i))
        found.push_back(std::move(*rest));
      else if (auto quotient = quotient_of(i))
        found.push_back(std::move(*quotient));
    }
    drop_needed_patterns(run_, live, found);
    for (const Found& each : found) {
      const Operation &begin = run_.operation(each.begin), &end = run_.operation(each.end);
      const Role dividend = begin.sources[0] == each.dividend ? Role::src0 : Role::src1;
      result.integer_divisions[begin.node] = {dividend, each.divisor.first};
      result.earlier_results[{end.node, end.half}] = {begin.node, each.is_rest};
      add_steps(run_, each, result.steps);
      result.opposites.insert(each.opposites.begin(), each.opposites.end());
    }
  }

 private:
  struct Found : Pattern {
    int begin = 0;
    bool is_rest = false;
    Term dividend, divisor;
    std::set<std::pair<unsigned, unsigned>> opposites;
  };
  struct Comparison {
    Term rest, divisor;
  };

  // rest >= divisor, which makes the mask that the operation reads.
  std::optional<Comparison> comparison(const Operation& reader, std::set<int>& steps) const {
    const Operation* made = run_.comparison(reader.mask_source, steps);
    if (!made) return std::nullopt;
    const bool is_reversed = made->opcode == Opcode::v_cmp_le_u32;
    if (!is_reversed && made->opcode != Opcode::v_cmp_ge_u32) return std::nullopt;
    return Comparison{made->sources[is_reversed ? 1 : 0], made->sources[is_reversed ? 0 : 1]};
  }

  // Whether the term is a - b.
  const Operation* difference(const Term& term, const Term& a, const Term& b, std::set<int>& steps) {
    const Operation* made =
        run_.made_by(term, {Opcode::v_sub_nc_u32, Opcode::v_subrev_nc_u32, Opcode::v_add_nc_u32}, steps);
    if (!made) return nullptr;
    if (made->opcode == Opcode::v_add_nc_u32) {
      const auto negated = other_source(*made, [&](const Term& each) { return each == a; });
      return negated && !is_vgpr(b.first) && is_negated(*negated, b, steps) ? made : nullptr;
    }
    const unsigned minuend = made->opcode == Opcode::v_sub_nc_u32 ? 0 : 1;
    return made->sources[minuend] == a && made->sources[1 - minuend] == b ? made : nullptr;
  }
  bool is_negated(const Term& term, const Term& of, std::set<int>& steps) {
    const Term zero{.is_constant = true};
    if (is_vgpr(of.first)) return difference(term, zero, of, steps);
    // The scalar instruction is no step: others may use what it computes, SCC too.
    std::set<int> scalar;
    if (const Operation* made = run_.made_by(term, {Opcode::s_sub_i32}, scalar))
      return made->sources[0] == zero && made->sources[1] == of;
    // Of a divisor that a loop counts up compilers count the other one down. What else should it be?
    const auto is_from_before = [](const Term& each) {
      return !each.is_constant && !each.neg && !is_vgpr(each.first) && each.written_by[0] == Term::kBefore;
    };
    if (!is_from_before(term) || !is_from_before(of)) return false;
    opposites_.insert({of.first, term.first});
    return true;
  }
  const Operation* selection(int number) const {
    const Operation& operation = run_.operation(number);
    const bool is_it = operation.is_plain && operation.opcode == Opcode::v_cndmask_b32;
    return is_it ? &operation : nullptr;
  }

  // x for rest >= divisor ? x + by : x. Of rests `by` is the divisor, taken off; of quotients one is added.
  std::optional<Comparison> corrected_rest(const Operation& select, std::set<int>& steps) {
    const auto compared = comparison(select, steps);
    if (!compared || !(select.sources[0] == compared->rest)) return std::nullopt;
    if (!difference(select.sources[1], compared->rest, compared->divisor, steps)) return std::nullopt;
    return compared;
  }
  std::optional<Term> corrected_quotient(const Operation& select, std::set<int>& steps) const {
    const Operation* sum = run_.made_by(select.sources[1], {Opcode::v_add_nc_u32}, steps);
    if (!sum) return std::nullopt;
    const auto before = other_source(*sum, [](const Term& term) { return term.is_number(1); });
    if (!before || !(select.sources[0] == *before)) return std::nullopt;
    return before;
  }

  // What an estimate of the quotient leaves, and the dividend and the reciprocal that the estimate is made
  // of.
  bool is_first_rest(const Term& rest, Found& found, Term& estimate) {
    const Operation* made = run_.made_by(rest, {Opcode::v_sub_nc_u32, Opcode::v_subrev_nc_u32}, found.steps);
    if (!made) return false;
    const unsigned minuend = made->opcode == Opcode::v_sub_nc_u32 ? 0 : 1;
    found.dividend = made->sources[minuend];
    const Operation* product = run_.made_by(made->sources[1 - minuend], {Opcode::v_mul_lo_u32}, found.steps);
    if (!product) return false;
    const auto factor = other_source(*product, [&](const Term& term) { return term == found.divisor; });
    if (!factor) return false;
    estimate = *factor;
    const Operation* high = run_.made_by(estimate, {Opcode::v_mul_hi_u32}, found.steps);
    if (!high) return false;
    found.begin = estimate.written_by[0];
    const auto reciprocal = other_source(*high, [&](const Term& term) { return term == found.dividend; });
    return reciprocal && is_reciprocal(*reciprocal, found.divisor, found.steps);
  }

  bool is_reciprocal(const Term& term, const Term& divisor, std::set<int>& steps) {
    const Operation* sum = run_.made_by(term, {Opcode::v_add_nc_u32}, steps);
    if (!sum) return false;
    for (const unsigned of_first : {0u, 1u}) {
      std::set<int> tried = steps;
      const Term& first = sum->sources[of_first];
      const auto is_first = [&](const Term& each) { return each == first; };
      const Operation* correction = run_.made_by(sum->sources[1 - of_first], {Opcode::v_mul_hi_u32}, tried);
      const auto error = correction ? other_source(*correction, is_first) : std::nullopt;
      const Operation* product = error ? run_.made_by(*error, {Opcode::v_mul_lo_u32}, tried) : nullptr;
      const auto negated = product ? other_source(*product, is_first) : std::nullopt;
      if (!negated || !is_negated(*negated, divisor, tried)) continue;
      const Operation* integer = run_.made_by(first, {Opcode::v_cvt_u32_f32}, tried);
      const Operation* scaled =
          integer ? run_.made_by(integer->sources[0], {Opcode::v_mul_f32}, tried) : nullptr;
      const auto is_scale = [](const Term& each) { return each.is_number(kScale); };
      const auto inverse = scaled ? other_source(*scaled, is_scale) : std::nullopt;
      const Operation* estimate =
          inverse ? run_.made_by(*inverse, {Opcode::v_rcp_iflag_f32}, tried) : nullptr;
      const Operation* number =
          estimate ? run_.made_by(estimate->sources[0], {Opcode::v_cvt_f32_u32}, tried) : nullptr;
      if (!number || !(number->sources[0] == divisor)) continue;
      steps = std::move(tried);
      return true;
    }
    return false;
  }

  std::optional<Found> rest_of(int number) {
    opposites_.clear();
    const Operation* last = selection(number);
    if (!last) return std::nullopt;
    Found found;
    found.end = number;
    found.is_rest = true;
    const auto second = corrected_rest(*last, found.steps);
    const Operation* before =
        second ? run_.made_by(second->rest, {Opcode::v_cndmask_b32}, found.steps) : nullptr;
    const auto first = before ? corrected_rest(*before, found.steps) : std::nullopt;
    if (!first || !(first->divisor == second->divisor)) return std::nullopt;
    found.divisor = first->divisor;
    Term estimate;
    if (!is_first_rest(first->rest, found, estimate)) return std::nullopt;
    return checked(std::move(found));
  }

  std::optional<Found> quotient_of(int number) {
    opposites_.clear();
    const Operation* last = selection(number);
    if (!last) return std::nullopt;
    Found found;
    found.end = number;
    const auto before = corrected_quotient(*last, found.steps);
    const auto second = before ? comparison(*last, found.steps) : std::nullopt;
    if (!second) return std::nullopt;
    const Operation *of_quotient = run_.made_by(*before, {Opcode::v_cndmask_b32}, found.steps),
                    *of_rest = run_.made_by(second->rest, {Opcode::v_cndmask_b32}, found.steps);
    if (!of_quotient || !of_rest) return std::nullopt;
    const auto estimate = corrected_quotient(*of_quotient, found.steps);
    const auto first = estimate ? comparison(*of_quotient, found.steps) : std::nullopt;
    const auto rest = corrected_rest(*of_rest, found.steps);
    if (!first || !rest || !(first->rest == rest->rest) || !(first->divisor == rest->divisor) ||
        !(second->divisor == rest->divisor))
      return std::nullopt;
    found.divisor = rest->divisor;
    Term of_first_rest;
    if (!is_first_rest(rest->rest, found, of_first_rest) || !(of_first_rest == *estimate))
      return std::nullopt;
    return checked(std::move(found));
  }

  // The divisor is read where the steps read the dividend, and nothing else may be meant by either there.
  std::optional<Found> checked(Found found) const {
    found.opposites = opposites_;
    found.operands = {found.dividend, found.divisor};
    if (found.divisor.is_constant || found.divisor.neg || found.dividend.neg) return std::nullopt;
    if (run_.changes_lanes(*found.steps.begin(), found.end)) return std::nullopt;
    return found;
  }

  const RunGraph& run_;
  std::set<std::pair<unsigned, unsigned>> opposites_;  // that the quotient in work takes for such
};

}  // namespace

void find_integer_quotients(const RunGraph& run, const RegisterSet& live, Quotients& result) {
  Finder(run).find(live, result);
}

}  // namespace lockstep::translator

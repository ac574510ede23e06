// Square roots of floats, rounded: of what V_SQRT_F32 gives and both of its neighbours, compilers take the
// one whose product with it says that it is the root.
#include <optional>
#include <utility>

#include "engine/translator/quotients.h"
#include "engine/translator/run_graph.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;

class Finder {
 public:
  explicit Finder(const RunGraph& run) : run_(run) {}

  void find(const RegisterSet& live, Quotients& result) const {
    std::vector<Found> found;
    for (int i = 0; i < run_.size(); ++i)
      if (auto root = root_of(i)) found.push_back(std::move(*root));
    drop_needed_patterns(run_, live, found);
    for (const Found& each : found) {
      const Operation& end = run_.operation(each.end);
      result.float_roots.insert(each.begin);
      result.earlier_results[{end.node, end.half}] = {each.begin, 0};
      add_steps(run_, each, result.steps);
    }
  }

 private:
  struct Found : Pattern {
    unsigned begin = 0;
  };
  // The selection of a neighbour of the estimate: it, and what the estimate and it are compared with.
  struct Choice {
    Term neighbour, rest;
  };

  // `selects` takes its second source where rest <= 0, or, of the neighbour above, where rest > 0.
  std::optional<Choice> choice(const Operation& selects, bool is_above, std::set<int>& steps) const {
    const Operation* made = run_.comparison(selects.mask_source, steps);
    if (!made) return std::nullopt;
    const bool zero_first = made->opcode == (is_above ? Opcode::v_cmp_lt_f32 : Opcode::v_cmp_ge_f32);
    if (!zero_first && made->opcode != (is_above ? Opcode::v_cmp_gt_f32 : Opcode::v_cmp_le_f32))
      return std::nullopt;
    if (!made->sources[zero_first ? 0 : 1].is_integer(0)) return std::nullopt;
    return Choice{selects.sources[1], made->sources[zero_first ? 1 : 0]};
  }

  // Whether it is the estimate's neighbour, and the rest is x - neighbour * estimate.
  bool compares(const Choice& choice, int32_t distance, const Term& estimate, const Term& x,
                std::set<int>& steps) const {
    const Operation* sum = run_.made_by(choice.neighbour, {Opcode::v_add_nc_u32}, steps);
    if (!sum) return false;
    const unsigned constant = sum->sources[0].is_constant ? 0 : 1;
    if (!sum->sources[constant].is_integer(distance) || !(sum->sources[1 - constant] == estimate))
      return false;
    const Operation* rest = run_.made_by(choice.rest, {Opcode::v_fma_f32, Opcode::v_fmac_f32}, steps);
    if (!rest || !(rest->sources[2] == x)) return false;
    const Term &a = rest->sources[0], &b = rest->sources[1];
    const Term negated_neighbour = choice.neighbour.negated(), negated_estimate = estimate.negated();
    return (a == negated_neighbour && b == estimate) || (b == negated_neighbour && a == estimate) ||
           (a == choice.neighbour && b == negated_estimate) ||
           (b == choice.neighbour && a == negated_estimate);
  }

  std::optional<Found> root_of(int number) const {
    const Operation& last = run_.operation(number);
    if (!last.is_plain || last.opcode != Opcode::v_cndmask_b32) return std::nullopt;
    Found found;
    found.end = number;
    const auto above = choice(last, true, found.steps);
    const Operation* first =
        above ? run_.made_by(last.sources[0], {Opcode::v_cndmask_b32}, found.steps) : nullptr;
    const auto below = first ? choice(*first, false, found.steps) : std::nullopt;
    if (!below) return std::nullopt;
    const Term& estimate = first->sources[0];
    const Operation* root = run_.made_by(estimate, {Opcode::v_sqrt_f32}, found.steps);
    if (!root) return std::nullopt;
    const Term& x = root->sources[0];
    if (x.is_constant || x.neg || !compares(*below, -1, estimate, x, found.steps) ||
        !compares(*above, 1, estimate, x, found.steps) || run_.changes_lanes(*found.steps.begin(), number))
      return std::nullopt;
    found.begin = root->node;
    found.operands = {x};
    return found;
  }

  const RunGraph& run_;
};

}  // namespace

void find_float_roots(const RunGraph& run, const RegisterSet& live, Quotients& result) {
  Finder(run).find(live, result);
}

}  // namespace lockstep::translator

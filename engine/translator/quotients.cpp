#include "engine/translator/quotients.h"

#include <algorithm>
#include <optional>

#include "engine/translator/classify.h"
#include "engine/translator/run_graph.h"
#include "engine/translator/whole_roots.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;

class Finder {
 public:
  explicit Finder(const RunGraph& graph) : graph_(graph) {}

  void find(const RegisterSet& live, Quotients& result) {
    struct Found {
      int last;
      std::set<int> steps;
      std::optional<Term> root_of = {};
    };
    std::vector<Found> found;
    for (int i = 0; i < graph_.size(); ++i) {
      if (auto steps = steps_of(i)) {
        found.push_back({i, std::move(*steps)});
      } else {
        std::set<int> steps_of_root;
        const auto root_of = operand_of_root(i, steps_of_root);
        if (root_of) found.push_back({i, std::move(steps_of_root), root_of});
      }
    }
    // A step that something else needs keeps all others of its quotient.
    for (bool changed = true; changed;) {
      std::set<int> gone;
      for (const Found& each : found) gone.insert(each.steps.begin(), each.steps.end());
      const size_t before = found.size();
      std::erase_if(found, [&](const Found& each) {
        return std::ranges::any_of(each.steps,
                                   [&](int step) { return is_needed(step, each.last, gone, live); });
      });
      changed = found.size() != before;
    }
    for (const Found& each : found) {
      if (each.root_of)
        result.roots.emplace(operation(each.last).node, each.root_of->first);
      else
        result.divisions.insert(operation(each.last).node);
      for (int step : each.steps) result.steps.insert({operation(step).node, operation(step).half});
    }
    std::vector<RootOfDouble> roots;
    for (Found& each : found)
      if (each.root_of) roots.push_back({each.last, std::move(each.steps), *each.root_of});
    find_whole_roots(graph_, live, roots, result);
  }

 private:
  const Operation& operation(int number) const { return graph_.operation(number); }
  const Operation* made_by(const Term& term, std::initializer_list<Opcode> opcodes,
                           std::set<int>& steps) const {
    return graph_.made_by(term, opcodes, steps);
  }

  static bool is_product(const Operation& operation, const Term& a, const Term& b) {
    const Term &x = operation.sources[0], &y = operation.sources[1];
    return (x == a && y == b) || (x == b && y == a);
  }
  // a * b + c
  const Operation* fused(const Term& term, std::set<int>& steps) const {
    return made_by(term, {Opcode::v_fma_f64, Opcode::v_fma_f32, Opcode::v_fmac_f32}, steps);
  }
  // 1 - d * r, of which the result is a step, for the `term` r + r * that. Gives r.
  std::optional<Term> before_newton_step(const Term& term, const Term& d, bool is_double,
                                         std::set<int>& steps) const {
    const uint64_t one = is_double ? 0x3ff0000000000000 : 0x3f800000;
    const Operation* better = fused(term, steps);
    if (!better) return std::nullopt;
    const Term& r = better->sources[2];
    for (const unsigned factor : {0u, 1u}) {
      if (!(better->sources[factor] == r)) continue;
      const Operation* error = fused(better->sources[1 - factor], steps);
      if (!error || !is_product(*error, d.negated(), r)) return std::nullopt;
      // At -O0 the constant comes from SGPRs.
      if (graph_.is_number(error->sources[2], one, is_double ? 2 : 1)) return r;
    }
    return std::nullopt;
  }
  // q for q + (n - d * q) * r.
  std::optional<Term> before_correction(const Operation& corrected, const Term& d, const Term& n,
                                        const Term& r, std::set<int>& steps) const {
    const Term& q = corrected.sources[2];
    for (const unsigned factor : {0u, 1u}) {
      if (!(corrected.sources[factor] == r)) continue;
      const Operation* rest = fused(corrected.sources[1 - factor], steps);
      if (rest && is_product(*rest, d.negated(), q) && rest->sources[2] == n) return q;
    }
    return std::nullopt;
  }

  // The operations before it of which the fixup makes a quotient; nothing if it does not.
  std::optional<std::set<int>> steps_of(int number) const {
    const Operation& fixup = operation(number);
    const bool is_double = fixup.opcode == Opcode::v_div_fixup_f64;
    if (!fixup.is_plain || (!is_double && fixup.opcode != Opcode::v_div_fixup_f32)) return std::nullopt;
    const Term &denominator = fixup.sources[1], &numerator = fixup.sources[2];
    const Opcode scale_opcode = is_double ? Opcode::v_div_scale_f64 : Opcode::v_div_scale_f32;

    std::set<int> steps;
    const Operation* last =
        made_by(fixup.sources[0], {is_double ? Opcode::v_div_fmas_f64 : Opcode::v_div_fmas_f32}, steps);
    if (!last) return std::nullopt;
    // The rest that is added last names both scaled operands, its factor the reciprocal.
    for (const unsigned factor : {0u, 1u}) {
      std::set<int> tried = steps;
      const Term& r = last->sources[factor];
      const Operation* rest = fused(last->sources[1 - factor], tried);
      if (!rest) continue;
      const Term& n = rest->sources[2];
      const unsigned negated = rest->sources[0].neg ? 0 : 1;
      const Term d = rest->sources[negated].negated();
      std::optional<Term> q = before_correction(*last, d, n, r, tried);
      if (!q) continue;
      if (!is_double) {
        const Operation* first_correction = fused(*q, tried);
        if (!first_correction) continue;
        q = before_correction(*first_correction, d, n, r, tried);
        if (!q) continue;
      }
      const Operation* product = made_by(*q, {is_double ? Opcode::v_mul_f64 : Opcode::v_mul_f32}, tried);
      if (!product || !is_product(*product, n, r)) continue;
      std::optional<Term> estimate = before_newton_step(r, d, is_double, tried);
      if (estimate && is_double) estimate = before_newton_step(*estimate, d, is_double, tried);
      if (!estimate) continue;
      const Operation* reciprocal =
          made_by(*estimate, {is_double ? Opcode::v_rcp_f64 : Opcode::v_rcp_f32}, tried);
      if (!reciprocal || !(reciprocal->sources[0] == d)) continue;
      const auto is_scaled = [&](const Operation* scale, const Term& of) {
        return scale && scale->sources[0] == of && scale->sources[1] == denominator &&
               scale->sources[2] == numerator;
      };
      const Operation* scaled_d = made_by(d, {scale_opcode}, tried);
      const Operation* scaled_n = made_by(n, {scale_opcode}, tried);
      if (!is_scaled(scaled_d, denominator) || !is_scaled(scaled_n, numerator)) continue;
      if (!takes_mask_of(*last, *scaled_n, tried)) continue;
      if (graph_.changes_lanes(*tried.begin(), number)) return std::nullopt;
      return tried;
    }
    return std::nullopt;
  }

  // The VGPRs whose root the operation ends, and the operations before it of which it makes it.
  std::optional<Term> operand_of_root(int number, std::set<int>& steps) const {
    const Operation& last = operation(number);
    if (!last.is_plain || last.opcode != Opcode::v_fma_f64) return std::nullopt;
    // root + (x - root * root) * half
    struct Correction {
      Term before, x, half;
    };
    const auto correction = [&](const Operation& corrected) -> std::optional<Correction> {
      const Term& before = corrected.sources[2];
      for (const unsigned factor : {0u, 1u}) {
        std::set<int> tried = steps;
        const Operation* rest = fused(corrected.sources[factor], tried);
        if (!rest || before.neg || !is_product(*rest, before.negated(), before)) continue;
        steps = tried;
        return Correction{before, rest->sources[2], corrected.sources[1 - factor]};
      }
      return std::nullopt;
    };
    const auto second = correction(last);
    if (!second) return std::nullopt;
    const Term &x = second->x, &half = second->half;
    const Operation* corrected = fused(second->before, steps);
    const auto first = corrected ? correction(*corrected) : std::nullopt;
    if (!first || x.is_constant || x.neg || !is_vgpr(x.first) || !(first->x == x) || !(first->half == half))
      return std::nullopt;
    // a + a * error of both the root and the half of its reciprocal
    const Operation *better_root = fused(first->before, steps), *better_half = fused(half, steps);
    if (!better_root || !better_half) return std::nullopt;
    const Term &root = better_root->sources[2], &reciprocal = better_half->sources[2];
    const unsigned factor = better_half->sources[0] == reciprocal ? 1 : 0;
    const Term& error = better_half->sources[factor];
    if (!is_product(*better_half, reciprocal, error) || !is_product(*better_root, root, error))
      return std::nullopt;
    constexpr uint64_t kHalf = 0x3fe0000000000000;
    const auto is_half = [](const Term& term) {
      return term.is_constant && !term.neg && term.value == kHalf;
    };
    const Operation *difference = fused(error, steps), *product = made_by(root, {Opcode::v_mul_f64}, steps),
                    *halved = made_by(reciprocal, {Opcode::v_mul_f64}, steps);
    if (!difference || !product || !halved || !is_half(difference->sources[2])) return std::nullopt;
    if (!is_product(*difference, reciprocal.negated(), root)) return std::nullopt;
    const unsigned of_product = product->sources[0] == x ? 1 : 0,
                   of_half = is_half(halved->sources[0]) ? 1 : 0;
    const Term& estimate = product->sources[of_product];
    if (!is_product(*product, x, estimate) || !is_half(halved->sources[1 - of_half]) ||
        !(halved->sources[of_half] == estimate))
      return std::nullopt;
    const Operation* inverse = made_by(estimate, {Opcode::v_rsq_f64}, steps);
    if (!inverse || !(inverse->sources[0] == x) || graph_.changes_lanes(*steps.begin(), number))
      return std::nullopt;
    // The last of them does not name x: it must still be there.
    for (int i = std::max(x.written_by[0], x.written_by[1]) + 1; i < number; ++i)
      if (const RegisterSet& writes = graph_.facts().nodes[operation(i).node].effects.writes;
          operation(i).node != operation(number).node && (writes[x.first] || writes[x.first + 1]))
        return std::nullopt;
    return x;
  }

  // Whether VCC is what the other operation found, perhaps moved there.
  bool takes_mask_of(const Operation& last, const Operation& scaled, std::set<int>& steps) const {
    const Term* mask = &last.mask_source;
    for (;;) {
      const int writer = mask->written_by[0];
      if (writer == Term::kBefore || (graph_.routine().wave_size == 64 && mask->written_by[1] != writer))
        return false;
      const Operation& made = operation(writer);
      if (!made.mask || *made.mask != mask->first) return false;
      if (&made == &scaled) return true;
      if (!made.sources.empty() || !made.is_plain) return false;
      steps.insert(writer);
      mask = &made.mask_source;
    }
  }

  // Whether anything else reads what the step computes, or is computed with it.
  bool is_needed(int step, int last, const std::set<int>& gone, const RegisterSet& live) const {
    for (int user : graph_.users(step))
      if (user != last && !gone.contains(user)) return true;
    return graph_.is_left_in(live, step);
  }

  const RunGraph& graph_;
};

}  // namespace

Quotients find_quotients(const Routine& routine, const Facts& facts, const std::vector<unsigned>& nodes,
                         const RegisterSet& live) {
  const bool has_any = std::ranges::any_of(nodes, [&](unsigned n) {
    const Node& node = routine.nodes[n];
    if (quotient_steps_open(node) < 0 || begins_quotient(node) || begins_wide_quotient(node)) return true;
    if (node.kind != NodeKind::vector_alu) return false;
    return node.instruction.row->base == Opcode::v_rsq_f64 ||
           node.instruction.row->base == Opcode::v_ldexp_f64;
  });
  if (!has_any) return {};
  const RunGraph graph(routine, facts, nodes);
  Quotients result;
  Finder(graph).find(live, result);
  find_integer_quotients(graph, live, result);
  find_wide_quotients(graph, live, result);
  find_wide_conversions(graph, live, result);
  find_float_roots(graph, live, result);
  // Where NaNs are many each step finds its own.
  if (!routine.selects_nans) find_ratios(graph, live, result);
  return result;
}

bool begins_quotient(const Node& node) {
  if (node.kind != NodeKind::vector_alu) return false;
  const Opcode opcode = node.instruction.row->base;
  return opcode == Opcode::v_rcp_iflag_f32 || opcode == Opcode::v_frexp_mant_f32 ||
         opcode == Opcode::v_sqrt_f32 || opcode == Opcode::v_mul_hi_u32 || opcode == Opcode::v_mad_u64_u32;
}

bool begins_wide_quotient(const Node& node) {
  if (node.kind != NodeKind::vector_alu && node.kind != NodeKind::dual) return false;
  const isa::Instruction& instruction = node.instruction;
  const auto is_scale = [&](const isa::Operand& operand) {
    if (operand.is_vgpr() || operand.type == isa::Type::mask) return false;
    const auto source = source_of(operand, instruction);
    return source && source->is_constant && source->value == kScaleOfWideQuotient;
  };
  return std::ranges::any_of(halves_of(instruction), [&](const Half& half) {
    const auto operands = instruction.operands.begin();
    return half.row->base == Opcode::v_mul_f32 &&
           std::any_of(operands + half.first, operands + half.last, is_scale);
  });
}

int quotient_steps_open(const Node& node) {
  if (node.kind != NodeKind::vector_alu) return 0;
  switch (node.instruction.row->base) {
    case Opcode::v_div_scale_f32:
    case Opcode::v_div_scale_f64:
      return 1;
    case Opcode::v_div_fixup_f32:
    case Opcode::v_div_fixup_f64:
      return -2;
    default:
      return 0;
  }
}

}  // namespace lockstep::translator

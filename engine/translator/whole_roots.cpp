#include "engine/translator/whole_roots.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace lockstep::translator {
namespace {

using isa::Opcode;

constexpr uint64_t kSmall = 0x1000000000000000;  // 2^-767
constexpr uint64_t kZerosAndInfinity = 0x260;

class Finder {
 public:
  explicit Finder(const RunGraph& run) : run_(run) {}

  void find(const RegisterSet& live, const std::vector<RootOfDouble>& roots, Quotients& result) const {
    std::vector<Found> found;
    for (const RootOfDouble& root : roots)
      for (int i = root.last + 1; i < run_.size(); ++i)
        if (auto word = word_of(i, root)) found.push_back(std::move(*word));
    drop_needed_patterns(run_, live, found);
    for (const Found& each : found) {
      const Operation& end = run_.operation(each.end);
      result.roots.erase(run_.operation(each.root).node);
      result.whole_roots.insert(each.begin);
      result.earlier_results[{end.node, end.half}] = {each.begin, each.word};
      add_steps(run_, each, result.steps);
    }
  }

 private:
  // One word of the result.
  struct Found : Pattern {
    int root = 0;
    unsigned begin = 0, word = 0;
  };

  bool is_small(const Term& mask, const Term& x, std::set<int>& steps) const {
    const Operation* made = run_.comparison(mask, steps);
    if (!made || (made->opcode != Opcode::v_cmp_gt_f64 && made->opcode != Opcode::v_cmp_lt_f64)) return false;
    const unsigned bound = made->opcode == Opcode::v_cmp_gt_f64 ? 0 : 1;
    const Term& least = made->sources[bound];
    return least.is_constant && !least.neg && least.value == kSmall && made->sources[1 - bound] == x;
  }

  // Whether the exponent is that where x is small, and else 0. Compilers shift the bit of a mask.
  bool is_scale(const Term& exponent, int32_t value, const Term& x, std::set<int>& steps) const {
    std::set<int> tried = steps;
    const Operation* shift = run_.made_by(exponent, {Opcode::v_lshlrev_b32}, tried);
    if (shift && value == 256) {
      steps = std::move(tried);
      return shift->sources[0].is_integer(8) && is_scale(shift->sources[1], 1, x, steps);
    }
    const Operation* select = run_.made_by(exponent, {Opcode::v_cndmask_b32}, steps);
    return select && select->sources[0].is_integer(0) && select->sources[1].is_integer(value) &&
           is_small(select->mask_source, x, steps);
  }

  // The scaling of which the term is that word.
  const Operation* made_with(const Term& term, unsigned word) const {
    const int writer = term.written_by[0];
    if (term.is_constant || term.neg || writer == Term::kBefore) return nullptr;
    const Operation& made = run_.operation(writer);
    const bool is_it =
        made.is_plain && made.opcode == Opcode::v_ldexp_f64 && term.first == made.result + word;
    return is_it ? &made : nullptr;
  }

  bool takes_operand(const Term& mask, const Term& scaled, std::set<int>& steps) const {
    const Operation* made = run_.comparison(mask, steps);
    return made && made->opcode == Opcode::v_cmp_class_f64 && made->sources[0] == scaled &&
           made->sources[1].is_constant && made->sources[1].value == kZerosAndInfinity;
  }

  std::optional<Found> word_of(int number, const RootOfDouble& root) const {
    const Operation& last = run_.operation(number);
    if (!last.is_plain || last.opcode != Opcode::v_cndmask_b32) return std::nullopt;
    Found found;
    found.end = number;
    found.root = root.last;
    found.steps = root.steps;
    const Operation* up = run_.made_by(root.operand, {Opcode::v_ldexp_f64}, found.steps);
    if (!up) return std::nullopt;
    const Operation* down = nullptr;
    for (const unsigned word : {0u, 1u}) {
      const Operation* made = made_with(last.sources[0], word);
      if (!made || made_with(last.sources[1], word) != up) continue;
      down = made;
      found.word = word;
    }
    std::set<int> of_result;
    if (!down || !run_.made_by(down->sources[0], {Opcode::v_fma_f64}, of_result) ||
        !of_result.contains(root.last))
      return std::nullopt;
    found.steps.insert({root.last, last.sources[0].written_by[0]});
    const Term& x = up->sources[0];
    if (x.is_constant || x.neg || !is_vgpr(x.first) || !is_scale(up->sources[1], 256, x, found.steps) ||
        !is_scale(down->sources[1], -128, x, found.steps) ||
        !takes_operand(last.mask_source, root.operand, found.steps) ||
        run_.changes_lanes(*found.steps.begin(), number))
      return std::nullopt;
    found.begin = up->node;
    found.operands = {x};
    return found;
  }

  const RunGraph& run_;
};

}  // namespace

void find_whole_roots(const RunGraph& run, const RegisterSet& live, const std::vector<RootOfDouble>& roots,
                      Quotients& result) {
  Finder(run).find(live, roots, result);
}

}  // namespace lockstep::translator

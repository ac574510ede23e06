#include "engine/translator/quotients.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "engine/translator/classify.h"
#include "engine/translator/operands.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

constexpr int kBefore = -1;  // written by none of the nodes

// A source of an operation: a constant, or registers as they are after certain operations.
struct Term {
  bool is_constant = false, neg = false;
  uint64_t value = 0;
  unsigned first = 0;
  std::array<int, 2> written_by = {kBefore, kBefore};  // operations, by word

  bool same_but_sign(const Term& other) const {
    return is_constant == other.is_constant && value == other.value && first == other.first &&
           written_by == other.written_by;
  }
  bool operator==(const Term& other) const { return neg == other.neg && same_but_sign(other); }
  Term negated() const {
    Term result = *this;
    result.neg = !neg;
    return result;
  }
};

// An instruction, or half of a VOPD pair.
struct Operation {
  unsigned node = 0, half = 0;
  Opcode opcode{};
  bool is_plain = false;  // nothing beside its sources matters
  std::vector<Term> sources;
  unsigned result = 0, result_words = 0;
  std::optional<unsigned> mask;  // what it writes of lanes that need scaling, or moves
  Term mask_source;              // v_div_fmas: VCC; a move: what is moved
};

class Finder {
 public:
  Finder(const Routine& routine, const Facts& facts, const std::vector<unsigned>& nodes)
      : routine_(routine), facts_(facts) {
    last_writer_.fill(kBefore);
    for (unsigned node : nodes) add(node);
  }

  Quotients find(const RegisterSet& live) {
    struct Found {
      int last;
      std::set<int> steps;
      std::optional<unsigned> root_of = {};
    };
    std::vector<Found> found;
    for (int i = 0; i < static_cast<int>(operations_.size()); ++i) {
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
    Quotients result;
    for (const Found& each : found) {
      if (each.root_of)
        result.roots.emplace(operation(each.last).node, *each.root_of);
      else
        result.divisions.insert(operation(each.last).node);
      for (int step : each.steps) result.steps.insert({operation(step).node, operation(step).half});
    }
    return result;
  }

 private:
  const Operation& operation(int number) const { return operations_[static_cast<size_t>(number)]; }

  void add(unsigned index) {
    const Node& node = routine_.nodes[index];
    const Effects& effects = facts_.nodes[index].effects;
    const bool is_vector = node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual;
    const int first = static_cast<int>(operations_.size());
    if (is_vector) {
      for (const Half& half : halves_of(node.instruction)) {
        const unsigned number = static_cast<unsigned>(operations_.size()) - static_cast<unsigned>(first);
        operations_.push_back(operation_of(index, half));
        operations_.back().half = number;
      }
    } else {
      Operation& other = operations_.emplace_back();
      other.node = index;
      if (is_mask_move(node, routine_.wave_size)) {
        const isa::Operand& source = *node.instruction.find(Role::src0);
        other.mask_source = term(source, node.instruction);
        other.mask = scalar_destination(*node.instruction.find(Role::dst));
        other.is_plain = true;
      }
    }
    if (effects.exec != ExecChange::none) exec_changes_.push_back(first);
    // Both halves of a pair read before either writes.
    std::array<HalfEffects, 2> halves = {{{effects.reads, effects.writes}, {}}};
    if (node.kind == NodeKind::dual) halves = effects_of_halves(node.instruction);
    for (int half = 0; half < 2; ++half)
      for (unsigned r = 0; r < kRegisters; ++r)
        if (halves[static_cast<size_t>(half)].reads[r] && last_writer_[r] != kBefore)
          users_[last_writer_[r]].insert(first + half);
    for (int half = 0; half < 2; ++half)
      for (unsigned r = 0; r < kRegisters; ++r)
        if (halves[static_cast<size_t>(half)].writes[r]) last_writer_[r] = first + half;
  }

  Term term(const isa::Operand& operand, const isa::Instruction& instruction) const {
    Term result;
    result.neg = operand.neg;
    const Source source = *source_of(operand, instruction);
    result.is_constant = source.is_constant;
    if (source.is_constant) {
      result.value = source.value;
      return result;
    }
    result.first = source.first;
    for (unsigned word = 0; word < std::min<unsigned>(operand.words, 2); ++word)
      result.written_by[word] = last_writer_[source.first + word];
    return result;
  }

  Operation operation_of(unsigned index, const Half& half) const {
    const Node& node = routine_.nodes[index];
    const isa::Instruction& instruction = node.instruction;
    Operation result;
    result.node = index;
    result.opcode = half.row->base;
    result.is_plain = node.float_mode == kDefaultFloatMode && instruction.dpp == isa::Dpp::none &&
                      !instruction.clamp && instruction.omod == 0;
    const isa::Operand* destination = nullptr;
    for (unsigned i = half.first; i < half.last; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      if (operand.role == Role::dst) {
        destination = &operand;
      } else if (operand.role == Role::dst2) {
        result.mask = scalar_destination(operand);
      } else {
        result.is_plain &= !operand.abs && source_of(operand, instruction).has_value();
        if (!result.is_plain) return result;
        result.sources.push_back(term(operand, instruction));
      }
    }
    if (!destination || !destination->is_vgpr()) {
      result.is_plain = false;
      return result;
    }
    result.result = destination->vgpr();
    result.result_words = destination->words;
    if (destination->read) result.sources.push_back(term(*destination, instruction));
    for (unsigned word = 0; word < routine_.wave_size / 32; ++word)
      result.mask_source.written_by[word] = last_writer_[kVcc + word];
    result.mask_source.first = kVcc;
    return result;
  }

  // The operation that made the term as its result; null if it is not one of these opcodes.
  const Operation* made_by(const Term& term, std::initializer_list<Opcode> opcodes,
                           std::set<int>& steps) const {
    const int writer = term.written_by[0];
    if (term.is_constant || term.neg || writer == kBefore) return nullptr;
    const Operation& result = operation(writer);
    const bool is_it = result.is_plain && result.result == term.first && result.result_words > 0 &&
                       std::ranges::find(opcodes, result.opcode) != opcodes.end();
    if (!is_it || (result.result_words == 2 && term.written_by[1] != writer)) return nullptr;
    steps.insert(writer);
    return &result;
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
  std::optional<Term> before_newton_step(const Term& term, const Term& d, uint64_t one,
                                         std::set<int>& steps) const {
    const Operation* better = fused(term, steps);
    if (!better) return std::nullopt;
    const Term& r = better->sources[2];
    for (const unsigned factor : {0u, 1u}) {
      if (!(better->sources[factor] == r)) continue;
      const Operation* error = fused(better->sources[1 - factor], steps);
      if (!error || !is_product(*error, d.negated(), r)) return std::nullopt;
      const Term& addend = error->sources[2];
      if (addend.is_constant && addend.value == one && !addend.neg) return r;
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
    if (denominator.neg || numerator.neg) return std::nullopt;
    const Opcode scale_opcode = is_double ? Opcode::v_div_scale_f64 : Opcode::v_div_scale_f32;
    const uint64_t one = is_double ? 0x3ff0000000000000 : 0x3f800000;

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
      std::optional<Term> estimate = before_newton_step(r, d, one, tried);
      if (estimate && is_double) estimate = before_newton_step(*estimate, d, one, tried);
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
      if (changes_lanes(*tried.begin(), number)) return std::nullopt;
      return tried;
    }
    return std::nullopt;
  }

  // Lanes must not come or go on the way.
  bool changes_lanes(int first, int last) const {
    return std::ranges::any_of(exec_changes_, [&](int change) { return change >= first && change <= last; });
  }

  // The VGPRs whose root the operation ends, and the operations before it of which it makes it.
  std::optional<unsigned> operand_of_root(int number, std::set<int>& steps) const {
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
    if (!inverse || !(inverse->sources[0] == x) || changes_lanes(*steps.begin(), number)) return std::nullopt;
    // The last of them does not name x: it must still be there.
    for (int i = std::max(x.written_by[0], x.written_by[1]) + 1; i < number; ++i)
      if (const RegisterSet& writes = facts_.nodes[operation(i).node].effects.writes;
          operation(i).node != operation(number).node && (writes[x.first] || writes[x.first + 1]))
        return std::nullopt;
    return x.first;
  }

  // Whether VCC is what the other operation found, perhaps moved there.
  bool takes_mask_of(const Operation& last, const Operation& scaled, std::set<int>& steps) const {
    const Term* mask = &last.mask_source;
    for (;;) {
      const int writer = mask->written_by[0];
      if (writer == kBefore || (routine_.wave_size == 64 && mask->written_by[1] != writer)) return false;
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
    const auto used = users_.find(step);
    if (used != users_.end())
      for (int user : used->second)
        if (user != last && !gone.contains(user)) return true;
    for (unsigned r = 0; r < kRegisters; ++r)
      if (live[r] && last_writer_[r] == step) return true;
    return false;
  }

  const Routine& routine_;
  const Facts& facts_;
  std::vector<Operation> operations_;
  std::array<int, kRegisters> last_writer_{};
  std::map<int, std::set<int>> users_;
  std::vector<int> exec_changes_;
};

}  // namespace

Quotients find_quotients(const Routine& routine, const Facts& facts, const std::vector<unsigned>& nodes,
                         const RegisterSet& live) {
  const bool has_any = std::ranges::any_of(nodes, [&](unsigned n) {
    const Node& node = routine.nodes[n];
    if (quotient_steps_open(node) < 0) return true;
    return node.kind == NodeKind::vector_alu && node.instruction.row->base == Opcode::v_rsq_f64;
  });
  if (!has_any) return {};
  return Finder(routine, facts, nodes).find(live);
}

bool is_mask_move(const Node& node, unsigned wave_size) {
  if (node.kind != NodeKind::scalar_alu) return false;
  if (node.instruction.row->base != (wave_size == 32 ? Opcode::s_mov_b32 : Opcode::s_mov_b64)) return false;
  const auto source = source_of(*node.instruction.find(Role::src0), node.instruction);
  const auto destination = scalar_destination(*node.instruction.find(Role::dst));
  if (!source || source->is_constant || !destination) return false;
  const auto is_mask = [&](unsigned number) {
    return number >= kFirstScalar && number <= kVcc && number % (wave_size / 32) == 0;
  };
  return is_mask(source->first) && is_mask(*destination);
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

// Conversions between doubles and integers of 64 bits, which gfx11 has none of: compilers convert the words,
// and take doubles apart by their product with 2^-32.
#include <optional>
#include <set>
#include <vector>

#include "engine/translator/quotients.h"
#include "engine/translator/run_graph.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;

constexpr uint64_t kMinusTwoTo32 = 0xc1f0000000000000;  // as a double

class Finder {
 public:
  explicit Finder(const RunGraph& run) : run_(run) {}

  void find(const RegisterSet& live, Quotients& result) {
    std::vector<Found> found;
    for (int i = 0; i < run_.size(); ++i) {
      if (auto number = from_words(i))
        found.push_back(std::move(*number));
      else if (auto word = to_word(i))
        found.push_back(std::move(*word));
    }
    drop_needed_patterns(run_, live, found);
    for (const Found& each : found) {
      const Operation& end = run_.operation(each.end);
      if (each.number) {
        result.numbers_of_words[end.node] = *each.number;
        for (const unsigned node : {each.number->low, each.number->high}) result.taken_words.insert(node);
      } else {
        result.words_of_numbers.insert(each.begin);
        result.earlier_results[{end.node, end.half}] = {each.begin, each.word};
      }
      add_steps(run_, each, result.steps);
    }
  }

 private:
  struct Found : Pattern {
    std::optional<NumberOfWords> number;
    unsigned begin = 0, word = 0;  // else: the node that reads the double first
  };

  // high * 2^32 + low
  std::optional<Found> from_words(int number) const {
    const Operation& sum = run_.operation(number);
    if (!sum.is_plain || sum.opcode != Opcode::v_add_f64) return std::nullopt;
    for (const unsigned of_high : {0u, 1u}) {
      Found found;
      found.end = number;
      const Operation* scaled = run_.made_by(sum.sources[of_high], {Opcode::v_ldexp_f64}, found.steps);
      if (!scaled || !scaled->sources[1].is_integer(32)) continue;
      const Operation *high = run_.made_by(scaled->sources[0], {Opcode::v_cvt_f64_u32, Opcode::v_cvt_f64_i32},
                                           found.steps),
                      *low = run_.made_by(sum.sources[1 - of_high], {Opcode::v_cvt_f64_u32}, found.steps);
      if (!high || !low || run_.changes_lanes(*found.steps.begin(), number)) continue;
      found.number = {low->node, high->node, high->opcode == Opcode::v_cvt_f64_i32};
      found.operands = {low->sources[0], high->sources[0]};
      return found;
    }
    return std::nullopt;
  }

  // Of the product with 2^-32 that is rounded down, or of what that leaves.
  std::optional<Found> to_word(int number) const {
    const Operation& end = run_.operation(number);
    const bool is_signed = end.opcode == Opcode::v_cvt_i32_f64;
    if (!end.is_plain || (!is_signed && end.opcode != Opcode::v_cvt_u32_f64)) return std::nullopt;
    Found found;
    found.end = number;
    const Term* whole = &end.sources[0];
    const Operation* rest = run_.made_by(*whole, {Opcode::v_fma_f64}, found.steps);
    if (rest) {
      const unsigned factor = rest->sources[0].is_number(kMinusTwoTo32) ? 0 : 1;
      if (is_signed || !rest->sources[factor].is_number(kMinusTwoTo32)) return std::nullopt;
      whole = &rest->sources[1 - factor];
    }
    const Operation* rounded = run_.made_by(*whole, {Opcode::v_floor_f64}, found.steps);
    const Operation* scaled =
        rounded ? run_.made_by(rounded->sources[0], {Opcode::v_ldexp_f64}, found.steps) : nullptr;
    if (!scaled || !scaled->sources[1].is_integer(-32)) return std::nullopt;
    const Term& of = scaled->sources[0];
    if (of.neg || of.is_constant || (rest && !(rest->sources[2] == of))) return std::nullopt;
    if (run_.changes_lanes(*found.steps.begin(), number)) return std::nullopt;
    found.begin = scaled->node;
    found.word = rest ? 0 : is_signed ? 2 : 1;
    found.operands = {of};
    return found;
  }

  const RunGraph& run_;
};

}  // namespace

void find_wide_conversions(const RunGraph& run, const RegisterSet& live, Quotients& result) {
  Finder(run).find(live, result);
}

}  // namespace lockstep::translator

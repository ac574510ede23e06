// What vector instructions one behind the other compute from what: the operations, halves of VOPD pairs each
// for itself, with the operation that made each source. Patterns of several instructions are looked for in
// it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// A source of an operation: a constant, or registers as they are after certain operations.
struct Term {
  static constexpr int kBefore = -1;  // written by none of the operations

  bool is_constant = false, neg = false;
  uint64_t value = 0;
  unsigned first = 0;
  std::array<int, 2> written_by = {kBefore, kBefore};  // operations, by word

  bool same_but_sign(const Term& other) const {
    return is_constant == other.is_constant && value == other.value && first == other.first &&
           written_by == other.written_by;
  }
  bool operator==(const Term& other) const { return neg == other.neg && same_but_sign(other); }
  bool is_number(uint64_t number) const { return is_constant && !neg && value == number; }
  bool is_integer(int32_t number) const {
    return is_constant && !neg && static_cast<int32_t>(value) == number;
  }
  Term negated() const {
    Term result = *this;
    result.neg = !neg;
    return result;
  }
};

// What a scalar move has put into registers, the first one's bits lowest.
struct MovedNumber {
  unsigned first = 0;
  uint64_t value = 0;
};

// An instruction, or half of a VOPD pair. Of scalar ones differences and moves of masks and of constants are
// known. SCC counts as a mask where it is a borrow.
struct Operation {
  unsigned node = 0, half = 0;
  isa::Opcode opcode{};
  bool is_plain = false;  // nothing beside its sources matters
  std::vector<Term> sources;
  unsigned result = 0, result_words = 0;
  std::optional<unsigned> mask;  // of lanes, that it writes or moves
  Term mask_source;              // what reads a mask, VCC if it names none; a move: what is moved
  std::optional<MovedNumber> moved;
};

bool is_difference_of_scalars(isa::Opcode opcode);

class RunGraph {
 public:
  // Of nodes that are executed one after the other.
  RunGraph(const Routine& routine, const Facts& facts, const std::vector<unsigned>& nodes);

  const Routine& routine() const { return routine_; }
  const Facts& facts() const { return facts_; }
  int size() const { return static_cast<int>(operations_.size()); }
  const Operation& operation(int number) const { return operations_[static_cast<size_t>(number)]; }

  // The operation that made the term as its result, which becomes one of the steps; null if it is not one of
  // these opcodes.
  const Operation* made_by(const Term& term, std::initializer_list<isa::Opcode> opcodes,
                           std::set<int>& steps) const;
  // The comparison that made the mask, and nothing else, which becomes one of the steps.
  const Operation* comparison(const Term& mask, std::set<int>& steps) const;
  // Whether the term is this number in so many words: as a constant, or where scalar moves have put it.
  bool is_number(const Term& term, uint64_t number, unsigned words) const;
  // Whether EXEC changes between two operations.
  bool changes_lanes(int first, int last) const;
  // Operations that read what the operation writes.
  const std::set<int>& users(int operation) const;
  // Whether it is the last one that writes one of these registers.
  bool is_left_in(const RegisterSet& registers, int operation) const;

 private:
  void add(unsigned index);
  Term term(const isa::Operand& operand, const isa::Instruction& instruction) const;
  void add_difference_of_scalars(Operation& operation, const isa::Instruction& instruction) const;
  Operation operation_of(unsigned index, const Half& half) const;

  const Routine& routine_;
  const Facts& facts_;
  std::vector<Operation> operations_;
  std::array<int, kRegisters> last_writer_{};
  std::map<int, std::set<int>> users_;
  std::vector<int> exec_changes_;
};

// Several operations that are one: the last of them, those that then compute nothing, and what these read
// that none of them makes.
struct Pattern {
  int end = 0;
  std::set<int> steps;
  std::vector<Term> operands;
};

// In instructions and their halves.
inline void add_steps(const RunGraph& run, const Pattern& pattern,
                      std::set<std::pair<unsigned, unsigned>>& steps) {
  for (int step : pattern.steps) steps.insert({run.operation(step).node, run.operation(step).half});
}

// Patterns may share steps. A step that something else needs is none, and then the others of its pattern are
// none. `Found` is a Pattern.
template <class Found>
void drop_needed_patterns(const RunGraph& run, const RegisterSet& live, std::vector<Found>& found) {
  for (bool changed = true; changed;) {
    std::set<int> gone, ends;
    for (const Pattern& each : found) {
      gone.insert(each.steps.begin(), each.steps.end());
      ends.insert(each.end);
    }
    const auto is_needed = [&](int step) {
      if (ends.contains(step) || run.is_left_in(live, step)) return true;
      return std::ranges::any_of(run.users(step),
                                 [&](int user) { return !gone.contains(user) && !ends.contains(user); });
    };
    const auto is_gone = [&](const Term& operand) { return gone.contains(operand.written_by[0]); };
    changed =
        std::erase_if(found, [&](const Pattern& each) {
          return std::ranges::any_of(each.operands, is_gone) || std::ranges::any_of(each.steps, is_needed);
        }) != 0;
  }
}

}  // namespace lockstep::translator

// Looks up what computes products, sums and differences of numbers of two words among the operations of a
// run.
#pragma once

#include <initializer_list>
#include <set>

#include "engine/translator/run_graph.h"

namespace lockstep::translator {

inline constexpr Term kZeroTerm{.is_constant = true};

inline Term constant_term(uint64_t value) {
  return {.is_constant = true, .value = value};
}

struct WideTerm {
  Term low, high;
};

// Looks up the operations that compute a number of others, and notes them as steps. Where there is none it
// has failed, and gives a term that nothing is computed of.
class WideSteps {
 public:
  explicit WideSteps(const RunGraph& run) : run_(run) {}

  bool have_failed() const { return have_failed_; }
  const std::set<int>& all() const { return steps_; }

  // A number whose carry or borrow others read.
  struct Sum {
    Term value;
    int operation;
  };

  Term unary(isa::Opcode opcode, const Term& a) {
    return noted(find({opcode}, [&](const Operation& each) { return each.sources[0] == a; }));
  }
  Term of_both(std::initializer_list<isa::Opcode> opcodes, const Term& a, const Term& b) {
    return noted(find(opcodes, [&](const Operation& each) { return is_of_both(each, a, b); }));
  }
  // a * b + c of floats.
  Term fused(const Term& a, const Term& b, const Term& c) {
    return noted(find({isa::Opcode::v_fma_f32, isa::Opcode::v_fmac_f32, isa::Opcode::v_fmamk_f32},
                      [&](const Operation& each) { return is_of_both(each, a, b) && each.sources[2] == c; }));
  }

  Sum sum(const Term& a, const Term& b) {
    return summed(
        find({isa::Opcode::v_add_co_u32}, [&](const Operation& each) { return is_of_both(each, a, b); }));
  }
  Sum sum(const Term& a, const Term& b, const Sum& carry) {
    return summed(find({isa::Opcode::v_add_co_ci_u32}, [&](const Operation& each) {
      return is_of_both(each, a, b) && reads_mask(each, carry.operation);
    }));
  }
  Sum difference(const Term& a, const Term& b) {
    return summed(find({isa::Opcode::v_sub_co_u32, isa::Opcode::v_subrev_co_u32, isa::Opcode::s_sub_u32},
                       [&](const Operation& each) { return is_difference(each, a, b); }));
  }
  Sum difference(const Term& a, const Term& b, const Sum& borrow) {
    return summed(
        find({isa::Opcode::v_sub_co_ci_u32, isa::Opcode::v_subrev_co_ci_u32, isa::Opcode::s_subb_u32},
             [&](const Operation& each) {
               return is_difference(each, a, b) && reads_mask(each, borrow.operation);
             }));
  }
  Sum plain_difference(const Term& a, const Term& b) {
    return summed(find({isa::Opcode::v_sub_nc_u32, isa::Opcode::v_subrev_nc_u32},
                       [&](const Operation& each) { return is_difference(each, a, b); }));
  }
  WideTerm sum(const WideTerm& a, const WideTerm& b) {
    const Sum low = sum(a.low, b.low);
    return {low.value, sum(a.high, b.high, low).value};
  }

  // The low halves of the products of whole numbers.
  WideTerm low_product(const WideTerm& a, const WideTerm& b) {
    const WideTerm first = product(a.low, b.low);
    if (!a.high.is_number(0)) {
      const Term second = product(a.low, b.high).low, third = product(a.high, b.low).low;
      return {first.low, sum_of_three(first.high, second, third)};
    }
    const int fused = find({isa::Opcode::v_mad_u64_u32}, [&](const Operation& each) {
      const Term& addend = each.sources[2];
      return is_of_both(each, a.low, b.high) && addend.first == first.high.first && !addend.is_constant &&
             addend.written_by[0] == first.high.written_by[0];
    });
    if (fused != kNone) return {first.low, noted(fused)};
    return {first.low, of_both({isa::Opcode::v_add_nc_u32}, first.high, product(a.low, b.high).low)};
  }
  // The high halves.
  WideTerm high_product(const WideTerm& a, const WideTerm& b) {
    const Term lowest = product(a.low, b.low, true).high;
    const WideTerm low_high = product(a.low, b.high), high_low = product(a.high, b.low),
                   highest = product(a.high, b.high);
    const bool in_order = find({isa::Opcode::v_add_co_u32}, [&](const Operation& each) {
                            return is_of_both(each, lowest, low_high.low);
                          }) != kNone;
    const WideTerm &first = in_order ? low_high : high_low, &second = in_order ? high_low : low_high;
    const Sum low = sum(lowest, first.low), middle = sum(kZeroTerm, first.high, low);
    const Sum with_second = sum(low.value, second.low), high = sum(middle.value, second.high, with_second),
              carry = sum(kZeroTerm, highest.high, high);
    return sum({high.value, carry.value}, {highest.low, kZeroTerm});
  }

  // The reciprocal of a number whose opposite is given, made better.
  WideTerm newton_step(const WideTerm& reciprocal, const WideTerm& opposite) {
    return sum(reciprocal, high_product(reciprocal, low_product(opposite, reciprocal)));
  }

  // Zero where a < b, else -1. What is known of b.high is known of that, too.
  Term is_not_less(const WideTerm& a, const WideTerm& b) {
    const Term low = flag(a.low, b.low),
               high = b.high.is_number(0) ? constant_term(~uint32_t{0}) : flag(a.high, b.high);
    const int equal = find({isa::Opcode::v_cmp_eq_u32},
                           [&](const Operation& each) { return is_of_both(each, a.high, b.high); });
    return chosen(high, low, note(equal));
  }
  // b where the flag is not zero.
  Term chosen_by(const Term& flag, const Term& a, const Term& b) {
    return chosen(a, b, note(find({isa::Opcode::v_cmp_ne_u32}, [&](const Operation& each) {
                    return is_of_both(each, flag, kZeroTerm);
                  })));
  }

 private:
  static constexpr int kNone = -2;

  static bool is_of_both(const Operation& each, const Term& a, const Term& b) {
    const auto& sources = each.sources;
    return (sources[0] == a && sources[1] == b) || (sources[0] == b && sources[1] == a);
  }
  static bool is_reversed(isa::Opcode opcode) {
    return opcode == isa::Opcode::v_subrev_co_u32 || opcode == isa::Opcode::v_subrev_co_ci_u32 ||
           opcode == isa::Opcode::v_subrev_nc_u32 || opcode == isa::Opcode::v_cmp_le_u32;
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
  int find(std::initializer_list<isa::Opcode> opcodes, Is is) const {
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
  WideTerm product(const Term& a, const Term& b, bool high_alone = false) {
    const auto is_it = [&](const Operation& each) { return is_of_both(each, a, b); };
    const int whole = find({isa::Opcode::v_mad_u64_u32}, [&](const Operation& each) {
      return is_it(each) && each.sources[2].is_number(0);
    });
    const int high = find({isa::Opcode::v_mul_hi_u32}, is_it), low = find({isa::Opcode::v_mul_lo_u32}, is_it);
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
    const int whole = find({isa::Opcode::v_add3_u32}, [&](const Operation& each) {
      return std::ranges::is_permutation(each.sources, terms);
    });
    if (whole != kNone) return noted(whole);
    for (unsigned last = 0; last < 3; ++last) {
      const Term &x = terms[(last + 1) % 3], &y = terms[(last + 2) % 3];
      const int first =
          find({isa::Opcode::v_add_nc_u32}, [&](const Operation& each) { return is_of_both(each, x, y); });
      if (first == kNone) continue;
      return of_both({isa::Opcode::v_add_nc_u32}, noted(first), terms[last]);
    }
    return noted(kNone);
  }

  Term flag(const Term& a, const Term& b) {
    int compared = find({isa::Opcode::v_cmp_ge_u32, isa::Opcode::v_cmp_le_u32},
                        [&](const Operation& each) { return is_difference(each, a, b); });
    // Of a constant compilers write that the number is above the one before it.
    if (compared == kNone && b.is_constant && static_cast<uint32_t>(b.value) != 0)
      compared = find({isa::Opcode::v_cmp_gt_u32, isa::Opcode::v_cmp_lt_u32}, [&](const Operation& each) {
        const unsigned first = each.opcode == isa::Opcode::v_cmp_lt_u32 ? 1 : 0;
        return each.sources[first] == a &&
               each.sources[1 - first].is_integer(static_cast<int32_t>(b.value - 1));
      });
    return chosen(kZeroTerm, constant_term(~uint32_t{0}), note(compared));
  }
  Term chosen(const Term& off, const Term& on, int mask) {
    return noted(find({isa::Opcode::v_cndmask_b32}, [&](const Operation& each) {
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

}  // namespace lockstep::translator

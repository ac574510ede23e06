#include "fuzz/kernels/shrink.h"

#include <algorithm>
#include <chrono>

namespace lockstep::kernel_fuzz {

namespace {

using Statements = std::vector<Statement>;

// Visits every list of statements and every expression of a kernel in one fixed order, so that a place in a
// copy is found by its number.
template <typename OnList, typename OnExpression>
class Visitor {
 public:
  Visitor(OnList on_list, OnExpression on_expression) : on_list_(on_list), on_expression_(on_expression) {}

  void kernel(Kernel& kernel) {
    list(kernel.body);
    for (Function& function : kernel.functions) {
      list(function.body);
      expression(function.value);
    }
  }

 private:
  void list(Statements& statements) {
    on_list_(statements);
    for (Statement& statement : statements) {
      for (Expression& e : statement.expressions) expression(e);
      for (Statements& body : statement.bodies) list(body);
    }
  }
  void expression(Expression& e) {
    on_expression_(e);
    for (Expression& operand : e.operands) expression(operand);
  }
  OnList on_list_;
  OnExpression on_expression_;
};

template <typename OnList, typename OnExpression>
void visit(Kernel& kernel, OnList on_list, OnExpression on_expression) {
  Visitor<OnList, OnExpression>(on_list, on_expression).kernel(kernel);
}

bool is_structure(const Statement& s) {
  using Kind = Statement::Kind;
  return s.kind == Kind::branch || s.kind == Kind::loop || s.kind == Kind::do_loop ||
         s.kind == Kind::choose || s.kind == Kind::uniform_loop || s.kind == Kind::uniform_branch;
}

bool uses_counter(const Expression& e, uint32_t counter) {
  return (e.kind == Expression::Kind::counter && e.index == counter) ||
         std::any_of(e.operands.begin(), e.operands.end(),
                     [&](const Expression& o) { return uses_counter(o, counter); });
}

// Whether the loop's counter, or a break or continue of it, stands in the statements.
bool needs_loop(const Statements& statements, const Statement& loop) {
  const bool counts = loop.kind == Statement::Kind::loop || loop.kind == Statement::Kind::do_loop ||
                      loop.kind == Statement::Kind::uniform_loop;
  for (const Statement& s : statements) {
    if (s.kind == Statement::Kind::leave) return true;
    if (s.kind == Statement::Kind::next && counts) return true;
    for (const Expression& e : s.expressions)
      if (counts && uses_counter(e, loop.index)) return true;
    for (const Statements& body : s.bodies)
      if (needs_loop(body, loop)) return true;
  }
  return false;
}

class Shrinker {
 public:
  Shrinker(Kernel kernel, const Judge& judge, double seconds)
      : best_(std::move(kernel)),
        judge_(judge),
        end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(seconds))) {}

  Kernel run() {
    bool progress = true;
    while (progress && !out_of_time()) {
      progress = false;
      progress |= fewer_work_items();
      for (unsigned chunk = 16; chunk >= 1; chunk /= 2) progress |= fewer_statements(chunk);
      progress |= flatter();
      progress |= simpler_expressions();
      progress |= simpler_starts();
    }
    return std::move(best_);
  }

 private:
  static constexpr size_t kBatch = 16;

  bool out_of_time() const { return std::chrono::steady_clock::now() >= end_; }

  // The first of the candidates that still shows it becomes the best one; its number, or -1.
  int try_all(std::vector<Kernel>& candidates) {
    std::vector<const Kernel*> pointers;
    for (const Kernel& candidate : candidates) pointers.push_back(&candidate);
    const std::vector<bool> shows = candidates.empty() ? std::vector<bool>() : judge_(pointers);
    const auto first = std::find(shows.begin(), shows.end(), true);
    const int found = first == shows.end() ? -1 : int(first - shows.begin());
    if (found >= 0) best_ = std::move(candidates[size_t(found)]);
    candidates.clear();
    return found;
  }

  // `make` changes the copy it is given at a place, or returns false if there is nothing to change there.
  // After a success the same place is tried again, as something else stands there now.
  template <typename Make>
  bool try_places(unsigned places, Make make) {
    bool progress = false;
    for (unsigned place = 0; place < places && !out_of_time();) {
      std::vector<Kernel> candidates;
      std::vector<unsigned> from;
      unsigned next = place;
      for (; next < places && candidates.size() < kBatch; ++next) {
        Kernel copy = best_;
        if (!make(copy, next)) continue;
        candidates.push_back(std::move(copy));
        from.push_back(next);
      }
      const int found = try_all(candidates);
      place = found >= 0 ? from[size_t(found)] : next;
      progress |= found >= 0;
    }
    return progress;
  }

  bool fewer_work_items() {
    std::vector<Kernel> candidates;
    const auto add = [&](unsigned x, unsigned groups) {
      if (best_.local_x == x && best_.local_y == 1 && best_.groups == groups) return;
      if (x * groups > best_.local() * best_.groups || x > best_.local()) return;
      // What lanes exchange is defined for whole halves of a wave only.
      if (best_.local() % 32 == 0 && (x % 32 != 0 || (best_.local() % 64 == 0 && x % 64 != 0))) {
        bool exchanges = false;
        visit(
            best_,
            [&](Statements& list) {
              for (const Statement& s : list) exchanges |= s.kind == Statement::Kind::exchange;
            },
            [](Expression&) {});
        if (exchanges) return;
      }
      candidates.push_back(best_);
      candidates.back().local_x = x;
      candidates.back().local_y = 1;
      candidates.back().groups = groups;
    };
    for (const unsigned groups : {1u, best_.groups})
      for (const unsigned x : {1u, 2u, 32u, 33u, 64u, best_.local()}) add(x, groups);
    return try_all(candidates) >= 0;
  }

  bool fewer_statements(unsigned chunk) {
    unsigned places = 0;
    visit(
        best_, [&](Statements& list) { places += unsigned((list.size() + chunk - 1) / chunk); },
        [](Expression&) {});
    return try_places(places, [chunk](Kernel& copy, unsigned number) {
      unsigned at = 0;
      bool changed = false;
      visit(
          copy,
          [&](Statements& list) {
            const unsigned here = unsigned((list.size() + chunk - 1) / chunk);
            if (!changed && number >= at && number < at + here) {
              const size_t from = size_t(number - at) * chunk, to = std::min(list.size(), from + chunk);
              list.erase(list.begin() + long(from), list.begin() + long(to));
              changed = true;
            }
            at += here;
          },
          [](Expression&) {});
      return changed;
    });
  }

  // A branch becomes one of its sides, a loop one turn.
  bool flatter() {
    unsigned places = 0;
    visit(
        best_,
        [&](Statements& list) {
          for (const Statement& s : list) places += is_structure(s) ? unsigned(s.bodies.size()) : 0;
        },
        [](Expression&) {});
    return try_places(places, [](Kernel& copy, unsigned number) {
      unsigned at = 0;
      bool changed = false;
      visit(
          copy,
          [&](Statements& list) {
            for (size_t i = 0; i < list.size() && !changed; ++i) {
              if (!is_structure(list[i])) continue;
              const unsigned bodies = unsigned(list[i].bodies.size());
              if (number < at + bodies) {
                const bool leaves = list[i].kind != Statement::Kind::branch &&
                                    list[i].kind != Statement::Kind::uniform_branch;
                Statements body = std::move(list[i].bodies[number - at]);
                if (leaves && needs_loop(body, list[i])) {
                  at = ~0u;
                  return;
                }
                list.erase(list.begin() + long(i));
                list.insert(list.begin() + long(i), std::make_move_iterator(body.begin()),
                            std::make_move_iterator(body.end()));
                changed = true;
                return;
              }
              at += bodies;
            }
          },
          [](Expression&) {});
      return changed;
    });
  }

  static Expression constant(Type type, uint64_t value) {
    Expression result;
    result.type = type;
    result.lanes.fill(value);
    return result;
  }

  // An expression becomes 0 or 1, or one of its operands of the same type.
  bool simpler_expressions() {
    constexpr unsigned kWays = 5;
    unsigned places = 0;
    visit(best_, [](Statements&) {}, [&](Expression&) { places += kWays; });
    return try_places(places, [](Kernel& copy, unsigned number) {
      unsigned at = 0;
      bool changed = false;
      visit(
          copy, [](Statements&) {},
          [&](Expression& e) {
            if (!changed && number < at + kWays && number >= at) {
              const unsigned way = number - at;
              if (way < 3) {
                unsigned seen = 0;
                for (Expression& operand : e.operands)
                  if (operand.type == e.type && seen++ == way) {
                    Expression chosen = std::move(operand);
                    e = std::move(chosen);
                    changed = true;
                    break;
                  }
              } else {
                const uint64_t value = way == 3 ? 0 : 1;
                if (e.kind != Expression::Kind::constant || e.lanes[0] > 1) {
                  e = constant(e.type, value);
                  changed = true;
                }
              }
            }
            at += kWays;
          });
      return changed;
    });
  }

  // What nobody names goes, what is named starts as zero.
  bool simpler_starts() {
    std::vector<Kernel> candidates;
    bool progress = false;
    for (size_t i = 0; i < best_.variables.size() && !out_of_time(); ++i) {
      if (best_.variables[i].zero) continue;
      candidates.push_back(best_);
      candidates.back().variables[i].zero = true;
      progress |= try_all(candidates) >= 0;
    }
    for (size_t i = 0; i < best_.private_arrays.size(); ++i) {
      if (best_.private_arrays[i].zero) continue;
      candidates.push_back(best_);
      candidates.back().private_arrays[i].zero = true;
      progress |= try_all(candidates) >= 0;
    }
    for (size_t i = 0; i < best_.lds_arrays.size(); ++i) {
      if (best_.lds_arrays[i].zero) continue;
      candidates.push_back(best_);
      candidates.back().lds_arrays[i].zero = true;
      progress |= try_all(candidates) >= 0;
    }
    return progress;
  }

  Kernel best_;
  const Judge& judge_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace

Kernel shrink(Kernel kernel, const Judge& judge, double seconds) {
  return Shrinker(std::move(kernel), judge, seconds).run();
}

unsigned size(const Kernel& kernel) {
  Kernel copy = kernel;
  unsigned count = 0;
  visit(copy, [&](Statements& list) { count += unsigned(list.size()); }, [&](Expression&) { ++count; });
  return count;
}

}  // namespace lockstep::kernel_fuzz

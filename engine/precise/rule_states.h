// What the units of the rules can tell about what a wave does next depends on a few instructions before it:
// the same for most waves, and each time around a loop. So what they come to is worked out once for each way
// from one such state to the next, and found again by a look. Instructions that lead straight on are one way
// together.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/chunked_list.h"
#include "engine/precise/clause_rules.h"
#include "engine/precise/delay_hints.h"
#include "engine/precise/global_sync_rules.h"
#include "engine/precise/hazard_rules.h"
#include "engine/precise/program_rules.h"
#include "engine/precise/wait_rules.h"
#include "engine/precise/wave64_hazards.h"

namespace lockstep::precise {

// All that they remember, and which instruction came last: so that only those that may follow it lead on.
struct RuleState {
  const isa::Instruction* last = nullptr;
  DelayHintsState hints;
  WaitState waits;
  ClauseState clauses;
  GlobalSyncState sync;
  ProgramState program;
  HazardState hazards;
  Wave64State wave64;
  bool operator==(const RuleState&) const = default;
  size_t hash() const;
};

// Safe from several threads.
class RuleStates {
 public:
  struct Place;
  // An instruction, or the first of those that go straight on, that lead to another state where
  // `circumstances` of the wave are the same.
  struct Way {
    const isa::Instruction* instruction;
    unsigned circumstances;
    uint64_t until;  // where the first instruction stands that is none of these
    const Place* to;
    std::vector<ToldRule> told;  // each time
    const Way* next;
  };
  struct Place {
    const RuleState state;
    mutable std::atomic<const Way*> ways = nullptr;

    explicit Place(RuleState&& of) : state(std::move(of)) {}
    const Way* way_by(const isa::Instruction& instruction, unsigned circumstances) const {
      const Way* way = ways.load(std::memory_order_acquire);
      while (way && (way->instruction != &instruction || way->circumstances != circumstances))
        way = way->next;
      return way;
    }
  };

  RuleStates() : begin_(place_of({})) {}
  // Of a wave that has executed nothing.
  const Place* begin() const { return begin_; }
  // Null: there are too many, and this is none of them.
  const Place* place_of(RuleState&& state);
  void add(const Place& from, const isa::Instruction& instruction, unsigned circumstances, uint64_t until,
           const Place& to, const std::vector<ToldRule>& told);

 private:
  // About a kilobyte each.
  static constexpr size_t kMost = size_t{1} << 16;

  std::mutex mutex_;
  ChunkedList<Place> places_;
  ChunkedList<Way> ways_;
  std::unordered_multimap<size_t, const Place*> by_hash_;
  const Place* const begin_;
};

}  // namespace lockstep::precise

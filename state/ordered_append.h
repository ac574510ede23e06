// The turns of ds_ordered_count (guide 13.4.3): waves take them in the order of their creation, in whatever
// order they arrive.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "state/wave.h"

namespace lockstep {

class OrderedAppend {
 public:
  // The wave whose turn it is, as Wave::creation_index.
  uint64_t turn() const { return turn_; }
  bool is_turn_of(const Wave& wave) const { return wave.creation_index == turn_; }
  bool is_waiting(const Wave& wave) const {
    const auto found = waiting_.find(wave.creation_index);
    return found != waiting_.end() && found->second == &wave;
  }
  // The wave has arrived too early.
  void enqueue(Wave& wave) { waiting_[wave.creation_index] = &wave; }
  // The turn goes to the next wave; if that one waits, it is appended to `released`.
  void pass(std::vector<Wave*>& released) {
    const auto next = waiting_.find(++turn_);
    if (next == waiting_.end()) return;
    released.push_back(next->second);
    waiting_.erase(next);
  }
  void forget(const Wave& wave) { waiting_.erase(wave.creation_index); }

 private:
  uint64_t turn_ = 0;
  std::map<uint64_t, Wave*> waiting_;
};

}  // namespace lockstep

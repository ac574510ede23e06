// Blocks that an analysis has to look at again. Taking the latest first follows a change along the control
// flow, so that the order of blocks in memory does not matter.
#pragma once

#include <vector>

namespace lockstep::translator {

class Worklist {
 public:
  explicit Worklist(size_t blocks) : waits_(blocks) {}
  void add(unsigned block) {
    if (waits_[block]) return;
    waits_[block] = true;
    pending_.push_back(block);
  }
  bool empty() const { return pending_.empty(); }
  unsigned take() {
    const unsigned block = pending_.back();
    pending_.pop_back();
    waits_[block] = false;
    return block;
  }

 private:
  std::vector<bool> waits_;
  std::vector<unsigned> pending_;
};

}  // namespace lockstep::translator

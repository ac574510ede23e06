// malloc() and free() of AMD's device libraries, by the symbols of their functions. Memory changes hands
// there by atomics that neither wait for stores nor invalidate caches, and heads of slabs are read as they
// come: orders that hold on the card and in no memory model. None of it is the program's affair: what the
// allocator does itself is not followed, and memory that it hands out is new.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/listener.h"
#include "observe/code_symbols.h"

namespace lockstep::observe {

class DeviceHeap {
 public:
  struct Block {
    uint64_t begin = 0, bytes = 0;
  };

  explicit DeviceHeap(FindFunction find) : find_(std::move(find)) {}

  // A dispatch of the code at `entry` begins.
  void looks_at(uint64_t entry);
  // Nothing runs any more: code may come to stand where other code was.
  void forget_all() { functions_.clear(), asked_.clear(); }
  // Whether the code there is the allocator's own.
  bool owns(uint64_t pc) const {
    return !functions_.empty() &&
           std::any_of(functions_.begin(), functions_.end(), [&](const Functions& each) {
             return each.allocate.contains(pc) || each.free.contains(pc) || each.initialise.contains(pc);
           });
  }
  // Of an instruction of the allocator: the blocks that it hands out with it, when it returns.
  std::vector<Block> handed_out(const Event& event);

 private:
  struct Functions {
    CodeSpan allocate, free, initialise;
  };
  static constexpr unsigned kMostLanes = 64;

  FindFunction find_;
  std::vector<Functions> functions_;  // of each code object that has any
  // What the lanes of a wave have asked for, from the call until it returns.
  std::unordered_map<const Wave*, std::array<uint64_t, kMostLanes>> asked_;
};

}  // namespace lockstep::observe

#include "engine/translator/loop_parts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::translator {
namespace {

// Strongly connected parts, by Tarjan's algorithm.
class Parts {
 public:
  Parts(const Routine& routine, const std::set<unsigned>& blocks) : routine_(routine), blocks_(blocks) {
    for (unsigned b : blocks)
      if (!number_.contains(b)) visit(b);
  }
  const std::vector<std::set<unsigned>>& parts() const { return parts_; }

 private:
  struct Frame {
    unsigned block, next_successor = 0;
  };
  void visit(unsigned root) {
    std::vector<Frame> frames{begin(root)};
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const unsigned b = frame.block;
      if (frame.next_successor < 2) {
        const Block& block = routine_.blocks[b];
        const int to = frame.next_successor++ == 0 ? block.taken : block.next;
        if (to < 0 || !blocks_.contains(static_cast<unsigned>(to))) continue;
        const auto successor = static_cast<unsigned>(to);
        if (!number_.contains(successor))
          frames.push_back(begin(successor));
        else if (on_stack_.contains(successor))
          lowest_[b] = std::min(lowest_[b], number_[successor]);
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) {
        const unsigned above = frames.back().block;
        lowest_[above] = std::min(lowest_[above], lowest_[b]);
      }
      if (lowest_[b] != number_[b]) continue;
      std::set<unsigned> part;
      for (unsigned last = b + 1; last != b;) {
        last = stack_.back();
        stack_.pop_back();
        on_stack_.erase(last);
        part.insert(last);
      }
      if (part.size() > 1) parts_.push_back(std::move(part));
    }
  }
  Frame begin(unsigned block) {
    number_[block] = lowest_[block] = static_cast<unsigned>(number_.size());
    stack_.push_back(block);
    on_stack_.insert(block);
    return {block};
  }

  const Routine& routine_;
  const std::set<unsigned>& blocks_;
  std::map<unsigned, unsigned> number_, lowest_;
  std::vector<unsigned> stack_;
  std::set<unsigned> on_stack_;
  std::vector<std::set<unsigned>> parts_;
};

}  // namespace

std::set<unsigned> all_blocks(const Routine& routine) {
  std::set<unsigned> blocks;
  for (unsigned b = 0; b < routine.blocks.size(); ++b) blocks.insert(b);
  return blocks;
}

std::vector<std::set<unsigned>> loop_parts(const Routine& routine, const std::set<unsigned>& blocks) {
  return Parts(routine, blocks).parts();
}

std::optional<unsigned> header_of_part(const Routine& routine, const std::set<unsigned>& part) {
  std::optional<unsigned> header;
  const auto enters = [&](unsigned from, int to) {
    if (to < 0 || part.contains(from) || !part.contains(static_cast<unsigned>(to))) return true;
    if (header && *header != static_cast<unsigned>(to)) return false;
    header = static_cast<unsigned>(to);
    return true;
  };
  for (unsigned b = 0; b < routine.blocks.size(); ++b) {
    const Block& block = routine.blocks[b];
    if (!enters(b, block.taken) || !enters(b, block.next)) return std::nullopt;
    for (unsigned to : block.jumps)
      if (part.contains(to)) return std::nullopt;
  }
  return header;
}

}  // namespace lockstep::translator

// What registers hold in the lanes of a chunk, as far as the code tells: a number that is the same in all
// lanes and a constant for each. Addresses of butterflies and of sorting networks are such: sums, shifts and
// masks of a work-item id whose lowest four bits are the lane.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "engine/translator/classify.h"
#include "engine/translator/registers.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

using OffsetsOfLanes = std::array<uint32_t, 16>;

struct LaneOffsets {
  OffsetsOfLanes offsets{};
  unsigned zeros = 0;                // so many of the lowest bits of the number are 0
  std::optional<uint32_t> constant;  // the number, with offsets of 0

  bool operator==(const LaneOffsets&) const = default;
};

// Follows them through a block. Guesses: they rest on work-groups whose rows are multiples of 16 items, and
// on all lanes being on.
class LaneOffsetState {
 public:
  void set_work_item_ids();
  void step(const Node& node, const RegisterSet& changed);
  const LaneOffsets* find(unsigned vgpr) const;
  // Keeps what both know. Whether something was forgotten.
  bool join(const LaneOffsetState& other);

 private:
  std::optional<LaneOffsets> result_of(const isa::Instruction& instruction, const Half& half) const;
  std::optional<LaneOffsets> source(const isa::Operand& operand, const isa::Instruction& instruction) const;

  std::map<unsigned, LaneOffsets> known_;
};

}  // namespace lockstep::translator

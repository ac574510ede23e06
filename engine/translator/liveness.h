// Which registers matter where, which VGPR writes must keep the lanes that are off, and which registers
// translated code holds itself at a block's entry.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/translator/effects.h"
#include "engine/translator/lane_offsets.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Two questions about a VGPR: are its values in the lanes that are on now read later (`on`)? And those in
// lanes that are off now, because EXEC may have grown before the read (`off`)? A write under EXEC has to
// preserve the lanes that are off only if the second answer is yes. Scalars: only `on`.
struct LiveSets {
  RegisterSet on, off;
  RegisterSet all() const { return on | off; }
};

// By VGPR: what its value grows by from lane to lane of a chunk. Of the others nothing is known.
using Strides = std::map<unsigned, int32_t>;

// Whether a GLOBAL or FLAT access is a call as a whole (called_accesses.h): never, where the first version of
// its block (emit_regular.cpp) does not make it, or always.
enum class AccessCall : uint8_t { never, where_irregular, always };

struct NodeFacts {
  Effects effects;
  RegisterSet merged;   // VGPRs whose lanes that are off this write must keep
  LiveSets live;        // before the instruction
  bool all_on = false;  // EXEC is what the wave was launched with, and other lanes never come on
  // LDS: likely from one lane's address to the next one's, where moves can be made of that.
  std::optional<uint32_t> lds_stride;
  // LDS: likely from the lowest address to that of each lane.
  std::optional<OffsetsOfLanes> lds_offsets;
  bool address_is_loaded = false;  // GLOBAL: from what memory holds for each lane
  AccessCall access_call = AccessCall::never;
  uint8_t unused_words = 0;  // scratch stores: by bits, words that nobody reads, and so are not stored
};

struct BlockFacts {
  LiveSets live_in;
  RegisterSet held;   // at entry, in host registers; all others are in the Wave
  RegisterSet dirty;  // of these, the ones that may differ from the Wave
  Strides strides;    // at entry, likely
};

struct Facts {
  std::vector<NodeFacts> nodes;
  RegisterSet merged;  // of any node
  std::vector<BlockFacts> blocks;
};

Facts analyse(const Routine& routine);
// Registers go to the Wave where control leaves the function, and before calls and steps: whether it has none
// of these, and is one function.
bool stores_registers_at_exits_only(const Routine& routine);
// Whether something may read scratch, at a place that is known or anywhere: control may go to where all of it
// is read.
bool reads_scratch(const Node& node);
// Behind the last instruction of the block: what its successors need.
LiveSets live_out(const Block& block, const Facts& facts);

}  // namespace lockstep::translator

#include "engine/translator/translation.h"

#include <algorithm>
#include <map>

#include "engine/translator/emitter.h"
#include "engine/translator/large_stack.h"

namespace lockstep::translator {

std::vector<Object> translate(const Routine& routine, const IsCancelled& is_cancelled) {
  std::vector<Object> objects;
  on_large_stack([&] {
    const Facts facts = analyse(routine);
    for (unsigned piece = 0; piece < routine.pieces.size(); ++piece) {
      if (is_cancelled && is_cancelled()) throw Cancelled();
      objects.push_back(generate(routine, facts, piece, objects.empty() ? 0 : objects.back().next_slot));
    }
  });
  return objects;
}

namespace {

// Loads may come out of a cache whose lines stay as they are (guide 4.1, 13.2): who waits for another group
// loads past it, exchanges, invalidates caches, or sleeps.
bool may_await_groups(const Node& node) {
  switch (node.kind) {
    case NodeKind::call:
    case NodeKind::jump:
    case NodeKind::step:
    case NodeKind::outside:
      return true;
    case NodeKind::nothing:
      return node.instruction.row->encoding == isa::Encoding::mubuf ||
             node.instruction.row->encoding == isa::Encoding::smem;
    default:
      return node.instruction.glc || node.instruction.slc || node.instruction.dlc;
  }
}

}  // namespace

Translation::Translation(const Routine& routine, std::vector<Object> objects)
    : float_mode_(routine.float_mode),
      changes_mode_(routine.changes_mode),
      selects_nans_(routine.selects_nans),
      interpreted_(routine.interpreted) {
  const Facts facts = analyse(routine);
  const RegisterSet read = facts.blocks[routine.entry_block].live_in.all();
  for (unsigned r = 0; r < std::min(kVgprs, routine.vgpr_count); ++r)
    if (read[r]) launch_needs_.vgprs.push_back(r);
  for (unsigned code = 0; code < launch_needs_.scalars.size(); ++code)
    launch_needs_.scalars[code] =
        read[scalar_register(code)] && code != isa::code::kExecLo && code != isa::code::kExecHi;
  launch_needs_.registers_stay = stores_registers_at_exits_only(routine);
  // At barriers what is needed behind them.
  RegisterSet written, stored;
  for (const NodeFacts& node : facts.nodes) written |= node.effects.writes;
  for (const Block& block : routine.blocks)
    if (routine.nodes[block.last - 1].kind == NodeKind::barrier && block.next >= 0)
      stored |= facts.blocks[static_cast<unsigned>(block.next)].live_in.all();
  stored &= written;
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!stored[r]) continue;
    if (r == kExec || r == kExec + 1)
      launch_needs_.changes_exec = true;
    else if (read[r])
      (is_vgpr(r) ? launch_needs_.changes_vgprs : launch_needs_.changes_scalars) = true;
  }
  launch_needs_.has_rows = launch_needs_.registers_stay && !routine.has_barriers();
  const bool has_row = has_row_function(routine, facts);
  launch_needs_.go_side_by_side = has_row && goes_side_by_side(routine, facts);
  launch_needs_.wait_for_no_group = std::ranges::none_of(routine.nodes, may_await_groups);
  std::map<int64_t, Entry> entries;
  for (unsigned piece = 0; piece < routine.pieces.size(); ++piece) {
    Object& object = objects[piece];
    const auto& code = code_.emplace_back(std::make_unique<LoadedCode>(object));
    const auto function = reinterpret_cast<TranslatedFunction>(code->address());
    if (has_row) row_function_ = reinterpret_cast<RowFunction>(code->address(kRowFunctionName));
    uint32_t number = 0;
    for (unsigned block : entry_blocks(routine, piece))
      entries[routine.blocks[block].offset] = {function, number++,
                                               routine.nodes[routine.blocks[block].first].float_mode};
    memory_slots_ = object.next_slot;
    code_bytes_ += object.code_bytes;
    stages_ += object.stages;
    object = {};
  }
  for (const Node& node : routine.nodes) {
    if (node.kind != NodeKind::step && node.kind != NodeKind::call && node.kind != NodeKind::outside) {
      ++instructions_;
      continue;
    }
    has_calls_ |= node.kind == NodeKind::call;
    // There is nothing to load before a step, or outside.
    if (node.kind != NodeKind::call) entries.erase(node.offset);
    if (node.kind == NodeKind::step)
      entries[node.offset] = {.float_mode = node.float_mode, .interpreted = node.interpreted};
  }
  if (!entries.empty()) {
    first_offset_ = entries.begin()->first;
    entry_numbers_.resize(static_cast<size_t>(entries.rbegin()->first - first_offset_) / 4 + 1);
    for (const auto& [offset, entry] : entries) {
      entries_.push_back(entry);
      entry_numbers_[static_cast<size_t>(offset - first_offset_) / 4] =
          static_cast<uint32_t>(entries_.size());
    }
  }
  const Entry* const first = entry_at(0);
  launch_needs_.has_rows &= first && first->function;
}

}  // namespace lockstep::translator

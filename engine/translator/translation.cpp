#include "engine/translator/translation.h"

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

Translation::Translation(const Routine& routine, std::vector<Object> objects)
    : changes_mode_(routine.changes_mode) {
  for (unsigned piece = 0; piece < routine.pieces.size(); ++piece) {
    Object& object = objects[piece];
    const auto& code = code_.emplace_back(std::make_unique<LoadedCode>(object));
    const auto function = reinterpret_cast<TranslatedFunction>(code->address());
    uint32_t number = 0;
    for (unsigned block : entry_blocks(routine, piece))
      entries_[routine.blocks[block].offset] = {function, number++};
    memory_slots_ = object.next_slot;
    code_bytes_ += object.code_bytes;
    stages_ += object.stages;
    object = {};
  }
  std::map<std::string, InterpretedInstruction> interpreted;
  for (const Node& node : routine.nodes) {
    if (node.kind != NodeKind::step && node.kind != NodeKind::call && node.kind != NodeKind::outside) {
      ++instructions_;
      continue;
    }
    // There is nothing to load before a step, or outside.
    if (node.kind != NodeKind::call) entries_.erase(node.offset);
    if (node.kind == NodeKind::step) entries_[node.offset] = {};
    const std::string name(node.kind == NodeKind::outside ? std::string_view() : node.instruction.row->name);
    auto [entry, is_new] = interpreted.try_emplace(name, InterpretedInstruction{name, node.reason, 0});
    ++entry->second.count;
  }
  for (auto& [name, entry] : interpreted) interpreted_.push_back(std::move(entry));
}

}  // namespace lockstep::translator

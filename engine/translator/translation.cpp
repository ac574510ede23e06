#include "engine/translator/translation.h"

#include <mutex>

#include "engine/translator/emitter.h"

namespace lockstep::translator {

Translation::Translation(const Routine& routine)
    : object_(generate(routine)), instructions_(routine.nodes.size()), code_(object_) {
  function_ = reinterpret_cast<TranslatedFunction>(code_.address());
  int number = 0;
  for (unsigned block : entry_blocks(routine)) entries_[routine.blocks[block].offset] = number++;
  object_.bytes.clear();
}

std::shared_ptr<const Translation> translation_of(const Routine& routine, bool& reused) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<const Translation>> cache;
  std::lock_guard lock(mutex);
  std::shared_ptr<const Translation>& translation = cache[routine.key];
  reused = translation != nullptr;
  if (!translation) translation = std::make_shared<Translation>(routine);
  return translation;
}

}  // namespace lockstep::translator

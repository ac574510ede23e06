#include "engine/interpreter/handlers.h"

namespace lockstep::interpreter {

void PairHandlers::add(Handler first, Handler second, unsigned sources, unsigned forwarded, Handler both) {
  OfTwo& of_two = of_[{first, second}];
  of_two.sources = sources;
  of_two.by_forwarded[forwarded] = both;
  first_of_[both] = first;
}

Handler PairHandlers::of(Handler first, const Operation& operation, Handler second,
                         const Operation& behind) const {
  const auto pair = first_of_.find(second);
  const auto of_two = of_.find({first, pair == first_of_.end() ? second : pair->second});
  if (of_two == of_.end()) return nullptr;
  unsigned forwarded = 0;
  for (unsigned i = 0; i < 3; ++i)
    if (behind.source[i] == operation.dst) forwarded |= 1u << i;
  return of_two->second.by_forwarded[forwarded & of_two->second.sources];
}

}  // namespace lockstep::interpreter

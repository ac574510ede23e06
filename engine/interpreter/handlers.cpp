#include "engine/interpreter/handlers.h"

namespace lockstep::interpreter {

void PairHandlers::add(Handler first, Handler second, unsigned sources, unsigned forwarded, Handler both) {
  OfTwo& of_two = of_[{first, second}];
  of_two.sources = sources;
  of_two.by_forwarded[forwarded] = both;
  first_of_[both] = first;
}

void PairHandlers::add_with_carry(Handler first, Handler second, unsigned sources, Handler both) {
  add(first, second, sources, 0, both);
  of_[{first, second}].carries = true;
}

namespace {

// Operation::dst2 and the third source are the masks.
bool passes_carry_on(const Operation& operation, const Operation& behind) {
  if (behind.source[2] != operation.dst2 || behind.dst2 != operation.dst2) return false;
  for (unsigned i = 0; i < 2; ++i)
    if (source_flags(&behind, i) & kScalarSource && behind.source[i] == operation.dst2) return false;
  return true;
}

}  // namespace

Handler PairHandlers::of(Handler first, const Operation& operation, Handler second,
                         const Operation& behind) const {
  const auto pair = first_of_.find(second);
  const auto of_two = of_.find({first, pair == first_of_.end() ? second : pair->second});
  if (of_two == of_.end()) return nullptr;
  if (of_two->second.carries && !passes_carry_on(operation, behind)) return nullptr;
  unsigned forwarded = 0;
  for (unsigned i = 0; i < 3; ++i)
    if (behind.source[i] == operation.dst) forwarded |= 1u << i;
  return of_two->second.by_forwarded[forwarded & of_two->second.sources];
}

}  // namespace lockstep::interpreter

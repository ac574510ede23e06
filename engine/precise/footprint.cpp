#include "engine/precise/footprint.h"

#include <algorithm>

namespace lockstep::precise {

void Footprint::settle() {
  std::sort(spans_.begin(), spans_.end());
  size_t kept = 0;
  for (const auto& span : spans_) {
    if (kept != 0 && span.first <= spans_[kept - 1].second)
      spans_[kept - 1].second = std::max(spans_[kept - 1].second, span.second);
    else
      spans_[kept++] = span;
  }
  spans_.resize(kept);
}

bool Footprint::overlaps(const Footprint& other) const {
  auto a = spans_.begin(), b = other.spans_.begin();
  while (a != spans_.end() && b != other.spans_.end()) {
    if (a->first < b->second && b->first < a->second) return true;
    if (a->second < b->second)
      ++a;
    else
      ++b;
  }
  return false;
}

}  // namespace lockstep::precise

#include "engine/accesses.h"

namespace lockstep {

void Accesses::make_list() const {
  is_listed_ = true;
  list_.resize(alike_.count());
  MemoryAccess* to = list_.data();
  for (uint64_t left = alike_.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    for (unsigned i = 0; i < alike_.each; ++i, ++to)
      *to = {alike_.address(lane, i),
             alike_.bytes,
             static_cast<int16_t>(lane),
             alike_.space,
             Reach::inside,
             alike_.reads,
             alike_.writes};
  }
}

}  // namespace lockstep

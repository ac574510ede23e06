#include "machine/start_order.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace lockstep::machine {

StartOrder::StartOrder(const precise::Settings& settings, uint64_t groups, uint32_t window)
    : order_(settings.order),
      seed_(settings.order_seed),
      groups_(groups),
      window_(std::max(window, 1u)),
      random_(settings.order_seed) {}

int64_t StartOrder::draw_turn(precise::Random& random, int64_t most) {
  if (most <= 1) return most;
  const auto bits = static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(most - 1)));
  return 1 + static_cast<int64_t>(random.below(uint64_t{1} << random.below(bits + 1))) % most;
}

uint64_t StartOrder::moved(uint64_t position) {
  const uint64_t from = position - position % window_;
  const uint64_t size = std::min(window_, groups_ - from);
  if (order_ == precise::Order::backward) return from + size - 1 - (position - from);
  if (shuffled_.empty() || shuffled_from_ != from) {
    // Not of `random_`, which other draws move on.
    precise::Random random(seed_ ^ precise::Random(from + 1).next());
    shuffled_.resize(size);
    std::iota(shuffled_.begin(), shuffled_.end(), 0u);
    for (uint64_t left = size; left > 1; --left)
      std::swap(shuffled_[left - 1], shuffled_[random.below(left)]);
    shuffled_from_ = from;
  }
  return from + shuffled_[position - from];
}

}  // namespace lockstep::machine

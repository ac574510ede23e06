// Which work-group of a dispatch is started at which point, where that is not the order of their ids.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/precise/random.h"
#include "engine/precise/settings.h"

namespace lockstep::machine {

class StartOrder {
 public:
  // Of so many groups, of which `window` are resident at a time. Within each so many the order is as asked;
  // these follow each other forward, since kernels are known whose groups wait for earlier ones: they would
  // wait for ever if all places were taken by later ones.
  StartOrder(const precise::Settings& settings, uint64_t groups, uint32_t window);

  // Of the group that is started behind `position` others: x fastest.
  uint64_t group_at(uint64_t position) {
    return order_ == precise::Order::forward ? position : moved(position);
  }
  bool is_random() const { return order_ == precise::Order::random; }
  // Of that order: below `count`, which is not 0.
  uint64_t draw(uint64_t count) { return random_.below(count); }
  // Wave-instructions of a turn of at most so many: one as likely as some, or as very many.
  int64_t draw_turn(int64_t most) { return draw_turn(random_, most); }
  static int64_t draw_turn(precise::Random& random, int64_t most);

 private:
  uint64_t moved(uint64_t position);

  const precise::Order order_;
  const uint64_t seed_, groups_, window_;
  precise::Random random_;
  // Of random order: what each position of the window from `shuffled_from_` on has, from there on.
  std::vector<uint32_t> shuffled_;
  uint64_t shuffled_from_ = 0;
};

}  // namespace lockstep::machine

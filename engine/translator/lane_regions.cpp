#include "engine/translator/lane_regions.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/translator/lane_follower.h"
#include "engine/translator/launch_lanes.h"
#include "engine/translator/worklist.h"

namespace lockstep::translator {
namespace {

// Instructions that are looked at for all regions together, for each of the routine.
constexpr size_t kMostLooks = 60;

class Search {
 public:
  Search(const Routine& routine, const std::vector<const Effects*>& effects)
      : routine_(routine),
        effects_(effects),
        follower_(routine.wave_size),
        comes_from_(blocks_before(routine)),
        looks_left_(kMostLooks * routine.nodes.size()) {}

  struct Place {
    unsigned node;
    bool all_on;
  };
  // Of the region that begins with `first` in the block; none where nothing comes on again in it, which
  // would say nothing that is not known without.
  std::vector<Place> find(unsigned block, unsigned first) {
    std::set<unsigned> others;  // blocks that control comes to from elsewhere, too
    while (follow(block, first, others)) {
      const size_t before = others.size();
      for (const auto& [b, state] : entry_)
        for (unsigned from : comes_from_[b])
          if (!leads_on_.contains(from)) others.insert(b);
      if (others.size() == before) return places(block, first);
    }
    return {};
  }

 private:
  // Up to where control leaves the region. False if that takes too long.
  bool follow(unsigned block, unsigned first, const std::set<unsigned>& others) {
    entry_.clear();
    leads_on_.clear();
    Worklist work(routine_.blocks.size());
    const auto go_from = [&](unsigned b, unsigned n, LaneFollower::State state) {
      for (; n < routine_.blocks[b].last; ++n) {
        if (!follower_.is_inside(state)) break;
        if (looks_left_ == 0) return false;
        --looks_left_;
        follower_.step(routine_.nodes[n], *effects_[n], state);
      }
      leads_on_.erase(b);
      if (!follower_.is_inside(state)) return true;
      leads_on_.insert(b);
      for (int to : {routine_.blocks[b].taken, routine_.blocks[b].next}) {
        if (to < 0) continue;
        const auto successor = static_cast<unsigned>(to);
        if (successor != block && !others.contains(successor) && entry_[successor].join(state))
          work.add(successor);
      }
      return true;
    };
    if (!go_from(block, first, follower_.at_begin())) return false;
    while (!work.empty()) {
      const unsigned b = work.take();
      if (!go_from(b, routine_.blocks[b].first, entry_[b])) return false;
    }
    return true;
  }

  std::vector<Place> places(unsigned block, unsigned first) const {
    std::vector<Place> result;
    bool comes_on_again = false;
    const auto look_from = [&](unsigned b, unsigned n, LaneFollower::State state) {
      for (; n < routine_.blocks[b].last && follower_.is_inside(state); ++n) {
        result.push_back({n, follower_.all_on(state)});
        follower_.step(routine_.nodes[n], *effects_[n], state);
        comes_on_again |= turns_lanes_on(effects_[n]->exec) && follower_.is_inside(state);
      }
    };
    look_from(block, first, follower_.at_begin());
    for (const auto& [b, state] : entry_) look_from(b, routine_.blocks[b].first, state);
    if (!comes_on_again) result.clear();
    return result;
  }

  const Routine& routine_;
  const std::vector<const Effects*>& effects_;
  const LaneFollower follower_;
  const std::vector<std::vector<unsigned>> comes_from_;
  size_t looks_left_;
  std::map<unsigned, LaneFollower::State> entry_;  // of the region's blocks but the first
  std::set<unsigned> leads_on_;                    // blocks at whose end it goes on
};

}  // namespace

LaneRegions::LaneRegions(const Routine& routine, const std::vector<const Effects*>& effects)
    : at_(routine.nodes.size()) {
  // Where waves may come from code that is not known here, what they did there is not known either.
  const LaunchLanes launch = find_launch_lanes(routine);
  if (launch.all_on.empty()) return;
  for (unsigned n = 0; n < routine.nodes.size(); ++n) at_[n].push_back({0, launch.all_on[n]});
  unsigned region = 0;
  Search search(routine, effects);
  for (unsigned b = 0; b < routine.blocks.size(); ++b)
    for (unsigned n = routine.blocks[b].first; n + 1 < routine.blocks[b].last; ++n) {
      const ExecChange change = effects[n]->exec;
      if (change == ExecChange::none || change == ExecChange::grows) continue;
      const auto places = search.find(b, n + 1);
      if (places.empty()) continue;
      ++region;
      for (const auto& [node, all_on] : places) at_[node].push_back({region, all_on});
    }
}

bool LaneRegions::is_in(unsigned node, unsigned region) const {
  return std::ranges::any_of(at_[node], [&](const InRegion& each) { return each.region == region; });
}

}  // namespace lockstep::translator

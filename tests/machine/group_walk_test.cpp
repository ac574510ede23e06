// Places of groups one after the other, against those that are computed of their numbers.
#include <gtest/gtest.h>

#include <array>
#include <tuple>

#include "machine/group_context.h"

namespace lockstep::machine {
namespace {

auto fields_of(const GroupPlace& place) {
  return std::tuple(std::to_array(place.id), std::to_array(place.size), place.items, place.waves);
}

Launch launch_of(std::array<uint32_t, 3> grid, std::array<uint32_t, 3> group, unsigned wave_size) {
  Launch launch;
  launch.wave_size = wave_size;
  launch.grid = grid;
  launch.group = group;
  return launch;
}

uint64_t groups_of(const Launch& launch) {
  return uint64_t{groups_along(launch, 0)} * groups_along(launch, 1) * groups_along(launch, 2);
}

// Whole rows, rows with a partial last group, rows of a partial group only; partial ones along y and z, too.
const Launch kLaunches[] = {
    launch_of({64, 1, 1}, {64, 1, 1}, 32),  launch_of({640, 1, 1}, {64, 1, 1}, 32),
    launch_of({650, 3, 2}, {64, 1, 1}, 64), launch_of({17, 5, 3}, {32, 2, 2}, 32),
    launch_of({96, 9, 7}, {32, 4, 2}, 64),  launch_of({97, 8, 4}, {32, 4, 2}, 32),
    launch_of({1, 7, 9}, {1, 2, 4}, 32),    launch_of({5, 1, 33}, {2, 1, 32}, 32),
};

TEST(GroupWalk, GoesWhereGroupsAre) {
  for (const Launch& launch : kLaunches)
    for (const uint64_t first : {uint64_t{0}, groups_of(launch) / 2, groups_of(launch) - 1}) {
      GroupWalk walk(launch, first);
      for (uint64_t number = first; number < groups_of(launch); ++number, walk.advance())
        EXPECT_EQ(fields_of(walk.place()), fields_of(place_of(launch, number)))
            << launch.grid[0] << " by " << launch.grid[1] << ", group " << number;
    }
}

TEST(GroupWalk, GroupsOfARowAreAlike) {
  for (const Launch& launch : kLaunches)
    for (const uint32_t most : {1u, 3u, 1000u}) {
      uint64_t number = 0;
      for (GroupWalk walk(launch, 0); number < groups_of(launch);) {
        const uint32_t count = std::min(walk.alike_in_row(), most);
        for (uint32_t i = 0; i < count; ++i) {
          const GroupPlace place = place_of(launch, number + i);
          EXPECT_EQ(place.waves, walk.place().waves);
          EXPECT_EQ(place.id[0], walk.place().id[0] + i);
          EXPECT_EQ(place.id[1], walk.place().id[1]);
        }
        number += count;
        walk.advance_in_row(count);
      }
      EXPECT_EQ(number, groups_of(launch));
    }
}

}  // namespace
}  // namespace lockstep::machine

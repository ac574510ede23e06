// What an engine knows of the code that waves are launched for, so that launching them is not more work than
// running them.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

struct Wave;

// Work-groups of one row of the grid, one after the other, that are alike but for the x of their ids; all of
// their waves or some.
// Whoever runs them counts here: what it says must hold when it is left in the middle of a wave, too.
struct GroupRow {
  Wave* const* waves = nullptr;            // of one group, as it was launched
  uint32_t first_wave = 0, last_wave = 0;  // to run of each group; the latter is behind them
  // All waves are full, and so many lanes of them, from each multiple of that number on, have a v0 that
  // counts up; 0: they are not.
  uint32_t counting_lanes = 0;
  bool is_one_row = false;  // v0 counts up from 0 through all waves
  uint32_t x_offset = 0;    // in Wave: of the scalar register with the x of the work-group id
  uint32_t x = 0, end = 0;  // of the group in work; of the one behind the last
  uint32_t wave = 0;        // in work
  int64_t turn = 0;         // that each wave has
  // Wave-instructions of waves that have ended. No group is begun after so many.
  uint64_t executed = 0, most = 0;
};

struct LaunchNeeds {
  // VGPRs that a wave may read before it has written them: no others need be zero at launch.
  std::vector<unsigned> vgprs;
  // Scalar registers likewise, but for EXEC.
  std::bitset<128> scalars;
  // A wave that leaves translated code nowhere but at barriers and its end has only changed what is told next
  // of these registers, and of EXEC.
  bool registers_stay = false;
  bool changes_vgprs = false, changes_scalars = false, changes_exec = false;
  // LaunchAdviser::run_row() is there.
  bool has_rows = false;
  // Of rows: waves execute nothing twice, so that none is long or waits for another one, and access memory
  // where they have their work-items.
  bool go_side_by_side = false;
  // Waves never look twice at memory that other groups change meanwhile, so that they wait for none.
  bool wait_for_no_group = false;
};

// Beside Engine, of engines that know it.
class LaunchAdviser {
 public:
  // Of waves with this MODE, which start at the entry of the engine's kernel. Null while anything may be
  // read.
  virtual const LaunchNeeds* launch_needs(uint32_t mode) const = 0;
  // While launch_needs() says something: gives these waves a turn each, in order, from `next` on, and counts
  // it on; those that have ended or are at a barrier need none. Stops before a wave that needs more than
  // translated code, which may have begun its turn. Adds what was executed.
  virtual void run_turns(std::span<Wave* const> waves, int64_t turn, size_t& next, uint64_t& executed) = 0;

  // Runs groups of which no wave waits or stays behind; the row says where it stopped. At a wave that did not
  // come to its end in translated code this one is as run_turns() leaves it; of the others nothing has
  // changed.
  virtual void run_row(GroupRow& row) = 0;

 protected:
  ~LaunchAdviser() = default;
};

}  // namespace lockstep

// Doubt about float results is settled at the end of a run (emit_run.cpp), or where a lane has gone through
// all rounds of a loop (lane_by_lane.h). Most checks are implied by later ones.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>

namespace lockstep::translator {

// Says of a comparison that it settles doubt behind a loop, whose rounds have added to it.
void mark_doubt_of_rounds(llvm::Instruction& settlement);

// Drops the NaN checks of values from which another checked value is computed by operations that pass NaNs
// on. To be called when bodies are inlined and memory is promoted to values.
void drop_implied_checks(llvm::Function& function);

// Doubt that is summed up over the rounds of a loop: where a NaN of one round is in what the next one checks,
// the last round's is enough.
void check_last_rounds(llvm::Function& function);

// Behind that: doubt, which bodies collect as lanes of -1 and 0, stays the mask that a comparison made it of,
// where nobody asks but whether there is any. For hosts that have registers for masks.
void keep_doubt_as_masks(llvm::Function& function);

// Where hosts have none, and doubt stays lanes: two numbers are compared at once there, too.
void check_lanes_in_pairs(llvm::Function& function);

}  // namespace lockstep::translator

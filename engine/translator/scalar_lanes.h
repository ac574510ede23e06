// Bodies compute chunks of 16 lanes. Where code needs one lane alone, it computes with element 0 of these and
// bit 0 of masks, and marks what it takes out of them: of that plain numbers are made, with no more work than
// one lane has.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Of an element that was extracted from a chunk, or a mask cut to its lowest bit.
void mark_scalar_lane(llvm::Value* value);
// Whether there was anything to do.
bool make_lanes_scalar(llvm::Function& function);
// Of a body (body_abi.h) whose arguments are the same in all lanes, which then is true of all that it
// computes: one lane's work is left, and what it stores has that in all lanes.
void compute_one_lane(llvm::Function& body);

}  // namespace lockstep::translator

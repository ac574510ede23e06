// Gathers and scatters of a chunk on hosts that have none under a mask, or none that are quick.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>

#include <array>

namespace lockstep::translator {

// Of the bits of a number, i16, <16 x i32> of ones or zeros.
llvm::Value* lanes_as_words(llvm::IRBuilder<>& ir, llvm::Value* bits);

// Each of <16 x i32>, as i32. LLVM knows nothing of them, whatever it will know of all lanes.
std::array<llvm::Value*, 16> offsets_of_lanes(llvm::IRBuilder<>& ir, llvm::Value* offsets);

// A scatter of elements of more than two words, of which lanes may store some on top of others'.
llvm::CallInst* store_elements(llvm::IRBuilder<>& ir, llvm::ArrayRef<llvm::Value*> words, llvm::Value* places,
                               llvm::Value* on);
// Says of a gather or scatter that waves hardly come there: few instructions are more than few cycles.
void mark_seldom(llvm::Instruction& move);

// Makes one move of each lane. What LLVM makes of them itself branches around each lane. A gather also reads
// for lanes that are off: where offsets of 32 bits count from one pointer, what is at this pointer, which has
// to be readable whatever lanes are on; else what is at `readable`. Stores are made for lanes that are on and
// no others, the lowest lane first. Two dwords side by side are one move.
void move_lane_by_lane(llvm::Function& function, llvm::Value* readable);

// The same of scatters of bytes, shorts and more than two words, which no host has instructions for.
void scatter_lane_by_lane(llvm::Function& function);

// The same of gathers of all lanes only, but those that are at constant distances from a pointer.
void gather_lane_by_lane(llvm::Function& function);

}  // namespace lockstep::translator

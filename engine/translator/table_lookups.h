// Loads whose lanes pick words of a small table.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace lockstep::translator {

// Of tables: 16 dwords are a row, and what is larger is no faster than a gather.
inline constexpr uint64_t kBytesOfTableRow = 64, kMostBytesOfTable = 1024;

// For each lane the dword that the index, in bytes, is in. Needs AVX-512.
llvm::Value* pick_dwords(llvm::IRBuilder<>& ir, const std::vector<llvm::Value*>& rows, llvm::Value* index);

// As much memory a work-group's LDS has, however much of it the group has been given.
inline constexpr uint64_t kReadableLdsBytes = 65536;

// Says of a gather that its base is the begin of a work-group's LDS.
void mark_lds_gather(llvm::Instruction& gather);

// Where the bits of the addresses say that all lanes are in one kilobyte, as where a byte is the index, the
// words of that are permuted by the index: at most 8 permutations of two registers, 12 cycles on Zen 4 where
// a gather takes 18 of them or more. Needs AVX-512.
void permute_tables(llvm::Function& function);

}  // namespace lockstep::translator

// Words of the lanes of a chunk, in the code that is emitted.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include "numeric/lanes.h"

namespace lockstep::translator {

inline llvm::Value* splat(llvm::IRBuilder<>& ir, llvm::Value* word) {
  return ir.CreateVectorSplat(kLanesPerChunk, word);
}
inline llvm::Value* splat(llvm::IRBuilder<>& ir, uint32_t word) {
  return ir.CreateVectorSplat(kLanesPerChunk, ir.getInt32(word));
}

// abs and neg on the sign at `bit`.
inline llvm::Value* with_sign(llvm::IRBuilder<>& ir, llvm::Value* value, bool abs, bool neg, unsigned bit) {
  if (abs) value = ir.CreateAnd(value, splat(ir, (1u << bit) - 1));
  if (neg) value = ir.CreateXor(value, splat(ir, 1u << bit));
  return value;
}

}  // namespace lockstep::translator

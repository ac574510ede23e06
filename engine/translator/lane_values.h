// Words of the lanes of a chunk, in the code that is emitted.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <array>
#include <cstdint>
#include <vector>

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

// Lanes of two chunks: index(lane) is the lane of the first one, from 16 on of the second.
template <class Index>
llvm::Value* shuffled(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, Index index) {
  std::vector<int> indices;
  for (int i = 0; i < static_cast<int>(kLanesPerChunk); ++i) indices.push_back(index(i));
  return ir.CreateShuffleVector(a, b, indices);
}

// Four words of each lane, transposed: quarter q of chunk n is the words of lane 4 * q + n.
inline std::array<llvm::Value*, 4> lanes_in_quarters(llvm::IRBuilder<>& ir,
                                                     const std::array<llvm::Value*, 4>& words) {
  std::array<llvm::Value*, 4> lanes{};
  for (const int upper : {0, 1}) {
    const auto pairs = [upper](int at) { return at / 4 * 4 + 2 * upper + at % 4 / 2 + at % 2 * 16; };
    llvm::Value *low = shuffled(ir, words[0], words[1], pairs),
                *high = shuffled(ir, words[2], words[3], pairs);
    for (const int odd : {0, 1})
      lanes[static_cast<unsigned>(2 * upper + odd)] =
          shuffled(ir, low, high, [odd](int at) { return at / 4 * 4 + 2 * odd + at % 2 + at % 4 / 2 * 16; });
  }
  return lanes;
}

// The four words of one of them.
inline llvm::Value* four_of_lane(llvm::IRBuilder<>& ir, const std::array<llvm::Value*, 4>& quarters,
                                 unsigned lane) {
  const int first = static_cast<int>(lane) / 4 * 4;
  return ir.CreateShuffleVector(quarters[lane % 4],
                                llvm::ArrayRef<int>{first, first + 1, first + 2, first + 3});
}

}  // namespace lockstep::translator

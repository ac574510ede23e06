// Scalar masks that are put together of two chunks' bits.
#pragma once

#include <llvm/IR/PatternMatch.h>

#include <array>

namespace lockstep::translator {

// The bits of which the value is put together, those of lanes 0 to 15 first.
inline bool match_joined(llvm::Value* whole, std::array<llvm::Value*, 2>& halves) {
  using namespace llvm::PatternMatch;
  return match(whole,
               m_c_Or(m_ZExt(m_Value(halves[0])), m_Shl(m_ZExt(m_Value(halves[1])), m_SpecificInt(16)))) &&
         halves[0]->getType()->isIntegerTy(16) && halves[1]->getType()->isIntegerTy(16);
}

}  // namespace lockstep::translator

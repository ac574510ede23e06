#include "engine/translator/pair_folding.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

#include <optional>

namespace lockstep::translator {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

constexpr unsigned kLanes = 16;
constexpr const char* kKeptJoined = "lockstep.joined";

// What is 64 bits wide, if these are its halves: x, with the constants that the sign operations of the upper
// half have.
struct Whole {
  Value* number = nullptr;
  uint64_t flips = 0, keeps = ~uint64_t{0};
};

// Takes neg, then abs, as with_sign() in emit_vector.cpp writes them, off the upper half.
Value* without_sign(Value* high, Whole& whole) {
  using match::m_APInt;
  using match::m_Value;
  const llvm::APInt* bits = nullptr;
  Value* inner = nullptr;
  if (match::match(high, match::m_Xor(m_Value(inner), m_APInt(bits)))) {
    whole.flips = bits->getZExtValue() << 32;
    high = inner;
  }
  if (match::match(high, match::m_And(m_Value(inner), m_APInt(bits)))) {
    whole.keeps = bits->getZExtValue() << 32 | 0xffffffffu;
    high = inner;
  }
  return high;
}

std::optional<Whole> whole_of(Value* low, Value* high) {
  Whole whole;
  high = without_sign(high, whole);
  if (!match::match(low, match::m_Trunc(match::m_Value(whole.number)))) return std::nullopt;
  if (!match::match(high,
                    match::m_Trunc(match::m_LShr(match::m_Specific(whole.number), match::m_SpecificInt(32)))))
    return std::nullopt;
  if (whole.number->getType()->getScalarSizeInBits() != 64) return std::nullopt;
  return whole;
}

std::optional<std::pair<Value*, Value*>> words_of_join(llvm::Instruction& instruction) {
  Value *low = nullptr, *high = nullptr;
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
  if (type ? type->getNumElements() != kLanes || type->getScalarSizeInBits() != 64
           : !instruction.getType()->isIntegerTy(64))
    return std::nullopt;
  if (!match::match(&instruction, match::m_c_Or(match::m_ZExt(match::m_Value(low)),
                                                match::m_Shl(match::m_ZExt(match::m_Value(high)),
                                                             match::m_SpecificInt(32)))))
    return std::nullopt;
  if (low->getType()->getScalarSizeInBits() != 32 || high->getType()->getScalarSizeInBits() != 32)
    return std::nullopt;
  return std::pair{low, high};
}

Value* made(llvm::IRBuilder<>& ir, const Whole& whole) {
  llvm::Type* type = whole.number->getType();
  Value* value = whole.number;
  if (~whole.keeps != 0) value = ir.CreateAnd(value, llvm::ConstantInt::get(type, whole.keeps));
  if (whole.flips != 0) value = ir.CreateXor(value, llvm::ConstantInt::get(type, whole.flips));
  return value;
}

// Words 0, 2, 4... of a load of pairs that lie side by side are the low halves.
Value* loaded_pairs(llvm::IRBuilder<>& ir, Value* low, Value* high) {
  const auto* even = llvm::dyn_cast<llvm::ShuffleVectorInst>(low);
  const auto* odd = llvm::dyn_cast<llvm::ShuffleVectorInst>(high);
  if (!even || !odd || even->getOperand(0) != odd->getOperand(0)) return nullptr;
  const auto* words = llvm::dyn_cast<llvm::FixedVectorType>(even->getOperand(0)->getType());
  if (!words || words->getNumElements() != 2 * kLanes || words->getScalarSizeInBits() != 32) return nullptr;
  const llvm::ArrayRef<int> evens = even->getShuffleMask(), odds = odd->getShuffleMask();
  if (evens.size() != kLanes || odds.size() != kLanes) return nullptr;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (evens[lane] != static_cast<int>(2 * lane) || odds[lane] != static_cast<int>(2 * lane + 1))
      return nullptr;
  return ir.CreateBitCast(even->getOperand(0), llvm::FixedVectorType::get(ir.getInt64Ty(), kLanes));
}

// One number in all lanes.
Value* splat_pair(llvm::IRBuilder<>& ir, Value* low, Value* high) {
  Value *a = llvm::getSplatValue(low), *b = llvm::getSplatValue(high);
  if (!a || !b) return nullptr;
  if (const auto whole = whole_of(a, b)) return ir.CreateVectorSplat(kLanes, made(ir, *whole));
  return ir.CreateVectorSplat(kLanes, join_words(ir, a, b));
}

Value* joined(llvm::IRBuilder<>& ir, Value* low, Value* high) {
  if (const auto whole = whole_of(low, high)) return made(ir, *whole);
  Whole loaded;
  loaded.number = loaded_pairs(ir, low, without_sign(high, loaded));
  if (loaded.number) return made(ir, loaded);
  return splat_pair(ir, low, high);
}

// The words of a store of pairs, lane by lane: which of two vectors they are taken from.
Value* stored_pairs(llvm::IRBuilder<>& ir, const llvm::ShuffleVectorInst& blend) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(blend.getType());
  if (!type || type->getNumElements() != 2 * kLanes || type->getScalarSizeInBits() != 32) return nullptr;
  const llvm::ShuffleVectorInst* spread[2] = {llvm::dyn_cast<llvm::ShuffleVectorInst>(blend.getOperand(0)),
                                              llvm::dyn_cast<llvm::ShuffleVectorInst>(blend.getOperand(1))};
  if (!spread[0] || !spread[1]) return nullptr;
  for (unsigned i = 0; i < 2 * kLanes; ++i) {
    const int at = blend.getMaskValue(i);
    const unsigned side = i % 2;
    if (at < 0 || static_cast<unsigned>(at) / (2 * kLanes) != side) return nullptr;
    const unsigned in_spread = static_cast<unsigned>(at) % (2 * kLanes);
    if (spread[side]->getShuffleMask().size() != 2 * kLanes ||
        spread[side]->getMaskValue(in_spread) != static_cast<int>(i / 2))
      return nullptr;
  }
  const auto whole = whole_of(spread[0]->getOperand(0), spread[1]->getOperand(0));
  return whole ? ir.CreateBitCast(made(ir, *whole), blend.getType()) : nullptr;
}

}  // namespace

Value* join_words(llvm::IRBuilderBase& ir, Value* low, Value* high) {
  auto* type = low->getType()->getWithNewBitWidth(64);
  return ir.CreateOr(ir.CreateZExt(low, type), ir.CreateShl(ir.CreateZExt(high, type), 32));
}

std::optional<std::pair<Value*, Value*>> joined_words(llvm::Instruction& instruction) {
  if (instruction.hasMetadata(kKeptJoined)) return std::nullopt;
  auto words = words_of_join(instruction);
  Whole signs;
  if (words) words->second = without_sign(words->second, signs);
  return words;
}

Value* number_of_words(Value* low, Value* high) {
  const auto whole = whole_of(low, high);
  return whole && whole->flips == 0 && ~whole->keeps == 0 ? whole->number : nullptr;
}

void fold_pairs(llvm::Function& function, bool has_scalars) {
  llvm::SmallVector<llvm::WeakTrackingVH> unused;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      llvm::IRBuilder<> ir(&instruction);
      Value* whole = nullptr;
      const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
      const bool is_one = has_scalars && instruction.getType()->isIntegerTy(64);
      if ((!type && !is_one) || instruction.use_empty() || instruction.hasMetadata(kKeptJoined)) continue;
      if (const auto* blend = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) {
        whole = stored_pairs(ir, *blend);
      } else if (const auto words = words_of_join(instruction)) {
        const auto both = whole_of(words->first, words->second);
        whole = is_one ? (both ? made(ir, *both) : nullptr) : joined(ir, words->first, words->second);
      }
      if (!whole) continue;
      instruction.replaceAllUsesWith(whole);
      unused.push_back(&instruction);
    }
  }
  llvm::RecursivelyDeleteTriviallyDeadInstructions(unused);
}

void keep_joined(Value* join) {
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(join))
    instruction->setMetadata(kKeptJoined, llvm::MDNode::get(join->getContext(), {}));
}

}  // namespace lockstep::translator

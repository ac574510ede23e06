#include "engine/translator/shift_sums.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PointerIntPair.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

namespace lockstep::translator {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

constexpr unsigned kBits = 32;
// Fewer shifts take as long as the product, which goes to a vector register and back.
constexpr unsigned kFewest = 6;
constexpr size_t kMostTerms = 256;  // of one sum

bool has_bits(const Value* value, unsigned bits) {
  return value->getType()->isIntegerTy(bits);
}

// Scalar registers go from one body to the next through 64 bits, of which the upper ones are zero or of no
// matter. The sum that a term is, if nothing else uses it or its way here.
llvm::Instruction* sum_of(Value* term) {
  Value* inner = nullptr;
  while (term->hasOneUse()) {
    if (match::match(term, match::m_Xor(match::m_Value(), match::m_Value())))
      return llvm::cast<llvm::Instruction>(term);
    const bool is_way =
        (match::match(term, match::m_Trunc(match::m_Value(inner))) && has_bits(term, kBits) &&
         has_bits(inner, 2 * kBits)) ||
        (match::match(term, match::m_ZExt(match::m_Value(inner))) && has_bits(inner, kBits)) ||
        (match::match(term, match::m_And(match::m_Value(inner), match::m_SpecificInt(0xffffffff))) &&
         has_bits(term, 2 * kBits));
    if (!is_way) break;
    term = inner;
  }
  return nullptr;
}

// The terms of a sum, in 32 bits each. Empty: one of them is no word.
llvm::SmallVector<Value*> terms_of(llvm::Instruction& sum, llvm::SmallPtrSetImpl<Value*>& parts) {
  llvm::SmallVector<Value*> open{sum.getOperand(0), sum.getOperand(1)}, terms;
  while (!open.empty()) {
    if (terms.size() + open.size() > kMostTerms) return {};
    Value* const term = open.pop_back_val();
    Value* word = nullptr;
    if (llvm::Instruction* const part = sum_of(term)) {
      parts.insert(part);
      open.append({part->getOperand(0), part->getOperand(1)});
    } else if (has_bits(term, kBits)) {
      terms.push_back(term);
    } else if (match::match(term, match::m_ZExt(match::m_Value(word))) && has_bits(word, kBits)) {
      terms.push_back(word);
    } else {
      return {};
    }
  }
  return terms;
}

// A number, and whether it is shifted to the left.
using Side = llvm::PointerIntPair<Value*, 1, bool>;

// The shifts of a number to one side.
struct Shifts {
  uint64_t factor = 0;  // a bit for each
  unsigned count = 0;
};

}  // namespace

void multiply_shift_sums(llvm::Function& function) {
  llvm::SmallVector<llvm::Instruction*> sums;
  for (llvm::BasicBlock& block : llvm::reverse(function))
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::reverse(block)))
      // What nobody uses would look like a use of sums.
      if (llvm::isInstructionTriviallyDead(&instruction))
        instruction.eraseFromParent();
      else if (match::match(&instruction, match::m_Xor(match::m_Value(), match::m_Value())) &&
               (has_bits(&instruction, kBits) || has_bits(&instruction, 2 * kBits)))
        sums.push_back(&instruction);
  llvm::SmallPtrSet<Value*, 32> parts;  // of sums that were looked at as a whole, which come first
  llvm::SmallVector<llvm::WeakTrackingVH> unused;
  for (llvm::Instruction* const sum : sums) {
    if (parts.contains(sum)) continue;
    llvm::MapVector<Side, Shifts> shifts;
    llvm::SmallVector<Value*> others;
    for (Value* const term : terms_of(*sum, parts)) {
      Value* number = nullptr;
      const llvm::APInt* bits = nullptr;
      bool is_left = true;
      if (!match::match(term, match::m_Shl(match::m_Value(number), match::m_APInt(bits)))) {
        is_left = false;
        if (!match::match(term, match::m_LShr(match::m_Value(number), match::m_APInt(bits)))) {
          others.push_back(term);
          continue;
        }
      }
      const uint64_t by = bits->getZExtValue();
      Shifts& known = shifts[{number, is_left}];
      // To the right: to the left of the upper half. What is there twice is not there.
      known.factor ^= uint64_t{1} << (is_left ? by : kBits - by);
      ++known.count;
    }
    if (llvm::none_of(shifts, [](const auto& each) { return each.second.count >= kFewest; })) continue;
    llvm::IRBuilder<> ir(sum);
    llvm::Type* const number_type = ir.getInt32Ty();
    auto* const pair = llvm::FixedVectorType::get(ir.getInt64Ty(), 2);
    for (Value*& term : others)
      if (auto at = shifts.find({term, true}); at != shifts.end()) {
        at->second.factor ^= 1;
        term = nullptr;
      }
    Value* result = nullptr;
    const auto add = [&](Value* term) { result = result ? ir.CreateXor(result, term) : term; };
    for (const auto& [key, known] : shifts) {
      Value* const number = key.getPointer();
      const bool is_left = key.getInt();
      if (known.count < kFewest) {
        for (unsigned bit = 0; bit <= kBits; ++bit) {
          if (!(known.factor >> bit & 1)) continue;
          add(is_left ? ir.CreateShl(number, bit) : ir.CreateLShr(number, kBits - bit));
        }
        continue;
      }
      Value* const zero = llvm::ConstantAggregateZero::get(pair);
      Value* const one = ir.CreateInsertElement(zero, ir.CreateZExt(number, ir.getInt64Ty()), uint64_t{0});
      Value* const factor = llvm::ConstantVector::get({ir.getInt64(known.factor), ir.getInt64(0)});
      Value* product = ir.CreateIntrinsic(llvm::Intrinsic::x86_pclmulqdq, {}, {one, factor, ir.getInt8(0)});
      product = ir.CreateExtractElement(product, uint64_t{0});
      if (!is_left) product = ir.CreateLShr(product, kBits);
      add(ir.CreateTrunc(product, number_type));
    }
    for (Value* const term : others)
      if (term) add(term);
    if (sum->getType() != number_type) result = ir.CreateZExt(result, sum->getType());
    sum->replaceAllUsesWith(result);
    unused.push_back(sum);
  }
  llvm::RecursivelyDeleteTriviallyDeadInstructions(unused);
}

}  // namespace lockstep::translator

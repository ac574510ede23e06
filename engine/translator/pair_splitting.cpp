#include "engine/translator/pair_splitting.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

#include <array>

namespace lockstep::translator {
namespace {

namespace match = llvm::PatternMatch;
using llvm::BinaryOperator;
using llvm::Instruction;
using llvm::Value;
using match::m_SpecificInt;
using match::m_Value;

constexpr unsigned kLanes = 16;
constexpr unsigned kHalf = 32;
constexpr unsigned kMostDepth = 4;  // of operations on one number

bool has_bits(const Value* value, unsigned bits) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type && type->getNumElements() == kLanes && type->getElementType()->isIntegerTy(bits);
}

bool is_join(Value* value, Value*& low, Value*& high) {
  return match::match(value,
                      match::m_c_Or(match::m_ZExt(m_Value(low)),
                                    match::m_Shl(match::m_ZExt(m_Value(high)), m_SpecificInt(kHalf)))) &&
         has_bits(low, kHalf) && has_bits(high, kHalf);
}

bool is_extended(Value* value, Value*& inner) {
  return match::match(value, match::m_ZExt(m_Value(inner))) && has_bits(inner, kHalf);
}

bool is_word(Value* value) {
  const llvm::APInt* bits = nullptr;
  Value* inner = nullptr;
  return is_extended(value, inner) || (match::match(value, match::m_APInt(bits)) && bits->isIntN(kHalf));
}

// By how much, if that is the same in all lanes, or a register's low six bits.
bool is_shift_count(Value* value) {
  const llvm::APInt* bits = nullptr;
  Value* inner = nullptr;
  if (match::match(value, match::m_APInt(bits))) return bits->ult(2 * kHalf);
  return is_extended(value, inner) &&
         match::match(inner, match::m_c_And(m_Value(), m_SpecificInt(2 * kHalf - 1)));
}

// Whether the halves can be computed from registers.
bool splits(Value* value, unsigned depth = 0) {
  Value *low = nullptr, *high = nullptr;
  if (llvm::isa<llvm::ConstantDataVector, llvm::ConstantAggregateZero>(value) || is_extended(value, low) ||
      is_join(value, low, high))
    return true;
  auto* const operation = llvm::dyn_cast<BinaryOperator>(value);
  // What is used more than once stays as it is, lest it be there twice.
  if (!operation || depth == kMostDepth || (depth > 0 && !operation->hasOneUse())) return false;
  Value *const a = operation->getOperand(0), *const b = operation->getOperand(1);
  switch (operation->getOpcode()) {
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
      return is_shift_count(b) && splits(a, depth + 1);
    case Instruction::Mul:
      return is_word(a) && is_word(b);
    case Instruction::Add:
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
      return splits(a, depth + 1) && splits(b, depth + 1);
    default:
      return false;
  }
}

struct Halves {
  Value *low, *high;
};

Halves every_second(llvm::IRBuilder<>& ir, Value* words) {
  std::array<int, kLanes> low, high;
  for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
    low[static_cast<size_t>(lane)] = 2 * lane;
    high[static_cast<size_t>(lane)] = 2 * lane + 1;
  }
  return {ir.CreateShuffleVector(words, low), ir.CreateShuffleVector(words, high)};
}

Halves by_constant(llvm::IRBuilder<>& ir, unsigned opcode, Halves of, unsigned count) {
  llvm::Type* const type = of.low->getType();
  const auto shifted = [&](Value* value, unsigned by, unsigned as) -> Value* {
    return ir.CreateBinOp(static_cast<Instruction::BinaryOps>(as), value, llvm::ConstantInt::get(type, by));
  };
  const auto funnel = [&](llvm::Intrinsic::ID id) -> Value* {
    return ir.CreateIntrinsic(id, {type}, {of.high, of.low, llvm::ConstantInt::get(type, count)});
  };
  if (count == 0) return of;
  if (opcode == Instruction::Shl) {
    if (count >= kHalf)
      return {llvm::Constant::getNullValue(type), shifted(of.low, count - kHalf, Instruction::Shl)};
    return {shifted(of.low, count, Instruction::Shl), funnel(llvm::Intrinsic::fshl)};
  }
  if (count < kHalf) return {funnel(llvm::Intrinsic::fshr), shifted(of.high, count, opcode)};
  Value* const rest =
      opcode == Instruction::AShr ? shifted(of.high, kHalf - 1, opcode) : llvm::Constant::getNullValue(type);
  return {shifted(of.high, count - kHalf, opcode), rest};
}

Halves by_lanes(llvm::IRBuilder<>& ir, unsigned opcode, Halves of, Value* count) {
  llvm::Type* const type = of.low->getType();
  const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(type, value); };
  Value* const zero = number(0);
  Value* const is_short = ir.CreateICmpULT(count, number(kHalf));
  // As hosts shift: zero, or the sign, where the count is not below 32.
  const auto shifted = [&](Value* value, Value* by, Value* in_range) -> Value* {
    if (opcode == Instruction::AShr)
      return ir.CreateAShr(value, ir.CreateSelect(in_range, by, number(kHalf - 1)));
    Value* const result = opcode == Instruction::Shl ? ir.CreateShl(value, by) : ir.CreateLShr(value, by);
    return ir.CreateSelect(in_range, result, zero);
  };
  const bool to_the_left = opcode == Instruction::Shl;
  Value* const far = to_the_left ? of.low : of.high;
  Value* const near = ir.CreateIntrinsic(to_the_left ? llvm::Intrinsic::fshl : llvm::Intrinsic::fshr, {type},
                                         {of.high, of.low, count});
  Value* const beyond = ir.CreateSub(count, number(kHalf));
  Value* const from_far = shifted(far, beyond, ir.CreateICmpULT(beyond, number(kHalf)));
  Value* const crossed = ir.CreateSelect(is_short, near, from_far);
  Value* const rest = shifted(far, count, is_short);
  return to_the_left ? Halves{rest, crossed} : Halves{crossed, rest};
}

Halves halves_of(llvm::IRBuilder<>& ir, Value* value) {
  auto* const type = llvm::FixedVectorType::get(ir.getInt32Ty(), kLanes);
  Value *low = nullptr, *high = nullptr;
  if (is_join(value, low, high)) return {low, high};
  if (is_extended(value, low)) return {low, llvm::Constant::getNullValue(type)};
  if (llvm::isa<llvm::Constant>(value))
    return {ir.CreateTrunc(value, type), ir.CreateTrunc(ir.CreateLShr(value, kHalf), type)};
  auto* const operation = llvm::cast<BinaryOperator>(value);
  const Instruction::BinaryOps opcode = operation->getOpcode();
  Value *const left = operation->getOperand(0), *const right = operation->getOperand(1);
  switch (opcode) {
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr: {
      const Halves of = halves_of(ir, left);
      const llvm::APInt* bits = nullptr;
      if (match::match(right, match::m_APInt(bits)))
        return by_constant(ir, opcode, of, static_cast<unsigned>(bits->getZExtValue()));
      Value* count = nullptr;
      is_extended(right, count);
      return by_lanes(ir, opcode, of, count);
    }
    case Instruction::Mul: {
      // The upper half is left as code generators know it.
      Value* const product = ir.CreateMul(left, right);
      return {ir.CreateMul(halves_of(ir, left).low, halves_of(ir, right).low),
              ir.CreateTrunc(ir.CreateLShr(product, kHalf), type)};
    }
    case Instruction::Add: {
      const Halves a = halves_of(ir, left), b = halves_of(ir, right);
      Value* const sum = ir.CreateAdd(a.low, b.low);
      Value* const carry = ir.CreateSExt(ir.CreateICmpULT(sum, b.low), type);
      return {sum, ir.CreateSub(ir.CreateAdd(a.high, b.high), carry)};
    }
    default: {
      const Halves a = halves_of(ir, left), b = halves_of(ir, right);
      return {ir.CreateBinOp(opcode, a.low, b.low), ir.CreateBinOp(opcode, a.high, b.high)};
    }
  }
}

// The truncations to the lower half, and those to the upper one, if there are no other uses.
bool is_taken_apart(Value& number, llvm::SmallVectorImpl<Instruction*>& lows,
                    llvm::SmallVectorImpl<Instruction*>& highs) {
  const auto is_half = [](llvm::User* user) {
    return llvm::isa<llvm::TruncInst>(user) && has_bits(user, kHalf);
  };
  for (llvm::User* const user : number.users()) {
    if (is_half(user)) {
      lows.push_back(llvm::cast<Instruction>(user));
      continue;
    }
    if (!match::match(user, match::m_LShr(match::m_Specific(&number), m_SpecificInt(kHalf)))) return false;
    for (llvm::User* const upper : user->users()) {
      if (!is_half(upper)) return false;
      highs.push_back(llvm::cast<Instruction>(upper));
    }
  }
  return !lows.empty() || !highs.empty();
}

// Numbers as they were loaded, of which shuffles are the halves.
Value* loaded_words(Value* value) {
  Value* words = nullptr;
  if (!match::match(value, match::m_BitCast(m_Value(words)))) return nullptr;
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(words->getType());
  return type && type->getNumElements() == 2 * kLanes && type->getElementType()->isIntegerTy(kHalf) ? words
                                                                                                    : nullptr;
}

// Whether nobody needs a number of which this one is made as a whole, such as a double.
bool is_in_halves_alone(Value* value) {
  Value *low = nullptr, *high = nullptr;
  if (is_join(value, low, high))
    return llvm::none_of(value->users(), [](llvm::User* user) {
      return llvm::isa<llvm::CastInst>(user) && !llvm::isa<llvm::TruncInst>(user);
    });
  const auto* operation = llvm::dyn_cast<BinaryOperator>(value);
  return !operation || llvm::all_of(operation->operands(), is_in_halves_alone);
}

bool is_compared_alone(Value* value) {
  const auto is_comparison = [](llvm::User* user) { return llvm::isa<llvm::ICmpInst>(user); };
  if (llvm::isa<llvm::Constant>(value)) return splits(value);
  return splits(value, 1) && llvm::all_of(value->users(), is_comparison) && is_in_halves_alone(value);
}

Value* difference(llvm::IRBuilder<>& ir, Value* a, Value* b) {
  return match::match(b, match::m_Zero()) ? a : ir.CreateXor(a, b);
}

// Null where it is not known.
Value* compared(llvm::IRBuilder<>& ir, llvm::CmpInst::Predicate predicate, const Halves& a, const Halves& b,
                bool has_mask_registers) {
  using llvm::CmpInst;
  switch (predicate) {
    case CmpInst::ICMP_EQ:
    case CmpInst::ICMP_NE: {
      Value* const differs = ir.CreateOr(difference(ir, a.low, b.low), difference(ir, a.high, b.high));
      return ir.CreateICmp(predicate, differs, llvm::Constant::getNullValue(differs->getType()));
    }
    case CmpInst::ICMP_UGT:
    case CmpInst::ICMP_SGT:
    case CmpInst::ICMP_ULE:
    case CmpInst::ICMP_SLE:
      return compared(ir, CmpInst::getSwappedPredicate(predicate), b, a, has_mask_registers);
    case CmpInst::ICMP_UGE:
    case CmpInst::ICMP_SGE:
      return ir.CreateNot(compared(ir, CmpInst::getInversePredicate(predicate), a, b, has_mask_registers));
    case CmpInst::ICMP_ULT:
    case CmpInst::ICMP_SLT: {
      Value* const high = ir.CreateICmp(predicate, a.high, b.high);
      if (match::match(b.low, match::m_Zero())) return high;
      Value *same = ir.CreateICmpEQ(a.high, b.high), *low = ir.CreateICmpULT(a.low, b.low);
      if (has_mask_registers) return ir.CreateOr(high, ir.CreateAnd(same, low));
      // Elsewhere masks of lanes that are combined as such are packed to bytes.
      llvm::Type* const lanes = a.low->getType();
      Value* const is_less = ir.CreateOr(ir.CreateSExt(high, lanes),
                                         ir.CreateAnd(ir.CreateSExt(same, lanes), ir.CreateSExt(low, lanes)));
      return ir.CreateICmpSLT(is_less, llvm::Constant::getNullValue(lanes));
    }
    default:
      return nullptr;
  }
}

Value* split_comparison(llvm::ICmpInst& comparison, bool has_mask_registers) {
  const auto is_joined = [](Value* number) {
    return !llvm::isa<llvm::Constant>(number) && is_compared_alone(number);
  };
  if (!has_bits(comparison.getOperand(0), 2 * kHalf) || llvm::none_of(comparison.operands(), is_joined))
    return nullptr;
  llvm::IRBuilder<> ir(&comparison);
  std::array<Halves, 2> halves{};
  for (unsigned i = 0; i < 2; ++i) {
    Value* const number = comparison.getOperand(i);
    if (Value* const words = loaded_words(number))
      halves[i] = every_second(ir, words);
    else if (is_compared_alone(number))
      halves[i] = halves_of(ir, number);
    else
      return nullptr;
  }
  return compared(ir, comparison.getPredicate(), halves[0], halves[1], has_mask_registers);
}

}  // namespace

void split_pairs(llvm::Function& function, bool has_mask_registers) {
  llvm::SmallVector<llvm::WeakTrackingVH> unused;
  for (llvm::BasicBlock& block : function) {
    for (Instruction& instruction : block) {
      if (auto* const comparison = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) {
        if (Value* const by_halves = split_comparison(*comparison, has_mask_registers)) {
          comparison->replaceAllUsesWith(by_halves);
          unused.push_back(comparison);
        }
        continue;
      }
      auto* const operation = llvm::dyn_cast<BinaryOperator>(&instruction);
      if (!operation || !has_bits(operation, 2 * kHalf)) continue;
      llvm::SmallVector<Instruction*> lows, highs;
      if (!is_taken_apart(*operation, lows, highs) || !splits(operation)) continue;
      // The upper half of a product alone is as code generators know it.
      if (lows.empty() && operation->getOpcode() == Instruction::Mul) continue;
      llvm::IRBuilder<> ir(operation);
      const Halves halves = halves_of(ir, operation);
      for (Instruction* const half : lows) half->replaceAllUsesWith(halves.low);
      for (Instruction* const half : highs) half->replaceAllUsesWith(halves.high);
      unused.append(lows.begin(), lows.end());
      unused.append(highs.begin(), highs.end());
    }
  }
  llvm::RecursivelyDeleteTriviallyDeadInstructions(unused);
}

}  // namespace lockstep::translator

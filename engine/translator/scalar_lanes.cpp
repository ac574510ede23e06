#include "engine/translator/scalar_lanes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

namespace lockstep::translator {
namespace {

using llvm::Value;

constexpr const char* kMark = "lockstep.lane";

bool is_mask_of(const Value* value, unsigned bits) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type && type->getElementType()->isIntegerTy(1) && type->getNumElements() == bits;
}

class ScalarLanes {
 public:
  explicit ScalarLanes(const llvm::DataLayout& layout) : layout_(layout) {}
  Value* first(Value* lanes) { return element(lanes, 0); }
  void replace(llvm::Instruction& marked) {
    Value* scalar = llvm::isa<llvm::ExtractElementInst>(marked) ? element(marked.getOperand(0), 0)
                                                                : lowest_bit(marked.getOperand(0));
    if (scalar == &marked) return;
    marked.replaceAllUsesWith(scalar);
    for (auto& [of, made] : elements_)
      if (made == &marked) made = scalar;
    for (auto& [of, made] : bits_)
      if (made == &marked) made = scalar;
    marked.eraseFromParent();
  }

 private:
  Value* element(Value* lanes, unsigned lane) {
    if (const auto found = elements_.find({lanes, lane}); found != elements_.end()) return found->second;
    Value* made = make_element(lanes, lane);
    return elements_[{lanes, lane}] = made;
  }

  // A mask that is a number is an expression, whose elements are not there before it is folded.
  llvm::Constant* element_of_constant(llvm::Constant& lanes, unsigned lane) {
    llvm::Constant* folded = llvm::ConstantFoldConstant(&lanes, layout_);
    if (llvm::Constant* part = folded->getAggregateElement(lane)) return part;
    return llvm::ConstantExpr::getExtractElement(
        folded, llvm::ConstantInt::get(llvm::Type::getInt64Ty(lanes.getContext()), lane));
  }

  Value* make_element(Value* lanes, unsigned lane) {
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(lanes)) return element_of_constant(*constant, lane);
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(lanes);
    if (!instruction) return extracted(lanes, lane);
    auto* type = llvm::cast<llvm::FixedVectorType>(lanes->getType());
    llvm::Type* to = type->getElementType();
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
      auto* scalar = llvm::PHINode::Create(to, phi->getNumIncomingValues(), "", phi->getIterator());
      elements_[{lanes, lane}] = scalar;
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        scalar->addIncoming(element(phi->getIncomingValue(i), lane), phi->getIncomingBlock(i));
      return scalar;
    }
    llvm::IRBuilder<> ir(instruction);
    if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(instruction)) {
      const auto* at = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
      if (!at) return extracted(lanes, lane);
      return at->equalsInt(lane) ? insert->getOperand(1) : element(insert->getOperand(0), lane);
    }
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(instruction)) {
      const int from = shuffle->getMaskValue(lane);
      if (from < 0) return llvm::PoisonValue::get(to);
      const auto* first = llvm::cast<llvm::FixedVectorType>(shuffle->getOperand(0)->getType());
      const auto at = static_cast<unsigned>(from);
      const unsigned count = first->getNumElements();
      return at < count ? element(shuffle->getOperand(0), at) : element(shuffle->getOperand(1), at - count);
    }
    if (auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(instruction)) {
      Value *a = element(binary->getOperand(0), lane), *b = element(binary->getOperand(1), lane);
      return with_flags(ir.CreateBinOp(binary->getOpcode(), a, b), *binary);
    }
    if (auto* unary = llvm::dyn_cast<llvm::UnaryOperator>(instruction))
      return with_flags(ir.CreateUnOp(unary->getOpcode(), element(unary->getOperand(0), lane)), *unary);
    if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(instruction)) {
      Value *a = element(compare->getOperand(0), lane), *b = element(compare->getOperand(1), lane);
      return with_flags(ir.CreateCmp(compare->getPredicate(), a, b), *compare);
    }
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(instruction)) {
      Value* condition = select->getCondition();
      if (condition->getType()->isVectorTy()) condition = element(condition, lane);
      if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition))
        return element(known->isOne() ? select->getTrueValue() : select->getFalseValue(), lane);
      Value *a = element(select->getTrueValue(), lane), *b = element(select->getFalseValue(), lane);
      return ir.CreateSelect(condition, a, b);
    }
    if (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(instruction))
      return ir.CreateFreeze(element(freeze->getOperand(0), lane));
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(instruction)) {
      Value* from = cast->getOperand(0);
      const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(from->getType());
      if (vector && vector->getNumElements() == type->getNumElements())
        return with_flags(ir.CreateCast(cast->getOpcode(), element(from, lane), to), *cast);
      if (lane == 0 && from->getType()->isIntegerTy() &&
          is_mask_of(lanes, from->getType()->getIntegerBitWidth()))
        return lowest_bit(from);
      return extracted(lanes, lane);
    }
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(instruction)) return element_of_call(*call, lane);
    return extracted(lanes, lane);
  }

  Value* element_of_call(llvm::IntrinsicInst& call, unsigned lane) {
    const llvm::Intrinsic::ID id = call.getIntrinsicID();
    if (id == llvm::Intrinsic::x86_avx512_mask_range_ps_512) return ranged(call, lane, 4);
    if (id == llvm::Intrinsic::x86_avx512_mask_range_pd_512) return ranged(call, lane, 2);
    if (id == llvm::Intrinsic::x86_avx512_vfmadd_ps_512) return fused(call, lane);
    if (!llvm::isTriviallyVectorizable(id)) return extracted(&call, lane);
    llvm::IRBuilder<> ir(&call);
    llvm::SmallVector<Value*, 4> arguments;
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      Value* argument = call.getArgOperand(i);
      arguments.push_back(argument->getType()->isVectorTy() ? element(argument, lane) : argument);
    }
    llvm::SmallVector<llvm::Type*, 2> types;
    if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, -1))
      types.push_back(call.getType()->getScalarType());
    for (unsigned i = 0; i < call.arg_size(); ++i)
      if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, static_cast<int>(i)))
        types.push_back(arguments[i]->getType());
    llvm::Function* function = llvm::Intrinsic::getDeclaration(call.getModule(), id, types);
    return with_flags(ir.CreateCall(function, arguments), call);
  }

  // Hosts have it of one lane, too: the lowest of so many.
  Value* ranged(llvm::IntrinsicInst& call, unsigned lane, unsigned lanes) {
    llvm::IRBuilder<> ir(&call);
    auto* type = llvm::FixedVectorType::get(call.getType()->getScalarType(), lanes);
    auto* none = llvm::PoisonValue::get(type);
    const auto operand = [&](unsigned i) {
      return ir.CreateInsertElement(none, element(call.getArgOperand(i), lane), uint64_t{0});
    };
    constexpr unsigned kA = 0, kB = 1, kWhich = 2, kRounding = 5;
    Value* all = ir.CreateIntrinsic(
        lanes == 4 ? llvm::Intrinsic::x86_avx512_mask_range_ss : llvm::Intrinsic::x86_avx512_mask_range_sd,
        {},
        {operand(kA), operand(kB), llvm::Constant::getNullValue(type), ir.getInt8(0xff),
         call.getArgOperand(kWhich), call.getArgOperand(kRounding)});
    return ir.CreateExtractElement(all, uint64_t{0});
  }

  // Rounded as the call says.
  Value* fused(llvm::IntrinsicInst& call, unsigned lane) {
    std::array<Value*, 3> operands;
    for (unsigned i = 0; i < operands.size(); ++i) operands[i] = element(call.getArgOperand(i), lane);
    constexpr unsigned kRounding = 3;
    llvm::IRBuilder<> ir(&call);
    return ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vfmadd_f32, {},
                              {operands[0], operands[1], operands[2], call.getArgOperand(kRounding)});
  }

  static Value* with_flags(Value* made, const llvm::Instruction& like) {
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(made)) instruction->copyIRFlags(&like);
    return made;
  }

  static void go_behind(llvm::IRBuilder<>& ir, Value& value) {
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) {
      llvm::BasicBlock& entry = argument->getParent()->getEntryBlock();
      ir.SetInsertPoint(&entry, entry.getFirstInsertionPt());
      return;
    }
    const auto behind = llvm::cast<llvm::Instruction>(value).getInsertionPointAfterDef();
    ir.SetInsertPoint((*behind)->getParent(), *behind);
  }

  // Whatever it is computed by stays a vector.
  static Value* extracted(Value* lanes, unsigned lane) {
    llvm::IRBuilder<> ir(lanes->getContext());
    go_behind(ir, *lanes);
    return ir.CreateExtractElement(lanes, uint64_t{lane});
  }

  // Of a number, as i1.
  Value* lowest_bit(Value* number) {
    if (const auto found = bits_.find(number); found != bits_.end()) return found->second;
    Value* made = make_lowest_bit(number);
    return bits_[number] = made;
  }

  Value* make_lowest_bit(Value* number) {
    llvm::Type* bit = llvm::Type::getInt1Ty(number->getContext());
    if (number->getType() == bit) return number;
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(number))
      return llvm::ConstantFoldConstant(llvm::ConstantExpr::getTrunc(constant, bit), layout_);
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(number);
    llvm::IRBuilder<> ir(number->getContext());
    if (!instruction) {
      go_behind(ir, *number);
      return ir.CreateTrunc(number, bit);
    }
    ir.SetInsertPoint(instruction);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
      auto* scalar = llvm::PHINode::Create(bit, phi->getNumIncomingValues(), "", phi->getIterator());
      bits_[number] = scalar;
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        scalar->addIncoming(lowest_bit(phi->getIncomingValue(i)), phi->getIncomingBlock(i));
      return scalar;
    }
    if (auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(instruction)) {
      switch (binary->getOpcode()) {
        case llvm::Instruction::And:
        case llvm::Instruction::Or:
        case llvm::Instruction::Xor: {
          Value *a = lowest_bit(binary->getOperand(0)), *b = lowest_bit(binary->getOperand(1));
          return ir.CreateBinOp(binary->getOpcode(), a, b);
        }
        case llvm::Instruction::Shl:
          if (const auto* by = llvm::dyn_cast<llvm::ConstantInt>(binary->getOperand(1)); by && !by->isZero())
            return llvm::ConstantInt::getFalse(bit);
          break;
        default:
          break;
      }
    }
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(instruction)) {
      Value* from = cast->getOperand(0);
      if (is_mask_of(from, number->getType()->getIntegerBitWidth())) return element(from, 0);
      if (from->getType()->isIntegerTy()) return lowest_bit(from);
    }
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(instruction)) {
      Value *a = lowest_bit(select->getTrueValue()), *b = lowest_bit(select->getFalseValue());
      return ir.CreateSelect(select->getCondition(), a, b);
    }
    go_behind(ir, *number);
    return ir.CreateTrunc(number, bit);
  }

  const llvm::DataLayout& layout_;
  std::map<std::pair<Value*, unsigned>, Value*> elements_;
  std::map<Value*, Value*> bits_;
};

}  // namespace

void mark_scalar_lane(llvm::Value* value) {
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(value))
    instruction->setMetadata(kMark, llvm::MDNode::get(instruction->getContext(), {}));
}

void compute_one_lane(llvm::Function& body) {
  std::vector<llvm::Instruction*> replaced;
  ScalarLanes lanes(body.getDataLayout());
  for (llvm::BasicBlock& block : body) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      llvm::IRBuilder<> ir(&instruction);
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        Value* value = store->getValueOperand();
        const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
        if (!type || !llvm::isa<llvm::Argument>(llvm::getUnderlyingObject(store->getPointerOperand())))
          continue;
        store->setOperand(0, ir.CreateVectorSplat(type->getNumElements(), lanes.first(value)));
        continue;
      }
      // Whether any lane is so.
      if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) {
        auto* bits = llvm::dyn_cast<llvm::BitCastInst>(compare->getOperand(0));
        const auto* with = llvm::dyn_cast<llvm::Constant>(compare->getOperand(1));
        if (!bits || !with || !with->isNullValue() || !compare->isEquality() ||
            !bits->getType()->isIntegerTy() ||
            !is_mask_of(bits->getOperand(0), bits->getType()->getIntegerBitWidth()))
          continue;
        Value* is_so = lanes.first(bits->getOperand(0));
        compare->replaceAllUsesWith(compare->getPredicate() == llvm::CmpInst::ICMP_NE ? is_so
                                                                                      : ir.CreateNot(is_so));
        replaced.push_back(compare);
        continue;
      }
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
        const llvm::Intrinsic::ID id = call->getIntrinsicID();
        if (id != llvm::Intrinsic::vector_reduce_or && id != llvm::Intrinsic::vector_reduce_and) continue;
        call->replaceAllUsesWith(lanes.first(call->getArgOperand(0)));
        replaced.push_back(call);
      }
    }
  }
  for (llvm::Instruction* instruction : replaced) instruction->eraseFromParent();
}

bool make_lanes_scalar(llvm::Function& function) {
  std::vector<llvm::Instruction*> marked;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : block)
      if (instruction.hasMetadata(kMark)) marked.push_back(&instruction);
  ScalarLanes lanes(function.getDataLayout());
  for (llvm::Instruction* instruction : marked) lanes.replace(*instruction);
  return !marked.empty();
}

}  // namespace lockstep::translator

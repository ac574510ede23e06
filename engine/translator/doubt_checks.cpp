#include "engine/translator/doubt_checks.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <set>

namespace lockstep::translator {
namespace {

using llvm::Value;

// The value that `select (fcmp uno value, ...), -1, others` checks, or null.
Value* checked_value(const llvm::SelectInst& select) {
  const auto* all_ones = llvm::dyn_cast<llvm::Constant>(select.getTrueValue());
  const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(select.getCondition());
  if (!all_ones || !all_ones->isAllOnesValue() || !compare) return nullptr;
  if (compare->getPredicate() != llvm::CmpInst::FCMP_UNO) return nullptr;
  Value *left = compare->getOperand(0), *right = compare->getOperand(1);
  const auto* constant = llvm::dyn_cast<llvm::Constant>(right);
  return left == right || (constant && constant->isNullValue()) ? left : nullptr;
}

// Gives a NaN if any operand is one.
bool passes_nans(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
      return true;
    default:
      break;
  }
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::fma;
}

// Whether the user still holds the value in the lanes where it counts: other views of the bits, sign changes,
// and the choice between new and old lanes (the old ones are off).
bool keeps_nan(const llvm::Instruction& user, const Value& value) {
  switch (user.getOpcode()) {
    case llvm::Instruction::BitCast:
    case llvm::Instruction::FNeg:
      return true;
    case llvm::Instruction::And:
    case llvm::Instruction::Xor: {
      const auto* mask = llvm::dyn_cast<llvm::Constant>(user.getOperand(1));
      const auto* bits = mask ? llvm::dyn_cast_or_null<llvm::ConstantInt>(mask->getSplatValue()) : nullptr;
      if (!bits || bits->getBitWidth() != 32) return false;
      return bits->getZExtValue() == (user.getOpcode() == llvm::Instruction::And ? 0x7fffffffu : 0x80000000u);
    }
    case llvm::Instruction::Select:
      return llvm::cast<llvm::SelectInst>(user).getTrueValue() == &value;
    default:
      return false;
  }
}

bool is_implied(Value& value, const std::map<Value*, llvm::SelectInst*>& checks, unsigned depth = 0) {
  constexpr unsigned kMaxDepth = 4;
  for (llvm::User* each : value.users()) {
    auto* user = llvm::dyn_cast<llvm::Instruction>(each);
    if (!user) continue;
    if (passes_nans(*user)) {
      if (checks.contains(user)) return true;
    } else if (depth < kMaxDepth && keeps_nan(*user, value) && is_implied(*user, checks, depth + 1)) {
      return true;
    }
  }
  return false;
}

void drop_in_run(Value* doubt) {
  std::map<Value*, llvm::SelectInst*> checks;
  std::vector<Value*> pending{doubt};
  std::set<Value*> seen;
  while (!pending.empty()) {
    Value* value = pending.back();
    pending.pop_back();
    if (!seen.insert(value).second) continue;
    if (auto* either = llvm::dyn_cast<llvm::BinaryOperator>(value);
        either && either->getOpcode() == llvm::Instruction::Or) {
      pending.push_back(either->getOperand(0));
      pending.push_back(either->getOperand(1));
    } else if (auto* select = llvm::dyn_cast<llvm::SelectInst>(value)) {
      if (Value* checked = checked_value(*select)) {
        checks[checked] = select;
        pending.push_back(select->getFalseValue());
      }
    }
  }
  std::vector<llvm::SelectInst*> implied;
  for (const auto& [value, select] : checks)
    if (is_implied(*value, checks)) implied.push_back(select);
  for (llvm::SelectInst* select : implied) {
    select->replaceAllUsesWith(select->getFalseValue());
    select->eraseFromParent();
  }
}

}  // namespace

void drop_implied_checks(llvm::Function& function) {
  std::vector<llvm::IntrinsicInst*> settlements;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : block)
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        if (call->getIntrinsicID() == llvm::Intrinsic::vector_reduce_or) settlements.push_back(call);
  for (llvm::IntrinsicInst* call : settlements) drop_in_run(call->getArgOperand(0));
}

}  // namespace lockstep::translator

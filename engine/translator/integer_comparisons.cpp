#include "engine/translator/integer_comparisons.h"

#include <llvm/IR/Instructions.h>

#include <algorithm>

namespace lockstep::translator {
namespace {

constexpr IntegerComparison kComparisons[] = {
    {isa::Opcode::v_cmp_lt_i32, llvm::CmpInst::ICMP_SLT, 1},
    {isa::Opcode::v_cmp_le_i32, llvm::CmpInst::ICMP_SLE, 1},
    {isa::Opcode::v_cmp_eq_i32, llvm::CmpInst::ICMP_EQ, 1},
    {isa::Opcode::v_cmp_ne_i32, llvm::CmpInst::ICMP_NE, 1},
    {isa::Opcode::v_cmp_ge_i32, llvm::CmpInst::ICMP_SGE, 1},
    {isa::Opcode::v_cmp_gt_i32, llvm::CmpInst::ICMP_SGT, 1},
    {isa::Opcode::v_cmp_lt_u32, llvm::CmpInst::ICMP_ULT, 1},
    {isa::Opcode::v_cmp_le_u32, llvm::CmpInst::ICMP_ULE, 1},
    {isa::Opcode::v_cmp_eq_u32, llvm::CmpInst::ICMP_EQ, 1},
    {isa::Opcode::v_cmp_ne_u32, llvm::CmpInst::ICMP_NE, 1},
    {isa::Opcode::v_cmp_ge_u32, llvm::CmpInst::ICMP_UGE, 1},
    {isa::Opcode::v_cmp_gt_u32, llvm::CmpInst::ICMP_UGT, 1},
    {isa::Opcode::v_cmp_lt_i64, llvm::CmpInst::ICMP_SLT, 2},
    {isa::Opcode::v_cmp_le_i64, llvm::CmpInst::ICMP_SLE, 2},
    {isa::Opcode::v_cmp_eq_i64, llvm::CmpInst::ICMP_EQ, 2},
    {isa::Opcode::v_cmp_ne_i64, llvm::CmpInst::ICMP_NE, 2},
    {isa::Opcode::v_cmp_ge_i64, llvm::CmpInst::ICMP_SGE, 2},
    {isa::Opcode::v_cmp_gt_i64, llvm::CmpInst::ICMP_SGT, 2},
    {isa::Opcode::v_cmp_lt_u64, llvm::CmpInst::ICMP_ULT, 2},
    {isa::Opcode::v_cmp_le_u64, llvm::CmpInst::ICMP_ULE, 2},
    {isa::Opcode::v_cmp_eq_u64, llvm::CmpInst::ICMP_EQ, 2},
    {isa::Opcode::v_cmp_ne_u64, llvm::CmpInst::ICMP_NE, 2},
    {isa::Opcode::v_cmp_ge_u64, llvm::CmpInst::ICMP_UGE, 2},
    {isa::Opcode::v_cmp_gt_u64, llvm::CmpInst::ICMP_UGT, 2},
};

}  // namespace

const IntegerComparison* integer_comparison(isa::Opcode opcode) {
  const auto* found = std::ranges::find(kComparisons, opcode, &IntegerComparison::opcode);
  return found == std::end(kComparisons) ? nullptr : found;
}

std::optional<llvm::CmpInst::Predicate> order_of_words(isa::Opcode opcode) {
  using isa::Opcode;
  const auto predicate = [](Opcode writes_mask) { return integer_comparison(writes_mask)->predicate; };
  switch (opcode) {
    case Opcode::v_cmpx_lt_i32:
      return predicate(Opcode::v_cmp_lt_i32);
    case Opcode::v_cmpx_le_i32:
      return predicate(Opcode::v_cmp_le_i32);
    case Opcode::v_cmpx_gt_i32:
      return predicate(Opcode::v_cmp_gt_i32);
    case Opcode::v_cmpx_ge_i32:
      return predicate(Opcode::v_cmp_ge_i32);
    case Opcode::v_cmpx_lt_u32:
      return predicate(Opcode::v_cmp_lt_u32);
    case Opcode::v_cmpx_le_u32:
      return predicate(Opcode::v_cmp_le_u32);
    case Opcode::v_cmpx_gt_u32:
      return predicate(Opcode::v_cmp_gt_u32);
    case Opcode::v_cmpx_ge_u32:
      return predicate(Opcode::v_cmp_ge_u32);
    default:
      break;
  }
  const IntegerComparison* comparison = integer_comparison(opcode);
  if (!comparison || comparison->words != 1 || llvm::ICmpInst::isEquality(comparison->predicate))
    return std::nullopt;
  return comparison->predicate;
}

}  // namespace lockstep::translator

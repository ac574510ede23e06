#include "engine/translator/linear.h"

#include <bit>

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;
using llvm::Value;

constexpr uint32_t kLastLane = 15, kMaxStride = 4096;

bool is_uniform(const std::optional<Linear>& value) {
  return value && value->stride == 0;
}
// So that nothing wraps but where the first value does.
std::optional<Linear> bounded(Linear value) {
  if (value.stride > kMaxStride) return std::nullopt;
  return value;
}

}  // namespace

Value* LinearMath::changing_bits(const Linear& value) {
  return ir_->CreateXor(value.first, ir_->CreateAdd(value.first, ir_->getInt32(kLastLane * value.stride)));
}

void LinearMath::require_no_wrap(Linear& value) {
  if (value.stride != 0 && !value.never_wraps && ir_)
    add_doubt(ir_->CreateAnd(changing_bits(value), ir_->getInt32(1u << 31)));
  value.never_wraps = true;
}

// A value that wraps changes its highest bit.
void LinearMath::require_same_above(const Linear& value, unsigned bit) {
  if (value.stride == 0 || !ir_) return;
  add_doubt(ir_->CreateAnd(changing_bits(value), ir_->getInt32(~0u << bit)));
}

LinearMath::Result LinearMath::add(const Result& a, const Result& b) {
  if (!a || !b) return std::nullopt;
  Linear sum;
  sum.stride = a->stride + b->stride;
  sum.base = a->base >= 0 ? a->base : b->base;
  sum.first = value([&] { return ir_->CreateAdd(a->first, b->first); });
  return bounded(sum);
}

LinearMath::Result LinearMath::subtract(const Result& a, const Result& b) {
  if (!a || !b || a->stride < b->stride) return std::nullopt;
  Linear difference;
  difference.stride = a->stride - b->stride;
  difference.base = a->base;
  difference.first = value([&] { return ir_->CreateSub(a->first, b->first); });
  return difference;
}

LinearMath::Result LinearMath::multiply(const Result& a, const Result& b) {
  if (!a || !b) return std::nullopt;
  if (!is_uniform(a) && !is_uniform(b)) return std::nullopt;
  const Linear &factor = is_uniform(a) ? *a : *b, &other = is_uniform(a) ? *b : *a;
  if (other.stride != 0 && (!factor.constant || *factor.constant > kMaxStride)) return std::nullopt;
  Linear product;
  product.stride = other.stride != 0 ? other.stride * *factor.constant : 0;
  product.base = other.base;
  product.first = value([&] { return ir_->CreateMul(a->first, b->first); });
  return bounded(product);
}

LinearMath::Result LinearMath::shift_left(const Result& a, const Result& by) {
  if (!a || !is_uniform(by)) return std::nullopt;
  if (a->stride != 0 && (!by->constant || *by->constant % 32 > 12)) return std::nullopt;
  Linear shifted;
  shifted.stride = a->stride != 0 ? a->stride << *by->constant % 32 : 0;
  shifted.base = a->base;
  shifted.first = value([&] { return ir_->CreateShl(a->first, ir_->CreateAnd(by->first, 31)); });
  return bounded(shifted);
}

LinearMath::Result LinearMath::shift_right(const Result& a, const Result& by, bool is_signed) {
  if (!a || !is_uniform(by)) return std::nullopt;
  if (a->stride != 0) {
    if (!by->constant || *by->constant % 32 == 0) return std::nullopt;
    require_same_above(*a, *by->constant % 32);
  }
  Linear shifted;
  shifted.base = a->base;
  shifted.first = value([&] {
    Value* count = ir_->CreateAnd(by->first, 31);
    return is_signed ? ir_->CreateAShr(a->first, count) : ir_->CreateLShr(a->first, count);
  });
  return shifted;
}

LinearMath::Result LinearMath::low_bits(const Result& a, unsigned count) {
  if (count == 0 || count >= 32) return std::nullopt;
  Linear low = *a;
  require_same_above(low, count);
  low.never_wraps = true;
  low.constant = std::nullopt;
  low.first = value([&] { return ir_->CreateAnd(a->first, (1u << count) - 1); });
  return low;
}

LinearMath::Result LinearMath::bit_and(const Result& a, const Result& b) {
  if (!a || !b) return std::nullopt;
  if (is_uniform(a) && is_uniform(b)) {
    Linear both;
    both.first = value([&] { return ir_->CreateAnd(a->first, b->first); });
    return both;
  }
  const Linear &mask = is_uniform(a) ? *a : *b, &other = is_uniform(a) ? *b : *a;
  if (!mask.constant || !std::has_single_bit(*mask.constant + 1)) return std::nullopt;
  return low_bits(other, static_cast<unsigned>(std::popcount(*mask.constant)));
}

// Bits that vary must not meet others.
LinearMath::Result LinearMath::bit_or(Result a, Result b) {
  if (!is_uniform(a)) std::swap(a, b);
  if (!is_uniform(a) || !b) return std::nullopt;
  Linear both = *b;
  both.never_wraps = b->stride != 0;
  both.constant = std::nullopt;
  if (!ir_) return both;
  if (b->stride != 0) {
    Value* changes = changing_bits(*b);
    Value* unchanged = ir_->CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, changes, ir_->getFalse());
    Value* varying =
        ir_->CreateLShr(ir_->getInt64(0xffffffff), ir_->CreateZExt(unchanged, ir_->getInt64Ty()));
    Value* meets = ir_->CreateAnd(a->first, ir_->CreateTrunc(varying, ir_->getInt32Ty()));
    add_doubt(meets);
    require_no_wrap(*b);
  }
  both.first = ir_->CreateOr(a->first, b->first);
  return both;
}

LinearResult LinearMath::result_of(const isa::Instruction& instruction, const Half& half,
                                   const Sources& sources, const Carries& carries) {
  LinearResult result;
  if (instruction.dpp != isa::Dpp::none || instruction.clamp || instruction.omod != 0) return result;
  std::array<const isa::Operand*, 3> operands{};
  for (unsigned i = half.first; i < half.last; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.neg || operand.abs || operand.high) return result;
    if (operand.role >= Role::src0 && operand.role <= Role::src2)
      operands[static_cast<unsigned>(operand.role) - static_cast<unsigned>(Role::src0)] = &operand;
  }
  const auto source = [&](unsigned i, unsigned word = 0) {
    return operands[i] ? sources(*operands[i], word) : std::nullopt;
  };
  const auto constant = [&](uint32_t number) {
    Linear linear;
    linear.constant = number;
    linear.first = value([&] { return ir_->getInt32(number); });
    return linear;
  };
  Result& low = result.words[0];
  Result& high = result.words[1];
  result.writes_all = true;
  switch (half.row->base) {
    case Opcode::v_mov_b32:
      low = source(0);
      break;
    case Opcode::v_add_nc_u32:
      low = add(source(0), source(1));
      break;
    case Opcode::v_sub_nc_u32:
      low = subtract(source(0), source(1));
      break;
    case Opcode::v_subrev_nc_u32:
      low = subtract(source(1), source(0));
      break;
    case Opcode::v_add3_u32:
      low = add(add(source(0), source(1)), source(2));
      break;
    case Opcode::v_lshlrev_b32:
      low = shift_left(source(1), source(0));
      break;
    case Opcode::v_lshl_add_u32:
      low = add(shift_left(source(0), source(1)), source(2));
      break;
    case Opcode::v_add_lshl_u32:
      low = shift_left(add(source(0), source(1)), source(2));
      break;
    case Opcode::v_lshl_or_b32:
      low = bit_or(shift_left(source(0), source(1)), source(2));
      break;
    case Opcode::v_or_b32:
      low = bit_or(source(0), source(1));
      break;
    case Opcode::v_and_b32:
      low = bit_and(source(0), source(1));
      break;
    case Opcode::v_mul_lo_u32:
      low = multiply(source(0), source(1));
      break;
    case Opcode::v_lshrrev_b32:
      low = shift_right(source(1), source(0), false);
      break;
    case Opcode::v_ashrrev_i32:
      low = shift_right(source(1), source(0), true);
      break;
    case Opcode::v_bfe_u32: {
      const Result field = source(0), offset = source(1), width = source(2);
      if (!field || !offset || !width || !offset->constant || !width->constant) break;
      const unsigned begin = *offset->constant % 32, bits = *width->constant % 32;
      if (bits == 0) break;
      if (begin == 0)
        low = low_bits(field, bits);
      else
        low = bit_and(shift_right(field, offset, false), constant((1u << bits) - 1));
      break;
    }
    case Opcode::v_mad_u64_u32: {
      const Result a = source(0), b = source(1), c = source(2), c_high = source(2, 1);
      low = add(multiply(a, b), c);
      result.writes_all = false;
      // The whole number only where it is the same in all lanes.
      if (!is_uniform(a) || !is_uniform(b) || !is_uniform(c) || !is_uniform(c_high)) break;
      high = Linear{};
      if (!ir_) break;
      llvm::Type* wide = ir_->getInt64Ty();
      Value* addend = ir_->CreateOr(ir_->CreateZExt(c->first, wide),
                                    ir_->CreateShl(ir_->CreateZExt(c_high->first, wide), 32));
      Value* sum = ir_->CreateAdd(
          ir_->CreateMul(ir_->CreateZExt(a->first, wide), ir_->CreateZExt(b->first, wide)), addend);
      high->first = ir_->CreateTrunc(ir_->CreateLShr(sum, 32), ir_->getInt32Ty());
      break;
    }
    case Opcode::v_lshlrev_b64: {
      const Result by = source(0), from = source(1), from_high = source(1, 1);
      if (!by || !by->constant || !from) break;
      const unsigned count = *by->constant % 64;
      if (count == 0 || count > 12) break;
      low = shift_left(from, by);
      if (!low || !is_uniform(from_high)) break;
      require_same_above(*from, 32 - count);
      low->never_wraps = true;
      high = Linear{};
      high->base = from_high->base;
      high->first = value([&] {
        return ir_->CreateOr(ir_->CreateShl(from_high->first, count),
                             ir_->CreateLShr(from->first, 32 - count));
      });
      break;
    }
    case Opcode::v_add_co_u32: {
      Result a = source(0), b = source(1);
      low = add(a, b);
      if (!low) break;
      require_no_wrap(*a);
      require_no_wrap(*b);
      require_no_wrap(*low);
      for (unsigned i : {0u, 1u})
        if (!operands[i]->is_vgpr() && source(i)->base >= 0) low->base = source(i)->base;
      result.has_carry = true;
      result.carry = value([&] { return ir_->CreateICmpULT(low->first, a->first); });
      break;
    }
    case Opcode::v_add_co_ci_u32: {
      const Result a = source(0), b = source(1);
      Value* carry = nullptr;
      if (!is_uniform(a) || !is_uniform(b) || !operands[2] || !carries(*operands[2], carry)) break;
      low = Linear{};
      low->base = a->base;
      result.has_carry = true;
      if (!ir_) break;
      llvm::Type* wide = ir_->getInt64Ty();
      Value* sum =
          ir_->CreateAdd(ir_->CreateAdd(ir_->CreateZExt(a->first, wide), ir_->CreateZExt(b->first, wide)),
                         ir_->CreateZExt(carry, wide));
      low->first = ir_->CreateTrunc(sum, ir_->getInt32Ty());
      result.carry = ir_->CreateTrunc(ir_->CreateLShr(sum, 32), ir_->getInt1Ty());
      break;
    }
    default:
      break;
  }
  if (!low || (half.row->base == Opcode::v_lshlrev_b64 && !high)) result.writes_all = false;
  return result;
}

}  // namespace lockstep::translator

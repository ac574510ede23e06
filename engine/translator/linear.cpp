#include "engine/translator/linear.h"

#include <llvm/IR/Intrinsics.h>

#include <bit>
#include <cstdlib>

#include "engine/translator/integer_comparisons.h"
#include "engine/translator/registers.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;
using llvm::Value;

constexpr int32_t kMaxStride = 4096;

bool is_uniform(const std::optional<Linear>& value) {
  return value && value->stride == 0 && !value->is_high;
}
int base_of(const Linear& scalar, const Linear& other) {
  return scalar.base + (other.root + 1) * static_cast<int>(kRegisters);
}
// So that nothing wraps but where the first value does.
std::optional<Linear> bounded(Linear value) {
  if (std::abs(value.stride) > kMaxStride) return std::nullopt;
  return value;
}

}  // namespace

Value* LinearMath::last_of(const Linear& value) {
  return ir_->CreateAdd(value.first, ir_->getInt32(static_cast<uint32_t>(last_lane_ * value.stride)));
}

Value* LinearMath::changing_bits(const Linear& value) {
  const int32_t distance = last_lane_ * value.stride;
  if (value.zero_bits != 0 && distance >= 0 && distance < 1 << value.zero_bits)
    return ir_->getInt32(static_cast<uint32_t>(distance));
  return ir_->CreateXor(value.first, last_of(value));
}

Linear LinearMath::from_lane(const Linear& value, unsigned lane) {
  Linear later = value;
  const int32_t distance = static_cast<int32_t>(lane) * value.stride;
  if (distance == 0 || !ir_) return later;
  later.zero_bits = 0;
  if (value.first) later.first = ir_->CreateAdd(value.first, ir_->getInt32(static_cast<uint32_t>(distance)));
  if (value.first_of_pair)
    later.first_of_pair =
        ir_->CreateAdd(value.first_of_pair, ir_->getInt64(static_cast<uint64_t>(int64_t{distance})));
  if (value.first_from_low)
    later.first_from_low =
        ir_->CreateAdd(value.first_from_low, ir_->getInt64(static_cast<uint64_t>(int64_t{distance})));
  return later;
}

void LinearMath::require_no_wrap(Linear& value) {
  if (value.stride != 0 && !value.never_wraps && ir_) add_doubt(changing_bits(value), 1u << 31);
  value.never_wraps = true;
}

// A value that wraps changes its highest bit.
void LinearMath::require_same_above(const Linear& value, unsigned bit) {
  if (value.stride == 0 || !ir_) return;
  add_doubt(changing_bits(value), ~0u << bit);
}

void LinearMath::add_doubt(Value* value, uint32_t bits) {
  Value*& all = doubts_[bits];
  all = all ? ir_->CreateOr(all, value) : value;
}

Value* LinearMath::take_doubt() {
  Value* together = nullptr;
  for (const auto& [bits, value] : doubts_) {
    Value* doubt = ir_->CreateAnd(value, ir_->getInt32(bits));
    together = together ? ir_->CreateOr(together, doubt) : doubt;
  }
  doubts_.clear();
  return together;
}

std::optional<Linear> LinearMath::whole_of(const Result& low, const Result& high) {
  if (!low || !high || low->is_high) return std::nullopt;
  Linear whole = *low;
  if (low->is_half_with(*high)) {
    whole.first_of_pair = high->first_of_pair;
    return whole;
  }
  if (!is_uniform(high)) return std::nullopt;
  require_no_wrap(whole);
  whole.first_of_pair = value([&] {
    llvm::Type* wide = ir_->getInt64Ty();
    return ir_->CreateOr(ir_->CreateZExt(low->first, wide),
                         ir_->CreateShl(ir_->CreateZExt(high->first, wide), 32));
  });
  return whole;
}

void LinearMath::set_halves(LinearResult& result, const Linear& whole) {
  Linear low;
  low.stride = whole.stride;
  low.base = whole.base;
  low.pair = ++pairs_;
  low.first = value([&] { return ir_->CreateTrunc(whole.first_of_pair, ir_->getInt32Ty()); });
  low.first_of_pair = whole.first_of_pair;
  Linear high = low;
  high.is_high = true;
  high.first = nullptr;
  result.words = {low, high};
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
  if (!a || !b) return std::nullopt;
  Linear difference;
  difference.stride = a->stride - b->stride;
  difference.base = a->base;
  difference.first = value([&] { return ir_->CreateSub(a->first, b->first); });
  return bounded(difference);
}

LinearMath::Result LinearMath::inverted(const Result& a) {
  if (!a) return std::nullopt;
  Linear opposite;
  opposite.stride = -a->stride;
  if (a->pair != 0) {
    unsigned& pair = inverted_pairs_[a->pair];
    if (pair == 0) pair = ++pairs_;
    opposite.pair = pair;
    opposite.is_high = a->is_high;
    if (a->first_of_pair) opposite.first_of_pair = ir_->CreateNot(a->first_of_pair);
  }
  if (!a->is_high) opposite.first = value([&] { return ir_->CreateNot(a->first); });
  return opposite;
}

// What all lanes choose alike is as linear as both.
LinearMath::Result LinearMath::chosen(const Result& a, const Result& b, const AlikeMask& mask) {
  if (!a || !b || a->stride != b->stride) return std::nullopt;
  Linear either;
  either.stride = a->stride;
  either.first = value([&] { return ir_->CreateSelect(mask.has_lanes, b->first, a->first); });
  return either;
}

LinearMath::Result LinearMath::multiply(const Result& a, const Result& b) {
  if (!a || !b) return std::nullopt;
  if (!is_uniform(a) && !is_uniform(b)) return std::nullopt;
  const Linear &factor = is_uniform(a) ? *a : *b, &other = is_uniform(a) ? *b : *a;
  const auto number = static_cast<int32_t>(factor.constant.value_or(0));
  if (other.stride != 0 && (!factor.constant || number > kMaxStride || number < -kMaxStride))
    return std::nullopt;
  Linear product;
  product.stride = other.stride * number;
  product.base = other.base;
  product.first = value([&] { return ir_->CreateMul(a->first, b->first); });
  return bounded(product);
}

LinearMath::Result LinearMath::shift_left(const Result& a, const Result& by) {
  if (!a || !is_uniform(by)) return std::nullopt;
  if (a->stride != 0 && (!by->constant || *by->constant % 32 > 12)) return std::nullopt;
  Linear shifted;
  shifted.stride = a->stride != 0 ? a->stride * (1 << *by->constant % 32) : 0;
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

LinearMath::Result LinearMath::of_two(const Linear& a, const Linear& b, bool is_least, Order order) {
  using llvm::Intrinsic::smax, llvm::Intrinsic::smin, llvm::Intrinsic::umax, llvm::Intrinsic::umin;
  Linear one;
  one.first = value([&] {
    const auto which = order.is_signed ? (is_least ? smin : smax) : (is_least ? umin : umax);
    return ir_->CreateBinaryIntrinsic(which, a.first, b.first);
  });
  return one;
}

// What keeps indices inside of a picture or an array changes few of them, at its edges.
LinearMath::Result LinearMath::within(const Result& a, const Result& b, bool is_least, Order order) {
  if (!a || !b) return std::nullopt;
  if (is_uniform(a) && is_uniform(b)) return of_two(*a, *b, is_least, order);
  if (!is_uniform(a) && !is_uniform(b)) return std::nullopt;
  const Linear& bound = is_uniform(a) ? *a : *b;
  Linear inside = is_uniform(a) ? *b : *a;
  inside.pair = 0;
  require_no_wrap(inside);
  if (!ir_) return inside;
  const bool is_below = !is_least;
  Value* extreme = is_least == (inside.stride > 0) ? last_of(inside) : inside.first;
  Value *lesser = is_below ? extreme : bound.first, *greater = is_below ? bound.first : extreme;
  Value* is_beyond =
      order.is_signed ? ir_->CreateICmpSLT(lesser, greater) : ir_->CreateICmpULT(lesser, greater);
  add_doubt(ir_->CreateZExt(is_beyond, ir_->getInt32Ty()));
  return inside;
}

LinearMath::Result LinearMath::least(const Result& a, const Result& b, Order order) {
  return within(a, b, true, order);
}

LinearMath::Result LinearMath::most(const Result& a, const Result& b, Order order) {
  return within(a, b, false, order);
}

LinearMath::Result LinearMath::middle(const Result& a, const Result& b, const Result& c, Order order) {
  if (!a || !b || !c) return std::nullopt;
  const Result* const all[] = {&a, &b, &c};
  unsigned varying = 0;
  for (unsigned i = 0; i < 3; ++i)
    if (!is_uniform(*all[i])) varying = i;
  const Result &index = *all[varying], &one = *all[(varying + 1) % 3], &other = *all[(varying + 2) % 3];
  if (!is_uniform(one) || !is_uniform(other)) return std::nullopt;
  return least(most(index, of_two(*one, *other, true, order), order), of_two(*one, *other, false, order),
               order);
}

LinearMath::Result LinearMath::below_2_to(unsigned bits, const Result& a) {
  if (!a || !ir_) return a;
  add_doubt(a->first, ~0u << bits);
  if (a->stride != 0) add_doubt(changing_bits(*a), ~0u << bits);
  return a;
}

LinearMath::Result LinearMath::of_signed_bits(unsigned bits, const Result& a) {
  if (!a || !ir_) return a;
  Linear raised = *a;
  raised.first = ir_->CreateAdd(a->first, ir_->getInt32(1u << (bits - 1)));
  below_2_to(bits, raised);
  return a;
}

// What is taken for a signed number of so many bits is one, as a rule.
LinearMath::Result LinearMath::sign_extended(const Result& a, unsigned bits) {
  if (!a || bits == 0) return std::nullopt;
  Linear number;
  if (is_uniform(a)) {
    number.first = value([&] { return ir_->CreateAShr(ir_->CreateShl(a->first, 32 - bits), 32 - bits); });
    return number;
  }
  number = *of_signed_bits(bits, a);
  number.pair = 0;
  return number;
}

LinearMath::Result LinearMath::low_bits(const Result& a, unsigned count) {
  if (count == 0 || count >= 32) return std::nullopt;
  Linear low = *a;
  require_same_above(low, count);
  low.never_wraps = true;
  low.constant = std::nullopt;
  low.pair = 0;
  low.first = value([&] { return ir_->CreateAnd(a->first, (1u << count) - 1); });
  return low;
}

// Compilers clear the bits of a pair that they know to be zero. The low half stays what it was.
LinearMath::Result LinearMath::low_bits_of_high(const Linear& high, const Result& mask) {
  if (!mask || !mask->constant || !std::has_single_bit(*mask->constant + 1)) return std::nullopt;
  const auto bits = static_cast<unsigned>(32 + std::popcount(*mask->constant));
  Linear low = high;
  if (bits == 64) return low;
  if (bits == high.bits_from_low) {
    low.first_of_pair = high.first_from_low;
    if (high.doubt_from_low) add_doubt(high.doubt_from_low, 1u << 31);
    return low;
  }
  low.first_of_pair = value([&] {
    Value* kept = ir_->CreateAnd(high.first_of_pair, (uint64_t{1} << bits) - 1);
    // No lane may carry into the bits that are gone, or borrow from them.
    Value* last =
        ir_->CreateAdd(kept, ir_->getInt64(static_cast<uint64_t>(int64_t{last_lane_} * high.stride)));
    add_doubt(ir_->CreateTrunc(ir_->CreateLShr(last, bits), ir_->getInt32Ty()));
    return kept;
  });
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
  both.pair = 0;
  both.zero_bits = 0;
  if (!ir_) return both;
  if (b->stride != 0) {
    Value* changes = changing_bits(*b);
    Value* unchanged = ir_->CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, changes, ir_->getFalse());
    Value* varying = ir_->CreateTrunc(
        ir_->CreateLShr(ir_->getInt64(0xffffffff), ir_->CreateZExt(unchanged, ir_->getInt64Ty())),
        ir_->getInt32Ty());
    // Those below the stride do not vary.
    const auto below = static_cast<unsigned>(std::countr_zero(static_cast<uint32_t>(b->stride)));
    add_doubt(ir_->CreateAnd(a->first, ir_->CreateAnd(varying, ~0u << below)));
    require_no_wrap(*b);
  }
  both.first = ir_->CreateOr(a->first, b->first);
  return both;
}

LinearResult LinearMath::result_of(const isa::Instruction& instruction, const Half& part,
                                   const Sources& sources, const Carries& carries, const Masks& masks) {
  LinearResult result;
  if (instruction.dpp != isa::Dpp::none || instruction.clamp || instruction.omod != 0) return result;
  std::array<const isa::Operand*, 3> operands{};
  for (unsigned i = part.first; i < part.last; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.neg || operand.abs || operand.high) return result;
    if (operand.role >= Role::src0 && operand.role <= Role::src2)
      operands[static_cast<unsigned>(operand.role) - static_cast<unsigned>(Role::src0)] = &operand;
  }
  // The high half of a pair is good for nothing else.
  const auto half = [&](unsigned i, unsigned word) {
    return operands[i] ? sources(*operands[i], word) : std::nullopt;
  };
  const auto source = [&](unsigned i) {
    Result value = half(i, 0);
    if (value && value->is_high) value = std::nullopt;
    return value;
  };
  const auto constant = [&](uint32_t number) {
    Linear linear;
    linear.constant = number;
    linear.first = value([&] { return ir_->getInt32(number); });
    return linear;
  };
  Result& low = result.words[0];
  // The high half of what the low halves have added up to.
  const auto set_high = [&](const LowSum& sum, const Linear& whole, Value* first_of_pair) {
    low = whole;
    low->pair = sum.pair;
    low->is_high = true;
    low->first = nullptr;
    low->first_of_pair = first_of_pair;
  };
  switch (part.row->base) {
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
    case Opcode::v_not_b32:
      low = inverted(half(0, 0));
      break;
    // Compilers subtract from one less so, or by an exclusive or alone.
    case Opcode::v_xad_u32:
    case Opcode::v_xor_b32: {
      const Result a = source(0), b = source(1);
      const auto are_ones = [](const Result& each) { return each && each->constant == ~0u; };
      if (!are_ones(a) && !are_ones(b)) break;
      low = inverted(are_ones(a) ? b : a);
      if (part.row->base == Opcode::v_xad_u32) low = add(low, source(2));
      break;
    }
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
    case Opcode::v_and_or_b32:
      low = bit_or(bit_and(source(0), source(1)), source(2));
      break;
    case Opcode::v_or3_b32:
      low = bit_or(bit_or(source(0), source(1)), source(2));
      break;
    case Opcode::v_or_b32:
      low = bit_or(source(0), source(1));
      break;
    case Opcode::v_and_b32: {
      const bool first_is_high = half(0, 0) && half(0, 0)->is_high;
      const Result high = half(first_is_high ? 0 : 1, 0), mask = half(first_is_high ? 1 : 0, 0);
      low = high && high->is_high ? low_bits_of_high(*high, mask) : bit_and(source(0), source(1));
      break;
    }
    case Opcode::v_min_i32:
      low = least(source(0), source(1), {.is_signed = true});
      break;
    case Opcode::v_min_u32:
      low = least(source(0), source(1), {.is_signed = false});
      break;
    case Opcode::v_max_i32:
      low = most(source(0), source(1), {.is_signed = true});
      break;
    case Opcode::v_max_u32:
      low = most(source(0), source(1), {.is_signed = false});
      break;
    case Opcode::v_med3_i32:
      low = middle(source(0), source(1), source(2), {.is_signed = true});
      break;
    case Opcode::v_med3_u32:
      low = middle(source(0), source(1), source(2), {.is_signed = false});
      break;
    case Opcode::v_maxmin_i32:
      low = least(most(source(0), source(1), {.is_signed = true}), source(2), {.is_signed = true});
      break;
    case Opcode::v_maxmin_u32:
      low = least(most(source(0), source(1), {.is_signed = false}), source(2), {.is_signed = false});
      break;
    case Opcode::v_minmax_i32:
      low = most(least(source(0), source(1), {.is_signed = true}), source(2), {.is_signed = true});
      break;
    case Opcode::v_minmax_u32:
      low = most(least(source(0), source(1), {.is_signed = false}), source(2), {.is_signed = false});
      break;
    case Opcode::v_mul_lo_u32:
      low = multiply(source(0), source(1));
      break;
    case Opcode::v_mul_u32_u24:
      low = multiply(below_2_to(24, source(0)), below_2_to(24, source(1)));
      break;
    case Opcode::v_mul_i32_i24:
      low = multiply(of_signed_bits(24, source(0)), of_signed_bits(24, source(1)));
      break;
    case Opcode::v_mad_i32_i24:
      low = add(multiply(of_signed_bits(24, source(0)), of_signed_bits(24, source(1))), source(2));
      break;
    case Opcode::v_mad_u32_u24:
      low = add(multiply(below_2_to(24, source(0)), below_2_to(24, source(1))), source(2));
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
    case Opcode::v_bfe_i32: {
      const Result offset = source(1), width = source(2);
      if (offset && width && offset->constant && width->constant && *offset->constant % 32 == 0)
        low = sign_extended(source(0), *width->constant % 32);
      break;
    }
    case Opcode::v_mad_i64_i32:
    case Opcode::v_mad_u64_u32: {
      const bool is_signed = part.row->base == Opcode::v_mad_i64_i32;
      Result a = source(0), b = source(1);
      const Result addend = source(2), product = multiply(a, b);
      low = add(product, addend);
      // All 64 bits only of a sum with a pair that is the same in all lanes.
      const Result addend_high = half(2, 1);
      if (!low || !is_uniform(addend) || !is_uniform(addend_high)) break;
      // Of numbers without signs such a factor is a large one.
      const auto is_negative = [](const Result& each) { return each->constant.value_or(0) >> 31 != 0; };
      if (!is_signed && low->stride != 0 && (is_negative(a) || is_negative(b))) break;
      require_no_wrap(*a);
      require_no_wrap(*b);
      Linear whole = *low;
      whole.base = addend->base;
      whole.first_of_pair = value([&] {
        llvm::Type* wide = ir_->getInt64Ty();
        const auto widened = [&](Value* factor) {
          return is_signed ? ir_->CreateSExt(factor, wide) : ir_->CreateZExt(factor, wide);
        };
        Value* factors = ir_->CreateMul(widened(a->first), widened(b->first));
        return ir_->CreateAdd(factors, whole_of(addend, addend_high)->first_of_pair);
      });
      set_halves(result, whole);
      break;
    }
    case Opcode::v_lshlrev_b64: {
      const Result by = source(0), from = source(1);
      if (!by || !by->constant || !from) break;
      const unsigned count = *by->constant % 64;
      if (count == 0 || count > 12) break;
      low = shift_left(from, by);
      const Result whole = low ? whole_of(from, half(1, 1)) : std::nullopt;
      if (!whole) break;
      Linear shifted = *low;
      shifted.first_of_pair = value([&] { return ir_->CreateShl(whole->first_of_pair, count); });
      set_halves(result, shifted);
      Linear& high = *result.words[1];
      high.bits_from_low = 32 + count;
      if (!ir_) break;
      high.first_from_low = ir_->CreateShl(ir_->CreateZExt(from->first, ir_->getInt64Ty()), count);
      if (from->stride != 0 && !from->never_wraps) high.doubt_from_low = changing_bits(*from);
      break;
    }
    // Of a signed index in the high half, with nothing below it: what compilers make of its offset in bytes.
    case Opcode::v_ashrrev_i64: {
      const Result by = source(0), below = source(1);
      Result index = half(1, 1);
      if (!by || !by->constant || !is_uniform(below) || !index || index->is_high) break;
      const unsigned count = 32 - *by->constant % 64;
      if (count == 0 || count > 12 || std::abs(index->stride) * (1 << count) > kMaxStride) break;
      require_no_wrap(*index);
      if (ir_) add_doubt(below->first);
      Linear whole = *index;
      whole.constant = std::nullopt;
      whole.stride = index->stride * (1 << count);
      whole.first_of_pair =
          value([&] { return ir_->CreateShl(ir_->CreateSExt(index->first, ir_->getInt64Ty()), count); });
      set_halves(result, whole);
      break;
    }
    case Opcode::v_add_co_u32: {
      const Result a = source(0), b = source(1);
      low = add(a, b);
      if (!low) break;
      if (a->constant && b->constant) low = constant(*a->constant + *b->constant);
      if (!operands[0]->is_vgpr()) low->base = base_of(*a, *b);
      if (!operands[1]->is_vgpr()) low->base = base_of(*b, *a);
      low->pair = ++pairs_;
      result.low_sum = LowSum{*a, *b, low->pair};
      break;
    }
    case Opcode::v_add_co_ci_u32: {
      const std::optional<LowSum> sum = operands[2] ? carries(*operands[2]) : std::nullopt;
      if (!sum || sum->is_difference) break;
      // Of indices in the high halves, with nothing below them.
      if (sum->a.constant == 0u && sum->b.constant == 0u) {
        low = add(source(0), source(1));
        break;
      }
      // Which high half is whose is open.
      Result a = whole_of(sum->a, half(0, 0)), b = whole_of(sum->b, half(1, 0));
      if (!a || !b || (sum->a.pair != 0 && !sum->a.is_half_with(*half(0, 0)))) {
        a = whole_of(sum->a, half(1, 0));
        b = whole_of(sum->b, half(0, 0));
      }
      const Result whole = a && b ? add(a, b) : std::nullopt;
      if (!whole) break;
      set_high(*sum, *whole, value([&] { return ir_->CreateAdd(a->first_of_pair, b->first_of_pair); }));
      break;
    }
    case Opcode::v_sub_co_u32:
    case Opcode::v_subrev_co_u32: {
      const bool is_reverse = part.row->base == Opcode::v_subrev_co_u32;
      const Result a = source(is_reverse ? 1 : 0), b = source(is_reverse ? 0 : 1);
      low = subtract(a, b);
      if (!low) break;
      low->pair = ++pairs_;
      result.low_sum = LowSum{*a, *b, low->pair, true};
      break;
    }
    case Opcode::v_sub_co_ci_u32:
    case Opcode::v_subrev_co_ci_u32: {
      const std::optional<LowSum> difference = operands[2] ? carries(*operands[2]) : std::nullopt;
      if (!difference || !difference->is_difference) break;
      const unsigned minuend = part.row->base == Opcode::v_subrev_co_ci_u32 ? 1 : 0;
      const Result a = whole_of(difference->a, half(minuend, 0)),
                   b = whole_of(difference->b, half(1 - minuend, 0));
      const Result whole = a && b ? subtract(a, b) : std::nullopt;
      if (!whole) break;
      set_high(*difference, *whole,
               value([&] { return ir_->CreateSub(a->first_of_pair, b->first_of_pair); }));
      break;
    }
    case Opcode::v_cndmask_b32:
      if (const std::optional<AlikeMask> mask = operands[2] ? masks(*operands[2]) : std::nullopt)
        low = chosen(source(0), source(1), *mask);
      break;
    default: {
      const IntegerComparison* comparison = integer_comparison(part.row->base);
      if (!comparison) break;
      const auto number = [&](unsigned i) -> Result {
        const Result low_word = source(i);
        if (!is_uniform(low_word) || comparison->words == 1) return low_word;
        return whole_of(low_word, half(i, 1));
      };
      const Result a = number(0), b = number(1);
      if (!is_uniform(a) || !is_uniform(b)) break;
      result.mask = AlikeMask{value([&] {
        return comparison->words == 1
                   ? ir_->CreateICmp(comparison->predicate, a->first, b->first)
                   : ir_->CreateICmp(comparison->predicate, a->first_of_pair, b->first_of_pair);
      })};
      break;
    }
  }
  for (Result& word : result.words)
    if (word && part.row->base != Opcode::v_mov_b32) word->root = -1;
  return result;
}

}  // namespace lockstep::translator

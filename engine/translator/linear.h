// Registers whose 16 lanes of a chunk hold first + lane * stride: work-item ids, and most addresses made of
// them. They are computed as one scalar, and an access at such an address is one plain vector move.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "engine/translator/classify.h"
#include "isa/instruction.h"

namespace lockstep::translator {

struct Linear {
  int32_t stride = 0;        // 0: all lanes hold the same
  bool never_wraps = false;  // as an unsigned number, from the first to the last lane
  int root = -1;             // the VGPR that it has been since the block's begin
  unsigned zero_bits = 0;    // of lane 0, the lowest
  // The SGPR that was added last, and the root that it was added to: addresses in one buffer have the same
  // ones. Which of both is the buffer's is open, as where a loop's offset is added to pointers. Only a guess.
  int base = -1;
  std::optional<uint32_t> constant;
  // Not 0: this is one half of a number of 64 bits, which itself is linear; the other half has the same one.
  // The high half need not be linear.
  unsigned pair = 0;
  bool is_high = false;
  // Of lane 0, null while nobody wants more than the shape: i32 (not of high halves), and i64 of a pair.
  llvm::Value *first = nullptr, *first_of_pair = nullptr;
  // Of the high half of a pair that was shifted left: so many bits of the pair come from the low half alone,
  // and are these where the doubt's highest bit is clear.
  unsigned bits_from_low = 0;
  llvm::Value *first_from_low = nullptr, *doubt_from_low = nullptr;

  bool is_half_with(const Linear& high) const {
    return pair != 0 && pair == high.pair && !is_high && high.is_high;
  }
};

// What adds up to the low half of a pair, or is subtracted from it; the carry stands for it.
struct LowSum {
  Linear a, b;
  unsigned pair = 0;
  bool is_difference = false;  // a - b
};

// A mask with all lanes that are on, or none of them: whether it has them, i1, null while nobody wants more
// than the shape.
struct AlikeMask {
  llvm::Value* has_lanes = nullptr;
};

// What an instruction makes of such operands. Which results are linear depends on strides and constants
// alone, so that it is known before there is code.
struct LinearResult {
  std::array<std::optional<Linear>, 2> words;  // of the destination
  std::optional<LowSum> low_sum;               // whose carry it writes
  std::optional<AlikeMask> mask;               // that it writes
};

class LinearMath {
 public:
  // Of so many lanes. Without a builder only shapes come out.
  LinearMath(llvm::IRBuilder<>* ir, unsigned lanes) : ir_(ir), last_lane_(static_cast<int32_t>(lanes) - 1) {}

  // Of a word of an operand; and of the carry, or the mask, that it names.
  using Sources = std::function<std::optional<Linear>(const isa::Operand&, unsigned word)>;
  using Carries = std::function<std::optional<LowSum>(const isa::Operand&)>;
  using Masks = std::function<std::optional<AlikeMask>(const isa::Operand&)>;
  LinearResult result_of(const isa::Instruction& instruction, const Half& half, const Sources& sources,
                         const Carries& carries, const Masks& masks);

  // From then on the value counts as one that does not wrap. It may not pass 2^31 either, which is cheaper to
  // see.
  void require_no_wrap(Linear& value);
  // An i32 that must be 0 for the results to be what the instructions would have made; null if they are in
  // any case. Then it begins anew.
  llvm::Value* take_doubt();
  // None of these bits of an i32 may be set.
  void add_doubt(llvm::Value* value, uint32_t bits = ~0u);
  // What the lanes from that one on hold, counted from it.
  Linear from_lane(const Linear& value, unsigned lane);
  // The number of 64 bits that has these halves, with its first_of_pair.
  std::optional<Linear> whole_of(const std::optional<Linear>& low, const std::optional<Linear>& high);

 private:
  using Result = std::optional<Linear>;

  Result add(const Result& a, const Result& b);
  Result subtract(const Result& a, const Result& b);
  Result multiply(const Result& a, const Result& b);
  Result shift_left(const Result& a, const Result& by);
  Result shift_right(const Result& a, const Result& by, bool is_signed);
  Result bit_and(const Result& a, const Result& b);
  Result bit_or(Result a, Result b);
  struct Order {
    bool is_signed = false;
  };
  Result least(const Result& a, const Result& b, Order order);
  Result most(const Result& a, const Result& b, Order order);
  Result middle(const Result& a, const Result& b, const Result& c, Order order);
  // The lesser of two numbers that are the same in all lanes, or the greater one.
  Result of_two(const Linear& a, const Linear& b, bool is_least, Order order);
  // The varying one of two, of which no lane may be beyond the other.
  Result within(const Result& a, const Result& b, bool is_least, Order order);
  Result below_2_to(unsigned bits, const Result& a);
  Result of_signed_bits(unsigned bits, const Result& a);
  Result sign_extended(const Result& a, unsigned bits);
  Result inverted(const Result& a);
  Result chosen(const Result& a, const Result& b, const AlikeMask& mask);
  Result low_bits(const Result& a, unsigned count);
  Result low_bits_of_high(const Linear& high, const Result& mask);
  // All lanes have the same bits from `bit` on.
  void require_same_above(const Linear& value, unsigned bit);
  template <class Make>
  llvm::Value* value(const Make& make) {
    return ir_ ? make() : nullptr;
  }
  void set_halves(LinearResult& result, const Linear& whole);
  llvm::Value* changing_bits(const Linear& value);
  // i32: what the last lane holds.
  llvm::Value* last_of(const Linear& value);

  llvm::IRBuilder<>* ir_;
  const int32_t last_lane_;
  std::map<uint32_t, llvm::Value*> doubts_;  // by the bits that count
  unsigned pairs_ = 0;
  std::map<unsigned, unsigned> inverted_pairs_;  // by what was inverted
};

}  // namespace lockstep::translator

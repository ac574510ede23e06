// The handlers of every instruction, compiled once for each host instruction set and chosen at run time.
#pragma once

#include <array>
#include <map>
#include <utility>

#include "engine/interpreter/operation.h"

namespace lockstep::interpreter {

struct ValuHandlers {
  // Plain: no modifiers, default float mode. By which sources are scalars or constants, bit i for source i
  // (masks have none); the others are VGPRs. Null where compilers hardly make such instructions.
  std::array<Handler, 8> plain{};
  std::array<Handler, 8> plain_of_wave32{};  // the same where waves have 32 lanes
  const std::array<Handler, 8>& plain_of(unsigned wave_size) const {
    return wave_size == 32 ? plain_of_wave32 : plain;
  }
  Handler any = nullptr;               // every operand kind and modifier
  Handler any_of_wave32 = nullptr;     // the same where waves have 32 lanes
  Handler any_runtime_mode = nullptr;  // the same in any float mode
  Handler saturated = nullptr;         // integer CLAMP
  bool takes_mode = false;             // the result depends on the float mode
};

struct MatrixProduct;  // matrix.h
using MatrixFunction = void (*)(Wave&, const MatrixProduct&);

// Handlers that do an operation and the one behind it.
class PairHandlers {
 public:
  // `sources` of the second one are VGPRs, bit i for source i; the first one writes those of `forwarded`.
  void add(Handler first, Handler second, unsigned sources, unsigned forwarded, Handler both);
  // Likewise of sums of which the second one adds the carry of the first one, and has its own in the same
  // place; the first one writes none of its other sources.
  void add_with_carry(Handler first, Handler second, unsigned sources, Handler both);
  // What does both of two operations, or null. `first` and `second` are the handlers that they have by
  // themselves; the second one's may be that of a pair that it begins.
  Handler of(Handler first, const Operation& operation, Handler second, const Operation& behind) const;
  bool has(Handler both) const { return first_of_.contains(both); }

 private:
  struct OfTwo {
    unsigned sources = 0;
    bool carries = false;
    std::array<Handler, 8> by_forwarded{};
  };
  std::map<std::pair<Handler, Handler>, OfTwo> of_;
  std::map<Handler, Handler> first_of_;  // by the handler of the pair
};

constexpr size_t kOpcodes = static_cast<size_t>(isa::Opcode::count);

struct HandlerTable {
  std::array<ValuHandlers, kOpcodes> valu{};
  // Everything that is not vector ALU: scalar, memory, control, cross-lane.
  std::array<Handler, kOpcodes> other{};
  // The same for operations with a literal or a wide constant among scalar sources.
  std::array<Handler, kOpcodes> other_literal{};
  // DS instructions with the GDS bit.
  std::array<Handler, kOpcodes> gds{};
  // What those of `other` do that are matrix instructions.
  std::array<MatrixFunction, kOpcodes> matrix{};
  // The handler of instructions without effect on the registers: waits that are satisfied, hints.
  Handler no_effect = nullptr;
  PairHandlers pairs;
  // Gathers source 0 of a DPP instruction into an engine register and sets Wave::dpp_write_mask.
  Handler dpp_gather = nullptr;
};

}  // namespace lockstep::interpreter

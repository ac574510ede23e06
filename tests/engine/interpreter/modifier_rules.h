// What the guide says of modifiers, stated a second time: by the names of the instructions and on plain bits,
// so that neither the rows of isa/ nor the helpers of the engine can be wrong in the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/row.h"

namespace lockstep::interpreter {

// How modifiers see a value.
struct Value {
  enum class Kind { integer, floating, moved, mask } kind = Kind::integer;  // moved: bits with a sign
  unsigned bits = 32;
  bool is_packed = false;  // two halves of 16 bits

  bool takes_sign() const { return kind == Kind::floating || kind == Kind::moved; }
  bool is_half() const { return bits == 16 && !is_packed; }
};

struct Form {
  std::vector<Value> sources;
  Value result;
};

// From the mnemonic, whose suffixes name the types (guide 7.2), and the few that break this rule.
Form form_of(const isa::Row& row);

// Guide table 30. `row` may be of any vector encoding.
bool takes_dpp(const isa::Row& row);
// Guide 7.2.3.1, with CLAMP bits that are there and ignored.
bool ignores_clamp(std::string_view mnemonic);

// ---- Sources: what ABS and then NEG make of the bits of one value
uint64_t with_sign(uint64_t bits, unsigned width, bool abs, bool neg);

// ---- Results
// OMOD of a float of `width` bits in a MODE; `forces_flush`: the instruction has no denormal results anyway.
uint64_t scaled(uint64_t bits, unsigned width, unsigned omod, uint32_t mode, bool forces_flush);
uint64_t clamped_float(uint64_t bits, unsigned width, uint32_t mode);

// The exact result of integer arithmetic that CLAMP saturates, and its range. Nothing: the instruction is not
// in this table. `sources` are zero-extended; `carry` is the carry-in.
struct Exact {
  __int128 value;
  __int128 least, greatest;
};
std::optional<Exact> exact_integer(std::string_view mnemonic, const uint64_t (&sources)[3], bool carry,
                                   unsigned neg);

// ---- DPP (guide 7.7)
struct DppLane {
  bool is_out_of_range;
  unsigned source;
};
DppLane dpp16_lane(unsigned control, unsigned lane);

}  // namespace lockstep::interpreter

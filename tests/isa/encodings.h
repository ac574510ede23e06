// Where each encoding keeps its opcode, and how to make instructions of a row without knowing its meaning.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/row.h"

namespace lockstep::test {

// A field whose every value is worth trying.
struct BitField {
  unsigned low;
  unsigned width;
};

struct EncodingLayout {
  isa::Encoding encoding;
  uint32_t prefix;    // first dword with all fields zero
  unsigned op_shift;  // of the opcode in the first dword
  unsigned dwords;
  std::vector<BitField> fields;  // operand fields, over all dwords
};

std::span<const EncodingLayout> layouts();
const EncodingLayout& layout_of(isa::Encoding encoding);

// First dwords to start from: several, because which fields must be zero depends on the instruction.
std::vector<std::vector<uint32_t>> starting_points(const isa::Row& row);

}  // namespace lockstep::test

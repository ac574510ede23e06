// Where a source operand of an instruction comes from: registers or a constant.
#pragma once

#include <cstdint>
#include <optional>

#include "isa/instruction.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

struct Source {
  bool is_constant = false;
  uint64_t value = 0;  // constants: all 64 bits that a wide operand reads
  unsigned first = 0;  // registers: number of the first one (registers.h)
};

// Nothing for operands that only the interpreter knows: VCCZ, EXECZ, LDS_DIRECT and the like.
std::optional<Source> source_of(const isa::Operand& operand, const isa::Instruction& instruction);

// The scalar register that an operand writes, or nothing if the write is discarded (NULL, trap temporaries).
std::optional<unsigned> scalar_destination(const isa::Operand& operand);

// Of an access to whole dwords of scratch whose address is a constant, as spilled registers are: its first
// byte.
std::optional<uint32_t> constant_scratch_offset(const isa::Instruction& instruction);

// Of an access through a buffer resource: the VGPR with the offset and that with the index, if it has them.
struct BufferAddress {
  std::optional<unsigned> offset, index;
};
BufferAddress buffer_address(const isa::Instruction& instruction);

// Of GLOBAL and FLAT loads and stores.
struct GlobalOperands {
  isa::AccessShape shape;
  const isa::Operand& address;
  const isa::Operand* base;  // SGPRs that 32-bit addresses count from; null: these are of 64 bits
  unsigned data;             // the first VGPR of what is loaded or stored
  bool is_load() const { return shape.kind == isa::AccessShape::Kind::load; }
};
GlobalOperands global_operands(const isa::Instruction& instruction);

}  // namespace lockstep::translator

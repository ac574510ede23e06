// Registers every vector ALU body that the including file has pulled in.
#define LOCKSTEP_OPCODE(mnemonic)                         \
  if constexpr (semantics::has_body<semantics::mnemonic>) \
    add_valu<semantics::mnemonic>(table, isa::Opcode::mnemonic);
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE

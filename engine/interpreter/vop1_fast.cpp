// Vector ALU: the handlers that fast math puts in the place of vop1.cpp's.
#include "engine/interpreter/registration.h"
#include "engine/interpreter/valu.h"
#include "semantics/fast_math.h"

namespace lockstep::interpreter {

void LOCKSTEP_REGISTER(vop1_fast)(HandlerTable& table) {
#define LOCKSTEP_ADD(mnemonic) add_valu<semantics::fast::mnemonic>(table, isa::Opcode::mnemonic);
  LOCKSTEP_FAST_BODIES(LOCKSTEP_ADD)
#undef LOCKSTEP_ADD
}

}  // namespace lockstep::interpreter

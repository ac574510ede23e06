// Vector ALU: vop2, from the bodies of semantics/.
#include "engine/interpreter/registration.h"
#include "engine/interpreter/valu.h"
#include "semantics/missing.h"
#include "semantics/vop2_float.h"
#include "semantics/vop2_integer.h"

namespace lockstep::interpreter {

void LOCKSTEP_REGISTER(vop2)(HandlerTable& table) {
#include "engine/interpreter/valu_registration.h"
}

}  // namespace lockstep::interpreter

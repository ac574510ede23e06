// Vector ALU: vop1, from the bodies of semantics/.
#include "engine/interpreter/registration.h"
#include "engine/interpreter/valu.h"
#include "semantics/missing.h"
#include "semantics/vop1_convert.h"
#include "semantics/vop1_float.h"
#include "semantics/vop1_integer.h"
#include "semantics/vop1_transcendental.h"

namespace lockstep::interpreter {

void LOCKSTEP_REGISTER(vop1)(HandlerTable& table) {
#include "engine/interpreter/valu_registration.h"
}

}  // namespace lockstep::interpreter

// Vector ALU: vop3p, from the bodies of semantics/.
#include "engine/interpreter/registration.h"
#include "engine/interpreter/valu.h"
#include "semantics/dot_float.h"
#include "semantics/missing.h"
#include "semantics/vop3p_float.h"
#include "semantics/vop3p_integer.h"

namespace lockstep::interpreter {

void LOCKSTEP_REGISTER(vop3p)(HandlerTable& table) {
#include "engine/interpreter/valu_registration.h"
}

}  // namespace lockstep::interpreter

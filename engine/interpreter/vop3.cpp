// Vector ALU: vop3, from the bodies of semantics/.
#include "engine/interpreter/registration.h"
#include "engine/interpreter/valu.h"
#include "semantics/missing.h"
#include "semantics/vop3_bits.h"
#include "semantics/vop3_convert.h"
#include "semantics/vop3_division.h"
#include "semantics/vop3_float.h"
#include "semantics/vop3_int16.h"
#include "semantics/vop3_integer.h"
#include "semantics/vop3_sad.h"

namespace lockstep::interpreter {

void LOCKSTEP_REGISTER(vop3)(HandlerTable& table) {
#include "engine/interpreter/valu_registration.h"
}

}  // namespace lockstep::interpreter

// Vector ALU: vopc, from the bodies of semantics/.
#include "semantics/vopc.h"

#include "engine/interpreter/registration.h"
#include "engine/interpreter/valu.h"
#include "semantics/missing.h"

namespace lockstep::interpreter {

void LOCKSTEP_REGISTER(vopc)(HandlerTable& table) {
#include "engine/interpreter/valu_registration.h"
}

}  // namespace lockstep::interpreter

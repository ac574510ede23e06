// A placeholder for every instruction that has no body in the headers included so far. The placeholders live in a
// nested namespace, so a body of the same name in lockstep::semantics hides its placeholder: `semantics::v_add_f32`
// is the body if there is one and a NoBody otherwise.
#pragma once

#include <type_traits>

#include "isa/row.h"

namespace lockstep::semantics {

struct NoBody {};

namespace missing {
#define LOCKSTEP_OPCODE(mnemonic) \
  struct mnemonic : NoBody {};
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
}  // namespace missing
using namespace missing;

template <class Body>
constexpr bool has_body = !std::is_base_of_v<NoBody, Body>;

}  // namespace lockstep::semantics

// A placeholder for every instruction that has no body in the headers included so far: `semantics::v_add_f32`
// is the body if there is one and a placeholder otherwise. This works because a qualified name is looked up
// in the namespace itself before the namespaces that it uses.
#pragma once

#include <type_traits>

#include "isa/row.h"

namespace lockstep::missing {

struct NoBody {};
#define LOCKSTEP_OPCODE(mnemonic) \
  struct mnemonic : NoBody {};
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE

}  // namespace lockstep::missing

namespace lockstep::semantics {

using namespace lockstep::missing;

template <class Body>
constexpr bool has_body = !std::is_base_of_v<missing::NoBody, Body>;

}  // namespace lockstep::semantics

// Classes and literals of semantics/fidelity.h as the C interface has them.
#pragma once

#include <string_view>

#include "api/lockstep.h"
#include "semantics/fidelity.h"

namespace lockstep::api {

lockstep_fidelity fidelity_of(semantics::Fidelity fidelity);

inline const char* text_of(std::string_view literal) {
  return literal.empty() ? "" : literal.data();
}

}  // namespace lockstep::api

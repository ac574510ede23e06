// What dispatches of tests run on (tests/engine/interpreter/engine_under_test.h).
#pragma once

#include "machine/launch.h"
#include "tests/engine/interpreter/engine_under_test.h"

namespace lockstep::machine {

inline EngineKind engine_under_test() {
  return tests_translator() ? EngineKind::translator : EngineKind::interpreter;
}

}  // namespace lockstep::machine

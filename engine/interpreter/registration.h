// The functions that fill a HandlerTable. Each handler file is compiled once for every host instruction set
// (LOCKSTEP_HOST is v3 or v4: x86-64 micro-architecture levels), so its entry point carries that in its name.
#pragma once

#include "engine/interpreter/handlers.h"

#define LOCKSTEP_CONCAT3(a, b, c) a##_##b##_##c
#define LOCKSTEP_EXPAND3(a, b, c) LOCKSTEP_CONCAT3(a, b, c)
#define LOCKSTEP_REGISTER(family) LOCKSTEP_EXPAND3(register, family, LOCKSTEP_HOST)

namespace lockstep::interpreter {

#define LOCKSTEP_FAMILIES(X)                                                                           \
  X(scalar)                                                                                            \
  X(control)                                                                                           \
  X(scalar_memory)                                                                                     \
  X(vop1) X(vop2) X(vopc) X(vop3) X(vop3p) X(vinterp) X(cross_lane) X(data_share) X(atomics) X(buffer) \
      X(flat)

#define LOCKSTEP_DECLARE(family)                    \
  void register_##family##_v3(HandlerTable& table); \
  void register_##family##_v4(HandlerTable& table);
LOCKSTEP_FAMILIES(LOCKSTEP_DECLARE)
#undef LOCKSTEP_DECLARE

}  // namespace lockstep::interpreter

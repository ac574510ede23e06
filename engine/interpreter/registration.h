// The functions that fill a HandlerTable, one for each handler file. Files with vector code are compiled once
// for every host instruction set (LOCKSTEP_HOST is v3 or v4: x86-64 micro-architecture levels), the others
// once (any); the entry point carries that in its name. Everything else in a handler file has internal
// linkage, so that the linker never merges copies made for different hosts (tests/engine/interpreter checks
// it).
#pragma once

#include "engine/interpreter/handlers.h"

#define LOCKSTEP_CONCAT3(a, b, c) a##_##b##_##c
#define LOCKSTEP_EXPAND3(a, b, c) LOCKSTEP_CONCAT3(a, b, c)
#define LOCKSTEP_REGISTER(family) LOCKSTEP_EXPAND3(register, family, LOCKSTEP_HOST)

namespace lockstep::interpreter {

#define LOCKSTEP_PLAIN_FAMILIES(X) \
  X(scalar) X(control) X(scalar_memory) X(atomics) X(buffer) X(lds_direct) X(global_data_share)
#define LOCKSTEP_VECTOR_FAMILIES(X) \
  X(vop1)                           \
  X(vop2)                           \
  X(vopc) X(vop3) X(vop3p) X(vinterp) X(wmma) X(cross_lane) X(data_share) X(flat) X(wide_shifts) X(pairs)

#define LOCKSTEP_DECLARE_PLAIN(family) void register_##family##_any(HandlerTable& table);
#define LOCKSTEP_DECLARE_VECTOR(family)             \
  void register_##family##_v3(HandlerTable& table); \
  void register_##family##_v4(HandlerTable& table);
LOCKSTEP_PLAIN_FAMILIES(LOCKSTEP_DECLARE_PLAIN)
LOCKSTEP_VECTOR_FAMILIES(LOCKSTEP_DECLARE_VECTOR)
LOCKSTEP_DECLARE_VECTOR(vop1_fast)  // over what vop1 registered
#undef LOCKSTEP_DECLARE_PLAIN
#undef LOCKSTEP_DECLARE_VECTOR

}  // namespace lockstep::interpreter

// What an instruction reads and writes, register by register.
#pragma once

#include "engine/translator/registers.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

enum class ExecChange : uint8_t { none, shrinks, grows, any };

struct Effects {
  RegisterSet reads;
  RegisterSet writes;  // VGPRs: in the lanes of EXEC
  ExecChange exec = ExecChange::none;
};

Effects effects_of(const Node& node);

}  // namespace lockstep::translator

// Names of PM4 packets, for messages.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::command::pm4 {

// "opcode 0x69, SET_CONTEXT_REG,"
std::string name(uint32_t opcode);

}  // namespace lockstep::command::pm4

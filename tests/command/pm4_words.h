// PM4 packets as the tests send them.
#pragma once

#include "command/pm4.h"
#include "tests/command/machine_under_test.h"

namespace lockstep::command {

inline Words packet(uint32_t opcode, Words payload) {
  Words all{pm4::header(opcode, static_cast<uint32_t>(payload.size()))};
  all.insert(all.end(), payload.begin(), payload.end());
  return all;
}
inline Words set(uint32_t number, Words values) {
  return packet(pm4::kSetShReg, Words{number - pm4::kShBase} + values);
}
inline Words write_dword(void* to, uint32_t value) {
  return packet(pm4::kWriteData, {2 << 8, low(to), high(to), value});
}
inline Words release(void* to, uint32_t value, uint32_t interrupt = 0, uint32_t context = 0) {
  return packet(pm4::kReleaseMem, {pm4::kBottomOfPipeTs | 5 << 8, 1u << 29 | interrupt << 24, low(to),
                                   high(to), value, 0, context});
}
inline Words wait(const void* address, uint32_t value, uint32_t function = 3) {
  return packet(pm4::kWaitRegMem, {function | 1 << 4, low(address), high(address), value, ~0u, 4});
}

}  // namespace lockstep::command

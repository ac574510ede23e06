// How waves leave translated code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep::translator {

enum class Leave : uint32_t {
  // Wave::state says why, and Wave::pc where it goes on.
  ended,
  barrier,
  budget,   // used up
  piece,    // what follows is in another piece of the code
  stopped,  // while the interpreter executed an instruction in the middle, most likely by a fault
  // What follows Wave::pc is for the interpreter.
  access,   // it may fault, or is not where translated code can reach
  doubt,    // it needs exact floats
  outside,  // it is not here
  step,     // of one instruction
  // The wave does not leave: the interpreter executes an instruction and gives back at once.
  call,
  jump,  // at Wave::pc goes to an address that nobody could know before: it is for the interpreter
};
inline constexpr size_t kLeaves = static_cast<size_t>(Leave::jump) + 1;

constexpr bool is_interpreters(Leave how) {
  return how == Leave::access || how == Leave::doubt || how == Leave::outside;
}

// As it is told to users.
constexpr const char* name_of(Leave how) {
  constexpr const char* kNames[kLeaves] = {"end",   "barrier", "budget", "piece", "stop", "access",
                                           "doubt", "outside", "step",   "call",  "jump"};
  return kNames[static_cast<size_t>(how)];
}

// How often waves left in this way since somebody began to count.
struct Exit {
  Leave how = Leave::ended;
  std::string instruction;  // of a step and a call: the mnemonic
  uint64_t times = 0;
};

}  // namespace lockstep::translator

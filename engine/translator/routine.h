// The code that a wave can reach from a kernel's entry: decoded, classified, cut into basic blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "isa/instruction.h"

namespace lockstep::translator {

enum class NodeKind : uint8_t {
  nothing,     // hints, and waits for loads, whose results are there at once
  store_wait,  // what was stored must be in memory before what follows looks there
  scalar_alu,
  vector_alu,
  dual,  // a VOPD pair
  scalar_load,
  global,
  lds,
  branch,
  barrier,
  sleep,  // gives the turn to the other waves
  end,
};

struct Node {
  int64_t offset = 0;  // bytes from the routine's entry
  NodeKind kind = NodeKind::nothing;
  isa::Instruction instruction;
};

struct Block {
  unsigned first = 0, last = 0;  // nodes [first, last)
  int64_t offset = 0;            // of its first instruction
  int taken = -1;                // block that the branch at the end goes to, if there is one
  int next = -1;                 // block that follows, if control can fall through (or resume there)
  std::vector<unsigned> predecessors;
  bool is_entry = false;     // where run() may start: the kernel's entry, behind barriers, loop headers
  bool after_leave = false;  // follows a barrier or sleep: only entered from outside on that path
};

struct Routine {
  std::vector<Node> nodes;    // in address order
  std::vector<Block> blocks;  // in address order
  unsigned entry_block = 0;
  std::string unsupported;  // why it cannot be translated; empty if it can

  int block_at(int64_t offset) const;
  // Bytes that say all about the routine: two routines with the same key behave alike wherever they are
  // loaded.
  std::string key;
};

// Wave32 only. Never fails: what is not supported yet is said in `unsupported`.
Routine find_routine(std::span<const CodeRange> code, uint64_t entry);

}  // namespace lockstep::translator

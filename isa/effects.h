// What a decoded instruction touches and counts, where fields decide and its row gives all possibilities:
// GDS chooses between LDS and GDS, GLC makes an atomic return data, ROW makes an export read M0.
#pragma once

#include "isa/instruction.h"

namespace lockstep::isa {

inline uint32_t implicit_reads(const Instruction& instruction) {
  const Row& row = *instruction.row;
  uint32_t reads = row.implicit_reads;
  if (row.encoding == Encoding::ds && (reads & kLds) && (reads & kGds))
    reads = instruction.gds ? (reads & ~kLds) | kM0 : reads & ~kGds;  // M0: base and size in GDS (guide 12.6)
  if (row.encoding == Encoding::exp && !instruction.export_row) reads &= ~kM0;
  return reads;
}

inline uint32_t implicit_writes(const Instruction& instruction) {
  const Row& row = *instruction.row;
  const uint32_t writes = row.implicit_writes;
  if (row.encoding == Encoding::ds && (writes & kLds) && (writes & kGds))
    return writes & ~(instruction.gds ? kLds : kGds);
  return writes;
}

// Atomics that return data count as loads (guide 5.6).
inline Counter counter_of(const Instruction& instruction) {
  const Counter counter = instruction.row->counter;
  if (!(instruction.row->flags & kAtomic) || !instruction.glc) return counter;
  if (counter == Counter::vscnt) return Counter::vmcnt;
  if (counter == Counter::vscnt_and_lgkmcnt) return Counter::vmcnt_and_lgkmcnt;
  return counter;
}

// GDS instructions may not be in a clause (guide 5.2).
inline Clause clause_of(const Instruction& instruction) {
  return instruction.gds ? Clause::none : instruction.row->clause;
}

}  // namespace lockstep::isa

// What a decoded instruction touches and counts, where fields decide and its row gives all possibilities:
// GDS chooses between LDS and GDS, GLC makes an atomic return data, ROW makes an export read M0.
#pragma once

#include <array>
#include <optional>
#include <string>

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

// `count` registers from the operand code `first`: 0 to 127 scalar, SCC, from 256 on VGPRs.
struct RegisterRange {
  uint16_t first = 0, count = 0;

  bool is_vgpr() const { return first >= code::kVgpr0; }
  bool has_exec() const { return first <= code::kExecHi && end() > code::kExecLo; }
  unsigned end() const { return first + count; }
  bool overlaps(const RegisterRange& other) const { return first < other.end() && other.first < end(); }
};
inline RegisterRange range_of(const Operand& operand) {
  return {operand.code, operand.words};
}
// "v4", "s[4:5]", "vcc"
std::string name(const RegisterRange& range);

struct RegisterUse : RegisterRange {
  static constexpr uint8_t kImplied = 0xff;

  uint8_t operand = kImplied;  // which of the instruction's it is
  // Of what is written: something of it stays in the lanes that are written, too.
  bool is_partial = false;
  // M0, which is not known, moves the range: any register may be meant.
  bool is_indexed = false;
};

// Registers that an instruction uses, in the order of its operands, those implied last.
class RegisterUses {
 public:
  void add(const RegisterUse& use) { list_[count_++] = use; }
  const RegisterUse* begin() const { return list_.data(); }
  const RegisterUse* end() const { return list_.data() + count_; }
  unsigned size() const { return count_; }

 private:
  // Operands, of which those of memory instructions may be V0 and a rest, and EXEC, VCC, SCC, M0.
  static constexpr unsigned kMost = 2 * kMaxOperands + 4;
  std::array<RegisterUse, kMost> list_;
  unsigned count_ = 0;
};

// What is known of the wave that comes to an instruction.
struct Bearer {
  unsigned wave_size = 32;
  unsigned vgpr_count = 256;   // allocated
  bool is_privileged = false;  // in its trap handler
  std::optional<uint32_t> m0;
};

struct RegisterEffects {
  RegisterUses reads, writes;  // VGPRs: in the lanes that the instruction executes for
};
// The registers that the instruction reads and writes: of operands, by way of M0 (guide 7.8, 16.3), and
// without being named: EXEC, VCC, SCC and M0. Registers that the wave does not have are those that are used
// in their place (3.3.1.4, 3.3.2.2), and what has lost its destination touches none.
RegisterEffects register_effects(const Instruction& instruction, const Bearer& bearer);

// What M0 adds to the number of the destination and of the source.
struct Indices {
  uint32_t destination = 0, source = 0;
};
Indices register_indices(Opcode opcode, uint32_t m0);
bool has_index(Opcode opcode);

// The scalar register at which a source begins: pairs and wave64's masks are even, the low bit is ignored
// (guide 3.3.1.3). As it is for what is no register.
uint16_t scalar_source_code(const Operand& operand, unsigned wave_size);
// One of the data types that take two registers or constants of 64 bits.
bool is_64_bit(Type type);
// As operands widen it (guide 7.2.2.2).
uint64_t widen_literal(uint32_t literal, Type type);

// TTMPs may only be written by the trap handler (guide 3.3.1.4).
bool is_foreign_trap_temporary(const Operand& operand, bool is_privileged);
// A destination out of range; one of several is enough. The instruction then does nothing (guide 3.3.1.4,
// 3.3.2.2). NULL is a destination like any other.
bool has_lost_destination(const Instruction& instruction, unsigned vgpr_count, bool is_privileged);
// A scalar instruction that may not write its destination does not write SCC either (guide 3.3.1.4). NULL as
// destination is another matter: SCC is written (guide 3.4.4, measured; 6.2 says the opposite).
bool keeps_scc(const Instruction& instruction, bool is_privileged);
// It does nothing at all then, unless it writes EXEC or the PC, too.
bool is_nullified(const Instruction& instruction, bool is_privileged);

}  // namespace lockstep::isa

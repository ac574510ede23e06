// The dependency counters (guide 5.6): which instruction raises which, and what waits for them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep::precise {

enum class CounterName : uint8_t { vmcnt, vscnt, lgkmcnt, expcnt };
inline constexpr unsigned kCounters = 4;
const char* name(CounterName counter);

// A value for each counter: what it holds, or what it must come down to.
struct Counts {
  std::array<uint32_t, kCounters> values{};
  uint32_t& operator[](CounterName counter) { return values[static_cast<unsigned>(counter)]; }
  uint32_t operator[](CounterName counter) const { return values[static_cast<unsigned>(counter)]; }
};
// Six bits each, three for EXPcnt: an instruction that would go beyond is not issued.
inline constexpr Counts kGreatest{{63, 63, 63, 7}};
// The hardware register IB_STS: the counters at the bits where s_waitcnt has their limits, VScnt at 31:26.
uint32_t ib_sts(const Counts& counts);

// Instructions of one kind complete in the order of their issue, but for scalar loads; those of different
// kinds in any order.
enum class Kind : uint8_t {
  vector_load,  // atomics that return data included
  vector_sample,
  vector_bvh,
  vector_store,
  lds,
  gds,
  scalar,
  message,
  parameter,
  export_,
};
inline constexpr unsigned kKinds = 10;
constexpr bool completes_in_order(Kind kind) {
  return kind != Kind::scalar;
}

// How an instruction raises a counter. FLAT instructions have two of these: they are done when both the
// memory and LDS have answered.
struct Share {
  Kind kind;
  CounterName counter;
  uint8_t amount = 1;
};
struct Shares {
  std::array<Share, 2> list;
  unsigned count = 0;
  const Share* begin() const { return list.data(); }
  const Share* end() const { return list.data() + count; }
};
Shares shares_of(const isa::Instruction& instruction);
// Whether the interpreter can execute it later. Others do GDS and messages, and images.
bool may_be_put_off(const isa::Instruction& instruction);
// Whether it does nothing where its counters are zero, since no lane is on. Where they are not it counts, so
// that a limit means the same with and without lanes.
bool is_without_lanes(const isa::Instruction& instruction, const Wave& wave);

// What the counters must have come down to before the instruction is executed: waits, the wait that
// interpolation has built in, and the end of the program. Null if it waits for nothing.
std::optional<Counts> limits_of(const isa::Instruction& instruction, const Wave& wave);
// The fields of s_waitcnt_depctr that hazards need (LLVM's names and places): VA_VDST in 15:12, VM_VSRC in
// 4:2, SA_SDST in 0.
unsigned depctr_va_vdst(const isa::Instruction& instruction);
unsigned depctr_vm_vsrc(const isa::Instruction& instruction);
unsigned depctr_sa_sdst(const isa::Instruction& instruction);
// Whether it may wait for anything.
bool may_wait(const isa::Instruction& instruction);
// What they have come down to when it is issued: to `waited`, what it waits for, and so far that there is
// room for it.
Counts limits_at_issue(const std::optional<Counts>& waited, const Shares& shares);

}  // namespace lockstep::precise

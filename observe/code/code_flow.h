// The instructions of a kernel or function that can be reached, and where each goes on, as far as the code
// says so without being run.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "isa/instruction.h"

namespace lockstep::observe {

// Executable bytes of a code object, in memory; not those of a wave that runs.
struct Code {
  std::span<const std::byte> bytes;
  uint64_t address = 0;                // of the first one, as linked
  uint64_t mapped_end = 0;             // of the pages that are mapped behind it, as linked
  std::set<uint64_t> function_begins;  // as linked; kernels' too

  uint64_t end() const { return address + bytes.size(); }
};

struct Root {
  uint64_t begin = 0;  // as linked
  unsigned wave_size = 32;
  bool is_kernel = false;
  bool is_processor_mode = false;  // a kernel's
};

enum class Leaves : uint8_t {
  to_next,
  to_both,    // to its target, or to the next one
  to_target,  // only
  by_call,    // to its target, if that is known, and to the next one when the callee returns
  by_return,  // of a function, or to an address that nobody knows
  at_end,     // the wave ends, or what stands behind is no code
};

struct Place {
  uint64_t address = 0;  // as linked
  isa::Instruction instruction;
  Leaves leaves = Leaves::to_next;
  std::optional<uint64_t> target;   // as linked, inside the code
  bool goes_on = false;             // to the next one, which is of the same function
  bool is_reached_by_jump = false;  // or the first one of a function, or behind a branch or call

  uint64_t next() const { return address + instruction.size; }
};

class CodeFlow {
 public:
  CodeFlow(const Code& code, const Root& root);

  // In order of address.
  const std::vector<Place>& places() const { return places_; }
  // Of the place at that address; null if nothing goes there.
  const Place* at(uint64_t address) const;
  // Bytes that are no instruction, and that execution comes to.
  const std::vector<uint64_t>& undecodable() const { return undecodable_; }
  // Reached by calls, or the root.
  const std::set<uint64_t>& functions() const { return functions_; }

 private:
  void follow(const Code& code, uint64_t begin, unsigned wave_size, std::vector<uint64_t>& further);

  std::vector<Place> places_;
  std::unordered_map<uint64_t, uint32_t> index_;
  std::vector<uint64_t> undecodable_;
  std::set<uint64_t> functions_;
};

}  // namespace lockstep::observe

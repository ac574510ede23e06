// The calls that a compiler has inlined, of code with debug information: an instruction of a function that
// was inlined stands in its own line, and each function that it became part of was in one, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::toolchain {

struct Frame {
  std::string function;  // as in the source; empty if not known
  std::string file;      // empty if not known
  uint32_t line = 0;     // 0 if not known
};

// The frames of each address of a code object (as linked), the innermost first; one or none where nothing was
// inlined, or where nothing is known. LLVM reads them, which damaged debug information ends: so the worker
// does, and such code has none.
std::vector<std::vector<Frame>> inlined_frames(std::span<const std::byte> code_object,
                                               std::span<const uint64_t> addresses);

}  // namespace lockstep::toolchain

// Mistakes put into compiled code, each by changing a few bytes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::examples {

enum class Mistake : uint8_t {
  barrier,         // a barrier is gone
  store,           // a store reaches one element further
  initialisation,  // a constant is not put into its register, or a value not into LDS or scratch
  atomic,          // an atomic operation is a load and a store
  exec_save,       // EXEC changes without being saved
  wait,            // a wait is gone, or lets one more be under way
};
inline constexpr Mistake kMistakes[] = {Mistake::barrier, Mistake::store,     Mistake::initialisation,
                                        Mistake::atomic,  Mistake::exec_save, Mistake::wait};
std::string_view name(Mistake mistake);

struct Patch {
  size_t offset;  // in the file
  std::vector<std::byte> bytes;
};

struct Mutant {
  Mistake mistake;
  std::string function;
  uint64_t offset = 0;      // of the instruction, from the function's entry
  std::string instruction;  // as it was
  std::string change;
  std::vector<Patch> patches;

  std::vector<std::byte> apply(std::span<const std::byte> code_object) const;
};

// All that there are of a code object. Throws std::runtime_error if it cannot be read.
std::vector<Mutant> mutants_of(std::span<const std::byte> code_object, unsigned wave_size);

// At most `most` of one mistake, evenly from all over the code; 0: all of them.
std::vector<const Mutant*> choose(const std::vector<Mutant>& all, Mistake mistake, size_t most);

}  // namespace lockstep::examples

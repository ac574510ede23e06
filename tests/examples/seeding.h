// Whether a change to a program is a mistake, and whether the checkers say so: two questions that are
// answered apart.
//
// A mutant is wrong if some run of it comes to another end than the example expects. Runs differ in what a
// program must not depend on: when results land, what registers, LDS and scratch hold that nobody wrote, what
// stands beside its buffers, and where these are. With barriers, atomics and waits that is a mistake. Of the
// others a mutant may have another meaning than the example and be as well defined: a store to another
// element of its own buffer, a register that still has the value from before. No checker can know what was
// meant. So these are mistakes if they reach memory that is not theirs, fault, or depend on what nobody has
// written.
#pragma once

#include <string>

#include "tests/examples/example_run.h"
#include "tests/examples/mutants.h"

namespace lockstep::examples {

enum class Effect : uint8_t {
  none,           // every run gives what the example expects
  other_meaning,  // well defined, but something else
  mistake,
};

struct Judgement {
  Effect effect = Effect::none;
  std::string how;  // what came of it, where it has an effect
};

// `instructions`: wave-instructions that a run may take, since mutants may never end.
Judgement judge(const Example& example, const Mutant& mutant, std::span<const std::byte> mutated,
                uint64_t instructions);

// The first finding of the checkers; empty if they have none. Legality is not asked: what was made in place
// of the instruction may break rules that the mistake itself does not.
std::string found(const Example& example, const Mutant& mutant, std::span<const std::byte> mutated,
                  uint64_t instructions);

}  // namespace lockstep::examples

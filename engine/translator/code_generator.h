// From a piece of a routine to a host object file.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <string>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace llvm {
class Function;
class Module;
class TargetMachine;
}  // namespace llvm

namespace lockstep::translator {

class BodySession;

struct Stages {
  double emit = 0, import = 0, optimise = 0, generate = 0, link = 0;  // seconds
  double total() const { return emit + import + optimise + generate + link; }
  Stages& operator+=(const Stages& other) {
    emit += other.emit;
    import += other.import;
    optimise += other.optimise;
    generate += other.generate;
    link += other.link;
    return *this;
  }
};

struct Object {
  llvm::SmallVector<char, 0> bytes;
  unsigned next_slot = 0;  // of Context::last_range: behind those that the piece uses
  size_t code_bytes = 0;
  Stages stages;
};

// The processor that waves run on: empty, which is this one, or x86-64-v3 where LOCKSTEP_HOST_LEVEL asks for
// it.
const std::string& host_processor();

inline constexpr const char *kFunctionName = "lockstep_routine", *kRowFunctionName = "lockstep_row";

// Whether the object of a routine has a RowFunction, too: of short ones that go through memory, whose launch
// costs as much as their code, without anything that a wave waits for or that leaves its registers changed.
bool has_row_function(const Routine& routine, const Facts& facts);

// Of a routine that has a row function: whether its waves may run in an order in which those of neighbouring
// groups follow each other (LaunchNeeds::go_side_by_side).
bool goes_side_by_side(const Routine& routine, const Facts& facts);

// Whether the processor gathers and scatters lanes by instructions under a mask, as generate() has it.
bool has_masked_gathers(const std::string& processor = host_processor());

// `first_slot`: of Context::last_range for the piece. `processor`: a name that LLVM knows (x86-64-v3,
// x86-64-v4, ...), or empty for the one we run on. Throws std::runtime_error if LLVM refuses.
Object generate(const Routine& routine, const Facts& facts, unsigned piece, unsigned first_slot,
                const std::string& processor = host_processor());

// Straight code of long routines is wanted soon rather than fast.
enum class Wanted : uint8_t { fast, soon };

// What is the same for all waves of a row is computed before them: of bodies only those that are called for
// one lane, as long as they are calls (Emitter::function_of_one_lane). `machine`: null in tests.
enum class Bodies : uint8_t { called, inlined };
void move_out_of_rows(llvm::Function& row, llvm::TargetMachine* machine, Bodies bodies);

// Inlines the bodies that the module declares and generates code; for tests of single bodies too.
void finish(BodySession& session, llvm::Module& module, const std::string& processor, Object& object,
            Wanted code = Wanted::fast);

}  // namespace lockstep::translator

// What an instruction reads and writes, register by register.
#pragma once

#include <array>

#include "engine/translator/registers.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Others: all lanes that were on are off.
enum class ExecChange : uint8_t { none, shrinks, grows, others, any };
inline bool turns_lanes_on(ExecChange change) {
  return change != ExecChange::none && change != ExecChange::shrinks;
}

struct Effects {
  RegisterSet reads;
  RegisterSet writes;  // VGPRs: in the lanes of EXEC
  ExecChange exec = ExecChange::none;
  bool reads_all_lanes = false;  // those that are off, too
  // The Wave has them behind it: by a call, among those that it reads; or where M0 chooses, which leaves all
  // but one of them as they are.
  RegisterSet reloaded;
};

// v_permlane16 and v_permlanex16: what becomes of a lane whose source lane is off (guide 7.7).
enum class SourceOff : uint8_t { is_read, gives_zero, keeps_lane };
SourceOff source_off(const isa::Instruction& permlane);
// Whether a vector instruction reads lanes of its VGPRs that are off.
bool reads_lanes_that_are_off(const isa::Instruction& instruction);
// Whether what was done from it on cannot be done again.
bool changes_memory(const Node& node);
Effects effects_of(const Node& node, unsigned wave_size, unsigned vgpr_count);
RegisterSet exec_registers(unsigned wave_size);
// Whether EXEC changes, as far as it counts in this wave size.
bool writes_exec(const Effects& effects, unsigned wave_size);

// Of an instruction whose VGPR M0 chooses: all that it may be.
RegisterSet vgprs_chosen_from(const Effects& effects);

// Of a VOPD pair: each half has operands of its own, and both read before either writes.
struct HalfEffects {
  RegisterSet reads, writes;
};
std::array<HalfEffects, 2> effects_of_halves(const isa::Instruction& pair);

}  // namespace lockstep::translator

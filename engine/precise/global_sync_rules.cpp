#include "engine/precise/global_sync_rules.h"

#include "engine/precise/counters.h"
#include "state/dispatch_state.h"
#include "state/gws_resource.h"
#include "state/work_group.h"

namespace lockstep::precise {

namespace {

using isa::Opcode;

bool is_synchronisation(const isa::Instruction& instruction) {
  switch (instruction.row->opcode) {
    case Opcode::ds_gws_init:
    case Opcode::ds_gws_sema_v:
    case Opcode::ds_gws_sema_br:
    case Opcode::ds_gws_sema_p:
    case Opcode::ds_gws_sema_release_all:
    case Opcode::ds_gws_barrier:
    case Opcode::ds_ordered_count:
      return true;
    default:
      return false;
  }
}

bool ends_wave(const isa::Instruction& instruction) {
  return instruction.row->flags & isa::kEndsWave;
}

// Then the first wave passes it, whatever the others do.
bool is_barrier_without_count(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  if (instruction.row->opcode != Opcode::ds_gws_barrier || !step.wave.group || !step.wave.group->dispatch)
    return false;
  DispatchState& dispatch = *step.wave.group->dispatch;
  DeviceState::Access device(*dispatch.device);
  const auto resource =
      gws_resource(device.vmid(dispatch.vmid), step.wave.scalar[isa::code::kM0], instruction.offset0);
  return resource && !device.gws().resource(*resource).is_configured;
}

bool waits_for_lgkm(const Step& step) {
  if (ends_wave(step.instruction)) return false;
  const auto limits = limits_of(step.instruction, step.wave);
  return limits && (*limits)[CounterName::lgkmcnt] == 0;
}

}  // namespace

std::string GlobalSyncRules::broken_by(const Step& step) const {
  const isa::Instruction& instruction = step.instruction;
  if (behind_ == Behind::synchronisation && !waits_for_lgkm(step))
    return "not s_waitcnt lgkmcnt(0) right behind an instruction of global wave sync or an ordered count "
           "(guide "
           "13.4.1): put one between them";
  if (is_synchronisation(instruction)) {
    if (gds_under_way_)
      return "global wave sync or an ordered count while GDS instructions are under way, so that a NACK may "
             "come out "
             "of order (guide 13.4.1): put s_waitcnt lgkmcnt(0) before it";
    if (is_barrier_without_count(step))
      return "ds_gws_barrier at a resource that has never been given a count (guide 13.4.4), so that the "
             "first "
             "wave passes it alone: set it up by ds_gws_init before";
    if (instruction.row->opcode == Opcode::ds_ordered_count) {
      const isa::Operand *destination = instruction.find(isa::Role::dst),
                         *source = instruction.find(isa::Role::data);
      if (destination && source && destination->code == source->code)
        return "an ordered count with the same VGPR as source and destination, which a NACK may overwrite, "
               "so that it "
               "cannot be repeated (guide 13.4.1): use two VGPRs";
    }
  }
  const bool counts_lanes =
      instruction.row->opcode == Opcode::ds_append || instruction.row->opcode == Opcode::ds_consume;
  if (instruction.gds && counts_lanes && instruction.offset != 0)
    return "ds_append or ds_consume on GDS with an offset, which must be zero there (guide 16.15): add it to "
           "the base "
           "in M0[31:16]";
  return {};
}

Verdict GlobalSyncRules::before(const Step& step) {
  if (is_far_from_any(step.instruction)) return Verdict::execute;
  if (is_told_) return Verdict::execute;
  // LLVM puts nothing between the two, and AMD's runtime has a kernel of that form (__amd_rocclr_gwsInit).
  if (behind_ == Behind::its_wait && ends_wave(step.instruction)) {
    is_told_ = true;
    rules_.doubted(
        step,
        "the program ends right behind the wait of an instruction of global wave sync or an ordered "
        "count (guide 13.4.1): put an s_nop between them");
    return Verdict::execute;
  }
  std::string rule = broken_by(step);
  if (rule.empty()) return Verdict::execute;
  is_told_ = true;
  return rules_.broken(step, std::move(rule));
}

void GlobalSyncRules::after(const Step& step) {
  if (is_far_from_any(step.instruction)) return;
  is_told_ = false;
  if (waits_for_lgkm(step)) {
    gds_under_way_ = false;
    behind_ = behind_ == Behind::synchronisation ? Behind::its_wait : Behind::nothing;
  } else if (is_synchronisation(step.instruction)) {
    behind_ = Behind::synchronisation;
  } else {
    behind_ = Behind::nothing;
    gds_under_way_ |= step.instruction.gds;
  }
}

}  // namespace lockstep::precise

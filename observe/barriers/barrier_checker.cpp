#include "observe/barriers/barrier_checker.h"

#include <algorithm>

#include "observe/buffer_names.h"
#include "text/hex.h"

namespace lockstep::observe {

bool BarrierChecker::wants(const isa::Instruction& instruction) const {
  return instruction.row->opcode == isa::Opcode::s_barrier;
}

BarrierChecker::OfWave& BarrierChecker::of(const Wave& wave) {
  return groups_[wave.group][wave.index_in_group];
}

void BarrierChecker::group_begins(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  groups_[&group].assign(group.wave_count, {});
}

void BarrierChecker::group_ends(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  groups_.erase(&group);
}

void BarrierChecker::wave_begins(const Wave& wave) {
  std::lock_guard lock(mutex_);
  of(wave) = {&wave, wave.exec(), 0, false};
}

void BarrierChecker::wave_ends(const Wave& wave) {
  std::lock_guard lock(mutex_);
  of(wave).has_ended = true;
}

void BarrierChecker::before(const Event& event) {
  std::lock_guard lock(mutex_);
  OfWave& own = of(event.wave);
  own.barrier = event.pc;
  const uint64_t off = own.lanes & ~event.wave.exec();
  if (off == 0) return;
  FindingDetail detail;
  detail.lanes = off;
  detail.text = "lanes " + hex(off) + " of the wave's " + hex(own.lanes) + " are off";
  detail.remedy = "move the barrier out of the branch or loop, and let no work-item return before it";
  findings_.add("barriers", event.wave, event.pc,
                "a barrier that some work-items do not come to: it is reached with their lanes off",
                std::move(detail));
}

void BarrierChecker::barrier_passed(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  std::vector<OfWave>& waves = groups_[&group];
  const auto first =
      std::find_if(waves.begin(), waves.end(), [](const OfWave& each) { return each.barrier != 0; });
  if (first == waves.end()) return;
  for (const OfWave& each : waves) {
    // Waves without work-items leave at once (guide 3.5.1).
    if (each.has_ended && each.lanes != 0) {
      FindingDetail detail;
      detail.text = name_of(group.id, each.wave->index_in_group) + " has ended";
      detail.remedy = "let every wave of the work-group come to the barrier before it ends";
      findings_.add("barriers", *first->wave, first->barrier,
                    "a barrier that some waves of the work-group do not come to: they have ended before",
                    std::move(detail));
    } else if (!each.has_ended && each.barrier != 0 && each.barrier != first->barrier) {
      FindingDetail detail;
      detail.other_pc = each.barrier;
      detail.text = name_of(group.id, each.wave->index_in_group) + " waits at the other one";
      detail.remedy = "let all waves of the work-group come to the same barrier";
      findings_.add("barriers", *first->wave, first->barrier,
                    "waves of a work-group wait at different barriers and let each other pass",
                    std::move(detail));
    }
  }
  for (OfWave& each : waves) each.barrier = 0;
}

}  // namespace lockstep::observe

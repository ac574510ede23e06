#include "observe/barriers/barrier_checker.h"

#include <algorithm>

#include "engine/scalar_operand.h"
#include "observe/buffer_names.h"
#include "text/hex.h"

namespace lockstep::observe {

namespace {

using isa::Opcode;

constexpr size_t kMostCalls = 64;  // that are followed, one inside the other

bool is_call(Opcode opcode) {
  return opcode == Opcode::s_swappc_b64 || opcode == Opcode::s_call_b64;
}

// Where the first wave and another one came to the barriers that they wait at: the calls that differ, or the
// barriers themselves.
std::pair<uint64_t, uint64_t> ways_apart(const std::vector<uint64_t>& first, uint64_t barrier,
                                         const std::vector<uint64_t>& other, uint64_t other_barrier) {
  const auto [at, other_at] = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
  return {at == first.end() ? barrier : *at, other_at == other.end() ? other_barrier : *other_at};
}

}  // namespace

// Barriers in functions that are not inlined are told apart by who has called these.
bool BarrierChecker::wants(const isa::Instruction& instruction) const {
  const Opcode opcode = instruction.row->opcode;
  return opcode == Opcode::s_barrier || is_call(opcode) || opcode == Opcode::s_setpc_b64;
}

void BarrierChecker::follow_call(const Event& event, std::vector<uint64_t>& calls) {
  if (is_call(event.instruction.row->opcode)) {
    if (calls.size() < kMostCalls) calls.push_back(event.pc);
    return;
  }
  // All calls are instructions of a dword, and return behind it.
  const uint64_t target =
      scalar_value(event.wave, *event.instruction.find(isa::Role::src0), event.instruction);
  const auto returned = std::find(calls.rbegin(), calls.rend(), target - 4);
  if (returned != calls.rend()) calls.erase(std::prev(returned.base()), calls.end());
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
  of(wave) = {.wave = &wave, .lanes = wave.exec()};
}

void BarrierChecker::wave_ends(const Wave& wave) {
  std::lock_guard lock(mutex_);
  of(wave).has_ended = true;
}

void BarrierChecker::before(const Event& event) {
  std::lock_guard lock(mutex_);
  OfWave& own = of(event.wave);
  if (event.instruction.row->opcode != Opcode::s_barrier) {
    follow_call(event, own.calls);
    return;
  }
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
    } else if (!each.has_ended && each.barrier != 0 &&
               (each.barrier != first->barrier || each.calls != first->calls)) {
      const auto [here, there] = ways_apart(first->calls, first->barrier, each.calls, each.barrier);
      FindingDetail detail;
      detail.other_pc = there;
      detail.text = name_of(group.id, each.wave->index_in_group) + " waits at the other one";
      detail.remedy = "let all waves of the work-group come to the same barrier";
      findings_.add("barriers", *first->wave, here,
                    "waves of a work-group wait at different barriers and let each other pass",
                    std::move(detail));
    }
  }
  for (OfWave& each : waves) each.barrier = 0;
}

}  // namespace lockstep::observe

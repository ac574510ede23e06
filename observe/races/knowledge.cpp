#include "observe/races/knowledge.h"

#include <algorithm>

namespace lockstep::observe {

uint32_t RunningWave::complete_in_lds() const {
  const uint32_t oldest = lgkm.oldest_store();
  return oldest == 0 ? epoch : oldest;
}

void RunningWave::wait(const precise::Counts& limits) {
  stores.come_down_to(limits[precise::CounterName::vscnt]);
  lgkm.come_down_to(limits[precise::CounterName::lgkmcnt]);
  ++epoch;
}

void Knowledge::dispatch_begins(const DispatchState* id, bool processor_mode) {
  dispatches_running_[id] = static_cast<uint32_t>(dispatches_.size());
  dispatches_.push_back({++clock_, ~uint64_t{0}, processor_mode});
}

void Knowledge::dispatch_ends(const DispatchState* id) {
  const auto found = dispatches_running_.find(id);
  if (found == dispatches_running_.end()) return;
  dispatches_[found->second].end = ++clock_;
  dispatches_running_.erase(found);
}

void Knowledge::forget_all() {
  records_.assign(1, {});
  dispatches_.clear();
  groups_.clear();
  last_group_ = nullptr;
}

void Knowledge::group_begins(const WorkGroup& group) {
  last_group_ = nullptr;
  Group& own = groups_[&group];
  own = {};
  own.number = next_group_++;
  own.first_wave = static_cast<WaveNumber>(records_.size());
  own.waves.resize(group.wave_count);
  const auto near = std::make_shared<const GroupKnowledge>(group.wave_count);
  for (uint32_t i = 0; i < group.wave_count; ++i) {
    WaveRecord& record = records_.emplace_back();
    own.waves[i].number = own.first_wave + i;
    record.group = own.number;
    record.dispatch = dispatches_running_[group.dispatch];
    record.index = i;
    record.first_wave = own.first_wave;
    std::copy(std::begin(group.id), std::end(group.id), record.group_id);
    record.near = near;
  }
}

void Knowledge::group_ends(const WorkGroup& group) {
  last_group_ = nullptr;
  groups_.erase(&group);
}

Bound Knowledge::bound_of(const RunningWave& wave, bool to_own_group) const {
  // On one CU all waves share the cache that stores go through (LLVM AMDGPU memory model, gfx10 and gfx11).
  const bool sees_stores = to_own_group && !dispatches_[record(wave.number).dispatch].processor_mode;
  return {wave.complete_in_lds(), sees_stores ? wave.epoch : wave.complete_in_memory(), wave.epoch};
}

bool Knowledge::ordered(WaveNumber earlier, uint32_t epoch, WaveNumber later, Access access) const {
  if (earlier == later) return true;
  const WaveRecord &before = record(earlier), &after = record(later);
  if (before.dispatch != after.dispatch)
    return dispatches_[before.dispatch].end < dispatches_[after.dispatch].begin;
  const auto is_over = [&](const Bound& bound) {
    return epoch < (access == Access::read        ? bound.issued
                    : access == Access::write_lds ? bound.lds
                                                  : bound.memory);
  };
  if (before.group == after.group) return is_over((*after.near)[before.index]);
  if (!after.far) return false;
  const auto known = after.far->find(earlier);
  return known != after.far->end() && is_over(known->second);
}

GroupKnowledge& Knowledge::own_copy(WaveRecord& record, size_t waves) {
  auto copy =
      record.near ? std::make_shared<GroupKnowledge>(*record.near) : std::make_shared<GroupKnowledge>(waves);
  GroupKnowledge& result = *copy;
  record.near = std::move(copy);
  return result;
}

void Knowledge::take_over(RunningWave& wave, WaveNumber from, Bound bound) {
  if (from == wave.number || from == 0) return;
  WaveRecord& own = records_[wave.number];
  const WaveRecord& other = record(from);
  if (other.dispatch != own.dispatch) return;
  if (other.group == own.group) {
    const Bound& known = (*own.near)[other.index];
    if (known.lds >= bound.lds && known.memory >= bound.memory && known.issued >= bound.issued &&
        own.near == other.near && own.far == other.far)
      return;
    const auto theirs = other.near;
    GroupKnowledge& near = own_copy(own, other.near->size());
    for (size_t i = 0; i < near.size(); ++i) near[i].raise((*theirs)[i]);
    near[other.index].raise(bound);
    if (!other.far || own.far == other.far) return;
  }
  auto far = own.far ? std::make_shared<FarKnowledge>(*own.far) : std::make_shared<FarKnowledge>();
  if (other.far)
    for (const auto& [number, until] : *other.far) (*far)[number].raise(until);
  if (other.group != own.group) {
    for (size_t i = 0; i < other.near->size(); ++i)
      if ((*other.near)[i].issued != 0)
        (*far)[other.first_wave + static_cast<WaveNumber>(i)].raise((*other.near)[i]);
    (*far)[from].raise(bound);
  }
  own.far = std::move(far);
}

bool Knowledge::is_lds_complete(const WorkGroup& group) {
  const std::vector<RunningWave>& waves = groups_[&group].waves;
  return std::all_of(waves.begin(), waves.end(),
                     [](const RunningWave& wave) { return wave.lgkm.oldest_store() == 0; });
}

void Knowledge::barrier(const WorkGroup& group) {
  Group& own = groups_[&group];
  auto joined = std::make_shared<GroupKnowledge>(*records_[own.first_wave].near);
  std::shared_ptr<const FarKnowledge> far = records_[own.first_wave].far;
  for (const RunningWave& wave : own.waves) {
    const WaveRecord& record = records_[wave.number];
    if (record.near != records_[own.first_wave].near)
      for (size_t i = 0; i < joined->size(); ++i) (*joined)[i].raise((*record.near)[i]);
    if (!record.far || record.far == far) continue;
    auto both = far ? std::make_shared<FarKnowledge>(*far) : std::make_shared<FarKnowledge>();
    for (const auto& [number, until] : *record.far) (*both)[number].raise(until);
    far = std::move(both);
  }
  for (RunningWave& wave : own.waves) {
    ++wave.epoch;
    (*joined)[records_[wave.number].index] = bound_of(wave, true);
  }
  for (const RunningWave& wave : own.waves) {
    records_[wave.number].near = joined;
    records_[wave.number].far = far;
  }
}

}  // namespace lockstep::observe

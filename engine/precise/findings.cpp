#include "engine/precise/findings.h"

#include <algorithm>

#include "state/work_group.h"

namespace lockstep::precise {

void Findings::add(const Wave& wave, uint64_t pc, std::string rule) {
  std::lock_guard lock(mutex_);
  auto [at, is_new] = findings_.try_emplace({pc, rule});
  Finding& finding = at->second;
  ++finding.count;
  if (!is_new) return;
  finding.rule = std::move(rule);
  finding.pc = pc;
  finding.wave = wave.index_in_group;
  if (wave.group) std::copy(std::begin(wave.group->id), std::end(wave.group->id), finding.group);
}

std::vector<Finding> Findings::all() const {
  std::lock_guard lock(mutex_);
  std::vector<Finding> result;
  for (const auto& [key, finding] : findings_) result.push_back(finding);
  return result;
}

}  // namespace lockstep::precise

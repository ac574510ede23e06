#include "engine/findings.h"

#include <algorithm>
#include <utility>

#include "state/work_group.h"

namespace lockstep {

FindingPlace::FindingPlace(const Wave& of, uint64_t at) : pc(at), wave(of.index_in_group) {
  if (of.group) std::copy(std::begin(of.group->id), std::end(of.group->id), group);
}

void Findings::add(const char* checker, const Wave& wave, uint64_t pc, std::string rule,
                   FindingDetail detail) {
  add_to(findings_, checker, {wave, pc}, 1, std::move(rule), std::move(detail));
}

void Findings::add(const char* checker, const FindingPlace& place, uint64_t count, std::string rule,
                   FindingDetail detail) {
  add_to(findings_, checker, place, count, std::move(rule), std::move(detail));
}

void Findings::add_exception(const Wave& wave, uint64_t pc, std::string name) {
  add_to(exceptions_, "exceptions", {wave, pc}, 1, std::move(name), {});
}

void Findings::add_to(ByPlace& findings, const char* checker, const FindingPlace& place, uint64_t count,
                      std::string rule, FindingDetail detail) {
  std::lock_guard lock(mutex_);
  auto [at, is_new] = findings.try_emplace({place.pc, checker, rule});
  Finding& finding = at->second;
  finding.count += count;
  if (!is_new) return;
  finding.checker = checker;
  finding.rule = std::move(rule);
  finding.pc = place.pc;
  finding.wave = place.wave;
  std::copy(std::begin(place.group), std::end(place.group), finding.group);
  finding.detail = std::move(detail);
}

std::vector<Finding> Findings::all() const {
  return list(findings_);
}

std::vector<Finding> Findings::exceptions() const {
  return list(exceptions_);
}

std::vector<Finding> Findings::list(const ByPlace& findings) const {
  std::lock_guard lock(mutex_);
  std::vector<Finding> result;
  for (const auto& [key, finding] : findings) result.push_back(finding);
  return result;
}

}  // namespace lockstep

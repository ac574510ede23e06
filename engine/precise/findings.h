// Rules that a program broke without faulting, and exceptions that it raised: collected from all waves of a
// dispatch.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "state/wave.h"

namespace lockstep::precise {

struct Finding {
  std::string rule;  // what was broken, where the guide says it, and how to mend it
  uint64_t pc = 0;
  uint64_t count = 0;      // wave-instructions
  uint32_t group[3] = {};  // of the wave that did it first
  uint32_t wave = 0;
};

// Safe from several threads.
class Findings {
 public:
  void add(const Wave& wave, uint64_t pc, std::string rule);
  // An exception that an instruction raised, by its name.
  void add_exception(const Wave& wave, uint64_t pc, std::string name);
  // By address, then by rule.
  std::vector<Finding> all() const;
  std::vector<Finding> exceptions() const;

 private:
  using ByPlace = std::map<std::pair<uint64_t, std::string>, Finding>;
  void add_to(ByPlace& findings, const Wave& wave, uint64_t pc, std::string rule);
  std::vector<Finding> list(const ByPlace& findings) const;

  mutable std::mutex mutex_;
  ByPlace findings_, exceptions_;
};

}  // namespace lockstep::precise

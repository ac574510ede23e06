// What checkers found that is no fault, and exceptions that waves raised: collected from all waves of a
// dispatch, the same thing once, with a count.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "state/wave.h"

namespace lockstep {

// Whether it is a mistake, or may be meant.
enum class Severity : uint8_t { note, warning, error };

// What a finding is about beside its place.
struct FindingDetail {
  uint64_t lanes = 0;     // a bit for each that did it
  uint64_t address = 0;   // of the first of them; in scratch, LDS and GDS the offset
  uint32_t bytes = 0;     // 0: no memory is concerned
  std::string text;       // what was there: a buffer's name, a distance
  uint64_t other_pc = 0;  // of the instruction that has part in it; 0: none
  std::string remedy;     // what mends it, where `rule` does not say so
  Severity severity = Severity::error;
};

struct Finding {
  const char* checker = "";  // the name that it is asked for by: "waits", "memory"
  std::string rule;          // what was broken, where that is said, and how to mend it
  uint64_t pc = 0;
  uint64_t count = 0;      // wave-instructions
  uint32_t group[3] = {};  // of the wave that did it first
  uint32_t wave = 0;
  FindingDetail detail;  // of that time
};

// An instruction, and the first wave to execute it.
struct FindingPlace {
  uint64_t pc = 0;
  uint32_t group[3] = {};
  uint32_t wave = 0;

  FindingPlace() = default;
  FindingPlace(const Wave& wave, uint64_t pc);
};

// Safe from several threads.
class Findings {
 public:
  // `checker` outlives this.
  void add(const char* checker, const Wave& wave, uint64_t pc, std::string rule, FindingDetail detail = {});
  // Of what was only counted until the dispatch ended.
  void add(const char* checker, const FindingPlace& place, uint64_t count, std::string rule,
           FindingDetail detail);
  // An exception that an instruction raised, by its name.
  void add_exception(const Wave& wave, uint64_t pc, std::string name);
  // By address, then by checker and rule.
  std::vector<Finding> all() const;
  std::vector<Finding> exceptions() const;

 private:
  using ByPlace = std::map<std::tuple<uint64_t, std::string, std::string>, Finding>;
  void add_to(ByPlace& findings, const char* checker, const FindingPlace& place, uint64_t count,
              std::string rule, FindingDetail detail);
  std::vector<Finding> list(const ByPlace& findings) const;

  mutable std::mutex mutex_;
  ByPlace findings_, exceptions_;
};

}  // namespace lockstep

#include "api/checks.h"

#include <string>
#include <string_view>

#include "api/status.h"
#include "observe/memory/memory_checker.h"

namespace lockstep::api {

Checks::Checks(const char* names, const std::vector<Range>& freed) {
  std::string_view rest = names ? names : "";
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name != "memory")
      throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                    "there is no checker '" + std::string(name) + "' (options.checks takes: memory)");
    checkers_.push_back(std::make_unique<observe::MemoryChecker>(findings_, freed));
    listeners_.add(*checkers_.back());
  }
}

}  // namespace lockstep::api

#include "api/settings.h"

#include "api/status.h"

namespace lockstep::api {

namespace {

precise::Rules rules_of(int rules) {
  switch (rules) {
    case LOCKSTEP_RULES_IGNORE:
      return precise::Rules::ignore;
    case LOCKSTEP_RULES_WARN:
      return precise::Rules::warn;
    case LOCKSTEP_RULES_FAULT:
      return precise::Rules::fault;
  }
  throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                "options.rules is " + std::to_string(rules) + " (use a value of lockstep_rules)");
}

precise::Results results_of(int results) {
  switch (results) {
    case LOCKSTEP_RESULTS_NOW:
      return precise::Results::now;
    case LOCKSTEP_RESULTS_LATE:
      return precise::Results::late;
    case LOCKSTEP_RESULTS_RANDOM:
      return precise::Results::random;
  }
  throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                "options.results is " + std::to_string(results) + " (use a value of lockstep_results)");
}

precise::Caches caches_of(int caches) {
  switch (caches) {
    case LOCKSTEP_CACHES_COHERENT:
      return precise::Caches::coherent;
    case LOCKSTEP_CACHES_INCOHERENT:
      return precise::Caches::incoherent;
  }
  throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                "options.caches is " + std::to_string(caches) + " (use a value of lockstep_caches)");
}

}  // namespace

precise::Settings settings_of(const lockstep_dispatch_options& options) {
  precise::Settings settings;
  settings.rules = rules_of(number_of(options.rules));
  settings.exceptions = options.exceptions != 0;
  settings.results = results_of(number_of(options.results));
  settings.seed = options.results_seed;
  settings.caches = caches_of(number_of(options.caches));
  return settings;
}

void add_trap_handler(const lockstep_dispatch_options& options, const lockstep_kernel& kernel,
                      lockstep_device& device, precise::TrapSettings& traps) {
  if (!options.trap_handler) {
    require(options.trap_memory == 0, "options.trap_memory is set, but there is no options.trap_handler");
    return;
  }
  if (options.trap_handler->kernels.empty())
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, "the trap handler's code object '" + options.trap_handler->name +
                                                 "' holds no code (its first kernel is the handler)");
  const lockstep_kernel& handler = options.trap_handler->kernels.front();
  if (handler.kernel->descriptor.wave_size() != kernel.kernel->descriptor.wave_size())
    throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                  "the trap handler is compiled for wave" +
                      std::to_string(handler.kernel->descriptor.wave_size()) + ", the kernel for wave" +
                      std::to_string(kernel.kernel->descriptor.wave_size()) + " (compile it for that)");
  const machine::LoadedCode& code = device.load(handler.image);
  traps.handler = code.loaded_address(handler.kernel->entry_address);
  traps.memory = options.trap_memory;
  for (const CodeRange& range : code.code())
    if (traps.handler >= range.begin && traps.handler < range.end) traps.code = range;
}

}  // namespace lockstep::api

#include "api/settings.h"

#include <algorithm>

#include "api/status.h"

struct lockstep_host_traps {
  lockstep::precise::HostTraps requests;
};

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

precise::Order order_of(int order) {
  switch (order) {
    case LOCKSTEP_ORDER_FORWARD:
      return precise::Order::forward;
    case LOCKSTEP_ORDER_BACKWARD:
      return precise::Order::backward;
    case LOCKSTEP_ORDER_RANDOM:
      return precise::Order::random;
  }
  throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                "options.order is " + std::to_string(order) + " (use a value of lockstep_order)");
}

precise::AddressWatch watch_of(const lockstep_address_watch& watch, unsigned number) {
  if (watch.bytes == 0) return {};
  const std::string name = "options.traps->watches[" + std::to_string(number) + "]";
  const int access = number_of(watch.access);
  if (access < LOCKSTEP_READ || access > LOCKSTEP_READ_WRITE)
    throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                  name + ".access is " + std::to_string(access) + " (use a value of lockstep_access)");
  precise::AddressWatch result;
  result.begin = watch.address;
  if (__builtin_add_overflow(watch.address, watch.bytes, &result.end))
    throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                  name + " ends behind the last address (give the address and the number of its bytes)");
  result.reads = access & LOCKSTEP_READ;
  result.writes = access & LOCKSTEP_WRITE;
  return result;
}

precise::HostRequest request_of(int save_context, uint32_t trap_id, const std::string& name) {
  if (trap_id > 255)
    throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                  name + " is " + std::to_string(trap_id) + " (it has 8 bits: give 0 to 255)");
  return {static_cast<uint8_t>(trap_id), save_context != 0};
}

// What of the options is never seen without a handler; empty if there is nothing.
const char* needs_handler(const lockstep_trap_options& options) {
  if (options.on_wave_start) return "on_wave_start";
  if (options.on_wave_end) return "on_wave_end";
  if (options.after_instruction) return "after_instruction";
  if (options.exception_enable) return "exception_enable";
  if (options.disabled) return "disabled";
  if (options.request_count) return "requests";
  if (options.host) return "host";
  return nullptr;
}

lockstep_trap_options trap_defaults() {
  lockstep_trap_options options{};
  for (lockstep_address_watch& watch : options.watches) watch.access = LOCKSTEP_READ_WRITE;
  return options;
}

void add_traps(const lockstep_trap_options* given, precise::TrapSettings& traps) {
  const lockstep_trap_options options = with_defaults(given, trap_defaults());
  if (const char* field = needs_handler(options); field && traps.handler == 0)
    throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                  "options.traps->" + std::string(field) + " is set, but there is no options.trap_handler");
  traps.on_start = options.on_wave_start != 0;
  traps.on_end = options.on_wave_end != 0;
  traps.after_instruction = options.after_instruction != 0;
  traps.enabled = options.disabled == 0;
  if (options.skip_without_handler) traps.without_handler = precise::TrapWithoutHandler::skip;
  constexpr uint32_t kFlags = 2 * LOCKSTEP_EXCEPTION_ADDRESS_WATCH - 1;
  if (options.exception_enable & ~kFlags)
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, "options.traps->exception_enable is " +
                                                 std::to_string(options.exception_enable) +
                                                 " (use values of lockstep_exception_flag, added up)");
  traps.exception_enable = options.exception_enable;
  for (unsigned i = 0; i < traps.watches.size(); ++i) traps.watches[i] = watch_of(options.watches[i], i);
  require(options.request_count == 0 || options.requests, "options.traps->requests is null");
  for (uint32_t i = 0; i < options.request_count; ++i) {
    const lockstep_trap_request& request = options.requests[i];
    const precise::ScheduledRequest scheduled{
        request.instructions, request_of(request.save_context, request.trap_id,
                                         "options.traps->requests[" + std::to_string(i) + "].trap_id")};
    const auto behind =
        std::upper_bound(traps.scheduled.begin(), traps.scheduled.end(), scheduled.instructions,
                         [](uint64_t at, const auto& other) { return at < other.instructions; });
    traps.scheduled.insert(behind, scheduled);
  }
  if (options.host) traps.host = &options.host->requests;
}

void add_trap_handler(const lockstep_code_object* object, uint64_t memory, lockstep_device& device,
                      precise::TrapSettings& traps) {
  if (!object) {
    require(memory == 0, "options.trap_memory is set, but there is no options.trap_handler");
    return;
  }
  if (object->kernels.empty())
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, "the trap handler's code object '" + object->name +
                                                 "' holds no code (its first kernel is the handler)");
  const lockstep_kernel& handler = object->kernels.front();
  const machine::LoadedCode& code = device.load(handler.image);
  traps.handler = code.loaded_address(handler.kernel->entry_address);
  traps.wave_size = handler.kernel->descriptor.wave_size();
  traps.memory = memory;
  for (const CodeRange& range : code.code())
    if (traps.handler >= range.begin && traps.handler < range.end) traps.code = range;
}

}  // namespace

precise::Settings settings_of(const lockstep_dispatch_options& options, lockstep_device& device) {
  precise::Settings settings;
  settings.rules = rules_of(number_of(options.rules));
  settings.exceptions = options.exceptions != 0;
  settings.results = results_of(number_of(options.results));
  settings.seed = options.results_seed;
  settings.caches = caches_of(number_of(options.caches));
  settings.order = order_of(number_of(options.order));
  settings.order_seed = options.order_seed;
  add_trap_handler(options.trap_handler, options.trap_memory, device, settings.traps);
  add_traps(options.traps, settings.traps);
  return settings;
}

precise::Settings settings_of(const lockstep_queue_options& options, lockstep_device& device) {
  precise::Settings settings;
  settings.exceptions = options.exceptions != 0;
  settings.order = order_of(number_of(options.order));
  settings.order_seed = options.order_seed;
  add_trap_handler(options.trap_handler, options.trap_memory, device, settings.traps);
  add_traps(options.traps, settings.traps);
  return settings;
}

}  // namespace lockstep::api

void lockstep_trap_options_init_sized(lockstep_trap_options* options, size_t struct_size) {
  lockstep::api::give_defaults(options, struct_size, lockstep::api::trap_defaults());
}

lockstep_status lockstep_host_traps_create(lockstep_host_traps** out) {
  return lockstep::api::guarded([&] {
    lockstep::api::require(out != nullptr, "out is null");
    *out = new lockstep_host_traps;
  });
}

void lockstep_host_traps_destroy(lockstep_host_traps* traps) {
  delete traps;
}

lockstep_status lockstep_host_traps_request(lockstep_host_traps* traps, int save_context, uint32_t trap_id) {
  return lockstep::api::guarded([&] {
    lockstep::api::require(traps != nullptr, "the host traps are null");
    traps->requests.request(lockstep::api::request_of(save_context, trap_id, "trap_id"));
  });
}

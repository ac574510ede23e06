// Queues, signals and interrupts of the C interface.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>

#include "api/device.h"
#include "api/finding.h"
#include "api/launch.h"
#include "api/settings.h"
#include "api/status.h"
#include "api/wave_control.h"
#include "command/command_processor.h"
#include "text/hex.h"

using namespace lockstep;
using namespace lockstep::api;

struct lockstep_queue {
  lockstep_device* device = nullptr;
  std::shared_ptr<command::Queue> queue;
  command::AqlQueue* aql = nullptr;  // one of these two
  command::RingQueue* ring = nullptr;
  std::vector<BrokenRuleReport> exceptions, check_findings;  // as of the last count
  std::shared_ptr<observe::Checks> checks;
};

namespace {

using Deadline = std::optional<command::Waiters::Clock::time_point>;

// None for times that nobody will see.
Deadline deadline_in(uint64_t nanoseconds) {
  constexpr uint64_t kCentury = 3'000'000'000'000'000'000;
  if (nanoseconds >= kCentury) return std::nullopt;
  return command::Waiters::Clock::now() + std::chrono::nanoseconds(nanoseconds);
}

command::CommandProcessor& processor_of(lockstep_device* device) {
  require(device != nullptr, "the device is null");
  return device->command_processor();
}

command::Signals& signals_of(lockstep_device* device, lockstep_signal signal) {
  command::Signals& signals = processor_of(device).signals();
  if (!signals.exists(signal))
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, hex(signal) + " is no signal of this device (create one)");
  return signals;
}

// Kernels of a queue may print side by side: the callback hears them one after the other.
GuestServices::Output output_of_queue(const lockstep_queue_options& options) {
  return [to = output_of(options.output, options.output_user), mutex = std::make_shared<std::mutex>()](
             std::string_view text, int stream) {
    const std::lock_guard lock(*mutex);
    to(text, stream);
  };
}

std::shared_ptr<command::Queue> make_queue(lockstep_device& device, const lockstep_queue_options& options,
                                           precise::Settings settings,
                                           std::shared_ptr<observe::Checks> checks) {
  command::CommandProcessor& processor = device.command_processor();
  checks->prepare(settings);
  command::Queue::ErrorCallback on_error;
  // The queue's callback keeps those who listen to its waves.
  if (options.error || settings.listener)
    on_error = [call = options.error, user = options.error_user, checks](const command::QueueError& error) {
      if (!call) return;
      const lockstep_queue_error view{static_cast<lockstep_queue_error_kind>(error.kind), error.queue,
                                      error.position, error.field.c_str(), error.message.c_str()};
      call(user, &view);
    };
  if (options.kind == LOCKSTEP_QUEUE_AQL) {
    command::AqlQueueOptions aql;
    if (options.size) aql.size = options.size;
    aql.priority = options.priority;
    aql.type = options.cooperative ? command::kQueueTypeCooperative : command::kQueueTypeMulti;
    aql.on_error = std::move(on_error);
    aql.precise = std::move(settings);
    aql.host = [&device, output = output_of_queue(options)](uint64_t arguments) {
      return device.queue_hosts.host(arguments, output);
    };
    return processor.create_aql_queue(std::move(aql));
  }
  command::RingQueueOptions ring;
  if (options.size) ring.dwords = options.size;
  ring.priority = options.priority;
  ring.on_error = std::move(on_error);
  if (options.kind == LOCKSTEP_QUEUE_PM4) {
    ring.precise = std::move(settings);
    return processor.create_pm4_queue(std::move(ring));
  }
  require(settings.is_default(),
          "a copy engine runs no waves: options.exceptions, trap_handler, traps, checks, plugins and "
          "order are of AQL and PM4 queues");
  return processor.create_sdma_queue(std::move(ring));
}

}  // namespace

command::CommandProcessor& lockstep_device::command_processor() {
  std::call_once(processor_made, [&] {
    machine::Device::Options options;
    options.hardware = model;
    options.engine = engine;
    options.math = math;
    options.threads = threads;
    options.access_modes = access_modes;
    if (queue_control) options.control = &queue_control->control;
    options.state = global_state;
    processor = std::make_unique<command::CommandProcessor>(memory, std::move(options));
  });
  return *processor;
}

void lockstep_device::tell_unmapped(const Range& range) {
  std::lock_guard lock(queues_mutex);
  for (auto& [address, queue] : queues)
    if (Listener* listener = queue->checks->listener()) listener->memory_unmapped(range);
}

void lockstep_queue_options_init_sized(lockstep_queue_options* options, size_t struct_size) {
  give_defaults(options, struct_size, lockstep_queue_options{});
}

lockstep_status lockstep_queue_create(lockstep_device* device, const lockstep_queue_options* given,
                                      lockstep_queue** out) {
  return guarded([&] {
    require(out != nullptr, "out is null");
    const lockstep_queue_options options = with_defaults(given, lockstep_queue_options{});
    require(options.kind >= LOCKSTEP_QUEUE_AQL && options.kind <= LOCKSTEP_QUEUE_SDMA,
            "the kind of queue is unknown");
    auto made = std::make_unique<lockstep_queue>();
    made->device = device;
    require(device != nullptr, "the device is null");
    made->checks = checks_of(options.checks, options.plugins, options.plugin_count, *device);
    try {
      made->queue = make_queue(*device, options, settings_of(options, *device), made->checks);
    } catch (const std::invalid_argument& error) {
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, error.what());
    }
    made->aql = dynamic_cast<command::AqlQueue*>(made->queue.get());
    made->ring = dynamic_cast<command::RingQueue*>(made->queue.get());
    *out = made.get();
    std::lock_guard lock(device->queues_mutex);
    device->queues.emplace(*out, std::shared_ptr<lockstep_queue>(std::move(made)));
  });
}

void lockstep_queue_destroy(lockstep_queue* queue) {
  if (!queue) return;
  lockstep_device& device = *queue->device;
  device.processor->destroy(queue->queue);
  std::lock_guard lock(device.queues_mutex);
  device.queues.erase(queue);
}

lockstep_status lockstep_queue_get_info(const lockstep_queue* queue, lockstep_queue_info* out) {
  return guarded([&] {
    require(queue != nullptr, "the queue is null");
    lockstep_queue_info info{};
    info.id = queue->queue->id();
    info.active = queue->queue->state() == command::QueueState::active;
    if (queue->aql) {
      info.queue_address = queue->aql->address();
      info.ring_address = reinterpret_cast<uint64_t>(queue->aql->ring());
      info.size = queue->aql->size();
      info.read_index = queue->aql->read_index();
      info.write_index = queue->aql->write_index();
    } else {
      info.ring_address = queue->ring->ring_address();
      info.size = queue->ring->size();
      info.read_index = queue->ring->read_position();
      info.write_index = queue->ring->write_position();
    }
    give(out, info);
  });
}

uint32_t lockstep_queue_exception_count(lockstep_queue* queue) {
  if (!queue) return 0;
  queue->exceptions.clear();
  guarded([&] { queue->exceptions = broken_rule_reports(queue->queue->exceptions(), *queue->device); });
  return static_cast<uint32_t>(queue->exceptions.size());
}

lockstep_status lockstep_queue_exception(const lockstep_queue* queue, uint32_t index,
                                         lockstep_exception* out) {
  return guarded([&] {
    require(queue != nullptr, "the queue is null");
    require(index < queue->exceptions.size(),
            "there is no exception of that index (see lockstep_queue_exception_count)");
    give(out, exception_of(queue->exceptions[index]));
  });
}

uint32_t lockstep_queue_check_finding_count(lockstep_queue* queue) {
  if (!queue) return 0;
  queue->check_findings.clear();
  guarded([&] {
    queue->check_findings =
        broken_rule_reports(queue->checks->findings(queue->queue->findings()), *queue->device);
    add_callers(queue->check_findings, *queue->device);
  });
  return static_cast<uint32_t>(queue->check_findings.size());
}

lockstep_status lockstep_queue_check_finding(const lockstep_queue* queue, uint32_t index,
                                             lockstep_check_finding* out) {
  return guarded([&] {
    require(queue != nullptr, "the queue is null");
    require(index < queue->check_findings.size(),
            "there is no finding of that index (see lockstep_queue_check_finding_count)");
    give(out, check_finding_of(queue->check_findings[index]));
  });
}

lockstep_status lockstep_queue_submit(lockstep_queue* queue, const void* packets, uint32_t count,
                                      uint64_t timeout_nanoseconds, uint64_t* out_index) {
  return guarded([&] {
    require(queue && packets && count, "the queue or the packets are null, or there are none");
    const Deadline deadline = deadline_in(timeout_nanoseconds);
    auto no_room = [&] {
      if (queue->queue->state() != command::QueueState::active)
        throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                      "queue " + std::to_string(queue->queue->id()) +
                          " is inactive after an error (destroy it and create another one)");
      throw Failure(LOCKSTEP_CANCELLED, "queue " + std::to_string(queue->queue->id()) +
                                            " had no room in time (wait longer, or make it larger)");
    };
    const uint32_t size = queue->aql ? queue->aql->size() : queue->ring->size();
    if (count > size)
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, std::to_string(count) + " packets or dwords for a queue of " +
                                                   std::to_string(size) + " (submit fewer at a time)");
    if (queue->ring) {
      const uint64_t first = queue->ring->write_position();
      if (!queue->ring->submit({static_cast<const uint32_t*>(packets), count}, deadline)) no_room();
      if (out_index) *out_index = first;
      return;
    }
    // An index that is reserved must be used, so the wait comes first; others may come between, and then the
    // slots are waited for without a deadline.
    if (!queue->aql->wait_for_slot(queue->aql->write_index() + count - 1, deadline)) no_room();
    const uint64_t first = queue->aql->reserve(count);
    if (!queue->aql->wait_for_slot(first + count - 1, std::nullopt)) no_room();
    for (uint32_t i = 0; i < count; ++i) {
      command::AqlPacket packet;
      std::memcpy(&packet, static_cast<const std::byte*>(packets) + size_t{i} * sizeof packet, sizeof packet);
      queue->aql->publish(first + i, packet);
    }
    queue->aql->ring_doorbell(first + count - 1);
    if (out_index) *out_index = first;
  });
}

lockstep_status lockstep_queue_ring_doorbell(lockstep_queue* queue, uint64_t value) {
  return guarded([&] {
    require(queue != nullptr, "the queue is null");
    if (queue->aql)
      queue->aql->ring_doorbell(value);
    else
      queue->ring->ring_doorbell(value);
  });
}

lockstep_status lockstep_queue_kill(lockstep_queue* queue, uint64_t packet) {
  return guarded([&] {
    require(queue != nullptr, "the queue is null");
    require(queue->aql != nullptr, "packets of AQL queues alone can be killed (destroy the queue)");
    if (!queue->aql->kill(packet))
      throw Failure(LOCKSTEP_NOT_FOUND, "packet " + std::to_string(packet) + " of queue " +
                                            std::to_string(queue->queue->id()) +
                                            " does not run: it is done, or was never published");
  });
}

lockstep_status lockstep_device_kernel_object(lockstep_device* device, const lockstep_kernel* kernel,
                                              uint64_t* out_address) {
  return guarded([&] {
    require(device && kernel && out_address, "the device, the kernel or out_address is null");
    *out_address = device->load(kernel->image).loaded_address(kernel->kernel->descriptor_address);
  });
}

lockstep_status lockstep_signal_create(lockstep_device* device, int64_t value, uint32_t event_id,
                                       lockstep_signal* out) {
  return guarded([&] {
    require(out != nullptr, "out is null");
    *out = processor_of(device).signals().create(value, event_id);
  });
}

lockstep_status lockstep_signal_destroy(lockstep_device* device, lockstep_signal signal) {
  return guarded([&] { signals_of(device, signal).destroy(signal); });
}

lockstep_status lockstep_signal_load(lockstep_device* device, lockstep_signal signal, int64_t* out_value) {
  return guarded([&] {
    require(out_value != nullptr, "out_value is null");
    *out_value = signals_of(device, signal).load(signal);
  });
}

lockstep_status lockstep_signal_store(lockstep_device* device, lockstep_signal signal, int64_t value) {
  return guarded([&] { signals_of(device, signal).change(signal, command::SignalOperation::store, value); });
}

lockstep_status lockstep_signal_add(lockstep_device* device, lockstep_signal signal, int64_t value,
                                    int64_t* out_before) {
  return guarded([&] {
    const int64_t before = signals_of(device, signal).change(signal, command::SignalOperation::add, value);
    if (out_before) *out_before = before;
  });
}

lockstep_status lockstep_signal_wait(lockstep_device* device, lockstep_signal signal,
                                     lockstep_condition condition, int64_t value,
                                     uint64_t timeout_nanoseconds, int64_t* out_value) {
  return guarded([&] {
    require(condition >= LOCKSTEP_EQUAL && condition <= LOCKSTEP_GREATER_OR_EQUAL,
            "the condition is unknown");
    const auto seen = signals_of(device, signal)
                          .wait(signal, static_cast<command::Condition>(condition), value,
                                deadline_in(timeout_nanoseconds));
    if (!seen)
      throw Failure(
          LOCKSTEP_CANCELLED,
          "signal " + hex(signal) + " did not get its value in time (wait longer; did its queue fail?)");
    if (out_value) *out_value = *seen;
  });
}

lockstep_status lockstep_interrupt_wait(lockstep_device* device, uint64_t timeout_nanoseconds,
                                        lockstep_interrupt* out) {
  return guarded([&] {
    const auto one = processor_of(device).interrupts().wait(deadline_in(timeout_nanoseconds));
    if (!one) throw Failure(LOCKSTEP_CANCELLED, "there was no interrupt in time (wait longer)");
    lockstep_interrupt view{};
    view.source = static_cast<lockstep_interrupt_source>(one->source);
    view.data = one->data;
    view.queue = one->queue;
    std::copy(one->work_group.begin(), one->work_group.end(), view.work_group);
    view.wave = one->wave;
    give(out, view);
  });
}

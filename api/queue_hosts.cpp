#include "api/queue_hosts.h"

#include <cstring>
#include <string>
#include <utility>

#include "command/guest_memory.h"
#include "loader/hidden_arguments.h"

namespace lockstep::api {

class QueueHosts::Host final : public command::DispatchHost {
 public:
  Host(QueueHosts& hosts, std::shared_ptr<Shared> shared) : hosts_(hosts), shared_(std::move(shared)) {}

  bool answer(const Wave& wave, uint32_t payload) override {
    shared_->services->on_interrupt(wave, payload);
    return shared_->services->is_request(payload);
  }

  std::string end() override {
    std::unique_ptr<GuestServices> services;
    {
      const std::lock_guard lock(hosts_.mutex_);
      if (--shared_->dispatches == 0) services = std::move(shared_->services);
    }
    if (!services) return {};
    const std::string problem = services->end();
    const std::lock_guard lock(hosts_.mutex_);
    hosts_.idle_.push_back(std::move(services));
    return problem;
  }

 private:
  QueueHosts& hosts_;
  const std::shared_ptr<Shared> shared_;
};

void QueueHosts::expect(uint64_t arguments, const lockstep_kernel& kernel, uint64_t waves) {
  const std::lock_guard lock(mutex_);
  Expected& expected = expected_[arguments];
  // Dispatches of an earlier packet that still run keep their own.
  if (expected.kernel != kernel.kernel->metadata) expected.running.reset();
  expected.image = kernel.image;
  expected.kernel = kernel.kernel->metadata;
  expected.waves = waves;
  any_.store(true, std::memory_order_release);
}

void QueueHosts::forget(uint64_t begin, uint64_t end) {
  if (!any_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  expected_.erase(expected_.lower_bound(begin), expected_.lower_bound(end));
  any_.store(!expected_.empty(), std::memory_order_release);
}

std::unique_ptr<command::DispatchHost> QueueHosts::host(uint64_t arguments,
                                                        const GuestServices::Output& output) {
  if (!any_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = expected_.find(arguments);
  if (found == expected_.end()) return nullptr;
  Expected& expected = found->second;
  std::shared_ptr<Shared> shared = expected.running.lock();
  // What has ended has given its services back.
  if (!shared || !shared->services) {
    shared = std::make_shared<Shared>();
    if (idle_.empty()) {
      shared->services = std::make_unique<GuestServices>(memory_, heap_);
    } else {
      shared->services = std::move(idle_.back());
      idle_.pop_back();
    }
    loader::HiddenValues values;
    shared->services->begin(*expected.kernel, expected.image->object.metadata()->printf_formats,
                            expected.waves, output, values);
    write_hidden(expected, arguments, values);
    expected.running = shared;
  }
  ++shared->dispatches;
  return std::make_unique<Host>(*this, std::move(shared));
}

void QueueHosts::write_hidden(const Expected& expected, uint64_t arguments,
                              const loader::HiddenValues& values) const {
  const std::shared_ptr<const RangeSet> memory = memory_.snapshot();
  for (const loader::Argument& argument : expected.kernel->arguments) {
    const uint64_t* value = argument.kind == loader::ValueKind::hidden_printf_buffer ? &values.printf_buffer
                            : argument.kind == loader::ValueKind::hidden_hostcall_buffer
                                ? &values.hostcall_buffer
                            : argument.kind == loader::ValueKind::hidden_heap_v1 ? &values.heap
                                                                                 : nullptr;
    if (!value || argument.size != sizeof *value) continue;
    // Where the arguments are gone the dispatch will say so.
    if (std::byte* at = command::guest_bytes(*memory, arguments + argument.offset, sizeof *value, kReadWrite))
      std::memcpy(at, value, sizeof *value);
  }
}

}  // namespace lockstep::api

#include "python/queues.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/call.h"
#include "python/objects.h"
#include "python/output.h"

namespace lockstep_python {

namespace {

struct PySignal {
  std::shared_ptr<PyDevice> device;
  lockstep_signal handle = 0;

  PySignal(std::shared_ptr<PyDevice> owner, int64_t value) : device(std::move(owner)) {
    check(lockstep_signal_create(device->handle, value, 0, &handle));
  }
  ~PySignal() { lockstep_signal_destroy(device->handle, handle); }
  PySignal(const PySignal&) = delete;
  PySignal& operator=(const PySignal&) = delete;

  int64_t load() const {
    int64_t value = 0;
    check(lockstep_signal_load(device->handle, handle, &value));
    return value;
  }
  // False after `timeout` seconds (None: without end). `look` is called now and then, and may throw.
  template <class Look>
  bool wait(lockstep_condition condition, int64_t value, std::optional<double> timeout, Look look) const {
    constexpr double kSlice = 0.05;  // seconds that Ctrl-C, and errors, may have to wait
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    while (true) {
      const double left =
          timeout ? *timeout - std::chrono::duration<double>(Clock::now() - begin).count() : kSlice;
      lockstep_status status;
      std::string text;
      {
        const py::gil_scoped_release unlocked;
        status = lockstep_signal_wait(device->handle, handle, condition, value,
                                      static_cast<uint64_t>(std::clamp(left, 0.0, kSlice) * 1e9), nullptr);
        if (status != LOCKSTEP_OK) text = lockstep_last_error();
      }
      if (status == LOCKSTEP_OK) return true;
      if (status != LOCKSTEP_CANCELLED) raise_error(status, text);
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      look();
      if (left <= 0) return false;
    }
  }
};

// What a dispatch needs until it is done.
struct Pending {
  std::shared_ptr<PySignal> done;
  std::shared_ptr<PyMemory> segment;
  std::shared_ptr<PyKernel> kernel;
  py::object values;
};

struct PyQueue {
  struct Failure {
    lockstep_queue_error_kind kind;
    uint64_t queue, position;
    std::string field, message;
  };

  std::shared_ptr<PyDevice> device;
  lockstep_queue* handle = nullptr;
  lockstep_queue_kind kind;
  std::string checks;
  std::vector<std::shared_ptr<Pending>> pending;  // oldest first

  PyQueue(std::shared_ptr<PyDevice> owner, const std::string& kind_name, uint32_t size, int32_t priority,
          std::string check_names)
      : device(std::move(owner)), checks(std::move(check_names)) {
    device->require_idle();
    lockstep_queue_options options;
    lockstep_queue_options_init(&options);
    kind = choice<lockstep_queue_kind>(
        "kind", kind_name,
        {{"aql", LOCKSTEP_QUEUE_AQL}, {"pm4", LOCKSTEP_QUEUE_PM4}, {"sdma", LOCKSTEP_QUEUE_SDMA}});
    options.kind = kind;
    options.size = size;
    options.priority = priority;
    if (!checks.empty()) options.checks = checks.c_str();
    options.error_user = this;
    // From a thread of the device, which never waits for the interpreter.
    options.error = [](void* user, const lockstep_queue_error* error) {
      auto& self = *static_cast<PyQueue*>(user);
      const std::lock_guard lock(self.mutex_);
      self.failure_ = Failure{error->kind, error->queue, error->position, error->field, error->message};
    };
    options.output = &QueueOutput::take;
    options.output_user = &output_;
    check(lockstep_queue_create(device->handle, &options, &handle));
  }
  ~PyQueue() {
    lockstep_queue_destroy(handle);
    try {
      output_.write();
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("lockstep.Queue");
    }
  }
  PyQueue(const PyQueue&) = delete;
  PyQueue& operator=(const PyQueue&) = delete;

  // Whenever the host looks at the queue it also sees what its kernels have printed.
  void write_output() { output_.write(); }
  void raise_if_failed() {
    write_output();
    std::optional<Failure> failure;
    {
      const std::lock_guard lock(mutex_);
      failure = failure_;
    }
    if (!failure) return;
    constexpr const char* kKinds[] = {"invalid packet", "memory violation", "kernel fault", "not resident",
                                      "unsupported"};
    raise("QueueError", py::module_::import("lockstep.errors")
                            .attr("QueueError")(failure->message, "kind"_a = kKinds[failure->kind],
                                                "queue"_a = failure->queue, "position"_a = failure->position,
                                                "field"_a = failure->field));
  }
  // Lets go what dispatches that are done have needed.
  void forget_done() {
    write_output();
    std::vector<std::shared_ptr<Pending>> done;
    for (auto p = pending.begin(); p != pending.end();) {
      if ((*p)->done->load() >= 1) {
        ++p;
        continue;
      }
      done.push_back(std::move(*p));
      p = pending.erase(p);
    }
  }
  lockstep_queue_info info() const {
    lockstep_queue_info out = sized<lockstep_queue_info>();
    check(lockstep_queue_get_info(handle, &out));
    return out;
  }
  uint64_t submit(const void* packets, uint64_t count) {
    raise_if_failed();
    if (count > info().size)
      raise_usage(std::to_string(count) + " packets or dwords at once, but the queue has room for " +
                  std::to_string(info().size) + " (make it larger, or give fewer)");
    uint64_t index = 0;
    lockstep_status status;
    std::string text;
    do {
      constexpr uint64_t kSlice = 50'000'000;  // nanoseconds, as above
      {
        const py::gil_scoped_release unlocked;
        status = lockstep_queue_submit(handle, packets, static_cast<uint32_t>(count), kSlice, &index);
        if (status != LOCKSTEP_OK) text = lockstep_last_error();
      }
      if (status == LOCKSTEP_OK) return index;
      raise_if_failed();
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    } while (status == LOCKSTEP_CANCELLED);
    raise_error(status, text);
  }
  void require_aql(const char* what) const {
    if (kind != LOCKSTEP_QUEUE_AQL)
      raise_usage(std::string(what) + " is of AQL queues: device.queue() makes one");
  }

 private:
  std::mutex mutex_;
  std::optional<Failure> failure_;
  QueueOutput output_;
};

// A launch in a queue.
struct PyDispatch {
  std::shared_ptr<PyQueue> queue;
  std::shared_ptr<Pending> pending;
  uint64_t packet;

  bool wait(std::optional<double> timeout) const {
    const bool done = pending->done->wait(LOCKSTEP_LESS, 1, timeout, [&] { queue->raise_if_failed(); });
    if (done) queue->forget_done();
    return done;
  }
};

PyDispatch enqueue(const std::shared_ptr<PyQueue>& queue, const std::shared_ptr<PyKernel>& kernel,
                   const py::object& grid, const py::object& block, const py::args& values, uint32_t lds,
                   bool barrier) {
  queue->require_aql("launch()");
  queue->device->require_idle();
  queue->raise_if_failed();
  queue->forget_done();
  lockstep_dispatch_options options = shape_options(*kernel, grid, block);
  options.dynamic_lds_bytes = lds;
  Call call(*queue->device, *kernel, false);
  call.pack(values);
  const auto pending = std::make_shared<Pending>(
      Pending{std::make_shared<PySignal>(queue->device, 1),
              queue->device->allocate(std::max<uint64_t>(kernel->info.argument_bytes, 1), "kernel arguments"),
              kernel, values});
  std::array<uint8_t, 64> packet{};
  check(lockstep_device_dispatch_packet(queue->device->handle, kernel->handle, call.arguments, &options,
                                        pending->segment->address, pending->done->handle, packet.data()));
  // Of the header, whose bit 8 has the packet wait for all before it (HSA runtime specification 2.9.1).
  packet[1] |= barrier;
  const uint64_t index = queue->submit(packet.data(), 1);
  queue->pending.push_back(pending);
  return {queue, pending, index};
}

// A barrier packet: what comes behind it waits for dispatches of other queues (HSA specification 2.9.4).
void wait_for(PyQueue& queue, const py::args& dispatches) {
  queue.require_aql("wait_for()");
  constexpr size_t kMost = 5;
  if (dispatches.empty() || dispatches.size() > kMost)
    raise_usage("wait_for() takes one to five dispatches, not " + std::to_string(dispatches.size()));
  struct {
    uint16_t header = 3 | 1 << 8, reserved[3] = {};
    uint64_t wanted[kMost] = {}, reserved2 = 0, completion = 0;
  } packet;
  static_assert(sizeof packet == 64);
  const auto held = std::make_shared<Pending>();
  held->done = std::make_shared<PySignal>(queue.device, 1);
  for (size_t i = 0; i < dispatches.size(); ++i) {
    const auto& dispatch = dispatches[i].cast<const PyDispatch&>();
    if (dispatch.queue->device != queue.device) raise_usage("the dispatch is of another device");
    packet.wanted[i] = dispatch.pending->done->handle;
  }
  packet.completion = held->done->handle;
  held->values = dispatches;
  queue.submit(&packet, 1);
  queue.pending.push_back(held);
}

}  // namespace

void define_queues(py::module_& module) {
  py::class_<PySignal, std::shared_ptr<PySignal>>(
      module, "Signal", "A number that kernels, queues and the host change and wait for.")
      .def(py::init<std::shared_ptr<PyDevice>, int64_t>(), "device"_a, "value"_a = 1)
      .def_readonly("address", &PySignal::handle, "as packets name it")
      .def_property(
          "value", &PySignal::load,
          [](PySignal& s, int64_t value) { check(lockstep_signal_store(s.device->handle, s.handle, value)); })
      .def(
          "add",
          [](PySignal& s, int64_t value) {
            int64_t before = 0;
            check(lockstep_signal_add(s.device->handle, s.handle, value, &before));
            return before;
          },
          "value"_a, "Adds, and returns what was there before.")
      .def(
          "wait",
          [](const PySignal& s, const std::string& condition, int64_t value, std::optional<double> timeout) {
            return s.wait(choice<lockstep_condition>("condition", condition,
                                                     {{"==", LOCKSTEP_EQUAL},
                                                      {"!=", LOCKSTEP_NOT_EQUAL},
                                                      {"<", LOCKSTEP_LESS},
                                                      {">=", LOCKSTEP_GREATER_OR_EQUAL}}),
                          value, timeout, [] {});
          },
          "condition"_a = "<", "value"_a = 1, "timeout"_a = py::none(),
          "Sleeps until the value is so; False after `timeout` seconds.");

  py::class_<PyDispatch>(module, "Dispatch", "A launch in a queue.")
      .def_readonly("packet", &PyDispatch::packet, "its number in the queue")
      .def_property_readonly("signal", [](const PyDispatch& d) { return d.pending->done; })
      .def_property_readonly("done",
                             [](const PyDispatch& d) {
                               const bool done = d.pending->done->load() < 1;
                               d.queue->write_output();
                               return done;
                             })
      .def("wait", &PyDispatch::wait, "timeout"_a = py::none(),
           "Waits for its end; False after `timeout` seconds. Raises QueueError if the queue has failed.")
      .def(
          "kill", [](const PyDispatch& d) { check(lockstep_queue_kill(d.queue->handle, d.packet)); },
          "Ends it; its signal stays as it is.");

  py::class_<PyQueue, std::shared_ptr<PyQueue>>(module, "Queue", "Commands that run while the host goes on.")
      .def(py::init<std::shared_ptr<PyDevice>, const std::string&, uint32_t, int32_t, std::string>(),
           "device"_a, "kind"_a = "aql", py::kw_only(), "size"_a = 0, "priority"_a = 0, "checks"_a = "")
      .def("launch", &enqueue, "kernel"_a, "grid"_a, "block"_a, py::kw_only(), "dynamic_lds"_a = 0,
           "barrier"_a = true,
           "Puts a launch into the queue and returns a Dispatch. barrier: it waits for all before it.")
      .def("wait_for", &wait_for, "What is launched from now on waits for dispatches of other queues.")
      .def(
          "wait",
          [](const std::shared_ptr<PyQueue>& q, std::optional<double> timeout) {
            const auto all = q->pending;
            for (const auto& pending : all)
              if (!pending->done->wait(LOCKSTEP_LESS, 1, timeout, [&] { q->raise_if_failed(); }))
                return false;
            q->forget_done();
            q->raise_if_failed();
            return true;
          },
          "timeout"_a = py::none(),
          "Waits for all launches; False if one takes longer than `timeout` seconds. Raises QueueError.")
      .def(
          "submit",
          [](PyQueue& q, const py::buffer& packets) {
            const py::buffer_info bytes = packets.request();
            const auto size = static_cast<uint64_t>(bytes.size * bytes.itemsize);
            const uint64_t each = q.kind == LOCKSTEP_QUEUE_AQL ? 64 : 4;
            if (size == 0 || size % each != 0)
              raise_usage("packets of " + std::to_string(size) + " bytes, but each has " +
                          std::to_string(each));
            return q.submit(bytes.ptr, size / each);
          },
          "packets"_a, "Packets (AQL) or dwords by their bytes; the number of the first.")
      .def_property_readonly("info",
                             [](const PyQueue& q) {
                               const lockstep_queue_info i = q.info();
                               return py::dict("id"_a = i.id, "size"_a = i.size, "active"_a = i.active != 0,
                                               "read_index"_a = i.read_index, "write_index"_a = i.write_index,
                                               "ring_address"_a = i.ring_address,
                                               "queue_address"_a = i.queue_address);
                             })
      .def_property_readonly("check_findings", [](const PyQueue& q) {
        return reports<lockstep_check_finding>(q.handle, lockstep_queue_check_finding_count(q.handle),
                                               lockstep_queue_check_finding, check_finding);
      });
}

}  // namespace lockstep_python

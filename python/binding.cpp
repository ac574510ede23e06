// The Python module lockstep._native: the C interface as classes. What has no need of speed or of the
// interface is Python: python/lockstep/.
#include <lockstep.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/call.h"
#include "python/common.h"
#include "python/listener.h"
#include "python/objects.h"
#include "python/output.h"
#include "python/queues.h"
#include "python/wave_control.h"

namespace py = pybind11;
using namespace py::literals;
using namespace lockstep_python;

namespace {

// Ctrl-C while the library works without the interpreter's lock. Python's own handler only makes a note that
// the main thread finds when it gets back to Python code, which a kernel without an end never does.
class Interruption {
 public:
  Interruption() {
    if (running_.exchange(true)) return;  // another thread watches already
    watches_ = true;
    pressed_ = false;
    struct sigaction mine{};
    mine.sa_handler = [](int) { pressed_ = true; };
    sigaction(SIGINT, &mine, &before_);
    if (before_.sa_handler == SIG_IGN || before_.sa_handler == SIG_DFL) restore();
  }
  ~Interruption() {
    if (!watches_) return;
    restore();
    running_ = false;
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static bool pressed() { return pressed_; }
  // With the interpreter's lock: has Python raise what it raises for Ctrl-C.
  static void throw_if_pressed() {
    if (!pressed_.exchange(false)) return;
    PyErr_SetInterrupt();
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

 private:
  void restore() {
    if (!restored_) sigaction(SIGINT, &before_, nullptr);
    restored_ = true;
  }
  static inline std::atomic<bool> running_ = false, pressed_ = false;
  struct sigaction before_{};
  bool watches_ = false, restored_ = false;
};

int stop_if_pressed(void*) {
  return Interruption::pressed();
}

struct Statistics {
  uint64_t work_groups, work_groups_done, waves, wave_instructions;
  double seconds;
  std::string note;
  uint64_t translated_wave_instructions;
  double translation_seconds;
  std::string translation;  // where it comes from
  std::vector<std::tuple<std::string, std::string, uint64_t>> exits;
};

// Of the device's last dispatch.
Statistics statistics_of(const lockstep_device* device, const lockstep_statistics& s) {
  constexpr const char* kOrigins[] = {"none", "made", "stored", "reused"};
  Statistics statistics{s.work_groups,
                        s.work_groups_done,
                        s.waves,
                        s.wave_instructions,
                        s.seconds,
                        s.note ? s.note : "",
                        s.translated_wave_instructions,
                        s.translation_seconds,
                        kOrigins[s.translation_origin],
                        {}};
  for (uint32_t i = 0; i < lockstep_device_exit_count(device); ++i) {
    lockstep_exit exit = sized<lockstep_exit>();
    if (lockstep_device_exit(device, i, &exit) == LOCKSTEP_OK)
      statistics.exits.emplace_back(exit.name, exit.instruction, exit.times);
  }
  return statistics;
}

py::list check_findings(const PyDevice& device) {
  return reports<lockstep_check_finding>(device.handle, lockstep_device_check_finding_count(device.handle),
                                         lockstep_device_check_finding, check_finding);
}

[[noreturn]] void raise_fault(const lockstep_device* device, const Statistics& statistics) {
  const lockstep_fault* f = lockstep_device_fault(device);
  if (!f) raise_error(LOCKSTEP_FAULT, lockstep_last_error());
  raise("Fault",
        py::module_::import("lockstep.errors")
            .attr("Fault")(
                f->text, "kind"_a = fault_name(f->kind), "kernel"_a = f->kernel,
                "work_group"_a = py::make_tuple(f->work_group[0], f->work_group[1], f->work_group[2]),
                "wave"_a = f->wave, "lane"_a = f->lane, "pc"_a = f->pc, "offset"_a = f->offset,
                "address"_a = f->address, "bytes"_a = f->bytes, "instruction"_a = f->instruction,
                "function"_a = f->function, "file"_a = f->file, "line"_a = f->line, "message"_a = f->message,
                "statistics"_a = statistics));
}

// What follows a launch while it runs; both may be null.
struct Followers {
  Listener* listener = nullptr;
  Control* control = nullptr;
};

Statistics launch(PyDevice& device, const PyKernel& kernel, lockstep_dispatch_options& options,
                  const py::args& values, const Followers& followers = {}) {
  device.require_idle();
  Listener* const listener = followers.listener;
  const char* const plugin = listener ? Listener::plugin() : nullptr;
  if (listener) {
    options.plugins = &plugin;
    options.plugin_count = 1;
  }
  if (followers.control) {
    options.wave_control = followers.control->handle;
    followers.control->list(device.handle, kernel.code->handle, kernel.handle, kernel.info.name);
  }
  const bool checks_for_device = !options.checks && !device.checks.empty();
  if (checks_for_device) options.checks = device.checks.c_str();
  Call call(device, kernel);
  call.pack(values);
  lockstep_statistics statistics = sized<lockstep_statistics>();
  options.progress = [](void* user, const lockstep_progress*) -> int {
    return Interruption::pressed() || (user && static_cast<const Listener*>(user)->failed());
  };
  options.progress_user = listener;
  LaunchOutput output;
  options.output = &LaunchOutput::take;
  options.output_user = &output;
  lockstep_status status;
  {
    const Interruption interruption;
    device.busy = true;
    {
      const py::gil_scoped_release unlocked;
      const Listener::Beginning beginning(listener);
      status = lockstep_dispatch(device.handle, kernel.handle, call.arguments, &options, &statistics);
    }
    device.busy = false;
  }
  if (listener && listener->failed()) listener->rethrow();
  output.rethrow();
  if (checks_for_device)
    for (const py::handle& finding : check_findings(device)) device.checked.append(finding);
  if (status == LOCKSTEP_OK) {
    Interruption::throw_if_pressed();
    return statistics_of(device.handle, statistics);
  }
  if (status == LOCKSTEP_FAULT) raise_fault(device.handle, statistics_of(device.handle, statistics));
  const std::string text = lockstep_last_error();
  Interruption::throw_if_pressed();
  raise_error(status, text);
}

// kernel[grid, block]: to be called with the arguments.
struct Launch {
  std::shared_ptr<PyDevice> device;
  std::shared_ptr<PyKernel> kernel;
  lockstep_dispatch_options options;

  Statistics operator()(const py::args& values, const py::kwargs& named) {
    return launch(*device, *kernel, options, named.empty() ? values : in_order(*kernel, values, named));
  }

 private:
  // The arguments that are given by position, then the others by their names.
  static py::args in_order(const PyKernel& kernel, const py::args& values, const py::kwargs& named) {
    py::list list;
    for (const py::handle& value : values) list.append(value);
    size_t taken = 0;
    for (size_t i = values.size(); i < kernel.arguments.size(); ++i) {
      const char* name = kernel.arguments[i].info.name;
      if (!named.contains(name))
        raise_usage("kernel '" + std::string(kernel.info.name) + "': argument " + std::to_string(i) + " '" +
                    name + "' is missing");
      list.append(named[name]);
      ++taken;
    }
    if (taken == named.size()) return py::args(py::tuple(list));
    std::string names;
    for (size_t i = 0; i < kernel.arguments.size(); ++i)
      names += (names.empty() ? "" : ", ") + std::string(kernel.arguments[i].info.name);
    raise_usage("kernel '" + std::string(kernel.info.name) + "' takes " + names +
                ", each once: by position, then by name");
  }
};

lockstep_dispatch_options make_options(const PyKernel& kernel, const py::handle& grid,
                                       const py::handle& block, uint32_t lds, uint64_t limit,
                                       const std::string& rules, bool exceptions, bool fidelity,
                                       const std::string& results, uint64_t seed, const std::string& caches,
                                       const std::string& order, uint64_t order_seed,
                                       const std::string& checks) {
  lockstep_dispatch_options options = shape_options(kernel, grid, block);
  if (!checks.empty()) options.checks = checks.c_str();
  options.dynamic_lds_bytes = lds;
  options.instruction_limit = limit;
  options.exceptions = exceptions;
  options.fidelity = fidelity;
  options.results_seed = seed;
  options.rules = choice<lockstep_rules>(
      "rules", rules,
      {{"ignore", LOCKSTEP_RULES_IGNORE}, {"warn", LOCKSTEP_RULES_WARN}, {"fault", LOCKSTEP_RULES_FAULT}});
  options.results = choice<lockstep_results>(
      "results", results,
      {{"now", LOCKSTEP_RESULTS_NOW}, {"late", LOCKSTEP_RESULTS_LATE}, {"random", LOCKSTEP_RESULTS_RANDOM}});
  options.caches = choice<lockstep_caches>(
      "caches", caches, {{"coherent", LOCKSTEP_CACHES_COHERENT}, {"incoherent", LOCKSTEP_CACHES_INCOHERENT}});
  options.order = choice<lockstep_order>("order", order,
                                         {{"forward", LOCKSTEP_ORDER_FORWARD},
                                          {"backward", LOCKSTEP_ORDER_BACKWARD},
                                          {"random", LOCKSTEP_ORDER_RANDOM}});
  options.order_seed = order_seed;
  return options;
}

std::shared_ptr<PyDevice> device_or_default(const py::object& device) {
  if (!device.is_none()) return device.cast<std::shared_ptr<PyDevice>>();
  return py::module_::import("lockstep").attr("default_device")().cast<std::shared_ptr<PyDevice>>();
}

// --- compiling ---

template <class Open>
std::shared_ptr<PyCode> compiled(const std::string& name, const std::string& target, uint32_t wave,
                                 uint32_t optimize, bool debug, uint32_t work_group_size,
                                 const std::vector<std::string>& flags, Open&& open) {
  lockstep_compile_options options;
  lockstep_compile_options_init(&options);
  std::vector<const char*> pointers;
  for (const std::string& flag : flags) pointers.push_back(flag.c_str());
  options.target = target.c_str();
  options.wave_size = wave;
  options.optimization = optimize;
  options.debug_info = debug;
  options.work_group_size = work_group_size;
  options.flags = pointers.data();
  options.flag_count = static_cast<uint32_t>(pointers.size());
  options.cancelled = stop_if_pressed;
  auto code = std::make_shared<PyCode>();
  code->name = name;
  lockstep_status status;
  std::string text;  // the last error is of the thread, which may do other things in between
  {
    const Interruption interruption;
    const py::gil_scoped_release unlocked;
    status = open(&options, &code->handle);
    if (status != LOCKSTEP_OK) text = lockstep_last_error();
  }
  Interruption::throw_if_pressed();
  if (status == LOCKSTEP_OK) return code;
  raise_error(status, text);
}

std::vector<std::shared_ptr<PyKernel>> kernels_of(const std::shared_ptr<PyCode>& code) {
  std::vector<std::shared_ptr<PyKernel>> out;
  for (uint32_t i = 0; i < lockstep_code_object_kernel_count(code->handle); ++i)
    out.push_back(std::make_shared<PyKernel>(code, lockstep_code_object_kernel(code->handle, i)));
  return out;
}

std::shared_ptr<PyKernel> kernel_of(const std::shared_ptr<PyCode>& code, const std::string& name) {
  const lockstep_kernel* kernel = lockstep_code_object_find_kernel(code->handle, name.c_str());
  if (kernel) return std::make_shared<PyKernel>(code, kernel);
  std::string known;
  for (const auto& k : kernels_of(code)) known += (known.empty() ? "" : ", ") + std::string(k->info.name);
  raise_error(LOCKSTEP_NOT_FOUND,
              code->name + ": has no kernel '" + name + "'; it has " + (known.empty() ? "none" : known));
}

std::string listing(const PyCode& code, const char* kernel) {
  struct State {
    std::string text, file;
    uint32_t line = 0;
  } state;
  check(lockstep_code_object_disassemble(
      code.handle, kernel,
      [](void* user, const lockstep_listing_line* l) {
        auto& s = *static_cast<State*>(user);
        if (l->function) s.text += std::string(s.text.empty() ? "" : "\n") + l->function + ":\n";
        if (l->line && (l->line != s.line || s.file != l->file)) {
          s.line = l->line;
          s.file = l->file;
          s.text += "; " + s.file + ":" + std::to_string(s.line) + "\n";
        }
        char address[16];
        std::snprintf(address, sizeof address, "  %06llx  ", static_cast<unsigned long long>(l->address));
        s.text +=
            address + std::string(*l->problem ? std::string("; invalid: ") + l->problem : l->text) + "\n";
        return 0;
      },
      &state));
  return state.text;
}

py::object array_of(const py::object& memory, const py::object& dtype, const py::object& shape) {
  const auto& m = memory.cast<const PyMemory&>();
  const py::dtype type = py::dtype::from_args(dtype);
  if (m.bytes % static_cast<uint64_t>(type.itemsize()) != 0)
    raise_usage("memory of " + std::to_string(m.bytes) + " bytes is no whole number of elements of " +
                std::to_string(type.itemsize()));
  py::array flat(type, {static_cast<py::ssize_t>(m.bytes / static_cast<uint64_t>(type.itemsize()))}, {},
                 reinterpret_cast<const void*>(m.address), memory);
  return shape.is_none() ? py::object(flat) : flat.attr("reshape")(shape);
}

// Of the model of that name; of what Device() is where it is empty.
uint32_t waves_per_simd(const std::string& name) {
  for (uint32_t i = 0; i < lockstep_device_model_count(); ++i) {
    lockstep_device_info info = sized<lockstep_device_info>();
    check(lockstep_device_model(i, &info));
    if (name.empty() || name == info.name) return info.waves_per_simd;
  }
  return 0;  // lockstep_kernel_occupancy has refused it
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "The C interface of liblockstep as classes; use the package `lockstep`.";
  m.def("version", [] { return std::string(lockstep_version()); });

  define_events(m);
  define_wave_control(m);

  py::class_<Statistics>(m, "Statistics")
      .def_readonly("work_groups", &Statistics::work_groups)
      .def_readonly("work_groups_done", &Statistics::work_groups_done)
      .def_readonly("waves", &Statistics::waves)
      .def_readonly("wave_instructions", &Statistics::wave_instructions)
      .def_readonly("seconds", &Statistics::seconds)
      .def_readonly("note", &Statistics::note)
      .def_readonly("translated_wave_instructions", &Statistics::translated_wave_instructions)
      .def_readonly("translation_seconds", &Statistics::translation_seconds)
      .def_readonly("translation", &Statistics::translation)
      .def_readonly("exits", &Statistics::exits)
      .def("__repr__", [](const Statistics& s) {
        return "<" + std::to_string(s.work_groups_done) + " of " + std::to_string(s.work_groups) +
               " work-groups, " + std::to_string(s.waves) + " waves, " + std::to_string(s.wave_instructions) +
               " wave-instructions>";
      });

  py::class_<Local>(m, "Local").def(py::init([](uint32_t bytes) { return Local{bytes}; }), "bytes"_a);

  py::class_<PyMemory, std::shared_ptr<PyMemory>>(m, "Memory", py::buffer_protocol())
      .def_buffer([](PyMemory& memory) {
        return py::buffer_info(reinterpret_cast<uint8_t*>(memory.address),
                               static_cast<py::ssize_t>(memory.bytes));
      })
      .def_readonly("address", &PyMemory::address)
      .def_readonly("nbytes", &PyMemory::bytes)
      .def_readonly("name", &PyMemory::name)
      .def("__len__", [](const PyMemory& memory) { return memory.bytes; })
      .def("__repr__",
           [](const PyMemory& memory) {
             return "<lockstep.Memory '" + memory.name + "', " + std::to_string(memory.bytes) + " bytes>";
           })
      .def(
          "array",
          [](const py::object& self, const py::object& dtype, const py::object& shape) {
            return array_of(self, dtype, shape);
          },
          "dtype"_a = "uint8", "shape"_a = py::none());

  py::class_<PyDevice, std::shared_ptr<PyDevice>>(m, "Device")
      .def(py::init([](const std::string& model, const std::string& engine, uint32_t threads,
                       const std::string& math, const std::string& alignment) {
             lockstep_device_options options;
             lockstep_device_options_init(&options);
             if (!model.empty()) options.name = model.c_str();
             options.threads = threads;
             options.engine = choice<lockstep_engine>("engine", engine,
                                                      {{"auto", LOCKSTEP_ENGINE_AUTO},
                                                       {"interpreter", LOCKSTEP_ENGINE_INTERPRETER},
                                                       {"translator", LOCKSTEP_ENGINE_TRANSLATOR}});
             options.math = choice<lockstep_math>(
                 "math", math, {{"exact", LOCKSTEP_MATH_EXACT}, {"fast", LOCKSTEP_MATH_FAST}});
             options.alignment_mode =
                 choice<lockstep_alignment_mode>("alignment", alignment,
                                                 {{"unaligned", LOCKSTEP_ALIGNMENT_UNALIGNED},
                                                  {"dword", LOCKSTEP_ALIGNMENT_DWORD},
                                                  {"dword-strict", LOCKSTEP_ALIGNMENT_DWORD_STRICT},
                                                  {"strict", LOCKSTEP_ALIGNMENT_STRICT}});
             return std::make_shared<PyDevice>(options);
           }),
           "model"_a = "", py::kw_only(), "engine"_a = "auto", "threads"_a = 0, "math"_a = "exact",
           "alignment"_a = "unaligned")
      .def("allocate", &PyDevice::allocate, "bytes"_a, "name"_a = "")
      .def(
          "symbol",
          [](const std::shared_ptr<PyDevice>& device, const std::shared_ptr<PyCode>& code,
             const std::string& name) {
            uint64_t address = 0, size = 0;
            device->require_idle();
            check(lockstep_device_symbol(device->handle, code->handle, name.c_str(), &address, &size));
            return py::array(py::dtype::of<uint8_t>(), {static_cast<py::ssize_t>(size)}, {},
                             reinterpret_cast<const void*>(address), py::cast(device));
          },
          "code"_a, "name"_a)
      .def("reset_global_state",
           [](PyDevice& device) { check(lockstep_device_reset_global_state(device.handle)); })
      .def_property_readonly(
          "info",
          [](const PyDevice& device) {
            lockstep_device_info i = sized<lockstep_device_info>();
            check(lockstep_device_get_info(device.handle, &i));
            return py::dict("name"_a = i.name, "description"_a = i.description, "target"_a = i.target,
                            "compute_units"_a = i.compute_units,
                            "work_group_processors"_a = i.work_group_processors,
                            "waves_per_simd"_a = i.waves_per_simd, "vgprs_per_simd"_a = i.vgprs_per_simd,
                            "lds_bytes_per_work_group"_a = i.lds_bytes_per_work_group,
                            "max_work_group_size"_a = i.max_work_group_size, "clock_mhz"_a = i.clock_mhz);
          })
      .def_property_readonly(
          "findings",
          [](const PyDevice& device) {
            constexpr const char* kFidelities[] = {"exact", "bounded", "open", "unsupported"};
            return reports<lockstep_finding>(
                device.handle, lockstep_device_finding_count(device.handle), lockstep_device_finding,
                [&](const lockstep_finding& f) {
                  return py::dict(
                      "name"_a = f.name, "fidelity"_a = kFidelities[f.fidelity],
                      "corner_cases_only"_a = f.corner_cases_only != 0, "ulp"_a = f.ulp, "note"_a = f.note,
                      "executions"_a = f.executions, "first"_a = location(f.first),
                      "uses"_a =
                          py::dict("address"_a = f.uses[0], "branch"_a = f.uses[1], "memory"_a = f.uses[2]));
                });
          })
      .def_readwrite("checks", &PyDevice::checks)
      .def_readwrite("checked", &PyDevice::checked)
      .def_property_readonly("check_findings", &check_findings)
      .def_property_readonly("broken_rules",
                             [](const PyDevice& device) {
                               return reports<lockstep_broken_rule>(
                                   device.handle, lockstep_device_broken_rule_count(device.handle),
                                   lockstep_device_broken_rule,
                                   [](const lockstep_broken_rule& r) { return of_wave("rule", r.rule, r); });
                             })
      .def_property_readonly("exceptions", [](const PyDevice& device) {
        return reports<lockstep_exception>(
            device.handle, lockstep_device_exception_count(device.handle), lockstep_device_exception,
            [](const lockstep_exception& e) { return of_wave("name", e.name, e); });
      });

  define_queues(m);

  py::class_<Launch>(m, "Launch").def("__call__", &Launch::operator());

  py::class_<PyKernel, std::shared_ptr<PyKernel>>(m, "Kernel")
      .def("__call__",
           [](const PyKernel& k, const py::args&, const py::kwargs&) {
             const std::string name = k.info.name;
             throw py::type_error("kernel '" + name + "' needs a size: " + name +
                                  "[grid, block](arguments), in work-items");
           })
      .def_property_readonly("name", [](const PyKernel& k) { return std::string(k.info.name); })
      .def_property_readonly("readable_name",
                             [](const PyKernel& k) { return std::string(k.info.readable_name); })
      .def_property_readonly("code", [](const PyKernel& k) { return k.code; })
      .def_property_readonly("info",
                             [](const PyKernel& k) {
                               const lockstep_kernel_info& i = k.info;
                               return py::dict(
                                   "name"_a = i.name, "language"_a = i.language, "wave_size"_a = i.wave_size,
                                   "sgprs"_a = i.sgprs, "vgprs"_a = i.vgprs, "sgpr_spills"_a = i.sgpr_spills,
                                   "vgpr_spills"_a = i.vgpr_spills, "lds_bytes"_a = i.lds_bytes,
                                   "scratch_bytes_per_lane"_a = i.scratch_bytes_per_lane,
                                   "max_work_group_size"_a = i.max_work_group_size,
                                   "argument_bytes"_a = i.argument_bytes, "code_bytes"_a = i.code_bytes,
                                   "has_metadata"_a = i.has_metadata != 0);
                             })
      .def_property_readonly(
          "arguments",
          [](const PyKernel& k) {
            py::list out;
            for (const Argument& a : k.arguments)
              out.append(py::dict("name"_a = a.info.name, "type"_a = a.info.type_name,
                                  "kind"_a = a.info.kind_name, "offset"_a = a.info.offset,
                                  "size"_a = a.info.size, "is_const"_a = a.info.is_const != 0));
            return out;
          })
      .def(
          "occupancy",
          [](const PyKernel& k, uint32_t size, const std::string& device, uint32_t lds) {
            uint32_t waves = 0;
            check(lockstep_kernel_occupancy(k.handle, device.empty() ? nullptr : device.c_str(), size, lds,
                                            &waves));
            return py::make_tuple(waves, waves_per_simd(device));
          },
          "work_group_size"_a = 256, "device"_a = "", "dynamic_lds"_a = 0)
      .def("disassemble", [](const PyKernel& k) { return listing(*k.code, k.info.name); })
      .def("__getitem__",
           [](const std::shared_ptr<PyKernel>& k, const py::tuple& shape) {
             if (shape.size() < 1 || shape.size() > 3)
               raise_usage("a kernel is launched with kernel[grid, block] or kernel[grid, block, device]");
             const py::object block = shape.size() > 1 ? py::object(shape[1]) : py::none();
             const py::object device = shape.size() > 2 ? py::object(shape[2]) : py::none();
             return Launch{device_or_default(device), k, shape_options(*k, shape[0], block)};
           })
      .def("__getitem__",
           [](const std::shared_ptr<PyKernel>& k, const py::object& grid) {
             return Launch{device_or_default(py::none()), k, shape_options(*k, grid, py::none())};
           })
      .def(
          "launch",
          [](const std::shared_ptr<PyKernel>& k, const py::object& grid, const py::object& block,
             const py::args& values, const py::object& device, uint32_t lds, uint64_t limit,
             const std::string& rules, bool exceptions, bool fidelity, const std::string& results,
             uint64_t seed, const std::string& caches, const std::string& order, uint64_t order_seed,
             const std::string& checks, const py::object& on_instruction, const py::object& on_access,
             const py::object& on_result, const py::object& only, const py::object& control) {
            lockstep_dispatch_options options =
                make_options(*k, grid, block, lds, limit, rules, exceptions, fidelity, results, seed, caches,
                             order, order_seed, checks);
            Listener listener(k->info.name, on_instruction, on_access, on_result, only);
            return launch(*device_or_default(device), *k, options, values,
                          {listener.listens() ? &listener : nullptr,
                           control.is_none() ? nullptr : control.cast<Control*>()});
          },
          "grid"_a, "block"_a, py::kw_only(), "device"_a = py::none(), "dynamic_lds"_a = 0,
          "instruction_limit"_a = 0, "rules"_a = "ignore", "exceptions"_a = false, "fidelity"_a = false,
          "results"_a = "now", "seed"_a = 0, "caches"_a = "coherent", "order"_a = "forward",
          "order_seed"_a = 0, "checks"_a = "", "on_instruction"_a = py::none(), "on_access"_a = py::none(),
          "on_result"_a = py::none(), "only"_a = py::none(), "_control"_a = py::none());

  py::class_<PyCode, std::shared_ptr<PyCode>>(m, "CodeObject")
      .def_readonly("name", &PyCode::name)
      .def_property_readonly(
          "diagnostics",
          [](const PyCode& c) { return std::string(lockstep_code_object_diagnostics(c.handle)); })
      .def_property_readonly("compiler",
                             [](const PyCode& c) {
                               lockstep_image_info info = sized<lockstep_image_info>();
                               check(lockstep_code_object_image(c.handle, 0, &info));
                               return std::string(info.compiler);
                             })
      .def_property_readonly("kernels", &kernels_of)
      .def_property_readonly("elf",
                             [](const PyCode& c) {
                               const void* bytes = nullptr;
                               uint64_t size = 0;
                               check(lockstep_code_object_image_bytes(c.handle, 0, &bytes, &size));
                               return py::bytes(static_cast<const char*>(bytes), size);
                             })
      .def("__getitem__", &kernel_of)
      .def("__iter__", [](const std::shared_ptr<PyCode>& c) { return py::iter(py::cast(kernels_of(c))); })
      .def("__len__", [](const PyCode& c) { return lockstep_code_object_kernel_count(c.handle); })
      .def("disassemble", [](const PyCode& c) { return listing(c, nullptr); });

  m.def(
      "open_file",
      [](const std::string& path, const std::string& target, uint32_t wave, uint32_t optimize, bool debug,
         uint32_t work_group_size, const std::vector<std::string>& flags,
         const std::vector<std::string>& sources) {
        std::vector<const char*> pointers;
        for (const std::string& source : sources) pointers.push_back(source.c_str());
        return compiled(path, target, wave, optimize, debug, work_group_size, flags,
                        [&](const lockstep_compile_options* o, lockstep_code_object** out) {
                          lockstep_compile_options with_sources = *o;
                          with_sources.sources = pointers.data();
                          with_sources.source_count = static_cast<uint32_t>(pointers.size());
                          return lockstep_code_object_open(path.c_str(), &with_sources, out);
                        });
      },
      "path"_a, "target"_a, "wave"_a, "optimize"_a, "debug"_a, "work_group_size"_a, "flags"_a, "sources"_a);
  m.def(
      "open_bytes",
      [](const py::bytes& bytes, const std::string& name, const std::string& target) {
        const auto text = static_cast<std::string_view>(bytes);
        return compiled(name, target, 0, 2, false, 0, {},
                        [&](const lockstep_compile_options* o, lockstep_code_object** out) {
                          return lockstep_code_object_from_memory(text.data(), text.size(), name.c_str(), o,
                                                                  out);
                        });
      },
      "bytes"_a, "name"_a, "target"_a);
  m.def(
      "compile_text",
      [](const std::string& text, const std::string& language, const std::string& name,
         const std::string& target, uint32_t wave, uint32_t optimize, bool debug, uint32_t work_group_size,
         const std::vector<std::string>& flags) {
        const lockstep_language l = choice<lockstep_language>("language", language,
                                                              {{"opencl", LOCKSTEP_OPENCL},
                                                               {"hip", LOCKSTEP_HIP},
                                                               {"assembly", LOCKSTEP_ASSEMBLY},
                                                               {"llvm-ir", LOCKSTEP_LLVM_IR}});
        return compiled(name, target, wave, optimize, debug, work_group_size, flags,
                        [&](const lockstep_compile_options* o, lockstep_code_object** out) {
                          return lockstep_code_object_compile(l, text.c_str(), name.c_str(), o, out);
                        });
      },
      "text"_a, "language"_a, "name"_a, "target"_a, "wave"_a, "optimize"_a, "debug"_a, "work_group_size"_a,
      "flags"_a);
  m.def("models", [] {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < lockstep_device_model_count(); ++i) {
      lockstep_device_info info = sized<lockstep_device_info>();
      check(lockstep_device_model(i, &info));
      names.push_back(info.name);
    }
    return names;
  });
  m.def(
      "disassemble",
      [](const py::bytes& bytes, uint32_t wave) {
        auto rest = static_cast<std::string_view>(bytes);
        std::vector<std::string> out;
        char text[512];
        while (!rest.empty()) {
          const uint32_t size = lockstep_disassemble(rest.data(), rest.size(), wave, text, sizeof text);
          if (!size) raise_error(LOCKSTEP_BAD_INPUT, lockstep_last_error());
          out.emplace_back(text);
          rest.remove_prefix(size);
        }
        return out;
      },
      "code"_a, "wave"_a = 32);
}

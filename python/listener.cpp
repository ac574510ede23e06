#include "python/listener.h"

#include <dlfcn.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep_python {
namespace {

thread_local Listener* beginning = nullptr;

constexpr const char* kSpaces[] = {"global", "scalar", "scratch", "lds", "gds"};
constexpr const char* kReaches[] = {"inside", "filled up", "dropped", "refused"};

// A copy, which users may keep; registers are there during the call only.
struct Event {
  std::string kernel, text, mnemonic;
  lockstep_plugin_event event;
  uint64_t offset;
  std::vector<lockstep_plugin_access> accesses;
  const lockstep_plugin_event* now;
  const lockstep_plugin_host* host;

  const lockstep_plugin_event* present() const {
    if (!now) raise_usage("an event's registers can be read in the call-back that got it, not later");
    return now;
  }
};

uint32_t scalar_register(const Event& event, uint32_t number) {
  const lockstep_plugin_event* now = event.present();
  if (number > 107 && number != 125 && number != 126 && number != 127 && number != 253)
    raise_usage("there is no scalar register " + std::to_string(number) +
                ": 0 to 105 are the SGPRs, 106 and 107 VCC, 125 M0, 126 and 127 EXEC, 253 SCC");
  return event.host->scalar(now, number);
}

py::object vector_register(const Event& event, uint32_t number, const py::object& dtype) {
  const lockstep_plugin_event* now = event.present();
  if (number > 255) raise_usage("there is no VGPR " + std::to_string(number) + ": they are 0 to 255");
  py::array_t<uint32_t> out(now->wave_size);
  auto lanes = out.mutable_unchecked<1>();
  for (uint32_t lane = 0; lane < now->wave_size; ++lane) lanes(lane) = event.host->vector(now, number, lane);
  return out.attr("view")(dtype);
}

// Of all instructions that there are.
const std::set<std::string, std::less<>>& mnemonics() {
  static const auto all = [] {
    std::set<std::string, std::less<>> names;
    for (uint32_t i = 0; i < lockstep_isa_row_count(); ++i) {
      lockstep_isa_row_info row = sized<lockstep_isa_row_info>();
      check(lockstep_isa_row(i, &row));
      names.insert(row.mnemonic);
    }
    return names;
  }();
  return all;
}

}  // namespace

Listener::Listener(std::string kernel, py::object on_instruction, py::object on_access, py::object on_result,
                   const py::object& only)
    : kernel_(std::move(kernel)),
      on_instruction_(std::move(on_instruction)),
      on_access_(std::move(on_access)),
      on_result_(std::move(on_result)),
      all_(only.is_none()) {
  const std::pair<const char*, const py::object*> functions[] = {
      {"on_instruction", &on_instruction_}, {"on_access", &on_access_}, {"on_result", &on_result_}};
  for (const auto& [name, function] : functions)
    if (!function->is_none() && !PyCallable_Check(function->ptr()))
      raise_usage(std::string(name) + " is a function that takes an event, not " +
                  Py_TYPE(function->ptr())->tp_name);
  if (all_) return;
  if (py::isinstance<py::str>(only))
    only_.insert(only.cast<std::string>());
  else
    for (const py::handle name : only) only_.insert(name.cast<std::string>());
  // The functions would never be called, and nobody would know why.
  for (const std::string& name : only_)
    if (!mnemonics().contains(name))
      raise_usage(
          "only names instructions as event.mnemonic does, such as 'global_load_b32' or 'v_add_f32' (without "
          "_e32 or "
          "_e64), and there is no '" +
          name + "'");
}

bool Listener::listens() const {
  return !on_instruction_.is_none() || !on_access_.is_none() || !on_result_.is_none();
}

const char* Listener::plugin() {
  static const std::string path = [] {
    Dl_info info{};
    dladdr(&lockstep_plugin_version, &info);
    return std::string(info.dli_fname ? info.dli_fname : "");
  }();
  if (path.find(':') != std::string::npos)
    raise_usage("the package lockstep is at " + path +
                ", and plug-ins cannot be loaded from a path with a ':' (call-backs need that: move it)");
  return path.c_str();
}

Listener::Beginning::Beginning(Listener* listener) {
  beginning = listener;
}
Listener::Beginning::~Beginning() {
  beginning = nullptr;
}

void Listener::begin(const lockstep_plugin_host* host, lockstep_plugin& plugin) {
  host_ = host;
  plugin.name = "python";
  plugin.user = this;
  plugin.wants = [](void* user, const char* mnemonic) -> int {
    const auto& self = *static_cast<Listener*>(user);
    return self.all_ || self.only_.count(std::string_view(mnemonic)) != 0;
  };
  plugin.dispatch_begins = [](void* user, const lockstep_plugin_dispatch* dispatch) {
    static_cast<Listener*>(user)->entry_ = dispatch->entry;
  };
  if (!on_instruction_.is_none() || !on_access_.is_none())
    plugin.before = [](void* user, const lockstep_plugin_event* event) {
      auto& self = *static_cast<Listener*>(user);
      if (event->access_count == 0 && self.on_instruction_.is_none()) return;
      self.call(*event, self.on_instruction_, event->access_count ? self.on_access_ : py::none());
    };
  if (!on_result_.is_none())
    plugin.after = [](void* user, const lockstep_plugin_event* event) {
      auto& self = *static_cast<Listener*>(user);
      self.call(*event, self.on_result_, self.on_result_);
    };
}

// From threads of the device, that do not have the interpreter's lock.
void Listener::call(const lockstep_plugin_event& event, const py::object& first, const py::object& second) {
  if (failed_) return;
  const py::gil_scoped_acquire locked;
  try {
    char text[256];
    host_->text(&event, text, sizeof text);
    const auto copy = std::make_shared<Event>(
        Event{kernel_, text, event.mnemonic, event, event.pc - entry_,
              std::vector<lockstep_plugin_access>(event.accesses, event.accesses + event.access_count),
              &event, host_});
    struct Over {
      Event& event;
      ~Over() { event.now = nullptr; }
    } const over{*copy};
    if (!first.is_none()) first(copy);
    if (!second.is_none() && !second.is(first)) second(copy);
  } catch (...) {
    error_ = std::current_exception();
    failed_ = true;
  }
}

void define_events(py::module_& module) {
  py::class_<lockstep_plugin_access>(module, "Access", "What one lane of an instruction does to memory.")
      .def_readonly("lane", &lockstep_plugin_access::lane, "-1: the wave as a whole")
      .def_readonly("address", &lockstep_plugin_access::address, "in scratch, LDS and GDS the offset")
      .def_readonly("bytes", &lockstep_plugin_access::bytes)
      .def_property_readonly(
          "space", [](const lockstep_plugin_access& a) { return kSpaces[a.space]; },
          "'global', 'scalar', 'scratch', 'lds' or 'gds'")
      .def_property_readonly(
          "reach", [](const lockstep_plugin_access& a) { return kReaches[a.reach]; },
          "'inside', or behind a buffer's end: 'filled up', 'dropped', 'refused'")
      .def_property_readonly("reads", [](const lockstep_plugin_access& a) { return a.reads != 0; })
      .def_property_readonly("writes", [](const lockstep_plugin_access& a) { return a.writes != 0; })
      .def("__repr__", [](const lockstep_plugin_access& a) {
        char text[128];
        std::snprintf(text, sizeof text, "<lockstep.Access lane %d %s %u bytes of %s at %#llx>", a.lane,
                      a.writes ? a.reads ? "changes" : "writes" : "reads", a.bytes, kSpaces[a.space],
                      static_cast<unsigned long long>(a.address));
        return std::string(text);
      });
  py::class_<Event, std::shared_ptr<Event>>(module, "Event",
                                            "A wave at an instruction, as call-backs get it.")
      .def_readonly("kernel", &Event::kernel)
      .def_readonly("text", &Event::text, "the instruction")
      .def_readonly("mnemonic", &Event::mnemonic)
      .def_readonly("offset", &Event::offset, "of the PC from the kernel's first instruction")
      .def_property_readonly("pc", [](const Event& e) { return e.event.pc; })
      .def_property_readonly(
          "exec", [](const Event& e) { return e.event.exec; }, "a bit for each lane that is on")
      .def_property_readonly(
          "wave", [](const Event& e) { return e.event.wave; }, "its number in the work-group")
      .def_property_readonly("wave_size", [](const Event& e) { return e.event.wave_size; })
      .def_property_readonly("work_group", [](const Event& e) { return triple(e.event.work_group); })
      .def_property_readonly(
          "accesses", [](const Event& e) { return py::cast(e.accesses); },
          "those that the instruction makes, by lane")
      .def("sgpr", &scalar_register, "number"_a,
           "A scalar register: 0 to 105, 106 and 107 VCC, 125 M0, 126 and 127 EXEC, 253 SCC")
      .def("vgpr", &vector_register, "number"_a, "dtype"_a = "uint32",
           "A vector register, as an array of its lanes")
      .def("__repr__", [](const Event& e) {
        return "<lockstep.Event work-group " + py::str(triple(e.event.work_group)).cast<std::string>() +
               " wave " + std::to_string(e.event.wave) + ": " + e.text + ">";
      });
}

}  // namespace lockstep_python

const uint32_t lockstep_plugin_version = LOCKSTEP_PLUGIN_VERSION;

const char* lockstep_plugin_begin(const lockstep_plugin_host* host, const char*, lockstep_plugin* plugin) {
  if (!lockstep_python::beginning)
    return "the Python package is a plug-in for its own launches only (Kernel.launch with on_instruction, "
           "...)";
  lockstep_python::beginning->begin(host, *plugin);
  return nullptr;
}

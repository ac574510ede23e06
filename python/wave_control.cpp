#include "python/wave_control.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <cstring>
#include <vector>

namespace lockstep_python {
namespace {

constexpr const char* kStates[] = {"running", "halted", "at barrier", "sleeping", "blocked", "ended"};
constexpr const char* kCauses[] = {"",      "command", "start", "step", "s_sethalt", "s_sendmsghalt",
                                   "fatal", "refused", "fault"};
constexpr uint32_t kSgprs = 106;

struct RegisterName {
  const char* name;
  lockstep_register kind;
};
constexpr RegisterName kRegisters[] = {
    {"pc", LOCKSTEP_REGISTER_PC},     {"sgpr", LOCKSTEP_REGISTER_SGPR},
    {"vgpr", LOCKSTEP_REGISTER_VGPR}, {"vcc", LOCKSTEP_REGISTER_VCC},
    {"m0", LOCKSTEP_REGISTER_M0},     {"exec", LOCKSTEP_REGISTER_EXEC},
    {"scc", LOCKSTEP_REGISTER_SCC},   {"status", LOCKSTEP_REGISTER_STATUS},
    {"mode", LOCKSTEP_REGISTER_MODE}, {"trapsts", LOCKSTEP_REGISTER_TRAPSTS},
    {"ttmp", LOCKSTEP_REGISTER_TTMP}};

lockstep_register register_of(const std::string& name) {
  std::string known;
  for (const RegisterName& r : kRegisters) {
    if (name == r.name) return r.kind;
    known += (known.empty() ? "'" : ", '") + std::string(r.name) + "'";
  }
  raise_usage("a register is one of " + known + ", not '" + name + "'");
}

// A wave as it was when it was told of.
struct Wave {
  std::shared_ptr<Control> control;
  lockstep_wave_info info;
  std::string message;

  uint64_t read(lockstep_register kind, uint32_t index, uint32_t lane) const {
    uint64_t value = 0;
    check(lockstep_wave_read(control->handle, info.id, kind, index, lane, &value));
    return value;
  }
  std::string instruction() const {
    const auto found = control->listing.find(info.pc);
    return found == control->listing.end() ? "" : found->second;
  }
};

Wave wave_of(const std::shared_ptr<Control>& control, const lockstep_wave_info& info) {
  return {control, info, info.message ? info.message : ""};
}

std::vector<Wave> waves_of(const std::shared_ptr<Control>& control) {
  struct State {
    const std::shared_ptr<Control>& control;
    std::vector<Wave> waves;
  } state{control, {}};
  check(lockstep_wave_control_list(
      control->handle,
      [](void* user, const lockstep_wave_info* info) {
        auto& s = *static_cast<State*>(user);
        s.waves.push_back(wave_of(s.control, *info));
      },
      &state));
  return state.waves;
}

py::object wait(const std::shared_ptr<Control>& control, double seconds) {
  lockstep_wave_info info = sized<lockstep_wave_info>();
  lockstep_status status;
  std::string text;
  {
    const py::gil_scoped_release unlocked;
    status = lockstep_wave_control_wait(control->handle, static_cast<uint64_t>(seconds * 1e9), &info);
    text = status == LOCKSTEP_OK ? info.message : lockstep_last_error();
  }
  if (status == LOCKSTEP_CANCELLED) return py::none();
  if (status != LOCKSTEP_OK) raise_error(status, text);
  return py::cast(Wave{control, info, text});
}

py::array_t<uint32_t> sgprs(const Wave& wave) {
  py::array_t<uint32_t> out(kSgprs);
  auto values = out.mutable_unchecked<1>();
  for (uint32_t i = 0; i < kSgprs; ++i)
    values(i) = static_cast<uint32_t>(wave.read(LOCKSTEP_REGISTER_SGPR, i, 0));
  return out;
}

py::object vgpr(const Wave& wave, uint32_t index, const py::object& dtype) {
  py::array_t<uint32_t> out(wave.info.wave_size);
  auto lanes = out.mutable_unchecked<1>();
  for (uint32_t lane = 0; lane < wave.info.wave_size; ++lane)
    lanes(lane) = static_cast<uint32_t>(wave.read(LOCKSTEP_REGISTER_VGPR, index, lane));
  return out.attr("view")(dtype);
}

void set_vgpr(const Wave& wave, uint32_t index, const py::object& values) {
  const py::module_ numpy = py::module_::import("numpy");
  py::object array = numpy.attr("ascontiguousarray")(values);
  if (array.attr("dtype").attr("itemsize").cast<int>() != 4)
    raise_usage("a VGPR has 32 bits a lane: give an array of numpy.uint32, int32 or float32");
  array = array.attr("view")("uint32");
  if (array.attr("shape").cast<py::tuple>().size() > 1 ||
      (array.attr("size").cast<uint64_t>() != wave.info.wave_size))
    raise_usage("a VGPR of this wave has " + std::to_string(wave.info.wave_size) + " lanes");
  const auto lanes = array.cast<py::array_t<uint32_t>>().unchecked<1>();
  for (uint32_t lane = 0; lane < wave.info.wave_size; ++lane)
    check(lockstep_wave_write(wave.control->handle, wave.info.id, LOCKSTEP_REGISTER_VGPR, index, lane,
                              lanes(lane)));
}

}  // namespace

void Control::apply(bool start_halted, bool halt_on_fault, bool create) {
  lockstep_wave_control_options options;
  lockstep_wave_control_options_init(&options);
  options.start_halted = start_halted;
  options.halt_on_fault = halt_on_fault;
  check(create ? lockstep_wave_control_create(&options, &handle)
               : lockstep_wave_control_configure(handle, &options));
}

void Control::list(lockstep_device* device, const lockstep_code_object* code, const lockstep_kernel* kernel,
                   const char* name) {
  uint64_t descriptor = 0;
  check(lockstep_device_kernel_object(device, kernel, &descriptor));
  // Where the descriptor says that the code begins (LLVM's AMDGPU guide, kernel descriptor: bytes 16 to 23).
  int64_t to_entry = 0;
  std::memcpy(&to_entry, reinterpret_cast<const std::byte*>(descriptor) + 16, sizeof to_entry);
  const uint64_t entry = descriptor + static_cast<uint64_t>(to_entry);
  uint64_t linked_entry = 0;
  check(lockstep_code_object_disassemble(
      code, name,
      [](void* user, const lockstep_listing_line* line) {
        *static_cast<uint64_t*>(user) = line->address;
        return 1;
      },
      &linked_entry));
  struct State {
    std::map<uint64_t, std::string>& listing;
    uint64_t moved;
  } state{listing, entry - linked_entry};
  listing.clear();
  check(lockstep_code_object_disassemble(
      code, nullptr,
      [](void* user, const lockstep_listing_line* line) {
        auto& s = *static_cast<State*>(user);
        s.listing.emplace(line->address + s.moved, line->text);
        return 0;
      },
      &state));
}

void define_wave_control(py::module_& module) {
  py::class_<Wave>(module, "Wave", py::dynamic_attr(),
                   "A wave as it was when it was told of, and the hands on it as it is.")
      .def_property_readonly("id", [](const Wave& w) { return w.info.id; })
      .def_property_readonly("work_group", [](const Wave& w) { return triple(w.info.work_group); })
      .def_property_readonly(
          "wave", [](const Wave& w) { return w.info.wave; }, "its number in the work-group")
      .def_property_readonly("wave_size", [](const Wave& w) { return w.info.wave_size; })
      .def_property_readonly(
          "state", [](const Wave& w) { return kStates[w.info.state]; },
          "'running', 'halted', 'at barrier', 'sleeping', 'blocked' or 'ended'")
      .def_property_readonly(
          "cause", [](const Wave& w) { return kCauses[w.info.cause]; }, "why it is halted")
      .def_property_readonly(
          "fault", [](const Wave& w) { return fault_name(w.info.fault); }, "with the cause 'fault': its kind")
      .def_readonly("message", &Wave::message)
      .def_property_readonly("pc", [](const Wave& w) { return w.info.pc; })
      .def_property_readonly("instruction", &Wave::instruction,
                             "the next one's text; '' if the launch has no such code")
      .def("halt", [](const Wave& w) { check(lockstep_wave_halt(w.control->handle, w.info.id)); })
      .def("resume", [](const Wave& w) { check(lockstep_wave_resume(w.control->handle, w.info.id)); })
      .def("kill", [](const Wave& w) { check(lockstep_wave_kill(w.control->handle, w.info.id)); })
      .def("_step", [](const Wave& w,
                       uint64_t count) { check(lockstep_wave_step(w.control->handle, w.info.id, count)); })
      .def(
          "read",
          [](const Wave& w, const std::string& name, uint32_t index, uint32_t lane) {
            return w.read(register_of(name), index, lane);
          },
          "register"_a, "index"_a = 0, "lane"_a = 0)
      .def(
          "write",
          [](const Wave& w, const std::string& name, uint64_t value, uint32_t index, uint32_t lane) {
            check(lockstep_wave_write(w.control->handle, w.info.id, register_of(name), index, lane, value));
          },
          "register"_a, "value"_a, "index"_a = 0, "lane"_a = 0)
      .def_property_readonly("sgprs", &sgprs, "SGPRs 0 to 105, a copy")
      .def("vgpr", &vgpr, "number"_a, "dtype"_a = "uint32", "the lanes of a vector register, a copy")
      .def("set_vgpr", &set_vgpr, "number"_a, "values"_a, "writes all lanes of a vector register")
      .def("__repr__", [](const Wave& w) {
        return "<lockstep.Wave work-group " + py::str(triple(w.info.work_group)).cast<std::string>() +
               " wave " + std::to_string(w.info.wave) + " " + kStates[w.info.state] +
               (w.info.cause ? std::string(" (") + kCauses[w.info.cause] + ")" : "") +
               (w.instruction().empty() ? "" : ": " + w.instruction()) + ">";
      });
  py::class_<Control, std::shared_ptr<Control>>(module, "Control")
      .def(py::init<bool, bool>(), "start_halted"_a, "halt_on_fault"_a)
      .def("configure", [](Control& c, bool start_halted,
                           bool halt_on_fault) { c.apply(start_halted, halt_on_fault, false); })
      .def("waves", &waves_of)
      .def("wait", &wait, "seconds"_a)
      .def("interrupt", [](const Control& c) { check(lockstep_wave_control_interrupt(c.handle)); })
      .def("halt", [](const Control& c) { check(lockstep_wave_halt(c.handle, LOCKSTEP_ALL_WAVES)); })
      .def("resume", [](const Control& c) { check(lockstep_wave_resume(c.handle, LOCKSTEP_ALL_WAVES)); })
      .def("kill", [](const Control& c) { check(lockstep_wave_kill(c.handle, LOCKSTEP_ALL_WAVES)); });
}

}  // namespace lockstep_python

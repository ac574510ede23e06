// The Python module lockstep._native: the C interface as classes. What has no need of speed or of the
// interface is Python: python/lockstep/.
#include <lockstep.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/common.h"
#include "python/listener.h"
#include "python/wave_control.h"

namespace py = pybind11;
using namespace py::literals;
using namespace lockstep_python;

const char* lockstep_python::fault_name(lockstep_fault_kind kind) {
  constexpr const char* kNames[] = {"none",
                                    "memory violation",
                                    "misaligned",
                                    "illegal instruction",
                                    "unsupported instruction",
                                    "bad PC",
                                    "trap",
                                    "hang",
                                    "broken rule",
                                    "refused",
                                    "deadlock"};
  return static_cast<size_t>(kind) < std::size(kNames) ? kNames[kind] : "unknown";
}

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

template <class Value, size_t N>
Value choice(const char* what, const std::string& name, const std::pair<const char*, Value> (&values)[N]) {
  std::string known;
  for (const auto& [text, value] : values) {
    if (name == text) return value;
    known += (known.empty() ? "'" : ", '") + std::string(text) + "'";
  }
  raise_usage(std::string(what) + " is one of " + known + ", not '" + name + "'");
}

// --- types of arguments ---

// Of C types that numbers are given for; the rest is taken by its size.
struct Scalar {
  lockstep_type type;
  uint32_t size;
  bool is_float, is_signed;
};
std::optional<Scalar> scalar_of(const std::string& c_name) {
  static const std::map<std::string, Scalar, std::less<>> kScalars = [] {
    std::map<std::string, Scalar, std::less<>> map;
    const auto add = [&map](std::initializer_list<const char*> names, Scalar s) {
      for (const char* name : names) map.emplace(name, s);
    };
    add({"char", "signed char", "int8_t"}, {LOCKSTEP_I8, 1, false, true});
    add({"uchar", "unsigned char", "uint8_t", "bool"}, {LOCKSTEP_U8, 1, false, false});
    add({"short", "int16_t"}, {LOCKSTEP_I16, 2, false, true});
    add({"ushort", "unsigned short", "uint16_t"}, {LOCKSTEP_U16, 2, false, false});
    add({"int", "int32_t"}, {LOCKSTEP_I32, 4, false, true});
    add({"uint", "unsigned int", "unsigned", "uint32_t"}, {LOCKSTEP_U32, 4, false, false});
    add({"long", "long long", "int64_t", "ptrdiff_t"}, {LOCKSTEP_I64, 8, false, true});
    add({"ulong", "unsigned long", "unsigned long long", "uint64_t", "size_t"},
        {LOCKSTEP_U64, 8, false, false});
    add({"half", "_Float16", "__half"}, {LOCKSTEP_F16, 2, true, true});
    add({"float"}, {LOCKSTEP_F32, 4, true, true});
    add({"double"}, {LOCKSTEP_F64, 8, true, true});
    return map;
  }();
  const auto found = kScalars.find(c_name);
  return found == kScalars.end() ? std::nullopt : std::optional(found->second);
}

void store_float(double value, uint32_t size, std::byte* out) {
  if (size == 8) return void(std::memcpy(out, &value, 8));
  if (size == 4) {
    const auto f = static_cast<float>(value);
    return void(std::memcpy(out, &f, 4));
  }
  const auto h = static_cast<_Float16>(value);
  std::memcpy(out, &h, 2);
}

// --- objects ---

struct PyDevice;

struct PyMemory {
  std::shared_ptr<PyDevice> device;
  uint64_t address = 0, bytes = 0;
  std::string name;
  ~PyMemory();
};

struct PyDevice : std::enable_shared_from_this<PyDevice> {
  lockstep_device* handle = nullptr;
  std::map<uint64_t, uint64_t> allocations;  // address to bytes
  bool busy = false;                         // in a dispatch without the interpreter's lock
  std::string checks;                        // checkers for dispatches that name none
  py::list checked;                          // what those found, oldest first

  explicit PyDevice(const lockstep_device_options& options) {
    check(lockstep_device_create(&options, &handle));
  }
  ~PyDevice() { lockstep_device_destroy(handle); }
  PyDevice(const PyDevice&) = delete;
  PyDevice& operator=(const PyDevice&) = delete;

  void require_idle() const {
    if (busy) raise_usage("the device runs a kernel of another thread (use one device a thread, or a lock)");
  }
  bool owns(uint64_t address, uint64_t bytes) const {
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) return false;
    --next;
    return address - next->first < next->second && bytes <= next->second - (address - next->first);
  }
  std::shared_ptr<PyMemory> allocate(uint64_t bytes, const std::string& name) {
    require_idle();
    auto memory = std::make_shared<PyMemory>();
    check(lockstep_memory_allocate(handle, bytes, name.c_str(), &memory->address));
    memory->device = shared_from_this();
    memory->bytes = bytes;
    memory->name = name;
    allocations.emplace(memory->address, bytes);
    return memory;
  }
};

PyMemory::~PyMemory() {
  if (!device) return;
  device->allocations.erase(address);
  lockstep_memory_free(device->handle, address);
}

struct PyCode : std::enable_shared_from_this<PyCode> {
  lockstep_code_object* handle = nullptr;
  std::string name;
  ~PyCode() { lockstep_code_object_destroy(handle); }
};

struct Argument {
  lockstep_argument_info info;
  std::optional<Scalar> scalar;
  std::optional<Scalar> element;  // of a pointer, to vectors of them, too
};

// What "float4*" points at many of.
std::optional<Scalar> element_of(std::string_view c_name) {
  if (!c_name.ends_with('*')) return std::nullopt;
  c_name = c_name.substr(0, c_name.find_last_not_of("* ") + 1);
  const std::optional<Scalar> element = scalar_of(std::string(c_name));
  return element ? element
                 : scalar_of(std::string(c_name.substr(0, c_name.find_last_not_of("0123456789") + 1)));
}

struct PyKernel {
  std::shared_ptr<PyCode> code;
  const lockstep_kernel* handle = nullptr;
  lockstep_kernel_info info = sized<lockstep_kernel_info>();
  std::vector<Argument> arguments;
  bool described = false;

  PyKernel(std::shared_ptr<PyCode> owner, const lockstep_kernel* kernel)
      : code(std::move(owner)), handle(kernel) {
    check(lockstep_kernel_get_info(handle, &info));
    for (uint32_t i = 0; i < info.argument_count; ++i) {
      Argument& a = arguments.emplace_back();
      a.info = sized<lockstep_argument_info>();
      check(lockstep_kernel_argument(handle, i, &a.info));
      a.scalar = scalar_of(a.info.type_name);
      if (a.scalar && a.scalar->size != a.info.size) a.scalar.reset();
      a.element = element_of(a.info.type_name);
    }
    described = !arguments.empty() || info.argument_bytes == 0;
  }
};

struct Statistics {
  uint64_t work_groups, work_groups_done, waves, wave_instructions;
  double seconds;
  std::string note;
};

Statistics statistics_of(const lockstep_statistics& s) {
  return {s.work_groups, s.work_groups_done, s.waves, s.wave_instructions, s.seconds, s.note ? s.note : ""};
}

// Dynamic LDS of an OpenCL __local argument.
struct Local {
  uint32_t bytes;
};

using Extent = std::array<uint32_t, 3>;
Extent extent_of(const py::handle& given, const char* what) {
  Extent out{1, 1, 1};
  const auto size = [&](const py::handle& value) -> uint32_t {
    const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!index) throw py::error_already_set();
    const long long number = PyLong_AsLongLong(index.ptr());
    if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
    if (number < 1 || number > UINT32_MAX)
      raise_usage(std::string(what) + " has a dimension of " + std::to_string(number) +
                  "; they are 1 to 4294967295");
    return static_cast<uint32_t>(number);
  };
  if (!py::isinstance<py::sequence>(given)) {
    out[0] = size(given);
    return out;
  }
  const auto sequence = py::reinterpret_borrow<py::sequence>(given);
  if (sequence.size() < 1 || sequence.size() > 3)
    raise_usage(std::string(what) + " has " + std::to_string(sequence.size()) +
                " dimensions; give one to three");
  for (size_t i = 0; i < sequence.size(); ++i) out[i] = size(sequence[i]);
  return out;
}

// --- reports ---

py::dict location(const lockstep_code_location& where) {
  return py::dict("pc"_a = where.pc, "offset"_a = where.offset, "instruction"_a = where.instruction,
                  "function"_a = where.function, "file"_a = where.file, "line"_a = where.line);
}

// What a wave did that the machine reports, under the name of what it is.
template <class Report>
py::dict of_wave(const char* key, const char* what, const Report& report) {
  return py::dict(
      py::arg(key) = what, "where"_a = location(report.where), "executions"_a = report.executions,
      "work_group"_a = py::make_tuple(report.work_group[0], report.work_group[1], report.work_group[2]),
      "wave"_a = report.wave);
}

template <class Report, class Handle, class Get, class Describe>
py::list reports(const Handle* owner, uint32_t count, Get get, Describe describe) {
  py::list out;
  for (uint32_t i = 0; i < count; ++i) {
    Report report = sized<Report>();
    check(get(owner, i, &report));
    out.append(describe(report));
  }
  return out;
}

py::dict check_finding(const lockstep_check_finding& f) {
  constexpr const char* kSeverities[] = {"note", "warning", "error"};
  py::dict out = of_wave("rule", f.rule, f);
  out["checker"] = f.checker;
  out["severity"] = kSeverities[f.severity];
  out["detail"] = f.detail;
  out["remedy"] = f.remedy;
  out["lanes"] = f.lanes;
  out["address"] = f.address;
  out["bytes"] = f.bytes;
  out["other"] = f.other.pc ? py::object(location(f.other)) : py::none();
  const auto places = [](const lockstep_code_location* callers, uint32_t count) {
    py::list list;
    for (uint32_t i = 0; i < count; ++i)
      list.append(py::dict("function"_a = callers[i].function, "file"_a = callers[i].file,
                           "line"_a = callers[i].line));
    return list;
  };
  out["callers"] = places(f.callers, f.caller_count);
  out["other_callers"] = places(f.other_callers, f.other_caller_count);
  return out;
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

// The arguments of one call: packed for the library, with the host's arrays mapped as long as it lasts.
class Call {
 public:
  // `maps`: arrays that are no memory of the device are mapped, else they are refused.
  Call(PyDevice& device, const PyKernel& kernel, bool maps = true)
      : device_(device), kernel_(kernel), maps_(maps) {
    check(lockstep_arguments_create(kernel.handle, &arguments));
  }
  ~Call() {
    for (void* address : mapped_) lockstep_memory_unmap(device_.handle, address);
    lockstep_arguments_destroy(arguments);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void pack(const py::args& values) {
    if (!kernel_.described) return pack_segment(values);
    const size_t count = kernel_.arguments.size();
    if (values.size() != count)
      raise_usage(
          "kernel '" + std::string(kernel_.info.name) + "' takes " + std::to_string(count) + " arguments, " +
          std::to_string(values.size()) + " are given" +
          (values.size() < count ? "; " + label(static_cast<uint32_t>(values.size())) + " is missing" : ""));
    for (uint32_t i = 0; i < count; ++i) set(i, values[i]);
    map_arrays();
  }

  lockstep_arguments* arguments = nullptr;

 private:
  struct Range {
    uint64_t begin, end;
    bool writable;
    uint32_t argument;  // the first that has it
  };

  std::string label(uint32_t index) const {
    std::string out = "argument " + std::to_string(index);
    if (!kernel_.described) return out;
    const lockstep_argument_info& a = kernel_.arguments[index].info;
    if (*a.name) out += std::string(" '") + a.name + "'";
    if (*a.type_name) out += std::string(" (") + a.type_name + ")";
    return out;
  }
  [[noreturn]] void refuse(uint32_t index, const std::string& why) const {
    raise_usage(label(index) + " of kernel '" + kernel_.info.name + "': " + why);
  }

  // Device memory, arrays and None. Arrays that are no device memory are noted, to be mapped.
  std::optional<uint64_t> address_of(uint32_t index, const py::handle& value) {
    if (value.is_none()) return 0;
    if (py::isinstance<PyMemory>(value)) {
      const auto& memory = value.cast<const PyMemory&>();
      if (memory.device.get() != &device_) refuse(index, "the memory is of another device");
      return memory.address;
    }
    if (!py::isinstance<py::array>(value)) return std::nullopt;
    const auto array = py::reinterpret_borrow<py::array>(value);
    if (!(array.flags() & py::array::c_style))
      refuse(index, "the array is not contiguous (numpy.ascontiguousarray makes a copy that is)");
    const auto address = reinterpret_cast<uint64_t>(array.data());
    const auto bytes = static_cast<uint64_t>(array.nbytes());
    if (bytes == 0) refuse(index, "the array is empty (None is a null pointer)");
    const bool owned = device_.owns(address, bytes);
    if (!owned && !maps_)
      refuse(index,
             "a queue's kernel runs on after the call: give memory of the queue's device, such as "
             "device.array(values)");
    if (!owned) ranges_.push_back({address, address + bytes, array.writeable(), index});
    return address;
  }

  void set(uint32_t index, const py::handle& value) {
    const Argument& a = kernel_.arguments[index];
    if (a.info.kind == LOCKSTEP_ARGUMENT_LOCAL) {
      if (!py::isinstance<Local>(value)) refuse(index, "takes lockstep.Local(bytes)");
      return check(lockstep_arguments_set_local(arguments, index, value.cast<const Local&>().bytes));
    }
    if (a.info.kind == LOCKSTEP_ARGUMENT_BUFFER) {
      const std::optional<uint64_t> address = address_of(index, value);
      if (a.element) refuse_other_elements(index, *a.element, value);
      if (!address)
        refuse(index, std::string("takes an array, device memory or None, not ") + type_name(value));
      return check(lockstep_arguments_set_buffer(arguments, index, *address));
    }
    if (a.info.kind != LOCKSTEP_ARGUMENT_VALUE)
      refuse(index, std::string("a ") + a.info.kind_name + " cannot be given yet");
    set_value(index, a, value);
  }

  // As numpy's doubles for a kernel of floats. Bytes may be anything, and so may anything for a kernel of
  // bytes.
  void refuse_other_elements(uint32_t index, const Scalar& element, const py::handle& value) const {
    if (!py::isinstance<py::array>(value)) return;
    const py::dtype type = py::reinterpret_borrow<py::array>(value).dtype();
    const char kind = type.kind();
    const auto size = static_cast<uint32_t>(type.itemsize());
    if (std::string_view("fiu").find(kind) == std::string_view::npos || size == 1 || element.size == 1)
      return;
    if (size == element.size && (kind == 'f') == element.is_float) return;
    const std::string wanted = std::string(element.is_float    ? "float"
                                           : element.is_signed ? "int"
                                                               : "uint") +
                               std::to_string(8 * element.size);
    refuse(index, "the array's elements are " + py::str(type).cast<std::string>() + " (array.astype(numpy." +
                      wanted + ") makes what the kernel takes; array.view(numpy." + wanted +
                      ") gives the same bytes)");
  }

  static std::string type_name(const py::handle& value) { return Py_TYPE(value.ptr())->tp_name; }

  void set_value(uint32_t index, const Argument& a, const py::handle& value) {
    std::array<std::byte, 8> number{};
    const uint32_t size = a.info.size;
    if (PyFloat_CheckExact(value.ptr())) {
      if (a.scalar ? !a.scalar->is_float : size != 2 && size != 4 && size != 8)
        refuse(index, "is no floating-point number, but a float is given");
      store_float(PyFloat_AS_DOUBLE(value.ptr()), size, number.data());
      return check(lockstep_arguments_set(arguments, index, number.data(), size));
    }
    if (PyLong_Check(value.ptr())) return set_integer(index, a, value);
    if (value.is_none() || py::isinstance<PyMemory>(value)) {
      if (size != 8) refuse(index, "is no pointer");
      const uint64_t address = *address_of(index, value);
      return check(lockstep_arguments_set(arguments, index, &address, sizeof address));
    }
    // numpy's scalars and arrays, bytes, ctypes: by their bytes.
    py::buffer_info bytes;
    if (!PyObject_CheckBuffer(value.ptr())) refuse(index, "cannot be made of " + type_name(value));
    bytes = py::reinterpret_borrow<py::buffer>(value).request();
    const auto given = static_cast<uint64_t>(bytes.size * bytes.itemsize);
    if (a.scalar && bytes.size == 1 && bytes.format.size() == 1 &&
        a.scalar->is_float != (std::string_view("efd").find(bytes.format[0]) != std::string_view::npos))
      refuse(index, std::string("is ") + (a.scalar->is_float ? "a floating-point number" : "an integer") +
                        ", not " + type_name(value));
    if (given == size) return check(lockstep_arguments_set(arguments, index, bytes.ptr, size));
    // A vector of three takes the room of one of four.
    if (bytes.size == 3 && size == 4 * bytes.itemsize) {
      std::vector<std::byte> padded(size);
      std::memcpy(padded.data(), bytes.ptr, given);
      return check(lockstep_arguments_set(arguments, index, padded.data(), size));
    }
    refuse(index, "takes " + std::to_string(size) + " bytes, not " + std::to_string(given));
  }

  void set_integer(uint32_t index, const Argument& a, const py::handle& value) {
    std::array<std::byte, 8> number{};
    const uint32_t size = a.info.size;
    if (a.scalar && a.scalar->is_float) {
      store_float(value.cast<double>(), size, number.data());
      return check(lockstep_arguments_set(arguments, index, number.data(), size));
    }
    if (size > 8) refuse(index, "takes " + std::to_string(size) + " bytes, not an int");
    int overflow = 0;
    const long long narrow = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    uint64_t bits = static_cast<uint64_t>(narrow);
    bool fits = overflow >= 0;
    if (overflow > 0) {
      bits = PyLong_AsUnsignedLongLong(value.ptr());
      if (PyErr_Occurred()) {
        PyErr_Clear();
        fits = false;
      }
    }
    const bool negative = overflow == 0 && narrow < 0;
    const unsigned width = size * 8;
    // Of unknown signedness all that either takes.
    const bool may_be_signed = !a.scalar || a.scalar->is_signed,
               may_be_unsigned = !a.scalar || !a.scalar->is_signed;
    if (negative)
      fits = fits && may_be_signed && (width == 64 || narrow >= -(int64_t{1} << (width - 1)));
    else
      fits = fits && (may_be_unsigned ? width == 64 || bits >> width == 0 : bits >> (width - 1) == 0);
    if (!fits) refuse(index, py::str(value).cast<std::string>() + " does not fit");
    std::memcpy(number.data(), &bits, 8);
    check(lockstep_arguments_set(arguments, index, number.data(), size));
  }

  // Of a kernel that does not describe its arguments (assembly): each at the next multiple of its size.
  void pack_segment(const py::args& values) {
    std::vector<std::byte> segment;
    const auto append = [&](const void* bytes, size_t size, size_t align) {
      segment.resize((segment.size() + align - 1) / align * align);
      const auto* from = static_cast<const std::byte*>(bytes);
      segment.insert(segment.end(), from, from + size);
    };
    for (uint32_t i = 0; i < values.size(); ++i) {
      const py::handle value = values[i];
      if (const std::optional<uint64_t> address = address_of(i, value)) {
        append(&*address, 8, 8);
      } else if (PyObject_CheckBuffer(value.ptr())) {
        const py::buffer_info bytes = py::reinterpret_borrow<py::buffer>(value).request();
        append(bytes.ptr, static_cast<size_t>(bytes.size * bytes.itemsize),
               static_cast<size_t>(bytes.itemsize));
      } else {
        refuse(i, "the kernel does not say what it takes; give numbers with a type, such as numpy.uint32(5)");
      }
    }
    check(lockstep_arguments_set_raw(arguments, segment.data(), static_cast<uint32_t>(segment.size())));
    map_arrays();
  }

  // Arrays may be the same, or overlap: what they have in common is mapped once.
  void map_arrays() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (size_t i = 0; i < ranges_.size();) {
      Range all = ranges_[i];
      for (++i; i < ranges_.size() && ranges_[i].begin < all.end; ++i) {
        all.end = std::max(all.end, ranges_[i].end);
        all.writable = all.writable || ranges_[i].writable;
      }
      void* host = reinterpret_cast<void*>(all.begin);
      const char* name = kernel_.described ? kernel_.arguments[all.argument].info.name : "";
      check(lockstep_memory_map(device_.handle, host, all.end - all.begin,
                                all.writable ? LOCKSTEP_READ_WRITE : LOCKSTEP_READ, *name ? name : "array"));
      mapped_.push_back(host);
    }
  }

  PyDevice& device_;
  const PyKernel& kernel_;
  bool maps_;
  std::vector<Range> ranges_;
  std::vector<void*> mapped_;
};

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
  if (checks_for_device)
    for (const py::handle& finding : check_findings(device)) device.checked.append(finding);
  if (status == LOCKSTEP_OK) {
    Interruption::throw_if_pressed();
    return statistics_of(statistics);
  }
  if (status == LOCKSTEP_FAULT) raise_fault(device.handle, statistics_of(statistics));
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

lockstep_dispatch_options shape_options(const PyKernel& kernel, const py::handle& grid,
                                        const py::handle& block) {
  lockstep_dispatch_options options;
  lockstep_dispatch_options_init(&options);
  const Extent items = extent_of(grid, "the grid");
  Extent group{1, 1, 1};
  if (!block.is_none()) {
    group = extent_of(block, "the block");
  } else if (kernel.info.required_work_group_size[0]) {
    std::copy_n(kernel.info.required_work_group_size, 3, group.begin());
  } else {
    group[0] =
        std::min({items[0], 256u, kernel.info.max_work_group_size ? kernel.info.max_work_group_size : 256u});
  }
  std::copy(items.begin(), items.end(), options.grid);
  std::copy(group.begin(), group.end(), options.block);
  return options;
}

lockstep_dispatch_options make_options(const PyKernel& kernel, const py::handle& grid,
                                       const py::handle& block, uint32_t lds, uint64_t limit,
                                       const std::string& rules, bool exceptions, bool fidelity,
                                       const std::string& results, uint64_t seed, const std::string& caches,
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
  return options;
}

std::shared_ptr<PyDevice> device_or_default(const py::object& device) {
  if (!device.is_none()) return device.cast<std::shared_ptr<PyDevice>>();
  return py::module_::import("lockstep").attr("default_device")().cast<std::shared_ptr<PyDevice>>();
}

// --- queues ---

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
    check(lockstep_queue_create(device->handle, &options, &handle));
  }
  ~PyQueue() { lockstep_queue_destroy(handle); }
  PyQueue(const PyQueue&) = delete;
  PyQueue& operator=(const PyQueue&) = delete;

  void raise_if_failed() const {
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
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
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

  py::class_<PySignal, std::shared_ptr<PySignal>>(
      m, "Signal", "A number that kernels, queues and the host change and wait for.")
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

  py::class_<PyDispatch>(m, "Dispatch", "A launch in a queue.")
      .def_readonly("packet", &PyDispatch::packet, "its number in the queue")
      .def_property_readonly("signal", [](const PyDispatch& d) { return d.pending->done; })
      .def_property_readonly("done", [](const PyDispatch& d) { return d.pending->done->load() < 1; })
      .def("wait", &PyDispatch::wait, "timeout"_a = py::none(),
           "Waits for its end; False after `timeout` seconds. Raises QueueError if the queue has failed.")
      .def(
          "kill", [](const PyDispatch& d) { check(lockstep_queue_kill(d.queue->handle, d.packet)); },
          "Ends it; its signal stays as it is.");

  py::class_<PyQueue, std::shared_ptr<PyQueue>>(m, "Queue", "Commands that run while the host goes on.")
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
            return waves;
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
             uint64_t seed, const std::string& caches, const std::string& checks,
             const py::object& on_instruction, const py::object& on_access, const py::object& on_result,
             const py::object& only, const py::object& control) {
            lockstep_dispatch_options options = make_options(*k, grid, block, lds, limit, rules, exceptions,
                                                             fidelity, results, seed, caches, checks);
            Listener listener(k->info.name, on_instruction, on_access, on_result, only);
            return launch(*device_or_default(device), *k, options, values,
                          {listener.listens() ? &listener : nullptr,
                           control.is_none() ? nullptr : control.cast<Control*>()});
          },
          "grid"_a, "block"_a, py::kw_only(), "device"_a = py::none(), "dynamic_lds"_a = 0,
          "instruction_limit"_a = 0, "rules"_a = "ignore", "exceptions"_a = false, "fidelity"_a = false,
          "results"_a = "now", "seed"_a = 0, "caches"_a = "coherent", "checks"_a = "",
          "on_instruction"_a = py::none(), "on_access"_a = py::none(), "on_result"_a = py::none(),
          "only"_a = py::none(), "_control"_a = py::none());

  py::class_<PyCode, std::shared_ptr<PyCode>>(m, "CodeObject")
      .def_readonly("name", &PyCode::name)
      .def_property_readonly(
          "diagnostics",
          [](const PyCode& c) { return std::string(lockstep_code_object_diagnostics(c.handle)); })
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

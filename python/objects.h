// What the parts of the module lockstep._native share: the library's objects as Python's, and reports as
// dictionaries.
#pragma once

#include <lockstep.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/common.h"

namespace lockstep_python {

template <class Value, size_t N>
Value choice(const char* what, const std::string& name, const std::pair<const char*, Value> (&values)[N]) {
  std::string known;
  for (const auto& [text, value] : values) {
    if (name == text) return value;
    known += (known.empty() ? "'" : ", '") + std::string(text) + "'";
  }
  raise_usage(std::string(what) + " is one of " + known + ", not '" + name + "'");
}

// Of C types that numbers are given for; the rest is taken by its size.
struct Scalar {
  lockstep_type type;
  uint32_t size;
  bool is_float, is_signed;
};
std::optional<Scalar> scalar_of(const std::string& c_name);
// What "float4*" points at many of.
std::optional<Scalar> element_of(std::string_view c_name);
void store_float(double value, uint32_t size, std::byte* out);

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

// Dynamic LDS of an OpenCL __local argument.
struct Local {
  uint32_t bytes;
};

using Extent = std::array<uint32_t, 3>;
// One to three sizes. Throws for anything else.
Extent extent_of(const py::handle& given, const char* what);
// Of kernel[grid, block], where None is a block that suits.
lockstep_dispatch_options shape_options(const PyKernel& kernel, const py::handle& grid,
                                        const py::handle& block);

py::dict location(const lockstep_code_location& where);

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

py::dict check_finding(const lockstep_check_finding& finding);

}  // namespace lockstep_python

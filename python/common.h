// What all parts of the module lockstep._native use: errors of the library as Python's exceptions.
#pragma once

#include <lockstep.h>
#include <pybind11/pybind11.h>

#include <string>

namespace lockstep_python {

namespace py = pybind11;
using namespace py::literals;

[[noreturn]] inline void raise(const char* type, const py::object& exception) {
  PyErr_SetObject(py::module_::import("lockstep.errors").attr(type).ptr(), exception.ptr());
  throw py::error_already_set();
}

[[noreturn]] inline void raise_error(lockstep_status status, const std::string& text) {
  const char* type = status == LOCKSTEP_COMPILE_ERROR ? "CompileError" : "Error";
  raise(type, py::module_::import("lockstep.errors").attr(type)(text, lockstep_status_name(status)));
}

[[noreturn]] inline void raise_usage(const std::string& text) {
  raise_error(LOCKSTEP_INVALID_ARGUMENT, text);
}

inline void check(lockstep_status status) {
  if (status != LOCKSTEP_OK) raise_error(status, lockstep_last_error());
}

template <class T>
T sized() {
  T out{};
  out.struct_size = sizeof out;
  return out;
}

template <class Numbers>
py::tuple triple(const Numbers& numbers) {
  return py::make_tuple(numbers[0], numbers[1], numbers[2]);
}

}  // namespace lockstep_python

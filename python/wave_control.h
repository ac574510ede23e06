// The host's hands on waves that run, as Python classes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "python/common.h"

namespace lockstep_python {

const char* fault_name(lockstep_fault_kind kind);

struct Control : std::enable_shared_from_this<Control> {
  lockstep_wave_control* handle = nullptr;
  std::map<uint64_t, std::string> listing;  // the instructions at each PC, of what was launched last

  Control(bool start_halted, bool halt_on_fault) { apply(start_halted, halt_on_fault, true); }
  ~Control() { lockstep_wave_control_destroy(handle); }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  void apply(bool start_halted, bool halt_on_fault, bool create);
  // Before a launch: the loaded code's instructions by their addresses.
  void list(lockstep_device* device, const lockstep_code_object* code, const lockstep_kernel* kernel,
            const char* name);
};

void define_wave_control(py::module_& module);

}  // namespace lockstep_python

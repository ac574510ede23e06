// Python functions that follow the waves of one launch. The module is the plug-in (lockstep_plugin.h) that
// calls them.
#pragma once

#include <lockstep_plugin.h>

#include <atomic>
#include <exception>
#include <set>
#include <string>

#include "python/common.h"

namespace lockstep_python {

class Listener {
 public:
  // Each may be None. `only`: mnemonics, or None for all.
  Listener(std::string kernel, py::object on_instruction, py::object on_access, py::object on_result,
           const py::object& only);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  bool listens() const;
  // What lockstep_dispatch_options.plugins names; valid as long as the process.
  static const char* plugin();
  // Whether one of the functions has raised an exception: then no more are called.
  bool failed() const { return failed_; }
  void rethrow() const { std::rethrow_exception(error_); }

  // While it lives the plug-in, if it is begun on this thread, is the listener's.
  class Beginning {
   public:
    explicit Beginning(Listener* listener);
    ~Beginning();
    Beginning(const Beginning&) = delete;
    Beginning& operator=(const Beginning&) = delete;
  };
  void begin(const lockstep_plugin_host* host, lockstep_plugin& plugin);

 private:
  void call(const lockstep_plugin_event& event, const py::object& first, const py::object& second);

  const std::string kernel_;
  const py::object on_instruction_, on_access_, on_result_;
  std::set<std::string, std::less<>> only_;
  const bool all_;
  const lockstep_plugin_host* host_ = nullptr;
  uint64_t entry_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr error_;
};

void define_events(py::module_& module);

}  // namespace lockstep_python

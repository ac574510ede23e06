// Dumps of a program's dispatches (dump/), as `lockstep exec --dump` asks for them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "dump/writer.h"
#include "host/code_objects.h"
#include "machine/launch.h"

namespace lockstep::host {

struct DumpSettings {
  // Numbers of dispatches, counted from 1 in each process as in the log; and parts of kernels' names, whose
  // first dispatch is dumped.
  std::set<uint64_t> numbers;
  std::vector<std::string> names;
  std::string folder = ".";

  bool any() const { return !numbers.empty() || !names.empty(); }
};

// "3,7,saxpy".
DumpSettings dump_settings(std::string_view text);

// Safe from several threads.
class Dumps {
 public:
  explicit Dumps(DumpSettings settings) : settings_(std::move(settings)) {}

  // The file that holds the devices' memory; -1: none.
  void set_store(int descriptor) { store_ = descriptor; }
  // Before the first wave of a dispatch; null if it is not wanted. `kernel` is its readable name. Throws
  // std::runtime_error if it cannot be written.
  std::unique_ptr<dump::Writer> begins(uint64_t number, const std::string& device, const std::string& kernel,
                                       const machine::Launch& launch, const LoadedObject* code);

 private:
  bool is_wanted(uint64_t number, const std::string& kernel);

  const DumpSettings settings_;
  int store_ = -1;
  std::mutex mutex_;
  std::set<std::string> found_;  // of the names
};

}  // namespace lockstep::host

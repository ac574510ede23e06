// What the benchmarks run, and two ways to run it: on Lockstep and on the host's OpenCL implementation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "machine/launch.h"

namespace lockstep::bench {

struct Argument {
  int buffer = -1;               // index, or
  std::vector<std::byte> value;  // a scalar
};

struct Workload {
  std::string kernel;
  unsigned dimensions = 1;
  std::array<uint32_t, 3> grid{1, 1, 1}, group{1, 1, 1};  // work-items
  std::vector<std::vector<float>> buffers;
  std::vector<Argument> arguments;
  int result = 0;            // buffer that the kernel writes
  bool accumulates = false;  // it depends on what the buffer held: only the first run can be compared

  void buffer(int index) { arguments.push_back({index, {}}); }
  template <class T>
  void value(T scalar) {
    Argument& argument = arguments.emplace_back();
    argument.value.resize(sizeof scalar);
    std::memcpy(argument.value.data(), &scalar, sizeof scalar);
  }
};

Workload saxpy();       // 16 M elements
Workload mandelbrot();  // 1024 x 1024, 256 iterations
Workload sgemm();       // 512^3

class Runner {
 public:
  virtual ~Runner() = default;
  virtual double run() = 0;  // seconds of one dispatch
  virtual std::vector<float> result() = 0;
  virtual machine::Translation translation() const { return {}; }
  // Wave-instructions of the last run; 0 where nobody counts them.
  virtual uint64_t instructions() const { return 0; }
};

std::unique_ptr<Runner> lockstep_runner(const Workload& workload, machine::EngineKind engine,
                                        unsigned threads);
// Null if there is no PoCL. One compute unit or all of them.
std::unique_ptr<Runner> pocl_runner(const Workload& workload, bool one_unit);

}  // namespace lockstep::bench

// What the benchmarks run, and two ways to run it: on Lockstep and on the host's OpenCL implementation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/launch.h"

namespace lockstep::bench {

using Words = std::vector<uint32_t>;

struct Argument {
  int buffer = -1;                    // index, or
  std::vector<std::byte> value = {};  // a scalar, or
  uint32_t local_bytes = 0;           // of LDS
};

struct Workload {
  std::string source;                // OpenCL C
  std::string file = "kernels.cl";   // what compilers call it
  std::vector<std::string> options;  // of both compilers
  std::string kernel;
  unsigned dimensions = 1;
  std::array<uint32_t, 3> grid{1, 1, 1}, group{1, 1, 1};  // work-items
  std::vector<Words> buffers;
  std::vector<Argument> arguments;
  int result = 0;           // buffer that the kernel writes
  unsigned dispatches = 1;  // in a row, in each run
  bool has_pocl = true;     // the kernel is one for other hosts, too
  // What the result's words are, for the comparison with another compiler's, whose floats differ.
  enum class Result : uint8_t { integers, floats, doubles } kind = Result::floats;

  void buffer(Words contents) {
    arguments.push_back({.buffer = static_cast<int>(buffers.size())});
    buffers.push_back(std::move(contents));
  }
  template <class T>
  void value(T scalar) {
    Argument& argument = arguments.emplace_back();
    argument.value.resize(sizeof scalar);
    std::memcpy(argument.value.data(), &scalar, sizeof scalar);
  }
};

// Floats from -0.5 to 0.5.
Words random_floats(size_t count, unsigned seed);
Words random_integers(size_t count, unsigned seed, uint32_t below = 0);

// A workload of a name, made when it is asked for.
struct WorkloadMaker {
  std::string name;
  std::function<Workload()> make;
};

// Those of kernels.h, everyday_kernels.h, further_kernels.h, other_kernels.h and more_kernels.h.
std::span<const WorkloadMaker> main_workloads();
std::span<const WorkloadMaker> everyday_workloads();
std::span<const WorkloadMaker> further_workloads();
std::span<const WorkloadMaker> other_workloads();
std::span<const WorkloadMaker> more_workloads();
// Those of a JSON file (docs/translator-speed.md). Throws where it is not as it should be.
std::vector<WorkloadMaker> own_kernels(const std::string& path);

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Pages = std::unique_ptr<uint32_t[], FreeMemory>;
// Where a driver would put a buffer: at the begin of a page.
Pages in_pages(const Words& contents);

class Runner {
 public:
  virtual ~Runner() = default;
  virtual void run() = 0;
  virtual Words result() = 0;
  virtual machine::Translation translation() const { return {}; }
  // Wave-instructions of the last dispatch; 0 where nobody counts them.
  virtual uint64_t instructions() const { return 0; }
};

// Buffers hold what the workload says at first, and what was made of them from then on.
std::unique_ptr<Runner> lockstep_runner(const Workload& workload, machine::EngineKind engine,
                                        unsigned threads);
// Null if there is no PoCL. One compute unit or all of them.
std::unique_ptr<Runner> pocl_runner(const Workload& workload, bool one_unit);
// Null if there is no such loop for it. On one thread.
std::unique_ptr<Runner> hand_runner(const Workload& workload);

}  // namespace lockstep::bench

// Compiles batches of kernels for the device and for the host, runs them and compares what they wrote.
#pragma once

#include <filesystem>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "api/lockstep.h"
#include "fuzz/kernels/ast.h"

namespace lockstep::kernel_fuzz {

struct Variant {
  unsigned level = 2;
  unsigned wave_size = 32;

  std::string name() const { return "-O" + std::to_string(level) + " wave" + std::to_string(wave_size); }
};

// Aligned as the host's vector instructions want it.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(64)));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, std::align_val_t(64)); }
  bool operator==(const AlignedAllocator&) const { return true; }
};
using Bytes = std::vector<uint8_t, AlignedAllocator<uint8_t>>;

struct Buffers {
  Bytes input, output, atomics;

  explicit Buffers(const Kernel& kernel);  // as they are before the kernel runs
  bool same_results(const Buffers& other) const { return output == other.output && atomics == other.atomics; }
};

struct Outcome {
  enum class Kind { same, different, fault, not_compiled, finding };
  Kind kind = Kind::same;
  std::string message;
  Variant variant;
  lockstep_engine engine = LOCKSTEP_ENGINE_INTERPRETER;
  unsigned translated = 0;  // variants that host code of the translator ran, not the interpreter
};

// Works for one thread in a directory of its own, which ends with it.
class Runner {
 public:
  // `checks`: checkers that follow the kernels, by their names; they are to find nothing.
  explicit Runner(lockstep_engine engine, std::string checks = {});
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // For each kernel what the variants gave: the first that is not `same`, or `same`.
  std::vector<Outcome> run(std::span<const Kernel* const> kernels, std::span<const Variant> variants);
  // All of one kernel, for a report.
  struct Details {
    Outcome outcome;
    std::string listing;
    Bytes device_output, device_atomics, host_output, host_atomics;
  };
  Details details(const Kernel& kernel, Variant variant);

 private:
  struct Host;
  struct CodeObject;
  bool compile_host(std::span<const Kernel* const> kernels, Host& host, std::string& error);
  bool compile_device(const std::filesystem::path& source, Variant variant, CodeObject& code,
                      std::string& error);
  std::string first_finding() const;
  bool run_device(const Kernel& kernel, const CodeObject& code, unsigned number, Buffers& buffers,
                  Outcome& outcome);
  std::vector<Outcome> run_one_by_one(std::span<const Kernel* const> kernels,
                                      std::span<const Variant> variants, const std::string& error);

  std::filesystem::path directory_;
  lockstep_device* device_ = nullptr;
  const lockstep_engine engine_;
  const std::string checks_;
  unsigned files_ = 0;
};

}  // namespace lockstep::kernel_fuzz

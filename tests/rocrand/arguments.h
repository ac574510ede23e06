// Meaningful arguments for rocRAND's kernels, by the types in their names: metadata has sizes only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/lockstep.hpp"

namespace lockstep::rocrand {

constexpr uint32_t kBlock = 256, kGroups = 4, kThreads = kBlock * kGroups;
constexpr uint64_t kNumbers =
    2500;  // not a multiple of the threads, nor of the four numbers that they write at once
constexpr uint64_t kSeed = 0x123456789abcdef;
constexpr double kPoissonMean = 10;
constexpr uint8_t kUnwritten = 0xa5;

// "void space::function<int, float>(engine*, unsigned int)" taken apart.
struct Signature {
  std::string function;                 // "function"
  std::string template_arguments;       // "int, float"
  std::vector<std::string> parameters;  // "engine*", "unsigned int"
};
Signature parse(const std::string& readable_name);

// How many numbers the kernel is asked for: not a multiple of the threads, nor of the eight that some write
// at once. MT19937's kernels of rocRAND 5.7 leave out some of the last ones unless it is a multiple of eight:
// they run threads up to 8 * (n / 8) + (n % 8 + 7) / 8 only.
uint64_t numbers_wanted(const Signature& signature);

// The kernels of a file share engines, so that what one initialises the others use, each from the same state.
class Memory {
 public:
  explicit Memory(Device& device);

  // As they were when `keep` was called last, or made.
  Buffer<uint8_t>& engines(const std::string& type);
  void keep();
  // Whether kernels have left the same numbers and engines here and there.
  bool holds_the_same(const Memory& other) const;
  Buffer<uint8_t> output;
  Buffer<uint32_t> operands;  // of mad_u64_u32_kernel

 private:
  friend class Binder;
  struct Engines {
    Buffer<uint8_t> states;
    std::vector<uint8_t> kept;
  };
  Device& device_;
  std::map<std::string, Engines> engines_;
  Buffer<uint32_t> directions32_, constants32_, alias_;
  Buffer<uint64_t> directions64_, constants64_, discrete_;
  Buffer<double> probability_, cumulative_;
};

// Sets all of a kernel's arguments. Returns "" or what it does not know.
std::string bind(const Signature& signature, const Kernel& kernel, Memory& memory, Arguments& arguments);

}  // namespace lockstep::rocrand

// Runs a kernel on one engine and gives back what it left in its buffers.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "machine/launch.h"

namespace lockstep::translator {

using Bytes = std::vector<std::byte>;

struct TestArgument {
  int buffer = -1;  // index, or
  Bytes scalar;     // a value
};
inline TestArgument buffer(int index) {
  return {index, {}};
}
template <class T>
TestArgument value(T scalar) {
  TestArgument argument;
  argument.scalar.resize(sizeof scalar);
  std::memcpy(argument.scalar.data(), &scalar, sizeof scalar);
  return argument;
}

struct TestDispatch {
  std::string kernel;
  std::array<uint32_t, 3> grid{1, 1, 1}, group{1, 1, 1};  // work-items
  std::vector<TestArgument> arguments;
  uint32_t dynamic_lds_bytes = 0;
  int arguments_in = -1;  // a buffer of 4096 bytes that the kernel may write, too
  int twice = -1;  // a buffer that is at two places, the second one has the number behind the last buffer's
};

struct TestResult {
  machine::Outcome outcome;  // of the last dispatch
  uint64_t code_base = 0;    // to make addresses comparable
  std::vector<uint64_t> buffer_addresses;
  std::vector<Bytes> buffers;
};

// Code object from OpenCL C; fails the test if it does not compile.
Bytes compile(const std::string& source, unsigned wave_size = 32, unsigned optimization = 3,
              const std::vector<std::string>& flags = {});
// Dispatches one after the other on the same memory. `limit`: of instructions, of each; 0: none.
TestResult run(const Bytes& code_object, const std::vector<TestDispatch>& dispatches,
               std::vector<Bytes> buffers, machine::EngineKind engine, unsigned threads = 1,
               uint64_t limit = 0);
Bytes read_file(const std::string& path);
Bytes random_words(size_t count, unsigned seed);

// Runs on both engines and expects the same memory, bit for bit, and the same number of executed
// instructions. Returns the translator's result.
TestResult expect_same(const Bytes& code_object, const std::vector<TestDispatch>& dispatches,
                       const std::vector<Bytes>& buffers);

}  // namespace lockstep::translator

#include "tests/engine/translator/test_kernel.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>

#include "loader/hidden_arguments.h"
#include "machine/kernel.h"
#include "toolchain/compile.h"

namespace lockstep::translator {

Bytes compile(const std::string& source, unsigned wave_size, unsigned optimization,
              const std::vector<std::string>& flags) {
  toolchain::Options options;
  options.extra_flags = flags;
  options.wave_size = wave_size;
  options.optimization = optimization;
  toolchain::Result result = toolchain::compile_text(toolchain::Language::opencl, source, "test.cl", options);
  EXPECT_TRUE(result) << result.diagnostics;
  return std::move(result.code_object);
}

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return Bytes(bytes.begin(), bytes.end());
}

Bytes random_words(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> words(count);
  for (uint32_t& word : words) word = static_cast<uint32_t>(random());
  const auto bytes = std::as_bytes(std::span(words));
  return Bytes(bytes.begin(), bytes.end());
}

namespace {

// The same memory at two addresses.
class AtTwoPlaces {
 public:
  AtTwoPlaces(AddressSpace& memory, Bytes& contents) : memory_(memory), contents_(contents) {
    const int file = memfd_create("buffer", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(contents.size())) != 0)
      throw std::runtime_error("no memory for a buffer at two places");
    for (std::byte*& place : places_) {
      void* mapped = mmap(nullptr, contents.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (mapped == MAP_FAILED) throw std::runtime_error("a buffer cannot be mapped");
      place = static_cast<std::byte*>(mapped);
      memory_.map(reinterpret_cast<uint64_t>(place), contents.size(), kReadWrite, "place of a buffer");
    }
    close(file);
    std::ranges::copy(contents, places_[0]);
  }
  ~AtTwoPlaces() {
    std::copy_n(places_[0], contents_.size(), contents_.begin());
    for (std::byte* place : places_) {
      memory_.unmap(reinterpret_cast<uint64_t>(place));
      munmap(place, contents_.size());
    }
  }
  AtTwoPlaces(const AtTwoPlaces&) = delete;
  AtTwoPlaces& operator=(const AtTwoPlaces&) = delete;

  uint64_t address(size_t number) const { return reinterpret_cast<uint64_t>(places_[number]); }

 private:
  AddressSpace& memory_;
  Bytes& contents_;
  std::array<std::byte*, 2> places_{};
};

}  // namespace

TestResult run(const Bytes& code_object, const std::vector<TestDispatch>& dispatches,
               std::vector<Bytes> buffers, machine::EngineKind engine, unsigned threads, uint64_t limit) {
  TestResult result;
  AddressSpace memory;
  auto object = loader::CodeObject::parse(code_object, "test.co");
  if (!object) {
    ADD_FAILURE() << object.error().message();
    return result;
  }
  auto loaded = machine::LoadedCode::load(std::move(*object), memory);
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message();
    return result;
  }
  const machine::LoadedCode& code = **loaded;
  result.code_base = code.base();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto address = reinterpret_cast<uint64_t>(buffers[i].data());
    memory.map(address, buffers[i].size(), kReadWrite, "buffer " + std::to_string(i));
    result.buffer_addresses.push_back(address);
  }
  for (const TestDispatch& each : dispatches) {
    const loader::Kernel* kernel = code.object().find_kernel(each.kernel);
    if (!kernel) {
      ADD_FAILURE() << "no kernel " << each.kernel;
      return result;
    }
    std::optional<AtTwoPlaces> places;
    std::vector<uint64_t> addresses = result.buffer_addresses;
    if (each.twice >= 0) {
      places.emplace(memory, buffers[static_cast<size_t>(each.twice)]);
      addresses[static_cast<size_t>(each.twice)] = places->address(0);
      addresses.push_back(places->address(1));
    }
    alignas(64) std::array<std::byte, 4096> own_arguments{};
    const std::span<std::byte> arguments =
        each.arguments_in >= 0 ? std::span(buffers[static_cast<size_t>(each.arguments_in)]) : own_arguments;
    alignas(64) std::array<std::byte, 64> packet{};
    const auto user_arguments = kernel->metadata->user_arguments();
    EXPECT_EQ(user_arguments.size(), each.arguments.size());
    for (size_t i = 0; i < each.arguments.size(); ++i) {
      const TestArgument& argument = each.arguments[i];
      std::byte* place = arguments.data() + user_arguments[i]->offset;
      if (argument.buffer >= 0)
        std::memcpy(place, &addresses[static_cast<size_t>(argument.buffer)], 8);
      else
        std::memcpy(place, argument.scalar.data(), argument.scalar.size());
    }
    loader::HiddenValues hidden;
    hidden.grid = each.grid;
    hidden.block = each.group;
    hidden.dynamic_lds_bytes = each.dynamic_lds_bytes;
    EXPECT_TRUE(loader::fill_hidden_arguments(*kernel->metadata, hidden, arguments));
    machine::KernelDispatch dispatch;
    dispatch.kernel = kernel;
    dispatch.grid = each.grid;
    dispatch.group = each.group;
    dispatch.dynamic_lds_bytes = each.dynamic_lds_bytes;
    dispatch.kernarg_address = reinterpret_cast<uint64_t>(arguments.data());
    dispatch.packet_address = reinterpret_cast<uint64_t>(packet.data());
    if (each.arguments_in < 0) memory.map(dispatch.kernarg_address, arguments.size(), kRead, "arguments");
    memory.map(dispatch.packet_address, packet.size(), kRead, "packet");
    auto launch = machine::make_launch(code, dispatch);
    if (!launch) {
      ADD_FAILURE() << launch.error().message();
      return result;
    }
    launch->memory = memory.snapshot();
    machine::RunOptions options;
    options.engine = engine;
    options.threads = threads;
    options.instruction_limit = limit;
    result.outcome = machine::run(*launch, options);
    if (each.arguments_in < 0) memory.unmap(dispatch.kernarg_address);
    memory.unmap(dispatch.packet_address);
    // Where buffers are differs from run to run.
    for (size_t i = 0; each.arguments_in >= 0 && i < each.arguments.size(); ++i)
      if (each.arguments[i].buffer >= 0) std::memset(arguments.data() + user_arguments[i]->offset, 0, 8);
    if (result.outcome.fault) break;
  }
  result.buffers = std::move(buffers);
  return result;
}

TestResult expect_same(const Bytes& code_object, const std::vector<TestDispatch>& dispatches,
                       const std::vector<Bytes>& buffers) {
  const TestResult expected = run(code_object, dispatches, buffers, machine::EngineKind::interpreter);
  TestResult result = run(code_object, dispatches, buffers, machine::EngineKind::translator);
  EXPECT_FALSE(expected.outcome.fault);
  EXPECT_FALSE(result.outcome.fault);
  EXPECT_EQ(expected.outcome.totals.instructions, result.outcome.totals.instructions);
  for (size_t i = 0; i < buffers.size() && i < result.buffers.size(); ++i)
    EXPECT_TRUE(expected.buffers[i] == result.buffers[i]) << "buffer " << i << " differs";
  return result;
}

}  // namespace lockstep::translator

#include <cstdlib>
#include <map>
#include <new>
#include <stdexcept>

#include "bench/workload.h"
#include "loader/hidden_arguments.h"
#include "machine/kernel.h"
#include "machine/reuse.h"
#include "toolchain/compile.h"

namespace lockstep::bench {
namespace {

const toolchain::Result& code_object(const char* source) {
  static std::map<const char*, toolchain::Result> results;
  if (const auto known = results.find(source); known != results.end()) return known->second;
  toolchain::Options options;
  options.optimization = 3;
  auto result = toolchain::compile_text(toolchain::Language::opencl, source, "kernels.cl", options);
  if (!result) throw std::runtime_error(result.diagnostics);
  return results.emplace(source, std::move(result)).first->second;
}

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

size_t bytes_of(const Words& words) {
  return words.size() * sizeof(uint32_t);
}

class LockstepRunner final : public Runner {
 public:
  LockstepRunner(const Workload& workload, machine::EngineKind engine, unsigned threads)
      : workload_(workload) {
    for (const Words& contents : workload.buffers) {
      // Where a driver would put it: at the begin of a page.
      auto* memory =
          static_cast<uint32_t*>(std::aligned_alloc(4096, (bytes_of(contents) + 4095) / 4096 * 4096));
      if (!memory) throw std::bad_alloc();
      std::memcpy(buffers_.emplace_back(memory).get(), contents.data(), bytes_of(contents));
    }
    auto object = loader::CodeObject::parse(code_object(workload.source).code_object, "kernels.co");
    if (!object) throw std::runtime_error(object.error().message());
    auto loaded = machine::LoadedCode::load(std::move(*object), memory_);
    if (!loaded) throw std::runtime_error(loaded.error().message());
    code_ = std::move(*loaded);
    const loader::Kernel& kernel = *code_->object().find_kernel(workload.kernel);
    const auto arguments = kernel.metadata->user_arguments();
    for (size_t i = 0; i < workload.arguments.size(); ++i) {
      const Argument& argument = workload.arguments[i];
      std::byte* place = arguments_.data() + arguments[i]->offset;
      if (argument.buffer >= 0) {
        const void* data = buffers_[static_cast<size_t>(argument.buffer)].get();
        std::memcpy(place, &data, sizeof data);
      } else {
        std::memcpy(place, argument.value.data(), argument.value.size());
      }
    }
    for (size_t i = 0; i < buffers_.size(); ++i)
      map(buffers_[i].get(), bytes_of(workload.buffers[i]), kReadWrite, "buffer");
    loader::HiddenValues hidden;
    hidden.grid = workload.grid;
    hidden.block = workload.group;
    if (!loader::fill_hidden_arguments(*kernel.metadata, hidden, arguments_))
      throw std::runtime_error("hidden arguments do not fit");
    map(arguments_.data(), arguments_.size(), kRead, "arguments");
    map(packet_.data(), packet_.size(), kRead, "packet");
    machine::KernelDispatch dispatch;
    dispatch.kernel = &kernel;
    dispatch.grid = workload.grid;
    dispatch.group = workload.group;
    dispatch.kernarg_address = reinterpret_cast<uint64_t>(arguments_.data());
    dispatch.packet_address = reinterpret_cast<uint64_t>(packet_.data());
    auto launch = machine::make_launch(*code_, dispatch);
    if (!launch) throw std::runtime_error(launch.error().message());
    launch_ = std::move(*launch);
    launch_.memory = memory_.snapshot();
    options_.engine = engine;
    options_.threads = threads;
    options_.reuse = &reuse_;
  }

  void run() override {
    for (unsigned i = 0; i < workload_.dispatches; ++i) {
      const machine::Outcome outcome = machine::run(launch_, options_);
      if (outcome.fault) throw std::runtime_error(workload_.kernel + ": " + outcome.fault->fault.message);
      translation_ = outcome.translation;
      instructions_ = outcome.totals.instructions;
    }
  }
  Words result() override {
    const auto number = static_cast<size_t>(workload_.result);
    const uint32_t* words = buffers_[number].get();
    return {words, words + workload_.buffers[number].size()};
  }
  machine::Translation translation() const override { return translation_; }
  uint64_t instructions() const override { return instructions_; }

 private:
  void map(const void* data, size_t bytes, uint8_t access, const char* name) {
    memory_.map(reinterpret_cast<uint64_t>(data), bytes, access, name);
  }

  const Workload& workload_;
  std::vector<std::unique_ptr<uint32_t[], FreeMemory>> buffers_;
  AddressSpace memory_;
  std::unique_ptr<machine::LoadedCode> code_;
  alignas(64) std::array<std::byte, 1024> arguments_{};
  alignas(64) std::array<std::byte, 64> packet_{};
  machine::Launch launch_;
  machine::Reuse reuse_;
  machine::RunOptions options_;
  machine::Translation translation_;
  uint64_t instructions_ = 0;
};

}  // namespace

std::unique_ptr<Runner> lockstep_runner(const Workload& workload, machine::EngineKind engine,
                                        unsigned threads) {
  return std::make_unique<LockstepRunner>(workload, engine, threads);
}

}  // namespace lockstep::bench

#include <map>
#include <stdexcept>
#include <tuple>

#include "bench/workload.h"
#include "loader/hidden_arguments.h"
#include "machine/kernel.h"
#include "machine/reuse.h"
#include "toolchain/compile.h"

namespace lockstep::bench {
namespace {

const toolchain::Result& code_object(const Workload& workload) {
  toolchain::Options options;
  options.optimization = 3;
  options.extra_flags = workload.options;
  // For groups of 256 and less it is the same code.
  const uint32_t items = workload.group[0] * workload.group[1] * workload.group[2];
  options.work_group_size = items > 256 ? items : 0;
  using Key = std::tuple<std::string, std::vector<std::string>, unsigned>;
  static std::map<Key, toolchain::Result> results;
  const Key key(workload.source, workload.options, options.work_group_size);
  if (const auto known = results.find(key); known != results.end()) return known->second;
  auto result = toolchain::compile_text(toolchain::Language::opencl, workload.source, workload.file, options);
  if (!result) throw std::runtime_error(result.diagnostics);
  return results.emplace(key, std::move(result)).first->second;
}

const loader::Kernel& find_kernel(const loader::CodeObject& object, const std::string& name) {
  if (const loader::Kernel* kernel = object.find_kernel(name)) return *kernel;
  std::string known;
  for (const loader::Kernel& kernel : object.kernels()) known += (known.empty() ? "" : ", ") + kernel.name;
  throw std::runtime_error("the source has no kernel '" + name + "' (it has " +
                           (known.empty() ? "none" : known) + ")");
}

// Whether what the workload gives is what the kernel takes.
void check(const loader::KernelMetadata& kernel, const Workload& workload) {
  const auto& size = kernel.required_workgroup_size;
  if (size && *size != workload.group)
    throw std::runtime_error("the kernel takes groups of " + std::to_string((*size)[0]) + " x " +
                             std::to_string((*size)[1]) + " x " + std::to_string((*size)[2]) +
                             " work-items: give it such");
  for (const loader::Argument& argument : kernel.arguments)
    if (argument.kind == loader::ValueKind::hidden_printf_buffer)
      throw std::runtime_error("the kernel prints, and nobody would read it: leave out its printf");
  const std::vector<const loader::Argument*> wanted = kernel.user_arguments();
  const std::vector<Argument>& given = workload.arguments;
  if (wanted.size() != given.size()) {
    std::string names;
    for (const loader::Argument* argument : wanted) names += (names.empty() ? "" : ", ") + argument->name;
    throw std::runtime_error("the kernel takes " + std::to_string(wanted.size()) + " arguments (" + names +
                             "), and there are " + std::to_string(given.size()));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const loader::Argument& argument = *wanted[i];
    std::string is;
    if (argument.kind == loader::ValueKind::global_buffer) {
      if (given[i].buffer < 0) is = "a buffer: give it one";
    } else if (argument.kind == loader::ValueKind::dynamic_shared_pointer) {
      if (given[i].local_bytes == 0) is = "in LDS: give it a number of bytes";
    } else if (argument.kind != loader::ValueKind::by_value) {
      is = "of the kind " + argument.kind_text + ", which there is none of here";
    } else if (given[i].value.size() != argument.size) {
      is = "a value of " + std::to_string(argument.size) + " bytes: give it one";
    }
    if (is.empty()) continue;
    throw std::runtime_error("argument " + std::to_string(i) + " '" + argument.name + "' (" +
                             argument.type_name + ") is " + is);
  }
}

size_t bytes_of(const Words& words) {
  return words.size() * sizeof(uint32_t);
}

class LockstepRunner final : public Runner {
 public:
  LockstepRunner(const Workload& workload, machine::EngineKind engine, unsigned threads)
      : workload_(workload) {
    for (const Words& contents : workload.buffers) buffers_.push_back(in_pages(contents));
    auto object = loader::CodeObject::parse(code_object(workload).code_object, "kernels.co");
    if (!object) throw std::runtime_error(object.error().message());
    auto loaded = machine::LoadedCode::load(std::move(*object), memory_);
    if (!loaded) throw std::runtime_error(loaded.error().message());
    code_ = std::move(*loaded);
    const loader::Kernel& kernel = find_kernel(code_->object(), workload.kernel);
    check(*kernel.metadata, workload);
    const auto arguments = kernel.metadata->user_arguments();
    if (kernel.metadata->kernarg_segment_size > arguments_.size())
      throw std::runtime_error("the kernel's arguments have " +
                               std::to_string(kernel.metadata->kernarg_segment_size) +
                               " bytes, and there is room for " + std::to_string(arguments_.size()));
    std::vector<uint32_t> local_bytes;
    for (size_t i = 0; i < workload.arguments.size(); ++i) {
      const Argument& argument = workload.arguments[i];
      std::byte* place = arguments_.data() + arguments[i]->offset;
      local_bytes.push_back(argument.local_bytes);
      if (argument.buffer >= 0) {
        const void* data = buffers_[static_cast<size_t>(argument.buffer)].get();
        std::memcpy(place, &data, sizeof data);
      } else {
        std::memcpy(place, argument.value.data(), argument.value.size());
      }
    }
    for (size_t i = 0; i < buffers_.size(); ++i)
      map(buffers_[i].get(), bytes_of(workload.buffers[i]), kReadWrite, "buffer");
    const auto dynamic_lds = static_cast<uint32_t>(loader::fill_local_offsets(
        arguments, local_bytes, kernel.descriptor.group_segment_fixed_size, arguments_));
    loader::HiddenValues hidden;
    hidden.grid = workload.grid;
    hidden.block = workload.group;
    hidden.dimensions = static_cast<uint16_t>(workload.dimensions);
    hidden.dynamic_lds_bytes = dynamic_lds;
    if (!loader::fill_hidden_arguments(*kernel.metadata, hidden, arguments_))
      throw std::runtime_error("hidden arguments do not fit");
    map(arguments_.data(), arguments_.size(), kRead, "arguments");
    map(packet_.data(), packet_.size(), kRead, "packet");
    machine::KernelDispatch dispatch;
    dispatch.kernel = &kernel;
    dispatch.grid = workload.grid;
    dispatch.group = workload.group;
    dispatch.dynamic_lds_bytes = dynamic_lds;
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
      if (outcome.fault) throw std::runtime_error(outcome.fault->fault.message);
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
  std::vector<Pages> buffers_;
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

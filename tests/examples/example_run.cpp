#include "tests/examples/example_run.h"

#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

namespace lockstep::examples {

namespace {

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const {
    destroy(object);
  }
};
using CodeObject = std::unique_ptr<lockstep_code_object, Destroy<lockstep_code_object_destroy>>;
using Device = std::unique_ptr<lockstep_device, Destroy<lockstep_device_destroy>>;
using Arguments = std::unique_ptr<lockstep_arguments, Destroy<lockstep_arguments_destroy>>;

struct Failed {
  lockstep_status status;
};

void check(lockstep_status status) {
  if (status != LOCKSTEP_OK) throw Failed{status};
}

void collect_findings(const lockstep_device* device, const std::string& kernel,
                      std::vector<CheckFinding>& all) {
  for (uint32_t i = 0; i < lockstep_device_check_finding_count(device); ++i) {
    lockstep_check_finding found{};
    found.struct_size = sizeof found;
    check(lockstep_device_check_finding(device, i, &found));
    if (found.severity == LOCKSTEP_SEVERITY_NOTE) continue;
    all.push_back({found.checker, kernel, found.rule, found.detail, found.where.instruction, found.where.file,
                   found.where.offset, found.where.line, found.executions});
  }
}

void run_dispatch(const Dispatch& dispatch, lockstep_device* device, const lockstep_code_object* code,
                  const std::vector<uint64_t>& buffers, lockstep_dispatch_options options,
                  RunResult& result) {
  const lockstep_kernel* kernel = lockstep_code_object_find_kernel(code, dispatch.kernel.c_str());
  if (!kernel) throw std::runtime_error("no kernel " + dispatch.kernel);
  lockstep_arguments* made;
  check(lockstep_arguments_create(kernel, &made));
  const Arguments arguments(made);
  for (uint32_t i = 0; i < dispatch.arguments.size(); ++i) {
    const Argument& argument = dispatch.arguments[i];
    if (argument.buffer >= 0)
      check(lockstep_arguments_set_buffer(made, i, buffers[static_cast<size_t>(argument.buffer)]));
    else
      check(lockstep_arguments_set(made, i, argument.scalar.data(),
                                   static_cast<uint32_t>(argument.scalar.size())));
  }
  for (int axis = 0; axis < 3; ++axis) {
    options.block[axis] = dispatch.group_size[axis];
    options.grid[axis] = dispatch.groups[axis] * dispatch.group_size[axis];
  }
  options.dynamic_lds_bytes = dispatch.dynamic_lds_bytes;
  lockstep_statistics statistics{};
  statistics.struct_size = sizeof statistics;
  const std::clock_t begin = std::clock();
  const lockstep_status status = lockstep_dispatch(device, kernel, made, &options, &statistics);
  result.processor_seconds += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (status != LOCKSTEP_OK) result.error = lockstep_last_error();
  result.instructions += statistics.wave_instructions;
  collect_findings(device, dispatch.kernel, result.findings);
  check(status);
}

}  // namespace

std::string RunResult::difference(const Example& example) const {
  for (const Expectation& expectation : example.expectations)
    if (std::string text = compare(expectation, buffers[static_cast<size_t>(expectation.buffer)]);
        !text.empty())
      return text;
  return {};
}

RunResult run(const Example& example, std::span<const std::byte> code_object, const RunRequest& request) {
  RunResult result;
  try {
    lockstep_code_object* made_code;
    check(lockstep_code_object_from_memory(code_object.data(), code_object.size(), example.name.c_str(),
                                           nullptr, &made_code));
    const CodeObject code(made_code);
    lockstep_device* made_device;
    check(lockstep_device_create(&request.device, &made_device));
    const Device device(made_device);

    std::vector<uint64_t> buffers;
    const Bytes guard(request.guard_bytes, std::byte{request.guard_byte});
    const auto write = [&](uint64_t address, const Bytes& bytes) {
      if (!bytes.empty()) check(lockstep_memory_write(made_device, address, bytes.data(), bytes.size()));
    };
    for (const Bytes& contents : example.buffers) {
      const std::string name = "buffer " + std::to_string(buffers.size());
      uint64_t address;
      check(
          lockstep_memory_allocate(made_device, contents.size() + 2 * guard.size(), name.c_str(), &address));
      write(address, guard);
      write(address + guard.size(), contents);
      write(address + guard.size() + contents.size(), guard);
      buffers.push_back(address + guard.size());
    }
    for (const Dispatch& dispatch : example.dispatches)
      run_dispatch(dispatch, made_device, made_code, buffers, request.options, result);
    const auto read = [&](uint64_t address, size_t bytes) {
      Bytes contents(bytes);
      if (bytes != 0) check(lockstep_memory_read(made_device, address, contents.data(), bytes));
      return contents;
    };
    for (size_t i = 0; i < buffers.size(); ++i) {
      const size_t bytes = example.buffers[i].size();
      result.buffers.push_back(read(buffers[i], bytes));
      for (const uint64_t at : {buffers[i] - guard.size(), buffers[i] + bytes})
        result.guards_hold &= read(at, guard.size()) == guard;
    }
  } catch (const Failed& failed) {
    result.status = failed.status;
    if (result.error.empty()) result.error = lockstep_last_error();
  }
  return result;
}

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return bytes_of(std::span<const char>(text.data(), text.size()));
}

}  // namespace lockstep::examples

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/code_object.h"
#include "api/device.h"
#include "api/guest_services.h"
#include "api/launch.h"
#include "api/settings.h"
#include "api/status.h"
#include "dump/file.h"
#include "dump/memory.h"
#include "loader/readable_name.h"
#include "machine/device.h"
#include "machine/kernel.h"
#include "machine/scratch_ring.h"
#include "text/hex.h"

using namespace lockstep;
using namespace lockstep::api;

struct lockstep_dump {
  std::unique_ptr<dump::File> file;
  std::unique_ptr<const Image> image;  // null: the code object is not known
  const loader::Kernel* kernel = nullptr;
  std::string readable_name;
  std::unique_ptr<dump::Memory> memory;              // of the last run
  std::vector<std::span<const std::byte>> services;  // of its memory: by which it printed
  dump::Comparison comparison;

  RunningKernel running() const {
    return {kernel ? kernel->name : readable_name, file->dispatch().launch.entry, image.get(),
            file->dispatch().bias};
  }
};

namespace {

void check_options(const lockstep_dispatch_options& o) {
  const lockstep_dispatch_options defaults = dispatch_defaults();
  require(std::equal(o.grid, o.grid + 3, defaults.grid) && std::equal(o.block, o.block + 3, defaults.block) &&
              std::equal(o.global_offset, o.global_offset + 3, defaults.global_offset) &&
              o.dynamic_lds_bytes == 0,
          "the dump says itself what grid, work-groups and LDS it has (leave these options as they are)");
}

// The ring of the program, where the device has as many shader engines; else one of the device's own.
std::shared_ptr<machine::ScratchRing> scratch_of(const dump::Dispatch& dispatch, lockstep_device& device) {
  const uint64_t bytes =
      machine::scratch_wave_bytes(dispatch.launch.scratch_bytes, dispatch.launch.wave_size);
  if (bytes == 0) return nullptr;
  const auto& scratch = dispatch.scratch;
  if (scratch && scratch->engines == device.model.shader_engines && scratch->waves_per_engine != 0 &&
      scratch->wave_bytes >= bytes && scratch->wave_bytes % machine::ScratchRing::kUnit == 0) {
    auto ring = std::make_shared<machine::ScratchRing>(scratch->base, scratch->wave_bytes, scratch->engines,
                                                       scratch->waves_per_engine);
    // Waves use their entries without another look.
    if (device.memory.snapshot()->find(ring->base(), ring->bytes(), kReadWrite)) return ring;
    throw Failure(LOCKSTEP_BAD_INPUT,
                  "the dump's scratch is not in its memory (it is damaged; write it again)");
  }
  constexpr uint64_t kMost = uint64_t{machine::ScratchRing::kMostUnits} * machine::ScratchRing::kUnit;
  if (bytes > kMost)
    throw Failure(LOCKSTEP_BAD_INPUT, "the dump asks for " + std::to_string(bytes) +
                                          " bytes of scratch a wave, which has at most " +
                                          std::to_string(kMost));
  return machine::ScratchRing::make(device.memory, device.model, static_cast<uint32_t>(bytes));
}

// Other code at the same place has another serial number.
void number_code(const RangeSet& memory, std::vector<CodeRange>& code) {
  for (CodeRange& range : code) {
    const Range* const found = memory.find(range.begin, range.end - range.begin, kExecute);
    if (!found) throw Failure(LOCKSTEP_BAD_INPUT, "the dump's code is not in its memory (write it again)");
    range.serial = found->serial;
  }
}

}  // namespace

int lockstep_dump_is_recognized(const char* path) {
  return path && dump::File::recognizes(path);
}

lockstep_status lockstep_dump_open(const char* path, lockstep_dump** out) {
  return guarded([&] {
    require(path && out, "path or out is null");
    auto opened = std::make_unique<lockstep_dump>();
    opened->file = take(dump::File::open(path));
    const dump::Dispatch& dispatch = opened->file->dispatch();
    const std::vector<std::byte> bytes = take(opened->file->code_object());
    if (!bytes.empty()) {
      opened->image = std::make_unique<const Image>(take(loader::CodeObject::parse(bytes, path)));
      opened->kernel = opened->image->object.find_kernel(dispatch.kernel);
    }
    opened->readable_name = opened->kernel ? loader::readable_name(opened->kernel->name)
                                           : "(code at " + hex(dispatch.launch.entry) + ")";
    *out = opened.release();
  });
}

void lockstep_dump_destroy(lockstep_dump* dump) {
  delete dump;
}

lockstep_status lockstep_dump_get_info(const lockstep_dump* dump, lockstep_dump_info* out) {
  return guarded([&] {
    require(dump, "the dump is null");
    const dump::Dispatch& dispatch = dump->file->dispatch();
    lockstep_dump_info info{};
    info.kernel = dump->kernel ? dump->kernel->name.c_str() : "";
    info.readable_name = dump->readable_name.c_str();
    info.device = dispatch.device.c_str();
    std::copy_n(dispatch.launch.grid.begin(), 3, info.grid);
    std::copy_n(dispatch.launch.group.begin(), 3, info.block);
    info.wave_size = dispatch.launch.wave_size;
    info.range_count = static_cast<uint32_t>(dispatch.ranges.size());
    info.memory_bytes = dump->file->memory_bytes();
    info.fault = "";
    if (const auto& end = dump->file->end()) {
      info.has_end = !end->cancelled;
      info.wave_instructions = end->wave_instructions;
      info.fault = end->fault.c_str();
    }
    give(out, info);
  });
}

lockstep_status lockstep_dump_range(const lockstep_dump* dump, uint32_t index,
                                    lockstep_dump_range_info* out) {
  return guarded([&] {
    require(dump, "the dump is null");
    const std::vector<dump::MemoryRange>& ranges = dump->file->dispatch().ranges;
    require(index < ranges.size(), "there is no range of that index (see lockstep_dump_info.range_count)");
    const dump::MemoryRange& range = ranges[index];
    lockstep_dump_range_info info{};
    info.address = range.begin;
    info.bytes = range.end - range.begin;
    info.readable = (range.access & kRead) != 0;
    info.writable = (range.access & kWrite) != 0;
    info.executable = (range.access & kExecute) != 0;
    info.name = range.name.c_str();
    give(out, info);
  });
}

lockstep_status lockstep_dump_run(lockstep_device* device, lockstep_dump* dump,
                                  const lockstep_dispatch_options* given, lockstep_statistics* out) {
  return guarded([&] {
    require(device && dump, "the device or the dump is null");
    const lockstep_dispatch_options o = with_defaults(given, dispatch_defaults());
    check_options(o);
    forget_reports(*device);
    dump->memory.reset();
    dump->services.clear();
    dump->comparison = {};
    dump::Memory::Mapped mapped = dump::Memory::map(*dump->file, device->memory);
    if (!mapped.memory)
      throw Failure(mapped.is_taken ? LOCKSTEP_ADDRESS_TAKEN : LOCKSTEP_BAD_INPUT, mapped.problem);
    dump->memory = std::move(mapped.memory);
    const dump::Dispatch& dispatch = dump->file->dispatch();
    machine::RunOptions run;
    run.precise = settings_of(o, *device);
    machine::Launch launch = dispatch.launch;
    launch.scratch = scratch_of(dispatch, *device);
    launch.memory = device->memory.snapshot();
    number_code(*launch.memory, launch.code);
    machine::set_hardware(launch, device->model);
    hardware::Description model = device->model;
    if (o.wave_limit) model.waves_per_simd = std::min(model.waves_per_simd, o.wave_limit);
    run.resident_groups = machine::resident_groups(model, launch);
    const RunningKernel running = dump->running();
    if (run.resident_groups == 0)
      throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                    "kernel '" + running.name + "': not one of its work-groups fits device '" +
                        device->model.name + "' (choose another, or raise the wave limit)");

    std::unique_ptr<GuestServices> services;
    const std::optional<uint64_t> arguments = dump->kernel && dump->kernel->metadata
                                                  ? machine::kernarg_address(launch, dump->kernel->descriptor)
                                                  : std::nullopt;
    if (arguments && GuestServices::needed(*dump->kernel->metadata)) {
      services = std::make_unique<GuestServices>(device->memory, nullptr);
      services->adopt(*dump->kernel->metadata, dump->image->object.metadata()->printf_formats, *arguments,
                      *launch.memory, output_of(o.output, o.output_user));
      dump->services = services->buffers();
      launch.messages = services.get();
    }
    const machine::Outcome outcome = [&] {
      try {
        return run_launch(*device, std::move(launch), std::move(run), o, running, out);
      } catch (...) {
        try {
          if (services) services->end();  // what it has printed
        } catch (const std::exception&) {
        }
        throw;
      }
    }();
    const std::string problem = services ? services->end() : "";
    if (!problem.empty()) throw Failure(LOCKSTEP_UNSUPPORTED, "kernel '" + running.name + "': " + problem);
    check_cancelled(outcome, running.name);
  });
}

lockstep_status lockstep_dump_compare(lockstep_dump* dump, lockstep_dump_comparison* out) {
  return guarded([&] {
    require(dump, "the dump is null");
    require(dump->memory.get(), "the dump has not been run (lockstep_dump_run)");
    if (!dump->file->end() || dump->file->end()->cancelled)
      throw Failure(
          LOCKSTEP_NOT_FOUND,
          dump->file->path() + ": it ends before its dispatch did, so there is nothing to compare with");
    dump->comparison = take(dump->memory->compare(*dump->file, dump->services));
    lockstep_dump_comparison comparison{};
    comparison.different_bytes = dump->comparison.different;
    comparison.left_bytes = dump->comparison.left_alone;
    comparison.difference_count =
        static_cast<uint32_t>(dump->comparison.differences.size() + dump->comparison.others.size());
    give(out, comparison);
  });
}

lockstep_status lockstep_dump_difference(const lockstep_dump* dump, uint32_t index,
                                         lockstep_dump_difference_info* out) {
  return guarded([&] {
    require(dump, "the dump is null");
    const auto& [differences, others] = std::tie(dump->comparison.differences, dump->comparison.others);
    require(index < differences.size() + others.size(),
            "there is no difference of that index (lockstep_dump_compare)");
    const bool is_left = index >= differences.size();
    const dump::Difference& difference = is_left ? others[index - differences.size()] : differences[index];
    lockstep_dump_difference_info info{};
    info.address = difference.address;
    info.bytes = difference.bytes;
    info.range = difference.range.c_str();
    info.is_left = is_left;
    info.wanted = reinterpret_cast<const uint8_t*>(difference.wanted.data());
    info.found = reinterpret_cast<const uint8_t*>(difference.found.data());
    info.shown = static_cast<uint32_t>(difference.wanted.size());
    give(out, info);
  });
}

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "api/arguments.h"
#include "api/device.h"
#include "api/launch.h"
#include "api/settings.h"
#include "api/status.h"
#include "command/guest_memory.h"
#include "command/hsa_layout.h"
#include "loader/hidden_arguments.h"
#include "machine/aql_packet.h"
#include "machine/launch.h"
#include "machine/scratch_ring.h"
#include "text/hex.h"

using namespace lockstep;
using namespace lockstep::api;

namespace {

constexpr uint64_t kPageBytes = 4096;

std::string triple(const uint32_t v[3]) {
  return std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]);
}

void check_shape(const lockstep_kernel& kernel, const lockstep_dispatch_options& o,
                 const hardware::Description& model) {
  auto fail = [&](const std::string& what) {
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, "kernel '" + kernel.kernel->name + "': " + what);
  };
  uint64_t items = 1;
  for (int i = 0; i < 3; ++i) {
    if (!o.grid[i]) fail("the grid (" + triple(o.grid) + ") is empty: every dimension must be at least 1");
    if (!o.block[i])
      fail("the work-group (" + triple(o.block) + ") is empty: every dimension must be at least 1");
    items *= o.block[i];
    if (items > model.max_work_group_size)
      fail("a work-group of (" + triple(o.block) + ") work-items is too large, the hardware takes " +
           std::to_string(model.max_work_group_size) + " (make the block smaller)");
  }
  if (!kernel.kernel->metadata) return;
  const loader::KernelMetadata& m = *kernel.kernel->metadata;
  if (m.required_workgroup_size)
    for (int i = 0; i < 3; ++i)
      if (o.block[i] != (*m.required_workgroup_size)[i])
        fail("is compiled for work-groups of (" + triple(m.required_workgroup_size->data()) + "), not (" +
             triple(o.block) + ")");
  if (m.max_flat_workgroup_size && items > *m.max_flat_workgroup_size)
    fail("is compiled for at most " + std::to_string(*m.max_flat_workgroup_size) +
         " work-items in a work-group, not " + std::to_string(items) +
         " (make the block smaller, or compile it for larger ones)");
}

// The argument segment and the AQL packet, in pages that kernels may read, as on the card. The device keeps
// them for the next dispatch that needs as many: mapping them takes longer than an empty kernel.
class DispatchMemory {
 public:
  DispatchMemory(lockstep_device& device, const std::vector<std::byte>& segment)
      : packet_offset_((segment.size() + kPageBytes - 1) / kPageBytes * kPageBytes) {
    const uint64_t bytes = packet_offset_ + kPageBytes;
    if (!device.dispatch_pages || device.dispatch_pages->bytes() != bytes) {
      release(device);
      std::shared_ptr<const HostPages> pages = make_pages(bytes);
      if (packet_offset_ != 0 &&
          !device.memory.map(pages->address(), packet_offset_, kRead, "kernel arguments", pages))
        throw Failure(LOCKSTEP_INTERNAL_ERROR, "the kernel arguments overlap a mapped range");
      if (!device.memory.map(pages->address() + packet_offset_, kPageBytes, kRead, "dispatch packet",
                             pages)) {
        device.memory.unmap(pages->address());
        throw Failure(LOCKSTEP_INTERNAL_ERROR, "the dispatch packet overlaps a mapped range");
      }
      device.dispatch_pages = std::move(pages);
    }
    pages_ = device.dispatch_pages;
    std::copy(segment.begin(), segment.end(), pages_->data());
    std::fill(pages_->data() + segment.size(), pages_->data() + bytes, std::byte{0});
  }
  DispatchMemory(const DispatchMemory&) = delete;
  DispatchMemory& operator=(const DispatchMemory&) = delete;

  uint64_t arguments() const { return pages_->address(); }
  uint64_t packet() const { return pages_->address() + packet_offset_; }

 private:
  static void release(lockstep_device& device) {
    if (!device.dispatch_pages) return;
    const uint64_t begin = device.dispatch_pages->address();
    const uint64_t packet = begin + device.dispatch_pages->bytes() - kPageBytes;
    device.memory.unmap(packet);
    if (packet != begin) device.memory.unmap(begin);
    device.dispatch_pages.reset();
  }

  uint64_t packet_offset_;
  std::shared_ptr<const HostPages> pages_;
};

std::vector<std::byte> argument_segment(const lockstep_kernel& kernel, const lockstep_arguments* arguments,
                                        uint32_t& dynamic_lds) {
  lockstep_arguments none;
  if (!arguments) {
    none.kernel = &kernel;
    none.segment.resize(kernel.argument_bytes());
    none.set.resize(kernel.arguments.size());
    none.local_bytes.resize(kernel.arguments.size());
    arguments = &none;
  }
  require(arguments->kernel == &kernel, "the arguments are of another kernel");
  arguments->check_complete();
  std::vector<std::byte> segment =
      arguments->with_local_offsets(kernel.kernel->descriptor.group_segment_fixed_size, dynamic_lds);
  return segment;
}

void fill_hidden(const lockstep_kernel& kernel, const lockstep_dispatch_options& o, uint32_t dynamic_lds,
                 loader::HiddenValues hidden, std::vector<std::byte>& segment) {
  if (!kernel.kernel->metadata) return;
  std::copy_n(o.grid, 3, hidden.grid.begin());
  std::copy_n(o.block, 3, hidden.block.begin());
  std::copy_n(o.global_offset, 3, hidden.global_offset.begin());
  hidden.dimensions = o.grid[2] > 1 ? 3 : o.grid[1] > 1 ? 2 : 1;
  hidden.dynamic_lds_bytes = dynamic_lds;
  hidden.private_base_high = static_cast<uint32_t>(kPrivateApertureBase >> 32);
  hidden.shared_base_high = static_cast<uint32_t>(kSharedApertureBase >> 32);
  loader::Result<void> filled = loader::fill_hidden_arguments(*kernel.kernel->metadata, hidden, segment);
  if (!filled) throw Failure(LOCKSTEP_BAD_INPUT, filled.error().message());
}

uint32_t resident_groups(const lockstep_kernel& kernel, const lockstep_dispatch_options& o,
                         uint32_t dynamic_lds, hardware::Description model) {
  if (o.wave_limit) model.waves_per_simd = std::min(model.waves_per_simd, o.wave_limit);
  uint32_t items = o.block[0] * o.block[1] * o.block[2];
  hardware::WorkGroupNeeds needs = work_group_needs(kernel, items, dynamic_lds);
  if (needs.lds_bytes > model.lds_bytes_per_work_group)
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, "kernel '" + kernel.kernel->name +
                                                 "': " + std::to_string(needs.lds_bytes) +
                                                 " bytes of LDS do not fit, a work-group has " +
                                                 std::to_string(model.lds_bytes_per_work_group) +
                                                 " at most (make the block or the dynamic LDS smaller)");
  uint32_t groups = hardware::resident_work_groups(model, needs);
  if (!groups)
    throw Failure(
        LOCKSTEP_INVALID_ARGUMENT,
        "kernel '" + kernel.kernel->name + "': a work-group of " + std::to_string(items) +
            " work-items with " + std::to_string(needs.vgprs) +
            " VGPRs does not fit a work-group processor (make the block smaller, or raise the wave limit)");
  return groups * model.work_group_processors();
}

uint64_t waves_of_group(const lockstep_kernel& kernel, const lockstep_dispatch_options& o) {
  const uint64_t items = uint64_t{o.block[0]} * o.block[1] * o.block[2];
  return (items + kernel.wave_size() - 1) / kernel.wave_size();
}

// What the kernel asks of the host while it runs, and the end of that in any case.
class Services {
 public:
  Services(lockstep_device& device, const lockstep_kernel& kernel, const lockstep_dispatch_options& o,
           uint64_t resident_groups, loader::HiddenValues& hidden) {
    const loader::KernelMetadata* metadata = kernel.kernel->metadata.get();
    if (!metadata || !GuestServices::needed(*metadata)) return;
    if (!device.services) device.services = std::make_unique<GuestServices>(device.memory, device.heap);
    device.services->begin(*metadata, kernel.image->object.metadata()->printf_formats,
                           waves_of_group(kernel, o) * resident_groups, output_of(o.output, o.output_user),
                           hidden);
    services_ = device.services.get();
  }
  ~Services() {
    try {
      if (services_) services_->end();
    } catch (const std::exception&) {  // no memory for a text; the dispatch has failed of something else
    }
  }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  MessageSink* messages() const { return services_; }
  // Throws Failure for what no guest gets.
  void finish(const lockstep_kernel& kernel) {
    if (!services_) return;
    const std::string problem = std::exchange(services_, nullptr)->end();
    if (!problem.empty())
      throw Failure(LOCKSTEP_UNSUPPORTED, "kernel '" + kernel.kernel->name + "': " + problem);
  }

 private:
  GuestServices* services_ = nullptr;
};

}  // namespace

void lockstep_dispatch_options_init_sized(lockstep_dispatch_options* options, size_t struct_size) {
  give_defaults(options, struct_size, dispatch_defaults());
}

lockstep_status lockstep_dispatch(lockstep_device* device, const lockstep_kernel* kernel,
                                  const lockstep_arguments* arguments, const lockstep_dispatch_options* given,
                                  lockstep_statistics* out) {
  return guarded([&] {
    require(device && kernel, "the device or the kernel is null");
    lockstep_dispatch_options o = with_defaults(given, dispatch_defaults());
    forget_reports(*device);
    check_shape(*kernel, o, device->model);
    uint32_t dynamic_lds = o.dynamic_lds_bytes;
    std::vector<std::byte> segment = argument_segment(*kernel, arguments, dynamic_lds);
    machine::RunOptions run;
    run.precise = settings_of(o, *device);
    run.resident_groups = resident_groups(*kernel, o, dynamic_lds, device->model);
    loader::HiddenValues hidden;
    Services services(*device, *kernel, o, run.resident_groups, hidden);
    fill_hidden(*kernel, o, dynamic_lds, hidden, segment);
    const machine::LoadedCode& code = device->load(kernel->image);
    const DispatchMemory memory(*device, segment);

    machine::KernelDispatch dispatch;
    dispatch.kernel = code.object().find_kernel(kernel->kernel->name);
    std::copy_n(o.grid, 3, dispatch.grid.begin());
    std::copy_n(o.block, 3, dispatch.group.begin());
    dispatch.dynamic_lds_bytes = dynamic_lds;
    dispatch.kernarg_address = memory.arguments();
    dispatch.packet_address = memory.packet();
    machine::Launch launch = take(machine::make_launch(code, dispatch));
    if (const uint64_t bytes = machine::scratch_wave_bytes(launch.scratch_bytes, launch.wave_size)) {
      constexpr uint64_t kMost = uint64_t{machine::ScratchRing::kMostUnits} * machine::ScratchRing::kUnit;
      if (bytes > kMost)
        throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                      "kernel '" + kernel->kernel->name + "': " + std::to_string(launch.scratch_bytes) +
                          " bytes of scratch a work-item, but a wave has at most " + std::to_string(kMost) +
                          " for all of its lanes");
      if (!device->scratch || device->scratch->wave_bytes() < bytes)
        device->scratch =
            machine::ScratchRing::make(device->memory, device->model, static_cast<uint32_t>(bytes));
      launch.scratch = device->scratch;
    }
    launch.memory = device->memory.snapshot();
    launch.messages = services.messages();
    const RunningKernel running{kernel->kernel->name, launch.entry, kernel->image.get(),
                                code.loaded_address(0)};
    const machine::Outcome outcome = run_launch(*device, std::move(launch), std::move(run), o, running, out);
    services.finish(*kernel);
    check_cancelled(outcome, running.name);
  });
}

lockstep_status lockstep_device_dispatch_packet(lockstep_device* device, const lockstep_kernel* kernel,
                                                const lockstep_arguments* arguments,
                                                const lockstep_dispatch_options* given, uint64_t segment,
                                                lockstep_signal completion, void* out_packet) {
  return guarded([&] {
    require(device && kernel && out_packet, "the device, the kernel or out_packet is null");
    const lockstep_dispatch_options o = with_defaults(given, dispatch_defaults());
    check_shape(*kernel, o, device->model);
    uint32_t dynamic_lds = o.dynamic_lds_bytes;
    std::vector<std::byte> bytes = argument_segment(*kernel, arguments, dynamic_lds);
    const uint64_t resident = resident_groups(*kernel, o, dynamic_lds, device->model);
    fill_hidden(*kernel, o, dynamic_lds, {}, bytes);
    const std::shared_ptr<const RangeSet> memory = device->memory.snapshot();
    std::byte* const place =
        bytes.empty() ? nullptr : command::guest_bytes(*memory, segment, bytes.size(), kReadWrite);
    if (!place && !bytes.empty())
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, "kernel '" + kernel->kernel->name +
                                                   "': its argument segment at " + hex(segment) +
                                                   " is not in " + std::to_string(bytes.size()) +
                                                   " bytes of the device's memory (allocate these)");
    const machine::LoadedCode& code = device->load(kernel->image);
    machine::KernelDispatchPacket packet{};
    machine::KernelDispatch dispatch;
    dispatch.kernel = code.object().find_kernel(kernel->kernel->name);
    std::copy_n(o.grid, 3, dispatch.grid.begin());
    std::copy_n(o.block, 3, dispatch.group.begin());
    dispatch.dynamic_lds_bytes = dynamic_lds;
    dispatch.kernarg_address = bytes.empty() ? 0 : segment;
    dispatch.packet_address = reinterpret_cast<uint64_t>(&packet);
    take(machine::make_launch(code, dispatch));
    packet.header = static_cast<uint16_t>(static_cast<unsigned>(command::PacketType::kernel_dispatch) |
                                          command::kFenceSystem << command::kHeaderAcquireShift |
                                          command::kFenceSystem << command::kHeaderReleaseShift);
    packet.setup = 3;
    packet.completion_signal = completion;
    device->queue_hosts.forget(segment, segment + bytes.size());
    if (const auto* metadata = kernel->kernel->metadata.get(); metadata && GuestServices::needed(*metadata))
      device->queue_hosts.expect(segment, *kernel, waves_of_group(*kernel, o) * resident);
    std::copy(bytes.begin(), bytes.end(), place);
    std::memcpy(out_packet, &packet, sizeof packet);
  });
}

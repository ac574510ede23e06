#include "command/dispatcher.h"

#include <algorithm>
#include <cstring>

#include "command/guest_memory.h"
#include "engine/code_range.h"
#include "engine/precise/exception_use.h"
#include "machine/kernel.h"
#include "text/hex.h"

namespace lockstep::command {

namespace {

const CodeRange* range_of(const std::vector<CodeRange>& code, uint64_t pc) {
  const auto found = std::find_if(
      code.begin(), code.end(), [&](const CodeRange& range) { return pc >= range.begin && pc < range.end; });
  return found == code.end() ? nullptr : &*found;
}

}  // namespace

void Dispatcher::refresh() {
  std::shared_ptr<const RangeSet> ranges = memory_.snapshot();
  if (ranges == ranges_) return;
  ranges_ = std::move(ranges);
  kernels_.clear();
  code_.clear();
  if (ranges_->version() != 0) return;
  for (const Range& range : ranges_->ranges()) {
    const CodeRange code = code_of(range);
    if (code != CodeRange{}) code_.push_back(code);
  }
}

std::vector<CodeRange> Dispatcher::code(uint64_t entry) {
  if (ranges_->version() == 0) return range_of(code_, entry) ? code_ : std::vector<CodeRange>();
  const CodeRange own = code_at(*ranges_, entry);
  return own == CodeRange{} ? std::vector<CodeRange>() : std::vector{own};
}

void Dispatcher::find_code(Kernel& kernel) {
  const uint64_t version = ranges_->version();
  if (!kernel.code.empty() && kernel.version == version) return;
  std::vector<CodeRange> found = code(kernel.entry);
  kernel.version = version;
  if (kernel.code == found) return;
  kernel.code = std::move(found);
  const CodeRange* own = range_of(kernel.code, kernel.entry);
  kernel.uses_exceptions = own && precise::uses_exceptions_until_end({kernel.entry, own->end, own->serial},
                                                                     kernel.descriptor.wave_size());
}

std::optional<PacketFault> Dispatcher::fill(machine::Launch& launch, const KernelDispatchPacket& packet,
                                            uint64_t packet_address, uint64_t queue_address,
                                            uint64_t packet_index) {
  const unsigned dimensions = packet.setup & 3;
  if (dimensions == 0)
    return PacketFault{"setup", "the grid has 0 dimensions (bits 0 and 1 of setup: write 1, 2 or 3)"};
  if (packet.setup >> 2 != 0)
    return PacketFault{"setup", "reserved bits of setup are set (write the number of dimensions only)"};
  if (packet.reserved0 != 0) return PacketFault{"reserved0", "a reserved field is not 0 (write 0)"};
  uint32_t items = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const auto field = [&](std::string name) { return name += static_cast<char>('x' + axis); };
    const auto group = [&] { return field("workgroup_size_"); };
    const auto grid = [&] { return field("grid_size_"); };
    if (packet.workgroup_size[axis] == 0)
      return PacketFault{group(), "is 0 (every dimension must be at least 1)"};
    if (packet.grid_size[axis] == 0) return PacketFault{grid(), "is 0 (every dimension must be at least 1)"};
    if (axis >= dimensions && packet.workgroup_size[axis] != 1)
      return PacketFault{group(), "is " + std::to_string(packet.workgroup_size[axis]) + " in a grid of " +
                                      std::to_string(dimensions) + " dimensions (write 1, or raise setup)"};
    if (axis >= dimensions && packet.grid_size[axis] != 1)
      return PacketFault{grid(), "is " + std::to_string(packet.grid_size[axis]) + " in a grid of " +
                                     std::to_string(dimensions) + " dimensions (write 1, or raise setup)"};
    items *= packet.workgroup_size[axis];
    if (items > 1024)
      return PacketFault{group(), "a work-group of " + std::to_string(items) +
                                      " work-items or more (the hardware has room for 1024)"};
  }

  auto known = kernels_.find(packet.kernel_object);
  const bool trusted = known != kernels_.end() && ranges_->version() == 0;
  const std::byte* bytes =
      trusted ? reinterpret_cast<const std::byte*>(packet.kernel_object)
              : guest_bytes(*ranges_, packet.kernel_object, loader::kKernelDescriptorBytes, kRead);
  if (!bytes)
    return PacketFault{
        "kernel_object",
        describe_violation(*ranges_, packet.kernel_object, loader::kKernelDescriptorBytes, kRead) +
            " (give the address of a kernel descriptor: symbol 'name.kd')",
        packet.kernel_object};
  if (packet.kernel_object % 64 != 0)
    return PacketFault{"kernel_object",
                       hex(packet.kernel_object) +
                           " is no kernel descriptor: these are aligned to 64 bytes (give the "
                           "address of symbol 'name.kd')"};
  if (known == kernels_.end() ||
      std::memcmp(known->second.bytes.data(), bytes, loader::kKernelDescriptorBytes) != 0) {
    Kernel kernel;
    std::memcpy(kernel.bytes.data(), bytes, loader::kKernelDescriptorBytes);
    kernel.descriptor = loader::decode_kernel_descriptor(kernel.bytes);
    kernel.entry = packet.kernel_object + static_cast<uint64_t>(kernel.descriptor.entry_byte_offset);
    find_code(kernel);
    if (kernel.code.empty() || kernel.entry % 256 != 0)
      return PacketFault{
          "kernel_object",
          "the descriptor at " + hex(packet.kernel_object) + " has its entry point at " + hex(kernel.entry) +
              (kernel.code.empty() ? ", which is no executable memory" : ", no multiple of 256") +
              " (is it a kernel descriptor, and its code object loaded?)",
          kernel.code.empty() ? kernel.entry : 0};
    if (kernel.descriptor.rsrc2.user_sgpr_count > 16 || kernel.descriptor.enabled_user_sgprs() > 16)
      return PacketFault{"kernel_object",
                         "the descriptor asks for more than 16 user SGPRs (is it of gfx11?)"};
    if (kernels_.size() == kMaxKernels) kernels_.clear();
    known = kernels_.insert_or_assign(packet.kernel_object, std::move(kernel)).first;
  }
  Kernel& kernel = known->second;
  find_code(kernel);
  if (kernel.code.empty())
    return PacketFault{"kernel_object",
                       "the code at " + hex(kernel.entry) + " is no executable memory any more (unloaded?)",
                       kernel.entry};
  const loader::KernelDescriptor& descriptor = kernel.descriptor;
  if (packet.group_segment_size < descriptor.group_segment_fixed_size)
    return PacketFault{"group_segment_size", "is " + std::to_string(packet.group_segment_size) +
                                                 ", but the kernel has " +
                                                 std::to_string(descriptor.group_segment_fixed_size) +
                                                 " bytes of LDS of its own (add the dynamic part to these)"};
  if (packet.group_segment_size > 65536)
    return PacketFault{"group_segment_size", "is " + std::to_string(packet.group_segment_size) +
                                                 " (the hardware gives a work-group at most 65536)"};
  // Whoever made the packet may have known less: HIP asks for 16 KiB where the compiler could not tell how
  // deep a stack gets, and counted 16 KiB and what the kernel has itself. A card has only the packet.
  const uint32_t scratch_bytes = std::max(packet.private_segment_size, descriptor.private_segment_fixed_size);
  // The field of TMPRING_SIZE that counts a wave's scratch has 15 bits of 256 bytes.
  if (uint64_t{scratch_bytes} * descriptor.wave_size() > uint64_t{0x7fff} * 256)
    return PacketFault{"private_segment_size", "is " + std::to_string(scratch_bytes) +
                                                   ", more than a wave can have (8 MB for all of its lanes)"};

  launch.entry = kernel.entry;
  launch.code = kernel.code;
  launch.uses_exceptions = kernel.uses_exceptions;
  for (unsigned axis = 0; axis < 3; ++axis) {
    launch.grid[axis] = packet.grid_size[axis];
    launch.group[axis] = packet.workgroup_size[axis];
  }
  launch.lds_bytes = packet.group_segment_size;
  launch.scratch_bytes = scratch_bytes;
  launch.memory = ranges_;
  machine::set_registers(launch, descriptor,
                         {packet_address, queue_address, packet.kernarg_address, packet_index});
  return std::nullopt;
}

}  // namespace lockstep::command

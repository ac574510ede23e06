#include "machine/kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/precise/exception_use.h"
#include "machine/aql_packet.h"

namespace lockstep::machine {

namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

loader::Result<std::unique_ptr<LoadedCode>> LoadedCode::load(loader::CodeObject object,
                                                             AddressSpace& memory) {
  std::unique_ptr<LoadedCode> loaded(new LoadedCode(std::move(object), memory));
  const uint64_t bytes = std::max<uint64_t>(loaded->object_.image_size(), kPage);
  const auto image = HostPages::make(bytes);
  if (!image)
    return loader::Error{"no host memory for an image of " + std::to_string(bytes) + " bytes",
                         loaded->object_.name(), "the file may be damaged: real code objects are smaller"};
  loaded->image_ = image;
  loaded->base_ = image->address();
  const auto result = loaded->object_.load_into({image->data(), bytes}, loaded->base_);
  if (!result) return result.error();
  const std::string name = "code object '" + loaded->object_.name() + "'";
  const auto map = [&](uint64_t begin, uint64_t end, uint8_t access) {
    if (begin == end) return true;
    if (!memory.map(begin, end - begin, access, name, image)) return false;
    loaded->mapped_.push_back(begin);
    return true;
  };
  std::vector<CodeRange> filled;
  std::vector<uint64_t> begins;
  for (const loader::Segment& segment : loaded->object_.segments())
    begins.push_back(loaded->loaded_address(segment.address));
  std::ranges::sort(begins);
  for (const loader::Segment& segment : loaded->object_.segments()) {
    const uint64_t begin = loaded->loaded_address(segment.address), end = begin + segment.memory_size;
    const uint8_t access = segment.writable ? kReadWrite : kRead;
    // Instructions are in the pages that the file fills. What follows is memory, of whatever size the file
    // claims: it is neither looked through nor run.
    const uint64_t file_end = begin + segment.file_size;
    const uint64_t code_end =
        segment.executable ? std::min(end, (file_end + kPage - 1) & ~(kPage - 1)) : begin;
    // The rest of a segment's last page can be read, as on the card: it is zero.
    const auto next = std::ranges::lower_bound(begins, end);
    const uint64_t page_end = begin == end ? end : (end + kPage - 1) & ~(kPage - 1),
                   readable_end = next == begins.end() ? page_end : std::min(page_end, *next),
                   own_end = segment.writable || segment.executable ? end : readable_end;
    if (!map(begin, code_end, access | kExecute) || !map(code_end, own_end, access) ||
        !map(own_end, readable_end, kRead))
      return loader::Error{"a segment overlaps other memory of the device", loaded->object_.name(),
                           "link it again"};
    if (begin == code_end) continue;
    const Range* range = memory.snapshot()->find(begin, 1, kExecute);
    const CodeRange code{begin & ~uint64_t{3}, code_end & ~uint64_t{3}, range ? range->serial : 0};
    loaded->code_.push_back(code);
    filled.push_back({code.begin, file_end & ~uint64_t{3}, code.serial});
  }
  constexpr unsigned kAnyWaveSize = 32;  // the length of an instruction does not depend on it
  loaded->uses_exceptions_ = precise::uses_exceptions(filled, kAnyWaveSize);
  return loaded;
}

LoadedCode::~LoadedCode() {
  for (uint64_t address : mapped_) memory_.unmap(address);
}

void set_registers(Launch& launch, const loader::KernelDescriptor& descriptor,
                   const KernelPointers& pointers) {
  launch.wave_size = descriptor.wave_size();
  launch.rsrc1 = descriptor.rsrc1.raw;
  launch.rsrc2 = descriptor.rsrc2.raw;
  launch.rsrc3 = descriptor.rsrc3.raw;
  constexpr uint32_t kExceptionEnable = 0x7fu << 24;  // COMPUTE_PGM_RSRC2.EXCP_EN
  if (launch.rsrc2 & kExceptionEnable) launch.uses_exceptions = true;
  launch.vgpr_count = std::min(descriptor.vgpr_count(), 256u);
  // User SGPRs in the order of the enabling bits.
  std::array<uint32_t, 32> words{};  // USER_SGPR_COUNT has five bits
  uint32_t* next = words.data();
  const auto add64 = [&](bool is_enabled, uint64_t value) {
    if (!is_enabled) return;
    std::memcpy(next, &value, sizeof value);
    next += 2;
  };
  const loader::KernelCodeProperties& properties = descriptor.properties;
  // gfx11 addresses scratch through FLAT_SCRATCH; the buffer descriptor stays empty.
  if (properties.private_segment_buffer) next += 4;
  add64(properties.dispatch_pointer, pointers.packet);
  add64(properties.queue_pointer, pointers.queue);
  add64(properties.kernarg_segment_pointer, pointers.kernarg);
  add64(properties.dispatch_id, pointers.dispatch_id);
  add64(properties.flat_scratch_init, 0);  // likewise
  if (properties.private_segment_size) *next++ = launch.scratch_bytes;
  // A wave gets as many as USER_SGPR_COUNT says, then the work-group ids (guide table 11), whatever else is
  // enabled; those that nothing fills are zero.
  launch.user_data.assign(words.data(), words.data() + descriptor.rsrc2.user_sgpr_count);
}

std::optional<uint64_t> kernarg_address(const Launch& launch, const loader::KernelDescriptor& descriptor) {
  const loader::KernelCodeProperties& properties = descriptor.properties;
  if (!properties.kernarg_segment_pointer) return std::nullopt;
  const size_t place =
      4 * properties.private_segment_buffer + 2 * properties.dispatch_pointer + 2 * properties.queue_pointer;
  if (place + 2 > launch.user_data.size()) return std::nullopt;
  return launch.user_data[place] | uint64_t{launch.user_data[place + 1]} << 32;
}

loader::Result<Launch> make_launch(const LoadedCode& code, const KernelDispatch& dispatch) {
  const loader::Kernel& kernel = *dispatch.kernel;
  const loader::KernelDescriptor& descriptor = kernel.descriptor;
  constexpr unsigned kMostUserSgprs = 16;  // guide table 11
  if (descriptor.rsrc2.user_sgpr_count > kMostUserSgprs)
    return loader::Error{"the descriptor asks for " + std::to_string(descriptor.rsrc2.user_sgpr_count) +
                             " user SGPRs, and there are " + std::to_string(kMostUserSgprs),
                         kernel.name, "is it of gfx11?"};
  Launch launch;
  launch.entry = code.loaded_address(kernel.entry_address);
  launch.code = code.code();
  launch.uses_exceptions = code.uses_exceptions();
  launch.grid = dispatch.grid;
  launch.group = dispatch.group;
  // Both are 32-bit fields that anybody may have written.
  const auto too_much = [&](uint64_t bytes, const char* what) {
    return loader::Error{std::to_string(bytes) + " bytes of " + what, kernel.name,
                         "no device has as much; compile it again, or ask for less"};
  };
  const uint64_t lds = uint64_t{descriptor.group_segment_fixed_size} + dispatch.dynamic_lds_bytes;
  if (lds > UINT32_MAX) return too_much(lds, "LDS a work-group");
  launch.lds_bytes = static_cast<uint32_t>(lds);
  const bool dynamic_stack =
      descriptor.properties.dynamic_stack || (kernel.metadata && kernel.metadata->uses_dynamic_stack);
  const uint64_t scratch = uint64_t{descriptor.private_segment_fixed_size} + dispatch.extra_scratch_bytes +
                           (dynamic_stack && dispatch.extra_scratch_bytes == 0 ? kDynamicStackBytes : 0);
  if (scratch > UINT32_MAX) return too_much(scratch, "scratch a work-item");
  launch.scratch_bytes = static_cast<uint32_t>(scratch);

  if (descriptor.properties.dispatch_pointer && dispatch.packet_address == 0)
    return loader::Error{"the kernel reads its AQL packet, but the dispatch has none", kernel.name,
                         "give 64 bytes of guest memory for it"};
  set_registers(launch, descriptor, {dispatch.packet_address, 0, dispatch.kernarg_address, 0});

  if (dispatch.packet_address != 0) {
    KernelDispatchPacket packet{};
    constexpr uint16_t kKernelDispatch = 2;
    packet.header = kKernelDispatch;
    packet.setup = static_cast<uint16_t>(dispatch.grid[2] > 1 ? 3 : dispatch.grid[1] > 1 ? 2 : 1);
    for (unsigned axis = 0; axis < 3; ++axis) {
      packet.workgroup_size[axis] = static_cast<uint16_t>(dispatch.group[axis]);
      packet.grid_size[axis] = dispatch.grid[axis];
    }
    packet.private_segment_size = launch.scratch_bytes;
    packet.group_segment_size = launch.lds_bytes;
    packet.kernel_object = code.loaded_address(kernel.descriptor_address);
    packet.kernarg_address = dispatch.kernarg_address;
    std::memcpy(reinterpret_cast<void*>(dispatch.packet_address), &packet, sizeof packet);
  }
  return launch;
}

}  // namespace lockstep::machine

// From a kernel's descriptor in guest memory to a launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "command/hsa_layout.h"
#include "loader/kernel_descriptor.h"
#include "machine/launch.h"
#include "memory/address_space.h"

namespace lockstep::command {

// What is wrong with a packet: a field, and text that ends with how to mend it.
struct PacketFault {
  std::string field, text;
  uint64_t unmapped = 0;  // an address that is not mapped
};

class Dispatcher {
 public:
  explicit Dispatcher(const AddressSpace& memory) : memory_(memory) {}

  // Fills a fresh launch with what a kernel dispatch packet asks for. `packet_address` is where kernels find
  // the packet.
  std::optional<PacketFault> fill(machine::Launch& launch, const KernelDispatchPacket& packet,
                                  uint64_t packet_address, uint64_t queue_address, uint64_t packet_index);
  // Where waves that start at `entry` may fetch instructions; empty if it is in no executable memory. Where
  // mappings change under waves this is the mapping that has it: others are looked up when waves go there.
  std::vector<CodeRange> code(uint64_t entry);
  const std::shared_ptr<const RangeSet>& ranges() const { return ranges_; }
  // Looks at the mappings; the functions above use what was seen here.
  void refresh();

 private:
  struct Kernel {
    uint64_t version = 0;  // of the mappings that `code` is of
    std::array<std::byte, loader::kKernelDescriptorBytes> bytes;
    loader::KernelDescriptor descriptor;
    uint64_t entry = 0;
    std::vector<CodeRange> code;
    bool uses_exceptions = false;  // the code around the entry does
  };
  static constexpr size_t kMaxKernels = 1024;

  // Finds the code of the kernel's entry anew, if mappings may have changed since.
  void find_code(Kernel& kernel);

  const AddressSpace& memory_;
  std::shared_ptr<const RangeSet> ranges_;
  std::vector<CodeRange> code_;                   // all, of mappings that do not change
  std::unordered_map<uint64_t, Kernel> kernels_;  // by kernel object
};

}  // namespace lockstep::command

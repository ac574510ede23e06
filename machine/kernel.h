// Code objects in guest memory, and dispatches of their kernels.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "loader/code_object.h"
#include "machine/launch.h"
#include "memory/address_space.h"

namespace lockstep::machine {

// A code object whose segments are in memory and mapped for the guest for as long as this lives.
class LoadedCode {
 public:
  static loader::Result<std::unique_ptr<LoadedCode>> load(loader::CodeObject object, AddressSpace& memory);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  const loader::CodeObject& object() const { return object_; }
  uint64_t base() const { return base_; }
  // Where the executable segments are.
  const std::vector<CodeRange>& code() const { return code_; }
  // Whether the code reads TRAPSTS or enables exceptions.
  bool uses_exceptions() const { return uses_exceptions_; }
  uint64_t loaded_address(uint64_t linked) const { return object_.loaded_address(linked, base_); }
  uint64_t linked_address(uint64_t loaded) const { return object_.linked_address(loaded, base_); }

 private:
  LoadedCode(loader::CodeObject object, AddressSpace& memory) : object_(std::move(object)), memory_(memory) {}

  loader::CodeObject object_;
  AddressSpace& memory_;
  uint64_t base_ = 0;
  std::shared_ptr<const HostPages> image_;
  std::vector<CodeRange> code_;
  bool uses_exceptions_ = false;
  std::vector<uint64_t> mapped_;
};

struct KernelDispatch {
  const loader::Kernel* kernel = nullptr;  // of the loaded code object
  std::array<uint32_t, 3> grid{1, 1, 1};   // work-items
  std::array<uint32_t, 3> group{1, 1, 1};
  uint32_t dynamic_lds_bytes = 0;
  uint32_t extra_scratch_bytes = 0;  // of a work-item, for dynamic stacks
  uint64_t kernarg_address = 0;      // guest address of the argument segment, hidden arguments included
  uint64_t packet_address = 0;  // guest address of 64 bytes for the AQL packet; 0 if the kernel needs none
};

// What a descriptor's user SGPRs may point at (LLVM AMDGPU usage, initial kernel execution state).
struct KernelPointers {
  uint64_t packet = 0;  // the AQL packet that is being executed
  uint64_t queue = 0;   // amd_queue_t
  uint64_t kernarg = 0;
  uint64_t dispatch_id = 0;
};
// The initial registers that a kernel descriptor asks for, of everything but its grid, code and entry.
// `launch.scratch_bytes` is read.
void set_registers(Launch& launch, const loader::KernelDescriptor& descriptor,
                   const KernelPointers& pointers);

// The address of its argument segment among the user SGPRs of such a launch; nothing if it is not among them.
std::optional<uint64_t> kernarg_address(const Launch& launch, const loader::KernelDescriptor& descriptor);

// Bytes of stack a work-item gets when the compiler could not bound it (recursion, indirect calls).
inline constexpr uint32_t kDynamicStackBytes = 16 * 1024;

// The registers and sizes that the kernel descriptor asks for. Writes the AQL packet to packet_address if one
// is given.
loader::Result<Launch> make_launch(const LoadedCode& code, const KernelDispatch& dispatch);

}  // namespace lockstep::machine

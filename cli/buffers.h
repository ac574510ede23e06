// Memory of the device that the command line names: buffers of arguments, and variables of the code object.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/lockstep.hpp"
#include "cli/contents.h"

namespace lockstep::cli {

struct NamedBuffer {
  std::string name;               // of the argument or variable, or the argument's position
  std::optional<uint32_t> index;  // of the argument
  lockstep_type type = LOCKSTEP_U8;
  std::vector<uint64_t> shape;
  std::span<std::byte> memory;

  std::span<const std::byte> bytes() const { return memory; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory.data()); }
};

class Buffers {
 public:
  // Names that are none of its own are those of `outer`, which may be null.
  explicit Buffers(Device& device, const Buffers* outer = nullptr) : device_(device), outer_(outer) {}
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // A new buffer with these contents.
  const NamedBuffer& allocate(const std::string& name, std::optional<uint32_t> index,
                              const Contents& contents);
  // An OpenCL pipe for so many packets of the elements' type, as "i32[64]" says it.
  const NamedBuffer& allocate_pipe(const std::string& name, std::optional<uint32_t> index,
                                   std::string_view packets);
  // Memory that is there already, for as long as the device is.
  const NamedBuffer& add(NamedBuffer buffer);
  // By name or position. Throws UsageError, which says what there is.
  const NamedBuffer& find(std::string_view name) const;

 private:
  const NamedBuffer* look_up(std::string_view name, std::string& known) const;

  Device& device_;
  const Buffers* const outer_;
  std::deque<Buffer<std::byte>> owned_;
  std::deque<NamedBuffer> buffers_;  // addresses stay valid
};

}  // namespace lockstep::cli

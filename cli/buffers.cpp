#include "cli/buffers.h"

#include <cstring>
#include <utility>

#include "cli/common.h"

namespace lockstep::cli {

const NamedBuffer& Buffers::allocate(const std::string& name, std::optional<uint32_t> index,
                                     const Contents& contents) {
  Buffer<std::byte> memory = device_.allocate<std::byte>(contents.bytes, name);
  write_contents(contents, memory.span());
  const NamedBuffer& added = add({name, index, contents.array.type, contents.array.shape, memory.span()});
  owned_.push_back(std::move(memory));
  return added;
}

// As ROCm's device library (opencl.bc) reads it: 64-bit counts of what was read and written and of the
// packets that there is room for, and packets from byte 128 on.
const NamedBuffer& Buffers::allocate_pipe(const std::string& name, std::optional<uint32_t> index,
                                          std::string_view packets) {
  constexpr uint64_t kHeader = 128, kRoomAt = 16;
  Contents contents = parse_contents(packets, std::nullopt);
  if (!contents.array.bytes.empty() || !contents.fill.empty())
    throw UsageError(
        "'pipe:{}': a pipe begins empty; give the type and number of its packets, such as pipe:i32[64]",
        packets);
  const uint64_t room = contents.bytes / size_of_type(contents.array.type);
  contents.bytes += kHeader;
  contents.array.type = LOCKSTEP_U8;
  contents.array.shape = {contents.bytes};
  const NamedBuffer& pipe = allocate(name, index, contents);
  std::memcpy(pipe.memory.data() + kRoomAt, &room, sizeof room);
  return pipe;
}

const NamedBuffer& Buffers::add(NamedBuffer buffer) {
  return buffers_.emplace_back(std::move(buffer));
}

const NamedBuffer* Buffers::look_up(std::string_view name, std::string& known) const {
  for (const NamedBuffer& b : buffers_) {
    if (b.name == name || (b.index && std::to_string(*b.index) == name)) return &b;
    known += (known.empty() ? "" : ", ") + b.name;
  }
  return outer_ ? outer_->look_up(name, known) : nullptr;
}

const NamedBuffer& Buffers::find(std::string_view name) const {
  std::string known;
  const NamedBuffer* found = look_up(name, known);
  if (!found)
    throw UsageError("there is no buffer '{}' ({})", name,
                     known.empty() ? "no argument is a buffer" : "there are: " + known);
  return *found;
}

}  // namespace lockstep::cli

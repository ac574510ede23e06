#include "command/guest_memory.h"

#include "memory/host_fault.h"
#include "text/hex.h"

namespace lockstep::command {

std::byte* guest_bytes(const RangeSet& ranges, uint64_t address, uint64_t bytes, uint8_t access) {
  if (!ranges.allows(address, bytes, access)) return nullptr;
  // What a program has mapped it may have freed without a word.
  if (ranges.version() != 0 && !host_has(address, bytes, access & kWrite)) return nullptr;
  return reinterpret_cast<std::byte*>(address);
}

std::string describe_violation(const RangeSet& ranges, uint64_t address, uint64_t bytes, uint8_t access) {
  std::string text = std::string(access & kWrite ? "write" : "read") + " of " + std::to_string(bytes) +
                     " bytes at " + hex(address);
  const auto place = [](const Range& range) {
    return range.name + " [" + hex(range.begin) + ", +" + hex(range.end - range.begin) + ")";
  };
  if (const auto behind = ranges.closest_behind(address))
    return text + ", " + hex(behind->begin - address) + " bytes in front of " + place(*behind);
  const std::optional<Range> near = ranges.nearest(address);
  if (!near) return text + ", where nothing is mapped";
  const std::string range = place(*near);
  if (address >= near->end)
    return text + ", " + hex(address - near->end) + " bytes behind the end of " + range;
  if (near->end - address < bytes) return text + ", past the end of " + range;
  return text + ", which " + range + " does not allow";
}

}  // namespace lockstep::command

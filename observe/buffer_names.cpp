#include "observe/buffer_names.h"

#include <optional>

#include "text/hex.h"

namespace lockstep::observe {

std::string BufferNames::place(const Wave& wave, const MemoryAccess& access) const {
  switch (access.space) {
    case MemorySpace::scratch:
      return "scratch offset " + hex(access.address);
    case MemorySpace::lds:
      return "LDS offset " + hex(access.address);
    case MemorySpace::gds:
      return "GDS offset " + hex(access.address);
    case MemorySpace::global:
    case MemorySpace::scalar:
      break;
  }
  const auto found = memories_.find(wave.group->dispatch);
  const std::optional<Range> range =
      found != memories_.end() && found->second ? found->second->nearest(access.address) : std::nullopt;
  if (!range || access.address >= range->end) return "address " + hex(access.address);
  return std::to_string(access.address - range->begin) + " bytes into " + range->name + " of " +
         std::to_string(range->end - range->begin) + " bytes";
}

std::string name_of(const uint32_t (&group)[3], unsigned wave) {
  return "work-group (" + std::to_string(group[0]) + ", " + std::to_string(group[1]) + ", " +
         std::to_string(group[2]) + "), wave " + std::to_string(wave);
}

}  // namespace lockstep::observe

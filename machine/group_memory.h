// For the sources of GroupContext that run waves.
#pragma once

#include <cstdint>
#include <optional>

#include "machine/group_context.h"
#include "memory/host_fault.h"

namespace lockstep::machine {

template <class Work>
std::optional<uint64_t> GroupContext::with_memory(Work&& work) {
  take_memory();
  const auto lost = guarded(work);
  memory_user_.end();
  return lost;
}

}  // namespace lockstep::machine

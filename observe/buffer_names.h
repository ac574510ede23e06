// How findings name places in memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/listener.h"
#include "memory/address_space.h"

namespace lockstep::observe {

// The memory of the dispatches that run.
class BufferNames {
 public:
  void begin(const DispatchEvent& event) { memories_[event.id] = event.memory; }
  void end(const DispatchEvent& event) { memories_.erase(event.id); }
  // "12 bytes into buffer 'out' of 120 bytes"; in LDS "LDS offset 0x10".
  std::string place(const Wave& wave, const MemoryAccess& access) const;

 private:
  std::map<const DispatchState*, const RangeSet*> memories_;
};

// "work-group (0, 1, 0), wave 3"
std::string name_of(const uint32_t (&group)[3], unsigned wave);

}  // namespace lockstep::observe

// What the waves of a work-group share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

struct WorkGroup {
  uint32_t id[3] = {0, 0, 0};
  uint64_t number = 0;  // linear, in dispatch order
  uint32_t wave_count = 0;
  std::byte* lds = nullptr;
  uint32_t lds_bytes = 0;
};

}  // namespace lockstep

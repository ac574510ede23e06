// What is behind lockstep_arguments.
#pragma once

#include <cstddef>
#include <vector>

#include "api/code_object.h"

struct lockstep_arguments {
  const lockstep_kernel* kernel = nullptr;
  std::vector<std::byte> segment;
  std::vector<bool> set;              // one for each argument that the caller gives
  std::vector<uint32_t> local_bytes;  // dynamic LDS of each __local argument

  // Throws if an argument is not set.
  void check_complete() const;
  // The segment with the offsets of __local arguments laid out behind `static_lds`; adds their sizes to
  // `dynamic_lds`.
  std::vector<std::byte> with_local_offsets(uint32_t static_lds, uint32_t& dynamic_lds) const;
};

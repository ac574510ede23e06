// Arrays in the program's memory, whose addresses it has given.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/host_fault.h"

namespace lockstep::host {

// False: it is not all there to read.
template <class T>
bool read_all(uint64_t address, uint64_t count, std::vector<T>& to) {
  to.resize(count);
  return copy_from_process(to.data(), address, count * sizeof(T));
}

}  // namespace lockstep::host

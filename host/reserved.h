// Whether addresses of the process may be given to device memory.
#pragma once

#include <cstdint>

namespace lockstep::host {

// Nothing is there, or what the program has reserved (without any right of access, or as memory without a
// file that it has never touched), or the file of this inode (0: none).
bool is_reserved(uint64_t begin, uint64_t bytes, uint64_t own_inode = 0);

}  // namespace lockstep::host

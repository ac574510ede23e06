// NumPy's file format, versions 1 to 3: https://numpy.org/neps/nep-0001-npy-format.html
#pragma once

#include <string>

#include "cli/array.h"

namespace lockstep::cli {

// Both throw UsageError, which names the file and what is wrong with it.
Array read_npy(const std::string& path);
void write_npy(const std::string& path, std::span<const std::byte> bytes, lockstep_type type,
               const std::vector<uint64_t>& shape);

}  // namespace lockstep::cli

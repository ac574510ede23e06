// Compressed offload bundles (CCOB).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "loader/error.h"

namespace lockstep::loader {

struct Decompressed {
  std::vector<std::byte> bytes;
  size_t consumed = 0;  // bytes of the input that the compressed bundle took, header included
};

// Reads the compressed bundle at the start of `bytes`; more may follow it.
Result<Decompressed> decompress_bundle(std::span<const std::byte> bytes, std::string_view where);

}  // namespace lockstep::loader

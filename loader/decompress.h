// Compressed offload bundles (CCOB) and compressed sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "loader/error.h"

namespace lockstep::loader {

struct Decompressed {
  std::vector<std::byte> bytes;
  size_t consumed = 0;  // bytes of the input that were used, header included
};

// Numbers of llvm::compression::Format, which compressed bundles use.
enum class Compression : unsigned { zlib = 0, zstd = 1 };

// Unpacks `packed` to exactly `size` bytes (data after the end of the stream is left alone). More than `most`
// is an error: what a few bytes may unpack to must not exhaust the memory.
Result<Decompressed> decompress(Compression method, std::span<const std::byte> packed, uint64_t size,
                                uint64_t most, std::string_view where);

// Reads the compressed bundle at the start of `bytes`; more may follow it.
Result<Decompressed> decompress_bundle(std::span<const std::byte> bytes, uint64_t most,
                                       std::string_view where);

}  // namespace lockstep::loader

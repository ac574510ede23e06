// Finds code objects in what compilers wrap them in: clang's offload bundles (several in a row, plain or
// compressed) and host executables and libraries with a .hip_fatbin section, one inside the other. Source:
// clang's ClangOffloadBundler documentation (bundle layout, entry ID, compressed bundle versions 1 to 3).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/error.h"

namespace lockstep::loader {

enum class FileKind : uint8_t {
  unknown,
  code_object,        // AMDGPU ELF
  host_elf,           // ELF of another machine
  bundle,             // __CLANG_OFFLOAD_BUNDLE__
  compressed_bundle,  // CCOB
};

FileKind kind_of_file(std::span<const std::byte> bytes);

// One entry of a bundle, or a code object that stood alone.
struct Image {
  std::string id;      // bundle entry ID, "hipv4-amdgcn-amd-amdhsa--gfx1100"; empty for a lone code object
  std::string kind;    // "hipv4", "host", "openmp"; empty for a lone code object
  std::string target;  // target ID, "gfx1100" or "gfx90a:xnack+"; empty for host entries
  std::string where;   // for messages: "saxpy, .hip_fatbin + 0x1000, entry 1"
  size_t bundle = 0;   // which bundle of the file holds it, counted from 0
  std::span<const std::byte> bytes;
  // Keeps `bytes` alive when they were decompressed; null when they are part of the caller's bytes.
  std::shared_ptr<const std::vector<std::byte>> owner;
};

// Asked from time to time; true: give up.
using Cancelled = std::function<bool()>;

// Every entry of the file, in the order of the file. `name` is used in messages only. The images refer to
// `bytes`. Time and memory are in proportion to the size of the file: no byte belongs to two entries, and
// what is unpacked has a bound.
Result<std::vector<Image>> list_images(std::span<const std::byte> bytes, std::string_view name,
                                       const Cancelled& cancelled = {});

// True if an image for `image_target` may run on `target`: same processor or a generic one of its family, and
// no feature (":xnack+") with the other sign. A feature that either side leaves open matches.
bool target_matches(std::string_view image_target, std::string_view target);

// The best image for `target` of each bundle in the file (a program of several translation units has one
// bundle for each). An error names what the file has instead.
Result<std::vector<Image>> find_images(std::span<const std::byte> bytes, std::string_view name,
                                       std::string_view target);
// The same of a list.
Result<std::vector<Image>> choose_images(const std::vector<Image>& all, std::string_view name,
                                         std::string_view target);

}  // namespace lockstep::loader

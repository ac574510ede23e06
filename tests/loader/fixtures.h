// Files that tests/loader/CMakeLists.txt compiles.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/loader/file_bytes.h"

namespace lockstep::loader {

inline FileBytes read_fixture(const std::string& name) {
  std::ifstream in(std::string(LOCKSTEP_FIXTURES) + "/" + name, std::ios::binary);
  EXPECT_TRUE(in) << "missing fixture " << name;
  std::string text((std::istreambuf_iterator<char>(in)), {});
  FileBytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// A bundle as clang's documentation lays it out, entries aligned to `align`.
struct BundlePart {
  std::string id;
  FileBytes bytes;
};

inline FileBytes make_bundle(const std::vector<BundlePart>& parts, size_t align = 4096) {
  size_t header = 32;
  for (const BundlePart& p : parts) header += 24 + p.id.size();
  FileBytes out;
  append(out, "__CLANG_OFFLOAD_BUNDLE__");
  append_number<uint64_t>(out, parts.size());
  size_t at = header;
  for (const BundlePart& p : parts) {
    at = (at + align - 1) / align * align;
    append_number<uint64_t>(out, at);
    append_number<uint64_t>(out, p.bytes.size());
    append_number<uint64_t>(out, p.id.size());
    append(out, p.id);
    at += p.bytes.size();
  }
  for (const BundlePart& p : parts) {
    out.resize((out.size() + align - 1) / align * align);
    out.insert(out.end(), p.bytes.begin(), p.bytes.end());
  }
  return out;
}

enum class Method : uint16_t { zlib = 0, zstd = 1 };

FileBytes compress_bundle(const FileBytes& bundle, unsigned version, Method method);

}  // namespace lockstep::loader

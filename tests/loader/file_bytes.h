// Files that tests make byte by byte.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace lockstep::loader {

using FileBytes = std::vector<std::byte>;

template <class T>
void put(FileBytes& bytes, size_t offset, T value) {
  ASSERT_LE(offset + sizeof value, bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte> bytes, size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

inline void append(FileBytes& bytes, std::string_view text) {
  auto* p = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), p, p + text.size());
}

template <class T>
void append_number(FileBytes& bytes, T value) {
  append(bytes, std::string_view(reinterpret_cast<const char*>(&value), sizeof value));
}

}  // namespace lockstep::loader

// What memory begins with, as the command line writes it: f32[64x64]=1.5, u32[1k]=iota, in.npy, u32:in.raw.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/array.h"

namespace lockstep::cli {

// The bytes of a file, or so many zeros or elements of a kind.
struct Contents {
  Array array;  // without bytes where it is no file
  uint64_t bytes = 0;
  std::string fill;  // how elements are made; empty: zeros, or the file
};

// `elements` is what those of a raw file are if it is not said. Throws UsageError.
Contents parse_contents(std::string_view text, std::optional<lockstep_type> elements);
// Fills memory of contents.bytes that is zero.
void write_contents(const Contents& contents, std::span<std::byte> memory);

// Numbers of one type: f32:1,2,3 or, as a vector that is aligned as one, f32x4:1,2,3,4.
struct Numbers {
  lockstep_type type = LOCKSTEP_U8;
  size_t count = 0;
  size_t align = 1;
  std::vector<std::byte> bytes;
};
// Nothing if the text does not begin with a type and a colon. Throws UsageError.
std::optional<Numbers> parse_numbers(std::string_view text);
// 1,2,3 of that type.
Numbers parse_list(std::string_view list, lockstep_type type);

// Pairs of hexadecimal digits.
std::vector<std::byte> parse_hex(std::string_view digits);

}  // namespace lockstep::cli

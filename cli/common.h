// What all subcommands share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/console.h"

namespace lockstep::cli {

// Exit codes of the program.
inline constexpr int kDone = 0, kFaulted = 1, kBadInput = 2;

// Bad usage or input: the message is printed and the program ends with kBadInput.
class UsageError : public std::runtime_error {
 public:
  template <class... T>
  explicit UsageError(fmt::format_string<T...> format, T&&... values)
      : std::runtime_error(fmt::format(format, std::forward<T>(values)...)) {}
};

// "1.5 M", "230 k", "12": three digits.
std::string short_number(double value);
std::string short_bytes(uint64_t bytes);

// Decimal, or hexadecimal behind 0x; nothing if the text is not all of a number of at most 64 bits.
std::optional<uint64_t> whole_number(std::string_view text);
// A size: a whole number, with k, M, G or T behind it for so many times 1024.
std::optional<uint64_t> size_number(std::string_view text);

}  // namespace lockstep::cli

#include <cmath>
#include <cstdio>

#include "examples/example.h"

namespace lockstep::examples {

namespace {

std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

template <class T>
std::string text_of(T value)
  requires std::is_integral_v<T>
{
  return std::to_string(value);
}

template <class T>
bool close(T result, T expected, const Bound& bound) {
  if (std::memcmp(&result, &expected, sizeof result) == 0) return true;
  const double a = double(result), b = double(expected);
  return (bound.absolute != 0 || bound.relative != 0) &&
         std::fabs(a - b) <= bound.absolute + bound.relative * std::fabs(b);
}

template <class T>
std::string compare_as(const Expectation& expectation, std::span<const std::byte> contents) {
  const size_t count = expectation.values.size() / sizeof(T);
  size_t different = 0;
  std::string first;
  for (size_t i = 0; i < count; ++i) {
    T result, expected;
    std::memcpy(&result, contents.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&expected, expectation.values.data() + i * sizeof(T), sizeof(T));
    if (close(result, expected, expectation.bound)) continue;
    if (different++ == 0) {
      if constexpr (std::is_integral_v<T>) {
        first = text_of(result) + ", not " + text_of(expected);
      } else {
        first = text_of(double(result)) + ", not " + text_of(double(expected));
      }
      first = "element " + std::to_string(i) + " is " + first;
    }
  }
  if (different == 0) return {};
  return "buffer " + std::to_string(expectation.buffer) + ": " + first + " (bound: " + expectation.bound.why +
         "); " + std::to_string(different) + " of " + std::to_string(count) + " elements differ";
}

}  // namespace

std::string compare(const Expectation& expectation, std::span<const std::byte> contents) {
  if (contents.size() < expectation.values.size())
    return "buffer " + std::to_string(expectation.buffer) + " is too small to compare";
  switch (expectation.element) {
    case Element::u8:
      return compare_as<uint8_t>(expectation, contents);
    case Element::i16:
      return compare_as<int16_t>(expectation, contents);
    case Element::i32:
      return compare_as<int32_t>(expectation, contents);
    case Element::u32:
      return compare_as<uint32_t>(expectation, contents);
    case Element::u64:
      return compare_as<uint64_t>(expectation, contents);
    case Element::f16:
      return compare_as<_Float16>(expectation, contents);
    case Element::f32:
      return compare_as<float>(expectation, contents);
    case Element::f64:
      return compare_as<double>(expectation, contents);
  }
  return "unknown element type";
}

}  // namespace lockstep::examples

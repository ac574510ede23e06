// An example: a device source, the dispatches that run it on generated data, and what must come out of them
// according to a host reference. One harness runs them all (tests/examples), at every optimisation level and
// wave size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lockstep::examples {

enum class Language { opencl, hip };

enum class Element { u8, i16, i32, u32, u64, f16, f32, f64 };

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, uint8_t>) return Element::u8;
  if constexpr (std::is_same_v<T, int16_t>) return Element::i16;
  if constexpr (std::is_same_v<T, int32_t>) return Element::i32;
  if constexpr (std::is_same_v<T, uint32_t>) return Element::u32;
  if constexpr (std::is_same_v<T, uint64_t>) return Element::u64;
  if constexpr (std::is_same_v<T, _Float16>) return Element::f16;
  if constexpr (std::is_same_v<T, float>) return Element::f32;
  if constexpr (std::is_same_v<T, double>) return Element::f64;
}

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return Bytes(bytes.begin(), bytes.end());
}

// A kernel argument: a device buffer or a scalar passed by value.
struct Argument {
  int buffer = -1;  // index into Example::buffers
  Bytes scalar;     // if there is no buffer
};

struct Dispatch {
  std::string kernel;  // symbol name, mangled for C++ templates
  std::array<uint32_t, 3> groups = {1, 1, 1};
  std::array<uint32_t, 3> group_size = {1, 1, 1};
  std::vector<Argument> arguments = {};
  uint32_t dynamic_lds_bytes = 0;
};

// How far a result may be from the reference: |result - expected| <= absolute + relative * |expected|.
struct Bound {
  double absolute = 0;
  double relative = 0;
  std::string why = "exact";
};

struct Expectation {
  int buffer;
  Element element;
  Bytes values;
  Bound bound;
};

struct Example {
  std::string name;
  Language language = Language::opencl;
  std::string source;                     // relative to this folder
  std::vector<Bytes> buffers = {};        // initial contents
  std::vector<Dispatch> dispatches = {};  // in this order
  std::vector<Expectation> expectations = {};

  template <class T>
  Argument add_buffer(const std::vector<T>& contents) {
    buffers.push_back(bytes_of(std::span<const T>(contents)));
    return {int(buffers.size()) - 1, {}};
  }

  template <class T>
  void expect(const Argument& buffer, const std::vector<T>& values, Bound bound = {}) {
    expectations.push_back(
        {buffer.buffer, element_of<T>(), bytes_of(std::span<const T>(values)), std::move(bound)});
  }
};

template <class T>
Argument scalar(T value) {
  return {-1, bytes_of(std::span<const T>(&value, 1))};
}

// Compares a buffer with what it should hold. Empty if it does; else where it differs first, by how much, and
// how many elements differ.
std::string compare(const Expectation& expectation, std::span<const std::byte> contents);

struct Entry {
  std::string_view name;
  Example (*make)(unsigned wave_size);
};

std::span<const Entry> registry();

// Input data: the same on every machine (the standard fixes mt19937's numbers but not its distributions).
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  uint32_t word() { return engine_(); }
  uint32_t below(uint32_t limit) { return uint32_t(uint64_t(engine_()) * limit >> 32); }
  float real(float low, float high) { return low + float(engine_() >> 8) * 0x1p-24f * (high - low); }

  template <class Make>
  auto vector(size_t count, Make make) {
    std::vector<decltype(make(*this))> values(count);
    for (auto& value : values) value = make(*this);
    return values;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace lockstep::examples

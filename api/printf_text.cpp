#include "api/printf_text.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "text/hex.h"

namespace lockstep::api {
namespace {

constexpr int kMostWidth = 1000;  // of a number or a string

uint64_t number_in(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

double real_of(std::span<const std::byte> bytes) {
  if (bytes.size() == 2) {
    _Float16 half;
    std::memcpy(&half, bytes.data(), sizeof half);
    return static_cast<double>(half);
  }
  if (bytes.size() == 4) {
    float single;
    std::memcpy(&single, bytes.data(), sizeof single);
    return single;
  }
  double value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

std::string string_in(std::span<const std::byte> bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return {text, strnlen(text, bytes.size())};
}

// One conversion of a format: %[flags][width][.precision][vector][length]letter.
struct Conversion {
  std::string flags;
  std::optional<int> width, precision;
  unsigned lanes = 0;  // 0: no vector
  std::string length;
  char letter = 0;
};

class Reader {
 public:
  Reader(std::string_view format, PrintfArguments& arguments) : rest_(format), arguments_(arguments) {}

  std::string text() {
    std::string out;
    while (!rest_.empty()) {
      const size_t percent = std::min(rest_.find('%'), rest_.size());
      out += rest_.substr(0, percent);
      rest_.remove_prefix(percent);
      if (rest_.empty()) break;
      const std::string_view before = rest_;
      rest_.remove_prefix(1);
      const Conversion c = conversion();
      if (c.letter == 0) return out + std::string(before);  // an unfinished one at the end
      out += converted(c, before.substr(0, before.size() - rest_.size()));
    }
    return out;
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  int digits() {
    int value = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      value = std::min(value * 10 + (rest_[0] - '0'), kMostWidth);
      rest_.remove_prefix(1);
    }
    return value;
  }
  int size() {
    if (take('*')) return std::clamp(static_cast<int>(arguments_.integer()), -kMostWidth, kMostWidth);
    return digits();
  }

  Conversion conversion() {
    Conversion c;
    while (!rest_.empty() && std::string_view("-+ #0").find(rest_[0]) != std::string_view::npos) {
      if (c.flags.find(rest_[0]) == std::string::npos) c.flags += rest_[0];
      rest_.remove_prefix(1);
    }
    if (!rest_.empty() && (rest_[0] == '*' || (rest_[0] >= '1' && rest_[0] <= '9'))) c.width = size();
    if (take('.')) c.precision = std::max(size(), 0);
    if (take('v')) c.lanes = static_cast<unsigned>(std::clamp(digits(), 1, 16));
    while (!rest_.empty() && std::string_view("hlLqjzt").find(rest_[0]) != std::string_view::npos) {
      c.length += rest_[0];
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) return c;
    c.letter = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  static bool is_real(char letter) {
    return std::string_view("fFeEgGaA").find(letter) != std::string_view::npos;
  }
  static bool is_integer(char letter) {
    return std::string_view("diouxX").find(letter) != std::string_view::npos;
  }

  std::string converted(const Conversion& c, std::string_view written) {
    if (c.letter == '%') return "%";
    if (c.letter == 'n') {
      arguments_.integer();
      return {};
    }
    if (c.lanes > 1) return vector(c);
    if (is_real(c.letter)) return print(c, arguments_.real());
    if (is_integer(c.letter)) return print(c, arguments_.integer());
    if (c.letter == 'c') return print(c, static_cast<int>(arguments_.integer()));
    if (c.letter == 'p') return hex(static_cast<uint64_t>(arguments_.integer()));
    if (c.letter == 's') return print(c, arguments_.string().c_str());
    return std::string(written);
  }

  // Elements with commas between them; the length says how large they are: hh, h, hl and l.
  std::string vector(const Conversion& c) {
    const std::span<const std::byte> bytes = arguments_.vector(c.lanes);
    const unsigned stored = c.lanes == 3 ? 4 : c.lanes;
    size_t size = bytes.size() / (bytes.size() % stored == 0 ? stored : c.lanes);
    if (c.length == "hh") size = 1;
    if (c.length == "h") size = 2;
    if (c.length == "hl") size = 4;
    if (c.length == "l") size = 8;
    std::string out;
    Conversion element = c;
    element.length.clear();
    for (unsigned lane = 0; lane < c.lanes; ++lane) {
      std::span<const std::byte> value;
      if (size && (lane + 1) * size <= bytes.size()) value = bytes.subspan(lane * size, size);
      if (lane) out += ',';
      if (is_real(c.letter)) {
        out += print(element, value.empty() ? 0.0 : real_of(value));
      } else {
        const uint64_t number = value.empty() ? 0 : number_in(value);
        element.length = size == 1 ? "hh" : size == 2 ? "h" : size == 8 ? "l" : "";
        out += print(element, number);
      }
    }
    return out;
  }

  // The host's printf, with a format that is made here.
  template <class Value>
  static std::string print(const Conversion& c, Value value) {
    std::string format = "%" + c.flags;
    if (c.width) format += std::to_string(*c.width);
    if (c.precision) format += "." + std::to_string(*c.precision);
    std::string out;
    const auto finish = [&](auto converted) {
      const int size = std::snprintf(nullptr, 0, format.c_str(), converted);
      if (size <= 0) return;
      out.resize(static_cast<size_t>(size) + 1);
      std::snprintf(out.data(), out.size(), format.c_str(), converted);
      out.pop_back();
    };
    if constexpr (std::is_same_v<Value, uint64_t>) {
      // Without a length an int: what lies above its 32 bits is not the number's.
      const bool is_signed = c.letter == 'd' || c.letter == 'i';
      const bool wide = c.length.find_first_of("lqjzt") != std::string::npos && c.length != "hl";
      if (!wide)
        value = is_signed ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)}) : uint32_t(value);
      if (c.length == "hh")
        value = is_signed ? static_cast<uint64_t>(int64_t{static_cast<int8_t>(value)}) : uint8_t(value);
      if (c.length == "h")
        value = is_signed ? static_cast<uint64_t>(int64_t{static_cast<int16_t>(value)}) : uint16_t(value);
      format += std::string("ll") + c.letter;
      finish(static_cast<unsigned long long>(value));
    } else {
      format += c.letter;
      finish(value);
    }
    return out;
  }

  std::string_view rest_;
  PrintfArguments& arguments_;
};

}  // namespace

uint64_t QwordArguments::integer() {
  const auto bytes = rest_.first(std::min<size_t>(rest_.size(), 8));
  rest_ = rest_.subspan(bytes.size());
  return number_in(bytes);
}
double QwordArguments::real() {
  const uint64_t bits = integer();
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
std::string QwordArguments::string() {
  const std::string text = string_in(rest_);
  rest_ = rest_.subspan(std::min(rest_.size(), (text.size() + 8) / 8 * 8));
  return text;
}
std::span<const std::byte> QwordArguments::vector(unsigned) {
  return {};
}  // C++ has none

std::span<const std::byte> SizedArguments::next() {
  if (sizes_.empty()) return {};
  const auto bytes = rest_.first(std::min<size_t>(rest_.size(), sizes_[0]));
  sizes_ = sizes_.subspan(1);
  rest_ = rest_.subspan(bytes.size());
  return bytes;
}
uint64_t SizedArguments::integer() {
  const auto bytes = next();
  const uint64_t value = number_in(bytes);
  return bytes.size() == 4 ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)}) : value;
}
double SizedArguments::real() {
  return real_of(next());
}
std::string SizedArguments::string() {
  return string_in(next());
}
std::span<const std::byte> SizedArguments::vector(unsigned) {
  return next();
}

std::string printf_text(std::string_view format, PrintfArguments& arguments) {
  return Reader(format, arguments).text();
}

}  // namespace lockstep::api

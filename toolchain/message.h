// How a request and its answer are written between this library and its worker. Both are of one build; the
// reader still takes nothing for granted, since whoever wrote may have been led astray by hostile text.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::toolchain {

class MessageWriter {
 public:
  void number(uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Past the end it stays failed and gives zeros and empty texts.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : bytes_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    const std::string_view part = take(sizeof value);
    if (good_) std::memcpy(&value, part.data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number()); }
  bool at_end() const { return bytes_.empty(); }
  bool good() const { return good_; }

 private:
  std::string_view take(uint64_t count) {
    good_ = good_ && count <= bytes_.size();
    if (!good_) return bytes_ = {};
    const std::string_view part = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return part;
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace lockstep::toolchain

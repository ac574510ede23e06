#include "text/visible.h"

#include <algorithm>
#include <cstdint>

namespace lockstep {

namespace {

struct Character {
  uint32_t code = 0;
  unsigned bytes = 0;  // 0: no UTF-8
};

// Unicode 15, table 3-7: neither overlong forms nor surrogates.
Character decode(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  if (first < 0x80) return {first, 1};
  const unsigned bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  uint32_t code = first & (0x7fu >> bytes);
  for (unsigned i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

bool is_harmless(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool direction = code == 0x61c || code == 0x200e || code == 0x200f ||
                         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool line_end = code == 0x2028 || code == 0x2029;
  return !control && !direction && !line_end;
}

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

std::string escaped(std::string_view text, size_t most, bool lines) {
  std::string out;
  out.reserve(std::min(text.size(), most));
  size_t at = 0;
  while (at < text.size()) {
    const Character c = decode(text.substr(at));
    const size_t bytes = c.bytes ? c.bytes : 1;
    if (at + bytes > most) break;
    const std::string_view character = text.substr(at, bytes);
    if (c.bytes && (is_harmless(c.code) || (lines && (c.code == '\n' || c.code == '\t'))))
      out += character;
    else
      append_escaped(out, character);
    at += bytes;
  }
  if (at < text.size()) out += "...";
  return out;
}

}  // namespace

std::string visible(std::string_view text, size_t most) {
  return escaped(text, most, false);
}

std::string visible_lines(std::string_view text) {
  return escaped(text, std::string_view::npos, true);
}

}  // namespace lockstep

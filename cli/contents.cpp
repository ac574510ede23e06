#include "cli/contents.h"

#include <sys/sysinfo.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "cli/common.h"
#include "cli/interrupt.h"

namespace lockstep::cli {
namespace {

constexpr uint64_t kMaxBufferBytes = uint64_t{64} << 30;

std::vector<uint64_t> parse_shape(std::string_view text, std::string_view whole) {
  std::vector<uint64_t> out;
  while (true) {
    size_t next = text.find_first_of("x,*");
    std::optional<uint64_t> n = size_number(text.substr(0, next));
    if (!n || !*n)
      throw UsageError("'{}': the size in brackets is a list such as [1024], [1M] or [64x64], none of it 0",
                       whole);
    out.push_back(*n);
    if (next == std::string_view::npos) return out;
    text.remove_prefix(next + 1);
  }
}

// Elements between two looks for Ctrl-C.
constexpr size_t kLook = 1 << 20;

void fill(std::span<std::byte> bytes, lockstep_type type, std::string_view how) {
  const size_t size = size_of_type(type), count = bytes.size() / size;
  const auto each = [&](auto store) {
    for (size_t i = 0; i < count; ++i) {
      if (i % kLook == 0) throw_if_interrupted();
      store(i, bytes.data() + i * size);
    }
  };
  if (how == "iota") {
    std::byte last[8];
    store_number(static_cast<double>(count - 1), type, last);
    if (is_float(type) && std::isinf(load_number(last, type)))
      throw UsageError("'iota' counts to {}, which does not fit {}", count - 1, name_of_type(type));
    each([&](size_t i, std::byte* at) { store_number(static_cast<double>(i), type, at); });
  } else if (how == "random" || how.starts_with("random:")) {
    const std::optional<uint64_t> seed =
        how == "random" ? std::optional<uint64_t>(1) : whole_number(how.substr(7));
    if (!seed) throw UsageError("'{}': the seed of random is a whole number", how);
    std::mt19937_64 random(*seed);
    each([&](size_t, std::byte* at) {
      const uint64_t bits = random();
      if (is_float(type))
        store_number(static_cast<double>(bits >> 40) / (1 << 24), type, at);
      else
        std::memcpy(at, &bits, size);
    });
  } else {
    const Numbers numbers = parse_list(how, type);
    if (numbers.count != 1 && numbers.count != count)
      throw UsageError("'{}' has {} numbers for {} elements; give one for all or one for each", how,
                       numbers.count, count);
    each([&](size_t i, std::byte* at) {
      std::memcpy(at, numbers.bytes.data() + (numbers.count == 1 ? 0 : i * size), size);
    });
  }
}

// Zeros cost nothing until they are used; anything else takes memory, and a host that has not got it ends
// whoever it likes.
void check_host_has(uint64_t bytes, std::string_view text) {
  struct sysinfo host{};
  if (sysinfo(&host) != 0) return;
  const uint64_t all = (uint64_t{host.totalram} + host.totalswap) * host.mem_unit;
  if (bytes > all)
    throw UsageError("'{}': takes {} of memory, the host has {} (leave =VALUE away for zeros)", text,
                     short_bytes(bytes), short_bytes(all));
}

Contents parse_elements(std::string_view text, lockstep_type type, size_t open) {
  const size_t close = text.find(']');
  if (close == std::string_view::npos) throw UsageError("'{}': the bracket is not closed", text);
  Contents out;
  out.array.type = type;
  out.array.shape = parse_shape(text.substr(open + 1, close - open - 1), text);
  out.bytes = size_of_type(type);
  for (const uint64_t s : out.array.shape)
    if (__builtin_mul_overflow(out.bytes, s, &out.bytes) || out.bytes > kMaxBufferBytes)
      throw UsageError("'{}': is larger than {}", text, short_bytes(kMaxBufferBytes));
  const std::string_view rest = text.substr(close + 1);
  if (!rest.empty() && rest[0] != '=') throw UsageError("'{}': only =VALUE may follow the bracket", text);
  if (rest == "=") throw UsageError("'{}': the value behind = is missing", text);
  if (!rest.empty()) {
    out.fill = rest.substr(1);
    check_host_has(out.bytes, text);
  }
  return out;
}

// f32, float[4]: no file, and nearly the elements of an array.
void refuse_what_is_nearly_elements(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('['));
  if (type_of_name(text))
    throw UsageError("'{}': how many? Give a size, such as {}[1024], or a file", text, text);
  const std::optional<lockstep_type> type = type_of_c_name(name);
  if (name.size() != text.size() && type)
    throw UsageError("'{}': the type is called {} here: {}{}", text, name_of_type(*type), name_of_type(*type),
                     text.substr(name.size()));
}

}  // namespace

Contents parse_contents(std::string_view text, std::optional<lockstep_type> elements) {
  if (text.empty())
    throw UsageError("buf: names no contents; say what and how many, such as buf:f32[1024], or a file");
  const size_t open = text.find('[');
  const std::optional<lockstep_type> type =
      open == std::string_view::npos ? std::nullopt : type_of_name(text.substr(0, open));
  if (type) return parse_elements(text, *type, open);
  // A file; a type before it says what its elements are.
  const size_t colon = text.find(':');
  const std::optional<lockstep_type> said =
      colon == std::string_view::npos ? std::nullopt : type_of_name(text.substr(0, colon));
  std::error_code ignored;
  if (!std::filesystem::exists(said ? text.substr(colon + 1) : text, ignored))
    refuse_what_is_nearly_elements(text);
  Contents out;
  Array& array = out.array;
  array = read_array(std::string(said ? text.substr(colon + 1) : text));
  out.bytes = array.bytes.size();
  if (out.bytes == 0) throw UsageError("'{}' has no data", text);
  if (text.ends_with(".npy")) {
    if (said && *said != array.type)
      throw UsageError("'{}': the file's elements are {}", text, name_of_type(array.type));
    return out;
  }
  if (said && out.bytes % size_of_type(*said) != 0)
    throw UsageError("'{}': the file has {} bytes, which is no whole number of {}", text, out.bytes,
                     name_of_type(*said));
  if (said) elements = said;
  if (elements && out.bytes % size_of_type(*elements) == 0) {
    array.type = *elements;
    array.shape = {out.bytes / size_of_type(*elements)};
  }
  return out;
}

void write_contents(const Contents& contents, std::span<std::byte> memory) {
  const std::vector<std::byte>& file = contents.array.bytes;
  if (!file.empty()) std::memcpy(memory.data(), file.data(), file.size());
  if (!contents.fill.empty()) fill(memory, contents.array.type, contents.fill);
}

Numbers parse_list(std::string_view list, lockstep_type type) {
  Numbers out;
  out.type = type;
  out.align = size_of_type(type);
  for (;;) {
    const size_t comma = std::min(list.find(','), list.size());
    out.bytes.resize(out.bytes.size() + size_of_type(type));
    parse_number(list.substr(0, comma), type, out.bytes.data() + out.count * size_of_type(type));
    ++out.count;
    if (comma == list.size()) return out;
    list.remove_prefix(comma + 1);
  }
}

std::optional<Numbers> parse_numbers(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view name = text.substr(0, colon);
  std::optional<uint64_t> lanes;
  std::optional<lockstep_type> type = type_of_name(name);
  if (const size_t x = name.find('x'); !type && x != std::string_view::npos) {
    lanes = whole_number(name.substr(x + 1));
    if (lanes) type = type_of_name(name.substr(0, x));
  }
  if (!type) return std::nullopt;
  Numbers out = parse_list(text.substr(colon + 1), *type);
  if (!lanes) return out;
  if (*lanes < 2 || *lanes > 16 || out.count != *lanes)
    throw UsageError("'{}': a vector {} has {} numbers, not {}", text, name, *lanes, out.count);
  // One of three is stored as one of four.
  out.align = std::bit_ceil(*lanes) * size_of_type(*type);
  out.bytes.resize(out.align);
  return out;
}

std::vector<std::byte> parse_hex(std::string_view digits) {
  if (digits.empty()) throw UsageError("'hex:' has no digits; give two for each byte, such as hex:0011ff");
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned value = 0;
    auto [end, problem] = std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16);
    if (problem != std::errc() || end != digits.data() + i + 2)
      throw UsageError("'{}' is not hexadecimal", digits);
    bytes.push_back(static_cast<std::byte>(value));
  }
  if (digits.size() % 2) throw UsageError("'{}' has half a byte at its end", digits);
  return bytes;
}

}  // namespace lockstep::cli

#include "cli/array.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "cli/common.h"
#include "cli/files.h"
#include "cli/npy.h"

namespace lockstep::cli {
namespace {

struct TypeRow {
  lockstep_type type;
  std::string_view name;
  uint8_t size;
  bool is_float;
  bool is_signed;
};
constexpr TypeRow kTypes[] = {
    {LOCKSTEP_I8, "i8", 1, false, true},   {LOCKSTEP_U8, "u8", 1, false, false},
    {LOCKSTEP_I16, "i16", 2, false, true}, {LOCKSTEP_U16, "u16", 2, false, false},
    {LOCKSTEP_I32, "i32", 4, false, true}, {LOCKSTEP_U32, "u32", 4, false, false},
    {LOCKSTEP_I64, "i64", 8, false, true}, {LOCKSTEP_U64, "u64", 8, false, false},
    {LOCKSTEP_F16, "f16", 2, true, true},  {LOCKSTEP_F32, "f32", 4, true, true},
    {LOCKSTEP_F64, "f64", 8, true, true},
};

const TypeRow& row(lockstep_type type) {
  return kTypes[type];
}

}  // namespace

std::optional<lockstep_type> type_of_name(std::string_view name) {
  for (const TypeRow& t : kTypes)
    if (t.name == name) return t.type;
  return std::nullopt;
}

std::string_view name_of_type(lockstep_type type) {
  return row(type).name;
}
size_t size_of_type(lockstep_type type) {
  return row(type).size;
}
bool is_float(lockstep_type type) {
  return row(type).is_float;
}

std::optional<lockstep_type> type_of_c_name(std::string_view c_name, unsigned* vector) {
  while (!c_name.empty() && (c_name.back() == '*' || c_name.back() == ' ')) c_name.remove_suffix(1);
  constexpr struct {
    std::string_view name;
    lockstep_type type;
  } kNames[] = {
      {"char", LOCKSTEP_I8},          {"signed char", LOCKSTEP_I8},     {"int8_t", LOCKSTEP_I8},
      {"uchar", LOCKSTEP_U8},         {"unsigned char", LOCKSTEP_U8},   {"uint8_t", LOCKSTEP_U8},
      {"bool", LOCKSTEP_U8},          {"short", LOCKSTEP_I16},          {"int16_t", LOCKSTEP_I16},
      {"ushort", LOCKSTEP_U16},       {"unsigned short", LOCKSTEP_U16}, {"uint16_t", LOCKSTEP_U16},
      {"int", LOCKSTEP_I32},          {"int32_t", LOCKSTEP_I32},        {"uint", LOCKSTEP_U32},
      {"unsigned int", LOCKSTEP_U32}, {"unsigned", LOCKSTEP_U32},       {"uint32_t", LOCKSTEP_U32},
      {"long", LOCKSTEP_I64},         {"long long", LOCKSTEP_I64},      {"int64_t", LOCKSTEP_I64},
      {"ulong", LOCKSTEP_U64},        {"unsigned long", LOCKSTEP_U64},  {"unsigned long long", LOCKSTEP_U64},
      {"uint64_t", LOCKSTEP_U64},     {"size_t", LOCKSTEP_U64},         {"half", LOCKSTEP_F16},
      {"_Float16", LOCKSTEP_F16},     {"__half", LOCKSTEP_F16},         {"float", LOCKSTEP_F32},
      {"double", LOCKSTEP_F64},
  };
  if (vector) *vector = 1;
  for (const auto& n : kNames) {
    if (c_name == n.name) return n.type;
    // OpenCL's vectors: uchar4, float16.
    if (!c_name.starts_with(n.name)) continue;
    std::string_view tail = c_name.substr(n.name.size());
    for (unsigned count : {2u, 3u, 4u, 8u, 16u}) {
      if (tail != std::to_string(count)) continue;
      if (vector) *vector = count == 3 ? 4 : count;
      return n.type;
    }
  }
  return std::nullopt;
}

// Source: IEEE 754 binary16; ties to even.
uint16_t half_of(float value) {
  _Float16 h = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &h, sizeof bits);
  return bits;
}

float float_of_half(uint16_t bits) {
  _Float16 h;
  std::memcpy(&h, &bits, sizeof bits);
  return static_cast<float>(h);
}

void store_number(double value, lockstep_type type, std::byte* out) {
  auto put = [out](auto v) { std::memcpy(out, &v, sizeof v); };
  switch (type) {
    case LOCKSTEP_F16:
      return put(half_of(static_cast<float>(value)));
    case LOCKSTEP_F32:
      return put(static_cast<float>(value));
    case LOCKSTEP_F64:
      return put(value);
    default: {
      // Wraps to the width of the type, as counting up in a small type does.
      uint64_t bits =
          value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
      std::memcpy(out, &bits, row(type).size);
    }
  }
}

double load_number(const std::byte* from, lockstep_type type) {
  auto get = [from](auto v) {
    std::memcpy(&v, from, sizeof v);
    return v;
  };
  switch (type) {
    case LOCKSTEP_I8:
      return get(int8_t{});
    case LOCKSTEP_U8:
      return get(uint8_t{});
    case LOCKSTEP_I16:
      return get(int16_t{});
    case LOCKSTEP_U16:
      return get(uint16_t{});
    case LOCKSTEP_I32:
      return get(int32_t{});
    case LOCKSTEP_U32:
      return get(uint32_t{});
    case LOCKSTEP_I64:
      return static_cast<double>(get(int64_t{}));
    case LOCKSTEP_U64:
      return static_cast<double>(get(uint64_t{}));
    case LOCKSTEP_F16:
      return float_of_half(get(uint16_t{}));
    case LOCKSTEP_F32:
      return get(float{});
    case LOCKSTEP_F64:
      return get(double{});
  }
  return 0;
}

std::string print_number(const std::byte* from, lockstep_type type) {
  auto get = [from](auto v) {
    std::memcpy(&v, from, sizeof v);
    return v;
  };
  // 64-bit integers do not survive a double; floats print with the digits that tell them apart.
  if (type == LOCKSTEP_I64) return fmt::format("{}", get(int64_t{}));
  if (type == LOCKSTEP_U64) return fmt::format("{}", get(uint64_t{}));
  if (type == LOCKSTEP_F32) return fmt::format("{}", get(float{}));
  if (type == LOCKSTEP_F16) return fmt::format("{:.5g}", float_of_half(get(uint16_t{})));
  return fmt::format("{}", load_number(from, type));
}

void parse_number(std::string_view text, lockstep_type type, std::byte* out) {
  const TypeRow& t = row(type);
  auto fail = [&](const char* what) { throw UsageError("'{}' {} {}", text, what, t.name); };
  if (text.empty()) throw UsageError("a number of type {} is missing", t.name);
  if (t.is_float) {
    std::string copy(text);
    char* end = nullptr;
    double value = std::strtod(copy.c_str(), &end);
    if (*end) fail("is not a number of type");
    store_number(value, type, out);
    // Too large for the type: infinity is what has to be asked for by its name.
    const bool named = text.find_first_of("nN") != std::string_view::npos;  // inf, nan
    if (!named && std::isinf(load_number(out, type))) fail("does not fit");
    return;
  }
  std::string_view digits = text;
  bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  }
  // As of sizes: a count of elements that was given as 64k is the same number for the kernel.
  unsigned shift = 0;
  if (constexpr std::string_view kUnits = "kMG";
      base == 10 && digits.size() > 1 && kUnits.find(digits.back()) != kUnits.npos) {
    shift = 10 * static_cast<unsigned>(kUnits.find(digits.back()) + 1);
    digits.remove_suffix(1);
  }
  uint64_t magnitude = 0;
  auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (problem == std::errc::result_out_of_range) fail("does not fit");
  if (problem != std::errc() || end != digits.data() + digits.size()) fail("is not a number of type");
  if (magnitude > UINT64_MAX >> shift) fail("does not fit");
  magnitude <<= shift;
  unsigned bits = t.size * 8u;
  uint64_t limit = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  // Hexadecimal gives the bits of a signed type; decimal must be in its range.
  if (t.is_signed && base == 10) limit = (uint64_t{1} << (bits - 1)) - (negative ? 0 : 1);
  if (magnitude > limit || (negative && !t.is_signed && magnitude)) fail("does not fit");
  uint64_t value = negative ? 0 - magnitude : magnitude;
  std::memcpy(out, &value, t.size);
}

Array read_array(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy(path);
  Array out;
  out.bytes = read_file(path);
  out.shape = {out.bytes.size()};
  return out;
}

void require_format(const std::string& path) {
  for (const std::string_view other :
       {".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".csv", ".txt", ".json", ".npz"})
    if (path.ends_with(other))
      throw UsageError(
          "{}: {} files are not written: .npy has type and shape, .png is a picture, and any other name "
          "(.raw) gets the bytes as they are",
          path, other);
}

void write_array(const std::string& path, std::span<const std::byte> bytes, lockstep_type type,
                 const std::vector<uint64_t>& shape) {
  require_format(path);
  if (path.ends_with(".npy")) return write_npy(path, bytes, type, shape);
  if (path.ends_with(".png")) return write_png(path, bytes, type, shape);
  write_file(path, "", bytes);
}

std::string print_shape(const std::vector<uint64_t>& shape) {
  std::string out;
  for (uint64_t s : shape) out += fmt::format("{}{}", out.empty() ? "" : "x", s);
  return "[" + out + "]";
}

}  // namespace lockstep::cli

#include "cli/array.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "cli/common.h"

namespace lockstep::cli {
namespace {

struct TypeRow {
  lockstep_type type;
  std::string_view name;
  uint8_t size;
  bool is_float;
  bool is_signed;
  std::string_view numpy;  // dtype without byte order
};
constexpr TypeRow kTypes[] = {
    {LOCKSTEP_I8, "i8", 1, false, true, "i1"},   {LOCKSTEP_U8, "u8", 1, false, false, "u1"},
    {LOCKSTEP_I16, "i16", 2, false, true, "i2"}, {LOCKSTEP_U16, "u16", 2, false, false, "u2"},
    {LOCKSTEP_I32, "i32", 4, false, true, "i4"}, {LOCKSTEP_U32, "u32", 4, false, false, "u4"},
    {LOCKSTEP_I64, "i64", 8, false, true, "i8"}, {LOCKSTEP_U64, "u64", 8, false, false, "u8"},
    {LOCKSTEP_F16, "f16", 2, true, true, "f2"},  {LOCKSTEP_F32, "f32", 4, true, true, "f4"},
    {LOCKSTEP_F64, "f64", 8, true, true, "f8"},
};

const TypeRow& row(lockstep_type type) {
  return kTypes[type];
}

uint64_t product(const std::vector<uint64_t>& shape) {
  uint64_t n = 1;
  for (uint64_t s : shape)
    if (__builtin_mul_overflow(n, s, &n))
      throw UsageError("an array of shape {} is too large", print_shape(shape));
  return n;
}

std::vector<std::byte> read_bytes(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) throw UsageError("{}: there is no such file", path);
  if (std::filesystem::is_directory(path, problem)) throw UsageError("{}: is a directory", path);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError("{}: cannot be opened: {}", path, std::strerror(errno));
  std::vector<std::byte> bytes;
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), block.size()) || in.gcount()) {
    auto* p = reinterpret_cast<const std::byte*>(block.data());
    bytes.insert(bytes.end(), p, p + in.gcount());
  }
  return bytes;
}

void write_file(const std::string& path, std::string_view head, std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(head.data(), static_cast<std::streamsize>(head.size()));
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw UsageError("{}: cannot be written: {}", path, std::strerror(errno));
}

// The value behind 'key': in the Python dictionary of a .npy header.
std::string_view header_value(std::string_view header, std::string_view key, const std::string& path) {
  size_t at = header.find("'" + std::string(key) + "'");
  if (at != std::string_view::npos) at = header.find(':', at);
  if (at == std::string_view::npos) throw UsageError("{}: the .npy header has no '{}'", path, key);
  std::string_view rest = header.substr(at + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

Array read_npy(const std::string& path) {
  std::vector<std::byte> file = read_bytes(path);
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with("\x93NUMPY") || file.size() < 12) throw UsageError("{}: is not a .npy file", path);
  unsigned major = static_cast<unsigned char>(text[6]);
  size_t prefix = major == 1 ? 10 : 12;
  uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, prefix - 8);
  if (major < 1 || major > 3 || length > file.size() - prefix)
    throw UsageError("{}: the .npy header is damaged or of an unknown version", path);
  std::string_view header = text.substr(prefix, length);

  Array out;
  std::string_view descr = header_value(header, "descr", path);
  size_t end = descr.size() > 1 ? descr.find(descr[0], 1) : std::string_view::npos;
  if (descr.empty() || (descr[0] != '\'' && descr[0] != '"') || end == std::string_view::npos)
    throw UsageError("{}: structured .npy arrays are not supported (save each field by itself)", path);
  std::string_view dtype = descr.substr(1, end - 1);
  std::string_view kind = dtype.substr(std::min<size_t>(1, dtype.size()));
  if (kind == "b1") kind = "u1";
  auto found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& t) { return t.numpy == kind; });
  if (found == std::end(kTypes) || (dtype[0] == '>' && found->size > 1))
    throw UsageError(
        "{}: elements of type {} are not supported (use 8 to 64 bit integers, f16, f32 or f64, "
        "little-endian)",
        path, dtype);
  out.type = found->type;
  if (header_value(header, "fortran_order", path).starts_with("True"))
    throw UsageError("{}: is in Fortran order (save numpy.ascontiguousarray of it)", path);
  std::string_view shape = header_value(header, "shape", path);
  if (!shape.starts_with('(')) throw UsageError("{}: the shape in the .npy header is damaged", path);
  shape = shape.substr(1, shape.find(')') - 1);
  while (!shape.empty()) {
    shape.remove_prefix(std::min(shape.find_first_not_of(", "), shape.size()));
    if (shape.empty()) break;
    uint64_t n = 0;
    auto [rest, problem] = std::from_chars(shape.data(), shape.data() + shape.size(), n);
    if (problem != std::errc()) throw UsageError("{}: the shape in the .npy header is damaged", path);
    out.shape.push_back(n);
    shape.remove_prefix(rest - shape.data());
  }
  uint64_t count = product(out.shape), have = file.size() - prefix - length;
  if (count > have / found->size)
    throw UsageError("{}: the header promises {} elements of {} bytes, the file has {} bytes of data", path,
                     count, found->size, have);
  auto first = file.begin() + static_cast<ptrdiff_t>(prefix + length);
  out.bytes.assign(first, first + static_cast<ptrdiff_t>(count * found->size));
  return out;
}

void write_npy(const std::string& path, std::span<const std::byte> bytes, lockstep_type type,
               const std::vector<uint64_t>& shape) {
  std::string dims;
  for (uint64_t s : shape) dims += fmt::format("{},", s);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   row(type).size == 1 ? '|' : '<', row(type).numpy, dims);
  // The data begins at a multiple of 64, the header ends with a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  uint16_t length = static_cast<uint16_t>(header.size());
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(length & 0xff);
  head += static_cast<char>(length >> 8);
  write_file(path, head + header, bytes);
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
    return store_number(value, type, out);
  }
  std::string_view digits = text;
  bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  }
  uint64_t magnitude = 0;
  auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (problem == std::errc::result_out_of_range) fail("does not fit");
  if (problem != std::errc() || end != digits.data() + digits.size()) fail("is not a number of type");
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
  out.bytes = read_bytes(path);
  out.shape = {out.bytes.size()};
  return out;
}

void write_array(const std::string& path, std::span<const std::byte> bytes, lockstep_type type,
                 const std::vector<uint64_t>& shape) {
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

#include "cli/npy.h"

#include <charconv>
#include <cstring>
#include <map>

#include "cli/common.h"
#include "cli/files.h"

namespace lockstep::cli {

namespace {

struct Dtype {
  std::string_view name;  // without byte order
  lockstep_type type;
};
constexpr Dtype kDtypes[] = {
    {"i1", LOCKSTEP_I8},  {"u1", LOCKSTEP_U8},  {"i2", LOCKSTEP_I16}, {"u2", LOCKSTEP_U16},
    {"i4", LOCKSTEP_I32}, {"u4", LOCKSTEP_U32}, {"i8", LOCKSTEP_I64}, {"u8", LOCKSTEP_U64},
    {"f2", LOCKSTEP_F16}, {"f4", LOCKSTEP_F32}, {"f8", LOCKSTEP_F64}, {"b1", LOCKSTEP_U8},
};

// Reads the dictionary in a header: strings, True and False, tuples of whole numbers.
class Header {
 public:
  Header(std::string_view text, const std::string& path) : rest_(text), path_(path) {
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      const std::string_view before = rest_;
      value();
      if (!values_.emplace(key, before.substr(0, before.size() - rest_.size())).second)
        fail(fmt::format("has '{}' twice", key));
      if (!take(',') && !next_is('}')) fail("is damaged (a comma or the end of the dictionary is missing)");
    }
    if (!rest_.empty()) fail("goes on behind its dictionary");
  }

  std::string_view text(std::string_view key) {
    find(key);
    if (!next_is('\'') && !next_is('"'))
      throw UsageError("{}: structured .npy arrays are not supported (save each field by itself)", path_);
    return string();
  }

  bool flag(std::string_view key) {
    find(key);
    const bool yes = rest_.starts_with("True");
    if (!yes && !rest_.starts_with("False"))
      fail(fmt::format("has a '{}' that is neither True nor False", key));
    return yes;
  }

  std::vector<uint64_t> numbers(std::string_view key) {
    find(key);
    std::vector<uint64_t> out;
    expect('(');
    while (!take(')')) {
      uint64_t number = 0;
      const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
      if (problem == std::errc::result_out_of_range) fail("has a shape whose numbers do not fit 64 bits");
      if (problem != std::errc()) fail("has a shape that is no list of whole numbers");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      skip_space();
      out.push_back(number);
      if (!take(',') && !next_is(')')) fail("has a shape that is no list of whole numbers");
    }
    return out;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw UsageError("{}: the .npy header {}", path_, what);
  }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r\f\v"), rest_.size())); }
  bool next_is(char c) {
    skip_space();
    return !rest_.empty() && rest_.front() == c;
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    skip_space();
    return true;
  }
  // What follows belongs to the text, spaces too.
  bool take_quote(char quote) {
    if (!next_is(quote)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("is damaged ('{}' is missing)", c));
  }

  std::string_view string() {
    const char quote = next_is('"') ? '"' : '\'';
    if (!take_quote(quote)) fail("is damaged (a text in quotes is missing)");
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail("has a text without an end");
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    skip_space();
    return out;
  }

  // Goes behind a value of any kind: up to the comma or brace that ends it.
  void value() {
    size_t depth = 0;
    while (!rest_.empty()) {
      if (next_is('\'') || next_is('"')) {
        string();
        continue;
      }
      const char c = rest_.front();
      if (depth == 0 && (c == ',' || c == '}')) return;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && depth-- == 0)
        fail("is damaged (a bracket is closed too much)");
      rest_.remove_prefix(1);
      skip_space();
    }
    fail("is damaged (it ends within a value)");
  }

  void find(std::string_view key) {
    const auto found = values_.find(key);
    if (found == values_.end()) fail(fmt::format("has no '{}'", key));
    rest_ = found->second;
    skip_space();
  }

  std::string_view rest_;
  const std::string& path_;
  std::map<std::string_view, std::string_view> values_;
};

lockstep_type type_of_dtype(std::string_view dtype, const std::string& path) {
  const std::string_view orders = "<>|=";
  if (!dtype.empty() && orders.find(dtype[0]) != std::string_view::npos)
    for (const Dtype& known : kDtypes)
      if (known.name == dtype.substr(1) && (dtype[0] != '>' || size_of_type(known.type) == 1))
        return known.type;
  throw UsageError(
      "{}: elements of type {} are not supported (use 8 to 64 bit integers, f16, f32 or f64, little-endian)",
      path, dtype);
}

}  // namespace

Array read_npy(const std::string& path) {
  std::vector<std::byte> file = read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with("\x93NUMPY")) throw UsageError("{}: is not a .npy file", path);
  const unsigned major = file.size() > 6 ? static_cast<unsigned char>(text[6]) : 0;
  const size_t prefix = major == 1 ? 10 : 12;
  if (file.size() < prefix) throw UsageError("{}: the .npy file is cut off in its header", path);
  if (major < 1 || major > 3)
    throw UsageError("{}: has version {} of the .npy format (save it again with NumPy, which writes 1 to 3)",
                     path, major);
  uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, prefix - 8);
  if (length > file.size() - prefix)
    throw UsageError("{}: the .npy header claims {} bytes, the file has {} behind its beginning", path,
                     length, file.size() - prefix);

  Header header(text.substr(prefix, length), path);
  Array out;
  out.type = type_of_dtype(header.text("descr"), path);
  out.shape = header.numbers("shape");
  if (header.flag("fortran_order") && out.shape.size() > 1)
    throw UsageError("{}: is in Fortran order (save numpy.ascontiguousarray of it)", path);
  uint64_t bytes = size_of_type(out.type);
  for (const uint64_t side : out.shape)
    if (__builtin_mul_overflow(bytes, side, &bytes))
      throw UsageError("{}: an array of shape {} is too large", path, print_shape(out.shape));
  const uint64_t have = file.size() - prefix - length;
  if (bytes > have)
    throw UsageError("{}: the header promises {} elements of {} bytes, the file has {} bytes of data", path,
                     bytes / size_of_type(out.type), size_of_type(out.type), have);
  file.erase(file.begin(), file.begin() + static_cast<ptrdiff_t>(prefix + length));
  file.resize(bytes);
  out.bytes = std::move(file);
  return out;
}

void write_npy(const std::string& path, std::span<const std::byte> bytes, lockstep_type type,
               const std::vector<uint64_t>& shape) {
  std::string_view dtype;
  for (const Dtype& known : kDtypes)
    if (known.type == type && dtype.empty()) dtype = known.name;
  std::string dims;
  for (const uint64_t s : shape) dims += fmt::format("{},", s);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   size_of_type(type) == 1 ? '|' : '<', dtype, dims);
  // The data begins at a multiple of 64, the header ends with a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(length & 0xff);
  head += static_cast<char>(length >> 8);
  write_file(path, head + header, bytes);
}

}  // namespace lockstep::cli

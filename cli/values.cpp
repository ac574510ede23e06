#include "cli/values.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <random>

#include "cli/common.h"
#include "cli/interrupt.h"

namespace lockstep::cli {
namespace {

constexpr uint64_t kMaxBufferBytes = uint64_t{64} << 30;

// The length of the identifier before '=' at the start, or 0: "n=u32:5" is by name, "buf:f32[4]=0" is not.
size_t name_length(std::string_view text) {
  size_t n = 0;
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  while (n < text.size() && is_word(text[n])) ++n;
  return n > 0 && n < text.size() && text[n] == '=' ? n : 0;
}

std::vector<uint64_t> parse_shape(std::string_view text, std::string_view whole) {
  std::vector<uint64_t> out;
  while (true) {
    size_t next = text.find_first_of("x,*");
    std::optional<uint64_t> n = whole_number(text.substr(0, next));
    if (!n || !*n)
      throw UsageError("'{}': the size in brackets is a list such as [1024] or [64x64], none of it 0", whole);
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
    std::byte value[8];
    parse_number(how, type, value);
    each([&](size_t, std::byte* at) { std::memcpy(at, value, size); });
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

}  // namespace

ArgumentSetter::ArgumentSetter(Device& device, const Kernel& kernel, Arguments& arguments)
    : device_(device), arguments_(arguments), kernel_name_(kernel.info().name), infos_(kernel.arguments()) {
  segment_bytes_ = kernel.info().argument_bytes;
  described_ = !infos_.empty() || segment_bytes_ == 0;
}

std::string ArgumentSetter::label(uint32_t index) const {
  const lockstep_argument_info& a = infos_[index];
  std::string out = fmt::format("argument {}", index);
  if (*a.name) out += fmt::format(" '{}'", a.name);
  if (*a.type_name) out += fmt::format(" ({})", a.type_name);
  return out;
}

void ArgumentSetter::set_undescribed(const std::vector<std::string>& specifications) {
  for (size_t i = 0; i < specifications.size(); ++i) {
    const std::string& text = specifications[i];
    size_t n = name_length(text);
    lockstep_argument_info info{};
    names_.push_back(n ? text.substr(0, n) : std::to_string(i));
    info.name = names_.back().c_str();
    info.type_name = info.kind_name = info.address_space = info.access = "";
    infos_.push_back(info);
    try {
      set(static_cast<uint32_t>(i), n ? text.substr(n + 1) : text);
    } catch (const UsageError& e) {
      throw UsageError("argument {} of kernel '{}': {}", i, kernel_name_, e.what());
    }
  }
  arguments_.set_raw(segment_);
}

void ArgumentSetter::append(const void* bytes, size_t size, size_t align) {
  size_t at = (segment_.size() + align - 1) / align * align;
  if (at + size > segment_bytes_)
    throw UsageError("does not fit the {} bytes of arguments that the kernel takes", segment_bytes_);
  segment_.resize(at + size);
  std::memcpy(segment_.data() + at, bytes, size);
}

void ArgumentSetter::give(uint32_t index, const std::byte* value, lockstep_type type) {
  size_t size = size_of_type(type);
  if (described_)
    check(lockstep_arguments_set_scalar(arguments_.get(), index, type, value));
  else
    append(value, size, size);
}

void ArgumentSetter::give_address(uint32_t index, uint64_t address) {
  if (described_)
    arguments_.set_address(index, address);
  else
    append(&address, sizeof address, sizeof address);
}

void ArgumentSetter::set_all(const std::vector<std::string>& specifications) {
  if (!described_) return set_undescribed(specifications);
  std::vector<bool> given(infos_.size());
  auto accept = [&](uint32_t index, const std::string& text) {
    if (given[index]) throw UsageError("{} of kernel '{}' is given twice", label(index), kernel_name_);
    given[index] = true;
    try {
      set(index, text);
    } catch (const UsageError& e) {
      throw UsageError("{} of kernel '{}': {}", label(index), kernel_name_, e.what());
    }
  };
  size_t position = 0;
  std::vector<std::string> in_order;
  for (const std::string& text : specifications) {
    size_t n = name_length(text);
    if (n)
      accept(arguments_.index(text.substr(0, n)), text.substr(n + 1));
    else
      in_order.push_back(text);
  }
  for (const std::string& text : in_order) {
    while (position < given.size() && given[position]) ++position;
    if (position == given.size())
      throw UsageError(
          "kernel '{}' takes {} arguments, {} are given; '{}' is one too many ('lockstep info' lists them)",
          kernel_name_, infos_.size(), specifications.size(), text);
    accept(static_cast<uint32_t>(position), text);
  }
  auto missing = std::find(given.begin(), given.end(), false);
  if (missing != given.end())
    throw UsageError(
        "kernel '{}' takes {} arguments, {} are given; {} is missing ('lockstep info' lists them)",
        kernel_name_, infos_.size(), specifications.size(),
        label(static_cast<uint32_t>(missing - given.begin())));
}

const NamedBuffer& ArgumentSetter::buffer(const std::string& name) const {
  std::string known;
  for (const NamedBuffer& b : buffers_) {
    if (b.name == name || std::to_string(b.index) == name) return b;
    known += (known.empty() ? "" : ", ") + b.name;
  }
  throw UsageError("there is no buffer '{}' to write or print ({})", name,
                   known.empty() ? "no argument is a buffer" : "there are: " + known);
}

void ArgumentSetter::set(uint32_t index, const std::string& specification) {
  std::string_view text = specification;
  if (text == "null") {
    give_address(index, 0);
    return;
  }
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return set_plain(index, text);
  std::string_view kind = text.substr(0, colon), rest = text.substr(colon + 1);
  if (kind == "buf") return set_buffer(index, rest);
  if (kind == "hex") return set_hex(index, rest);
  if (kind == "local" && !described_)
    throw UsageError("the kernel does not describe its arguments; give dynamic LDS with --lds");
  if (kind == "local") {
    std::optional<uint64_t> bytes = whole_number(rest);
    if (!bytes || *bytes > UINT32_MAX) throw UsageError("'{}' is not a number of bytes", rest);
    arguments_.set_local(index, static_cast<uint32_t>(*bytes));
    return;
  }
  if (auto type = type_of_name(kind)) return set_scalar(index, *type, rest);
  throw UsageError(
      "'{}' begins with the unknown kind '{}' (scalars: i32:5, f32:1.5; buffers: buf:...; local:BYTES; null)",
      text, kind);
}

void ArgumentSetter::set_scalar(uint32_t index, lockstep_type type, std::string_view text) {
  std::byte value[8];
  parse_number(text, type, value);
  give(index, value, type);
}

void ArgumentSetter::set_plain(uint32_t index, std::string_view text) {
  const lockstep_argument_info& a = infos_[index];
  unsigned vector = 1;
  std::optional<lockstep_type> type = type_of_c_name(a.type_name, &vector);
  // HIP's compiler gives no types; an integer and a float of the same size cannot be told apart.
  if (a.kind == LOCKSTEP_ARGUMENT_VALUE && !*a.type_name)
    throw UsageError(
        "'{}': the code object does not name this argument's type; say it, such as i32:{} or f32:{}", text,
        text, text);
  if (a.kind != LOCKSTEP_ARGUMENT_VALUE || !type || vector != 1)
    throw UsageError("'{}' has no kind (scalars: i32:5, f32:1.5; buffers: buf:...; local:BYTES; null)", text);
  set_scalar(index, *type, text);
}

void ArgumentSetter::set_hex(uint32_t index, std::string_view digits) {
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
  if (described_)
    check(lockstep_arguments_set(arguments_.get(), index, bytes.data(), static_cast<uint32_t>(bytes.size())));
  else
    append(bytes.data(), bytes.size(), 1);
}

ArgumentSetter::Contents ArgumentSetter::parse_contents(uint32_t index, std::string_view text) const {
  const size_t open = text.find('['), close = text.find(']');
  const std::optional<lockstep_type> type =
      open == std::string_view::npos ? std::nullopt : type_of_name(text.substr(0, open));
  if (type) {
    if (close == std::string_view::npos) throw UsageError("'{}': the bracket is not closed", text);
    Contents out;
    out.array.type = *type;
    out.array.shape = parse_shape(text.substr(open + 1, close - open - 1), text);
    out.bytes = size_of_type(*type);
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
  // A file; a type before it says what its elements are.
  size_t colon = text.find(':');
  std::optional<lockstep_type> elements =
      colon == std::string_view::npos ? std::nullopt : type_of_name(text.substr(0, colon));
  Contents out;
  Array& array = out.array;
  array = read_array(std::string(elements ? text.substr(colon + 1) : text));
  out.bytes = array.bytes.size();
  if (out.bytes == 0) throw UsageError("'{}' has no data", text);
  if (text.ends_with(".npy")) {
    if (elements && *elements != array.type)
      throw UsageError("'{}': the file's elements are {}", text, name_of_type(array.type));
    return out;
  }
  if (elements && out.bytes % size_of_type(*elements) != 0)
    throw UsageError("'{}': the file has {} bytes, which is no whole number of {}", text, out.bytes,
                     name_of_type(*elements));
  // Else they are bytes, if not what the kernel takes.
  if (!elements) elements = type_of_c_name(infos_[index].type_name);
  if (elements && out.bytes % size_of_type(*elements) == 0) {
    array.type = *elements;
    array.shape = {out.bytes / size_of_type(*elements)};
  }
  return out;
}

void ArgumentSetter::set_buffer(uint32_t index, std::string_view text) {
  const lockstep_argument_info& a = infos_[index];
  const Contents contents = parse_contents(index, text);
  std::string name = *a.name ? a.name : std::to_string(index);
  const Array& array = contents.array;
  NamedBuffer buffer{name, index, array.type, array.shape, device_.allocate<std::byte>(contents.bytes, name)};
  if (!array.bytes.empty()) std::memcpy(buffer.memory.data(), array.bytes.data(), array.bytes.size());
  if (!contents.fill.empty()) fill({buffer.memory.data(), buffer.memory.size()}, array.type, contents.fill);
  give_address(index, buffer.memory.address());
  buffers_.push_back(std::move(buffer));
}

}  // namespace lockstep::cli

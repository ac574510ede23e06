#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "cli/common.h"

namespace lockstep::cli {
namespace {

// The length of the identifier before '=' at the start, or 0: "n=u32:5" is by name, "buf:f32[4]=0" is not.
size_t name_length(std::string_view text) {
  size_t n = 0;
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  while (n < text.size() && is_word(text[n])) ++n;
  return n > 0 && n < text.size() && text[n] == '=' ? n : 0;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// With a colon, as the kinds that take something are written, too.
bool is_null(std::string_view text) {
  return text == "null" || text == "null:";
}

// The address that buf:, pipe:, same: or null stand for; nothing if the text is none of them.
std::optional<uint64_t> parse_address(std::string_view text, const std::string& name,
                                      std::optional<uint32_t> index, std::optional<lockstep_type> elements,
                                      Buffers& buffers) {
  if (is_null(text)) return 0;
  if (text.starts_with("same:")) {
    NamedBuffer alias = buffers.find(text.substr(5));
    alias.name = name;
    alias.index = index;
    return buffers.add(std::move(alias)).address();
  }
  if (text.starts_with("pipe:")) return buffers.allocate_pipe(name, index, text.substr(5)).address();
  if (text.starts_with("buf:"))
    return buffers.allocate(name, index, parse_contents(text.substr(4), elements)).address();
  return std::nullopt;
}

// What somebody meant who left buf: away.
bool looks_like_contents(std::string_view text) {
  return text.find('[') != text.npos || text.ends_with(".npy") || text.ends_with(".raw") ||
         text.ends_with(".bin");
}

// A structure as C lays it out. Its buffers are called OWNER.FIELD or OWNER.NUMBER.
class Structure {
 public:
  Structure(std::string_view text, const std::string& owner, Buffers& buffers) {
    for (unsigned number = 0;; ++number) {
      const size_t end = std::min(text.find(';'), text.size());
      std::string_view field = trimmed(text.substr(0, end));
      const size_t n = name_length(field);
      const std::string name = owner + "." + (n ? std::string(field.substr(0, n)) : std::to_string(number));
      if (n) field = trimmed(field.substr(n + 1));
      if (!field.empty() || end < text.size()) add(field, name, buffers);
      if (end == text.size()) break;
      text.remove_prefix(end + 1);
    }
    if (bytes_.empty()) throw UsageError("'struct:' has no fields; give them as in 'struct:i32:5; f32:1.5'");
    append({}, align_);
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  size_t align() const { return align_; }

 private:
  void add(std::string_view field, const std::string& name, Buffers& buffers) {
    if (const auto numbers = parse_numbers(field)) return append(numbers->bytes, numbers->align);
    if (field.starts_with("hex:")) return append(parse_hex(field.substr(4)), 1);
    if (field.starts_with("pad:")) {
      const std::optional<uint64_t> count = size_number(field.substr(4));
      if (!count || *count > kMostBytes) throw UsageError("'{}': is not a number of bytes", field);
      return append(std::vector<std::byte>(*count), 1);
    }
    const std::optional<uint64_t> address = parse_address(field, name, std::nullopt, std::nullopt, buffers);
    if (!address)
      throw UsageError(
          "field '{}': is not i32:5, f32:1,2, f32x4:1,2,3,4, buf:..., same:NAME, null, hex:0011 or pad:BYTES "
          "(fields are separated by ';', and each says its type)",
          field);
    append(std::as_bytes(std::span(&*address, 1)), sizeof *address);
  }

  void append(std::span<const std::byte> field, size_t align) {
    align_ = std::max(align_, align);
    bytes_.resize((bytes_.size() + align - 1) / align * align);
    bytes_.insert(bytes_.end(), field.begin(), field.end());
    if (bytes_.size() > kMostBytes)
      throw UsageError("the structure is larger than {}", short_bytes(kMostBytes));
  }

  static constexpr size_t kMostBytes = 1 << 20;
  std::vector<std::byte> bytes_;
  size_t align_ = 1;
};

}  // namespace

ArgumentSetter::ArgumentSetter(Buffers& buffers, const Kernel& kernel, Arguments& arguments)
    : buffers_(buffers),
      arguments_(arguments),
      kernel_name_(kernel.info().readable_name),
      infos_(kernel.arguments()) {
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

void ArgumentSetter::give_bytes(uint32_t index, std::span<const std::byte> bytes, size_t align) {
  if (!described_) return append(bytes.data(), bytes.size(), align);
  const uint32_t size = infos_[index].size;
  if (bytes.size() != size) throw UsageError("takes {} bytes, not {}", size, bytes.size());
  check(lockstep_arguments_set(arguments_.get(), index, bytes.data(), size));
}

// As when numpy's doubles are given to a kernel of floats.
void ArgumentSetter::note_other_type(uint32_t index, lockstep_type wanted, lockstep_type given) {
  if (size_of_type(wanted) == size_of_type(given) && is_float(wanted) == is_float(given)) return;
  if (given == LOCKSTEP_U8) return;  // bytes
  notes_ += fmt::format("note: {} of kernel '{}' is given elements of {}\n", label(index), kernel_name_,
                        name_of_type(given));
}

void ArgumentSetter::give_address(uint32_t index, uint64_t address) {
  if (described_)
    arguments_.set_address(index, address);
  else
    append(&address, sizeof address, sizeof address);
}

void ArgumentSetter::set_all(const std::vector<std::string>& specifications) {
  if (!described_) return set_undescribed(specifications);
  // Which of them are given is looked at first: where one is missing, those behind it are not what they were
  // meant for.
  std::vector<const std::string*> given(infos_.size());
  std::vector<const std::string*> in_order;
  std::vector<uint32_t> order;  // those with names first: same:NAME of one that goes by place finds them
  for (const std::string& text : specifications) {
    const size_t n = name_length(text);
    if (n == 0) {
      in_order.push_back(&text);
      continue;
    }
    const uint32_t index = arguments_.index(text.substr(0, n));
    if (given[index]) throw UsageError("{} of kernel '{}' is given twice", label(index), kernel_name_);
    given[index] = &text;
    order.push_back(index);
  }
  size_t position = 0;
  for (const std::string* text : in_order) {
    while (position < given.size() && given[position]) ++position;
    if (position == given.size())
      throw UsageError(
          "kernel '{}' takes {} arguments, not {}; '{}' is one too many ('lockstep info' lists them)",
          kernel_name_, infos_.size(), specifications.size(), *text);
    given[position] = text;
    order.push_back(static_cast<uint32_t>(position));
  }
  auto missing = std::find(given.begin(), given.end(), nullptr);
  if (missing != given.end())
    throw UsageError("kernel '{}' takes {} arguments, not {}; {} is missing ('lockstep info' lists them)",
                     kernel_name_, infos_.size(), specifications.size(),
                     label(static_cast<uint32_t>(missing - given.begin())));
  const auto accept = [&](uint32_t index) {
    const size_t n = name_length(*given[index]);
    try {
      set(index, n ? given[index]->substr(n + 1) : *given[index]);
    } catch (const UsageError& e) {
      throw UsageError("{} of kernel '{}': {}", label(index), kernel_name_, e.what());
    }
  };
  for (const uint32_t index : order) accept(index);
}

namespace {

// Throws UsageError where the text cannot be what the kernel takes.
void check_kind(const lockstep_argument_info& argument, std::string_view text) {
  const std::string_view kind = argument.kind_name;
  const bool is_pipe = kind == "pipe";
  if (is_pipe && !text.starts_with("pipe:") && !text.starts_with("same:"))
    throw UsageError(
        "is a pipe: give the type and number of its packets, such as pipe:i32[64], or same:NAME");
  if (!is_pipe && text.starts_with("pipe:")) throw UsageError("is no pipe, but {}", kind);
  if (argument.kind == LOCKSTEP_ARGUMENT_OTHER && !is_pipe && !is_null(text))
    throw UsageError("is of kind {}, which this machine does not have yet (null leaves it away)", kind);
}

}  // namespace

void ArgumentSetter::set(uint32_t index, std::string_view text) {
  const lockstep_argument_info& a = infos_[index];
  const std::string name = *a.name ? a.name : std::to_string(index);
  if (described_) check_kind(a, text);
  const std::optional<lockstep_type> elements = type_of_c_name(a.type_name);
  if (const auto address = parse_address(text, name, index, elements, buffers_)) {
    if (text.starts_with("buf:") && elements) note_other_type(index, *elements, buffers_.find(name).type);
    return give_address(index, *address);
  }
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return set_plain(index, text);
  if (const auto numbers = parse_numbers(text)) return set_numbers(index, *numbers);
  const std::string_view kind = text.substr(0, colon), rest = text.substr(colon + 1);
  if (kind == "hex") return give_bytes(index, parse_hex(rest), 1);
  if (kind == "struct") {
    const Structure structure(rest, name, buffers_);
    if (a.kind == LOCKSTEP_ARGUMENT_BUFFER)
      throw UsageError(
          "is a pointer: it takes a buffer, and structures in memory are a buffer's bytes (buf:FILE.raw, or "
          "buf:u8[BYTES] and the like); struct: is for those that are passed by value");
    if (described_ && structure.bytes().size() != a.size)
      throw UsageError(
          "takes {} bytes, but the fields make {}, laid out as C does (f32x4 is a vector, f32:1,2,3,4 an "
          "array "
          "that is aligned as its elements are)",
          a.size, structure.bytes().size());
    return give_bytes(index, structure.bytes(), structure.align());
  }
  if (kind == "local" && !described_)
    throw UsageError("the kernel does not describe its arguments; give dynamic LDS with --lds");
  if (kind == "local") {
    std::optional<uint64_t> bytes = size_number(rest);
    if (!bytes || *bytes > UINT32_MAX) throw UsageError("'{}' is not a number of bytes", rest);
    arguments_.set_local(index, static_cast<uint32_t>(*bytes));
    return;
  }
  throw UsageError(
      "'{}' begins with the unknown kind '{}' (scalars: i32:5, f32:1.5; buffers: buf:..., same:NAME; "
      "local:BYTES; "
      "struct:...; hex:...; null)",
      text, kind);
}

void ArgumentSetter::set_numbers(uint32_t index, const Numbers& numbers) {
  if (numbers.count == 1 && described_)
    return check(lockstep_arguments_set_scalar(arguments_.get(), index, numbers.type, numbers.bytes.data()));
  if (described_) {
    const lockstep_argument_info& a = infos_[index];
    unsigned lanes = 1;
    const std::optional<lockstep_type> type = type_of_c_name(a.type_name, &lanes);
    if (a.kind != LOCKSTEP_ARGUMENT_VALUE) throw UsageError("is no vector, but {}", a.kind_name);
    if (type && is_float(*type) != is_float(numbers.type))
      throw UsageError("does not take {}", name_of_type(numbers.type));
    // A vector of three takes the room of one of four.
    const size_t element = size_of_type(numbers.type);
    if (numbers.count == 3 && a.size == 4 * element &&
        !(type && std::string_view(a.type_name).ends_with('4'))) {
      std::vector<std::byte> bytes = numbers.bytes;
      bytes.resize(a.size);
      return give_bytes(index, bytes, numbers.align);
    }
  }
  give_bytes(index, numbers.bytes, numbers.align);
}

void ArgumentSetter::set_plain(uint32_t index, std::string_view text) {
  const lockstep_argument_info& a = infos_[index];
  unsigned vector = 1;
  std::optional<lockstep_type> type = type_of_c_name(a.type_name, &vector);
  // Those of extern "C" kernels of HIP are not known; an integer and a float of the same size cannot be told
  // apart.
  if (a.kind == LOCKSTEP_ARGUMENT_VALUE && !*a.type_name)
    throw UsageError(
        "'{}': the code object does not name this argument's type; say it, such as i32:{} or f32:{}", text,
        text, text);
  if (a.kind == LOCKSTEP_ARGUMENT_BUFFER)
    throw UsageError(
        "'{}' is no buffer: {}", text,
        looks_like_contents(text)
            ? fmt::format("say buf:{}", text)
            : "it takes one, such as buf:f32[1024], buf:u32[64]=iota, buf:FILE.npy, same:NAME or null");
  if (a.kind == LOCKSTEP_ARGUMENT_LOCAL)
    throw UsageError("'{}' has no kind: it takes a number of bytes of LDS, such as local:4k", text);
  if (a.kind != LOCKSTEP_ARGUMENT_VALUE || !type)
    throw UsageError(
        "'{}' has no kind (scalars: i32:5, f32:1.5; buffers: buf:..., same:NAME; local:BYTES; struct:...; "
        "null)",
        text);
  const Numbers numbers = parse_list(text, *type);
  if (vector != 1 && numbers.count == 1)
    throw UsageError("'{}' is one number for a vector; give them all, such as 1,2,3,4", text);
  set_numbers(index, numbers);
}

namespace {

void set_variable(std::string_view text, Device& device, const CodeObject& code, Buffers& buffers) {
  const size_t n = name_length(text);
  if (!n) throw UsageError("give NAME=VALUE, such as factor=f32:1.5 or table=f32[256]=iota");
  const std::string name(text.substr(0, n));
  const std::string_view value = text.substr(n + 1);
  uint64_t address = 0, size = 0;
  check(lockstep_device_symbol(device.get(), code.get(), name.c_str(), &address, &size));
  NamedBuffer variable{
      name, std::nullopt, LOCKSTEP_U8, {size}, {reinterpret_cast<std::byte*>(address), size}};
  std::vector<std::byte> bytes;
  if (const auto numbers = parse_numbers(value)) {
    bytes = numbers->bytes;
    variable.type = numbers->type;
    variable.shape = {bytes.size() / size_of_type(numbers->type)};
  } else if (value.starts_with("hex:")) {
    bytes = parse_hex(value.substr(4));
  } else if (value.starts_with("struct:")) {
    const Structure structure(value.substr(7), name, buffers);
    bytes.assign(structure.bytes().begin(), structure.bytes().end());
  } else if (const auto pointer = parse_address(value, name, std::nullopt, std::nullopt, buffers)) {
    bytes.resize(sizeof *pointer);
    std::memcpy(bytes.data(), &*pointer, sizeof *pointer);
  } else {
    if (!value.empty() && std::string_view("+-.0123456789").find(value[0]) != std::string_view::npos &&
        value.find_first_not_of("+-.,0123456789eExXabcdefABCDEF") == std::string_view::npos)
      throw UsageError("the numbers have no type: give it, such as f32:{} or i32:{}", value, value);
    const Contents contents =
        parse_contents(value.starts_with("file:") ? value.substr(5) : value, std::nullopt);
    if (contents.bytes > size) throw UsageError("{} bytes are too many, it has {}", contents.bytes, size);
    bytes.resize(contents.bytes);
    write_contents(contents, bytes);
    variable.type = contents.array.type;
    variable.shape = contents.array.shape;
  }
  if (bytes.size() != size) throw UsageError("has {} bytes, not {}", size, bytes.size());
  check(lockstep_memory_write(device.get(), address, bytes.data(), bytes.size()));
  // Under a pointer's name there is the buffer that it points to.
  if (!value.starts_with("buf:")) buffers.add(std::move(variable));
}

}  // namespace

void set_variables(const std::vector<std::string>& specifications, Device& device, const CodeObject& code,
                   Buffers& buffers) {
  for (const std::string& text : specifications) {
    try {
      set_variable(text, device, code, buffers);
    } catch (const UsageError& e) {
      throw UsageError("--set {}: {}", text, e.what());
    }
  }
}

}  // namespace lockstep::cli

// Kernels of the user's own: a JSON file says what to compile, with which sizes and arguments.
#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "bench/workload.h"

namespace lockstep::bench {
namespace {

using nlohmann::json;
using Names = std::vector<std::string_view>;
using MakeWords = std::function<Words()>;

constexpr uint64_t kMostWords = 1u << 28;

std::string list_of(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::string contents_of(const std::filesystem::path& path, const std::string& what) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    throw std::runtime_error(what + ": cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
T integer(const json& value, const std::string& what) {
  if (value.is_number_unsigned() && std::in_range<T>(value.get<uint64_t>())) return value.get<T>();
  if (value.is_number_integer() && !value.is_number_unsigned() && std::in_range<T>(value.get<int64_t>()))
    return value.get<T>();
  throw std::runtime_error(what + " is not a whole number from " +
                           std::to_string(std::numeric_limits<T>::min()) + " to " +
                           std::to_string(std::numeric_limits<T>::max()));
}

// An object of which every field is known, and what messages call it.
class Fields {
 public:
  Fields(const json& object, std::string what, const Names& known) : object_(object), what_(std::move(what)) {
    if (!object.is_object()) throw std::runtime_error(what_ + " is not an object: {...}");
    for (const auto& [name, value] : object.items())
      if (std::ranges::find(known, name) == known.end())
        throw std::runtime_error(what_ + " has the unknown field '" + name + "' (there are " +
                                 list_of(known) + ")");
  }

  bool has(const char* name) const { return object_.contains(name); }
  const json& at(const char* name) const {
    if (!has(name)) throw std::runtime_error(what_ + " has no '" + name + "'");
    return object_.at(name);
  }
  const json& list(const char* name) const {
    if (!at(name).is_array()) throw wrong(name, "a list");
    return at(name);
  }
  std::string text(const char* name) const {
    if (!at(name).is_string()) throw wrong(name, "a text");
    return at(name).get<std::string>();
  }
  std::string text(const char* name, const std::string& otherwise) const {
    return has(name) ? text(name) : otherwise;
  }
  double number(const char* name, double otherwise) const {
    if (!has(name)) return otherwise;
    if (!at(name).is_number()) throw wrong(name, "a number");
    return at(name).get<double>();
  }
  uint32_t count(const char* name, uint64_t least, uint64_t most) const {
    const json& value = at(name);
    if (!value.is_number_unsigned() || value.get<uint64_t>() < least || value.get<uint64_t>() > most)
      throw wrong(name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return value.get<uint32_t>();
  }
  uint32_t count(const char* name, uint64_t least, uint64_t most, uint32_t otherwise) const {
    return has(name) ? count(name, least, most) : otherwise;
  }
  // A size along one to three axes.
  std::vector<uint32_t> extent(const char* name, uint64_t most) const {
    std::vector<uint32_t> sizes;
    for (const json& size : list(name)) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() < 1 || size.get<uint64_t>() > most)
        throw wrong(name, "a list of whole numbers from 1 to " + std::to_string(most));
      sizes.push_back(size.get<uint32_t>());
    }
    if (sizes.empty() || sizes.size() > 3) throw wrong(name, "a list of one to three numbers");
    return sizes;
  }

  std::runtime_error wrong(const char* name, const std::string& wanted) const {
    return std::runtime_error(what_ + ": '" + name + "' is not " + wanted);
  }
  const std::string& what() const { return what_; }

 private:
  const json& object_;
  std::string what_;
};

// Values of OpenCL C's types.

struct Value {
  std::vector<std::byte> bytes;
  size_t alignment = 1;
};

template <class T>
void append(Value& value, const json& number, const std::string& what) {
  T element;
  if constexpr (std::is_integral_v<T>) {
    element = integer<T>(number, what);
  } else {
    if (!number.is_number()) throw std::runtime_error(what + " is not a number");
    element = number.get<T>();
  }
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof element>>(element);
  value.bytes.insert(value.bytes.end(), bytes.begin(), bytes.end());
}

constexpr struct {
  std::string_view name;
  void (*append)(Value& value, const json& number, const std::string& what);
} kTypes[] = {
    {"char", append<int8_t>},     {"uchar", append<uint8_t>},  {"short", append<int16_t>},
    {"ushort", append<uint16_t>}, {"int", append<int32_t>},    {"uint", append<uint32_t>},
    {"long", append<int64_t>},    {"ulong", append<uint64_t>}, {"float", append<float>},
    {"double", append<double>},
};

// {"int": 5} or {"float4": [1, 2, 3, 4]}.
Value scalar_or_vector(const std::string& type, const json& contents, const std::string& what) {
  const size_t digit = std::min(type.find_first_of("0123456789"), type.size());
  const std::string width = type.substr(digit);
  const auto* const element =
      std::ranges::find(kTypes, type.substr(0, digit), [](const auto& t) { return t.name; });
  constexpr std::string_view kWidths[] = {"", "2", "3", "4", "8", "16"};
  if (element == std::end(kTypes) || std::ranges::find(kWidths, width) == std::end(kWidths))
    throw std::runtime_error(
        what + " is of the unknown kind '" + type +
        "' (buffers: floats, doubles, integers, iota, zeros, words, file; values: char, uchar, short, "
        "ushort, int, uint, long, ulong, float, double, with 2, 3, 4, 8 or 16 for vectors, structure; "
        "bytes of LDS: local)");
  const std::string where = what + ": '" + type + "'";
  Value value;
  if (width.empty()) {
    element->append(value, contents, where);
  } else {
    if (!contents.is_array() || contents.size() != std::stoul(width))
      throw std::runtime_error(where + " is not a list of " + width + " numbers");
    for (const json& number : contents) element->append(value, number, where);
    // A vector of three is as large as one of four.
    if (width == "3") element->append(value, 0, where);
  }
  value.alignment = value.bytes.size();
  return value;
}

void align(std::vector<std::byte>& bytes, size_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

// The members of a structure that is passed by value, where C puts them.
Value structure(const json& members, const std::string& what) {
  if (!members.is_array() || members.empty())
    throw std::runtime_error(what + ": 'structure' is not a list such as [{\"int\": 5}, {\"float\": 1.5}]");
  Value whole;
  for (size_t i = 0; i < members.size(); ++i) {
    const json& member = members[i];
    const std::string where = what + ": member " + std::to_string(i);
    if (!member.is_object() || member.size() != 1)
      throw std::runtime_error(where + " is not an object of one field such as {\"int\": 5}");
    const Value value = scalar_or_vector(member.begin().key(), member.front(), where);
    align(whole.bytes, value.alignment);
    whole.bytes.insert(whole.bytes.end(), value.bytes.begin(), value.bytes.end());
    whole.alignment = std::max(whole.alignment, value.alignment);
  }
  align(whole.bytes, whole.alignment);
  return whole;
}

// Contents of buffers. They are made when the kernel is measured, since those of all may not fit in memory.

MakeWords floats(const Fields& fields, bool wide) {
  const char* const name = wide ? "doubles" : "floats";
  const uint32_t count = fields.count(name, 1, kMostWords / (wide ? 2 : 1));
  const uint32_t seed = fields.count("seed", 0, UINT32_MAX, 1);
  const double from = fields.number("from", -0.5), to = fields.number("to", 0.5);
  return [=] {
    const Words random = random_floats(count, seed);
    Words words;
    words.reserve(random.size() * (wide ? 2 : 1));
    for (const uint32_t word : random) {
      const double value = from + (double{std::bit_cast<float>(word)} + 0.5) * (to - from);
      if (!wide) {
        words.push_back(std::bit_cast<uint32_t>(static_cast<float>(value)));
        continue;
      }
      const auto bits = std::bit_cast<uint64_t>(value);
      words.push_back(static_cast<uint32_t>(bits));
      words.push_back(static_cast<uint32_t>(bits >> 32));
    }
    return words;
  };
}

MakeWords iota(const Fields& fields) {
  const uint32_t count = fields.count("iota", 1, kMostWords);
  const uint32_t start = fields.count("start", 0, UINT32_MAX, 0);
  const uint32_t step = fields.count("step", 0, UINT32_MAX, 1);
  const uint64_t modulo = fields.has("modulo") ? fields.count("modulo", 1, UINT32_MAX) : uint64_t{1} << 32;
  return [=] {
    Words words(count);
    for (uint64_t i = 0; i < count; ++i) words[i] = static_cast<uint32_t>((start + i * step) % modulo);
    return words;
  };
}

// Whole numbers as integers, others (1.0 is one) as floats.
MakeWords listed(const Fields& fields) {
  Words words;
  for (const json& number : fields.list("words"))
    if (number.is_number_float())
      words.push_back(std::bit_cast<uint32_t>(number.get<float>()));
    else if (number.is_number_integer() && !number.is_number_unsigned())
      words.push_back(static_cast<uint32_t>(integer<int32_t>(number, fields.what() + ": a word")));
    else
      words.push_back(integer<uint32_t>(number, fields.what() + ": a word"));
  if (words.empty()) throw fields.wrong("words", "a list of one number or more");
  return [=] { return words; };
}

MakeWords words_of_file(const Fields& fields, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / fields.text("file");
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) throw std::runtime_error(fields.what() + ": cannot read " + path.string());
  if (bytes == 0 || bytes > kMostWords * 4)
    throw std::runtime_error(fields.what() + ": " + path.string() + " has " + std::to_string(bytes) +
                             " bytes, and a buffer from 1 to " + std::to_string(kMostWords * 4));
  return [path] {
    const std::string contents = contents_of(path, "a buffer's file");
    Words words((contents.size() + 3) / 4);
    std::memcpy(words.data(), contents.data(), contents.size());
    return words;
  };
}

class Reader {
 public:
  explicit Reader(const std::string& path)
      : path_(path), folder_(std::filesystem::path(path).parent_path()) {}

  std::vector<WorkloadMaker> kernels() const {
    json file;
    try {
      file = json::parse(contents_of(path_, "--file"));
    } catch (const json::exception& error) {
      throw std::runtime_error(path_ + " is not JSON: " + error.what());
    }
    const Fields fields(file, path_, {"kernels"});
    std::vector<WorkloadMaker> makers;
    for (const json& one : fields.list("kernels"))
      makers.push_back(kernel(one, path_ + ": kernel " + std::to_string(makers.size())));
    if (makers.empty()) throw fields.wrong("kernels", "a list of one kernel or more");
    return makers;
  }

 private:
  WorkloadMaker kernel(const json& object, std::string what) const {
    // By its name, as far as it has one.
    if (object.is_object())
      for (const char* name : {"kernel", "name"})
        if (object.contains(name) && object.at(name).is_string())
          what = path_ + ": kernel '" + object.at(name).get<std::string>() + "'";
    const Fields fields(object, what,
                        {"name", "source", "options", "kernel", "grid", "group", "dispatches", "result",
                         "kind", "arguments"});
    Workload work;
    work.kernel = fields.text("kernel");
    const std::filesystem::path source = folder_ / fields.text("source");
    work.source = contents_of(source, what);
    work.file = source.string();
    work.options = options(fields, source.parent_path());
    sizes(fields, work);
    work.dispatches = fields.count("dispatches", 1, 1'000'000, 1);
    work.kind = kind(fields);
    std::vector<MakeWords> buffers;
    for (const json& one : fields.list("arguments"))
      work.arguments.push_back(
          argument(one, what + ": argument " + std::to_string(work.arguments.size()), buffers));
    if (work.arguments.empty()) throw fields.wrong("arguments", "a list of one argument or more");
    const uint32_t result = fields.count("result", 0, work.arguments.size() - 1);
    work.result = work.arguments[result].buffer;
    if (work.result < 0)
      throw fields.wrong("result", "the number of a buffer among the arguments (from 0): argument " +
                                       std::to_string(result) + " is a value or LDS");
    return {fields.text("name", work.kernel), [work, buffers] {
              Workload filled = work;
              for (const MakeWords& make : buffers) filled.buffers.push_back(make());
              return filled;
            }};
  }

  // Both compilers find what is included from where the source is.
  static std::vector<std::string> options(const Fields& fields, const std::filesystem::path& folder) {
    const std::filesystem::path from = folder.empty() ? std::filesystem::current_path() : absolute(folder);
    std::vector<std::string> options{"-I" + from.string()};
    std::istringstream text(fields.text("options", ""));
    bool is_folder = false;
    for (std::string option; text >> option;) {
      if (is_folder)
        option = (from / option).string();
      else if (option.starts_with("-I") && option.size() > 2)
        option = "-I" + (from / option.substr(2)).string();
      is_folder = option == "-I";
      options.push_back(option);
    }
    return options;
  }

  static void sizes(const Fields& fields, Workload& work) {
    const std::vector<uint32_t> grid = fields.extent("grid", INT32_MAX), group = fields.extent("group", 1024);
    if (grid.size() != group.size()) throw fields.wrong("group", "a list as long as 'grid'");
    work.dimensions = static_cast<unsigned>(grid.size());
    uint64_t items = 1;
    for (size_t axis = 0; axis < grid.size(); ++axis) {
      if (grid[axis] % group[axis] != 0)
        throw std::runtime_error(fields.what() + ": a grid of " + std::to_string(grid[axis]) +
                                 " work-items along axis " + std::to_string(axis) +
                                 " is not a multiple of the group's " + std::to_string(group[axis]) +
                                 " (make 'grid' larger; it counts work-items)");
      work.grid[axis] = grid[axis];
      work.group[axis] = group[axis];
      items *= group[axis];
    }
    if (items > 1024)
      throw std::runtime_error(fields.what() + ": a group of " + std::to_string(items) +
                               " work-items is too large (make 'group' 1024 or smaller)");
  }

  static Workload::Result kind(const Fields& fields) {
    const std::string kind = fields.text("kind", "floats");
    if (kind == "floats") return Workload::Result::floats;
    if (kind == "integers") return Workload::Result::integers;
    if (kind == "doubles") return Workload::Result::doubles;
    throw fields.wrong("kind", "floats, integers or doubles");
  }

  Argument argument(const json& object, const std::string& what, std::vector<MakeWords>& buffers) const {
    if (!object.is_object() || object.empty())
      throw std::runtime_error(what + " is not an object such as {\"zeros\": 1024} or {\"int\": 5}");
    const auto is = [&](const char* kind) { return object.contains(kind); };
    const auto buffer = [&](MakeWords make) {
      buffers.push_back(std::move(make));
      return Argument{.buffer = static_cast<int>(buffers.size()) - 1};
    };
    if (is("floats")) return buffer(floats(Fields(object, what, {"floats", "seed", "from", "to"}), false));
    if (is("doubles")) return buffer(floats(Fields(object, what, {"doubles", "seed", "from", "to"}), true));
    if (is("iota")) return buffer(iota(Fields(object, what, {"iota", "start", "step", "modulo"})));
    if (is("words")) return buffer(listed(Fields(object, what, {"words"})));
    if (is("file")) return buffer(words_of_file(Fields(object, what, {"file"}), folder_));
    if (is("integers")) {
      const Fields fields(object, what, {"integers", "seed", "below"});
      return buffer(
          [count = fields.count("integers", 1, kMostWords), seed = fields.count("seed", 0, UINT32_MAX, 1),
           below = fields.count("below", 1, UINT32_MAX, 0)] { return random_integers(count, seed, below); });
    }
    if (is("zeros"))
      return buffer(
          [count = Fields(object, what, {"zeros"}).count("zeros", 1, kMostWords)] { return Words(count); });
    if (is("local")) return {.local_bytes = Fields(object, what, {"local"}).count("local", 1, 65536)};
    if (is("structure"))
      return {.value = structure(Fields(object, what, {"structure"}).at("structure"), what).bytes};
    const std::string type = object.begin().key();
    Argument value{.value = scalar_or_vector(type, object.front(), what).bytes};
    Fields(object, what, {type});  // and nothing else
    return value;
  }

  std::string path_;
  std::filesystem::path folder_;
};

}  // namespace

std::vector<WorkloadMaker> own_kernels(const std::string& path) {
  return Reader(path).kernels();
}

}  // namespace lockstep::bench

#include "dump/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "memory/address_space.h"
#include "text/hex.h"

namespace lockstep::dump {

namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kHighestAddress = uint64_t{1} << 47;
constexpr uint64_t kMostMemory = uint64_t{1} << 40;  // page after page of it is looked at when it is compared

std::string access_text(uint8_t access) {
  std::string text;
  for (const auto& [bit, letter] : {std::pair{kRead, 'r'}, {kWrite, 'w'}, {kExecute, 'x'}})
    text += access & bit ? letter : '-';
  return text;
}

// Reads members of an object; throws std::runtime_error that names them.
class Reader {
 public:
  Reader(const Json& json, std::string name) : json_(json), name_(std::move(name)) {
    if (!json.is_object()) throw std::runtime_error(name_ + " is no JSON object");
  }

  const Json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) throw std::runtime_error(name_ + " has no '" + key + "'");
    return *found;
  }
  bool has(const char* key) const { return json_.contains(key); }
  uint64_t number(const char* key, uint64_t most) const { return number_of(at(key), key, most); }
  uint64_t address(const char* key, uint64_t most = UINT64_MAX) const {
    return address_of(at(key), key, most);
  }
  bool boolean(const char* key) const {
    if (!at(key).is_boolean()) fail(key, "true or false");
    return at(key).get<bool>();
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) fail(key, "a string");
    return at(key).get<std::string>();
  }
  const Json& list(const char* key, size_t most) const {
    if (!at(key).is_array() || at(key).size() > most)
      fail(key, fmt::format("a list of at most {} elements", most).c_str());
    return at(key);
  }
  std::array<uint32_t, 3> triple(const char* key) const {
    std::array<uint32_t, 3> values{};
    if (list(key, 3).size() != 3) fail(key, "a list of three numbers");
    for (size_t i = 0; i < 3; ++i) values[i] = static_cast<uint32_t>(number_of(at(key)[i], key, UINT32_MAX));
    return values;
  }
  uint64_t number_of(const Json& json, const char* key, uint64_t most) const {
    if (!json.is_number_unsigned() || json.get<uint64_t>() > most)
      fail(key, fmt::format("a number up to {}", most).c_str());
    return json.get<uint64_t>();
  }
  // Hexadecimal: JSON's own numbers are hard to read as addresses, and other programs take them for doubles.
  uint64_t address_of(const Json& json, const char* key, uint64_t most) const {
    if (!json.is_string()) fail(key, "a string such as \"0x7f00\"");
    const auto& text = json.get_ref<const std::string&>();
    uint64_t value = 0;
    const char* const end = text.data() + text.size();
    if (!text.starts_with("0x") || std::from_chars(text.data() + 2, end, value, 16).ptr != end ||
        text.size() > 18 || value > most)
      fail(key, "a string such as \"0x7f00\"");
    return value;
  }

 private:
  [[noreturn]] void fail(const char* key, const char* wanted) const {
    throw std::runtime_error(fmt::format("'{}' of {} is not {}", key, name_, wanted));
  }

  const Json& json_;
  const std::string name_;
};

void read_ranges(const Reader& reader, std::vector<MemoryRange>& ranges) {
  constexpr size_t kMost = 1 << 20;
  uint64_t before = 0, all = 0;
  for (const Json& json : reader.list("memory", kMost)) {
    const Reader one(json, "a range of memory");
    MemoryRange range;
    range.begin = one.address("begin", kHighestAddress);
    range.end = one.address("end", kHighestAddress);
    range.name = one.text("name");
    range.compared = one.boolean("compared");
    const std::string access = one.text("access");
    for (const uint8_t bits : {1, 2, 3, 4, 5, 6, 7})
      if (access == access_text(bits)) range.access = bits;
    if (range.access == 0) throw std::runtime_error("the access '" + access + "' is none such as rw-");
    if (range.begin < std::max(before, kPageBytes) || range.begin >= range.end)
      throw std::runtime_error("the range at " + hex(range.begin) +
                               " is empty, or not behind those before it");
    before = range.end;
    all += range.end - range.begin;
    if (all > kMostMemory) throw std::runtime_error("the ranges of memory are more than any host has");
    ranges.push_back(std::move(range));
  }
}

void read_code(const Reader& reader, const std::vector<MemoryRange>& ranges, std::vector<CodeRange>& code) {
  constexpr size_t kMost = 1 << 16;
  for (const Json& json : reader.list("code", kMost)) {
    const Reader one(json, "a range of code");
    const CodeRange range{one.address("begin"), one.address("end"), 0};
    // Instructions are fetched from there without another look.
    const auto behind = std::upper_bound(ranges.begin(), ranges.end(), range.begin,
                                         [](uint64_t at, const MemoryRange& r) { return at < r.begin; });
    if (range.begin % 4 != 0 || range.end % 4 != 0 || range.begin >= range.end || behind == ranges.begin() ||
        range.end > std::prev(behind)->end || !(std::prev(behind)->access & kExecute))
      throw std::runtime_error("the code at " + hex(range.begin) + " is not in executable memory");
    code.push_back(range);
  }
}

Dispatch read_dispatch(const Json& json) {
  const Reader reader(json, "the description");
  Dispatch dispatch;
  machine::Launch& launch = dispatch.launch;
  dispatch.device = reader.text("device");
  dispatch.kernel = reader.text("kernel");
  dispatch.bias = reader.address("bias");
  launch.entry = reader.address("entry");
  launch.grid = reader.triple("grid");
  launch.group = reader.triple("group");
  launch.first_group = reader.triple("first_group");
  launch.wave_size = static_cast<unsigned>(reader.number("wave_size", 64));
  launch.null_waves = static_cast<uint32_t>(reader.number("null_waves", 32));
  launch.rsrc1 = static_cast<uint32_t>(reader.number("rsrc1", UINT32_MAX));
  launch.rsrc2 = static_cast<uint32_t>(reader.number("rsrc2", UINT32_MAX));
  launch.rsrc3 = static_cast<uint32_t>(reader.number("rsrc3", UINT32_MAX));
  launch.lds_bytes = static_cast<uint32_t>(reader.number("lds_bytes", 65536));
  launch.scratch_bytes = static_cast<uint32_t>(reader.number("scratch_bytes", UINT32_MAX));
  launch.vgpr_count = static_cast<unsigned>(reader.number("vgprs", 256));
  launch.uses_exceptions = reader.boolean("uses_exceptions");
  launch.ordered_append = reader.boolean("ordered_append");
  launch.doorbell_id = static_cast<uint32_t>(reader.number("doorbell", UINT32_MAX));
  launch.dispatch_id = static_cast<uint32_t>(reader.number("packet", UINT32_MAX));
  constexpr size_t kMostUserData = 32;
  for (const Json& value : reader.list("user_data", kMostUserData))
    launch.user_data.push_back(static_cast<uint32_t>(reader.number_of(value, "user_data", UINT32_MAX)));
  read_ranges(reader, dispatch.ranges);
  read_code(reader, dispatch.ranges, launch.code);
  if (reader.has("scratch")) {
    const Reader one(reader.at("scratch"), "scratch");
    dispatch.scratch = {one.address("base", kHighestAddress),
                        static_cast<uint32_t>(one.number("wave_bytes", UINT32_MAX)),
                        static_cast<uint32_t>(one.number("engines", 64)),
                        static_cast<uint32_t>(one.number("waves_per_engine", 0xfff))};
  }
  return dispatch;
}

// Of text that anybody may have written.
template <class Value, class Read>
loader::Result<Value> parsed(std::string_view text, std::string_view where, Read read) {
  try {
    return read(Json::parse(text));
  } catch (const std::exception& error) {  // of the parser, too
    return loader::Error{error.what(), std::string(where), "the dump is damaged; copy or write it again"};
  }
}

}  // namespace

std::vector<PageRun> page_runs(const std::vector<MemoryRange>& ranges) {
  std::vector<PageRun> runs;
  for (const MemoryRange& range : ranges) {
    const uint64_t begin = range.begin & ~(kPageBytes - 1);
    const uint64_t end = (range.end + kPageBytes - 1) & ~(kPageBytes - 1);
    if (!runs.empty() && begin <= runs.back().end)
      runs.back().end = std::max(runs.back().end, end);
    else
      runs.push_back({begin, end});
  }
  return runs;
}

std::string text_of(const Dispatch& dispatch) {
  const machine::Launch& launch = dispatch.launch;
  Json json;
  json["device"] = dispatch.device;
  json["kernel"] = dispatch.kernel;
  json["bias"] = hex(dispatch.bias);
  json["entry"] = hex(launch.entry);
  json["grid"] = launch.grid;
  json["group"] = launch.group;
  json["first_group"] = launch.first_group;
  json["wave_size"] = launch.wave_size;
  json["null_waves"] = launch.null_waves;
  json["rsrc1"] = launch.rsrc1;
  json["rsrc2"] = launch.rsrc2;
  json["rsrc3"] = launch.rsrc3;
  json["lds_bytes"] = launch.lds_bytes;
  json["scratch_bytes"] = launch.scratch_bytes;
  json["vgprs"] = launch.vgpr_count;
  json["uses_exceptions"] = launch.uses_exceptions;
  json["ordered_append"] = launch.ordered_append;
  json["doorbell"] = launch.doorbell_id;
  json["packet"] = launch.dispatch_id;
  json["user_data"] = launch.user_data;
  json["code"] = Json::array();
  for (const CodeRange& range : launch.code)
    json["code"].push_back({{"begin", hex(range.begin)}, {"end", hex(range.end)}});
  if (const auto& scratch = dispatch.scratch)
    json["scratch"] = {{"base", hex(scratch->base)},
                       {"wave_bytes", scratch->wave_bytes},
                       {"engines", scratch->engines},
                       {"waves_per_engine", scratch->waves_per_engine}};
  json["memory"] = Json::array();
  for (const MemoryRange& range : dispatch.ranges)
    json["memory"].push_back({{"begin", hex(range.begin)},
                              {"end", hex(range.end)},
                              {"access", access_text(range.access)},
                              {"name", range.name},
                              {"compared", range.compared}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(const End& end) {
  const Json json = {{"waves", end.waves},
                     {"wave_instructions", end.wave_instructions},
                     {"cancelled", end.cancelled},
                     {"fault", end.fault}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

loader::Result<Dispatch> dispatch_of(std::string_view text, std::string_view where) {
  return parsed<Dispatch>(text, where, read_dispatch);
}

loader::Result<End> end_of(std::string_view text, std::string_view where) {
  return parsed<End>(text, where, [](const Json& json) {
    const Reader reader(json, "the end");
    return End{reader.number("waves", UINT64_MAX), reader.number("wave_instructions", UINT64_MAX),
               reader.boolean("cancelled"), reader.text("fault")};
  });
}

}  // namespace lockstep::dump

#include "loader/metadata.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "text/visible.h"

namespace lockstep::loader {
namespace {

using json = nlohmann::json;

constexpr struct {
  ValueKind kind;
  std::string_view name;
} kKindNames[] = {
    {ValueKind::by_value, "by_value"},
    {ValueKind::global_buffer, "global_buffer"},
    {ValueKind::dynamic_shared_pointer, "dynamic_shared_pointer"},
    {ValueKind::sampler, "sampler"},
    {ValueKind::image, "image"},
    {ValueKind::pipe, "pipe"},
    {ValueKind::queue, "queue"},
    {ValueKind::hidden_none, "hidden_none"},
    {ValueKind::hidden_global_offset_x, "hidden_global_offset_x"},
    {ValueKind::hidden_global_offset_y, "hidden_global_offset_y"},
    {ValueKind::hidden_global_offset_z, "hidden_global_offset_z"},
    {ValueKind::hidden_printf_buffer, "hidden_printf_buffer"},
    {ValueKind::hidden_hostcall_buffer, "hidden_hostcall_buffer"},
    {ValueKind::hidden_default_queue, "hidden_default_queue"},
    {ValueKind::hidden_completion_action, "hidden_completion_action"},
    {ValueKind::hidden_multigrid_sync_arg, "hidden_multigrid_sync_arg"},
    {ValueKind::hidden_block_count_x, "hidden_block_count_x"},
    {ValueKind::hidden_block_count_y, "hidden_block_count_y"},
    {ValueKind::hidden_block_count_z, "hidden_block_count_z"},
    {ValueKind::hidden_group_size_x, "hidden_group_size_x"},
    {ValueKind::hidden_group_size_y, "hidden_group_size_y"},
    {ValueKind::hidden_group_size_z, "hidden_group_size_z"},
    {ValueKind::hidden_remainder_x, "hidden_remainder_x"},
    {ValueKind::hidden_remainder_y, "hidden_remainder_y"},
    {ValueKind::hidden_remainder_z, "hidden_remainder_z"},
    {ValueKind::hidden_grid_dims, "hidden_grid_dims"},
    {ValueKind::hidden_heap_v1, "hidden_heap_v1"},
    {ValueKind::hidden_dynamic_lds_size, "hidden_dynamic_lds_size"},
    {ValueKind::hidden_private_base, "hidden_private_base"},
    {ValueKind::hidden_shared_base, "hidden_shared_base"},
    {ValueKind::hidden_queue_ptr, "hidden_queue_ptr"},
};

// Older producers write HiddenGlobalOffsetX for hidden_global_offset_x.
std::string snake_case(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::isupper(static_cast<unsigned char>(c))) {
      if (!out.empty()) out += '_';
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out;
}

ValueKind value_kind(std::string_view text) {
  std::string name = snake_case(text);
  for (const auto& row : kKindNames)
    if (row.name == name) return row.kind;
  // A hidden argument of a newer compiler is still none of the caller's; it stays zero.
  return name.starts_with("hidden_") ? ValueKind::hidden_none : ValueKind::unknown;
}

// nlohmann's reader recurses once for each level of nesting; real metadata has five levels.
constexpr int kMaxDepth = 32;

// Walks the document without keeping it and stops when it nests too deep.
struct DepthCheck : json::json_sax_t {
  int depth = 0;
  bool too_deep = false;
  std::string problem;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool enter() {
    too_deep = ++depth > kMaxDepth;
    return !too_deep;
  }
  bool leave() {
    --depth;
    return true;
  }
  bool start_object(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) override {
    problem = e.what();
    return false;
  }
};

const json* find(const json& map, std::string_view key) {
  auto it = map.find(std::string(key));
  if (it == map.end() && key.starts_with('.')) it = map.find(std::string(key.substr(1)));
  return it == map.end() ? nullptr : &*it;
}

std::string text(const json& map, std::string_view key) {
  const json* value = find(map, key);
  return value && value->is_string() ? visible(value->get_ref<const std::string&>(), std::string::npos)
                                     : std::string();
}

std::optional<uint64_t> number(const json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer() && value.get<int64_t>() >= 0) return value.get<int64_t>();
  return std::nullopt;
}

template <class T>
std::optional<T> number(const json& map, std::string_view key) {
  const json* value = find(map, key);
  std::optional<uint64_t> n = value ? number(*value) : std::nullopt;
  if (!n || *n > std::numeric_limits<T>::max()) return std::nullopt;
  return static_cast<T>(*n);
}

bool flag(const json& map, std::string_view key) {
  const json* value = find(map, key);
  if (!value) return false;
  if (value->is_boolean()) return value->get<bool>();
  return number(*value).value_or(0) != 0;
}

std::vector<uint32_t> numbers(const json& map, std::string_view key) {
  std::vector<uint32_t> out;
  const json* value = find(map, key);
  if (!value || !value->is_array()) return out;
  for (const json& element : *value)
    out.push_back(static_cast<uint32_t>(std::min<uint64_t>(number(element).value_or(0), UINT32_MAX)));
  return out;
}

std::optional<std::array<uint32_t, 3>> triple(const json& map, std::string_view key) {
  std::vector<uint32_t> list = numbers(map, key);
  if (list.size() != 3) return std::nullopt;
  return std::array<uint32_t, 3>{list[0], list[1], list[2]};
}

constexpr const char* kCompileAgain = "compile the kernel again with a current compiler";

// `where` makes the place for a message: only then, for names can be long.
template <class Where>
Result<Argument> parse_argument(const json& map, const Where& where) {
  if (!map.is_object()) return Error{"the argument is not a map", where(), kCompileAgain};
  Argument a;
  a.name = text(map, ".name");
  a.type_name = text(map, ".type_name");
  auto size = number<uint32_t>(map, ".size");
  auto offset = number<uint32_t>(map, ".offset");
  if (!size || !offset) return Error{"the argument has no valid .size and .offset", where(), kCompileAgain};
  a.size = *size;
  a.offset = *offset;
  a.kind_text = text(map, ".value_kind");
  a.kind = value_kind(a.kind_text);
  a.address_space = text(map, ".address_space");
  a.access = text(map, ".access");
  a.actual_access = text(map, ".actual_access");
  a.pointee_align = number<uint32_t>(map, ".pointee_align").value_or(0);
  a.is_const = flag(map, ".is_const");
  a.is_restrict = flag(map, ".is_restrict");
  a.is_volatile = flag(map, ".is_volatile");
  a.is_pipe = flag(map, ".is_pipe");
  return a;
}

Result<KernelMetadata> parse_kernel(const json& map, const std::string& where) {
  if (!map.is_object()) return Error{"the kernel is not a map", where, kCompileAgain};
  KernelMetadata k;
  k.name = text(map, ".name");
  k.symbol = text(map, ".symbol");
  if (k.symbol.empty() && !k.name.empty()) k.symbol = k.name + ".kd";
  if (k.name.empty() && k.symbol.ends_with(".kd")) k.name = k.symbol.substr(0, k.symbol.size() - 3);
  if (k.name.empty()) return Error{"the kernel has neither .name nor .symbol", where, kCompileAgain};
  k.language = text(map, ".language");
  k.language_version = numbers(map, ".language_version");
  k.kind = text(map, ".kind");
  if (k.kind.empty()) k.kind = "normal";
  k.vec_type_hint = text(map, ".vec_type_hint");
  k.device_enqueue_symbol = text(map, ".device_enqueue_symbol");
  k.required_workgroup_size = triple(map, ".reqd_workgroup_size");
  k.workgroup_size_hint = triple(map, ".workgroup_size_hint");
  k.max_flat_workgroup_size = number<uint32_t>(map, ".max_flat_workgroup_size");
  k.wavefront_size = number<uint32_t>(map, ".wavefront_size");
  k.kernarg_segment_size = number<uint64_t>(map, ".kernarg_segment_size").value_or(0);
  k.kernarg_segment_align = number<uint32_t>(map, ".kernarg_segment_align").value_or(0);
  k.group_segment_fixed_size = number<uint64_t>(map, ".group_segment_fixed_size").value_or(0);
  k.private_segment_fixed_size = number<uint64_t>(map, ".private_segment_fixed_size").value_or(0);
  k.sgpr_count = number<uint32_t>(map, ".sgpr_count");
  k.vgpr_count = number<uint32_t>(map, ".vgpr_count");
  k.agpr_count = number<uint32_t>(map, ".agpr_count");
  k.sgpr_spill_count = number<uint32_t>(map, ".sgpr_spill_count").value_or(0);
  k.vgpr_spill_count = number<uint32_t>(map, ".vgpr_spill_count").value_or(0);
  k.uses_dynamic_stack = flag(map, ".uses_dynamic_stack");
  if (find(map, ".workgroup_processor_mode"))
    k.workgroup_processor_mode = flag(map, ".workgroup_processor_mode");
  k.uniform_work_group_size = flag(map, ".uniform_work_group_size");

  const json* args = find(map, ".args");
  if (args && args->is_array()) {
    for (size_t i = 0; i < args->size(); ++i) {
      Result<Argument> a = parse_argument(
          (*args)[i], [&] { return where + " '" + visible(k.name) + "', argument " + std::to_string(i); });
      if (!a) return a.error();
      k.arguments.push_back(std::move(*a));
    }
  }
  return k;
}

}  // namespace

std::string_view name_of(ValueKind kind) {
  for (const auto& row : kKindNames)
    if (row.kind == kind) return row.name;
  return "unknown";
}

std::vector<const Argument*> KernelMetadata::user_arguments() const {
  std::vector<const Argument*> out;
  for (const Argument& a : arguments)
    if (!is_hidden(a.kind)) out.push_back(&a);
  return out;
}

Result<Metadata> parse_metadata(std::span<const std::byte> bytes, std::string_view where) {
  std::string place = std::string(where) + ", metadata note";
  const char* mend = "the file is damaged; copy or compile it again";
  auto* first = reinterpret_cast<const uint8_t*>(bytes.data());
  json root;
  try {
    DepthCheck check;
    json::sax_parse(first, first + bytes.size(), &check, json::input_format_t::msgpack, false);
    if (check.too_deep)
      return Error{"nests deeper than " + std::to_string(kMaxDepth) + " levels", place, mend};
    if (!check.problem.empty()) return Error{"not MessagePack: " + visible(check.problem), place, mend};
    // Not strict: the note is padded to 4 bytes.
    root = json::from_msgpack(first, first + bytes.size(), false);
  } catch (const std::exception& e) {
    return Error{"not MessagePack: " + visible(e.what()), place, mend};
  }
  if (!root.is_object()) return Error{"is not a map", place, mend};

  Metadata m;
  std::vector<uint32_t> version = numbers(root, "amdhsa.version");
  if (version.size() >= 2) {
    m.version_major = version[0];
    m.version_minor = version[1];
  }
  m.target = text(root, "amdhsa.target");
  if (const json* list = find(root, "amdhsa.printf"); list && list->is_array())
    for (const json& line : *list)
      if (line.is_string()) m.printf_formats.push_back(line.get<std::string>());
  if (const json* list = find(root, "amdhsa.kernels"); list && list->is_array()) {
    for (size_t i = 0; i < list->size(); ++i) {
      Result<KernelMetadata> k = parse_kernel((*list)[i], place + ", kernel " + std::to_string(i));
      if (!k) return k.error();
      m.kernels.push_back(std::move(*k));
    }
  }
  return m;
}

}  // namespace lockstep::loader

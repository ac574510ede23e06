#include "cli/launch.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "cli/common.h"
#include "cli/interrupt.h"

namespace lockstep::cli {
namespace {

Extent parse_extent(const std::string& text, const char* option) {
  Extent out{1, 1, 1};
  size_t begin = 0;
  for (int axis = 0; axis < 4; ++axis) {
    size_t end = std::min(text.find_first_of(",x", begin), text.size());
    if (axis == 3) throw UsageError("{} {}: has more than three dimensions", option, text);
    const std::optional<uint64_t> size = size_number(std::string_view(text).substr(begin, end - begin));
    if (!size) throw UsageError("{} {}: give one to three numbers, such as 1024, 1M or 16,16", option, text);
    if (*size > UINT32_MAX)
      throw UsageError("{} {}: {} is too large, the limit of a dimension is {}", option, text, *size,
                       UINT32_MAX);
    out[axis] = static_cast<uint32_t>(*size);
    if (out[axis] == 0)
      throw UsageError("{} {}: a dimension of 0 has no work-items; every dimension is at least 1", option,
                       text);
    if (end == text.size()) return out;
    begin = end + 1;
  }
  return out;
}

}  // namespace

Kernel choose_kernel(const CodeObject& code, const std::string& name, const std::string& input) {
  std::vector<Kernel> all = code.kernels();
  std::string names;
  constexpr size_t kMostShown = 20;
  for (size_t i = 0; i < std::min(all.size(), kMostShown); ++i) {
    const lockstep_kernel_info info = all[i].info();
    std::string_view source = info.readable_name;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
    // Either is taken; that of the source without "void ", and without its parameters where it is the only
    // one.
    if (source == info.name) continue;
    if (source.starts_with("void ")) source.remove_prefix(5);
    names += fmt::format(" ({})", source);
  }
  if (all.size() > kMostShown)
    names += fmt::format(" and {} more ('lockstep info' lists them)", all.size() - kMostShown);
  if (all.empty()) throw UsageError("{}: holds no kernel", input);
  if (name.empty()) {
    if (all.size() > 1)
      throw UsageError("{}: holds {} kernels, choose one with --kernel: {}", input, all.size(), names);
    return all[0];
  }
  std::optional<Kernel> found = code.find_kernel(name);
  if (!found) throw UsageError("{}: has no kernel '{}'; it has {}", input, name, names);
  return *found;
}

uint32_t work_group_size_of(const std::string& block) {
  if (block.empty()) return 0;
  constexpr uint64_t kMost = 1024;
  uint64_t size = 1;
  for (const uint64_t extent : parse_extent(block, "--block"))
    if (extent > kMost || (size *= extent) > kMost) return 0;
  return static_cast<uint32_t>(size);
}

void choose_shape(const Shape& o, const lockstep_kernel_info& info, lockstep_dispatch_options& out) {
  if (o.grid.empty() && o.groups.empty())
    throw UsageError("no size is given: say --grid X,Y,Z (work-items) or --groups X,Y,Z (work-groups)");
  if (!o.grid.empty() && !o.groups.empty())
    throw UsageError("--grid (work-items) and --groups (work-groups) cannot both be given");
  Extent grid = o.grid.empty() ? parse_extent(o.groups, "--groups") : parse_extent(o.grid, "--grid");
  Extent block{1, 1, 1};
  if (!o.block.empty()) {
    block = parse_extent(o.block, "--block");
  } else if (info.required_work_group_size[0]) {
    std::copy_n(info.required_work_group_size, 3, block.begin());
  } else {
    uint32_t limit = info.max_work_group_size ? std::min(info.max_work_group_size, 256u) : 256u;
    block[0] = o.grid.empty() ? limit : std::min(grid[0], limit);
  }
  for (int i = 0; i < 3; ++i) {
    uint64_t items = o.grid.empty() ? uint64_t{grid[i]} * block[i] : grid[i];
    if (items > UINT32_MAX)
      throw UsageError("the grid has {} work-items in a dimension, the limit is {}", items, UINT32_MAX);
    out.grid[i] = static_cast<uint32_t>(items);
    out.block[i] = block[i];
  }
}

void print_buffer(const NamedBuffer& b, uint32_t limit) {
  size_t size = size_of_type(b.type), count = b.bytes().size() / size;
  print("{}: {}{}\n", b.name, name_of_type(b.type), print_shape(b.shape));
  size_t shown = limit ? std::min<size_t>(count, limit) : count;
  size_t row = b.shape.size() > 1 ? std::min<size_t>(b.shape.back(), 16) : 16;
  for (size_t i = 0; i < shown && !output_is_lost(); ++i) {
    throw_if_interrupted();
    print("{}{}", print_number(b.bytes().data() + i * size, b.type),
          (i + 1) % row == 0 || i + 1 == shown ? '\n' : ' ');
  }
  if (shown < count) print("... {} more (--print-limit 0 prints all)\n", count - shown);
}

void print_summary(const char* kernel, const lockstep_statistics& s) {
  if (s.note && *s.note) report("note: {}\n", s.note);
  std::string groups = s.work_groups_done == s.work_groups
                           ? fmt::format("{}", s.work_groups)
                           : fmt::format("{} of {}", s.work_groups_done, s.work_groups);
  report("{}: {} work-groups, {} waves, {} wave-instructions in {:.3f} s ({} wave-instructions/s)\n", kernel,
         groups, s.waves, short_number(static_cast<double>(s.wave_instructions)), s.seconds,
         short_number(s.seconds > 0 ? s.wave_instructions / s.seconds : 0));
}

void print_translation(const Device& device, const lockstep_statistics& s) {
  if (s.translation_origin == LOCKSTEP_TRANSLATION_NONE) {
    report("translated: nothing\n");
    return;
  }
  constexpr const char* kOrigins[] = {"", "made now", "left by an earlier run", "of an earlier dispatch"};
  const double share = s.wave_instructions == 0 ? 0
                                                : 100 * static_cast<double>(s.translated_wave_instructions) /
                                                      static_cast<double>(s.wave_instructions);
  report(
      "translated: {:.2f} % of the wave-instructions, by {} bytes of host code for {} instructions, {}, "
      "{:.3f} s\n",
      share, s.host_code_bytes, s.translated_instructions, kOrigins[s.translation_origin],
      s.translation_seconds);
  std::vector<lockstep_exit> exits = device.exits();
  std::ranges::sort(exits, std::ranges::greater(), &lockstep_exit::times);
  for (const lockstep_exit& exit : exits)
    report("{:>12} times {}{}{}\n", exit.times, exit.name, *exit.instruction ? " " : "", exit.instruction);
}

lockstep_engine engine_of(std::string_view name) {
  if (name == "auto") return LOCKSTEP_ENGINE_AUTO;
  if (name == "interpreter") return LOCKSTEP_ENGINE_INTERPRETER;
  if (name == "translator") return LOCKSTEP_ENGINE_TRANSLATOR;
  throw UsageError("'engine' is auto, interpreter or translator, not '{}'", name);
}

}  // namespace lockstep::cli

#include <algorithm>
#include <memory>
#include <optional>

#include "api/lockstep.hpp"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/fidelity.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "cli/traps.h"

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

Kernel choose_kernel(const CodeObject& code, const RunOptions& o) {
  std::vector<Kernel> all = code.kernels();
  std::string names;
  constexpr size_t kMostShown = 20;
  for (size_t i = 0; i < std::min(all.size(), kMostShown); ++i)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", all[i].info().name);
  if (all.size() > kMostShown)
    names += fmt::format(" and {} more ('lockstep info' lists them)", all.size() - kMostShown);
  if (all.empty()) throw UsageError("{}: holds no kernel", o.input);
  if (o.kernel.empty()) {
    if (all.size() > 1)
      throw UsageError("{}: holds {} kernels, choose one with --kernel: {}", o.input, all.size(), names);
    return all[0];
  }
  std::optional<Kernel> found = code.find_kernel(o.kernel);
  if (!found) throw UsageError("{}: has no kernel '{}'; it has {}", o.input, o.kernel, names);
  return *found;
}

void choose_shape(const RunOptions& o, const lockstep_kernel_info& info, lockstep_dispatch_options& out) {
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

struct Output {
  std::string name, path;
};

std::vector<Output> parse_outputs(const std::vector<std::string>& texts) {
  std::vector<Output> out;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      throw UsageError("--out {}: give ARGUMENT=FILE, such as y=result.npy", text);
    out.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return out;
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

}  // namespace

int run(const RunOptions& o) {
  lockstep_device_options device_options;
  lockstep_device_options_init(&device_options);
  if (!o.device.empty()) device_options.name = o.device.c_str();
  device_options.engine = o.engine == "translator" ? LOCKSTEP_ENGINE_TRANSLATOR : LOCKSTEP_ENGINE_INTERPRETER;
  device_options.math = o.math == "fast" ? LOCKSTEP_MATH_FAST : LOCKSTEP_MATH_EXACT;
  device_options.alignment_mode = o.alignment == "dword"          ? LOCKSTEP_ALIGNMENT_DWORD
                                  : o.alignment == "dword-strict" ? LOCKSTEP_ALIGNMENT_DWORD_STRICT
                                  : o.alignment == "strict"       ? LOCKSTEP_ALIGNMENT_STRICT
                                                                  : LOCKSTEP_ALIGNMENT_UNALIGNED;
  device_options.report_lds_out_of_range = o.report_lds_out_of_range;
  device_options.threads = o.threads;
  Device device(&device_options);

  Compilation compilation(o.compiler);
  lockstep_compile_options& compile = compilation.options;
  lockstep_device_info model = device.info();
  compile.target = model.target;
  compile.wave_size = o.wave;
  compile.debug_info = o.debug;
  CodeObject code = CodeObject::open(o.input, &compile);
  if (!o.quiet && *code.diagnostics()) report("{}", code.diagnostics());

  Kernel kernel = choose_kernel(code, o);
  lockstep_kernel_info info = kernel.info();
  if (o.wave && o.wave != info.wave_size)
    throw UsageError(
        "kernel '{}' is compiled for wave{}, not for wave{} (compile it again, or leave --wave away)",
        info.name, info.wave_size, o.wave);
  lockstep_dispatch_options dispatch;
  lockstep_dispatch_options_init(&dispatch);
  choose_shape(o, info, dispatch);
  if (o.dynamic_lds > UINT32_MAX) throw UsageError("--lds: {} bytes are too many", o.dynamic_lds);
  dispatch.dynamic_lds_bytes = static_cast<uint32_t>(o.dynamic_lds);
  dispatch.instruction_limit = o.instruction_limit;
  dispatch.wave_limit = o.wave_limit;
  dispatch.fidelity = o.fidelity;
  if (!o.checks.empty()) dispatch.checks = o.checks.c_str();
  apply_machine_options(o.machine, dispatch);

  std::vector<Output> outputs = parse_outputs(o.outputs);
  Arguments arguments(kernel);
  Buffers buffers(device);
  set_variables(o.variables, device, code, buffers);
  ArgumentSetter setter(buffers, kernel, arguments);
  std::vector<std::string> specifications = o.named_arguments;
  specifications.insert(specifications.end(), o.arguments.begin(), o.arguments.end());
  setter.set_all(specifications);
  // A long run must not end with a wrong name for its result.
  for (const Output& out : outputs) buffers.find(out.name);
  for (const std::string& name : o.prints) buffers.find(name);
  std::optional<CodeObject> handler;
  if (!o.machine.trap_handler.empty()) {
    compile.wave_size = info.wave_size;
    handler = CodeObject::open(o.machine.trap_handler, &compile);
    dispatch.trap_handler = handler->get();
    if (!o.machine.trap_memory.empty()) dispatch.trap_memory = buffers.find(o.machine.trap_memory).address();
  }

  const Traps traps(o.machine, buffers, dispatch);

  lockstep_statistics statistics{};
  statistics.struct_size = sizeof statistics;
  lockstep_status status;
  {
    ProgressLine progress(o.quiet);
    progress.connect(dispatch);
    status = lockstep_dispatch(device.get(), kernel.get(), arguments.get(), &dispatch, &statistics);
  }
  bool has_findings = false;
  if (status == LOCKSTEP_OK || status == LOCKSTEP_FAULT || status == LOCKSTEP_CANCELLED) {
    if (dispatch.checks) has_findings = print_check_findings(device);
    if (o.fidelity) print_findings(device);
    if (dispatch.rules == LOCKSTEP_RULES_WARN) print_broken_rules(device);
    if (dispatch.exceptions) print_exceptions(device);
  }
  if (status == LOCKSTEP_FAULT) {
    report("fault: {}\n", lockstep_last_error());
    print_summary(info.name, statistics);
    return kFaulted;
  }
  if (status == LOCKSTEP_CANCELLED) {
    report("interrupted: {} of {} work-groups of '{}' are done; no output is written\n",
           statistics.work_groups_done, statistics.work_groups, info.name);
    print_summary(info.name, statistics);
    return interrupt_exit_code();
  }
  check(status);
  for (const Output& out : outputs) {
    const NamedBuffer& b = buffers.find(out.name);
    write_array(out.path, b.bytes(), b.type, b.shape);
  }
  for (const std::string& name : o.prints) print_buffer(buffers.find(name), o.print_limit);
  if (!o.quiet) print_summary(info.name, statistics);
  return has_findings ? kFaulted : kDone;
}

}  // namespace lockstep::cli

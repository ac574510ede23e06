#include <algorithm>
#include <memory>
#include <optional>

#include "api/lockstep.hpp"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/fidelity.h"
#include "cli/findings.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/launch.h"
#include "cli/location.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "cli/replay.h"
#include "cli/traps.h"

namespace lockstep::cli {
namespace {

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
    require_format(out.back().path);
  }
  return out;
}

}  // namespace

lockstep_device_options device_options_of(const RunOptions& o) {
  lockstep_device_options device_options;
  lockstep_device_options_init(&device_options);
  if (!o.device.empty()) device_options.name = o.device.c_str();
  device_options.engine = engine_of(o.engine);
  device_options.math = o.math == "fast" ? LOCKSTEP_MATH_FAST : LOCKSTEP_MATH_EXACT;
  device_options.alignment_mode = o.alignment == "dword"          ? LOCKSTEP_ALIGNMENT_DWORD
                                  : o.alignment == "dword-strict" ? LOCKSTEP_ALIGNMENT_DWORD_STRICT
                                  : o.alignment == "strict"       ? LOCKSTEP_ALIGNMENT_STRICT
                                                                  : LOCKSTEP_ALIGNMENT_UNALIGNED;
  device_options.report_lds_out_of_range = o.report_lds_out_of_range;
  device_options.threads = o.threads;
  return device_options;
}

bool say_what_to_run(const RunOptions& o) {
  return !o.kernel.empty() || !o.grid.empty() || !o.groups.empty() || !o.block.empty() ||
         !o.arguments.empty() || !o.named_arguments.empty() || !o.variables.empty() || !o.outputs.empty() ||
         !o.prints.empty() || !o.compiler.flags.empty() || !o.compiler.sources.empty();
}

void apply_run_options(const RunOptions& o, std::vector<const char*>& plugins,
                       lockstep_dispatch_options& dispatch) {
  dispatch.instruction_limit = o.instruction_limit;
  dispatch.wave_limit = o.wave_limit;
  dispatch.fidelity = o.fidelity;
  if (!o.findings.checks.empty()) dispatch.checks = o.findings.checks.c_str();
  plugins.clear();
  for (const std::string& plugin : o.findings.plugins) plugins.push_back(plugin.c_str());
  dispatch.plugins = plugins.data();
  dispatch.plugin_count = static_cast<uint32_t>(plugins.size());
  apply_machine_options(o.machine, dispatch);
}

bool print_reports(const Device& device, const lockstep_dispatch_options& dispatch, lockstep_status status,
                   const RunOptions& o, const std::vector<Suppression>& suppressions, const char* kernel) {
  if (status != LOCKSTEP_OK && status != LOCKSTEP_FAULT && status != LOCKSTEP_CANCELLED) return false;
  const bool has_findings =
      (dispatch.checks || dispatch.plugin_count != 0) &&
      give_report(report_of(o.input, kernel, device.check_findings(), suppressions), o.findings);
  if (dispatch.fidelity) print_findings(device);
  if (dispatch.rules == LOCKSTEP_RULES_WARN) print_broken_rules(device);
  if (dispatch.exceptions) print_exceptions(device);
  return has_findings;
}

int run(const RunOptions& o) {
  if (o.input.ends_with(".toml")) return run_job(o);
  if (lockstep_dump_is_recognized(o.input.c_str())) return replay(o);
  const lockstep_device_options device_options = device_options_of(o);
  Device device(&device_options);

  Compilation compilation(o.compiler);
  lockstep_compile_options& compile = compilation.options;
  lockstep_device_info model = device.info();
  compile.target = model.target;
  compile.wave_size = o.wave;
  compile.debug_info = o.debug;
  compile.work_group_size = work_group_size_of(o.block);
  const CodeObject code = open_with_progress(o.input, compile, o.quiet);
  if (!o.quiet && *code.diagnostics()) report("{}", code.diagnostics());

  Kernel kernel = choose_kernel(code, o.kernel, o.input);
  lockstep_kernel_info info = kernel.info();
  if (o.wave && o.wave != info.wave_size)
    throw UsageError(
        "kernel '{}' is compiled for wave{}, not for wave{} (compile it again, or leave --wave away)",
        info.name, info.wave_size, o.wave);
  lockstep_dispatch_options dispatch;
  lockstep_dispatch_options_init(&dispatch);
  choose_shape({o.grid, o.groups, o.block}, info, dispatch);
  if (o.dynamic_lds > UINT32_MAX) throw UsageError("--lds: {} bytes are too many", o.dynamic_lds);
  dispatch.dynamic_lds_bytes = static_cast<uint32_t>(o.dynamic_lds);
  const std::vector<Suppression> suppressions = read_suppressions(o.findings.suppressions);
  std::vector<const char*> plugins;
  apply_run_options(o, plugins, dispatch);

  std::vector<Output> outputs = parse_outputs(o.outputs);
  Arguments arguments(kernel);
  Buffers buffers(device);
  set_variables(o.variables, device, code, buffers);
  ArgumentSetter setter(buffers, kernel, arguments);
  std::vector<std::string> specifications = o.named_arguments;
  specifications.insert(specifications.end(), o.arguments.begin(), o.arguments.end());
  setter.set_all(specifications);
  if (!o.quiet) report_text(setter.notes());
  // A long run must not end with a wrong name for its result.
  for (const Output& out : outputs) buffers.find(out.name);
  for (const std::string& name : o.prints) buffers.find(name);
  std::optional<CodeObject> handler;
  if (!o.machine.trap_handler.empty()) {
    compile.wave_size = info.wave_size;
    compile.source_count = 0;
    handler = open_with_progress(o.machine.trap_handler, compile, o.quiet);
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
  const bool has_findings = print_reports(device, dispatch, status, o, suppressions, info.name);
  if (status == LOCKSTEP_FAULT) {
    report("fault: {}\n", fault_text(device.get()));
    print_summary(info.readable_name, statistics);
    if (o.translation) print_translation(device, statistics);
    return kFaulted;
  }
  if (status == LOCKSTEP_CANCELLED) {
    report("interrupted: {} of {} work-groups of '{}' are done; no output is written\n",
           statistics.work_groups_done, statistics.work_groups, info.name);
    print_summary(info.readable_name, statistics);
    if (o.translation) print_translation(device, statistics);
    return interrupt_exit_code();
  }
  check(status);
  for (const Output& out : outputs) {
    const NamedBuffer& b = buffers.find(out.name);
    write_array(out.path, b.bytes(), b.type, b.shape);
  }
  for (const std::string& name : o.prints) print_buffer(buffers.find(name), o.print_limit);
  if (!o.quiet) print_summary(info.readable_name, statistics);
  if (o.translation) print_translation(device, statistics);
  return has_findings ? kFaulted : kDone;
}

}  // namespace lockstep::cli

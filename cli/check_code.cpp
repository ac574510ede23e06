// `lockstep check FILE` without a launch: what can be said of the code without running it.
#include <memory>
#include <string>
#include <vector>

#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/compiler_flags.h"
#include "cli/findings.h"
#include "cli/interrupt.h"
#include "cli/launch.h"

namespace lockstep::cli {

namespace {

struct DestroyCheck {
  void operator()(lockstep_code_check* check) const { lockstep_code_check_destroy(check); }
};

}  // namespace

int check_code(const RunOptions& o) {
  const std::vector<Suppression> suppressions = read_suppressions(o.findings.suppressions);
  Compilation compilation(o.compiler);
  compilation.options.wave_size = o.wave;
  compilation.options.debug_info = o.debug;
  std::string target;
  if (!o.device.empty()) {
    lockstep_device_options device;
    lockstep_device_options_init(&device);
    device.name = o.device.c_str();
    target = Device(&device).info().target;
    compilation.options.target = target.c_str();
  }
  const CodeObject code = open_with_progress(o.input, compilation.options, o.quiet);
  const std::vector<Kernel> kernels = code.kernels();
  std::string kernel = o.kernel;
  if (!kernel.empty() || kernels.size() == 1) kernel = choose_kernel(code, o.kernel, o.input).info().name;
  if (!kernel.empty() && o.wave)
    for (const Kernel& each : kernels)
      if (const lockstep_kernel_info info = each.info(); info.name == kernel && info.wave_size != o.wave)
        throw UsageError("kernel '{}' is compiled for wave{}, not for wave{} (leave --wave away)", kernel,
                         info.wave_size, o.wave);

  lockstep_code_check* made = nullptr;
  {
    const InterruptsEndAtOnce while_it_reads;
    check(lockstep_code_object_check(code.get(), o.kernel.empty() ? nullptr : kernel.c_str(),
                                     o.findings.checks == "all" ? nullptr : o.findings.checks.c_str(),
                                     &made));
  }
  const std::unique_ptr<lockstep_code_check, DestroyCheck> result(made);
  std::vector<lockstep_check_finding> findings(lockstep_code_check_finding_count(made));
  for (uint32_t i = 0; i < findings.size(); ++i) {
    findings[i].struct_size = sizeof findings[i];
    check(lockstep_code_check_finding(made, i, &findings[i]));
  }
  const bool counts = give_report(report_of(o.input, kernel, std::move(findings), suppressions), o.findings);
  report("note: nothing was run ({}): with --grid and arguments the other checkers look, too\n",
         o.kernel.empty() ? fmt::format("{} kernel{}", kernels.size(), kernels.size() == 1 ? "" : "s")
                          : "kernel '" + kernel + "'");
  return counts ? kFaulted : kDone;
}

}  // namespace lockstep::cli

#include "cli/replay.h"

#include <sys/personality.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/buffers.h"
#include "cli/common.h"
#include "cli/compiler_flags.h"
#include "cli/interrupt.h"
#include "cli/launch.h"
#include "cli/location.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "cli/traps.h"

namespace lockstep::cli {

namespace {

struct DestroyDump {
  void operator()(lockstep_dump* dump) const { lockstep_dump_destroy(dump); }
};

using Dump = std::unique_ptr<lockstep_dump, DestroyDump>;

Dump open_dump(const std::string& path) {
  lockstep_dump* opened = nullptr;
  check(lockstep_dump_open(path.c_str(), &opened));
  return Dump(opened);
}

lockstep_dump_info info_of(const Dump& dump) {
  lockstep_dump_info info{};
  info.struct_size = sizeof info;
  check(lockstep_dump_get_info(dump.get(), &info));
  return info;
}

// A dump's memory must be where it was, and this process's libraries are where the host has put them by
// chance: in another process they are elsewhere. Returns if that did not help either.
void try_another_process() {
  constexpr const char* kAttempt = "LOCKSTEP_REPLAY_ATTEMPT";
  constexpr long kMost = 8;
  const char* const before = std::getenv(kAttempt);
  const long attempt = before ? std::strtol(before, nullptr, 10) + 1 : 1;
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (attempt > kMost || words.empty()) return;
  setenv(kAttempt, std::to_string(attempt).c_str(), 1);
  // Under debuggers, and `setarch -R`, it would be the same every time.
  personality(static_cast<unsigned long>(personality(0xffffffff)) &
              ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
}

std::string hex_bytes(const uint8_t* bytes, uint32_t count) {
  std::string text;
  for (uint32_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

// What differs from the program; true if anything does.
bool print_comparison(lockstep_dump* dump) {
  lockstep_dump_comparison comparison{};
  comparison.struct_size = sizeof comparison;
  check(lockstep_dump_compare(dump, &comparison));
  if (comparison.different_bytes == 0 && comparison.left_bytes == 0) {
    print("memory: as the program saw it\n");
    return false;
  }
  const auto list = [&](bool left) {
    for (uint32_t i = 0; i < comparison.difference_count; ++i) {
      lockstep_dump_difference_info d{};
      d.struct_size = sizeof d;
      check(lockstep_dump_difference(dump, i, &d));
      if ((d.is_left != 0) != left) continue;
      print("  {:#x}, {} bytes of {}: {}{} in the program, {} here\n", d.address, d.bytes, d.range,
            hex_bytes(d.wanted, d.shown), d.shown < d.bytes ? "..." : "", hex_bytes(d.found, d.shown));
    }
  };
  if (comparison.different_bytes) {
    print("memory: {} bytes differ from what the program saw\n", comparison.different_bytes);
    list(false);
  }
  if (comparison.left_bytes) {
    print(
        "memory: {} bytes changed in the program and not here: the host, copies or other kernels wrote there "
        "meanwhile, or this kernel should have\n",
        comparison.left_bytes);
    list(true);
  }
  return comparison.different_bytes != 0;
}

void refuse_what_dumps_say(const RunOptions& o) {
  if (say_what_to_run(o) || o.dynamic_lds || o.wave)
    throw UsageError(
        "{}: a dump says itself what was run, with which arguments (leave kernel, grid, arguments, "
        "variables, outputs "
        "and flags away)",
        o.input);
  if (!o.machine.trap_memory.empty())
    throw UsageError("--trap-memory names a buffer argument, and a dump has none");
}

}  // namespace

int replay(const RunOptions& o) {
  refuse_what_dumps_say(o);
  std::optional<Device> device;
  const Dump dump = open_dump(o.input);  // ends before its device
  const lockstep_dump_info info = info_of(dump);
  lockstep_device_options device_options = device_options_of(o);
  if (!device_options.name) device_options.name = info.device;
  device.emplace(&device_options);

  lockstep_dispatch_options dispatch;
  lockstep_dispatch_options_init(&dispatch);
  const std::vector<Suppression> suppressions = read_suppressions(o.findings.suppressions);
  std::vector<const char*> plugins;
  apply_run_options(o, plugins, dispatch);
  std::optional<CodeObject> handler;
  if (!o.machine.trap_handler.empty()) {
    Compilation compilation(o.compiler);
    compilation.options.wave_size = info.wave_size;
    handler = open_with_progress(o.machine.trap_handler, compilation.options, o.quiet);
    dispatch.trap_handler = handler->get();
  }
  const Buffers none(*device);
  const Traps traps(o.machine, none, dispatch);

  lockstep_statistics statistics{};
  statistics.struct_size = sizeof statistics;
  lockstep_status status;
  {
    ProgressLine progress(o.quiet);
    progress.connect(dispatch);
    status = lockstep_dump_run(device->get(), dump.get(), &dispatch, &statistics);
  }
  if (status == LOCKSTEP_ADDRESS_TAKEN) {
    const std::string problem = lockstep_last_error();
    try_another_process();
    throw Error(status, problem.c_str());
  }
  const bool has_findings = print_reports(*device, dispatch, status, o, suppressions, info.readable_name);
  if (status == LOCKSTEP_CANCELLED) {
    report("interrupted: {} of {} work-groups of '{}' are done\n", statistics.work_groups_done,
           statistics.work_groups, info.readable_name);
    print_summary(info.readable_name, statistics);
    if (o.translation) print_translation(*device, statistics);
    return interrupt_exit_code();
  }
  const bool has_faulted = status == LOCKSTEP_FAULT;
  if (has_faulted)
    report("fault: {}\n", fault_text(device->get()));
  else
    check(status);
  bool differs = false;
  if (!info.has_end)
    report("note: {} ends before its dispatch did, so there is nothing to compare with\n", o.input);
  else if (has_faulted != (*info.fault != 0))
    report("note: {}{}\n", *info.fault ? "in the program it faulted: " : "in the program it did not fault",
           info.fault);
  else
    differs = print_comparison(dump.get());
  if (has_faulted || !o.quiet) print_summary(info.readable_name, statistics);
  if (o.translation) print_translation(*device, statistics);
  return has_faulted || has_findings || differs || (info.has_end && *info.fault) ? kFaulted : kDone;
}

int dump_info(const std::string& path) {
  const Dump dump = open_dump(path);
  const lockstep_dump_info d = info_of(dump);
  print("dispatch of {}\n", d.readable_name);
  print(
      "  device     {}\n  grid       {} x {} x {} work-items\n  work-group {} x {} x {}\n  wave       {} "
      "lanes\n",
      d.device, d.grid[0], d.grid[1], d.grid[2], d.block[0], d.block[1], d.block[2], d.wave_size);
  if (!d.has_end)
    print("  end        was never seen\n");
  else
    print("  end        {} wave-instructions{}{}\n", d.wave_instructions, *d.fault ? "; fault: " : "",
          d.fault);
  print("  memory     {} that do not hold zeros, in\n", short_bytes(d.memory_bytes));
  for (uint32_t i = 0; i < d.range_count && !output_is_lost(); ++i) {
    throw_if_interrupted();
    lockstep_dump_range_info range{};
    range.struct_size = sizeof range;
    check(lockstep_dump_range(dump.get(), i, &range));
    print("    {:#014x} {:>12} {}{}{} {}\n", range.address, short_bytes(range.bytes),
          range.readable ? 'r' : '-', range.writable ? 'w' : '-', range.executable ? 'x' : '-', range.name);
  }
  return kDone;
}

}  // namespace lockstep::cli

#include "api/launch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "api/finding.h"
#include "api/status.h"
#include "api/wave_control.h"
#include "loader/readable_name.h"
#include "text/hex.h"
#include "text/visible.h"
#include "toolchain/inlined_frames.h"

namespace lockstep::api {

lockstep_fault_kind kind_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return LOCKSTEP_FAULT_NONE;
    case FaultKind::memory_violation:
      return LOCKSTEP_FAULT_MEMORY_VIOLATION;
    case FaultKind::misaligned:
      return LOCKSTEP_FAULT_MISALIGNED;
    case FaultKind::illegal_instruction:
      return LOCKSTEP_FAULT_ILLEGAL_INSTRUCTION;
    case FaultKind::unsupported:
      return LOCKSTEP_FAULT_UNSUPPORTED_INSTRUCTION;
    case FaultKind::bad_pc:
      return LOCKSTEP_FAULT_BAD_PC;
    case FaultKind::refused:
      return LOCKSTEP_FAULT_REFUSED;
    case FaultKind::deadlock:
      return LOCKSTEP_FAULT_DEADLOCK;
    case FaultKind::broken_rule:
      return LOCKSTEP_FAULT_BROKEN_RULE;
    case FaultKind::trap:
      return LOCKSTEP_FAULT_TRAP;
  }
  return LOCKSTEP_FAULT_NONE;
}

namespace {

std::string triple(const uint32_t v[3]) {
  return std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]);
}

const char* title(lockstep_fault_kind kind) {
  switch (kind) {
    case LOCKSTEP_FAULT_NONE:
      break;
    case LOCKSTEP_FAULT_MEMORY_VIOLATION:
      return "memory violation";
    case LOCKSTEP_FAULT_MISALIGNED:
      return "misaligned access";
    case LOCKSTEP_FAULT_ILLEGAL_INSTRUCTION:
      return "illegal instruction";
    case LOCKSTEP_FAULT_UNSUPPORTED_INSTRUCTION:
      return "unsupported instruction";
    case LOCKSTEP_FAULT_BAD_PC:
      return "execution left the code";
    case LOCKSTEP_FAULT_TRAP:
      return "trap";
    case LOCKSTEP_FAULT_BROKEN_RULE:
      return "broken rule";
    case LOCKSTEP_FAULT_HANG:
      return "instruction limit reached";
    case LOCKSTEP_FAULT_REFUSED:
      return "refused instruction";
    case LOCKSTEP_FAULT_DEADLOCK:
      return "deadlock";
  }
  return "fault";
}

void finish(FaultReport& r) {
  lockstep_fault& f = r.fault;
  std::string& t = r.text;
  t = std::string(title(f.kind)) + " in kernel '" + loader::readable_name(r.kernel) + "'";
  if (f.kind != LOCKSTEP_FAULT_HANG) {
    t += "\n  work-group (" + triple(f.work_group) + "), wave " + std::to_string(f.wave);
    if (f.lane >= 0) t += ", lane " + std::to_string(f.lane);
    // Functions may stand before the kernel.
    const bool is_before = static_cast<int64_t>(f.offset) < 0;
    t += "\n  PC " + hex(f.pc) + " (kernel " + (is_before ? "- " + hex(-f.offset) : "+ " + hex(f.offset)) +
         ")";
    if (!r.instruction.empty()) t += ": " + r.instruction;
    if (!r.function.empty() && r.function != r.kernel) t += "\n  in function " + r.function;
    if (!r.file.empty()) t += "\n  at " + r.file + ":" + std::to_string(f.line);
    t += r.callers;
    if (f.kind == LOCKSTEP_FAULT_MEMORY_VIOLATION || f.kind == LOCKSTEP_FAULT_MISALIGNED)
      t += "\n  address " + hex(f.address) + ", " + std::to_string(f.bytes) + " bytes";
  }
  if (!r.message.empty()) t += "\n  " + r.message;
  f.kernel = r.kernel.c_str();
  f.instruction = r.instruction.c_str();
  f.function = r.function.c_str();
  f.file = r.file.c_str();
  f.message = r.message.c_str();
  f.text = r.text.c_str();
}

// Where the functions were called that the compiler has inlined around the instruction, a line each.
std::string inlined_callers(uint64_t pc, const RunningKernel& kernel) {
  if (!kernel.image || !kernel.image->lines.has_debug_info()) return {};
  const uint64_t address[] = {pc - kernel.bias};
  const std::vector<toolchain::Frame> frames =
      toolchain::inlined_frames(kernel.image->object.bytes(), address)[0];
  std::string text;
  for (size_t i = 1; i < frames.size(); ++i) {
    text += "\n  inlined into " + visible(frames[i].function, std::string::npos);
    if (!frames[i].file.empty())
      text += " at " + visible(frames[i].file, std::string::npos) + ":" + std::to_string(frames[i].line);
  }
  return text;
}

std::unique_ptr<FaultReport> report(const machine::WaveFault& w, const RunningKernel& kernel) {
  auto r = std::make_unique<FaultReport>();
  lockstep_fault& f = r->fault;
  f.kind = kind_of(w.fault.kind);
  r->kernel = kernel.name;
  std::copy(w.group.begin(), w.group.end(), f.work_group);
  f.wave = w.wave;
  f.lane = w.fault.lane;
  f.pc = w.fault.pc;
  f.offset = w.fault.pc - kernel.entry;
  f.address = w.fault.address;
  f.bytes = w.fault.bytes;
  r->instruction = w.instruction;
  r->message = w.fault.message;
  const Location location = locate(w.fault.pc, kernel);
  r->function = location.function;
  r->file = location.file;
  f.line = location.line;
  r->callers = inlined_callers(w.fault.pc, kernel);
  finish(*r);
  return r;
}

}  // namespace

std::shared_ptr<observe::Checks> checks_of(const char* names, const char* const* plugins,
                                           uint32_t plugin_count, const lockstep_device& device,
                                           observe::FindFunction find) {
  require(plugins || plugin_count == 0, "options.plugins is null, and options.plugin_count is not 0");
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < plugin_count; ++i) {
    require(plugins[i] != nullptr, "one of options.plugins is null");
    texts.emplace_back(plugins[i]);
  }
  try {
    return std::make_shared<observe::Checks>(observe::Checks::names_of(names ? names : ""), device.freed,
                                             nullptr, texts, std::move(find));
  } catch (const std::invalid_argument& error) {
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, error.what());
  } catch (const observe::PluginError& error) {
    throw Failure(LOCKSTEP_BAD_INPUT, error.what());
  }
}

lockstep_dispatch_options dispatch_defaults() {
  lockstep_dispatch_options options{};
  for (int i = 0; i < 3; ++i) options.grid[i] = options.block[i] = 1;
  options.progress_interval = 0.1;
  return options;
}

GuestServices::Output output_of(void (*output)(void* user, const char* text, uint64_t bytes, int stream),
                                void* user) {
  if (output)
    return [=](std::string_view text, int stream) { output(user, text.data(), text.size(), stream); };
  return [](std::string_view text, int stream) {
    FILE* to = stream == 2 ? stderr : stdout;
    std::fwrite(text.data(), 1, text.size(), to);
    std::fflush(to);
  };
}

void forget_reports(lockstep_device& device) {
  device.fault.reset();
  device.exits.clear();
  device.findings.clear();
  device.broken_rules.clear();
  device.check_findings.clear();
  device.exceptions.clear();
}

machine::Outcome run_launch(lockstep_device& device, machine::Launch launch, machine::RunOptions run,
                            const lockstep_dispatch_options& o, const RunningKernel& kernel,
                            lockstep_statistics* out) {
  launch.placement = device.placement;
  launch.access_modes = device.access_modes;
  launch.device = device.global_state;
  launch.initial_byte = o.initial_byte;
  machine::set_hardware(launch, device.model);

  std::atomic<bool> cancel = false;
  auto begin = std::chrono::steady_clock::now();
  double last = 0;
  run.engine = device.engine;
  run.math = device.math;
  run.threads = device.threads;
  run.cancel = &cancel;
  run.instruction_limit = o.instruction_limit;
  run.reuse = &device.reuse;
  if (o.wave_control) run.control = &o.wave_control->control;
  run.progress = [&](const machine::Progress& p) {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!o.progress || seconds - last < o.progress_interval * 0.9) return;
    last = seconds;
    lockstep_progress progress{p.groups_done, p.groups_total, p.instructions, seconds};
    if (o.progress(o.progress_user, &progress)) cancel = true;
  };
  observe::FidelityListener observer(device.math);
  const auto find = [&kernel](uint64_t, std::string_view name) -> observe::CodeSpan {
    const loader::Symbol* const symbol = kernel.image ? kernel.image->object.find_symbol(name) : nullptr;
    if (!symbol) return {};
    return {symbol->address + kernel.bias, symbol->address + kernel.bias + symbol->size};
  };
  const auto checks = checks_of(o.checks, o.plugins, o.plugin_count, device, find);
  if (o.fidelity) checks->add(observer);
  checks->prepare(run.precise);
  machine::Outcome outcome;
  try {
    outcome = machine::run(launch, run);
  } catch (const std::invalid_argument& e) {
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, "kernel '" + kernel.name + "': " + e.what());
  }

  device.note = outcome.note;
  device.exits = outcome.translation.exits;
  if (out) {
    lockstep_statistics s{};
    s.note = device.note.c_str();
    s.work_groups = outcome.totals.groups_total;
    s.work_groups_done = outcome.totals.groups_done;
    s.waves = outcome.totals.waves;
    s.wave_instructions = outcome.totals.instructions;
    s.seconds = outcome.seconds;
    s.threads = device.threads;
    const machine::Translation& translation = outcome.translation;
    if (translation.host_bytes != 0) {
      s.translated_wave_instructions =
          s.wave_instructions - std::min(s.wave_instructions, translation.interpreted);
      s.translation_seconds = translation.seconds;
      s.translated_instructions = translation.instructions;
      s.host_code_bytes = translation.host_bytes;
      s.translation_origin = translation.reused   ? LOCKSTEP_TRANSLATION_REUSED
                             : translation.stored ? LOCKSTEP_TRANSLATION_STORED
                                                  : LOCKSTEP_TRANSLATION_MADE;
    }
    give(out, s);
  }
  if (o.fidelity) device.findings = finding_reports(observer, launch, kernel);
  device.check_findings = broken_rule_reports(checks->findings(outcome.findings), launch, kernel);
  add_callers(device.check_findings, kernel);
  if (o.rules != LOCKSTEP_RULES_IGNORE)
    device.broken_rules = broken_rule_reports(outcome.findings, launch, kernel);
  if (o.exceptions) device.exceptions = broken_rule_reports(outcome.exceptions, launch, kernel);
  if (outcome.fault) {
    device.fault = report(*outcome.fault, kernel);
    throw Failure(LOCKSTEP_FAULT, device.fault->text);
  }
  if (outcome.limit_exceeded) {
    device.fault = std::make_unique<FaultReport>();
    device.fault->fault.kind = LOCKSTEP_FAULT_HANG;
    device.fault->fault.lane = -1;
    device.fault->kernel = kernel.name;
    device.fault->message = std::to_string(outcome.totals.instructions) +
                            " wave-instructions were executed and the kernel has not ended; the limit is " +
                            std::to_string(o.instruction_limit) +
                            " (is there an endless loop? else raise the limit)";
    finish(*device.fault);
    throw Failure(LOCKSTEP_FAULT, device.fault->text);
  }
  return outcome;
}

void check_cancelled(const machine::Outcome& outcome, const std::string& kernel) {
  if (!outcome.cancelled) return;
  throw Failure(LOCKSTEP_CANCELLED, "kernel '" + kernel + "': cancelled after " +
                                        std::to_string(outcome.totals.groups_done) + " of " +
                                        std::to_string(outcome.totals.groups_total) + " work-groups");
}

}  // namespace lockstep::api

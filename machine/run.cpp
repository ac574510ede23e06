#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "engine/code_range.h"
#include "engine/precise/units.h"
#include "isa/explain.h"
#include "isa/instruction.h"
#include "machine/host_threads.h"
#include "machine/launch.h"
#include "machine/reuse.h"
#include "machine/scheduler.h"
#include "memory/host_fault.h"
#include "numeric/host_control.h"

namespace lockstep::machine {

unsigned wave_vgprs(const Launch& launch) {
  return allocated_vgprs(launch.vgpr_count, launch.wave_size, launch.vgpr_granule);
}

void set_hardware(Launch& launch, const hardware::Description& device) {
  launch.vgpr_granule = device.vgpr_granule_wave32;
  launch.lds_granule = device.lds_granule_bytes;
  launch.caches = {device.shader_engines,
                   device.arrays_per_shader_engine,
                   device.work_group_processors_per_array,
                   device.l0_bytes_per_compute_unit,
                   device.scalar_cache_bytes,
                   device.l1_bytes_per_array};
}

std::vector<CodeRange> code_around(const Launch& launch, uint64_t pc) {
  std::vector<CodeRange> code = launch.code;
  if (!launch.memory || launch.memory->version() == 0) return code;
  const CodeRange elsewhere = code_at(*launch.memory, pc);
  if (elsewhere != CodeRange{}) code.push_back(elsewhere);
  return code;
}

std::string instruction_text(const Launch& launch, uint64_t pc) {
  return instruction_text(code_around(launch, pc), launch.wave_size, pc);
}

std::string instruction_text(std::span<const CodeRange> code, unsigned wave_size, uint64_t pc) {
  for (const CodeRange& range : code) {
    if (pc < range.begin || pc >= range.end) continue;
    isa::Instruction instruction;
    const size_t available = std::min<uint64_t>(range.end - pc, isa::kMaxInstructionBytes);
    // Waves go where the host may have taken the memory away.
    std::array<std::byte, isa::kMaxInstructionBytes> copy;
    if (guarded([&] { std::memcpy(copy.data(), reinterpret_cast<const void*>(pc), available); }))
      return "(no memory any more)";
    const std::span bytes = std::span(copy).first(available);
    if (isa::decode(bytes, wave_size, instruction) != isa::DecodeError::none)
      return isa::show_bytes(bytes, wave_size);
    char text[isa::kMaxText];
    return std::string(text, isa::disassemble(instruction, wave_size, text, sizeof text));
  }
  return "(outside the code)";
}

Outcome run(const Launch& launch, const RunOptions& options) {
  check(launch);
  const numeric::HostFloatDefaults defaults;  // for LLVM, too
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome;
  outcome.totals.groups_total = group_count(launch);
  Reuse own;
  Reuse& reuse = options.reuse ? *options.reuse : own;
  Findings findings;
  // While an engine is made there is no scheduler yet that would report, and look who has had enough. The
  // first report is due at once, so that who waits for it has not to know how long translating takes.
  std::optional<std::chrono::steady_clock::time_point> last_report;
  const auto is_cancelled = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (options.progress && (!last_report || now - *last_report >= kReportInterval)) {
      last_report = now;
      options.progress(outcome.totals);
    }
    return options.cancel && options.cancel->load(std::memory_order_relaxed);
  };
  PreparedEngine prepared;
  try {
    prepared = options.reuse && !options.precise.listener && !needs_precise_engine(launch, options)
                   ? reuse.engine(launch, options.engine, options.math, is_cancelled)
                   : make_engine(launch, options, findings, is_cancelled);
  } catch (const translator::Cancelled&) {
    outcome.cancelled = true;
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return outcome;
  }
  prepared.begin_report();
  {
    Scheduler scheduler(launch, options, *prepared.engine, reuse);
    const unsigned available = host_threads();
    const Listener* const listener = options.precise.listener;
    const bool is_serial = listener && listener->order() == Listener::Order::serial;
    const uint64_t wanted = is_serial ? 1 : options.threads == 0 ? available : options.threads;
    const unsigned threads = static_cast<unsigned>(std::min<uint64_t>(wanted, group_count(launch)));
    if (threads == 1) {
      scheduler.work();
    } else {
      // As many as were asked for, on a machine with fewer cores, too: TBB has one for each core by itself.
      tbb::global_control parallelism(tbb::global_control::max_allowed_parallelism, threads);
      tbb::task_arena arena(static_cast<int>(threads));
      arena.execute([&] {
        tbb::task_group workers;
        for (unsigned i = 0; i < threads; ++i) workers.run([&] { scheduler.work(); });
        workers.wait();
      });
    }
    scheduler.report(outcome);
    prepared.report(outcome);
  }
  outcome.findings = findings.all();
  outcome.exceptions = findings.exceptions();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

}  // namespace lockstep::machine

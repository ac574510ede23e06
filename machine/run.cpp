// Work-groups over host threads: each runs on one thread at a time; a group that does not finish in its slice
// is parked and another one runs, so groups that wait for each other all make progress.
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "engine/interpreter/interpreter.h"
#include "engine/precise/precise_engine.h"
#include "engine/precise/units.h"
#include "engine/translator/translator.h"
#include "isa/instruction.h"
#include "machine/group_context.h"
#include "machine/launch.h"

namespace lockstep::machine {

namespace {

// Wave-instructions of a group before another one gets the thread: some milliseconds.
constexpr int64_t kSlice = 1'000'000;
constexpr uint64_t kNone = ~uint64_t{0};

void check(const Launch& launch) {
  uint64_t items = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] == 0)
      throw std::invalid_argument("the grid is empty: every dimension must be at least 1");
    if (launch.group[axis] == 0)
      throw std::invalid_argument("the work-group is empty: every dimension must be at least 1");
    items *= launch.group[axis];
    if (items > 1024)
      throw std::invalid_argument("a work-group of " + std::to_string(items) +
                                  " work-items: the hardware has room for 1024");
  }
  if (launch.lds_bytes > 65536)
    throw std::invalid_argument("a work-group with " + std::to_string(launch.lds_bytes) +
                                " bytes of LDS: the hardware gives at most 65536");
  if (launch.wave_size != 32 && launch.wave_size != 64)
    throw std::invalid_argument("the wave size must be 32 or 64");
  if (launch.user_data.size() > 32) throw std::invalid_argument("more than 32 user SGPRs");
}

uint64_t group_count(const Launch& launch) {
  uint64_t count = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint64_t groups = (uint64_t{launch.grid[axis]} + launch.group[axis] - 1) / launch.group[axis];
    if (__builtin_mul_overflow(count, groups, &count))
      throw std::invalid_argument("the grid has more work-groups than can be counted");
  }
  return count;
}

// The groups of one dispatch and who works on them.
class Scheduler {
 public:
  Scheduler(const Launch& launch, const RunOptions& options, Engine& engine)
      : launch_(launch), options_(options), engine_(engine) {
    totals_.groups_total = group_count(launch);
  }

  void work() {
    while (std::unique_ptr<GroupContext> context = take()) {
      uint64_t executed = 0;
      const auto result = context->run(engine_, kSlice, executed);
      give_back(std::move(context), result, executed);
    }
  }

  void report(Outcome& outcome) {
    outcome.totals = totals_;
    outcome.cancelled = cancelled_;
    outcome.fault = std::move(fault_);
  }

 private:
  bool stop_requested() const { return options_.cancel && options_.cancel->load(std::memory_order_relaxed); }

  // The next group to run: a new one while there is room, else the one parked longest. Null when nothing is
  // left.
  std::unique_ptr<GroupContext> take() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (stop_requested()) cancelled_ = true;
      if (cancelled_) return nullptr;
      const bool new_one = next_ < std::min(totals_.groups_total, fault_number_);
      if (new_one && resident_ < options_.resident_groups) {
        const uint64_t number = next_++;
        ++resident_;
        std::unique_ptr<GroupContext> context;
        if (!idle_.empty()) {
          context = std::move(idle_.back());
          idle_.pop_back();
        }
        lock.unlock();
        if (!context) context = std::make_unique<GroupContext>(launch_);
        if (!context->start(launch_, number, engine_)) {
          refuse_entry(number);
          return nullptr;
        }
        lock.lock();
        totals_.waves += context->wave_count();
        return context;
      }
      while (!parked_.empty() && parked_.front()->number() > fault_number_) {
        parked_.pop_front();
        --resident_;
      }
      if (!parked_.empty()) {
        std::unique_ptr<GroupContext> context = std::move(parked_.front());
        parked_.pop_front();
        return context;
      }
      if (resident_ == 0 || !new_one) {
        if (resident_ == 0) return nullptr;
      }
      // Other threads run all that is resident; one of them may park a group for us.
      changed_.wait(lock);
    }
  }

  void give_back(std::unique_ptr<GroupContext> context, GroupContext::Result result, uint64_t executed) {
    std::lock_guard lock(mutex_);
    totals_.instructions += executed;
    switch (result) {
      case GroupContext::Result::unfinished:
        parked_.push_back(std::move(context));
        break;
      case GroupContext::Result::faulted:
        record_fault(*context);
        --resident_;
        break;
      case GroupContext::Result::finished:
        ++totals_.groups_done;
        --resident_;
        idle_.push_back(std::move(context));
        break;
    }
    changed_.notify_all();
    report_progress();
  }

  // The fault that counts is that of the first group in dispatch order, whatever the threads did: groups
  // before it go on, groups behind it are dropped.
  void record_fault(const GroupContext& context) {
    if (context.number() >= fault_number_) return;
    fault_number_ = context.number();
    const Wave& wave = context.faulted_wave();
    WaveFault fault;
    fault.fault = wave.fault;
    std::copy(std::begin(context.group().id), std::end(context.group().id), fault.group.begin());
    fault.wave = wave.index_in_group;
    fault.instruction = instruction_text(launch_, wave.fault.pc);
    fault_ = std::move(fault);
  }

  void refuse_entry(uint64_t number) {
    std::lock_guard lock(mutex_);
    fault_number_ = number;
    WaveFault fault;
    fault.fault.kind = FaultKind::bad_pc;
    fault.fault.pc = launch_.entry;
    fault.fault.message = "the kernel's entry point lies outside its code";
    fault_ = std::move(fault);
    --resident_;
    changed_.notify_all();
  }

  void report_progress() {
    if (!options_.progress) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_report_ < std::chrono::milliseconds(100)) return;
    last_report_ = now;
    options_.progress(totals_);
  }

  const Launch& launch_;
  const RunOptions& options_;
  Engine& engine_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Progress totals_;
  uint64_t next_ = 0;              // first group not started yet
  uint32_t resident_ = 0;          // started and not finished
  uint64_t fault_number_ = kNone;  // first group that faulted
  bool cancelled_ = false;
  std::optional<WaveFault> fault_;
  std::deque<std::unique_ptr<GroupContext>> parked_;
  std::vector<std::unique_ptr<GroupContext>> idle_;
  std::chrono::steady_clock::time_point last_report_ = std::chrono::steady_clock::now();
};

std::unique_ptr<Engine> make_engine(const Launch& launch, const RunOptions& options,
                                    precise::Findings& findings, Outcome& outcome) {
  if (options.precise.needed()) {
    if (options.observer)
      throw std::invalid_argument("a fidelity report cannot be made in the same run as " +
                                  options.precise.names());
    if (options.engine != EngineKind::interpreter)
      outcome.note = "the interpreter ran this kernel, because of " + options.precise.names();
    return std::make_unique<precise::PreciseEngine>(
        launch.code, launch.wave_size, launch.memory, allocated_vgprs(launch.vgpr_count, launch.wave_size),
        [&](Wave& wave, precise::Executor& executor) {
          return precise::make_units(options.precise, findings, wave, executor);
        });
  }
  if (options.engine == EngineKind::interpreter || options.observer) {
    if (options.engine != EngineKind::interpreter)
      outcome.note = "the interpreter ran this kernel, because its instructions are observed";
    return std::make_unique<interpreter::Interpreter>(
        launch.code, launch.wave_size, launch.memory, interpreter::best_host_target(),
        allocated_vgprs(launch.vgpr_count, launch.wave_size), options.observer);
  }
  auto engine =
      std::make_unique<translator::Translator>(launch.code, launch.wave_size, launch.memory, launch.entry);
  if (!engine->unsupported().empty())
    outcome.note =
        "the interpreter ran this kernel, because the translator cannot yet: " + engine->unsupported();
  const translator::Statistics& statistics = engine->statistics();
  outcome.translation = {statistics.instructions, statistics.code_bytes, statistics.seconds,
                         statistics.reused};
  return engine;
}

}  // namespace

std::string instruction_text(const Launch& launch, uint64_t pc) {
  for (const CodeRange& range : launch.code) {
    if (pc < range.begin || pc >= range.end) continue;
    isa::Instruction instruction;
    const size_t available = std::min<uint64_t>(range.end - pc, isa::kMaxInstructionBytes);
    const auto error =
        isa::decode({reinterpret_cast<const std::byte*>(pc), available}, launch.wave_size, instruction);
    if (error != isa::DecodeError::none) return std::string(isa::describe(error));
    char text[isa::kMaxText];
    return std::string(text, isa::disassemble(instruction, launch.wave_size, text, sizeof text));
  }
  return "(outside the code)";
}

Outcome run(const Launch& launch, const RunOptions& options) {
  check(launch);
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome;
  precise::Findings findings;
  const std::unique_ptr<Engine> engine = make_engine(launch, options, findings, outcome);
  Scheduler scheduler(launch, options, *engine);
  const unsigned available = std::max(1u, std::thread::hardware_concurrency());
  const uint64_t wanted = options.observer ? 1 : options.threads == 0 ? available : options.threads;
  const unsigned threads = static_cast<unsigned>(std::min<uint64_t>(wanted, group_count(launch)));
  if (threads == 1) {
    scheduler.work();
  } else {
    tbb::task_arena arena(static_cast<int>(threads));
    arena.execute([&] {
      tbb::task_group workers;
      for (unsigned i = 0; i < threads; ++i) workers.run([&] { scheduler.work(); });
      workers.wait();
    });
  }
  scheduler.report(outcome);
  outcome.findings = findings.all();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

}  // namespace lockstep::machine

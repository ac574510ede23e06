#include "machine/reuse.h"

#include <algorithm>
#include <stdexcept>

#include "engine/interpreter/tap.h"
#include "engine/precise/precise_engine.h"
#include "engine/precise/program_rules.h"
#include "engine/precise/rule_engine.h"
#include "engine/precise/units.h"
#include "engine/translator/translator.h"
#include "machine/group_context.h"
#include "machine/wave_control.h"
#include "numeric/float_mode.h"

namespace lockstep::machine {

namespace {

bool has_usual_modes(const Launch& launch) {
  return launch.access_modes == memory::AccessModes{};
}
// Fast math is the interpreter's: who has not asked for the translator gets it.
EngineKind possible_engine(EngineKind given, const Launch& launch, Math math) {
  const bool is_possible =
      has_usual_modes(launch) && (given == EngineKind::translator || math == Math::exact);
  return is_possible ? given : EngineKind::interpreter;
}
constexpr char kUnusualModes[] =
    "the interpreter ran this kernel, because of the device's alignment mode or its reports of LDS addresses";

// Which instructions of translated code are the interpreter's, or nothing.
std::string interpreted_note(const translator::Statistics& statistics) {
  std::string list;
  for (const translator::InterpretedInstruction& each : statistics.interpreted) {
    if (each.name.empty()) continue;  // no instruction: who runs into it learns of it by a fault
    list += (list.empty() ? "" : ", ") + each.name;
    if (each.count > 1) list += " (" + std::to_string(each.count) + ")";
  }
  return list.empty()
             ? list
             : "the interpreter executes these instructions of the translated kernel, one by one: " + list;
}

// An engine that others may have been given otherwise.
PreparedEngine as_given(EngineKind given, PreparedEngine prepared) {
  if (!prepared.translator && given == EngineKind::translator) prepared.note = kUnusualModes;
  return prepared;
}

uint32_t float_mode(const Launch& launch) {
  return initial_mode(launch) & kFloatModeMask;
}

// Of each wave of small groups: its lowest chunks alone. 0: all.
uint32_t most_lanes(const Launch& launch) {
  uint64_t items = 1;
  for (unsigned axis = 0; axis < 3; ++axis) items *= std::min(launch.group[axis], launch.grid[axis]);
  const uint64_t lanes = (items + 15) / 16 * 16;
  return lanes <= launch.wave_size / 2 ? static_cast<uint32_t>(lanes) : 0;
}

// Null waves are waited for, too.
bool has_lone_waves(const Launch& launch) {
  return placement_needs(launch).waves == 1;
}

// Where rows of work-items are no whole waves, they may be whole chunks of 16 lanes, or shorter.
translator::LaunchShape launch_shape(const Launch& launch) {
  const bool is_one_row = launch.group[1] == 1 && launch.group[2] == 1;
  const uint32_t row = launch.group[0], whole = row & -row;  // a power of two that it is a multiple of
  uint32_t counting_lanes = launch.wave_size;
  if (!is_one_row && row % launch.wave_size != 0) {
    if (whole >= 16)
      counting_lanes = 16;
    else if (row < launch.wave_size)  // else most chunks are of one row
      counting_lanes = whole;
  }
  return {static_cast<unsigned>(launch.user_data.size()), counting_lanes, most_lanes(launch),
          has_lone_waves(launch), is_one_row};
}

PreparedEngine make_translator(const Launch& launch, EngineKind kind, Math math,
                               const translator::IsCancelled& is_cancelled) {
  PreparedEngine prepared;
  const auto first =
      kind == EngineKind::automatic ? translator::FirstTier::interpreter : translator::FirstTier::translator;
  auto engine = std::make_shared<translator::Translator>(launch.code, launch.wave_size, launch.memory,
                                                         launch.entry, wave_vgprs(launch), is_cancelled,
                                                         first, float_mode(launch), launch_shape(launch));
  engine->set_host_clock(launch.host_clock_mhz);
  if (!engine->unsupported().empty())
    prepared.note =
        "the interpreter ran this kernel, because the translator cannot yet: " + engine->unsupported();
  else
    prepared.note = interpreted_note(engine->statistics());
  if (math == Math::fast)
    prepared.note +=
        std::string(prepared.note.empty() ? "" : "; ") +
        "fast math had no effect, as it is the interpreter's only: leave the translator out to have it";
  prepared.translator = engine.get();
  prepared.code = &engine->code();
  prepared.engine = std::move(engine);
  return prepared;
}

std::shared_ptr<interpreter::Code> decode(const Launch& launch, Observer* observer, Math math) {
  return std::make_shared<interpreter::Code>(launch.code, launch.memory, launch.wave_size,
                                             interpreter::best_host_target(), wave_vgprs(launch), observer,
                                             math, false, launch.access_modes);
}

std::shared_ptr<Engine> make_interpreter(const Launch& launch, std::shared_ptr<interpreter::Code> code) {
  auto engine = std::make_shared<interpreter::Interpreter>(std::move(code), launch.memory);
  engine->set_host_clock(launch.host_clock_mhz);
  return engine;
}

// With what tells its listener.
struct ListenedInterpreter {
  interpreter::Tap tap;
  interpreter::Interpreter engine;

  ListenedInterpreter(const Launch& launch, Listener& listener, Math math)
      : tap(listener), engine(decode(launch, &tap, math), launch.memory) {}
};

std::shared_ptr<Engine> make_listened_interpreter(const Launch& launch, Listener& listener, Math math) {
  const auto listened = std::make_shared<ListenedInterpreter>(launch, listener, math);
  listened->engine.set_host_clock(launch.host_clock_mhz);
  return {listened, &listened->engine};
}

}  // namespace

std::unique_ptr<precise::PreciseEngine> make_precise_engine(const Launch& launch, std::vector<CodeRange> code,
                                                            const precise::Settings& settings, Math math,
                                                            Findings& findings,
                                                            std::vector<CodeRange> pages) {
  auto engine = std::make_unique<precise::PreciseEngine>(
      std::move(code), launch.wave_size, launch.memory, wave_vgprs(launch),
      precise::units_for(settings, findings, launch.rsrc1 >> 29 & 1, launch.caches, std::move(pages)), math,
      launch.access_modes, settings.listener);
  // Bit 63 of TBA says that there is a handler (guide table 4).
  const precise::TrapSettings& traps = settings.traps;
  engine->set_trap_addresses(traps.handler ? traps.handler | uint64_t{1} << 63 : 0, traps.memory);
  if (settings.host || traps.halts_for_good) engine->set_halts_resumable();
  engine->set_host_clock(launch.host_clock_mhz);
  return engine;
}

bool needs_precise_engine(const Launch& launch, const RunOptions& options) {
  return options.precise.needed() || options.control || launch.uses_exceptions;
}

PreparedEngine make_engine(const Launch& launch, const RunOptions& options, Findings& findings,
                           const translator::IsCancelled& is_cancelled) {
  PreparedEngine prepared;
  if (needs_precise_engine(launch, options)) {
    precise::Settings settings = options.precise;
    settings.host = options.control;
    if (!settings.needed())
      prepared.note =
          "this kernel ran one instruction at a time, because it reads or enables its exceptions (TRAPSTS, "
          "MODE.EXCP_EN)";
    else if (options.engine == EngineKind::translator)
      prepared.note = "the interpreter ran this kernel, because of " + settings.names();
    constexpr uint32_t kDx10Clamp = 1u << 21;  // COMPUTE_PGM_RSRC1.DX10_CLAMP
    if (settings.exceptions && launch.rsrc1 & kDx10Clamp)
      prepared.note += std::string(prepared.note.empty() ? "" : "; ") +
                       "the kernel starts with DX10_CLAMP set, which suppresses the exceptions of arithmetic "
                       "(guide 3.4.2; .amdhsa_dx10_clamp 0 clears it)";
    settings.exceptions |= launch.uses_exceptions;
    if (settings.traps.handler != 0) {
      settings.traps.on_start |= (launch.rsrc3 >> 10 & 1) != 0;  // TRAP_ON_START
      settings.traps.on_end |= (launch.rsrc3 >> 11 & 1) != 0;
    }
    std::vector<CodeRange> code = launch.code;
    const precise::TrapSettings& traps = settings.traps;
    if (traps.handler != 0 && traps.wave_size != 0 && traps.wave_size != launch.wave_size)
      throw std::invalid_argument("the trap handler is compiled for wave" + std::to_string(traps.wave_size) +
                                  ", the kernel for wave" + std::to_string(launch.wave_size) +
                                  " (compile it for that)");
    if (traps.code != CodeRange{}) code.push_back(traps.code);
    std::vector<CodeRange> pages;
    if (settings.rules != precise::Rules::ignore) pages = precise::mapped_pages(code, launch.memory.get());
    if (settings.only_tells_of_rules()) {
      auto engine = std::make_shared<precise::RuleEngine>(
          code, launch.wave_size, launch.memory, wave_vgprs(launch), settings, findings,
          launch.rsrc1 >> 29 & 1, std::move(pages), options.math, launch.access_modes);
      engine->set_host_clock(launch.host_clock_mhz);
      prepared.engine = std::move(engine);
      return prepared;
    }
    prepared.engine =
        make_precise_engine(launch, std::move(code), settings, options.math, findings, std::move(pages));
    return prepared;
  }
  if (options.precise.listener) {
    if (options.engine == EngineKind::translator)
      prepared.note = "the interpreter ran this kernel, because its instructions are observed";
    prepared.engine = make_listened_interpreter(launch, *options.precise.listener, options.math);
    return prepared;
  }
  const EngineKind kind = possible_engine(options.engine, launch, options.math);
  if (kind != EngineKind::interpreter) return make_translator(launch, kind, options.math, is_cancelled);
  if (options.engine == EngineKind::translator) prepared.note = kUnusualModes;
  prepared.engine = make_interpreter(launch, decode(launch, nullptr, options.math));
  return prepared;
}

void PreparedEngine::begin_report() {
  if (!translator) return;
  interpreted_before = translator->interpreted();
  exits_before = translator->exit_counts();
}

void PreparedEngine::report(Outcome& outcome) const {
  outcome.note = note;
  if (!translator) return;
  const translator::Statistics statistics = translator->statistics();
  outcome.translation = {statistics.instructions,
                         statistics.code_bytes,
                         statistics.seconds,
                         statistics.origin == translator::Origin::reused || translator->was_told(),
                         statistics.origin == translator::Origin::stored,
                         translator->interpreted() - interpreted_before,
                         translator->exits_since(exits_before)};
}

Reuse::Entries::iterator Reuse::find(const Launch& launch, EngineKind kind, Math math) {
  return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.kind == kind && entry.math == math && entry.access_modes == launch.access_modes &&
           entry.wave_size == launch.wave_size && entry.vgpr_count == wave_vgprs(launch) &&
           (kind == EngineKind::interpreter ||
            (entry.entry == launch.entry && entry.float_mode == float_mode(launch) &&
             entry.most_lanes == most_lanes(launch) && entry.has_lone_waves == has_lone_waves(launch))) &&
           entry.code == launch.code;
  });
}

PreparedEngine Reuse::engine(const Launch& launch, EngineKind given, Math math,
                             const translator::IsCancelled& is_cancelled) {
  const EngineKind kind = possible_engine(given, launch, math);
  std::shared_ptr<interpreter::Code> decoded;
  uint64_t times_forgotten = 0, interpreted = 0;
  {
    std::lock_guard lock(mutex_);
    times_forgotten = times_forgotten_;
    const auto found = find(launch, kind, math);
    if (found != entries_.end()) {
      std::rotate(entries_.begin(), found, found + 1);
      Entry& entry = entries_.front();
      const bool is_stale = entry.prepared.code->has_stale_code();
      if (entry.memory == launch.memory && !is_stale) return as_given(given, entry.prepared);
      if (entry.prepared.translator && !is_stale) interpreted = entry.prepared.translator->interpreted();
      // Code that may be anywhere in memory belongs to that memory.
      if (!is_stale && (entry.memory == launch.memory || !launch.memory || launch.memory->version() == 0))
        decoded = entry.decoded;
    }
  }
  Entry made;
  made.decoded = std::move(decoded);
  made.code = launch.code;
  made.wave_size = launch.wave_size;
  made.vgpr_count = wave_vgprs(launch);
  made.kind = kind;
  made.math = math;
  made.access_modes = launch.access_modes;
  made.entry = launch.entry;
  made.float_mode = float_mode(launch);
  made.most_lanes = most_lanes(launch);
  made.has_lone_waves = has_lone_waves(launch);
  made.memory = launch.memory;
  // Without the lock: what takes long is no matter of other kernels.
  if (kind != EngineKind::interpreter) {
    made.prepared = make_translator(launch, kind, math, is_cancelled);
    made.prepared.translator->add_interpreted(interpreted);
  } else {
    if (!made.decoded) made.decoded = decode(launch, nullptr, math);
    made.prepared.engine = make_interpreter(launch, made.decoded);
    made.prepared.code = made.decoded.get();
  }
  const PreparedEngine prepared = as_given(given, made.prepared);
  std::lock_guard lock(mutex_);
  if (times_forgotten != times_forgotten_) return prepared;
  const auto found = find(launch, kind, math);
  if (found != entries_.end())
    entries_.erase(found);
  else if (entries_.size() == kMaxEngines)
    entries_.pop_back();
  entries_.insert(entries_.begin(), std::move(made));
  return prepared;
}

void Reuse::forget_code() {
  std::lock_guard lock(mutex_);
  ++times_forgotten_;
  entries_.clear();
}

std::unique_ptr<GroupContext> Reuse::context(const Launch& launch) {
  {
    std::lock_guard lock(mutex_);
    for (size_t i = idle_.size(); i-- > 0;) {
      if (!idle_[i]->fits(launch)) continue;
      std::unique_ptr<GroupContext> context = std::move(idle_[i]);
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
      idle_bytes_ -= context->bytes();
      context->begin_dispatch();
      return context;
    }
  }
  return std::make_unique<GroupContext>(launch);
}

void Reuse::give_back(std::unique_ptr<GroupContext> context) {
  context->leave_place();
  std::lock_guard lock(mutex_);
  if (context->bytes() > kMaxIdleBytes) return;
  // What was given back longest ago goes first.
  while (idle_bytes_ + context->bytes() > kMaxIdleBytes) {
    idle_bytes_ -= idle_.front()->bytes();
    idle_.erase(idle_.begin());
  }
  idle_bytes_ += context->bytes();
  idle_.push_back(std::move(context));
}

}  // namespace lockstep::machine

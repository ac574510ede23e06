#include "machine/wave_control.h"

#include <algorithm>
#include <utility>

#include "machine/wait_text.h"
#include "state/dispatch_state.h"
#include "state/trap_status.h"

namespace lockstep::machine {

namespace {

uint32_t conditions(bool user, bool system) {
  return (user ? status_bit::kConditionDebugUser : 0) | (system ? status_bit::kConditionDebugSystem : 0);
}

}  // namespace

// ---- The host's side

void WaveControl::configure(const Settings& settings) {
  std::lock_guard lock(mutex_);
  settings_ = settings;
}

WaveControl::Controlled& WaveControl::find(WaveId id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) throw NoSuchWave(id);
  return *found->second;
}

void WaveControl::require_held(const Controlled& wave, const char* why) {
  if (!wave.held)
    throw std::invalid_argument("wave " + std::to_string(wave.id) + " is not halted: " + why +
                                " (halt it and wait for the event)");
}

WaveDescription WaveControl::describe(const Controlled& wave) const {
  WaveDescription text;
  text.id = wave.id;
  std::copy(std::begin(wave.wave->group->id), std::end(wave.wave->group->id), text.group.begin());
  text.wave = wave.wave->index_in_group;
  text.wave_size = wave.wave->wave_size;
  text.state = wave.held ? WaveState::held : wave.unit->shown_state();
  text.pc = wave.held ? wave.wave->pc : wave.unit->shown_pc();
  if (wave.held) {
    text.cause = wave.cause;
    if (wave.cause == precise::HaltCause::refused) text.message = wave.unit->refusal();
    if (const Fault* fault = wave.unit->fault()) {
      text.fault = fault->kind;
      text.fault_pc = fault->pc;
      text.message = fault->message;
    }
  }
  // It was let go, and its thread has not come to it yet.
  if (!wave.held && text.state == WaveState::held) text.state = WaveState::ready;
  const bool waits = text.state == WaveState::blocked ||
                     (wave.held && text.message.empty() && wave.wave->held_from == WaveState::blocked);
  if (waits)
    if (const auto wait = describe_wait(*wave.wave)) text.message = wait->what + ": " + wait->lacks;
  return text;
}

std::vector<WaveDescription> WaveControl::waves() const {
  std::vector<WaveDescription> all;
  std::lock_guard lock(mutex_);
  for (const auto& [id, wave] : by_id_) all.push_back(describe(*wave));
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.id < b.id; });
  return all;
}

void WaveControl::give(WaveId id, const std::function<bool(Controlled&)>& command) {
  std::vector<Call> calls;
  {
    std::lock_guard lock(mutex_);
    auto to = [&](Controlled& wave) {
      if (!command(wave)) return;
      const WorkGroup* group = wave.wave->group;
      Group& record = group_of(*group);
      if (!record.has_commands.exchange(true)) calls.push_back({record.wake, group});
    };
    if (id != kAllWaves) {
      to(find(id));
    } else {
      for (const auto& [each, wave] : by_id_) to(*wave);
    }
    ++calls_;
  }
  for (const Call& call : calls) {
    {
      std::lock_guard lock(call.wake->mutex);
      call.wake->woken.push_back(call.group);
    }
    call.wake->changed.notify_one();
    if (call.wake->tell) call.wake->tell();
  }
  std::lock_guard lock(mutex_);
  if (--calls_ == 0) called_.notify_all();
}

void WaveControl::release(Controlled& wave, uint64_t steps) {
  wave.held = false;
  wave.commands.release = true;
  wave.commands.halt = false;
  wave.commands.steps = steps;
  remove_halt_event(wave.id);
}

void WaveControl::halt(WaveId id) {
  give(id, [](Controlled& wave) {
    if (wave.held) return false;
    wave.commands.halt = true;
    return true;
  });
}

void WaveControl::resume(WaveId id) {
  give(id, [this](Controlled& wave) {
    // The host has not seen the fault yet.
    if (!wave.held && wave.unit->fault()) return false;
    release(wave, 0);
    return true;
  });
}

void WaveControl::step(WaveId id, uint64_t instructions) {
  if (instructions == 0) throw std::invalid_argument("a step of no instructions: give at least 1");
  if (id == kAllWaves) throw std::invalid_argument("waves are stepped one at a time: give the id of one");
  give(id, [&](Controlled& wave) {
    require_held(wave, "it cannot be stepped");
    release(wave, instructions);
    return true;
  });
}

void WaveControl::kill(WaveId id) {
  give(id, [this](Controlled& wave) {
    wave.held = false;
    wave.commands.kill = true;
    remove_halt_event(wave.id);
    return true;
  });
}

void WaveControl::set_conditions(WaveId id, std::optional<bool> user, std::optional<bool> system) {
  const uint32_t chosen = conditions(user.has_value(), system.has_value()),
                 values = conditions(user.value_or(false), system.value_or(false));
  give(id, [&](Controlled& wave) {
    if (wave.held) {
      // Seen by whoever reads STATUS next.
      __atomic_store_n(&wave.wave->status, (wave.wave->status & ~chosen) | values, __ATOMIC_RELAXED);
      return false;
    }
    wave.commands.chosen_conditions |= chosen;
    wave.commands.conditions = (wave.commands.conditions & ~chosen) | values;
    return true;
  });
}

uint64_t WaveControl::read(WaveId id, RegisterName name) const {
  std::lock_guard lock(mutex_);
  const Controlled& wave = find(id);
  require_held(wave, "its registers change");
  return read_register(*wave.wave, name);
}

void WaveControl::write(WaveId id, RegisterName name, uint64_t value) {
  std::lock_guard lock(mutex_);
  const Controlled& wave = find(id);
  require_held(wave, "its registers change");
  write_register(*wave.wave, *wave.unit, name, value);
}

std::optional<WaveEvent> WaveControl::wait(std::optional<std::chrono::nanoseconds> limit) {
  std::unique_lock lock(mutex_);
  const auto has_come = [&] { return !events_.empty() || interrupts_ > 0; };
  // Far times would overflow the clock.
  constexpr std::chrono::hours kForEver(24 * 365 * 100);
  if (!limit || *limit >= kForEver)
    event_.wait(lock, has_come);
  else if (!event_.wait_for(lock, *limit, has_come))
    return std::nullopt;
  if (events_.empty()) {
    --interrupts_;
    return std::nullopt;
  }
  WaveEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void WaveControl::interrupt() {
  {
    std::lock_guard lock(mutex_);
    ++interrupts_;
  }
  event_.notify_all();
}

void WaveControl::add_event(const Controlled& wave, bool ended) {
  events_.push_back({describe(wave), ended});
  event_.notify_one();
}

void WaveControl::remove_halt_event(WaveId id) {
  std::erase_if(events_, [&](const WaveEvent& event) { return event.wave.id == id && !event.ended; });
}

// ---- The machine's side

const std::atomic<bool>& WaveControl::begin(const WorkGroup& group) {
  auto record = std::make_unique<Group>();
  record->wake = group.dispatch->wake;
  record->waves.reserve(group.wave_count);
  std::lock_guard lock(mutex_);
  return (groups_[&group] = std::move(record))->has_commands;
}

std::atomic<bool>& WaveControl::attach(Wave& wave, precise::HostControl& unit) {
  std::lock_guard lock(mutex_);
  Group& group = group_of(*wave.group);
  Controlled& controlled = group.waves.emplace_back();
  controlled.id = ++last_id_;
  controlled.wave = &wave;
  controlled.unit = &unit;
  return group.has_commands;
}

void WaveControl::started(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  Group& record = group_of(group);
  for (Controlled& wave : record.waves) {
    wave.wave->status |= conditions(settings_.condition_debug_user, settings_.condition_debug_system);
    if (settings_.start_halted) {
      wave.unit->halt(*wave.wave, precise::HaltCause::start);
      record.has_commands = true;
    }
    by_id_[wave.id] = &wave;
  }
}

void WaveControl::apply(const WorkGroup& group) {
  struct Work {
    Controlled* wave;
    precise::HostCommands commands;
    bool held;
  };
  std::vector<Work> work;
  bool any = false;
  {
    std::lock_guard lock(mutex_);
    Group& record = group_of(group);
    record.has_commands = false;
    for (Controlled& wave : record.waves) {
      if (!by_id_.contains(wave.id)) continue;
      any |= wave.commands.any();
      work.push_back({&wave, std::exchange(wave.commands, {}), wave.held});
    }
  }
  // Without the lock: waves that are not held are this thread's, and none is held again before it says so.
  for (const auto& [controlled, commands, held] : work) {
    Wave& wave = *controlled->wave;
    precise::HostControl& unit = *controlled->unit;
    // All active clauses of the group; the guide says no more than "all" (5.2.1).
    if (any) unit.break_clause();
    if (held) continue;
    if (commands.kill) {
      unit.kill(wave);
      std::lock_guard lock(mutex_);
      add_event(*controlled, true);
      by_id_.erase(controlled->id);
      continue;
    }
    unit.obey(wave, commands);
    if (!precise::HostControl::must_hold(wave)) continue;
    const precise::HaltCause cause = unit.hold(wave);
    std::lock_guard lock(mutex_);
    controlled->held = true;
    controlled->cause = cause;
    // Commands that came meanwhile were given to a wave that ran.
    precise::HostCommands& late = controlled->commands;
    if (late.release || late.kill) {
      controlled->held = false;
      continue;
    }
    unit.obey(wave, {.conditions = late.conditions, .chosen_conditions = late.chosen_conditions});
    late = {};
    add_event(*controlled, false);
  }
}

WaveControl::Controlled& WaveControl::record_of(Group& group, const Wave& wave) {
  return *std::ranges::find(group.waves, &wave, &Controlled::wave);
}

void WaveControl::refused(Wave& wave) {
  std::lock_guard lock(mutex_);
  Group& group = group_of(*wave.group);
  record_of(group, wave).unit->refuse(wave);
  group.has_commands = true;
}

bool WaveControl::faulted(Wave& wave) {
  std::lock_guard lock(mutex_);
  Group& group = group_of(*wave.group);
  Controlled& record = record_of(group, wave);
  // It was let go, or killed, with the fault that the host has seen.
  if (!settings_.halt_on_fault || record.unit->fault()) return false;
  record.unit->halt_faulted(wave);
  record.commands.release = false;  // given to a wave without a fault
  group.has_commands = true;
  return true;
}

void WaveControl::show(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  for (Controlled& wave : group_of(group).waves) wave.unit->show(*wave.wave);
}

void WaveControl::ended(const Wave& wave, bool stepping) {
  std::lock_guard lock(mutex_);
  const Controlled& record = record_of(group_of(*wave.group), wave);
  if (stepping) add_event(record, true);
  by_id_.erase(record.id);
}

precise::HaltCause WaveControl::let_go(const Wave& wave) {
  std::lock_guard lock(mutex_);
  Controlled& record = record_of(group_of(*wave.group), wave);
  record.held = false;
  remove_halt_event(record.id);
  return record.cause;
}

// Whoever looks at a held wave hears that it is gone.
void WaveControl::give_up(Group& group) {
  for (Controlled& wave : group.waves) {
    if (by_id_.erase(wave.id) == 0) continue;
    remove_halt_event(wave.id);
    if (std::exchange(wave.held, false)) add_event(wave, true);
  }
}

void WaveControl::forget(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  const auto found = groups_.find(&group);
  if (found == groups_.end()) return;
  give_up(*found->second);
  groups_.erase(found);
}

void WaveControl::leave(const WakeList& wake) {
  std::unique_lock lock(mutex_);
  for (auto& [group, record] : groups_)
    if (record->wake.get() == &wake) give_up(*record);
  called_.wait(lock, [&] { return calls_ == 0; });
}

}  // namespace lockstep::machine

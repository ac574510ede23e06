#include "api/wave_control.h"

#include "api/device.h"
#include "api/status.h"

using namespace lockstep;
using namespace lockstep::api;

namespace {

using machine::RegisterKind;
using precise::HaltCause;

// Runs the body of a function about the waves of `control`.
template <class Body>
lockstep_status commanding(const lockstep_wave_control* control, Body&& body) {
  return guarded([&] {
    require(control != nullptr, "the wave control is null");
    try {
      body();
    } catch (const machine::NoSuchWave& error) {
      throw Failure(LOCKSTEP_NOT_FOUND, error.what());
    } catch (const std::invalid_argument& error) {
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, error.what());
    }
  });
}

machine::WaveControl::Settings settings_of(const lockstep_wave_control_options* given) {
  const lockstep_wave_control_options options = with_defaults(given, lockstep_wave_control_options{});
  return {.start_halted = options.start_halted != 0,
          .condition_debug_user = options.condition_debug_user != 0,
          .condition_debug_system = options.condition_debug_system != 0,
          .halt_on_fault = options.halt_on_fault != 0};
}

lockstep_wave_state state_of(WaveState state) {
  switch (state) {
    case WaveState::ready:
      return LOCKSTEP_WAVE_RUNNING;
    case WaveState::held:
    case WaveState::halted:
      return LOCKSTEP_WAVE_HALTED;
    case WaveState::at_barrier:
      return LOCKSTEP_WAVE_AT_BARRIER;
    case WaveState::sleeping:
      return LOCKSTEP_WAVE_SLEEPING;
    case WaveState::blocked:
      return LOCKSTEP_WAVE_BLOCKED;
    case WaveState::ended:
    case WaveState::faulted:
      return LOCKSTEP_WAVE_ENDED;
  }
  return LOCKSTEP_WAVE_RUNNING;
}

lockstep_halt_cause cause_of(HaltCause cause) {
  switch (cause) {
    case HaltCause::command:
      return LOCKSTEP_HALT_COMMAND;
    case HaltCause::start:
      return LOCKSTEP_HALT_START;
    case HaltCause::step:
      return LOCKSTEP_HALT_STEP;
    case HaltCause::sethalt:
      return LOCKSTEP_HALT_SETHALT;
    case HaltCause::sendmsghalt:
      return LOCKSTEP_HALT_SENDMSGHALT;
    case HaltCause::fatal:
      return LOCKSTEP_HALT_FATAL;
    case HaltCause::refused:
      return LOCKSTEP_HALT_REFUSED;
    case HaltCause::fault:
      return LOCKSTEP_HALT_FAULT;
  }
  return LOCKSTEP_HALT_NONE;
}

// Points at the text of `wave`.
lockstep_wave_info info_of(const machine::WaveDescription& wave) {
  lockstep_wave_info info{};
  info.struct_size = sizeof info;
  info.id = wave.id;
  std::copy(wave.group.begin(), wave.group.end(), info.work_group);
  info.wave = wave.wave;
  info.wave_size = wave.wave_size;
  info.state = state_of(wave.state);
  info.pc = wave.pc;
  info.cause = wave.state == WaveState::held ? cause_of(wave.cause) : LOCKSTEP_HALT_NONE;
  info.message = wave.message.c_str();
  info.fault = kind_of(wave.fault);
  info.fault_pc = wave.fault_pc;
  return info;
}

machine::RegisterName register_of(int kind, uint32_t index, uint32_t lane) {
  switch (kind) {
    case LOCKSTEP_REGISTER_PC:
      return {RegisterKind::pc};
    case LOCKSTEP_REGISTER_SGPR:
      return {RegisterKind::sgpr, index};
    case LOCKSTEP_REGISTER_VGPR:
      return {RegisterKind::vgpr, index, lane};
    case LOCKSTEP_REGISTER_VCC:
      return {RegisterKind::vcc};
    case LOCKSTEP_REGISTER_M0:
      return {RegisterKind::m0};
    case LOCKSTEP_REGISTER_EXEC:
      return {RegisterKind::exec};
    case LOCKSTEP_REGISTER_SCC:
      return {RegisterKind::scc};
    case LOCKSTEP_REGISTER_STATUS:
      return {RegisterKind::status};
    case LOCKSTEP_REGISTER_MODE:
      return {RegisterKind::mode};
    case LOCKSTEP_REGISTER_TRAPSTS:
      return {RegisterKind::trapsts};
    case LOCKSTEP_REGISTER_TTMP:
      return {RegisterKind::ttmp, index};
  }
  throw Failure(LOCKSTEP_INVALID_ARGUMENT, "there is no register of kind " + std::to_string(kind) +
                                               " (use a value of lockstep_register)");
}

// Negative: leave it as it is.
std::optional<bool> choice_of(int value) {
  if (value < 0) return std::nullopt;
  return value != 0;
}

}  // namespace

void lockstep_wave_control_options_init_sized(lockstep_wave_control_options* options, size_t struct_size) {
  give_defaults(options, struct_size, lockstep_wave_control_options{});
}

lockstep_status lockstep_wave_control_create(const lockstep_wave_control_options* options,
                                             lockstep_wave_control** out) {
  return guarded([&] {
    require(out != nullptr, "out is null");
    auto made = std::make_unique<lockstep_wave_control>();
    made->control.configure(settings_of(options));
    *out = made.release();
  });
}

void lockstep_wave_control_destroy(lockstep_wave_control* control) {
  delete control;
}

lockstep_status lockstep_wave_control_configure(lockstep_wave_control* control,
                                                const lockstep_wave_control_options* options) {
  return commanding(control, [&] { control->control.configure(settings_of(options)); });
}

lockstep_status lockstep_wave_control_list(lockstep_wave_control* control,
                                           void (*wave)(void* user, const lockstep_wave_info* info),
                                           void* user) {
  return commanding(control, [&] {
    require(wave != nullptr, "the function to call is null");
    for (const machine::WaveDescription& each : control->control.waves()) {
      const lockstep_wave_info info = info_of(each);
      wave(user, &info);
    }
  });
}

lockstep_status lockstep_wave_control_wait(lockstep_wave_control* control, uint64_t timeout_nanoseconds,
                                           lockstep_wave_info* out) {
  // The text that `out` points at.
  static thread_local std::string message;
  return commanding(control, [&] {
    require(out != nullptr, "the result structure is null");
    give(out, lockstep_wave_info{});  // refuses a bad size before an event is taken
    std::optional<std::chrono::nanoseconds> limit;
    if (timeout_nanoseconds <= INT64_MAX)
      limit = std::chrono::nanoseconds(static_cast<int64_t>(timeout_nanoseconds));
    auto event = control->control.wait(limit);
    if (!event)
      throw Failure(LOCKSTEP_CANCELLED, "no wave has halted in that time, or the wait was interrupted");
    message = std::move(event->wave.message);
    lockstep_wave_info info = info_of(event->wave);
    info.message = message.c_str();
    if (event->ended) info.state = LOCKSTEP_WAVE_ENDED;
    give(out, info);
  });
}

lockstep_status lockstep_wave_control_interrupt(lockstep_wave_control* control) {
  return commanding(control, [&] { control->control.interrupt(); });
}

lockstep_status lockstep_wave_halt(lockstep_wave_control* control, uint64_t wave) {
  return commanding(control, [&] { control->control.halt(wave); });
}

lockstep_status lockstep_wave_resume(lockstep_wave_control* control, uint64_t wave) {
  return commanding(control, [&] { control->control.resume(wave); });
}

lockstep_status lockstep_wave_step(lockstep_wave_control* control, uint64_t wave, uint64_t instructions) {
  return commanding(control, [&] { control->control.step(wave, instructions); });
}

lockstep_status lockstep_wave_kill(lockstep_wave_control* control, uint64_t wave) {
  return commanding(control, [&] { control->control.kill(wave); });
}

lockstep_status lockstep_wave_set_conditions(lockstep_wave_control* control, uint64_t wave, int user,
                                             int system) {
  return commanding(control,
                    [&] { control->control.set_conditions(wave, choice_of(user), choice_of(system)); });
}

lockstep_status lockstep_wave_read(lockstep_wave_control* control, uint64_t wave, lockstep_register kind,
                                   uint32_t index, uint32_t lane, uint64_t* out) {
  return commanding(control, [&] {
    require(out != nullptr, "out is null");
    *out = control->control.read(wave, register_of(number_of(kind), index, lane));
  });
}

lockstep_status lockstep_wave_write(lockstep_wave_control* control, uint64_t wave, lockstep_register kind,
                                    uint32_t index, uint32_t lane, uint64_t value) {
  return commanding(control,
                    [&] { control->control.write(wave, register_of(number_of(kind), index, lane), value); });
}

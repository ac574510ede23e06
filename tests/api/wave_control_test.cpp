// Waves commanded from another thread, through the C interface (guide 3.4.1, 5.1, 5.5).
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "api/lockstep.hpp"
#include "tests/api/dispatch_packet.h"

namespace {

using lockstep::Arguments;
using lockstep::CodeObject;
using lockstep::Device;
using lockstep::Kernel;
using lockstep::WaveControl;

constexpr uint64_t kPatience = 30'000'000'000;

CodeObject assembled(const std::string& text) {
  lockstep_compile_options options;
  lockstep_compile_options_init(&options);
  options.wave_size = 32;
  return CodeObject::compile(LOCKSTEP_ASSEMBLY, (text + "\ns_endpgm\n").c_str(), "control.s", &options);
}

lockstep_wave_control_options control_options(bool start_halted, bool halt_on_fault) {
  lockstep_wave_control_options options;
  lockstep_wave_control_options_init(&options);
  options.start_halted = start_halted;
  options.halt_on_fault = halt_on_fault;
  return options;
}

// A kernel on a thread of its own.
struct Session {
  const lockstep_wave_control_options options;
  WaveControl control{&options};
  CodeObject object;
  Device device;
  lockstep_status status = LOCKSTEP_OK;
  std::thread thread;

  explicit Session(const std::string& text, uint32_t items = 32, uint32_t block = 32,
                   bool start_halted = false, bool halt_on_fault = false)
      : options(control_options(start_halted, halt_on_fault)), object(assembled(text)) {
    thread = std::thread([this, items, block] {
      lockstep_dispatch_options dispatch;
      lockstep_dispatch_options_init(&dispatch);
      dispatch.grid[0] = items;
      dispatch.block[0] = block;
      dispatch.wave_control = control.get();
      const Kernel kernel = object.kernels()[0];
      status = lockstep_dispatch(device.get(), kernel.get(), Arguments(kernel).get(), &dispatch, nullptr);
    });
  }
  ~Session() {
    if (thread.joinable()) thread.join();
  }
  lockstep_status finish() {
    thread.join();
    return status;
  }
  WaveControl::Wave next(lockstep_wave_state state = LOCKSTEP_WAVE_HALTED) {
    const std::optional<WaveControl::Wave> wave = control.wait(kPatience);
    if (!wave) throw std::runtime_error("no wave has halted");
    EXPECT_EQ(wave->state, state);
    return *wave;
  }
};

TEST(WaveControl, StepsEditsAndResumes) {
  // Traps unless the host changes s5 between the instructions.
  Session session("s_mov_b32 s5, 1\ns_nop 0\ns_cmp_eq_u32 s5, 6\ns_cbranch_scc1 good\ns_trap 2\ngood:", 32,
                  32, true);
  WaveControl& control = session.control;
  WaveControl::Wave wave = session.next();
  EXPECT_EQ(wave.cause, LOCKSTEP_HALT_START);
  EXPECT_EQ(wave.wave_size, 32u);
  EXPECT_EQ(wave.message, "");
  const uint64_t entry = wave.pc;
  EXPECT_EQ(control.read(wave.id, LOCKSTEP_REGISTER_PC), entry);
  EXPECT_EQ(control.read(wave.id, LOCKSTEP_REGISTER_EXEC), 0xffffffffu);
  EXPECT_EQ(control.read(wave.id, LOCKSTEP_REGISTER_VGPR, 0, 17), 17u);
  control.step(wave.id);
  wave = session.next();
  EXPECT_EQ(wave.cause, LOCKSTEP_HALT_STEP);
  EXPECT_EQ(wave.pc, entry + 4);
  EXPECT_EQ(control.read(wave.id, LOCKSTEP_REGISTER_SGPR, 5), 1u);
  control.write(wave.id, LOCKSTEP_REGISTER_SGPR, 6, 5);
  control.resume(wave.id);
  EXPECT_EQ(session.finish(), LOCKSTEP_OK) << lockstep_last_error();
}

TEST(WaveControl, WavesThatHaltThemselvesAreTold) {
  Session session("s_sethalt 1\ns_sendmsghalt sendmsg(MSG_INTERRUPT)\ns_sethalt 5");
  for (const auto cause : {LOCKSTEP_HALT_SETHALT, LOCKSTEP_HALT_SENDMSGHALT, LOCKSTEP_HALT_FATAL}) {
    EXPECT_EQ(session.next().cause, cause);
    session.control.resume();
  }
  EXPECT_EQ(session.finish(), LOCKSTEP_OK);
}

TEST(WaveControl, ConditionsLetWavesOutAndKillEndsThem) {
  Session session("loop: s_cbranch_cdbgsys_and_user out\ns_branch loop\nout:", 3 * 64, 64);
  WaveControl& control = session.control;
  while (control.waves().size() < 6) std::this_thread::yield();
  const auto waves = control.waves();
  EXPECT_EQ(waves[0].cause, LOCKSTEP_HALT_NONE);
  control.kill(waves[5].id);
  EXPECT_EQ(session.next(LOCKSTEP_WAVE_ENDED).id, waves[5].id);
  EXPECT_EQ(lockstep_wave_kill(control.get(), waves[5].id), LOCKSTEP_NOT_FOUND);
  control.set_conditions(waves[0].id, true, true);
  while (control.waves().size() > 4) std::this_thread::yield();
  control.set_conditions(LOCKSTEP_ALL_WAVES, true, std::nullopt);
  control.halt(waves[1].id);
  session.next();
  constexpr uint64_t kUser = 1 << 20, kSystem = 1 << 21;  // STATUS, guide 3.4.1
  EXPECT_EQ(control.read(waves[1].id, LOCKSTEP_REGISTER_STATUS) & (kUser | kSystem), kUser);
  control.set_conditions(LOCKSTEP_ALL_WAVES, std::nullopt, true);
  control.resume();
  EXPECT_EQ(session.finish(), LOCKSTEP_OK);
  EXPECT_TRUE(control.waves().empty());
}

TEST(WaveControl, MistakesAreNamed) {
  Session session("s_sethalt 1");
  const WaveControl::Wave wave = session.next();
  lockstep_wave_control* const control = session.control.get();
  uint64_t value = 0;
  const auto says = [](lockstep_status expected, lockstep_status status, const char* words) {
    EXPECT_EQ(status, expected) << words;
    EXPECT_NE(std::string(lockstep_last_error()).find(words), std::string::npos) << lockstep_last_error();
  };
  const auto bad = LOCKSTEP_INVALID_ARGUMENT;
  says(bad, lockstep_wave_read(control, wave.id, static_cast<lockstep_register>(11), 0, 0, &value),
       "lockstep_register");
  says(bad, lockstep_wave_read(control, wave.id, LOCKSTEP_REGISTER_SGPR, 106, 0, &value), "SGPR 106");
  says(bad, lockstep_wave_read(control, wave.id, LOCKSTEP_REGISTER_VGPR, 0, 32, &value), "lane 32");
  says(bad, lockstep_wave_write(control, wave.id, LOCKSTEP_REGISTER_PC, 0, 0, 64), "outside the code");
  says(bad, lockstep_wave_read(control, wave.id, LOCKSTEP_REGISTER_PC, 0, 0, nullptr), "out is null");
  says(bad, lockstep_wave_step(control, wave.id, 0), "at least 1");
  says(bad, lockstep_wave_halt(nullptr, wave.id), "wave control is null");
  says(bad, lockstep_wave_control_list(control, nullptr, nullptr), "function");
  lockstep_wave_info none{};
  says(bad, lockstep_wave_control_wait(control, 0, &none), "struct_size");
  none.struct_size = sizeof none;
  says(LOCKSTEP_CANCELLED, lockstep_wave_control_wait(control, 1000, &none), "no wave has halted");
  says(LOCKSTEP_NOT_FOUND, lockstep_wave_resume(control, 1'000'000), "there is no wave 1000000");
  lockstep_wave_control_interrupt(control);
  EXPECT_EQ(lockstep_wave_control_wait(control, UINT64_MAX, &none), LOCKSTEP_CANCELLED);
  lockstep_wave_resume(control, wave.id);
  EXPECT_EQ(session.finish(), LOCKSTEP_OK);
  says(LOCKSTEP_NOT_FOUND, lockstep_wave_read(control, wave.id, LOCKSTEP_REGISTER_PC, 0, 0, &value),
       "there is no wave");
}

// 3.4.1, FATAL_HALT
TEST(WaveControl, AWaveThatFaultsHaltsFirstIfTheHostWants) {
  Session session("s_mov_b32 s5, 7\n.long 0", 32, 32, false, true);
  const WaveControl::Wave wave = session.next();
  EXPECT_EQ(wave.cause, LOCKSTEP_HALT_FAULT);
  EXPECT_EQ(wave.fault, LOCKSTEP_FAULT_ILLEGAL_INSTRUCTION);
  EXPECT_EQ(wave.fault_pc, wave.pc);
  EXPECT_NE(wave.message, "");
  EXPECT_EQ(session.control.read(wave.id, LOCKSTEP_REGISTER_SGPR, 5), 7u);
  session.control.kill(wave.id);
  EXPECT_EQ(session.next(LOCKSTEP_WAVE_ENDED).id, wave.id);
  EXPECT_EQ(session.finish(), LOCKSTEP_FAULT);
  ASSERT_NE(session.device.fault(), nullptr);
  EXPECT_EQ(session.device.fault()->pc, wave.pc);
}

// Without a control nobody could resume the wave: the fault says so.
TEST(WaveControl, WithoutOneAHaltIsAFault) {
  const CodeObject object = assembled("s_sethalt 1");
  const Kernel kernel = object.kernels()[0];
  Device device;
  EXPECT_THROW(device.run(kernel, Arguments(kernel), {32}, {32}), lockstep::Error);
  ASSERT_NE(device.fault(), nullptr);
  EXPECT_EQ(device.fault()->kind, LOCKSTEP_FAULT_TRAP);
}

// The waves of a device's queues obey the control of the device.
TEST(WaveControl, OfQueues) {
  WaveControl control;
  lockstep_device_options options;
  lockstep_device_options_init(&options);
  options.wave_control = control.get();
  Device device(&options);
  const CodeObject object = assembled("s_sethalt 1");
  lockstep_queue_options queue_options;
  lockstep_queue_options_init(&queue_options);
  queue_options.error = [](void*, const lockstep_queue_error* error) { ADD_FAILURE() << error->message; };
  lockstep::Queue queue(device, &queue_options);
  lockstep::Signal signal(device, 1);
  DispatchPacket packet;
  packet.kernel_object = device.kernel_object(object.kernels()[0]);
  packet.completion_signal = signal.get();
  queue.submit<DispatchPacket>({{packet}});
  const std::optional<WaveControl::Wave> wave = control.wait(kPatience);
  ASSERT_TRUE(wave);
  EXPECT_EQ(wave->cause, LOCKSTEP_HALT_SETHALT);
  EXPECT_EQ(signal.load(), 1);
  control.resume(wave->id);
  EXPECT_EQ(signal.wait(LOCKSTEP_EQUAL, 0, kPatience), 0);
}

}  // namespace

// Waves commanded from another thread, through the C interface (guide 3.4.1, 5.1, 5.5).
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "api/lockstep.hpp"

namespace {

using lockstep::Arguments;
using lockstep::CodeObject;
using lockstep::Device;
using lockstep::Kernel;

constexpr uint64_t kPatience = 30'000'000'000;

CodeObject assembled(const std::string& text) {
  lockstep_compile_options options;
  lockstep_compile_options_init(&options);
  options.wave_size = 32;
  return CodeObject::compile(LOCKSTEP_ASSEMBLY, (text + "\ns_endpgm\n").c_str(), "control.s", &options);
}

// A kernel on a thread of its own.
struct Session {
  lockstep_wave_control* control = nullptr;
  CodeObject object;
  Device device;
  lockstep_status status = LOCKSTEP_OK;
  std::thread thread;

  explicit Session(const std::string& text, uint32_t items = 32, uint32_t block = 32, int start_halted = 0)
      : object(assembled(text)) {
    lockstep_wave_control_options options;
    lockstep_wave_control_options_init(&options);
    options.start_halted = start_halted;
    EXPECT_EQ(lockstep_wave_control_create(&options, &control), LOCKSTEP_OK);
    thread = std::thread([this, items, block] {
      lockstep_dispatch_options dispatch;
      lockstep_dispatch_options_init(&dispatch);
      dispatch.grid[0] = items;
      dispatch.block[0] = block;
      dispatch.wave_control = control;
      const Kernel kernel = object.kernels()[0];
      status = lockstep_dispatch(device.get(), kernel.get(), Arguments(kernel).get(), &dispatch, nullptr);
    });
  }
  ~Session() {
    if (thread.joinable()) finish();
    lockstep_wave_control_destroy(control);
  }
  lockstep_status finish() {
    thread.join();
    return status;
  }
  lockstep_wave_info next(lockstep_wave_state state = LOCKSTEP_WAVE_HALTED) {
    lockstep_wave_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(lockstep_wave_control_wait(control, kPatience, &info), LOCKSTEP_OK);
    EXPECT_EQ(info.state, state);
    return info;
  }
  std::vector<lockstep_wave_info> list() {
    std::vector<lockstep_wave_info> waves;
    const auto add = [](void* user, const lockstep_wave_info* info) {
      static_cast<std::vector<lockstep_wave_info>*>(user)->push_back(*info);
    };
    EXPECT_EQ(lockstep_wave_control_list(control, add, &waves), LOCKSTEP_OK);
    return waves;
  }
  uint64_t read(uint64_t wave, lockstep_register kind, uint32_t index = 0, uint32_t lane = 0) {
    uint64_t value = ~uint64_t{0};
    EXPECT_EQ(lockstep_wave_read(control, wave, kind, index, lane, &value), LOCKSTEP_OK);
    return value;
  }
};

TEST(WaveControl, StepsEditsAndResumes) {
  // Traps unless the host changes s5 between the instructions.
  Session session("s_mov_b32 s5, 1\ns_nop 0\ns_cmp_eq_u32 s5, 6\ns_cbranch_scc1 good\ns_trap 2\ngood:", 32,
                  32, 1);
  lockstep_wave_info wave = session.next();
  EXPECT_EQ(wave.cause, LOCKSTEP_HALT_START);
  EXPECT_EQ(wave.wave_size, 32u);
  EXPECT_STREQ(wave.message, "");
  const uint64_t entry = wave.pc;
  EXPECT_EQ(session.read(wave.id, LOCKSTEP_REGISTER_PC), entry);
  EXPECT_EQ(session.read(wave.id, LOCKSTEP_REGISTER_EXEC), 0xffffffffu);
  EXPECT_EQ(session.read(wave.id, LOCKSTEP_REGISTER_VGPR, 0, 17), 17u);
  ASSERT_EQ(lockstep_wave_step(session.control, wave.id, 1), LOCKSTEP_OK);
  wave = session.next();
  EXPECT_EQ(wave.cause, LOCKSTEP_HALT_STEP);
  EXPECT_EQ(wave.pc, entry + 4);
  EXPECT_EQ(session.read(wave.id, LOCKSTEP_REGISTER_SGPR, 5), 1u);
  ASSERT_EQ(lockstep_wave_write(session.control, wave.id, LOCKSTEP_REGISTER_SGPR, 5, 0, 6), LOCKSTEP_OK);
  ASSERT_EQ(lockstep_wave_resume(session.control, wave.id), LOCKSTEP_OK);
  EXPECT_EQ(session.finish(), LOCKSTEP_OK) << lockstep_last_error();
}

TEST(WaveControl, WavesThatHaltThemselvesAreTold) {
  Session session("s_sethalt 1\ns_sendmsghalt sendmsg(MSG_INTERRUPT)\ns_sethalt 5");
  for (const auto cause : {LOCKSTEP_HALT_SETHALT, LOCKSTEP_HALT_SENDMSGHALT, LOCKSTEP_HALT_FATAL}) {
    EXPECT_EQ(session.next().cause, cause);
    EXPECT_EQ(lockstep_wave_resume(session.control, LOCKSTEP_ALL_WAVES), LOCKSTEP_OK);
  }
  EXPECT_EQ(session.finish(), LOCKSTEP_OK);
}

TEST(WaveControl, ConditionsLetWavesOutAndKillEndsThem) {
  Session session("loop: s_cbranch_cdbgsys_and_user out\ns_branch loop\nout:", 3 * 64, 64);
  while (session.list().size() < 6) std::this_thread::yield();
  const auto waves = session.list();
  EXPECT_EQ(waves[0].cause, LOCKSTEP_HALT_NONE);
  ASSERT_EQ(lockstep_wave_kill(session.control, waves[5].id), LOCKSTEP_OK);
  EXPECT_EQ(session.next(LOCKSTEP_WAVE_ENDED).id, waves[5].id);
  EXPECT_EQ(lockstep_wave_kill(session.control, waves[5].id), LOCKSTEP_NOT_FOUND);
  ASSERT_EQ(lockstep_wave_set_conditions(session.control, waves[0].id, 1, 1), LOCKSTEP_OK);
  while (session.list().size() > 4) std::this_thread::yield();
  ASSERT_EQ(lockstep_wave_set_conditions(session.control, LOCKSTEP_ALL_WAVES, 1, -1), LOCKSTEP_OK);
  ASSERT_EQ(lockstep_wave_halt(session.control, waves[1].id), LOCKSTEP_OK);
  session.next();
  constexpr uint64_t kUser = 1 << 20, kSystem = 1 << 21;  // STATUS, guide 3.4.1
  EXPECT_EQ(session.read(waves[1].id, LOCKSTEP_REGISTER_STATUS) & (kUser | kSystem), kUser);
  ASSERT_EQ(lockstep_wave_set_conditions(session.control, LOCKSTEP_ALL_WAVES, -1, 1), LOCKSTEP_OK);
  ASSERT_EQ(lockstep_wave_resume(session.control, LOCKSTEP_ALL_WAVES), LOCKSTEP_OK);
  EXPECT_EQ(session.finish(), LOCKSTEP_OK);
  EXPECT_TRUE(session.list().empty());
}

TEST(WaveControl, MistakesAreNamed) {
  Session session("s_sethalt 1");
  const lockstep_wave_info wave = session.next();
  uint64_t value = 0;
  const auto says = [](lockstep_status expected, lockstep_status status, const char* words) {
    EXPECT_EQ(status, expected) << words;
    EXPECT_NE(std::string(lockstep_last_error()).find(words), std::string::npos) << lockstep_last_error();
  };
  const auto bad = LOCKSTEP_INVALID_ARGUMENT;
  says(bad, lockstep_wave_read(session.control, wave.id, static_cast<lockstep_register>(11), 0, 0, &value),
       "lockstep_register");
  says(bad, lockstep_wave_read(session.control, wave.id, LOCKSTEP_REGISTER_SGPR, 106, 0, &value), "SGPR 106");
  says(bad, lockstep_wave_read(session.control, wave.id, LOCKSTEP_REGISTER_VGPR, 0, 32, &value), "lane 32");
  says(bad, lockstep_wave_write(session.control, wave.id, LOCKSTEP_REGISTER_PC, 0, 0, 64),
       "outside the code");
  says(bad, lockstep_wave_read(session.control, wave.id, LOCKSTEP_REGISTER_PC, 0, 0, nullptr), "out is null");
  says(bad, lockstep_wave_step(session.control, wave.id, 0), "at least 1");
  says(bad, lockstep_wave_halt(nullptr, wave.id), "wave control is null");
  says(bad, lockstep_wave_control_list(session.control, nullptr, nullptr), "function");
  lockstep_wave_info none{};
  says(bad, lockstep_wave_control_wait(session.control, 0, &none), "struct_size");
  none.struct_size = sizeof none;
  says(LOCKSTEP_CANCELLED, lockstep_wave_control_wait(session.control, 1000, &none), "no wave has halted");
  says(LOCKSTEP_NOT_FOUND, lockstep_wave_resume(session.control, 1'000'000), "there is no wave 1000000");
  lockstep_wave_control_interrupt(session.control);
  EXPECT_EQ(lockstep_wave_control_wait(session.control, UINT64_MAX, &none), LOCKSTEP_CANCELLED);
  lockstep_wave_resume(session.control, wave.id);
  EXPECT_EQ(session.finish(), LOCKSTEP_OK);
  says(LOCKSTEP_NOT_FOUND, lockstep_wave_read(session.control, wave.id, LOCKSTEP_REGISTER_PC, 0, 0, &value),
       "there is no wave");
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
  lockstep_wave_control* control = nullptr;
  ASSERT_EQ(lockstep_wave_control_create(nullptr, &control), LOCKSTEP_OK);
  {
    lockstep_device_options options;
    lockstep_device_options_init(&options);
    options.wave_control = control;
    Device device(&options);
    const CodeObject object = assembled("s_sethalt 1");
    uint64_t descriptor = 0;
    ASSERT_EQ(lockstep_device_kernel_object(device.get(), object.kernels()[0].get(), &descriptor),
              LOCKSTEP_OK);
    lockstep_queue_options queue_options;
    lockstep_queue_options_init(&queue_options);
    queue_options.error = [](void*, const lockstep_queue_error* error) { ADD_FAILURE() << error->message; };
    lockstep_queue* queue = nullptr;
    ASSERT_EQ(lockstep_queue_create(device.get(), &queue_options, &queue), LOCKSTEP_OK);
    lockstep_signal signal = 0;
    ASSERT_EQ(lockstep_signal_create(device.get(), 1, 0, &signal), LOCKSTEP_OK);
    // AQL: a kernel dispatch of one work-group of 32 items (HSA 2.9.6).
    struct {
      uint16_t header = 2, setup = 1, group[3] = {32, 1, 1}, reserved0 = 0;
      uint32_t grid[3] = {32, 1, 1}, private_bytes = 16384, group_bytes = 65536;  // as listings have them
      uint64_t kernel = 0, arguments = 0, reserved1 = 0, completion = 0;
    } packet;
    static_assert(sizeof packet == 64);
    packet.kernel = descriptor;
    packet.completion = signal;
    ASSERT_EQ(lockstep_queue_submit(queue, &packet, 1, kPatience, nullptr), LOCKSTEP_OK);
    lockstep_wave_info wave{};
    wave.struct_size = sizeof wave;
    ASSERT_EQ(lockstep_wave_control_wait(control, kPatience, &wave), LOCKSTEP_OK);
    EXPECT_EQ(wave.cause, LOCKSTEP_HALT_SETHALT);
    int64_t value = 0;
    EXPECT_EQ(lockstep_signal_load(device.get(), signal, &value), LOCKSTEP_OK);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(lockstep_wave_resume(control, wave.id), LOCKSTEP_OK);
    EXPECT_EQ(lockstep_signal_wait(device.get(), signal, LOCKSTEP_EQUAL, 0, kPatience, nullptr), LOCKSTEP_OK);
    lockstep_queue_destroy(queue);
  }
  lockstep_wave_control_destroy(control);
}

}  // namespace

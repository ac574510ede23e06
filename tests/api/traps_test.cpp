// Traps, exceptions and address watches through the C interface: lockstep_trap_options, queues, host traps.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/lockstep.hpp"
#include "tests/api/dispatch_packet.h"
#include "tests/engine/precise/context_handler.h"

namespace {

using lockstep::Arguments;
using lockstep::Buffer;
using lockstep::CodeObject;
using lockstep::Device;
using lockstep::Error;
using lockstep::HostTraps;
using lockstep::Kernel;
using lockstep::Queue;
using lockstep::Signal;

constexpr uint64_t kSeconds = 1'000'000'000;

CodeObject assembled(const std::string& text, uint32_t wave_size = 32) {
  lockstep_compile_options options;
  lockstep_compile_options_init(&options);
  options.wave_size = wave_size;
  return CodeObject::compile(LOCKSTEP_ASSEMBLY, text.c_str(), "traps.s", &options);
}

// Appends {TTMP1, TRAPSTS} to the log at TMA, clears TRAPSTS and returns behind so many bytes.
std::string noting(unsigned bytes) {
  return "s_getreg_b32 ttmp6, hwreg(HW_REG_STATUS)\ns_getreg_b32 ttmp7, hwreg(HW_REG_TRAPSTS)\n"
         "s_sendmsg_rtn_b64 ttmp[4:5], sendmsg(MSG_RTN_GET_TMA)\n"
         "s_mov_b64 ttmp[8:9], exec\ns_mov_b64 exec, 1\ns_waitcnt lgkmcnt(0)\n"
         "v_mov_b32 v20, ttmp1\nv_mov_b32 v21, ttmp7\nglobal_store_b64 v22, v[20:21], ttmp[4:5]\n"
         "v_add_nc_u32 v22, 8, v22\ns_mov_b64 exec, ttmp[8:9]\ns_mov_b32 ttmp10, 0\n"
         "s_setreg_b32 hwreg(HW_REG_TRAPSTS), ttmp10\ns_add_u32 ttmp0, ttmp0, " +
         std::to_string(bytes) +
         "\ns_addc_u32 ttmp1, ttmp1, 0\ns_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp6\ns_rfe_b64 "
         "ttmp[0:1]\n";
}

struct Note {
  unsigned id;
  bool from_host;
  uint32_t trapsts;
};

std::vector<Note> notes_in(const Buffer<uint64_t>& log) {
  std::vector<Note> notes;
  for (size_t i = 0; i < log.size() && log.data()[i] != 0; ++i) {
    const auto high = static_cast<uint32_t>(log.data()[i]);
    notes.push_back({high >> 16 & 0xff, (high >> 24 & 1) != 0, static_cast<uint32_t>(log.data()[i] >> 32)});
  }
  return notes;
}

// One wave of a program, at whose s[4:5] there is a buffer of 64 zeros, with a handler that takes notes.
struct Fixture {
  Device device;
  CodeObject object, handler;
  Kernel kernel = object.kernels()[0];
  Buffer<uint64_t> log = device.allocate<uint64_t>(4096, "log"), data = device.allocate<uint64_t>(32, "data");
  lockstep_dispatch_options options;
  lockstep_trap_options traps;

  explicit Fixture(const std::string& program, unsigned bytes = 0)
      : object(assembled("s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n" + program)),
        handler(assembled(noting(bytes))) {
    lockstep_dispatch_options_init(&options);
    options.grid[0] = options.block[0] = 32;
    lockstep_trap_options_init(&traps);
    options.trap_handler = handler.get();
    options.trap_memory = log.address();
    options.traps = &traps;
  }
  void run() {
    Arguments arguments(kernel);
    const uint64_t address = data.address();
    lockstep::check(lockstep_arguments_set_raw(arguments.get(), &address, sizeof address));
    device.run(kernel, arguments, options);
  }
  std::vector<Note> notes() {
    run();
    return notes_in(log);
  }
  // The message of the failure.
  std::string failure() {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
};

const std::string kDivision =
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 0\nv_mov_b32 v1, 0\nv_rcp_f32 v2, v1\n";
const std::string kAccesses =
    "v_lshlrev_b32 v0, 2, v0\nglobal_load_b32 v1, v0, s[4:5]\nglobal_store_b32 v0, v1, s[4:5] offset:128\n";

TEST(Traps, OfAWavesStartAndEnd) {
  Fixture run("s_nop 0");
  EXPECT_TRUE(run.notes().empty());
  run.traps.on_wave_start = 1;
  auto notes = run.notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].trapsts, 1u << 17);
  run.traps.on_wave_start = 0;
  run.traps.on_wave_end = 1;
  notes = run.notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].trapsts, 1u << 18);
}

TEST(Traps, AfterEachInstruction) {
  Fixture run("s_nop 0\ns_nop 0\ns_nop 0");
  run.traps.after_instruction = 1;
  const auto notes = run.notes();
  ASSERT_EQ(notes.size(), 5u);  // and the two before
  for (const Note& note : notes) EXPECT_EQ(note.trapsts, 1u << 20);
}

TEST(Traps, OfExceptionsEnabledFromTheStart) {
  Fixture run(kDivision);
  run.traps.exception_enable = LOCKSTEP_EXCEPTION_OVERFLOW | LOCKSTEP_EXCEPTION_INVALID;
  EXPECT_TRUE(run.notes().empty());
  run.traps.exception_enable = LOCKSTEP_EXCEPTION_DIVIDE_BY_ZERO;
  const auto notes = run.notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].trapsts, 4u);
}

TEST(Traps, AddressWatchesAreReportedAndTrap) {
  for (const auto& [access, at, seen] : {std::tuple{LOCKSTEP_READ, 64u, true},
                                         {LOCKSTEP_WRITE, 64u, false},
                                         {LOCKSTEP_READ, 192u, false},
                                         {LOCKSTEP_WRITE, 192u, true},
                                         {LOCKSTEP_READ_WRITE, 192u, true}}) {
    Fixture run(kAccesses);
    run.traps.watches[2] = {run.data.address() + at, 4, access};
    run.options.trap_handler = nullptr;
    run.options.trap_memory = 0;
    run.options.exceptions = 1;
    run.run();
    const auto exceptions = run.device.exceptions();
    ASSERT_EQ(exceptions.size(), seen) << access << " at " << at;
    if (seen) EXPECT_STREQ(exceptions[0].name, "address watch 2");
    run.options.trap_handler = run.handler.get();
    run.options.trap_memory = run.log.address();
    EXPECT_TRUE(run.notes().empty());
    run.traps.exception_enable = LOCKSTEP_EXCEPTION_ADDRESS_WATCH;
    const auto notes = run.notes();
    ASSERT_EQ(notes.size(), seen);
    if (seen) EXPECT_EQ(notes[0].trapsts, 1u << 13);
  }
}

TEST(Traps, RequestsAfterSoManyInstructions) {
  Fixture run("s_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\ns_nop 0");
  const lockstep_trap_request requests[] = {{40, 1, 0}, {3, 0, 9}};  // in any order
  run.traps.requests = requests;
  run.traps.request_count = 1;
  auto notes = run.notes();
  EXPECT_TRUE(notes.empty());  // the program is over before
  run.traps.request_count = 2;
  notes = run.notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].id, 9u);
  EXPECT_TRUE(notes[0].from_host);
  EXPECT_EQ(notes[0].trapsts, 1u << 16);
  const lockstep_trap_request save[] = {{4, 1, 0}};
  run.traps.requests = save;
  run.traps.request_count = 1;
  notes = run.notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_FALSE(notes[0].from_host);
  EXPECT_EQ(notes[0].trapsts, 1u << 10);
}

TEST(Traps, TheHostInterruptsARunningWave) {
  // Ends when the handler has written its first note.
  Fixture run(
      "s_load_b64 s[6:7], s[0:1], 0x8\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, 0\nagain:\n"
      "global_load_b32 v2, v1, s[6:7] glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s8, v2\ns_cmp_eq_u32 s8, "
      "0\n"
      "s_cbranch_scc1 again");
  for (const bool save : {false, true}) {
    std::memset(run.log.data(), 0, run.log.size() * 8);
    HostTraps host;
    run.traps.host = host.get();
    std::atomic<bool> over = false;
    // Requests reach the waves that are there when they are made: once more until one did.
    std::thread other([&] {
      while (!over) {
        save ? host.save_context() : host.trap(77);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    Arguments arguments(run.kernel);
    const uint64_t addresses[] = {run.data.address(), run.log.address()};
    lockstep::check(lockstep_arguments_set_raw(arguments.get(), addresses, sizeof addresses));
    run.device.run(run.kernel, arguments, run.options);
    over = true;
    other.join();
    const auto notes = notes_in(run.log);
    ASSERT_FALSE(notes.empty());
    EXPECT_EQ(notes[0].id, save ? 0u : 77u);
    EXPECT_EQ(notes[0].from_host, !save);
    EXPECT_EQ(notes[0].trapsts, save ? 1u << 10 : 1u << 16);
    run.traps.host = nullptr;
  }
}

TEST(Traps, WithoutAHandlerOrWithOneThatIsDisabled) {
  Fixture run("s_trap 7", 4);
  EXPECT_EQ(run.notes().size(), 1u);
  // Guide 3.4.9: where TRAP_EN is 0 s_trap does nothing.
  run.traps.disabled = 1;
  std::memset(run.log.data(), 0, run.log.size() * 8);
  EXPECT_TRUE(run.notes().empty());
  run.traps.disabled = 0;
  run.traps.skip_without_handler = 1;
  run.options.trap_handler = nullptr;
  run.options.trap_memory = 0;
  run.run();
  run.traps.skip_without_handler = 0;
  EXPECT_NE(run.failure().find("s_trap 7 without a trap handler"), std::string::npos);
}

TEST(Traps, BadValuesAreRefused) {
  Fixture run("s_nop 0");
  const auto refused = [&](const char* words, auto&& change) {
    lockstep_trap_options_init(&run.traps);
    change();
    const std::string failure = run.failure();
    EXPECT_NE(failure.find(words), std::string::npos) << failure;
  };
  const lockstep_trap_request request{0, 0, 256};
  refused("exception_enable is 256", [&] { run.traps.exception_enable = 256; });
  refused("watches[3].access is 4",
          [&] { run.traps.watches[3] = {run.data.address(), 4, static_cast<lockstep_access>(4)}; });
  refused("watches[0] ends behind", [&] { run.traps.watches[0] = {16, UINT64_MAX, LOCKSTEP_READ}; });
  refused("requests is null", [&] { run.traps.request_count = 1; });
  refused("requests[0].trap_id is 256", [&] {
    run.traps.requests = &request;
    run.traps.request_count = 1;
  });
  refused("struct_size", [&] { run.traps.struct_size = 0; });
  const CodeObject wave64 = assembled("s_nop 0", 64);
  run.options.trap_handler = wave64.get();
  refused("compiled for wave64, the kernel for wave32", [] {});
  run.options.trap_handler = nullptr;
  run.options.trap_memory = 0;
  HostTraps host;
  refused("on_wave_start is set", [&] { run.traps.on_wave_start = 1; });
  refused("on_wave_end is set", [&] { run.traps.on_wave_end = 1; });
  refused("after_instruction is set", [&] { run.traps.after_instruction = 1; });
  refused("exception_enable is set", [&] { run.traps.exception_enable = 1; });
  refused("disabled is set", [&] { run.traps.disabled = 1; });
  refused("requests is set", [&] { run.traps.request_count = 1; });
  refused("host is set", [&] { run.traps.host = host.get(); });
  EXPECT_EQ(lockstep_host_traps_request(host.get(), 0, 256), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_host_traps_request(nullptr, 0, 1), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_host_traps_create(nullptr), LOCKSTEP_INVALID_ARGUMENT);
}

// ---- Queues

struct Dispatched {
  bool done = false;
  std::string error;  // of the queue
  std::vector<lockstep_exception> exceptions;
};

// The run's kernel and settings through an AQL queue.
Dispatched through_queue(Fixture& run, lockstep_queue_kind kind = LOCKSTEP_QUEUE_AQL) {
  Dispatched result;
  struct Seen {
    std::mutex mutex;
    std::string message;
  } seen;
  lockstep_queue_options options;
  lockstep_queue_options_init(&options);
  options.kind = kind;
  options.exceptions = run.options.exceptions;
  options.trap_handler = run.options.trap_handler;
  options.trap_memory = run.options.trap_memory;
  options.traps = run.options.traps;
  options.error_user = &seen;
  options.error = [](void* user, const lockstep_queue_error* error) {
    auto& to = *static_cast<Seen*>(user);
    std::lock_guard lock(to.mutex);
    to.message = error->message;
  };
  auto arguments = run.device.allocate<uint64_t>(128, "arguments");
  arguments.data()[0] = run.data.address();
  Signal done(run.device, 1);
  Queue queue(run.device, &options);
  DispatchPacket packet;
  packet.kernel_object = run.device.kernel_object(run.kernel);
  packet.workgroup_size[0] = static_cast<uint16_t>(run.options.block[0]);
  packet.grid_size[0] = run.options.grid[0];
  packet.kernarg_address = arguments.address();
  packet.completion_signal = done.get();
  queue.submit<DispatchPacket>({{packet}});
  while (queue.info().active && !result.done)
    result.done = done.wait(LOCKSTEP_EQUAL, 0, kSeconds / 50).has_value();
  while (!result.done && result.error.empty()) {
    std::lock_guard lock(seen.mutex);
    result.error = seen.message;
  }
  result.exceptions = queue.exceptions();
  for (lockstep_exception& exception : result.exceptions) {
    EXPECT_STREQ(exception.name, "divide by zero");
    EXPECT_TRUE(std::string(exception.where.instruction).starts_with("v_rcp_f32"));
  }
  return result;
}

TEST(QueueTraps, ADispatchTrapsIntoTheHandler) {
  Fixture run("s_trap 7", 4);
  EXPECT_TRUE(through_queue(run).done);
  const auto notes = notes_in(run.log);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].id, 7u);
  run.options.trap_handler = nullptr;
  run.options.trap_memory = 0;
  const Dispatched without = through_queue(run);
  EXPECT_FALSE(without.done);
  EXPECT_NE(without.error.find("s_trap 7 without a trap handler"), std::string::npos) << without.error;
}

TEST(QueueTraps, SettingsReachTheDispatch) {
  Fixture run("s_nop 0");
  run.traps.on_wave_end = 1;
  EXPECT_TRUE(through_queue(run).done);
  const auto notes = notes_in(run.log);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].trapsts, 1u << 18);
}

TEST(QueueTraps, ExceptionsAreCollected) {
  Fixture run(kDivision);
  EXPECT_TRUE(through_queue(run).exceptions.empty());
  run.options.trap_handler = nullptr;
  run.options.trap_memory = 0;
  run.options.exceptions = 1;
  const auto exceptions = through_queue(run).exceptions;
  ASSERT_EQ(exceptions.size(), 1u);
  EXPECT_EQ(exceptions[0].executions, 1u);
  EXPECT_NE(exceptions[0].where.offset, 0u);
  lockstep_exception none{};
  none.struct_size = sizeof none;
  EXPECT_EQ(lockstep_queue_exception(nullptr, 0, &none), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_queue_exception_count(nullptr), 0u);
}

TEST(QueueTraps, AFaultInTheHandlerEndsTheDispatch) {
  Fixture run("s_trap 7", 4);
  run.handler = assembled("s_nop 0\nv_illegal\n");
  run.options.trap_handler = run.handler.get();
  const Dispatched result = through_queue(run);
  EXPECT_FALSE(result.done);
  EXPECT_NE(result.error.find("v_illegal"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("wave 0"), std::string::npos) << result.error;
}

TEST(QueueTraps, AHandlerOfAnotherWaveSizeIsRefused) {
  Fixture run("s_trap 7", 4);
  run.handler = assembled(noting(4), 64);
  run.options.trap_handler = run.handler.get();
  const Dispatched result = through_queue(run);
  EXPECT_NE(result.error.find("compiled for wave64"), std::string::npos) << result.error;
}

TEST(QueueTraps, ACopyEngineHasNone) {
  Fixture run("s_nop 0");
  try {
    through_queue(run, LOCKSTEP_QUEUE_SDMA);
    ADD_FAILURE() << "a copy engine took a trap handler";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("copy engine"), std::string::npos);
  }
}

TEST(QueueTraps, AContextIsSavedAndRestored) {  // 3.4.9, SAVECTX
  for (const uint32_t wave_size : {32u, 64u}) {
    Fixture run("");
    run.object = assembled("s_load_b64 s[0:1], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_and_b32 v0, 0x3ff, v0\n" +
                               lockstep::context_program(wave_size),
                           wave_size);
    run.kernel = run.object.kernels()[0];
    run.handler = assembled(lockstep::context_handler(wave_size), wave_size);
    run.options.trap_handler = run.handler.get();
    run.options.grid[0] = run.options.block[0] = wave_size;
    run.log = run.device.allocate<uint64_t>(20000, "context");
    run.data = run.device.allocate<uint64_t>(512, "out");
    run.options.trap_memory = run.log.address();
    ASSERT_TRUE(through_queue(run).done);
    const std::vector<uint64_t> expected(run.data.data(), run.data.data() + run.data.size());
    EXPECT_EQ(run.log.data()[0], 0u);  // nobody asked
    for (const uint64_t at : {0, 5, 20, 33, 50}) {
      std::memset(run.data.data(), 0, run.data.size() * 8);
      std::memset(run.log.data(), 0, run.log.size() * 8);
      const lockstep_trap_request request{at, 1, 0};
      run.traps.requests = &request;
      run.traps.request_count = 1;
      ASSERT_TRUE(through_queue(run).done);
      EXPECT_NE(run.log.data()[0], 0u);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), run.data.data()))
          << wave_size << ", after " << at;
    }
    run.traps = {};
    lockstep_trap_options_init(&run.traps);
  }
}

}  // namespace

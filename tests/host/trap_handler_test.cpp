// Trap handlers that programs give the driver: waves enter them, whatever engine runs the kernel.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "machine/kernel.h"
#include "tests/host/driver_fixture.h"
#include "toolchain/compile.h"

namespace lockstep::host {
namespace {

// Appends {trap id, TTMP0, STATUS, TRAPSTS} at TMA, 16 bytes for each wave of the group by its number, and
// sends the interrupt whose data is at TMA + 2048; TTMP3 is that data.
const std::string kNoteAndTell =
    "s_bfe_u32 ttmp2, ttmp1, 0x80010\n"
    "s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)\n"
    "s_mov_b64 ttmp[8:9], exec\n"
    "s_mov_b64 exec, 1\n"
    "v_mov_b32 v20, ttmp2\n"
    "v_mov_b32 v21, ttmp0\n"
    "v_mov_b32 v22, ttmp12\n"
    "v_mov_b32 v23, ttmp3\n"
    "s_and_b32 ttmp4, ttmp11, 0x3f\n"
    "s_lshl_b32 ttmp4, ttmp4, 4\n"
    "v_mov_b32 v24, ttmp4\n"
    "global_store_b128 v24, v[20:23], ttmp[14:15]\n"
    "s_mov_b64 exec, ttmp[8:9]\n"
    "s_load_b32 ttmp3, ttmp[14:15], 0x800\n"
    "s_sendmsg_rtn_b32 ttmp5, sendmsg(MSG_RTN_GET_DOORBELL)\n"
    "s_waitcnt lgkmcnt(0)\n"
    "s_or_b32 ttmp3, ttmp3, ttmp5\n"
    "s_mov_b32 ttmp2, m0\n"
    "s_mov_b32 m0, ttmp3\n"
    "s_sendmsg sendmsg(MSG_INTERRUPT)\n"
    "s_mov_b32 m0, ttmp2\n";
const std::string kReturnBehind =
    "s_add_u32 ttmp0, ttmp0, 4\ns_addc_u32 ttmp1, ttmp1, 0\n"
    "s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12\ns_rfe_b64 ttmp[0:1]\n";
// As ROCr's handler ends.
const std::string kHalt =
    "s_bitset1_b32 ttmp12, 13\ns_setreg_b32 hwreg(HW_REG_STATUS), ttmp12\ns_rfe_b64 ttmp[0:1]\n";

struct Noted {
  uint32_t trap_id, pc, status, trapsts;
};

struct ProgramsTrapHandler : DriverTest, testing::WithParamInterface<machine::EngineKind> {
  ProgramsTrapHandler() : DriverTest(GetParam()) {}

  std::shared_ptr<const machine::LoadedCode> code;
  std::byte* memory = nullptr;
  kfd_ioctl_create_queue_args queue = {};
  std::byte* doorbells = nullptr;
  kfd_ioctl_create_event_args done = {}, told = {}, memory_fault = {};

  command::QueueMemory& queue_memory() { return *reinterpret_cast<command::QueueMemory*>(memory); }
  command::SignalMemory& signal() { return *reinterpret_cast<command::SignalMemory*>(memory + 10 * kPage); }
  ContextSaveAreaHeader& save_area() {
    return *reinterpret_cast<ContextSaveAreaHeader*>(memory + 12 * kPage);
  }
  uint64_t& payload() { return *reinterpret_cast<uint64_t*>(memory + 13 * kPage); }
  uint32_t* result() { return reinterpret_cast<uint32_t*>(memory + 9 * kPage); }
  Noted noted(unsigned wave) {
    Noted noted;
    std::memcpy(&noted, memory + 14 * kPage + 16 * wave, sizeof noted);
    return noted;
  }
  uint64_t tma() { return reinterpret_cast<uint64_t>(memory + 14 * kPage); }
  uint64_t address_of(const char* symbol) {
    return code->loaded_address(code->object().find_kernel(symbol)->descriptor_address);
  }

  // Kernel `k` finds its arguments' address in s[0:1] and its group's number in s2: {address of results, 0}.
  void load(const std::string& kernel, const std::string& handler) {
    const auto function = [](const std::string& name, const std::string& text) {
      return ".text\n.globl " + name + "\n.p2align 8\n.type " + name + ",@function\n" + name + ":\n" + text +
             ".size " + name + ", .-" + name + "\n.rodata\n.p2align 6\n.amdhsa_kernel " + name +
             "\n.amdhsa_next_free_vgpr 32\n.amdhsa_next_free_sgpr 16\n.amdhsa_user_sgpr_kernarg_segment_ptr "
             "1\n"
             ".amdhsa_system_sgpr_workgroup_id_x 1\n.amdhsa_system_sgpr_workgroup_id_y 0\n"
             ".amdhsa_system_sgpr_workgroup_id_z 0\n"
             ".amdhsa_wavefront_size32 1\n.end_amdhsa_kernel\n";
    };
    const toolchain::Result assembled =
        toolchain::assemble(function("k", kernel) + function("handler", handler), "k.s", {});
    ASSERT_TRUE(assembled) << assembled.diagnostics;
    auto object = loader::CodeObject::parse(assembled.code_object, "k");
    ASSERT_TRUE(object);
    auto loaded = machine::LoadedCode::load(std::move(*object), driver.gpus()[0]->memory);
    ASSERT_TRUE(loaded);
    code = std::move(*loaded);

    const auto buffer = allocate(16 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
    ASSERT_EQ(map(buffer.handle, {id}), 0);
    memory = reinterpret_cast<std::byte*>(buffer.va_addr);

    kfd_ioctl_set_trap_handler_args set = {};
    set.gpu_id = id;
    const auto* const descriptor = reinterpret_cast<const std::byte*>(address_of("handler"));
    int64_t offset = 0;  // of the entry: KERNEL_CODE_ENTRY_BYTE_OFFSET
    std::memcpy(&offset, descriptor + 16, sizeof offset);
    set.tba_addr = address_of("handler") + static_cast<uint64_t>(offset);
    set.tma_addr = tma();
    ASSERT_EQ(kfd(AMDKFD_IOC_SET_TRAP_HANDLER, set), 0);

    done.event_type = told.event_type = KFD_IOC_EVENT_SIGNAL;
    done.auto_reset = told.auto_reset = 1;
    ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_EVENT, done), 0);
    ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_EVENT, told), 0);
    memory_fault.event_type = KFD_IOC_EVENT_MEMORY;
    ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_EVENT, memory_fault), 0);
    save_area().err_payload_addr = reinterpret_cast<uint64_t>(&payload());
    save_area().err_event_id = told.event_id;

    queue.ctx_save_restore_address = reinterpret_cast<uint64_t>(&save_area());
    ASSERT_NO_FATAL_FAILURE(create_queue(queue, memory + kPage, queue_memory()));
    ASSERT_NO_FATAL_FAILURE(map_doorbells(queue, doorbells));
  }

  void enable_runtime() {
    RuntimeEnableArgs args = {};
    args.mode_mask = 1;
    EXPECT_EQ(kfd(_IOWR(AMDKFD_IOCTL_BASE, kRuntimeEnable, RuntimeEnableArgs), args), 0);
  }

  // Sends the kernel as the queue's packet `index`.
  void dispatch(uint16_t group, uint32_t grid, uint64_t index = 0) {
    auto* const arguments = reinterpret_cast<uint64_t*>(memory + 8 * kPage);
    arguments[0] = reinterpret_cast<uint64_t>(result());
    arguments[1] = 0;
    signal() = {};
    signal().kind = 1;
    signal().value = 1;
    signal().event_mailbox_ptr = reinterpret_cast<uint64_t>(memory + 11 * kPage);
    signal().event_id = done.event_id;
    command::AqlPacket packet = {};
    packet.dispatch.setup = 1;
    packet.dispatch.workgroup_size[0] = group;
    packet.dispatch.workgroup_size[1] = packet.dispatch.workgroup_size[2] = 1;
    packet.dispatch.grid_size[0] = grid;
    packet.dispatch.grid_size[1] = packet.dispatch.grid_size[2] = 1;
    packet.dispatch.kernel_object = address_of("k");
    packet.dispatch.kernarg_address = reinterpret_cast<uint64_t>(arguments);
    packet.dispatch.completion_signal = reinterpret_cast<uint64_t>(&signal());
    auto* const ring = reinterpret_cast<command::AqlPacket*>(memory + kPage);
    auto& slot = ring[index % (queue.ring_size / sizeof packet)];
    std::memcpy(&slot, &packet, sizeof packet);
    command::store_shared<uint64_t>(&queue_memory().write_dispatch_id, index + 1);
    command::store_shared<uint16_t>(&slot.header, 2 | 1u << 8);
    command::store_shared<uint64_t>(doorbells + queue.doorbell_offset % Store::kDoorbellBytes, index);
  }

  // By the signal: what handlers send may have the number of its event.
  bool is_done() {
    for (int tries = 0; tries < 20'000; ++tries) {
      if (command::load_shared<int64_t>(&signal().value) == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  ~ProgramsTrapHandler() override {
    kfd_ioctl_destroy_queue_args destroy = {};
    destroy.queue_id = queue.queue_id;
    EXPECT_EQ(kfd(AMDKFD_IOC_DESTROY_QUEUE, destroy), 0);
    if (doorbells) munmap(doorbells, Store::kDoorbellBytes);
  }
};

// s_trap 3 and 0 too, which are nothing where no handler is: four waves, each with an id of its own; the
// handler changes s6 and comes back, and the waves meet at a barrier behind it.
TEST_P(ProgramsTrapHandler, IsEnteredByTrapsAndComesBack) {
  ASSERT_NO_FATAL_FAILURE(
      load("s_load_b64 s[4:5], s[0:1], 0x0\ns_mov_b32 s6, 5\nv_readfirstlane_b32 s7, v0\n"
           "s_lshr_b32 s7, s7, 5\n"
           "s_cmp_eq_u32 s7, 0\ns_cbranch_scc1 .Lzero\ns_cmp_eq_u32 s7, 1\ns_cbranch_scc1 .Lone\n"
           "s_cmp_eq_u32 s7, 2\ns_cbranch_scc1 .Ltwo\ns_trap 3\ns_branch .Lon\n"
           ".Lzero:\ns_trap 0\ns_branch .Lon\n.Lone:\ns_trap 1\ns_branch .Lon\n.Ltwo:\ns_trap 200\n"
           ".Lon:\ns_waitcnt lgkmcnt(0)\ns_barrier\nv_mov_b32 v1, s6\nv_lshlrev_b32 v2, 2, v0\n"
           "global_store_b32 v2, v1, s[4:5]\ns_endpgm\n",
           kNoteAndTell + "s_add_u32 s6, s6, s7\n" + kReturnBehind));
  *reinterpret_cast<uint32_t*>(tma() + 2048) = 0;
  dispatch(128, 128);
  ASSERT_TRUE(is_done());
  const uint32_t ids[] = {0, 1, 200, 3};
  for (unsigned wave = 0; wave < 4; ++wave) {
    EXPECT_EQ(noted(wave).trap_id, ids[wave]);
    EXPECT_TRUE(noted(wave).status & status_bit::kPrivileged);
    EXPECT_EQ(noted(wave).trapsts, 0u);
    uint32_t word = 0;
    std::memcpy(&word,
                reinterpret_cast<const void*>(uint64_t{noted(wave).pc} | (address_of("k") >> 32 << 32)), 4);
    EXPECT_EQ(word, 0xbf900000 | ids[wave]) << "s_trap of wave " << wave;
    for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(result()[32 * wave + lane], 5 + wave);
  }
}

// An interrupt that names no exceptions is an event of the program's, as those of kernels are.
TEST_P(ProgramsTrapHandler, SendsItsOwnEvents) {
  ASSERT_NO_FATAL_FAILURE(load("s_trap 7\ns_endpgm\n", kNoteAndTell + kReturnBehind));
  // The doorbell's number is or-ed to it: one that has its bit is not changed by it.
  *reinterpret_cast<uint32_t*>(tma() + 2048) = told.event_id;
  const uint32_t doorbell = 1;
  while (!(told.event_id & doorbell)) {
    told = {};
    told.event_type = KFD_IOC_EVENT_SIGNAL;
    ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_EVENT, told), 0);
    *reinterpret_cast<uint32_t*>(tma() + 2048) = told.event_id;
  }
  enable_runtime();
  dispatch(1, 1);
  kfd_event_data data = {};
  ASSERT_NO_FATAL_FAILURE(wait_for(told.event_id, data));
  EXPECT_EQ(payload(), 0u);
}

// Linux's driver takes a process's queues from a device whose waves met missing memory: packets of another
// one that was processed before stay where they are.
TEST_P(ProgramsTrapHandler, OtherQueuesEndWithAMemoryFault) {
  ASSERT_NO_FATAL_FAILURE(
      load("s_mov_b32 s4, 0x34567000\ns_mov_b32 s5, 0x12\nv_mov_b32 v2, 0\n"
           "global_store_b32 v2, v2, s[4:5]\ns_endpgm\n",
           kNoteAndTell + kHalt));
  *reinterpret_cast<uint32_t*>(tma() + 2048) = 0;
  auto& other_memory = *reinterpret_cast<command::QueueMemory*>(memory + 2 * kPage);
  auto* const ring = reinterpret_cast<command::AqlPacket*>(memory + 3 * kPage);
  auto& other_signal = *reinterpret_cast<command::SignalMemory*>(memory + 4 * kPage);
  kfd_ioctl_create_queue_args other = queue;
  other.ring_base_address = reinterpret_cast<uint64_t>(ring);
  other.read_pointer_address = reinterpret_cast<uint64_t>(&other_memory.read_dispatch_id);
  other.write_pointer_address = reinterpret_cast<uint64_t>(&other_memory.write_dispatch_id);
  other.ctx_save_restore_address = 0;
  ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_QUEUE, other), 0);
  // A packet without work, whether it is processed in that time.
  const auto processed = [&](uint64_t index, int milliseconds) {
    other_signal = {};
    other_signal.kind = 1;
    other_signal.value = 1;
    command::AqlPacket packet = {};
    packet.barrier.completion_signal = reinterpret_cast<uint64_t>(&other_signal);
    std::memcpy(&ring[index], &packet, sizeof packet);
    command::store_shared<uint64_t>(&other_memory.write_dispatch_id, index + 1);
    command::store_shared<uint16_t>(&ring[index].header, 3);
    command::store_shared<uint64_t>(doorbells + other.doorbell_offset % Store::kDoorbellBytes, index);
    for (; milliseconds > 0 && command::load_shared<int64_t>(&other_signal.value) != 0; --milliseconds)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return command::load_shared<int64_t>(&other_signal.value) == 0;
  };
  ASSERT_TRUE(processed(0, 20'000));
  testing::internal::CaptureStderr();
  dispatch(1, 1);
  kfd_event_data fault = {};
  wait_for(memory_fault.event_id, fault);
  testing::internal::GetCapturedStderr();
  EXPECT_FALSE(processed(1, 100));
  kfd_ioctl_destroy_queue_args destroy = {};
  destroy.queue_id = other.queue_id;
  EXPECT_EQ(kfd(AMDKFD_IOC_DESTROY_QUEUE, destroy), 0);
}

// A page that is missing: the driver's event, the runtime's exception, the wave halts for good, and the other
// work-group comes to its end.
TEST_P(ProgramsTrapHandler, HearsOfMissingMemory) {
  ASSERT_NO_FATAL_FAILURE(
      load("s_load_b64 s[4:5], s[0:1], 0x0\ns_mov_b32 s6, s2\ns_cmp_eq_u32 s2, 0\ns_waitcnt lgkmcnt(0)\n"
           "s_cbranch_scc0 .Lgood\ns_mov_b32 s4, 0x34567000\ns_mov_b32 s5, 0x12\n"
           ".Lgood:\nv_mov_b32 v1, 9\nv_lshlrev_b32 v2, 2, v0\nglobal_store_b32 v2, v1, s[4:5]\ns_endpgm\n",
           kNoteAndTell + kHalt));
  constexpr uint32_t kMemoryViolation = 1u << (10 + 4);
  *reinterpret_cast<uint32_t*>(tma() + 2048) = kMemoryViolation;
  enable_runtime();
  testing::internal::CaptureStderr();
  dispatch(32, 64);
  kfd_event_data fault = {}, exception = {};
  ASSERT_NO_FATAL_FAILURE(wait_for(memory_fault.event_id, fault));
  ASSERT_NO_FATAL_FAILURE(wait_for(told.event_id, exception));
  EXPECT_EQ(fault.memory_exception_data.va, 0x1234567000u);
  EXPECT_EQ(payload(), uint64_t{1} << 4);
  EXPECT_EQ(noted(0).trap_id, 0u);
  EXPECT_EQ(noted(0).trapsts, trapsts_bit::kMemoryViolation | 1u << 28);
  for (int tries = 0; tries < 2000 && command::load_shared<uint32_t>(result()) != 9; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(result()[31], 9u) << "the other group";
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(payload(), uint64_t{1} << 4) << "nothing else is told of the wave that halts";
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("STATUS.HALT"), std::string::npos) << text;
  EXPECT_NE(text.find("work-group (0, 0, 0), wave 0"), std::string::npos) << text;
  EXPECT_NE(text.find("write of 4 bytes at 0x1234567000"), std::string::npos) << text;
  EXPECT_EQ(signal().value, 1) << "a dispatch with a halted wave does not end";
}

TEST_P(ProgramsTrapHandler, HearsOfWhatIsNoInstruction) {
  ASSERT_NO_FATAL_FAILURE(
      load("s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n.long 0\nv_mov_b32 v1, 3\n"
           "v_mov_b32 v2, 0\nglobal_store_b32 v2, v1, s[4:5]\ns_endpgm\n",
           kNoteAndTell + kReturnBehind));
  *reinterpret_cast<uint32_t*>(tma() + 2048) = 0;
  testing::internal::CaptureStderr();
  dispatch(1, 1);
  ASSERT_TRUE(is_done());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("a zero dword is no instruction"), std::string::npos);
  EXPECT_EQ(noted(0).trapsts, trapsts_bit::kIllegalInstruction);
  EXPECT_EQ(result()[0], 3u) << "the handler came back behind it";
}

// Waves tell of faults while the thread that processes packets runs them, for which a change of the queue
// waits.
TEST_P(ProgramsTrapHandler, MayFaultWhileTheQueueIsChanged) {
  ASSERT_NO_FATAL_FAILURE(load(".long 0\ns_endpgm\n", kNoteAndTell + kReturnBehind));
  *reinterpret_cast<uint32_t*>(tma() + 2048) = 0;
  testing::internal::CaptureStderr();
  kfd_ioctl_update_queue_args update = {};
  update.queue_id = queue.queue_id;
  update.ring_base_address = queue.ring_base_address;
  update.ring_size = queue.ring_size;
  update.queue_percentage = 100;
  for (uint64_t i = 0; i < 300; ++i) {
    dispatch(1, 1, i);
    while (command::load_shared<int64_t>(&signal().value) != 0)
      ASSERT_EQ(kfd(AMDKFD_IOC_UPDATE_QUEUE, update), 0);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("no instruction", text.find("no instruction") + 1), std::string::npos) << "told once";
}

// Exceptions that MODE enables come by the engine that computes them.
TEST_P(ProgramsTrapHandler, HearsOfEnabledExceptions) {
  ASSERT_NO_FATAL_FAILURE(
      load("s_load_b64 s[4:5], s[0:1], 0x0\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 0\n"
           "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 8), 4\nv_mov_b32 v1, 0\nv_rcp_f32 v2, v1\n"
           "s_waitcnt lgkmcnt(0)\nglobal_store_b32 v1, v2, s[4:5]\ns_endpgm\n",
           kNoteAndTell + "s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12\ns_rfe_b64 ttmp[0:1]\n"));
  *reinterpret_cast<uint32_t*>(tma() + 2048) = 0;
  dispatch(1, 1);
  ASSERT_TRUE(is_done());
  EXPECT_EQ(noted(0).trapsts & 4, 4u);
  EXPECT_EQ(result()[0], 0x7f800000u);
}

// A handler in memory that is not executable, or in none, is the wave's fault.
TEST_P(ProgramsTrapHandler, ThatIsNowhereEndsTheQueue) {
  ASSERT_NO_FATAL_FAILURE(load("s_trap 7\ns_endpgm\n", "s_endpgm\n"));
  kfd_ioctl_set_trap_handler_args set = {};
  set.gpu_id = id;
  set.tba_addr = 0x1000;
  ASSERT_EQ(kfd(AMDKFD_IOC_SET_TRAP_HANDLER, set), 0);
  testing::internal::CaptureStderr();
  dispatch(1, 1);
  kfd_event_data exception = {};
  ASSERT_NO_FATAL_FAILURE(wait_for(told.event_id, exception));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("0x1000"), std::string::npos);
  set.gpu_id = 1;
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_TRAP_HANDLER, set), EINVAL);
}

INSTANTIATE_TEST_SUITE_P(Engines, ProgramsTrapHandler,
                         testing::Values(machine::EngineKind::interpreter, machine::EngineKind::translator),
                         [](const auto& info) {
                           return info.param == machine::EngineKind::interpreter ? "interpreter"
                                                                                 : "translator";
                         });

}  // namespace
}  // namespace lockstep::host

// What the waves of a whole device share beside memory: the global data share and its neighbours, global wave
// sync and the stream-out registers. It outlives dispatches, and several may run on it at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "state/global_wave_sync.h"
#include "state/stream_out.h"
#include "state/wake_list.h"

namespace lockstep {

struct DispatchState;

// What the driver lets a VMID use.
struct VmidRanges {
  uint32_t gds_base = 0, gds_bytes = 4096;
  uint32_t gws_base = 0, gws_size = GlobalWaveSync::kResources;
};

class DeviceState {
 public:
  static constexpr uint32_t kGdsBytes = 4096;  // guide 1.2.2.2
  static constexpr unsigned kVmids = 16;
  // What ds_gws_init's operand means. The guide (table 63): the number of waves. LLVM's documentation of the
  // intrinsic: that number minus one, which is what ds_gws_barrier takes by both.
  enum class InitOperand : uint8_t { waves, waves_minus_one };

  // Everything of the device is used through one of these, from any thread: it holds the lock, and tells the
  // schedulers of the waves that were released when it goes.
  class Access {
   public:
    explicit Access(DeviceState& device);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

    std::byte* gds() { return device_.gds_.data(); }  // kGdsBytes
    GlobalWaveSync& gws() { return device_.gws_; }
    StreamOutRegisters& stream_out() { return device_.stream_out_; }
    VmidRanges& vmid(unsigned number) { return device_.vmids_[number % kVmids]; }
    InitOperand& init_operand() { return device_.init_operand_; }
    // Waves that may go on when this goes.
    std::vector<Wave*>& released() { return released_; }
    // As after power-up. False, and nothing is changed, while waves wait.
    bool reset();
    // The wave is no longer to wait, because it was killed.
    void forget(Wave& wave);

   private:
    DeviceState& device_;
    std::unique_lock<std::mutex> lock_;
    std::vector<Wave*> released_;
  };

  // Somebody who may yet release waiting waves: a dispatch that runs, or a host thread that means to. While
  // one of them is not stuck itself, waves that wait are not lost.
  class Agent {
   public:
    explicit Agent(std::shared_ptr<DeviceState> device, std::shared_ptr<WakeList> wake = nullptr);
    ~Agent();
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;
    // All of the agent's waves wait, and none of them was released just now. True if the same holds for
    // every agent of the device: then nobody is left to release any. Holds until a wave is released.
    bool is_stuck_with_all();
    // Some may go on though none was released.
    void go_on();

   private:
    void go_on_locked();  // the device is

    std::shared_ptr<DeviceState> device_;
    std::shared_ptr<WakeList> wake_;
  };

 private:
  std::mutex mutex_;
  std::array<std::byte, kGdsBytes> gds_{};
  GlobalWaveSync gws_;
  StreamOutRegisters stream_out_;
  std::array<VmidRanges, kVmids> vmids_{};
  InitOperand init_operand_ = InitOperand::waves;
  unsigned agents_ = 0, stuck_agents_ = 0;
};

}  // namespace lockstep

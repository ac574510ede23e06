// A dispatch that runs on threads of its own while the test commands its waves.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "machine/wave_control.h"
#include "state/trap_status.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {

// Stores s5 to word 4 * group number + wave number of the buffer; s3 is the wave's number. Clobbers v10, v11,
// s12.
inline const std::string kStoreS5PerWave =
    "s_lshl_b32 s12, s2, 2\ns_add_u32 s12, s12, s3\ns_lshl_b32 s12, s12, 2\nv_mov_b32 v11, s12\n"
    "v_mov_b32 v10, s5\nglobal_store_b32 v11, v10, s[0:1]\n";
// s3: the number of a wave of 32 items.
inline const std::string kWaveNumber = "v_lshrrev_b32 v9, 5, v0\ns_nop 0\nv_readfirstlane_b32 s3, v9\n";

class Session {
 public:
  static constexpr std::chrono::seconds kPatience{30};

  explicit Session(Dispatch& dispatch, const WaveControl::Settings& settings = {})
      : control(settings), dispatch_(dispatch) {
    dispatch.options.control = &control;
    dispatch.options.cancel = &cancel;
    thread_ = std::thread([this] { outcome_ = dispatch_.run(); });
  }
  ~Session() {
    if (!thread_.joinable()) return;
    cancel = true;
    thread_.join();
  }

  // The next event must be that a wave has halted.
  WaveDescription halted() {
    auto event = control.wait(kPatience);
    EXPECT_TRUE(event) << "no wave has halted";
    if (!event) return {};
    EXPECT_FALSE(event->ended);
    EXPECT_EQ(event->wave.state, WaveState::held);
    return event->wave;
  }
  // That one has ended.
  WaveDescription ended() {
    auto event = control.wait(kPatience);
    EXPECT_TRUE(event) << "no wave has ended";
    if (!event) return {};
    EXPECT_TRUE(event->ended);
    return event->wave;
  }
  // The waves, when there are at least `count` and the one at `index` is in that state.
  std::vector<WaveDescription> waves_when(size_t count, size_t index, WaveState state) {
    for (;;) {
      auto waves = control.waves();
      if (waves.size() >= count && waves[index].state == state) return waves;
      std::this_thread::yield();
    }
  }
  Outcome finish() {
    thread_.join();
    return outcome_;
  }
  // Without a fault.
  void finish_well() {
    const Outcome outcome = finish();
    EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
    EXPECT_EQ(outcome.totals.groups_done, outcome.totals.groups_total);
  }
  // Number of the dword at which the wave is.
  size_t dword(const WaveDescription& wave) const { return (wave.pc - dispatch_.launch.entry) / 4; }
  uint32_t sgpr(WaveId id, unsigned index) {
    return static_cast<uint32_t>(control.read(id, {RegisterKind::sgpr, index}));
  }
  uint32_t status(WaveId id) { return static_cast<uint32_t>(control.read(id, {RegisterKind::status})); }

  WaveControl control;
  std::atomic<bool> cancel = false;

 private:
  Dispatch& dispatch_;
  Outcome outcome_;
  std::thread thread_;
};

}  // namespace lockstep::machine

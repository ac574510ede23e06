// What the device tells the host: events that a host thread can wait for, and a callback.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "command/waiters.h"

namespace lockstep::command {

struct Interrupt {
  enum class Source : uint8_t {
    wave,         // S_SENDMSG interrupt: `data` is M0
    end_of_pipe,  // a packet completed: `data` is the signal's event id, or RELEASE_MEM's context id
    copy_engine,  // SDMA trap: `data` is its context
  };
  Source source = Source::wave;
  uint32_t data = 0;
  uint64_t queue = 0;                    // id; 0: not of a queue
  std::array<uint32_t, 3> work_group{};  // of a wave
  uint32_t wave = 0;
};

class Interrupts {
 public:
  using Callback = std::function<void(const Interrupt&)>;

  explicit Interrupts(Waiters& waiters) : waiters_(waiters) {}

  // Called at every interrupt from the thread that raises it, before it can be waited for. Must not throw.
  void set_callback(Callback callback);
  void raise(const Interrupt& interrupt);
  // The oldest interrupt that nobody has taken; nothing after the deadline.
  std::optional<Interrupt> wait(std::optional<Waiters::Clock::time_point> deadline);
  // Of those that nobody took in time; the host is too slow.
  uint64_t lost() const;

 private:
  static constexpr size_t kCapacity = 4096;

  Waiters& waiters_;
  mutable std::mutex mutex_;
  Callback callback_;
  std::deque<Interrupt> pending_;
  uint64_t lost_ = 0;
};

}  // namespace lockstep::command

// What the waves of a work-group share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

struct DispatchState;
struct Wave;

// Who takes what waves tell the host.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  // S_SENDMSG interrupt; `payload` is M0. Called from the thread that runs the wave; must not throw.
  virtual void on_interrupt(const Wave& wave, uint32_t payload) = 0;
};

struct WorkGroup {
  uint32_t id[3] = {0, 0, 0};
  uint64_t number = 0;  // how many of the dispatch were started before it
  uint32_t wave_count = 0;
  std::byte* lds = nullptr;
  uint32_t lds_bytes = 0;
  MessageSink* messages = nullptr;    // null: nobody listens
  DispatchState* dispatch = nullptr;  // what the waves of the whole dispatch share
  bool wake_up = false;               // a wave has asked for it with s_wakeup
  bool has_priorities = false;        // a wave has set its priority
};

}  // namespace lockstep

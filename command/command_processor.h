// The command processor of a device: its queues, signals, interrupts and compute units.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "command/aql_queue.h"
#include "command/interrupts.h"
#include "command/pm4_queue.h"
#include "command/processor.h"
#include "command/sdma_queue.h"
#include "command/signals.h"
#include "command/user_config.h"
#include "machine/device.h"

namespace lockstep::command {

class CommandProcessor {
 public:
  // `memory` must outlive this. `options.memory_may_have_changed` is taken.
  CommandProcessor(AddressSpace& memory, machine::Device::Options options);
  // Ends all queues.
  ~CommandProcessor();

  // Throw std::invalid_argument for options that no queue can have, std::bad_alloc.
  std::shared_ptr<AqlQueue> create_aql_queue(AqlQueueOptions options);
  std::shared_ptr<Pm4Queue> create_pm4_queue(RingQueueOptions options);
  // Of the copy engine, which has a thread of its own.
  std::shared_ptr<SdmaQueue> create_sdma_queue(RingQueueOptions options);
  // Ends what the queue runs and forgets it; the last pointer to it frees its memory. Not from a callback.
  void destroy(const std::shared_ptr<Queue>& queue);

  // Processes no packet of the queue any more until it is resumed; what runs goes on.
  void suspend(const Queue& queue);
  // Likewise, and its waves stand still between two instructions.
  void evict(Queue& queue);
  void resume(const std::shared_ptr<Queue>& queue);
  // Somebody may have stored to a doorbell in his own memory. Packets of the compute queues are processed on
  // the calling thread, for a moment; true if there are more: to be called again, soon. Copies may take long
  // and have a thread of their own.
  bool serve_doorbells();
  // For who was told so and will not call it again.
  void hand_over() { compute_.hand_over(); }
  // The same by the processor's own threads.
  void look_at_doorbells();
  // For a thread that expects compute packets soon: keeps what processing them needs in its processor's
  // caches. Nobody sees anything of it; whether there was something to do.
  bool rehearse() { return compute_.rehearse(); }

  Signals& signals() { return signals_; }
  Interrupts& interrupts() { return interrupts_; }
  Waiters& waiters() { return waiters_; }
  machine::Device& device() { return device_; }

 private:
  Services services(Processor& processor) {
    return {memory_, waiters_, interrupts_, signals_, user_config_, device_, processor, time_stamp_};
  }
  template <class Kind, class Options>
  std::shared_ptr<Kind> create(Processor& processor, Options options);

  AddressSpace& memory_;
  uint64_t (*const time_stamp_)();
  Waiters waiters_;
  Interrupts interrupts_;
  Signals signals_;
  UserConfig user_config_;
  Processor compute_, copy_;
  machine::Device device_;  // ends before those whom its waves' ends wake
  std::mutex mutex_;
  uint64_t queues_made_ = 0;
  std::vector<std::shared_ptr<Queue>> queues_;
};

}  // namespace lockstep::command

// A compute queue of PM4 packets.
#pragma once

#include "command/pm4_executor.h"
#include "command/ring_queue.h"

namespace lockstep::command {

class Pm4Queue final : public RingQueue, private MessageSink {
 public:
  Pm4Queue(uint64_t id, RingQueueOptions options, Services services);
  ~Pm4Queue() override;

  void set_compute_units(const machine::ComputeUnits& units) override { executor_.set_compute_units(units); }
  bool busy() const override { return executor_.busy(); }
  void suspend_waves() override { executor_.suspend(); }
  void resume_waves() override { executor_.resume(); }

 private:
  uint32_t length(uint64_t address, std::span<const uint32_t> words) override;
  Progress execute(uint64_t address, std::span<const uint32_t> packet) override;
  bool settle() override { return executor_.settle(); }
  Failure failure() const override;
  std::optional<Waiters::Clock::time_point> look_again() const override { return look_again_; }
  void cancel() override { executor_.cancel(); }
  void on_interrupt(const Wave& wave, uint32_t payload) override;
  void dispatch_ended(machine::Outcome&& outcome);

  Pm4Executor executor_;
  bool in_packet_ = false;  // the ring's packet has begun: its indirect buffer runs
  std::optional<Waiters::Clock::time_point> look_again_;
};

}  // namespace lockstep::command

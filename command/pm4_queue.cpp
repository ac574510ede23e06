#include "command/pm4_queue.h"

#include "command/fault_text.h"
#include "text/hex.h"

namespace lockstep::command {

Pm4Queue::Pm4Queue(uint64_t id, RingQueueOptions options, Services services)
    : RingQueue(id, "PM4", options, services),
      executor_(services, id, doorbell_id(), options.priority, precise(), this,
                [this](machine::Outcome&& outcome) { dispatch_ended(std::move(outcome)); }) {}

Pm4Queue::~Pm4Queue() {
  executor_.cancel();
  executor_.wait_idle();
}

uint32_t Pm4Queue::length(uint64_t address, std::span<const uint32_t> words) {
  return executor_.skips() ? 1 : executor_.packet_dwords(address, words[0]);
}

RingQueue::Progress Pm4Queue::execute(uint64_t address, std::span<const uint32_t> packet) {
  look_again_.reset();
  if (executor_.skip_dword()) return Progress::done;
  Pm4Executor::Status status;
  if (!in_packet_) {
    status = executor_.execute(address, packet.data(), static_cast<uint32_t>(packet.size()));
    in_packet_ = status == Pm4Executor::Status::executed && executor_.in_buffer();
    if (status == Pm4Executor::Status::executed && !in_packet_) return Progress::done;
  } else {
    status = Pm4Executor::Status::executed;
  }
  constexpr unsigned kBatch = 64;
  for (unsigned n = 0; n < kBatch && status == Pm4Executor::Status::executed; ++n) status = executor_.step();
  switch (status) {
    case Pm4Executor::Status::executed:
      return Progress::more;
    case Pm4Executor::Status::waits_memory:
      look_again_ = executor_.look_again();
      return Progress::waits_memory;
    case Pm4Executor::Status::waits_dispatch:
      return Progress::waits_dispatch;
    case Pm4Executor::Status::failed:
      return Progress::failed;
    default:
      in_packet_ = false;
      return Progress::done;
  }
}

RingQueue::Failure Pm4Queue::failure() const {
  const Pm4Fault& fault = executor_.fault();
  return {fault.kind, fault.field, "packet at " + hex(fault.address) + ": " + fault.text, fault.unmapped};
}

void Pm4Queue::on_interrupt(const Wave& wave, uint32_t payload) {
  services().interrupts.raise(interrupt_of(wave, payload, id()));
}

void Pm4Queue::dispatch_ended(machine::Outcome&& outcome) {
  if (!outcome.fault) return;
  QueueError error;
  error.kind = QueueError::Kind::kernel_fault;
  error.queue = id();
  error.position = read_position();
  error.message = "PM4 queue " + std::to_string(id()) + ": " + fault_text(*outcome.fault);
  error.fault = std::move(outcome.fault);
  fail(std::move(error));
}

}  // namespace lockstep::command

#include "command/command_processor.h"

#include <algorithm>

#include "state/real_time.h"

namespace lockstep::command {

namespace {

machine::Device::Options with_notice(machine::Device::Options options, Waiters& waiters,
                                     Processor& processor) {
  options.memory_may_have_changed = [&] {
    waiters.notify();
    processor.look();
  };
  return options;
}

}  // namespace

CommandProcessor::CommandProcessor(AddressSpace& memory, machine::Device::Options options)
    : memory_(memory),
      time_stamp_(options.host_real_time ? &host_real_time : &nanoseconds),
      interrupts_(waiters_),
      signals_(memory, waiters_, interrupts_),
      compute_(waiters_),
      copy_(waiters_),
      device_(with_notice(std::move(options), waiters_, compute_)) {}

CommandProcessor::~CommandProcessor() {
  for (const auto& queue : std::vector<std::shared_ptr<Queue>>(queues_)) destroy(queue);
}

template <class Kind, class Options>
std::shared_ptr<Kind> CommandProcessor::create(Processor& processor, Options options) {
  uint64_t id;
  {
    std::lock_guard lock(mutex_);
    id = ++queues_made_;
  }
  auto queue = std::make_shared<Kind>(id, std::move(options), services(processor));
  std::lock_guard lock(mutex_);
  queues_.push_back(queue);
  processor.add(queue);
  return queue;
}

std::shared_ptr<AqlQueue> CommandProcessor::create_aql_queue(AqlQueueOptions options) {
  return create<AqlQueue>(compute_, std::move(options));
}

std::shared_ptr<Pm4Queue> CommandProcessor::create_pm4_queue(RingQueueOptions options) {
  return create<Pm4Queue>(compute_, std::move(options));
}

std::shared_ptr<SdmaQueue> CommandProcessor::create_sdma_queue(RingQueueOptions options) {
  return create<SdmaQueue>(copy_, std::move(options));
}

void CommandProcessor::suspend(const Queue& queue) {
  compute_.remove(queue);
  copy_.remove(queue);
}

void CommandProcessor::evict(Queue& queue) {
  suspend(queue);
  queue.suspend_waves();
}

void CommandProcessor::resume(const std::shared_ptr<Queue>& queue) {
  queue->resume_waves();
  Processor& processor = dynamic_cast<const SdmaQueue*>(queue.get()) ? copy_ : compute_;
  processor.remove(*queue);
  processor.add(queue);
}

void CommandProcessor::look_at_doorbells() {
  compute_.look();
  copy_.look();
}

bool CommandProcessor::serve_doorbells() {
  copy_.look();
  return compute_.drive();
}

void CommandProcessor::destroy(const std::shared_ptr<Queue>& queue) {
  queue->inactivate();
  compute_.remove(*queue);
  copy_.remove(*queue);
  std::lock_guard lock(mutex_);
  std::erase(queues_, queue);
}

}  // namespace lockstep::command

#include "host/command_ring.h"

#include <algorithm>

#include "command/guest_memory.h"

namespace lockstep::host {

CommandRing::~CommandRing() {
  if (!queue) return;
  gpu.processor->destroy(queue);
  queue.reset();  // whoever tells of its failure has done so
}

bool CommandRing::has_ended(uint32_t number) const {
  // What a dispatch before it had still to tell may come behind the failure.
  return failed || command::load_shared<uint32_t>(page->data()) >= number;
}

void CommandRing::fail() {
  failed = true;
  command::store_shared<uint32_t>(page->data(), kAllEnded);
  gpu.processor->waiters().notify();
}

bool are_over(const CommandFences& fences) {
  return std::ranges::all_of(fences, &CommandFence::is_over);
}

}  // namespace lockstep::host

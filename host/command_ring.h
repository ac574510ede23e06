// Commands of the render node on one engine's ring, and their ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "command/command_processor.h"
#include "host/gpu.h"
#include "host/submission.h"
#include "memory/mapped_pages.h"

namespace lockstep::host {

// The commands of a context on one engine's ring, in their order. A word says how many have ended.
struct CommandRing {
  // No word says less: commands that a failed ring still had count as ended, as after the card's reset.
  static constexpr uint32_t kAllEnded = UINT32_MAX;

  CommandRing(Gpu& device, Submission::Engine kind) : gpu(device), engine(kind) {}
  ~CommandRing();
  CommandRing(const CommandRing&) = delete;
  CommandRing& operator=(const CommandRing&) = delete;
  uint64_t word() const { return page->address(); }
  bool has_ended(uint32_t number) const;
  void fail();

  Gpu& gpu;
  const Submission::Engine engine;
  std::unique_ptr<MappedPages> page;
  std::shared_ptr<command::RingQueue> queue;
  std::mutex submitting;
  std::atomic<uint32_t> last = 0;  // number of the last submission
  std::atomic<bool> failed = false;
  // Whose words its packets may look at.
  std::set<std::shared_ptr<CommandRing>> waits_for;
  std::map<uint32_t, uint32_t> uses;  // object to the last submission that listed it; of Commands' lock
};

// A submission, by what programs know of it; no ring: one that has ended.
struct CommandFence {
  std::shared_ptr<CommandRing> ring;
  uint32_t number = 0;
  bool is_over() const { return !ring || ring->has_ended(number); }
  bool has_failed() const { return ring && ring->failed; }
};
using CommandFences = std::vector<CommandFence>;
bool are_over(const CommandFences& fences);

}  // namespace lockstep::host

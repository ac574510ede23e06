// The work-groups of one dispatch and who works on them: each runs on one thread at a time; a group that does
// not finish in its slice is parked and another one runs, so groups that wait for each other all make
// progress.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "machine/group_context.h"
#include "machine/launch.h"
#include "machine/reuse.h"

namespace lockstep::machine {

// Throws std::invalid_argument for what no hardware would take.
void check(const Launch& launch);
// Throws std::invalid_argument if they cannot be counted.
uint64_t group_count(const Launch& launch);

class Scheduler {
 public:
  // Wave-instructions of a group before another one gets the thread: some milliseconds.
  static constexpr int64_t kSlice = 1'000'000;

  // All must outlive this. `options.cancel` may be set at any time.
  Scheduler(const Launch& launch, const RunOptions& options, Engine& engine, Reuse& reuse);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Works until nothing is left to do; waits while other threads run all that is resident.
  void work();

  enum class Step : uint8_t {
    worked,   // ran a group for a slice; there may be more to do
    nothing,  // other threads run all that there is
    finished  // the dispatch ended with this step; said once
  };
  // Runs one group for about `budget` wave-instructions, without ever waiting; adds what was executed.
  Step step(int64_t budget, uint64_t& executed);

  void report(Outcome& outcome);

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  bool stop_requested() const { return options_.cancel && options_.cancel->load(std::memory_order_relaxed); }
  // All below with the lock held.
  bool over() const;
  // The next group to run: a new one while there is room, else the one parked longest.
  enum class Taken : uint8_t { group, wait, nothing };
  Taken take(std::unique_lock<std::mutex>& lock, std::unique_ptr<GroupContext>& context);
  void give_back(std::unique_ptr<GroupContext> context, GroupContext::Result result, uint64_t executed);
  void record_fault(const GroupContext& context);
  void refuse_entry(uint64_t number);
  void report_progress();

  const Launch& launch_;
  const RunOptions& options_;
  Engine& engine_;
  Reuse& reuse_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Progress totals_;
  uint64_t next_ = 0;              // first group not started yet
  uint32_t resident_ = 0;          // started and not finished
  uint64_t fault_number_ = kNone;  // first group that faulted
  bool cancelled_ = false;
  bool said_finished_ = false;
  std::optional<WaveFault> fault_;
  std::deque<std::unique_ptr<GroupContext>> parked_;
  std::vector<std::unique_ptr<GroupContext>> idle_;
  std::chrono::steady_clock::time_point last_report_;
};

}  // namespace lockstep::machine

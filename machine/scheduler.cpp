#include "machine/scheduler.h"

#include <algorithm>
#include <stdexcept>

namespace lockstep::machine {

void check(const Launch& launch) {
  uint64_t items = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] == 0)
      throw std::invalid_argument("the grid is empty: every dimension must be at least 1");
    if (launch.group[axis] == 0)
      throw std::invalid_argument("the work-group is empty: every dimension must be at least 1");
    items *= launch.group[axis];
    if (items > 1024)
      throw std::invalid_argument("a work-group of " + std::to_string(items) +
                                  " work-items: the hardware has room for 1024");
  }
  if (launch.lds_bytes > 65536)
    throw std::invalid_argument("a work-group with " + std::to_string(launch.lds_bytes) +
                                " bytes of LDS: the hardware gives at most 65536");
  if (launch.wave_size != 32 && launch.wave_size != 64)
    throw std::invalid_argument("the wave size must be 32 or 64");
  if (launch.user_data.size() > 32) throw std::invalid_argument("more than 32 user SGPRs");
}

uint64_t group_count(const Launch& launch) {
  uint64_t count = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint64_t groups = (uint64_t{launch.grid[axis]} + launch.group[axis] - 1) / launch.group[axis];
    if (__builtin_mul_overflow(count, groups, &count))
      throw std::invalid_argument("the grid has more work-groups than can be counted");
  }
  return count;
}

Scheduler::Scheduler(const Launch& launch, const RunOptions& options, Engine& engine, Reuse& reuse)
    : launch_(launch),
      options_(options),
      engine_(engine),
      reuse_(reuse),
      last_report_(options.progress ? std::chrono::steady_clock::now()
                                    : std::chrono::steady_clock::time_point{}) {
  totals_.groups_total = group_count(launch);
}

Scheduler::~Scheduler() {
  for (auto& context : idle_) reuse_.give_back(std::move(context));
  for (auto& context : parked_) reuse_.give_back(std::move(context));
}

void Scheduler::work() {
  for (;;) {
    std::unique_ptr<GroupContext> context;
    {
      std::unique_lock lock(mutex_);
      Taken taken;
      while ((taken = take(lock, context)) == Taken::wait) changed_.wait(lock);
      if (taken == Taken::nothing) return;
    }
    uint64_t executed = 0;
    const auto result = context->run(engine_, kSlice, executed);
    std::lock_guard lock(mutex_);
    give_back(std::move(context), result, executed);
  }
}

Scheduler::Step Scheduler::step(int64_t budget, uint64_t& executed) {
  std::unique_ptr<GroupContext> context;
  std::unique_lock lock(mutex_);
  const Taken taken = take(lock, context);
  if (taken == Taken::group) {
    lock.unlock();
    uint64_t here = 0;
    const auto result = context->run(engine_, budget, here);
    executed += here;
    lock.lock();
    give_back(std::move(context), result, here);
  }
  if (over() && !said_finished_) {
    said_finished_ = true;
    return Step::finished;
  }
  return taken == Taken::group ? Step::worked : Step::nothing;
}

void Scheduler::report(Outcome& outcome) {
  std::lock_guard lock(mutex_);
  outcome.totals = totals_;
  outcome.cancelled = cancelled_;
  outcome.fault = std::move(fault_);
}

bool Scheduler::over() const {
  if (cancelled_) return resident_ == parked_.size();
  return resident_ == 0 && next_ >= std::min(totals_.groups_total, fault_number_);
}

Scheduler::Taken Scheduler::take(std::unique_lock<std::mutex>& lock, std::unique_ptr<GroupContext>& context) {
  for (;;) {
    if (stop_requested()) cancelled_ = true;
    if (cancelled_) return Taken::nothing;
    const bool new_one = next_ < std::min(totals_.groups_total, fault_number_);
    if (new_one && resident_ < options_.resident_groups) {
      const uint64_t number = next_++;
      ++resident_;
      if (!idle_.empty()) {
        context = std::move(idle_.back());
        idle_.pop_back();
      }
      lock.unlock();
      if (!context) context = reuse_.context(launch_);
      const bool started = context->start(launch_, number, engine_);
      lock.lock();
      if (!started) {
        refuse_entry(number);
        context.reset();
        return Taken::nothing;
      }
      totals_.waves += context->wave_count();
      return Taken::group;
    }
    while (!parked_.empty() && parked_.front()->number() > fault_number_) {
      parked_.pop_front();
      --resident_;
    }
    if (!parked_.empty()) {
      context = std::move(parked_.front());
      parked_.pop_front();
      return Taken::group;
    }
    if (resident_ == 0) return Taken::nothing;
    // Other threads run all that is resident; one of them may park a group for us.
    return Taken::wait;
  }
}

void Scheduler::give_back(std::unique_ptr<GroupContext> context, GroupContext::Result result,
                          uint64_t executed) {
  totals_.instructions += executed;
  switch (result) {
    case GroupContext::Result::unfinished:
      parked_.push_back(std::move(context));
      break;
    case GroupContext::Result::faulted:
      record_fault(*context);
      --resident_;
      break;
    case GroupContext::Result::finished:
      ++totals_.groups_done;
      --resident_;
      idle_.push_back(std::move(context));
      break;
  }
  changed_.notify_all();
  report_progress();
}

// The fault that counts is that of the first group in dispatch order, whatever the threads did: groups
// before it go on, groups behind it are dropped.
void Scheduler::record_fault(const GroupContext& context) {
  if (context.number() >= fault_number_) return;
  fault_number_ = context.number();
  const Wave& wave = context.faulted_wave();
  WaveFault fault;
  fault.fault = wave.fault;
  std::copy(std::begin(context.group().id), std::end(context.group().id), fault.group.begin());
  fault.wave = wave.index_in_group;
  fault.instruction = instruction_text(launch_, wave.fault.pc);
  fault_ = std::move(fault);
}

void Scheduler::refuse_entry(uint64_t number) {
  fault_number_ = number;
  WaveFault fault;
  fault.fault.kind = FaultKind::bad_pc;
  fault.fault.pc = launch_.entry;
  fault.fault.message = "the kernel's entry point lies outside its code";
  fault_ = std::move(fault);
  --resident_;
  changed_.notify_all();
}

void Scheduler::report_progress() {
  if (!options_.progress) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_report_ < std::chrono::milliseconds(100)) return;
  last_report_ = now;
  options_.progress(totals_);
}

}  // namespace lockstep::machine

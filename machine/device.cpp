#include "machine/device.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "machine/host_threads.h"
#include "numeric/host_control.h"

namespace lockstep::machine {

namespace {

// Groups and wave-instructions of a dispatch that the thread which starts it runs itself: handing such a
// dispatch to another thread takes longer.
constexpr uint64_t kSmallGroups = 4;
constexpr int64_t kSmallInstructions = 50'000;
// One turn in so many goes to the next dispatch whatever its priority, so that what spins on a dispatch of
// lower priority comes to its end, as it would on the card, where both have their wave slots.
constexpr uint64_t kFairTurns = 4;

unsigned thread_count(unsigned asked) {
  return asked != 0 ? asked : host_threads();
}

int64_t thread_nanoseconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::atomic<void*> ActiveDispatch::spare_memory_ = nullptr;

void* ActiveDispatch::operator new(size_t bytes) {
  void* const spare = spare_memory_.exchange(nullptr, std::memory_order_acquire);
  return spare ? spare : ::operator new(bytes);
}

void ActiveDispatch::operator delete(void* memory) {
  ::operator delete(spare_memory_.exchange(memory, std::memory_order_acq_rel));
}

uint32_t resident_groups(const hardware::Description& device, const Launch& launch) {
  hardware::WorkGroupNeeds needs;
  needs.wave_size = launch.wave_size;
  needs.vgprs = launch.vgpr_count;
  needs.work_items =
      launch.group[0] * launch.group[1] * launch.group[2] + launch.null_waves * launch.wave_size;
  needs.lds_bytes = launch.lds_bytes;
  needs.wgp_mode = launch.rsrc1 >> 29 & 1;
  const uint32_t groups = hardware::resident_work_groups(device, needs);
  if (!launch.compute_units) return groups * device.work_group_processors();
  // In CU mode a processor with one unit left has room for half as many.
  const uint32_t whole = launch.compute_units->processors_with(device, 3);
  const uint32_t half = needs.wgp_mode ? 0
                                       : launch.compute_units->processors_with(device, 1) +
                                             launch.compute_units->processors_with(device, 2);
  return groups * whole + groups / 2 * half;
}

Device::Device(Options options)
    : options_(std::move(options)),
      threads_(thread_count(options_.threads)),
      placement_(std::make_shared<Placement>(options_.hardware)),
      rehearsal_placement_(std::make_shared<Placement>(options_.hardware)),
      state_(options_.state ? options_.state : std::make_shared<DeviceState>()),
      agent_(state_) {
  // The first one here, so that there is one for sure; the others when there is work for them.
  pool_.emplace_back([this] { serve(); });
}

Device::~Device() {
  std::unique_lock lock(mutex_);
  for (auto& dispatch : active_) dispatch->cancel_ = true;
  while (!active_.empty() || workers_ > 0) {
    if (workers_ == 0) {
      lock.unlock();
      add_workers(1);
      lock.lock();
    }
    idle_.wait(lock, [&] { return workers_ == 0; });
  }
  stop_ = true;
  lock.unlock();
  call_.notify_all();
  for (std::thread& thread : pool_) thread.join();
}

std::shared_ptr<ActiveDispatch> Device::start(Launch launch, int priority, ActiveDispatch::Done done,
                                              Precise* precise, const translator::IsCancelled& is_cancelled) {
  check(launch);
  const numeric::HostFloatDefaults defaults;  // for LLVM, too
  std::shared_ptr<ActiveDispatch> dispatch(new ActiveDispatch(std::move(launch)));
  if (!dispatch->launch_.device) dispatch->launch_.device = state_;
  if (!dispatch->launch_.placement) dispatch->launch_.placement = placement_;
  set_hardware(dispatch->launch_, options_.hardware);
  if (options_.host_real_time) dispatch->launch_.host_clock_mhz = options_.hardware.clock_mhz;
  RunOptions& options = dispatch->options_;
  options.engine = options_.engine;
  options.math = options_.math;
  options.precise = precise ? precise->settings : options_.precise;
  options.control = options_.control;
  options.threads = threads_;  // else each dispatch asks the system how many processors there are
  options.cancel = &dispatch->cancel_;
  options.suspended = &dispatch->suspended_;
  options.waves_released = [this] {
    ++changes_;
    add_workers(1);
  };
  options.resident_groups = machine::resident_groups(options_.hardware, dispatch->launch_);
  if (options.resident_groups == 0)
    throw std::invalid_argument(
        "a work-group of that size, with these VGPRs and LDS, does not fit a work-group processor " +
        std::string(dispatch->launch_.compute_units
                        ? "that its queue may use (make it smaller, or allow more of them)"
                        : "(make it smaller)"));
  give_trap_handler(*dispatch);
  if (options_.listener) dispatch->record_ = options_.listener->begins(dispatch->launch_);
  if (dispatch->record_ && dispatch->traps_)
    dispatch->traps_->set_on_told([&its = *dispatch](const WaveFault& fault) {
      Outcome outcome;
      outcome.fault = fault;
      outcome.findings = its.findings_.all();
      outcome.exceptions = its.findings_.exceptions();
      its.record_->trapped(outcome);
    });
  if (Listener* const other = dispatch->record_ ? dispatch->record_->listener() : nullptr) {
    Listeners& listeners = dispatch->listeners_.emplace();
    if (options.precise.listener) listeners.add(*options.precise.listener);
    listeners.add(*other);
    options.precise.listener = &listeners;
  }
  try {
    dispatch->prepared_ = options.precise.listener || needs_precise_engine(dispatch->launch_, options)
                              ? make_engine(dispatch->launch_, options,
                                            precise ? precise->findings : dispatch->findings_, is_cancelled)
                              : reuse_.engine(dispatch->launch_, options.engine, options.math, is_cancelled);
  } catch (const translator::Cancelled&) {
    Outcome outcome;
    outcome.totals.groups_total = group_count(dispatch->launch_);
    outcome.cancelled = true;
    if (dispatch->record_) dispatch->record_->ended(outcome);
    done(std::move(outcome));
    return nullptr;
  }
  if (dispatch->record_) dispatch->prepared_.begin_report();
  dispatch->scheduler_.emplace(dispatch->launch_, options, *dispatch->prepared_.engine, reuse_);
  dispatch->priority_ = priority;
  dispatch->done_ = std::move(done);

  const uint64_t groups = group_count(dispatch->launch_);
  if (groups <= kSmallGroups) {
    uint64_t executed = 0;
    while (executed < kSmallInstructions) {
      const auto left = kSmallInstructions - static_cast<int64_t>(executed);
      const Scheduler::Step step = this->step(*dispatch, left, executed);
      ++executed;  // a group that cannot go on executes nothing
      if (step == Scheduler::Step::worked) continue;
      if (step == Scheduler::Step::nothing || step == Scheduler::Step::spun) break;
      if (options_.memory_may_have_changed) options_.memory_may_have_changed();
      finish(dispatch);
      return nullptr;
    }
  }
  {
    std::lock_guard lock(mutex_);
    auto behind = std::find_if(active_.begin(), active_.end(),
                               [&](const auto& other) { return other->priority_ < priority; });
    active_.insert(behind, dispatch);
    ++changes_;
  }
  add_workers(groups);
  return dispatch;
}

bool Device::rehearse(Launch launch) {
  // Code that no guest has mapped.
  alignas(256) static constexpr uint32_t kKernel[] = {0xbfb00000};  // s_endpgm
  constexpr uint64_t kSerial = UINT64_MAX;                          // of no mapping
  if (options_.listener || options_.control || options_.precise.needed() ||
      options_.engine == EngineKind::translator)
    return false;
  {
    std::lock_guard lock(mutex_);
    if (!active_.empty()) return false;
  }
  launch.entry = reinterpret_cast<uint64_t>(kKernel);
  launch.code = {{launch.entry, launch.entry + sizeof kKernel, kSerial}};
  launch.uses_exceptions = false;
  launch.rsrc3 = 0;  // traps at a wave's begin and end would enter the program's handler
  launch.grid = launch.group;
  // Of a ring that is the program's memory; and nobody would have to clear it.
  launch.scratch = nullptr;
  launch.scratch_bytes = 0;
  launch.messages = nullptr;
  launch.placement = rehearsal_placement_;
  start(std::move(launch), 0, [](Outcome&&) {});
  return true;
}

void Device::give_trap_handler(ActiveDispatch& dispatch) const {
  RunOptions& options = dispatch.options_;
  if (!options_.trap_handler || options.precise.traps.handler != 0 || options.control) return;
  const TrapHandler::Place place = options_.trap_handler->place();
  if (place.base == 0) return;
  dispatch.traps_.emplace(*options_.trap_handler, place, dispatch.launch_, options);
  // TRAP_ON_START and TRAP_ON_END, which no other engine knows.
  constexpr uint32_t kAtStartOrEnd = 3u << 10;
  if (needs_precise_engine(dispatch.launch_, options) || dispatch.launch_.rsrc3 & kAtStartOrEnd)
    dispatch.traps_->set(options.precise.traps);
  else
    options.traps = &*dispatch.traps_;
}

void Device::cancel(ActiveDispatch& dispatch) {
  dispatch.cancel_ = true;
  ++changes_;
  add_workers(1);  // somebody has to notice
}

void Device::suspend(ActiveDispatch& dispatch) {
  dispatch.suspended_ = true;
  ++changes_;
  dispatch.scheduler_->stand_still();
  ++changes_;
  add_workers(1);  // others may wait for the room that this one had
}

void Device::resume(ActiveDispatch& dispatch) {
  if (!dispatch.suspended_.exchange(false)) return;
  ++changes_;
  add_workers(group_count(dispatch.launch_));
}

void Device::add_workers(uint64_t wanted) {
  std::lock_guard lock(mutex_);
  rest_.notify_all();
  for (; wanted > 0 && workers_ < threads_; --wanted) {
    if (workers_ == pool_.size()) {
      try {
        pool_.emplace_back([this] { serve(); });
      } catch (const std::system_error&) {
        return;  // the host has no more threads: those that are there do the work
      }
    }
    ++workers_;
    ++called_;
    call_.notify_one();
  }
}

void Device::serve() {
  pthread_setname_np(pthread_self(), "lockstep waves");
  std::unique_lock lock(mutex_);
  for (;;) {
    call_.wait(lock, [&] { return called_ != 0 || stop_; });
    if (called_ == 0) return;
    --called_;
    lock.unlock();
    work();
    lock.lock();
  }
}

std::vector<std::shared_ptr<ActiveDispatch>> Device::candidates() {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ActiveDispatch>> order = active_;
  if (order.size() < 2) return order;
  const uint64_t turn = turn_++;
  if (turn % kFairTurns == 0) {
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(turn / kFairTurns % order.size()),
                order.end());
    return order;
  }
  auto equals_end = std::find_if(order.begin(), order.end(),
                                 [&](const auto& other) { return other->priority_ != order[0]->priority_; });
  const auto equals = static_cast<uint64_t>(equals_end - order.begin());
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(turn % equals), equals_end);
  return order;
}

Scheduler::Step Device::step(ActiveDispatch& dispatch, int64_t budget, uint64_t& executed) {
  if (!dispatch.record_) return dispatch.scheduler_->step(budget, executed);
  const int64_t begin = thread_nanoseconds();
  const Scheduler::Step result = dispatch.scheduler_->step(budget, executed);
  // The one that finished it may be told of the end before others have come here: their last steps were
  // empty.
  dispatch.processor_nanoseconds_ += thread_nanoseconds() - begin;
  return result;
}

Scheduler::Step Device::run_some(const std::shared_ptr<ActiveDispatch>& dispatch) {
  const uint64_t changes = changes_.load(std::memory_order_relaxed);
  uint64_t executed = 0;
  bool found = false;
  do {
    switch (step(*dispatch, Scheduler::kSlice, executed)) {
      case Scheduler::Step::worked:
        found = true;
        break;
      case Scheduler::Step::spun:
        return Scheduler::Step::spun;
      case Scheduler::Step::nothing:
        return found ? Scheduler::Step::worked : Scheduler::Step::nothing;
      case Scheduler::Step::finished:
        finish(dispatch);
        return Scheduler::Step::worked;
    }
  } while (executed < Scheduler::kSlice && changes == changes_.load(std::memory_order_relaxed));
  return Scheduler::Step::worked;
}

void Device::work() {
  uint64_t still_rounds = 0;
  for (;;) {
    const uint64_t changes = changes_.load();
    auto best = Scheduler::Step::nothing;
    for (const auto& dispatch : candidates()) {
      const auto step = run_some(dispatch);
      if (step != Scheduler::Step::nothing) best = step;
      if (step == Scheduler::Step::worked) break;
    }
    if (best != Scheduler::Step::nothing) {
      if (options_.memory_may_have_changed) options_.memory_may_have_changed();
      still_rounds = best == Scheduler::Step::spun ? still_rounds + 1 : 0;
      if (still_rounds == 0) continue;
      std::unique_lock lock(mutex_);
      if (changes == changes_.load()) rest_.wait_for(lock, Scheduler::rest_after(still_rounds));
      continue;
    }
    std::lock_guard lock(mutex_);
    if (changes != changes_.load()) continue;
    if (--workers_ == 0) idle_.notify_all();
    return;
  }
}

void Device::finish(const std::shared_ptr<ActiveDispatch>& dispatch) {
  Outcome outcome;
  dispatch->scheduler_->report(outcome);
  if (dispatch->record_) {
    dispatch->prepared_.report(outcome);
    outcome.findings = dispatch->findings_.all();
    outcome.exceptions = dispatch->findings_.exceptions();
    outcome.processor_seconds = static_cast<double>(dispatch->processor_nanoseconds_) * 1e-9;
    dispatch->record_->ended(outcome);
  }
  bool others;
  {
    std::lock_guard lock(mutex_);
    std::erase(active_, dispatch);
    ++changes_;
    others = !active_.empty();
  }
  if (others) add_workers(1);  // they may wait for the room that this one had
  // What `done` keeps alive must not live as long as the dispatch's handle.
  ActiveDispatch::Done done = std::move(dispatch->done_);
  done(std::move(outcome));
}

}  // namespace lockstep::machine

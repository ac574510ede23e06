#include "machine/scheduler.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "machine/host_threads.h"
#include "numeric/host_control.h"

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
  if (launch.null_waves > 32 || waves_of_items(launch, items) > 32)
    throw std::invalid_argument("a work-group of more than 32 waves, those without work-items counted");
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
      dispatch_{launch.device ? launch.device : std::make_shared<DeviceState>(), launch.vmid, {}},
      host_traps_(options.precise.traps.host),
      listener_(options.precise.listener),
      start_order_(options.precise, group_count(launch), options.resident_groups),
      is_serial_(listener_ && listener_->order() == Listener::Order::serial),
      threads_(options.threads != 0 ? options.threads : host_threads()),
      agent_(dispatch_.device, dispatch_.wake),
      mutex_(dispatch_.wake->mutex),
      changed_(dispatch_.wake->changed),
      last_report_(options.progress ? std::chrono::steady_clock::now()
                                    : std::chrono::steady_clock::time_point{}) {
  totals_.groups_total = group_count(launch);
  // SHARED_VGPR_CNT of gfx10 and gfx11 (LLVM, AMDGPU usage): VGPRs that both halves of a wave64 have in
  // common.
  if (launch.rsrc3 & 15)
    throw std::invalid_argument(
        "the kernel asks for shared VGPRs (COMPUTE_PGM_RSRC3), which this machine does "
        "not have (compile it without: .amdhsa_shared_vgpr_count 0)");
  if (launch.placement && !launch.placement->ever_fits(placement_needs(launch)))
    throw std::invalid_argument("a work-group with that many waves, VGPRs and LDS does not fit " +
                                std::string(launch.rsrc1 >> 29 & 1 ? "a work-group processor"
                                                                   : "a compute unit (it runs in CU mode)") +
                                (launch.compute_units
                                     ? " that its queue may use (make it smaller, or allow more of them)"
                                     : " (make it smaller)"));
  if (launch.scratch) {
    const unsigned waves = placement_needs(launch).waves;
    if (!launch.placement) throw std::invalid_argument("a scratch ring needs a device with wave slots");
    if (waves > launch.scratch->waves_per_engine() ||
        scratch_wave_bytes(launch.scratch_bytes, launch.wave_size) > launch.scratch->wave_bytes())
      throw std::invalid_argument(
          "a work-group of " + std::to_string(waves) + " waves with " + std::to_string(launch.scratch_bytes) +
          " bytes of scratch a lane, but the ring has " + std::to_string(launch.scratch->waves_per_engine()) +
          " entries of " + std::to_string(launch.scratch->wave_bytes()) +
          " bytes a shader engine (raise WAVES and WAVESIZE, or make the work-group smaller)");
  }
  dispatch_.wake->tell = options.waves_released;
  dispatch_.doorbell_id = launch.doorbell_id;
  dispatch_.dispatch_id = launch.dispatch_id;
  dispatch_.has_trap_handler = options.traps || options.precise.traps.handler != 0;
  if (host_traps_) host_traps_->join(*dispatch_.wake);
  if (listener_) listener_->dispatch_begins(event());
}

Scheduler::~Scheduler() {
  leave_host();
  for (auto& context : idle_) reuse_.give_back(std::move(context));
  for (auto& context : parked_) {
    context->abandon();
    reuse_.give_back(std::move(context));
  }
  for (auto& [group, context] : blocked_) {
    context->abandon();
    reuse_.give_back(std::move(context));
  }
}

GroupContext::Result Scheduler::run_group(GroupContext& context, int64_t budget, uint64_t& executed) {
  if (context.has_run()) budget = std::min(budget, kLaterSlice << context.doublings());
  return after_run(context, context.run(engine_, budget, executed));
}

GroupContext::Result Scheduler::after_run(GroupContext& context, GroupContext::Result result) {
  if (result == GroupContext::Result::finished) return result;
  context.give_up_unused();
  if (options_.control) options_.control->show(context.group());
  if (result == GroupContext::Result::halted) return after_halt(context);
  if (result == GroupContext::Result::faulted && options_.control && context.hold_faulted())
    return GroupContext::Result::unfinished;
  return result;
}

GroupContext::Result Scheduler::after_halt(GroupContext& context) {
  if (options_.halted) {
    const WaveFault fault = fault_of(context, context.wave_in(WaveState::halted));
    std::lock_guard lock(halted_mutex_);
    if (options_.halted(fault)) {
      context.resume_halted();
      return GroupContext::Result::unfinished;
    }
  } else if (options_.control) {
    context.hold_halted();
    return GroupContext::Result::unfinished;
  }
  context.fail_halted();
  return GroupContext::Result::faulted;
}

void Scheduler::run_taken(std::unique_lock<std::mutex>& lock, std::unique_ptr<GroupContext> context,
                          int64_t budget, uint64_t& executed) {
  lock.unlock();
  const numeric::HostFloatDefaults defaults;
  uint64_t first = 0;
  auto result = run_group(*context, budget, first);
  uint64_t all = first;
  lock.lock();
  while (result == GroupContext::Result::finished && all < static_cast<uint64_t>(budget) &&
         context->may_run_more()) {
    Claim claim = claim_more();
    if (claim.first == claim.last) break;
    const Claim before = claim;
    lock.unlock();
    uint64_t more = 0;
    const uint64_t most = std::min(kClaimWork, static_cast<uint64_t>(budget) - all);
    result = after_run(*context, context->run_more(launch_, engine_, claim, budget, most, more));
    all += more;
    lock.lock();
    totals_.instructions += more;
    // The one before the first has finished, and the last is given back.
    totals_.groups_done += claim.first - before.first;
    totals_.waves += claim.first_wave - before.first_wave;
    for (const Claim& begun : context->take_begun()) {
      totals_.groups_done -= begun.last - begun.first;
      return_claim(begun);
    }
    return_claim(claim);
    // What cannot follow in this place is started as any other group.
    if (claim.first == before.first) break;
    report_progress();
  }
  executed += all;
  give_back(std::move(context), result, first, budget);
}

void Scheduler::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::unique_ptr<GroupContext> context;
    int64_t budget = kSlice;
    Taken taken;
    while ((taken = take(lock, context, budget)) == Taken::wait) {
      changed_.wait_for(lock, kLook);
      report_progress();
    }
    if (taken == Taken::nothing) return;
    uint64_t executed = 0;
    run_taken(lock, std::move(context), budget, executed);
    rest(lock);
  }
}

Scheduler::Step Scheduler::step(int64_t budget, uint64_t& executed) {
  std::unique_ptr<GroupContext> context;
  std::unique_lock lock(mutex_);
  const Taken taken = take(lock, context, budget);
  if (taken == Taken::group) run_taken(lock, std::move(context), budget, executed);
  if (over() && !said_finished_) {
    said_finished_ = true;
    return Step::finished;
  }
  if (taken != Taken::group) return Step::nothing;
  return still_rounds() > kStillRounds && fault_number_ == kNone ? Step::spun : Step::worked;
}

void Scheduler::stand_still() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return resident_ == parked_.size() + blocked_.size(); });
  for (auto& context : idle_) context->leave_place();
  for (auto& context : parked_) context->lend_place();
  for (auto& [group, context] : blocked_) context->lend_place();
  have_lent_places_ = true;
}

bool Scheduler::give_places_back() {
  const auto has_one = [&](auto& context) { return context->take_place_again(launch_); };
  return std::ranges::all_of(parked_, has_one) &&
         std::ranges::all_of(blocked_, [&](auto& entry) { return has_one(entry.second); });
}

DispatchEvent Scheduler::event() const {
  return {&dispatch_,
          launch_.grid,
          launch_.group,
          launch_.entry,
          launch_.wave_size,
          launch_.lds_bytes,
          launch_.memory.get(),
          (launch_.rsrc1 >> 29 & 1) != 0,
          initial_sgprs(launch_)};
}

void Scheduler::leave_host() {
  if (auto* host = std::exchange(host_traps_, nullptr)) host->leave(*dispatch_.wake);
}

void Scheduler::report(Outcome& outcome) {
  leave_host();
  if (Listener* listener = std::exchange(listener_, nullptr)) listener->dispatch_ends(event());
  if (options_.control) options_.control->leave(*dispatch_.wake);
  std::lock_guard lock(mutex_);
  for (auto& context : idle_) context->leave_place();
  for (auto& context : parked_) context->leave_place();
  for (auto& [group, context] : blocked_) context->leave_place();
  outcome.totals = totals_;
  outcome.interrupts = dispatch_.interrupts;
  outcome.cancelled = cancelled_;
  outcome.limit_exceeded = limit_exceeded_;
  outcome.fault = std::move(fault_);
}

bool Scheduler::over() const {
  if (cancelled_) return resident_ == parked_.size() + blocked_.size();
  return resident_ == 0 && unstarted() == 0;
}

uint64_t Scheduler::unstarted_before(uint64_t end) const {
  uint64_t count = end - std::min(end, next_);
  for (const Claim& claim : returned_) count += std::min(end, claim.last) - std::min(end, claim.first);
  return count;
}

// The first in dispatch order.
Claim Scheduler::claim_next() {
  if (!returned_.empty()) {
    Claim& claim = returned_.front();
    const Claim next{claim.first, claim.first + 1, claim.first_wave, claim.ended_waves};
    claim.first_wave += place_at(claim.first++).waves;
    if (claim.first == claim.last) returned_.erase(returned_.begin());
    return next;
  }
  const Claim next{next_, next_ + 1, next_wave_};
  next_wave_ += place_at(next_++).waves;
  return next;
}

// Where a limit or a listener wants to know of each group, none; nor of those that have begun.
Claim Scheduler::claim_more() {
  if (cancelled_ || stop_requested() || is_suspended() || have_lent_places_ || is_serial_ ||
      options_.instruction_limit != 0 || fault_number_ != kNone)
    return {};
  if (!returned_.empty()) {
    const Claim claim = returned_.front();
    if (claim.ended_waves != 0) return {};
    returned_.erase(returned_.begin());
    return claim;
  }
  const uint64_t left = totals_.groups_total - next_;
  Claim claim{next_, next_, next_wave_};
  claim.last += std::min(threads_ == 1 ? left : left / (4 * threads_), kMostClaimed);
  for (GroupWalk walk(launch_, next_); next_ < claim.last;) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(walk.alike_in_row(), claim.last - next_));
    next_wave_ += uint64_t{count} * walk.place().waves;
    next_ += count;
    walk.advance_in_row(count);
  }
  return claim;
}

void Scheduler::return_claim(const Claim& claim) {
  if (claim.first == claim.last) return;
  const auto behind = std::ranges::find_if(returned_, [&](auto& each) { return each.first > claim.first; });
  returned_.insert(behind, claim);
  changed_.notify_all();
}

uint64_t Scheduler::still_rounds() const {
  if (start_order_.is_random()) return 0;  // there are no rounds
  const size_t groups = parked_.size() + 1;
  return still_in_a_row_ % groups == 0 ? still_in_a_row_ / groups : 0;
}

// A limit counts the wave-instructions of a kernel that hangs, too, and behind a fault groups are counted
// out: both are to come to their end soon.
void Scheduler::rest(std::unique_lock<std::mutex>& lock) {
  const uint64_t rounds = still_rounds();
  if (rounds <= kStillRounds || options_.instruction_limit != 0 || fault_number_ != kNone) return;
  changed_.wait_for(lock, rest_after(rounds - kStillRounds));
}

int64_t Scheduler::reserve(int64_t wanted) {
  if (options_.instruction_limit == 0) return wanted;
  const uint64_t used = totals_.instructions + reserved_;
  const uint64_t left = options_.instruction_limit - std::min(options_.instruction_limit, used);
  wanted = static_cast<int64_t>(std::min<uint64_t>(left, static_cast<uint64_t>(wanted)));
  reserved_ += static_cast<uint64_t>(wanted);
  return wanted;
}

void Scheduler::give_back_unused(int64_t reserved) {
  if (options_.instruction_limit != 0) reserved_ -= static_cast<uint64_t>(reserved);
}

int64_t Scheduler::slice(int64_t budget) {
  return start_order_.is_random() ? start_order_.draw_turn(budget) : budget;
}

Scheduler::Groups::iterator Scheduler::next_parked() {
  if (start_order_.is_random() && !parked_.empty())
    std::swap(parked_.front(),
              *std::next(parked_.begin(), static_cast<std::ptrdiff_t>(start_order_.draw(parked_.size()))));
  return std::ranges::find_if(parked_, [](const auto& context) { return !context->has_lent_place(); });
}

bool Scheduler::prefers_parked() {
  return start_order_.is_random() && !parked_.empty() && start_order_.draw(2) == 0;
}

Scheduler::Taken Scheduler::take(std::unique_lock<std::mutex>& lock, std::unique_ptr<GroupContext>& context,
                                 int64_t& budget) {
  for (;;) {
    if (stop_requested()) cancelled_ = true;
    if (cancelled_ || is_suspended()) return Taken::nothing;
    if (have_lent_places_) have_lent_places_ = !give_places_back();
    // One group at a time for those who want to be told in order.
    if (is_serial_ && resident_ > parked_.size() + blocked_.size()) return Taken::wait;
    const bool new_one = unstarted() != 0;
    if ((new_one || !parked_.empty()) && options_.instruction_limit != 0 &&
        totals_.instructions + reserved_ >= options_.instruction_limit) {
      // What other threads do not need of theirs is left for this one.
      if (reserved_ != 0) return Taken::wait;
      limit_exceeded_ = cancelled_ = true;
      changed_.notify_all();
      continue;
    }
    if (new_one && resident_ < options_.resident_groups && !prefers_parked() && find_room(context)) {
      const Claim claim = claim_next();
      const uint64_t number = claim.first, first_wave = claim.first_wave;
      const GroupPlace place = place_at(number);
      if (claim.ended_waves == 0) totals_.waves += place.waves;
      ++resident_;
      budget = reserve(slice(budget));
      lock.unlock();
      const bool started = context->start(launch_, number, place, first_wave, dispatch_, engine_, options_);
      lock.lock();
      if (!started) {
        give_back_unused(budget);
        refuse_entry(number);
        context.reset();
        return Taken::nothing;
      }
      context->skip_ended_waves(claim.ended_waves);
      return Taken::group;
    }
    sort_groups();
    if (const auto next = next_parked(); next != parked_.end()) {
      context = std::move(*next);
      parked_.erase(next);
      budget = reserve(slice(budget));
      return Taken::group;
    }
    // Others have the room that a new group needs.
    if (resident_ == 0) return new_one ? Taken::wait : Taken::nothing;
    const bool others_may_start = new_one && resident_ < options_.resident_groups;
    if (resident_ == blocked_.size() && !is_any_held() &&
        ((!others_may_start && waits_for_itself()) || agent_.is_stuck_with_all())) {
      give_up_blocked();
      continue;
    }
    // Other threads run what is resident, or somebody else releases what is blocked.
    return Taken::wait;
  }
}

// Then the host may yet release all that waits, or end the dispatch.
bool Scheduler::is_any_held() const {
  return std::any_of(blocked_.begin(), blocked_.end(),
                     [](auto& entry) { return entry.second->has_held_wave(); });
}

void Scheduler::sort_groups() {
  std::vector<const WorkGroup*>& woken = dispatch_.wake->woken;
  for (const WorkGroup* group : woken) {
    const auto found = blocked_.find(group);
    if (found == blocked_.end()) continue;
    parked_.push_back(std::move(found->second));
    blocked_.erase(found);
  }
  woken.clear();
  if (std::exchange(dispatch_.wake->all_woken, false)) {
    agent_.go_on();
    for (auto& [group, context] : blocked_) parked_.push_back(std::move(context));
    blocked_.clear();
  }
  if (fault_number_ == kNone) return;
  const auto is_behind = [&](const GroupContext& context) { return context.number() > fault_number_; };
  const auto is_patient = [&](const auto& context) {
    return context->times_idle(changes_) >= kPatienceAfterFault;
  };
  const auto drop = [&](auto&& which) {
    patient_ -= static_cast<uint32_t>(std::ranges::count_if(
        parked_, [&](auto& context) { return which(*context) && is_patient(context); }));
    resident_ -=
        static_cast<uint32_t>(std::erase_if(parked_, [&](auto& context) { return which(*context); }));
    resident_ -=
        static_cast<uint32_t>(std::erase_if(blocked_, [&](auto& entry) { return which(*entry.second); }));
  };
  drop(is_behind);
  resident_ -= static_cast<uint32_t>(
      std::erase_if(blocked_, [](auto& entry) { return entry.second->has_held_wave(); }));
  // Those that a thread runs right now count, too: one of them may be about to get on, or to fault itself.
  const auto waiting = patient_ + std::ranges::count_if(parked_, [&](auto& context) {
                         return context->has_lent_place() && !is_patient(context);
                       });
  waits_for_faulted_ |= patient_ != 0 && static_cast<size_t>(waiting) >= resident_ - blocked_.size();
  if (waits_for_faulted_) drop([](const GroupContext&) { return true; });
}

// A context with a place on the device for a new group.
bool Scheduler::find_room(std::unique_ptr<GroupContext>& context) {
  if (!idle_.empty()) {
    context = std::move(idle_.back());
    idle_.pop_back();
  } else {
    context = reuse_.context(launch_);
  }
  if (context->take_place(launch_)) return true;
  idle_.push_back(std::move(context));
  return false;
}

bool Scheduler::waits_for_itself() const {
  return std::ranges::all_of(blocked_,
                             [](const auto& entry) { return entry.second->only_turns_are_awaited(); });
}

// Behind a fault that may be because of it: then it alone is told.
void Scheduler::give_up_blocked() {
  if (fault_number_ != kNone) {
    resident_ -= static_cast<uint32_t>(blocked_.size());
    blocked_.clear();
    return;
  }
  const auto first = std::min_element(blocked_.begin(), blocked_.end(), [](auto& a, auto& b) {
    return a.second->number() < b.second->number();
  });
  first->second->fail_blocked();
  record_fault(*first->second);
  if (const uint64_t not_started = unstarted_before(totals_.groups_total); not_started != 0)
    fault_->fault.message += "; " + std::to_string(not_started) + " work-groups have not started, for only " +
                             std::to_string(resident_) + " have room at a time";
  blocked_.erase(first);
  --resident_;
  changed_.notify_all();
}

void Scheduler::give_back(std::unique_ptr<GroupContext> context, GroupContext::Result result,
                          uint64_t executed, int64_t budget) {
  totals_.instructions += executed;
  give_back_unused(budget);
  if (options_.instruction_limit != 0 && totals_.instructions > options_.instruction_limit)
    limit_exceeded_ = cancelled_ = true;
  const bool is_idle = result == GroupContext::Result::idle;
  if (!is_idle) {
    ++changes_;
    patient_ = 0;
  } else if (context->count_idle(changes_) == kPatienceAfterFault) {
    ++patient_;
  }
  const bool stands_still = is_idle && context->stands_still();
  still_in_a_row_ = stands_still ? still_in_a_row_ + 1 : 0;
  switch (result) {
    case GroupContext::Result::unfinished:
      // The next one's registers are in no cache of the host.
      if (context->calm_slices() % kCalmSlicesInARow != 0) {
        parked_.push_front(std::move(context));
        break;
      }
      [[fallthrough]];
    case GroupContext::Result::idle:
      parked_.push_back(std::move(context));
      break;
    case GroupContext::Result::blocked:
    case GroupContext::Result::held:
      // Released since it was run: then the news came while it was not among the blocked.
      if (context->may_go_on()) {
        parked_.push_back(std::move(context));
      } else {
        const WorkGroup* group = &context->group();
        blocked_[group] = std::move(context);
      }
      break;
    case GroupContext::Result::halted:
    case GroupContext::Result::faulted:
      record_fault(*context);
      --resident_;
      break;
    case GroupContext::Result::finished:
      ++totals_.groups_done;
      --resident_;
      // Its place is for those who have more to run, or had one before.
      if (unstarted_before(totals_.groups_total) == 0 || !context->has_whole_place() || is_suspended() ||
          have_lent_places_)
        context->leave_place();
      idle_.push_back(std::move(context));
      break;
  }
  // Nobody needs to wake for a group that has nothing to do.
  if (!stands_still || cancelled_ || is_suspended()) changed_.notify_all();
  report_progress();
}

// The fault that counts is that of the first group in dispatch order, whatever the threads did: groups
// before it go on, unless they wait for the host or for what the faulted wave did not do any more; groups
// behind it are dropped.
void Scheduler::record_fault(const GroupContext& context) {
  if (context.number() >= fault_number_) return;
  fault_number_ = context.number();
  fault_ = fault_of(context, context.wave_in(WaveState::faulted));
}

WaveFault Scheduler::fault_of(const GroupContext& context, const Wave& wave) const {
  WaveFault fault;
  fault.fault = wave.fault;
  std::copy(std::begin(context.group().id), std::end(context.group().id), fault.group.begin());
  fault.wave = wave.index_in_group;
  std::vector<CodeRange> code = code_around(launch_, wave.fault.pc);
  if (options_.precise.traps.code != CodeRange{}) code.push_back(options_.precise.traps.code);
  fault.instruction = instruction_text(code, launch_.wave_size, wave.fault.pc);
  return fault;
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
  if (now - last_report_ < kReportInterval) return;
  last_report_ = now;
  options_.progress(totals_);
}

}  // namespace lockstep::machine

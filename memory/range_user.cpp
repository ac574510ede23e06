#include "memory/range_user.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "memory/address_space.h"

namespace lockstep {

// ---- RangeUser

RangeUser::RangeUser(const RangeSet* ranges) {
  set(ranges);
}

RangeUser::~RangeUser() {
  set(nullptr);
}

void RangeUser::set(const RangeSet* ranges) {
  if (ranges_) ranges_->users().remove(*this);
  ranges_ = ranges ? ranges->live() : nullptr;
  if (ranges_) ranges_->users().add(*this);
}

uint64_t RangeUser::begin() {
  if (!ranges_) return 0;
  // Either we see the new version, or who has changed the ranges sees that we are here with the old one.
  for (uint64_t version = ranges_->version();;) {
    since_.store(version, std::memory_order_seq_cst);
    const uint64_t now = ranges_->version();
    if (now == version) return version;
    version = now;
  }
}

// ---- RangeUsers

void RangeUsers::add(RangeUser& user) {
  std::lock_guard lock(mutex_);
  users_.push_back(&user);
}

void RangeUsers::remove(RangeUser& user) {
  std::lock_guard lock(mutex_);
  std::erase(users_, &user);
}

bool RangeUsers::any_before(uint64_t version) const {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(users_, [&](const RangeUser* user) {
    const uint64_t since = user->since_.load(std::memory_order_seq_cst);
    return since != 0 && since < version;
  });
}

void RangeUsers::wait_until(uint64_t version) const {
  // Turns last for microseconds, but for those whose thread has no processor.
  constexpr int kYields = 100;
  for (int looks = 0; any_before(version); ++looks) {
    if (looks < kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace lockstep

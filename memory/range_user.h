// Who uses memory that may be unmapped meanwhile, and how unmapping waits for them: as a driver that takes
// pages away waits until the device has dropped their translations.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep {

class LiveRanges;
class RangeSet;

// Uses ranges for a bounded time again and again: the turns of a group's waves, a copy. What RangeSet::find()
// says between begin() and end() holds until end(). For one thread at a time.
class RangeUser {
 public:
  // Of null, or of a set that never changes, there is nothing to wait for.
  explicit RangeUser(const RangeSet* ranges = nullptr);
  ~RangeUser();
  RangeUser(const RangeUser&) = delete;
  RangeUser& operator=(const RangeUser&) = delete;

  // Uses another set from now on.
  void set(const RangeSet* ranges);
  // The version of the ranges: what was found in another one may be gone. 0: nothing ever is.
  uint64_t begin();
  void end() { since_.store(0, std::memory_order_release); }

 private:
  friend class RangeUsers;

  std::shared_ptr<LiveRanges> ranges_;  // null: they never change
  std::atomic<uint64_t> since_ = 0;     // the version that begin() has returned; 0: behind end()
};

// The users of one set of ranges.
class RangeUsers {
 public:
  void add(RangeUser& user);
  void remove(RangeUser& user);
  // Until no use is under way that began before the version.
  void wait_until(uint64_t version) const;

 private:
  bool any_before(uint64_t version) const;

  mutable std::mutex mutex_;
  std::vector<RangeUser*> users_;
};

}  // namespace lockstep

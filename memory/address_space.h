// The guest's view of memory: guest addresses are host addresses inside ranges that were mapped for the
// guest.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "memory/host_pages.h"
#include "memory/range_user.h"

namespace lockstep {

enum Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3, kExecute = 4 };

struct Range {
  uint64_t begin = 0;  // first byte
  uint64_t end = 0;    // one behind the last byte
  uint8_t access = 0;
  std::string name;     // for messages: "buffer 'x'", "code object a.co"
  uint64_t serial = 0;  // tells this mapping from every other one of the process
  // Where it is; null: memory that outlives all who use the range.
  std::shared_ptr<const HostPages> pages = nullptr;
};

// What an access may reach in ranges that change: several mappings without a gap between them, or one alone.
enum class Reaching : uint8_t { adjoining_mappings, one_mapping };

// Ranges, sorted, not overlapping, as a dispatch sees them: those of a moment, which never change under a
// wave, or those that an address space has now (AddressSpace::Changes). Safe from several threads.
class RangeSet {
 public:
  // Between an address and a range that it hardly was meant for.
  static constexpr uint64_t kFar = uint64_t{1} << 34;

  explicit RangeSet(std::vector<Range> sorted) : ranges_(std::move(sorted)) {}
  explicit RangeSet(std::shared_ptr<LiveRanges> live) : live_(std::move(live)) {}
  // Memory that holds [address, address + bytes) with all of `access`, or null; valid as long as the set. Of
  // a set that changes it has the extent and the access alone, and ranges that adjoin count as one if they
  // may.
  const Range* find(uint64_t address, uint64_t bytes, uint8_t access,
                    Reaching reaching = Reaching::adjoining_mappings) const;
  // Whether find() finds something.
  bool allows(uint64_t address, uint64_t bytes, uint8_t access) const;
  // The range that holds or most closely precedes the address.
  std::optional<Range> nearest(uint64_t address) const;
  // Of an address in no range: the one that begins behind it, if that is closer than the end of the one
  // before, and no farther than an index of 32 bits may lead astray.
  std::optional<Range> closest_behind(uint64_t address) const;
  std::vector<Range> ranges() const;
  // Another number when what find() has said before may no longer hold.
  uint64_t version() const;
  // Null: it never changes.
  const std::shared_ptr<LiveRanges>& live() const { return live_; }

 private:
  const Range* at_or_before(uint64_t address) const;
  std::optional<Range> after(uint64_t address) const;

  std::vector<Range> ranges_;
  std::shared_ptr<LiveRanges> live_;  // null: `ranges_` are all
};

class AddressSpace {
 public:
  // Who sees that a mapping has changed: dispatches that are launched after it, which keep the pages of what
  // they may use; or every wave at once, as a driver's programs expect, and nobody keeps anything.
  enum class Changes : uint8_t { seen_by_next_dispatch, seen_at_once };

  explicit AddressSpace(Changes changes = Changes::seen_by_next_dispatch);
  // Makes [address, address + bytes) accessible, and owns the pages as long as anybody has the range. Returns
  // false and changes nothing if it overlaps a mapped range, is empty, or wraps around.
  bool map(uint64_t address, uint64_t bytes, uint8_t access, std::string name,
           std::shared_ptr<const HostPages> pages = nullptr);
  // The same, but what was mapped there gives way: its owner has not said that it is gone.
  bool map_over(uint64_t address, uint64_t bytes, uint8_t access, std::string name);
  // Removes the range that begins at `address`; false if there is none.
  // Where changes are seen at once, nobody uses what was removed any more when this, or one of those below or
  // map_over(), returns: it waits for turns of waves and for copies, so no RangeUser may wait for the caller.
  bool unmap(uint64_t address);
  // Removes what is mapped of [address, address + bytes), parts of ranges too.
  void unmap(uint64_t address, uint64_t bytes);
  void clear();
  std::shared_ptr<const RangeSet> snapshot() const;

 private:
  const std::shared_ptr<LiveRanges> ranges_;
  const Changes changes_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const RangeSet> snapshot_;  // of version snapshot_version_, or the one that changes
  mutable uint64_t snapshot_version_ = 0;
};

// The ranges of an address space.
class LiveRanges {
 public:
  bool map(Range range, bool over);
  bool unmap(uint64_t address);
  void unmap(uint64_t begin, uint64_t end);
  void clear();

  const Range* find(uint64_t address, uint64_t bytes, uint8_t access, Reaching reaching) const;
  // What find() finds.
  struct Extent {
    uint64_t begin = 0, end = 0;
    uint8_t access = 0;
  };
  std::optional<Extent> extent(uint64_t address, uint64_t bytes, uint8_t access, Reaching reaching) const;
  std::optional<Range> nearest(uint64_t address) const;
  std::optional<Range> after(uint64_t address) const;
  std::vector<Range> all() const;
  uint64_t version() const { return version_.load(std::memory_order_seq_cst); }
  RangeUsers& users() { return users_; }

 private:
  using Ranges = std::map<uint64_t, Range>;  // by their begin
  struct ByExtent {
    bool operator()(const Range& a, const Range& b) const;
  };

  bool remove(uint64_t begin, uint64_t end);  // with the lock held; whether there was something
  uint64_t changed() { return version_.fetch_add(1, std::memory_order_seq_cst) + 1; }
  void wait_for_users(uint64_t version);  // without the lock

  mutable std::shared_mutex mutex_;
  Ranges ranges_;
  std::atomic<uint64_t> version_ = 1;
  RangeUsers users_;
  // What find() has given out: translated code keeps pointers to them. There is one for each extent that ever
  // was, and allocators use theirs again and again.
  mutable std::mutex extents_mutex_;
  mutable std::set<Range, ByExtent> extents_;
};

}  // namespace lockstep

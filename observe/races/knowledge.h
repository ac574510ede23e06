// What waves know of each other: which accesses of one are ordered before what another one does next.
//
// Each wave counts epochs; what it does belongs to the present one. A wave that hands something over (at a
// barrier, by an atomic, by a store that another wave looks out for) makes known up to which of its epochs
// everything is complete, and what it knows of others. Who takes it over, knows that. An access is ordered
// before whatever a wave does that knows its epoch to be over.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/listener.h"
#include "engine/precise/counters.h"

namespace lockstep::observe {

// Of a wave, for as long as dispatches run: 0 is none.
using WaveNumber = uint32_t;

// Epochs of a wave that are over, as others see it: in LDS, and in memory. Those that are issued would be
// over if the wave had waited for its stores before it made them known.
struct Bound {
  uint32_t lds = 0, memory = 0, issued = 0;

  void raise(const Bound& to) {
    lds = std::max(lds, to.lds);
    memory = std::max(memory, to.memory);
    issued = std::max(issued, to.issued);
  }
};

// What waves of one group know of each other: the same object for all that have passed a barrier together.
using GroupKnowledge = std::vector<Bound>;  // by index in the group
// Of waves of other groups, without LDS.
using FarKnowledge = std::unordered_map<WaveNumber, Bound>;

// What stays of a wave when it has ended, for those who meet its accesses.
struct WaveRecord {
  uint32_t group = 0;         // number in the order of their begin
  uint32_t dispatch = 0;      // likewise
  uint32_t index = 0;         // in the group
  WaveNumber first_wave = 0;  // of its group
  uint32_t group_id[3] = {};
  std::shared_ptr<const GroupKnowledge> near;
  std::shared_ptr<const FarKnowledge> far;
};

// Epochs of operations that are under way, the oldest first. There are no more of them than a counter counts:
// who comes to one more has waited for the oldest.
class UnderWay {
 public:
  void add(uint32_t epoch) {
    if (count_ == kMost) drop_oldest();
    at(count_++) = epoch;
  }
  void come_down_to(uint32_t limit) {
    while (count_ > limit) drop_oldest();
  }
  bool empty() const { return count_ == 0; }
  uint32_t oldest() const { return epochs_[begin_]; }
  // The oldest that is not 0; 0: there is none.
  uint32_t oldest_store() const {
    for (unsigned i = 0; i < count_; ++i)
      if (const uint32_t epoch = epochs_[(begin_ + i) % kPlaces]) return epoch;
    return 0;
  }

 private:
  static constexpr unsigned kMost = 63, kPlaces = 64;
  uint32_t& at(unsigned i) { return epochs_[(begin_ + i) % kPlaces]; }
  void drop_oldest() { begin_ = (begin_ + 1) % kPlaces, --count_; }

  std::array<uint32_t, kPlaces> epochs_;
  unsigned begin_ = 0, count_ = 0;
};

// A wave that runs.
struct RunningWave {
  WaveNumber number = 0;
  uint32_t epoch = 1;
  // Memory stores that are not known to be complete, by their epochs, the oldest first; and operations of
  // LGKMcnt, where those that store nothing in LDS have epoch 0.
  UnderWay stores, lgkm;
  // Places in memory from which the wave has taken over something that only an invalidation of the caches
  // lets it use.
  std::unordered_set<uint64_t> pending;
  // Since it last invalidated its caches it has loaded from one of their lines at most: which.
  static constexpr uint64_t kLine = 128;  // bytes (guide 12.1)
  bool is_fresh = false;
  uint64_t fresh_line = 0;  // 0: none

  void loads(uint64_t address) {
    is_fresh = fresh_line == 0 || fresh_line == address / kLine;
    fresh_line = address / kLine;
  }
  // Whether its caches hold nothing old, but perhaps of the line that the address is in.
  bool is_fresh_beside(uint64_t address) const {
    return is_fresh && (fresh_line == 0 || fresh_line == address / kLine);
  }

  // The first epoch that may have incomplete stores.
  uint32_t complete_in_memory() const { return stores.empty() ? epoch : stores.oldest(); }
  uint32_t complete_in_lds() const;
  void wait(const precise::Counts& limits);
};

class Knowledge {
 public:
  void dispatch_begins(const DispatchState* id, bool processor_mode);
  void dispatch_ends(const DispatchState* id);
  void group_begins(const WorkGroup& group);
  void group_ends(const WorkGroup& group);
  void wave_begins(const Wave& wave);
  // Whether all that its waves have stored in LDS is there.
  bool is_lds_complete(const WorkGroup& group);
  // Every wave of the group that has not ended knows what the others did before.
  void barrier(const WorkGroup& group);

  RunningWave& running(const Wave& wave) {
    if (wave.group != last_group_) [[unlikely]] {
      last_ = &groups_[wave.group];
      last_group_ = wave.group;
    }
    return last_->waves[wave.index_in_group];
  }
  const WaveRecord& record(WaveNumber number) const { return records_[number]; }
  bool same_group(WaveNumber a, WaveNumber b) const { return record(a).group == record(b).group; }
  // Whether what wave `earlier` did in an epoch comes before what `later` does now.
  enum class Access : uint8_t {
    read,  // has its value in time if it was issued before
    write_lds,
    write_memory,
  };
  bool ordered(WaveNumber earlier, uint32_t epoch, WaveNumber later, Access access) const;
  // Of a write that is not: whether it would be, had the earlier wave waited for it in time.
  bool lacks_wait(WaveNumber earlier, uint32_t epoch, WaveNumber later) const {
    return same_group(earlier, later) && ordered(earlier, epoch, later, Access::read);
  }

  // What a wave makes known now: of itself.
  Bound bound_of(const RunningWave& wave, bool to_own_group) const;
  // The wave takes over that epochs of another one are over, and all that that one knows.
  void take_over(RunningWave& wave, WaveNumber from, Bound bound);
  // Nothing of before can meet what comes.
  bool is_idle() const { return dispatches_running_.empty(); }
  void forget_all();

 private:
  struct Dispatch {
    uint64_t begin = 0, end = ~uint64_t{0};  // on clock_
    bool processor_mode = true;
  };
  struct Group {
    uint32_t number = 0;
    WaveNumber first_wave = 0;
    std::vector<RunningWave> waves;
  };
  GroupKnowledge& own_copy(WaveRecord& record, size_t waves);

  uint64_t clock_ = 0;
  uint32_t next_group_ = 1;
  std::vector<WaveRecord> records_{1};
  std::vector<Dispatch> dispatches_;
  std::unordered_map<const DispatchState*, uint32_t> dispatches_running_;
  std::unordered_map<const WorkGroup*, Group> groups_;
  const WorkGroup* last_group_ = nullptr;  // that running() looked up
  Group* last_ = nullptr;
};

}  // namespace lockstep::observe

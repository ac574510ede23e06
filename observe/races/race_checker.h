// Finds accesses of two waves to the same bytes, at least one of which writes, that nothing puts in an order:
// in LDS between waves of a group, in memory between all waves of all dispatches; and lanes of one
// instruction that store different values to one place.
//
// Ordered are: what stands before and behind a barrier; what a wave did before an atomic, or a store that is
// looked out for (GLC), and another wave does after it has read that, and, from another group, has
// invalidated its caches (buffer_gl1_inv); dispatches of which one ended before the other began. What a store
// wrote counts from the wait that proves it complete. It does not matter in which order the machine ran the
// waves. Where waves meet that have all invalidated their caches before they came, and loaded nothing since,
// as barriers of a whole grid are made (HIP's grid.sync()), none has to do it again: no cache can hold what
// is old.
//
// At this level a store that is atomic in the source cannot be told from one that is not: what is read with
// GLC, or unlocked by who changed it with an atomic, counts as atomic, and so do stores with GLC or DLC.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/findings.h"
#include "engine/listener.h"
#include "isa/memory_shape.h"
#include "observe/buffer_names.h"
#include "observe/races/accesses.h"
#include "observe/races/device_heap.h"
#include "observe/races/knowledge.h"
#include "observe/races/lds_marks.h"

namespace lockstep::observe {

class RaceChecker final : public Listener {
 public:
  // Stores that a barrier does not wait for are missing waits, told of as such where these are asked for.
  struct Tells {
    bool races = true, waits = false;
  };
  // `findings` must outlive this.
  explicit RaceChecker(Findings& findings) : RaceChecker(findings, Tells{}) {}
  // `find`: where functions are whose accesses are known; empty: nobody knows.
  RaceChecker(Findings& findings, Tells tells, FindFunction find = {})
      : findings_(findings), tells_(tells), heap_(std::move(find)) {}

  Order order() const override { return Order::serial; }
  bool wants(const isa::Instruction& instruction) const override;
  bool wants_after(const isa::Instruction& instruction) const override;
  void before(const Event& event) override;
  void after(const Event& event) override;
  void dispatch_begins(const DispatchEvent& event) override;
  void dispatch_ends(const DispatchEvent& event) override;
  void group_begins(const WorkGroup& group) override;
  void group_ends(const WorkGroup& group) override;
  void wave_ends(const Wave& wave) override;
  void barrier_passed(const WorkGroup& group) override;

 private:
  struct Site {
    uint64_t pc;
    std::string_view name;
    bool is_flag = false;  // a load from LDS in a loop that waits for another value
    bool may_wait = false, is_meeting = false;
    bool is_atomic = false, is_compared = false;
    const isa::AccessShape* shape = nullptr;
    precise::Shares shares;
  };
  // An access in the making.
  struct Current {
    const Event& event;
    RunningWave& wave;
    WriteMark mark;
    bool is_atomic, is_watching;
    size_t index = 0;
    bool in_lds = false, reads = false, writes = false;

    const MemoryAccess& access() const { return event.accesses[index]; }
    // One, or the first of a line, of those that are alike.
    template <class Access>
    void set_access(const Access& its, size_t number) {
      index = number;
      mark.access = static_cast<uint16_t>(number);
      in_lds = its.space == MemorySpace::lds;
      reads = its.reads;
      writes = its.writes;
    }

    Knowledge::Access as_write() const {
      return in_lds ? Knowledge::Access::write_lds : Knowledge::Access::write_memory;
    }
  };

  uint32_t site_of(const Event& event);
  uint32_t make_site(const Event& event);
  void follow(Current& current, Cell& cell, uint64_t at);
  // Where its cells are; null: nobody follows them.
  AccessBlock* block_of(const Current& current, uint64_t address);
  LdsMarks& lds_of(const WorkGroup* group);
  // Of an event that does nothing but read LDS to which nobody has written since the waves met: it is noted.
  // False: it is not that, and nothing is done.
  bool note_reads(const Current& current);
  // Leaves marks for what is noted: as long as its wave and those of its group know what they knew then.
  void follow_notes(LdsMarks& lds);
  void leave_read_mark(Cell& cell, const ReadMark& mark) const;
  // An access of the event, with its mark.
  void follow_access(Current& current);
  // Of an event whose accesses are alike: where they make up a whole line that was alike before, and nobody
  // else has to do with it, one step will do. False: it is not such an event, and nothing is done.
  bool follow_alike(Current& current);
  // One of its accesses, unless it does what another one has done.
  void follow_one(Current& current, size_t index, size_t of_a_lane);
  // A read of a whole line. False if what was written there is not ordered before, and nothing is done.
  bool read_line(const Current& current, Cell& line) const;
  // False if others have to do with it, and nothing is done.
  bool follow_own(const Current& current, Cell& cell) const;
  void read(Current& current, Cell& cell, uint64_t at);
  void write(Current& current, Cell& cell, uint64_t at);
  bool stores_what_is_there(const Current& current, uint64_t at) const;
  bool is_near(const Current& current, WaveNumber other) const;
  bool loses_a_store(const Current& current, WaveNumber other, const WriteMark& atomic) const;
  // Others who have written there by atomics before make known what they knew.
  void take_chain(const Current& current, uint64_t key);
  // `written_in`: the epoch in which the other one wrote; 0: it read.
  void tell(const Current& current, WaveNumber other, uint32_t written_in, uint32_t other_site,
            const char* did, const char* does, uint64_t at);
  void tell_lanes(const Current& current, const Cell& cell, uint64_t at);

  Findings& findings_;
  const Tells tells_;
  std::mutex mutex_;  // dispatches of a device run side by side
  Knowledge knowledge_;
  DeviceHeap heap_;
  BufferNames names_;
  AccessPages memory_;
  std::unordered_map<const WorkGroup*, LdsMarks> lds_;
  const WorkGroup* lds_group_ = nullptr;  // that lds_of() looked up
  LdsMarks* group_lds_ = nullptr;
  std::vector<Site> sites_{1};
  std::unordered_map<const isa::Instruction*, uint32_t> site_numbers_;
  // Of these, by some bits of the address: what a loop executes is found here.
  struct Found {
    const isa::Instruction* instruction = nullptr;
    uint32_t site = 0;
  };
  std::array<Found, 1024> found_{};
  // By address, of memory and of LDS (with the group's number): who has released there by atomics since the
  // last plain store.
  struct Release {
    WaveNumber wave;
    Bound bound;
    bool is_fresh = false;  // its caches held nothing old
  };
  std::unordered_map<uint64_t, std::vector<Release>> chains_;
  uint32_t event_number_ = 0;
};

}  // namespace lockstep::observe

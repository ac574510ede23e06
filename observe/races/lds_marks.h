// The marks of a work-group's LDS. What its waves did before they met at a barrier, all of it complete, comes
// before all that they do behind it, so that nothing need be known of it any more. As long as nobody has
// written since, reads are no more than noted: they matter when somebody does.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/accesses.h"
#include "observe/races/accesses.h"

namespace lockstep::observe {

class LdsMarks {
 public:
  // Of reads by the lanes of a wave.
  struct Noted {
    ReadMark mark;
    uint32_t bytes = 0;
    unsigned each = 1;  // addresses of a lane
    std::array<uint32_t, 2> base{};
    uint32_t first_offset = 0, offset_count = 0;  // in a list of all
  };

  void begin(uint32_t bytes) {
    block_.begin(bytes);
    forget_notes();
    has_no_writes_ = true;
    keeps_ = false;
  }

  bool has_no_writes() const { return has_no_writes_; }
  bool has_notes() const { return !notes_.empty(); }
  bool is_full() const { return notes_.size() == kMostNotes; }
  void note(const AlikeAccesses& reads, const ReadMark& mark) {
    const unsigned count = reads.is_uniform ? 1 : AlikeAccesses::kMostLanes;
    notes_.push_back({mark,
                      reads.bytes,
                      reads.each,
                      {static_cast<uint32_t>(reads.base[0]), static_cast<uint32_t>(reads.base[1])},
                      static_cast<uint32_t>(offsets_.size()),
                      count});
    offsets_.insert(offsets_.end(), reads.offset.begin(), reads.offset.begin() + count);
  }
  std::span<const Noted> notes() const { return notes_; }
  std::span<const uint32_t> offsets_of(const Noted& noted) const {
    return {offsets_.data() + noted.first_offset, noted.offset_count};
  }
  void forget_notes() {
    notes_.clear();
    offsets_.clear();
  }

  // To leave marks for what is noted.
  AccessBlock& block() { return block_; }
  // Likewise for any access. `is_kept`: it tells how the place is used, which barriers do not end. Of what is
  // noted there must be marks.
  AccessBlock& block_to_follow(bool is_kept) {
    has_no_writes_ = false;
    keeps_ |= is_kept;
    return block_;
  }
  // Whether marks would say more than that all is ordered, if all waves have met with nothing under way.
  bool keeps() const { return keeps_; }
  // They have.
  void forget() {
    block_.forget();
    forget_notes();
    has_no_writes_ = true;
  }

 private:
  static constexpr size_t kMostNotes = 1024;

  AccessBlock block_{0};
  bool has_no_writes_ = true, keeps_ = false;
  std::vector<Noted> notes_;
  std::vector<uint32_t> offsets_;
};

}  // namespace lockstep::observe

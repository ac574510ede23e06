#include "observe/uninitialised/shadow.h"

#include <algorithm>
#include <atomic>

namespace lockstep::observe {

namespace code = isa::code;

namespace {

// Calls visit(word, mask) for the words that have bits [first, end).
template <class Visit>
void each_word(size_t first, size_t end, Visit visit) {
  while (first < end) {
    const size_t word = first / 64, count = std::min(end - first, 64 - first % 64);
    visit(word, ~uint64_t{0} >> (64 - count) << first % 64);
    first += count;
  }
}

}  // namespace

void WaveShadow::begin(const Wave& wave, unsigned initial_sgprs) {
  wave_size_ = wave.wave_size;
  // Others than the wave's are never asked for.
  const unsigned vgprs = wave.vgpr_count;
  bits_.resize(size_t{vgprs} * wave_size_);
  std::fill_n(whole_.begin(), vgprs, ~uint64_t{0});
  std::fill_n(lanes_.begin(), vgprs, wave.lane_mask);
  scalars_.fill(0);
  std::fill(scalars_.begin() + initial_sgprs, scalars_.begin() + code::kTtmp0, ~0u);
  scalars_[code::kM0] = ~0u;
  scalars_[code::kScc] = 1;
  unwritten_ = {};
  unwritten_.add(initial_sgprs, code::kTtmp0);
  unwritten_.add(code::kM0);
  unwritten_.add(code::kScc);
  unwritten_.add(code::kVgpr0, code::kVgpr0 + vgprs);
  version_ = next_version();
  clear_lanes(0, wave.lane_mask);  // the work-item's number
  has_origin_ = {};
  scratch_.begin(Origin::Kind::scratch, wave_size_, 0);
}

uint64_t WaveShadow::next_version() {
  static std::atomic<uint64_t> block = 1;
  // Threads take them by the block.
  constexpr uint64_t kBlock = uint64_t{1} << 20;
  [[gnu::tls_model("initial-exec")]] static constinit thread_local uint64_t next = 0;
  if (next % kBlock == 0) next = block.fetch_add(1) * kBlock;
  return next++;
}

void WaveShadow::get_vgpr(unsigned number, uint32_t* bits) const {
  if (lanes_[number] == 0) {
    std::fill_n(bits, wave_size_, 0);
  } else if ((lanes_[number] & whole_[number]) == lanes_[number]) {
    for (unsigned lane = 0; lane < wave_size_; ++lane)
      bits[lane] = static_cast<uint32_t>(-static_cast<int32_t>(lanes_[number] >> lane & 1));
  } else {
    for (unsigned lane = 0; lane < wave_size_; ++lane) bits[lane] = vgpr(number, lane);
  }
}

void WaveShadow::set_vgpr(unsigned number, const uint32_t* bits) {
  uint64_t lanes = 0, whole = 0;
  for (unsigned lane = 0; lane < wave_size_; ++lane) {
    lanes |= uint64_t{bits[lane] != 0} << lane;
    whole |= uint64_t{bits[lane] == ~0u} << lane;
  }
  lanes_[number] = lanes;
  whole_[number] = whole;
  if (lanes == 0) return is_written(code::kVgpr0 + number);
  is_unwritten(code::kVgpr0 + number);
  if (lanes != whole) std::copy_n(bits, wave_size_, &bits_[size_t{number} * wave_size_]);
}

void MemoryShadow::begin(Origin::Kind kind, unsigned lanes, size_t dwords) {
  kind_ = kind;
  lanes_ = lanes;
  dwords_ = lacking_count_ = 0;
  some_.clear();
  fresh_.clear();
  grow(dwords);
}

// Words are filled from the first dword on: what is behind the last one is fresh already.
void MemoryShadow::grow(size_t dwords) {
  lacking_count_ += (dwords - dwords_) * lanes_;
  dwords_ = dwords;
  const size_t words = (dwords * lanes_ + 63) / 64;
  some_.resize(words, ~uint64_t{0});
  fresh_.resize(words, ~uint64_t{0});
}

bool MemoryShadow::may_lack_between(size_t first, size_t end) const {
  uint64_t lacking = 0;
  each_word(first * lanes_, std::min(end, dwords_) * lanes_,
            [&](size_t word, uint64_t mask) { lacking |= some_[word] & mask; });
  return lacking != 0;
}

void MemoryShadow::give_values_between(size_t first, size_t end) {
  each_word(first * lanes_, std::min(end, dwords_) * lanes_, [&](size_t word, uint64_t mask) {
    lacking_count_ -= static_cast<size_t>(std::popcount(some_[word] & mask));
    some_[word] &= ~mask;
    fresh_[word] &= ~mask;
  });
}

Unwritten& MemoryShadow::cell_at(size_t at) {
  if (at >= cells_.size()) cells_.resize(dwords_ * lanes_);
  Unwritten& cell = cells_[at];
  if (fresh_[at / 64] >> at % 64 & 1) {
    fresh_[at / 64] &= ~(uint64_t{1} << at % 64);
    cell = {~0u, {kind_, false, static_cast<uint32_t>(at / lanes_ * 4)}};
  }
  return cell;
}

}  // namespace lockstep::observe

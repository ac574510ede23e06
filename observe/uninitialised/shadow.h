// Which bits of a wave's registers, and of the memories that belong to waves and groups, were never given a
// value: a set bit has none.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/listener.h"
#include "isa/effects.h"

namespace lockstep::observe {

// Where bits without a value come from.
struct Origin {
  enum class Kind : uint8_t { none, vgpr, scalar, lds, scratch };
  Kind kind = Kind::none;
  bool is_computed = false;  // arithmetic has made something of them since
  uint32_t number = 0;       // of the register, or the offset
};

// Of a dword of memory.
struct Unwritten {
  uint32_t bits = 0;
  Origin origin;
};

// Registers by their operand codes.
class RegisterSet {
 public:
  void add(unsigned code) { words_[code / 64] |= uint64_t{1} << code % 64; }
  void remove(unsigned code) { words_[code / 64] &= ~(uint64_t{1} << code % 64); }
  bool has(unsigned code) const { return words_[code / 64] >> code % 64 & 1; }
  void add(unsigned first, unsigned end) {
    for (; first < end && first % 64 != 0; ++first) add(first);
    for (; first + 64 <= end; first += 64) words_[first / 64] = ~uint64_t{0};
    for (; first < end; ++first) add(first);
  }
  void add(const RegisterSet& others) {
    for (unsigned i = 0; i < kWords; ++i) words_[i] |= others.words_[i];
  }
  void remove(const RegisterSet& others) {
    for (unsigned i = 0; i < kWords; ++i) words_[i] &= ~others.words_[i];
  }
  bool meets(const RegisterSet& other) const {
    uint64_t common = 0;
    for (unsigned i = 0; i < kWords; ++i) common |= words_[i] & other.words_[i];
    return common != 0;
  }
  // Calls visit(code) for those that both have, until one says false, which is then the result.
  template <class Visit>
  bool each_common(const RegisterSet& other, Visit visit) const {
    for (unsigned i = 0; i < kWords; ++i)
      for (uint64_t left = words_[i] & other.words_[i]; left != 0; left &= left - 1)
        if (!visit(64 * i + static_cast<unsigned>(std::countr_zero(left)))) return false;
    return true;
  }

 private:
  static constexpr unsigned kWords = 2 * kMaxVgprs / 64;
  std::array<uint64_t, kWords> words_{};
};

// Of memory that belongs to a group, or to the lanes of a wave: which bits have no value. A bit for each
// dword says whether there are any; most have none, and need not be looked at.
class MemoryShadow {
 public:
  // `lanes`: how many have dwords of their own. There are `dwords`, none of which has a value.
  void begin(Origin::Kind kind, unsigned lanes, size_t dwords);
  size_t dwords() const { return dwords_; }
  // Whether any of them may have none.
  bool may_lack() const { return lacking_count_ != 0; }
  // Dwords behind the last one.
  void grow(size_t dwords);

  // Null: it has a value.
  const Unwritten* find(size_t dword, unsigned lane = 0) {
    const size_t at = dword * lanes_ + lane;
    if (!(some_[at / 64] >> at % 64 & 1)) return nullptr;
    const Unwritten& cell = cell_at(at);
    return cell.bits == 0 ? nullptr : &cell;
  }
  // Whether any of those of all lanes may have none.
  bool may_lack_between(size_t first, size_t end) const;
  // All lanes of them have values.
  void give_values_between(size_t first, size_t end);
  // To be changed.
  Unwritten& touch(size_t dword, unsigned lane = 0) {
    const size_t at = dword * lanes_ + lane;
    Unwritten& cell = cell_at(at);
    if (!(some_[at / 64] >> at % 64 & 1)) {
      cell.bits = 0;
      some_[at / 64] |= uint64_t{1} << at % 64;
      ++lacking_count_;
    }
    return cell;
  }
  // All of the dword has a value.
  void give_value(size_t dword, unsigned lane = 0) { give_values(dword, uint64_t{1} << lane); }
  // Of the same dword of several lanes: whether one of them may have none; all have.
  bool may_lack(size_t dword, uint64_t lanes) const { return lacking(dword, lanes) != 0; }
  // Those of them that may lack one.
  uint64_t lacking(size_t dword, uint64_t lanes) const {
    return some_[dword * lanes_ / 64] >> dword * lanes_ % 64 & lanes;
  }
  void give_values(size_t dword, uint64_t lanes) {
    const size_t word = dword * lanes_ / 64, shift = dword * lanes_ % 64;
    const uint64_t had_none = some_[word] & lanes << shift;
    if (had_none != 0) lacking_count_ -= static_cast<size_t>(std::popcount(had_none));
    some_[word] &= ~(lanes << shift);
    fresh_[word] &= ~(lanes << shift);
  }

 private:
  Unwritten& cell_at(size_t at);

  Origin::Kind kind_ = Origin::Kind::none;
  unsigned lanes_ = 1;
  size_t dwords_ = 0, lacking_count_ = 0;  // the latter: of the bits of some_
  std::vector<uint64_t>
      some_;  // a bit each: some of it may have no value; else all of it has, whatever is below
  std::vector<uint64_t> fresh_;  // nobody has touched it: nothing of it has a value
  std::vector<Unwritten> cells_;
};

class WaveShadow {
 public:
  static constexpr unsigned kScalars = 256;  // by operand code, SCC among them

  void begin(const Wave& wave, unsigned initial_sgprs);

  // Those in which any bit has no value.
  const RegisterSet& unwritten() const { return unwritten_; }
  // Of these: there is no other one with the same number, of this wave or another.
  uint64_t version() const { return version_; }

  uint64_t lanes(unsigned vgpr) const { return lanes_[vgpr]; }
  uint32_t vgpr(unsigned number, unsigned lane) const {
    const uint64_t bit = uint64_t{1} << lane;
    return !(lanes_[number] & bit) ? 0 : whole_[number] & bit ? ~0u : bits_[number * wave_size_ + lane];
  }
  void set_vgpr(unsigned number, unsigned lane, uint32_t bits) {
    const uint64_t bit = uint64_t{1} << lane;
    if (bits == 0) {
      clear_lanes(number, bit);
    } else {
      lanes_[number] |= bit;
      is_unwritten(isa::code::kVgpr0 + number);
      if (bits == ~0u) {
        whole_[number] |= bit;
      } else {
        whole_[number] &= ~bit;
        bits_[number * wave_size_ + lane] = bits;
      }
    }
  }
  // Whether those of these lanes that lack any bit lack all of them.
  bool lacks_all(unsigned vgpr, uint64_t lanes) const { return (lanes_[vgpr] & lanes & ~whole_[vgpr]) == 0; }
  // Of all lanes.
  void get_vgpr(unsigned number, uint32_t* bits) const;
  void set_vgpr(unsigned number, const uint32_t* bits);
  void clear_lanes(unsigned vgpr, uint64_t lanes) {
    lanes_[vgpr] &= ~lanes;
    if (lanes_[vgpr] == 0) is_written(isa::code::kVgpr0 + vgpr);
  }
  uint32_t scalar(unsigned code) const { return scalars_[code]; }
  void set_scalar(unsigned code, uint32_t bits) {
    scalars_[code] = bits;
    bits == 0 ? is_written(code) : is_unwritten(code);
  }
  // Of a register by its operand code.
  Origin& origin(unsigned code) {
    if (!has_origin_.has(code)) {
      has_origin_.add(code);
      origins_[code] = of_itself(code);
    }
    return origins_[code];
  }

  // So much of it that it has the dwords before `end`.
  MemoryShadow& scratch(uint32_t end) {
    if (end > scratch_.dwords()) scratch_.grow(end);
    return scratch_;
  }

 private:
  void is_unwritten(unsigned code) {
    if (unwritten_.has(code)) return;
    unwritten_.add(code);
    version_ = next_version();
  }
  void is_written(unsigned code) {
    if (!unwritten_.has(code)) return;
    unwritten_.remove(code);
    version_ = next_version();
  }
  static uint64_t next_version();
  static Origin of_itself(unsigned code) {
    return code < isa::code::kVgpr0 ? Origin{Origin::Kind::scalar, false, code}
                                    : Origin{Origin::Kind::vgpr, false, code - isa::code::kVgpr0};
  }

  unsigned wave_size_ = 32;
  RegisterSet unwritten_;
  uint64_t version_ = 0;
  std::array<uint64_t, kMaxVgprs> lanes_{};  // a bit for each lane that has any
  std::array<uint64_t, kMaxVgprs> whole_{};  // of these, those that have nothing but such bits
  std::vector<uint32_t> bits_;               // of the others, by register and lane
  std::array<uint32_t, kScalars> scalars_{};
  RegisterSet has_origin_;  // of the others it is the register itself
  std::array<Origin, 2 * kMaxVgprs> origins_{};
  MemoryShadow scratch_;
};

}  // namespace lockstep::observe

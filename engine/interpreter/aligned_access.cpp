// Loads and stores where the device aligns addresses or tells of those that are not (alignment modes other
// than UNALIGNED, guide 3.3.3, 3.3.4.1, 9.5), or tells of LDS addresses out of range (12.7). They take the
// places of the usual handlers, lane by lane, so that these need not ask.
#include "engine/interpreter/aligned_access.h"

#include <bit>

#include "engine/interpreter/common.h"
#include "engine/interpreter/flat_address.h"
#include "engine/interpreter/lane_access.h"
#include "engine/interpreter/lane_address.h"
#include "memory/access_modes.h"

namespace lockstep::interpreter {
namespace {

using isa::AccessShape;
using memory::AlignmentMode;

// An instruction and the registers of its lanes. Each function that accesses returns false if the wave has
// faulted.
class Access {
 public:
  Access(const Operation* op, Wave* wave, int64_t budget)
      : op_(op),
        wave_(wave),
        budget_(budget),
        shape_(isa::access_shape(op->instruction->row->opcode)),
        modes_(context_of(wave)->modes) {}

  const AccessShape& shape() const { return shape_; }

  bool memory(unsigned lane, uint64_t address) {
    if (!align(lane, address, memory::memory_alignment(modes_.alignment, shape_.bytes))) return false;
    if (is_load()) {
      const std::byte* from = readable(op_, wave_, address, shape_.bytes);
      if (!from) return refuse(lane, address);
      load(op_->dst, lane, from);
    } else {
      std::byte* to = writable(op_, wave_, address, shape_.bytes);
      if (!to) return refuse(lane, address);
      store(op_->source[1], lane, to);
    }
    return true;
  }

  // Scratch may be misaligned (guide 11.1.3, 11.3), so it is never reported; mode DWORD aligns it as all else
  // (3.3.3).
  bool scratch(unsigned lane, uint32_t offset) {
    if (modes_.alignment == AlignmentMode::dword)
      offset &= ~(memory::memory_alignment(modes_.alignment, shape_.bytes) - 1);
    uint32_t words[4] = {};
    auto* bytes = reinterpret_cast<std::byte*>(words);
    if (!is_load()) take_words(op_->source[1], lane, words);
    if (!(is_load() ? load_scratch(op_, wave_, lane, offset, shape_.bytes, bytes)
                    : store_scratch(op_, wave_, lane, offset, shape_.bytes, bytes))) {
      raise_scratch_violation(op_, wave_, budget_, static_cast<int>(lane), offset, shape_.bytes,
                              is_load() ? kRead : kWrite);
      return false;
    }
    if (is_load()) place_loaded(wave_, op_->dst, lane, shape_, words);
    return true;
  }

  // The one or two LDS addresses of a lane.
  bool lds(unsigned lane, const uint32_t (&given)[2]) {
    uint64_t at[2];
    bool inside[2];
    for (unsigned i = 0; i < shape_.addresses; ++i) {
      at[i] = given[i];
      if (!align(lane, at[i], memory::lds_alignment(modes_.alignment, shape_.bytes))) return false;
      inside[i] = in_lds(wave_, at[i], shape_.bytes);
      if (!inside[i] && modes_.reports_lds_out_of_range) {
        raise_lds_violation(op_, wave_, budget_, static_cast<int>(lane), static_cast<uint32_t>(at[i]),
                            shape_.bytes, is_load() ? kRead : kWrite);
        return false;
      }
    }
    static constexpr std::byte kZeros[16] = {};
    for (unsigned i = 0; i < shape_.addresses; ++i) {
      if (is_load())
        load(op_->dst + i * shape_.registers() * wave_->register_bytes, lane,
             inside[i] ? wave_->lds + at[i] : kZeros);
      else if (inside[i])
        store(op_->source[1 + i], lane, wave_->lds + at[i]);
    }
    return true;
  }

  // FLAT reports what it finds out of range in LDS (guide 11.3).
  bool shared_aperture(unsigned lane, uint64_t address) {
    uint64_t at = static_cast<uint32_t>(address);
    if (!align(lane, at, memory::lds_alignment(modes_.alignment, shape_.bytes))) return false;
    if (!in_lds(wave_, at, shape_.bytes)) return refuse(lane, address);
    return lds(lane, {static_cast<uint32_t>(at), 0});
  }

 private:
  bool is_load() const { return shape_.kind == AccessShape::Kind::load; }

  bool align(unsigned lane, uint64_t& address, uint32_t alignment) {
    if (address % alignment == 0) return true;
    if (!memory::is_strict(modes_.alignment)) {
      address -= address % alignment;
      return true;
    }
    raise_misaligned_access(op_, wave_, budget_, static_cast<int>(lane), address, shape_.bytes, alignment);
    return false;
  }
  bool refuse(unsigned lane, uint64_t address) {
    raise_memory_violation(op_, wave_, budget_, static_cast<int>(lane), address, shape_.bytes,
                           is_load() ? kRead : kWrite);
    return false;
  }

  void load(uint32_t destination, unsigned lane, const std::byte* from) {
    uint32_t words[4] = {};
    __builtin_memcpy(words, from, shape_.bytes);
    place_loaded(wave_, destination, lane, shape_, words);
  }
  void take_words(uint32_t source, unsigned lane, uint32_t* words) {
    take_stored(wave_, source, lane, shape_, words);
  }
  void store(uint32_t source, unsigned lane, std::byte* to) {
    uint32_t words[4];
    take_stored(wave_, source, lane, shape_, words);
    __builtin_memcpy(to, words, shape_.bytes);
  }

  const Operation* const op_;
  Wave* const wave_;
  const int64_t budget_;
  const AccessShape shape_;
  const memory::AccessModes modes_;
};

template <Space space>
void access_global(const Operation* op, Wave* wave, int64_t budget) {
  Access access(op, wave, budget);
  const GlobalAddress address(op, wave);
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t at = memory_address(address, wave, lane, access.shape());
    const bool good = space == Space::flat && in_shared_aperture(at) ? access.shared_aperture(lane, at)
                      : space == Space::flat && in_private_aperture(at)
                          ? access.scratch(lane, static_cast<uint32_t>(at))
                          : access.memory(lane, at);
    if (!good) return;
  }
  LOCKSTEP_NEXT();
}

void access_scratch(const Operation* op, Wave* wave, int64_t budget) {
  Access access(op, wave, budget);
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (!access.scratch(lane, scratch_offset_of_lane(op, wave, lane))) return;
  }
  LOCKSTEP_NEXT();
}

void access_lds(const Operation* op, Wave* wave, int64_t budget) {
  Access access(op, wave, budget);
  const AccessShape& shape = access.shape();
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint32_t first = data_share_address(op, wave, lane, shape, 0);
    const uint32_t second = shape.addresses == 2 ? data_share_address(op, wave, lane, shape, 1) : 0;
    const bool good = access.lds(lane, {first, second});
    if (!good) return;
  }
  LOCKSTEP_NEXT();
}

}  // namespace

void register_aligned_access(HandlerTable& table) {
  for (const isa::Row& row : isa::rows()) {
    const AccessShape::Kind kind = isa::access_shape(row.opcode).kind;
    if (kind != AccessShape::Kind::load && kind != AccessShape::Kind::store) continue;
    Handler& entry = table.other[static_cast<size_t>(row.opcode)];
    if (row.encoding == isa::Encoding::flat) entry = &access_global<Space::flat>;
    if (row.encoding == isa::Encoding::global) entry = &access_global<Space::global>;
    if (row.encoding == isa::Encoding::scratch) entry = &access_scratch;
    if (row.encoding == isa::Encoding::ds) entry = &access_lds;
  }
}

}  // namespace lockstep::interpreter

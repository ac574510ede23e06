#include "engine/interpreter/account.h"

#include <algorithm>
#include <array>
#include <bit>

#include "engine/interpreter/lane_address.h"
#include "engine/interpreter/predecode.h"
#include "memory/access_modes.h"
#include "memory/formats.h"
#include "numeric/lanes.h"

namespace lockstep::interpreter {
namespace {

using isa::AccessShape;
using isa::Encoding;
using isa::Opcode;

// Where lanes that have no VGPR for it reach: 4 bytes from each other, or all the same.
constexpr std::array<uint32_t, AlikeAccesses::kMostLanes> kNone{};
constexpr auto kOfLanes = [] {
  std::array<uint32_t, AlikeAccesses::kMostLanes> bytes{};
  for (uint32_t lane = 0; lane < bytes.size(); ++lane) bytes[lane] = 4 * lane;
  return bytes;
}();

class Account {
 public:
  Account(const Operation* op, Wave* wave, Accesses& list)
      : op_(op),
        wave_(wave),
        shape_(isa::access_shape(op->instruction->row->opcode)),
        modes_(context_of(wave)->modes),
        list_(list) {}

  void collect() {
    if (wave_->exec() != 0 && collect_as_one()) return;
    list_.clear();
    switch (op_->instruction->row->encoding) {
      case Encoding::smem:
        if (shape_) scalar();
        break;
      case Encoding::flat:
      case Encoding::global:
        if (shape_) global();
        break;
      case Encoding::scratch:
        each_lane([&](unsigned lane) { scratch(lane, scratch_offset_of_lane(op_, wave_, lane)); });
        break;
      case Encoding::mubuf:
      case Encoding::mtbuf:
        if (shape_) buffer();
        break;
      case Encoding::ds:
        data_share();
        break;
      case Encoding::ldsdir:
        direct();
        break;
      default:
        break;
    }
  }

 private:
  // Lanes mostly reach one range, and then need not be asked one by one. False: they must.
  bool collect_as_one() {
    if (!shape_) return false;
    const bool is_atomic = shape_.kind == AccessShape::Kind::atomic;
    const bool is_unaligned = modes_.alignment == memory::AlignmentMode::unaligned;
    const isa::Instruction& instruction = *op_->instruction;
    switch (instruction.row->encoding) {
      case Encoding::flat:
      case Encoding::global: {
        if (!is_unaligned && !is_atomic) return false;
        const GlobalAddress address(op_, wave_);
        AlikeAccesses& alike = begin_alike(MemorySpace::global);
        alike.base[0] = address.base;
        if (!shape_.add_lane_id && address.wide) {
          const uint32_t* const high = vgpr_lanes(wave_, address.high);
          const uint32_t its_high = high[alike.first_lane()];
          if (!is_same_in_all(alike, high, its_high)) return false;
          alike.base[0] += uint64_t{its_high} << 32;
        }
        if (!take_offsets(alike, shape_.add_lane_id ? kOfLanes.data() : vgpr_lanes(wave_, address.low), 0))
          return false;
        // They lie in two apertures at most, since offsets have 32 bits.
        const bool is_elsewhere = instruction.row->encoding == Encoding::flat &&
                                  (in_aperture(alike.first) || in_aperture(alike.end - 1));
        return !is_elsewhere && reach_of(alike.first, alike.end - alike.first) == Reach::inside;
      }
      case Encoding::scratch: {
        if (!is_unaligned || is_atomic) return false;
        AlikeAccesses& alike = begin_alike(MemorySpace::scratch);
        const uint32_t* const of_lanes =
            op_->source_flags & kHasAddress ? vgpr_lanes(wave_, op_->source[0]) : kNone.data();
        return take_offsets(alike, of_lanes, scratch_offset(op_, wave_)) &&
               alike.end <= wave_->scratch_bytes &&
               in_given_scratch(wave_, static_cast<uint32_t>(alike.first),
                                static_cast<uint32_t>(alike.end - alike.first));
      }
      case Encoding::ds: {
        if ((!is_unaligned && !is_atomic) || instruction.gds || is_count() ||
            instruction.row->opcode == Opcode::ds_bvh_stack_rtn_b32)
          return false;
        const DataShareAddress address(op_, wave_, shape_);
        AlikeAccesses& alike = begin_alike(MemorySpace::lds);
        alike.each = shape_.addresses;
        alike.base[0] = address.first;
        alike.base[1] = address.second;
        const uint32_t* const of_lanes = address.lanes       ? address.lanes
                                         : address.step != 0 ? kOfLanes.data()
                                                             : kNone.data();
        // Sums that do not fit into 32 bits lie behind the end here.
        return take_offsets(alike, of_lanes, 0) && alike.end <= wave_->lds_bytes &&
               (!is_atomic || is_aligned(alike, shape_.bytes));
      }
      default:
        return false;
    }
  }

  AlikeAccesses& begin_alike(MemorySpace space) {
    AlikeAccesses& alike = list_.make_alike();
    alike.space = space;
    alike.reads = shape_.reads();
    alike.writes = shape_.writes();
    alike.bytes = shape_.bytes;
    alike.lanes = wave_->exec();
    alike.each = 1;
    alike.base = {};
    return alike;
  }
  bool is_same_in_all(const AlikeAccesses& alike, const uint32_t* lanes, uint32_t value) const {
    uint32_t differs = 0;
    if (alike.lanes == wave_->lane_mask)
      for (unsigned lane = 0; lane < wave_->wave_size; ++lane) differs |= lanes[lane] ^ value;
    else
      each_lane([&](unsigned lane) { differs |= lanes[lane] ^ value; });
    return differs == 0;
  }
  // What each lane has, and what all have in common. False: the accesses do not lie between the first and the
  // last one, since an address has come around.
  bool take_offsets(AlikeAccesses& alike, const uint32_t* of_lanes, uint32_t common) const {
    const auto [least, greatest] = copy_offsets(alike, of_lanes, common, wave_->wave_size);
    alike.is_uniform = least == greatest;
    const auto [low, high] = std::minmax(alike.base[0], alike.base[alike.each - 1]);
    alike.first = low + least;
    alike.end = high + greatest + alike.bytes;
    return alike.first < alike.end && alike.first >= low && high + greatest >= high;
  }
  struct Ends {
    uint32_t least, greatest;
  };
  // Every host that this runs on has the instructions (the handlers are compiled for them).
  [[gnu::target("arch=x86-64-v3")]] static Ends copy_offsets(AlikeAccesses& alike, const uint32_t* of_lanes,
                                                             uint32_t common, unsigned wave_size) {
    const U32 of_others = U32{} + (of_lanes[alike.first_lane()] + common);
    U32 least = of_others, greatest = of_others;
    for (unsigned first = 0; first < AlikeAccesses::kMostLanes; first += kLanesPerChunk) {
      U32 chunk = of_others;
      if (first < wave_size) {
        const U32 on = U32{} + static_cast<uint32_t>(alike.lanes >> first);
        U32 own;
        __builtin_memcpy(&own, of_lanes + first, sizeof own);
        chunk = (on >> lane_numbers() & 1) != 0 ? own + common : of_others;
        least = __builtin_elementwise_min(least, chunk);
        greatest = __builtin_elementwise_max(greatest, chunk);
      }
      __builtin_memcpy(&alike.offset[first], &chunk, sizeof chunk);
    }
    return {__builtin_reduce_min(least), __builtin_reduce_max(greatest)};
  }
  static bool is_aligned(const AlikeAccesses& alike, uint32_t alignment) {
    uint32_t bits = 0;
    for (uint64_t left = alike.lanes; left != 0; left &= left - 1)
      for (unsigned i = 0; i < alike.each; ++i)
        bits |= static_cast<uint32_t>(alike.address(static_cast<unsigned>(std::countr_zero(left)), i));
    return (bits & (alignment - 1)) == 0;
  }

  template <class Function>
  void each_lane(Function function) const {
    for (uint64_t lanes = wave_->exec(); lanes != 0; lanes &= lanes - 1)
      function(static_cast<unsigned>(std::countr_zero(lanes)));
  }

  void add(MemorySpace space, int lane, uint64_t address, uint32_t bytes, Reach reach, bool reads,
           bool writes) {
    list_.add({address, bytes, static_cast<int16_t>(lane), space, reach, reads, writes});
  }
  void add(MemorySpace space, int lane, uint64_t address, uint32_t bytes, Reach reach) {
    add(space, lane, address, bytes, reach, shape_.reads(), shape_.writes());
  }

  // Where the device does not take an address as it is.
  bool align(uint64_t& address, uint32_t alignment) const {
    if (address % alignment == 0) return true;
    if (memory::is_strict(modes_.alignment)) return false;
    address -= address % alignment;
    return true;
  }

  Reach reach_of(uint64_t address, uint64_t bytes) const {
    const Access access = shape_.reads() && shape_.writes() ? kReadWrite : shape_.writes() ? kWrite : kRead;
    return reach_in_memory(op_, wave_, address, bytes, access);
  }
  void add_memory(MemorySpace space, int lane, uint64_t address, uint32_t bytes, uint32_t alignment) {
    const bool is_taken = align(address, alignment);
    add(space, lane, address, bytes, is_taken ? reach_of(address, bytes) : Reach::refused);
  }

  void scalar() {
    if (!op_->instruction->find(isa::Role::resource)) {
      const uint64_t address = scalar_load_address(op_, wave_);
      add(MemorySpace::scalar, -1, address, shape_.bytes, reach_of(address, shape_.bytes));
      return;
    }
    const ScalarBufferAddress address(op_, wave_);
    for (unsigned i = 0; i < shape_.bytes / 4u; ++i) {
      const uint64_t at = address.of_dword(i);
      const Reach reach = op_->offset < 0         ? Reach::refused
                          : !address.has_dword(i) ? Reach::dropped
                                                  : reach_of(at, 4);
      add(MemorySpace::scalar, -1, at, 4, reach);
    }
  }

  void global() {
    const bool is_flat = op_->instruction->row->encoding == Encoding::flat;
    const GlobalAddress address(op_, wave_);
    const uint32_t alignment = shape_.kind == AccessShape::Kind::atomic
                                   ? 1
                                   : memory::memory_alignment(modes_.alignment, shape_.bytes);
    each_lane([&](unsigned lane) {
      const uint64_t at = memory_address(address, wave_, lane, shape_);
      if (is_flat && in_private_aperture(at))
        scratch(lane, static_cast<uint32_t>(at));
      else if (is_flat && in_shared_aperture(at))
        lds(MemorySpace::lds, static_cast<int>(lane), static_cast<uint32_t>(at),
            // Atomics drop what FLAT reports of loads and stores (guide 11.3).
            shape_.kind == AccessShape::Kind::atomic ? Reach::dropped : Reach::refused);
      else
        add_memory(MemorySpace::global, static_cast<int>(lane), at, shape_.bytes, alignment);
    });
  }

  void scratch(unsigned lane, uint32_t offset) {
    if (modes_.alignment == memory::AlignmentMode::dword)
      offset &= ~(memory::memory_alignment(modes_.alignment, shape_.bytes) - 1);
    MemoryAccess access{
        offset,         shape_.bytes,   static_cast<int16_t>(lane), MemorySpace::scratch, Reach::inside,
        shape_.reads(), shape_.writes()};
    const bool is_atomic = shape_.kind == AccessShape::Kind::atomic;
    if (is_atomic && shape_.bytes != 4) {
      access.reach = Reach::refused;
    } else if (!in_given_scratch(wave_, offset, shape_.bytes)) {
      if (!goes_beyond_scratch(wave_, !shape_.writes()))
        access.reach = Reach::refused;
      else
        each_scratch_part(*wave_, access, [&](uint64_t address, uint32_t bytes) {
          if (const Reach reach = reach_of(address, bytes); reach != Reach::inside) access.reach = reach;
        });
    }
    list_.add(access);
  }

  void lds(MemorySpace space, int lane, uint64_t address, Reach outside) {
    const bool is_atomic = shape_.kind == AccessShape::Kind::atomic;
    const uint32_t alignment = is_atomic ? 1 : memory::lds_alignment(modes_.alignment, shape_.bytes);
    Reach reach = Reach::inside;
    if (!align(address, alignment) || (is_atomic && address % shape_.bytes != 0))
      reach = Reach::refused;
    else if (space == MemorySpace::gds
                 ? !in_gds(wave_, static_cast<uint32_t>(address), shape_.bytes, is_count())
                 : !in_lds(wave_, address, shape_.bytes))
      reach = outside;
    add(space, lane, address, shape_.bytes, reach);
  }
  Reach outside_lds() const { return modes_.reports_lds_out_of_range ? Reach::refused : Reach::dropped; }

  bool is_count() const {
    const Opcode opcode = op_->instruction->row->opcode;
    return opcode == Opcode::ds_append || opcode == Opcode::ds_consume;
  }

  void data_share() {
    if (op_->instruction->row->opcode == Opcode::ds_bvh_stack_rtn_b32) {
      // Which of its dwords depends on what is there.
      each_lane([&](unsigned lane) {
        const StackRing ring = stack_ring(op_, wave_, lane);
        add(MemorySpace::lds, static_cast<int>(lane), ring.base, ring.bytes,
            in_lds(wave_, ring.base, ring.bytes) ? Reach::inside : Reach::dropped, true, true);
      });
      return;
    }
    if (!shape_) return;
    const MemorySpace space = op_->instruction->gds ? MemorySpace::gds : MemorySpace::lds;
    if (is_count()) {
      if (space == MemorySpace::gds && wave_->exec() == 0) return;
      lds(space, -1, data_share_address(op_, wave_, 0, shape_, 0), outside_lds());
      return;
    }
    // GDS serves the first active lane alone (guide 12.6).
    uint64_t lanes = wave_->exec();
    if (space == MemorySpace::gds) lanes &= -lanes;
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      for (unsigned i = 0; i < shape_.addresses; ++i)
        lds(space, static_cast<int>(lane), data_share_address(op_, wave_, lane, shape_, i),
            space == MemorySpace::gds ? Reach::dropped : outside_lds());
    }
  }

  void direct() {
    const auto add_dword = [&](int lane, uint64_t address) {
      add(MemorySpace::lds, lane, address, 4, in_lds(wave_, address, 4) ? Reach::inside : outside_lds(), true,
          false);
    };
    if (op_->instruction->row->opcode == Opcode::lds_direct_load)
      return add_dword(-1, direct_load_address(wave_));
    each_parameter_quad(op_, wave_, [&](uint32_t first_lane, uint64_t address) {
      for (uint32_t vertex = 0; vertex < 3; ++vertex)
        add_dword(static_cast<int>(first_lane + vertex), address + vertex * kVertexBytes);
    });
  }

  void buffer() {
    const bool typed = op_->instruction->row->encoding == Encoding::mtbuf;
    const bool is_atomic = shape_.kind == AccessShape::Kind::atomic;
    const BufferAddress address(op_, wave_);
    const bool is_unbound = address.resource.is_unbound() && !(typed && !is_atomic);
    uint32_t bytes = shape_.bytes, step = 4;  // checked dword by dword (guide 9.4.1)
    if (shape_.format_components != 0)
      bytes = step = memory::data_format(typed ? op_->instruction->format : address.resource.format).bytes;
    else if (is_atomic)
      step = bytes;
    each_lane([&](unsigned lane) {
      const memory::BufferAccess whole = address.of_lane(op_, wave_, lane);
      for (uint32_t done = 0; done < bytes && !is_unbound; done += step) {
        memory::BufferAccess at = whole;
        at.offset += done;
        const uint32_t part = std::min(step, bytes - done);
        const uint64_t where = memory::buffer_address(address.resource, at, address.sgpr_offset);
        if (!memory::is_in_range(address.resource, at, part, address.sgpr_offset)) {
          add(MemorySpace::global, static_cast<int>(lane), where, part, Reach::dropped);
          continue;
        }
        const uint32_t alignment = is_atomic ? 1
                                   : shape_.format_components != 0
                                       ? memory::format_alignment(modes_.alignment, part)
                                       // The first part's address is that of the whole.
                                       : memory::memory_alignment(modes_.alignment, done == 0 ? bytes : part);
        add_memory(MemorySpace::global, static_cast<int>(lane), where, part, alignment);
      }
      if (shape_.to_lds) {
        const uint32_t at = BufferAddress::in_lds(op_, wave_, lane);
        add(MemorySpace::lds, static_cast<int>(lane), at, 4,
            in_lds(wave_, at, 4) ? Reach::inside : Reach::dropped, false, true);
      }
    });
  }

  const Operation* const op_;
  Wave* const wave_;
  const AccessShape& shape_;
  const memory::AccessModes& modes_;
  Accesses& list_;
};

}  // namespace

void find_accesses(const Operation* first, Wave* wave, Accesses& accesses) {
  const Encoding encoding = first->instruction->row->encoding;
  if (encoding != Encoding::smem && encoding < Encoding::ldsdir) return accesses.clear();
  // The last operation accesses memory; those before it prepare its sources, and do so again when they are
  // executed.
  const Operation* op = first;
  for (const Operation* next = next_of(op); next->pc == first->pc; next = next_of(op)) {
    prepare_sources(op, wave);
    op = next;
  }
  if (does_nothing(op)) return accesses.clear();
  Account(op, wave, accesses).collect();
}

}  // namespace lockstep::interpreter

#include "engine/interpreter/memory_access.h"

#include <algorithm>
#include <optional>

#include "engine/interpreter/account.h"
#include "engine/interpreter/flat_address.h"
#include "engine/interpreter/memory_view.h"
#include "text/hex.h"

namespace lockstep::interpreter {

namespace {

// Without a range list all that a process can address is the guest's, but for page 0.
constexpr uint64_t kLowestAddress = 4096, kHighestAddress = uint64_t{1} << 47;

// Says where the address lies relative to what is mapped, which is what a user needs to find the bug.
std::string surroundings(const Wave* wave, uint64_t address, Access access) {
  if (in_shared_aperture(address))
    return "that is in the shared aperture, and the work-group has " + std::to_string(wave->lds_bytes) +
           " bytes of LDS";
  if (in_private_aperture(address))
    return "that is in the private aperture, and the work-item has " + std::to_string(wave->scratch_bytes) +
           " bytes of scratch, which take atomics of 4 bytes only";
  const RangeSet* memory = context_of(wave)->memory;
  if (!memory) return "the process has no memory there";
  const std::optional<Range> below = memory->nearest(address);
  if (below && address < below->end)
    return (below->access & access) == access
               ? "the access runs past the end of " + below->name + ", which ends at " + hex(below->end)
               : below->name + " may not be " + (access == kRead ? "read" : "written") + " by the kernel";
  const auto place = [](const Range& range) {
    return range.name + " [" + hex(range.begin) + ", " + hex(range.end) + ")";
  };
  // Such as an element before the first one.
  if (const auto behind = memory->closest_behind(address))
    return hex(behind->begin - address) + " bytes in front of " + place(*behind);
  if (below && address - below->end > RangeSet::kFar)
    return "far from all memory that is mapped: the closest below is " + place(*below);
  if (below)
    return (address == below->end ? "right" : hex(address - below->end) + " bytes") + " behind the end of " +
           place(*below);
  return address < kLowestAddress ? "a null pointer, or a place right behind one: no memory is mapped there"
                                  : "no memory is mapped at or below it";
}

// The mapped range that holds the access, if the guest may make it.
std::optional<CachedRange> range_of(const Wave* wave, uint64_t address, uint64_t bytes, Access access) {
  const RangeSet* memory = context_of(wave)->memory;
  if (!memory) {
    const CachedRange process{kLowestAddress, kHighestAddress};
    return holds(process, address, bytes) ? std::optional(process) : std::nullopt;
  }
  const Range* range = memory->find(address, bytes, access);
  return range ? std::optional(CachedRange{range->begin, range->end}) : std::nullopt;
}

// Compilers read whole aligned blocks of memory that they only know the begin of to be there: on the card it
// comes in pages. So the bytes that fill up the last block of 16 of a range can be read: zeros, or what the
// neighbour has there.
bool is_filled_up(const Wave* wave, uint64_t address, uint64_t bytes) {
  constexpr uint64_t kBlock = 16;
  const RangeSet* memory = context_of(wave)->memory;
  const std::optional<Range> range = memory ? memory->nearest(address) : std::nullopt;
  if (!range || !(range->access & kRead) || bytes > MemoryView::kWidestAccess) return false;
  const uint64_t filled_up = (range->end + kBlock - 1) / kBlock * kBlock;
  return address < filled_up && filled_up - address >= bytes;
}

// Null if that does not explain the access; else a copy, valid until the next one.
const std::byte* read_filled_up(const Operation* op, Wave* wave, uint64_t address, uint64_t bytes) {
  if (!is_filled_up(wave, address, bytes)) return nullptr;
  const RangeSet* memory = context_of(wave)->memory;
  alignas(64) static thread_local std::byte copy[MemoryView::kWidestAccess];
  std::fill_n(copy, bytes, std::byte{});
  for (uint64_t at = address; at < address + bytes;) {
    const std::optional<Range> part = memory->nearest(at);
    const uint64_t end = part ? std::min(address + bytes, part->end) : at;
    if (at >= end || !(part->access & kRead)) {
      ++at;
      continue;
    }
    const std::byte* from = find_memory(op, wave, at, end - at, kRead);
    if (!from) return nullptr;  // unmapped meanwhile
    std::copy_n(from, end - at, copy + (at - address));
    at = end;
  }
  return copy;
}

// Calls `part(address, offset in the element, bytes)` for each piece of a lane's element that lies in one
// dword of scratch; false as soon as one call is.
template <class Function>
bool each_part_of_scratch(const Wave* wave, unsigned lane, uint32_t offset, uint32_t bytes, Function part) {
  for (uint32_t done = 0; done < bytes;) {
    const uint32_t at = offset + done, count = std::min(4 - at % 4, bytes - done);
    if (!part(scratch_address(wave, at, lane), done, count)) return false;
    done += count;
  }
  return true;
}

bool is_scratch_moved(const Wave* wave) {
  return wave->scratch_base != wave->given_scratch_base;
}

}  // namespace

std::byte* find_memory(const Operation* op, Wave* wave, uint64_t address, uint64_t bytes, Access access) {
  const std::optional<CachedRange> range = range_of(wave, address, bytes, access);
  if (!range) {
    if (access != kRead) return nullptr;
    return const_cast<std::byte*>(read_filled_up(op, wave, address, bytes));
  }
  const CachedRange found = *range;
  if (MemoryView* view = wave->memory_view) {
    if (access == kReadWrite) return view->modify(*op->instruction, address, bytes);
    if (access == kWrite) return view->write(*op->instruction, address, bytes);
    return const_cast<std::byte*>(view->read(*op->instruction, address, bytes, found));
  }
  if (access & kRead) wave->read_ranges[range_slot(op)] = found;
  if (access & kWrite) wave->write_ranges[range_slot(op)] = found;
  return reinterpret_cast<std::byte*>(address);
}

Reach reach_in_memory(const Operation* op, const Wave* wave, uint64_t address, uint64_t bytes,
                      Access access) {
  const unsigned slot = range_slot(op);
  const bool is_cached = (!(access & kRead) || holds(wave->read_ranges[slot], address, bytes)) &&
                         (!(access & kWrite) || holds(wave->write_ranges[slot], address, bytes));
  if (is_cached || range_of(wave, address, bytes, access)) return Reach::inside;
  return access == kRead && is_filled_up(wave, address, bytes) ? Reach::filled_up : Reach::refused;
}

bool goes_beyond_scratch(const Wave* wave, bool is_load) {
  if (is_scratch_moved(wave)) return true;
  const RangeSet* memory = context_of(wave)->memory;
  return is_load && memory && wave->scratch_bytes != 0 && memory->find(wave->scratch_base, 4, kRead);
}

bool load_scratch(const Operation* op, Wave* wave, unsigned lane, uint32_t offset, uint32_t bytes,
                  std::byte* to) {
  const bool given = in_given_scratch(wave, offset, bytes);
  if (!given && !goes_beyond_scratch(wave, true)) return false;
  return each_part_of_scratch(wave, lane, offset, bytes,
                              [&](uint64_t address, uint32_t done, uint32_t count) {
                                const std::byte* from = given || in_given_scratch(wave, offset + done, count)
                                                            ? reinterpret_cast<const std::byte*>(address)
                                                            : readable(op, wave, address, count);
                                if (from) std::copy_n(from, count, to + done);
                                return from != nullptr;
                              });
}

bool store_scratch(const Operation* op, Wave* wave, unsigned lane, uint32_t offset, uint32_t bytes,
                   const std::byte* from) {
  const bool given = in_given_scratch(wave, offset, bytes);
  const auto may_write = [&](uint64_t address, uint32_t, uint32_t count) {
    return range_of(wave, address, count, kWrite).has_value();
  };
  if (!given && !(is_scratch_moved(wave) && each_part_of_scratch(wave, lane, offset, bytes, may_write)))
    return false;
  return each_part_of_scratch(
      wave, lane, offset, bytes, [&](uint64_t address, uint32_t done, uint32_t count) {
        std::byte* to = given ? reinterpret_cast<std::byte*>(address) : writable(op, wave, address, count);
        if (to) std::copy_n(from + done, count, to);
        return to != nullptr;
      });
}

std::byte* modifiable_scratch(const Operation* op, Wave* wave, unsigned lane, uint32_t offset) {
  const uint64_t address = scratch_address(wave, offset, lane);
  if (in_given_scratch(wave, offset, 4)) return reinterpret_cast<std::byte*>(address);
  return is_scratch_moved(wave) ? modifiable(op, wave, address, 4) : nullptr;
}

namespace {

// Of one lane's access; `what` goes on behind "at ".
void raise_access(FaultKind kind, const Operation* op, Wave* wave, int64_t budget, int lane, const char* name,
                  uint64_t address, uint32_t bytes, const std::string& what) {
  Fault fault;
  fault.kind = kind;
  fault.lane = lane;
  fault.address = address;
  fault.bytes = bytes;
  fault.message = std::string(name) + " of " + std::to_string(bytes) + " bytes at " + what;
  raise(op, wave, budget, std::move(fault));
}

const char* name_of(Access access) {
  return access == kRead ? "read" : "write";
}

}  // namespace

void raise_memory_violation(const Operation* op, Wave* wave, int64_t budget, int lane, uint64_t address,
                            uint32_t bytes, Access access) {
  raise_access(FaultKind::memory_violation, op, wave, budget, lane, name_of(access), address, bytes,
               hex(address) + ": " + surroundings(wave, address, access));
}

void raise_misaligned(const Operation* op, Wave* wave, int64_t budget, int lane, uint64_t address,
                      uint32_t bytes) {
  raise_access(FaultKind::misaligned, op, wave, budget, lane, "atomic", address, bytes,
               hex(address) + ", which is not a multiple of " + std::to_string(bytes));
}

void raise_misaligned_access(const Operation* op, Wave* wave, int64_t budget, int lane, uint64_t address,
                             uint32_t bytes, uint32_t alignment) {
  raise_access(FaultKind::misaligned, op, wave, budget, lane, "access", address, bytes,
               hex(address) + ", which is not a multiple of " + std::to_string(alignment) +
                   ": the device's alignment mode is " + memory::name_of(context_of(wave)->modes.alignment));
}

void raise_lds_violation(const Operation* op, Wave* wave, int64_t budget, int lane, uint32_t offset,
                         uint32_t bytes, Access access) {
  raise_access(FaultKind::memory_violation, op, wave, budget, lane, name_of(access), offset, bytes,
               "LDS offset " + hex(offset) + ": the work-group has " + std::to_string(wave->lds_bytes) +
                   " bytes of LDS, and the device reports what is beyond");
}

void raise_scratch_violation(const Operation* op, Wave* wave, int64_t budget, int lane, uint32_t offset,
                             uint32_t bytes, Access access) {
  uint64_t address = offset;
  std::string why;
  if (is_scratch_moved(wave)) {
    each_part_of_scratch(wave, static_cast<unsigned>(lane), offset, bytes,
                         [&](uint64_t part, uint32_t, uint32_t count) {
                           if (range_of(wave, part, count, access)) return true;
                           address = part;
                           return false;
                         });
    why = "the trap handler set FLAT_SCRATCH to " + hex(wave->scratch_base) + ", which puts that at " +
          hex(address) + ", and " + surroundings(wave, address, access);
  } else {
    why = "the work-item has " + std::to_string(wave->scratch_bytes) +
          " bytes of scratch; is the stack too small?";
  }
  raise_access(FaultKind::memory_violation, op, wave, budget, lane, name_of(access), address, bytes,
               "scratch offset " + hex(offset) + ": " + why);
}

void raise(const Operation* op, Wave* wave, int64_t budget, Fault fault) {
  fault.pc = op->pc;
  wave->fault = std::move(fault);
  leave(wave, op->pc, budget, WaveState::faulted);
}

}  // namespace lockstep::interpreter

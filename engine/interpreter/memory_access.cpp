#include "engine/interpreter/memory_access.h"

#include <cinttypes>
#include <cstdio>

#include "engine/interpreter/flat_address.h"
#include "engine/interpreter/memory_view.h"

namespace lockstep::interpreter {

namespace {

// Without a range list all that a process can address is the guest's, but for page 0.
constexpr uint64_t kLowestAddress = 4096, kHighestAddress = uint64_t{1} << 47;

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

// Says where the address lies relative to what is mapped, which is what a user needs to find the bug.
std::string surroundings(const Wave* wave, uint64_t address, Access access) {
  const RangeSet* memory = context_of(wave)->memory;
  if (!memory) return "the process has no memory there";
  const Range* below = memory->nearest(address);
  if (below && address < below->end)
    return (below->access & access) == access
               ? "the access runs past the end of " + below->name + ", which ends at " + hex(below->end)
               : below->name + " may not be " + (access == kRead ? "read" : "written") + " by the kernel";
  if (below)
    return hex(address - below->end) + " bytes behind the end of " + below->name + " [" + hex(below->begin) +
           ", " + hex(below->end) + ")";
  return "no memory is mapped at or below it";
}

}  // namespace

std::byte* find_memory(const Operation* op, Wave* wave, uint64_t address, uint64_t bytes, Access access) {
  CachedRange found{kLowestAddress, kHighestAddress};
  if (const RangeSet* memory = context_of(wave)->memory) {
    const Range* range = memory->find(address, bytes, access);
    if (!range) return nullptr;
    found = {range->begin, range->end};
  } else if (!holds(found, address, bytes)) {
    return nullptr;
  }
  if (MemoryView* view = wave->memory_view) {
    if (access == kReadWrite) return view->modify(*op->instruction, address, bytes);
    if (access == kWrite) return view->write(*op->instruction, address, bytes);
    return const_cast<std::byte*>(view->read(*op->instruction, address, bytes, found));
  }
  if (access & kRead) wave->read_ranges[range_slot(op)] = found;
  if (access & kWrite) wave->write_ranges[range_slot(op)] = found;
  return reinterpret_cast<std::byte*>(address);
}

void raise_memory_violation(const Operation* op, Wave* wave, int64_t budget, int lane, uint64_t address,
                            uint32_t bytes, Access access) {
  Fault fault;
  fault.kind = FaultKind::memory_violation;
  fault.lane = lane;
  fault.address = address;
  fault.bytes = bytes;
  fault.message = std::string(access == kRead ? "read" : "write") + " of " + std::to_string(bytes) +
                  " bytes at " + hex(address) + ": " + surroundings(wave, address, access);
  raise(op, wave, budget, std::move(fault));
}

void raise_misaligned(const Operation* op, Wave* wave, int64_t budget, int lane, uint64_t address,
                      uint32_t bytes) {
  Fault fault;
  fault.kind = FaultKind::misaligned;
  fault.lane = lane;
  fault.address = address;
  fault.bytes = bytes;
  fault.message = "atomic of " + std::to_string(bytes) + " bytes at " + hex(address) +
                  ", which is not a multiple of " + std::to_string(bytes);
  raise(op, wave, budget, std::move(fault));
}

void raise_scratch_violation(const Operation* op, Wave* wave, int64_t budget, int lane, uint32_t offset,
                             uint32_t bytes, Access access) {
  Fault fault;
  fault.kind = FaultKind::memory_violation;
  fault.lane = lane;
  fault.address = offset;
  fault.bytes = bytes;
  fault.message = std::string(access == kRead ? "read" : "write") + " of " + std::to_string(bytes) +
                  " bytes at scratch offset " + hex(offset) + ": the work-item has " +
                  std::to_string(wave->scratch_bytes) + " bytes of scratch; is the stack too small?";
  raise(op, wave, budget, std::move(fault));
}

void raise(const Operation* op, Wave* wave, int64_t budget, Fault fault) {
  fault.pc = op->pc;
  wave->fault = std::move(fault);
  leave(wave, op->pc, budget, WaveState::faulted);
}

}  // namespace lockstep::interpreter

#include "observe/memory/memory_checker.h"

#include <algorithm>

#include "text/hex.h"

namespace lockstep::observe {

namespace {

const char* verb(const MemoryAccess& access) {
  return access.reads && access.writes ? "an atomic on" : access.writes ? "writes" : "reads";
}

}  // namespace

bool MemoryChecker::wants(const isa::Instruction& instruction) const {
  const isa::Encoding encoding = instruction.row->encoding;
  return encoding == isa::Encoding::smem || encoding >= isa::Encoding::ldsdir;
}

void MemoryChecker::dispatch_begins(const DispatchEvent& event) {
  std::lock_guard lock(mutex_);
  memories_[event.id] = event.memory;
}

void MemoryChecker::dispatch_ends(const DispatchEvent& event) {
  std::lock_guard lock(mutex_);
  memories_.erase(event.id);
}

void MemoryChecker::memory_unmapped(const Range& range) {
  std::lock_guard lock(mutex_);
  if (freed_.size() == kMostFreed) freed_.erase(freed_.begin());
  freed_.push_back(range);
}

bool MemoryChecker::is_behind_block(const MemoryAccess& access) const {
  if (!blocks_ || (access.space != MemorySpace::global && access.space != MemorySpace::scalar)) return false;
  const std::optional<Blocks::Block> block = blocks_->at(access.address);
  if (!block) return false;
  // Scalar loads may be wider than what the program asked for, as above.
  return access.space == MemorySpace::scalar ? access.address >= block->end()
                                             : access.address + access.bytes > block->end();
}

// Where a trap handler has put scratch it is memory like any other.
bool MemoryChecker::is_beyond_scratch(const Event& event, const MemoryAccess& access) {
  return access.space == MemorySpace::scratch && event.wave.scratch_base == event.wave.given_scratch_base &&
         access.address + access.bytes > event.wave.scratch_bytes;
}

bool MemoryChecker::is_bad(const Event& event, const MemoryAccess& access, Kind& kind) const {
  switch (access.reach) {
    case Reach::inside:
      kind = Kind::behind_block;
      if (is_behind_block(access)) return true;
      kind = Kind::beyond_scratch;
      if (is_beyond_scratch(event, access)) return true;
      kind = Kind::beyond_asked;
      return access.space == MemorySpace::lds && access.address + access.bytes > event.wave.group->lds_bytes;
    case Reach::filled_up:
      // Compilers widen scalar loads to what is aligned; memory comes in pages on the card, so they may.
      kind = Kind::behind_range;
      return access.space != MemorySpace::scalar;
    case Reach::dropped:
      kind = access.space == MemorySpace::lds   ? Kind::dropped_by_lds
             : access.space == MemorySpace::gds ? Kind::dropped_by_gds
                                                : Kind::dropped_by_resource;
      return true;
    case Reach::refused:
      kind = Kind::refused;
      return true;
  }
  return false;
}

std::string MemoryChecker::surroundings(const Event& event, const MemoryAccess& access, Kind kind) const {
  const uint32_t lds_bytes = event.wave.group->lds_bytes;
  if (kind == Kind::dropped_by_lds || kind == Kind::beyond_asked)
    return "the kernel asked for " + std::to_string(lds_bytes) + " bytes of LDS, and offset " +
           hex(access.address) + " is " +
           (access.address >= lds_bytes
                ? std::to_string(access.address - lds_bytes) + " bytes behind them"
                : "inside, but the last of the " + std::to_string(access.bytes) + " bytes is not");
  if (kind == Kind::beyond_scratch)
    return "the work-item has " + std::to_string(event.wave.scratch_bytes) +
           " bytes of scratch, and the access at " + hex(access.address) + " goes on to " +
           hex(access.address + access.bytes);
  if (access.space != MemorySpace::global && access.space != MemorySpace::scalar)
    return "offset " + hex(access.address);
  if (const auto place = blocks_ ? place_in_blocks(access.address) : std::nullopt) return *place;
  return place_in_ranges(event, access);
}

std::optional<std::string> MemoryChecker::place_in_blocks(uint64_t address) const {
  const auto text = [&](uint64_t offset, const char* where, const Blocks::Block& block, const char* more) {
    return std::to_string(offset) + where + std::to_string(block.bytes) + " bytes" + more;
  };
  if (const auto block = blocks_->at(address))
    return address < block->end()
               ? text(address - block->begin, " bytes into an allocation of ", *block, "")
               : text(address - block->end(), " bytes behind the end of an allocation of ", *block, "");
  if (const auto block = blocks_->freed_at(address))
    return text(address - block->begin, " bytes into an allocation of ", *block, ", which has been freed");
  // The last one whose pages end where the access begins to be none of its own.
  if (const auto block = blocks_->at((address & ~uint64_t{4095}) - 1))
    return text(address - block->end(), " bytes behind the end of an allocation of ", *block, "");
  return std::nullopt;
}

std::string MemoryChecker::place_in_ranges(const Event& event, const MemoryAccess& access) const {
  const RangeSet* memory = nullptr;
  std::lock_guard lock(mutex_);
  if (const auto found = memories_.find(event.wave.group->dispatch); found != memories_.end())
    memory = found->second;
  const auto freed = std::find_if(freed_.rbegin(), freed_.rend(), [&](const Range& range) {
    return access.address < range.end && range.begin < access.address + access.bytes;
  });
  const std::optional<Range> below = memory ? memory->nearest(access.address) : std::nullopt;
  const bool is_mapped = below && access.address < below->end;
  if (freed != freed_.rend() && !is_mapped)
    return freed->name + " was there, which has been freed: " +
           std::to_string(access.address - std::min(access.address, freed->begin)) + " bytes into it";
  const std::optional<Range> behind = memory ? memory->closest_behind(access.address) : std::nullopt;
  if (behind)
    return std::to_string(behind->begin - access.address) + " bytes in front of " + behind->name + " of " +
           std::to_string(behind->end - behind->begin) + " bytes";
  if (!below) return "no memory is mapped at or below " + hex(access.address);
  const uint64_t size = below->end - below->begin;
  if (!is_mapped)
    return std::to_string(access.address - below->end) + " bytes behind the end of " + below->name + " of " +
           std::to_string(size) + " bytes";
  return std::to_string(access.address - below->begin) + " bytes into " + below->name + " of " +
         std::to_string(size) + " bytes";
}

void MemoryChecker::tell(const Event& event, Kind kind) {
  FindingDetail detail;
  const MemoryAccess* first = nullptr;
  for (const MemoryAccess& access : event.accesses) {
    Kind its_kind;
    if (!is_bad(event, access, its_kind) || its_kind != kind) continue;
    if (!first) first = &access;
    if (access.lane >= 0) detail.lanes |= uint64_t{1} << access.lane;
  }
  if (!first) return;
  detail.address = first->address;
  detail.bytes = first->bytes;
  detail.text = surroundings(event, *first, kind);
  const std::string what = std::string(event.instruction.row->name) + " " + verb(*first) + " ";
  std::string rule;
  switch (kind) {
    case Kind::behind_range:
      rule = what +
             "bytes behind the end of a buffer: here they are zero or the neighbour's, since memory comes in "
             "pages on the card (make the buffer larger, or test the index)";
      break;
    case Kind::behind_block:
      rule = what +
             "bytes behind the end of an allocation: they are there only because memory comes in pages (make "
             "the allocation larger, or test the index)";
      break;
    case Kind::dropped_by_resource:
      // Programs use it in place of a test of the index.
      detail.severity = Severity::note;
      rule = what +
             "memory beyond the range of its buffer resource: reads give zero and writes do nothing (guide "
             "9.4.1; is NUM_RECORDS too small, or the index wrong?)";
      break;
    case Kind::dropped_by_lds:
      rule = what +
             "LDS that the work-group does not have: reads give zero and writes do nothing (guide 3.3.4.1; "
             "ask for more LDS, or test the index)";
      break;
    case Kind::dropped_by_gds:
      rule = what + "GDS beyond the size in M0: reads give zero and writes do nothing (guide 12.6)";
      break;
    case Kind::beyond_asked:
      rule = what +
             "LDS beyond what the kernel asked for: it is there only because LDS comes in blocks (guide "
             "3.3.4; ask for more LDS, or test the index)";
      break;
    case Kind::beyond_scratch:
      rule =
          what +
          "scratch beyond the work-item's: it has what other waves left there, which are different ones each "
          "time (is the stack too small, or the index wrong?)";
      break;
    case Kind::refused:
      rule = what + "memory that is not the kernel's";
      break;
  }
  findings_.add("memory", event.wave, event.pc, std::move(rule), std::move(detail));
}

// What is inside, and between two addresses of which all is the kernel's.
bool MemoryChecker::are_good(const Event& event, const AlikeAccesses& alike) const {
  switch (alike.space) {
    case MemorySpace::scratch:
      return true;
    case MemorySpace::lds:
      return alike.end <= event.wave.group->lds_bytes;
    case MemorySpace::global: {
      if (!blocks_) return true;
      const std::optional<Blocks::Block> block = blocks_->at(alike.first);
      return block && alike.end <= block->end();
    }
    default:
      return false;
  }
}

void MemoryChecker::before(const Event& event) {
  if (const AlikeAccesses* const alike = event.accesses.alike(); alike && are_good(event, *alike)) return;
  uint32_t kinds = 0;
  for (const MemoryAccess& access : event.accesses) {
    Kind kind;
    if (is_bad(event, access, kind) && kind != Kind::refused) kinds |= 1u << static_cast<unsigned>(kind);
  }
  for (unsigned kind = 0; kinds >> kind != 0; ++kind)
    if (kinds >> kind & 1) tell(event, static_cast<Kind>(kind));
}

void MemoryChecker::faulted(const Event& event) {
  const Fault& fault = event.wave.fault;
  if (fault.kind != FaultKind::misaligned) {
    tell(event, Kind::refused);
    return;
  }
  FindingDetail detail;
  if (fault.lane >= 0) detail.lanes = uint64_t{1} << fault.lane;
  detail.address = fault.address;
  detail.bytes = fault.bytes;
  detail.text = fault.message;
  detail.remedy = "give it an address that is a multiple of its size, or of what the alignment mode asks for";
  findings_.add("memory", event.wave, event.pc,
                std::string(event.instruction.row->name) + " has an address that the machine does not take",
                std::move(detail));
}

}  // namespace lockstep::observe

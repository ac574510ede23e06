#include "engine/precise/memory_watch.h"

#include "engine/precise/accesses.h"
#include "state/trap_status.h"

namespace lockstep::precise {

namespace {

// Watch 0 has its bit among the exceptions, the others have theirs elsewhere.
uint32_t bit_of_watch(unsigned number) {
  return number == 0 ? trapsts_bit::kAddressWatch : trapsts_bit::kAddressWatch1 << (number - 1);
}

}  // namespace

Verdict MemoryWatch::before(const Step& step) {
  noticed_ = 0;
  if (!(step.instruction.row->flags & (isa::kLoad | isa::kStore | isa::kAtomic))) return Verdict::execute;
  const MemoryAccesses accesses = memory_accesses(step.wave, step.instruction);
  if (accesses.buffer_out_of_bounds) noticed_ |= trapsts_bit::kBufferOutOfBounds;
  for (const MemoryAccess& access : accesses.all)
    for (unsigned i = 0; i < watches_.size(); ++i)
      if (watches_[i].sees(access.address, access.bytes, access.reads, access.writes))
        noticed_ |= bit_of_watch(i);
  return Verdict::execute;
}

void MemoryWatch::after(const Step& step) {
  if (noticed_ == 0) return;
  traps_.raise(step.wave, noticed_);
  for (unsigned i = 0; i < watches_.size(); ++i)
    if (noticed_ & bit_of_watch(i))
      findings_.add_exception(step.wave, step.pc, "address watch " + std::to_string(i));
  noticed_ = 0;
}

}  // namespace lockstep::precise

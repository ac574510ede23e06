#include "engine/precise/memory_watch.h"

#include "engine/interpreter/account.h"
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
  const bool is_buffer = step.instruction.row->encoding == isa::Encoding::mubuf ||
                         step.instruction.row->encoding == isa::Encoding::mtbuf;
  for (const MemoryAccess& access : executor_.accesses(step)) {
    const auto watch = [&](uint64_t address, uint32_t bytes) {
      for (unsigned i = 0; i < watches_.size(); ++i)
        if (watches_[i].sees(address, bytes, access.reads, access.writes)) noticed_ |= bit_of_watch(i);
    };
    if (access.reach == Reach::dropped) {
      if (is_buffer && access.space == MemorySpace::global) noticed_ |= trapsts_bit::kBufferOutOfBounds;
    } else if (access.space == MemorySpace::scratch) {
      interpreter::each_scratch_part(step.wave, access, watch);
    } else if (access.space == MemorySpace::global || access.space == MemorySpace::scalar) {
      watch(access.address, access.bytes);
    }
  }
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

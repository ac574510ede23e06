#include "command/memory_atomic.h"

#include <atomic>
#include <iterator>

namespace lockstep::command {

namespace {

using semantics::AtomicOperation;

template <class T>
uint64_t exchange_atomically(AtomicOperation operation, std::byte* memory, T operand, T compared) {
  const std::atomic_ref<T> word(*reinterpret_cast<T*>(memory));
  T old = word.load();
  while (!word.compare_exchange_weak(
      old, semantics::apply_atomic<T>(operation, old, operand, compared, semantics::AtomicFlush{}))) {
  }
  return old;
}

}  // namespace

std::optional<MemoryAtomic> MemoryAtomic::of(uint32_t number) {
  constexpr uint32_t kWide = 0x20, kNoReturn = 0x40, kSwap = 0x07, kCompareSwap = 0x08, kAdd = 0x0f;
  constexpr AtomicOperation kFromAdd[] = {AtomicOperation::add,  AtomicOperation::sub,  AtomicOperation::smin,
                                          AtomicOperation::umin, AtomicOperation::smax, AtomicOperation::umax,
                                          AtomicOperation::and_, AtomicOperation::or_,  AtomicOperation::xor_,
                                          AtomicOperation::inc,  AtomicOperation::dec};
  if (number > 0x7f) return std::nullopt;
  const uint32_t base = number & ~(kWide | kNoReturn);
  MemoryAtomic atomic;
  atomic.wide = number & kWide;
  atomic.returns = !(number & kNoReturn);
  if (base == kSwap)
    atomic.operation = AtomicOperation::swap;
  else if (base == kCompareSwap)
    atomic.operation = AtomicOperation::cmpswap;
  else if (base >= kAdd && base - kAdd < std::size(kFromAdd))
    atomic.operation = kFromAdd[base - kAdd];
  else
    return std::nullopt;
  return atomic;
}

uint64_t MemoryAtomic::perform(std::byte* memory, uint64_t operand, uint64_t compared) const {
  return wide ? exchange_atomically<uint64_t>(operation, memory, operand, compared)
              : exchange_atomically<uint32_t>(operation, memory, static_cast<uint32_t>(operand),
                                              static_cast<uint32_t>(compared));
}

}  // namespace lockstep::command

#include "command/memory_atomic.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <type_traits>

namespace lockstep::command {

namespace {

using AtomicKind = MemoryAtomic::Kind;

template <class T>
T atomic_result(AtomicKind kind, T old, T operand, T compared) {
  using Signed = std::make_signed_t<T>;
  const auto a = static_cast<Signed>(old), b = static_cast<Signed>(operand);
  switch (kind) {
    case AtomicKind::swap:
      return operand;
    case AtomicKind::compare_swap:
      return old == compared ? operand : old;
    case AtomicKind::add:
      return old + operand;
    case AtomicKind::subtract:
      return old - operand;
    case AtomicKind::signed_minimum:
      return static_cast<T>(std::min(a, b));
    case AtomicKind::unsigned_minimum:
      return std::min(old, operand);
    case AtomicKind::signed_maximum:
      return static_cast<T>(std::max(a, b));
    case AtomicKind::unsigned_maximum:
      return std::max(old, operand);
    case AtomicKind::bit_and:
      return old & operand;
    case AtomicKind::bit_or:
      return old | operand;
    case AtomicKind::bit_xor:
      return old ^ operand;
    case AtomicKind::increment:
      return old >= operand ? 0 : old + 1;
    default:
      return old == 0 || old > operand ? operand : old - 1;
  }
}

template <class T>
uint64_t exchange_atomically(AtomicKind kind, std::byte* memory, T operand, T compared) {
  const std::atomic_ref<T> word(*reinterpret_cast<T*>(memory));
  T old = word.load();
  while (!word.compare_exchange_weak(old, atomic_result(kind, old, operand, compared))) {
  }
  return old;
}

}  // namespace

std::optional<MemoryAtomic> MemoryAtomic::of(uint32_t number) {
  constexpr uint32_t kWide = 0x20, kNoReturn = 0x40, kSwap = 0x07, kCompareSwap = 0x08, kAdd = 0x0f;
  constexpr AtomicKind kFromAdd[] = {AtomicKind::add,
                                     AtomicKind::subtract,
                                     AtomicKind::signed_minimum,
                                     AtomicKind::unsigned_minimum,
                                     AtomicKind::signed_maximum,
                                     AtomicKind::unsigned_maximum,
                                     AtomicKind::bit_and,
                                     AtomicKind::bit_or,
                                     AtomicKind::bit_xor,
                                     AtomicKind::increment,
                                     AtomicKind::decrement};
  if (number > 0x7f) return std::nullopt;
  const uint32_t operation = number & ~(kWide | kNoReturn);
  MemoryAtomic atomic;
  atomic.wide = number & kWide;
  atomic.returns = !(number & kNoReturn);
  if (operation == kSwap)
    atomic.kind = AtomicKind::swap;
  else if (operation == kCompareSwap)
    atomic.kind = AtomicKind::compare_swap;
  else if (operation >= kAdd && operation - kAdd < std::size(kFromAdd))
    atomic.kind = kFromAdd[operation - kAdd];
  else
    return std::nullopt;
  return atomic;
}

uint64_t MemoryAtomic::perform(std::byte* memory, uint64_t operand, uint64_t compared) const {
  return wide ? exchange_atomically<uint64_t>(kind, memory, operand, compared)
              : exchange_atomically<uint32_t>(kind, memory, static_cast<uint32_t>(operand),
                                              static_cast<uint32_t>(compared));
}

}  // namespace lockstep::command

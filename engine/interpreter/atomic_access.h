// One lane's read-modify-write, as the atomics of every encoding need it.
#pragma once

#include "engine/interpreter/memory_access.h"
#include "semantics/memory_shape.h"

namespace lockstep::interpreter {

template <class T>
static T register_value(Wave* wave, uint32_t offset, unsigned lane) {
  uint64_t value = vgpr_lanes(wave, offset)[lane];
  if constexpr (sizeof(T) == 8)
    value |= uint64_t{vgpr_lanes(wave, offset + wave->register_bytes)[lane]} << 32;
  return static_cast<T>(value);
}

template <class T>
static void set_register(Wave* wave, uint32_t offset, unsigned lane, T value) {
  vgpr_lanes(wave, offset)[lane] = static_cast<uint32_t>(value);
  if constexpr (sizeof(T) == 8)
    vgpr_lanes(wave, offset + wave->register_bytes)[lane] = static_cast<uint32_t>(uint64_t{value} >> 32);
}

// Atomic for the whole device: other host threads run other work-groups. Returns the old value.
template <class T>
static T exchange_in_memory(semantics::AtomicOperation operation, std::byte* address, T data, T second,
                            semantics::AtomicFlush flush) {
  T* memory = reinterpret_cast<T*>(address);
  // What hosts have as one instruction needs no second attempt.
  switch (operation) {
    case semantics::AtomicOperation::add:
      return __atomic_fetch_add(memory, data, __ATOMIC_SEQ_CST);
    case semantics::AtomicOperation::sub:
      return __atomic_fetch_sub(memory, data, __ATOMIC_SEQ_CST);
    case semantics::AtomicOperation::swap:
      return __atomic_exchange_n(memory, data, __ATOMIC_SEQ_CST);
    default:
      break;
  }
  T old = __atomic_load_n(memory, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(memory, &old,
                                      semantics::apply_atomic<T>(operation, old, data, second, flush), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

}  // namespace lockstep::interpreter

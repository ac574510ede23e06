// Memory atomics: what one lane's operation makes of a memory value (guide 12.5.1, chapter 13, 16.15, 16.16).
// All values are bits, uint32_t or uint64_t. eval(memory, data) gives the new memory value; the operations
// with two data operands take (memory, data, second), where `second` is DATA2 of a DS instruction or the
// registers after the first value of a FLAT, buffer or image one: the comparand of a compare-and-swap. The
// engine returns the old value itself.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace lockstep::semantics {

#define LOCKSTEP_ATOMIC static constexpr

struct atomic_swap {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T, T data) {
    return data;
  }
};
struct atomic_cmpswap {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data, T compare) {
    return memory == compare ? data : memory;
  }
};
struct atomic_add {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return memory + data;
  }
};
struct atomic_sub {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return memory - data;
  }
};
struct atomic_rsub {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return data - memory;
  }
};
// Subtraction that stops at zero.
struct atomic_csub {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return memory < data ? 0 : memory - data;
  }
};
struct atomic_smin {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    using Signed = std::make_signed_t<T>;
    return static_cast<Signed>(data) < static_cast<Signed>(memory) ? data : memory;
  }
};
struct atomic_smax {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    using Signed = std::make_signed_t<T>;
    return static_cast<Signed>(data) > static_cast<Signed>(memory) ? data : memory;
  }
};
struct atomic_umin {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return data < memory ? data : memory;
  }
};
struct atomic_umax {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return data > memory ? data : memory;
  }
};
struct atomic_and {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return memory & data;
  }
};
struct atomic_or {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return memory | data;
  }
};
struct atomic_xor {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return memory ^ data;
  }
};
// Clears the bits of the mask, then sets those of `bits`.
struct atomic_mskor {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T mask, T bits) {
    return (memory & ~mask) | bits;
  }
};
// Counts up to `data`, then from zero again.
struct atomic_inc {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return memory >= data ? 0 : memory + 1;
  }
};
// Counts down to zero, then from `data` again.
struct atomic_dec {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data) {
    return memory == 0 || memory > data ? data : memory - 1;
  }
};
// Moves in a ring buffer: down by `data` if that stays in it, else up by `size`.
struct atomic_wrap {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data, T size) {
    return memory >= data ? memory - data : memory + size;
  }
};
// Two dwords, each replaced if bit 31 of its data is set, with that bit cleared.
struct atomic_condxchg32 {
  LOCKSTEP_ATOMIC uint64_t eval(uint64_t memory, uint64_t data) {
    const auto half = [](uint32_t old, uint32_t value) { return value >> 31 ? value & 0x7fffffff : old; };
    return uint64_t{half(static_cast<uint32_t>(memory >> 32), static_cast<uint32_t>(data >> 32))} << 32 |
           half(static_cast<uint32_t>(memory), static_cast<uint32_t>(data));
  }
};

// Which denormals a float atomic takes for zero.
struct AtomicFlush {
  bool inputs;
  bool outputs;
};

namespace atomic {

template <class T>
struct Float;
template <>
struct Float<uint32_t> {
  using Host = float;
  static constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7f800000, kMinNormal = 0x00800000,
                            kQuiet = 0x00400000;
};
template <>
struct Float<uint64_t> {
  using Host = double;
  static constexpr uint64_t kSign = 0x8000000000000000, kInfinity = 0x7ff0000000000000,
                            kMinNormal = 0x0010000000000000, kQuiet = 0x0008000000000000;
};

template <class T>
LOCKSTEP_ATOMIC bool is_nan(T bits) {
  return (bits & ~Float<T>::kSign) > Float<T>::kInfinity;
}
template <class T>
LOCKSTEP_ATOMIC bool is_signalling(T bits) {
  return is_nan(bits) && !(bits & Float<T>::kQuiet);
}
template <class T>
LOCKSTEP_ATOMIC T flushed(T bits, bool flush) {
  return flush && (bits & ~Float<T>::kSign) < Float<T>::kMinNormal ? bits & Float<T>::kSign : bits;
}
// Floats in their order as signed integers, -0 below +0.
template <class T>
LOCKSTEP_ATOMIC std::make_signed_t<T> rank(T bits) {
  using Signed = std::make_signed_t<T>;
  return static_cast<Signed>(bits & Float<T>::kSign ? ~(bits & ~Float<T>::kSign) : bits);
}

// A number beats a quiet NaN, a signalling NaN beats all and is quieted; the data's comes first. The result
// is the operand as it was: flushing is for the comparison only (guide 13.2, 13.3). Equal operands leave
// memory as it is.
template <class T>
LOCKSTEP_ATOMIC T least_or_greatest(T memory, T data, bool greatest, AtomicFlush flush) {
  if (is_signalling(data)) return data | Float<T>::kQuiet;
  if (is_signalling(memory)) return memory | Float<T>::kQuiet;
  if (is_nan(data)) return memory;
  if (is_nan(memory)) return data;
  const auto data_rank = rank(flushed(data, flush.inputs)), memory_rank = rank(flushed(memory, flush.inputs));
  return (greatest ? data_rank > memory_rank : data_rank < memory_rank) ? data : memory;
}

}  // namespace atomic

// Rounds to nearest even whatever MODE says. The first NaN in the order data, memory is the result, quieted.
struct atomic_fadd {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data, AtomicFlush flush) {
    using Format = atomic::Float<T>;
    if (atomic::is_nan(data)) return data | Format::kQuiet;
    if (atomic::is_nan(memory)) return memory | Format::kQuiet;
    memory = atomic::flushed(memory, flush.inputs);
    data = atomic::flushed(data, flush.inputs);
    if ((memory ^ data) == Format::kSign && (data & ~Format::kSign) == Format::kInfinity)
      return Format::kSign | Format::kInfinity | Format::kQuiet;
    using Host = typename Format::Host;
    const T sum =
        std::bit_cast<T>(static_cast<Host>(std::bit_cast<Host>(data) + std::bit_cast<Host>(memory)));
    return atomic::flushed(sum, flush.outputs);
  }
};
struct atomic_fmin {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data, AtomicFlush flush) {
    return atomic::least_or_greatest(memory, data, false, flush);
  }
};
struct atomic_fmax {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data, AtomicFlush flush) {
    return atomic::least_or_greatest(memory, data, true, flush);
  }
};
// Swaps if both are equal numbers, -0 equal to +0. What is stored is flushed when inputs are; a comparison
// that fails leaves memory alone (open: the guide says only that "the result" is flushed).
struct atomic_fcmpswap {
  template <class T>
  LOCKSTEP_ATOMIC T eval(T memory, T data, T compare, AtomicFlush flush) {
    if (atomic::is_nan(memory) || atomic::is_nan(compare)) return memory;
    const T a = atomic::flushed(memory, flush.inputs), b = atomic::flushed(compare, flush.inputs);
    const bool equal = a == b || ((a | b) & ~atomic::Float<T>::kSign) == 0;
    return equal ? atomic::flushed(data, flush.inputs) : memory;
  }
};

#undef LOCKSTEP_ATOMIC

enum class AtomicOperation : uint8_t {
  none,
  swap,
  cmpswap,
  add,
  sub,
  rsub,
  csub,
  smin,
  umin,
  smax,
  umax,
  and_,
  or_,
  xor_,
  mskor,
  inc,
  dec,
  wrap,
  condxchg32,
  fadd,
  fmin,
  fmax,
  fcmpswap,
  append,
  consume,  // add and subtract the number of active lanes once, at an address that M0 gives
};

constexpr bool is_float(AtomicOperation operation) {
  return operation >= AtomicOperation::fadd && operation <= AtomicOperation::fcmpswap;
}

// Whether the operation has a second data operand.
constexpr bool has_second_operand(AtomicOperation operation) {
  return operation == AtomicOperation::cmpswap || operation == AtomicOperation::mskor ||
         operation == AtomicOperation::wrap || operation == AtomicOperation::fcmpswap;
}

// Which denormals count as zero (guide 13.2). Minimum, maximum and compare-and-swap look at the input bit of
// MODE for the width; so does the LDS adder, and at the output bit. The adder of the caches always flushes:
// its inputs by the guide, its result by assumption (open).
constexpr AtomicFlush atomic_flush(AtomicOperation operation, bool in_lds, bool keep_inputs,
                                   bool keep_outputs) {
  if (operation == AtomicOperation::fadd && !in_lds) return {true, true};
  return {!keep_inputs, operation == AtomicOperation::fadd && !keep_outputs};
}

// One lane's operation, chosen at run time. T is uint32_t or uint64_t.
template <class T>
constexpr T apply_atomic(AtomicOperation operation, T memory, T data, T second, AtomicFlush flush) {
  switch (operation) {
    case AtomicOperation::none:
      return memory;
    case AtomicOperation::swap:
      return atomic_swap::eval(memory, data);
    case AtomicOperation::cmpswap:
      return atomic_cmpswap::eval(memory, data, second);
    case AtomicOperation::append:
    case AtomicOperation::add:
      return atomic_add::eval(memory, data);
    case AtomicOperation::consume:
    case AtomicOperation::sub:
      return atomic_sub::eval(memory, data);
    case AtomicOperation::rsub:
      return atomic_rsub::eval(memory, data);
    case AtomicOperation::csub:
      return atomic_csub::eval(memory, data);
    case AtomicOperation::smin:
      return atomic_smin::eval(memory, data);
    case AtomicOperation::umin:
      return atomic_umin::eval(memory, data);
    case AtomicOperation::smax:
      return atomic_smax::eval(memory, data);
    case AtomicOperation::umax:
      return atomic_umax::eval(memory, data);
    case AtomicOperation::and_:
      return atomic_and::eval(memory, data);
    case AtomicOperation::or_:
      return atomic_or::eval(memory, data);
    case AtomicOperation::xor_:
      return atomic_xor::eval(memory, data);
    case AtomicOperation::mskor:
      return atomic_mskor::eval(memory, data, second);
    case AtomicOperation::inc:
      return atomic_inc::eval(memory, data);
    case AtomicOperation::dec:
      return atomic_dec::eval(memory, data);
    case AtomicOperation::wrap:
      return atomic_wrap::eval(memory, data, second);
    case AtomicOperation::condxchg32:
      return static_cast<T>(atomic_condxchg32::eval(memory, data));
    case AtomicOperation::fadd:
      return atomic_fadd::eval(memory, data, flush);
    case AtomicOperation::fmin:
      return atomic_fmin::eval(memory, data, flush);
    case AtomicOperation::fmax:
      return atomic_fmax::eval(memory, data, flush);
    case AtomicOperation::fcmpswap:
      return atomic_fcmpswap::eval(memory, data, second, flush);
  }
  return memory;
}

}  // namespace lockstep::semantics

// A kernel as a tree, from which the device's and the host's source are printed and which the shrinker cuts.
// Every tree that keeps the rules below is a well-defined program with one result:
// - Operations are total (operations.cpp guards divisors, shifts, conversions, and works on unsigned numbers
//   where signed ones could overflow).
// - A phase is what a work-item does between two barriers. It writes only to its own variables, its own slice
//   of the output, its own slices of LDS arrays. Within a phase an LDS array is either written by slices, or
//   read anywhere, or target of one kind of atomic operation.
// - Atomic operations commute and their return values are not used.
// - Barriers and exchanges between lanes stand in control flow that is the same for the whole work-group.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fuzz/kernels/types.h"

namespace lockstep::kernel_fuzz {

struct Operation;

struct Expression {
  enum class Kind : uint8_t {
    constant,      // `lanes`: the bits of each lane
    variable,      // `index`: of the kernel's or the function's variables
    local_id,      // u32
    group_id,      // u32
    counter,       // u32, `index`: number of a loop round it
    argument,      // `index`: of kArgumentTypes
    load_input,    // [u32 index]
    load_output,   // [u32 index], in the work-item's own slice
    load_lds,      // `index`: array; [u32 index]
    load_private,  // `index`: array; [u32 index]
    load_pointer,  // [u32 index]; only in functions, u32
    operation,     // `operation`
    convert,       // [value]; numbers are rounded or clamped
    bitcast,       // [value] of the same size
    element,       // [vector], `index`: lane
    any_element,   // [vector, u32 lane]
    swizzle,       // [vector], `index`: 4 bits for each lane of the result
    build,         // [scalar for each lane]
    splat,         // [scalar]
    call,          // `index`: function; [arguments]
  };
  Kind kind = Kind::constant;
  Type type;
  uint32_t index = 0;
  const Operation* operation = nullptr;
  std::array<uint64_t, 8> lanes{};
  std::vector<Expression> operands;
};

enum class AtomicOperation : uint8_t { add, sub, bit_and, bit_or, bit_xor, min, max };
inline constexpr unsigned kAtomicOperations = 7;

enum class Exchange : uint8_t {
  ds_bpermute,  // [value, u32 lane]
  ds_permute,   // to lane ^ value
  ds_swizzle,
  dpp,
  dpp8,
  permlane16,
  permlanex16,
  permlane64,
  readlane,
  readfirstlane,
  ballot,
};
inline constexpr unsigned kExchanges = 11;

struct Statement {
  enum class Kind : uint8_t {
    // within a phase or a function
    assign,          // variable `index` = [value]
    assign_element,  // variable `index`, lane `value` = [scalar]
    assign_any,      // variable `index`, [u32 lane, scalar]
    store_output,    // [u32 index, value], own slice
    store_lds,       // array `index`, [u32 index, value], own slice
    store_private,   // array `index`, [u32 index, value]
    store_pointer,   // [u32 index, u32 value]; only in functions
    dump,            // variable `index` to byte `value` of the own slice
    branch,          // [condition], bodies: then, else
    loop,            // `index`: counter, `value`: most turns, [u32 bound]; bodies: one
    do_loop,         // the same with the test at the end: [condition to go on]
    choose,          // [u32 selector], bodies: cases 0, 1, ...; `value`: bit for each that falls through
    leave,           // [condition] break
    next,            // [condition] continue
    give_back,       // [condition, value] early return; only in functions
    atomic_global,   // `value`: AtomicOperation, `type`, [u32 slot, value]
    atomic_lds,      // array `index`, [u32 index, value]; the operation is the phase's
    call_pointer,    // variable `index` = function `value`; [arguments]; `place`: what the pointer points to
    // between phases
    phase,           // bodies: one; `modes` for each LDS array; ends with a barrier if `value` is not 0
    uniform_loop,    // `index`: counter, `value`: turns; bodies: one
    uniform_branch,  // [condition of arguments and counters only]; bodies: then, else
    exchange,        // variable `index`; `exchange`; `value`: immediate; [value, lane]
  };
  enum class Place : uint8_t { private_array, lds, output };  // private arrays: of number `array`

  Kind kind = Kind::assign;
  Type type;
  uint32_t index = 0, value = 0;
  Exchange exchange = Exchange::ds_bpermute;
  Place place = Place::private_array;
  uint32_t array = 0;
  std::vector<uint8_t> modes;  // 0: own slice, 1: read anywhere, 2 + AtomicOperation
  std::vector<Expression> expressions;
  std::vector<std::vector<Statement>> bodies;
};

struct Variable {
  Type type;
  bool zero = false;  // starts as zero, not as a number from the input
};

struct Function {
  std::vector<Type> parameters;     // variables 0 ... of the function
  std::vector<Variable> variables;  // further ones; they start as zero
  bool takes_pointer = false;       // u32* pointer, u32 mask
  Type result;
  std::vector<Statement> body;
  Expression value;
};

struct Array {
  Base base;
  bool zero = false;
};

inline constexpr Base kArgumentTypes[] = {Base::u32, Base::u32, Base::u64, Base::i32, Base::u16, Base::f32};
inline constexpr unsigned kArguments = 6;
inline constexpr unsigned kInputBytes = 4096;     // a power of two
inline constexpr unsigned kPrivateElements = 16;  // a power of two
inline constexpr unsigned kLdsSlice = 4;          // elements of an LDS array that belong to a work-item
inline constexpr unsigned kDynamicBytes = 64;     // of the own slice of the output, for indexed stores
inline constexpr unsigned kAtomicSlots = 4;       // for each operation and width
inline constexpr unsigned kAtomicBytes = kAtomicOperations * 4 * kAtomicSlots * 8;  // see atomic_offset

struct Kernel {
  uint64_t seed = 0;
  unsigned local_x = 64, local_y = 1, groups = 2;
  std::vector<Variable> variables;
  std::vector<Array> private_arrays;
  std::vector<Array> lds_arrays;
  std::vector<Function> functions;        // may call those with greater numbers
  std::vector<Statement> body;            // phases and what stands between them
  unsigned output_bytes = kDynamicBytes;  // of a work-item
  std::array<uint64_t, kArguments> arguments{};

  unsigned local() const { return local_x * local_y; }
};

// Where the slots of an atomic operation lie: i32, u32, i64, u64 have places of their own, so that min and
// max of either sign commute.
constexpr unsigned atomic_offset(AtomicOperation operation, Base base) {
  return (unsigned(operation) * 4 + (unsigned(base) - unsigned(Base::i32))) * kAtomicSlots * 8;
}

}  // namespace lockstep::kernel_fuzz

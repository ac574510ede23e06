// Atomics on LDS and on memory (guide 12.5.1, chapter 13, 11.1): one read-modify-write a lane, in lane order.
#include <array>
#include <bit>
#include <utility>

#include "engine/interpreter/atomic_access.h"
#include "engine/interpreter/flat_address.h"
#include "engine/interpreter/lane_address.h"
#include "engine/interpreter/registration.h"
#include "numeric/float_mode.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;
using semantics::AtomicFlush;
using semantics::AtomicOperation;

template <AtomicOperation operation, class T>
AtomicFlush flush_of(const Wave* wave, bool in_lds) {
  const RuntimeFloatMode mode{wave->mode};
  return sizeof(T) == 8
             ? semantics::atomic_flush(operation, in_lds, mode.denorm_in_f16_f64(), mode.denorm_out_f16_f64())
             : semantics::atomic_flush(operation, in_lds, mode.denorm_in_f32(), mode.denorm_out_f32());
}

// A work-group runs on one thread, so its LDS needs no host atomics. Out of range: no write, and 0 comes
// back.
template <AtomicOperation operation, class T>
T exchange_in_lds(Wave* wave, uint32_t offset, T data, T second, AtomicFlush flush) {
  if (!in_lds(wave, offset, sizeof(T))) return 0;
  T old;
  __builtin_memcpy(&old, wave->lds + offset, sizeof old);
  const T result = semantics::apply_atomic<T>(operation, old, data, second, flush);
  __builtin_memcpy(wave->lds + offset, &result, sizeof result);
  return old;
}

// Whether all lanes that are on reach aligned places within LDS.
template <class T>
bool all_in_lds(const Operation* op, Wave* wave) {
  if (wave->lds_bytes < sizeof(T)) return false;
  const auto offset = static_cast<uint32_t>(op->offset);
  uint64_t lanes = wave->exec();
  for (unsigned chunk = 0; chunk < wave->chunks; ++chunk, lanes >>= 16) {
    const U32 addresses = *vgpr_chunk(wave, op->source[0], chunk) + offset;
    const I32 others =
        (addresses % uint32_t{sizeof(T)} != 0) | (addresses > wave->lds_bytes - uint32_t{sizeof(T)});
    if (bits_from_mask(mask_of(others)) & lanes) return false;
  }
  return true;
}

template <AtomicOperation operation, class T>
void lds_atomic(const Operation* op, Wave* wave, int64_t budget) {
  const AtomicFlush flush = flush_of<operation, T>(wave, true);
  const bool returns = op->detail != 0;
  if (all_in_lds<T>(op, wave)) {
    std::byte* const lds = wave->lds;
    const uint32_t* const addresses = vgpr_lanes(wave, op->source[0]);
    const auto offset = static_cast<uint32_t>(op->offset);
    for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
      const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
      const T data = register_value<T>(wave, op->source[1], lane);
      T second = 0;
      if constexpr (semantics::has_second_operand(operation))
        second = register_value<T>(wave, op->source[2], lane);
      std::byte* const place = lds + (addresses[lane] + offset);
      T old;
      __builtin_memcpy(&old, place, sizeof old);
      const T result = semantics::apply_atomic<T>(operation, old, data, second, flush);
      __builtin_memcpy(place, &result, sizeof result);
      if (returns) set_register<T>(wave, op->dst, lane, old);
    }
    LOCKSTEP_NEXT();
  }
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint32_t at = vgpr_lanes(wave, op->source[0])[lane] + static_cast<uint32_t>(op->offset);
    if (at % sizeof(T) != 0) return raise_misaligned(op, wave, budget, static_cast<int>(lane), at, sizeof(T));
    if (!in_lds(wave, at, sizeof(T)) && context_of(wave)->modes.reports_lds_out_of_range)
      return raise_lds_violation(op, wave, budget, static_cast<int>(lane), at, sizeof(T), kWrite);
    const T data = register_value<T>(wave, op->source[1], lane);
    T second = 0;
    if constexpr (semantics::has_second_operand(operation))
      second = register_value<T>(wave, op->source[2], lane);
    const T old = exchange_in_lds<operation, T>(wave, at, data, second, flush);
    if (returns) set_register<T>(wave, op->dst, lane, old);
  }
  LOCKSTEP_NEXT();
}

template <Space space, AtomicOperation operation, class T>
void memory_atomic(const Operation* op, Wave* wave, int64_t budget) {
  const GlobalAddress address(op, wave);
  const bool returns = op->detail != 0;
  const uint32_t second_register = op->source[1] + sizeof(T) / 4 * wave->register_bytes;
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t at = address.of_lane(wave, lane);
    if (at % sizeof(T) != 0) return raise_misaligned(op, wave, budget, static_cast<int>(lane), at, sizeof(T));
    const T data = register_value<T>(wave, op->source[1], lane);
    T second = 0;
    if constexpr (semantics::has_second_operand(operation))
      second = register_value<T>(wave, second_register, lane);
    T old;
    if (space == Space::flat && in_shared_aperture(at)) {
      old = exchange_in_lds<operation, T>(wave, static_cast<uint32_t>(at), data, second,
                                          flush_of<operation, T>(wave, false));
    } else {
      // In scratch there are atomics of 4 bytes only (guide 11.1.1).
      std::byte* memory = nullptr;
      if (space == Space::global || !in_private_aperture(at))
        memory = modifiable(op, wave, at, sizeof(T));
      else if (sizeof(T) == 4)
        memory = modifiable_scratch(op, wave, lane, static_cast<uint32_t>(at));
      if (!memory)
        return raise_memory_violation(op, wave, budget, static_cast<int>(lane), at, sizeof(T), kWrite);
      old = exchange_in_memory<T>(operation, memory, data, second, flush_of<operation, T>(wave, false));
    }
    if (returns) set_register<T>(wave, op->dst, lane, old);
  }
  LOCKSTEP_NEXT();
}

// ds_storexchg_2addr: two exchanges, whose old values go to consecutive registers; zero of one that is out of
// range.
template <class T, uint32_t unit>
void lds_exchange_two(const Operation* op, Wave* wave, int64_t budget) {
  constexpr auto kSwap = AtomicOperation::swap;
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint32_t base = vgpr_lanes(wave, op->source[0])[lane];
    const uint32_t first = base + op->instruction->offset0 * unit,
                   second = base + op->instruction->offset1 * unit;
    for (uint32_t at : {first, second}) {
      if (at % sizeof(T) != 0)
        return raise_misaligned(op, wave, budget, static_cast<int>(lane), at, sizeof(T));
      if (!in_lds(wave, at, sizeof(T)) && context_of(wave)->modes.reports_lds_out_of_range)
        return raise_lds_violation(op, wave, budget, static_cast<int>(lane), at, sizeof(T), kWrite);
    }
    const T data = register_value<T>(wave, op->source[1], lane),
            data2 = register_value<T>(wave, op->source[2], lane);
    const T old = exchange_in_lds<kSwap, T>(wave, first, data, T{0}, {});
    const T old2 = exchange_in_lds<kSwap, T>(wave, second, data2, T{0}, {});
    set_register<T>(wave, op->dst, lane, old);
    set_register<T>(wave, op->dst + sizeof(T) / 4 * wave->register_bytes, lane, old2);
  }
  LOCKSTEP_NEXT();
}

// ds_append and ds_consume (guide 12.5): the address comes from M0, the operand is the number of active
// lanes, and every active lane gets the old value.
template <AtomicOperation operation>
void lds_count(const Operation* op, Wave* wave, int64_t budget) {
  const uint64_t exec = wave->exec();
  const uint32_t at = data_share_address(op, wave, 0, isa::access_shape(op->instruction->row->opcode), 0);
  if (at % 4 != 0) return raise_misaligned(op, wave, budget, -1, at, 4);
  if (!in_lds(wave, at, 4) && context_of(wave)->modes.reports_lds_out_of_range)
    return raise_lds_violation(op, wave, budget, -1, at, 4, kWrite);
  const uint32_t old =
      exchange_in_lds<operation, uint32_t>(wave, at, static_cast<uint32_t>(std::popcount(exec)), 0u, {});
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1)
    vgpr_lanes(wave, op->dst)[std::countr_zero(lanes)] = old;
  LOCKSTEP_NEXT();
}

struct Handlers {
  std::array<Handler, 2> lds, flat, global;  // 32 and 64 bits
};

template <AtomicOperation operation>
constexpr Handlers handlers_of() {
  using A = uint32_t;
  using B = uint64_t;
  return {{&lds_atomic<operation, A>, &lds_atomic<operation, B>},
          {&memory_atomic<Space::flat, operation, A>, &memory_atomic<Space::flat, operation, B>},
          {&memory_atomic<Space::global, operation, A>, &memory_atomic<Space::global, operation, B>}};
}

constexpr size_t kOperations = static_cast<size_t>(AtomicOperation::fcmpswap) + 1;
template <size_t... i>
constexpr std::array<Handlers, kOperations> all_handlers(std::index_sequence<i...>) {
  return {handlers_of<static_cast<AtomicOperation>(i)>()...};
}

}  // namespace

void LOCKSTEP_REGISTER(atomics)(HandlerTable& table) {
  static constexpr auto kHandlers = all_handlers(std::make_index_sequence<kOperations>{});
  for (const isa::Row& row : isa::rows()) {
    const semantics::AtomicShape shape = semantics::atomic_shape(row.opcode);
    const size_t operation = static_cast<size_t>(shape.operation);
    if (!shape || shape.addresses != 1 || shape.bytes == 0 || operation >= kOperations) continue;
    const Handlers& handlers = kHandlers[operation];
    Handler& entry = table.other[static_cast<size_t>(row.opcode)];
    if (row.encoding == isa::Encoding::ds) entry = handlers.lds[shape.bytes == 8];
    if (row.encoding == isa::Encoding::flat) entry = handlers.flat[shape.bytes == 8];
    if (row.encoding == isa::Encoding::global) entry = handlers.global[shape.bytes == 8];
  }
  auto set = [&](Opcode opcode, Handler handler) { table.other[static_cast<size_t>(opcode)] = handler; };
  set(Opcode::ds_storexchg_2addr_rtn_b32, &lds_exchange_two<uint32_t, 4>);
  set(Opcode::ds_storexchg_2addr_rtn_b64, &lds_exchange_two<uint64_t, 8>);
  set(Opcode::ds_storexchg_2addr_stride64_rtn_b32, &lds_exchange_two<uint32_t, 4 * 64>);
  set(Opcode::ds_storexchg_2addr_stride64_rtn_b64, &lds_exchange_two<uint64_t, 8 * 64>);
  set(Opcode::ds_append, &lds_count<AtomicOperation::append>);
  set(Opcode::ds_consume, &lds_count<AtomicOperation::consume>);
}

}  // namespace lockstep::interpreter

#include "engine/translator/runtime.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/interpreter/atomic_access.h"
#include "engine/interpreter/flat_address.h"
#include "engine/interpreter/handlers.h"
#include "engine/interpreter/interpreter.h"
#include "engine/interpreter/matrix.h"
#include "engine/translator/lane_access.h"
#include "isa/memory_shape.h"
#include "memory/buffer_resource.h"
#include "memory/whole_access.h"
#include "numeric/float_mode.h"
#include "semantics/memory_shape.h"

// keep_registers.S. Only translated code calls them, with the arguments of the functions whose names they
// have.
extern "C" {
void lockstep_translator_allowed_keeping_v3();
void lockstep_translator_allowed_keeping_v4();
void lockstep_translator_global_keeping_v3();
void lockstep_translator_global_keeping_v4();
void lockstep_translator_flat_keeping_v3();
void lockstep_translator_flat_keeping_v4();
void lockstep_translator_store_rows_keeping_v3();
void lockstep_translator_store_rows_keeping_v4();
void lockstep_translator_forget_paths_keeping_v3();
void lockstep_translator_forget_paths_keeping_v4();
}

namespace lockstep::translator {
namespace {

using KeepingFunction = void (*)();

using isa::AccessShape;
using semantics::AtomicOperation;

constexpr unsigned kChunkLanes = 16;

// The opcode says everything: the shape table is looked up again.
AccessShape shape_of(uint32_t form) {
  return isa::access_shape(static_cast<isa::Opcode>(form));
}

constexpr uint32_t kZeros[4] = {};

bool in_lds(const Wave* wave, uint32_t offset, uint32_t bytes) {
  return offset <= wave->lds_bytes && wave->lds_bytes - offset >= bytes;
}

std::byte* scratch_of(const Wave* wave, unsigned lane, uint32_t offset) {
  return reinterpret_cast<std::byte*>(wave->scratch_base + uint64_t{offset / 4} * wave->wave_size * 4 +
                                      lane * 4 + offset % 4);
}

// Of a load or store of FLAT.
struct FlatLanes {
  const Wave* wave;
  AccessShape shape;
  uint64_t base, exec;
  const uint32_t *low, *high;
  uint32_t* data;

  bool is_load() const { return shape.kind == AccessShape::Kind::load; }
  uint64_t address(unsigned lane) const { return base + (low[lane] | uint64_t{high[lane]} << 32); }

  // Whole dwords of scratch at one place for all lanes, as a function's stack is: rows of the interleaved
  // memory. The begin, or nothing.
  std::optional<uint32_t> scratch_rows() const {
    if (exec == 0 || shape.bytes < 4) return std::nullopt;
    const auto first = static_cast<unsigned>(std::countr_zero(exec));
    const uint64_t at = address(first);
    const auto offset = static_cast<uint32_t>(at);
    if (!interpreter::in_private_aperture(at) || offset % 4 != 0 ||
        !interpreter::in_given_scratch(wave, offset, shape.bytes))
      return std::nullopt;
    uint32_t others = 0;
    for (unsigned lane = 0; lane < wave->wave_size; ++lane) {
      const uint32_t is_on = exec >> lane & 1 ? ~0u : 0;
      others |= ((low[lane] ^ low[first]) | (high[lane] ^ high[first])) & is_on;
    }
    if (others != 0) return std::nullopt;
    return offset;
  }

  void move_rows(uint32_t offset) const {
    const unsigned lanes = wave->wave_size;
    const bool is_full = std::popcount(exec) == static_cast<int>(lanes);
    for (unsigned i = 0; i < shape.bytes / 4u; ++i) {
      auto* row = reinterpret_cast<uint32_t*>(scratch_of(wave, 0, offset + 4 * i));
      uint32_t* word = data + i * lanes;
      // What is loaded to lanes that are off is nobody's.
      if (is_load())
        std::memcpy(word, row, 4 * lanes);
      else if (is_full)
        std::memcpy(row, word, 4 * lanes);
      else
        for (uint64_t on = exec; on != 0; on &= on - 1)
          row[std::countr_zero(on)] = word[std::countr_zero(on)];
    }
  }

  void move(unsigned lane) const {
    const uint64_t at = address(lane);
    const auto offset = static_cast<uint32_t>(at);
    if (!interpreter::in_private_aperture(at))
      return move(
          lane, interpreter::in_shared_aperture(at) ? wave->lds + offset : reinterpret_cast<std::byte*>(at));
    // Parts of several dwords are not side by side.
    std::byte bytes[16];
    if (!is_load()) store_lane(shape, bytes, data + lane, wave->wave_size);
    for (uint32_t done = 0; done < shape.bytes;) {
      const uint32_t count = std::min<uint32_t>(4 - (offset + done) % 4, shape.bytes - done);
      std::byte* memory = scratch_of(wave, lane, offset + done);
      if (is_load())
        std::memcpy(bytes + done, memory, count);
      else
        std::memcpy(memory, bytes + done, count);
      done += count;
    }
    if (is_load()) load_lane(shape, bytes, data + lane, wave->wave_size);
  }
  void move(unsigned lane, std::byte* memory) const {
    if (is_load())
      load_lane(shape, memory, data + lane, wave->wave_size);
    else
      store_lane(shape, memory, data + lane, wave->wave_size);
  }
};

// What the lanes of an atomic work on, one row of the wave's size for each register.
struct AtomicLanes {
  Wave* wave;
  uint64_t base, exec;
  uint32_t* rows;
  bool in_lds, wide, is_flat;

  uint32_t& word(unsigned row, unsigned lane) const { return rows[row * wave->wave_size + lane]; }
  uint64_t address(unsigned lane) const {
    if (in_lds) return static_cast<uint32_t>(base) + word(0, lane);
    return base + (word(0, lane) | (wide ? uint64_t{word(1, lane)} << 32 : 0));
  }
  template <class T>
  T value(unsigned row, unsigned lane) const {
    uint64_t value = word(row, lane);
    if constexpr (sizeof(T) == 8) value |= uint64_t{word(row + 1, lane)} << 32;
    return static_cast<T>(value);
  }
};

template <AtomicOperation operation, class T>
void exchange(const AtomicLanes& all) {
  const RuntimeFloatMode mode{all.wave->mode};
  const semantics::AtomicFlush flush =
      sizeof(T) == 8
          ? semantics::atomic_flush(operation, all.in_lds, mode.denorm_in_f16_f64(),
                                    mode.denorm_out_f16_f64())
          : semantics::atomic_flush(operation, all.in_lds, mode.denorm_in_f32(), mode.denorm_out_f32());
  for (uint64_t lanes = all.exec; lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t at = all.address(lane);
    const T data = all.value<T>(2, lane);
    T second = 0, old = 0;
    if constexpr (semantics::has_second_operand(operation)) second = all.value<T>(4, lane);
    const auto offset = static_cast<uint32_t>(at);
    if (!all.in_lds && !(all.is_flat && interpreter::in_shared_aperture(at))) {
      std::byte* const memory = all.is_flat && interpreter::in_private_aperture(at)
                                    ? scratch_of(all.wave, lane, offset)
                                    : reinterpret_cast<std::byte*>(at);
      old = interpreter::exchange_in_memory<T>(operation, memory, data, second, flush);
    } else if (in_lds(all.wave, offset, sizeof(T))) {
      // A work-group runs on one thread. Out of range: no write, and 0 comes back.
      std::memcpy(&old, all.wave->lds + offset, sizeof old);
      const T result = semantics::apply_atomic<T>(operation, old, data, second, flush);
      std::memcpy(all.wave->lds + offset, &result, sizeof result);
    }
    all.word(2, lane) = static_cast<uint32_t>(old);
    if constexpr (sizeof(T) == 8) all.word(3, lane) = static_cast<uint32_t>(uint64_t{old} >> 32);
  }
}

using Exchange = void (*)(const AtomicLanes&);
constexpr size_t kOperations = static_cast<size_t>(AtomicOperation::fcmpswap) + 1;
template <class T, size_t... i>
constexpr std::array<Exchange, kOperations> exchanges(std::index_sequence<i...>) {
  return {&exchange<static_cast<AtomicOperation>(i), T>...};
}
constexpr auto kExchanges32 = exchanges<uint32_t>(std::make_index_sequence<kOperations>{});
constexpr auto kExchanges64 = exchanges<uint64_t>(std::make_index_sequence<kOperations>{});

// Of one translation: who enters it takes it before he leaves it.
struct Called {
  uint64_t executed = 0;
  std::vector<uint32_t> times;      // by number
  std::vector<uint32_t> not_taken;  // numbers
};
thread_local Called called;

}  // namespace

uint64_t take_called(std::span<std::atomic<uint64_t>> times) {
  for (uint32_t number : called.not_taken)
    times[number].fetch_add(std::exchange(called.times[number], 0), std::memory_order_relaxed);
  called.not_taken.clear();
  return std::exchange(called.executed, 0);
}

uint32_t memory_form(isa::Opcode opcode) {
  return static_cast<uint32_t>(opcode);
}

std::span<const RuntimeSymbol> runtime_symbols() {
  static const bool has_wide = interpreter::best_host_target() == interpreter::HostTarget::x86_64_v4;
  const auto keeping = [](const char* name, KeepingFunction narrow, KeepingFunction wide) {
    return RuntimeSymbol{name, reinterpret_cast<void*>(has_wide ? wide : narrow), true};
  };
  static const RuntimeSymbol symbols[] = {
      keeping("lockstep_translator_allowed", &lockstep_translator_allowed_keeping_v3,
              &lockstep_translator_allowed_keeping_v4),
      keeping("lockstep_translator_global", &lockstep_translator_global_keeping_v3,
              &lockstep_translator_global_keeping_v4),
      keeping("lockstep_translator_flat", &lockstep_translator_flat_keeping_v3,
              &lockstep_translator_flat_keeping_v4),
      keeping("lockstep_translator_store_rows", &lockstep_translator_store_rows_keeping_v3,
              &lockstep_translator_store_rows_keeping_v4),
      keeping("lockstep_translator_forget_paths", &lockstep_translator_forget_paths_keeping_v3,
              &lockstep_translator_forget_paths_keeping_v4),
      {"lockstep_translator_wave_access", reinterpret_cast<void*>(&lockstep_translator_wave_access)},
      {"lockstep_translator_buffer", reinterpret_cast<void*>(&lockstep_translator_buffer)},
      {"lockstep_translator_buffer_atomic", reinterpret_cast<void*>(&lockstep_translator_buffer_atomic)},
      {"lockstep_translator_buffer_format", reinterpret_cast<void*>(&lockstep_translator_buffer_format)},
      {"lockstep_translator_scalar_buffer", reinterpret_cast<void*>(&lockstep_translator_scalar_buffer)},
      {"lockstep_translator_atomic", reinterpret_cast<void*>(&lockstep_translator_atomic)},
      {"lockstep_translator_call", reinterpret_cast<void*>(&lockstep_translator_call)},
      {"lockstep_translator_lds", reinterpret_cast<void*>(&lockstep_translator_lds)},
      {"lockstep_translator_matrix", reinterpret_cast<void*>(&lockstep_translator_matrix)},
      {"lockstep_translator_paths", reinterpret_cast<void*>(&lockstep_translator_paths)},
  };
  return symbols;
}

bool keeps_registers(std::string_view name) {
  return std::ranges::any_of(runtime_symbols(), [&](const RuntimeSymbol& symbol) {
    return symbol.keeps_registers && symbol.name == name;
  });
}

}  // namespace lockstep::translator

using namespace lockstep;
using namespace lockstep::translator;

bool lockstep_translator_allowed(const Context* context, uint32_t slot, uint64_t address, uint64_t bytes,
                                 uint32_t access) {
  // Without a range list all that a process can address is the guest's, but for page 0.
  static const Range everything{4096, uint64_t{1} << 47, kReadWrite, "the process"};
  const Range* range = &everything;
  // Loads of all lanes read for those that are off, too, and then may reach no other mapping than that of
  // the others: what is left beside a buffer of a mapping that nobody has taken back may be gone.
  if (context->memory)
    range = context->memory->find(address, bytes, static_cast<uint8_t>(access), Reaching::one_mapping);
  else if (address < range->begin || address >= range->end || range->end - address < bytes)
    range = nullptr;
  if (!range) return false;
  context->last_range[slot].store(range, std::memory_order_relaxed);
  return true;
}

void lockstep_translator_store_rows(uint64_t begin, const uint32_t* offsets, const uint32_t* rows,
                                    uint32_t rounds, uint32_t lanes, uint32_t dwords) {
  const size_t bytes = dwords * sizeof(uint32_t);
  for (uint32_t round = 0; round < rounds; ++round)
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      std::array<uint32_t, 2> element{};
      for (uint32_t word = 0; word < dwords; ++word)
        element[word] = rows[(round * dwords + word) * lanes + lane];
      auto* place = reinterpret_cast<std::byte*>(begin + offsets[lane] + round * bytes);
      // Two dwords at once, for waves on other threads.
      if (dwords == 2)
        std::memcpy(place, element.data(), 2 * sizeof(uint32_t));
      else
        std::memcpy(place, element.data(), sizeof(uint32_t));
    }
}

uint16_t* lockstep_translator_paths() {
  thread_local const std::unique_ptr<uint16_t[]> paths = std::make_unique<uint16_t[]>(kMostLaneRounds);
  return paths.get();
}

void lockstep_translator_forget_paths() {
  std::fill_n(lockstep_translator_paths(), kMostLaneRounds, uint16_t{0});
}

bool lockstep_translator_global(const Context* context, uint32_t slot, uint32_t form, uint32_t wave_size,
                                uint64_t base, uint64_t exec, const uint32_t* low, const uint32_t* high,
                                uint32_t* data) {
  const AccessShape shape = shape_of(form);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const auto address_of = [&](unsigned lane) {
    return base + (low[lane] | (high ? uint64_t{high[lane]} << 32 : 0));
  };
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) {
    const uint64_t address = address_of(static_cast<unsigned>(std::countr_zero(lanes)));
    if (!is_allowed(context, slot, address, shape.bytes, is_load ? kRead : kWrite)) return false;
  }
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    void* memory = reinterpret_cast<void*>(address_of(lane));
    if (is_load)
      load_lane(shape, memory, data + lane, wave_size);
    else
      store_lane(shape, memory, data + lane, wave_size);
  }
  return true;
}

bool lockstep_translator_flat(Wave* wave, const Context* context, uint32_t slot, uint32_t form, uint64_t base,
                              uint64_t exec, const uint32_t* low, const uint32_t* high, uint32_t* data) {
  const FlatLanes all{wave, shape_of(form), base, exec, low, high, data};
  if (const auto offset = all.scratch_rows()) {
    all.move_rows(*offset);
    return true;
  }
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) {
    const uint64_t address = all.address(static_cast<unsigned>(std::countr_zero(lanes)));
    const auto offset = static_cast<uint32_t>(address);
    const bool is_there =
        interpreter::in_private_aperture(address)
            ? interpreter::in_given_scratch(wave, offset, all.shape.bytes)
        : interpreter::in_shared_aperture(address)
            ? in_lds(wave, offset, all.shape.bytes)
            : is_allowed(context, slot, address, all.shape.bytes, all.is_load() ? kRead : kWrite);
    if (!is_there) return false;
  }
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1)
    all.move(static_cast<unsigned>(std::countr_zero(lanes)));
  return true;
}

bool lockstep_translator_buffer(const Context* context, uint32_t slot, uint32_t form, uint32_t wave_size,
                                uint64_t resource_low, uint64_t resource_high, uint64_t displacement,
                                uint64_t exec, const uint32_t* offsets, const uint32_t* indices,
                                uint32_t* data) {
  const AccessShape shape = shape_of(form);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const memory::BufferResource resource = memory::decode_buffer_resource(
      {static_cast<uint32_t>(resource_low), static_cast<uint32_t>(resource_low >> 32),
       static_cast<uint32_t>(resource_high), static_cast<uint32_t>(resource_high >> 32)});
  const auto sgpr_offset = static_cast<uint32_t>(displacement >> 32);
  // Calls `move` for each part of a lane's data that is in bounds, with its address and place in the data.
  const auto for_each_part = [&](unsigned lane, auto move) {
    const memory::BufferAccess access =
        memory::buffer_access(resource, indices ? indices[lane] : 0, offsets ? offsets[lane] : 0,
                              static_cast<uint32_t>(displacement), lane);
    const auto place_of = [&](unsigned part) -> std::optional<uint64_t> {
      const memory::BufferAccess at{access.index, access.offset + part};
      if (!memory::is_in_range(resource, at, std::min(4u, shape.bytes - part), sgpr_offset))
        return std::nullopt;
      return memory::buffer_address(resource, at, sgpr_offset);
    };
    for (unsigned done = 0, part = 4; !resource.is_unbound() && done < shape.bytes; done += part) {
      const auto place = place_of(done);
      part = 4;
      if (!place) continue;
      part =
          bytes_of_part(shape.bytes - done, *place, [&](unsigned behind) { return place_of(done + behind); });
      if (!move(*place, done, part)) return false;
    }
    return true;
  };
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) {
    const auto may_move = [&](uint64_t address, unsigned, unsigned bytes) {
      return is_allowed(context, slot, address, bytes, is_load ? kRead : kWrite);
    };
    if (!for_each_part(static_cast<unsigned>(std::countr_zero(lanes)), may_move)) return false;
  }
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    std::byte words[16] = {};
    if (!is_load) store_lane(shape, words, data + lane, wave_size);
    for_each_part(lane, [&](uint64_t address, unsigned at, unsigned bytes) {
      void* memory = reinterpret_cast<void*>(address);
      if (is_load)
        copy_part(words + at, memory, bytes);
      else
        copy_part(memory, words + at, bytes);
      return true;
    });
    if (is_load) load_lane(shape, words, data + lane, wave_size);
  }
  return true;
}

bool lockstep_translator_atomic(Wave* wave, const Context* context, uint32_t slot, uint32_t form,
                                uint32_t places, uint64_t base, uint64_t exec, uint32_t* rows) {
  const semantics::AtomicShape& shape = semantics::atomic_shape(static_cast<isa::Opcode>(form));
  const AtomicLanes all{wave, base, exec, rows, (places & 1) != 0, (places & 2) != 0, (places & 4) != 0};
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) {
    const uint64_t address = all.address(static_cast<unsigned>(std::countr_zero(lanes)));
    if (address % shape.bytes != 0) return false;
    if (all.in_lds || (all.is_flat && interpreter::in_shared_aperture(address))) continue;
    // In scratch there are atomics of 4 bytes only (guide 11.1.1).
    const bool is_there =
        all.is_flat && interpreter::in_private_aperture(address)
            ? shape.bytes == 4 && interpreter::in_given_scratch(wave, static_cast<uint32_t>(address), 4)
            : is_allowed(context, slot, address, shape.bytes, kReadWrite);
    if (!is_there) return false;
  }
  const auto operation = static_cast<size_t>(shape.operation);
  (shape.bytes == 8 ? kExchanges64 : kExchanges32)[operation](all);
  return true;
}

bool lockstep_translator_buffer_atomic(Wave* wave, const Context* context, uint32_t slot, uint32_t form,
                                       uint64_t resource_low, uint64_t resource_high, uint64_t displacement,
                                       uint64_t exec, uint32_t places, uint32_t* rows) {
  const semantics::AtomicShape& shape = semantics::atomic_shape(static_cast<isa::Opcode>(form));
  const memory::BufferResource resource = memory::decode_buffer_resource(
      {static_cast<uint32_t>(resource_low), static_cast<uint32_t>(resource_low >> 32),
       static_cast<uint32_t>(resource_high), static_cast<uint32_t>(resource_high >> 32)});
  const auto sgpr_offset = static_cast<uint32_t>(displacement >> 32);
  AtomicLanes inside{wave, 0, 0, rows, false, true, false};
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const memory::BufferAccess access = memory::buffer_access(resource, places & 2 ? inside.word(1, lane) : 0,
                                                              places & 1 ? inside.word(0, lane) : 0,
                                                              static_cast<uint32_t>(displacement), lane);
    if (resource.is_unbound() || !memory::is_in_range(resource, access, shape.bytes, sgpr_offset)) continue;
    const uint64_t address = memory::buffer_address(resource, access, sgpr_offset);
    if (address % shape.bytes != 0 || !is_allowed(context, slot, address, shape.bytes, kReadWrite))
      return false;
    inside.exec |= uint64_t{1} << lane;
    inside.word(0, lane) = static_cast<uint32_t>(address);
    inside.word(1, lane) = static_cast<uint32_t>(address >> 32);
  }
  (shape.bytes == 8 ? kExchanges64 : kExchanges32)[static_cast<size_t>(shape.operation)](inside);
  for (uint64_t lanes = exec & ~inside.exec; lanes != 0; lanes &= lanes - 1)
    for (unsigned word = 0; word < shape.bytes / 4u; ++word)
      inside.word(2 + word, static_cast<unsigned>(std::countr_zero(lanes))) = 0;
  return true;
}

void lockstep_translator_lds(Wave* wave, uint32_t form, uint32_t lanes, const uint32_t* addresses,
                             uint32_t offset, uint32_t* data) {
  const AccessShape shape = shape_of(form);
  for (; lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint32_t at = addresses[lane] + offset;
    const bool inside = in_lds(wave, at, shape.bytes);
    if (shape.kind == AccessShape::Kind::load)
      load_lane(shape, inside ? static_cast<const void*>(wave->lds + at) : kZeros, data + lane, kChunkLanes);
    else if (inside)
      store_lane(shape, wave->lds + at, data + lane, kChunkLanes);
  }
}

void lockstep_translator_matrix(Wave* wave, uint32_t opcode, uint32_t registers, uint32_t modifiers,
                                uint32_t constant) {
  static const interpreter::HandlerTable& table = interpreter::handlers(interpreter::best_host_target());
  const auto chunks = [&](unsigned operand) {
    return reinterpret_cast<U32*>(wave->vgpr(registers >> (8 * operand) & 0xff));
  };
  const interpreter::MatrixProduct product{
      .result = chunks(0),
      .a = chunks(1),
      .b = chunks(2),
      .c = modifiers & kConstantAddend ? nullptr : chunks(3),
      .constant = constant,
      .is_float_constant = (modifiers & kFloatAddend) != 0,
      .neg = static_cast<uint8_t>(modifiers >> MatrixCall::kNeg & 7),
      .neg_hi = static_cast<uint8_t>(modifiers >> MatrixCall::kNegHigh & 7),
      .high = (modifiers & kHighHalves) != 0,
      .clamp = (modifiers & kClamped) != 0,
  };
  table.matrix[opcode](*wave, product);
}

bool lockstep_translator_call(Wave* wave, const Context* context, int64_t offset, uint32_t interpreted) {
  wave->pc = context->entry + static_cast<uint64_t>(offset);
  const int64_t executed = context->stepper->step(*wave);
  // Who called counts it once more.
  wave->executed_before_turn -= executed;
  wave->budget = executed;
  called.executed += static_cast<uint64_t>(executed);
  if (called.times.size() <= interpreted) called.times.resize(interpreted + 1);
  if (called.times[interpreted]++ == 0) called.not_taken.push_back(interpreted);
  return wave->state == WaveState::ready && executed == 1;
}

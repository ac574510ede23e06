#include "engine/translator/runtime.h"

#include <bit>
#include <cstring>
#include <utility>

#include "isa/memory_shape.h"

namespace lockstep::translator {
namespace {

using isa::AccessShape;
using isa::RegisterPart;

constexpr unsigned kChunkLanes = 16;

// The opcode says everything: the shape table is looked up again.
AccessShape shape_of(uint32_t form) {
  return isa::access_shape(static_cast<isa::Opcode>(form));
}

uint32_t extended(const AccessShape& shape, uint32_t raw) {
  if (!shape.sign_extend) return raw;
  return shape.bytes == 1 ? static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(raw)))
                          : static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(raw)));
}

void load_lane(const AccessShape& shape, const void* from, uint32_t* data, unsigned stride) {
  if (shape.bytes >= 4) {
    for (unsigned i = 0; i < shape.bytes / 4u; ++i)
      std::memcpy(data + i * stride, static_cast<const std::byte*>(from) + 4 * i, 4);
    return;
  }
  uint32_t raw = 0;
  std::memcpy(&raw, from, shape.bytes);
  const uint32_t value = extended(shape, raw);
  if (shape.part == RegisterPart::low_half)
    *data = (*data & 0xffff0000u) | (value & 0xffffu);
  else if (shape.part == RegisterPart::high_half)
    *data = (*data & 0xffffu) | value << 16;
  else
    *data = value;
}

void store_lane(const AccessShape& shape, void* to, const uint32_t* data, unsigned stride) {
  if (shape.bytes >= 4) {
    for (unsigned i = 0; i < shape.bytes / 4u; ++i)
      std::memcpy(static_cast<std::byte*>(to) + 4 * i, data + i * stride, 4);
    return;
  }
  const uint32_t value = shape.part == RegisterPart::high_half ? *data >> 16 : *data;
  std::memcpy(to, &value, shape.bytes);
}

constexpr uint32_t kZeros[4] = {};

thread_local uint64_t called = 0;

}  // namespace

uint64_t take_called() {
  return std::exchange(called, 0);
}

uint32_t memory_form(isa::Opcode opcode) {
  return static_cast<uint32_t>(opcode);
}

std::span<const RuntimeSymbol> runtime_symbols() {
  static const RuntimeSymbol symbols[] = {
      {"lockstep_translator_allowed", reinterpret_cast<void*>(&lockstep_translator_allowed)},
      {"lockstep_translator_global", reinterpret_cast<void*>(&lockstep_translator_global)},
      {"lockstep_translator_call", reinterpret_cast<void*>(&lockstep_translator_call)},
      {"lockstep_translator_lds", reinterpret_cast<void*>(&lockstep_translator_lds)},
  };
  return symbols;
}

}  // namespace lockstep::translator

using namespace lockstep;
using namespace lockstep::translator;

bool lockstep_translator_allowed(const Context* context, uint32_t slot, uint64_t address, uint64_t bytes,
                                 uint32_t access) {
  // Without a range list all that a process can address is the guest's, but for page 0.
  static const Range everything{4096, uint64_t{1} << 47, kReadWrite, "the process"};
  const Range* range = &everything;
  const uint64_t version = context->memory ? context->memory->version() : 0;
  if (context->memory)
    range = context->memory->find(address, bytes, static_cast<uint8_t>(access));
  else if (address < range->begin || address >= range->end || range->end - address < bytes)
    range = nullptr;
  if (!range) return false;
  context->last_range[slot].store(range, std::memory_order_relaxed);
  // A range that was unmapped meanwhile must not stay behind what Translator::look_at_memory has forgotten.
  static const Range nothing{1, 1, 0, ""};
  if (context->memory && context->memory->version() != version)
    context->last_range[slot].store(&nothing, std::memory_order_relaxed);
  return true;
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
    const Range* range = context->last_range[slot].load(std::memory_order_relaxed);
    if (address >= range->begin && address < range->end && range->end - address >= shape.bytes) continue;
    if (!lockstep_translator_allowed(context, slot, address, shape.bytes, is_load ? kRead : kWrite))
      return false;
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

void lockstep_translator_lds(Wave* wave, uint32_t form, uint32_t lanes, const uint32_t* addresses,
                             uint32_t offset, uint32_t other_offset, uint32_t* data) {
  const AccessShape shape = shape_of(form);
  const auto in_lds = [&](uint32_t at) {
    return at <= wave->lds_bytes && wave->lds_bytes - at >= shape.bytes;
  };
  for (; lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint32_t at = addresses[lane] + offset;
    const bool inside = in_lds(at);
    if (shape.kind == AccessShape::Kind::load)
      load_lane(shape,
                inside && in_lds(addresses[lane] + other_offset) ? static_cast<const void*>(wave->lds + at)
                                                                 : kZeros,
                data + lane, kChunkLanes);
    else if (inside)
      store_lane(shape, wave->lds + at, data + lane, kChunkLanes);
  }
}

bool lockstep_translator_call(Wave* wave, const Context* context, int64_t offset) {
  wave->pc = context->entry + static_cast<uint64_t>(offset);
  const int64_t executed = context->stepper->step(*wave);
  // Who called counts it once more.
  wave->executed_before_turn -= executed;
  wave->budget = executed;
  called += static_cast<uint64_t>(executed);
  return wave->state == WaveState::ready && executed == 1;
}

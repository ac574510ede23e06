// Loads and stores of whole waves that translated code does not inline. Compiled with AVX2, which every host
// of translated code has.
#include <immintrin.h>

#include <bit>

#include "engine/translator/lane_access.h"
#include "engine/translator/runtime.h"
#include "isa/memory_shape.h"

using namespace lockstep;
using namespace lockstep::translator;

namespace {

using isa::AccessShape;
using Kind = AccessShape::Kind;

constexpr unsigned kMostLanes = 64, kMostWords = 4;

// How far the lanes' places are behind `base` - `begin`, and which of these are above `last`.
struct Offsets {
  alignas(32) uint64_t of_lane[kMostLanes];
  uint64_t beyond = 0;
};

void find_offsets(const uint32_t* low, const uint32_t* high, uint64_t from, uint64_t last, unsigned lanes,
                  Offsets& offsets) {
  const auto four = [](const uint32_t* words) {
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
  };
  // Comparisons are of numbers with a sign.
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN), first = _mm256_set1_epi64x(static_cast<int64_t>(from)),
                most = _mm256_set1_epi64x(static_cast<int64_t>(last) ^ INT64_MIN);
  for (unsigned lane = 0; lane < lanes; lane += 4) {
    __m256i at = _mm256_add_epi64(four(low + lane), first);
    if (high) at = _mm256_add_epi64(at, _mm256_slli_epi64(four(high + lane), 32));
    _mm256_store_si256(reinterpret_cast<__m256i*>(offsets.of_lane + lane), at);
    const __m256i is_beyond = _mm256_cmpgt_epi64(_mm256_xor_si256(at, sign), most);
    offsets.beyond |= uint64_t{static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(is_beyond)))}
                      << lane;
  }
}

// All lanes that are on are in the range; of those that are off nothing is known.
[[gnu::always_inline]] inline void move_lanes(const AccessShape& shape, std::byte* begin,
                                              const Offsets& offsets, uint64_t exec, unsigned lanes,
                                              uint32_t* data) {
  const auto move = [&](unsigned lane) {
    std::byte* const memory = begin + offsets.of_lane[lane];
    if (shape.kind == Kind::load)
      load_lane(shape, memory, data + lane, lanes);
    else
      store_lane(shape, memory, data + lane, lanes);
  };
  if (std::popcount(exec) == static_cast<int>(lanes))
    for (unsigned lane = 0; lane < lanes; ++lane) move(lane);
  else
    for (; exec != 0; exec &= exec - 1) move(static_cast<unsigned>(std::countr_zero(exec)));
}

template <Kind kind, uint8_t bytes>
void move_words(std::byte* begin, const Offsets& offsets, uint64_t exec, unsigned lanes, uint32_t* data) {
  constexpr AccessShape shape{.kind = kind, .bytes = bytes};
  move_lanes(shape, begin, offsets, exec, lanes, data);
}

template <Kind kind>
void move(const AccessShape& shape, std::byte* begin, const Offsets& offsets, uint64_t exec, unsigned lanes,
          uint32_t* data) {
  switch (shape.bytes) {
    case 4:
      return move_words<kind, 4>(begin, offsets, exec, lanes, data);
    case 8:
      return move_words<kind, 8>(begin, offsets, exec, lanes, data);
    case 12:
      return move_words<kind, 12>(begin, offsets, exec, lanes, data);
    case 16:
      return move_words<kind, 16>(begin, offsets, exec, lanes, data);
    default:
      return move_lanes(shape, begin, offsets, exec, lanes, data);
  }
}

// Of lanes that are off the function may leave anything in what it loads.
bool access_flat(Wave* wave, const Context* context, uint32_t slot, uint32_t form, uint64_t base,
                 uint64_t exec, const uint32_t* low, const uint32_t* high, uint32_t* data) {
  const AccessShape& shape = isa::access_shape(static_cast<isa::Opcode>(form));
  const unsigned lanes = wave->wave_size;
  uint32_t words[kMostWords * kMostLanes];
  std::memcpy(words, data, size_t{4} * lanes * shape.registers());
  if (!lockstep_translator_flat(wave, context, slot, form, base, exec, low, high, words)) return false;
  if (shape.kind != Kind::load) return true;
  for (; exec != 0; exec &= exec - 1)
    for (unsigned word = 0; word < shape.registers(); ++word) {
      const unsigned at = word * lanes + static_cast<unsigned>(std::countr_zero(exec));
      data[at] = words[at];
    }
  return true;
}

}  // namespace

bool lockstep_translator_wave_access(Wave* wave, const Context* context, uint32_t slot, uint32_t form,
                                     uint32_t registers, uint64_t base) {
  const AccessShape& shape = isa::access_shape(static_cast<isa::Opcode>(form));
  const WaveAccess access = WaveAccess::of(registers);
  const unsigned lanes = wave->wave_size;
  const uint32_t* const low = wave->vgpr(access.address);
  const uint32_t* const high = access.wide ? low + lanes : nullptr;
  uint32_t* const data = wave->vgpr(access.data);
  const uint64_t exec = wave->mask(kScalarExec);
  const Range* const range = context->last_range[slot].load(std::memory_order_relaxed);
  const uint64_t size = range->end - range->begin;
  if (size >= shape.bytes) {
    Offsets offsets;
    find_offsets(low, high, base - range->begin, size - shape.bytes, lanes, offsets);
    if ((offsets.beyond & exec) == 0) {
      auto* const begin = reinterpret_cast<std::byte*>(range->begin);
      if (shape.kind == Kind::load)
        move<Kind::load>(shape, begin, offsets, exec, lanes, data);
      else
        move<Kind::store>(shape, begin, offsets, exec, lanes, data);
      return true;
    }
  }
  if (access.is_flat) return access_flat(wave, context, slot, form, base, exec, low, high, data);
  return lockstep_translator_global(context, slot, form, lanes, base, exec, low, high, data);
}

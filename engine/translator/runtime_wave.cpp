// Loads and stores of whole waves that translated code does not inline. Compiled with AVX2, which every host
// of translated code has.
#include <immintrin.h>

#include <array>
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

// Of each lane, how far its place is behind that of a range's begin.
using Offsets = std::array<uint64_t, kMostLanes>;

// `from`: of the base. Gives back which are above `last`, as bits.
uint64_t find_offsets(const uint32_t* low, const uint32_t* high, uint64_t from, uint64_t last, unsigned lanes,
                      Offsets& offsets) {
  const auto four = [](const uint32_t* words) {
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
  };
  // Comparisons are of numbers with a sign.
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN), first = _mm256_set1_epi64x(static_cast<int64_t>(from)),
                most = _mm256_set1_epi64x(static_cast<int64_t>(last) ^ INT64_MIN);
  uint64_t beyond = 0;
  for (unsigned lane = 0; lane < lanes; lane += 4) {
    __m256i at = _mm256_add_epi64(four(low + lane), first);
    if (high) at = _mm256_add_epi64(at, _mm256_slli_epi64(four(high + lane), 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(&offsets[lane]), at);
    const __m256i is_beyond = _mm256_cmpgt_epi64(_mm256_xor_si256(at, sign), most);
    beyond |= uint64_t{static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(is_beyond)))} << lane;
  }
  return beyond;
}

struct Lanes {
  std::byte* begin;
  const uint64_t* offsets;
  uint64_t exec;
  unsigned count;
  uint32_t* data;
};

// All lanes that are on are in the range; of those that are off nothing is known. A function for each size:
// what is asked of a shape at each lane takes four times as long as the moves.
template <Kind kind, uint8_t bytes>
void move(AccessShape shape, const Lanes& all) {
  if constexpr (bytes >= 4) shape = {.kind = kind, .bytes = bytes};
  shape.kind = kind;
  shape.bytes = bytes;
  std::byte* const begin = all.begin;
  const uint64_t* const offsets = all.offsets;
  uint32_t* const data = all.data;
  const unsigned count = all.count;
  const auto move = [=](unsigned lane) __attribute__((always_inline)) {
    if constexpr (kind == Kind::load)
      load_lane(shape, begin + offsets[lane], data + lane, count);
    else
      store_lane(shape, begin + offsets[lane], data + lane, count);
  };
  if (std::popcount(all.exec) == static_cast<int>(count))
    for (unsigned lane = 0; lane < count; ++lane) move(lane);
  else
    for (uint64_t left = all.exec; left != 0; left &= left - 1)
      move(static_cast<unsigned>(std::countr_zero(left)));
}

template <Kind kind>
void move(const AccessShape& shape, const Lanes& all) {
  switch (shape.bytes) {
    case 1:
      return move<kind, 1>(shape, all);
    case 2:
      return move<kind, 2>(shape, all);
    case 4:
      return move<kind, 4>(shape, all);
    case 8:
      return move<kind, 8>(shape, all);
    case 12:
      return move<kind, 12>(shape, all);
    default:
      return move<kind, 16>(shape, all);
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
    const uint64_t beyond = find_offsets(low, high, base - range->begin, size - shape.bytes, lanes, offsets);
    if ((beyond & exec) == 0) {
      const Lanes all{reinterpret_cast<std::byte*>(range->begin), offsets.data(), exec, lanes, data};
      if (shape.kind == Kind::load)
        move<Kind::load>(shape, all);
      else
        move<Kind::store>(shape, all);
      return true;
    }
  }
  if (access.is_flat) return access_flat(wave, context, slot, form, base, exec, low, high, data);
  return lockstep_translator_global(context, slot, form, lanes, base, exec, low, high, data);
}

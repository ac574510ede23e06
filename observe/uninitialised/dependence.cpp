#include "observe/uninitialised/dependence.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/scalar_operand.h"

namespace lockstep::observe {

namespace code = isa::code;
using isa::RegisterUse;

namespace {

constexpr uint32_t kEndProgram = 0xbfb00000;  // s_endpgm
constexpr unsigned kFirstOfItsOwn = 6;        // the fillings before give every register and lane the same
constexpr unsigned kPartner = 7;              // the filling with what the other operand has

// Zero, all ones, the greatest and least integers and numbers, and noise: what comparisons, sums and
// selections by unwritten bits show themselves with.
uint32_t filling_value(unsigned filling, unsigned reg, unsigned lane) {
  switch (filling) {
    case 0:
      return 0;
    case 1:
      return ~0u;
    case 2:
      return 0x7fffffff;
    case 3:
      return 0x80000000;
    case 4:
      return 0x7bff7bff;  // a great f32, and two great f16
    case 5:
      return 0xfbfffbff;
    default:
      return (reg * 0x9e3779b9u) ^ (lane * 0x85ebca6bu) ^ 0x3f5a1c2du;
  }
}

// Between lanes, by selectors that have values.
bool only_moves(const Event& event, const WaveShadow& shadow) {
  const isa::Instruction& instruction = event.instruction;
  switch (instruction.row->opcode) {
    case isa::Opcode::v_permlane16_b32:
    case isa::Opcode::v_permlanex16_b32:
      break;
    default:
      return false;
  }
  for (const isa::Role role : {isa::Role::src1, isa::Role::src2}) {
    const isa::Operand& selector = *instruction.find(role);
    if (selector.is_vgpr() || shadow.scalar(selector.code) != 0) return false;
  }
  return shadow.scalar(code::kExecLo) == 0 && shadow.scalar(code::kExecHi) == 0;
}

// The summands of a sum; with a product its two factors and what is added to it. None: it is another
// instruction, or changes the sum.
struct SumOperands {
  std::array<const isa::Operand*, 3> list{};
  unsigned count = 0;
  bool is_product = false;
};

SumOperands sum_operands(const isa::Instruction& instruction) {
  if (instruction.row_y || instruction.dpp != isa::Dpp::none || instruction.clamp || instruction.omod != 0)
    return {};
  const auto find = [&](isa::Role role) { return instruction.find(role); };
  switch (instruction.row->opcode) {
    case isa::Opcode::v_add_f32:
    case isa::Opcode::v_sub_f32:
    case isa::Opcode::v_subrev_f32:
      return {{find(isa::Role::src0), find(isa::Role::src1)}, 2, false};
    case isa::Opcode::v_fma_f32:
      return {{find(isa::Role::src0), find(isa::Role::src1), find(isa::Role::src2)}, 3, true};
    case isa::Opcode::v_fmac_f32:
      return {{find(isa::Role::src0), find(isa::Role::src1), find(isa::Role::dst)}, 3, true};
    default:
      return {};
  }
}

}  // namespace

Dependence::Dependence(unsigned wave_size, unsigned vgpr_count)
    : wave_size_(wave_size),
      vgpr_count_(vgpr_count),
      code_(static_cast<uint32_t*>(std::calloc(kCodeDwords, sizeof(uint32_t))), &std::free),
      registers_(nullptr, &std::free) {
  if (!code_) throw std::bad_alloc();
  const auto begin = reinterpret_cast<uint64_t>(code_.get());
  engine_ = std::make_unique<interpreter::Interpreter>(
      std::vector<CodeRange>{{begin, begin + 4 * kCodeDwords}}, wave_size,
      std::make_shared<const RangeSet>(std::vector<Range>{}), interpreter::best_host_target(), vgpr_count);
  const size_t bytes = size_t{kMaxVgprs + kEngineVgprs} * wave_size * 4;
  registers_.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
  if (!registers_) throw std::bad_alloc();
  std::memset(registers_.get(), 0, bytes);
  wave_ = std::make_unique<Wave>();
  initialise_wave(*wave_, wave_size, registers_.get());
  reset_wave(*wave_, vgpr_count);
}

Dependence::~Dependence() = default;

uint64_t Dependence::place_of(const Event& event) {
  const auto [entry, is_new] = places_.try_emplace(&event.instruction);
  if (!is_new) return entry->second;
  const size_t dwords = event.instruction.size / 4u;
  if (used_ + dwords + 2 > kCodeDwords) return 0;
  uint32_t* const place = code_.get() + used_;
  std::memcpy(place, reinterpret_cast<const void*>(event.pc), event.instruction.size);
  place[dwords] = kEndProgram;
  entry->second = reinterpret_cast<uint64_t>(place);
  used_ += dwords + 1;
  return entry->second;
}

Dependence::Values Dependence::partner_of(const Event& event, const RegisterUse& use, unsigned word) const {
  if (use.operand == RegisterUse::kImplied) return {};
  const isa::Instruction& instruction = event.instruction;
  const isa::Role role = instruction.operands[use.operand].role;
  const isa::Operand* const partner =
      instruction.find(role == isa::Role::src0 ? isa::Role::src1 : isa::Role::src0);
  if (!partner) return {};
  if (!partner->is_vgpr())
    return {.all = static_cast<uint32_t>(scalar_value(event.wave, *partner, instruction) >> (word % 2 * 32))};
  if (partner->vgpr() + word >= vgpr_count_) return {};
  return {.lanes = reinterpret_cast<const uint32_t*>(
              event.wave.vgprs + (partner->vgpr() + word) * size_t{event.wave.register_bytes})};
}

// What stays the same whatever is filled in.
void Dependence::prepare(const Event& event, const RegisterUse& use, bool is_written,
                         const WaveShadow& shadow) {
  for (unsigned number = use.first; number < use.end(); ++number) {
    const bool is_vgpr = number >= code::kVgpr0;
    const unsigned vgpr = number - code::kVgpr0;
    if (is_vgpr ? vgpr >= vgpr_count_ : number >= WaveShadow::kScalars) continue;
    Register& made = registers_used_.emplace_back();
    made.number = number;
    made.is_written = is_written;
    made.partner = partner_of(event, use, number - use.first);
    if (!is_vgpr) {
      made.is_open = shadow.scalar(number) != 0;
      continue;
    }
    made.is_open = shadow.lanes(vgpr) != 0;
    const auto* const held =
        reinterpret_cast<const uint32_t*>(event.wave.vgprs + vgpr * size_t{event.wave.register_bytes});
    if (!made.is_open) {
      std::memcpy(made.known.data(), held, wave_size_ * sizeof *held);
      continue;
    }
    shadow.get_vgpr(vgpr, made.open.data());
    for (unsigned lane = 0; lane < wave_size_; ++lane) made.known[lane] = held[lane] & ~made.open[lane];
  }
}

void Dependence::fill(const Event& event, const WaveShadow& shadow, unsigned filling) {
  const Wave& from = event.wave;
  Wave& to = *wave_;
  std::memcpy(to.scalar, from.scalar, 128 * sizeof to.scalar[0]);
  to.scalar[kScalarScc] = from.scalar[kScalarScc];
  to.mode = from.mode;
  to.status = from.status;
  to.group = from.group;
  for (const Register& each : registers_used_) {
    const unsigned number = each.number;
    if (number < code::kVgpr0) {
      const uint32_t bits = shadow.scalar(number);
      const uint32_t value = filling == kPartner ? each.partner.of(0) : filling_value(filling, number, 0);
      to.scalar[number] = (to.scalar[number] & ~bits) | (value & bits);
      continue;
    }
    // What has a value and is only read is there since the first one.
    if (filling != 0 && !each.is_open && !each.is_written) continue;
    uint32_t* const lanes = to.vgpr(number - code::kVgpr0);
    if (!each.is_open) {
      std::memcpy(lanes, each.known.data(), wave_size_ * sizeof *lanes);
    } else if (filling < kFirstOfItsOwn) {
      const uint32_t value = filling_value(filling, number, 0);
      for (unsigned lane = 0; lane < wave_size_; ++lane)
        lanes[lane] = each.known[lane] | (value & each.open[lane]);
    } else {
      for (unsigned lane = 0; lane < wave_size_; ++lane) {
        const uint32_t value =
            filling == kPartner ? each.partner.of(lane) : filling_value(filling, number, lane);
        lanes[lane] = each.known[lane] | (value & each.open[lane]);
      }
    }
  }
}

// Below 2^24 a sum can be brought below 2 by what is added, or made as great as one likes, so that each bit
// of the exponent can be 0 and 1; the sign and the rest then follow what is added.
bool Dependence::follow_sum(const Event& event, const isa::RegisterEffects& effects,
                            WaveShadow& shadow) const {
  const isa::Instruction& instruction = event.instruction;
  const SumOperands operands = sum_operands(instruction);
  if (operands.count == 0 || effects.writes.size() != 1 || effects.writes.begin()->count != 1) return false;
  const unsigned to = effects.writes.begin()->first - code::kVgpr0;
  if (effects.writes.begin()->first < code::kVgpr0 || to >= vgpr_count_) return false;
  const uint64_t exec = event.wave.exec();
  uint64_t open = 0;
  std::array<Values, 2> rest;  // the factors, or the other summand
  unsigned rest_count = 0;
  for (unsigned i = 0; i < operands.count; ++i) {
    const isa::Operand& operand = *operands.list[i];
    if (!operand.is_vgpr()) {
      if (rest_count == rest.size() ||
          (operand.code < WaveShadow::kScalars && shadow.scalar(operand.code) != 0))
        return false;
      rest[rest_count++].all = static_cast<uint32_t>(scalar_value(event.wave, operand, instruction));
      continue;
    }
    if (operand.vgpr() >= vgpr_count_) return false;
    const uint64_t lacking = shadow.lanes(operand.vgpr()) & exec;
    const bool may_be_addend = !operands.is_product || i == 2;
    if (lacking != 0) {
      if (open != 0 || !may_be_addend || operand.abs || !shadow.lacks_all(operand.vgpr(), lacking))
        return false;
      open = lacking;
    } else if (!operands.is_product || i < 2) {
      if (rest_count == rest.size()) return false;
      rest[rest_count++].lanes = reinterpret_cast<const uint32_t*>(
          event.wave.vgprs + operand.vgpr() * size_t{event.wave.register_bytes});
    }
  }
  if (open == 0 || rest_count != operands.count - 1) return false;
  constexpr unsigned kBias = 127, kSpecial = 255, kMost = kBias + 23;
  for (uint64_t left = open; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    unsigned sum = 0;
    for (unsigned i = 0; i < rest_count; ++i) {
      const unsigned exponent = rest[i].of(lane) >> 23 & 0xff;
      if (exponent == kSpecial) return false;
      sum += exponent;
    }
    // A product is less than two to the sum of its factors' exponents and two.
    if (sum > (operands.is_product ? kMost + kBias - 1 : kMost)) return false;
  }
  shadow.clear_lanes(to, exec & ~open);
  for (uint64_t left = open; left != 0; left &= left - 1)
    shadow.set_vgpr(to, static_cast<unsigned>(std::countr_zero(left)), ~0u);
  return true;
}

bool Dependence::follow(const Event& event, const isa::RegisterEffects& effects, WaveShadow& shadow) {
  if (follow_sum(event, effects, shadow)) return true;
  const uint64_t place = place_of(event);
  if (place == 0) return false;
  const unsigned fillings = only_moves(event, shadow) ? kOppositeFillings : kFillings;
  registers_used_.clear();
  // What is left of a destination as it was depends on that.
  for (const RegisterUse& use : effects.writes) prepare(event, use, true, shadow);
  for (const RegisterUse& use : effects.reads) prepare(event, use, false, shadow);
  size_t count = 0;
  for (const RegisterUse& use : effects.writes)
    for (unsigned number = use.first; number < use.end(); ++number)
      count += number < code::kVgpr0 ? 1 : number - code::kVgpr0 < vgpr_count_ ? wave_size_ : 0;
  first_.resize(count);
  differs_.assign(count, 0);
  for (unsigned filling = 0; filling < fillings; ++filling) {
    fill(event, shadow, filling);
    wave_->state = WaveState::ready;
    wave_->executed_before_turn = 0;
    if (!engine_->enter(*wave_, place)) return false;
    engine_->run(*wave_, 2);
    if (wave_->state != WaveState::ended) return false;
    size_t at = 0;
    const auto take = [&](const uint32_t* results, unsigned words) {
      uint32_t *const first = &first_[at], *const differs = &differs_[at];
      if (filling == 0)
        std::copy_n(results, words, first);
      else
        for (unsigned i = 0; i < words; ++i) differs[i] |= results[i] ^ first[i];
      at += words;
    };
    for (const RegisterUse& use : effects.writes)
      for (unsigned number = use.first; number < use.end(); ++number) {
        if (number < code::kVgpr0)
          take(&wave_->scalar[number], 1);
        else if (number - code::kVgpr0 < vgpr_count_)
          take(wave_->vgpr(number - code::kVgpr0), wave_size_);
      }
  }
  const uint32_t* at = differs_.data();
  for (const RegisterUse& use : effects.writes)
    for (unsigned number = use.first; number < use.end(); ++number) {
      if (number < code::kVgpr0) {
        if (number < WaveShadow::kScalars) shadow.set_scalar(number, *at);
        ++at;
      } else if (number - code::kVgpr0 < vgpr_count_) {
        shadow.set_vgpr(number - code::kVgpr0, at);
        at += wave_size_;
      }
    }
  return true;
}

}  // namespace lockstep::observe

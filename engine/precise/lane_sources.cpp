#include "engine/precise/lane_sources.h"

#include "semantics/cross_lane.h"

namespace lockstep::precise {

namespace {

namespace code = isa::code;
using isa::Role;
using isa::Type;

bool is_64_bit(Type type) {
  return type == Type::b64 || type == Type::u64 || type == Type::i64 || type == Type::f64;
}

uint64_t literal_of(const isa::Instruction& instruction, Type type) {
  if (type == Type::f64) return uint64_t{instruction.literal} << 32;
  if (type == Type::i64) return static_cast<uint64_t>(int64_t{static_cast<int32_t>(instruction.literal)});
  return instruction.literal;
}

semantics::RowShuffle row_shuffle(const isa::Instruction& instruction) {
  return instruction.dpp == isa::Dpp::dpp8 ? semantics::dpp8_row_shuffle(instruction.dpp8_selectors)
                                           : semantics::dpp16_row_shuffle(instruction.dpp_control);
}

}  // namespace

LaneReader::LaneReader(const Wave& wave, const isa::Instruction& instruction, bool y_half)
    : wave_(wave),
      instruction_(instruction),
      first_(y_half ? instruction.first_y_operand : 0),
      end_(instruction.row_y && !y_half ? instruction.first_y_operand : instruction.operand_count) {
  choose_lanes();
}

void LaneReader::choose_lanes() {
  if (instruction_.row_y && wave_.wave_size == 64) return;
  for (unsigned i = 0; i < instruction_.operand_count; ++i) {
    const isa::Operand& operand = instruction_.operands[i];
    if (operand.written && operand.is_vgpr() && operand.vgpr() + operand.words > wave_.vgpr_count) return;
  }
  lanes_ = wave_.exec();
  if (instruction_.dpp != isa::Dpp::dpp16) return;  // DPP8 writes every active lane
  for (unsigned lane = 0; lane < wave_.wave_size; ++lane) {
    const bool enabled =
        instruction_.row_mask >> lane / 16 & 1 && instruction_.bank_mask >> lane % 16 / 4 & 1;
    if (!enabled || (!instruction_.bound_control && dpp_source(lane) < 0)) lanes_ &= ~(uint64_t{1} << lane);
  }
}

int LaneReader::dpp_source(unsigned lane) const {
  const semantics::RowShuffle shuffle = row_shuffle(instruction_);
  if (!(shuffle.in_row >> lane % 16 & 1)) return -1;
  const unsigned source = lane / 16 * 16 + shuffle.source[lane % 16];
  return instruction_.fetch_inactive || wave_.exec() >> source & 1 ? static_cast<int>(source) : -1;
}

// The places of constants of other widths are those of state/wave.h.
uint64_t LaneReader::scalar(const isa::Operand& operand) const {
  const uint16_t number = operand.code;
  const bool is_float = number >= code::kFloatHalf && number <= code::kInverseTwoPi;
  if (number == code::kLiteral) return literal_of(instruction_, operand.type);
  if (number == code::kNull) return 0;
  if (number == code::kVccz) return wave_.mask(code::kVccLo) == 0;
  if (number == code::kExecz) return wave_.exec() == 0;
  if (!is_64_bit(operand.type)) {
    const bool is_half = operand.type == Type::f16 || operand.type == Type::pk_f16;
    return wave_.scalar[is_half && is_float ? kScalarHalf + number - code::kFloatHalf : number];
  }
  if (number >= code::kInt0 && number <= code::kIntNegativeLast)
    return wave_.scalar64(kScalarWideInteger + 2u * (number - code::kInt0));
  if (is_float) return wave_.scalar64(kScalarDouble + 2u * (number - code::kFloatHalf));
  if (number >= code::kSharedBase && number <= code::kPrivateLimit)
    return wave_.scalar64(kScalarAperture + 2u * (number - code::kSharedBase));
  if (number == code::kScc) return wave_.scalar[code::kScc];
  return wave_.scalar64(number & ~1u);
}

uint64_t LaneReader::read(const isa::Operand& operand, unsigned lane) const {
  if (!operand.is_vgpr()) return scalar(operand);
  // Out of range reads VGPR 0, dual issue the number modulo 4 (guide 3.3.2.2).
  unsigned number = operand.vgpr();
  if (number + operand.words > wave_.vgpr_count) number = instruction_.row_y ? number % 4 : 0;
  if (instruction_.dpp != isa::Dpp::none && operand.role == Role::src0) {
    const int source = dpp_source(lane);
    if (source < 0) return 0;
    lane = static_cast<unsigned>(source);
  }
  const auto word = [&](unsigned i) {
    return reinterpret_cast<const uint32_t*>(wave_.vgprs + size_t{number + i} * wave_.register_bytes)[lane];
  };
  return operand.words == 2 ? word(0) | uint64_t{word(1)} << 32 : word(0);
}

semantics::LaneSources LaneReader::sources(unsigned lane) const {
  semantics::LaneSources result;
  for (unsigned i = first_; i < end_; ++i) {
    const isa::Operand& operand = instruction_.operands[i];
    if (!operand.read) continue;
    switch (operand.role) {
      case Role::src0:
      case Role::src1:
      case Role::src2:
        result.source[static_cast<size_t>(operand.role) - static_cast<size_t>(Role::src0)] =
            read(operand, lane);
        break;
      case Role::dst:
        result.old_destination = read(operand, lane);
        break;
      default:
        break;
    }
  }
  result.vcc = wave_.mask(code::kVccLo) >> lane & 1;
  return result;
}

}  // namespace lockstep::precise

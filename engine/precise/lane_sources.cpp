#include "engine/precise/lane_sources.h"

#include "engine/scalar_operand.h"
#include "isa/effects.h"
#include "semantics/cross_lane.h"
#include "state/trap_status.h"

namespace lockstep::precise {

namespace {

namespace code = isa::code;
using isa::Role;

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
  if (isa::has_lost_destination(instruction_, wave_.vgpr_count,
                                (wave_.status & status_bit::kPrivileged) != 0))
    return;
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

uint64_t LaneReader::read(const isa::Operand& operand, unsigned lane) const {
  if (!operand.is_vgpr()) return scalar_value(wave_, operand, instruction_);
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

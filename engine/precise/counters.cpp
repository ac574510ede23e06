#include "engine/precise/counters.h"

#include <algorithm>

#include "engine/scalar_operand.h"
#include "isa/effects.h"
#include "isa/row_facts.h"

namespace lockstep::precise {

using isa::Opcode;

const char* name(CounterName counter) {
  static constexpr const char* kNames[] = {"vmcnt", "vscnt", "lgkmcnt", "expcnt"};
  return kNames[static_cast<unsigned>(counter)];
}

uint32_t ib_sts(const Counts& counts) {
  return counts[CounterName::expcnt] | counts[CounterName::lgkmcnt] << 4 | counts[CounterName::vmcnt] << 10 |
         counts[CounterName::vscnt] << 26;
}

namespace {

Kind lgkm_kind(const isa::Instruction& instruction) {
  switch (instruction.row->encoding) {
    case isa::Encoding::smem:
      return Kind::scalar;
    case isa::Encoding::sop1:
      return Kind::message;
    default:
      return instruction.gds || instruction.row->flags & isa::kGdsOnly ? Kind::gds : Kind::lds;
  }
}

Kind load_kind(const isa::Instruction& instruction) {
  switch (instruction.row->clause) {
    case isa::Clause::image_sample:
      return Kind::vector_sample;
    case isa::Clause::bvh:
      return Kind::vector_bvh;
    default:
      return Kind::vector_load;
  }
}

// Scalar loads of several dwords count twice, as they may come in two parts (guide 8.2); messages that
// return data when they are sent and when the answer is there (5.3).
uint8_t lgkm_amount(const isa::Instruction& instruction) {
  switch (instruction.row->opcode) {
    case Opcode::s_load_b32:
    case Opcode::s_buffer_load_b32:
    case Opcode::s_dcache_inv:
    case Opcode::s_gl1_inv:
    case Opcode::s_atc_probe:
    case Opcode::s_atc_probe_buffer:
      return 1;
    case Opcode::s_sendmsg_rtn_b32:
    case Opcode::s_sendmsg_rtn_b64:
      return 2;
    default:
      return instruction.row->encoding == isa::Encoding::smem ? 2 : 1;
  }
}

}  // namespace

Shares shares_of(const isa::Instruction& instruction) {
  const Share load{load_kind(instruction), CounterName::vmcnt}, store{Kind::vector_store, CounterName::vscnt};
  const Share lgkm{lgkm_kind(instruction), CounterName::lgkmcnt, lgkm_amount(instruction)};
  switch (instruction.row->opcode) {
    case Opcode::buffer_gl0_inv:
    case Opcode::buffer_gl1_inv:
      return {};  // nothing returns, and what follows is behind it in the same path (open)
    case Opcode::s_sendmsg:
    case Opcode::s_sendmsghalt:
      return {{Share{Kind::message, CounterName::lgkmcnt}}, 1};
    default:
      break;
  }
  switch (isa::counter_of(instruction)) {
    case isa::Counter::none:
      return {};
    case isa::Counter::vmcnt:
      return {{load}, 1};
    case isa::Counter::vscnt:
      return {{store}, 1};
    case isa::Counter::lgkmcnt:
      return {{lgkm}, 1};
    case isa::Counter::expcnt: {
      const bool exports = instruction.row->encoding == isa::Encoding::exp;
      return {{Share{exports ? Kind::export_ : Kind::parameter, CounterName::expcnt}}, 1};
    }
    case isa::Counter::vmcnt_and_lgkmcnt:
      return {{load, lgkm}, 2};
    case isa::Counter::vscnt_and_lgkmcnt:
      return {{store, lgkm}, 2};
  }
  return {};
}

bool may_be_put_off(const isa::Instruction& instruction) {
  switch (instruction.row->encoding) {
    case isa::Encoding::ds:
      return !instruction.gds && !(instruction.row->flags & isa::kGdsOnly);
    case isa::Encoding::smem:
    case isa::Encoding::ldsdir:
    case isa::Encoding::flat:
    case isa::Encoding::global:
    case isa::Encoding::scratch:
    case isa::Encoding::mubuf:
    case isa::Encoding::mtbuf:
      return true;
    default:
      return false;
  }
}

bool is_without_lanes(const isa::Instruction& instruction, const Wave& wave) {
  return wave.exec() == 0 && may_be_put_off(instruction) && instruction.row->encoding != isa::Encoding::smem;
}

std::optional<Counts> limits_of(const isa::Instruction& instruction, const Wave& wave) {
  Counts limits = kGreatest;
  const auto one = [&](CounterName counter) {
    // The sum wraps at the counter's width (guide 16.2, S_WAITCNT_VMCNT).
    const uint64_t sum = scalar_value(wave, instruction.operands[0], instruction) +
                         static_cast<uint64_t>(instruction.operands[1].value);
    limits[counter] = static_cast<uint32_t>(sum) & kGreatest[counter];
    return limits;
  };
  switch (instruction.row->opcode) {
    case Opcode::s_waitcnt: {
      const auto fields = static_cast<uint32_t>(instruction.operands[0].value);
      limits[CounterName::expcnt] = fields & 7;
      limits[CounterName::lgkmcnt] = fields >> 4 & 63;
      limits[CounterName::vmcnt] = fields >> 10 & 63;
      return limits;
    }
    case Opcode::s_waitcnt_vmcnt:
      return one(CounterName::vmcnt);
    case Opcode::s_waitcnt_vscnt:
      return one(CounterName::vscnt);
    case Opcode::s_waitcnt_lgkmcnt:
      return one(CounterName::lgkmcnt);
    case Opcode::s_waitcnt_expcnt:
      return one(CounterName::expcnt);
    case Opcode::s_wait_idle:
    case Opcode::s_endpgm:
    case Opcode::s_endpgm_saved:
    case Opcode::s_endpgm_ordered_ps_done:
      return Counts{};
    case Opcode::s_setkill:
      if (instruction.operands[0].value & 1) return Counts{};
      break;
    default:
      break;
  }
  if (instruction.row->encoding == isa::Encoding::vinterp && instruction.wait_exp != 7) {
    limits[CounterName::expcnt] = instruction.wait_exp;
    return limits;
  }
  return std::nullopt;
}

unsigned depctr_va_vdst(const isa::Instruction& instruction) {
  return static_cast<uint32_t>(instruction.operands[0].value) >> 12 & 15;
}
unsigned depctr_vm_vsrc(const isa::Instruction& instruction) {
  return static_cast<uint32_t>(instruction.operands[0].value) >> 2 & 7;
}
unsigned depctr_sa_sdst(const isa::Instruction& instruction) {
  return static_cast<uint32_t>(instruction.operands[0].value) & 1;
}

bool may_wait(const isa::Instruction& instruction) {
  return instruction.row->flags & (isa::kWait | isa::kEndsWave) ||
         instruction.row->encoding == isa::Encoding::vinterp || instruction.row->opcode == Opcode::s_setkill;
}

Counts limits_at_issue(const std::optional<Counts>& waited, const Shares& shares) {
  Counts limits = waited.value_or(kGreatest);
  for (const Share& share : shares)
    limits[share.counter] = std::min(limits[share.counter], kGreatest[share.counter] - share.amount);
  return limits;
}

}  // namespace lockstep::precise

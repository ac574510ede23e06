// LDSDIR, the loads that feed interpolation (guide 12.2.1, 12.4), and the stack of ray traversal (12.5.3).
#include <bit>

#include "engine/interpreter/common.h"
#include "engine/interpreter/lane_address.h"
#include "engine/interpreter/registration.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;

// Reads past the allocation give zero, as all LDS reads (guide 3.3.4.1).
template <class T>
T read_lds(const Wave* wave, uint64_t offset) {
  T value{};
  if (in_lds(wave, offset, sizeof value)) __builtin_memcpy(&value, wave->lds + offset, sizeof value);
  return value;
}

void lds_direct_load(const Operation* op, Wave* wave, int64_t budget) {
  const uint32_t m0 = wave->scalar[isa::code::kM0];
  const uint32_t address = direct_load_address(wave);
  if (!in_lds(wave, address, 4) && context_of(wave)->modes.reports_lds_out_of_range)
    return raise_lds_violation(op, wave, budget, -1, address, 4, kRead);
  uint32_t value;
  switch (m0 >> 16 & 7) {
    case 0:
      value = read_lds<uint8_t>(wave, address);
      break;
    case 1:
      value = read_lds<uint16_t>(wave, address);
      break;
    case 2:
      value = read_lds<uint32_t>(wave, address);
      break;
    case 4:
      value = static_cast<uint32_t>(int32_t{read_lds<int8_t>(wave, address)});
      break;
    case 5:
      value = static_cast<uint32_t>(int32_t{read_lds<int16_t>(wave, address)});
      break;
    default: {
      Fault fault;
      fault.kind = FaultKind::illegal_instruction;
      fault.message = "lds_direct_load with data type " + std::to_string(m0 >> 16 & 7) +
                      " in M0[18:16], which is reserved";
      return raise(op, wave, budget, std::move(fault));
    }
  }
  for (uint64_t lanes = whole_quads(wave->exec()); lanes != 0; lanes &= lanes - 1)
    vgpr_lanes(wave, op->dst)[std::countr_zero(lanes)] = value;
  LOCKSTEP_NEXT();
}

// P0, P10 and P20 of the quad's primitive go to lanes 0, 1 and 2 of the quad, zero to lane 3 (guide 12.1.3,
// 16.11).
void lds_param_load(const Operation* op, Wave* wave, int64_t budget) {
  each_parameter_quad(op, wave, [&](uint32_t first_lane, uint64_t address) {
    uint32_t* lanes = vgpr_lanes(wave, op->dst) + first_lane;
    for (uint32_t vertex = 0; vertex < 3; ++vertex)
      lanes[vertex] = read_lds<uint32_t>(wave, address + vertex * kVertexBytes);
    lanes[3] = 0;
  });
  LOCKSTEP_NEXT();
}

// ds_bvh_stack_rtn_b32: pushes up to three node pointers onto the lane's ring of dwords in LDS and returns
// the fourth, or pops. The guide's outline pops before it decrements, which would not undo a push; here the
// index moves back first (open).
void ds_bvh_stack(const Operation* op, Wave* wave, int64_t budget) {
  constexpr uint32_t kInvalid = 0xffffffffu;
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    uint32_t& packed = vgpr_lanes(wave, op->source[0])[lane];
    const auto [base, ring_bytes] = stack_ring(op, wave, lane);
    uint32_t index = packed & 0xfffc & (ring_bytes - 1);
    const uint32_t last = vgpr_lanes(wave, op->source[1])[lane];
    auto valid = [&](uint32_t node) { return node != kInvalid && node != last; };
    auto slot = [&](uint32_t at) -> std::byte* {
      const uint32_t offset = base + at;
      return in_lds(wave, offset, 4) ? wave->lds + offset : nullptr;
    };
    uint32_t nodes[4];
    for (unsigned i = 0; i < 4; ++i)
      nodes[i] = vgpr_lanes(wave, op->source[2] + i * wave->register_bytes)[lane];
    for (unsigned i = 0; i < 3; ++i) {
      if (valid(nodes[i])) {
        if (std::byte* to = slot(index)) __builtin_memcpy(to, &nodes[i], 4);
        index = (index + 4) & (ring_bytes - 1);
      } else if (nodes[i] == last) {
        break;
      }
    }
    uint32_t result = nodes[3];
    if (!valid(result)) {
      index = (index - 4) & (ring_bytes - 1);
      result = kInvalid;
      if (std::byte* top = slot(index)) {
        __builtin_memcpy(&result, top, 4);
        __builtin_memcpy(top, &kInvalid, 4);
      }
    }
    vgpr_lanes(wave, op->dst)[lane] = result;
    packed = (packed & 0xffff0000u) | index;
  }
  LOCKSTEP_NEXT();
}

}  // namespace

void LOCKSTEP_REGISTER(lds_direct)(HandlerTable& table) {
  auto set = [&](Opcode opcode, Handler handler) { table.other[static_cast<size_t>(opcode)] = handler; };
  set(Opcode::lds_direct_load, &lds_direct_load);
  set(Opcode::lds_param_load, &lds_param_load);
  set(Opcode::ds_bvh_stack_rtn_b32, &ds_bvh_stack);
}

}  // namespace lockstep::interpreter

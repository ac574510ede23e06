#include "engine/translator/lane_pattern.h"

#include <algorithm>

#include "engine/translator/address_plan.h"
#include "engine/translator/operands.h"
#include "engine/translator/registers.h"
#include "engine/translator/worklist.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

// The work-item ids have ten bits each (LLVM AMDGPU usage). In a work-group whose rows are
// multiples of 16 items only x differs between the lanes of a chunk: what is made of y and z alone is uniform
// there.
constexpr unsigned kIdBits = 10;
constexpr uint32_t kMostBytesApartInLds = 4096;

struct State {
  RegisterSet varying;     // VGPRs that depend on x
  RegisterSet loaded;      // those that depend on what memory holds at places that vary
  RegisterSet same;        // those that are made of SGPRs, y and z alone, or of what these name in memory
  bool ids_intact = true;  // v0 still holds the ids
  Strides strides;
  LaneOffsetState offsets;
  bool reached = false;

  bool join(const State& other) {
    if (!other.reached) return false;
    if (!reached) {
      *this = other;
      return true;
    }
    const State before = *this;
    varying |= other.varying;
    loaded |= other.loaded;
    same &= other.same;
    ids_intact &= other.ids_intact;
    std::erase_if(strides, [&](const auto& each) {
      const auto found = other.strides.find(each.first);
      return found == other.strides.end() || found->second != each.second;
    });
    const bool forgot = offsets.join(other.offsets);
    return forgot || varying != before.varying || loaded != before.loaded || same != before.same ||
           ids_intact != before.ids_intact || strides != before.strides;
  }
};

// A bit field of the packed ids that leaves x out.
bool extracts_y_or_z(const isa::Instruction& instruction) {
  const isa::Operand *first = instruction.find(Role::src0), *second = instruction.find(Role::src1);
  if (!first || !second) return false;
  const auto constant_at_least = [&](const isa::Operand& operand) {
    const auto source = source_of(operand, instruction);
    return source && source->is_constant && source->value >= kIdBits;
  };
  const auto is_id = [](const isa::Operand& operand) {
    return operand.is_vgpr() && operand.vgpr() == kIdRegister;
  };
  switch (instruction.row->opcode) {
    case Opcode::v_bfe_u32:
      return is_id(*first) && constant_at_least(*second);
    case Opcode::v_lshrrev_b32:
      return is_id(*second) && constant_at_least(*first);
    default:
      return false;
  }
}

bool are_same(const RegisterSet& read, const State& state) {
  return (read & all_vgprs() & ~state.same).none();
}

// What the interpreter does in between is not followed: a guess may be wrong.
void step(const Node& node, const Routine& routine, State& state) {
  if (node.kind == NodeKind::step || node.kind == NodeKind::call || node.kind == NodeKind::jump ||
      node.kind == NodeKind::outside)
    return;
  if (node.kind == NodeKind::dual) {
    const State before = state;
    for (const HalfEffects& half : effects_of_halves(node.instruction))
      for (unsigned r = 0; r < kVgprs; ++r)
        if (half.writes[r]) {
          state.varying[r] = (half.reads & before.varying).any();
          state.loaded[r] = (half.reads & before.loaded).any();
          state.same[r] = are_same(half.reads, before);
          state.ids_intact &= r != kIdRegister;
        }
    return;
  }
  const Effects effects = effects_of(node, routine.wave_size, routine.vgpr_count);
  bool varies = (effects.reads & state.varying).any(), is_loaded = (effects.reads & state.loaded).any();
  switch (node.kind) {
    case NodeKind::global:
    case NodeKind::lds:
    case NodeKind::scratch:
    case NodeKind::buffer:
    case NodeKind::atomic:
      is_loaded |= varies;  // what all lanes load is the same in all
      break;
    default:
      break;
  }
  bool is_same = are_same(effects.reads, state);
  if (state.ids_intact && node.kind == NodeKind::vector_alu && extracts_y_or_z(node.instruction)) {
    varies = false;
    is_same = true;
  }
  for (unsigned r = 0; r < kVgprs; ++r)
    if (effects.writes[r]) {
      state.varying[r] = varies;
      state.loaded[r] = is_loaded;
      state.same[r] = is_same;
    }
  if (effects.writes[kIdRegister]) state.ids_intact = false;
}

// Of an instruction of LDS whose lanes can be moved together.
std::optional<uint32_t> lds_stride(const Node& node, const State& state, const LinearState& linear) {
  const isa::AccessShape shape = isa::access_shape(node.instruction.row->opcode);
  const bool is_load = shape.kind == isa::AccessShape::Kind::load;
  const unsigned address = node.instruction.find(Role::addr)->vgpr();
  // Bytes and shorts are loaded together, but to a half of a register.
  if (shape.bytes < 4 && (!is_load || shape.part != isa::RegisterPart::whole)) return std::nullopt;
  std::optional<uint32_t> stride;
  if (!state.varying[address])
    stride = 0;
  else if (const Linear* known = linear.find(address))
    stride = static_cast<uint32_t>(known->stride);  // of those that count down none is so short
  else if (!state.loaded[address])
    stride = shape.bytes;
  if (stride && *stride != 0 && shape.bytes < 4) return are_parts(shape, *stride) ? stride : std::nullopt;
  if (!stride || *stride % 4 != 0 || *stride / 4 > kMostDwordsApart) return std::nullopt;
  if (!is_load && *stride < shape.bytes) return std::nullopt;
  return stride;
}

// Of one whose lanes are moved one by one, but at places that are known from one of them. Stores of several
// lanes to one place are not.
std::optional<OffsetsOfLanes> lds_offsets(const Node& node, const LaneOffsetState& known) {
  const isa::AccessShape shape = isa::access_shape(node.instruction.row->opcode);
  const LaneOffsets* address = known.find(node.instruction.find(Role::addr)->vgpr());
  if (!address || shape.bytes < 4) return std::nullopt;
  OffsetsOfLanes offsets = address->offsets;
  const auto lowest =
      *std::ranges::min_element(offsets, {}, [](uint32_t offset) { return static_cast<int32_t>(offset); });
  for (uint32_t& offset : offsets) {
    offset -= lowest;
    if (offset % 4 != 0 || offset > kMostBytesApartInLds) return std::nullopt;
  }
  if (shape.kind == isa::AccessShape::Kind::load) return offsets;
  OffsetsOfLanes sorted = offsets;
  std::ranges::sort(sorted);
  for (unsigned i = 1; i < sorted.size(); ++i)
    if (sorted[i] - sorted[i - 1] < shape.bytes) return std::nullopt;
  return offsets;
}

}  // namespace

LanePatterns guess_lane_patterns(const Routine& routine) {
  std::vector<State> entry(routine.blocks.size());
  entry[routine.entry_block].varying.set(kIdRegister);
  entry[routine.entry_block].strides[kIdRegister] = 1;
  entry[routine.entry_block].offsets.set_work_item_ids();
  entry[routine.entry_block].reached = true;
  LanePatterns patterns;
  patterns.lds_strides.resize(routine.nodes.size());
  patterns.lds_offsets.resize(routine.nodes.size());
  patterns.has_loaded_address.resize(routine.nodes.size());
  Worklist work(routine.blocks.size());
  work.add(routine.entry_block);
  while (!work.empty()) {
    const unsigned b = work.take();
    State state = entry[b];
    LinearState linear(routine, state.strides);
    for (unsigned n = routine.blocks[b].first; n < routine.blocks[b].last; ++n) {
      const Node& node = routine.nodes[n];
      if (node.kind == NodeKind::lds) {
        patterns.lds_strides[n] = lds_stride(node, state, linear);
        patterns.lds_offsets[n] = lds_offsets(node, state.offsets);
      }
      if (node.kind == NodeKind::global)
        patterns.has_loaded_address[n] = state.loaded[node.instruction.find(Role::addr)->vgpr()];
      if (const auto offset =
              node.kind == NodeKind::buffer ? buffer_address(node.instruction).offset : std::nullopt)
        patterns.has_loaded_address[n] = state.loaded[*offset];
      step(node, routine, state);
      linear.step(node, {}, linear.loads_one_place(node));
      const Effects effects = effects_of(node, routine.wave_size, routine.vgpr_count);
      state.offsets.step(node, effects.writes | effects.reloaded);
    }
    state.strides = linear.strides();
    for (unsigned r = 0; r < kVgprs; ++r)
      if (state.same[r]) state.strides.emplace(r, 0);
    for (int successor : {routine.blocks[b].taken, routine.blocks[b].next})
      if (successor >= 0 && entry[static_cast<unsigned>(successor)].join(state))
        work.add(static_cast<unsigned>(successor));
  }
  for (State& state : entry) patterns.strides.push_back(std::move(state.strides));
  return patterns;
}

}  // namespace lockstep::translator

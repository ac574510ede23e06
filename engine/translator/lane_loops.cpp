#include "engine/translator/lane_loops.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>

#include "engine/translator/body_signature.h"
#include "engine/translator/classify.h"
#include "engine/translator/mask_algebra.h"
#include "engine/translator/operands.h"
#include "engine/translator/walk_plan.h"
#include "isa/effects.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

constexpr unsigned kMostNodes = 64, kMostMasks = 8;

bool is_vector(const Node& node) {
  return node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual;
}

RegisterSet scalars_of(RegisterSet set) {
  for (unsigned r = 0; r < kVgprs; ++r) set.reset(r);
  return set;
}

class Candidate {
 public:
  Candidate(const Routine& routine, const Facts& facts, unsigned block)
      : routine_(routine), facts_(facts), block_(routine.blocks[block]), index_(block) {}

  std::optional<LaneLoop> loop() {
    if (!has_shape() || !find_masks() || !knows_scc() || !finished_lanes_stay()) return std::nullopt;
    if (!is_worth_it()) return std::nullopt;
    LaneLoop loop;
    for (unsigned n = block_.first; n < block_.last; ++n) {
      loop.touched |= effects(n).reads | effects(n).writes;
      if (routine_.nodes[n].kind == NodeKind::global) loop.loads.push_back(n);
    }
    loop.touched.reset(kScc);
    loop.mask_registers = masks_;
    loop.touched |= masks_;
    for (unsigned r = kFirstScalar; r < kRegisters; r += routine_.wave_size / 32)
      if (masks_[r]) loop.masks.push_back(r);
    find_zeros(loop);
    return loop;
  }

 private:
  const Effects& effects(unsigned node) const { return facts_.nodes[node].effects; }
  bool is_mask_operation(unsigned n) const {
    const Node& node = routine_.nodes[n];
    return node.kind == NodeKind::scalar_alu && ((effects(n).writes | effects(n).reads) & masks_).any();
  }

  bool has_shape() const {
    if (block_.taken != static_cast<int>(index_) || block_.next < 0) return false;
    if (block_.last - block_.first > kMostNodes) return false;
    if (routine_.nodes[block_.last - 1].kind != NodeKind::branch ||
        routine_.nodes[block_.last - 1].instruction.row->opcode != Opcode::s_cbranch_execnz)
      return false;
    for (unsigned n = block_.first; n < block_.last; ++n) {
      const Node& node = routine_.nodes[n];
      const bool is_end = node.kind == NodeKind::branch && n + 1 == block_.last;
      if (!is_end && !hides_order_of_lanes(node, effects(n))) return false;
    }
    return true;
  }

  void add_mask(unsigned number) {
    if (number >= kScc) return;
    const unsigned words = routine_.wave_size / 32;
    const unsigned first = number - (number - kFirstScalar) % words;
    for (unsigned word = 0; word < words; ++word) masks_.set(first + word);
  }

  // What vector instructions read or write as masks, and what comes from or goes to these.
  bool find_masks() {
    add_mask(kExec);
    for (unsigned n = block_.first; n < block_.last; ++n) {
      if (!is_vector(routine_.nodes[n])) continue;
      RegisterSet masks = effects(n).writes;
      masks |= effects(n).reads & ~numbers_read(routine_.nodes[n].instruction);
      masks = scalars_of(masks);
      for (unsigned r = kFirstScalar; r < kScc; ++r)
        if (masks[r]) add_mask(r);
    }
    for (RegisterSet before; before != masks_;) {
      before = masks_;
      for (unsigned n = block_.first; n < block_.last; ++n) {
        if (!is_mask_operation(n)) continue;
        const RegisterSet both = scalars_of(effects(n).reads | effects(n).writes);
        for (unsigned r = kFirstScalar; r < kScc; ++r)
          if (both[r]) add_mask(r);
      }
    }
    if (masks_.count() > kMostMasks * (routine_.wave_size / 32)) return false;
    for (unsigned n = block_.first; n < block_.last; ++n) {
      const Node& node = routine_.nodes[n];
      if (is_mask_operation(n)) {
        if (!mask_instruction(node.instruction.row->opcode, routine_.wave_size)) return false;
        if (!are_bits_of_lanes(node.instruction)) return false;
      } else if (node.kind == NodeKind::scalar_alu || is_vector(node) || node.kind == NodeKind::global) {
        if ((numbers_read(node.instruction) & masks_).any()) return false;
      }
    }
    return true;
  }

  // SCC of a mask operation says something of all lanes.
  bool knows_scc() const {
    bool is_known = false;
    for (unsigned n = block_.first; n < block_.last; ++n) {
      if (effects(n).reads[kScc] && !is_known) return false;
      if (effects(n).writes[kScc]) is_known = !is_mask_operation(n);
    }
    return !needed_behind()[kScc];
  }

  RegisterSet needed_behind() const { return live_out(block_, facts_).all(); }

  // The bits of one lane, by the first register of the mask.
  using Bits = std::map<unsigned, bool>;

  // Rounds in which a lane is off must leave its bits as they are: all states of the masks are tried.
  bool finished_lanes_stay() const {
    const RegisterSet needed = needed_behind();
    const std::vector<unsigned> others = other_masks();
    for (uint32_t state = 0; state < uint32_t{1} << others.size(); ++state) {
      Bits bits{{kExec, false}};
      for (unsigned i = 0; i < others.size(); ++i) bits[others[i]] = state >> i & 1;
      const Bits before = bits;
      execute(bits, 0);
      if (bits[kExec]) return false;
      for (unsigned number : others)
        if (needed[number] && bits[number] != before.at(number)) return false;
    }
    return true;
  }

  std::vector<unsigned> other_masks() const {
    std::vector<unsigned> others;
    for (unsigned r = kFirstScalar; r < kScc; r += routine_.wave_size / 32)
      if (masks_[r] && r != kExec) others.push_back(r);
    return others;
  }

  // Whatever compares and carries give: all ways are tried.
  void find_zeros(LaneLoop& loop) const {
    constexpr unsigned kMostResults = 8;
    unsigned results = 0;
    for (unsigned n = block_.first; n < block_.last; ++n)
      if (is_vector(routine_.nodes[n]))
        for (unsigned number : loop.masks) results += effects(n).writes[number];
    if (results > kMostResults) return;
    // Others are written before they are read.
    std::vector<unsigned> zeros = other_masks();
    std::erase_if(zeros, [&](unsigned number) { return !facts_.blocks[index_].live_in.on[number]; });
    std::map<unsigned, bool> when_left;
    RegisterSet varies;
    for (uint32_t choice = 0; choice < uint32_t{1} << results; ++choice) {
      Bits bits{{kExec, true}};
      for (unsigned number : other_masks()) bits[number] = false;
      execute(bits, choice);
      for (unsigned number : zeros)
        if (bits[kExec] && bits[number]) return;
      for (const auto& [number, bit] : bits)
        if (!bits[kExec] && when_left.try_emplace(number, bit).first->second != bit) varies.set(number);
    }
    std::erase_if(when_left, [&](const auto& bit) { return varies[bit.first]; });
    loop.zero_while_on = zeros;
    loop.bits_when_left = when_left;
  }

  // One round. `results`: of compares and carries, bit by bit; those of lanes that are off are 0 (guide
  // 7.2.5).
  void execute(Bits& bits, uint32_t results) const {
    for (unsigned n = block_.first; n < block_.last; ++n) {
      const Node& node = routine_.nodes[n];
      if (is_vector(node)) {
        const bool is_on = bits[kExec];
        for (auto& [number, bit] : bits) {
          if (!effects(n).writes[number]) continue;
          bit = is_on && (results & 1);
          results >>= 1;
        }
      } else if (is_mask_operation(n)) {
        const MaskInstruction instruction =
            *mask_instruction(node.instruction.row->opcode, routine_.wave_size);
        const auto value = [&](Role role) {
          const isa::Operand* operand = node.instruction.find(role);
          if (!operand) return false;
          const Source source = *source_of(*operand, node.instruction);
          return source.is_constant ? source.value != 0 : bits.at(source.first);
        };
        const bool exec = bits[kExec], first = value(Role::src0);
        const bool result =
            result_of(instruction.operation, first, instruction.saves_exec ? exec : value(Role::src1));
        bits[*scalar_destination(*node.instruction.find(Role::dst))] = instruction.saves_exec ? exec : result;
        if (instruction.saves_exec) bits[kExec] = result;
      }
    }
  }

  // Gathers take longer than loads of the lanes one by one; everything else takes longer lane by lane, most
  // of all a function like the reciprocal, which is a third of a wave's for one lane. Where an address waits
  // for what the round before has loaded, lanes side by side wait together.
  bool is_worth_it() const {
    constexpr unsigned kMostOthers = 12;  // for each load
    constexpr unsigned kFunction = 40;    // so many others
    unsigned loads = 0, others = 0;
    for (unsigned n = block_.first; n < block_.last; ++n) {
      if (routine_.nodes[n].kind == NodeKind::global) ++loads;
      if (!is_vector(routine_.nodes[n])) continue;
      ++others;
      if (routine_.nodes[n].instruction.row->flags & isa::kTrans) others += kFunction;
    }
    return loads != 0 && others <= kMostOthers * loads && !chases();
  }

  // Whether an address comes from what an earlier round has loaded.
  bool chases() const {
    RegisterSet loaded;
    for (unsigned n = block_.first; n < block_.last; ++n) note_loaded(n, is_load(n), loaded);
    for (unsigned n = block_.first; n < block_.last; ++n) {
      if (is_load(n) && (effects(n).reads & loaded & ~masks_).any()) return true;
      note_loaded(n, false, loaded);
    }
    return false;
  }

  bool is_load(unsigned n) const { return routine_.nodes[n].kind == NodeKind::global; }
  // Registers with what has been loaded, or come from that. `loads`: the node makes such ones.
  void note_loaded(unsigned n, bool loads, RegisterSet& loaded) const {
    const Effects& of_node = effects(n);
    if (loads || (!is_load(n) && (of_node.reads & loaded & ~masks_).any()))
      loaded |= of_node.writes;
    else
      loaded &= ~of_node.writes;
  }

  const Routine& routine_;
  const Facts& facts_;
  const Block& block_;
  const unsigned index_;
  RegisterSet masks_;
};

// Whether the address is of 64 bits and in the first round what it was at the loop's begin.
bool begins_with_address(const Routine& routine, const Facts& facts, unsigned load, unsigned block) {
  const GlobalOperands operands = global_operands(routine.nodes[load].instruction);
  if (operands.base) return false;
  const unsigned low = operands.address.vgpr();
  for (unsigned n = routine.blocks[block].first; n < load; ++n) {
    const RegisterSet& writes = facts.nodes[n].effects.writes;
    if (writes[low] || writes[low + 1]) return false;
  }
  return true;
}

}  // namespace

bool hides_order_of_lanes(const Node& node, const Effects& effects) {
  const isa::Instruction& instruction = node.instruction;
  switch (node.kind) {
    case NodeKind::nothing:
      // Others of these have caches forget what they hold.
      return instruction.row->encoding == isa::Encoding::sopp;
    case NodeKind::vector_alu:
    case NodeKind::dual:
      if (effects.reads_all_lanes || instruction.dpp != isa::Dpp::none) return false;
      for (const Half& half : halves_of(instruction)) {
        const VectorSignature& signature = vector_signature(half.row->base);
        for (unsigned i = 0; i < signature.count; ++i)
          if (signature.parameters[i].kind == Operand::Kind::lane_numbers) return false;
      }
      return true;
    case NodeKind::global:
      // Who asks for a look past the caches waits for others.
      return instruction.row->encoding == isa::Encoding::global && !instruction.glc && !instruction.dlc &&
             global_operands(instruction).is_load();
    case NodeKind::scalar_alu:
      return true;
    default:
      return false;
  }
}

std::map<unsigned, LaneLoop> find_lane_loops(const Routine& routine, const Facts& facts) {
  std::map<unsigned, LaneLoop> loops;
  for (unsigned b = 0; b < routine.blocks.size(); ++b)
    if (auto loop = Candidate(routine, facts, b).loop()) loops.emplace(b, std::move(*loop));
  if (loops.empty()) return loops;
  std::set<unsigned> walking;
  for (unsigned piece = 0; piece < routine.pieces.size(); ++piece)
    for (const WalkingLoad& walk : find_walks(routine, piece)) {
      walking.insert(walk.node);
      if (const auto loop = loops.find(walk.block);
          loop != loops.end() && walk.is_certain &&
          begins_with_address(routine, facts, walk.node, walk.block))
        loop->second.walks.push_back(walk.node);
    }
  for (auto& [block, loop] : loops)
    for (unsigned load : loop.loads)
      if (!facts.nodes[load].address_is_loaded && std::ranges::count(loop.walks, load) == 0 &&
          begins_with_address(routine, facts, load, block))
        loop.strides.push_back(load);
  // Where all lanes walk, or are side by side, the wave loads without gathers. (Whether they do is seen when
  // the code runs; a hash of strings took 0.4 of its time in rounds of the wave, a picture made smaller
  // 0.46.)
  std::erase_if(loops, [&](const auto& loop) {
    return std::ranges::none_of(loop.second.loads, [&](unsigned load) {
      return facts.nodes[load].address_is_loaded && !walking.contains(load);
    });
  });
  return loops;
}

}  // namespace lockstep::translator

#include "engine/translator/routine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/translator/classify.h"
#include "engine/translator/launch_lanes.h"
#include "engine/translator/operands.h"
#include "isa/branch.h"
#include "isa/code_addresses.h"

namespace lockstep::translator {
namespace {

// Of a block: straight-line code that is longer is cut. Registers stay in the host's across such a cut unless
// the piece ends there.
constexpr unsigned kMaxBlockNodes = 200;
// Where there are more targets, registers go through the Wave to all of them.
constexpr size_t kMostJumps = 48;

int64_t end_of(const Node& node) {
  return node.offset + node.instruction.size;
}

bool has_label(const isa::Instruction& instruction) {
  return isa::label_target(instruction, 0).has_value();
}

int64_t branch_target(const Node& node) {
  const auto target = isa::label_target(node.instruction, static_cast<uint64_t>(end_of(node)));
  return target ? static_cast<int64_t>(*target) : node.offset;
}

// The wave leaves translated code there, and may come back behind it.
bool leaves(const Node& node) {
  return node.kind == NodeKind::barrier || node.kind == NodeKind::step;
}
bool names_its_target(const Node& node) {
  return (node.kind == NodeKind::step || node.kind == NodeKind::jump) && has_label(node.instruction);
}
bool ends_block(const Node& node) {
  return node.kind == NodeKind::branch || node.kind == NodeKind::jump || node.kind == NodeKind::end ||
         node.kind == NodeKind::outside || leaves(node);
}
bool falls_through(const Node& node) {
  if (node.kind == NodeKind::end || node.kind == NodeKind::outside) return false;
  // Behind a call the callee comes back.
  if (node.kind == NodeKind::jump) return is_function_call(node.instruction);
  if (node.kind == NodeKind::step) {
    const isa::Opcode opcode = node.instruction.row->opcode;
    return !(node.instruction.row->flags & isa::kEndsWave) && opcode != isa::Opcode::s_setpc_b64 &&
           opcode != isa::Opcode::s_rfe_b64;
  }
  return node.kind != NodeKind::branch || node.instruction.row->opcode != isa::Opcode::s_branch;
}

}  // namespace

class RoutineSearch::Finder {
 public:
  Finder(std::span<const CodeRange> code, uint64_t entry, unsigned wave_size, unsigned vgpr_count,
         uint32_t float_mode, bool has_lone_waves)
      : code_(code),
        entry_(entry),
        wave_size_(wave_size),
        vgpr_count_(vgpr_count),
        float_mode_(float_mode & kFloatModeMask),
        has_lone_waves_(has_lone_waves) {
    begin();
  }

  bool decode(size_t instructions) {
    for (;;) {
      if (line_) {
        if (!follow(instructions)) return false;
      } else if (!pending_.empty()) {
        line_ = pending_.back();
        pending_.pop_back();
      } else if (mixed_.size() != known_mixed_) {
        begin();
      } else {
        return true;
      }
    }
  }

  // Of all that has been decoded.
  Routine routine() {
    Routine routine;
    routine.wave_size = wave_size_;
    routine.vgpr_count = vgpr_count_;
    routine.float_mode = float_mode_;
    routine.key.append(reinterpret_cast<const char*>(&float_mode_), sizeof float_mode_);
    routine.key.append(reinterpret_cast<const char*>(&wave_size_), sizeof wave_size_);
    routine.key.append(reinterpret_cast<const char*>(&vgpr_count_), sizeof vgpr_count_);
    routine.nodes.reserve(nodes_.size());
    for (auto& [offset, node] : nodes_) {
      routine.changes_mode |= node.kind != NodeKind::outside && may_write_mode(node.instruction);
      routine.nodes.push_back(std::move(node));
    }
    list_interpreted(routine);
    cut_into_blocks(routine);
    cut_into_pieces(routine);
    connect(routine);
    return routine;
  }

 private:
  // Code that is executed one instruction after the other, as far as it has been followed.
  struct Line {
    int64_t offset;
    uint32_t float_mode;
    isa::CodeAddresses addresses;  // guesses: where a jump goes is looked at when it is made
  };

  void begin() {
    known_mixed_ = mixed_.size();
    nodes_.clear();
    leaders_.clear();
    functions_.clear();
    known_targets_.clear();
    add_leader(0, float_mode_);
  }

  const CodeRange* range_of(uint64_t address) const {
    for (const CodeRange& range : code_)
      if (address >= range.begin && address < range.end && address % 4 == 0) return &range;
    return nullptr;
  }

  // The instruction at an offset; outside if there is none that can be told.
  Node node_at(int64_t offset, uint32_t float_mode) const {
    Node node;
    node.offset = offset;
    node.float_mode = float_mode;
    const auto outside = [&](std::string reason) {
      node.instruction = {};
      node.kind = NodeKind::outside;
      node.reason = std::move(reason);
      return node;
    };
    if (mixed_.contains(offset)) return outside("code that waves reach in different float modes");
    const uint64_t address = entry_ + static_cast<uint64_t>(offset);
    const CodeRange* range = range_of(address);
    if (!range) return outside("control leaves the code");
    if (nodes_.size() >= kMaxNodes)
      return outside("more than " + std::to_string(kMaxNodes) + " instructions");
    const size_t available = std::min<uint64_t>(range->end - address, isa::kMaxInstructionBytes);
    const auto error =
        isa::decode({reinterpret_cast<const std::byte*>(address), available}, wave_size_, node.instruction);
    if (error != isa::DecodeError::none) return outside("bytes that are no instruction");
    const auto after = nodes_.upper_bound(offset);
    if ((after != nodes_.end() && after->first < end_of(node)) ||
        (after != nodes_.begin() && end_of(std::prev(after)->second) > offset))
      return outside("instructions that overlap");
    node.kind = classify(node.instruction, wave_size_, vgpr_count_, node.reason);
    if (node.kind == NodeKind::barrier && has_lone_waves_) node.kind = NodeKind::nothing;
    if (node.kind == NodeKind::outside) return outside(std::move(node.reason));
    // Without VGPRs the rules are others. All that follows in compiled code is the end.
    if (frees_vgprs(node.instruction) && !only_ends(end_of(node)))
      return outside("code behind the deallocation of the wave's VGPRs");
    // Waves that follow in the same place begin as this one ends.
    if (node.kind == NodeKind::end && float_mode != float_mode_) {
      node.kind = NodeKind::step;
      node.reason = "the end in another float mode than the beginning";
    }
    return node;
  }

  // Whether nothing but hints comes before the end of the wave.
  bool only_ends(int64_t offset) const {
    for (;;) {
      const uint64_t address = entry_ + static_cast<uint64_t>(offset);
      const CodeRange* range = range_of(address);
      isa::Instruction instruction;
      const auto available =
          range ? std::min<uint64_t>(range->end - address, isa::kMaxInstructionBytes) : uint64_t{0};
      if (isa::decode({reinterpret_cast<const std::byte*>(address), available}, wave_size_, instruction) !=
          isa::DecodeError::none)
        return false;
      std::string reason;
      const NodeKind kind = classify(instruction, wave_size_, vgpr_count_, reason);
      if (kind == NodeKind::end) return true;
      if (kind != NodeKind::nothing || frees_vgprs(instruction) || names_vgpr(instruction)) return false;
      offset += instruction.size;
    }
  }

  // MODE behind the instruction. Who writes what he computed has most likely kept what it was at the entry.
  uint32_t mode_after(const Node& node) const {
    if (node.kind == NodeKind::outside || !may_write_mode(node.instruction)) return node.float_mode;
    const auto write = constant_mode_write(node.instruction);
    return write ? ((node.float_mode & ~write->mask) | write->bits) & kFloatModeMask : float_mode_;
  }

  // Decodes to the end of the line, or until `left` is 0; whether the line has ended.
  bool follow(size_t& left) {
    auto& [offset, float_mode, addresses] = *line_;
    while (!nodes_.contains(offset)) {
      if (left == 0) return false;
      --left;
      Node node = node_at(offset, float_mode);
      const int64_t after = end_of(node);
      float_mode = mode_after(node);
      if (node.kind == NodeKind::branch || names_its_target(node))
        add_leader(branch_target(node), float_mode);
      if (node.kind == NodeKind::jump && has_label(node.instruction)) functions_.insert(branch_target(node));
      if (node.kind == NodeKind::jump) note_target(node, addresses);
      if (node.kind != NodeKind::outside) {
        const auto known =
            addresses.note(node.instruction, entry_ + static_cast<uint64_t>(after), wave_size_);
        // Tables of data lie elsewhere.
        if (known && range_of(*known)) {
          const auto function = static_cast<int64_t>(*known - entry_);
          add_leader(function, float_mode);
          functions_.insert(function);
        }
      }
      const bool stop = ends_block(node), goes_on = falls_through(node);
      nodes_.emplace(offset, std::move(node));
      if (stop) {
        if (goes_on) add_leader(after, float_mode);
        line_.reset();
        return true;
      }
      offset = after;
    }
    // The line runs into code that is known already: that starts a block there.
    add_leader(offset, float_mode);
    line_.reset();
    return true;
  }

  // Where the jump goes, as far as its block tells.
  void note_target(const Node& jump, const isa::CodeAddresses& addresses) {
    if (has_label(jump.instruction)) {
      known_targets_[jump.offset] = branch_target(jump);
    } else if (const auto known = addresses.find(jump.instruction.find(isa::Role::src0)->code);
               known && range_of(*known)) {
      known_targets_[jump.offset] = static_cast<int64_t>(*known - entry_);
    }
  }

  void add_leader(int64_t offset, uint32_t float_mode) {
    leaders_.insert(offset);
    const auto known = nodes_.find(offset);
    if (known == nodes_.end())
      pending_.push_back({offset, float_mode, {}});
    else if (known->second.float_mode != float_mode)
      mixed_.insert(offset);
  }

  static void list_interpreted(Routine& routine) {
    const auto is_interpreted = [](const Node& node) {
      return node.kind == NodeKind::step || node.kind == NodeKind::call || node.kind == NodeKind::outside;
    };
    const auto name_of = [](const Node& node) {
      const std::string_view name =
          node.kind == NodeKind::outside ? std::string_view() : node.instruction.row->name;
      return std::pair(std::string(name), node.kind);
    };
    std::map<std::pair<std::string, NodeKind>, InterpretedInstruction> found;
    for (const Node& node : routine.nodes) {
      if (!is_interpreted(node)) continue;
      const auto [name, kind] = name_of(node);
      ++found.try_emplace({name, kind}, InterpretedInstruction{name, kind, node.reason, 0})
            .first->second.count;
    }
    for (Node& node : routine.nodes)
      if (is_interpreted(node))
        node.interpreted = static_cast<uint32_t>(std::distance(found.begin(), found.find(name_of(node))));
    for (auto& [name, instruction] : found) routine.interpreted.push_back(std::move(instruction));
  }

  void cut_into_blocks(Routine& routine) const {
    for (unsigned i = 0; i < routine.nodes.size(); ++i) {
      const Node& node = routine.nodes[i];
      const bool gap = i > 0 && end_of(routine.nodes[i - 1]) != node.offset;
      if (i == 0 || gap || ends_block(routine.nodes[i - 1]) || leaders_.contains(node.offset) ||
          i - routine.blocks.back().first == kMaxBlockNodes) {
        if (!routine.blocks.empty()) routine.blocks.back().last = i;
        Block& block = routine.blocks.emplace_back();
        block.first = i;
        block.offset = node.offset;
      }
      routine.key.append(reinterpret_cast<const char*>(&node.offset), sizeof node.offset);
      routine.key.append(1, static_cast<char>(node.kind));
      routine.key.append(reinterpret_cast<const char*>(entry_ + static_cast<uint64_t>(node.offset)),
                         node.instruction.size);
    }
    routine.blocks.back().last = static_cast<unsigned>(routine.nodes.size());
  }

  // A piece ends where few loops go on, as late as its size allows, and in front of a loop that it would cut
  // and the next one has room for. A long loop is one of its own.
  static void cut_into_pieces(Routine& routine) {
    const std::vector<unsigned> depths = loops_across(routine), ends = loop_ends(routine),
                                long_ends = long_loops(routine);
    unsigned first = 0;
    while (first < routine.blocks.size()) {
      unsigned end = first, best = first + 1;
      if (long_ends[first] != 0) {
        best = end = long_ends[first];
      }
      while (long_ends[first] == 0 && end < routine.blocks.size() &&
             size_of(routine, first, end) <= kMaxPieceSize) {
        ++end;
        const bool is_late = 2 * size_of(routine, first, end - 1) >= kMaxPieceSize;
        const bool is_last = end == routine.blocks.size() || long_ends[end] != 0;
        if (is_last || !is_late || depths[end] <= depths[best]) best = end;
        if (is_last) break;
      }
      for (unsigned i = first + 1; i < best; ++i)
        if (ends[i] > best && size_of(routine, i, ends[i] - 1) <= kMaxPieceSize) best = i;
      for (unsigned i = first; i < best; ++i)
        routine.blocks[i].piece = static_cast<unsigned>(routine.pieces.size());
      routine.pieces.push_back({first, best});
      first = best;
    }
  }

  static unsigned size_of(const Routine& routine, unsigned first, unsigned last) {
    return routine.blocks[last].last - routine.blocks[first].first + kBlockSize * (last - first + 1);
  }

  // For each block that a loop without others in it begins with, if that is longer than other pieces may be:
  // the block behind the loop. Else 0.
  static std::vector<unsigned> long_loops(const Routine& routine) {
    std::vector<unsigned> ends = loop_ends(routine);
    unsigned next_loop = static_cast<unsigned>(routine.blocks.size());
    for (unsigned i = next_loop; i-- > 0;) {
      if (ends[i] == 0) continue;
      const bool has_inner = next_loop < ends[i];
      next_loop = i;
      const unsigned size = size_of(routine, i, ends[i] - 1);
      if (has_inner || size <= kMaxPieceSize || size > kMaxLoopSize) ends[i] = 0;
    }
    return ends;
  }

  // For each block, how many loops have it and the block before it.
  static std::vector<unsigned> loops_across(const Routine& routine) {
    std::vector<int> change(routine.blocks.size() + 2);
    for (unsigned i = 0; i < routine.blocks.size(); ++i) {
      const Node& last = routine.nodes[routine.blocks[i].last - 1];
      if (last.kind != NodeKind::branch) continue;
      const int target = routine.block_at(branch_target(last));
      if (target > static_cast<int>(i)) continue;
      ++change[static_cast<unsigned>(target) + 1];
      --change[i + 1];
    }
    std::vector<unsigned> depths(routine.blocks.size() + 1);
    int depth = 0;
    for (unsigned i = 0; i <= routine.blocks.size(); ++i)
      depths[i] = static_cast<unsigned>(depth += change[i]);
    return depths;
  }

  void connect(Routine& routine) const {
    routine.entry_block = static_cast<unsigned>(routine.block_at(0));
    routine.blocks[routine.entry_block].is_entry = true;
    for (unsigned i = 0; i < routine.blocks.size(); ++i) {
      Block& block = routine.blocks[i];
      const Node& last = routine.nodes[block.last - 1];
      const auto go_to = [&](int64_t offset, bool from_outside) {
        const int index = routine.block_at(offset);
        Block& target = routine.blocks[static_cast<unsigned>(index)];
        if (from_outside || target.piece != block.piece)
          target.is_entry = true;
        else
          target.predecessors.push_back(i);
        return index;
      };
      if (falls_through(last)) block.next = go_to(end_of(last), leaves(last) || last.kind == NodeKind::jump);
      if (last.kind == NodeKind::branch) {
        const int64_t target = branch_target(last);
        block.taken = go_to(target, false);
        block.is_taken_without_lanes = last.instruction.row->opcode == isa::Opcode::s_cbranch_execz;
        block.goes_on_without_lanes = last.instruction.row->opcode == isa::Opcode::s_cbranch_execnz;
        // Backward: a wave whose budget is used up leaves here, and enters here again.
        if (target <= last.offset) routine.blocks[static_cast<unsigned>(block.taken)].is_entry = true;
      } else if (names_its_target(last)) {
        const int target = go_to(branch_target(last), true);
        if (last.kind == NodeKind::step) block.taken = target;
      }
    }
    connect_jumps(routine);
  }

  // Calls go to functions, other jumps back behind a call or, at the end of a function, to another one.
  // Mostly the address was made just before.
  void connect_jumps(Routine& routine) const {
    const auto is_jump = [&](const Block& block) {
      return routine.nodes[block.last - 1].kind == NodeKind::jump;
    };
    std::set<unsigned> functions, returns;
    for (const int64_t offset : functions_) functions.insert(static_cast<unsigned>(routine.block_at(offset)));
    for (const Block& block : routine.blocks)
      if (is_jump(block) && block.next >= 0) returns.insert(static_cast<unsigned>(block.next));
    std::set<unsigned> both = functions;
    both.insert(returns.begin(), returns.end());
    for (unsigned target : both) routine.blocks[target].is_entry = true;
    for (unsigned i = 0; i < routine.blocks.size(); ++i) {
      Block& block = routine.blocks[i];
      if (!is_jump(block)) continue;
      const Node& jump = routine.nodes[block.last - 1];
      const auto known = known_targets_.find(jump.offset);
      const int only = known == known_targets_.end() ? -1 : routine.block_at(known->second);
      const auto& targets = is_function_call(jump.instruction) ? functions : both;
      if (only >= 0)
        block.jumps = {static_cast<unsigned>(only)};
      else if (targets.size() <= kMostJumps)
        block.jumps.assign(targets.begin(), targets.end());
      for (unsigned target : block.jumps)
        if (routine.blocks[target].piece == block.piece) routine.blocks[target].predecessors.push_back(i);
    }
  }

  std::span<const CodeRange> code_;
  uint64_t entry_;
  unsigned wave_size_, vgpr_count_;
  uint32_t float_mode_;
  bool has_lone_waves_;
  std::map<int64_t, Node> nodes_;
  std::set<int64_t> leaders_, functions_;
  std::map<int64_t, int64_t> known_targets_;  // of jumps
  std::vector<Line> pending_;
  std::optional<Line> line_;
  std::set<int64_t> mixed_;  // what is reached in several float modes
  size_t known_mixed_ = 0;
};

RoutineSearch::RoutineSearch(std::span<const CodeRange> code, uint64_t entry, unsigned wave_size,
                             unsigned vgpr_count, uint32_t float_mode, const LaunchShape& launch)
    : finder_(
          std::make_unique<Finder>(code, entry, wave_size, vgpr_count, float_mode, launch.has_lone_waves)),
      launch_(launch) {}
RoutineSearch::~RoutineSearch() = default;

bool RoutineSearch::decode(size_t instructions) {
  return finder_->decode(instructions);
}

Routine RoutineSearch::routine() && {
  Routine routine = finder_->routine();
  routine.launch = launch_;
  routine.lanes = routine.wave_size;
  const unsigned most = launch_.most_lanes;
  if (most != 0 && most < routine.wave_size && stays_in_lanes(routine, most)) routine.lanes = most;
  for (const unsigned each :
       {launch_.group_id_register, launch_.counting_lanes, routine.lanes, unsigned{launch_.is_one_row}})
    routine.key.append(reinterpret_cast<const char*>(&each), sizeof each);
  return routine;
}

bool Routine::has_barriers() const {
  return std::ranges::any_of(nodes, [](const Node& node) { return node.kind == NodeKind::barrier; });
}

int Routine::block_at(int64_t offset) const {
  const auto found = std::lower_bound(blocks.begin(), blocks.end(), offset,
                                      [](const Block& block, int64_t value) { return block.offset < value; });
  return found == blocks.end() || found->offset != offset ? -1 : static_cast<int>(found - blocks.begin());
}

std::vector<std::vector<unsigned>> blocks_before(const Routine& routine) {
  std::vector<std::vector<unsigned>> before(routine.blocks.size());
  for (unsigned b = 0; b < routine.blocks.size(); ++b)
    for (int to : {routine.blocks[b].taken, routine.blocks[b].next})
      if (to >= 0) before[static_cast<unsigned>(to)].push_back(b);
  return before;
}

std::vector<unsigned> loop_ends(const Routine& routine) {
  std::vector<unsigned> ends(routine.blocks.size());
  for (unsigned i = 0; i < routine.blocks.size(); ++i) {
    const Node& last = routine.nodes[routine.blocks[i].last - 1];
    if (last.kind != NodeKind::branch) continue;
    const int target = routine.block_at(branch_target(last));
    if (target >= 0 && target <= static_cast<int>(i)) ends[static_cast<unsigned>(target)] = i + 1;
  }
  return ends;
}

Routine selecting_nans(Routine routine) {
  routine.selects_nans = true;
  routine.key += "NaN";
  return routine;
}

Routine find_routine(std::span<const CodeRange> code, uint64_t entry, unsigned wave_size, unsigned vgpr_count,
                     uint32_t float_mode, const LaunchShape& launch) {
  RoutineSearch search(code, entry, wave_size, vgpr_count, float_mode, launch);
  search.decode(SIZE_MAX);
  return std::move(search).routine();
}

}  // namespace lockstep::translator

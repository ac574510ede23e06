#include "engine/translator/routine.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/translator/classify.h"

namespace lockstep::translator {
namespace {

constexpr size_t kMaxNodes = 20'000;

std::string text_of(const isa::Instruction& instruction) {
  char text[isa::kMaxText];
  return std::string(text, isa::disassemble(instruction, 32, text, sizeof text));
}

int64_t branch_target(const Node& node) {
  for (unsigned i = 0; i < node.instruction.operand_count; ++i)
    if (node.instruction.operands[i].type == isa::Type::label)
      return node.offset + node.instruction.size + node.instruction.operands[i].value * 4;
  return node.offset;
}

bool leaves(NodeKind kind) {
  return kind == NodeKind::barrier || kind == NodeKind::sleep;
}
bool ends_block(NodeKind kind) {
  return kind == NodeKind::branch || kind == NodeKind::end || leaves(kind);
}
bool falls_through(const Node& node) {
  return node.kind != NodeKind::end && node.instruction.row->opcode != isa::Opcode::s_branch;
}

class Finder {
 public:
  Finder(std::span<const CodeRange> code, uint64_t entry) : code_(code), entry_(entry) {}

  Routine find() {
    Routine routine;
    leaders_.insert(0);
    pending_.push_back(0);
    while (!pending_.empty() && routine.unsupported.empty()) {
      const int64_t offset = pending_.back();
      pending_.pop_back();
      routine.unsupported = follow(offset);
    }
    if (!routine.unsupported.empty()) return routine;
    for (auto& [offset, node] : nodes_) {
      if (!routine.nodes.empty() &&
          routine.nodes.back().offset + routine.nodes.back().instruction.size > offset)
        routine.unsupported = "instructions that overlap";
      routine.nodes.push_back(std::move(node));
    }
    if (!routine.unsupported.empty()) return routine;
    cut(routine);
    return routine;
  }

 private:
  const CodeRange* range_of(uint64_t address) const {
    for (const CodeRange& range : code_)
      if (address >= range.begin && address < range.end && address % 4 == 0) return &range;
    return nullptr;
  }

  // Decodes from `offset` to the end of the straight line; returns why it cannot be translated, or nothing.
  std::string follow(int64_t offset) {
    bool has_vgprs = true;
    while (!nodes_.contains(offset)) {
      const uint64_t address = entry_ + static_cast<uint64_t>(offset);
      const CodeRange* range = range_of(address);
      if (!range) return "control leaves the code";
      if (nodes_.size() >= kMaxNodes) return "more than " + std::to_string(kMaxNodes) + " instructions";
      Node node;
      node.offset = offset;
      const size_t available = std::min<uint64_t>(range->end - address, isa::kMaxInstructionBytes);
      const auto error =
          isa::decode({reinterpret_cast<const std::byte*>(address), available}, 32, node.instruction);
      if (error != isa::DecodeError::none) return "bytes that are no instruction";
      std::string reason;
      const auto kind = classify(node.instruction, reason);
      if (!kind) return text_of(node.instruction) + ": " + reason;
      node.kind = *kind;
      if (!has_vgprs &&
          (names_vgpr(node.instruction) || (ends_block(node.kind) && node.kind != NodeKind::end)))
        return text_of(node.instruction) + ": it stands behind the deallocation of the wave's VGPRs";
      has_vgprs &= !frees_vgprs(node.instruction);
      const int64_t after = offset + node.instruction.size;
      if (node.kind == NodeKind::branch) add_leader(branch_target(node));
      if (ends_block(node.kind) && falls_through(node)) add_leader(after);
      const bool stop = ends_block(node.kind);
      nodes_.emplace(offset, std::move(node));
      if (stop) return {};
      offset = after;
    }
    // The straight line runs into code that is known already: that starts a block there.
    leaders_.insert(offset);
    return {};
  }

  void add_leader(int64_t offset) {
    if (leaders_.insert(offset).second || !nodes_.contains(offset)) pending_.push_back(offset);
  }

  void cut(Routine& routine) const {
    for (unsigned i = 0; i < routine.nodes.size(); ++i) {
      const Node& node = routine.nodes[i];
      const bool gap =
          i > 0 && routine.nodes[i - 1].offset + routine.nodes[i - 1].instruction.size != node.offset;
      if (i == 0 || gap || leaders_.contains(node.offset)) {
        if (!routine.blocks.empty()) routine.blocks.back().last = i;
        Block& block = routine.blocks.emplace_back();
        block.first = i;
        block.offset = node.offset;
      }
      routine.key.append(reinterpret_cast<const char*>(&node.offset), sizeof node.offset);
      routine.key.append(reinterpret_cast<const char*>(entry_ + static_cast<uint64_t>(node.offset)),
                         node.instruction.size);
    }
    routine.blocks.back().last = static_cast<unsigned>(routine.nodes.size());
    routine.entry_block = static_cast<unsigned>(routine.block_at(0));
    routine.blocks[routine.entry_block].is_entry = true;
    for (unsigned i = 0; i < routine.blocks.size(); ++i) {
      Block& block = routine.blocks[i];
      const Node& last = routine.nodes[block.last - 1];
      if (falls_through(last)) block.next = routine.block_at(last.offset + last.instruction.size);
      if (leaves(last.kind)) {
        routine.blocks[block.next].is_entry = routine.blocks[block.next].after_leave = true;
      } else if (block.next >= 0) {
        routine.blocks[block.next].predecessors.push_back(i);
      }
      if (last.kind == NodeKind::branch) {
        block.taken = routine.block_at(branch_target(last));
        Block& target = routine.blocks[block.taken];
        target.predecessors.push_back(i);
        // Backward: a wave whose budget is used up leaves here, and enters here again.
        if (target.offset <= last.offset) target.is_entry = true;
      }
    }
  }

  std::span<const CodeRange> code_;
  uint64_t entry_;
  std::map<int64_t, Node> nodes_;
  std::set<int64_t> leaders_;
  std::vector<int64_t> pending_;
};

}  // namespace

int Routine::block_at(int64_t offset) const {
  const auto found = std::lower_bound(blocks.begin(), blocks.end(), offset,
                                      [](const Block& block, int64_t value) { return block.offset < value; });
  return found == blocks.end() || found->offset != offset ? -1 : static_cast<int>(found - blocks.begin());
}

Routine find_routine(std::span<const CodeRange> code, uint64_t entry) {
  return Finder(code, entry).find();
}

}  // namespace lockstep::translator

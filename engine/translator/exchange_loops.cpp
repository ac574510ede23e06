#include "engine/translator/exchange_loops.h"

#include <algorithm>
#include <utility>

#include "engine/translator/body_signature.h"
#include "engine/translator/classify.h"
#include "engine/translator/integer_comparisons.h"
#include "engine/translator/lane_loops.h"
#include "engine/translator/mask_algebra.h"
#include "engine/translator/operands.h"
#include "semantics/memory_shape.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

// Whether its result is in no doubt if its body selects the right NaN.
bool is_exact(const Node& node) {
  return std::ranges::all_of(halves_of(node.instruction), [&](const Half& half) {
    if (!vector_signature(half.row->base).takes_mode) return true;
    if (node.float_mode != kDefaultFloatMode) return false;
    switch (half.row->base) {
      case Opcode::v_add_f32:
      case Opcode::v_sub_f32:
      case Opcode::v_subrev_f32:
      case Opcode::v_mul_f32:
      case Opcode::v_min_f32:
      case Opcode::v_max_f32:
      case Opcode::v_fma_f32:
      case Opcode::v_fmac_f32:
      case Opcode::v_add_f64:
      case Opcode::v_mul_f64:
      case Opcode::v_min_f64:
      case Opcode::v_max_f64:
      case Opcode::v_fma_f64:
        return true;
      default:
        return false;
    }
  });
}

// What a register holds in a round.
struct Content {
  enum class Kind : uint8_t { other, at_begin, loaded, exchanged };
  Kind kind = Kind::other;
  unsigned number = 0;  // at_begin: the register; else which word
  bool operator==(const Content&) const = default;
};

class Candidate {
 public:
  Candidate(const Routine& routine, const Facts& facts, unsigned block)
      : routine_(routine), facts_(facts), block_(routine.blocks[block]), index_(block) {}

  std::optional<ExchangeLoop> loop() {
    if (!has_shape() || !find_atomic()) return std::nullopt;
    for (unsigned n = block_.first; n + 1 < block_.last; ++n)
      if (!follow(n)) return std::nullopt;
    if (!leaves_loop_ || !is_found_kept() || is_mask_needed()) return std::nullopt;
    return loop_;
  }

 private:
  using Kind = Content::Kind;

  const Effects& effects(unsigned n) const { return facts_.nodes[n].effects; }

  bool has_shape() const {
    constexpr unsigned kMostNodes = 64;
    return block_.taken == static_cast<int>(index_) && block_.next >= 0 &&
           block_.last - block_.first <= kMostNodes &&
           routine_.nodes[block_.last - 1].kind == NodeKind::branch &&
           routine_.nodes[block_.last - 1].instruction.row->opcode == Opcode::s_cbranch_execnz;
  }

  bool find_atomic() {
    unsigned count = 0;
    for (unsigned n = block_.first; n < block_.last; ++n) {
      loop_.written |= effects(n).writes;
      loop_.touched |= effects(n).reads | effects(n).writes;
      if (routine_.nodes[n].kind != NodeKind::atomic) continue;
      ++count;
      loop_.atomic = n;
    }
    loop_.touched.reset(kScc);
    if (count != 1) return false;
    const isa::Instruction& atomic = routine_.nodes[loop_.atomic].instruction;
    const isa::Operand* result = atomic.find(Role::dst);
    const semantics::AtomicShape& shape = semantics::atomic_shape(atomic.row->opcode);
    if (shape.operation != semantics::AtomicOperation::cmpswap || !result || !result->written) return false;
    // FLAT in memory; what is elsewhere is not in reach.
    const isa::Encoding encoding = atomic.row->encoding;
    if (encoding != isa::Encoding::ds && encoding != isa::Encoding::global && encoding != isa::Encoding::flat)
      return false;
    words_ = shape.bytes / 4;
    // The place is the same in all rounds.
    return (address_of(atomic) & loop_.written).none();
  }

  // Registers with the address.
  RegisterSet address_of(const isa::Instruction& instruction) const {
    RegisterSet registers;
    for (const Role role : {Role::addr, Role::saddr})
      if (const isa::Operand* operand = instruction.find(role))
        if (const auto source = source_of(*operand, instruction); source && !source->is_constant)
          for (unsigned word = 0; word < operand->words; ++word) registers.set(source->first + word);
    return registers;
  }

  Content content(unsigned number) const {
    const auto known = contents_.find(number);
    return known == contents_.end() ? Content{Kind::at_begin, number} : known->second;
  }
  bool are_words(unsigned first, Kind kind, unsigned number) const {
    for (unsigned word = 0; word < words_; ++word)
      if (content(first + word) != Content{kind, number + word}) return false;
    return true;
  }
  // Whether it is what the lane has found and expects to be there still.
  bool is_expected(unsigned first) const {
    return loop_.loaded ? are_words(first, Kind::loaded, 0)
                        : loop_.found && are_words(first, Kind::at_begin, *loop_.found);
  }
  void set_words(unsigned first, Kind kind) {
    for (unsigned word = 0; word < words_; ++word) contents_[first + word] = {kind, word};
  }

  bool follow(unsigned n) {
    const Node& node = routine_.nodes[n];
    switch (node.kind) {
      case NodeKind::nothing:
        loop_.invalidates_caches |= node.instruction.row->encoding == isa::Encoding::mubuf;
        return true;
      case NodeKind::store_wait:
        return true;
      case NodeKind::global:
      case NodeKind::lds:
        return follow_load(n);
      case NodeKind::atomic:
        return follow_atomic(n);
      case NodeKind::scalar_alu:
        return follow_mask(node.instruction);
      case NodeKind::vector_alu:
      case NodeKind::dual:
        return is_comparison(n) ? follow_comparison(n) : follow_vector(n);
      default:
        return false;
    }
  }

  // Of the place of the exchange, before that.
  bool follow_load(unsigned n) {
    const isa::Instruction& load = routine_.nodes[n].instruction;
    const isa::Instruction& atomic = routine_.nodes[loop_.atomic].instruction;
    const isa::AccessShape& shape = isa::access_shape(load.row->opcode);
    if (loop_.loaded || n > loop_.atomic || load.row->encoding != atomic.row->encoding) return false;
    if (shape.kind != isa::AccessShape::Kind::load || shape.bytes != 4 * words_ || shape.addresses != 1)
      return false;
    const isa::Operand* base = load.find(Role::saddr);
    const isa::Operand* other_base = atomic.find(Role::saddr);
    if (load.find(Role::addr)->code != atomic.find(Role::addr)->code || load.offset != atomic.offset ||
        shape.add_lane_id || (base ? base->code : 0) != (other_base ? other_base->code : 0))
      return false;
    loop_.loaded = load.find(Role::dst)->vgpr();
    set_words(*loop_.loaded, Kind::loaded);
    return true;
  }

  bool follow_atomic(unsigned n) {
    const isa::Instruction& atomic = routine_.nodes[n].instruction;
    const isa::Operand* second = atomic.find(Role::data2);
    const unsigned expected = second ? second->vgpr() : atomic.find(Role::data)->vgpr() + words_;
    if (!loop_.loaded) {
      const Content first = content(expected);
      if (first.kind != Kind::at_begin) return false;
      loop_.found = first.number;
    }
    if (!is_expected(expected)) return false;
    set_words(atomic.find(Role::dst)->vgpr(), Kind::exchanged);
    return true;
  }

  bool is_comparison(unsigned n) const {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    if (n < loop_.atomic || instruction.row_y) return false;
    const IntegerComparison* comparison = integer_comparison(instruction.row->base);
    return comparison && comparison->predicate == llvm::CmpInst::ICMP_EQ && comparison->words == words_;
  }

  bool follow_comparison(unsigned n) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    const isa::Operand *a = instruction.find(Role::src0), *b = instruction.find(Role::src1);
    if (same_ || !a->is_vgpr() || !b->is_vgpr() || instruction.dpp != isa::Dpp::none) return false;
    const auto are_these = [&](unsigned old, unsigned expected) {
      return are_words(old, Kind::exchanged, 0) && is_expected(expected);
    };
    if (!are_these(a->vgpr(), b->vgpr()) && !are_these(b->vgpr(), a->vgpr())) return false;
    for (unsigned r = kFirstScalar; r < kRegisters && !same_; ++r)
      if (effects(n).writes[r]) same_ = r;
    return same_ && *same_ != kExec;
  }

  // Lanes whose numbers are the same are done: they join the mask of those that are, if there is one, and go
  // off.
  bool follow_mask(const isa::Instruction& instruction) {
    const auto operation = mask_instruction(instruction.row->opcode, routine_.wave_size);
    if (!operation || operation->saves_exec || !same_ || leaves_loop_) return false;
    const auto number_of = [&](Role role) -> std::optional<unsigned> {
      const auto source = source_of(*instruction.find(role), instruction);
      return source && !source->is_constant ? std::optional(source->first) : std::nullopt;
    };
    const auto result = scalar_destination(*instruction.find(Role::dst));
    if (!result) return false;
    if (operation->operation == MaskOperation::either) {
      const auto a = number_of(Role::src0), b = number_of(Role::src1);
      if (loop_.left || *result == kExec || *result == *same_) return false;
      if (!(a == same_ && b == result) && !(b == same_ && a == result)) return false;
      loop_.left = result;
      return true;
    }
    leaves_loop_ = operation->operation == MaskOperation::first_only && *result == kExec &&
                   number_of(Role::src0) == kExec && number_of(Role::src1) == loop_.left.value_or(*same_);
    return leaves_loop_;
  }

  // Of numbers that the lane has and those that all lanes have: what is written is neither, but it is copied.
  bool follow_vector(unsigned n) {
    const Node& node = routine_.nodes[n];
    if (!hides_order_of_lanes(node, effects(n)) || !is_exact(node)) return false;
    RegisterSet masks = effects(n).reads & ~numbers_read(node.instruction);
    for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
      if (effects(n).writes[r]) return false;
      const bool is_exec = exec_registers(routine_.wave_size)[r];
      if (effects(n).reads[r] && !is_exec && (masks[r] || loop_.written[r])) return false;
    }
    for (unsigned r = 0; r < kVgprs; ++r)
      if (effects(n).reads[r] && content(r).kind == Kind::at_begin) read_at_begin_.set(r);
    std::vector<std::pair<unsigned, Content>> copies;
    for (const Half& half : halves_of(node.instruction)) {
      if (half.row->base != Opcode::v_mov_b32) continue;
      const isa::Operand *to = nullptr, *from = nullptr;
      for (unsigned i = half.first; i < half.last; ++i) {
        const isa::Operand& operand = node.instruction.operands[i];
        (operand.role == Role::dst ? to : from) = &operand;
      }
      if (from->is_vgpr()) copies.emplace_back(to->vgpr(), content(from->vgpr()));
    }
    for (unsigned r = 0; r < kVgprs; ++r)
      if (effects(n).writes[r]) contents_[r] = {};
    for (const auto& [to, of] : copies) contents_[to] = of;
    loop_.computed.push_back(n);
    return true;
  }

  // What goes on from round to round is what the exchange has found, and nothing else.
  bool is_found_kept() const {
    if (loop_.found && !are_words(*loop_.found, Kind::exchanged, 0)) return false;
    for (unsigned r = 0; r < kVgprs; ++r) {
      const bool is_found = loop_.found && r >= *loop_.found && r < *loop_.found + words_;
      if (read_at_begin_[r] && loop_.written[r] && !is_found) return false;
    }
    return true;
  }

  // Of the comparison the wave has the last round's lanes in the end.
  bool is_mask_needed() const {
    const RegisterSet needed = live_out(block_, facts_).all();
    bool is_needed = needed[kScc];
    for (unsigned word = 0; word < routine_.wave_size / 32; ++word) is_needed |= needed[*same_ + word];
    return is_needed;
  }

  const Routine& routine_;
  const Facts& facts_;
  const Block& block_;
  const unsigned index_;
  ExchangeLoop loop_;
  unsigned words_ = 1;
  std::map<unsigned, Content> contents_;  // of VGPRs that have been written
  RegisterSet read_at_begin_;
  std::optional<unsigned> same_;  // the comparison's mask
  bool leaves_loop_ = false;
};

}  // namespace

std::map<unsigned, ExchangeLoop> find_exchange_loops(const Routine& routine, const Facts& facts) {
  std::map<unsigned, ExchangeLoop> loops;
  for (unsigned b = 0; b < routine.blocks.size(); ++b)
    if (auto loop = Candidate(routine, facts, b).loop()) loops.emplace(b, std::move(*loop));
  return loops;
}

}  // namespace lockstep::translator

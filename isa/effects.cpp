#include "isa/effects.h"

#include <algorithm>

#include "isa/memory_shape.h"
#include "isa/operand_rules.h"
#include "isa/shape.h"

namespace lockstep::isa {
namespace {

bool is_register(const Operand& operand) {
  if (operand.role == Role::simm || operand.role == Role::none) return false;
  switch (operand.type) {
    case Type::imm:
    case Type::label:
    case Type::hwreg:
      return false;
    default:
      return operand.is_vgpr() || operand.code == code::kScc ||
             (operand.code < code::kInt0 && operand.code != code::kNull);
  }
}

// Whether the destination keeps a part of what it held in lanes that are written.
bool keeps_part(const Instruction& instruction, const Operand& operand) {
  if (!operand.is_vgpr()) return false;
  const Row& row = *instruction.row;
  if (is_memory(row.encoding)) {
    const AccessShape& shape = access_shape(row.opcode);
    for (unsigned word = 0; word < shape.registers(); ++word)
      if (shape.used_bits(word) != ~0u) return shape.reads();
    return false;
  }
  switch (row.opcode) {
    case Opcode::v_writelane_b32:
    // One half of each register, which OPSEL names (guide 7.9).
    case Opcode::v_wmma_f16_16x16x16_f16:
    case Opcode::v_wmma_bf16_16x16x16_bf16:
      return true;
    default:
      return is_16_bit(operand.type) || instruction.dpp != Dpp::none;
  }
}

class Collector {
 public:
  Collector(const Instruction& instruction, const Bearer& bearer)
      : instruction_(instruction), bearer_(bearer) {
    if (has_index(instruction.row->opcode)) {
      is_indexed_ = !bearer.m0;
      if (bearer.m0) indices_ = register_indices(instruction.row->opcode, *bearer.m0);
    }
  }

  RegisterEffects collect() {
    if (has_lost_destination(instruction_, bearer_.vgpr_count, bearer_.is_privileged) ||
        (is_scalar_alu(instruction_.row->encoding) && is_nullified(instruction_, bearer_.is_privileged)) ||
        has_lost_swap() || (instruction_.row_y && bearer_.wave_size == 64))
      return {};
    for (unsigned i = 0; i < instruction_.operand_count; ++i) {
      const Operand& operand = instruction_.operands[i];
      // From a number that is no register's the index leads to S0, which stands for those out of range
      // (guide 3.3.2.2).
      const bool is_moved = is_scalar_alu(instruction_.row->encoding) && is_relative(operand);
      if ((operand.code == code::kVccz || operand.code == code::kExecz) && !is_moved)
        add_summary(operand, static_cast<uint8_t>(i));
      if (!is_register(operand) && !is_moved) continue;
      if (operand.read) add_read(operand, static_cast<uint8_t>(i));
      if (operand.written) add_write(operand, static_cast<uint8_t>(i));
    }
    uint32_t reads = implicit_reads(instruction_), writes = implicit_writes(instruction_);
    if (instruction_.row_y) {
      reads |= instruction_.row_y->implicit_reads;
      writes |= instruction_.row_y->implicit_writes;
    }
    if (keeps_scc(instruction_, bearer_.is_privileged)) writes &= ~kScc;
    add_implied(effects_.reads, reads);
    add_implied(effects_.writes, writes);
    return effects_;
  }

 private:
  uint32_t index_of(const Operand& operand) const {
    return operand.role == Role::dst ? indices_.destination : indices_.source;
  }
  bool is_relative(const Operand& operand) const {
    // Each index is some part of M0: of all ones every one that there is is not zero.
    const Indices all = register_indices(instruction_.row->opcode, ~0u);
    return (operand.role == Role::dst ? all.destination : all.source) != 0;
  }
  // Both operands of an exchange are destinations: with one out of range nothing is written.
  bool has_lost_swap() const {
    if (instruction_.row->opcode != Opcode::v_swaprel_b32 || !bearer_.m0) return false;
    return std::any_of(instruction_.operands.begin(),
                       instruction_.operands.begin() + instruction_.operand_count,
                       [&](const Operand& operand) {
                         return uint64_t{operand.vgpr()} + index_of(operand) >= bearer_.vgpr_count;
                       });
  }

  // The range so many registers further: none if the wave does not have them all.
  std::optional<uint16_t> moved(const Operand& operand, uint16_t first) const {
    const uint64_t at = uint64_t{first} + index_of(operand);
    const unsigned end = operand.is_vgpr()       ? code::kVgpr0 + bearer_.vgpr_count
                         : first < code::kTtmp0  ? code::kTtmp0
                         : bearer_.is_privileged ? code::kNull
                                                 : 0;
    if (at + operand.words > end) return std::nullopt;
    return static_cast<uint16_t>(at);
  }

  void add_read(const Operand& operand, uint8_t number) {
    RegisterUse use;
    use.operand = number;
    use.first = operand.is_vgpr() || is_memory(instruction_.row->encoding)
                    ? operand.code
                    : scalar_source_code(operand, bearer_.wave_size);
    const bool is_moved = is_relative(operand);
    use.count = operand.code == code::kScc && !is_moved ? uint16_t{1} : operand.words;
    use.is_indexed = is_indexed_ && is_moved;
    if (bearer_.m0 && is_moved) {
      // Out of range it is the first register that is read.
      use.first = moved(operand, use.first).value_or(operand.is_vgpr() ? code::kVgpr0 : 0);
    } else if (operand.is_vgpr() && operand.vgpr() + operand.words > bearer_.vgpr_count) {
      const unsigned end = code::kVgpr0 + bearer_.vgpr_count;
      if (is_memory(instruction_.row->encoding)) {
        // Register by register.
        if (operand.code < end) {
          use.count = static_cast<uint16_t>(end - operand.code);
          effects_.reads.add(use);
        }
        use.count = 1;
        use.first = code::kVgpr0;
      } else {
        use.first = static_cast<uint16_t>(code::kVgpr0 + (instruction_.row_y ? operand.vgpr() % 4 : 0));
      }
    }
    effects_.reads.add(use);
  }

  // VCCZ and EXECZ are read off the register itself.
  void add_summary(const Operand& operand, uint8_t number) {
    RegisterUse use;
    use.operand = number;
    use.first = operand.code == code::kVccz ? code::kVccLo : code::kExecLo;
    use.count = static_cast<uint16_t>(bearer_.wave_size / 32);
    effects_.reads.add(use);
  }

  void add_write(const Operand& operand, uint8_t number) {
    if (operand.code == code::kScc || is_foreign_trap_temporary(operand, bearer_.is_privileged)) return;
    RegisterUse use;
    use.operand = number;
    use.first = operand.code;
    use.count = operand.words;
    use.is_partial = keeps_part(instruction_, operand);
    use.is_indexed = is_indexed_ && is_relative(operand);
    if (bearer_.m0 && is_relative(operand)) {
      const auto first = moved(operand, use.first);
      if (!first) return;
      use.first = *first;
    }
    effects_.writes.add(use);
  }

  // Scalar instructions name the width of EXEC, others have the wave's.
  uint16_t words_of_exec() const {
    const Operand* destination = instruction_.find(Role::dst);
    if (is_scalar_alu(instruction_.row->encoding) && destination) return destination->words;
    return static_cast<uint16_t>(bearer_.wave_size / 32);
  }
  void add_implied(RegisterUses& list, uint32_t implied) {
    const auto mask = static_cast<uint16_t>(bearer_.wave_size / 32);
    const auto add = [&](uint16_t first, uint16_t count) {
      RegisterUse use;
      use.first = first;
      use.count = count;
      list.add(use);
    };
    if (implied & kExec) add(code::kExecLo, words_of_exec());
    if (implied & kVcc) add(code::kVccLo, mask);
    if (implied & kScc) add(code::kScc, 1);
    if (implied & kM0) add(code::kM0, 1);
  }

  const Instruction& instruction_;
  const Bearer& bearer_;
  Indices indices_;
  bool is_indexed_ = false;  // by an M0 that is not known
  RegisterEffects effects_;
};

}  // namespace

std::string name(const RegisterRange& range) {
  const unsigned number = range.first;
  const bool is_pair = range.count == 2;
  switch (number) {
    case code::kVccLo:
      return is_pair ? "vcc" : "vcc_lo";
    case code::kVccHi:
      return "vcc_hi";
    case code::kM0:
      return "m0";
    case code::kExecLo:
      return is_pair ? "exec" : "exec_lo";
    case code::kExecHi:
      return "exec_hi";
    case code::kScc:
      return "scc";
    default:
      break;
  }
  const char* const file = range.is_vgpr() ? "v" : number >= code::kTtmp0 ? "ttmp" : "s";
  const unsigned first = number - (range.is_vgpr()          ? code::kVgpr0
                                   : number >= code::kTtmp0 ? code::kTtmp0
                                                            : 0);
  if (range.count == 1) return file + std::to_string(first);
  return file + ("[" + std::to_string(first) + ":" + std::to_string(first + range.count - 1) + "]");
}

RegisterEffects register_effects(const Instruction& instruction, const Bearer& bearer) {
  return Collector(instruction, bearer).collect();
}

bool has_index(Opcode opcode) {
  const Indices all = register_indices(opcode, ~0u);
  return all.destination != 0 || all.source != 0;
}

Indices register_indices(Opcode opcode, uint32_t m0) {
  const uint32_t even = m0 & ~1u, low = m0 & 0x3ff, high = m0 >> 16 & 0x3ff;
  switch (opcode) {
    case Opcode::s_movrels_b32:
    case Opcode::v_movrels_b32:
      return {0, m0};
    case Opcode::s_movrels_b64:
      return {0, even};
    case Opcode::s_movreld_b32:
    case Opcode::v_movreld_b32:
      return {m0, 0};
    case Opcode::s_movreld_b64:
      return {even, 0};
    case Opcode::v_movrelsd_b32:
      return {m0, m0};
    case Opcode::s_movrelsd_2_b32:
    case Opcode::v_movrelsd_2_b32:
    case Opcode::v_swaprel_b32:
      return {high, low};
    default:
      return {};
  }
}

bool is_64_bit(Type type) {
  return type == Type::b64 || type == Type::u64 || type == Type::i64 || type == Type::f64 ||
         type == Type::address;
}

uint16_t scalar_source_code(const Operand& operand, unsigned wave_size) {
  const bool is_pair = is_64_bit(operand.type) || (operand.type == Type::mask && wave_size == 64);
  return is_pair && operand.code < code::kInt0 ? operand.code & 0xfffe : operand.code;
}

uint64_t widen_literal(uint32_t literal, Type type) {
  if (type == Type::f64) return uint64_t{literal} << 32;
  if (type == Type::i64) return static_cast<uint64_t>(int64_t{static_cast<int32_t>(literal)});
  return literal;
}

bool is_foreign_trap_temporary(const Operand& operand, bool is_privileged) {
  return operand.code >= code::kTtmp0 && operand.code < code::kNull && !is_privileged;
}

bool has_lost_destination(const Instruction& instruction, unsigned vgpr_count, bool is_privileged) {
  const bool is_vector = is_vector_alu(instruction.row->encoding);
  return std::any_of(instruction.operands.begin(), instruction.operands.begin() + instruction.operand_count,
                     [&](const Operand& operand) {
                       if (!operand.written) return false;
                       if (operand.is_vgpr()) return operand.vgpr() + operand.words > vgpr_count;
                       return is_vector && (is_foreign_trap_temporary(operand, is_privileged) ||
                                            is_beyond_vector_alu(operand, *instruction.row));
                     });
}

bool keeps_scc(const Instruction& instruction, bool is_privileged) {
  if (!is_scalar_alu(instruction.row->encoding)) return false;
  const Operand* destination = instruction.find(Role::dst);
  return destination && destination->written && is_foreign_trap_temporary(*destination, is_privileged);
}

bool is_nullified(const Instruction& instruction, bool is_privileged) {
  return keeps_scc(instruction, is_privileged) && !(instruction.row->implicit_writes & ~kScc) &&
         !(instruction.row->flags & kBranch);
}

}  // namespace lockstep::isa

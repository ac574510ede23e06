#include "engine/interpreter/predecode.h"

#include <algorithm>
#include <cstring>

#include "engine/interpreter/common.h"
#include "engine/scalar_operand.h"
#include "isa/branch.h"
#include "isa/effects.h"
#include "isa/explain.h"
#include "isa/operand_rules.h"
#include "isa/row_facts.h"
#include "semantics/engine_handled.h"

namespace lockstep::interpreter {

namespace {

using isa::Encoding;
using isa::Opcode;
using isa::Role;
using isa::Type;

// VCCZ and EXECZ are summaries that no instruction writes: compute them just before they are read as
// operands.
void refresh_conditions(const Operation* op, Wave* wave, int64_t budget) {
  wave->scalar[kScalarConditions] = wave->mask(isa::code::kVccLo) == 0;
  wave->scalar[kScalarConditions + 2] = wave->exec() == 0;
  LOCKSTEP_NEXT();
}

// What a destination out of range makes of an instruction (guide 3.3.1.4, 3.3.2.2, 6.2).
void nullified(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEXT();
}

// NULL swallows writes, too.
bool swallows_writes(const isa::Operand& operand, bool privileged) {
  return operand.code == isa::code::kNull || isa::is_foreign_trap_temporary(operand, privileged);
}

void refused(const Operation* op, Wave* wave, int64_t budget) {
  Fault fault;
  fault.kind = static_cast<FaultKind>(op->detail);
  fault.message = reinterpret_cast<const char*>(op->literal);
  raise(op, wave, budget, std::move(fault));
}

// Bytes that are no instruction, as many as op->literal at most.
void refused_bytes(const Operation* op, Wave* wave, int64_t budget) {
  Fault fault;
  fault.kind = FaultKind::illegal_instruction;
  fault.message = isa::explain({reinterpret_cast<const std::byte*>(op->pc), op->literal}, wave->wave_size);
  raise(op, wave, budget, std::move(fault));
}

void refused_dpp_control(const Operation* op, Wave* wave, int64_t budget) {
  Fault fault;
  fault.kind = FaultKind::illegal_instruction;
  fault.message = "DPP_CTRL of " + std::string(op->instruction->row->name) + " is " +
                  std::to_string(op->instruction->dpp_control) + ", which is reserved (guide 7.7.1)";
  raise(op, wave, budget, std::move(fault));
}

// Fills engine registers with those of a group that the wave has; VGPR 0 stands for the others.
void fill(const Operation* op, Wave* wave) {
  for (unsigned i = 0; i < op->detail; ++i) {
    const uint64_t place = op->source[0] + uint64_t{i} * wave->register_bytes;
    const uint64_t from = place < op->literal ? place : 0;
    std::memcpy(wave->vgprs + op->dst + i * wave->register_bytes, wave->vgprs + from, wave->register_bytes);
  }
}
void fill_group(const Operation* op, Wave* wave, int64_t budget) {
  fill(op, wave);
  LOCKSTEP_NEXT();
}

bool is_packed(Type type) {
  return type == Type::pk_b16 || type == Type::pk_u16 || type == Type::pk_i16 || type == Type::pk_f16 ||
         type == Type::pk_bf16;
}

// The handler judges whether the register is there, from the sum.
bool adds_m0_to_source(Opcode opcode) {
  return opcode != Opcode::v_swaprel_b32 && isa::register_indices(opcode, ~0u).source != 0;
}

uint32_t flags_of(const isa::Operand& operand, const isa::Row& row) {
  uint32_t flags = 0;
  if (is_packed(operand.type)) {
    if (isa::high_element_is_high_half(operand, row)) flags |= kHighHigh;
    if (isa::high_element_is_negated(operand, row)) flags |= kNegHigh;
  }
  if (isa::chooses_halves(operand, row)) flags |= kHalves;
  // A brain float's inline constant is the upper half of the f32 one, in both elements (guide 7.5.1).
  if ((operand.type == Type::bf16 || operand.type == Type::pk_bf16) && is_float_constant(operand.code))
    flags |= kHigh | kHighHigh;
  if (operand.abs && row.flags & isa::kCanAbs) flags |= kAbs;
  if (operand.neg) flags |= kNeg;
  if (operand.neg_hi) flags |= kNegHigh;
  if (operand.high) flags |= kHigh;
  if (operand.high_hi) flags |= kHighHigh;
  return flags;
}

bool has_reserved_dpp_control(const isa::Instruction& instruction) {
  return instruction.dpp == isa::Dpp::dpp16 && !semantics::dpp16_row_shuffle(instruction.dpp_control).known;
}

bool names_vgpr(const isa::Instruction& instruction) {
  return std::any_of(instruction.operands.begin(), instruction.operands.begin() + instruction.operand_count,
                     [](const isa::Operand& operand) { return operand.is_vgpr(); });
}

}  // namespace

void prepare_sources(const Operation* op, Wave* wave) {
  if (op->run == &fill_group) fill(op, wave);
}

bool does_nothing(const Operation* op) {
  return op->run == &nullified;
}

Predecoder::Predecoder(Program& program, uint64_t pc, std::span<const std::byte> bytes)
    : program_(program), pc_(pc), bytes_(bytes), register_bytes_(program.wave_size() * 4) {}

Operation Predecoder::blank(const isa::Instruction& instruction) const {
  Operation op;
  std::memset(static_cast<void*>(&op), 0, sizeof op);
  op.instruction = &instruction;
  op.pc = pc_;
  op.dst = op.dst2 = kScalarDiscard * 4;
  return op;
}

Operation Predecoder::refuse(const isa::Instruction& instruction, FaultKind kind, const char* reason) {
  refused_ = true;
  Operation op = blank(instruction);
  op.run = &refused;
  op.detail = static_cast<uint16_t>(kind);
  op.literal = reinterpret_cast<uint64_t>(reason);
  return op;
}

Operation Predecoder::nullify(const isa::Instruction& instruction) const {
  Operation op = blank(instruction);
  op.run = &nullified;
  return op;
}

uint32_t Predecoder::vgpr_offset(unsigned index) const {
  return index * register_bytes_;
}

// Guide 3.3.2.2: which registers a wave has, and what happens to those who ask for others.
bool Predecoder::is_out_of_range(const isa::Operand& operand) const {
  return operand.is_vgpr() && operand.vgpr() + operand.words > program_.vgpr_count();
}

bool Predecoder::has_destination_out_of_range(const isa::Instruction& instruction) const {
  return isa::has_lost_destination(instruction, program_.vgpr_count(), program_.privileged());
}

uint32_t Predecoder::vector_source(const isa::Operand& operand, bool dual_issue) const {
  if (!is_out_of_range(operand)) return vgpr_offset(operand.vgpr());
  return vgpr_offset(dual_issue ? operand.vgpr() % 4 : 0);
}

uint32_t Predecoder::memory_source(const isa::Instruction& instruction, const isa::Operand& operand,
                                   OperationList& preparations) {
  if (!is_out_of_range(operand)) return vgpr_offset(operand.vgpr());
  Operation fill = blank(instruction);
  fill.run = &fill_group;
  fill.source[0] = vgpr_offset(operand.vgpr());
  fill.literal = vgpr_offset(program_.vgpr_count());
  fill.detail = operand.words;
  fill.dst = vgpr_offset(kMaxVgprs + engine_registers_);
  engine_registers_ += operand.words;
  preparations.push_back(fill);
  return fill.dst;
}

uint32_t Predecoder::scalar_destination(const isa::Operand& operand) const {
  return swallows_writes(operand, program_.privileged()) ? kScalarDiscard * 4 : operand.code * 4u;
}

uint32_t Predecoder::scalar_source(const isa::Operand& operand, const isa::Instruction& instruction,
                                   Operation& op) {
  const unsigned slot = scalar_slot(operand, program_.wave_size());
  if (slot == kScalarLiteral) {
    op.literal = isa::widen_literal(instruction.literal, operand.type);
    uses_literal_ = true;
  }
  reads_conditions_ |= slot == kScalarConditions || slot == kScalarConditions + 2;
  return slot * 4;
}

void Predecoder::set_source(Operation& op, unsigned i, const isa::Operand& operand,
                            const isa::Instruction& instruction, const isa::Row& row) {
  uint32_t flags = flags_of(operand, row);
  if (operand.role == Role::simm && operand.code != isa::code::kLiteral) {
    op.literal = static_cast<uint64_t>(operand.value);
    uses_literal_ = true;
    op.source[i] = kScalarLiteral * 4;
    flags |= kScalarSource;
  } else if (operand.is_vgpr()) {
    op.source[i] = adds_m0_to_source(instruction.row->opcode)
                       ? vgpr_offset(operand.vgpr())
                       : vector_source(operand, instruction.row_y != nullptr);
  } else {
    op.source[i] = scalar_source(operand, instruction, op);
    flags |= kScalarSource;
  }
  op.source_flags |= flags << (8 * i);
}

OperationList Predecoder::predecode(isa::Instruction& instruction) {
  const isa::DecodeError error = isa::decode(bytes_, program_.wave_size(), instruction);
  if (error != isa::DecodeError::none) {
    if (instruction.size < 4) instruction.size = 4;
    refused_ = true;
    Operation op = blank(instruction);
    op.run = &refused_bytes;
    op.literal = bytes_.size();
    return {op};
  }
  if (program_.vgpr_count() == 0 && names_vgpr(instruction))
    return {refuse(
        instruction, FaultKind::illegal_instruction,
        "the wave has given its VGPRs back (s_sendmsg with message 3, deallocate VGPRs); behind it may "
        "only stand what uses none (guide 5.3)")};
  if (instruction.row->encoding == Encoding::vopd)
    // Wave64 skips dual-issue instructions (guide 7.6).
    return program_.wave_size() == 64 ? OperationList{nullify(instruction)} : dual_issue(instruction);
  const size_t index = static_cast<size_t>(instruction.row->opcode);
  OperationList operations;
  if (isa::is_vector_alu(instruction.row->encoding) && program_.table().valu[index].any)
    operations = vector_alu(instruction);
  else
    operations = other(instruction);
  if (reads_conditions_) {
    Operation refresh = blank(instruction);
    refresh.run = &refresh_conditions;
    operations.push_front(refresh);
  }
  return operations;
}

Operation Predecoder::vector_half(const isa::Instruction& instruction, const isa::Row& row, unsigned first,
                                  unsigned last) {
  Operation op = blank(instruction);
  const ValuHandlers& handlers = program_.table().valu[static_cast<size_t>(row.base)];
  unsigned sources = 0, scalar_sources = 0;  // the latter by bits
  const isa::Operand* old_destination = nullptr;
  bool modified = false;
  for (unsigned i = first; i < last; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.role == Role::dst) {
      if (operand.is_vgpr()) {
        op.dst = vgpr_offset(operand.vgpr());
        if (operand.high) op.flags |= kDstHigh;
        if (operand.read) old_destination = &operand;
      } else {
        op.dst = scalar_destination(operand);
      }
    } else if (operand.role == Role::dst2) {
      op.dst2 = scalar_destination(operand);
    } else if (sources < 3) {
      set_source(op, sources, operand, instruction, row);
      if (operand.type != Type::mask && !operand.is_vgpr()) {
        scalar_sources |= 1u << sources;
      }
      if (operand.abs || operand.neg || operand.high || operand.neg_hi || isa::chooses_halves(operand, row))
        modified = true;
      ++sources;
    }
  }
  if (old_destination && sources < 3) {
    op.source[sources] = op.dst;
    if (op.flags & kDstHigh) op.source_flags |= kHigh << (8 * sources);
    if (is_packed(old_destination->type)) op.source_flags |= kHighHigh << (8 * sources);
    ++sources;
  }
  if (row.opcode == Opcode::v_fma_mixhi_f16) op.flags |= kDstHigh;
  if (!(row.flags & isa::kIgnoresOutputModifiers)) {
    if (instruction.clamp) op.flags |= kClamp;
    op.flags |= static_cast<uint8_t>(instruction.omod << kOmodShift);
  }

  const bool plain_mode = program_.default_float_mode() || !handlers.takes_mode;
  const bool dpp = instruction.dpp != isa::Dpp::none;
  const Handler plain = handlers.plain_of(program_.wave_size())[scalar_sources];
  const Handler any = program_.wave_size() == 32 ? handlers.any_of_wave32 : handlers.any;
  if (instruction.clamp && handlers.saturated)
    op.run = handlers.saturated;
  else if (plain_mode && plain && !modified && !dpp && op.flags == 0)
    op.run = plain;
  else
    op.run = program_.default_float_mode() ? any : handlers.any_runtime_mode;
  return op;
}

Operation Predecoder::refuse_dpp_control(const isa::Instruction& instruction) {
  refused_ = true;
  Operation op = blank(instruction);
  op.run = &refused_dpp_control;
  return op;
}

uint64_t Predecoder::dpp_selection(const isa::Instruction& instruction) {
  return reinterpret_cast<uint64_t>(&program_.dpp_selections_.emplace_back(
      instruction.dpp == isa::Dpp::dpp8
          ? semantics::make_dpp8(instruction.dpp8_selectors, instruction.fetch_inactive)
          : semantics::make_dpp16(instruction.dpp_control, instruction.row_mask, instruction.bank_mask,
                                  instruction.bound_control, instruction.fetch_inactive)));
}

OperationList Predecoder::vector_alu(const isa::Instruction& instruction) {
  if (has_destination_out_of_range(instruction)) return {nullify(instruction)};
  Operation op = vector_half(instruction, *instruction.row, 0, instruction.operand_count);
  if (instruction.dpp == isa::Dpp::none) return {op};
  if (has_reserved_dpp_control(instruction)) return {refuse_dpp_control(instruction)};
  // DPP rewrites source 0: a first operation gathers the lanes into an engine register.
  Operation gather = blank(instruction);
  gather.run = program_.table().dpp_gather;
  gather.source[0] = op.source[0];
  gather.dst = vgpr_offset(kMaxVgprs);
  gather.literal = dpp_selection(instruction);
  op.source[0] = gather.dst;
  op.flags |= kDppMask;
  return {gather, op};
}

OperationList Predecoder::dual_issue(const isa::Instruction& instruction) {
  for (const isa::Row* row : {instruction.row, instruction.row_y})
    if (!program_.table().valu[static_cast<size_t>(row->base)].any)
      return {refuse(instruction, FaultKind::unsupported, "this VOPD half is not implemented yet")};
  if (has_destination_out_of_range(instruction)) return {nullify(instruction)};
  Operation x = vector_half(instruction, *instruction.row, 0, instruction.first_y_operand);
  Operation y =
      vector_half(instruction, *instruction.row_y, instruction.first_y_operand, instruction.operand_count);
  // Both halves read before either writes (guide 7.6): order them so, or write the first result aside.
  auto reads_register = [&](unsigned first, unsigned last, uint32_t written) {
    for (unsigned i = first; i < last; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      if ((operand.read || operand.role != Role::dst) && operand.is_vgpr() &&
          vector_source(operand, true) == written)
        return true;
    }
    return false;
  };
  const bool y_reads_x = reads_register(instruction.first_y_operand, instruction.operand_count, x.dst);
  const bool x_reads_y = reads_register(0, instruction.first_y_operand, y.dst);
  if (!y_reads_x) return {x, y};
  if (!x_reads_y) return {y, x};
  Operation move = blank(instruction);
  move.run = program_.table().valu[static_cast<size_t>(Opcode::v_mov_b32)].plain_of(program_.wave_size())[0];
  move.dst = x.dst;
  move.source[0] = x.dst = vgpr_offset(kMaxVgprs);
  return {x, y, move};
}

void Predecoder::fill_branch(Operation& op, const isa::Instruction& instruction) {
  if (const auto target = isa::label_target(instruction, pc_ + instruction.size))
    op.target = program_.target(pc_, *target);
}

OperationList Predecoder::other(const isa::Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  const size_t index = static_cast<size_t>(row.opcode);
  const HandlerTable& table = program_.table();
  if (!table.other[index]) {
    const std::string_view* reason = semantics::find_unsupported(row);
    return {refuse(instruction, FaultKind::unsupported,
                   reason ? reason->data() : "this instruction has no handler")};
  }

  if (instruction.gds && !table.gds[index])
    return {refuse(instruction, FaultKind::illegal_instruction,
                   "this instruction works on LDS only (guide 12.5): it takes no GDS bit")};

  // Others wait for an ordered count: it is issued even without lanes.
  const bool is_always_issued = row.opcode == Opcode::ds_ordered_count;
  const bool has_lost_destination = has_destination_out_of_range(instruction);
  if (has_lost_destination && !is_always_issued) return {nullify(instruction)};
  Operation op = blank(instruction);
  op.run = instruction.gds ? table.gds[index] : table.other[index];
  if (has_lost_destination) op.flags |= kWithoutLanes;
  if (isa::is_scalar_alu(row.encoding) || isa::is_vector_alu(row.encoding)) {
    unsigned sources = 0;
    const isa::Operand* old_destination = nullptr;
    bool has_label = false;
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      if (operand.role == Role::dst) {
        op.dst = operand.is_vgpr() ? vgpr_offset(operand.vgpr()) : scalar_destination(operand);
        if (operand.high) op.flags |= kDstHigh;
        if (operand.read) old_destination = &operand;
      } else if (operand.role == Role::dst2) {
        op.dst2 = operand.is_vgpr() ? vgpr_offset(operand.vgpr()) : scalar_destination(operand);
      } else if (operand.type == Type::label) {
        has_label = true;
      } else if (operand.type == Type::hwreg) {
        op.detail = static_cast<uint16_t>(operand.value);
      } else if (sources < 3) {
        set_source(op, sources++, operand, instruction, *instruction.row);
      }
    }
    if (isa::is_scalar_alu(row.encoding)) {
      if (isa::is_nullified(instruction, program_.privileged())) return {nullify(instruction)};
      if (isa::keeps_scc(instruction, program_.privileged())) op.flags |= kKeepsScc;
    }
    // The old destination follows the sources; s_cmpk reads its only register as a plain source. A scalar one
    // that cannot be written is read where it reads zero, not where its writes go.
    if (old_destination && sources < 3)
      op.source[sources++] =
          old_destination->is_vgpr() ? op.dst : scalar_source(*old_destination, instruction, op);
    if (instruction.dpp != isa::Dpp::none) {
      if (has_reserved_dpp_control(instruction)) return {refuse_dpp_control(instruction)};
      op.literal = dpp_selection(instruction);
      op.flags |= kDppMask;
    }
    if (has_label)
      fill_branch(op, instruction);
    else if (uses_literal_ && table.other_literal[index])
      op.run = table.other_literal[index];
  } else {
    OperationList operations;
    // Memory: source 0 address, 1 data, 2 scalar base or second data; the handlers know their encoding.
    op.offset =
        row.flags & isa::kTwoAddresses ? instruction.offset0 | instruction.offset1 << 8 : instruction.offset;
    // Those of a loop get places of their own, if there are enough.
    if (row.encoding != Encoding::ds && row.encoding != Encoding::scratch)
      op.source_flags = program_.memory_instructions_++ % kCachedRanges << kRangeSlotShift;
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      const uint32_t place = operand.is_vgpr() ? memory_source(instruction, operand, operations)
                             : operand.code == isa::code::kNull ? kScalarZeros * 4
                                                                : operand.code * 4u;
      switch (operand.role) {
        case Role::dst:
          op.dst = operand.is_vgpr() ? place : scalar_destination(operand);
          if (operand.written) op.detail = operand.words;
          break;
        case Role::addr:
          op.source[0] = place;
          if (operand.is_vgpr()) op.source_flags |= kHasAddress;
          break;
        case Role::data:
          op.source[1] = place;
          break;
        case Role::data2:
          op.source[2] = place;
          break;
        case Role::saddr:
        case Role::resource:
          op.source[2] = place;
          if (operand.code != isa::code::kNull) op.source_flags |= kHasScalarBase;
          break;
        case Role::soffset:
          op.dst2 = operand.is_literal() ? kScalarDiscard * 4 : place;
          break;
        default:
          break;
      }
    }
    operations.push_back(op);
    return operations;
  }
  return {op};
}

}  // namespace lockstep::interpreter

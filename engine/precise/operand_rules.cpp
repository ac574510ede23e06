#include "engine/precise/operand_rules.h"

#include <algorithm>
#include <array>

#include "engine/precise/dual_issue_rules.h"
#include "engine/precise/m0_rules.h"
#include "engine/precise/scalar_values.h"
#include "isa/effects.h"
#include "isa/explain.h"

namespace lockstep::precise {

using isa::RegisterRange;

namespace {

using isa::Opcode;
using isa::Type;

// What a rule says is broken, or nothing.
using Rule = std::string (*)(const Step& step);

bool is_vector_alu(const Step& step) {
  return isa::is_vector_alu(step.instruction.row->encoding);
}

std::string name_of(const Step& step) {
  return std::string(step.instruction.row->name);
}

// Two scalar values; 64-bit shifts one, and that once. VOPD counts in its own way.
std::string too_many_scalar_values(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  if (!is_vector_alu(step) || instruction.row_y) return {};
  const ScalarValues read = scalar_values(instruction, 0, instruction.operand_count, step.wave.wave_size);
  switch (instruction.row->opcode) {
    case Opcode::v_lshlrev_b64:
    case Opcode::v_lshrrev_b64:
    case Opcode::v_ashrrev_i64:
      if (read.count() < 2) return {};
      return name_of(step) + " takes " + read.text() +
             " from scalar operands (guide 7.2.2.3): 64-bit shifts may use one scalar value, and only once; "
             "move the other into a VGPR";
    default:
      break;
  }
  constexpr unsigned kMost = 2;
  const ScalarValues different = read.different();
  if (different.count() <= kMost) return {};
  return name_of(step) + " reads " + std::to_string(different.count()) + " scalar values, " +
         different.text() + " (guide 7.2.2.3): a vector instruction may use two; move one into a VGPR";
}

std::string mask_in_high_half(const Step& step) {
  if (!is_vector_alu(step) || step.wave.wave_size != 32) return {};
  const isa::Instruction& instruction = step.instruction;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.type != Type::mask) continue;
    if (operand.code == isa::code::kVccHi || operand.code == isa::code::kExecHi)
      return name_of(step) + " with " + name(RegisterRange{operand.code, 1}) +
             " as mask or carry in a wave of 32 (guide 3.4.6): take vcc_lo or an SGPR";
  }
  return {};
}

constexpr bool is_reserved_source(unsigned code) {
  switch (code) {
    case 239:
    case 249:
    case 251:
    case 252:
    case 254:
      return true;
    default:
      return code > isa::code::kIntNegativeLast && code < 233;
  }
}

// LLVM has names for some of them (src_pops_exiting_wave_id, src_vccz, src_execz, src_lds_direct).
std::string reserved_source(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const unsigned code = instruction.operands[i].code;
    if (!is_reserved_source(code)) continue;
    return name_of(step) + " reads source operand " + std::to_string(code) +
           ", which is reserved (guide 6.2 and 7.2, tables 20 and 26)" +
           (code == isa::code::kVccz || code == isa::code::kExecz
                ? ": branch by s_cbranch_vccz or s_cbranch_execz, or compare the mask with zero"
                : ": use another operand");
  }
  return {};
}

// Those are issued once for all lanes (guide 3.2.3), so that no second pass reads what the first has written.
bool is_issued_once(const isa::Instruction& instruction) {
  switch (instruction.row->opcode) {
    case Opcode::v_readlane_b32:
    case Opcode::v_readfirstlane_b32:
    case Opcode::v_writelane_b32:
      return true;
    default:
      return false;
  }
}

// A mask is read and written a half in each pass, so that a carry may go through one SGPR pair.
std::string written_between_passes(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  if (!is_vector_alu(step) || step.wave.wave_size != 64 || is_issued_once(instruction)) return {};
  const auto begin = instruction.operands.begin(), end = begin + instruction.operand_count;
  for (auto written = begin; written != end; ++written) {
    if (!written->written || written->is_vgpr() || written->code == isa::code::kNull) continue;
    const RegisterRange destination = range_of(*written);
    for (auto read = begin; read != end; ++read) {
      const RegisterRange source = range_of(*read);
      if (read->read && read->type != Type::mask && source.overlaps(destination))
        return name_of(step) + " reads " + name(source) + " and writes " + name(destination) +
               " in a wave of 64 (guide 7.2.3.2): its second pass may read what the first has written; write "
               "another SGPR pair";
    }
  }
  return {};
}

std::string not_for_vector_alu(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  if (!is_vector_alu(step)) return {};
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!operand.written || operand.is_vgpr()) continue;
    if (operand.code == isa::code::kM0)
      return name_of(step) +
             " writes m0 (guide 3.4.3), which the scalar ALU alone may: write an SGPR, and s_mov_b32 m0 from "
             "it";
    const bool is_exec = operand.code == isa::code::kExecLo || operand.code == isa::code::kExecHi;
    if (is_exec && !(instruction.row->flags & isa::kWritesExec))
      return name_of(step) +
             " writes EXEC (guide 7.2.5), which only v_cmpx may among vector instructions: use v_cmpx, or "
             "write "
             "an SGPR and move it";
  }
  return {};
}

// The numbers that decode() gives are aligned, as the hardware takes them: those of the program are in its
// bytes.
std::string misaligned_registers(const Step& step) {
  const isa::Instruction& instruction = step.instruction;
  const auto begin = instruction.operands.begin(), end = begin + instruction.operand_count;
  const bool has_groups = std::any_of(begin, end, [](const isa::Operand& operand) {
    return operand.words > 1 && operand.code < isa::code::kNull;
  });
  if (!has_groups) return {};
  const std::string text = isa::misaligned_registers(
      {reinterpret_cast<const std::byte*>(step.pc), instruction.size}, step.wave.wave_size);
  if (text.empty()) return {};
  return name_of(step) + " is given " + text +
         " (guide 3.3.1.3): pairs begin at an even register, larger groups at a multiple of four, or the "
         "results are unpredictable";
}

std::string dual_issue(const Step& step) {
  return step.instruction.row_y ? broken_dual_issue_rule(step.instruction, step.wave.wave_size)
                                : std::string();
}

std::string dual_issue_with_vcc(const Step& step) {
  return step.instruction.row_y ? doubted_dual_issue_rule(step.instruction, step.wave.wave_size)
                                : std::string();
}

// s_waitcnt_depctr waits for hazards that this machine does not have; it can still be written wrongly.
std::string depctr_without_wait(const Step& step) {
  if (step.instruction.row->opcode != Opcode::s_waitcnt_depctr) return {};
  // The fields are LLVM's: SA_SDST, VA_VCC, VM_VSRC, HOLD_CNT, VA_SSRC, VA_SDST, VA_VDST; bits 5 and 6 are
  // none's.
  constexpr uint32_t kFields = 0xff9f;
  if ((static_cast<uint32_t>(step.instruction.operands[0].value) & kFields) != kFields) return {};
  return "s_waitcnt_depctr that waits for nothing: every field has its greatest value (LLVM AMDGPU, "
         "depctr fields); name the hazard, such as depctr_va_vdst(0)";
}

// Of the instruction and the wave's size.
constexpr std::array<Rule, 8> kRules = {too_many_scalar_values, mask_in_high_half, reserved_source,
                                        not_for_vector_alu,     dual_issue,        misaligned_registers,
                                        depctr_without_wait,    broken_trap_rule};
// LLVM 19 compiles v_cmp_nlt_f64 s[0:1], s[0:1], v[2:3] for waves of 64, and v_dual_cndmask_b32 of an SGPR.
constexpr std::array<Rule, 2> kDoubtedRules = {written_between_passes, dual_issue_with_vcc};

}  // namespace

std::string broken_trap_rule(const Step& step) {
  if (step.instruction.row->opcode != Opcode::s_trap || step.instruction.operands[0].value & 0xff) return {};
  return "s_trap 0, whose number is reserved for the hardware (guide 5.1, 16.5): use another one";
}

Verdict OperandRules::before(const Step& step) {
  if (std::string text = broken_m0_rule(step); !text.empty())
    if (const Verdict verdict = rules_.broken(step, std::move(text)); verdict != Verdict::execute)
      return verdict;
  if (good_->contains(step)) return Verdict::execute;
  bool is_good = true;
  for (const Rule rule : kRules) {
    std::string text = rule(step);
    if (text.empty()) continue;
    is_good = false;
    if (const Verdict verdict = rules_.broken(step, std::move(text)); verdict != Verdict::execute)
      return verdict;
  }
  for (const Rule rule : kDoubtedRules)
    if (std::string text = rule(step); !text.empty()) {
      is_good = false;
      rules_.doubted(step, std::move(text));
    }
  if (is_good) good_->add(step);
  return Verdict::execute;
}

}  // namespace lockstep::precise

#include "isa/explain.h"

#include <algorithm>
#include <cstdio>

#include "isa/detail.h"

namespace lockstep::isa {

using namespace detail;

namespace {

const char* field_of(const OperandSpec& spec, Encoding encoding) {
  const bool is_scalar = is_scalar_alu(encoding);
  const bool is_short =
      encoding == Encoding::vop2 || encoding == Encoding::vopc || encoding == Encoding::vopd;
  switch (spec.role) {
    case Role::dst:
      return encoding == Encoding::smem ? "SDATA" : is_scalar ? "SDST" : "VDST";
    case Role::dst2:
      return "SDST";
    case Role::src0:
      return !is_scalar ? "SRC0" : spec.field == Field::sdst7 ? "SDST" : "SSRC0";
    case Role::src1:
      return is_scalar ? "SSRC1" : is_short ? "VSRC1" : "SRC1";
    case Role::src2:
      return "SRC2";
    case Role::saddr:
    case Role::resource:
      return encoding == Encoding::smem ? "SBASE" : spec.role == Role::saddr ? "SADDR" : "SRSRC";
    case Role::soffset:
      return "SOFFSET";
    default:
      return "an operand";
  }
}

bool asks_for_dpp(unsigned code) {
  return code == 233 || code == 234 || code == 250;
}

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

std::string register_text(unsigned code, unsigned registers) {
  char text[32];
  Writer writer(text, sizeof text);
  put_register(writer, code, registers);
  return std::string(text, static_cast<size_t>(writer.at() - text));
}

// "210", or "124 (null)" for a register.
std::string operand_text(unsigned code) {
  const bool is_register = code < code::kInt0 || code >= code::kVgpr0;
  return std::to_string(code) + (is_register ? " (" + register_text(code, 1) + ")" : "");
}

// The instruction as far as it is known, with what refuses it.
struct Attempt {
  Instruction instruction;
  DecodeError error = DecodeError::truncated;
  Refusal refusal;
  Misaligned misaligned;

  Attempt(std::span<const std::byte> bytes, unsigned wave_size) {
    if (bytes.size() < 4) return;
    DecodeContext context{Words(bytes), wave_size / 32, instruction, {}, {}};
    error = dispatch(context);
    refusal = context.refusal;
    misaligned = context.misaligned;
  }
  const Row* row() const { return instruction.first_y_operand ? instruction.row_y : instruction.row; }
  std::string name() const { return row() ? std::string(row()->name) : std::string(); }
};

}  // namespace

DecodeError detail::refuse(DecodeContext& context, const char* field, unsigned value, const char* reason) {
  context.refusal = {field, value, false, reason};
  return DecodeError::reserved_field;
}

DecodeError detail::refuse_operand(DecodeContext& context, const OperandSpec& spec, unsigned code,
                                   const char* reason) {
  context.refusal = {field_of(spec, context.out.row->encoding), code, true, reason};
  return DecodeError::illegal_operand;
}

DecodeError detail::refuse_source(DecodeContext& context, const OperandSpec& spec, unsigned code) {
  return refuse_operand(context, spec, code,
                        asks_for_dpp(code) ? "asks for DPP, and the instruction takes none there (guide 7.7)"
                                           : "is reserved (guide 6.2 and 7.2, tables 20 and 26)");
}

void detail::note_misaligned(DecodeContext& context, unsigned given, unsigned taken, unsigned registers) {
  context.misaligned = {static_cast<uint8_t>(given), static_cast<uint8_t>(taken),
                        static_cast<uint8_t>(registers)};
}

std::string misaligned_registers(std::span<const std::byte> bytes, unsigned wave_size) {
  const Attempt attempt(bytes, wave_size);
  const Misaligned& group = attempt.misaligned;
  if (group.registers == 0) return {};
  return register_text(group.given, group.registers) + ", which counts as " +
         register_text(group.taken, group.registers);
}

std::string show_bytes(std::span<const std::byte> bytes, unsigned wave_size) {
  const Attempt attempt(bytes, wave_size);
  if (bytes.size() < 4) return "(" + std::to_string(bytes.size()) + " bytes)";
  const size_t size = std::min<size_t>(bytes.size() & ~size_t{3},
                                       attempt.row() ? std::max<size_t>(attempt.instruction.size, 4) : 4);
  const Words words(bytes);
  std::string text = ".long ";
  for (unsigned i = 0; i < size / 4; ++i) text += (i == 0 ? "" : ", ") + hex(words[i]);
  return attempt.row() ? text + " (" + attempt.name() + ")" : text;
}

std::string explain(std::span<const std::byte> bytes, unsigned wave_size) {
  const Attempt attempt(bytes, wave_size);
  if (attempt.error == DecodeError::none) return {};
  const std::string of = attempt.row() ? " of " + attempt.name() : "";
  const Refusal& refusal = attempt.refusal;
  if (attempt.error == DecodeError::truncated)
    return "the bytes end inside the instruction" + of + ": " + std::to_string(bytes.size()) + " are left";
  if (!refusal.reason) return std::string(describe(attempt.error)) + of;
  return std::string(refusal.field) + of + " is " +
         (refusal.is_operand ? operand_text(refusal.value) : std::to_string(refusal.value)) + ", which " +
         refusal.reason;
}

}  // namespace lockstep::isa

// What is known of an instruction's text from its row alone, put together at compile time. Internal to isa/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "isa/detail.h"
#include "isa/shape.h"

namespace lockstep::isa::detail {

// A cache line.
struct alignas(64) RowText {
  // The mnemonic with what LLVM adds to it (_e32, _e64, _dpp), and a blank if operands follow.
  char text[48] = {};
  uint8_t size = 0;
  uint8_t first = 0;        // operands before it are not printed,
  uint8_t hidden_last = 0;  // nor are so many at the end
  // Vector ALU: operands of one or two registers, none of 16 bits; no modifiers but CLAMP, OMOD, NEG, ABS,
  // DPP.
  bool plain = false;
  // Writes what follows.
  Writer (*print)(Writer writer, const Instruction& instruction, const RowText& text) = nullptr;
};

// What LLVM adds to the mnemonic for the encoding.
constexpr std::string_view suffix(const Row& row, bool is_dpp) {
  switch (row.encoding) {
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vopc:
      if (is_dpp) return row.encoding == Encoding::vopc ? "" : "_dpp";
      return (row.flags & kTwoForms) && row.opcode != Opcode::v_readfirstlane_b32 && !row.operands.empty()
                 ? "_e32"
                 : "";
    case Encoding::vop3:
    case Encoding::vop3sd:
      if (is_dpp) return "_e64_dpp";
      return (row.flags & kTwoForms) && !row.operands.empty() ? "_e64" : "";
    case Encoding::vop3p:
      return is_dpp ? "_e64_dpp" : "";
    default:
      return "";
  }
}

constexpr bool has_plain_operands(const Row& row) {
  switch (row.encoding) {
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vopc:
    case Encoding::vop3:
    case Encoding::vop3sd:
    case Encoding::vopd:
      break;
    default:
      return false;
  }
  const auto is_special = [](const OperandSpec& spec) { return is_16_bit(spec.type) || spec.words > 2; };
  return !(row.flags & kOpselInText) && std::ranges::none_of(row.operands, is_special);
}

constexpr auto printer_of(Encoding encoding) {
  switch (encoding) {
    case Encoding::sop2:
    case Encoding::sopk:
    case Encoding::sop1:
    case Encoding::sopc:
      return print_scalar;
    case Encoding::sopp:
      return print_sopp;
    case Encoding::smem:
      return print_smem;
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vopc:
    case Encoding::vop3:
    case Encoding::vop3sd:
    case Encoding::vop3p:
    case Encoding::vinterp:
      return print_vector;
    case Encoding::vopd:
      return print_vopd;
    case Encoding::ldsdir:
      return print_ldsdir;
    case Encoding::ds:
      return print_ds;
    case Encoding::flat:
    case Encoding::global:
    case Encoding::scratch:
      return print_flat;
    case Encoding::mubuf:
      return print_mubuf;
    case Encoding::mtbuf:
      return print_mtbuf;
    case Encoding::mimg:
      return print_mimg;
    case Encoding::exp:
      break;
  }
  return print_exp;
}

constexpr RowText make_row_text(const Row& row, bool is_dpp) {
  RowText text;
  const auto put = [&text](std::string_view part) {
    for (char character : part) text.text[text.size++] = character;
  };
  put(row.name);
  put(suffix(row, is_dpp));
  if (!row.operands.empty()) put(" ");
  for (const OperandSpec& spec : row.operands) {
    if (spec.field == Field::exec) ++text.first;
    if (spec.field == Field::hidden_vcc) ++text.hidden_last;
  }
  text.plain = has_plain_operands(row);
  text.print = printer_of(row.encoding);
  return text;
}

// The text of a row, or of the row with DPP.
inline const RowText& row_text(const Row& row, bool is_dpp) {
  return kRowIndex.texts[2 * (&row - kRowIndex.rows) + is_dpp];
}

}  // namespace lockstep::isa::detail

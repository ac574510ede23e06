#include "tests/engine/interpreter/random_instruction.h"

#include <span>

namespace lockstep::interpreter {

namespace {

using isa::Encoding;

// Guide chapter 15: where an encoding keeps its own bits and the opcode number.
struct Layout {
  uint32_t fixed, fixed_mask;
  unsigned opcode_at, opcode_bits;
  unsigned dwords;
};

Layout layout_of(Encoding encoding) {
  switch (encoding) {
    case Encoding::sop2:
      return {0x8000'0000, 0xc000'0000, 23, 7, 1};
    case Encoding::sopk:
      return {0xb000'0000, 0xf000'0000, 23, 5, 1};
    case Encoding::sop1:
      return {0xbe80'0000, 0xff80'0000, 8, 8, 1};
    case Encoding::sopc:
      return {0xbf00'0000, 0xff80'0000, 16, 7, 1};
    case Encoding::sopp:
      return {0xbf80'0000, 0xff80'0000, 16, 7, 1};
    case Encoding::smem:
      return {0xf400'0000, 0xfc00'0000, 18, 8, 2};
    case Encoding::vop1:
      return {0x7e00'0000, 0xfe00'0000, 9, 8, 1};
    case Encoding::vop2:
      return {0x0000'0000, 0x8000'0000, 25, 6, 1};
    case Encoding::vopc:
      return {0x7c00'0000, 0xfe00'0000, 17, 8, 1};
    case Encoding::vop3:
    case Encoding::vop3sd:
      return {0xd400'0000, 0xfc00'0000, 16, 10, 2};
    case Encoding::vop3p:
      return {0xcc00'0000, 0xff00'0000, 16, 7, 2};
    case Encoding::vopd:
      return {0xc800'0000, 0xfc00'0000, 22, 4, 2};
    case Encoding::vinterp:
      return {0xcd00'0000, 0xff00'0000, 16, 7, 2};
    case Encoding::ldsdir:
      return {0xce00'0000, 0xff00'0000, 20, 2, 1};
    case Encoding::ds:
      return {0xd800'0000, 0xfc00'0000, 18, 8, 2};
    case Encoding::flat:
      return {0xdc00'0000, 0xfc03'0000, 18, 7, 2};
    case Encoding::scratch:
      return {0xdc01'0000, 0xfc03'0000, 18, 7, 2};
    case Encoding::global:
      return {0xdc02'0000, 0xfc03'0000, 18, 7, 2};
    case Encoding::mubuf:
      return {0xe000'0000, 0xfc00'0000, 18, 8, 2};
    case Encoding::mtbuf:
      return {0xe800'0000, 0xfc00'0000, 15, 4, 2};
    case Encoding::mimg:
      return {0xf000'0000, 0xfc00'0000, 18, 8, 2};
    case Encoding::exp:
      return {0xf800'0000, 0xfc00'0000, 0, 0, 2};
  }
  return {};
}

bool is_plain(const isa::Instruction& instruction) {
  if (instruction.has_literal && !(instruction.row->flags & isa::kCanLiteral)) return false;
  if (instruction.clamp || instruction.omod || instruction.dpp != isa::Dpp::none || instruction.gds)
    return false;
  if (instruction.tfe || instruction.lds || instruction.lwe) return false;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.abs || operand.neg || operand.neg_hi || operand.high) return false;
    if (operand.is_vgpr() && operand.vgpr() + operand.words > 64) return false;
  }
  return true;
}

// Fewer bits set: reserved fields and modifiers are mostly zero.
uint32_t sparse(Random& random, unsigned density) {
  uint32_t word = static_cast<uint32_t>(random());
  for (unsigned i = 0; i < density; ++i) word &= static_cast<uint32_t>(random());
  return word;
}

}  // namespace

std::optional<Encoded> random_instruction(const isa::Row& row, unsigned wave_size, Random& random,
                                          bool plain) {
  Layout layout = layout_of(row.encoding);
  const bool is_y_half = row.encoding == Encoding::vopd && row.number >= 16;
  if (is_y_half) layout.opcode_at = 17, layout.opcode_bits = 5;
  const uint32_t opcode_mask = ((1u << layout.opcode_bits) - 1) << layout.opcode_at;
  for (unsigned attempt = 0; attempt < 3000; ++attempt) {
    const unsigned density = attempt % 4;
    Encoded encoded;
    encoded.words.resize(5);
    for (uint32_t& word : encoded.words) word = sparse(random, density);
    uint32_t& first = encoded.words[0];
    first = (first & ~(layout.fixed_mask | opcode_mask)) | layout.fixed |
            (uint32_t{row.number} << layout.opcode_at & opcode_mask);
    if (layout.dwords == 2 && row.encoding >= Encoding::vop3 && row.encoding <= Encoding::vop3p) {
      // Whole source fields zero in turn, as instructions with fewer sources want it.
      if (attempt & 4) encoded.words[1] &= ~(0x1ffu << 18);
      if ((attempt & 24) == 24) encoded.words[1] &= ~(0x1ffu << 9);
      if (attempt & 32) encoded.words[1] &= 0x07ff'ffff;
      if (attempt & 64) first &= 0xffff'00ff;
      if (plain) {
        const bool packed = row.encoding == Encoding::vop3p;
        first = (first & 0xffff'0000) | static_cast<uint32_t>(random() % 16) | (packed ? 0x4000 : 0);
        if (row.encoding == Encoding::vop3sd) first |= 2 * static_cast<uint32_t>(random() % 20) << 8;
        encoded.words[1] = packed ? 0x1800'0000 : 0;
        for (unsigned i = 0; i < 3; ++i) {
          const unsigned kind = attempt >> (2 * i) & 3;
          const auto vgpr = static_cast<uint32_t>(random() % 40),
                     sgpr = 2 * static_cast<uint32_t>(random() % 30);
          encoded.words[1] |= (kind == 0 ? 256 + vgpr : kind == 1 ? sgpr : 0) << (9 * i);
        }
      }
    } else if (plain && row.encoding <= Encoding::vopc && row.encoding >= Encoding::vop1) {
      first = (first & ~0x1ffu) | 256 | static_cast<uint32_t>(random() % 40);
    }
    // Ray tracing wants DMASK full, UNORM and R128.
    if (row.name.starts_with("image_bvh")) first = (first & ~0x7cu) | 0x8f80;
    const auto bytes = std::as_bytes(std::span(encoded.words));
    if (isa::decode(bytes, wave_size, encoded.instruction) != isa::DecodeError::none) continue;
    const isa::Row* decoded = is_y_half ? encoded.instruction.row_y : encoded.instruction.row;
    if (decoded != &row || (plain && !is_plain(encoded.instruction))) continue;
    encoded.words.resize(encoded.instruction.size / 4);
    return encoded;
  }
  return std::nullopt;
}

}  // namespace lockstep::interpreter

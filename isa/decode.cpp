#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "isa/detail.h"

namespace lockstep::isa {
namespace {

using namespace detail;

// How an instruction is known, and where its OP field stands in the first dword (guide chapter 15).
struct Layout {
  uint16_t top;      // the value of the topmost bits,
  uint8_t top_bits;  // and how many they are
  Encoding encoding;
  uint8_t op_low;
  uint8_t op_bits;
  uint8_t bytes;  // without literal, DPP dword and addresses
  DecodeError (*decode)(DecodeContext& context, const Row& row);
};

// Where two match, the first counts.
constexpr Layout kLayouts[] = {
    {0b101111101, 9, Encoding::sop1, 8, 8, 4, decode_sop},
    {0b101111110, 9, Encoding::sopc, 16, 7, 4, decode_sop},
    {0b101111111, 9, Encoding::sopp, 16, 7, 4, decode_sopp},
    {0b1011, 4, Encoding::sopk, 23, 5, 4, decode_sop},
    {0b10, 2, Encoding::sop2, 23, 7, 4, decode_sop},
    {0b0111111, 7, Encoding::vop1, 9, 8, 4, decode_short},
    {0b0111110, 7, Encoding::vopc, 17, 8, 4, decode_short},
    {0b0, 1, Encoding::vop2, 25, 6, 4, decode_short},
    {0b110010, 6, Encoding::vopd, 22, 4, 8, decode_vopd},
    {0b110011000, 9, Encoding::vop3p, 16, 7, 8, decode_vop3p},
    {0b11001101, 8, Encoding::vinterp, 16, 7, 8, decode_vinterp},
    {0b11001110, 8, Encoding::ldsdir, 20, 2, 4, decode_ldsdir},
    {0b110101, 6, Encoding::vop3, 16, 10, 8, decode_vop3},  // and VOP3SD
    {0b110110, 6, Encoding::ds, 18, 8, 8, decode_ds},
    {0b110111, 6, Encoding::flat, 18, 7, 8, decode_flat},  // and GLOBAL, SCRATCH
    {0b111000, 6, Encoding::mubuf, 18, 8, 8, decode_mubuf},
    {0b111010, 6, Encoding::mtbuf, 15, 4, 8, decode_mtbuf},
    {0b111100, 6, Encoding::mimg, 18, 8, 8, decode_mimg},
    {0b111101, 6, Encoding::smem, 18, 8, 8, decode_smem},
    {0b111110, 6, Encoding::exp, 0, 0, 8, decode_exp},
};
constexpr unsigned kLongestTop = 9;

// The layout by the nine topmost bits; without decode(): there is none.
constexpr auto kLayoutOfTop = [] {
  std::array<Layout, 1u << kLongestTop> layouts{};
  for (unsigned top = 0; top < layouts.size(); ++top) {
    for (const Layout& layout : kLayouts) {
      if (top >> (kLongestTop - layout.top_bits) != layout.top) continue;
      layouts[top] = layout;
      break;
    }
  }
  return layouts;
}();

}  // namespace

DecodeError detail::dispatch(DecodeContext& context) {
  const uint32_t word = context.words[0];
  const Layout& layout = kLayoutOfTop[word >> (32 - kLongestTop)];
  if (!layout.decode) return DecodeError::unknown_opcode;
  Encoding encoding = layout.encoding;
  if (encoding == Encoding::flat) {
    static constexpr Encoding kSegments[] = {Encoding::flat, Encoding::scratch, Encoding::global};
    const unsigned segment = bits(word, 16, 2);
    if (segment == 3) return refuse(context, "SEG", segment, "is reserved");
    encoding = kSegments[segment];
  }
  const Row* row = row_of_number(encoding, bits(word, layout.op_low, layout.op_bits));
  if (!row) return DecodeError::unknown_opcode;
  if (!context.words.has_bytes(layout.bytes)) return DecodeError::truncated;
  context.out.row = row;
  context.out.size = layout.bytes;
  return layout.decode(context, *row);
}

namespace {

// All but the operand array, which operand_count makes meaningless beyond itself: one copy of what follows
// it.
void reset(Instruction& out) {
  static constexpr Instruction kBlank{};
  static_assert(std::is_trivially_copyable_v<Instruction>);
  constexpr size_t kTail = offsetof(Instruction, has_literal);
  out.row = nullptr;
  out.row_y = nullptr;
  out.size = 0;
  out.operand_count = 0;
  out.first_y_operand = 0;
  std::memcpy(reinterpret_cast<std::byte*>(&out) + kTail, reinterpret_cast<const std::byte*>(&kBlank) + kTail,
              sizeof(Instruction) - kTail);
}

}  // namespace

DecodeError decode(std::span<const std::byte> bytes, unsigned wave_size, Instruction& out) {
  reset(out);
  if (bytes.size() < 4) {
    out.size = static_cast<uint8_t>(bytes.size());
    return DecodeError::truncated;
  }
  DecodeContext context{Words(bytes), wave_size / 32, out, {}, {}};
  const DecodeError error = dispatch(context);
  if (error != DecodeError::none) out.size = 4;
  if (error == DecodeError::unknown_opcode) out.row = nullptr;
  return error;
}

std::string_view describe(DecodeError error) {
  switch (error) {
    case DecodeError::none:
      return "no error";
    case DecodeError::truncated:
      return "the bytes end inside the instruction";
    case DecodeError::unknown_opcode:
      return "unknown opcode";
    case DecodeError::reserved_field:
      return "a reserved field is not zero, or has a reserved value";
    case DecodeError::illegal_operand:
      return "an operand that this field may not have";
  }
  return "unknown error";
}

}  // namespace lockstep::isa

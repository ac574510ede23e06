#include <cstddef>
#include <cstring>
#include <type_traits>

#include "isa/detail.h"

namespace lockstep::isa {
namespace {

using detail::DecodeContext;

// The top bits of the first dword name the encoding (guide chapter 15).
DecodeError dispatch(DecodeContext& context) {
  const uint32_t word = context.words[0];
  if (!(word >> 31)) {
    const uint32_t op = detail::bits(word, 25, 6);
    if (op == 0x3f) return decode_vop1(context);
    if (op == 0x3e) return decode_vopc(context);
    return decode_vop2(context);
  }
  if (!((word >> 30) & 1)) {
    const uint32_t op = detail::bits(word, 23, 7);
    if (op == 0x7d) return decode_sop1(context);
    if (op == 0x7e) return decode_sopc(context);
    if (op == 0x7f) return decode_sopp(context);
    if (op >= 0x60) return decode_sopk(context);
    return decode_sop2(context);
  }
  switch (word >> 26) {
    case 0x32:
      return decode_vopd(context);
    case 0x33:
      switch (detail::bits(word, 24, 2)) {
        case 0:
          return decode_vop3p(context);
        case 1:
          return decode_vinterp(context);
        case 2:
          return decode_ldsdir(context);
        default:
          return DecodeError::unknown_opcode;
      }
    case 0x35:
      return decode_vop3(context);
    case 0x36:
      return decode_ds(context);
    case 0x37:
      return decode_flat(context);
    case 0x38:
      return decode_mubuf(context);
    case 0x3a:
      return decode_mtbuf(context);
    case 0x3c:
      return decode_mimg(context);
    case 0x3d:
      return decode_smem(context);
    case 0x3e:
      return decode_exp(context);
    default:
      return DecodeError::unknown_opcode;
  }
}

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
  DecodeContext context{detail::Words(bytes), wave_size, out};
  const DecodeError error = dispatch(context);
  if (error != DecodeError::none) out.size = 4;
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

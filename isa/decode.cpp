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

// All but the operand array, which operand_count makes meaningless beyond itself.
void reset(Instruction& out) {
  out.row = nullptr;
  out.row_y = nullptr;
  out.size = 0;
  out.operand_count = 0;
  out.first_y_operand = 0;
  out.has_literal = false;
  out.literal = 0;
  out.clamp = false;
  out.omod = 0;
  out.op_sel = 0;
  out.op_sel_hi = 0;
  out.dpp = Dpp::none;
  out.dpp_control = 0;
  out.row_mask = 0xf;
  out.bank_mask = 0xf;
  out.bound_control = false;
  out.fetch_inactive = false;
  out.dpp8_selectors = 0;
  out.wait_exp = 0;
  out.attribute = 0;
  out.attribute_channel = 0;
  out.offset = 0;
  out.offset_field = 0;
  out.saddr_field = 0;
  out.offset0 = 0;
  out.offset1 = 0;
  out.glc = out.slc = out.dlc = out.gds = out.tfe = out.lwe = out.lds = false;
  out.offen = out.idxen = false;
  out.format = 0;
  out.dmask = 0;
  out.dim = 0;
  out.unorm = out.r128 = out.a16 = out.d16 = false;
  out.nsa_dwords = 0;
  out.export_target = 0;
  out.export_enable = 0;
  out.export_done = false;
  out.export_row = false;
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

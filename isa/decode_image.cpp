// MIMG (guide 15.8.1, chapter 10).
#include "isa/detail.h"
#include "isa/image.h"

namespace lockstep::isa::detail {
namespace {

// What the guide demands of the ray intersections (10.9.1).
DecodeError check_bvh(DecodeContext& context, unsigned sampler) {
  const Instruction& out = context.out;
  const struct {
    const char* field;
    unsigned value, wanted;
  } rules[] = {{"DMASK", out.dmask, 0xf}, {"D16", out.d16, 0}, {"R128", out.r128, 1}, {"UNRM", out.unorm, 1},
               {"DIM", out.dim, 0},       {"LWE", out.lwe, 0}, {"TFE", out.tfe, 0},   {"SSAMP", sampler, 0}};
  for (const auto& rule : rules)
    if (rule.value != rule.wanted)
      return refuse(context, rule.field, rule.value, "ray intersections do not take (guide 10.9.1)");
  return DecodeError::none;
}

// With NSA the first registers of up to five groups are named one by one; the fifth carries what is left.
void append_addresses(DecodeContext& context, const OperandSpec& spec, const ImageForm& form) {
  Instruction& out = context.out;
  const uint32_t first = bits(context.words[1], 0, 8);
  const bool bvh = form.kind == ImageKind::bvh;
  const bool bvh64 = out.row->opcode == Opcode::image_bvh64_intersect_ray;
  const unsigned total = bvh ? (out.a16 ? 8u : 11u) + bvh64 : image_address_words(form, out.dim, out.a16);
  if (!out.nsa_dwords) {
    append(context, spec, code::kVgpr0 + first).words = static_cast<uint8_t>(total);
    return;
  }
  const uint32_t rest = context.words[2];
  out.nsa_registers = {static_cast<uint8_t>(first), static_cast<uint8_t>(rest),
                       static_cast<uint8_t>(rest >> 8), static_cast<uint8_t>(rest >> 16),
                       static_cast<uint8_t>(rest >> 24)};
  unsigned left = total;
  for (unsigned group = 0; group < 5 && left; ++group) {
    unsigned words = 1;
    // Ray: node pointer, extent, origin, direction, inverse direction (guide 10.9.2).
    if (bvh)
      words = group == 0 ? 1u + bvh64 : group == 1 ? 1u : 3u;
    else if (group == 4)
      words = left;
    append(context, spec, code::kVgpr0 + out.nsa_registers[group]).words = static_cast<uint8_t>(words);
    left -= words;
  }
}

}  // namespace

DecodeError decode_mimg(DecodeContext& context, const Row& row) {
  const uint32_t word = context.words[0];
  const bool nsa = bits(word, 0, 1);
  if (nsa && !take_dword(context, 2)) return DecodeError::truncated;
  const uint32_t fields = context.words[1];
  Instruction& out = context.out;
  out.nsa_dwords = nsa;
  out.dim = static_cast<uint8_t>(bits(word, 2, 3));
  out.unorm = bits(word, 7, 1);
  out.dmask = static_cast<uint8_t>(bits(word, 8, 4));
  out.slc = bits(word, 12, 1);
  out.dlc = bits(word, 13, 1);
  out.glc = bits(word, 14, 1);
  out.r128 = bits(word, 15, 1);
  out.a16 = bits(word, 16, 1);
  out.d16 = bits(word, 17, 1);
  out.tfe = bits(fields, 21, 1);
  out.lwe = bits(fields, 22, 1);

  const ImageForm& form = kImageForms[row.number];
  if (form.kind == ImageKind::bvh) {
    if (const DecodeError error = check_bvh(context, bits(fields, 26, 5)); error != DecodeError::none)
      return error;
  } else if (out.d16 && !form.takes_d16()) {
    return refuse(context, "D16", 1, "the instruction does not take");
  }

  const unsigned data_words = image_data_words(form, out.dmask, out.d16);
  // LWE is ignored without a sampler (guide table 48).
  const bool status_word = out.tfe || (out.lwe && form.has_sampler());
  for (const OperandSpec& spec : row.operands) {
    switch (spec.role) {
      case Role::dst: {
        if ((row.flags & kAtomic) && !out.glc) break;
        Operand& operand = append(context, spec, code::kVgpr0 + bits(fields, 8, 8));
        const unsigned returned = form.kind == ImageKind::compare_swap ? (data_words + 1) / 2 : data_words;
        operand.words = static_cast<uint8_t>(returned + status_word);
        // An odd number of 16-bit components leaves the high half of the last register as it was.
        if (out.d16) {
          operand.type = Type::pk_b16;
          operand.read = form.kind != ImageKind::gather && form.kind != ImageKind::msaa_load &&
                         (std::max(std::popcount(unsigned{out.dmask}), 1) & 1);
        }
        break;
      }
      case Role::data: {
        Operand& operand = append(context, spec, code::kVgpr0 + bits(fields, 8, 8));
        operand.words = static_cast<uint8_t>(data_words);
        if (out.d16) operand.type = Type::pk_b16;
        break;
      }
      case Role::addr:
        append_addresses(context, spec, form);
        break;
      case Role::resource:
        append(context, spec, 4 * bits(fields, 16, 5)).words = out.r128 ? 4 : 8;
        break;
      default:
        append(context, spec, 4 * bits(fields, 26, 5));
        break;
    }
  }
  return DecodeError::none;
}

}  // namespace lockstep::isa::detail

// MIMG in LLVM's spelling.
#include <array>
#include <bit>

#include "isa/detail.h"
#include "isa/image.h"

namespace lockstep::isa::detail {
namespace {

constexpr std::array<std::string_view, 8> kDimensions = {"1D",       "2D",       "3D",      "CUBE",
                                                         "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"};

constexpr WordSet<5> kImageWords({" r128", " a16", " tfe", " lwe", " d16"});

// Sizes as LLVM prints them, which are not always those that the hardware uses. LLVM 19 decodes an image
// instruction first with a default shape, and keeps it where it has no instruction of the right shape or
// where a register group would end beyond v255.
struct Shown {
  unsigned data;
  unsigned address;  // registers in sequence; with NSA the number of groups of one register
  unsigned last;     // with NSA: registers of the last group
};

unsigned default_data_words(const ImageForm& form) {
  if (form.kind == ImageKind::gather || form.kind == ImageKind::msaa_load) return 4;
  return form.kind == ImageKind::compare_swap ? 2 : 1;
}

// The register group that LLVM has for so many dwords of data; 0: none.
unsigned data_group(const ImageForm& form, unsigned words) {
  switch (form.kind) {
    case ImageKind::gather:
      return words == 2 || words == 4 || words == 5 ? words : 0;
    case ImageKind::msaa_load:
      return words >= 2 && words <= 5 ? words : 0;
    case ImageKind::compare_swap:
      return words == 2 || words == 4 ? words : 0;
    case ImageKind::atomic:
      return words <= 2 ? words : words == 4 ? 5 : 0;
    default:
      return words <= 5 ? words : 0;
  }
}

// The longest address over the dimensions that are not MSAA (samplers cannot read MSAA images).
unsigned longest_address(const ImageForm& form) {
  return image_address_words(form, 2, false);
}

Shown shown_shape(const Instruction& instruction, const ImageForm& form, unsigned data_register,
                  unsigned last_register) {
  const bool nsa = instruction.nsa_dwords != 0;
  const unsigned longest = longest_address(form);
  Shown usual{default_data_words(form), 0, 1};
  if (nsa) {
    usual.address = form.has_sampler() ? std::min(longest, 5u) : 4u;
  } else {
    usual.address = form.has_sampler() ? form.extra + 1u + form.gradients : 1u;
  }

  Shown real = usual;
  real.data = image_data_words(form, instruction.dmask, instruction.d16) + instruction.tfe;
  const unsigned words = image_address_words(form, instruction.dim, instruction.a16);
  real.data = data_group(form, real.data);
  if (!real.data || (real.data != usual.data && data_register + real.data > 256)) return usual;
  if (!nsa) {
    // LLVM has groups of 4 and of 8 registers where 3 and 7 are the longest.
    const unsigned limit = !form.has_sampler() ? 4 : longest == 3 || longest == 7 ? longest + 1 : longest;
    if (words > limit || (words != usual.address && last_register + words > 256)) return usual;
    real.address = words;
    return real;
  }
  const unsigned limit = form.has_sampler() ? longest : 4;
  if (words < 2 || words > limit) return usual;
  real.address = std::min(words, 5u);
  real.last = words > 5 ? words - 4 : 1;
  if (real.last > 1 && last_register + real.last > 256) return usual;
  return real;
}

}  // namespace

Writer print_mimg(Writer writer, const Instruction& instruction, const RowText&) {
  const Row& row = *instruction.row;
  const ImageForm& form = kImageForms[row.number];
  const bool nsa = instruction.nsa_dwords != 0;
  const bool bvh = form.kind == ImageKind::bvh;
  if (nsa && form.has_sampler()) writer.put(' ');  // LLVM 19's assembly strings have two here

  const Operand* operand = instruction.operands.data();
  // A returning atomic has its VGPRs twice, as dst and as data; they are printed once.
  if ((row.flags & kAtomic) && operand->role == Role::dst) ++operand;
  const Operand& data = *operand++;
  const Operand* address = operand;
  while (operand->role == Role::addr) ++operand;
  const unsigned groups = static_cast<unsigned>(operand - address);

  Shown shown{4, groups, 3};
  if (!bvh) shown = shown_shape(instruction, form, data.vgpr(), address[groups - 1].vgpr());
  put_register(writer, data.code, shown.data);
  writer.put(std::string_view(", "));
  if (!nsa) {
    put_register(writer, address->code, bvh ? address->words : shown.address);
  } else {
    writer.put('[');
    for (unsigned group = 0; group < shown.address; ++group) {
      if (group) writer.put(std::string_view(", "));
      const bool last = group + 1 == shown.address;
      if (bvh)
        put_register(writer, address[group].code, address[group].words);
      else
        put_register(writer, code::kVgpr0 + instruction.nsa_registers[group], last ? shown.last : 1);
    }
    writer.put(']');
  }
  writer.put(std::string_view(", "));
  put_register(writer, operand->code, operand->code == code::kNull ? 1 : bvh ? 4 : 8);
  ++operand;
  if (form.has_sampler()) {
    writer.put(std::string_view(", "));
    put_register(writer, operand->code, operand->code == code::kNull ? 1 : 4);
  }

  if (!bvh) {
    if (instruction.dmask) {
      writer.put(std::string_view(" dmask:"));
      writer.hex(instruction.dmask);
    }
    writer.put(std::string_view(" dim:SQ_RSRC_IMG_"));
    writer.put(kDimensions[instruction.dim]);
    if (instruction.unorm) writer.put(std::string_view(" unorm"));
  }
  put_cache_bits(writer, instruction);
  const bool r128 = instruction.r128 && !bvh;  // ray intersections always have it
  kImageWords.put(writer, r128 + 2u * instruction.a16 + 4u * instruction.tfe + 8u * instruction.lwe +
                              16u * instruction.d16);
  return writer;
}

}  // namespace lockstep::isa::detail

// How many registers the operands of an image instruction span (guide 10.1 to 10.4, 10.9).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "isa/row.h"

namespace lockstep::isa {

enum class ImageKind : uint8_t {
  none,
  load,
  load_packed,  // PCK: no format conversion, no D16
  store,
  store_packed,
  atomic,
  compare_swap,
  query,  // GET_RESINFO
  msaa_load,
  bvh,
  sample,
  sample_query,  // GET_LOD
  gather,
};

struct ImageForm {
  ImageKind kind = ImageKind::none;
  uint8_t extra = 0;  // dwords before the gradients: offset, bias, z-compare
  bool coordinates = true;
  bool lod = false;  // LOD, LOD clamp or mip level after the coordinates
  bool gradients = false;
  bool g16 = false;  // 16-bit gradients, two a register

  constexpr bool has_sampler() const { return kind >= ImageKind::sample; }
  constexpr bool takes_d16() const {
    return kind == ImageKind::load || kind == ImageKind::store || kind == ImageKind::msaa_load ||
           kind == ImageKind::sample || kind == ImageKind::gather;
  }
};

// By opcode number of MIMG.
inline constexpr std::array<ImageForm, 256> kImageForms = [] {
  std::array<ImageForm, 256> forms{};
#define MIMG(mnemonic, number, operands, reads, flags, form, ...) \
  forms[number] = {.kind = ImageKind::form __VA_OPT__(, ) __VA_ARGS__};
#include "isa/rows/mimg.inc"
#undef MIMG
  return forms;
}();

// In the order of the DIM field: 1D, 2D, 3D, cube, 1D array, 2D array, 2D MSAA, 2D MSAA array.
inline constexpr std::array<uint8_t, 8> kImageCoordinates = {1, 2, 3, 3, 2, 3, 3, 4};
inline constexpr std::array<uint8_t, 8> kImageGradients = {2, 4, 6, 4, 2, 4, 4, 4};

// Registers of the whole address. A16 packs coordinates and LOD in pairs, G16 the gradients of each
// direction.
constexpr unsigned image_address_words(const ImageForm& form, unsigned dim, bool a16) {
  const unsigned components = (form.coordinates ? kImageCoordinates[dim] : 0u) + (form.lod ? 1u : 0u);
  unsigned words = form.extra + (a16 ? (components + 1) / 2 : components);
  if (form.gradients) words += form.g16 ? (kImageGradients[dim] / 2 + 1u) / 2 * 2 : kImageGradients[dim];
  return words;
}

// Registers of the components loaded or stored; DMASK 0 counts as 1.
constexpr unsigned image_data_words(const ImageForm& form, unsigned dmask, bool d16) {
  const bool four = form.kind == ImageKind::gather || form.kind == ImageKind::msaa_load;
  const unsigned components = four ? 4u : std::max(std::popcount(dmask & 0xfu), 1);
  return d16 ? (components + 1) / 2 : components;
}

}  // namespace lockstep::isa

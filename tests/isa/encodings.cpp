#include "tests/isa/encodings.h"

namespace lockstep::test {
namespace {

using isa::Encoding;

std::vector<EncodingLayout> make_layouts() {
  const BitField src0_9{0, 9}, src0_8{0, 8}, src1_8{8, 8}, sdst{16, 7}, vdst_short{17, 8}, vsrc1{9, 8};
  const BitField wide0{32, 9}, wide1{41, 9}, wide2{50, 9}, vdst{0, 8};
  const std::vector<BitField> vmem = {{32, 8}, {40, 8}, {48, 5}, {56, 8}};
  return {
      {Encoding::sop2, 0x80000000, 23, 1, {src0_8, src1_8, sdst}},
      {Encoding::sopk, 0xb0000000, 23, 1, {sdst, {0, 8}, {8, 8}}},
      {Encoding::sop1, 0xbe800000, 8, 1, {src0_8, sdst}},
      {Encoding::sopc, 0xbf000000, 16, 1, {src0_8, src1_8}},
      {Encoding::sopp, 0xbf800000, 16, 1, {{0, 8}, {8, 8}}},
      {Encoding::smem, 0xf4000000, 18, 2, {{0, 6}, {6, 7}, {57, 7}}},
      {Encoding::vop1, 0x7e000000, 9, 1, {src0_9, vdst_short}},
      {Encoding::vop2, 0x00000000, 25, 1, {src0_9, vsrc1, vdst_short}},
      {Encoding::vopc, 0x7c000000, 17, 1, {src0_9, vsrc1}},
      {Encoding::vop3, 0xd4000000, 16, 2, {wide0, wide1, wide2, vdst, {8, 8}}},
      {Encoding::vop3sd, 0xd4000000, 16, 2, {wide0, wide1, wide2, vdst, {8, 7}}},
      {Encoding::vop3p, 0xcc000000, 16, 2, {wide0, wide1, wide2, vdst, {8, 8}}},
      {Encoding::vopd, 0xc8000000, 22, 2, {src0_9, vsrc1, {17, 5}, {32, 9}, {41, 8}, {49, 7}, {56, 8}}},
      {Encoding::vinterp, 0xcd000000, 16, 2, {wide0, wide1, wide2, vdst, {8, 8}}},
      {Encoding::ldsdir, 0xce000000, 20, 1, {{0, 8}, {8, 8}, {16, 4}}},
      {Encoding::ds, 0xd8000000, 18, 2, {{0, 8}, {8, 8}, {32, 8}, {40, 8}, {48, 8}, {56, 8}}},
      {Encoding::flat, 0xdc000000, 18, 2, {{0, 8}, {32, 8}, {40, 8}, {48, 7}, {56, 8}}},
      {Encoding::global, 0xdc020000, 18, 2, {{0, 8}, {32, 8}, {40, 8}, {48, 7}, {56, 8}}},
      {Encoding::scratch, 0xdc010000, 18, 2, {{0, 8}, {32, 8}, {40, 8}, {48, 8}, {56, 8}}},
      {Encoding::mubuf, 0xe0000000, 18, 2, vmem},
      {Encoding::mtbuf, 0xe8000000, 15, 2, vmem},
      {Encoding::mimg, 0xf0000000, 18, 4, {{0, 8}, {8, 4}, {32, 8}, {40, 8}, {48, 5}, {58, 5}}},
      {Encoding::exp, 0xf8000000, 0, 2, {{0, 8}, {32, 8}, {40, 8}, {48, 8}, {56, 8}}},
  };
}

}  // namespace

std::span<const EncodingLayout> layouts() {
  static const std::vector<EncodingLayout> all = make_layouts();
  return all;
}

const EncodingLayout& layout_of(isa::Encoding encoding) {
  return layouts()[static_cast<size_t>(encoding)];
}

std::vector<std::vector<uint32_t>> starting_points(const isa::Row& row) {
  const EncodingLayout& layout = layout_of(row.encoding);
  const uint32_t low = layout.prefix | uint32_t{row.number} << layout.op_shift;
  // VGPRs and SGPRs whose numbers suit groups of any size.
  switch (row.encoding) {
    case Encoding::vop1:
      return {{low | 2 << 17 | 0x104}, {low}};
    case Encoding::vop2:
      return {{low | 2 << 17 | 8 << 9 | 0x104}, {low}};  // v_illegal is the dword zero
    case Encoding::vopc:
      return {{low | 8 << 9 | 0x104}};
    case Encoding::vop3:
    case Encoding::vop3sd:
    case Encoding::vop3p:
    case Encoding::vinterp: {
      const uint32_t src0 = 0x104, src1 = 0x10c << 9, src2 = 0x114u << 18;
      return {{low | 8, src0 | src1 | src2},
              {low | 8, src0 | src1 | 8 << 18},
              {low | 8, src0 | src1},
              {low | 8, src0 | 4 << 9 | 8 << 18},
              {low | 8, 4 | 8 << 9},
              {low | 8, src0 | 8 << 9},
              {low | 8, src0},
              {low, 0}};
    }
    case Encoding::vopd:
      return {{low | 0x104 | 8 << 9 | 3 << 17, 0x105 | 6 << 9 | 2 << 17 | 12u << 24},
              {low | 0x104 | 3 << 17, 0x105 | 6 << 9 | 2 << 17 | 12u << 24},
              {(low & ~(31u << 22)) | 0x104 | 8 << 9 | 4 << 22 | uint32_t{row.number} << 17,
               0x105 | 6 << 9 | 2 << 17 | 12u << 24},
              {(low & ~(31u << 22)) | 0x104 | 8 << 9 | 4 << 22 | uint32_t{row.number} << 17,
               0x105 | 2 << 17 | 12u << 24}};
    case Encoding::sop2:
      return {{low | 4 << 16 | 12 << 8 | 8}};
    case Encoding::sop1:
    case Encoding::sopk:
      return {{low | 4 << 16 | 8}, {low | 4 << 16}, {low | 8}, {low}};
    case Encoding::sopc:
      return {{low | 12 << 8 | 8}};
    case Encoding::sopp:
      return {{low | 3}, {low}};
    case Encoding::smem:
      return {{low | 4 << 6 | 4, 12u << 25 | 64}, {low, 0xf8000000}};
    case Encoding::mimg:
      // The second has UNORM and R128 as ray intersections need them.
      return {{low | 0xf << 8 | 1 << 2, 0x04010408},
              {low | 0xf << 8 | 1 << 7 | 1 << 15, 0x00010408},
              {low | 1 << 8 | 1 << 2, 0x04010408},
              {low, 0x04010408}};
    case Encoding::exp:
      return {{low | 0xf, 0x04030201}};
    case Encoding::ds:
      return {{low | 16, 0x08040804}, {low, 0x08000004},  {low, 0x00000004},
              {low | 1 << 17, 0},     {low | 1 << 17, 4}, {low | 1 << 17 | 0x20, 0x08000004}};
    default:
      return {{low | 16, 0x08040804}, {low, 0x08040804}, {low, 0x087c0804}, {low, 0x007c0804}};
  }
}

}  // namespace lockstep::test

// A decoded instruction, and the two functions that everybody calls: decode() and disassemble().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/row.h"

namespace lockstep::isa {

// Numbers of the 9-bit source operand field (guide 6.2 and 7.2, tables of operand codes).
namespace code {
inline constexpr uint16_t kVccLo = 106, kVccHi = 107, kTtmp0 = 108, kNull = 124, kM0 = 125, kExecLo = 126,
                          kExecHi = 127;
inline constexpr uint16_t kInt0 = 128, kIntPositiveLast = 192, kIntNegativeLast = 208;
inline constexpr uint16_t kSharedBase = 235, kSharedLimit = 236, kPrivateBase = 237, kPrivateLimit = 238;
inline constexpr uint16_t kPopsExitingWaveId = 239,
                          kLdsDirect = 254;  // LLVM's names; the guide reserves them
inline constexpr uint16_t kFloatHalf = 240, kFloatMinusFour = 247, kInverseTwoPi = 248;
inline constexpr uint16_t kVccz = 251, kExecz = 252, kScc = 253, kLiteral = 255, kVgpr0 = 256;
}  // namespace code

struct Operand {
  uint16_t code = 0;  // source number as above: 0..105 SGPR, 256 + n VGPR n; for immediates unused
  Role role = Role::none;
  Type type = Type::none;
  uint8_t words = 1;  // registers it spans; masks: 1 in wave32, 2 in wave64
  bool read = false;
  bool written = false;
  bool abs = false;
  bool neg = false;     // VOP3P: neg_lo
  bool neg_hi = false;  // VOP3P only
  bool high = false;    // 16-bit operand in the high half of the register (V.H); VOP3P: op_sel of this source
  bool high_hi = false;  // VOP3P only: op_sel_hi of this source (which half feeds the high result)
  int64_t value = 0;     // immediates: sign- or zero-extended as the instruction reads it

  bool is_vgpr() const { return code >= code::kVgpr0; }
  bool is_literal() const { return code == code::kLiteral; }
  unsigned vgpr() const { return code - code::kVgpr0; }
};

enum class Dpp : uint8_t { none, dpp8, dpp16 };

inline constexpr unsigned kMaxOperands = 12;  // VOPD: two halves; MIMG with NSA: 5 address groups
inline constexpr unsigned kMaxInstructionBytes = 20;

struct Instruction {
  const Row* row = nullptr;    // VOPD: the X half
  const Row* row_y = nullptr;  // VOPD: the Y half, else null
  uint8_t size = 0;            // bytes, literal and DPP dword included
  uint8_t operand_count = 0;
  uint8_t first_y_operand = 0;  // VOPD: operands [first_y_operand, operand_count) belong to row_y
  std::array<Operand, kMaxOperands> operands;

  bool has_literal = false;
  uint32_t literal = 0;

  // VALU modifiers
  bool clamp = false;
  uint8_t omod = 0;                   // 0 none, 1 times 2, 2 times 4, 3 divided by 2
  uint8_t op_sel = 0, op_sel_hi = 0;  // raw fields
  Dpp dpp = Dpp::none;
  uint16_t dpp_control = 0;  // DPP16 DPP_CTRL
  uint8_t row_mask = 0xf, bank_mask = 0xf;
  bool bound_control = false;  // BOUND_CTRL as encoded (1: invalid lanes read 0)
  bool fetch_inactive = false;
  uint32_t dpp8_selectors = 0;                   // 8 x 3 bits, lane 0 lowest
  uint8_t wait_exp = 0;                          // VINTERP, LDSDIR (wait_vdst)
  uint8_t attribute = 0, attribute_channel = 0;  // LDSDIR

  // Memory
  uint16_t offset_field = 0;  // FLAT: OFFSET as encoded; the hardware ignores its top bit, LLVM prints it
  uint8_t saddr_field =
      0;               // FLAT, GLOBAL, SCRATCH: SADDR as encoded; NULL and 127 both say that there is none
  int32_t offset = 0;  // FLAT, MUBUF, SMEM: sign-extended byte offset; DS single: 16-bit
  uint8_t offset0 = 0, offset1 = 0;  // DS two-address
  bool glc = false, slc = false, dlc = false, gds = false, tfe = false, lwe = false, lds = false;
  bool offen = false, idxen = false;
  uint8_t format = 0;          // MTBUF
  uint8_t dmask = 0, dim = 0;  // MIMG
  bool unorm = false, r128 = false, a16 = false, d16 = false;
  uint8_t nsa_dwords = 0;                     // MIMG: number of extra address dwords
  std::array<uint8_t, 5> nsa_registers = {};  // MIMG with NSA: its VGPR fields, used or not

  // Export
  uint8_t export_target = 0, export_enable = 0;
  bool export_done = false, export_row = false;

  const Operand* find(Role role, unsigned first = 0) const {
    for (unsigned i = first; i < operand_count; ++i)
      if (operands[i].role == role) return &operands[i];
    return nullptr;
  }
};

enum class DecodeError : uint8_t {
  none,
  truncated,        // the bytes end inside the instruction
  unknown_opcode,   // no row has this number
  reserved_field,   // a field that must be zero is not, or a value is reserved
  illegal_operand,  // an operand number that this field may not have
};

// Reads one instruction from `bytes` (little-endian, 4-byte units); wave_size is 32 or 64 and decides the
// width of mask operands. Never reads past the end. On failure `out.size` is the number of bytes to skip (4
// or more, or the rest) and, for unknown fields, out.row may be null.
DecodeError decode(std::span<const std::byte> bytes, unsigned wave_size, Instruction& out);

std::string_view describe(DecodeError error);

// Writes the text that llvm-mc-19 -mcpu=gfx1100 prints for the instruction, without leading tab, to `out`;
// returns the number of characters. `capacity` should be at least kMaxText; longer text is cut.
inline constexpr size_t kMaxText = 256;
size_t disassemble(const Instruction& instruction, unsigned wave_size, char* out, size_t capacity);

}  // namespace lockstep::isa

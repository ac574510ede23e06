// Shared by the parts of the decoder and of the disassembler. Internal to isa/.
//
// To add a family of encodings:
// 1. isa/rows/<family>.inc: one line an instruction; its macro is defined (as the mnemonic alone) in
// isa/opcodes.inc
//    and (as a Source) in isa/row.cpp. Operands are written with the words of isa/shape.h. A family whose
//    rows carry a counter, a clause type or implicit reads and writes passes them as SMEM does.
// 2. kLayouts in decode.cpp says by which top bits of the first dword it is known, where its OP field is, and
//    how many dwords it has; with that, decode.cpp looks the row up and calls decode_<family>() (declared
//    below, defined in decode_scalar.cpp, decode_vector.cpp or decode_memory.cpp). It appends the operands in
//    the order of the row, and returns DecodeError::none. It sees the bytes only through Words, which cannot
//    read past the end.
// 3. print.cpp sends the row's encoding to print_<family>().
// 4. tests/isa/ takes every row of isa::rows(); tests/isa/variants.cpp says how to vary the fields of an
// encoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "isa/instruction.h"

namespace lockstep::isa::detail {

// The instruction's bytes as dwords.
class Words {
 public:
  explicit Words(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool has(unsigned index) const { return bytes_.size() >= 4 * (size_t{index} + 1); }
  uint32_t operator[](unsigned index) const {
    uint32_t word;
    std::memcpy(&word, bytes_.data() + 4 * size_t{index}, 4);
    return word;
  }

 private:
  std::span<const std::byte> bytes_;
};

constexpr uint32_t bits(uint32_t word, unsigned low, unsigned count) {
  return (word >> low) & ((1u << count) - 1);
}
constexpr int32_t sign_extend(uint32_t value, unsigned width) {
  return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}

// The rows by encoding and number, for the decoder to look up without a call.
struct RowIndex {
  const Row* rows;
  const uint16_t* slots;       // a number of a row, or kNoRow
  const uint16_t* first_slot;  // of each encoding, which has one for each value of its OP field
};
inline constexpr uint16_t kNoRow = 0xffff;
extern const RowIndex kRowIndex;

// The row of a value of the OP field, or null. For VOP3 it may be one of VOP3SD, which has the same field.
inline const Row* row_of_number(Encoding encoding, unsigned number) {
  const uint16_t row = kRowIndex.slots[kRowIndex.first_slot[static_cast<size_t>(encoding)] + number];
  return row == kNoRow ? nullptr : &kRowIndex.rows[row];
}

struct DecodeContext {
  Words words;
  unsigned wave_size;
  Instruction& out;

  // How many registers an operand has; a mask has a bit a lane.
  unsigned words_of(const OperandSpec& spec) const {
    return spec.type == Type::mask ? wave_size / 32 : spec.words;
  }
};

// Scalar register groups: the hardware ignores the low bits of a misaligned number (guide 3.3.1.3). A group
// has to stay within the SGPRs or the trap temporaries; VCC and EXEC stand for at most two registers. False:
// no such group.
constexpr bool align_scalar(unsigned& code, unsigned words) {
  if (words == 1) return true;
  const unsigned alignment = words == 2 ? 2 : 4;
  if (code < code::kVccLo) {
    code -= code % alignment;
    return code + words <= code::kVccLo;
  }
  if (code >= code::kTtmp0 && code < code::kNull) {
    code -= code % alignment;
    return code + words <= code::kNull;
  }
  return code == code::kNull || (words == 2 && (code == code::kVccLo || code == code::kExecLo));
}

// Appends an operand with what the row says of it.
inline Operand& append(DecodeContext& context, const OperandSpec& spec, unsigned code) {
  static_assert(sizeof(OperandSpec) == 8 && offsetof(OperandSpec, role) == 0 &&
                offsetof(OperandSpec, type) == 1 && offsetof(OperandSpec, words) == 2 &&
                offsetof(OperandSpec, read) == 3 && offsetof(OperandSpec, written) == 4);
  static_assert(sizeof(Operand) == 24 && offsetof(Operand, code) == 0 && offsetof(Operand, role) == 2 &&
                offsetof(Operand, type) == 3 && offsetof(Operand, words) == 4 &&
                offsetof(Operand, read) == 5 && offsetof(Operand, written) == 6);
  constexpr uint64_t kShared = (uint64_t{1} << 40) - 1;
  Operand& operand = context.out.operands[context.out.operand_count++];
  uint64_t words[3] = {};
  std::memcpy(words, &spec, sizeof spec);
  words[0] = (words[0] & kShared) << 16 | static_cast<uint16_t>(code);
  std::memcpy(static_cast<void*>(&operand), words, sizeof words);
  operand.words = static_cast<uint8_t>(context.words_of(spec));
  return operand;
}

// Appends a scalar register operand.
inline DecodeError append_scalar(DecodeContext& context, const OperandSpec& spec, unsigned code) {
  if (!align_scalar(code, context.words_of(spec))) return DecodeError::illegal_operand;
  append(context, spec, code);
  return DecodeError::none;
}

// The instruction has this dword, too; false: the bytes end before it.
inline bool take_dword(DecodeContext& context, unsigned index) {
  if (!context.words.has(index)) return false;
  context.out.size = static_cast<uint8_t>(4 * (index + 1));
  return true;
}

// Reads the literal constant that follows `dwords` dwords of instruction; a second use of it reads the same
// dword.
inline bool take_literal(DecodeContext& context, unsigned dwords) {
  if (context.out.has_literal) return true;
  if (!take_dword(context, dwords)) return false;
  context.out.has_literal = true;
  context.out.literal = context.words[dwords];
  return true;
}

// Numbers that an 8- or 9-bit source field may have: registers, inline constants, the apertures and status
// bits.
constexpr bool is_source_code(unsigned code) {
  if (code >= code::kVgpr0) return true;
  if (code <= code::kIntNegativeLast) return true;
  if (code >= code::kSharedBase && code <= code::kInverseTwoPi) return true;
  return code >= code::kVccz && code <= code::kLiteral;
}

// Inline constants and the literal: numbers that name no register.
constexpr bool is_immediate_code(unsigned code) {
  return (code >= code::kInt0 && code <= code::kIntNegativeLast) ||
         (code >= code::kFloatHalf && code <= code::kInverseTwoPi) || code == code::kLiteral;
}

// Fields that hold the numbers of operands, wherever an encoding keeps them, in the order of enum Place.
using PlacedCodes = std::array<uint16_t, 8>;
constexpr uint16_t& at(PlacedCodes& codes, Place place) {
  return codes[static_cast<size_t>(place)];
}
// No number stands elsewhere; the literal is one that never is an operand as it is.
inline constexpr PlacedCodes kNoCodes = {0, 0, 0, code::kVgpr0, 0, 0, code::kVccLo, code::kLiteral};

// Whether a number is legal in a field, and is the operand's code with nothing more to do: no alignment, no
// literal.
constexpr bool is_taken_as_is(Field field, unsigned code, unsigned words) {
  const bool is_vgpr = code >= code::kVgpr0;
  const bool is_scalar = code < code::kInt0;
  unsigned aligned = code;
  const bool is_group = is_vgpr ? code + words <= 2 * code::kVgpr0
                                : !is_scalar || (align_scalar(aligned, words) && aligned == code);
  const bool is_value = is_source_code(code) && code != code::kLiteral && code != code::kLdsDirect;
  switch (field) {
    case Field::vgpr:
      return is_vgpr && is_group;
    case Field::src9:
      return is_value && is_group;
    case Field::ssrc8:
      return !is_vgpr && is_value && is_group;
    case Field::sdst7:
    case Field::sgpr:
      return is_scalar && is_group;
    case Field::vcc:
    case Field::hidden_vcc:
      return code == code::kVccLo;
    default:
      return false;
  }
}

// The same for operands of one and of two registers, as bits 1 and 2, by field and code.
constexpr unsigned kFieldCount = static_cast<unsigned>(Field::vgpr_addr) + 1;
inline constexpr auto kTakenAsIs = [] {
  std::array<std::array<uint8_t, 512>, kFieldCount> taken{};
  for (unsigned field = 0; field < kFieldCount; ++field)
    for (unsigned code = 0; code < 512; ++code)
      for (unsigned words = 1; words <= 2; ++words)
        if (is_taken_as_is(static_cast<Field>(field), code, words))
          taken[field][code] = static_cast<uint8_t>(taken[field][code] | 1u << words);
  return taken;
}();

// Appends most operands; false: this one needs a closer look.
inline bool append_as_is(DecodeContext& context, const OperandSpec& spec, const PlacedCodes& codes) {
  const unsigned code = codes[static_cast<size_t>(spec.place)];
  if (!(kTakenAsIs[static_cast<size_t>(spec.field)][code] >> context.words_of(spec) & 1)) return false;
  append(context, spec, code);
  return true;
}

DecodeError decode_sop(DecodeContext& context, const Row& row);  // SOP1, SOP2, SOPC, SOPK
DecodeError decode_sopp(DecodeContext& context, const Row& row);
DecodeError decode_smem(DecodeContext& context, const Row& row);

DecodeError decode_short(DecodeContext& context, const Row& row);  // VOP1, VOP2, VOPC
DecodeError decode_vop3(DecodeContext& context, const Row& row);   // and VOP3SD
DecodeError decode_vop3p(DecodeContext& context, const Row& row);
DecodeError decode_vopd(DecodeContext& context, const Row& row);
DecodeError decode_vinterp(DecodeContext& context, const Row& row);

DecodeError decode_ldsdir(DecodeContext& context, const Row& row);
DecodeError decode_ds(DecodeContext& context, const Row& row);
DecodeError decode_flat(DecodeContext& context, const Row& row);  // and GLOBAL, SCRATCH
DecodeError decode_mubuf(DecodeContext& context, const Row& row);
DecodeError decode_mtbuf(DecodeContext& context, const Row& row);
DecodeError decode_mimg(DecodeContext& context, const Row& row);
DecodeError decode_exp(DecodeContext& context, const Row& row);

// Writes text into a buffer of fixed size; what does not fit is dropped.
class Writer {
 public:
  Writer(char* out, size_t capacity) : begin_(out), at_(out), end_(out + capacity) {}

  void put(char character) {
    if (at_ != end_) *at_++ = character;
  }
  void put(std::string_view text) {
    // No cut in this path: the size of a literal stays known, and its copy needs no call.
    if (text.size() <= room()) {
      std::memcpy(at_, text.data(), text.size());
      at_ += text.size();
    } else {
      std::memcpy(at_, text.data(), room());
      at_ = end_;
    }
  }
  // The first `size` characters of an array: copied whole where it fits, which is faster than to copy what
  // counts.
  template <size_t kSize>
  void put_from(const char (&text)[kSize], size_t size) {
    if (kSize <= room()) {
      std::memcpy(at_, text, kSize);
      at_ += size;
    } else {
      put(std::string_view(text, size));
    }
  }
  // The first `size` of at least kSize readable characters, copied as put_from() does.
  template <size_t kSize>
  void put_block(const char* text, size_t size) {
    if (kSize <= room()) {
      std::memcpy(at_, text, kSize);
      at_ += size;
    } else {
      put(std::string_view(text, size));
    }
  }
  void decimal(int64_t value);
  void hex(uint64_t value);  // with 0x

  size_t size() const { return static_cast<size_t>(at_ - begin_); }

 private:
  size_t room() const { return static_cast<size_t>(end_ - at_); }

  char* begin_;
  char* at_;
  char* end_;
};

// The names of rows stand in arrays of this size, so that they can be copied whole.
inline constexpr size_t kPaddedNameSize = 40;
inline void put_mnemonic(Writer& writer, const Row& row) {
  writer.put_block<kPaddedNameSize>(row.name.data(), row.name.size());
}

// The mnemonic with what LLVM adds to it for the encoding: _e32, _e64, _dpp.
void put_full_mnemonic(Writer& writer, const Instruction& instruction);

// A register or register group as LLVM names it: v1, v[1:2], s[4:7], vcc_lo, ttmp[0:1], exec.
void put_register(Writer& writer, unsigned code, unsigned words);
// The same as an operand: behind a blank if it is the first, else behind a comma and a blank.
void put_register_operand(Writer& writer, bool is_first, unsigned code, unsigned words);
// A source operand: register, inline constant or literal, the latter two as the operand's type has them
// printed.
void put_source(Writer& writer, const Instruction& instruction, const Operand& operand);
// A 32-bit immediate the way LLVM prints it: inline constants by value, all others in hexadecimal.
void put_immediate32(Writer& writer, uint32_t value);
// The literal constant as this operand has it printed; is_half: a 16-bit operand of a vector instruction.
void put_literal(Writer& writer, const Operand& operand, uint32_t literal, bool is_half);
// Codes 240 to 248 in a 16-bit integer operand.
void put_inline_half(Writer& writer, unsigned code);
// Comma and space between operands.
inline void put_separator(Writer& writer, bool& first) {
  if (!first) writer.put(std::string_view(", "));
  first = false;
}

void print_scalar(Writer& writer, const Instruction& instruction, unsigned wave_size);
void print_smem(Writer& writer, const Instruction& instruction, unsigned wave_size);

void print_vector(Writer& writer, const Instruction& instruction, unsigned wave_size);
void print_vopd(Writer& writer, const Instruction& instruction, unsigned wave_size);

// The words that the set bits of an index stand for, put together at compile time: one copy instead of a
// branch a bit.
template <size_t kCount>
class WordSet {
 public:
  consteval explicit WordSet(const std::string_view (&words)[kCount]) {
    for (unsigned set = 0; set < kSets; ++set)
      for (unsigned i = 0; i < kCount; ++i)
        if (set >> i & 1)
          for (char character : words[i]) texts_[set].text[texts_[set].size++] = character;
  }
  void put(Writer& writer, unsigned set) const { writer.put_from(texts_[set].text, texts_[set].size); }

 private:
  static constexpr unsigned kSets = 1u << kCount;
  struct Text {
    char text[8 * kCount - 1] = {};
    uint8_t size = 0;
  };
  Text texts_[kSets];
};
inline constexpr WordSet<3> kCacheWords({" glc", " slc", " dlc"});
inline void put_cache_bits(Writer& writer, const Instruction& instruction) {
  kCacheWords.put(writer, instruction.glc + 2u * instruction.slc + 4u * instruction.dlc);
}

void print_ldsdir(Writer& writer, const Instruction& instruction, unsigned wave_size);
void print_ds(Writer& writer, const Instruction& instruction, unsigned wave_size);
void print_flat(Writer& writer, const Instruction& instruction, unsigned wave_size);
void print_mubuf(Writer& writer, const Instruction& instruction, unsigned wave_size);
void print_mtbuf(Writer& writer, const Instruction& instruction, unsigned wave_size);
void print_mimg(Writer& writer, const Instruction& instruction, unsigned wave_size);
void print_exp(Writer& writer, const Instruction& instruction, unsigned wave_size);

}  // namespace lockstep::isa::detail

// Shared by the parts of the decoder and of the disassembler. Internal to isa/.
//
// To add a family of encodings:
// 1. isa/rows/<family>.inc: one line an instruction; its macro is defined (as the mnemonic alone) in
//    isa/opcodes.inc and (as a Source) in isa/row.cpp. Operands are written with the words of isa/shape.h. A
//    family whose rows carry a counter, a clause type or implicit reads and writes passes them as SMEM does.
// 2. kLayouts in decode.cpp says by which top bits of the first dword it is known, where its OP field is, and
//    how long it is; with that, decode.cpp looks the row up and calls decode_<family>() (declared below,
//    defined in decode_scalar.cpp, decode_vector.cpp or decode_memory.cpp). It appends the operands in the
//    order of the row, and returns DecodeError::none. It sees the bytes only through Words, and asks them
//    before it reads more than the layout's length.
// 3. printer_of() in row_text.h names print_<family>(), which writes what follows the mnemonic.
// 4. tests/isa/ takes every row of isa::rows(), and has generators that vary the fields of an encoding.
//
// Most instructions need few of the many cases. So that these do not cost the others anything, the cases
// stand in functions that are not inlined, and those called in loops over operands save all registers
// themselves (clang::preserve_most).
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
  bool has(unsigned index) const { return has_bytes(4 * (size_t{index} + 1)); }
  bool has_bytes(size_t count) const { return bytes_.size() >= count; }
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

struct RowText;

// The rows by encoding and number, and their texts, to look up without a call.
struct RowIndex {
  const Row* rows;
  const Row* const* slots;     // a row, or null
  const uint16_t* first_slot;  // of each encoding, which has one for each value of its OP field
  const RowText* texts;        // two of each row: without DPP, and with it
};
extern const RowIndex kRowIndex;

// The row of a value of the OP field, or null. For VOP3 it may be one of VOP3SD, which has the same field.
inline const Row* row_of_number(Encoding encoding, unsigned number) {
  return kRowIndex.slots[kRowIndex.first_slot[static_cast<size_t>(encoding)] + number];
}

// Why an instruction is refused, in words for explain().
struct Refusal {
  const char* field = nullptr;  // its name in guide chapter 15, or null
  unsigned value = 0;
  bool is_operand = false;       // value is the number of an operand
  const char* reason = nullptr;  // goes on behind "which"
};

// A group of scalar registers whose number is no multiple of what its size asks for: that number, and the one
// that the hardware takes (guide 3.3.1.3).
struct Misaligned {
  uint8_t given = 0, taken = 0, registers = 0;  // registers 0: there is none
};

struct DecodeContext {
  Words words;
  unsigned mask_words;  // registers that hold a bit a lane: 1 in wave32, 2 in wave64
  Instruction& out;
  Refusal refusal{};
  Misaligned misaligned{};  // the last one
};

// What a decoder returns for a field that it cannot take, and for an operand that may not stand where it
// does.
[[gnu::noinline, gnu::cold]] DecodeError refuse(DecodeContext& context, const char* field, unsigned value,
                                                const char* reason);
[[gnu::noinline, gnu::cold]] DecodeError refuse_operand(DecodeContext& context, const OperandSpec& spec,
                                                        unsigned code, const char* reason);
// Of a source that is none: a reserved number, or one of those that ask for DPP where there is none.
[[gnu::noinline, gnu::cold]] DecodeError refuse_source(DecodeContext& context, const OperandSpec& spec,
                                                       unsigned code);
inline constexpr char kMustBeZero[] = "must be zero";
[[gnu::noinline, gnu::cold]] void note_misaligned(DecodeContext& context, unsigned given, unsigned taken,
                                                  unsigned registers);

// Reads one instruction, as decode() does.
DecodeError dispatch(DecodeContext& context);

// Registers that an operand spans.
inline unsigned words_of(const OperandSpec& spec, unsigned mask_words) {
  return spec.type == Type::mask ? mask_words : spec.words;
}

// Scalar register groups: the hardware ignores the low bits of a misaligned number (guide 3.3.1.3). A group
// has to stay within its region: the SGPRs with VCC behind them, or the trap temporaries (guide 3.3.1.4);
// EXEC stands for two registers at most. False: no such group.
constexpr bool align_scalar(unsigned& code, unsigned words) {
  if (words == 1) return true;
  const unsigned alignment = words == 2 ? 2 : 4;
  if (words == 2 && code == code::kVccHi) return false;  // LLVM: no name for it
  if (code < code::kNull) {
    const unsigned end = code < code::kTtmp0 ? code::kTtmp0 : code::kNull;
    code -= code % alignment;
    return code + words <= end;
  }
  return code == code::kNull || (words == 2 && code == code::kExecLo);
}

// What the row says of an operand, and its number.
inline void set_operand(Operand& operand, const OperandSpec& spec, unsigned code, unsigned register_count) {
  static_assert(sizeof(OperandSpec) == 8 && offsetof(OperandSpec, role) == 0 &&
                offsetof(OperandSpec, type) == 1 && offsetof(OperandSpec, words) == 2 &&
                offsetof(OperandSpec, read) == 3 && offsetof(OperandSpec, written) == 4);
  static_assert(sizeof(Operand) == 24 && offsetof(Operand, code) == 0 && offsetof(Operand, role) == 2 &&
                offsetof(Operand, type) == 3 && offsetof(Operand, words) == 4 &&
                offsetof(Operand, read) == 5 && offsetof(Operand, written) == 6);
  constexpr uint64_t kShared = (uint64_t{1} << 40) - 1;
  uint64_t words[3] = {};
  std::memcpy(words, &spec, sizeof spec);
  words[0] = (words[0] & kShared) << 16 | static_cast<uint16_t>(code);
  std::memcpy(static_cast<void*>(&operand), words, sizeof words);
  operand.words = static_cast<uint8_t>(register_count);
}

inline Operand& append(DecodeContext& context, const OperandSpec& spec, unsigned code) {
  Operand& operand = context.out.operands[context.out.operand_count++];
  set_operand(operand, spec, code, words_of(spec, context.mask_words));
  return operand;
}

// Appends a scalar register operand.
inline DecodeError append_scalar(DecodeContext& context, const OperandSpec& spec, unsigned code) {
  const unsigned given = code, registers = words_of(spec, context.mask_words);
  if (!align_scalar(code, registers))
    return refuse_operand(context, spec, code, "names no group of that many registers (guide 3.3.1.4)");
  if (code != given) note_misaligned(context, given, code, registers);
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

// Most operands; false: this one needs a closer look.
inline bool set_as_is(Operand& operand, const OperandSpec& spec, const PlacedCodes& codes,
                      unsigned mask_words) {
  const unsigned code = codes[static_cast<size_t>(spec.place)];
  const unsigned words = words_of(spec, mask_words);
  if (!(kTakenAsIs[static_cast<size_t>(spec.field)][code] >> words & 1)) return false;
  set_operand(operand, spec, code, words);
  return true;
}

// Appends the operands of a row, each as it is or by append_other(spec).
template <typename AppendOther>
[[gnu::always_inline]] inline DecodeError append_all(DecodeContext& context, const Row& row,
                                                     const PlacedCodes& codes, AppendOther append_other) {
  Instruction& out = context.out;
  const unsigned mask_words = context.mask_words;
  Operand* operand = out.operands.data() + out.operand_count;
  for (const OperandSpec& spec : row.operands) {
    if (!set_as_is(*operand, spec, codes, mask_words)) {
      out.operand_count = static_cast<uint8_t>(operand - out.operands.data());
      const DecodeError error = append_other(spec);
      if (error != DecodeError::none) return error;
    }
    ++operand;
  }
  out.operand_count = static_cast<uint8_t>(operand - out.operands.data());
  return DecodeError::none;
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

// Writes text into a buffer; what does not fit is dropped. It is two pointers, to be copied at will: a copy
// whose address nobody takes stays in registers, which is where loops over operands want it.
class Writer {
 public:
  Writer(char* out, size_t capacity) : at_(out), end_(out + capacity) {}

  void put(char character) {
    if (at_ != end_) *at_++ = character;
  }
  void put(std::string_view text) {
    if (text.size() > room()) return;
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  // The first `size` characters of an array: copied whole, which is faster than to copy what counts.
  template <size_t kSize>
  void put_from(const char (&text)[kSize], size_t size) {
    if (kSize > room()) return;
    std::memcpy(at_, text, kSize);
    at_ += size;
  }
  void decimal(int64_t value);
  void hex(uint64_t value);  // with 0x
  // Takes the last characters back: the separator behind the last of a list.
  void drop(size_t count) { at_ -= count; }

  const char* at() const { return at_; }  // behind the last character

 private:
  size_t room() const { return static_cast<size_t>(end_ - at_); }

  char* at_;
  char* end_;
};

// A register or group as LLVM names it: v1, v[1:2], s[4:7], vcc_lo, ttmp[0:1], exec.
void put_register(Writer& writer, unsigned code, unsigned words);
// In lists of operands each has a comma and a blank behind it, and end_list() takes the last of them back.
inline void put_separator(Writer& writer) {
  writer.put(std::string_view(", "));
}
// Those that the table of operand_text.h has not.
[[gnu::noinline, clang::preserve_most]] Writer put_register_group(Writer writer, unsigned code,
                                                                  unsigned words);
[[gnu::noinline, clang::preserve_most]] Writer put_other_operand(Writer writer,
                                                                 const Instruction& instruction,
                                                                 const Operand& operand);
inline void end_list(Writer& writer) {
  writer.drop(2);
}
// A source operand: register, inline constant or literal, the latter two as the operand's type has them
// printed.
void put_source(Writer& writer, const Instruction& instruction, const Operand& operand);
// A 32-bit immediate the way LLVM prints it: inline constants by value, all others in hexadecimal.
void put_immediate32(Writer& writer, uint32_t value);
// The literal constant as this operand has it printed; is_half: a 16-bit operand of a vector instruction.
void put_literal(Writer& writer, const Operand& operand, uint32_t literal, bool is_half);
// Codes 240 to 248 in a 16-bit integer operand.
void put_inline_half(Writer& writer, unsigned code);

// They write what stands behind the mnemonic and a blank.
Writer print_scalar(Writer writer, const Instruction& instruction, const RowText& text);
Writer print_sopp(Writer writer, const Instruction& instruction, const RowText& text);
Writer print_smem(Writer writer, const Instruction& instruction, const RowText& text);

Writer print_vector(Writer writer, const Instruction& instruction, const RowText& text);
Writer print_vopd(Writer writer, const Instruction& instruction, const RowText& text);

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

Writer print_ldsdir(Writer writer, const Instruction& instruction, const RowText& text);
Writer print_ds(Writer writer, const Instruction& instruction, const RowText& text);
Writer print_flat(Writer writer, const Instruction& instruction, const RowText& text);
Writer print_mubuf(Writer writer, const Instruction& instruction, const RowText& text);
Writer print_mtbuf(Writer writer, const Instruction& instruction, const RowText& text);
Writer print_mimg(Writer writer, const Instruction& instruction, const RowText& text);
Writer print_exp(Writer writer, const Instruction& instruction, const RowText& text);

}  // namespace lockstep::isa::detail

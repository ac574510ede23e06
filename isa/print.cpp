#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <vector>

#include "isa/detail.h"
#include "isa/shape.h"

namespace lockstep::isa {
namespace detail {
namespace {

// Register names of one and two registers are looked up; the text of larger groups is put together.
struct Name {
  char text[15];
  uint8_t size;
};

struct NameBuilder {
  Name name{};
  constexpr void put(std::string_view text) {
    for (char character : text) name.text[name.size++] = character;
  }
  constexpr void put(unsigned value) {
    if (value >= 10) put(value / 10);
    name.text[name.size++] = static_cast<char>('0' + value % 10);
  }
  constexpr void put_group(std::string_view prefix, unsigned first, unsigned words) {
    put(prefix);
    if (words == 1) return put(first);
    put("[");
    put(first);
    put(":");
    put(first + words - 1);
    put("]");
  }
};

constexpr std::string_view special_name(unsigned code, unsigned words) {
  switch (code) {
    case code::kVccLo:
      return words == 1 ? "vcc_lo" : "vcc";
    case code::kVccHi:
      return "vcc_hi";
    case code::kNull:
      return "null";
    case code::kM0:
      return "m0";
    case code::kExecLo:
      return words == 1 ? "exec_lo" : "exec";
    case code::kExecHi:
      return "exec_hi";
    default:
      return {};
  }
}

constexpr Name register_name(unsigned code, unsigned words) {
  NameBuilder builder;
  if (code >= code::kVgpr0) {
    builder.put_group("v", code - code::kVgpr0, words);
  } else if (code < code::kVccLo) {
    builder.put_group("s", code, words);
  } else if (code >= code::kTtmp0 && code < code::kNull) {
    builder.put_group("ttmp", code - code::kTtmp0, words);
  } else {
    builder.put(special_name(code, words));
  }
  return builder.name;
}

template <unsigned kWords>
constexpr std::array<Name, 512> kNames = [] {
  std::array<Name, 512> names{};
  for (unsigned code = 0; code < names.size(); ++code) names[code] = register_name(code, kWords);
  return names;
}();

void put_name(Writer& writer, const Name& name) {
  writer.put_from(name.text, name.size);
}

// The same names behind the separator of operands.
struct SeparatedName {
  char text[17];
  uint8_t size;
};

template <unsigned kWords>
constexpr std::array<SeparatedName, 512> kSeparatedNames = [] {
  std::array<SeparatedName, 512> names{};
  for (unsigned code = 0; code < names.size(); ++code) {
    const Name name = register_name(code, kWords);
    SeparatedName& separated = names[code];
    separated.text[0] = ',';
    separated.text[1] = ' ';
    std::copy_n(name.text, name.size, separated.text + 2);
    separated.size = static_cast<uint8_t>(name.size + 2);
  }
  return names;
}();

// The decimal digits of the numbers below 1000.
struct Digits {
  char text[3];
  uint8_t size;
};
constexpr std::array<Digits, 1000> kDigits = [] {
  std::array<Digits, 1000> all{};
  for (unsigned number = 0; number < all.size(); ++number) {
    NameBuilder builder;
    builder.put(number);
    std::copy_n(builder.name.text, 3, all[number].text);
    all[number].size = builder.name.size;
  }
  return all;
}();

char* put_digits(char* at, unsigned number) {
  const Digits& digits = kDigits[number];
  std::memcpy(at, digits.text, sizeof(digits.text));
  return at + digits.size;
}

// A group of three or more registers.
void put_group(Writer& writer, unsigned code, unsigned words) {
  const bool vgpr = code >= code::kVgpr0;
  if (!vgpr && code >= code::kVccLo) return put_name(writer, register_name(code, words));
  const unsigned first = vgpr ? code - code::kVgpr0 : code;
  char text[12];
  text[0] = vgpr ? 'v' : 's';
  text[1] = '[';
  char* at = put_digits(text + 2, first);
  *at++ = ':';
  at = put_digits(at, first + words - 1);
  *at++ = ']';
  writer.put_from(text, static_cast<size_t>(at - text));
}

constexpr std::string_view kInlineFloats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};

}  // namespace

void Writer::decimal(int64_t value) {
  if (value < 0) put('-');
  uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (rest < kDigits.size()) return put_from(kDigits[rest].text, kDigits[rest].size);
  char digits[20];
  char* at = std::end(digits);
  do {
    *--at = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest);
  put(std::string_view(at, std::end(digits)));
}

void Writer::hex(uint64_t value) {
  const unsigned digits = value ? (67 - static_cast<unsigned>(std::countl_zero(value))) / 4 : 1;
  put("0x");
  for (unsigned i = digits; i-- > 0;) put("0123456789abcdef"[(value >> (4 * i)) & 15]);
}

void put_register(Writer& writer, unsigned code, unsigned words) {
  if (words == 1) return put_name(writer, kNames<1>[code]);
  if (words == 2) return put_name(writer, kNames<2>[code]);
  put_group(writer, code, words);
}

void put_register_operand(Writer& writer, bool is_first, unsigned code, unsigned words) {
  if (words <= 2) {
    const SeparatedName& name = (words == 1 ? kSeparatedNames<1> : kSeparatedNames<2>)[code];
    return writer.put_block<16>(name.text + is_first, name.size - is_first);
  }
  if (is_first) {
    writer.put(' ');
  } else {
    writer.put(", ");
  }
  put_register(writer, code, words);
}

void put_source(Writer& writer, const Instruction& instruction, const Operand& operand) {
  const unsigned code = operand.code;
  const bool is_half = is_16_bit(operand.type) && instruction.row->encoding >= Encoding::vop1;
  if (code >= code::kVgpr0 || code < code::kInt0) return put_register(writer, code, operand.words);
  if (code <= code::kIntPositiveLast) return writer.decimal(static_cast<int>(code) - code::kInt0);
  if (code <= code::kIntNegativeLast) return writer.decimal(code::kIntPositiveLast - static_cast<int>(code));
  if (code >= code::kFloatHalf && code <= code::kInverseTwoPi && is_half && !is_float(operand.type))
    return put_inline_half(writer, code);
  if (code >= code::kFloatHalf && code <= code::kFloatMinusFour)
    return writer.put(kInlineFloats[code - code::kFloatHalf]);
  switch (code) {
    case code::kSharedBase:
      return writer.put("src_shared_base");
    case code::kSharedLimit:
      return writer.put("src_shared_limit");
    case code::kPrivateBase:
      return writer.put("src_private_base");
    case code::kPrivateLimit:
      return writer.put("src_private_limit");
    case code::kPopsExitingWaveId:
      return writer.put("src_pops_exiting_wave_id");
    case code::kInverseTwoPi:
      return writer.put(operand.words == 2 || operand.words == 8 ? "0.15915494309189532" : "0.15915494");
    case code::kVccz:
      return writer.put("src_vccz");
    case code::kExecz:
      return writer.put("src_execz");
    case code::kScc:
      return writer.put("src_scc");
    case code::kLdsDirect:
      return writer.put("src_lds_direct");
    default:
      break;
  }
  put_literal(writer, operand, instruction.literal, is_half);
}

namespace {

// The short path of disassemble(): most instructions are a mnemonic and operands whose text a table has.
struct PlainRow {
  char text[kPaddedNameSize] = {};  // mnemonic with suffix
  uint8_t size = 0;
  uint8_t hidden = 0;  // a bit an operand: not in the text
  bool plain = false;
};

bool has_plain_encoding(Encoding encoding) {
  switch (encoding) {
    case Encoding::sop1:
    case Encoding::sop2:
    case Encoding::sopc:
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vopc:
    case Encoding::vop3:
    case Encoding::vop3sd:
      return true;
    default:
      return false;
  }
}

PlainRow plain_row(const Row& row) {
  PlainRow plain;
  if (!has_plain_encoding(row.encoding) || (row.flags & kOpselInText)) return plain;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const OperandSpec& spec = row.operands[i];
    if (spec.role == Role::simm || is_16_bit(spec.type)) return plain;
    if (spec.field == Field::exec || spec.field == Field::hidden_vcc) plain.hidden |= 1u << i;
  }
  Instruction instruction;
  instruction.row = &row;
  char text[kMaxText];
  Writer writer(text, sizeof text);
  put_full_mnemonic(writer, instruction);
  if (writer.size() > sizeof plain.text) return plain;
  std::memcpy(plain.text, text, writer.size());
  plain.size = static_cast<uint8_t>(writer.size());
  plain.plain = true;
  return plain;
}

// In the order of rows().
const PlainRow* plain_rows() {
  static const std::vector<PlainRow> all = [] {
    std::vector<PlainRow> list;
    for (const Row& row : rows()) list.push_back(plain_row(row));
    return list;
  }();
  return all.data();
}

// Text of registers and inline constants behind the separator; size 0: it takes the long path.
template <unsigned kWords>
constexpr std::array<SeparatedName, 512> kPlainOperands = [] {
  std::array<SeparatedName, 512> names = kSeparatedNames<kWords>;
  for (unsigned code = code::kInt0; code < code::kVgpr0; ++code) {
    NameBuilder builder;
    builder.put(", ");
    if (code <= code::kIntPositiveLast) {
      builder.put(code - code::kInt0);
    } else if (code <= code::kIntNegativeLast) {
      builder.put("-");
      builder.put(code - code::kIntPositiveLast);
    } else if (code >= code::kFloatHalf && code <= code::kFloatMinusFour) {
      builder.put(kInlineFloats[code - code::kFloatHalf]);
    } else {
      builder.name.size = 0;
    }
    std::copy_n(builder.name.text, builder.name.size, names[code].text);
    names[code].size = builder.name.size;
  }
  return names;
}();

// Writes the text and returns its length, or returns 0. `out` has room for kMaxText characters.
size_t put_plain(const Instruction& instruction, const PlainRow& plain, char* out) {
  if (!plain.plain || instruction.dpp != Dpp::none || instruction.clamp || instruction.omod) return 0;
  std::memcpy(out, plain.text, sizeof plain.text);
  char* at = out + plain.size;
  unsigned skipped = 1;  // the first operand stands behind a blank alone
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    if (plain.hidden >> i & 1) continue;
    const Operand& operand = instruction.operands[i];
    if (operand.neg | operand.abs | (operand.words > 2)) return 0;
    const SeparatedName& name = (operand.words == 2 ? kPlainOperands<2> : kPlainOperands<1>)[operand.code];
    if (name.size == 0) return 0;
    std::memcpy(at, name.text + skipped, 16);
    at += name.size - skipped;
    skipped = 0;
  }
  return static_cast<size_t>(at - out);
}

}  // namespace
}  // namespace detail

size_t disassemble(const Instruction& instruction, unsigned wave_size, char* out, size_t capacity) {
  if (!instruction.row) return 0;
  static const detail::PlainRow* const plain = detail::plain_rows();
  if (capacity >= kMaxText) {
    if (const size_t size = detail::put_plain(instruction, plain[instruction.row - rows().data()], out))
      return size;
  }
  detail::Writer writer(out, capacity);
  switch (instruction.row->encoding) {
    case Encoding::sop2:
    case Encoding::sopk:
    case Encoding::sop1:
    case Encoding::sopc:
    case Encoding::sopp:
      detail::print_scalar(writer, instruction, wave_size);
      break;
    case Encoding::smem:
      detail::print_smem(writer, instruction, wave_size);
      break;
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vopc:
    case Encoding::vop3:
    case Encoding::vop3sd:
    case Encoding::vop3p:
    case Encoding::vinterp:
      detail::print_vector(writer, instruction, wave_size);
      break;
    case Encoding::vopd:
      detail::print_vopd(writer, instruction, wave_size);
      break;
    case Encoding::ldsdir:
      detail::print_ldsdir(writer, instruction, wave_size);
      break;
    case Encoding::ds:
      detail::print_ds(writer, instruction, wave_size);
      break;
    case Encoding::flat:
    case Encoding::global:
    case Encoding::scratch:
      detail::print_flat(writer, instruction, wave_size);
      break;
    case Encoding::mubuf:
      detail::print_mubuf(writer, instruction, wave_size);
      break;
    case Encoding::mtbuf:
      detail::print_mtbuf(writer, instruction, wave_size);
      break;
    case Encoding::mimg:
      detail::print_mimg(writer, instruction, wave_size);
      break;
    case Encoding::exp:
      detail::print_exp(writer, instruction, wave_size);
      break;
  }
  return writer.size();
}

}  // namespace lockstep::isa

#include "tests/engine/translator/row_forms.h"

#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace lockstep::translator {
namespace {

using isa::Encoding;
using Words = std::vector<uint32_t>;

enum class Form : uint8_t {
  registers,
  scalar,     // src0: an SGPR
  constant,   // src1 of a scalar instruction, or src0: an inline constant
  literal,    // src0
  modifiers,  // ABS, NEG, OMOD, CLAMP, OP_SEL, as the row has them
  dpp8,
  dpp16,
  address,  // of memory: no scalar base, or none but that
  indexed,  // through a buffer's index
  wave64,   // registers
};

// Guide chapter 15 for all places of fields. Registers are numbered so that groups of any size are aligned
// and those of two copies do not meet.
struct Copy {
  unsigned number;

  uint32_t vgpr(unsigned first) const { return first + 64 * number; }
  uint32_t dst() const { return vgpr(16); }
  uint32_t source(unsigned index) const { return vgpr(32 + 8 * index); }
  uint32_t scalar_dst() const { return 48 + 16 * number; }
  uint32_t scalar(unsigned index) const { return 8 + 4 * index + 8 * number; }
  uint32_t mask() const { return 40 + 2 * number; }
  uint32_t result() const { return 96 + 2 * number; }
};
constexpr uint32_t kBase = 32;  // SGPRs of a base or a resource
constexpr uint32_t kVgprSource = isa::code::kVgpr0, kConstant = isa::code::kInt0 + 5, kDpp8 = 233,
                   kDpp16 = 250;
// quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf; dpp8:[7,6,5,4,3,2,1,0]
constexpr uint32_t kDpp16Fields = 0xff00'b100, kDpp8Fields = 0x0539'7700;

Words scalar_words(const isa::Row& row, Form form, Copy copy) {
  const uint32_t number = row.number, dst = copy.scalar_dst() << 16, source = copy.scalar(0);
  const uint32_t second = (form == Form::constant ? kConstant : copy.scalar(1)) << 8;
  switch (row.encoding) {
    case Encoding::sop2:
      return {0x8000'0000 | number << 23 | dst | second | source};
    case Encoding::sopk:
      return {0xb000'0000 | number << 23 | dst | 5};
    case Encoding::sop1:
      return {0xbe80'0000 | dst | number << 8 | (form == Form::constant ? kConstant : source)};
    case Encoding::sopc:
      return {0xbf00'0000 | number << 16 | second | source};
    default:
      return {0xbf80'0000 | number << 16};
  }
}

// Of the encodings of one dword.
Words short_vector_words(const isa::Row& row, Form form, Copy copy) {
  uint32_t source = kVgprSource | copy.source(0);
  Words behind;
  switch (form) {
    case Form::scalar:
      source = copy.scalar(0);
      break;
    case Form::constant:
      source = kConstant;
      break;
    case Form::literal:
      source = isa::code::kLiteral;
      behind = {0x4048'f5c3};
      break;
    case Form::dpp8:
      source = kDpp8;
      behind = {kDpp8Fields | copy.source(0)};
      break;
    case Form::dpp16:
      source = kDpp16;
      behind = {kDpp16Fields | copy.source(0)};
      break;
    default:
      break;
  }
  for (const isa::OperandSpec& operand : row.operands)
    if (operand.role == isa::Role::simm) behind = {0x4048'f5c3};
  const uint32_t second = copy.source(1) << 9;
  Words words;
  switch (row.encoding) {
    case Encoding::vop1: {
      const bool is_scalar = row.operands.size() && row.operands[0].field == isa::Field::sdst7;
      words = {0x7e00'0000 | (is_scalar ? copy.scalar_dst() : copy.dst()) << 17 | uint32_t{row.number} << 9 |
               source};
      break;
    }
    case Encoding::vop2:
      words = {uint32_t{row.number} << 25 | copy.dst() << 17 | second | source};
      break;
    default:
      words = {0x7c00'0000 | uint32_t{row.number} << 17 | second | source};
  }
  words.insert(words.end(), behind.begin(), behind.end());
  return words;
}

Words long_vector_words(const isa::Row& row, Form form, Copy copy) {
  const uint32_t number = row.number;
  uint32_t low = 0, high = 0;
  const bool modifies = form == Form::modifiers;
  const auto has = [&](isa::Flags flags) { return modifies && row.flags & flags; };
  for (const isa::OperandSpec& operand : row.operands) {
    const bool is_scalar = operand.field == isa::Field::sdst7 || operand.field == isa::Field::ssrc8;
    switch (operand.role) {
      case isa::Role::dst:
        low |= is_scalar ? copy.mask() : copy.dst();
        break;
      case isa::Role::dst2:
        low |= copy.mask() << 8;
        break;
      case isa::Role::src0:
      case isa::Role::src1:
      case isa::Role::src2: {
        const auto index = static_cast<unsigned>(operand.role) - static_cast<unsigned>(isa::Role::src0);
        const bool reads_scalar = is_scalar || (form == Form::scalar && index == 0);
        high |= (reads_scalar ? (operand.type == isa::Type::mask ? 36 : copy.scalar(index))
                              : kVgprSource | copy.source(index))
                << (9 * index);
        break;
      }
      default:
        break;
    }
  }
  switch (row.encoding) {
    case Encoding::vop3p:
      low |= 0xcc00'0000 | number << 16;
      // OP_SEL_HI as it is where nobody says otherwise: the high half for the high result.
      if (!(row.flags & isa::kMatrix) || modifies) low |= 0x4000;
      high |= 0x1800'0000;
      if (has(isa::kCanOpsel)) low ^= 0x0800;
      if (has(isa::kCanNeg)) high |= 0x4000'0000;
      if (has(isa::kCanClamp)) low |= 0x8000;
      break;
    case Encoding::vinterp:
      low |= 0xcd00'0000 | number << 16;
      break;
    default:
      low |= 0xd400'0000 | number << 16;
      if (has(isa::kCanAbs)) low |= 0x0100;
      if (has(isa::kCanNeg)) high |= 0x2000'0000;
      if (has(isa::kCanOmod)) high |= 0x0800'0000;
      if (has(isa::kCanClamp)) low |= 0x8000;
      if (has(isa::kCanOpsel) && row.encoding == Encoding::vop3) low |= 0x0800;
  }
  return {low, high};
}

Words pair_words(const isa::Row& row, Form form, Copy copy) {
  const bool is_y = form == Form::constant;  // the row is the Y half, beside a move
  constexpr uint32_t kMove = 8;
  const uint32_t x = is_y ? kMove : row.number, y = is_y ? row.number : kMove;
  Words words = {0xc800'0000 | x << 22 | y << 17 | copy.source(1) << 9 | kVgprSource | copy.source(0),
                 copy.dst() << 24 | copy.dst() / 2 << 17 | (copy.source(1) + 1) << 9 | kVgprSource |
                     (copy.source(0) + 1)};
  for (const isa::OperandSpec& operand : row.operands)
    if (operand.role == isa::Role::simm) words.push_back(0x4048'f5c3);
  return words;
}

Words memory_words(const isa::Row& row, Form form, Copy copy) {
  const uint32_t number = row.number, address = copy.vgpr(24), data = copy.source(0), no_scalar = 124;
  const bool returns = row.flags & isa::kAtomic && row.encoding != Encoding::ds &&
                       (row.encoding == Encoding::flat || form != Form::registers);
  switch (row.encoding) {
    case Encoding::smem:
      return {0xf400'0000 | number << 18 | copy.scalar_dst() << 6 | kBase / 2,
              (form == Form::scalar ? copy.scalar(0) : no_scalar) << 25 | 64 * copy.number};
    case Encoding::ldsdir:
      return {0xce00'0000 | number << 20 | copy.dst()};
    case Encoding::ds:
      return {0xd800'0000 | number << 18 | (row.flags & isa::kTwoAddresses ? 0x0201 : 16),
              copy.dst() << 24 | copy.source(1) << 16 | data << 8 | address};
    case Encoding::flat:
    case Encoding::global:
    case Encoding::scratch: {
      const uint32_t segment = row.encoding == Encoding::flat ? 0 : row.encoding == Encoding::scratch ? 1 : 2;
      // An address of 64 bits without a base; scratch has either one.
      const bool has_base = row.encoding == Encoding::global    ? form != Form::address
                            : row.encoding == Encoding::scratch ? form == Form::address
                                                                : false;
      const bool has_address = row.encoding != Encoding::scratch || form != Form::address;
      return {0xdc00'0000 | number << 18 | segment << 16 | (returns ? 0x4000 : 0) | 16,
              copy.dst() << 24 | (has_address && segment == 1 ? 1u << 23 : 0) |
                  (has_base ? kBase : no_scalar) << 16 | data << 8 | (has_address ? address : 0)};
    }
    case Encoding::mubuf:
    case Encoding::mtbuf: {
      const uint32_t index = form == Form::indexed ? 1u << 23 : 1u << 22;
      // BUF_FMT_32_FLOAT
      const uint32_t fixed = row.encoding == Encoding::mubuf ? 0xe000'0000 | number << 18
                                                             : 0xe800'0000 | 22u << 19 | number << 15;
      return {fixed | (returns ? 0x4000 : 0) | 16,
              isa::code::kInt0 << 24 | index | kBase / 4 << 16 | data << 8 | address};
    }
    default:
      return {};
  }
}

Words words_of(const isa::Row& row, Form form, Copy copy) {
  switch (row.encoding) {
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vopc:
      return short_vector_words(row, form, copy);
    case Encoding::vop3:
    case Encoding::vop3sd:
    case Encoding::vop3p:
    case Encoding::vinterp:
      return long_vector_words(row, form, copy);
    case Encoding::vopd:
      return pair_words(row, form, copy);
    default:
      return isa::is_scalar_alu(row.encoding) ? scalar_words(row, form, copy) : memory_words(row, form, copy);
  }
}

bool has_mask(const isa::Row& row) {
  for (const isa::OperandSpec& operand : row.operands)
    if (operand.type == isa::Type::mask) return true;
  return (row.implicit_reads | row.implicit_writes) & isa::kVcc || row.flags & isa::kWritesExec;
}

std::vector<Form> forms_of(const isa::Row& row) {
  std::vector<Form> forms;
  // CLAMP of a comparison is for exceptions.
  const bool is_comparison = row.name.starts_with("v_cmp");
  const bool modifies = row.flags & (isa::kCanAbs | isa::kCanNeg | isa::kCanOmod | isa::kCanOpsel |
                                     (is_comparison ? 0 : isa::kCanClamp));
  switch (row.encoding) {
    case Encoding::sop2:
    case Encoding::sop1:
    case Encoding::sopc:
      forms = {Form::registers, Form::constant};
      break;
    case Encoding::vop1:
      forms = {Form::registers, Form::scalar};
      if (row.flags & isa::kCanDpp16) forms.push_back(Form::dpp16);
      break;
    case Encoding::vop2:
      forms = {Form::registers, Form::scalar, Form::literal};
      if (row.flags & isa::kCanDpp16) forms.push_back(Form::dpp16);
      if (row.flags & isa::kCanDpp8) forms.push_back(Form::dpp8);
      break;
    case Encoding::vopc:
      forms = {Form::registers, Form::constant};
      break;
    case Encoding::vop3:
    case Encoding::vop3sd:
      // What has a short form, too, is there with registers.
      if (!(row.flags & isa::kTwoForms)) forms = {Form::registers, Form::scalar};
      if (modifies) forms.push_back(Form::modifiers);
      break;
    case Encoding::vop3p:
      forms = {Form::registers, Form::modifiers};
      break;
    case Encoding::vopd:
      // The constant stands for the other half.
      if (row.flags & isa::kInVopdX && row.number < 16) forms = {Form::registers};
      if (row.flags & isa::kInVopdY) forms.push_back(Form::constant);
      break;
    case Encoding::smem:
      forms = {Form::registers, Form::scalar};
      break;
    case Encoding::global:
    case Encoding::scratch:
      forms = {Form::registers, Form::address};
      break;
    case Encoding::mubuf:
      forms = {Form::registers, Form::indexed};
      break;
    default:
      forms = {Form::registers};
  }
  const bool has_registers = !forms.empty() && forms[0] == Form::registers;
  if (has_registers && isa::is_vector_alu(row.encoding) && row.encoding != Encoding::vopd &&
      (has_mask(row) || row.flags & isa::kCrossLane))
    forms.push_back(Form::wave64);
  return forms;
}

bool decodes(const Words& words, const RowForm& form, Form kind, isa::Instruction& instruction) {
  if (words.empty()) return false;
  if (isa::decode(std::as_bytes(std::span(words)), form.wave_size, instruction) != isa::DecodeError::none)
    return false;
  const bool is_y = form.row->encoding == Encoding::vopd && kind == Form::constant;
  return (is_y ? instruction.row_y : instruction.row) == form.row && instruction.size == 4 * words.size();
}

// Of the one result of an instruction, which the next copy would overwrite.
Words reader_of(const isa::Instruction& instruction, unsigned wave_size, Copy copy) {
  const uint32_t dst = copy.result() << 16;
  bool sets_vcc = false;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!operand.written) continue;
    if (operand.code != isa::code::kVccLo) return {};
    sets_vcc = true;
  }
  // s_mov_b32 or s_mov_b64 of VCC; s_cselect_b32 of 1 and 0
  if (sets_vcc) return {0xbe80'0000 | dst | (wave_size == 64 ? 1u : 0u) << 8 | isa::code::kVccLo};
  if (instruction.row->implicit_writes & isa::kScc)
    return {0x9800'0000 | dst | isa::code::kInt0 << 8 | (isa::code::kInt0 + 1)};
  return {};
}

}  // namespace

std::vector<RowForm> row_forms() {
  std::vector<RowForm> forms;
  std::set<std::pair<std::string, unsigned>> names;
  for (const isa::Row& row : isa::rows()) {
    if (row.encoding == Encoding::mimg || row.encoding == Encoding::exp) continue;
    for (const Form kind : forms_of(row)) {
      RowForm form{
          &row, kind == Form::wave64 ? 64u : 32u, words_of(row, kind, {0}), words_of(row, kind, {1}), {}};
      isa::Instruction first, second;
      if (!decodes(form.second, form, kind, second) || !decodes(form.first, form, kind, first)) continue;
      char text[isa::kMaxText];
      form.text.assign(text, isa::disassemble(first, form.wave_size, text, sizeof text));
      for (const auto& [words, instruction, copy] :
           {std::tuple{&form.first, &first, Copy{0}}, std::tuple{&form.second, &second, Copy{1}}}) {
        const Words reader = reader_of(*instruction, form.wave_size, copy);
        words->insert(words->end(), reader.begin(), reader.end());
      }
      // LLVM does not print OP_SEL where assembly has no place for it.
      if (kind == Form::modifiers && names.contains({form.text, form.wave_size})) form.text += " op_sel";
      if (!names.emplace(form.text, form.wave_size).second) continue;
      forms.push_back(std::move(form));
    }
  }
  return forms;
}

}  // namespace lockstep::translator

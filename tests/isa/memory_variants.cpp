#include "tests/isa/memory_variants.h"

#include <vector>

#include "isa/image.h"

namespace lockstep::test {
namespace {

using isa::Encoding;
using isa::Instruction;
using isa::Operand;
using isa::OperandSpec;
using isa::Role;
using isa::Row;

struct Field {
  unsigned low;  // bit number, dwords counted on
  unsigned width;
  std::vector<uint32_t> values;
};

std::vector<uint32_t> all(unsigned width) {
  std::vector<uint32_t> values(1u << width);
  for (uint32_t value = 0; value < values.size(); ++value) values[value] = value;
  return values;
}

std::vector<uint32_t> powers(unsigned width) {
  std::vector<uint32_t> values = {0, (1u << width) - 1};
  for (unsigned bit = 0; bit < width; ++bit) values.push_back(1u << bit);
  return values;
}

Field whole(unsigned low, unsigned width) {
  return {low, width, all(width)};
}
Field offset(unsigned low, unsigned width) {
  return {low, width, powers(width)};
}
Field vgpr(unsigned low) {
  return {low, 8, {0, 1, 2, 9, 10, 99, 127, 128, 248, 251, 252, 253, 254, 255}};
}

std::vector<Field> fields_of(Encoding encoding) {
  switch (encoding) {
    case Encoding::ldsdir:
      return {vgpr(0), whole(8, 2), whole(10, 6), whole(16, 4)};
    case Encoding::ds:
      return {offset(0, 16), offset(0, 8), offset(8, 8), whole(16, 1), whole(17, 1),
              vgpr(32),      vgpr(40),     vgpr(48),     vgpr(56)};
    case Encoding::flat:
    case Encoding::global:
      return {offset(0, 13), whole(13, 3), whole(25, 1), vgpr(32),
              vgpr(40),      whole(48, 7), whole(55, 1), vgpr(56)};
    case Encoding::scratch:
      return {offset(0, 13), whole(13, 3), whole(25, 1), vgpr(32),
              vgpr(40),      whole(48, 7), whole(55, 1), vgpr(56)};
    case Encoding::mubuf:
      return {offset(0, 12), whole(12, 3), whole(15, 3), vgpr(32),
              vgpr(40),      whole(48, 5), whole(53, 3), whole(56, 8)};
    case Encoding::mtbuf:
      return {offset(0, 12), whole(12, 3), whole(19, 7), vgpr(32),
              vgpr(40),      whole(48, 5), whole(53, 3), whole(56, 8)};
    case Encoding::mimg:
      return {whole(0, 2),  whole(2, 3),  whole(5, 2), whole(7, 1),  whole(8, 4),  whole(12, 4),
              whole(16, 2), vgpr(32),     vgpr(40),    whole(48, 5), whole(53, 2), whole(55, 3),
              whole(58, 5), whole(63, 1), vgpr(64),    vgpr(72),     vgpr(80),     vgpr(88)};
    case Encoding::exp:
      return {whole(0, 4), whole(4, 6), whole(10, 4), offset(14, 12), vgpr(32), vgpr(40), vgpr(48), vgpr(56)};
    default:
      return {};
  }
}

struct Words {
  uint32_t word[3] = {};
  void set(const Field& field, uint32_t value) {
    uint32_t& target = word[field.low / 32];
    const unsigned low = field.low % 32;
    target = (target & ~(((1u << field.width) - 1) << low)) | value << low;
  }
};

Words rest_of(const Row& row) {
  const uint32_t number = row.number;
  switch (row.encoding) {
    case Encoding::ldsdir:
      return {{0xce000000 | number << 20}};
    case Encoding::ds:
      return {{0xd8000000 | number << 18 | (row.flags & isa::kGdsOnly ? 1u << 17 : 0)}};
    case Encoding::flat:
      return {{0xdc000000 | number << 18, 0x007c0000}};
    case Encoding::scratch:
      return {{0xdc010000 | number << 18, 0x00fc0000}};
    case Encoding::global:
      return {{0xdc020000 | number << 18, 0x007c0000}};
    case Encoding::mubuf:
      return {{0xe0000000 | number << 18}};
    case Encoding::mtbuf:
      return {{0xe8000000 | number << 15}};
    case Encoding::mimg:
      if (isa::kImageForms[number].kind == isa::ImageKind::bvh) return {{0xf0008f80 | number << 18}};
      return {{0xf0000100 | number << 18}};
    default:
      return {{0xf8000000}};
  }
}

constexpr uint32_t bits(uint32_t word, unsigned low, unsigned width) {
  return word >> low & ((1u << width) - 1);
}

bool ends_beyond_v255(const Instruction& instruction) {
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    if (operand.is_vgpr() && operand.vgpr() + operand.words > 256) return true;
  }
  // LLVM widens the data of a store with TFE and the destination of the stream-out operations.
  const Operand* data = instruction.find(Role::data);
  if (data && instruction.tfe && data->vgpr() + data->words + 1u > 256) return true;
  const Operand* dst = instruction.find(Role::dst);
  return dst && instruction.gds && dst->vgpr() == 255;
}

// LLVM decodes an image instruction with a default shape before it looks at DMASK, D16, DIM and A16.
bool default_shape_ends_beyond_v255(uint32_t fields, const isa::ImageForm& form) {
  unsigned data = 1, address = 1;
  if (form.kind == isa::ImageKind::gather || form.kind == isa::ImageKind::msaa_load) data = 4;
  if (form.kind == isa::ImageKind::compare_swap) data = 2;
  if (form.has_sampler()) address = form.extra + 1u + form.gradients;
  return bits(fields, 8, 8) + data > 256 || bits(fields, 0, 8) + address > 256;
}

// The VGPR fields of a DS instruction that no operand uses.
bool has_unused_ds_field(uint32_t fields, const Row& row) {
  uint32_t unused = ~0u;
  for (const OperandSpec& spec : row.operands) {
    if (spec.role == Role::dst) unused &= 0x00ffffff;
    if (spec.role == Role::addr || spec.field == isa::Field::vgpr_addr) unused &= 0xffffff00;
    if (spec.role == Role::data && spec.field != isa::Field::vgpr_addr) unused &= 0xffff00ff;
    if (spec.role == Role::data2) unused &= 0xff00ffff;
  }
  return fields & unused;
}

}  // namespace

bool is_memory_family(Encoding encoding) {
  return encoding >= Encoding::ldsdir;
}

void visit_memory_variants(const Row& row, unsigned combinations, std::mt19937& random,
                           const std::function<void(std::span<const uint32_t>)>& visit) {
  const std::vector<Field> fields = fields_of(row.encoding);
  const Words rest = rest_of(row);
  for (const Field& field : fields) {
    for (uint32_t value : field.values) {
      Words words = rest;
      words.set(field, value);
      visit(words.word);
    }
  }
  for (unsigned i = 0; i < combinations; ++i) {
    Words words = rest;
    for (const Field& field : fields)
      if (random() % 2) words.set(field, field.values[random() % field.values.size()]);
    visit(words.word);
  }
}

std::string_view why_llvm_refuses(std::span<const uint32_t> words, const Instruction& instruction) {
  const Row& row = *instruction.row;
  const uint32_t word = words[0], fields = words.size() > 1 ? words[1] : 0;
  const uint32_t saddr = bits(fields, 16, 7), resource = bits(fields, 16, 5), sampler = bits(fields, 26, 5);
  switch (row.encoding) {
    case Encoding::ds:
      if (has_unused_ds_field(fields, row))
        return "a VGPR field that the instruction does not use is not zero";
      if (row.operands.empty() && bits(word, 0, 16))
        return "the offset of an instruction without address is not zero";
      break;
    case Encoding::flat:
      if (saddr != isa::code::kNull || bits(fields, 23, 1))
        return "FLAT does not use SADDR and SVE (guide 15.9.1)";
      break;
    case Encoding::global:
      if (bits(fields, 23, 1)) return "GLOBAL does not use SVE (guide 11.2)";
      if (saddr == 0x7f) return "SADDR 127 says that there is none, as NULL does (guide 15.9.1)";
      if (saddr == isa::code::kVccHi) return "the hardware aligns SGPR pairs (guide 3.3.1.3)";
      break;
    case Encoding::scratch:
      if (saddr == 0x7f) return "SADDR 127 says that there is none, as NULL does (guide 15.9.1)";
      break;
    case Encoding::mubuf:
    case Encoding::mtbuf:
      if (row.operands.empty()) return "the cache invalidates use no field";
      if (resource == 26) return "s[104:107] is one region with VCC (guide 3.3.1.4)";
      if (instruction.tfe) return "TFE is a field of all buffer instructions (guide 15.7)";
      if (fields >> 24 == isa::code::kLdsDirect) return "SOFFSET 254: reserved, LLVM prints it with a remark";
      break;
    case Encoding::mimg:
      if (resource == 25 || resource == 26 || resource == 30)
        return "an image resource that leaves its SGPR region is replaced (guide 3.3.1.4)";
      if (sampler == 26) return "s[104:107] is one region with VCC (guide 3.3.1.4)";
      if (sampler && !isa::kImageForms[row.number].has_sampler())
        return "SSAMP is not used without a sampler";
      if (isa::kImageForms[row.number].kind == isa::ImageKind::bvh && bits(word, 12, 3))
        return "the guide does not forbid cache bits in ray intersections (10.9.1)";
      if (default_shape_ends_beyond_v255(fields, isa::kImageForms[row.number]))
        return "LLVM's first guess at the registers ends beyond v255, the real group does not";
      break;
    default:
      break;
  }
  if (ends_beyond_v255(instruction))
    return "a register group that ends beyond v255 is decoded (guide 3.3.2.2)";
  return {};
}

bool crashes_llvm(std::span<const uint32_t> words) {
  if (words.size() < 3 || words[0] >> 26 != 0x3c || !(words[0] & 1)) return false;
  if (isa::kImageForms[bits(words[0], 18, 8)].kind != isa::ImageKind::bvh) return false;
  for (unsigned i = 0; i < 4; ++i)
    if (bits(words[2], 8 * i, 8) > 252) return true;
  return bits(words[1], 0, 8) > 252;
}

}  // namespace lockstep::test

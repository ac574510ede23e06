#include "tests/examples/mutants.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include "isa/instruction.h"
#include "isa/memory_shape.h"
#include "loader/code_object.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::examples {

namespace {

namespace code = isa::code;
using isa::Encoding;
using isa::Instruction;
using isa::Opcode;
using isa::Role;

constexpr uint32_t kNop = 0xbf800000, kCodeEnd = 0xbf9f0000, kBranch = 0xbfa00000;

std::vector<std::byte> bytes_of_words(const std::vector<uint32_t>& words) {
  std::vector<std::byte> bytes(4 * words.size());
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

uint32_t word_at(std::span<const std::byte> bytes, size_t offset) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

std::vector<std::string> split(std::string_view text, std::string_view by) {
  std::vector<std::string> parts;
  for (size_t at; (at = text.find(by)) != text.npos; text.remove_prefix(at + by.size()))
    parts.emplace_back(text.substr(0, at));
  parts.emplace_back(text);
  return parts;
}

// Two bytes' worth of the first dword say where memory instructions reach.
uint32_t with_more_offset(const Instruction& instruction, uint32_t word) {
  const isa::AccessShape& shape = isa::access_shape(instruction.row->opcode);
  // Those of two addresses count in elements.
  return word + (shape.addresses == 2 ? 0x0101u : shape.bytes);
}

struct Place {
  const Instruction& instruction;
  std::string text;
  size_t file_offset;
};

// What makes the mutants of one code object.
class Maker {
 public:
  Maker(std::span<const std::byte> bytes, unsigned wave_size) : bytes_(bytes), wave_size_(wave_size) {
    auto parsed = loader::CodeObject::parse(bytes, "code object");
    if (!parsed) throw std::runtime_error(parsed.error().message());
    object_ = std::make_unique<loader::CodeObject>(std::move(*parsed));
    find_padding();
  }

  std::vector<Mutant> all() {
    for (const loader::Symbol& symbol : object_->symbols()) {
      const loader::Segment* const segment = object_->segment_at(symbol.address);
      if (symbol.kind != loader::SymbolKind::function || !segment || !segment->executable) continue;
      const size_t begin = symbol.address - segment->address + segment->file_offset;
      for (size_t at = begin; at < begin + symbol.size;) {
        Instruction instruction;
        const isa::DecodeError error =
            isa::decode(bytes_.subspan(at, begin + symbol.size - at), wave_size_, instruction);
        if (error == isa::DecodeError::none) {
          char text[isa::kMaxText];
          base_ = {};
          base_.function = symbol.name;
          base_.offset = at - begin;
          base_.instruction = {text, isa::disassemble(instruction, wave_size_, text, sizeof text)};
          visit({instruction, base_.instruction, at});
        }
        at += instruction.size;
      }
    }
    return std::move(mutants_);
  }

 private:
  void visit(const Place& place) {
    without_barrier(place);
    beyond_its_element(place);
    without_initialisation(place);
    not_atomic(place);
    exec_not_saved(place);
    not_waited_for(place);
  }

  void add(Mistake mistake, std::string change, std::vector<Patch> patches) {
    Mutant& made = mutants_.emplace_back(base_);
    made.mistake = mistake;
    made.change = std::move(change);
    made.patches = std::move(patches);
  }
  Patch words(size_t offset, const std::vector<uint32_t>& words) const {
    return {offset, bytes_of_words(words)};
  }
  void remove(Mistake mistake, const Place& place) {
    add(mistake, "deleted",
        {words(place.file_offset, std::vector<uint32_t>(place.instruction.size / 4u, kNop))});
  }
  void replace_first_word(Mistake mistake, const Place& place, std::string change, uint32_t word) {
    add(mistake, std::move(change), {words(place.file_offset, {word})});
  }

  void without_barrier(const Place& place) {
    if (place.instruction.row->opcode == Opcode::s_barrier) remove(Mistake::barrier, place);
  }

  void beyond_its_element(const Place& place) {
    const isa::AccessShape& shape = isa::access_shape(place.instruction.row->opcode);
    if (shape.kind != isa::AccessShape::Kind::store || shape.bytes == 0) return;
    const uint32_t word = with_more_offset(place.instruction, word_at(bytes_, place.file_offset));
    // What does not fit its field goes over into the next one.
    std::vector<std::byte> changed(
        bytes_.begin() + static_cast<ptrdiff_t>(place.file_offset),
        bytes_.begin() + static_cast<ptrdiff_t>(place.file_offset + place.instruction.size));
    std::memcpy(changed.data(), &word, sizeof word);
    Instruction now;
    if (isa::decode(changed, wave_size_, now) != isa::DecodeError::none || now.row != place.instruction.row)
      return;
    const bool is_further = shape.addresses == 2 ? now.offset0 == place.instruction.offset0 + 1 &&
                                                       now.offset1 == place.instruction.offset1 + 1
                                                 : now.offset == place.instruction.offset + shape.bytes;
    if (is_further) replace_first_word(Mistake::store, place, "reaches one element further", word);
  }

  void without_initialisation(const Place& place) {
    const Instruction& instruction = place.instruction;
    const auto is_constant = [](const isa::Operand* operand) {
      return operand && operand->code >= code::kInt0 && operand->code <= code::kLiteral &&
             (operand->code <= code::kIntNegativeLast || operand->code >= code::kFloatHalf) &&
             operand->code != code::kVccz && operand->code != code::kExecz && operand->code != code::kScc;
    };
    const isa::Operand* const destination = instruction.find(Role::dst);
    switch (instruction.row->opcode) {
      case Opcode::v_mov_b32:
        if (instruction.dpp == isa::Dpp::none && is_constant(instruction.find(Role::src0)))
          remove(Mistake::initialisation, place);
        return;
      case Opcode::s_mov_b32:
      case Opcode::s_mov_b64:
        if (!is_constant(instruction.find(Role::src0))) return;
        [[fallthrough]];
      case Opcode::s_movk_i32:
        if (destination && destination->code < code::kVccLo) remove(Mistake::initialisation, place);
        return;
      default:
        break;
    }
    if (isa::access_shape(instruction.row->opcode).kind == isa::AccessShape::Kind::store &&
        (instruction.row->encoding == Encoding::ds || instruction.row->encoding == Encoding::scratch))
      remove(Mistake::initialisation, place);
  }

  void exec_not_saved(const Place& place) {
    const Instruction& instruction = place.instruction;
    const std::string width = wave_size_ == 64 ? "64" : "32", exec = wave_size_ == 64 ? "exec" : "exec_lo";
    const std::string_view name = instruction.row->name;
    const isa::Operand* const destination = instruction.find(Role::dst);
    if (!destination || destination->code >= code::kVccLo) return;
    if (name == "s_mov_b" + width && instruction.find(Role::src0)->code == code::kExecLo)
      return remove(Mistake::exec_save, place);
    for (const std::string operation : {"and", "or", "xor"}) {
      if (name != "s_" + operation + "_saveexec_b" + width) continue;
      const std::string source = split(place.text, ", ").at(1);
      const std::vector<uint32_t> changed =
          assembled("s_" + operation + "_b" + width + " " + exec + ", " + source + ", " + exec, place);
      if (4 * changed.size() == instruction.size)
        add(Mistake::exec_save, "leaves what it saves as it was", {words(place.file_offset, changed)});
    }
  }

  void not_waited_for(const Place& place) {
    const uint32_t word = word_at(bytes_, place.file_offset);
    if (place.instruction.row->opcode == Opcode::s_waitcnt) {
      remove(Mistake::wait, place);
      struct Field {
        const char* name;
        unsigned shift;
        uint32_t greatest;
      };
      for (const Field& field : {Field{"expcnt", 0, 7}, Field{"lgkmcnt", 4, 63}, Field{"vmcnt", 10, 63}})
        if ((word >> field.shift & field.greatest) != field.greatest)
          replace_first_word(Mistake::wait, place, std::string(field.name) + " by one more",
                             word + (1u << field.shift));
    } else if (place.instruction.row->opcode == Opcode::s_waitcnt_vscnt) {
      remove(Mistake::wait, place);
      replace_first_word(Mistake::wait, place, "vscnt by one more", word + 1);
    }
  }

  // What an atomic does, in several instructions: from the value that was there, in `old`, makes the one to
  // store in `result`; empty for what there is no text for. `data` is that of the instruction.
  static std::string computed(std::string_view operation, const isa::Operand& data, const std::string& old,
                              const std::string& result) {
    const std::string first = "v" + std::to_string(data.vgpr());
    for (const std::string_view same :
         {"and_b32", "or_b32", "xor_b32", "min_i32", "max_i32", "min_u32", "max_u32", "add_f32"})
      if (operation == same)
        return "v_" + std::string(same) + " " + result + ", " + old + ", " + first + "\n";
    if (operation == "add_u32" || operation == "sub_u32")
      return "v_" + std::string(operation.substr(0, 3)) + "_nc_u32 " + result + ", " + old + ", " + first +
             "\n";
    if (operation == "swap_b32" || operation == "storexchg_b32")
      return "v_mov_b32 " + result + ", " + first + "\n";
    // All ones where the two differ chooses what was there.
    if (operation == "cmpswap_b32" && data.words == 2)
      return "v_xor_b32 " + result + ", " + old + ", v" + std::to_string(data.vgpr() + 1) + "\nv_min_u32 " +
             result + ", 1, " + result + "\nv_sub_nc_u32 " + result + ", 0, " + result + "\nv_bfi_b32 " +
             result + ", " + result + ", " + old + ", " + first + "\n";
    return {};
  }

  void not_atomic(const Place& place) {
    const Instruction& instruction = place.instruction;
    if (!(instruction.row->flags & isa::kAtomic) || padding_.size < 4) return;
    const bool is_ds = instruction.row->encoding == Encoding::ds;
    std::string_view operation = instruction.row->name;
    const std::string space(operation.substr(0, operation.find('_')));
    operation.remove_prefix(space.size() + 1);
    if (!is_ds) {
      if (!operation.starts_with("atomic_")) return;
      operation.remove_prefix(7);
    }
    const bool returns = is_ds ? operation.find("_rtn") != operation.npos : instruction.glc;
    std::string plain_operation(operation);
    if (const size_t at = plain_operation.find("_rtn"); at != plain_operation.npos)
      plain_operation.erase(at, 4);
    const isa::Operand* const data = instruction.find(Role::data);
    if (!data || !data->is_vgpr() || 8 + vgprs_ > 256) return;
    const std::string old = "v" + std::to_string(vgprs_), result = "v" + std::to_string(vgprs_ + 1);
    const std::string compute = computed(plain_operation, *data, old, result);
    if (compute.empty()) return;
    // "mnemonic [dst, ]address, data[, base] modifiers"
    std::string operands = place.text.substr(place.text.find_first_of(" \t") + 1);
    std::string modifiers;
    for (const std::string_view modifier : {" offset:", " glc", " slc", " dlc"})
      if (const size_t at = operands.find(modifier); at != operands.npos && modifiers.empty()) {
        modifiers = operands.substr(at);
        operands.resize(at);
      }
    for (const std::string_view modifier : {" glc", " slc", " dlc"})
      if (const size_t at = modifiers.find(modifier); at != modifiers.npos)
        modifiers.erase(at, modifier.size());
    std::vector<std::string> parts = split(operands, ", ");
    if (returns) parts.erase(parts.begin());
    if (parts.size() < 2 || parts.size() > 3) return;
    const std::string base = parts.size() == 3 ? ", " + parts[2] : "";
    std::string text = space + "_load_b32 " + old + ", " + parts[0] + base + modifiers +
                       "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n" + compute + space + "_store_b32 " + parts[0] +
                       ", " + result + base + modifiers + "\n";
    if (returns)
      text += "v_mov_b32 v" + std::to_string(instruction.find(Role::dst)->vgpr()) + ", " + old + "\n";
    std::vector<uint32_t> routine = assembled(text, place);
    const auto branch = [](size_t from, size_t to) {
      return kBranch |
             (static_cast<uint32_t>((static_cast<int64_t>(to) - static_cast<int64_t>(from + 4)) / 4) &
              0xffffu);
    };
    routine.push_back(branch(padding_.offset + 4 * routine.size(), place.file_offset + instruction.size));
    if (routine.size() > padding_.size) return;
    std::vector<uint32_t> there(instruction.size / 4u, kNop);
    there[0] = branch(place.file_offset, padding_.offset);
    std::vector<Patch> patches = descriptors_;
    patches.push_back(words(place.file_offset, there));
    patches.push_back(words(padding_.offset, routine));
    add(Mistake::atomic, "a load and a store", std::move(patches));
  }

  std::vector<uint32_t> assembled(const std::string& text, const Place& place) const {
    std::vector<uint32_t> made = interpreter::assembled(text, wave_size_);
    if (made.size() < 2) throw std::runtime_error("cannot be assembled for " + place.text + ":\n" + text);
    made.pop_back();  // s_endpgm
    return made;
  }

  // Room for routines, behind the code, and registers for them.
  void find_padding() {
    for (const loader::Segment& segment : object_->segments()) {
      if (!segment.executable) continue;
      size_t end = segment.file_offset + segment.file_size, at = end;
      while (at >= segment.file_offset + 4 && word_at(bytes_, at - 4) == kCodeEnd) at -= 4;
      padding_ = {at, (end - at) / 4};
    }
    // What the routines use is behind all that any kernel has.
    const unsigned granule = wave_size_ == 64 ? 4 : 8;
    for (const loader::Kernel& kernel : object_->kernels())
      vgprs_ = std::max(vgprs_, (kernel.descriptor.rsrc1.granulated_vgpr_count + 1) * granule);
    for (const loader::Kernel& kernel : object_->kernels()) {
      constexpr size_t kRsrc1 = 48;  // in the descriptor (LLVM AMDGPU usage)
      const loader::Segment& segment = *object_->segment_at(kernel.descriptor_address);
      const size_t at = kernel.descriptor_address - segment.address + segment.file_offset + kRsrc1;
      const uint32_t more = (word_at(bytes_, at) & ~0x3fu) | ((vgprs_ + 8) / granule - 1);
      descriptors_.push_back(words(at, {more}));
    }
  }

  struct Padding {
    size_t offset = 0, size = 0;  // in the file, in dwords
  };

  std::span<const std::byte> bytes_;
  const unsigned wave_size_;
  std::unique_ptr<loader::CodeObject> object_;
  Padding padding_;
  unsigned vgprs_ = 0;
  std::vector<Patch> descriptors_;
  Mutant base_;
  std::vector<Mutant> mutants_;
};

}  // namespace

std::string_view name(Mistake mistake) {
  switch (mistake) {
    case Mistake::barrier:
      return "barrier deleted";
    case Mistake::store:
      return "store one element off";
    case Mistake::initialisation:
      return "initialisation dropped";
    case Mistake::atomic:
      return "atomic made plain";
    case Mistake::exec_save:
      return "EXEC not saved";
    case Mistake::wait:
      return "wait deleted or weakened";
  }
  return "";
}

std::vector<const Mutant*> choose(const std::vector<Mutant>& all, Mistake mistake, size_t most) {
  std::vector<const Mutant*> of_kind, chosen;
  for (const Mutant& mutant : all)
    if (mutant.mistake == mistake) of_kind.push_back(&mutant);
  if (most == 0 || of_kind.size() <= most) return of_kind;
  for (size_t i = 0; i < most; ++i) chosen.push_back(of_kind[i * of_kind.size() / most]);
  return chosen;
}

std::vector<std::byte> Mutant::apply(std::span<const std::byte> code_object) const {
  std::vector<std::byte> bytes(code_object.begin(), code_object.end());
  for (const Patch& patch : patches)
    std::copy(patch.bytes.begin(), patch.bytes.end(), bytes.begin() + static_cast<ptrdiff_t>(patch.offset));
  return bytes;
}

std::vector<Mutant> mutants_of(std::span<const std::byte> code_object, unsigned wave_size) {
  return Maker(code_object, wave_size).all();
}

}  // namespace lockstep::examples

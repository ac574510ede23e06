#include "engine/precise/accesses.h"

#include <algorithm>
#include <bit>

#include "engine/interpreter/dispatch_context.h"
#include "memory/access_modes.h"
#include "memory/buffer_resource.h"
#include "memory/formats.h"
#include "semantics/memory_shape.h"

namespace lockstep::precise {

namespace {

using isa::Encoding;
using isa::Role;

uint32_t lane_of(const Wave& wave, unsigned vgpr, unsigned lane) {
  return const_cast<Wave&>(wave).vgpr(vgpr)[lane];
}

// A VGPR beyond the wave's is VGPR 0 (guide 3.3.2.2).
unsigned vgpr_of(const Wave& wave, const isa::Operand& operand, unsigned word = 0) {
  return operand.vgpr() + word < wave.vgpr_count ? operand.vgpr() + word : 0;
}

uint32_t scalar_of(const Wave& wave, const isa::Instruction& instruction, const isa::Operand* operand) {
  if (!operand || operand->code == isa::code::kNull) return 0;
  return operand->is_literal() ? instruction.literal : wave.scalar[operand->code];
}

struct Transfer {
  uint32_t bytes = 0;
  bool reads = false, writes = false, add_lane_id = false;
  uint8_t format_components = 0;
};

// None for instructions that move no data.
Transfer transfer_of(const isa::Instruction& instruction) {
  const isa::Opcode opcode = instruction.row->opcode;
  if (const auto shape = semantics::access_shape(opcode)) {
    const bool load = shape.kind == semantics::AccessShape::Kind::load;
    return {shape.bytes, load, !load, shape.add_lane_id, shape.format_components};
  }
  if (const auto shape = semantics::atomic_shape(opcode)) return {shape.bytes, true, true, false, 0};
  return {};
}

class Collector {
 public:
  Collector(const Wave& wave, const isa::Instruction& instruction)
      : wave_(wave),
        instruction_(instruction),
        transfer_(transfer_of(instruction)),
        alignment_mode_(interpreter::context_of(&wave)->modes.alignment) {}

  MemoryAccesses collect() {
    if (!transfer_.reads && !transfer_.writes) return {};
    switch (instruction_.row->encoding) {
      case Encoding::smem:
        scalar();
        break;
      case Encoding::flat:
      case Encoding::global:
        each_lane([this](unsigned lane) { global(lane); });
        break;
      case Encoding::scratch:
        each_lane([this](unsigned lane) { scratch(lane, scratch_offset(lane)); });
        break;
      case Encoding::mubuf:
      case Encoding::mtbuf:
        buffers();
        break;
      default:
        break;
    }
    return std::move(result_);
  }

 private:
  template <class Function>
  void each_lane(Function function) {
    for (uint64_t lanes = wave_.exec(); lanes != 0; lanes &= lanes - 1)
      function(static_cast<unsigned>(std::countr_zero(lanes)));
  }

  // As alignment mode DWORD has it; where the others do not take an address nothing is accessed.
  uint64_t aligned(uint64_t address, uint32_t bytes) const {
    return alignment_mode_ == memory::AlignmentMode::dword
               ? address & ~uint64_t{memory::memory_alignment(alignment_mode_, bytes) - 1}
               : address;
  }

  void add(uint64_t address, uint32_t bytes, int lane) {
    result_.all.push_back({address, bytes, lane, transfer_.reads, transfer_.writes});
  }

  void scalar() {
    const isa::Operand* base = instruction_.find(Role::saddr);
    if (!base) base = instruction_.find(Role::resource);
    if (!base || base->code == isa::code::kNull) return;
    const uint64_t offset = (static_cast<uint64_t>(int64_t{instruction_.offset}) +
                             scalar_of(wave_, instruction_, instruction_.find(Role::soffset))) &
                            ~uint64_t{3};
    if (base->words <= 2) {
      add((wave_.scalar64(base->code) & ~uint64_t{3}) + offset, transfer_.bytes, -1);
      return;
    }
    const memory::BufferResource resource = resource_at(*base);
    for (uint32_t at = 0; at < transfer_.bytes; at += 4)
      if (memory::is_scalar_in_range(resource, offset + at))
        add(memory::scalar_buffer_address(resource, offset + at), 4, -1);
  }

  void global(unsigned lane) {
    uint64_t address = static_cast<uint64_t>(int64_t{instruction_.offset});
    const isa::Operand* base = instruction_.find(Role::saddr);
    const bool has_base = base && base->code != isa::code::kNull;
    if (has_base) address += wave_.scalar64(base->code);
    if (transfer_.add_lane_id) {
      address += 4 * lane;
    } else if (const isa::Operand* vgpr = instruction_.find(Role::addr)) {
      address += lane_of(wave_, vgpr_of(wave_, *vgpr), lane);
      if (!has_base) address += uint64_t{lane_of(wave_, vgpr_of(wave_, *vgpr, 1), lane)} << 32;
    }
    if (address >> 32 == kSharedApertureBase >> 32) return;
    if (address >> 32 == kPrivateApertureBase >> 32)
      scratch(lane, static_cast<uint32_t>(address));
    else
      add(aligned(address, transfer_.bytes), transfer_.bytes, static_cast<int>(lane));
  }

  uint32_t scratch_offset(unsigned lane) const {
    uint32_t offset = static_cast<uint32_t>(instruction_.offset) +
                      scalar_of(wave_, instruction_, instruction_.find(Role::saddr));
    if (const isa::Operand* vgpr = instruction_.find(Role::addr))
      offset += lane_of(wave_, vgpr_of(wave_, *vgpr), lane);
    return offset;
  }

  // Dword n of all lanes of a wave lies side by side.
  void scratch(unsigned lane, uint32_t given_offset) {
    const auto offset = static_cast<uint32_t>(aligned(given_offset, transfer_.bytes));
    for (uint32_t done = 0; done < transfer_.bytes;) {
      const uint32_t at = offset + done, part = std::min(4 - at % 4, transfer_.bytes - done);
      add(wave_.scratch_base + uint64_t{at / 4} * wave_.register_bytes + lane * 4 + at % 4, part,
          static_cast<int>(lane));
      done += part;
    }
  }

  memory::BufferResource resource_at(const isa::Operand& operand) const {
    const uint32_t* words = &wave_.scalar[operand.code];
    return memory::decode_buffer_resource({words[0], words[1], words[2], words[3]});
  }

  void buffers() {
    const isa::Operand* operand = instruction_.find(Role::resource);
    if (!operand) return;
    const memory::BufferResource resource = resource_at(*operand);
    const bool typed = instruction_.row->encoding == Encoding::mtbuf;
    const bool is_atomic = transfer_.reads && transfer_.writes;
    if (resource.is_unbound() && !typed && !is_atomic) return;
    const uint32_t sgpr_offset = scalar_of(wave_, instruction_, instruction_.find(Role::soffset));
    const isa::Operand* address = instruction_.find(Role::addr);
    each_lane([&](unsigned lane) {
      unsigned word = 0;
      const uint32_t index =
          instruction_.idxen && address ? lane_of(wave_, vgpr_of(wave_, *address, word++), lane) : 0;
      const uint32_t offset =
          instruction_.offen && address ? lane_of(wave_, vgpr_of(wave_, *address, word), lane) : 0;
      const memory::BufferAccess access =
          memory::buffer_access(resource, index, offset, static_cast<uint32_t>(instruction_.offset), lane);
      uint32_t bytes = transfer_.bytes, step = bytes;
      if (transfer_.format_components != 0)
        bytes = step = memory::data_format(typed ? instruction_.format : resource.format).bytes;
      else if (!is_atomic)
        step = 4;  // checked dword by dword (guide 9.4.1)
      for (uint32_t done = 0; done < bytes; done += step) {
        memory::BufferAccess at = access;
        at.offset += done;
        const uint32_t part = std::min(step, bytes - done);
        if (memory::is_in_range(resource, at, part, sgpr_offset))
          add(aligned(memory::buffer_address(resource, at, sgpr_offset), part), part, static_cast<int>(lane));
        else
          result_.buffer_out_of_bounds = true;
      }
    });
  }

  const Wave& wave_;
  const isa::Instruction& instruction_;
  const Transfer transfer_;
  const memory::AlignmentMode alignment_mode_;
  MemoryAccesses result_;
};

}  // namespace

MemoryAccesses memory_accesses(const Wave& wave, const isa::Instruction& instruction) {
  return Collector(wave, instruction).collect();
}

}  // namespace lockstep::precise

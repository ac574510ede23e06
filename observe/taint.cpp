#include "observe/taint.h"

#include <algorithm>
#include <bit>

#include "isa/effects.h"
#include "memory/buffer_resource.h"
#include "state/work_group.h"

namespace lockstep::observe {

namespace {

namespace code = isa::code;
using isa::Encoding;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Role;

constexpr uint64_t kLine = 64;

bool is_memory(Encoding encoding) {
  switch (encoding) {
    case Encoding::smem:
    case Encoding::ldsdir:
    case Encoding::ds:
    case Encoding::flat:
    case Encoding::global:
    case Encoding::scratch:
    case Encoding::mubuf:
    case Encoding::mtbuf:
      return true;
    default:
      return false;
  }
}

bool is_address(Role role) {
  return role == Role::addr || role == Role::saddr || role == Role::resource || role == Role::soffset;
}

bool is_16_bit(isa::Type type) {
  return type == isa::Type::b16 || type == isa::Type::u16 || type == isa::Type::i16 ||
         type == isa::Type::f16 || type == isa::Type::bf16;
}

// How far M0 moves the source and the destination (guide 6.5, 7.10; state/wave.h has M0's value).
struct Shift {
  unsigned source = 0, destination = 0;
};
Shift relative(Opcode opcode, uint32_t m0) {
  const unsigned low = m0 & 0x3ff, high = m0 >> 16 & 0x3ff;
  switch (opcode) {
    case Opcode::s_movrels_b32:
    case Opcode::s_movrels_b64:
    case Opcode::v_movrels_b32:
      return {m0, 0};
    case Opcode::s_movreld_b32:
    case Opcode::s_movreld_b64:
    case Opcode::v_movreld_b32:
      return {0, m0};
    case Opcode::v_movrelsd_b32:
      return {m0, m0};
    case Opcode::s_movrelsd_2_b32:
    case Opcode::v_movrelsd_2_b32:
    case Opcode::v_swaprel_b32:
      return {low, high};
    default:
      return {};
  }
}

uint32_t scalar_value(const Wave& wave, const Operand& operand, const Instruction& instruction) {
  if (operand.is_literal()) return instruction.literal;
  if (operand.code == code::kNull || operand.code > code::kLiteral) return 0;
  return wave.scalar[operand.code];
}

uint32_t vgpr_value(const Wave& wave, unsigned number, unsigned lane) {
  return number < kMaxVgprs
             ? reinterpret_cast<const uint32_t*>(wave.vgprs + size_t{number} * wave.register_bytes)[lane]
             : 0;
}

// Calls `access(lane, address)` for the addresses of every active lane of a FLAT, GLOBAL, MUBUF or MTBUF
// instruction, and once for SMEM.
template <class Access>
void for_each_address(const Wave& wave, const Instruction& instruction, Access access) {
  const Operand* addr = instruction.find(Role::addr);
  const Operand* base = instruction.find(Role::saddr);
  const Operand* resource = instruction.find(Role::resource);
  const Operand* soffset = instruction.find(Role::soffset);
  const uint32_t offset = soffset ? scalar_value(wave, *soffset, instruction) : 0;
  const bool has_base = base && base->code != code::kNull && base->code < code::kNull;
  const auto immediate = static_cast<uint64_t>(int64_t{instruction.offset});
  const uint64_t base_value = has_base ? wave.scalar64(base->code) : 0;
  memory::BufferResource buffer;
  if (resource && resource->code + 3 < code::kNull)
    buffer =
        memory::decode_buffer_resource({wave.scalar[resource->code], wave.scalar[resource->code + 1],
                                        wave.scalar[resource->code + 2], wave.scalar[resource->code + 3]});
  if (instruction.row->encoding == Encoding::smem) {
    if (resource)
      access(memory::scalar_buffer_address(buffer, offset + immediate));
    else
      access(base_value + offset + immediate);
    return;
  }
  for (uint64_t lanes = wave.exec(); lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (resource) {
      unsigned next = addr && addr->is_vgpr() ? addr->vgpr() : 0;
      const uint32_t index = instruction.idxen ? vgpr_value(wave, next++, lane) : 0;
      const uint32_t in_lane = instruction.offen ? vgpr_value(wave, next, lane) : 0;
      access(memory::buffer_address(
          buffer,
          memory::buffer_access(buffer, index, in_lane, static_cast<uint32_t>(instruction.offset), lane),
          offset));
    } else {
      uint64_t address = base_value + immediate;
      if (addr && addr->is_vgpr()) {
        address += vgpr_value(wave, addr->vgpr(), lane);
        if (!has_base) address += uint64_t{vgpr_value(wave, addr->vgpr() + 1, lane)} << 32;
      }
      access(address);
    }
  }
}

// The same for LDS. False if the addresses do not stand in a VGPR.
template <class Access>
bool for_each_lds_address(const Wave& wave, const Instruction& instruction, Access access) {
  const Operand* addr = instruction.find(Role::addr);
  if (!addr || !addr->is_vgpr() || instruction.row->encoding != Encoding::ds ||
      instruction.row->opcode == Opcode::ds_bvh_stack_rtn_b32)
    return false;
  uint32_t offsets[2] = {static_cast<uint32_t>(instruction.offset), 0};
  unsigned count = 1;
  if (instruction.row->flags & isa::kTwoAddresses) {
    const Operand* data = instruction.find(Role::data);
    const unsigned words = data ? data->words : instruction.find(Role::dst)->words / 2u;
    const bool far = isa::name(instruction.row->opcode).find("stride64") != std::string_view::npos;
    const uint32_t unit = words * 4 * (far ? 64 : 1);
    offsets[0] = instruction.offset0 * unit;
    offsets[1] = instruction.offset1 * unit;
    count = 2;
  }
  for (uint64_t lanes = wave.exec(); lanes != 0; lanes &= lanes - 1)
    for (unsigned i = 0; i < count; ++i)
      access(uint64_t{vgpr_value(wave, addr->vgpr(), static_cast<unsigned>(std::countr_zero(lanes)))} +
             offsets[i]);
  return true;
}

}  // namespace

Sources Taint::Lines::read(uint64_t address, uint64_t bytes) const {
  Sources sources = everywhere;
  for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line)
    if (const auto found = lines.find(line); found != lines.end()) sources |= found->second;
  return sources;
}

void Taint::Lines::write(uint64_t address, uint64_t bytes, Sources sources) {
  for (uint64_t line = address / kLine; line <= (address + bytes - 1) / kLine; ++line) lines[line] |= sources;
  all |= sources;
}

Taint::Registers& Taint::registers_of(const Wave& wave) {
  Registers& registers = registers_[&wave];
  const uint64_t group = wave.group ? wave.group->number : 0;
  if (registers.group != group) registers = Registers{group, {}, {}, 0, 0};
  return registers;
}

Taint::Lds& Taint::lds_of(const Wave& wave) {
  Lds& lds = lds_[wave.group];
  const uint64_t group = wave.group ? wave.group->number : 0;
  if (lds.group != group) {
    lds = Lds{};
    lds.group = group;
  }
  return lds;
}

Sources Taint::read(const Registers& registers, const Operand& operand, unsigned shift) const {
  if (operand.role == Role::simm || operand.is_literal()) return 0;
  Sources sources = 0;
  if (operand.is_vgpr()) {
    for (unsigned i = 0; i < operand.words; ++i)
      if (const unsigned number = operand.vgpr() + shift + i; number < kMaxVgprs)
        sources |= registers.vgpr[number];
    return sources;
  }
  if (operand.code == code::kScc) return registers.scc;
  if (operand.code == code::kVccz) return registers.scalar[code::kVccLo] | registers.scalar[code::kVccHi];
  if (operand.code == code::kExecz) return registers.scalar[code::kExecLo] | registers.scalar[code::kExecHi];
  if (operand.code >= kScalars || operand.code == code::kNull) return 0;
  for (unsigned i = 0; i < operand.words; ++i)
    if (const unsigned number = operand.code + shift + i; number < kScalars)
      sources |= registers.scalar[number];
  return sources;
}

void Taint::write(Registers& registers, const Operand& operand, unsigned shift, bool partly,
                  Sources sources) {
  const bool vector = operand.is_vgpr();
  if (!vector && (operand.code >= kScalars || operand.code == code::kNull)) return;
  for (unsigned i = 0; i < operand.words; ++i) {
    const unsigned number = (vector ? operand.vgpr() : operand.code) + shift + i;
    if (number >= (vector ? kMaxVgprs : kScalars)) return;
    Sources& held = vector ? registers.vgpr[number] : registers.scalar[number];
    held = (vector && partly ? held : 0) | sources;
  }
}

Taint::Use Taint::follow(const Wave& wave, const Instruction& instruction, Sources own, Sources own_y) {
  Registers& registers = registers_of(wave);
  if (is_memory(instruction.row->encoding)) return follow_memory(wave, registers, instruction, own);
  return follow_computation(wave, registers, instruction, own, own_y);
}

Taint::Use Taint::follow_computation(const Wave& wave, Registers& registers, const Instruction& instruction,
                                     Sources own, Sources own_y) {
  const isa::Row& row = *instruction.row;
  const Shift shift = relative(row.opcode, wave.scalar[code::kM0]);
  const unsigned halves = instruction.row_y ? 2 : 1;
  const unsigned bounds[3] = {0, halves == 2 ? instruction.first_y_operand : instruction.operand_count,
                              instruction.operand_count};
  Sources results[2] = {own, own_y};
  uint32_t implicit = isa::implicit_reads(instruction);
  if (instruction.row_y) implicit |= instruction.row_y->implicit_reads;
  // EXEC is data for the scalar unit; for the vector unit it is control.
  if (!isa::is_scalar_alu(row.encoding)) implicit &= ~isa::kExec;
  Sources implied = 0;
  if (implicit & isa::kScc) implied |= registers.scc;
  if (implicit & isa::kVcc) implied |= registers.scalar[code::kVccLo] | registers.scalar[code::kVccHi];
  if (implicit & isa::kExec) implied |= registers.scalar[code::kExecLo] | registers.scalar[code::kExecHi];
  if (implicit & isa::kM0) implied |= registers.scalar[code::kM0];
  // Both halves of VOPD read before either writes.
  for (unsigned half = 0; half < halves; ++half) {
    results[half] |= implied;
    for (unsigned i = bounds[half]; i < bounds[half + 1]; ++i) {
      const Operand& operand = instruction.operands[i];
      if (operand.read)
        results[half] |=
            read(registers, operand, operand.role == Role::dst ? shift.destination : shift.source);
    }
  }
  Use use;
  const bool partly = wave.exec() != wave.lane_mask || instruction.dpp != isa::Dpp::none ||
                      row.opcode == Opcode::v_writelane_b32;
  for (unsigned half = 0; half < halves; ++half)
    for (unsigned i = bounds[half]; i < bounds[half + 1]; ++i) {
      const Operand& operand = instruction.operands[i];
      if (!operand.written) continue;
      write(registers, operand, operand.role == Role::dst ? shift.destination : shift.source,
            partly || is_16_bit(operand.type), results[half]);
      if (operand.code == code::kExecLo || operand.code == code::kExecHi) use.branch |= results[half];
    }
  const uint32_t writes = isa::implicit_writes(instruction);
  if (writes & isa::kScc) registers.scc = results[0];
  if (writes & isa::kVcc) registers.scalar[code::kVccLo] = registers.scalar[code::kVccHi] = results[0];
  if (writes & isa::kExec) {
    registers.scalar[code::kExecLo] = registers.scalar[code::kExecHi] = results[0];
    use.branch |= results[0];
  }
  if (row.flags & isa::kBranch) use.branch |= results[0];
  return use;
}

Taint::Use Taint::follow_memory(const Wave& wave, Registers& registers, const Instruction& instruction,
                                Sources own) {
  const isa::Row& row = *instruction.row;
  const uint32_t reads = isa::implicit_reads(instruction), writes = isa::implicit_writes(instruction);
  Use use;
  Sources data = 0;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    if (!operand.read) continue;
    (is_address(operand.role) ? use.address : data) |= read(registers, operand, 0);
  }
  if (reads & isa::kM0) use.address |= registers.scalar[code::kM0];
  const bool is_flat = row.encoding == Encoding::flat;
  const bool loads = row.flags & (isa::kLoad | isa::kAtomic),
             stores = row.flags & (isa::kStore | isa::kAtomic);
  // Lane exchanges through the LDS hardware touch no LDS.
  const bool exchanges =
      row.encoding == Encoding::ds && (row.flags & isa::kCrossLane) && !(row.flags & isa::kAtomic);
  // A permutation's lane selection is data as much as an address.
  Sources result = own | data | use.address;
  if (exchanges) use.address = 0;
  uint64_t bytes = 4;
  for (const Role role : {Role::dst, Role::data, Role::data2})
    if (const Operand* operand = instruction.find(role))
      bytes = std::max<uint64_t>(bytes, operand->words * 4u);

  Lds& lds = lds_of(wave);
  auto in_lds = [&](uint64_t address) { return is_flat && address >> 32 == kSharedApertureBase >> 32; };
  auto in_scratch = [&](uint64_t address) { return is_flat && address >> 32 == kPrivateApertureBase >> 32; };
  const bool global = (reads | writes) & isa::kMemory;
  if (loads && !exchanges) {
    if (((reads & isa::kLds) && row.encoding != Encoding::flat) || row.encoding == Encoding::ldsdir)
      if (!for_each_lds_address(wave, instruction,
                                [&](uint64_t address) { result |= lds.read(address, bytes); }))
        result |= lds.all | lds.everywhere;
    if (row.encoding == Encoding::scratch) result |= registers.scratch;
    if (global && (memory_.all | lds.all | registers.scratch))
      for_each_address(wave, instruction, [&](uint64_t address) {
        if (in_lds(address))
          result |= lds.read(address & 0xffffffff, bytes);
        else if (in_scratch(address))
          result |= registers.scratch;
        else
          result |= memory_.read(address, bytes);
      });
  }
  if (stores && !exchanges) {
    // What an atomic leaves in memory depends on what was there.
    const Sources stored = own | data | (row.flags & isa::kAtomic ? result : 0);
    if (row.encoding == Encoding::scratch) registers.scratch |= stored;
    if ((writes & isa::kLds) && !is_flat && stored)
      if (!for_each_lds_address(wave, instruction,
                                [&](uint64_t address) { lds.write(address, bytes, stored); }))
        lds.everywhere |= stored;
    if (global && stored)
      for_each_address(wave, instruction, [&](uint64_t address) {
        if (in_lds(address)) {
          lds.write(address & 0xffffffff, bytes, stored);
        } else if (in_scratch(address)) {
          registers.scratch |= stored;
        } else {
          memory_.write(address, bytes, stored);
          use.memory |= stored;
        }
      });
  }
  if (row.flags & isa::kToLds) lds.everywhere |= result;
  const bool partly = wave.exec() != wave.lane_mask || row.encoding == Encoding::ldsdir;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = instruction.operands[i];
    if (operand.written) write(registers, operand, 0, partly || is_16_bit(operand.type), result);
  }
  return use;
}

}  // namespace lockstep::observe

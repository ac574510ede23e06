// What memory instructions do with values that nobody has written.
#include <algorithm>
#include <bit>
#include <string_view>

#include "isa/memory_shape.h"
#include "observe/same_place.h"
#include "observe/stored_data.h"
#include "observe/uninitialised/uninitialised_checker.h"

namespace lockstep::observe {

namespace {

namespace code = isa::code;
using isa::AccessShape;
using isa::Encoding;
using isa::RegisterUse;
using isa::Role;

constexpr uint32_t kMostScratch = uint32_t{1} << 20;  // dwords of a lane that are followed

}  // namespace

void UninitialisedChecker::follow_memory(const Event& event, const Known& facts, WaveShadow& shadow) {
  const isa::Row& row = *event.instruction.row;
  const uint64_t lanes = event.wave.exec();
  const bool does_something = lanes != 0 || row.encoding == Encoding::smem;
  for (const RegisterUse& use : facts.effects.reads) {
    const bool is_implied = use.operand == RegisterUse::kImplied;
    if (!does_something ||
        (is_implied ? use.has_exec() : !is_address(event.instruction.operands[use.operand].role)))
      continue;
    const unsigned unwritten = first_unwritten(shadow, use, lanes);
    if (unwritten == kNone) continue;
    tell(event, "an uninitialised value is part of an address", shadow.origin(unwritten),
         use.is_vgpr() ? shadow.lanes(unwritten - code::kVgpr0) & lanes : 0, nullptr);
    forget(shadow, use, lanes);
  }
  const AccessShape& shape = isa::access_shape(row.opcode);
  load(event, facts, shadow);
  if (shape.writes() || shape.to_lds) store(event, facts, shadow);
}

Unwritten* UninitialisedChecker::cell(WaveShadow& shadow, const MemoryAccess& access, uint32_t offset,
                                      bool make) {
  const uint64_t dword = (access.address + offset) / 4;
  switch (access.space) {
    case MemorySpace::lds:
      return dword < group_lds_->dwords() ? &group_lds_->touch(dword) : nullptr;
    case MemorySpace::scratch:
      return access.lane >= 0 && dword < kMostScratch ? &shadow.scratch(static_cast<uint32_t>(dword + 1))
                                                             .touch(dword, static_cast<unsigned>(access.lane))
                                                      : nullptr;
    case MemorySpace::global:
    case MemorySpace::scalar: {
      if (make) return &memory_[dword];
      if (memory_.empty()) return nullptr;
      const auto found = memory_.find(dword);
      return found == memory_.end() ? nullptr : &found->second;
    }
    case MemorySpace::gds:
      return nullptr;
  }
  return nullptr;
}

const Unwritten* UninitialisedChecker::find(WaveShadow& shadow, const MemoryAccess& access, uint32_t offset) {
  const uint64_t dword = (access.address + offset) / 4;
  switch (access.space) {
    case MemorySpace::lds:
      return dword < group_lds_->dwords() ? group_lds_->find(dword) : nullptr;
    case MemorySpace::scratch:
      return access.lane >= 0 && dword < kMostScratch ? shadow.scratch(static_cast<uint32_t>(dword + 1))
                                                            .find(dword, static_cast<unsigned>(access.lane))
                                                      : nullptr;
    default:
      return cell(shadow, access, offset, false);
  }
}

std::optional<UninitialisedChecker::Rows> UninitialisedChecker::rows_of(const Event& event,
                                                                        const Known& facts) {
  const AlikeAccesses* const alike = event.accesses.alike();
  if (!facts.is_uniform || !alike || (alike->first | alike->end) % 4 != 0 ||
      alike->end > uint64_t{kMostScratch} * 4)
    return std::nullopt;
  return Rows{static_cast<uint32_t>(alike->first / 4), static_cast<uint32_t>(alike->end / 4)};
}

bool UninitialisedChecker::reads_unwritten(const Event& event, const Known& facts, WaveShadow& shadow) {
  if (facts.is_global && memory_.empty()) return false;
  const bool is_of_lds = event.instruction.row->encoding == isa::Encoding::ds && !event.instruction.gds;
  if (is_of_lds && !group_lds_->may_lack()) return false;
  if (const auto rows = rows_of(event, facts)) {
    const MemoryShadow& scratch = shadow.scratch(rows->end);
    bool may_lack = false;
    for (uint32_t dword = rows->first; dword < rows->end; ++dword)
      may_lack |= scratch.may_lack(dword, event.wave.exec());
    if (!may_lack) return false;
  }
  if (const AlikeAccesses* const alike = event.accesses.alike()) {
    if (alike->space == MemorySpace::global && memory_.empty()) return false;
    if (alike->space == MemorySpace::lds &&
        !group_lds_->may_lack_between(alike->first / 4, (alike->end + 3) / 4))
      return false;
  }
  const size_t of_a_lane = accesses_of_a_lane(event.accesses);
  for (size_t index = 0; index < event.accesses.size(); ++index) {
    const MemoryAccess& access = event.accesses[index];
    const bool is_shared = access.space == MemorySpace::global || access.space == MemorySpace::scalar;
    if (is_shared && memory_.empty()) continue;
    if (repeats_another(event.accesses, index, of_a_lane)) continue;
    if (access.space == MemorySpace::lds) {
      if (!group_lds_->may_lack()) continue;
      const uint64_t end = std::min<uint64_t>((access.address + access.bytes + 3) / 4, group_lds_->dwords());
      for (uint64_t dword = access.address / 4; dword < end; ++dword)
        if (group_lds_->find(dword)) return true;
      continue;
    }
    for (uint32_t byte = 0; byte < access.bytes; byte += 4 - (access.address + byte) % 4)
      if (const Unwritten* const held = find(shadow, access, byte); held && held->bits != 0) return true;
  }
  return false;
}

void UninitialisedChecker::load(const Event& event, const Known& facts, WaveShadow& shadow) {
  const AccessShape& shape = isa::access_shape(event.instruction.row->opcode);
  const uint64_t lanes = event.wave.exec();
  const bool is_low = shape.part == isa::RegisterPart::low_half,
             is_high = shape.part == isa::RegisterPart::high_half;
  for (const RegisterUse& use : facts.effects.writes) {
    if (!use.is_partial || !use.is_vgpr()) {
      forget(shadow, use, lanes);
      continue;
    }
    for (unsigned number = use.first; number < use.end(); ++number)
      for (uint64_t left = shadow.lanes(number - code::kVgpr0) & lanes; left != 0; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        shadow.set_vgpr(number - code::kVgpr0, lane,
                        shadow.vgpr(number - code::kVgpr0, lane) & (is_low ? 0xffff0000u : 0xffffu));
      }
  }
  const isa::Operand* const destination = event.instruction.find(Role::dst);
  if (!destination || !destination->written || !shape || shape.format_components != 0 || shape.to_lds) return;
  if (!reads_unwritten(event, facts, shadow)) return;
  if (shape.part == isa::RegisterPart::whole && destination->is_vgpr() &&
      shape.bytes == 4 * destination->words)
    if (const auto rows = rows_of(event, facts)) return load_rows(event, *destination, *rows, shadow);
  uint32_t done = 0;  // bytes of the lane's data before this access
  for (size_t i = 0; i < event.accesses.size(); ++i) {
    const MemoryAccess& access = event.accesses[i];
    if (i == 0 || event.accesses[i - 1].lane != access.lane)
      done = 0;
    else
      done += shape.addresses == 2 ? 4 * shape.registers() : event.accesses[i - 1].bytes;
    if (!access.reads || access.reach == Reach::dropped || access.reach == Reach::refused) continue;
    for (uint32_t byte = 0; byte < access.bytes;) {
      const uint32_t shift = static_cast<uint32_t>(access.address + byte) % 4 * 8;
      const uint32_t count = std::min(4 - shift / 8, access.bytes - byte);
      const Unwritten* const held = find(shadow, access, byte);
      uint32_t bits = held ? held->bits >> shift : 0;
      if (count < 4) bits &= (1u << 8 * count) - 1;
      if (bits != 0) {
        uint32_t to = (done + byte) % 4 * 8;
        if (is_high) to += 16;
        const uint32_t top = access.bytes < 4 ? 1u << (8 * access.bytes - 1) : 0;
        if (shape.sign_extend && bits & top) bits |= is_low || is_high ? 0xffffu & ~(top - 1) : ~(top - 1);
        const unsigned number = destination->code + (done + byte) / 4;
        if (number >= code::kVgpr0 && access.lane >= 0) {
          const unsigned vgpr = number - code::kVgpr0, lane = static_cast<unsigned>(access.lane);
          if (vgpr < event.wave.vgpr_count) shadow.set_vgpr(vgpr, lane, shadow.vgpr(vgpr, lane) | bits << to);
        } else if (number < code::kInt0) {
          shadow.set_scalar(number, shadow.scalar(number) | bits << to);
        }
        if (number < 2 * kMaxVgprs) shadow.origin(number) = held->origin;
      }
      byte += count;
    }
  }
}

void UninitialisedChecker::load_rows(const Event& event, const isa::Operand& to, const Rows& rows,
                                     WaveShadow& shadow) {
  MemoryShadow& scratch = shadow.scratch(rows.end);
  for (uint32_t dword = rows.first; dword < rows.end; ++dword) {
    const unsigned vgpr = to.vgpr() + (dword - rows.first);
    if (vgpr >= event.wave.vgpr_count) return;
    for (uint64_t left = scratch.lacking(dword, event.wave.exec()); left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      const Unwritten* const held = scratch.find(dword, lane);
      if (!held) continue;
      shadow.set_vgpr(vgpr, lane, held->bits);
      shadow.origin(code::kVgpr0 + vgpr) = held->origin;
    }
  }
}

void UninitialisedChecker::store_rows(const Event& event, const isa::Operand& from, const Rows& rows,
                                      WaveShadow& shadow) {
  MemoryShadow& scratch = shadow.scratch(rows.end);
  const uint64_t lanes = event.wave.exec();
  for (uint32_t dword = rows.first; dword < rows.end; ++dword) {
    const unsigned vgpr = from.vgpr() + (dword - rows.first);
    const uint64_t unwritten = shadow.lanes(vgpr) & lanes;
    const Origin& origin = shadow.origin(code::kVgpr0 + vgpr);
    scratch.give_values(dword, lanes & ~unwritten);
    for (uint64_t left = unwritten; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      scratch.touch(dword, lane) = {shadow.vgpr(vgpr, lane), origin};
    }
  }
}

void UninitialisedChecker::give_values(const Event& event, const Known& facts, WaveShadow& shadow) {
  if (const auto rows = rows_of(event, facts)) {
    for (uint32_t dword = rows->first; dword < rows->end; ++dword)
      shadow.scratch(rows->end).give_values(dword, event.wave.exec());
    return;
  }
  if (const AlikeAccesses* const alike = event.accesses.alike(); alike && alike->space == MemorySpace::lds) {
    if (!group_lds_->may_lack()) return;
    if ((alike->first | alike->bytes) % 4 == 0 && alike->is_consecutive())
      return group_lds_->give_values_between(alike->first / 4, alike->end / 4);
  }
  for (const MemoryAccess& access : event.accesses) {
    if (!access.writes || access.reach == Reach::dropped || access.reach == Reach::refused) continue;
    for (uint32_t byte = 0; byte < access.bytes;) {
      const uint64_t at = access.address + byte;
      const uint32_t shift = static_cast<uint32_t>(at) % 4 * 8;
      const uint32_t count = std::min(4 - shift / 8, access.bytes - byte);
      if (count == 4 && access.space == MemorySpace::lds) {
        if (at / 4 < group_lds_->dwords()) group_lds_->give_value(at / 4);
      } else if (Unwritten* const held = cell(shadow, access, byte, false)) {
        held->bits &= count < 4 ? ~(((1u << 8 * count) - 1) << shift) : 0;
      }
      byte += count;
    }
  }
}

void UninitialisedChecker::store(const Event& event, const Known& facts, WaveShadow& shadow) {
  const isa::Instruction& instruction = event.instruction;
  const AccessShape& shape = isa::access_shape(instruction.row->opcode);
  const isa::Operand* const data = instruction.find(Role::data);
  const uint64_t lanes = event.wave.exec();
  const bool is_atomic = shape.kind == AccessShape::Kind::atomic;
  // Leaves the data, whatever was there.
  const std::string_view name = instruction.row->name;
  const bool is_swap = is_atomic && (name.find("storexchg") != name.npos ||
                                     (name.find("swap") != name.npos && name.find("cmp") == name.npos));
  // What the data of each lane has: nothing without a value, something, or nothing else.
  uint64_t some = 0, all = lanes, computed = 0;
  Origin origin;
  if (data && data->is_vgpr())
    for (unsigned word = 0; word < data->words; ++word) {
      const unsigned vgpr = data->vgpr() + word;
      if (vgpr >= event.wave.vgpr_count) break;
      uint64_t here = 0, whole = 0;
      const uint32_t used = shape.bytes == 1 ? 0xffu << (shape.part == isa::RegisterPart::high_half ? 16 : 0)
                            : shape.bytes != 2                           ? ~0u
                            : shape.part == isa::RegisterPart::high_half ? 0xffff0000u
                                                                         : 0xffffu;
      for (uint64_t left = shadow.lanes(vgpr) & lanes; left != 0; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const uint32_t bits = shadow.vgpr(vgpr, lane) & used;
        if (bits != 0) here |= uint64_t{1} << lane;
        if (bits == used) whole |= uint64_t{1} << lane;
      }
      if (here != 0 && some == 0) origin = shadow.origin(data->code + word);
      if (here != 0 && shadow.origin(data->code + word).is_computed) {
        computed |= here;
        origin = shadow.origin(data->code + word);
      }
      some |= here;
      all &= whole;
    }
  else
    all = 0;
  // Most of what is stored has a value, and goes where everything has.
  const auto is_shared = [](const auto& access) { return access.space == MemorySpace::global; };
  const AlikeAccesses* const alike = event.accesses.alike();
  if (some == 0 && memory_.empty() &&
      (facts.is_global ||
       (alike ? is_shared(*alike) : std::all_of(event.accesses.begin(), event.accesses.end(), is_shared))))
    return;
  if (some == 0 && !is_atomic && memory_.empty()) return give_values(event, facts, shadow);
  if (data && data->is_vgpr() && shape.kind == AccessShape::Kind::store && shape.bytes == 4 * data->words &&
      data->vgpr() + data->words <= event.wave.vgpr_count)
    if (const auto rows = rows_of(event, facts)) return store_rows(event, *data, *rows, shadow);
  const uint64_t bad = is_atomic ? some : computed | (all & some);
  const MemoryAccess* first_bad = nullptr;
  for (size_t i = 0; i < event.accesses.size(); ++i) {
    const MemoryAccess& access = event.accesses[i];
    if (!access.writes || access.reach == Reach::dropped || access.reach == Reach::refused) continue;
    const bool is_global = access.space == MemorySpace::global;
    const bool has_some = access.lane >= 0 && some >> access.lane & 1;
    if (is_global && access.lane >= 0 && bad >> access.lane & 1) {
      if (!first_bad) first_bad = &access;
      continue;
    }
    if (is_global && !has_some && memory_.empty()) continue;
    StoreSource source;
    const bool is_followed = has_some && !is_atomic && find_store_source(event, i, source);
    for (uint32_t byte = 0; byte < access.bytes;) {
      const uint32_t shift = static_cast<uint32_t>(access.address + byte) % 4 * 8;
      const uint32_t count = std::min(4 - shift / 8, access.bytes - byte);
      const uint32_t mask = count < 4 ? ((1u << 8 * count) - 1) << shift : ~0u;
      uint32_t bits = 0;
      Origin from;
      if (is_followed)
        for (uint32_t each = 0; each < count; ++each) {
          const unsigned at = source.skip + byte + each, vgpr = source.vgpr + at / 4;
          const uint32_t unwritten =
              shadow.vgpr(vgpr, static_cast<unsigned>(access.lane)) >> at % 4 * 8 & 0xff;
          if (unwritten != 0) from = shadow.origin(code::kVgpr0 + vgpr);
          bits |= unwritten << (shift + 8 * each);
        }
      if (Unwritten* const held = cell(shadow, access, byte, is_global && bits != 0)) {
        if (is_swap) {
          held->bits = has_some ? held->bits | mask : held->bits & ~mask;
          if (has_some) held->origin = origin;
        } else if (is_atomic && (held->bits & mask || has_some)) {
          // The result depends on what was there, or on the data.
          if (!(held->bits & mask)) held->origin = origin;
          held->bits |= mask;
          held->origin.is_computed = true;
        } else if (!is_atomic) {
          held->bits = (held->bits & ~mask) | bits;
          if (bits != 0) held->origin = from;
        }
      }
      byte += count;
    }
  }
  if (first_bad) {
    tell(event, "an uninitialised value is stored to memory", origin, bad, first_bad);
    for (unsigned word = 0; word < data->words; ++word)
      if (data->vgpr() + word < event.wave.vgpr_count) shadow.clear_lanes(data->vgpr() + word, bad);
  }
}

}  // namespace lockstep::observe

#include "observe/uninitialised/uninitialised_checker.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <string_view>

#include "engine/register_effects.h"
#include "engine/scalar_operand.h"
#include "isa/memory_shape.h"
#include "isa/row_facts.h"
#include "observe/same_place.h"
#include "observe/stored_data.h"
#include "text/hex.h"

namespace lockstep::observe {

namespace {

namespace code = isa::code;
using isa::AccessShape;
using isa::Encoding;
using isa::RegisterUse;
using isa::Role;

constexpr unsigned kNone = 0xffff;

// Lane exchanges through the LDS hardware touch no LDS.
bool is_exchange(const isa::Row& row) {
  return row.encoding == Encoding::ds && row.flags & isa::kCrossLane && !(row.flags & isa::kAtomic);
}

bool is_address(Role role) {
  return role == Role::addr || role == Role::saddr || role == Role::resource || role == Role::soffset;
}

bool is_exec(const RegisterUse& use) {
  return use.first <= code::kExecHi && use.end() > code::kExecLo;
}

// What moves bits, whole or in part, and computes nothing with them.
bool moves_bits(std::string_view name) {
  for (const std::string_view part :
       {"_mov",     "cndmask",  "readlane", "readfirstlane", "writelane", "permute", "swizzle",
        "permlane", "swap",     "_and",     "_or",           "_xor",      "_not",    "_lshl_b",
        "_lshr_b",  "_lshlrev", "_lshrrev", "lshl_or",       "_alignb",   "_perm_",  "_bfi",
        "_bfe",     "_bfm",     "_pack",    "cselect",       "cmov",      "saveexec"})
    if (name.find(part) != name.npos) return true;
  return false;
}

std::string text_of(const Origin& origin) {
  std::string text;
  switch (origin.kind) {
    case Origin::Kind::none:
      return "nothing has written it";
    case Origin::Kind::vgpr:
      text = isa::name(isa::RegisterRange{static_cast<uint16_t>(code::kVgpr0 + origin.number), 1});
      break;
    case Origin::Kind::scalar:
      text = isa::name(isa::RegisterRange{static_cast<uint16_t>(origin.number), 1});
      break;
    case Origin::Kind::lds:
      text = "LDS offset " + hex(origin.number);
      break;
    case Origin::Kind::scratch:
      text = "scratch offset " + hex(origin.number);
      break;
  }
  return text + " was never written" + (origin.is_computed ? ", and this was computed with it" : "");
}

}  // namespace

UninitialisedChecker::UninitialisedChecker(Findings& findings)
    : findings_(findings), id_([] {
        static std::atomic<uint64_t> last{0};
        return ++last;
      }()) {}

bool UninitialisedChecker::Plain::add(const isa::RegisterUses& uses, bool are_vgprs) {
  for (const RegisterUse& use : uses) {
    if (use.is_vgpr() != are_vgprs) continue;
    if (all + use.count > kMost) return false;
    for (unsigned number = use.first; number < use.end(); ++number) {
      if (!are_vgprs && number >= WaveShadow::kScalars) continue;
      numbers[all++] = static_cast<uint16_t>(are_vgprs ? number - code::kVgpr0 : number);
    }
  }
  return true;
}

bool UninitialisedChecker::Plain::add(const isa::RegisterEffects& effects) {
  if (!add(effects.reads, true)) return false;
  read_vgprs = all;
  if (!add(effects.reads, false)) return false;
  read = all;
  if (!add(effects.writes, true)) return false;
  written_vgprs = all;
  return add(effects.writes, false);
}

bool UninitialisedChecker::wants(const isa::Instruction& instruction) const {
  return !(instruction.row->flags & (isa::kHint | isa::kWait));
}

void UninitialisedChecker::dispatch_begins(const DispatchEvent& event) {
  std::lock_guard lock(mutex_);
  if (dispatches_.empty()) memory_.clear();
  names_.begin(event);
  dispatches_[event.id].initial_sgprs = event.initial_sgprs;
}

void UninitialisedChecker::dispatch_ends(const DispatchEvent& event) {
  std::lock_guard lock(mutex_);
  names_.end(event);
  dispatches_.erase(event.id);
  // The next group in the same storage begins in what it has.
  if (dispatches_.empty()) lds_.clear();
}

void UninitialisedChecker::group_begins(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  make_fresh(lds_[&group], group.lds_bytes);
}

void UninitialisedChecker::wave_begins(const Wave& wave) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<OfWave>& own = waves_[&wave];
  if (!own) own = std::make_unique<OfWave>();
  own->dispatch = &dispatches_[wave.group->dispatch];
  own->lds = &lds_[wave.group];
  own->shadow.begin(wave, own->dispatch->initial_sgprs);
}

// What is kept of a wave stays where it is for as long as this does.
inline UninitialisedChecker::OfWave& UninitialisedChecker::of(const Wave& wave) {
  // Where the program's own variables are found without a call of the loader, even from a library.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Last last{};
  if (last.wave != &wave || last.checker != id_) [[unlikely]] {
    std::lock_guard lock(mutex_);
    last = {id_, &wave, waves_[&wave].get()};
  }
  return *last.of;
}

inline const UninitialisedChecker::Plain& UninitialisedChecker::known(const Event& event,
                                                                      OfDispatch& dispatch) {
  Plain& found = dispatch.found[event.pc / 4 % dispatch.found.size()];
  return found.instruction == &event.instruction ? found : make_known(event, dispatch, found);
}

const UninitialisedChecker::Plain& UninitialisedChecker::make_known(const Event& event, OfDispatch& dispatch,
                                                                    Plain& place) {
  const auto [entry, is_new] = dispatch.known.try_emplace(&event.instruction);
  Known& result = entry->second;
  if (is_new) {
    const isa::Row& row = *event.instruction.row;
    result.has_index = isa::has_index(row.opcode);
    result.is_memory = isa::is_memory(row.encoding) && !is_exchange(row);
    result.is_copy =
        moves_bits(row.name) && (!event.instruction.row_y || moves_bits(event.instruction.row_y->name));
    result.crosses_lanes = row.flags & isa::kCrossLane || event.instruction.dpp != isa::Dpp::none;
  }
  if (is_new || result.has_index) {
    result.effects = register_effects(event.wave, event.instruction);
    result.is_partial = std::any_of(result.effects.writes.begin(), result.effects.writes.end(),
                                    [](const RegisterUse& use) { return use.is_partial; });
  }
  if (is_new) {
    result.plain.known = &result;
    // M0 moves the registers of those that have an index: they are looked at again each time.
    if (!result.has_index) result.plain.instruction = &event.instruction;
    result.plain.is_plain = !result.has_index && !result.is_memory && !result.crosses_lanes &&
                            !result.is_partial && result.plain.add(result.effects);
  }
  return place = result.plain;
}

unsigned UninitialisedChecker::first_unwritten(const WaveShadow& shadow, const RegisterUse& use,
                                               uint64_t lanes) const {
  for (unsigned number = use.first; number < use.end(); ++number)
    if (number >= code::kVgpr0 ? (shadow.lanes(number - code::kVgpr0) & lanes) != 0
                               : number < WaveShadow::kScalars && shadow.scalar(number) != 0)
      return number;
  return kNone;
}

void UninitialisedChecker::forget(WaveShadow& shadow, const RegisterUse& use, uint64_t lanes) {
  for (unsigned number = use.first; number < use.end(); ++number) {
    if (number >= code::kVgpr0)
      shadow.clear_lanes(number - code::kVgpr0, lanes);
    else if (number < WaveShadow::kScalars)
      shadow.set_scalar(number, 0);
  }
}

void UninitialisedChecker::tell(const Event& event, const char* rule, const Origin& origin, uint64_t lanes,
                                const MemoryAccess* access) {
  FindingDetail detail;
  detail.lanes = lanes;
  detail.text = text_of(origin);
  if (access) {
    detail.address = access->address;
    detail.bytes = access->bytes;
    detail.text += ": " + names_.place(event.wave, *access);
  }
  detail.remedy = "write it on every way that leads here";
  findings_.add("uninitialised", event.wave, event.pc, rule, std::move(detail));
}

void UninitialisedChecker::before(const Event& event) {
  OfWave& wave = of(event.wave);
  const Plain& plain = known(event, *wave.dispatch);
  if (plain.is_plain && follow_plain(plain, event.wave.exec(), wave.shadow)) return;
  const Known& facts = *plain.known;
  if (facts.is_memory) {
    std::lock_guard lock(mutex_);  // other dispatches may use the same memory
    group_lds_ = wave.lds;
    follow_memory(event, facts, wave.shadow);
  } else if (event.instruction.row->flags & isa::kBranch) {
    follow_branch(event, facts, wave.shadow);
  } else {
    follow_registers(event, facts, wave);
  }
}

bool UninitialisedChecker::follow_plain(const Plain& plain, uint64_t exec, WaveShadow& shadow) {
  uint64_t unwritten = 0;
  unsigned i = 0;
  for (; i < plain.read_vgprs; ++i) unwritten |= shadow.lanes(plain.numbers[i]);
  unwritten &= exec;
  for (; i < plain.read; ++i) unwritten |= shadow.scalar(plain.numbers[i]);
  if (unwritten != 0) return false;
  for (; i < plain.written_vgprs; ++i) shadow.clear_lanes(plain.numbers[i], exec);
  for (; i < plain.all; ++i) shadow.set_scalar(plain.numbers[i], 0);
  return true;
}

void UninitialisedChecker::follow_registers(const Event& event, const Known& facts, OfWave& wave) {
  WaveShadow& shadow = wave.shadow;
  const uint64_t lanes = facts.crosses_lanes ? event.wave.lane_mask : event.wave.exec();
  unsigned unwritten = kNone;
  // What was computed counts more than what was copied: a selection by it is no copy.
  for (const RegisterUse& use : facts.effects.reads)
    if (const unsigned here = first_unwritten(shadow, use, lanes);
        here != kNone && (unwritten == kNone || shadow.origin(here).is_computed))
      unwritten = here;
  if (facts.is_partial || facts.crosses_lanes)
    for (const RegisterUse& use : facts.effects.writes)
      if (unwritten == kNone && use.is_vgpr()) unwritten = first_unwritten(shadow, use, event.wave.lane_mask);
  if (unwritten == kNone) {
    for (const RegisterUse& use : facts.effects.writes) forget(shadow, use, event.wave.exec());
    return;
  }
  if (facts.effects.writes.size() == 0 || follow_move(event, shadow)) return;
  const uint32_t key = event.wave.wave_size << 16 | event.wave.vgpr_count;
  std::unique_ptr<Dependence>& dependence = wave.dispatch->dependence[key];
  if (!dependence) dependence = std::make_unique<Dependence>(event.wave.wave_size, event.wave.vgpr_count);
  Origin origin = shadow.origin(unwritten);
  if (!dependence->follow(event, facts.effects, shadow)) {
    for (const RegisterUse& use : facts.effects.writes) forget(shadow, use, event.wave.exec());
    return;
  }
  origin.is_computed |= !facts.is_copy;
  for (const RegisterUse& use : facts.effects.writes) {
    if (first_unwritten(shadow, use, event.wave.exec()) == kNone) continue;
    if (is_exec(use)) {
      tell(event, "an uninitialised value decides which lanes are on (EXEC)", origin,
           shadow.scalar(code::kExecLo) | uint64_t{shadow.scalar(code::kExecHi)} << 32, nullptr);
      forget(shadow, use, 0);
      continue;
    }
    for (unsigned number = use.first; number < use.end(); ++number)
      if (number < 2 * kMaxVgprs) shadow.origin(number) = origin;
  }
}

// Most of what has no value is moved about: a register as it is needs no execution.
bool UninitialisedChecker::follow_move(const Event& event, WaveShadow& shadow) {
  const isa::Instruction& instruction = event.instruction;
  switch (instruction.row->opcode) {
    case isa::Opcode::v_readlane_b32:
    case isa::Opcode::v_readfirstlane_b32:
    case isa::Opcode::v_writelane_b32:
      return follow_lane(event, shadow);
    case isa::Opcode::s_mov_b32:
    case isa::Opcode::s_mov_b64:
      return follow_scalar_move(event, shadow);
    default:
      break;
  }
  if (instruction.row->opcode != isa::Opcode::v_mov_b32 || instruction.row->encoding != Encoding::vop1 ||
      instruction.dpp != isa::Dpp::none)
    return false;
  const isa::Operand &to = *instruction.find(Role::dst), &from = *instruction.find(Role::src0);
  if (to.vgpr() >= event.wave.vgpr_count || (from.is_vgpr() && from.vgpr() >= event.wave.vgpr_count))
    return false;
  const uint64_t lanes = event.wave.exec();
  if (from.code == to.code) return true;
  const uint64_t unwritten = from.is_vgpr() ? shadow.lanes(from.vgpr()) & lanes : lanes;
  shadow.clear_lanes(to.vgpr(), lanes);
  for (uint64_t left = unwritten; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    shadow.set_vgpr(to.vgpr(), lane,
                    from.is_vgpr() ? shadow.vgpr(from.vgpr(), lane) : shadow.scalar(from.code));
  }
  shadow.origin(to.code) = shadow.origin(from.code);
  return true;
}

bool UninitialisedChecker::follow_scalar_move(const Event& event, WaveShadow& shadow) {
  const isa::Instruction& instruction = event.instruction;
  const isa::Operand& to = *instruction.find(Role::dst);
  // What goes to EXEC is told of, which is others' business.
  if (to.code >= code::kTtmp0) return false;
  const unsigned from = isa::scalar_source_code(*instruction.find(Role::src0), event.wave.wave_size);
  const bool is_register = from < code::kInt0 || from == code::kScc;
  std::array<uint32_t, 2> bits{};
  for (unsigned word = 0; word < to.words; ++word)
    if (is_register && (word == 0 || from != code::kScc)) bits[word] = shadow.scalar(from + word);
  for (unsigned word = 0; word < to.words; ++word) {
    shadow.set_scalar(to.code + word, bits[word]);
    shadow.origin(to.code + word) = shadow.origin(from + word);
  }
  return true;
}

// Compilers keep scalars in lanes of VGPRs whose other lanes hold nothing.
bool UninitialisedChecker::follow_lane(const Event& event, WaveShadow& shadow) {
  const isa::Instruction& instruction = event.instruction;
  const isa::Operand &to = *instruction.find(Role::dst), &from = *instruction.find(Role::src0);
  const isa::Operand* const chosen = instruction.find(Role::src1);
  if (chosen && (chosen->is_vgpr() || shadow.scalar(chosen->code) != 0)) return false;
  const uint64_t lanes = event.wave.exec();
  const unsigned lane =
      chosen ? static_cast<unsigned>(scalar_value(event.wave, *chosen, instruction)) % event.wave.wave_size
      : lanes == 0 ? 0
                   : static_cast<unsigned>(std::countr_zero(lanes));
  const isa::Operand& vgpr = to.is_vgpr() ? to : from;
  const isa::Operand& scalar = to.is_vgpr() ? from : to;
  if (!vgpr.is_vgpr() || scalar.is_vgpr() || vgpr.vgpr() >= event.wave.vgpr_count) return false;
  if (to.is_vgpr())
    shadow.set_vgpr(to.vgpr(), lane, shadow.scalar(from.code));
  else
    shadow.set_scalar(to.code, shadow.vgpr(from.vgpr(), lane));
  shadow.origin(to.code) = shadow.origin(from.code);
  return true;
}

void UninitialisedChecker::follow_branch(const Event& event, const Known& facts, WaveShadow& shadow) {
  for (const RegisterUse& use : facts.effects.reads) {
    const unsigned unwritten = first_unwritten(shadow, use, 0);
    if (unwritten == kNone) continue;
    // Whether VCC is zero is known as soon as one of its bits is not.
    if (use.first == code::kVccLo && use.operand == RegisterUse::kImplied) {
      bool has_bit = false;
      for (unsigned number = use.first; number < use.end(); ++number)
        has_bit |= (event.wave.scalar[number] & ~shadow.scalar(number)) != 0;
      if (has_bit) continue;
    }
    tell(event,
         use.operand == RegisterUse::kImplied ? "an uninitialised value decides a branch"
                                              : "an uninitialised value is the address of a jump",
         shadow.origin(unwritten), 0, nullptr);
    forget(shadow, use, 0);
  }
  for (const RegisterUse& use : facts.effects.writes) forget(shadow, use, event.wave.exec());
}

void UninitialisedChecker::follow_memory(const Event& event, const Known& facts, WaveShadow& shadow) {
  const isa::Row& row = *event.instruction.row;
  const uint64_t lanes = event.wave.exec();
  const bool does_something = lanes != 0 || row.encoding == Encoding::smem;
  for (const RegisterUse& use : facts.effects.reads) {
    const bool is_implied = use.operand == RegisterUse::kImplied;
    if (!does_something ||
        (is_implied ? is_exec(use) : !is_address(event.instruction.operands[use.operand].role)))
      continue;
    const unsigned unwritten = first_unwritten(shadow, use, lanes);
    if (unwritten == kNone) continue;
    tell(event, "an uninitialised value is part of an address", shadow.origin(unwritten),
         use.is_vgpr() ? shadow.lanes(unwritten - code::kVgpr0) & lanes : 0, nullptr);
    forget(shadow, use, lanes);
  }
  const AccessShape& shape = isa::access_shape(row.opcode);
  load(event, facts, shadow);
  if (shape.writes() || shape.to_lds) store(event, shadow);
}

Unwritten* UninitialisedChecker::cell(WaveShadow& shadow, const MemoryAccess& access, uint32_t offset,
                                      bool make) {
  const uint64_t at = access.address + offset;
  switch (access.space) {
    case MemorySpace::lds: {
      return at / 4 < group_lds_->size() ? &(*group_lds_)[at / 4] : nullptr;
    }
    case MemorySpace::scratch:
      return access.lane >= 0 && at / 4 < (uint32_t{1} << 20)
                 ? &shadow.scratch(static_cast<uint32_t>(at / 4), static_cast<unsigned>(access.lane))
                 : nullptr;
    case MemorySpace::global:
    case MemorySpace::scalar: {
      if (make) return &memory_[at / 4];
      if (memory_.empty()) return nullptr;
      const auto found = memory_.find(at / 4);
      return found == memory_.end() ? nullptr : &found->second;
    }
    case MemorySpace::gds:
      return nullptr;
  }
  return nullptr;
}

bool UninitialisedChecker::reads_unwritten(const Event& event, WaveShadow& shadow) {
  const MemoryAccess* last = nullptr;
  for (const MemoryAccess& access : event.accesses) {
    const bool is_shared = access.space == MemorySpace::global || access.space == MemorySpace::scalar;
    if (is_shared && memory_.empty()) continue;
    if (access.space == MemorySpace::lds) {
      const uint64_t end = std::min<uint64_t>((access.address + access.bytes + 3) / 4, group_lds_->size());
      uint32_t bits = 0;
      for (uint64_t dword = access.address / 4; dword < end; ++dword) bits |= (*group_lds_)[dword].bits;
      if (bits != 0) return true;
      continue;
    }
    if (access.space == MemorySpace::scratch && access.address % 4 == 0 && access.bytes == 4) {
      if (const Unwritten* const held = cell(shadow, access, 0, false); held && held->bits != 0) return true;
      continue;
    }
    // Lanes often read what the one before them has read.
    if (last && reach_the_same(*last, access)) continue;
    last = &access;
    for (uint32_t byte = 0; byte < access.bytes; byte += 4 - (access.address + byte) % 4)
      if (const Unwritten* const held = cell(shadow, access, byte, false); held && held->bits != 0)
        return true;
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
  if (!reads_unwritten(event, shadow)) return;
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
      const Unwritten* const held = cell(shadow, access, byte, false);
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

void UninitialisedChecker::give_values(const Event& event, WaveShadow& shadow) {
  for (const MemoryAccess& access : event.accesses) {
    if (!access.writes || access.reach == Reach::dropped || access.reach == Reach::refused) continue;
    if (access.address % 4 == 0 && access.bytes == 4) {
      if (Unwritten* const held = cell(shadow, access, 0, false)) held->bits = 0;
      continue;
    }
    for (uint32_t byte = 0; byte < access.bytes;) {
      const uint32_t shift = static_cast<uint32_t>(access.address + byte) % 4 * 8;
      const uint32_t count = std::min(4 - shift / 8, access.bytes - byte);
      if (Unwritten* const held = cell(shadow, access, byte, false))
        held->bits &= count < 4 ? ~(((1u << 8 * count) - 1) << shift) : 0;
      byte += count;
    }
  }
}

void UninitialisedChecker::store(const Event& event, WaveShadow& shadow) {
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
  const auto is_shared = [](const MemoryAccess& access) { return access.space == MemorySpace::global; };
  if (some == 0 && memory_.empty() && std::all_of(event.accesses.begin(), event.accesses.end(), is_shared))
    return;
  if (some == 0 && !is_atomic && memory_.empty()) return give_values(event, shadow);
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

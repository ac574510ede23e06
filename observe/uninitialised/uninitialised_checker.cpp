#include "observe/uninitialised/uninitialised_checker.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "engine/register_effects.h"
#include "engine/scalar_operand.h"
#include "isa/row_facts.h"
#include "text/hex.h"

namespace lockstep::observe {

namespace {

namespace code = isa::code;
using isa::Encoding;
using isa::RegisterUse;
using isa::Role;

// Lane exchanges through the LDS hardware touch no LDS.
bool is_exchange(const isa::Row& row) {
  return row.encoding == Encoding::ds && row.flags & isa::kCrossLane && !(row.flags & isa::kAtomic);
}

void add_to(RegisterSet& set, const RegisterUse& use) {
  for (unsigned number = use.first; number < use.end(); ++number)
    if (number < 2 * kMaxVgprs) set.add(number);
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

void UninitialisedChecker::Plain::add(const Plain& next) {
  RegisterSet new_reads = next.reads;
  new_reads.remove(writes);
  reads.add(new_reads);
  RegisterSet whole = next.reads_whole;
  whole.remove(writes);
  reads_whole.add(whole);
  RegisterSet rest = next.reads_whole;
  rest.remove(whole);
  reads_rest.add(rest);
  all_reads.add(new_reads);
  all_reads.add(next.reads_whole);
  writes.add(next.writes);
  done_in = 0;
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
  lds_[&group].begin(Origin::Kind::lds, 1, (group.lds_bytes + 3) / 4);
}

void UninitialisedChecker::wave_begins(const Wave& wave) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<OfWave>& own = waves_[&wave];
  if (!own) own = std::make_unique<OfWave>();
  own->dispatch = &dispatches_[wave.group->dispatch];
  own->lds = &lds_[wave.group];
  own->followed_until = 0;
  own->first = own->failed = nullptr;
  own->shadow.begin(wave, own->dispatch->initial_sgprs);
}

// What is kept of a wave stays where it is for as long as this does.
inline UninitialisedChecker::OfWave& UninitialisedChecker::of(const Wave& wave) const {
  // Where the program's own variables are found without a call of the loader, even from a library.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Last last{};
  if (last.wave != &wave || last.checker != id_) [[unlikely]] {
    std::lock_guard lock(mutex_);
    last = {id_, &wave, waves_.at(&wave).get()};
  }
  return *last.of;
}

inline UninitialisedChecker::Known& UninitialisedChecker::known(const Event& event, OfDispatch& dispatch) {
  OfDispatch::Found& found = dispatch.found[event.pc / 4 % dispatch.found.size()];
  return found.instruction == &event.instruction ? *found.known : make_known(event, dispatch, found);
}

UninitialisedChecker::Known& UninitialisedChecker::make_known(const Event& event, OfDispatch& dispatch,
                                                              OfDispatch::Found& place) {
  const auto [entry, is_new] = dispatch.known.try_emplace(&event.instruction, nullptr);
  if (is_new) entry->second = &dispatch.knowns.add();
  Known& result = *entry->second;
  if (is_new) {
    const isa::Row& row = *event.instruction.row;
    result.has_index = isa::has_index(row.opcode);
    result.is_memory = isa::is_memory(row.encoding) && !is_exchange(row);
    result.is_copy = row.flags & isa::kMovesBits &&
                     (!event.instruction.row_y || event.instruction.row_y->flags & isa::kMovesBits);
    result.crosses_lanes = row.flags & isa::kCrossLane || event.instruction.dpp != isa::Dpp::none;
    const isa::Operand* const address = event.instruction.find(Role::addr);
    result.is_uniform = row.encoding == Encoding::scratch && !(address && address->is_vgpr());
    result.is_global = row.encoding == Encoding::global || row.encoding == Encoding::smem;
  }
  if (is_new || result.has_index) {
    result.effects = register_effects(event.wave, event.instruction);
    result.is_partial = std::any_of(result.effects.writes.begin(), result.effects.writes.end(),
                                    [](const RegisterUse& use) { return use.is_partial; });
  }
  if (is_new) find_lane(event, result);
  // M0 moves the registers of those that have an index: they are looked at again each time.
  if (result.has_index) return result;
  if (is_new && !result.is_memory) {
    result.is_plain = true;
    Plain& plain = result.plain;
    for (const RegisterUse& use : result.effects.reads)
      add_to(result.crosses_lanes ? plain.reads_whole : plain.reads, use);
    for (const RegisterUse& use : result.effects.writes) {
      if (use.is_vgpr() && (result.crosses_lanes || result.is_partial)) add_to(plain.reads_whole, use);
      add_to(plain.writes, use);
    }
    plain.all_reads = plain.reads;
    plain.all_reads.add(plain.reads_whole);
  }
  place = {&event.instruction, &result};
  return result;
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
  if (event.goes_straight_on) {
    if (event.pc < wave.followed_until) return;  // it is told for the sake of others
  } else {
    wave.followed_until = 0;
  }
  Known& facts = known(event, *wave.dispatch);
  // Mostly the wave has a value in all that it touches, as the last time.
  if (!wave.first && !wave.failed) {
    const uint64_t version = wave.shadow.version();
    if (!event.goes_straight_on) {
      if (facts.plain.done_in == version && facts.lane == Known::Lane::none) return;
    } else if (facts.straight_until != 0 && facts.straight.done_in == version) {
      wave.followed_until = facts.straight_until;
      return;
    }
  }
  follow(event, facts, wave);
}

[[gnu::noinline]] void UninitialisedChecker::follow(const Event& event, Known& facts, OfWave& wave) {
  if (event.goes_straight_on && facts.is_plain && !facts.is_apart) {
    if (follow_straight(event, facts, wave)) return;
    set_apart(event, facts, wave);
    if (facts.lane != Known::Lane::none && follow_lane(event, facts, wave.shadow)) return;
  } else {
    if (wave.first) std::exchange(wave.first, nullptr)->straight_until = event.pc;
    wave.failed = nullptr;
    if (facts.lane != Known::Lane::none && follow_lane(event, facts, wave.shadow)) return;
    if (facts.is_plain && follow_plain(facts.plain, event.wave, wave.shadow)) return;
  }
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

uint64_t UninitialisedChecker::passes_until(const Wave& wave) const {
  return of(wave).followed_until;
}

// Where a wave comes first, what instructions touch is put together as it executes them. Where one was
// before, all of them are done at once, if nothing that they read needs a closer look.
bool UninitialisedChecker::follow_straight(const Event& event, Known& facts, OfWave& wave) {
  if (wave.first) {
    wave.first->straight.add(facts.plain);
  } else if (!wave.failed) {
    if (facts.straight_until == 0) {
      facts.straight = facts.plain;
      wave.first = &facts;
    } else if (follow_plain(facts.straight, event.wave, wave.shadow)) {
      wave.followed_until = facts.straight_until;
      return true;
    } else {
      wave.failed = &facts;
    }
  }
  return follow_plain(facts.plain, event.wave, wave.shadow);
}

// What reads something that was never written does so again, as a rule: the next time those before it are
// done without it.
void UninitialisedChecker::set_apart(const Event& event, Known& facts, OfWave& wave) {
  facts.is_apart = true;
  if (wave.first) wave.first->straight_until = wave.first == &facts ? 0 : event.pc;
  if (wave.failed) wave.failed->straight_until = 0;
  wave.first = wave.failed = nullptr;
}

bool UninitialisedChecker::follow_plain(Plain& plain, const Wave& wave, WaveShadow& shadow) {
  if (plain.done_in == shadow.version()) return true;
  const RegisterSet& unwritten = shadow.unwritten();
  const uint64_t exec = wave.exec();
  const auto has_value = [&](unsigned number) {
    return number >= code::kVgpr0 && (shadow.lanes(number - code::kVgpr0) & exec) == 0;
  };
  const bool may_read = plain.all_reads.meets(unwritten);
  if (may_read && (plain.reads_whole.meets(unwritten) || !plain.reads.each_common(unwritten, has_value) ||
                   (exec != wave.lane_mask && plain.reads_rest.meets(unwritten))))
    return false;
  if (plain.writes.meets(unwritten)) {
    const RegisterSet before = unwritten;
    plain.writes.each_common(before, [&](unsigned number) {
      if (number >= code::kVgpr0)
        shadow.clear_lanes(number - code::kVgpr0, exec);
      else
        shadow.set_scalar(number, 0);
      return true;
    });
  } else if (!may_read) {
    plain.done_in = shadow.version();
  }
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
  if (facts.effects.writes.size() == 0 || follow_move(event, facts, shadow)) return;
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
    if (use.has_exec()) {
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
bool UninitialisedChecker::follow_move(const Event& event, const Known& facts, WaveShadow& shadow) {
  const isa::Instruction& instruction = event.instruction;
  switch (instruction.row->opcode) {
    case isa::Opcode::v_readlane_b32:
    case isa::Opcode::v_readfirstlane_b32:
    case isa::Opcode::v_writelane_b32:
      return follow_lane(event, facts, shadow);
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

void UninitialisedChecker::find_lane(const Event& event, Known& facts) {
  const isa::Instruction& instruction = event.instruction;
  switch (instruction.row->opcode) {
    case isa::Opcode::v_readlane_b32:
    case isa::Opcode::v_readfirstlane_b32:
    case isa::Opcode::v_writelane_b32:
      break;
    default:
      return;
  }
  if (facts.effects.writes.size() == 0) return;
  const isa::Operand &to = *instruction.find(Role::dst), &from = *instruction.find(Role::src0);
  const isa::Operand* const chosen = instruction.find(Role::src1);
  const isa::Operand& vgpr = to.is_vgpr() ? to : from;
  const isa::Operand& scalar = to.is_vgpr() ? from : to;
  if (!vgpr.is_vgpr() || scalar.is_vgpr() || vgpr.vgpr() >= event.wave.vgpr_count ||
      (chosen && chosen->is_vgpr()))
    return;
  facts.lane = to.is_vgpr() ? Known::Lane::write : Known::Lane::read;
  facts.lane_vgpr = vgpr.code;
  facts.lane_scalar = scalar.code;
  if (!chosen) {
    facts.chosen_lane = -2;
  } else if (chosen->code < code::kInt0 && chosen->code != code::kNull) {
    facts.lane_from = static_cast<uint16_t>(scalar_slot(*chosen, event.wave.wave_size));
  } else {
    facts.chosen_lane = static_cast<int>(
        static_cast<unsigned>(scalar_value(event.wave, *chosen, instruction)) % event.wave.wave_size);
  }
}

// Compilers keep scalars in lanes of VGPRs whose other lanes hold nothing.
bool UninitialisedChecker::follow_lane(const Event& event, const Known& facts, WaveShadow& shadow) {
  if (facts.lane == Known::Lane::none) return false;
  const uint64_t lanes = event.wave.exec();
  auto lane = static_cast<unsigned>(facts.chosen_lane);
  if (facts.chosen_lane == -2) {
    lane = lanes == 0 ? 0 : static_cast<unsigned>(std::countr_zero(lanes));
  } else if (facts.chosen_lane == -1) {
    if (shadow.scalar(facts.lane_from) != 0) return false;
    lane = event.wave.scalar[facts.lane_from] % event.wave.wave_size;
  }
  const unsigned vgpr = facts.lane_vgpr - code::kVgpr0;
  if (facts.lane == Known::Lane::write) {
    shadow.set_vgpr(vgpr, lane, shadow.scalar(facts.lane_scalar));
    shadow.origin(facts.lane_vgpr) = shadow.origin(facts.lane_scalar);
  } else {
    shadow.set_scalar(facts.lane_scalar, shadow.vgpr(vgpr, lane));
    shadow.origin(facts.lane_scalar) = shadow.origin(facts.lane_vgpr);
  }
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

}  // namespace lockstep::observe

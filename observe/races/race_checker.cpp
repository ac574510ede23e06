#include "observe/races/race_checker.h"

#include <algorithm>
#include <cstring>

#include "isa/effects.h"
#include "isa/memory_shape.h"
#include "observe/races/spin_loop.h"
#include "observe/same_place.h"
#include "observe/stored_data.h"

namespace lockstep::observe {

namespace {

using isa::Encoding;
using isa::Opcode;

// Instructions by which waves of all groups meet (guide 12.6): their resource stands for a place.
bool is_meeting(Opcode opcode) {
  switch (opcode) {
    case Opcode::ds_gws_barrier:
    case Opcode::ds_gws_sema_v:
    case Opcode::ds_gws_sema_p:
    case Opcode::ds_gws_sema_br:
    case Opcode::ds_gws_sema_release_all:
    case Opcode::ds_ordered_count:
      return true;
    default:
      return false;
  }
}

// Keys of chains_ that are no addresses of memory.
uint64_t lds_key(uint32_t group, uint64_t offset) {
  return uint64_t{1} << 63 | uint64_t{group} << 20 | offset;
}
constexpr uint64_t kMeetingKey = ~uint64_t{0};

constexpr size_t kMostPending = 4096;

// What a plain store that others look out for makes known.
Bound bound_of_store(const WriteMark& store, bool in_lds) {
  return {in_lds ? store.epoch : store.complete, store.complete, store.complete};
}

}  // namespace

bool RaceChecker::wants(const isa::Instruction& instruction) const {
  const Opcode opcode = instruction.row->opcode;
  return (isa::is_memory(instruction.row->encoding) && instruction.row->encoding != Encoding::scratch) ||
         opcode == Opcode::s_waitcnt || opcode == Opcode::s_waitcnt_vscnt ||
         opcode == Opcode::s_waitcnt_lgkmcnt || opcode == Opcode::s_setpc_b64;  // which ends functions
}

bool RaceChecker::wants_after(const isa::Instruction& instruction) const {
  return is_meeting(instruction.row->opcode);
}

void RaceChecker::dispatch_begins(const DispatchEvent& event) {
  std::lock_guard lock(mutex_);
  if (knowledge_.is_idle()) {
    knowledge_.forget_all();
    heap_.forget_all();
    memory_.clear();
    lds_.clear();
    lds_group_ = nullptr;
    chains_.clear();
    sites_.resize(1);
    site_numbers_.clear();
    found_.fill({});
  }
  names_.begin(event);
  heap_.looks_at(event.entry);
  knowledge_.dispatch_begins(event.id, event.processor_mode);
}

void RaceChecker::dispatch_ends(const DispatchEvent& event) {
  std::lock_guard lock(mutex_);
  names_.end(event);
  knowledge_.dispatch_ends(event.id);
  // Instructions of an engine that is gone may stand where others stood.
  site_numbers_.clear();
  found_.fill({});
}

void RaceChecker::group_begins(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  knowledge_.group_begins(group);
  constexpr uint32_t kBlock = 1024;  // of what a group is given (guide 3.3.4)
  lds_group_ = nullptr;
  lds_[&group].begin((group.lds_bytes + kBlock - 1) / kBlock * kBlock);
}

void RaceChecker::group_ends(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  knowledge_.group_ends(group);
}

// All that it stored will be complete before anybody can ask.
void RaceChecker::wave_ends(const Wave& wave) {
  std::lock_guard lock(mutex_);
  knowledge_.running(wave).wait({});
}

void RaceChecker::barrier_passed(const WorkGroup& group) {
  std::lock_guard lock(mutex_);
  LdsMarks& lds = lds_of(&group);
  const bool is_over = !lds.keeps() && knowledge_.is_lds_complete(group);
  if (is_over)
    lds.forget();
  else
    follow_notes(lds);
  knowledge_.barrier(group);
}

uint32_t RaceChecker::site_of(const Event& event) {
  Found& found = found_[event.pc / 4 % found_.size()];
  if (found.instruction != &event.instruction) found = {&event.instruction, make_site(event)};
  return found.site;
}

uint32_t RaceChecker::make_site(const Event& event) {
  const auto [entry, is_new] = site_numbers_.try_emplace(&event.instruction);
  if (is_new) {
    entry->second = static_cast<uint32_t>(sites_.size());
    const isa::Row& row = *event.instruction.row;
    const bool is_flag = row.encoding == Encoding::ds && isa::access_shape(row.opcode).reads() &&
                         !(row.flags & isa::kAtomic) &&
                         is_in_spin_loop(event.instruction, event.pc, event.wave.wave_size);
    Site& site = sites_.emplace_back();
    site.pc = event.pc;
    site.name = row.name;
    site.is_flag = is_flag;
    site.may_wait = precise::may_wait(event.instruction);
    site.is_meeting = is_meeting(row.opcode);
    site.is_atomic = row.flags & isa::kAtomic;
    site.is_compared = site.is_atomic && row.name.find("cmp") != std::string_view::npos;
    site.shape = &isa::access_shape(row.opcode);
    site.shares = precise::shares_of(event.instruction);
  }
  return entry->second;
}

void RaceChecker::take_chain(const Current& current, uint64_t key) {
  const auto chain = chains_.find(key);
  if (chain == chains_.end()) return;
  RunningWave& wave = current.wave;
  follow_notes(lds_of(current.event.wave.group));
  const auto has_come = [&] {
    return current.is_atomic ||
           std::any_of(chain->second.begin(), chain->second.end(),
                       [&](const Release& own) { return own.wave == wave.number && own.is_fresh; });
  };
  const bool meets = !current.in_lds && wave.is_fresh_beside(key) && has_come();
  for (const Release& release : chain->second) {
    if (current.in_lds || (meets && release.is_fresh) || knowledge_.same_group(release.wave, wave.number))
      knowledge_.take_over(wave, release.wave, release.bound);
    else
      wave.pending.insert(key);
  }
}

// Most places are touched by one wave alone.
inline bool RaceChecker::follow_own(const Current& current, Cell& cell) const {
  const WaveNumber self = current.wave.number;
  const auto is_own = [&](WaveNumber wave) { return wave == 0 || wave == self; };
  if (!is_own(cell.write.wave) || current.is_atomic || current.is_watching) return false;
  if (!current.writes) {
    // Who read needs no wait.
    if (!tells_.races) return true;
    if (cell.reads[0].wave != self && (cell.reads[0].wave != 0 || cell.reads[1].wave != 0)) return false;
    cell.reads[0] = {self, current.mark.epoch, current.mark.site};
    return true;
  }
  if (current.reads || !is_own(cell.reads[0].wave) || !is_own(cell.reads[1].wave) || cell.write.is_atomic ||
      cell.is_watched || cell.write.event == current.mark.event)
    return false;
  cell.plain = {};
  cell.write = current.mark;
  return true;
}

bool RaceChecker::read_line(const Current& current, Cell& line) const {
  const WriteMark& last = line.write;
  if (last.wave != 0 && !knowledge_.ordered(last.wave, last.epoch, current.wave.number, current.as_write()))
    return false;
  // Who read needs no wait.
  if (tells_.races) leave_read_mark(line, {current.wave.number, current.mark.epoch, current.mark.site});
  return true;
}

inline void RaceChecker::follow(Current& current, Cell& cell, uint64_t at) {
  if (follow_own(current, cell)) return;
  if (current.reads) read(current, cell, at);
  if (current.writes) write(current, cell, at);
}

void RaceChecker::before(const Event& event) {
  std::lock_guard lock(mutex_);
  RunningWave& wave = knowledge_.running(event.wave);
  const isa::Row& row = *event.instruction.row;
  const bool of_heap = heap_.owns(event.pc);
  if (of_heap)
    for (const DeviceHeap::Block& block : heap_.handed_out(event)) memory_.forget(block.begin, block.bytes);
  if (row.opcode == Opcode::s_setpc_b64) return;
  const uint32_t number = site_of(event);
  const Site& site = sites_[number];
  if (site.may_wait)
    if (const auto limits = precise::limits_of(event.instruction, event.wave)) {
      wave.wait(*limits);
      return;
    }
  if (row.opcode == Opcode::buffer_gl1_inv) {
    // The caches hold nothing any more from before what was taken over.
    if (!wave.pending.empty()) follow_notes(lds_of(event.wave.group));
    for (const uint64_t key : wave.pending)
      if (const auto chain = chains_.find(key); chain != chains_.end())
        for (const Release& release : chain->second) knowledge_.take_over(wave, release.wave, release.bound);
    wave.pending.clear();
    wave.is_fresh = true;
    wave.fresh_line = 0;
    return;
  }
  if (site.is_meeting) {
    ++wave.epoch;
    chains_[kMeetingKey].push_back({wave.number, knowledge_.bound_of(wave, false)});
    return;
  }
  ++event_number_;
  const isa::AccessShape& shape = *site.shape;
  const bool is_atomic = site.is_atomic;
  const bool is_watching = !is_atomic && shape.reads() && (event.instruction.glc || site.is_flag);
  // LDS takes what a wave sends in its order (guide 5.6): what came before is over before this is seen.
  if (row.encoding == Encoding::ds && (shape.writes() || is_atomic)) ++wave.epoch;
  for (const precise::Share& share : site.shares) {
    const bool stores = share.kind == precise::Kind::lds && (shape.writes() || is_atomic);
    if (share.counter == precise::CounterName::vscnt) wave.stores.add(wave.epoch);
    if (share.counter == precise::CounterName::lgkmcnt) wave.lgkm.add(stores ? wave.epoch : 0);
  }
  if (of_heap) return;
  WriteMark mark;
  mark.wave = wave.number;
  mark.epoch = wave.epoch;
  mark.site = number;
  mark.event = event_number_;
  // Volatile stores, and those past the caches.
  mark.is_compared = site.is_compared;
  mark.is_silent = is_atomic && row.encoding != Encoding::ds && !event.instruction.glc;
  mark.is_atomic = is_atomic || event.instruction.glc || event.instruction.dlc;
  // This store is not among those that it may be relied on for.
  mark.complete = wave.complete_in_memory();
  Current current{event, wave, mark, is_atomic, is_watching};
  if (note_reads(current) || follow_alike(current)) return;
  const size_t of_a_lane = accesses_of_a_lane(event.accesses);
  for (size_t index = 0; index < event.accesses.size(); ++index) follow_one(current, index, of_a_lane);
}

LdsMarks& RaceChecker::lds_of(const WorkGroup* group) {
  if (group != lds_group_) {
    lds_group_ = group;
    group_lds_ = &lds_.at(group);
  }
  return *group_lds_;
}

bool RaceChecker::note_reads(const Current& current) {
  const AlikeAccesses* const alike = current.event.accesses.alike();
  if (!alike || alike->space != MemorySpace::lds || alike->writes || current.is_atomic || current.is_watching)
    return false;
  LdsMarks& lds = lds_of(current.event.wave.group);
  if (!lds.has_no_writes()) return false;
  // Who read needs no wait.
  if (!tells_.races) return true;
  if (lds.is_full()) follow_notes(lds);
  lds.note(*alike, {current.mark.wave, current.mark.epoch, current.mark.site});
  return true;
}

void RaceChecker::follow_notes(LdsMarks& lds) {
  if (!lds.has_notes()) return;
  for (const LdsMarks::Noted& noted : lds.notes()) {
    const std::span<const uint32_t> offsets = lds.offsets_of(noted);
    constexpr size_t kRow = 16;  // of lanes, which often reach the same as the row before
    for (size_t lane = 0; lane < offsets.size(); ++lane) {
      const uint32_t offset = offsets[lane];
      if ((lane > 0 && offset == offsets[lane - 1]) || (lane >= kRow && offset == offsets[lane - kRow]))
        continue;
      for (unsigned i = 0; i < noted.each; ++i)
        lds.block().visit(noted.base[i] + offset, noted.bytes,
                          [&](Cell& cell, uint32_t) { leave_read_mark(cell, noted.mark); });
    }
  }
  lds.forget_notes();
}

AccessBlock* RaceChecker::block_of(const Current& current, uint64_t address) {
  if (current.in_lds) {
    LdsMarks& lds = lds_of(current.event.wave.group);
    follow_notes(lds);
    return &lds.block_to_follow(current.is_atomic || current.is_watching || current.mark.is_atomic);
  }
  const bool leaves_mark = tells_.races || current.writes || current.is_watching;
  return leaves_mark ? memory_.page(address) : memory_.known_page(address);
}

void RaceChecker::follow_access(Current& current) {
  const MemoryAccess& access = current.access();
  if (current.in_lds) {
    block_of(current, access.address)
        ->visit(static_cast<uint32_t>(access.address), access.bytes,
                [&](Cell& cell, uint32_t at) { follow(current, cell, at); });
  } else if (access.space == MemorySpace::global || access.space == MemorySpace::scalar) {
    // Scalar loads go through a cache of their own.
    if (current.wave.is_fresh && !current.is_watching && !current.is_atomic && access.reads &&
        access.space == MemorySpace::global)
      current.wave.loads(access.address);
    // Compilers widen scalar loads of three dwords.
    const uint32_t bytes = access.space == MemorySpace::scalar && access.bytes == 16 ? 12 : access.bytes;
    for (uint32_t done = 0; done < bytes;) {
      const uint64_t address = access.address + done;
      const auto offset = static_cast<uint32_t>(address % AccessPages::kPage);
      const uint32_t part = std::min(bytes - done, AccessPages::kPage - offset);
      if (AccessBlock* const page = block_of(current, address))
        page->visit(offset, part,
                    [&](Cell& cell, uint32_t at) { follow(current, cell, address - offset + at); });
      done += part;
    }
  }
}

bool RaceChecker::follow_alike(Current& current) {
  const AlikeAccesses* const all = current.event.accesses.alike();
  if (!all || current.is_atomic || current.is_watching) return false;
  // Who read needs no wait.
  if (!tells_.races && !all->writes && all->space == MemorySpace::global && !current.wave.is_fresh &&
      !memory_.may_know(all->first, all->end))
    return true;
  if (all->is_uniform && all->each == 1 && !all->writes) {
    follow_one(current, 0, 1);
    return true;
  }
  const uint32_t bytes = all->bytes;
  const unsigned first = all->first_lane();
  const size_t count = all->count();
  if ((bytes != 4 && bytes != 8 && bytes != 16) || all->each != 1 || all->space == MemorySpace::scratch ||
      !all->are_lanes_in_a_row() || all->is_uniform || (current.wave.is_fresh && all->reads))
    return false;
  const size_t of_a_line = AccessBlock::kLine / bytes;
  for (size_t index = 0; index < count; index += of_a_line) {
    const auto lane = first + static_cast<unsigned>(index);
    const size_t end = std::min(index + of_a_line, count);
    if (end - index == of_a_line && all->address(lane) % AccessBlock::kLine == 0 &&
        all->is_consecutive(lane, static_cast<unsigned>(of_a_line))) {
      current.set_access(*all, index);
      const uint64_t address = all->address(lane);
      AccessBlock* const block = block_of(current, address);
      if (!block) continue;
      const auto offset = static_cast<uint32_t>(current.in_lds ? address : address % AccessPages::kPage);
      Cell* const line = block->whole_line(offset);
      if (line && (all->writes ? follow_own(current, *line) : read_line(current, *line))) {
        if (all->writes) block->line_is_written(offset, bytes / 4);
        continue;
      }
    }
    for (size_t i = index; i < end; ++i) follow_one(current, i, 1);
  }
  return true;
}

void RaceChecker::follow_one(Current& current, size_t index, size_t of_a_lane) {
  const Accesses& all = current.event.accesses;
  const MemoryAccess& access = all[index];
  if (access.reach == Reach::dropped || access.reach == Reach::refused) return;
  if (!access.writes && repeats_another(all, index, of_a_lane)) return;
  current.set_access(access, index);
  follow_access(current);
}

void RaceChecker::after(const Event& event) {
  if (!is_meeting(event.instruction.row->opcode)) return;
  std::lock_guard lock(mutex_);
  RunningWave& wave = knowledge_.running(event.wave);
  follow_notes(lds_of(event.wave.group));
  for (const Release& release : chains_[kMeetingKey]) knowledge_.take_over(wave, release.wave, release.bound);
}

bool RaceChecker::is_near(const Current& current, WaveNumber other) const {
  return current.in_lds || knowledge_.same_group(current.wave.number, other);
}

// A plain store that an atomic meets may be atomic in the source: of another group, where the atomic is one
// by which waves learn something of each other. One that gives nothing back adds up a result, and a store in
// between loses part of it, whatever it is.
bool RaceChecker::loses_a_store(const Current& current, WaveNumber other, const WriteMark& atomic) const {
  return is_near(current, other) || atomic.is_silent;
}

void RaceChecker::read(Current& current, Cell& cell, uint64_t at) {
  const WaveNumber self = current.wave.number;
  const WriteMark& last = cell.write;
  const bool looks_out = current.is_watching || current.is_atomic;
  // The atomics of others, and of who stored, do not order the store: had this one come first, what it did
  // would be lost. So what is known counts without what this access takes over.
  if (const PlainMark& plain = cell.plain;
      current.is_atomic && plain.wave != 0 && plain.wave != self &&
      loses_a_store(current, plain.wave, current.mark) && !cell.is_watched &&
      !knowledge_.ordered(plain.wave, plain.epoch, self, current.as_write()))
    tell(current, plain.wave, plain.epoch, plain.site, "writes", "changes", at);
  if (current.is_watching) cell.is_watched = true;
  if (looks_out) {
    const uint64_t key = current.in_lds ? lds_key(knowledge_.record(self).group, at) : at;
    // What is in a chain includes the store that it began with.
    if (last.wave != 0 && last.wave != self && !last.is_atomic) {
      std::vector<Release>& chain = chains_[key];
      if (chain.empty() || chain.back().wave != last.wave)
        chain.push_back({last.wave, bound_of_store(last, current.in_lds)});
      else
        chain.back().bound = bound_of_store(last, current.in_lds);
    }
    if (current.wave.pending.size() >= kMostPending) current.wave.pending.clear();
    if (last.wave != 0) take_chain(current, key);
  }
  if (last.wave != 0 && last.wave != self && !current.is_watching &&
      !knowledge_.ordered(last.wave, last.epoch, self, current.as_write())) {
    if (!current.is_atomic) {
      // A loop around a compare and swap begins with a plain read, which the swap tests.
      if (!last.is_compared)
        tell(current, last.wave, last.epoch, last.site, last.is_atomic ? "changes" : "writes", "reads", at);
    } else if (!last.is_atomic && loses_a_store(current, last.wave, current.mark) && !cell.is_watched &&
               cell.atomic_by != last.wave) {
      tell(current, last.wave, last.epoch, last.site, "writes", "changes", at);
    }
  }
  // Who read needs no wait.
  if (looks_out || !tells_.races) return;
  leave_read_mark(cell, {self, current.mark.epoch, current.mark.site});
}

void RaceChecker::leave_read_mark(Cell& cell, const ReadMark& mark) const {
  // One of who has come before this one in any case need not be kept; else the older one goes.
  const auto may_go = [&](const ReadMark& read) {
    return read.wave == mark.wave || read.wave == 0 ||
           knowledge_.ordered(read.wave, read.epoch, mark.wave, Knowledge::Access::read);
  };
  ReadMark* place = &cell.reads[0];
  if (cell.reads[0].wave != mark.wave && (cell.reads[1].wave == mark.wave || !may_go(cell.reads[0])))
    place = &cell.reads[1];
  if (!may_go(*place)) cell.reads[0] = cell.reads[1];
  *place = mark;
}

bool RaceChecker::stores_what_is_there(const Current& current, uint64_t at) const {
  StoreSource source;
  if (current.access().lane < 0 || !find_store_source(current.event, current.index, source)) return false;
  const uint64_t from = at - current.access().address;
  const std::byte* const held =
      current.in_lds ? current.event.wave.lds + at : reinterpret_cast<const std::byte*>(at);
  // As much as a cell may stand for.
  const uint64_t count = std::min<uint64_t>(4, current.access().address + current.access().bytes - at);
  for (uint64_t i = 0; i < count; ++i)
    if (held[i] != stored_byte(current.event, current.index, source, from + i)) return false;
  return true;
}

void RaceChecker::write(Current& current, Cell& cell, uint64_t at) {
  const WaveNumber self = current.wave.number;
  const WriteMark& last = cell.write;
  const bool is_plain = !current.mark.is_atomic;
  if (last.event == current.mark.event && last.wave == self) {
    if (is_plain && last.access != current.mark.access) tell_lanes(current, cell, at);
  } else if (is_plain && last.wave != 0 && last.wave != self && !cell.is_watched &&
             !knowledge_.ordered(last.wave, last.epoch, self, current.as_write())) {
    // By an atomic of another group, or an unlock: perhaps one that is atomic in the source.
    const bool may_be_atomic =
        last.is_atomic && (!loses_a_store(current, last.wave, last) || cell.atomic_by == self);
    if (!may_be_atomic && !stores_what_is_there(current, at))
      tell(current, last.wave, last.epoch, last.site, last.is_atomic ? "changes" : "writes", "overwrites",
           at);
  }
  for (const ReadMark& earlier : cell.reads)
    if (earlier.wave != 0 && earlier.wave != self && !cell.is_watched && !current.mark.is_compared &&
        !knowledge_.ordered(earlier.wave, earlier.epoch, self, Knowledge::Access::read) &&
        !(is_plain && stores_what_is_there(current, at))) {
      tell(current, earlier.wave, 0, earlier.site, "reads", current.is_atomic ? "changes" : "overwrites", at);
      break;
    }
  const auto key = [&] { return current.in_lds ? lds_key(knowledge_.record(self).group, at) : at; };
  if (!current.is_atomic)
    cell.plain = {};
  else if (last.wave != 0 && !last.is_atomic && cell.atomic_by != last.wave)
    cell.plain = {last.wave, last.epoch, last.site};
  if (current.is_atomic) {
    cell.atomic_by = self;
    std::vector<Release>& chain = chains_[key()];
    Bound bound = knowledge_.bound_of(current.wave, false);
    bound.memory = current.mark.complete;
    if (current.in_lds) bound.lds = current.mark.epoch;
    const bool is_fresh = !current.in_lds && current.wave.is_fresh_beside(at);
    if (!chain.empty() && chain.back().wave == self)
      chain.back() = {self, bound, is_fresh};
    else
      chain.push_back({self, bound, is_fresh});
  } else if (last.is_atomic || cell.is_watched) {
    std::vector<Release>& chain = chains_[key()];
    chain.assign(1, {self, bound_of_store(current.mark, current.in_lds)});
  }
  cell.write = current.mark;
}

void RaceChecker::tell_lanes(const Current& current, const Cell& cell, uint64_t at) {
  const Event& event = current.event;
  const MemoryAccess& earlier = event.accesses[cell.write.access];
  if (!tells_.races || earlier.lane == current.access().lane ||
      store_the_same(event, cell.write.access, current.index))
    return;
  FindingDetail detail;
  detail.lanes = uint64_t{1} << earlier.lane | uint64_t{1} << current.access().lane;
  detail.address = at;
  detail.bytes = current.access().bytes;
  detail.text = "lanes " + std::to_string(earlier.lane) + " and " + std::to_string(current.access().lane) +
                " store different values at " + names_.place(event.wave, current.access());
  detail.remedy = "let one lane store there, or give each its own place";
  findings_.add("races", event.wave, event.pc,
                "lanes of one instruction store different values to the same place: " +
                    std::string(event.instruction.row->name) + " leaves one of them, and which is open",
                std::move(detail));
}

void RaceChecker::tell(const Current& current, WaveNumber other, uint32_t written_in, uint32_t other_site,
                       const char* did, const char* does, uint64_t at) {
  // A barrier stands between the two, but the store may come after it.
  const bool lacks_wait = written_in != 0 && knowledge_.lacks_wait(other, written_in, current.wave.number);
  const bool is_wait = lacks_wait && tells_.waits;
  if (!is_wait && !tells_.races) return;
  const Event& event = current.event;
  const WaveRecord& record = knowledge_.record(other);
  const bool near = is_near(current, other);
  const bool other_dispatch = record.dispatch != knowledge_.record(current.wave.number).dispatch;
  const char* const who = other_dispatch ? "a wave of another dispatch"
                          : near         ? "another wave of the work-group"
                                         : "a wave of another work-group";
  FindingDetail detail;
  if (current.access().lane >= 0) detail.lanes = uint64_t{1} << current.access().lane;
  detail.address = at;
  detail.bytes = current.access().bytes;
  detail.other_pc = sites_[other_site].pc;
  detail.text = name_of(record.group_id, record.index) + " " + did + " it by " +
                std::string(sites_[other_site].name) + ": " + names_.place(event.wave, current.access());
  detail.remedy =
      lacks_wait
          ? "put " + std::string(current.in_lds ? "s_waitcnt lgkmcnt(0)" : "s_waitcnt_vscnt null, 0x0") +
                " between " + std::string(sites_[other_site].name) + " and the barrier behind it"
      : other_dispatch ? "set the barrier bit of the later packet, or wait for the earlier one's signal"
      : near
          ? "put a barrier between them (barrier() in OpenCL C, __syncthreads() in HIP; in assembly with the "
            "stores "
            "before it complete: s_waitcnt lgkmcnt(0) for LDS, s_waitcnt_vscnt null, 0 for memory)"
          : "use atomics, or hand it over: a release at agent scope behind the one (s_waitcnt_vscnt null, 0, "
            "then an atomic) and an acquire before the other (buffer_gl0_inv, buffer_gl1_inv)";
  std::string rule = std::string(is_wait ? "missing wait: " : "") + std::string(event.instruction.row->name) +
                     " " + does + (current.in_lds ? " LDS that " : " memory that ") + who + " " + did +
                     (lacks_wait ? ", and the barrier between them does not wait for the store"
                                 : ", and nothing orders the two");
  findings_.add(is_wait ? "waits" : "races", event.wave, event.pc, std::move(rule), std::move(detail));
}

}  // namespace lockstep::observe

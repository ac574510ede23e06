#include "observe/plugin/plugin_listener.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "memory/address_space.h"
#include "text/visible.h"

namespace lockstep::observe {

namespace {

// Names of plug-ins are few, and what they found is told of when they are gone.
const char* kept_for_ever(std::string_view name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  std::lock_guard lock(mutex);
  return names.emplace(name).first->c_str();
}

// What suppression files and SARIF can hold without quotes.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

uint64_t number_of(const DispatchState* dispatch) {
  return reinterpret_cast<uint64_t>(dispatch);
}

const Event& inside(const lockstep_plugin_event* event) {
  return *static_cast<const Event*>(event->inside);
}

size_t text(const lockstep_plugin_event* event, char* out, size_t capacity) {
  if (capacity == 0) return 0;
  char whole[isa::kMaxText];
  const Event& of = inside(event);
  const size_t length =
      std::min(isa::disassemble(of.instruction, of.wave.wave_size, whole, sizeof whole), capacity - 1);
  std::memcpy(out, whole, length);
  out[length] = 0;
  return length;
}

uint32_t scalar(const lockstep_plugin_event* event, uint32_t number) {
  const bool is_register = number <= isa::code::kExecHi || number == isa::code::kScc;
  return is_register ? inside(event).wave.scalar[number] : 0;
}

uint32_t vector(const lockstep_plugin_event* event, uint32_t number, uint32_t lane) {
  const Wave& wave = inside(event).wave;
  if (number >= wave.vgpr_count || lane >= wave.wave_size) return 0;
  uint32_t value;
  std::memcpy(&value, wave.vgprs + size_t{number} * wave.register_bytes + size_t{lane} * sizeof value,
              sizeof value);
  return value;
}

std::string text_or_empty(const char* text) {
  return text ? text : "";
}

}  // namespace

PluginListener::PluginListener(std::string_view given, Findings& findings)
    : library_(given), findings_(findings) {
  host_.find = find;
  host_.range = range;
  host_.text = text;
  host_.scalar = scalar;
  host_.vector = vector;
  host_.owner = this;
  const auto fail = [&](const std::string& why) {
    return PluginError("plug-in '" + visible(library_.file()) + "': " + why);
  };
  if (const char* const problem = library_.begin()(&host_, library_.arguments().c_str(), &plugin_))
    throw fail(visible_lines(problem));
  if (!plugin_.name || !is_name(plugin_.name)) {
    const std::string name = plugin_.name ? "'" + visible(plugin_.name) + "'" : "missing";
    if (plugin_.end) plugin_.end(plugin_.user);
    throw fail("its name is " + name + " (lockstep_plugin.name: up to 64 of a to z, 0 to 9 and '-')");
  }
  name_ = kept_for_ever(plugin_.name);
}

PluginListener::~PluginListener() {
  if (plugin_.end) plugin_.end(plugin_.user);
}

bool PluginListener::wants(const isa::Instruction& instruction) const {
  if (!plugin_.before && !plugin_.after && !plugin_.faulted) return false;
  if (!plugin_.wants) return true;
  enum : uint8_t { unknown, no, yes };
  std::atomic<uint8_t>& known = wanted_[static_cast<size_t>(instruction.row->opcode)];
  uint8_t answer = known.load(std::memory_order_relaxed);
  if (answer == unknown) {
    const auto lock = turn();
    answer = plugin_.wants(plugin_.user, instruction.row->name.data()) ? yes : no;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == yes;
}

std::unique_lock<std::mutex> PluginListener::turn() const {
  return plugin_.is_concurrent ? std::unique_lock<std::mutex>() : std::unique_lock(mutex_);
}

void PluginListener::tell(void (*call)(void*, const lockstep_plugin_event*), const Event& event) const {
  if (!call) return;
  thread_local std::vector<lockstep_plugin_access> accesses;
  accesses.clear();
  for (const MemoryAccess& access : event.accesses)
    accesses.push_back({access.address, access.bytes, access.lane, static_cast<uint8_t>(access.space),
                        static_cast<uint8_t>(access.reach), access.reads, access.writes});
  const Wave& wave = event.wave;
  lockstep_plugin_event told = {};
  if (wave.group) {
    told.dispatch = number_of(wave.group->dispatch);
    std::copy(std::begin(wave.group->id), std::end(wave.group->id), told.work_group);
  }
  told.wave = wave.index_in_group;
  told.wave_size = wave.wave_size;
  told.pc = event.pc;
  told.exec = wave.exec();
  told.mnemonic = event.instruction.row->name.data();
  told.size = event.instruction.size;
  told.access_count = static_cast<uint32_t>(accesses.size());
  told.accesses = accesses.data();
  told.inside = &event;
  const auto lock = turn();
  call(plugin_.user, &told);
}

void PluginListener::tell(void (*call)(void*, const lockstep_plugin_group*), const WorkGroup& group) const {
  if (!call) return;
  const lockstep_plugin_group told = {
      number_of(group.dispatch), {group.id[0], group.id[1], group.id[2]}, group.wave_count};
  const auto lock = turn();
  call(plugin_.user, &told);
}

void PluginListener::tell(void (*call)(void*, const lockstep_plugin_dispatch*),
                          const DispatchEvent& event) const {
  if (!call) return;
  const lockstep_plugin_dispatch told = {number_of(event.id),
                                         {event.grid[0], event.grid[1], event.grid[2]},
                                         {event.group[0], event.group[1], event.group[2]},
                                         event.entry,
                                         event.wave_size,
                                         event.lds_bytes};
  const auto lock = turn();
  call(plugin_.user, &told);
}

void PluginListener::dispatch_begins(const DispatchEvent& event) {
  {
    std::lock_guard lock(memories_mutex_);
    memories_[number_of(event.id)] = event.memory;
  }
  tell(plugin_.dispatch_begins, event);
}

void PluginListener::dispatch_ends(const DispatchEvent& event) {
  tell(plugin_.dispatch_ends, event);
  std::lock_guard lock(memories_mutex_);
  memories_.erase(number_of(event.id));
}

void PluginListener::find(const lockstep_plugin_host* host, const lockstep_plugin_finding* finding) {
  const PluginListener& self = *static_cast<const Host*>(host)->owner;
  FindingPlace place;
  place.pc = finding->pc;
  std::copy(std::begin(finding->work_group), std::end(finding->work_group), place.group);
  place.wave = finding->wave;
  FindingDetail detail;
  detail.lanes = finding->lanes;
  detail.address = finding->address;
  detail.bytes = finding->bytes;
  detail.text = text_or_empty(finding->detail);
  detail.other_pc = finding->other_pc;
  detail.remedy = text_or_empty(finding->remedy);
  detail.severity = finding->severity == LOCKSTEP_PLUGIN_NOTE      ? Severity::note
                    : finding->severity == LOCKSTEP_PLUGIN_WARNING ? Severity::warning
                                                                   : Severity::error;
  self.findings_.add(self.name_, place, finding->count, text_or_empty(finding->rule), std::move(detail));
}

int PluginListener::range(const lockstep_plugin_host* host, uint64_t dispatch, uint64_t address,
                          lockstep_plugin_range* out) {
  const PluginListener& self = *static_cast<const Host*>(host)->owner;
  std::lock_guard lock(self.memories_mutex_);
  const auto found = self.memories_.find(dispatch);
  if (found == self.memories_.end() || !found->second) return 0;
  const std::optional<Range> range = found->second->nearest(address);
  if (!range || address >= range->end) return 0;
  *out = {};
  out->begin = range->begin;
  out->bytes = range->end - range->begin;
  std::snprintf(out->name, sizeof out->name, "%s", range->name.c_str());
  return 1;
}

}  // namespace lockstep::observe

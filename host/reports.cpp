#include "host/reports.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "command/fault_text.h"
#include "command/guest_memory.h"
#include "engine/listeners.h"
#include "loader/readable_name.h"
#include "machine/kernel.h"
#include "text/hex.h"

namespace lockstep::host {

namespace {

using Json = nlohmann::ordered_json;

int open_to_append(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) throw std::runtime_error("cannot write to '" + path + "': " + std::strerror(errno));
  // Programs count on the lowest numbers, and close what they do not know.
  const int high = fcntl(file, F_DUPFD_CLOEXEC, 200);
  if (high < 0) return file;
  close(file);
  return high;
}

// Of those that are asked for: that follow dispatches beside each other. The others begin anew with each, for
// what the host writes meanwhile is not seen.
const std::string kOfDevice = "races";

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

// Numbers as they are in memory; what is longer than 8 bytes, byte by byte.
Json arguments_of(const machine::Launch& launch, const loader::Kernel& kernel) {
  Json list = Json::array();
  const std::optional<uint64_t> base = machine::kernarg_address(launch, kernel.descriptor);
  if (!base || !kernel.metadata) return list;
  for (const loader::Argument* argument : kernel.metadata->user_arguments()) {
    Json entry;
    if (!argument->name.empty()) entry["name"] = argument->name;
    if (!argument->type_name.empty()) entry["type"] = argument->type_name;
    entry["kind"] = argument->kind_text;
    constexpr uint32_t kMostBytes = 256;
    std::byte bytes[kMostBytes] = {};
    const uint32_t size = std::min(argument->size, kMostBytes);
    // The program may have taken the memory back.
    const iovec local{bytes, size}, remote{reinterpret_cast<void*>(*base + argument->offset), size};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size)) {
      if (size <= 8) {
        uint64_t value = 0;
        std::memcpy(&value, bytes, size);
        entry["value"] = hex(value);
      } else {
        std::string text;
        for (uint32_t i = 0; i < size; ++i)
          text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
        entry["bytes"] = text;
      }
    }
    entry["size"] = argument->size;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

void Reports::Sums::add(const Sums& other) {
  dispatches += other.dispatches;
  work_groups += other.work_groups;
  waves += other.waves;
  wave_instructions += other.wave_instructions;
  faults += other.faults;
  seconds += other.seconds;
  processor_seconds += other.processor_seconds;
  translation_seconds += other.translation_seconds;
  translated += other.translated;
  loaded += other.loaded;
  translated_instructions += other.translated_instructions;
  for (const auto& [what, times] : other.exits) exits[what] += times;
}

class Reports::Record final : public machine::DispatchRecord {
 public:
  // `device_checks`: checkers that follow all dispatches of the device; null: none.
  Record(Reports& reports, unsigned device, const machine::Launch& launch, observe::Checks* device_checks)
      : reports_(reports), begin_(Clock::now()), device_checks_(device_checks) {
    const std::shared_ptr<const LoadedObject> loaded = reports.code_objects_.at(launch.entry);
    const loader::Kernel* const kernel = loaded ? loaded->kernel_at(launch.entry) : nullptr;
    name_ = kernel ? loader::readable_name(kernel->name) : "(code at " + hex(launch.entry) + ")";
    if (reports.settings_.fidelity) {
      fidelity_.emplace();
      listeners_.add(*fidelity_);
    }
    if (device_checks_) {
      observe::Checks::Names names = reports.settings_.checks;
      names.erase(kOfDevice);
      checks_.emplace(std::move(names), std::vector<Range>(), &reports.blocks_, std::vector<std::string>(),
                      reports.find_function());
      for (observe::Checks* const each : {&*checks_, device_checks_})
        if (lockstep::Listener* const listener = each->listener()) listeners_.add(*listener);
    }
    {
      std::lock_guard lock(reports.mutex_);
      number_ = reports.next_++;
    }
    try {
      dump_ = reports.dumps_.begins(number_, reports.device_, name_, launch, loaded.get());
    } catch (const std::runtime_error& error) {
      reports.tell_once("no dump of dispatch " + std::to_string(number_) + ": " + error.what());
    }
    if (reports.log_ >= 0) make_json(device, launch, loaded.get(), kernel);
    std::lock_guard lock(reports.mutex_);
    reports.running_.insert(this);
  }
  ~Record() override {
    std::lock_guard lock(reports_.mutex_);
    reports_.running_.erase(this);
  }

  lockstep::Listener* listener() override { return listeners_.empty() ? nullptr : &listeners_; }
  void ended(const machine::Outcome& outcome) override { end(outcome, true); }
  // All that there will be to say, if the program ends by what it is told.
  void trapped(const machine::Outcome& outcome) override { end(outcome, false); }

  const std::string& name() const { return name_; }
  const Json& json() const { return json_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  const observe::FidelityListener* fidelity() const { return fidelity_ ? &*fidelity_ : nullptr; }
  const observe::Checks* checks() const { return checks_ ? &*checks_ : nullptr; }
  const observe::Checks* device_checks() const { return device_checks_; }

 private:
  void make_json(unsigned device, const machine::Launch& launch, const LoadedObject* loaded,
                 const loader::Kernel* kernel) {
    json_["event"] = "dispatch";
    json_["process"] = getpid();
    json_["number"] = number_;
    json_["device"] = device;
    json_["queue"] = launch.doorbell_id;
    json_["packet"] = launch.dispatch_id;
    json_["kernel"] = name_;
    if (kernel) {
      json_["symbol"] = kernel->name;
      json_["code_object"] = loaded->uri;
    }
    json_["entry"] = hex(launch.entry);
    json_["grid"] = launch.grid;
    json_["group"] = launch.group;
    json_["wave_size"] = launch.wave_size;
    json_["lds_bytes"] = launch.lds_bytes;
    json_["scratch_bytes"] = launch.scratch_bytes;
    if (kernel) json_["arguments"] = arguments_of(launch, *kernel);
    json_["begin"] = std::chrono::duration<double>(begin_ - reports_.begin_).count();
  }
  void end(const machine::Outcome& outcome, bool is_over) {
    if (has_ended_.exchange(true)) return;
    if (dump_) end_dump(outcome);
    reports_.ended(*this, outcome, is_over);
  }
  void end_dump(const machine::Outcome& outcome) {
    dump::End end{outcome.totals.waves, outcome.totals.instructions, outcome.cancelled, {}};
    if (outcome.fault) end.fault = command::fault_text(*outcome.fault);
    try {
      dump_->ended(end);
    } catch (const std::runtime_error& error) {
      reports_.tell_once(dump_->path() + " has what dispatch " + std::to_string(number_) +
                         " found, but not what it left: " + error.what());
    }
    dump_.reset();
  }

  Reports& reports_;
  const Clock::time_point begin_;
  uint64_t number_ = 0;
  std::string name_;
  Json json_;  // what is known at the begin
  std::optional<observe::FidelityListener> fidelity_;
  std::optional<observe::Checks> checks_;
  observe::Checks* const device_checks_;
  Listeners listeners_;
  std::unique_ptr<dump::Writer> dump_;  // null: nobody wants it
  std::atomic<bool> has_ended_ = false;
};

class Reports::Listener final : public machine::DispatchListener {
 public:
  Listener(Reports& reports, unsigned device) : reports_(reports), device_(device) {
    const observe::Checks::Names& names = reports.settings_.checks;
    if (!names.empty() || !reports.settings_.plugins.empty())
      checks_.emplace(
          names.contains(kOfDevice) ? observe::Checks::Names{kOfDevice} : observe::Checks::Names(),
          std::vector<Range>(), nullptr, reports.settings_.plugins, reports.find_function());
  }
  std::unique_ptr<machine::DispatchRecord> begins(const machine::Launch& launch) override {
    return std::make_unique<Record>(reports_, device_, launch, checks_ ? &*checks_ : nullptr);
  }

 private:
  Reports& reports_;
  const unsigned device_;
  std::optional<observe::Checks> checks_;
};

Reports::Reports(ReportSettings settings, CodeObjects& code_objects, std::string device)
    : settings_(std::move(settings)),
      code_objects_(code_objects),
      device_(std::move(device)),
      dumps_(settings_.dumps) {
  if (!settings_.log.empty()) log_ = open_to_append(settings_.log);
  if (!settings_.statistics.empty() && settings_.statistics != "-")
    statistics_ = open_to_append(settings_.statistics);
}

Reports::~Reports() {
  for (const int file : {log_, statistics_})
    if (file >= 0) close(file);
}

machine::DispatchListener* Reports::listener(unsigned device) {
  if (!settings_.any()) return nullptr;
  return listeners_.emplace_back(std::make_unique<Listener>(*this, device)).get();
}

// One write for each line: processes that share the file do not mix theirs.
void Reports::write_line(int file, const std::string& path, const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    tell_once("cannot write to '" + path + "': " + std::strerror(errno));
}

void Reports::tell_once(const std::string& about, const std::string& text) {
  {
    std::lock_guard lock(mutex_);
    if (!told_.insert(about).second) return;
  }
  std::fprintf(stderr, "lockstep: %s\n", text.c_str());
}

std::string Reports::where(uint64_t pc) {
  const std::string place = code_objects_.place(pc);
  return place.empty() ? "PC " + hex(pc) : place;
}

std::string Reports::where_with_callers(uint64_t pc) {
  std::string text = where(pc);
  for (const std::string& line : code_objects_.caller_lines(pc)) text += "\n    " + line;
  return text;
}

void Reports::add_callers(Json& json, const char* name, uint64_t pc) {
  for (const toolchain::Frame& frame : code_objects_.callers(pc))
    json[name].push_back({{"function", frame.function}, {"file", frame.file}, {"line", frame.line}});
}

void Reports::ended(const Record& record, const machine::Outcome& outcome, bool is_over) {
  Sums sums;
  sums.dispatches = 1;
  sums.work_groups = outcome.totals.groups_done;
  sums.waves = outcome.totals.waves;
  sums.wave_instructions = outcome.totals.instructions;
  sums.faults = outcome.fault.has_value();
  sums.seconds = record.seconds();
  sums.processor_seconds = outcome.processor_seconds;
  // The code of an earlier dispatch costs nothing any more.
  if (const machine::Translation& made = outcome.translation; !made.reused && made.host_bytes != 0) {
    sums.translation_seconds = made.seconds;
    (made.stored ? sums.loaded : sums.translated) = 1;
  }
  if (outcome.translation.host_bytes != 0)
    sums.translated_instructions =
        sums.wave_instructions - std::min(sums.wave_instructions, outcome.translation.interpreted);
  for (const translator::Exit& exit : outcome.translation.exits)
    sums.exits[{exit.how, exit.instruction}] += exit.times;
  const std::vector<lockstep::Finding> findings = found(record, outcome.findings);
  if (log_ >= 0) {
    Json json = record.json();
    json["seconds"] = sums.seconds;
    json["processor_seconds"] = sums.processor_seconds;
    json["translation_seconds"] = sums.translation_seconds;
    if (is_over) {
      json["work_groups"] = sums.work_groups;
      json["waves"] = sums.waves;
      json["wave_instructions"] = sums.wave_instructions;
    } else {
      json["unfinished"] = true;
    }
    if (outcome.cancelled) json["cancelled"] = true;
    if (!outcome.note.empty()) json["note"] = outcome.note;
    if (outcome.fault) {
      const machine::WaveFault& fault = *outcome.fault;
      json["fault"] = {{"group", fault.group},
                       {"wave", fault.wave},
                       {"lane", fault.fault.lane},
                       {"pc", hex(fault.fault.pc)},
                       {"place", code_objects_.place(fault.fault.pc)},
                       {"instruction", fault.instruction},
                       {"message", fault.fault.message}};
      add_callers(json["fault"], "inlined_into", fault.fault.pc);
    }
    if (settings_.rules || settings_.checks.empty())
      for (const lockstep::Finding& finding : outcome.findings) {
        Json rule = {{"rule", finding.rule}, {"place", where(finding.pc)}, {"times", finding.count}};
        add_callers(rule, "inlined_into", finding.pc);
        json["broken_rules"].push_back(std::move(rule));
      }
    for (const lockstep::Finding& finding : findings) json["findings"].push_back(json_of(finding));
    // Whoever finishes meanwhile tells of it either as unfinished or not at all.
    std::lock_guard log_lock(log_mutex_);
    bool is_told = false;
    {
      std::lock_guard lock(mutex_);
      running_.erase(&record);
      is_told = finished_;
    }
    if (!is_told) write_line(log_, settings_.log, json);
  }
  for (const lockstep::Finding& finding : findings) tell(finding, record.name());
  if (settings_.rules)
    for (const lockstep::Finding& finding : outcome.findings)
      tell_once(fmt::format("broken rule: {}\n  {}", where_with_callers(finding.pc), finding.rule));
  if (const observe::FidelityListener* const listener = record.fidelity()) tell_fidelity(*listener);
  std::lock_guard lock(mutex_);
  by_kernel_[record.name()].add(sums);
}

std::vector<lockstep::Finding> Reports::found(const Record& record,
                                              const std::vector<lockstep::Finding>& by_units) {
  if (!record.checks()) return {};
  std::vector<lockstep::Finding> all = record.checks()->findings(by_units);
  // These follow all dispatches of the device, and still have what they found in earlier ones.
  std::lock_guard lock(mutex_);
  for (lockstep::Finding& finding : record.device_checks()->findings({}))
    if (found_of_devices_.emplace(record.device_checks(), finding.pc, finding.checker, finding.rule).second)
      all.push_back(std::move(finding));
  return all;
}

nlohmann::ordered_json Reports::json_of(const lockstep::Finding& finding) {
  Json json = {{"checker", finding.checker}, {"severity", name_of(finding.detail.severity)},
               {"rule", finding.rule},       {"place", where(finding.pc)},
               {"times", finding.count},     {"group", finding.group},
               {"wave", finding.wave},       {"lanes", hex(finding.detail.lanes)}};
  add_callers(json, "inlined_into", finding.pc);
  if (finding.detail.other_pc != 0) {
    json["other"] = where(finding.detail.other_pc);
    add_callers(json, "other_inlined_into", finding.detail.other_pc);
  }
  if (finding.detail.bytes != 0) {
    json["address"] = hex(finding.detail.address);
    json["bytes"] = finding.detail.bytes;
  }
  if (!finding.detail.text.empty()) json["detail"] = finding.detail.text;
  if (!finding.detail.remedy.empty()) json["remedy"] = finding.detail.remedy;
  return json;
}

void Reports::tell(const lockstep::Finding& finding, const std::string& kernel) {
  // How often and where first differs from dispatch to dispatch.
  std::string about =
      fmt::format("check: {} ({}): {}\n  {}", finding.checker, name_of(finding.detail.severity), finding.rule,
                  where_with_callers(finding.pc));
  if (finding.detail.other_pc != 0) about += "\n  and " + where_with_callers(finding.detail.other_pc);
  std::string text = about + fmt::format("\n  in {}, first in work-group ({}, {}, {}), wave {}", kernel,
                                         finding.group[0], finding.group[1], finding.group[2], finding.wave);
  if (finding.detail.bytes != 0)
    text += fmt::format("\n  address {}, {} bytes", hex(finding.detail.address), finding.detail.bytes);
  if (!finding.detail.text.empty()) text += "\n  " + finding.detail.text;
  if (!finding.detail.remedy.empty()) text += "\n  mend: " + finding.detail.remedy;
  tell_once(about, text);
}

// As `lockstep run --fidelity` says it, each place once.
void Reports::tell_fidelity(const observe::FidelityListener& listener) {
  for (const observe::Finding& finding : listener.findings()) {
    std::string text =
        fmt::format("fidelity: {} is {}: {}\n  first at {}", finding.name,
                    semantics::name(finding.doubt.fidelity), finding.doubt.note, where(finding.first_pc));
    constexpr const char* kSinks[] = {"an address", "a branch or EXEC", "memory"};
    for (unsigned sink = 0; sink < observe::kSinks; ++sink)
      if (finding.uses[sink] != 0)
        text += fmt::format("\n  reached {}, first at {}", kSinks[sink], where(finding.use_pc[sink]));
    tell_once(text);
  }
}

void Reports::print_statistics() {
  std::vector<std::pair<std::string, Sums>> rows(by_kernel_.begin(), by_kernel_.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.processor_seconds > b.second.processor_seconds;
  });
  Sums all;
  for (const auto& [name, sums] : rows) all.add(sums);
  std::string text = fmt::format("lockstep: {} dispatches of {} kernels in process {}\n", all.dispatches,
                                 rows.size(), getpid());
  text += fmt::format("{:>10} {:>10} {:>12} {:>10} {:>12} {:>18} {:>10}  {}\n", "dispatches", "seconds",
                      "processor s", "transl. s", "waves", "wave-instructions", "translated", "kernel");
  constexpr size_t kMostRows = 40;
  rows.resize(std::min(rows.size(), kMostRows));
  rows.emplace_back("(all)", all);
  for (const auto& [name, sums] : rows)
    text += fmt::format("{:>10} {:>10.3f} {:>12.3f} {:>10.3f} {:>12} {:>18} {:>8.2f} %  {}\n",
                        sums.dispatches, sums.seconds, sums.processor_seconds, sums.translation_seconds,
                        sums.waves, sums.wave_instructions, sums.translated_share(),
                        name.size() > 100 ? name.substr(0, 97) + "..." : name);
  text += fmt::format("{} kernels were translated, {} loaded from what earlier processes left\n",
                      all.translated, all.loaded);
  for (const auto& [what, times] : all.exits)
    text += fmt::format("waves left translated code {} times: {}{}{}\n", times, name_of(what.first),
                        what.second.empty() ? "" : " ", what.second);
  std::fputs(text.c_str(), stderr);
}

nlohmann::ordered_json Reports::json_of(const Sums& sums) {
  Json exits = Json::array();
  for (const auto& [what, times] : sums.exits) {
    exits.push_back({{"reason", name_of(what.first)}, {"times", times}});
    if (!what.second.empty()) exits.back()["instruction"] = what.second;
  }
  return {{"dispatches", sums.dispatches},
          {"seconds", sums.seconds},
          {"kernel_seconds", sums.processor_seconds},
          {"translation_seconds", sums.translation_seconds},
          {"translated", sums.translated},
          {"loaded_from_cache", sums.loaded},
          {"translated_wave_instructions", sums.translated_instructions},
          {"exits", std::move(exits)},
          {"work_groups", sums.work_groups},
          {"waves", sums.waves},
          {"wave_instructions", sums.wave_instructions},
          {"faults", sums.faults}};
}

nlohmann::ordered_json Reports::statistics_of_process() const {
  Json statistics = {{"event", "statistics"}, {"process", getpid()}};
  Sums all;
  Json kernels = Json::array();
  for (const auto& [name, sums] : by_kernel_) {
    all.add(sums);
    kernels.push_back(json_of(sums));
    kernels.back()["kernel"] = name;
  }
  statistics.update(json_of(all));
  statistics["kernels"] = std::move(kernels);
  return statistics;
}

// The program may have damaged its heap, and ends well as long as nobody asks for memory: only what somebody
// wants is made here.
void Reports::finish() {
  std::vector<Json> unfinished;
  Json statistics;
  std::lock_guard log_lock(log_mutex_);
  {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    if (log_ >= 0) {
      for (const Record* const record : running_) {
        unfinished.push_back(record->json());
        unfinished.back()["unfinished"] = true;
        unfinished.back()["seconds"] = record->seconds();
      }
    }
    if (settings_.statistics == "-") print_statistics();
    // Silence would leave open whether anybody has looked.
    if (told_.empty() && !by_kernel_.empty()) {
      if (!settings_.checks.empty() || !settings_.plugins.empty())
        std::fputs("lockstep: check: nothing was found\n", stderr);
      if (settings_.rules) std::fputs("lockstep: rules: none was broken\n", stderr);
      if (settings_.fidelity) std::fputs("lockstep: fidelity: every executed instruction is exact\n", stderr);
    }
    if (statistics_ >= 0) statistics = statistics_of_process();
  }
  for (const Json& json : unfinished) write_line(log_, settings_.log, json);
  if (statistics_ >= 0) write_line(statistics_, settings_.statistics, statistics);
}

}  // namespace lockstep::host

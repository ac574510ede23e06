// What `lockstep exec` tells of a program's dispatches: a log, statistics, rules that were broken,
// instructions that are not exact.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "host/code_objects.h"
#include "host/dumps.h"
#include "machine/dispatch_listener.h"
#include "observe/checks/checks.h"
#include "observe/fidelity/fidelity.h"
#include "observe/memory/blocks.h"

namespace lockstep::host {

struct ReportSettings {
  std::string log;         // file to which a line of JSON is added for each dispatch; empty: none
  std::string statistics;  // likewise one for the process, at its end; "-": as text, to its standard error
  bool fidelity = false;
  bool rules = false;  // that are broken are told
  observe::Checks::Names checks;
  std::vector<std::string> plugins;  // FILE[:ARGUMENTS], for all dispatches of a device
  DumpSettings dumps;

  bool any() const {
    return !log.empty() || !statistics.empty() || fidelity || rules || !checks.empty() || !plugins.empty() ||
           dumps.any();
  }
};

// Safe from several threads.
class Reports {
 public:
  // Throws std::runtime_error if a file cannot be written to. `device` is the model's name.
  Reports(ReportSettings settings, CodeObjects& code_objects, std::string device);
  ~Reports();
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  // For the options of a device, by its number; null if nobody wants to know.
  machine::DispatchListener* listener(unsigned device);
  Dumps& dumps() { return dumps_; }
  // What the program's runtime makes of the memory that was mapped for it.
  observe::Blocks& blocks() { return blocks_; }
  // At the end of the process: the statistics, and in the log what still runs.
  void finish();

 private:
  observe::FindFunction find_function() {
    return [this](uint64_t pc, std::string_view name) { return code_objects_.function(pc, name); };
  }
  class Listener;
  class Record;
  struct Sums {
    uint64_t dispatches = 0, work_groups = 0, waves = 0, wave_instructions = 0, faults = 0;
    double seconds = 0, processor_seconds = 0, translation_seconds = 0;
    uint64_t translated = 0, loaded = 0;   // kernels, the latter from what an earlier process translated
    uint64_t translated_instructions = 0;  // of wave_instructions
    std::map<std::pair<translator::Leave, std::string>, uint64_t> exits;  // of translated code
    void add(const Sums& other);
    double translated_share() const {  // in percent
      return wave_instructions == 0 ? 0
                                    : 100.0 * static_cast<double>(translated_instructions) /
                                          static_cast<double>(wave_instructions);
    }
  };
  using Clock = std::chrono::steady_clock;
  using Json = nlohmann::ordered_json;

  static Json json_of(const Sums& sums);
  Json json_of(const lockstep::Finding& finding);
  void write_line(int file, const std::string& path, const Json& json);
  // `is_over`: else it still runs, but its program was told of a fault.
  void ended(const Record& record, const machine::Outcome& outcome, bool is_over);
  // The kernel or function and its line, as far as they are known.
  std::string where(uint64_t pc);
  // The same, with a line for each function that the instruction was inlined into.
  std::string where_with_callers(uint64_t pc);
  // These functions as an entry of that name, where there are any.
  void add_callers(Json& json, const char* name, uint64_t pc);
  // What it is about is told once.
  void tell_once(const std::string& about, const std::string& text);
  void tell_once(const std::string& text) { tell_once(text, text); }
  void tell_fidelity(const observe::FidelityListener& listener);
  // What a dispatch's checkers found, and its device's since the dispatch that ended before; `by_units`: what
  // units of the precise engine did.
  std::vector<lockstep::Finding> found(const Record& record, const std::vector<lockstep::Finding>& by_units);
  // As text, each finding once in the process.
  void tell(const lockstep::Finding& finding, const std::string& kernel);
  void print_statistics();
  nlohmann::ordered_json statistics_of_process() const;

  const ReportSettings settings_;
  CodeObjects& code_objects_;
  const std::string device_;
  Dumps dumps_;
  observe::Blocks blocks_;
  const Clock::time_point begin_ = Clock::now();
  int log_ = -1, statistics_ = -1;  // descriptors of their own
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::mutex log_mutex_;  // taken before the other one: of each dispatch there is one line
  std::mutex mutex_;
  bool finished_ = false;
  uint64_t next_ = 1;
  std::set<const Record*> running_;
  std::map<std::string, Sums> by_kernel_;
  std::set<std::string> told_;
  std::set<std::tuple<const observe::Checks*, uint64_t, std::string, std::string>> found_of_devices_;
};

}  // namespace lockstep::host

// Interpreter, translator and PoCL on the same OpenCL source. The runs that are compared follow each other,
// so that what else the machine does touches all of them alike; ratios are medians over such rounds.
#include <sched.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/workload.h"

namespace lockstep::bench {
namespace {

struct Settings {
  std::string only, json, file;
  unsigned rounds = 7;
  bool all_threads = false, with_interpreter = true, takes_least = false, by_hand = false;
};

struct WorkloadSet {
  const char *flag, *file;
  std::span<const WorkloadMaker> (*workloads)();
};
constexpr WorkloadSet kSets[] = {
    {"--everyday", "everyday_kernels.h", everyday_workloads},
    {"--further", "further_kernels.h", further_workloads},
    {"--others", "other_kernels.h", other_workloads},
    {"--more", "more_kernels.h", more_workloads},
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

// One thread: processor time of all of the process, which others on the machine change less than the clock.
double now(bool processor_time) {
  if (!processor_time)
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_of(Runner& runner, bool processor_time) {
  const double begin = now(processor_time);
  runner.run();
  return now(processor_time) - begin;
}

// The largest relative difference; of integers the share of words that differ.
double difference(const Workload& workload, const Words& a, const Words& b) {
  if (workload.kind == Workload::Result::integers) {
    size_t count = 0;
    for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
    return static_cast<double>(count) / static_cast<double>(a.size());
  }
  const bool wide = workload.kind == Workload::Result::doubles;
  const auto number = [&](const Words& words, size_t i) {
    if (wide) return std::bit_cast<double>(words[2 * i] | uint64_t{words[2 * i + 1]} << 32);
    return double{std::bit_cast<float>(words[i])};
  };
  double most = 0;
  for (size_t i = 0; i < a.size() / (wide ? 2 : 1); ++i) {
    const double scale = std::max({std::abs(number(a, i)), std::abs(number(b, i)), 1e-2});
    const double here = std::abs(number(a, i) - number(b, i)) / scale;
    if (!(here <= most)) most = here;
  }
  return most;
}

// Each runner has threads of its own: on several processors, of which others keep one busy, the times of
// those that are compared differ by a half.
void stay_on_one_processor() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(std::max(sched_getcpu(), 0)), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) std::perror("warning: cannot stay on one processor");
}

struct Row {
  std::string kernel;
  double first = 0, interpreter = 0, translator = 0, pocl = 0, ratio = 0, over_interpreter = 0;
  double different_from_pocl = 0, interpreted_share = 0;
  double wave_instructions = 0;  // of a run
  bool same_bits = true;
  machine::Translation translation;
};

Row measure(const std::string& name, const Workload& workload, const Settings& settings) {
  Row row;
  row.kernel = name;
  const unsigned threads = settings.all_threads ? 0 : 1;
  const bool processor_time = !settings.all_threads;
  auto translator = lockstep_runner(workload, machine::EngineKind::translator, threads);
  row.first = seconds_of(*translator, processor_time);
  row.translation = translator->translation();
  row.wave_instructions = static_cast<double>(translator->instructions()) * workload.dispatches;
  row.interpreted_share =
      static_cast<double>(row.translation.interpreted) / static_cast<double>(translator->instructions());
  const Words result = translator->result();
  auto pocl = settings.by_hand    ? hand_runner(workload)
              : workload.has_pocl ? pocl_runner(workload, !settings.all_threads)
                                  : nullptr;
  if (pocl) {
    pocl->run();
    row.different_from_pocl = difference(workload, result, pocl->result());
  }
  std::unique_ptr<Runner> interpreter;
  if (settings.with_interpreter) {
    interpreter = lockstep_runner(workload, machine::EngineKind::interpreter, threads);
    row.interpreter = seconds_of(*interpreter, processor_time);
    row.same_bits = interpreter->result() == result;
  }
  std::vector<double> translated, compiled, ratios;
  for (unsigned round = 0; round < settings.rounds; ++round) {
    translated.push_back(seconds_of(*translator, processor_time));
    if (!pocl) continue;
    compiled.push_back(seconds_of(*pocl, processor_time));
    ratios.push_back(compiled.back() / translated.back());
  }
  const auto typical = [&](const std::vector<double>& times) {
    return settings.takes_least ? *std::min_element(times.begin(), times.end()) : median(times);
  };
  row.translator = typical(translated);
  row.over_interpreter = row.interpreter / row.translator;
  if (pocl) {
    row.pocl = typical(compiled);
    row.ratio = settings.takes_least ? row.pocl / row.translator : median(ratios);
  }
  return row;
}

void print(const Row& row) {
  std::printf("%-14s %9.2f %9.2f %9.2f %9.2f %9.2f %8.2f %7zu %8.1f %6.2f %8.3f   %s%s", row.kernel.c_str(),
              row.interpreter * 1e3, row.first * 1e3, row.translator * 1e3, row.pocl * 1e3, row.ratio,
              row.over_interpreter, row.translation.instructions, row.translation.seconds * 1e3,
              row.interpreted_share * 100,
              row.interpreter > 0 ? row.wave_instructions / row.interpreter * 1e-9 : 0,
              row.same_bits ? "" : "BITS DIFFER FROM THE INTERPRETER'S ",
              row.different_from_pocl > 1e-2 ? "RESULTS ARE NOT THE OTHER'S" : "");
  std::printf("\n");
  std::fflush(stdout);
}

void write_json(const std::string& path, const std::vector<Row>& rows, const Settings& settings) {
  nlohmann::ordered_json all;
  all["threads"] = settings.all_threads ? "all" : "1";
  all["rounds"] = settings.rounds;
  for (const Row& row : rows)
    all["kernels"].push_back({{"kernel", row.kernel},
                              {"interpreter_ms", row.interpreter * 1e3},
                              {"first_ms", row.first * 1e3},
                              {"translator_ms", row.translator * 1e3},
                              {"pocl_ms", row.pocl * 1e3},
                              {"ratio", row.ratio},
                              {"instructions", row.translation.instructions},
                              {"wave_instructions", row.wave_instructions},
                              {"translation_ms", row.translation.seconds * 1e3},
                              {"host_bytes", row.translation.host_bytes},
                              {"interpreted_share", row.interpreted_share},
                              {"same_bits", row.same_bits},
                              {"difference_from_pocl", row.different_from_pocl}});
  std::ofstream file(path);
  file << all.dump(2) << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  using namespace lockstep::bench;
  Settings settings;
  CLI::App app("Interpreter, translator and PoCL on the same kernels");
  auto workloads = main_workloads;
  CLI::App* sets = app.add_option_group("kernels", "of another file than kernels.h")->require_option(0, 1);
  for (const WorkloadSet& set : kSets)
    sets->add_flag_callback(set.flag, [&] { workloads = set.workloads; }, set.file);
  sets->add_option("--file", settings.file, "of your own, which this JSON file describes");
  app.add_option("--only", settings.only, "kernels with this in their name");
  app.add_option("--rounds", settings.rounds, "runs of each that the medians are of")
      ->check(CLI::Range(1, 1000));
  app.add_option("--json", settings.json, "a file for the figures");
  app.add_flag("--all-threads", settings.all_threads, "on all processors, by the clock");
  app.add_flag("!--no-interpreter", settings.with_interpreter, "leave the interpreter out, which is slow");
  app.add_flag(
      "--by-hand", settings.by_hand,
      "in PoCL's place: loops that are vectorised by hand for this processor, of the kernels that have "
      "one");
  app.add_flag(
      "--least", settings.takes_least,
      "the least times instead of medians: where others run beside it, they are the ones that repeat");
  CLI11_PARSE(app, argc, argv);
  if (!settings.all_threads) stay_on_one_processor();
  try {
    std::vector<WorkloadMaker> own;
    if (!settings.file.empty()) own = own_kernels(settings.file);
    const std::span<const WorkloadMaker> makers = settings.file.empty() ? workloads() : own;
    std::printf("milliseconds, %s\n", settings.all_threads ? "all threads" : "one thread, processor time");
    std::printf("%-14s %9s %9s %9s %9s %9s %8s %7s %8s %6s %8s\n", "kernel", "interp.", "first run",
                "translated", settings.by_hand ? "by hand" : "PoCL", "ratio", "int./tr.", "instrs", "transl.",
                "int. %", "int. G/s");
    std::vector<Row> rows;
    for (const WorkloadMaker& maker : makers) {
      if (maker.name.find(settings.only) == std::string::npos) continue;
      try {
        const Workload workload = maker.make();
        if (settings.by_hand && !hand_runner(workload)) continue;
        rows.push_back(measure(maker.name, workload, settings));
      } catch (const std::exception& error) {
        const std::string where = settings.file.empty() ? "" : settings.file + ": ";
        throw std::runtime_error(where + "kernel '" + maker.name + "': " + error.what());
      }
      print(rows.back());
    }
    std::vector<double> ratios;
    for (const Row& row : rows)
      if (row.ratio > 0) ratios.push_back(row.ratio);
    if (!ratios.empty())
      std::printf("%s / translator: geometric mean %.2f, least %.2f, of %zu kernels\n",
                  settings.by_hand ? "by hand" : "PoCL", geometric_mean(ratios),
                  *std::min_element(ratios.begin(), ratios.end()), ratios.size());
    if (!settings.json.empty()) write_json(settings.json, rows, settings);
    return std::all_of(rows.begin(), rows.end(),
                       [](const Row& row) { return row.same_bits && row.different_from_pocl <= 1e-2; })
               ? 0
               : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

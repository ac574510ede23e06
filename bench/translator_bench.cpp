// Interpreter, translator and PoCL on the same OpenCL source, repetitions interleaved at random; ratios of
// the medians at the end.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "bench/workload.h"

namespace lockstep::bench {
namespace {

constexpr unsigned kRepetitions = 15;

enum class Contestant { interpreter, translator, pocl };
constexpr const char* kNames[] = {"interpreter", "translator", "pocl"};

using Times = std::map<std::string, std::vector<double>>;
std::map<std::string, Times>& all_times() {
  static std::map<std::string, Times> times;
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void add(const Workload& workload, Contestant contestant, bool one_thread) {
  const std::string who =
      std::string(kNames[static_cast<int>(contestant)]) + (one_thread ? "/1 thread" : "/all threads");
  auto make = [&workload, contestant, one_thread]() -> std::shared_ptr<Runner> {
    if (contestant == Contestant::pocl) return pocl_runner(workload, one_thread);
    return lockstep_runner(workload,
                           contestant == Contestant::translator ? machine::EngineKind::translator
                                                                : machine::EngineKind::interpreter,
                           one_thread ? 1 : 0);
  };
  auto runner = std::make_shared<std::shared_ptr<Runner>>();
  benchmark::RegisterBenchmark((workload.kernel + "/" + who).c_str(),
                               [=, &workload](benchmark::State& state) {
                                 if (!*runner) {
                                   *runner = make();
                                   // Compiled, and memory touched.
                                   if (*runner) (*runner)->run();
                                 }
                                 if (!*runner) {
                                   state.SkipWithError("no PoCL here");
                                   return;
                                 }
                                 for (auto _ : state) {
                                   const double seconds = (*runner)->run();
                                   state.SetIterationTime(seconds);
                                   all_times()[workload.kernel][who].push_back(seconds);
                                 }
                               })
      ->Iterations(1)
      ->Repetitions(kRepetitions)
      ->ReportAggregatesOnly(true)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

// Medians, and the best of each where the machine is busy with other things.
void print_ratios() {
  std::printf("\n%-12s %-12s %14s %14s %14s   %s\n", "kernel", "threads", "interpreter", "translator", "PoCL",
              "PoCL / translator: medians, best");
  for (const auto& [kernel, times] : all_times()) {
    for (const char* threads : {"1 thread", "all threads"}) {
      std::array<double, 3> medians{}, best{};
      bool complete = true;
      for (size_t i = 0; i < medians.size(); ++i) {
        const auto found = times.find(std::string(kNames[i]) + "/" + threads);
        complete &= found != times.end();
        if (found == times.end()) continue;
        medians[i] = median(found->second);
        best[i] = *std::min_element(found->second.begin(), found->second.end());
      }
      std::printf("%-12s %-12s %11.2f ms %11.2f ms %11.2f ms   ", kernel.c_str(), threads, medians[0] * 1e3,
                  medians[1] * 1e3, medians[2] * 1e3);
      if (complete)
        std::printf("%.2f, %.2f\n", medians[2] / medians[1], best[2] / best[1]);
      else
        std::printf("-\n");
    }
  }
}

// How much faster four independent copies of the work are done side by side than one after the other: what
// the machine itself gives at this moment, whatever a program does.
double machine_scaling(std::vector<std::shared_ptr<Runner>>& copies, double alone) {
  std::vector<std::thread> threads;
  const auto begin = std::chrono::steady_clock::now();
  for (auto& copy : copies) threads.emplace_back([&copy] { copy->run(); });
  for (std::thread& thread : threads) thread.join();
  const double together = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return alone * static_cast<double>(copies.size()) / together;
}

// The interpreter's rate, and what more threads bring. Runs that are compared follow each other, so that the
// machine's own changes of speed touch all of them.
void print_interpreter(const std::vector<Workload>& workloads) {
  constexpr unsigned kThreads = 4;
  std::printf("\n%-12s %18s %18s %18s   %s\n", "interpreter", "wave-instructions", "1 thread", "4 threads",
              "scaling: median, best; 4 independent copies: median, best");
  for (const Workload& workload : workloads) {
    auto one = lockstep_runner(workload, machine::EngineKind::interpreter, 1);
    auto four = lockstep_runner(workload, machine::EngineKind::interpreter, kThreads);
    std::vector<std::shared_ptr<Runner>> copies;
    for (unsigned i = 0; i < kThreads; ++i)
      copies.push_back(lockstep_runner(workload, machine::EngineKind::interpreter, 1));
    std::vector<double> single, several, ratios, limits;
    for (unsigned i = 0; i < kRepetitions; ++i) {
      single.push_back(one->run());
      several.push_back(four->run());
      ratios.push_back(single.back() / several.back());
      limits.push_back(machine_scaling(copies, single.back()));
    }
    const double count = static_cast<double>(one->instructions());
    std::printf("%-12s %16.1f M %14.1f M/s %14.1f M/s   %.2f, %.2f; %.2f, %.2f\n", workload.kernel.c_str(),
                count * 1e-6, count * 1e-6 / median(single), count * 1e-6 / median(several), median(ratios),
                *std::max_element(ratios.begin(), ratios.end()), median(limits),
                *std::max_element(limits.begin(), limits.end()));
  }
}

// What translation costs, and that both engines leave the same bits.
void print_translation(const std::vector<Workload>& workloads) {
  std::printf("\n%-12s %14s %14s %16s %14s\n", "kernel", "instructions", "translated in", "per instruction",
              "host code");
  for (const Workload& workload : workloads) {
    auto translator = lockstep_runner(workload, machine::EngineKind::translator, 1);
    auto interpreter = lockstep_runner(workload, machine::EngineKind::interpreter, 1);
    translator->run();
    interpreter->run();
    const auto a = translator->result(), b = interpreter->result();
    const bool same = std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    const machine::Translation translation = translator->translation();
    std::printf("%-12s %14zu %11.2f ms %13.3f ms %8zu bytes   %s\n", workload.kernel.c_str(),
                translation.instructions, translation.seconds * 1e3,
                translation.seconds * 1e3 / static_cast<double>(translation.instructions),
                translation.host_bytes,
                same ? "bits equal the interpreter's" : "BITS DIFFER FROM THE INTERPRETER'S");
  }
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  using namespace lockstep::bench;
  const std::vector<Workload> workloads = {mandelbrot(), saxpy(), sgemm()};
  for (const Workload& workload : workloads)
    for (const bool one_thread : {true, false})
      for (const Contestant contestant : {Contestant::interpreter, Contestant::translator, Contestant::pocl})
        add(workload, contestant, one_thread);
  std::vector<char*> arguments(argv, argv + argc);
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  arguments.insert(arguments.begin() + 1, interleave.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  print_ratios();
  print_interpreter(workloads);
  print_translation(workloads);
  return 0;
}

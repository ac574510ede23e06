// What each checker costs: the time of the examples' dispatches with it, as a multiple of that of the plain
// interpreter (docs/findings.md).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/examples/example_run.h"

namespace lockstep::examples {
namespace {

struct Subject {
  std::string name;
  Example example;
  Bytes code;
  double plain = INFINITY;
};

constexpr double kShortest = 0.001;  // of a plain run, in seconds: below that the beginning of a run counts

// Of the processor: others may be busy with the machine.
double seconds(const Subject& subject, const char* checks) {
  RunRequest request;
  request.device.engine = LOCKSTEP_ENGINE_INTERPRETER;
  request.device.threads = 1;
  request.options.checks = checks;
  const RunResult result = run(subject.example, subject.code, request);
  if (result.status != LOCKSTEP_OK) throw std::runtime_error(subject.name + ": " + result.error);
  return result.processor_seconds;
}

struct Wanted {
  std::vector<std::string> checkers;
  std::string part_of_name;  // of the code objects
  int runs = 3;
  bool is_each_told = false;
};

// The best of several runs by the best plain one, which take turns.
double ratio_of(Subject& subject, const char* checks, int runs) {
  double best = INFINITY;
  for (int i = 0; i < runs; ++i) {
    subject.plain = std::min(subject.plain, seconds(subject, nullptr));
    best = std::min(best, seconds(subject, checks));
  }
  return best / subject.plain;
}

void compare_all(const Wanted& wanted) {
  std::vector<Subject> subjects;
  for (const Entry& entry : registry())
    for (const unsigned wave_size : {32u, 64u}) {
      const std::string name = std::string(entry.name) + ".O2.wave" + std::to_string(wave_size);
      Subject subject{name, entry.make(wave_size), read_file(LOCKSTEP_EXAMPLE_KERNELS "/" + name + ".co")};
      if (name.find(wanted.part_of_name) == name.npos) continue;
      for (int i = 0; i < wanted.runs; ++i)
        subject.plain = std::min(subject.plain, seconds(subject, nullptr));
      if (subject.plain >= kShortest) subjects.push_back(std::move(subject));
    }
  std::printf("%zu code objects\n%-14s %15s %8s\n", subjects.size(), "checker", "geometric mean", "worst");
  for (const std::string& checks : wanted.checkers) {
    double logarithms = 0, worst = 0;
    std::string slowest;
    for (Subject& subject : subjects) {
      const double ratio = ratio_of(subject, checks.c_str(), wanted.runs);
      logarithms += std::log(ratio);
      if (wanted.is_each_told)
        std::printf("  %-12s %8.2f ms %8.2f (%s)\n", checks.c_str(), 1e3 * subject.plain, ratio,
                    subject.name.c_str());
      if (ratio > worst) worst = ratio, slowest = subject.name;
    }
    std::printf("%-14s %15.2f %8.2f (%s)\n", checks.c_str(),
                std::exp(logarithms / static_cast<double>(subjects.size())), worst, slowest.c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace lockstep::examples

// With names of checkers only these. Before them: --each, what each code object takes; --only TEXT, those
// code objects that have it in their names; --runs N, the best of so many.
int main(int argc, char** argv) {
  try {
    lockstep::examples::Wanted wanted;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--each")
        wanted.is_each_told = true;
      else if (argument == "--only" && i + 1 < argc)
        wanted.part_of_name = argv[++i];
      else if (argument == "--runs" && i + 1 < argc)
        wanted.runs = std::max(1, std::atoi(argv[++i]));
      else
        wanted.checkers.push_back(argument);
    }
    if (wanted.checkers.empty())
      wanted.checkers = {"barriers", "memory", "races", "uninitialised", "waits", "legality", "all"};
    lockstep::examples::compare_all(wanted);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

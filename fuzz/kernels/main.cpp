// lockstep-kernel-fuzz: random kernels, compiled by clang for gfx1100 and for the host, must give the same
// bits.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "fuzz/kernels/emit.h"
#include "fuzz/kernels/generate.h"
#include "fuzz/kernels/report.h"
#include "fuzz/kernels/run.h"
#include "fuzz/kernels/shrink.h"

namespace {

using namespace lockstep::kernel_fuzz;
using Clock = std::chrono::steady_clock;

// So many kernels share one run of the compiler, whose start costs as much as several of them.
constexpr unsigned kBatch = 20;
// Batches of which one goes to the translator; shares no factor with the number of levels.
constexpr unsigned kMixed = 5;

struct Options {
  uint64_t seed = 1;
  uint64_t count = 100;
  unsigned jobs = 0;
  double seconds = 0;
  double shrink_seconds = 120;
  Size size = Size::usual;
  std::string wave = "all", level = "all", engine = "interpreter", variants = "all", checks;
  bool go_on = false, print = false, quiet = false;
};

const std::map<std::string, Size> kSizes = {{"usual", Size::usual}, {"small", Size::small}};

const char* name(lockstep_engine engine) {
  return engine == LOCKSTEP_ENGINE_TRANSLATOR ? "translator" : "interpreter";
}

std::vector<Variant> variants(const Options& options) {
  std::vector<Variant> result;
  for (unsigned level = 0; level < 4; ++level)
    for (const unsigned wave_size : {32u, 64u})
      if ((options.level == "all" || options.level == std::to_string(level)) &&
          (options.wave == "all" || options.wave == std::to_string(wave_size)))
        result.push_back({level, wave_size});
  return result;
}

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Campaign {
 public:
  explicit Campaign(const Options& options) : options_(options), variants_(variants(options)) {}

  int run() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options_.jobs; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    progress(true);
    if (!error_.empty()) {
      fprintf(stderr, "lockstep-kernel-fuzz: %s\n", error_.c_str());
      return 2;
    }
    if (failures_.empty()) return 0;
    for (const auto& [seed, outcome] : failures_)
      printf("seed %llu, %s: %s\n", static_cast<unsigned long long>(seed), outcome.variant.name().c_str(),
             describe(outcome).c_str());
    explain(failures_.begin()->first, failures_.begin()->second);
    return 1;
  }

 private:
  void work() {
    try {
      Runner interpreter(LOCKSTEP_ENGINE_INTERPRETER, options_.checks),
          translator(LOCKSTEP_ENGINE_TRANSLATOR);
      while (!stop_) {
        const uint64_t first = next_.fetch_add(kBatch);
        if (first >= options_.count || (options_.seconds > 0 && since(start_) > options_.seconds)) return;
        const bool translates =
            options_.engine == "mixed" ? first / kBatch % kMixed == 0 : options_.engine == "translator";
        batch(translates ? translator : interpreter, first,
              std::min<uint64_t>(options_.count, first + kBatch));
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      error_ = error.what();
      stop_ = true;
    }
  }

  // By the batch, so that the same kernel gets the same ones in every run.
  std::vector<Variant> variants_of(uint64_t batch) const {
    if (options_.variants == "all") return variants_;
    if (options_.variants == "one") return {variants_[batch % variants_.size()]};
    std::vector<Variant> chosen;
    for (const unsigned wave_size : {32u, 64u}) {
      std::vector<Variant> levels;
      for (const Variant variant : variants_)
        if (variant.wave_size == wave_size) levels.push_back(variant);
      // The wave sizes' levels go round at different speeds, so all pairs of them come.
      if (!levels.empty()) chosen.push_back(levels[(wave_size == 32 ? batch : batch / 4) % levels.size()]);
    }
    return chosen;
  }

  void batch(Runner& runner, uint64_t first, uint64_t last) {
    std::vector<Kernel> kernels;
    for (uint64_t i = first; i < last; ++i) kernels.push_back(generate(options_.seed + i, options_.size));
    std::vector<const Kernel*> pointers;
    for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
    const std::vector<Variant> chosen = variants_of(first / kBatch);
    const std::vector<Outcome> outcomes = runner.run(pointers, chosen);
    const std::lock_guard lock(mutex_);
    done_ += last - first;
    runs_ += (last - first) * chosen.size();
    for (size_t i = 0; i < outcomes.size(); ++i) {
      translated_ += outcomes[i].translated;
      if (outcomes[i].kind == Outcome::Kind::same) continue;
      failures_[kernels[i].seed] = outcomes[i];
      fprintf(stderr, "\rseed %llu, %s: %s\n", static_cast<unsigned long long>(kernels[i].seed),
              outcomes[i].variant.name().c_str(), describe(outcomes[i]).c_str());
      if (!options_.go_on) stop_ = true;
    }
    progress(false);
  }

  void progress(bool last) {
    if (options_.quiet && !last) return;
    const double seconds = since(start_);
    fprintf(stderr,
            "\r%llu of %llu kernels, %llu runs (%llu translated), %zu failures, %.1f s, %.1f kernels/s%s",
            static_cast<unsigned long long>(done_), static_cast<unsigned long long>(options_.count),
            static_cast<unsigned long long>(runs_), static_cast<unsigned long long>(translated_),
            failures_.size(), seconds, double(done_) / seconds, last ? "\n" : "");
    fflush(stderr);
  }

  // Which variants are wrong, a small kernel that shows it, and all there is to see of it.
  void explain(uint64_t seed, const Outcome& outcome) {
    Runner runner(outcome.engine, options_.checks);
    const Kernel whole = generate(seed, options_.size);
    const Kernel* const one[] = {&whole};
    printf("\nseed %llu in each variant:\n", static_cast<unsigned long long>(seed));
    for (const Variant variant : variants(Options{})) {
      const Variant only[] = {variant};
      printf("  %-11s %s\n", variant.name().c_str(), describe(runner.run(one, only)[0]).c_str());
    }
    fflush(stdout);
    const Variant only[] = {outcome.variant};
    const Judge judge = [&](const std::vector<const Kernel*>& kernels) {
      std::vector<bool> shows;
      for (const Outcome& now : runner.run(kernels, only)) shows.push_back(now.kind == outcome.kind);
      return shows;
    };
    fprintf(stderr, "shrinking seed %llu ...\n", static_cast<unsigned long long>(seed));
    const Kernel small = shrink(whole, judge, options_.shrink_seconds);
    printf("\nshrunk from %u to %u statements and expressions\n", size(whole), size(small));
    printf("%s", report(small, runner.details(small, outcome.variant)).c_str());
    printf("\nagain: lockstep-kernel-fuzz --seed %llu --count 1%s --level %u --wave %u --%s %s\n",
           static_cast<unsigned long long>(seed), options_.size == Size::small ? " --size small" : "",
           outcome.variant.level, outcome.variant.wave_size, options_.checks.empty() ? "engine" : "check",
           options_.checks.empty() ? name(outcome.engine) : options_.checks.c_str());
  }

  const Options options_;
  const std::vector<Variant> variants_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<uint64_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  uint64_t done_ = 0, runs_ = 0, translated_ = 0;
  std::map<uint64_t, Outcome> failures_;
  std::string error_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.jobs = std::max(1u, std::thread::hardware_concurrency());
  CLI::App app(
      "Compiles random kernels for gfx1100 and for the host, runs both and compares all that they write.");
  app.add_option("--seed", options.seed, "seed of the first kernel; the next one's is one more")
      ->capture_default_str();
  app.add_option("--count", options.count, "kernels")->capture_default_str();
  app.add_option("--jobs", options.jobs, "threads, each with compilers of its own")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--time", options.seconds, "begin nothing new after so many seconds");
  app.add_option("--size", options.size,
                 "usual, or small, of which many more are compiled and run in the same time")
      ->transform(CLI::CheckedTransformer(kSizes))
      ->default_str("usual");
  app.add_option("--wave", options.wave, "wave size")
      ->check(CLI::IsMember({"32", "64", "all"}))
      ->capture_default_str();
  app.add_option("--level", options.level, "optimisation level")
      ->check(CLI::IsMember({"0", "1", "2", "3", "all"}))
      ->capture_default_str();
  app.add_option("--variants", options.variants,
                 "what each kernel is compiled to of the wave sizes and levels: all of them, a pair (one of "
                 "each wave "
                 "size), or one; the levels take turns")
      ->check(CLI::IsMember({"all", "pair", "one"}))
      ->capture_default_str();
  app.add_option("--engine", options.engine, "engine; mixed: a fifth of the kernels goes to the translator")
      ->check(CLI::IsMember({"interpreter", "translator", "mixed"}))
      ->capture_default_str();
  app.add_option("--check", options.checks,
                 "checkers that follow the kernels, with commas between them, or all: what they find is a "
                 "failure")
      ->excludes("--engine");
  app.add_option("--shrink-time", options.shrink_seconds, "seconds for making a failing kernel small")
      ->capture_default_str();
  app.add_flag("--keep-going", options.go_on, "list all failing seeds; the first one is shrunk");
  app.add_flag("--print", options.print, "print the source of the first kernel and do nothing else");
  app.add_flag("--quiet", options.quiet, "no progress line");
  CLI11_PARSE(app, argc, argv);
  if (options.print) {
    const Kernel kernel = generate(options.seed, options.size);
    const Kernel* const one[] = {&kernel};
    printf("%s\n%s", emit(one, Target::device).c_str(), emit(one, Target::host).c_str());
    return 0;
  }
  try {
    return Campaign(options).run();
  } catch (const std::exception& error) {
    fprintf(stderr, "lockstep-kernel-fuzz: %s\n", error.what());
    return 2;
  }
}

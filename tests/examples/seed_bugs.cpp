// Puts mistakes into the compiled examples, one at a time, and says how many of them the checkers find: the
// table in docs/findings.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>

#include "tests/examples/seeding.h"

namespace lockstep::examples {
namespace {

struct Options {
  std::vector<std::string> examples;
  std::vector<unsigned> levels{0, 2}, wave_sizes{32, 64};
  std::vector<std::string> mistakes;
  size_t most = 6;
  uint64_t most_instructions = 400000;
  bool tells_all = false;
};

struct Tally {
  unsigned mutants = 0, mistakes = 0, found = 0, others = 0, found_others = 0, without_effect = 0,
           found_without_effect = 0;
};

bool wants(const std::vector<std::string>& list, std::string_view name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

class Seeding {
 public:
  explicit Seeding(const Options& options) : options_(options) {}

  void run_all() {
    for (const Entry& entry : registry())
      for (const unsigned level : options_.levels)
        for (const unsigned wave_size : options_.wave_sizes)
          if (wants(options_.examples, entry.name)) run_variant(entry, level, wave_size);
  }

  void print() const {
    std::printf("\n%-26s %8s %9s %6s %7s | %13s %6s | %9s %6s\n", "mistake", "mutants", "mistakes", "found",
                "recall", "other meaning", "found", "no effect", "found");
    for (const auto& [mistake, tally] : tallies_)
      std::printf("%-26s %8u %9u %6u %6.1f%% | %13u %6u | %9u %6u\n", std::string(name(mistake)).c_str(),
                  tally.mutants, tally.mistakes, tally.found,
                  tally.mistakes ? 100.0 * tally.found / tally.mistakes : 100.0, tally.others,
                  tally.found_others, tally.without_effect, tally.found_without_effect);
    std::printf("\nmissed: %zu\n%s", missed_.size(), missed_.empty() ? "" : "\n");
    for (const std::string& line : missed_) std::printf("%s\n", line.c_str());
    for (const std::string& line : left_out_) std::printf("%s\n", line.c_str());
  }

 private:
  void run_variant(const Entry& entry, unsigned level, unsigned wave_size) {
    const std::string variant =
        std::string(entry.name) + ".O" + std::to_string(level) + ".wave" + std::to_string(wave_size);
    const std::string path = LOCKSTEP_EXAMPLE_KERNELS "/" + variant + ".co";
    if (!std::filesystem::exists(path))
      throw std::runtime_error(path + ": there is none; build the target every_example_kernel");
    const Bytes code = read_file(path);
    const Example example = entry.make(wave_size);
    const RunResult plain = run(example, code);
    if (plain.status != LOCKSTEP_OK || !plain.difference(example).empty())
      throw std::runtime_error(variant + ": fails as it is: " + plain.error);
    if (plain.instructions > options_.most_instructions) {
      left_out_.push_back("left out: " + variant + ", " + std::to_string(plain.instructions) +
                          " wave-instructions");
      return;
    }
    const std::vector<Mutant> mutants = mutants_of(code, wave_size);
    for (const Mistake mistake : kMistakes)
      if (wants(options_.mistakes, name(mistake)))
        for (const Mutant* mutant : choose(mutants, mistake, options_.most))
          try_mutant(variant, example, code, *mutant, 4 * plain.instructions + 10000);
  }

  void try_mutant(const std::string& variant, const Example& example, const Bytes& code, const Mutant& mutant,
                  uint64_t instructions) {
    const std::vector<std::byte> mutated = mutant.apply(code);
    const Judgement judgement = judge(example, mutant, mutated, instructions);
    const std::string finding = found(example, mutant, mutated, instructions);
    Tally& tally = tallies_[mutant.mistake];
    ++tally.mutants;
    const bool is_found = !finding.empty();
    const char* effect = "no effect";
    switch (judgement.effect) {
      case Effect::none:
        ++tally.without_effect;
        tally.found_without_effect += is_found;
        break;
      case Effect::other_meaning:
        effect = "other meaning";
        ++tally.others;
        tally.found_others += is_found;
        break;
      case Effect::mistake:
        effect = "mistake";
        ++tally.mistakes;
        tally.found += is_found;
        break;
    }
    char place[32];
    std::snprintf(place, sizeof place, " + 0x%llx: ", static_cast<unsigned long long>(mutant.offset));
    const std::string line = variant + ": " + mutant.function + place + mutant.instruction + ": " +
                             mutant.change + (judgement.how.empty() ? "" : "\n    " + judgement.how);
    if (judgement.effect == Effect::mistake && !is_found)
      missed_.push_back(std::string(name(mutant.mistake)) + ": " + line);
    if (options_.tells_all)
      std::fprintf(stderr, "%s, %s, %s: %s%s\n", std::string(name(mutant.mistake)).c_str(), effect,
                   is_found ? "found" : "missed", line.c_str(), is_found ? ("\n    " + finding).c_str() : "");
  }

  const Options options_;
  std::map<Mistake, Tally> tallies_;
  std::vector<std::string> missed_, left_out_;
};

}  // namespace
}  // namespace lockstep::examples

int main(int argc, char** argv) {
  using namespace lockstep::examples;
  Options options;
  CLI::App app("Puts mistakes into the compiled examples and counts those that the checkers find");
  app.add_option("--example", options.examples, "names of examples (all)");
  app.add_option("--level", options.levels, "optimisation levels")->capture_default_str();
  app.add_option("--wave", options.wave_sizes, "wave sizes")->capture_default_str();
  app.add_option("--mistake", options.mistakes, "names of mistakes as in the table (all)");
  app.add_option("--most", options.most, "mutants of each mistake from one code object; 0: all of them")
      ->capture_default_str();
  app.add_option("--most-instructions", options.most_instructions,
                 "leave out code objects of which a plain run takes more wave-instructions")
      ->capture_default_str();
  app.add_flag("--all", options.tells_all, "tell of each mutant on the standard error");
  CLI11_PARSE(app, argc, argv);
  try {
    Seeding seeding(options);
    seeding.run_all();
    seeding.print();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

// Every example at optimisation levels and wave sizes against its host reference, through the C interface.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "api/lockstep.hpp"
#include "examples/example.h"
#include "tests/examples/seeding.h"
#include "tests/sweep.h"

namespace lockstep::examples {
namespace {

void run_example(const Example& example, const std::string& path, const RunRequest& request = {}) {
  const RunResult result = run(example, read_file(path), request);
  ASSERT_EQ(result.status, LOCKSTEP_OK) << result.error;
  for (const CheckFinding& finding : result.findings)
    ADD_FAILURE() << finding.kernel << " + 0x" << std::hex << finding.offset << std::dec << ": "
                  << finding.instruction << " (" << finding.file << ":" << finding.line << ")\n"
                  << finding.rule << "\n"
                  << finding.detail << "\n"
                  << finding.count << " times";
  EXPECT_EQ(result.difference(example), "");
}

struct Variant {
  Entry entry;
  unsigned level;
  unsigned wave_size;

  std::string name() const {
    return std::string(entry.name) + "_O" + std::to_string(level) + "_wave" + std::to_string(wave_size);
  }
  std::string code_object() const {
    return LOCKSTEP_EXAMPLE_KERNELS "/" + std::string(entry.name) + ".O" + std::to_string(level) + ".wave" +
           std::to_string(wave_size) + ".co";
  }
};

// What GoogleTest shows of the parameter of a failed test.
void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.name();
}

std::vector<Variant> variants(const std::vector<unsigned>& levels = test::levels_of_sweep()) {
  std::vector<Variant> all;
  for (const Entry& entry : registry())
    for (const unsigned level : levels)
      for (const unsigned wave_size : {32u, 64u}) all.push_back({entry, level, wave_size});
  return all;
}

class ExampleTest : public testing::TestWithParam<Variant> {};

TEST_P(ExampleTest, EqualsItsReference) {
  run_example(GetParam().entry.make(GetParam().wave_size), GetParam().code_object());
}

INSTANTIATE_TEST_SUITE_P(All, ExampleTest, testing::ValuesIn(variants()),
                         [](const auto& info) { return info.param.name(); });

// What a compiler has written waits for its results and invalidates its caches, so nothing of this may show.
// Every missing wait that the checker finds would be its own mistake.
struct Machine {
  const char* name;
  lockstep_results results = LOCKSTEP_RESULTS_NOW;
  uint64_t seed = 0;
  lockstep_caches caches = LOCKSTEP_CACHES_COHERENT;
  lockstep_rules rules = LOCKSTEP_RULES_IGNORE;
  lockstep_order order = LOCKSTEP_ORDER_FORWARD;
  lockstep_engine engine = LOCKSTEP_ENGINE_INTERPRETER;
};
void PrintTo(const Machine& machine, std::ostream* out) {
  *out << machine.name;
}

class MachineTest : public testing::TestWithParam<std::tuple<Machine, Variant>> {};

TEST_P(MachineTest, EqualsItsReference) {
  const auto& [machine, variant] = GetParam();
  RunRequest request;
  request.options.results = machine.results;
  request.options.results_seed = machine.seed;
  request.options.caches = machine.caches;
  request.options.rules = machine.rules;
  request.options.order = machine.order;
  request.options.order_seed = machine.seed;
  request.device.engine = machine.engine;
  run_example(variant.entry.make(variant.wave_size), variant.code_object(), request);
}

std::string machine_test_name(const testing::TestParamInfo<std::tuple<Machine, Variant>>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name();
}

std::vector<Machine> random_machines() {
  static constexpr const char* kNames[] = {"random0", "random1", "random2"};
  std::vector<Machine> machines;
  for (const char* name : kNames)
    machines.push_back({.name = name, .results = LOCKSTEP_RESULTS_RANDOM, .seed = machines.size()});
  if (!test::has_whole_sweeps()) machines.resize(1);
  return machines;
}

INSTANTIATE_TEST_SUITE_P(
    All, MachineTest,
    testing::Combine(testing::Values(Machine{.name = "late", .results = LOCKSTEP_RESULTS_LATE},
                                     Machine{.name = "incoherent", .caches = LOCKSTEP_CACHES_INCOHERENT},
                                     Machine{.name = "rules", .rules = LOCKSTEP_RULES_FAULT},
                                     Machine{.name = "backward", .order = LOCKSTEP_ORDER_BACKWARD},
                                     Machine{.name = "backward_translated",
                                             .order = LOCKSTEP_ORDER_BACKWARD,
                                             .engine = LOCKSTEP_ENGINE_TRANSLATOR},
                                     Machine{
                                         .name = "random_order", .seed = 1, .order = LOCKSTEP_ORDER_RANDOM}),
                     testing::ValuesIn(variants({2}))),
    machine_test_name);
INSTANTIATE_TEST_SUITE_P(Random, MachineTest,
                         testing::Combine(testing::ValuesIn(random_machines()),
                                          testing::ValuesIn(variants({2}))),
                         machine_test_name);

// The examples are right, so the checkers have nothing to say of them but notes.
class CheckTest : public testing::TestWithParam<Variant> {};

TEST_P(CheckTest, FindsNothing) {
  RunRequest request;
  request.options.checks = "all";
  run_example(GetParam().entry.make(GetParam().wave_size), GetParam().code_object(), request);
}

std::vector<Variant> checked_variants() {
  if (test::has_whole_sweeps()) return variants();
  std::vector<Variant> some = variants({2});
  std::erase_if(some, [](const Variant& variant) { return variant.wave_size == 64; });
  return some;
}

INSTANTIATE_TEST_SUITE_P(All, CheckTest, testing::ValuesIn(checked_variants()),
                         [](const auto& info) { return info.param.name(); });

// A few of what lockstep-seed-bugs tries: it counts all.
// Nor is anything said of the code by itself, at any level.
TEST(CodeOfExamples, HasNoMistakesThatCanBeSeenWithoutARun) {
  for (const Variant& variant : variants()) {
    const lockstep::CodeObject code = lockstep::CodeObject::open(variant.code_object());
    lockstep_code_check* check = nullptr;
    ASSERT_EQ(lockstep_code_object_check(code.get(), nullptr, nullptr, &check), LOCKSTEP_OK)
        << lockstep_last_error();
    for (uint32_t i = 0; i < lockstep_code_check_finding_count(check); ++i) {
      lockstep_check_finding finding{};
      finding.struct_size = sizeof finding;
      ASSERT_EQ(lockstep_code_check_finding(check, i, &finding), LOCKSTEP_OK);
      EXPECT_EQ(finding.severity, LOCKSTEP_SEVERITY_NOTE)
          << variant.code_object() << ": " << finding.where.function << "+" << finding.where.offset << ": "
          << finding.rule;
    }
    lockstep_code_check_destroy(check);
  }
}

TEST(SeededBugs, AreFound) {
  std::map<Mistake, unsigned> mistakes;
  for (const Entry& entry : registry()) {
    if (entry.name != "scan_subgroup" && entry.name != "transpose" && entry.name != "bitonic_sort") continue;
    const Variant variant{entry, 2, 32};
    const Bytes code = read_file(variant.code_object());
    const Example example = entry.make(32);
    const uint64_t instructions = 4 * run(example, code).instructions;
    const std::vector<Mutant> mutants = mutants_of(code, 32);
    for (const Mistake mistake : kMistakes)
      for (const Mutant* mutant : choose(mutants, mistake, 2)) {
        const std::vector<std::byte> mutated = mutant->apply(code);
        const Judgement judgement = judge(example, *mutant, mutated, instructions);
        if (judgement.effect != Effect::mistake) continue;
        ++mistakes[mistake];
        EXPECT_NE(found(example, *mutant, mutated, instructions), "")
            << variant.name() << ", " << mutant->function << " + " << mutant->offset << ", "
            << mutant->instruction << ", " << name(mistake) << ": " << judgement.how;
      }
  }
  for (const Mistake mistake : {Mistake::barrier, Mistake::store, Mistake::initialisation, Mistake::wait})
    EXPECT_GE(mistakes[mistake], 2u) << name(mistake);
}

// A comparison that cannot fail proves nothing.
TEST(Compare, FindsWhatIsWrong) {
  Example example;
  const Argument buffer = example.add_buffer(std::vector<float>{1, 2, 3});
  example.expect(buffer, std::vector<float>{1, 2, 3});
  example.expect(buffer, std::vector<float>{1, 2.5f, 3}, {.absolute = 0.25, .why = "a quarter"});
  example.expect(buffer, std::vector<float>{1, 2.5f, 3}, {.relative = 0.25, .why = "a quarter"});
  EXPECT_EQ(compare(example.expectations[0], example.buffers[0]), "");
  EXPECT_EQ(compare(example.expectations[1], example.buffers[0]),
            "buffer 0: element 1 is 2, not 2.5 (bound: a quarter); 1 of 3 elements differ");
  EXPECT_EQ(compare(example.expectations[2], example.buffers[0]), "");
  EXPECT_NE(compare(example.expectations[0], std::span(example.buffers[0]).first(8)), "");
  const Bytes negative_zero = bytes_of(std::span<const float>(std::vector<float>{-0.0f}));
  EXPECT_NE(
      compare({0, Element::f32, bytes_of(std::span<const float>(std::vector<float>{0})), {}}, negative_zero),
      "");
}

}  // namespace
}  // namespace lockstep::examples

// Every example at every optimisation level and wave size against its host reference, through the C
// interface.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "api/lockstep.h"
#include "examples/example.h"
#include "tests/sweep.h"

namespace lockstep::examples {
namespace {

#define ASSERT_LOCKSTEP(call) ASSERT_EQ(call, LOCKSTEP_OK) << lockstep_last_error()

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const {
    destroy(object);
  }
};
using CodeObject = std::unique_ptr<lockstep_code_object, Destroy<lockstep_code_object_destroy>>;
using Device = std::unique_ptr<lockstep_device, Destroy<lockstep_device_destroy>>;
using Arguments = std::unique_ptr<lockstep_arguments, Destroy<lockstep_arguments_destroy>>;

void run_dispatch(const Dispatch& dispatch, lockstep_device* device, const lockstep_code_object* code,
                  const std::vector<uint64_t>& buffers, lockstep_dispatch_options options) {
  const lockstep_kernel* kernel = lockstep_code_object_find_kernel(code, dispatch.kernel.c_str());
  ASSERT_TRUE(kernel) << "no kernel " << dispatch.kernel;
  lockstep_arguments* arguments;
  ASSERT_LOCKSTEP(lockstep_arguments_create(kernel, &arguments));
  const Arguments owner(arguments);
  for (uint32_t i = 0; i < dispatch.arguments.size(); ++i) {
    const Argument& argument = dispatch.arguments[i];
    if (argument.buffer >= 0) {
      ASSERT_LOCKSTEP(lockstep_arguments_set_buffer(arguments, i, buffers[argument.buffer]));
    } else {
      ASSERT_LOCKSTEP(
          lockstep_arguments_set(arguments, i, argument.scalar.data(), uint32_t(argument.scalar.size())));
    }
  }
  for (int axis = 0; axis < 3; ++axis) {
    options.block[axis] = dispatch.group_size[axis];
    options.grid[axis] = dispatch.groups[axis] * dispatch.group_size[axis];
  }
  options.dynamic_lds_bytes = dispatch.dynamic_lds_bytes;
  ASSERT_LOCKSTEP(lockstep_dispatch(device, kernel, arguments, &options, nullptr));
}

lockstep_dispatch_options default_options() {
  lockstep_dispatch_options options;
  lockstep_dispatch_options_init(&options);
  return options;
}

void run_example(const Example& example, const std::string& path,
                 const lockstep_dispatch_options& options = default_options(), bool checks = false) {
  lockstep_code_object* code;
  ASSERT_LOCKSTEP(lockstep_code_object_open(path.c_str(), nullptr, &code));
  const CodeObject code_owner(code);
  lockstep_device* device;
  ASSERT_LOCKSTEP(lockstep_device_create(nullptr, &device));
  const Device device_owner(device);

  std::vector<uint64_t> buffers;
  for (const Bytes& contents : example.buffers) {
    const std::string name = "buffer " + std::to_string(buffers.size());
    uint64_t& address = buffers.emplace_back();
    ASSERT_LOCKSTEP(lockstep_memory_allocate(device, contents.size(), name.c_str(), &address));
    ASSERT_LOCKSTEP(lockstep_memory_write(device, address, contents.data(), contents.size()));
  }
  for (const Dispatch& dispatch : example.dispatches) {
    run_dispatch(dispatch, device, code, buffers, options);
    if (testing::Test::HasFatalFailure()) return;
    for (uint32_t i = 0; checks && i < lockstep_device_check_finding_count(device); ++i) {
      lockstep_check_finding finding{};
      finding.struct_size = sizeof finding;
      ASSERT_LOCKSTEP(lockstep_device_check_finding(device, i, &finding));
      if (finding.severity == LOCKSTEP_SEVERITY_NOTE) continue;
      ADD_FAILURE() << dispatch.kernel << " + 0x" << std::hex << finding.where.offset << std::dec << ": "
                    << finding.where.instruction << " (" << finding.where.file << ":" << finding.where.line
                    << ")\n"
                    << finding.rule << "\n"
                    << finding.detail << "\n"
                    << finding.executions << " times";
    }
  }
  for (const Expectation& expectation : example.expectations) {
    Bytes contents(example.buffers[expectation.buffer].size());
    ASSERT_LOCKSTEP(
        lockstep_memory_read(device, buffers[expectation.buffer], contents.data(), contents.size()));
    EXPECT_EQ(compare(expectation, contents), "");
  }
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

std::vector<Variant> variants(const std::vector<unsigned>& levels = {0, 1, 2, 3}) {
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
};
void PrintTo(const Machine& machine, std::ostream* out) {
  *out << machine.name;
}

class MachineTest : public testing::TestWithParam<std::tuple<Machine, Variant>> {};

TEST_P(MachineTest, EqualsItsReference) {
  const auto& [machine, variant] = GetParam();
  lockstep_dispatch_options options = default_options();
  options.results = machine.results;
  options.results_seed = machine.seed;
  options.caches = machine.caches;
  options.rules = machine.rules;
  run_example(variant.entry.make(variant.wave_size), variant.code_object(), options);
}

std::string machine_test_name(const testing::TestParamInfo<std::tuple<Machine, Variant>>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name();
}

std::vector<Machine> random_machines() {
  static constexpr const char* kNames[] = {"random0", "random1", "random2"};
  std::vector<Machine> machines;
  for (const char* name : kNames)
    machines.push_back({.name = name, .results = LOCKSTEP_RESULTS_RANDOM, .seed = machines.size()});
  return machines;
}

INSTANTIATE_TEST_SUITE_P(
    All, MachineTest,
    testing::Combine(testing::Values(Machine{.name = "late", .results = LOCKSTEP_RESULTS_LATE},
                                     Machine{.name = "incoherent", .caches = LOCKSTEP_CACHES_INCOHERENT},
                                     Machine{.name = "rules", .rules = LOCKSTEP_RULES_FAULT}),
                     testing::ValuesIn(variants({2}))),
    machine_test_name);
INSTANTIATE_TEST_SUITE_P(Random, MachineTest,
                         testing::Combine(testing::ValuesIn(random_machines()),
                                          testing::ValuesIn(variants({2}))),
                         machine_test_name);

// The examples are right, so the checkers have nothing to say of them but notes.
class CheckTest : public testing::TestWithParam<Variant> {};

TEST_P(CheckTest, FindsNothing) {
  lockstep_dispatch_options options = default_options();
  options.checks = "all";
  run_example(GetParam().entry.make(GetParam().wave_size), GetParam().code_object(), options, true);
}

std::vector<Variant> checked_variants() {
  if (test::has_whole_sweeps()) return variants();
  std::vector<Variant> some = variants({2});
  std::erase_if(some, [](const Variant& variant) { return variant.wave_size == 64; });
  return some;
}

INSTANTIATE_TEST_SUITE_P(All, CheckTest, testing::ValuesIn(checked_variants()),
                         [](const auto& info) { return info.param.name(); });

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

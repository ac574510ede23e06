// All examples in wave32 on both engines: the same memory. What the translator leaves to the interpreter is
// listed.
#include <gtest/gtest.h>

#include <cstdio>

#include "examples/example.h"
#include "tests/engine/translator/test_kernel.h"
#include "tests/sweep.h"

namespace lockstep::translator {
namespace {

struct Variant {
  examples::Entry entry;
  unsigned level;
  std::string name() const { return std::string(entry.name) + "_O" + std::to_string(level); }
};
void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.name();
}

class Examples : public testing::TestWithParam<Variant> {};

TEST_P(Examples, SameMemory) {
  const examples::Example example = GetParam().entry.make(32);
  std::vector<TestDispatch> dispatches;
  for (const examples::Dispatch& from : example.dispatches) {
    TestDispatch to{from.kernel, {}, from.group_size, {}, from.dynamic_lds_bytes};
    for (unsigned axis = 0; axis < 3; ++axis) to.grid[axis] = from.groups[axis] * from.group_size[axis];
    for (const examples::Argument& argument : from.arguments)
      to.arguments.push_back({argument.buffer, argument.scalar});
    dispatches.push_back(to);
  }
  const Bytes code = read_file(LOCKSTEP_EXAMPLE_KERNELS "/" + std::string(GetParam().entry.name) + ".O" +
                               std::to_string(GetParam().level) + ".wave32.co");
  const TestResult result = expect_same(code, dispatches, example.buffers);
  if (!result.outcome.note.empty()) std::printf("  %s\n", result.outcome.note.c_str());
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  unsigned turn = 0;  // in the share each example has one level
  for (const examples::Entry& entry : examples::registry()) {
    ++turn;
    for (const unsigned level : test::levels_of_sweep())
      if (test::is_in_share(turn + level / 2, 2)) all.push_back({entry, level});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Examples, testing::ValuesIn(variants()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace lockstep::translator

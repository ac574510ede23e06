// Objects for host processors other than this one.
#include "engine/translator/code_generator.h"

#include <gtest/gtest.h>

#include "machine/kernel.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

TEST(CodeGenerator, MakesObjectsForBothHostLevels) {
  const Bytes code_object = compile(R"(
    __kernel void scale(__global float* data, float factor, uint n) {
      uint i = get_global_id(0);
      for (uint k = 0; k < n; ++k) data[i + k] = data[i + k] * factor + 1.0f;
    })");
  AddressSpace memory;
  auto object = loader::CodeObject::parse(code_object, "test.co");
  ASSERT_TRUE(object);
  auto loaded = machine::LoadedCode::load(std::move(*object), memory);
  ASSERT_TRUE(loaded);
  const loader::Kernel* kernel = (*loaded)->object().find_kernel("scale");
  ASSERT_TRUE(kernel);
  const Routine routine =
      find_routine((*loaded)->code(), (*loaded)->loaded_address(kernel->entry_address), 32, kMaxVgprs);
  const Facts facts = analyse(routine);
  ASSERT_EQ(routine.pieces.size(), 1u);
  const Object v3 = generate(routine, facts, 0, 0, "x86-64-v3"),
               v4 = generate(routine, facts, 0, 0, "x86-64-v4");
  EXPECT_GT(v3.code_bytes, 0u);
  EXPECT_GT(v4.code_bytes, 0u);
  // Half as many registers a chunk.
  EXPECT_LT(v4.code_bytes, v3.code_bytes);
}

}  // namespace
}  // namespace lockstep::translator

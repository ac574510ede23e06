// Every example at every optimisation level and wave size against its host reference.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>

#include "examples/example.h"
#include "loader/code_object.h"
#include "loader/hidden_arguments.h"
#include "machine/kernel.h"
#include "machine/launch.h"
#include "memory/address_space.h"

namespace lockstep::examples {
namespace {

// Host memory that a kernel may touch: exactly its bytes, so that one byte too far is a fault.
class GuestMemory {
 public:
  GuestMemory(AddressSpace& space, size_t size, uint8_t access, std::string name)
      : space_(space), storage_(new(std::align_val_t(256)) std::byte[size]()), size_(size) {
    EXPECT_TRUE(space_.map(address(), size_, access, std::move(name)));
  }
  ~GuestMemory() {
    space_.unmap(address());
    operator delete[](storage_, std::align_val_t(256));
  }
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  uint64_t address() const { return reinterpret_cast<uint64_t>(storage_); }
  std::span<std::byte> bytes() { return {storage_, size_}; }

 private:
  AddressSpace& space_;
  std::byte* storage_;
  size_t size_;
};

using Buffers = std::vector<std::unique_ptr<GuestMemory>>;

void run_dispatch(const Dispatch& dispatch, uint32_t stack_bytes, const machine::LoadedCode& code,
                  const Buffers& buffers, AddressSpace& space) {
  machine::KernelDispatch launch{.kernel = code.object().find_kernel(dispatch.kernel),
                                 .group = dispatch.group_size,
                                 .dynamic_lds_bytes = dispatch.dynamic_lds_bytes,
                                 .extra_scratch_bytes = stack_bytes};
  ASSERT_TRUE(launch.kernel) << "no kernel " << dispatch.kernel;
  ASSERT_TRUE(launch.kernel->metadata);
  const loader::KernelMetadata& metadata = *launch.kernel->metadata;
  loader::HiddenValues hidden{.block = dispatch.group_size, .dynamic_lds_bytes = dispatch.dynamic_lds_bytes};
  for (int axis = 0; axis < 3; ++axis)
    hidden.grid[axis] = launch.grid[axis] = dispatch.groups[axis] * dispatch.group_size[axis];

  GuestMemory kernarg(space, std::max<uint64_t>(metadata.kernarg_segment_size, 1), kRead, "arguments");
  const std::vector<const loader::Argument*> arguments = metadata.user_arguments();
  ASSERT_EQ(arguments.size(), dispatch.arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    Bytes value = dispatch.arguments[i].scalar;
    if (const int buffer = dispatch.arguments[i].buffer; buffer >= 0)
      value = scalar(buffers[buffer]->address()).scalar;
    ASSERT_EQ(value.size(), arguments[i]->size) << "argument " << i;
    std::memcpy(kernarg.bytes().data() + arguments[i]->offset, value.data(), value.size());
  }
  ASSERT_TRUE(loader::fill_hidden_arguments(metadata, hidden, kernarg.bytes()));
  GuestMemory packet(space, 64, kRead, "AQL packet");
  launch.kernarg_address = kernarg.address();
  launch.packet_address = packet.address();

  auto ready = machine::make_launch(code, launch);
  ASSERT_TRUE(ready) << ready.error().message();
  ready->memory = space.snapshot();
  const machine::Outcome outcome = machine::run(*ready, {});
  if (!outcome.fault) return;
  const machine::WaveFault& fault = *outcome.fault;
  FAIL() << dispatch.kernel << " faulted in work-group " << fault.group[0] << "," << fault.group[1] << ","
         << fault.group[2] << " wave " << fault.wave << " at 0x" << std::hex
         << code.linked_address(fault.fault.pc) << ": " << fault.instruction << ": " << fault.fault.message;
}

void run_example(const Example& example, const std::string& code_object) {
  std::ifstream file(code_object, std::ios::binary);
  ASSERT_TRUE(file) << "cannot read " << code_object;
  const std::string image((std::istreambuf_iterator<char>(file)), {});
  auto object = loader::CodeObject::parse(std::as_bytes(std::span(image)), code_object);
  ASSERT_TRUE(object) << object.error().message();

  AddressSpace space;
  auto code = machine::LoadedCode::load(std::move(*object), space);
  ASSERT_TRUE(code) << code.error().message();
  Buffers buffers;
  for (const Bytes& contents : example.buffers) {
    buffers.push_back(std::make_unique<GuestMemory>(space, contents.size(), kReadWrite,
                                                    "buffer " + std::to_string(buffers.size())));
    std::memcpy(buffers.back()->bytes().data(), contents.data(), contents.size());
  }
  for (const Dispatch& dispatch : example.dispatches) {
    run_dispatch(dispatch, example.stack_bytes_per_lane, **code, buffers, space);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const Expectation& expectation : example.expectations)
    EXPECT_EQ(compare(expectation, buffers[expectation.buffer]->bytes()), "");
}

struct Variant {
  Entry entry;
  unsigned level;
  unsigned wave_size;

  std::string name() const {
    return std::string(entry.name) + "_O" + std::to_string(level) + "_wave" + std::to_string(wave_size);
  }
};

// What GoogleTest shows of the parameter of a failed test.
void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.name();
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const Entry& entry : registry())
    for (const unsigned level : {0u, 1u, 2u, 3u})
      for (const unsigned wave_size : {32u, 64u}) all.push_back({entry, level, wave_size});
  return all;
}

class ExampleTest : public testing::TestWithParam<Variant> {};

TEST_P(ExampleTest, EqualsItsReference) {
  const Variant& variant = GetParam();
  run_example(variant.entry.make(variant.wave_size),
              LOCKSTEP_EXAMPLE_KERNELS "/" + std::string(variant.entry.name) + ".O" +
                  std::to_string(variant.level) + ".wave" + std::to_string(variant.wave_size) + ".co");
}

INSTANTIATE_TEST_SUITE_P(All, ExampleTest, testing::ValuesIn(variants()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace lockstep::examples

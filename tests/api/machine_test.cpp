// The machine around the instructions as programs see it: broken rules, exceptions, trap handlers.
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <span>
#include <string>

#include "api/lockstep.hpp"

namespace {

using lockstep::Arguments;
using lockstep::CodeObject;
using lockstep::Device;
using lockstep::Kernel;

CodeObject assembled(const char* text) {
  lockstep_compile_options options;
  lockstep_compile_options_init(&options);
  options.debug_info = 1;
  options.wave_size = 32;
  return CodeObject::compile(LOCKSTEP_ASSEMBLY, text, "machine.s", &options);
}

lockstep_dispatch_options shape(uint32_t items, uint32_t block) {
  lockstep_dispatch_options options;
  lockstep_dispatch_options_init(&options);
  options.grid[0] = items;
  options.block[0] = block;
  return options;
}

// Guide 5.7, table 19: dependency code 8 is reserved.
const char* const kReservedHint = "s_nop 0\ns_delay_alu 8\nv_mov_b32 v1, v0\ns_endpgm\n";

TEST(Machine, BrokenRulesAreReported) {
  const CodeObject object = assembled(kReservedHint);
  const Kernel kernel = object.kernels()[0];
  Device device;
  lockstep_dispatch_options options = shape(256, 64);
  device.run(kernel, Arguments(kernel), options);
  EXPECT_TRUE(device.broken_rules().empty());
  options.rules = LOCKSTEP_RULES_WARN;
  device.run(kernel, Arguments(kernel), options);
  const auto broken = device.broken_rules();
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0].executions, 8u);
  EXPECT_EQ(broken[0].where.offset, 4u);
  EXPECT_EQ(broken[0].where.line, 2u);
  EXPECT_TRUE(std::string(broken[0].where.file).ends_with("machine.s"));
  EXPECT_TRUE(std::string(broken[0].where.instruction).starts_with("s_delay_alu"));
  EXPECT_NE(std::string(broken[0].rule).find("guide 5.7"), std::string::npos);
  EXPECT_LT(broken[0].work_group[0], 4u);
  EXPECT_LT(broken[0].wave, 2u);
  // They belong to the last dispatch.
  options.rules = LOCKSTEP_RULES_IGNORE;
  device.run(kernel, Arguments(kernel), options);
  EXPECT_TRUE(device.broken_rules().empty());
  lockstep_broken_rule none{};
  none.struct_size = sizeof none;
  EXPECT_EQ(lockstep_device_broken_rule(device.get(), 0, &none), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_device_broken_rule_count(nullptr), 0u);
}

TEST(Machine, BrokenRulesFaultWhenAsked) {
  const CodeObject object = assembled(kReservedHint);
  const Kernel kernel = object.kernels()[0];
  Device device;
  lockstep_dispatch_options options = shape(64, 64);
  options.rules = LOCKSTEP_RULES_FAULT;
  EXPECT_THROW(device.run(kernel, Arguments(kernel), options), lockstep::Error);
  ASSERT_NE(device.fault(), nullptr);
  EXPECT_EQ(device.fault()->kind, LOCKSTEP_FAULT_BROKEN_RULE);
  EXPECT_EQ(device.fault()->offset, 4u);
  EXPECT_EQ(device.fault()->line, 2u);
  options.rules = static_cast<lockstep_rules>(3);
  EXPECT_THROW(device.run(kernel, Arguments(kernel), options), lockstep::Error);
  EXPECT_NE(std::string(lockstep_last_error()).find("options.rules is 3"), std::string::npos);
  options.rules = LOCKSTEP_RULES_IGNORE;
  options.results = static_cast<lockstep_results>(3);
  EXPECT_THROW(device.run(kernel, Arguments(kernel), options), lockstep::Error);
  EXPECT_NE(std::string(lockstep_last_error()).find("options.results is 3"), std::string::npos);
  options.results = LOCKSTEP_RESULTS_NOW;
  options.caches = static_cast<lockstep_caches>(2);
  EXPECT_THROW(device.run(kernel, Arguments(kernel), options), lockstep::Error);
  EXPECT_NE(std::string(lockstep_last_error()).find("options.caches is 2"), std::string::npos);
  options.caches = LOCKSTEP_CACHES_COHERENT;
  options.order = static_cast<lockstep_order>(3);
  EXPECT_THROW(device.run(kernel, Arguments(kernel), options), lockstep::Error);
  EXPECT_NE(std::string(lockstep_last_error()).find("options.order is 3"), std::string::npos);
}

// Each group stores its number in the same place.
const char* const kLastGroup =
    "s_load_b64 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, 0\nv_mov_b32 v2, s2\ns_waitcnt lgkmcnt(0)\n"
    "global_store_b32 v1, v2, s[4:5]\ns_endpgm\n";

TEST(Machine, TheOrderOfGroupsIsAsAsked) {
  const CodeObject object = assembled(kLastGroup);
  const Kernel kernel = object.kernels()[0];
  for (const lockstep_engine engine : {LOCKSTEP_ENGINE_INTERPRETER, LOCKSTEP_ENGINE_TRANSLATOR}) {
    lockstep_device_options device_options;
    lockstep_device_options_init(&device_options);
    device_options.engine = engine;
    device_options.threads = 1;
    Device device(&device_options);
    auto out = device.allocate<uint32_t>(1, "out");
    Arguments arguments(kernel);
    const uint64_t address = out.address();
    arguments.set_raw(std::as_bytes(std::span(&address, 1)));
    lockstep_dispatch_options options = shape(20 * 32, 32);
    const auto last = [&](lockstep_order order, uint64_t seed = 0) {
      options.order = order;
      options.order_seed = seed;
      device.run(kernel, arguments, options);
      return out[0];
    };
    EXPECT_EQ(last(LOCKSTEP_ORDER_FORWARD), 19u);
    EXPECT_EQ(last(LOCKSTEP_ORDER_BACKWARD), 0u);
    std::set<uint32_t> seen;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      seen.insert(last(LOCKSTEP_ORDER_RANDOM, seed));
      EXPECT_EQ(seen.count(last(LOCKSTEP_ORDER_RANDOM, seed)), 1u);
    }
    EXPECT_GT(seen.size(), 2u);
  }
}

// Who was compiled before there was an order has smaller structures.
TEST(Machine, OlderOptionsKnowNoOrder) {
  const CodeObject object = assembled(kLastGroup);
  const Kernel kernel = object.kernels()[0];
  Device device;
  auto out = device.allocate<uint32_t>(1, "out");
  Arguments arguments(kernel);
  const uint64_t address = out.address();
  arguments.set_raw(std::as_bytes(std::span(&address, 1)));
  lockstep_dispatch_options options = shape(2 * 32, 32);
  options.struct_size = offsetof(lockstep_dispatch_options, order);
  options.order = static_cast<lockstep_order>(77);
  device.run(kernel, arguments, options);
}

// Adds the float mode that the default descriptor leaves out: no DX10_CLAMP, which would suppress exceptions.
const char* const kDivision =
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 0\nv_mov_b32 v1, 0\nv_rcp_f32 v2, v1\ns_endpgm\n";

TEST(Machine, ExceptionsAreReported) {
  const CodeObject object = assembled(kDivision);
  const Kernel kernel = object.kernels()[0];
  Device device;
  lockstep_dispatch_options options = shape(64, 32);
  device.run(kernel, Arguments(kernel), options);
  EXPECT_TRUE(device.exceptions().empty());
  options.exceptions = 1;
  device.run(kernel, Arguments(kernel), options);
  const auto exceptions = device.exceptions();
  ASSERT_EQ(exceptions.size(), 1u);
  EXPECT_STREQ(exceptions[0].name, "divide by zero");
  EXPECT_EQ(exceptions[0].executions, 2u);
  EXPECT_EQ(exceptions[0].where.line, 3u);
  EXPECT_EQ(lockstep_device_exception_count(nullptr), 0u);
  lockstep_exception none{};
  none.struct_size = sizeof none;
  EXPECT_EQ(lockstep_device_exception(device.get(), 1, &none), LOCKSTEP_INVALID_ARGUMENT);
}

TEST(Machine, AProgramThatReadsTrapstsGetsTheExceptions) {
  const CodeObject object = assembled(
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 0\nv_mov_b32 v1, 0\nv_rcp_f32 v2, v1\n"
      "s_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)\ns_cmp_eq_u32 s5, 4\ns_cbranch_scc1 good\ns_trap 2\n"
      "good:\ns_endpgm\n");
  const Kernel kernel = object.kernels()[0];
  Device device;
  const lockstep_statistics statistics = device.run(kernel, Arguments(kernel), shape(32, 32));
  EXPECT_NE(std::string(statistics.note).find("TRAPSTS"), std::string::npos);
}

TEST(Machine, ATrapHandlerTakesTraps) {
  const CodeObject object = assembled("s_trap 7\nv_illegal\ns_endpgm\n");
  const CodeObject handler =
      assembled("s_add_u32 ttmp0, ttmp0, 4\ns_addc_u32 ttmp1, ttmp1, 0\ns_rfe_b64 ttmp[0:1]\ns_endpgm\n");
  const Kernel kernel = object.kernels()[0];
  Device device;
  lockstep_dispatch_options options = shape(32, 32);
  options.trap_memory = 64;
  EXPECT_THROW(device.run(kernel, Arguments(kernel), options), lockstep::Error);
  options.trap_handler = handler.get();
  device.run(kernel, Arguments(kernel), options);
  options.trap_handler = nullptr;
  options.trap_memory = 0;
  EXPECT_THROW(device.run(kernel, Arguments(kernel), options), lockstep::Error);
  EXPECT_EQ(device.fault()->kind, LOCKSTEP_FAULT_TRAP);
}

}  // namespace

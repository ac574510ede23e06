// What M0 must hold for the instructions that read fields of it (guide 3.4.3, table 7).
#include <cstdio>

#include "tests/engine/precise/broken_rules.h"

namespace lockstep::machine {
namespace {

std::string with_m0(uint32_t m0, const std::string& text) {
  char value[16];
  std::snprintf(value, sizeof value, "0x%x", m0);
  return std::string("s_mov_b32 m0, ") + value + "\n" + text;
}

TEST(M0Rules, ParameterLoad) {  // 12.2.1: { 0, new_prim_mask[15:1], offset[15:0] }
  const std::string load = "lds_param_load v2, attr0.x wait_vdst:0\ns_waitcnt expcnt(0)";
  for (const unsigned wave_size : {32u, 64u}) {
    for (const uint32_t good : {0u, 0x80u, 0x180u, 0x007f0000u}) expect_good(with_m0(good, load), wave_size);
    for (unsigned bit = 0; bit < 7; ++bit)
      expect_broken(with_m0(1u << bit, load), "bits 6:0 must be zero", "12.2.1", wave_size);
    expect_broken(with_m0(0x80000000u, load), "must be zero", "3.4.3", wave_size);
  }
  // Wave32 has eight quads, and the first needs no bit.
  expect_good(with_m0(0x7fff0000u, load), 64);
  for (unsigned bit = 23; bit < 31; ++bit)
    expect_broken(with_m0(1u << bit, load), "bits 31:23 must be zero", "3.4.3");
}

TEST(M0Rules, DirectLoad) {  // 12.4: { 0, DataType[2:0], LDS_address[15:0] }
  const std::string load = "lds_direct_load v2 wait_vdst:0\ns_waitcnt expcnt(0)";
  for (const uint32_t good : {0u, 4u, 0x20004u, 0x50000u}) expect_good(with_m0(good, load));
  for (const uint32_t bad : {1u, 2u, 0x20003u})
    expect_broken(with_m0(bad, load), "bits 1:0 must be zero", "12.4");
  for (unsigned bit = 19; bit < 32; ++bit)
    expect_broken(with_m0(1u << bit, load), "bits 31:19 must be zero", "3.4.3");
}

TEST(M0Rules, AddressesByThread) {  // 12.5, ADDTID: { 0, offset[15:0] }, dword-aligned
  for (const std::string text : {"ds_load_addtid_b32 v2", "ds_store_addtid_b32 v2"}) {
    for (const uint32_t good : {0u, 4u, 0x100u}) expect_good(with_m0(good, text));
    for (const uint32_t bad : {1u, 2u, 7u})
      expect_broken(with_m0(bad, text), "bits 1:0 must be zero", "12.5");
    for (unsigned bit = 16; bit < 32; ++bit)
      expect_broken(with_m0(1u << bit, text), "bits 31:16 must be zero", "3.4.3");
  }
  // Others read no field of M0, or none of it.
  expect_good(with_m0(~0u, "ds_load_b32 v2, v0\nv_mov_b32 v3, m0"));
}

}  // namespace
}  // namespace lockstep::machine

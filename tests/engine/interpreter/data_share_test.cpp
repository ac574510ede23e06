// Data share in LDS by the rules of guide chapter 12: addresses, appends, direct and parameter loads,
// permutes, interpolation, the ray stack.
#include <cmath>

#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

constexpr uint64_t kSomeLanes = 0xf731'0ff0'5a5a'8421;

void fill_lds(TestWave& w) {
  for (unsigned i = 0; i < TestWave::kLdsBytes / 4; ++i) w.lds_word(i) = 0x9000'0000u + 3 * i;
}

// 12.5: the offset counts elements in two-address forms, 64 of them in the stride64 ones.
TEST(DataShare, TwoAddresses) {
  for_each_wave([](TestWave& w) {
    fill_lds(w);
    w.fill(0, [](unsigned lane) { return 16 * lane; });
    w.run(
        "ds_store_2addr_stride64_b32 v0, v1, v2 offset0:1 offset1:5\n"
        "ds_load_2addr_stride64_b32 v[10:11], v0 offset0:1 offset1:5\n"
        "ds_storexchg_2addr_rtn_b32 v[12:13], v0, v3, v4 offset0:1 offset1:2\n"
        "ds_load_2addr_b32 v[14:15], v0 offset0:1 offset1:2");
    w.expect_v(10, [&](unsigned lane) { return w.v(1, lane); });
    w.expect_v(11, [&](unsigned lane) { return w.v(2, lane); });
    w.expect_v(12, [&](unsigned lane) { return 0x9000'0000u + 3 * (4 * lane + 1); });
    w.expect_v(13, [&](unsigned lane) { return 0x9000'0000u + 3 * (4 * lane + 2); });
    w.expect_v(14, [&](unsigned lane) { return w.v(3, lane); });
    w.expect_v(15, [&](unsigned lane) { return w.v(4, lane); });
    // The result may overlap the address.
    w.run("ds_load_2addr_b32 v[0:1], v0 offset0:1 offset1:2");
    w.expect_v(0, [&](unsigned lane) { return w.lds_word(4 * lane + 1); });
    w.expect_v(1, [&](unsigned lane) { return w.lds_word(4 * lane + 2); });
    w.fill(0, [](unsigned) { return 0u; });
    w.run("ds_load_2addr_stride64_b64 v[10:13], v0 offset0:1 offset1:2");
    w.expect_v(10, [&](unsigned) { return w.lds_word(128); });
    w.expect_v(12, [&](unsigned) { return w.lds_word(256); });
  });
}

// Open in the guide; both engines store the second element of every lane over the first of another.
TEST(DataShare, TwoStoresThatOverlap) {
  for_each_wave([](TestWave& w) {
    fill_lds(w);
    w.fill(0, [](unsigned lane) { return 4 * lane; });
    w.run("ds_store_2addr_b32 v0, v1, v2 offset0:0 offset1:16");
    for (unsigned i = 0; i < w.size() + 16; ++i)
      EXPECT_EQ(w.lds_word(i), i < 16 ? w.v(1, i) : w.v(2, i - 16)) << i;
  });
}

// 12.5, ADDTID: M0[15:0] + offset + 4 * lane, and no VGPR in it.
TEST(DataShare, AddressesByThread) {
  for_each_wave([](TestWave& w) {
    fill_lds(w);
    w.set_exec(kSomeLanes);
    w.s(125) = 0x0400;
    w.run("ds_store_addtid_b32 v1 offset:64\nds_load_addtid_b32 v10 offset:64");
    w.expect_v(10, [&](unsigned lane) { return w.v(1, lane); });
    for (unsigned lane = 0; lane < w.size(); ++lane)
      EXPECT_EQ(w.lds_word(0x440 / 4 + lane),
                w.active(lane) ? w.v(1, lane) : 0x9000'0000u + 3 * (0x110 + lane));
  });
}

// 16.15: the operand is the number of active lanes, all of which get the old value; the address is M0 +
// offset.
TEST(DataShare, AppendAndConsume) {
  for_each_wave([](TestWave& w) {
    fill_lds(w);
    w.set_exec(kSomeLanes);
    const uint32_t count = static_cast<uint32_t>(std::popcount(w.exec()));
    w.s(125) = 0x100;
    w.lds_word(0x108 / 4) = 1000;
    w.run("ds_append v10 offset:8\nds_append v11 offset:8\nds_consume v12 offset:8");
    w.expect_v(10, [](unsigned) { return 1000u; });
    w.expect_v(11, [&](unsigned) { return 1000u + count; });
    w.expect_v(12, [&](unsigned) { return 1000u + 2 * count; });
    EXPECT_EQ(w.lds_word(0x108 / 4), 1000 + count);
  });
}

// 12.4: M0[18:16] is the type, M0[15:0] the address; all lanes of a quad get it if any of them is active.
TEST(DataShare, DirectLoad) {
  for_each_wave([](TestWave& w) {
    w.lds_word(5) = 0x8081'f2f3u;
    const struct {
      uint32_t type, value;
    } cases[] = {{0, 0xf3}, {1, 0xf2f3}, {2, 0x8081'f2f3}, {4, 0xffff'fff3}, {5, 0xffff'f2f3}};
    for (const auto& test : cases) {
      w.set_exec(0x0000'8000'0000'0021);
      w.s(125) = test.type << 16 | 20;
      w.fill(10, [](unsigned lane) { return 7 + lane; });
      w.execute(assembled("lds_direct_load v10", w.size()));
      for (unsigned lane = 0; lane < w.size(); ++lane) {
        const bool is_in_quad = lane < 8 || (lane >= 44 && lane < 48);
        EXPECT_EQ(w.v(10, lane), is_in_quad ? test.value : 7 + lane) << test.type << " " << lane;
      }
    }
    for (const uint32_t reserved : {3u, 6u, 7u}) {
      w.s(125) = reserved << 16;
      EXPECT_EQ(w.run_to_fault("lds_direct_load v10").kind, FaultKind::illegal_instruction);
    }
  });
}

// 12.2.1: {P0, P10, P20} of the quad's primitive in lanes 0 to 2; a set bit of new_prim_mask begins the next
// primitive at its quad, and the first quad begins one without a bit.
TEST(DataShare, ParameterLoad) {
  for_each_wave([](TestWave& w) {
    fill_lds(w);
    constexpr uint32_t kOffset = 0x80, kAttribute = 3, kChannel = 2;
    const uint32_t quads = w.size() / 4;
    const uint32_t new_primitive = 0b0010'0110 | (w.is_wave64() ? 1u << 12 : 0);  // by quad
    w.s(125) = (new_primitive >> 1) << 16 | kOffset;
    uint32_t primitives = 1;
    for (unsigned quad = 1; quad < quads; ++quad) primitives += new_primitive >> quad & 1;
    w.set_exec(~uint64_t{0});
    w.execute(assembled("lds_param_load v10, attr3.z", w.size()));
    uint32_t primitive = 0;
    for (unsigned quad = 0; quad < quads; ++quad) {
      if (quad != 0) primitive += new_primitive >> quad & 1;
      for (unsigned vertex = 0; vertex < 3; ++vertex)
        EXPECT_EQ(w.v(10, 4 * quad + vertex), w.lds_word(kOffset / 4 + kAttribute * primitives * 12 +
                                                         primitive * 12 + 4 * vertex + kChannel))
            << quad << " " << vertex;
    }
    // Whole quads, and no others.
    w.set_exec(0x40);
    w.fill(10, [](unsigned) { return 7u; });
    w.execute(assembled("lds_param_load v10, attr3.z", w.size()));
    for (unsigned lane = 0; lane < w.size(); ++lane)
      if (lane / 4 != 1) EXPECT_EQ(w.v(10, lane), 7u);
    EXPECT_NE(w.v(10, 4), 7u);
  });
}

// 12.5.2: index bits [6:2] choose among the 32 lanes of the own half, EXEC counts on both sides.
TEST(DataShare, Permutes) {
  for_each_wave([](TestWave& w) {
    w.set_exec(kSomeLanes);
    w.fill(0, [](unsigned lane) { return 4 * (lane * 7 + 3) + 0x1000; });
    w.run("ds_bpermute_b32 v10, v0, v1 offset:8\nds_permute_b32 v11, v0, v1 offset:8");
    const auto lane_of = [](unsigned lane) { return (lane & 32) | ((lane * 7 + 5) & 31); };
    w.expect_v(10, [&](unsigned lane) { return w.active(lane_of(lane)) ? w.v(1, lane_of(lane)) : 0; });
    w.expect_v(11, [&](unsigned lane) {
      uint32_t value = 0;
      for (unsigned from = lane & 32; from < (lane & 32) + 32; ++from)
        if (w.active(from) && lane_of(from) == lane) value = w.v(1, from);
      return value;
    });
  });
}

// 12.3: P10 is multiplied from lane 1 of the quad and P0 added from lane 0, P20 comes from lane 2, whatever
// EXEC says of these lanes.
TEST(DataShare, Interpolation) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned lane) { return f32(static_cast<float>(lane + 1)); });
    w.fill(2, [](unsigned lane) { return f32(0.25f * static_cast<float>(lane)); });
    w.fill(3, [](unsigned lane) { return f32(0.5f * static_cast<float>(lane)); });
    w.set_exec(0x8888'8888'8888'8888);
    w.execute(assembled("v_interp_p10_f32 v4, v1, v2, v1\nv_interp_p2_f32 v5, v1, v3, v4", w.size()));
    for (unsigned lane = 3; lane < w.size(); lane += 4) {
      const float p0 = static_cast<float>((lane & ~3u) + 1), i = 0.25f * static_cast<float>(lane),
                  j = 0.5f * static_cast<float>(lane);
      const float first = std::fma(p0 + 1, i, p0);
      EXPECT_EQ(w.v(4, lane), f32(first));
      EXPECT_EQ(w.v(5, lane), f32(std::fma(p0 + 2, j, first)));
    }
  });
}

// 12.5.3: what is pushed comes back last first; the ring of 8 dwords wraps, so that older nodes are lost.
TEST(DataShare, RayStack) {
  for_each_wave([](TestWave& w) {
    fill_lds(w);
    constexpr uint32_t kNone = ~0u, kBase = 0x400;
    const std::vector<uint32_t>& step = assembled("ds_bvh_stack_rtn_b32 v10, v0, v1, v[4:7]", w.size());
    const auto visit = [&](uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
      const uint32_t nodes[] = {a, b, c, d};
      for (unsigned i = 0; i < 4; ++i) w.fill(4 + i, [&](unsigned) { return nodes[i]; });
      w.execute(step);
      return w.v(10, 0);
    };
    w.set_exec(1);
    w.fill(0, [&](unsigned) { return kBase / 4 << 18; });
    w.fill(1, [](unsigned) { return 0xffff'fff0u; });  // last visited: none of them
    EXPECT_EQ(visit(11, 12, 13, 14), 14u);             // three are pushed, the fourth is next
    EXPECT_EQ(visit(kNone, kNone, kNone, kNone), 13u);
    EXPECT_EQ(visit(kNone, kNone, kNone, kNone), 12u);
    EXPECT_EQ(visit(21, kNone, kNone, 22), 22u);
    EXPECT_EQ(visit(kNone, kNone, kNone, kNone), 21u);
    EXPECT_EQ(visit(kNone, kNone, kNone, kNone), 11u);
    for (uint32_t i = 0; i < 4; ++i) visit(100 + 3 * i, 101 + 3 * i, 102 + 3 * i, 7);
    for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(visit(kNone, kNone, kNone, kNone), 111 - i);
    EXPECT_EQ(visit(kNone, kNone, kNone, kNone), kNone);  // what was there has been overwritten
    EXPECT_EQ(w.v(0, 0) >> 18, kBase / 4);
  });
}

}  // namespace
}  // namespace lockstep::interpreter

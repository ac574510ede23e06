// Operations that follow each other and are done by one handler (engine/interpreter/pairs.cpp), which they
// get once both are decoded: the second pass over code gives what the first one gave.
#include <random>

#include "engine/interpreter/program.h"
#include "tests/engine/interpreter/engine_under_test.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

// Does not forget what it has decoded, from pass to pass.
struct KeptCode {
  const std::vector<uint32_t>& dwords;
  uint64_t begin = reinterpret_cast<uint64_t>(dwords.data());
  std::shared_ptr<Code> decoded;
  Interpreter engine;

  KeptCode(TestWave& w, HostTarget host, std::string_view text)
      : dwords(assembled(text, w.size())),
        decoded(std::make_shared<Code>(std::vector<CodeRange>{{begin, begin + 4 * dwords.size()}}, w.ranges(),
                                       w.size(), host, w.wave().vgpr_count, nullptr, Math::exact, false,
                                       memory::AccessModes{})),
        engine(decoded, w.ranges()) {}

  // How many wave-instructions it executed.
  int64_t run(TestWave& w) {
    w.wave().executed_before_turn = 0;
    w.execute(engine, begin);
    EXPECT_EQ(w.wave().state, WaveState::ended) << w.wave().fault.message;
    return w.wave().executed_before_turn;
  }
  bool begins_pair(unsigned dword) {
    Program& program = decoded->default_mode;
    return program.table().pairs.has(handler_of(program.at(begin + 4 * dword)));
  }
};

void for_each_wave_and_host(const std::function<void(TestWave&, HostTarget)>& body) {
  if (tests_translator()) GTEST_SKIP() << "about the interpreter's own handlers";
  for (const Configuration& configuration : configurations()) {
    SCOPED_TRACE(std::to_string(configuration.wave_size) +
                 (configuration.host == HostTarget::x86_64_v4 ? ", AVX-512" : ", AVX2"));
    TestWave wave(configuration);
    body(wave, configuration.host);
  }
}

void expect_same_passes(TestWave& w, KeptCode& code, std::string_view what) {
  const TestWave::State start = w.save();
  const int64_t count = code.run(w);
  const TestWave::State alone = w.save();
  w.restore(start);
  EXPECT_EQ(code.run(w), count) << what;
  const TestWave::State together = w.save();
  for (unsigned number = 0; number < 32; ++number)
    EXPECT_FALSE(w.differs(alone, number)) << "v" << number << ", " << what;
  EXPECT_TRUE(alone.scalar == together.scalar && alone.vgprs == together.vgprs) << what;
  w.restore(start);
}

// Every kind of pair, with every source that the second one may have from the first one. What each leaves in
// v3, v10 and v11 goes into v20, and they begin anew; the masks of compares go into s50.
std::string all_pairs(bool is_wave64) {
  std::string text;
  const auto add = [&](const std::string& first, const std::string& second) {
    text += first + "\n" + second + "\ns_mov_b32 s30, s31\n";
    for (const auto& [number, kept] : {std::pair("3", "23"), std::pair("10", "30"), std::pair("11", "31")})
      text += std::string("v_xor_b32 v20, v20, v") + number +
              "\nv_alignbit_b32 v20, v20, v20, 7\nv_mov_b32 v" + number + ", v" + kept + "\n";
  };
  for (const char* first :
       {"v_add_f32 v10, v1, v2", "v_add_f32 v10, s5, v2", "v_sub_f32 v10, v1, v2", "v_sub_f32 v10, s5, v2",
        "v_mul_f32 v10, v1, v2", "v_mul_f32 v10, 0x40490fdb, v2", "v_fmac_f32 v10, v1, v2",
        "v_fma_f32 v10, v1, v2, v3", "v_mul_f32 v10, v10, v1", "v_fma_f32 v10, v10, v10, v10"}) {
    for (const char* second : {"v_add_f32", "v_sub_f32", "v_mul_f32"})
      for (const char* sources :
           {"v3, v4", "v10, v4", "v3, v10", "v10, v10", "s6, v4", "s6, v10", "0x3fc90fdb, v10", "v4, v3"})
        for (const char* destination : {"v11", "v10", "v3"})
          add(first, std::string(second) + " " + destination + ", " + sources);
    for (const char* operands : {"v11, v3, v4", "v11, v10, v4", "v11, v3, v10", "v10, v3, v4", "v10, v10, v4",
                                 "v10, v3, v10", "v11, v10, v10", "v10, v10, v10"})
      add(first, std::string("v_fmac_f32 ") + operands);
    for (const char* operands :
         {"v11, v3, v4, v5", "v11, v10, v4, v5", "v11, v3, v10, v5", "v11, v3, v4, v10", "v10, v3, v4, v10",
          "v10, v10, v4, v5", "v11, v10, v4, v10", "v11, v10, v10, v10"})
      add(first, std::string("v_fma_f32 ") + operands);
    for (const char* comparison : {"lt", "gt", "le", "ge", "nlt", "ngt"})
      for (const char* sources : {"v10, v4", "v3, v10", "v3, v4", "s6, v10", "0x3f8, v10"})
        for (const bool is_vcc : {true, false})
          add(first, std::string("v_cmp_") + comparison + "_f32 " +
                         (is_vcc      ? is_wave64 ? "vcc, " : "vcc_lo, "
                          : is_wave64 ? "s[40:41], "
                                      : "s40, ") +
                         sources + "\ns_mul_i32 s50, s50, 3\ns_add_u32 s50, s50, " +
                         (is_vcc ? "vcc_lo" : "s40"));
  }
  return text + "s_endpgm";
}

// Numbers of ordinary size, and lanes with what needs exact arithmetic where `odd`.
void fill(TestWave& w, bool odd) {
  std::mt19937 random(17);
  constexpr uint32_t kOdd[] = {0x7fc00001, 0xff800001, 0x7f800000, 0xff800000, 0x00000001,
                               0x807fffff, 0x80000000, 0x00800000, 0x7f7fffff};
  std::uniform_real_distribution<float> ordinary(-2, 2);
  for (unsigned number = 1; number < 32; ++number)
    w.fill(number, [&](unsigned) {
      const uint32_t value = f32(ordinary(random));
      return odd && random() % 3 == 0 ? kOdd[random() % std::size(kOdd)] : value;
    });
  w.s(5) = f32(1.25f);
  w.s(6) = f32(-0.75f);
}

TEST(Pairs, GiveWhatTheirOperationsGive) {
  for_each_wave_and_host([](TestWave& w, HostTarget host) {
    for (const bool odd : {false, true})
      for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x7fff'fff7'0000'fffe}, uint64_t{0}}) {
        SCOPED_TRACE(odd ? "odd numbers" : "ordinary numbers");
        fill(w, odd);
        w.set_exec(exec);
        KeptCode code(w, host, all_pairs(w.is_wave64()));
        expect_same_passes(w, code, "all pairs");
      }
  });
}

TEST(Pairs, AreThoseOfWave32) {
  for_each_wave_and_host([](TestWave& w, HostTarget host) {
    fill(w, false);
    for (const char* second : {"v_mul_f32 v11, v10, v4", "v_mul_f32 v11, v4, v10", "v_mul_f32 v11, v3, v4",
                               "v_fmac_f32 v10, v3, v4", "v_fmac_f32 v11, v10, v4", "v_sub_f32 v10, v10, v10",
                               "v_add_f32 v11, s6, v10"}) {
      // What is between the two, and has no effect, costs no pair.
      KeptCode code(
          w, host,
          std::string("v_mul_f32 v10, v1, v2\ns_delay_alu instid0(VALU_DEP_1)\n") + second + "\ns_endpgm");
      code.run(w);
      EXPECT_EQ(code.begins_pair(0), !w.is_wave64()) << second;
      EXPECT_FALSE(code.begins_pair(2)) << second;
    }
    // The engine has no handler that takes two operands from the one in front and the third from elsewhere.
    KeptCode other(w, host, "v_mul_f32 v10, v1, v2\nv_fma_f32 v11, v10, v10, v3\ns_endpgm");
    other.run(w);
    EXPECT_FALSE(other.begins_pair(0));
    if (w.is_wave64()) return;
    KeptCode compared(w, host, "v_mul_f32 v10, v1, v2\nv_cmp_lt_f32 vcc_lo, s6, v10\ns_endpgm");
    compared.run(w);
    EXPECT_TRUE(compared.begins_pair(0));
  });
}

// The halves of a VOPD instruction are a pair, too; both read before either writes.
TEST(Pairs, OfDualIssue) {
  for_each_wave_and_host([](TestWave& w, HostTarget host) {
    if (w.is_wave64()) return;
    fill(w, false);
    KeptCode code(w, host,
                  "v_dual_mul_f32 v10, v1, v2 :: v_dual_add_f32 v11, v3, v4\n"
                  "v_dual_mul_f32 v10, v1, v3 :: v_dual_add_f32 v11, v10, v4\n"
                  "v_dual_mul_f32 v10, v11, v2 :: v_dual_fmac_f32 v11, v10, v4\n"
                  "v_dual_sub_f32 v10, v11, v2 :: v_dual_mul_f32 v11, v10, v4\n"
                  "v_mul_f32 v6, v11, v10\n"
                  "s_endpgm");
    expect_same_passes(w, code, "dual issue");
    EXPECT_TRUE(code.begins_pair(0));
  });
}

// Sums of 64 bits pass a carry on. What reads or keeps the first one's carry elsewhere is no pair.
TEST(Pairs, OfSumsWithCarry) {
  struct Sum {
    const char *low, *high;
    bool is_pair;
  };
  static constexpr Sum kSums[] = {
      {"v10, vcc_lo, v1, v2", "v11, vcc_lo, v3, v4, vcc_lo", true},
      {"v10, vcc_lo, s5, v2", "v11, vcc_lo, s6, v4, vcc_lo", true},
      {"v2, vcc_lo, s5, v2", "v4, vcc_lo, 0, v4, vcc_lo", true},
      {"v10, vcc_lo, 0x80000001, v2", "v11, vcc_lo, v3, v4, vcc_lo", true},
      {"v10, s40, v1, v2", "v11, s40, -1, v4, s40", true},
      {"v10, vcc_lo, v1, v2", "v11, s40, v3, v4, vcc_lo", false},
      {"v10, vcc_lo, v1, v2", "v11, vcc_lo, v3, v4, s40", false},
      {"v10, vcc_lo, v1, v2", "v11, vcc_lo, vcc_lo, v4, vcc_lo", false},
      {"v10, vcc_lo, v1, v2", "v11, vcc_lo, v10, v4, vcc_lo", false},
      {"v10, vcc_lo, v1, v2", "v11, vcc_lo, v4, v10, vcc_lo", false},
  };
  for_each_wave_and_host([](TestWave& w, HostTarget host) {
    if (w.is_wave64()) return;
    std::mt19937 random(5);
    for (unsigned number = 1; number < 5; ++number)
      w.fill(number, [&](unsigned lane) { return lane % 8 == 3 ? ~0u : static_cast<uint32_t>(random()); });
    w.s(5) = 0xfffff000;
    w.s(6) = 0xffffffff;
    w.s(40) = 0x1234'5678;
    for (const Sum& sum : kSums)
      for (const uint64_t exec : {uint64_t{0xffff'ffff}, uint64_t{0x7fff'fffe}}) {
        w.set_exec(exec);
        const std::string text =
            std::string("v_add_co_u32 ") + sum.low + "\nv_add_co_ci_u32 " + sum.high + "\ns_endpgm";
        KeptCode code(w, host, text);
        expect_same_passes(w, code, text);
        EXPECT_EQ(code.begins_pair(0), sum.is_pair) << text;
      }
  });
}

// Who jumps to the second operation has not executed the first one; a pair is found in whichever order its
// operations are decoded.
TEST(Pairs, AreEnteredInTheMiddle) {
  for_each_wave_and_host([](TestWave& w, HostTarget host) {
    KeptCode code(w, host,
                  "s_cmp_lg_u32 s0, 0\ns_cbranch_scc1 middle\nv_mul_f32 v10, v1, v2\nmiddle:\n"
                  "v_add_f32 v11, v10, v3\nv_mul_f32 v12, v11, v11\ns_endpgm");
    for (const bool jumps : {true, false, true, false}) {
      w.fill(1, [](unsigned lane) { return f32(static_cast<float>(lane)); });
      w.fill(2, [](unsigned) { return f32(3); });
      w.fill(3, [](unsigned) { return f32(0.5f); });
      w.fill(10, [](unsigned) { return f32(-1); });
      w.s(0) = jumps;
      EXPECT_EQ(code.run(w), jumps ? 5 : 6);
      const auto expected = [&](unsigned lane) { return (jumps ? -1 : 3 * static_cast<float>(lane)) + 0.5f; };
      for (unsigned lane = 0; lane < w.size(); ++lane) {
        EXPECT_EQ(as_f32(w.v(11, lane)), expected(lane));
        EXPECT_EQ(as_f32(w.v(12, lane)), expected(lane) * expected(lane));
      }
    }
    EXPECT_EQ(code.begins_pair(2), !w.is_wave64());
    EXPECT_EQ(code.begins_pair(3), !w.is_wave64());
  });
}

}  // namespace
}  // namespace lockstep::interpreter

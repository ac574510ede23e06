// The exceptions of guide 3.4.9 as a program sees them: TRAPSTS.EXCP, traps by MODE.EXCP_EN, address watches,
// buffers out of bounds.
#include <algorithm>
#include <bit>
#include <random>

#include "engine/precise/exception_use.h"
#include "semantics/exceptions.h"
#include "tests/engine/precise/trap_dispatch.h"

namespace lockstep::machine {
namespace {

namespace ts = trapsts_bit;

const std::string kReadTrapsts = "s_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)\n";

// What TRAPSTS holds after a listing.
uint32_t trapsts_after(std::string_view text, uint32_t items = 32, unsigned wave_size = 32) {
  TrapDispatch d(std::string(text) + "\n" + kReadTrapsts + kStoreS5, kReturn, items, wave_size);
  d.traps() = {};
  d.options.precise.exceptions = true;
  EXPECT_FALSE(d.run().fault);
  return d.buffer[0];
}

struct Case {
  const char* text;
  uint32_t bit, raised;
};
const Case kCases[] = {
    {"v_mov_b32 v1, 0x7f800000\nv_mul_f32 v2, 0, v1", ts::kInvalid, ts::kInvalid},
    {"v_mov_b32 v1, 1\nv_add_f32 v2, 1.0, v1", ts::kInputDenormal, ts::kInputDenormal | ts::kInexact},
    {"v_mov_b32 v1, 0\nv_rcp_f32 v2, v1", ts::kDivideByZero, ts::kDivideByZero},
    {"v_mov_b32 v1, 0x7f7fffff\nv_mul_f32 v2, 2.0, v1", ts::kOverflow, ts::kOverflow | ts::kInexact},
    {"v_mov_b32 v1, 0x00800001\nv_mul_f32 v2, 0.5, v1", ts::kUnderflow, ts::kUnderflow | ts::kInexact},
    {"v_mov_b32 v1, 0x30800000\nv_add_f32 v2, 1.0, v1", ts::kInexact, ts::kInexact},
    {"v_mov_b32 v1, 0\nv_rcp_iflag_f32 v2, v1", ts::kIntegerDivideByZero, ts::kIntegerDivideByZero},
};

TEST(Exceptions, AccumulateWhetherEnabledOrNot) {  // 3.4.9: EXCP
  for (const Case& c : kCases) EXPECT_EQ(trapsts_after(c.text), c.raised) << c.text;
}

TEST(Exceptions, AreStickyUntilTheProgramClearsThem) {  // 3.4.9
  EXPECT_EQ(trapsts_after(std::string(kCases[2].text) + "\n" + kCases[0].text + "\nv_mov_b32 v1, 1.0\n" +
                          "v_add_f32 v2, v1, v1"),
            ts::kDivideByZero | ts::kInvalid);
  EXPECT_EQ(trapsts_after(std::string(kCases[2].text) +
                          "\ns_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0\n" + kCases[0].text),
            ts::kInvalid);
}

TEST(Exceptions, OnlyOfActiveLanes) {  // 3.4.9, 3.2.2
  const std::string lane_5_is_zero = "v_cmp_eq_u32 vcc_lo, 5, v0\nv_cndmask_b32 v1, 1.0, 0, vcc_lo\n";
  EXPECT_EQ(trapsts_after(lane_5_is_zero + "s_mov_b32 exec_lo, 0xffffffdf\nv_rcp_f32 v2, v1\n"
                                           "s_mov_b32 exec_lo, -1"),
            0u);
  EXPECT_EQ(
      trapsts_after(lane_5_is_zero + "s_mov_b32 exec_lo, 0x20\nv_rcp_f32 v2, v1\ns_mov_b32 exec_lo, -1"),
      ts::kDivideByZero);
  EXPECT_EQ(trapsts_after(
                "s_mov_b64 s[6:7], exec\ns_mov_b64 exec, 0\nv_rcp_f32 v2, 0\ns_mov_b64 exec, s[6:7]", 64, 64),
            0u);
}

TEST(Exceptions, Dx10ClampSilencesThem) {  // 3.4.2: DX10_CLAMP
  for (const Case& c : kCases)
    EXPECT_EQ(trapsts_after(std::string("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 1\n") + c.text), 0u);
}

TEST(Exceptions, OperandsAreReadAsTheInstructionReadsThem) {
  const std::string zeros = "v_mov_b32 v1, 0\nv_mov_b32 v2, 1.0\n";
  // A literal, a constant of another width, an SGPR.
  EXPECT_EQ(trapsts_after("v_rcp_f32 v3, 0x80000000"), ts::kDivideByZero);
  EXPECT_EQ(trapsts_after("s_mov_b32 s6, 0\nv_rcp_f32 v3, s6"), ts::kDivideByZero);
  EXPECT_EQ(trapsts_after("v_mov_b32 v4, 0\nv_mov_b32 v5, 0x3e100000\nv_add_f64 v[6:7], v[4:5], 1.0"), 0u);
  EXPECT_EQ(trapsts_after("v_mov_b32 v4, 0\nv_mov_b32 v5, 0x3b100000\nv_add_f64 v[6:7], v[4:5], 1.0"),
            ts::kInexact);
  // Halves of registers: the high one is a signalling NaN.
  EXPECT_EQ(trapsts_after("v_mov_b32 v1, 0x7d003c00\nv_fma_f16 v3, v1, v1, v1"), 0u);
  EXPECT_EQ(trapsts_after("v_mov_b32 v1, 0x7d003c00\nv_fma_f16 v3, v1, v1, v1 op_sel:[0,1,0,0]"),
            ts::kInvalid);
  // DPP: row_shr:1 with BOUND_CTRL 0 disables lane 0 of the row; v_rcp reads lane n - 1.
  const std::string only_15 =
      "v_mov_b32 v1, 1.0\ns_mov_b32 exec_lo, 0x8000\nv_mov_b32 v1, 0\n"
      "s_mov_b32 exec_lo, 0xffff\n";
  EXPECT_EQ(trapsts_after(only_15 + "v_rcp_f32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf\n"
                                    "s_mov_b32 exec_lo, -1"),
            0u);
  EXPECT_EQ(trapsts_after(only_15 + "v_rcp_f32_dpp v2, v1 row_ror:1 row_mask:0xf bank_mask:0xf\n"
                                    "s_mov_b32 exec_lo, -1"),
            ts::kDivideByZero);
  EXPECT_EQ(trapsts_after(only_15 + "v_rcp_f32_dpp v2, v1 row_ror:1 row_mask:0xf bank_mask:0xe\n"
                                    "s_mov_b32 exec_lo, -1"),
            0u);
  EXPECT_EQ(trapsts_after(only_15 + "v_rcp_f32_dpp v2, v1 dpp8:[7,7,7,7,7,7,7,7]\ns_mov_b32 exec_lo, -1"),
            ts::kDivideByZero);
  // Both halves of a pair, the Y half alone.
  EXPECT_EQ(trapsts_after("v_mov_b32 v1, 0\nv_mov_b32 v2, 0x7f800000\n"
                          "v_dual_add_f32 v3, v1, v1 :: v_dual_mul_f32 v4, v2, v6"),
            ts::kInvalid);
  EXPECT_EQ(trapsts_after(zeros + "v_rcp_f32 v3, v2"), 0u);
}

TEST(Exceptions, TrapsByModeExcpEn) {  // 3.4.2 and 3.4.9: EXCP_EN; the instruction completes
  for (const Case& c : kCases)
    for (const uint32_t enable : {c.bit, ts::kArithmetic & ~c.raised}) {
      TrapDispatch d(std::string(c.text) + "\nv_readfirstlane_b32 s5, v2\n" + kStoreS5,
                     kNote + kClearTrapsts + kReturn);
      d.traps().exception_enable = enable;
      const auto log = d.trapped();
      if (enable != c.bit) {
        EXPECT_TRUE(log.empty()) << c.text;
        continue;
      }
      ASSERT_EQ(log.size(), 1u) << c.text;
      EXPECT_EQ(log[0].trapsts, c.raised) << c.text;
      EXPECT_EQ(log[0].id, 0u);
      const auto next = interpreter::assembled(c.text, 32);
      EXPECT_EQ(d.dword(log[0]), next.size() - 1) << c.text;  // without its s_endpgm
      EXPECT_NE(d.buffer[0], 0u) << "the result was written: " << c.text;
    }
}

// In the person of ROCm's handler, as with s_trap: programs there do not go on.
TEST(Exceptions, WithoutAHandlerTheDefaultReportsThemAsTheRuntimeDoes) {
  const std::string enable = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 14, 1), 1\nv_mov_b32 v1, 0\n";
  for (const auto without : {precise::TrapWithoutHandler::report, precise::TrapWithoutHandler::skip})
    for (const char* last : {"v_rcp_f32 v2, v1", "v_mul_f32 v2, v1, v1"}) {
      Dispatch d(enable + last, 1, 32);
      d.launch.uses_exceptions = true;
      d.launch.rsrc1 &= ~(1u << 21);  // DX10_CLAMP
      d.options.precise.traps.without_handler = without;
      const Outcome outcome = d.run();
      const bool traps = without == precise::TrapWithoutHandler::report && last[2] == 'r';
      ASSERT_EQ(outcome.fault.has_value(), traps) << last;
      if (!traps) continue;
      EXPECT_EQ(outcome.fault->fault.kind, FaultKind::trap);
      EXPECT_EQ(outcome.fault->fault.pc, d.pc(4));
      EXPECT_NE(outcome.fault->fault.message.find("divide by zero"), std::string::npos);
    }
}

TEST(Exceptions, AProgramEnablesItsTraps) {  // 3.4.2
  TrapDispatch d(
      "v_mov_b32 v1, 0\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 14, 1), 1\nv_rcp_f32 v2, v1\n"
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 14, 1), 0\nv_rcp_f32 v2, v1",
      kNote + kReturn);
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 1u);  // not again by the bit that stays set
  EXPECT_EQ(log[0].trapsts, ts::kDivideByZero);
}

TEST(Exceptions, OfTheHandlerDoNotTrap) {  // 3.4.9: STATUS.PRIV
  TrapDispatch d("v_mov_b32 v1, 0\ns_trap 1\n" + kReadTrapsts + kStoreS5,
                 kNote + "v_rcp_f32 v2, v1\n" + return_behind(4));
  d.traps().exception_enable = ts::kArithmetic;
  EXPECT_EQ(d.trapped().size(), 1u);
  EXPECT_EQ(d.buffer[0], ts::kDivideByZero);
}

// ---- Who computes them

TEST(Exceptions, AreComputedWhenTheProgramLooks) {
  const auto until_end = [](const std::string& text) {
    const auto& code = interpreter::assembled(text, 32);
    const auto begin = reinterpret_cast<uint64_t>(code.data());
    return precise::uses_exceptions_until_end({begin, begin + 4 * code.size()}, 32);
  };
  const auto uses = [](std::string_view text) {
    const auto& code = interpreter::assembled(text, 32);
    const auto begin = reinterpret_cast<uint64_t>(code.data());
    const CodeRange range{begin, begin + 4 * code.size()};
    const bool all = precise::uses_exceptions(std::span(&range, 1), 32);
    EXPECT_EQ(precise::uses_exceptions_until_end(range, 32), all);
    return all;
  };
  EXPECT_TRUE(uses("s_nop 0\ns_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)"));
  EXPECT_TRUE(uses("s_getreg_b32 s5, hwreg(HW_REG_TRAPSTS, 6, 2)"));
  EXPECT_FALSE(uses("s_getreg_b32 s5, hwreg(HW_REG_TRAPSTS, 7, 10)"));
  EXPECT_TRUE(uses("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 4"));
  EXPECT_FALSE(uses("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 32), 0xf0"));
  EXPECT_TRUE(uses("s_setreg_b32 hwreg(HW_REG_MODE, 0, 32), s5"));
  // A constant that looks like s_code_end ends nothing.
  EXPECT_TRUE(uses("s_mov_b32 s4, 0xbf9f0000\ns_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)"));
  EXPECT_TRUE(uses("s_mov_b32 s4, 0xb885f803\ns_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)"));
  // Far behind the first of such instructions, and not beyond the end.
  const std::string harmless = "s_getreg_b32 s5, hwreg(HW_REG_SHADER_CYCLES)\n.rept 100\ns_nop 0\n.endr\n";
  EXPECT_TRUE(uses(harmless + "s_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)"));
  EXPECT_FALSE(until_end(harmless + "s_code_end\ns_code_end\ns_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)"));
  EXPECT_FALSE(until_end("s_code_end\ns_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)"));
  EXPECT_FALSE(uses("s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s5"));
  EXPECT_FALSE(uses("s_mov_b32 s5, 0xb885f803"));  // a literal that looks like one
}

TEST(Exceptions, TheMachineChoosesTheEngineAndSaysSo) {
  TrapDispatch d(std::string(kCases[2].text) + "\n" + kReadTrapsts + kStoreS5, kReturn);
  d.traps() = {};
  d.launch.uses_exceptions = precise::uses_exceptions(d.launch.code, 32);
  const Outcome outcome = d.run();
  EXPECT_NE(outcome.note.find("TRAPSTS"), std::string::npos) << outcome.note;
  EXPECT_EQ(d.buffer[0], ts::kDivideByZero);
  ASSERT_EQ(outcome.exceptions.size(), 1u);
  EXPECT_EQ(outcome.exceptions[0].rule, "divide by zero");
  EXPECT_EQ(outcome.exceptions[0].pc, d.pc(1));
}

// ---- The unit against the function, lane by lane

std::vector<uint64_t> edge_values(unsigned bits) {
  const unsigned fraction = bits == 16 ? 10 : bits == 32 ? 23 : 52;
  const uint64_t sign = uint64_t{1} << (bits - 1), infinity = sign - (uint64_t{1} << fraction),
                 least = uint64_t{1} << fraction, one = infinity >> 1 & ~(least - 1);
  std::vector<uint64_t> values;
  for (uint64_t value : {uint64_t{0}, uint64_t{1}, least - 1, least, least + 1, one, one + 1, one - least,
                         infinity - 1, infinity - least, infinity, infinity + 1, infinity + least / 2})
    values.insert(values.end(), {value, value | sign});
  return values;
}

struct Listing {
  const char* text;
  unsigned bits;  // of its values
};
const Listing kListings[] = {
    {"v_add_f32 v20, v2, v4", 32},
    {"v_mul_f32 v20, v2, v4", 32},
    {"v_fma_f32 v20, v2, -v4, |v6|", 32},
    {"v_fmac_f32 v20, v2, v4", 32},
    {"v_max_f32 v20, v2, v4", 32},
    {"v_cmp_lt_f32 vcc_lo, v2, v4", 32},
    {"v_cmp_eq_f32 s20, v2, v4 clamp", 32},
    {"v_sqrt_f32 v20, v2", 32},
    {"v_rcp_f32 v20, v2", 32},
    {"v_rcp_iflag_f32 v20, v2", 32},
    {"v_cvt_i32_f32 v20, v2", 32},
    {"v_cvt_i32_f32 v20, v2 clamp", 32},
    {"v_cvt_f16_f32 v20, v2", 32},
    {"v_cvt_f64_f32 v[20:21], v2", 32},
    {"v_div_fixup_f32 v20, v2, v4, v6", 32},
    {"v_div_fmas_f32 v20, v2, v4, v6", 32},
    {"v_ldexp_f32 v20, v2, v4", 32},
    {"v_add_f64 v[20:21], v[2:3], v[4:5]", 64},
    {"v_fma_f64 v[20:21], v[2:3], v[4:5], -v[6:7]", 64},
    {"v_cvt_f32_f64 v20, v[2:3]", 64},
    {"v_rsq_f64 v[20:21], v[2:3]", 64},
    {"v_add_f16 v20, v2, v4", 16},
    {"v_fma_f16 v20, v2, v4, v6 op_sel:[1,0,1,1]", 16},
    {"v_pk_mul_f16 v20, v2, v4", 16},
    {"v_pk_fma_f16 v20, v2, v4, v6 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]", 16},
    {"v_fma_mix_f32 v20, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]", 16},
    {"v_dual_mul_f32 v20, v2, v4 :: v_dual_add_f32 v21, v3, v5", 32},
};

TEST(Exceptions, TrapstsIsTheUnionOverActiveLanesOfWhatTheFunctionSays) {
  constexpr uint32_t kExecs[] = {0xffffffff, 1,          0x80000000, 0x0f0f5533,
                                 0,          0x00010000, 0xaaaaaaaa, 0x7fffffff};
  constexpr uint32_t kVcc = 0x3c5a9669;
  constexpr unsigned kInput = 4096;  // bytes: registers 2 to 7, then the old v20 and v21
  std::mt19937_64 random(7);
  for (const Listing& listing : kListings) {
    isa::Instruction instruction;
    const auto& words = interpreter::assembled(listing.text, 32);
    ASSERT_EQ(isa::decode(std::as_bytes(std::span(words)), 32, instruction), isa::DecodeError::none)
        << listing.text;
    std::string text = "v_lshlrev_b32 v31, 2, v0\n";
    for (unsigned i = 0; i < 8; ++i)
      text += "global_load_b32 v" + std::to_string(i < 6 ? i + 2 : i + 18) +
              ", v31, s[0:1] offset:" + std::to_string(2048 + 128 * i) + "\n";
    text += "s_waitcnt vmcnt(0)\n";
    for (unsigned i = 0; i < std::size(kExecs); ++i)
      text += "v_mov_b32 v20, v24\nv_mov_b32 v21, v25\ns_mov_b32 vcc_lo, " + std::to_string(kVcc) +
              "\ns_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0\ns_mov_b32 exec_lo, " +
              std::to_string(kExecs[i]) + "\n" + listing.text + "\ns_mov_b32 exec_lo, -1\n" + kReadTrapsts +
              "v_mov_b32 v30, s5\nglobal_store_b32 v31, v30, s[0:1] offset:" + std::to_string(128 * i) + "\n";
    const auto edges = edge_values(listing.bits);
    for (const uint32_t mode : {0xf0u, 0x00u, 0xf5u, 0xafu}) {
      TrapDispatch d(text, kReturn);
      d.traps() = {};
      d.options.precise.exceptions = true;
      d.launch.rsrc1 = mode << 12 | 1u << 23;
      std::array<std::array<uint32_t, 32>, 8> registers;  // v2 to v7, then v20 and v21
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 8; i += 2) {
          const auto pick = [&] { return edges[random() % edges.size()]; };
          const uint64_t pair = listing.bits == 64   ? pick()
                                : listing.bits == 32 ? pick() | pick() << 32
                                                     : pick() | pick() << 16 | pick() << 32 | pick() << 48;
          registers[i][lane] = static_cast<uint32_t>(pair);
          registers[i + 1][lane] = static_cast<uint32_t>(pair >> 32);
        }
      for (unsigned i = 0; i < 8; ++i)
        std::copy(registers[i].begin(), registers[i].end(), d.buffer.begin() + 512 + 32 * i);
      static_assert(kInput >= 2048);
      ASSERT_FALSE(d.run().fault) << listing.text;

      const auto expected_of = [&](unsigned lane) {
        uint32_t raised = 0;
        for (const bool y_half : {false, true}) {
          if (y_half && !instruction.row_y) break;
          semantics::LaneSources sources;
          sources.vcc = kVcc >> lane & 1;
          for (unsigned i = 0; i < instruction.operand_count; ++i) {
            const isa::Operand& operand = instruction.operands[i];
            const bool in_y = instruction.row_y && i >= instruction.first_y_operand;
            if (!operand.is_vgpr() || in_y != y_half || !operand.read) continue;
            const unsigned place = operand.vgpr() < 20 ? operand.vgpr() - 2 : operand.vgpr() - 14;
            uint64_t value = registers[place][lane];
            if (operand.words == 2) value |= uint64_t{registers[place + 1][lane]} << 32;
            if (operand.role == isa::Role::dst)
              sources.old_destination = value;
            else
              sources.source[static_cast<size_t>(operand.role) - static_cast<size_t>(isa::Role::src0)] =
                  value;
          }
          raised |= semantics::exceptions_of(instruction, y_half, sources, mode | 0x200);
        }
        return raised;
      };
      for (unsigned i = 0; i < std::size(kExecs); ++i) {
        uint32_t expected = 0;
        for (unsigned lane = 0; lane < 32; ++lane)
          if (kExecs[i] >> lane & 1) expected |= expected_of(lane);
        EXPECT_EQ(d.buffer[32 * i], expected)
            << listing.text << std::hex << " EXEC 0x" << kExecs[i] << " MODE 0x" << mode;
      }
    }
  }
}

// ---- Memory

TEST(AddressWatch, EachOfTheFourHasItsBit) {  // 3.4.9: EXCP[7], ADDR_WATCH1-3
  constexpr uint32_t kBits[] = {ts::kAddressWatch, ts::kAddressWatch1, ts::kAddressWatch1 << 1,
                                ts::kAddressWatch1 << 2};
  for (unsigned i = 0; i < 4; ++i) {
    TrapDispatch d(
        "v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1] offset:256\n" + kReadTrapsts + kStoreS5,
        kNote + kReturn);
    d.traps().watches[i] = {d.address() + 256 + 31 * 4 + 3, d.address() + 256 + 31 * 4 + 4};
    EXPECT_TRUE(d.trapped().empty());  // not enabled: it is noted, no more
    EXPECT_EQ(d.buffer[0], kBits[i]);
  }
}

TEST(AddressWatch, TrapsIfEnabled) {  // 3.4.2: EXCP_EN[7]
  TrapDispatch d(
      "v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1] offset:256\n"
      "global_load_b32 v2, v1, s[0:1] offset:512\ns_nop 0",
      kNote + kClearTrapsts + kReturn);
  d.traps().watches[2] = {d.address() + 512, d.address() + 516};
  d.traps().exception_enable = ts::kAddressWatch;
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].trapsts, ts::kAddressWatch1 << 1);
  EXPECT_EQ(d.dword(log[0]), 5u);
}

TEST(AddressWatch, SeesReadsWritesAndAtomicsOfEveryPath) {  // 3.4.9: VMEM or SMEM
  struct Access {
    const char* text;
    bool reads, writes;
  };
  const Access accesses[] = {
      {"global_load_b128 v[2:5], v1, s[0:1] offset:244", true, false},
      {"global_store_b8 v1, v0, s[0:1] offset:256", false, true},
      {"global_atomic_add_u32 v1, v0, s[0:1] offset:256", true, true},
      {"flat_load_b32 v2, v[6:7] offset:256", true, false},
      {"flat_store_b64 v[6:7], v[2:3] offset:252", false, true},
      {"s_load_b64 s[8:9], s[0:1], 252", true, false},
      {"s_buffer_load_b32 s8, s[12:15], 256", true, false},
      {"buffer_load_b32 v2, v1, s[12:15], 0 offen offset:256", true, false},
      {"buffer_store_b16 v2, v1, s[12:15], 0 offen offset:258", false, true},
      {"buffer_load_format_x v2, v1, s[12:15], 0 offen offset:256", true, false},
      {"global_load_addtid_b32 v2, s[0:1] offset:256", true, false},
      {"ds_load_b32 v2, v1 offset:256", false, false},
      {"scratch_load_b32 v2, off, off", false, false},
  };
  for (const Access& access : accesses)
    for (const bool watch_reads : {false, true}) {
      // One active lane, whose address is the buffer's beginning plus the offset.
      TrapDispatch d(std::string("v_mov_b32 v1, 0\nv_mov_b32 v6, s0\nv_mov_b32 v7, s1\n"
                                 "s_mov_b32 s12, s0\ns_mov_b32 s13, s1\ns_movk_i32 s14, 0x2000\n"
                                 "s_mov_b32 s15, 0x31016000\n") +
                         access.text + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\n" + kReadTrapsts + kStoreS5,
                     kReturn, 1);
      d.launch.scratch_bytes = 16;
      d.traps().watches[1] = {d.address() + 256, d.address() + 260, watch_reads, !watch_reads};
      EXPECT_FALSE(d.run().fault) << access.text;
      const bool hit = watch_reads ? access.reads : access.writes;
      EXPECT_EQ(d.buffer[0], hit ? ts::kAddressWatch1 : 0) << access.text << " reads " << watch_reads;
    }
}

TEST(Buffer, OutOfBoundsIsNotedAndTrapsNot) {  // 3.4.9: BUFFER_OOB, sticky
  const std::string resource =
      "s_mov_b32 s12, s0\ns_mov_b32 s13, s1\ns_movk_i32 s14, 0x80\ns_mov_b32 s15, 0x31016000\n"
      "v_lshlrev_b32 v1, 2, v0\n";
  for (const char* offset : {"0", "4"}) {
    TrapDispatch d(resource + "buffer_load_b32 v2, v1, s[12:15], 0 offen offset:" + offset + "\n" +
                       "buffer_load_b32 v2, v1, s[12:15], 0 offen\n" + kReadTrapsts + kStoreS5,
                   kNote + kReturn);
    d.traps().exception_enable = 0xff;
    EXPECT_TRUE(d.trapped().empty());
    EXPECT_EQ(d.buffer[0], *offset == '0' ? 0 : ts::kBufferOutOfBounds);
  }
}

}  // namespace
}  // namespace lockstep::machine

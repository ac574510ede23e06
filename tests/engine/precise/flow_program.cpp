#include "tests/engine/precise/flow_program.h"

#include <algorithm>
#include <array>

#include "engine/precise/counters.h"
#include "tests/engine/interpreter/random_instruction.h"

namespace lockstep::precise {

namespace {

using interpreter::Encoded;
using interpreter::Random;
using isa::Encoding;
using isa::Opcode;

// v20: four times the lane, v1 eight times; v[2:3]: an address for the lane; s[30:31]: the wave's place for
// its dump.
constexpr uint32_t kPrologue[] = {0x30280082,               // v_lshlrev_b32 v20, 2, v0
                                  0x362828ff, 0x000000ff,   // v_and_b32 v20, 0xff, v20
                                  0x7e3a0500,               // v_readfirstlane_b32 s29, v0
                                  0x841d871d,               // s_lshl_b32 s29, s29, 7
                                  0x841c8e08,               // s_lshl_b32 s28, s8, 14
                                  0x801d1c1d,               // s_add_u32 s29, s29, s28
                                  0x801e1d02,               // s_add_u32 s30, s2, s29
                                  0x821f8003,               // s_addc_u32 s31, s3, 0
                                  0x7e020314,               // v_mov_b32 v1, v20
                                  0xd7006a02, 0x00022800,   // v_add_co_u32 v2, vcc, s0, v20
                                  0xd5206a03, 0x01a90001};  // v_add_co_ci_u32 v3, vcc, s1, 0, vcc
constexpr uint32_t kWaitAll[] = {0xbf890000, 0xbc7c0000};   // s_waitcnt 0, s_waitcnt_vscnt null, 0
constexpr uint32_t kBeginDump[] = {0xbe9c00fd,              // s_mov_b32 s28, src_scc
                                   0xbe9a017e,              // s_mov_b64 s[26:27], exec
                                   0xbefe01c1,              // s_mov_b64 exec, -1
                                   0xb899f801,              // s_getreg_b32 s25, hwreg(HW_REG_MODE)
                                   0xb898f802};             // s_getreg_b32 s24, hwreg(HW_REG_STATUS)
constexpr uint32_t kNop = 0xbf800000, kEnd = 0xbfb00000, kCodeEnd = 0xbf9f0000;
constexpr unsigned kPaddingDwords = 64;

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool empty() const { return at_ >= bytes_.size(); }
  unsigned next() { return empty() ? 0 : static_cast<unsigned>(bytes_[at_++]); }
  unsigned below(unsigned bound) { return next() % bound; }
  uint32_t word16() { return next() | next() << 8; }
  template <size_t size>
  Opcode one_of(const std::array<Opcode, size>& list) {
    return list[below(size)];
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

// Words that stay together: branches lead to the first one only.
struct Unit {
  std::vector<uint32_t> words;
  int branch = -1;         // the word that has a branch's distance in its lower half, and
  unsigned to = 0;         // the unit that it leads to
  bool long_jump = false;  // or the literal of an addition to what s_getpc gave, in the word before
};

constexpr std::array kBranches = {Opcode::s_branch,
                                  Opcode::s_cbranch_scc0,
                                  Opcode::s_cbranch_scc1,
                                  Opcode::s_cbranch_vccz,
                                  Opcode::s_cbranch_vccnz,
                                  Opcode::s_cbranch_execz,
                                  Opcode::s_cbranch_execnz,
                                  Opcode::s_cbranch_cdbguser,
                                  Opcode::s_cbranch_cdbgsys,
                                  Opcode::s_cbranch_cdbgsys_or_user,
                                  Opcode::s_cbranch_cdbgsys_and_user,
                                  Opcode::s_call_b64,
                                  Opcode::s_subvector_loop_begin,
                                  Opcode::s_subvector_loop_end};
// Any constant will do for them.
constexpr std::array kHints = {Opcode::s_nop,
                               Opcode::s_clause,
                               Opcode::s_clause,
                               Opcode::s_delay_alu,
                               Opcode::s_delay_alu,
                               Opcode::s_waitcnt,
                               Opcode::s_waitcnt_depctr,
                               Opcode::s_wait_event,
                               Opcode::s_wait_idle,
                               Opcode::s_sleep,
                               Opcode::s_setprio,
                               Opcode::s_wakeup,
                               Opcode::s_barrier,
                               Opcode::s_barrier,
                               Opcode::s_version,
                               Opcode::s_icache_inv,
                               Opcode::s_set_inst_prefetch_distance,
                               Opcode::s_ttracedata,
                               Opcode::s_ttracedata_imm,
                               Opcode::s_incperflevel,
                               Opcode::s_decperflevel,
                               Opcode::s_round_mode,
                               Opcode::s_denorm_mode,
                               Opcode::s_waitcnt_vmcnt,
                               Opcode::s_waitcnt_vscnt,
                               Opcode::s_waitcnt_expcnt,
                               Opcode::s_waitcnt_lgkmcnt};
constexpr std::array kEnds = {Opcode::s_endpgm,   Opcode::s_endpgm_saved, Opcode::s_endpgm_ordered_ps_done,
                              Opcode::s_code_end, Opcode::s_sethalt,      Opcode::s_setkill,
                              Opcode::s_trap,     Opcode::s_sendmsghalt,  Opcode::s_rfe_b64};
constexpr std::array kScalars = {
    Opcode::s_getpc_b64,        Opcode::s_setpc_b64,       Opcode::s_movrels_b32,
    Opcode::s_movrels_b64,      Opcode::s_movreld_b32,     Opcode::s_movreld_b64,
    Opcode::s_movrelsd_2_b32,   Opcode::s_sendmsg_rtn_b32, Opcode::s_sendmsg_rtn_b64,
    Opcode::s_and_saveexec_b32, Opcode::s_or_saveexec_b64, Opcode::s_and_not0_wrexec_b32,
    Opcode::s_cselect_b32,      Opcode::s_mov_b32,         Opcode::s_mov_b64,
    Opcode::s_cmov_b32,         Opcode::s_wqm_b32};
constexpr std::array kVectors = {
    Opcode::v_mov_b32,          Opcode::v_add_nc_u32,    Opcode::v_cmp_lt_u32,        Opcode::v_cmpx_lt_u32,
    Opcode::v_readlane_b32,     Opcode::v_writelane_b32, Opcode::v_readfirstlane_b32, Opcode::v_movrels_b32,
    Opcode::v_movreld_b32,      Opcode::v_swap_b32,      Opcode::v_permlane16_b32,    Opcode::v_mad_u64_u32,
    Opcode::v_add_co_ci_u32,    Opcode::v_add_f32,       Opcode::v_rcp_f32,           Opcode::v_cndmask_b32,
    Opcode::v_mbcnt_lo_u32_b32, Opcode::v_swaprel_b32};
// Of SOPK and SOPP and the like; hardware registers whose value says nothing of where or when it ran.
constexpr std::array<unsigned, 8> kHardwareRegisters = {1, 1, 1, 2, 3, 7, 15, 6};

bool is_of_memory(Encoding encoding) {
  return encoding == Encoding::smem || (isa::is_vector_memory(encoding) && encoding != Encoding::mimg);
}

const std::vector<const isa::Row*>& memory_rows() {
  static const std::vector<const isa::Row*> list = [] {
    std::vector<const isa::Row*> found;
    for (const isa::Row& row : isa::rows())
      if (is_of_memory(row.encoding) || row.encoding == Encoding::ldsdir) found.push_back(&row);
    return found;
  }();
  return list;
}

class Maker {
 public:
  explicit Maker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  FlowProgram make() {
    const unsigned shape = bytes_.next(), results = bytes_.next();
    program_.wave_size = shape & 1 ? 64 : 32;
    program_.items = program_.wave_size * (shape & 2 ? 2 : 1) - (shape & 4 ? 5 : 0);
    program_.groups = shape & 8 ? 2 : 1;
    program_.vgprs = shape & 16 ? 24 : shape & 32 ? 48 : 256;
    program_.default_float_mode = shape & 64;
    program_.waited = shape & 128;
    program_.late = results & 1;
    program_.incoherent = (results & 6) == 6;
    program_.seed = results;
    while (!bytes_.empty() && units_.size() < kMostUnits) units_.push_back(unit());
    assemble();
    return std::move(program_);
  }

 private:
  static constexpr size_t kMostUnits = 96;

  Unit unit() {
    switch (bytes_.below(16)) {
      case 0:
      case 1:
        return branch(bytes_.one_of(kBranches));
      case 2:
      case 3:
      case 4:
        return hint(bytes_.one_of(kHints));
      case 5:
        return bytes_.below(4) == 0 ? hint(bytes_.one_of(kEnds)) : message();
      case 6:
        return hardware_register();
      case 7:
        return scalar(bytes_.one_of(kScalars));
      case 8:
        return {at_random(*isa::find_row(bytes_.one_of(kVectors)), true)};
      case 9:
      case 10:
      case 11:
      case 12:
        return {memory()};
      case 13:
        return mask();
      case 14:
        return long_jump();
      default:
        return {at_random(isa::rows()[bytes_.word16() % isa::rows().size()], bytes_.below(2))};
    }
  }

  unsigned number(Opcode opcode) const { return isa::find_row(opcode)->number; }
  static uint32_t sopp(unsigned number, uint32_t constant) {
    return 0xbf80'0000 | number << 16 | (constant & 0xffff);
  }
  static uint32_t sopk(unsigned number, unsigned destination, uint32_t constant) {
    return 0xb000'0000 | number << 23 | destination << 16 | (constant & 0xffff);
  }
  static uint32_t sop1(unsigned number, unsigned destination, unsigned source) {
    return 0xbe80'0000 | destination << 16 | number << 8 | source;
  }
  // A register that the dump does not need, or seldom any other.
  unsigned destination() {
    const unsigned choice = bytes_.next();
    return choice < 240 ? 10 + choice % 14 : 100 + choice % 28;
  }

  // Mostly ahead, by a few units: what loops says little that is new, for long.
  unsigned target() {
    const unsigned here = static_cast<unsigned>(units_.size()), choice = bytes_.below(16);
    return choice == 0 ? here - std::min(here, bytes_.below(4)) : here + 1 + choice / 2;
  }
  Unit branch(Opcode opcode) {
    const isa::Row& row = *isa::find_row(opcode);
    const uint32_t word =
        row.encoding == Encoding::sopp ? sopp(row.number, 0) : sopk(row.number, destination(), 0);
    return {{word}, 0, target()};
  }
  Unit long_jump() {
    const unsigned kind = bytes_.below(3);
    return {{sop1(number(Opcode::s_getpc_b64), 22, 0), 0x8016'ff16, 0, 0x8217'8017,
             kind == 0 ? sop1(number(Opcode::s_swappc_b64), destination(), 22)
                       : sop1(number(Opcode::s_setpc_b64), 0, 22)},
            2,
            target(),
            true};
  }
  Unit hint(Opcode opcode) {
    const isa::Row& row = *isa::find_row(opcode);
    const uint32_t constant = bytes_.below(2) ? bytes_.below(8) : bytes_.word16();
    if (row.encoding == Encoding::sopp) return {{sopp(row.number, constant)}};
    if (row.encoding == Encoding::sopk)
      return {{sopk(row.number, bytes_.below(2) ? isa::code::kNull : destination(), constant)}};
    return {{sop1(row.number, destination(), destination())}};
  }
  Unit message() {
    constexpr unsigned kMessages[] = {1, 1, 1, 1, 3, 0x101, 0x301, 1, 1, 1, 1, 1, 1, 1, 1, 0};
    return {{sopp(number(Opcode::s_sendmsg), kMessages[bytes_.below(16)])}};
  }
  Unit hardware_register() {
    const uint32_t field = kHardwareRegisters[bytes_.below(kHardwareRegisters.size())] |
                           (bytes_.next() & 31) << 6 | (bytes_.next() & 31) << 11;
    switch (bytes_.below(3)) {
      case 0:
        return {{sopk(number(Opcode::s_getreg_b32), destination(), field)}};
      case 1:
        return {{sopk(number(Opcode::s_setreg_b32), destination(), field)}};
      default:
        return {{sopk(number(Opcode::s_setreg_imm32_b32), 0, field), bytes_.word16()}};
    }
  }
  Unit scalar(Opcode opcode) {
    if (opcode == Opcode::s_sendmsg_rtn_b32 || opcode == Opcode::s_sendmsg_rtn_b64)
      return {{sop1(number(opcode), destination(), 0x80 + bytes_.below(bytes_.below(8) ? 4 : 8))}};
    return {at_random(*isa::find_row(opcode), bytes_.below(2))};
  }
  // EXEC, VCC, M0 or a register gets a constant.
  Unit mask() {
    constexpr uint8_t kTo[] = {isa::code::kExecLo, isa::code::kVccLo, isa::code::kM0, isa::code::kExecHi};
    const unsigned to = bytes_.below(5);
    constexpr uint8_t kFrom[] = {128, 129, 193, 131, 208, 192, 255, 10};
    const unsigned from = kFrom[bytes_.below(8)];
    const bool wide = to < 2 && program_.wave_size == 64;
    Unit unit{{sop1(number(wide ? Opcode::s_mov_b64 : Opcode::s_mov_b32), to == 4 ? destination() : kTo[to],
                    from)}};
    if (from == 255) unit.words.push_back(bytes_.word16() << 4);
    return unit;
  }

  std::vector<uint32_t> at_random(const isa::Row& row, bool plain) {
    Random random(bytes_.word16());
    const auto encoded = interpreter::random_instruction(row, program_.wave_size, random, plain);
    return encoded ? encoded->words : std::vector<uint32_t>{kNop};
  }
  // With operands that lead into the memory that there is.
  std::vector<uint32_t> memory() {
    const isa::Row& row = *memory_rows()[bytes_.word16() % memory_rows().size()];
    std::vector<uint32_t> words = at_random(row, bytes_.below(4) != 0);
    if (words.size() < 2 || bytes_.below(8) == 0) return words;
    uint32_t &first = words[0], &second = words[1];
    const uint32_t data = 4 + bytes_.below(14), result = 4 + bytes_.below(14),
                   offset = bytes_.next() * (bytes_.below(8) ? 8u : 4u);
    switch (row.encoding) {
      case Encoding::smem: {
        const bool is_buffer = row.name.starts_with("s_buffer");
        first = (first & ~0x1fffu) | (is_buffer ? 2 : 0) | (12 + 4 * bytes_.below(2)) << 6;
        second = 124u << 25 | offset;
        break;
      }
      case Encoding::ds:
        first = (first & ~0xffffu) | (offset & 0xff);
        second = 1 | data << 8 | (data + 2) << 16 | result << 24;
        break;
      case Encoding::global:
        first = (first & ~0x1fffu) | offset;
        second = 1 | data << 8 | result << 24;
        break;
      case Encoding::flat:
        first = (first & ~0x1fffu) | offset;
        second = 2 | data << 8 | 124u << 16 | result << 24;
        break;
      case Encoding::scratch:
        first = (first & ~0x1fffu) | (offset & 31);
        second = data << 8 | 124u << 16 | result << 24;
        break;
      default:  // buffers
        first = (first & ~0xfffu) | offset;
        second = (second & 0x0040'0000) | 1 | result << 8 | 1u << 16 | 124u << 24;
        break;
    }
    isa::Instruction instruction;
    const bool good = isa::decode(std::as_bytes(std::span(words)), program_.wave_size, instruction) ==
                          isa::DecodeError::none &&
                      instruction.size == 4 * words.size();
    return good ? words : std::vector<uint32_t>{kNop};
  }

  // What tells time or place is left out, and branches lead to units.
  void tame(Unit& unit) {
    isa::Instruction instruction;
    std::span<const uint32_t> words(unit.words);
    if (unit.branch >= 0) return;
    if (isa::decode(std::as_bytes(words), program_.wave_size, instruction) != isa::DecodeError::none) {
      if (unit.words[0] % 16 != 3) unit.words = {kNop};  // some may stay
      return;
    }
    switch (instruction.row->opcode) {
      case Opcode::s_sleep:
        program_.sleeps = true;
        break;
      case Opcode::s_getreg_b32: {
        const auto id = static_cast<uint32_t>(instruction.operands[1].value) & 63;
        if (std::ranges::find(kHardwareRegisters, id) == kHardwareRegisters.end()) unit.words = {kNop};
        break;
      }
      case Opcode::s_sendmsg_rtn_b32:
      case Opcode::s_sendmsg_rtn_b64:
        if ((unit.words[0] & 0xff) == 0x83) unit.words = {kNop};
        break;
      default:
        if (instruction.operand_count != 0 &&
            instruction.operands[instruction.operand_count - 1].type == isa::Type::label) {
          unit.branch = 0;
          unit.to = (unit.words[0] & 0xffff) % kMostUnits;
        }
        break;
    }
  }

  bool is_counted(const Unit& unit) const {
    isa::Instruction instruction;
    return isa::decode(std::as_bytes(std::span(unit.words)), program_.wave_size, instruction) ==
               isa::DecodeError::none &&
           shares_of(instruction).count != 0;
  }

  void assemble() {
    std::vector<uint32_t>& code = program_.code;
    auto append = [&](std::span<const uint32_t> words) {
      code.insert(code.end(), words.begin(), words.end());
    };
    std::vector<size_t> places;
    append(kPrologue);
    for (Unit& unit : units_) {
      tame(unit);
      places.push_back(code.size());
      append(unit.words);
      if (program_.waited && is_counted(unit)) append(kWaitAll);
    }
    const size_t end = code.size();
    for (size_t i = 0; i < units_.size(); ++i) {
      const Unit& unit = units_[i];
      if (unit.branch < 0) continue;
      const size_t to = unit.to < places.size() ? places[unit.to] : end,
                   at = places[i] + static_cast<size_t>(unit.branch);
      if (unit.long_jump)
        code[at] = static_cast<uint32_t>(4 * (to - (at - 1)));
      else
        code[at] = (code[at] & 0xffff'0000) | (static_cast<uint32_t>(to - at - 1) & 0xffff);
    }
    dump();
  }

  // All that a wave has of VGPRs 1 to 15, and of SGPRs, VCC, M0, EXEC and SCC in the lanes of v21.
  void dump() {
    std::vector<uint32_t>& code = program_.code;
    code.insert(code.end(), std::begin(kWaitAll), std::end(kWaitAll));
    code.insert(code.end(), std::begin(kBeginDump), std::end(kBeginDump));
    uint32_t lane = 0;
    for (uint32_t number = 8; number < 30; ++number) write_lane(number, lane++);
    for (uint32_t number : {isa::code::kVccLo, isa::code::kVccHi, isa::code::kM0}) write_lane(number, lane++);
    store(21, 0);
    for (uint32_t number = 1; number < 16; ++number) store(number, number);
    code.push_back(kEnd);
    code.resize(code.size() + kPaddingDwords, kCodeEnd);
  }
  void write_lane(uint32_t scalar, uint32_t lane) {
    program_.code.push_back(0xd761'0015);
    program_.code.push_back(scalar | (128 + lane) << 9);
  }
  void store(uint32_t vgpr, uint32_t place) {
    program_.code.push_back(0xdc6a'0000 | place * program_.wave_size * 4);
    program_.code.push_back(20 | vgpr << 8 | 30u << 16);
  }

  Bytes bytes_;
  FlowProgram program_;
  std::vector<Unit> units_;
};

}  // namespace

FlowProgram flow_program(std::span<const std::byte> bytes) {
  return Maker(bytes).make();
}

}  // namespace lockstep::precise

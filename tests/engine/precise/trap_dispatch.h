// A dispatch with a trap handler in assembly.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "state/trap_status.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {

// Pieces of handlers. `kNote` appends {TTMP0, TTMP1, STATUS, TRAPSTS} to the log at TMA; it uses VGPRs 240 to
// 244 and TTMPs 4 to 9, and leaves STATUS in ttmp6.
inline const std::string kNote =
    "s_getreg_b32 ttmp6, hwreg(HW_REG_STATUS)\n"
    "s_getreg_b32 ttmp7, hwreg(HW_REG_TRAPSTS)\n"
    "s_sendmsg_rtn_b64 ttmp[4:5], sendmsg(MSG_RTN_GET_TMA)\n"
    "s_mov_b64 ttmp[8:9], exec\n"
    "s_mov_b64 exec, 1\n"
    "s_waitcnt lgkmcnt(0)\n"
    "v_mov_b32 v240, ttmp0\n"
    "v_mov_b32 v241, ttmp1\n"
    "v_mov_b32 v242, ttmp6\n"
    "v_mov_b32 v243, ttmp7\n"
    "global_store_b128 v244, v[240:243], ttmp[4:5]\n"
    "v_add_nc_u32 v244, 16, v244\n"
    "s_mov_b64 exec, ttmp[8:9]\n";
inline const std::string kClearTrapsts = "s_mov_b32 ttmp10, 0\ns_setreg_b32 hwreg(HW_REG_TRAPSTS), ttmp10\n";
inline const std::string kReturn = "s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp6\ns_rfe_b64 ttmp[0:1]\n";
// Behind an instruction of that many bytes.
inline std::string return_behind(unsigned bytes) {
  return "s_add_u32 ttmp0, ttmp0, " + std::to_string(bytes) + "\ns_addc_u32 ttmp1, ttmp1, 0\n" + kReturn;
}

struct Trapped {
  uint64_t pc;
  unsigned id;
  bool from_host;
  uint32_t status, trapsts;
};

// One work-group; the program is entered as Dispatch says. The log begins at byte kLog of the buffer.
struct TrapDispatch : Dispatch {
  static constexpr uint32_t kLog = 4096;

  std::vector<uint32_t> handler;

  TrapDispatch(std::string_view program, std::string_view handler_text, uint32_t items = 32,
               unsigned wave_size = 32)
      : Dispatch(program, 1, items, wave_size, 16384),
        handler(interpreter::assembled(handler_text, wave_size)) {
    launch.rsrc1 &= ~(1u << 21);  // DX10_CLAMP would suppress exceptions
    precise::TrapSettings& traps = options.precise.traps;
    traps.handler = reinterpret_cast<uint64_t>(handler.data());
    traps.code = {traps.handler, traps.handler + 4 * handler.size()};
    traps.memory = address() + kLog;
    options.threads = 1;
  }

  precise::TrapSettings& traps() { return options.precise.traps; }

  // Runs to the end, and returns what the handler noted.
  std::vector<Trapped> trapped() {
    const Outcome outcome = run();
    if (outcome.fault)
      ADD_FAILURE() << outcome.fault->fault.message << " at dword "
                    << (outcome.fault->fault.pc - launch.entry) / 4 << ": " << outcome.fault->instruction;
    std::vector<Trapped> result;
    for (size_t at = kLog / 4; at + 4 <= buffer.size() && (buffer[at] | buffer[at + 1]) != 0; at += 4) {
      const uint32_t high = buffer[at + 1];
      result.push_back({buffer[at] | uint64_t{high & 0xffff} << 32, high >> 16 & 0xff, (high >> 24 & 1) != 0,
                        buffer[at + 2], buffer[at + 3]});
      EXPECT_EQ(high >> 25, 0u);
    }
    return result;
  }
  size_t dword(const Trapped& trapped) const { return (trapped.pc - launch.entry) / 4; }
};

// Stores s5 of a program to the buffer's first words, one a lane (clobbers v10 and v11).
inline const std::string kStoreS5 =
    "v_mov_b32 v10, s5\nv_lshlrev_b32 v11, 2, v0\nglobal_store_b32 v11, v10, s[0:1]\n";

}  // namespace lockstep::machine

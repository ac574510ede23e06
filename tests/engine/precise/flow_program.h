// Programs made from bytes, most of whose instructions are those of program flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::precise {

// How the program is dispatched. At entry s[0:1] is the address of kPlayBytes that it may use, s[2:3] that of
// the dumps, s[4:7] a buffer resource of the former, s8 the work-group's number and v0 the work-item.
struct FlowProgram {
  static constexpr uint32_t kPlayBytes = 8192, kDumpBytesOfGroup = 16384;

  std::vector<uint32_t> code;
  unsigned wave_size = 32, items = 32, groups = 1, vgprs = 24;
  bool default_float_mode = true;
  bool waited = false;  // behind each instruction that counts stands a wait for all counters
  bool sleeps = false;  // some wave may: who goes first then depends on how finely an engine divides time
  bool late = false, incoherent = false;
  uint64_t seed = 0;
};

FlowProgram flow_program(std::span<const std::byte> bytes);

}  // namespace lockstep::precise

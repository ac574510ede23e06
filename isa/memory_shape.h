// What each memory instruction moves, from its row (guide 9.1, 11.1, 12.5): how many bytes at how many
// addresses, and which parts of registers. Image loads and stores are not here: their data follows the
// image's format and DMASK. Which operation an atomic is says semantics/memory_shape.h.
#pragma once

#include <cstdint>

#include "isa/row.h"

namespace lockstep::isa {

// Whether operands of that role are a part of an address.
constexpr bool is_address(Role role) {
  return role == Role::addr || role == Role::saddr || role == Role::resource || role == Role::soffset;
}

// The part of the register that an 8- or 16-bit access uses. Loads leave the other half as it was.
enum class RegisterPart : uint8_t { whole, low_half, high_half };

struct AccessShape {
  enum class Kind : uint8_t { none, load, store, atomic };

  Kind kind = Kind::none;
  uint8_t bytes = 0;  // at each address; 0: the data format says (format_components is set)
  RegisterPart part = RegisterPart::whole;
  bool sign_extend = false;       // bytes and shorts, to the width of `part`
  uint8_t format_components = 0;  // *_format_x to _xyzw: 1 to 4
  bool d16 = false;               // format conversion to and from 16-bit components, two to a register
  uint8_t addresses = 1;  // 2: the DS two-address forms, with offset0 and offset1 in units of offset_unit
  uint16_t offset_unit = 1;
  bool add_lane_id = false;  // *_addtid: the address has lane * 4 in place of a VGPR
  bool to_lds = false;       // the loaded data goes to LDS

  constexpr explicit operator bool() const { return kind != Kind::none; }
  constexpr bool reads() const { return kind == Kind::load || kind == Kind::atomic; }
  constexpr bool writes() const { return kind == Kind::store || kind == Kind::atomic; }
  // Registers of one address; of a format access, without the status register of TFE.
  constexpr unsigned registers() const {
    if (format_components) return d16 ? (format_components + 1) / 2 : format_components;
    return (bytes + 3) / 4;
  }
  // The bits of register `word` of the data that the instruction reads or writes.
  constexpr uint32_t used_bits(unsigned word) const {
    if (word == 0 && part != RegisterPart::whole)
      return part == RegisterPart::low_half ? 0xffffu : 0xffff0000u;
    // The last of an odd number of 16-bit components has its register for itself.
    return d16 && format_components == 2 * word + 1 ? 0xffffu : ~0u;
  }
};

// Kind::none for what moves no data between registers and a memory in this way: lane exchanges, global wave
// sync, ordered counts, LDSDIR, the stack of ray traversal, images.
const AccessShape& access_shape(Opcode opcode);

}  // namespace lockstep::isa

// DS with the GDS bit: the global data share (guide 12.6), global wave sync and ordered count (13.4), the
// stream-out registers (12.6.1). All of them are the device's, under its lock.
#include <bit>
#include <cstring>
#include <optional>

#include "engine/interpreter/atomic_access.h"
#include "engine/interpreter/common.h"
#include "engine/interpreter/lane_address.h"
#include "engine/interpreter/registration.h"
#include "memory/access_modes.h"
#include "numeric/float_mode.h"
#include "state/dispatch_state.h"
#include "state/gws_resource.h"

namespace lockstep::interpreter {
namespace {

using isa::AccessShape;
using isa::Opcode;
using semantics::AtomicFlush;
using semantics::AtomicOperation;
using semantics::AtomicShape;

void fault_with(const Operation* op, Wave* wave, int64_t budget, FaultKind kind, std::string message) {
  Fault fault;
  fault.kind = kind;
  fault.message = std::move(message);
  raise(op, wave, budget, std::move(fault));
}

#define LOCKSTEP_NEED_DEVICE()                                \
  if (!wave->group || !wave->group->dispatch)                 \
  return fault_with(op, wave, budget, FaultKind::unsupported, \
                    "there is no device state here: GDS and what belongs to it need a dispatch")

uint32_t m0(const Wave* wave) {
  return wave->scalar[isa::code::kM0];
}

// ---- GDS memory. One lane only, the first active one (guide 12.6, 13.4.2).

// Addresses are relative to M0's base; M0's size bounds them, and so does what the VMID may use.
class Window {
 public:
  Window(const Wave* wave, DeviceState::Access& device)
      : base_(m0(wave) >> 16), size_(m0(wave) & 0xffff), range_(device.vmid(wave->group->dispatch->vmid)) {}
  std::optional<uint32_t> place(uint32_t address, uint32_t bytes) const {
    if (uint64_t{address} + bytes > size_) return std::nullopt;
    return place_unsized(address, bytes);
  }
  // For append and consume, whose M0 gives no size (guide 16.15).
  std::optional<uint32_t> place_unsized(uint32_t address, uint32_t bytes) const {
    const uint64_t in_range = uint64_t{base_} + address, at = range_.gds_base + in_range;
    if (in_range + bytes > range_.gds_bytes || at + bytes > DeviceState::kGdsBytes) return std::nullopt;
    return static_cast<uint32_t>(at);
  }

 private:
  uint32_t base_, size_;
  VmidRanges range_;
};

// What a load of fewer than four bytes leaves in the register.
uint32_t merged(const AccessShape& shape, uint32_t old, uint32_t raw) {
  const unsigned unused = 32 - 8 * shape.bytes;
  const uint32_t value =
      shape.sign_extend ? static_cast<uint32_t>(static_cast<int32_t>(raw << unused) >> unused) : raw;
  switch (shape.part) {
    case isa::RegisterPart::whole:
      return value;
    case isa::RegisterPart::low_half:
      return (old & 0xffff0000u) | (value & 0xffffu);
    case isa::RegisterPart::high_half:
      return (old & 0xffffu) | value << 16;
  }
  return value;
}

// Out of range: loads give zero, stores are dropped (guide 3.3.4.1).
void access_lane(const Operation* op, Wave* wave, unsigned lane, const AccessShape& shape,
                 uint32_t alignment) {
  DeviceState::Access device(*wave->group->dispatch->device);
  const Window window(wave, device);
  std::optional<uint32_t> places[2];
  for (unsigned i = 0; i < shape.addresses; ++i) {
    const uint32_t address = data_share_address(op, wave, lane, shape, i);
    places[i] = window.place(address - address % alignment, shape.bytes);
  }
  for (unsigned i = 0; i < shape.addresses; ++i) {
    const std::optional<uint32_t> place = places[i];
    uint32_t words[4] = {};
    if (shape.kind == AccessShape::Kind::load) {
      if (place) std::memcpy(words, device.gds() + *place, shape.bytes);
      const uint32_t first = op->dst + i * shape.registers() * wave->register_bytes;
      for (unsigned word = 0; word < shape.registers(); ++word) {
        uint32_t& target = vgpr_lanes(wave, first + word * wave->register_bytes)[lane];
        target = shape.bytes < 4 ? merged(shape, target, words[word]) : words[word];
      }
    } else if (place) {
      for (unsigned word = 0; word < shape.registers(); ++word)
        words[word] = vgpr_lanes(wave, op->source[1 + i] + word * wave->register_bytes)[lane];
      if (shape.part == isa::RegisterPart::high_half) words[0] >>= 16;
      std::memcpy(device.gds() + *place, words, shape.bytes);
    }
  }
}

void gds_access(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEED_DEVICE();
  if (const uint64_t exec = wave->exec()) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(exec));
    const AccessShape shape = isa::access_shape(op->instruction->row->opcode);
    const memory::AlignmentMode mode = context_of(wave)->modes.alignment;
    const uint32_t alignment = memory::lds_alignment(mode, shape.bytes);
    for (unsigned i = 0; i < shape.addresses; ++i)
      if (const uint32_t address = data_share_address(op, wave, lane, shape, i);
          address % alignment != 0 && memory::is_strict(mode))
        return raise_misaligned_access(op, wave, budget, static_cast<int>(lane), address, shape.bytes,
                                       alignment);
    access_lane(op, wave, lane, shape, alignment);
  }
  LOCKSTEP_NEXT();
}

template <class T>
void atomic_lane(const Operation* op, Wave* wave, unsigned lane, const AtomicShape& shape) {
  const RuntimeFloatMode mode{wave->mode};
  const AtomicFlush flush =
      sizeof(T) == 8
          ? semantics::atomic_flush(shape.operation, true, mode.denorm_in_f16_f64(),
                                    mode.denorm_out_f16_f64())
          : semantics::atomic_flush(shape.operation, true, mode.denorm_in_f32(), mode.denorm_out_f32());
  const AccessShape& addressing = isa::access_shape(op->instruction->row->opcode);
  DeviceState::Access device(*wave->group->dispatch->device);
  const Window window(wave, device);
  T old[2] = {};
  for (unsigned i = 0; i < shape.addresses; ++i) {
    const auto place = window.place(data_share_address(op, wave, lane, addressing, i), sizeof(T));
    if (!place) continue;
    const T data = register_value<T>(wave, op->source[1 + i], lane);
    const T second =
        semantics::has_second_operand(shape.operation) ? register_value<T>(wave, op->source[2], lane) : T{0};
    std::memcpy(&old[i], device.gds() + *place, sizeof(T));
    const T result = semantics::apply_atomic<T>(shape.operation, old[i], data, second, flush);
    std::memcpy(device.gds() + *place, &result, sizeof(T));
  }
  if (op->detail == 0) return;
  for (unsigned i = 0; i < shape.addresses; ++i)
    set_register<T>(wave, op->dst + i * sizeof(T) / 4 * wave->register_bytes, lane, old[i]);
}

void gds_atomic(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEED_DEVICE();
  if (const uint64_t exec = wave->exec()) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(exec));
    const AtomicShape shape = semantics::atomic_shape(op->instruction->row->opcode);
    const AccessShape& addressing = isa::access_shape(op->instruction->row->opcode);
    for (unsigned i = 0; i < shape.addresses; ++i) {
      const uint32_t address = (m0(wave) >> 16) + data_share_address(op, wave, lane, addressing, i);
      if (address % shape.bytes != 0)
        return raise_misaligned(op, wave, budget, static_cast<int>(lane), address, shape.bytes);
    }
    if (shape.bytes == 8)
      atomic_lane<uint64_t>(op, wave, lane, shape);
    else
      atomic_lane<uint32_t>(op, wave, lane, shape);
  }
  LOCKSTEP_NEXT();
}

// The whole of EXEC is counted, and every active lane gets the old value (guide 13.4.3, 16.15).
uint32_t count_lanes(const Operation* op, Wave* wave, uint32_t address) {
  DeviceState::Access device(*wave->group->dispatch->device);
  const auto place = Window(wave, device).place_unsized(address, 4);
  if (!place) return 0;
  uint32_t old;
  std::memcpy(&old, device.gds() + *place, 4);
  const uint32_t result =
      semantics::apply_atomic<uint32_t>(semantics::atomic_shape(op->instruction->row->opcode).operation, old,
                                        static_cast<uint32_t>(std::popcount(wave->exec())), 0u, {});
  std::memcpy(device.gds() + *place, &result, 4);
  return old;
}

void gds_count(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEED_DEVICE();
  if (wave->exec() != 0) {
    const uint32_t address = static_cast<uint32_t>(op->offset), at = (m0(wave) >> 16) + address;
    if (at % 4 != 0) return raise_misaligned(op, wave, budget, -1, at, 4);
    const uint32_t old = count_lanes(op, wave, address);
    for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1)
      vgpr_lanes(wave, op->dst)[std::countr_zero(lanes)] = old;
  }
  LOCKSTEP_NEXT();
}

// ---- Stream-out registers (guide 12.6.1, table 62)

void stream_out(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEED_DEVICE();
  if (const uint64_t exec = wave->exec()) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(exec));
    const uint64_t data = vgpr_lanes(wave, op->source[1])[lane];
    const unsigned index = op->instruction->offset0 >> 2 & 15;
    uint64_t old;
    {
      DeviceState::Access device(*wave->group->dispatch->device);
      old = device.stream_out()[index];
      const bool adds = op->instruction->row->opcode == Opcode::ds_add_gs_reg_rtn;
      device.stream_out().set(index, adds ? old + data : old - data);
    }
    if (StreamOutRegisters::is_64_bit(index))
      set_register<uint64_t>(wave, op->dst, lane, old);
    else
      set_register<uint32_t>(wave, op->dst, lane, static_cast<uint32_t>(old));
  }
  LOCKSTEP_NEXT();
}

// ---- Waits. A wave that cannot go on is left with its PC at the instruction, which is repeated when the
// wait is over.

enum class Answer { done, wait, refused };

// Whether the instruction is the repetition of one that waited.
bool is_repeated(const Operation* op, Wave* wave) {
  if (wave->wait.kind == WaitKind::none) return false;
  if (wave->wait.pc == op->pc) return true;
  // The wave was sent elsewhere while it waited.
  DeviceState::Access(*wave->group->dispatch->device).forget(*wave);
  return false;
}

void leave_blocked(const Operation* op, Wave* wave, int64_t budget) {
  leave(wave, op->pc, budget, WaveState::blocked);
}

// ---- Global wave sync (guide 13.4.4, table 63)

bool runs_without_lanes(Opcode opcode) {
  return opcode == Opcode::ds_gws_init || opcode == Opcode::ds_gws_sema_br ||
         opcode == Opcode::ds_gws_barrier;
}

Answer synchronise(const Operation* op, Wave* wave) {
  if (is_repeated(op, wave)) {
    if (!wave->wait.granted()) return Answer::wait;
    wave->wait = {};
    return Answer::done;
  }
  const Opcode opcode = op->instruction->row->opcode;
  const uint64_t exec = wave->exec();
  if (exec == 0 && !runs_without_lanes(opcode)) return Answer::done;
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));

  DispatchState& dispatch = *wave->group->dispatch;
  DeviceState::Access device(*dispatch.device);
  GlobalWaveSync& gws = device.gws();
  const auto resource = gws_resource(device.vmid(dispatch.vmid), m0(wave), op->instruction->offset0);
  if (!resource) return Answer::refused;
  const unsigned id = *resource;

  wave->wait.pc = op->pc;
  bool goes_on = true;
  switch (opcode) {
    case Opcode::ds_gws_init: {
      const bool minus_one = device.init_operand() == DeviceState::InitOperand::waves_minus_one;
      gws.init(id, vgpr_lanes(wave, op->source[1])[lane] + minus_one, device.released());
      break;
    }
    case Opcode::ds_gws_sema_v:
      gws.semaphore_add(id, 1, device.released());
      break;
    case Opcode::ds_gws_sema_br:
      gws.semaphore_add(id, vgpr_lanes(wave, op->source[1])[lane], device.released());
      break;
    case Opcode::ds_gws_sema_release_all:
      gws.semaphore_release_all(id, device.released());
      break;
    case Opcode::ds_gws_sema_p:
      goes_on = gws.semaphore_acquire(id, *wave, device.released());
      break;
    default:
      // The operand is one less than the number of waves (table 63's text; its formula leaves that out).
      goes_on =
          gws.barrier(id, *wave, (vgpr_lanes(wave, op->source[1])[lane] & GlobalWaveSync::kCounterMask) + 1,
                      device.released());
      break;
  }
  return goes_on ? Answer::done : Answer::wait;
}

void refuse(const Operation* op, Wave* wave, int64_t budget) {
  const unsigned vmid = wave->group->dispatch->vmid;
  const unsigned index = (m0(wave) >> 16 & 63) + (op->instruction->offset0 & 63);
  VmidRanges range;
  {
    DeviceState::Access device(*wave->group->dispatch->device);
    range = device.vmid(vmid);
  }
  wave->fault = {};
  wave->fault.kind = FaultKind::refused;
  wave->fault.pc = op->pc;
  wave->fault.message = "NACK: global wave sync resource " + std::to_string(index) +
                        " (M0[21:16] + offset) of VMID " + std::to_string(vmid) + ", which owns " +
                        std::to_string(range.gws_size) +
                        " of them; the wave stands halted at the instruction (guide 13.4.4): use a smaller "
                        "number, or give the VMID more resources and resume the wave";
  leave(wave, op->pc, budget, WaveState::halted);
}

void global_wave_sync(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEED_DEVICE();
  switch (synchronise(op, wave)) {
    case Answer::wait:
      return leave_blocked(op, wave, budget);
    case Answer::refused:
      return refuse(op, wave, budget);
    case Answer::done:
      break;
  }
  LOCKSTEP_NEXT();
}

// ---- Ordered count (guide 13.4.3)

struct OrderedCount {
  unsigned index, operation;
  bool wave_release, wave_done;
  explicit OrderedCount(const Operation* op)
      : index(op->instruction->offset0 >> 2 & 15),
        operation(op->instruction->offset1 >> 4 & 3),
        wave_release(op->instruction->offset1 & 1),
        wave_done(op->instruction->offset1 & 2) {}
};
enum OrderedOperation : unsigned { kAdd = 0, kExchange = 1, kReserved = 2, kWrap = 3 };

// Why the guide forbids it, or null.
const char* forbidden(const Operation* op, const Wave* wave, const OrderedCount& count) {
  if (op->instruction->offset0 & 3)
    return "the ordered count index (offset0) must be a multiple of 4 (guide 13.4.3)";
  if (count.operation == kReserved)
    return "ordered count operation 2 (offset1[5:4]) is reserved: 0 adds, 1 exchanges, 3 wraps (guide "
           "13.4.3)";
  if (StreamOutRegisters::is_64_bit(count.index) && count.operation != kAdd)
    return "ordered count targets 8 to 15 have 64 bits and can only be added to (guide 13.4.3)";
  if (count.operation == kExchange && count.index < 4)
    return "an ordered count may exchange only targets 4 to 7 (guide 13.4.3)";
  if (count.wave_done && !count.wave_release)
    return "wave_done without wave_release: a wave that is done must pass its turn on (LLVM, "
           "ds_ordered_count)";
  if (wave->passed_turn)
    return "an ordered count after one with wave_release: the wave has passed its turn on, and gets no "
           "second one "
           "(guide 13.4.3)";
  if (wave->ordered_counts == 4)
    return "a fifth ordered count of one wave: a wave may issue one count, or up to four allocations (guide "
           "13.4.3)";
  return nullptr;
}

uint64_t ordered_result(const OrderedCount& count, uint64_t old, uint32_t data, uint32_t ring_size) {
  switch (count.operation) {
    case kExchange:
      return data;
    case kWrap:
      return semantics::atomic_wrap::eval(static_cast<uint32_t>(old), data, ring_size);
    default:
      return old + data;
  }
}

bool take_turn(const Operation* op, Wave* wave, const OrderedCount& count) {
  is_repeated(op, wave);
  DispatchState& dispatch = *wave->group->dispatch;
  DeviceState::Access device(*dispatch.device);
  wave->wait = {};
  if (!dispatch.ordered.is_turn_of(*wave)) {
    wave->wait.kind = WaitKind::turn;
    wave->wait.pc = op->pc;
    dispatch.ordered.enqueue(*wave);
    return false;
  }
  // Issued without lanes if the destination is out of range (guide 3.3.3).
  const bool drops_result = op->flags & kWithoutLanes;
  const uint64_t exec = drops_result ? 0 : wave->exec();
  // Without active lanes it adds zero (16.15), and what comes back goes to lane 0 (13.4.2).
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
  const uint32_t data = exec == 0 ? 0 : vgpr_lanes(wave, op->source[1])[lane];
  StreamOutRegisters& registers = device.stream_out();
  const uint64_t old = registers[count.index];
  registers.set(count.index, ordered_result(count, old, data, registers.ring_size[count.index]));
  if (!drops_result) vgpr_lanes(wave, op->dst)[lane] = static_cast<uint32_t>(old);
  ++wave->ordered_counts;
  if (count.wave_release) {
    wave->passed_turn = true;
    dispatch.ordered.pass(device.released());
  }
  return true;
}

void ordered_count(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEED_DEVICE();
  const OrderedCount count(op);
  if (const char* reason = forbidden(op, wave, count))
    return fault_with(op, wave, budget, FaultKind::illegal_instruction, reason);
  if (!take_turn(op, wave, count)) return leave_blocked(op, wave, budget);
  LOCKSTEP_NEXT();
}

}  // namespace

bool in_gds(const Wave* wave, uint32_t address, uint32_t bytes, bool is_count) {
  if (!wave->group || !wave->group->dispatch) return false;
  DeviceState::Access device(*wave->group->dispatch->device);
  const Window window(wave, device);
  return (is_count ? window.place_unsized(address, bytes) : window.place(address, bytes)).has_value();
}

void LOCKSTEP_REGISTER(global_data_share)(HandlerTable& table) {
  for (const isa::Row& row : isa::rows()) {
    if (row.encoding != isa::Encoding::ds || row.flags & isa::kLdsOnly) continue;
    const AccessShape access = isa::access_shape(row.opcode);
    const AtomicShape atomic = semantics::atomic_shape(row.opcode);
    Handler& entry = table.gds[static_cast<size_t>(row.opcode)];
    // Table 60: the forms that add the lane's number work on LDS only.
    if (access && !access.add_lane_id) entry = &gds_access;
    if (atomic) entry = &gds_atomic;
    if (atomic.operation == AtomicOperation::append || atomic.operation == AtomicOperation::consume)
      entry = &gds_count;
  }
  auto set = [&](Opcode opcode, Handler handler) {
    table.gds[static_cast<size_t>(opcode)] = table.other[static_cast<size_t>(opcode)] = handler;
  };
  for (Opcode opcode : {Opcode::ds_gws_init, Opcode::ds_gws_sema_v, Opcode::ds_gws_sema_br,
                        Opcode::ds_gws_sema_p, Opcode::ds_gws_sema_release_all, Opcode::ds_gws_barrier})
    set(opcode, &global_wave_sync);
  set(Opcode::ds_ordered_count, &ordered_count);
  set(Opcode::ds_add_gs_reg_rtn, &stream_out);
  set(Opcode::ds_sub_gs_reg_rtn, &stream_out);
}

}  // namespace lockstep::interpreter

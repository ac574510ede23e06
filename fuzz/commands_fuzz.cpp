// libFuzzer target: one or two queues of any kind and packets that are right, nearly right or anything. The
// emulator must not fall over or hang, and what it may do to memory is checked: see check() and run().
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>

#include "command/pm4.h"
#include "command/sdma.h"
#include "tests/command/machine_under_test.h"

namespace lockstep::command {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "commands_fuzz: not so: %s\n", what);
  __builtin_trap();
}

// ---- The machine that all inputs share

// Memory of the guest between memory that is not. Each block is mapped on its own.
struct Arena {
  static constexpr size_t kBlock = 1024, kGap = 256;
  enum Name : unsigned {
    data0,      // what right packets write to
    data1,      // likewise
    target,     // what kernels write to
    clocks,     // where time stamps go
    words,      // [0] is set by the host when it lets go what waits; [1] and [2] by the packets at the end
    buffers,    // of PM4 packets
    constants,  // may only be read: kernel arguments, the dimensions of an indirect dispatch
    kBlocks
  };
  struct alignas(kGap) Block {
    std::array<std::byte, kGap> before;
    std::array<std::byte, kBlock> data;
  };
  std::array<Block, kBlocks> blocks;
  std::array<std::byte, kGap> behind;

  uint32_t* at(Name block, size_t dword = 0) {
    return reinterpret_cast<uint32_t*>(blocks[block].data.data()) + dword;
  }
};

struct Machine {
  MachineUnderTest m;
  Arena& arena = *new Arena;
  const std::unique_ptr<Arena> pristine = std::make_unique<Arena>();
  enum Kernel : unsigned { empty, store, waiting, message, scratch, faulting, kKernels };
  std::array<uint64_t, kKernels> kernels{};
  std::array<uint64_t, 4> signals{};  // the last one is of the packets at the end

  Machine() {
    auto* bytes = reinterpret_cast<uint8_t*>(pristine.get());
    for (size_t i = 0; i < sizeof *pristine; ++i) bytes[i] = static_cast<uint8_t>(i * 37 + 11 + (i >> 8));
    std::memset(pristine->at(Arena::words), 0, Arena::kBlock);
    std::memset(pristine->at(Arena::buffers), 0, Arena::kBlock);
    const uint64_t arguments[2] = {reinterpret_cast<uint64_t>(arena.at(Arena::target)),
                                   reinterpret_cast<uint64_t>(arena.at(Arena::words))};
    std::memcpy(pristine->at(Arena::constants), arguments, sizeof arguments);
    constexpr uint32_t kDimensions[3] = {2, 1, 1};
    std::memcpy(pristine->at(Arena::constants, 8), kDimensions, sizeof kDimensions);
    for (unsigned i = 0; i < Arena::kBlocks; ++i) {
      auto& block = arena.blocks[i].data;
      require(m.memory.map(reinterpret_cast<uint64_t>(block.data()), block.size(),
                           i == Arena::constants ? kRead : kReadWrite, "block " + std::to_string(i)),
              "a block can be mapped");
    }
    kernels[empty] = m.load({.name = "empty"});
    const std::string target = "s_load_b128 s[4:7], s[0:1], 0x0\nv_mov_b32 v0, 0\ns_waitcnt lgkmcnt(0)\n";
    kernels[store] =
        m.load({.name = "store", .body = target + "v_mov_b32 v1, 1\nglobal_atomic_add_u32 v0, v1, s[4:5]\n"});
    kernels[waiting] =
        m.load({.name = "waiting",
                .body = target + "again: global_load_b32 v1, v0, s[6:7] glc dlc\ns_waitcnt vmcnt(0)\n" +
                        "v_readfirstlane_b32 s8, v1\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 again\n"});
    kernels[message] =
        m.load({.name = "message", .body = "s_mov_b32 m0, 5\ns_sendmsg sendmsg(MSG_INTERRUPT)\n"});
    kernels[scratch] = m.load({.name = "scratch",
                               .body = "scratch_store_b32 off, v0, off offset:4\n",
                               .directives = ".amdhsa_private_segment_fixed_size 16\n"
                                             ".amdhsa_enable_private_segment 1\n"});
    kernels[faulting] =
        m.load({.name = "faulting", .body = "s_mov_b64 s[4:5], 64\ns_load_b32 s6, s[4:5], 0x0\n"});
    for (uint64_t& signal : signals) signal = m.processor->signals().create(0);
  }

  uint64_t entry(uint64_t kernel) const {
    int64_t offset;
    std::memcpy(&offset, reinterpret_cast<const void*>(kernel + 16), sizeof offset);
    return kernel + static_cast<uint64_t>(offset);
  }
  uint32_t descriptor_word(uint64_t kernel, unsigned byte) const {
    return load_shared<uint32_t>(reinterpret_cast<const void*>(kernel + byte));
  }

  // As before any packet.
  void reset() {
    arena = *pristine;
    for (uint64_t signal : signals) {
      auto& memory = *reinterpret_cast<SignalMemory*>(signal);
      memory = {};
      memory.kind = static_cast<int64_t>(SignalKind::user);
    }
  }
};

Machine& machine() {
  static Machine& one = *new Machine;
  return one;
}

// ---- Packets out of bytes

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  bool empty() const { return data_ == end_; }
  uint32_t byte() { return empty() ? 0 : *data_++; }
  uint32_t below(uint32_t bound) { return byte() % bound; }
  uint32_t word() {
    uint32_t value = byte();
    for (unsigned shift = 8; shift < 32; shift += 8) value |= byte() << shift;
    return value;
  }

 private:
  const uint8_t *data_, *end_;
};

struct Packets {
  enum Kind : uint8_t { aql, pm4, sdma };

  Packets(Bytes& bytes, Machine& machine) : in(bytes), all(machine), arena(machine.arena) {
    std::memcpy(expected.data(), arena.at(Arena::data0), Arena::kBlock);
    std::memcpy(expected.data() + Arena::kBlock, arena.at(Arena::data1), Arena::kBlock);
  }

  Bytes& in;
  Machine& all;
  Arena& arena;
  bool good = true;                                     // nothing but right packets so far
  Words written;                                        // all that was handed out
  std::vector<std::pair<uint64_t, uint64_t>> extra;     // addresses and sizes of the queues themselves
  std::array<std::byte, 2 * Arena::kBlock> expected{};  // of both data blocks, if one queue has it all
  uint32_t buffer_dwords = 0;

  // A place that right packets may write `dwords` to, in one of the data blocks.
  std::byte* place(unsigned block, uint32_t dwords) {
    const uint32_t room = Arena::kBlock / 4 - dwords + 1;
    return reinterpret_cast<std::byte*>(
        arena.at(block ? Arena::data1 : Arena::data0, (in.byte() | 1u) * 4 % room / 2 * 2));
  }
  std::byte* shadow(std::byte* of) {
    auto* second = reinterpret_cast<std::byte*>(arena.at(Arena::data1));
    if (of >= second) return expected.data() + Arena::kBlock + (of - second);
    return expected.data() + (of - reinterpret_cast<std::byte*>(arena.at(Arena::data0)));
  }
  void expect(std::byte* to, const void* from, size_t bytes) { std::memmove(shadow(to), from, bytes); }

  // An address near something, or anything.
  uint64_t address() {
    const uint32_t choice = in.byte(), offset = in.byte();
    switch (choice % 8) {
      case 0:
        return all.signals[choice / 8 % all.signals.size()] + offset % 72 / 8 * 8;
      case 1:
        return all.kernels[choice / 8 % Machine::kKernels] + offset;
      case 2:
        if (!extra.empty()) {
          const auto& [base, size] = extra[choice / 8 % extra.size()];
          return base + offset * 16 % size;
        }
        [[fallthrough]];
      case 3:
        return in.word() | uint64_t{in.word()} << 32;
      default:
        return reinterpret_cast<uint64_t>(arena.at(static_cast<Arena::Name>(choice / 8 % Arena::kBlocks))) +
               offset * 8 - 512;
    }
  }
  uint32_t value() {
    switch (in.below(5)) {
      case 0:
        return in.byte();
      case 1:
        return 1u << in.below(32);
      case 2:
        return static_cast<uint32_t>(address());
      case 3:
        return ~0u;
      default:
        return in.word();
    }
  }
  // Makes a packet wrong, or another one that is right.
  void change(Words& packet) {
    for (uint32_t left = std::max(4u, in.below(8)) - 4; left > 0; --left) {
      good = false;
      const size_t at = in.below(static_cast<uint32_t>(std::min<size_t>(packet.size(), 255)));
      if (in.below(2) && at + 1 < packet.size()) {
        const uint64_t to = address();
        packet[at] = static_cast<uint32_t>(to);
        packet[at + 1] = static_cast<uint32_t>(to >> 32);
      } else if (in.below(2)) {
        packet[at] ^= 1u << in.below(32);
      } else {
        packet[at] = value();
      }
    }
  }

  Words next(Kind kind) {
    Words packet = kind == aql ? aql_packet() : kind == pm4 ? pm4_packets(true) : sdma_packet();
    if (kind != pm4) change(packet);  // others are changed one by one
    written.insert(written.end(), packet.begin(), packet.end());
    return packet;
  }

  // ---- AQL
  static Words words_of(const AqlPacket& packet) {
    Words words(sizeof packet / 4);
    std::memcpy(words.data(), &packet, sizeof packet);
    return words;
  }
  Words aql_packet() {
    const uint32_t signal = in.below(4);
    const uint64_t done = signal < 3 ? all.signals[signal] : 0;
    const bool barrier = in.below(2);
    switch (in.below(6)) {
      default: {
        const uint32_t kernel = in.below(Machine::kKernels);
        if (kernel == Machine::faulting) good = false;
        AqlPacket packet = dispatch_packet(all.kernels[kernel], arena.at(Arena::constants), 1 + in.below(40),
                                           1 + in.below(70), 0, barrier);
        if (kernel == Machine::scratch) packet.dispatch.private_segment_size = 16 << in.below(4);
        packet.dispatch.completion_signal = done;
        if (done) good = false;  // it becomes negative, and then barriers on it fail
        return words_of(packet);
      }
      case 1:
      case 2: {
        std::vector<uint64_t> signals(1 + in.below(5));
        for (uint64_t& one : signals) one = in.below(2) ? all.signals[in.below(3)] : 0;
        AqlPacket packet =
            barrier_packet(in.below(2) ? PacketType::barrier_and : PacketType::barrier_or, signals, 0);
        if (barrier) packet.header |= kHeaderBarrier;
        return words_of(packet);
      }
      case 3: {
        AqlPacket packet{};
        packet.barrier_value.header = header_of(PacketType::vendor_specific, barrier);
        packet.barrier_value.format = static_cast<uint8_t>(VendorFormat::barrier_value);
        packet.barrier_value.signal = all.signals[in.below(3)];
        packet.barrier_value.mask = -1;
        packet.barrier_value.condition = in.below(2) ? 0 : 3;
        return words_of(packet);
      }
      case 4: {
        AqlPacket packet{};
        packet.pm4_ib.header = header_of(PacketType::vendor_specific, barrier);
        packet.pm4_ib.format = static_cast<uint8_t>(VendorFormat::pm4_ib);
        const Words jump = buffer();
        std::copy(jump.begin(), jump.end(), packet.pm4_ib.jump);
        packet.pm4_ib.remaining_dwords = 10;
        return words_of(packet);
      }
    }
  }

  // ---- PM4
  static Words packet(uint32_t opcode, const Words& payload) {
    return Words{pm4::header(opcode, static_cast<uint32_t>(payload.size()))} + payload;
  }
  static Words set(uint32_t number, const Words& values) {
    return packet(pm4::kSetShReg, Words{number - pm4::kShBase} + values);
  }
  static Words at(const void* address) { return {low(address), high(address)}; }

  // INDIRECT_BUFFER of packets that are put into memory.
  Words buffer() {
    const auto before = expected;
    Words content;
    for (uint32_t count = 1 + in.below(4); count > 0; --count) content = content + pm4_packets(false);
    if (buffer_dwords + content.size() > Arena::kBlock / 4) {  // no room
      content.clear();
      expected = before;
    }
    uint32_t* to = arena.at(Arena::buffers, buffer_dwords);
    for (size_t i = 0; i < content.size(); ++i) store_shared<uint32_t>(to + i, content[i]);
    buffer_dwords += static_cast<uint32_t>(content.size());
    written.insert(written.end(), content.begin(), content.end());
    return packet(pm4::kIndirectBuffer, at(to) + Words{static_cast<uint32_t>(content.size()) | 1u << 23});
  }
  Words registers() {
    const uint32_t kernel = in.below(Machine::kKernels);
    if (kernel == Machine::faulting || kernel == Machine::scratch) good = false;
    const uint64_t object = all.kernels[kernel], entry = all.entry(object);
    return set(pm4::kPgmLo, {static_cast<uint32_t>(entry >> 8), static_cast<uint32_t>(entry >> 40)}) +
           set(pm4::kPgmRsrc1, {all.descriptor_word(object, 48), all.descriptor_word(object, 52)}) +
           set(pm4::kNumThreadX, {1 + in.below(70), 1, 1}) +
           set(pm4::kUserData0, at(arena.at(Arena::constants)));
  }
  Words pm4_packets(bool buffers) {
    constexpr uint32_t kInitiator = pm4::kComputeShaderEnable | pm4::kStartAtZero | pm4::kWave32;
    Words words;
    switch (in.below(buffers ? 20 : 19)) {
      case 0:
        words = packet(pm4::kNop, Words(1 + in.below(3)));
        break;
      case 1:
        words = registers();
        break;
      case 2:
      case 3:
        words = registers() + packet(pm4::kDispatchDirect, {1 + in.below(40), 1, 1, kInitiator});
        break;
      case 4:
        words = registers() +
                packet(pm4::kDispatchIndirect, at(arena.at(Arena::constants, 8)) + Words{kInitiator});
        break;
      case 5: {
        std::byte* to = place(in.below(2), 2);
        const uint32_t data = in.below(3),
                       event[] = {pm4::kCacheFlushAndInvTs, pm4::kBottomOfPipeTs, pm4::kCsDone};
        const uint32_t values[2] = {in.byte(), in.byte()};
        words = packet(pm4::kEventWrite, {pm4::kCsPartialFlush | 4 << 8}) +
                packet(pm4::kReleaseMem, Words{event[in.below(3)] | 5 << 8, data << 29 | in.below(4) << 24} +
                                             at(to) + Words{values[0], values[1], 77});
        expect(to, values, data * 4);
        break;
      }
      case 6:
        words = packet(pm4::kReleaseMem, Words{pm4::kBottomOfPipeTs | 5 << 8, (3 + in.below(2)) << 29} +
                                             at(arena.at(Arena::clocks, in.byte() / 2 * 2 % 64)) +
                                             Words{0, 0, 0});
        break;
      case 7:  // what the host will write
        words = packet(pm4::kWaitRegMem, Words{5 | 1 << 4} + at(arena.at(Arena::words)) + Words{1, ~0u, 4});
        break;
      case 8:
        words =
            packet(pm4::kWaitRegMem64, Words{3 | 1 << 4} + at(arena.at(Arena::words)) + Words{1, 0, 1, 0, 4});
        break;
      case 9: {
        Words values(1 + in.below(4));
        for (uint32_t& one : values) one = in.byte();
        std::byte* to = place(in.below(2), 4);
        words = packet(pm4::kWriteData, Words{2 << 8} + at(to) + values);
        expect(to, values.data(), values.size() * 4);
        break;
      }
      case 10: {
        const bool wide = in.below(2);
        std::byte* from = place(0, 2);
        std::byte* to = place(1, 2);
        words = packet(pm4::kCopyData, Words{1 | 2 << 8 | (wide ? 1u << 16 : 0)} + at(from) + at(to));
        expect(to, shadow(from), wide ? 8 : 4);
        break;
      }
      case 11:
        words = packet(pm4::kAcquireMem, {0, ~0u, 0xff, 0, 0, 10, in.below(2) ? 0x18000u : 1u});
        break;
      case 12:
        words = packet(pm4::kEventWrite, {(in.below(2) ? pm4::kCsPartialFlush : pm4::kCacheFlush) | 4 << 8});
        break;
      case 13: {
        constexpr uint32_t kAdd = 0x0f, kWide = 0x20, kNoReturn = 0x40;
        const bool wide = in.below(2);
        const uint32_t operand = in.word();
        std::byte* to = place(in.below(2), 2);
        uint64_t sum = 0;
        std::memcpy(&sum, shadow(to), 8);
        sum += operand;
        words = packet(pm4::kAtomicMem, Words{kAdd | (wide ? kWide : 0) | (in.below(2) ? kNoReturn : 0)} +
                                            at(to) + Words{operand, 0, 0, 0, 4});
        expect(to, &sum, wide ? 8 : 4);
        break;
      }
      case 14: {  // a copy, or dwords of one value
        constexpr uint32_t kToMemory = 3u << 20, kFromMemory = 3u << 29, kFromData = 2u << 29;
        const bool there = in.below(2);
        std::byte *from = place(there, 32), *to = place(!there, 32);
        const uint32_t dwords = 1 + in.below(32);
        if (in.below(2)) {
          const uint32_t value = in.word();
          for (uint32_t i = 0; i < dwords; ++i) expect(to + i * 4, &value, 4);
          words = packet(pm4::kDmaData, Words{kFromData | kToMemory, value, 0} + at(to) + Words{dwords * 4});
        } else {
          expect(to, shadow(from), dwords * 4);
          words =
              packet(pm4::kDmaData, Words{kFromMemory | kToMemory} + at(from) + at(to) + Words{dwords * 4});
        }
        break;
      }
      case 15: {  // constants are not 0, this word stays 0
        const bool skips = in.below(2);
        std::byte* to = place(in.below(2), 1);
        const uint32_t value = in.byte();
        const Words write = packet(pm4::kWriteData, Words{2 << 8} + at(to) + Words{value});
        words = packet(pm4::kCondExec, at(skips ? arena.at(Arena::words, 3) : arena.at(Arena::constants, 8)) +
                                           Words{0, static_cast<uint32_t>(write.size())}) +
                write;
        if (!skips) expect(to, &value, 4);
        break;
      }
      case 16:
        words = packet(pm4::kSetUconfigReg, {in.below(2) ? 0x200u : 0x340u, in.word()}) +
                packet(pm4::kSetShRegPairsPacked,
                       {2, pm4::kUserData0 + 8 - pm4::kShBase | (pm4::kUserData0 + 9 - pm4::kShBase) << 16,
                        in.byte(), 5});
        break;
      case 17: {
        std::byte* to = place(in.below(2), 1);
        const uint32_t value = in.byte();
        words = packet(pm4::kCondWrite, Words{4 | 1 << 4 | 1 << 8} + at(arena.at(Arena::constants, 8)) +
                                            Words{0, ~0u} + at(to) + Words{value});
        expect(to, &value, 4);
        break;
      }
      case 18: {
        const auto clock = [&] { return at(arena.at(Arena::clocks, in.byte() / 2 * 2 % 64)); };
        words = packet(pm4::kLoadShRegIndex, at(arena.at(Arena::constants)) +
                                                 Words{pm4::kUserData0 + 8 - pm4::kShBase, in.below(9)}) +
                packet(pm4::kTimestamp, Words{in.below(4)} + clock() + clock());
        break;
      }
      default:
        words = buffer();
    }
    change(words);
    return words;
  }

  // ---- The copy engine
  Words sdma_packet() {
    switch (in.below(11)) {
      case 0:
        return Words{sdma::kNop | 2u << 16, 1, 2};
      case 1: {
        const bool there = in.below(2);
        std::byte *from = place(there, 32), *to = place(!there, 32);
        const uint32_t bytes = 1 + in.below(128);
        expect(to, shadow(from), bytes);
        return Words{sdma::kCopy, bytes - 1, 0} + at(from) + at(to);
      }
      case 2: {  // both destinations, with the overlap that suits the direction
        std::byte *from = place(0, 64) + 64, *to = from - in.below(64), *second = place(1, 32);
        const uint32_t bytes = 1 + in.below(128);
        std::array<std::byte, 128> copy;
        std::memcpy(copy.data(), shadow(from), bytes);
        expect(to, copy.data(), bytes);
        expect(second, copy.data(), bytes);
        return Words{sdma::kCopy | 1u << 27, bytes - 1, 0} + at(from) + at(to) + at(second);
      }
      case 3: {
        std::byte* to = place(in.below(2), 64);
        const uint32_t bytes = 1 + in.below(250), value = in.word();
        const bool wide = in.below(2);
        if (wide) {
          for (uint32_t i = 0; i < bytes; i += 4) expect(to + i, &value, 4);
        } else {
          for (uint32_t i = 0; i < bytes; ++i) expect(to + i, &value, 1);
        }
        return Words{sdma::kConstantFill | (wide ? 2u << 30 : 0)} + at(to) + Words{value, bytes - 1};
      }
      case 4: {
        Words values(1 + in.below(5));
        for (uint32_t& one : values) one = in.byte();
        std::byte* to = place(in.below(2), 5);
        expect(to, values.data(), values.size() * 4);
        return Words{sdma::kWrite} + at(to) + Words{static_cast<uint32_t>(values.size()) - 1} + values;
      }
      case 5: {
        const uint32_t value = in.byte();
        std::byte* to = place(in.below(2), 2);
        if (in.below(2)) {
          uint64_t sum;
          std::memcpy(&sum, shadow(to), 8);
          sum += value;
          expect(to, &sum, 8);
          return Words{sdma::kAtomic | sdma::kAtomicAdd64 << 25} + at(to) + Words{value, 0, 0, 0, 0};
        }
        expect(to, &value, 4);
        return Words{sdma::kFence} + at(to) + Words{value};
      }
      case 6:
        return Words{sdma::kPollRegisterOrMemory | 5u << 28 | 1u << 31} + at(arena.at(Arena::words)) +
               Words{1, ~0u, 10 | 0xfffu << 16};
      case 7:
        return Words{sdma::kTimestamp | (1 + in.below(2)) << 8} +
               at(arena.at(Arena::clocks, in.byte() / 2 * 2 % 64));
      case 8: {  // this word stays 0
        const bool skips = in.below(2);
        const uint32_t value = in.byte();
        std::byte* to = place(in.below(2), 1);
        if (!skips) expect(to, &value, 4);
        return Words{sdma::kConditionalExecution} + at(arena.at(Arena::words, 3)) + Words{skips, 4} +
               Words{sdma::kFence} + at(to) + Words{value};
      }
      case 9: {
        std::byte* to = place(in.below(2), 2);
        const uint64_t one = 1;
        expect(to, &one, 8);
        return Words{sdma::kSemaphore | 3u << 29} + at(to);
      }
      default:
        return in.below(2) ? Words{sdma::kTrap, 5} : Words{sdma::kCacheRequest, 0, 0, 0, 0};
    }
  }

  // Whether a packet may have named this memory: one of its words is in it, as the low half of an address.
  bool named(const void* begin, size_t bytes) const {
    return std::any_of(written.begin(), written.end(),
                       [&](uint32_t word) { return word - (low(begin) - 512) < bytes + 1024; });
  }
};

// ---- A queue under test

struct Tested {
  Packets::Kind kind;
  std::shared_ptr<Queue> queue;
  AqlQueue* aql = nullptr;
  RingQueue* ring = nullptr;
  std::atomic<int> errors = 0;
  uint64_t sent = 0;  // packets of an AQL queue, else dwords

  Tested(CommandProcessor& processor, Bytes& in) : kind(static_cast<Packets::Kind>(in.below(3))) {
    const auto on_error = [this](const QueueError& error) {
      require(!error.message.empty(), "an error says what is wrong");
      ++errors;
    };
    const int priority = static_cast<int>(in.below(2));
    const uint32_t size = in.byte();
    if (kind == Packets::aql) {
      AqlQueueOptions options;
      options.size = 2u << size % 5;
      options.priority = priority;
      options.type = size & 0x80 ? kQueueTypeCooperative : kQueueTypeMulti;
      options.on_error = on_error;
      auto made = processor.create_aql_queue(std::move(options));
      aql = made.get();
      queue = made;
      return;
    }
    RingQueueOptions options;
    options.dwords = 64u << size % 5;
    options.priority = priority;
    options.on_error = on_error;
    std::shared_ptr<RingQueue> made;
    if (kind == Packets::pm4)
      made = processor.create_pm4_queue(std::move(options));
    else
      made = processor.create_sdma_queue(std::move(options));
    ring = made.get();
    queue = made;
  }
  uint64_t read() const { return aql ? aql->read_index() : ring->read_position(); }
  uint64_t write() const { return aql ? aql->write_index() : ring->write_position(); }
  bool active() const { return queue->state() == QueueState::active; }
  std::pair<uint64_t, uint64_t> memory() const {
    return aql ? std::pair<uint64_t, uint64_t>(aql->address(), 4096 + aql->size() * sizeof(AqlPacket))
               : std::pair<uint64_t, uint64_t>(ring->ring_address() - 4096, 4096 + ring->size() * 4);
  }
  bool send(const Words& words, double seconds) {
    if (ring) {
      if (!ring->submit(words, in_seconds(seconds))) return false;
      sent += words.size();
      return true;
    }
    AqlPacket packet;
    std::memcpy(&packet, words.data(), sizeof packet);
    if (!aql->wait_for_slot(sent, in_seconds(seconds))) return false;
    const uint64_t index = aql->reserve();
    aql->publish(index, packet);
    aql->ring_doorbell(index);
    ++sent;
    return true;
  }
};

constexpr double kLong = 60;  // what takes that long hangs

void let_go(Machine& all) {
  store_shared<uint32_t>(all.arena.at(Arena::words), 1);
  all.m.processor->waiters().notify();
}

// Ends the queue; its errors have all been told then.
void end(Machine& all, Tested& tested) {
  std::weak_ptr<Queue> gone = tested.queue;
  const bool failed = !tested.active();
  all.m.processor->destroy(tested.queue);
  tested.queue.reset();
  for (const auto late = in_seconds(kLong); !gone.expired();) {
    require(Waiters::Clock::now() < late, "a queue that is destroyed ends");
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  require(tested.errors == (failed ? 1 : 0) || (!failed && tested.errors == 1),
          "a queue tells its error once, and an active one has none");
}

// A queue that got right packets alone has done them all.
void finish(Machine& all, Tested& tested, unsigned number) {
  Signals& signals = all.m.processor->signals();
  uint32_t* const word = all.arena.at(Arena::words, 1 + number);
  bool done = false;
  if (tested.aql) {
    signals.change(all.signals[3], SignalOperation::store, 1);
    AqlPacket packet = barrier_packet(PacketType::barrier_and, {}, all.signals[3]);
    packet.header |= kHeaderBarrier;
    require(tested.send(Packets::words_of(packet), kLong), "a queue of right packets takes more");
    done = signals.wait(all.signals[3], Condition::equal, 0, in_seconds(kLong)).has_value();
  } else {
    const Words packets = tested.kind == Packets::sdma
                              ? Words{sdma::kFence, low(word), high(word), 1}
                              : Packets::packet(pm4::kEventWrite, {pm4::kCsPartialFlush | 4 << 8}) +
                                    Packets::packet(pm4::kWriteData, {2 << 8, low(word), high(word), 1});
    require(tested.send(packets, kLong), "a queue of right packets takes more");
    done =
        all.m.processor->waiters().wait([&] { return load_shared<uint32_t>(word) == 1; }, in_seconds(kLong));
  }
  require(done, "right packets are done");
  require(tested.active(), "right packets make no error");
  require(all.m.processor->waiters().wait([&] { return tested.read() == tested.write(); }, in_seconds(kLong)),
          "packets that are done have been read");
}

// What must hold when all queues are gone.
void check(Machine& all, const Packets& packets, bool in_order) {
  const auto same = [](const auto& bytes, const auto& before) {
    return std::memcmp(bytes.data(), before.data(), bytes.size()) == 0;
  };
  for (unsigned i = 0; i < Arena::kBlocks; ++i) {
    const Arena::Block &block = all.arena.blocks[i], &before = all.pristine->blocks[i];
    require(same(block.before, before.before), "memory that is not the guest's stays as it is");
    if (i == Arena::constants) require(same(block.data, before.data), "memory for reading stays as it is");
    if (i == Arena::data0 || i == Arena::data1 || i == Arena::clocks)
      require(same(block.data, before.data) || packets.named(block.data.data(), block.data.size()),
              "memory that no packet names stays as it is");
  }
  require(same(all.arena.behind, all.pristine->behind), "memory that is not the guest's stays as it is");
  if (packets.good && in_order)
    require(std::memcmp(packets.expected.data(), all.arena.at(Arena::data0), Arena::kBlock) == 0 &&
                std::memcmp(packets.expected.data() + Arena::kBlock, all.arena.at(Arena::data1),
                            Arena::kBlock) == 0,
            "right packets do what they say, in order");
}

void run(Bytes in) {
  constexpr unsigned kMostPackets = 64;
  Machine& all = machine();
  all.reset();
  Packets packets(in, all);
  std::vector<std::unique_ptr<Tested>> queues(1 + in.below(2));
  for (auto& queue : queues) {
    queue = std::make_unique<Tested>(*all.m.processor, in);
    packets.extra.push_back(queue->memory());
  }
  bool in_order = queues.size() == 1, waits = true;
  const unsigned wait_for = in.below(8);  // packets
  for (unsigned n = 0; n < kMostPackets && !in.empty(); ++n) {
    if (n == wait_for) {
      let_go(all);
      waits = false;
    }
    Tested& to = *queues[queues.size() > 1 ? in.below(2) : 0];
    const Words words = packets.next(to.kind);
    bool sent = to.send(words, packets.good && !waits ? kLong : 0.001);
    if (!sent && packets.good) {  // it is full of packets that wait
      let_go(all);
      waits = false;
      sent = to.send(words, kLong);
      require(sent, "a queue of right packets takes more");
    }
    if (!sent) break;
    if (to.aql && in.below(8) == 7) {
      to.aql->kill(to.sent - 1 - std::min<uint64_t>(in.below(4), to.sent - 1));
      in_order = false;
    }
  }
  let_go(all);
  for (unsigned i = 0; i < queues.size(); ++i) {
    Tested& tested = *queues[i];
    if (packets.good) {
      finish(all, tested, i);
    } else {
      all.m.processor->waiters().wait([&] { return !tested.active() || tested.read() == tested.write(); },
                                      in_seconds(0.002));
    }
    const auto [address, size] = tested.memory();
    if (packets.named(reinterpret_cast<const void*>(address), size)) continue;
    const uint64_t read = tested.read(), write = tested.write();
    require(read <= write, "nothing is read that was not written");
    if (!packets.good) require(write == tested.sent, "the write index is the producer's");
  }
  for (auto& tested : queues) end(all, *tested);
  check(all, packets, in_order);
}

}  // namespace
}  // namespace lockstep::command

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostBytes = 4096;
  if (size <= kMostBytes) lockstep::command::run({data, size});
  return 0;
}

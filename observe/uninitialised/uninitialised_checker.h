// Finds values that nobody has written and that matter: they are an address, decide a branch, change EXEC, or
// are stored to memory. Registers, LDS and scratch have no value when a wave or group begins, but for what
// the launch gives; here they are zero, on a card what was there before.
//
// Values are followed bit by bit through registers, LDS, scratch and memory (dependence.h). That they are
// copied about is no finding: compilers spill and move registers that hold nothing, and structures have
// padding. So a store to memory is one if arithmetic has made something of the bits, or if nothing of what a
// lane stores has a value.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/chunked_list.h"
#include "engine/findings.h"
#include "engine/listener.h"
#include "observe/buffer_names.h"
#include "observe/uninitialised/dependence.h"
#include "observe/uninitialised/shadow.h"

namespace lockstep::observe {

class UninitialisedChecker final : public Listener {
 public:
  // `findings` must outlive this.
  explicit UninitialisedChecker(Findings& findings);

  Order order() const override { return Order::serial; }
  bool wants(const isa::Instruction& instruction) const override;
  bool wants_after(const isa::Instruction&) const override { return false; }
  bool looks_ahead() const override { return true; }
  uint64_t passes_until(const Wave& wave) const override;
  void before(const Event& event) override;
  void dispatch_begins(const DispatchEvent& event) override;
  void dispatch_ends(const DispatchEvent& event) override;
  void group_begins(const WorkGroup& group) override;
  void wave_begins(const Wave& wave) override;

 private:
  // What plain instructions read before they write it, and what they write: one, or several that go straight
  // on.
  struct Plain {
    RegisterSet reads;
    // Likewise in lanes that are off, too; and those of which the lanes that are on are written before.
    RegisterSet reads_whole, reads_rest;
    RegisterSet all_reads;  // of all kinds: which need a look if one of these has no value
    RegisterSet writes;
    // WaveShadow::version() of a wave that had a value in all of these: there is nothing to do.
    uint64_t done_in = 0;

    // One behind the others.
    void add(const Plain& next);
  };
  // What is known of an instruction, whatever wave comes to it.
  struct Known {
    Plain plain;  // if it is that: it does nothing with what was never written if it reads nothing of that
    // It and those behind it that are plain and go straight on.
    Plain straight;
    uint64_t straight_until = 0;  // where they end; 0: nobody has come there yet
    bool is_plain = false;
    bool is_apart = false;   // plain, but it did read what was never written: it is followed by itself
    bool has_index = false;  // M0 moves its registers: the effects are the wave's
    bool is_memory = false;
    bool is_copy = false;        // moves bits and makes nothing of them
    bool crosses_lanes = false;  // reads lanes that may be off
    bool is_partial = false;     // a destination keeps something of what it held
    bool is_uniform = false;     // it reaches the same offset in all lanes' scratch
    bool is_global = false;      // it reaches nothing but global memory
    // v_readlane_b32 and its like: the codes of the VGPR and of the scalar, and of the scalar with the lane's
    // number, or that number.
    enum class Lane : uint8_t { none, read, write } lane = Lane::none;
    uint16_t lane_vgpr = 0, lane_scalar = 0, lane_from = 0;
    int chosen_lane = -1;  // -1: see lane_from; -2: the first that is on
    isa::RegisterEffects effects;
  };
  // Of a dispatch, which runs on one thread.
  struct OfDispatch {
    unsigned initial_sgprs = 0;
    ChunkedList<Known> knowns;
    std::unordered_map<const isa::Instruction*, Known*> known;
    // Of known, by some bits of the address: what a loop executes is found here.
    struct Found {
      const isa::Instruction* instruction = nullptr;
      Known* known = nullptr;
    };
    std::array<Found, 512> found{};
    std::unordered_map<uint32_t, std::unique_ptr<Dependence>> dependence;  // by wave size and VGPRs
  };
  struct OfWave {
    WaveShadow shadow;
    OfDispatch* dispatch = nullptr;
    MemoryShadow* lds = nullptr;
    uint64_t followed_until = 0;  // of instructions that go straight on: before this they are followed
    // The first of those that go straight on where the wave is, if it is the first one to come there.
    Known* first = nullptr;
    Known* failed = nullptr;  // likewise, if one of them reads what was never written
  };
  // That of a thread's last instruction, which is mostly that of its next one.
  struct Last {
    uint64_t checker = 0;
    const Wave* wave = nullptr;
    OfWave* of = nullptr;
  };

  OfWave& of(const Wave& wave) const;
  Known& known(const Event& event, OfDispatch& dispatch);
  Known& make_known(const Event& event, OfDispatch& dispatch, OfDispatch::Found& place);
  void follow(const Event& event, Known& known, OfWave& wave);
  // Whether it needed no more than this.
  bool follow_straight(const Event& event, Known& known, OfWave& wave);
  static void set_apart(const Event& event, Known& facts, OfWave& wave);
  static bool follow_plain(Plain& plain, const Wave& wave, WaveShadow& shadow);

  // The first register of a use that has bits without a value.
  static constexpr unsigned kNone = 0xffff;
  unsigned first_unwritten(const WaveShadow& shadow, const isa::RegisterUse& use, uint64_t lanes) const;
  void forget(WaveShadow& shadow, const isa::RegisterUse& use, uint64_t lanes);

  void follow_registers(const Event& event, const Known& known, OfWave& wave);
  // False if it is no move, and nothing is done.
  bool follow_move(const Event& event, const Known& known, WaveShadow& shadow);
  bool follow_scalar_move(const Event& event, WaveShadow& shadow);
  static bool follow_lane(const Event& event, const Known& known, WaveShadow& shadow);
  static void find_lane(const Event& event, Known& known);
  void follow_branch(const Event& event, const Known& known, WaveShadow& shadow);
  void follow_memory(const Event& event, const Known& known, WaveShadow& shadow);
  void load(const Event& event, const Known& known, WaveShadow& shadow);
  void store(const Event& event, const Known& known, WaveShadow& shadow);
  // All that it stores has a value.
  void give_values(const Event& event, const Known& known, WaveShadow& shadow);
  // Whether any of what is accessed may be followed, and something of it has no value.
  bool reads_unwritten(const Event& event, const Known& known, WaveShadow& shadow);
  // The dword that a byte of an access lies in; null: it is not followed, and has a value. `make`: also of
  // memory where everything has one.
  Unwritten* cell(WaveShadow& shadow, const MemoryAccess& access, uint32_t offset, bool make);
  // Likewise; null, too, if all of it has a value.
  const Unwritten* find(WaveShadow& shadow, const MemoryAccess& access, uint32_t offset);
  // Of all lanes that are on: their dwords [first, end) of scratch.
  struct Rows {
    uint32_t first = 0, end = 0;
  };
  static std::optional<Rows> rows_of(const Event& event, const Known& known);
  // Of these, where whole dwords are loaded to VGPRs, or stored from them.
  static void load_rows(const Event& event, const isa::Operand& to, const Rows& rows, WaveShadow& shadow);
  static void store_rows(const Event& event, const isa::Operand& from, const Rows& rows, WaveShadow& shadow);
  void tell(const Event& event, const char* rule, const Origin& origin, uint64_t lanes,
            const MemoryAccess* access);

  Findings& findings_;
  mutable std::mutex mutex_;  // dispatches of a device run side by side
  BufferNames names_;
  const uint64_t id_;  // of all checkers that there ever were
  std::unordered_map<const DispatchState*, OfDispatch> dispatches_;
  MemoryShadow* group_lds_ = nullptr;  // of the instruction that is followed
  std::unordered_map<const Wave*, std::unique_ptr<OfWave>> waves_;
  std::unordered_map<const WorkGroup*, MemoryShadow> lds_;
  std::unordered_map<uint64_t, Unwritten> memory_;  // by dword: those that something without a value is in
};

}  // namespace lockstep::observe

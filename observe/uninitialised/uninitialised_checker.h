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
#include <string>
#include <unordered_map>
#include <vector>

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
  void before(const Event& event) override;
  void dispatch_begins(const DispatchEvent& event) override;
  void dispatch_ends(const DispatchEvent& event) override;
  void group_begins(const WorkGroup& group) override;
  void wave_begins(const Wave& wave) override;

 private:
  struct Known;
  // The registers that a plain instruction touches, one by one: VGPRs that are read, scalars that are, VGPRs
  // that are written, scalars. With that, a line of the cache has all that most instructions need.
  struct alignas(64) Plain {
    static constexpr unsigned kMost = 20;
    const isa::Instruction* instruction = nullptr;
    Known* known = nullptr;
    bool is_plain = false;
    uint8_t read_vgprs = 0, read = 0, written_vgprs = 0, all = 0;  // where each of them ends
    std::array<uint16_t, kMost> numbers{};

    // False if they are too many.
    bool add(const isa::RegisterEffects& effects);

   private:
    bool add(const isa::RegisterUses& uses, bool are_vgprs);
  };
  // What is known of an instruction, whatever wave comes to it.
  struct Known {
    bool has_index = false;  // M0 moves its registers: the effects are the wave's
    bool is_memory = false;
    bool is_copy = false;        // moves bits and makes nothing of them
    bool crosses_lanes = false;  // reads lanes that may be off
    bool is_partial = false;     // a destination keeps something of what it held
    Plain plain;
    isa::RegisterEffects effects;
  };
  // Of a dispatch, which runs on one thread.
  struct OfDispatch {
    unsigned initial_sgprs = 0;
    std::unordered_map<const isa::Instruction*, Known> known;
    // Of known, by some bits of the address: what a loop executes is found here.
    std::array<Plain, 512> found{};
    std::unordered_map<uint32_t, std::unique_ptr<Dependence>> dependence;  // by wave size and VGPRs
  };
  struct OfWave {
    WaveShadow shadow;
    OfDispatch* dispatch = nullptr;
    GroupShadow* lds = nullptr;
  };
  // That of a thread's last instruction, which is mostly that of its next one.
  struct Last {
    uint64_t checker = 0;
    const Wave* wave = nullptr;
    OfWave* of = nullptr;
  };

  OfWave& of(const Wave& wave);
  const Plain& known(const Event& event, OfDispatch& dispatch);
  const Plain& make_known(const Event& event, OfDispatch& dispatch, Plain& place);
  // Of one that does nothing with what was never written if it reads nothing of that: whether it was no more
  // than that.
  static bool follow_plain(const Plain& plain, uint64_t exec, WaveShadow& shadow);

  // The first register of a use that has bits without a value; 0xffff: none.
  unsigned first_unwritten(const WaveShadow& shadow, const isa::RegisterUse& use, uint64_t lanes) const;
  void forget(WaveShadow& shadow, const isa::RegisterUse& use, uint64_t lanes);

  void follow_registers(const Event& event, const Known& known, OfWave& wave);
  // False if it is no move, and nothing is done.
  bool follow_move(const Event& event, WaveShadow& shadow);
  bool follow_scalar_move(const Event& event, WaveShadow& shadow);
  bool follow_lane(const Event& event, WaveShadow& shadow);
  void follow_branch(const Event& event, const Known& known, WaveShadow& shadow);
  void follow_memory(const Event& event, const Known& known, WaveShadow& shadow);
  void load(const Event& event, const Known& known, WaveShadow& shadow);
  void store(const Event& event, WaveShadow& shadow);
  // All that it stores has a value.
  void give_values(const Event& event, WaveShadow& shadow);
  // Whether any of what is accessed may be followed, and something of it has no value.
  bool reads_unwritten(const Event& event, WaveShadow& shadow);
  // The dword that a byte of an access lies in; null: it is not followed, and has a value. `make`: also of
  // memory where everything has one.
  Unwritten* cell(WaveShadow& shadow, const MemoryAccess& access, uint32_t offset, bool make);
  void tell(const Event& event, const char* rule, const Origin& origin, uint64_t lanes,
            const MemoryAccess* access);

  Findings& findings_;
  std::mutex mutex_;  // dispatches of a device run side by side
  BufferNames names_;
  const uint64_t id_;  // of all checkers that there ever were
  std::unordered_map<const DispatchState*, OfDispatch> dispatches_;
  GroupShadow* group_lds_ = nullptr;  // of the instruction that is followed
  std::unordered_map<const Wave*, std::unique_ptr<OfWave>> waves_;
  std::unordered_map<const WorkGroup*, GroupShadow> lds_;
  std::unordered_map<uint64_t, Unwritten> memory_;  // by dword: those that something without a value is in
};

}  // namespace lockstep::observe

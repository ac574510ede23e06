// One wave on the interpreter: assemble a few lines, set registers, run, look.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/interpreter/interpreter.h"
#include "isa/instruction.h"
#include "memory/address_space.h"
#include "numeric/float_mode.h"
#include "state/dispatch_state.h"
#include "state/wave.h"
#include "state/work_group.h"

namespace lockstep::interpreter {

// The dwords of a listing, without what the assembler puts behind it but for one s_endpgm. Cached. Fails the
// test and returns just an s_endpgm if the text does not assemble.
const std::vector<uint32_t>& assembled(std::string_view text, unsigned wave_size);

struct Configuration {
  unsigned wave_size;
  HostTarget host;
};
// Both wave sizes on every host instruction set that this build and this processor have.
const std::vector<Configuration>& configurations();

inline uint32_t f32(float value) {
  return std::bit_cast<uint32_t>(value);
}
inline uint64_t f64(double value) {
  return std::bit_cast<uint64_t>(value);
}
inline float as_f32(uint32_t bits) {
  return std::bit_cast<float>(bits);
}

// Makes what waves run on instead of the interpreter, for code, wave size, memory, entry, VGPRs and MODE.
using EngineMaker = std::function<std::unique_ptr<Engine>(
    const std::vector<CodeRange>&, unsigned, std::shared_ptr<const RangeSet>, uint64_t, unsigned, uint32_t)>;
EngineMaker& engine_maker();

class TestWave {
 public:
  static constexpr uint32_t kMemoryBytes = 8192, kLdsBytes = 8192, kScratchBytes = 256;

  // Every register has a value of its own; EXEC is full; the float mode is the default one.
  explicit TestWave(Configuration configuration);

  unsigned size() const { return configuration_.wave_size; }
  bool is_wave64() const { return size() == 64; }
  Wave& wave() { return wave_; }

  uint32_t& s(unsigned number) { return wave_.scalar[number]; }
  uint64_t s64(unsigned number) const { return wave_.scalar64(number); }
  void set_s64(unsigned number, uint64_t value) { wave_.set_scalar64(number, value); }
  uint32_t& v(unsigned number, unsigned lane) { return wave_.vgpr(number)[lane]; }
  uint64_t v64(unsigned number, unsigned lane) {
    return v(number, lane) | uint64_t{v(number + 1, lane)} << 32;
  }
  void fill(unsigned number, const std::function<uint32_t(unsigned lane)>& value);
  void fill64(unsigned number, const std::function<uint64_t(unsigned lane)>& value);
  // As if the wave had been launched with that many (before the allocation's rounding).
  void allocate_vgprs(unsigned count) { wave_.vgpr_count = allocated_vgprs(count, size(), 24); }
  void set_exec(uint64_t exec) { wave_.set_exec(exec); }
  uint64_t exec() const { return wave_.exec(); }
  bool active(unsigned lane) const { return exec() >> lane & 1; }
  uint64_t vcc() const { return wave_.mask(106); }

  // What the guest may touch: 8 kB that may be read and written, nothing else.
  std::byte* memory() const { return memory_.get() + kMarginBytes; }
  uint64_t memory_address() const { return reinterpret_cast<uint64_t>(memory()); }
  uint32_t& word(unsigned index) { return reinterpret_cast<uint32_t*>(memory())[index]; }
  std::byte* lds() { return lds_.get(); }
  uint32_t& lds_word(unsigned index) { return reinterpret_cast<uint32_t*>(lds_.get())[index]; }

  // What the waves of the device share. It stays as it is from run to run.
  DeviceState& device() { return *dispatch_.device; }
  DispatchState& dispatch() { return dispatch_; }

  // Runs to the end of the listing and requires that it gets there. Straight-line code is run a second time
  // from the same state, one instruction after the other, each of which must leave alone what it does not
  // name: other registers, lanes that EXEC turns off, constants.
  void run(std::string_view text);
  void run(const std::vector<uint32_t>& code);
  // Runs to the fault that the listing must end with.
  Fault run_to_fault(std::string_view text);
  Fault run_to_fault(const std::vector<uint32_t>& code);

  // Runs until the wave is no longer ready, at most `budget` wave-instructions.
  void execute(const std::vector<uint32_t>& code, int64_t budget = 1'000'000);
  // The same on an engine of the caller's, from `entry`, for memory() as `ranges` has it.
  void execute(Engine& engine, uint64_t entry, int64_t budget = 1'000'000);
  const std::shared_ptr<const RangeSet>& ranges() const { return ranges_; }

  // Compares lane by lane: active lanes (of the EXEC before the run) with `value`, the others with what they
  // held.
  void expect_v(unsigned number, const std::function<uint32_t(unsigned lane)>& value,
                std::string_view what = "");
  void expect_v64(unsigned number, const std::function<uint64_t(unsigned lane)>& value,
                  std::string_view what = "");

  // ---- For checks of single instructions
  struct State {
    std::vector<uint32_t> scalar;
    std::vector<std::byte> vgprs, lds, memory, scratch;
    uint32_t mode;
  };
  State save() const;
  void restore(const State& state);
  // What `instruction` changed beyond what it names, or an empty string.
  std::string violation(const isa::Instruction& instruction, const State& before) const;
  uint32_t before(const State& state, unsigned number, unsigned lane) const;
  // Whether v`number` holds in any lane what it did not hold then.
  bool differs(const State& state, unsigned number) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Storage = std::unique_ptr<std::byte, Free>;
  static Storage allocate(size_t bytes);

  // On both sides of guest memory the host can touch nothing. No storage lies so close to it, wherever the
  // host puts that: what a test reaches beyond LDS or scratch is nobody's.
  static constexpr size_t kMarginBytes = 1 << 17, kMappedBytes = kMarginBytes + kMemoryBytes + kMarginBytes;
  struct Unmap {
    void operator()(std::byte* memory) const { munmap(memory, kMappedBytes); }
  };
  static std::unique_ptr<std::byte, Unmap> map_memory();
  size_t vgpr_bytes() const { return size_t{kMaxVgprs} * size() * 4; }
  void step_through(const std::vector<uint32_t>& code, const State& start);

  Configuration configuration_;
  Storage vgprs_, lds_, scratch_;
  std::unique_ptr<std::byte, Unmap> memory_;
  std::shared_ptr<const RangeSet> ranges_;
  DispatchState dispatch_{std::make_shared<DeviceState>(), 0, {}};
  WorkGroup group_;
  Wave wave_;
  State start_;
};

// Runs `body` for every configuration, with the configuration in the trace of failures.
void for_each_wave(const std::function<void(TestWave&)>& body);

}  // namespace lockstep::interpreter

// The engine itself: what units are asked, and that it computes what the interpreter computes.
#include "engine/precise/precise_engine.h"

#include <gtest/gtest.h>

#include "state/work_group.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::precise {
namespace {

// Writes down what it sees, and does what `decide` says.
struct Recorder final : Unit {
  std::vector<uint64_t>* seen;
  std::function<Verdict(const Step&)> decide;
  std::function<bool(Wave&)> mend;
  Recorder(std::vector<uint64_t>* seen_at, std::function<Verdict(const Step&)> decision,
           std::function<bool(Wave&)> cure)
      : seen(seen_at), decide(std::move(decision)), mend(std::move(cure)) {}
  Verdict before(const Step& step) override {
    seen->push_back(step.pc);
    return decide ? decide(step) : Verdict::execute;
  }
  bool on_fault(Wave& wave) override { return mend && mend(wave); }
};

class Fixture : public ::testing::Test {
 protected:
  void start(std::string_view text, std::function<Verdict(const Step&)> decide = {},
             std::function<bool(Wave&)> mend = {}) {
    code_ = interpreter::assembled(text, 32);
    base_ = reinterpret_cast<uint64_t>(code_.data());
    engine_ =
        std::make_unique<PreciseEngine>(std::vector<CodeRange>{{base_, base_ + 4 * code_.size()}}, 32,
                                        nullptr, kMaxVgprs, [=, this](Wave&, Executor& executor) {
                                          executor_ = &executor;
                                          Units units;
                                          units.push_back(std::make_unique<Recorder>(&seen_, decide, mend));
                                          return units;
                                        });
    vgprs_.resize((kMaxVgprs + kEngineVgprs) * 32 + 16);
    void* storage = vgprs_.data();
    size_t room = vgprs_.size() * 4;
    initialise_wave(wave_, 32, static_cast<std::byte*>(std::align(64, room - 64, storage, room)));
    reset_wave(wave_, kMaxVgprs);
    wave_.set_exec(~0u);
    wave_.group = &group_;
    group_.wave_count = 2;
    ASSERT_TRUE(engine_->enter(wave_, base_));
  }
  std::vector<uint64_t> dwords() const {
    std::vector<uint64_t> result;
    for (uint64_t pc : seen_) result.push_back((pc - base_) / 4);
    return result;
  }

  std::vector<uint32_t> code_, vgprs_;
  uint64_t base_ = 0;
  std::unique_ptr<PreciseEngine> engine_;
  Executor* executor_ = nullptr;
  Wave wave_;
  WorkGroup group_;
  std::vector<uint64_t> seen_;
};

using Dwords = std::vector<uint64_t>;

TEST_F(Fixture, EveryInstructionIsAskedAboutOnce) {
  // A loop of three rounds, a call of the next instruction, a barrier.
  start(
      "s_mov_b32 s0, 3\nloop: s_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 loop\n"
      "s_round_mode 1\ns_barrier\nv_mov_b32 v1, 7");
  EXPECT_EQ(engine_->run(wave_, 1000), 12);
  EXPECT_EQ(wave_.state, WaveState::at_barrier);
  wave_.state = WaveState::ready;
  EXPECT_EQ(engine_->run(wave_, 1000), 2);
  EXPECT_EQ(wave_.state, WaveState::ended);
  EXPECT_EQ(dwords(), (Dwords{0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(wave_.vgpr(1)[5], 7u);
}

TEST_F(Fixture, BudgetEndsATurnBetweenInstructions) {
  start("s_mov_b32 s0, 1\ns_mov_b32 s1, 2\ns_mov_b32 s2, 3");
  EXPECT_EQ(engine_->run(wave_, 2), 2);
  EXPECT_EQ(wave_.scalar[1], 2u);
  EXPECT_EQ(wave_.scalar[2], 0u);
  EXPECT_EQ(engine_->run(wave_, 100), 2);
  EXPECT_EQ(wave_.scalar[2], 3u);
  EXPECT_EQ(dwords(), (Dwords{0, 1, 2, 3}));
}

TEST_F(Fixture, Verdicts) {
  // 1 is put off, 2 stalls once, 3 is jumped over.
  bool stalled = false;
  start("s_mov_b32 s0, 1\ns_mov_b32 s1, 2\ns_mov_b32 s2, 3\ns_mov_b32 s3, 4\ns_mov_b32 s4, 5",
        [&](const Step& step) {
          const uint64_t dword = (step.pc - base_) / 4;
          if (dword == 1) {
            step.wave.pc = step.next_pc();
            return Verdict::handled;
          }
          if (dword == 2 && !std::exchange(stalled, true)) return Verdict::stall;
          if (dword == 3) {
            step.wave.pc = base_ + 16;
            return Verdict::redirected;
          }
          return Verdict::execute;
        });
  engine_->run(wave_, 100);
  EXPECT_EQ(wave_.state, WaveState::ready);
  EXPECT_EQ(wave_.scalar[2], 0u);
  engine_->run(wave_, 100);
  EXPECT_EQ(wave_.state, WaveState::ended);
  EXPECT_EQ(wave_.scalar[0], 1u);
  EXPECT_EQ(wave_.scalar[1], 0u);
  EXPECT_EQ(wave_.scalar[2], 3u);
  EXPECT_EQ(wave_.scalar[3], 0u);
  EXPECT_EQ(wave_.scalar[4], 5u);
  EXPECT_EQ(dwords(), (Dwords{0, 1, 2, 2, 3, 4, 5}));
}

TEST_F(Fixture, AnInstructionOutOfOrder) {
  start("s_mov_b32 s0, 1\ns_mov_b32 s1, 2\ns_mov_b32 s2, 3", [&](const Step& step) {
    if (step.pc == base_ && step.wave.scalar[2] == 0) {
      EXPECT_TRUE(executor_->execute(step.wave, base_ + 8));
      EXPECT_EQ(step.wave.scalar[2], 3u);
      EXPECT_EQ(step.wave.pc, base_);
    }
    return Verdict::execute;
  });
  engine_->run(wave_, 100);
  EXPECT_EQ(wave_.state, WaveState::ended);
  EXPECT_EQ(wave_.scalar[1], 2u);
}

TEST_F(Fixture, AFaultThatAUnitTakes) {
  start("s_trap 2\nv_illegal\ns_mov_b32 s2, 3", {}, [&](Wave& wave) {
    wave.pc = wave.fault.pc + 4;
    wave.state = WaveState::ready;
    return true;
  });
  engine_->run(wave_, 100);
  EXPECT_EQ(wave_.state, WaveState::ended);
  EXPECT_EQ(wave_.scalar[2], 3u);
}

TEST_F(Fixture, AFaultThatNobodyTakes) {
  start("s_nop 0\nv_illegal");
  EXPECT_EQ(engine_->run(wave_, 100), 2);
  EXPECT_EQ(wave_.state, WaveState::faulted);
  EXPECT_EQ(wave_.fault.pc, base_ + 4);
}

}  // namespace
}  // namespace lockstep::precise

// Several listeners as one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <vector>

#include "engine/listener.h"

namespace lockstep {

class Listeners final : public Listener {
 public:
  // Must outlive this.
  void add(Listener& listener) { list_.push_back(&listener); }
  bool empty() const { return list_.empty(); }

  Order order() const override {
    return std::any_of(list_.begin(), list_.end(),
                       [](Listener* each) { return each->order() == Order::serial; })
               ? Order::serial
               : Order::groups;
  }
  bool wants(const isa::Instruction& instruction) const override {
    return std::any_of(list_.begin(), list_.end(), [&](Listener* each) { return each->wants(instruction); });
  }
  bool wants_after(const isa::Instruction& instruction) const override {
    return std::any_of(list_.begin(), list_.end(), [&](Listener* each) {
      return each->wants(instruction) && each->wants_after(instruction);
    });
  }
  bool looks_ahead() const override {
    return std::any_of(list_.begin(), list_.end(), [](Listener* each) { return each->looks_ahead(); });
  }
  uint64_t passes_until(const Wave& wave) const override {
    uint64_t until = ~uint64_t{0};
    for (const Listener* each : list_)
      if (each->looks_ahead()) until = std::min(until, each->passes_until(wave));
    return until;
  }
  bool may_pass(const isa::Instruction& instruction) const override {
    return std::all_of(list_.begin(), list_.end(), [&](Listener* each) {
      return !each->wants(instruction) || each->may_pass(instruction);
    });
  }
  // One as it is: nobody needs to ask what it wants.
  Listener* alone() const { return list_.size() == 1 ? list_.front() : nullptr; }
  void before(const Event& event) override {
    each_that_wants(event, [&](Listener& each) { each.before(event); });
  }
  void after(const Event& event) override {
    each_that_wants(event, [&](Listener& each) { each.after(event); });
  }
  void faulted(const Event& event) override {
    each_that_wants(event, [&](Listener& each) { each.faulted(event); });
  }
  void dispatch_begins(const DispatchEvent& event) override {
    forget_answers();
    for (Listener* each : list_) each->dispatch_begins(event);
  }
  void dispatch_ends(const DispatchEvent& event) override {
    for (Listener* each : list_) each->dispatch_ends(event);
    forget_answers();
  }
  void group_begins(const WorkGroup& group) override {
    for (Listener* each : list_) each->group_begins(group);
  }
  void group_ends(const WorkGroup& group) override {
    for (Listener* each : list_) each->group_ends(group);
  }
  void wave_begins(const Wave& wave) override {
    for (Listener* each : list_) each->wave_begins(wave);
  }
  void wave_ends(const Wave& wave) override {
    for (Listener* each : list_) each->wave_ends(wave);
  }
  void barrier_passed(const WorkGroup& group) override {
    for (Listener* each : list_) each->barrier_passed(group);
  }
  void memory_unmapped(const Range& range) override {
    for (Listener* each : list_) each->memory_unmapped(range);
  }

 private:
  // What the listeners answered to wants(), by some bits of the PC: where the instruction is, and above that
  // a bit for each listener. Of those for whom there is no bit, each is asked again.
  static constexpr unsigned kPlaces = 1024, kAddressBits = 48, kMostAnswers = 64 - kAddressBits;

  template <class Call>
  void each_that_wants(const Event& event, Call call) {
    const isa::Instruction& instruction = event.instruction;
    const auto address = reinterpret_cast<uint64_t>(&instruction);
    std::atomic<uint64_t>& place = answers_[event.pc / 4 % kPlaces];
    uint64_t answers = place.load(std::memory_order_relaxed);
    if ((answers & ((uint64_t{1} << kAddressBits) - 1)) != address) {
      answers = address;
      for (size_t i = 0; i < list_.size() && i < kMostAnswers; ++i)
        if (list_[i]->wants(instruction)) answers |= uint64_t{1} << (kAddressBits + i);
      place.store(answers, std::memory_order_relaxed);
    }
    for (uint64_t left = answers >> kAddressBits; left != 0; left &= left - 1)
      call(*list_[static_cast<size_t>(std::countr_zero(left))]);
    for (size_t i = kMostAnswers; i < list_.size(); ++i)
      if (list_[i]->wants(instruction)) call(*list_[i]);
  }
  // Instructions of an engine that is gone may stand where others stood.
  void forget_answers() {
    for (auto& place : answers_) place.store(0, std::memory_order_relaxed);
  }

  std::vector<Listener*> list_;
  std::array<std::atomic<uint64_t>, kPlaces> answers_{};
};

}  // namespace lockstep

// Several listeners as one.
#pragma once

#include <algorithm>
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
  // One as it is: nobody needs to ask what it wants.
  Listener* alone() const { return list_.size() == 1 ? list_.front() : nullptr; }
  void before(const Event& event) override {
    for (Listener* each : list_)
      if (each->wants(event.instruction)) each->before(event);
  }
  void after(const Event& event) override {
    for (Listener* each : list_)
      if (each->wants(event.instruction)) each->after(event);
  }
  void faulted(const Event& event) override {
    for (Listener* each : list_)
      if (each->wants(event.instruction)) each->faulted(event);
  }
  void dispatch_begins(const DispatchEvent& event) override {
    for (Listener* each : list_) each->dispatch_begins(event);
  }
  void dispatch_ends(const DispatchEvent& event) override {
    for (Listener* each : list_) each->dispatch_ends(event);
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
  std::vector<Listener*> list_;
};

}  // namespace lockstep

// The trap handler that a program has set for a device (AMDKFD_IOC_SET_TRAP_HANDLER).
#pragma once

#include <functional>
#include <mutex>

#include "machine/trap_entry.h"

namespace lockstep::host {

class TrapHandler final : public machine::TrapHandler {
 public:
  // Before there are dispatches; as the functions of machine::TrapHandler.
  std::function<void(const machine::WaveFault&, const machine::Launch&)> tell_fault;
  std::function<bool(const machine::Launch&, uint32_t)> is_exception;
  std::function<void(const machine::WaveFault*, const machine::Launch&, uint32_t)> tell_exceptions;

  void set(Place place) {
    std::lock_guard lock(mutex_);
    place_ = place;
  }
  Place place() const override {
    std::lock_guard lock(mutex_);
    return place_;
  }
  void on_fault(const machine::WaveFault& fault, const machine::Launch& launch) override {
    tell_fault(fault, launch);
  }
  bool tells_exceptions(const machine::Launch& launch, uint32_t payload) override {
    return is_exception(launch, payload);
  }
  void on_exceptions(const machine::WaveFault* cause, const machine::Launch& launch,
                     uint32_t payload) override {
    tell_exceptions(cause, launch, payload);
  }

 private:
  mutable std::mutex mutex_;
  Place place_;
};

}  // namespace lockstep::host

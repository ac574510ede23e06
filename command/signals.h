// HSA signals in guest-visible memory: hosts, kernels and command processors change them and wait for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "command/hsa_layout.h"
#include "command/interrupts.h"
#include "command/waiters.h"
#include "memory/mapped_pages.h"

namespace lockstep::command {

// As hsa_signal_condition_t numbers them.
enum class Condition : uint32_t { equal = 0, not_equal = 1, less = 2, greater_or_equal = 3 };
bool holds(Condition condition, int64_t value, int64_t compare);

// What can be done to a signal's value at once.
enum class SignalOperation : uint8_t { store, add, subtract, bit_and, bit_or, bit_xor, exchange };

class Signals {
 public:
  Signals(AddressSpace& memory, Waiters& waiters, Interrupts& interrupts);

  // A handle is the address of a SignalMemory, as AQL packets and kernels take it. With an event id each
  // completion, and each change by a kernel's runtime library, also raises an interrupt. Throws
  // std::bad_alloc.
  uint64_t create(int64_t value, uint32_t event_id = 0);
  // False if it is no signal of this device, or was destroyed already.
  bool destroy(uint64_t signal);
  bool exists(uint64_t signal) const;

  // The signal must exist.
  int64_t load(uint64_t signal) const;
  // Wakes who waits for it. Returns the value before.
  int64_t change(uint64_t signal, SignalOperation operation, int64_t operand);
  // Returns the value before; the change was made if that is `expected`.
  int64_t compare_exchange(uint64_t signal, int64_t expected, int64_t value);
  // The value that fulfilled the condition, or nothing after the deadline.
  std::optional<int64_t> wait(uint64_t signal, Condition condition, int64_t compare,
                              std::optional<Waiters::Clock::time_point> deadline);

  // What a command processor does to a completion signal (any SignalMemory in guest memory): times,
  // decrement, mailbox, interrupt. False if the memory is not mapped.
  bool complete(uint64_t signal, uint64_t queue, uint64_t start_ts, uint64_t end_ts);

 private:
  static constexpr size_t kSlab = 4096;  // signals
  struct Slab {
    MappedPages pages;
    std::vector<bool> used;  // here, where the guest cannot write
    explicit Slab(AddressSpace& memory);
  };

  // Where it says whether the signal is in use, with the lock held; nothing if it is no place of a signal.
  std::optional<std::vector<bool>::reference> used(uint64_t signal) const;

  AddressSpace& memory_;
  Waiters& waiters_;
  Interrupts& interrupts_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<SignalMemory*> free_;
  std::unique_ptr<MappedPages> mailbox_;
};

// Nanoseconds of the host's clock, as in time stamps of a device that has no clock of the card's.
uint64_t nanoseconds();

}  // namespace lockstep::command

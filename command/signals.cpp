#include "command/signals.h"

#include "command/guest_memory.h"

namespace lockstep::command {

namespace {

std::atomic_ref<int64_t> value_of(uint64_t signal) {
  return std::atomic_ref<int64_t>(reinterpret_cast<SignalMemory*>(signal)->value);
}

}  // namespace

uint64_t nanoseconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

bool holds(Condition condition, int64_t value, int64_t compare) {
  switch (condition) {
    case Condition::equal:
      return value == compare;
    case Condition::not_equal:
      return value != compare;
    case Condition::less:
      return value < compare;
    case Condition::greater_or_equal:
      return value >= compare;
  }
  return false;
}

Signals::Slab::Slab(AddressSpace& memory)
    : pages(memory, kSlab * sizeof(SignalMemory), kReadWrite, "signals"), used(kSlab) {}

Signals::Signals(AddressSpace& memory, Waiters& waiters, Interrupts& interrupts)
    : memory_(memory), waiters_(waiters), interrupts_(interrupts) {}

uint64_t Signals::create(int64_t value, uint32_t event_id) {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (!mailbox_) mailbox_ = std::make_unique<MappedPages>(memory_, 4096, kReadWrite, "event mailbox");
    slabs_.push_back(std::make_unique<Slab>(memory_));
    auto* first = reinterpret_cast<SignalMemory*>(slabs_.back()->pages.data());
    for (size_t i = kSlab; i-- > 0;) free_.push_back(first + i);
  }
  SignalMemory* signal = free_.back();
  free_.pop_back();
  *signal = {};
  signal->value = value;
  signal->event_mailbox_ptr = event_id != 0 ? mailbox_->address() : 0;
  signal->event_id = event_id;
  signal->kind = static_cast<int64_t>(SignalKind::user);
  const auto handle = reinterpret_cast<uint64_t>(signal);
  *used(handle) = true;
  return handle;
}

std::optional<std::vector<bool>::reference> Signals::used(uint64_t signal) const {
  for (const auto& slab : slabs_) {
    const uint64_t base = slab->pages.address();
    if (signal < base || signal - base >= kSlab * sizeof(SignalMemory)) continue;
    if ((signal - base) % sizeof(SignalMemory) != 0) return std::nullopt;
    return slab->used[(signal - base) / sizeof(SignalMemory)];
  }
  return std::nullopt;
}

bool Signals::destroy(uint64_t signal) {
  std::lock_guard lock(mutex_);
  auto live = used(signal);
  if (!live || !*live) return false;
  *live = false;
  auto* memory = reinterpret_cast<SignalMemory*>(signal);
  memory->kind = static_cast<int64_t>(SignalKind::invalid);
  free_.push_back(memory);
  return true;
}

bool Signals::exists(uint64_t signal) const {
  std::lock_guard lock(mutex_);
  const auto live = used(signal);
  return live && *live;
}

int64_t Signals::load(uint64_t signal) const {
  return value_of(signal).load(std::memory_order_acquire);
}

int64_t Signals::change(uint64_t signal, SignalOperation operation, int64_t operand) {
  const auto value = value_of(signal);
  int64_t before = 0;
  switch (operation) {
    case SignalOperation::store:
    case SignalOperation::exchange:
      before = value.exchange(operand);
      break;
    case SignalOperation::add:
      before = value.fetch_add(operand);
      break;
    case SignalOperation::subtract:
      before = value.fetch_sub(operand);
      break;
    case SignalOperation::bit_and:
      before = value.fetch_and(operand);
      break;
    case SignalOperation::bit_or:
      before = value.fetch_or(operand);
      break;
    case SignalOperation::bit_xor:
      before = value.fetch_xor(operand);
      break;
  }
  waiters_.notify();
  return before;
}

int64_t Signals::compare_exchange(uint64_t signal, int64_t expected, int64_t value) {
  if (value_of(signal).compare_exchange_strong(expected, value)) waiters_.notify();
  return expected;
}

std::optional<int64_t> Signals::wait(uint64_t signal, Condition condition, int64_t compare,
                                     std::optional<Waiters::Clock::time_point> deadline) {
  int64_t seen = 0;
  const bool good = waiters_.wait(
      [&] {
        const int64_t value = load(signal);
        if (!holds(condition, value, compare)) return false;
        seen = value;
        return true;
      },
      deadline);
  return good ? std::optional(seen) : std::nullopt;
}

bool Signals::complete(uint64_t signal, uint64_t queue, uint64_t start_ts, uint64_t end_ts) {
  const std::shared_ptr<const RangeSet> ranges = memory_.snapshot();
  auto* memory =
      reinterpret_cast<SignalMemory*>(guest_bytes(*ranges, signal, sizeof(SignalMemory), kReadWrite));
  if (!memory || signal % alignof(SignalMemory) != 0) return false;
  memory->start_ts = start_ts;
  memory->end_ts = end_ts;
  const uint64_t mailbox = memory->event_mailbox_ptr;
  const uint32_t event = memory->event_id;
  value_of(signal).fetch_sub(1, std::memory_order_acq_rel);
  if (mailbox != 0) {
    if (std::byte* to = mailbox % 8 == 0 ? guest_bytes(*ranges, mailbox, 8, kReadWrite) : nullptr)
      store_shared<uint64_t>(to, event);
    interrupts_.raise({Interrupt::Source::end_of_pipe, event, queue, {}, 0});
  }
  waiters_.notify();
  return true;
}

}  // namespace lockstep::command

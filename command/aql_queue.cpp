#include "command/aql_queue.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "command/fault_text.h"
#include "command/pm4.h"
#include "command/processor.h"
#include "memory/host_fault.h"
#include "text/hex.h"

namespace lockstep::command {

namespace {

constexpr size_t kControlBytes = 4096;
constexpr size_t kDoorbellOffset = 1024;

uint32_t checked_size(uint32_t size) {
  if (size < 2 || size > (1u << 24) || !std::has_single_bit(size))
    throw std::invalid_argument("a queue of " + std::to_string(size) +
                                " packets: the size must be a power of two from 2 to 16777216");
  return size;
}

std::string queue_and_packet(uint64_t queue, uint64_t index) {
  return "queue " + std::to_string(queue) + ", packet " + std::to_string(index) + ": ";
}

}  // namespace

// Takes the interrupts of a dispatch that has a host.
class AqlQueue::HostedMessages final : public MessageSink {
 public:
  HostedMessages(AqlQueue& queue, std::unique_ptr<DispatchHost> host)
      : queue_(queue), host_(std::move(host)) {}
  ~HostedMessages() override { end(); }

  void on_interrupt(const Wave& wave, uint32_t payload) override {
    if (!host_->answer(wave, payload)) queue_.on_interrupt(wave, payload);
  }
  // Behind the last wave, or where there was none.
  std::string end() {
    if (std::exchange(ended_, true)) return {};
    try {
      return host_->end();
    } catch (const std::exception& error) {  // what the kernel has printed is lost
      return error.what();
    }
  }

 private:
  AqlQueue& queue_;
  const std::unique_ptr<DispatchHost> host_;
  bool ended_ = false;
};

AqlQueue::AqlQueue(uint64_t id, AqlQueueOptions options, Services services)
    : Queue(id, options.priority, std::move(options.on_error), std::move(options.precise)),
      services_(services),
      size_(checked_size(options.size)),
      cooperative_(options.type == kQueueTypeCooperative),
      host_(std::move(options.host)),
      dispatcher_(services.memory),
      done_(size_) {
  if (!options.memory) {
    make_memory(options.type);
    return;
  }
  memory_ = options.memory->queue;
  ring_ = options.memory->ring;
  doorbell_ = options.memory->doorbell;
  write_ = options.memory->write ? options.memory->write : &memory_->write_dispatch_id;
  if (!has_memory() || !guest_bytes(*services_.memory.snapshot(), reinterpret_cast<uint64_t>(ring_),
                                    size_ * sizeof(AqlPacket), kReadWrite))
    throw std::invalid_argument("a ring of " + std::to_string(size_) + " packets at " +
                                hex(reinterpret_cast<uint64_t>(ring_)) + " with its amd_queue_t at " +
                                hex(address()) + ": not all of it is mapped for the device");
  next_ = read_index();
}

bool AqlQueue::has_memory() {
  const std::shared_ptr<const RangeSet> ranges = services_.memory.snapshot();
  if (const uint64_t version = ranges->version(); version == 0 || version != mapped_in_) {
    if (!ranges->allows(address(), sizeof *memory_, kReadWrite) ||
        !ranges->allows(reinterpret_cast<uint64_t>(write_), sizeof *write_, kRead))
      return false;
    mapped_in_ = version;
  }
  return host_has(address(), sizeof *memory_, true);
}

void AqlQueue::make_memory(uint32_t type) {
  pages_.emplace(services_.memory, kControlBytes + size_t{size_} * sizeof(AqlPacket), kReadWrite,
                 "queue " + std::to_string(id()));
  memory_ = reinterpret_cast<QueueMemory*>(pages_->data());
  write_ = &memory_->write_dispatch_id;
  auto* doorbell_signal = reinterpret_cast<SignalMemory*>(pages_->data() + kDoorbellOffset);
  doorbell_ = reinterpret_cast<uint64_t*>(doorbell_signal + 1);
  ring_ = reinterpret_cast<AqlPacket*>(pages_->data() + kControlBytes);
  inactive_signal_ = services_.signals.create(0);
  const hardware::Description& hardware = services_.device.hardware();
  memory_->type = type;
  memory_->features = kQueueFeatureKernelDispatch;
  memory_->base_address = reinterpret_cast<uint64_t>(ring_);
  memory_->doorbell_signal = reinterpret_cast<uint64_t>(doorbell_signal);
  memory_->size = size_;
  memory_->id = id();
  memory_->group_segment_aperture_base_hi = static_cast<uint32_t>(kSharedApertureBase >> 32);
  memory_->private_segment_aperture_base_hi = static_cast<uint32_t>(kPrivateApertureBase >> 32);
  memory_->max_cu_id = hardware.compute_units() - 1;
  memory_->max_wave_id = hardware.simds_per_compute_unit * hardware.waves_per_simd - 1;
  memory_->read_dispatch_id_field_base_byte_offset = offsetof(QueueMemory, read_dispatch_id);
  memory_->queue_inactive_signal = inactive_signal_;
  doorbell_signal->kind = static_cast<int64_t>(SignalKind::doorbell);
  doorbell_signal->value = static_cast<int64_t>(reinterpret_cast<uint64_t>(doorbell_));
  doorbell_signal->queue_ptr = address();
  store_shared<uint64_t>(doorbell_, kNeverRung);
  for (uint32_t i = 0; i < size_; ++i) ring_[i].header = static_cast<uint16_t>(PacketType::invalid);
}

AqlQueue::~AqlQueue() {
  inactivate();
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return in_flight_ == 0; });
  lock.unlock();
  executor_.reset();
  if (inactive_signal_ != 0) services_.signals.destroy(inactive_signal_);
}

uint64_t AqlQueue::reserve(uint64_t count) {
  return std::atomic_ref<uint64_t>(*write_).fetch_add(count, std::memory_order_acq_rel);
}

bool AqlQueue::wait_for_slot(uint64_t index, std::optional<Waiters::Clock::time_point> deadline) {
  bool active = true;
  const bool good = services_.waiters.wait(
      [&] {
        active = state() == QueueState::active;
        return !active || index - read_index() < size_;
      },
      deadline);
  return good && active;
}

void AqlQueue::publish(uint64_t index, const AqlPacket& packet) {
  AqlPacket& to = slot(index);
  std::memcpy(reinterpret_cast<std::byte*>(&to) + 2, reinterpret_cast<const std::byte*>(&packet) + 2,
              sizeof to - 2);
  store_shared<uint16_t>(&to.header, packet.header);
}

void AqlQueue::ring_doorbell(uint64_t index) {
  // Not where the doorbell signal's value says: the guest can write to that.
  store_shared<uint64_t>(doorbell_, index);
  services_.processor.wake();
}

bool AqlQueue::kill(uint64_t index) {
  std::shared_ptr<machine::ActiveDispatch> running;
  {
    std::lock_guard lock(mutex_);
    const uint64_t read = read_index();
    if (state() != QueueState::active || index < read || index >= std::min(write_index(), read + size_) ||
        done_[index & (size_ - 1)] ||
        (load_shared<uint16_t>(&slot(index).header) & 0xff) == static_cast<uint16_t>(PacketType::invalid))
      return false;
    if (const auto found = running_.find(index); found != running_.end()) {
      running = found->second;
    } else {
      to_kill_.insert(index);  // advance() and dispatch() see it
      kills_ = true;
    }
  }
  if (running)
    services_.device.cancel(*running);
  else
    services_.processor.wake();
  return true;
}

void AqlQueue::inactivate() {
  if (become_inactive()) end();
}

void AqlQueue::end() {
  if (inactive_signal_ != 0) services_.signals.change(inactive_signal_, SignalOperation::store, 1);
  for (const auto& dispatch : running()) services_.device.cancel(*dispatch);
  if (Pm4Executor* executor = shared_executor_.load()) executor->cancel();
}

std::vector<std::shared_ptr<machine::ActiveDispatch>> AqlQueue::running() const {
  std::vector<std::shared_ptr<machine::ActiveDispatch>> all;
  std::lock_guard lock(mutex_);
  for (const auto& [index, dispatch] : running_) all.push_back(dispatch);
  return all;
}

void AqlQueue::suspend_waves() {
  for (const auto& dispatch : running()) services_.device.suspend(*dispatch);
  if (Pm4Executor* executor = shared_executor_.load()) executor->suspend();
}

void AqlQueue::resume_waves() {
  for (const auto& dispatch : running()) services_.device.resume(*dispatch);
  if (Pm4Executor* executor = shared_executor_.load()) executor->resume();
}

bool AqlQueue::busy() const {
  const Pm4Executor* executor = shared_executor_.load();
  return in_flight_ != 0 || (executor && executor->busy());
}

void AqlQueue::fail(QueueError error) {
  // Dispatches fail beside each other and beside packets: the first one tells.
  if (!become_inactive()) return;
  end();
  tell(error);
}

AqlQueue::Outcome AqlQueue::refuse(uint64_t index, QueueError::Kind kind, std::string field,
                                   const std::string& text, uint64_t unmapped) {
  QueueError error;
  error.address = unmapped;
  error.kind = kind;
  error.queue = id();
  error.position = index;
  error.message = queue_and_packet(id(), index) + (field.empty() ? "" : field + ": ") + text;
  error.field = std::move(field);
  fail(std::move(error));
  return Outcome::failed;
}

AqlQueue::Outcome AqlQueue::refuse_lost(uint64_t address) {
  return refuse(next_, QueueError::Kind::memory_violation, "ring",
                hex(address) + " is no memory of the process any more (destroy the queue first)", address);
}

Queue::Advance AqlQueue::advance() {
  Advance result;
  const auto begin = Waiters::Clock::now();
  if (const auto doorbell = load_shared<uint64_t>(doorbell_); doorbell != heard_) {
    heard_ = doorbell;
    rung_ = begin;
  }
  if (!pages_ && state() == QueueState::active && !has_memory()) {
    refuse(next_, QueueError::Kind::memory_violation, "amd_queue_t",
           hex(address()) + " is no memory of the device any more (destroy the queue first)", address());
    return result;
  }
  for (unsigned n = 0; n < kBatch && state() == QueueState::active; ++n) {
    // The caller's memory may go at any moment.
    uint64_t write = 0, read = 0;
    uint16_t header = 0;
    const std::optional<uint64_t> lost = guarded([&] {
      write = write_index();
      read = read_index();
      if (next_ < write) header = load_shared<uint16_t>(&slot(next_).header);
    });
    if (lost) {
      refuse_lost(*lost);
      break;
    }
    if (next_ >= write) {
      look_for_index(result);
      break;
    }
    const uint64_t ended = retired_.load(std::memory_order_seq_cst);
    const bool has_slot = next_ - read < size_;
    if (has_slot && !is_published(header)) break;
    if (n != 0 && Waiters::Clock::now() - begin > kLongestBatch) break;
    bool goes_on = has_slot;
    if (goes_on && killed(next_)) {
      goes_on = abandon(next_);
    } else if (goes_on) {
      goes_on = !((header & kHeaderBarrier) && busy()) && process(next_, header, result) == Outcome::launched;
    }
    if (!goes_on) {
      // It may be what has just ended that this packet waits for.
      stalled_.store(true, std::memory_order_seq_cst);
      result.progressed |= retired_.load(std::memory_order_seq_cst) != ended;
      break;
    }
    ++next_;
    active_since_ = 0;
    blocked_since_ = 0;
    reached_ = 0;
    result.progressed = true;
  }
  return result;
}

// Of the packet at next_, whether the doorbell was rung or not: packets are published before. But zero is a
// type, too, a vendor's, and may be what a program has there until it stores the header, behind all else.
bool AqlQueue::is_published(uint16_t header) const {
  const auto type = static_cast<PacketType>(header & 0xff);
  if (type != PacketType::vendor_specific) return type != PacketType::invalid;
  const uint64_t doorbell = heard_;
  return doorbell != kNeverRung && doorbell >= next_;
}

// Some store the write index behind the doorbell, without a word. Others ring with an index more than HSA
// says: it is not looked for any longer than a thread may be kept from its store.
void AqlQueue::look_for_index(Advance& result) const {
  constexpr std::chrono::microseconds kLongest(100'000), kPause(200);
  const uint64_t doorbell = heard_;
  if (pages_ || doorbell == kNeverRung || doorbell < next_) return;
  const auto now = Waiters::Clock::now();
  if (now - rung_ < kLongest) result.look_again = now + kPause;
}

bool AqlQueue::rehearse() {
  if (!last_dispatch_ || precise() || busy() || state() != QueueState::active) return false;
  // The lines that the next two packets will be in. What has become of the memory tells advance().
  if (!has_memory() || guarded([&] {
        write_index();
        read_index();
        load_shared<uint16_t>(&slot(next_).header);
        load_shared<uint16_t>(&slot(next_ + 1).header);
      }))
    return false;
  dispatcher_.refresh();
  const uint64_t signal = last_dispatch_->completion_signal;
  if (signal != 0) guest_bytes(*dispatcher_.ranges(), signal, sizeof(SignalMemory), kRead);
  machine::Launch launch;
  if (dispatcher_.fill(launch, *last_dispatch_, reinterpret_cast<uint64_t>(&slot(next_)), address(),
                       next_)) {  // its kernel was unloaded
    last_dispatch_.reset();
    return false;
  }
  launch.doorbell_id = doorbell_id();
  launch.access_modes = services_.device.access_modes();
  launch.compute_units = compute_units();
  try {
    return services_.device.rehearse(std::move(launch));
  } catch (const std::invalid_argument&) {  // it would not fit any more: dispatch() tells
  } catch (const std::bad_alloc&) {
  }
  last_dispatch_.reset();
  return false;
}

bool AqlQueue::killed(uint64_t index) {
  if (!kills_) return false;
  std::lock_guard lock(mutex_);
  return to_kill_.contains(index);
}

bool AqlQueue::abandon(uint64_t index) {
  if (in_buffer_) {
    executor_->abandon();
    if (executor_->busy()) return false;
    in_buffer_ = false;
  }
  ++in_flight_;
  retire(index);
  return true;
}

AqlQueue::Outcome AqlQueue::process(uint64_t index, uint16_t header, Advance& result) {
  AqlPacket packet;
  if (const auto lost = guarded([&] { std::memcpy(&packet, &slot(index), sizeof packet); }))
    return refuse_lost(*lost);
  if (header >> 13 != 0)
    return refuse(index, QueueError::Kind::invalid_packet, "header",
                  "reserved bits 13 to 15 are set (write 0)");
  if ((header >> kHeaderAcquireShift & 3) == 3 || (header >> kHeaderReleaseShift & 3) == 3)
    return refuse(index, QueueError::Kind::invalid_packet, "header",
                  "a fence scope of 3 (0 is none, 1 agent, 2 system)");
  // Host and guest share one coherent memory: an acquire of any scope orders what follows behind the header.
  if (header >> kHeaderAcquireShift & 3) std::atomic_thread_fence(std::memory_order_acquire);
  if (active_since_ == 0) active_since_ = services_.time_stamp();
  // All packets have it in the same place.
  const uint64_t signal = packet.dispatch.completion_signal;
  if (signal != 0) {
    dispatcher_.refresh();
    if (signal % alignof(SignalMemory) != 0 ||
        !guest_bytes(*dispatcher_.ranges(), signal, sizeof(SignalMemory), kReadWrite))
      return refuse_signal(index, "completion_signal", signal);
  }
  Outcome outcome = Outcome::failed;
  switch (static_cast<PacketType>(header & 0xff)) {
    case PacketType::kernel_dispatch:
      return dispatch(index, packet.dispatch);
    case PacketType::barrier_and:
      outcome = barrier(index, packet.barrier, true);
      break;
    case PacketType::barrier_or:
      outcome = barrier(index, packet.barrier, false);
      break;
    case PacketType::vendor_specific:
      outcome = vendor(index, packet, result);
      break;
    case PacketType::agent_dispatch:
      return refuse(index, QueueError::Kind::invalid_packet, "header",
                    "an agent dispatch packet: a GPU's queue takes none (send it to a queue of the host)");
    default:
      return refuse(index, QueueError::Kind::invalid_packet, "header",
                    "packet type " + std::to_string(header & 0xff) +
                        " (0 vendor specific, 2 kernel dispatch, 3 barrier-AND, 5 barrier-OR)");
  }
  if (outcome == Outcome::blocked) {
    result.waits_for_memory = true;
    // A program stores to its own signals without a word. It is looked for less often the longer it waits.
    if (!pages_ && !result.look_again) {
      constexpr uint64_t kSoonest = 20'000, kLatest = 1'000'000;  // nanoseconds
      if (blocked_since_ == 0) blocked_since_ = nanoseconds();
      const uint64_t pause = std::clamp((nanoseconds() - blocked_since_) / 4, kSoonest, kLatest);
      result.look_again = Waiters::Clock::now() + std::chrono::nanoseconds(pause);
    }
  }
  return outcome;
}

AqlQueue::Outcome AqlQueue::dispatch(uint64_t index, const KernelDispatchPacket& packet) {
  std::shared_ptr<HostedMessages> hosted;
  try {
    if (auto host = host_ ? host_(packet.kernarg_address) : nullptr)
      hosted = std::make_shared<HostedMessages>(*this, std::move(host));
  } catch (const std::exception& error) {
    return refuse(index, QueueError::Kind::invalid_packet, "kernarg_address", error.what());
  }
  dispatcher_.refresh();
  machine::Launch launch;
  if (const auto fault =
          dispatcher_.fill(launch, packet, reinterpret_cast<uint64_t>(&slot(index)), address(), index))
    return refuse(index,
                  fault->unmapped ? QueueError::Kind::memory_violation : QueueError::Kind::invalid_packet,
                  fault->field, fault->text, fault->unmapped);
  launch.messages = hosted ? static_cast<MessageSink*>(hosted.get()) : this;
  launch.doorbell_id = doorbell_id();
  launch.dispatch_id = static_cast<uint32_t>(index);
  launch.access_modes = services_.device.access_modes();
  try {
    provide_scratch(launch);
    launch.compute_units = compute_units();
    if (cooperative_) {
      const uint64_t fits = machine::resident_groups(services_.device.hardware(), launch);
      const uint64_t groups = machine::group_count(launch);
      if (groups > fits)
        return refuse(index, QueueError::Kind::not_resident, "grid_size_x",
                      "a cooperative grid of " + std::to_string(groups) + " work-groups, but " +
                          services_.device.hardware().name + " holds " + std::to_string(fits) +
                          " of these at once (make the grid smaller)");
    }
    last_dispatch_ = packet;
    const uint64_t signal = packet.completion_signal;
    const uint64_t start = signal != 0 ? services_.time_stamp() : 0;
    ++in_flight_;
    std::shared_ptr<machine::ActiveDispatch> running;
    try {
      running = services_.device.start(
          std::move(launch), priority(),
          [this, index, signal, start, hosted](machine::Outcome&& outcome) {
            dispatch_done(index, signal, start, hosted.get(), std::move(outcome));
          },
          precise(),
          [this, index] {
            std::lock_guard lock(mutex_);
            return to_kill_.contains(index) || state() != QueueState::active;
          });
    } catch (...) {
      --in_flight_;
      throw;
    }
    if (!running) return Outcome::launched;
    bool cancel = false;
    {
      std::lock_guard lock(mutex_);
      // It may have ended already; then its slot is done, or is even free again.
      uint64_t read = 0;
      (void)guarded([&] { read = read_index(); });  // lost: advance() sees it
      if (index < read || done_[index & (size_ - 1)]) return Outcome::launched;
      running_[index] = running;
      cancel = to_kill_.erase(index) != 0 || state() != QueueState::active;
    }
    if (cancel) services_.device.cancel(*running);
    return Outcome::launched;
  } catch (const std::invalid_argument& error) {
    return refuse(index, QueueError::Kind::invalid_packet, "", error.what());
  } catch (const std::bad_alloc&) {
    return refuse(index, QueueError::Kind::invalid_packet, "private_segment_size",
                  "the host has no memory for " + std::to_string(packet.private_segment_size) +
                      " bytes of scratch a work-item (ask for less)");
  }
}

void AqlQueue::provide_scratch(machine::Launch& launch) {
  const uint64_t bytes = machine::scratch_wave_bytes(launch.scratch_bytes, launch.wave_size);
  if (bytes == 0) return;
  if (!scratch_ || scratch_->wave_bytes() < bytes) {
    scratch_ = machine::ScratchRing::make(services_.memory, services_.device.hardware(),
                                          static_cast<uint32_t>(bytes));
    if (pages_) tell_scratch();
    dispatcher_.refresh();
    launch.memory = dispatcher_.ranges();
  }
  launch.scratch = scratch_;
}

// In the caller's amd_queue_t these are the runtime's fields.
void AqlQueue::tell_scratch() {
  memory_->compute_tmpring_size = scratch_->register_value();
  memory_->scratch_backing_memory_location = scratch_->base();
  memory_->scratch_backing_memory_byte_size = scratch_->bytes();
  memory_->scratch_wave64_lane_byte_size = scratch_->wave_bytes() / 64;
}

AqlQueue::Outcome AqlQueue::barrier(uint64_t index, const BarrierPacket& packet, bool all) {
  const std::shared_ptr<const RangeSet> ranges = services_.memory.snapshot();
  unsigned signals = 0;
  for (unsigned i = 0; i < 5; ++i) {
    const uint64_t signal = packet.dep_signal[i];
    if (signal == 0) continue;
    if (signal % alignof(SignalMemory) != 0 || !guest_bytes(*ranges, signal, sizeof(SignalMemory), kRead))
      return refuse_signal(index, "dep_signal[" + std::to_string(i) + "]", signal);
    const int64_t value = services_.signals.load(signal);
    signals |= 1u << i;
    // A negative value says that what it stands for has failed.
    if (value < 0)
      return refuse(index, QueueError::Kind::invalid_packet, "dep_signal[" + std::to_string(i) + "]",
                    "the signal has the value " + std::to_string(value) +
                        ": what it stands for has failed (a packet's signal ends at 0)");
    // Having been at 0 is enough: they need not be so at the same time.
    if (value == 0) reached_ |= 1u << i;
  }
  const bool open = all ? reached_ == signals : signals == 0 || reached_ != 0;
  if (!open) return Outcome::blocked;
  return complete(index, packet.completion_signal, active_since_);
}

AqlQueue::Outcome AqlQueue::vendor(uint64_t index, const AqlPacket& packet, Advance& result) {
  const unsigned format = packet.barrier_value.format;
  if (format == static_cast<unsigned>(VendorFormat::pm4_ib)) return buffer(index, packet.pm4_ib, result);
  if (format != static_cast<unsigned>(VendorFormat::barrier_value))
    return refuse(index, QueueError::Kind::unsupported, "format",
                  "vendor packet format " + std::to_string(format) +
                      " (1 is a PM4 buffer, 2 the barrier-value packet)");
  const BarrierValuePacket& wait = packet.barrier_value;
  if (wait.condition > 3)
    return refuse(index, QueueError::Kind::invalid_packet, "condition",
                  "condition " + std::to_string(wait.condition) +
                      " (0 is equal, 1 not equal, 2 less, 3 greater or equal)");
  if (wait.signal != 0) {
    const std::shared_ptr<const RangeSet> ranges = services_.memory.snapshot();
    if (wait.signal % alignof(SignalMemory) != 0 ||
        !guest_bytes(*ranges, wait.signal, sizeof(SignalMemory), kRead))
      return refuse_signal(index, "signal", wait.signal);
    const int64_t value = services_.signals.load(wait.signal) & wait.mask;
    if (!holds(static_cast<Condition>(wait.condition), value, wait.value)) return Outcome::blocked;
  }
  return complete(index, wait.completion_signal, active_since_);
}

// The indirect buffer is done when all of its packets are, and its dispatches have ended.
AqlQueue::Outcome AqlQueue::buffer(uint64_t index, const Pm4IbPacket& packet, Advance& result) {
  if (!executor_)
    executor_ =
        std::make_unique<Pm4Executor>(services_, id(), doorbell_id(), priority(), precise(),
                                      static_cast<MessageSink*>(this), [this](machine::Outcome&& outcome) {
                                        if (outcome.fault)
                                          fail(kernel_fault(buffer_index_, std::move(outcome)));
                                      });
  shared_executor_ = executor_.get();
  using Status = Pm4Executor::Status;
  Status status = executor_->settle() ? Status::executed : Status::failed;
  if (!in_buffer_ && status == Status::executed) {
    constexpr uint32_t kJump = pm4::header(pm4::kIndirectBuffer, 3);
    if ((packet.jump[0] | 2) != kJump)
      return refuse(index, QueueError::Kind::invalid_packet, "jump[0]",
                    hex(packet.jump[0]) + " is no INDIRECT_BUFFER header (write " + hex(kJump) + ")");
    buffer_index_ = index;
    status = executor_->execute(reinterpret_cast<uint64_t>(&slot(index)) + offsetof(Pm4IbPacket, jump),
                                packet.jump, 4);
    in_buffer_ = true;
  }
  for (unsigned n = 0; n < kBatch && status == Status::executed; ++n) status = executor_->step();
  if (status == Status::executed) {
    result.progressed = true;  // there is more; other queues first
    return Outcome::blocked;
  }
  if (status == Status::failed) return buffer_failed(index);
  if (status == Status::waits_memory) {
    result.look_again = executor_->look_again();
    return Outcome::blocked;
  }
  if (status == Status::waits_dispatch || executor_->busy()) return Outcome::blocked;
  if (!executor_->settle()) return buffer_failed(index);
  in_buffer_ = false;
  return complete(index, packet.completion_signal, active_since_);
}

AqlQueue::Outcome AqlQueue::buffer_failed(uint64_t index) {
  const Pm4Fault& fault = executor_->fault();
  return refuse(index, fault.kind, fault.field, "PM4 packet at " + hex(fault.address) + ": " + fault.text,
                fault.unmapped);
}

AqlQueue::Outcome AqlQueue::refuse_signal(uint64_t index, std::string field, uint64_t signal) {
  return refuse(
      index, QueueError::Kind::memory_violation, std::move(field),
      hex(signal) + " is no signal (give the handle of one that exists until the packet is done, or 0)",
      signal);
}

bool AqlQueue::signal_completion(uint64_t index, uint64_t signal, uint64_t start) {
  if (signal == 0 || services_.signals.complete(signal, id(), start, services_.time_stamp())) return true;
  refuse_signal(index, "completion_signal", signal);
  return false;
}

AqlQueue::Outcome AqlQueue::complete(uint64_t index, uint64_t signal, uint64_t start) {
  ++in_flight_;
  const bool good = signal_completion(index, signal, start);
  retire(index);
  return good ? Outcome::launched : Outcome::failed;
}

QueueError AqlQueue::kernel_fault(uint64_t index, machine::Outcome&& outcome) const {
  QueueError error;
  error.kind = QueueError::Kind::kernel_fault;
  error.queue = id();
  error.position = index;
  error.field = "kernel_object";
  error.message = queue_and_packet(id(), index) + fault_text(*outcome.fault);
  error.fault = std::move(outcome.fault);
  return error;
}

void AqlQueue::dispatch_done(uint64_t index, uint64_t signal, uint64_t start, HostedMessages* host,
                             machine::Outcome&& outcome) {
  // What it has printed is seen before its end is.
  const std::string problem = host ? host->end() : "";
  if (outcome.fault) {
    fail(kernel_fault(index, std::move(outcome)));
  } else if (!problem.empty()) {
    refuse(index, QueueError::Kind::unsupported, "kernel_object", problem);
  } else if (!outcome.cancelled) {
    // The release fence of any scope: what the waves wrote is visible before the signal.
    signal_completion(index, signal, start);
  }
  retire(index);
}

void AqlQueue::retire(uint64_t index) {
  std::shared_ptr<machine::ActiveDispatch> dropped;
  const Services services = services_;
  bool stalled = false;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = running_.find(index); found != running_.end()) {
      dropped = std::move(found->second);
      running_.erase(found);
    }
    if (kills_) {
      to_kill_.erase(index);
      kills_ = !to_kill_.empty();
    }
    // Slots are given back in order: kernels may read their packets until they have ended.
    done_[index & (size_ - 1)] = true;
    // Where the memory is gone advance() tells.
    (void)guarded([&] {
      uint64_t read = read_index();
      while (done_[read & (size_ - 1)]) {
        done_[read & (size_ - 1)] = false;
        store_shared<uint16_t>(&slot(read).header, static_cast<uint16_t>(PacketType::invalid));
        ++read;
      }
      store_shared<uint64_t>(&memory_->read_dispatch_id, read);
    });
    if (--in_flight_ == 0) idle_.notify_all();
    retired_.fetch_add(1, std::memory_order_seq_cst);
    stalled = stalled_.exchange(false, std::memory_order_seq_cst);
  }
  // The queue may be gone by now.
  if (stalled) services.processor.wake();
  services.waiters.notify();
}

void AqlQueue::on_interrupt(const Wave& wave, uint32_t payload) {
  services_.interrupts.raise(interrupt_of(wave, payload, id()));
}

}  // namespace lockstep::command

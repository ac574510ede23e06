// What kernels ask of the host while they run: printf, and memory for malloc. In ROCm a thread of the runtime
// answers; here the thread that runs the wave does, at the message that the wave sends with its request, so
// the answers come in the same order on every run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/device_heap.h"
#include "loader/hidden_arguments.h"
#include "loader/metadata.h"
#include "memory/address_space.h"
#include "memory/mapped_pages.h"
#include "state/work_group.h"

namespace lockstep::api {

// What malloc of all kernels of a device gives: a kernel may free, or use, what an earlier one, or one beside
// it, has allocated.
class GuestHeap {
 public:
  explicit GuestHeap(AddressSpace& memory) : memory_(memory) {}

  // The device library's account of its slabs, as hidden arguments name it; made when it is first asked for.
  // Throws Failure.
  uint64_t account();
  // 0: there is not as much.
  uint64_t allocate(uint64_t bytes);
  // False: nothing was allocated there.
  bool free(uint64_t address);

 private:
  AddressSpace& memory_;
  std::mutex mutex_;
  std::optional<MappedPages> account_, pages_;
  DeviceHeap heap_;
};

// Of a device; for one dispatch at a time.
class GuestServices final : public MessageSink {
 public:
  // `stream` is 1 for what goes to standard output, 2 for standard error.
  using Output = std::function<void(std::string_view text, int stream)>;

  GuestServices(AddressSpace& memory, std::shared_ptr<GuestHeap> heap)
      : memory_(memory), heap_(std::move(heap)) {}
  GuestServices(const GuestServices&) = delete;
  GuestServices& operator=(const GuestServices&) = delete;

  // True if the kernel's hidden arguments name buffers of these services.
  static bool needed(const loader::KernelMetadata& kernel);
  // Before the dispatch: makes what the kernel needs, and names it in `hidden`. No more than `waves` waves
  // are under way at a time. Throws Failure.
  void begin(const loader::KernelMetadata& kernel, const std::vector<std::string>& formats, uint64_t waves,
             Output output, loader::HiddenValues& hidden);
  // Likewise of a kernel whose arguments name buffers already, those of the runtime that launched it: what is
  // not in `memory` stays without service.
  void adopt(const loader::KernelMetadata& kernel, const std::vector<std::string>& formats,
             uint64_t arguments, const RangeSet& memory, Output output);
  // The buffers that the dispatch talks to these services by: what they hold is a matter of time.
  std::vector<std::span<const std::byte>> buffers() const;
  // Behind it, whatever became of it: writes what the kernel left in the printf buffer. Empty, or what a wave
  // asked for that no guest gets.
  std::string end();

  void on_interrupt(const Wave& wave, uint32_t payload) override;
  // Whether a wave with this payload rings for its requests, and for nothing else.
  bool is_request(uint32_t payload) const { return calls_ && payload == kRequest; }

 private:
  // Event of the signal that waves ring with. The device library sends eight bits of it.
  static constexpr uint32_t kRequest = 0xff;

  struct Message {
    std::vector<std::byte> bytes;
  };
  struct Header;
  struct Buffer;
  // Of hostcalls, in guest memory: guests may write to all of it.
  struct Calls {
    Buffer* buffer = nullptr;
    Header* headers = nullptr;
    std::byte* payloads = nullptr;
    uint64_t index_mask = 0;  // what lists name packets by
    uint64_t packets = 0;     // that there are
  };

  void make_hostcalls(uint64_t waves);
  void reset_hostcalls();
  void answer(Header& header, std::byte* payload);
  void answer_printf(uint64_t* slots);
  void answer_memory(uint64_t* slots);
  void write(const Message& message);
  void write_printf_buffer();
  void write_printf_records(uint32_t used);

  AddressSpace& memory_;
  std::mutex mutex_;
  Output output_;
  std::vector<std::string> formats_;
  std::string problem_;

  std::shared_ptr<GuestHeap> heap_;
  std::optional<MappedPages> printf_buffer_, hostcalls_;
  uint64_t hostcall_packets_ = 0;       // that there is room for in `hostcalls_`
  std::span<const std::byte> printed_;  // the printf buffer that the kernel has
  Calls hostcalls_in_use_;
  std::map<uint64_t, Message> messages_;
  uint64_t next_message_ = 0, message_bytes_ = 0;
  bool prints_ = false, calls_ = false, allocates_ = false;
};

}  // namespace lockstep::api

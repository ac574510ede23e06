#include "api/guest_services.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "api/device.h"
#include "api/printf_text.h"
#include "api/status.h"
#include "text/hex.h"

namespace lockstep::api {
namespace {

using loader::ValueKind;

constexpr uint64_t kPrintfBytes = 64 << 20;  // none but those that are used are there
constexpr uint64_t kPrintfHeader = 8;        // bytes used, bytes there are
constexpr uint64_t kSlack = 1 << 16;         // behind what records may take
constexpr uint64_t kMostMessages = 1 << 16, kMostMessageBytes = 64 << 20;
constexpr unsigned kLanes = 64, kSlots = 8;
// The device library's account takes 100,872 bytes; HIP gives it 128 KiB.
constexpr uint64_t kHeapStateBytes = 128 << 10;
constexpr uint64_t kHeapBytes = uint64_t{1} << 30;  // none but those that are used are there

// Of the device library's hostcalls (ROCm-Device-Libs, ockl).
enum Service : uint32_t { kFunctionCall = 1, kPrintf = 2, kMemory = 3 };
constexpr uint64_t kBegins = 1, kEnds = 2;
constexpr unsigned kLengthShift = 5, kIdShift = 8;
constexpr uint64_t kLengthMask = 7;

struct Signal {  // amd_signal_t
  int64_t kind;
  int64_t value;
  uint64_t event_mailbox;
  uint32_t event_id;
  uint32_t reserved[9];
};
// Buffer, signal and mailbox share the first page.
constexpr uint64_t kSignalOffset = 256, kMailboxOffset = 512, kHeadersOffset = 4096;
constexpr uint64_t kPayloadBytes = kLanes * kSlots * sizeof(uint64_t);

bool has(const loader::KernelMetadata& kernel, ValueKind kind) {
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [kind](const loader::Argument& a) { return a.kind == kind; });
}

// "ID:COUNT:SIZE...:FORMAT" of amdhsa.printf.
struct Format {
  uint64_t id = 0;
  std::vector<uint32_t> sizes;
  std::string_view text;
};

std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto size = static_cast<size_t>(end - text.data());
  if (problem != std::errc() || size >= text.size() || text[size] != ':') return std::nullopt;
  text.remove_prefix(size + 1);
  return value;
}

std::optional<Format> parse_format(std::string_view text) {
  Format format;
  const std::optional<uint64_t> id = take_number(text), count = take_number(text);
  if (!id || !count) return std::nullopt;
  format.id = *id;
  for (uint64_t i = 0; i < *count; ++i) {
    const std::optional<uint64_t> size = take_number(text);
    if (!size || *size > kPrintfBytes) return std::nullopt;
    format.sizes.push_back(static_cast<uint32_t>(*size));
  }
  format.text = text;
  return format;
}

// LLVM writes control characters as it would in C.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    constexpr std::string_view kLetters = "abfnrtv\\\"", kMeanings = "\a\b\f\n\r\t\v\\\"";
    const size_t at = kLetters.find(text[++i]);
    if (at != std::string_view::npos) {
      out += kMeanings[at];
      continue;
    }
    unsigned code = 0, digits = 0;
    for (; digits < 3 && i + digits < text.size() && text[i + digits] >= '0' && text[i + digits] <= '7';
         ++digits)
      code = code * 8 + static_cast<unsigned>(text[i + digits] - '0');
    if (digits == 0) {
      out += '\\';
      out += text[i];
    } else {
      out += static_cast<char>(code);
      i += digits - 1;
    }
  }
  return out;
}

}  // namespace

struct GuestServices::Buffer {
  uint64_t headers, payloads, doorbell, free_stack, ready_stack, index_mask;
};

struct GuestServices::Header {
  uint64_t next, active_lanes;
  uint32_t service, control;
};

uint64_t GuestHeap::account() {
  const std::lock_guard lock(mutex_);
  if (!account_)
    account_.emplace(memory_, make_pages(kHeapStateBytes), kReadWrite, "state of the device heap");
  if (!pages_) {
    pages_.emplace(memory_, make_pages(kHeapBytes), kReadWrite, "the heap of malloc()");
    heap_ = DeviceHeap(pages_->address(), kHeapBytes);
  }
  return account_->address();
}

uint64_t GuestHeap::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return heap_.allocate(bytes);
}

bool GuestHeap::free(uint64_t address) {
  const std::lock_guard lock(mutex_);
  return heap_.free(address);
}

bool GuestServices::needed(const loader::KernelMetadata& kernel) {
  return has(kernel, ValueKind::hidden_printf_buffer) || has(kernel, ValueKind::hidden_hostcall_buffer) ||
         has(kernel, ValueKind::hidden_heap_v1);
}

void GuestServices::begin(const loader::KernelMetadata& kernel, const std::vector<std::string>& formats,
                          uint64_t waves, Output output, loader::HiddenValues& hidden) {
  output_ = std::move(output);
  problem_.clear();
  messages_.clear();
  message_bytes_ = 0;
  prints_ = has(kernel, ValueKind::hidden_printf_buffer) && !formats.empty();
  calls_ = has(kernel, ValueKind::hidden_hostcall_buffer);
  allocates_ = false;
  if (prints_) {
    formats_ = formats;
    if (!printf_buffer_)
      printf_buffer_.emplace(memory_, make_pages(kPrintfBytes + kSlack), kReadWrite, "printf buffer");
    const uint32_t header[2] = {0, kPrintfBytes};
    std::memcpy(printf_buffer_->data(), header, sizeof header);
    printed_ = {printf_buffer_->data(), kPrintfBytes};
    hidden.printf_buffer = printf_buffer_->address();
  }
  if (has(kernel, ValueKind::hidden_heap_v1)) {
    hidden.heap = heap_->account();
    allocates_ = true;
  }
  if (calls_) {
    make_hostcalls(waves);
    hidden.hostcall_buffer = hostcalls_->address();
  }
}

void GuestServices::adopt(const loader::KernelMetadata& kernel, const std::vector<std::string>& formats,
                          uint64_t arguments, const RangeSet& memory, Output output) {
  output_ = std::move(output);
  problem_.clear();
  messages_.clear();
  message_bytes_ = 0;
  prints_ = calls_ = allocates_ = false;
  const auto read = [&](uint64_t address, auto& value) {
    const bool there = memory.find(address, sizeof value, kRead);
    if (there) std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return there;
  };
  const auto has_all = [&](uint64_t address, uint64_t bytes) {
    return memory.find(address, bytes, kRead | kWrite) != nullptr;
  };
  for (const loader::Argument& argument : kernel.arguments) {
    uint64_t at = 0;
    if (argument.kind == ValueKind::hidden_printf_buffer && !formats.empty() &&
        read(arguments + argument.offset, at)) {
      uint32_t header[2] = {};  // as in begin()
      if (!read(at, header) || header[1] < kPrintfHeader || !has_all(at, header[1])) continue;
      formats_ = formats;
      printed_ = {reinterpret_cast<const std::byte*>(at), header[1]};
      prints_ = true;
    } else if (argument.kind == ValueKind::hidden_hostcall_buffer && read(arguments + argument.offset, at)) {
      Buffer buffer;
      constexpr uint64_t kMostPackets = 1 << 24;
      if (!read(at, buffer) || !has_all(at, sizeof buffer) || at % alignof(Buffer) != 0) continue;
      if (!std::has_single_bit(buffer.index_mask + 1) || buffer.index_mask >= kMostPackets ||
          buffer.headers % alignof(Header) != 0 || buffer.payloads % alignof(uint64_t) != 0)
        continue;
      // HIP has as many as its waves, and rounds up what indices may say only.
      uint64_t packets = 0;
      for (uint64_t step = buffer.index_mask + 1; step != 0; step /= 2)
        if (const uint64_t more = packets + step; more <= buffer.index_mask + 1 &&
                                                  has_all(buffer.headers, more * sizeof(Header)) &&
                                                  has_all(buffer.payloads, more * kPayloadBytes))
          packets = more;
      hostcalls_in_use_ = {reinterpret_cast<Buffer*>(at), reinterpret_cast<Header*>(buffer.headers),
                           reinterpret_cast<std::byte*>(buffer.payloads), buffer.index_mask, packets};
      calls_ = true;
    }
  }
}

std::vector<std::span<const std::byte>> GuestServices::buffers() const {
  std::vector<std::span<const std::byte>> all;
  if (prints_) all.push_back(printed_);
  if (const Calls& calls = hostcalls_in_use_; calls_) {
    all.push_back(std::as_bytes(std::span(calls.buffer, 1)));
    all.push_back(std::as_bytes(std::span(calls.headers, calls.packets)));
    all.push_back({calls.payloads, calls.packets * kPayloadBytes});
  }
  return all;
}

// A packet for each wave: one that finds none would take what is not there.
void GuestServices::make_hostcalls(uint64_t waves) {
  const uint64_t wanted = std::bit_ceil(std::clamp<uint64_t>(waves, 2, 1 << 20));
  const uint64_t there = hostcalls_ ? hostcall_packets_ : 0, packets = std::max(there, wanted);
  const uint64_t payloads = (kHeadersOffset + packets * sizeof(Header) + 4095) / 4096 * 4096;
  if (there < wanted) {
    hostcalls_.reset();
    hostcalls_.emplace(memory_, make_pages(payloads + packets * kPayloadBytes), kReadWrite,
                       "hostcall buffer");
    hostcall_packets_ = packets;
  }
  hostcalls_in_use_ = {reinterpret_cast<Buffer*>(hostcalls_->data()),
                       reinterpret_cast<Header*>(hostcalls_->data() + kHeadersOffset),
                       hostcalls_->data() + payloads, packets - 1, packets};
  reset_hostcalls();
}

// Packets are named by their index, with a tag above it that changes with each use; 0 ends a list.
void GuestServices::reset_hostcalls() {
  const auto& [to, headers, payloads, index_mask, packets] = hostcalls_in_use_;
  const uint64_t base = hostcalls_->address();
  for (uint64_t i = 0; i < packets; ++i) headers[i] = {i == 0 ? 0 : packets + i - 1, 0, 0, 0};
  const Signal signal{1, 0, base + kMailboxOffset, kRequest, {}};
  std::memcpy(hostcalls_->data() + kSignalOffset, &signal, sizeof signal);
  *to = {base + kHeadersOffset,
         reinterpret_cast<uint64_t>(payloads),
         base + kSignalOffset,
         packets + packets - 1,
         0,
         index_mask};
}

void GuestServices::on_interrupt(const Wave&, uint32_t) {
  if (!calls_) return;
  const std::lock_guard lock(mutex_);
  const auto& [buffer, headers, payloads, index_mask, packets] = hostcalls_in_use_;
  uint64_t at = std::atomic_ref(buffer->ready_stack).exchange(0, std::memory_order_acquire);
  // The newest is first. Guests write these lists: there are no more than packets, and none elsewhere.
  std::vector<uint64_t> ready;
  while (at != 0 && ready.size() < packets) {
    const uint64_t index = at & index_mask;
    if (index >= packets) break;
    ready.push_back(index);
    at = headers[index].next;
  }
  for (auto packet = ready.rbegin(); packet != ready.rend(); ++packet) {
    Header& header = headers[*packet];
    try {
      answer(header, payloads + *packet * kPayloadBytes);
    } catch (const std::exception& e) {
      problem_ = e.what();
    }
    std::atomic_ref(header.control).fetch_and(~1u, std::memory_order_release);
  }
}

void GuestServices::answer(Header& header, std::byte* payload) {
  for (uint64_t lanes = header.active_lanes; lanes != 0; lanes &= lanes - 1) {
    auto* slots = reinterpret_cast<uint64_t*>(payload) + std::countr_zero(lanes) * kSlots;
    if (header.service == kPrintf) {
      answer_printf(slots);
    } else if (header.service == kMemory) {
      answer_memory(slots);
    } else {
      problem_ = "the kernel asks the host for service " + std::to_string(header.service) +
                 (header.service == kFunctionCall ? " (call a function of the host), which no guest gets"
                                                  : ", which does not exist");
      slots[0] = slots[1] = 0;
    }
  }
}

// Texts come in pieces; the answer to the first is their number.
void GuestServices::answer_printf(uint64_t* slots) {
  const uint64_t descriptor = slots[0];
  uint64_t id = descriptor >> kIdShift;
  if (descriptor & kBegins) {
    if (messages_.size() >= kMostMessages) messages_.erase(messages_.begin());
    id = ++next_message_ & (UINT64_MAX >> kIdShift);
    messages_[id];
  }
  const auto found = messages_.find(id);
  if (found == messages_.end()) return;
  Message& message = found->second;
  const uint64_t count = descriptor >> kLengthShift & kLengthMask;
  if (message_bytes_ + count * 8 <= kMostMessageBytes) {
    const auto* bytes = reinterpret_cast<const std::byte*>(slots + 1);
    message.bytes.insert(message.bytes.end(), bytes, bytes + count * 8);
    message_bytes_ += count * 8;
  }
  if (descriptor & kEnds) {
    write(message);
    message_bytes_ -= message.bytes.size();
    messages_.erase(found);
    slots[0] = 0;  // what printf returns: there was no error
    return;
  }
  slots[0] = (descriptor & ~(kBegins | UINT64_MAX << kIdShift)) | id << kIdShift;
}

// An address to be freed, or 0; the bytes to be allocated. malloc() returns null where the answer is 0.
void GuestServices::answer_memory(uint64_t* slots) {
  const uint64_t address = slots[0], bytes = slots[1];
  slots[0] = slots[1] = 0;
  if (!allocates_) {
    problem_ =
        "the kernel asks for memory but has no hidden argument for a heap: compile it as code object version "
        "5";
  } else if (address != 0) {
    if (!heap_->free(address))
      problem_ = "the kernel frees " + hex(address) + ", which malloc() did not give it";
  } else {
    slots[0] = heap_->allocate(bytes);
  }
}

void GuestServices::write(const Message& message) {
  if (message.bytes.size() < 8) return;
  uint64_t control;
  std::memcpy(&control, message.bytes.data(), sizeof control);
  QwordArguments arguments(std::span(message.bytes).subspan(8));
  const std::string format = arguments.string();
  output_(printf_text(format, arguments), control & 1 ? 2 : 1);
}

std::string GuestServices::end() {
  if (prints_) write_printf_buffer();
  prints_ = calls_ = false;
  output_ = {};
  return std::exchange(problem_, {});
}

void GuestServices::write_printf_buffer() {
  uint32_t used;
  std::memcpy(&used, printed_.data(), sizeof used);
  write_printf_records(used);
  if (used > printed_.size() - kPrintfHeader)
    output_("lockstep: the kernel printed more than its buffer of " + std::to_string(printed_.size()) +
                " bytes holds; the rest is lost (print less in one dispatch)\n",
            2);
}

void GuestServices::write_printf_records(uint32_t used) {
  std::span<const std::byte> rest =
      printed_.subspan(kPrintfHeader, std::min<uint64_t>(used, printed_.size() - kPrintfHeader));
  std::map<uint64_t, Format> formats;
  std::map<uint64_t, std::string_view> hashed;
  for (const std::string& text : formats_) {
    const std::optional<Format> format = parse_format(text);
    if (!format) continue;
    formats[format->id] = *format;
    // "0:0:HASH,FORMAT" of HIP's buffered printf.
    const size_t comma = format->text.find(',');
    uint64_t hash = 0;
    const char* begin = format->text.data();
    if (format->id == 0 && comma != std::string_view::npos &&
        std::from_chars(begin, begin + comma, hash, 16).ptr == begin + comma)
      hashed[hash] = format->text.substr(comma + 1);
  }
  const bool buffered_hip = !hashed.empty();
  while (rest.size() >= 4) {
    uint32_t word;
    std::memcpy(&word, rest.data(), sizeof word);
    if (buffered_hip) {
      // Size, and whether the format stands there or its hash; then 8 bytes for each argument.
      const uint64_t size = word >> 2;
      if (size < 4 || size > rest.size()) return;
      QwordArguments arguments(rest.subspan(4, size - 4));
      std::string format;
      if (word & 2) {
        const auto found = hashed.find(arguments.integer());
        if (found != hashed.end()) format = unescaped(found->second);
      } else {
        format = arguments.string();
      }
      output_(printf_text(format, arguments), word & 1 ? 2 : 1);
      rest = rest.subspan(size);
      continue;
    }
    const auto format = formats.find(word);
    if (format == formats.end()) return;
    uint64_t size = 4;
    for (const uint32_t bytes : format->second.sizes) size += bytes;
    if (size > rest.size()) return;
    SizedArguments arguments(format->second.sizes, rest.subspan(4, size - 4));
    output_(printf_text(unescaped(format->second.text), arguments), 1);
    rest = rest.subspan(size);
  }
}

}  // namespace lockstep::api

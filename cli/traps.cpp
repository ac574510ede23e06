#include "cli/traps.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/buffers.h"
#include "cli/common.h"

namespace lockstep::cli {

namespace {

// In the order of their bits (guide 3.4.9).
constexpr const char* kExceptions[] = {
    "invalid",   "input-denormal", "divide-by-zero",         "overflow",
    "underflow", "inexact",        "integer-divide-by-zero", "address-watch"};

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// What stands before the mark and, if it is there, behind it.
std::pair<std::string_view, std::optional<std::string_view>> split(std::string_view text, char mark) {
  const size_t at = text.rfind(mark);
  if (at == text.npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

lockstep_trap_request host_trap(const std::string& text) {
  const auto [at, name] = split(text, ':');
  const std::optional<uint64_t> instructions = whole_number(at), id = name ? whole_number(*name) : 0;
  if (!instructions || !id || *id > 255)
    throw UsageError(
        "--host-trap {}: give INSTRUCTIONS or INSTRUCTIONS:ID with an id of 0 to 255, such as 100:7", text);
  return {*instructions, 0, static_cast<uint32_t>(*id)};
}

lockstep_address_watch watch(const std::string& text, const Buffers& buffers) {
  const auto wrong = [&](const char* what) {
    return UsageError(
        "--watch {}: {}; give ARGUMENT[+OFFSET][,BYTES] or 0xADDRESS,BYTES and, if wanted, :read or :write "
        "behind",
        text, what);
  };
  lockstep_address_watch result{0, 0, LOCKSTEP_READ_WRITE};
  const auto [place, access] = split(text, ':');
  if (access == "read") {
    result.access = LOCKSTEP_READ;
  } else if (access == "write") {
    result.access = LOCKSTEP_WRITE;
  } else if (access) {
    throw wrong("the access is neither read nor write");
  }
  const auto [where, length] = split(place, ',');
  const std::optional<uint64_t> bytes = length ? whole_number(*length) : std::nullopt;
  if (length && (!bytes || *bytes == 0)) throw wrong("the number of bytes is none");
  if (where.starts_with("0x")) {
    const std::optional<uint64_t> address = whole_number(where);
    if (!address) throw wrong("the address is no number");
    if (!bytes) throw wrong("an address needs a number of bytes");
    result.address = *address;
    result.bytes = *bytes;
    return result;
  }
  const auto [name, behind] = split(where, '+');
  const std::optional<uint64_t> offset = behind ? whole_number(*behind) : 0;
  if (!offset) throw wrong("the offset is no number");
  const auto buffer = buffers.find(name).bytes();
  if (*offset >= buffer.size() || (bytes && *bytes > buffer.size() - *offset))
    throw wrong(fmt::format("the buffer has only {} bytes", buffer.size()).c_str());
  result.address = reinterpret_cast<uint64_t>(buffer.data()) + *offset;
  result.bytes = bytes.value_or(buffer.size() - *offset);
  return result;
}

}  // namespace

void add_trap_options(CLI::App& command, MachineOptions& options, const char* group) {
  command
      .add_flag("--exceptions", options.exceptions,
                "report which exceptions (TRAPSTS: inexact, divide by zero, ...) occurred, and where first")
      ->group(group);
  auto* handler = command.add_option("--trap-handler", options.trap_handler,
                                     "source or code object whose first kernel waves enter when they trap");
  handler->check(CLI::ExistingFile)->group(group);
  command
      .add_option("--trap-memory", options.trap_memory,
                  "buffer argument whose address the trap handler gets as TMA")
      ->needs(handler)
      ->group(group);
  command
      .add_option("--trap-on", options.trap_on,
                  "enter the trap handler at a wave's start, at its end, after each instruction")
      ->delimiter(',')
      ->check(CLI::IsMember({"start", "end", "instruction"}))
      ->needs(handler)
      ->group(group);
  command
      .add_option("--trap-exceptions", options.trap_exceptions,
                  "exceptions that trap from the start (MODE.EXCP_EN)")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kExceptions), std::end(kExceptions))))
      ->needs(handler)
      ->group(group);
  command
      .add_option(
          "--watch", options.watches,
          "report accesses to ARGUMENT[+OFFSET][,BYTES] or 0xADDRESS,BYTES, with :read or :write only those; "
          "up to four times")
      ->group(group);
  command
      .add_option("--host-trap", options.host_traps,
                  "the host traps each wave when it has executed so many instructions: COUNT or COUNT:ID")
      ->needs(handler)
      ->group(group);
  command
      .add_option("--save-context", options.context_saves,
                  "the host asks each wave then to save its context (TRAPSTS.SAVECTX)")
      ->needs(handler)
      ->group(group);
  command
      .add_flag("--skip-traps", options.skip_traps,
                "s_trap does nothing where there is no trap handler, instead of ending the dispatch")
      ->group(group);
}

Traps::Traps(const MachineOptions& options, const Buffers& buffers, lockstep_dispatch_options& dispatch) {
  lockstep_trap_options_init(&options_);
  options_.on_wave_start = contains(options.trap_on, "start");
  options_.on_wave_end = contains(options.trap_on, "end");
  options_.after_instruction = contains(options.trap_on, "instruction");
  for (unsigned bit = 0; bit < std::size(kExceptions); ++bit)
    if (contains(options.trap_exceptions, kExceptions[bit])) options_.exception_enable |= 1u << bit;
  options_.skip_without_handler = options.skip_traps;
  if (options.watches.size() > std::size(options_.watches))
    throw UsageError("--watch is given {} times, the hardware has {} address watches", options.watches.size(),
                     std::size(options_.watches));
  for (size_t i = 0; i < options.watches.size(); ++i)
    options_.watches[i] = watch(options.watches[i], buffers);
  // That is where they are reported.
  if (!options.watches.empty()) dispatch.exceptions = 1;
  for (const std::string& text : options.host_traps) requests_.push_back(host_trap(text));
  for (const uint64_t instructions : options.context_saves) requests_.push_back({instructions, 1, 0});
  options_.requests = requests_.data();
  options_.request_count = static_cast<uint32_t>(requests_.size());
  dispatch.traps = &options_;
}

}  // namespace lockstep::cli

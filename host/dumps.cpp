#include "host/dumps.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "engine/code_range.h"
#include "loader/code_object.h"
#include "machine/scratch_ring.h"
#include "memory/address_space.h"

namespace lockstep::host {

namespace {

// What buffers.cpp calls the pages that no kernel's result is in.
bool is_of_devices(const std::string& name) {
  return name == "doorbells" || name == "registers";
}

dump::Dispatch description(const std::string& device, const machine::Launch& launch,
                           const LoadedObject* code) {
  dump::Dispatch dispatch;
  dispatch.device = device;
  dispatch.launch = launch;
  dispatch.launch.memory.reset();
  dispatch.launch.scratch.reset();
  dispatch.launch.placement.reset();
  dispatch.launch.device.reset();
  dispatch.launch.messages = nullptr;
  const loader::Kernel* const kernel = code ? code->kernel_at(launch.entry) : nullptr;
  if (kernel) {
    dispatch.kernel = kernel->name;
    dispatch.bias = code->bias;
  }
  uint64_t scratch_begin = 0, scratch_end = 0;
  if (const machine::ScratchRing* const ring = launch.scratch.get()) {
    const uint64_t of_engine = uint64_t{ring->wave_bytes()} * ring->waves_per_engine();
    dispatch.scratch = {ring->base(), ring->wave_bytes(),
                        static_cast<uint32_t>(of_engine ? ring->bytes() / of_engine : 0),
                        ring->waves_per_engine()};
    scratch_begin = ring->base();
    scratch_end = ring->base() + ring->bytes();
  }
  // Waves may go wherever there is code, and look it up as they do; where nothing changes, what there is is
  // told.
  const bool is_live = launch.memory->version() != 0;
  if (is_live) dispatch.launch.code.clear();
  for (const Range& range : launch.memory->ranges()) {
    if (const CodeRange code_there = code_of(range); is_live && code_there != CodeRange{})
      dispatch.launch.code.push_back(code_there);
    const bool is_scratch = range.begin < scratch_end && scratch_begin < range.end;
    dispatch.ranges.push_back(
        {range.begin, range.end, range.access, range.name, !is_scratch && !is_of_devices(range.name)});
  }
  return dispatch;
}

}  // namespace

DumpSettings dump_settings(std::string_view text) {
  DumpSettings settings;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && end == word.data() + word.size())
      settings.numbers.insert(number);
    else if (!word.empty())
      settings.names.emplace_back(word);
  }
  return settings;
}

bool Dumps::is_wanted(uint64_t number, const std::string& kernel) {
  if (settings_.numbers.contains(number)) return true;
  std::lock_guard lock(mutex_);
  bool wanted = false;
  for (const std::string& name : settings_.names)
    if (kernel.find(name) != std::string::npos) wanted |= found_.insert(name).second;
  return wanted;
}

std::unique_ptr<dump::Writer> Dumps::begins(uint64_t number, const std::string& device,
                                            const std::string& kernel, const machine::Launch& launch,
                                            const LoadedObject* code) {
  if (!launch.memory || !is_wanted(number, kernel)) return nullptr;
  const std::string path =
      settings_.folder + "/dispatch-" + std::to_string(getpid()) + "-" + std::to_string(number) + ".dump";
  auto writer =
      std::make_unique<dump::Writer>(path, description(device, launch, code),
                                     code ? code->object.bytes() : std::span<const std::byte>(), store_);
  std::fprintf(stderr, "lockstep: dispatch %llu, %s, is in %s\n", static_cast<unsigned long long>(number),
               kernel.c_str(), path.c_str());
  return writer;
}

}  // namespace lockstep::host

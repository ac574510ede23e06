// Finds accesses to memory that are not what the kernel was given, though the machine lets them pass: bytes
// behind a buffer, what a buffer resource or LDS drops, LDS beyond what was asked for. Of accesses that fault
// it says which buffer was near, or that it was freed.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/findings.h"
#include "engine/listener.h"
#include "memory/address_space.h"
#include "observe/memory/blocks.h"

namespace lockstep::observe {

class MemoryChecker final : public Listener {
 public:
  // `freed`: what the host has taken back; the newest last. `blocks`: what ranges were divided into; null:
  // nobody knows. `findings` and `blocks` must outlive this.
  MemoryChecker(Findings& findings, std::vector<Range> freed, const Blocks* blocks = nullptr)
      : findings_(findings), freed_(std::move(freed)), blocks_(blocks) {}

  bool wants(const isa::Instruction& instruction) const override;
  bool wants_after(const isa::Instruction&) const override { return false; }
  void before(const Event& event) override;
  void faulted(const Event& event) override;
  void dispatch_begins(const DispatchEvent& event) override;
  void dispatch_ends(const DispatchEvent& event) override;
  void memory_unmapped(const Range& range) override;

 private:
  // The kinds of findings: one of each for an instruction, with all lanes that do it.
  enum class Kind : uint8_t {
    behind_range,
    behind_block,
    dropped_by_resource,
    dropped_by_lds,
    dropped_by_gds,
    beyond_asked,
    beyond_scratch,
    refused
  };

  bool is_bad(const Event& event, const MemoryAccess& access, Kind& kind) const;
  bool are_good(const Event& event, const AlikeAccesses& alike) const;
  static bool is_beyond_scratch(const Event& event, const MemoryAccess& access);
  bool is_behind_block(const MemoryAccess& access) const;
  void tell(const Event& event, Kind kind);
  // Where an access is, from what is near.
  std::string surroundings(const Event& event, const MemoryAccess& access, Kind kind) const;
  std::optional<std::string> place_in_blocks(uint64_t address) const;
  std::string place_in_ranges(const Event& event, const MemoryAccess& access) const;

  Findings& findings_;
  static constexpr size_t kMostFreed = 1024;

  mutable std::mutex mutex_;
  std::vector<Range> freed_;  // the newest last
  const Blocks* const blocks_;
  std::map<const DispatchState*, const RangeSet*> memories_;  // of the dispatches that run
};

}  // namespace lockstep::observe

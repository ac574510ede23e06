// The storage of one resident work-group: waves, VGPRs, LDS, scratch. Reused from group to group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "machine/launch.h"
#include "state/wave.h"
#include "state/work_group.h"

namespace lockstep::machine {

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};
using Storage = std::unique_ptr<std::byte, FreeDeleter>;

class GroupContext {
 public:
  explicit GroupContext(const Launch& launch);
  ~GroupContext();
  GroupContext(const GroupContext&) = delete;
  GroupContext& operator=(const GroupContext&) = delete;

  // Whether groups of that launch have the size of those that this was made for.
  bool fits(const Launch& launch) const;
  size_t bytes() const;  // of storage

  // Launches the waves of work-group `number` (x fastest). False if the code has no instruction at the entry.
  bool start(const Launch& launch, uint64_t number, Engine& engine);

  enum class Result { finished, unfinished, faulted };
  // Runs the waves in turn for about `budget` wave-instructions; adds what was executed to `executed`.
  Result run(Engine& engine, int64_t budget, uint64_t& executed);

  uint64_t number() const { return group_.number; }
  unsigned wave_count() const { return group_.wave_count; }
  const WorkGroup& group() const { return group_; }
  // The wave that faulted, after Result::faulted.
  const Wave& faulted_wave() const;

 private:
  void launch_wave(const Launch& launch, unsigned index, const uint32_t size[3], Wave& wave);

  WorkGroup group_;
  std::vector<Wave*> waves_;
  Storage wave_storage_, vgpr_storage_, lds_storage_, scratch_storage_;
  size_t scratch_bytes_per_wave_ = 0;
  unsigned wave_size_ = 0;
  std::shared_ptr<const RangeSet> memory_;  // that the waves' caches of ranges are about
};

}  // namespace lockstep::machine

// What a dump says of its dispatch, beside the contents of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/launch.h"

namespace lockstep::dump {

inline constexpr uint64_t kPageBytes = 4096;

// A ring of scratch memory (machine/scratch_ring.h), which is in one of the ranges.
struct Scratch {
  uint64_t base = 0;
  uint32_t wave_bytes = 0;
  uint32_t engines = 0, waves_per_engine = 0;
};

struct MemoryRange {
  uint64_t begin = 0, end = 0;
  uint8_t access = 0;  // lockstep::Access
  std::string name;
  // What is there afterwards is the dispatch's doing, and the same wherever it runs.
  bool compared = true;
};

struct Dispatch {
  std::string device;      // the model's name
  std::string kernel;      // as its code object has it; empty: not known
  uint64_t bias = 0;       // addresses as loaded less those of the code object
  machine::Launch launch;  // without memory, scratch, placement, device and messages
  std::optional<Scratch> scratch;
  std::vector<MemoryRange> ranges;  // sorted, not overlapping, all of their pages readable
};

// What became of it where it was dumped.
struct End {
  uint64_t waves = 0, wave_instructions = 0;
  bool cancelled = false;
  std::string fault;  // empty: there was none
};

// Adjoining and overlapping pages as one.
struct PageRun {
  uint64_t begin = 0, end = 0;
};
// Those that hold the ranges, which are sorted.
std::vector<PageRun> page_runs(const std::vector<MemoryRange>& ranges);

}  // namespace lockstep::dump

// The caches between the compute units and L2, as far as programs can tell that they are there (guide 1.2.3,
// 4.1.1): they keep what they have read until it is invalidated, so a value that somebody else has written
// since is not seen. Stores go through to L2, which all share, and atomics act there.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "state/wave.h"

namespace lockstep::precise {

// Where lines come from that a cache does not have.
class LineSource {
 public:
  // How a load passes a cache (guide 4.1.1, table of load policies).
  enum class Policy : uint8_t {
    hit,     // takes a line that is there, keeps one that it fetched
    stream,  // likewise, but L1 gives up a line that it was asked for
    miss,    // gives up the line that is there, and goes on to L2
  };
  // Puts what is at the address into `to`. Nothing outside `range` may be touched.
  virtual void read(uint64_t address, uint64_t bytes, const CachedRange& range, Policy policy,
                    std::byte* to) = 0;

 protected:
  ~LineSource() = default;
};

class LineCache final : public LineSource {
 public:
  LineCache(unsigned line_bytes, uint32_t bytes, LineSource& behind, bool gives_up_streams = false)
      : line_bytes_(line_bytes),
        capacity_(bytes / line_bytes),
        behind_(behind),
        gives_up_streams_(gives_up_streams) {}

  void read(uint64_t address, uint64_t bytes, const CachedRange& range, Policy policy,
            std::byte* to) override;
  // A store went through to memory: the bytes are renewed where there is a line for them.
  void refresh(uint64_t address, uint64_t bytes);
  // Gives up the lines of these bytes.
  void drop(uint64_t address, uint64_t bytes);
  void invalidate();

 private:
  static constexpr unsigned kWidestLine = 128;
  struct Line {
    std::byte data[kWidestLine];
    std::bitset<kWidestLine> valid;  // a line may reach beyond what is mapped
  };

  const unsigned line_bytes_, capacity_;
  LineSource& behind_;
  const bool gives_up_streams_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Line> lines_;  // by first address
};

// Where a wave is.
struct Place {
  unsigned array = 0, processor = 0, unit = 0;
};

// Of a device: its parts that have caches, and their sizes. By default Navi 31 (hardware/navi31.toml).
struct CacheLayout {
  unsigned shader_engines = 6, arrays_per_engine = 2, processors_per_array = 4;
  uint32_t l0_bytes = 32768, scalar_bytes = 16384, l1_bytes = 262144;
};

// All caches of the device, fresh as a dispatch begins. Safe from several threads.
class DeviceCaches {
 public:
  explicit DeviceCaches(const CacheLayout& layout = {});
  // Of a dispatch that no device has placed, work-groups go round the arrays, then round the processors of an
  // array; in CU mode all waves of a group are on one compute unit, in WGP mode on both of the processor
  // (guide 2.3).
  Place place_of(const Wave& wave, bool processor_mode) const;
  LineCache& vector(const Place& place);  // L0, one a compute unit
  LineCache& scalar(const Place& place);  // one a processor
  LineCache& array(const Place& place);   // L1

 private:
  static constexpr unsigned kUnits = 2;  // compute units of a processor
  size_t processor_of(const Place& place) const {
    return size_t{place.array} * layout_.processors_per_array + place.processor;
  }

  struct Memory final : LineSource {
    void read(uint64_t address, uint64_t bytes, const CachedRange& range, Policy policy,
              std::byte* to) override;
  };
  const CacheLayout layout_;
  Memory memory_;  // L2 and what is behind it
  std::vector<std::unique_ptr<LineCache>> vector_, scalar_, array_;
};

}  // namespace lockstep::precise

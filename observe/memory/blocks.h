// What a program's runtime has handed out of the memory that its driver has mapped for it: to the byte, where
// the driver knows pages.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <shared_mutex>

namespace lockstep::observe {

// Safe from several threads.
class Blocks {
 public:
  struct Block {
    uint64_t begin = 0, bytes = 0;
    uint64_t end() const { return begin + bytes; }
  };

  // Blocks whose pages it takes were freed without a word.
  void add(uint64_t begin, uint64_t bytes);
  void remove(uint64_t begin);
  // The block in whose pages the address lies, which may be behind its last byte.
  std::optional<Block> at(uint64_t address) const;
  // Likewise of those that have been freed.
  std::optional<Block> freed_at(uint64_t address) const;

 private:
  static constexpr size_t kMostFreed = 1024;
  static uint64_t end_of_pages(const Block& block);

  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Block> blocks_;  // by their begin
  std::deque<Block> freed_;           // the newest last
};

}  // namespace lockstep::observe

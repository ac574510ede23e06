// Registers of the device that any queue may set (UCONFIG, by dword number): all queues see the same.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace lockstep::command {

class UserConfig {
 public:
  // Whether it is one that this machine has. Of those that select, mask or point nothing follows here; what
  // would begin to count or to trace is refused when it is written.
  static bool has(uint32_t number);

  uint32_t read(uint32_t number) const;
  // Why not; empty if it was written.
  std::string write(uint32_t number, uint32_t value);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, uint32_t> values_;  // others are 0
};

}  // namespace lockstep::command

// What a submission by the render node becomes: packets of a ring, which call its indirect buffers and say
// when they have ended.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::host {

class Submission {
 public:
  enum class Engine : uint8_t { compute, copies };
  explicit Submission(Engine engine) : engine_(engine) {}

  // Goes on when the word has reached `value`.
  void wait_for(uint64_t word, uint32_t value);
  // Kernels may have been written anew where others were.
  void forget_code();
  void call(uint64_t address, uint32_t dwords);
  // In 64 bits, when all before it has ended.
  void tell(uint64_t word, uint32_t value);

  const std::vector<uint32_t>& packets() const { return packets_; }

 private:
  const Engine engine_;
  std::vector<uint32_t> packets_;
};

}  // namespace lockstep::host

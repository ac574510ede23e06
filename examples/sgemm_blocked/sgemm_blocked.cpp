#include "examples/examples.h"
#include "examples/matrix.h"

namespace lockstep::examples {

Example sgemm_blocked(unsigned) {
  constexpr uint32_t kM = 128, kN = 64, kK = 48;
  Random random(3);
  const auto a = random.vector(kM * kK, [](Random& r) { return r.real(-1, 1); });
  const auto b = random.vector(kK * kN, [](Random& r) { return r.real(-1, 1); });

  Example example{.name = "sgemm_blocked", .source = "sgemm_blocked/sgemm_blocked.cl"};
  const Argument buffer_a = example.add_buffer(a), buffer_b = example.add_buffer(b),
                 buffer_c = example.add_buffer(std::vector<float>(kM * kN));
  example.dispatches = {{.kernel = "sgemm_blocked",
                         .groups = {kN / 64, kM / 64, 1},
                         .group_size = {16, 16, 1},
                         .arguments = {buffer_a, buffer_b, buffer_c, scalar(kN), scalar(kK)}}};
  example.expect(buffer_c, multiply(a, b, kM, kN, kK));
  return example;
}

}  // namespace lockstep::examples

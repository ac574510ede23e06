#include "examples/examples.h"
#include "examples/matrix.h"

namespace lockstep::examples {

Example sgemm_tiled(unsigned) {
  constexpr uint32_t kM = 48, kN = 80, kK = 64;
  Random random(2);
  const auto a = random.vector(kM * kK, [](Random& r) { return r.real(-1, 1); });
  const auto b = random.vector(kK * kN, [](Random& r) { return r.real(-1, 1); });

  Example example{.name = "sgemm_tiled", .source = "sgemm_tiled/sgemm_tiled.cl"};
  const Argument buffer_a = example.add_buffer(a), buffer_b = example.add_buffer(b),
                 buffer_c = example.add_buffer(std::vector<float>(kM * kN));
  example.dispatches = {{.kernel = "sgemm_tiled",
                         .groups = {kN / 16, kM / 16, 1},
                         .group_size = {16, 16, 1},
                         .arguments = {buffer_a, buffer_b, buffer_c, scalar(kN), scalar(kK)}}};
  example.expect(buffer_c, multiply(a, b, kM, kN, kK));
  return example;
}

}  // namespace lockstep::examples

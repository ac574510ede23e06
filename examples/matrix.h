// Reference of the matrix multiplications.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace lockstep::examples {

// C = A * B, row-major; one fma a term in ascending k, as the kernels do it: equal to the bit.
inline std::vector<float> multiply(const std::vector<float>& a, const std::vector<float>& b, uint32_t m,
                                   uint32_t n, uint32_t k) {
  std::vector<float> c(m * n);
  for (uint32_t row = 0; row < m; ++row)
    for (uint32_t column = 0; column < n; ++column)
      for (uint32_t i = 0; i < k; ++i)
        c[row * n + column] = std::fma(a[row * k + i], b[i * n + column], c[row * n + column]);
  return c;
}

}  // namespace lockstep::examples

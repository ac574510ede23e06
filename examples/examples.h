// The examples; each is defined beside its device source. The wave size matters to those whose grid or result
// shows it.
#pragma once

#include "examples/example.h"

namespace lockstep::examples {

// clang-format off
#define LOCKSTEP_EXAMPLES(X)                                             \
  X(mandelbrot) X(saxpy) X(sgemm_tiled) X(sgemm_blocked) X(nbody)        \
  X(reduction) X(histogram) X(hash64) X(fft) X(bitonic_sort)             \
  X(scan_dpp) X(scan_subgroup) X(transpose) X(wmma_f16) X(wmma_iu8)      \
  X(recursion) X(stencil_hip) X(orbit_f64) X(fir_f16) X(black_scholes)   \
  X(math) X(synchronization) X(queens) X(dot_product) X(buffer_resource)
// clang-format on

#define LOCKSTEP_EXAMPLE(name) Example name(unsigned wave_size);
LOCKSTEP_EXAMPLES(LOCKSTEP_EXAMPLE)
#undef LOCKSTEP_EXAMPLE

}  // namespace lockstep::examples

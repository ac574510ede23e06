// Kepler orbits in double precision, fourth-order Runge-Kutta. Divisions and square roots are correctly rounded and
// contraction is off, so the host computes the same bits.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

// x, y: position; z, w: velocity.
double4 derivative(double4 state) {
  const double distance2 = state.x * state.x + state.y * state.y;
  const double distance3 = distance2 * sqrt(distance2);
  return (double4)(state.z, state.w, -state.x / distance3, -state.y / distance3);
}

__kernel void orbit_f64(__global double4* restrict states, double step, uint steps) {
  const size_t i = get_global_id(0);
  double4 state = states[i];
  for (uint n = 0; n < steps; ++n) {
    const double4 k1 = derivative(state);
    const double4 k2 = derivative(state + k1 * (0.5 * step));
    const double4 k3 = derivative(state + k2 * (0.5 * step));
    const double4 k4 = derivative(state + k3 * step);
    state += (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (step / 6.0);
  }
  states[i] = state;
}

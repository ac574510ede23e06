// y = a * x + y, one element a work-item. The fma is written out so that every optimisation level gives the same bits.
__kernel void saxpy(__global const float* restrict x, __global float* restrict y, float a, uint count) {
  const uint i = get_global_id(0);
  if (i < count) y[i] = fma(a, x[i], y[i]);
}

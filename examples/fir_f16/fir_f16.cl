// FIR filter in half precision: one kernel on scalars, one on packed pairs (v_pk_*_f16). Each rounds after each step in
// the same order, so both give the same bits as the host.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF
#define TAPS 8

__kernel void fir_f16(__global const half* restrict input, __global const half* restrict taps,
                      __global half* restrict output, float gain) {
  const uint i = get_global_id(0);
  half sum = 0.0h;
  for (uint t = 0; t < TAPS; ++t) sum = fma(taps[t], input[i + t], sum);
  const half scaled = sum * (half)gain;
  output[i] = fmin(fmax(scaled, -1.0h), 1.0h) + (half)0.5f;
}

__kernel void fir_f16_packed(__global const half2* restrict input, __global const half* restrict taps,
                             __global half2* restrict output, float gain) {
  const uint i = get_global_id(0);
  half2 sum = (half2)(0.0h);
  for (uint t = 0; t < TAPS; t += 2) {
    const half2 even = input[i + t / 2], next = input[i + t / 2 + 1];
    sum = fma((half2)(taps[t]), even, sum);
    sum = fma((half2)(taps[t + 1]), (half2)(even.y, next.x), sum);
  }
  const half2 scaled = sum * (half2)((half)gain);
  output[i] = fmin(fmax(scaled, (half2)(-1.0h)), (half2)(1.0h)) + (half2)((half)0.5f);
}

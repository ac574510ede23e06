// 1024-point complex FFT a work-group: radix-2 Stockham in LDS (no bit reversal), two buffers taking turns.
#define POINTS 1024
#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void fft(__global const float2* restrict input, __global float2* restrict output) {
  __local float2 buffer[2][POINTS];
  const uint item = get_local_id(0);
  const size_t base = get_group_id(0) * (size_t)POINTS;
  for (uint i = item; i < POINTS; i += GROUP) buffer[0][i] = input[base + i];
  uint from = 0;
  for (uint span = 1; span < POINTS; span *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = item; j < POINTS / 2; j += GROUP) {
      const uint k = j & (span - 1);
      const float turn = -(float)k / (float)span;  // in units of pi; exact, span is a power of two
      const float c = cospi(turn), s = sinpi(turn);
      const float2 even = buffer[from][j], odd = buffer[from][j + POINTS / 2];
      const float2 twisted = (float2)(fma(odd.x, c, -(odd.y * s)), fma(odd.x, s, odd.y * c));
      const uint to = 2 * j - k;
      buffer[from ^ 1][to] = even + twisted;
      buffer[from ^ 1][to + span] = even - twisted;
    }
    from ^= 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < POINTS; i += GROUP) output[base + i] = buffer[from][i];
}

// A chain of 64-bit multiplications, shifts and rotates (the finaliser of SplitMix64), bit counts folded in.
__kernel void hash64(__global ulong* restrict out, ulong seed, uint rounds) {
  const uint i = get_global_id(0);
  ulong x = seed + (ulong)i * 0x9E3779B97F4A7C15UL;
  ulong sum = 0;
  for (uint round = 0; round < rounds; ++round) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9UL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBUL;
    x ^= x >> 31;
    sum = rotate(sum, 7UL) ^ (x + round);
    sum += (ulong)popcount((uint)x) << (x & 15);
    sum ^= clz(x) + mul_hi(x, sum);
  }
  out[i] = sum;
}

// The kernels of the benchmarks, one OpenCL C source for every engine and for PoCL.
#pragma once

namespace lockstep::bench {

inline constexpr const char* kKernels = R"(
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define GROUP(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))

__kernel GROUP(256, 1, 1)
void saxpy(__global const float* restrict x, __global float* restrict y, float a, uint n) {
  uint i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}

__kernel void triad(__global float* restrict a, __global const float* restrict b, __global const float* restrict c,
                    float s) {
  uint i = get_global_id(0);
  a[i] = b[i] + s * c[i];
}

__kernel GROUP(32, 8, 1)
void mandelbrot(__global uint* out, uint w, uint h, float x0, float y0, float dx, float dy, uint limit) {
  uint px = get_global_id(0), py = get_global_id(1);
  if (px >= w || py >= h) return;
  float cx = x0 + dx * (float)px, cy = y0 + dy * (float)py, zx = 0.0f, zy = 0.0f;
  uint n = 0;
  while (n < limit) {
    float zx2 = zx * zx, zy2 = zy * zy;
    if (zx2 + zy2 > 4.0f) break;
    zy = 2.0f * zx * zy + cy;
    zx = zx2 - zy2 + cx;
    ++n;
  }
  out[py * w + px] = n;
}

#define T 16
__kernel GROUP(T, T, 1)
void sgemm(__global const float* restrict a, __global const float* restrict b, __global float* restrict c, uint n,
           uint k) {
  __local float ta[T][T], tb[T][T];
  uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (uint t = 0; t < k; t += T) {
    ta[y][x] = a[row * k + t + x];
    tb[y][x] = b[(t + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < T; ++i) sum += ta[y][i] * tb[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

// A tile of 64 x 64 for each group, 4 x 4 of it for each work-item.
__kernel GROUP(16, 16, 1)
void sgemm_blocked(__global const float* restrict a, __global const float* restrict b, __global float* restrict c,
                   uint n, uint k) {
  __local float ta[16][64], tb[16][64];
  uint x = get_local_id(0), y = get_local_id(1), item = y * 16 + x;
  uint row = get_group_id(1) * 64, column = get_group_id(0) * 64;
  float sums[4][4] = {};
  for (uint t = 0; t < k; t += 16) {
    for (uint e = item; e < 1024; e += 256) {
      ta[e & 15][e >> 4] = a[(row + (e >> 4)) * k + t + (e & 15)];
      tb[e >> 6][e & 63] = b[(t + (e >> 6)) * n + column + (e & 63)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < 16; ++i)
      for (uint p = 0; p < 4; ++p)
        for (uint q = 0; q < 4; ++q) sums[p][q] += ta[i][y * 4 + p] * tb[i][x * 4 + q];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint p = 0; p < 4; ++p)
    for (uint q = 0; q < 4; ++q) c[(row + y * 4 + p) * n + column + x * 4 + q] = sums[p][q];
}

__kernel GROUP(256, 1, 1)
void nbody(__global const float4* restrict bodies, __global float4* restrict forces, uint n, float softening) {
  uint i = get_global_id(0);
  float4 p = bodies[i];
  float x = 0.0f, y = 0.0f, z = 0.0f;
  for (uint j = 0; j < n; ++j) {
    float4 q = bodies[j];
    float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
    float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
    float s = q.w * inverse * inverse * inverse;
    x += s * dx;
    y += s * dy;
    z += s * dz;
  }
  forces[i] = (float4)(x, y, z, 0.0f);
}

__kernel GROUP(256, 1, 1)
void histogram(__global const uint* restrict data, __global uint* restrict counts, uint each) {
  __local uint bins[256];
  uint l = get_local_id(0), first = get_group_id(0) * 256 * each + l;
  bins[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 0; k < each; ++k) atomic_inc(&bins[data[first + k * 256] >> 8 & 255]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&counts[l], bins[l]);
}

__kernel GROUP(256, 1, 1)
void hash64(__global ulong* restrict out, ulong seed, uint rounds) {
  uint i = get_global_id(0);
  ulong x = seed + (ulong)i * 0x9E3779B97F4A7C15UL, sum = 0;
  for (uint k = 0; k < rounds; ++k) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9UL;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBUL;
    x ^= x >> 31;
    sum = rotate(sum, 7UL) ^ (x + k);
    sum += (ulong)popcount((uint)x) << (x & 15);
  }
  out[i] = sum;
}

// 512 complex values for each group, nine passes through LDS.
__kernel GROUP(256, 1, 1)
void fft(__global const float2* restrict in, __global float2* restrict out, __global const float2* restrict roots) {
  __local float2 values[2][512];
  uint l = get_local_id(0), from = 0;
  values[0][l] = in[get_group_id(0) * 512 + l];
  values[0][l + 256] = in[get_group_id(0) * 512 + l + 256];
  for (uint half_size = 1; half_size < 512; half_size *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    uint k = l & (half_size - 1), to = 2 * l - k;
    float2 w = roots[k * (256 / half_size)], a = values[from][l], b = values[from][l + 256];
    float2 product = (float2)(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
    from ^= 1;
    values[from][to] = a + product;
    values[from][to + half_size] = a - product;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_group_id(0) * 512 + l] = values[from][l];
  out[get_group_id(0) * 512 + l + 256] = values[from][l + 256];
}

__kernel GROUP(256, 1, 1)
void bitonic_sort(__global uint* restrict data) {
  __local uint keys[512];
  uint l = get_local_id(0), first = get_group_id(0) * 512;
  keys[l] = data[first + l];
  keys[l + 256] = data[first + l + 256];
  for (uint size = 2; size <= 512; size *= 2) {
    for (uint stride = size / 2; stride > 0; stride /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      uint i = 2 * l - (l & (stride - 1));
      uint a = keys[i], b = keys[i + stride];
      if ((a > b) == ((i & size) == 0 || size == 512)) {
        keys[i] = b;
        keys[i + stride] = a;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  data[first + l] = keys[l];
  data[first + l + 256] = keys[l + 256];
}

__kernel GROUP(256, 1, 1)
void scan(__global const uint* restrict in, __global uint* restrict out) {
  __local uint sums[2][256];
  uint l = get_local_id(0), from = 0;
  sums[0][l] = in[get_global_id(0)];
  for (uint distance = 1; distance < 256; distance *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    uint value = sums[from][l];
    if (l >= distance) value += sums[from][l - distance];
    from ^= 1;
    sums[from][l] = value;
  }
  out[get_global_id(0)] = sums[from][l];
}

__kernel GROUP(256, 1, 1)
void reduction(__global const float* restrict in, __global float* restrict out, uint each) {
  __local float sums[256];
  uint l = get_local_id(0);
  float sum = 0.0f;
  for (uint k = 0; k < each; ++k) sum += in[(get_group_id(0) * each + k) * 256 + l];
  sums[l] = sum;
  for (uint width = 128; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < width) sums[l] += sums[l + width];
  }
  if (l == 0) out[get_group_id(0)] = sums[0];
}

__kernel GROUP(16, 16, 1)
void transpose(__global const float* restrict in, __global float* restrict out, uint n) {
  __local float tile[16][17];
  uint x = get_local_id(0), y = get_local_id(1), bx = get_group_id(0) * 16, by = get_group_id(1) * 16;
  tile[y][x] = in[(by + y) * n + bx + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(bx + y) * n + by + x] = tile[x][y];
}

__kernel GROUP(32, 4, 2)
void stencil(__global const float* restrict in, __global float* restrict out, uint w, uint h, uint d) {
  uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x == 0 || y == 0 || z == 0 || x >= w - 1 || y >= h - 1 || z >= d - 1) return;
  uint i = (z * h + y) * w + x;
  out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w] + in[i - w * h] + in[i + w * h]);
}

__kernel GROUP(64, 1, 1)
void spmv(__global const uint* restrict rows, __global const uint* restrict columns,
          __global const float* restrict values, __global const float* restrict x, __global float* restrict y) {
  uint row = get_global_id(0);
  float sum = 0.0f;
  for (uint i = rows[row]; i < rows[row + 1]; ++i) sum += values[i] * x[columns[i]];
  y[row] = sum;
}

// A row for each work-item, as PolyBench has it.
__kernel GROUP(256, 1, 1)
void matrix_vector(__global const float* restrict a, __global const float* restrict x, __global float* restrict y,
                   uint n) {
  uint row = get_global_id(0);
  float sum = 0.0f;
  for (uint i = 0; i < n; ++i) sum += a[row * n + i] * x[i];
  y[row] = sum;
}

// Vertices with an edge to those of the last step.
__kernel GROUP(256, 1, 1)
void search(__global const uint* restrict first_edges, __global const uint* restrict edges, __global uint* levels,
            __global uint* counts, uint level) {
  uint v = get_global_id(0);
  if (levels[v] != level) return;
  for (uint e = first_edges[v]; e < first_edges[v + 1]; ++e) {
    if (levels[edges[e]] > level + 1) levels[edges[e]] = level + 1;
    atomic_inc(&counts[edges[e] & 1023]);
  }
}

float cumulative(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
  float sum = k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float value = 0.39894228040f * exp(-0.5f * d * d) * sum;
  return d > 0.0f ? 1.0f - value : value;
}
__kernel GROUP(256, 1, 1)
void black_scholes(__global const float* restrict prices, __global float* restrict calls, __global float* restrict puts,
                   float rate, float volatility) {
  uint i = get_global_id(0);
  float s = 10.0f + 90.0f * (prices[3 * i] + 0.5f), x = 10.0f + 90.0f * (prices[3 * i + 1] + 0.5f),
        t = 0.25f + 9.75f * (prices[3 * i + 2] + 0.5f), root = sqrt(t);
  float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  float d2 = d1 - volatility * root, discount = x * exp(-rate * t);
  calls[i] = s * cumulative(d1) - discount * cumulative(d2);
  puts[i] = discount * (1.0f - cumulative(d2)) - s * (1.0f - cumulative(d1));
}

// Ten rounds over a table of 256 words in LDS, in the manner of AES.
__kernel GROUP(256, 1, 1)
void aes(__global const uint4* restrict in, __global uint4* restrict out, __global const uint* restrict table,
         __global const uint* restrict keys) {
  __local uint t[256];
  uint l = get_local_id(0);
  t[l] = table[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  uint4 s = in[get_global_id(0)];
  for (uint round = 0; round < 10; ++round) {
    uint4 n;
    n.x = t[s.x & 255] ^ rotate(t[s.y >> 8 & 255], 8u) ^ rotate(t[s.z >> 16 & 255], 16u) ^ rotate(t[s.w >> 24], 24u);
    n.y = t[s.y & 255] ^ rotate(t[s.z >> 8 & 255], 8u) ^ rotate(t[s.w >> 16 & 255], 16u) ^ rotate(t[s.x >> 24], 24u);
    n.z = t[s.z & 255] ^ rotate(t[s.w >> 8 & 255], 8u) ^ rotate(t[s.x >> 16 & 255], 16u) ^ rotate(t[s.y >> 24], 24u);
    n.w = t[s.w & 255] ^ rotate(t[s.x >> 8 & 255], 8u) ^ rotate(t[s.y >> 16 & 255], 16u) ^ rotate(t[s.z >> 24], 24u);
    s = n ^ (uint4)(keys[4 * round], keys[4 * round + 1], keys[4 * round + 2], keys[4 * round + 3]);
  }
  out[get_global_id(0)] = s;
}

#define STEP(f, a, b, c, d, x, k, s) a = b + rotate(a + f(b, c, d) + x + k, (uint)s)
#define F(x, y, z) (z ^ (x & (y ^ z)))
#define G(x, y, z) (y ^ (z & (x ^ y)))
#define H(x, y, z) (x ^ y ^ z)
#define FOUR(f, i, s0, s1, s2, s3)            \
  STEP(f, a, b, c, d, m[i & 15], 0xd76aa478 + i, s0); \
  STEP(f, d, a, b, c, m[(i + 5) & 15], 0xe8c7b756 + i, s1); \
  STEP(f, c, d, a, b, m[(i + 10) & 15], 0x242070db + i, s2); \
  STEP(f, b, c, d, a, m[(i + 15) & 15], 0xc1bdceee + i, s3)
// Steps of the shape of md5's, for as many messages as there are work-items.
__kernel GROUP(256, 1, 1)
void md5(__global uint4* restrict out, uint seed, uint blocks) {
  uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, m[16];
  for (uint i = 0; i < 16; ++i) m[i] = seed + get_global_id(0) * 16 + i;
  for (uint block = 0; block < blocks; ++block) {
    FOUR(F, 0, 7, 12, 17, 22); FOUR(F, 4, 7, 12, 17, 22); FOUR(F, 8, 7, 12, 17, 22); FOUR(F, 12, 7, 12, 17, 22);
    FOUR(G, 1, 5, 9, 14, 20); FOUR(G, 5, 5, 9, 14, 20); FOUR(G, 9, 5, 9, 14, 20); FOUR(G, 13, 5, 9, 14, 20);
    FOUR(H, 2, 4, 11, 16, 23); FOUR(H, 6, 4, 11, 16, 23); FOUR(H, 10, 4, 11, 16, 23); FOUR(H, 14, 4, 11, 16, 23);
  }
  out[get_global_id(0)] = (uint4)(a, b, c, d);
}

// Reaction rates in double precision: long straight-line code.
#define RATE(i, a, e) double r##i = a * exp(-(e) * inverse) * c[(i) & 7] * c[((i) * 3 + 1) & 7]
__kernel GROUP(64, 1, 1)
void chemistry(__global const float* restrict state, __global double* restrict rates, uint n) {
  uint i = get_global_id(0);
  double t = 1000.0 + 400.0 * state[i], inverse = 1.0 / t, c[8];
  for (uint k = 0; k < 8; ++k) c[k] = 0.5 + state[k * n + i];
  RATE(0, 1.1, 1210.0); RATE(1, 2.3, 980.0); RATE(2, 0.7, 1510.0); RATE(3, 3.1, 2010.0); RATE(4, 1.9, 1750.0);
  RATE(5, 0.4, 640.0); RATE(6, 5.3, 2400.0); RATE(7, 2.9, 1320.0); RATE(8, 1.7, 870.0); RATE(9, 0.9, 1115.0);
  rates[i] = r0 - r1 * c[2];
  rates[n + i] = r1 + r2 - r3 / (1.0 + r4);
  rates[2 * n + i] = r4 - r5 + sqrt(r6);
  rates[3 * n + i] = r6 * r7 - r8 + r9;
}

// Places queens on a board by depth-first search with a stack in private memory.
__kernel GROUP(64, 1, 1)
void queens(__global uint* restrict out, uint n) {
  uint stack[16], all = (1u << n) - 1, solutions = 0, item = get_global_id(0);
  uint first = item % n, second = item / n % n, third = item / (n * n) % n;
  uint columns[16], left[16], right[16];
  columns[0] = 1u << first;
  left[0] = columns[0] << 1;
  right[0] = columns[0] >> 1;
  uint bit = 1u << second;
  if (bit & (columns[0] | left[0] | right[0])) bit = 0;
  columns[1] = columns[0] | bit;
  left[1] = (left[0] | bit) << 1;
  right[1] = (right[0] | bit) >> 1;
  uint bit3 = 1u << third;
  if (!bit || (bit3 & (columns[1] | left[1] | right[1]))) {
    out[item] = 0;
    return;
  }
  columns[2] = columns[1] | bit3;
  left[2] = (left[1] | bit3) << 1;
  right[2] = (right[1] | bit3) >> 1;
  int depth = 2;
  stack[2] = all & ~(columns[2] | left[2] | right[2]);
  while (depth >= 2) {
    uint possible = stack[depth];
    if (possible == 0) {
      --depth;
      continue;
    }
    uint place = possible & -possible;
    stack[depth] = possible ^ place;
    if (depth + 2 == (int)n) {
      ++solutions;
      continue;
    }
    columns[depth + 1] = columns[depth] | place;
    left[depth + 1] = (left[depth] | place) << 1;
    right[depth + 1] = (right[depth] | place) >> 1;
    ++depth;
    stack[depth] = all & ~(columns[depth] | left[depth] | right[depth]);
  }
  out[item] = solutions;
}

// Chains of matrix instructions, which no other host's compiler has.
#if defined(__AMDGCN__) && __AMDGCN_WAVEFRONT_SIZE__ == 32
typedef half half_16 __attribute__((ext_vector_type(16)));
typedef float float_8 __attribute__((ext_vector_type(8)));
__kernel GROUP(32, 1, 1)
void wmma(__global const half_16* in, __global float_8* out, uint n) {
  half_16 a = in[get_local_id(0)], b = in[32 + get_local_id(0)];
  float_8 sum = 0.0f;
  for (uint k = 0; k < n; ++k) sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sum);
  out[get_global_id(0)] = sum;
}

// Sums over columns through buffer resources, as libraries of matrix products load: the last group has lanes that
// are out of bounds.
__kernel GROUP(256, 1, 1)
void buffer_columns(__global uint* in, __global uint* out, uint rows, uint columns) {
  __amdgpu_buffer_rsrc_t from = __builtin_amdgcn_make_buffer_rsrc(in, 0, rows * columns * 4, 0x31004000);
  __amdgpu_buffer_rsrc_t to = __builtin_amdgcn_make_buffer_rsrc(out, 0, columns * 4, 0x31004000);
  uint i = get_global_id(0), sum = 0;
  for (uint row = 0; row < rows; ++row)
    sum = sum * 3 + __builtin_amdgcn_raw_buffer_load_b32(from, i * 4, row * columns * 4, 0);
  __builtin_amdgcn_raw_buffer_store_b32(sum, to, i * 4, 0, 0);
}
#endif

// As most people write kernels: signed indices, groups of two dimensions, a guard, no care for the machine.
__kernel GROUP(32, 8, 1)
void plain_gemm(__global const float* a, __global const float* b, __global float* c, float alpha, float beta, int n) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i < n && j < n) {
    c[i * n + j] *= beta;
    for (int k = 0; k < n; ++k) c[i * n + j] += alpha * a[i * n + k] * b[k * n + j];
  }
}

__kernel GROUP(32, 8, 1)
void plain_jacobi(__global const float* a, __global float* b, int n) {
  int i = get_global_id(1), j = get_global_id(0);
  if (i >= 1 && i < n - 1 && j >= 1 && j < n - 1)
    b[i * n + j] = 0.2f * (a[i * n + j] + a[i * n + j - 1] + a[i * n + 1 + j] + a[(1 + i) * n + j] + a[(i - 1) * n + j]);
}

__kernel GROUP(32, 8, 1)
void plain_convolution(__global const float* a, __global float* b, int rows, int columns) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i < rows - 1 && j < columns - 1 && i > 0 && j > 0)
    b[i * columns + j] = 0.2f * a[(i - 1) * columns + j - 1] - 0.3f * a[i * columns + j - 1] +
                         0.4f * a[(i + 1) * columns + j - 1] + 0.5f * a[(i - 1) * columns + j] +
                         0.6f * a[i * columns + j] + 0.7f * a[(i + 1) * columns + j] -
                         0.8f * a[(i - 1) * columns + j + 1] - 0.9f * a[i * columns + j + 1] +
                         0.1f * a[(i + 1) * columns + j + 1];
}

__kernel GROUP(256, 1, 1)
void plain_columns(__global const float* a, __global const float* x, __global float* y, int rows, int columns) {
  int j = get_global_id(0);
  if (j < columns) {
    y[j] = 0;
    for (int i = 0; i < rows; ++i) y[j] += a[i * columns + j] * x[i];
  }
}

__kernel GROUP(128, 1, 1)
void plain_doubles(__global const double* a, __global const double* b, __global double* c, double s, int n) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + s * b[i];
}

__kernel GROUP(256, 1, 1)
void plain_distances(__global const float* points, __global const float* centres, __global int* nearest, int count,
                     int centre_count, int dimensions) {
  int i = get_global_id(0), best = 0;
  if (i >= count) return;
  float least = 3.4e38f;
  for (int c = 0; c < centre_count; ++c) {
    float sum = 0;
    for (int d = 0; d < dimensions; ++d) {
      float difference = points[d * count + i] - centres[c * dimensions + d];
      sum += difference * difference;
    }
    if (sum < least) {
      least = sum;
      best = c;
    }
  }
  nearest[i] = best;
}

// Heat on a plate: a tile in LDS with a border, of which the inner part is written.
__kernel GROUP(16, 16, 1)
void tiled_heat(__global const float* power, __global const float* in, __global float* out, int n, float step) {
  __local float tile[16][16];
  int x = get_local_id(0), y = get_local_id(1), column = get_group_id(0) * 14 + x - 1,
      row = get_group_id(1) * 14 + y - 1;
  bool inside = row >= 0 && row < n && column >= 0 && column < n;
  if (inside) tile[y][x] = in[row * n + column];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x > 0 && x < 15 && y > 0 && y < 15 && inside) {
    float here = tile[y][x], north = row > 0 ? tile[y - 1][x] : here, south = row < n - 1 ? tile[y + 1][x] : here,
          west = column > 0 ? tile[y][x - 1] : here, east = column < n - 1 ? tile[y][x + 1] : here;
    out[row * n + column] =
        here + step * (power[row * n + column] + north + south + west + east - 4.0f * here);
  }
}

// The cheapest way through a grid, some rows for each launch.
__kernel GROUP(256, 1, 1)
void tiled_path(__global const int* costs, __global const int* from, __global int* to, int columns, int rows) {
  __local int before[256], now[256];
  int l = get_local_id(0), column = (int)get_group_id(0) * (256 - 2 * rows) + l - rows;
  bool inside = column >= 0 && column < columns, is_valid = false;
  if (inside) before[l] = from[column];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < rows; ++i) {
    is_valid = l >= i + 1 && l <= 254 - i && inside;
    if (is_valid) {
      int west = column > 0 ? before[l - 1] : before[l], east = column < columns - 1 ? before[l + 1] : before[l];
      now[l] = min(before[l], min(west, east)) + costs[i * columns + column];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == rows - 1) break;
    if (is_valid) before[l] = now[l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (is_valid) to[column] = now[l];
}

__kernel GROUP(64, 1, 1)
void tiny(__global uint* counts) {
  counts[get_global_id(0)] += 1;
}
)";

}  // namespace lockstep::bench

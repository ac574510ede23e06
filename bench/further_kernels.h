// A third set of kernels, written to see what becomes of code that nobody has looked at. One OpenCL C source
// for every engine and for PoCL.
#pragma once

namespace lockstep::bench {

inline constexpr const char* kFurtherKernels = R"(
#define GROUP(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))

// The nearest of some centres, features one behind the other.
__kernel GROUP(256, 1, 1)
void kmeans(__global const float* f, __global const float* c, __global uint* out, uint n, uint k, uint d) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float best = FLT_MAX;
  uint at = 0;
  for (uint j = 0; j < k; ++j) {
    float s = 0;
    for (uint e = 0; e < d; ++e) {
      float t = f[e * n + i] - c[j * d + e];
      s += t * t;
    }
    if (s < best) {
      best = s;
      at = j;
    }
  }
  out[i] = at;
}

// A step of heat through a tile with its border.
__kernel GROUP(16, 16, 1)
void hotspot(__global const float* t, __global const float* p, __global float* out, int w, int h, float rx,
    float ry, float rz) {
  __local float tile[18][18];
  int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
  tile[ly][lx] = t[y * w + x];
  if (lx == 1) tile[ly][0] = t[y * w + max(x - 1, 0)];
  if (lx == 16) tile[ly][17] = t[y * w + min(x + 1, w - 1)];
  if (ly == 1) tile[0][lx] = t[max(y - 1, 0) * w + x];
  if (ly == 16) tile[17][lx] = t[min(y + 1, h - 1) * w + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float m = tile[ly][lx];
  out[y * w + x] = m + p[y * w + x] * 0.1f + (tile[ly - 1][lx] + tile[ly + 1][lx] - 2 * m) * ry +
                   (tile[ly][lx - 1] + tile[ly][lx + 1] - 2 * m) * rx + (80.0f - m) * rz;
}

// A step of a lattice of nine speeds on a torus.
__kernel GROUP(64, 1, 1)
void lbm(__global const float* in, __global float* out, int w, int h, float omega) {
  int i = get_global_id(0), x = i % w, y = i / w, n = w * h;
  const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  const float wt[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
  float f[9], rho = 0, ux = 0, uy = 0;
  for (int q = 0; q < 9; ++q) {
    int sx = (x - cx[q] + w) & (w - 1), sy = (y - cy[q] + h) & (h - 1);
    f[q] = in[q * n + sy * w + sx] + 1.0f;
    rho += f[q];
    ux += f[q] * cx[q];
    uy += f[q] * cy[q];
  }
  ux /= rho;
  uy /= rho;
  float uu = 1.5f * (ux * ux + uy * uy);
  for (int q = 0; q < 9; ++q) {
    float cu = 3 * (cx[q] * ux + cy[q] * uy);
    out[q * n + i] = f[q] + omega * (wt[q] * rho * (1 + cu + 0.5f * cu * cu - uu) - f[q]);
  }
}

// Scores of two rows of 32 letters, diagonal by diagonal in a tile.
__kernel GROUP(32, 1, 1)
void align(__global const int* score, __global int* out, int n, int penalty) {
  __local int m[33][33];
  int t = get_local_id(0), base = get_group_id(0) * 32 * 32;
  m[0][t + 1] = -(t + 1) * penalty;
  m[t + 1][0] = -(t + 1) * penalty;
  if (t == 0) m[0][0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 0; d < 63; ++d) {
    int y = d - t;
    if (y >= 0 && y < 32)
      m[y + 1][t + 1] = max(max(m[y][t + 1], m[y + 1][t]) - penalty, m[y][t] + (score[base + y * 32 + t] & 15) - 6);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int y = 0; y < 32; ++y) out[base + y * 32 + t] = m[y + 1][t + 1];
}

// Sums of products for each group.
__kernel GROUP(256, 1, 1)
void dot_partial(__global const float4* a, __global const float4* b, __global float* out, uint n) {
  __local float s[256];
  uint l = get_local_id(0);
  float sum = 0;
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) sum += dot(a[i], b[i]);
  s[l] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 128; k; k >>= 1) {
    if (l < k) s[l] += s[l + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[get_group_id(0)] = s[0];
}

__kernel GROUP(16, 16, 1)
void julia(__global uchar4* out, int w, float cr, float ci, int limit) {
  int x = get_global_id(0), y = get_global_id(1);
  float zr = x * 3.0f / w - 1.5f, zi = y * 3.0f / w - 1.5f;
  int i = 0;
  while (i < limit && zr * zr + zi * zi < 16.0f) {
    float t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    ++i;
  }
  uchar v = (uchar)(255 * i / limit);
  out[y * w + x] = (uchar4)(v, v * 3, v * 7, 255);
}

// Edits between a word of each item and one of all, in an array of bytes.
__kernel GROUP(64, 1, 1)
void levenshtein(__global const uchar* words, __global const uchar* key, __global uint* out, uint length) {
  uint i = get_global_id(0);
  uchar row[17];
  for (uint j = 0; j <= 16; ++j) row[j] = j;
  for (uint a = 0; a < length; ++a) {
    uchar diagonal = row[0];
    row[0] = a + 1;
    uchar c = words[i * length + a] & 3;
    for (uint j = 1; j <= 16; ++j) {
      uchar up = row[j];
      uchar cost = diagonal + (c != (key[j - 1] & 3));
      row[j] = min(min((uchar)(up + 1), (uchar)(row[j - 1] + 1)), cost);
      diagonal = up;
    }
  }
  out[i] = row[16];
}

__constant ulong kRound[24] = {
    0x1ul, 0x8082ul, 0x800000000000808aul, 0x8000000080008000ul, 0x808bul, 0x80000001ul, 0x8000000080008081ul,
    0x8000000000008009ul, 0x8aul, 0x88ul, 0x80008009ul, 0x8000000aul, 0x8000808bul, 0x800000000000008bul,
    0x8000000000008089ul, 0x8000000000008003ul, 0x8000000000008002ul, 0x8000000000000080ul, 0x800aul,
    0x800000008000000aul, 0x8000000080008081ul, 0x8000000000008080ul, 0x80000001ul, 0x8000000080008008ul};

// The permutation of SHA-3, in words of 64 bits.
__kernel GROUP(64, 1, 1)
void keccak(__global ulong* out, ulong seed) {
  uint id = get_global_id(0);
  ulong s[25];
  for (int i = 0; i < 25; ++i) s[i] = seed * (i + 1) + id;
  const int rot[24] = {1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44};
  const int pil[24] = {10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1};
  for (int r = 0; r < 24; ++r) {
    ulong b[5];
#pragma unroll
    for (int i = 0; i < 5; ++i) b[i] = s[i] ^ s[i + 5] ^ s[i + 10] ^ s[i + 15] ^ s[i + 20];
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      ulong t = b[(i + 4) % 5] ^ rotate(b[(i + 1) % 5], 1ul);
#pragma unroll
      for (int j = 0; j < 25; j += 5) s[j + i] ^= t;
    }
    ulong t = s[1];
#pragma unroll
    for (int i = 0; i < 24; ++i) {
      ulong u = s[pil[i]];
      s[pil[i]] = rotate(t, (ulong)rot[i]);
      t = u;
    }
#pragma unroll
    for (int j = 0; j < 25; j += 5) {
      ulong c[5];
#pragma unroll
      for (int i = 0; i < 5; ++i) c[i] = s[j + i];
#pragma unroll
      for (int i = 0; i < 5; ++i) s[j + i] ^= (~c[(i + 1) % 5]) & c[(i + 2) % 5];
    }
    s[0] ^= kRound[r];
  }
  out[id] = s[0] ^ s[7];
}

// Sums of normal random numbers, by native functions.
__kernel GROUP(256, 1, 1)
void gauss(__global float2* out, uint seed, uint rounds) {
  uint id = get_global_id(0), a = id * 2654435761u + seed, b = a ^ 362436069u, c = b * 69069u + 1, d = ~c | 1;
  float2 sum = 0;
  for (uint i = 0; i < rounds; ++i) {
    uint t = a ^ (a << 11);
    a = b;
    b = c;
    c = d;
    d = d ^ (d >> 19) ^ t ^ (t >> 8);
    float u = (d >> 8) * 5.9604645e-8f + 1e-7f;
    float v = (c >> 8) * 5.9604645e-8f;
    float r = native_sqrt(-2.0f * native_log(u));
    sum.x += r * native_cos(6.2831853f * v);
    sum.y += r * native_sin(6.2831853f * v);
  }
  out[id] = sum;
}

// A step of heat in three dimensions, in doubles.
__kernel GROUP(32, 4, 2)
void heat3d(__global const double* in, __global double* out, int n, float k) {
  int x = get_global_id(0) + 1, y = get_global_id(1) + 1, z = get_global_id(2) + 1;
  int i = (z * n + y) * n + x;
  if (x < n - 1 && y < n - 1 && z < n - 1)
    out[i] = in[i] + k * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n] - 6 * in[i]);
}

// Weighted sums over neighbours in a row, clamped at its ends.
__kernel GROUP(64, 4, 1)
void blur_row(__global const uchar4* in, __global uchar4* out, __constant float* weight, int w, int radius) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 s = 0;
  for (int k = -radius; k <= radius; ++k)
    s += weight[k + radius] * convert_float4(in[y * w + clamp(x + k, 0, w - 1)]);
  out[y * w + x] = convert_uchar4_sat_rte(s);
}

// A step of a search through a graph, without atomics: who comes last counts, with the same number.
__kernel GROUP(256, 1, 1)
void frontier(__global const uint* begin, __global const uint* edges, __global const uint* mask,
    __global uint* next, __global uint* cost, uint n) {
  uint v = get_global_id(0);
  if (v >= n || !(mask[v] & 1)) return;
  for (uint e = begin[v]; e < begin[v + 1]; ++e) {
    uint to = edges[e];
    if (cost[to] == 0) {
      next[to] = 1;
      cost[to] = 7;
    }
  }
}

// Inverses of matrices of 4 x 4.
__kernel GROUP(64, 1, 1)
void inverse4(__global const float4* in, __global float4* out) {
  uint i = get_global_id(0) * 4;
  float4 a = in[i] + (float4)(4, 0, 0, 0), b = in[i + 1] + (float4)(0, 4, 0, 0), c = in[i + 2] + (float4)(0, 0, 4, 0),
         d = in[i + 3] + (float4)(0, 0, 0, 4);
  float s0 = a.x * b.y - b.x * a.y, s1 = a.x * b.z - b.x * a.z, s2 = a.x * b.w - b.x * a.w,
        s3 = a.y * b.z - b.y * a.z, s4 = a.y * b.w - b.y * a.w, s5 = a.z * b.w - b.z * a.w;
  float c5 = c.z * d.w - d.z * c.w, c4 = c.y * d.w - d.y * c.w, c3 = c.y * d.z - d.y * c.z,
        c2 = c.x * d.w - d.x * c.w, c1 = c.x * d.z - d.x * c.z, c0 = c.x * d.y - d.x * c.y;
  float inv = 1.0f / (s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0);
  out[i] = (float4)(b.y * c5 - b.z * c4 + b.w * c3, -a.y * c5 + a.z * c4 - a.w * c3, d.y * s5 - d.z * s4 + d.w * s3,
                    -c.y * s5 + c.z * s4 - c.w * s3) *
           inv;
  out[i + 1] = (float4)(-b.x * c5 + b.z * c2 - b.w * c1, a.x * c5 - a.z * c2 + a.w * c1,
                        -d.x * s5 + d.z * s2 - d.w * s1, c.x * s5 - c.z * s2 + c.w * s1) *
               inv;
  out[i + 2] = (float4)(b.x * c4 - b.y * c2 + b.w * c0, -a.x * c4 + a.y * c2 - a.w * c0,
                        d.x * s4 - d.y * s2 + d.w * s0, -c.x * s4 + c.y * s2 - c.w * s0) *
               inv;
  out[i + 3] = (float4)(-b.x * c3 + b.y * c1 - b.z * c0, a.x * c3 - a.y * c1 + a.z * c0,
                        -d.x * s3 + d.y * s1 - d.z * s0, c.x * s3 - c.y * s1 + c.z * s0) *
               inv;
}
float fade(float t) { return t * t * t * (t * (t * 6 - 15) + 10); }
float grad(uint h, float x, float y) {
  h &= 7;
  float u = h < 4 ? x : y, v = h < 4 ? y : x;
  return ((h & 1) ? -u : u) + ((h & 2) ? -2 * v : 2 * v);
}

// Octaves of noise of gradients, with a table of permutations.
__kernel GROUP(16, 16, 1)
void perlin(__constant uint* p, __global float* out, int w, float scale, int octaves) {
  int px = get_global_id(0), py = get_global_id(1);
  float sum = 0, amplitude = 1, s = scale;
  for (int o = 0; o < octaves; ++o) {
    float x = px * s, y = py * s;
    int xi = (int)floor(x), yi = (int)floor(y);
    float fx = x - xi, fy = y - yi;
    xi &= 255;
    yi &= 255;
    uint a = p[xi] + yi, b = p[xi + 1] + yi;
    float u = fade(fx), v = fade(fy);
    sum += amplitude * mix(mix(grad(p[a & 255], fx, fy), grad(p[b & 255], fx - 1, fy), u),
                           mix(grad(p[(a + 1) & 255], fx, fy - 1), grad(p[(b + 1) & 255], fx - 1, fy - 1), u), v);
    amplitude *= 0.5f;
    s *= 2;
  }
  out[py * w + px] = sum;
}
#define SORT(a, b)       \
  {                      \
    uchar t = min(a, b); \
    b = max(a, b);       \
    a = t;               \
  }

// The fifth of nine bytes, by a network.
__kernel GROUP(32, 8, 1)
void median(__global const uchar* in, __global uchar* out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x == 0 || y == 0 || x >= w - 1 || y >= h - 1) return;
  int i = y * w + x;
  uchar v[9];
  for (int k = 0; k < 9; ++k) v[k] = in[i + (k / 3 - 1) * w + k % 3 - 1];
  SORT(v[1], v[2])
  SORT(v[4], v[5]) SORT(v[7], v[8]) SORT(v[0], v[1]) SORT(v[3], v[4]) SORT(v[6], v[7]) SORT(v[1], v[2])
      SORT(v[4], v[5]) SORT(v[7], v[8]) SORT(v[0], v[3]) SORT(v[5], v[8]) SORT(v[4], v[7]) SORT(v[3], v[6])
          SORT(v[1], v[4]) SORT(v[2], v[5]) SORT(v[4], v[7]) SORT(v[4], v[2]) SORT(v[6], v[4]) SORT(v[4], v[2])
              out[i] = v[4];
}

// Greatest common divisors.
__kernel GROUP(64, 1, 1)
void gcds(__global const uint* a, __global const uint* b, __global uint* out) {
  uint i = get_global_id(0), x = a[i] & 0xfffff, y = b[i] | 1;
  while (x) {
    uint t = y % x;
    y = x;
    x = t;
  }
  out[i] = y;
}

// A hash of texts of different lengths.
__kernel GROUP(128, 1, 1)
void fnv(__global const uint* start, __global const uchar* text, __global uint* out, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint h = 2166136261u;
  for (uint k = start[i]; k < start[i + 1]; ++k) h = (h ^ text[k]) * 16777619u;
  out[i] = h;
}

// Lists, from one to the next.
__kernel GROUP(64, 1, 1)
void chase(__global const uint* next, __global uint* out, uint steps) {
  uint at = get_global_id(0);
  for (uint i = 0; i < steps; ++i) at = next[at];
  out[get_global_id(0)] = at;
}

__kernel GROUP(256, 1, 1)
void gelu(__global const float* in, __global float* out) {
  uint i = get_global_id(0);
  float x = in[i] * 6;
  out[i] = 0.5f * x * (1 + tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}

// Attention of one head, in one pass.
__kernel GROUP(64, 1, 1)
void attention(__global const float* q, __global const float* k, __global const float* v, __global float* out,
    uint n) {
  uint i = get_global_id(0);
  float query[16], sum[16];
  for (int d = 0; d < 16; ++d) {
    query[d] = q[i * 16 + d];
    sum[d] = 0;
  }
  float most = -FLT_MAX, all = 0;
  for (uint j = 0; j < n; ++j) {
    float s = 0;
    for (int d = 0; d < 16; ++d) s += query[d] * k[j * 16 + d];
    float m = fmax(most, s), scale = native_exp(most - m), e = native_exp(s - m);
    all = all * scale + e;
    for (int d = 0; d < 16; ++d) sum[d] = sum[d] * scale + e * v[j * 16 + d];
    most = m;
  }
  for (int d = 0; d < 16; ++d) out[i * 16 + d] = sum[d] / all;
}

// A picture enlarged, with interpolation.
__kernel GROUP(16, 16, 1)
void enlarge(__global const float4* in, __global float4* out, int w, int h, float ratio) {
  int x = get_global_id(0), y = get_global_id(1);
  float sx = x * ratio, sy = y * ratio;
  int ix = (int)sx, iy = (int)sy;
  float fx = sx - ix, fy = sy - iy;
  int jx = min(ix + 1, w - 1), jy = min(iy + 1, h - 1);
  out[y * get_global_size(0) + x] =
      mix(mix(in[iy * w + ix], in[iy * w + jx], fx), mix(in[jy * w + ix], in[jy * w + jx], fx), fy);
}

// A step of a sorting network over pairs.
__kernel GROUP(256, 1, 1)
void merge_step(__global uint2* pairs, uint j, uint k) {
  uint i = get_global_id(0), other = i ^ j;
  if (other > i) {
    uint2 a = pairs[i], b = pairs[other];
    bool up = (i & k) == 0;
    if ((a.x > b.x) == up) {
      pairs[i] = b;
      pairs[other] = a;
    }
  }
}

// A product of matrices of halves.
__kernel GROUP(16, 16, 1)
void hgemm(__global const half* a, __global const half* b, __global half* c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  float s = 0;
  for (int k = 0; k < n; ++k) s += vload_half(y * n + k, a) * vload_half(k * n + x, b);
  vstore_half(s, y * n + x, c);
}

// Eigenvalues of symmetric matrices of 3 x 3, by rotations.
__kernel GROUP(64, 1, 1)
void rotations(__global const float* in, __global float* out, uint n) {
  uint i = get_global_id(0);
  float a[9];
  for (int k = 0; k < 9; ++k) a[k] = in[k * n + i];
  a[3] = a[1];
  a[6] = a[2];
  a[7] = a[5];
  for (int sweep = 0; sweep < 4; ++sweep)
    for (int p = 0; p < 2; ++p)
      for (int q = p + 1; q < 3; ++q) {
        float apq = a[p * 3 + q];
        if (fabs(apq) > 1e-6f) {
          float th = (a[q * 4] - a[p * 4]) / (2 * apq), t = copysign(1.0f, th) / (fabs(th) + sqrt(th * th + 1)),
                c = 1 / sqrt(t * t + 1), s = t * c;
          for (int r = 0; r < 3; ++r) {
            float u = a[r * 3 + p], v = a[r * 3 + q];
            a[r * 3 + p] = c * u - s * v;
            a[r * 3 + q] = s * u + c * v;
          }
          for (int r = 0; r < 3; ++r) {
            float u = a[p * 3 + r], v = a[q * 3 + r];
            a[p * 3 + r] = c * u - s * v;
            a[q * 3 + r] = s * u + c * v;
          }
        }
      }
  for (int k = 0; k < 3; ++k) out[k * n + i] = a[k * 4];
}
)";

}  // namespace lockstep::bench

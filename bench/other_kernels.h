// A fourth set of kernels, in the manner of those of known suites: again written before anybody had looked at
// what becomes of them. One OpenCL C source for every engine and for PoCL.
#pragma once

namespace lockstep::bench {

inline constexpr const char* kOtherKernels = R"(
#define GROUP(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))

// Weights of seven, mirrored at both ends.
__kernel GROUP(256, 1, 1)
void mirror_blur(__global const float* in, __global float* out, int n) {
  int i = get_global_id(0);
  float s = 0;
  for (int d = -3; d <= 3; ++d) {
    int at = i + d;
    at = at < 0 ? -at : at;
    at = at >= n ? 2 * n - 2 - at : at;
    s += in[at] * (4 - abs(d));
  }
  out[i] = s * 0.0625f;
}

// The least of 3 x 3 bytes, clamped.
__kernel GROUP(16, 16, 1)
void erode(__global const uchar* in, __global uchar* out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  uchar m = 255;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int sx = clamp(x + dx, 0, w - 1), sy = clamp(y + dy, 0, h - 1);
      m = min(m, in[sy * w + sx]);
    }
  out[y * w + x] = m;
}

// A coefficient of diffusion; neighbours from lists.
__kernel GROUP(16, 16, 1)
void srad(__global const float* j, __global const int* in, __global const int* is, __global const int* je,
    __global const int* jw, __global float* c, int rows, int cols, float q0) {
  int x = get_global_id(0), y = get_global_id(1), k = y * cols + x;
  float jc = j[k] + 1.0f;
  float dn = j[in[y] * cols + x] + 1.0f - jc, ds = j[is[y] * cols + x] + 1.0f - jc;
  float dw = j[y * cols + jw[x]] + 1.0f - jc, de = j[y * cols + je[x]] + 1.0f - jc;
  float g2 = (dn * dn + ds * ds + dw * dw + de * de) / (jc * jc);
  float l = (dn + ds + dw + de) / jc;
  float num = 0.5f * g2 - 0.0625f * l * l, den = 1.0f + 0.25f * l;
  float q = num / (den * den);
  den = (q - q0) / (q0 * (1.0f + q0));
  float r = 1.0f / (1.0f + den);
  c[k] = r < 0 ? 0 : r > 1 ? 1 : r;
}

// A layer of a network, partial sums in LDS.
__kernel GROUP(16, 16, 1)
void layer(__global const float* input, __global const float* weights, __global float* sums, int hidden) {
  __local float in[16], w[16][16];
  int by = get_group_id(1), tx = get_local_id(0), ty = get_local_id(1);
  if (tx == 0) in[ty] = input[by * 16 + ty];
  barrier(CLK_LOCAL_MEM_FENCE);
  int bx = get_group_id(0);
  w[ty][tx] = weights[(by * 16 + ty) * hidden + bx * 16 + tx] * in[ty];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 1; i <= 4; ++i) {
    int p = 1 << i;
    if (ty % p == 0) w[ty][tx] += w[ty + p / 2][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (ty == 0) sums[by * hidden + bx * 16 + tx] = w[0][tx];
}

// Tiles of 16 x 16 taken apart, one half wave each.
__kernel GROUP(16, 1, 1)
void lud_diagonal(__global float* m, int dim) {
  __local float s[16][16];
  int l = get_local_id(0);
  __global float* a = m + get_group_id(0) * 256;
  for (int i = 0; i < 16; ++i) s[i][l] = a[i * 16 + l];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 15; ++i) {
    if (l > i) {
      for (int j = 0; j < i; ++j) s[l][i] -= s[l][j] * s[j][i];
      s[l][i] /= s[i][i] + 2.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l > i)
      for (int j = 0; j < i + 1; ++j) s[i + 1][l] -= s[i + 1][j] * s[j][l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 1; i < 16; ++i) a[i * 16 + l] = s[i][l];
}

// Fluxes over four neighbours of each cell.
__kernel GROUP(128, 1, 1)
void cfd_flux(__global const int* nb, __global const float* n, __global const float* v, __global float* out,
    int count) {
  int i = get_global_id(0);
  float d = v[i] + 1.0f, mx = v[i + count], my = v[i + 2 * count], e = v[i + 3 * count] + 3.0f;
  float p = 0.4f * (e - 0.5f * (mx * mx + my * my) / d), fd = 0, fx = 0, fy = 0, fe = 0;
  for (int j = 0; j < 4; ++j) {
    int o = nb[i + j * count];
    float nx = n[i + 2 * j * count], ny = n[i + (2 * j + 1) * count];
    if (o >= 0) {
      float d2 = v[o] + 1.0f, mx2 = v[o + count], my2 = v[o + 2 * count], e2 = v[o + 3 * count] + 3.0f;
      float p2 = 0.4f * (e2 - 0.5f * (mx2 * mx2 + my2 * my2) / d2);
      float f = 0.5f * sqrt(nx * nx + ny * ny);
      fd += f * (d - d2) + nx * (mx + mx2) + ny * (my + my2);
      fx += f * (mx - mx2) + nx * (p + p2);
      fy += f * (my - my2) + ny * (p + p2);
      fe += f * (e - e2) + (e + p) * nx + (e2 + p2) * ny;
    } else if (o == -1) {
      fx += nx * p;
      fy += ny * p;
    }
  }
  out[i] = fd;
  out[i + count] = fx;
  out[i + 2 * count] = fy;
  out[i + 3 * count] = fe;
}

// Distances to one point.
__kernel GROUP(256, 1, 1)
void near(__global const float2* at, __global float* d, float x, float y) {
  int i = get_global_id(0);
  float2 p = at[i];
  d[i] = sqrt((x - p.x) * (x - p.x) + (y - p.y) * (y - p.y));
}

// Sums of columns.
__kernel GROUP(256, 1, 1)
void atax(__global const float* a, __global const float* x, __global float* y, int nx, int ny) {
  int j = get_global_id(0);
  if (j >= ny) return;
  float s = 0;
  for (int i = 0; i < nx; ++i) s += a[i * ny + j] * x[i];
  y[j] = s;
}

// Half of a product of a matrix with itself.
__kernel GROUP(32, 8, 1)
void correlation(__global const float* data, __global float* out, int m, int n) {
  int j1 = get_global_id(0), j2 = get_global_id(1);
  float s = 0;
  if (j2 > j1) { out[j2 * m + j1] = 0; return; }
  for (int i = 0; i < n; ++i) s += data[i * m + j1] * data[i * m + j2];
  out[j2 * m + j1] = s;
}

// A step of waves in a plane.
__kernel GROUP(32, 8, 1)
void fdtd_h(__global const float* ex, __global const float* ey, __global float* hz, int nx, int ny) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i < nx - 1 && j < ny - 1)
    hz[i * ny + j] -= 0.7f * (ex[i * (ny + 1) + j + 1] - ex[i * (ny + 1) + j] + ey[(i + 1) * ny + j] - ey[i * ny + j]);
}

// A generator with 19 words of state.
__kernel GROUP(128, 1, 1)
void twister(__global const uint* seeds, __global uint* out, int rounds) {
  uint mt[19];
  uint g = get_global_id(0), n = get_global_size(0);
  mt[0] = seeds[g];
  for (int i = 1; i < 19; ++i) mt[i] = 1812433253u * (mt[i - 1] ^ (mt[i - 1] >> 30)) + i;
  uint s = mt[0];
  int st = 0;
  for (int o = 0; o < rounds; ++o) {
    int s1 = st + 1, sm = st + 9;
    if (s1 >= 19) s1 -= 19;
    if (sm >= 19) sm -= 19;
    uint c = s;
    s = mt[s1];
    uint x = (c & 0x80000000u) | (s & 0x7fffffffu);
    x = mt[sm] ^ (x >> 1) ^ ((x & 1) ? 0xe4bd75f5u : 0);
    mt[st] = x;
    st = s1;
    x ^= x >> 12;
    x ^= (x << 7) & 0x655e5280u;
    x ^= (x << 15) & 0xffd58000u;
    x ^= x >> 18;
    out[g + o * n] = x;
  }
}

// Cosine transforms of 8 x 8.
__kernel GROUP(8, 8, 1)
void dct8(__global const float* in, __global float* out, __constant float* c, int w) {
  __local float t[8][9], u[8][9];
  int x = get_local_id(0), y = get_local_id(1), gx = get_global_id(0), gy = get_global_id(1);
  t[y][x] = in[gy * w + gx];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k < 8; ++k) s += c[y * 8 + k] * t[k][x];
  u[y][x] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  s = 0;
  for (int k = 0; k < 8; ++k) s += u[y][k] * c[x * 8 + k];
  out[gy * w + gx] = s;
}

// Digits counted, by atomics of LDS.
__kernel GROUP(256, 1, 1)
void radix_counts(__global const uint* keys, __global uint* counts, uint shift) {
  __local uint c[16];
  uint l = get_local_id(0), g = get_group_id(0);
  if (l < 16) c[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < 8; ++i) atomic_inc(&c[keys[(g * 8 + i) * 256 + l] >> shift & 15]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 16) counts[l * get_num_groups(0) + g] = c[l];
}

// Sparse rows, a wave each.
__kernel GROUP(128, 1, 1)
void spmv_vector(__global const float* v, __global const int* cols, __global const int* begin,
    __global const float* x, __global float* out, int rows) {
  __local volatile float part[128];
  int t = get_local_id(0), id = t & 31, row = get_group_id(0) * 4 + t / 32;
  float s = 0;
  for (int j = begin[row] + id; j < begin[row + 1]; j += 32) s += v[j] * x[cols[j]];
  part[t] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int o = 16; o > 0; o >>= 1) {
    if (id < o) part[t] += part[t + o];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (id == 0) out[row] = part[t];
}

// Sparse rows, element by element.
__kernel GROUP(256, 1, 1)
void ell(__global const float* v, __global const int* cols, __global const float* x, __global float* y, int rows, int width) {
  int i = get_global_id(0);
  float s = 0;
  for (int k = 0; k < width; ++k) s += v[k * rows + i] * x[cols[k * rows + i]];
  y[i] = s;
}

// Colours of four bytes.
__kernel GROUP(256, 1, 1)
void yuv(__global const uchar4* in, __global uchar4* out) {
  int i = get_global_id(0);
  uchar4 p = in[i];
  int y = (66 * p.x + 129 * p.y + 25 * p.z + 128) >> 8, u = (-38 * p.x - 74 * p.y + 112 * p.z + 128) >> 8,
      v = (112 * p.x - 94 * p.y - 18 * p.z + 128) >> 8;
  out[i] = (uchar4)(y + 16, u + 128, v + 128, p.w);
}

// Means over 5 x 5 pixels of four bytes.
__kernel GROUP(16, 16, 1)
void box_rgba(__global const uchar4* in, __global uchar4* out, int w, int h, int r) {
  int x = get_global_id(0), y = get_global_id(1);
  uint4 s = 0;
  uint n = 0;
  for (int dy = -r; dy <= r; ++dy)
    for (int dx = -r; dx <= r; ++dx) {
      int sx = x + dx, sy = y + dy;
      if (sx < 0 || sy < 0 || sx >= w || sy >= h) continue;
      s += convert_uint4(in[sy * w + sx]);
      ++n;
    }
  out[y * w + x] = convert_uchar4(s / n);
}

// Bytes to letters, by a table.
__kernel GROUP(64, 1, 1)
void base64(__global const uchar* in, __global uchar* out, __constant uchar* letters) {
  uint i = get_global_id(0);
  uint a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  out[4 * i] = letters[a >> 2];
  out[4 * i + 1] = letters[(a & 3) << 4 | b >> 4];
  out[4 * i + 2] = letters[(b & 15) << 2 | c >> 6];
  out[4 * i + 3] = letters[c & 63];
}

float scene(float3 p) {
  float3 q = fabs(p) - (float3)(0.6f, 0.4f, 0.5f);
  float box = length(fmax(q, 0.0f)) + fmin(fmax(q.x, fmax(q.y, q.z)), 0.0f);
  float ball = length(p - (float3)(0.5f, 0.5f, 0.2f)) - 0.5f;
  return fmin(fmax(box, -ball), p.y + 0.8f);
}
// Rays through distances.
__kernel GROUP(8, 8, 1)
void march(__global float* out, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  float3 at = (float3)(0, 0.5f, -3), dir = normalize((float3)((x - w / 2) / (float)w, (y - w / 2) / (float)w, 1));
  float t = 0;
  int i = 0;
  for (; i < 64; ++i) {
    float d = scene(at + dir * t);
    if (d < 0.001f || t > 8) break;
    t += d;
  }
  out[y * w + x] = t + i;
}

// Bodies in double precision.
__kernel GROUP(64, 1, 1)
void nbody_double(__global const double4* p, __global double4* a, int n) {
  int i = get_global_id(0);
  double4 me = p[i], s = 0;
  for (int j = 0; j < n; ++j) {
    double4 d = p[j] - me;
    double r = d.x * d.x + d.y * d.y + d.z * d.z + 0.01;
    double k = d.w / (r * sqrt(r));
    s += d * k;
  }
  a[i] = s;
}

// Products of 256 bits.
__kernel GROUP(64, 1, 1)
void bigint(__global const uint* a, __global const uint* b, __global uint* out, uint n) {
  uint i = get_global_id(0), r[16];
  for (int k = 0; k < 16; ++k) r[k] = 0;
  for (int j = 0; j < 8; ++j) {
    ulong c = 0;
    uint x = a[j * n + i];
    for (int k = 0; k < 8; ++k) {
      c += (ulong)x * b[k * n + i] + r[j + k];
      r[j + k] = (uint)c;
      c >>= 32;
    }
    r[j + 8] = (uint)c;
  }
  for (int k = 0; k < 16; ++k) out[k * n + i] = r[k];
}

// Divisions until one is exact.
__kernel GROUP(64, 1, 1)
void primes(__global uint* out, uint first) {
  uint n = first + 2 * get_global_id(0) + 1, d = 3;
  while (d * d <= n && n % d != 0) d += 2;
  out[get_global_id(0)] = d * d > n;
}

// Different bits, by the nearest of 32.
__kernel GROUP(256, 1, 1)
void hamming(__global const uint* a, __global const uint* q, __global uint* out, uint n) {
  uint i = get_global_id(0), best = ~0u;
  for (uint j = 0; j < 32; ++j) {
    uint s = 0;
    for (uint k = 0; k < 8; ++k) s += popcount(a[k * n + i] ^ q[j * 8 + k]);
    best = min(best, s << 8 | j);
  }
  out[i] = best;
}

// Edges of a graph, with atomics.
__kernel GROUP(256, 1, 1)
void relax(__global const uint* from, __global const uint* to, __global const uint* weight, __global uint* dist) {
  uint e = get_global_id(0);
  uint d = dist[from[e]];
  if (d != ~0u) atomic_min(&dist[to[e]], d + weight[e]);
}

// Roots of a polynomial, over the plane.
__kernel GROUP(16, 16, 1)
void newton(__global uint* out, int w) {
  float x = ((int)get_global_id(0) - w / 2) * 4.0f / w + 0.001f, y = ((int)get_global_id(1) - w / 2) * 4.0f / w;
  uint i = 0;
  for (; i < 40; ++i) {
    float x2 = x * x - y * y, y2 = 2 * x * y, fx = x2 * x - y2 * y - 1, fy = x2 * y + y2 * x;
    float d = 9 * (x2 * x2 + y2 * y2), dx = 3 * x2, dy = 3 * y2;
    float nx = (fx * dx + fy * dy) / (dx * dx + dy * dy), ny = (fy * dx - fx * dy) / (dx * dx + dy * dy);
    x -= nx;
    y -= ny;
    if (nx * nx + ny * ny < 1e-8f) break;
  }
  out[get_global_id(1) * w + get_global_id(0)] = i;
}

// The eight least.
__kernel GROUP(64, 1, 1)
void insertion(__global const float* in, __global float* out, uint n) {
  uint i = get_global_id(0);
  float k[8];
  for (int j = 0; j < 8; ++j) k[j] = 1e30f;
  for (uint j = 0; j < n; ++j) {
    float v = in[j * get_global_size(0) + i];
    for (int m = 0; m < 8; ++m) {
      float lo = fmin(k[m], v);
      v = fmax(k[m], v);
      k[m] = lo;
    }
  }
  for (int j = 0; j < 8; ++j) out[j * get_global_size(0) + i] = k[j];
}

// Lengths of runs.
__kernel GROUP(256, 1, 1)
void rle(__global const uint* in, __global uint* out, uint n) {
  uint i = get_global_id(0);
  uint v = in[i], l = 1;
  if (i != 0 && in[i - 1] == v) { out[i] = 0; return; }
  while (i + l < n && in[i + l] == v) ++l;
  out[i] = l;
}

// Sums along rows, a row for each item.
__kernel GROUP(64, 1, 1)
void scan_rows(__global const float* in, __global float* out, int w) {
  int y = get_global_id(0);
  float s = 0;
  for (int x = 0; x < w; ++x) {
    s += in[y * w + x];
    out[y * w + x] = s;
  }
}

// A table and a transposition, by quotients.
__kernel GROUP(256, 1, 1)
void pixel_index(__global const uint* in, __global const uint* lut, __global uint* out, uint w) {
  uint i = get_global_id(0), x = i % w, y = i / w;
  out[x * (get_global_size(0) / w) + y] = lut[in[i] & 255] + x * y;
}
)";

}  // namespace lockstep::bench

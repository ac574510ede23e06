// A fifth set of kernels, of finance, ciphers, networks, pictures, graphs and sorting, written before anybody
// had looked at what becomes of them, and of arithmetic of 64 bits that was slow. One OpenCL C source for
// every engine and for PoCL.
#pragma once

namespace lockstep::bench {

inline constexpr const char* kMoreKernels = R"(
#define GROUP(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))

// An option by a binomial tree, a group for each.
__kernel GROUP(128, 1, 1)
void binomial(__global const float* spot, __global float* out, int steps) {
  __local float v[129];
  int l = get_local_id(0), g = get_group_id(0);
  float s = 100.0f + 20.0f * spot[g], u = exp(0.3f * sqrt(1.0f / steps)), d = 1.0f / u;
  float p = (exp(0.02f / steps) - d) / (u - d), r = exp(-0.02f / steps);
  v[l] = max(0.0f, s * pow(u, (float)(2 * l - steps)) - 100.0f);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int t = steps - 1; t >= 0; --t) {
    float a = v[l], b = v[l + 1 < 128 ? l + 1 : l];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l <= t) v[l] = r * (p * b + (1.0f - p) * a);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[g] = v[0];
}

#define QUARTER(a, b, c, d) \
  a += b; d = rotate(d ^ a, 16u); c += d; b = rotate(b ^ c, 12u); a += b; d = rotate(d ^ a, 8u); c += d; b = rotate(b ^ c, 7u);

// A block of ChaCha20 for each item.
__kernel GROUP(64, 1, 1)
void chacha(__global const uint* key, __global uint* out) {
  uint i = get_global_id(0), s[16], x[16];
  s[0] = 0x61707865; s[1] = 0x3320646e; s[2] = 0x79622d32; s[3] = 0x6b206574;
  for (int k = 0; k < 8; ++k) s[4 + k] = key[k];
  s[12] = i; s[13] = 1; s[14] = 2; s[15] = 3;
  for (int k = 0; k < 16; ++k) x[k] = s[k];
  for (int r = 0; r < 10; ++r) {
    QUARTER(x[0], x[4], x[8], x[12]) QUARTER(x[1], x[5], x[9], x[13])
    QUARTER(x[2], x[6], x[10], x[14]) QUARTER(x[3], x[7], x[11], x[15])
    QUARTER(x[0], x[5], x[10], x[15]) QUARTER(x[1], x[6], x[11], x[12])
    QUARTER(x[2], x[7], x[8], x[13]) QUARTER(x[3], x[4], x[9], x[14])
  }
  for (int k = 0; k < 16; ++k) out[i * 16 + k] = x[k] + s[k];
}

// xxHash64 of 64 bytes for each item.
__kernel GROUP(256, 1, 1)
void xxhash(__global const ulong* in, __global ulong* out) {
  const ulong p1 = 11400714785074694791UL, p2 = 14029467366897019727UL, p3 = 1609587929392839161UL;
  uint i = get_global_id(0);
  ulong a = p1 + p2, b = p2, c = 0, d = -p1;
  for (int k = 0; k < 2; ++k) {
    a = rotate(a + in[i * 8 + 4 * k] * p2, 31UL) * p1;
    b = rotate(b + in[i * 8 + 4 * k + 1] * p2, 31UL) * p1;
    c = rotate(c + in[i * 8 + 4 * k + 2] * p2, 31UL) * p1;
    d = rotate(d + in[i * 8 + 4 * k + 3] * p2, 31UL) * p1;
  }
  ulong h = rotate(a, 1UL) + rotate(b, 7UL) + rotate(c, 12UL) + rotate(d, 18UL) + 64;
  h ^= h >> 33; h *= p2; h ^= h >> 29; h *= p3; h ^= h >> 32;
  out[i] = h;
}

// Rows of 1,024 to mean 0 and variance 1.
__kernel GROUP(256, 1, 1)
void layer_norm(__global const float* in, __global const float* gain, __global float* out) {
  __local float sums[256], squares[256];
  int l = get_local_id(0), row = get_group_id(0);
  float s = 0, q = 0;
  for (int k = l; k < 1024; k += 256) { float v = in[row * 1024 + k]; s += v; q += v * v; }
  sums[l] = s; squares[l] = q;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = 128; n > 0; n >>= 1) {
    if (l < n) { sums[l] += sums[l + n]; squares[l] += squares[l + n]; }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float mean = sums[0] / 1024, scale = rsqrt(squares[0] / 1024 - mean * mean + 1e-5f);
  for (int k = l; k < 1024; k += 256) out[row * 1024 + k] = (in[row * 1024 + k] - mean) * scale * gain[k];
}

// Angles of positions.
__kernel GROUP(64, 1, 1)
void rope(__global const float* in, __global float* out, int width) {
  int k = get_global_id(0), row = get_global_id(1);
  float angle = row * pow(10000.0f, -2.0f * k / width), c = cos(angle), s = sin(angle);
  float2 v = vload2(row * (width / 2) + k, in);
  vstore2((float2)(v.x * c - v.y * s, v.x * s + v.y * c), row * (width / 2) + k, out);
}

// A matrix of 4-bit weights in blocks of 32, with a scale each.
__kernel GROUP(64, 1, 1)
void q4_rows(__global const uint* quants, __global const float* scales, __global const float* x, __global float* y,
    int blocks) {
  int row = get_global_id(0);
  float sum = 0;
  for (int b = 0; b < blocks; ++b) {
    float part = 0;
    for (int w = 0; w < 4; ++w) {
      uint q = quants[(row * blocks + b) * 4 + w];
      for (int n = 0; n < 8; ++n) part += ((int)(q >> 4 * n & 15) - 8) * x[b * 32 + w * 8 + n];
    }
    sum += part * scales[row * blocks + b];
  }
  y[row] = sum;
}

// The largest of 3 x 3 every second pixel.
__kernel GROUP(16, 16, 1)
void max_pool(__global const float* in, __global float* out, int w) {
  int x = get_global_id(0), y = get_global_id(1), ow = get_global_size(0);
  float m = -INFINITY;
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx) {
      int sx = 2 * x + dx - 1, sy = 2 * y + dy - 1;
      if (sx >= 0 && sy >= 0 && sx < w && sy < w) m = fmax(m, in[sy * w + sx]);
    }
  out[y * ow + x] = m;
}

// Patches of 3 x 3 as rows.
__kernel GROUP(256, 1, 1)
void im2col(__global const float* in, __global float* out, int w, int h) {
  int i = get_global_id(0), x = i % w, y = i / w;
  for (int k = 0; k < 9; ++k) {
    int sx = x + k % 3 - 1, sy = y + k / 3 - 1;
    out[k * w * h + i] = sx < 0 || sy < 0 || sx >= w || sy >= h ? 0.0f : in[sy * w + sx];
  }
}

// Where a row's largest is.
__kernel GROUP(64, 1, 1)
void argmax(__global const float* in, __global int* out, int n) {
  __local float best[64];
  __local int at[64];
  int l = get_local_id(0), row = get_group_id(0), where = l;
  float most = in[row * n + l];
  for (int k = l + 64; k < n; k += 64) {
    float v = in[row * n + k];
    if (v > most) { most = v; where = k; }
  }
  best[l] = most; at[l] = where;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 32; s > 0; s >>= 1) {
    if (l < s && best[l + s] > best[l]) { best[l] = best[l + s]; at[l] = at[l + s]; }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[row] = at[0];
}

// Along a curve of Hilbert's.
__kernel GROUP(256, 1, 1)
void hilbert(__global uint* out, uint n) {
  uint i = get_global_id(0), x = i % n, y = i / n, d = 0;
  for (uint s = n / 2; s > 0; s /= 2) {
    uint rx = (x & s) > 0, ry = (y & s) > 0;
    d += s * s * ((3 * rx) ^ ry);
    if (ry == 0) {
      if (rx == 1) { x = n - 1 - x; y = n - 1 - y; }
      uint t = x; x = y; y = t;
    }
  }
  out[i] = d;
}

// Codes of three coordinates, bit by bit.
__kernel GROUP(256, 1, 1)
void morton(__global const float* p, __global uint* out) {
  uint i = get_global_id(0), c = 0;
  for (int k = 0; k < 3; ++k) {
    uint v = (uint)clamp((p[3 * i + k] + 0.5f) * 1024.0f, 0.0f, 1023.0f);
    v = (v * 0x00010001u) & 0xFF0000FFu;
    v = (v * 0x00000101u) & 0x0F00F00Fu;
    v = (v * 0x00000011u) & 0xC30C30C3u;
    v = (v * 0x00000005u) & 0x49249249u;
    c |= v << k;
  }
  out[i] = c;
}

// Knuth, Morris, Pratt: each item has a part of the text.
__kernel GROUP(64, 1, 1)
void kmp(__global const uchar* text, __constant uchar* word, __constant int* next, __global int* found, int part, int m) {
  int i = get_global_id(0), q = 0, count = 0;
  for (int k = 0; k < part; ++k) {
    uchar c = text[i * part + k];
    while (q > 0 && word[q] != c) q = next[q - 1];
    if (word[q] == c) ++q;
    if (q == m) { ++count; q = next[q - 1]; }
  }
  found[i] = count;
}

// A step of a sort by odd and even pairs.
__kernel GROUP(256, 1, 1)
void odd_even(__global const uint* in, __global uint* out, uint n) {
  uint i = get_global_id(0), a = in[2 * i + 1], b = in[2 * i + 2 < n ? 2 * i + 2 : 2 * i + 1];
  out[2 * i + 1] = min(a, b);
  if (2 * i + 2 < n) out[2 * i + 2] = max(a, b);
}

// A surface of 4 x 4 control points.
__kernel GROUP(16, 16, 1)
void bezier(__global const float4* c, __global float4* out) {
  int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);
  float u = (float)x / (w - 1), v = (float)y / (get_global_size(1) - 1);
  float bu[4] = {(1 - u) * (1 - u) * (1 - u), 3 * u * (1 - u) * (1 - u), 3 * u * u * (1 - u), u * u * u};
  float bv[4] = {(1 - v) * (1 - v) * (1 - v), 3 * v * (1 - v) * (1 - v), 3 * v * v * (1 - v), v * v * v};
  float4 s = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) s += c[4 * i + j] * bu[i] * bv[j];
  out[y * w + x] = s;
}

// Lines through the bright pixels.
__kernel GROUP(256, 1, 1)
void hough(__global const uchar* image, __global uint* votes, __constant float* cosines, __constant float* sines, int w) {
  int i = get_global_id(0), x = i % w, y = i / w;
  if (image[i] < 250) return;
  for (int t = 0; t < 64; ++t) {
    int r = (int)(x * cosines[t] + y * sines[t]) + 512;
    atomic_inc(&votes[t * 1024 + (r & 1023)]);
  }
}

// Means weighed by how alike 3 x 3 patches are.
__kernel GROUP(16, 16, 1)
void nlm(__global const float* in, __global float* out, int w, float k) {
  int x = get_global_id(0) + 4, y = get_global_id(1) + 4;
  float sum = 0, all = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      float d = 0;
      for (int py = -1; py <= 1; ++py)
        for (int px = -1; px <= 1; ++px) {
          float e = in[(y + py) * w + x + px] - in[(y + dy + py) * w + x + dx + px];
          d += e * e;
        }
      float v = exp(-d * k);
      sum += v * in[(y + dy) * w + x + dx];
      all += v;
    }
  out[(y - 4) * get_global_size(0) + x - 4] = sum / all;
}

// Blocks of 4 x 4 pixels to two colours and indices.
__kernel GROUP(64, 1, 1)
void dxt(__global const uint* in, __global uint2* out, int w) {
  int bx = get_global_id(0), by = get_global_id(1);
  uint least = ~0u, most = 0;
  uint p[16];
  for (int k = 0; k < 16; ++k) {
    uint c = in[(by * 4 + k / 4) * w + bx * 4 + k % 4];
    p[k] = ((c & 255) * 77 + (c >> 8 & 255) * 151 + (c >> 16 & 255) * 28) >> 8;
    least = min(least, p[k]);
    most = max(most, p[k]);
  }
  uint bits = 0, range = max(most - least, 1u);
  for (int k = 0; k < 16; ++k) bits |= ((p[k] - least) * 3 + range / 2) / range << 2 * k;
  out[by * get_global_size(0) + bx] = (uint2)(least | most << 16, bits);
}

// Rays through a volume, until they are opaque.
__kernel GROUP(8, 8, 1)
void volume(__global const float* density, __global float* out, int n) {
  int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);
  float px = x * (n - 2.0f) / w, py = y * (n - 2.0f) / w, pz = 0, light = 0, left = 1;
  while (pz < n - 2 && left > 0.02f) {
    int ix = px, iy = py, iz = pz;
    float fx = px - ix, fy = py - iy, fz = pz - iz;
    __global const float* c = density + (iz * n + iy) * n + ix;
    float a = mix(mix(c[0], c[1], fx), mix(c[n], c[n + 1], fx), fy);
    c += n * n;
    float b = mix(mix(c[0], c[1], fx), mix(c[n], c[n + 1], fx), fy);
    float d = (mix(a, b, fz) + 0.5f) * 0.1f;
    light += left * d * (1.0f - pz / n);
    left *= 1.0f - d;
    px += 0.1f; py += 0.05f; pz += 0.7f;
    px = min(px, n - 2.0f); py = min(py, n - 2.0f);
  }
  out[y * w + x] = light;
}

// Sums from one flag to the next.
__kernel GROUP(256, 1, 1)
void segmented(__global const float* in, __global const uint* flags, __global float* out) {
  __local float s[2][256];
  __local uint f[2][256];
  int l = get_local_id(0), i = get_global_id(0), from = 0;
  s[0][l] = in[i]; f[0][l] = flags[i] & 1;
  for (int d = 1; d < 256; d *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float v = s[from][l];
    uint g = f[from][l];
    if (l >= d) { if (!g) v += s[from][l - d]; g |= f[from][l - d]; }
    s[1 - from][l] = v; f[1 - from][l] = g;
    from = 1 - from;
  }
  out[i] = s[from][l];
}

// Matrices of 8 x 8, one for each item, to triangles.
__kernel GROUP(64, 1, 1)
void cholesky(__global const float* in, __global float* out, int n) {
  int i = get_global_id(0);
  float a[36];
  for (int k = 0; k < 36; ++k) a[k] = in[k * n + i];
  for (int c = 0; c < 8; ++c) {
    float d = sqrt(fabs(a[c * (c + 1) / 2 + c]) + 4.0f), r = 1.0f / d;
    a[c * (c + 1) / 2 + c] = d;
    for (int y = c + 1; y < 8; ++y) a[y * (y + 1) / 2 + c] *= r;
    for (int y = c + 1; y < 8; ++y)
      for (int x = c + 1; x <= y; ++x) a[y * (y + 1) / 2 + x] -= a[y * (y + 1) / 2 + c] * a[x * (x + 1) / 2 + c];
  }
  for (int k = 0; k < 36; ++k) out[k * n + i] = a[k];
}

// Distances of vertices, by one that is nearer.
__kernel GROUP(128, 1, 1)
void page_rank(__global const uint* first, __global const uint* from, __global const float* rank,
    __global const uint* degree, __global float* out) {
  uint v = get_global_id(0);
  float s = 0;
  for (uint e = first[v]; e < first[v + 1]; ++e) { uint u = from[e]; s += rank[u] / degree[u]; }
  out[v] = 0.15f + 0.85f * s;
}

// The least label among four neighbours, for components.
__kernel GROUP(16, 16, 1)
void components(__global const uint* labels, __global const uchar* image, __global uint* out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1), i = y * w + x;
  uint l = labels[i];
  uchar c = image[i];
  if (x > 0 && image[i - 1] == c) l = min(l, labels[i - 1]);
  if (x < w - 1 && image[i + 1] == c) l = min(l, labels[i + 1]);
  if (y > 0 && image[i - w] == c) l = min(l, labels[i - w]);
  if (y < h - 1 && image[i + w] == c) l = min(l, labels[i + w]);
  out[i] = l;
}

// Calls by Horner's rule and a table of quotients: a spline at places that are looked up.
__kernel GROUP(256, 1, 1)
void spline(__global const float* x, __global const float4* c, __global float* out, int n) {
  int i = get_global_id(0);
  float t = (x[i] + 0.5f) * n;
  int k = clamp((int)t, 0, n - 1);
  float f = t - k;
  float4 p = c[k];
  out[i] = ((p.w * f + p.z) * f + p.y) * f + p.x;
}

// Colours to hue, saturation and value.
__kernel GROUP(256, 1, 1)
void hsv(__global const uchar4* in, __global float4* out) {
  int i = get_global_id(0);
  float4 c = convert_float4(in[i]) / 255.0f;
  float most = max(c.x, max(c.y, c.z)), least = min(c.x, min(c.y, c.z)), d = most - least, h = 0;
  if (d > 0) {
    if (most == c.x) h = (c.y - c.z) / d;
    else if (most == c.y) h = 2 + (c.z - c.x) / d;
    else h = 4 + (c.x - c.y) / d;
    if (h < 0) h += 6;
  }
  out[i] = (float4)(h * 60.0f, most > 0 ? d / most : 0.0f, most, c.w);
}

// Forces between atoms in lists of neighbours.
__kernel GROUP(128, 1, 1)
void lennard_jones(__global const float4* p, __global const int* list, __global float4* force, int count, int most) {
  int i = get_global_id(0);
  float4 me = p[i];
  float3 f = 0;
  for (int k = 0; k < most; ++k) {
    float4 o = p[list[k * count + i]];
    float dx = me.x - o.x, dy = me.y - o.y, dz = me.z - o.z, r = dx * dx + dy * dy + dz * dz;
    if (r < 0.3f && r > 0) {
      float r2 = 1.0f / r, r6 = r2 * r2 * r2, w = r2 * r6 * (1.5f * r6 - 2.0f);
      f.x += dx * w; f.y += dy * w; f.z += dz * w;
    }
  }
  force[i] = (float4)(f.x, f.y, f.z, 0);
}

// Powers modulo an argument.
__kernel GROUP(256, 1, 1)
void mod_power(__global const uint* base, __global ulong* out, ulong m, uint power) {
  uint i = get_global_id(0);
  ulong r = 1, x = base[i];
  for (uint k = power; k > 0; k >>= 1) {
    if (k & 1) r = r * x % m;
    x = x * x % m;
  }
  out[i] = r;
}

// Sums of decimal digits.
__kernel GROUP(256, 1, 1)
void digit_sums(__global const ulong* in, __global uint* out) {
  uint i = get_global_id(0), s = 0;
  for (ulong x = in[i]; x > 0; x /= 10) s += x % 10;
  out[i] = s;
}

// A step of a transform over the field of 2^64 - 2^32 + 1 elements.
ulong product_in_field(ulong a, ulong b) {
  const ulong p = 0xffffffff00000001UL;
  ulong low = a * b, high = mul_hi(a, b), t = low - (high >> 32);
  if (low < high >> 32) t -= 0xffffffffUL;
  ulong u = (high & 0xffffffffUL) * 0xffffffffUL, r = t + u;
  if (r < u) r += 0xffffffffUL;
  return r >= p ? r - p : r;
}
__kernel GROUP(256, 1, 1)
void field_step(__global ulong* a, __global const ulong* w, uint half_size) {
  const ulong p = 0xffffffff00000001UL;
  uint i = get_global_id(0), k = i % half_size, at = i / half_size * 2 * half_size + k;
  ulong u = a[at] & 0x7fffffffffffffffUL, v = product_in_field(a[at + half_size] & 0x7fffffffffffffffUL, w[k] >> 1);
  ulong s = u + v, d = u - v;
  if (s < u || s >= p) s -= p;
  if (u < v) d += p;
  a[at] = s;
  a[at + half_size] = d;
}

// A product of matrices of bytes, the second one turned.
__kernel GROUP(16, 16, 1)
void byte_gemm(__global const char* a, __global const char* b, __global int* c, int n) {
  int x = get_global_id(0), y = get_global_id(1), sum = 0;
  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[x * n + k];
  c[y * n + x] = sum;
}

// A product of matrices of doubles.
__kernel GROUP(16, 16, 1)
void double_gemm(__global const double* a, __global const double* b, __global double* c, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
  c[y * n + x] = sum;
}

// A logistic map, and how fast its neighbours part.
__kernel GROUP(256, 1, 1)
void logistic(__global const double* start, __global double* out, int rounds) {
  int i = get_global_id(0);
  double x = 0.5 + 0.25 * start[i], part = 1.0;
  for (int k = 0; k < rounds; ++k) {
    part *= fabs(3.7 - 7.4 * x);
    x = 3.7 * x * (1.0 - x);
  }
  out[i] = part + x;
}

// Vertices that no neighbour without a colour outweighs get one.
__kernel GROUP(256, 1, 1)
void colours(__global const int* first, __global const int* neighbour, __global const int* weight,
    __global const int* colour, __global int* out) {
  int v = get_global_id(0), is_most = 1;
  if (colour[v] >= 0) { out[v] = colour[v]; return; }
  for (int e = first[v]; e < first[v + 1]; ++e) {
    int u = neighbour[e];
    if (colour[u] < 0 && weight[u] > weight[v]) is_most = 0;
  }
  out[v] = is_most ? 7 : -1;
}
)";

}  // namespace lockstep::bench

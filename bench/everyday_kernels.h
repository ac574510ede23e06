// Kernels of kinds that kernels.h does not have, as people write them: they tell what a kernel may expect
// that nobody has looked at. One OpenCL C source for every engine and for PoCL.
#pragma once

namespace lockstep::bench {

inline constexpr const char* kEverydayKernels = R"(
#define GROUP(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))

// One step of Floyd's shortest paths.
__kernel GROUP(16, 16, 1)
void floyd(__global int* distances, int n, int k) {
  int i = get_global_id(1), j = get_global_id(0);
  int through = distances[i * n + k] + distances[k * n + j];
  if (through < distances[i * n + j]) distances[i * n + j] = through;
}

// A step of elimination below a pivot.
__kernel GROUP(16, 16, 1)
void lu_step(__global float* a, int n, int k) {
  int j = get_global_id(0), i = get_global_id(1);
  if (i > k && j > k && i < n && j < n) a[i * n + j] -= a[i * n + k] / a[k * n + k] * a[k * n + j];
}

__kernel GROUP(16, 16, 1)
void bilateral(__global const uchar4* in, __global uchar4* out, int w, int h, float inverse_range) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 here = convert_float4(in[y * w + x]), sum = 0.0f;
  float weights = 0.0f;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      int px = clamp(x + dx, 0, w - 1), py = clamp(y + dy, 0, h - 1);
      float4 there = convert_float4(in[py * w + px]), d = there - here;
      float weight = 1.0f / (1.0f + (d.x * d.x + d.y * d.y + d.z * d.z) * inverse_range + (float)(dx * dx + dy * dy));
      sum += weight * there;
      weights += weight;
    }
  out[y * w + x] = convert_uchar4_sat(sum / weights);
}

__kernel GROUP(16, 16, 1)
void sobel(__global const uchar* in, __global uchar* out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  int i = y * w + x;
  int gx = in[i - w + 1] + 2 * in[i + 1] + in[i + w + 1] - in[i - w - 1] - 2 * in[i - 1] - in[i + w - 1];
  int gy = in[i + w - 1] + 2 * in[i + w] + in[i + w + 1] - in[i - w - 1] - 2 * in[i - w] - in[i - w + 1];
  out[i] = (uchar)min(abs(gx) + abs(gy), 255u);
}

// A generation of life on a torus.
__kernel GROUP(32, 8, 1)
void life(__global const uchar* in, __global uchar* out, uint w, uint h) {
  uint x = get_global_id(0), y = get_global_id(1), left = (x + w - 1) % w, right = (x + 1) % w,
       up = (y + h - 1) % h * w, down = (y + 1) % h * w, row = y * w;
  uint around = in[up + left] + in[up + x] + in[up + right] + in[row + left] + in[row + right] + in[down + left] +
                in[down + x] + in[down + right];
  out[row + x] = around == 3 || (around == 2 && in[row + x]);
}

__kernel GROUP(256, 1, 1)
void permute(__global const float* in, __global const uint* from, __global float* out) {
  uint i = get_global_id(0);
  out[i] = in[from[i]];
}

__kernel GROUP(256, 1, 1)
void scatter(__global const float* in, __global const uint* to, __global float* out) {
  uint i = get_global_id(0);
  out[to[i]] = in[i];
}

__kernel GROUP(256, 1, 1)
void count_bytes(__global const uchar* in, __global uint* counts, uint each) {
  uint first = get_global_id(0) * each;
  for (uint k = 0; k < each; ++k) atomic_inc(&counts[in[first + k]]);
}

__kernel GROUP(256, 1, 1)
void compact(__global const uint* in, __global uint* out, __global uint* count, uint least) {
  uint value = in[get_global_id(0)];
  if (value >= least) out[atomic_inc(count) & 0xfffff] = value;
}

__kernel GROUP(256, 1, 1)
void monte_carlo(__global uint* hits, uint seed, uint rounds) {
  uint state = seed ^ get_global_id(0) * 0x9E3779B9u, inside = 0;
  state |= 1;
  for (uint k = 0; k < rounds; ++k) {
    state ^= state << 13; state ^= state >> 17; state ^= state << 5;
    float x = (float)(state >> 8) * (1.0f / 16777216.0f);
    state ^= state << 13; state ^= state >> 17; state ^= state << 5;
    float y = (float)(state >> 8) * (1.0f / 16777216.0f);
    inside += x * x + y * y < 1.0f;
  }
  hits[get_global_id(0)] = inside;
}

// A checksum over each row of bytes, with a table in memory.
__kernel GROUP(64, 1, 1)
void crc(__global const uchar* in, __constant uint* table, __global uint* out, uint length) {
  uint i = get_global_id(0), sum = 0xffffffff;
  for (uint k = 0; k < length; ++k) sum = sum >> 8 ^ table[(sum ^ in[i * length + k]) & 255];
  out[i] = ~sum;
}

// Where a pattern begins in a text.
__kernel GROUP(256, 1, 1)
void find_text(__global const uchar* text, __constant uchar* pattern, uint length, __global uint* found) {
  uint i = get_global_id(0), k = 0;
  while (k < length && text[i + k] == pattern[k]) ++k;
  found[i] = k == length;
}

__kernel GROUP(64, 1, 1)
void collatz(__global uint* steps, uint first) {
  ulong n = first + get_global_id(0);
  uint count = 0;
  while (n != 1 && count < 400) {
    n = n & 1 ? 3 * n + 1 : n >> 1;
    ++count;
  }
  steps[get_global_id(0)] = count;
}

__kernel GROUP(256, 1, 1)
void softmax(__global const float* in, __global float* out, uint n) {
  __local float parts[256];
  uint l = get_local_id(0), row = get_group_id(0) * n;
  float most = -3e38f, sum = 0.0f;
  for (uint i = l; i < n; i += 256) most = fmax(most, in[row + i]);
  parts[l] = most;
  for (uint width = 128; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < width) parts[l] = fmax(parts[l], parts[l + width]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  most = parts[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = l; i < n; i += 256) sum += native_exp(in[row + i] - most);
  parts[l] = sum;
  for (uint width = 128; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < width) parts[l] += parts[l + width];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float scale = 1.0f / parts[0];
  for (uint i = l; i < n; i += 256) out[row + i] = native_exp(in[row + i] - most) * scale;
}

#define ROTATED(x, k) rotate((uint)(x), (uint)(k))
__kernel GROUP(64, 1, 1)
void sha256(__constant uint* k, __global uint* out, uint seed) {
  uint w[16], s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (uint i = 0; i < 16; ++i) w[i] = seed + get_global_id(0) * (2 * i + 1);
  for (uint i = 0; i < 64; ++i) {
    if (i >= 16) {
      uint a = w[(i + 1) & 15], b = w[(i + 14) & 15];
      w[i & 15] += (ROTATED(a, 25) ^ ROTATED(a, 14) ^ a >> 3) + w[(i + 9) & 15] + (ROTATED(b, 15) ^ ROTATED(b, 13) ^ b >> 10);
    }
    uint t = s[7] + (ROTATED(s[4], 26) ^ ROTATED(s[4], 21) ^ ROTATED(s[4], 7)) + (s[6] ^ (s[4] & (s[5] ^ s[6]))) + k[i] + w[i & 15];
    uint u = (ROTATED(s[0], 30) ^ ROTATED(s[0], 19) ^ ROTATED(s[0], 10)) + ((s[0] & s[1]) | (s[2] & (s[0] | s[1])));
    s[7] = s[6]; s[6] = s[5]; s[5] = s[4]; s[4] = s[3] + t; s[3] = s[2]; s[2] = s[1]; s[1] = s[0]; s[0] = t + u;
  }
  for (uint i = 0; i < 8; ++i) out[get_global_id(0) * 8 + i] = s[i];
}

// The nearest of some spheres for each pixel.
__kernel GROUP(16, 16, 1)
void spheres(__global const float4* all, uint count, __global uint* out, uint w, uint h) {
  uint x = get_global_id(0), y = get_global_id(1);
  float dx = ((float)x - 0.5f * w) / w, dy = ((float)y - 0.5f * h) / h, scale = rsqrt(dx * dx + dy * dy + 1.0f),
        dz = scale, nearest = 1e30f;
  uint which = count;
  dx *= scale;
  dy *= scale;
  for (uint i = 0; i < count; ++i) {
    float4 s = all[i];
    float b = s.x * dx + s.y * dy + s.z * dz, c = s.x * s.x + s.y * s.y + s.z * s.z - s.w * s.w, d = b * b - c;
    if (d < 0.0f) continue;
    float t = b - sqrt(d);
    if (t > 0.0f && t < nearest) {
      nearest = t;
      which = i;
    }
  }
  out[y * w + x] = which;
}

// Sums over windows, through a tile with its border.
__kernel GROUP(128, 1, 1)
void window_sums(__global const float* in, __global float* out, uint n) {
  __local float tile[128 + 32];
  uint l = get_local_id(0), i = get_global_id(0);
  tile[l] = in[i];
  if (l < 32) tile[128 + l] = i + 128 < n ? in[i + 128] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  for (uint k = 0; k < 32; ++k) sum += tile[l + k];
  out[i] = sum;
}

// Cosine transform of blocks of 8 x 8.
__kernel GROUP(8, 8, 1)
void cosines(__global const float* in, __global float* out, __constant float* c, uint w) {
  __local float block[8][8], half_way[8][8];
  uint x = get_local_id(0), y = get_local_id(1), i = get_global_id(1) * w + get_global_id(0);
  block[y][x] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  for (uint k = 0; k < 8; ++k) sum += block[y][k] * c[x * 8 + k];
  half_way[y][x] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = 0.0f;
  for (uint k = 0; k < 8; ++k) sum += half_way[k][x] * c[y * 8 + k];
  out[i] = sum;
}

// The least eight of each row, sorted by insertion.
__kernel GROUP(64, 1, 1)
void least_of(__global const float* in, __global float* out, uint count, uint rows) {
  float best[8];
  uint row = get_global_id(0);
  for (uint i = 0; i < 8; ++i) best[i] = 1e30f;
  for (uint k = 0; k < count; ++k) {
    float value = in[k * rows + row];
    if (value >= best[7]) continue;
    for (uint i = 0; i < 8; ++i) {
      float low = fmin(best[i], value);
      value = fmax(best[i], value);
      best[i] = low;
    }
  }
  for (uint i = 0; i < 8; ++i) out[row * 8 + i] = best[i];
}

// Forces between particles of a box and those of its neighbours, in doubles.
__kernel GROUP(64, 1, 1)
void boxes(__global const double4* places, __global double4* forces, uint boxes) {
  uint box = get_group_id(0), l = get_local_id(0);
  double4 here = places[box * 64 + l], sum = 0.0;
  for (uint near = 0; near < 3; ++near)
    for (uint k = 0; k < 64; ++k) {
      double4 d = places[(box + near) % boxes * 64 + k] - here;
      double square = d.x * d.x + d.y * d.y + d.z * d.z + 0.01, force = d.w / (square * square);
      sum.x += force * d.x;
      sum.y += force * d.y;
      sum.z += force * d.z;
    }
  forces[box * 64 + l] = sum;
}

// A search of each key in a sorted table.
__kernel GROUP(256, 1, 1)
void binary_search(__global const uint* table, uint n, __global const uint* keys, __global uint* found) {
  uint key = keys[get_global_id(0)], low = 0, high = n;
  while (low < high) {
    uint middle = (low + high) / 2;
    if (table[middle] < key) low = middle + 1;
    else high = middle;
  }
  found[get_global_id(0)] = low;
}

// Lists of neighbours: particles meet those that are near.
__kernel GROUP(64, 1, 1)
void neighbours(__global const float4* places, __global const uint* lists, __global float4* forces, uint each, uint count) {
  uint i = get_global_id(0);
  float4 here = places[i], sum = 0.0f;
  for (uint k = 0; k < each; ++k) {
    float4 d = places[lists[k * count + i]] - here;
    float square = d.x * d.x + d.y * d.y + d.z * d.z;
    if (square < 0.3f) {
      float inverse = 1.0f / (square + 0.01f), cube = inverse * inverse * inverse;
      sum += d * (cube * (cube - 0.5f) * inverse);
    }
  }
  forces[i] = sum;
}

// A picture turned by an angle, with interpolation.
__kernel GROUP(16, 16, 1)
void turn(__global const float* in, __global float* out, int w, int h, float cosine, float sine) {
  int x = get_global_id(0), y = get_global_id(1);
  float fx = cosine * (x - w / 2) - sine * (y - h / 2) + w / 2, fy = sine * (x - w / 2) + cosine * (y - h / 2) + h / 2;
  int ix = (int)floor(fx), iy = (int)floor(fy);
  float value = 0.0f;
  if (ix >= 0 && iy >= 0 && ix < w - 1 && iy < h - 1) {
    float ax = fx - ix, ay = fy - iy;
    int i = iy * w + ix;
    value = (1 - ay) * ((1 - ax) * in[i] + ax * in[i + 1]) + ay * ((1 - ax) * in[i + w] + ax * in[i + w + 1]);
  }
  out[y * w + x] = value;
}

// Rows of a matrix of bytes times a vector of bytes, four at a time.
__kernel GROUP(64, 1, 1)
void byte_products(__global const char4* a, __global const char4* x, __global int* y, uint n) {
  uint row = get_global_id(0);
  int sum = 0;
  for (uint i = 0; i < n; ++i) {
    char4 p = a[row * n + i], q = x[i];
    sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
  }
  y[row] = sum;
}

// Sums over halves of a float, with conversions.
__kernel GROUP(256, 1, 1)
void halves(__global const half* a, __global const half* b, __global float* out, uint n) {
  uint i = get_global_id(0);
  float sum = 0.0f;
  for (uint k = 0; k < n; ++k)
    sum += vload_half(k * get_global_size(0) + i, a) * vload_half(k * get_global_size(0) + i, b);
  out[i] = sum;
}
)";

}  // namespace lockstep::bench

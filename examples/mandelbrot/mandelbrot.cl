// The Mandelbrot set: `mandelbrot` draws a picture (RGBA8, one word a pixel), `mandelbrot_iterations` gives the plain
// escape counts. The fma is written out and contraction is off, so every compiler and level counts alike.
#pragma OPENCL FP_CONTRACT OFF

// Iterates from z = 0 until |z| > 2 or the limit; leaves z where it stopped and returns the count.
uint escape_count(float2 c, uint limit, float2* z) {
  float x = 0.0f, y = 0.0f;
  uint count = 0;
  while (count < limit) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = fma(2.0f * x, y, c.y);
    x = xx - yy + c.x;
    ++count;
  }
  *z = (float2)(x, y);
  return count;
}

__kernel void mandelbrot_iterations(__global uint* restrict out, uint width, uint height, float left, float top,
                                    float step_x, float step_y, uint limit) {
  const uint px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height) return;
  float2 z;
  out[py * width + px] =
      escape_count((float2)(fma(step_x, (float)px, left), fma(step_y, (float)py, top)), limit, &z);
}

// A closed loop of colours: night blue, ocean, ice, sand, ember, plum.
__constant float4 palette[6] = {
    (float4)(0.02f, 0.03f, 0.18f, 1.0f), (float4)(0.06f, 0.36f, 0.72f, 1.0f), (float4)(0.88f, 0.97f, 1.00f, 1.0f),
    (float4)(1.00f, 0.78f, 0.28f, 1.0f), (float4)(0.72f, 0.22f, 0.06f, 1.0f), (float4)(0.16f, 0.03f, 0.16f, 1.0f)};

__kernel void mandelbrot(__global uint* restrict out, uint width, uint height, float left, float top, float step_x,
                         float step_y, uint limit) {
  const uint px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height) return;
  const float2 c = (float2)(fma(step_x, (float)px, left), fma(step_y, (float)py, top));
  float2 z;
  const uint count = escape_count(c, limit, &z);
  uint pixel = 0xff000000u;
  if (count < limit) {
    // Three more steps make the fractional count smooth to the eye.
    for (int i = 0; i < 3; ++i) z = (float2)(fma(z.x, z.x, fma(-z.y, z.y, c.x)), fma(2.0f * z.x, z.y, c.y));
    const float radius2 = fma(z.x, z.x, z.y * z.y);
    const float smooth_count = (float)(count + 4) - native_log2(0.5f * native_log2(radius2));
    // Logarithmic in the count: wide bands far out, still distinct ones near the set.
    const float position = fma(1.45f, native_log2(fmax(smooth_count, 2.0f)), -1.3f);
    const float cell = floor(position);
    const float t = position - cell;
    const float blend = t * t * fma(-2.0f, t, 3.0f);
    const uint from = (uint)cell % 6u, to = (from + 1u) % 6u;
    const float4 colour = fma((float4)(blend), palette[to] - palette[from], palette[from]);
    const uint4 level = convert_uint4(fma(colour, (float4)(255.0f), (float4)(0.5f)));
    pixel = level.x | level.y << 8 | level.z << 16 | 0xff000000u;
  }
  out[py * width + px] = pixel;
}

// A plate whose rim keeps its temperature: each step every inner point becomes the mean of its neighbours.
__kernel void spread(__global const float* from, __global float* to, uint width, uint height) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  uint at = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
    to[at] = from[at];
  else
    to[at] = 0.25f * (from[at - 1] + from[at + 1] + from[at - width] + from[at + width]);
}

__kernel void heat_rim(__global float* plate, uint width) { plate[get_global_id(0)] = 100; }

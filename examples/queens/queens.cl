// Number of ways to place `size` queens with the first ones given: a search per work-item with its own stack in private
// memory, indexed by a variable, so it stays in scratch at every optimisation level; loops of very unlike length.
__kernel void queens(__global const uchar2* restrict starts, __global uint* restrict solutions, uint size) {
  uint row_of[16];
  uint candidates[16];
  const uchar2 start = starts[get_global_id(0)];
  row_of[0] = start.x;
  row_of[1] = start.y;
  uint found = 0;
  int column = 2;
  const int distance = abs((int)start.x - (int)start.y);
  if (distance > 1) {
    candidates[2] = 0;
    while (column >= 2) {
      const uint row = candidates[column]++;
      if (row >= size) {
        --column;
        continue;
      }
      bool safe = true;
      for (int other = 0; other < column && safe; ++other) {
        const uint other_row = row_of[other];
        safe = other_row != row && abs_diff(other_row, row) != (uint)(column - other);
      }
      if (!safe) continue;
      if (column + 1 == (int)size) {
        ++found;
      } else {
        row_of[column++] = row;
        candidates[column] = 0;
      }
    }
  }
  solutions[get_global_id(0)] = found;
}

// What the HIP examples share: errors end the program, results are compared.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

// Ends the program if a call of HIP failed.
#define CHECK(call) check((call), #call, __LINE__)
inline void check(hipError_t error, const char* call, int line) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, call, hipGetErrorString(error));
  std::exit(1);
}

// The program's last line and exit code.
inline int verdict(const char* name, long wrong) {
  if (wrong)
    std::printf("%s: %ld results are WRONG\n", name, wrong);
  else
    std::printf("%s: all results are right\n", name);
  return wrong != 0;
}

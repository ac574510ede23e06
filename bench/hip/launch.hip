// What the way from a program to the emulated card and back costs: launches, waits, copies, idle time. Compiled by
// tools/hipcc.sh, run by bench/hip/launch.py, which compares. Prints a line for each figure: name, value, unit.
#include <hip/hip_runtime.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}

__global__ void empty() {}

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double at(std::vector<double>& sorted, double part) {
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
}

void tell(const char* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf("%s_best %.2f us\n%s_median %.2f us\n%s_p90 %.2f us\n", name, times.front(), name, at(times, 0.5),
              name, at(times, 0.9));
}

// Between launches the thread sleeps, which lets others use its processor, or computes.
void launch_and_wait(const char* name, unsigned count, std::chrono::milliseconds rest, bool sleeps = true) {
  std::vector<double> times;
  for (unsigned i = 0; i < count; ++i) {
    if (sleeps) {
      std::this_thread::sleep_for(rest);
    } else {
      for (const auto begin = Clock::now(); Clock::now() - begin < rest;) {
      }
    }
    const auto begin = Clock::now();
    empty<<<1, 64>>>();
    check(hipDeviceSynchronize(), "hipDeviceSynchronize");
    times.push_back(microseconds_since(begin));
  }
  tell(name, times);
}

void back_to_back(unsigned count) {
  const auto begin = Clock::now();
  for (unsigned i = 0; i < count; ++i) empty<<<1, 64>>>();
  check(hipDeviceSynchronize(), "hipDeviceSynchronize");
  std::printf("launches_a_second %.0f /s\n", count / microseconds_since(begin) * 1e6);
}

// In turns with what it is compared to, on the same machine at the same time.
void copies(size_t bytes, unsigned rounds) {
  char *host = nullptr, *other = nullptr;
  void* device = nullptr;
  host = static_cast<char*>(std::aligned_alloc(4096, bytes));
  other = static_cast<char*>(std::aligned_alloc(4096, bytes));
  check(hipMalloc(&device, bytes), "hipMalloc");
  std::memset(host, 1, bytes);
  std::memset(other, 2, bytes);
  check(hipMemcpy(device, host, bytes, hipMemcpyHostToDevice), "hipMemcpy");  // all pages are there
  std::vector<double> to, from, plain, to_ratio, from_ratio;
  for (unsigned i = 0; i < rounds; ++i) {
    auto begin = Clock::now();
    std::memcpy(other, host, bytes);
    asm volatile("" ::"r"(other) : "memory");  // nobody reads it
    plain.push_back(microseconds_since(begin));
    begin = Clock::now();
    check(hipMemcpy(device, host, bytes, hipMemcpyHostToDevice), "hipMemcpy");
    to.push_back(microseconds_since(begin));
    begin = Clock::now();
    check(hipMemcpy(host, device, bytes, hipMemcpyDeviceToHost), "hipMemcpy");
    from.push_back(microseconds_since(begin));
    to_ratio.push_back(to.back() / plain.back());
    from_ratio.push_back(from.back() / plain.back());
  }
  for (auto* values : {&to, &from, &plain, &to_ratio, &from_ratio}) std::sort(values->begin(), values->end());
  std::printf("memcpy %.0f us\nto_device %.0f us\nfrom_device %.0f us\n", at(plain, 0.5), at(to, 0.5), at(from, 0.5));
  std::printf("to_device_over_memcpy %.2f\nfrom_device_over_memcpy %.2f\n", at(to_ratio, 0.5), at(from_ratio, 0.5));
  check(hipFree(device), "hipFree");
  std::free(host);
  std::free(other);
}

double processor_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const auto wanted = [&](const char* name) { return only.empty() || only == name; };
  empty<<<1, 64>>>();
  check(hipDeviceSynchronize(), "hipDeviceSynchronize");
  if (wanted("launch")) launch_and_wait("launch", 20'000, std::chrono::milliseconds(0));
  if (wanted("rest")) launch_and_wait("launch_after_20_ms", 200, std::chrono::milliseconds(20));
  if (wanted("work")) launch_and_wait("launch_after_20_ms_of_work", 200, std::chrono::milliseconds(20), false);
  if (wanted("many")) {
    back_to_back(10'000);
    back_to_back(300'000);
  }
  if (wanted("copy")) copies(size_t{1} << 30, 5);
  if (wanted("idle")) {
    const double before = processor_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(10));
    std::printf("idle_10_s %.1f ms\n", (processor_seconds() - before) * 1000);
  }
  return 0;
}

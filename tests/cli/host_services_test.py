#!/usr/bin/env python3
"""What kernels ask of the host: printf, assert, abort, clocks, malloc and free.

Usage: host_services_test.py LOCKSTEP"""
import re
import struct
import unittest

from case import BAD_INPUT, DONE, FAULTED, Case

# What ROCm's library has and Debian's has not.
BUFFERED = """#ifdef BUFFERED
extern "C" __device__ __attribute__((used, address_space(1))) char* __printf_alloc(unsigned bytes) {
  unsigned* buffer = ((unsigned**)__builtin_amdgcn_implicitarg_ptr())[9];
  return (__attribute__((address_space(1))) char*)((char*)buffer + 8 + atomicAdd(buffer, bytes));
}
#endif
"""


class HostServices(Case):
    def test_printf_of_opencl(self):
        (self.path / "print.cl").write_text(
            '__kernel void k(__global float* x, float4 v, long n) {\n'
            '  printf("%d|%5d|%-4u|%x|%c|%s|%.2f|%e|%v4hlf|%ld|100%%\\n", (int)get_global_id(0), -7, 3u, 255, 65, "seven77",\n'
            '         x[0], 1.5f, v, n);\n'
            '  if (get_global_id(0) == 0) printf("second: \\"%s\\"\\n", "a:b");\n'
            '  x[get_global_id(0) * 1000000000L * (n == 1)] = 0; }')
        line = "0|   -7|3   |ff|A|seven77|0.25|1.500000e+00|1.000000,2.000000,3.000000,4.500000|{}|100%\n"
        run = ("run", "print.cl", "--grid", "1", "-q", "buf:f32[4]=0.25", "1,2,3,4.5")
        for engine in ("interpreter", "translator"):
            out = self.lockstep(*run, "-9", "--engine", engine, "--print", "x")
            self.assertTrue(out.stdout.startswith(line.format(-9) + 'second: "a:b"\nx: f32[4]'), out.stdout)
        # A kernel that faults behind it has said it before.
        (self.path / "late.cl").write_text('__kernel void k(__global int* x) { printf("before\\n"); x[1000000000L] = 1; }')
        out = self.lockstep("run", "late.cl", "--grid", "1", "buf:i32[1]", status=FAULTED, says="late.cl:1")
        self.assertEqual(out.stdout, "before\n")

    def test_printf_and_assert_of_hip(self):
        (self.path / "print.hip").write_text(
            '#include <hip/hip_runtime.h>\n#include <cassert>\n' + BUFFERED +
            'extern "C" __global__ void k(float* x, int n) {\n'
            '  printf("lane %d of %u, %s, %.3f, %lld, %c\\n", threadIdx.x, blockDim.x,\n'
            '         threadIdx.x ? "other" : "the first, with a text of more than fifty-six characters in it", x[0], 5LL, 65);\n'
            '  assert(n == 0 && "n is 0");\n  x[1] = 3; }')
        wanted = ["lane 0 of 2, the first, with a text of more than fifty-six characters in it, 0.250, 5, A",
                  "lane 1 of 2, other, 0.250, 5, A"]
        run = ("run", "print.hip", "--grid", "2", "--block", "2", "buf:f32[2]=0.25", "-q")
        line = (self.path / "print.hip").read_text().splitlines().index('  assert(n == 0 && "n is 0");') + 1
        for flags in ((), ("-mcode-object-version=4",), ("-mprintf-kind=buffered", "-DBUFFERED"), ("-O", "0", "--wave", "64")):
            out = self.lockstep(*run, "i32:0", *flags, "--instruction-limit", "1000000")
            self.assertEqual(sorted(out.stdout.splitlines()), wanted, flags)
            # As with ROCm, on the standard error, once for each lane; the fault is the assertion's line.
            out = self.lockstep(*run, "i32:1", *flags, "--instruction-limit", "1000000", status=FAULTED)
            self.assertEqual(sorted(out.stdout.splitlines()), wanted, flags)
            said = re.findall(rf"^print\.hip:{line}: \S.*k.*: Device-side assertion `n == 0 && \"n is 0\"' failed\.$", out.stderr, re.M)
            self.assertEqual(len(said), 2, out.stderr)
            self.assertIn(f"print.hip:{line}\n    | assert(n == 0", out.stderr)
            self.assertNotIn("hip_device.h", out.stderr)
        # The same texts in the same order on every run of one thread.
        many = ("run", "print.hip", "--grid", "256", "--block", "64", "buf:f32[2]=0.25", "-q", "i32:0", "-j", "1")
        self.assertEqual(len({self.lockstep(*many).stdout for _ in range(2)}), 1)

    def test_printf_says_what_it_loses(self):
        (self.path / "much.cl").write_text(
            '__kernel void k() { printf("%s\\n", "' + "long" * 1000 + '"); }')
        out = self.lockstep("run", "much.cl", "--grid", "17000", "-q")
        lines = out.stdout.splitlines()
        self.assertEqual(set(lines), {"long" * 1000})
        self.assertEqual(len(lines), ((64 << 20) - 8) // 4008)  # the format's number, the text, its end in a dword
        self.assertIn("the rest is lost", out.stderr)

    def test_malloc_and_free_in_kernels(self):
        (self.path / "list.hip").write_text("""
struct Node { Node* next; int value; };
extern "C" __global__ void lists(int* out, unsigned long long* large, int bad) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Node* list = nullptr;
  for (int n = 0; n < 20; ++n) list = new Node{list, i + n};
  int* table = (int*)malloc(4000 * sizeof(int));
  for (int n = 0; n < 4000; n += 100) table[n] = i;
  __syncthreads();
  int sum = table[3900];
  while (list) {
    Node* const next = list->next;
    sum += list->value;
    delete list;
    list = next;
  }
  free(table);
  out[i] = sum;
  if (i == 0) {
    char* const much = (char*)malloc(5 << 20);
    much[(5 << 20) - 1] = 7;
    large[0] = (unsigned long long)malloc(1ull << 50);
    free(much);
    large[1] = malloc(5 << 20) == (void*)much;
    if (bad == 1) free((char*)out + 4096 - ((unsigned long long)out & 4095));
  }
}
""")
        run = ("run", "list.hip", "--groups", "4", "--block", "64", "out=buf:i32[256]", "large=buf:u64[2]=7")
        self.lockstep(*run, "i32:0", "-o", "out=sums.npy")
        sums = struct.unpack("<256i", (self.path / "sums.npy").read_bytes()[-1024:])
        self.assertEqual(list(sums), [21 * i + 190 for i in range(256)])
        # With several threads another group may get what was freed.
        out = self.lockstep(*run, "i32:0", "-j", "1", "-p", "large")
        self.assertIn("0 1", out.stdout)
        self.lockstep(*run, "i32:1", status=BAD_INPUT, says="which malloc() did not give it")

    def test_places_before_the_kernel(self):
        (self.path / "before.hip").write_text(
            '__device__ __attribute__((noinline)) void stop(int i) { if (i == 3) __builtin_trap(); }\n'
            "__global__ void k(int* x) { stop(x[threadIdx.x]); }\n")
        self.lockstep("run", "before.hip", "--groups", "1", "--block", "4", "buf:i32[4]=iota", status=FAULTED, says="(kernel - 0x")

    def test_abort_and_trap_are_the_callers(self):
        (self.path / "stop.hip").write_text(
            "#include <cassert>\n#include <cstdlib>\n"
            "__device__ void check(int i) {\n  if (i == 3)\n    abort();\n}\n"
            "__global__ void a(int* x) {\n  check(x[threadIdx.x]);\n}\n"
            "__global__ void t(int* x) {\n  if (x[threadIdx.x] == 2)\n    __trap();\n}\n")
        run = ("run", "stop.hip", "--groups", "1", "--block", "4")
        for kernel, line, text in (("a", 5, "abort();"), ("t", 12, "__trap();")):
            for engine in ("interpreter", "translator"):
                more = ("-k", kernel, "--engine", engine)
                out = self.lockstep(*run, *more, "buf:i32[4]=iota", status=FAULTED, says=f"stop.hip:{line}\n    | {text}")
                self.assertNotIn("hip_device.h", out.stderr)
                self.lockstep(*run, *more, "buf:i32[4]=9")
        # OpenCL C has no assert: what people write instead.
        (self.path / "stop.cl").write_text(
            '#define ASSERT(x) if (!(x)) { printf("%s:%d: %s\\n", __FILE__, __LINE__, #x); __builtin_trap(); }\n'
            "__kernel void k(__global int* x) {\n  ASSERT(x[get_global_id(0)] < 3);\n}\n")
        out = self.lockstep("run", "stop.cl", "--grid", "4", "buf:i32[4]=iota", status=FAULTED, says="stop.cl:3\n    | ASSERT(")
        self.assertEqual(out.stdout, "stop.cl:3: x[get_global_id(0)] < 3\n")
        self.lockstep("run", "stop.cl", "--grid", "4", "buf:i32[4]=2")

    def test_clocks(self):
        # Time goes on while a wave works, for every clock and engine, and the device's is that of all its waves.
        (self.path / "clock.hip").write_text("""
__global__ void k(long long* out, float* x) {
  const long long shader = clock64(), again = clock(), wall = wall_clock64();
  float y = *x;
  for (int i = 0; i < 10000; ++i) y = y * 0.5f + 1;
  *x = y;
  out[0] = clock64() - shader; out[1] = clock() - again; out[2] = wall_clock64() - wall; out[3] = wall;
}
""")
        (self.path / "clock.cl").write_text("""
__kernel void k(__global long* out, __global float* x) {
  const ulong shader = clock_read_work_group(), again = clock_read_sub_group(), wall = clock_read_device();
  float y = *x;
  for (int i = 0; i < 10000; ++i) y = y * 0.5f + 1;
  *x = y;
  out[0] = clock_read_work_group() - shader; out[1] = clock_read_sub_group() - again;
  const ulong now = clock_read_device();
  const uint2 halves = clock_read_hilo_device();
  out[2] = now - wall; out[3] = upsample(halves.y, halves.x);
}
""")
        for source in ("clock.hip", "clock.cl"):
            for engine in ("interpreter", "translator"):
                for wave in ("32", "64"):
                    self.lockstep("run", source, "--grid", "1", "out=buf:i64[4]", "x=buf:f32[1]=1", "--engine", engine, "--wave",
                                  wave, "-o", "out=clock.raw")
                    cycles, again, wall, now = struct.unpack("<4q", (self.path / "clock.raw").read_bytes())
                    self.assertGreater(min(cycles, again), 10_000, (source, engine, wave))
                    self.assertGreaterEqual(wall, 0)
                    self.assertGreater(now, 0)


if __name__ == "__main__":
    unittest.main()
